-- Others keep marks of theirs in range tables, where an entry's kind has nothing, as Citus does: queries are planned as without them, by
-- shares and not.  The marks are made by a library of test/datums, which run.sh builds.
\ir setup.psql
CREATE EXTENSION IF NOT EXISTS gpusort;
LOAD 'marks';
SELECT no_plan();
SET gpusort.aggregates = on;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0.1;
SET min_parallel_table_scan_size = 0;
-- sorting in workers would be cheaper than reading these few rows in each of them
SET seq_page_cost = 0;
SET cpu_tuple_cost = 0.0001;
SET jit = off;
DROP SCHEMA IF EXISTS gpusort_marked CASCADE;
CREATE SCHEMA gpusort_marked;
SET search_path = gpusort_marked, public;
CREATE TABLE t AS SELECT hashint4(i) % 1000 AS g, i AS k, i % 40 AS c FROM generate_series(1, 20000) i;
CREATE TABLE parts (g int, k int, c int) PARTITION BY RANGE (g);
CREATE TABLE parts_0 PARTITION OF parts FOR VALUES FROM (MINVALUE) TO (0);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (0) TO (MAXVALUE);
INSERT INTO parts SELECT * FROM t;
CREATE VIEW v WITH (security_barrier) AS SELECT * FROM t WHERE c <> 7;
VACUUM ANALYZE t, parts;

-- The rows of a query in one value.
CREATE FUNCTION digest_of(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text;
BEGIN
	EXECUTE format('SELECT count(*) || '' rows '' || sum(hashtextextended(q::text, 0)) FROM (%s) AS q', query) INTO result;
	RETURN result;
END $$;

-- Two tests: the rows are those of a planner that knows nothing of marks, and the plan shares the groups out if that can be.
CREATE FUNCTION check_query(query text, shared boolean) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	ours text;
	theirs text;
BEGIN
	PERFORM set_config('gpusort.enabled', 'off', true), set_config('max_parallel_workers_per_gather', '0', true);
	theirs := digest_of(query);
	PERFORM set_config('gpusort.enabled', 'on', true), set_config('max_parallel_workers_per_gather', '2', true);
	ours := digest_of(query);
	RETURN NEXT is(ours, theirs, query);
	RETURN NEXT is(pg_temp.plan_of(query) ~ 'Share Key', shared, CASE WHEN shared THEN 'by shares' ELSE 'not by shares' END);
END $$;

SELECT check_query(query, true) FROM unnest(ARRAY[
	'SELECT g, count(DISTINCT k), array_agg(c ORDER BY k) FROM t GROUP BY g',
	'SELECT g, k, rank() OVER (PARTITION BY g ORDER BY k) FROM t',
	'SELECT DISTINCT ON (g) g, k FROM t ORDER BY g, k DESC',
	'SELECT k, sum(c) OVER (PARTITION BY g ORDER BY k) FROM parts',
	'SELECT k, sum(c) OVER (PARTITION BY g ORDER BY k) FROM v',
	'SELECT k, sum(c) OVER (PARTITION BY g ORDER BY k) FROM t JOIN (VALUES (1, 2), (3, 4)) AS few (c, x) USING (c)',
	'SELECT k, sum(c) OVER (PARTITION BY g ORDER BY k) FROM t JOIN generate_series(1, 20) AS few (c) USING (c)']) AS query;
SELECT check_query(query, false) FROM unnest(ARRAY[
	'SELECT g, count(*) FROM t GROUP BY g ORDER BY g LIMIT 1',
	'SELECT count(DISTINCT g), percentile_disc(0.5) WITHIN GROUP (ORDER BY k) FROM t',
	'WITH w AS MATERIALIZED (SELECT * FROM t) SELECT g, count(DISTINCT k) FROM w GROUP BY g',
	'SELECT DISTINCT g FROM (SELECT * FROM t UNION ALL SELECT * FROM parts) AS u',
	'SELECT g, count(DISTINCT k) FROM t WHERE c IN (SELECT c FROM parts LIMIT 5) GROUP BY g',
	-- what other kinds of entries run is still found
	'SELECT k, count(*) OVER (PARTITION BY g) FROM t JOIN (VALUES ((7 IN (SELECT c FROM t LIMIT 5))::int + 7), (8)) AS few (c) USING (c)',
	'SELECT k, count(*) OVER (PARTITION BY g) FROM t JOIN generate_series(1, (7 IN (SELECT c FROM t LIMIT 5))::int + 20) AS few (c) USING (c)']) AS query;
DROP SCHEMA gpusort_marked CASCADE;
SELECT * FROM finish();
