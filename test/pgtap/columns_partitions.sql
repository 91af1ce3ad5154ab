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
-- groups and strings as results: strings of all partitions have codes in common
CREATE TABLE together (q text);
INSERT INTO together SELECT unnest(ARRAY['SELECT s, count(*) FROM t GROUP BY s', 'SELECT k, count(*) FROM t WHERE s = ''s1'' GROUP BY k', 'SELECT min(s), max(v), min(c) FROM t', 'SELECT count(DISTINCT s), count(DISTINCT v), count(DISTINCT c) FROM t', 'SELECT count(*) FILTER (WHERE s = ''s1'') FROM t',
	'SELECT sum(length(s)) FROM t', 'SELECT length(s), count(*) FROM t GROUP BY 1', 'SELECT mode() WITHIN GROUP (ORDER BY a) FROM t WHERE s = ''s1''', 'SELECT s, v, count(*), sum(a), min(c), max(s), count(DISTINCT c) FROM t GROUP BY s, v', 'SELECT DISTINCT c FROM t', 'SELECT DISTINCT k, v FROM t WHERE s LIKE ''%7''',
	'SELECT percentile_disc(0.3) WITHIN GROUP (ORDER BY s), mode() WITHIN GROUP (ORDER BY v) FROM t', 'SELECT k, percentile_disc(0.5) WITHIN GROUP (ORDER BY v) FROM t WHERE l > ''L1'' GROUP BY k', 'SELECT v, min(s), count(*) FROM t GROUP BY v HAVING count(*) > 5', 'SELECT c, max(s) FROM t GROUP BY c ORDER BY c LIMIT 7',
	'SELECT s, count(*) FROM t GROUP BY s ORDER BY s DESC NULLS LAST LIMIT 9 OFFSET 2', 'SELECT substr(s, 1, 2), count(*), max(length(v)) FROM t GROUP BY 1', 'SELECT length(v), count(DISTINCT s) FROM t WHERE v <> ''v1'' GROUP BY 1', 'SELECT v, count(*) FROM t WHERE k IN (1, 3, 4) GROUP BY v',
	'SELECT CASE WHEN k < 3 AND a > 100 THEN s ELSE '''' END, v, count(*) FROM t GROUP BY 1, 2', 'SELECT coalesce(v, ''v1''), CASE WHEN s LIKE ''m%'' THEN ''m'' WHEN k = 4 THEN s ELSE ''s1'' END, count(*), min(s) FROM t GROUP BY 1, 2',
	'SELECT CASE WHEN k = 6 THEN v ELSE ''only here 2'' END, s, count(*) AS c FROM t GROUP BY 1, 2 ORDER BY s, c, max(a) LIMIT 7']);
SELECT answered(q) FROM together;
SELECT answered(q) FROM unnest(ARRAY['SELECT s, count(*), min(v), sum(length(v)) FROM t WHERE k = 2 GROUP BY s', 'SELECT count(*) FROM t WHERE k = 1 AND s = ''s1''', 'SELECT s, count(*) FROM t WHERE k IN (1, 6) GROUP BY s']) AS q;
-- more strings than there is room for
CREATE TABLE long (k int, s text) PARTITION BY LIST (k);
CREATE TABLE long1 PARTITION OF long FOR VALUES IN (1);
CREATE TABLE long2 PARTITION OF long FOR VALUES IN (2);
INSERT INTO long SELECT i % 2 + 1, repeat('x', 80) || i % 20000 FROM generate_series(1, 44000) AS i;
VACUUM ANALYZE long;
SELECT gpusort_columns_add('long');
SELECT answered('SELECT count(DISTINCT s), min(s), max(length(s)) FROM long');
SET gpusort.work_mem = '1MB';
SELECT alike(rows_of('SELECT count(DISTINCT s) FROM long', 'force'), '%new strings are more than gpusort.work_mem has room for%', 'no room for strings of partitions');
SELECT is(rows_of('SELECT count(DISTINCT s) FROM long', 'on'), '(20000)', 'PostgreSQL counts them');
RESET gpusort.work_mem;
-- nor for what the codes of each partition stand for, though there is for the strings, which are the same
CREATE TABLE same (k int, s text) PARTITION BY LIST (k);
CREATE TABLE same1 PARTITION OF same FOR VALUES IN (1);
CREATE TABLE same2 PARTITION OF same FOR VALUES IN (2);
INSERT INTO same SELECT i % 2 + 1, 's' || i / 2 % 150000 FROM generate_series(1, 620000) AS i;
VACUUM ANALYZE same;
SELECT gpusort_columns_add('same');
SELECT answered('SELECT length(s), count(*) FROM same GROUP BY 1');
SET gpusort.work_mem = '1MB';
SELECT alike(rows_of('SELECT length(s), count(*) FROM same GROUP BY 1', 'force'), '%new strings are more than gpusort.work_mem has room for%', 'no room for results of a function by the codes of each partition');
SELECT is(rows_of('SELECT length(s), count(*) FROM same GROUP BY 1', 'on'), rows_of('SELECT length(s), count(*) FROM same GROUP BY 1', 'off'), 'PostgreSQL counts them');
RESET gpusort.work_mem;

