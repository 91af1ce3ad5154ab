# SmallLines.pm: the lines of small.pl: types and their values, tables, shapes of queries, and what meets what.
package SmallLines;

use strict;
use warnings;

use List::Util qw(first min);

our $setup = q{
	CREATE TYPE level AS ENUM ('nought', 'faint', 'low', 'fair', 'mild', 'strong', 'high', 'utmost');
	CREATE OR REPLACE FUNCTION long_of(i int8) RETURNS text LANGUAGE sql IMMUTABLE AS $$
		SELECT string_agg(md5(i::text || n), '' ORDER BY n) FROM generate_series(1, 94) AS n $$};

# what the hash of a value's number x is made of, and of its text
my $h = 'hashint8extended(x, 7)';
my $md5 = 'md5(x::text)';

# Strings of some lengths, and of some likeness.
my %strings = (
	short => "substr($md5, 1, 8)",
	town => "'town of the county ' || substr($md5, 1, 21)",
	name => 'name_of(x)',
	code => 'code_of(x)',
	url => 'url_of(x)',
	sentence => 'sentence_of(x)',
	300 => "rpad($md5, 300, 'lorem ipsum ')",
	'300 alike' => "lpad($md5, 300, 'lorem ipsum ')",
	3000 => "rpad($md5, 3000, 'lorem ipsum ')",
	'3000 alike' => "lpad($md5, 3000, 'lorem ipsum ')",
	toasted => 'long_of(x)');
my @strings = sort keys %strings;

# name, type, value: an expression of its number x, or undefined for a string; what it needs
my @kinds = (
	[ 'int2', 'int2', "($h & 32767)::int2" ],
	[ 'int4', 'int4', "($h & 2147483647)::int4" ],
	[ 'int8', 'int8', $h ],
	[ 'float4', 'float4', "$h / 1e6::float4" ],
	[ 'float8', 'float8', "$h / 1e6::float8" ],
	[ 'numeric(12,2)', 'numeric(12,2)', "($h % 1000000000) / 100.0" ],
	[ 'numeric', 'numeric', "$h * 1e15 / 7.0" ],
	[ 'money', 'money', "($h & 1073741823)::int8::money" ],
	[ 'date', 'date', "date '1990-01-01' + ($h & 16383)::int4" ],
	[ 'time', 'time', "time '00:00' + ($h & 16777215) * interval '1 ms'" ],
	[ 'timestamptz', 'timestamptz', "timestamptz '2000-01-01' + ($h & 1073741823) * interval '1 s'" ],
	[ 'timetz', 'timetz', "timetz '00:00+01' + ($h & 16777215) * interval '1 ms'" ],
	[ 'interval', 'interval', "($h & 16777215) * interval '1 s'" ],
	[ 'bool', 'bool', "$h & 1 = 1" ],
	[ 'uuid', 'uuid', "$md5\::uuid" ],
	[ 'inet', 'inet', "inet '10.0.0.0' + ($h & 16777215)" ],
	[ 'macaddr', 'macaddr', "substr($md5, 1, 12)::macaddr" ],
	[ 'varbit', 'varbit', "$h\::bit(64)" ],
	[ 'enum', 'level', "(enum_range(NULL::level))[1 + ($h & 7)]" ],
	[ 'int4[]', 'int4[]', "ARRAY[($h & 1023)::int4, ($h >> 10 & 1023)::int4, ($h >> 20 & 1023)::int4]" ],
	[ 'text[]', 'text[]', "ARRAY[substr($md5, 1, 2), substr($md5, 3, 6)]" ],
	[ 'int4range', 'int4range', "int4range(($h & 65535)::int4, ($h & 65535)::int4 + ($h >> 16 & 255)::int4)" ],
	[ '(int4, text)', 'pair', "ROW(($h & 1023)::int4, substr($md5, 1, 8))::pair" ],
	[ 'jsonb', 'jsonb', "jsonb_build_object('a', $h & 1023, 'b', substr($md5, 1, 8))" ],
	[ 'tsvector', 'tsvector', "($h & 1048575)::text::tsvector" ],
	[ 'name', 'name', "substr($md5, 1, 16)::name" ],
	[ 'text C', 'text COLLATE "C"', undef ],
	[ 'text ICU', 'text COLLATE "und-x-icu"', undef ],
	[ 'text libc', 'text COLLATE en_us', undef, q{CREATE COLLATION en_us (provider = libc, locale = 'en_US.UTF-8')} ],
	[ 'varchar ICU', 'varchar(4000) COLLATE "en-US-x-icu"', undef ],
	[ 'bpchar', 'bpchar COLLATE "C"', undef ],
	[ 'bytea', 'bytea', undef ],
	[ 'citext', 'citext', undef, 'CREATE EXTENSION citext' ],
	[ 'ltree', 'ltree', "(substr($md5, 1, 2) || '.' || substr($md5, 3, 6))::ltree", 'CREATE EXTENSION ltree' ],
	[ 'hstore', 'hstore', "hstore(substr($md5, 1, 2), substr($md5, 3, 6))", 'CREATE EXTENSION hstore' ],
	[ 'geometry', 'geometry', "ST_MakePoint(($h & 65535) / 99.0, ($h >> 16 & 65535) / 99.0)",
		'CREATE EXTENSION postgis' ],
	[ 'geometry, boxes', 'geometry',
		"ST_MakeEnvelope(($h & 255), ($h >> 8 & 255), ($h & 255) + 1, ($h >> 8 & 255) + 2)",
		'CREATE EXTENSION IF NOT EXISTS postgis' ],
	[ 'geography', 'geography', "ST_MakePoint(($h & 16383) / 99.0, ($h >> 14 & 8191) / 99.0)::geography",
		'CREATE EXTENSION IF NOT EXISTS postgis' ]);
