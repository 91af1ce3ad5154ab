-- Aggregates with an order of their own over all rows, without groups: from one sort below them, with PostgreSQL's answers.
\ir setup.psql
DROP FUNCTION pg_temp.check_type(text, text[], text, integer);
CREATE EXTENSION IF NOT EXISTS gpusort;
SELECT * FROM no_plan();
SET client_min_messages = error;
SET jit = off;
SET gpusort.aggregates = on;
SET max_parallel_workers_per_gather = 0;
DROP SCHEMA IF EXISTS ordered CASCADE;
CREATE SCHEMA ordered;
SET search_path = ordered, public;

-- id has no equal values, and order by it or behind other keys is the only one
CREATE TABLE v AS SELECT i AS id, i % 4 AS h, nullif(hashint4(i) % 50, 7) AS a, (hashint4(i + 1) % 1000) / 8.0::float8 AS b,
	('w' || hashint4(i + 2) % 90) COLLATE "C" AS c, hashint4(i + 4) AS x, CASE WHEN i % 5 > 0 THEN 's' || i END AS s,
	(hashint4(i + 5) % 1000 / 100.0)::numeric(10, 2) AS n FROM generate_series(1, 6000) AS i;
ANALYZE v;

-- The aggregates of a query: whether they take their values from a sort by these keys, '' for none, and PostgreSQL's answer.
CREATE FUNCTION same_answer(query text, keys text, label text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	plan text := pg_temp.plan_of(query);
	ours text;
	theirs text;
BEGIN
	IF keys <> '' THEN
		RETURN NEXT ok(plan ~ '(GpuSort|GpuMerge)' AND plan ~ ('Sort Key: ' || keys || E'\n'), label || ': sorted by ' || keys) ||
			CASE WHEN plan !~ ('Sort Key: ' || keys || E'\n') THEN E'\n' || diag(plan) ELSE '' END;
	ELSIF current_setting('server_version_num')::int < 160000 THEN
		RETURN NEXT ok(plan !~ 'Sort Key', label || ': not sorted below') || CASE WHEN plan ~ 'Sort Key' THEN E'\n' || diag(plan) ELSE '' END;
	END IF;
	EXECUTE format('SELECT string_agg(q::text, chr(10)) FROM (%s) AS q', query) INTO ours;
	SET LOCAL gpusort.enabled = off;
	EXECUTE format('SELECT string_agg(q::text, chr(10)) FROM (%s) AS q', query) INTO theirs;
	RESET gpusort.enabled;
	RETURN NEXT ok(ours IS NOT DISTINCT FROM theirs, label || ': answer');
END $$;

SELECT same_answer('SELECT gpu_rle(h ORDER BY a, id) FROM v', 'a, id', 'runs');
SELECT same_answer('SELECT array_agg(x ORDER BY id) FROM v', 'id', 'one key');
SELECT same_answer('SELECT string_agg(s, '','' ORDER BY a, b DESC, id) FROM v', 'a, b DESC, id', 'several keys');
SELECT same_answer('SELECT array_agg(a ORDER BY a NULLS FIRST, id DESC) FROM v', 'a NULLS FIRST, id DESC', 'NULLs first');
SELECT same_answer('SELECT string_agg(s, c ORDER BY c, id) FROM v', 'c COLLATE "C", id', 'a key that is an argument');
SELECT same_answer('SELECT string_agg(s, c ORDER BY c COLLATE "C", id) FROM v WHERE h > 0', 'c COLLATE "C", id', 'a condition');
SELECT same_answer('SELECT array_agg(v.x ORDER BY v.a, w.b, v.id) FROM v JOIN v AS w USING (id) WHERE w.h < 3', 'v.a, w.b, v.id', 'a join');
SELECT same_answer('SELECT array_agg(x ORDER BY b, id) FROM v HAVING count(*) > 5 AND string_agg(s, '','' ORDER BY b, id) > ''''', 'b, id', 'HAVING');
SELECT same_answer('SELECT array_agg(x ORDER BY b, id) FROM v HAVING count(*) < 5', 'b, id', 'HAVING that is false');
SELECT same_answer('SELECT array_agg(x ORDER BY b, id) AS m FROM v ORDER BY m LIMIT 1', 'b, id', 'ORDER BY and LIMIT');
SELECT same_answer('SELECT array_agg(x ORDER BY b, id), now() = now(), (SELECT max(id) FROM v) FROM v', 'v.b, v.id', 'beside what is no aggregate');
SELECT same_answer('SELECT h.n, (SELECT md5(string_agg(s, '','' ORDER BY b, id)) FROM v WHERE v.x > h.n) FROM (VALUES (0), (100), (NULL)) AS h (n)', 'v.b, v.id', 'once for each row');
SELECT same_answer('SELECT array_length(array_agg(x ORDER BY b, id), 1), max(x) FROM (SELECT x, b, id FROM v UNION ALL SELECT 0, 1, 2 WHERE false) AS u', '.*b, .*id', 'an Append');
SELECT same_answer('SELECT array_agg(x ORDER BY a, id) FROM (SELECT * FROM v ORDER BY id DESC OFFSET 0) AS w', '(w\.)?a, (w\.)?id', 'rows of another order');

-- NULLs, no rows, and a condition on the values
SELECT same_answer('SELECT array_agg(nullif(x % 3, 0) ORDER BY a, id), string_agg(NULL::text, '','' ORDER BY a, id) FROM v', 'a, id', 'NULLs');
SELECT same_answer('SELECT array_agg(x ORDER BY b, id), count(*) FROM v WHERE x <> x + id - id', 'b, id', 'no rows');
SELECT same_answer('SELECT array_agg(x ORDER BY b, id) FILTER (WHERE h > 0), count(*) FILTER (WHERE h = 0) FROM v', 'b, id', 'FILTER');
SELECT same_answer('SELECT array_agg(x ORDER BY b, id) FILTER (WHERE id = 17) FROM v', '', 'FILTER that leaves one row');
-- from 16 on PostgreSQL's sort, and not in each minor version
SELECT same_answer('SELECT array_agg(1000 / h ORDER BY b, id) FILTER (WHERE h > 0) FROM v',
				   CASE WHEN current_setting('server_version_num')::int < 160000 THEN 'b, id' ELSE '' END, 'FILTER that keeps errors away');

-- several of them
SELECT same_answer('SELECT array_agg(x ORDER BY a, id) AS m, array_agg(x ORDER BY a, id) AS n, string_agg(s, '';'' ORDER BY a, id) FROM v', 'a, id', 'of one order');
SELECT same_answer('SELECT array_agg(x ORDER BY id) AS m, string_agg(s, '','' ORDER BY id, a) AS n, array_agg(x ORDER BY a, id) AS o FROM v', '(id, a|a, id)',
				   'orders that are in each other, and another one');
SELECT same_answer('SELECT array_agg(x ORDER BY b, id), array_agg(DISTINCT a ORDER BY a), string_agg(DISTINCT c, '',''), percentile_disc(0.5) WITHIN GROUP (ORDER BY a), mode() WITHIN GROUP (ORDER BY h) FROM v',
				   '(b, id|a)', 'beside DISTINCT and percentiles');
SELECT same_answer('SELECT array_agg(x ORDER BY b, id), count(DISTINCT x), sum(x), avg(n), max(c), bool_or(h > 2), count(b), count(*) FROM v', '(b, id|x)', 'beside what takes any order');
SELECT same_answer('SELECT array_agg(x ORDER BY b, id), array_agg(id) FROM v', '', 'beside an array in the order that rows come');
SELECT same_answer('SELECT array_agg(x ORDER BY b, id), gpu_rle(h) FROM v', '', 'beside runs in that order');
SELECT same_answer('SELECT array_agg(x ORDER BY b, id), sum(b) FROM v', '', 'beside a sum that rounds');
SELECT same_answer('SELECT array_agg(x ORDER BY b, id), max(n) FROM v', '', 'beside equal values that may look different');
SELECT same_answer('SELECT array_agg(x ORDER BY b, id), gpu_rle(h, a) FROM v', '', 'beside runs whose ties stay as rows come');

-- what happens in the order of rows stays so
CREATE SEQUENCE numbers;
SELECT is(pg_temp.plan_of('SELECT array_agg(nextval(''numbers'') ORDER BY b, id) FROM v') ~ 'Sort Key', current_setting('server_version_num')::int >= 160000, 'volatile arguments come in the order of rows');
SELECT is(pg_temp.plan_of('SELECT array_agg(x ORDER BY b, id), count(nextval(''numbers'')) FROM v') ~ 'Sort Key', current_setting('server_version_num')::int >= 160000, 'those of others, too');
SELECT is(pg_temp.plan_of('SELECT array_agg(x ORDER BY b, id) FILTER (WHERE random() < 0.5) FROM v') ~ 'Sort Key', current_setting('server_version_num')::int >= 160000, 'and conditions');
SELECT is(pg_temp.plan_of('SELECT array_agg((SELECT nextval(''numbers'') WHERE v.h >= 0) ORDER BY b, id) FROM v') ~ 'Sort Key', current_setting('server_version_num')::int >= 160000, 'and subqueries');

-- ties stay in the order that rows come
SELECT is((SELECT array_agg(id ORDER BY h) FROM v), (SELECT array_agg(id ORDER BY h, id) FROM v), 'ties');
SELECT is((SELECT array_agg(id ORDER BY c DESC) FROM v), (SELECT array_agg(id ORDER BY c DESC, id) FROM v), 'ties of strings, descending');

-- what PostgreSQL sorts itself
SELECT same_answer('SELECT array_agg(x ORDER BY id + 1) FROM v', CASE WHEN current_setting('server_version_num')::int >= 160000 THEN '.*' ELSE '' END, 'an expression');
SELECT same_answer('SELECT array_agg(DISTINCT a ORDER BY a) FROM v', CASE WHEN current_setting('server_version_num')::int >= 160000 THEN '.*' ELSE '' END, 'DISTINCT');

-- functions that are not called for NULL
CREATE FUNCTION add(int, int) RETURNS int LANGUAGE sql STRICT IMMUTABLE AS 'SELECT ($1 * 3 + $2) % 1000003';
CREATE AGGREGATE fold(int) (SFUNC = add, STYPE = int);
SELECT same_answer('SELECT fold(h ORDER BY x, id) FROM v', 'x, id', 'an aggregate of a user''s own');
SELECT same_answer('SELECT fold(a ORDER BY id DESC) FILTER (WHERE id < 3000) FROM v', 'id DESC', 'and its NULLs');

-- on disk, in workers
SET gpusort.work_mem = '1MB';
SELECT same_answer('SELECT string_agg(s || repeat(c, 20), '','' ORDER BY b, id) FROM v', 'b, id', 'on disk');
RESET gpusort.work_mem;
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SELECT same_answer('SELECT string_agg(s, '','' ORDER BY b DESC, id) FROM v', 'b DESC, id', 'in workers');
SELECT same_answer('SELECT gpu_rle(h ORDER BY b DESC, id) FROM v', 'b DESC, id', 'runs in workers');
SELECT ok(pg_temp.plan_of('SELECT string_agg(s, '','' ORDER BY b DESC, id) FROM v') ~ 'Gather', 'which the plan has') WHERE current_setting('server_version_num')::int < 160000;
SET gpusort.parallel_blocks = off;
SELECT same_answer('SELECT string_agg(s, '','' ORDER BY b DESC, id) FROM v', 'b DESC, id', 'in workers, row by row');
RESET gpusort.parallel_blocks;
SET max_parallel_workers_per_gather = 0;

-- prepared, in a cursor, after a change of settings
SET plan_cache_mode = force_generic_plan;
PREPARE list (int) AS SELECT md5(string_agg(s, ',' ORDER BY b, id)) FROM v WHERE x > $1;
SELECT md5(string_agg(s, ',' ORDER BY place)) AS theirs FROM (SELECT s, row_number() OVER (ORDER BY b, id) AS place FROM v WHERE x > 100) AS w \gset
EXECUTE list (100) \gset ours_
SELECT is(:'ours_md5'::text, :'theirs'::text, 'a prepared statement');
SELECT ok(pg_temp.plan_of('EXECUTE list (100)') ~ 'GpuSort.*Sort Key: b, id', 'which sorts');
SET gpusort.enabled = off;
EXECUTE list (100) \gset ours_
SELECT is(:'ours_md5'::text, :'theirs'::text, 'switched off under its plan');
RESET gpusort.enabled;
BEGIN;
DECLARE answers SCROLL CURSOR FOR SELECT md5(string_agg(s, ',' ORDER BY b, id)) FROM v WHERE x > 100;
FETCH answers \gset ours_
SELECT is(:'ours_md5'::text, :'theirs'::text, 'a cursor');
FETCH BACKWARD 1 FROM answers;
FETCH FIRST FROM answers \gset ours_
SELECT is(:'ours_md5'::text, :'theirs'::text, 'and its first row again');
COMMIT;
SET gpusort.aggregates = off;
EXECUTE list (100) \gset ours_
SELECT is(:'ours_md5'::text, :'theirs'::text, 'and what presorts');
SELECT ok(pg_temp.plan_of('SELECT array_agg(x ORDER BY id) FROM v') !~ 'Sort', 'then the aggregate sorts') WHERE current_setting('server_version_num')::int < 160000;
RESET gpusort.aggregates;

-- random aggregates, up to three, with and without a condition on rows
CREATE FUNCTION random_query(seed int) RETURNS text LANGUAGE sql AS $$
	SELECT 'SELECT ' || string_agg(format(CASE hashint4(seed * 7 + i) & 3 WHEN 0 THEN 'array_agg(x ORDER BY %s id)' WHEN 1 THEN 'string_agg(s, c ORDER BY %s id)'
		WHEN 2 THEN 'gpu_rle(h ORDER BY %s id)' ELSE 'array_agg(a ORDER BY %s id) FILTER (WHERE h > 1)' END,
		(array['', 'a,', 'b DESC,', 'c,', 'a NULLS FIRST,', 'n,', 'h, c,', 'a, b,'])[1 + (hashint4(seed * 5 + i * 3) & 7)]), ', ')
		|| (array['', ', count(*)', ', sum(x)', ', max(b)', ', array_agg(id)', ', count(DISTINCT a)', '', ', min(c)'])[1 + (hashint4(seed * 3) & 7)]
		|| ' FROM v' || CASE WHEN hashint4(seed) & 1 = 0 THEN ' WHERE x > ' || hashint4(seed + 9) ELSE '' END
	FROM generate_series(1, 1 + (hashint4(seed + 4) & 1) + (hashint4(seed + 5) & 1)) AS i
$$;
CREATE FUNCTION differing(OUT differ int, OUT sorted int) LANGUAGE plpgsql AS $$
DECLARE
	ours text;
	theirs text;
BEGIN
	differ := 0;
	sorted := 0;
	FOR i IN 1 .. 150 LOOP
		sorted := sorted + (pg_temp.plan_of(random_query(i)) ~ 'GpuSort')::int;
		EXECUTE format('SELECT q::text FROM (%s) AS q', random_query(i)) INTO ours;
		SET LOCAL gpusort.enabled = off;
		EXECUTE format('SELECT q::text FROM (%s) AS q', random_query(i)) INTO theirs;
		RESET gpusort.enabled;
		IF ours IS DISTINCT FROM theirs THEN
			differ := differ + 1;
			RAISE WARNING '%', random_query(i);
		END IF;
	END LOOP;
END $$;
SELECT * FROM differing() \gset
SELECT is(:differ, 0, 'random aggregates: answers');
SELECT cmp_ok(:sorted, '>', 75, 'most of them over a sort');
DROP SCHEMA ordered CASCADE;
SELECT * FROM finish();
