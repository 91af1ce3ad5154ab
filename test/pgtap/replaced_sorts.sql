-- Which sorts are replaced, where, and at what cost.
\ir shapes.psql
SELECT plan(78);

CREATE SCHEMA replaced_sorts;
SET search_path = replaced_sorts, public;
SET enable_memoize = off;
CREATE TABLE events (id int8, k int4, g int4, name text COLLATE "C", p point);
INSERT INTO events SELECT i * 7919 % 10007, i * 31 % 400, i % 7, 'n' || i * 13 % 500, point(i, i) FROM generate_series(1, 5000) AS i;
CREATE TABLE few AS SELECT * FROM events LIMIT 100;
ANALYZE events, few;

-- ORDER BY
SELECT pg_temp.planned('SELECT * FROM events ORDER BY id', 'GpuSort(Seq Scan)');
SELECT pg_temp.compared('SELECT * FROM events ORDER BY g DESC, name NULLS FIRST, id', 5000, 'GpuSort 1');
SELECT pg_temp.compared('SELECT id FROM events ORDER BY id USING >', 5000, 'GpuSort 1');
SELECT pg_temp.compared('SELECT k + 1 FROM events ORDER BY -k, id', 5000, 'GpuSort 1');
SELECT pg_temp.compared('SELECT name FROM events ORDER BY id', 5000, 'GpuSort 1');

-- too few rows, types without an exact encoding, the switch
SELECT pg_temp.compared('SELECT * FROM few ORDER BY id', 100, 'Sort 1');
SELECT pg_temp.compared('SELECT row(k, g) FROM events ORDER BY row(k, g)', 5000, 'GpuSort 1');
SET gpusort.min_rows = 0;
SELECT pg_temp.compared('SELECT * FROM few ORDER BY id', 100, 'GpuSort 1');
SELECT pg_temp.stock('min_rows') AS min_rows \gset
SET gpusort.enabled = off;
SELECT pg_temp.sorted('SELECT * FROM events ORDER BY id', 'Sort 1');
RESET gpusort.enabled;

-- window functions
SELECT pg_temp.planned('SELECT rank() OVER (ORDER BY k), row_number() OVER (PARTITION BY g ORDER BY id) FROM events', 'WindowAgg(GpuSort(WindowAgg(GpuSort(Seq Scan))))');
SELECT pg_temp.compared('SELECT id, rank() OVER (ORDER BY k), sum(k) OVER (PARTITION BY g ORDER BY id) FROM events', 5000, 'GpuSort 2', false);
SELECT pg_temp.compared('SELECT id, rank() OVER (PARTITION BY g ORDER BY k), rank() OVER (PARTITION BY g ORDER BY k DESC) FROM events', 5000, 'GpuSort 2', false);

-- a path in more of an order than the window needs is replaced by a sort in all of it, which ORDER BY counts on
CREATE TABLE indexed AS SELECT i % 3 AS a, i % 4 AS b, i * 7919 % 2003 AS c, i AS d FROM generate_series(1, 20000) AS i;
CREATE INDEX ON indexed (a, b, c);
VACUUM ANALYZE indexed;
SELECT pg_temp.same_rows('SELECT a, b, c, sum(d), rank() OVER (PARTITION BY a ORDER BY b) FROM indexed GROUP BY a, b, c ORDER BY a, b, c');
SELECT pg_temp.same_rows('SELECT a, sum(d), rank() OVER (PARTITION BY a ORDER BY b) FROM indexed GROUP BY a, b, c', false);
DROP TABLE indexed;

