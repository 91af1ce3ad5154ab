#!/usr/bin/perl
# shards.pl PSQL JSON_FILE SOCKET_DIRECTORY WAYS SHARDS: queries over a table in shards on two workers (ports 54322 and
# 54323), asked of the coordinator (54321), with gpusort off and on on all three, in turns.
#
# WAYS    how shards are reached: "fdw citus", or one of them
# SHARDS  how many, as "8 32"
# ROWS    of the table
# RUNS    timed runs of each side, default 5; the result is their median
# ONLY    a pattern: which queries, by name
#
# What is timed is what a user waits for, rows sent to psql included.  Before that each side runs once for its rows, all
# of which are compared, in their order, and for the number of sorts that gpusort did here and on the workers.  "no
# sort" is what the rows take that the query reads on the same way to the same place, in no order, with gpusort on: no
# sort could make more of the query than off / no sort, which is "at most".  Where nothing goes the same way, it is what
# goes a shorter one, and "at most" is too much.
#
# The second half of a line is CPU time of all processes of the three servers, which other work on the machine does not
# change much, in brackets that of the workers.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use JSON::PP;
use List::Util qw(sum);
use POSIX ();
use Session;
use Time::HiRes qw(time sleep);

$| = 1;

my ($psql, $json_file, $sockets, $ways, $shards) = @ARGV;
my $rows = $ENV{ROWS} || 1000000;
my $runs = $ENV{RUNS} || 5;
my $wanted = $ENV{ONLY} || '.';
my @ports = (54321, 54322, 54323);
my @sides = ('off', 'on');

# by the distribution column, "customer", or by another; without sorts; and the same by Citus, if that takes another way
my @queries = (
	[ 'ORDER BY date, number, key', 'SELECT * FROM items ORDER BY day, price DESC, id', 'SELECT * FROM items' ],
	[ 'ORDER BY text', 'SELECT id, name FROM items ORDER BY name, id', 'SELECT id, name FROM items' ],
	[ 'top 100', 'SELECT id, price FROM items ORDER BY price DESC, id LIMIT 100',
		'SELECT id, price FROM items WHERE id <= 100' ],
	[ 'top 20000', 'SELECT id, price FROM items ORDER BY price DESC, id LIMIT 20000',
		'SELECT id, price FROM items WHERE id <= 20000' ],
	[ 'window by the distribution column',
		'SELECT id, sum(price) OVER (PARTITION BY customer ORDER BY day, id) AS s FROM items ORDER BY id',
		'SELECT id, sum(price) OVER (ROWS UNBOUNDED PRECEDING) AS s FROM items' ],
	[ 'the same, and an aggregate of it',
		'SELECT customer, max(s) FROM (SELECT customer, sum(price) OVER (PARTITION BY customer ORDER BY day, id) AS s '
			. 'FROM items) x GROUP BY customer ORDER BY customer',
		'SELECT customer, max(s) FROM (SELECT customer, sum(price) OVER (ROWS UNBOUNDED PRECEDING) AS s FROM items) x '
			. 'GROUP BY customer',
		'SELECT customer, max(price), sum(price) FROM items GROUP BY customer' ],
	[ 'window by another',
		'SELECT id, rank() OVER (PARTITION BY day ORDER BY price, id) AS r FROM items ORDER BY day, r',
		'SELECT id, day, price, row_number() OVER () AS r FROM items' ],
	[ 'DISTINCT ON', 'SELECT DISTINCT ON (customer) customer, day, id FROM items ORDER BY customer, day DESC, id',
		'SELECT customer, max(day), max(id) FROM (SELECT customer, day, id FROM items OFFSET 0) x GROUP BY customer',
		'SELECT customer, max(day), max(id) FROM items GROUP BY customer' ],
	[ 'count(DISTINCT) by the distribution column',
		'SELECT customer, count(DISTINCT name) FROM items GROUP BY customer ORDER BY customer',
		'SELECT customer, count(name) FROM items GROUP BY customer' ],
	# nobody splits string_agg, before PostgreSQL 16
	[ 'count(DISTINCT) by another', 'SELECT day, count(DISTINCT name) FROM items GROUP BY day ORDER BY day',
		q(SELECT day, length(string_agg(name, '')) FROM items GROUP BY day) ],
	[ 'percentiles by the distribution column',
		'SELECT customer, percentile_disc(0.5) WITHIN GROUP (ORDER BY price) FROM items GROUP BY customer ORDER BY '
			. 'customer',
		'SELECT customer, max(price) FROM items GROUP BY customer' ],
	[ 'percentiles by another',
		'SELECT day, percentile_disc(0.5) WITHIN GROUP (ORDER BY price) FROM items GROUP BY day ORDER BY day',
		q(SELECT day, length(string_agg(price::text, '')) FROM items GROUP BY day) ]);

