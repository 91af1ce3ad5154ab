#!/usr/bin/perl
# everyday.pl PSQL DATABASE JSON_FILE PART QUERIES...: everyday queries over the tables of TPC-H, or those of TPC-DS, on
# every side in turns in one session.  PART is what the result calls itself: everyday, tpcds or trap.
#
# SIDES   default "off on"; the first is what others are compared with.  A side is one of
#           off, on       gpusort.enabled
#           cpu, gpu      on, with that engine
#         with any number of "+workersN" (that many for a Gather), "+serial" (none), "+coresN" (gpusort.cores),
#         "+nojit", "+noshares" (of windows and groups), "+tuned" (work_mem 1 GB, gpusort.work_mem 4 GB, 4 workers, no
#         JIT), "+nooutput" (PostgreSQL writes the rows), "+unsent" (nobody does: a SELECT runs under EXPLAIN (ANALYZE,
#         TIMING OFF), so this is about what an output that costs nothing would leave).  A side on+X is compared with
#         off+X where that runs, too.
# RUNS    timed runs of each side, default 5; the result is their median
# CLOCK   "processor": what counts is not the time that passes, but the processor time of the server, workers included
# ONLY    a pattern: which queries, by "group: name"
# TIMEOUT seconds after which a statement is given up, default 300
# SF      what the tables' scale factor is, default 1
#
# What is timed is what a user waits for: the query's text goes to the server, and all rows come through the socket to
# psql, which throws them away (COPY (query) TO STDOUT, into /dev/null: output functions run as for a SELECT).
# CREATE TABLE AS, INSERT, COPY and CREATE INDEX run as they are.  The client's share is the same on every side.
#
# Before the timed runs each side runs twice: under EXPLAIN (ANALYZE, TIMING OFF), for plan, costs and the executor's
# time, and for its rows.  Those are compared by hashes: the same rows whatever their order, and the same sequence of
# the columns that the query is ordered by.  Comments before each query say its name, the columns of its result that
# give the order, what to do before and after each run, where to look for the result of one that returns no rows, and
# whether its LIMIT may cut through ties: its rows are then compared without the LIMIT.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use JSON::PP;
use List::Util qw(sum);
use Session;
use Time::HiRes qw(time);

$| = 1;

my ($psql, $database, $json_file, $part, @files) = @ARGV;
my %title = (everyday => 'Everyday queries', tpcds => 'TPC-DS', trap => 'Plans that do not end');
my $sf = $ENV{SF} || 1;
my $runs = $ENV{RUNS} || 5;
my $wanted = $ENV{ONLY} || '.';
my $timeout = $ENV{TIMEOUT} || 300;
my @sides = split ' ', $ENV{SIDES} || 'off on';
my $start = time;
my $session;

my %word = (
	off => 'SET gpusort.enabled = off',
	on => 'SET gpusort.enabled = on',
	cpu => 'SET gpusort.enabled = on; SET gpusort.engine = cpu',
	gpu => 'SET gpusort.enabled = on; SET gpusort.engine = gpu',
	serial => 'SET max_parallel_workers_per_gather = 0',
	nojit => 'SET jit = off',
	nooutput => 'SET gpusort.output = off',
	unsent => 'SET gpusort.output = on',
	noshares => 'SET gpusort.parallel_windows = off',
	tuned => "SET work_mem = '1GB'; SET gpusort.work_mem = '4GB'; SET max_parallel_workers_per_gather = 4; "
	  . 'SET jit = off');

# The statements that bring a side's settings about.
sub settings
{
	my ($side) = @_;
	my @statements = map {
		$word{$_} // (/^workers(\d+)$/ ? "SET max_parallel_workers_per_gather = $1"
			  : /^cores(\d+)$/ ? "SET gpusort.cores = $1" : die "Unknown side \"$side\"\n")
	} split /\+/, $side;
	return join '; ', 'RESET ALL', 'SET client_min_messages = warning', "SET statement_timeout = '${timeout}s'",
	  @statements;
}

