-- Groups of a few values, which aggregates put in order themselves: against PostgreSQL's aggregates, and how often values are compared.
\ir setup.psql
CREATE EXTENSION IF NOT EXISTS gpusort;
SELECT * FROM no_plan();
SET gpusort.enabled = off;
SET jit = off;

-- One test for each aggregate: groups of 1 to 40 values.  i is the order in which values come.
CREATE FUNCTION pg_temp.check_small(type text, generator text, nulls boolean DEFAULT true) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	ours text;
	theirs text;
	pair text[];
BEGIN
	EXECUTE format('CREATE TEMP TABLE v AS SELECT g, g * 100 + n AS i, CASE WHEN %L AND hashint4(g * 50 + n) %% 9 = 0 THEN NULL ELSE (%s)::%s END AS x
		FROM generate_series(1, 400) AS g, generate_series(1, 1 + (g - 1) %% 40) AS n, LATERAL (SELECT hashint4(g * 77 + n) AS h) AS _', nulls, generator, type);
	FOREACH pair SLICE 1 IN ARRAY ARRAY[
		['gpu_sort_agg(x)', 'array_agg(x ORDER BY x, i)'],
		['gpu_count_distinct(x)', 'count(DISTINCT x)'],
		['gpu_percentile_disc(x, 0.4)', '(array_agg(x ORDER BY x, i) FILTER (WHERE x IS NOT NULL))[ceil(0.4::float8 * count(x))]'],
		['gpu_percentile_disc_within(0.7) WITHIN GROUP (ORDER BY x)', '(array_agg(x ORDER BY x, i) FILTER (WHERE x IS NOT NULL))[ceil(0.7::float8 * count(x))]'],
		['gpu_percentile_disc_within(ARRAY[1, 0.5]::float8[]) WITHIN GROUP (ORDER BY x)::text', 'percentile_disc(ARRAY[1, 0.5]::float8[]) WITHIN GROUP (ORDER BY x)::text']] LOOP
		EXECUTE format('SELECT string_agg(g || '': '' || coalesce(a, ''-''), E''\n'' ORDER BY g) FROM (SELECT g, (%s)::text AS a FROM (SELECT * FROM v ORDER BY i) AS v GROUP BY g) AS t', pair[1]) INTO ours;
		EXECUTE format('SELECT string_agg(g || '': '' || coalesce(a, ''-''), E''\n'' ORDER BY g) FROM (SELECT g, (%s)::text AS a FROM v GROUP BY g) AS t', pair[2]) INTO theirs;
		-- which of equal values stands at a place is PostgreSQL's choice where the aggregate is its own
		RETURN NEXT CASE WHEN ours = theirs THEN ok(true, type || ' ' || generator || ': ' || pair[1]) ELSE is(ours, theirs, type || ' ' || generator || ': ' || pair[1]) END;
	END LOOP;
	DROP TABLE v;
END $$;

SELECT pg_temp.check_small('smallint', 'h % 20');
SELECT pg_temp.check_small('integer', 'h');
SELECT pg_temp.check_small('integer', 'n', false);
SELECT pg_temp.check_small('integer', '-n', false);
SELECT pg_temp.check_small('bigint', 'h::bigint << (n % 31)', false);
SELECT pg_temp.check_small('oid', '(h::bigint + 2147483648)');
SELECT pg_temp.check_small('real', 'CASE h % 11 WHEN 0 THEN ''NaN'' WHEN 1 THEN ''-infinity'' WHEN 2 THEN ''infinity'' ELSE (h / 1e6)::text END', false);
SELECT pg_temp.check_small('double precision', 'h / 7.0', false);
SELECT pg_temp.check_small('numeric', '(h % 100000) / 100.0', false);
SELECT pg_temp.check_small('numeric', 'CASE h % 9 WHEN 0 THEN ''NaN'' WHEN 1 THEN ''-inf'' WHEN 2 THEN ''inf'' ELSE (h * 1e12)::text END');
-- abbreviations that are all the same: the type says after 10,000 of them that they do not help
SELECT pg_temp.check_small('numeric', '1e40 + (h % 50)', false);
SELECT pg_temp.check_small('boolean', 'h % 2 = 0');
SELECT pg_temp.check_small('date', '''2000-01-01''::date + h % 90');
SELECT pg_temp.check_small('timestamptz', '''2000-01-01''::timestamptz + (h % 90) * interval ''1 hour''', false);
SELECT pg_temp.check_small('interval', '(h % 90) * interval ''1 hour''');
SELECT pg_temp.check_small('uuid', 'md5(h::text)');
SELECT pg_temp.check_small('bytea', 'decode(md5(h::text), ''hex'')');
SELECT pg_temp.check_small('text COLLATE "C"', 'md5((h % 40)::text)');
SELECT pg_temp.check_small('text COLLATE "C"', '''the same beginning of all '' || h % 40');
SELECT pg_temp.check_small('text', 'md5((h % 40)::text)');
SELECT pg_temp.check_small('char(5)', '(h % 300)::text');
SELECT pg_temp.check_small('inet', '''10.0.0.0''::inet + abs(h % 5000)');
SELECT pg_temp.check_small('int4range', 'int4range(h % 5, h % 5 + n)');

-- Equal values that look different stay as they came.
CREATE TEMP TABLE equal_values (x numeric, f float8);
INSERT INTO equal_values VALUES (1.0, 0), (0, '-0'), (1, 0), (1.00, '-0'), (0.0, -1), (1.000, 'NaN');
SELECT is((SELECT gpu_sort_agg(x)::text FROM equal_values), '{0,0.0,1.0,1,1.00,1.000}', 'numerics that are equal stay as they came');
SELECT is((SELECT gpu_sort_agg(f)::text FROM equal_values), '{-1,0,-0,0,-0,NaN}', 'zeros stay as they came');

-- A type that counts how often it is compared.
CREATE SCHEMA gpusort_small;
SET search_path = gpusort_small, public;
CREATE TYPE counted AS (v integer);
CREATE SEQUENCE compared;
CREATE FUNCTION cmp(a counted, b counted) RETURNS integer LANGUAGE plpgsql AS $$ BEGIN PERFORM nextval('gpusort_small.compared'); RETURN btint4cmp(a.v, b.v); END $$;
CREATE FUNCTION lt(a counted, b counted) RETURNS boolean LANGUAGE sql AS $$ SELECT (a).v < (b).v $$;
CREATE FUNCTION le(a counted, b counted) RETURNS boolean LANGUAGE sql AS $$ SELECT (a).v <= (b).v $$;
CREATE FUNCTION eq(a counted, b counted) RETURNS boolean LANGUAGE sql AS $$ SELECT (a).v = (b).v $$;
CREATE FUNCTION ge(a counted, b counted) RETURNS boolean LANGUAGE sql AS $$ SELECT (a).v >= (b).v $$;
CREATE FUNCTION gt(a counted, b counted) RETURNS boolean LANGUAGE sql AS $$ SELECT (a).v > (b).v $$;
CREATE OPERATOR <<< (LEFTARG = counted, RIGHTARG = counted, FUNCTION = lt);
CREATE OPERATOR <<= (LEFTARG = counted, RIGHTARG = counted, FUNCTION = le);
CREATE OPERATOR === (LEFTARG = counted, RIGHTARG = counted, FUNCTION = eq);
CREATE OPERATOR >>= (LEFTARG = counted, RIGHTARG = counted, FUNCTION = ge);
CREATE OPERATOR >>> (LEFTARG = counted, RIGHTARG = counted, FUNCTION = gt);
CREATE OPERATOR CLASS counted_ops DEFAULT FOR TYPE counted USING btree AS
	OPERATOR 1 <<<, OPERATOR 2 <<=, OPERATOR 3 ===, OPERATOR 4 >>=, OPERATOR 5 >>>, FUNCTION 1 cmp(counted, counted);

CREATE FUNCTION comparisons(generator text) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	found integer[];
BEGIN
	PERFORM setval('gpusort_small.compared', 1);
	EXECUTE format('SELECT array(SELECT (unnest).v FROM unnest(gpu_sort_agg(ROW(%s)::counted))) FROM generate_series(1, 32) AS i', generator) INTO found;
	IF found <> ARRAY(SELECT unnest(found) ORDER BY 1) OR cardinality(found) <> 32 THEN
		RAISE 'not in order: %', found;
	END IF;
	RETURN (SELECT last_value - 1 FROM compared);
END $$;
SELECT is(comparisons('i'), 31::bigint, '32 values in order: each is compared with the one before');
SELECT cmp_ok(comparisons('-i'), '<=', 160::bigint, '32 values in falling order');
SELECT cmp_ok(comparisons('hashint4(i)'), '<=', 160::bigint, '32 values in no order');

DROP SCHEMA gpusort_small CASCADE;
SELECT * FROM finish();
