-- What participants might not read or compute alike is shared by none: the same rows with gpusort on and off, and no share in the plan.
\ir setup.psql
SELECT no_plan();
RESET max_parallel_workers_per_gather;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0.1;
SET min_parallel_table_scan_size = 0;
SET seq_page_cost = 0;
SET cpu_tuple_cost = 0.0001;
SET jit = off;
SET max_parallel_workers_per_gather = 2;
DROP SCHEMA IF EXISTS gpusort_refused CASCADE;
CREATE SCHEMA gpusort_refused;
SET search_path = gpusort_refused, public;
CREATE TABLE t AS SELECT hashint4(i) % 1000 AS g, i AS k, i % 40 AS c, 'w' || i % 77 AS w FROM generate_series(1, 20000) i;
CREATE TABLE u AS SELECT i AS id, i % 300 AS y FROM generate_series(1, 20000) i;
ALTER TABLE u SET (parallel_workers = 0);
CREATE SEQUENCE sequence;
VACUUM ANALYZE t, u;
CREATE FUNCTION first_of(x int) RETURNS int LANGUAGE sql STABLE PARALLEL SAFE AS 'SELECT id FROM u WHERE y = x LIMIT 1';
CREATE FUNCTION any_time(x int) RETURNS int LANGUAGE sql VOLATILE PARALLEL SAFE AS 'SELECT x + extract(microsecond FROM clock_timestamp())::int % 2';
CREATE FUNCTION plan_of(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line text;
	result text := '';
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		result := result || line || E'\n';
	END LOOP;
	RETURN result;
END $$;

SELECT matches(plan_of('SELECT k, rank() OVER (PARTITION BY g ORDER BY k) FROM t'), 'Share Key: (t\.)?g', 'what is read alike is shared');
SELECT doesnt_match(plan_of(query), 'Share Key', query) FROM unnest(ARRAY[
	'SELECT k, count(*) OVER (PARTITION BY key) FROM (SELECT k, g + 1000 * (k IN (SELECT id FROM u LIMIT 2000))::int AS key FROM t) AS s',
	'SELECT k, count(*) OVER (PARTITION BY g) FROM t WHERE k NOT IN (SELECT id FROM u LIMIT 2000)',
	'SELECT k, count(*) OVER (PARTITION BY g) FROM t WHERE k > (SELECT min(id) FROM u WHERE u.y = t.c)',
	'SELECT key, count(DISTINCT k) FROM (SELECT k, g + (k IN (SELECT id FROM u LIMIT 2000))::int AS key FROM t) AS s GROUP BY key',
	'SELECT k, count(*) OVER (PARTITION BY key) FROM (SELECT k, g + (SELECT y FROM u WHERE u.id < t.k LIMIT 1) AS key FROM t UNION ALL SELECT 1, 2) AS s',
	'SELECT k, count(*) OVER (PARTITION BY first_of(g % 300)) FROM t',
	'SELECT k, count(*) OVER (PARTITION BY g) FROM t WHERE first_of(c) < 1000',
	'SELECT k, count(*) OVER (PARTITION BY g) FROM t, LATERAL first_of(t.c) AS f (id) WHERE f.id > 7',
	'SELECT k, count(*) OVER (PARTITION BY g) FROM t WHERE clock_timestamp() > timestamptz ''2000-01-01'' + k * interval ''1 s''',
	'SELECT k, count(*) OVER (PARTITION BY any_time(g)) FROM t',
	-- what others may grant, rename or drop meanwhile
	'SELECT k, count(*) OVER (PARTITION BY g) FROM t WHERE has_table_privilege(left(w, 0) || ''t'', ''SELECT'')',
	'SELECT k, count(*) OVER (PARTITION BY g::oid::regclass::text) FROM t',
	'SELECT k, count(*) OVER (PARTITION BY g) FROM t WHERE to_regclass(w) IS NULL',
	'SELECT k, count(*) OVER (PARTITION BY g) FROM t WHERE w <> current_schema()',
	-- what changes under a snapshot
	'SELECT k, count(*) OVER (PARTITION BY xmax::text || g) FROM t',
	'SELECT k, count(*) OVER (PARTITION BY g) FROM t WHERE xmax::text <> k::text',
	'SELECT cmin::text || g, count(DISTINCT k) FROM t GROUP BY 1',
	'SELECT k, count(*) OVER (PARTITION BY key) FROM (SELECT *, cmax::text || g AS key FROM t OFFSET 0) AS s',
	'SELECT k, count(*) OVER (PARTITION BY g + last_value) FROM t CROSS JOIN sequence',
	'SELECT attname, count(*) OVER (PARTITION BY attnum + i + attrelid::int8) FROM pg_attribute CROSS JOIN generate_series(1, 20) i'])
AS query;
-- where different strings are equal, the hashes of names differ
CREATE COLLATION nocase (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE DOMAIN called AS name;
SELECT doesnt_match(plan_of(format(query, type)), 'Share Key', format(query, type))
FROM unnest(ARRAY['name', 'called', 'name[]']) AS type, unnest(ARRAY[
	'SELECT k, count(*) OVER (PARTITION BY key COLLATE nocase) FROM (SELECT k, (''{'' || w || ''}'')::%s AS key FROM t) AS s',
	'SELECT key COLLATE nocase, count(DISTINCT k) FROM (SELECT k, (''{'' || w || ''}'')::%s AS key FROM t) AS s GROUP BY 1']) AS query;
CREATE TYPE named AS (n name COLLATE nocase, i int4);
CREATE TYPE names AS RANGE (subtype = name, collation = nocase, multirange_type_name = several_names);
SELECT doesnt_match(plan_of(format('SELECT k, count(*) OVER (PARTITION BY key) FROM (SELECT k, %s AS key FROM t) AS s', key)), 'Share Key', key)
FROM unnest(ARRAY['ROW(w, 1)::named', 'ARRAY[ROW(w, 1)::named]', 'names(w::name, NULL)',
	'several_names(names(w::name, NULL))']) AS key;
-- and those of text are the same
CREATE TYPE worded AS (n text COLLATE nocase, i int4);
CREATE TYPE words AS RANGE (subtype = text, collation = nocase);
SELECT matches(plan_of(format('SELECT k, count(*) OVER (PARTITION BY key) FROM (SELECT k, %s AS key FROM t) AS s', key)), 'Share Key', key)
FROM unnest(ARRAY['ROW(w, 1)::worded', 'ARRAY[ROW(w, 1)::worded]', 'words(w, NULL)', 'ARRAY[w COLLATE nocase]']) AS key;

SELECT matches(plan_of('SELECT k, count(*) OVER (PARTITION BY g, ctid, xmin::text, tableoid) FROM t'), 'Share Key', 'other system columns');
SELECT matches(plan_of('SELECT k, rank() OVER (PARTITION BY g ORDER BY k) FROM t WHERE k > (SELECT min(id) FROM u)'), 'Share Key: (t\.)?g',
	'a query that runs once beforehand');

-- window functions below casts that ask for their argument's type
SELECT lives_ok(query, query) FROM unnest(ARRAY[
	'SELECT row_number() OVER (PARTITION BY g ORDER BY k)::text FROM t',
	'SELECT ''a'' || row_number() OVER (PARTITION BY g ORDER BY k) FROM t',
	'SELECT ARRAY[row_number() OVER (PARTITION BY g ORDER BY k)]::text[] FROM t',
	'SELECT k FROM t ORDER BY rank() OVER (PARTITION BY g ORDER BY k)::text, k'])
AS query;

-- a function that planning runs switches it off, with shares planned already
CREATE FUNCTION switch_off(x int) RETURNS int LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
	PERFORM set_config('gpusort.enabled', 'off', false);
	RETURN x;
END $$;
PREPARE switching AS SELECT sum(w) FROM (SELECT count(*) OVER (PARTITION BY g, k) AS w FROM t WHERE k > switch_off(3)) AS s;
SELECT results_eq('switching', 'SELECT 19997::numeric', 'switched off while it is planned');
SET gpusort.enabled = on;

-- one worker of eight, without the leader: a few passes over the input
CREATE FUNCTION passes(query text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query LOOP
		IF line ~ 'Shares: ' THEN
			RETURN substring(line FROM 'Shares: (\d+)')::int;
		END IF;
	END LOOP;
END $$;
SET gpusort.parallel_windows = scan;
ALTER TABLE t SET (parallel_workers = 8);
SET max_parallel_workers_per_gather = 8;
SET max_parallel_workers = 1;
SET parallel_leader_participation = off;
SELECT cmp_ok(passes('SELECT k, rank() OVER (PARTITION BY g ORDER BY k) FROM t'), '<=', 2, 'one worker of eight reads the input twice');
SET max_parallel_workers = 0;
SELECT is(passes('SELECT k, rank() OVER (PARTITION BY g ORDER BY k) FROM t'), 1, 'the leader alone once');

SELECT * FROM finish();
DROP SCHEMA gpusort_refused CASCADE;
