-- PostgreSQL's aggregates that sort for themselves, with ours in their place: the same rows, columns and errors, and where nothing is replaced.
\ir setup.psql
DROP FUNCTION pg_temp.check_type(text, text[], text, integer);
CREATE EXTENSION IF NOT EXISTS gpusort;
SELECT * FROM no_plan();
SET jit = off;
-- from 16 on the server sorts for one DISTINCT of each group, which is as good
DO $$ BEGIN IF current_setting('server_version_num')::int >= 160000 THEN SET enable_presorted_aggregate = off; END IF; END $$;

-- The columns of a temporary table.
CREATE FUNCTION pg_temp.columns_of(name text) RETURNS text LANGUAGE sql AS $$
	SELECT string_agg(format('%s %s %s', attname, format_type(atttypid, atttypmod), attcollation), ', ' ORDER BY attnum)
	FROM pg_attribute WHERE attrelid = ('pg_temp.' || name)::regclass AND attnum > 0
$$;

-- The rows of a temporary table, in any order.
CREATE FUNCTION pg_temp.rows_of(name text) RETURNS text[] LANGUAGE plpgsql AS $$
DECLARE
	result text[];
BEGIN
	EXECUTE format('SELECT array_agg(t::text ORDER BY t::text COLLATE "C") FROM pg_temp.%I AS t', name) INTO result;
	RETURN result;
END $$;

-- Three tests: does the plan of a query hold aggregates of ours, and are its columns and rows those of PostgreSQL's?
CREATE FUNCTION pg_temp.same_rows(query text, replaced boolean, label text) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
	SET gpusort.aggregates = off;
	RETURN NEXT unalike(pg_temp.plan_of(query, 'VERBOSE, COSTS OFF'), '%gpu\_%', label || ': switched off');
	EXECUTE 'CREATE TEMP TABLE theirs AS ' || query;
	SET gpusort.aggregates = on;
	IF replaced THEN
		RETURN NEXT alike(pg_temp.plan_of(query, 'VERBOSE, COSTS OFF'), '%gpu\_%', label || ': replaced');
	ELSE
		RETURN NEXT unalike(pg_temp.plan_of(query, 'VERBOSE, COSTS OFF'), '%gpu\_%', label || ': left alone');
	END IF;
	EXECUTE 'CREATE TEMP TABLE ours AS ' || query;
	RETURN NEXT is(pg_temp.columns_of('ours'), pg_temp.columns_of('theirs'), label || ': columns');
	RETURN NEXT is(pg_temp.rows_of('ours'), pg_temp.rows_of('theirs'), label || ': rows');
	DROP TABLE ours, theirs;
END $$;

