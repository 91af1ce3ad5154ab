#!/usr/bin/perl
# columns.pl BINDIR DATABASE BUFFERS: resident columns of one table, loaded, under writers and growing.  Figures:
#
#   load         nanoseconds a row and column, of all loaders together
#   writers      processor time of the server a transaction, without and with columns held and asked about
#   pages        share of pages that answers took from columns: mean and least
#   proof        microseconds of proof a young page, over that of the first query without any
#   heap         nanoseconds a row of the pages that queries read from the table
#   query        processor time of the session's process a query, over what it may be: half a microsecond a young page
#                (with stock buffers 1.5) and 35 ns a row from the table
#   held again   seconds from the end of the first query after a lone update to the beginning of one that finds its page
#                held, and from the update to the answer, with both queries
use strict;
use warnings;

use Session;
use POSIX ();
use Time::HiRes qw(sleep time);

my ($bindir, $database, $buffers) = @ARGV;
my ($size, $seconds) = ($ENV{SIZE}, $ENV{SECONDS_EACH});
my $session = Session->new("$bindir/psql", $database);
my $rows = int($size * 1024 * 1024 / 110);
my @columns = qw(id a b n ts);
# all columns are held, and one is asked for
my $check = "SELECT from_columns, young, undecided, from_table, prove_us, heap_us, engine_us, rows, reason FROM "
	. "gpusort_columns_check('parent', '{b}')";

sub mean { my $sum = 0; $sum += $_ foreach @_; return @_ ? $sum / @_ : 0 }

sub say_line { printf "%-28s %s\n", @_; STDOUT->flush; return }

# One answer.
sub look
{
	my %answer = (began => time);
	my $line = $session->query($check);

	@answer{qw(columns young undecided table prove heap engine rows reason)} = split /\|/, $line, -1;
	return \%answer;
}

# Asks until columns answer for all pages but the given number.
sub wait_until_held
{
	my ($most) = @_;
	my $deadline = time + 600;
	my $answer;

	do
	{
		$answer = look();
		die "not held: $answer->{reason}, $answer->{table} pages\n" if time > $deadline;
		sleep 0.02;
	} until $answer->{columns} > 0 && $answer->{table} <= $most;
	return $answer;
}

my $ticks = POSIX::sysconf(POSIX::_SC_CLK_TCK());

# Processor time of a process, in seconds.
sub seconds_of
{
	my ($pid) = @_;

	open my $file, '<', "/proc/$pid/stat" or return 0;
	my @fields = split ' ', (readline $file) =~ s/^.*\) //sr;
	return ($fields[11] + $fields[12]) / $ticks;
}

# Processor time of all writers' sessions, in seconds.
sub writers_seconds
{
	my $all = 0;

	$all += seconds_of($_) foreach split /\n/, $session->query(
		"SELECT pid FROM pg_stat_activity WHERE application_name = 'writers'");
	return $all;
}

# Runs writers at a fixed rate while another function is called; the microseconds of a transaction.
sub with_writers
{
	my ($each) = @_;
	my ($update, $insert) = map { "/tmp/columns_$_.$$.sql" } qw(update insert);

	open my $file, '>', $update or die "$update: $!\n";
	print $file "\\set i random(1, $rows)\nUPDATE parent SET b = b + 1 WHERE id = :i;\n";
	close $file;
	open $file, '>', $insert or die "$insert: $!\n";
	print $file "\\set i random(1, $rows)\nINSERT INTO child VALUES (:i, 1);\n";
	close $file;
	local $ENV{PGAPPNAME} = 'writers';
	my $pid = fork() // die "fork: $!\n";
	if ($pid == 0)
	{
		open STDOUT, '>', "/tmp/columns_writers.$$.txt";
		open STDERR, '>&', \*STDOUT;
		exec "$bindir/pgbench", '-n', '-M', 'prepared', '-c', 8, '-j', 2, '-R', 2000, '-T', $seconds, '-f',
			"$update\@1", '-f', "$insert\@1", $database;
	}
	my $end = time + $seconds - 2;
	my ($used, $last) = (0, time);

	sleep 5;
	my ($first_used, $first) = (writers_seconds(), time);
	while (time < $end)
	{
		$each->();
		sleep 0.2;
		($used, $last) = (writers_seconds(), time) if time - $last > 1;
	}
	waitpid $pid, 0;
	open $file, '<', "/tmp/columns_writers.$pid.txt" or die "no output of pgbench\n";
	my $text = join '', readline $file;
	close $file;
	unlink $update, $insert, "/tmp/columns_writers.$pid.txt";
	my ($tps) = $text =~ /tps = ([\d.]+)/ or die $text;
	return ($tps, 1e6 * ($used - $first_used) / ($last - $first) / $tps);
}

printf "# resident columns, %s, %d MB, buffers %s, %d cores, %s, %s\n", $ENV{COMMIT} // '', $size, $buffers,
	scalar(split /\n/, `grep ^processor /proc/cpuinfo`), $session->query('SHOW server_version'), scalar gmtime;
