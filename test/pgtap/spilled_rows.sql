-- Rows that leave memory: rows of all shapes, at several limits, read forward, backward, again, and from a mark.
\ir setup.psql
SET enable_material = off;

-- One test: whole rows come in the order in which PostgreSQL gives them.
CREATE FUNCTION pg_temp.same_rows(ours text, theirs text, label text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	digest constant text := 'SELECT count(*) || '' '' || md5(string_agg(md5(s::text), '''')) FROM (%s) AS s';
	got text;
	want text;
BEGIN
	EXECUTE format(digest, ours) INTO got;
	PERFORM set_config('gpusort.enabled', 'off', false);
	EXECUTE format(digest, theirs) INTO want;
	PERFORM set_config('gpusort.enabled', 'on', false);
	RETURN is(got, want, label);
END $$;

-- Four tests: a scrolled cursor goes forward over all rows, back over all of them, forward again, and to any row.
CREATE FUNCTION pg_temp.scrolled(source text, keys text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	want integer[] := pg_temp.ids_of(format('SELECT t.id FROM %s t ORDER BY %s, ctid', source, keys), false);
	rows integer := array_length(want, 1);
	label text := format('%s by %s, scrolled', source, keys);
	c refcursor;
	got integer;
	wrong integer := 0;
	places integer[] := ARRAY[1, rows, rows / 2, 2, rows - 1, rows / 3, rows / 3 + 1, 1];
	place integer;
BEGIN
	PERFORM set_config('gpusort.work_mem', '1MB', false);
	OPEN c SCROLL FOR EXECUTE format('SELECT t.id FROM %s t ORDER BY %s', source, keys);
	FOR i IN 1 .. rows LOOP
		FETCH NEXT FROM c INTO got;
		wrong := wrong + (got IS DISTINCT FROM want[i])::integer;
	END LOOP;
	FETCH NEXT FROM c INTO got;
	RETURN NEXT is(wrong + FOUND::integer, 0, label || ', forward');
	wrong := 0;
	FOR i IN REVERSE rows .. 1 LOOP
		FETCH PRIOR FROM c INTO got;
		wrong := wrong + (got IS DISTINCT FROM want[i])::integer;
	END LOOP;
	FETCH PRIOR FROM c INTO got;
	RETURN NEXT is(wrong + FOUND::integer, 0, label || ', backward');
	wrong := 0;
	FOR i IN 1 .. rows LOOP
		FETCH NEXT FROM c INTO got;
		wrong := wrong + (got IS DISTINCT FROM want[i])::integer;
	END LOOP;
	RETURN NEXT is(wrong, 0, label || ', forward again');
	wrong := 0;
	FOREACH place IN ARRAY places LOOP
		FETCH ABSOLUTE place FROM c INTO got;
		wrong := wrong + (got IS DISTINCT FROM want[place])::integer;
		FETCH RELATIVE -1 FROM c INTO got;
		wrong := wrong + (got IS DISTINCT FROM want[place - 1])::integer;
	END LOOP;
	RETURN NEXT is(wrong, 0, label || ', here and there');
	CLOSE c;
END $$;

-- What EXPLAIN says of the space of a sort.
CREATE FUNCTION pg_temp.disk_of(query text, enabled boolean) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
	plan text;
BEGIN
	PERFORM set_config('gpusort.enabled', enabled::text, false);
	plan := pg_temp.plan_of(query, 'ANALYZE, COSTS OFF, TIMING OFF');
	PERFORM set_config('gpusort.enabled', 'on', false);
	RETURN substring(plan FROM 'Disk: (\d+)kB');
END $$;

-- Tests of a table with a column id, by keys, at a limit of memory.
CREATE FUNCTION pg_temp.check_spilled(source text, keys text, memory text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	label text := format('%s by %s in %s', source, keys, memory);
	query text := format('SELECT t.* FROM %s t ORDER BY %s', source, keys);
	again text;
BEGIN
	PERFORM set_config('gpusort.work_mem', memory, false);
	PERFORM set_config('work_mem', memory, false);
	RETURN NEXT matches(pg_temp.plan_of(query, 'ANALYZE, COSTS OFF, TIMING OFF'), 'GpuSort.*external radix merge', label || ' goes to disk');
	RETURN NEXT pg_temp.same_rows(query, query || ', ctid', label);
	RETURN NEXT cmp_ok(pg_temp.disk_of(query, true), '<=', pg_temp.disk_of(query, false) * 11 / 10 + 64,
					   label || ' takes no more space than PostgreSQL''s sort');
	-- a sort that is read several times, and is not sorted again
	again := format('SELECT g, s.* FROM generate_series(1, 2) AS g LEFT JOIN (SELECT t.* FROM %s t ORDER BY %%s OFFSET 0) AS s ON true', source);
	RETURN NEXT pg_temp.same_rows(format(again, keys), format(again, keys || ', ctid'), label || ', twice');
END $$;

-- One test: rows of several matches each, for which a merge join goes back to a mark.
CREATE FUNCTION pg_temp.check_joined(source text, key text, memory text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	query text := format('SELECT count(*) AS n, sum(hashtext(a.*::text)::int8 * b.id) AS x FROM %s a JOIN %s b ON a.%s = b.%s', source, source, key, key);
BEGIN
	PERFORM set_config('gpusort.work_mem', memory, false);
	PERFORM set_config('enable_hashjoin', 'off', false);
	PERFORM set_config('enable_nestloop', 'off', false);
	IF pg_temp.plan_of(query) !~ 'Merge Join.*GpuSort.*GpuSort' THEN
		RETURN ok(false, source || ' is joined by merging') || E'\n' || diag(pg_temp.plan_of(query));
	END IF;
	RETURN pg_temp.same_rows(query, query, format('%s joined by %s in %s', source, key, memory));
END $$;

CREATE TEMP TABLE narrow AS SELECT hashint8extended(i, 1) % 30000 AS k, i AS id FROM generate_series(1, 40000) AS i;
CREATE TEMP TABLE padded AS SELECT hashint8extended(i, 1) AS k, i AS id, repeat(md5(i::text), 3) AS pad FROM generate_series(1, 80000) AS i;
CREATE TEMP TABLE short (k text COLLATE "C", id integer);
INSERT INTO short SELECT left(md5((i / 2)::text), 16), i FROM generate_series(1, 40000) AS i;
CREATE TEMP TABLE ids AS SELECT md5((i / 3)::text)::uuid AS k, i AS id FROM generate_series(1, 40000) AS i;
CREATE TEMP TABLE numbers AS SELECT CASE WHEN i % 7 > 0 THEN (hashint4(i) % 100000) / 100.0 END AS k, i AS id FROM generate_series(1, 40000) AS i;
CREATE TEMP TABLE wide AS SELECT date '2020-01-01' + hashint4(i) % 900 AS d, (i % 7)::int2 AS s, i AS id, i * 1.5 AS price, 'mode' || i % 7 AS mode, md5(i::text) AS note
	FROM generate_series(1, 40000) AS i;
-- strings that differ behind the bytes that a merge keeps, if at all; empty ones, and zero bytes
CREATE TEMP TABLE alike (k text COLLATE "C", x bytea, id integer);
INSERT INTO alike SELECT CASE WHEN i % 11 > 0 THEN repeat('the same ', 4 + i % 2) || hashint4(i) % 5000 ELSE '' END, decode(repeat('00', i % 40) || lpad(to_hex(i % 3), 2, '0'), 'hex'), i
	FROM generate_series(1, 40000) AS i;
-- NULLs, more of them in some runs than in others, and rows that are older than a column
CREATE TEMP TABLE holes AS SELECT CASE WHEN i % 3 > 0 THEN hashint4(i) END AS k, i AS id, CASE WHEN i % 30000 < 100 THEN md5(i::text) END AS t FROM generate_series(1, 40000) AS i;
CREATE TEMP TABLE late AS SELECT hashint4(i) AS k, i AS id FROM generate_series(1, 40000) AS i;
ALTER TABLE late ADD late integer, ADD later bigint DEFAULT 7;
INSERT INTO late SELECT hashint4(i), i, i % 5, NULL FROM generate_series(40001, 50000) AS i;
INSERT INTO late SELECT hashint4(i), i, i % 5, i FROM generate_series(50001, 80000) AS i;
-- rows larger than what is read at a time
CREATE TEMP TABLE huge (k integer, id integer, t text COLLATE "C");
INSERT INTO huge SELECT hashint4(i) % 50, i, repeat(md5((i % 3)::text), 10000) FROM generate_series(1, 140) AS i;
CREATE VIEW pg_temp.long AS SELECT k, id, t || k AS t, ctid FROM huge;
-- compared, for want of an exact encoding
CREATE TEMP TABLE listed AS SELECT ARRAY[hashint4(i) % 20000, i % 2] AS k, i AS id, md5(i::text) AS note FROM generate_series(1, 40000) AS i;
ANALYZE narrow, padded, short, ids, numbers, wide, alike, holes, late, huge, listed;

SELECT plan(17 * 4 + 5 * 4 + 4 + 2 + 2 + 1);
SELECT pg_temp.check_spilled('narrow', 'k', '1MB');
SELECT pg_temp.check_spilled('narrow', 'k DESC', '1MB');
SELECT pg_temp.check_spilled('padded', 'k', '1MB');
SELECT pg_temp.check_spilled('padded', 'k', '4MB');
SELECT pg_temp.check_spilled('padded', 'k DESC', '2MB');
SELECT pg_temp.check_spilled('short', 'k', '1MB');
SELECT pg_temp.check_spilled('ids', 'k DESC', '1MB');
SELECT pg_temp.check_spilled('numbers', 'k DESC NULLS LAST', '1MB');
SELECT pg_temp.check_spilled('wide', 'd DESC, s', '1MB');
SELECT pg_temp.check_spilled('wide', 'd, s, mode COLLATE "C", note COLLATE "C" DESC', '4MB');
SELECT pg_temp.check_spilled('alike', 'k', '1MB');
SELECT pg_temp.check_spilled('alike', 'x DESC, k DESC', '1MB');
SELECT pg_temp.check_spilled('holes', 'k NULLS FIRST, t COLLATE "C"', '1MB');
SELECT pg_temp.check_spilled('late', 'late, k', '1MB');
SELECT pg_temp.check_spilled('pg_temp.long', 'k', '1MB');
SELECT pg_temp.check_spilled('pg_temp.long', 'k DESC', '16MB');
SELECT pg_temp.check_spilled('listed', 'k', '1MB');
SELECT pg_temp.scrolled('narrow', 'k');
SELECT pg_temp.scrolled('alike', 'x DESC, k DESC');
SELECT pg_temp.scrolled('holes', 'k NULLS FIRST, t COLLATE "C"');
SELECT pg_temp.scrolled('pg_temp.long', 'k');
SELECT pg_temp.scrolled('listed', 'k');
SELECT pg_temp.check_joined('narrow', 'k', '1MB');
SELECT pg_temp.check_joined('short', 'k', '1MB');
SELECT pg_temp.check_joined('numbers', 'k', '1MB');
SELECT pg_temp.check_joined('ids', 'k', '1MB');

-- Rows of the next run have the numbers of the last one's: a value that was unpacked of that one is not theirs.  The greatest two rows come
-- first, the later one before the other in the order, and the next run begins with two in order.
CREATE TEMP TABLE packed AS SELECT i AS id, (CASE WHEN i < 3 THEN '9' ELSE '7' END || repeat('7', 4200) || lpad(CASE WHEN i < 3 THEN 9 - i ELSE i END::text, 6, '0'))::numeric AS k
FROM generate_series(1, 14000) AS i;
ANALYZE packed;
SET gpusort.work_mem = '16MB';
SET gpusort.verify = full;
SELECT alike(pg_temp.plan_of('SELECT id, k FROM packed ORDER BY k', 'ANALYZE, COSTS OFF, TIMING OFF'), '%external radix merge%', 'an order of compressed values passes its check in each run');
SELECT pg_temp.same_rows('SELECT id FROM packed ORDER BY k', 'SELECT id FROM packed ORDER BY k', 'compressed values in several runs');
-- so it is with rows that were taken apart, as those with NULLs are
CREATE TEMP TABLE apart AS SELECT i AS id, CASE WHEN i < 0 THEN i END AS hole, CASE WHEN i < 3 THEN 1000000 - i ELSE i END AS k FROM generate_series(1, 60000) AS i;
ANALYZE apart;
SET gpusort.work_mem = '1MB';
SELECT alike(pg_temp.plan_of('SELECT id, hole, k FROM apart ORDER BY k', 'ANALYZE, COSTS OFF, TIMING OFF'), '%external radix merge%', 'an order of rows with NULLs passes its check in each run');
SELECT pg_temp.same_rows('SELECT id, hole, k FROM apart ORDER BY k', 'SELECT id, hole, k FROM apart ORDER BY k', 'rows with NULLs in several runs');
RESET gpusort.verify;

-- what a run takes is there for the next one, instead of twice as much each time; a sanitizer has terabytes of its own
SELECT (regexp_match(pg_read_file('/proc/self/status'), 'VmSize:\s+(\d+)'))[1]::bigint AS had \gset
SET gpusort.work_mem = '1MB';
SELECT count(*) FROM (SELECT k, repeat('x', k % 20) AS t FROM generate_series(1, 400000) AS k ORDER BY hashint4(k) OFFSET 0) AS s \gset
SELECT cmp_ok((regexp_match(pg_read_file('/proc/self/status'), 'VmPeak:\s+(\d+)'))[1]::bigint - :had, '<', 4194304::bigint,
			  'tens of runs take no gigabytes of addresses, in kB');

SELECT * FROM finish();
