-- Functions and aggregates that sort, over text in the order of a language and over other types without an exact encoding.
\ir setup.psql
SELECT plan(2 * 16);
SET gpusort.verify = full;
CREATE EXTENSION IF NOT EXISTS gpusort;

SELECT pg_temp.make_collation('english', 'provider = libc, locale = ''en_US.UTF-8''') AS libc \gset
\if :libc
\else
\echo '# no locale en_US.UTF-8: ICU in its place'
SELECT pg_temp.make_collation('english', 'provider = icu, locale = ''en-US''') \g /dev/null
\endif
CREATE TEMP TABLE v AS SELECT i, i % 11 AS g, CASE WHEN i % 17 > 0 THEN (ARRAY['', '-', 'é', 'A', 'a'])[1 + i % 5] || left(md5((i % 7000)::text), 1 + i % 12) END COLLATE pg_temp.english AS t,
	CASE WHEN i % 13 > 0 THEN ARRAY[i * 7919 % 1009, i % 3] END AS a, int4range(i * 31 % 500, 1000) AS r, jsonb_build_object('a', i * 37 % 20000) AS j
FROM generate_series(1, 20000) AS i;

-- One test: a query gives what the other one gives without gpusort.
CREATE FUNCTION pg_temp.same_answer(memory text, ours text, theirs text, label text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	got text;
	want text;
BEGIN
	PERFORM set_config('gpusort.work_mem', memory, false);
	EXECUTE 'SELECT (x.*)::text FROM (' || ours || ') AS x' INTO got;
	PERFORM set_config('gpusort.enabled', 'off', false);
	EXECUTE 'SELECT (x.*)::text FROM (' || theirs || ') AS x' INTO want;
	PERFORM set_config('gpusort.enabled', 'on', false);
	RETURN ok(got = want AND length(got) > 2, memory || ': ' || label);
END $$;
SELECT pg_temp.same_answer(memory, ours, theirs, ours) FROM unnest('{256MB,1MB}'::text[]) AS memory, (VALUES
	('SELECT gpu_sort(array_agg(t)) FROM v', 'SELECT array_agg(t ORDER BY t) FROM v'),
	('SELECT gpu_sort(array_agg(t), true) FROM v', 'SELECT array_agg(t ORDER BY t DESC) FROM v'),
	('SELECT gpu_sort(array_agg(t COLLATE "de-x-icu"), true, false) FROM v', 'SELECT array_agg(t ORDER BY t COLLATE "de-x-icu" DESC NULLS LAST) FROM v'),
	('SELECT gpu_argsort(array_agg(t)) FROM v', 'SELECT array_agg(i ORDER BY t, i) FROM v'),
	('SELECT gpu_argsort(array_agg(j ORDER BY i), true) FROM v', 'SELECT array_agg(i ORDER BY j DESC, i) FROM v'),
	('SELECT (gpu_sort_by_key(array_agg(t), array_agg(i))).vals FROM v', 'SELECT array_agg(i ORDER BY t, i) FROM v'),
	('SELECT gpu_sort_agg(t) FROM v', 'SELECT array_agg(t ORDER BY t) FROM v'),
	('SELECT gpu_sort_agg(j) FROM v', 'SELECT array_agg(j ORDER BY j) FROM v'),
	('SELECT gpu_sort_agg(r) FROM v', 'SELECT array_agg(r ORDER BY r) FROM v'),
	('SELECT array_agg(s ORDER BY g) FROM (SELECT g, gpu_sort_agg(t)::text AS s FROM v GROUP BY g) AS x',
	 'SELECT array_agg(s ORDER BY g) FROM (SELECT g, array_agg(t ORDER BY t)::text AS s FROM v GROUP BY g) AS x'),
	('SELECT gpu_percentile_disc(t, 0.37) FROM v', 'SELECT percentile_disc(0.37) WITHIN GROUP (ORDER BY t) FROM v'),
	('SELECT gpu_percentile_disc(a, 0.5) FROM v', 'SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY a) FROM v'),
	('SELECT gpu_count_distinct(t) FROM v', 'SELECT count(DISTINCT t) FROM v'),
	('SELECT gpu_count_distinct(a) FROM v', 'SELECT count(DISTINCT a) FROM v'),
	('SELECT gpu_rle(t, t || i) FROM v', 'SELECT gpu_rle(t ORDER BY t || i) FROM v'),
	('SELECT gpu_rle(g, ARRAY[i * 7919 % 20011]) FROM v', 'SELECT gpu_rle(g ORDER BY ARRAY[i * 7919 % 20011]) FROM v')) AS x (ours, theirs);

SELECT * FROM finish();
