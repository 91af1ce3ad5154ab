-- Resident columns: groups, FILTER clauses, HAVING, ORDER BY with LIMIT, and aggregates of all values, compared with
-- PostgreSQL's rows.  Tables have NULLs, both zeros, NaN and extremes, and pages that are held, changed and young.
\ir setup.psql
CREATE EXTENSION IF NOT EXISTS gpusort;
SELECT no_plan();
CREATE SCHEMA columns_groups;
SET search_path = columns_groups, public;

CREATE TYPE mood AS ENUM ('good', 'bad', 'ugly');
CREATE DOMAIN price AS numeric(12, 2);
CREATE TABLE t (id bigint, i2 int2, i4 int4, i8 int8, o oid, d date, ti time, ts timestamp, tz timestamptz, ok bool, f4 float4, f8 float8, n price, w numeric(30, 6), m mood, u uuid);
INSERT INTO t SELECT g, nullif(g % 7, 3), nullif(g * 7919 % 23, 5) - 11, (g * 31 % 1009)::bigint * 1000000007, nullif(g % 11, 0), date '2020-01-01' + (g % 13)::int, time '10:00' + g % 5 * interval '1 hour',
	timestamp '2020-01-01' + g % 17 * interval '1 day', timestamptz '2020-01-01 00:00+00' + g % 19 * interval '1 hour', nullif(g % 3, 2) = 1, g % 6 / 2.0, nullif(g % 29, 28) / 4.0 + 1, nullif(g % 37, 36) / 100.0,
	g % 41 * 1000000000.000001, ('{good,bad,ugly}'::mood[])[g % 4], lpad((g % 9)::text, 32, '0')::uuid FROM generate_series(1, 20000) AS g;
\ir columns_tables.psql
CREATE TABLE fractions (f float8);
INSERT INTO fractions VALUES (0), (0.25), (1), (NULL), (0.5);
CREATE TABLE keyed (id int PRIMARY KEY, name int, v int);
INSERT INTO keyed SELECT g, g * 2, g % 3 FROM generate_series(1, 1000) AS g;
VACUUM ANALYZE t, odd, p, keyed;
SELECT gpusort_columns_add('t'), gpusort_columns_add('odd'), gpusort_columns_add('p'), gpusort_columns_add('keyed');

\ir columns_queries.psql
-- from columns or, because of values, from the plan below
CREATE FUNCTION same(query text) RETURNS SETOF text LANGUAGE sql AS $$
	SELECT is(rows_of(query, 'on'), rows_of(query, 'off'), query)
$$;
-- the reason of a node that does not answer from columns; each query in force would fail
CREATE FUNCTION reason_of(query text) RETURNS text LANGUAGE sql AS $$
	SELECT substring(plan_of('EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) ' || query, 'on') FROM 'not used \(([^\n]*)\)')
$$;

-- every type as a key, and as a value
SELECT answered(format('SELECT %s, count(*), sum(i4), avg(n), min(f8), max(ts) FROM t GROUP BY %1$s', k)) FROM unnest('{i2,i4,i8,o,d,ti,ts,tz,ok,f4,f8,n,w,m}'::text[]) AS k;
SELECT answered(format('SELECT i2, count(%s), count(DISTINCT %1$s) FROM t GROUP BY i2', v)) FROM unnest('{i2,i4,i8,o,d,ti,ts,tz,ok,f4,f8,n,w,m}'::text[]) AS v;
SELECT answered(format('SELECT i2, min(%s), max(%1$s), percentile_disc(0.3) WITHIN GROUP (ORDER BY %1$s), mode() WITHIN GROUP (ORDER BY %1$s) FROM t GROUP BY i2', v))
	FROM unnest('{i2,i4,i8,o,d,ti,ts,tz,f4,f8,n,w}'::text[]) AS v;
SELECT answered(format('SELECT percentile_cont(0.37) WITHIN GROUP (ORDER BY %s), percentile_cont(ARRAY[0, 0.1, NULL, 0.5, 1]) WITHIN GROUP (ORDER BY %1$s), percentile_disc(ARRAY[[0.9, 0.1]]) WITHIN GROUP (ORDER BY %1$s) FROM t', v))
	FROM unnest('{i2,i4,i8,f4,f8,n,w}'::text[]) AS v;

