-- complain if the script is sourced in psql, rather than by CREATE EXTENSION
\echo Use "CREATE EXTENSION gpusort" to load this file. \quit

-- What was done, by operation and engine; a line with a fallback counts jobs that left the GPU service, for that reason.
CREATE FUNCTION gpusort_stat_get(OUT op text, OUT engine text, OUT fallback text, OUT jobs bigint, OUT rows bigint,
								 OUT bytes bigint, OUT device_ms double precision)
RETURNS SETOF record LANGUAGE c STRICT VOLATILE PARALLEL RESTRICTED AS 'MODULE_PATHNAME';
CREATE VIEW gpusort_stat AS SELECT * FROM gpusort_stat_get();
COMMENT ON VIEW gpusort_stat IS 'sorts and other jobs by operation and engine, and jobs that left the GPU by reason';

-- The GPUs that sorts run on, and how their service fares.
CREATE FUNCTION gpusort_devices_get(OUT device integer, OUT name text, OUT memory_bytes bigint, OUT limit_bytes bigint,
									OUT reserved_bytes bigint, OUT jobs integer, OUT jobs_done bigint, OUT service text,
									OUT since timestamptz, OUT restarts integer, OUT pid integer, OUT pinned_bytes bigint)
RETURNS SETOF record LANGUAGE c STRICT VOLATILE PARALLEL RESTRICTED AS 'MODULE_PATHNAME';
CREATE VIEW gpusort_devices AS SELECT * FROM gpusort_devices_get();
COMMENT ON VIEW gpusort_devices IS 'the GPUs that sorts run on, and the state of their service';

GRANT SELECT ON gpusort_stat, gpusort_devices TO PUBLIC;

CREATE FUNCTION gpusort_stat_reset() RETURNS void LANGUAGE c STRICT VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION gpusort_stat_reset() IS 'sets the counters of gpusort_stat to zero';
REVOKE EXECUTE ON FUNCTION gpusort_stat_reset() FROM PUBLIC;

-- Arrays of one dimension.  Positions count from 1, equality is IS NOT DISTINCT FROM, NULL arguments give NULL (or no rows); doc/functions.md.
CREATE FUNCTION gpu_sort("array" anyarray, descending boolean DEFAULT false)
RETURNS anyarray LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 100 AS 'MODULE_PATHNAME';
CREATE FUNCTION gpu_sort("array" anyarray, descending boolean, nulls_first boolean)
RETURNS anyarray LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 100 AS 'MODULE_PATHNAME';
CREATE FUNCTION gpu_argsort("array" anyarray, descending boolean DEFAULT false)
RETURNS integer[] LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 100 AS 'MODULE_PATHNAME';
CREATE FUNCTION gpu_argsort("array" anyarray, descending boolean, nulls_first boolean)
RETURNS integer[] LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 100 AS 'MODULE_PATHNAME';
CREATE FUNCTION gpu_sort_by_key(INOUT keys anyarray, INOUT vals anycompatiblearray, descending boolean DEFAULT false)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 100 AS 'MODULE_PATHNAME';
CREATE FUNCTION gpu_sort_by_key(INOUT keys anyarray, INOUT vals anycompatiblearray, descending boolean, nulls_first boolean)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 100 AS 'MODULE_PATHNAME';
CREATE FUNCTION gpu_select_if("array" anyarray, mask boolean[])
RETURNS anyarray LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 20 AS 'MODULE_PATHNAME';
CREATE FUNCTION gpu_select_if("array" anycompatiblearray, op text, value anycompatible)
RETURNS anycompatiblearray LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 20 AS 'MODULE_PATHNAME', 'gpu_select_if_compare';
CREATE FUNCTION gpu_partition_if("array" anyarray, mask boolean[], OUT selected anyarray, OUT rejected anyarray)
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 20 AS 'MODULE_PATHNAME';
CREATE FUNCTION gpu_dedup("array" anyarray)
RETURNS anyarray LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 20 AS 'MODULE_PATHNAME';
CREATE FUNCTION gpu_distinct("array" anyarray)
RETURNS anyarray LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 100 AS 'MODULE_PATHNAME';
CREATE FUNCTION gpu_scan("array" anyarray, op text DEFAULT 'sum', exclusive boolean DEFAULT false)
RETURNS anyarray LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 20 AS 'MODULE_PATHNAME';
CREATE FUNCTION gpu_scan("array" smallint[], op text DEFAULT 'sum', exclusive boolean DEFAULT false)
RETURNS bigint[] LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 20 AS 'MODULE_PATHNAME', 'gpu_scan_bigint';
CREATE FUNCTION gpu_scan("array" integer[], op text DEFAULT 'sum', exclusive boolean DEFAULT false)
RETURNS bigint[] LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 20 AS 'MODULE_PATHNAME', 'gpu_scan_bigint';
CREATE FUNCTION gpu_rle_runs("array" anyarray, OUT value anyelement, OUT run_length bigint, OUT first_row bigint)
RETURNS SETOF record LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 20 AS 'MODULE_PATHNAME';
CREATE FUNCTION gpu_rle_decode(vals anyarray, run_lengths bigint[])
RETURNS anyarray LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 20 AS 'MODULE_PATHNAME';
CREATE FUNCTION gpu_reduce_by_key(keys anyarray, vals anycompatiblearray, op text DEFAULT 'sum', presorted boolean DEFAULT false,
								  OUT key anyelement, OUT value anycompatible)
