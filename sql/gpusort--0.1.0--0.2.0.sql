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
