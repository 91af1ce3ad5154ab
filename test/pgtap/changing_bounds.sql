-- A LIMIT that wants more rows, or fewer, each time it is started again.  PostgreSQL tells parallel workers of it once and then starts them with the same
-- number again; no plan in which a node of ours sorts may go by that.  All rows come from one worker, whose share of them is then known: all.
\ir setup.psql
SELECT plan(3 * 15 + 8);
\ir parallel.psql
SET max_parallel_workers = 1;
SET enable_memoize = off;
DROP SCHEMA IF EXISTS gpusort_changing CASCADE;
CREATE SCHEMA gpusort_changing;
SET search_path = gpusort_changing, public;

CREATE TABLE v (id integer, k bigint, few integer, j jsonb, t text COLLATE "C", part integer);
INSERT INTO v SELECT i, hashint8extended(i, 1), hashint4(i) % 40, jsonb_build_object('k', hashint4(i) % 500), md5(i::text), i % 10 FROM generate_series(1, 6000) AS i;
CREATE TABLE w AS SELECT id, hashint4(id) AS n FROM v;
CREATE TABLE p (LIKE v) PARTITION BY LIST (part);
SELECT format('CREATE TABLE p%s PARTITION OF p FOR VALUES IN (%1$s)', i) FROM generate_series(0, 9) AS i \gexec
INSERT INTO p SELECT * FROM v;
CREATE TABLE b AS SELECT * FROM (VALUES (1, 50), (2, 3000), (3, 2000), (4, NULL), (5, 0), (6, 1200), (7, 7000)) AS b (round, n);
ALTER TABLE b SET (parallel_workers = 0);
VACUUM ANALYZE v, w, p, b;

