# GpuSortWindows.pm: random queries over windows for resident columns: functions, frames, orders and partitions over
# columns of all types, conditions on what they give, aggregates and runs above.
#
# PostgreSQL itself does not say which of equal rows comes first.  So functions that depend on it have an order that
# ends with the column u, whose values differ; without such a column there are only others.
package GpuSortWindows;

use strict;
use warnings;

use Exporter 'import';
use GpuSortQueries;

our @EXPORT = qw(random_window_query);

sub base { return $_[0] =~ s/\(.*//r }

# Names of columns, given as name => type, whose types match.
sub of_type
{
	my ($columns, $types) = @_;
	return grep { base($columns->{$_}) =~ /^(?:$types)$/ } sort keys %$columns;
}

# Partition columns: most of them narrow, as two wide ones do not fit a key.
sub partition
{
	my ($columns) = @_;
	my @narrow = of_type($columns, 'bool|int2|date|int4|oid');
	my @some = of_type($columns, 'int.|oid|float.|numeric|date|time.*|bool');

	return () if chance(0.25);
	return (one_of(@narrow)) if @narrow && chance(0.5);
	return (one_of(@narrow), one_of(@narrow)) if @narrow && chance(0.5);
	return (one_of(@some));
}

# ORDER BY of a window; total: of all rows.
sub ordering
{
	my ($columns, $total) = @_;
	my @some = of_type($columns, 'int.|oid|float.|numeric|date|time.*|bool');
	my @order = map { one_of(@some) . one_of('', '', ' DESC', ' NULLS FIRST', ' DESC NULLS LAST') }
		1 .. one_of(0, 1, 1, 2);

	push @order, 'u' . one_of('', ' DESC') if $total;
	return @order;
}

# A window.
sub window
{
	my ($columns) = @_;
	my $total = exists $columns->{u} && chance(0.75);
	my @partition = partition($columns);
	my @order = ordering($columns, $total);

	return {
		total => $total,
		partition => \@partition,
		text => join(' ', @partition ? 'PARTITION BY ' . join(', ', @partition) : (),
			@order ? 'ORDER BY ' . join(', ', @order) : ()) };
}

# A frame.  short: its functions go through it anew for each row.
sub frame
{
	my ($window) = @_;
	my @from = ('UNBOUNDED PRECEDING', '3 PRECEDING', '1 PRECEDING', 'CURRENT ROW', '1 FOLLOWING');
	my @to = ('CURRENT ROW', '1 FOLLOWING', '4 FOLLOWING', 'UNBOUNDED FOLLOWING');

	return '' if !$window->{total} || chance(0.4);
	return one_of('ROWS UNBOUNDED PRECEDING', 'RANGE BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING')
		if chance(0.3);
	return 'ROWS BETWEEN 5 PRECEDING AND 2 PRECEDING' if chance(0.1);
	my $from = one_of(@from);
	return "ROWS BETWEEN $from AND " . one_of($from eq '1 FOLLOWING' ? @to[ 1 .. 2 ] : @to[ 0 .. 2 ]) if $from !~ /UNB/;
	return "ROWS BETWEEN $from AND " . one_of(@to);
}

# What functions give: a text, and the type, by which it is known what may be done with it.
my @numbers = ([ 'row_number()', 'int8' ], [ 'rank()', 'int8' ], [ 'dense_rank()', 'int8' ],
	[ 'percent_rank()', 'float8' ], [ 'cume_dist()', 'float8' ], [ 'ntile(N)', 'int4' ]);

# A function over a window.
sub function
{
	my ($columns, $window) = @_;
	my ($name) = one_of(grep { $columns->{$_} !~ /^(uuid|bool)/ } sort keys %$columns);
	my $type = $columns->{$name};
	my $given;

	if (chance(0.3))
	{
		$given = one_of($window->{total} ? @numbers : @numbers[ 1 .. 4 ]);
		return { text => $given->[0] =~ s/N/number(9)/er, type => $given->[1] };
	}
	return { text => 'count(' . one_of('*', $name) . ')', type => 'int8', framed => 1 } if chance(0.15);
	if (chance(0.3) && $type =~ /^(int|numeric|float8)/ && ($window->{total} || $type !~ /^float/))
	{
		my $sum = { int2 => 'int8', int4 => 'int8', int8 => 'numeric', float8 => 'float8' }->{ base($type) };
		return { text => "sum($name)", type => $sum // 'numeric', framed => 1 };
	}
	return { text => one_of('min', 'max') . "($name)", type => $type, framed => 1 }
		if chance(0.3) && base($type) ne 'bool' && ($window->{total} || $type !~ /^float/);
	return { text => one_of('rank()', 'dense_rank()'), type => 'int8' } unless $window->{total};
	return { text => one_of('first_value', 'last_value') . "($name)", type => $type, like => $name, framed => 1 }
		if chance(0.3);
	return { text => "nth_value($name, " . number(4) . ')', type => $type, like => $name, framed => 1 } if chance(0.2);
	return { text => "gpu_run_id($name)", type => 'int8' } if chance(0.15);
	$given = chance(0.4) ? '' : ', ' . number(3);
	$given .= ", '" . odd_value($type, 0) . "'::$type" if $given ne '' && chance(0.3) && $type !~ /^(float4|numeric)/;
	return { text => one_of('lag', 'lead') . "($name$given)", type => $type, like => $name };
}

# A condition on a column of the subquery that is called so.
sub above_condition
{
	my ($name, $function) = @_;
	my $like = $function->{like};

	return "$name IS " . one_of('', 'NOT ') . 'NULL' if chance(0.15);
	return $name . one_of(' <> ', ' = ', ' < ', ' IS DISTINCT FROM ', ' IS NOT DISTINCT FROM ', ' >= ') . $like
		if $like && chance(0.7);
	return "$name " . one_of('=', '<', '<=', '<=') . ' ' . number(9) if $function->{type} eq 'int8' && chance(0.8);
	return "$name " . one_of('<', '>') . " 0.5" if $function->{text} =~ /percent|cume/;
	return "$name " . one_of('<', '>', '<=', '=') . " '" . odd_value($function->{type}, 0) . "'::"
		. base($function->{type});
}

# An aggregate of a column of a type; exact: of no sums of floats.
sub above_aggregate
{
	my ($name, $type) = @_;

	return 'count(*)' if chance(0.2);
	return "count($name)" if chance(0.1) || base($type) =~ /^(bool|uuid)/;
	return "count(DISTINCT $name)" if chance(0.1);
	return one_of('sum', 'avg') . "($name)" if base($type) =~ /^(int|numeric)/ && chance(0.5);
	return one_of('min', 'max') . "($name)";
}

# Differences to the row before.
sub difference_query
{
	my ($table, $columns, $where) = @_;
	my ($name) = one_of(of_type($columns, 'date|timestamp|timestamptz'));
	my $window = window($columns);
	my $other = "lag($name) OVER (" . $window->{text} . ')';
	my $difference = $name && $columns->{$name} eq 'date' ? 'a - b' : 'extract(epoch FROM a - b)';

	return unless $name && $window->{total};
	return 'SELECT ' . join(', ', map { one_of('avg', 'sum', 'min', 'max', 'count') . "($difference) AS a$_" } 1 .. 2)
		. " FROM (SELECT $name AS a, $other AS b FROM $table $where) q";
}

# Runs, as groups or counted.
sub runs_query
{
	my ($table, $columns, $where) = @_;
	my ($name) = one_of(of_type($columns, 'int.|oid|float.|numeric|date|time.*|bool'));
	my @partition = partition($columns);

	return unless exists $columns->{u};
	my ($time) = one_of(of_type($columns, 'int.|numeric|date|time.*'));
	my $order = "$time" . one_of('', ' DESC') . ', u';
	my $keys = join ', ', @partition, 'run', $name;
	# of groups, PostgreSQL may sort the rows, which then come in no order
	my $ordered = @partition || chance(0.7) ? " ORDER BY $order" : '';

	return 'SELECT ' . join(', ', map { "$_ AS k$_" } @partition, "cardinality(gpu_rle($name$ordered))")
		=~ s/AS kcard.*/AS runs/r . ", count(*) AS n FROM $table $where"
		. (@partition ? ' GROUP BY ' . join(', ', @partition) . ' ORDER BY ' . join(', ', @partition) : '')
		if chance(0.4) && base($columns->{$name}) !~ /^(oid|time$)/;
	return "SELECT $keys, min($time), max($time), count(*) AS n FROM (SELECT *, gpu_run_id($name) OVER ("
		. (@partition ? 'PARTITION BY ' . join(', ', @partition) : '')
		. " ORDER BY $order) AS run FROM $table $where) q GROUP BY $keys" . one_of('', ' HAVING count(*) > 2')
		. ' ORDER BY ' . one_of('', 'n DESC, ') . $keys . one_of('', ' LIMIT 20');
}

# Rows with what functions over windows give, of a subquery or of the query itself, in an order of all rows.
sub rows_query
{
	my ($table, $columns, $where, $functions, $conditions) = @_;
	my @columns = map { one_of(sort keys %$columns) } 1 .. one_of(0, 1, 2, 3);
	my @given = map { "w$_" } 0 .. $#$functions;
	my %seen;
	my @names = grep { !$seen{$_}++ } 'u', @columns, @given;
	my @some = grep { /^w/ || $columns->{$_} !~ /^uuid/ } @names;
	my $order = ' ORDER BY ' . join(', ', one_of(@some) . one_of('', ' DESC', ' NULLS FIRST'), 'u')
		. one_of('', ' LIMIT ' . number(30), ' LIMIT 5 OFFSET ' . number(9));
	my $functions_text = join(', ', map { $_->{over} } @$functions);

	return 'SELECT ' . join(', ', (grep { !/^w/ } @names), $functions_text) . " FROM $table $where$order"
		if !@$conditions && chance(0.6);
	return 'SELECT ' . join(', ', @names) . " FROM (SELECT *, $functions_text FROM $table $where) q"
		. (@$conditions ? ' WHERE ' . join(' AND ', @$conditions) : '') . $order;
}

# Makes averages of some sums, of which rows have no conditions.
sub with_averages
{
	my ($functions, $conditions) = @_;

	foreach my $i (0 .. $#$functions)
	{
		next if $functions->[$i]{type} =~ /^float/ || grep { /^w$i / } @$conditions;
		$functions->[$i]{over} =~ s/^sum/avg/ if chance(0.5);
	}
}

# A query over a table's columns, given as name => type, of which u, if there is one, is unique.
sub random_window_query
{
	my ($table, $columns) = @_;
	my %ordered = map { ($_ => $columns->{$_}) } grep { $columns->{$_} !~ /^uuid/ } keys %$columns;
	my $where = chance(0.4) ? random_filter(\%ordered, 1) : '';
	my @windows = map { window($columns) } 1 .. one_of(1, 1, 1, 2, 3);
	my @names = grep { $columns->{$_} !~ /^uuid/ } sort keys %$columns;
	my ($special) = chance(0.1) ? difference_query($table, $columns, $where) : chance(0.2)
		? runs_query($table, $columns, $where) : ();
	my (@functions, @keys, @having);

	return $special if $special;
	foreach my $i (0 .. one_of(0, 0, 1, 2, 3))
	{
		my $window = one_of(@windows);
		my $function = function($columns, $window);
		my $frame = $function->{framed} ? frame($window) : '';

		$frame = '' if $frame =~ /\AROWS BETWEEN [^U].*UNBOUNDED/;
		$function->{over} = "$function->{text} OVER ($window->{text} $frame) AS w$i";
		push @functions, $function;
	}
	my @conditions = map { my $i = int(rand(@functions)); above_condition("w$i", $functions[$i]) }
		1 .. one_of(0, 0, 1, 1, 2);
	if (exists $columns->{u} && chance(0.3))
	{
		with_averages(\@functions, \@conditions);
		return rows_query($table, $columns, $where, \@functions, \@conditions);
	}
	@keys = (one_of(@names)) if chance(0.3);
	push @keys, 'w0' if chance(0.2) && $functions[0]{type} =~ /^int/ && $functions[0]{text} !~ /^sum/;
	my @list = map { my $i = int(rand(@functions)); above_aggregate(chance(0.8) ? ("w$i", $functions[$i]{type}) : do {
		my $name = one_of(@names); ($name, $columns->{$name}) }) } 1 .. one_of(1, 2, 3);
	return 'SELECT ' . join(', ', @keys, map { "$list[$_] AS a$_" } 0 .. $#list)
		. ' FROM (SELECT *, ' . join(', ', map { $_->{over} } @functions) . " FROM $table $where) q"
		. (@conditions ? ' WHERE ' . join(' AND ', @conditions) : '')
		. (@keys ? ' GROUP BY ' . join(', ', @keys) . one_of('', ' HAVING count(*) > ' . number(5)) . ' ORDER BY '
			. join(', ', @keys) . one_of('', ' LIMIT ' . number(20)) : '');
}

1;
