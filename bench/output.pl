#!/usr/bin/perl
# output.pl SOCKET POSTMASTER: processor time that the server takes for whole results, and their time at the client, in
# ms, and how many of their columns gpusort writes without a call; see output.sh.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../test/perl";
use GpuSortWire;
use List::Util qw(min sum);
use POSIX ();
use Time::HiRes qw(time);

$| = 1;

my ($socket, $postmaster) = @ARGV;
my ($rows, $runs, $only) = ($ENV{ROWS}, $ENV{RUNS}, $ENV{ONLY} // '');
my $tick = 1000 / POSIX::sysconf(POSIX::_SC_CLK_TCK);
my $session = GpuSortWire->new($socket, user => 'postgres', database => 'postgres');

# the last shapes are not in the mean
my @shapes = (
	[ 'orders', 'SELECT * FROM orders ORDER BY day' ],
	[ 'orders, COPY', 'COPY (SELECT * FROM orders ORDER BY day) TO STDOUT' ],
	[ 'three ints', 'SELECT a, b, c FROM ints ORDER BY a' ],
	[ 'text and date', 'SELECT comment, day FROM orders ORDER BY day' ],
	[ 'five numerics', 'SELECT * FROM numerics ORDER BY n2' ],
	[ 'timestamps', 'SELECT * FROM stamps ORDER BY created' ],
	[ 'floats', 'SELECT * FROM floats ORDER BY x' ],
	[ 'uuid', 'SELECT * FROM uuids ORDER BY id' ],
	[ '16 columns', 'SELECT * FROM wide ORDER BY c1' ],
	[ '16 columns, COPY', 'COPY (SELECT * FROM wide ORDER BY c1) TO STDOUT' ],
	[ 'junk key', 'SELECT key, status, total FROM orders ORDER BY day' ],
	[ 'LIMIT', "SELECT * FROM orders ORDER BY day LIMIT $rows / 2" ],
	[ 'scan, orders', 'SELECT * FROM orders' ],
	[ 'scan, three ints', 'SELECT * FROM ints' ],
	[ 'scan, numerics', 'SELECT * FROM numerics' ],
	[ 'scan, floats', 'SELECT * FROM floats' ],
	[ 'scan, 16, COPY', 'COPY (SELECT * FROM wide) TO STDOUT' ],
	[ 'scan, two of 16', 'SELECT c3, c12 FROM wide' ],
	[ 'scan, expression', 'SELECT a + 1, b FROM ints' ],
	[ 'scan, bytea, jsonb', 'SELECT b, j FROM others' ]);

my %settings = (
	PostgreSQL => 'SET gpusort.enabled = off',
	sort => 'SET gpusort.enabled = on; SET gpusort.output = off',
	output => 'SET gpusort.enabled = on; SET gpusort.output = on');

# Runs statements.
sub run
{
	foreach my $sql (@_)
	{
		my ($error) = grep { $_->[0] eq 'E' } messages_of($session->simple($sql));
		die "$sql: $error->[1]" if $error;
	}
	return;
}

# Milliseconds of the session and of the processes that have ended.
sub used
{
	open my $own, '<', '/proc/' . $session->pid . '/schedstat' or die "schedstat: $!";
	open my $stat, '<', "/proc/$postmaster/stat" or die "stat: $!";
	my @children = split / /, readline($stat) =~ s/^.*\) //sr;
	return (split / /, readline $own)[0] / 1e6 + ($children[13] + $children[14]) * $tick;
}

# What a statement takes: of processors, and until the client has read all.
sub cost
{
	my ($way, $sql) = @_;
	run("SET gpusort.enabled = on; $settings{$way}");
	my ($before, $start) = (used(), time);
	$session->discard($sql);
	my $whole = 1000 * (time - $start);
	return (used() - $before, $whole);
}

