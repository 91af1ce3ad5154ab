-- tables.sql: tables of values whose text or binary form is odd, for test/t/output.pl; each row has an id, in random order.
SELECT setseed(0.3);
CREATE DOMAIN three_decimals AS numeric(12, 3);
CREATE DOMAIN stamp AS timestamptz;
CREATE TYPE color AS ENUM ('red', 'green', 'blue with space', 'ü');
CREATE TYPE pair AS (a int, b text, c numeric);

CREATE TABLE integers_ AS SELECT v::int8 i8, CASE WHEN abs(v) < 2147483648 OR v = -2147483648 THEN v::int4 END i4,
	CASE WHEN abs(v) < 32768 OR v = -32768 THEN v::int2 END i2,
	CASE WHEN v BETWEEN 0 AND 4294967295 THEN v::int8::oid END o, v % 3 = 0 b
FROM (SELECT unnest('{0,-1,4294967295,9223372036854775807,-9223372036854775808,-2147483648,-32768}'::numeric[])
	UNION ALL SELECT s * (10::numeric ^ e + d) FROM generate_series(0, 18) e, generate_series(-1, 1) d, unnest('{-1,1}'::int[]) s
	UNION ALL SELECT trunc(((random() - 0.5) * 10 ^ (random() * 19))::numeric) FROM generate_series(1, 3000)
	UNION ALL SELECT NULL) s (v);

CREATE TABLE numerics (n numeric, d three_decimals, p numeric(15, 2), q numeric(38, 10));
INSERT INTO numerics SELECT unnest('{NaN,Infinity,-Infinity,0,0.0,0.00,0.0000,0.00000,-0,1,-1,10000,99999999,100000000,
	0.1,0.01,0.001,0.0001,0.00001,0.000000001,1e100,1e-100,1e1000,1.5e-1000,123456789012345678901234567890.123456789,
	-123456789012345678901234567890.123456789,1e131071,9.99e131000,1e-16383,0.00010001,10001.0001,10000.0,20000.00,
	100000000.00,9999.9999,99999999.99999999,1234567890.5,12345.678900,5000.05,0.50,-0.5,-0.05,-0.000}'::numeric[]);
INSERT INTO numerics SELECT round((random() - 0.5)::numeric * 10::numeric ^ (random() * 30)::int,
	(random() * 20)::int) FROM generate_series(1, 3000);
INSERT INTO numerics SELECT (trunc(random() * 1e9)::text || repeat((random() * 9)::int::text, (random() * 60)::int)
	|| '.' || repeat('0', (random() * 8)::int) || (random() * 1e6)::int)::numeric FROM generate_series(1, 1000);
INSERT INTO numerics SELECT ('-0.' || repeat('0', (random() * 40)::int) || (random() * 1e6)::int)::numeric
	FROM generate_series(1, 1000);
UPDATE numerics SET d = n, p = n WHERE abs(n) < 1e8 AND n <> 'NaN';
UPDATE numerics SET q = n WHERE abs(n) < 1e27;

CREATE TABLE floats (f8 float8, f4 float4);
INSERT INTO floats SELECT unnest('{NaN,Infinity,-Infinity,0,-0,1,-1,0.1,0.01,0.001,0.0001,0.00001,1e15,1e14,
	999999999999.99,1e16,123456789012345.6,99999999999999.99,9999999999999.99,-9999999999999.99,4.9406564584124654e-324,
	2.2250738585072014e-308,2.2250738585072009e-308,1.7976931348623157e308,1e22,1e23,9007199254740993,9007199254740991,
	0.30000000000000004,1.005,2.675,0.05,0.5,0.07,-0.01,1e-5,1e-4,123.45,123.4,100,1000000000000000,0.125}'::float8[]);
INSERT INTO floats (f4) SELECT unnest('{NaN,Infinity,-Infinity,0,-0,1.4e-45,1.17549435e-38,3.4028235e38,16777216,
	16777217,1e6,1e7,0.0001}'::float4[]);
INSERT INTO floats SELECT (random() - 0.5) * 10 ^ ((random() - 0.5) * 600),
	((random() - 0.5) * 10 ^ ((random() - 0.5) * 70))::float4 FROM generate_series(1, 3000);
INSERT INTO floats SELECT round((random() * 10 ^ ((random() * 13)::int))::numeric, (random() * 4)::int)::float8,
	round((random() * 10 ^ ((random() * 6)::int))::numeric, (random() * 4)::int)::float4 FROM generate_series(1, 3000);

