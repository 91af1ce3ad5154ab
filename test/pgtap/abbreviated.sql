-- Operator classes of extensions whose sort support brings abbreviated keys: with comparators of their own, whose 0 means that values are to be
-- compared in full; and PostGIS's, where it is installed.
\ir setup.psql
SELECT plan(5 + 5 * 7 + 3 + 4 + 4 + 2 * 6 + 4 + 5);
SET gpusort.verify = full;

CREATE FUNCTION pg_temp.full_comparisons() RETURNS bigint LANGUAGE c AS 'abbreviated';
CREATE FUNCTION pg_temp.counted_cmp(bigint, bigint) RETURNS integer LANGUAGE c IMMUTABLE STRICT AS 'abbreviated';
CREATE SCHEMA gpusort_abbreviated;
SET search_path = gpusort_abbreviated, public;
-- Operators and an operator class for bigint with one of the module's kinds of sort support; the operators end with a character of the kind's own.
SELECT format('CREATE FUNCTION support_%1$s(internal) RETURNS void LANGUAGE c STRICT AS ''abbreviated'';
	CREATE OPERATOR <%2$s (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = int8lt, COMMUTATOR = >%2$s);
	CREATE OPERATOR >%2$s (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = int8gt, COMMUTATOR = <%2$s);
	CREATE OPERATOR =%2$s (LEFTARG = bigint, RIGHTARG = bigint, FUNCTION = int8eq, COMMUTATOR = =%2$s, MERGES);
	CREATE OPERATOR CLASS %1$s_ops FOR TYPE bigint USING btree AS OPERATOR 1 <%2$s, OPERATOR 3 =%2$s, OPERATOR 5 >%2$s,
		FUNCTION 1 pg_temp.counted_cmp(bigint, bigint), FUNCTION 2 support_%1$s(internal);', kind, mark)
FROM (VALUES ('with_zero', '#'), ('signed', '##'), ('reversed', '###'), ('rotated', '####'), ('lying', '#####')) AS x (kind, mark) \gexec
CREATE TEMP TABLE x AS SELECT i AS id, CASE WHEN i % 23 > 0 THEN hashint8(i / 3 * 3)::bigint * CASE i % 2 WHEN 0 THEN 1 ELSE 1000000007 END END AS v FROM generate_series(1, 9000) AS i;
ANALYZE x;

SELECT pg_temp.sorted_as(format('SELECT id FROM x ORDER BY v USING <%s', mark), 'v: abbreviated', mark || ' is taken for an order of integers')
FROM unnest('{#,##,###}'::text[]) AS mark;
SELECT matches(pg_temp.plan_of(format('SELECT id FROM x ORDER BY v USING <%s', mark), 'ANALYZE, COSTS OFF, TIMING OFF'), fallback, mark || ': ' || fallback)
FROM (VALUES ('####', 'Fallback: abbreviated keys that only PostgreSQL can compare'), ('#####', 'Fallback: sort keys contradict the comparison function')) AS x (mark, fallback);
-- Seven tests of an operator class: all directions, in memory and not, and keys behind and before.  PostgreSQL leaves equal rows in no order.
CREATE FUNCTION pg_temp.check_class(mark text, ours boolean) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	query text;
BEGIN
	FOREACH query IN ARRAY ARRAY['v USING <@', 'v USING <@ NULLS FIRST', 'v USING >@', 'v USING >@ NULLS LAST', 'v USING <@, id DESC', 'id % 3, v USING >@'] LOOP
		query := 'SELECT id FROM x ORDER BY ' || replace(query, '@', mark) || CASE WHEN ours THEN '' ELSE ', id' END;
		RETURN NEXT pg_temp.same_ids(query, query || ', ctid', query);
	END LOOP;
	PERFORM set_config('gpusort.work_mem', '1MB', false);
	query := format('SELECT x.id FROM x, generate_series(1, 8) ORDER BY x.v USING <%s, x.id', mark);
	RETURN NEXT pg_temp.same_ids(query, query, 'in little memory: ' || query);
	PERFORM set_config('gpusort.work_mem', '256MB', false);
END $$;
SELECT pg_temp.check_class(mark, length(mark) <= 3) FROM unnest('{#,##,###,####,#####}'::text[]) AS mark;

-- As many comparisons in full as rows, and few more for the first values; where only PostgreSQL can sort by these keys, few at all.
CREATE FUNCTION pg_temp.comparisons_of(query text) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
	PERFORM pg_temp.full_comparisons();
	PERFORM pg_temp.ids_of(query, true);
	RETURN pg_temp.full_comparisons();
END $$;
SELECT cmp_ok(pg_temp.comparisons_of('SELECT id FROM x WHERE v > -1000000000 ORDER BY v USING <' || mark), '<', 20000::bigint, mark || ': comparisons in full')
FROM unnest('{#,##,####}'::text[]) AS mark;

-- Where few rows are expected, the sort is PostgreSQL's, which takes less time than to find the order of such keys.  Behind another key they
-- are compared in ties alone.
CREATE TEMP TABLE few AS SELECT * FROM x WHERE id <= 4000;
ANALYZE few;
SELECT matches(pg_temp.plan_of('SELECT id FROM x ORDER BY v USING <#'), 'GpuSort', 'many rows');
SELECT doesnt_match(pg_temp.plan_of('SELECT id FROM few ORDER BY v USING ' || op), 'GpuSort', 'few rows by ' || op) FROM unnest('{<#,>####}'::text[]) AS op;
SELECT matches(pg_temp.plan_of('SELECT id FROM few ORDER BY id % 3, v USING <#'), 'GpuSort', 'few rows by another key first');
RESET search_path;
SET client_min_messages = error;
DROP SCHEMA gpusort_abbreviated CASCADE;
SET client_min_messages = warning;

-- PostGIS
SELECT count(*) > 0 AS postgis FROM pg_available_extensions WHERE name = 'postgis' \gset
\if :postgis
CREATE SCHEMA gpusort_postgis;
CREATE EXTENSION postgis SCHEMA gpusort_postgis;
SET search_path = public, gpusort_postgis;
CREATE TEMP TABLE g AS SELECT i AS id, CASE WHEN i % 19 = 0 THEN NULL WHEN i % 13 = 0 THEN 'SRID=4326;POINT EMPTY'::geometry
	WHEN i % 7 = 0 THEN ST_Buffer(ST_SetSRID(ST_MakePoint(hashint4(i) % 180, hashint4(-i) % 90), 4326), 1 + i % 3)
	ELSE ST_SetSRID(ST_MakePoint(hashint4(i / 2) % 1800 / 10.0, hashint4(-i / 2) % 900 / 10.0), 4326) END AS geom,
	ST_SetSRID(ST_MakePoint(hashint4(i) % 180, hashint4(-i) % 90), 4326)::geography AS geog FROM generate_series(1, 12000) AS i;
ANALYZE g;
SELECT pg_temp.sorted_as('SELECT id FROM g ORDER BY geom', 'geom: abbreviated', 'geometries');
SELECT pg_temp.same_ids(query, query, query) FROM (SELECT 'SELECT id FROM g ORDER BY geom DESC, id DESC' AS query) AS q;
SET enable_hashjoin = off;
SET enable_nestloop = off;
CREATE FUNCTION pg_temp.answer_of(query text, enabled text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	answer text;
BEGIN
	PERFORM set_config('gpusort.enabled', enabled, false);
	PERFORM set_config('gpusort.aggregates', enabled, false);
	EXECUTE query INTO answer;
	PERFORM set_config('gpusort.enabled', 'on', false);
	RETURN answer;
END $$;
CREATE TEMP TABLE few_g AS SELECT * FROM g WHERE id <= 3000;
ANALYZE few_g;
SELECT is(pg_temp.answer_of(query, 'on'), pg_temp.answer_of(query, 'off'), query) FROM unnest(ARRAY['SELECT count(DISTINCT geom) FROM few_g', 'SELECT count(DISTINCT geom) FROM g', 'SELECT count(*) FROM g AS a JOIN g AS b ON a.geom = b.geom']) AS query;
SELECT pg_temp.same_order('g', 'geom', 'geometry');
SELECT pg_temp.same_order('g', 'geog', 'geography');
SET gpusort.work_mem = '1MB';
SELECT pg_temp.same_ids(query, query || ', ctid', query || ' in little memory') FROM unnest(ARRAY['SELECT id FROM g ORDER BY geom', 'SELECT id FROM g ORDER BY geog', 'SELECT id FROM g ORDER BY id % 5, geom', 'SELECT id FROM g ORDER BY geom, id DESC']) AS query;
-- few rows, whatever sorts them: before 16 aggregates may have them sorted by more, and from 16 on PostgreSQL plans that
SET enable_hashagg = off;
SELECT doesnt_match(pg_temp.plan_of(query), 'GpuSort', query) FROM unnest(ARRAY['SELECT id FROM few_g ORDER BY geom, id', 'SELECT count(*) FROM few_g AS a JOIN few_g AS b ON a.geom = b.geom',
	'SELECT array_agg(id ORDER BY id) FROM few_g GROUP BY geom', 'SELECT DISTINCT geom FROM few_g']) AS query;
\else
SELECT skip('no PostGIS', 4 + 2 * 6 + 4 + 5);
\endif

SELECT * FROM finish();