-- merge joins: both inputs, the inner one with mark and restore
SET enable_hashjoin = off;
SET enable_nestloop = off;
SELECT pg_temp.planned('SELECT count(*) FROM events a JOIN events b USING (k)', 'Aggregate(Merge Join(GpuSort(Seq Scan), GpuSort(Seq Scan)))');
SELECT pg_temp.compared('SELECT count(*), sum(a.id), sum(b.id) FROM events a JOIN events b USING (k)', 1, 'GpuSort 2');
SELECT pg_temp.compared('SELECT a.id, b.id FROM events a LEFT JOIN events b ON a.id = b.k AND b.g = 3', 5155, 'GpuSort 1, Sort 1', false);
SELECT pg_temp.compared('SELECT a.id, b.id FROM events a FULL JOIN events b ON a.id = b.k', 9803, 'GpuSort 2', false);
RESET enable_hashjoin;
RESET enable_nestloop;

-- grouping, DISTINCT, set operations
SET enable_hashagg = off;
SELECT pg_temp.planned('SELECT k, count(*) FROM events GROUP BY k', 'Aggregate(GpuSort(Seq Scan))');
SELECT pg_temp.compared('SELECT k, g, count(*) FROM events GROUP BY k, g', 2800, 'GpuSort 1', false);
SELECT pg_temp.compared('SELECT k FROM events GROUP BY k', 400, 'GpuSort 1', false);
SELECT pg_temp.planned('SELECT DISTINCT k FROM events', 'Unique(GpuSort(Seq Scan))');
SELECT pg_temp.compared('SELECT DISTINCT k, g FROM events', 2800, 'GpuSort 1', false);
SELECT pg_temp.compared('SELECT DISTINCT ON (k) * FROM events ORDER BY k, id DESC', 400, 'Sort 1');
SELECT pg_temp.compared_all('SELECT k FROM events UNION SELECT g FROM events', 400, false);
SELECT pg_temp.compared_all('SELECT k FROM events INTERSECT SELECT g FROM events', 7, false);
SELECT pg_temp.compared_all('SELECT k FROM events EXCEPT ALL SELECT g FROM events', 4912, false);
RESET enable_hashagg;

-- the sorts that only describe keys to a grouping-sets aggregate stay
SELECT pg_temp.compared('SELECT k, g, count(*) FROM events GROUP BY GROUPING SETS ((k, g), (g), (k), ())', 3208, 'none', false);
SET enable_hashagg = off;
SELECT pg_temp.compared('SELECT k, g, count(*) FROM events GROUP BY GROUPING SETS ((k, g), (g), (k), ())', 3208, 'GpuSort 1', false);
SELECT pg_temp.compared('SELECT k, g, count(*) FROM events GROUP BY CUBE (k, g)', 3208, 'GpuSort 1', false);
RESET enable_hashagg;

-- aggregates with an order of their own
SELECT pg_temp.same_rows('SELECT string_agg(name, '','' ORDER BY id) FROM events');
SET gpusort.min_rows = 100;
SELECT pg_temp.same_rows('SELECT g, array_agg(k ORDER BY id), count(DISTINCT k) FROM events GROUP BY g', false);
SELECT pg_temp.stock('min_rows') AS min_rows \gset

-- incremental sort stays; a full sort below one does not
CREATE INDEX events_g ON events (g);
SET enable_sort = off;
SELECT pg_temp.compared('SELECT * FROM events ORDER BY g, id', 5000, 'Incremental Sort 1');
SELECT pg_temp.compared('SELECT * FROM (SELECT * FROM events ORDER BY k OFFSET 0) s ORDER BY k, id', 5000, 'GpuSort 1, Incremental Sort 1');
RESET enable_sort;
DROP INDEX events_g;

