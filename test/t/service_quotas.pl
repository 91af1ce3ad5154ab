# Memory for rings is shared out: no session and no role can take all of it, and what lies idle goes to who needs it.
use strict;
use warnings;

use GpuSortService;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep);

# A ring has 9 MB.  Of 160 MB a session may have 40, and a role alone 120.
# without checks a sort fetches its order as rows are wanted, so that cursors keep their rings
my $node = service_node('shares', '', "gpusort.pinned_memory = 160MB\ngpusort.verify = off\n");
make_table($node, 20000);
my $right = digest($node, 'cpu');
my $used_up = 'gpusort.pinned_memory is used up';
my $share = 'quota of gpusort.pinned_memory is used up';
my $sort = "SELECT md5(string_agg(i::text, ',')) FROM (SELECT i FROM t ORDER BY k) x";

# A session in a transaction, of a role, with so many sorts open.
sub session
{
	my ($role, $cursors) = @_;
	my $session = $node->background_psql('postgres');

	$session->query_safe("SET gpusort.engine = gpu; SET ROLE $role; BEGIN");
	open_cursors($session, 1, $cursors);
	return $session;
}

sub open_cursors
{
	my ($session, $first, $last) = @_;
	$session->query_safe("DECLARE c$_ CURSOR FOR SELECT i FROM t ORDER BY k; FETCH 1 c$_") foreach $first .. $last;
}

# Rings of a session, and of all.
sub rings
{
	my ($session) = @_;
	return (held($session ? $session->query_safe('SELECT pg_backend_pid()') : (service_pids($node))[0]))[1];
}

$node->safe_psql('postgres', 'CREATE ROLE one; CREATE ROLE two; CREATE ROLE three; GRANT SELECT ON t TO PUBLIC');
is(digest($node, 'gpu'), $right, 'the service runs');
my ($service) = service_pids($node);
wait_until(sub { rings() == 0 }, 'no ring is left');
$node->safe_psql('postgres', 'SELECT gpusort_stat_reset()');

# A session that opens more and more.
my $hog = session('one', 8);
is(rings($hog), 4, 'a session gets its share');
is(counted($node, $share), 4, 'and is told what it is when it wants more');
is($hog->query_safe('FETCH 5 c8'), $hog->query_safe('FETCH 5 c1'), 'which goes on all the same');
$node->safe_psql('postgres', 'SELECT gpusort_stat_reset()');

# Many sessions of one role.
my @sessions = ($hog, map { session('one', 4) } 1 .. 3);
is(rings(), 13, 'a role gets its share');
is(counted($node, $share), 3, 'and is told, too');
is(counted($node, $used_up), 0, 'there is memory left');

# For another role, which comes later.
$node->safe_psql('postgres', 'SELECT gpusort_stat_reset()');
my $other = session('two', 3);
is(rings($other), 3, 'another role gets rings at once');
is($node->safe_psql('postgres', 'SELECT count(*) FROM gpusort_stat WHERE fallback IS NOT NULL'), 0,
	'as many as it asked for');
open_cursors($other, 4, 4);
is(counted($node, $share), 1, 'and has its share then');

# Rings that lie idle are taken back for whoever wants more than is left.
$_->query_safe('COMMIT') foreach @sessions;
is(rings(), 16, 'sessions keep their rings');
sleep(1.5);
wait_until(sub { open_cursors($other, 5, 5); my $got = rings($other); $other->query_safe('CLOSE c5'); $got == 4 },
	'until somebody else wants them');
cmp_ok(rings(), '<', 17, 'then they go');
$hog->query_safe("BEGIN; SET LOCAL gpusort.verify = full; $sort; COMMIT");
is(counted($node, 'GPU service was lost'), 0, 'and their owners do not notice');
$_->quit foreach @sessions, $other;
wait_until(sub { rings() == 0 }, 'all go with their sessions');
is($node->safe_psql('postgres', 'SELECT max(pinned_bytes) FROM gpusort_devices'), 0, 'and are counted no more');

# Of a session's own rings, those of other roles are the first to go, however lately they were used.
$node->append_conf('postgresql.conf', 'gpusort.pinned_memory = 20MB');
service_with($node, '');
my $session = $node->background_psql('postgres');
$session->query_safe('SET gpusort.engine = gpu');
foreach my $role (qw(one two three one two three))
{
	is($session->query_safe("SET ROLE $role; $sort"), $right, "role $role");
}
is(counted($node, $used_up) + counted($node, $share), 0, 'a session that changes roles does not stand in its own way');
is(rings(), 2, 'with as many rings as there may be');
$session->quit;

sound($node);
$node->stop;
done_testing();
