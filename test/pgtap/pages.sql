-- Rows that are taken from a table's pages many at a time, and keys that are read where a column of the result lies.
\set ECHO none
\getenv srcdir PG_ABS_SRCDIR
\set helpers :srcdir '/helpers.psql'
\i :helpers
\set ECHO all
LOAD 'gpusort';
CREATE SCHEMA pages;
SET search_path = pages;
SET max_parallel_workers_per_gather = 0;
SET jit = off;
SET gpusort.min_rows = 0;
SET gpusort.explain_machine = off;

-- the same query as the top of two statements: the rows they store, one by one
CREATE FUNCTION pg_temp.stored(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	rows text;
BEGIN
	EXECUTE 'CREATE TEMP TABLE ours AS ' || query;
	PERFORM set_config('gpusort.enabled', 'off', true);
	EXECUTE 'CREATE TEMP TABLE theirs AS ' || query;
	PERFORM set_config('gpusort.enabled', 'on', true);
	EXECUTE 'SELECT CASE WHEN (SELECT array_agg(ours::text ORDER BY ctid) FROM ours) IS NOT DISTINCT FROM
		(SELECT array_agg(theirs::text ORDER BY ctid) FROM theirs) THEN ''same'' ELSE ''DIFFERENT'' END' INTO rows;
	DROP TABLE ours, theirs;
	RETURN rows || '; ' || pg_temp.sorts(query);
END $$;

-- one form of row, then NULLs and other lengths on the same pages, rows that are gone, rows of others and of oneself
CREATE TABLE t (id int4, g int2, s text COLLATE "C", f float8, last int4, tail int2);
INSERT INTO t SELECT i * 7919 % 10007, i % 7, lpad(i::text, 8, 'x'), -i / 3.0, i % 100, i % 50 FROM generate_series(1, 5000) AS i;
SELECT pg_temp.compare('SELECT * FROM t ORDER BY id');
SELECT pg_temp.compare('SELECT * FROM t ORDER BY last, id');
SELECT pg_temp.compare('SELECT * FROM t ORDER BY tail DESC, last, f');
SELECT pg_temp.compare('SELECT * FROM t ORDER BY s DESC');
SELECT pg_temp.compare('SELECT id FROM t ORDER BY id');
SELECT pg_temp.compare('SELECT f, id FROM t WHERE true ORDER BY f, id');
SELECT pg_temp.compare('SELECT g, id, g AS again FROM t ORDER BY g DESC, id');
SELECT pg_temp.compare('SELECT last FROM t ORDER BY last');
SELECT pg_temp.compare('SELECT s FROM t ORDER BY s');
SELECT pg_temp.compare('SELECT id FROM t WHERE id % 2 = 0 ORDER BY id');
SELECT pg_temp.compare('SELECT ctid, id FROM t ORDER BY id');
DELETE FROM t WHERE id % 11 = 0;
UPDATE t SET s = 'longer than before ' || id WHERE id % 13 = 0;
UPDATE t SET s = NULL WHERE id % 17 = 0;
UPDATE t SET g = NULL WHERE id % 19 = 0;
UPDATE t SET last = NULL WHERE id % 23 = 0;
SELECT pg_temp.compare('SELECT * FROM t ORDER BY id');
SELECT pg_temp.compare('SELECT * FROM t ORDER BY last NULLS FIRST, id');
SELECT pg_temp.compare('SELECT * FROM t ORDER BY s DESC NULLS LAST, id');
SELECT pg_temp.compare('SELECT id FROM t ORDER BY id');
SELECT pg_temp.compare('SELECT g, f FROM t ORDER BY g, f');
SELECT pg_temp.compare('SELECT last, id FROM t ORDER BY last, id');

-- a row longer than any page
CREATE TABLE names (id int4, n name);
INSERT INTO names SELECT -i, 'n' || i FROM generate_series(1, 200) AS i;
SELECT pg_temp.compare('SELECT id, ' || repeat('n, ', 1200) || 'id FROM names ORDER BY id');

-- columns that old rows lack are NULL there, wherever the key is read
CREATE TABLE old (a int4, b int4);
INSERT INTO old SELECT i, -i FROM generate_series(1, 300) AS i;
ALTER TABLE old ADD c int4, ADD d int8;
INSERT INTO old SELECT -i, i, -i, -i FROM generate_series(1, 300) AS i;
SELECT pg_temp.compare('SELECT * FROM old ORDER BY d NULLS FIRST, a DESC');
SELECT pg_temp.compare('SELECT * FROM old ORDER BY c, b');
SELECT pg_temp.compare('SELECT d FROM old ORDER BY d NULLS FIRST');
SELECT pg_temp.compare('SELECT d, a FROM old ORDER BY d, a');

-- what others see of the scan: rows counted by EXPLAIN and by statistics, and the rows of a cursor's own time
SELECT regexp_replace(x, '[.]00 ', ' ') AS scan FROM pg_temp.explain('SELECT id FROM t ORDER BY id', 'ANALYZE, COSTS OFF, TIMING OFF') AS x WHERE x ~ 'Seq Scan';
BEGIN;
SELECT pg_stat_get_xact_tuples_returned('t'::regclass) AS before \gset
SELECT count(*) AS n FROM (SELECT * FROM t ORDER BY id OFFSET 0) x \gset
SELECT pg_stat_get_xact_tuples_returned('t'::regclass) - :before = :n AS counted;
DECLARE c CURSOR FOR SELECT id FROM t ORDER BY id;
DELETE FROM t;
FETCH 2 FROM c;
MOVE ALL FROM c;
ROLLBACK;
SET gpusort.work_mem = '1MB';
CREATE TABLE long AS SELECT i, i * 7919 % 100003 AS k, repeat('y', 20) AS y FROM generate_series(1, 60000) AS i;
SELECT count(*), bool_and(ordered) FROM (SELECT k >= lag(k, 1, 0) OVER () AS ordered FROM (SELECT * FROM long ORDER BY k OFFSET 0) x) y;
RESET gpusort.work_mem;

-- a key that is a column under another collation or type name needs no copy
CREATE TABLE c (id int4, s text, v varchar(30), n int4);
INSERT INTO c SELECT i, md5((i % 700)::text), 'v' || i % 90, i % 5 FROM generate_series(1, 3000) AS i;
SELECT pg_temp.stored('SELECT * FROM c ORDER BY s COLLATE "C", id DESC');
SELECT pg_temp.stored('SELECT * FROM c ORDER BY v::text COLLATE "C" DESC, s COLLATE "POSIX", id');
SELECT pg_temp.stored('SELECT v, id FROM c ORDER BY v COLLATE "C", id OFFSET 10');
SELECT pg_temp.stored('SELECT v, id FROM c ORDER BY v COLLATE "C", id LIMIT 2500');
SELECT pg_temp.stored('SELECT v, id FROM c ORDER BY v COLLATE "C", id FETCH FIRST 20 ROWS WITH TIES');
SELECT pg_temp.stored('SELECT id FROM c ORDER BY s COLLATE "C", id');
SELECT pg_temp.stored('SELECT s, id FROM c ORDER BY s COLLATE "C", n, id');
SELECT pg_temp.stored('SELECT s || id AS s FROM c ORDER BY (s || id) COLLATE "C"');
SET enable_mergejoin = off;
SELECT pg_temp.stored('SELECT a.s, b.id FROM c a JOIN c b ON a.id = b.id ORDER BY a.s COLLATE "C", b.id');
SELECT pg_temp.stored('SELECT s, rank() OVER (ORDER BY s COLLATE "C") FROM c');
SELECT pg_temp.stored('SELECT DISTINCT ON (s COLLATE "C") s, id FROM c ORDER BY s COLLATE "C", id');
SELECT pg_temp.stored('(SELECT s FROM c ORDER BY s COLLATE "C") UNION ALL SELECT v FROM c');
EXPLAIN (VERBOSE, COSTS OFF) SELECT * FROM c ORDER BY v COLLATE "C", id OFFSET 1;
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT s, id FROM c ORDER BY s COLLATE "C" DESC, id;
FETCH 2 FROM c;
FETCH LAST FROM c;
FETCH PRIOR FROM c;
COMMIT;
SELECT s, id FROM c ORDER BY s COLLATE "C", id FOR UPDATE LIMIT 1;

SET client_min_messages = warning;
DROP SCHEMA pages CASCADE;
