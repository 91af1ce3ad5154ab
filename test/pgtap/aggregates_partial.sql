-- Aggregates whose states are combined: of parallel workers, of partitions, and both at once, against PostgreSQL's own.  Values come from
-- ordinary tables, since workers do not see temporary ones.
\ir setup.psql
DROP FUNCTION pg_temp.check_type(text, text[], text, integer);
CREATE EXTENSION IF NOT EXISTS gpusort;
SELECT * FROM no_plan();
SET client_min_messages = error;
DROP SCHEMA IF EXISTS partial CASCADE;
CREATE SCHEMA partial;
SET search_path = partial, public;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET parallel_leader_participation = off;
-- so that fewer rows through Append are cheaper
SET cpu_tuple_cost = 1;
SET jit = off;
\set runs 'abs(hashint4extended(i / 4, 1))'

-- How states come to be combined.
CREATE FUNCTION plan_as(way text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('max_parallel_workers_per_gather', CASE WHEN way IN ('workers', 'both') THEN '2' ELSE '0' END, false),
		set_config('enable_partitionwise_aggregate', CASE WHEN way IN ('partitions', 'both') THEN 'on' ELSE 'off' END, false);
END $$;

-- Tests that a query gives the rows of another one, in every way to combine; g is the key of their rows.
CREATE FUNCTION same_partially(ours text, theirs text, label text, ways text[] DEFAULT '{workers,partitions,both}') RETURNS SETOF text
LANGUAGE plpgsql AS $$
DECLARE
	work_mem text := current_setting('gpusort.work_mem');
	way text;
	plan text;
	differing bigint;
	example text;
BEGIN
	PERFORM plan_as('none');
	-- the runs of rows as they come need their memory
	PERFORM set_config('gpusort.enabled', 'off', false), set_config('gpusort.work_mem', '256MB', false);
	EXECUTE 'CREATE TEMP TABLE theirs AS ' || theirs;
	PERFORM set_config('gpusort.enabled', 'on', false), set_config('gpusort.work_mem', work_mem, false);
	FOREACH way IN ARRAY ways LOOP
		PERFORM plan_as(way);
		plan := pg_temp.plan_of(ours);
		RETURN NEXT ok(plan ~ 'Finalize' AND plan ~ 'Partial' AND (plan ~ 'Gather') = (way <> 'partitions') AND
					   (plan ~ 'Append.*Partial') = (way <> 'workers'), label || ': planned for ' || way);
		EXECUTE 'CREATE TEMP TABLE ours AS ' || ours;
		PERFORM plan_as('none');
		EXECUTE 'SELECT count(*), min(theirs::text || '' not '' || ours::text) FROM ours FULL JOIN theirs USING (g) WHERE ours.* IS DISTINCT FROM theirs.*'
			INTO differing, example;
		RETURN NEXT ok(differing = 0, label || ': ' || way) || CASE WHEN differing > 0 THEN E'\n' || diag(left(example, 500)) ELSE '' END;
		DROP TABLE ours;
	END LOOP;
	DROP TABLE theirs;
END $$;

-- Values of a type in three partitions, one of them empty, and seven groups, of which one has NULLs only.
CREATE FUNCTION make_partitions(type text, expression text, rows int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	DROP TABLE IF EXISTS p;
	EXECUTE format('CREATE TABLE p (i int, g int, h int, k bigint, v %s) PARTITION BY RANGE (i)', type);
	EXECUTE format('CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (MINVALUE) TO (%s)', rows / 3);
	EXECUTE format('CREATE TABLE p2 PARTITION OF p FOR VALUES FROM (%s) TO (%s)', rows / 3, rows + 1);
	EXECUTE format('CREATE TABLE p3 PARTITION OF p FOR VALUES FROM (%s) TO (MAXVALUE)', rows + 1);
	EXECUTE format('INSERT INTO p SELECT i, i %% 7, i %% 300, hashint4(i)::int8 * 1000000 + i, CASE WHEN i %% 7 < 6 AND abs(hashint4extended(i, 5)) %% 10 > 0
		THEN (%s)::%s END FROM generate_series(1, %s) AS i', expression, type, rows);
	ANALYZE p;
END $$;

-- All aggregates of a type, several in one node, without groups and with them; some see no row, or few.
CREATE FUNCTION check_partial(type text, expression text, rle_type text DEFAULT NULL, continuous boolean DEFAULT false, rows int DEFAULT 4000, grouped boolean DEFAULT true)
RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	ours text := 'gpu_count_distinct(v) AS a, gpu_percentile_disc(v, 0.3) AS b, gpu_count_distinct(v) FILTER (WHERE i % 2 = 0) AS c,
		gpu_percentile_disc(v, 1) FILTER (WHERE i < 40) AS d, gpu_count_distinct(v) FILTER (WHERE i < 0) AS e, gpu_percentile_disc(v, NULL) AS f,
		count(*) AS h, gpu_count_distinct(v) FILTER (WHERE v IS NULL) AS j';
	theirs text := 'count(DISTINCT v) AS a, percentile_disc(0.3) WITHIN GROUP (ORDER BY v) AS b, count(DISTINCT v) FILTER (WHERE i % 2 = 0) AS c,
		percentile_disc(1) WITHIN GROUP (ORDER BY v) FILTER (WHERE i < 40) AS d, 0::bigint AS e, percentile_disc(NULL::float8) WITHIN GROUP (ORDER BY v) AS f,
		count(*) AS h, 0::bigint AS j';
BEGIN
	PERFORM make_partitions(type, expression, rows);
	IF type !~ '\[\]$' THEN
		ours := ours || ', gpu_sort_agg(v) AS l, gpu_sort_agg(v) FILTER (WHERE i < 0) AS m';
		theirs := theirs || ', array_agg(v ORDER BY v) AS l, array_agg(v) FILTER (WHERE i < 0) AS m';
	END IF;
	IF continuous THEN
		ours := ours || ', gpu_median(v) AS n, gpu_percentile_cont(v, 0.77) AS o, gpu_median(v) FILTER (WHERE i < 0) AS q';
		theirs := theirs || ', percentile_cont(0.5) WITHIN GROUP (ORDER BY v) AS n, percentile_cont(0.77) WITHIN GROUP (ORDER BY v) AS o,
			percentile_cont(0.5) WITHIN GROUP (ORDER BY v) FILTER (WHERE i < 0) AS q';
	END IF;
	IF rle_type IS NOT NULL THEN
		ours := ours || ', gpu_rle(v, k) AS r, gpu_rle(v, k) FILTER (WHERE i < 0) AS s';
		theirs := theirs || ', gpu_rle(v ORDER BY k) AS r, NULL::gpu_rle_' || rle_type || '[] AS s';
	END IF;
	RETURN QUERY SELECT same_partially('SELECT 0 AS g, ' || ours || ' FROM p', 'SELECT 0 AS g, ' || theirs || ' FROM p', type);
	IF grouped THEN
		RETURN QUERY SELECT same_partially('SELECT g, ' || ours || ' FROM p GROUP BY g', 'SELECT g, ' || theirs || ' FROM p GROUP BY g', type || ' in groups');
	END IF;
END $$;

SELECT check_partial('bool', :'runs' || ' % 2 = 0', 'bool');
SELECT check_partial('int2', :'runs' || ' % 1000 - 500', 'int2', true);
SELECT check_partial('int4', 'hashint4extended(i / 3, 2) % 100000', 'int4', true);
SELECT check_partial('int8', 'hashint4extended(i / 2, 3)', 'int8', true);
SELECT check_partial('float4', '(CASE WHEN i % 7 = 0 THEN ''NaN'' WHEN i % 50 = 0 THEN ''-0'' ELSE (i / 3 % 50)::text END)::float4', 'float4', true);
SELECT check_partial('float8', '(CASE WHEN i % 70 = 0 THEN ''-Infinity'' ELSE ((hashint4(i / 3) % 5000) / 8.0)::text END)::float8', 'float8', true);
SELECT check_partial('numeric', '(hashint4(i / 3) % 1000)::numeric / 100', 'numeric');
SELECT check_partial('numeric', '(ARRAY[''NaN'', ''Infinity'', ''-Infinity'', ''0'', ''0.000'', ''1e-300'', ''-1e300'', (hashint4(i) % 100)::text])[1 + i % 8]', 'numeric');
SELECT check_partial('date', 'date ''2000-01-01'' + (' || :'runs' || ' % 1000 - 500)::int', 'date');
SELECT check_partial('timestamp', 'timestamp ''2000-01-01'' + ' || :'runs' || ' % 1000 * interval ''7 min''', 'timestamp');
SELECT check_partial('timestamptz', 'timestamptz ''2000-01-01'' + ' || :'runs' || ' % 1000 * interval ''7 min''', 'timestamptz');
SELECT check_partial('uuid', 'md5((' || :'runs' || ' % 300)::text)::uuid', 'uuid');
SELECT check_partial('text', 'repeat(chr(97 + (' || :'runs' || ' % 20)::int), (i % 5)::int)', 'text');
SELECT check_partial('text', 'repeat(md5(i::text), 5)', 'text');
SELECT check_partial('varchar(30)', '''common prefix '' || ' || :'runs' || ' % 500', 'text');
SELECT check_partial('"char"', 'chr(65 + (' || :'runs' || ' % 20)::int)');
SELECT check_partial('oid', :'runs' || ' % 4000');
SELECT check_partial('money', '((' || :'runs' || ' % 4000) / 100.0)::numeric');
SELECT check_partial('time', 'time ''00:00'' + ' || :'runs' || ' % 1000 * interval ''1 min''');
SELECT check_partial('timetz', '(time ''00:00'' + ' || :'runs' || ' % 1000 * interval ''1 min'')::text || ''+01''');
SELECT check_partial('interval', :'runs' || ' % 1000 * interval ''1 hour 1 second''', NULL, true);
SELECT check_partial('inet', '''10.0.0.0''::inet + ' || :'runs' || ' % 1000');
SELECT check_partial('macaddr', 'substr(md5((' || :'runs' || ' % 300)::text), 1, 12)');
SELECT check_partial('macaddr8', 'substr(md5((' || :'runs' || ' % 300)::text), 1, 16)');
SELECT check_partial('tid', '(''('' || ' || :'runs' || ' % 300 || '',1)'')');
SELECT check_partial('bytea', '''\x'' || substr(md5((' || :'runs' || ' % 300)::text), 1, 8)');
SELECT check_partial('name', 'md5((' || :'runs' || ' % 300)::text)');
SELECT check_partial('bpchar', 'md5((' || :'runs' || ' % 300)::text)');
SELECT check_partial('char(40)', 'md5((' || :'runs' || ' % 300)::text)');
SELECT check_partial('varbit', '(' || :'runs' || ' % 300)::int::bit(10)');
SELECT check_partial('pg_lsn', '(''0/'' || to_hex(' || :'runs' || ' % 300))::pg_lsn');
SELECT check_partial('tsvector', 'to_tsvector(''simple'', ''a '' || ' || :'runs' || ' % 300)');
SELECT check_partial('int4[]', 'ARRAY[' || :'runs' || ' % 20, i % 3]');
SELECT check_partial('text[]', 'ARRAY[''x'' || ' || :'runs' || ' % 20, NULL, chr(228)]');
SELECT check_partial('jsonb', 'jsonb_build_object(''a'', ' || :'runs' || ' % 20, ''b'', ARRAY[''c'', NULL])');
SELECT check_partial('int4range', 'int4range((' || :'runs' || ' % 20)::int, 30)');
SELECT check_partial('int4multirange', 'int4multirange(int4range(1, 2 + (' || :'runs' || ' % 20)::int), int4range(50, 51))');
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
ALTER TYPE mood ADD VALUE 'bétter' BEFORE 'happy';
SELECT check_partial('mood', '(enum_range(NULL::mood))[1 + ' || :'runs' || ' % 4]');
CREATE DOMAIN positive AS int4 CHECK (VALUE >= 0);
SELECT check_partial('positive', :'runs' || ' % 1000', 'int4', true);
CREATE DOMAIN moody AS mood;
SELECT check_partial('moody', '(enum_range(NULL::mood))[1 + ' || :'runs' || ' % 4]');
CREATE TYPE pair AS (number int, word text, mood mood);
SELECT check_partial('pair', 'ROW(' || :'runs' || ' % 20, chr(228) || i % 3, (enum_range(NULL::mood))[1 + i % 4])::pair');
SELECT check_partial('pair[]', 'ARRAY[ROW(' || :'runs' || ' % 20, NULL, ''ok'')::pair]');
-- a type without send and receive functions, arrays of it, and rows with it
CREATE TYPE opaque;
CREATE FUNCTION opaque_in(cstring) RETURNS opaque LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE AS 'byteain';
CREATE FUNCTION opaque_out(opaque) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE AS 'byteaout';
CREATE TYPE opaque (INPUT = opaque_in, OUTPUT = opaque_out, LIKE = bytea);
CREATE FUNCTION opaque_cmp(opaque, opaque) RETURNS int LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE AS 'byteacmp';
SELECT format('CREATE FUNCTION opaque_%s(opaque, opaque) RETURNS bool LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE AS ''bytea%1$s'';
	CREATE OPERATOR %s (LEFTARG = opaque, RIGHTARG = opaque, FUNCTION = opaque_%1$s)', name, op)
FROM (VALUES ('lt', '<'), ('le', '<='), ('eq', '='), ('ge', '>='), ('gt', '>')) AS o (name, op) \gexec
CREATE OPERATOR CLASS opaque_ops DEFAULT FOR TYPE opaque USING btree AS OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >,
	FUNCTION 1 opaque_cmp(opaque, opaque);
SELECT check_partial('opaque', '(''\x'' || substr(md5((' || :'runs' || ' % 300)::text), 1, 8))::opaque');
SELECT check_partial('opaque[]', 'ARRAY[(''\x'' || substr(md5((' || :'runs' || ' % 300)::text), 1, 8))::opaque]');
CREATE TYPE opaque_pair AS (number int, bytes opaque);
CREATE TYPE opaque_number AS (bytes opaque, number float8);
CREATE TYPE opaque_time AS (bytes opaque, time timestamptz);
SELECT check_partial('opaque_pair', 'ROW(i % 10, (''\x'' || substr(md5((' || :'runs' || ' % 30)::text), 1, 8))::opaque)::opaque_pair');

-- anonymous rows, as values and as keys
SELECT make_partitions('int4', :'runs' || ' % 100', 4000) \g /dev/null
SELECT same_partially('SELECT g, gpu_count_distinct(ROW(v, i % 3, ''x'' || v)) AS a, gpu_percentile_disc(ROW(v, g), 0.4)::text AS b, gpu_rle(v, ROW(i % 10, k))::text AS c FROM p GROUP BY g',
	'SELECT g, count(DISTINCT ROW(v, i % 3, ''x'' || v)) AS a, (percentile_disc(0.4) WITHIN GROUP (ORDER BY ROW(v, g)))::text AS b, gpu_rle(v ORDER BY i % 10, k)::text AS c FROM p GROUP BY g',
	'anonymous rows');

-- and values that their types' own functions would not give back: rounded and ambiguous as text, anonymous rows inside of others, old values that
-- a constraint has come to forbid
SET extra_float_digits = 0;
SELECT check_partial('opaque_number', 'ROW(''\x01'', 1 + (' || :'runs' || ' % 300)::int * 2.3e-16::float8)::opaque_number');
RESET extra_float_digits;
SET timezone = 'Asia/Kolkata';
SET DateStyle = 'SQL, DMY';
SELECT check_partial('opaque_time', 'ROW(''\x01'', timestamptz ''2000-01-01 00:00+00'' + ' || :'runs' || ' % 300 * interval ''7 min'')::opaque_time');
RESET DateStyle;
SET timezone = 'UTC';
CREATE FUNCTION any_row(v int, w int) RETURNS record LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
	RETURN ROW(v, ROW(w, 'x' || v));
END $$;
SELECT make_partitions('int4', :'runs' || ' % 100', 4000) \g /dev/null
SELECT same_partially(format('SELECT g, gpu_count_distinct(%1$s) AS a, gpu_percentile_disc(%1$s, 0.4)::text AS b, gpu_rle(v, %1$s)::text AS c FROM p GROUP BY g', value),
	format('SELECT g, count(DISTINCT %1$s) AS a, (percentile_disc(0.4) WITHIN GROUP (ORDER BY %1$s))::text AS b, gpu_rle(v ORDER BY v)::text AS c FROM p GROUP BY g', value),
	value)
FROM (VALUES ('ROW(v, ROW(i % 3, ''x'' || v))'), ('ARRAY[ROW(v, i % 3)]'), ('ARRAY[ROW(v, ROW(g, NULL::text))]'), ('any_row(v, i % 3)')) AS values (value);
CREATE DOMAIN bounded AS int4;
CREATE TYPE bounded_pair AS (number bounded, word text);
CREATE TABLE old (i int, g int, a bounded[], p bounded_pair, n bounded_pair[]) PARTITION BY RANGE (i);
CREATE TABLE old1 PARTITION OF old FOR VALUES FROM (0) TO (2000);
CREATE TABLE old2 PARTITION OF old FOR VALUES FROM (2000) TO (5000);
INSERT INTO old SELECT i, i % 7, ARRAY[i % 30 - 5, NULL]::bounded[], ROW(i % 20 - 5, 'x')::bounded_pair, ARRAY[ROW(i % 20 - 5, 'x')::bounded_pair] FROM generate_series(1, 4000) AS i;
ANALYZE old;
ALTER DOMAIN bounded ADD CONSTRAINT not_less CHECK (VALUE >= 0) NOT VALID;
SELECT same_partially(format('SELECT g, gpu_count_distinct(%1$s) AS a, gpu_percentile_disc(%1$s, 0.4)::text AS b FROM old GROUP BY g', value),
	format('SELECT g, count(DISTINCT %1$s) AS a, (percentile_disc(0.4) WITHIN GROUP (ORDER BY %1$s))::text AS b FROM old GROUP BY g', value),
	'a constraint that is not valid: ' || value)
FROM (VALUES ('a'), ('p'), ('n')) AS values (value);
-- values that are kept elsewhere, and compressed, and expanded objects
SELECT check_partial('opaque_pair', 'ROW(i % 10, (''\x'' || repeat(md5((i % 100)::text), 1 + i % 5 * 80))::opaque)::opaque_pair', NULL, false, 700);
SELECT check_partial('opaque[]', 'ARRAY[(''\x'' || repeat(md5((i % 100)::text), 1 + i % 5 * 80))::opaque]', NULL, false, 700);
CREATE FUNCTION grown(v int) RETURNS bounded_pair[] LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
DECLARE
	result bounded_pair[];
BEGIN
	FOR i IN 1 .. 3 LOOP
		result[i] := ROW(v + i, repeat('x', v % 5))::bounded_pair;
	END LOOP;
	RETURN result;
END $$;
SELECT make_partitions('int4', :'runs' || ' % 100', 2000) \g /dev/null
SELECT same_partially('SELECT g, gpu_count_distinct(grown(v)) AS a, gpu_percentile_disc(grown(v), 0.4) AS b FROM p GROUP BY g',
	'SELECT g, count(DISTINCT grown(v)) AS a, percentile_disc(0.4) WITHIN GROUP (ORDER BY grown(v)) AS b FROM p GROUP BY g', 'expanded arrays');

-- text in languages, under collations of all kinds, and for a client with another encoding
SELECT EXISTS (SELECT FROM pg_collation WHERE collname = 'en-x-icu') AND getdatabaseencoding() = 'UTF8' AS icu \gset
\if :icu
CREATE COLLATION anycase (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
SELECT make_partitions('text', '(ARRAY[''Äpfel'', ''äpfel'', ''apfel'', ''Zebra'', ''zebra''])[1 + i % 5] || ' || :'runs' || ' % 50', 4000) \g /dev/null
SELECT same_partially('SELECT g, gpu_count_distinct(v COLLATE anycase) AS a, gpu_sort_agg(v COLLATE "en-x-icu") COLLATE "C" AS b, gpu_percentile_disc(v COLLATE "en-x-icu", 0.3) COLLATE "C" AS c,
		gpu_rle(v COLLATE anycase, k)::text COLLATE "C" AS d FROM p GROUP BY g',
	'SELECT g, count(DISTINCT v COLLATE anycase) AS a, array_agg(v ORDER BY v COLLATE "en-x-icu") COLLATE "C" AS b, percentile_disc(0.3) WITHIN GROUP (ORDER BY v COLLATE "en-x-icu") COLLATE "C" AS c,
		gpu_rle(v COLLATE anycase ORDER BY k)::text COLLATE "C" AS d FROM p GROUP BY g', 'text in languages');
\endif
SET client_encoding = 'LATIN1';
SELECT check_partial('pair', 'ROW(' || :'runs' || ' % 20, chr(228) || i % 3, (enum_range(NULL::mood))[1 + i % 4])::pair');
SELECT check_partial('jsonb', 'jsonb_build_object(chr(228), ' || :'runs' || ' % 20)');
-- a type whose comparison looks at the encoding in which its messages would go out
CREATE TYPE sent;
CREATE FUNCTION sent_in(cstring) RETURNS sent LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE AS 'textin';
CREATE FUNCTION sent_out(sent) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE AS 'textout';
CREATE FUNCTION sent_recv(internal) RETURNS sent LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE AS 'textrecv';
CREATE FUNCTION sent_send(sent) RETURNS bytea LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE AS 'textsend';
CREATE TYPE sent (INPUT = sent_in, OUTPUT = sent_out, RECEIVE = sent_recv, SEND = sent_send, LIKE = text);
CREATE FUNCTION sent_bytes_cmp(sent, sent) RETURNS int LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE AS 'byteacmp';
CREATE FUNCTION sent_cmp(a sent, b sent) RETURNS int LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE AS $$
BEGIN
	IF pg_client_encoding() <> 'LATIN1' THEN
		RAISE 'the client''s encoding has become %', pg_client_encoding();
	END IF;
	RETURN partial.sent_bytes_cmp(a, b);
END $$;
SELECT format('CREATE FUNCTION sent_%s(sent, sent) RETURNS bool LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE AS ''bytea%1$s'';
	CREATE OPERATOR %s (LEFTARG = sent, RIGHTARG = sent, FUNCTION = sent_%1$s)', name, op)
FROM (VALUES ('lt', '<'), ('le', '<='), ('eq', '='), ('ge', '>='), ('gt', '>')) AS o (name, op) \gexec
CREATE OPERATOR CLASS sent_ops DEFAULT FOR TYPE sent USING btree AS OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >,
	FUNCTION 1 sent_cmp(sent, sent);
SELECT make_partitions('sent', '(chr(228) || i % 50)::sent', 2000) \g /dev/null
SELECT same_partially('SELECT 0 AS g, gpu_count_distinct(v) AS a, gpu_percentile_disc(v, 0.3)::text AS b FROM p',
	'SELECT 0 AS g, count(DISTINCT v) AS a, (percentile_disc(0.3) WITHIN GROUP (ORDER BY v))::text AS b FROM p', 'during comparisons', '{partitions}');
SELECT is(pg_client_encoding(), 'LATIN1', 'and the client''s encoding stays');
RESET client_encoding;

-- values too large for a row of a page, and compressed ones
SELECT check_partial('text', 'repeat(md5((i % 100)::text), 1 + i % 5 * 80)', 'text', false, 700);
SELECT check_partial('bytea', '(''\x'' || repeat(md5((i % 100)::text), 1 + i % 5 * 80))', NULL, false, 700);

-- states that have spilled where they come from, and where they are combined
SET gpusort.work_mem = '1MB';
SELECT check_partial('int8', 'hashint4extended(i / 40, 3)', 'int8', true, 70000, false);
SELECT check_partial('int8', 'hashint4extended(i, 3)', 'int8', true, 70000, false);
SELECT check_partial('text', 'md5((hashint4(i / 30) % 30000)::text)', 'text', false, 30000, false);
SELECT check_partial('numeric', '(hashint4(i / 30) % 100000)::numeric / 100', 'numeric', false, 50000, false);
SELECT check_partial('jsonb', 'jsonb_build_object(''a'', hashint4(i / 3) % 5000)', NULL, false, 30000, false);
RESET gpusort.work_mem;

-- other plans: states in hash tables, in sorted groups, below HAVING and a subquery
SELECT make_partitions('int4', 'hashint4(i) % 5000', 20000) \g /dev/null
SET work_mem = '1GB';
SET enable_sort = off;
SELECT same_partially('SELECT g, gpu_median(v) AS a, gpu_count_distinct(v) AS b FROM p GROUP BY 1',
	'SELECT g, percentile_cont(0.5) WITHIN GROUP (ORDER BY v) AS a, count(DISTINCT v) AS b FROM p GROUP BY 1', 'groups in hash tables');
RESET enable_sort;
SET enable_hashagg = off;
SELECT same_partially('SELECT h AS g, gpu_median(v) AS a, gpu_count_distinct(v) AS b, gpu_rle(v, k) AS c FROM p GROUP BY 1',
	'SELECT h AS g, percentile_cont(0.5) WITHIN GROUP (ORDER BY v) AS a, count(DISTINCT v) AS b, gpu_rle(v ORDER BY k) AS c FROM p GROUP BY 1', 'sorted groups');
RESET enable_hashagg;
-- runs in order of a key: states of runs that a leader merges, of rows (few, with NULL keys, of values that do not repeat), and both in one group;
-- within the memory limit and beyond it.  Runs of one partition go on in another one; equal values look different.
CREATE TABLE r (i int, g int, part int, k int8, t text, n numeric, f float8) PARTITION BY LIST (part);
CREATE TABLE r0 PARTITION OF r FOR VALUES IN (0);
CREATE TABLE r1 PARTITION OF r FOR VALUES IN (1);
CREATE TABLE r2 PARTITION OF r FOR VALUES IN (2);
INSERT INTO r SELECT i, CASE WHEN i / 37 % 3 > 0 THEN i % 2 + 1 WHEN i < 400 THEN 1 ELSE 3 END, i / 37 % 3, (i - 9000)::int8 * 1000003,
	CASE WHEN i / 10 % 5 > 0 THEN 'value ' || i / 20 % 7 END, (i / 30 % 4 || repeat('.00', (i % 3 = 0)::int))::numeric,
	(ARRAY['0', '-0', '-0', '1', 'NaN', NULL])[1 + i / 25 % 6]::float8 FROM generate_series(1, 20000) AS i ORDER BY hashint4(i);
ANALYZE r;
CREATE FUNCTION check_runs(label text, keys text[]) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	key text;
	ours text;
BEGIN
	FOREACH key IN ARRAY keys LOOP
		ours := format('SELECT g, gpu_rle(t, %1$s)::text AS a, gpu_rle(n, %1$s)::text AS b, gpu_rle(f, %1$s)::text AS c, gpu_rle(i, %1$s) AS d,
			gpu_rle(g, %1$s) AS e FROM r GROUP BY g', key);
		RETURN QUERY SELECT same_partially(ours, regexp_replace(ours, '(gpu_rle\(.), ', '\1 ORDER BY ', 'g'), label || ' by ' || key);
	END LOOP;
END $$;
SELECT check_runs('runs', ARRAY['k', 'i', '(i - 10000)::int2', 'k / 8.0::float8', '(-i)::float4', 'date ''2000-01-01'' + i', 'timestamptz ''2000-01-01'' + i * interval ''1 s''',
	'CASE WHEN i <> 700 THEN i END', 'CASE WHEN i = 700 THEN float8 ''NaN'' WHEN i = 80 THEN ''-Infinity'' ELSE i END', 'lpad(i::text, 7)', 'i::numeric']);
INSERT INTO r SELECT i + 20000, g, part, k + 30000 * 1000003::int8, t, n, f FROM r;
ANALYZE r;
SET gpusort.work_mem = '1MB';
SELECT check_runs('spilled runs', '{k,k / 8.0::float8,CASE WHEN i <> 700 THEN k END,i}');
RESET gpusort.work_mem;
SELECT same_partially('SELECT g, a FROM (SELECT g, gpu_median(v) AS a, gpu_count_distinct(v) AS b FROM p GROUP BY g HAVING gpu_count_distinct(v) > 3) AS s',
	'SELECT g, percentile_cont(0.5) WITHIN GROUP (ORDER BY v) AS a FROM p GROUP BY g HAVING count(DISTINCT v) > 3', 'HAVING');
SELECT plan_as('workers') \g /dev/null
SELECT ok(pg_temp.plan_of('SELECT gpu_median(DISTINCT v), gpu_rle(v ORDER BY k) FROM p') !~ 'Partial', 'DISTINCT and ORDER BY inside are not for workers');
SELECT ok(pg_temp.plan_of('SELECT gpu_rle(v) FROM p') !~ 'Partial', 'nor are runs of rows as they come');
SELECT ok(pg_temp.plan_of('SELECT gpu_median(v) FROM p', 'ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF') ~ 'Workers Launched: [12]', 'workers are launched');
SELECT throws_ok('SELECT gpu_percentile_cont(v, i / 100000.0) FROM p', '22023', 'percentile value must be the same in all rows of a group');
SELECT throws_ok('SELECT gpu_percentile_cont(v, 1 + g) FROM p', '22003');
CREATE FUNCTION cancelled(query text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE query;
	RETURN false;
EXCEPTION WHEN query_canceled THEN
	RETURN pg_temp.plan_of(query) ~ 'Partial';
END $$;
-- by a worker, in the middle
CREATE FUNCTION cancels(i int, leader int) RETURNS boolean LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE AS $$
BEGIN
	IF i = 10000 THEN
		PERFORM pg_cancel_backend(leader);
		PERFORM pg_sleep(3600);
	END IF;
	RETURN true;
END $$;
SELECT ok(cancelled(format('SELECT gpu_sort_agg(v::text), gpu_rle(v, k::text) FROM p WHERE cancels(i, %s)', pg_backend_pid())),
	'workers are cancelled with their leader');
SELECT plan_as('partitions') \g /dev/null
SELECT throws_ok('SELECT gpu_percentile_cont(v, (i > 10000)::int / 2.0) FROM p', '22023', 'percentile value must be the same in all rows of a group', 'fractions of partitions');
SET temp_file_limit = '64kB';
SET gpusort.work_mem = '1MB';
SELECT throws_ok('SELECT gpu_count_distinct(md5(k::text)) FROM p', '53400', NULL, 'temporary files count');
RESET temp_file_limit;
RESET gpusort.work_mem;
RESET search_path;
SET client_min_messages = error;
DROP SCHEMA partial CASCADE;
SELECT * FROM finish();