-- 128 bits without an order
CREATE TABLE random_ids (k int, u uuid);
INSERT INTO random_ids SELECT g % 30, CASE WHEN g % 11 > 0 THEN md5((g % 3000)::text)::uuid END FROM generate_series(1, 20000) AS g;
VACUUM ANALYZE random_ids;
SELECT gpusort_columns_add('random_ids');
SELECT answered(q) FROM unnest(ARRAY['SELECT i2, count(u), count(DISTINCT u) FROM t GROUP BY i2', 'SELECT count(DISTINCT u) FROM random_ids', 'SELECT k, count(DISTINCT u), gpu_count_distinct(u) FROM random_ids GROUP BY k',
	'SELECT k, count(*) FILTER (WHERE u IS NULL) FROM random_ids WHERE u <> md5(''5'')::uuid GROUP BY k', 'SELECT count(DISTINCT u) FROM random_ids WHERE u IN (md5(''5'')::uuid, md5(''7'')::uuid) OR false', 'SELECT k, count(*) FROM random_ids WHERE u = md5(''8'')::uuid GROUP BY k']) AS q;

-- keys of more than 64 bits, alone and together
CREATE TABLE wide (id int, u uuid, n numeric(38, 3), a bigint, b bigint, f float8, ts timestamptz, k int2);
INSERT INTO wide SELECT g, nullif(md5((g % 700)::text)::uuid, md5('3')::uuid), nullif(g % 900 * 123456789012345678901234567890.123, 0), hashint8extended(g % 300, 1), nullif(hashint8extended(g % 7, 2), hashint8extended(3, 2)),
	g % 50 * 1.5e300, timestamptz '2020-01-01 00:00+00' + g % 1000 * interval '1 microsecond' * 1e9, g % 5 FROM generate_series(1, 20000) AS g;
VACUUM ANALYZE wide;
SELECT gpusort_columns_add('wide');
SELECT answered(format('SELECT %s, count(*), count(b), sum(id), avg(n), min(f), max(ts), count(DISTINCT a), percentile_disc(0.3) WITHIN GROUP (ORDER BY id), mode() WITHIN GROUP (ORDER BY k) FROM wide GROUP BY %1$s', k))
	FROM unnest('{u,n,"a, b","b, f","u, n","ts, a, k","u, n, a","a, f, ts, b, k"}'::text[]) AS k;
SELECT answered(format('SELECT DISTINCT %s FROM wide', k)) FROM unnest('{u,n,"a, b","u, b, n"}'::text[]) AS k;
SELECT answered(q) FROM unnest(ARRAY['SELECT count(DISTINCT u), count(DISTINCT n), count(DISTINCT u) FILTER (WHERE k = 3) FROM wide', 'SELECT u, count(*) FILTER (WHERE b > 0), sum(id) FILTER (WHERE k IN (1, 2)), count(DISTINCT n) FILTER (WHERE f IS NOT NULL) FROM wide WHERE id > 500 GROUP BY u',
	'SELECT a, b, sum(id) FROM wide GROUP BY a, b HAVING count(*) > 9 AND sum(id) > 70000', 'SELECT n, a, sum(id) FROM wide GROUP BY n, a ORDER BY 3 DESC, 1, 2 LIMIT 10 OFFSET 3', 'SELECT n, max(ts) FROM wide GROUP BY n ORDER BY n DESC NULLS LAST LIMIT 7', 'SELECT u, sum(n) FROM wide GROUP BY u HAVING u = md5(''5'')::uuid',
	'SELECT u FROM wide GROUP BY u HAVING u IS NULL', 'SELECT u FROM random_ids GROUP BY u ORDER BY u LIMIT 5 OFFSET 3', 'SELECT count(*), sum(c) FROM (SELECT u, count(*) AS c FROM wide GROUP BY u) AS x', 'SELECT x.u, y.c FROM (SELECT u, min(id) AS i FROM wide GROUP BY u) AS x JOIN (SELECT u, count(*) AS c FROM wide GROUP BY u) AS y USING (u) ORDER BY i LIMIT 9']) AS q;