CREATE TABLE times (d date, t timestamp, tz stamp, clock time, clock_tz timetz, iv interval);
INSERT INTO times SELECT v::date, v::timestamp, v::timestamptz FROM unnest('{infinity,-infinity,epoch,2000-01-01,
	1999-12-31,0001-01-01,0001-01-01 BC,4713-01-02 BC,9999-12-31,10000-01-01,0999-12-31,100000-05-05,1582-10-15,
	1900-02-28,1900-03-01,2000-02-29,2100-02-28,2100-03-01,2024-12-31,1969-12-31,1970-01-01,0044-03-15 BC,0002-01-01,
	0001-01-02,0001-12-31 BC,294276-12-30}'::text[]) v;
INSERT INTO times SELECT date '0001-01-01' + i * 36524 + j, timestamp '0001-01-01' + (i * 36524 + j) * interval '1 day'
	FROM generate_series(0, 99) i, generate_series(-1, 60) j;
INSERT INTO times SELECT NULL, v::timestamp, v::timestamp FROM unnest('{2000-01-01 00:00:00.000001,
	1999-12-31 23:59:59.999999,2000-01-01 12:34:56.1,2000-01-01 12:34:56.10001,2000-01-01 12:34:56.123456,
	1970-01-01 00:00:00.5,1969-12-31 23:59:59.5,0001-01-01 00:00:00.000001,9999-12-31 23:59:59.999999,
	1883-11-18 12:03:58,1883-11-18 12:03:57,1916-06-14 22:59:59,2024-03-31 00:59:59.999999,2024-03-31 01:00:00,
	2024-10-27 00:59:59,2024-10-27 01:00:00,2038-01-19 03:14:07,2038-01-19 03:14:08,2400-06-01}'::text[]) v;
INSERT INTO times SELECT CASE WHEN i % 7 <> 0 THEN date '2000-01-01' + ((random() - 0.5) * 2000000)::int END,
	timestamp '2000-01-01' + (random() - 0.5) * interval '13000 years', timestamptz '2000-01-01' + (random() - 0.5)
	* interval '13000 years', time '00:00' + random() * interval '1 day', timetz '00:00+03' + random()
	* interval '1 day', (random() - 0.5) * interval '1000 years 11 mon 5 days 04:05:06.123' FROM generate_series(1, 2000) i;
-- days whose texts take each other's place where they are kept
INSERT INTO times SELECT date '1996-02-29' + i % 4 * 4096 + i / 40, (date '1996-02-29' + (i + 1) % 4 * 4096
	+ i / 40)::timestamp FROM generate_series(1, 400) i;
INSERT INTO times SELECT date '1990-01-01' + (random() * 20000)::int, (timestamp '1900-01-01' + random()
	* interval '200 years')::timestamp(0), timestamptz '1850-01-01' + random() * interval '300 years'
	FROM generate_series(1, 3000) i;

CREATE TABLE texts (t text, v varchar(300), b bpchar(20), n name, c "char", j json, jb jsonb, by bytea, u uuid, e color);
INSERT INTO texts (t) SELECT unnest(ARRAY['', ' ', E'tab\tnew\nline\\back\r\b\f\v\x01\x1f\x7f', 'äöüß', 'café', '|,;',
	repeat(E'\\', 40), repeat(E'\n', 33), E'1234567890123456\t', E'\t1234567890123456', E'123456789012345\\6', '\N',
	'\.', repeat('z', 5000)]);
INSERT INTO texts (t) SELECT repeat(chr(33 + i % 90), i) FROM generate_series(1, 300) i;
INSERT INTO texts (t) SELECT repeat(E'a\t\\é', i) FROM generate_series(1, 40) i;
UPDATE texts SET v = left(t, 300), b = left(t, 20), n = left(t, 60), by = decode(md5(t), 'hex'), j = to_json(t),
	jb = to_jsonb(t), u = md5(t)::uuid, e = (ARRAY['red', 'green', 'blue with space', 'ü']::color[])[1 + length(t) % 4],
	c = left(t, 1)::"char";
INSERT INTO texts DEFAULT VALUES;

CREATE TABLE toasted (t text, n numeric, b bytea);
ALTER TABLE toasted ALTER t SET STORAGE external;
INSERT INTO toasted SELECT repeat(md5(i::text), 1000 * i), (repeat(i::text || '37', 30000))::numeric,
	decode(repeat(md5(i::text), 5000), 'hex') FROM generate_series(1, 5) i;
INSERT INTO toasted SELECT repeat('compressible ', 10000 * i) FROM generate_series(1, 3) i;

