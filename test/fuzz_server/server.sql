-- The types whose values the inputs are, and the functions of the module.
CREATE SCHEMA keys;
CREATE TYPE keys.plain_enum AS ENUM ('a', 'b', 'c', 'd', 'e');
CREATE TYPE keys.grown_enum AS ENUM ('c', 'g', 'm');
ALTER TYPE keys.grown_enum ADD VALUE 'b' BEFORE 'c';
ALTER TYPE keys.grown_enum ADD VALUE 'd' AFTER 'c';
ALTER TYPE keys.grown_enum ADD VALUE 'h' BEFORE 'm';
ALTER TYPE keys.grown_enum ADD VALUE 'a' BEFORE 'b';
CREATE TYPE keys.pair AS (a integer, b text);
CREATE TYPE keys.nested AS (a keys.pair, b numeric[], c bytea);
CREATE TYPE keys.dropped AS (a integer, b numeric, c name, d boolean);
ALTER TYPE keys.dropped DROP ATTRIBUTE b;
CREATE TYPE keys.textrange AS RANGE (subtype = text, collation = "C");
-- collations that the machine has; the others' inputs are of "C" then
DO $$
DECLARE
	name text;
BEGIN
	FOREACH name IN ARRAY '{en_US,cs_CZ,da_DK}'::text[] LOOP
		EXECUTE format('CREATE COLLATION keys.%I (provider = libc, locale = %L)', name, name || '.UTF-8');
	END LOOP;
EXCEPTION WHEN OTHERS THEN
	RAISE NOTICE 'no libc collations: %', SQLERRM;
END $$;
DO $$
BEGIN
	CREATE COLLATION keys.icu (provider = icu, locale = 'und');
	CREATE COLLATION keys.icu_da (provider = icu, locale = 'da');
EXCEPTION WHEN OTHERS THEN
	RAISE NOTICE 'no ICU collations: %', SQLERRM;
END $$;
CREATE FUNCTION fuzz_replayed(program text, directory text) RETURNS integer LANGUAGE c STRICT AS 'fuzz_server';
CREATE FUNCTION fuzz_searched(program text, arguments text[]) RETURNS integer LANGUAGE c STRICT AS 'fuzz_server';
