# Copies of a data directory whose service runs, or ran when the server crashed: base backups, cp, tar, rsync,
# pg_checksums, pg_upgrade.  Each works, and a server that starts on the copy has a service of its own.
# tags: service
use strict;
use warnings;

use GpuSortService;
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my @both = ('pgsql_tmp_gpusort', 'pgsql_tmp_gpusort.lock');
my @init = (allows_streaming => 1, extra => [ '--data-checksums', '--no-locale', '--encoding=UTF8' ]);
my $origin = service_node('origin', '', "shared_preload_libraries = 'gpusort'\nautovacuum = off\n", @init);
make_table($origin, 20000);
my $right = digest($origin, 'cpu');
my $said;
my ($original) = service_pids($origin);
ok($original, 'the service runs');
my $there = $origin->data_dir;

# Starts a server that has been given a copy's files: it sorts, on a service of its own.
sub sorts
{
	my ($node, $name) = @_;

	$node->start;
	like(explain_sort($node, 'gpu'), qr/Engine: $engine_name/, "$name: its service sorts");
	is(digest($node, 'gpu'), $right, "$name: right");
	is(service_pids($node), 1, "$name: a service of its own");
	is_deeply([ sort(leftovers($node)) ], \@both, "$name: with socket and lock");
}

# A server to be, whose directory is made by copying.
sub future_node
{
	my ($name) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);

	mkdir $_ foreach $node->basedir, $node->data_dir;
	chmod 0700, $node->data_dir;
	return $node;
}

# Gives a copy the settings that are its own.
sub settle
{
	my ($node) = @_;

	$node->append_conf('postgresql.conf', 'port = ' . $node->port);
	unlink $node->data_dir . '/postmaster.pid', $node->data_dir . '/postmaster.opts';
}

# What pg_basebackup copies.
my $plain = PostgreSQL::Test::Cluster->new('plain');
$origin->backup('plain');
my $backup = $origin->backup_dir . '/plain';
is_deeply([ glob("$backup/pg_stat_tmp/*") ], [], 'a base backup has no file of the service');
command_ok([ 'pg_verifybackup', $backup ], 'and is what it says');
$plain->init_from_backup($origin, 'plain');
sorts($plain, 'base backup');
$plain->stop;
my $tars = $origin->backup_dir . '/tar';
$origin->command_ok(
	[
		'pg_basebackup', '-D', $tars, '-F', 't', '-h', $origin->host, '-p', $origin->port,
		'--checkpoint', 'fast', '--no-sync'
	],
	'a base backup as tar');
my ($names) = run_command([ 'tar', '-tf', "$tars/base.tar" ]);
like($names, qr{^(\./)?PG_VERSION$}m, 'which can be read');
unlike($names, qr/gpusort/, 'has no file of the service either');

# What copies files: the socket comes along, or is passed over with a word about it.
my %ways = (
	cp => sub { "cp -a '$_[0]/.' '$_[1]'" },
	tar => sub { "tar -C '$_[0]' -cf - . | tar -C '$_[1]' -xf -" });
$ways{rsync} = sub { "rsync -a '$_[0]/' '$_[1]'" } if system('rsync --version >/dev/null 2>&1') == 0;

# Copies while the server runs, by the steps of the manual for file copies.
foreach my $way (sort keys %ways)
{
	my $node = future_node("live_$way");
	my $session = $origin->background_psql('postgres');

	$session->query_safe("SET client_min_messages = warning; SELECT pg_backup_start('$way', true)");
	my $command = $ways{$way}->($there, $node->data_dir);
	ok(IPC::Run::run([ 'sh', '-c', $command ], '>&', \$said), "$way copies the directory of a server that runs")
		or diag($said);
	my $label = $session->query_safe('SELECT labelfile FROM pg_backup_stop()');
	$session->quit;
	command_ok([ 'cp', '-a', "$there/pg_wal/.", $node->data_dir . '/pg_wal' ], "$way: log");
	append_to_file($node->data_dir . '/backup_label', "$label\n");
	settle($node);
	sorts($node, "$way, live");
	$node->stop;
	is_deeply([ leftovers($node) ], [], "$way: nothing lies around");
}
is_deeply([ service_pids($origin) ], [$original], 'the original\'s service did not mind');

# A crash leaves socket and lock; the copies have them, or the lock alone.
power_failure($origin);
is_deeply([ sort(leftovers($origin)) ], \@both, 'a crash leaves socket and lock');
foreach my $way (sort keys %ways)
{
	my $node = future_node("crashed_$way");
	my $command = $ways{$way}->($there, $node->data_dir);
	ok(IPC::Run::run([ 'sh', '-c', $command ], '>&', \$said), "$way copies what a crash left") or diag($said);
	settle($node);
	sorts($node, "$way, crashed");
	$node->stop;
	is_deeply([ leftovers($node) ], [], "$way: nothing lies around");
}

# The same server comes back; after that nothing but the service's files tells of a second crash.
sorts($origin, 'recovered');
power_failure($origin);
ok(IPC::Run::run([ 'postgres', '--single', '-D', $there, 'template1' ], '<', \'', '>&', \$said), 'recovery alone')
	or diag($said);
is_deeply([ sort(leftovers($origin)) ], \@both, 'leaves them');
command_ok([ 'pg_checksums', '--check', '-D', $there ], 'pg_checksums passes over them');

# pg_upgrade, with the library loaded into both servers, into a directory of the same version.
my $upgraded = PostgreSQL::Test::Cluster->new('upgraded');
$upgraded->init(@init);
$upgraded->append_conf('postgresql.conf', <<"CONF");
shared_preload_libraries = 'gpusort'
session_preload_libraries = 'gpusort'
gpusort.min_rows = 0
gpusort.service_options = '--engine=$engine'
gpusort.timeout = $timeout
max_parallel_workers_per_gather = 0
jit = off
CONF
my $bin = $origin->config_data('--bindir');
chdir $upgraded->basedir or die;
command_ok(
	[
		'pg_upgrade', '--no-sync', '-d', $there, '-D', $upgraded->data_dir, '-b', $bin, '-B', $bin,
		'-s', $upgraded->host, '-p', $origin->port, '-P', $upgraded->port
	],
	'pg_upgrade');
is_deeply([ leftovers($upgraded) ], [], 'takes none of them along');
sorts($upgraded, 'upgraded');
$upgraded->stop;

# A directory without the folder, as restored from a backup that leaves it out; and with what 0.1.0 left in another
# place.
rmdir $upgraded->data_dir . '/pg_stat_tmp' or die;
append_to_file($upgraded->data_dir . '/pgsql_tmp_gpusort', '');
append_to_file($upgraded->data_dir . '/pgsql_tmp_gpusort.lock', '');
sorts($upgraded, 'without the folder');
sound($_) foreach $origin, $upgraded;
$upgraded->stop;
is_deeply([ leftovers($upgraded) ], [], 'nothing lies around');
done_testing();
