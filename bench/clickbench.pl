#!/usr/bin/perl
# clickbench.pl PSQL DATABASE JSON_FILE SIDE...: the queries of clickbench.sh over its tables, on every side in turns.
#
# Sides:  off        gpusort.enabled = off, what the others are compared with
#         plain      gpusort without columns
#         cpu, gpu   with columns, in a service that has that engine
#         duckdb     DuckDB in memory, over the rows of the same tables
# RUNS    timed runs of each side, default 3; the result is their median
# ENOUGH  seconds after which a side is not run again, default 60; the run for its rows is its time where that took as
#         long
# ONCE    sides whose run for their rows is their only one, separated by blanks
# ONLY    a pattern: which queries, by name
# CLOCK   "processor": times are processor times of the session, or DuckDB, and of the service, for busy machines; no
#         query has parallel workers then
# TIMEOUT seconds after which PostgreSQL gives up a query, default 300
# UNTIL   the second, as date +%s counts them, from which on no other query is begun
# TARGETS "no": the table of hits is not held against targets.txt, which takes as long as several queries
#
# What is timed is what a client waits for, with all rows: by psql's clock, or by Python's around DuckDB's.  Before that
# each side runs once for its rows, which are compared as far as the query determines them, with PostgreSQL's, or, if it
# gave up, with those of the first side that did not: rows that are equal in what a LIMIT orders by may be any of them.
# Numbers with a fraction may differ in the tenth digit between PostgreSQL and DuckDB, whose averages are floats, and
# where floats are summed; all others are equal to the digit.
#
# An existing JSON_FILE gets the sides added that were measured now.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use Digest::MD5 qw(md5_hex);
use Encode qw(encode_utf8);
use IPC::Open2;
use JSON::PP;
use List::Util qw(sum);
use Time::HiRes qw(sleep);
use Processor;
use Session;

