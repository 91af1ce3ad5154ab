-- States of aggregates: many groups, shared ones, windows whose frames move, spilling, and random tables.
\ir setup.psql
DROP FUNCTION pg_temp.check_type(text, text[], text, integer);
\ir aggregates.psql
CREATE EXTENSION IF NOT EXISTS gpusort;
SELECT * FROM no_plan();

-- One test: two queries give the same rows.
CREATE FUNCTION pg_temp.same_rows(ours text, theirs text, label text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	differing bigint;
	example text;
BEGIN
	EXECUTE format('WITH ours AS MATERIALIZED (%s), theirs AS MATERIALIZED (%s), d AS (
		(SELECT ours::text AS r, ''got'' AS side FROM ours EXCEPT ALL SELECT theirs::text, ''got'' FROM theirs) UNION ALL
		(SELECT theirs::text, ''want'' FROM theirs EXCEPT ALL SELECT ours::text, ''want'' FROM ours))
		SELECT count(*), min(side || '' '' || r) || '', '' || max(side || '' '' || r) FROM d', ours, theirs) INTO differing, example;
	RETURN ok(differing = 0, label) || CASE WHEN differing > 0 THEN E'\n' || diag(format('%s rows differ: %s', differing, left(example, 500))) ELSE '' END;
END $$;

CREATE TEMP TABLE t AS SELECT i, i % 20000 AS g, hashint4(i)::int8 * 1000000 + i AS k, CASE WHEN i % 11 > 0 THEN hashint4(i / 3) % 10 END AS v,
	CASE WHEN i % 13 > 0 THEN 'x' || hashint4(i / 5) % 7 END AS w, (hashint4(i) % 1000) / 8.0::float8 AS f,
	hashint4(i) % 500 * interval '1 hour' AS d
FROM generate_series(1, 100000) AS i;
ANALYZE t;

-- rows that come in order of the key, which are kept as runs: ties, NULLs, keys that do not follow, early, late and often; in one process and several, in groups, in frames that grow
CREATE TABLE ordered AS SELECT i, i / 3 AS k, nullif(i / 40 % 5, 3) AS v, ('1.' || repeat('0', i / 20 % 3))::numeric AS n, repeat(chr(97 + i / 50 % 7), i / 50 % 200) AS s FROM generate_series(1, 40000) AS i;
ALTER TABLE ordered SET (parallel_workers = 2);
ANALYZE ordered;
CREATE FUNCTION pg_temp.same_ordered(key text, which text) RETURNS SETOF text LANGUAGE sql AS $$
	SELECT pg_temp.same_rows(format('SELECT gpu_rle(%s, %s)::text AS r FROM ordered WHERE %s', value, key, which),
		format('SELECT gpu_rle(%s ORDER BY %s, i)::text AS r FROM ordered WHERE %s', value, key, which), format('%s by %s of %s', value, key, which))
	FROM unnest('{v,n,s}'::text[]) AS value
$$;
CREATE FUNCTION pg_temp.all_ordered(which text) RETURNS SETOF text LANGUAGE sql AS $$
	SELECT pg_temp.same_ordered(key, which) FROM unnest(ARRAY['i', 'k', 'k::float8', 'CASE WHEN i = 300 THEN 7 ELSE k END', 'CASE WHEN i = 30000 THEN 7 ELSE k END', 'CASE WHEN i = 30000 THEN NULL ELSE k END', '(i + 20000) % 40000', 'i % 9000', 'i % 300',
		'i / 256 % 2', '-i', 'k::text COLLATE "C"', 'timestamp ''2020-01-01'' + i * interval ''1 s''']) AS key
$$;
SET max_parallel_workers_per_gather = 0;
SELECT pg_temp.all_ordered('i > 0');
SELECT pg_temp.same_rows('SELECT i / 3000 AS g, gpu_rle(v, k)::text AS r FROM ordered GROUP BY 1', 'SELECT i / 3000 AS g, gpu_rle(v ORDER BY k, i)::text AS r FROM ordered GROUP BY 1', 'ordered groups');
SELECT pg_temp.same_rows('SELECT i, cardinality(gpu_rle(v, k) OVER (ORDER BY i)) AS r FROM ordered WHERE i < 700', 'SELECT i, (SELECT cardinality(gpu_rle(v ORDER BY k, i)) FROM ordered AS b WHERE b.i <= a.i) AS r FROM ordered AS a WHERE i < 700', 'ordered frames');
SELECT sum(jobs) AS jobs FROM gpusort_stat WHERE op = 'runs' \gset
SELECT cardinality(gpu_rle(v, i)) FROM ordered \g /dev/null
SELECT is(sum(jobs)::bigint, :jobs::bigint, 'rows in order are no job') FROM gpusort_stat WHERE op = 'runs';
SELECT cardinality(gpu_rle(v, -i)) FROM ordered \g /dev/null
SELECT is(sum(jobs)::bigint, :jobs::bigint + 1, 'those in the other one are') FROM gpusort_stat WHERE op = 'runs';
SET gpusort.work_mem = '1MB';
SELECT pg_temp.same_ordered(key, 'i > 0') FROM unnest(ARRAY['k::float8', 'CASE WHEN i = 30000 THEN 7 ELSE k::int8 END', 'CASE WHEN i = 39000 THEN NULL ELSE k::int8 END', '(i + 20000)::int8 % 40000']) AS key;
RESET gpusort.work_mem;
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SELECT pg_temp.same_rows(format('SELECT gpu_rle(%s, %s)::text AS r FROM ordered', value, key), format('SELECT gpu_rle(%s ORDER BY %s)::text AS r FROM ordered', value, key), format('%s by %s in workers', value, key))
	FROM unnest('{v,n,s}'::text[]) AS value, unnest('{i,(i + 20000) % 40000,i::float8,-i}'::text[]) AS key;
RESET max_parallel_workers_per_gather;
RESET parallel_setup_cost;
RESET parallel_tuple_cost;
RESET min_parallel_table_scan_size;
DROP TABLE ordered;

-- 20000 groups of five rows, hashed and sorted, in memory and not
\set ours 'SELECT g, gpu_count_distinct(v) AS a, gpu_sort_agg(w) AS b, gpu_median(f) AS c, gpu_percentile_disc(w, 0.4) AS d, gpu_percentile_cont(d, 0.3) AS e, gpu_rle(v ORDER BY k)::text AS f, gpu_rle(w, k)::text AS h FROM t GROUP BY g'
\set theirs 'SELECT g, count(DISTINCT v) AS a, array_agg(w ORDER BY w) AS b, percentile_cont(0.5) WITHIN GROUP (ORDER BY f) AS c, percentile_disc(0.4) WITHIN GROUP (ORDER BY w) AS d, percentile_cont(0.3) WITHIN GROUP (ORDER BY d) AS e, (SELECT array_agg(ROW(v, n, p)::gpu_rle_int4 ORDER BY p) FROM (SELECT v, count(*) AS n, min(place) AS p FROM (SELECT v, place, sum(c) OVER (ORDER BY place) AS run FROM (SELECT v, place, (place = 1 OR v IS DISTINCT FROM lag(v) OVER (ORDER BY place))::int AS c FROM unnest(array_agg(v ORDER BY k)) WITH ORDINALITY AS u (v, place)) AS x) AS y GROUP BY v, run) AS z)::text AS f, (SELECT array_agg(ROW(v, n, p)::gpu_rle_text ORDER BY p) FROM (SELECT v, count(*) AS n, min(place) AS p FROM (SELECT v, place, sum(c) OVER (ORDER BY place) AS run FROM (SELECT v, place, (place = 1 OR v IS DISTINCT FROM lag(v) OVER (ORDER BY place))::int AS c FROM unnest(array_agg(w ORDER BY k)) WITH ORDINALITY AS u (v, place)) AS x) AS y GROUP BY v, run) AS z)::text AS h FROM t GROUP BY g'
SET enable_sort = off;
SELECT pg_temp.same_rows(:'ours', :'theirs', '20000 groups in a hash table');
SET work_mem = '64kB';
SELECT pg_temp.same_rows(:'ours', :'theirs', '20000 groups in a hash table that spills');
RESET work_mem;
RESET enable_sort;
SET enable_hashagg = off;
SELECT pg_temp.same_rows(:'ours', :'theirs', '20000 sorted groups');
RESET enable_hashagg;
SELECT pg_temp.same_rows('SELECT a, b, gpu_median(f), gpu_count_distinct(w), gpu_sort_agg(v) FROM (SELECT *, i % 3 AS a, i % 5 AS b FROM t) AS s GROUP BY CUBE (a, b)',
	'SELECT a, b, percentile_cont(0.5) WITHIN GROUP (ORDER BY f), count(DISTINCT w), array_agg(v ORDER BY v) FROM (SELECT *, i % 3 AS a, i % 5 AS b FROM t) AS s GROUP BY CUBE (a, b)',
	'grouping sets');

-- aggregates that share a state, each asked twice, over filters and DISTINCT
SELECT is((SELECT (gpu_median(f), gpu_count_distinct(f), gpu_median(f) + 0, gpu_count_distinct(f) + 0)::text FROM t),
		  (SELECT (percentile_cont(0.5) WITHIN GROUP (ORDER BY f), count(DISTINCT f), percentile_cont(0.5) WITHIN GROUP (ORDER BY f),
				   count(DISTINCT f))::text FROM t), 'one state, several answers');
SELECT is((SELECT gpu_count_distinct(v) FILTER (WHERE i % 2 = 0) || '/' || gpu_median(DISTINCT v) FROM t),
		  (SELECT count(DISTINCT v) FILTER (WHERE i % 2 = 0) || '/' || (SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY v)
		   FROM (SELECT DISTINCT v FROM t) AS s) FROM t), 'FILTER and DISTINCT');

