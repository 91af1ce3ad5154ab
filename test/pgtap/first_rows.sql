-- The first rows of a sort, from where they are ours: by keys of all kinds, in memory and in runs that end with them.
\ir setup.psql
SELECT no_plan();
CREATE TABLE f AS SELECT i AS id, h AS i4, h::bigint << 22 AS i8, CASE WHEN i % 50 = 0 THEN 'NaN' WHEN i % 51 = 0 THEN '-0' WHEN i % 52 = 0 THEN 0
		WHEN i % 53 > 0 THEN (h % 1000) / 8.0 END::float8 AS f8, date '2020-01-01' + abs(h % 700) AS d, nullif(h % 300, 7)::smallint AS s, h % 2 = 0 AS b,
	(h % 100000)::numeric / 100 AS n, md5((h % 9000)::text) AS t, repeat('x', h & 3) || md5(h::text) || repeat(md5(i::text), 3) AS long, md5(h::text)::uuid AS u,
	i AS up, -i AS down, 1 AS same, repeat('wide', 40) AS w
FROM generate_series(1, 12000) AS i, LATERAL (SELECT hashint4(i) AS h OFFSET 0) AS hashed;
ANALYZE f;

-- The first rows as PostgreSQL has them.
CREATE FUNCTION pg_temp.same_first(keys text, bound integer) RETURNS text LANGUAGE sql AS $$
	SELECT pg_temp.same_ids(format('SELECT id, w FROM f ORDER BY %s LIMIT %s', keys, bound), format('SELECT id, w FROM f ORDER BY %s, ctid LIMIT %s', keys, bound),
		format('%s LIMIT %s', keys, bound))
$$;
SELECT format($$SET gpusort.work_mem = '%s'; SET gpusort.verify = '%s';
	SELECT pg_temp.same_first(keys, bound) FROM unnest(ARRAY['i4', 'i8 DESC', 'f8', 'f8 DESC NULLS LAST', 'd', 's NULLS FIRST', 'b, s DESC', 'n', 't COLLATE "C"', 'long COLLATE "C"', 'u', 'd, i8', 'up', 'down', 'same',
		't COLLATE "C" DESC, f8', 'n DESC, d, u']) AS keys, unnest(ARRAY[1000, 1177, 11999, 30000]) AS bound$$, memory, verify)
FROM (VALUES ('64MB', 'auto'), ('1MB', 'full')) AS settings (memory, verify) \gexec
RESET gpusort.work_mem;
RESET gpusort.verify;

-- Whose they are.
SELECT matches(pg_temp.plan_of('SELECT id FROM f ORDER BY i4 LIMIT 1000'), 'GpuSort', 'a thousand by an exact key are ours');
SELECT doesnt_match(pg_temp.plan_of('SELECT id FROM f ORDER BY i4 LIMIT 999'), 'GpuSort', 'fewer are not');
SELECT doesnt_match(pg_temp.plan_of('SELECT id FROM f ORDER BY i4 LIMIT 0'), 'GpuSort', 'nor is none');
SELECT doesnt_match(pg_temp.plan_of('SELECT id FROM f ORDER BY point(i4, 0) <-> point(0, 0), ARRAY[t] LIMIT 1000'), 'GpuSort', 'by a key that is not exact');
SELECT matches(pg_temp.plan_of('SELECT id FROM f ORDER BY ARRAY[t] LIMIT 1300'), 'GpuSort', 'but a tenth is');
SELECT matches(pg_temp.plan_of('SELECT id FROM f ORDER BY i4 LIMIT 1500', 'ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF'), 'radix top-N', 'EXPLAIN says so');

-- Another bound in the next round, and back and forth.
SELECT pg_temp.same_ids('SELECT l.id FROM unnest(ARRAY[1200, 3, 5000, 1000, 12000]) AS m, LATERAL (SELECT id FROM f ORDER BY i8 LIMIT m) AS l',
	'SELECT l.id FROM unnest(ARRAY[1200, 3, 5000, 1000, 12000]) AS m, LATERAL (SELECT id FROM f ORDER BY i8, ctid LIMIT m) AS l', 'a bound that changes');
PREPARE first(integer) AS SELECT array_agg(id) FROM (SELECT id FROM f ORDER BY i8 LIMIT $1) AS l;
SET plan_cache_mode = force_generic_plan;
CREATE FUNCTION pg_temp.first_of(bound integer) RETURNS integer[] LANGUAGE plpgsql AS $$
DECLARE
	result integer[];
BEGIN
	EXECUTE format('EXECUTE first(%s)', bound) INTO result;
	RETURN result;
END $$;
SELECT is((pg_temp.first_of(bound))[1:bound], (SELECT array_agg(id) FROM (SELECT id, row_number() OVER (ORDER BY i8, ctid) AS n FROM f) AS x WHERE n <= bound), 'the same rows, ' || bound)
FROM unnest(ARRAY[10, 1000, 1500]) AS bound;

BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT id FROM f ORDER BY i8 LIMIT 1500;
MOVE FORWARD ALL IN c;
CREATE FUNCTION pg_temp.last_of_cursor() RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
	c refcursor := 'c';
	id integer;
BEGIN
	FETCH PRIOR FROM c INTO id;
	RETURN id;
END $$;
SELECT is(pg_temp.last_of_cursor(), (SELECT id FROM f ORDER BY i8, ctid OFFSET 1499 LIMIT 1), 'backwards from the end of a cursor');
COMMIT;
-- A key that becomes coarse on the way, after runs that end with the first rows: for a greater bound they are made again.
CREATE TABLE late AS SELECT id, CASE id WHEN 12000 THEN repeat('z', 3000) ELSE to_char(id, '00000') || repeat('-', 90) END COLLATE "C" AS t FROM f ORDER BY id;
ANALYZE late;
CREATE TEMP SEQUENCE round;
CREATE FUNCTION pg_temp.bound_of_round() RETURNS bigint LANGUAGE sql VOLATILE AS $$SELECT CASE nextval('round') % 2 WHEN 1 THEN 1200 ELSE 5000 END$$;
BEGIN;
SET LOCAL gpusort.work_mem = '1MB';
SET LOCAL enable_material = off;
SET LOCAL enable_hashjoin = off;
SET LOCAL enable_mergejoin = off;
SELECT pg_temp.same_ids(query, query, 'no row is lost that a smaller bound left out')
FROM (VALUES ('SELECT l.id FROM generate_series(1, 2) AS m LEFT JOIN (SELECT id FROM late ORDER BY t LIMIT pg_temp.bound_of_round()) AS l ON true')) AS x (query);
COMMIT;

-- Far more rows than were expected, below a merge of blocks: the leader, which hears of the bound, ends with it.
BEGIN;
SET LOCAL max_parallel_workers_per_gather = 2;
SET LOCAL parallel_setup_cost = 0;
SET LOCAL parallel_tuple_cost = 0;
SET LOCAL min_parallel_table_scan_size = 0;
SET LOCAL gpusort.min_rows = 0;
SELECT matches(pg_temp.plan_of('SELECT id FROM f WHERE id % 3 = 0 ORDER BY i4 LIMIT 20'), 'GpuMerge.*GpuSort', 'in blocks');
SELECT pg_temp.same_ids(query, query, 'as many as the leader was told') FROM (VALUES ('SELECT id FROM f WHERE id % 3 = 0 ORDER BY i4, id LIMIT 20')) AS x (query);
COMMIT;
SELECT * FROM finish();
