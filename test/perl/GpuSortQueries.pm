# GpuSortQueries.pm: random queries for resident columns: aggregates, pages, rows and filters over columns of all types
# that can be held, with constants at the edges of their types and beyond.
package GpuSortQueries;

use strict;
use warnings;

use Exporter 'import';

our @EXPORT = qw(random_query random_filter odd_value one_of chance number);

sub one_of { return $_[ int(rand(@_)) ] }
sub chance { return rand() < $_[0] }
sub number { return 1 + int(rand($_[0])) }

# Values of each type, without quotes: common ones, odd ones.
my %common = (
	int2 => [ -3 .. 12, 100 ],
	int4 => [ -3 .. 12, 100, 999 ],
	int8 => [ -3 .. 12, 100, 100000 ],
	oid => [ 0 .. 9, 70000 ],
	float4 => [ 0.5, 1.5, 2.25, -3.75, 0.1, 100 ],
	float8 => [ 0.5, 1.5, 2.25, -3.75, 0.1, 100, 1e6 ],
	numeric => [ 0, 0.01, -0.01, 1, 2.5, 7.77, -3.33, 100 ],
	date => [ map { "2020-0$_-15" } 1 .. 9 ],
	time => [ map { "1$_:30" } 0 .. 9 ],
	timestamp => [ map { "2020-0$_-15 12:00" } 1 .. 9 ],
	timestamptz => [ map { "2020-0$_-15 12:00+02" } 1 .. 9 ],
	bool => [qw(true false)],
	uuid => [ map { "00000000-0000-0000-0000-00000000000$_" } 0 .. 9 ],
	map { ($_ => [ qw(a b c aa ab ba Ab), 'a b', 'x', '' ]) } qw(text varchar char name));
my %odd = (
	int2 => [ -32768, 32767 ],
	int4 => [ -2147483648, 2147483647, 46341 ],
	int8 => [ '-9223372036854775808', '9223372036854775807', 2147483648, 3037000500 ],
	oid => [ 4294967295, 2147483648 ],
	float4 => [ '0', '-0', 'NaN', 'Infinity', '-Infinity', '3.4028235e38', '1e-45', '-1e-45' ],
	float8 => [ '0', '-0', 'NaN', 'Infinity', '-Infinity', '1.7976931348623157e308', '5e-324', '1e140', '-1e141' ],
	numeric => [ 999999.99, -999999.99, 0 ],
	date => [ 'infinity', '-infinity', '4713-11-24 BC', '5874897-12-31', '1999-12-31', '2000-01-01' ],
	time => [ '00:00', '24:00', '23:59:59.999999' ],
	timestamp => [ 'infinity', '-infinity', '4713-11-24 00:00:00 BC', '294276-12-31 23:59:59.999999',
		'1999-12-31 23:59:59.999999' ],
	timestamptz => [ 'infinity', '-infinity', '4713-11-24 12:00:00 BC', '294276-12-31 12:00+00', '2000-01-01'
		. ' 00:00+00' ],
	bool => ['true'],
	uuid => [ 'ffffffff-ffff-ffff-ffff-ffffffffffff', '80000000-0000-0000-0000-000000000000' ],
	map { ($_ => [ ' ', 'b ', '%', 'a_', 'ä', 'Ä', '日本', 'ß', "\t", 'zz' ]) } qw(text varchar char name));

# Types that a column may be compared with without a cast of the column, and constants that only those have.
my %across = (
	int2 => [qw(int2 int4 int8)],
	int4 => [qw(int2 int4 int8)],
	int8 => [qw(int2 int4 int8)],
	float4 => [qw(float4 float8)],
	float8 => [qw(float4 float8)],
	numeric => [qw(numeric int4 int8)],
	date => [qw(date timestamp)],
	timestamp => [qw(date timestamp)],
	timestamptz => [qw(timestamptz)],
	varchar => [qw(varchar text)],
	char => [qw(bpchar)],
	name => [qw(name text)]);
my %beyond = (
	int2 => [ 32768, -32769, 2147483648, '9223372036854775807' ],
	int4 => [ 2147483648, -2147483649, '-9223372036854775808' ],
	numeric => [ 0.001, 7.775, '1e25', '-1e25', "'NaN'::numeric", "'Infinity'::numeric", "'-Infinity'::numeric" ]);