-- windows: frames that grow, move, exclude, and end before their row
CREATE TEMP TABLE s AS SELECT i, i % 3 AS g, v, w, f FROM t WHERE i <= 600;
CREATE FUNCTION pg_temp.check_window(frame text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	ours text;
	pair text[];
BEGIN
	FOREACH pair SLICE 1 IN ARRAY ARRAY[
		['gpu_count_distinct(v)', '(SELECT count(DISTINCT x) FROM unnest(vs) AS x)'],
		['gpu_sort_agg(w)', '(SELECT array_agg(x ORDER BY x) FROM unnest(ws) AS x)'],
		['gpu_median(f)', '(SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY x) FROM unnest(fs) AS x)'],
		['gpu_percentile_disc(w, 0.25)', '(SELECT percentile_disc(0.25) WITHIN GROUP (ORDER BY x) FROM unnest(ws) AS x)'],
		['gpu_rle(v)', '(SELECT gpu_rle(x ORDER BY p) FROM unnest(vs) WITH ORDINALITY AS u (x, p))'],
		['gpu_rle(w)', '(SELECT gpu_rle(x ORDER BY p) FROM unnest(ws) WITH ORDINALITY AS u (x, p))'],
		['gpu_rle(w, v)', '(SELECT gpu_rle(x ORDER BY y, p) FROM unnest(ws, vs) WITH ORDINALITY AS u (x, y, p))']] LOOP
		RETURN NEXT pg_temp.same_rows(format('SELECT i, (%s OVER (PARTITION BY g ORDER BY i %s))::text FROM s', pair[1], frame),
			format('SELECT i, %s::text FROM (SELECT i, array_agg(v) OVER p AS vs, array_agg(w) OVER p AS ws, array_agg(f) OVER p AS fs FROM s
				WINDOW p AS (PARTITION BY g ORDER BY i %s)) AS arrays', pair[2], frame), pair[1] || ' ' || frame);
	END LOOP;
END $$;
SELECT pg_temp.check_window('ROWS UNBOUNDED PRECEDING');
SELECT pg_temp.check_window('ROWS BETWEEN 20 PRECEDING AND 3 FOLLOWING');
SELECT pg_temp.check_window('ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING EXCLUDE CURRENT ROW');
SELECT pg_temp.check_window('RANGE BETWEEN 30 PRECEDING AND 10 PRECEDING');
SELECT pg_temp.same_rows('SELECT i, gpu_median(f) OVER a, gpu_median(f) OVER b, gpu_sort_agg(w) OVER a FROM s
	WINDOW a AS (ORDER BY i), b AS (ORDER BY i ROWS BETWEEN 5 PRECEDING AND CURRENT ROW)',
	'SELECT i, (SELECT gpu_median(f) FROM s AS x WHERE x.i <= s.i), (SELECT gpu_median(f) FROM s AS x WHERE x.i BETWEEN s.i - 5 AND s.i),
		(SELECT gpu_sort_agg(w) FROM s AS x WHERE x.i <= s.i) FROM s', 'windows beside each other');

-- numbers of runs: partitions, long strings, a condition that ends the scan, a rescan
SELECT pg_temp.same_rows('SELECT i, gpu_run_id(w) OVER (PARTITION BY v ORDER BY i) FROM t',
	'SELECT i, sum(c) OVER (PARTITION BY v ORDER BY i) FROM (SELECT i, v, (row_number() OVER p = 1 OR w IS DISTINCT FROM lag(w) OVER p)::int AS c
		FROM t WINDOW p AS (PARTITION BY v ORDER BY i)) AS s', 'gpu_run_id by partition');
SELECT is((SELECT array_agg(r ORDER BY i) FROM (SELECT i, gpu_run_id(repeat(x, 100000)) OVER (ORDER BY i) AS r
		   FROM unnest('{a,a,b,NULL,NULL,b,b,a}'::text[]) WITH ORDINALITY AS u (x, i)) AS s), '{1,1,2,3,3,4,4,5}', 'gpu_run_id of long strings');
SELECT matches(pg_temp.plan_of('SELECT * FROM (SELECT i, gpu_run_id(v) OVER (ORDER BY i) AS r FROM t) AS s WHERE r <= 2'), 'Run Condition',
			   'the planner knows that gpu_run_id never falls');
SELECT pg_temp.same_rows('SELECT * FROM (SELECT i, gpu_run_id(v) OVER (ORDER BY i) AS r FROM t) AS s WHERE r <= 100',
	'SELECT * FROM (SELECT i, gpu_run_id(v) OVER (ORDER BY i) AS r FROM t OFFSET 0) AS s WHERE r <= 100', 'a condition on gpu_run_id');
SELECT is((SELECT sum(m) FROM generate_series(1, 5) AS n, LATERAL (SELECT max(r) AS m FROM
		   (SELECT gpu_run_id(v / n) OVER (ORDER BY i) AS r FROM s) AS x) AS y)::int,
		  (SELECT sum(m) FROM generate_series(1, 5) AS n, LATERAL (SELECT sum(c) AS m FROM (SELECT
		   (row_number() OVER (ORDER BY i) = 1 OR v / n IS DISTINCT FROM lag(v / n) OVER (ORDER BY i))::int AS c FROM s) AS x) AS y)::int,
		  'gpu_run_id in a rescan');

-- past the memory limit: temporary files, and the same answers
SET gpusort.work_mem = '1MB';
SELECT pg_temp.make_values('int8', 'hashint4extended(i / 40, 3)', 80000);
SELECT pg_temp.check_aggregates('v', 'int8', 'int8', true, 'int8, spilled');
SELECT pg_temp.make_values('text', 'md5((hashint4(i / 30) % 30000)::text)', 30000);
SELECT pg_temp.check_aggregates('v', 'text', 'text', false, 'text, spilled');
SELECT pg_temp.make_values('numeric', '(hashint4(i / 30) % 100000)::numeric / 100', 60000);
SELECT pg_temp.check_aggregates('v', 'numeric', 'numeric', false, 'numeric, spilled');
SELECT pg_temp.make_values('interval', 'hashint4(i / 3) % 100000 * interval ''1 second''', 50000);
SELECT pg_temp.check_aggregates('v', 'interval', NULL, true, 'interval, spilled');
SELECT pg_temp.make_values('jsonb', 'jsonb_build_object(''a'', hashint4(i / 3) % 5000)', 50000);
SELECT pg_temp.check_aggregates('v', 'jsonb', NULL, false, 'jsonb, spilled');
SELECT is((SELECT (gpu_median(f), gpu_count_distinct(f), gpu_median(f) + 0)::text FROM t),
		  (SELECT (percentile_cont(0.5) WITHIN GROUP (ORDER BY f), count(DISTINCT f), percentile_cont(0.5) WITHIN GROUP (ORDER BY f))::text FROM t),
		  'one spilled state, several answers');
SELECT pg_temp.same_rows('SELECT i % 3, gpu_median(f), gpu_rle(w, k)::text FROM t GROUP BY 1',
	'SELECT i % 3, percentile_cont(0.5) WITHIN GROUP (ORDER BY f), gpu_rle(w ORDER BY k, i)::text FROM t GROUP BY 1', 'spilled groups');
-- equal keys keep the order of the rows there, too, and of equal values the first is shown, also where PostgreSQL's sort does the work
SELECT EXISTS (SELECT FROM pg_collation WHERE collprovider = 'i') AND getdatabaseencoding() = 'UTF8' AS icu \gset
\if :icu
CREATE COLLATION pg_temp.anycase (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE TEMP TABLE ties AS SELECT i, i / 10 AS v, CASE WHEN hashint4(i) % 2 = 0 THEN 'k' ELSE 'K' END || i % 3 AS k FROM generate_series(1, 40000) AS i;
SELECT is(md5(gpu_rle(v, k COLLATE pg_temp.anycase)::text), md5(gpu_rle(v ORDER BY i % 3, i)::text), 'spilled ties') FROM ties;
SELECT is(md5(gpu_sort_agg(k COLLATE pg_temp.anycase)::text) COLLATE "C", md5(array_agg(k ORDER BY i % 3, i)::text) COLLATE "C", 'spilled values that look different') FROM ties;
SELECT is(gpu_percentile_disc(k COLLATE pg_temp.anycase, 0.5) COLLATE "C", (array_agg(k ORDER BY i % 3, i))[20000] COLLATE "C", 'and one of them') FROM ties;
\endif
SET temp_file_limit = '64kB';
SELECT throws_ok('SELECT gpu_count_distinct(f) FROM t', '53400', NULL, 'temporary files count');
RESET temp_file_limit;
SELECT throws_ok('SELECT gpu_count_distinct(i) OVER () FROM t', '53400',
				 'a group''s values take too much memory', 'no spilling in windows');
SELECT throws_ok('SELECT gpu_rle(i) FROM t', '53400', 'a group''s values take too much memory', 'more runs than fit');
SELECT is(cardinality(gpu_rle(md5(i::text) ORDER BY i)), 12500, 'as many short texts as fit') FROM generate_series(1, 12500) AS i;
SET gpusort.work_mem = '8GB';
SELECT throws_ok('SELECT gpu_rle(repeat(md5(i::text), 300000)) FROM t WHERE i < 150', '54000', 'result of gpu_rle is too large', 'more than a datum holds');
RESET gpusort.work_mem;

-- numbers in shapes that deal badly: equal ones, few far apart, in steps, most in one place, all bits
CREATE FUNCTION pg_temp.check_numbers(expression text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	fraction float8;
BEGIN
	EXECUTE format('CREATE TEMP TABLE n AS SELECT (%s) AS v FROM generate_series(1, 150000::int8) AS i', expression);
	RETURN NEXT is(pg_temp.answer('SELECT gpu_count_distinct(v) FROM n'), pg_temp.answer('SELECT count(DISTINCT v) FROM n'), expression || ', different');
	FOREACH fraction IN ARRAY '{0,0.0001,0.3,0.5,0.99,1}'::float8[] LOOP
		RETURN NEXT is(pg_temp.answer(format('SELECT gpu_percentile_disc(v, %s) || ''/'' || gpu_percentile_cont(v, %1$s) FROM n', fraction)),
			pg_temp.answer(format('SELECT percentile_disc(%s) WITHIN GROUP (ORDER BY v) || ''/'' || percentile_cont(%1$s) WITHIN GROUP (ORDER BY v) FROM n',
								  fraction)), format('%s, percentile %s', expression, fraction));
	END LOOP;
	DROP TABLE n;
END $$;
SELECT pg_temp.check_numbers('5::int8');
SELECT pg_temp.check_numbers('CASE WHEN i % 2 = 0 THEN -9223372036854775808 ELSE 9223372036854775807 END');
SELECT pg_temp.check_numbers('(i % 1000) << 50');
SELECT pg_temp.check_numbers('CASE WHEN i % 100 = 0 THEN hashint8extended(i, 1) ELSE i END');
SELECT pg_temp.check_numbers('hashint8extended(i, 1)');
SELECT pg_temp.check_numbers('hashint8extended(i, 1)::float8 / 1e300');
SELECT pg_temp.check_numbers('CASE WHEN i % 3 = 0 THEN ''NaN'' WHEN i % 3 = 1 THEN ''Infinity'' ELSE -exp(i % 700) END::float8');
SELECT pg_temp.check_numbers('(i % 60000 - 30000)::int2');
SELECT pg_temp.check_numbers('(i % 7 / 3.0)::float4');

-- in a parallel worker, where they are marked safe
SELECT set_config(name, 'on', false) FROM pg_settings WHERE name IN ('force_parallel_mode', 'debug_parallel_query') \g /dev/null
SELECT is((SELECT gpu_count_distinct(x) || '/' || gpu_median(x) FROM generate_series(1, 1001) AS x), '1001/501', 'in a parallel worker');
SELECT set_config(name, 'off', false) FROM pg_settings WHERE name IN ('force_parallel_mode', 'debug_parallel_query') \g /dev/null

-- random tables
CREATE FUNCTION pg_temp.random_tables(rounds int) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	kinds constant text[] := '{{int2,int2,t},{int4,int4,t},{int8,int8,t},{float4,float4,t},{float8,float8,t},{numeric,numeric,f},{date,date,f},
		{text,text,f},{uuid,uuid,f},{interval,NULL,t},{timestamptz,timestamptz,f},{"varchar",text,f},{"char",NULL,f}}';
	kind text[];
	expression text;
	n int;
BEGIN
	FOR round IN 1 .. rounds LOOP
		n := 1 + (random() * 12)::int;
		kind := ARRAY[kinds[n][1], kinds[n][2], kinds[n][3]];
		expression := format('(CASE WHEN random() < %s THEN NULL ELSE trunc(exp(random() * %s)) - %s END)', random() / 2, random() * 10, (random() * 3)::int);
		expression := CASE WHEN kind[1] = 'date' THEN 'date ''2000-01-01'' + ' || expression || '::int'
			WHEN kind[1] = 'timestamptz' THEN 'timestamptz ''2000-01-01 UTC'' + interval ''1 s'' * ' || expression
			WHEN kind[1] = 'interval' THEN 'interval ''1 s'' * ' || expression
			WHEN kind[1] = 'uuid' THEN format('md5((%s)::text)', expression)
			ELSE expression || CASE WHEN kind[1] IN ('text', 'varchar', 'char') THEN '::text' ELSE '' END END;
		DROP TABLE IF EXISTS v;
		EXECUTE format('CREATE TEMP TABLE v AS SELECT i, random() AS k, (%s)::%s AS v FROM generate_series(1, %s) AS i', expression,
					   quote_ident(kind[1]), trunc(exp(random() * 10)));
		PERFORM set_config('gpusort.work_mem', (ARRAY['1MB', '2MB', '256MB'])[1 + (random() * 2)::int], false);
		RETURN QUERY SELECT pg_temp.check_aggregates('v', kind[1], kind[2], kind[3]::boolean,
			format('random table %s (%s rows of %s, %s)', round, (SELECT count(*) FROM v), kind[1], expression));
	END LOOP;
END $$;
\getenv seed SEED
\if :{?seed}
\else
SELECT (random() * 1e9)::int AS seed \gset
\endif
SELECT diag('random tables of seed ' || :seed);
SELECT setseed(:seed % 1000000000 / 1e9) \g /dev/null
SELECT pg_temp.random_tables(30);
SELECT * FROM finish();
