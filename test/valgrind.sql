-- What the regression tests leave out: sorts of several types that spill, cursors that go both ways, errors on the way.
LOAD 'gpusort';
SET gpusort.min_rows = 0;
SET max_parallel_workers_per_gather = 0;
SET gpusort.work_mem = '1MB';
CREATE TABLE v AS
SELECT i, hashint8extended(i, 1) AS k, (hashint4(i) % 1000) / 10.0 AS n, md5(i::text) COLLATE "C" AS t,
	   CASE WHEN i % 7 = 0 THEN NULL ELSE (i * 31 % 1000)::float8 END AS f, md5(i::text)::uuid AS u, i % 2 = 0 AS b,
	   make_interval(days => i % 40) AS iv, ('10.0.0.0'::inet + i) AS ip, decode(md5(i::text), 'hex') AS y
FROM generate_series(1, 12000) AS i;
ANALYZE v;
SELECT count(*) FROM (SELECT * FROM v ORDER BY k OFFSET 1) AS s;
SELECT count(*) FROM (SELECT * FROM v ORDER BY n DESC, t OFFSET 1) AS s;
SELECT count(*) FROM (SELECT * FROM v ORDER BY f NULLS FIRST, u OFFSET 1) AS s;
SELECT count(*) FROM (SELECT * FROM v ORDER BY b, iv, ip DESC OFFSET 1) AS s;
SELECT count(*) FROM (SELECT * FROM v ORDER BY y, i OFFSET 1) AS s;
SET gpusort.verify = full;
SELECT count(*) FROM (SELECT * FROM v ORDER BY t, n OFFSET 1) AS s;
SET gpusort.verify = off;
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT i FROM v ORDER BY k;
MOVE 6000 FROM c;
MOVE BACKWARD 3000 FROM c;
MOVE LAST FROM c;
MOVE ABSOLUTE 10 FROM c;
COMMIT;
SELECT 1 / (i - 11999) FROM (SELECT i FROM v ORDER BY i) AS s OFFSET 20000;
SELECT count(*) FROM v AS a JOIN v AS b USING (n) WHERE a.i % 50 = 0;
SET gpusort.work_mem = '64MB';
SELECT count(*) FROM (SELECT * FROM v ORDER BY n, t OFFSET 1) AS s;
SELECT count(s) FROM (SELECT i, rank() OVER (PARTITION BY b ORDER BY f DESC) FROM v) AS s;

-- Functions over arrays of every width (count(s), since the planner drops columns that nobody reads), with NULLs and without, few elements and many; an order of jsonb is made by comparisons.
CREATE EXTENSION IF NOT EXISTS gpusort;
DO $$
DECLARE
	expression text;
	wanted text;
BEGIN
	FOREACH expression IN ARRAY ARRAY['k', '(k % 99)::int4', 'n', 't', 'nullif(t, md5(''7''))', 'f', 'f::float4', 'u', 'b', 'iv', 'ip', 'y',
		'to_jsonb(n)', 'nullif((k % 9)::int2, 3)', 'time ''12:00'' + iv', 'left(t, 1)::name'] LOOP
		FOREACH wanted IN ARRAY ARRAY['i <= 3000', 'i <= 20', 'i = 7', 'false'] LOOP
			EXECUTE format('CREATE TEMP TABLE a AS SELECT coalesce(array_agg(%1$s ORDER BY i), ''{}'') AS x, coalesce(array_agg(k), ''{}'') AS k,
				coalesce(array_agg(k & 7), ''{}'') AS g, coalesce(array_agg(b), ''{}'') AS m FROM v WHERE %2$s', expression, wanted);
			EXECUTE 'SELECT count(s) FROM (SELECT gpu_sort(x), gpu_sort(x, true, false), gpu_argsort(x), gpu_sort_by_key(x, k), gpu_select_if(x, m),
				gpu_partition_if(x, m), gpu_select_if(x, ''>'', x[1]), gpu_dedup(x), gpu_distinct(x), gpu_scan(x, ''min''), gpu_scan(g),
				gpu_count_by_key(x), gpu_rle_runs(x), gpu_reduce_by_key(x, g), gpu_reduce_by_key(g, x, ''max''), gpu_avg_by_key(x, g) FROM a OFFSET 0) AS s';
			EXECUTE 'SELECT gpu_rle_decode(coalesce(array_agg(value), ''{}''), coalesce(array_agg(run_length), ''{}'')) FROM a, gpu_rle_runs(x)';
			DROP TABLE a;
		END LOOP;
	END LOOP;