-- Every query over values of a type.  Some groups are small, one is large, one has nothing but NULLs, one has no rows with f.
CREATE FUNCTION pg_temp.check_type(type text, generator text, continuous boolean DEFAULT false) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	query text;
BEGIN
	EXECUTE format('CREATE TEMP TABLE v AS SELECT CASE WHEN i %% 2 = 0 THEN 0 ELSE i %% 40 END AS g, i %% 3 = 0 AND i %% 40 <> 7 AS f,
		CASE WHEN i %% 40 <> 9 AND i %% 11 <> 0 THEN (%s)::%s END AS x, i FROM generate_series(1, 3000) AS i', generator, type);
	FOREACH query IN ARRAY ARRAY[
		'SELECT count(DISTINCT x) FROM v',
		'SELECT count(DISTINCT x), count(x) AS n, count(*) AS rows FROM v WHERE i < 0',
		'SELECT g, count(DISTINCT x) FROM v GROUP BY g',
		'SELECT count(DISTINCT x) FILTER (WHERE f) AS "N", g, count(DISTINCT f) FROM v GROUP BY g HAVING count(DISTINCT x) > 3 ORDER BY count(DISTINCT x)',
		'SELECT count(DISTINCT x ORDER BY x DESC) FROM v',
		'SELECT percentile_disc(0.37) WITHIN GROUP (ORDER BY x) FROM v',
		'SELECT g, percentile_disc(0) WITHIN GROUP (ORDER BY x), percentile_disc(0) WITHIN GROUP (ORDER BY x) FILTER (WHERE f) AS filtered FROM v GROUP BY g',
		'SELECT g, percentile_disc(1) WITHIN GROUP (ORDER BY x NULLS FIRST), max(i), count(DISTINCT x) FROM v GROUP BY g',
		'SELECT g, percentile_disc(0.2) WITHIN GROUP (ORDER BY x), percentile_disc(g / 100.0) WITHIN GROUP (ORDER BY x) AS high, mode() WITHIN GROUP (ORDER BY x) FROM v GROUP BY g',
		'SELECT mode() WITHIN GROUP (ORDER BY x), mode() WITHIN GROUP (ORDER BY x) FILTER (WHERE f) AS filtered, mode() WITHIN GROUP (ORDER BY x) FILTER (WHERE i < 0) AS n FROM v',
		'SELECT g, percentile_disc(0.5) WITHIN GROUP (ORDER BY x) FROM v WHERE i < 0 GROUP BY g'] LOOP
		RETURN QUERY SELECT pg_temp.same_rows(query, true, type || ', ' || query);
	END LOOP;
	IF type !~ '\[\]$' THEN
		query := 'SELECT g, percentile_disc(ARRAY[[0.5, NULL, 0], [1, 0.37, 0.5]]) WITHIN GROUP (ORDER BY x), percentile_disc(''{}''::float8[]) WITHIN GROUP (ORDER BY x) AS n,
			percentile_disc(NULL::float8[]) WITHIN GROUP (ORDER BY x) AS m FROM v GROUP BY g';
		RETURN QUERY SELECT pg_temp.same_rows(query, true, type || ', ' || query);
	END IF;
	RETURN QUERY SELECT pg_temp.same_rows('SELECT g, percentile_disc(0.3) WITHIN GROUP (ORDER BY x DESC), mode() WITHIN GROUP (ORDER BY x DESC) FROM v GROUP BY g', false,
		type || ', descending');
	IF continuous THEN
		FOREACH query IN ARRAY ARRAY[
			'SELECT percentile_cont(0.37) WITHIN GROUP (ORDER BY x) FROM v',
			'SELECT g, percentile_cont(0.123456789) WITHIN GROUP (ORDER BY x), percentile_cont(1) WITHIN GROUP (ORDER BY x) FILTER (WHERE f) AS last FROM v GROUP BY g',
			'SELECT g, percentile_cont(''[3:5]={0.1,0.987654321,0.5}''::float8[]) WITHIN GROUP (ORDER BY x), percentile_cont(ARRAY[0.3, NULL, 0.3, 0.31, 0.311, 0.99, 1, 0])
				WITHIN GROUP (ORDER BY x) FILTER (WHERE f) AS n FROM v GROUP BY g',
			'SELECT percentile_cont(0.3) WITHIN GROUP (ORDER BY x), percentile_cont(0.6) WITHIN GROUP (ORDER BY x) AS high FROM v',
			'SELECT g, percentile_cont(0.5) WITHIN GROUP (ORDER BY x), percentile_disc(0.5) WITHIN GROUP (ORDER BY x) FROM v WHERE f GROUP BY g'] LOOP
			RETURN QUERY SELECT pg_temp.same_rows(query, true, type || ', ' || query);
		END LOOP;
	END IF;
	DROP TABLE v;
END $$;

\set r 'abs(hashint4extended(i, 1))'
SELECT pg_temp.check_type('bool', :'r' || ' % 2 = 0');
SELECT pg_temp.check_type('"char"', 'chr(65 + (' || :'r' || ' % 20)::int)');
SELECT pg_temp.check_type('int2', :'r' || ' % 1000 - 500', true);
SELECT pg_temp.check_type('int4', :'r' || ' % 100000', true);
SELECT pg_temp.check_type('int8', 'hashint4extended(i / 2, 3)', true);
SELECT pg_temp.check_type('oid', :'r' || ' % 4000');
SELECT pg_temp.check_type('float4', 'CASE i % 70 WHEN 0 THEN ''NaN'' WHEN 1 THEN ''-Infinity'' ELSE ((' || :'r' || ' % 5000 + 1) / 7.0)::text END', true);
SELECT pg_temp.check_type('float8', 'CASE i % 70 WHEN 0 THEN ''NaN'' WHEN 1 THEN ''Infinity'' ELSE ((' || :'r' || ' % 5000 + 1) / 7.0)::text END', true);
SELECT pg_temp.check_type('numeric', 'CASE i % 70 WHEN 0 THEN ''NaN'' WHEN 1 THEN ''Infinity'' ELSE ((' || :'r' || ' % 5000)::numeric / 100)::text END', true);
SELECT pg_temp.check_type('numeric(12,2)', '(' || :'r' || ' % 1000000)::numeric / 100', true);
CREATE DOMAIN pg_temp.price AS numeric(10,2);
SELECT pg_temp.check_type('pg_temp.price', '(' || :'r' || ' % 1000000)::numeric / 100', true);
SELECT pg_temp.check_type('money', '((' || :'r' || ' % 4000) / 100.0)::numeric');
SELECT pg_temp.check_type('date', 'date ''2000-01-01'' + (' || :'r' || ' % 1000 - 500)::int');
SELECT pg_temp.check_type('time', 'time ''00:00'' + ' || :'r' || ' % 1000 * interval ''1 min''');
SELECT pg_temp.check_type('timetz', '(time ''00:00'' + ' || :'r' || ' % 1000 * interval ''1 min'')::text || ''+01''');
SELECT pg_temp.check_type('timestamp', 'timestamp ''2000-01-01'' + ' || :'r' || ' % 1000 * interval ''7 min''');
SELECT pg_temp.check_type('timestamptz', 'timestamptz ''2000-01-01'' + ' || :'r' || ' % 1000 * interval ''7 min''');
SELECT pg_temp.check_type('interval', :'r' || ' % 1000 * interval ''1 hour 1 second''', true);
SELECT pg_temp.check_type('uuid', 'md5((' || :'r' || ' % 300)::text)::uuid');
SELECT pg_temp.check_type('text', 'repeat(chr(97 + (' || :'r' || ' % 20)::int), (i % 5)::int)');
SELECT pg_temp.check_type('text COLLATE "C"', 'repeat(chr(97 + (' || :'r' || ' % 20)::int), (i % 5)::int)');
SELECT pg_temp.check_type('varchar(20)', '''prefix '' || ' || :'r' || ' % 500');
SELECT pg_temp.check_type('char(12)', '(' || :'r' || ' % 500)::text');
SELECT pg_temp.check_type('name', 'md5((' || :'r' || ' % 300)::text)');
SELECT pg_temp.check_type('bytea', '''\x'' || substr(md5((' || :'r' || ' % 300)::text), 1, 8)');
SELECT pg_temp.check_type('bit(7)', '(' || :'r' || ' % 100)::int::bit(7)');
SELECT pg_temp.check_type('varbit', '(' || :'r' || ' % 100)::int::bit(7)');
SELECT pg_temp.check_type('inet', '''10.0.0.0''::inet + ' || :'r' || ' % 1000');
SELECT pg_temp.check_type('cidr', '(''10.0.'' || ' || :'r' || ' % 100 || ''.0/24'')');
SELECT pg_temp.check_type('macaddr', 'substr(md5((' || :'r' || ' % 300)::text), 1, 12)');
SELECT pg_temp.check_type('macaddr8', 'substr(md5((' || :'r' || ' % 300)::text), 1, 16)');
SELECT pg_temp.check_type('tid', '(''('' || ' || :'r' || ' % 300 || '',1)'')');
SELECT pg_temp.check_type('pg_lsn', '(''0/'' || to_hex(' || :'r' || ' % 300))');
CREATE TYPE pg_temp.mood AS ENUM ('sad', 'ok', 'happy');
SELECT pg_temp.check_type('pg_temp.mood', '(enum_range(NULL::pg_temp.mood))[1 + ' || :'r' || ' % 3]');
CREATE DOMAIN pg_temp.positive AS int4 CHECK (VALUE >= 0);
SELECT pg_temp.check_type('pg_temp.positive', :'r' || ' % 1000', true);
CREATE DOMAIN pg_temp.words AS text;
SELECT pg_temp.check_type('pg_temp.words', :'r' || ' % 1000');
CREATE TYPE pg_temp.pair AS (a int, b text);
SELECT pg_temp.check_type('pg_temp.pair', 'ROW(' || :'r' || ' % 20, ''b'' || i % 3)');
SELECT pg_temp.check_type('int4[]', 'ARRAY[' || :'r' || ' % 20, i % 3]');
SELECT pg_temp.check_type('text[]', 'ARRAY[(' || :'r' || ' % 20)::text, NULL]');
SELECT pg_temp.check_type('jsonb', 'jsonb_build_object(''a'', ' || :'r' || ' % 20)');
SELECT pg_temp.check_type('int4range', 'int4range((' || :'r' || ' % 20)::int, 30)');
SELECT pg_temp.check_type('int4multirange', 'int4multirange(int4range((' || :'r' || ' % 20)::int, 30))');
SELECT pg_temp.check_type('tsvector', '(''word'' || ' || :'r' || ' % 20)');

-- equal values that look different, each counted once
CREATE TEMP TABLE v AS SELECT i % 5 AS g, (ARRAY[1.0, 1.00, 2, 'NaN', NULL])[1 + i % 5] AS n, (ARRAY['0', '-0', 'NaN', '1', NULL])[1 + i % 5]::float8 AS f,
	i, 'w' || i % 7 AS w FROM generate_series(1, 2000) AS i;
SELECT pg_temp.same_rows('SELECT count(DISTINCT n) AS a, count(DISTINCT f) AS b, count(DISTINCT (n, f)) AS c, count(DISTINCT -f) AS d FROM v', true, 'equal values');
SELECT pg_temp.same_rows('SELECT count(DISTINCT ROW(n, w)) AS c FROM v', true, 'anonymous rows');
SELECT pg_temp.same_rows('SELECT count(DISTINCT ''x'') AS a, count(DISTINCT NULL) AS b, count(DISTINCT 1) AS c FROM v', true, 'constants');

-- numerics become the same doubles as by way of text, to the last bit
SELECT is((SELECT count(*) FILTER (WHERE float8send(m) <> float8send(f)) FROM (
		SELECT i, gpu_median(n) AS m, min(n)::float8 AS f FROM (
			SELECT i, round(hashint8extended(i, 1)::numeric / 9223372036854775808 * power(10::numeric, i % 17), i % 9) * power(10::numeric, i % 11 * 4 - 20) AS n
			FROM generate_series(1, 20000) AS i) AS s GROUP BY i) AS t), 0::bigint, 'numeric as double precision');
SELECT is((SELECT gpu_percentile_cont(v, 1) FROM unnest(ARRAY[n, n]) AS v), n::float8, 'special numerics: ' || n)
	FROM unnest('{0,-0.0,NaN,Infinity,-Infinity,9007199254740992,9007199254740993,99999999999999999999,1e22,1e23,-1e-22,1e-23}'::numeric[]) AS n;
SELECT throws_ok($$SELECT percentile_cont(0) WITHIN GROUP (ORDER BY x) FROM unnest('{1,1e400}'::numeric[]) AS x$$, '22003', NULL, 'a numeric too large for double precision');

-- queries of every form
SELECT pg_temp.same_rows('SELECT count(DISTINCT g), sum(DISTINCT g), string_agg(w, '','' ORDER BY i), percentile_cont(0.5) WITHIN GROUP (ORDER BY i) FROM v', true,
						 'beside other aggregates');
SELECT pg_temp.same_rows('SELECT g + count(DISTINCT w) * 2 AS sum, count(DISTINCT lower(w)) AS n FROM v GROUP BY g', true, 'in expressions');
SELECT pg_temp.same_rows('SELECT * FROM (SELECT g, count(DISTINCT w) FROM v GROUP BY g) AS s JOIN (SELECT count(DISTINCT g) AS n FROM v) AS t ON n = count', true, 'subqueries');
SELECT pg_temp.same_rows('SELECT g, (SELECT count(DISTINCT w) FROM v AS o WHERE o.g = v.g) FROM v WHERE i < 20', true, 'a correlated subquery');
SELECT pg_temp.same_rows('WITH c AS MATERIALIZED (SELECT count(DISTINCT w) FROM v) SELECT * FROM c UNION ALL SELECT count(DISTINCT i) FROM v', true, 'WITH and UNION');
SELECT pg_temp.same_rows('SELECT g, count(DISTINCT w), rank() OVER (ORDER BY count(DISTINCT w), g), sum(count(DISTINCT i)) OVER () FROM v GROUP BY g', true, 'below window functions');
SELECT pg_temp.same_rows('SELECT DISTINCT count(DISTINCT w) FROM v GROUP BY g, i % 3', true, 'DISTINCT rows of it');
SELECT pg_temp.same_rows('SELECT v.g, l.n FROM v, LATERAL (SELECT count(DISTINCT o.w) AS n FROM v AS o WHERE o.g <= v.g) AS l WHERE i < 10', true, 'LATERAL');
SELECT pg_temp.same_rows('SELECT g, generate_series(1, count(DISTINCT w)) FROM v GROUP BY g', true, 'below a set-returning function');
SELECT pg_temp.same_rows('SELECT count(DISTINCT w), percentile_disc(0.5) WITHIN GROUP (ORDER BY i) FROM v GROUP BY ()', false, 'an empty grouping set');
SELECT pg_temp.same_rows('SELECT count(*), (SELECT count(DISTINCT g) FROM v) AS n FROM v', true, 'only in a subquery');
SELECT pg_temp.same_rows('SELECT (SELECT count(DISTINCT v.w)) FROM v', false, 'an aggregate of the query around');
SELECT pg_temp.same_rows('SELECT count(DISTINCT w COLLATE "C"), percentile_disc(0.4) WITHIN GROUP (ORDER BY w COLLATE "C") FROM v', true, 'collations');
SELECT pg_temp.same_rows('SELECT percentile_cont(1) WITHIN GROUP (ORDER BY i), percentile_disc(0::float8) WITHIN GROUP (ORDER BY w) FROM v', true, 'fractions of other types');
SET work_mem = '1GB';
SELECT doesnt_match(pg_temp.plan_of('SELECT g, count(DISTINCT w) FROM v GROUP BY g', 'COSTS OFF'), 'HashAggregate', 'no hash table holds the values of all groups');
RESET work_mem;

-- fractions of every kind
SELECT pg_temp.same_rows('SELECT percentile_disc(ARRAY[0.5, 0.9]) WITHIN GROUP (ORDER BY i), mode() WITHIN GROUP (ORDER BY w) FROM v', true, 'many fractions, and none');
SELECT pg_temp.same_rows('SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY i), percentile_disc(0.9) WITHIN GROUP (ORDER BY i) AS high FROM v', true, 'fractions that share a sort');
SELECT pg_temp.same_rows('SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY i), mode() WITHIN GROUP (ORDER BY i) FROM v', true, 'mode and a percentile, that share one');
SELECT pg_temp.same_rows('SELECT g, percentile_disc(g / 10.0) WITHIN GROUP (ORDER BY i) FROM v GROUP BY g', true, 'a fraction for each group');
SELECT pg_temp.same_rows('SELECT percentile_cont(0.1 + 0.2) WITHIN GROUP (ORDER BY i) FROM v', true, 'a fraction to be computed');
SELECT pg_temp.same_rows('SELECT percentile_disc(NULL) WITHIN GROUP (ORDER BY i) FROM v', true, 'no fraction');
SELECT pg_temp.same_rows('SELECT percentile_cont(ARRAY[0.1, 0.9]) WITHIN GROUP (ORDER BY i), percentile_disc(0.5) WITHIN GROUP (ORDER BY i::float8) FROM v HAVING mode() WITHIN GROUP (ORDER BY i) < 10', true, 'in HAVING, too');
SELECT pg_temp.same_rows('SELECT percentile_disc((SELECT avg(f) / 10 FROM v WHERE f <> ''NaN'')) WITHIN GROUP (ORDER BY w) FROM v', true, 'one from a subquery');
SELECT pg_temp.same_rows('SELECT rank(5) WITHIN GROUP (ORDER BY i), percentile_disc(0.5) WITHIN GROUP (ORDER BY i) FROM v', true, 'beside a hypothetical row');
SET gpusort.work_mem = '1MB';
CREATE TEMP TABLE many AS SELECT i % 2 AS g, hashint4(i) % 5000 AS x, md5((hashint4(i) % 5000)::text) AS t, (hashint4(i) % 5000) * interval '1 min' AS s FROM generate_series(1, 150000) AS i;
SELECT pg_temp.same_rows(format('SELECT g, percentile_disc(ARRAY[0.5, 0, 1, 0.50001, 0.2, NULL]) WITHIN GROUP (ORDER BY %1$s), mode() WITHIN GROUP (ORDER BY %1$s),
	percentile_disc(0.7) WITHIN GROUP (ORDER BY %1$s) AS last FROM many GROUP BY g', x), true, 'spilled: ' || x) FROM unnest('{x,t,s}'::text[]) AS x;
SELECT pg_temp.same_rows('SELECT percentile_cont(ARRAY[0.5, 0, 1, 0.50001, 0.200001]) WITHIN GROUP (ORDER BY x), percentile_cont(ARRAY[0.3333, 0.3334]) WITHIN GROUP (ORDER BY s) AS t FROM many', true, 'spilled: between');
RESET gpusort.work_mem;
SELECT pg_temp.same_rows(format('SELECT g, percentile_disc(ARRAY[0.5, 0, 1, 0.50001, 0.2, NULL]) WITHIN GROUP (ORDER BY %1$s), mode() WITHIN GROUP (ORDER BY %1$s) FROM many GROUP BY g', x),
	true, 'many rows: ' || x) FROM unnest('{x,t,s}'::text[]) AS x;
SELECT throws_ok('SELECT gpu_percentile_disc_within(0.5) WITHIN GROUP (ORDER BY i DESC) FROM v', '0A000', 'only the ascending order of a type is supported here');
SELECT throws_ok('SELECT percentile_cont(ARRAY[0.5, 1.5]) WITHIN GROUP (ORDER BY i) FROM v', '22003', 'percentile value 1.5 is not between 0 and 1');
SELECT is(percentile_cont(ARRAY[1.5]) WITHIN GROUP (ORDER BY i), NULL, 'of no rows, as PostgreSQL') FROM v WHERE i < 0;

-- what is left alone
SELECT pg_temp.same_rows('SELECT g, count(DISTINCT w), percentile_disc(0.5) WITHIN GROUP (ORDER BY i) FROM v GROUP BY ROLLUP (g)', false, 'grouping sets');
SELECT pg_temp.same_rows('SELECT count(DISTINCT i + floor(random())) FROM v', false, 'volatile arguments');
SELECT pg_temp.same_rows('SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY i + floor(random())) FROM v', false, 'volatile values');
SELECT pg_temp.same_rows('SELECT CASE WHEN false THEN percentile_cont(1.0 / 0) WITHIN GROUP (ORDER BY i) ELSE 1 END FROM v', false, 'one that would be an error, and is not asked for');
SELECT pg_temp.same_rows('SELECT CASE WHEN false THEN percentile_cont(1e-400) WITHIN GROUP (ORDER BY i) ELSE 1 END FROM v', false, 'one that double precision does not have');
SELECT pg_temp.same_rows('SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY w USING ~<~), percentile_disc(0.5) WITHIN GROUP (ORDER BY w USING >) AS last FROM v', false, 'other orders');
SELECT pg_temp.same_rows('SELECT g, sum(DISTINCT i), count(i) AS n, count(*), array_agg(DISTINCT w) FROM v GROUP BY g', false, 'other aggregates');
SELECT pg_temp.same_rows('SELECT i, count(w) OVER (ORDER BY i ROWS BETWEEN 3 PRECEDING AND CURRENT ROW) FROM v', false, 'moving frames');
CREATE AGGREGATE pg_temp.count("any") (SFUNC = int8inc_any, STYPE = int8, INITCOND = '0');
SELECT pg_temp.same_rows('SELECT pg_temp.count(DISTINCT w) FROM v', false, 'an aggregate of the same name');
SET enable_partitionwise_aggregate = on;
CREATE TEMP TABLE parts (g int, x int) PARTITION BY LIST (g);
CREATE TEMP TABLE part1 PARTITION OF parts FOR VALUES IN (1);
CREATE TEMP TABLE part2 PARTITION OF parts FOR VALUES IN (2);
INSERT INTO parts SELECT 1 + i % 2, i % 100 FROM generate_series(1, 3000) AS i;
SELECT pg_temp.same_rows('SELECT g, count(DISTINCT x) FROM parts GROUP BY g', true, 'partitions, aggregated each');
SELECT pg_temp.same_rows('SELECT count(DISTINCT x) FROM parts', true, 'partitions');
-- gpusort's aggregates cost what PostgreSQL's do: over many small partitions, of which together nothing or little is known, the plan is that of PostgreSQL's.
CREATE TABLE pg_temp.spread (g int, v int, t text) PARTITION BY HASH (g);
DO $$ BEGIN
	FOR i IN 0 .. 99 LOOP
		EXECUTE format('CREATE TABLE pg_temp.spread_%1$s PARTITION OF pg_temp.spread FOR VALUES WITH (MODULUS 100, REMAINDER %1$s)', i);
	END LOOP;
END $$;
CREATE FUNCTION pg_temp.same_plans(known text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	query text;
	theirs text;
BEGIN
	FOREACH query IN ARRAY ARRAY['SELECT g, count(DISTINCT v) FROM spread GROUP BY g', 'SELECT g, count(DISTINCT v) FROM spread GROUP BY g ORDER BY g',
		'SELECT g, v, count(DISTINCT t) FROM spread GROUP BY g, v', 'SELECT v, count(DISTINCT t) FROM spread GROUP BY v',
		'SELECT g, percentile_disc(0.5) WITHIN GROUP (ORDER BY v) FROM spread GROUP BY g'] LOOP
		SET gpusort.aggregates = off;
		theirs := pg_temp.plan_of(query);
		SET gpusort.aggregates = on;
		RETURN NEXT is(pg_temp.plan_of(query), theirs, known || ': ' || query);
	END LOOP;
END $$;
RESET gpusort.min_rows;
SELECT pg_temp.same_plans('nothing is known');
INSERT INTO spread SELECT i * 7919 % 100, i * 31 % 15, md5((i % 37)::text) FROM generate_series(1, 2000) i;
SELECT format('ANALYZE spread_%s', i) FROM generate_series(0, 99) i \gexec
SELECT pg_temp.same_plans('the partitions are known');
ANALYZE spread;
SELECT pg_temp.same_plans('all is known');
SET gpusort.min_rows = 0;
RESET enable_partitionwise_aggregate;

-- workers get shares, but not of few rows
CREATE TABLE replaced_few AS SELECT i, md5((i % 37)::text) AS t FROM generate_series(1, 2000) i;
ANALYZE replaced_few;
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 1;
SET min_parallel_table_scan_size = 0;
SELECT alike(pg_temp.plan_of('SELECT count(DISTINCT t) FROM replaced_few', 'VERBOSE'), '%PARTIAL%gpu\_count\_distinct%', 'split between workers');
SET gpusort.min_rows = 1;
SELECT unalike(pg_temp.plan_of('SELECT count(DISTINCT t) FROM replaced_few', 'VERBOSE'), '%PARTIAL%', 'few rows are not');
SET gpusort.min_rows = 0;
SET max_parallel_workers_per_gather = 0;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;
DROP TABLE replaced_few;

DO $$ BEGIN IF current_setting('server_version_num')::int >= 160000 THEN SET enable_presorted_aggregate = on; END IF; END $$;
SELECT pg_temp.same_rows('SELECT g, count(DISTINCT w), count(i) AS n FROM v GROUP BY g', current_setting('server_version_num')::int < 160000, 'one DISTINCT for each group');
SELECT pg_temp.same_rows('SELECT g, count(DISTINCT w), count(DISTINCT i) AS n FROM v GROUP BY g', true, 'two');

-- errors are PostgreSQL's
SELECT throws_ok('SELECT percentile_cont(1.5) WITHIN GROUP (ORDER BY i) FROM v', '22003', 'percentile value 1.5 is not between 0 and 1');
SELECT throws_ok('SELECT percentile_disc(-1) WITHIN GROUP (ORDER BY i) FROM v WHERE i < 0', '22003', 'percentile value -1 is not between 0 and 1');
SELECT throws_ok('SELECT count(DISTINCT point(1, 2)) FROM v', '42883', 'could not identify an equality operator for type point');
SELECT throws_ok('SELECT count(DISTINCT 1 / (i - 5)) FROM v', '22012', 'division by zero');
SELECT throws_ok($$SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY w) FROM v$$, '42883');
SELECT throws_ok($$SELECT count(DISTINCT r) FROM (VALUES (ROW(1, 2)), (ROW(1, 'a'::text))) AS t (r)$$, '42804');

-- views and rules keep what was written
CREATE TEMP VIEW counts AS SELECT g, count(DISTINCT w), percentile_cont(0.5) WITHIN GROUP (ORDER BY i) FROM v GROUP BY g;
SELECT pg_temp.same_rows('SELECT * FROM counts', true, 'a view');
SELECT unalike(pg_get_viewdef('counts'), '%gpu\_%', 'a view is defined as it was written');
PREPARE counted AS SELECT count(DISTINCT w) FROM v WHERE i > $1;
SET plan_cache_mode = force_generic_plan;
SELECT alike(pg_temp.plan_of('EXECUTE counted(5)', 'VERBOSE'), '%gpu\_count\_distinct%', 'a prepared statement');
RESET plan_cache_mode;

-- functions and triggers
CREATE FUNCTION pg_temp.words_of(int) RETURNS bigint LANGUAGE sql AS 'SELECT count(DISTINCT w) FROM pg_temp.v WHERE g = $1';
SELECT is(pg_temp.words_of(1), 7::bigint, 'in a function');
CREATE TEMP TABLE seen (n bigint, m float8);
CREATE FUNCTION pg_temp.see() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO seen SELECT count(DISTINCT w), percentile_cont(0.5) WITHIN GROUP (ORDER BY i) FROM added;
	RETURN NULL;
END $$;
CREATE TRIGGER see AFTER INSERT ON v REFERENCING NEW TABLE AS added FOR EACH STATEMENT EXECUTE FUNCTION pg_temp.see();
INSERT INTO v (i, w) SELECT i, i % 10 FROM generate_series(1, 100) AS i;
SELECT results_eq('SELECT n, m FROM seen', 'SELECT 10::bigint, 50.5::float8', 'in a trigger');

SELECT * FROM finish();
