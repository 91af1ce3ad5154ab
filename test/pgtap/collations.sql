-- Collations: gpusort sorts under each, those in byte order by their bytes, the others by keys that have no exact encoding.
\ir setup.psql
SELECT plan(2 * 10 + 3);
SET gpusort.verify = full;

CREATE TEMP TABLE c (id serial, t text);
INSERT INTO c (t) SELECT repeat(chr(33 + i * 31 % 90), i % 4) || substr(md5(i::text), 1, i % 6) FROM generate_series(1, 2000) AS i;
SELECT current_setting('server_encoding') = 'UTF8' AS utf8 \gset
\if :utf8
-- code points whose order differs in UTF-16, and on either side of every length of UTF-8
INSERT INTO c (t) SELECT chr(point) || suffix FROM unnest(ARRAY[1, 127, 128, 2047, 2048, 55295, 57344, 65533, 65535, 65536, 128512, 1114111]) AS point,
	unnest(ARRAY['', 'a', chr(1), chr(65533)]) AS suffix;
\endif

-- Runs two tests for a collation if the server has it: is it in that form, and the same order?
CREATE FUNCTION pg_temp.check_collation(wanted text, exact boolean) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	query text;
BEGIN
	SELECT format('SELECT id FROM c ORDER BY t COLLATE %I.%I', nspname, collname) INTO query
	FROM pg_collation JOIN pg_namespace ON pg_namespace.oid = collnamespace
	WHERE collname = wanted AND collencoding IN (-1, pg_char_to_encoding(getdatabaseencoding()))
		AND (collprovider <> 'i' OR getdatabaseencoding() <> 'SQL_ASCII');
	IF NOT FOUND THEN
		RETURN NEXT skip('the server has no collation ' || wanted, 2);
		RETURN;
	END IF;
	IF exact THEN
		RETURN NEXT doesnt_match(pg_temp.plan_of(query, 'ANALYZE, COSTS OFF'), 'Key Forms|Engine: PostgreSQL', wanted || ' is in byte order');
	ELSE
		RETURN NEXT pg_temp.sorted_as(query, '(dictionary|primary weights)', wanted);
	END IF;
	RETURN NEXT pg_temp.same_ids(query || ', id', query || ', id', wanted);
END $$;

SELECT pg_temp.make_collation('english', 'provider = libc, locale = ''en_US.UTF-8''') \g /dev/null
SELECT pg_temp.check_collation('C', true);
SELECT pg_temp.check_collation('ucs_basic', true);
SELECT pg_temp.check_collation('C.utf8', true);
SELECT pg_temp.check_collation('pg_c_utf8', true);
SELECT pg_temp.check_collation('pg_unicode_fast', true);
SELECT pg_temp.check_collation('en-x-icu', false);
SELECT pg_temp.check_collation('und-x-icu', false);
SELECT pg_temp.check_collation('english', false);

-- it is the order that counts, not the classes of characters
SELECT pg_temp.make_collation('english_order', 'provider = libc, lc_collate = ''en_US.UTF-8'', lc_ctype = ''C''') \g /dev/null
SELECT pg_temp.make_collation('english_classes', 'provider = libc, lc_collate = ''C'', lc_ctype = ''en_US.UTF-8''') \g /dev/null
SELECT pg_temp.check_collation('english_order', false);
SELECT pg_temp.check_collation('english_classes', true);

-- the default collation is the database's
SELECT datcollate IN ('C', 'POSIX', 'C.UTF-8', 'C.utf8') AND datlocprovider <> 'i' AS plain FROM pg_database WHERE datname = current_database() \gset
SELECT matches(pg_temp.plan_of('SELECT id FROM c ORDER BY t'), 'GpuSort', 'the default collation is sorted by gpusort');
SELECT is(pg_temp.plan_of('SELECT id FROM c ORDER BY t', 'ANALYZE, COSTS OFF') ~ 'Key Forms', NOT :'plain'::boolean, 'in its form');
SELECT pg_temp.same_ids('SELECT id FROM c ORDER BY t DESC, id', 'SELECT id FROM c ORDER BY t DESC, id', 'the default collation');

SELECT * FROM finish();
