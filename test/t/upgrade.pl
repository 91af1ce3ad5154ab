# Releases: what an older version of the extension becomes by ALTER EXTENSION UPDATE is what a new installation makes,
# to the last column of the catalogs; what users have built on it stays; and an older version that nobody has updated
# works with this library.
use strict;
use warnings;

use Digest::SHA;
use FindBin;
use GpuSortService;
use GpuSortTest;
use JSON::PP;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $tree = "$FindBin::Bin/../..";

# Scripts of earlier versions never change: databases exist that ran them.  That of 0.1.0 lost a LOAD, which left
# nothing in a database and did not find the library where PostgreSQL 18 looks for it.
my %frozen = (
	'gpusort--0.1.0.sql' => 'b011e6b9927774aff0055530825cf2da83c6828121b2078d08ae569d86f31fe7',
	'gpusort--0.1.0--0.2.0.sql' => '744036d468d2e7242b92d6c5dbbe4d6b72348c5f26ef3ce38bdc88f908fb2967');

my ($current) = slurp_file("$tree/gpusort.control") =~ /^default_version = '(.*)'$/m;
my %leads_to = map { m{/(gpusort--(?:.*--)?([^-]+)\.sql)$} ? ($2 => $1) : () } glob "$tree/sql/*.sql";
my @versions = sort grep { $_ ne $current } keys %leads_to;
ok($leads_to{$current}, 'a script leads to the current version');
is_deeply([ sort @leads_to{@versions} ], [ sort keys %frozen ], 'every earlier version can be installed');
is(Digest::SHA->new(256)->addfile("$tree/sql/$_")->hexdigest, $frozen{$_}, "$_ is as databases have run it")
	for sort keys %frozen;

my $meta = decode_json(slurp_file("$tree/META.json"));
is($meta->{version}, $current, 'META.json is of the version that is installed');
is($meta->{provides}{gpusort}{version}, $current, 'and provides it');
ok(-e "$tree/$meta->{provides}{gpusort}{$_}", "its $_ is there") for 'file', 'docfile';
ok(exists $meta->{resources}{$_}, "META.json has room for $_, which the publisher fills in") for 'homepage',
	'repository', 'bugtracker';
for my $file ('README.md', 'doc/install.md', 'doc/administration.md')
{
	my $text = slurp_file("$tree/$file");
	like($text, qr/\]\((\.\.\/)?META\.json\)/, "$file refers to it");
	unlike($text, qr{https?://|mailto:}, 'and has no address of its own');
}
my ($command) = slurp_file("$tree/doc/administration.md") =~ /`([^`]*gpusortd" --version)`/;
like(`$command 2>&1`, qr/^gpusortd \(gpusort\) \Q$current\E\b/,
	"$command, as the documentation has it, tells the version");
