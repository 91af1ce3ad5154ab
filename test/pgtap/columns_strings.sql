-- Resident columns of strings: codes of dictionaries in filters, groups and distinct counts, compared with PostgreSQL's
-- rows.  Strings are of several types and collations, empty, long, out of line, of several bytes a character, NULL, and
-- unseen: in constants, in changed pages, in rows of the same transaction.
\ir setup.psql
CREATE EXTENSION IF NOT EXISTS gpusort;
SELECT no_plan();
CREATE SCHEMA columns_strings;
SET search_path = columns_strings, public;

CREATE COLLATION german (provider = icu, locale = 'de-u-co-phonebk');
CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE DOMAIN code AS char(4);
CREATE TABLE t (id int, s text, v varchar(30), c char(6), n name, x text COLLATE "C", g text COLLATE german, l text COLLATE loose, d code, big text, few text);
-- words: a list of odd ones, and numbers
\ir columns_words.psql
INSERT INTO t SELECT i, word(i), left(word(i / 3) || i % 17, 30), left(word(i / 7), 6), coalesce(word(i / 2), '') || i % 5, word(i * 7), word(i), word(i), left(word(i / 11), 4),
	CASE i % 100 WHEN 1 THEN (SELECT string_agg(md5((x + i % 4)::text), '') FROM generate_series(1, 200) AS x) WHEN 2 THEN repeat(word(i / 100) || 'long', 2500) ELSE left(word(i), 3) END,
	'w' || i % 300 FROM generate_series(1, 12000) AS i;
VACUUM ANALYZE t;
SELECT gpusort_columns_add('t');
\ir columns_queries.psql

-- groups, distinct values and counts of each type
SELECT answered(format('SELECT %s, count(*), sum(id) FROM t GROUP BY %1$s', k)) FROM unnest('{s,v,c,n,x,g,d,few}'::text[]) AS k;
SELECT answered('SELECT md5(big), length(big), c FROM (SELECT big, count(*) AS c FROM t GROUP BY big) AS b');
SELECT answered(format('SELECT DISTINCT %s FROM t', k)) FROM unnest('{s,v,c,n,x,g,d}'::text[]) AS k;
SELECT answered(format('SELECT count(%s), count(DISTINCT %1$s), gpu_count_distinct(%1$s) FROM t', k)) FROM unnest('{s,v,c,x,g,big}'::text[]) AS k;
SELECT answered(q) FROM unnest(ARRAY['SELECT s, c, count(*) FROM t GROUP BY s, c', 'SELECT s, count(*) FROM t GROUP BY s HAVING count(*) > 1200',
	'SELECT few, count(*) AS k FROM t WHERE few < ''w2'' GROUP BY few ORDER BY k DESC, few LIMIT 3']) AS q;
SELECT answered('SELECT ''['' || c || '']'', octet_length(c), octet_length(d) FROM (SELECT c, d FROM t GROUP BY c, d) AS q');
-- equal strings may have other bytes
SELECT left_alone(q) FROM unnest(ARRAY['SELECT l, count(*) FROM t GROUP BY l', 'SELECT DISTINCT l FROM t', 'SELECT count(DISTINCT l) FROM t', 'SELECT count(DISTINCT s COLLATE loose) FROM t', 'SELECT count(*) FROM (SELECT row_number() OVER (PARTITION BY s COLLATE loose ORDER BY id) AS r FROM t) AS q WHERE r = 1', 'SELECT id FROM t WHERE l IN (''a'', ''b'')']) AS q;

-- conditions
CREATE TABLE conditions (condition text);
INSERT INTO conditions SELECT format(q, k) FROM unnest('{s,v,x,g}'::text[]) AS k, unnest(ARRAY['%s IS NULL', '%s IS NOT NULL', '%s = ''a''', '%s <> ''a''', '%s = ''''', '%s = ''unseen''', '%s <> ''unseen''', '%s IN (''a'', ''ä'', ''unseen'', NULL)', '%s = ANY (''{}''::text[])',
	'%s = (SELECT NULL::text)', '%s < ''b''', '%s >= ''ae''', '''b'' < %s', '%s BETWEEN ''a'' AND ''c''', '%s LIKE ''a%%''', '%s NOT LIKE ''%%a%%''', '%s LIKE ''_''', '%s LIKE ''%%\%%''', '%s ILIKE ''stra%%''', '%s ~ ''^[ab]''', '%s !~ ''a''', '%s ~* ''ß''', '%s !~* ''A''', '%s ^@ ''a''',
	'%s LIKE ''''', '%s LIKE (SELECT NULL::text)', '%s = ''a'' AND %1$s LIKE ''a%%''', '%s > ''a'' AND %1$s ~ ''b'' AND %1$s <> ''b''', '%s < ''b'' COLLATE "C"', '%s LIKE ''%%'' AND id > 100']) AS q;
