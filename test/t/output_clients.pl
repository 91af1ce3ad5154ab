# Rows that gpusort writes for the client, as drivers read them: psql, psycopg, psycopg2, asyncpg and JDBC, each where
# it is installed.
# tags: slow
use strict;
use warnings;

use File::Basename;
use GpuSortTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_node('output_clients', "listen_addresses = '127.0.0.1'\n",
	extra => [ '--encoding=UTF8', '--no-locale' ]);
my $library = $node->basedir . '/loud.so';
my $folder = dirname(__FILE__) . '/../output';
build_library($library, 'output/loud.c', '-I' . $node->config_data('--includedir-server'));
$node->safe_psql('postgres', slurp_file("$folder/tables.sql"), extra_params => [ '-v', "library=$library" ]);
$node->safe_psql('postgres',
	"CREATE TABLE many AS SELECT i, repeat('x', 50) t, i / 7.0 n FROM generate_series(1, 30000) i");

# Runs a client with the output off and on, whose setting is put in the place of OUTPUT, and compares what it prints.
sub same
{
	my ($name, @command) = @_;
	my %said;
	my $fine = 1;

	for my $mode ('off', 'on')
	{
		my $errors;
		$fine &&= IPC::Run::run([ map { s/OUTPUT/$mode/r } @command ], '>', \$said{$mode}, '2>', \$errors);
		diag $errors if !$fine;
	}
	SKIP:
	{
		skip "$name is not installed", 1 if $fine && $said{off} eq '' && $said{on} eq '';
		ok($fine && $said{off} eq $said{on}, "$name reads the same: " . ($said{off} =~ tr/\n//) . ' lines')
			or diag "off:\n$said{off}\non:\n$said{on}";
	}
	return;
}

my $psql = join "\n", map { ("SELECT * FROM $_ ORDER BY id;", "COPY (SELECT * FROM $_ ORDER BY id) TO STDOUT;") }
	'integers_', 'numerics', 'floats', 'times', 'texts', 'others', 'changed';
append_to_file($node->basedir . '/queries.sql', $psql);
for my $fetch (0, 7)
{
	same("psql, FETCH_COUNT $fetch", 'env', 'PGOPTIONS=-c gpusort.output=OUTPUT', 'psql', '-X', '-d',
		$node->connstr('postgres'), '-v', "FETCH_COUNT=$fetch", '-f', $node->basedir . '/queries.sql');
}

# the first of these has a distribution's packages
my ($python) = grep { -x } '/usr/bin/python3', map { "$_/python3" } split /:/, $ENV{PATH};
for my $driver ('psycopg', 'psycopg2', 'asyncpg')
{
	same($driver, $python // 'false', "$folder/clients.py", $driver, $node->host, $node->port, 'OUTPUT');
}
my ($jar) = grep { -e } '/usr/share/java/postgresql.jar', '/usr/share/java/postgresql-jdbc/postgresql.jar';
SKIP:
{
	skip 'JDBC is not installed', 1 unless $jar && system('java -version >/dev/null 2>&1') == 0;
	same('JDBC', 'java', '-cp', $jar, "$folder/Client.java", $node->port, 'OUTPUT');
}

$node->stop;
done_testing();
