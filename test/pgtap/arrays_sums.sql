-- Running sums, and sums and averages by key.
\ir arrays.psql
SELECT plan(8 * 6 + 2 * 6 + 42);

-- Six tests of a type whose values can be added; sums has the type of gpu_scan's result.
CREATE FUNCTION pg_temp.check_sums(type text, sums text, literals text[], generator text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	groups constant text := 'SELECT coalesce(array_agg(ROW(key, value) ORDER BY key), ''{}'') FROM (SELECT y AS key, %s AS value
		FROM unnest(a, k) WITH ORDINALITY AS u (x, y, n) GROUP BY y) AS groups';
	islands constant text := 'SELECT coalesce(array_agg(ROW(key, value) ORDER BY island), ''{}'') FROM (SELECT island, min(y) AS key, %s AS value
		FROM (SELECT x, y, count(*) FILTER (WHERE new) OVER (ORDER BY n) AS island FROM (SELECT x, y, n, y IS DISTINCT FROM lag(y) OVER (ORDER BY n) AS new
			FROM unnest(a, (SELECT array_agg(i / 3 ORDER BY i) FROM generate_series(1, cardinality(a)) AS i)) WITH ORDINALITY AS u (x, y, n)) AS heads) AS rows
		GROUP BY island) AS islands';
	sorted_keys constant text := 'array(SELECT i / 3 FROM generate_series(1, cardinality(a)) AS i)';
	windowed constant text := 'SELECT coalesce(array_agg(value ORDER BY n), ''{}'') FROM (SELECT n, (sum(x) OVER (ORDER BY n ROWS %s))::%s AS value
		FROM unnest(a) WITH ORDINALITY AS u (x, n)) AS rows';
BEGIN
	PERFORM pg_temp.make_arrays(type, literals, generator);
	RETURN NEXT pg_temp.same('gpu_scan(a)', format(windowed, 'UNBOUNDED PRECEDING', sums), type || ': gpu_scan');
	RETURN NEXT pg_temp.same('gpu_scan(a, ''sum'', true)', format(windowed, 'BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING', sums),
							 type || ': gpu_scan exclusive');
	RETURN NEXT pg_temp.same('array(SELECT r FROM gpu_reduce_by_key(k, a) AS r)', format(groups, 'sum(x)::' || sums), type || ': gpu_reduce_by_key');
	RETURN NEXT pg_temp.same(format('array(SELECT r FROM gpu_reduce_by_key(%s, a, ''sum'', true) AS r)', sorted_keys),
							 format(islands, 'sum(x)::' || sums), type || ': gpu_reduce_by_key presorted');
	IF type = 'money' THEN
		RETURN NEXT skip('avg(money) does not exist', 2);
		RETURN;
	ELSIF type = 'interval' THEN
		RETURN NEXT skip('no gpu_avg_by_key of intervals', 2);
		RETURN;
	END IF;
	RETURN NEXT pg_temp.same('array(SELECT r FROM gpu_avg_by_key(k, a) AS r)', format(groups, 'avg(x)'), type || ': gpu_avg_by_key');
	RETURN NEXT pg_temp.same(format('array(SELECT r FROM gpu_avg_by_key(%s, a, true) AS r)', sorted_keys), format(islands, 'avg(x)'),
							 type || ': gpu_avg_by_key presorted');
END $$;

SELECT pg_temp.check_sums('smallint', 'bigint', '{0,1,-1,32767,-32768}', 'hashint4(i) % 32768');
SELECT pg_temp.check_sums('integer', 'bigint', '{0,1,-1,2147483647,-2147483648}', 'hashint4(i)');
SELECT pg_temp.check_sums('bigint', 'bigint', '{0,1,-1,9223372036854775,-9223372036854775}', 'hashint8(i)::bigint * 1000000');
SELECT pg_temp.check_sums('numeric', 'numeric', '{0,0.0,1.00,-1,NaN,12345678901234567890.123}', 'round(hashint4(i) / 7.0, i % 5)');
SELECT pg_temp.check_sums('numeric', 'numeric', '{Infinity,1,-Infinity}', 'i * 1e100');
SELECT pg_temp.check_sums('money', 'money', '{0,1.01,-1,922337203685}', 'hashint4(i)::money');
SELECT pg_temp.check_sums('interval', 'interval', '{0,1 day,24:00,1 mon}', 'hashint4(i) % 300 * interval ''1 hour''');
-- whole numbers, whose sums are exact in any order
SELECT pg_temp.check_sums('double precision', 'double precision', '{0,1,-1,4503599627370496}', 'hashint4(i)');
SELECT pg_temp.check_sums('real', 'real', '{0,1,-1,1024}', 'hashint4(i) % 1000');
SELECT pg_temp.check_sums('double precision', 'double precision', '{NaN,Infinity,1,-Infinity,2}',
						  'CASE WHEN i < 500 THEN i WHEN i < 700 THEN float8 ''Infinity'' ELSE 5 END');

