-- What EXPLAIN says of a GpuSort node: the same of its keys as of a Sort, and what it did.
\set ECHO none
\getenv srcdir PG_ABS_SRCDIR
\set helpers :srcdir '/helpers.psql'
\i :helpers
\set ECHO all
LOAD 'gpusort';
CREATE SCHEMA explain;
SET search_path = explain;
SET max_parallel_workers_per_gather = 0;
SET jit = off;
SET gpusort.explain_machine = off;
-- a line that a Sort has not, below
SET gpusort.output = off;

-- Compares the plans with and without gpusort, all but the node's name; shows the sort keys.
CREATE FUNCTION pg_temp.keys(query text, options text DEFAULT 'VERBOSE') RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	ours text[];
	theirs text[];
BEGIN
	-- costs would change plans
	PERFORM set_config('gpusort.cpu_row_cost', '1000', true);
	ours := ARRAY(SELECT unnest(string_to_array(x, E'\n')) FROM pg_temp.explain(query, options) AS x);
	PERFORM set_config('gpusort.enabled', 'off', true);
	theirs := ARRAY(SELECT unnest(string_to_array(x, E'\n')) FROM pg_temp.explain(query, options) AS x);
	PERFORM set_config('gpusort.enabled', 'on', true);
	RETURN QUERY SELECT trim(x) FROM unnest(ours) AS x WHERE x ~ 'Sort Key:';
	IF array_to_string(ours, E'\n') !~ 'GpuSort' THEN
		RETURN NEXT 'NO GPUSORT';
	END IF;
	-- PostgreSQL 18 holds a custom scan over a disabled node for disabled itself
	ours := ARRAY(SELECT regexp_replace(x, 'Custom Scan \(GpuSort\)|Custom Scan', 'Sort') FROM unnest(ours) AS x WHERE x !~ 'Custom.Plan.Provider|Disabled');
	theirs := ARRAY(SELECT x FROM unnest(theirs) AS x WHERE x !~ 'Disabled');
	IF ours IS DISTINCT FROM theirs THEN
		RETURN QUERY SELECT 'OURS: ' || x FROM unnest(ours) AS x WHERE x <> ALL (theirs);
		RETURN QUERY SELECT 'THEIRS: ' || x FROM unnest(theirs) AS x WHERE x <> ALL (ours);
	END IF;
END $$;

-- EXPLAIN ANALYZE without what differs between versions and with the engine's tuning.
CREATE FUNCTION pg_temp.analyze(query text, format text DEFAULT 'text') RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN SELECT unnest(string_to_array(x, E'\n')) FROM pg_temp.explain(query,
		'ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF, FORMAT ' || format) AS x LOOP
		line := regexp_replace(line, '(rows=\d+|Rows\D+\d+)\.00', '\1');
		line := regexp_replace(line, '((Passes|Runs|Refined)\W+)\d+', '\1N');
		-- what is last in a JSON object in one version is not in another
		line := rtrim(line, ',');
		IF line !~ 'Disabled|Window:' THEN
			RETURN NEXT line;
		END IF;
	END LOOP;
END $$;

CREATE TABLE words (id int8, k int4, w text, c varchar(20) COLLATE "C", d date);
INSERT INTO words SELECT i * 7919 % 10007, i % 400, 'w' || i % 50, 'c' || i % 70, date '2020-01-01' + i % 90 FROM generate_series(1, 5000) AS i;
CREATE TABLE other AS SELECT id, k AS "K", d FROM words;
CREATE TABLE parts (id int8, k int4) PARTITION BY RANGE (id);
CREATE TABLE parts_0 PARTITION OF parts FOR VALUES FROM (0) TO (5000);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES FROM (5000) TO (20000);
INSERT INTO parts SELECT id, k FROM words;
CREATE TABLE many AS SELECT words.* FROM words, generate_series(1, 4);
ANALYZE words, other, parts, many;

