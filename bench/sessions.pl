#!/usr/bin/perl
# sessions.pl BINDIR: what hundreds of sessions that sort and ask resident columns do to the memory of the server and
# of the service, and to pgbench beside them.
#
# SESSIONS (default 500) stay connected for TIME (600) seconds, and each asks one of a few queries, after a pause of
# THINK (10) seconds on average.  Beside them pgbench runs its usual transactions, RATE (40) a second in ten sessions.
# gpusort is switched off and on for all, in turns of TURN (60) seconds: off, on, on, off.  While it is on, the
# service is killed every KILL (20) seconds, but not shortly before its memory is read.  Printed are, for each turn,
# transactions and the 50th and 99th percentile of their latency, how many queries of the sessions ended, and at its
# end the memory that is nobody else's of all processes of the server, and of the service; then medians of sides, and
# the ratio of neighbouring turns.
use strict;
use warnings;

use FindBin;
use IO::Handle;
use lib $FindBin::Bin;
use Session;
use Time::HiRes qw(sleep time);

my ($bin) = @ARGV;
my ($sessions, $seconds, $turn, $think, $rate, $kill) = map { $ENV{ $_->[0] } // $_->[1] } [ 'SESSIONS', 500 ],
	[ 'TIME', 600 ], [ 'TURN', 60 ], [ 'THINK', 10 ], [ 'RATE', 40 ], [ 'KILL', 20 ];
my $session = Session->new("$bin/psql", 'postgres');
my $postmaster = $session->query("SELECT setting FROM pg_settings WHERE name = 'data_directory'");
open my $pidfile, '<', "$postmaster/postmaster.pid" or die "postmaster.pid: $!\n";
chomp($postmaster = readline $pidfile);

# Queries of the sessions, of which each has the weight beside it.
my $pause = '\set pause random(1, ' . 2000 * $think . ")\n\\sleep :pause ms\n";
my @queries = (
	[ 4, "\\set low random(1, 180000)\nSELECT count(*) FROM (SELECT id, v FROM events WHERE id BETWEEN :low AND :low + "
			. "20000 ORDER BY k OFFSET 1) x;" ],
	[ 2, 'SELECT a, count(*), sum(v), max(k) FROM events GROUP BY a;' ],
	[ 2, "\\set a random(1, 90)\nSELECT count(*), avg(v) FROM events WHERE a < :a;" ],
	[ 1, "\\set n random(0, 5000)\nSELECT * FROM events ORDER BY k DESC LIMIT 20 OFFSET :n;" ],
	[ 1, "\\set id random(1, 200000)\nUPDATE events SET v = v + 1 WHERE id = :id;" ]);

# Memory of a process that is no other's, in MB.
sub own_memory
{
	my ($pid) = @_;
	open my $file, '<', "/proc/$pid/status" or return 0;
	my %field = map { /^(\w+):\s+(\d+) kB/ ? ($1 => $2) : () } readline $file;
	return ($field{RssAnon} // 0) / 1024;
}

# The parents of all processes.
sub parents
{
	my %parent;

	foreach my $file (glob '/proc/[0-9]*/stat')
	{
		open my $in, '<', $file or next;
		my ($pid, $rest) = (readline($in) // '') =~ /^(\d+) .*\) (.*)/ or next;
		$parent{$pid} = (split / /, $rest)[1];
	}
	return \%parent;
}

# The service, a child of a worker of the server; undef: it is not there.
sub service
{
	my ($parent) = @_;
	my ($pid) = grep { ($parent->{ $parent->{$_} } // 0) == $postmaster
			&& (readlink("/proc/$_/exe") // '') =~ /gpusortd/ } keys %$parent;

	return $pid;
}

# Runs pgbench with its transactions in files of the present folder; returns its process.
sub pgbench
{
	my (@arguments) = @_;
	my $pid = fork() // die "fork: $!\n";

	return $pid if $pid != 0;
	open STDOUT, '>', 'pgbench.out' or die "pgbench.out: $!\n";
	open STDERR, '>>', 'pgbench.err' or die "pgbench.err: $!\n";
	exec "$bin/pgbench", '-n', '-T', $seconds, '-l', @arguments, 'postgres' or die "pgbench: $!\n";
}

# The latencies in ms of transactions that ended between two times, sorted.
sub latencies
{
	my ($name, $from, $until) = @_;
	my @found;

	foreach my $file (glob "$name.*")
	{
		open my $in, '<', $file or die "$file: $!\n";
		while (my $line = readline $in)
		{
			# the last line may not be whole
			my ($us, $second, $part) = $line =~ /^\d+ \d+ (\d+) \d+ (\d+) (\d+).*\n/ or next;
			my $end = $second + $part / 1e6;

			push @found, $us / 1000 if $end >= $from && $end < $until;
		}
	}
	return sort { $a <=> $b } @found;
}

# Switches gpusort for all sessions.
sub switch
{
	my ($on) = @_;
	$session->query("ALTER SYSTEM SET gpusort.enabled = $on");
	$session->query('SELECT pg_reload_conf()');
	return;
}

STDOUT->autoflush;
$session->query(<<'SQL');
CREATE EXTENSION gpusort;
CREATE TABLE events WITH (fillfactor = 90) AS SELECT i id, hashint8extended(i, 1) k, (i % 100)::int4 a,
	(i % 1000)::numeric(12, 2) v FROM generate_series(1, 200000::int8) i;
ALTER TABLE events ADD PRIMARY KEY (id);
VACUUM ANALYZE;
SELECT gpusort_columns_add('events')
SQL
mkdir 'transactions' or die "transactions: $!\n";
chdir 'transactions' or die "transactions: $!\n";
my @files;
foreach my $i (0 .. $#queries)
{
	open my $file, '>', "query$i" or die "query$i: $!\n";
	print $file $pause, $queries[$i][1], "\n";
	push @files, '-f', "query$i\@$queries[$i][0]";
}
printf "%d sessions, a query each %d s, %d transactions/s beside them; %d cores, load %s; %s; commit %s; "
	. "PostgreSQL %s\n\n", $sessions, $think, $rate, scalar(() = `cat /proc/cpuinfo` =~ /^processor/mg),
	(split ' ', `cat /proc/loadavg`)[0], scalar(gmtime), $ENV{COMMIT} // '', $session->query('SHOW server_version');
printf "%5s %8s %13s %8s %8s %8s %12s %12s\n", 'turn', 'gpusort', 'transactions', 'p50, ms', 'p99, ms', 'queries',
	'server, MB', 'service, MB';
my @running = (pgbench('-c', $sessions, '-j', 2, '--log-prefix=load', @files),
	pgbench('-c', 10, '-j', 1, '-R', $rate, '--log-prefix=beside'));
sleep($turn / 4);
my ($kills, @turns) = 0;
my $end = $^T + $seconds;
for (my $n = 0; time + $turn < $end; $n++)
{
	my $on = qw(off on on off) [ $n % 4 ];
	my ($begun, $next) = (time, time + $kill / 2);

	switch($on);
	while (time < $begun + $turn)
	{
		sleep(0.5);
		next if $on eq 'off' || time < $next || time > $begun + $turn - $kill / 4;
		my $pid = service(parents());
		$kills += kill 'KILL', $pid if defined $pid;
		$next += $kill;
	}
	my $parent = parents();
	my $service = service($parent);
	my $server = 0;
	$server += own_memory($_) foreach grep { $parent->{$_} == $postmaster } keys %$parent;
	push @turns, { on => $on, from => $begun, until => time, server => $server,
		service => defined $service ? own_memory($service) : 0 };
	my @beside = latencies('beside', $begun, time);
	my @load = latencies('load', $begun, time);
	die "pgbench has ended: " . `cat pgbench.err` . "\n" if @beside < 10;
	@{ $turns[-1] }{qw(p50 p99)} = map { $beside[ int($_ * $#beside) ] } 0.5, 0.99;
	printf "%5d %8s %13d %8.1f %8.1f %8d %12.0f %12.0f\n", $n, $on, scalar(@beside), @{ $turns[-1] }{qw(p50 p99)},
		scalar(@load), $server, $turns[-1]{service};
}
kill 'TERM', @running;
waitpid $_, 0 foreach @running;
foreach my $what ('p50', 'p99')
{
	my %side = map { my $on = $_; $on => [ map { $_->{$what} } grep { $_->{on} eq $on } @turns ] } 'off', 'on';
	my @ratios;

	foreach my $pair (0 .. int(@turns / 2) - 1)
	{
		my %of = map { $_->{on} => $_->{$what} } @turns[ 2 * $pair, 2 * $pair + 1 ];

		push @ratios, $of{on} / $of{off};
	}
	printf "%s: off %.1f ms, on %.1f ms; on : off of neighbouring turns, median %.3f (%s)\n", $what,
		Session::median(@{ $side{off} }), Session::median(@{ $side{on} }), Session::median(@ratios),
		join(' ', map { sprintf '%.3f', $_ } @ratios);
}
printf "the service was killed %d times; sessions that ended with an error: %d\n", $kills,
	scalar(() = `cat pgbench.err` =~ /aborted/g);
$session->finish;
