-- Resident columns: aggregates over subqueries with window functions, runs, and numbers of groups, compared with
-- PostgreSQL's rows.  Random queries are in test/t/columns_windows.pl.
\ir setup.psql
CREATE EXTENSION IF NOT EXISTS gpusort;
SELECT no_plan();
CREATE SCHEMA columns_windows;
SET search_path = columns_windows, public;

CREATE TABLE t (id int, i2 int2, i4 int4, i8 int8, o oid, d date, ti time, ts timestamp, tz timestamptz, ok bool, f4 float4, f8 float8, n numeric(12, 2), w numeric(30, 6), u uuid, note text);
INSERT INTO t SELECT g, nullif(g % 7, 3), nullif(g * 7919 % 23, 5) - 11, (g * 31 % 1009)::bigint * 1000000007, nullif(g % 11, 0), date '2020-01-01' + (g % 13)::int, time '10:00' + g % 5 * interval '1 hour',
	timestamp '2020-01-01' + g % 17 * interval '1 day', timestamptz '2020-01-01 00:00+00' + g % 19 * interval '1 hour', nullif(g / 9 % 3, 2) = 1, g % 6 / 2.0, nullif(g % 29, 28) / 4.0 + 1, nullif(g % 37, 36) / 100.0,
	g % 41 * 1000000000.000001, lpad((g % 9)::text, 32, '0')::uuid, g FROM generate_series(1, 20000) AS g;
CREATE TABLE odd (id int, d date, ts timestamp, f8 float8, f4 float4, v int);
INSERT INTO odd SELECT g, date '2020-01-01' + g % 99, timestamp '2020-01-01' + g % 99 * interval '1 hour', CASE g % 5 WHEN 0 THEN 0::float8 WHEN 1 THEN '-0' WHEN 2 THEN 'NaN' WHEN 3 THEN '-Infinity' END,
	CASE g % 3 WHEN 0 THEN 'NaN'::float4 WHEN 1 THEN '-0' END, 2147483647 FROM generate_series(1, 3000) AS g;
CREATE TABLE p (k int, v numeric(8, 2), s int) PARTITION BY RANGE (k);
CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (5000);
CREATE TABLE p2 (s int, v numeric(8, 2), k int);
ALTER TABLE p ATTACH PARTITION p2 FOR VALUES FROM (5000) TO (10000);
INSERT INTO p SELECT g, g / 10.0, g / 7 % 20 FROM generate_series(0, 9999) AS g;
-- timestamps whole hours apart, twenty minutes more, one value alone, and in the last partition one microsecond more
CREATE TABLE far (id int, k int, ts timestamp, big int8, v int) PARTITION BY LIST (k);
CREATE TABLE far0 PARTITION OF far FOR VALUES IN (0);
CREATE TABLE far1 PARTITION OF far FOR VALUES IN (1);
CREATE TABLE far2 PARTITION OF far FOR VALUES IN (2);
CREATE TABLE far3 PARTITION OF far FOR VALUES IN (3);
INSERT INTO far SELECT g, g % 4, CASE WHEN g % 4 = 2 THEN '1999-12-31 23:00' WHEN g % 11 > 0 THEN timestamp '1999-12-31' + g * 7919 % 500 * interval '1 hour' + g % 4 * interval '20 min' END
	+ CASE g WHEN 4003 THEN interval '1 us' ELSE '0' END, CASE g % 3 WHEN 0 THEN -9223372036854775808 WHEN 1 THEN 9223372036854775807 WHEN 2 THEN -3074457345618258603 + g % 4 END, g / 9 % 5 FROM generate_series(1, 6000) AS g;
VACUUM ANALYZE t, odd, p, far;
SELECT gpusort_columns_add('t', '{id,i2,i4,i8,o,d,ti,ts,tz,ok,f4,f8,n,w,u}'), gpusort_columns_add('odd'), gpusort_columns_add('p'), gpusort_columns_add('far');
\ir columns_queries.psql
CREATE FUNCTION same(query text) RETURNS SETOF text LANGUAGE sql AS $$
	SELECT is(rows_of(query, 'on'), rows_of(query, 'off'), query)
$$;

