# Memory that a session keeps of its sorts for the next ones, and gives back.
use strict;
use warnings;

use GpuSortTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

my $node = start_node('kept', "gpusort.work_mem = '1GB'\ngpusort.engine = cpu\n");
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE t AS SELECT hashint8extended(i, 1) k, i, repeat(md5(i::text), 4) t FROM generate_series(1, 300000::int8) i;
VACUUM ANALYZE t;
SQL
my $query = 'SELECT * FROM t ORDER BY k';
my $discard = "$query OFFSET 1000000";
my $digest = "SELECT bit_xor(hashint8extended(k, n) # hashtextextended(t, n)) FROM (SELECT *, row_number() OVER () n "
	. "FROM ($query) x) y";
my $expected = $node->safe_psql('postgres', "SET gpusort.enabled = off; $digest");
# the rows alone take 50 MB; what a session may differ by that keeps none of them
my $slack = 12000;

# A session that has sorted some rows in each way that these tests do, and kept nothing of that.
sub new_session
{
	my ($kept) = @_;
	my $session = $node->background_psql('postgres', on_error_stop => 0);

	$session->query_safe("SET gpusort.kept_memory = 0; SET work_mem = '64kB'");
	$session->query_safe('SELECT * FROM t WHERE i <= 5000 ORDER BY k OFFSET 10000');
	$session->query_safe($digest =~ s/FROM t/FROM t WHERE i <= 5000/r);
	$session->query_safe('SELECT count(*) FROM t');
	$session->query_safe("SET gpusort.kept_memory = '$kept'");
	my $pid = $session->query_safe('SELECT pg_backend_pid()');
	return ($session, $pid, backend_kilobytes($pid));
}

# Waits until a process has no more than so much memory: whether that came.
sub shrinks
{
	my ($pid, $most) = @_;
	my $end = time + 120;

	while (backend_kilobytes($pid) > $most)
	{
		return 0 if time > $end;
		sleep 0.5;
	}
	return 1;
}

# Of a process's own large mappings, what the kernel may take whenever it wants some, in kB.
sub lazily_free
{
	my ($pid) = @_;
	my $sum = 0;

	$sum += $_ foreach slurp_file("/proc/$pid/smaps") =~ /^LazyFree:\s+(\d+) kB/mg;
	return $sum;
}

my ($session, $pid, $before) = new_session('1GB');
is($session->query_safe($digest), $expected, 'a first sort');
my $kept = backend_kilobytes($pid) - $before;
cmp_ok($kept, '>', 40000, "the session has kept $kept kB");
cmp_ok(lazily_free($pid), '>', 40000, 'and the kernel may take them');
is($session->query_safe($digest), $expected, "a second sort, in the first one's memory");
my $more = backend_kilobytes($pid) - $before - $kept;
cmp_ok($more, '<', $slack, "which takes $more kB more");
is($session->query_safe("SET gpusort.work_mem = '4MB'; $digest"), $expected, 'one that goes to disk');
is($session->query_safe("RESET gpusort.work_mem; $digest"), $expected, 'and one in memory');
$more = backend_kilobytes($pid) - $before - $kept;
cmp_ok($more, '<', $slack, "which take $more kB more");
$session->query_safe('SET gpusort.kept_memory = 0');
$more = backend_kilobytes($pid) - $before;
cmp_ok($more, '<', $slack, "with the setting at zero all is given back but $more kB");
is($session->query_safe($digest), $expected, 'and sorts go on');
$more = backend_kilobytes($pid) - $before;
cmp_ok($more, '<', $slack, "without leaving more than $more kB");
$session->quit;

($session, $pid, $before) = new_session('16MB');
is($session->query_safe($digest), $expected, 'with 16 MB to be kept');
$more = backend_kilobytes($pid) - $before;
cmp_ok($more, '<', 16384 + $slack, "a session keeps $more kB");
$session->query_safe("BEGIN; SET LOCAL gpusort.kept_memory = '1GB'; $digest");
cmp_ok(backend_kilobytes($pid) - $before, '>', 40000, 'within a transaction it keeps more');
$session->query_safe('ROLLBACK');
$more = backend_kilobytes($pid) - $before;
cmp_ok($more, '<', 16384 + $slack, "and not after it: $more kB");
$session->quit;

