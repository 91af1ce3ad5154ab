-- The first rows of each group, "row_number() OVER (PARTITION BY … ORDER BY …) <= n" above a query and DISTINCT ON: PostgreSQL's rows, by one process
-- and by several, without memory, started again, and PostgreSQL's plan where other rows matter.
\ir setup.psql
SELECT plan(240 + 67 + 1 + 16 + 4);
\ir parallel.psql
\ir pick.psql
DROP SCHEMA IF EXISTS gpusort_topn CASCADE;
CREATE SCHEMA gpusort_topn;
SET search_path = gpusort_topn, public;

CREATE TABLE t (id int, i2 int2, i4 int4, i8 int8, f float8, n numeric, d date, ts timestamptz, b bool, c text COLLATE "C", long text, few int4, iv interval,
	ch "char", u uuid, gone int);
INSERT INTO t SELECT i, hashint4(i) % 40, hashint4(i * 3), hashint8extended(i, 7),
	CASE i % 50 WHEN 0 THEN 'NaN' WHEN 1 THEN -0.0 WHEN 2 THEN 0.0 WHEN 3 THEN 'Infinity' ELSE hashint4(i) % 30 END,
	CASE i % 2 WHEN 0 THEN (hashint4(i) % 9)::numeric(9, 2) ELSE hashint4(i) % 9 END, date '2026-01-01' + hashint4(i) % 30,
	timestamptz '2026-01-01' + hashint4(i) * interval '1 second', hashint4(i) % 2 = 0, left(md5(i::text), 1 + i % 2),
	repeat('the same for all ', 1 + i % 3) || left(md5(i::text), 1), abs(hashint4(i)) % 7, hashint4(i) % 20 * interval '1 hour', chr(97 + i % 5)::"char",
	md5((i % 100)::text)::uuid, i
FROM generate_series(1, 6000) i;
ALTER TABLE t DROP gone;
UPDATE t SET i2 = NULL WHERE id % 11 = 0;
UPDATE t SET i4 = NULL, n = NULL, d = NULL WHERE id % 13 = 0;
UPDATE t SET c = NULL, few = NULL, b = NULL WHERE id % 17 = 0;
CREATE TABLE names AS SELECT i AS k, 'name ' || i AS name FROM generate_series(0, 5) i;
VACUUM ANALYZE t, names;

CREATE FUNCTION pg_temp.source(seed int) RETURNS text LANGUAGE sql AS $$
	SELECT pg_temp.pick(seed, 1, 't', 't', 't', 't JOIN names ON k = few', 't LEFT JOIN names ON k = few AND i4 > 0', '(SELECT * FROM t OFFSET 0) t') || ' ' ||
		pg_temp.pick(seed, 2, '', '', 'WHERE i4 > 0', 'WHERE few IN (1, 2, 3)', 'WHERE id <= 20', 'WHERE id < 0', 'WHERE ts > ''2026-01-01''')
$$;
CREATE FUNCTION pg_temp.groups(seed int) RETURNS text LANGUAGE sql AS $$
	SELECT pg_temp.pick(seed, 3, 'few', 'b', 'i2', 'f', 'n', 'd', 'c', 'long', 'iv', 'ch', 'u', 'few, b', 'c, b, ch', 'long, c', 'few + 1', 'upper(c)', 'i2 % 3, n', 'f, iv', 'id')
$$;
CREATE FUNCTION pg_temp.keys(seed int) RETURNS text LANGUAGE sql AS $$
	SELECT pg_temp.pick(seed, 4, 'i2', 'i4', 'i8', 'f', 'n', 'd', 'ts', 'b', 'c', 'long', 'few', 'iv', 'u', 'i4 + i2', 'upper(c)', 'few, c', 'b, d, c', 'n, long', 'abs(i8 % 100), ts') || ' ' ||
		pg_temp.pick(seed, 5, '', '', 'DESC', 'NULLS FIRST', 'DESC NULLS LAST')
$$;

