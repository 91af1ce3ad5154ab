-- gpusort--0.1.0--0.2.0.sql: what version 0.2.0 adds; a new installation runs it after gpusort--0.1.0.sql.
\echo Use "ALTER EXTENSION gpusort UPDATE TO '0.2.0'" to load this file. \quit

-- The view stays where it is, for those built upon it, and gets two columns more; the function behind it is another.
CREATE FUNCTION gpusort_devices_next(OUT device integer, OUT name text, OUT memory_bytes bigint, OUT limit_bytes bigint,
	OUT reserved_bytes bigint, OUT jobs integer, OUT jobs_done bigint, OUT service text, OUT since timestamptz,
	OUT restarts integer, OUT pid integer, OUT pinned_bytes bigint, OUT next_attempt timestamptz, OUT reason text)
RETURNS SETOF record LANGUAGE c STRICT VOLATILE PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'gpusort_devices_get';
CREATE OR REPLACE VIEW gpusort_devices AS SELECT * FROM gpusort_devices_next();
DROP FUNCTION gpusort_devices_get();
ALTER FUNCTION gpusort_devices_next() RENAME TO gpusort_devices_get;

-- The same for what coarse keys took.
CREATE FUNCTION gpusort_stat_next(OUT op text, OUT engine text, OUT fallback text, OUT jobs bigint, OUT rows bigint,
	OUT bytes bigint, OUT device_ms double precision, OUT coarse bigint, OUT compared bigint, OUT refused bigint)
RETURNS SETOF record LANGUAGE c STRICT VOLATILE PARALLEL RESTRICTED AS 'MODULE_PATHNAME', 'gpusort_stat_get';
CREATE OR REPLACE VIEW gpusort_stat AS SELECT * FROM gpusort_stat_next();
DROP FUNCTION gpusort_stat_get();
ALTER FUNCTION gpusort_stat_next() RENAME TO gpusort_stat_get;

-- The sorts that run now, in any session; of others' only who runs them and where, as in PostgreSQL's own views of progress.
CREATE FUNCTION gpusort_progress_get(OUT pid integer, OUT datid oid, OUT leader_pid integer, OUT query_id bigint, OUT phase text,
	OUT rows bigint, OUT rows_expected bigint, OUT memory_bytes bigint, OUT disk_bytes bigint, OUT runs integer, OUT engine text,
	OUT started timestamptz)
RETURNS SETOF record LANGUAGE c STRICT VOLATILE PARALLEL RESTRICTED ROWS 10 AS 'MODULE_PATHNAME';
CREATE VIEW gpusort_progress AS
	SELECT s.pid, s.datid, d.datname, s.leader_pid, s.query_id, s.phase, s.rows, s.rows_expected, s.memory_bytes, s.disk_bytes, s.runs,
		s.engine, s.started
	FROM gpusort_progress_get() AS s LEFT JOIN pg_catalog.pg_database AS d ON d.oid OPERATOR(pg_catalog.=) s.datid;
COMMENT ON VIEW gpusort_progress IS 'sorts that run now';
GRANT SELECT ON gpusort_progress TO PUBLIC;

-- Aggregates that combine: states of parallel workers and of partitions.
CREATE FUNCTION gpusort_serialize_sorted(internal) RETURNS bytea LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME';
CREATE FUNCTION gpusort_serialize_values(internal) RETURNS bytea LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME';
CREATE FUNCTION gpusort_serialize_distinct(internal) RETURNS bytea LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME';
CREATE FUNCTION gpusort_deserialize(bytea, internal) RETURNS internal LANGUAGE c IMMUTABLE STRICT PARALLEL SAFE AS 'MODULE_PATHNAME';
CREATE FUNCTION gpusort_combine_all(internal, internal) RETURNS internal LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME';
CREATE FUNCTION gpusort_combine_values(internal, internal) RETURNS internal LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME';
CREATE FUNCTION gpusort_combine_fraction(internal, internal) RETURNS internal LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME';
CREATE FUNCTION gpusort_combine_pairs(internal, internal) RETURNS internal LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME';

CREATE OR REPLACE AGGREGATE gpu_sort_agg(value anynonarray) (
	sfunc = gpusort_collect_all, stype = internal, sspace = 1000000, finalfunc = gpusort_sort_agg_final, finalfunc_extra,
	combinefunc = gpusort_combine_all, serialfunc = gpusort_serialize_sorted, deserialfunc = gpusort_deserialize, parallel = safe);
CREATE OR REPLACE AGGREGATE gpu_count_distinct(value anyelement) (
	sfunc = gpusort_collect_values, stype = internal, sspace = 1000000, finalfunc = gpusort_count_distinct_final,
	combinefunc = gpusort_combine_values, serialfunc = gpusort_serialize_distinct, deserialfunc = gpusort_deserialize, parallel = safe);
