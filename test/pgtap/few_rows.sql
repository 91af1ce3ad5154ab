-- Sorts of which far fewer rows come than the planner expects: up to 64 are compared, and keys begin with the next one.
\ir setup.psql
SELECT no_plan();
CREATE SCHEMA few_rows;
SET search_path = few_rows, public;
SET gpusort.min_rows = 1000;
CREATE TABLE f AS SELECT i AS id, nullif(h % 1000, 7) AS i4, CASE WHEN i % 9 = 0 THEN 'NaN' WHEN i % 10 = 0 THEN '-0' WHEN i % 11 > 0 THEN (h % 20)::float8 END AS f8, h::numeric / 7 AS n,
	md5((h % 30)::text) AS t, ARRAY[md5((h % 5)::text), md5(h::text)] AS a, jsonb_build_object('k', h % 9) AS j, md5(h::text)::uuid AS u, 1 AS same, i AS up, -i AS down,
	repeat(md5((h % 3)::text), 200) || h AS big
FROM generate_series(1, 6000) AS i, LATERAL (SELECT hashint4(i) AS h OFFSET 0) AS hashed;
CREATE TABLE stored (LIKE f);
ALTER TABLE stored ALTER big SET STORAGE EXTERNAL;
INSERT INTO stored SELECT * FROM f;
ANALYZE f, stored;

-- Rows that the planner cannot count, in a table's order and in another one.
SELECT format($$SET gpusort.verify = '%s'; SELECT pg_temp.same_ids(format('SELECT id FROM stored WHERE id <= (SELECT %%s) ORDER BY %%s', rows, keys),
		format('SELECT id FROM stored WHERE id <= (SELECT %%s) ORDER BY %%s, ctid', rows, keys), format('%%s rows by %%s', rows, keys))
	FROM unnest(ARRAY[0, 1, 2, 63, 64, 65, 200]) AS rows, unnest(ARRAY['i4', 'i4 DESC NULLS LAST', 'f8 NULLS FIRST', 'n DESC', 't COLLATE "C"', 't COLLATE "und-x-icu", n', 'a DESC', 'j, u', 'u', 'same', 'up', 'down',
		'big COLLATE "C"', 'same, big COLLATE "und-x-icu" DESC']) AS keys$$, verify)
FROM unnest(ARRAY['auto', 'full']) AS verify \gexec
RESET gpusort.verify;

-- A whole table, of which fewer rows are left than when it was analysed: they come page by page.
CREATE TABLE stale WITH (autovacuum_enabled = off) AS SELECT id, i4, t FROM f;
ANALYZE stale;
SELECT format($$DELETE FROM stale WHERE id > %s; SELECT pg_temp.same_ids(format('SELECT id FROM stale ORDER BY %%s', keys), format('SELECT id FROM stale ORDER BY %%s, ctid', keys), 'pages of %1$s rows by ' || keys)
	FROM unnest(ARRAY['id', 'i4', 'id DESC', 't COLLATE "und-x-icu"', 't COLLATE "C", i4']) AS keys$$, rows)
FROM unnest(ARRAY[200, 65, 64, 63, 2, 1, 0]) AS rows \gexec

-- What EXPLAIN says.
CREATE FUNCTION pg_temp.explained(rows integer, keys text) RETURNS text LANGUAGE sql AS $$
	SELECT pg_temp.plan_of(format('SELECT id FROM f WHERE id <= (SELECT %s) ORDER BY %s', rows, keys), 'ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF')
$$;
SELECT matches(pg_temp.explained(rows, 'i4'), 'GpuSort.*Sort Method: comparison  Memory: \d+kB\s+Engine: CPU\s+Keys: 0 bits  Passes: 0\s+Stages', rows || ' rows are compared') FROM unnest(ARRAY[2, 63, 64]) AS rows;
SELECT matches(pg_temp.explained(rows, 'i4'), 'Sort Method: already ordered.*Keys: 0 bits', rows || ' are in order') FROM unnest(ARRAY[0, 1]) AS rows;
SELECT matches(pg_temp.explained(rows, 'i4'), 'Sort Method: radix', rows || ' have keys') FROM unnest(ARRAY[65, 200]) AS rows;
SELECT doesnt_match(pg_temp.explained(64, 'a'), 'Key Forms', '64 by an array have no form');
SELECT matches(pg_temp.explained(65, 'a'), 'Key Forms', '65 have one');
SELECT matches(pg_temp.explained(65, 'up, a'), 'already ordered', '65 in order');
SET gpusort.min_rows = 0;
SELECT matches(pg_temp.explained(40, 'i4'), 'Sort Method: radix', 'without a least number of rows all have keys');
SET gpusort.min_rows = 10;
SELECT matches(pg_temp.explained(rows, 'i4'), method, rows || ' rows with a least number of 10') FROM (VALUES (10, 'comparison'), (11, 'radix')) AS v (rows, method);
SET gpusort.min_rows = 1000;