CREATE TABLE others AS SELECT ARRAY[i, i + 1, NULL] a, ARRAY['a"b', 'c,d', NULL, ''] ta, ROW(i, 'x y', 1.50)::pair cp,
	point(i, i / 3.0) pt, '10.0.0.1/24'::inet ip, int4range(i, i + 10) r, i::money m, B'1011'::bit(4) bi,
	'(1,2)'::tid tid, 'pg_class'::regclass rc, make_interval(days => i) iv, NULL::int nul FROM generate_series(1, 50) i;

CREATE TABLE changed AS SELECT i a, 'b' || i b, i / 7.0 c, date '2020-01-01' + i d FROM generate_series(1, 300) i;
ALTER TABLE changed DROP b;
ALTER TABLE changed ADD e int DEFAULT 42, ADD f text DEFAULT 'default';
INSERT INTO changed SELECT i, i / 3.0, NULL, i, NULL FROM generate_series(1, 100) i;

DO $$
DECLARE t text;
BEGIN
	EXECUTE 'CREATE TABLE wide AS SELECT ' || (SELECT string_agg(CASE i % 3 WHEN 0 THEN 'i' WHEN 1 THEN 'CASE WHEN i = 3 THEN i / 4.0 END'
		ELSE 'CASE WHEN i % 5 = 0 THEN ''text'' END' END || ' c' || i, ',') FROM generate_series(1, 1500) i)
		|| ' FROM generate_series(1, 20) i';
	FOREACH t IN ARRAY ARRAY['integers_', 'numerics', 'floats', 'times', 'texts', 'toasted', 'others', 'changed', 'wide'] LOOP
		EXECUTE format('ALTER TABLE %I ADD id int', t);
		EXECUTE format('UPDATE %1$I SET id = rank FROM (SELECT ctid place, row_number() OVER (ORDER BY random()) rank FROM %1$I) s '
			'WHERE ctid = place', t);
	END LOOP;
END $$;

CREATE TABLE latin (id int, t text);
INSERT INTO latin SELECT 2 * row_number() OVER (), t FROM unnest(ARRAY['café', 'naïve', 'plain', '', NULL, repeat('é',
	200), E'é\té\\']) t;
CREATE TABLE foreign_ AS SELECT i id, CASE WHEN i = 300 THEN '日本' ELSE 'ok' || i END t FROM generate_series(1, 1000) i;
CREATE TABLE returned (i int, n numeric, t text);
CREATE RULE answers AS ON INSERT TO returned WHERE new.i = -1 DO ALSO SELECT 1 one, 2.50 two;

CREATE FUNCTION noisy(i int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN
	IF i % 10 = 0 THEN RAISE NOTICE 'row %', i; END IF; RETURN i; END $$;
CREATE FUNCTION failing(i int) RETURNS int LANGUAGE plpgsql AS $$ BEGIN
	IF i = 700 THEN RAISE 'row %', i; END IF; RETURN i; END $$;
CREATE FUNCTION setting(i int) RETURNS text LANGUAGE sql VOLATILE AS $$ SELECT CASE i % 4
	WHEN 0 THEN set_config('datestyle', (ARRAY['ISO', 'German', 'SQL, DMY', 'Postgres, MDY'])[1 + i / 4 % 4], false)
	WHEN 1 THEN set_config('timezone', (ARRAY['UTC', 'Europe/Berlin', 'America/New_York'])[1 + i / 4 % 3], false)
	WHEN 2 THEN set_config('extra_float_digits', (i / 4 % 4 - 1)::text, false)
	ELSE set_config('client_encoding', (ARRAY['UTF8', 'LATIN1', 'SQL_ASCII'])[1 + i / 4 % 3], false) END $$;

-- integers whose output function says things, sets a parameter, or fails; see loud.c
CREATE TYPE loud;
CREATE FUNCTION loud_in(cstring) RETURNS loud LANGUAGE internal IMMUTABLE STRICT AS 'int4in';
CREATE FUNCTION loud_out(loud) RETURNS cstring LANGUAGE c IMMUTABLE STRICT AS :'library';
CREATE TYPE loud (INPUT = loud_in, OUTPUT = loud_out, LIKE = int4);
CREATE CAST (int AS loud) WITHOUT FUNCTION;
CREATE FUNCTION with_zeros(text) RETURNS text LANGUAGE c IMMUTABLE STRICT AS :'library';
CREATE TABLE zeros AS SELECT i id, with_zeros(overlay(repeat('x', i % 50) PLACING '#' FROM 1 + i / 50)) t,
	with_zeros(overlay(repeat(E'\t', i % 50) PLACING '#' FROM 1 + i / 50))::varchar v FROM generate_series(0, 2000) i;
CREATE TABLE loud_values AS SELECT i id, repeat('x', i % 300) t, i::loud v FROM generate_series(1, 1000) i;
VACUUM ANALYZE;
