-- Strings of several partitions in resident columns, each with a dictionary of its own, whose codes have other widths: aggregates of
-- all rows with conditions on them, compared with PostgreSQL's.
\ir setup.psql
CREATE EXTENSION IF NOT EXISTS gpusort;
SELECT no_plan();
CREATE SCHEMA columns_partitions;
SET search_path = columns_partitions, public;

CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TABLE t (k int, s text, v varchar(20), c char(6), l text COLLATE loose, a int, b numeric(10, 2)) PARTITION BY LIST (k);
CREATE TABLE few PARTITION OF t FOR VALUES IN (1);
-- other attributes
CREATE TABLE many (gone int, b numeric(10, 2), a int, l text COLLATE loose, c char(6), v varchar(20), s text, k int);
ALTER TABLE many DROP gone;
ALTER TABLE t ATTACH PARTITION many FOR VALUES IN (2);
CREATE TABLE nothing PARTITION OF t FOR VALUES IN (3);
CREATE TABLE deep PARTITION OF t FOR VALUES IN (4, 5) PARTITION BY RANGE (a);
CREATE TABLE deep1 PARTITION OF deep FOR VALUES FROM (0) TO (3000);
CREATE TABLE deep2 PARTITION OF deep FOR VALUES FROM (3000) TO (100000);
INSERT INTO t SELECT 1, 's' || i % 5, nullif('v' || i % 3, 'v2'), 'c' || i % 7, 'L' || i % 3, i, i / 7.0 FROM generate_series(1, 4000) AS i;
INSERT INTO t SELECT 2, 'm' || i % 600, 'v' || i % 700, 'c' || i % 350, 'l' || i % 5, i, i / 3.0 FROM generate_series(1, 9000) AS i;
INSERT INTO t SELECT 4 + i % 2, 's' || i % 11, 'v', NULL, 'x', i, -i FROM generate_series(1, 6000) AS i;
VACUUM ANALYZE t;
SELECT gpusort_columns_add('t');
-- one that is never held
CREATE UNLOGGED TABLE apart PARTITION OF t FOR VALUES IN (6);
INSERT INTO t SELECT 6, 's1', 'only here ' || i % 4, 'c1', 'L1', i, i FROM generate_series(1, 500) AS i;
ANALYZE t;
\ir columns_queries.psql

CREATE TABLE questions (q text);
INSERT INTO questions SELECT format('SELECT count(*), sum(a), avg(b), min(a), max(b), count(%s), count(c) FROM t WHERE %s', c, w) FROM unnest('{s,v,k}'::text[]) AS c, unnest(ARRAY['true', 's = ''s1''', 's <> ''m7'' AND a > 100', 's IN (''s1'', ''m5'', ''nowhere'')',
	's LIKE ''%1%''', 'v > ''v5''', 'v IS NULL', 's ~ ''[34]$'' AND v <> ''v1''', 'c = ''c1''', 'l <= ''l1''', 'v LIKE ''only%''', 's = ''nowhere''', 'k IN (1, 2) AND s LIKE ''_1''', 'length(s) > 2', 'substr(s, 1, 1) = ''m'' AND length(v) <> 4']) AS w;
SELECT answered(q) FROM questions;
SELECT answered('SELECT count(*), max(a) FROM t WHERE l > ''k''');
-- groups and strings as results
SELECT is(rows_of(q, 'on'), rows_of(q, 'off'), q) FROM unnest(ARRAY['SELECT s, count(*) FROM t GROUP BY s', 'SELECT k, count(*) FROM t WHERE s = ''s1'' GROUP BY k', 'SELECT min(s) FROM t', 'SELECT count(DISTINCT s) FROM t', 'SELECT count(*) FILTER (WHERE s = ''s1'') FROM t',
	'SELECT sum(length(s)) FROM t', 'SELECT length(s), count(*) FROM t GROUP BY 1', 'SELECT mode() WITHIN GROUP (ORDER BY a) FROM t WHERE s = ''s1''']) AS q;
SELECT answered(q) FROM unnest(ARRAY['SELECT s, count(*), min(v), sum(length(v)) FROM t WHERE k = 2 GROUP BY s', 'SELECT count(*) FROM t WHERE k = 1 AND s = ''s1''', 'SELECT s, count(*) FROM t WHERE k IN (1, 6) GROUP BY s']) AS q;

-- unseen strings, in several partitions
CREATE FUNCTION unseen() RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO t SELECT 1 + i % 6, 'new1' || i % 9, 'v9' || i, 'c', 'l' || i, i * 30, i FROM generate_series(1, 90) AS i;
	UPDATE t SET s = 's1', v = 'v5x' WHERE a % 500 = 0;
	UPDATE t SET s = 'nowhere' WHERE a = 77;
	RETURN QUERY SELECT unseen_same(q) FROM questions;
END $$;
BEGIN;
SELECT unseen();
ROLLBACK;
SELECT unseen();
DROP TABLE few;
SELECT answered(q) FROM questions LIMIT 13;
SELECT finish();
DROP SCHEMA columns_partitions CASCADE;
