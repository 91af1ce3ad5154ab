-- What EXPLAIN shows of answers from resident columns, and why DEBUG1 says that there are none.
LOAD 'gpusort';
SET client_min_messages = warning;
CREATE EXTENSION IF NOT EXISTS gpusort;
SET max_parallel_workers_per_gather = 0;
SET gpusort.explain_machine = off;
SET gpusort.columns = force;
CREATE SCHEMA held;
SET search_path = held, public;
CREATE TABLE sales (id bigint, shop int, amount numeric(10, 2), ts timestamp, paid bool, note text);
INSERT INTO sales SELECT i, i % 7, i / 100.0, timestamp '2025-01-01' + i * interval '1 hour', i % 3 = 0, 'x' FROM generate_series(1, 1000) AS i;
VACUUM sales;
SELECT gpusort_columns_add('sales', '{id,shop,amount,ts,paid}');
EXPLAIN (COSTS OFF) SELECT sum(amount) / count(*) AS average FROM sales WHERE ts >= '2025-01-05' AND shop IN (1, 2) AND paid;
EXPLAIN (COSTS OFF, VERBOSE) SELECT sum(amount) / count(*) AS average, max(id) FROM sales WHERE ts >= '2025-01-05';
EXPLAIN (COSTS OFF) SELECT t.shop, x.s FROM generate_series(1, 3) AS t (shop), LATERAL (SELECT sum(amount) AS s FROM sales AS s WHERE s.shop = t.shop) AS x;
EXPLAIN (COSTS OFF) SELECT shop, paid, count(*) FILTER (WHERE id > 5) FROM sales WHERE id < 500 GROUP BY shop, paid HAVING count(*) > 5 AND avg(amount) > 1 ORDER BY 3 DESC, 1 LIMIT 3;
EXPLAIN (COSTS OFF) SELECT shop, paid, count(*) FROM sales GROUP BY shop, paid HAVING sum(amount) > 100 ORDER BY 3 DESC, 1 LIMIT 3 OFFSET 2;
-- the plans below are PostgreSQL's, which differ from version to version
CREATE FUNCTION node(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || query LOOP
		EXIT WHEN line ~ '->';
		RETURN NEXT line;
	END LOOP;
END $$;
SELECT node('SELECT shop, max(total) FROM (SELECT shop, paid, lag(paid) OVER (w ROWS 2 PRECEDING) AS before, sum(amount) OVER w AS total FROM sales WHERE id < 500 WINDOW w AS (PARTITION BY shop ORDER BY ts DESC, id NULLS FIRST)) AS q WHERE paid IS DISTINCT FROM before GROUP BY shop');
SELECT node('SELECT shop, cardinality(gpu_rle(paid ORDER BY ts)) FROM sales GROUP BY shop');
SELECT node('SELECT * FROM (SELECT id, shop, amount, row_number() OVER (PARTITION BY shop ORDER BY amount DESC, id) AS n FROM sales) AS q WHERE n < 3');
SELECT node('SELECT count(*) FROM (SELECT run, paid, min(ts) FROM (SELECT *, gpu_run_id(paid) OVER (ORDER BY ts) AS run FROM sales) AS r GROUP BY run, paid) AS q');
-- where pages came from depends on the keeper
CREATE FUNCTION masked(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF) ' || query LOOP
		line := regexp_replace(line, 'Pages: .*', 'Pages: ...');
		line := regexp_replace(line, '(Pages.*>)\d+<', '\1...<');
		line := regexp_replace(line, 'Engine: .*', 'Engine: ...');
		-- from 16 on by the aggregate's values, too
		line := regexp_replace(line, 'Sort Key: shop, id', 'Sort Key: shop');
		RETURN NEXT regexp_replace(line, '\.00 loops', ' loops');
	END LOOP;
END $$;
SELECT masked('SELECT sum(amount), min(ts) FROM sales WHERE id < 500');
SELECT masked('SELECT shop, count(DISTINCT id), percentile_cont(0.5) WITHIN GROUP (ORDER BY amount) FROM sales GROUP BY shop');
EXPLAIN (COSTS OFF) SELECT * FROM sales WHERE shop = 3 AND note = 'x' AND paid;
EXPLAIN (COSTS OFF, VERBOSE) SELECT note || id AS label FROM sales AS s WHERE ts >= '2025-01-05' ORDER BY amount DESC, ts NULLS FIRST LIMIT 5 OFFSET 20;
SELECT masked('SELECT * FROM sales WHERE shop = 3 AND note <> ''y'' AND paid');
SELECT masked('SELECT note FROM sales ORDER BY paid, amount DESC LIMIT 5 OFFSET 20');
SET gpusort.columns = on;
PREPARE sum_of AS SELECT sum(amount) FROM sales;
SET plan_cache_mode = force_generic_plan;
SET gpusort.columns = force;
EXPLAIN (COSTS OFF) EXECUTE sum_of;
SET gpusort.columns = off;
SELECT masked('EXECUTE sum_of');
SET gpusort.columns = force;
SET client_min_messages = debug1;
EXPLAIN (COSTS OFF) SELECT count(note) FROM sales;
EXPLAIN (COSTS OFF) SELECT count(*) FROM sales WHERE id = 5 OR shop = 5;
EXPLAIN (COSTS OFF) SELECT count(DISTINCT shop + 1) FROM sales;
EXPLAIN (COSTS OFF) SELECT max(amount) FROM sales WHERE note = 'x';
SELECT node('SELECT max(average) FROM (SELECT stddev(amount) OVER (ORDER BY id) AS average FROM sales) AS q');
EXPLAIN (COSTS OFF) SELECT id FROM sales WHERE id = 5 FOR UPDATE;
SET client_min_messages = warning;
SELECT gpusort_columns_remove('sales');
DROP SCHEMA held CASCADE;
