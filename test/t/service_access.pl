# Who gets to see what: roles do not share rings, base backups leave the service's files out, sessions that find no
# shared memory count for themselves.
# tags: service
use strict;
use warnings;

use FindBin;
use GpuSortService;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

# As little memory may be locked as many systems allow by default.
system_or_bail('prlimit', '--pid', $$, '--memlock=65536:65536');
my $node = service_node('access', '', "wal_level = replica\nmax_wal_senders = 4\n");
make_table($node, 20000);
my $right = digest($node, 'cpu');

# The memory behind the rings that a process has mapped.
sub rings
{
	my ($pid) = @_;
	return join ' ', sort map { (split ' ')[4] } grep { /memfd:gpusort/ } split /\n/, slurp_file("/proc/$pid/maps");
}

# A session that changes its role gets another ring, which is new memory, and keeps the first for the first role.
$node->safe_psql('postgres', 'CREATE ROLE other; GRANT SELECT ON t TO other');
my $session = $node->background_psql('postgres');
my $sort = "SELECT md5(string_agg(i::text, ',')) FROM (SELECT i FROM t ORDER BY k) x";
my $pid = $session->query_safe('SELECT pg_backend_pid()');
$session->query_safe('SET gpusort.engine = gpu');
is($session->query_safe($sort), $right, 'first role');
my $mine = rings($pid);
like($mine, qr/^\d+$/, 'one ring');
is($session->query_safe($sort), $right, 'again');
is(rings($pid), $mine, 'the same ring');
$session->query_safe('SET ROLE other');
is($session->query_safe($sort), $right, 'another role');
my $both = rings($pid);
like($both, qr/^\d+ \d+$/, 'another ring');
like(" $both ", qr/ $mine /, 'beside the first');
my ($service) = service_pids($node);
is(rings($service), $both, 'and the service has the same');

# Roles that take turns make no rings.
$node->safe_psql('postgres', <<'SQL');
CREATE FUNCTION sorted() RETURNS text SECURITY DEFINER LANGUAGE sql AS
	$$ SELECT md5(string_agg(i::text, ',')) FROM (SELECT i FROM t ORDER BY k) x $$;
SQL
foreach my $turn (1 .. 5)
{
	is($session->query_safe('SELECT sorted()'), $right, 'as the owner of a function');
	is($session->query_safe($sort), $right, 'as the other role');
	is($session->query_safe("RESET ROLE; $sort; SET ROLE other"), $right, 'as the first');
}
is(rings($pid), $both, 'no ring was made by roles that take turns');
is(rings($service), $both, 'nor one lost');

# Of many roles the last four keep theirs; what the service takes back is not kept either.
$node->safe_psql('postgres', join ';', map { "CREATE ROLE other$_; GRANT SELECT ON t TO other$_" } 1 .. 5);
$session->query_safe("SET ROLE other$_; $sort") foreach 1 .. 5;
is(scalar(split ' ', rings($pid)), 4, 'four rings at most are kept');
my %kept = map { $_ => 1 } split ' ', rings($pid);
$session->query_safe("SET ROLE other$_; $sort") foreach 2 .. 5;
is_deeply({ map { $_ => 1 } split ' ', rings($pid) }, \%kept, 'those that were used last');
service_with($node, '--idle=1');
$session->query_safe("SET ROLE other$_; $sort") foreach 1 .. 3;
wait_until(sub { rings((service_pids($node))[0]) eq '' }, 'the service takes back what is idle');
wait_until(sub { $session->query_safe("SET ROLE other4; $sort"); rings($pid) =~ /^\d+$/ },
	'and the session lets go of it');
is(counted($node, 'GPU service was lost'), 0, 'no job was lost');
like(explain_sort($node, 'gpu'), qr/Engine: $engine_name/, 'with little memory that may be locked');
my $pinned = slurp_file($node->logfile) !~ /could not be pinned/;
diag 'rings could ', ($pinned ? '' : 'not '), 'be pinned under a limit of 64 kB' if $engine eq 'gpu';

# A base backup while the service runs and sorts.
$session->query_safe('BEGIN; DECLARE c CURSOR FOR SELECT i FROM t ORDER BY k; FETCH 1 c');
is_deeply([ sort(leftovers($node)) ], [ 'pgsql_tmp_gpusort', 'pgsql_tmp_gpusort.lock' ],
	'socket and lock are in the data directory\'s place for such files');
my $backup = $node->basedir . '/backup_of_access';
$node->command_ok([ 'pg_basebackup', '-D', $backup, '-c', 'fast', '--no-sync', '-X', 'none', '-h', $node->host, '-p',
	$node->port ],
	'pg_basebackup');
ok(-f "$backup/PG_VERSION", 'a backup was made');
is_deeply([ glob("$backup/pgsql_tmp*") ], [], 'without socket and lock');
$session->quit;
sound($node);
$node->stop;

# All shared memory is used up before anybody sorts.
my $programs = "$FindBin::RealBin/../service";
my $said;
IPC::Run::run([ 'make', '-s', '-C', $programs, 'hog', 'INCLUDES=' . $node->config_data('--includedir-server') ], '>&',
	\$said) or die $said;
$node = service_node('crowded', '', "autovacuum = off\n");
make_table($node, 20000);
$node->restart;
cmp_ok($node->safe_psql('postgres', "CREATE FUNCTION hog_shared_memory() RETURNS int8 LANGUAGE c
	AS '$programs/build/hog.so';
	SELECT hog_shared_memory()"), '>', 0, 'no shared memory is left');
my $counted = "SELECT coalesce(sum(jobs), 0) FROM gpusort_stat WHERE engine = '$engine_kind' AND fallback IS NULL";
$session = $node->background_psql('postgres');
$session->query_safe('SET gpusort.engine = gpu');
is($session->query_safe($sort), $right, 'sorts');
is($session->query_safe($counted), '1', 'in the service, and counts it');
is($node->safe_psql('postgres', $counted), '0', 'for itself alone');
is(digest($node, 'gpu'), $right, 'another session');
is(service_pids($node), 1, 'finds the same service');
is($session->query_safe("SELECT DISTINCT service FROM gpusort_devices"), 'running', 'which is shown');
$session->query_safe('SELECT gpusort_stat_reset()');
is($session->query_safe($counted), '0', 'reset');
$session->quit;
sound($node);
$node->stop;
is(service_pids($node), 0, 'no process is left');
is_deeply([ leftovers($node) ], [], 'nothing lies around');
done_testing();