-- Loops with more and fewer rows, with and without a LIMIT, and a sort that starts again.
CREATE FUNCTION pg_temp.same_loops(below text) RETURNS text LANGUAGE sql AS $$
	SELECT pg_temp.same_ids(format(query, 'i4'), format(query, 'i4, ctid'), below)
	FROM format('SELECT l.id FROM unnest(ARRAY[3, 64, 0, 65, 200, 1, 40, 5000, 2]) AS m, LATERAL (%s) AS l', below) AS query
$$;
SELECT pg_temp.same_loops('SELECT id FROM f WHERE id <= m ORDER BY %s OFFSET 0');
SELECT pg_temp.same_loops('SELECT id FROM f WHERE id <= (SELECT 50) ORDER BY %s, id LIMIT m');
SELECT pg_temp.same_loops('SELECT id FROM f WHERE id <= 2 * m ORDER BY %s, id LIMIT m');
SET enable_material = off;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SELECT pg_temp.same_ids('SELECT g * 1000 + s.id AS id FROM generate_series(1, 3) AS g LEFT JOIN (SELECT id FROM f WHERE id <= (SELECT 50) ORDER BY i4 OFFSET 0) AS s ON g <> 2',
	'SELECT g * 1000 + s.id AS id FROM generate_series(1, 3) AS g LEFT JOIN (SELECT id FROM f WHERE id <= (SELECT 50) ORDER BY i4, ctid OFFSET 0) AS s ON g <> 2', 'from the start again');
RESET enable_material;

-- Mark and restore.
SET enable_nestloop = off;
RESET enable_mergejoin;
\set joined 'SELECT a.id * 1000 + b.id AS id FROM f AS a JOIN f AS b USING (t) WHERE a.id <= (SELECT 60) AND b.id <= (SELECT 64) ORDER BY 1'
SELECT matches(pg_temp.plan_of(:'joined'), 'Merge Join.*GpuSort.*GpuSort', 'two sorts below a join');
SELECT pg_temp.same_ids(:'joined', :'joined', 'mark and restore');
RESET enable_nestloop;
RESET enable_hashjoin;

-- Cursors in both directions.
CREATE FUNCTION pg_temp.wander(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	walk refcursor;
	step text;
	id integer;
	seen text[];
BEGIN
	OPEN walk SCROLL FOR EXECUTE query;
	FOREACH step IN ARRAY string_to_array('NEXT,PRIOR,NEXT,NEXT,LAST,NEXT,PRIOR,PRIOR,ABSOLUTE 30,RELATIVE -5,RELATIVE 3,FIRST,PRIOR,NEXT,ABSOLUTE -2,FORWARD 5,BACKWARD 1', ',') LOOP
		EXECUTE format('FETCH %s FROM %s', step, quote_ident(walk::text)) INTO id;
		seen := seen || coalesce(id::text, '-');
	END LOOP;
	CLOSE walk;
	RETURN array_to_string(seen, ' ');
END $$;
CREATE FUNCTION pg_temp.wander(query text, enabled boolean) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('gpusort.enabled', enabled::text, true);
	RETURN pg_temp.wander(query);
END $$;
SELECT is(pg_temp.wander(query, true), pg_temp.wander(query, false), 'a cursor over ' || rows)
FROM unnest(ARRAY[0, 1, 2, 63, 64, 65, 200]) AS rows, format('SELECT id FROM f WHERE id <= (SELECT %s) ORDER BY n, id', rows) AS query;
SET gpusort.enabled = on;

-- Few rows that memory does not hold, and comparisons that fail.
SET gpusort.work_mem = '1MB';
SELECT pg_temp.same_ids(query || 'big COLLATE "C"', query || 'big COLLATE "C", id', rows || ' rows of 100 kB')
FROM unnest(ARRAY[3, 8, 15, 40, 65]) AS rows, format('SELECT id FROM (SELECT id, repeat(t, 3000) AS big FROM f WHERE id <= (SELECT %s) OFFSET 0) AS s ORDER BY ', rows) AS query;
RESET gpusort.work_mem;
SELECT throws_like('SELECT id FROM f WHERE id <= (SELECT 40) ORDER BY ROW(point(i4, 0)), id', '%could not identify a comparison function%', 'a comparison fails');

-- Workers, each with a few rows, and groups shared out among them.
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SELECT pg_temp.same_ids(query, query, 'workers: ' || query)
FROM unnest(ARRAY[0, 1, 40, 65, 200, 400]) AS rows, unnest(ARRAY['SELECT id FROM f WHERE id <= (SELECT %s) ORDER BY i4, id', 'SELECT id FROM f WHERE id <= (SELECT %s) ORDER BY a, id',
	'SELECT id FROM (SELECT id, rank() OVER (PARTITION BY t ORDER BY n, id) FROM f WHERE id <= (SELECT %s)) AS s ORDER BY id']) AS shape, format(shape, rows) AS query;

SELECT * FROM finish();
