-- Which sorts are replaced, where, and at what cost.
\set ECHO none
\getenv srcdir PG_ABS_SRCDIR
\set helpers :srcdir '/helpers.psql'
\i :helpers
\set ECHO all
LOAD 'gpusort';
CREATE SCHEMA plans;
SET search_path = plans;
SET max_parallel_workers_per_gather = 0;
SET enable_memoize = off;
SET jit = off;
CREATE TABLE events (id int8, k int4, g int4, name text COLLATE "C", p point);
INSERT INTO events SELECT i * 7919 % 10007, i * 31 % 400, i % 7, 'n' || i * 13 % 500, point(i, i) FROM generate_series(1, 5000) AS i;
CREATE TABLE few AS SELECT * FROM events LIMIT 100;
ANALYZE events, few;

-- ORDER BY
SELECT pg_temp.plan('SELECT * FROM events ORDER BY id');
SELECT pg_temp.compare('SELECT * FROM events ORDER BY g DESC, name NULLS FIRST, id');
SELECT pg_temp.compare('SELECT id FROM events ORDER BY id USING >');
SELECT pg_temp.compare('SELECT k + 1 FROM events ORDER BY -k, id');
SELECT pg_temp.compare('SELECT name FROM events ORDER BY id');

-- too few rows, types without an exact encoding, the switch
SELECT pg_temp.compare('SELECT * FROM few ORDER BY id');
SELECT pg_temp.compare('SELECT row(k, g) FROM events ORDER BY row(k, g)');
SET gpusort.min_rows = 0;
SELECT pg_temp.compare('SELECT * FROM few ORDER BY id');
RESET gpusort.min_rows;
SET gpusort.enabled = off;
SELECT pg_temp.sorts('SELECT * FROM events ORDER BY id');
RESET gpusort.enabled;

-- DEBUG1 says why a sort stays
SET client_min_messages = debug1;
EXPLAIN (COSTS OFF) SELECT * FROM few ORDER BY id;
EXPLAIN (COSTS OFF) SELECT * FROM events ORDER BY row(k, g);
EXPLAIN (COSTS OFF) SELECT * FROM events ORDER BY id LIMIT 10;
RESET client_min_messages;

-- window functions
SELECT pg_temp.plan('SELECT rank() OVER (ORDER BY k), row_number() OVER (PARTITION BY g ORDER BY id) FROM events');
SELECT pg_temp.compare('SELECT id, rank() OVER (ORDER BY k), sum(k) OVER (PARTITION BY g ORDER BY id) FROM events', false);
SELECT pg_temp.compare('SELECT id, rank() OVER (PARTITION BY g ORDER BY k), rank() OVER (PARTITION BY g ORDER BY k DESC) FROM events', false);

-- a path in more of an order than the window needs is replaced by a sort in all of it, which ORDER BY counts on
CREATE TABLE indexed AS SELECT i % 3 AS a, i % 4 AS b, i * 7919 % 2003 AS c, i AS d FROM generate_series(1, 20000) AS i;
CREATE INDEX ON indexed (a, b, c);
VACUUM ANALYZE indexed;
SELECT pg_temp.compare('SELECT a, b, c, sum(d), rank() OVER (PARTITION BY a ORDER BY b) FROM indexed GROUP BY a, b, c ORDER BY a, b, c') ~ '^same';
SELECT pg_temp.compare('SELECT a, sum(d), rank() OVER (PARTITION BY a ORDER BY b) FROM indexed GROUP BY a, b, c', false) ~ '^same';
DROP TABLE indexed;

-- merge joins: both inputs, the inner one with mark and restore
SET enable_hashjoin = off;
SET enable_nestloop = off;
SELECT pg_temp.plan('SELECT count(*) FROM events a JOIN events b USING (k)');
SELECT pg_temp.compare('SELECT count(*), sum(a.id), sum(b.id) FROM events a JOIN events b USING (k)');
SELECT pg_temp.compare('SELECT a.id, b.id FROM events a LEFT JOIN events b ON a.id = b.k AND b.g = 3', false);
SELECT pg_temp.compare('SELECT a.id, b.id FROM events a FULL JOIN events b ON a.id = b.k', false);
RESET enable_hashjoin;
RESET enable_nestloop;

