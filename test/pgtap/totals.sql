-- A page with its totals, "SELECT …, count(*) OVER () … ORDER BY … LIMIT …": PostgreSQL's rows in their order, by one process and by several,
-- started again, in both directions, and PostgreSQL's plan where that would not be so.
\ir setup.psql
SELECT plan(150 + 149);
\ir parallel.psql
\ir pick.psql
DROP SCHEMA IF EXISTS gpusort_totals CASCADE;
CREATE SCHEMA gpusort_totals;
SET search_path = gpusort_totals, public;

CREATE TABLE t (id int, i2 int2, i4 int4, i8 int8, f float8, n numeric, m numeric(9, 2), d date, ts timestamptz, b bool, c text COLLATE "C", long text,
	few int4, iv interval, u uuid, gone int);
INSERT INTO t SELECT i, hashint4(i) % 3000, hashint4(i * 3), hashint8extended(i, 7),
	CASE i % 50 WHEN 0 THEN 'NaN' WHEN 1 THEN -0.0 WHEN 2 THEN 'Infinity' ELSE hashint4(i) / 1000.0 END, hashint4(i) / 7.0, hashint4(i) % 100000 / 100.0,
	date '2026-01-01' + hashint4(i) % 900, timestamptz '2026-01-01' + hashint4(i) * interval '1 second', hashint4(i) % 2 = 0, md5(i::text),
	repeat('the same for all ', i % 3) || md5(i::text), abs(hashint4(i)) % 7, hashint4(i) * interval '1 second', md5(i::text)::uuid, i
FROM generate_series(1, 6000) i;
ALTER TABLE t DROP gone;
UPDATE t SET i2 = NULL WHERE id % 11 = 0;
UPDATE t SET i4 = NULL, n = NULL, d = NULL WHERE id % 13 = 0;
UPDATE t SET c = NULL, m = NULL, b = NULL WHERE id % 17 = 0;
CREATE TABLE few AS SELECT i AS k, 'name ' || i AS name FROM generate_series(0, 5) i;
VACUUM ANALYZE t, few;

