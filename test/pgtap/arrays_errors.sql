-- Array functions: what is refused, NULL arguments, lower bounds, limits, and what the catalog says of them.
\ir arrays.psql
SELECT plan(15 + 1 + 1 + 5 + 1 + 17 + 3 + 7 + 4 + 5 + 4 + 2);

-- arrays of several dimensions, wherever they come
CREATE TEMP TABLE calls AS SELECT * FROM (VALUES ('gpu_sort(%s)'), ('gpu_sort(%s, true)'), ('gpu_argsort(%s)'), ('gpu_sort_by_key(%s, ''{1,2}''::integer[])'),
	('gpu_sort_by_key(''{1,2}''::integer[], %s)'), ('gpu_select_if(%s, ''{t,f}'')'), ('gpu_select_if(%s, ''='', 1)'), ('gpu_partition_if(%s, ''{t,f}'')'),
	('gpu_dedup(%s)'), ('gpu_distinct(%s)'), ('gpu_scan(%s)'), ('gpu_rle_runs(%s)'), ('gpu_rle_decode(%s, ''{1,2}'')'),
	('gpu_reduce_by_key(%s, ''{1,2}''::integer[])'), ('gpu_count_by_key(%s)')) AS calls (call);
SELECT throws_ok('SELECT ' || format(call, '''{{1,2},{3,4}}''::integer[]'), '0A000', 'multidimensional arrays are not supported',
				 format(call, 'two dimensions')) FROM calls;
SELECT is(gpu_sort('{}'::integer[]), '{}', 'an empty array has no dimension');
SELECT is((SELECT count(*) FROM pg_proc
	WHERE proname ~ '^gpu_((arg)?sort|select_if|partition_if|dedup|distinct|scan|rle_runs|rle_decode|(sort|reduce|count|avg)_by_key)$'
	AND (provolatile <> 'i' OR proparallel <> 's' OR NOT proisstrict OR procost = 1 OR obj_description(oid, 'pg_proc') IS NULL)), 0::bigint,
		  'all are immutable, parallel safe, strict, have a cost and a description');

-- arrays of different length
SELECT throws_ok('SELECT ' || call, '2202E', 'arrays must have the same number of elements', call) FROM (VALUES
	('gpu_sort_by_key(''{1,2}''::integer[], ''{1}''::integer[])'), ('gpu_select_if(''{1,2}''::integer[], ''{t}'')'),
	('gpu_partition_if(''{}''::integer[], ''{t}'')'), ('gpu_rle_decode(''{1,2}''::integer[], ''{1}'')'),
	('gpu_reduce_by_key(''{1,2}''::integer[], ''{1,2,3}''::integer[])')) AS calls (call);
SELECT throws_like($$SELECT gpu_scan('{1}'::integer[], 'product')$$, 'unrecognized operation: "product"', 'an unknown operation');

-- operations and operators
SELECT throws_ok($$SELECT gpu_scan('{1}'::integer[], '')$$, '22023', 'unrecognized operation: ""', 'no operation');
SELECT throws_ok($$SELECT gpu_reduce_by_key('{1}'::integer[], '{1}'::integer[], 'avg')$$, '22023', 'unrecognized operation: "avg"', 'avg is no operation');
SELECT is(gpu_scan('{1,2}'::integer[], 'SUM'), '{1,3}', 'case does not count');
SELECT throws_ok($$SELECT gpu_select_if('{1}'::integer[], '~', 1)$$, '22023', 'unrecognized comparison operator: "~"', 'another operator');
SELECT is(gpu_select_if('{1,2,3}'::bigint[], '>', 1), '{2,3}'::bigint[], 'a value that can be made one of the array');
SELECT is(gpu_select_if('{1,2,3}'::integer[], '>=', 1.5), '{2,3}'::numeric[], 'an array whose elements can be made one of the value');
SELECT throws_ok($$SELECT gpu_select_if('{1}'::integer[], '=', '1'::text)$$, '42883', NULL, 'neither of them');
SELECT throws_ok($$SELECT gpu_select_if('{1}'::integer[], '', 1)$$, '22023', 'unrecognized comparison operator: ""', 'no operator');
SELECT throws_ok($$SELECT gpu_scan('{a}'::text[])$$, '42883', 'values of type text cannot be added', 'no sum of texts');
SELECT throws_ok($$SELECT gpu_reduce_by_key('{1}'::integer[], '{a}'::text[])$$, '42883', 'values of type text cannot be added', 'nor by key');
CREATE DOMAIN pg_temp.positive AS bigint CHECK (value > 0);
SELECT throws_ok($$SELECT gpu_scan('{1}'::pg_temp.positive[])$$, '42883', NULL, 'nor of a domain''s values');
SELECT is(gpu_scan('{2,1}'::pg_temp.positive[], 'min')::text, '{2,1}', 'whose minimum is well');
CREATE DOMAIN pg_temp.small AS integer;
CREATE DOMAIN pg_temp.list AS integer[];
SELECT throws_ok($$SELECT gpu_scan('{1}'::pg_temp.small[])$$, '42725', NULL, 'a domain over integer wants a cast');
SELECT is(gpu_scan('{1,2}'::pg_temp.small[]::integer[]), '{1,3}', 'which is enough');
SELECT throws_ok($$SELECT gpu_reduce_by_key('{1}'::integer[], '{1}'::pg_temp.small[])$$, '42725', NULL, 'by key, too');
SELECT throws_ok($$SELECT gpu_avg_by_key('{1}'::integer[], '{1}'::pg_temp.positive[])$$, '42725', NULL, 'and for averages of any number');
SELECT is(value, 3::bigint, 'not keys, nor a domain over an array') FROM gpu_reduce_by_key('{1,1}'::pg_temp.small[], '{1,2}'::pg_temp.list);

-- types without an order
SELECT throws_ok($$SELECT gpu_sort('{"(1,2)"}'::point[])$$, '42883', 'could not identify an ordering operator for type point', 'point');
SELECT throws_ok($$SELECT gpu_dedup('{}'::json[])$$, '42883', 'could not identify an ordering operator for type json', 'json');
SELECT throws_ok($$SELECT gpu_count_by_key('{1}'::xid[])$$, '42883', 'could not identify an ordering operator for type xid', 'xid');

-- run lengths
SELECT throws_ok($$SELECT gpu_rle_decode('{a,b}'::text[], '{1,-1}')$$, '22023', 'run length must not be negative', 'a negative run length');
SELECT throws_ok($$SELECT gpu_rle_decode('{a,b}'::text[], '{1,null}')$$, '22004', 'run length must not be null', 'a null run length');
SELECT throws_ok($$SELECT gpu_rle_decode('{a,b}'::text[], '{1,134217727}')$$, '54000', 'array size exceeds the maximum allowed (134217727 elements)', 'too many elements');
SELECT throws_ok($$SELECT gpu_rle_decode('{a,b}'::text[], '{9223372036854775807,9223372036854775807}')$$, '54000',
				 'array size exceeds the maximum allowed (134217727 elements)', 'very many elements');
SELECT throws_ok($$SELECT gpu_rle_decode(ARRAY[repeat('a', 100000)], '{20000}')$$, '54000', 'array size exceeds the maximum allowed (1073741823 bytes)',
				 'too many bytes');
SELECT is(gpu_rle_decode('{a,b,c}'::text[], '{0,2,0}'), '{b,b}', 'runs of no element');
SELECT is(cardinality(gpu_rle_decode('{t}'::boolean[], '{1000000}')), 1000000, 'a long run');

-- NULL arguments: strict
SELECT is(gpu_sort(NULL::integer[]), NULL, 'gpu_sort of NULL');
SELECT is(gpu_select_if('{1}'::integer[], '=', NULL), NULL, 'gpu_select_if with NULL');
SELECT is((gpu_sort_by_key('{1}'::integer[], NULL::text[])).keys, NULL, 'gpu_sort_by_key with NULL');
SELECT is((SELECT count(*) FROM gpu_rle_runs(NULL::integer[])), 0::bigint, 'gpu_rle_runs of NULL has no row');

-- lower bounds: gpu_sort keeps it, all others begin with 1; positions always count from 1
SELECT is(gpu_sort('[-3:-1]={3,1,2}'::integer[])::text, '[-3:-1]={1,2,3}', 'gpu_sort keeps the lower bound');
SELECT is(gpu_argsort('[-3:-1]={3,1,2}'::integer[])::text, '{2,3,1}', 'gpu_argsort counts from 1');
SELECT is(gpu_dedup('[7:9]={3,3,2}'::integer[])::text, '{3,2}', 'gpu_dedup begins with 1');
SELECT is((SELECT array_agg(first_row) FROM gpu_rle_runs('[7:9]={3,3,2}'::integer[])), '{1,3}', 'gpu_rle_runs counts from 1');
SELECT is(gpu_select_if('[7:9]={3,3,2}'::integer[], '[0:2]={t,f,t}'::boolean[])::text, '{3,2}', 'masks go by position');

-- whatever form an argument has
CREATE TEMP TABLE stored (a integer[], b integer[]);
ALTER TABLE stored ALTER COLUMN b SET STORAGE EXTERNAL;
INSERT INTO stored SELECT array_agg(i * 7919 % 10007), array_agg(i * 7919 % 10007) FROM generate_series(1, 10006) AS i;
SELECT is(gpu_sort(a), ARRAY(SELECT generate_series(1, 10006)), 'compressed') FROM stored;
SELECT is(gpu_sort(b), ARRAY(SELECT generate_series(1, 10006)), 'in the TOAST table') FROM stored;
SELECT is(gpu_sort(b, true, true), ARRAY(SELECT generate_series(10006, 1, -1)), 'three arguments') FROM stored;
CREATE FUNCTION pg_temp.expanded() RETURNS integer[] LANGUAGE plpgsql AS $$
DECLARE
	a integer[] := '{5,3,1}';
BEGIN
	a[4] := 2;
	a := gpu_sort(a);
	a[5] := 0;
	RETURN gpu_sort(a, true);
END $$;
SELECT is(pg_temp.expanded(), '{5,3,2,1,0}', 'a variable of PL/pgSQL');

-- a set-returning function where a row is wanted, and one in a join
SELECT is((SELECT count(*) FROM (SELECT gpu_rle_runs('{1,1,2}'::integer[])) AS s), 2::bigint, 'in the SELECT list');
SELECT is((SELECT array_agg(r.value ORDER BY g, first_row) FROM generate_series(1, 2) AS g, gpu_rle_runs(ARRAY[g, g, 9]) AS r), '{1,9,2,9}', 'LATERAL');

SELECT * FROM finish();
