-- What the executor may ask of a Sort: positions, directions, restarts, cursors, and leaving nothing behind.
\set ECHO none
\getenv srcdir PG_ABS_SRCDIR
\set helpers :srcdir '/helpers.psql'
\i :helpers
\set ECHO all
LOAD 'gpusort';
CREATE SCHEMA executor;
SET search_path = executor;
SET max_parallel_workers_per_gather = 0;
SET jit = off;
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

-- All that is asked of one sort, by memory: in memory, and spilled.
CREATE PROCEDURE pg_temp.rows_of_all_forms() LANGUAGE plpgsql AS $$
DECLARE
	query text;
BEGIN
	FOREACH query IN ARRAY ARRAY[
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
	] LOOP
		RAISE NOTICE '%: %', query, pg_temp.compare(query);
	END LOOP;
END $$;

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

CREATE PROCEDURE pg_temp.cursors() LANGUAGE plpgsql AS $$
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
		RAISE NOTICE '%: % %', query, pg_temp.sorts(query), CASE WHEN ours = theirs THEN 'same' ELSE E'DIFFERENT\n' || ours || E'\n' || theirs END;
	END LOOP;
END $$;

-- Merge joins mark and restore; inner sides of nested loops start again, with parameters and without.
CREATE PROCEDURE pg_temp.joins() LANGUAGE plpgsql AS $$
DECLARE
	query text;
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
		RAISE NOTICE '%: %', query, pg_temp.compare_all(query, false);
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
		RAISE NOTICE '%: %', query, pg_temp.compare_all(query);
	END LOOP;
END $$;

CALL pg_temp.rows_of_all_forms();
CALL pg_temp.cursors();
CALL pg_temp.joins();

-- the same with sorts that do not fit their memory
SET gpusort.work_mem = '1MB';
INSERT INTO nums SELECT 20000 + i * 7919 % 1000003, i % 97, i % 7 FROM generate_series(20000, 45000) AS i;
INSERT INTO late SELECT id, CASE WHEN id < 990000 THEN k END, CASE WHEN id > 200 THEN repeat(id::text, 10) END FROM nums WHERE id >= 20000 AND id % 3 = 0;
INSERT INTO wide SELECT id, repeat(md5(id::text), 100) FROM nums WHERE id >= 20000 AND k < 2;
ANALYZE nums, late, wide;
CALL pg_temp.rows_of_all_forms();
CALL pg_temp.cursors();
SELECT pg_temp.compare('SELECT a.id, b.id FROM late a JOIN late b USING (id, filler)', false);
BEGIN;
SET LOCAL enable_hashjoin = off;
SET LOCAL enable_nestloop = off;
SELECT pg_temp.compare('SELECT a.id, b.id, b.filler FROM nums a JOIN late b ON a.id = b.id', false);
SELECT pg_temp.compare('SELECT count(*), sum(a.id), sum(length(b.filler)) FROM nums a JOIN late b USING (k)');
COMMIT;
RESET gpusort.work_mem;
DELETE FROM nums WHERE id > 10007;

-- EXPLAIN alone sorts nothing
CREATE FUNCTION loud(int8) RETURNS int8 LANGUAGE plpgsql AS $$ BEGIN RAISE NOTICE 'called'; RETURN $1; END $$;
EXPLAIN (COSTS OFF) SELECT * FROM one ORDER BY loud(id);
SELECT count(*) FROM (SELECT * FROM one ORDER BY loud(id) OFFSET 0) s;

-- cursors that outlive their transaction, read in both directions before and after
BEGIN;
DECLARE held SCROLL CURSOR WITH HOLD FOR SELECT id, k FROM nums ORDER BY id;
FETCH 3 FROM held;
FETCH BACKWARD 2 FROM held;
MOVE LAST IN held;
COMMIT;
FETCH BACKWARD 2 FROM held;
FETCH FIRST FROM held;
FETCH ABSOLUTE 10 FROM held;
CLOSE held;
BEGIN;
DECLARE held CURSOR WITH HOLD FOR SELECT id FROM nums ORDER BY k, id;
FETCH 2 FROM held;
COMMIT;
FETCH 2 FROM held;
CLOSE held;
DECLARE held CURSOR WITH HOLD FOR SELECT id FROM nums ORDER BY k DESC, id DESC;
FETCH 2 FROM held;
CLOSE held;

-- a cursor that did not ask for SCROLL can go back over a sort all the same, as over PostgreSQL's
BEGIN;
DECLARE plain CURSOR FOR SELECT id FROM nums ORDER BY id;
FETCH 2 FROM plain;
FETCH PRIOR FROM plain;
DECLARE never NO SCROLL CURSOR FOR SELECT id FROM nums ORDER BY id;
FETCH 2 FROM never;
SAVEPOINT s;
FETCH PRIOR FROM never;
ROLLBACK TO s;
-- MOVE counts, and the end is found from both sides
MOVE FORWARD ALL IN plain;
FETCH NEXT FROM plain;
FETCH PRIOR FROM plain;
MOVE BACKWARD ALL IN plain;
FETCH PRIOR FROM plain;
FETCH NEXT FROM plain;
-- a sorted cursor cannot be updated through, as ever
UPDATE nums SET k = 1 WHERE CURRENT OF plain;
ROLLBACK;

