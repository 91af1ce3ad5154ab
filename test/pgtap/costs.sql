-- What gpusort makes the planner believe that sorts cost, and where it does not.
\ir shapes.psql
SELECT plan(79);

CREATE SCHEMA costs;
SET search_path = costs, public;
SET work_mem = '64MB';

-- Sorts of a plan that stayed PostgreSQL's but cost less than PostgreSQL says they do.  bound is that of a LIMIT above them.
CREATE FUNCTION pg_temp.undercharged(plan jsonb, bound float8, OUT sorts int, OUT cheap int) LANGUAGE plpgsql AS $$
DECLARE
	child jsonb;
	below record;
	n float8 := plan->'Plan Rows';
	own float8;
BEGIN
	sorts := 0;
	cheap := 0;
	IF plan->>'Node Type' = 'Sort' THEN
		own := (plan->>'Startup Cost')::float8 - (plan->'Plans'->0->>'Total Cost')::float8;
		sorts := 1;
		cheap := (own < 2 * current_setting('cpu_operator_cost')::float8 * n * ln(least(n, 2 * bound)) / ln(2) - 0.02)::int;
	END IF;
	FOR child IN SELECT jsonb_array_elements(coalesce(plan->'Plans', '[]')) LOOP
		SELECT * INTO below FROM pg_temp.undercharged(child, bound);
		sorts := sorts + below.sorts;
		cheap := cheap + below.cheap;
	END LOOP;
END $$;

CREATE FUNCTION pg_temp.charges(query text, bound float8 DEFAULT 1e9) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	plan jsonb;
	found record;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
	SELECT * INTO found FROM pg_temp.undercharged(plan->0->'Plan', bound);
	RETURN format('%s too cheap; %s', found.cheap, pg_temp.sorts(query));
END $$;

-- One test: a query's plan has so many sorts of each kind, of which none that is PostgreSQL's costs too little.
CREATE FUNCTION pg_temp.charged(query text, sorts text, bound float8 DEFAULT 1e9) RETURNS text LANGUAGE sql
	AS $$ SELECT is(pg_temp.charges(query, bound), '0 too cheap; ' || sorts, query) $$;

CREATE FUNCTION pg_temp.total_cost(query text) RETURNS numeric LANGUAGE plpgsql AS $$
DECLARE
	plan jsonb;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
	RETURN plan->0->'Plan'->'Total Cost';
END $$;

CREATE TABLE items (id int8, k int4, g int4, r int4range, filler text);
INSERT INTO items SELECT i, i * 7919::int8 % 20011, i % 5, int4range(i % 700, i % 700 + 5), repeat('x', 60) FROM generate_series(1, 20000) AS i;
CREATE INDEX items_id ON items (id);
CREATE INDEX items_k ON items (k);
CREATE TABLE parts (id int8, k int4) PARTITION BY HASH (id);
CREATE TABLE parts_0 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO parts SELECT id, k FROM items;
ANALYZE items, parts;

-- the linear cost is seen where sorts are replaced
SET gpusort.enabled = off;
SELECT pg_temp.total_cost('SELECT * FROM items ORDER BY g, id') AS theirs \gset
RESET gpusort.enabled;
SELECT cmp_ok(pg_temp.total_cost('SELECT * FROM items ORDER BY g, id'), '<', :theirs, 'a replaced sort costs less');
SET gpusort.cpu_row_cost = 0;
SELECT is(pg_temp.total_cost('SELECT * FROM items ORDER BY g, id') - pg_temp.total_cost('SELECT * FROM items'), 20000 * 0.0025, 'only output costs');
-- whatever a row costs: a replaced sort never looks dearer than PostgreSQL's
SET gpusort.cpu_row_cost = 1000;
SELECT is(pg_temp.total_cost('SELECT * FROM items ORDER BY g, id'), :theirs, 'no more than PostgreSQL''s');
RESET gpusort.cpu_row_cost;

