-- Aggregates and gpu_run_id against their equivalents in SQL, type by type.
\ir setup.psql
DROP FUNCTION pg_temp.check_type(text, text[], text, integer);
\ir aggregates.psql
CREATE EXTENSION IF NOT EXISTS gpusort;
SELECT * FROM no_plan();
\set r 'abs(hashint4extended(i, 1))'
\set runs 'abs(hashint4extended(i / 4, 1))'

SELECT pg_temp.check_type('bool', :'runs' || ' % 2 = 0', 'bool');
SELECT pg_temp.check_type('int2', :'runs' || ' % 1000 - 500', 'int2', true);
SELECT pg_temp.check_type('int4', 'hashint4extended(i / 3, 2) % 100000', 'int4', true);
SELECT pg_temp.check_type('int8', 'hashint4extended(i / 2, 3)', 'int8', true);
SELECT pg_temp.check_type('float4', '(CASE WHEN i % 7 = 0 THEN ''NaN'' ELSE (i / 3 % 50)::text END)::float4', 'float4', true);
SELECT pg_temp.check_type('float8', '(CASE WHEN i % 70 = 0 THEN ''-Infinity'' ELSE ((hashint4(i / 3) % 5000) / 8.0)::text END)::float8',
						  'float8', true);
SELECT pg_temp.check_type('numeric', '(hashint4(i / 3) % 1000)::numeric / 100', 'numeric');
SELECT pg_temp.check_type('date', 'date ''2000-01-01'' + (' || :'runs' || ' % 1000 - 500)::int', 'date');
SELECT pg_temp.check_type('timestamp', 'timestamp ''2000-01-01'' + ' || :'runs' || ' % 1000 * interval ''7 min''', 'timestamp');
SELECT pg_temp.check_type('timestamptz', 'timestamptz ''2000-01-01'' + ' || :'runs' || ' % 1000 * interval ''7 min''', 'timestamptz');
SELECT pg_temp.check_type('uuid', 'md5((' || :'runs' || ' % 300)::text)::uuid', 'uuid');
SELECT pg_temp.check_type('text', 'repeat(chr(97 + (' || :'runs' || ' % 20)::int), (i % 5)::int)', 'text');
SELECT pg_temp.check_type('varchar', '''common prefix '' || ' || :'runs' || ' % 500', 'text');
SELECT pg_temp.check_type('"char"', 'chr(65 + (' || :'runs' || ' % 20)::int)');
SELECT pg_temp.check_type('oid', :'runs' || ' % 4000');
SELECT pg_temp.check_type('money', '((' || :'runs' || ' % 4000) / 100.0)::numeric');
SELECT pg_temp.check_type('time', 'time ''00:00'' + ' || :'runs' || ' % 1000 * interval ''1 min''');
SELECT pg_temp.check_type('timetz', '(time ''00:00'' + ' || :'runs' || ' % 1000 * interval ''1 min'')::text || ''+01''');
SELECT pg_temp.check_type('interval', :'runs' || ' % 1000 * interval ''1 hour 1 second''', NULL, true);
SELECT pg_temp.check_type('inet', '''10.0.0.0''::inet + ' || :'runs' || ' % 1000');
SELECT pg_temp.check_type('macaddr', 'substr(md5((' || :'runs' || ' % 300)::text), 1, 12)');
SELECT pg_temp.check_type('tid', '(''('' || ' || :'runs' || ' % 300 || '',1)'')');
SELECT pg_temp.check_type('bytea', '''\x'' || substr(md5((' || :'runs' || ' % 300)::text), 1, 8)');
SELECT pg_temp.check_type('name', 'md5((' || :'runs' || ' % 300)::text)');
SELECT pg_temp.check_type('bpchar', 'md5((' || :'runs' || ' % 300)::text)');
CREATE TYPE pg_temp.mood AS ENUM ('sad', 'ok', 'happy');
ALTER TYPE pg_temp.mood ADD VALUE 'better' BEFORE 'happy';
SELECT pg_temp.check_type('pg_temp.mood', '(enum_range(NULL::pg_temp.mood))[1 + ' || :'runs' || ' % 4]');
CREATE DOMAIN pg_temp.positive AS int4 CHECK (VALUE >= 0);
SELECT pg_temp.check_type('pg_temp.positive', :'runs' || ' % 1000', 'int4', true);
-- no exact encoding: by the types' own comparisons
SELECT pg_temp.check_type('int4[]', 'ARRAY[' || :'runs' || ' % 20, i % 3]');
SELECT pg_temp.check_type('jsonb', 'jsonb_build_object(''a'', ' || :'runs' || ' % 20)');
SELECT pg_temp.check_type('int4range', 'int4range((' || :'runs' || ' % 20)::int, 30)');

-- gaps between the elements of an array are zeros
SELECT ok(record_image_eq(ROW(gpu_sort_agg(t)), ROW(array_agg(t ORDER BY t))) AND record_image_eq(ROW(gpu_sort_agg(m)), ROW(array_agg(m ORDER BY m))),
		  format('the bytes of array_agg, %s rows', n))
	FROM (VALUES (10), (20000)) AS sizes (n), LATERAL (SELECT ((time '00:00' + i % 1000 * interval '1 s')::text || '+01')::timetz AS t,
		lpad(to_hex(i % 500), 12, '0')::macaddr AS m FROM generate_series(1, n) AS i) AS v GROUP BY n;

-- zeros of two signs are one value, and NaN is one
SELECT is((SELECT gpu_count_distinct(x) FROM unnest('{0,-0,NaN,NaN,1,NULL}'::float8[]) AS x), 3::bigint, 'float8, special values are counted once');
SELECT is((SELECT gpu_rle(x)::text FROM unnest('{0,-0,NaN,NaN,NULL,NULL,1}'::float4[]) AS x),
		  '{"(0,2,1)","(NaN,2,3)","(,2,5)","(1,1,7)"}', 'float4, special values in runs');
SELECT is((SELECT gpu_rle(x)::text FROM unnest('{1.0,1.00,1,2}'::numeric[]) AS x), '{"(1.0,3,1)","(2,1,4)"}', 'a run shows its first value');
SELECT is((SELECT gpu_rle(x, 0)::text FROM unnest('{5,5,7,5}'::int[]) AS x), '{"(5,2,1)","(7,1,3)","(5,1,4)"}', 'equal keys keep the order of the rows');
SELECT is((SELECT gpu_rle(x, y)::text FROM unnest('{1,2,3,4}'::int[], '{2,NULL,1,NULL}'::int[]) AS t (x, y)),
		  '{"(3,1,1)","(1,1,2)","(2,1,3)","(4,1,4)"}', 'NULLs are the last keys');
SELECT is((SELECT gpu_rle(x, y)::text FROM unnest('{a,b,b}'::text[], '{z,y,x}'::text[]) AS t (x, y)), '{"(b,2,1)","(a,1,3)"}', 'key of type text');

-- the rules for fractions, as PostgreSQL has them
SELECT throws_ok('SELECT gpu_percentile_cont(i, 1.01) FROM v', '22003', 'percentile value 1.01 is not between 0 and 1');
SELECT throws_ok('SELECT gpu_percentile_disc(i, -0.1) FROM v', '22003', 'percentile value -0.1 is not between 0 and 1');
SELECT throws_ok('SELECT gpu_percentile_cont(i, ''NaN'') FROM v', '22003', 'percentile value NaN is not between 0 and 1');
SELECT throws_ok('SELECT gpu_percentile_cont(NULL::float8, 2)', '22003', 'percentile value 2 is not between 0 and 1');
SELECT throws_ok('SELECT gpu_percentile_cont(i, i / 100000.0) FROM v', '22023', 'percentile value must be the same in all rows of a group');
SELECT is((SELECT array_agg(p ORDER BY g) FROM (SELECT g, gpu_percentile_cont(x, g / 4.0) AS p FROM generate_series(0, 4) AS g,
		   generate_series(1, 9) AS x GROUP BY g) AS s), '{1,3,5,7,9}', 'each group may have its own fraction');

-- what cannot be ordered or compared
SELECT throws_ok('SELECT gpu_count_distinct(point(1, 2))', '42883', 'could not identify an ordering operator for type point');
SELECT throws_ok('SELECT gpu_sort_agg(json ''1'')', '42883', 'could not identify an ordering operator for type json');
SELECT throws_ok('SELECT gpu_run_id(json ''1'') OVER ()', '42883', 'could not identify an equality operator for type json');
SELECT throws_ok('SELECT gpu_run_id(1)', '42809');
SELECT throws_ok('SELECT gpu_run_id(1) IGNORE NULLS OVER ()', CASE WHEN current_setting('server_version_num')::int < 190000 THEN '42601' ELSE '0A000' END,
				 NULL, 'nobody is left to believe that NULLs were ignored');

-- collations: equality and order are theirs
CREATE TABLE pg_temp.words (i serial, w text COLLATE "C", x text COLLATE "POSIX");
INSERT INTO words (w, x) SELECT w, w FROM unnest('{b,B,a,A,A,a,b}'::text[]) AS w;
SELECT is((SELECT gpu_sort_agg(w) FROM words), '{A,A,B,a,a,b,b}', 'collation of the column');
SELECT throws_ok('SELECT gpu_sort_agg(w || x) FROM words', '42P22');
SELECT throws_ok('SELECT gpu_rle(w, x) FROM words', '42P22');
SELECT lives_ok('SELECT gpu_rle(w COLLATE "C", x) FROM words', 'an explicit collation serves both arguments');
SELECT CASE WHEN EXISTS (SELECT FROM pg_collation WHERE collname = 'en-x-icu') THEN 'true' ELSE 'false' END AS icu \gset
\if :icu
CREATE COLLATION pg_temp.nocase (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
SELECT is((SELECT gpu_count_distinct(w COLLATE pg_temp.nocase) FROM words), 2::bigint, 'case is ignored where a collation does so');
-- a letter with its accent in one character and in two, which ICU's order holds for one and a deterministic collation does not
SELECT is((SELECT array_agg(n ORDER BY rows) FROM (SELECT rows, gpu_count_distinct((CASE i % 4 WHEN 0 THEN E'caf\xc3\xa9' WHEN 1 THEN E'cafe\xcc\x81'
	WHEN 2 THEN 'cafe' END) COLLATE "en-x-icu") AS n FROM unnest(ARRAY[4, 30, 90, 5000]) AS rows, generate_series(1, rows) AS i GROUP BY rows) x),
	'{3,3,3,3}', 'values are different if their bytes are, in groups of any size');
SELECT is((SELECT gpu_rle(w COLLATE pg_temp.nocase ORDER BY i)::text FROM words), '{"(b,2,1)","(a,4,3)","(b,1,7)"}', 'and in runs');
SELECT is((SELECT gpu_rle(w COLLATE pg_temp.nocase, i)::text FROM words), '{"(b,2,1)","(a,4,3)","(b,1,7)"}', 'and in runs that we sort');
SELECT is((SELECT array_agg(r ORDER BY i) FROM (SELECT i, gpu_run_id(w COLLATE pg_temp.nocase) OVER (ORDER BY i) AS r FROM words) AS s),
		  '{1,1,2,2,2,2,3}', 'and in numbers of runs');
SELECT is((SELECT gpu_sort_agg(w COLLATE "en-x-icu") FROM words), (SELECT array_agg(w ORDER BY w COLLATE "en-x-icu") FROM words),
		  'a linguistic order');
\endif

-- what psql and the planner see
SELECT is_empty($$SELECT p.oid::regprocedure FROM pg_proc AS p JOIN pg_depend AS d ON d.objid = p.oid AND d.classid = 'pg_proc'::regclass
	JOIN pg_extension AS e ON e.oid = d.refobjid AND d.deptype = 'e' WHERE e.extname = 'gpusort' AND p.proname LIKE 'gpu\_%'
	AND obj_description(p.oid, 'pg_proc') IS NULL$$, 'every function has a description');
SELECT results_eq($$SELECT DISTINCT pronargs::int, proparallel::text FROM pg_proc WHERE proname = 'gpu_rle'
	AND obj_description(oid, 'pg_proc') NOT LIKE 'an error:%' ORDER BY 1$$, $$VALUES (1, 'r'), (2, 's')$$,
				  'gpu_rle of rows as they come is not for parallel workers');
SELECT is_empty($$SELECT p.oid::regprocedure FROM pg_proc AS p JOIN pg_aggregate AS a ON a.aggfnoid = p.oid
	JOIN pg_proc AS t ON t.oid = a.aggtransfn JOIN pg_proc AS f ON f.oid = a.aggfinalfn
	WHERE p.proname LIKE 'gpu\_%' AND (p.proparallel <> t.proparallel OR p.proparallel <> f.proparallel OR a.aggfinalmodify <> 'r'
	OR t.provolatile <> 'i' OR f.provolatile <> 'i' OR t.proisstrict OR f.proisstrict)$$, 'aggregates and their functions agree');
SELECT is_empty($$SELECT p.oid::regprocedure FROM pg_proc AS p JOIN pg_aggregate AS a ON a.aggfnoid = p.oid
	WHERE p.proname LIKE 'gpu\_%' AND a.aggkind = 'n' AND (p.proparallel = 's') <> (a.aggcombinefn <> 0 AND a.aggserialfn <> 0 AND a.aggdeserialfn <> 0)$$,
	'those that are for parallel workers combine');
SELECT is_empty($$SELECT f.oid::regprocedure FROM pg_aggregate AS a JOIN pg_proc AS p ON p.oid = a.aggfnoid
	JOIN pg_proc AS f ON f.oid IN (a.aggcombinefn, a.aggserialfn, a.aggdeserialfn)
	WHERE p.proname LIKE 'gpu\_%' AND (f.proparallel <> 's' OR f.provolatile <> 'i' OR f.proisstrict <> (f.oid <> a.aggcombinefn))$$,
	'and so do their functions');
SELECT * FROM finish();
