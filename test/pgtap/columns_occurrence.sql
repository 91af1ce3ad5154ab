-- Strings of resident columns that functions are called for: those that occur in rows which pass the other conditions. Errors of
-- others, results that would be too many, how many EXPLAIN says there are, strings of changed pages, NULLs, parallel workers, several
-- partitions, compared with PostgreSQL's rows.
\ir setup.psql
CREATE EXTENSION IF NOT EXISTS gpusort;
SELECT no_plan();
CREATE SCHEMA columns_occurrence;
SET search_path = columns_occurrence, public;

-- each kind's rows have strings of its own, those of kind 1 b1-..., one of ten of them NULL
CREATE TABLE t (id int, kind int, s text, v varchar(30), few text);
INSERT INTO t SELECT i, i % 50, CASE WHEN i % 500 <> 1 THEN chr(97 + i % 50 % 5) || i % 50 || '-' || i / 50 % 300 || repeat('z', i / 50 % 4) END, 'v' || i % 14000, 'f' || i % 50 FROM generate_series(1, 60000) AS i;
-- so that planning tries no pattern
ALTER TABLE t ALTER s SET STATISTICS 0;
VACUUM ANALYZE t;
SELECT gpusort_columns_add('t');
\ir columns_queries.psql

-- How many strings occur by EXPLAIN, and of how many; NULL: the service was not asked.
CREATE FUNCTION occurring(query text) RETURNS int[] LANGUAGE plpgsql AS $$
DECLARE
	plan json;
BEGIN
	PERFORM set_config('gpusort.columns', 'force', true);
	EXECUTE 'EXPLAIN (ANALYZE, TIMING OFF, FORMAT json) ' || query INTO plan;
	RETURN (SELECT ARRAY[(line[1])::int, (line[2])::int] FROM regexp_match(plan::text, '"Strings": (\d+),\s+"Strings Occurring": (\d+)') AS line WHERE line IS NOT NULL);
END $$;
CREATE FUNCTION of_kind(k int) RETURNS int LANGUAGE sql AS 'SELECT count(DISTINCT s)::int FROM t WHERE kind = k';
CREATE FUNCTION all_strings(c text) RETURNS int LANGUAGE sql AS $$ SELECT distinct_values::int FROM gpusort_columns WHERE rel = 't'::regclass AND "column" = c $$;

-- the strings that occur
CREATE TABLE questions (q text);
INSERT INTO questions VALUES ('SELECT count(*), sum(id), count(DISTINCT s) FROM t WHERE kind = 1 AND s ~ ''7z*$'''), ('SELECT id FROM t WHERE kind = 1 AND s !~ ''[0-6]'''), ('SELECT few, count(*), min(s) FROM t WHERE kind < 2 AND s ILIKE ''%B1-%1%'' GROUP BY few'),
	('SELECT count(*) FROM t WHERE kind = 1 AND s ~ ''1'' AND s IS NOT NULL AND s <> ''b1-10'''), ('SELECT kind, count(*) FROM t WHERE few LIKE ''%7'' AND substr(s, 2) ~ ''9'' GROUP BY kind'), ('SELECT regexp_replace(s, ''[0-9]+'', '''') AS r, count(*), max(s) FROM t WHERE kind = 1 GROUP BY 1'),
	('SELECT count(DISTINCT regexp_replace(s, ''z+$'', '''')), count(*) FROM t WHERE kind IN (1, 3)'), ('SELECT regexp_replace(s, ''z'', ''''), regexp_replace(v, ''v'', ''''), length(s), count(*) FROM t WHERE kind = 3 GROUP BY 1, 2, 3'),
	('SELECT count(*) FILTER (WHERE s ~ ''77''), count(*) FILTER (WHERE s LIKE ''b1-7%'') FROM t WHERE kind = 1 AND s ~ ''7'''), ('SELECT s FROM t WHERE kind = 1 AND s ~ ''7'' ORDER BY s, id LIMIT 5'), ('SELECT few, max(r) FROM (SELECT few, row_number() OVER (PARTITION BY few ORDER BY id) AS r FROM t WHERE kind < 3 AND s ~ ''7'') AS q GROUP BY few'),
	('SELECT count(*) FROM t WHERE id = kind AND s ~ ''1'''), ('SELECT count(*) FROM t WHERE kind = 1 AND s ~ ''7'' AND v ~ ''1''');
SELECT answered(q) FROM questions;
SELECT is(occurring(q), ARRAY[all_strings('s'), of_kind(1)], 'those of a kind: ' || q) FROM unnest(ARRAY['SELECT count(*) FROM t WHERE kind = 1 AND s ~ ''7''', 'SELECT count(*) FROM t WHERE s ~ ''7'' AND kind = 1', 'SELECT id FROM t WHERE kind = 1 AND s ~ ''77''',
	'SELECT regexp_replace(s, ''z'', ''''), count(*) FROM t WHERE kind = 1 GROUP BY 1', 'SELECT count(*) FROM t WHERE kind = 1 AND s ILIKE ''B%''']) AS q;
