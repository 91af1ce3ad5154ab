#!/usr/bin/perl
# queries.pl [--seed N] [--rounds N] [--seconds N] [--psql PATH]
#
# Random queries under random planner settings, with gpusort on and off: the rows must be the same, in the same order
# where the query fixes one.  Each round makes its own tables and asks 50 queries of joins, LATERAL subqueries, window
# functions, DISTINCT, grouping sets, set operations and LIMITs, in which sorts stand wherever the planner puts them. 
# What differential.pl does for types, this does for plans.
#
# Round r of seed s is repeated by --seed s+r --rounds 1.  Speaks TAP; needs a running server, found as psql finds one,
# where the library is loaded or can be.
use strict;
use warnings;

use File::Temp qw(tempfile);
use Getopt::Long;
use Time::HiRes qw(time);

my $seed = $ENV{SEED} || 1 + int(rand(1e6));
my $rounds = 0;
my $seconds = 20;
my $psql = 'psql';
GetOptions('seed=i' => \$seed, 'rounds=i' => \$rounds, 'seconds=i' => \$seconds, 'psql=s' => \$psql) or exit 2;

my @columns = qw(a b c d e f);
my @switches = map { "enable_$_" } qw(hashagg hashjoin nestloop mergejoin sort incremental_sort indexscan seqscan
	material memoize
	bitmapscan gathermerge);

# Tables of one round, and the comparison: the number of GpuSort nodes if all is well.
my $setup = <<'SQL';
SET client_min_messages = warning;
LOAD 'gpusort';
DROP SCHEMA IF EXISTS queries CASCADE;
CREATE SCHEMA queries;
SET search_path = queries;
SELECT setseed(SEED) \g /dev/null
CREATE TABLE big AS
	SELECT i AS id, CASE WHEN random() < 0.95 THEN (random() * 3000)::int8 END AS a, (random() * 60)::int4 AS b,
		CASE WHEN random() < 0.9 THEN 'x' || (random() * 800)::int END COLLATE "C" AS c, (random() * 300)::numeric(10,
			2) AS d,
		CASE WHEN random() < 0.1 THEN 'NaN'::float8 ELSE (random() * 50)::int END
			AS e, date '2020-01-01' + (random() * 99)::int AS f
	FROM generate_series(1, 3000) AS i ORDER BY random();
CREATE TABLE small AS SELECT * FROM big LIMIT 300;
CREATE TABLE parts (LIKE big) PARTITION BY HASH (id);
CREATE TABLE parts_0 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO parts SELECT * FROM big WHERE id < 2000;
CREATE INDEX ON big (a);
CREATE INDEX ON big (b, c);
CREATE UNIQUE INDEX ON big (id);
CREATE INDEX ON small (b);
CREATE INDEX ON parts (a);
ANALYZE big, small, parts;
-- a set, though it is one row: EXECUTE … INTO would start no workers
CREATE FUNCTION digest(query text, ordered bool) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY EXECUTE format('SELECT count(*) || md5(string_agg(q::text, chr(10) %s)) FROM (%s) AS q',
				   CASE WHEN ordered THEN '' ELSE 'ORDER BY q::text COLLATE "C"' END, query);