# what ends a sort early, and what is open meanwhile
($session, $pid, $before) = new_session('1GB');
$session->query_safe("BEGIN; DECLARE c CURSOR WITH HOLD FOR SELECT i FROM ($query) x LIMIT 250000; DECLARE d CURSOR "
	. "FOR SELECT i FROM ($query) x; MOVE 1000 FROM d");
is($session->query_safe($digest), $expected, 'a sort while another is open');
foreach my $error ('SELECT 1 / (i - 299999) FROM t ORDER BY k OFFSET 1000000',
	"SET LOCAL statement_timeout = 200; " . $discard =~ s/FROM t/FROM t WHERE i < 299999 OR pg_sleep(3600) IS NULL/r)
{
	$session->query("SAVEPOINT s; $error");
	like($session->{stderr}, qr/division by zero|statement timeout/, 'an error in a subtransaction');
	$session->{stderr} = '';
	$session->query_safe('ROLLBACK TO s');
	is($session->query_safe($digest), $expected, 'a sort after it');
}
is(scalar(split /\n/, $session->query_safe('FETCH ALL FROM d')), 299000, 'the open one goes on');
is($session->query_safe('COMMIT; SELECT 1'), '1', 'the transaction ends');
$session->query_safe("DO \$\$BEGIN FOR n IN 1..20 LOOP BEGIN PERFORM 1 / (x.i - 2970 - n), x.t FROM (SELECT i, t
	FROM t WHERE t.i < 5000 ORDER BY k) x;
	EXCEPTION WHEN division_by_zero THEN NULL; END; END LOOP; END\$\$");
is($session->query_safe($digest), $expected, 'a sort after those that a function has caught');

# what small sorts may take of huge pages, all of a session together, has come back from those that failed
$session->query_safe("CLOSE c; SET gpusort.kept_memory = 0; RESET gpusort.kept_memory; " . $discard
	=~ s/FROM t/FROM t WHERE i <= 5000/r);
cmp_ok(lazily_free($pid), '>', 2000, 'a small sort has huge pages');

# idle, in a transaction, with a cursor that is open
$session->query_safe("BEGIN; DECLARE d CURSOR FOR SELECT i FROM t WHERE i <= 20000 ORDER BY k; MOVE 100 FROM "
	. "d; $discard");
cmp_ok(backend_kilobytes($pid) - $before, '>', 40000, 'memory is kept');
ok(shrinks($pid, $before + $slack), 'an idle session gives it back');
is(scalar(split /\n/, $session->query_safe('FETCH ALL FROM d')), 19900, 'a cursor goes on');
is($session->query_safe("COMMIT; $digest"), $expected, 'and so do sorts');

# an error of another query stops all timers
$session->query('SELECT 1 / 0');
$session->{stderr} = '';
ok(shrinks($pid, $before + $slack), 'after an error, too');

# and so do those that a failed transaction ends with, and one that goes no further than a savepoint
foreach my $end ('SELECT 1', 'ROLLBACK TO s')
{
	$session->query_safe("BEGIN; SAVEPOINT s; $discard");
	cmp_ok(backend_kilobytes($pid) - $before, '>', 40000, 'memory is kept within a transaction');
	foreach my $command ('SELECT 1 / 0', $end)
	{
		$session->query($command);
		$session->{stderr} = '';
	}
	ok(shrinks($pid, $before + $slack), "after an error and $end");
	is($session->query_safe("ROLLBACK; $digest"), $expected, 'sorts go on');
}
foreach my $command ("BEGIN; $discard; SELECT 1 / 0", 'SELECT 1')
{
	$session->query($command);
	$session->{stderr} = '';
}
ok(shrinks($pid, $before + $slack), 'after two errors without a savepoint');
$session->quit;

# a session that may map only so much
foreach my $limit ('as', 'data')
{
	$session = $node->background_psql('postgres');
	$pid = $session->query_safe('SELECT pg_backend_pid()');
	is(system('prlimit', "--pid=$pid", "--$limit=8589934592"), 0, "a limit of its memory: $limit");
	is($session->query_safe("SET gpusort.kept_memory = '1GB'; $digest"), $expected, 'it sorts');
	is(lazily_free($pid), 0, 'and keeps nothing');
	$session->quit;
}
$node->stop;
done_testing();