-- keys, as PostgreSQL prints them
SELECT pg_temp.keys('SELECT * FROM words ORDER BY id');
SELECT pg_temp.keys('SELECT * FROM words ORDER BY id', 'COSTS OFF');
SELECT pg_temp.keys('SELECT * FROM words ORDER BY id DESC, k ASC NULLS FIRST, d DESC NULLS LAST');
-- copies of columns that only serve to sort by are not in the rows
SELECT pg_temp.keys('SELECT * FROM words ORDER BY w COLLATE "C", w COLLATE "POSIX" DESC, c');
SELECT pg_temp.keys('SELECT * FROM words ORDER BY c DESC, c COLLATE "POSIX"');
SELECT pg_temp.keys('SELECT * FROM words ORDER BY w USING ~<~, c USING ~>~ NULLS LAST, id USING <, k USING > NULLS LAST');
SELECT pg_temp.keys('SELECT * FROM words ORDER BY w USING ~>~, c USING ~<~ NULLS FIRST');
SELECT pg_temp.keys('SELECT id + 1 AS x FROM words ORDER BY x, -k, CASE WHEN k > 3 THEN d END, upper(c)');
SELECT pg_temp.keys('SELECT 5, k, 7.0 FROM words ORDER BY k');
SELECT pg_temp.keys('SELECT (row(w.id, w.k)::parts).id FROM words w ORDER BY 1');
SELECT pg_temp.keys('SELECT a.id, b.d FROM words a JOIN other b USING (id) ORDER BY b."K", a.d DESC');
SELECT pg_temp.keys('SELECT a.id, b.d FROM words a JOIN other b USING (id) ORDER BY b."K", a.d DESC', 'COSTS OFF');
SELECT pg_temp.keys('SELECT k, count(*) FROM (SELECT id, max(k) AS k FROM words GROUP BY id) s GROUP BY k, id ORDER BY count(*) DESC, max(id)') ~ 'Sort Key' LIMIT 1;
SELECT pg_temp.keys('SELECT id, sum(k) OVER (PARTITION BY d ORDER BY id DESC) FROM words');
SELECT pg_temp.keys('SELECT s.x, (SELECT max(o.id) FROM other o WHERE o."K" = s.x) FROM (SELECT k AS x, id FROM words OFFSET 0) s ORDER BY s.x, 2') ~ '^Sort Key: s.x, ';
SELECT pg_temp.keys('SELECT * FROM generate_series(1, 5000) AS g(n) ORDER BY n');
SELECT pg_temp.keys('SELECT * FROM words ORDER BY k + (SELECT max("K") FROM other)') ~ '^Sort Key: ..words.k [+] ';
SELECT pg_temp.keys('SELECT o.id, l.* FROM other o, LATERAL (SELECT w.id FROM words w WHERE w.k <> o."K" ORDER BY w.id + o.id OFFSET 1) l');
SELECT pg_temp.keys('SELECT id FROM words UNION ALL SELECT id FROM other ORDER BY id');
SELECT pg_temp.keys('INSERT INTO parts SELECT id, k FROM words ORDER BY id DESC');
SELECT pg_temp.keys('UPDATE words SET k = s.k FROM (SELECT * FROM other ORDER BY id OFFSET 0) s(i, k) WHERE s.i = words.id');
SET enable_hashjoin = off;
SET enable_nestloop = off;
SELECT pg_temp.keys('SELECT a.* FROM words a JOIN other b ON a.id = b.id AND a.d = b.d');
SELECT pg_temp.keys('SELECT a.* FROM parts a JOIN parts b ON a.id = b.k');
RESET enable_hashjoin;
RESET enable_nestloop;
CREATE INDEX ON parts_1 (id);
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SELECT pg_temp.keys('SELECT * FROM parts ORDER BY id');
RESET enable_seqscan;
RESET enable_bitmapscan;
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET gpusort.parallel_blocks = off;
SELECT pg_temp.keys('SELECT * FROM words ORDER BY id DESC');
RESET gpusort.parallel_blocks;
-- in blocks there is a node more, and VERBOSE says of which columns a block's key and rows are made
EXPLAIN (COSTS OFF, VERBOSE) SELECT * FROM words ORDER BY id DESC;
EXPLAIN (COSTS OFF, VERBOSE) SELECT * FROM words ORDER BY c COLLATE "POSIX" DESC LIMIT 4000;
EXPLAIN (COSTS OFF, VERBOSE) SELECT id + 1, 7, d FROM words ORDER BY ARRAY[k, 3], c;
SELECT x FROM pg_temp.explain('SELECT k, count(*), rank() OVER (ORDER BY k) FROM (SELECT * FROM words ORDER BY k OFFSET 0) s GROUP BY k', 'COSTS OFF, VERBOSE') AS x
	WHERE x !~ 'Window:|OVER';
SET max_parallel_workers_per_gather = 0;

-- the other formats
SELECT pg_temp.keys('SELECT * FROM words ORDER BY id DESC, w COLLATE "C"', 'VERBOSE, FORMAT JSON');
SELECT pg_temp.keys('SELECT * FROM words ORDER BY id DESC, w COLLATE "C"', 'VERBOSE, FORMAT XML');
SELECT pg_temp.keys('SELECT * FROM words ORDER BY id DESC, w COLLATE "C"', 'VERBOSE, FORMAT YAML');

