#!/usr/bin/perl
# columns.pl PSQL DATABASE QUERIES: what resident columns of the facts change in the queries of TPC-DS, and what stands
# in the way of the rest.  The database has the tables of tpcds_tables.sql, filled by tpcgen-cli, and the keys of
# tpcds_keys.sql; tpcds.py prints the queries.  The server has gpusort in shared_preload_libraries.
#
# A query whose plan is another one with columns runs with and without them in turns, RUNS times (default 2); the lowest
# processor time of the server's processes counts, the service included, and results are compared.  Behind it stand the
# answers from columns in the plan.  Of the others it is counted what gpusort says of their tables or, if it says
# nothing, what the plan does with the facts.  RUNS=none measures nothing, ONLY chooses queries, and TIMEOUT, default
# 60, is when one is given up, in seconds.
use strict;
use warnings;

use Digest::MD5 qw(md5_hex);
use FindBin;
use lib "$FindBin::Bin/..";
use JSON::PP;
use Processor;
use Session;

$| = 1;

my ($psql, $database, $file) = @ARGV;
my $runs = $ENV{RUNS} || 2;
my $wanted = $ENV{ONLY} || '.';
my $timeout = $ENV{TIMEOUT} || 60;
my @facts = qw(store_sales catalog_sales web_sales store_returns catalog_returns web_returns inventory);
my $session = Session->new($psql, $database);
my (%sql, @names);

# Reads the queries, which everyday/tpcds.py writes.
sub read_queries
{
	open my $in, '<', $file or die "$file: $!";
	while (my $line = <$in>)
	{
		if ($line =~ /^-- name: (\w+)/) { push @names, $1 }
		elsif (@names && $line !~ /^--/) { $sql{ $names[-1] } .= $line }
	}
	s/\s*;\s*\z// foreach values %sql;
	return;
}

# The nodes of a plan that answer from columns, as text.
sub nodes_of_columns
{
	my ($plan) = @_;
	my %count;

	$count{$_}++ foreach $plan =~ /\(GpuColumns\)(?: on (\w+))?/g;
	return join ', ', map { "$count{$_} of $_" } sort keys %count;
}

# Plans with and without columns, and what is said of the tables.
sub plans
{
	my ($name) = @_;
	my %plan;

	foreach my $side ('off', 'on')
	{
		$session->query("SET gpusort.columns = $side");
		$plan{$side} = $session->query("EXPLAIN (COSTS OFF) $sql{$name}");
	}
	$session->query('SET client_min_messages = debug1');
	my $said = $session->query("EXPLAIN (COSTS OFF) $sql{$name}");
	$session->query('SET client_min_messages = warning');
	return (\%plan, $said =~ /gpusort: (?:not answered|rows not found|rows of windows not)[^:]*columns: (.*)/g);
}

# What becomes of the facts' rows in a plan first: they are joined, or what reads them alone.
sub fates
{
	my ($node, $above, %found) = @_;
	my $type = $node->{'Node Type'};

	$above = $type =~ /Join|Nested Loop/ ? 'joined before anything else' : "read by $type alone"
	  if $type =~ /Join|Nested Loop|Aggregate|Group|WindowAgg|Unique|SetOp|Limit/;
	$found{$above} = 1 if grep { $_ eq ($node->{'Relation Name'} // '') } @facts;
	%found = (%found, fates($_, $above)) foreach @{ $node->{Plans} // [] };
	return %found;
}

# The fates of the facts of a query, for one of which gpusort says nothing.
sub fate
{
	my ($name) = @_;

	$session->query('SET gpusort.columns = off');
	my $plan = decode_json($session->query("EXPLAIN (FORMAT JSON) $sql{$name}"))->[0]{Plan};
	my %found = fates($plan, 'read by nothing else');

	return %found ? 'facts ' . join(', ', sort keys %found) : 'no facts';
}

# Seconds of processor time of one run, and a hash of the rows.
sub run
{
	my ($name, $side, $service) = @_;

	$session->query("SET gpusort.columns = $side");
	my $before = $session->server_ms + Processor::threads_ms($service);
	my $rows = $session->query($sql{$name});
	return (($session->server_ms + Processor::threads_ms($service) - $before) / 1000,
		md5_hex(join "\n", sort split /\n/, $rows));
}

read_queries;
$session->query("SET statement_timeout = '${timeout}s'");
$session->query("SELECT gpusort_columns_add('$_')") foreach @facts;
my $service = Processor::service($session);
my %held = map { split /\|/ } split /\n/, $session->query(
	'SELECT rel, sum(bytes) / 1000000 FROM gpusort_columns GROUP BY rel');
print 'TPC-DS with resident columns of the facts: ',
	join(', ', map { sprintf '%s %.0f MB', $_, $held{$_} } @facts), "\n";
print $session->query('SELECT version()'), "\n\n";
my (%why, %nodes, @changed);
my $unchanged = 0;
foreach my $name (grep { /$wanted/ } @names)
{
	my ($plan, @said) = plans($name);
	my %seen;

	if ($plan->{off} ne $plan->{on})
	{
		push @changed, $name;
		$nodes{$name} = nodes_of_columns($plan->{on});
		next;
	}
	$unchanged++;
	push @{ $why{$_} }, $name
	  foreach grep { !$seen{$_}++ } map { s/"[^"]*"/"…"/gr } @said ? @said : fate($name);
}
printf "%d queries with another plan, %d with the same\n", scalar @changed, $unchanged;
foreach my $text (sort { @{ $why{$b} } <=> @{ $why{$a} } || $a cmp $b } keys %why)
{
	printf "%3d queries: %s: %s\n", scalar @{ $why{$text} }, $text, join ' ', @{ $why{$text} };
}
exit if $runs eq 'none';
print "\nquery  without     with  ratio\n";
foreach my $name (@changed)
{
	my (%time, %rows);

	foreach my $turn (1 .. $runs)
	{
		foreach my $side ('off', 'on')
		{
			my ($seconds, $hash) = eval { run($name, $side, $service) };
			last unless defined $seconds;
			$time{$side} = $seconds if !defined $time{$side} || $seconds < $time{$side};
			$rows{$side} = $hash;
		}
	}
	if (!defined $time{on}) { printf "%-6s given up: %s\n", $name, $nodes{$name}; next }
	printf "%-6s %7.2f  %7.2f  %5.2f  %s%s\n", $name, $time{off}, $time{on}, $time{off} / ($time{on} || 0.001),
	  $nodes{$name}, $rows{off} eq $rows{on} ? '' : '  OTHER RESULT';
}
$session->finish;
