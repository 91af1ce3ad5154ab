#!/usr/bin/perl
# columns_rolls.pl: a keeper of columns rolls as fast as it can, ROLLS_SECONDS long, beside sessions that change tables
# and ask about them: memory of service, keeper and sessions stays flat.  A day has 345,600 rolls.
#
# Pages change, are loaded again, become all-visible; a table grows and is cut off, another is rewritten, chosen and no
# longer chosen.  `make columns-rolls TIME=600` does a day's worth.
use strict;
use warnings;

use GpuSortColumns;
use GpuSortService;
use GpuSortTest;
use List::Util qw(max);
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

my $seconds = $ENV{ROLLS_SECONDS} || 5;
my $node = columns_node('columns_rolls', <<'CONF');
gpusort.columns_roll = 1ms
log_min_messages = debug1
shared_buffers = 32MB
CONF
my ($reader, $writer) = (session(), session());
$_->set_query_timer_restart foreach $reader, $writer;
my %backend = map { $_->[0] => $_->[1]->query_safe('SELECT pg_backend_pid()') } [ reader => $reader ],
  [ writer => $writer ];

# What happens once and again, of which nothing is to stay.
my @work = (
	'UPDATE t SET b = b + 1 WHERE a BETWEEN %d AND %1$d + 300',
	'UPDATE t SET b = b + 1 WHERE a %% 50 = %d %% 50; VACUUM t',
	"INSERT INTO g SELECT i, i, repeat('x', 100) FROM generate_series(1, 5000) i",
	'DELETE FROM g WHERE a > 1000; VACUUM g',
	"TRUNCATE g; INSERT INTO g SELECT i, i, '' FROM generate_series(1, 1000) i; VACUUM g",
	'UPDATE t SET b = b + 1 WHERE a = %d',
	"SELECT gpusort_columns_add('c', '{a}')",
	'VACUUM t',
	"SELECT gpusort_columns_remove('c')",
	'VACUUM t');

# Memory of all processes in kB, that of buffers and other shared memory left out.
sub memory
{
	my ($service) = service_pids($node);
	my %pid = (%backend, service => $service, keeper => keeper());

	return map { $_ => backend_kilobytes($pid{$_}) } keys %pid;
}

sub show
{
	my ($name, %kilobytes) = @_;
	diag(sprintf '%-12s %s', $name, join ', ', map { "$_ $kilobytes{$_} kB" } sort keys %kilobytes);
}

# Works for some seconds.  Returns whether all answers were right.
my ($turn, $answers, $wrong) = (0, 0, 0);
sub work_for
{
	my $end = time + $_[0];

	while (time < $end)
	{
		$writer->query_safe(sprintf "SET client_min_messages = warning; $work[ $turn % @work ]", $turn * 37 % 20000);
		foreach my $table (qw(t g t g))
		{
			my @answer = compared(scalar $reader->query_safe(comparison($table, 'a', 'b')));
			$answers++;
			$wrong++ if $answer[0] ne 't';
		}
		$reader->query_safe('SELECT count(*) FROM gpusort_columns') if $turn % 5 == 0;
		$turn++;
	}
}

run("CREATE TABLE $_ (a int8, b int4, pad text)") foreach qw(t g c);
run("INSERT INTO $_ SELECT i, i % 100, repeat('x', 50) FROM generate_series(1, 20000) i",
	"CREATE INDEX ${_}_a ON $_ (a)", "VACUUM $_") foreach qw(t c);
run("SELECT gpusort_columns_add('$_')") foreach qw(t g);
my $keeper = keeper();
# caches fill
work_for(2 + $seconds / 10);
my %first = memory();
show('start', %first);
work_for($seconds / 2);
my %middle = memory();
show('middle', %middle);
work_for($seconds / 2);
my %last = memory();
show('end', %last);
is($wrong, 0, "$answers answers are right");
is(keeper(), $keeper, 'there was one keeper');
foreach my $process (sort keys %first)
{
	# the service's threads come, and their heaps fill, during the first half
	cmp_ok($last{$process}, '<', 1.15 * max($first{$process}, $middle{$process}) + 2048,
		"memory of $process is flat");
}
end_keeper();
my ($rolls) = slurp_file($node->logfile) =~ /gpusort keeper ends after (\d+) rolls/;
cmp_ok($rolls, '>', 20 * $seconds, 'rolls');
diag("$rolls rolls, $turn changes, $answers answers");
$node->stop;
done_testing();