# The side that a side is compared with: PostgreSQL's with the same settings, else the first.
sub base_of
{
	my ($side) = @_;
	my $same = $side =~ s/^\w+/off/r;
	return (grep { $_ eq $same } @sides) ? $same : $sides[0];
}

# Reads the queries of a file: each a hash of its comments' words, and its SQL.
sub read_queries
{
	my ($file) = @_;
	my ($group, @found);

	open my $in, '<', $file or die "$file: $!";
	while (my $line = <$in>)
	{
		if ($line =~ /^-- group: (.*)/) { $group = $1 }
		elsif ($line =~ /^-- name: (.*)/) { push @found, { group => $group, name => $1, sql => '' } }
		elsif (@found && $line =~ /^-- (order|check|before|after|ties): (.*)/) { $found[-1]{$1} = $2 }
		elsif (@found) { $found[-1]{sql} .= $line }
	}
	close $in;
	$_->{sql} = $_->{sql} =~ s/\s*;\s*\z//r =~ s/\{sf\}/$sf/gr foreach @found;
	return @found;
}

# What EXPLAIN can explain of a statement.
sub explained
{
	my ($query) = @_;
	return $query->{sql} =~ /^COPY \((.*)\) TO/s ? $1 : $query->{sql} =~ /^CREATE INDEX/ ? undef : $query->{sql};
}

