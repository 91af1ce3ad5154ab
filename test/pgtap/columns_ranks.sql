-- The order of strings in resident columns: min, max, percentile_disc, mode, groups and pages by ranks of a collation, compared
-- with PostgreSQL's rows.  Strings are of several types and collations, NULL, and unseen: in changed pages, in rows of the same
-- transaction, in constants, and since ranks were made.
\ir setup.psql
CREATE EXTENSION IF NOT EXISTS gpusort;
SELECT no_plan();
CREATE SCHEMA columns_ranks;
SET search_path = columns_ranks, public;

CREATE COLLATION german (provider = icu, locale = 'de-u-co-phonebk');
CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE DOMAIN code AS char(4);
CREATE TABLE t (id int, k int, s text, v varchar(30), c char(6), n name, x text COLLATE "C", g text COLLATE german, e text COLLATE "en-x-icu", l text COLLATE loose, d code, few text);
\ir columns_words.psql
INSERT INTO t SELECT i, i % 37, word(i) || i % 7, left(word(i / 3) || i % 17, 30), left(word(i / 7), 6), coalesce(word(i / 2), '') || i % 5, word(i * 7) || i % 3, word(i) || i % 11, word(i / 2) || i % 13, word(i), left(word(i / 11), 4), 'w' || i % 300
	FROM generate_series(1, 12000) AS i;
VACUUM ANALYZE t;
SELECT gpusort_columns_add('t');
\ir columns_queries.psql

CREATE TABLE questions (q text);
INSERT INTO questions SELECT format(q, c) FROM unnest('{s,v,c,x,g,e,d,few}'::text[]) AS c, unnest(ARRAY['SELECT min(%s), max(%1$s), count(%1$s), count(*) FROM t', 'SELECT min(%s) FROM t WHERE id < 0', 'SELECT k, min(%s), max(%1$s) FILTER (WHERE id > 300) FROM t WHERE id <> 7 GROUP BY k',
	'SELECT %s, count(*) FROM t GROUP BY %1$s ORDER BY %1$s DESC LIMIT 5', 'SELECT %s FROM t WHERE %1$s <> ''a1'' ORDER BY %1$s LIMIT 10', 'SELECT k, %s FROM t ORDER BY k DESC, %1$s NULLS FIRST, id LIMIT 9 OFFSET 400']) AS q;
INSERT INTO questions SELECT format(q, c) FROM unnest('{s,v,x,g,e,few}'::text[]) AS c, unnest(ARRAY['SELECT percentile_disc(0.3) WITHIN GROUP (ORDER BY %s), mode() WITHIN GROUP (ORDER BY %1$s) FROM t', 'SELECT k, percentile_disc(ARRAY[0, 0.5, NULL, 1]) WITHIN GROUP (ORDER BY %s) FROM t GROUP BY k',
	'SELECT min(%s) FROM t WHERE %1$s LIKE ''a%%'' AND %1$s <> ''a2''', 'SELECT max(%s) FROM t WHERE %1$s = ANY (''{a1,a3,none}'')', 'SELECT max(%s) FROM t WHERE %1$s = ''a1''']) AS q;
INSERT INTO questions VALUES ('SELECT n FROM t ORDER BY n LIMIT 7'), ('SELECT n, count(*) FROM t GROUP BY n ORDER BY n LIMIT 7'), ('SELECT k, min(s) AS m FROM t GROUP BY k ORDER BY m DESC, k LIMIT 4'), ('SELECT DISTINCT s FROM t ORDER BY s LIMIT 11'),
	('SELECT few, min(s), min(x), count(DISTINCT g) FROM t WHERE v LIKE ''%a%'' AND few <> ''w7'' GROUP BY few ORDER BY 4 DESC, few LIMIT 10'), ('SELECT octet_length(min(c)), ''['' || max(c) || '']'' FROM t');
SELECT answered(q) FROM questions;
SELECT answered(q) FROM unnest(ARRAY['SELECT min(s COLLATE "C"), max(s COLLATE "C") FROM t', 'SELECT k, min(x COLLATE german) FROM t GROUP BY k', 'SELECT s, count(*) FROM t GROUP BY s ORDER BY s COLLATE "C" LIMIT 3']) AS q;
-- two orders, one by which strings of other bytes may be equal, and what is not the order of a column
SELECT left_alone(q) FROM unnest(ARRAY['SELECT s FROM t ORDER BY s COLLATE "C" LIMIT 3', 'SELECT min(l) FROM t', 'SELECT l FROM t ORDER BY l LIMIT 3', 'SELECT min(s), min(s COLLATE "C") FROM t', 'SELECT min(s COLLATE loose) FROM t',
	'SELECT s FROM t ORDER BY s USING ~<~ LIMIT 3', 'SELECT min(c::text) FROM t']) AS q;

-- unseen strings
CREATE FUNCTION unseen() RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO t SELECT i, i % 3, left('a' || i, 3), ' ', 'aa' || i % 3, 'B', 'Z' || i, 'ad' || i, NULL, 'l', 'aaa', 'w' || i % 30 || 'x' FROM generate_series(1, 40) AS i;
	UPDATE t SET s = 'Aä', few = 'w', v = 'zzz' WHERE id % 1000 = 0;
	RETURN QUERY SELECT unseen_same(q) FROM questions;
END $$;
BEGIN;
SELECT unseen();
ROLLBACK;
SELECT unseen();
-- when they are held, and ranks were made before
SELECT answered(q) FROM questions WHERE q ~ '\m(s|few|x)\M';

-- many strings, of codes of 32 bits; ranks that memory has no room for
CREATE TABLE wide (id int, h text, z text COLLATE "C");
INSERT INTO wide SELECT i, 'h' || i / 4, md5((i / 3)::text) FROM generate_series(1, 250000) AS i;
VACUUM ANALYZE wide;
SELECT gpusort_columns_add('wide');
SELECT answered(q) FROM unnest(ARRAY['SELECT min(h), max(h), min(z), max(z) FROM wide', 'SELECT h, z FROM wide WHERE id > 1000 ORDER BY z, h, id LIMIT 10 OFFSET 1000', 'SELECT z, count(*) FROM wide GROUP BY z ORDER BY z DESC LIMIT 3', 'SELECT id, min(z) FROM wide WHERE h LIKE ''%77%'' GROUP BY id ORDER BY 2, id LIMIT 3']) AS q;
INSERT INTO wide SELECT i, 'i' || i, md5(i::text) FROM generate_series(70000, 90000) AS i;
SELECT is(rows_of(q, 'force'), rows_of(q, 'off'), q) FROM unnest(ARRAY['SELECT min(h), max(h), min(z), max(z) FROM wide', 'SELECT h FROM wide WHERE h > ''h5'' ORDER BY h LIMIT 10 OFFSET 100000', 'SELECT z, h FROM wide ORDER BY z DESC, h DESC, id LIMIT 20']) AS q;
SET gpusort.work_mem = '1MB';
SELECT matches(rows_of('SELECT min(z) FROM wide', 'force'), 'ranks of its strings are more than gpusort.work_mem', 'ranks that memory has no room for');
RESET gpusort.work_mem;
SELECT gpusort_columns_remove('wide'), gpusort_columns_remove('t');
DROP SCHEMA columns_ranks CASCADE;
SELECT * FROM finish();