SELECT matches(plan_of('EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) SELECT count(*) FROM t WHERE kind = 1 AND s ~ ''7''', 'force'), format('Strings: %s of %s occur', of_kind(1), all_strings('s')), 'as a line');
-- where a column's strings are few, the function short, all rows pass, or no other condition is there, all are tested
SELECT is(occurring(q), NULL, 'all: ' || q) FROM unnest(ARRAY['SELECT count(*) FROM t WHERE kind = 1 AND few ~ ''7''', 'SELECT count(*) FROM t WHERE kind = 1 AND s LIKE ''%7%''', 'SELECT count(*) FROM t WHERE kind = 1 AND s LIKE ''b%7%''', 'SELECT count(*) FROM t WHERE kind >= 0 AND s ~ ''7''', 'SELECT count(*) FROM t WHERE s ~ ''7''', 'SELECT count(*) FROM t WHERE s ~ ''7'' AND s <> ''b1-10''',
	'SELECT regexp_replace(s, ''z'', ''''), count(*) FROM t GROUP BY 1', 'SELECT count(*) FROM t WHERE kind = 1 AND s ~ (SELECT NULL::text)']) AS q;
-- a column's own conditions leave few of its strings, and none is asked for
SELECT is(occurring(q), NULL, 'the rest: ' || q) FROM unnest(ARRAY['SELECT regexp_replace(s, ''z'', ''''), count(*) FROM t WHERE s LIKE ''%777%'' GROUP BY 1', 'SELECT count(*) FROM t WHERE kind = 1 AND s LIKE ''%777%'' AND s ~ ''b''']) AS q;
SELECT answered('SELECT regexp_replace(s, ''z'', ''''), count(*) FROM t WHERE s LIKE ''%777%'' AND s ~ ''^[bc]'' GROUP BY 1');
-- no row passes
SELECT answered('SELECT count(*), min(s) FROM t WHERE kind = -1 AND s ~ ''7''');
SELECT is(occurring('SELECT count(*) FROM t WHERE kind = -1 AND s ~ ''7'''), ARRAY[all_strings('s'), 0], 'none');

-- questions of which strings occur are no queries
CREATE FUNCTION counted() RETURNS int LANGUAGE plpgsql AS $$
DECLARE
	before int := (SELECT max(queries) FROM gpusort_columns WHERE rel = 't'::regclass);
BEGIN
	PERFORM rows_of('SELECT count(*) FROM t WHERE kind = 1 AND s ~ ''7''', 'force');
	RETURN (SELECT max(queries) FROM gpusort_columns WHERE rel = 't'::regclass) - before;
END $$;
SELECT is(counted(), 1, 'one query is counted');

