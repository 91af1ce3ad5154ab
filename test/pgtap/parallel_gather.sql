-- Rows that pass a Gather in blocks, because sorts in workers have had a part in them.
\ir setup.psql
SELECT plan(29);
\ir parallel.psql
SET enable_hashjoin = off;
SET enable_nestloop = off;
DROP SCHEMA IF EXISTS gpusort_gather CASCADE;
CREATE SCHEMA gpusort_gather;
SET search_path = gpusort_gather, public;

CREATE TABLE v (id integer, k integer, i8 bigint, n numeric, t text, a int4[]);
INSERT INTO v SELECT i, hashint4(i) % 3000, CASE WHEN i % 7 > 0 THEN i END, i / 8.0, repeat('t', i % 90), ARRAY[i, i + 1] FROM generate_series(1, 6000) AS i;
CREATE TABLE w (k integer, flag boolean, wide text);
ALTER TABLE w ALTER wide SET STORAGE EXTERNAL;
INSERT INTO w SELECT i, i % 2 = 0, CASE WHEN i % 10 = 0 THEN repeat(md5(i::text), 150) END FROM generate_series(-3000, 3000) AS i;
CREATE TABLE few AS SELECT i FROM generate_series(1, 3) AS i;
VACUUM ANALYZE v, w, few;

-- One test: the plan's Gather passes blocks.
CREATE FUNCTION pg_temp.in_packs(query text, label text) RETURNS text LANGUAGE sql
	SET max_parallel_workers_per_gather = 2 AS $$
	SELECT matches(pg_temp.plan_of(query, 'COSTS OFF, VERBOSE'), 'Custom Scan \(GpuUnpack\).*->  Gather.*->  Custom Scan \(GpuPack\).*->  Merge Join', label || ' goes in blocks')
$$;

-- Two tests: the plan, and the rows put in order afterwards.
CREATE FUNCTION pg_temp.check_gather(columns text, source text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	query text := format('SELECT %s FROM %s', columns, source);
BEGIN
	RETURN NEXT pg_temp.in_packs(query, query);
	RETURN NEXT pg_temp.same_rows(format('SELECT x::text FROM (%s OFFSET 0) AS x ORDER BY 1', query), query);
END $$;

SELECT pg_temp.in_packs('SELECT v.id, v.k FROM v JOIN w USING (k)', 'a merge join');
SET max_parallel_workers_per_gather = 2;
SELECT matches(pg_temp.plan_of('SELECT id, k FROM v JOIN w USING (k)', 'ANALYZE, COSTS OFF, TIMING OFF'),
			   'GpuUnpack\) \(actual rows=6000.*Blocks: \d+.*Gather \(actual rows=\d{1,2}[. ].*Workers Launched: [12].*GpuPack\) \(actual rows=[1-3]\d\d\d', 'and it runs in workers');
SELECT matches(pg_temp.plan_of('SELECT v.id, w.flag FROM v JOIN w USING (k)', 'COSTS OFF, VERBOSE'), 'GpuPack\)\s+Output: \(ROW\(v.id, w.flag\)\)', 'columns have their names');
SET gpusort.parallel_blocks = off;
SELECT doesnt_match(pg_temp.plan_of('SELECT id, k FROM v JOIN w USING (k)'), 'GpuUnpack', 'row by row with gpusort.parallel_blocks off');
SET gpusort.parallel_blocks = on;
SELECT doesnt_match(pg_temp.plan_of('SELECT id, k FROM v JOIN w USING (k) LIMIT 5000'), 'GpuUnpack', 'and where a LIMIT is above');
SET enable_hashjoin = on;
SELECT doesnt_match(pg_temp.plan_of('SELECT id, v.k FROM v JOIN w USING (k)'), 'GpuUnpack', 'and without sorts');
SET enable_hashjoin = off;

-- bare rows, NULLs, values of any length, rows larger than a block, expanded and anonymous values, no columns
SELECT pg_temp.check_gather(columns, 'v JOIN w USING (k)')
FROM unnest(ARRAY['v.id, v.k', 'id, flag', 'v.*, flag', 'id, t', 'id, wide', 'id, repeat(wide, 12) AS larger', 'array_append(a, id) AS a', 'ROW(id, t) AS r']) AS columns;
SELECT pg_temp.same_rows('SELECT count(*) FROM (SELECT id FROM v JOIN w USING (k) OFFSET 0) AS x', 'rows that are counted');

-- started again, with and without workers, and in this process alone
SELECT pg_temp.same_rows('SELECT i, s FROM few, LATERAL (SELECT sum(id + i) AS s, count(*) AS n FROM (SELECT id FROM v JOIN w USING (k) OFFSET 0) AS x) AS y ORDER BY i', 'started again');
SET max_parallel_workers = 0;
SELECT pg_temp.same_rows('SELECT x::text FROM (SELECT id, t FROM v JOIN w USING (k) OFFSET 0) AS x ORDER BY 1', 'no worker to be had');
RESET max_parallel_workers;
SET max_parallel_workers_per_gather = 2;
CREATE TABLE made AS SELECT id, wide FROM v JOIN w USING (k);
SELECT results_eq('SELECT id, wide FROM made ORDER BY id', 'SELECT id, (SELECT wide FROM w WHERE w.k = v.k) FROM v ORDER BY id', 'CREATE TABLE AS');
SELECT lives_ok('EXPLAIN (VERBOSE, FORMAT XML) SELECT id, t FROM v JOIN w USING (k)', 'EXPLAIN in XML');
SELECT throws_ok('SELECT pg_temp.rows_of(''SELECT 1 / (id - 3000) FROM v JOIN w USING (k)'')', '22012', NULL, 'an error in a worker');
SELECT is((SELECT count(*)::integer FROM (SELECT 1 FROM v JOIN w USING (k) OFFSET 0) AS x), 6000, 'the session goes on');

DROP SCHEMA gpusort_gather CASCADE;
SELECT * FROM finish();