my %unusual = (
	int2 => [ '7.5', '1e30', "'NaN'::numeric", "7::float8" ],
	int4 => [ '7.5', '1e30', '9223372036854775808', "7::float4" ],
	int8 => [ '7.5', '1e30', '9223372036854775808', "'Infinity'::float8" ],
	numeric => [ '2.5::float8', "'NaN'::float8" ],
	date => [ "'2020-03-15'::timestamptz", 'current_date' ],
	timestamp => [ "'2020-03-15'::timestamptz", 'now()', 'localtimestamp' ],
	timestamptz => [ "'2020-03-15'::date", "'2020-03-15 10:00'::timestamp", 'now()' ],
	time => [ 'localtime' ]);

# numeric(14, 2) without its typmod.
sub base { return $_[0] =~ s/\(.*//r }

# Whether a type is one of strings.
sub is_string { return $_[0] =~ /^(text|varchar|char|name|bpchar)/ }

# A value of a type, odd or not, as text.
sub odd_value
{
	my ($type, $odd) = @_;
	return one_of(@{ ($odd ? \%odd : \%common)->{ $type eq 'bpchar' ? 'char' : base($type) } });
}

# A constant that a column of a type is compared with.
sub constant
{
	my ($type, $plain) = @_;
	my $base = base($type);
	my $other = one_of(@{ $across{$base} // [$base] });
	my $value;

	return one_of(@{ $beyond{$base} }) if $beyond{$base} && chance(0.15);
	return one_of(@{ $unusual{$base} }) if !$plain && $unusual{$base} && chance(0.1);
	return "NULL::$other" if !$plain && chance(0.03);
	$value = odd_value($other, chance(0.3));
	return "'$value'::$other" unless $other =~ /^(int|numeric)/ && chance(0.5);
	return $value =~ /^-/ ? "($value)" : $value;
}

# A condition on a column that GpuColumns answers.
sub plain_condition
{
	my ($name, $type) = @_;

	return one_of($name, "NOT $name", "$name = true", "$name IS NULL", "$name IS NOT NULL") if $type eq 'bool';
	return one_of("$name IS NULL", "$name IS NOT NULL") if chance(0.1);
	return "$name " . one_of('LIKE', 'NOT LIKE', 'ILIKE', '~', '!~', '~*') . " '"
		. one_of('a%', '%b', '_', 'a', '^a', 'b$') . "'"
		if is_string($type) && chance(0.3);
	return "$name BETWEEN " . constant($type, 1) . ' AND ' . constant($type, 1) if chance(0.2);
	return "$name IN (" . join(', ', map { "'" . odd_value($type, chance(0.3)) . "'" } 1 .. 1 + number(4)) . ')'
		if chance(0.15);
	return constant($type, 1) . one_of(' = ', ' < ', ' <= ', ' > ', ' >= ', ' <> ') . $name if chance(0.15);
	return "$name " . one_of('=', '<', '<=', '>', '>=', '<>', '<', '<=', '>', '>=') . ' ' . constant($type, 1);
}

# A column's name and type.
sub one_column
{
	my ($columns) = @_;
	my $name = one_of(sort keys %$columns);
	return ($name, $columns->{$name});
}

# Any condition on a column.
sub condition
{
	my ($name, $type) = @_;
	my $base = base($type);
	my $list = join ', ', map { constant($type) } 1 .. number(4);

	return plain_condition($name, $type) if chance(0.7);
	return one_of("$name IS TRUE", "$name IS NOT TRUE", "$name IS FALSE", "$name IS UNKNOWN", "$name < true")
		if $type eq 'bool';
	return one_of(
		"$name " . one_of('=', '<', '>=', '<>') . ' ' . constant($type),
		"$name IN ($list)",
		"$name NOT IN ($list)",
		"$name " . one_of('= ANY', '<> ALL', '< ANY', '>= ALL') . ' (ARRAY[' . "$list])",
		"$name = ANY ('{}'::${base}[])",
		"$name = ANY (NULL::${base}[])",
		"NOT ($name < " . constant($type) . ')',
		"($name IS NULL OR $name > " . constant($type) . ')',
		"$name NOT BETWEEN " . constant($type) . ' AND ' . constant($type),
		"$name IS DISTINCT FROM " . constant($type),
		"$name = (SELECT " . constant($type) . ')',
		"$name = $name");
}

# Conditions on columns, given as name => type.
sub random_filter
{
	my ($columns, $plain) = @_;
	my @names = sort keys %$columns;
	my @terms = map { my $name = one_of(@names); $plain ? plain_condition($name, $columns->{$name})
			: condition($name, $columns->{$name}) } 1 .. one_of(0, 0, 1, 1, 1, 2, 2, 3);

	return @terms ? 'WHERE ' . join(' AND ', @terms) : '';
}

# An expression of integers or numerics.
sub expression
{
	my ($numbers, $columns, $depth) = @_;
	my $name = one_of(@$numbers);

	return $name if $depth == 0 || chance(0.2);
	return '(' . one_of(number(9), '-2', '100', '2.5', '0.01') . one_of(' - ', ' + ', ' * ') . expression($numbers,
		$columns, $depth - 1) . ')' if chance(0.3);
	return '(' . expression($numbers, $columns, $depth - 1) . one_of(' - ', ' + ', ' * ')
		. expression($numbers, $columns, $depth - 1) . ')';
}

# An aggregate; and for sums of floats what their error is relative to.
sub aggregate
{
	my ($columns, $exact, $plain, @numbers) = @_;
	my @names = sort keys %$columns;
	my $name = one_of(@names);
	my $base = base($columns->{$name});
	my $function = one_of(qw(count min max sum avg));

	return one_of('count(*)', 'count(*)', "count($name)") if chance(0.15);
	return one_of("count(DISTINCT $name)", "count(*) FILTER (WHERE $name IS NULL)", "max(\"$name\"::text)",
		"count((SELECT $name))", 'bool_and(true)') if !$plain && chance(0.05);
	return one_of(qw(sum avg min max count)) . '(' . expression(\@numbers, $columns, number(2)) . ')'
		if @numbers && chance(0.3);
	if ($function =~ /sum|avg/)
	{
		return "$function(" . of_string($name, 0) . ')' if $base =~ /^(text|varchar|char)$/ && chance(0.7);
		return "$function($name)" if $base =~ /^(int|numeric)/;
		return ("$function($name)", "$function(abs($name))") if $base eq 'float8' && !$exact;
		$function = 'max';
	}
	return "count($name)" if $base =~ /^(bool|uuid)$/ || ($plain && is_string($base));
	return "$function($name)";
}

# An aggregate over the ordered or different values of a column.
sub ordered_aggregate
{
	my ($columns) = @_;
	my $name = one_of(grep { $columns->{$_} !~ /^(uuid|bool|text|varchar|char|name)/ } sort keys %$columns);
	my $fraction = one_of(0, 1, 0.5, 0.25, 0.9, 0.001);
	my $fractions = "ARRAY[" . join(', ', map { one_of(0, 0.1, 0.5, 0.75, 1, 'NULL') } 1 .. number(4)) . ']::float8[]';
	my $within = "WITHIN GROUP (ORDER BY $name)";
	my @some = ("count(DISTINCT $name)", "count(DISTINCT $name)", "percentile_disc($fraction) $within",
		"percentile_disc($fractions) $within", "mode() $within");

	push @some, "percentile_cont($fraction) $within", "percentile_cont($fractions) $within"
		if $columns->{$name} =~ /^(int|float|numeric)/;
	return one_of(@some);
}

# A function of a column of strings that columns call for each string once: of integers, or of any type.
sub of_string
{
	my ($name, $any) = @_;

	return one_of("length($name)", "octet_length($name)", "strpos($name, '" . one_of(qw(a b)) . "')")
		if !$any || chance(0.4);
	return one_of("substr($name, " . one_of(1, 2, '0, 2') . ')', "regexp_replace($name, '[ab]', 'c')");
}

# A column of a type, or values, as conditions on other columns choose.
sub choice
{
	my ($name, $type, $columns) = @_;
	my $value = sub { return chance(0.1) ? 'NULL' : "'" . odd_value($type, chance(0.3)) . "'" };
	my $some = sub { return chance(0.5) ? $name : $value->() };
	my $conditions = sub { return join ' AND ', map { plain_condition(one_column($columns)) } 1 .. one_of(1, 1, 2) };

	return "coalesce($name, " . $value->() . ')' if chance(0.3);
	return 'CASE ' . join(' ', map { 'WHEN ' . $conditions->() . ' THEN ' . $some->() } 1 .. one_of(1, 1, 2))
		. one_of('', ' ELSE ' . $value->(), " ELSE $name", " ELSE $name") . ' END';
}

# A key of groups: a column, or an expression of one that columns compute.
sub some_key
{
	my ($name, $type, $columns) = @_;
	my @units = $type eq 'date' ? qw(year month day doy dow epoch) : qw(year month day doy dow epoch hour minute);

	return choice($name, $type, $columns) if $type =~ /^(int\d|date|timestamp|text|varchar.*)$/ && chance(0.15);
	return of_string($name, $type !~ /^char/) if $type =~ /^(text|varchar|char)/ && chance(0.4);
	return $name if chance(0.6) || $type !~ /^(int\d|date|timestamp)$/;
	return one_of("$name - 1", "$name * 3", "$name\::int8 * 2 + 5", "$name\::int2") if $type =~ /^int/;
	return 'extract(' . one_of(@units) . " FROM $name)" if $type eq 'date' || chance(0.4);
	return one_of("$name\::date", "date_trunc('" . one_of(qw(minute hour day month year)) . "', $name)");
}

# A query with groups; its order is that of all keys.  plain: as of random_query.
sub grouped_query
{
	my ($table, $columns, $plain, @numbers) = @_;
	my %keys = map { (some_key(one_column($columns), $columns) => 1) } 1 .. one_of(1, 1, 1, 2, 2, 3);
	my @keys = sort keys %keys;
	my $keys = join ', ', @keys;
	my $named = join ', ', map { $keys[$_] =~ /\W/ ? "$keys[$_] AS k$_" : $keys[$_] } 0 .. $#keys;
	my $where = random_filter($columns, $plain);
	my $limit = chance(0.5) ? 'LIMIT ' . number(20) . one_of('', ' OFFSET ' . number(10)) : '';
	my ($having, $order) = ('', $keys);
	my @list;

	foreach my $i (1 .. one_of(0, 1, 1, 2, 3, 5))
	{
		my $aggregate;

		# with LIMIT it depends on the plan whether a value overflows
		do { ($aggregate) = chance(0.3) ? ordered_aggregate($columns) : aggregate($columns, 1, $plain, @numbers) }
			while $limit && $aggregate =~ / [-+*] /;
		$aggregate .= ' FILTER (WHERE ' . plain_condition(one_column($columns)) . ')'
			if chance(0.15) && $aggregate !~ /FILTER|SELECT/;
		push @list, $aggregate;
	}
	$having = 'HAVING ' . one_of('count(*) > ' . number(40), one_of(@keys) . ' IS NOT NULL',
		@list ? "$list[0] IS NOT NULL" : ())
		if chance(0.2);
	$order = (@list && chance(0.7) ? "$list[0] " . one_of('', 'DESC', 'DESC NULLS LAST', 'NULLS FIRST') . ', ' : '')
		. $keys
		if chance(0.4);
	return "SELECT DISTINCT $named FROM $table $where ORDER BY $order $limit" if !@list && $having eq '' && chance(0.5);
	return 'SELECT ' . join(', ', $named, map { "$list[$_] AS a$_" } 0 .. $#list)
		. " FROM $table $where GROUP BY $keys $having ORDER BY $order $limit";
}

# A column as it is returned, equal for values that are equal.
sub returned
{
	my ($name, $type) = @_;
	return $type =~ /^float/ ? "CASE WHEN $name = 0 THEN 0 ELSE $name END" : $name;
}

# A page of a table in an order; which of equal rows come first does not show.
sub page_query
{
	my ($table, $columns, $plain) = @_;
	my @names = grep { $columns->{$_} !~ /^uuid/ && !($plain && is_string($columns->{$_})) } sort keys %$columns;
	my @order = map { one_of(@names) } 1 .. one_of(1, 1, 2, $plain ? 2 : 4);
	my $where = random_filter($columns, $plain);
	my $limit = one_of(1, 5, 20, 20, 1000);
	my $offset = one_of('', '', 'OFFSET ' . int(rand(30000)));

	$limit = one_of('NULL', '0', "(SELECT $limit)") if !$plain && chance(0.2);
	return 'SELECT ' . join(', ', map { returned($order[$_], $columns->{ $order[$_] }) . " AS a$_" } 0 .. $#order)
		. " FROM $table $where ORDER BY "
		. join(', ', map { "$_ " . one_of('', 'DESC', 'NULLS FIRST', 'DESC NULLS LAST') } @order)
		. " LIMIT $limit $offset";
}

# Rows that a filter passes, by themselves or below other things.
sub rows_query
{
	my ($table, $columns, $plain) = @_;
	my ($name, $type) = one_column($columns);
	my $where = random_filter($columns, $plain);
	my $more = plain_condition($name, $type);
	my $query = "SELECT ctid, * FROM $table " . ($where eq '' ? "WHERE $more" : "$where AND $more");

	return "$query ORDER BY ctid LIMIT 2000" if $plain || chance(0.5);
	return "SELECT count(*), count(DISTINCT q.$name) FROM ($query OFFSET 0) AS q" if chance(0.3);
	return "SELECT q.ctid, (SELECT count(*) FROM $table WHERE $name = q.$name AND $more) FROM ($query ORDER BY ctid"
		. ' LIMIT 3) AS q ORDER BY 1'
		if chance(0.3);
	return "SELECT q.ctid, q.$name FROM ($query OFFSET 0) AS q JOIN $table AS j ON j.ctid = q.ctid ORDER BY 1 LIMIT 50";
}

# A query over a table's columns, given as name => type, and the query for the scale of its sums of floats.  plain: only
# what GpuColumns answers, as far as values allow.  Expressions are of the given columns, or of all integers
# and numerics.
sub random_query
{
	my ($table, $columns, $plain, @numbers) = @_;
	my $where = random_filter($columns, $plain);
	my $form = $plain ? 0 : int(rand(16));
	my (@list, @scale);

	@numbers = grep { $columns->{$_} =~ /^(int|numeric)/ } sort keys %$columns unless @numbers;
	return (grouped_query($table, $columns, $plain, @numbers), 'SELECT 1 AS one') if chance(0.4);
	return (page_query($table, $columns, $plain), 'SELECT 1 AS one') if chance(0.2);
	return (rows_query($table, $columns, $plain), 'SELECT 1 AS one') if chance(0.2);
	foreach my $i (1 .. one_of(1, 1, 1, 2, 3, 5))
	{
		my ($aggregate, $scale) = aggregate($columns, $form >= 10, $plain, @numbers);

		push @list, "$aggregate AS " . ($scale ? 'approx' : 'a') . $i;
		push @scale, "$scale AS approx$i" if $scale;
	}
	my $scale = @scale ? 'SELECT ' . join(', ', @scale) . " FROM $table $where" : 'SELECT 1 AS one';
	my $query = 'SELECT ' . join(', ', @list) . " FROM $table $where";

	return ($query, $scale) if $form < 10;
	return (in_form($form, $query, $table, $columns, $where), $scale);
}

# The query in other places than the top.
sub in_form
{
	my ($form, $query, $table, $columns, $where) = @_;
	my ($name) = one_of(grep { $columns->{$_} !~ /^bool/ } sort keys %$columns);
	my $type = $columns->{$name};
	my $compared = one_of('=', '<', '>=', '<>');
	my $values = join ', ', map { '(' . one_of('NULL', "'" . odd_value($type, chance(0.3)) . "'") . "::$type)" } 1 .. 3;
	my $and = $where eq '' ? 'WHERE' : 'AND';

	# rescans with other parameters
	return "SELECT * FROM (VALUES $values) p (x) LEFT JOIN LATERAL ($query $and $name $compared p.x) q ON true"
		if $form <= 11;
	return "SELECT x, (SELECT count(*) FROM $table $where $and $name $compared x) FROM (VALUES $values) p (x)"
		if $form == 12;
	return "WITH q AS MATERIALIZED ($query), r AS ($query) SELECT * FROM q UNION ALL SELECT * FROM r" if $form == 13;
	return "$query $and $name $compared (SELECT " . one_of('min', 'max') . "($name) FROM $table)" if $form == 14
		&& base($type) ne 'uuid';
	return "$query HAVING count(*) > " . one_of(0, 10, 100000);
}

1;
