# Resident columns: materialised views, several databases, the limit of memory, who waits for a table that is loaded, a
# restore by somebody who is no superuser, and a standby that is promoted.
use strict;
use warnings;

use GpuSortService;
use GpuSortTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

my $node = service_node('columns_cases', '', <<'CONF', allows_streaming => 1);
shared_preload_libraries = 'gpusort'
max_worker_processes = 16
CONF

# Whether the answer from columns is PostgreSQL's, and comes from columns alone.
sub answer
{
	my ($server, $database, $table) = @_;

	return $server->safe_psql($database,
		"SELECT (c.rows, c.sum, c.hash) = (p.n, p.s, p.h), c.from_columns > 0 AND c.from_table = 0 "
			. "FROM gpusort_columns_check('$table', '{id,a}') c, (SELECT count(*) n, coalesce(sum(id), 0)::int8 s, "
			. "coalesce(bit_xor(gpusort_columns_hash(id, a)), 0) h FROM $table) p");
}

# Waits until all pages come from columns, and are right.
sub all_held
{
	my ($name, $database, $table, $server) = @_;
	wait_until(sub { answer($server // $node, $database, $table) eq 't|t' }, $name);
}

# The state of a table.
sub state
{
	my ($table) = @_;
	return $node->safe_psql('postgres', "SELECT max(state) FROM gpusort_columns WHERE rel = '$table'::regclass");
}

$node->safe_psql('postgres', <<'SQL');
CREATE TABLE t AS SELECT i::int8 id, i % 100 a FROM generate_series(1, 400000) i;
VACUUM t;
SQL

# a materialised view
$node->safe_psql('postgres', 'CREATE MATERIALIZED VIEW m AS SELECT * FROM t WHERE a < 10');
$node->safe_psql('postgres', "SELECT gpusort_columns_add('m')");
is(answer($node, 'postgres', 'm'), 't|t', 'a materialised view');
$node->safe_psql('postgres', 'UPDATE t SET a = 5 WHERE a = 50; REFRESH MATERIALIZED VIEW m');
is(answer($node, 'postgres', 'm') =~ s/\|.*//r, 't', 'right after it is refreshed');
all_held('and held again', 'postgres', 'm');
$node->safe_psql('postgres', 'CREATE UNIQUE INDEX ON m (id); UPDATE t SET a = 6 WHERE a = 60');
$node->safe_psql('postgres', 'REFRESH MATERIALIZED VIEW CONCURRENTLY m');
all_held('refreshed concurrently', 'postgres', 'm');

# who waits for a table that is loaded goes first
my @waits;
for my $turn (1 .. 5)
{
	my $loading = $node->background_psql('postgres', on_error_stop => 0);

	$loading->query_until(qr/begun/, "\\echo begun\nSELECT gpusort_columns_add('t');\n");
	sleep 0.02 * $turn;
	my $begun = time;
	$node->safe_psql('postgres', 'BEGIN; LOCK TABLE t; COMMIT');
	push @waits, time - $begun;
	$loading->quit;
	$node->safe_psql('postgres', "SELECT gpusort_columns_remove('t')");
}
@waits = sort { $a <=> $b } @waits;
diag('waits for the lock: ' . join ' ', map { sprintf '%.3f', $_ } @waits);
cmp_ok($waits[2], '<', 1, 'a table that is loaded can be locked');

# several databases
for my $database (qw(one two))
{
	$node->safe_psql('postgres', "CREATE DATABASE $database");
	$node->safe_psql($database, <<'SQL');
CREATE EXTENSION gpusort;
CREATE TABLE t AS SELECT i::int8 id, i % 7 a FROM generate_series(1, 20000) i;
VACUUM t;
SELECT gpusort_columns_add('t');
SQL
}
is(answer($node, $_, 't'), 't|t', "held in database $_") foreach qw(one two);
is( $node->safe_psql('postgres',
		"SELECT count(DISTINCT datname) FROM pg_stat_activity WHERE backend_type = 'gpusort columns'"),
	3,
	'by a keeper each');

# the limit of memory
$node->append_conf('postgresql.conf', 'gpusort.columns_memory = 3MB');
$node->reload;
my ($out, $err);
sleep 0.5;
$node->psql('postgres', "SELECT gpusort_columns_add('t')", stderr => \$err);
like($err, qr/gpusort.columns_memory is used up/, 'a table that does not fit is refused');
is(answer($node, 'postgres', 't') =~ s/\|.*//r, 't', 'and answered');
is(answer($node, 'postgres', 'm') =~ s/\|.*//r, 't', 'as what was held before is');
$node->safe_psql('one', "UPDATE t SET a = a + 1");
is(answer($node, 'one', 't') =~ s/\|.*//r, 't', 'right without room for changed pages');
$node->append_conf('postgresql.conf', 'gpusort.columns_memory = 300MB');
$node->reload;
sleep 0.5;
$node->safe_psql('postgres', "SELECT gpusort_columns_add('t')");
is(state('t'), 'ready', 'with room it is held');
$node->append_conf('postgresql.conf', 'gpusort.columns_memory = 3MB');
$node->restart;
is(answer($node, 'postgres', 't') =~ s/\|.*//r, 't', 'right after a restart without room');
wait_until(sub { answer($node, 'postgres', 't') =~ /^t/ && state('t') eq 'out of memory' }, 'and the view says why');
$node->append_conf('postgresql.conf', 'gpusort.columns_memory = 300MB');
$node->reload;
all_held('held when there is room, without being asked', 'postgres', 't');

# a standby
$node->backup('b');
my $standby = PostgreSQL::Test::Cluster->new('columns_standby');
$standby->init_from_backup($node, 'b', has_streaming => 1);
$standby->start;
$node->wait_for_catchup($standby);
$standby->psql('postgres', "SELECT gpusort_columns_add('m')", stderr => \$err);
like($err, qr/read-only transaction|recovery/, 'a standby chooses nothing');
is(answer($standby, 'postgres', 't'), 't|f', 'and answers from tables');
$standby->promote;
all_held('once promoted it loads what was chosen', 'postgres', 't', $standby);
$standby->stop;

# a restore by somebody who is no superuser
$node->safe_psql('postgres', 'CREATE ROLE someone LOGIN CREATEDB; CREATE DATABASE restored OWNER someone');
my $dump = $node->basedir . '/dump.sql';
$node->command_ok([ 'pg_dump', '-O', '-x', '-f', $dump, $node->connstr('one') ], 'dumped');
$node->safe_psql('restored', 'GRANT ALL ON SCHEMA public TO someone; CREATE EXTENSION gpusort');
$node->psql('restored', "SET ROLE someone;\n" . slurp_file($dump), on_error_stop => 0, stderr => \$err);
like($err, qr/gpusort_columns_choice|gpusort_columns_add/, 'a restore says that choices are not restored');
is($node->safe_psql('restored', 'SELECT count(*) FROM t'), 20000, 'and restores the rest');
$node->stop;
done_testing();
