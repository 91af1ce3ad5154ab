-- EXPLAIN reads as it does for PostgreSQL's own sorts, whatever this version of the server says of a plan.
\ir setup.psql
SELECT plan(34);

CREATE TEMP TABLE p (id serial, a integer, b integer, t text, r int4range);
INSERT INTO p (a, b, t, r) SELECT i * 7919 % 1009, i % 10, 'x' || i % 97, int4range(i % 50, i % 50 + i % 7) FROM generate_series(1, 3000) AS i;
ANALYZE p;
SELECT current_setting('server_version_num')::integer >= 180000 AS virtual \gset
\if :virtual
CREATE TEMP TABLE g (id serial, a integer, v integer GENERATED ALWAYS AS (a * 7 % 101) VIRTUAL, s integer GENERATED ALWAYS AS (a + 1) STORED);
\else
CREATE TEMP TABLE g (id serial, a integer, v integer GENERATED ALWAYS AS (a * 7 % 101) STORED, s integer GENERATED ALWAYS AS (a + 1) STORED);
\endif
INSERT INTO g (a) SELECT i * 7919 % 1009 FROM generate_series(1, 3000) AS i;
ANALYZE g;

-- Two tests: a query's plan has this many GpuSorts, and but for their name it is PostgreSQL's.
CREATE FUNCTION pg_temp.same_plan(query text, sorts integer, label text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	ours text := pg_temp.plan_of(query);
	theirs text;
BEGIN
	SET gpusort.enabled = off;
	theirs := pg_temp.plan_of(query);
	SET gpusort.enabled = on;
	RETURN NEXT is((SELECT count(*) FROM regexp_matches(ours, 'GpuSort', 'g'))::integer, sorts, label);
	RETURN NEXT is(replace(ours, 'Custom Scan (GpuSort)', 'Sort'), theirs, label || ': the same plan');
END $$;

SET enable_hashagg = off;
SET jit = off;
SELECT pg_temp.same_plan('SELECT * FROM p ORDER BY a, t DESC', 1, 'a sort');
SELECT pg_temp.same_plan('SELECT b, count(*) FROM p GROUP BY b', 1, 'groups of one table');
SELECT pg_temp.same_plan('SELECT b, r, sum(a) FROM p GROUP BY GROUPING SETS ((b), (r), ())', 1, 'grouping sets');
SELECT pg_temp.same_plan('SELECT sum(a) OVER w, rank() OVER w2 FROM p WINDOW w AS (PARTITION BY t ORDER BY id), w2 AS (ORDER BY b)', 2, 'windows');
SELECT pg_temp.same_plan('SELECT * FROM g ORDER BY v, id', 1, 'a generated column');
SELECT pg_temp.same_plan('SELECT string_agg(t, '','' ORDER BY a) FROM p', (current_setting('server_version_num')::integer >= 160000)::integer,
	'an ordered aggregate');
-- joins that the planner finds useless: with the one side of a key, and from 18 on of a table with itself
CREATE TEMP TABLE one AS SELECT id, b, a FROM p;
ALTER TABLE one ADD PRIMARY KEY (id);
ANALYZE one;
SELECT pg_temp.same_plan('SELECT p.* FROM p LEFT JOIN one USING (id) ORDER BY p.a, p.t', 1, 'a left join');
SELECT pg_temp.same_ids('SELECT x.id FROM one x JOIN one y USING (id) ORDER BY x.a, y.b, id', 'SELECT id FROM one ORDER BY a, b, id', 'a table joined with itself');
SET max_parallel_workers_per_gather = 2;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
CREATE TABLE joined AS TABLE one;
ALTER TABLE joined ADD PRIMARY KEY (id);
ANALYZE joined;
SELECT pg_temp.same_ids(format('SELECT id FROM (SELECT x.id, row_number() OVER (PARTITION BY x.b ORDER BY x.a, x.id) AS n FROM joined x %s JOIN joined y USING (id)) AS s ORDER BY n, id',
	kind), 'SELECT id FROM (SELECT id, row_number() OVER (PARTITION BY b ORDER BY a, id) AS n FROM one) AS s ORDER BY n, id', kind || ' JOIN in parallel')
FROM (VALUES ('LEFT'), ('INNER')) AS k (kind);
DROP TABLE joined;
SET max_parallel_workers_per_gather = 0;
-- what is switched off
SET enable_seqscan = off;
SELECT pg_temp.same_plan('SELECT * FROM p ORDER BY a', 1, 'below it a scan that is disabled');
SELECT pg_temp.same_plan('SELECT * FROM (SELECT * FROM p ORDER BY a, id OFFSET 1) x ORDER BY b', 2, 'below both');
SET enable_sort = off;
SELECT pg_temp.same_plan('SELECT * FROM p ORDER BY a', 1, 'both are disabled');
RESET enable_seqscan;
SELECT pg_temp.same_plan('SELECT * FROM p ORDER BY a', 1, 'the sort is disabled');
RESET enable_sort;
-- and the rows are right
SELECT pg_temp.same_ids('SELECT * FROM g ORDER BY v, id', 'SELECT * FROM g ORDER BY v, id', 'rows with generated columns');
SELECT pg_temp.same_ids('SELECT id, v, s FROM g ORDER BY s DESC, v, id', 'SELECT id, v, s FROM g ORDER BY s DESC, v, id', 'keys that are generated columns');
SET gpusort.enabled = off;
SELECT md5(string_agg(g::text, ',')) AS want FROM (SELECT * FROM g ORDER BY a, id) g \gset
RESET gpusort.enabled;
SELECT is((SELECT md5(string_agg(g::text, ',')) FROM (SELECT * FROM g ORDER BY a, id) g), :'want', 'all columns of them');
SELECT is((SELECT md5(string_agg(x.g::text, ',')) FROM (SELECT g FROM g ORDER BY a, id) x), :'want', 'as whole rows');
-- the inner side of a join within a subquery: it is to be rewound for each row of the outer side, and read anew for each row of the query
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SET enable_material = off;
CREATE TEMP VIEW anew AS SELECT q, (SELECT string_agg(v || ':' || y, ' ') FROM (VALUES (1), (2)) AS a (v)
	LEFT JOIN (SELECT y FROM generate_series(1, 299) AS y WHERE y % 100 = q ORDER BY y DESC OFFSET 0) AS s ON true) AS list FROM generate_series(1, 3) AS q;
SELECT matches(pg_temp.plan_of('SELECT * FROM anew'), 'Nested Loop Left Join.*GpuSort', 'a sort is the inner side');
SELECT is((SELECT string_agg(list, '; ' ORDER BY q) FROM anew), '1:201 1:101 1:1 2:201 2:101 2:1; 1:202 1:102 1:2 2:202 2:102 2:2; 1:203 1:103 1:3 2:203 2:103 2:3',
	'it is rewound, and read anew');

-- EXPLAIN VERBOSE finds aggregates of JSON below a constructor that is above a sort, where the server's version can, and sorts by a class without
-- any comparison function, which fail only when they run, are shown as well
CREATE FUNCTION pg_temp.explained(query text, enabled text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('gpusort.enabled', enabled, true);
	EXECUTE 'EXPLAIN (VERBOSE) ' || query;
	RETURN 'explained';
EXCEPTION WHEN OTHERS THEN RETURN SQLERRM;
END $$;
SELECT is(pg_temp.explained(query, 'on'), pg_temp.explained(query, 'off'), query)
FROM (VALUES ('SELECT JSON_ARRAYAGG(a NULL ON NULL RETURNING jsonb) OVER (ORDER BY a DESC), row_number() OVER (ORDER BY a) FROM p')) AS x (query);
CREATE SCHEMA incomplete;
CREATE OPERATOR incomplete.< (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = int8lt, COMMUTATOR = OPERATOR(incomplete.>));
CREATE OPERATOR incomplete.> (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = int8gt, COMMUTATOR = OPERATOR(incomplete.<));
CREATE OPERATOR incomplete.= (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = int8eq, COMMUTATOR = OPERATOR(incomplete.=), MERGES);
CREATE OPERATOR CLASS incomplete.ops FOR TYPE bigint USING btree AS OPERATOR 1 incomplete.<, OPERATOR 3 incomplete.=, OPERATOR 5 incomplete.>;
SELECT is(pg_temp.explained('SELECT a FROM p ORDER BY a::bigint USING OPERATOR(incomplete.<)', enabled), 'explained', 'no comparison function: ' || enabled)
FROM (VALUES ('off'), ('on')) AS x (enabled);

SELECT * FROM finish();
