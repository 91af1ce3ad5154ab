-- Window functions, DISTINCT and GROUP BY in parallel workers, each of which does a share of the groups.  The tables are no temporary ones, which workers
-- cannot read, and queries are asked by RETURN QUERY, which runs them in parallel.
\ir setup.psql
\if :{?way}
\else
\set way scan
\endif
SELECT no_plan();
SET gpusort.parallel_windows = :way;
RESET max_parallel_workers_per_gather;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0.1;
SET min_parallel_table_scan_size = 0;
SET jit = off;
-- sorting in workers would be cheaper than reading these few rows in each of them
SET seq_page_cost = 0;
SET cpu_tuple_cost = 0.0001;
DROP SCHEMA IF EXISTS gpusort_shares_:way CASCADE;
CREATE SCHEMA gpusort_shares_:way;
SET search_path = gpusort_shares_:way, public;

-- The rows of a query as texts.
CREATE FUNCTION pg_temp.rows_of(query text) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY EXECUTE format('SELECT q::text FROM (%s) AS q', query);
END $$;

-- One test: gpusort's rows, by workers with and without the leader, in memory and not, are those of PostgreSQL alone.
CREATE FUNCTION pg_temp.same_rows(query text, label text, workers integer[] DEFAULT '{1,2,4}') RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	leader text;
	n integer;
	ours text[];
	theirs text[];
	wrong text := '';
BEGIN
	PERFORM set_config('gpusort.enabled', 'off', true), set_config('max_parallel_workers_per_gather', '0', true);
	theirs := ARRAY(SELECT r FROM pg_temp.rows_of(query) AS r ORDER BY r COLLATE "C");
	PERFORM set_config('gpusort.enabled', 'on', true);
	FOREACH n IN ARRAY workers LOOP
		FOREACH leader IN ARRAY ARRAY['on', 'off'] LOOP
			PERFORM set_config('max_parallel_workers_per_gather', n::text, true), set_config('parallel_leader_participation', leader, true),
				set_config('gpusort.work_mem', CASE WHEN (n = 2) = (leader = 'on') THEN '1MB' ELSE '64MB' END, true);
			ours := ARRAY(SELECT r FROM pg_temp.rows_of(query) AS r ORDER BY r COLLATE "C");
			IF ours IS DISTINCT FROM theirs THEN
				wrong := wrong || format(' %s workers, leader %s: %s of %s rows, first at %s;', n, leader, cardinality(ours), cardinality(theirs),
					(SELECT min(i) FROM generate_series(1, greatest(cardinality(ours), cardinality(theirs))) i WHERE ours[i] IS DISTINCT FROM theirs[i]));
			END IF;
		END LOOP;
	END LOOP;
	RETURN CASE WHEN wrong = '' THEN ok(true, label) ELSE ok(false, label) || E'\n' || diag(wrong) END;
END $$;

-- One test: participants have shares by a key, or none.
CREATE FUNCTION pg_temp.shares(query text, key text, label text) RETURNS text LANGUAGE sql SET max_parallel_workers_per_gather = 2 AS $$
	SELECT matches(pg_temp.plan_of(query), 'Gather.*Parallel Custom Scan \(GpuSort\)\s+Share Key: ' || key || '\n', label || ': by shares')
$$;
CREATE FUNCTION pg_temp.no_shares(query text, label text) RETURNS text LANGUAGE sql SET max_parallel_workers_per_gather = 2 AS $$
	SELECT doesnt_match(pg_temp.plan_of(query), 'Share Key', label || ': no shares')
$$;

-- Both.
CREATE FUNCTION pg_temp.check(query text, key text, label text) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
	RETURN NEXT pg_temp.shares(query, key, label);
	RETURN NEXT pg_temp.same_rows(query, label);
END $$;

CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
CREATE TYPE pair AS (a integer, b text);
-- equal values that look different: -0, NaN, numerics of other scales, padded characters, intervals of days and hours
CREATE TABLE v (id integer, dropped text, i2 int2, i4 int4, i8 int8, o oid, c "char", f4 float4, f8 float8, d date, tm time, ts timestamp, tz timestamptz,
	n numeric, t text, tc text COLLATE "C", bp char(20), nm name, x bytea, u uuid, iv interval, m mood, b boolean, a int4[], an numeric[], j jsonb, p pair,
	mo money, r int4range, late int4);