-- row locks above a sort
BEGIN;
DECLARE locking CURSOR FOR SELECT id FROM nums ORDER BY id FOR UPDATE;
FETCH 2 FROM locking;
UPDATE nums SET k = k + 1 WHERE CURRENT OF locking;
SELECT k FROM nums ORDER BY id LIMIT 2;
ROLLBACK;

-- LIMIT as constant, parameter, expression; changed between executions
PREPARE part(int8, int8) AS SELECT id FROM nums ORDER BY id LIMIT $1 OFFSET $2;
SET plan_cache_mode = force_generic_plan;
EXECUTE part(2, 0);
EXECUTE part(2, 3);
EXECUTE part(0, 0);
SELECT count(*) FROM pg_temp.explain('EXECUTE part(NULL, NULL)', 'ANALYZE') WHERE explain ~ 'Fallback';
EXECUTE part(-1, 0);
EXECUTE part(1, 9223372036854775807);
RESET plan_cache_mode;
SELECT pg_temp.compare('SELECT id FROM nums ORDER BY id LIMIT 2 + 1');
SELECT pg_temp.compare('SELECT id FROM nums ORDER BY id LIMIT (SELECT count(*) FROM nums)');
SELECT pg_temp.compare('SELECT id FROM nums ORDER BY id LIMIT (SELECT min(g) + 2 FROM nums) OFFSET (SELECT 3)');
SELECT pg_temp.compare('SELECT k FROM nums ORDER BY k FETCH FIRST (SELECT 3) ROWS WITH TIES');

-- switched off between planning and running, and on again
PREPARE ids AS SELECT id FROM nums ORDER BY id DESC OFFSET 3 LIMIT 3000;
SET plan_cache_mode = force_generic_plan;
CREATE TABLE on_first AS EXECUTE ids;
SET gpusort.enabled = off;
CREATE TABLE off_then AS EXECUTE ids;
RESET gpusort.enabled;
SELECT (SELECT array_agg(id) FROM on_first) = (SELECT array_agg(id) FROM off_then) AS same;
BEGIN;
DECLARE switched SCROLL CURSOR FOR SELECT id FROM nums ORDER BY id;
SET gpusort.enabled = off;
FETCH 2 FROM switched;
FETCH LAST FROM switched;
FETCH PRIOR FROM switched;
RESET gpusort.enabled;
FETCH FIRST FROM switched;
COMMIT;
RESET plan_cache_mode;

-- errors in the middle leave nothing behind
SELECT id / (id - 5000) FROM (SELECT id, k FROM nums UNION ALL SELECT 5000, 1) s ORDER BY 1;
SELECT count(*) FROM (SELECT * FROM nums ORDER BY id / (k - 50) OFFSET 0) s;
BEGIN;
DECLARE good CURSOR FOR SELECT id FROM nums ORDER BY id;
FETCH 1 FROM good;
SAVEPOINT s;
DECLARE bad CURSOR FOR SELECT id FROM nums ORDER BY 1 / k;
FETCH 1 FROM bad;
ROLLBACK TO s;
FETCH 1 FROM good;
COMMIT;
SET gpusort.work_mem = '1MB';
SELECT count(*) FROM (SELECT i, repeat('x', 100) || i AS x FROM generate_series(1, 30000) AS i ORDER BY 1 / (i - 29000), i OFFSET 0) s;
SELECT count(*) FROM (SELECT i, repeat('x', 100) || i AS x FROM generate_series(1, 30000) AS i ORDER BY 1 / (i - 30001), i DESC OFFSET 0) s;
RESET gpusort.work_mem;

-- a query that is stopped
SET statement_timeout = '100ms';
SELECT count(*) FROM (SELECT * FROM generate_series(1, 20000000) AS i ORDER BY -i OFFSET 0) s;
RESET statement_timeout;
SELECT pg_temp.compare('SELECT * FROM nums ORDER BY id');
SELECT count(*) FROM pg_backend_memory_contexts WHERE name ~ '^gpusort';

-- values out of line get copies of their own in another table
CREATE TABLE copied (id int8, big text);
ALTER TABLE copied ALTER big SET STORAGE EXTERNAL;
INSERT INTO copied SELECT * FROM wide ORDER BY big COLLATE "C";
SELECT pg_relation_size(reltoastrelid) > 0 AS toasted FROM pg_class WHERE oid = 'copied'::regclass;
CREATE TABLE digest AS SELECT id, md5(big) AS sum FROM wide;
DROP TABLE wide;
SELECT count(*) FROM copied JOIN digest USING (id) WHERE md5(big) = sum HAVING count(*) = (SELECT count(*) FROM digest);
SELECT count(*) > 0 AS rows, bool_and(big >= previous) AS ordered FROM (SELECT big COLLATE "C" AS big, lag(big, 1, '') OVER (ORDER BY ctid) COLLATE "C" AS previous FROM copied) s;

SET client_min_messages = warning;
DROP SCHEMA executor CASCADE;
