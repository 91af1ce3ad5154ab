-- Parallel workers that hand their sorted rows over in blocks.
\ir setup.psql
SELECT plan(4 + 24 * 3 + 5 * 8 + 43);
\ir parallel.psql
DROP SCHEMA IF EXISTS gpusort_parallel CASCADE;
CREATE SCHEMA gpusort_parallel;
SET search_path = gpusort_parallel, public;

-- One test: the plan merges blocks, whose keys are normalised or not.
CREATE FUNCTION pg_temp.in_blocks(query text, label text) RETURNS text LANGUAGE sql
	SET max_parallel_workers_per_gather = 2 AS $$
	SELECT matches(pg_temp.plan_of(query, 'COSTS OFF, VERBOSE'), 'Custom Scan \(GpuMerge\).*->  Gather Merge.*->  Custom Scan \(GpuSort\)',
				   label || ' goes in blocks')
$$;

-- Three tests of one order of a table, over a unique last key: the plan, and both directions.
CREATE FUNCTION pg_temp.check_order(columns text, source text, key text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	label text := format('%s ORDER BY %s', source, key);
BEGIN
	RETURN NEXT pg_temp.in_blocks(format('SELECT %s FROM %s ORDER BY %s, id', columns, source, key), label);
	RETURN NEXT pg_temp.same_rows(format('SELECT %s FROM %s ORDER BY %s, id', columns, source, key), label);
	RETURN NEXT pg_temp.same_rows(format('SELECT %s FROM %s ORDER BY %s, id DESC', columns, source,
		regexp_replace(key, '(,|$)', ' DESC NULLS LAST\1', 'g')), label || ' DESC NULLS LAST');
END $$;

CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
ALTER TYPE mood ADD VALUE 'fair' AFTER 'sad';
CREATE TYPE pair AS (a integer, b text);
CREATE TABLE v (id integer, dropped text, i2 int2, i4 int4, i8 int8, f4 float4, f8 float8, d date, ts timestamp, n numeric, t text COLLATE "C",
	x bytea, u uuid, iv interval, m mood, b boolean, a int4[], j jsonb, p pair, gone text, late text);
INSERT INTO v SELECT i, 'x', h % 200, CASE WHEN i % 7 <> 0 THEN h END, CASE WHEN i % 10 <> 0 THEN hashint8extended(i, 1) END,
	CASE i % 5 WHEN 0 THEN 'NaN' WHEN 1 THEN '-0' ELSE (h % 100)::float4 END, CASE WHEN i % 3 <> 0 THEN h / 7.0 END, '2020-01-01'::date + h % 1000,
	CASE i % 50 WHEN 0 THEN 'infinity' WHEN 1 THEN NULL ELSE '2020-01-01'::timestamp + h * interval '1 minute' END,
	CASE i % 40 WHEN 0 THEN 'NaN' WHEN 1 THEN NULL ELSE (h % 900)::numeric(10, 2) / (1 + i % 3) END,
	CASE WHEN i % 13 <> 0 THEN CASE i % 3 WHEN 0 THEN 'the same beginning of all of them ' ELSE '' END || md5((h % 3000)::text) END,
	decode(repeat('00', h % 12) || CASE WHEN h % 2 = 0 THEN 'ff' ELSE '' END, 'hex'), md5((h % 2000)::text)::uuid,
	make_interval(months => h % 3, days => 30 * (h % 2)), (enum_range(NULL::mood))[1 + h % 4], CASE WHEN i % 4 > 0 THEN h % 2 = 0 END,
	CASE WHEN i % 9 > 0 THEN ARRAY[h % 100, i % 5] END, jsonb_build_object('k', h % 500), ROW(h % 90, md5((h % 20)::text))::pair, 'x',
	CASE WHEN i > 5000 THEN repeat('late', i % 9) END
	FROM (SELECT i, (hashint4(i) & 65535)::int4 AS h FROM generate_series(1, 6000) AS i) AS r;
ALTER TABLE v DROP dropped, DROP gone, ADD added text DEFAULT 'added', ADD empty int4;
INSERT INTO v (id, i4, added) SELECT i, i, NULL FROM generate_series(6001, 6100) AS i;
CREATE TABLE few AS SELECT i AS id FROM generate_series(1, 3) AS i;
CREATE TABLE big (id integer, k integer, w text, out_of_line text);
ALTER TABLE big ALTER w SET STORAGE PLAIN, ALTER out_of_line SET STORAGE EXTERNAL;
INSERT INTO big SELECT i, hashint4(i) % 50, repeat(md5(i::text), 1 + i % 200), repeat(md5(i::text), 300) FROM generate_series(1, 1500) AS i;
VACUUM ANALYZE v, few, big;

-- it is so, and can be switched off; one worker without the leader is not worth a Gather
SELECT pg_temp.in_blocks('SELECT id, i8 FROM v ORDER BY i8', 'a sort in workers');
SELECT matches(pg_temp.plan_of('SELECT id, i8 FROM v ORDER BY i8', 'ANALYZE, COSTS OFF, TIMING OFF'),
			   'GpuMerge\) \(actual rows=6100.*Blocks: \d+.*Workers Launched: [12]', 'and it runs in workers');
SET gpusort.parallel_blocks = off;
SELECT doesnt_match(pg_temp.plan_of('SELECT id, i8 FROM v ORDER BY i8'), 'GpuMerge', 'row by row with gpusort.parallel_blocks off');
SELECT pg_temp.same_rows('SELECT id, i8 FROM v ORDER BY i8, id', 'which gives the same rows');
SET gpusort.parallel_blocks = on;

-- words, bytes behind a word, and rows compared by the server; rows with one header, with NULLs, of many lengths; ties
SELECT pg_temp.check_order('id, ' || key, 'v', key) FROM unnest(ARRAY['i2', 'i4', 'i8', 'f4', 'f8', 'd', 'ts', 'b', 'm', 'n', 't', 'x', 'u', 'iv']) AS key;
-- columns that stand in the rows twice
SELECT pg_temp.check_order(columns, 'v', 'i8') FROM unnest(ARRAY['id, i8, i8 AS again', '*, i4 AS again', 'id, t, t AS u, i8']) AS columns;
SELECT pg_temp.check_order('*', 'v', key) FROM unnest(ARRAY['i8', 'b, i2, t', 'a', 'j, i4', 'i2, p', 't COLLATE "default", n', 'empty']) AS key;

-- a single key, so that its words are all there is: by their ties' other columns the rows would come in any order
CREATE FUNCTION pg_temp.check_word(key text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	direction text;
BEGIN
	FOREACH direction IN ARRAY ARRAY['ASC NULLS LAST', 'ASC NULLS FIRST', 'DESC NULLS LAST', 'DESC NULLS FIRST'] LOOP
		RETURN NEXT pg_temp.same_rows(format('SELECT %1$s FROM v ORDER BY %1$s %2$s', key, direction), key || ' ' || direction);
		RETURN NEXT pg_temp.same_rows(format('SELECT count(*), sum(id), max(t) FROM (SELECT * FROM v ORDER BY %1$s %2$s OFFSET 0) AS s GROUP BY %1$s ORDER BY %1$s',
			key, direction), key || ' ' || direction || ', all columns');
	END LOOP;
END $$;
SELECT pg_temp.check_word(key) FROM unnest(ARRAY['i8', 'i4', 'f8', 'ts', 'b']) AS key;

-- rows larger than a block, values out of line, expanded and anonymous values, whole rows, constants
SELECT pg_temp.same_rows('SELECT id, length(w), md5(w) FROM (SELECT * FROM big ORDER BY k, id OFFSET 0) AS s', 'wide rows');
SELECT pg_temp.same_rows('SELECT id, length(h), md5(h) FROM (SELECT id, repeat(w, 30) AS h FROM big WHERE id % 5 = 0 ORDER BY k, id OFFSET 0) AS s', 'rows larger than a block');
SELECT pg_temp.same_rows('SELECT id, md5(out_of_line) FROM big ORDER BY out_of_line COLLATE "C"', 'long keys out of line');
SELECT pg_temp.same_rows('SELECT id, length(h) FROM (SELECT id, repeat(w, 20) COLLATE "C" AS h FROM big WHERE id % 7 = 0 ORDER BY 2, 1 OFFSET 0) AS s', 'long keys in rows');
SELECT pg_temp.same_rows('SELECT id, out_of_line FROM big ORDER BY k, id', 'values out of line');
SELECT pg_temp.same_rows('SELECT id, array_append(a, id) AS a FROM v ORDER BY i2, id', 'expanded arrays');
SELECT pg_temp.same_rows('SELECT ROW(id, i2) AS r FROM v ORDER BY i2, id', 'anonymous records');
SELECT pg_temp.same_rows('SELECT v FROM v ORDER BY i8, id', 'whole rows');
SELECT pg_temp.same_rows('SELECT id, 1 AS one, NULL::text AS nothing, ''x''::text AS x FROM v ORDER BY i2, id', 'constants');
SELECT pg_temp.same_rows('SELECT 1 AS one FROM v ORDER BY i2, id', 'no column but the keys');
-- copies of columns that only serve to sort by are not in the rows
CREATE TABLE copied AS SELECT * FROM v ORDER BY t COLLATE "POSIX" DESC, i8, id LIMIT 5000;
SET gpusort.enabled = off;
CREATE TABLE copied_by_core AS SELECT * FROM v ORDER BY t COLLATE "POSIX" DESC, i8, id LIMIT 5000;
SET gpusort.enabled = on;
SELECT is((SELECT array_agg(copied::text ORDER BY ctid) FROM copied), (SELECT array_agg(c::text ORDER BY ctid) FROM copied_by_core AS c),
		  'a key that is a column under another collation');

-- plans around it
SELECT pg_temp.same_rows('SELECT id, i8 FROM v ORDER BY i8, id LIMIT 3000', 'LIMIT', '{1,2,4}');
SELECT pg_temp.same_rows('SELECT id, i8 FROM v ORDER BY i8, id LIMIT 10 OFFSET 4000', 'LIMIT behind OFFSET');
SELECT pg_temp.same_rows('SELECT id, i8 FROM v ORDER BY i8, id LIMIT (SELECT 5)', 'a LIMIT that comes at run time');
SELECT pg_temp.same_rows('SELECT id, rank() OVER (ORDER BY i2), sum(i2) OVER (PARTITION BY b ORDER BY i8, id) FROM v ORDER BY id', 'windows');
SELECT pg_temp.same_rows('SELECT DISTINCT i2, b FROM v ORDER BY i2, b', 'DISTINCT');
SELECT pg_temp.same_rows('SELECT DISTINCT ON (i2) i2, id FROM v ORDER BY i2, id DESC', 'DISTINCT ON');
SELECT pg_temp.same_rows('SELECT i2, count(*), max(t) FROM v GROUP BY i2 ORDER BY i2', 'groups');
SELECT pg_temp.same_rows('SELECT v.id, big.id AS other FROM v JOIN big ON v.i2 = big.k ORDER BY big.w COLLATE "C", v.id LIMIT 20000', 'a join below');
SELECT pg_temp.same_rows('SELECT few.id, d FROM few, LATERAL (SELECT md5(string_agg(i8::text, '','')) AS d FROM (SELECT i8 FROM v ORDER BY i8, v.id LIMIT 2000 OFFSET few.id - few.id) AS x) AS y ORDER BY few.id',
						 'started again for each outer row');
SELECT pg_temp.same_rows('SELECT few.id, d FROM few, LATERAL (SELECT md5(string_agg(j::text, '','')) AS d FROM (SELECT j FROM v ORDER BY j, v.id LIMIT 2000 OFFSET few.id * 3) AS x) AS y ORDER BY few.id',
						 'started again, rows compared');
SELECT pg_temp.same_rows('SELECT id, i8 FROM v WHERE i2 < (SELECT avg(i2) FROM v) ORDER BY i8, id', 'an InitPlan below');
SELECT pg_temp.same_rows('SELECT id FROM v WHERE i8 IN (SELECT i8 FROM v ORDER BY i8 OFFSET 3000) ORDER BY id', 'in a SubPlan');
SET enable_hashjoin = off;
SET enable_nestloop = off;
SELECT pg_temp.same_rows('SELECT a.id, b.id AS other FROM (SELECT * FROM v ORDER BY i4 OFFSET 0) AS a JOIN (SELECT * FROM v ORDER BY i4 OFFSET 0) AS b USING (i4) ORDER BY 1, 2', 'a merge join above');
RESET enable_hashjoin;
RESET enable_nestloop;

-- runs without workers: cursors, loops, portals fetched in parts
SET max_parallel_workers_per_gather = 2;
CREATE FUNCTION pg_temp.looped(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	row record;
	n integer := 0;
BEGIN
	FOR row IN EXECUTE query LOOP
		n := n + 1;
		RETURN NEXT n || ': ' || row::text;
	END LOOP;
END $$;
SELECT is(ARRAY(SELECT pg_temp.looped(query)), ARRAY(SELECT pg_temp.rows_of(query)), 'a loop without workers: ' || query)
FROM unnest(ARRAY['SELECT id, i8 FROM v ORDER BY i8, id', 'SELECT * FROM v ORDER BY t, id', 'SELECT * FROM v ORDER BY a, id']) AS query;
CREATE TABLE made AS SELECT * FROM v ORDER BY i8, id;
SELECT is((SELECT array_agg(id ORDER BY ctid) FROM made), (SELECT array_agg(id ORDER BY i8, id) FROM v), 'CREATE TABLE AS, in order');
PREPARE again AS SELECT id FROM v ORDER BY i8, id;
SET plan_cache_mode = force_generic_plan;
CREATE TABLE first_run AS EXECUTE again;
SET gpusort.enabled = off;
CREATE TABLE second_run AS EXECUTE again;
SELECT matches(pg_temp.plan_of('EXECUTE again', 'ANALYZE, COSTS OFF, TIMING OFF'), 'GpuMerge.*Fallback: gpusort.enabled is off', 'a plan made before gpusort was switched off');
SET gpusort.enabled = on;
SELECT is((SELECT array_agg(id ORDER BY ctid) FROM first_run), (SELECT array_agg(id ORDER BY ctid) FROM second_run), 'which gives the same rows');
SET max_parallel_workers = 0;
SELECT pg_temp.same_rows('SELECT id, i8 FROM v ORDER BY i8, id', 'no worker to be had');
RESET max_parallel_workers;
SELECT is((SELECT count(*)::integer FROM (SELECT i8 FROM v ORDER BY i8 LIMIT 4000) AS s), 4000, 'ended early');
SELECT matches(pg_temp.plan_of('SELECT id FROM v ORDER BY i8', 'ANALYZE, VERBOSE, TIMING OFF, FORMAT JSON'), '"Custom Plan Provider": "GpuMerge".*"Blocks": \d+', 'EXPLAIN in JSON');
SELECT lives_ok('EXPLAIN (VERBOSE, FORMAT XML) SELECT * FROM v ORDER BY j, id', 'in XML');
SELECT throws_ok('SELECT pg_temp.rows_of(''SELECT 1 / (id - 3000) FROM v ORDER BY i8'')', '22012', NULL, 'an error in a worker');

-- strings, and enums, whose encoding is a process's own, are compared as they are, not sent a second time as bytes
SELECT doesnt_match(pg_temp.plan_of('SELECT id, t FROM v ORDER BY t COLLATE "C"', 'COSTS OFF, VERBOSE'), 'Output: \(ROW\(t', 'strings do not travel as encoded keys');
SELECT matches(pg_temp.plan_of('SELECT id, i8 FROM v ORDER BY i8, id', 'COSTS OFF, VERBOSE'), 'Output: \(ROW\(i8, id\)\)', 'numbers do');

-- keys larger than a block stand before it only, and come back into the row: NULLs among them, small ones, several, and arrays of them
CREATE TABLE wide AS SELECT id, k % 5 AS k, CASE WHEN id % 35 > 0 THEN repeat(w, CASE WHEN id % 4 = 0 THEN 0 ELSE 40000 / length(w) END) END AS w FROM big WHERE id % 5 = 0;
ANALYZE wide;
SELECT pg_temp.in_blocks('SELECT *, w || k AS l FROM wide ORDER BY l, id', 'a key that may be larger than a block');
SELECT pg_temp.same_rows('SELECT *, w || k AS l FROM wide ORDER BY l DESC, id', 'such keys');
SELECT pg_temp.same_rows('SELECT NULL::integer AS none, ARRAY[w || k, NULL] AS l, id, k, w || ''x'' AS m FROM wide ORDER BY k, l NULLS FIRST, m, id', 'several of them');

-- a deep plan around it, whose nodes are looked at once each
SELECT matches(pg_temp.plan_of((SELECT string_agg(format('SELECT *, row_number() OVER (ORDER BY %s i2, id) AS n%s FROM (', CASE WHEN i % 2 = 0 THEN '-' END, i), '')
	|| 'SELECT id, i2 FROM v ORDER BY i8, id OFFSET 0' || string_agg(format(') AS s%s', i), '') FROM generate_series(1, 24) AS i)), 'WindowAgg.*GpuMerge', 'below many other nodes');

-- the cheapest rows to be ordered come in that order, from workers, in a path that the server has freed since: with assertions it overwrites those
SET enable_seqscan = off;
SELECT pg_temp.in_blocks('SELECT id, i8 FROM v WHERE id < 300 ORDER BY i8, id', 'over a scan that is disabled, whose cost hides the sort''s,');
SELECT pg_temp.same_rows('SELECT id, i8 FROM v WHERE id < 300 ORDER BY i8, id', 'which gives the same rows');
RESET enable_seqscan;

DROP SCHEMA gpusort_parallel CASCADE;
SELECT * FROM finish();