INSERT INTO v SELECT i, 'x', h % 200, CASE WHEN i % 7 <> 0 THEN h % 700 - 350 END, CASE WHEN i % 10 <> 0 THEN hashint8extended(h % 500, 1) END, h % 300,
	chr(65 + h % 60)::"char",
	CASE i % 5 WHEN 0 THEN 'NaN' WHEN 1 THEN '-0' WHEN 2 THEN '0' ELSE (h % 100)::float4 END,
	CASE WHEN i % 30 = 0 THEN '-0' WHEN i % 3 <> 0 THEN h % 200 / 7.0 END, '2020-01-01'::date + h % 300, '00:00'::time + h % 400 * interval '1 minute',
	CASE i % 50 WHEN 0 THEN 'infinity' WHEN 1 THEN NULL ELSE '2020-01-01'::timestamp + h % 300 * interval '1 minute' END,
	'2020-01-01'::timestamptz + h % 300 * interval '1 day',
	CASE i % 40 WHEN 0 THEN 'NaN' WHEN 1 THEN NULL ELSE round((h % 300)::numeric, i % 4) END,
	CASE WHEN i % 13 <> 0 THEN md5((h % 300)::text) END, md5((h % 300)::text), (h % 300)::text || repeat(' ', i % 3), 'n' || h % 300,
	decode(repeat('00', h % 12) || md5((h % 40)::text), 'hex'), md5((h % 300)::text)::uuid,
	CASE WHEN i % 2 = 0 THEN make_interval(days => h % 200) ELSE make_interval(hours => 24 * (h % 200)) END, (enum_range(NULL::mood))[1 + h % 3],
	CASE WHEN i % 4 > 0 THEN h % 2 = 0 END, CASE WHEN i % 9 > 0 THEN ARRAY[h % 300, 5] END, ARRAY[round((h % 300)::numeric, i % 3)],
	jsonb_build_object('k', h % 300), ROW(h % 300, 'x')::pair, (h % 300)::money, int4range(h % 300, 1000), i % 400
	FROM (SELECT i, (hashint4(i) & 65535)::int4 AS h FROM generate_series(1, 8000) AS i) AS s;
ALTER TABLE v DROP dropped, ADD added int4 DEFAULT 7, ADD empty int4;
INSERT INTO v (id, i4, added) SELECT i, i, i % 100 FROM generate_series(8001, 8100) AS i;
CREATE TABLE skewed AS SELECT i AS id, CASE WHEN i % 5 = 0 THEN i ELSE 1 END AS g, hashint4(i) AS k FROM generate_series(1, 5000) AS i;
CREATE TABLE parts (g integer, k integer) PARTITION BY HASH (k);
CREATE TABLE parts_0 PARTITION OF parts FOR VALUES WITH (modulus 2, remainder 0);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES WITH (modulus 2, remainder 1);
INSERT INTO parts SELECT i % 300, i FROM generate_series(1, 4000) AS i;
VACUUM ANALYZE v, skewed, parts;

