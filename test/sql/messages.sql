-- Messages that users meet, with their hints.
SET client_min_messages = warning;
CREATE TYPE mood AS ENUM ('low', 'high');
CREATE TABLE moods (m mood, j json, x int);
INSERT INTO moods VALUES ('low', '1', 1), ('high', '2', 2);

-- values that an aggregate does not take
SELECT gpu_rle(m) FROM moods;
SELECT * FROM unnest((SELECT gpu_rle(m ORDER BY x) FROM moods));
SELECT gpu_rle(m, x) FROM moods;
SELECT gpu_percentile_cont(x, ARRAY[0.25, 0.5]) FROM moods;
SELECT gpu_count_distinct(j) FROM moods;
SELECT gpu_sort(array_agg(j)) FROM moods;
SELECT gpu_run_id(j) OVER (ORDER BY x) FROM moods;

-- what the hints name
SELECT gpu_rle(m::text ORDER BY x) FROM moods;
SELECT gpu_percentile_cont_within(ARRAY[0.25, 0.5]) WITHIN GROUP (ORDER BY x) FROM moods;
SELECT gpu_percentile_disc_within('{0.25,0.5}'::float8[]) WITHIN GROUP (ORDER BY m) FROM moods;

-- a fraction of unknown type is a number, whatever the type of the values
PREPARE percentile AS SELECT gpu_percentile_cont(x, $1), gpu_percentile_cont(x::real, $1), gpu_percentile_cont(x::float8, $1),
	gpu_percentile_cont(x::numeric, $1), gpu_percentile_cont(x * interval '1 s', $1) FROM moods;
EXECUTE percentile(0.5);
SELECT gpu_percentile_cont(x, '0.5'), gpu_percentile_cont(x::bigint, '0.5') FROM moods;

-- operators of gpu_select_if
SELECT gpu_select_if('{1,2,NULL,1}'::int[], '!=', 1), gpu_select_if('{1,2,NULL,1}'::int[], '<>', 1);
SELECT gpu_select_if('{1,2}'::int[], '~', 1);

-- sizes of results
SELECT gpu_rle_decode('{1}'::int[], '{134217728}');
SELECT gpu_rle_decode(ARRAY[repeat('a', 100000)], '{20000}');

DROP TABLE moods;
DROP TYPE mood;
