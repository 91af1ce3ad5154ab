-- Sorted blocks whose keys are words, which the leader has merged by the engine: many blocks, ties across participants, all at once or hardly any.
\ir setup.psql
SELECT * FROM no_plan();
\ir parallel.psql
DROP SCHEMA IF EXISTS gpusort_words CASCADE;
CREATE SCHEMA gpusort_words;
SET search_path = gpusort_words, public;

-- Of equal keys only the number is compared: rows are told apart by a second key where need be.
CREATE TABLE v AS SELECT i AS id, hashint4(i) AS random, i % 7 AS few, 0 AS same, CASE WHEN i % 5 > 0 THEN hashint4(i) % 1000 END AS nulls,
	CASE WHEN i < 30000 THEN i ELSE 90000 - i END AS hill, (hashint8(i) / 3.0)::float8 AS f, CASE WHEN i % 3000 = 0 THEN repeat('wide', 500) ELSE '' END AS t
	FROM generate_series(1, 60000) AS i;
VACUUM ANALYZE v;

SELECT matches(pg_temp.plan_of('SELECT id FROM v ORDER BY random'), 'Custom Scan \(GpuMerge\)', 'blocks are merged')
	FROM (SELECT set_config('max_parallel_workers_per_gather', '3', false)) AS _;
SELECT pg_temp.same_rows('SELECT id, random FROM v ORDER BY random, id', 'numbers at random', '{1,2,3}');
SELECT pg_temp.same_rows('SELECT random FROM v ORDER BY random DESC', 'falling');
SELECT pg_temp.same_rows('SELECT few FROM v ORDER BY few', 'seven keys');
SELECT pg_temp.same_rows('SELECT few, id, t FROM v ORDER BY few, id DESC', 'seven keys and numbers, some rows wide');
SELECT pg_temp.same_rows('SELECT same FROM v ORDER BY same', 'all keys the same');
SELECT pg_temp.same_rows('SELECT nulls, id FROM v ORDER BY nulls NULLS FIRST, id', 'NULLs first');
SELECT pg_temp.same_rows('SELECT nulls, id FROM v ORDER BY nulls DESC NULLS LAST, id', 'NULLs last');
SELECT pg_temp.same_rows('SELECT hill, id FROM v ORDER BY hill, id', 'up and down');
SELECT pg_temp.same_rows('SELECT id FROM v ORDER BY id', 'in order');
SELECT pg_temp.same_rows('SELECT f FROM v ORDER BY f', 'floats');
SELECT pg_temp.same_rows('SELECT id FROM v WHERE id < 5 ORDER BY random', 'hardly any');
SELECT pg_temp.same_rows('SELECT id FROM v WHERE id < 0 ORDER BY random', 'none');
-- again and again: the merge begins anew
SET enable_material = off;
SELECT pg_temp.same_rows('SELECT a.n, b.id FROM generate_series(1, 3) AS a (n), LATERAL (SELECT id FROM v WHERE id % a.n = 0 ORDER BY random, id) AS b', 'three times');

DROP SCHEMA gpusort_words CASCADE;
SELECT * FROM finish();