# The columns of a result that gpusort writes itself, and all, as EXPLAIN has them of its rows in order.
sub columns
{
	my ($sql) = @_;
	my ($query) = $sql =~ /^COPY \((.*)\) TO/;
	run($settings{output});
	my $plan = $session->simple('EXPLAIN (VERBOSE) SELECT * FROM (' . ($query // $sql) . ') result ORDER BY 1');
	$plan =~ /, (\d+) of (\d+) columns by gpusort/ or die "$sql: $plan";
	return ($1, $2);
}

run(<<"SQL", "CREATE TABLE ints AS SELECT hashint4(i) a, i b, i % 1000 c FROM generate_series(1, $rows) i", <<"SQL2");
SELECT setseed(0.5);
CREATE TABLE orders AS SELECT i::int8 key, (random() * 150000)::int customer,
	(ARRAY['O', 'F', 'P'])[1 + i % 3]::char(1) status, round((random() * 500000)::numeric, 2)::numeric(15, 2) total,
	date '1992-01-01' + (random() * 2400)::int AS day,
	(ARRAY['1-URGENT', '2-HIGH', '3-MEDIUM', '5-LOW'])[1 + i % 4]::char(15) priority,
	('Clerk#' || lpad((i % 1000)::text, 9, '0'))::char(15) clerk, 0 ship,
	left(md5(i::text) || ' ' || md5((i + 1)::text), 20 + i % 40)::varchar(79) comment
FROM generate_series(1, $rows) i;
SQL
CREATE TABLE numerics AS SELECT i::numeric n1, round((random() * 50)::numeric, 2) n2,
	round((random() * 100000)::numeric, 2) n3, round(random()::numeric, 2) n4, round(random()::numeric * 1000, 4) n5
FROM generate_series(1, $rows) i;
CREATE TABLE stamps AS SELECT i id, timestamptz '2020-01-01' + random() * interval '5 years' created,
	timestamp '2020-01-01' + random() * interval '5 years' updated FROM generate_series(1, $rows) i;
CREATE TABLE floats AS SELECT i id, random() * 1e6 x, (i % 10007) / 100.0::float8 y, random()::float4 z
FROM generate_series(1, $rows) i;
CREATE TABLE uuids AS SELECT md5(i::text)::uuid id, md5((i * 7)::text)::uuid ref, i n FROM generate_series(1, $rows) i;
CREATE TABLE wide AS SELECT hashint8extended(key, 1) c1, customer c2, status c3, total c4, day c5, priority c6,
	clerk c7, ship c8, comment c9, customer * 2 c10, total / 10 c11, day + 10 c12, day + 20 c13, status c14, key c15,
	'N'::char(1) c16
FROM orders;
CREATE TABLE others AS SELECT decode(md5(key::text), 'hex') b, jsonb_build_object('k', key, 'c', clerk) j FROM orders;
SQL2
run('VACUUM ANALYZE');
open my $load, '<', '/proc/loadavg' or die;
printf "%d rows, best of %d, ms of the server's processor time and of the client's whole time; PostgreSQL %s, "
  . "%s workers, load %s at the start; %s, commit %s\n"
  . "%-20s %10s %8s %8s %6s %9s   %10s %8s %8s %6s %9s %7s\n", $rows, $runs,
  ($session->simple('SHOW server_version') =~ /(\d+\.\d+)/), $ENV{WORKERS}, (split ' ', readline $load)[0],
  scalar(gmtime), $ENV{COMMIT} // '', '', ('PostgreSQL', 'sort', 'output', 'gain', 'over sort') x 2, 'own';
my (@gains, @scans);
my @fields = (0, 0);
foreach my $shape (grep { $_->[0] =~ /^(?:$only)/ } @shapes)
{
	my ($name, $sql) = @$shape;
	my (%cpu, %whole);
	foreach my $run (1 .. $runs)
	{
		foreach my $way ('PostgreSQL', 'sort', 'output')
		{
			my ($cpu, $whole) = cost($way, $sql);
			push @{ $cpu{$way} }, $cpu;
			push @{ $whole{$way} }, $whole;
		}
	}
	$_ = min(@$_) foreach values %cpu, values %whole;
	my @of = map { $_->{PostgreSQL} / $_->{output} } \%cpu, \%whole;
	push @gains, \@of if @gains < 8;
	push @scans, \@of if $name =~ /^scan/;
	my @columns = columns($sql);
	$fields[$_] += $columns[$_] foreach 0, 1;
	printf "%-20s %10.0f %8.0f %8.0f %6.2f %9.2f   %10.0f %8.0f %8.0f %6.2f %9.2f %4d/%d\n", $name,
	  (map { (@$_{qw(PostgreSQL sort output)}, $_->{PostgreSQL} / $_->{output}, $_->{sort} / $_->{output}) }
		\%cpu, \%whole), @columns;
}

# Prints geometric means of both times.
sub mean
{
	my ($what, @of) = @_;
	return unless @of;
	my @means = map { my $i = $_; exp(sum(map { log $_->[$i] } @of) / @of) } 0, 1;
	printf "%-20s %10s %8s %8s %6.2f %9s   %10s %8s %8s %6.2f\n", $what, ('') x 3, $means[0], ('') x 4, $means[1];
	return;
}

mean('mean of the first 8', @gains);
mean('mean of the scans', @scans);
printf "%d of %d columns are written by gpusort\n", @fields;