CREATE OR REPLACE AGGREGATE gpu_median(value double precision) (
	sfunc = gpusort_collect_values, stype = internal, sspace = 1000000, finalfunc = gpusort_median_final,
	combinefunc = gpusort_combine_values, serialfunc = gpusort_serialize_values, deserialfunc = gpusort_deserialize, parallel = safe);
CREATE OR REPLACE AGGREGATE gpu_median(value interval) (
	sfunc = gpusort_collect_values, stype = internal, sspace = 1000000, finalfunc = gpusort_median_interval_final,
	combinefunc = gpusort_combine_values, serialfunc = gpusort_serialize_values, deserialfunc = gpusort_deserialize, parallel = safe);
CREATE OR REPLACE AGGREGATE gpu_percentile_cont(value double precision, fraction double precision) (
	sfunc = gpusort_collect_fraction, stype = internal, sspace = 1000000, finalfunc = gpusort_percentile_cont_final,
	combinefunc = gpusort_combine_fraction, serialfunc = gpusort_serialize_values, deserialfunc = gpusort_deserialize, parallel = safe);
CREATE OR REPLACE AGGREGATE gpu_percentile_cont(value interval, fraction double precision) (
	sfunc = gpusort_collect_fraction, stype = internal, sspace = 1000000, finalfunc = gpusort_percentile_cont_interval_final,
	combinefunc = gpusort_combine_fraction, serialfunc = gpusort_serialize_values, deserialfunc = gpusort_deserialize, parallel = safe);
CREATE OR REPLACE AGGREGATE gpu_percentile_disc(value anyelement, fraction double precision) (
	sfunc = gpusort_collect_fraction, stype = internal, sspace = 1000000, finalfunc = gpusort_percentile_disc_final, finalfunc_extra,
	combinefunc = gpusort_combine_fraction, serialfunc = gpusort_serialize_values, deserialfunc = gpusort_deserialize, parallel = safe);

-- Percentiles of numeric as double precision, without going by text for each value.
CREATE FUNCTION gpusort_collect_numbers(internal, numeric) RETURNS internal LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME';
CREATE FUNCTION gpusort_collect_numbers_fraction(internal, numeric, double precision) RETURNS internal LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME';
CREATE FUNCTION gpusort_combine_numbers(internal, internal) RETURNS internal LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME';
CREATE FUNCTION gpusort_combine_numbers_fraction(internal, internal) RETURNS internal LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME';
CREATE AGGREGATE gpu_median(value numeric) (
	sfunc = gpusort_collect_numbers, stype = internal, sspace = 1000000, finalfunc = gpusort_median_final,
	combinefunc = gpusort_combine_numbers, serialfunc = gpusort_serialize_values, deserialfunc = gpusort_deserialize, parallel = safe);
COMMENT ON AGGREGATE gpu_median(numeric) IS 'value in the middle, or between the two in the middle, as double precision';
CREATE AGGREGATE gpu_percentile_cont(value numeric, fraction double precision) (
	sfunc = gpusort_collect_numbers_fraction, stype = internal, sspace = 1000000, finalfunc = gpusort_percentile_cont_final,
	combinefunc = gpusort_combine_numbers_fraction, serialfunc = gpusort_serialize_values, deserialfunc = gpusort_deserialize, parallel = safe);
COMMENT ON AGGREGATE gpu_percentile_cont(numeric, double precision) IS 'continuous percentile as double precision, between two values where need be';

-- Percentiles of fractions that are given once, one or an array of them, and the most frequent value.
CREATE FUNCTION gpusort_collect_within(internal, anyelement) RETURNS internal LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME';
CREATE FUNCTION gpusort_percentile_cont_within(internal, double precision) RETURNS double precision LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME';
CREATE FUNCTION gpusort_percentiles_cont_within(internal, double precision[]) RETURNS double precision[] LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME';
CREATE FUNCTION gpusort_percentile_cont_interval_within(internal, double precision) RETURNS interval LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'gpusort_percentile_cont_within';
CREATE FUNCTION gpusort_percentiles_cont_interval_within(internal, double precision[]) RETURNS interval[] LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME', 'gpusort_percentiles_cont_within';
CREATE FUNCTION gpusort_percentile_disc_within(internal, double precision, anyelement) RETURNS anyelement LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME';
CREATE FUNCTION gpusort_percentiles_disc_within(internal, double precision[], anyelement) RETURNS anyarray LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME';
CREATE FUNCTION gpusort_mode_within(internal, anyelement) RETURNS anyelement LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME';
CREATE AGGREGATE gpu_percentile_cont_within(double precision ORDER BY double precision) (
	sfunc = gpusort_collect_within, stype = internal, sspace = 1000000, finalfunc = gpusort_percentile_cont_within, finalfunc_modify = read_only, parallel = safe);