-- no sort that stays is planned at our cost, however low
SET gpusort.cpu_row_cost = 0;
SELECT pg_temp.charged('SELECT * FROM items ORDER BY g, id', 'GpuSort 1');
SELECT pg_temp.charged('SELECT * FROM items ORDER BY r', 'GpuSort 1');
SELECT pg_temp.charged('SELECT * FROM items ORDER BY g, r', 'GpuSort 1');
SELECT pg_temp.charged('SELECT * FROM items WHERE id <= 500 ORDER BY filler COLLATE "C"', 'Sort 1');
SELECT pg_temp.charged('SELECT * FROM items ORDER BY g, id LIMIT 10', 'Sort 1', 10);
SELECT pg_temp.charged('SELECT * FROM items ORDER BY g, id LIMIT 10 OFFSET 20', 'Sort 1', 30);
SELECT pg_temp.charged('SELECT g, k, count(*) FROM items GROUP BY g, k ORDER BY count(*) LIMIT 10', 'GpuSort 1, Sort 1', 10);
SELECT pg_temp.charged('SELECT * FROM (SELECT * FROM items ORDER BY g, id OFFSET 0) s LIMIT 10', 'Sort 1', 10);
SELECT pg_temp.charged('SELECT * FROM (SELECT * FROM (SELECT * FROM items ORDER BY g, id) s) s LIMIT 10', 'Sort 1', 10);
SELECT pg_temp.charged('(SELECT * FROM items ORDER BY g, id OFFSET 0) UNION ALL (SELECT * FROM items ORDER BY g, k OFFSET 0) LIMIT 10', 'Sort 2', 10);
SELECT pg_temp.charged('SELECT * FROM parts ORDER BY k, id LIMIT 10', 'Sort 1', 10);
SELECT pg_temp.charged('SELECT rank() OVER (ORDER BY r), rank() OVER (PARTITION BY g ORDER BY id) FROM items', 'GpuSort 2');
SELECT pg_temp.charged('SELECT rank() OVER (PARTITION BY g ORDER BY id), rank() OVER (PARTITION BY g ORDER BY r) FROM items', 'GpuSort 2');
SELECT pg_temp.charged('SELECT r, g, count(*) FROM items GROUP BY ROLLUP (r, g)', 'none');
SELECT pg_temp.charged('SELECT k, g, count(*) FROM items GROUP BY ROLLUP (k, g)', 'GpuSort 1');
SELECT pg_temp.charged('SELECT DISTINCT ON (r) r, id FROM items ORDER BY r, id', 'GpuSort 1');
SET enable_hashagg = off;
SELECT pg_temp.charged('SELECT DISTINCT r, id FROM items', 'GpuSort 1');
SELECT pg_temp.charged('SELECT r, g, count(*) FROM items GROUP BY r, g', 'GpuSort 1');
SELECT matches(pg_temp.charges('SELECT r FROM items UNION SELECT r FROM items'), '^0 too cheap; GpuSort', 'UNION');
RESET enable_hashagg;
PREPARE top(int) AS SELECT * FROM items ORDER BY g, id LIMIT $1;
SET plan_cache_mode = force_generic_plan;
SELECT pg_temp.charged('EXECUTE top(10)', 'GpuSort 1');
SET plan_cache_mode = force_custom_plan;
SELECT pg_temp.charged('EXECUTE top(10)', 'Sort 1', 10);
RESET plan_cache_mode;
DEALLOCATE top;

-- a LIMIT around a query counts where the executor would pass it on, and only there
CREATE FUNCTION pg_temp.is_at_our_cost(query text) RETURNS bool LANGUAGE plpgsql AS $$
DECLARE
	plan jsonb;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT JSON) ' || format(query, '(SELECT * FROM items ORDER BY g, id OFFSET 0)') INTO plan;
	RETURN jsonb_path_query_first(plan, 'strict $.**?(@."Sort Key"[0] like_regex "g$")')->>'Total Cost' =
		pg_temp.total_cost('SELECT * FROM items ORDER BY g, id')::text;
END $$;
SELECT is(pg_temp.is_at_our_cost(query), n > 2, query) FROM unnest(ARRAY[
	'SELECT * FROM %s s LIMIT 3',
	'%s UNION ALL TABLE items LIMIT 3',
	'SELECT DISTINCT filler FROM %s s LIMIT 3',
	'SELECT count(*) OVER () FROM %s s LIMIT 3',
	'%s INTERSECT TABLE items LIMIT 3',
	'%s UNION TABLE items LIMIT 3',
	'SELECT g, k FROM %s s GROUP BY GROUPING SETS (g, k) LIMIT 3',
	'SELECT count(*) FROM %s s LIMIT 3',
	'SELECT generate_series(1, 2) FROM %s s LIMIT 3']) WITH ORDINALITY AS q (query, n);

