-- Strings of which a sort holds no more than the first bytes.
\ir setup.psql
SELECT plan(7 * 7 + 6 + 6 * 3 + 4 + 4 + 4 + 4 * 2 + 3);

-- Seven tests of a table's order by k, in memory that holds all and in memory that does not.
CREATE FUNCTION pg_temp.check_long(source text, label text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	query text := format('SELECT id FROM %s ORDER BY k', source);
	memory text;
BEGIN
	RETURN NEXT pg_temp.sorted_as(query, 'k[^:]*: leading bytes', label);
	FOREACH memory IN ARRAY ARRAY['256MB', '1MB'] LOOP
		PERFORM set_config('gpusort.work_mem', memory, false);
		RETURN NEXT pg_temp.same_ids(query, query || ', ctid', label || ' in ' || memory);
		query := format('SELECT id FROM %s ORDER BY k DESC, id DESC', source);
		RETURN NEXT pg_temp.same_ids(query, query, label || ' descending in ' || memory);
		query := format('SELECT id FROM %s ORDER BY id %% 3, k NULLS FIRST', source);
		RETURN NEXT pg_temp.same_ids(query, query || ', ctid', label || ' behind another key in ' || memory);
		query := format('SELECT id FROM %s ORDER BY k', source);
	END LOOP;
	PERFORM set_config('gpusort.work_mem', '256MB', false);
END $$;

-- all lengths around those at which something changes, of strings that are the same up to there
CREATE TEMP TABLE lengths AS SELECT i AS id, CASE WHEN i % 50 > 0 THEN repeat('a', n + i % 3 - 1) || repeat(chr(97 + i % 5), i % 4) END COLLATE "C" AS k
	FROM unnest(ARRAY[0, 60, 64, 126, 252, 256, 300, 1024, 1030]) AS n, generate_series(1, 400) AS i ORDER BY md5(n || ' ' || i);
-- different at once, late, and only behind what is looked at at most
CREATE TEMP TABLE early AS SELECT i AS id, repeat(md5((i % 9000)::text), 9) COLLATE "C" AS k FROM generate_series(1, 10000) AS i;
CREATE TEMP TABLE late AS SELECT i AS id, repeat('/path', 40) || i * 7919 % 9000 || repeat('z', 100) COLLATE "C" AS k FROM generate_series(1, 10000) AS i;
CREATE TEMP TABLE never AS SELECT i AS id, (repeat('/path', 240) || i * 7919 % 2000) COLLATE "C" AS k FROM generate_series(1, 3000) AS i;
-- a few long ones among many that are short, after some thousand rows
CREATE TEMP TABLE mixed AS SELECT i AS id, CASE WHEN i % 800 = 799 THEN repeat(md5((i % 9)::text), 20) ELSE left(md5((i % 300)::text), i % 30) END COLLATE "C" AS k
	FROM generate_series(1, 40000) AS i;
-- out of line, not compressed; zero bytes
CREATE TEMP TABLE external (id integer, k bytea);
ALTER TABLE external ALTER k SET STORAGE EXTERNAL;
INSERT INTO external SELECT i, decode(repeat('00', 50 + i % 40) || md5((i % 1000)::text) || repeat('ff', 3000), 'hex') FROM generate_series(1, 2500) AS i;
-- compressed, in line and out of line
CREATE TEMP TABLE compressed AS SELECT i AS id, (SELECT string_agg(md5((i % 700 + j)::text), '') FROM generate_series(1, 3 + i % 2 * 200) AS j) || repeat('x', 4000) COLLATE "C" AS k
	FROM generate_series(1, 2500) AS i;
ANALYZE lengths, early, late, never, mixed, external, compressed;
SELECT pg_temp.check_long('lengths', 'strings of all lengths');
SELECT pg_temp.check_long('early', 'strings that soon differ');
SELECT pg_temp.check_long('late', 'paths');
SELECT pg_temp.check_long('never', 'long paths');
SELECT pg_temp.check_long('mixed', 'few long strings');
SELECT pg_temp.check_long('external', 'external bytea');
SELECT pg_temp.check_long('compressed', 'compressed text');

-- characters that are padded with blanks
CREATE TEMP TABLE padded AS SELECT i AS id, (repeat('a', 40 + i % 30) || repeat(' ', i % 7) || CASE WHEN i % 4 > 0 THEN 'b' || i % 900 ELSE '' END)::character(400) COLLATE "C" AS k
	FROM generate_series(1, 5000) AS i;
SELECT pg_temp.same_order('padded', 'k', 'character(400)');

-- two long keys, and others before, between and behind them
CREATE TEMP TABLE pairs AS SELECT i AS id, i % 4 AS n, repeat(md5((i % 60)::text), 10) COLLATE "C" AS a, repeat(md5((i % 1700)::text), CASE WHEN i % 5 > 0 THEN 10 ELSE 1 END) COLLATE "C" AS b
	FROM generate_series(1, 9000) AS i;
ANALYZE pairs;
CREATE FUNCTION pg_temp.check_pairs(keys text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	query text := format('SELECT id FROM pairs ORDER BY %s', keys);
	memory text;
BEGIN
	RETURN NEXT pg_temp.sorted_as(query, '(leading bytes|compared)', keys);
	FOREACH memory IN ARRAY ARRAY['256MB', '1MB'] LOOP
		PERFORM set_config('gpusort.work_mem', memory, false);
		RETURN NEXT pg_temp.same_ids(query, query || ', ctid', keys || ' in ' || memory);
	END LOOP;
	PERFORM set_config('gpusort.work_mem', '256MB', false);
END $$;
SELECT pg_temp.check_pairs('a, b');
SELECT pg_temp.check_pairs('b DESC, a');
SELECT pg_temp.check_pairs('n, a DESC, n + 1, b');
SELECT pg_temp.check_pairs('a, ARRAY[n], b DESC');
SELECT pg_temp.check_pairs('n, id / 3, b, a');
SELECT pg_temp.check_pairs('a, n, b');
-- behind keys that leave few rows tied long ones are not looked at
SELECT pg_temp.sorted_as('SELECT id FROM pairs ORDER BY id DESC, b', 'b: compared', 'behind a unique key');
SELECT pg_temp.sorted_as('SELECT id FROM pairs ORDER BY n, b', 'b: leading bytes', 'behind one of few values');
SELECT pg_temp.sorted_as('SELECT id FROM early ORDER BY k, repeat(k, 3)', 'k: leading bytes, .*: compared', 'behind a long one');
SELECT pg_temp.sorted_as('SELECT id FROM pairs ORDER BY a, b', 'a: leading bytes, b: leading bytes', 'behind a long one of few values');

-- rows whose keys differ are not compared; those that are checked all the same are in order
SELECT matches(pg_temp.plan_of('SELECT * FROM early WHERE id <= 9000 ORDER BY k', 'ANALYZE, COSTS OFF, TIMING OFF'), 'Key Forms: k[^\n]*\n(?!\s+Rows Compared)', 'nothing is compared');
SELECT matches(pg_temp.plan_of('SELECT * FROM early ORDER BY k', 'ANALYZE, COSTS OFF, TIMING OFF'), 'Rows Compared: 1000 ', 'those with the same first bytes are compared');
SELECT matches(pg_temp.plan_of('SELECT * FROM late ORDER BY k', 'ANALYZE, COSTS OFF, TIMING OFF'), 'Rows Compared: 1000 ', 'of paths so much is taken as tells them apart');
SELECT matches(pg_temp.plan_of('SELECT * FROM never ORDER BY k', 'ANALYZE, COSTS OFF, TIMING OFF'), 'Tied Rows: 3000', 'but not a kilobyte and more');
SET gpusort.verify = 'full';
SELECT pg_temp.same_ids('SELECT id FROM early ORDER BY k', 'SELECT id FROM early ORDER BY k, ctid', 'checked whole');
SET gpusort.verify = 'sample';
SELECT pg_temp.same_ids('SELECT id FROM pairs ORDER BY a, b', 'SELECT id FROM pairs ORDER BY a, b, ctid', 'a sample is checked');
SET gpusort.verify = 'off';
-- long strings out of line are not kept: as large a table as a hundred times the memory, in memory
SET gpusort.work_mem = '1MB';
SELECT matches(pg_temp.plan_of('SELECT * FROM external ORDER BY k', 'ANALYZE, COSTS OFF, TIMING OFF'), 'Memory: \d+kB', 'pointers and the first bytes fit');
-- nor are those that are no keys
CREATE FUNCTION pg_temp.memory_of(query text, enabled boolean) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
	plan text;
BEGIN
	PERFORM set_config('gpusort.enabled', enabled::text, false);
	plan := pg_temp.plan_of(query, 'ANALYZE, COSTS OFF, TIMING OFF');
	PERFORM set_config('gpusort.enabled', 'on', false);
	RETURN substring(plan FROM 'Memory: (\d+)kB');
END $$;
SET work_mem = '64MB';
SELECT cmp_ok(pg_temp.memory_of('SELECT * FROM external ORDER BY id DESC', true), '<=', pg_temp.memory_of('SELECT * FROM external ORDER BY id DESC', false),
	'values out of line take no more memory than in PostgreSQL''s sort');

-- Long strings out of line behind another key that leaves a few rows tied: each is fetched about once, and not more often than by PostgreSQL's
-- sort, which does so for every comparison.
CREATE TEMP TABLE fetched (id integer, n integer, k text COLLATE "C");
ALTER TABLE fetched ALTER k SET STORAGE EXTERNAL;
INSERT INTO fetched SELECT i, i * 7919 % 1201, repeat(chr(97 + i % 26), 2500 + i % 100) || i FROM generate_series(1, 1200) AS i;
ANALYZE fetched;
CREATE FUNCTION pg_temp.fetches_of(query text, enabled boolean) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	toast_index oid := (SELECT indexrelid FROM pg_class JOIN pg_index ON indrelid = reltoastrelid WHERE oid = 'fetched'::regclass);
	before bigint := pg_stat_get_xact_numscans(toast_index);
BEGIN
	PERFORM pg_temp.ids_of(query, enabled);
	RETURN pg_stat_get_xact_numscans(toast_index) - before;
END $$;
CREATE FUNCTION pg_temp.check_fetches(keys text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	query text := 'SELECT id FROM fetched ORDER BY ' || keys;
BEGIN
	RETURN NEXT pg_temp.same_ids(query, query || ', ctid', 'fetched: ' || keys);
	RETURN NEXT cmp_ok(pg_temp.fetches_of(query, true), '<=', least(pg_temp.fetches_of(query, false), 1500), 'each value is fetched about once: ' || keys);
END $$;
SET gpusort.work_mem = '256MB';
SELECT pg_temp.check_fetches(keys) FROM unnest(ARRAY['n % 600, k DESC', 'n % 300, k', 'n % 600, k COLLATE "en-x-icu" DESC', 'n % 600, id > 600, k']) AS keys;

-- behind floats of which equal ones have other bits
CREATE TEMP TABLE signed AS SELECT i AS id, CASE i % 4 WHEN 0 THEN '-0' WHEN 1 THEN '0' WHEN 2 THEN 'NaN' ELSE -'NaN'::float8 END AS f,
	(CASE i % 4 WHEN 0 THEN '-0' WHEN 1 THEN '0' WHEN 2 THEN 'NaN' ELSE -'NaN'::float4 END)::float4 AS g, nullif(i % 3, 0) AS k,
	repeat(md5((i % 50)::text), 1 + i % 40) COLLATE "C" AS t FROM generate_series(1, 300) AS i;
CREATE FUNCTION pg_temp.ids(keys text, enabled text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	ids text;
BEGIN
	PERFORM set_config('gpusort.enabled', enabled, true);
	EXECUTE format('SELECT string_agg(id::text, '','') FROM (SELECT id FROM signed ORDER BY %s OFFSET 0) AS s', keys) INTO ids;
	PERFORM set_config('gpusort.enabled', 'on', true);
	RETURN ids;
END $$;
SELECT is(pg_temp.ids(keys, 'on'), pg_temp.ids(keys, 'off'), 'signed zeros and NaNs: ' || keys) FROM unnest(ARRAY['f, k, t, id', 'g, k, t, id', 'k, f DESC, t, id']) AS keys;

SELECT * FROM finish();
