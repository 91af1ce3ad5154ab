-- Text in the order of languages, those of the C library and of ICU: primary weights, and what they do not tell apart.
\ir setup.psql
SELECT plan(18 * 4 + 2 * 8 + 3 * 4 + 6 * 2 + 6);
SET gpusort.verify = full;

-- words of many scripts, and what is known to be difficult; the first are many and different, so that dictionaries are given up
CREATE TEMP TABLE w (id serial, t text);
INSERT INTO w (t) SELECT md5(i::text) FROM generate_series(1, 600) AS i;
INSERT INTO w (t) SELECT pg_temp.word(characters, i * 16 + place::int, 10)
FROM unnest(ARRAY['abcABC', 'ab1-./ _+''', 'aàáâäAÄeéèêEÉoöÖuüßs', 'абвгАБВГёЁжщ', '中文字国人名的一', 'chdCHDzs', 'dzscygnltDZSCYG', 'aAåÅæøoØ',
				  'iıİIşsS', 'กเาแขคใไ', U&'ae\0301\0308\0327\0323o', 'かガきカｶ中ばぱはヽー', 'cotéôCOTÉe', U&'a\0001\00AD\200D\FFFDb']) WITH ORDINALITY AS x (characters, place),
	generate_series(1, 250) AS i;
INSERT INTO w (t) VALUES
	-- the C library's own keys contradict its comparison
	('11a'), ('1-1a'), ('1-a'), ('--1a'), ('-a1a'), ('a1-a'), ('1 1a'), ('11-a'), ('a-1a'),
	-- levels below the first
	('cote'), ('coté'), ('côte'), ('côté'), ('resume'), ('Resume'), ('résumé'), ('RESUME'), ('co-op'), ('coop'), ('co op'), ('CO-OP'),
	('ss'), ('ß'), ('SS'), ('sz'), ('straße'), ('strasse'), ('Strasse'), ('STRASSE'),
	-- contractions, expansions, and letters of their own
	('ch'), ('cz'), ('h'), ('Ch'), ('CH'), ('cH'), ('c-h'), ('chc'), ('hch'), ('aa'), ('Aa'), ('aA'), ('å'), ('z'), ('aab'), ('ab'), ('az'),
	('dz'), ('dzs'), ('ddz'), ('ddzs'), ('cs'), ('ccs'), ('sz'), ('ssz'), ('ty'), ('tty'), ('ij'), ('ll'), ('l'), ('lz'), ('i'), ('I'), ('ı'), ('İ'),
	('æ'), ('ae'), ('ø'), ('oe'), ('œ'), ('ﬁ'), ('fi'), ('ǆ'), ('dž'),
	-- combining marks, composed and not, in either order
	('é'), (U&'e\0301'), (U&'a\0301\0323'), (U&'a\0323\0301'), (U&'ạ\0301'), (U&'\0301'), (U&'-\0301'), (U&'\0301a'),
	('か'), ('が'), (U&'か\3099'), ('ｶ'), ('カ'), ('ー'), ('เก'), ('กเ'), ('แ'),
	(''), (' '), ('  '), ('-'), ('--'), ('_'), ('.'), (chr(1)), (chr(127)), ('a'), ('A'), ('a '), (' a'), ('1'), ('9'), ('10'), ('²'), ('½'), (NULL), (NULL);
-- product codes: many are equal but for punctuation
INSERT INTO w (t) SELECT (ARRAY['', '-', '/', ' '])[1 + i % 4] || i % 6 || (ARRAY['', '-', '.', '/'])[1 + i / 3 % 4] || i / 7 % 5 || (ARRAY['A', 'a', '-a', '/A'])[1 + i / 5 % 4]
FROM generate_series(1, 800) AS i;
INSERT INTO w (t) SELECT t FROM w WHERE id % 5 = 0;
INSERT INTO w (t) SELECT t || t FROM w WHERE id % 4 = 0;

-- Four tests of a collation: that primary weights serve, the order in both directions, and with another key behind it.
CREATE FUNCTION pg_temp.check_language(name text, options text, rows text DEFAULT 'w') RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	query text := format('SELECT id FROM %s ORDER BY t COLLATE pg_temp.%I', rows, name);
BEGIN
	IF NOT pg_temp.make_collation(name, options) THEN
		RETURN NEXT skip('no collation ' || name, 4);
		RETURN;
	END IF;
	RETURN NEXT pg_temp.sorted_as(query, 'primary weights', name);
	RETURN NEXT pg_temp.same_ids(query, query || ', ctid', name);
	RETURN NEXT pg_temp.same_ids(query || ' DESC NULLS LAST', query || ' DESC NULLS LAST, ctid', name || ' DESC NULLS LAST');
	query := format('SELECT id FROM %s ORDER BY left(t, 2) COLLATE pg_temp.%I, t COLLATE pg_temp.%2$I DESC, id %% 3', rows, name);
	RETURN NEXT pg_temp.same_ids(query, query || ', ctid', name || ', several keys');
END $$;
SELECT pg_temp.check_language(locale, format('provider = libc, locale = ''%s.UTF-8''', locale))
FROM unnest('{en_US,cs_CZ,da_DK,hu_HU,tr_TR,fr_CA,ja_JP,th_TH}'::text[]) AS locale;
SELECT pg_temp.check_language(locale, format('provider = icu, locale = ''%s''', locale))
FROM unnest('{en-US,cs,da,hu,tr,fr-CA,ja,th,de-u-co-phonebk,und}'::text[]) AS locale;

