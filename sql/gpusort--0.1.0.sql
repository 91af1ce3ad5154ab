-- complain if the script is sourced in psql, rather than by CREATE EXTENSION
\echo Use "CREATE EXTENSION gpusort" to load this file. \quit

LOAD 'MODULE_PATHNAME';

-- What sorts were done, and by what; a line with a fallback counts those that left the GPU service, for that reason.
CREATE FUNCTION gpusort_stat_get(OUT op text, OUT engine text, OUT fallback text, OUT jobs bigint, OUT rows bigint,
								 OUT bytes bigint, OUT device_ms double precision)
RETURNS SETOF record LANGUAGE c STRICT VOLATILE PARALLEL RESTRICTED AS 'MODULE_PATHNAME';
CREATE VIEW gpusort_stat AS SELECT * FROM gpusort_stat_get();

-- The GPUs that sorts run on, and how their service fares.
CREATE FUNCTION gpusort_devices_get(OUT device integer, OUT name text, OUT memory_bytes bigint, OUT limit_bytes bigint,
									OUT reserved_bytes bigint, OUT jobs integer, OUT jobs_done bigint, OUT service text,
									OUT since timestamptz, OUT restarts integer, OUT pid integer, OUT pinned_bytes bigint)
RETURNS SETOF record LANGUAGE c STRICT VOLATILE PARALLEL RESTRICTED AS 'MODULE_PATHNAME';
CREATE VIEW gpusort_devices AS SELECT * FROM gpusort_devices_get();

GRANT SELECT ON gpusort_stat, gpusort_devices TO PUBLIC;

CREATE FUNCTION gpusort_stat_reset() RETURNS void LANGUAGE c STRICT VOLATILE PARALLEL UNSAFE AS 'MODULE_PATHNAME';
REVOKE EXECUTE ON FUNCTION gpusort_stat_reset() FROM PUBLIC;

-- The library is loaded for this session only, unless a setting loads it for all: say which line does that.
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
