-- Values with garbage in the bits of a Datum that their type does not use: servers differ in what these are, compiled code and functions
-- of one server do, and nothing may depend on them.  The functions are those of test/datums, which run.sh builds.
\ir setup.psql
\ir aggregates.psql
CREATE EXTENSION IF NOT EXISTS gpusort;
SELECT * FROM no_plan();
\set runs 'abs(hashint4extended(i / 4, 1))'

CREATE FUNCTION pg_temp.with_garbage(value anyelement) RETURNS anyelement LANGUAGE c STABLE STRICT AS 'garbage';
CREATE FUNCTION pg_temp.datum_bits(value anyelement) RETURNS bigint LANGUAGE c STABLE STRICT AS 'garbage';
SELECT is((SELECT count(DISTINCT pg_temp.datum_bits(pg_temp.with_garbage(i % 3))) FROM generate_series(1, 30) AS i), 30::bigint,
		  'every Datum has other garbage');
SELECT is((SELECT count(DISTINCT pg_temp.with_garbage(i % 3)) FROM generate_series(1, 30) AS i), 3::bigint, 'and means what it meant');

-- Selections from an array by a constant with garbage.
CREATE FUNCTION pg_temp.check_constant(type text, rows integer) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	op text;
BEGIN
	FOREACH op IN ARRAY '{=,<>,<,<=,>,>=}'::text[] LOOP
		RETURN NEXT is(pg_temp.answer(format('SELECT gpu_select_if(array_agg(v ORDER BY i), %1$L, pg_temp.with_garbage(c))
			IS NOT DISTINCT FROM coalesce(array_agg(v ORDER BY i) FILTER (WHERE v %1$s c), ''{}'')
			FROM v, (SELECT v AS c FROM v WHERE v IS NOT NULL AND i > 5 ORDER BY i LIMIT 1) AS one WHERE i <= %2$s GROUP BY c', op, rows)), 'true',
					   format('%s, gpu_select_if %s, %s rows', type, op, rows));
	END LOOP;
END $$;

-- Runs of values whose Datums are the aggregate's arguments as they are; a view's may have been in a sort.
CREATE FUNCTION pg_temp.check_runs(type text, rows integer) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	arguments text;
BEGIN
	FOREACH arguments IN ARRAY '{%s,"%s, k","%s, pg_temp.with_garbage(v)"}'::text[] LOOP
		RETURN NEXT ok(pg_temp.answer(format('SELECT gpu_rle(' || arguments || ') IS NOT DISTINCT FROM gpu_rle(' || arguments || ')
			FROM (SELECT v, k FROM v WHERE i <= %s ORDER BY i OFFSET 0) AS t', 'v', 'pg_temp.with_garbage(v)', rows))::boolean,
					   format('%s, gpu_rle(' || arguments || '), %s rows', type, 'v', rows));
	END LOOP;
END $$;

-- All that takes values of a type one by one: few of them, many, and more than there is memory for (all in one column
-- only where there are many rows).
CREATE FUNCTION pg_temp.check_garbage(type text, expression text, rle_type text DEFAULT NULL, rows integer DEFAULT 20000)
RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
	DROP VIEW IF EXISTS g;
	PERFORM pg_temp.make_values(type, expression, rows);
	CREATE TEMP VIEW g AS SELECT ctid, i AS id, i, k, pg_temp.with_garbage(v) AS v FROM v;
	RETURN QUERY SELECT pg_temp.check_aggregates('(SELECT * FROM g WHERE i < 20) AS t', type, rle_type, false, type || ', few rows');
	RETURN QUERY SELECT pg_temp.check_aggregates('(SELECT * FROM g WHERE i < 2000) AS t', type, rle_type, false, type || ', many rows');
	PERFORM set_config('gpusort.work_mem', '1MB', false);
	RETURN QUERY SELECT pg_temp.check_aggregates('g', type, rle_type, false, type || ', rows that spill');
	PERFORM set_config('gpusort.work_mem', '256MB', false);
	RETURN QUERY SELECT pg_temp.same_order('g', 'v', type);
	IF rle_type IS NOT NULL THEN
		RETURN QUERY SELECT pg_temp.check_runs(type, 20);
		RETURN QUERY SELECT pg_temp.check_runs(type, 2000);
	END IF;
	RETURN QUERY SELECT pg_temp.check_constant(type, 10);
	RETURN QUERY SELECT pg_temp.check_constant(type, 1000);
END $$;

SELECT pg_temp.check_garbage('bool', :'runs' || ' % 2 = 0', 'bool');
SELECT pg_temp.check_garbage('"char"', 'chr(1 + (' || :'runs' || ' % 120)::int)');
SELECT pg_temp.check_garbage('int2', :'runs' || ' % 1000 - 500', 'int2');
SELECT pg_temp.check_garbage('int4', 'hashint4extended(i / 4, 1) % 1000', 'int4', 100000);
SELECT pg_temp.check_garbage('oid', '4294967295 - ' || :'runs' || ' % 1000');
SELECT pg_temp.check_garbage('float4', '(hashint4extended(i / 4, 1) % 1000) / 8.0', 'float4');
SELECT pg_temp.check_garbage('date', 'date ''2000-01-01'' + (hashint4extended(i / 4, 1) % 1000)::int', 'date');
CREATE TYPE pg_temp.mood AS ENUM ('sad', 'ok', 'happy');
SELECT pg_temp.check_garbage('pg_temp.mood', '(enum_range(NULL::pg_temp.mood))[1 + ' || :'runs' || ' % 3]');
ALTER TYPE pg_temp.mood ADD VALUE 'better' BEFORE 'happy';
SELECT pg_temp.check_garbage('pg_temp.mood', '(enum_range(NULL::pg_temp.mood))[1 + ' || :'runs' || ' % 4]');

-- the same without garbage: a stored value and that of a function differ in the unused bits where the first is read as a signed number
CREATE TEMP TABLE o AS SELECT i, 4294967295::oid AS v FROM generate_series(1, 6) AS i;
SELECT is((SELECT max(run) FROM (SELECT gpu_run_id(CASE WHEN i % 2 = 0 THEN v ELSE v::bigint::oid END) OVER (ORDER BY i) AS run FROM o) AS s),
		  1::bigint, 'oid, stored or computed');
-- and in compiled code, where the server has it
SELECT ok(pg_jit_available() OR NOT current_setting('jit')::bool OR current_setting('jit_above_cost')::float8 > 1000, 'compiled code is there when it is asked for');
SET jit_above_cost = 0;
CREATE TEMP TABLE n AS SELECT i, -7::int2 AS a, -7 AS b, date '1990-01-01' AS c FROM generate_series(1, 5) AS i;
SELECT is((SELECT gpu_rle(a)::text FROM n), '{"(-7,5,1)"}', 'smallint in compiled code');
SELECT is((SELECT gpu_rle(b)::text FROM n), '{"(-7,5,1)"}', 'integer in compiled code');
SELECT is((SELECT gpu_rle(b ORDER BY i)::text FROM n), '{"(-7,5,1)"}', 'integer in compiled code, in order');
SELECT is((SELECT gpu_rle(c)::text FROM n), '{"(1990-01-01,5,1)"}', 'date in compiled code');
SELECT * FROM finish();