# the rows
my $columns = 'id int8, customer int, day date, price numeric(10, 2), name text';
my $made = "SELECT i, abs(hashint8(i)) % 10000, date '2026-01-01' + (abs(hashint8(i * 3)) % 365)::int, abs(hashint8(i "
	. "* 5)) % 1000000 / 100.0, "
  . "'Item ' || md5((i * 31 % 200000)::text) FROM generate_series(1, ${rows}::int8) i";

my %node;

# Opens sessions to a database on all servers, which is made.
sub open_nodes
{
	my ($database) = @_;

	foreach my $port (@ports)
	{
		my $session = Session->new("$psql -h $sockets -p $port", 'postgres');
		$session->query("CREATE DATABASE $database");
		$session->finish;
		$node{$port} = Session->new("$psql -h $sockets -p $port", $database);
		$node{$port}->query($_) foreach $database =~ /^citus/
			? ('CREATE EXTENSION citus', 'CREATE EXTENSION citus_columnar') : ();
		$node{$port}->query('CREATE EXTENSION IF NOT EXISTS gpusort');
	}
	return;
}

# Shards as foreign partitions.
sub make_fdw
{
	my ($n) = @_;
	my $coordinator = $node{ $ports[0] };

	open_nodes("fdw$n");
	$coordinator = $node{ $ports[0] };
	$coordinator->query("CREATE EXTENSION postgres_fdw; CREATE TABLE items ($columns) PARTITION BY HASH (customer)");
	foreach my $port (@ports[ 1, 2 ])
	{
		$coordinator->query("CREATE SERVER s$port FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '$sockets', port "
			. "'$port', dbname 'fdw$n', "
			  . "extensions 'gpusort', async_capable 'true', fetch_size '10000', batch_size '5000'); CREATE USER "
			  . "MAPPING FOR PUBLIC SERVER s$port");
	}
	foreach my $i (0 .. $n - 1)
	{
		my $port = $ports[ 1 + $i % 2 ];
		$node{$port}->query("CREATE TABLE items_$i ($columns)");
		$coordinator->query("CREATE FOREIGN TABLE items_$i PARTITION OF items FOR VALUES WITH (MODULUS $n, REMAINDER "
			. "$i) SERVER s$port");
	}
	$coordinator->query("INSERT INTO items $made");
	$node{$_}->query('VACUUM ANALYZE') foreach @ports[ 1, 2 ];
	# aggregates by the distribution column go to the workers
	$coordinator->query('ANALYZE items; SET enable_partitionwise_aggregate = on; SET enable_partitionwise_join = on');
	return;
}

# Shards of Citus.
sub make_citus
{
	my ($n) = @_;
	my $coordinator;

	open_nodes("citus$n");
	$coordinator = $node{ $ports[0] };
	$coordinator->query("SELECT citus_set_coordinator_host('$sockets', $ports[0])");
	$coordinator->query("SELECT citus_add_node('$sockets', $_)") foreach @ports[ 1, 2 ];
	$coordinator->query("SET citus.shard_count = $n; CREATE TABLE items ($columns); SELECT "
		. "create_distributed_table('items', 'customer')");
	$coordinator->query("INSERT INTO items $made");
	$coordinator->query('VACUUM ANALYZE items');
	return;
}

# Switches gpusort on or off on all servers.
sub switch
{
	my ($side) = @_;

	foreach my $port (@ports)
	{
		$node{$port}->query("ALTER SYSTEM SET gpusort.enabled = $side");
		$node{$port}->query('SELECT pg_reload_conf()');
	}
	foreach my $port (@ports)
	{
		sleep 0.02 until $node{$port}->query('SHOW gpusort.enabled') eq $side;
	}
	return;
}