RETURNS SETOF record LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 100 AS 'MODULE_PATHNAME';
CREATE FUNCTION gpu_reduce_by_key(keys anyarray, vals smallint[], op text DEFAULT 'sum', presorted boolean DEFAULT false,
								  OUT key anyelement, OUT value bigint)
RETURNS SETOF record LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 100 AS 'MODULE_PATHNAME', 'gpu_reduce_by_key_bigint';
CREATE FUNCTION gpu_reduce_by_key(keys anyarray, vals integer[], op text DEFAULT 'sum', presorted boolean DEFAULT false,
								  OUT key anyelement, OUT value bigint)
RETURNS SETOF record LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 100 AS 'MODULE_PATHNAME', 'gpu_reduce_by_key_bigint';
CREATE FUNCTION gpu_count_by_key(keys anyarray, presorted boolean DEFAULT false, OUT key anyelement, OUT value bigint)
RETURNS SETOF record LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 100 AS 'MODULE_PATHNAME';
DO $$
DECLARE
	vals text;
BEGIN
	FOREACH vals IN ARRAY '{smallint,integer,bigint,numeric,real,double precision}'::text[] LOOP
		EXECUTE pg_catalog.format('CREATE FUNCTION gpu_avg_by_key(keys anyarray, vals %s[], presorted boolean DEFAULT false,
			OUT key anyelement, OUT value %s) RETURNS SETOF record LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE COST 100
			AS ''MODULE_PATHNAME''', vals, CASE WHEN vals IN ('real', 'double precision') THEN 'double precision' ELSE 'numeric' END);
		EXECUTE pg_catalog.format('COMMENT ON FUNCTION gpu_avg_by_key(anyarray, %s[], boolean) IS %L', vals,
			'average of the values of each key, or of each run of equal keys if presorted');
	END LOOP;
END
$$;
COMMENT ON FUNCTION gpu_sort(anyarray, boolean) IS 'array in order';
COMMENT ON FUNCTION gpu_sort(anyarray, boolean, boolean) IS 'array in order';
COMMENT ON FUNCTION gpu_argsort(anyarray, boolean) IS 'positions of the elements in order';
COMMENT ON FUNCTION gpu_argsort(anyarray, boolean, boolean) IS 'positions of the elements in order';
COMMENT ON FUNCTION gpu_sort_by_key(anyarray, anycompatiblearray, boolean) IS 'two arrays in the order of the first one';
COMMENT ON FUNCTION gpu_sort_by_key(anyarray, anycompatiblearray, boolean, boolean) IS 'two arrays in the order of the first one';
COMMENT ON FUNCTION gpu_select_if(anyarray, boolean[]) IS 'elements whose mask is true';
COMMENT ON FUNCTION gpu_select_if(anycompatiblearray, text, anycompatible) IS 'elements for which "element op value" is true: op is =, <>, <, <=, > or >=';
COMMENT ON FUNCTION gpu_partition_if(anyarray, boolean[]) IS 'elements whose mask is true, and all others';
COMMENT ON FUNCTION gpu_dedup(anyarray) IS 'array without repetitions of the element before';
COMMENT ON FUNCTION gpu_distinct(anyarray) IS 'every value of the array once, in order';
COMMENT ON FUNCTION gpu_scan(anyarray, text, boolean) IS 'running sum, minimum or maximum';
COMMENT ON FUNCTION gpu_scan(smallint[], text, boolean) IS 'running sum, minimum or maximum';
COMMENT ON FUNCTION gpu_scan(integer[], text, boolean) IS 'running sum, minimum or maximum';
COMMENT ON FUNCTION gpu_rle_runs(anyarray) IS 'runs of equal neighbours: value, length and first position';
COMMENT ON FUNCTION gpu_rle_decode(anyarray, bigint[]) IS 'array of which each value stands there as often as its run is long';
COMMENT ON FUNCTION gpu_reduce_by_key(anyarray, anycompatiblearray, text, boolean)
IS 'sum, minimum or maximum of the values of each key, or of each run of equal keys if presorted';
COMMENT ON FUNCTION gpu_reduce_by_key(anyarray, smallint[], text, boolean)
IS 'sum, minimum or maximum of the values of each key, or of each run of equal keys if presorted';
COMMENT ON FUNCTION gpu_reduce_by_key(anyarray, integer[], text, boolean)
IS 'sum, minimum or maximum of the values of each key, or of each run of equal keys if presorted';
COMMENT ON FUNCTION gpu_count_by_key(anyarray, boolean) IS 'how often each key occurs, or how long each run of equal keys is if presorted';
-- Aggregates over values in order, and the functions they are made of.  A state that holds all values of its group is announced as
-- large: groups that may not fit in memory together are better sorted than hashed.
CREATE FUNCTION gpusort_collect_all(internal, anynonarray) RETURNS internal
LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME';
CREATE FUNCTION gpusort_collect_values(internal, anyelement) RETURNS internal
LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME';
CREATE FUNCTION gpusort_collect_fraction(internal, anyelement, double precision) RETURNS internal
LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME';
CREATE FUNCTION gpusort_sort_agg_final(internal, anynonarray) RETURNS anyarray
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 100 AS 'MODULE_PATHNAME';
CREATE FUNCTION gpusort_count_distinct_final(internal) RETURNS bigint
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 100 AS 'MODULE_PATHNAME';
CREATE FUNCTION gpusort_median_final(internal) RETURNS double precision
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 100 AS 'MODULE_PATHNAME';
CREATE FUNCTION gpusort_median_interval_final(internal) RETURNS interval
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 100 AS 'MODULE_PATHNAME', 'gpusort_median_final';
CREATE FUNCTION gpusort_percentile_cont_final(internal) RETURNS double precision
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 100 AS 'MODULE_PATHNAME';
CREATE FUNCTION gpusort_percentile_cont_interval_final(internal) RETURNS interval
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 100 AS 'MODULE_PATHNAME', 'gpusort_percentile_cont_final';
CREATE FUNCTION gpusort_percentile_disc_final(internal, anyelement, double precision) RETURNS anyelement
LANGUAGE c IMMUTABLE PARALLEL SAFE COST 100 AS 'MODULE_PATHNAME';
CREATE FUNCTION gpusort_rle_add(internal, anyelement) RETURNS internal
LANGUAGE c IMMUTABLE PARALLEL RESTRICTED AS 'MODULE_PATHNAME';
CREATE FUNCTION gpusort_rle_collect(internal, anyelement, anycompatible) RETURNS internal
LANGUAGE c IMMUTABLE PARALLEL RESTRICTED AS 'MODULE_PATHNAME';

CREATE AGGREGATE gpu_sort_agg(value anynonarray) (
	sfunc = gpusort_collect_all, stype = internal, sspace = 1000000, finalfunc = gpusort_sort_agg_final, finalfunc_extra, parallel = safe);
COMMENT ON AGGREGATE gpu_sort_agg(anynonarray) IS 'array of all values in order, NULLs last';
CREATE AGGREGATE gpu_count_distinct(value anyelement) (
	sfunc = gpusort_collect_values, stype = internal, sspace = 1000000, finalfunc = gpusort_count_distinct_final, parallel = safe);
COMMENT ON AGGREGATE gpu_count_distinct(anyelement) IS 'number of different values, NULLs left out';
CREATE AGGREGATE gpu_median(value double precision) (
	sfunc = gpusort_collect_values, stype = internal, sspace = 1000000, finalfunc = gpusort_median_final, parallel = safe);
COMMENT ON AGGREGATE gpu_median(double precision) IS 'value in the middle, or between the two in the middle';
CREATE AGGREGATE gpu_median(value interval) (
	sfunc = gpusort_collect_values, stype = internal, sspace = 1000000, finalfunc = gpusort_median_interval_final, parallel = safe);
COMMENT ON AGGREGATE gpu_median(interval) IS 'value in the middle, or between the two in the middle';
CREATE AGGREGATE gpu_percentile_cont(value double precision, fraction double precision) (
	sfunc = gpusort_collect_fraction, stype = internal, sspace = 1000000, finalfunc = gpusort_percentile_cont_final, parallel = safe);
COMMENT ON AGGREGATE gpu_percentile_cont(double precision, double precision) IS 'continuous percentile, between two values where need be';
CREATE AGGREGATE gpu_percentile_cont(value interval, fraction double precision) (
	sfunc = gpusort_collect_fraction, stype = internal, sspace = 1000000, finalfunc = gpusort_percentile_cont_interval_final, parallel = safe);
COMMENT ON AGGREGATE gpu_percentile_cont(interval, double precision) IS 'continuous percentile, between two values where need be';
CREATE AGGREGATE gpu_percentile_disc(value anyelement, fraction double precision) (
	sfunc = gpusort_collect_fraction, stype = internal, sspace = 1000000, finalfunc = gpusort_percentile_disc_final, finalfunc_extra, parallel = safe);
COMMENT ON AGGREGATE gpu_percentile_disc(anyelement, double precision) IS 'discrete percentile, one of the values';

-- Runs of equal values: a composite type for each type of values, since composite types have no polymorphic columns.
DO $do$
DECLARE
	t text;
	line text;
BEGIN
	FOREACH t IN ARRAY '{bool,int2,int4,int8,float4,float8,numeric,date,timestamp,timestamptz,uuid,text}'::text[] LOOP
		FOREACH line IN ARRAY ARRAY[
			'CREATE TYPE gpu_rle_# AS (value pg_catalog.#, run_length bigint, first_row bigint)',
			'COMMENT ON TYPE gpu_rle_# IS $c$run of equal values: the value, its number of rows, the place of the first one$c$',
			'CREATE FUNCTION gpusort_rle_final_#(internal) RETURNS gpu_rle_#[]
			 LANGUAGE c IMMUTABLE PARALLEL RESTRICTED COST 100 AS $c$MODULE_PATHNAME$c$, $c$gpusort_rle_final$c$',
			'CREATE FUNCTION gpusort_rle_sorted_final_#(internal) RETURNS gpu_rle_#[]
			 LANGUAGE c IMMUTABLE PARALLEL RESTRICTED COST 100 AS $c$MODULE_PATHNAME$c$, $c$gpusort_rle_sorted_final$c$',
			'CREATE AGGREGATE gpu_rle(value pg_catalog.#) (
			 sfunc = gpusort_rle_add, stype = internal, finalfunc = gpusort_rle_final_#, parallel = restricted)',
			'COMMENT ON AGGREGATE gpu_rle(pg_catalog.#) IS $c$runs of equal values in the order of the rows$c$',
			'CREATE AGGREGATE gpu_rle(value pg_catalog.#, sort_key anycompatible) (
			 sfunc = gpusort_rle_collect, stype = internal, sspace = 1000000, finalfunc = gpusort_rle_sorted_final_#, parallel = restricted)',
			'COMMENT ON AGGREGATE gpu_rle(pg_catalog.#, anycompatible) IS $c$runs of equal values in the order of a key$c$'] LOOP
			EXECUTE pg_catalog.replace(line, '#', t);
		END LOOP;
	END LOOP;
END
$do$;

CREATE FUNCTION gpusort_run_id_support(internal) RETURNS internal
LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME';
CREATE FUNCTION gpu_run_id(value anyelement) RETURNS bigint
LANGUAGE c WINDOW IMMUTABLE PARALLEL SAFE SUPPORT gpusort_run_id_support AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION gpu_run_id(anyelement) IS 'number of the run of equal values that a row belongs to';

-- The library is loaded for this session only, unless a setting loads it for all: say which line does that.  Nothing more is made in the
-- extension's schema, so that functions which others have put there need not be seen; above, names stand with their schema.
SET LOCAL search_path = pg_catalog, pg_temp;
DO $$
DECLARE
	libraries text[];
	listed text[];
BEGIN
	libraries := regexp_split_to_array(
		concat_ws(',', nullif(current_setting('shared_preload_libraries'), ''),
				  nullif(current_setting('session_preload_libraries'), ''),
				  nullif(current_setting('local_preload_libraries'), '')), '\s*,\s*');
	IF EXISTS (SELECT FROM unnest(libraries) AS library
			   WHERE trim(library, '"') ~ '(^|/)gpusort(\.so)?$') THEN
		RETURN;
	END IF;
	listed := CASE WHEN current_setting('session_preload_libraries') <> ''
			  THEN regexp_split_to_array(current_setting('session_preload_libraries'), '\s*,\s*') ELSE '{}' END;
	-- scripts run with notices held back, unless even warnings are
	IF current_setting('client_min_messages') = 'warning' THEN
		PERFORM set_config('client_min_messages', 'notice', true);
	END IF;
	RAISE NOTICE 'gpusort works in this session only; for all later sessions of this database run: ALTER DATABASE % SET session_preload_libraries = %;',
		quote_ident(current_database()),
		(SELECT string_agg(quote_literal(trim(library, '"')), ', ' ORDER BY place)
		 FROM unnest(listed || 'gpusort'::text) WITH ORDINALITY AS list (library, place))
		USING HINT = 'For all databases, add gpusort to shared_preload_libraries in postgresql.conf and restart the server.';
END
$$;
