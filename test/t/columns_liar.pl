# Resident columns and a service that fails at every point of an answer, and one that lies:
# between backends and gpusortd stands a program that changes, cuts, doubles and makes up messages.  Each answer is the
# one without columns, and why columns did not give it is counted.
# tags: service
use strict;
use warnings;

use Cwd qw(getcwd);
use FindBin;
use GpuSortAnswers;
use GpuSortService;
use IPC::Run;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep);

plan skip_all => 'columns in host memory' if $engine eq 'gpu';
# Also when the test dies, nothing is left running.
my $mangle;
my $seed = $ENV{SEED} || 1 + int(rand(1e6));
diag("SEED=$seed");
END
{
	local $?;
	$mangle->kill_kill if defined $mangle;
}

my $programs = "$FindBin::RealBin/../service";
my $said;
# beside what others build there
IPC::Run::run([ 'make', '-s', '-C', $programs, 'mangle', 'BUILD=build/columns_mangle' ], '>&', \$said) or die $said;

my $node = service_node('columns_liar', '', <<'CONF', extra => [ '--locale=C.UTF-8', '--encoding=UTF8' ]);
shared_preload_libraries = 'gpusort'
max_worker_processes = 16
CONF
my $query = 'SELECT count(*), sum(id), min(n), max(n), avg(a), sum(a * n) FROM t WHERE a < 900';
my @queries = ($query, 'SELECT count(*), count(a), min(a), max(id) FROM t', 'SELECT sum(n) FROM t WHERE n'
	. ' BETWEEN 5 AND 500',
	'SELECT x, (SELECT count(*) FROM t WHERE a < x) FROM generate_series(0, 900, 300) x', 'SELECT max(f),'
		. ' sum(id) FROM p', 'SELECT a, count(*), sum(n) FROM t GROUP BY a ORDER BY a',
	'SELECT id, n FROM t GROUP BY id, n ORDER BY n DESC, id LIMIT 9',
	'SELECT count(*), sum(c), sum(id) FROM (SELECT id, count(*) c FROM t GROUP BY id) x',
	'SELECT count(DISTINCT id), mode() WITHIN GROUP (ORDER BY f) FROM p',
	'SELECT DISTINCT a FROM t ORDER BY a LIMIT 30',
	'SELECT * FROM t ORDER BY n DESC, id LIMIT 7 OFFSET 20000',
	'SELECT * FROM t WHERE a IN (7, 77) AND n > 500');

comparison_functions($node);
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE t (id int8, a int4, n numeric(12, 2), f float8);
INSERT INTO t SELECT i, i % 1000, i / 7.0, i / 8.0 FROM generate_series(1, 30000) i;
CREATE TABLE p (id int8, f float8) PARTITION BY RANGE (id);
CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (5000);
CREATE TABLE p2 PARTITION OF p FOR VALUES FROM (5000) TO (10000);
INSERT INTO p SELECT i, i / 8.0 FROM generate_series(0, 9999) i;
VACUUM ANALYZE t, p;
CREATE TABLE s (v text, c char(12), n name, id int4);
INSERT INTO s SELECT E'v\u00fc' || i % 400, 'c' || i % 30, 'n' || i % 20, i FROM generate_series(1, 20000) i;
VACUUM ANALYZE s;
SELECT gpusort_columns_add('t'), gpusort_columns_add('p'), gpusort_columns_add('s');
SQL
my $right = $node->safe_psql('postgres', "SET gpusort.columns = off; $query");

# Waits until the table is held.
sub wait_until_held
{
	wait_until(
		sub {
			$node->safe_psql('postgres',
				"SELECT bool_and(from_columns > 0) FROM unnest('{t,p1,p2,s}'::regclass[]) r, "
					. "gpusort_columns_check(r, '{id}')") eq 't';
		},
		'the tables are held');
}

# Answers of a table without columns, as the view counts them, and the last reason.
sub fallbacks
{
	return split /\|/,
		$node->safe_psql('postgres', "SELECT max(fallbacks), max(last_reason) FROM gpusort_columns WHERE rel ="
			. " 't'::regclass");
}

