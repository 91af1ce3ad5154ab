-- Resident columns: which queries are answered from them, and that the answers are PostgreSQL's, to the digit and the display scale.
\ir setup.psql
CREATE EXTENSION IF NOT EXISTS gpusort;
SET timezone = 'Europe/Berlin';
SELECT no_plan();
CREATE SCHEMA columns_answers;
SET search_path = columns_answers, public;

-- odd values of every type that is held; pages of all of them, and rows with NULLs
CREATE TYPE mood AS ENUM ('sad', 'so so', 'fine');
CREATE DOMAIN small AS int CHECK (value < 1000000);
CREATE DOMAIN money2 AS numeric(10, 2) NOT NULL;
CREATE TABLE a (id bigint, i2 smallint, i4 int, i8 bigint, n2 numeric(10, 2), n0 numeric(15, 0), wide numeric(38, 6), cents numeric(4, -2),
	f4 float4, f8 float8, d date, ts timestamp, tz timestamptz, t time, b bool, o oid, u uuid, nothing int, e mood, ds small, dm money2 DEFAULT 1, note text);
INSERT INTO a SELECT g, (g * 37 % 65536 - 32768)::smallint, (g * 104729 % 4294967 - 2147483)::int, g * 1234567891011 % 9007199254740993 - 4503599627370496,
	(g * 7919 % 20000001 - 10000000) / 100.0, g * 15485863 % 999999999999, g * 1234567890123456.789012 * (1 - g % 3), g % 90 * 100,
	(g % 1013)::float4 / 7 - 50, sqrt(g) - 30, date '1999-12-01' + (g % 3000)::int, timestamp '1999-12-31 12:00' + g % 7000 * interval '7 h 1 s',
	timestamptz '1999-12-31 12:00+00' + g % 7000 * interval '5 h 1 s', time '00:00' + g % 86400 * interval '1 s', g % 3 = 0, g % 4294967296,
	md5((g % 100)::text)::uuid, NULL, (enum_range(NULL::mood))[1 + g % 4], g % 777, g / 9.0, repeat('x', (g % 40)::int)
FROM generate_series(1::bigint, 6000) AS g;
INSERT INTO a (id) SELECT g FROM generate_series(6001, 6100) AS g;
INSERT INTO a (id, i2, i4, i8, n2, n0, d, ts, tz, t, b, o) VALUES
	(7001, -32768, -2147483648, -9223372036854775808, -99999999.99, -999999999999999, '-infinity', '-infinity', '-infinity', '00:00', false, 0),
	(7002, 32767, 2147483647, 9223372036854775807, 99999999.99, 999999999999999, 'infinity', 'infinity', 'infinity', '24:00', true, 4294967295),
	(7003, 0, 0, 0, 0, 0, '4713-01-01 BC', '4713-01-01 BC', '4713-01-02 BC', '12:00', NULL, 1),
	(7004, 1, 1, 1, 0.01, 1, '5874897-12-31', '294276-12-31', '294276-12-30', '23:59:59.999999', false, 2147483648);
UPDATE a SET i4 = NULL, n2 = NULL, f8 = NULL, d = NULL, b = NULL WHERE id % 17 = 0;
DELETE FROM a WHERE id % 97 = 0;
VACUUM ANALYZE a;
CREATE TABLE empty (i int, n numeric(10, 2), f float8);
CREATE TABLE floats (which text, f4 float4, f8 float8, x float8);
INSERT INTO floats SELECT 'nan', 'NaN', 'NaN', g FROM generate_series(1, 3) AS g;
INSERT INTO floats VALUES ('infinite', '-infinity', 'infinity', 1), ('zeros', 0, '-0', 0), ('zeros', '-0', 0, 0);
INSERT INTO floats SELECT 'large', 3e38, 1.7e308, g FROM generate_series(1, 4) AS g;
INSERT INTO floats SELECT 'small', 1e-45, 5e-324, g / 7.0 FROM generate_series(-3, 3) AS g;
VACUUM floats;
SELECT gpusort_columns_add(t::regclass) FROM unnest('{a,empty,floats}'::text[]) AS t;