$session->query(<<"SQL");
CREATE EXTENSION gpusort;
CREATE TABLE parent (id int8, a int4, b int8, n numeric(12, 2), ts timestamp, pad text) WITH (fillfactor = 90);
INSERT INTO parent SELECT i, i % 1000, i * 3, i / 100.0, timestamp '2020-01-01' + i * interval '1 second',
	'padding of some thirty bytes ' || i % 10 FROM generate_series(1, $rows) i;
ALTER TABLE parent ADD PRIMARY KEY (id);
CREATE TABLE child (p int8 REFERENCES parent, v int4);
VACUUM ANALYZE parent;
CHECKPOINT;
SQL
my $pages = $session->query("SELECT relpages FROM pg_class WHERE relname = 'parent'");
say_line('table', sprintf '%d rows, %d pages', $rows, $pages);

my ($tps, $before) = with_writers(sub { });
say_line('writers without columns', sprintf '%.0f transactions/s, %.1f us each', $tps, $before);
$session->query('VACUUM parent');

my $start = time;
$session->query("SELECT gpusort_columns_add('parent', '{" . join(',', @columns) . "}')");
my $loaded = time - $start;
my $loaders = 1 + $session->query('SHOW max_parallel_maintenance_workers');
say_line('load', sprintf '%.1f s by the clock, %.1f ns a row and column; times %d processes %.1f', $loaded,
	1e9 * $loaded / $rows / @columns, $loaders, $loaders * 1e9 * $loaded / $rows / @columns);
my $quiet = wait_until_held(0);
say_line('quiet', sprintf 'prove %.0f us, engine %.0f us, young %d', @$quiet{qw(prove engine young)});
say_line('memory', sprintf '%.1f bytes a row of %d', $session->query('SELECT sum(bytes) FROM gpusort_columns') / $rows,
	8 + 4 + 8 + 8 + 8);

my (@share, @proof, @heap, @seen);
my $allowed = 0;
my $backend = $session->query('SELECT pg_backend_pid()');
my $spent = seconds_of($backend);
($tps, my $with) = with_writers(
	sub {
		my $answer = look();
		my $all = $answer->{columns} + $answer->{table};

		return if $all == 0;
		push @seen, $answer;
		$allowed += $answer->{young} * ($buffers eq '128MB' ? 1.5 : 0.5) + $answer->{table} * $rows / $pages * 0.035;
		push @share, $answer->{columns} / $all;
		push @proof, ($answer->{prove} - $quiet->{prove}) / $answer->{young} if $answer->{young} > 1000;
		push @heap, $answer->{heap} * 1000 / ($answer->{table} * $rows / $pages) if $answer->{table} > 100;
	});
my @sorted = sort { $a <=> $b } @share;
say_line('writers with columns', sprintf '%.0f transactions/s, %.1f us each, %.3f of without', $tps, $with,
	$with / $before);
say_line('pages', sprintf 'mean %.2f %%, least %.2f %%, hundredth %.2f %%, %d answers', 100 * mean(@share),
	100 * $sorted[0], 100 * $sorted[ @sorted / 100 ], scalar @share);
say_line('proof', sprintf '%.2f us a young page, at most %d young', mean(@proof),
	(sort { $b <=> $a } map { $_->{young} } @seen)[0]);
say_line('heap', sprintf '%.0f ns a row read from the table', mean(@heap));
$spent = 1e6 * (seconds_of($backend) - $spent);
say_line('query', sprintf '%.0f us of processor time, %.2f of what it may be', $spent / (@seen || 1),
	$spent / ($allowed || 1));

my (@again, @answered);
for my $i (1 .. 20)
{
	wait_until_held(0);
	$session->query('UPDATE parent SET b = b + 1 WHERE id = ' . (1 + int(rand($rows))));
	my $changed = time;
	look();
	my $asked = time;
	push @again, wait_until_held(0)->{began} - $asked;
	push @answered, time - $changed;
}
@again = sort { $a <=> $b } @again;
@answered = sort { $a <=> $b } @answered;
say_line('held again', sprintf 'median %.2f s, at most %.2f; answered after %.2f and %.2f', $again[10], $again[-1],
	$answered[10], $answered[-1]);

$session->query('ALTER TABLE parent SET (autovacuum_enabled = off)');
@share = ();
for my $i (1 .. 20)
{
	$session->query("INSERT INTO parent SELECT i, 1, 2, 3, now(), 'grown' FROM generate_series(" . int($rows * (1 + $i
		/ 100) + 1) . ', ' . int($rows * (1 + ($i + 1) / 100)) . ') i');
	sleep 0.5;
	for (1 .. 3)
	{
		my $answer = look();
		push @share, $answer->{columns} / ($answer->{columns} + $answer->{table});
		sleep 0.2;
	}
}
my $grown = wait_until_held(0);
say_line('grown by a fifth', sprintf 'mean %.2f %%, least %.2f %% from columns; then all, %d young, prove %.0f us',
	100 * mean(@share), 100 * (sort { $a <=> $b } @share)[0], @$grown{qw(young prove)});
say_line('memory', sprintf '%.1f bytes a row', $session->query('SELECT sum(bytes) FROM gpusort_columns') / $rows / 1.2);
$session->finish;