# How the query is answered in a transaction that has changed a page, so that there are chunks to be sent: "columns" or
# why not.
sub answered_by
{
	my $text = $node->safe_psql('postgres', "BEGIN; UPDATE t SET f = 1 WHERE id = 500;\n"
			. "EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, FORMAT JSON) $query; ROLLBACK");

	return columns_used($text) eq 'columns' ? 'columns' : node_of($text)->{Columns} // columns_used($text);
}

wait_until_held();
is(answered_by(), 'columns', 'without a fault');

# Every way to fail, at every stage of an answer.
my %reason = (
	crash => 'GPU service was lost',
	hang => 'GPU service did not answer',
	oom => 'out of device memory',
	device => 'GPU failed',
	wrong => 'GPU service gave a wrong answer',
	corrupt => 'GPU service broke the protocol',
	'short:0' => 'GPU service broke the protocol',
	'short:2' => 'GPU service broke the protocol');
foreach my $case (
	[ 'oom', 'begin' ], [ 'oom', 'add' ], [ 'oom', 'finish' ], [ 'device', 'begin' ], [ 'device', 'add' ],
	[ 'device', 'finish' ], [ 'wrong', 'finish' ], [ 'corrupt', 'finish' ], [ 'short:0', 'next' ],
	[ 'short:2', 'next' ],
	[ 'crash', 'begin' ], [ 'crash', 'add' ], [ 'crash', 'finish' ], [ 'hang', 'add' ], [ 'hang', 'finish' ])
{
	my ($kind, $stage) = @$case;
	my $fault = "$kind\@$stage";
	my $lasts = $kind !~ /crash|hang/;

	$node->append_conf('postgresql.conf', "gpusort.timeout = $impatient") if $kind eq 'hang';
	service_with($node, "--fault=$fault --fault-every=1" . ($kind eq 'hang' ? ' --stall=1' : ''));
	wait_until_held();
	my ($before) = fallbacks();
	is(answered_by(), "not used ($reason{$kind})", "$fault: why");
	my ($after, $last) = $lasts ? fallbacks() : ();
	cmp_ok($after, '==', $before + 1, "$fault: counted") if $lasts;
	is($last, $reason{$kind}, "$fault: with its reason") if $lasts;
	wait_until_held() unless $lasts;
	is($node->safe_psql('postgres', $query), $right, "$fault: the right answer");
	my $err;
	wait_until_held() unless $lasts;
	$node->psql('postgres', "BEGIN; UPDATE t SET f = 1 WHERE id = 500; SET gpusort.columns = force; $query",
		stderr => \$err);
	like($err, qr/cannot be answered from columns.*Reason: $reason{$kind}/s, "$fault: an error where one is wanted");
}
$node->append_conf('postgresql.conf', "gpusort.timeout = $timeout");

# Wrong rows: of pages that were not asked about, twice the same, none at all, more than there are.  And how the service
# fails while rows come in parts.
my $impossible = "the service's answer is impossible";
my $broken = 'GPU service broke the protocol';
my $misplaced = 'rows that columns found are in a wrong order';
my %rows_of = (
	page => 'SELECT id, n FROM t ORDER BY n DESC, id LIMIT 500 OFFSET 20000',
	rows => 'SELECT id, n FROM t WHERE a = 77 AND n > 500',
	many => 'SELECT id, n FROM t ORDER BY id LIMIT 25000 OFFSET 5');
