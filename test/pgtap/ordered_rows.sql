-- Rows that come in order, by keys without an exact encoding: they are compared as they come, and no key is encoded
-- until one is out of order.
\ir setup.psql
SELECT plan(7 + 3 * 9 + 4 + 3);

CREATE TEMP TABLE o AS SELECT i AS id, ARRAY[i / 3, 7] AS a, jsonb_build_object('a', i / 2) AS j, int4range(i / 4, i) AS r,
	CASE WHEN i <= 9000 THEN lpad((i / 2)::text, 6, '0') END AS u, i / 100 AS few, repeat('x', 3000) || lpad((i / 3)::text, 6, '0') AS long,
	repeat(md5(i::text), 20) AS wide
FROM generate_series(1, 10000) AS i;
ANALYZE o;

-- in order to the last row: nothing is encoded, equal rows and NULLs included
CREATE FUNCTION pg_temp.comes_in_order(keys text) RETURNS text LANGUAGE sql AS $$
	SELECT matches(pg_temp.plan_of('SELECT id FROM o ORDER BY ' || keys, 'ANALYZE, COSTS OFF'),
				   'already ordered.*Keys: 0 bits.*compared.*Rows Compared: 10000  Tied Runs: 0', keys)
$$;
SELECT matches(pg_temp.plan_of('SELECT id FROM o ORDER BY long COLLATE "C"', 'ANALYZE, COSTS OFF'), 'already ordered.*Keys: 0 bits', 'strings by their bytes');
SELECT pg_temp.comes_in_order(keys)
FROM unnest('{a,j,r,"few, j","u COLLATE \"und-x-icu\", a","long COLLATE \"und-x-icu\""}'::text[]) AS keys;

-- one row out of order, wherever it comes; and rows in reverse
CREATE FUNCTION pg_temp.check_row(keys text, place integer) RETURNS text LANGUAGE sql AS $$
	SELECT pg_temp.same_ids(format('SELECT id FROM (SELECT * FROM moved WHERE place = %s ORDER BY n OFFSET 0) AS x ORDER BY %s', place, keys),
							format('SELECT id FROM moved WHERE place = %s ORDER BY %s, n', place, keys),
							format('%s, row %s is out of order', keys, place))
$$;
CREATE TEMP TABLE moved AS SELECT place, CASE WHEN id = place - 1 THEN place + 0.5 ELSE id END AS n, o.*
FROM o, unnest('{2,3,500,1024,1025,1026,2048,5001,10000}'::integer[]) AS place;
SELECT pg_temp.check_row(keys, place)
FROM unnest('{"j, id","a DESC, id DESC","u COLLATE \"und-x-icu\", long COLLATE \"und-x-icu\", id"}'::text[]) AS keys,
	unnest('{2,3,500,1024,1025,1026,2048,5001,10000}'::integer[]) AS place;

-- more than half of the memory: the keys are encoded, and rows leave in runs
SET gpusort.work_mem = '2MB';
SELECT matches(pg_temp.plan_of('SELECT id, wide FROM o ORDER BY a', 'ANALYZE, COSTS OFF'), 'external radix merge', 'beyond the memory limit');
SELECT matches(pg_temp.plan_of('SELECT id FROM o ORDER BY a', 'ANALYZE, COSTS OFF'), 'already ordered', 'and within half of it');
SELECT pg_temp.same_ids('SELECT id, wide FROM o ORDER BY a', 'SELECT id FROM o ORDER BY a, ctid', 'in runs');
SELECT pg_temp.same_ids('SELECT id, wide FROM o ORDER BY j, wide', 'SELECT id FROM o ORDER BY j, wide, ctid', 'by two keys');
RESET gpusort.work_mem;

-- all that reads a sort
SELECT pg_temp.same_ids('SELECT id FROM o ORDER BY j LIMIT 3000', 'SELECT id FROM o ORDER BY j, ctid LIMIT 3000', 'the first rows');
SELECT pg_temp.same_ids('SELECT o.id FROM (VALUES (1), (2)) AS v (n), LATERAL (SELECT id FROM o ORDER BY j, n LIMIT 4000) AS o',
						'SELECT o.id FROM (VALUES (1), (2)) AS v (n), LATERAL (SELECT id FROM o ORDER BY j, n, ctid LIMIT 4000) AS o', 'again and again');
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT id FROM o ORDER BY a;
MOVE FORWARD ALL IN c;
FETCH BACKWARD 1 FROM c \gset
SELECT is(:id, 10000, 'backwards');
COMMIT;
SELECT * FROM finish();