-- Queries of the shape: by numbers, of which the id decides ties, and by ranks.
CREATE FUNCTION pg_temp.numbered(seed int) RETURNS text LANGUAGE sql AS $$
	SELECT format('SELECT * FROM (SELECT t.*%s, row_number() OVER w AS r%s FROM %s WINDOW w AS (%s ORDER BY %s, id %s)) x WHERE %s %s ORDER BY id',
		pg_temp.pick(seed, 6, '', '', ', upper(long) AS y', ', i8 % 10 AS y'), pg_temp.pick(seed, 7, '', ', rank() OVER w AS q', ', dense_rank() OVER w AS q'), pg_temp.source(seed),
		CASE WHEN seed % 20 > 0 THEN 'PARTITION BY ' || pg_temp.groups(seed) ELSE '' END, pg_temp.keys(seed), pg_temp.pick(seed, 8, '', 'DESC'),
		pg_temp.pick(seed, 9, 'r <= 3', 'r < 3', 'r = 1', 'r <= 1', '4 >= r', '3 > r', 'r <= 20', 'r <= 200::bigint', 'r < 7::smallint', 'r <= 0', 'r <= NULL::int'),
		pg_temp.pick(seed, 10, '', '', 'AND i4 > 0', 'AND few = 3', 'AND r > 1'))
$$;
CREATE FUNCTION pg_temp.ranked(seed int) RETURNS text LANGUAGE sql AS $$
	SELECT format('SELECT * FROM (SELECT id, %s few, rank() OVER w AS r%s FROM %s WINDOW w AS (%s %s)) x WHERE %s ORDER BY id',
		pg_temp.pick(seed, 6, '', '', 'upper(long) AS y,', 'i8 % 10 AS y,'), pg_temp.pick(seed, 7, '', '', ', dense_rank() OVER w AS q'), pg_temp.source(seed),
		CASE WHEN seed % 20 > 0 THEN 'PARTITION BY ' || pg_temp.groups(seed) ELSE '' END, CASE WHEN seed % 13 > 0 THEN 'ORDER BY ' || pg_temp.keys(seed) ELSE 'ORDER BY 1 + few' END,
		pg_temp.pick(seed, 9, 'r <= 3', 'r < 3', 'r = 1', 'r <= 1', '4 >= r', '3 > r', 'r <= 20', 'r <= 200::bigint'))
$$;
CREATE FUNCTION pg_temp.distincted(seed int) RETURNS text LANGUAGE sql AS $$
	SELECT format('SELECT DISTINCT ON (%1$s) t.*, few + 1 AS y FROM %2$s ORDER BY %1$s, %3$s, id %4$s %5$s', pg_temp.groups(seed), pg_temp.source(seed), pg_temp.keys(seed),
		pg_temp.pick(seed, 8, '', 'DESC'), pg_temp.pick(seed, 9, '', '', '', 'LIMIT 5', 'OFFSET 3'))
$$;
SELECT pg_temp.same_rows(pg_temp.numbered(seed), pg_temp.numbered(seed), '{0,2}') FROM generate_series(1, 80) seed;
SELECT pg_temp.same_rows(pg_temp.ranked(seed), pg_temp.ranked(seed), '{0,2}') FROM generate_series(101, 180) seed;
SELECT pg_temp.same_rows(pg_temp.distincted(seed), pg_temp.distincted(seed), '{0,2}') FROM generate_series(201, 280) seed;

-- Three tests: the plan of one process and of several, and the rows.
CREATE FUNCTION pg_temp.left_out(query text, label text) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
	SET LOCAL max_parallel_workers_per_gather = 0;
	RETURN NEXT matches(pg_temp.plan_of(query), '(Sort|GpuSort\))\s+Sort Key[^>]+->  Custom Scan \(GpuTopN\)', label || ': plan');
	SET LOCAL max_parallel_workers_per_gather = 2;
	RETURN NEXT matches(pg_temp.plan_of(query), '(Sort|GpuSort\))\s+Sort Key[^>]+->  Gather[^>]+->  Custom Scan \(GpuTopN\)', label || ': plan of several processes');
	RETURN NEXT pg_temp.same_rows(query, label, '{0,2,3}');