-- strings of one byte and of 100000, that differ in the last one only, that begin with a thousand characters which have no primary weight,
-- and enough others that no dictionary holds them
CREATE TEMP TABLE long (id serial, t text);
INSERT INTO long (t) SELECT i || 'é' FROM generate_series(1, 400) AS i;
INSERT INTO long (t) SELECT chr(i) FROM generate_series(1, 127) AS i;
INSERT INTO long (t) SELECT start || repeat(filling, i) || x FROM unnest(ARRAY['', 'é', '中']) AS start, unnest(ARRAY['-', 'ab', 'é', '中', 'x-']) AS filling,
	unnest(ARRAY[10, 2000]) AS i, unnest(ARRAY['', 'a', 'B', 'é', 'z']) AS x;
INSERT INTO long (t) SELECT repeat(filling, 100000 / octet_length(filling)) || x FROM unnest(ARRAY['words and ', 'ä中']) AS filling,
	unnest(ARRAY['', 'b', 'a', 'B']) AS x;
SELECT pg_temp.check_language('long libc', 'provider = libc, locale = ''en_US.UTF-8''', 'long');
SELECT pg_temp.check_language('long shifted', 'provider = icu, locale = ''en-u-ka-shifted''', 'long');
-- strings that are stored compressed and the same ones as they are: keys are made of their first bytes, which end at any character, and where
-- primary weights ignore these, of all
CREATE TEMP TABLE packed (id serial, t text);
INSERT INTO packed (t) SELECT 'packed, ' || md5((i / 2)::text) || repeat(filling, n / octet_length(filling)) || repeat('x', i % 3) || CASE i % 2 WHEN 0 THEN ' end' ELSE ' End' END
FROM unnest(ARRAY['abc ', 'é', '中', '-', 'e']) AS filling, unnest(ARRAY[100, 270, 1080, 1120, 1160, 3000]) AS n, generate_series(1, 24) AS i;
CREATE TEMP TABLE plain_copy (LIKE packed);
ALTER TABLE plain_copy ALTER t SET STORAGE EXTERNAL;
INSERT INTO plain_copy SELECT id + 10000, t || '' FROM packed WHERE octet_length(t) < 1900;
INSERT INTO packed SELECT * FROM plain_copy;
SELECT pg_temp.check_language('packed libc', 'provider = libc, locale = ''en_US.UTF-8''', 'packed');
SELECT pg_temp.check_language('packed icu', 'provider = icu, locale = ''de''', 'packed');
SELECT pg_temp.check_language('packed shifted', 'provider = icu, locale = ''en-u-ka-shifted''', 'packed');

-- Long texts go to PostgreSQL's sort where it sorts by the first characters: those out of line, and those whose keys only ICU can make; but not where
-- few are long, where they begin alike, or where the key is another sort's second one.
CREATE TEMP TABLE texts (id integer, ascii text, accents text, alike text, few text, out_of_line text);
ALTER TABLE texts ALTER out_of_line SET STORAGE EXTERNAL;
INSERT INTO texts SELECT i, h || repeat('words ', 400), h || repeat('wörter ', 400), 'they begin alike, ' || h || repeat('wörter ', 400), CASE WHEN i % 10 = 9 THEN h || repeat('wörter ', 40) ELSE h || 'é' END,
	h || repeat(h, 80) FROM (SELECT i, md5(i::text) AS h FROM generate_series(1, 2000) AS i) AS x;
ANALYZE texts;
SELECT unnest(ARRAY[matches(pg_temp.plan_of(query, 'ANALYZE, COSTS OFF'), wanted, key || ': ' || wanted), pg_temp.same_ids(query, query || ', ctid', key)])
FROM (VALUES ('accents COLLATE "und-x-icu"', 'Fallback: long text that PostgreSQL sorts by its first characters'), ('out_of_line COLLATE "und-x-icu" DESC', 'Fallback: long text that PostgreSQL sorts by its first characters'),
	('ascii COLLATE "und-x-icu"', 'primary weights'), ('alike COLLATE "und-x-icu"', 'primary weights'), ('few COLLATE "und-x-icu"', 'primary weights'), ('id % 2, accents COLLATE "und-x-icu"', 'Key Forms')) AS x (key, wanted),
	format('SELECT id FROM texts ORDER BY %s', key) AS query;
SET gpusort.work_mem = '1MB';
SELECT pg_temp.check_language('spilled libc', 'provider = libc, locale = ''en_US.UTF-8''', 'w');
SELECT pg_temp.check_language('spilled icu', 'provider = icu, locale = ''de''', 'w');
SET gpusort.work_mem = '256MB';

-- other types of strings
CREATE TEMP TABLE strings AS SELECT id, left(t, 20)::char(20) AS c, left(t, 60)::varchar(60) AS v, t::name AS n FROM w WHERE t NOT LIKE '%' || chr(1) || '%';
SELECT pg_temp.sorted_as(query, 'primary weights', query) FROM unnest(ARRAY['c', 'v', 'n']) AS key,
	format('SELECT id FROM strings ORDER BY %s COLLATE "de-x-icu" DESC', key) AS query;
SELECT pg_temp.same_ids(query, query || ', ctid', query) FROM unnest(ARRAY['c', 'v', 'n']) AS key,
	format('SELECT id FROM strings ORDER BY %s COLLATE "de-x-icu" DESC', key) AS query;

SELECT * FROM finish();
