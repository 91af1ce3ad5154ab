-- Keys without an exact encoding next to exact ones, in any order; and all that reads a sort other than from its first row to its last.
\ir setup.psql
SELECT plan(8 + 2 * 22 + 9);
SET gpusort.verify = full;

SELECT pg_temp.make_collation('english', 'provider = libc, locale = ''en_US.UTF-8''') AS libc \gset
\if :libc
\else
\echo '# no locale en_US.UTF-8: ICU in its place'
SELECT pg_temp.make_collation('english', 'provider = icu, locale = ''en-US''') \g /dev/null
\endif
-- equal values follow each other as they come
CREATE TEMP TABLE s AS SELECT i AS id, ((i - i % 8 / 7) * 7919 % 12007)::text::tsvector AS a, 'é' || md5((i / 2 % 3000)::text) AS u, (i % 2000) * interval '1 min' + '2024-01-01'::timestamp AS ts,
	CASE WHEN i % 23 > 0 THEN (ARRAY['Anna', 'anna', 'ANNA', 'Ana', 'Åsa', 'Bo'])[1 + i / 2000 % 6] END AS name, i / 2 % 7 AS few,
	CASE WHEN i % 19 > 0 THEN jsonb_build_object('a', i / 3 % 900) END AS j, (i % 5 || '-' || i / 2 % 3)::char(8) AS c, i / 3 % 4 = 1 AS b,
	int4range(i % 30, i % 30 + 5) AS r, (ARRAY['1-1', '11', '-11', '1/1'])[1 + i / 2 % 4] || i % 13 AS code, hashint4(i / 2) / 3.0 AS f
FROM generate_series(1, 12000) AS i;
ANALYZE s;

-- what follows a key that tells nothing was not sorted by, and is no fault where it is out of order
SELECT pg_temp.sorted_as('SELECT id FROM s ORDER BY ' || keys, forms, keys) FROM (VALUES
	('a, id DESC', 'a: compared'),
	('u COLLATE pg_temp.english, a, id DESC', 'primary weights, a: compared'),
	('u COLLATE pg_temp.english, id DESC', 'primary weights'),
	('ts, name COLLATE pg_temp.english, id DESC', 'compared'),
	('few, name COLLATE pg_temp.english, id DESC', 'dictionary'),
	('name COLLATE pg_temp.english, ts', 'dictionary'),
	('a, u COLLATE pg_temp.english, id DESC', 'a: compared'),
	('b, few, j, a DESC, id DESC', 'compared')) AS x (keys, forms);

CREATE FUNCTION pg_temp.check_keys(memory text, keys text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	keys := replace(keys, '@', 'COLLATE pg_temp.english');
	PERFORM set_config('gpusort.work_mem', memory, false);
	RETURN pg_temp.same_ids('SELECT id, u, name FROM s ORDER BY ' || keys, 'SELECT id FROM s ORDER BY ' || keys || ', ctid', memory || ': ' || keys);
END $$;
SELECT pg_temp.check_keys(memory, keys) FROM unnest('{256MB,1MB}'::text[]) AS memory, unnest(ARRAY[
	'a, id DESC', 'a DESC NULLS LAST, few, id', 'ts, name @', 'ts DESC, name @ DESC NULLS LAST, id', 'name @, ts', 'name @ DESC, ts NULLS FIRST, id DESC', 'u @, a',
	'u @ DESC, a DESC, id DESC', 'few, u @, b DESC', 'b, name @ NULLS FIRST, j DESC NULLS FIRST, f', 'j, c @, f DESC', 'j DESC NULLS LAST, name @, id',
	'c @, code @, id DESC', 'code @, c @ DESC, few', 'r, name @ DESC, f', 'few DESC, r DESC, code @, b', 'f, a, u @', 'name COLLATE "C", name @, j', 'u COLLATE "de-x-icu", j',
	'name COLLATE "fr-x-icu" DESC, name @, id', 'b, few, r, c @, name @, j, a, f, id DESC', 'code COLLATE "und-x-icu", a DESC, ts, id']) AS keys;
SET gpusort.work_mem = '256MB';

-- Backward: the ids from the last to the first, and the first again.
CREATE FUNCTION pg_temp.backward_ids(query text) RETURNS integer[] LANGUAGE plpgsql AS $$
DECLARE
	c refcursor;
	row record;
	result integer[] := '{}';
BEGIN
	OPEN c SCROLL FOR EXECUTE query;
	FETCH LAST FROM c INTO row;
	WHILE row.id IS NOT NULL LOOP
		result := result || row.id;
		FETCH PRIOR FROM c INTO row;
	END LOOP;
	FETCH NEXT FROM c INTO row;
	result := result || row.id;
	CLOSE c;
	RETURN result;
END $$;
CREATE FUNCTION pg_temp.check_backward(memory text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	query text := 'SELECT id FROM s WHERE id % 4 = 0 ORDER BY name COLLATE pg_temp.english, u COLLATE pg_temp.english, a';
	ids integer[];
BEGIN
	PERFORM set_config('gpusort.work_mem', memory, false);
	ids := pg_temp.ids_of(query, false);
	RETURN ok(pg_temp.backward_ids(query) = (SELECT array_agg(id ORDER BY place DESC) FROM unnest(ids) WITH ORDINALITY AS x (id, place)) || ids[1], memory || ': backward');
END $$;
SELECT pg_temp.check_backward('256MB');
SELECT pg_temp.check_backward('1MB');

-- mark and restore: merge joins whose both sides have values several times
SET enable_hashjoin = off;
SET enable_nestloop = off;
CREATE FUNCTION pg_temp.check_join(memory text, condition text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	query text := 'SELECT count(*) || md5(string_agg(x.id || '':'' || y.id, '','' ORDER BY x.id, y.id)) FROM s AS x JOIN s AS y ON ' || condition;
	want text;
	got text;
BEGIN
	PERFORM set_config('gpusort.work_mem', memory, false);
	PERFORM set_config('gpusort.enabled', 'off', false);
	EXECUTE query INTO want;
	PERFORM set_config('gpusort.enabled', 'on', false);
	EXECUTE query INTO got;
	RETURN NEXT is(got, want, memory || ': ' || condition);
END $$;
SELECT matches(pg_temp.plan_of('SELECT FROM s AS x JOIN s AS y ON x.u COLLATE pg_temp.english = y.u COLLATE pg_temp.english'), 'Merge Join.*GpuSort.*GpuSort', 'a merge join of sorts');
SELECT pg_temp.check_join(memory, condition) FROM unnest('{256MB,1MB}'::text[]) AS memory, unnest(ARRAY[
	'x.u COLLATE pg_temp.english = y.u COLLATE pg_temp.english AND x.id % 3 = 0', 'x.a = y.a', 'x.code COLLATE pg_temp.english = y.code COLLATE pg_temp.english AND x.id < 100']) AS condition;

SELECT * FROM finish();