BEGIN;
UPDATE wide SET u = gen_random_uuid(), a = a + 1 WHERE id % 500 = 0;
INSERT INTO wide SELECT g, '00000000-0000-0000-0000-000000000000', -99999999999999999999999999999999999.999, g, -g, 'NaN', NULL, 1 FROM generate_series(1, 50) AS g;
SELECT answered(format('SELECT %s, count(*), sum(id), count(DISTINCT n) FROM wide GROUP BY %1$s', k)) FROM unnest('{u,n,"a, b","f, u"}'::text[]) AS k;
ROLLBACK;

-- what stands in a query with groups
SELECT answered(q) FROM unnest(ARRAY[
	'SELECT i2 FROM t GROUP BY i2', 'SELECT i2, ok, m, count(*) FROM t GROUP BY m, i2, ok', 'SELECT i2 + 1, sum(n) / count(*) FROM t GROUP BY i2, ok', 'SELECT count(*) FROM t GROUP BY i4', 'SELECT i2, count(*) FROM t WHERE i4 > 5 AND d < ''2020-01-10'' GROUP BY i2',
	'SELECT i2, count(*) FROM t WHERE i4 > 500 GROUP BY i2', 'SELECT count(*), i2 FROM t WHERE i2 = 5 GROUP BY i2', 'SELECT d, sum(n * i4), sum(i4 + 1), avg(i4 - i2) FROM t GROUP BY d', 'SELECT ok, sum(n) FROM t GROUP BY 1',
	'SELECT i2, count(*) FILTER (WHERE ok), sum(n) FILTER (WHERE i4 > 0 AND d >= ''2020-01-05''), count(*) FILTER (WHERE f8 IS NULL), max(ts) FILTER (WHERE m = ''bad''), avg(i8) FILTER (WHERE i4 IN (1, 2, 3)) FROM t GROUP BY i2',
	'SELECT count(*) FILTER (WHERE ok), count(*), sum(i4) FILTER (WHERE i4 BETWEEN 2 AND 5) FROM t', 'SELECT i2, count(DISTINCT i4) FILTER (WHERE ok), percentile_disc(0.5) WITHIN GROUP (ORDER BY n) FILTER (WHERE ok) FROM t GROUP BY i2',
	'SELECT count(DISTINCT i4), count(DISTINCT n), percentile_cont(0.5) WITHIN GROUP (ORDER BY n) FROM t WHERE i4 > 3', 'SELECT count(DISTINCT i4), mode() WITHIN GROUP (ORDER BY i4), percentile_disc(0.1) WITHIN GROUP (ORDER BY i4) FROM t WHERE i4 > 300',
	'SELECT i2, gpu_median(n), gpu_median(f8), gpu_percentile_cont(f8, 0.1), gpu_percentile_disc(d, 0.9), gpu_count_distinct(i4) FROM t GROUP BY i2',
	'SELECT i2, count(*) FROM t GROUP BY i2 HAVING count(*) > 2800', 'SELECT i2, ok FROM t GROUP BY i2, ok HAVING sum(n) > 100.005 AND min(d) = ''2020-01-01'' AND i2 IS NOT NULL', 'SELECT i4 FROM t GROUP BY i4 HAVING avg(n) > 0.17 AND count(n) > 5',
	'SELECT i4, max(n) FROM t GROUP BY i4 HAVING max(n) < 0 OR count(*) > 5', 'SELECT count(*) FROM t HAVING count(*) > 5', 'SELECT sum(n) FROM t HAVING count(*) < 5', 'SELECT i4 FROM t GROUP BY i4 HAVING count(*) > (SELECT 900)',
	'SELECT m FROM t GROUP BY m HAVING m = ''bad'' OR count(*) > 5', 'SELECT i4 FROM t GROUP BY i4 HAVING sum(i4) IS NULL', 'SELECT i8 FROM t GROUP BY i8 HAVING sum(i8) > 10000000000000.5', 'SELECT i4 FROM t GROUP BY i4 HAVING count(DISTINCT i2) = 7',
	'SELECT i8, count(*) FROM t GROUP BY i8 ORDER BY 2 DESC, 1 LIMIT 7', 'SELECT i8, count(*) FROM t GROUP BY i8 ORDER BY count(*), i8 DESC LIMIT 7 OFFSET 5', 'SELECT i8, sum(n) FROM t GROUP BY i8 ORDER BY sum(n) DESC NULLS LAST, i8 LIMIT 20',
	'SELECT i4, min(f8) FROM t GROUP BY i4 ORDER BY i4 DESC NULLS LAST LIMIT 3', 'SELECT i4, min(f8) FROM t GROUP BY i4 ORDER BY i4 NULLS FIRST LIMIT 3', 'SELECT i8, avg(n) FROM t GROUP BY i8 ORDER BY avg(n), i8 LIMIT 3',
	'SELECT i8, count(*) FROM t GROUP BY i8 HAVING count(*) < 20 ORDER BY 2 DESC, 1 LIMIT 7', 'SELECT i8, count(*) FROM t GROUP BY i8 HAVING avg(n) < 0.2 ORDER BY 2 DESC, 1 LIMIT 7', 'SELECT i8 FROM t GROUP BY i8 ORDER BY i8 LIMIT 0',
	'SELECT i8 FROM t GROUP BY i8 ORDER BY i8 LIMIT NULL', 'SELECT i8 FROM t GROUP BY i8 ORDER BY i8 LIMIT (SELECT 5)', 'SELECT i4, count(*) FROM t GROUP BY i4 ORDER BY 2 DESC FETCH FIRST 1 ROW WITH TIES', 'SELECT DISTINCT count(*) FROM t GROUP BY i4 ORDER BY 1 LIMIT 3',
	'SELECT m, count(*) FROM t GROUP BY m ORDER BY m LIMIT 2', 'SELECT i4, rank() OVER (ORDER BY count(*), i4) FROM t GROUP BY i4 ORDER BY i4 LIMIT 3', 'SELECT id, name, v FROM keyed GROUP BY id', 'SELECT id, sum(v) FROM keyed GROUP BY id, name',
	'SELECT * FROM (SELECT i2, count(*) AS c FROM t GROUP BY i2) AS x JOIN (SELECT i2, sum(n) FROM t GROUP BY i2) AS y USING (i2)', 'SELECT max(c) FROM (SELECT count(*) AS c FROM t GROUP BY i4) AS x',
	'SELECT f, x.* FROM fractions, LATERAL (SELECT i2, percentile_cont(f) WITHIN GROUP (ORDER BY i4) FROM t WHERE f8 > 10 * f GROUP BY i2) AS x', 'SELECT f, (SELECT count(DISTINCT i4) FROM t WHERE f8 > f * 10) FROM fractions',
	'SELECT x.* FROM generate_series(0, 3) AS g, LATERAL (SELECT i8, count(*) FROM t WHERE i2 >= g GROUP BY i8 ORDER BY 2 DESC, 1 LIMIT g) AS x',
	'SELECT x.* FROM generate_series(0, 3) AS g, LATERAL (SELECT i2, count(*) + g FROM t GROUP BY i2 HAVING count(*) > 1000 * g) AS x', 'SELECT k / 10, x FROM generate_series(1, 20) AS k LEFT JOIN (SELECT i4, sum(n) AS x FROM t GROUP BY i4) AS y ON i4 = k',
	'SELECT s, count(*), sum(v), count(DISTINCT k) FROM p WHERE k < 4000 GROUP BY s', 'SELECT s, percentile_cont(0.5) WITHIN GROUP (ORDER BY v) FROM p2 GROUP BY s']) AS q;