# All nodes of a plan.
sub nodes
{
	my ($plan) = @_;
	return ($plan, map { nodes($_) } @{ $plan->{Plans} // [] });
}

# A node in the short notation of plans, or nothing: gathers with the workers that came, sorts with what sorted.
sub short
{
	my ($node) = @_;
	my $type = $node->{'Node Type'};

	return "$type" . (defined $node->{'Workers Launched'} ? "x$node->{'Workers Launched'}" : '') if $type =~ /^Gather/;
	return $type if $type =~ /Sort$/;
	return unless ($node->{'Custom Plan Provider'} // '') eq 'GpuSort';
	my $engine = $node->{Engine} // return 'GpuSort';
	return 'GpuSort:' . ($engine =~ /^(CPU|PostgreSQL)$/ ? $engine : 'GPU');
}

# A plan in the short notation; equal neighbours are counted.
sub notation
{
	my ($plan) = @_;
	my @found;

	foreach my $name (grep { defined } map { short($_) } nodes($plan))
	{
		if (@found && $found[-1][0] eq $name) { $found[-1][1]++ }
		else { push @found, [ $name, 1 ] }
	}
	return join(', ', map { $_->[1] > 1 ? "$_->[1] $_->[0]" : $_->[0] } @found) || '-';
}

# Runs a statement between what comes before and after it, and returns what the function given for it does.
sub around
{
	my ($query, $run) = @_;

	$session->query($query->{before}) if $query->{before};
	my $result = eval { $run->() };
	my $error = $@;
	eval { $session->query($query->{after}) } if $query->{after};
	die $error if $error;
	return $result;
}

# Plan, costs and the executor's time.
sub explain
{
	my ($query) = @_;
	my $sql = explained($query) // return {};
	my $explain = around($query, sub { $session->analyze($sql) });
	my $plan = $explain->{Plan};
	# of gpusort's aggregates in place of PostgreSQL's only VERBOSE tells
	my $verbose = around($query, sub { $session->query("EXPLAIN (VERBOSE, COSTS OFF) $sql") });

	return {
		plan => notation($plan),
		aggregates => $verbose =~ /\bgpu_\w+\(/ ? JSON::PP::true : JSON::PP::false,
		cost => $plan->{'Total Cost'},
		executor_ms => $explain->{'Execution Time'},
		jit => $explain->{JIT} ? JSON::PP::true : JSON::PP::false,
		nodes => [ map { short($_) // $_->{'Custom Plan Provider'} // $_->{'Node Type'} } nodes($plan) ] };
}

# Why sorts stay PostgreSQL's, as gpusort says it.
sub reasons
{
	my ($query) = @_;
	my $sql = explained($query) // return [];
	my %seen;
	$session->query('SET client_min_messages = debug1');
	my $text = around($query, sub { $session->query("EXPLAIN $sql") });
	$session->query('SET client_min_messages = warning');
	return [ grep { !$seen{$_}++ } $text =~ /gpusort leaves a sort to PostgreSQL: (.*)/g ];
}

# The rows of a query: their number, a sum over their hashes, and one over those of the columns in order, which take the
# row's number in.
sub digest
{
	my ($query) = @_;
	my $source = $query->{check} // explained($query) // return undef;
	my $columns = join ', ', map { "q.$_" } split /, /, $query->{order} // '';
	# numbering rows keeps the query below as it is; a table that was made is read in the order of its rows
	my $rows = $query->{ties} ? 'NULL' : 'sum(hash_record_extended(q, 0))';
	my $sql = "SELECT count(*), $rows, sum(hash_record_extended(place, n))"
	  . " FROM (SELECT q, ROW($columns) AS place, row_number() OVER () AS n FROM ($source) AS q) AS numbered";
	my $digest = around($query, sub {
		return $session->query($sql) unless $query->{check};
		$session->query("$query->{sql}; SET synchronize_seqscans = off; SET max_parallel_workers_per_gather = 0");
		return $session->query($sql) });
	return $digest unless $query->{ties};
	return "$digest|" . digest({ %$query, ties => undef, sql => $query->{sql} =~ s/\s+LIMIT\s+\d+\z//ir });
}

# The time of one run on a side.
sub timed
{
	my ($query, $side) = @_;
	my $before = $session->server_ms;
	my $ms = around($query, sub {
		return $session->milliseconds($query->{sql}) if $query->{sql} !~ /^(SELECT|WITH)/;
		return $session->milliseconds("EXPLAIN (ANALYZE, TIMING OFF) $query->{sql}") if $side =~ /\+unsent/;
		return $session->discard($query->{sql}) });
	return ($ENV{CLOCK} // '') eq 'processor' ? $session->server_ms - $before : $ms;
}

# Why gpusort took no part in a plan.
sub why_not
{
	my ($query, $on) = @_;
	my %seen;
	my @left = grep { !$seen{$_}++ } map { s/(?<![\w-])\d+/N/gr } @{ $on->{left} };

	return 'sorts without a plan' unless $on->{nodes};
	return join '; ', @left if @left;
	return 'Incremental Sort' if grep { $_ eq 'Incremental Sort' } @{ $on->{nodes} };
	return 'no reason given' if grep { $_ eq 'Sort' } @{ $on->{nodes} };
	return 'sorts inside an aggregate' if $query->{sql} =~ /\(DISTINCT|WITHIN GROUP|_agg\([^()]*ORDER BY/;
	return 'no sort in the plan';
}

# All that is known of a query.
sub measure
{
	my ($query) = @_;
	my %side;

	foreach my $name (@sides)
	{
		$session->query(settings($name));
		$side{$name} = eval {
			my $found = explain($query);
			$found->{left} = reasons($query) unless $name =~ /^off/;
			my $digest = digest($query);
			($found->{rows}) = split /\|/, $digest if defined $digest;
			$found->{digest} = $digest;
			$found;
		};
		next if $side{$name};
		die $@ unless $@ =~ /statement timeout/;
		$side{$name} = { timeout => JSON::PP::true };
	}
	for (1 .. $runs)
	{
		foreach my $name (grep { !$side{$_}{timeout} } @sides)
		{
			$session->query(settings($name));
			push @{ $side{$name}{all_ms} }, timed($query, $name);
		}
	}
	return { %$query, sides => \%side };
}

# Adds medians, ratios and what they mean.
sub judge
{
	my ($found) = @_;
	my $side = $found->{sides};

	$_->{ms} = Session::median(@{ $_->{all_ms} }) foreach grep { !$_->{timeout} } values %$side;
	foreach my $name (@sides)
	{
		my ($one, $base) = ($side->{$name}, $side->{ base_of($name) });
		next if $one->{timeout} || $base->{timeout};
		$one->{ratio} = $base->{ms} / $one->{ms} unless $name =~ /^off/;
		$one->{same_rows} = ($one->{digest} // '') eq ($base->{digest} // '') ? JSON::PP::true : JSON::PP::false;
		next if $name =~ /^off/ || $one->{aggregates} || grep { /^Gpu/ } @{ $one->{nodes} // [] };
		$one->{unchanged} = why_not($found, $one);
	}
	foreach my $one (values %$side)
	{
		delete $one->{digest};
		$one->{nodes} = join ', ', @{ $one->{nodes} } if $one->{nodes};
	}
	return $found;
}

# How wide the column of a side's times is.
sub width
{
	my ($name) = @_;
	return length $name > 8 ? length $name : 8;
}

# A query's line.
sub line
{
	my ($found) = @_;
	my $side = $found->{sides};
	my $text = sprintf '%-46s', $found->{name};

	foreach my $name (@sides)
	{
		my $one = $side->{$name};
		$text .= sprintf ' %*s', width($name), defined $one->{ms} ? sprintf('%.0f', $one->{ms}) : 'timeout';
		$text .= defined $one->{ratio} ? sprintf(' %5.2f', $one->{ratio}) : ' ' x 6 unless $name =~ /^off/;
	}
	my ($off, $on) = map { $side->{$_} } $sides[0], $sides[1] // $sides[0];
	$text .= ' ' . join '', map { defined $_->{cost} ? sprintf ' %8.0f', $_->{cost} : ' ' x 9 } $off, $on;
	$text .= '  ' . join ' | ', map { $side->{$_}{plan} // '-' } @sides;
	$text .= "  [$on->{unchanged}]" if $on->{unchanged};
	$text .= '  WRONG ROWS' if grep { defined $_->{same_rows} && !$_->{same_rows} } values %$side;
	return "$text\n";
}

sub geometric_mean
{
	return @_ ? exp(sum(map { log } @_) / @_) : 0;
}

# The last lines, for one side.
sub summary
{
	my ($name, @found) = @_;
	my @compared = grep { defined $_->{sides}{$name}{ratio} } @found;
	my $base = base_of($name);
	my %result = (
		base => $base,
		queries => scalar @compared,
		geometric_mean => geometric_mean(map { $_->{sides}{$name}{ratio} } @compared),
		executor_geometric_mean => geometric_mean(
			map { $_->{sides}{$base}{executor_ms} / $_->{sides}{$name}{executor_ms} }
			grep { $_->{sides}{$name}{executor_ms} } @compared),
		under_097 => [ map { $_->{name} } grep { $_->{sides}{$name}{ratio} < 0.97 } @compared ],
		wrong => [ map { $_->{name} } grep { !$_->{sides}{$name}{same_rows} } @compared ],
		timeouts => [ map { $_->{name} } grep { !defined $_->{sides}{$name}{ratio} } @found ]);
	my @changed = grep { !$_->{sides}{$name}{unchanged} } @compared;

	$result{changed} = @changed;
	$result{under_097_unchanged} = grep { $_->{sides}{$name}{unchanged} && $_->{sides}{$name}{ratio} < 0.97 } @compared;
	$result{changed_geometric_mean} = geometric_mean(map { $_->{sides}{$name}{ratio} } @changed);
	push @{ $result{unchanged}{ $_->{sides}{$name}{unchanged} } }, $_->{name}
	  foreach grep { $_->{sides}{$name}{unchanged} } @compared;
	push @{ $result{groups}{ $_->{group} } }, $_->{sides}{$name}{ratio} foreach @compared;
	$_ = geometric_mean(@$_) foreach values %{ $result{groups} };
	return \%result;
}

sub print_summary
{
	my ($name, $result, @groups) = @_;
	my $list = sub { @{ $_[0] } ? ': ' . join('; ', @{ $_[0] }) : '' };

	printf "\n%s against %s: geometric mean %.2f over %d queries (executor alone, once each: %.2f)\n",
	  $name, @$result{qw(base geometric_mean queries executor_geometric_mean)};
	printf "  %s\n", join ', ',
	  map { sprintf '%s %.2f', $_, $result->{groups}{$_} } grep { $result->{groups}{$_} } @groups;
	printf "  %d with nodes of gpusort in their plan: %.2f\n", @$result{qw(changed changed_geometric_mean)};
	printf "  %d under 0.97%s\n", scalar @{ $result->{under_097} }, $list->($result->{under_097});
	printf "  %d of them without these in their plan\n", $result->{under_097_unchanged};
	foreach my $why (sort keys %{ $result->{unchanged} })
	{
		my $names = $result->{unchanged}{$why};
		printf "  %d unchanged, %s%s\n", scalar @$names, $why, $list->($names);
	}
	foreach my $failure (grep { @{ $result->{$_} } } 'timeouts', 'wrong')
	{
		printf "  %d %s%s\n", scalar @{ $result->{$failure} }, uc $failure, $list->($result->{$failure});
	}
	return;
}

# What it all ran on.
sub machine
{
	my %found = (date => scalar(gmtime), commit => $ENV{COMMIT} // '', sf => $sf + 0, runs => $runs + 0);

	open my $cpuinfo, '<', '/proc/cpuinfo' or die;
	my ($cpu) = map { s/^.*?: |\n//gr } grep { /^model name/ } <$cpuinfo>;
	# those that this process may run on
	my $cores = `nproc` + 0;
	open my $load, '<', '/proc/loadavg' or die;
	($found{load}) = <$load> =~ /^(\S+)/;
	@found{ 'cpu', 'cores' } = ($cpu // '', $cores);
	$found{server} = $session->query('SHOW server_version');
	$found{collation} = $session->query('SELECT datcollate FROM pg_database WHERE datname = current_database()');
	$found{jit} = $session->query('SELECT pg_jit_available()');
	$found{settings} = $session->query(q{SELECT string_agg(name || ' = ' || setting, ', ' ORDER BY name)
		FROM pg_settings
		WHERE name IN ('shared_buffers', 'work_mem', 'max_parallel_workers_per_gather', 'gpusort.work_mem')});
	# a first sort there makes a GPU known
	$session->query('SET gpusort.engine = gpu');
	$session->query('SELECT count(*) FROM (SELECT i FROM generate_series(1, 20000) i ORDER BY -i OFFSET 1) AS s');
	$found{device} = $session->query('SELECT coalesce(min(name), \'\') FROM gpusort_devices');
	return %found;
}

$session = Session->new($psql, $database);
$session->query("LOAD 'gpusort'");
settings($_) foreach @sides;
my %result = (part => $part, label => $ENV{LABEL} // '', sides => \@sides, machine());
printf "%s, SF %s, median of %d, ms%s; %s, %s; %s; %s cores, load %s at the start; %s%s, commit %s\n", $title{$part},
  $sf, $runs, ($ENV{CLOCK} // '') eq 'processor' ? " of the server's processor time" : '',
  @result{qw(server collation cpu cores load)}, $result{device} && "$result{device}; ", @result{qw(date commit)};
printf "%s; JIT %s\n", $result{settings}, $result{jit} eq 't' ? 'on' : 'not built in';
printf "%-46s%s  %8s %8s  plans: %s\n", '',
  join('', map { sprintf ' %*s%s', width($_), $_, /^off/ ? '' : ' ratio' } @sides), 'cost', 'cost', join ' | ', @sides;
my (@found, @groups);
my $number = 0;
foreach my $query (map { read_queries($_) } @files)
{
	$query->{number} = ++$number;
	next unless "$query->{group}: $query->{name}" =~ /$wanted/;
	if (!@groups || $groups[-1] ne $query->{group})
	{
		push @groups, $query->{group};
		print "$query->{group}\n";
	}
	push @found, judge(measure($query));
	print line($found[-1]);
}
$result{summary}{$_} = summary($_, @found) foreach grep { !/^off/ } @sides;
print_summary($_, $result{summary}{$_}, @groups) foreach grep { !/^off/ } @sides;
@result{ 'queries', 'seconds' } = (\@found, time - $start);
printf "\n%.0f s\n", $result{seconds};
open my $file, '>', $json_file or die "$json_file: $!";
print $file JSON::PP->new->pretty->canonical->encode(\%result);
close $file;
$session->finish;
exit(scalar(grep { @{ $_->{wrong} } } values %{ $result{summary} }) ? 1 : 0);
