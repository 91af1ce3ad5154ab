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
-- another class for types that have abbreviated keys, which are what it has
SELECT format('CREATE OPERATOR keys.<# (LEFTARG = %1$s, RIGHTARG = %1$s, FUNCTION = %2$slt, COMMUTATOR = OPERATOR(keys.>#));
	CREATE OPERATOR keys.># (LEFTARG = %1$s, RIGHTARG = %1$s, FUNCTION = %2$sgt, COMMUTATOR = OPERATOR(keys.<#));
	CREATE OPERATOR keys.=# (LEFTARG = %1$s, RIGHTARG = %1$s, FUNCTION = %2$seq, COMMUTATOR = OPERATOR(keys.=#), MERGES);
	CREATE OPERATOR CLASS keys.other_%1$s_ops FOR TYPE %1$s USING btree AS OPERATOR 1 keys.<#, OPERATOR 3 keys.=#,
		OPERATOR 5 keys.>#, FUNCTION 1 %2$scmp(%1$s, %1$s), FUNCTION 2 %3$s(internal);', type, prefix, support)
FROM (VALUES ('uuid', 'uuid_', 'uuid_sortsupport'), ('inet', 'network_', 'network_sortsupport'),
	('bytea', 'bytea', 'bytea_sortsupport')) AS x (type, prefix, support) \gexec
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
