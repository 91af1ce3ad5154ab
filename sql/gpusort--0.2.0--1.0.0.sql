-- gpusort--0.2.0--1.0.0.sql: what version 1.0.0 adds; a new installation runs it after gpusort--0.1.0--0.2.0.sql.
\echo Use "ALTER EXTENSION gpusort UPDATE TO '1.0.0'" to load this file. \quit

-- Resident columns: which tables have some.  NULL: all columns that can be held.
CREATE TABLE gpusort_columns_choice (rel regclass PRIMARY KEY, columns text[]);
COMMENT ON TABLE gpusort_columns_choice IS 'tables whose columns gpusort holds; written by gpusort_columns_add and gpusort_columns_remove';
SELECT pg_catalog.pg_extension_config_dump('gpusort_columns_choice', '');
CREATE FUNCTION gpusort_columns_restored() RETURNS trigger LANGUAGE c AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION gpusort_columns_restored() IS 'refuses choices of columns that a restored dump brings without the rights for them';
CREATE TRIGGER gpusort_columns_restored BEFORE INSERT ON gpusort_columns_choice FOR EACH ROW EXECUTE FUNCTION gpusort_columns_restored();
-- whoever dumps a database reads it; who restores one without rights is told so, row by row
GRANT SELECT, INSERT ON gpusort_columns_choice TO PUBLIC;

CREATE FUNCTION gpusort_columns_add(rel regclass, columns text[] DEFAULT NULL) RETURNS void LANGUAGE c VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION gpusort_columns_add(regclass, text[]) IS 'holds columns of a table in memory, all that can be held or those named; waits until they are loaded';
CREATE FUNCTION gpusort_columns_remove(rel regclass) RETURNS void LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION gpusort_columns_remove(regclass) IS 'no longer holds columns of a table in memory';

CREATE FUNCTION gpusort_columns_get(OUT rel regclass, OUT "column" name, OUT encoding text, OUT distinct_values bigint, OUT bytes bigint, OUT state text,
	OUT pages bigint, OUT held bigint, OUT young bigint, OUT changed bigint, OUT queries bigint, OUT fallbacks bigint, OUT ready_since timestamptz,
	OUT last_reason text)
	RETURNS SETOF record LANGUAGE c VOLATILE STRICT PARALLEL RESTRICTED AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION gpusort_columns_get() IS 'columns that gpusort holds, for the view gpusort_columns';
CREATE VIEW gpusort_columns AS SELECT * FROM gpusort_columns_get();
COMMENT ON VIEW gpusort_columns IS 'columns that gpusort holds: how, how much, and how many queries they answered';
GRANT SELECT ON gpusort_columns TO PUBLIC;

-- For tests: answers through the proof of resident columns, and the hash that it compares by.
CREATE FUNCTION gpusort_columns_check(rel regclass, columns text[], OUT rows bigint, OUT sum bigint, OUT hash bigint, OUT from_columns bigint,
	OUT young bigint, OUT undecided bigint, OUT from_table bigint, OUT prove_us double precision, OUT engine_us double precision,
	OUT heap_us double precision, OUT reason text) RETURNS record LANGUAGE c VOLATILE STRICT PARALLEL UNSAFE AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION gpusort_columns_check(regclass, text[]) IS 'for tests: count, sum and hash of columns, from what is held and from the table';
REVOKE ALL ON FUNCTION gpusort_columns_check(regclass, text[]) FROM PUBLIC;
CREATE FUNCTION gpusort_columns_hash(VARIADIC "any") RETURNS bigint LANGUAGE c IMMUTABLE PARALLEL SAFE AS 'MODULE_PATHNAME';
COMMENT ON FUNCTION gpusort_columns_hash("any") IS 'for tests: hash of a row of columns, as gpusort_columns_check has it';
REVOKE ALL ON FUNCTION gpusort_columns_hash("any") FROM PUBLIC;

-- Aggregates that only raise an error, whose hint says what to call instead.  A fraction of unknown type is still one number: of the
-- value's types, double precision is preferred to anyelement.
CREATE FUNCTION gpusort_rle_enum(gpu_rle_text[], anyenum) RETURNS gpu_rle_text[]
LANGUAGE c IMMUTABLE PARALLEL RESTRICTED AS 'MODULE_PATHNAME';
CREATE FUNCTION gpusort_rle_enum(gpu_rle_text[], anyenum, anycompatible) RETURNS gpu_rle_text[]
LANGUAGE c IMMUTABLE PARALLEL RESTRICTED AS 'MODULE_PATHNAME';
CREATE AGGREGATE gpu_rle(value anyenum) (sfunc = gpusort_rle_enum, stype = gpu_rle_text[], parallel = restricted);
COMMENT ON AGGREGATE gpu_rle(anyenum) IS 'an error: enums have to be cast';
CREATE AGGREGATE gpu_rle(value anyenum, sort_key anycompatible) (sfunc = gpusort_rle_enum, stype = gpu_rle_text[], parallel = restricted);
COMMENT ON AGGREGATE gpu_rle(anyenum, anycompatible) IS 'an error: enums have to be cast';
CREATE FUNCTION gpusort_collect_fractions(double precision[], anyelement, double precision[]) RETURNS double precision[]
LANGUAGE c IMMUTABLE PARALLEL RESTRICTED AS 'MODULE_PATHNAME';
CREATE AGGREGATE gpu_percentile_cont(value anyelement, fractions double precision[]) (
	sfunc = gpusort_collect_fractions, stype = double precision[], parallel = restricted);
COMMENT ON AGGREGATE gpu_percentile_cont(anyelement, double precision[]) IS 'an error: several fractions need gpu_percentile_cont_within';
