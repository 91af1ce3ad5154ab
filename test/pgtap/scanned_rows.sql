-- Rows that a sort takes page by page from a scan: whole, or some columns of them in any sequence, are what PostgreSQL's sort holds.
\ir setup.psql
SELECT plan(1 + 2 * (5 + 80) + 3);

CREATE TYPE pg_temp.pair AS (a integer, b text);
-- widths and alignments of all kinds, values out of line and compressed, columns that came and went
CREATE TABLE odd (c "char", id integer, s smallint, t text, gone integer, f float8, b boolean, n numeric, p point, u uuid, name name, x char(3),
	plain text, outside text, pressed text, a integer[], r pg_temp.pair, j jsonb, i inet, l bigint, e text, v varbit);
ALTER TABLE odd ALTER t SET STORAGE MAIN, ALTER plain SET STORAGE PLAIN, ALTER outside SET STORAGE EXTERNAL;
CREATE FUNCTION pg_temp.fill(lowest integer, highest integer) RETURNS void LANGUAGE sql AS $$
	INSERT INTO odd (c, id, s, t, f, b, n, p, u, name, x, plain, outside, pressed, a, r, j, i, l, e, v)
	SELECT chr(65 + k % 26)::"char", k, h % 1000, CASE WHEN h & 1 > 0 THEN repeat(md5(k::text), h % 5) END, CASE WHEN h & 2 > 0 THEN k / 7.0 END, h & 4 > 0,
		CASE WHEN h & 8 > 0 THEN (k * 1.25) ^ (h % 9) END, CASE WHEN h & 16 > 0 THEN point(k, h) END, CASE WHEN h & 32 > 0 THEN md5(k::text)::uuid END,
		CASE WHEN h & 64 > 0 THEN 'name' || k END, CASE WHEN h & 128 > 0 THEN 'x' END,
		CASE WHEN h & 256 > 0 THEN repeat('p', h % 200) END, CASE WHEN k % 101 = 0 THEN repeat(md5(k::text), 100) WHEN h & 512 > 0 THEN k::text END,
		CASE WHEN k % 53 = 0 THEN repeat('pressed ', 900) END, CASE WHEN h & 1024 > 0 THEN ARRAY[k, NULL, h % 10] END,
		CASE WHEN h & 2048 > 0 THEN ROW(k, md5(k::text))::pg_temp.pair END, CASE WHEN h & 4096 > 0 THEN jsonb_build_object('k', k) END,
		CASE WHEN h & 8192 > 0 THEN inet '10.0.0.0' + k END, CASE WHEN h & 16384 > 0 THEN k::bigint << 20 END, '', k::bit(7)::varbit
	FROM generate_series(lowest, highest) AS k, LATERAL (SELECT abs(hashint4(k)) AS h OFFSET 0) AS hashed
$$;
SELECT pg_temp.fill(1, 3000);
ALTER TABLE odd DROP gone, ADD added integer DEFAULT 7, ADD late text;
SELECT pg_temp.fill(3001, 6000);
UPDATE odd SET late = 'late ' || id, added = NULL WHERE id % 5 = 0;
-- rows without NULLs, of columns whose places never vary, and of ones whose widths never do
CREATE TABLE even AS SELECT k AS id, k::bigint AS l, k % 7 = 0 AS b, md5(k::text) AS t, k::smallint AS s, k / 3.0::float8 AS f, 'abc'::char(3) AS x, date '2020-01-01' + k AS d
	FROM generate_series(1, 6000) AS k;
VACUUM ANALYZE odd, even;

SELECT matches(pg_temp.plan_of('SELECT l, t FROM odd ORDER BY id'), '^Custom Scan \(GpuSort\)\s+Sort Key: id\s+->  Seq Scan', 'the rows come from a scan');

-- What a query of some columns gives in order: values, and the bytes they take.
CREATE FUNCTION pg_temp.rows_of(columns text[], query text, enabled boolean) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text;
BEGIN
	PERFORM set_config('gpusort.enabled', enabled::text, false);
	EXECUTE format('SELECT md5(string_agg(concat_ws(''|'', %s), E''\n'')) FROM (%s OFFSET 0) AS sorted',
		(SELECT string_agg(format('quote_nullable(%1$I::text), pg_column_size(%1$I)', name), ', ') FROM unnest(columns) AS name), query) INTO result;
	PERFORM set_config('gpusort.enabled', 'on', false);
	RETURN result;
END $$;

CREATE FUNCTION pg_temp.same_rows(columns text[], query text) RETURNS text LANGUAGE sql AS $$
	SELECT is(pg_temp.rows_of(columns, query, true), pg_temp.rows_of(columns, query, false), query)
$$;

-- Columns of a table in an order that follows from a number, some of them.
CREATE FUNCTION pg_temp.some_columns(relation regclass, seed integer) RETURNS text[] LANGUAGE sql AS $$
	SELECT array_agg(attname ORDER BY hashint4(seed * 1000 + attnum)) FROM pg_attribute
	WHERE attrelid = relation AND attnum > 0 AND NOT attisdropped AND (abs(hashint4(seed * 77 + attnum)) % 4 < 1 + seed % 3 OR attname = 'id')
$$;

-- in memory, and in runs on disk
SELECT format($$SET gpusort.work_mem = '%s';
	SELECT pg_temp.same_rows(ARRAY['id', 't', 'late', 'plain'], query) FROM unnest(ARRAY['SELECT * FROM odd ORDER BY hashint4(id)', 'SELECT * FROM odd ORDER BY t COLLATE "C", id',
		'SELECT * FROM odd ORDER BY late, id DESC', 'SELECT id, t, late, plain FROM odd ORDER BY f, id', 'SELECT id, t, late, plain FROM odd ORDER BY id DESC']) AS query;
	SELECT pg_temp.same_rows(names, format('SELECT %%s FROM %%I ORDER BY %%I, id', (SELECT string_agg(quote_ident(name), ', ') FROM unnest(names) AS name), relation,
		(SELECT name FROM unnest(names) AS name WHERE name NOT IN ('p', 'i', 'r', 'c') ORDER BY hashint4(seed), name LIMIT 1)))
	FROM unnest(ARRAY['odd', 'even']) AS relation, generate_series(1, 40) AS seed, LATERAL (SELECT pg_temp.some_columns(relation::regclass, seed) AS names OFFSET 0) AS chosen$$, memory)
FROM unnest(ARRAY['64MB', '1MB']) AS memory \gexec

RESET gpusort.work_mem;
SELECT pg_temp.same_rows(ARRAY['t', 'again', 'id'], 'SELECT t, t AS again, id FROM odd ORDER BY id');
SELECT pg_temp.same_rows(ARRAY['id', 'tableoid'], 'SELECT id, tableoid FROM odd ORDER BY id DESC');
SELECT pg_temp.same_rows(ARRAY['id', 'k'], 'SELECT id, s + 1 AS k FROM odd ORDER BY id DESC');

DROP TABLE odd, even;
SELECT * FROM finish();