-- an error for a string of no row that passes the other conditions is none: of kind 1 no string begins with c. PostgreSQL tests the
-- condition on the kind first, unless it is an equality.
SELECT answered(q) FROM unnest(ARRAY['SELECT count(*), count(s) FROM t WHERE kind BETWEEN 1 AND 1 AND s ILIKE ''c1\''', 'SELECT few, count(*) FROM t WHERE kind BETWEEN 1 AND 1 AND s NOT ILIKE ''C1\'' GROUP BY few', 'SELECT count(*) FROM t WHERE few LIKE ''f1'' AND s NOT ILIKE ''c1\''']) AS q;
SELECT throws_ok('SELECT count(*) FROM t WHERE kind BETWEEN 1 AND 1 AND s ILIKE ''b1\''', '22025', NULL, 'one for a string that occurs is raised');
SELECT matches(rows_of('SELECT count(*) FROM t WHERE kind BETWEEN 1 AND 1 AND s ILIKE ''b1\''', 'force'), 'a function of strings raises an error', 'by PostgreSQL''s plan');
SELECT throws_ok('SELECT regexp_replace(s, ''('', ''''), count(*) FROM t WHERE kind = 1 GROUP BY 1', '2201B', NULL, 'so is one for all strings');
SELECT is(rows_of('SELECT regexp_replace(s, ''('', ''''), count(*) FROM t WHERE kind = -1 GROUP BY 1', 'on'), NULL, 'which is none where there is no row');
-- results have room, as they are those of few strings
SET gpusort.work_mem = '1MB';
SELECT answered('SELECT regexp_replace(s, ''^'', repeat(''long'', 40)) AS r, count(*) FROM t WHERE kind = 1 GROUP BY 1');
SELECT matches(rows_of('SELECT regexp_replace(s, ''^'', repeat(''long'', 40)) AS r, count(*) FROM t WHERE kind >= 0 GROUP BY 1', 'force'), 'more than gpusort.work_mem has room for', 'and all have none');
RESET gpusort.work_mem;

-- workers are told which strings occur
CREATE FUNCTION in_workers(query text, workers int) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('max_parallel_workers_per_gather', workers::text, true);
	RETURN QUERY SELECT is(rows_of(query, 'force'), rows_of(query, 'off'), format('%s workers: %s', workers, query));
END $$;
SELECT in_workers(q, n) FROM unnest('{0,2}'::int[]) AS n, unnest(ARRAY['SELECT regexp_replace(s, ''z+$'', '''') AS r, count(*), max(id) FROM t WHERE kind < 49 AND s ~ ''[2-9]'' GROUP BY 1', 'SELECT count(DISTINCT regexp_replace(s, ''[0-9]'', ''日本'', ''g'')), count(*) FROM t WHERE s LIKE ''%-%'' AND s !~ ''zzz''',
	'SELECT length(regexp_replace(s, ''^.([0-9]?).*$'', ''\1'')), regexp_replace(s, ''^.([0-9]?).*$'', ''\1''), count(*) FROM t WHERE s NOT LIKE ''%77%'' GROUP BY 1, 2']) AS q;

-- rows of this transaction, some with new strings, some with strings that occurred in no row of their kind, and rows that are gone
CREATE FUNCTION changed() RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO t SELECT i, 1, 'new' || i, 'v', 'f1' FROM generate_series(1, 500) AS i;
	UPDATE t SET kind = 1 WHERE id % 1000 = 3;
	UPDATE t SET s = 'changed 7' WHERE id % 2500 = 1;
	DELETE FROM t WHERE id % 3000 = 51;
	RETURN QUERY SELECT unseen_same(q) FROM questions;
	RETURN QUERY SELECT is((occurring('SELECT count(*) FROM t WHERE kind = 1 AND s ~ ''7'''))[2], of_kind(1), 'those of changed rows, too');
END $$;
BEGIN;
SELECT changed();
-- a pattern that is wrong for a string that occurs in a changed row alone
SELECT matches(rows_of('SELECT count(*) FROM t WHERE kind BETWEEN 1 AND 1 AND s ILIKE ''d\''', 'on'), 'LIKE pattern must not end', 'an error for a changed row');
ROLLBACK;
SELECT changed();
SELECT answered(q) FROM questions LIMIT 5;
DELETE FROM t WHERE kind = 1;
SELECT answered('SELECT count(*), count(s) FROM t WHERE kind = 1 AND s ~ ''7''');

-- partitions, one that is not held among them
CREATE TABLE p (kind int, part int, s text) PARTITION BY LIST (part);
CREATE TABLE p1 PARTITION OF p FOR VALUES IN (1);
CREATE TABLE p2 PARTITION OF p FOR VALUES IN (2);
INSERT INTO p SELECT i % 40 % 20, 1 + i % 40 / 20, chr(97 + i % 40 % 5) || i % 40 || '-' || i / 40 % 700 * (1 + i % 40 / 20) FROM generate_series(1, 80000) AS i;
ALTER TABLE p ALTER s SET STATISTICS 0;
VACUUM ANALYZE p;
SELECT gpusort_columns_add('p');
CREATE UNLOGGED TABLE p3 PARTITION OF p FOR VALUES IN (3);
INSERT INTO p SELECT i % 20, 3, chr(97 + i % 20 % 5) || 'only here' || i FROM generate_series(1, 800) AS i;
ANALYZE p;
CREATE TABLE of_partitions (q text);
INSERT INTO of_partitions VALUES ('SELECT count(*) FROM p WHERE kind = 1 AND s ~ ''7'''), ('SELECT part, count(*), max(s), count(DISTINCT s) FROM p WHERE kind = 1 AND s ~ ''7'' GROUP BY part'), ('SELECT regexp_replace(s, ''[0-9]+'', '''') AS r, count(*) FROM p WHERE kind = 1 GROUP BY 1'),
	('SELECT count(*) FROM p WHERE kind BETWEEN 1 AND 1 AND s NOT ILIKE ''c1\'''), ('SELECT s, count(*) FROM p WHERE kind = 1 AND s LIKE ''b_nl_%7%'' GROUP BY s');
SELECT answered(q) FROM of_partitions;
SELECT is((occurring('SELECT part, count(*) FROM p WHERE kind = 1 AND s ~ ''7'' GROUP BY part'))[2], (SELECT count(DISTINCT s)::int FROM p WHERE kind = 1), 'strings of all partitions');

-- questions of which strings occur take no room from the query's own, of which three times as much would be too much
CREATE TABLE many (kind int, part int, s text) PARTITION BY LIST (part);
CREATE TABLE many1 PARTITION OF many FOR VALUES IN (1);
CREATE TABLE many2 PARTITION OF many FOR VALUES IN (2);
INSERT INTO many SELECT i % 50, 1 + (i % 50 = 0)::int, 's' || CASE i % 50 WHEN 0 THEN 0 ELSE i / 3 END FROM generate_series(1, 360000) AS i;
ALTER TABLE many ALTER s SET STATISTICS 0;
VACUUM ANALYZE many;
SELECT gpusort_columns_add('many');
SET gpusort.work_mem = '1MB';
SELECT answered('SELECT kind, count(*) FROM many WHERE kind = 1 AND s ~ ''7'' GROUP BY kind');
SELECT is(occurring('SELECT kind, count(*) FROM many WHERE kind = 1 AND s ~ ''7'' GROUP BY kind'), ARRAY[120000, 7200], 'having asked');
RESET gpusort.work_mem;
SELECT gpusort_columns_remove('t'), gpusort_columns_remove('p'), gpusort_columns_remove('many');
SELECT finish();
DROP SCHEMA columns_occurrence CASCADE;
