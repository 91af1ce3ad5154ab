-- Aggregates that want their values in an order, from one sort that also puts the groups together: the rows of PostgreSQL's own.
\ir setup.psql
DROP FUNCTION pg_temp.check_type(text, text[], text, integer);
SELECT * FROM no_plan();
SET client_min_messages = error;
SET jit = off;
SET enable_hashagg = off;
DROP SCHEMA IF EXISTS presorted CASCADE;
CREATE SCHEMA presorted;
SET search_path = presorted, public;

-- id has no equal values, and order by it or behind other keys is the only one
CREATE TABLE v AS SELECT i AS id, i % 30 AS g, i % 4 AS h, nullif(hashint4(i) % 50, 7) AS a, (hashint4(i + 1) % 1000) / 8.0::float8 AS b,
	('w' || hashint4(i + 2) % 90) COLLATE "C" AS c, ('t' || hashint4(i + 3) % 90)::varchar(20) COLLATE "C" AS d, hashint4(i + 4) AS x,
	CASE WHEN i % 5 > 0 THEN 's' || i END AS s FROM generate_series(1, 6000) AS i;
ANALYZE v;

-- Two tests: the plan has a sort by these keys, or none, and the query's rows are PostgreSQL's.
CREATE FUNCTION same_groups(query text, keys text, label text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	plan text;
	ours text[];
	theirs text[];
BEGIN
	PERFORM set_config('gpusort.aggregates', 'on', false);
	plan := pg_temp.plan_of(query);
	RETURN NEXT ok(plan ~ '(GpuSort|GpuMerge)' AND plan ~ ('Sort Key: ' || keys || E'\n'), label || ': sorted by ' || keys) ||
		CASE WHEN plan !~ ('Sort Key: ' || keys || E'\n') THEN E'\n' || diag(plan) ELSE '' END;
	EXECUTE format('SELECT array_agg(q::text ORDER BY q::text COLLATE "C") FROM (%s) AS q', query) INTO ours;
	PERFORM set_config('gpusort.enabled', 'off', false);
	EXECUTE format('SELECT array_agg(q::text ORDER BY q::text COLLATE "C") FROM (%s) AS q', query) INTO theirs;
	PERFORM set_config('gpusort.enabled', 'on', false);
	RETURN NEXT is(ours, theirs, label || ': rows');
END $$;

SELECT same_groups('SELECT g, array_agg(x ORDER BY id) FROM v GROUP BY g', 'g, id', 'one key');
SELECT same_groups('SELECT g, string_agg(s, '','' ORDER BY a, b DESC, id) FROM v GROUP BY g', 'g, a, b DESC, id', 'several keys');
SELECT same_groups('SELECT g, array_agg(a ORDER BY a NULLS FIRST, id DESC) FROM v GROUP BY g', 'g, a NULLS FIRST, id DESC', 'NULLs first');
SELECT same_groups('SELECT g, array_agg(a ORDER BY a DESC, id) FROM v GROUP BY g', 'g, a DESC, id', 'descending');
SELECT same_groups('SELECT g, string_agg(s, c ORDER BY c, id) FROM v GROUP BY g', 'g, c COLLATE "C", id', 'a key that is an argument');
SELECT same_groups('SELECT g, array_agg(d ORDER BY d, id) FROM v GROUP BY g', 'g, d COLLATE "C", id', 'a key under another name of its type');
SELECT same_groups('SELECT g, h, string_agg(s, '','' ORDER BY b, id) FILTER (WHERE x > 0), array_agg(id ORDER BY b, id), count(*), sum(a) FROM v GROUP BY g, h',
				   'g, h, b, id', 'several aggregates of one order, and others');
SELECT same_groups('SELECT g, array_agg(x ORDER BY id) AS m, array_agg(x ORDER BY id, a) AS n, array_agg(x ORDER BY a, id) AS o FROM v GROUP BY g', 'g, (id, a|a, id)',
				   'orders that are in each other, and another one');
SELECT same_groups('SELECT g, array_agg(x ORDER BY id), string_agg(DISTINCT c, '','' ORDER BY c), count(DISTINCT x), percentile_disc(0.5) WITHIN GROUP (ORDER BY b) FROM v GROUP BY g',
				   'g, id', 'beside DISTINCT and percentiles') WHERE current_setting('server_version_num')::int < 160000;
SELECT same_groups('SELECT g, array_agg(x ORDER BY id) FROM v GROUP BY g HAVING array_length(array_agg(x ORDER BY id), 1) > 100 AND max(id) > 0', 'g, id', 'HAVING, the same again');
SELECT same_groups('SELECT g, array_agg(x ORDER BY id) || 1 AS m, array_agg(x ORDER BY id) AS n FROM v GROUP BY g ORDER BY g DESC', 'g DESC, id', 'twice, and ORDER BY');
SELECT same_groups('SELECT g, array_agg(x ORDER BY id) FROM v GROUP BY g ORDER BY g LIMIT 3', 'g, id', 'LIMIT');
SELECT same_groups('SELECT g, h, array_agg(x ORDER BY id) FROM v WHERE h = 2 GROUP BY g, h', 'g, id', 'a constant among the groups');
SELECT same_groups('SELECT g, array_agg(x ORDER BY g, id) FROM v GROUP BY g', 'g, (g, )?id', 'the group among the keys');
SELECT same_groups('SELECT v.g, l.n FROM v, LATERAL (SELECT h, array_agg(o.x ORDER BY o.id) AS n FROM v AS o WHERE o.g = v.g GROUP BY h) AS l WHERE v.id < 20', 'o.h, o.id', 'once for each row of another table');
SELECT same_groups('SELECT g, array_agg(x ORDER BY id) FROM (SELECT * FROM v ORDER BY g LIMIT 5000) AS s GROUP BY g', '(v.)?g(, (v.)?id)?', 'rows that come in order');
SELECT same_groups('SELECT g, array_agg(n ORDER BY m), sum(length(n::text)) OVER () FROM (SELECT g, h, array_agg(x ORDER BY id) AS n, min(id) AS m FROM v GROUP BY g, h) AS s GROUP BY g, n',
				   'v.g, v.h, v.id', 'in a subquery');

-- what PostgreSQL has to sort: keys that are no columns, and before 16 those without an exact encoding
SELECT same_groups('SELECT g, array_agg(x ORDER BY id + 1) FROM v GROUP BY g', 'g(, \(\(id \+ 1\)\))?', 'an expression');
SELECT same_groups('SELECT g, array_agg(x ORDER BY ARRAY[a], id) FROM v GROUP BY g', 'g(, \(ARRAY\[a\]\), id)?', 'another expression');
SELECT same_groups('SELECT g, array_agg(DISTINCT a ORDER BY a) FROM v GROUP BY g', 'g(, a)?', 'DISTINCT');

-- functions that are not called for NULL, and orders of a user's own
CREATE FUNCTION add(int, int) RETURNS int LANGUAGE sql STRICT IMMUTABLE AS 'SELECT ($1 * 3 + $2) % 1000003';
CREATE AGGREGATE fold(int) (SFUNC = add, STYPE = int);
SELECT same_groups('SELECT g, fold(h ORDER BY x, id) FILTER (WHERE id % 20 = 3) FROM v GROUP BY g', 'g, x, id', 'an aggregate of a user''s own');
SELECT same_groups('SELECT g, fold(a ORDER BY id DESC) FILTER (WHERE id < 300) FROM v GROUP BY g', 'g, id DESC', 'and its NULLs');

-- on disk, in workers, after a change of settings
SET gpusort.work_mem = '1MB';
SELECT same_groups('SELECT g, string_agg(s || repeat(c, 20), '','' ORDER BY b, id) FROM v GROUP BY g', 'g, b, id', 'on disk');
RESET gpusort.work_mem;
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
-- shares of the groups win otherwise
SET gpusort.parallel_windows = off;
SELECT same_groups('SELECT g, array_agg(x ORDER BY b DESC, id) FROM v GROUP BY g', 'g, b DESC, id', 'in workers');
SELECT ok(pg_temp.plan_of('SELECT g, array_agg(x ORDER BY b DESC, id) FROM v GROUP BY g') ~ 'Gather', 'which the plan has');
SET gpusort.parallel_blocks = off;
SELECT same_groups('SELECT g, array_agg(x ORDER BY b DESC, id) FROM v GROUP BY g', 'g, b DESC, id', 'in workers, row by row');
RESET gpusort.parallel_blocks;
RESET gpusort.parallel_windows;
-- with two workers both ways cost about the same
SET max_parallel_workers_per_gather = 4;
SELECT same_groups('SELECT g, array_agg(x ORDER BY b DESC, id) FROM v GROUP BY g', 'g, b DESC, id', 'in shares of the groups');
SELECT ok(pg_temp.plan_of('SELECT g, array_agg(x ORDER BY b DESC, id) FROM v GROUP BY g') ~ 'Share Key', 'which the plan has');
SET max_parallel_workers_per_gather = 0;
SET plan_cache_mode = force_generic_plan;
PREPARE lists AS SELECT md5(string_agg(g || m::text, ',' ORDER BY g)) FROM (SELECT g, array_agg(x ORDER BY b, id) AS m FROM v GROUP BY g) AS s;
SELECT md5(string_agg(g || m::text, ',' ORDER BY g)) AS theirs FROM (SELECT g, (SELECT array_agg(x ORDER BY b, id) FROM v WHERE v.g = n.g) AS m FROM generate_series(0, 29) AS n (g)) AS s \gset
EXECUTE lists \gset ours_
SELECT is(:'ours_md5'::text, :'theirs'::text, 'a prepared statement');
SET gpusort.enabled = off;
EXECUTE lists \gset ours_
SELECT is(:'ours_md5'::text, :'theirs'::text, 'switched off under its plan');
RESET gpusort.enabled;
SET gpusort.aggregates = off;
EXECUTE lists \gset ours_
SELECT is(:'ours_md5'::text, :'theirs'::text, 'and what presorts');
SELECT ok(pg_temp.plan_of('SELECT g, array_agg(x ORDER BY id) FROM v GROUP BY g') ~ E'Sort Key: g\n', 'then groups are sorted alone')
	WHERE current_setting('server_version_num')::int < 160000;
DROP SCHEMA presorted CASCADE;
SELECT * FROM finish();
