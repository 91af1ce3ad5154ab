-- Several keys, directions, and inputs of special shape.
\ir setup.psql
SELECT plan(8 + 5 * 6 + 2 + 6);

CREATE TEMP TABLE s (id serial, b boolean, i2 smallint, i8 bigint, f real, n numeric, t text COLLATE "C", u uuid, iv interval, x bytea);
INSERT INTO s (b, i2, i8, f, n, t, u, iv, x)
	SELECT i % 3 = 0, i % 5, CASE WHEN i % 11 = 0 THEN NULL ELSE i % 7 END, CASE i % 4 WHEN 0 THEN 'NaN' WHEN 1 THEN '-0' ELSE (i % 2)::real END,
		CASE WHEN i % 13 = 0 THEN NULL ELSE (i % 6)::numeric(8,3) * CASE i % 2 WHEN 0 THEN 1 ELSE 1.000 END END,
		CASE WHEN i % 17 = 0 THEN NULL ELSE repeat('ab', i % 5) || i % 3 END, md5((i % 4)::text)::uuid,
		CASE i % 3 WHEN 0 THEN interval '1 month' WHEN 1 THEN interval '30 days' ELSE interval '1 day' END,
		decode(repeat('00', i % 4), 'hex')
	FROM (SELECT hashint4(i) & 65535 AS i FROM generate_series(1, 20000) AS i) AS rows;

CREATE FUNCTION pg_temp.check_keys(keys text) RETURNS text LANGUAGE sql AS $$
	SELECT pg_temp.same_ids('SELECT id FROM s ORDER BY ' || keys, 'SELECT id FROM s ORDER BY ' || keys || ', ctid', keys)
$$;
SELECT pg_temp.check_keys('b, i2 DESC, i8 NULLS FIRST');
SELECT pg_temp.check_keys('t DESC, i8 DESC NULLS LAST, b');
SELECT pg_temp.check_keys('n, t NULLS FIRST, u DESC');
SELECT pg_temp.check_keys('f DESC, n DESC NULLS LAST, iv, x DESC');
SELECT pg_temp.check_keys('x, t, b DESC, i2, i8, f, n, u, iv');
SET gpusort.work_mem = '1MB';
SELECT pg_temp.check_keys('t DESC, i8 DESC NULLS LAST, b');
SELECT pg_temp.check_keys('n DESC, iv DESC, x, f NULLS FIRST');
SELECT pg_temp.check_keys('x DESC, t DESC NULLS LAST, b DESC, i2, i8 DESC, f DESC, n, u, iv');
SET gpusort.work_mem = '256MB';

-- keys put off behind exact ones, which say where rows are tied: rows that they part are not compared, and values that are equal though they
-- look different are
SELECT matches(pg_temp.plan_of('SELECT id FROM s ORDER BY id DESC, ARRAY[i2]', 'ANALYZE, COSTS OFF, TIMING OFF'),
			   'Key Forms: [^\n]*compared\n(?!\s+Rows Compared)', 'rows that the first key parts are not compared');
SELECT pg_temp.check_keys('f, id / 3, ARRAY[-id]');
SELECT pg_temp.check_keys('id / 4 DESC, n, iv, jsonb_build_object(''a'', -id)');
SELECT pg_temp.check_keys('i8, id / 5 DESC, b, ARRAY[i2, -id], u');
SET gpusort.verify = full;
SELECT pg_temp.check_keys('t, f, id / 3 DESC, ARRAY[-id]');
SET gpusort.verify = off;
SET gpusort.work_mem = '1MB';
SELECT pg_temp.check_keys('n, id / 3, ARRAY[-id]');
SET gpusort.work_mem = '256MB';

-- no row, one row, all NULL, all equal, already ordered
CREATE TEMP TABLE shape (id serial, k text COLLATE "C", n numeric);
SELECT pg_temp.same_order('shape', 'k, n', 'no row');
INSERT INTO shape (k, n) VALUES ('one', 1);
SELECT pg_temp.same_order('shape', 'k, n', 'one row');
TRUNCATE shape;
INSERT INTO shape (k, n) SELECT NULL, NULL FROM generate_series(1, 3000);
SELECT pg_temp.same_order('shape', 'k, n', 'all NULL');
TRUNCATE shape;
INSERT INTO shape (k, n) SELECT 'same', 1 FROM generate_series(1, 3000);
SELECT pg_temp.same_order('shape', 'k, n', 'all equal');
TRUNCATE shape;
INSERT INTO shape (k, n) SELECT to_char(i, 'FM00000'), i FROM generate_series(1, 3000) AS i;
SELECT pg_temp.same_order('shape', 'k, n', 'ordered');

-- what is shown comes from the rows, never from the keys
SELECT results_eq('SELECT DISTINCT ON (s.n) length(s.n::text) > 1, s.iv IS NOT NULL FROM s WHERE n = 1 ORDER BY s.n',
				  'SELECT true, true', 'digits shown are those of a row');
SELECT set_eq('SELECT DISTINCT iv::text FROM (SELECT iv FROM s WHERE i2 = 1 ORDER BY iv) AS x', ARRAY['1 mon', '30 days', '1 day'],
			  'equal intervals keep their words');

SELECT * FROM finish();