END $$;
SELECT pg_temp.left_out('SELECT id, r FROM (SELECT *, row_number() OVER (PARTITION BY few ORDER BY i8) AS r FROM t) x WHERE r <= 3 ORDER BY few, r', 'numbers');
SELECT pg_temp.left_out('SELECT id, r FROM (SELECT *, row_number() OVER (PARTITION BY few ORDER BY id DESC) AS r FROM t) x WHERE r = 1 ORDER BY few, r', 'rows in the reverse of the order');
SELECT pg_temp.left_out('SELECT id, r FROM (SELECT *, rank() OVER (PARTITION BY ch ORDER BY few DESC) AS r FROM t) x WHERE r <= 9 ORDER BY ch, r, id', 'ranks');
SELECT pg_temp.left_out('SELECT id, r FROM (SELECT *, rank() OVER (PARTITION BY few ORDER BY i2 % 5, d) AS r FROM t) x WHERE r <= 2 ORDER BY few, r, id', 'ranks by two keys');
SELECT pg_temp.left_out('SELECT id, r FROM (SELECT *, row_number() OVER (ORDER BY i8) AS r FROM t) x WHERE r <= 10 ORDER BY r', 'one group');
SELECT pg_temp.left_out('SELECT few, n, r FROM (SELECT few, count(*) OVER () AS n, r FROM (SELECT *, row_number() OVER (PARTITION BY few) AS r FROM t) x WHERE r <= 2) y ORDER BY few, r',
	'no order, below another window');
SELECT pg_temp.left_out('SELECT DISTINCT ON (few) few, i8, id FROM t ORDER BY few, i8', 'DISTINCT ON');
SELECT pg_temp.left_out('SELECT DISTINCT ON (few, long) few, long, id FROM t ORDER BY long DESC, few, id', 'DISTINCT ON two columns');
SELECT pg_temp.left_out('SELECT DISTINCT ON (few) few FROM t ORDER BY few', 'DISTINCT ON in no further order');
SELECT pg_temp.left_out('SELECT name, x.* FROM names JOIN (SELECT DISTINCT ON (few) few, ts, id FROM t ORDER BY few, ts DESC) x ON few = k ORDER BY name', 'below a join');
SELECT pg_temp.same_rows('SELECT * FROM (SELECT few, i4, sum(i2) AS s, row_number() OVER (PARTITION BY few ORDER BY sum(i2), i4) AS r FROM t GROUP BY few, i4) x WHERE r <= 2 ORDER BY few, r',
	'of groups', '{0,2}');

-- equal rows: those that come first
SET max_parallel_workers_per_gather = 0;
SELECT is(ARRAY(SELECT id FROM (SELECT id, few, row_number() OVER (PARTITION BY few ORDER BY b) AS r FROM t) x WHERE r <= 3 ORDER BY id),
	ARRAY(SELECT id FROM (SELECT id, few, row_number() OVER (PARTITION BY few ORDER BY b, ctid) AS r FROM t) x WHERE r <= 3 ORDER BY id), 'equal rows in order of arrival');

-- without memory rows are passed on
SET gpusort.work_mem = '1MB';
CREATE FUNCTION pg_temp.counted(query text) RETURNS text LANGUAGE sql AS $$
	SELECT pg_temp.plan_of(query, 'ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF')
$$;
CREATE FUNCTION pg_temp.kept_memory(query text, pattern text, label text) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
	RETURN NEXT matches(pg_temp.counted(query), pattern, label || ': plan');
	RETURN NEXT pg_temp.same_rows(query, label, '{0}');