-- any groups: some of all, each with its own answers, and no more of them than are wanted
CREATE FUNCTION any_of(keys text, rest text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	all_groups text := format('SELECT %s, count(*) AS c, sum(i4) AS s FROM t %s', keys, rest);
	got int;
BEGIN
	PERFORM settled(all_groups), set_config('gpusort.columns', 'force', true);
	EXECUTE format('CREATE TEMP TABLE any_groups AS %s LIMIT 7 OFFSET 2', all_groups);
	RETURN NEXT matches(plan_of(format('EXPLAIN (COSTS OFF) %s LIMIT 7 OFFSET 2', all_groups), 'on'), 'Top: 9', keys || ': few groups travel');
	SET LOCAL gpusort.columns = 'off';
	EXECUTE format('SELECT count(*) FROM (SELECT * FROM any_groups INTERSECT %s) AS x', all_groups) INTO got;
	RETURN NEXT is(got, 7, keys || ': they are groups of the query');
	DROP TABLE any_groups;
END $$;
SELECT any_of(k, r) FROM (VALUES ('i8', 'GROUP BY 1'), ('i4, i2', 'WHERE i8 > 0 GROUP BY 1, 2'), ('u, m, w', 'GROUP BY 1, 2, 3 HAVING count(*) > 1')) AS q(k, r);
SELECT is(rows_of(q, 'on'), rows_of(q, 'off'), q) FROM unnest(ARRAY['SELECT count(*) FROM (SELECT DISTINCT i8 FROM t LIMIT 10) AS x', 'SELECT count(*) FROM (SELECT i4, i2 FROM t GROUP BY 1, 2 LIMIT 0) AS x', 'SELECT count(*) FROM (SELECT i2 FROM t GROUP BY 1 LIMIT 100) AS x', 'SELECT i2, sum(id) FROM t GROUP BY i2 LIMIT NULL']) AS q;
-- expressions above that are conditions below, or LIMIT
SELECT answered(q) FROM unnest(ARRAY['SELECT i4 > 3, i4, count(*) FROM t WHERE i4 > 3 GROUP BY i4', 'SELECT i2 IN (1, 2), i2 < 5, count(*) FROM t WHERE i2 IN (1, 2) AND i2 < 5 GROUP BY i2', 'SELECT DISTINCT i4, i4 > 3 FROM t WHERE i4 > 3',
	'SELECT i4, count(*) > 5 FROM t GROUP BY i4 HAVING count(*) > 5', 'SELECT i4, count(*) FROM t WHERE i4 > 3 GROUP BY i4 HAVING (i4 > 3) = (avg(n) < 100)', 'SELECT g, x.* FROM generate_series(0, 3) AS g, LATERAL (SELECT i8, count(*) FROM t GROUP BY i8 ORDER BY 2 DESC, 1 LIMIT g) AS x',
	'SELECT g, x.* FROM generate_series(0::int8, 3) AS g, LATERAL (SELECT i8, g + 1, count(*) FROM t GROUP BY i8 ORDER BY 3 DESC, 1 LIMIT g OFFSET g + 1) AS x']) AS q;

-- DISTINCT
SELECT answered(format('SELECT DISTINCT %s FROM t', k)) FROM unnest('{i2,i4,i8,o,d,ti,ts,tz,ok,f4,f8,n,w,m}'::text[]) AS k;
SELECT answered(q) FROM unnest(ARRAY['SELECT DISTINCT i2, ok, m FROM t', 'SELECT DISTINCT m, i2, 5 FROM t WHERE i4 > 3', 'SELECT DISTINCT i2, i2 FROM t WHERE i4 > 300', 'SELECT DISTINCT i8 FROM t ORDER BY i8 DESC LIMIT 5', 'SELECT DISTINCT i8, i2 FROM t ORDER BY i2 NULLS FIRST, i8 LIMIT 5 OFFSET 3',
	'SELECT DISTINCT i4 FROM t ORDER BY i4', 'SELECT DISTINCT i8 FROM t WHERE i8 < 0', 'SELECT count(*), sum(i4) FROM (SELECT DISTINCT i4, ok FROM t) AS x', 'SELECT DISTINCT i4 FROM t WHERE i4 = 3', 'SELECT DISTINCT s FROM p', 'SELECT DISTINCT v, s FROM p WHERE k < 4000 ORDER BY v LIMIT 7',
	'SELECT x.* FROM generate_series(0, 3) AS g, LATERAL (SELECT DISTINCT i2, g FROM t WHERE i4 > g ORDER BY i2 LIMIT g) AS x', 'SELECT i2, 7, count(*) FROM t GROUP BY 1, 2', 'SELECT DISTINCT m FROM t ORDER BY m LIMIT 2', 'SELECT DISTINCT i2 FROM t UNION ALL SELECT DISTINCT i4 FROM t']) AS q;
SET enable_hashagg = off;
SELECT answered(q) FROM unnest(ARRAY['SELECT DISTINCT i2, ok FROM t', 'SELECT i2, count(*) FROM t GROUP BY i2']) AS q;
RESET enable_hashagg;

-- groups, and aggregates of all values, over several partitions
SELECT answered(q) FROM unnest(ARRAY['SELECT s, count(*) FROM p GROUP BY s', 'SELECT count(DISTINCT s), count(DISTINCT k), count(*) FROM p', 'SELECT s, sum(v), avg(k), count(DISTINCT v), percentile_cont(0.3) WITHIN GROUP (ORDER BY k) FROM p GROUP BY s',
	'SELECT percentile_disc(ARRAY[0, 0.5, 1]) WITHIN GROUP (ORDER BY v), mode() WITHIN GROUP (ORDER BY s) FROM p', 'SELECT k, v FROM p GROUP BY k, v ORDER BY v DESC LIMIT 9', 'SELECT s, max(v) FROM p WHERE k > 2500 GROUP BY s HAVING count(*) > 370',
	'SELECT s, gpu_median(v) FROM p GROUP BY s']) AS q;
BEGIN;
UPDATE p SET v = v + 1 WHERE k % 500 = 0;
INSERT INTO p SELECT g, g / 100.0, 77 FROM generate_series(4900, 5100) AS g;
SELECT answered(q) FROM unnest(ARRAY['SELECT s, count(*), sum(v), count(DISTINCT k) FROM p GROUP BY s', 'SELECT count(DISTINCT v), percentile_disc(0.5) WITHIN GROUP (ORDER BY v) FROM p']) AS q;
ROLLBACK;
-- of which one is not held, or has no rows
CREATE TABLE half (k int, v int) PARTITION BY LIST (k);
CREATE TABLE half1 PARTITION OF half FOR VALUES IN (1);
CREATE TABLE half2 PARTITION OF half FOR VALUES IN (2);
CREATE TABLE half3 PARTITION OF half FOR VALUES IN (3);
CREATE TABLE half4 PARTITION OF half FOR VALUES IN (4);
INSERT INTO half SELECT 1 + g % 3, g % 100 FROM generate_series(1, 20000) AS g;
VACUUM ANALYZE half;
SELECT gpusort_columns_add('half2'), gpusort_columns_add('half3'), gpusort_columns_add('half4');
SELECT answered(q) FROM unnest(ARRAY['SELECT v, count(*), sum(k) FROM half GROUP BY v', 'SELECT count(DISTINCT v), mode() WITHIN GROUP (ORDER BY k) FROM half', 'SELECT k, count(*) FROM half GROUP BY k', 'SELECT count(DISTINCT v) FROM half WHERE k > 3']) AS q;

-- what is left to PostgreSQL
SELECT left_alone(q) FROM unnest(ARRAY['SELECT i4 / 2, count(*) FROM t GROUP BY i4 / 2', 'SELECT i2, ok, count(*) FROM t GROUP BY ROLLUP (i2, ok)', 'SELECT DISTINCT i2 / 2 FROM t', 'SELECT DISTINCT ON (i2) i2, i4 FROM t ORDER BY i2', 'SELECT count(*) FROM random_ids WHERE u > md5(''8'')::uuid', 'SELECT DISTINCT 5 FROM t',
	'SELECT count(*) FILTER (WHERE ok OR i2 = 5) FROM t', 'SELECT count(DISTINCT i4 + 1) FROM t', 'SELECT sum(DISTINCT i4) FROM t', 'SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY i4 DESC) FROM t', 'SELECT mode() WITHIN GROUP (ORDER BY m) FROM t',
	'SELECT i2, percentile_disc(i2 / 10.0) WITHIN GROUP (ORDER BY i4) FROM t GROUP BY i2', 'SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY d - date ''2020-01-01'') FROM t',
	'SELECT string_agg(i4::text, '','') FROM t', 'SELECT i2, array_agg(i4) FROM t GROUP BY i2', 'SELECT tableoid, count(*) FROM t GROUP BY tableoid', 'SELECT rank(5) WITHIN GROUP (ORDER BY i4) FROM t', 'SELECT gpu_median(DISTINCT i4), gpu_median(i4) FROM t', 'SELECT i2, gpu_median(DISTINCT n) FROM t GROUP BY i2']) AS q;

-- odd values: the plan below runs where which of equal values comes first matters, or keys spread too wide
SELECT same(format('SELECT %s, count(*), count(DISTINCT i8), max(n) FROM odd GROUP BY %1$s', k)) FROM unnest('{i2,i4,i8,o,d,ti,ts,tz,f4,f8,n,w}'::text[]) AS k;
SELECT same(format('SELECT count(DISTINCT %s), percentile_disc(ARRAY[0, 0.5, 1]) WITHIN GROUP (ORDER BY %1$s), mode() WITHIN GROUP (ORDER BY %1$s) FROM odd', v)) FROM unnest('{i2,i4,i8,o,d,ti,ts,tz,f4,f8,n,w}'::text[]) AS v;
SELECT same(format('SELECT i2, percentile_cont(ARRAY[0, 0.5, 1]) WITHIN GROUP (ORDER BY %s) FROM odd GROUP BY i2', v)) FROM unnest('{i4,i8,f4,f8,n,w}'::text[]) AS v;
SELECT same(q) FROM unnest(ARRAY['SELECT i2, sum(i4 * 2) FROM odd GROUP BY i2', 'SELECT i2, sum(f8) FROM odd WHERE id > 30000 GROUP BY i2', 'SELECT i2, avg(f8) FROM odd WHERE id > 30000 GROUP BY i2', 'SELECT f8 FROM odd GROUP BY f8 ORDER BY f8 DESC LIMIT 3',
	'SELECT percentile_cont(1.5) WITHIN GROUP (ORDER BY i4) FROM odd', 'SELECT percentile_cont(NULL) WITHIN GROUP (ORDER BY i4) FROM odd', 'SELECT percentile_disc(''{}''::float8[]) WITHIN GROUP (ORDER BY i4) FROM odd', 'SELECT i4 FROM odd GROUP BY i4 HAVING sum(i8) > 9e18',
	'SELECT percentile_cont(''NaN'') WITHIN GROUP (ORDER BY i4) FROM odd', 'SELECT i8, w, i4, count(*) FROM odd GROUP BY i8, w, i4', 'SELECT i2 FROM odd GROUP BY i2 LIMIT -1', 'SELECT DISTINCT f8 FROM odd', 'SELECT DISTINCT f4, n FROM odd', 'SELECT DISTINCT i8, w, i4 FROM odd', 'SELECT DISTINCT f8, i2, 5 FROM odd ORDER BY i2, f8 LIMIT 9', 'SELECT i8 FROM odd GROUP BY i8 ORDER BY i8 LIMIT 5 OFFSET -1']) AS q;
-- errors of groups that are left out
SELECT same(q) FROM unnest(ARRAY['SELECT i2, sum(d - d) FROM odd GROUP BY i2 HAVING count(*) > 100', 'SELECT i2, count(*), max(d - d) FROM odd GROUP BY i2 ORDER BY count(*) DESC, i2 LIMIT 1',
	'SELECT i2, avg(extract(epoch FROM ts - ts)) FROM odd GROUP BY i2 HAVING max(i4) < 100']) AS q;
SELECT answered(q) FROM unnest(ARRAY['SELECT i2, sum(d - d) FROM t GROUP BY i2 HAVING count(*) > 2800', 'SELECT i2, count(*), max(d - d) FROM t GROUP BY i2 ORDER BY count(*) DESC, i2 LIMIT 1', 'SELECT i2, max(d - d) FROM t GROUP BY i2 ORDER BY i2 LIMIT 2']) AS q;
SELECT is(reason_of('SELECT f8, count(*) FROM odd GROUP BY f8'), 'zeros of both signs are equal', 'a key of both zeros');
SELECT is(reason_of('SELECT percentile_cont(ARRAY[0.5, 2]) WITHIN GROUP (ORDER BY i4) FROM t WHERE false IS NULL'), NULL, 'no row, no fraction');

-- rows of pages that are not held, own ones among them
BEGIN;
INSERT INTO t (id, i2, i4, n, f8) SELECT g, g % 9, g % 30, g / 100.0, g FROM generate_series(1, 500) AS g;
UPDATE t SET n = n + 1, i2 = i2 + 1 WHERE id % 500 = 0;
DELETE FROM t WHERE id = 7;
SELECT answered(q) FROM unnest(ARRAY['SELECT i2, count(*), sum(n), count(DISTINCT i4), max(f8) FROM t GROUP BY i2', 'SELECT i4, percentile_cont(0.5) WITHIN GROUP (ORDER BY n), mode() WITHIN GROUP (ORDER BY i2) FROM t GROUP BY i4',
	'SELECT i8, sum(n) FROM t GROUP BY i8 ORDER BY 2 DESC NULLS LAST, 1 LIMIT 5', 'SELECT i4 FROM t GROUP BY i4 HAVING count(*) > 890']) AS q;
ROLLBACK;
DELETE FROM t WHERE id BETWEEN 5000 AND 5100;
SELECT answered('SELECT i2, i4, count(*), sum(n), count(DISTINCT n) FROM t GROUP BY i2, i4');
INSERT INTO t (id, i2, n) VALUES (40000, 123, 5);
SELECT answered('SELECT i2, count(*), sum(n) FROM t GROUP BY i2');

-- prepared statements
SET plan_cache_mode = force_generic_plan;
PREPARE top (int, float8, float8[], bigint) AS SELECT i4, count(*) FILTER (WHERE i2 < $1), percentile_cont($2) WITHIN GROUP (ORDER BY n), percentile_disc($3) WITHIN GROUP (ORDER BY d) FROM t GROUP BY i4 HAVING count(*) > $1 ORDER BY i4 LIMIT $4;
SELECT is(plan_of(format('EXECUTE top (%s)', x), 'on'), plan_of(format('EXECUTE top (%s)', x), 'off'), 'prepared: ' || x)
	FROM unnest(ARRAY[$$5, 0.5, '{0,1}', 5$$, $$3, 0, '{NULL,0.5}', NULL$$, $$1000, NULL, NULL, 1$$, $$NULL, 0.5, '{}', 2$$, $$0, 1, '{{0,1},{0.1,0.2}}', 0$$]) AS x;
SELECT matches(plan_of($$EXPLAIN EXECUTE top (5, 0.5, '{0,1}', 5)$$, 'force'), 'GpuColumns', 'the generic plan');
RESET plan_cache_mode;

-- cursors and rescans
BEGIN;
SET LOCAL gpusort.columns = force;
DECLARE c SCROLL CURSOR FOR SELECT i4, count(*) FROM t GROUP BY i4 ORDER BY i4 LIMIT 5;
DELETE FROM t;
MOVE FORWARD ALL FROM c;
SELECT is((SELECT count(*) FROM (SELECT i4 FROM t GROUP BY i4) AS x), 0::bigint, 'nothing is left');
ROLLBACK;

-- EXPLAIN
SELECT matches(plan_of('EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) SELECT i8, ok, count(*) FROM t WHERE i4 > 0 GROUP BY i8, ok HAVING count(*) > 2 ORDER BY 3 DESC LIMIT 10 OFFSET 5', 'force'),
	'Column Filter: \(i4 > 0\)\n +Group Key: i8, ok\n +Group Filter: \(count\(\*\) > 2\)\n +Top: 15\n.* Groups: 15\n', 'EXPLAIN of groups');

SELECT * FROM finish();
DROP SCHEMA columns_groups CASCADE;
