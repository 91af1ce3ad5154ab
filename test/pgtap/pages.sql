-- Rows that are taken from a table's pages many at a time, and keys that are read where a column of the result lies.
\ir shapes.psql
SELECT plan(48);

CREATE SCHEMA pages;
SET search_path = pages, public;
SET gpusort.min_rows = 0;
SET gpusort.explain_machine = off;

-- One test: the query as the top of two statements stores the rows of PostgreSQL's, one by one, by so many sorts.
CREATE FUNCTION pg_temp.stored(query text, sorts text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	same bool;
BEGIN
	EXECUTE 'CREATE TEMP TABLE ours AS ' || query;
	PERFORM set_config('gpusort.enabled', 'off', true);
	EXECUTE 'CREATE TEMP TABLE theirs AS ' || query;
	PERFORM set_config('gpusort.enabled', 'on', true);
	EXECUTE 'SELECT (SELECT array_agg(ours::text ORDER BY ctid) FROM ours) IS NOT DISTINCT FROM
		(SELECT array_agg(theirs::text ORDER BY ctid) FROM theirs)' INTO same;
	DROP TABLE ours, theirs;
	RETURN is(CASE WHEN same THEN 'same; ' ELSE 'DIFFERENT; ' END || pg_temp.sorts(query), 'same; ' || sorts, query);
END $$;

-- one form of row, then NULLs and other lengths on the same pages, rows that are gone, rows of others and of oneself
CREATE TABLE t (id int4, g int2, s text COLLATE "C", f float8, last int4, tail int2);
INSERT INTO t SELECT i * 7919 % 10007, i % 7, lpad(i::text, 8, 'x'), -i / 3.0, i % 100, i % 50 FROM generate_series(1, 5000) AS i;
SELECT pg_temp.compared('SELECT * FROM t ORDER BY id', 5000, 'GpuSort 1');
SELECT pg_temp.compared('SELECT * FROM t ORDER BY last, id', 5000, 'GpuSort 1');
SELECT pg_temp.compared('SELECT * FROM t ORDER BY tail DESC, last, f', 5000, 'GpuSort 1');
SELECT pg_temp.compared('SELECT * FROM t ORDER BY s DESC', 5000, 'GpuSort 1');
SELECT pg_temp.compared('SELECT id FROM t ORDER BY id', 5000, 'GpuSort 1');
SELECT pg_temp.compared('SELECT f, id FROM t WHERE true ORDER BY f, id', 5000, 'GpuSort 1');
SELECT pg_temp.compared('SELECT g, id, g AS again FROM t ORDER BY g DESC, id', 5000, 'GpuSort 1');
SELECT pg_temp.compared('SELECT last FROM t ORDER BY last', 5000, 'GpuSort 1');
SELECT pg_temp.compared('SELECT s FROM t ORDER BY s', 5000, 'GpuSort 1');
SELECT pg_temp.compared('SELECT id FROM t WHERE id % 2 = 0 ORDER BY id', 2498, 'GpuSort 1');
SELECT pg_temp.compared('SELECT ctid, id FROM t ORDER BY id', 5000, 'GpuSort 1');
DELETE FROM t WHERE id % 11 = 0;
UPDATE t SET s = 'longer than before ' || id WHERE id % 13 = 0;
UPDATE t SET s = NULL WHERE id % 17 = 0;
UPDATE t SET g = NULL WHERE id % 19 = 0;
UPDATE t SET last = NULL WHERE id % 23 = 0;
SELECT pg_temp.compared('SELECT * FROM t ORDER BY id', 4552, 'GpuSort 1');
SELECT pg_temp.compared('SELECT * FROM t ORDER BY last NULLS FIRST, id', 4552, 'GpuSort 1');
SELECT pg_temp.compared('SELECT * FROM t ORDER BY s DESC NULLS LAST, id', 4552, 'GpuSort 1');
SELECT pg_temp.compared('SELECT id FROM t ORDER BY id', 4552, 'GpuSort 1');
SELECT pg_temp.compared('SELECT g, f FROM t ORDER BY g, f', 4552, 'GpuSort 1');
SELECT pg_temp.compared('SELECT last, id FROM t ORDER BY last, id', 4552, 'GpuSort 1');

-- a row longer than any page
CREATE TABLE names (id int4, n name);
INSERT INTO names SELECT -i, 'n' || i FROM generate_series(1, 200) AS i;
SELECT pg_temp.compared('SELECT id, ' || repeat('n, ', 1200) || 'id FROM names ORDER BY id', 200, 'GpuSort 1');

-- columns that old rows lack are NULL there, wherever the key is read
CREATE TABLE old (a int4, b int4);
INSERT INTO old SELECT i, -i FROM generate_series(1, 300) AS i;
ALTER TABLE old ADD c int4, ADD d int8;
INSERT INTO old SELECT -i, i, -i, -i FROM generate_series(1, 300) AS i;
SELECT pg_temp.compared('SELECT * FROM old ORDER BY d NULLS FIRST, a DESC', 600, 'GpuSort 1');
SELECT pg_temp.compared('SELECT * FROM old ORDER BY c, b', 600, 'GpuSort 1');
SELECT pg_temp.compared('SELECT d FROM old ORDER BY d NULLS FIRST', 600, 'GpuSort 1');
SELECT pg_temp.compared('SELECT d, a FROM old ORDER BY d, a', 600, 'GpuSort 1');

-- some columns of rows of varying length, which are formed where they stay: NULLs, empty and long values, a column whose
-- default the old rows lack, and memory that grows in the middle of a page
CREATE TABLE vary (id int4, s text COLLATE "C", n int2, v varchar(300) COLLATE "C", f int8, b bytea);
INSERT INTO vary SELECT i * 7919 % 10007, repeat(chr(97 + i % 26), i % 90), nullif(i % 5, 3),
	CASE WHEN i % 4 > 0 THEN repeat('v', i % 300) END, -i, decode(repeat('0' || i % 10, i % 7), 'hex') FROM generate_series(1, 4000) AS i;
ALTER TABLE vary ADD late text COLLATE "C" DEFAULT 'as ever';
INSERT INTO vary SELECT -id, s, n, v, f, b, 'late ' || n FROM vary WHERE id % 3 > 0;
SELECT pg_temp.compared('SELECT s, id FROM vary ORDER BY id', 6666, 'GpuSort 1');
SELECT pg_temp.compared('SELECT v, n, s, f FROM vary ORDER BY s, f, n', 6666, 'GpuSort 1');
SELECT pg_temp.compared('SELECT b, id, v FROM vary ORDER BY v DESC NULLS LAST, id', 6666, 'GpuSort 1');
SELECT pg_temp.compared('SELECT late, v, id FROM vary ORDER BY late, v, id', 6666, 'GpuSort 1');
SELECT pg_temp.compared('SELECT n, late, b FROM vary ORDER BY n, late NULLS FIRST, b', 6666, 'GpuSort 1');

-- what others see of the scan: rows counted by EXPLAIN and by statistics, and the rows of a cursor's own time
SELECT matches(pg_temp.plan_of('SELECT id FROM t ORDER BY id', 'ANALYZE, COSTS OFF, TIMING OFF'),
	'Seq Scan on t \(actual rows=4552(\.00)? loops=1\)', 'rows that EXPLAIN counts');
BEGIN;
SELECT pg_stat_get_xact_tuples_returned('t'::regclass) AS before \gset
SELECT count(*) AS n FROM (SELECT * FROM t ORDER BY id OFFSET 0) x \gset
SELECT is(pg_stat_get_xact_tuples_returned('t'::regclass) - :before, :n::int8, 'rows that statistics count');
DECLARE c CURSOR FOR SELECT id FROM t ORDER BY id;
DELETE FROM t;
SELECT results_eq('FETCH 2 FROM c', 'VALUES (5), (6)', 'rows of the cursor''s own time');
MOVE ALL FROM c;
ROLLBACK;
SET gpusort.work_mem = '1MB';
CREATE TABLE long AS SELECT i, i * 7919 % 100003 AS k, repeat('y', 20) AS y FROM generate_series(1, 60000) AS i;
SELECT results_eq('SELECT count(*), bool_and(ordered) FROM (SELECT k >= lag(k, 1, 0) OVER () AS ordered
	FROM (SELECT * FROM long ORDER BY k OFFSET 0) x) y', 'VALUES (60000::int8, true)', 'rows that go to disk');
RESET gpusort.work_mem;

-- a key that is a column under another collation or type name needs no copy
CREATE TABLE c (id int4, s text, v varchar(30), n int4);
INSERT INTO c SELECT i, md5((i % 700)::text), 'v' || i % 90, i % 5 FROM generate_series(1, 3000) AS i;
SELECT pg_temp.stored('SELECT * FROM c ORDER BY s COLLATE "C", id DESC', 'GpuSort 1');
SELECT pg_temp.stored('SELECT * FROM c ORDER BY v::text COLLATE "C" DESC, s COLLATE "POSIX", id', 'GpuSort 1');
SELECT pg_temp.stored('SELECT v, id FROM c ORDER BY v COLLATE "C", id OFFSET 10', 'GpuSort 1');
SELECT pg_temp.stored('SELECT v, id FROM c ORDER BY v COLLATE "C", id LIMIT 2500', 'GpuSort 1');
SELECT pg_temp.stored('SELECT v, id FROM c ORDER BY v COLLATE "C", id FETCH FIRST 20 ROWS WITH TIES', 'GpuSort 1');
SELECT pg_temp.stored('SELECT id FROM c ORDER BY s COLLATE "C", id', 'GpuSort 1');
SELECT pg_temp.stored('SELECT s, id FROM c ORDER BY s COLLATE "C", n, id', 'GpuSort 1');
SELECT pg_temp.stored('SELECT s || id AS s FROM c ORDER BY (s || id) COLLATE "C"', 'GpuSort 1');
SET enable_mergejoin = off;
SELECT pg_temp.stored('SELECT a.s, b.id FROM c a JOIN c b ON a.id = b.id ORDER BY a.s COLLATE "C", b.id', 'GpuSort 1');
SELECT pg_temp.stored('SELECT s, rank() OVER (ORDER BY s COLLATE "C") FROM c', 'GpuSort 1');
SELECT pg_temp.stored('SELECT DISTINCT ON (s COLLATE "C") s, id FROM c ORDER BY s COLLATE "C", id', 'GpuSort 1');
SELECT pg_temp.stored('(SELECT s FROM c ORDER BY s COLLATE "C") UNION ALL SELECT v FROM c', 'GpuSort 1');
SELECT is(pg_temp.plan_of('SELECT * FROM c ORDER BY v COLLATE "C", id OFFSET 1', 'VERBOSE, COSTS OFF') ~
	'GpuSort\)\n +Output: id, s, v, n\n +Sort Key: c.v COLLATE "C", c.id\n', true, 'the sort has no column of its own');
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT s, id FROM c ORDER BY s COLLATE "C" DESC, id;
SELECT results_eq('FETCH 2 FROM c', $$VALUES ('ffeabd223de0d4eacb9a3e6e53e5448d', 575), ('ffeabd223de0d4eacb9a3e6e53e5448d', 1275)$$, 'the first rows');
SELECT results_eq('FETCH LAST FROM c', $$VALUES ('00411460f7c92d2124a67ea0f4cb5f85', 2463)$$, 'the last one');
SELECT results_eq('FETCH PRIOR FROM c', $$VALUES ('00411460f7c92d2124a67ea0f4cb5f85', 1763)$$, 'the one before');
COMMIT;
SELECT results_eq('SELECT s, id FROM c ORDER BY s COLLATE "C", id FOR UPDATE LIMIT 1',
	$$VALUES ('00411460f7c92d2124a67ea0f4cb5f85', 363)$$, 'a row to be locked');

DROP SCHEMA pages CASCADE;
SELECT * FROM finish();