my ($psql, $database, $json_file, @sides) = @ARGV;
my $runs = $ENV{RUNS} || 3;
my $wanted = $ENV{ONLY} || '.';
my $by_processor = ($ENV{CLOCK} // '') eq 'processor';
my $timeout = $ENV{TIMEOUT} || 300;
my $enough_ms = 1000 * ($ENV{ENOUGH} || 60);
my %once = map { $_ => 1 } split ' ', $ENV{ONCE} // '';
my $until = $ENV{UNTIL} || 'inf';
my $here = "$FindBin::Bin/clickbench";
my %settings = (
	off => 'SET gpusort.enabled = off',
	plain => 'SET gpusort.enabled = on; SET gpusort.columns = off',
	map { $_ => 'SET gpusort.enabled = on; SET gpusort.columns = on' } qw(cpu gpu));
my %session;
my %duckdb;

sub slurp
{
	my ($file) = @_;
	local $/ = undef;
	open my $in, '<:encoding(UTF-8)', $file or die "$file: $!\n";
	return <$in>;
}

sub cores { return scalar(() = slurp('/proc/cpuinfo') =~ /^processor/mg) }

# Asks DuckDB, and returns what it says.
sub duckdb
{
	my (%question) = @_;

	print { $duckdb{in} } encode_json(\%question), "\n" or die "duckdb: $!\n";
	$duckdb{in}->flush;
	my $said = decode_json(scalar(readline $duckdb{out}) // die "DuckDB ended\n");
	die "DuckDB: $said->{error}\n" if $said->{error};
	return $said;
}

# Starts DuckDB, and returns its version.
sub start_duckdb
{
	my ($out, $in);

	$duckdb{pid} = open2($out, $in, 'python3', "$here/duckdb_side.py", cores());
	@duckdb{qw(out in)} = ($out, $in);
	return decode_json(scalar readline $duckdb{out})->{version};
}

# Writes a table to files, as many at a time as there are cores.
sub write_table
{
	my ($table, @files) = @_;
	my $pages = $session{off}->query("SELECT pg_relation_size('$table') / current_setting('block_size')::int");
	my @places = map { int($pages * $_ / @files) } 0 .. @files;
	my @children = map {
		my $rows = "SELECT * FROM $table WHERE ctid >= '($places[$_],0)' AND ctid < '($places[$_ + 1],0)'";
		my $child = fork() // die "fork: $!\n";

		if ($child == 0)
		{
			Session->new($psql, $database)->query("COPY ($rows) TO '$files[$_]' (FORMAT csv, NULL '\\N')");
			exec 'true';
		}
		$child
	} 0 .. $#files;

	foreach my $child (@children)
	{
		waitpid $child, 0;
		die "writing $table failed\n" if $?;
	}
	return;
}

# Gives DuckDB a table of PostgreSQL's.
sub load_duckdb
{
	my ($table) = @_;
	my @files = map { "$json_file.$_.csv" } 1 .. cores();
	my $columns = $session{off}->query("SELECT string_agg(format('%I %s', attname, replace(format_type(atttypid, "
			. "atttypmod), 'character(1)', 'varchar')), ', ' ORDER BY attnum) FROM pg_attribute "
			. "WHERE attrelid = '$table'::regclass AND attnum > 0");

	write_table($table, @files);
	duckdb(sql => "CREATE TABLE $table ($columns)");
	duckdb(sql => "COPY $table FROM '$json_file.*.csv' (FORMAT csv, HEADER false, QUOTE '\"', ESCAPE '\"', "
			. "NULLSTR '\\N')");
	unlink @files;
	return;
}

# Queries of a file of this project's: named by comments, with the columns of their order.
sub named_queries
{
	my ($group, $file, $pattern) = @_;
	my @found;

	foreach my $part (split /^-- name: /m, slurp($file))
	{
		my ($name, $order, $sql) = $part =~ /\A([^\n]*)\n(?:-- order: ([^\n]*)\n)?([^-].*?);\s*(?:\z|^--)/ms or next;
		push @found, { group => $group, name => $name, sql => $sql, order => [ ($order // '') =~ /^\d/ ? split /, /,
			$order : () ] } if $name =~ $pattern;
	}
	return @found;
}

# ClickBench's queries, by number.
sub clickbench
{
	my $number = 0;
	my @queries = map { { group => 'ClickBench', name => 'Q' . ++$number, sql => s/;\s*\z//r, order => [] } }
	  grep { /\S/ } split /\n/, slurp("$here/queries.sql");

	foreach my $line (grep { /^\d/ } split /\n/, slurp("$here/orders.txt"))
	{
		my ($n, $how, $order, $check) = $line =~ /^(\d+) (any|order (\S+)(?: check (.*))?)$/
		  or die "orders.txt: $line\n";

		$queries[ $n - 1 ]{any} = $how eq 'any';
		$queries[ $n - 1 ]{order} = [ split /,/, $order ] if defined $order;
		$queries[ $n - 1 ]{check} = $check;
	}
	return @queries;
}

# The rows of a query on a side, each an array of columns, and the milliseconds of the query if it is the one that is
# timed.
sub rows_of
{
	my ($side, $query) = @_;
	my $sql = $query->{check} // $query->{sql};
	my ($ms, @rows);

	if ($side eq 'duckdb')
	{
		my $said = duckdb(sql => $sql, rows => JSON::PP::true);
		($ms, @rows) = ($said->{ms}, @{ $said->{rows} });
	}
	else
	{
		$session{$side}->stream("\\timing on\n$sql;\n\\timing off\n",
			sub { push @rows, [ split /\t/, $_[0] =~ s/\n\z//r, -1 ] });
		($ms) = (pop @rows)->[0] =~ /^Time: ([\d.]+) ms/;
	}
	return (\@rows, $by_processor || $query->{check} ? undef : $ms);
}

# What of rows the query determines: how many there are, the order, and those that no LIMIT chose among equals.
sub determined
{
	my ($query, $rows) = @_;
	my ($limit, $offset) = ($query->{check} // $query->{sql}) =~ /\bLIMIT (\d+)(?: OFFSET (\d+))?\s*\z/i;
	my $chosen = defined $limit && @$rows == $limit;
	my @keys = map { my $row = $_; join "\t", map { $row->[ $_ - 1 ] } @{ $query->{order} } } @$rows;
	my %open;

	return scalar @$rows if $query->{any};
	$open{ $keys[-1] } = 1 if $chosen;
	$open{ $keys[0] } = 1 if $offset && @keys;
	return join "\n", scalar @$rows, @keys, sort map { join "\t", @{ $rows->[$_] } } grep { !$open{ $keys[$_] } } 0
	  .. $#keys;
}

# Rows with fractions of nine digits, and with averages of many digits, which are alone in their row.
sub rounded
{
	my ($rows) = @_;
	my $alone = @$rows == 1 && @{ $rows->[0] } == 1;
	return [ map { [ map { /^-?\d+\.?\d*(?:e[-+]?\d+)?$/ && (/\./ || $alone) ? sprintf '%.9g', $_ : $_ } @$_ ] }
		@$rows ];
}

# What tells answers apart: digests of what the query determines, to the digit and rounded.
sub digests
{
	my ($query, $rows) = @_;
	return { exact => md5_hex(encode_utf8(determined($query, $rows))),
		rounded => md5_hex(encode_utf8(determined($query, rounded($rows)))) };
}

# Is the answer of a side that of PostgreSQL?
sub equal
{
	my ($side, $query, $ours, $base) = @_;
	my $how = $side ne 'duckdb' && $query->{sql} !~ /\bamount\b/ ? 'exact' : 'rounded';
	return $ours->{$how} eq $base->{$how};
}

# Milliseconds of processor time of a query on a side.
sub processor_timed
{
	my ($side, $query) = @_;
	my @processes = $side eq 'duckdb' ? "/proc/$duckdb{pid}" :
	  ('/proc/' . $session{$side}->backend, Processor::service($session{$side}));
	my $before = sum(map { Processor::threads_ms($_) } @processes);

	if ($side eq 'duckdb') { duckdb(sql => $query->{sql}) }
	else { $session{$side}->query("\\o /dev/null\n$query->{sql};\n\\o\n") }
	return sum(map { Processor::threads_ms($_) } @processes) - $before;
}

# Milliseconds of a query on a side.
sub timed
{
	my ($side, $query) = @_;

	return processor_timed($side, $query) if $by_processor;
	return duckdb(sql => $query->{sql})->{ms} if $side eq 'duckdb';
	my ($ms) = $session{$side}->query("\\timing on\n$query->{sql};\n\\timing off\n") =~ /^Time: ([\d.]+) ms/m;
	return $ms;
}

# Nodes of a plan that columns answer.
sub columns_nodes
{
	my ($plan) = @_;
	my @below = map { columns_nodes($_) } @{ $plan->{Plans} // [] };
	return ($plan->{'Custom Plan Provider'} // '') eq 'GpuColumns' ? ($plan, @below) : @below;
}

# Waits until columns answer, and hold all pages: their keeper ends when no query has come for a minute, as others may
# take, and a server that has just started holds few.
sub wake
{
	my ($side) = @_;
	my $asked = 0;

	return if $side !~ /^[cg]pu$/;
	foreach my $table (qw(hits sales lineitem))
	{
		my $question = "SELECT count(*) FROM $table";

		until (grep { !$_->{Columns} && !$_->{'Pages From Table'} }
			columns_nodes($session{$side}->analyze($question)->{Plan}))
		{
			die "columns of $table do not answer\n" if ++$asked > 600;
			sleep 0.1;
		}
	}
	return;
}

# Where a query's answer comes from: "answer" for all of it, "rows" for its rows, or nothing and why.
sub source_of
{
	my ($side, $query) = @_;
	my $session = $session{$side};
	my ($node) = columns_nodes($session->analyze($query->{sql})->{Plan});
	my $why = $node ? $node->{Columns} =~ s/^not used \((.*)\)$/$1/r : undef if !$node || $node->{Columns};

	return { from => defined $node->{Rows} ? 'rows' : 'answer', engine => $node->{Engine} }
	  if $node && !$node->{Columns};
	$session->query('SET client_min_messages = debug1');
	my ($reason) = $session->query("EXPLAIN $query->{sql}")
	  =~ /^(?:.*: )?DEBUG:  gpusort: (?:not answered from columns|rows not found by columns): (.*)$/m;
	$session->query('SET client_min_messages = warning');
	return { from => '', why => $why // $reason // 'PostgreSQL\'s plan costs less, or has no part for columns' };
}

# Runs a query on a side for its rows, and says whether they are those of the answer.
sub compare
{
	my ($side, $query, $result) = @_;
	my ($rows, $ms) = eval { rows_of($side, $query) };

	return { error => $@ =~ s/\n.*//sr } if !$rows;
	my $digests = digests($query, $rows);
	$result->{answer} //= $digests;
	return { equal => equal($side, $query, $digests, $result->{answer}) ? JSON::PP::true : JSON::PP::false,
		defined $ms && ($once{$side} || $ms >= $enough_ms) ? (ms => $ms) : () };
}

# What is measured of a query on all sides.
sub measure
{
	my ($query, $before) = @_;
	my $result = $before // { name => $query->{name}, group => $query->{group}, sides => {} };
	my %ms;

	delete $result->{answer} if grep { $_ eq 'off' } @sides;
	foreach my $side (@sides)
	{
		wake($side);
		$result->{sides}{$side} = compare($side, $query, $result);
		$result->{sides}{$side}{source} = source_of($side, $query) if $side =~ /^[cg]pu$/;
	}
	my @timed = grep { !$result->{sides}{$_}{error} && !defined $result->{sides}{$_}{ms} } @sides;
	foreach my $run (1 .. $runs)
	{
		foreach my $side (@timed)
		{
			next if @{ $ms{$side} // [] } && ($once{$side} || sum(@{ $ms{$side} }) >= $enough_ms);
			wake($side);
			push @{ $ms{$side} }, timed($side, $query);
		}
	}
	$result->{sides}{$_}{ms} = Session::median(@{ $ms{$_} }) foreach keys %ms;
	print STDERR join(' ', $query->{name}, map { sprintf '%s %s%s', $_, $result->{sides}{$_}{ms} // 'failed',
		$result->{sides}{$_}{equal} ? '' : ' DIFFERS' } @sides), "\n";
	return $result;
}

# Holds the table of hits against targets.txt.
sub targets
{
	return [] if ($ENV{TARGETS} // '') eq 'no';
	my @targets = map { [ split / \| / ] } grep { /^[^#].* \| / } split /\n/, slurp("$here/targets.txt");
	my @ours = split /\t/, $session{off}->query('SELECT ' . join(', ', map { $_->[3] } @targets) . ' FROM hits');

	return [ map {
		my ($name, $wanted, $part) = @{ $targets[$_] };
		{ name => $name, wanted => $wanted, ours => $ours[$_],
			met => abs($ours[$_] - $wanted) <= $part * $wanted ? JSON::PP::true : JSON::PP::false }
	} 0 .. $#targets ];
}

# What is measured of everything before the queries, once.
sub prepare
{
	my $session = $session{off};
	my $result = { label => $ENV{LABEL}, commit => $ENV{COMMIT}, cores => cores(), runs => $runs, queries => [],
		clock => $by_processor ? 'processor' : 'wall',
		time => scalar gmtime, version => $session->query('SHOW server_version'),
		workers => $session->query('SHOW max_parallel_workers_per_gather') };

	$session->query('VACUUM ANALYZE hits, sales, lineitem');
	$result->{rows}{$_} = $session->query("SELECT count(*) FROM $_") foreach qw(hits sales lineitem);
	$result->{bytes} = $session->query("SELECT pg_table_size('hits')");
	$result->{targets} = targets();
	$result->{load_ms}{$_} = $session->milliseconds("SELECT gpusort_columns_add('$_')") foreach qw(hits sales lineitem);
	$result->{load} = (split ' ', slurp('/proc/loadavg'))[0];
	$result->{held_bytes} = $session->query("SELECT sum(bytes) FROM gpusort_columns WHERE rel = 'hits'::regclass");
	return $result;
}

foreach my $side ('off', grep { !/^(?:off|duckdb)$/ } @sides)
{
	$session{$side} = Session->new($psql, $database);
	$session{$side}->query('SET max_parallel_workers_per_gather = 0') if $by_processor;
	$session{$side}->query("$settings{$side};\n\\pset fieldsep '\\t'\n");
}
my $result = -e $json_file ? decode_json(do { local $/; open my $in, '<', $json_file or die; <$in> }) : prepare();
if (grep { $_ eq 'duckdb' } @sides)
{
	$result->{duckdb} = start_duckdb();
	load_duckdb($_) foreach qw(hits sales lineitem);
}
$_->query("SET statement_timeout = '${timeout}s'") foreach values %session;
my %before = map { ("$_->{group} $_->{name}" => $_) } @{ $result->{queries} };
my @queries = (clickbench(), named_queries('TPC-H', "$FindBin::Bin/everyday/tpch.sql", qr/^Q[16] /),
	named_queries('sales', "$here/road.sql", qr/./));
$result->{queries} = [ grep { defined } map {
	my $query = $_;
	my $before = $before{"$query->{group} $query->{name}"};
	$query->{name} =~ /$wanted/ && time < $until ? measure($query, $before) : $before;
} @queries ];
open my $out, '>', $json_file or die "$json_file: $!\n";
print $out JSON::PP->new->canonical->pretty->encode($result);
close $out or die "$json_file: $!\n";
$session{$_}->finish foreach keys %session;
exit(grep({ my $query = $_; grep { !$_->{error} && !$_->{equal} } values %{ $query->{sides} } } @{ $result->{queries} })
	? 1 : 0);