-- every type in a window, as an argument, and as what orders it
SELECT answered(format('SELECT count(*), count(DISTINCT a), count(b), min(b), max(c), max(e) FROM (SELECT lag(%s) OVER w AS a, lead(%1$s, 2) OVER w AS b, first_value(%1$s) OVER (w ROWS 2 PRECEDING) AS c,
	max(%1$s) OVER (w ROWS BETWEEN 1 PRECEDING AND 3 FOLLOWING) AS e FROM t WINDOW w AS (PARTITION BY i2 ORDER BY %1$s DESC, id)) AS q', v)) FROM unnest('{i2,i4,i8,o,d,ti,ts,tz,f4,f8,n,w}'::text[]) AS v;
SELECT answered(format('SELECT r, count(*), max(c) FROM (SELECT rank() OVER w AS r, dense_rank() OVER w AS e, count(%s) OVER w AS c FROM t WINDOW w AS (PARTITION BY %1$s ORDER BY i2 NULLS FIRST, i4)) AS q WHERE r <= 5 AND e < 4 GROUP BY r ORDER BY r', v))
	FROM unnest('{i2,i4,i8,o,d,ti,ts,tz,ok,f4,f8,n,w}'::text[]) AS v;

-- values that are multiples of a number more than the least one
SELECT answered(format('SELECT count(*), min(a), max(a), min(b), max(b), sum(c), count(DISTINCT f) FROM (SELECT lag(ts) OVER w AS a, first_value(big) OVER w AS b, sum(v) OVER w AS c, lead(v) OVER w AS f, k FROM far
	WINDOW w AS (%s, id)) AS q WHERE k <> %s', w, k)) FROM unnest('{ORDER BY ts,ORDER BY ts DESC,ORDER BY big,"PARTITION BY v ORDER BY big DESC NULLS LAST","PARTITION BY ts ORDER BY big"}'::text[]) AS w, unnest('{-1,2,3}'::int[]) AS k;
SELECT answered(format('SELECT count(*), min(a), max(a), sum(c), max(e) FROM (SELECT lag(ts) OVER w AS a, sum(v) OVER w AS c, rank() OVER w AS e FROM far%s WINDOW w AS (%s)) AS q', k, w))
	FROM unnest('{ORDER BY ts,ORDER BY ts NULLS FIRST,PARTITION BY v ORDER BY ts DESC}'::text[]) AS w, unnest('{"",0,1,2,3}'::text[]) AS k;

-- functions
SELECT answered(format('SELECT min(x), max(x), count(x), count(DISTINCT x) FROM (SELECT %s OVER (PARTITION BY i2 ORDER BY n, id) AS x FROM t) AS q', f)) FROM unnest(ARRAY[
	'row_number()', 'rank()', 'dense_rank()', 'percent_rank()', 'cume_dist()', 'ntile(7)', 'lag(n)', 'lag(n, 3)', 'lag(n, 2, 1.50)', 'lag(i4, 0)', 'lag(i4, -1)', 'lag(i4, 1, -5)', 'lead(d, 1, ''2021-01-01''::date)', 'lead(f8, 1, ''-0''::float8)',
	'first_value(i8)', 'last_value(w)', 'nth_value(i4, 2)', 'count(*)', 'count(1)', 'count(i4)', 'sum(i2)', 'sum(i4)', 'sum(i8)', 'sum(n)', 'sum(w)', 'sum(f8)', 'min(f4)', 'max(ts)', 'gpu_run_id(i2)', 'gpu_run_id(u)', 'gpu_run_id(f8)']) AS f;
SELECT answered(format('SELECT sum(x), avg(x), min(x) FROM (SELECT sum(n) OVER (PARTITION BY i2 ORDER BY i4, id %s) AS x FROM t) AS q', f)) FROM unnest(ARRAY['', 'ROWS UNBOUNDED PRECEDING', 'ROWS 2 PRECEDING', 'ROWS CURRENT ROW',
	'ROWS BETWEEN 3 PRECEDING AND 1 PRECEDING', 'ROWS BETWEEN 1 FOLLOWING AND 4 FOLLOWING', 'ROWS BETWEEN UNBOUNDED PRECEDING AND 2 FOLLOWING', 'ROWS BETWEEN 1 PRECEDING AND UNBOUNDED FOLLOWING', 'RANGE BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING',
	'GROUPS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW']) AS f;

-- several windows, of which some have one order
SELECT answered(q) FROM unnest(ARRAY[
	'SELECT max(a), min(b), count(c), sum(e) FROM (SELECT row_number() OVER (ORDER BY ts, id) AS a, lag(id) OVER (ORDER BY ts, id) AS b, sum(i4) OVER (PARTITION BY i2) AS c, count(*) OVER () AS e FROM t) AS q',
	'SELECT count(*) FROM (SELECT row_number() OVER (ORDER BY i2) AS a, row_number() OVER (ORDER BY i2 ROWS 3 PRECEDING) AS b FROM t) AS q WHERE a = b',
	'SELECT count(*) FROM (SELECT count(*) OVER () FROM t) AS q', 'SELECT count(c) FROM (SELECT count(*) OVER () AS c FROM t WHERE i4 > 3) AS q WHERE c > 5',
	-- orders of more than 64 bits
	'SELECT count(*) FROM (SELECT lag(i2) OVER (ORDER BY i8, ts, id) AS a, i2 FROM t) AS q WHERE a <> i2', 'SELECT sum(a) FROM (SELECT rank() OVER (ORDER BY w DESC, n) AS a FROM t) AS q WHERE a % 1 = 0 OR true']) AS q;

-- what stands above
SELECT answered(q) FROM unnest(ARRAY[
	'SELECT count(*), sum(n) FROM (SELECT n, row_number() OVER (PARTITION BY i4 ORDER BY ts DESC, id) AS r FROM t WHERE i2 > 1) AS q WHERE r <= 3',
	'SELECT count(*), sum(n) FROM (SELECT n, row_number() OVER (PARTITION BY i4 ORDER BY ts DESC, id) AS r FROM t) AS q WHERE r = 1 AND n > 0.1',
	'SELECT count(*) FROM (SELECT ok, lag(ok) OVER (ORDER BY id) AS l FROM t) AS q WHERE ok IS DISTINCT FROM l', 'SELECT count(*) FROM (SELECT ok, lag(ok) OVER (ORDER BY id) AS l FROM t) AS q WHERE NOT (ok IS DISTINCT FROM l)',
	'SELECT count(*) FROM (SELECT n, lag(n) OVER (ORDER BY id) AS l FROM t) AS q WHERE n > l AND n <> 0.05', 'SELECT count(*) FROM (SELECT i4, lag(i8) OVER (ORDER BY id) AS l FROM t) AS q WHERE i4 < l',
	'SELECT i2, max(r) FROM (SELECT i2, sum(i8) OVER (PARTITION BY i2 ORDER BY id) AS r FROM t) AS q GROUP BY i2 HAVING max(r) > 5 ORDER BY max(r) DESC LIMIT 3',
	'SELECT a.i2, count(*) FROM (SELECT i2, ntile(3) OVER (ORDER BY id) AS x FROM t) AS a WHERE x = 2 GROUP BY a.i2', 'SELECT DISTINCT x FROM (SELECT ntile(3) OVER (ORDER BY id) AS x FROM t) AS a',
	'WITH q AS (SELECT i2, lag(id) OVER (PARTITION BY i2 ORDER BY id) AS l, id FROM t) SELECT i2, sum(id - l), avg(id - l) FROM q WHERE i2 < 5 GROUP BY i2',
	'SELECT count(*) FILTER (WHERE r = 1), percentile_disc(0.5) WITHIN GROUP (ORDER BY r) FROM (SELECT rank() OVER (PARTITION BY i2 ORDER BY d) AS r FROM t) AS q',
	'SELECT s, (SELECT count(*) FROM (SELECT i2, row_number() OVER (PARTITION BY i2 ORDER BY id) AS r FROM t WHERE i4 > s) AS q WHERE r <= s) FROM generate_series(1, 3) AS s',
	-- differences to the row before
	'SELECT avg(d - l), sum(d - l), min(d - l) FROM (SELECT d, lag(d) OVER (PARTITION BY i4 ORDER BY ts, id) AS l FROM t) AS q', 'SELECT i2, avg(extract(epoch FROM ts - l)), max(extract(epoch FROM ts - l)) FROM (SELECT i2, ts, lag(ts) OVER (PARTITION BY i4 ORDER BY tz, id) AS l FROM t) AS q GROUP BY i2',
	'SELECT avg(extract(epoch FROM tz - l)) FROM (SELECT tz, lead(tz) OVER (PARTITION BY i4 ORDER BY ts, id) AS l FROM t) AS q WHERE l > ''2020-01-01 05:00''',
	-- runs
	'SELECT cardinality(gpu_rle(ok ORDER BY id)) FROM t', 'SELECT cardinality(gpu_rle(i2, id)) + 1, count(*) FROM t WHERE i4 > 0', 'SELECT i2, cardinality(gpu_rle(i4 ORDER BY ts DESC, id)) FROM t GROUP BY i2 HAVING cardinality(gpu_rle(i4 ORDER BY ts DESC, id)) > 2',
	'SELECT cardinality(gpu_rle(ok ORDER BY id)) FROM t WHERE id < 0', 'SELECT i2, cardinality(gpu_rle(f8 ORDER BY id)) AS c FROM t GROUP BY i2 ORDER BY c DESC, i2 LIMIT 2',
	'SELECT i2, ok, min(ts), max(ts), count(*) FROM (SELECT *, gpu_run_id(ok) OVER (PARTITION BY i2 ORDER BY id) AS run FROM t) AS q GROUP BY i2, run, ok HAVING count(*) > 1',
	'SELECT count(*) FROM (SELECT run, i2 FROM (SELECT i2, gpu_run_id(i2) OVER (ORDER BY id) AS run FROM t) AS r GROUP BY run, i2) AS q',
	-- arrays
	'SELECT gpu_rle(i2, id) FROM t WHERE id < 3000', 'SELECT i4, gpu_rle(i2 ORDER BY ts DESC, id) FROM t GROUP BY i4', 'SELECT i4, (gpu_rle(f8, id))[2].run_length + 1 FROM t WHERE ok GROUP BY i4 HAVING i4 <> 3', 'SELECT gpu_rle(n ORDER BY id) FROM t WHERE id < 0',
	'SELECT i4, gpu_rle(n ORDER BY id) FROM t WHERE id < 0 GROUP BY i4', 'SELECT (r).value, sum((r).run_length), max((r).first_row) FROM (SELECT unnest(gpu_rle(ok ORDER BY id)) AS r FROM t) AS q GROUP BY 1', 'SELECT i2, unnest(gpu_rle(tz, id)) FROM t GROUP BY i2',
	'SELECT gpu_rle(d, id), 5 FROM t WHERE id < 9', 'SELECT count(*) FROM (SELECT i4, gpu_rle(i2, id) FROM t GROUP BY i4) AS q', 'SELECT sum(cardinality(r)) FROM (SELECT i4, gpu_rle(i2, id) AS r FROM t GROUP BY i4) AS q',
	'SELECT gpu_sort_agg(i2) FROM t', 'SELECT i2, gpu_sort_agg(f8), 1 FROM t GROUP BY i2', 'SELECT gpu_sort_agg(n) FROM t WHERE i2 = 1', 'SELECT i2, gpu_sort_agg(w) FROM t WHERE id < 300 GROUP BY i2 HAVING count(*) > 5 OR true', 'SELECT i4, gpu_sort_agg(ok) FROM t GROUP BY i4',
	'SELECT gpu_sort_agg(f4) FROM odd WHERE v > 5', 'SELECT gpu_sort_agg(d) FROM t WHERE id < 0', 'SELECT s, gpu_rle(v ORDER BY k) FROM p GROUP BY s', 'SELECT (SELECT gpu_rle(i2, id) FROM t WHERE id < x) FROM generate_series(0, 30, 10) AS x',
	-- columns that are compared with each other, also without windows
	'SELECT count(*) FROM t WHERE i2 < i4', 'SELECT i2, sum(n) FROM t WHERE i8 >= i4 AND f4 = f8 GROUP BY i2', 'SELECT count(*) FILTER (WHERE i2 IS DISTINCT FROM i4), count(*) FILTER (WHERE i4 = i2) FROM t', 'SELECT id FROM t WHERE i2 = i4 AND f4 > f8',
	-- runs in the order of the table
	'SELECT gpu_rle(i2) FROM t', 'SELECT cardinality(gpu_rle(ok)), count(*), max(id) FROM t', 'SELECT cardinality(gpu_rle(i4)) FROM t WHERE note > ''5'' OR true', 'SELECT gpu_rle(n) FROM t WHERE i2 > 2 AND ok', 'SELECT gpu_rle(i2) FROM t WHERE id < 0',
	'SELECT cardinality(gpu_rle(i2)), cardinality(gpu_rle(i4)), cardinality(gpu_rle(i4 ORDER BY ts, id)) FROM t',
	-- numbers of groups
	'SELECT count(*) FROM (SELECT i4, sum(n) FROM t GROUP BY i4) AS q', 'SELECT count(*) * 2 FROM (SELECT i4, sum(n) FROM t GROUP BY i4 HAVING sum(n) > 1 AND i4 > 0) AS q', 'SELECT count(*) FROM (SELECT DISTINCT i2, i4 FROM t WHERE id < 50) AS q',
	'SELECT count(*) FROM (SELECT i4 FROM t WHERE id < 0 GROUP BY i4) AS q', 'SELECT count(*) FROM (SELECT DISTINCT i4 FROM t) AS q HAVING count(*) > 1000', 'SELECT count(*) FROM (SELECT i4 FROM t GROUP BY i4) AS q HAVING count(*) < 1000',
	'SELECT count(*) FROM (SELECT DISTINCT i4 FROM t) AS q GROUP BY GROUPING SETS ((), ())',
	-- partitions
	'SELECT count(*) FROM (SELECT s, lag(s) OVER (ORDER BY k) AS l FROM p) AS q WHERE s <> l', 'SELECT cardinality(gpu_rle(s ORDER BY k)) FROM p', 'SELECT max(x) FROM (SELECT sum(v) OVER (PARTITION BY s ORDER BY k) AS x FROM p WHERE k < 7000) AS q']) AS q;
SELECT is(plan_of('EXPLAIN SELECT count(*) FROM (SELECT i4, sum(n) FROM t GROUP BY i4) AS q', 'force') ~ '^Custom Scan', true, 'groups are counted where they are');

-- rows that moved, of which some come from the table, in the order of TIDs
CREATE TABLE moved (g int, v int, s text GENERATED ALWAYS AS (chr(122 - v)) STORED);
INSERT INTO moved SELECT x % 3, x / 40 % 9 FROM generate_series(1, 30000) AS x;
DELETE FROM moved WHERE v = 3 AND g = 1;
VACUUM ANALYZE moved;
SELECT gpusort_columns_add('moved');
CREATE FUNCTION in_place(keys text) RETURNS SETOF text LANGUAGE sql AS $$
	SELECT is(rows_of(format('SELECT %sgpu_rle(v) FROM moved WHERE v <> 7 %s', keys || ', ', 'GROUP BY ' || keys), 'force'),
		rows_of(format('SELECT %sgpu_rle(v ORDER BY ctid) FROM moved WHERE v <> 7 %s', keys || ', ', 'GROUP BY ' || keys), 'off'), 'runs in place')
$$;
SELECT in_place(keys) FROM unnest('{NULL,g}'::text[]) AS keys;
INSERT INTO moved SELECT 1, x % 3 FROM generate_series(1, 500) AS x;
UPDATE moved SET v = 8 WHERE v = 2 AND g = 0;
SELECT in_place(keys) FROM unnest('{NULL,g}'::text[]) AS keys;
BEGIN;
UPDATE moved SET v = v + 1 WHERE v = 4 AND g = 2;
DELETE FROM moved WHERE v = 8 AND g = 1;
SELECT in_place(keys) FROM unnest('{NULL,g}'::text[]) AS keys;
ROLLBACK;
-- pages of several segments, in between some that are changed, emptied, and filled again
UPDATE moved SET v = (v + 1) % 9 WHERE (ctid::text::point)[0]::int % 7 = 3;
SELECT ok(settled('SELECT gpu_rle(v) FROM moved'), 'columns have pages that changed');
SELECT in_place(keys) FROM unnest('{NULL,g}'::text[]) AS keys;
DELETE FROM moved WHERE (ctid::text::point)[0]::int % 11 IN (4, 5);
VACUUM moved;
SELECT ok(settled('SELECT gpu_rle(v) FROM moved'), 'columns have pages without rows');
SELECT in_place(keys) FROM unnest('{NULL,g}'::text[]) AS keys;
INSERT INTO moved SELECT x % 3, x / 30 % 9 FROM generate_series(1, 3000) AS x;
SELECT in_place(keys) FROM unnest('{NULL,g}'::text[]) AS keys;
SELECT is(rows_of('SELECT cardinality(gpu_rle(v)), max(v), (SELECT count(l) FROM (SELECT lag(v) OVER (ORDER BY g) AS l FROM moved) AS q) FROM moved', 'on'),
	rows_of('SELECT cardinality(gpu_rle(v ORDER BY ctid)), max(v), (SELECT count(l) FROM (SELECT lag(v) OVER (ORDER BY g) AS l FROM moved) AS q) FROM moved', 'off'), 'runs in place beside others');
SELECT is(rows_of('SELECT cardinality(gpu_rle(v)), max(s), min(s) FROM moved', 'force'), rows_of('SELECT cardinality(gpu_rle(v ORDER BY ctid)), max(s), min(s) FROM moved', 'off'), 'runs in place beside ranks of strings');
SELECT is(rows_of('SELECT s, gpu_rle(v) FROM moved GROUP BY s ORDER BY s DESC LIMIT 3', 'force'), rows_of('SELECT s, gpu_rle(v ORDER BY ctid) FROM moved GROUP BY s ORDER BY s DESC LIMIT 3', 'off'), 'runs of the first groups by ranks');
SELECT matches(plan_of('EXPLAIN (COSTS OFF) SELECT cardinality(gpu_rle(v)), max(s), min(s) FROM moved', 'force'), 'GpuColumns', 'and they come from columns');
BEGIN;
UPDATE moved SET v = (v + 2) % 9 WHERE (ctid::text::point)[0]::int % 5 = 1;
SELECT in_place(keys) FROM unnest('{NULL,g}'::text[]) AS keys;
COMMIT;
SELECT ok(settled('SELECT gpu_rle(v) FROM moved'), 'columns have pages that changed again');
SELECT in_place(keys) FROM unnest('{NULL,g}'::text[]) AS keys;
SELECT matches(plan_of('EXPLAIN (COSTS OFF) SELECT g, gpu_rle(v) FROM moved GROUP BY g', 'force'), 'Windows: \(PARTITION BY g ORDER BY ctid\)', 'EXPLAIN names the order of the table');

-- rows, of a subquery and of the query itself
SELECT answered(format('SELECT id, %s, l FROM (SELECT id, %1$s, lag(%1$s) OVER (PARTITION BY i2 ORDER BY id) AS l, rank() OVER (ORDER BY id DESC) AS r FROM t) AS q WHERE r < 500', v)) FROM unnest('{i2,i4,i8,o,d,ti,ts,tz,ok,f4,f8,n,w,u}'::text[]) AS v;
SELECT answered(q) FROM unnest(ARRAY[
	'SELECT * FROM (SELECT id, i4, n, row_number() OVER (PARTITION BY i4 ORDER BY ts DESC, id) AS r FROM t WHERE i2 > 1) AS q WHERE r <= 3', 'SELECT r, r + id, n FROM (SELECT id, n, ntile(9) OVER (ORDER BY n, id) AS r FROM t WHERE id < 900) AS q WHERE n > 0.2 AND r = 4',
	'SELECT count(*) FROM (SELECT id, random(), lag(i4) OVER (ORDER BY id) AS x FROM t) AS q WHERE x = 5', 'SELECT max(x) FROM (SELECT id, lag(i4) OVER (ORDER BY id) AS x FROM t ORDER BY id LIMIT 500) AS q',
	-- rows that are equal
	'SELECT i2, r FROM (SELECT i2, rank() OVER (ORDER BY i2) AS r FROM t) AS q WHERE r < 9000', 'SELECT ok, count(*) OVER (PARTITION BY ok) FROM t WHERE id < 700', 'SELECT s, dense_rank() OVER (ORDER BY s) FROM p',
	'SELECT id, i2, sum(n) OVER (PARTITION BY i2 ORDER BY id), percent_rank() OVER (ORDER BY i4) FROM t WHERE id < 2000', 'SELECT random() < 2, row_number() OVER (ORDER BY id) FROM t WHERE id < 100', 'SELECT id, lag(id) OVER (ORDER BY id) FROM t WHERE id < 0',
	'SELECT x, q.id FROM generate_series(1, 3) AS x JOIN (SELECT id, row_number() OVER (PARTITION BY i2 ORDER BY id) AS r FROM t) AS q ON r = x', 'SELECT DISTINCT ON (i2) i2, id FROM (SELECT i2, id, lead(id) OVER (PARTITION BY i2 ORDER BY id) AS l FROM t WHERE id < 500) AS q ORDER BY i2, l',
	-- their order
	'SELECT ARRAY(SELECT ROW(id, r)::text FROM (SELECT id, rank() OVER (PARTITION BY i2 ORDER BY d) AS r FROM t) AS q ORDER BY r DESC, id LIMIT 20 OFFSET 7)', 'SELECT ARRAY(SELECT ROW(i2, sum(i4) OVER (PARTITION BY i2))::text FROM t ORDER BY 1 NULLS FIRST, i2 LIMIT 5000)',
	'SELECT ARRAY(SELECT ROW(id, n, count(*) OVER (PARTITION BY n))::text FROM t ORDER BY n DESC NULLS LAST, id LIMIT 30)', 'SELECT ARRAY(SELECT id FROM (SELECT id, max(n) OVER (ORDER BY id) AS m FROM t) AS q WHERE m > 0.3 ORDER BY id)',
	'SELECT s, ARRAY(SELECT id FROM (SELECT id, row_number() OVER (PARTITION BY i2 ORDER BY id) AS r FROM t WHERE i4 > s) AS q WHERE r <= s ORDER BY id LIMIT s + 1) FROM generate_series(1, 3) AS s',
	-- keys that are casts
	'SELECT i2, count(*), max(r) FROM (SELECT i2, row_number() OVER (PARTITION BY i2::int8 ORDER BY id) AS r FROM t) AS q WHERE r <= 3 GROUP BY i2',
	-- windows above, of all rows
	'SELECT ARRAY(SELECT ROW(id, r, count(*) OVER ())::text FROM (SELECT id, row_number() OVER (PARTITION BY i2 ORDER BY id) AS r FROM t) AS q WHERE r <= 2 ORDER BY id LIMIT 3)']) AS q;
-- averages, which rows return; what is done with them is done above these
SELECT answered(format('SELECT id, avg(%s) OVER (PARTITION BY i2 ORDER BY id %s), sum(%1$s) OVER (PARTITION BY i2 ORDER BY id), avg(%1$s) OVER (), avg(%1$s) OVER (ORDER BY i4), count(%1$s) OVER () FROM t WHERE id < 2500', v, f))
	FROM unnest('{i2,i4,i8,n,w}'::text[]) AS v, unnest(ARRAY['', 'ROWS 2 PRECEDING', 'ROWS BETWEEN 5 PRECEDING AND 2 PRECEDING', 'ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING']) AS f;
SELECT answered(q) FROM unnest(ARRAY['SELECT * FROM (SELECT id, avg(n) OVER (PARTITION BY i4) AS a, avg(i8) OVER (PARTITION BY i4) AS b, row_number() OVER (PARTITION BY i4 ORDER BY n, id) AS r FROM t) AS q WHERE r <= 3', 'SELECT k, avg(v) OVER (PARTITION BY s ORDER BY k) FROM p',
	'SELECT avg(i4) OVER (PARTITION BY i2) FROM t', 'SELECT avg(i4) OVER (PARTITION BY i2) FROM t WHERE id < 0', 'SELECT ARRAY(SELECT ROW(id, a)::text FROM (SELECT id, avg(n) OVER (ORDER BY id ROWS 2 PRECEDING) AS a FROM t WHERE id < 900) AS q ORDER BY a DESC NULLS LAST, id)',
	'SELECT id, avg(i4) OVER w, avg(i4) OVER w + 1, avg(n) OVER w FROM t WINDOW w AS (PARTITION BY i2 ORDER BY id ROWS 1 PRECEDING)',
	'SELECT max(x) FROM (SELECT avg(n) OVER (ORDER BY id) AS x FROM t) AS q', 'SELECT x, count(*) FROM (SELECT avg(i4) OVER (PARTITION BY i2) AS x FROM t) AS q GROUP BY x', 'SELECT id FROM (SELECT id, avg(i4) OVER (PARTITION BY i2 ORDER BY id) AS x FROM t) AS q WHERE x > 1']) AS q;
SELECT is(rows_of(q, 'force'), rows_of(q, 'off'), q) FROM (VALUES ('SELECT id, i2::int8, rank() OVER (PARTITION BY i2::int8 ORDER BY i4::int8, id) AS r FROM t')) AS v (q);
SELECT matches(plan_of('EXPLAIN (COSTS OFF) SELECT id, rank() OVER (ORDER BY n) FROM t ORDER BY 2 DESC, id LIMIT 7', 'force'), 'Windows: \(ORDER BY n\)\s+Window Rows: id, rank\(\), n\s+Top: 7', 'the first rows alone leave the engine');
SELECT doesnt_match(plan_of('EXPLAIN (COSTS OFF) SELECT ' || q, 'force'), 'Top', q) FROM unnest(ARRAY['id, random(), rank() OVER (ORDER BY n) FROM t ORDER BY 3 DESC, id LIMIT 7', 'id, rank() OVER (ORDER BY n) FROM t ORDER BY 2 FETCH FIRST 3 ROWS WITH TIES',
	'q.* FROM (SELECT id, rank() OVER (ORDER BY n) AS r FROM t) AS q, generate_series(1, 3) AS x ORDER BY r LIMIT 3', 'DISTINCT rank() OVER (ORDER BY n) AS r FROM t ORDER BY r LIMIT 3']) AS q;

-- what is left to PostgreSQL
SELECT left_alone(q) FROM unnest(ARRAY['SELECT id, avg(f8) OVER (ORDER BY id) FROM t', 'SELECT max(x) FROM (SELECT sum(f4) OVER (ORDER BY id) AS x FROM t) AS q', 'SELECT max(x) FROM (SELECT sum(n) OVER (ORDER BY id RANGE 3 PRECEDING) AS x FROM t) AS q',
	'SELECT max(x) FROM (SELECT sum(n) OVER (ORDER BY id GROUPS 3 PRECEDING) AS x FROM t) AS q', 'SELECT max(x) FROM (SELECT sum(n) OVER (ORDER BY id ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING EXCLUDE TIES) AS x FROM t) AS q',
	'SELECT max(x) FROM (SELECT count(*) FILTER (WHERE i2 = 1) OVER (ORDER BY id) AS x FROM t) AS q', 'SELECT max(x) FROM (SELECT lag(i4 + 1) OVER (ORDER BY id) AS x FROM t) AS q', 'SELECT max(x) FROM (SELECT lag(i4) OVER (ORDER BY id + 1) AS x FROM t) AS q',
	'SELECT max(x) FROM (SELECT lag(i4) OVER (ORDER BY note) AS x FROM t) AS q', 'SELECT max(x) FROM (SELECT lag(i4, i2) OVER (ORDER BY id) AS x FROM t) AS q', 'SELECT max(x) FROM (SELECT lag(n, 1, 1.5) OVER (ORDER BY id) AS x FROM t) AS q',
	'SELECT max(x) FROM (SELECT lag(i4) OVER (ORDER BY id) AS x FROM t, generate_series(1, 2)) AS q',
	'SELECT max(x) FROM (SELECT min(f8) OVER (ORDER BY id ROWS BETWEEN 2000 PRECEDING AND CURRENT ROW) AS x FROM t) AS q', 'SELECT gpu_rle(s) FROM p', 'SELECT gpu_rle(i2) FROM (SELECT i2, row_number() OVER (ORDER BY id DESC) AS r FROM t) AS q', 'SELECT gpu_rle(i2) FROM (SELECT i2 FROM t ORDER BY id DESC) AS q', 'SELECT gpu_rle(i2 ORDER BY id), count(*) FROM t', 'SELECT gpu_rle(i2 ORDER BY id), gpu_sort_agg(i4) FROM t', 'SELECT gpu_sort_agg(DISTINCT i4) FROM t', 'SELECT gpu_sort_agg(u) FROM t', 'SELECT gpu_rle(u ORDER BY id) FROM t', 'SELECT gpu_sort_agg(i4 + 1) FROM t', 'SELECT cardinality(gpu_rle(i2 ORDER BY id) FILTER (WHERE i4 > 5)) FROM t',
	'SELECT cardinality(gpu_rle(i2 + 1::int2 ORDER BY id)) FROM t']) AS q;

-- values that only PostgreSQL knows what to do with
SELECT same(q) FROM unnest(ARRAY['SELECT f8, r FROM (SELECT f8, rank() OVER (ORDER BY f8) AS r FROM odd) AS q', 'SELECT id, f8, f4, lag(f8) OVER (ORDER BY id) AS r FROM odd', 'SELECT id, sum(v) OVER (ORDER BY id) FROM odd ORDER BY id DESC LIMIT 3', 'SELECT gpu_rle(f8 ORDER BY id) FROM odd', 'SELECT gpu_sort_agg(f8) FROM odd', 'SELECT gpu_rle(f4 ORDER BY id) FROM odd', 'SELECT min(x), max(x) FROM (SELECT min(f8) OVER (ORDER BY id ROWS 3 PRECEDING) AS x FROM odd) AS q', 'SELECT max(x) FROM (SELECT sum(f8) OVER (ORDER BY id) AS x FROM odd) AS q', 'SELECT count(x) FROM (SELECT gpu_run_id(f8) OVER (ORDER BY id) AS x FROM odd) AS q',
	'SELECT f8, count(*) FROM (SELECT f8, gpu_run_id(f8) OVER (ORDER BY id) AS x FROM odd) AS q GROUP BY x, f8', 'SELECT max(x) FROM (SELECT sum(v) OVER (ORDER BY id) AS x FROM odd) AS q', 'SELECT count(*) FROM (SELECT f4, lag(f8) OVER (ORDER BY id) AS x FROM odd) AS q WHERE f4 = x']) AS q;
UPDATE odd SET d = 'infinity', ts = '-infinity' WHERE id = 77;
SELECT throws_ok('SELECT avg(d - l) FROM (SELECT d, lag(d) OVER (ORDER BY id) AS l FROM odd) AS q', '22008', NULL, 'a difference of infinite dates is PostgreSQL''s error');
SELECT throws_ok('SELECT avg(d - l) FROM (SELECT d, lag(d) OVER (ORDER BY id) AS l FROM odd) AS q WHERE l > ''2020-05-05''', '22008', NULL, 'and where the row before is the infinite one');
SELECT same('SELECT avg(d - l) FROM (SELECT d, lag(d) OVER (ORDER BY id) AS l FROM odd WHERE id > 77) AS q');

-- rights are those of the subquery's table
CREATE ROLE columns_windows_reader;
GRANT USAGE ON SCHEMA columns_windows TO columns_windows_reader;
GRANT SELECT (id, i2) ON t TO columns_windows_reader;
SET ROLE columns_windows_reader;
SELECT lives_ok('SELECT count(*) FROM (SELECT i2, lag(i2) OVER (ORDER BY id) AS l FROM columns_windows.t) AS q WHERE i2 <> l', 'columns that may be read');
SELECT lives_ok('SELECT * FROM (SELECT i2, lag(i2) OVER (ORDER BY id) AS l FROM columns_windows.t) AS q WHERE i2 <> l', 'in rows');
SELECT throws_ok('SELECT * FROM (SELECT i2, lag(i4) OVER (ORDER BY id) AS l FROM columns_windows.t) AS q WHERE i2 <> l', '42501', NULL, 'in rows: columns that may not');
SELECT throws_ok('SELECT count(*) FROM (SELECT i4, lag(i4) OVER (ORDER BY id) AS l FROM columns_windows.t) AS q WHERE i4 <> l', '42501', NULL, 'columns that may not');
RESET ROLE;
ALTER TABLE t ENABLE ROW LEVEL SECURITY;
CREATE POLICY few ON t USING (i2 = 1);
SET ROLE columns_windows_reader;
SELECT is((SELECT max(r) FROM (SELECT row_number() OVER (ORDER BY id) AS r FROM columns_windows.t) AS q), (SELECT count(*) FROM columns_windows.t WHERE i2 = 1), 'row security applies below the window');
RESET ROLE;

DROP SCHEMA columns_windows CASCADE;
DROP ROLE columns_windows_reader;
SELECT * FROM finish();