INSERT INTO conditions VALUES ('c = ''a'''), ('c = ''a   '''), ('c = ''b '''), ('c <> ''a'''), ('c IN (''a'', ''b  '')'), ('c LIKE ''a'''), ('c LIKE ''a     '''), ('c < ''b'''), ('c ~ ''^a *$'''), ('c = '''''), ('d = ''a'''), ('d > ''a'''), ('n = ''a1'''), ('n = ''a1''::text'),
	('n <> ''a1'''), ('n < ''b'''), ('n LIKE ''a%'''), ('n ~ ''1$'''), ('n IN (''a1'', ''b2'')'), ('l = ''A'''), ('l <> ''a'''), ('l < ''B'''), ('l >= ''a'''), ('big LIKE ''%long'''), ('big > ''m'''), ('few < ''w2'''), ('few ~ ''[13]$'''), ('few > ''w1'' AND few < ''w2'' AND s = ''a''');
SELECT answered('SELECT count(*), sum(id), count(DISTINCT s) FROM t WHERE ' || condition) FROM conditions;
SELECT answered('SELECT id FROM t WHERE ' || condition) FROM conditions WHERE condition !~ 'NOT LIKE|IS NOT NULL|<>|LIKE ''%''';
SELECT answered('SELECT few, count(*) FILTER (WHERE s LIKE ''a%''), count(*) FILTER (WHERE v > ''b''), sum(id) FILTER (WHERE c = ''a'') FROM t WHERE x ~ ''a|b'' GROUP BY few');
SELECT left_alone('SELECT count(*) FROM t WHERE ' || c) FROM unnest(ARRAY['s || ''x'' = ''ax''', 's = v', 's = c', '''abc'' LIKE s', 's LIKE ''a%'' OR s = ''b''', 's NOT IN (''a'', ''b'')']) AS c;
-- functions of strings before and behind a list of many constants that the dictionary lacks
SELECT answered(format('SELECT count(*), sum(id) FROM t WHERE few LIKE ''w%%%%'' AND few = ANY (ARRAY(SELECT ''unseen'' || i FROM generate_series(1, %s) AS i) || ''w77''::text) AND few LIKE ''%%%%7'' AND s = ''a''', n)) FROM unnest('{60,2000}'::int[]) AS n;
-- bytes at every place of shorter and longer strings, beside others that begin or end as they do, and what only looks like such a pattern
CREATE TABLE parts (id serial, s text, v varchar(80) COLLATE german, l text COLLATE loose);
INSERT INTO parts (s, v, l) SELECT x, x, x FROM unnest(ARRAY['g', 'gg', 'gag', '.google.', 'äö', 'ä', '日本語', 'aXbXa', 'G']) AS part, unnest(ARRAY['.', 'g', 'ag', 'e.goog', 'ö', '%']) AS filler, generate_series(0, 34, 2) AS before, generate_series(0, 21, 3) AS after, generate_series(1, 3),
	LATERAL (SELECT left(repeat(filler, 40), before) || part || left(repeat(filler, 40), after) AS x) AS q;
INSERT INTO parts (s) VALUES (''), (NULL), ('ga'), ('.google'), ('google.');
VACUUM ANALYZE parts;
SELECT gpusort_columns_add('parts');
SELECT answered(format('SELECT count(*), sum(id), count(DISTINCT s), sum(length(s)) FROM parts WHERE %s %sLIKE %L', c, negated, '%' || part || '%')) FROM unnest('{s,v}'::text[]) AS c, unnest('{"","NOT "}'::text[]) AS negated,
	unnest(ARRAY['g', 'gg', 'gag', '.google.', 'äö', 'ö', '日', '語', 'aXbXa', 'XbX', '', '%', 'g%g', '_', 'g_g', '\g', '\%', '\_', 'e.google.e', repeat('g', 30), repeat('g', 90)]) AS part;
