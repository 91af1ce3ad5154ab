# From a stock server to a later session whose plans show GpuSort, by what CREATE EXTENSION says.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $plan = 'EXPLAIN (COSTS OFF) SELECT i FROM generate_series(1, 100000) i ORDER BY i';
my ($out, $err);

my $node = PostgreSQL::Test::Cluster->new('stock');
$node->init;
$node->start;

unlike($node->safe_psql('postgres', $plan), qr/GpuSort/, 'a stock server sorts by itself');

$node->psql('postgres', "CREATE TABLE t AS SELECT i FROM generate_series(1, 100000) i; ANALYZE t");
$node->psql('postgres', "CREATE EXTENSION gpusort;\nEXPLAIN (COSTS OFF) SELECT i FROM t ORDER BY i",
	stdout => \$out, stderr => \$err);
like($err, qr/NOTICE:.*this session only/, 'CREATE EXTENSION says that it works for its session');
like($out, qr/Custom Scan \(GpuSort\)/, 'CREATE EXTENSION works for its session');

$out = $node->safe_psql('postgres', 'EXPLAIN (COSTS OFF) SELECT i FROM t ORDER BY i');
unlike($out, qr/GpuSort/, 'not yet in the next session');

my ($line) = $err =~ /(ALTER DATABASE .*?;)/;
is($line, "ALTER DATABASE postgres SET session_preload_libraries = 'gpusort';", 'the one line');
$node->safe_psql('postgres', $line);
$out = $node->safe_psql('postgres', 'EXPLAIN (COSTS OFF) SELECT i FROM t ORDER BY i');
like($out, qr/Custom Scan \(GpuSort\)/, 'after the line, in a new session');
is($node->safe_psql('postgres', 'SELECT sum(i) FROM (SELECT i FROM t ORDER BY i DESC LIMIT 99999) x'),
	'5000049999', 'and it sorts');

# said once: nothing to say where the library is loaded anyway
$node->psql('postgres', 'DROP EXTENSION gpusort; CREATE EXTENSION gpusort', stderr => \$err);
unlike($err, qr/NOTICE/, 'silent when preloaded');

# libraries that are there already stay, names of databases are quoted
$node->safe_psql('postgres', 'CREATE DATABASE "Odd name"');
$node->safe_psql('postgres', q(ALTER DATABASE "Odd name" SET session_preload_libraries = 'auto_explain'));
$node->psql('Odd name', 'CREATE EXTENSION gpusort', stderr => \$err);
($line) = $err =~ /(ALTER DATABASE .*?;)/;
is($line, q(ALTER DATABASE "Odd name" SET session_preload_libraries = 'auto_explain', 'gpusort';), 'libraries stay');
$node->safe_psql('Odd name', $line);
is($node->safe_psql('Odd name', 'SHOW session_preload_libraries'), 'auto_explain, gpusort', 'a list of two');
is($node->safe_psql('Odd name', 'SHOW gpusort.enabled'), 'on', 'both are loaded');

$node->append_conf('postgresql.conf', "shared_preload_libraries = 'gpusort'");
$node->safe_psql('postgres', 'ALTER DATABASE postgres RESET session_preload_libraries');
$node->restart;
$node->psql('postgres', 'DROP EXTENSION gpusort; CREATE EXTENSION gpusort', stderr => \$err);
unlike($err, qr/NOTICE/, 'silent under shared_preload_libraries');
$node->stop;
done_testing();