-- the same with parallel workers
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SELECT pg_temp.charged('SELECT * FROM items ORDER BY g, id', 'GpuSort 1');
SELECT pg_temp.charged('SELECT * FROM items ORDER BY r', 'GpuSort 1');
SELECT pg_temp.charged('SELECT * FROM items ORDER BY g, id LIMIT 10', 'Sort 1', 10);
SELECT pg_temp.charged('SELECT * FROM (SELECT * FROM items ORDER BY g, id OFFSET 0) s LIMIT 10', 'Sort 1', 10);
SELECT matches(pg_temp.charges('SELECT DISTINCT r, id FROM items'), '^0 too cheap', 'DISTINCT');
PREPARE top(int) AS SELECT * FROM items ORDER BY g, id LIMIT $1;
SET plan_cache_mode = force_generic_plan;
SELECT pg_temp.charged('EXECUTE top(10)', 'Sort 1');
RESET plan_cache_mode;
-- of the ways to the rows below a LIMIT that comes at run time the server's choice stands
SELECT pg_temp.total_cost('SELECT * FROM parts p, LATERAL (SELECT * FROM items ORDER BY g, id LIMIT p.k) s') AS ours,
	pg_temp.total_cost('SELECT g, count(*) FROM (SELECT * FROM items ORDER BY g, r OFFSET 0) s GROUP BY g LIMIT (SELECT 2)') AS grouped \gset
SET gpusort.enabled = off;
SELECT is(pg_temp.total_cost('SELECT * FROM parts p, LATERAL (SELECT * FROM items ORDER BY g, id LIMIT p.k) s'), :ours, 'LATERAL');
SELECT cmp_ok(pg_temp.total_cost('SELECT g, count(*) FROM (SELECT * FROM items ORDER BY g, r OFFSET 0) s GROUP BY g LIMIT (SELECT 2)'), '>',
	:grouped, 'a group does not pass it on');
RESET gpusort.enabled;
SET max_parallel_workers_per_gather = 0;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;
RESET gpusort.cpu_row_cost;

-- a forbidden sort is as dear as ever
SET enable_sort = off;
SELECT pg_temp.total_cost('SELECT * FROM items ORDER BY g, id') AS ours \gset
SET gpusort.enabled = off;
SELECT is(pg_temp.total_cost('SELECT * FROM items ORDER BY g, id'), :ours, 'a forbidden sort');
RESET gpusort.enabled;
SELECT pg_temp.planned('SELECT * FROM items ORDER BY k', 'Index Scan');
RESET enable_sort;

-- a random walk through the table by an index: dearer than our sort, cheaper than PostgreSQL's
SET random_page_cost = 4;
SET enable_bitmapscan = off;
SET gpusort.enabled = off;
SELECT pg_temp.planned('SELECT * FROM items ORDER BY k', 'Index Scan');
SELECT pg_temp.planned('SELECT rank() OVER (ORDER BY k), filler FROM items', 'WindowAgg(Index Scan)');
SELECT pg_temp.planned('SELECT DISTINCT ON (k) * FROM items ORDER BY k', 'Unique(Index Scan)');
RESET gpusort.enabled;
SELECT pg_temp.planned('SELECT * FROM items ORDER BY k', 'GpuSort(Seq Scan)');
SELECT pg_temp.planned('SELECT rank() OVER (ORDER BY k), filler FROM items', 'WindowAgg(GpuSort(Seq Scan))');
SELECT pg_temp.planned('SELECT DISTINCT ON (k) * FROM items ORDER BY k', 'Unique(GpuSort(Seq Scan))');
-- what is really cheaper keeps winning: an index in the table's order, and one that gives the first rows
SELECT pg_temp.planned('SELECT * FROM items ORDER BY id', 'Index Scan');
SELECT pg_temp.planned('SELECT * FROM items ORDER BY k LIMIT 5', 'Limit(Index Scan)');
SELECT pg_temp.planned('SELECT rank() OVER (ORDER BY id), filler FROM items', 'WindowAgg(Index Scan)');
SELECT pg_temp.planned('SELECT rank() OVER (ORDER BY k), filler FROM items LIMIT 5', 'Limit(WindowAgg(Index Scan))');
RESET random_page_cost;
RESET enable_bitmapscan;