-- Three tests: the plan, and what comes with a bound that LIMIT alone makes, and OFFSET, too.
CREATE FUNCTION pg_temp.changing(what text, query text, plan text, label text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	rounds constant text := 'SELECT round, x.* FROM b, LATERAL (SELECT %s FROM (%s %s) AS y) AS x ORDER BY round';
	limited constant text := format(rounds, what, query, 'LIMIT b.n');
	workers constant integer := CASE WHEN plan ~ 'Gather' THEN 2 ELSE 0 END;
BEGIN
	PERFORM set_config('max_parallel_workers_per_gather', workers::text, true), set_config('parallel_leader_participation', 'off', true);
	RETURN NEXT matches(pg_temp.plan_of(limited), plan, label || ': plan');
	RETURN NEXT pg_temp.same_rows(limited, label || ': LIMIT', ARRAY[workers]);
	RETURN NEXT pg_temp.same_rows(format(rounds, what, query, 'OFFSET b.round * 200 LIMIT 1700'), label || ': OFFSET', ARRAY[workers]);
END $$;
\set in_order 'count(*), md5(string_agg(y::text, '',''))'

-- one process
SELECT pg_temp.changing(:'in_order', 'SELECT k, id FROM v ORDER BY k', 'Limit\s+->  Custom Scan \(GpuSort\)', 'one sort');
SELECT pg_temp.changing(:'in_order', 'SELECT j, id FROM v ORDER BY j, id', 'Limit\s+->  Custom Scan \(GpuSort\)', 'one sort that compares');
SELECT pg_temp.changing(:'in_order', 'SELECT k FROM p ORDER BY k', 'Limit\s+->  Custom Scan \(GpuSort\)\s+Sort Key: [^>]*->  Append', 'a sort of partitions');
SET enable_incremental_sort = on;
SET enable_sort = off;
CREATE INDEX ON v (few);
SET enable_indexscan = on;
SELECT pg_temp.changing(:'in_order', 'SELECT few, id FROM v ORDER BY few, id', 'Limit\s+->  Incremental Sort', 'PostgreSQL''s Incremental Sort');
SET enable_incremental_sort = off;
SET enable_sort = on;
SELECT format('CREATE INDEX ON p%s (k)', i) FROM generate_series(0, 7) AS i \gexec
SET enable_seqscan = off;
SET gpusort.min_rows = 500;
SET gpusort.cpu_row_cost = 10;
SELECT pg_temp.changing(:'in_order', 'SELECT k, id FROM p ORDER BY k', 'Limit\s+->  Custom Scan \(GpuMergeAppend\).*->  Custom Scan \(GpuSort\)', 'a merge of indexes and sorts');
RESET enable_seqscan;
SET gpusort.min_rows = 0;
RESET gpusort.cpu_row_cost;
SET enable_indexscan = off;

-- sorts in workers, at costs by which they win against one of gpusort's
SET gpusort.cpu_row_cost = 10;
SELECT pg_temp.changing(:'in_order', 'SELECT k, id FROM v ORDER BY k', 'Limit\s+->  Custom Scan \(GpuMerge\)[^>]*->  Gather Merge[^>]*->  Custom Scan \(GpuSort\)', 'in blocks');
SELECT pg_temp.changing(:'in_order', 'SELECT j, id FROM v ORDER BY j, id', 'Limit\s+->  Custom Scan \(GpuMerge\)[^>]*->  Gather Merge[^>]*->  Custom Scan \(GpuSort\)', 'in blocks that are compared');
SELECT pg_temp.changing(:'in_order', 'SELECT k FROM p ORDER BY k', 'Limit\s+->  Custom Scan \(GpuMerge\)[^>]*->  Gather Merge[^>]*->  Custom Scan \(GpuSort\)[^>]*->  Parallel Append', 'in blocks, of partitions');
SET gpusort.parallel_blocks = off;
SELECT pg_temp.changing(:'in_order', 'SELECT k, id FROM v ORDER BY k', 'Limit\s+->  Materialize\s+->  Gather Merge[^>]*->  Custom Scan \(GpuSort\)', 'row by row');
SET gpusort.parallel_blocks = on;
RESET gpusort.cpu_row_cost;

-- what workers make of their sorts, in no order
SET gpusort.parallel_windows = scan;
SELECT pg_temp.changing('count(y)', 'SELECT id, rank() OVER (PARTITION BY few ORDER BY k) FROM v', 'Limit\s+->  Materialize\s+->  Gather[^>]*->  WindowAgg.*Share Key', 'windows');
SELECT pg_temp.changing('count(y)', 'SELECT * FROM (SELECT id, rank() OVER (PARTITION BY few ORDER BY k) AS r FROM v OFFSET 0) AS s', 'Limit.*->  Materialize\s+->  Gather[^>]*->  WindowAgg.*Share Key', 'a subquery with windows');
SELECT pg_temp.changing('count(y)', '(SELECT id, rank() OVER (PARTITION BY few ORDER BY k) FROM v) UNION ALL (SELECT id, rank() OVER (PARTITION BY few ORDER BY t) FROM v)',
	'Limit\s+->  Materialize\s+->  Gather[^>]*->  Parallel Append.*Share Key', 'several of them');
SELECT pg_temp.changing('count(y)', 'SELECT t, percentile_disc(0.5) WITHIN GROUP (ORDER BY k) FROM v GROUP BY t', 'Limit\s+->  Materialize\s+->  Gather[^>]*->  GroupAggregate.*Share Key', 'groups');
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_material = off;
SET max_parallel_workers_per_gather = 2;
\set kept 'SELECT round, x.* FROM b, LATERAL (SELECT count(y) FROM generate_series(1, 2) AS g LEFT JOIN (SELECT id, rank() OVER (PARTITION BY few ORDER BY k) FROM v LIMIT b.n) AS y ON true) AS x ORDER BY round'
SELECT matches(pg_temp.plan_of(:'kept'), 'Nested Loop Left Join\s+->  Function Scan.*->  Limit\s+->  Materialize\s+->  Gather\s', 'rows that are kept for the next scan: plan');
SELECT pg_temp.same_rows(:'kept', 'which takes more of them', '{2}');
RESET enable_hashjoin;
RESET enable_mergejoin;
RESET enable_material;
SET gpusort.parallel_windows = exchange;
SELECT pg_temp.changing('count(y)', 'SELECT id, rank() OVER (PARTITION BY few ORDER BY k) FROM v', 'Limit\s+->  Materialize\s+->  Gather[^>]*->  WindowAgg.*Share Key', 'windows of exchanged rows');
SET enable_hashjoin = off;
SET enable_nestloop = off;
SELECT pg_temp.changing('count(y)', 'SELECT v.id, w.n FROM v JOIN w USING (id)', 'Limit\s+->  Materialize\s+->  Gather[^>]*->  Merge Join.*->  Custom Scan \(GpuSort\)', 'a merge join');
RESET enable_hashjoin;
RESET enable_nestloop;

-- where the bound stays the same, nothing is in its way
SET max_parallel_workers_per_gather = 2;
SELECT matches(pg_temp.plan_of('SELECT n, x.* FROM b, LATERAL (SELECT k, id FROM v ORDER BY k LIMIT 20) AS x'), 'Limit\s+->  Gather Merge[^>]*->  Sort', 'a number');
PREPARE wanted(integer) AS SELECT k, id FROM v ORDER BY k LIMIT $1;
SET plan_cache_mode = force_generic_plan;
SELECT matches(pg_temp.plan_of('EXECUTE wanted(20)'), 'Limit\s+->  Gather Merge[^>]*->  Sort', 'a parameter');
SELECT matches(pg_temp.plan_of('SELECT k, id FROM v ORDER BY k LIMIT (SELECT 20)'), 'Limit.*\s->  Gather Merge[^>]*->  Sort', 'a subquery that is computed once');
SELECT matches(pg_temp.plan_of('SELECT id, rank() OVER (PARTITION BY few ORDER BY k) FROM v LIMIT (SELECT 20)'), 'Limit.*\s->  Gather[^>]*->  WindowAgg', 'and above windows');
-- it does not, if it is computed anew each time
SELECT matches(pg_temp.plan_of('SELECT k, id FROM v ORDER BY k LIMIT 20 + random() * 10'), 'Limit\s+->  Custom Scan \(GpuMerge\)', 'a number at random');
-- and what we have no part in is PostgreSQL's
SELECT matches(pg_temp.plan_of('SELECT n, x.* FROM b, LATERAL (SELECT k, id FROM v WHERE few > 3 LIMIT b.n) AS x'), 'Limit\s+->  Gather\s[^>]*->  Parallel Seq Scan', 'without sorts');

DROP SCHEMA gpusort_changing CASCADE;
SELECT * FROM finish();
