-- A Merge Append becomes a GpuMergeAppend: rows in PostgreSQL's order whatever the keys, started again, ended early, in both directions.
\ir setup.psql
SELECT plan(80);
SET enable_indexscan = on;
SET enable_indexonlyscan = on;
SET enable_seqscan = off;
SET enable_sort = off;
SET enable_bitmapscan = off;
SET enable_incremental_sort = off;
DROP SCHEMA IF EXISTS gpusort_append CASCADE;
CREATE SCHEMA gpusort_append;
SET search_path = gpusort_append, public;

CREATE COLLATION by_rules (provider = icu, locale = 'und');
CREATE TABLE p (id int, part int, i2 int2, i4 int4, i8 int8, f float8, n numeric, d date, u uuid, b bytea, c text COLLATE "C", long text COLLATE "C",
	icu text COLLATE by_rules, name name, few int4, runs int4, iv interval, a int4[], always int4) PARTITION BY LIST (part);
CREATE FUNCTION pg_temp.make(parts int) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	part int;
	k text;
BEGIN
	FOR part IN 0 .. parts - 1 LOOP
		EXECUTE format('CREATE TABLE p%s PARTITION OF p FOR VALUES IN (%1$s)', part);
	END LOOP;
	-- not changed in p itself: an index made over rows that a transaction beside may still see is not used at once
	CREATE TEMP TABLE staged (LIKE p);
	INSERT INTO staged SELECT i, i % (parts - 1), hashint4(i) % 3000, hashint4(i), hashint8extended(i, 7),
		CASE i % 50 WHEN 0 THEN 'NaN' WHEN 1 THEN -0.0 WHEN 2 THEN '-Infinity' ELSE hashint4(i) / 1000.0 END, hashint4(i) / 7.0,
		date '2026-01-01' + hashint4(i) % 900, md5(i::text)::uuid, decode(md5((i % 2000)::text), 'hex'), md5(i::text),
		repeat('the same for all ', i % 3) || md5(i::text), CASE WHEN i % 2 = 0 THEN upper(md5(i::text)) ELSE md5(i::text) END,
		left(md5(i::text), 20), i % 5, i % (parts - 1) * 1000 + i / parts, hashint4(i) * interval '1 second', ARRAY[hashint4(i) % 90, i], 1
	FROM generate_series(1, 7000) i;
	FOREACH k IN ARRAY ARRAY['i2', 'i4', 'i8', 'f', 'n', 'd', 'b', 'c', 'long', 'icu', 'name', 'few', 'runs', 'iv', 'a'] LOOP
		EXECUTE format('UPDATE staged SET %I = NULL WHERE hashint4(id + ascii(%L)) %% 40 = 0', k, k);
	END LOOP;
	-- the last partition stays empty
	INSERT INTO p SELECT * FROM staged ORDER BY id;
	DROP TABLE staged;
END $$;
SELECT pg_temp.make(11);
ALTER TABLE p ALTER long SET STORAGE EXTERNAL;