-- what the sort did
SELECT pg_temp.analyze('SELECT * FROM words ORDER BY id');
SELECT pg_temp.analyze('SELECT * FROM words ORDER BY id', 'json');
SELECT pg_temp.analyze('SELECT * FROM words ORDER BY id', 'xml');
SELECT pg_temp.analyze('SELECT * FROM words ORDER BY id', 'yaml');
SELECT pg_temp.analyze('SELECT n FROM generate_series(1, 5000) AS g(n) ORDER BY n');
SELECT pg_temp.analyze('SELECT n FROM generate_series(1, 5000) AS g(n) ORDER BY n DESC');
SELECT pg_temp.analyze('SELECT * FROM words WHERE abs(k) < 0 ORDER BY id');
-- keys without an exact encoding
SELECT pg_temp.analyze('SELECT * FROM words ORDER BY ARRAY[k % 50]');
SELECT pg_temp.analyze('SELECT * FROM words ORDER BY ARRAY[id]');
SELECT pg_temp.analyze('SELECT * FROM words ORDER BY id::text::tsvector', 'json');
SELECT pg_temp.analyze('SELECT * FROM words ORDER BY d, id::text::tsvector, ARRAY[k % 50] DESC');
SET gpusort.work_mem = '1MB';
SELECT pg_temp.analyze('SELECT * FROM many ORDER BY id');
SELECT pg_temp.analyze('SELECT * FROM many ORDER BY id', 'yaml');
RESET gpusort.work_mem;
SELECT pg_temp.analyze('SELECT l.* FROM generate_series(1, 3) AS g(i), LATERAL (SELECT * FROM words WHERE k < i * 50 ORDER BY id LIMIT 2000) AS l');

-- numbers that depend on the machine are there unless they are hidden
SET gpusort.explain_machine = on;
SELECT count(*) FROM pg_temp.explain('SELECT * FROM words ORDER BY id', 'ANALYZE') AS x WHERE x ~ 'Sort Method: .*Memory: \d+kB';
SELECT count(*) FROM pg_temp.explain('SELECT * FROM words ORDER BY id', 'ANALYZE') AS x WHERE x ~ 'Stages: child [0-9.]+ ms  in [0-9.]+ ms  sort [0-9.]+ ms  out [0-9.]+ ms$';
SELECT count(*) FROM pg_temp.explain('SELECT * FROM words ORDER BY id', 'ANALYZE, TIMING OFF') AS x WHERE x ~ 'Stages: child and in [0-9.]+ ms  sort [0-9.]+ ms$';
-- the stages add up to the node's own time, on the average of the loops, however long the nodes above take
CREATE FUNCTION pg_temp.slow(int8) RETURNS int8 LANGUAGE plpgsql COST 1 AS $$ BEGIN PERFORM count(*) FROM generate_series(1, 200); RETURN $1; END $$;
CREATE FUNCTION pg_temp.sort_nodes(plan jsonb) RETURNS SETOF jsonb LANGUAGE sql AS $$
	WITH RECURSIVE nodes AS (SELECT plan AS node UNION ALL SELECT jsonb_array_elements(node -> 'Plans') FROM nodes)
	SELECT node FROM nodes WHERE node ->> 'Custom Plan Provider' = 'GpuSort' $$;
