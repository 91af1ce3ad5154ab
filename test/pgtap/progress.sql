-- gpusort_progress, as the session sees it whose sort runs: each phase in its turn.
\ir setup.psql
CREATE EXTENSION IF NOT EXISTS gpusort;
CREATE SCHEMA progress;
SET search_path = progress, public;
SELECT plan(9);

-- Notes the phases in which it is called, and returns its argument.
CREATE FUNCTION noted(integer) RETURNS integer LANGUAGE plpgsql VOLATILE AS $$
BEGIN
	PERFORM set_config('seen.phases', concat_ws(', ', nullif(current_setting('seen.phases', true), ''), phase), false)
	FROM gpusort_progress WHERE phase NOT IN (SELECT unnest(string_to_array(current_setting('seen.phases', true), ', ')));
	RETURN $1;
END $$;

-- A type whose comparison function does so, too, every now and then.
CREATE TYPE watched AS (value integer);
CREATE SEQUENCE calls;
CREATE FUNCTION watched_cmp(a watched, b watched) RETURNS integer LANGUAGE plpgsql VOLATILE AS $$
BEGIN
	IF nextval('calls') % 64 = 0 THEN
		PERFORM noted(0);
	END IF;
	RETURN (a.value > b.value)::integer - (a.value < b.value)::integer;
END $$;
CREATE FUNCTION watched_lt(a watched, b watched) RETURNS boolean LANGUAGE sql AS 'SELECT a.value < b.value';
CREATE FUNCTION watched_eq(a watched, b watched) RETURNS boolean LANGUAGE sql AS 'SELECT a.value = b.value';
CREATE FUNCTION watched_gt(a watched, b watched) RETURNS boolean LANGUAGE sql AS 'SELECT a.value > b.value';
CREATE OPERATOR <<< (LEFTARG = watched, RIGHTARG = watched, FUNCTION = watched_lt);
CREATE OPERATOR === (LEFTARG = watched, RIGHTARG = watched, FUNCTION = watched_eq);
CREATE OPERATOR >>> (LEFTARG = watched, RIGHTARG = watched, FUNCTION = watched_gt);
CREATE OPERATOR CLASS watched_ops FOR TYPE watched USING btree AS
	OPERATOR 1 <<<, OPERATOR 3 ===, OPERATOR 5 >>>, FUNCTION 1 watched_cmp(watched, watched);
CREATE TABLE t AS SELECT i AS id, ROW(i * 7919 % 10007)::watched AS w, repeat('x', 300) AS pad FROM generate_series(1, 10000) AS i;
ANALYZE t;

-- The phases of a query, in their order.
CREATE FUNCTION phases(query text) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('seen.phases', '', false);
	EXECUTE query;
	RETURN current_setting('seen.phases');
END $$;

SET gpusort.work_mem = '64MB';
SELECT is(phases('SELECT noted(id) FROM (SELECT * FROM t WHERE noted(id) > 0 ORDER BY id OFFSET 0) AS s'), 'reading, giving rows out',
	'a sort by numbers, in memory');
SELECT is(phases('SELECT noted(id) FROM (SELECT * FROM t WHERE noted(id) > 0 ORDER BY w USING <<<) AS s'), 'reading, ordering, giving rows out',
	'a sort by comparisons, in memory');
SET gpusort.work_mem = '1MB';
SELECT is(phases('SELECT noted(id), pad FROM (SELECT * FROM t WHERE noted(id) > 0 ORDER BY w USING <<<) AS s'),
	'reading, ordering, giving rows out', 'the same with runs on disk, which are merged as rows are given out');
CREATE FUNCTION scrolled(query text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	c refcursor;
	id integer;
	pad text;
BEGIN
	OPEN c SCROLL FOR EXECUTE query;
	FETCH LAST FROM c INTO id, pad;
	FETCH FIRST FROM c INTO id, pad;
	PERFORM noted(id);
	CLOSE c;
END $$;
SELECT is(phases($$SELECT scrolled('SELECT id, pad FROM t WHERE noted(id) > 0 ORDER BY w USING <<<')$$),
	'reading, ordering, merging, giving rows out', 'and into one where rows are wanted twice');

SELECT is((SELECT count(*) FROM gpusort_progress), 0::bigint, 'nothing is left');
SELECT results_eq($$SELECT count(*) FROM (SELECT (SELECT count(*) FROM gpusort_progress) FROM t ORDER BY id LIMIT 1 OFFSET 5000) AS s$$,
	'SELECT 1::bigint', 'a LIMIT');
SELECT is((SELECT count(*) FROM gpusort_progress), 0::bigint, 'nor of that');
SELECT is((SELECT gpusort_progress_get() IS NULL), NULL, 'no sort, no line');
-- the planner expects few
SET gpusort.min_rows = 1000;
SELECT is(count(*), 0::bigint, 'who looks at sorts in order does not see that order')
FROM (SELECT * FROM gpusort_progress ORDER BY started OFFSET 0) AS s;
RESET gpusort.min_rows;
SELECT * FROM finish();
DROP SCHEMA progress CASCADE;
