-- What the executor may ask of a Sort: positions, directions, restarts, cursors, and leaving nothing behind.
\ir shapes.psql
SELECT plan(120);

CREATE SCHEMA executor;
SET search_path = executor, public;
SET gpusort.min_rows = 0;

-- rows of several forms: all by value, with NULLs late, wide, with values out of line
CREATE TABLE nums (id int8, k int4, g int4);
INSERT INTO nums SELECT i * 7919 % 10007, i % 97, i % 7 FROM generate_series(1, 4000) AS i;
CREATE TABLE late AS SELECT id, CASE WHEN id < 9900 THEN k END AS k, CASE WHEN id > 20 THEN repeat(id::text, 20) END AS filler FROM nums;
CREATE TABLE wide (id int8, big text);
ALTER TABLE wide ALTER big SET STORAGE EXTERNAL;
INSERT INTO wide SELECT id, repeat(md5(id::text), 100) FROM nums WHERE k < 10;
CREATE TABLE altered (a int4, dropped int4, id int8, gone text);
INSERT INTO altered SELECT k, id, id, 'x' FROM nums;
ALTER TABLE altered DROP dropped, DROP gone, ADD later text DEFAULT 'later', ADD empty int4;
INSERT INTO altered SELECT k, id + 20000, NULL, id FROM nums WHERE g = 1;
CREATE TABLE one AS SELECT * FROM nums LIMIT 1;
CREATE TABLE zero AS SELECT * FROM nums LIMIT 0;
CREATE TABLE nothing ();
INSERT INTO nothing SELECT FROM nums;
ANALYZE nums, late, wide, altered, one, zero, nothing;

-- Sixteen tests: all that is asked of one sort, in memory and spilled, and how many rows each query gives.
CREATE FUNCTION pg_temp.rows_of_all_forms(counts int[]) RETURNS SETOF text LANGUAGE sql AS $$
	SELECT pg_temp.compared(query, counts[n], 'GpuSort 1') FROM unnest(ARRAY[
		'SELECT * FROM nums ORDER BY id',
		'SELECT * FROM nums ORDER BY k DESC, id',
		'SELECT * FROM late ORDER BY k NULLS FIRST, id',
		'SELECT * FROM late ORDER BY k DESC NULLS LAST, id',
		'SELECT * FROM late ORDER BY filler COLLATE "C" NULLS FIRST, id DESC',
		'SELECT * FROM wide ORDER BY big COLLATE "C"',
		'SELECT id, length(big), md5(big) FROM (SELECT * FROM wide ORDER BY id) s',
		'SELECT * FROM altered ORDER BY id',
		'SELECT altered FROM altered ORDER BY a, id',
		'SELECT later, empty FROM altered ORDER BY empty NULLS FIRST, id',
		'SELECT * FROM one ORDER BY id',
		'SELECT * FROM zero ORDER BY id',
		'SELECT nothing FROM nothing ORDER BY ctid',
		'SELECT n.id, w.big FROM nums n, wide w WHERE n.id = w.id ORDER BY n.id DESC',
		'SELECT ARRAY[id, k], row(k, id) FROM nums ORDER BY id',
		'SELECT v.* FROM (VALUES (3, ''c''), (1, NULL), (2, ''a'')) AS v(a, b) ORDER BY a'
	]) WITH ORDINALITY AS q (query, n)
$$;