-- a query's row without columns, and from columns or the error of a query that they cannot answer
CREATE FUNCTION answer(query text, setting text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text;
	reason text;
BEGIN
	PERFORM set_config('gpusort.columns', setting, true);
	FOR i IN 1 .. 200 LOOP
		BEGIN
			EXECUTE 'SELECT q::text FROM (' || query || ') AS q' INTO result;
			RETURN result;
		EXCEPTION
			WHEN object_not_in_prerequisite_state THEN
				GET STACKED DIAGNOSTICS reason = PG_EXCEPTION_DETAIL;
				IF reason !~ 'keeper|starting|again|version' THEN
					RETURN reason;
				END IF;
				PERFORM pg_sleep(0.05);
			WHEN OTHERS THEN
				RETURN sqlerrm;
		END;
	END LOOP;
	RETURN reason;
END $$;
CREATE FUNCTION uses(query text) RETURNS bool LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	PERFORM set_config('gpusort.columns', 'force', true);
	FOR line IN EXECUTE 'EXPLAIN ' || query LOOP
		IF line ~ 'GpuColumns' THEN
			RETURN true;
		END IF;
	END LOOP;
	RETURN false;
END $$;
CREATE FUNCTION answered(query text) RETURNS SETOF text LANGUAGE sql AS $$
	SELECT is(answer(query, 'force'), answer(query, 'off'), query) UNION ALL SELECT ok(uses(query), 'from columns: ' || query)
$$;
CREATE FUNCTION left_alone(query text) RETURNS SETOF text LANGUAGE sql AS $$
	SELECT ok(NOT uses(query), 'not from columns: ' || query)
$$;

\set QUIET 1
-- aggregates of every type
SELECT answered(format('SELECT count(*), count(%1$s), count(%1$s) - count(*) FROM a', c))
FROM unnest('{id,i2,i4,i8,n2,n0,wide,cents,f4,f8,d,ts,tz,t,b,o,u,nothing,e,ds,dm}'::text[]) AS c;
SELECT answered(format('SELECT min(%1$s), max(%1$s) FROM a', c)) FROM unnest('{id,i2,i4,i8,n2,n0,wide,cents,f4,f8,d,ts,tz,t,o,nothing,ds,dm}'::text[]) AS c;
SELECT answered(format('SELECT sum(%1$s), avg(%1$s) FROM a', c)) FROM unnest('{id,i2,i4,i8,n2,n0,wide,cents,nothing,ds,dm}'::text[]) AS c;
SELECT answered('SELECT round(sum(f8)::numeric, 6), round(avg(f8)::numeric, 9), round(sum(f4::float8)::numeric, 6) FROM a');
SELECT answered('SELECT count(*), count(i), sum(i), avg(i), min(i), max(i), sum(n), avg(n), min(n), max(n), sum(f), avg(f), min(f) FROM empty');
SELECT answered('SELECT count(1), count(NULL::int) FROM a WHERE b');

-- expressions
SELECT answered(format('SELECT sum(%1$s), avg(%1$s), min(%1$s), max(%1$s), count(%1$s) FROM a WHERE id <= 7000', e)) FROM unnest(ARRAY[
	'i2 + 1', 'i4 + i2', 'i4 - i8', 'i8 - i2', 'i8 * 2', 'i2 - i2', 'i2::int * 2', 'i2::int8 * i4', 'i4::numeric * 1.5',
	'n2 + 1', 'n2 - 0.125', 'n2 * n2', 'n2 * i4', 'n2 * (1 - n2)', 'n2 * (1 - n2) * (1 + n2)', 'n2 + n0', 'n0 - n2', 'wide + n2', 'n2 - wide', 'cents * n2',
	'cents + 1.50', '1.000 * n2', '2 - n2', 'i8::numeric - wide', 'i4 + NULL', 'n2 + NULL::numeric', 'wide * 0.5', '5', '5.50', 'ds * ds', 'ds + dm', 'dm * (1 - dm)', 'n2 * 0.0000001']) AS e;
SELECT answered('SELECT sum(i4) / count(*), max(d) - min(d), sum(n2) + 1, coalesce(sum(nothing), 0), (SELECT sum(i2)) FROM a');
SELECT answered('SELECT CASE WHEN count(*) > 5 THEN sum(n2) * 2 ELSE 0 END AS x FROM a');
SELECT answered('SELECT DISTINCT sum(i4) AS s FROM a ORDER BY s LIMIT 1');
SELECT answered('SELECT sum(sum(i2)) OVER () FROM a');

-- filters
SELECT answered(format('SELECT count(*), sum(id), min(n2) FROM a WHERE %s', f)) FROM unnest(ARRAY[
	'i2 = 5', 'i2 <> 5', 'i2 < 5::bigint', 'i4 <= -7', 'i4 > 2000000000', 'i8 >= 7::smallint', '5 < i4', 'i4 BETWEEN 5 AND 100000', 'i4 BETWEEN 100000 AND 5',
	'i2 < 100000', 'i2 > -100000', 'i2 = 100000', 'i2 <> 100000', 'i8 > 9223372036854775806', 'i4 < 1.5', 'i4 <= -1.5', 'i4 >= 1.5', 'i4 = 1.5', 'i4 <> 1.5', 'i4 = 1.0',
	'i4 < 1e30', 'i4 > 1e30', 'i4 > -1e30', 'i4 = ''NaN''::numeric', 'i4 < ''NaN''::numeric', 'i4 > ''-infinity''::numeric',
	'n2 < 0.005', 'n2 <= 0.005', 'n2 > 0.005', 'n2 >= 0.005', 'n2 = 0.005', 'n2 <> 0.005', 'n2 = 0.01', 'n2 < -0.005', 'n2 >= -0.005', 'n2 > 5', 'n2 = 99999999.99', 'n2 < 1e50',
	'n2 > ''NaN''', 'n2 < ''NaN''', 'n2 <> ''NaN''', 'n2 < ''infinity''', 'n2 >= ''-infinity''', 'n2 = ''infinity''', 'cents = 500', 'cents > 550', 'wide > 12345678901234567890.5',
	'wide < 0', 'n2 BETWEEN 0.05 AND 7.25', 'f4 < 1.5', 'f4 = 1.5::float4', 'f8 >= 2', 'f8 <> 5', 'f8 < ''NaN''', 'f8 > ''infinity''', 'f4 > -1e300', 'f8 IN (0, 5, -5, ''NaN'')',
	'd = ''2000-01-01''', 'd < ''2000-01-01''', 'd < timestamp ''2000-01-01 00:00:01''', 'd <= timestamp ''2000-01-01 12:00''', 'd > timestamp ''2000-01-01''', 'd >= timestamp ''2000-01-01 00:00:01''',
	'd = timestamp ''2000-01-01''', 'd = timestamp ''2000-01-01 01:00''', 'd <> timestamp ''2000-01-01 01:00''', 'd < timestamp ''infinity''', 'd > timestamp ''-infinity''', 'd = timestamp ''infinity''',
	'd > ''infinity''', 'd >= ''infinity''', 'd < timestamp ''1990-01-01 00:00:01''', 'd BETWEEN ''2000-01-01'' AND ''2001-01-01''',
	'ts < ''2001-01-01''', 'ts >= date ''2001-01-01''', 'ts = date ''infinity''', 'ts > date ''-infinity''', 'ts <= ''infinity''',
	'tz < ''2001-01-01 00:00+00''', 'tz >= timestamp ''2001-01-01''', 'tz < date ''2001-07-01''', 'tz = timestamp ''infinity''', 'tz <> timestamp ''-infinity''', 'tz > now() - interval ''20 years''',
	't < ''12:00''', 't = ''24:00''', 't BETWEEN ''01:00'' AND ''02:00:00.5''', 'b', 'NOT b', 'b IS TRUE', 'b IS FALSE', 'b IS UNKNOWN', 'b IS NOT UNKNOWN', 'b = (SELECT true)', 'b > false', 'b <> true',
	'o = 5', 'o > 2147483647', 'o < 4294967295', 'u = md5(''5'')::uuid', 'u <> md5(''5'')::uuid', 'u IN (md5(''5'')::uuid, md5(''7'')::uuid, NULL)',
	'e = ''fine''', 'e <> ''sad''', 'e IN (''sad'', ''fine'')', 'e IS NULL', 'ds < 5', 'ds BETWEEN 7 AND 8.5', 'dm > 600.004', 'dm = 1', 'ds = ANY (ARRAY[1, 2, 3]::small[])',
	'i4 IS NULL', 'i4 IS NOT NULL', 'nothing IS NULL', 'nothing IS NOT NULL', 'n2 IS NULL AND b', 'i4 < (SELECT NULL::int)',
	'i2 IN (1, 2, 3, 3, NULL)', 'i2 = ANY (ARRAY[1, 100000])', 'i4 = ANY (NULL::int[])', 'i4 = ANY (''{}''::int[])', 'n2 IN (0.01, 0.011, ''NaN'')', 'd IN (''2000-01-01'', ''infinity'')',
	'd = ANY (ARRAY[timestamp ''2000-01-01'', timestamp ''2000-01-02 01:00''])', 'i4 > 5 AND i4 > 7 AND i4 < 1000000 AND i2 <> 3 AND b AND d IS NOT NULL',
	'i8 = (SELECT max(i8) FROM a)', 'i4 > (SELECT avg(i4) FROM a)']) AS f;

-- floats
SELECT answered('SELECT min(f4), max(f4), min(f8), max(f8) FROM floats WHERE x > 0');
SELECT answered('SELECT min(f4), max(f4), min(f8), max(f8) FROM floats WHERE f8 <> 0 AND f4 <> ''NaN''');
SELECT answered('SELECT min(f4), max(f8), count(f8) FROM floats WHERE f8 = 0 AND f8 > ''NaN''');
SELECT answered('SELECT min(f4), max(f8), count(*) FROM floats WHERE f8 = ''NaN''');
SELECT answered('SELECT count(*) FROM floats WHERE f8 = ''-0''');

-- PostgreSQL answers, or raises its error, where engines would have to raise one, or the order of rows decides
CREATE FUNCTION not_used(query text, reason text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
	plan text := '';
BEGIN
	RETURN NEXT is(answer(query, 'on'), answer(query, 'off'), query);
	PERFORM set_config('gpusort.columns', 'force', true);
	BEGIN
		EXECUTE query;
	EXCEPTION WHEN object_not_in_prerequisite_state THEN
		GET STACKED DIAGNOSTICS plan = PG_EXCEPTION_DETAIL;
	END;
	RETURN NEXT is(plan, 'Reason: ' || reason || '.', 'not from columns: ' || query);
END $$;
SELECT not_used('SELECT sum(i4 * i4) FROM a', 'a value overflows');
SELECT not_used('SELECT sum(i2 + i2) FROM a', 'a value overflows');
SELECT not_used('SELECT max(i8 * 3) FROM a', 'a value overflows');
SELECT not_used('SELECT count(i8 - 1) FROM a', 'a value overflows');
SELECT not_used('SELECT sum(wide * wide) FROM a', 'a value overflows');
SELECT not_used('SELECT sum(n2 * ''NaN''::numeric) FROM a', 'a constant is too large');
SELECT not_used('SELECT sum(f8) FROM floats WHERE x <> 0', 'a sum of floats is not finite');
SELECT not_used('SELECT avg(f8) FROM floats WHERE x = 1 AND f8 > 1e300 AND f8 < ''infinity''', 'an average of floats may overflow');
SELECT not_used('SELECT min(f8) FROM floats WHERE f8 = 0', 'zeros of both signs are equal');
SELECT not_used('SELECT max(f4) FROM floats WHERE f4 = 0', 'zeros of both signs are equal');
SELECT not_used('SELECT count(*) FROM a WHERE ts < date ''4713-01-01 BC''', 'a date is out of range');
CREATE FUNCTION pg_temp.many() RETURNS integer[] IMMUTABLE LANGUAGE sql AS 'SELECT array_agg(g) FROM generate_series(1, 600000) AS g';
SELECT not_used('SELECT count(*) FROM a WHERE i4 = ANY (pg_temp.many())', 'its constants are too many');

-- a condition's value is PostgreSQL's to raise an error for, at the first row that gets there, if there is one
SELECT not_used('SELECT count(*) FROM a WHERE id < -5 AND i2 > 10 / (SELECT 0)', 'a value raises an error');
SELECT is(answer(q, 'on'), answer(q, 'off'), q) FROM (VALUES ('SELECT count(*) FROM a WHERE i2 > 10 / (SELECT 0)'), ('SELECT count(*) FROM a WHERE d < (SELECT ''never''::text)::date')) AS v (q);
SELECT not_used('SELECT count(*) FROM a WHERE id < -5 AND note = repeat((SELECT ''abc''), (SELECT 1000000000))', 'a value raises an error');
-- unless it runs queries or functions that are not built in, which would not be ended: that is raised as the scan begins
CREATE VIEW divided AS SELECT 1 / (x - x) AS z FROM generate_series(1, 3) AS x;
CREATE FUNCTION divides(int) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS 'BEGIN PERFORM 1 / ($1 - $1); RETURN true; END';
CREATE DOMAIN checked AS int CHECK (divides(VALUE));
CREATE TYPE with_checked AS (a checked);
-- a server without libxml has another error for the first
SELECT throws_ok(q, code::char(5), NULL, q) FROM (VALUES ('SELECT count(*) FROM a WHERE id < -5 AND note = table_to_xml((SELECT ''divided''::text)::regclass, true, true, ''x'')::text',
	(SELECT CASE WHEN setting LIKE '%with-libxml%' THEN '22012' ELSE '0A000' END FROM pg_config WHERE name = 'CONFIGURE')),
	('SELECT count(*) FROM a WHERE id < -5 AND i4 = (jsonb_populate_record(NULL::with_checked, (SELECT ''{"a": 5}'')::jsonb)).a', '22012')) AS v (q, code);
SELECT not_used('SELECT count(*) FROM a WHERE id < -5 AND i4 = 10 / (SELECT 0) AND note = table_to_xml((SELECT ''divided''::text)::regclass, true, true, ''x'')::text', 'a value raises an error');

-- a page with values that cannot be held is read in the table, and then the whole
CREATE TABLE cannot (n numeric(10, 2), i int);
INSERT INTO cannot SELECT g, g FROM generate_series(1, 5000) AS g;
INSERT INTO cannot VALUES ('NaN', 0);
SELECT gpusort_columns_add('cannot');
SELECT not_used('SELECT sum(n) FROM cannot', 'a value cannot be held');
SELECT answered('SELECT sum(i) FROM cannot');

-- aggregates that are there for their error are not answered from columns
SELECT throws_ok(q, '0A000', NULL, q) FROM unnest(ARRAY['SELECT gpu_rle(e ORDER BY id) FROM a', 'SELECT gpu_rle(e, id) FROM a', 'SELECT cardinality(gpu_rle(e ORDER BY id)) FROM a',
	'SELECT gpu_percentile_cont(f8, ARRAY[0.25, 0.5]) FROM a']) AS q;

SELECT * FROM finish();
DROP SCHEMA columns_answers CASCADE;