COMMENT ON AGGREGATE gpu_percentile_cont_within(double precision, double precision) IS 'continuous percentile, written as percentile_cont';
CREATE AGGREGATE gpu_percentile_cont_within(double precision[] ORDER BY double precision) (
	sfunc = gpusort_collect_within, stype = internal, sspace = 1000000, finalfunc = gpusort_percentiles_cont_within, finalfunc_modify = read_only, parallel = safe);
COMMENT ON AGGREGATE gpu_percentile_cont_within(double precision[], double precision) IS 'continuous percentiles, written as percentile_cont';
CREATE AGGREGATE gpu_percentile_cont_within(double precision ORDER BY interval) (
	sfunc = gpusort_collect_within, stype = internal, sspace = 1000000, finalfunc = gpusort_percentile_cont_interval_within, finalfunc_modify = read_only, parallel = safe);
COMMENT ON AGGREGATE gpu_percentile_cont_within(double precision, interval) IS 'continuous percentile, written as percentile_cont';
CREATE AGGREGATE gpu_percentile_cont_within(double precision[] ORDER BY interval) (
	sfunc = gpusort_collect_within, stype = internal, sspace = 1000000, finalfunc = gpusort_percentiles_cont_interval_within, finalfunc_modify = read_only, parallel = safe);
COMMENT ON AGGREGATE gpu_percentile_cont_within(double precision[], interval) IS 'continuous percentiles, written as percentile_cont';
CREATE AGGREGATE gpu_percentile_disc_within(double precision ORDER BY anyelement) (
	sfunc = gpusort_collect_within, stype = internal, sspace = 1000000, finalfunc = gpusort_percentile_disc_within, finalfunc_extra, finalfunc_modify = read_only, parallel = safe);
COMMENT ON AGGREGATE gpu_percentile_disc_within(double precision, anyelement) IS 'discrete percentile, written as percentile_disc';
CREATE AGGREGATE gpu_percentile_disc_within(double precision[] ORDER BY anyelement) (
	sfunc = gpusort_collect_within, stype = internal, sspace = 1000000, finalfunc = gpusort_percentiles_disc_within, finalfunc_extra, finalfunc_modify = read_only, parallel = safe);
COMMENT ON AGGREGATE gpu_percentile_disc_within(double precision[], anyelement) IS 'discrete percentiles, written as percentile_disc';
CREATE AGGREGATE gpu_mode_within(ORDER BY anyelement) (
	sfunc = gpusort_collect_within, stype = internal, sspace = 1000000, finalfunc = gpusort_mode_within, finalfunc_extra, finalfunc_modify = read_only, parallel = safe);
COMMENT ON AGGREGATE gpu_mode_within(anyelement) IS 'most frequent value, written as mode';

-- The end of a group costs what it costs in PostgreSQL's aggregates whose place these take, an operator at most.  A price of 100 made the server
-- prefer whichever plan it expected fewer groups of.
ALTER FUNCTION gpusort_count_distinct_final(internal) COST 1;
ALTER FUNCTION gpusort_median_final(internal) COST 1;
ALTER FUNCTION gpusort_median_interval_final(internal) COST 1;
ALTER FUNCTION gpusort_percentile_cont_final(internal) COST 1;
ALTER FUNCTION gpusort_percentile_cont_interval_final(internal) COST 1;
ALTER FUNCTION gpusort_percentile_disc_final(internal, anyelement, double precision) COST 1;

-- Runs in the order of a key do not depend on the order in which rows come, so workers may collect them, too.
ALTER FUNCTION gpusort_rle_collect(internal, anyelement, anycompatible) PARALLEL SAFE;
DO $do$
DECLARE
	t text;
BEGIN
	FOREACH t IN ARRAY '{bool,int2,int4,int8,float4,float8,numeric,date,timestamp,timestamptz,uuid,text}'::text[] LOOP
		EXECUTE pg_catalog.format('ALTER FUNCTION %I(internal) PARALLEL SAFE', 'gpusort_rle_sorted_final_' || t);
		EXECUTE pg_catalog.format('CREATE OR REPLACE AGGREGATE gpu_rle(value pg_catalog.%I, sort_key anycompatible) (
			sfunc = gpusort_rle_collect, stype = internal, sspace = 1000000, finalfunc = gpusort_rle_sorted_final_%1$s,
			combinefunc = gpusort_combine_pairs, serialfunc = gpusort_serialize_sorted, deserialfunc = gpusort_deserialize, parallel = safe)', t);
	END LOOP;
END
$do$;