-- A query of the shape.
CREATE FUNCTION pg_temp.page(seed int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	totals text := '';
	filter text;
	source text := pg_temp.pick(seed, 1, 't', 't', 't', 't JOIN few ON k = few', 't LEFT JOIN few ON k = few AND i4 > 0', '(SELECT * FROM t OFFSET 0) t');
	condition text := pg_temp.pick(seed, 2, '', '', 'WHERE i4 > 0', 'WHERE few IN (1, 2, 3)', 'WHERE id <= 20', 'WHERE c LIKE ''a%''', 'WHERE id < 0');
	keys text := pg_temp.pick(seed, 3, 'i2', 'i4', 'i8', 'f', 'n', 'm', 'd', 'ts', 'b', 'c', 'long', 'few', 'iv', 'u', 'i4 + i2', 'upper(c)', 'few, c', 'b, d, c',
		'coalesce(d, ''2020-01-01'')', 'abs(i8 % 100), ts');
BEGIN
	FOR i IN 1 .. 1 + abs(hashint4(seed)) % 3 LOOP
		filter := pg_temp.pick(seed, 3 * i + 4, '', '', '', ' FILTER (WHERE i2 > 0)', ' FILTER (WHERE few = 3)', ' FILTER (WHERE false)');
		totals := totals || ', ' || pg_temp.pick(seed, 3 * i + 5, 'count(*)', 'count(*)', 'count(*)', 'count(i4)', 'sum(i2)', 'sum(i4)', 'sum(i8)', 'sum(n)', 'sum(m)',
			'avg(i4)', 'avg(n)', 'min(d)', 'max(c)', 'min(ts)', 'max(m)', 'min(u::text)', 'bool_and(b)', 'bit_or(i4)', 'stddev(i2)', 'sum(f)', 'max(f)', 'avg(f)',
			'max(n)', 'max(iv)', 'count(DISTINCT few) IS NULL OR count(*)') || filter ||
			pg_temp.pick(seed, 3 * i + 6, ' OVER ()', ' OVER ()', ' OVER w', ' OVER (ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING)');
	END LOOP;
	-- DISTINCT is refused in windows
	totals := replace(totals, 'count(DISTINCT few) IS NULL OR count(*)', 'sum(few + 1)');
	RETURN format('SELECT %s%s FROM %s %s WINDOW w AS () ORDER BY %s %s, id %s LIMIT %s %s',
		pg_temp.pick(seed, 20, 'id', 't.*', 'id, i4, upper(c)', 'id, i8 % 10 AS x, ts', 'long, id + 1 AS y, d'), totals, source, condition, keys,
		pg_temp.pick(seed, 21, '', 'DESC', 'NULLS FIRST', 'DESC NULLS LAST'), pg_temp.pick(seed, 22, '', 'DESC'),
		pg_temp.pick(seed, 23, '1', '10', '20', '50', '400', '7000', 'ALL', '0', 'NULL', '(SELECT 5)'),
		pg_temp.pick(seed, 24, '', '', 'OFFSET 10', 'OFFSET 100', 'OFFSET 5000', 'OFFSET 9000', 'OFFSET (SELECT 3)'));
END $$;
SELECT pg_temp.same_rows(pg_temp.page(seed), pg_temp.page(seed), '{0,2}') FROM generate_series(1, 150) seed;

-- Three tests: the plan of one process and of several, and the rows.
CREATE FUNCTION pg_temp.paged(query text, label text) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
	SET LOCAL max_parallel_workers_per_gather = 0;
	RETURN NEXT matches(pg_temp.plan_of(query), 'Custom Scan \(GpuTotal\)\s+->  Aggregate\s+->  Custom Scan \(GpuFirst\)\s+Sort Key', label || ': plan');
	SET LOCAL max_parallel_workers_per_gather = 2;
	RETURN NEXT matches(pg_temp.plan_of(query), 'Custom Scan \(GpuTotal\)\s+->  Finalize Aggregate\s+->  Custom Scan \(GpuFirst\)\s+Sort Key[^>]+->  Gather[^>]+->  ' ||
		'Parallel Custom Scan \(GpuTotal\)\s+->  Partial Aggregate\s+->  Custom Scan \(GpuFirst\)', label || ': plan of several processes');
	RETURN NEXT pg_temp.same_rows(query, label, '{0,2,3}');
END $$;
SELECT pg_temp.paged('SELECT id, count(*) OVER () FROM t ORDER BY i8 LIMIT 20', 'a count');
SELECT pg_temp.paged('SELECT id, count(*) OVER () FROM t ORDER BY i8 LIMIT 20 OFFSET 40', 'a later page');
SELECT pg_temp.paged('SELECT t.*, count(*) OVER (), sum(m) OVER (), avg(i4) OVER (), min(d) OVER (), max(c) OVER () FROM t ORDER BY n DESC, id LIMIT 10', 'several totals');
SELECT pg_temp.paged('SELECT id, count(*) FILTER (WHERE i4 > 0) OVER w, 100.0 * i2 / sum(i2) OVER w AS share FROM t WINDOW w AS () ORDER BY ts LIMIT 5', 'FILTER and expressions');
SELECT pg_temp.paged('SELECT id, name, count(*) OVER () FROM t JOIN few ON k = few WHERE i2 > 0 ORDER BY upper(c), id LIMIT 5', 'a join');
SELECT pg_temp.paged('SELECT * FROM (SELECT id, count(*) OVER () AS total FROM t ORDER BY u LIMIT 5) x WHERE total > 9 ORDER BY id DESC', 'a subquery');
SELECT pg_temp.paged('SELECT id, i2, (SELECT name FROM few WHERE k = few) AS name, count(*) OVER () FROM t ORDER BY c DESC, id LIMIT 12', 'a subquery in the result');
SELECT pg_temp.paged('SELECT id, count(*) OVER () FROM t WHERE i8 % 2 = 7 ORDER BY c LIMIT 2', 'no rows');
SELECT pg_temp.paged('SELECT id, max(i4) FILTER (WHERE false) OVER (), sum(i2) FILTER (WHERE id = 77) OVER () FROM t ORDER BY c, id LIMIT 5', 'totals of nothing');
SELECT pg_temp.paged('SELECT id, count(*) OVER () FROM t ORDER BY few, id LIMIT (SELECT 8) OFFSET (SELECT 2)', 'a bound of run time');
SELECT pg_temp.paged('SELECT id, count(*) OVER () FROM t ORDER BY few, id LIMIT (SELECT 5000) OFFSET 30', 'a large bound of run time');
SELECT pg_temp.paged('SELECT id, count(*) OVER () FROM t ORDER BY c, id LIMIT (SELECT NULL::bigint) OFFSET 10', 'no bound at run time');
SET work_mem = '64kB';
SELECT pg_temp.paged('SELECT id, long, c, count(*) OVER () FROM t ORDER BY long, id LIMIT (SELECT 550)', 'a bound beyond memory');
RESET work_mem;

-- the order of equal rows is that in which they come
SET max_parallel_workers_per_gather = 0;
SELECT is(ARRAY(SELECT id FROM (SELECT id, count(*) OVER () AS n FROM t ORDER BY few LIMIT 20) x WHERE n > 0), ARRAY(SELECT id FROM t ORDER BY few, ctid LIMIT 20), 'equal rows in order of arrival');
SET work_mem = '64kB';
SELECT matches(pg_temp.plan_of('SELECT id, count(*) OVER () AS n FROM t ORDER BY few LIMIT (SELECT 800)', 'ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF'), 'Sort Method: radix',
	'too many for a heap, of which a sort takes over');
SELECT is(ARRAY(SELECT id FROM (SELECT id, count(*) OVER () AS n FROM t ORDER BY few LIMIT (SELECT 800)) x WHERE n > 0), ARRAY(SELECT id FROM t ORDER BY few, ctid LIMIT 800),
	'also after the sort has taken over');
RESET work_mem;

-- Two tests: one process has the totals, since the order of rows may matter to them.
CREATE FUNCTION pg_temp.in_one_process(total text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	query text := format('SELECT id, %s OVER () FROM t ORDER BY i8 LIMIT 10', total);
BEGIN
	SET LOCAL max_parallel_workers_per_gather = 2;
	RETURN NEXT matches(pg_temp.plan_of(query), '^(?!.*Finalize)(?!.*Partial).*GpuTotal\)\s+->  Aggregate\s+->  Custom Scan \(GpuFirst\)', total || ' in one process');
	SET LOCAL max_parallel_workers_per_gather = 0;
	RETURN NEXT pg_temp.same_rows(query, total, '{0}');
END $$;
SELECT pg_temp.in_one_process(total)
FROM unnest(ARRAY['sum(f)', 'avg(f)', 'max(f)', 'max(n)', 'min(iv)', 'max(c::bpchar)', 'string_agg(c, '','')', 'array_agg(i4)', 'json_agg(few)']) AS total;
SELECT pg_temp.in_one_process('sum(i8) FILTER (WHERE pg_backend_pid() > 0)');

-- partitions, and columns of the nullable side of a join
CREATE TABLE p (id int, k int, s text) PARTITION BY RANGE (id);
CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (3000);
CREATE TABLE p2 PARTITION OF p FOR VALUES FROM (3000) TO (9000);
INSERT INTO p SELECT i, hashint4(i), md5(i::text) FROM generate_series(1, 6000) i;
ANALYZE p;
SELECT pg_temp.paged('SELECT id, s, count(*) OVER (), max(k) OVER () FROM p ORDER BY k LIMIT 5', 'partitions');
SELECT pg_temp.paged('SELECT p.id, x.c, count(*) OVER (), count(x.c) OVER () FROM p LEFT JOIN (SELECT k, ''x'' || k AS c, 7 AS d FROM few) x ON x.k = p.id
	ORDER BY x.c NULLS FIRST, x.d, p.id DESC LIMIT 7', 'the nullable side of a join');

-- an index in the order, over which a WindowAgg seems to begin at once
CREATE INDEX by_key ON t (i8);
SET enable_indexscan = on;
SELECT pg_temp.paged('SELECT id, count(*) OVER () FROM t ORDER BY i8 LIMIT 10', 'an index in the order');
SET enable_indexscan = off;
DROP INDEX by_key;

-- Left to PostgreSQL.
CREATE FUNCTION pg_temp.refused(query text, label text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	RETURN matches(pg_temp.plan_of(query), '^(?!.*GpuTotal)(?!.*GpuFirst).*$', label || ': PostgreSQL''s');
END $$;
SELECT pg_temp.refused('SELECT id, count(*) OVER (PARTITION BY few) FROM t ORDER BY i8 LIMIT 10', 'partitions');
SELECT pg_temp.refused('SELECT id, count(*) OVER (), row_number() OVER () FROM t ORDER BY i8 LIMIT 10', 'a function of windows alone');
SELECT pg_temp.refused('SELECT id, count(*) OVER (ORDER BY id) FROM t ORDER BY i8 LIMIT 10', 'a running count');
SELECT pg_temp.refused('SELECT id, count(*) OVER (ROWS UNBOUNDED PRECEDING) FROM t ORDER BY i8 LIMIT 10', 'rows so far');
SELECT pg_temp.refused('SELECT id, count(*) OVER (ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING EXCLUDE CURRENT ROW) FROM t ORDER BY i8 LIMIT 10', 'EXCLUDE');
SELECT pg_temp.refused('SELECT id, count(*) OVER () FROM t ORDER BY few FETCH FIRST 10 ROWS WITH TIES', 'WITH TIES');
SELECT pg_temp.refused('SELECT id, count(*) OVER () FROM t ORDER BY i8', 'no LIMIT');
SELECT pg_temp.refused('SELECT id, count(*) OVER () FROM t ORDER BY i8 OFFSET 10', 'OFFSET alone');
SELECT pg_temp.refused('SELECT id, count(*) OVER () FROM t ORDER BY i8 LIMIT 3000', 'half of the rows');
SELECT pg_temp.refused('SELECT id, count(*) OVER () FROM t ORDER BY random() LIMIT 10', 'a volatile order');
SELECT pg_temp.refused('SELECT id, sum(random()) OVER () FROM t ORDER BY i8 LIMIT 10', 'a volatile total');
SELECT pg_temp.refused('SELECT id, generate_series(1, few), count(*) OVER () FROM t ORDER BY i8 LIMIT 10', 'sets in the result');
SELECT pg_temp.refused('SELECT DISTINCT few, count(*) OVER () FROM t ORDER BY few LIMIT 10', 'DISTINCT');
SELECT pg_temp.refused('SELECT id, count(*) OVER () FROM t ORDER BY count(*) OVER (), id LIMIT 10', 'an order by a total');
-- a final function that no row breaks
CREATE FUNCTION divide(s bigint[]) RETURNS bigint LANGUAGE sql IMMUTABLE AS 'SELECT s[1] / s[2]';
CREATE FUNCTION take(s bigint[], v int) RETURNS bigint[] LANGUAGE sql IMMUTABLE AS 'SELECT ARRAY[s[1] + coalesce(v, 0), s[2] + 1]';
CREATE AGGREGATE mean(int) (SFUNC = take, STYPE = bigint[], FINALFUNC = divide, INITCOND = '{0,0}');
CREATE AGGREGATE pairs(int) (SFUNC = take, STYPE = bigint[], INITCOND = '{0,0}');
SELECT pg_temp.refused('SELECT id, mean(i4) OVER () FROM t ORDER BY i8 LIMIT 10', 'a final function of one''s own');
SELECT pg_temp.same_rows('SELECT id, mean(i4) OVER () FROM t WHERE i8 % 2 = 7 ORDER BY i8 LIMIT 10', 'a final function that raises an error for no rows', '{0}');
SELECT pg_temp.same_rows('SELECT id, pairs(i4) OVER () FROM t ORDER BY i8 LIMIT 10', 'an aggregate of one''s own', '{0}');
SET gpusort.min_rows = 10000;
SELECT pg_temp.refused('SELECT id, count(*) OVER () FROM t ORDER BY i8 LIMIT 10', 'few rows');
SET gpusort.min_rows = 0;
SET gpusort.enabled = off;
SELECT pg_temp.refused('SELECT id, count(*) OVER () FROM t ORDER BY i8 LIMIT 10', 'gpusort.enabled = off');
SET gpusort.enabled = on;

-- groups below, which one process has
SET max_parallel_workers_per_gather = 0;
SELECT matches(pg_temp.plan_of('SELECT i2, count(*), sum(count(*)) OVER (), count(*) OVER () FROM t GROUP BY i2 ORDER BY 2, i2 LIMIT 5'),
	'GpuTotal.*GpuFirst.*Aggregate', 'totals of groups: plan');
SELECT pg_temp.same_rows('SELECT i2, count(*) AS c, sum(count(*)) OVER (), count(*) OVER () AS n FROM t GROUP BY i2 ORDER BY 2 DESC, i2 LIMIT 5', 'totals of groups: rows', '{0,2}');
SELECT pg_temp.same_rows('SELECT i2, max(c), avg(max(n)) OVER () FROM t GROUP BY i2 HAVING count(*) > 1 ORDER BY max(c), i2 LIMIT 9', 'of groups with HAVING', '{0,2}');

SELECT pg_temp.same_rows('SELECT i2, count(*), count(*) OVER () AS n FROM t GROUP BY i2 ORDER BY max(id), i2 LIMIT 5', 'a total that reads like an aggregate of groups', '{0,2}');
SELECT pg_temp.same_rows('SELECT few, i2, max(c), max(few) FILTER (WHERE few > 1), max(few) FILTER (WHERE few > 1) OVER () AS n, max(max(c)) OVER () AS m, count(*) OVER ()
	FROM t GROUP BY few, i2 ORDER BY count(*) DESC, few, i2 LIMIT 9 OFFSET 3', 'several', '{0,2}');
SELECT pg_temp.same_rows('SELECT c, max(c) AS m, max(c) OVER () AS n FROM t GROUP BY c ORDER BY max(c) DESC NULLS LAST LIMIT 4', 'one of strings', '{0,2}');

-- a volatile expression of the result is computed of the rows that are given out
CREATE SEQUENCE numbers;
SELECT is(ARRAY(SELECT nextval FROM (SELECT nextval('numbers'), id, count(*) OVER () FROM t ORDER BY i8 LIMIT 3) x), '{1,2,3}', 'a sequence');

-- started again, with other rows and other bounds
CREATE TABLE b AS SELECT * FROM (VALUES (1, 5), (2, 300), (3, 2), (4, NULL), (5, 0), (6, 1200), (7, 7000)) AS b (round, n);
ALTER TABLE b SET (parallel_workers = 0);
ANALYZE b;
SELECT pg_temp.same_rows('SELECT round, x.* FROM b, LATERAL (SELECT id, count(*) OVER () FROM t ORDER BY i8 LIMIT b.n) x ORDER BY round, 2', 'another LIMIT each time', '{0,2}');
SELECT pg_temp.same_rows('SELECT round, x.* FROM b, LATERAL (SELECT id, count(*) OVER () FROM t ORDER BY c, id OFFSET b.n LIMIT 4) x ORDER BY round, 2', 'another OFFSET each time', '{0,2}');
SELECT pg_temp.same_rows('SELECT round, x.* FROM b, LATERAL (SELECT id, sum(few) OVER () FROM t WHERE few < b.round ORDER BY i8 LIMIT 6) x ORDER BY round, 2', 'other rows each time', '{0,2}');
SELECT pg_temp.same_rows('SELECT round, (SELECT sum(x.id + x.n) FROM (SELECT id, count(*) OVER () AS n FROM t ORDER BY i8 LIMIT 6) x WHERE x.id > b.round) FROM b ORDER BY 1',
	'the same rows each time', '{0,2}');

-- what the comparison of intervals keeps in memory goes with each start
CREATE TABLE little AS SELECT i AS id, i * interval '1 second' AS iv FROM generate_series(1, 100) i;
ALTER TABLE little SET (parallel_workers = 0);
ANALYZE little;
CREATE FUNCTION pg_temp.memory() RETURNS bigint LANGUAGE sql VOLATILE AS $$ SELECT sum(total_bytes)::bigint FROM pg_backend_memory_contexts WHERE name = 'ExecutorState' $$;
SELECT matches(pg_temp.plan_of('SELECT (SELECT n + g FROM (SELECT count(*) OVER () AS n FROM little WHERE id <> g ORDER BY iv LIMIT 1) x) FROM generate_series(1, 20000) g'), 'GpuTotal',
	'many starts: plan');
SELECT cmp_ok(CASE WHEN sum(total) > 0 THEN max(bytes) - min(bytes) END, '<', 1000000::bigint, 'many starts: memory') FROM (
	SELECT (SELECT n + g FROM (SELECT count(*) OVER () AS n FROM little WHERE id <> g ORDER BY iv LIMIT 1) x) AS total, CASE WHEN g IN (2, 20000) THEN pg_temp.memory() END AS bytes
	FROM generate_series(1, 20000) g OFFSET 0) x;

-- statements with parameters, of which a plan of several processes is told where it runs
SET plan_cache_mode = force_generic_plan;
CREATE FUNCTION pg_temp.page_of(l bigint, o bigint, enabled text) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY SELECT x::text FROM (SELECT id, count(*) OVER () FROM t ORDER BY i8 LIMIT l OFFSET o) x;
END $$;
SELECT is(ARRAY(SELECT pg_temp.page_of(l, o, workers)), ARRAY(SELECT format('(%s,6000)', id) FROM (SELECT id FROM t ORDER BY i8 LIMIT l OFFSET o) x),
	format('LIMIT %s OFFSET %s as parameters, %s workers', l, o, workers))
FROM (VALUES (10, 5), (3, 0), (NULL, 5990), (900, 100), (0, 3), (2, 7000)) AS v (l, o), LATERAL (SELECT set_config('max_parallel_workers_per_gather', n::text, false) AS workers
	FROM unnest(ARRAY[0, 2]) n) w;
RESET plan_cache_mode;

-- Two tests: a cursor is ours, and moves as over PostgreSQL's plan.
SET max_parallel_workers_per_gather = 0;
CREATE FUNCTION pg_temp.wander(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	walk refcursor;
	step text;
	row record;
	seen text := '';
BEGIN
	OPEN walk SCROLL FOR EXECUTE query;
	FOREACH step IN ARRAY string_to_array('NEXT,NEXT,PRIOR,PRIOR,PRIOR,NEXT,ABSOLUTE 10,RELATIVE 0,PRIOR,RELATIVE 5,RELATIVE -50,LAST,NEXT,PRIOR,PRIOR,NEXT,NEXT,NEXT,PRIOR,'
		'ABSOLUTE -1,ABSOLUTE -40,PRIOR,NEXT,FIRST,ABSOLUTE 41,PRIOR,ABSOLUTE 0,NEXT,FORWARD 3,BACKWARD 3,LAST,RELATIVE -3', ',') LOOP
		EXECUTE format('FETCH %s FROM %s', step, quote_ident(walk::text)) INTO row;
		seen := seen || coalesce(row::text, '-');
	END LOOP;
	CLOSE walk;
	RETURN seen;
END $$;
CREATE FUNCTION pg_temp.wanders(query text, label text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	ours text;
	theirs text;
BEGIN
	RETURN NEXT matches(pg_temp.plan_of('DECLARE c SCROLL CURSOR FOR ' || query), '^Limit[^>]+->  (Result[^>]+->  )?Custom Scan \(GpuTotal\)', label || ': plan');
	ours := pg_temp.wander(query);
	SET LOCAL gpusort.enabled = off;
	theirs := pg_temp.wander(query);
	SET LOCAL gpusort.enabled = on;
	RETURN NEXT is(ours, theirs, label);
END $$;
SELECT pg_temp.wanders('SELECT id, count(*) OVER (), sum(m) OVER () FROM t ORDER BY i8 LIMIT 15', 'a cursor');
SELECT pg_temp.wanders('SELECT id, long, count(*) OVER () FROM t ORDER BY long, id LIMIT 30 OFFSET 7', 'a cursor over a later page');
SELECT pg_temp.wanders('SELECT id, count(*) OVER () FROM t ORDER BY c, id LIMIT (SELECT 5000) OFFSET 5950', 'a cursor over a sort');

-- Rows that come in the reverse of the order: a sample of pages tells which need not be kept.  It has the scan's rows and no others, of a table
-- with rows that were deleted or changed, also by this transaction.
CREATE TABLE rising AS SELECT i AS id, i / 100 AS hundred, lpad(i::text, 8, '0') COLLATE "C" AS c, nullif(i % 1000, 0) + i AS n, i * 1.5 AS m, repeat('x', i % 90) AS pad
FROM generate_series(1, 30000) i;
VACUUM ANALYZE rising;
UPDATE rising SET m = -1 WHERE id BETWEEN 28000 AND 28500;
DELETE FROM rising WHERE id > 29000 OR id % 50 = 0;
CREATE FUNCTION pg_temp.falling(label text, rest text, source text DEFAULT 'rising', columns text DEFAULT 'id, m') RETURNS text LANGUAGE sql AS $$
	SELECT pg_temp.same_rows(format('SELECT %s, count(*) OVER (), sum(hundred) OVER () FROM %s %s', columns, source, rest), label, '{0,2,3}')
$$;
SELECT pg_temp.falling('in reverse', 'ORDER BY id DESC LIMIT 7');
SELECT pg_temp.falling('in reverse, all columns', 'ORDER BY id DESC LIMIT 7', columns => '*');
SELECT pg_temp.falling('in reverse, by an expression', 'ORDER BY -id LIMIT 7', columns => 'id + 1, hundred');
SELECT pg_temp.falling('in reverse, a later page', 'ORDER BY id DESC LIMIT 20 OFFSET 100');
SELECT pg_temp.falling('in reverse, a page far down', 'ORDER BY id DESC LIMIT 20 OFFSET 1000');
SELECT pg_temp.falling('in reverse, with ties', 'ORDER BY hundred DESC, id LIMIT 30');
SELECT pg_temp.falling('in reverse, with ties up to the second key', 'ORDER BY hundred DESC, id DESC LIMIT 30');
SELECT pg_temp.falling('in reverse, strings', 'ORDER BY c DESC LIMIT 12');
SELECT pg_temp.falling('in reverse, NULLs first', 'ORDER BY n DESC, id LIMIT 50', 'rising');
SELECT pg_temp.falling('in reverse, NULLs last', 'ORDER BY n DESC NULLS LAST, id LIMIT 50');
SELECT pg_temp.falling('in reverse, without the last rows', 'WHERE id < 20000 ORDER BY id DESC LIMIT 9');
SELECT pg_temp.falling('in reverse, of a few rows at the beginning', 'WHERE id < 400 ORDER BY id DESC LIMIT 9');
SELECT pg_temp.falling('in reverse, in the order of a changed column', 'WHERE m <> 0 ORDER BY m DESC LIMIT 9');
SELECT pg_temp.falling('in reverse, a condition that changes', 'WHERE random() >= 0 ORDER BY id DESC LIMIT 9');
SELECT pg_temp.falling('in reverse, a condition with a query', 'WHERE id < (SELECT 25000) AND hundred NOT IN (SELECT k FROM few) ORDER BY id DESC LIMIT 9');
SELECT pg_temp.falling('in reverse, above a join', 'ORDER BY id DESC LIMIT 9', 'rising JOIN few ON k = hundred % 10');
SELECT pg_temp.same_rows('SELECT k, ids FROM few, LATERAL (SELECT array_agg(id) AS ids FROM (SELECT id, count(*) OVER () FROM rising WHERE id % 6 = k AND id < 28000 - 1000 * k ' ||
	'ORDER BY id DESC LIMIT 5) page) pages ORDER BY k', 'in reverse, started again', '{0}');
BEGIN;
DELETE FROM rising WHERE id > 28500;
UPDATE rising SET id = id + 100000 WHERE id BETWEEN 100 AND 110;
SELECT pg_temp.falling('in reverse, of a transaction''s own changes', 'ORDER BY id DESC LIMIT 20');
ROLLBACK;
SELECT matches(pg_temp.plan_of('SELECT id, count(*) OVER () FROM rising ORDER BY id DESC LIMIT 7', 'ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF'),
	'Rows Kept: 7\n\s+Rows Sampled: [1-9]\d\d\n', 'the sample is a hundredth or so');
SELECT doesnt_match(pg_temp.plan_of('SELECT id, count(*) OVER () FROM rising ' || rest, 'ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF'), 'Sampled', 'no sample: ' || rest)
FROM unnest(ARRAY['ORDER BY id LIMIT 7', 'ORDER BY md5(id::text) LIMIT 7', 'WHERE random() >= 0 ORDER BY id DESC LIMIT 7', 'ORDER BY id DESC LIMIT 2000',
	'WHERE hundred NOT IN (SELECT k FROM few) ORDER BY id DESC LIMIT 7']) rest;

-- what EXPLAIN shows
SET gpusort.explain_machine = off;
SELECT is(pg_temp.plan_of('SELECT id, upper(c), sum(m + 1) FILTER (WHERE b) OVER () AS s FROM t ORDER BY i8 DESC LIMIT 3', 'VERBOSE, COSTS OFF'), 'Limit
  Output: id, (upper(c)), (sum((m + ''1''::numeric)) FILTER (WHERE b)), i8
  ->  Custom Scan (GpuTotal)
        Output: id, upper(c), (sum((m + ''1''::numeric)) FILTER (WHERE b)), i8
        ->  Aggregate
              Output: sum((m + ''1''::numeric)) FILTER (WHERE b)
              ->  Custom Scan (GpuFirst)
                    Output: id, c, m, b, i8
                    Sort Key: t.i8 DESC
                    ->  Seq Scan on gpusort_totals.t
                          Output: id, c, m, b, i8
', 'VERBOSE');
SELECT matches(pg_temp.plan_of('SELECT id, count(*) OVER () FROM t ORDER BY i8 LIMIT 3', 'ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF'),
	'Custom Scan \(GpuFirst\) \(actual rows=6000(\.00)? loops=1\)\n\s+Sort Key: i8\n\s+Rows Kept: 3\n\s+->  Seq Scan', 'ANALYZE');
SELECT matches(pg_temp.plan_of('SELECT id, count(*) OVER () FROM t ORDER BY i8 LIMIT (SELECT 6000)', 'ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF, BUFFERS OFF'),
	'Custom Scan \(GpuFirst\) \(actual rows=6000(\.00)? loops=1\)\n\s+Sort Key: t.i8\n\s+Sort Method: radix', 'ANALYZE of a sort');
SELECT matches(pg_temp.plan_of('SELECT id, count(*) OVER () FROM t ORDER BY i8 LIMIT 3', 'ANALYZE, FORMAT JSON'), '"Rows Kept": 3', 'ANALYZE as JSON');
RESET gpusort.explain_machine;

DROP SCHEMA gpusort_totals CASCADE;
SELECT * FROM finish();
