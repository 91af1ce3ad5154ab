# The extension in a schema of the user's choice, moved to another one, and in one where others have laid traps.
# tags: service
use strict;
use warnings;

use FindBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('extension');
$node->init(extra => [ '--locale=C.UTF-8', '--encoding=UTF8' ]);
$node->start;
my ($out, $err);

# Traps: whatever the scripts call or might call, for arguments that fit better than PostgreSQL's own functions and
# operators.  A role without rights can lay them wherever it may create functions, and a superuser that creates the
# extension there would fall in.
my $scripts = join '', map { slurp_file($_) } glob "$FindBin::Bin/../../sql/*.sql";
my %called = map { $_ => 1 } $scripts =~ /\b([a-z_]+)\s*\(/g;
my $names = join ', ', map { "'$_'" } sort grep { !/^gpu/ } keys %called;
cmp_ok(scalar keys %called, '>', 20, 'the scripts call functions');
$node->safe_psql('postgres', 'CREATE ROLE mallory LOGIN; CREATE SCHEMA open AUTHORIZATION mallory');
$node->safe_psql('postgres', <<"SQL", extra_params => [ '-U', 'mallory' ]);
DO \$do\$
DECLARE
	name text;
	arguments text;
	trap constant text := 'LANGUAGE plpgsql AS \$\$ BEGIN RAISE ''a trap''; END \$\$';
BEGIN
	FOR name, arguments IN SELECT DISTINCT proname, list FROM pg_proc,
		unnest('{name,text,text[],"text,text","text[],text","text,text[]","name,text","text,text,text",
			"text,text,text,text","text,text,boolean"}'::text[]) AS list
		WHERE pronamespace = 'pg_catalog'::regnamespace AND proname IN ($names)
	LOOP
		EXECUTE format('CREATE FUNCTION open.%I(%s) RETURNS text %s', name, arguments, trap);
	END LOOP;
	CREATE FUNCTION open.trap(text[], text) RETURNS text[] LANGUAGE plpgsql AS \$\$ BEGIN RAISE 'a trap'; END \$\$;
	CREATE FUNCTION open.trap(text, text) RETURNS boolean LANGUAGE plpgsql AS \$\$ BEGIN RAISE 'a trap'; END \$\$;
	CREATE OPERATOR open.|| (FUNCTION = open.trap, LEFTARG = text[], RIGHTARG = text);
	FOR name IN SELECT DISTINCT oprname FROM pg_operator WHERE oprname <> '||' AND oprleft = 'text'::regtype LOOP
		EXECUTE format('CREATE OPERATOR open.%s (FUNCTION = open.trap, LEFTARG = text, RIGHTARG = text)', name);
	END LOOP;
END
\$do\$
SQL
is($node->safe_psql('postgres', "SELECT count(*) > 50 FROM pg_proc WHERE pronamespace = 'open'::regnamespace"), 't',
	'traps are laid');
$node->psql('postgres', 'SET search_path = open, pg_catalog; SELECT unnest(ARRAY[1]::text[])', stderr => \$err);
like($err, qr/a trap/, 'and work');
$node->psql('postgres', 'CREATE EXTENSION gpusort SCHEMA open', stderr => \$err);
like($err, qr/NOTICE:.*this session only/, 'the extension is created all the same');
unlike($err, qr/ERROR|a trap/, 'and calls none of them');

# In its schema, and after it has moved: every function is found by its name alone, and finds what it needs.
my %asks = (
	'gpu_rle(x, x)' => '{"(1,2,1)","(2,1,3)"}',
	'gpu_percentile_disc(x, 0.5)' => '1',
	'(SELECT max(r) FROM (SELECT %s.gpu_run_id(y) OVER (ORDER BY y) AS r FROM unnest(array_agg(x)) AS y)
		AS runs)' => '2',
	'(SELECT array_agg(r) FROM %s.gpu_reduce_by_key(array_agg(x), array_agg(x)) AS r)' => '{"(1,2)","(2,2)"}',
	'count(*) + (SELECT count(*) FROM %s.gpusort_stat WHERE jobs < 0)' => '3');
foreach my $schema ('open', 'elsewhere')
{
	$node->safe_psql('postgres', 'CREATE SCHEMA elsewhere; ALTER EXTENSION gpusort SET SCHEMA elsewhere') if $schema
		ne 'open';
	foreach my $ask (sort keys %asks)
	{
		my $call = $ask =~ /^gpu/ ? "$schema.$ask" : sprintf($ask, $schema);
		is($node->safe_psql('postgres', "SELECT $call FROM unnest('{1,1,2}'::int[]) AS x"), $asks{$ask}, $call);
	}
}
is($node->safe_psql('postgres',
	"SELECT count(*) FROM pg_type WHERE typname LIKE 'gpu\\_rle%' AND typnamespace <> 'elsewhere'::regnamespace"),
	'0', 'types have moved, too');

# What stands on it is not dropped unasked.
$node->safe_psql('postgres', "CREATE TABLE t AS SELECT i, elsewhere.gpu_sort(ARRAY[i]) AS a FROM generate_series(1,
	20000) AS i; ANALYZE t;
	CREATE VIEW uses AS SELECT elsewhere.gpu_median(i) FROM t");
$node->psql('postgres', 'DROP EXTENSION gpusort', stderr => \$err);
like($err, qr/other objects depend on it/, 'a view keeps the extension from being dropped');
$node->safe_psql('postgres', 'DROP VIEW uses');

# Nothing stays behind: rows are as they were, a session with the library goes on, and settings without it do no harm.
my $plan = 'EXPLAIN (COSTS OFF) SELECT * FROM t ORDER BY i';
like($node->safe_psql('postgres', "LOAD 'gpusort'; DROP EXTENSION gpusort; $plan"), qr/GpuSort/,
	'a session goes on after the drop');
is($node->safe_psql('postgres', q(SELECT count(*) FROM pg_proc WHERE proname LIKE 'gpu%' OR probin LIKE '%gpusort%')),
	'0', 'dropped');
$node->safe_psql('postgres',
	"ALTER DATABASE postgres SET gpusort.min_rows = 5; ALTER ROLE mallory SET gpusort.enabled = off");
$node->append_conf('postgresql.conf', "gpusort.work_mem = '1MB'\ngpusort.timeout = '5s'\n");
$node->restart;
unlike($node->safe_psql('postgres', $plan), qr/GpuSort/, 'without the library the sort is PostgreSQL\'s');
is($node->safe_psql('postgres', 'SELECT 1', extra_params => [ '-U', 'mallory' ]), '1',
	'nor does a setting of a role keep it out');
is($node->safe_psql('postgres', 'SELECT sum(i), sum(a[1]) FROM t'), '200010000|200010000', 'and rows are as they were');
$node->stop;
done_testing();