END $$;
SELECT cardinality(gpu_scan(array_agg(n)) || gpu_scan(array_agg(f))::numeric[]), cardinality(gpu_scan(array_agg(iv), 'sum', true)) FROM v WHERE i <= 5;
SELECT gpu_scan(ARRAY[9223372036854775807, i]) FROM v WHERE i = 1;
-- Aggregates: no value, few, many, and more than memory holds; groups, windows and shared states.
DO $$
DECLARE
	expression text;
	wanted text;
BEGIN
	FOREACH expression IN ARRAY ARRAY['k', 'n', 't', 'nullif(t, md5(''7''))', 'f', 'f::float4', 'u', 'b', '(k % 9)::int2', 'ts'] LOOP
		FOREACH wanted IN ARRAY ARRAY['i <= 3000', 'i <= 20', 'false', 'true'] LOOP
			PERFORM set_config('gpusort.work_mem', CASE wanted WHEN 'true' THEN '1MB' ELSE '64MB' END, false);
			EXECUTE format('SELECT count(s) FROM (SELECT gpu_rle(x ORDER BY i) FILTER (WHERE i <= 3000), gpu_rle(x, k), gpu_sort_agg(x), gpu_count_distinct(x),
				gpu_percentile_disc(x, 0.3), gpu_percentile_cont(k, 0.3), gpu_median(iv), gpu_count_distinct(iv)
				FROM (SELECT i, k, iv, %s AS x FROM v WHERE %s) AS s OFFSET 0) AS s',
				CASE expression WHEN 'ts' THEN 'timestamp ''2020-01-01'' + iv' ELSE expression END, wanted);
		END LOOP;
	END LOOP;
END $$;
SET gpusort.work_mem = '64MB';
SELECT sum(a), sum(cardinality(b)), sum(c) FROM (SELECT gpu_count_distinct(t) AS a, gpu_rle(t, k) AS b, gpu_median(f) AS c FROM v GROUP BY i % 3000) AS s;
SELECT sum(a), sum(cardinality(b)), sum(c) FROM (SELECT gpu_count_distinct(t) OVER w AS a, gpu_rle(t) OVER w AS b, gpu_run_id(t) OVER w AS c
	FROM v WHERE i < 500 WINDOW w AS (PARTITION BY b ORDER BY i ROWS BETWEEN 50 PRECEDING AND CURRENT ROW)) AS s;
SELECT gpu_count_distinct(to_jsonb(n)), gpu_sort_agg(to_jsonb(n)) IS NULL FROM v;
-- states that partitions hand over: in memory and spilled, of all ways to write a value
CREATE TEMP TABLE halves (LIKE v) PARTITION BY LIST (((i) % 2));
CREATE TEMP TABLE even PARTITION OF halves FOR VALUES IN (0);
CREATE TEMP TABLE odd PARTITION OF halves FOR VALUES IN (1);
INSERT INTO halves SELECT * FROM v;
ANALYZE halves;
SET enable_partitionwise_aggregate = on;
SET cpu_tuple_cost = 1;
DO $$
DECLARE
	memory text;
BEGIN
	FOREACH memory IN ARRAY '{64MB,1MB}'::text[] LOOP
		PERFORM set_config('gpusort.work_mem', memory, false);
		EXECUTE 'SELECT count(s) FROM (SELECT gpu_count_distinct(k), gpu_count_distinct(t), gpu_count_distinct(to_jsonb(b)), gpu_count_distinct(ROW(b, t)), gpu_median(f), gpu_median(iv),
			gpu_percentile_disc(n, 0.3), gpu_percentile_disc(ARRAY[t], 0.3), gpu_sort_agg(u), gpu_sort_agg(nullif(t, md5(''7''))), gpu_rle(t, k), gpu_rle(k, n) FROM halves OFFSET 0) AS s';
	END LOOP;
END $$;
SELECT sum(a), sum(b), sum(cardinality(c)) FROM (SELECT gpu_count_distinct(t) AS a, gpu_median(f) AS b, gpu_rle(t, k) AS c FROM halves GROUP BY i % 100) AS s;
RESET enable_partitionwise_aggregate;
RESET cpu_tuple_cost;
DROP TABLE halves;
DROP TABLE v;
