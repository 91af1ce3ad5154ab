-- complain if the script is sourced in psql, rather than by CREATE EXTENSION
\echo Use "CREATE EXTENSION gpusort" to load this file. \quit

LOAD 'MODULE_PATHNAME';

-- CREATE EXTENSION loads the library for its own session only
DO $$
BEGIN
	RAISE NOTICE 'gpusort is active in this session only'
		USING HINT = format('For all later sessions of this database: ALTER DATABASE %I SET session_preload_libraries = ''gpusort''; for the whole server: shared_preload_libraries.', current_database());
END
$$;