-- Floats near the end of their range: the values, and the errors, are PostgreSQL's, which adds one after another, and for an average squares, too.
CREATE FUNCTION pg_temp.value_or_error(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	value text;
BEGIN
	EXECUTE query INTO value;
	RETURN value;
EXCEPTION WHEN numeric_value_out_of_range THEN
	RETURN SQLERRM;
END $$;
CREATE TEMP TABLE extremes (type text, a text);
INSERT INTO extremes SELECT 'double precision', unnest('{"{1e200,-1e200}","{1e308,1e308,-1e308}","{1e308,-1e308,1e308,-1e308}","{-Infinity,1e308,1e308}","{1e308,1e308,-Infinity}",
	"{1e308,1e308,Infinity}","{Infinity,1e308,1e308,-Infinity}","{NaN,1e308,1e308}","{1e308,1e308,NaN}","{1e155,1e155}","{1e154,-1e154}","{1e154,1e154,1}","{1e300}","{Infinity,1}",
	"{1e200,NULL,1e-300}","{1e308,-1e308,-0}","{1e308,1e307,1e-5,1e308,-1e308}","{NULL,1.7e308,NULL,1e307}","{1e141,-1e141,1e-3}"}'::text[]);
INSERT INTO extremes SELECT 'real', unnest('{"{3e38,3e38,-3e38}","{3e38,-3e38,3e38,-3e38}","{-Infinity,3e38,3e38}","{3e38,3e38,-Infinity}","{3e38,3e38,NaN}","{1e38,NULL,1e-3}","{Infinity,3e38,3e38,-Infinity}"}'::text[]);
SELECT is_empty(format($$SELECT type, a, ours, theirs FROM (SELECT type, a, pg_temp.value_or_error(format(%L, a, type, array_fill(1, ARRAY[cardinality(a::text[])]))) AS ours,
	pg_temp.value_or_error(format(%L, a, type)) AS theirs FROM extremes) AS asked WHERE ours IS DISTINCT FROM theirs$$, ours, theirs), label)
FROM (VALUES ('SELECT gpu_scan(%L::%s[])', 'SELECT array_agg(s) FROM (SELECT sum(x) OVER (ORDER BY n ROWS UNBOUNDED PRECEDING) AS s
			FROM unnest(%L::%s[]) WITH ORDINALITY AS u (x, n)) AS sums', 'extreme floats: gpu_scan'),
	('SELECT gpu_scan(%L::%s[], ''sum'', true)', 'SELECT array_agg(s) FROM (SELECT sum(x) OVER (ORDER BY n ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS s
			FROM unnest(%L::%s[]) WITH ORDINALITY AS u (x, n)) AS sums', 'extreme floats: gpu_scan exclusive'),
	('SELECT value FROM gpu_reduce_by_key(%3$L::integer[], %1$L::%2$s[])', 'SELECT sum(x) FROM unnest(%L::%s[]) AS x', 'extreme floats: gpu_reduce_by_key'),
	('SELECT value FROM gpu_reduce_by_key(%3$L::jsonb[], %1$L::%2$s[])', 'SELECT sum(x) FROM unnest(%L::%s[]) AS x', 'extreme floats: gpu_reduce_by_key by jsonb'),
	('SELECT value FROM gpu_avg_by_key(%3$L::integer[], %1$L::%2$s[])', 'SELECT avg(x) FROM unnest(%L::%s[]) AS x', 'extreme floats: gpu_avg_by_key'),
	('SELECT value FROM gpu_avg_by_key(%3$L::integer[], %1$L::%2$s[], true)', 'SELECT avg(x) FROM unnest(%L::%s[]) AS x', 'extreme floats: gpu_avg_by_key presorted'))
	AS queries (ours, theirs, label);
SELECT is(value::text, '0', 'an average of nothing but -0 is 0') FROM gpu_avg_by_key('{1,1}'::integer[], '{-0,-0}'::double precision[]);
SELECT results_eq($$SELECT value FROM gpu_reduce_by_key('{1,2,1,2,1}'::integer[], '{1e308,1,-1e308,-Infinity,1e308}'::double precision[])$$,
				  $$VALUES (1e308::double precision), ('-Infinity')$$, 'each group by itself');
SELECT is(gpu_scan(ARRAY['170000000 years', '100000000 years'::interval], 'sum', true)::text, '{NULL,"170000000 years"}', 'an exclusive sum of intervals leaves the last one out');

-- fractions: as near to the exact sum as PostgreSQL's own, and twice the same bits
CREATE TEMP TABLE f AS SELECT array_agg(hashint4(i) / 1e4::float8 ORDER BY i) AS a, array_agg(hashint4(-i) & 7 ORDER BY i) AS k FROM generate_series(1, 20000) AS i;
SELECT ok(abs((gpu_scan(a))[20000] - (SELECT sum(x::numeric) FROM unnest(a) AS x)::float8) < 1e-4, 'sum of fractions') FROM f;
SELECT is(gpu_scan(a), gpu_scan(a || '{}'), 'the same bits again') FROM f;
SELECT ok(bool_and(abs(r.value - s.value) < 1e-4), 'sums of fractions by key')
	FROM f, gpu_reduce_by_key(k, a) AS r JOIN LATERAL (SELECT y AS key, sum(x::numeric)::float8 AS value FROM f, unnest(a, k) AS u (x, y) GROUP BY y) AS s USING (key);
SELECT is((SELECT array_agg(r) FROM f, gpu_reduce_by_key(k, a) AS r)::text, (SELECT array_agg(r) FROM f, gpu_reduce_by_key(k, a || '{}') AS r)::text,
		  'by key the same bits again');
SELECT ok(bool_and(abs(r.value - s.value) < 1e-6), 'averages of real are those of double precision')
	FROM f, gpu_avg_by_key(k, a::real[]) AS r JOIN LATERAL (SELECT y AS key, avg(x::real) AS value FROM f, unnest(a, k) AS u (x, y) GROUP BY y) AS s USING (key);

-- types of results
SELECT is(pg_typeof(gpu_scan('{1}'::smallint[])), 'bigint[]'::regtype, 'a running sum of smallint is bigint');
SELECT is(pg_typeof(gpu_scan('{1}'::integer[])), 'bigint[]'::regtype, 'of integer, too');
SELECT is(pg_typeof(gpu_scan('{1}'::real[])), 'real[]'::regtype, 'of real it is real');
SELECT is(pg_typeof(gpu_scan('{2000-01-01}'::date[], 'min')), 'date[]'::regtype, 'a running minimum keeps the type');
SELECT is(pg_typeof(value), 'bigint'::regtype, 'sums by key of integer are bigint') FROM gpu_reduce_by_key('{1}'::integer[], '{1}'::integer[]);
SELECT is(pg_typeof(value), 'real'::regtype, 'sums by key of real are real') FROM gpu_reduce_by_key('{1}'::integer[], '{1}'::real[]);
SELECT is(pg_typeof(value), 'date'::regtype, 'minima by key keep the type') FROM gpu_reduce_by_key('{1}'::integer[], '{2000-01-01}'::date[], 'min');
SELECT is(pg_typeof(value), 'numeric'::regtype, 'averages by key of integer are numeric') FROM gpu_avg_by_key('{1}'::integer[], '{1}'::integer[]);
SELECT is(pg_typeof(value), 'double precision'::regtype, 'of real double precision') FROM gpu_avg_by_key('{1}'::integer[], '{1}'::real[]);

-- limits of types
SELECT is(gpu_scan('{9223372036854775807,-1,1,null,-9223372036854775807}'::bigint[]),
		  '{9223372036854775807,9223372036854775806,9223372036854775807,9223372036854775807,0}'::bigint[], 'up to the last bigint');
SELECT throws_ok($$SELECT gpu_scan('{9223372036854775807,1}'::bigint[])$$, '22003', 'bigint out of range', 'and not beyond');
SELECT throws_ok($$SELECT gpu_scan('{-9223372036854775808,0,-1}'::bigint[])$$, '22003', 'bigint out of range', 'nor below');
SELECT is(gpu_scan('{9223372036854775807,1}'::bigint[], 'sum', true), '{null,9223372036854775807}'::bigint[], 'an exclusive sum leaves the last element out');
SELECT is((SELECT value FROM gpu_reduce_by_key('{1,1,1}'::integer[], '{9223372036854775807,9223372036854775807,-9223372036854775807}'::bigint[])),
		  9223372036854775807, 'a sum by key may leave bigint on the way');
SELECT throws_ok($$SELECT * FROM gpu_reduce_by_key('{1,1}'::integer[], '{9223372036854775807,1}'::bigint[])$$, '22003', 'bigint out of range',
				 'but not in the end');
CREATE FUNCTION pg_temp.hint_of(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	hint text;
BEGIN
	EXECUTE query;
	RETURN 'no error';
EXCEPTION WHEN numeric_value_out_of_range THEN
	GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT;
	RETURN hint;
END $$;
SELECT is(pg_temp.hint_of(query), 'Cast the array to numeric[].', 'the way out, ' || query) FROM (VALUES ('SELECT gpu_scan(''{9223372036854775807,1}''::bigint[])'),
	('SELECT * FROM gpu_reduce_by_key(''{1,1}''::integer[], ''{9223372036854775807,1}''::bigint[])')) AS queries (query);
SELECT is((SELECT value FROM gpu_avg_by_key('{1,1}'::integer[], '{9223372036854775807,9223372036854775805}'::bigint[])),
		  (SELECT avg(x) FROM unnest('{9223372036854775807,9223372036854775805}'::bigint[]) AS x), 'an average may');
SELECT throws_ok($$SELECT gpu_scan('{1e308,1e308}'::double precision[])$$, '22003', 'value out of range: overflow', 'double precision, running');
SELECT throws_ok($$SELECT gpu_scan('{1e308,1e308,Infinity}'::double precision[], 'sum', true)$$, '22003', 'value out of range: overflow',
				 'exclusive, before an infinite one');
SELECT is(gpu_scan('{1e308,Infinity,1e308,1e308}'::double precision[], 'sum', true), '{null,1e308,Infinity,Infinity}'::double precision[], 'and not after it');
SELECT throws_ok($$SELECT gpu_scan('{3e38,3e38}'::real[])$$, '22003', 'value out of range: overflow', 'real, running');
SELECT throws_ok($$SELECT * FROM gpu_reduce_by_key('{1,1,2}'::integer[], '{1e308,1e308,Infinity}'::double precision[])$$, '22003',
				 'value out of range: overflow', 'double precision by key, beside an infinite one');
SELECT is((SELECT array_agg(value) FROM gpu_reduce_by_key('{1,1,2,2}'::integer[], '{1e308,Infinity,-Infinity,Infinity}'::double precision[])),
		  '{Infinity,NaN}'::double precision[], 'infinite values are no overflow');
SELECT throws_ok($$SELECT * FROM gpu_reduce_by_key('{1,1}'::integer[], '{3e38,3e38}'::real[])$$, '22003', 'value out of range: overflow', 'real by key');
SELECT is((SELECT value FROM gpu_avg_by_key('{1,1}'::integer[], '{3e38,3e38}'::real[]))::real, 3e38::real, 'an average of real is computed in double precision');
SELECT is(gpu_scan('{null,null}'::integer[]), '{null,null}'::bigint[], 'no value, no sum');
SELECT is((SELECT array_agg(r) FROM gpu_reduce_by_key('{1,1,2}'::integer[], '{null,null,3}'::integer[]) AS r)::text, '{"(1,)","(2,3)"}', 'nor by key');

SELECT * FROM finish();