END $$;
-- the planner expects few groups
CREATE TABLE correlated AS SELECT i AS id, i / 3 AS a, i / 3 AS b, hashint4(i) AS k FROM generate_series(1, 30000) i;
ALTER TABLE correlated ALTER a SET (n_distinct = 10), ALTER b SET (n_distinct = 2);
ANALYZE correlated;
SELECT pg_temp.kept_memory('SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY a, b ORDER BY k) AS r FROM correlated) x WHERE r <= 2 ORDER BY id', 'GpuTopN\) \(actual rows=(2[5-9]|30)\d\d\d',
	'many groups, and no memory: it gives up');
SELECT pg_temp.kept_memory('SELECT * FROM (SELECT *, rank() OVER (PARTITION BY a % 3000 ORDER BY k) AS r FROM correlated) x WHERE r <= 2 ORDER BY id', 'GpuTopN', 'some memory');
SELECT pg_temp.kept_memory('SELECT DISTINCT ON (b) * FROM (SELECT id, a, b % 3000 AS b, k FROM correlated) y ORDER BY b, k, id', 'Unique', 'memory for some groups');
RESET gpusort.work_mem;

-- keys out of line and compressed, partitions, and a domain
CREATE TABLE wide AS SELECT i AS id, repeat(md5((i % 9)::text), 400) AS g, (SELECT string_agg(md5((i % 50 + j)::text), '') FROM generate_series(1, 90) j) AS k FROM generate_series(1, 900) i;
ALTER TABLE wide ALTER k SET STORAGE EXTERNAL;
ANALYZE wide;
SELECT pg_temp.same_rows('SELECT id, r FROM (SELECT *, rank() OVER (PARTITION BY g ORDER BY k) AS r FROM wide) x WHERE r <= 3 ORDER BY id', 'values out of line', '{0,2}');
CREATE TABLE p (id int, k int, s text) PARTITION BY RANGE (id);
CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (3000);
CREATE TABLE p2 PARTITION OF p FOR VALUES FROM (3000) TO (9000);
INSERT INTO p SELECT i, hashint4(i), left(md5(i::text), 1) FROM generate_series(1, 6000) i;
ANALYZE p;
SELECT pg_temp.left_out('SELECT DISTINCT ON (s) * FROM p ORDER BY s, k', 'partitions');

