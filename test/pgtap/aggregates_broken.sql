-- States of aggregates may come from anywhere: broken ones are errors, or answers that nobody can know to be wrong, and never more.  The
-- function that breaks them is one of test/datums, which run.sh builds.
\ir setup.psql
CREATE EXTENSION IF NOT EXISTS gpusort;
SELECT * FROM no_plan();
SET enable_partitionwise_aggregate = on;
SET cpu_tuple_cost = 1;
SET jit = off;

CREATE FUNCTION pg_temp.break_states(seed bigint) RETURNS void LANGUAGE c STRICT AS 'states';
CREATE FUNCTION pg_temp.deserialize_broken(bytea, internal) RETURNS internal LANGUAGE c STRICT PARALLEL SAFE AS 'states';
CREATE AGGREGATE pg_temp.broken_sort_agg(anynonarray) (sfunc = gpusort_collect_all, stype = internal, finalfunc = gpusort_sort_agg_final, finalfunc_extra,
	combinefunc = gpusort_combine_all, serialfunc = gpusort_serialize_sorted, deserialfunc = pg_temp.deserialize_broken, parallel = safe);
CREATE AGGREGATE pg_temp.broken_count_distinct(anyelement) (sfunc = gpusort_collect_values, stype = internal, finalfunc = gpusort_count_distinct_final,
	combinefunc = gpusort_combine_values, serialfunc = gpusort_serialize_distinct, deserialfunc = pg_temp.deserialize_broken, parallel = safe);
CREATE AGGREGATE pg_temp.broken_median(double precision) (sfunc = gpusort_collect_values, stype = internal, finalfunc = gpusort_median_final,
	combinefunc = gpusort_combine_values, serialfunc = gpusort_serialize_values, deserialfunc = pg_temp.deserialize_broken, parallel = safe);
CREATE AGGREGATE pg_temp.broken_percentile_disc(anyelement, double precision) (sfunc = gpusort_collect_fraction, stype = internal,
	finalfunc = gpusort_percentile_disc_final, finalfunc_extra,
	combinefunc = gpusort_combine_fraction, serialfunc = gpusort_serialize_values, deserialfunc = pg_temp.deserialize_broken, parallel = safe);
CREATE AGGREGATE pg_temp.broken_rle(text, anycompatible) (sfunc = gpusort_rle_collect, stype = internal, finalfunc = gpusort_rle_sorted_final_text,
	combinefunc = gpusort_combine_pairs, serialfunc = gpusort_serialize_sorted, deserialfunc = pg_temp.deserialize_broken, parallel = safe);
CREATE AGGREGATE pg_temp.broken_rle(int4, anycompatible) (sfunc = gpusort_rle_collect, stype = internal, finalfunc = gpusort_rle_sorted_final_int4,
	combinefunc = gpusort_combine_pairs, serialfunc = gpusort_serialize_sorted, deserialfunc = pg_temp.deserialize_broken, parallel = safe);

-- One query again and again, each time with other breaks.  Errors must be those of data: not of the server's inside, nor of memory.  Of a state
-- that is sealed any change is known, before anything else is looked at.
CREATE FUNCTION pg_temp.check_broken(expression text, type text, call text, rounds int DEFAULT 400, sealed boolean DEFAULT false, rows int DEFAULT 400)
RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	query text := format('SELECT (%s)::text FROM b', call);
	whole text;
	answer text;
	errors int := 0;
	answers int := 0;
	others text[] := '{}';
	label text := call || ' of ' || type;
BEGIN
	DROP TABLE IF EXISTS b;
	EXECUTE format('CREATE TEMP TABLE b (i int, v %s) PARTITION BY LIST ((i %% 2))', type);
	CREATE TEMP TABLE b0 PARTITION OF b FOR VALUES IN (0);
	CREATE TEMP TABLE b1 PARTITION OF b FOR VALUES IN (1);
	EXECUTE format('INSERT INTO b SELECT i, (%s)::%s FROM generate_series(1, %s) AS i', expression, type, rows);
	ANALYZE b;
	RETURN NEXT ok(pg_temp.plan_of(query) ~ 'Finalize.*Append.*Partial', label || ': planned with partial states');
	PERFORM pg_temp.break_states(0);
	EXECUTE query INTO whole;
	RETURN NEXT is(whole, pg_temp.unbroken(query), label || ': whole states');
	FOR round IN 1 .. rounds LOOP
		BEGIN
			PERFORM pg_temp.break_states(round * 7919 + length(label));
			EXECUTE query INTO answer;
			answers := answers + 1;
			-- some breaks leave all as it was
			IF sealed AND answer IS DISTINCT FROM whole THEN
				others := others || answer;
			END IF;
		EXCEPTION WHEN OTHERS THEN
			errors := errors + 1;
			IF sealed THEN
				IF SQLSTATE <> '22P03' OR SQLERRM <> 'invalid state of an aggregate' THEN
					others := others || (SQLSTATE || ': ' || SQLERRM);
				END IF;
			ELSIF NOT (SQLSTATE ~ '^(22|23|42|54|08P01|0A000)' OR SQLERRM ~ '^unsupported jsonb version number|tsvector|position information') THEN
				others := others || (SQLSTATE || ': ' || SQLERRM);
			END IF;
		END;
	END LOOP;
	PERFORM pg_temp.break_states(0);
	RETURN NEXT ok(errors > rounds / 4, format('%s: %s errors, %s answers', label, errors, answers));
	RETURN NEXT is(others, '{}', label || ': no others');