foreach my $case (
	[ 'corrupt@finish', $broken, $impossible ], [ 'corrupt@next', $broken, $impossible ],
	[ 'keys@finish', $broken, $impossible ], [ 'short:0@next', $broken, $broken ],
	[ 'order@next', ('a row that columns found is not there') x 2 ],
	[ 'order@finish', $misplaced, 'columns', $misplaced ], [ 'swap:100', $misplaced, 'columns', $misplaced ],
	[ 'short:40000@finish', $broken, $broken ],
	[ 'oom@begin', 'out of device memory', 'out of device memory' ],
	[ 'device@add', 'GPU failed', 'GPU failed' ], [ 'device@next', 'columns', 'columns', 'GPU failed' ])
{
	my ($fault, %why);

	($fault, @why{qw(page rows many)}) = @$case;
	service_with($node, "--fault=$fault --fault-every=1");
	wait_until_held();
	foreach my $kind (sort grep { defined $why{$_} } keys %why)
	{
		my $plans = 'SET enable_seqscan = off; SET enable_sort = off; ';
		my $begin = "BEGIN; UPDATE t SET f = 1 WHERE id = 500; $plans";
		my $text = $node->safe_psql('postgres',
			"$begin EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, FORMAT JSON) $rows_of{$kind}; ROLLBACK");
		my $want = $why{$kind} eq 'columns' ? 'columns' : "not used ($why{$kind})";

		is(columns_used($text) eq 'columns' ? 'columns' : node_of($text)->{Columns}, $want, "$fault, $kind: why");
		is($node->safe_psql('postgres', "$begin $rows_of{$kind}; ROLLBACK"),
			$node->safe_psql('postgres', "SET gpusort.columns = off; $rows_of{$kind}"),
			"$fault, $kind: the right rows");
	}
}

# Rows of an order that are found to be wrong when others have left.
foreach my $case ([ 'page', 300 ], [ 'page', 498 ], [ 'many', 20000 ])
{
	my ($kind, $at) = @$case;
	my $err;

	service_with($node, "--fault=swap:$at --fault-every=1");
	wait_until_held();
	$node->psql('postgres', "SET enable_seqscan = off; SET enable_sort = off; $rows_of{$kind}", stdout => \my $out,
		stderr => \$err);
	like($err, qr/ERROR:  columns found wrong rows in table "t"\n.*Reason: $misplaced/s, "$kind, $at: an error");
	is(counted($node, 'GPU service gave a wrong answer'), 1, "$kind, $at: counted");
	is($node->safe_psql('postgres', "SET gpusort.verify = off; SET enable_seqscan = off; SET enable_sort = off; "
		. "SELECT count(*) FROM ($rows_of{$kind}) x"), $kind eq 'page' ? 500 : 25000, "$kind, $at: off believes it");
}

# A service that goes while a session has its map, and one that has lost the tables.
service_with($node, '');
wait_until_held();
my $session = $node->background_psql('postgres', on_error_stop => 0);
is($session->query($query), $right, 'a session');
kill 'KILL', service_pids($node);
is($session->query($query), $right, 'whose service has been killed') foreach 1 .. 3;
wait_until_held();
is($session->query($query), $right, 'and is back');
kill 'TERM', $node->safe_psql('postgres', "SELECT max(pid) FROM pg_stat_activity WHERE backend_type = 'gpusort"
	. " columns'");
is($session->query($query), $right, 'without its keeper') foreach 1 .. 3;
wait_until_held();
$node->safe_psql('postgres', "SELECT gpusort_columns_remove('t')");
is($session->query($query), $right, 'a table that is no longer held');
$node->safe_psql('postgres', "SELECT gpusort_columns_add('t')");
is($session->query($query), $right, 'and is again');
$session->quit;

# The liar: the service listens elsewhere.
my $behind = 'pg_stat_tmp/pgsql_tmp_behind';