-- Left to PostgreSQL.
CREATE FUNCTION pg_temp.refused(query text, label text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	RETURN matches(pg_temp.plan_of(query), '^(?!.*GpuTopN).*$', label || ': all rows');
END $$;
SELECT pg_temp.refused(format('SELECT * FROM (SELECT id, %s OVER (PARTITION BY few ORDER BY i8%s) x WHERE r <= 3', function, rest), function || rest)
FROM (VALUES ('row_number()', ') AS r, count(*) OVER (PARTITION BY few) FROM t'), ('row_number()', ') AS r, sum(i4) OVER (PARTITION BY few ORDER BY i8) FROM t'), ('dense_rank()', ') AS r FROM t'),
	('row_number()', ') AS r, lead(id) OVER (PARTITION BY few ORDER BY i8) FROM t'), ('count(*)', ') AS r FROM t'), ('row_number()', ') AS r, random() FROM t'),
	('row_number()', ') AS r, percent_rank() OVER (PARTITION BY few ORDER BY i8) FROM t'), ('row_number()', ') AS r, rank() OVER (PARTITION BY few ORDER BY id) FROM t'),
	('row_number()', ') AS r, generate_series(1, 2) FROM t'), ('row_number()', ') AS r FROM t LIMIT 5000')) v (function, rest);
SELECT pg_temp.refused('SELECT * FROM (SELECT id, row_number() OVER (PARTITION BY few ORDER BY i8) AS r FROM t) x WHERE r ' || condition, condition)
FROM unnest(ARRAY['>= 3', '<> 3', '<= 3 OR id = 7', '<= 20000', 'IN (1, 2)', '<= (SELECT 3)']) condition;
SELECT pg_temp.refused('SELECT * FROM (SELECT id, row_number() OVER (PARTITION BY id / 2 ORDER BY i8) AS r FROM t) x WHERE r <= 2', 'small groups');
SELECT pg_temp.refused('SELECT DISTINCT few, id FROM t ORDER BY few', 'DISTINCT');
SELECT pg_temp.refused('SELECT * FROM (SELECT id, row_number() OVER () AS r FROM (SELECT * FROM t ORDER BY i8, id OFFSET 0) y ORDER BY i8, id) x WHERE r <= 3', 'rows that come in order');
SELECT pg_temp.same_rows('SELECT * FROM (SELECT id, row_number() OVER () AS r FROM (SELECT * FROM t ORDER BY i8, id OFFSET 0) y ORDER BY i8, id) x WHERE r <= 3', 'rows that come in order', '{0,2}');
SET gpusort.min_rows = 10000;
SELECT pg_temp.refused('SELECT DISTINCT ON (few) * FROM t ORDER BY few, i8', 'few rows');
SET gpusort.min_rows = 0;
SET gpusort.enabled = off;
SELECT pg_temp.refused('SELECT DISTINCT ON (few) * FROM t ORDER BY few, i8', 'gpusort.enabled = off');
SET gpusort.enabled = on;

-- started again, with other rows; and switched off behind planning
CREATE TABLE b AS SELECT i AS round FROM generate_series(1, 6) i;
ALTER TABLE b SET (parallel_workers = 0);
ANALYZE b;
SELECT pg_temp.same_rows('SELECT round, x.* FROM b, LATERAL (SELECT * FROM (SELECT id, few, row_number() OVER (PARTITION BY few ORDER BY i8) AS r FROM t WHERE few < b.round) y WHERE r <= 2) x
	ORDER BY round, few, r', 'other rows each time', '{0,2}');
SELECT pg_temp.same_rows('SELECT round, x.* FROM b LEFT JOIN LATERAL (SELECT DISTINCT ON (few) few, id FROM t WHERE id % b.round = 0 ORDER BY few, i8) x ON true ORDER BY round, few', 'DISTINCT ON other rows',
	'{0,2}');
PREPARE planned AS SELECT id FROM (SELECT id, few, row_number() OVER (PARTITION BY few ORDER BY i8) AS r FROM t) x WHERE r <= 2 ORDER BY id;
CREATE TABLE before AS EXECUTE planned;
SET gpusort.enabled = off;
CREATE TABLE after AS EXECUTE planned;
SET gpusort.enabled = on;
SELECT is((SELECT array_agg(id) FROM after), (SELECT array_agg(id) FROM before), 'a plan that was made before');

-- Rows that come in the reverse of the order: a sample of pages tells each group which it need not keep.
CREATE TABLE rising AS SELECT i AS id, i / 100 AS hundred, lpad(i::text, 8, '0') COLLATE "C" AS c, hashint4(i) % 7 AS few, repeat('name ', 1 + i % 5) AS name,
	CASE WHEN i < 29000 THEN i % 3 ELSE 3 + i % 2 END AS late, nullif(i % 1000, 0) + i AS n
FROM generate_series(1, 30000) i;
UPDATE rising SET name = 'changed' WHERE id BETWEEN 28000 AND 28500;
VACUUM ANALYZE rising;
DELETE FROM rising WHERE id > 29900 OR id % 50 = 0;
CREATE FUNCTION pg_temp.falling(groups text, keys text, wanted text, condition text DEFAULT 'true') RETURNS text LANGUAGE sql AS $$
	SELECT pg_temp.same_rows(format('SELECT * FROM (SELECT *, %s OVER (PARTITION BY %s ORDER BY %s) AS r FROM rising WHERE %s) x WHERE r <= 3 ORDER BY id', wanted, groups, keys, condition),
		concat_ws(', ', 'in reverse', groups, keys, wanted, condition), '{0,2}')
$$;
SELECT pg_temp.falling('few', 'id DESC', 'row_number()');
SELECT pg_temp.falling('few', 'c DESC', 'row_number()', 'id < 20000');
SELECT pg_temp.falling('few, late', 'id DESC', 'row_number()');
SELECT pg_temp.falling('few, late, name', 'id DESC', 'row_number()');
SELECT pg_temp.falling('nullif(few, 3), nullif(late, 0)', 'hundred DESC, id', 'row_number()');
SELECT pg_temp.falling('late', 'n DESC, id', 'row_number()');
SELECT pg_temp.falling('late', 'n DESC NULLS LAST, id', 'row_number()', 'late <> 1');
SELECT pg_temp.falling('name', 'hundred DESC', 'rank()');
SELECT pg_temp.falling('few', 'id / 10 DESC', 'rank()', 'random() >= 0');
SELECT pg_temp.falling('few', 'id / 10 DESC', 'rank()', 'late NOT IN (SELECT 2 FROM names)');
SELECT pg_temp.same_rows('SELECT DISTINCT ON (few, late) * FROM rising ORDER BY few, late, id DESC', 'DISTINCT ON in reverse', '{0,2}');
SELECT pg_temp.same_rows('SELECT round, x.* FROM b LEFT JOIN LATERAL (SELECT DISTINCT ON (few) few, id FROM rising WHERE id < 29000 - 1000 * round ORDER BY few, id DESC) x ON true
	ORDER BY round, few', 'DISTINCT ON in reverse, other rows each time', '{0}');
SET max_parallel_workers_per_gather = 0;
SELECT matches(pg_temp.counted('SELECT DISTINCT ON (few) id FROM rising ORDER BY few, id DESC'), 'Rows per Group: 1\n\s+Rows Left Out: 29\d\d\d\n\s+Rows Sampled: [1-9]\d\d\n', 'a sample');
SELECT doesnt_match(pg_temp.counted('SELECT DISTINCT ON (few) id FROM rising ' || rest), 'Sampled', 'no sample: ' || rest)
FROM unnest(ARRAY['ORDER BY few, id', 'ORDER BY few, md5(c)', 'WHERE random() >= 0 ORDER BY few, id DESC']) rest;

-- what EXPLAIN shows
SELECT is(pg_temp.plan_of('SELECT DISTINCT ON (few, b) id FROM t ORDER BY few, b, i8 DESC', 'VERBOSE, COSTS OFF') ~ 'Custom Scan \(GpuTopN\)
\s+Output: id, few, b, i8
\s+Group Key: t.few, t.b
\s+Sort Key: t.i8 DESC
\s+Rows per Group: 1
\s+->  Seq Scan on gpusort_topn.t', true, 'VERBOSE');
SELECT matches(pg_temp.counted('SELECT DISTINCT ON (few) id FROM t WHERE few IS NOT NULL ORDER BY few, i8'),
	'Custom Scan \(GpuTopN\) \(actual rows=7(\.00)? loops=1\)\n\s+Group Key: few\n\s+Sort Key: i8\n\s+Rows per Group: 1\n\s+Rows Left Out: 5641\n\s+->  Seq Scan', 'ANALYZE');

-- DISTINCT ON above a window, which EXPLAIN from 18 on finds in its own node only
SELECT matches(pg_temp.plan_of('SELECT DISTINCT ON (few) few, row_number() OVER (PARTITION BY few ORDER BY i8, id) AS r FROM t ORDER BY few, r DESC'),
	'Sort Key: few, \(row_number\(\)\) DESC\s+->  Custom Scan \(GpuTopN\)\s+Group Key: few\s+Sort Key: \(row_number\(\)\) DESC\n', 'above a window: plan');
SELECT pg_temp.same_rows('SELECT DISTINCT ON (few) few, row_number() OVER (PARTITION BY few ORDER BY i8, id) AS r FROM t ORDER BY few, r DESC', 'above a window', '{0,2}');

-- two columns of one volatile expression have values of their own
SELECT doesnt_match(pg_temp.plan_of('SELECT DISTINCT ON (few) few, random() AS a, random() AS b FROM t ORDER BY few, b, a'), 'GpuTopN', 'volatile columns');
DROP SCHEMA gpusort_topn CASCADE;
SELECT * FROM finish();