-- parallel workers that keep only the first rows, and one large sort above none
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 100;
SET min_parallel_table_scan_size = 0;
SELECT pg_temp.planned('SELECT * FROM items ORDER BY g, filler COLLATE "C", id LIMIT 5', 'Limit(Gather Merge(Sort(Seq Scan)))');
SELECT pg_temp.planned('SELECT * FROM items ORDER BY g, id', 'GpuSort(Seq Scan)');
SET max_parallel_workers_per_gather = 0;

-- parallel sorts send rows in blocks: a cost for each row and its width, one for each block
CREATE FUNCTION pg_temp.run_cost(plan jsonb) RETURNS numeric LANGUAGE sql
	AS $$ SELECT (plan->>'Total Cost')::numeric - (plan->>'Startup Cost')::numeric $$;
-- what a Gather Merge costs above its sorts, and where it begins above them
CREATE FUNCTION pg_temp.merge_cost(query text, OUT run numeric, OUT startup numeric) LANGUAGE plpgsql AS $$
DECLARE
	plan jsonb;
	sort jsonb;
BEGIN
	EXECUTE 'EXPLAIN (FORMAT JSON) ' || query INTO plan;
	plan := plan->0->'Plan';
	sort := plan;
	WHILE sort->>'Custom Plan Provider' IS DISTINCT FROM 'GpuSort' LOOP
		sort := sort->'Plans'->0;
	END LOOP;
	run := pg_temp.run_cost(plan) - pg_temp.run_cost(sort);
	startup := (plan->>'Startup Cost')::numeric - (sort->>'Startup Cost')::numeric;