like(slurp_file("$tree/CHANGELOG.md"), qr/^## \Q$current\E\b/m, 'CHANGELOG.md knows the version');

# Describes all objects of the extension, and all that belong to them, by their rows in the catalogs: a line for each
# with its identity and JSON.  OIDs become names, expressions their SQL.
my $describe = <<'SQL';
CREATE SCHEMA look;
CREATE FUNCTION look.identity(class oid, object oid) RETURNS text STRICT LANGUAGE sql AS
'SELECT coalesce(type || '' '' || identity, object::text) FROM pg_identify_object(class, object, 0)';
CREATE FUNCTION look.named(class oid, line jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
	link record;
	name text;
BEGIN
	line := line - 'oid';
	FOR name IN SELECT attname FROM pg_attribute WHERE attrelid = class AND atttypid = 'pg_node_tree'::regtype LOOP
		line := line - name;
	END LOOP;
	FOR link IN SELECT fkcols[1] AS col, pktable, is_array FROM pg_get_catalog_foreign_keys()
				WHERE fktable = class AND cardinality(fkcols) = 1 AND pkcols = '{oid}' LOOP
		line := jsonb_set(line, ARRAY[link.col], coalesce(to_jsonb(
			(SELECT array_agg(CASE WHEN oid ~ '^[1-9][0-9]*$' THEN look.identity(link.pktable, oid::oid) ELSE oid END
				ORDER BY place)
			 FROM regexp_split_to_table(btrim(line ->> link.col, '{}[]"'), '[ ,"]+') WITH ORDINALITY
				AS list (oid, place))), 'null'));
	END LOOP;
	RETURN line;
END
$$;
CREATE FUNCTION look.lines(class regclass, col name, object oid) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
	result jsonb;
BEGIN
	EXECUTE format('SELECT jsonb_agg(line ORDER BY (line ->> ''attnum'')::int, line)
		FROM (SELECT look.named(%s, to_jsonb(t)) AS line FROM %s AS t WHERE %I = %s) AS t',
				   class::oid, class, col, object) INTO result;
	RETURN result;
END
$$;
CREATE FUNCTION look.describe() RETURNS TABLE (object text, description jsonb) LANGUAGE sql AS $$
	WITH RECURSIVE objects (class, oid) AS (
		SELECT classid, objid FROM pg_depend
		WHERE refclassid = 'pg_extension'::regclass AND refobjid = (SELECT oid FROM pg_extension
			WHERE extname = 'gpusort') AND deptype = 'e'
		UNION
		SELECT classid, objid FROM pg_depend JOIN objects ON refclassid = class AND refobjid = oid
			AND deptype IN ('i', 'a'))
	SELECT look.identity(class, oid), jsonb_build_object(
		'row', look.lines(class::regclass, 'oid', oid),
		'columns', CASE WHEN class = 'pg_class'::regclass THEN look.lines('pg_attribute', 'attrelid', oid) END,
		'aggregate', CASE WHEN class = 'pg_proc'::regclass THEN look.lines('pg_aggregate', 'aggfnoid', oid) END,
		'labels', CASE WHEN class = 'pg_type'::regclass THEN look.lines('pg_enum', 'enumtypid', oid) END,
		'range', CASE WHEN class = 'pg_type'::regclass THEN look.lines('pg_range', 'rngtypid', oid) END,
		'index', CASE WHEN class = 'pg_class'::regclass THEN look.lines('pg_index', 'indexrelid', oid) END,
		'definition', CASE class WHEN 'pg_rewrite'::regclass THEN pg_get_ruledef(oid)
			WHEN 'pg_constraint'::regclass THEN pg_get_constraintdef(oid)
			WHEN 'pg_proc'::regclass THEN
				CASE WHEN (SELECT prokind = 'a' FROM pg_proc AS p
					WHERE p.oid = objects.oid) THEN pg_get_function_arguments(oid)
				ELSE pg_get_functiondef(oid) END END,
		'comments', (SELECT jsonb_agg(objsubid || ': ' || d.description ORDER BY objsubid) FROM pg_description AS d
			WHERE classoid = class AND objoid = oid),
		'privileges', (SELECT jsonb_agg(concat_ws(' ', objsubid, privtype::text, initprivs::text) ORDER BY objsubid)
			FROM pg_init_privs AS p
					   WHERE p.classoid = class AND p.objoid = oid),
		'depends', (SELECT jsonb_agg(line ORDER BY line) FROM (SELECT concat_ws(' ', objsubid, deptype::text,
			pg_describe_object(refclassid, refobjid, refobjsubid))
					AS line FROM pg_depend WHERE classid = class AND objid = oid) AS t))
	FROM objects
$$;
SQL

# Objects of a database: identity => description.  Names of TOAST tables have the OIDs of their tables.
sub objects
{
	my ($node, $database) = @_;
	my $json = JSON::PP->new->canonical->utf8;
	return map {
		my ($object, $text) = split /\t/, s/\bpg_toast_\d+/pg_toast_n/gr, 2;
		$object => $json->decode($text)
	} split /\n/,
		$node->safe_psql($database, 'SELECT object, description FROM look.describe()', extra_params => [ '-F', "\t" ]);
}

# A description's values by their places in it.
sub leaves
{
	my ($value, $place) = @_;
	return map { leaves($value->{$_}, "$place $_") } keys %$value if ref $value eq 'HASH';
	return map { leaves($value->[$_], "$place $_") } 0 .. $#$value if ref $value eq 'ARRAY';
	return ($place => $value // 'NULL');
}

# How two databases differ: a line for each value, but for those that the server gives anew to each object (PostgreSQL
# 15.20 marks columns by a random number), as it did in another new installation.
my %random;
sub differences
{
	my ($node, $one, $other) = @_;
	my %one = leaves({ objects($node, $one) }, '');
	my %other = leaves({ objects($node, $other) }, '');

	return map { "$_: " . ($one{$_} // 'nothing') . ' and ' . ($other{$_} // 'nothing') }
	  grep { !$random{$_} && ($one{$_} // '') ne ($other{$_} // '') } sort keys %{ { %one, %other } };
}

# The service runs, on its CPU engine, so that both views have lines.
my $node = service_node('upgrade', '', "shared_preload_libraries = 'gpusort'\ngpusort.engine = gpu\n");
sub database
{
	my ($name, $version) = @_;
	$node->safe_psql('postgres', "CREATE DATABASE $name");
	$node->safe_psql($name, "$describe; CREATE SCHEMA ext; CREATE EXTENSION gpusort SCHEMA ext VERSION '$version'");
	return;
}

database('fresh', $current);
my %fresh = objects($node, 'fresh');
cmp_ok(scalar keys %fresh, '>', 100, 'a new installation has objects');
is(scalar(grep { !$_->{row}[0] || @{ $_->{row} } != 1 } values %fresh), 0, 'and each has its row');
my ($sort) = grep { /^function ext\.gpu_sort\(/ } sort keys %fresh;
like($fresh{$sort}{row}[0]{prorettype}[0], qr/anyarray/, 'with names for OIDs');
database('again', $current);
%random = map { (split /: /)[0] => 1 } differences($node, 'fresh', 'again');
is_deeply([ grep { !/ columns \d+ att| rel(filenode|frozenxid|minmxid)$/ } keys %random ], [],
	'two new installations differ in nothing but marks of columns and files');

# A user's objects on all kinds of the extension's, and rights.
my $uses = <<'SQL';
SET search_path = public, ext;
CREATE VIEW busy AS SELECT d.device, d.service, s.op, s.jobs FROM gpusort_devices AS d, gpusort_stat AS s;
CREATE TABLE runs (machine int, runs gpu_rle_int4[], numbers int[]);
CREATE INDEX ON runs ((gpu_sort(numbers)));
CREATE VIEW medians AS SELECT machine, gpu_median(machine) AS m, gpu_rle(machine) AS r FROM runs GROUP BY machine;
CREATE FUNCTION latest() RETURNS gpu_rle_int4 LANGUAGE sql AS 'SELECT runs[1] FROM runs';
INSERT INTO runs SELECT 1, gpu_rle(i), array_agg(i) FROM unnest('{3,3,1}'::int[]) AS i;
GRANT EXECUTE ON FUNCTION gpusort_stat_reset() TO operator;
SQL
$node->safe_psql('postgres', 'CREATE ROLE operator LOGIN');

for my $version (@versions)
{
	my $name = $version =~ s/\W/_/gr;

	database("upgraded_$name", $version);
	$node->safe_psql("upgraded_$name", 'ALTER EXTENSION gpusort UPDATE');
	is_deeply([ differences($node, 'fresh', "upgraded_$name") ], [], "$version updated is like a new installation");

	database("used_$name", $version);
	$node->safe_psql("used_$name", "$uses; ALTER EXTENSION gpusort UPDATE");
	is($node->safe_psql("used_$name", 'SELECT count(*) >= 0 FROM busy'), 't',
		"after the update from $version a view on the views works");
	is($node->safe_psql("used_$name", 'SELECT m, r, (latest()).* FROM medians'), '1|{"(1,1,1)"}|3|2|1',
		'views and functions on the types do');
	is($node->safe_psql("used_$name",
		'GRANT USAGE ON SCHEMA ext TO operator; SET ROLE operator; SELECT ext.gpusort_stat_reset()'), '',
		'who was let reset the counters still is');
}

# The comparison must see what it is there for.
for (
	[ 'ALTER FUNCTION ext.gpu_sort(anyarray, boolean) COST 7', qr/gpu_sort/ ],
	[ "COMMENT ON VIEW ext.gpusort_stat IS 'other'", qr/gpusort_stat comments/ ],
	[ 'GRANT EXECUTE ON FUNCTION ext.gpusort_stat_reset() TO PUBLIC', qr/gpusort_stat_reset/ ],
	[ 'CREATE OR REPLACE VIEW ext.gpusort_stat AS SELECT *, 1 AS one FROM ext.gpusort_stat_get()',
		qr/gpusort_stat columns/ ],
	[ 'ALTER EXTENSION gpusort DROP FUNCTION ext.gpu_dedup(anyarray)', qr/gpu_dedup\(.* and nothing/ ])
{
	my ($change, $seen) = @$_;
	$node->safe_psql('postgres', 'CREATE DATABASE changed TEMPLATE fresh');
	$node->safe_psql('changed', $change);
	like(join("\n", differences($node, 'fresh', 'changed')), $seen, "seen: $change");
	$node->safe_psql('postgres', 'DROP DATABASE changed');
}

# 0.1.0 with this library: each of its functions, and the call that shows that it works.
my %calls = (
	'gpu_sort(anyarray,boolean)' => [ "gpu_sort('{2,1}'::int[])", '{1,2}' ],
	'gpu_sort(anyarray,boolean,boolean)' => [ "gpu_sort('{2,NULL,1}'::int[], true, false)", '{2,1,NULL}' ],
	'gpu_argsort(anyarray,boolean)' => [ "gpu_argsort('{2,1}'::int[])", '{2,1}' ],
	'gpu_argsort(anyarray,boolean,boolean)' => [ "gpu_argsort('{2,NULL,1}'::int[], true, false)", '{1,3,2}' ],
	'gpu_sort_by_key(anyarray,anycompatiblearray,boolean)' => [ "gpu_sort_by_key('{2,1}'::int[], '{a,b}'::text[])",
		'("{1,2}","{b,a}")' ],
	'gpu_sort_by_key(anyarray,anycompatiblearray,boolean,boolean)' =>
	  [ "gpu_sort_by_key('{2,NULL}'::int[], '{a,b}'::text[], false, true)", '("{NULL,2}","{b,a}")' ],
	'gpu_select_if(anyarray,boolean[])' => [ "gpu_select_if('{2,1}'::int[], '{f,t}')", '{1}' ],
	'gpu_select_if(anycompatiblearray,text,anycompatible)' => [ "gpu_select_if('{2,1}'::int[], '>', 1)", '{2}' ],
	'gpu_partition_if(anyarray,boolean[])' => [ "gpu_partition_if('{2,1}'::int[], '{f,t}')", '({1},{2})' ],
	'gpu_dedup(anyarray)' => [ "gpu_dedup('{2,2,1}'::int[])", '{2,1}' ],
	'gpu_distinct(anyarray)' => [ "gpu_distinct('{2,1,2}'::int[])", '{1,2}' ],
	'gpu_scan(anyarray,text,boolean)' => [ "gpu_scan('{1,2}'::numeric[])", '{1,3}' ],
	'gpu_scan(smallint[],text,boolean)' => [ "gpu_scan('{1,2}'::smallint[])", '{1,3}' ],
	'gpu_scan(integer[],text,boolean)' => [ "gpu_scan('{1,2}'::int[])", '{1,3}' ],
	'gpu_rle_runs(anyarray)' => [ "gpu_rle_runs('{2,2}'::int[])", '(2,2,1)' ],
	'gpu_rle_decode(anyarray,bigint[])' => [ "gpu_rle_decode('{1,2}'::int[], '{2,1}')", '{1,1,2}' ],
	'gpu_reduce_by_key(anyarray,anycompatiblearray,text,boolean)' => [ "gpu_reduce_by_key('{a,a}'::text[], "
		. "'{1,2}'::numeric[])", '(a,3)' ],
	'gpu_reduce_by_key(anyarray,smallint[],text,boolean)' => [ "gpu_reduce_by_key('{a,a}'::text[], "
		. "'{1,2}'::smallint[])", '(a,3)' ],
	'gpu_reduce_by_key(anyarray,integer[],text,boolean)' => [ "gpu_reduce_by_key('{a,a}'::text[], '{1,2}'::int[])",
		'(a,3)' ],
	'gpu_count_by_key(anyarray,boolean)' => [ "gpu_count_by_key('{a,a}'::text[])", '(a,2)' ],
	'gpu_run_id(anyelement)' => [ '(SELECT max(r) FROM (SELECT gpu_run_id(i) OVER (ORDER BY i) AS r FROM three) AS t)',
		2 ],
	'gpu_sort_agg(anynonarray)' => [ '(SELECT gpu_sort_agg(i) FROM three)', '{1,1,2}' ],
	'gpu_count_distinct(anyelement)' => [ '(SELECT gpu_count_distinct(i) FROM three)', 2 ],
	'gpu_median(double precision)' => [ '(SELECT gpu_median(i) FROM three)', 1 ],
	'gpu_median(interval)' => [ "(SELECT gpu_median(i * interval '1 s') FROM three)", '00:00:01' ],
	'gpu_percentile_cont(double precision,double precision)' => [ '(SELECT gpu_percentile_cont(i, 0.75) FROM three)',
		'1.5' ],
	'gpu_percentile_cont(interval,double precision)' => [ "(SELECT gpu_percentile_cont(i * interval '1 s', 0.5) FROM "
		. "three)", '00:00:01' ],
	'gpu_percentile_disc(anyelement,double precision)' => [ '(SELECT gpu_percentile_disc(i, 0.5) FROM three)', 1 ]);
for my $type (qw(smallint integer bigint numeric real), 'double precision')
{
	$calls{"gpu_avg_by_key(anyarray,$type\[],boolean)"} =
		[ "(gpu_avg_by_key('{a,a}'::text[], '{1,3}'::$type\[])).value::float8", 2 ];
}
my %pairs = (boolean => [ 'f', 't' ], date => [ '2025-01-01', '2025-01-02' ], uuid => [ map { $_ x 32 } 1, 2 ],
	'timestamp without time zone' => [ '2025-01-01', '2025-01-02' ],
	'timestamp with time zone' => [ '2025-01-01', '2025-01-02' ],
	map { $_ => [ 1, 2 ] } qw(smallint integer bigint real numeric text), 'double precision');
for my $type (keys %pairs)
{
	my ($one, $two) = map { "'$_'::$type" } @{ $pairs{$type} };
	my $runs = "(SELECT string_agg(run_length || ' from ' || first_row, ', ') FROM unnest(%s))";
	my $values = "(VALUES ($one, 3), ($two, 2), ($one, 1)) AS v (v, k)";
	$calls{"gpu_rle($type)"} = [ sprintf($runs, "(SELECT gpu_rle(v ORDER BY v) FROM $values)"), '2 from 1, 1 from 3' ];
	$calls{"gpu_rle($type,anycompatible)"} = [ sprintf($runs, "(SELECT gpu_rle(v, k) FROM $values)"),
		'1 from 1, 1 from 2, 1 from 3' ];
}

database('old', '0.1.0');
$node->safe_psql('old',
	q(CREATE TABLE three AS SELECT unnest('{1,2,1}'::int[]) AS i; ALTER DATABASE old SET search_path = public, ext));
my @functions = split /\n/, $node->safe_psql('old',
	q(SELECT oid::regprocedure FROM pg_proc WHERE proname LIKE 'gpu\_%'));
is_deeply([ sort keys %calls ], [ sort @functions ], 'there is a call of each function of 0.1.0');
for my $function (sort keys %calls)
{
	my ($call, $result) = @{ $calls{$function} };
	is($node->safe_psql('old', "SELECT $call"), $result, "0.1.0 with this library: $function");
}

# Its views show the same as those of today, as far as they go.
my %columns = (
	gpusort_stat => 'op,engine,fallback,jobs,rows,bytes,device_ms',
	gpusort_devices =>
		'device,name,memory_bytes,limit_bytes,reserved_bytes,jobs,jobs_done,service,since,restarts,pid,pinned_bytes');
for my $view (sort keys %columns)
{
	is($node->safe_psql('old',
		"SELECT string_agg(attname, ',' ORDER BY attnum) FROM pg_attribute WHERE attrelid = '$view'::regclass"),
		$columns{$view}, "the columns of 0.1.0's $view");
	# what sessions hold is given back a while after their end
	my $steady = join ', ',
		map { /^(jobs|reserved_bytes|pinned_bytes)$/ && $view =~ /devices/ ? "$_ IS NOT NULL AS $_" : $_ } split /,/,
		$columns{$view};
	my $lines = $node->safe_psql('old', "SELECT $steady FROM $view");
	isnt($lines, '', 'it has lines');
	is($lines, $node->safe_psql('fresh', "SELECT $steady FROM ext.$view"), 'the same as those of today');
	is($node->safe_psql('old', "SELECT $steady FROM ${view}_get()"), $lines, 'from its function');
}
is($node->safe_psql('old', q(SELECT gpusort_stat_reset(); SELECT sum(jobs) FROM gpusort_stat)), "\n0",
	'0.1.0 with this library: gpusort_stat_reset()');
$node->stop;
done_testing();