-- Append, MergeAppend
SELECT pg_temp.planned('(SELECT * FROM events ORDER BY id OFFSET 1) UNION ALL (SELECT * FROM events ORDER BY k OFFSET 2)', 'Append(Limit(GpuSort(Seq Scan)), Limit(GpuSort(Seq Scan)))');
CREATE TABLE parts (id int8, k int4) PARTITION BY HASH (id);
CREATE TABLE parts_0 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO parts SELECT id, k FROM events;
ANALYZE parts;
SELECT pg_temp.compared('SELECT * FROM parts ORDER BY id', 5000, 'GpuSort 1');
CREATE INDEX ON parts_0 (id);
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SET gpusort.cpu_row_cost = 1000;
SELECT pg_temp.planned('SELECT * FROM parts ORDER BY id', 'Merge Append(Index Scan, GpuSort(Seq Scan))');
SELECT pg_temp.compared('SELECT * FROM parts ORDER BY id', 5000, 'GpuSort 1');
SELECT pg_temp.planned('SELECT * FROM parts ORDER BY id LIMIT 10', 'Limit(Merge Append(Index Scan, Sort(Seq Scan)))');
RESET gpusort.cpu_row_cost;
RESET enable_seqscan;
RESET enable_bitmapscan;

-- subplans, CTEs, InitPlans, functions
SELECT pg_temp.planned('WITH s AS MATERIALIZED (SELECT * FROM events ORDER BY id) SELECT count(*) FROM s', 'Aggregate(GpuSort as CTE s(Seq Scan), CTE Scan)');
SELECT pg_temp.compared('SELECT (SELECT array_agg(id) FROM (SELECT id FROM events ORDER BY k, id) s)', 1, 'GpuSort 1');
SELECT pg_temp.compared('SELECT g, ARRAY(SELECT e.id FROM events e WHERE e.k > x.g ORDER BY e.id) FROM (SELECT DISTINCT g FROM few) x', 7, 'none', false);
SELECT pg_temp.compared('SELECT * FROM events WHERE id IN (SELECT k FROM events ORDER BY id OFFSET 3)', 197, 'GpuSort 1', false);
CREATE FUNCTION ordered_ids() RETURNS SETOF int8 LANGUAGE plpgsql STABLE AS $$
BEGIN
	RETURN QUERY SELECT id FROM events ORDER BY k DESC, id;
END $$;
SELECT pg_temp.compared('SELECT * FROM ordered_ids() WITH ORDINALITY', 5000, 'none');
CREATE FUNCTION inlined_ids() RETURNS SETOF int8 LANGUAGE sql STABLE AS 'SELECT id FROM events ORDER BY id';
SELECT pg_temp.sorted('SELECT * FROM inlined_ids()', 'GpuSort 1');
SELECT pg_temp.sorted('INSERT INTO few SELECT * FROM events ORDER BY id', 'GpuSort 1');
SELECT pg_temp.sorted('CREATE TABLE nothing AS SELECT * FROM events ORDER BY id', 'GpuSort 1');
SELECT pg_temp.sorted('DECLARE c CURSOR FOR SELECT * FROM events ORDER BY id', 'GpuSort 1');
SELECT pg_temp.planned('SELECT * FROM events ORDER BY id FOR UPDATE', 'LockRows(GpuSort(Seq Scan))');
SELECT pg_temp.sorted('WITH RECURSIVE r AS ((SELECT id FROM events ORDER BY id OFFSET 0) UNION ALL SELECT id + 1 FROM r WHERE id < 0) TABLE r', 'GpuSort 1');

-- set-returning functions above a sort
SELECT pg_temp.compared('SELECT id, generate_series(1, 2) FROM events ORDER BY id', 10000, 'GpuSort 1');