-- grouping, DISTINCT, set operations
SET enable_hashagg = off;
SELECT pg_temp.plan('SELECT k, count(*) FROM events GROUP BY k');
SELECT pg_temp.compare('SELECT k, g, count(*) FROM events GROUP BY k, g', false);
SELECT pg_temp.compare('SELECT k FROM events GROUP BY k', false);
SELECT pg_temp.plan('SELECT DISTINCT k FROM events');
SELECT pg_temp.compare('SELECT DISTINCT k, g FROM events', false);
SELECT pg_temp.compare('SELECT DISTINCT ON (k) * FROM events ORDER BY k, id DESC');
SELECT pg_temp.compare_all('SELECT k FROM events UNION SELECT g FROM events', false);
SELECT pg_temp.compare_all('SELECT k FROM events INTERSECT SELECT g FROM events', false);
SELECT pg_temp.compare_all('SELECT k FROM events EXCEPT ALL SELECT g FROM events', false);
RESET enable_hashagg;

-- the sorts that only describe keys to a grouping-sets aggregate stay
SELECT pg_temp.compare('SELECT k, g, count(*) FROM events GROUP BY GROUPING SETS ((k, g), (g), (k), ())', false);
SET enable_hashagg = off;
SELECT pg_temp.compare('SELECT k, g, count(*) FROM events GROUP BY GROUPING SETS ((k, g), (g), (k), ())', false);
SELECT pg_temp.compare('SELECT k, g, count(*) FROM events GROUP BY CUBE (k, g)', false);
RESET enable_hashagg;

-- aggregates with an order of their own
SELECT pg_temp.compare('SELECT string_agg(name, '','' ORDER BY id) FROM events') ~ '^same';
SET gpusort.min_rows = 100;
SELECT pg_temp.compare('SELECT g, array_agg(k ORDER BY id), count(DISTINCT k) FROM events GROUP BY g', false) ~ '^same';
RESET gpusort.min_rows;

-- incremental sort stays; a full sort below one does not
CREATE INDEX events_g ON events (g);
SET enable_sort = off;
SELECT pg_temp.compare('SELECT * FROM events ORDER BY g, id');
SELECT pg_temp.compare('SELECT * FROM (SELECT * FROM events ORDER BY k OFFSET 0) s ORDER BY k, id');
RESET enable_sort;
DROP INDEX events_g;

-- Append, MergeAppend
SELECT pg_temp.plan('(SELECT * FROM events ORDER BY id OFFSET 1) UNION ALL (SELECT * FROM events ORDER BY k OFFSET 2)');
CREATE TABLE parts (id int8, k int4) PARTITION BY HASH (id);
CREATE TABLE parts_0 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO parts SELECT id, k FROM events;
ANALYZE parts;
SELECT pg_temp.compare('SELECT * FROM parts ORDER BY id');
CREATE INDEX ON parts_0 (id);
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SET gpusort.cpu_row_cost = 1000;
SELECT pg_temp.plan('SELECT * FROM parts ORDER BY id');
SELECT pg_temp.compare('SELECT * FROM parts ORDER BY id');
SELECT pg_temp.plan('SELECT * FROM parts ORDER BY id LIMIT 10');
RESET gpusort.cpu_row_cost;
RESET enable_seqscan;
RESET enable_bitmapscan;

-- subplans, CTEs, InitPlans, functions
SELECT pg_temp.plan('WITH s AS MATERIALIZED (SELECT * FROM events ORDER BY id) SELECT count(*) FROM s');
SELECT pg_temp.compare('SELECT (SELECT array_agg(id) FROM (SELECT id FROM events ORDER BY k, id) s)');
SELECT pg_temp.compare('SELECT g, ARRAY(SELECT e.id FROM events e WHERE e.k > x.g ORDER BY e.id) FROM (SELECT DISTINCT g FROM few) x', false);
SELECT pg_temp.compare('SELECT * FROM events WHERE id IN (SELECT k FROM events ORDER BY id OFFSET 3)', false);
CREATE FUNCTION ordered_ids() RETURNS SETOF int8 LANGUAGE plpgsql STABLE AS $$
BEGIN
	RETURN QUERY SELECT id FROM events ORDER BY k DESC, id;
