-- Types without an exact encoding stay with PostgreSQL, alone and next to supported keys.
\ir setup.psql
SELECT plan(11);

CREATE TEMP TABLE u (id serial, j jsonb, a integer[], r int4range, m int4multirange, v tsvector, q tsquery, o oidvector, i integer);
INSERT INTO u (j, a, r, m, v, q, o, i)
	SELECT jsonb_build_object('a', x), ARRAY[x], int4range(x, x + 5), int4multirange(int4range(x, x + 5)), x::text::tsvector, x::text::tsquery,
		x::text::oidvector, x
	FROM generate_series(1, 100) AS x;

SELECT doesnt_match(pg_temp.plan_of('SELECT id FROM u ORDER BY ' || key), 'GpuSort', key || ' stays')
FROM unnest(ARRAY['j', 'a', 'r', 'm', 'v', 'q', 'o', 'ROW(i, id)', 'i, a', 'j, i']) AS key;
SELECT matches(pg_temp.plan_of('SELECT j FROM u ORDER BY i'), 'GpuSort', 'such types are welcome as other columns');

SELECT * FROM finish();