CREATE FUNCTION outcome(query text, setting text) RETURNS text LANGUAGE plpgsql AS $$ BEGIN RETURN rows_of(query, setting); EXCEPTION WHEN feature_not_supported THEN RETURN SQLERRM; END $$;
SELECT is(outcome(q, 'on'), outcome(q, 'off'), q) FROM unnest(ARRAY['SELECT count(*) FROM parts WHERE l LIKE ''%g%''', 'SELECT count(*) FROM parts WHERE s LIKE ''%g%'' COLLATE loose', 'SELECT count(*) FROM parts WHERE s LIKE ''%g\''']) AS q;
-- an error is PostgreSQL's to raise, if it does
SELECT is(rows_of('SELECT count(*) FROM t WHERE s LIKE ''a\''', 'on'), rows_of('SELECT count(*) FROM t WHERE s LIKE ''a\''', 'off'), 'a pattern that is none');
SELECT is(rows_of('SELECT count(*) FROM t WHERE id < 0 AND s ~ ''(''', 'on'), rows_of('SELECT count(*) FROM t WHERE id < 0 AND s ~ ''(''', 'off'), 'an expression that is none, and no row');

-- unseen strings in pages of this transaction, some of them constants, some out of line
CREATE FUNCTION unseen() RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	q text;
BEGIN
	INSERT INTO t SELECT i, 'unseen' || nullif(i % 3, 0), 'a', 'neu', 'new', 'unseen', 'unseen', 'UNSEEN', 'n', repeat(i % 2 || 'x', 40000), 'unseen' FROM generate_series(1, 20) AS i;
	UPDATE t SET s = 'changed', few = 'w7' WHERE id % 1000 = 0;
	FOREACH q IN ARRAY ARRAY['SELECT s, count(*) FROM t GROUP BY s', 'SELECT s, few, count(*) FROM t WHERE s = ''unseen1'' OR false GROUP BY s, few', 'SELECT id FROM t WHERE s IN (''unseen1'', ''changed'', ''a'')', 'SELECT count(*) FROM t WHERE s <> ''unseen2''',
		'SELECT x, count(DISTINCT s) FROM t WHERE s LIKE ''un%'' GROUP BY x', 'SELECT count(*), count(DISTINCT big) FROM t WHERE big > ''0''', 'SELECT length(big), count(*) FROM (SELECT big, count(*) FROM t GROUP BY big) AS q GROUP BY 1', 'SELECT id FROM t WHERE c = ''neu''',
		'SELECT few, count(*) FILTER (WHERE s ~ ''ed$''), count(*) FILTER (WHERE g = ''unseen'') FROM t GROUP BY few'] LOOP
		RETURN QUERY SELECT unseen_same(q);
	END LOOP;
END $$;
BEGIN;
SELECT unseen();
ROLLBACK;
SELECT unseen();
-- when they are held
SELECT answered(q) FROM unnest(ARRAY['SELECT s, count(*) FROM t GROUP BY s', 'SELECT id FROM t WHERE s IN (''unseen1'', ''changed'', ''a'')', 'SELECT count(*) FROM t WHERE s ~ ''ed$''']) AS q;
-- widths of codes, and columns that are not held
CREATE TABLE wide (id int, u text, h text, m text);
ALTER TABLE wide SET (autovacuum_enabled = off);
INSERT INTO wide SELECT i, 'u' || i, 'h' || i % 100000, 'm' || i % 50 FROM generate_series(1, 250000) AS i;
VACUUM wide;
SELECT gpusort_columns_add('wide');
SELECT answered('SELECT count(*), count(DISTINCT h), count(DISTINCT m) FROM wide');
SELECT answered('SELECT count(*) FROM wide WHERE h LIKE ''%77%'' AND m > ''m2''');
SELECT answered('SELECT h, count(*) FROM wide WHERE m = ''m7'' GROUP BY h ORDER BY 2 DESC LIMIT 0');
SELECT is(string_agg(format('%s: %s, %s, %s', "column", encoding, distinct_values, state), '; ' ORDER BY "column"),
	'h: dictionary, codes of 32 bits, 100000, ready; id: as is, , ready; m: dictionary, codes of 16 bits, 50, ready; u: , , not held', 'widths of codes, and a column with too many strings')
	FROM gpusort_columns WHERE rel = 'wide'::regclass;
SELECT is(last_reason, 'it has different values in more than half of the rows', 'the reason') FROM gpusort_columns WHERE rel = 'wide'::regclass AND "column" = 'u';
SELECT gpusort_columns_remove('wide'), gpusort_columns_remove('t');
DROP SCHEMA columns_strings CASCADE;
SELECT * FROM finish();