-- LIMIT: small bounds stay PostgreSQL's wherever the executor passes them on
SELECT pg_temp.compared('SELECT * FROM events ORDER BY id LIMIT 10', 10, 'Sort 1');
SELECT pg_temp.compared('SELECT * FROM events ORDER BY id LIMIT 10 OFFSET 489', 10, 'Sort 1');
SELECT pg_temp.compared('SELECT * FROM events ORDER BY id LIMIT 10 OFFSET 490', 10, 'GpuSort 1');
SELECT pg_temp.compared('SELECT * FROM events ORDER BY id LIMIT 500', 500, 'GpuSort 1');
SELECT pg_temp.compared('SELECT * FROM events ORDER BY id LIMIT NULL OFFSET 5', 4995, 'GpuSort 1');
SELECT pg_temp.compared('SELECT * FROM events ORDER BY id LIMIT 0', 0, 'Sort 1');
SELECT pg_temp.compared('SELECT * FROM events ORDER BY k FETCH FIRST 5 ROWS WITH TIES', 12, 'GpuSort 1', false);
SELECT pg_temp.compared('SELECT * FROM (SELECT * FROM events ORDER BY id OFFSET 0) s LIMIT 10', 10, 'Sort 1');
SELECT pg_temp.compared('SELECT * FROM (SELECT * FROM events ORDER BY id OFFSET 0) s WHERE k <> g LIMIT 10', 10, 'GpuSort 1');
SELECT pg_temp.compared('SELECT id, random() > 2 FROM (SELECT id FROM events ORDER BY id) s LIMIT 10', 10, 'Sort 1');
SELECT pg_temp.compared('SELECT * FROM parts ORDER BY k, id LIMIT 10', 10, 'Sort 1');
SELECT pg_temp.compared('SELECT k, count(*) FROM events GROUP BY k ORDER BY k LIMIT 10', 10, 'GpuSort 1');
SELECT pg_temp.compared('SELECT rank() OVER (ORDER BY id) FROM events LIMIT 10', 10, 'GpuSort 1', false);
SELECT pg_temp.compared('SELECT DISTINCT ON (id) id FROM events ORDER BY id LIMIT 10', 10, 'GpuSort 1');
SELECT pg_temp.compared('SELECT * FROM events ORDER BY id LIMIT (SELECT 10)', 10, 'GpuSort 1');

-- prepared statements: a generic plan sees its LIMIT only at run time
PREPARE top(int) AS SELECT id FROM events ORDER BY id LIMIT $1;
SET plan_cache_mode = force_generic_plan;
SELECT pg_temp.sorted('EXECUTE top(10)', 'GpuSort 1');
SELECT results_eq('EXECUTE top(3)', 'VALUES (5::int8), (6), (7)', 'EXECUTE top(3)');
SET plan_cache_mode = force_custom_plan;
SELECT pg_temp.sorted('EXECUTE top(10)', 'Sort 1');
SELECT pg_temp.sorted('EXECUTE top(4000)', 'GpuSort 1');
RESET plan_cache_mode;

-- parallel plans: each worker sorts, and knows of no bound that comes at run time
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET gpusort.min_rows = 100;
SELECT pg_temp.planned('SELECT * FROM events ORDER BY id', 'GpuMerge(Gather Merge(GpuSort(Seq Scan)))');
SELECT pg_temp.compared('SELECT * FROM events ORDER BY id', 5000, 'GpuSort 1');
SELECT pg_temp.planned('SELECT * FROM events ORDER BY id LIMIT 10', 'Limit(Gather Merge(Sort(Seq Scan)))');
SELECT pg_temp.planned('SELECT * FROM events ORDER BY id LIMIT 4000', 'Limit(GpuMerge(Gather Merge(GpuSort(Seq Scan))))');
PREPARE parallel_top(int) AS SELECT id FROM events ORDER BY id LIMIT $1;
SET plan_cache_mode = force_generic_plan;
SELECT pg_temp.planned('EXECUTE parallel_top(10)', 'Limit(Gather Merge(Sort(Seq Scan)))');
SELECT results_eq('EXECUTE parallel_top(3)', 'VALUES (5::int8), (6), (7)', 'EXECUTE parallel_top(3)');
RESET plan_cache_mode;
SELECT pg_temp.same_rows('SELECT k, count(*) FROM events GROUP BY k', false);
SELECT pg_temp.same_rows('SELECT DISTINCT k, id FROM events', false);
SET max_parallel_workers_per_gather = 0;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;
SELECT pg_temp.stock('min_rows') AS min_rows \gset

DROP SCHEMA replaced_sorts CASCADE;
SELECT * FROM finish();
