# Failover: a standby sorts on its service, is promoted under load, and pg_rewind brings the old primary back while both
# services run; then the other way round, from a directory in which a crash left the service's files.
# tags: service
use strict;
use warnings;

use File::Copy qw(copy);
use GpuSortService;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my @both = ('pgsql_tmp_gpusort', 'pgsql_tmp_gpusort.lock');
my $settings = "wal_keep_size = 320MB\nhot_standby = on\nmax_connections = 30\nautovacuum = off\n";
my $first = service_node('first', '', $settings, allows_streaming => 1, extra => ['--data-checksums']);
make_table($first, 60000);
my $right = digest($first, 'cpu');
$first->safe_psql('postgres', <<"SQL");
CREATE TABLE story (chapter text);
CREATE FUNCTION sort_through_promotion() RETURNS void LANGUAGE plpgsql AS \$\$
DECLARE
	s text;
	promoted bool;
BEGIN
	SET LOCAL gpusort.engine = gpu;
	LOOP
		promoted := NOT pg_is_in_recovery();
		SELECT md5(string_agg(i::text, ',')) INTO s FROM (SELECT i FROM t ORDER BY k) x;
		IF s <> '$right' THEN
			RAISE 'wrong order';
		END IF;
		EXIT WHEN promoted;
	END LOOP;
END \$\$;
SQL
like(explain_sort($first, 'gpu'), qr/Engine: $engine_name/, 'the primary sorts on its service');

$first->backup('start');
my $second = PostgreSQL::Test::Cluster->new('second');
$second->init_from_backup($first, 'start', has_streaming => 1);
$second->start;
$first->wait_for_catchup($second, 'replay', $first->lsn('insert'));
is($second->safe_psql('postgres', 'SELECT pg_is_in_recovery()'), 't', 'a standby');
is(digest($second, 'gpu'), $right, 'sorts');
like(explain_sort($second, 'gpu'), qr/Engine: $engine_name/, 'on a service');
is(service_pids($second), 1, 'of its own');
is(service_pids($first), 1, 'and the primary keeps its one');

# Promotes a standby while four sessions sort on it.
sub promote_under_load
{
	my ($node) = @_;
	my ($out, $err) = ('', '');
	my $script = $node->basedir . '/sort.sql';

	append_to_file($script, 'SELECT sort_through_promotion();');
	my $run = IPC::Run::start(
		[ 'pgbench', '-n', '-c', '4', '-t', '1', '-f', $script, '-h', $node->host, '-p', $node->port, 'postgres' ],
		'<', \undef, '>', \$out, '2>', \$err);
	$node->poll_query_until('postgres',
		"SELECT sum(jobs) > 4 FROM gpusort_stat WHERE engine = '$engine_kind' AND fallback IS NULL");
	$node->promote;
	$run->finish;
	is($run->result(0), 0, 'promoted while sorts ran, and all were right') or diag($err);
	like($out, qr{number of transactions actually processed: 4(/4)?$}m, 'in all sessions');
	is($node->safe_psql('postgres', 'SELECT pg_is_in_recovery()'), 'f', 'a primary');
	like(explain_sort($node, 'gpu'), qr/Engine: $engine_name/, 'which sorts on its service');
	is(service_pids($node), 1, 'still the one');
	# pg_rewind looks at the timeline in the control file
	$node->safe_psql('postgres', 'CHECKPOINT');
}

# What both have in common ends; each goes its own way.
sub diverge
{
	my ($old, $new) = @_;

	$_->safe_psql('postgres', "INSERT INTO story VALUES ('" . $_->name . "')") foreach $old, $new;
	$old->safe_psql('postgres', 'DELETE FROM t WHERE i % 7 = 0');
}

# Makes a server follow another one by pg_rewind, with the configuration that it has.
sub rewind_to
{
	my ($node, $primary, $how) = @_;
	my $conf = $node->data_dir . '/postgresql.conf';
	my $kept = $node->basedir . '/postgresql.conf';

	copy($conf, $kept) or die;
	command_ok([ 'pg_rewind', '--debug', '--target-pgdata', $node->data_dir, @$how ],
		'pg_rewind of ' . $node->name);
	copy($kept, $conf) or die;
	$node->enable_streaming($primary);
}

# Is this server a standby that has what the primary has, and sorts?
sub follows
{
	my ($node, $primary) = @_;

	$primary->wait_for_catchup($node, 'replay', $primary->lsn('insert'));
	is($node->safe_psql('postgres', 'SELECT pg_is_in_recovery(), string_agg(chapter, $$ $$) FROM story'),
		't|' . $primary->safe_psql('postgres', 'SELECT string_agg(chapter, $$ $$) FROM story'), 'it follows');
	is(digest($node, 'gpu'), $right, 'sorts rows as they are');
	like(explain_sort($node, 'gpu'), qr/Engine: $engine_name/, 'on its service');
	is(service_pids($node), 1, 'of which it has one');
}

# The old primary is shut down; the new one is up, and so is its service.
promote_under_load($second);
diverge($first, $second);
$first->stop('fast');
is(service_pids($second), 1, 'the service of the source runs');
rewind_to($first, $second, [ '--source-server', $second->connstr('postgres') ]);
is_deeply([ leftovers($first) ], [], 'no file of the source\'s service came along');
$first->start;
follows($first, $second);

# Back again; this time the old primary crashes, and its service's files are still there when pg_rewind comes.
promote_under_load($first);
diverge($second, $first);
like(explain_sort($second, 'gpu'), qr/Engine: $engine_name/, 'the one that will crash sorts');
power_failure($second);
is_deeply([ sort(leftovers($second)) ], \@both, 'socket and lock are left');
is(service_pids($first), 1, 'the service of the source runs');
rewind_to($second, $first, [ '--source-server', $first->connstr('postgres') ]);
$second->start;
follows($second, $first);

# From a directory instead of a server: the source has crashed, and its service's files are there.
$second->promote;
$second->safe_psql('postgres', 'CHECKPOINT');
diverge($first, $second);
like(explain_sort($second, 'gpu'), qr/Engine: $engine_name/, 'the promoted one sorts');
$first->stop('fast');
power_failure($second);
my $source = $second->data_dir;
my $said;
ok(IPC::Run::run([ 'postgres', '--single', '-D', $source, 'template1' ], '<', \'', '>&', \$said), 'the source recovers')
	or diag($said);
is_deeply([ sort(leftovers($second)) ], \@both, 'with what a crash left');
rewind_to($first, $second, [ '--source-pgdata', $source ]);
is_deeply([ leftovers($first) ], [], 'which did not come along');
$second->start;
$first->start;
follows($first, $second);
is(digest($second, 'gpu'), $right, 'and so does the source');
sound($_) foreach $first, $second;
$_->stop('fast') foreach $first, $second;
is_deeply([ map { leftovers($_) } $first, $second ], [], 'nothing lies around');
done_testing();