END $$;
SET max_parallel_workers_per_gather = 2;
SET min_parallel_table_scan_size = 0;
SET parallel_setup_cost = 20;
SET parallel_leader_participation = off;
SELECT pg_temp.planned('SELECT id, k FROM items ORDER BY k, id', 'GpuMerge(Gather Merge(GpuSort(Seq Scan)))');
SELECT run AS blocks, round(startup) AS setup FROM pg_temp.merge_cost('SELECT id, k FROM items ORDER BY k, id') \gset
SELECT is(round(:blocks - 20000 * 0.015 * (1 + 12 / 100.0), 2), ceil(20000 * 32 / 32768.0) * 0.1, 'what blocks cost beside rows');
SELECT is(:setup, 20, 'and workers, to begin');
SET gpusort.cpu_row_cost = 0.001;
SELECT run AS cheaper FROM pg_temp.merge_cost('SELECT id, k FROM items ORDER BY k, id') \gset
SELECT is(round((:blocks - :cheaper) / 20000, 5), round(0.019 * 0.75 * 1.12, 5), 'a row costs more by its share of the setting');
RESET gpusort.cpu_row_cost;
-- workers without a core of their own gain nothing
SET gpusort.cores = 1;
SELECT pg_temp.planned('SELECT id, k FROM items ORDER BY k, id', 'GpuSort(Seq Scan)');
SET gpusort.cores = 8;
-- where workers gain less than the way costs, one process sorts: stock costs, wide rows, single rows instead of blocks
SELECT pg_temp.planned('SELECT * FROM items ORDER BY k, id', 'GpuSort(Seq Scan)');
SET parallel_setup_cost = 1000;
SELECT pg_temp.planned('SELECT id, k FROM items ORDER BY k, id', 'GpuSort(Seq Scan)');
SET parallel_setup_cost = 20;
SET gpusort.parallel_blocks = off;
SELECT pg_temp.planned('SELECT id, k FROM items ORDER BY k, id', 'GpuSort(Seq Scan)');
RESET gpusort.parallel_blocks;
-- each participant has memory of its own: in one process, the rows would go to disk
SET gpusort.work_mem = '2MB';
SELECT pg_temp.planned('SELECT * FROM items ORDER BY k, id', 'GpuMerge(Gather Merge(GpuSort(Seq Scan)))');
RESET gpusort.work_mem;
-- the same below a window, DISTINCT and GROUP BY, where these are not in shares
SET gpusort.parallel_windows = off;
SELECT pg_temp.planned('SELECT id, rank() OVER (ORDER BY k, id) FROM items', 'WindowAgg(GpuMerge(Gather Merge(GpuSort(Seq Scan))))');
SELECT pg_temp.planned('SELECT DISTINCT ON (k) k, id FROM items ORDER BY k, id DESC', 'Unique(GpuMerge(Gather Merge(GpuSort(Seq Scan))))');
SET enable_hashagg = off;
SELECT pg_temp.planned('SELECT k, id, count(*) FROM items GROUP BY k, id', 'Aggregate(GpuMerge(Gather Merge(GpuSort(Seq Scan))))');
SELECT pg_temp.compared('SELECT k, id, count(*) FROM items GROUP BY k, id', 20000, 'GpuSort 1', false);
RESET enable_hashagg;
RESET gpusort.parallel_windows;
SELECT pg_temp.compared('SELECT id, rank() OVER (ORDER BY k, id) FROM items', 20000, 'GpuSort 1', false);
SELECT pg_temp.compared('SELECT DISTINCT ON (k) k, id FROM items ORDER BY k, id DESC', 20000, 'GpuSort 1');
-- whatever a row costs: a Gather Merge never looks dearer than PostgreSQL's
SET gpusort.cpu_row_cost = 1000;
SELECT pg_temp.total_cost('SELECT id, k FROM items ORDER BY k, id') AS ours \gset
SET gpusort.enabled = off;
SELECT cmp_ok(pg_temp.total_cost('SELECT id, k FROM items ORDER BY k, id'), '>=', :ours, 'a Gather Merge costs no more than PostgreSQL''s');
RESET gpusort.enabled;
RESET gpusort.cpu_row_cost;
RESET parallel_leader_participation;
RESET parallel_setup_cost;
RESET min_parallel_table_scan_size;
SET max_parallel_workers_per_gather = 0;

-- a full sort takes an Incremental Sort's place where it costs less: between windows, and below GROUP BY
SET enable_hashagg = off;
SET random_page_cost = 1.1;
SET gpusort.enabled = off;
SELECT pg_temp.sorted('SELECT rank() OVER (PARTITION BY g ORDER BY id), rank() OVER (PARTITION BY g ORDER BY k) FROM items', 'Incremental Sort 1, Sort 1');
SELECT pg_temp.sorted('SELECT k, g, count(*) FROM items GROUP BY k, g', 'Incremental Sort 1');
RESET gpusort.enabled;
SELECT pg_temp.sorted('SELECT rank() OVER (PARTITION BY g ORDER BY id), rank() OVER (PARTITION BY g ORDER BY k) FROM items', 'GpuSort 2');
SELECT pg_temp.sorted('SELECT k, g, count(*) FROM items GROUP BY k, g', 'GpuSort 1');
SET gpusort.cpu_row_cost = 1;
SELECT pg_temp.sorted('SELECT rank() OVER (PARTITION BY g ORDER BY id), rank() OVER (PARTITION BY g ORDER BY k) FROM items', 'GpuSort 1, Incremental Sort 1');
RESET gpusort.cpu_row_cost;
RESET random_page_cost;
RESET enable_hashagg;

-- more rows than fit a hash table: grouping by our sort
SET work_mem = '1MB';
SET hash_mem_multiplier = 1;
SELECT pg_temp.planned('SELECT id + k, count(*) FROM items GROUP BY id + k', 'Aggregate(GpuSort(Seq Scan))');
SELECT pg_temp.compared('SELECT id + k, count(*) FROM items GROUP BY id + k HAVING count(*) > 1', 0, 'GpuSort 1', false);
SET gpusort.enabled = off;
SELECT pg_temp.planned('SELECT id + k, count(*) FROM items GROUP BY id + k', 'Aggregate(Seq Scan)');

DROP SCHEMA costs CASCADE;
SELECT * FROM finish();