-- every type, with values that are equal and look different, and NULLs
SELECT pg_temp.check(format('SELECT id, %1$s, row_number() OVER (PARTITION BY %1$s ORDER BY id), sum(id) OVER (PARTITION BY %1$s ORDER BY id) FROM v', key), key, key)
FROM unnest(ARRAY['i2', 'i4', 'i8', 'o', 'c', 'f4', 'f8', 'd', 'tm', 'ts', 'tz', 'n', 't', 'tc', 'bp', 'nm', 'x', 'u', 'iv', 'a', 'an', 'j', 'r', 'late']) AS key;
-- few values, and one
SELECT pg_temp.same_rows(format('SELECT id, row_number() OVER (PARTITION BY %1$s ORDER BY id) FROM v', key), key) FROM unnest(ARRAY['b', 'm', 'added', 'empty']) AS key;
-- nothing to hash by
SELECT pg_temp.no_shares('SELECT id, row_number() OVER (PARTITION BY mo ORDER BY id) FROM v', 'money');
SELECT pg_temp.same_rows('SELECT id, row_number() OVER (PARTITION BY mo ORDER BY id) FROM v', 'money');
-- other expressions, several keys, of which one suffices or not, as many groups as rows, all columns
SELECT pg_temp.check('SELECT id, rank() OVER (PARTITION BY i4 % 321 ORDER BY i8, id) FROM v', '\(\(i4 % 321\)\)', 'an expression');
SELECT pg_temp.check('SELECT id, rank() OVER (PARTITION BY b, i2 ORDER BY i8, id) FROM v', 'i2', 'two keys, one of few values');
SELECT pg_temp.check('SELECT id, rank() OVER (PARTITION BY c, m ORDER BY i8, id) FROM v', 'c, m', 'two keys of few values');
SELECT pg_temp.check('SELECT id, rank() OVER (PARTITION BY mo, i2 ORDER BY i8, id) FROM v', 'i2', 'two keys, of which one cannot be hashed');
SELECT pg_temp.check('SELECT id, rank() OVER (PARTITION BY id ORDER BY i8) FROM v', 'id', 'as many groups as rows');
SELECT pg_temp.check('SELECT *, rank() OVER (PARTITION BY n ORDER BY i8, id) FROM v', 'n', 'all columns');
SELECT pg_temp.same_rows('SELECT v, rank() OVER (PARTITION BY n ORDER BY i8, id) FROM v', 'whole rows');
SELECT pg_temp.same_rows('SELECT id, sum(k) OVER (PARTITION BY g ORDER BY id) FROM skewed', 'most rows in one group');
SELECT pg_temp.check('SELECT id, rank() OVER (PARTITION BY i4 ORDER BY repeat(t, 2000), id) FROM v WHERE id < 500', 'i4', 'rows larger than what is handed on at once');
CREATE COLLATION nocase (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
SELECT pg_temp.check('SELECT id, w, count(*) OVER (PARTITION BY w COLLATE nocase) FROM
	(SELECT id, CASE WHEN id % 2 = 0 THEN upper(tc) ELSE tc END COLLATE nocase AS w FROM v) AS s', '.*nocase.*', 'a nondeterministic collation');
SELECT pg_temp.same_rows('SELECT id, count(*) OVER (PARTITION BY w) FROM
	(SELECT id, CASE WHEN id % 2 = 0 THEN upper(tc) ELSE tc END::name COLLATE nocase AS w FROM v) AS s', 'names that are equal but not the same');

-- frames of every mode
SELECT pg_temp.check(format('SELECT id, sum(id) OVER w, first_value(id) OVER w, last_value(id) OVER w, array_agg(id) OVER w FROM v WINDOW w AS (PARTITION BY i2 ORDER BY id %s)', frame),
	'i2', frame)
FROM unnest(ARRAY['ROWS 3 PRECEDING', 'ROWS BETWEEN 2 FOLLOWING AND UNBOUNDED FOLLOWING', 'RANGE BETWEEN 200 PRECEDING AND 300 FOLLOWING',
	'GROUPS BETWEEN 1 PRECEDING AND 1 FOLLOWING EXCLUDE TIES', 'ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING EXCLUDE CURRENT ROW']) AS frame;
SELECT pg_temp.check('SELECT id, lag(id) OVER w, lead(i8, 2, 0::int8) OVER w, ntile(3) OVER w, cume_dist() OVER w, percent_rank() OVER w, nth_value(t, 2) OVER w,
	count(*) FILTER (WHERE b) OVER w FROM v WINDOW w AS (PARTITION BY i2 ORDER BY id DESC)', 'i2', 'all functions');

-- several windows, and windows over windows
SELECT pg_temp.check('SELECT id, rank() OVER (PARTITION BY i2 ORDER BY i8, id), sum(id) OVER (PARTITION BY i2, b ORDER BY id), count(*) OVER (PARTITION BY i2 ORDER BY d, id DESC) FROM v',
	'i2', 'several windows');
SELECT pg_temp.no_shares('SELECT id, rank() OVER (PARTITION BY i2 ORDER BY id), rank() OVER (PARTITION BY i4 ORDER BY id) FROM v', 'windows that have no key in common');
SELECT pg_temp.same_rows('SELECT id, rank() OVER (PARTITION BY i2 ORDER BY id), rank() OVER (PARTITION BY i4 ORDER BY id) FROM v', 'windows that have no key in common');
SELECT pg_temp.no_shares('SELECT id, rank() OVER (ORDER BY id) FROM v', 'a window of all rows');
SELECT pg_temp.same_rows('SELECT i2, n, sum(n) OVER (PARTITION BY i2 ORDER BY id) FROM (SELECT id, i2, row_number() OVER (PARTITION BY i2 ORDER BY id) AS n FROM v) AS s', 'a window over a window');
SELECT pg_temp.check('SELECT n % 10, sum(id) FROM (SELECT id, row_number() OVER (PARTITION BY i2 ORDER BY id) AS n FROM v) AS s GROUP BY 1', 'v.i2', 'groups over a window');

-- filters and joins above, in the participants
SELECT pg_temp.check('SELECT * FROM (SELECT id, i4, row_number() OVER (PARTITION BY i4 ORDER BY i8, id) AS n FROM v) AS s WHERE n <= 3', 'v.i4', 'the first rows of each group');
SELECT pg_temp.check('SELECT * FROM (SELECT id, i4, lag(i8) OVER (PARTITION BY i4 ORDER BY i8, id) AS before FROM v) AS s WHERE before > 0', 'v.i4', 'a filter on a window');
SELECT pg_temp.check('SELECT s.id, s.n, v.t FROM (SELECT id, row_number() OVER (PARTITION BY i4 ORDER BY i8, id) AS n FROM v) AS s JOIN v ON v.id = s.n', '.*i4', 'a join with a window');
SELECT pg_temp.check('SELECT DISTINCT i4, count(*) OVER (PARTITION BY i4) FROM v', 'i4', 'DISTINCT over a window');

-- joins, unions, partitions and filters below
SELECT pg_temp.check('SELECT a.id, rank() OVER (PARTITION BY a.i4 ORDER BY b.i8, a.id, b.id), count(*) OVER (PARTITION BY a.i4), sum(b.id) OVER (PARTITION BY a.i4 ORDER BY a.id, b.id)
	FROM v AS a JOIN v AS b ON a.id = b.late', 'a.i4', 'a join');
SELECT pg_temp.check('SELECT id, rank() OVER (PARTITION BY i4 ORDER BY id) FROM v WHERE id > 500', 'i4', 'a filter');
SELECT pg_temp.check('SELECT k, rank() OVER (PARTITION BY g ORDER BY k) FROM parts', 'parts.g', 'partitions');
SELECT pg_temp.same_rows('SELECT id, rank() OVER (PARTITION BY i4 ORDER BY id, k) FROM (SELECT id, i4, 1 AS k FROM v UNION ALL SELECT id, g, 2 FROM skewed) AS s', 'UNION ALL');


-- what is in shares stays so: windows, DISTINCT and groups by the same keys above
SELECT pg_temp.same_rows('SELECT i4, s, count(*), sum(id) FROM (SELECT i4, id, sum(b) OVER (PARTITION BY i4 ORDER BY id) AS s FROM
	(SELECT i4, id, (id - lag(id, 1, 0) OVER (PARTITION BY i4 ORDER BY id) > 25)::integer AS b FROM v) AS m) AS n GROUP BY i4, s', 'sessions');
SELECT set_config('max_parallel_workers_per_gather', '2', false);
SELECT matches(pg_temp.plan_of('SELECT i4, s, count(DISTINCT id) FROM (SELECT i4, id, sum(b) OVER (PARTITION BY i4 ORDER BY id) AS s FROM
	(SELECT i4, id, (id - lag(id, 1, 0) OVER (PARTITION BY i4 ORDER BY id) > 25)::integer AS b FROM v) AS m) AS n GROUP BY i4, s'),
	'^Custom Scan \(GpuUnpack\)\s+->  Gather.*Aggregate.*WindowAgg.*WindowAgg.*Share Key: v.i4', 'sessions: all in the workers');
RESET max_parallel_workers_per_gather;
SELECT pg_temp.same_rows(query, query) FROM unnest(ARRAY[
	'SELECT DISTINCT i4, r FROM (SELECT i4, rank() OVER (PARTITION BY i4 ORDER BY i8) AS r FROM v) AS s',
	'SELECT DISTINCT ON (i4) i4, r FROM (SELECT i4, row_number() OVER (PARTITION BY i4 ORDER BY i8, id) AS r FROM v) AS s ORDER BY i4, r DESC',
	'SELECT i4, min(t), max(t), count(DISTINCT g) FROM (SELECT i4, t, t - row_number() OVER (PARTITION BY i4 ORDER BY t) AS g FROM (SELECT DISTINCT i4, id % 50 AS t FROM v) AS s) AS u GROUP BY i4',
	'SELECT a, sum(c) OVER (PARTITION BY a ORDER BY b) FROM (SELECT i4 AS a, i2 AS b, count(DISTINCT id % 5) AS c FROM v GROUP BY i4, i2) AS s',
	'SELECT b, sum(c) OVER (PARTITION BY b ORDER BY a, c) FROM (SELECT i4 AS a, i2 AS b, count(DISTINCT id % 5) AS c FROM v GROUP BY i4, i2) AS s',
	'SELECT n, string_agg(id::text, '','' ORDER BY id) FROM (SELECT id, round(n) AS n, row_number() OVER (PARTITION BY n ORDER BY id) AS r FROM v) AS s WHERE r < 9 GROUP BY n + 0, n',
	'SELECT min(id), sum(r), count(DISTINCT r) FROM (SELECT id, n AS k, row_number() OVER (PARTITION BY n ORDER BY id) AS r FROM v) AS s GROUP BY k HAVING sum(r) > 20',
	'SELECT i4 + 1, sum(r) FROM (SELECT id, i4, row_number() OVER (PARTITION BY i4 ORDER BY id) AS r FROM v) AS s GROUP BY i4 + 1'])
AS query;

-- DISTINCT, and DISTINCT ON, of whose groups a GpuTopN keeps the first rows where that costs less
SELECT pg_temp.same_rows('SELECT DISTINCT ON (i4) i4, id, t FROM v ORDER BY i4, i8, id', 'DISTINCT ON');
SELECT pg_temp.same_rows('SELECT DISTINCT ON (i2, b) * FROM v ORDER BY i2, b, id DESC', 'DISTINCT ON two keys, all columns');
-- an expression that each participant computes for all rows is too dear
SELECT pg_temp.same_rows('SELECT DISTINCT ON (k) k, id FROM (SELECT id, i4 % 300 AS k FROM v) AS s ORDER BY k, id', 'DISTINCT ON an expression');
SELECT CASE WHEN :'way' = 'exchange' THEN pg_temp.shares('SELECT DISTINCT ON (k) k, id FROM (SELECT id, i4 % 300 AS k FROM v) AS s ORDER BY k, id', '.*300.*', 'DISTINCT ON an expression') END;
SET enable_hashagg = off;
SELECT pg_temp.same_rows(format('SELECT DISTINCT %1$s FROM v', columns), 'DISTINCT ' || columns)
FROM unnest(ARRAY['i4', 'i4, i2', 'b', 'm, b', 'f8 = 0, i2', 'iv > interval ''1 day'', i8', 'mo']) AS columns;
RESET enable_hashagg;

-- groups, of aggregates that are not split
SELECT pg_temp.check(format('SELECT %1$s IS NULL AS nothing, count(*), count(DISTINCT i2), string_agg(id::text, '','' ORDER BY i8, id), percentile_disc(0.4) WITHIN GROUP (ORDER BY id) FROM v GROUP BY %1$s', key), key, 'groups by ' || key)
FROM unnest(ARRAY['i4', 'n', 't', 'bp', 'an', 'i8']) AS key;
SELECT pg_temp.check('SELECT i4, i2, count(DISTINCT id % 7) FROM v GROUP BY i4, i2', 'i[42]', 'groups by two keys');
SELECT pg_temp.check('SELECT i4, count(DISTINCT id % 7) FROM v GROUP BY i4 HAVING count(DISTINCT id % 7) > 3', 'i4', 'HAVING');
SELECT pg_temp.check('SELECT i4 FROM v GROUP BY i4 HAVING count(DISTINCT id % 7) > 3', 'i4', 'HAVING alone');
SELECT pg_temp.same_rows('SELECT i4, i2, count(DISTINCT id % 7) FROM v GROUP BY GROUPING SETS ((i4, i2), (i4))', 'grouping sets');
SELECT pg_temp.no_shares('SELECT count(DISTINCT id % 7) FROM v', 'one group');
SELECT pg_temp.same_rows('SELECT i4, sum(count(DISTINCT i2)) OVER (PARTITION BY i4 % 10 ORDER BY i4) FROM v GROUP BY i4', 'a window over groups');

-- the order of the result
CREATE FUNCTION pg_temp.in_order(query text) RETURNS text[] LANGUAGE sql AS $$ SELECT ARRAY(SELECT pg_temp.rows_of(query)) $$;
CREATE FUNCTION pg_temp.same_order(query text, label text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	ours text[] := pg_temp.in_order(query);
BEGIN
	PERFORM set_config('gpusort.enabled', 'off', true);
	RETURN is(md5(ours::text), md5(pg_temp.in_order(query)::text), label);
END $$;
SELECT pg_temp.shares('SELECT id, rank() OVER (PARTITION BY i4 ORDER BY i8, id) FROM v ORDER BY id', 'i4', 'ORDER BY');
SELECT pg_temp.same_order('SELECT id, rank() OVER (PARTITION BY i4 ORDER BY i8, id) FROM v ORDER BY id', 'ORDER BY another column');
SELECT pg_temp.same_order('SELECT i4, id, rank() OVER (PARTITION BY i4 ORDER BY i8, id) AS n FROM v ORDER BY i4, n', 'ORDER BY the window');
SELECT pg_temp.same_order('SELECT i4, id, rank() OVER (PARTITION BY i4 ORDER BY i8, id) AS n FROM v ORDER BY i4, n, id LIMIT 50', 'LIMIT');

-- not if participants might read other rows
CREATE FUNCTION volatile_safe(integer) RETURNS integer LANGUAGE plpgsql VOLATILE PARALLEL SAFE AS 'BEGIN RETURN $1; END';
CREATE FUNCTION restricted(integer) RETURNS integer LANGUAGE plpgsql IMMUTABLE PARALLEL RESTRICTED AS 'BEGIN RETURN $1; END';
CREATE FUNCTION unsafe(integer) RETURNS integer LANGUAGE plpgsql IMMUTABLE PARALLEL UNSAFE AS 'BEGIN RETURN $1; END';
SELECT pg_temp.no_shares(query, query) FROM unnest(ARRAY[
	'SELECT id, rank() OVER (PARTITION BY volatile_safe(i4) ORDER BY id) FROM v',
	'SELECT id, rank() OVER (PARTITION BY i4 ORDER BY id) FROM v WHERE volatile_safe(id) > 5',
	'SELECT id, rank() OVER (PARTITION BY i4 ORDER BY id) FROM v WHERE id IN (SELECT volatile_safe(id) FROM v)',
	'SELECT id, rank() OVER (PARTITION BY restricted(i4) ORDER BY id) FROM v',
	'SELECT id, rank() OVER (PARTITION BY unsafe(i4) ORDER BY id) FROM v',
	'SELECT id, rank() OVER (PARTITION BY i4 ORDER BY id), restricted(id) FROM v',
	'SELECT id, sum(restricted(id)) OVER (PARTITION BY i4 ORDER BY id) FROM v',
	'SELECT id, rank() OVER (PARTITION BY i4 ORDER BY id) FROM v TABLESAMPLE BERNOULLI (50)',
	'SELECT id, rank() OVER (PARTITION BY i4 ORDER BY id) FROM (SELECT * FROM v LIMIT 5000) AS s',
	'SELECT id, rank() OVER (PARTITION BY n ORDER BY id) FROM (SELECT id, row_number() OVER (ORDER BY i8) AS n FROM v) AS s',
	'WITH s AS MATERIALIZED (SELECT * FROM v) SELECT id, rank() OVER (PARTITION BY i4 ORDER BY id) FROM s']) AS query;
SELECT is((SELECT count(*)::integer FROM (SELECT rank() OVER (PARTITION BY i4 ORDER BY id) FROM (SELECT * FROM v FOR UPDATE) AS s) AS t), 8100, 'rows locked below');
SET gpusort.parallel_windows = off;
SELECT pg_temp.no_shares('SELECT id, rank() OVER (PARTITION BY i4 ORDER BY id) FROM v', 'gpusort.parallel_windows off');
SET gpusort.parallel_windows = :way;

-- a cached plan whose sorts were switched off
SET plan_cache_mode = force_generic_plan;
PREPARE windows AS SELECT sum(n) FROM (SELECT row_number() OVER (PARTITION BY i4 ORDER BY id) AS n FROM v) AS s;
CREATE TABLE sums_on AS EXECUTE windows;
SET gpusort.enabled = off;
CREATE TABLE sums_off AS EXECUTE windows;
SET gpusort.enabled = on;
SELECT is((SELECT sum FROM sums_on), (SELECT sum FROM sums_off), 'a cached plan with gpusort off');

SELECT * FROM finish();