-- unseen strings, in several partitions
CREATE FUNCTION unseen() RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO t SELECT 1 + i % 6, 'new1' || i % 9, 'v9' || i, 'c', 'l' || i, i * 30, i FROM generate_series(1, 90) AS i;
	UPDATE t SET s = 's1', v = 'v5x' WHERE a % 500 = 0;
	UPDATE t SET s = 'nowhere' WHERE a = 77;
	RETURN QUERY SELECT unseen_same(q) FROM questions UNION ALL SELECT unseen_same(q) FROM together;
END $$;
BEGIN;
SELECT unseen();
ROLLBACK;
SELECT unseen();
DROP TABLE few;
SELECT answered(q) FROM questions LIMIT 13;
SELECT answered(q) FROM together;

-- random partitions: strings of other alphabets and lengths, NULLs and empty ones, of several collations, which change
CREATE FUNCTION random_string(part int, kinds int) RETURNS text LANGUAGE sql VOLATILE AS $$
	SELECT CASE WHEN random() < 0.1 THEN NULL WHEN random() < 0.1 THEN '' ELSE repeat(chr(97 + (random() * 3)::int + 2 * part), (random() * 3)::int) || chr((ARRAY[65, 97, 228, 223, 8364])[1 + (random() * 4)::int]) || (random() * kinds)::int END
$$;
CREATE FUNCTION random_table(parts int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	CREATE TABLE r (k int, x text COLLATE "C", y text COLLATE "und-x-icu", z varchar, a int) PARTITION BY LIST (k);
	FOR p IN 1 .. parts LOOP
		EXECUTE format('CREATE TABLE r%s PARTITION OF r FOR VALUES IN (%s)', p, p);
		EXECUTE format('INSERT INTO r SELECT %s, random_string(%s, %s), random_string(%s, 9), random_string(0, %s), i %% 50 FROM generate_series(1, %s) AS i', p, p, (ARRAY[3, 90, 700])[1 + p % 3], p % 2, 40 * p, 2000 + 700 * p);
	END LOOP;
END $$;
CREATE TABLE guesses (q text);
INSERT INTO guesses SELECT format('SELECT %s, %s FROM r WHERE %s GROUP BY %s', key, results, w, key) FROM unnest('{x,"y, k","z, x","length(x)","k",z}'::text[]) AS key,
	unnest('{"count(*), min(x), max(y), sum(a)","count(DISTINCT z), count(DISTINCT x), max(length(y))","percentile_disc(0.5) WITHIN GROUP (ORDER BY y), min(z)"}'::text[]) AS results,
	unnest(ARRAY['true', 'x < ''c'' AND a > 7', 'y = ''''', 'z LIKE ''_a%'' AND y IS NOT NULL', 'k <> 2 AND x > ''b''']) AS w ORDER BY hashtext(key || results || w) LIMIT 30;
-- however few rows there are
SET cpu_operator_cost = 1;
SELECT setseed(0.45);
SELECT random_table(4);
VACUUM ANALYZE r;
SELECT gpusort_columns_add('r');
CREATE FUNCTION guessed() RETURNS SETOF text LANGUAGE sql AS $$
	SELECT ok(settled(q), 'columns answer: ' || q) FROM guesses UNION ALL
	SELECT is(rows_of(q, 'on'), rows_of(q, 'off'), q) FROM guesses
$$;
SELECT cmp_ok(count(*)::int, '>=', 15, 'most are from columns') FROM guesses WHERE plan_of('EXPLAIN ' || q, 'on') LIKE '%GpuColumns%';
SELECT guessed();
UPDATE r SET x = random_string(9, 5), z = NULL WHERE a = 3;
INSERT INTO r SELECT 1 + i % 4, random_string(8, 30), '', random_string(7, 99), i FROM generate_series(1, 300) AS i;
SELECT guessed();
DROP TABLE r1;
ALTER TABLE r DETACH PARTITION r3;
SELECT guessed();
SELECT finish();
DROP SCHEMA columns_partitions CASCADE;