my %kind;

# What of a line is dealt where nobody says it.
my %cards = (
	rows => [ 1000, 3000, 10_000, 22_000, 40_000 ],
	distinct => [ '10', 'sqrt', 'half', 'all' ],
	skew => [ 'even', 'thirds', 'heavy' ],
	order => [ 'random', 'random', 'random', 'sorted', 'almost', 'reverse' ],
	strings => [ 'short', 'town', 'town', 'name', 'code', 'url', '300' ],
	extra => [ '', '', '', '', 'wide', 'nulls', 'desc' ]);
my %decks;

# A query for each shape; {k} are the keys as ORDER BY has them, {c} as a list, {k1} the first; rows is how many.
my @shapes = (
	[ 'window', 'SELECT v, row_number() OVER (ORDER BY {k}) FROM t' ],
	[ 'rank in groups', 'SELECT v, rank() OVER (PARTITION BY g ORDER BY {k}) FROM t' ],
	[ 'lag by key', 'SELECT v, lag(v) OVER (PARTITION BY {c} ORDER BY v) FROM t' ],
	[ 'group by', 'SELECT {c}, count(*) FROM t GROUP BY {c}' ],
	[ 'group by, order by', 'SELECT {c}, count(*), max(v) FROM t GROUP BY {c} ORDER BY {k}' ],
	[ 'distinct', 'SELECT DISTINCT {c} FROM t' ],
	[ 'distinct on', 'SELECT DISTINCT ON ({k1}) * FROM t ORDER BY {k}, v' ],
	[ 'union', 'SELECT {c} FROM t UNION SELECT {c} FROM t' ],
	[ 'except', 'SELECT {c} FROM t EXCEPT SELECT {c} FROM t WHERE v % 3 = 0' ],
	[ 'count distinct', 'SELECT count(DISTINCT {k1}) FROM t' ],
	[ 'count distinct by', 'SELECT g, count(DISTINCT {k1}) FROM t GROUP BY g' ],
	[ 'array_agg by', 'SELECT g, array_agg(v ORDER BY {k}) FROM t GROUP BY g' ],
	[ 'array_agg', 'SELECT array_agg(v ORDER BY {k}) FROM t' ],
	[ 'median', 'SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY {k1}) FROM t' ],
	[ 'medians by', 'SELECT g, percentile_disc(0.5) WITHIN GROUP (ORDER BY {k1}) FROM t GROUP BY g' ],
	[ 'join', 'SELECT a.g, b.g FROM t a JOIN t b USING ({c}, v) ORDER BY {c}' ],
	[ 'full join', 'SELECT v FROM t FULL JOIN (SELECT DISTINCT {c} FROM t) AS b USING ({c})' ],
	[ 'first 10', 'SELECT * FROM t ORDER BY {k} LIMIT 10' ],
	[ 'first half', 'SELECT * FROM t ORDER BY {k} LIMIT (SELECT count(*) / 2 FROM t)' ],
	[ 'first 1500', 'SELECT * FROM t ORDER BY {k} LIMIT 1500' ],
	[ 'indexed', 'SELECT * FROM t ORDER BY {k}, v' ],
	[ '20 sorts',
		'SELECT (SELECT count(*) FROM (SELECT * FROM t ORDER BY {k}, n OFFSET 0) s) FROM generate_series(1, 20) n' ],
	[ 'few come', 'SELECT * FROM t WHERE v < (SELECT 40) ORDER BY {k}' ],
	[ 'first', 'SELECT * FROM t ORDER BY {k}' ]);
