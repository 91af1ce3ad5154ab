-- complain if the script is sourced in psql, rather than by CREATE EXTENSION
\echo Use "CREATE EXTENSION gpusort" to load this file. \quit

LOAD 'MODULE_PATHNAME';

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