CREATE FUNCTION pg_temp.stages(query text) RETURNS TABLE (loops int, sum_is_the_nodes bool, child_is_the_childs bool) LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, TIMING ON, FORMAT JSON) ' || query INTO plan;
	RETURN QUERY SELECT (n ->> 'Actual Loops')::int,
		abs((n ->> 'Child Time')::float8 + (n ->> 'In Time')::float8 + (n ->> 'Sort Time')::float8 + (n ->> 'Out Time')::float8 -
			(n ->> 'Actual Total Time')::float8) < 0.01,
		abs((n ->> 'Child Time')::float8 - (n #>> '{Plans,0,Actual Total Time}')::float8) < 0.01
	FROM pg_temp.sort_nodes((plan #> '{0,Plan}')::jsonb) AS n;
END $$;
SELECT * FROM pg_temp.stages('SELECT pg_temp.slow(id) FROM (SELECT * FROM words ORDER BY id OFFSET 0) s');
SELECT * FROM pg_temp.stages('SELECT l.* FROM generate_series(1, 3) AS g(i), LATERAL (SELECT * FROM words WHERE k < i * 50 ORDER BY id) AS l');
-- a sort of which not all rows are wanted
SELECT * FROM pg_temp.stages('SELECT * FROM words ORDER BY id LIMIT 2000');
-- the limit that a spilled sort names would have sufficed
CREATE FUNCTION pg_temp.wanted(query text) RETURNS TABLE (before text, after text) LANGUAGE plpgsql AS $$
DECLARE
	plan json;
	node jsonb;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, FORMAT JSON) ' || query INTO plan;
	node := (SELECT n FROM pg_temp.sort_nodes((plan #> '{0,Plan}')::jsonb) AS n);
	before := node ->> 'Sort Space Type';
	EXECUTE 'SET LOCAL ' || (node ->> 'In Memory With');
	EXECUTE 'EXPLAIN (ANALYZE, FORMAT JSON) ' || query INTO plan;
	node := (SELECT n FROM pg_temp.sort_nodes((plan #> '{0,Plan}')::jsonb) AS n);
	after := (node ->> 'Sort Space Type') || coalesce(node ->> 'In Memory With', '');
	RETURN NEXT;
END $$;
CREATE TABLE more AS SELECT words.* FROM words, generate_series(1, 20);
ANALYZE more;
SET gpusort.work_mem = '1MB';
BEGIN;
SELECT * FROM pg_temp.wanted('SELECT * FROM more ORDER BY id');
SELECT * FROM pg_temp.wanted('SELECT * FROM more ORDER BY w COLLATE "C", id DESC');
SELECT * FROM pg_temp.wanted('SELECT * FROM more ORDER BY ARRAY[id]');
ROLLBACK;
RESET gpusort.work_mem;
DROP TABLE more;
-- memory is the most that was held, keys included, of which the rows have only pointers
CREATE TABLE large (id int8, big bit varying);
ALTER TABLE large ALTER big SET STORAGE EXTERNAL;
INSERT INTO large SELECT i, ('x' || repeat(md5(i::text), 300))::bit varying FROM generate_series(1, 3000) AS i;
ANALYZE large;
SET gpusort.engine = cpu;
SELECT substring(x from 'Memory: (\d+)kB')::int * 1024 > 3000 * 32 * 150 AS keys_count
FROM pg_temp.explain('SELECT * FROM large ORDER BY big', 'ANALYZE') AS x WHERE x ~ 'Sort Method';
RESET gpusort.engine;
-- a sort that never ran says nothing of itself but its keys
CREATE FUNCTION pg_temp.said(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, TIMING ON, FORMAT JSON) ' || query INTO plan;
	RETURN (SELECT string_agg(k, ', ' ORDER BY k COLLATE "C") FROM pg_temp.sort_nodes((plan #> '{0,Plan}')::jsonb) AS n, jsonb_object_keys(n) AS k
		WHERE k ~ '^(Sort|Child|In|Out|Engine|Key|Memory) ?' AND k !~ ' Wait$');
END $$;
SELECT pg_temp.said('SELECT * FROM words ORDER BY id');
SELECT pg_temp.said('SELECT * FROM (SELECT 1 WHERE false OFFSET 0) AS a(x), LATERAL (SELECT * FROM words ORDER BY id OFFSET 0) AS s');
SET gpusort.explain_machine = off;

-- switched off after planning: PostgreSQL's own sort runs in the node
PREPARE sorted(int) AS SELECT id FROM words WHERE k < $1 ORDER BY id LIMIT 2000;
SET plan_cache_mode = force_generic_plan;
SET gpusort.min_rows = 0;
SELECT pg_temp.analyze('EXECUTE sorted(300)');
SET gpusort.enabled = off;
SELECT pg_temp.analyze('EXECUTE sorted(300)');
SELECT pg_temp.analyze('EXECUTE sorted(300)', 'json');
EXPLAIN (COSTS OFF) EXECUTE sorted(300);
RESET gpusort.enabled;

-- keys of which memory holds only few
SET gpusort.work_mem = '1MB';
SELECT pg_temp.analyze('SELECT * FROM large ORDER BY big, id');
SELECT pg_temp.compare('SELECT * FROM large ORDER BY big DESC, id');
RESET gpusort.work_mem;

-- settings that plans depend on
SELECT unnest(regexp_matches(x, 'gpusort[.]\w+ = ''[^'']*''', 'g')) FROM pg_temp.explain('SELECT 1', 'SETTINGS') AS x;

-- a small bound that became known at run time
PREPARE top(int) AS SELECT id FROM words ORDER BY id LIMIT $1;
SELECT pg_temp.analyze('EXECUTE top(10)');
SELECT pg_temp.analyze('EXECUTE top(3000)');
-- and one of rows that were far more than expected
CREATE FUNCTION pg_temp.many(n int) RETURNS SETOF int LANGUAGE plpgsql ROWS 100 AS 'BEGIN RETURN QUERY SELECT -(i # 1) FROM generate_series(1, n) i; END';
SELECT pg_temp.analyze('SELECT m FROM pg_temp.many(5000) m ORDER BY m LIMIT 20');
SELECT pg_temp.analyze('SELECT m FROM pg_temp.many(200) m ORDER BY m LIMIT 20');
SELECT array_agg(m) FROM (SELECT m FROM pg_temp.many(5000) m ORDER BY m LIMIT 20) x;

-- rows that go to the client without a slot
SET gpusort.output = on;
EXPLAIN (VERBOSE, COSTS OFF) SELECT id, w, ARRAY[id] FROM words ORDER BY id;

SET client_min_messages = warning;
DROP SCHEMA explain CASCADE;
