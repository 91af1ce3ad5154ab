# The ways to load the library, and who may set what.
use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $plan = 'EXPLAIN (COSTS OFF) SELECT i FROM t ORDER BY i';
my $rows = 'SELECT sum(i) FROM (SELECT i FROM t ORDER BY i OFFSET 10) x';
my ($out, $err);

my $node = PostgreSQL::Test::Cluster->new('loading');
$node->init;
$node->start;
$node->safe_psql('postgres', 'CREATE TABLE t AS SELECT i FROM generate_series(1, 20000) i; ANALYZE t');
$node->safe_psql('postgres', 'CREATE ROLE ordinary LOGIN; GRANT SELECT ON t TO ordinary');

# LOAD, without an extension
like($node->safe_psql('postgres', "LOAD 'gpusort'; $plan"), qr/Custom Scan \(GpuSort\)/, 'LOAD');
like($node->safe_psql('postgres', "$rows; LOAD 'gpusort'; LOAD 'gpusort'; $rows"),
	qr/^200009945\n200009945$/, 'LOAD in the middle of a session, and again');
like($node->safe_psql('postgres', "SET gpusort.enabled = off; LOAD 'gpusort'; SHOW gpusort.enabled"),
	qr/^off$/m, 'a setting made before LOAD holds');
unlike($node->safe_psql('postgres', "SET gpusort.enabled = off; LOAD 'gpusort'; $plan"), qr/GpuSort/, 'and works');

# a plan made before the library came, and one that outlives it being switched off
$out = $node->safe_psql('postgres', <<"SQL");
PREPARE q AS SELECT i FROM t ORDER BY i;
EXPLAIN (COSTS OFF) EXECUTE q;
LOAD 'gpusort';
EXPLAIN (COSTS OFF) EXECUTE q;
SQL
like($out, qr/Sort/, 'prepared before LOAD');

# by role
$node->safe_psql('postgres', q(ALTER ROLE ordinary SET session_preload_libraries = 'gpusort'));
$out = $node->safe_psql('postgres', $plan, extra_params => [ '-U', 'ordinary' ]);
like($out, qr/Custom Scan \(GpuSort\)/, 'session_preload_libraries of a role without rights');
$node->safe_psql('postgres', "SET gpusort.enabled = off; SET gpusort.work_mem = '1MB'; SET gpusort.min_rows = 0; $rows",
	extra_params => [ '-U', 'ordinary' ]);
pass('an ordinary user may set the settings');
unlike($node->safe_psql('postgres', $plan), qr/GpuSort/, 'other roles have no part in it');

# unknown names of ours are refused once the library is there
$node->psql('postgres', "LOAD 'gpusort'; SET gpusort.enable = on", stderr => \$err);
like($err, qr/invalid configuration parameter name|unrecognized configuration parameter/, 'the prefix is reserved');
$node->psql('postgres', "LOAD 'gpusort'; SET gpusort.work_mem = '10kB'", stderr => \$err);
like($err, qr/invalid value/, 'too little memory is refused');

# whole server, with another planner hook around it
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'gpusort,auto_explain,pg_stat_statements'\n");
$node->restart;
like($node->safe_psql('postgres', $plan), qr/Custom Scan \(GpuSort\)/, 'shared_preload_libraries');
is($node->safe_psql('postgres', $rows), '200009945', 'among other libraries');
$node->safe_psql('postgres', 'CREATE EXTENSION pg_stat_statements');
$node->safe_psql('postgres', $rows);
is( $node->safe_psql('postgres', q(SELECT calls > 0 FROM pg_stat_statements WHERE query LIKE '%ORDER BY i OFFSET%')),
	't', 'their hooks still run');
$out = $node->safe_psql('postgres', "LOAD 'gpusort'; $plan");
like($out, qr/Custom Scan \(GpuSort\)/, 'LOAD on top does no harm');
$node->stop;
done_testing();