END $$;
CREATE FUNCTION pg_temp.unbroken(query text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	result text;
BEGIN
	PERFORM set_config('enable_partitionwise_aggregate', 'off', false);
	EXECUTE replace(query, 'pg_temp.broken_', 'gpu_') INTO result;
	PERFORM set_config('enable_partitionwise_aggregate', 'on', false);
	RETURN result;
END $$;

SELECT pg_temp.check_broken('CASE WHEN i % 10 > 0 THEN i % 50 END', 'int4', 'pg_temp.broken_sort_agg(v)');
SELECT pg_temp.check_broken('i % 50', 'int8', 'pg_temp.broken_count_distinct(v)');
SELECT pg_temp.check_broken('i % 50', 'float8', 'pg_temp.broken_median(v)');
SELECT pg_temp.check_broken('date ''2000-01-01'' + i % 50', 'date', 'pg_temp.broken_percentile_disc(v, 0.3)');
SELECT pg_temp.check_broken('interval ''1 s'' * i', 'interval', 'pg_temp.broken_percentile_disc(v, 0.3)');
SELECT pg_temp.check_broken('time ''00:00''', 'timetz', 'pg_temp.broken_sort_agg(v)');
SELECT pg_temp.check_broken('timestamptz ''2000-01-01'' + interval ''1 s'' * i', 'timestamptz', 'pg_temp.broken_sort_agg(v)');
SELECT pg_temp.check_broken('i % 2 = 0', 'bool', 'pg_temp.broken_sort_agg(v)');
SELECT pg_temp.check_broken('''x'' || i % 50', 'text', 'pg_temp.broken_sort_agg(v)');
SELECT pg_temp.check_broken('''é'' || i % 50', 'varchar', 'pg_temp.broken_percentile_disc(v, 0.5)');
SELECT pg_temp.check_broken('''é'' || i % 50', 'name', 'pg_temp.broken_sort_agg(v)');
SELECT pg_temp.check_broken('''\x0102''', 'bytea', 'pg_temp.broken_count_distinct(v)');
SELECT pg_temp.check_broken('(i - 200) / 7.0', 'numeric', 'pg_temp.broken_sort_agg(v)', 2000);
SELECT pg_temp.check_broken('(i - 200) * 1e30', 'numeric', 'pg_temp.broken_percentile_disc(v, 0.5)', 1000);
SELECT pg_temp.check_broken('CASE WHEN i % 10 > 0 THEN (i % 3)::text END', 'text', 'pg_temp.broken_rle(v, i)');
SELECT pg_temp.check_broken('i % 3', 'int4', 'pg_temp.broken_rle(v, v::text)');
SELECT pg_temp.check_broken('i / 5', 'int4', 'pg_temp.broken_rle(v, i)', 1000, false, 700);
SELECT pg_temp.check_broken('CASE WHEN i % 60 > 9 THEN ''é'' || i / 10 END', 'text', 'pg_temp.broken_rle(v, i::float8)', 1000, false, 700);
SELECT pg_temp.check_broken('i % 3', 'int4', 'pg_temp.broken_rle(v, time with time zone ''10:00+0'' + i * interval ''1 s'')');
SELECT pg_temp.check_broken('i % 3', 'int4', 'pg_temp.broken_rle(v, md5(i::text)::uuid)');
SELECT pg_temp.check_broken('i % 3', 'int4', 'pg_temp.broken_rle(v, ROW(i, v))', 400, true);
SELECT pg_temp.check_broken('ARRAY[i % 3, NULL, i]', 'int4[]', 'pg_temp.broken_percentile_disc(v, 0.5)', 1000);
SELECT pg_temp.check_broken('ARRAY[[''a'', NULL], [''b'', i::text]]', 'text[]', 'pg_temp.broken_count_distinct(v)', 1000);
SELECT pg_temp.check_broken('jsonb_build_object(''a'', i % 7, ''b'', ARRAY[1.5, NULL])', 'jsonb', 'pg_temp.broken_sort_agg(v)', 1000);
SELECT pg_temp.check_broken('int4range(i, i + 5)', 'int4range', 'pg_temp.broken_sort_agg(v)', 400, true);
SELECT pg_temp.check_broken('(i % 8)::bit(3)', 'varbit', 'pg_temp.broken_sort_agg(v)');
SELECT pg_temp.check_broken('''10.0.0.0''::inet + i', 'inet', 'pg_temp.broken_sort_agg(v)');
SELECT pg_temp.check_broken('to_tsvector(''simple'', ''a b '' || i)', 'tsvector', 'pg_temp.broken_sort_agg(v)');
CREATE TYPE pg_temp.mood AS ENUM ('sad', 'ok', 'happy');
SELECT pg_temp.check_broken('(enum_range(NULL::pg_temp.mood))[1 + i % 3]', 'pg_temp.mood', 'pg_temp.broken_sort_agg(v)');
CREATE TYPE pg_temp.pair AS (number int, word text);
SELECT pg_temp.check_broken('ROW(i % 5, NULL)::pg_temp.pair', 'pg_temp.pair', 'pg_temp.broken_sort_agg(v)', 400, true);
SELECT pg_temp.check_broken('i', 'int4', 'pg_temp.broken_percentile_disc(ROW(v, ''x''::text), 0.4)', 400, true);
SELECT pg_temp.check_broken('ARRAY[ROW(i % 5, ''x'')::pg_temp.pair]', 'pg_temp.pair[]', 'pg_temp.broken_count_distinct(v)', 400, true);
SELECT pg_temp.check_broken('i', 'int4', 'pg_temp.broken_percentile_disc(ROW(v, ROW(i, v)), 0.4)', 400, true);
SELECT * FROM finish();