my %shape = map { @$_ } @shapes, [ 'order by', 'SELECT * FROM t ORDER BY {k}' ];

# The next card of a deck, which is shuffled when all of it are dealt.
sub deal
{
	my ($name, @cards) = @_;
	my $deck = $decks{$name} //= [];

	push @$deck, sort { $a->[0] <=> $b->[0] } map { [ rand, $_ ] } @cards ? @cards : @{ $cards{$name} } unless @$deck;
	return shift(@$deck)->[1];
}

# The names of kinds that the server has, by a function that runs a statement and says whether it could.
sub available
{
	my ($try) = @_;
	my @there = grep { !$_->[3] || $try->($_->[3]) } @kinds;

	%kind = map { $_->[0] => $_ } @there;
	return map { $_->[0] } @there;
}

# A key of a kind: strings have a length, too.
sub key
{
	my ($name, $strings) = @_;
	return { kind => $name, strings => $kind{$name}[2] ? '' : $strings // deal('strings') };
}

# A line, of which is dealt what is not given.
sub line
{
	my ($shape, $keys, %given) = @_;
	my %line = (shape => $shape, keys => $keys, %given);

	$line{$_} //= deal($_) for 'rows', 'skew', 'order', 'extra';
	$_->{distinct} //= deal('distinct') for @$keys;
	# more would take too much room, or time
	if (first { $_->{strings} eq '3000 alike' } @$keys) { $line{rows} = 1000 }
	elsif ($shape eq '20 sorts' || first { $_->{strings} =~ /000|toasted/ } @$keys)
	{
		$line{rows} = min($line{rows}, 3000);
	}
	elsif (first { $_->{strings} =~ /300/ } @$keys) { $line{rows} = min($line{rows}, 10_000) }
	return \%line;
}

# All lines.
sub lines
{
	my @names = @_;
	my @texts = grep { !$kind{$_}[2] } @names;
	my @lines;

	for my $name (@names)
	{
		push @lines, line('order by', [ { %{ key($name) }, distinct => $_ } ]) for @{ $cards{distinct} };
		push @lines, line('order by', [ map { key($_) } $name, map { deal('kinds', @names) } 2 .. $_ ]) for 2, 3;
	}
	for my $name (@texts)
	{
		push @lines, line('order by', [ key($name, $_) ]) for @strings;
	}
	for my $shape (map { $_->[0] } @shapes)
	{
		push @lines, line($shape, [ map { key(deal('kinds', @names)) } 1 .. $_ ]) for (1, 1, 1, 2) x 2, 1, 3;
	}
	return @lines;
}

# The number of a key's value in row i, of so many rows.
sub number
{
	my ($line, $key, $n) = @_;
	my $rows = $line->{rows};
	my %values = (10 => 10, sqrt => int sqrt $rows, half => $rows / 2, all => $rows);
	my $even = $n == 1 && $key->{distinct} eq 'all' ? 'i'
	  : "abs(hashint8extended(i, $n) % $values{$key->{distinct}})";

	return $even if $line->{skew} eq 'even';
	return "CASE WHEN i % 3 = 0 THEN $even / 12 ELSE $even END" if $line->{skew} eq 'thirds';
	return "CASE WHEN i % 3 = 0 THEN $even % 3 ELSE $even END";
}

# The value of a key in row i.
sub value
{
	my ($line, $key, $n) = @_;
	my $value = $kind{ $key->{kind} }[2] // $strings{ $key->{strings} };

	$value = "convert_to($value, 'UTF8')" if $key->{kind} eq 'bytea';
	$value = "CASE WHEN i % 10 = $n THEN NULL ELSE $value END" if $line->{extra} eq 'nulls';
	return $value =~ s/\bx\b/x$n/gr;
}

# How ORDER BY has the keys.
sub order_by
{
	my ($line) = @_;
	my $n = 0;
	return join ', ', map { $n++; "k$n" . ($line->{extra} eq 'desc' && $n % 2 ? ' DESC' : '') } @{ $line->{keys} };
}

# The columns of a line's table, and the query for its rows in the order in which they are to lie there.
sub table
{
	my ($line) = @_;
	my ($keys, $rows, $n) = (@{$line}{ 'keys', 'rows' }, 0);
	my (@columns, @values, @numbers);
	for my $key (@$keys)
	{
		$n++;
		push @columns, "k$n $kind{$key->{kind}}[1]";
		push @values, '(' . value($line, $key, $n) . ")::$kind{$key->{kind}}[1] AS k$n";
		push @numbers, number($line, $key, $n) . " AS x$n";
	}
	my ($columns, $values, $numbers) = map { join ', ', @$_ } \@columns, \@values, \@numbers;
	my $order = order_by($line);
	my $pad = $line->{extra} eq 'wide' ? "rpad(i::text, 100, 'x')" : "'x'";
	my $select = "SELECT $values, abs(hashint8(i) % ($rows / 40)) AS g, i AS v, $pad AS pad FROM (SELECT i, $numbers "
	  . "FROM generate_series(1, ${rows}::int8) AS i OFFSET 0) AS s";

	$select .= " ORDER BY $order" if $line->{order} eq 'sorted';
	$select = "SELECT * FROM ($select) AS s ORDER BY row_number() OVER (ORDER BY $order) DESC"
	  if $line->{order} eq 'reverse';
	$select = "SELECT * FROM ($select) AS s ORDER BY row_number() OVER (ORDER BY $order) + CASE WHEN v % 100 = 0 "
	  . "THEN abs(hashint8(v) % $rows) ELSE 0 END" if $line->{order} eq 'almost';
	return ("$columns, g int4, v int8, pad text", $select);
}

# The query of a line, whose rows are all left out at the end.
sub query
{
	my ($line) = @_;
	my $keys = order_by($line);
	my $columns = $keys =~ s/ DESC//gr;
	my ($first) = split /,/, $columns;
	my $query = $shape{ $line->{shape} } =~ s/\{k\}/$keys/gr =~ s/\{c\}/$columns/gr =~ s/\{k1\}/$first/gr;

	return "SELECT * FROM ($query) AS result OFFSET 1000000" if $query =~ /LIMIT/;
	return "$query OFFSET 1000000";
}

my $format = '%-18s %-38s %5s %-16s %-6s %s';

sub text
{
	my ($line) = @_;
	my $keys = join ', ', map { $_->{strings} ? "$_->{kind} $_->{strings}" : $_->{kind} } @{ $line->{keys} };
	my $distinct = join ' ', map { $_->{distinct} } @{ $line->{keys} };

	return sprintf $format, "$line->{shape}:", $keys, $line->{rows}, $distinct, $line->{skew},
	  join ' ', grep { $_ ne 'random' && $_ ne '' } $line->{order}, $line->{extra};
}

sub heading
{
	return sprintf $format, '', 'keys', 'rows', 'distinct values', 'skew', 'order of rows, rest';
}

1;