END $$;
SELECT pg_temp.compare('SELECT * FROM ordered_ids() WITH ORDINALITY');
CREATE FUNCTION inlined_ids() RETURNS SETOF int8 LANGUAGE sql STABLE AS 'SELECT id FROM events ORDER BY id';
SELECT pg_temp.sorts('SELECT * FROM inlined_ids()');
SELECT pg_temp.sorts('INSERT INTO few SELECT * FROM events ORDER BY id');
SELECT pg_temp.sorts('CREATE TABLE nothing AS SELECT * FROM events ORDER BY id');
SELECT pg_temp.sorts('DECLARE c CURSOR FOR SELECT * FROM events ORDER BY id');
SELECT pg_temp.plan('SELECT * FROM events ORDER BY id FOR UPDATE');
SELECT pg_temp.sorts('WITH RECURSIVE r AS ((SELECT id FROM events ORDER BY id OFFSET 0) UNION ALL SELECT id + 1 FROM r WHERE id < 0) TABLE r');

-- set-returning functions above a sort
SELECT pg_temp.compare('SELECT id, generate_series(1, 2) FROM events ORDER BY id');

-- LIMIT: small bounds stay PostgreSQL's wherever the executor passes them on
SELECT pg_temp.compare('SELECT * FROM events ORDER BY id LIMIT 10');
SELECT pg_temp.compare('SELECT * FROM events ORDER BY id LIMIT 10 OFFSET 489');
SELECT pg_temp.compare('SELECT * FROM events ORDER BY id LIMIT 10 OFFSET 490');
SELECT pg_temp.compare('SELECT * FROM events ORDER BY id LIMIT 500');
SELECT pg_temp.compare('SELECT * FROM events ORDER BY id LIMIT NULL OFFSET 5');
SELECT pg_temp.compare('SELECT * FROM events ORDER BY id LIMIT 0');
SELECT pg_temp.compare('SELECT * FROM events ORDER BY k FETCH FIRST 5 ROWS WITH TIES', false);
SELECT pg_temp.compare('SELECT * FROM (SELECT * FROM events ORDER BY id OFFSET 0) s LIMIT 10');
SELECT pg_temp.compare('SELECT * FROM (SELECT * FROM events ORDER BY id OFFSET 0) s WHERE k <> g LIMIT 10');
SELECT pg_temp.compare('SELECT id, random() > 2 FROM (SELECT id FROM events ORDER BY id) s LIMIT 10');
SELECT pg_temp.compare('SELECT * FROM parts ORDER BY k, id LIMIT 10');
SELECT pg_temp.compare('SELECT k, count(*) FROM events GROUP BY k ORDER BY k LIMIT 10');
SELECT pg_temp.compare('SELECT rank() OVER (ORDER BY id) FROM events LIMIT 10', false);
SELECT pg_temp.compare('SELECT DISTINCT ON (id) id FROM events ORDER BY id LIMIT 10');
SELECT pg_temp.compare('SELECT * FROM events ORDER BY id LIMIT (SELECT 10)');

-- prepared statements: a generic plan sees its LIMIT only at run time
PREPARE top(int) AS SELECT id FROM events ORDER BY id LIMIT $1;
SET plan_cache_mode = force_generic_plan;
SELECT pg_temp.sorts('EXECUTE top(10)');
EXECUTE top(3);
SET plan_cache_mode = force_custom_plan;
SELECT pg_temp.sorts('EXECUTE top(10)');
SELECT pg_temp.sorts('EXECUTE top(4000)');
RESET plan_cache_mode;

-- parallel plans: each worker sorts, and knows of no bound that comes at run time
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET gpusort.min_rows = 100;
SELECT pg_temp.plan('SELECT * FROM events ORDER BY id');
SELECT pg_temp.compare('SELECT * FROM events ORDER BY id');
SELECT pg_temp.plan('SELECT * FROM events ORDER BY id LIMIT 10');
SELECT pg_temp.plan('SELECT * FROM events ORDER BY id LIMIT 4000');
PREPARE parallel_top(int) AS SELECT id FROM events ORDER BY id LIMIT $1;
SET plan_cache_mode = force_generic_plan;
SELECT pg_temp.plan('EXECUTE parallel_top(10)');
EXECUTE parallel_top(3);
RESET plan_cache_mode;
SELECT pg_temp.compare('SELECT k, count(*) FROM events GROUP BY k', false) ~ '^same';
SELECT pg_temp.compare('SELECT DISTINCT k, id FROM events', false) ~ '^same';
SET max_parallel_workers_per_gather = 0;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;
RESET gpusort.min_rows;

SET client_min_messages = warning;
DROP SCHEMA plans CASCADE;