# Puts a liar between the service and backends, once the service is there: one message in so many is another one, or
# dictionaries are damaged.
sub lie
{
	my ($one_in, $damage) = @_;
	my $here = getcwd();

	$mangle->kill_kill if $mangle;
	chdir $node->data_dir or die;
	unlink $socket;
	$mangle = IPC::Run::start([ "$programs/build/columns_mangle/mangle", $socket, $behind, $one_in, $seed++,
		$damage // 'users' ],
		'<', \undef, '>&', \$said);
	for (1 .. 3600) { last if -S $socket; sleep(0.05); }
	chdir $here;
}

$node->append_conf('postgresql.conf', "gpusort.timeout = 1s\ngpusort.service_options = '--engine=$engine"
	. " --socket=$behind'");
$node->stop;
$node->start;
my $waiting = $node->background_psql('postgres', on_error_stop => 0);
$waiting->query_until(qr/begun/, "\\echo begun\nSELECT gpusort_columns_add('t');\n");
wait_until(sub { -S $node->data_dir . "/$behind" }, 'the service is there');
lie(0);
wait_until_held();
$waiting->quit;
is(answered_by(), 'columns', 'through a program that tells the truth');

# Damaged dictionaries, each in a new session: no query fails, and what is impossible is noticed by whoever reads it.
# Strings that are others, as a string is that is not found any more, are as good a lie as a number.
my $noticed = qr/^not used \(strings of the service's dictionary are impossible\)$/;
my %strings = (
	groups => 'SELECT v, c, n, count(*) FROM s GROUP BY v, c, n ORDER BY v, c, n LIMIT 7',
	tested => "SELECT count(*), sum(id) FROM s WHERE v LIKE 'v%7' AND c LIKE 'c%' AND n LIKE 'n%'",
	ranked => 'SELECT min(v COLLATE "C"), max(v COLLATE "C"), max(c COLLATE "C") FROM s',
	lengths => 'SELECT length(v), count(*) FROM s GROUP BY length(v) ORDER BY 1',
	sought => "SELECT count(*), sum(id) FROM s WHERE v IN (E'v\\u00fc7', 'none') AND c <> 'c1' AND n = 'n7'");
foreach my $damage (qw(none sizes slots room count ends back long wide index full bytes))
{
	lie(0, $damage);
	forgive($node);
	wait_until_held();
	foreach my $kind (sort keys %strings)
	{
		my $text = $node->safe_psql('postgres',
			"EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, FORMAT JSON) $strings{$kind}");
		my $why = columns_used($text) eq 'columns' ? 'columns' : node_of($text)->{Columns};
		my $others = $damage =~ /^(?:wide|bytes)$/ && $kind eq 'sought';
		my $want = $damage eq 'none' ? qr/^columns$/
		  : $damage =~ /^(?:sizes|slots|room)$/ ? qr/^not used \($broken\)$/
		  : $damage =~ /^(?:index|full)$/ && $kind ne 'sought' || $others ? qr/^columns$|$noticed/ : $noticed;

		like($why, $want, "$damage, $kind: why");
		is($node->safe_psql('postgres', $strings{$kind}),
			$node->safe_psql('postgres', "SET gpusort.columns = off; $strings{$kind}"),
			"$damage, $kind: the right answer")
		  unless $others;
	}
}

# Lies of every kind, in answers of sessions that have a map, and of some that have none yet.
my (%used, %why, @wrong);
my $counted = 0;
foreach my $round (1 .. 60)
{
	my ($out, $err) = ('', '');

	lie(2 + $round % 5);
	# patience, and none has set the service aside
	forgive($node);
	$node->psql('postgres', join('', map { compared_line('lie', $_, 'SELECT 1') } @queries, @queries), stdout => \$out,
		stderr => \$err, on_error_stop => 0);
	push @wrong, $err if $err =~ /ERROR|FATAL|PANIC|server closed/;
	# in this round: to forgive is to forget them
	$counted += $node->safe_psql('postgres', "SELECT coalesce(sum(jobs), 0) FROM gpusort_stat WHERE op = 'columns' AND"
			. ' fallback IS NOT NULL');
	foreach my $line (grep { /^lie/ } split /\n/, $out)
	{
		my ($word, $differs, $used, $reason) = split /\|/, $line, -1;

		push @wrong, $differs if $differs ne '';
		$used{$used}++;
		$why{$reason}++ if $reason ne '';
	}
	last if $round >= 12 && keys %why >= 4 && ($used{columns} // 0) > 20 && grep { /^GPU service/ } keys %why;
}
diag(join ', ', map { "$_: $used{$_}" } sort keys %used);
diag(join ', ', map { "$_: $why{$_}" } sort keys %why);
is(join("\n", @wrong), '', 'no lie is believed');
cmp_ok($used{child} // 0, '>', 0, 'lies were noticed');
cmp_ok(scalar(keys %why), '>=', 4, 'in several ways');
cmp_ok($used{columns} // 0, '>', 0, 'and some answers went through');
cmp_ok($counted, '>', 0, 'failures are counted');
$node->stop;
$mangle->kill_kill;
undef $mangle;
sound($node);
done_testing();