# How many jobs gpusort has done on some servers.
sub jobs
{
	return sum(map { $node{$_}->query('SELECT coalesce(sum(jobs), 0) FROM gpusort_stat') } @_);
}

# The rows of a query, in their order, as a digest.
sub digest
{
	my ($sql) = @_;
	my $file = "$sockets/digest";

	$node{ $ports[0] }->query("COPY ($sql) TO PROGRAM 'md5sum >$file'");
	open my $sum, '<', $file or die "$file: $!";
	my ($digest) = <$sum> =~ /^(\w{32})/;
	close $sum;
	return $digest;
}

# Milliseconds of CPU time that a process has taken, to the nanosecond.
sub cpu_of
{
	my ($pid) = @_;

	open my $stat, '<', "/proc/$pid/schedstat" or return 0;
	my ($ns) = (<$stat> // '0') =~ /^(\d+)/;
	close $stat;
	return $ns / 1e6;
}

# Milliseconds of CPU time that the processes of all servers have taken, and those of the workers; of processes that
# have ended, in ticks of their sum.
sub cpu
{
	my $postmaster = q(SELECT split_part(pg_read_file('postmaster.pid'), E'\n', 1));
	my %server = map { ($node{$_}->query($postmaster) => $_) } @ports;
	my %ms = map { $_ => 0 } @ports;

	foreach my $file (glob '/proc/[0-9]*/stat')
	{
		open my $stat, '<', $file or next;
		my ($pid, $rest) = (<$stat> // '') =~ /^(\d+) .*\) (.*)/ or next;
		my @fields = split ' ', $rest;
		close $stat;
		my $port = $server{$pid} // $server{ $fields[1] } // next;
		$ms{$port} += cpu_of($pid);
		$ms{$port} += ($fields[13] + $fields[14]) * 1000 / POSIX::sysconf(POSIX::_SC_CLK_TCK()) if $server{$pid};
	}
	return (sum(values %ms), $ms{ $ports[1] } + $ms{ $ports[2] });
}

# Runs a query once, for a measurement of that name.
sub run_once
{
	my ($found, $what, $sql) = @_;
	my @before = cpu();
	my @after;

	push @{ $found->{all_ms}{$what} }, $node{ $ports[0] }->discard($sql);
	@after = cpu();
	push @{ $found->{all_cpu_ms}{$what} }, $after[0] - $before[0];
	push @{ $found->{all_workers_cpu_ms}{$what} }, $after[1] - $before[1];
	return;
}

# All that is known of a query.
sub measure
{
	my ($name, $sql, $unsorted) = @_;
	my %found = (name => $name, sql => $sql);
	my %digest;

	foreach my $side (@sides)
	{
		switch($side);
		my ($here, $there) = (jobs($ports[0]), jobs(@ports[ 1, 2 ]));
		$digest{$side} = digest($sql);
		@found{ 'here', 'there' } = (jobs($ports[0]) - $here, jobs(@ports[ 1, 2 ]) - $there);
	}
	$found{same_rows} = $digest{off} eq $digest{on} ? JSON::PP::true : JSON::PP::false;
	for (1 .. $runs)
	{
		foreach my $side (@sides)
		{
			switch($side);
			run_once(\%found, $side, $sql);
		}
	}
	$found{unsorted_sql} = $unsorted;
	run_once(\%found, 'unsorted', $unsorted) for 1 .. $runs;
	foreach my $what (keys %{ $found{all_ms} })
	{
		$found{ms}{$what} = Session::median(@{ $found{all_ms}{$what} });
		$found{cpu_ms}{$what} = Session::median(@{ $found{all_cpu_ms}{$what} });
		$found{workers_cpu_ms}{$what} = Session::median(@{ $found{all_workers_cpu_ms}{$what} });
	}
	$found{ratio} = $found{ms}{off} / $found{ms}{on};
	$found{cpu_ratio} = $found{cpu_ms}{off} / ($found{cpu_ms}{on} || 1);
	$found{at_most} = $found{ms}{off} / $found{ms}{unsorted};
	$found{cpu_at_most} = $found{cpu_ms}{off} / ($found{cpu_ms}{unsorted} || 1);
	return \%found;
}

# CPU time, and the workers' part of it.
sub cpu_parts
{
	my ($one, $what) = @_;
	return sprintf '%.0f (%.0f)', $one->{cpu_ms}{$what}, $one->{workers_cpu_ms}{$what};
}

sub geometric_mean
{
	return @_ ? exp(sum(map { log } @_) / @_) : 0;
}

# One way, one number of shards.
sub run
{
	my ($way, $n) = @_;
	my @found;

	$way eq 'fdw' ? make_fdw($n) : make_citus($n);
	printf "%s, %d shards\n", $way eq 'fdw' ? 'postgres_fdw' : 'Citus ' . $node{ $ports[0] }->query(
		q(SELECT extversion FROM pg_extension WHERE extname = 'citus')), $n;
	foreach my $query (grep { $_->[0] =~ /$wanted/ } @queries)
	{
		my $one = eval { measure(@$query[ 0, 1 ], $way eq 'citus' && $query->[3] ? $query->[3] : $query->[2]) };
		if (!$one)
		{
			printf "  %-44s %s\n", $query->[0], $@ =~ /(ERROR: .*)/ ? $1 : $@;
			next;
		}
		push @found, $one;
		printf "  %-44s %8.0f %8.0f %6.2f %8.0f %7.2f %5d %7d %13s %13s %6.2f %13s %7.2f%s
", $query->[0], @{ $one->{ms} }{@sides}, $one->{ratio}, $one->{ms}{unsorted}, $one->{at_most}, @$one{ 'here', 'there' },
		  cpu_parts($one, 'off'), cpu_parts($one, 'on'), $one->{cpu_ratio}, cpu_parts($one, 'unsorted'),
		  $one->{cpu_at_most}, $one->{same_rows} ? '' : '  WRONG ROWS';
	}
	$_->finish foreach values %node;
	return @found;
}

open my $cpuinfo, '<', '/proc/cpuinfo' or die;
my @cpus = map { s/^.*?: |\n//gr } grep { /^model name/ } <$cpuinfo>;
open my $load, '<', '/proc/loadavg' or die;
my %result = (part => 'shards', label => $ENV{LABEL} // '', rows => $rows + 0, runs => $runs + 0,
	date => scalar(gmtime), commit => $ENV{COMMIT} // '',
	cpu => $cpus[0] // '', cores => scalar @cpus, locale => $ENV{LOCALE} // '');
($result{load}) = <$load> =~ /^(\S+)/;
printf "%d rows in shards on two workers of this machine, median of %d, ms; %s; %s; %d cores, load %s at the start; "
	. "%s, commit %s\n",
  @result{qw(rows runs locale cpu cores load date commit)};
printf "%-46s %8s %8s %6s %8s %7s %5s %7s %13s %13s %6s %13s %7s\n", '', 'off', 'on', 'ratio', 'no sort', 'at most',
  'here', 'workers', 'CPU off', 'CPU on', 'ratio', 'no sort', 'at most';
foreach my $way (split ' ', $ways)
{
	foreach my $n (split ' ', $shards)
	{
		my @found = run($way, $n);
		my @there = map { $_->{ratio} } grep { $_->{there} > 0 } @found;
		$result{"$way$n"} = \@found;
		printf "  %d queries: geometric mean %.2f, CPU %.2f; %d with jobs on workers: %.2f; under 0.97: %s\n",
		  scalar @found, geometric_mean(map { $_->{ratio} } @found), geometric_mean(map { $_->{cpu_ratio} } @found),
		  scalar @there, geometric_mean(@there),
		  join(', ', map { $_->{name} } grep { $_->{ratio} < 0.97 } @found) || 'none';
	}
}
open my $file, '>', $json_file or die "$json_file: $!";
print $file JSON::PP->new->pretty->canonical->encode(\%result);
close $file;
exit(scalar(grep { !$_->{same_rows} } map { @$_ } grep { ref } values %result) ? 1 : 0);