-- Two tests: the plan, and the rows, in the order of keys that tell all rows apart.
CREATE FUNCTION pg_temp.check_keys(keys text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	query text := format('SELECT id FROM p ORDER BY %s', keys);
BEGIN
	EXECUTE format('CREATE INDEX chosen ON p (%s)', keys);
	ANALYZE p;
	RETURN NEXT matches(pg_temp.plan_of(query), 'Custom Scan \(GpuMergeAppend\)\s+Sort Key: [^>]*->  Index', keys || ': is ours');
	RETURN NEXT pg_temp.same_ids(query, query, keys || ': rows');
	DROP INDEX chosen;
END $$;
SELECT pg_temp.check_keys(keys) FROM unnest(ARRAY['i2, id', 'i4 DESC, id', 'i8 NULLS FIRST, id DESC', 'f, id', 'n DESC, id', 'd, i8, id', 'u', 'b, id',
	'c, id', 'long, id', 'icu, id', 'name, id', 'few, runs, id', 'few DESC NULLS LAST, icu, id', 'runs, id', 'iv, id', 'a, id', 'i8, u, c, id', 'always, id']) keys;
SELECT pg_temp.check_keys('id');
CREATE INDEX ON p (id);
ANALYZE p;

-- One test: the plan, and the rows in their order.
CREATE FUNCTION pg_temp.same_rows(query text, label text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	counted text := format('SELECT array_agg(row_number || row) FROM (SELECT row_number() OVER (), x::text AS row FROM (%s) x) y', query);
	plan text := pg_temp.plan_of(query);
	ours text[];
	theirs text[];
BEGIN
	EXECUTE counted INTO ours;
	SET LOCAL gpusort.enabled = off;
	EXECUTE counted INTO theirs;
	SET LOCAL gpusort.enabled = on;
	IF ours = theirs AND plan ~ 'GpuMergeAppend' THEN
		RETURN ok(true, label);
	END IF;
	RETURN ok(false, label) || E'\n' || diag(plan) || E'\n' || diag(format('%s of %s rows', cardinality(ours), cardinality(theirs)));
END $$;

-- names, columns, what else a plan says
SELECT matches(pg_temp.plan_of('SELECT part, id FROM p ORDER BY id', 'VERBOSE, COSTS OFF'),
	'GpuMergeAppend\)\s+Output: p.part, p.id\s+Sort Key: p.id\s+->  Index', 'columns have names');
CREATE TABLE elder (id int PRIMARY KEY, n int);
CREATE TABLE younger () INHERITS (elder);
ALTER TABLE younger ADD PRIMARY KEY (id);
INSERT INTO elder SELECT i, i FROM generate_series(1, 50) i;
INSERT INTO younger SELECT i, i FROM generate_series(1, 50) i;
ANALYZE elder, younger;
SELECT matches(pg_temp.plan_of('SELECT id FROM elder ORDER BY id', 'VERBOSE, COSTS OFF'),
	'GpuMergeAppend\)\s+Output: elder.id\s+Sort Key: elder.id\s+->  Index', 'those of a parent that has rows itself, too');
SET enable_partitionwise_join = on;
SET enable_hashjoin = off;
SET enable_nestloop = off;
SELECT matches(pg_temp.plan_of('SELECT a.id, 7.0, b.i4 FROM p a JOIN p b ON a.id = b.id AND a.part = b.part ORDER BY a.id', 'VERBOSE, COSTS OFF'),
	'GpuMergeAppend\)\s+Output: a.id, 7.0, b.i4\s+Sort Key: a.id\s+->  Merge Join', 'constants stay constants');
RESET enable_hashjoin;
RESET enable_nestloop;
RESET enable_partitionwise_join;
SELECT lives_ok('EXPLAIN (VERBOSE, FORMAT XML) SELECT part, id FROM p ORDER BY id', 'EXPLAIN in XML');
SELECT matches(pg_temp.plan_of('SELECT id FROM p ORDER BY id LIMIT 10', 'ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF'),
	'GpuMergeAppend\) \(actual rows=10.*Scan[^\n]*\(actual rows=[12][. ]', 'a LIMIT takes no more than it needs');
SELECT pg_temp.same_rows('SELECT id, part FROM p ORDER BY id LIMIT 3000 OFFSET 50', 'LIMIT and OFFSET');
-- by union
SELECT pg_temp.same_rows('SELECT id FROM (SELECT id FROM p0 UNION ALL SELECT id FROM p1 UNION ALL SELECT id FROM p2) x ORDER BY 1', 'UNION ALL');

-- started again, with other parameters, within other nodes
SELECT pg_temp.same_rows($$SELECT k, x.* FROM generate_series(-3, 3) k, LATERAL (SELECT id, i4 FROM p WHERE id > k * 900 + 3000 ORDER BY id LIMIT 5) x$$, 'parameters');
SELECT pg_temp.same_rows($$SELECT k, (SELECT array_agg(id) FROM (SELECT id FROM p ORDER BY id LIMIT 7) y) FROM generate_series(1, 3) k$$, 'a subquery');
SET enable_hashjoin = off;
SET enable_nestloop = off;
SELECT pg_temp.same_rows('SELECT a.id, b.part FROM p a JOIN p b USING (id) ORDER BY a.id', 'a merge join');
SELECT pg_temp.same_rows('SELECT id, sum(i4) OVER (ORDER BY id ROWS 5 PRECEDING) FROM p ORDER BY id', 'a window');
RESET enable_hashjoin;
RESET enable_nestloop;

-- cursors that turn round
BEGIN;
SELECT lives_ok('DECLARE c SCROLL CURSOR FOR SELECT id FROM p ORDER BY id', 'a cursor');
MOVE 20 IN c;
SELECT results_eq('FETCH BACKWARD 3 FROM c', ARRAY[19, 18, 17], 'that turns round');
SELECT results_eq('FETCH ABSOLUTE 6999 FROM c', ARRAY[6999], 'and goes on');
COMMIT;

-- Sorts of the server below hear of a LIMIT
SET enable_sort = on;
CREATE TABLE q (id int, part int) PARTITION BY LIST (part);
SELECT format('CREATE TABLE q%s PARTITION OF q FOR VALUES IN (%1$s)', i) FROM generate_series(0, 9) i \gexec
-- the first ids are where a Sort is
INSERT INTO q SELECT i * 7919 % 5000 - i % 10 / 9 * 10000, i % 10 FROM generate_series(1, 5000) i;
SELECT format('CREATE INDEX ON q%s (id)', i) FROM generate_series(0, 8) i \gexec
ANALYZE q;
SET gpusort.min_rows = 1000;
SELECT matches(pg_temp.plan_of('SELECT id FROM q ORDER BY id LIMIT 20', 'ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF'),
	'GpuMergeAppend.*->  Sort[^>]*top-N heapsort', 'a Sort below a LIMIT keeps the first rows');
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_material = off;
SELECT pg_temp.same_rows($$SELECT g, n, s FROM generate_series(1, 3) g, LATERAL (SELECT count(*) AS n, sum(id) AS s FROM generate_series(1, 2) a
	LEFT JOIN (SELECT id FROM q ORDER BY id LIMIT g * 30) s ON true) y ORDER BY g$$, 'and of one that grows when all begins anew');
RESET enable_hashjoin;
RESET enable_mergejoin;
RESET enable_material;
PREPARE first(int) AS SELECT id FROM q ORDER BY id LIMIT $1;
SET plan_cache_mode = force_generic_plan;
SELECT matches(pg_temp.plan_of('EXECUTE first(20)', 'ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF'), 'GpuMergeAppend.*top-N heapsort', 'as below a LIMIT known at run time');
-- not ours: few rows, few streams, nodes that may be left out at run time
SET gpusort.min_rows = 6000;
SELECT matches(pg_temp.plan_of('SELECT id FROM q ORDER BY id LIMIT 20'), 'Merge Append', 'few rows stay');
SET gpusort.min_rows = 1000;
SELECT matches(pg_temp.plan_of('SELECT id FROM q WHERE part < 6 ORDER BY id LIMIT 20'), '->  Merge Append', 'few streams stay');
SET gpusort.min_rows = 0;
SELECT matches(pg_temp.plan_of('SELECT id FROM p WHERE part > (SELECT 3) ORDER BY id'), '^Merge Append', 'what is pruned at run time stays');
SELECT pg_temp.same_rows('SELECT id FROM p WHERE part IN (2, 4, 7) ORDER BY id', 'three streams, with no least number of rows');

SELECT results_eq('SELECT id FROM p WHERE part IN (2, 4, 7) ORDER BY id FOR UPDATE', 'SELECT id FROM p WHERE part IN (2, 4, 7) ORDER BY id + 0', 'rows that are locked');

-- marks: equal keys on both sides of a merge join, in one order, and in the other
CREATE INDEX ON p (few);
ANALYZE p;
SET enable_sort = off;
SET enable_hashjoin = off;
SET enable_nestloop = off;
SELECT pg_temp.same_rows('SELECT a.few, count(*), sum(b.id) FROM p a JOIN p b USING (few) WHERE a.id < 300 GROUP BY 1 ORDER BY 1', 'marks among equal keys');
SELECT pg_temp.same_rows('SELECT a.few, count(*), sum(b.id) FROM p a FULL JOIN (SELECT * FROM p WHERE few > 1 AND id % 90 = 0) b ON a.few = b.few GROUP BY 1 ORDER BY 1', 'and of an outer join');
RESET enable_hashjoin;
RESET enable_nestloop;

-- indexes whose order is no longer that of their expression: PostgreSQL does not notice, and neither does gpusort unless it is asked to prove
CREATE FUNCTION gpusort_append.changing(int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN $1; END';
CREATE INDEX ON p (gpusort_append.changing(id));
ANALYZE p;
SELECT matches(pg_temp.plan_of('SELECT id FROM p ORDER BY changing(id)'), 'GpuMergeAppend', 'in the order of an expression: the plan');
SET gpusort.verify = words;
SELECT pg_temp.same_ids('SELECT id FROM p ORDER BY changing(id)', 'SELECT id FROM p ORDER BY id', 'and its rows, proved');
CREATE OR REPLACE FUNCTION gpusort_append.changing(int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN -$1; END';
SELECT throws_ok('SELECT id FROM p ORDER BY changing(id)', 'XX001', 'gpusort found rows in a wrong order while it merged them',
	'indexes in a wrong order are noticed');
RESET gpusort.verify;
SELECT lives_ok('SELECT id FROM p ORDER BY changing(id)', 'and are not unless asked for');

-- in a parallel worker
SELECT set_config(name, 'on', false) FROM pg_settings WHERE name IN ('force_parallel_mode', 'debug_parallel_query') \gset
SET max_parallel_workers_per_gather = 1;
SELECT matches(pg_temp.plan_of('SELECT id, part FROM p ORDER BY id'), 'Single Copy.*GpuMergeAppend', 'in a worker: the plan');
SELECT pg_temp.same_rows('SELECT id, part FROM p ORDER BY id', 'in a worker');
SELECT pg_temp.same_rows('SELECT id, part FROM p ORDER BY id LIMIT 70', 'a LIMIT in a worker');
SELECT pg_temp.same_rows('SELECT few FROM (SELECT few FROM p ORDER BY few LIMIT 4000) x ORDER BY few DESC', 'an order of an order in a worker');
SELECT set_config(name, 'off', false) FROM pg_settings WHERE name IN ('force_parallel_mode', 'debug_parallel_query') \gset
SET max_parallel_workers_per_gather = 0;

-- PostgreSQL's node, some of whose nodes are left out at run time, over sorts of ours: at its start, and for each row of an outer one
SET gpusort.min_rows = 0;
SET enable_sort = on;
SET enable_bitmapscan = off;
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_material = off;
PREPARE some_parts(int, int) AS SELECT id FROM q WHERE part >= $1 ORDER BY id LIMIT $2;
SET plan_cache_mode = force_generic_plan;
SELECT matches(pg_temp.plan_of('EXECUTE some_parts(8, 30)'), '->  Merge Append.*Subplans Removed: 8.*Sort', 'left out at the start: the plan');
SELECT results_eq(format('EXECUTE some_parts(%s, %s)', part, rows), format('SELECT id FROM q WHERE part >= %s ORDER BY id + 0 LIMIT %s', part, rows),
	format('rows from part %s, LIMIT %s', part, rows)) FROM (VALUES (8, 30), (0, 4000), (9, 700), (10, 5)) x(part, rows);
RESET plan_cache_mode;
SELECT matches(pg_temp.plan_of('SELECT n, x.* FROM generate_series(10, -1, -3) n, LATERAL (SELECT id, part FROM q WHERE part >= n ORDER BY id LIMIT 40 + n) x'),
	'->  Merge Append.*Sort', 'left out for each row: the plan');
SELECT results_eq('SELECT n, x.* FROM generate_series(10, -1, -3) n, LATERAL (SELECT id, part FROM q WHERE part >= n ORDER BY id LIMIT 40 + n) x',
	'SELECT n, x.* FROM generate_series(10, -1, -3) n, LATERAL (SELECT id, part FROM q WHERE part >= n ORDER BY id + 0 LIMIT 40 + n) x', 'and its rows');
SELECT pg_temp.same_rows('SELECT n, x.* FROM generate_series(10, -1, -3) n, LATERAL (SELECT id, part FROM q WHERE id > n * 100 ORDER BY id LIMIT 40 + n) x',
	'none left out, with parameters and a bound that change for each row');

DROP SCHEMA gpusort_append CASCADE;
SELECT * FROM finish();