END $$;
CREATE FUNCTION gpusorts(query text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	line text;
	found int := 0;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN ' || query LOOP
		found := found + (line ~ 'GpuSort')::int;
	END LOOP;
	RETURN found;
END $$;
CREATE FUNCTION compare(query text, ordered bool) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	sorts int;
	ours text;
	theirs text;
BEGIN
	sorts := gpusorts(query);
	ours := (SELECT * FROM digest(query, ordered));
	PERFORM set_config('gpusort.enabled', 'off', true);
	theirs := (SELECT * FROM digest(query, ordered));
	RETURN CASE WHEN ours IS NOT DISTINCT FROM theirs THEN 'same ' || sorts ELSE 'different: ' || query END;
EXCEPTION
	WHEN others THEN RETURN format('error: %s: %s', sqlerrm, query);
END $$;
SQL

sub one_of { return $_[ int(rand(@_)) ] }
sub chance { return rand() < $_[0] }
sub column { return "$_[0]." . one_of(@columns) }

# Some different columns.
sub some_columns
{
	my ($most) = @_;
	my %chosen = map { $_ => 1 } map { one_of(@columns) } 1 .. 1 + int(rand($most));

	return sort keys %chosen;
}

# An ORDER BY list over some tables, total by the ids at its end.
sub total_order
{
	my ($tables) = @_;
	my @keys = map { column(one_of(@$tables)) . one_of('', ' DESC', ' DESC NULLS LAST', ' NULLS FIRST') } 1 .. 1
		+ int(rand(3));

	return join(', ', @keys, map { "$_.id" } @$tables);
}

# FROM and WHERE, with the names of the tables to take columns from.
sub random_from
{
	my $from;
	my @tables = ('t1');
	my $kind = rand();

	if ($kind < 0.4) { $from = 'big t1' }
	elsif ($kind < 0.55) { $from = 'parts t1' }
	elsif ($kind < 0.8)
	{
		my $join = one_of('JOIN', 'LEFT JOIN', 'FULL JOIN');
		my $column = one_of('a', 'b');

		push @tables, 't2';
		$from = "big t1 $join small t2 ON t1.$column = t2.$column";
		$from .= one_of('', ' AND t1.id > t2.id') unless $join eq 'FULL JOIN';
	}
	elsif ($kind < 0.9)
	{
		push @tables, 't2';
		$from = 'big t1, LATERAL (SELECT * FROM small s WHERE s.b = t1.b ORDER BY s.c, s.id LIMIT '
			. one_of('3', '100', 't1.b % 4', 'NULL') . ') t2';
	}
	else
	{
		$from = '(SELECT * FROM big ORDER BY ' . one_of(@columns) . ', id'
			. one_of('', ' LIMIT 50', ' LIMIT 2500', ' OFFSET 10') . ') t1';
	}
	# with another row's key, or its own: joins that the planner may leave out, of a table with itself from 18 on
	$from .= one_of(' LEFT', ' INNER') . ' JOIN big useless ON useless.id = t1.id' if $kind < 0.55 && chance(0.2);
	$from .= one_of('', '', ' WHERE t1.id % ' . (2 + int(rand(4))) . ' <> 0', ' WHERE t1.b < ' . int(rand(50)));
	return ($from, \@tables);
}

sub limit
{
	return one_of('', '', ' LIMIT 10', ' LIMIT 3000', ' LIMIT 7 OFFSET 20', ' OFFSET 100', ' LIMIT (SELECT 20)',
		' LIMIT NULL');
}

sub ids { return join(', ', map { "$_.id AS id_$_" } @{ $_[0] }) }

# Each returns a query and whether it fixes the order of its rows.
sub ordered
{
	my ($from, $tables) = random_from();

	return ('SELECT ' . ids($tables) . ', ' . column('t1') . " AS x FROM $from ORDER BY " . total_order($tables)
		. limit(), 1);
}

sub windows
{
	my ($from, $tables) = random_from();
	my $order = chance(0.5) ? ' ORDER BY ' . total_order($tables) . limit() : '';
	my $shared = chance(0.5) ? column('t1') : '';
	my @calls = map {
		one_of('row_number()', 'rank()', 'sum(t1.b)', 'lag(t1.id)', 'count(*)') . ' OVER ('
			. ($shared || chance(0.5) ? 'PARTITION BY ' . ($shared || column('t1')) : '') . ' ORDER BY '
				. total_order($tables) . ')'
	} 1 .. 1 + int(rand(3));

	return ('SELECT ' . join(', ', ids($tables), @calls) . " FROM $from$order", $order ne '');
}

sub distinct
{
	my ($from, $tables) = random_from();
	my @on = map { "t1.$_" } some_columns(2);
	my $on = join(', ', @on);
	my $order = join(', ', map { $_ . one_of('', ' DESC') } @on);

	return ("SELECT DISTINCT ON ($on) t1.*, $tables->[-1].id AS last FROM $from ORDER BY $order, "
		. total_order($tables) . limit(), 1)
		if chance(0.5);
	my $sorted = chance(0.5) ? " ORDER BY $order" . limit() : '';
	return ("SELECT DISTINCT $on FROM $from$sorted", $sorted ne '');
}

# Groups, also with a window over part of their keys and an order by all of them.
sub grouped
{
	my ($from, $tables) = random_from();
	my @keys = map { "t1.$_" } some_columns(3);
	my $keys = join(', ', @keys);
	my $by = one_of($keys, $keys, "ROLLUP ($keys)", "CUBE ($keys)");
	my $id = "$tables->[-1].id";
	my $calls = one_of('count(*), sum(t1.b), max(t1.c)', 'count(DISTINCT t1.a), min(t1.d)',
		"array_agg(t1.id ORDER BY t1.c, t1.id, $id)", "string_agg(t1.b::text, ',' ORDER BY t1.b), count(*)");
	my $order = $by eq $keys && chance(0.5) ? " ORDER BY $keys" : '';

	$calls .= ', rank() OVER (' . one_of('', 'PARTITION BY ' . one_of(@keys)) . ' ORDER BY ' . one_of(@keys) . ')'
		if chance(0.4);
	return ("SELECT $keys, $calls FROM $from GROUP BY $by" . one_of('', ' HAVING count(*) > 1') . $order, $order ne '');
}

# Aggregates of all rows, each in an order that no two rows share, and others to whom the order is all the same.
sub whole
{
	my ($from, $tables) = random_from();
	my $order = total_order($tables);
	my @calls = map {
		my $by = chance(0.6) ? $order : total_order($tables);

		one_of("array_agg(t1.id ORDER BY $by)", "string_agg(t1.c, ',' ORDER BY $by)", "array_agg(t1.d ORDER BY $by)")
			. one_of('', '', ' FILTER (WHERE t1.b > 20)')
	} 1 .. 1 + int(rand(3));

	push @calls, one_of('count(*)', 'sum(t1.b)', 'max(t1.a)', 'count(DISTINCT t1.a)') if chance(0.4);
	return ('SELECT ' . join(', ', @calls) . " FROM $from" . one_of('', '', ' HAVING count(*) > 1000'), 1);
}

sub set_operation
{
	my $keys = join(', ', some_columns(2));
	my $operation = one_of('UNION', 'UNION ALL', 'INTERSECT', 'EXCEPT', 'EXCEPT ALL');
	my $order = one_of('', " ORDER BY $keys");

	return ("SELECT $keys FROM big $operation SELECT $keys FROM parts$order", $order ne '');
}

# Settings of one query.
sub settings
{
	my $sql = "RESET ALL;\nSET client_min_messages = warning;\nSET search_path = queries;\n"
		. "SET statement_timeout = '30min';\n";

	$sql .= 'SET gpusort.min_rows = ' . one_of(0, 0, 0, 500) . ";\n";
	$sql .= "SET jit = on;\nSET jit_above_cost = 0;\n" if chance(0.1);
	$sql .= "SET $_ = off;\n" for grep { chance(0.25) } @switches;
	if (chance(0.5))
	{
		$sql .= "SET parallel_setup_cost = 0;\nSET parallel_tuple_cost = 0;\nSET min_parallel_table_scan_size = 0;\n";
		$sql .= 'SET max_parallel_workers_per_gather = ' . int(rand(5)) . ";\n";
		$sql .= "SET parallel_leader_participation = off;\n" if chance(0.4);
		$sql .= 'SET gpusort.cores = ' . one_of(1, 2, 3, 8, 8, 8) . ";\n";
		# a nested loop would start them again for each row
		$sql .= "RESET enable_material;\n";
		$sql .= "SET max_parallel_workers = 0;\n" if chance(0.1);
		$sql .= "SET gpusort.parallel_blocks = off;\n" if chance(0.1);
	}
	$sql .= "SET gpusort.work_mem = '1MB';\nSET work_mem = '64kB';\n" if chance(0.3);
	$sql .= "SET gpusort.cpu_row_cost = 0;\n" if chance(0.3);
	$sql .= "SET gpusort.verify = 'full';\n" if chance(0.2);
	return $sql;
}

# Runs one round; says what differs, and counts the sorts.
sub run_round
{
	my ($number) = @_;
	my ($file, $name) = tempfile(UNLINK => 1);
	my ($sorts, @wrong) = (0);

	srand($number);
	print $file $setup =~ s/SEED/0.5 + $number % 1000 \/ 10000.0/er;
	for (1 .. 50)
	{
		my ($query, $fixed) = one_of(\&ordered, \&ordered, \&windows, \&windows, \&distinct, \&grouped,
			\&whole, \&set_operation)->();

		# workers that are started for each of thousands of rows take minutes, whoever sorts in them
		print $file settings(), $query =~ /LATERAL/ ? "SET max_parallel_workers_per_gather = 0;\n" : '',
			"SELECT compare(\$query\$$query\$query\$, ", $fixed ? 'true' : 'false', ");\n";
	}
	print $file "RESET ALL;\nSET client_min_messages = warning;\nDROP SCHEMA queries CASCADE;\n";
	close $file;
	open(my $output, '-|', $psql, '-XqAt', '-v', 'ON_ERROR_STOP=1', '-d', $ENV{PGDATABASE} // 'postgres', '-f', $name)
		or die "psql: $!";
	while (my $line = <$output>)
	{
		chomp $line;
		if ($line =~ /^same (\d+)$/) { $sorts += $1 }
		else { push @wrong, $line }
	}
	close $output or push @wrong, "psql: status $?";
	push @wrong, 'no sort was replaced' unless $sorts;
	return ($sorts, @wrong);
}

my $start = time;
my $done = 0;
my $failed = 0;

while ($rounds ? $done < $rounds : $done == 0 || time - $start < $seconds)
{
	my $number = $seed + $done++;
	my ($sorts, @wrong) = run_round($number);

	print @wrong ? 'not ok' : 'ok', " $done - seed $number, $sorts sorts\n";
	print "# $_\n" for @wrong;
	$failed++ if @wrong;
}
print "1..$done\n";
exit($failed ? 1 : 0);