-- Moves a cursor about and collects the ids it sees, with the empty places.
CREATE FUNCTION pg_temp.wander(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	walk refcursor;
	step text;
	id int8;
	seen text[];
BEGIN
	OPEN walk SCROLL FOR EXECUTE query;
	FOREACH step IN ARRAY string_to_array('NEXT,NEXT,PRIOR,PRIOR,PRIOR,NEXT,ABSOLUTE 100,RELATIVE 0,PRIOR,RELATIVE 5,RELATIVE -50,'
		'LAST,NEXT,PRIOR,PRIOR,NEXT,NEXT,NEXT,PRIOR,ABSOLUTE -1,ABSOLUTE -4000,PRIOR,PRIOR,NEXT,FIRST,ABSOLUTE 4001,PRIOR,ABSOLUTE 0,'
		'NEXT,ABSOLUTE 2000,FORWARD 3,BACKWARD 3,LAST,RELATIVE -3999,RELATIVE -1,RELATIVE 1', ',') LOOP
		EXECUTE format('FETCH %s FROM %s', step, quote_ident(walk::text)) INTO id;
		seen := seen || coalesce(id::text, '-');
	END LOOP;
	CLOSE walk;
	RETURN array_to_string(seen, ' ');
END $$;

-- Nine tests: a cursor over a sort gives what one over PostgreSQL's does.
CREATE FUNCTION pg_temp.cursors() RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	query text;
	ours text;
	theirs text;
BEGIN
	FOREACH query IN ARRAY ARRAY[
		'SELECT id FROM nums ORDER BY id',
		'SELECT id FROM nums ORDER BY k, id DESC',
		'SELECT id, k, filler FROM late ORDER BY filler COLLATE "C", id',
		'SELECT id, big FROM wide ORDER BY big COLLATE "C"',
		'SELECT id FROM one ORDER BY id',
		'SELECT id FROM zero ORDER BY id',
		'SELECT id, rank() OVER (ORDER BY k, id) FROM nums',
		'SELECT DISTINCT ON (k) id FROM nums ORDER BY k, id',
		'SELECT id FROM (SELECT * FROM nums ORDER BY id OFFSET 5) s'
	] LOOP
		PERFORM set_config('gpusort.enabled', 'on', true);
		ours := pg_temp.wander(query);
		PERFORM set_config('gpusort.enabled', 'off', true);
		theirs := pg_temp.wander(query);
		PERFORM set_config('gpusort.enabled', 'on', true);
		RETURN NEXT is(pg_temp.sorts(query) || ': ' || ours, 'GpuSort 1: ' || theirs, 'cursor: ' || query);
	END LOOP;
END $$;

-- Fifteen tests: merge joins mark and restore; inner sides of nested loops start again, with parameters and without.
CREATE FUNCTION pg_temp.joins(counts int[]) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	query text;
	n int := 0;
BEGIN
	PERFORM set_config('enable_hashjoin', 'off', true);
	PERFORM set_config('enable_memoize', 'off', true);
	PERFORM set_config('enable_nestloop', 'off', true);
	FOREACH query IN ARRAY ARRAY[
		'SELECT a.id, b.id FROM nums a JOIN nums b USING (k)',
		'SELECT a.id, b.id, b.filler FROM nums a JOIN late b ON a.k = b.k AND b.id < 3000',
		'SELECT a.id, b.id FROM nums a LEFT JOIN late b USING (k)',
		'SELECT a.id, b.id FROM nums a RIGHT JOIN late b ON a.k = b.k AND a.id = b.id',
		'SELECT a.id, b.id FROM nums a FULL JOIN zero b ON a.k = b.k',
		'SELECT a.id FROM nums a WHERE EXISTS (SELECT FROM late b WHERE a.k = b.k)',
		'SELECT a.id FROM nums a WHERE NOT EXISTS (SELECT FROM late b WHERE a.id = b.k)',
		'SELECT a.id, b.id, c.id FROM nums a JOIN nums b ON a.id = b.id JOIN late c ON c.k = a.k AND c.id > 9000'
	] LOOP
		n := n + 1;
		RETURN NEXT pg_temp.compared_all(query, counts[n], false);
	END LOOP;
	PERFORM set_config('enable_mergejoin', 'off', true);
	PERFORM set_config('enable_nestloop', 'on', true);
	PERFORM set_config('enable_material', 'off', true);
	FOREACH query IN ARRAY ARRAY[
		'SELECT o.id, l.id FROM nums o, LATERAL (SELECT n.id FROM nums n WHERE n.k = o.g ORDER BY n.id OFFSET 1) l WHERE o.id < 50',
		'SELECT o.id, l.id FROM nums o, (SELECT n.id FROM late n WHERE n.k = 3 ORDER BY n.filler COLLATE "C", id OFFSET 1) l WHERE o.id < 50',
		'SELECT o.id, l.id FROM nums o, LATERAL (SELECT n.id FROM late n ORDER BY n.k + o.g, id LIMIT 3000) l WHERE o.id < 20 AND l.id < 100',
		'SELECT o.id, (SELECT string_agg(s.id::text, '','') FROM (SELECT n.id FROM nums n WHERE n.k = o.g AND n.id > o.id ORDER BY n.id DESC) s) FROM nums o WHERE o.id < 50',
		'SELECT o.id, l.id FROM nums o, LATERAL (SELECT n.id FROM nums n ORDER BY n.k, n.id LIMIT o.g + 1) l WHERE o.id < 50',
		'SELECT o.id, l.id FROM nums o, LATERAL (SELECT n.id FROM nums n ORDER BY n.k, n.id LIMIT CASE o.g WHEN 0 THEN NULL WHEN 1 THEN 3000 ELSE o.g END) l WHERE o.id < 30',
		'SELECT o.id, l.c FROM nums o, LATERAL (SELECT count(*) AS c FROM (SELECT DISTINCT n.k FROM nums n WHERE n.id < o.id ORDER BY n.k OFFSET 0) s) l WHERE o.id < 500'
	] LOOP
		n := n + 1;
		RETURN NEXT pg_temp.compared_all(query, counts[n]);
	END LOOP;
END $$;

SELECT pg_temp.rows_of_all_forms('{4000, 4000, 4000, 4000, 4000, 419, 419, 4572, 4572, 4572, 1, 0, 4000, 419, 4000, 3}');
SELECT pg_temp.cursors();
SELECT pg_temp.joins('{164966, 49325, 163152, 4000, 4000, 4000, 3962, 14807, 776, 760, 224, 19, 71, 11031, 199}');

-- the same with sorts that do not fit their memory
SET gpusort.work_mem = '1MB';
INSERT INTO nums SELECT 20000 + i * 7919 % 1000003, i % 97, i % 7 FROM generate_series(20000, 45000) AS i;
INSERT INTO late SELECT id, CASE WHEN id < 990000 THEN k END, CASE WHEN id > 200 THEN repeat(id::text, 10) END FROM nums WHERE id >= 20000 AND id % 3 = 0;
INSERT INTO wide SELECT id, repeat(md5(id::text), 100) FROM nums WHERE id >= 20000 AND k < 2;
ANALYZE nums, late, wide;
SELECT pg_temp.rows_of_all_forms('{29001, 29001, 12334, 12334, 12334, 933, 933, 4572, 4572, 4572, 1, 0, 4000, 933, 29001, 3}');
SELECT pg_temp.cursors();
SELECT pg_temp.compared('SELECT a.id, b.id FROM late a JOIN late b USING (id, filler)', 12326, 'none', false);
BEGIN;
SET LOCAL enable_hashjoin = off;
SET LOCAL enable_nestloop = off;
SELECT pg_temp.compared('SELECT a.id, b.id, b.filler FROM nums a JOIN late b ON a.id = b.id', 12334, 'GpuSort 2', false);
SELECT pg_temp.compared('SELECT count(*), sum(a.id), sum(length(b.filler)) FROM nums a JOIN late b USING (k)', 1, 'GpuSort 2');
COMMIT;
RESET gpusort.work_mem;
DELETE FROM nums WHERE id > 10007;

-- EXPLAIN alone sorts nothing
CREATE SEQUENCE calls;
CREATE FUNCTION counted(int8) RETURNS int8 LANGUAGE plpgsql AS $$ BEGIN PERFORM nextval('calls'); RETURN $1; END $$;
SELECT pg_temp.planned('SELECT * FROM one ORDER BY counted(id)', 'GpuSort(Seq Scan)');
SELECT is((SELECT is_called FROM calls), false, 'the key is not asked');
SELECT is((SELECT count(*) FROM (SELECT * FROM one ORDER BY counted(id) OFFSET 0) s), 1::int8, 'the query runs');
SELECT is((SELECT last_value FROM calls), 1::int8, 'the key is asked once');

-- cursors that outlive their transaction, read in both directions before and after
BEGIN;
DECLARE held SCROLL CURSOR WITH HOLD FOR SELECT id, k FROM nums ORDER BY id;
SELECT results_eq('FETCH 3 FROM held', 'VALUES (6::int8, 81), (7, 11), (8, 38)', 'FETCH 3 FROM held');
SELECT results_eq('FETCH BACKWARD 2 FROM held', 'VALUES (7::int8, 11), (6, 81)', 'FETCH BACKWARD 2 FROM held');
MOVE LAST IN held;
COMMIT;
SELECT results_eq('FETCH BACKWARD 2 FROM held', 'VALUES (10005::int8, 43), (10004, 16)', 'FETCH BACKWARD 2 FROM held');
SELECT results_eq('FETCH FIRST FROM held', 'VALUES (6::int8, 81)', 'FETCH FIRST FROM held');
SELECT results_eq('FETCH ABSOLUTE 10 FROM held', 'VALUES (27::int8, 1)', 'FETCH ABSOLUTE 10 FROM held');
CLOSE held;
BEGIN;
DECLARE held CURSOR WITH HOLD FOR SELECT id FROM nums ORDER BY k, id;
SELECT results_eq('FETCH 2 FROM held', 'VALUES (142::int8), (423)', 'FETCH 2 FROM held');
COMMIT;
SELECT results_eq('FETCH 2 FROM held', 'VALUES (565::int8), (846)', 'FETCH 2 FROM held');
CLOSE held;
DECLARE held CURSOR WITH HOLD FOR SELECT id FROM nums ORDER BY k DESC, id DESC;
SELECT results_eq('FETCH 2 FROM held', 'VALUES (9841::int8), (9699)', 'FETCH 2 FROM held');
CLOSE held;

-- a cursor that did not ask for SCROLL can go back over a sort all the same, as over PostgreSQL's
BEGIN;
DECLARE plain CURSOR FOR SELECT id FROM nums ORDER BY id;
SELECT results_eq('FETCH 2 FROM plain', 'VALUES (6::int8), (7)', 'FETCH 2 FROM plain');
SELECT results_eq('FETCH PRIOR FROM plain', 'VALUES (6::int8)', 'FETCH PRIOR FROM plain');
DECLARE never NO SCROLL CURSOR FOR SELECT id FROM nums ORDER BY id;
SELECT results_eq('FETCH 2 FROM never', 'VALUES (6::int8), (7)', 'FETCH 2 FROM never');
SAVEPOINT s;
SELECT throws_ok('FETCH PRIOR FROM never', '55000', 'cursor can only scan forward');
ROLLBACK TO s;
-- MOVE counts, and the end is found from both sides
MOVE FORWARD ALL IN plain;
SELECT is_empty('FETCH NEXT FROM plain', 'FETCH NEXT FROM plain: nothing');
SELECT results_eq('FETCH PRIOR FROM plain', 'VALUES (10006::int8)', 'FETCH PRIOR FROM plain');
MOVE BACKWARD ALL IN plain;
SELECT is_empty('FETCH PRIOR FROM plain', 'FETCH PRIOR FROM plain: nothing');
SELECT results_eq('FETCH NEXT FROM plain', 'VALUES (6::int8)', 'FETCH NEXT FROM plain');
-- a sorted cursor cannot be updated through, as ever
SELECT throws_ok('UPDATE nums SET k = 1 WHERE CURRENT OF plain', '24000', 'cursor "plain" is not a simply updatable scan of table "nums"');
ROLLBACK;

-- row locks above a sort
BEGIN;
DECLARE locking CURSOR FOR SELECT id FROM nums ORDER BY id FOR UPDATE;
SELECT results_eq('FETCH 2 FROM locking', 'VALUES (6::int8), (7)', 'FETCH 2 FROM locking');
UPDATE nums SET k = k + 1 WHERE CURRENT OF locking;
SELECT results_eq('SELECT k FROM nums ORDER BY id LIMIT 2', 'VALUES (81), (12)', 'the second row has changed');
ROLLBACK;

-- LIMIT as constant, parameter, expression; changed between executions
PREPARE part(int8, int8) AS SELECT id FROM nums ORDER BY id LIMIT $1 OFFSET $2;
SET plan_cache_mode = force_generic_plan;
SELECT results_eq('EXECUTE part(2, 0)', 'VALUES (6::int8), (7)', 'EXECUTE part(2, 0)');
SELECT results_eq('EXECUTE part(2, 3)', 'VALUES (9::int8), (16)', 'EXECUTE part(2, 3)');
SELECT is_empty('EXECUTE part(0, 0)', 'EXECUTE part(0, 0): nothing');
SELECT unalike(pg_temp.plan_of('EXECUTE part(NULL, NULL)', 'ANALYZE'), '%Fallback%', 'no bound');
SELECT throws_ok('EXECUTE part(-1, 0)', '2201W', 'LIMIT must not be negative');
SELECT is_empty('EXECUTE part(1, 9223372036854775807)', 'EXECUTE part(1, 9223372036854775807): nothing');
RESET plan_cache_mode;
SELECT pg_temp.compared('SELECT id FROM nums ORDER BY id LIMIT 2 + 1', 3, 'Sort 1');
SELECT pg_temp.compared('SELECT id FROM nums ORDER BY id LIMIT (SELECT count(*) FROM nums)', 4000, 'GpuSort 1');
SELECT pg_temp.compared('SELECT id FROM nums ORDER BY id LIMIT (SELECT min(g) + 2 FROM nums) OFFSET (SELECT 3)', 2, 'GpuSort 1');
SELECT pg_temp.compared('SELECT k FROM nums ORDER BY k FETCH FIRST (SELECT 3) ROWS WITH TIES', 41, 'GpuSort 1');

-- switched off between planning and running, and on again
PREPARE ids AS SELECT id FROM nums ORDER BY id DESC OFFSET 3 LIMIT 3000;
SET plan_cache_mode = force_generic_plan;
CREATE TABLE on_first AS EXECUTE ids;
SET gpusort.enabled = off;
CREATE TABLE off_then AS EXECUTE ids;
RESET gpusort.enabled;
SELECT results_eq('TABLE on_first', 'TABLE off_then', 'a plan that was made before gpusort was switched off');
BEGIN;
DECLARE switched SCROLL CURSOR FOR SELECT id FROM nums ORDER BY id;
SET gpusort.enabled = off;
SELECT results_eq('FETCH 2 FROM switched', 'VALUES (6::int8), (7)', 'FETCH 2 FROM switched');
SELECT results_eq('FETCH LAST FROM switched', 'VALUES (10006::int8)', 'FETCH LAST FROM switched');
SELECT results_eq('FETCH PRIOR FROM switched', 'VALUES (10005::int8)', 'FETCH PRIOR FROM switched');
RESET gpusort.enabled;
SELECT results_eq('FETCH FIRST FROM switched', 'VALUES (6::int8)', 'FETCH FIRST FROM switched');
COMMIT;
RESET plan_cache_mode;

-- errors in the middle leave nothing behind
SELECT throws_ok('SELECT id / (id - 5000) FROM (SELECT id, k FROM nums UNION ALL SELECT 5000, 1) s ORDER BY 1', '22012', NULL, 'an error above a sort');
SELECT throws_ok('SELECT count(*) FROM (SELECT * FROM nums ORDER BY id / (k - 50) OFFSET 0) s', '22012', NULL, 'below one');
BEGIN;
DECLARE good CURSOR FOR SELECT id FROM nums ORDER BY id;
SELECT results_eq('FETCH 1 FROM good', 'VALUES (6::int8)', 'FETCH 1 FROM good');
SAVEPOINT s;
DECLARE bad CURSOR FOR SELECT id FROM nums ORDER BY 1 / k;
SELECT throws_ok('FETCH 1 FROM bad', '22012', 'division by zero');
ROLLBACK TO s;
SELECT results_eq('FETCH 1 FROM good', 'VALUES (7::int8)', 'FETCH 1 FROM good');
COMMIT;
SET gpusort.work_mem = '1MB';
SELECT throws_ok($$SELECT count(*) FROM (SELECT i, repeat('x', 100) || i AS x FROM generate_series(1, 30000) AS i
	ORDER BY 1 / (i - 29000), i OFFSET 0) s$$, '22012', NULL, 'below one that has gone to disk');
SELECT is((SELECT count(*) FROM (SELECT i, repeat('x', 100) || i AS x FROM generate_series(1, 30000) AS i
	ORDER BY 1 / (i - 30001), i DESC OFFSET 0) s), 30000::int8, 'none in the same sort without the row');
RESET gpusort.work_mem;

-- a query that is stopped, which pgTAP would not catch
CREATE FUNCTION pg_temp.is_stopped(query text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE query;
	RETURN fail(query);
EXCEPTION WHEN query_canceled THEN
	RETURN pass('is stopped: ' || query);
END $$;
SET statement_timeout = '100ms';
SELECT pg_temp.is_stopped('SELECT count(*) FROM (SELECT * FROM generate_series(1, 20000000) AS i ORDER BY -i OFFSET 0) s');
RESET statement_timeout;
SELECT pg_temp.compared('SELECT * FROM nums ORDER BY id', 4000, 'GpuSort 1');
SELECT is_empty($$SELECT FROM pg_backend_memory_contexts WHERE name ~ '^gpusort'$$, 'no memory is left');

-- values out of line get copies of their own in another table
CREATE TABLE copied (id int8, big text);
ALTER TABLE copied ALTER big SET STORAGE EXTERNAL;
INSERT INTO copied SELECT * FROM wide ORDER BY big COLLATE "C";
SELECT cmp_ok((SELECT pg_relation_size(reltoastrelid) FROM pg_class WHERE oid = 'copied'::regclass), '>', 0::int8, 'copies out of line');
CREATE TABLE digest AS SELECT id, md5(big) AS sum FROM wide;
DROP TABLE wide;
SELECT is((SELECT count(*) FROM copied JOIN digest USING (id) WHERE md5(big) = sum), 933::int8, 'all values are right');
SELECT is((SELECT count(*) FROM digest), 933::int8, 'of all rows');
SELECT is((SELECT bool_and(big >= previous) FROM (SELECT big COLLATE "C" AS big,
	lag(big, 1, '') OVER (ORDER BY ctid) COLLATE "C" AS previous FROM copied) s), true, 'in their order');

DROP SCHEMA executor CASCADE;
SELECT * FROM finish();
