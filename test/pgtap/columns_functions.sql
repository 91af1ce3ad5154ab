-- Functions of strings in resident columns, in keys and aggregates, called once for each string of a dictionary, and CASE and coalesce
-- of strings in keys, compared with PostgreSQL's rows: integers and strings as results, strings that are NULL, of several types and collations, of changed pages and of
-- rows of the same transaction, errors, and results that codes of few strings are too narrow for.
\ir setup.psql
CREATE EXTENSION IF NOT EXISTS gpusort;
SELECT no_plan();
CREATE SCHEMA columns_functions;
SET search_path = columns_functions, public;

CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
CREATE DOMAIN note AS text;
CREATE TABLE t (id int, k int, s text, v varchar(30), c char(6), d note, l text COLLATE loose, n name, few text);
\ir columns_words.psql
INSERT INTO t SELECT i, i % 37, word(i) || repeat('y', i % 7), left(word(i / 3) || i % 17, 30), left(word(i / 7), 6), word(i / 2) || i % 5, word(i) || i % 3, coalesce(word(i), 'n'), repeat('w', i % 12) FROM generate_series(1, 12000) AS i;
VACUUM ANALYZE t;
SELECT gpusort_columns_add('t');
\ir columns_queries.psql

CREATE TABLE questions (q text);
-- integers: as keys, summed, beside their own strings and ranks of them
INSERT INTO questions SELECT format(q, c) FROM unnest('{s,v,c,d,few}'::text[]) AS c, unnest(ARRAY['SELECT avg(length(%s)), sum(length(%1$s)), min(length(%1$s)), max(char_length(%1$s)), count(length(%1$s)), count(*) FROM t',
	'SELECT k, avg(length(%s)) AS l, count(*) AS c, min(%1$s) FROM t WHERE %1$s <> '''' GROUP BY k HAVING count(*) > 10', 'SELECT length(%s), count(*) FROM t GROUP BY length(%1$s)',
	'SELECT %s, octet_length(%1$s), count(*), sum(length(%1$s)) FROM t GROUP BY 1, 2', 'SELECT %s, sum(length(%1$s) + 1), max(length(%1$s) * 3 - k) FROM t WHERE %1$s LIKE ''%%a%%'' GROUP BY %1$s',
	'SELECT length(%s) + k, count(*) FROM t GROUP BY 1', 'SELECT k, sum(length(%s)) FILTER (WHERE %1$s > ''b'') FROM t GROUP BY k', 'SELECT DISTINCT length(%s) FROM t', 'SELECT length(%s), count(*) AS c FROM t GROUP BY 1 ORDER BY c DESC, 1 LIMIT 5',
	'SELECT length(%s), min(%1$s), max(%1$s), count(DISTINCT %1$s) FROM t GROUP BY 1', 'SELECT count(DISTINCT length(%s)), count(*) FROM t WHERE %1$s >= ''a''',
	'SELECT k, count(DISTINCT octet_length(%s)), count(*) FROM t GROUP BY k', 'SELECT sum(length(%s)) FROM t WHERE id < 0', 'SELECT length(%s), sum(length(s) + length(few)) FROM t GROUP BY 1']) AS q;
-- strings
INSERT INTO questions SELECT format(q, c) FROM unnest('{s,v,d,few}'::text[]) AS c, unnest(ARRAY['SELECT regexp_replace(%s, ''^https?://(?:www\.)?([^/]+)/.*$'', ''\1'') AS k, avg(length(%1$s)), count(*) AS c, min(%1$s) FROM t WHERE %1$s <> '''' GROUP BY 1 HAVING count(*) > 3',
	'SELECT substr(%s, 2), count(*) FROM t GROUP BY 1', 'SELECT substring(%s FROM 1 FOR 2), k, count(*) FROM t GROUP BY 1, 2', 'SELECT substring(%s FROM 3), max(id) FROM t GROUP BY 1', 'SELECT DISTINCT regexp_replace(%s, ''y'', ''日本'', ''g'') FROM t',
	'SELECT regexp_replace(%s, ''[a-z]+'', ''''), substr(%1$s, 1, 1), position(''a'' IN %1$s), strpos(%1$s, ''y''), count(*) FROM t GROUP BY 1, 2, 3, 4', 'SELECT substr(%s, 1, k2), count(*) FROM t, (SELECT 1 AS k2) q GROUP BY 1',
	'SELECT substr(%s, 1, 1), count(*) AS c FROM t GROUP BY 1 ORDER BY c DESC, max(id) LIMIT 1']) AS q;
-- conditions, and different results
INSERT INTO questions SELECT format(q, c) FROM unnest('{s,v,c,d,few}'::text[]) AS c, unnest(ARRAY['SELECT count(*), min(%s), sum(k) FROM t WHERE length(%1$s) > 3', 'SELECT k, count(*) FROM t WHERE 4 <= octet_length(%s) AND length(%1$s) <> 6::int8 GROUP BY k',
	'SELECT count(*) FILTER (WHERE length(%s) = 2::int2), count(*) FROM t', 'SELECT length(%s), count(*) FROM t WHERE length(%1$s) BETWEEN 2 AND 5 AND %1$s > ''a'' GROUP BY 1', 'SELECT count(*) FROM t, (SELECT 3 AS three) AS q WHERE length(%s) < three']) AS q;
INSERT INTO questions SELECT format(q, c) FROM unnest('{s,v,d,few}'::text[]) AS c, unnest(ARRAY['SELECT count(*), max(id) FROM t WHERE substr(%s, 1, 1) = ''a''', 'SELECT count(*) FROM t WHERE substring(%s FROM 2) LIKE ''%%y'' AND id > 9', 'SELECT count(DISTINCT substr(%s, 1, 2)) FROM t',
	'SELECT k, count(*) FROM t WHERE regexp_replace(%s, ''y'', '''') >= ''b'' GROUP BY k', 'SELECT k, count(DISTINCT regexp_replace(%s, ''y+'', '''')) FROM t WHERE strpos(%1$s, ''a'') > 0 GROUP BY k', 'SELECT count(*) FROM t WHERE substr(%s, 2) ~ ''^[a-z]'' AND %1$s LIKE ''%%a%%''']) AS q;
INSERT INTO questions VALUES ('SELECT count(*) FROM t WHERE substr(l, 1, 1) = ''a'''), ('SELECT substr(s, 2), substr(v, 2), substr(few, 1, 3), count(*) FROM t GROUP BY 1, 2, 3'), ('SELECT length(l), count(*) FROM t GROUP BY 1'), ('SELECT sum(strpos(s, few2)) FROM t, (SELECT ''a''::text AS few2) q'),
	('SELECT length(s) - length(few), count(*) FROM t GROUP BY 1');
-- CASE and coalesce: strings that the dictionary has, that it lacks, that rows come to have, NULL, constants alone; beside the strings themselves, functions and ranks of them
INSERT INTO questions SELECT format('SELECT ' || q, c) FROM unnest('{s,v,d,few}'::text[]) AS c, unnest(ARRAY['CASE WHEN k < 5 AND id > 40 THEN %s ELSE '''' END, count(*), min(id) FROM t GROUP BY 1', 'CASE WHEN k < 5 THEN %s END, count(*) FROM t GROUP BY 1',
	'CASE WHEN %1$s LIKE ''%%a%%'' THEN ''it has an a'' WHEN k = 3 THEN NULL ELSE %1$s END, count(*), max(%1$s) FROM t GROUP BY 1', 'CASE WHEN k = 7 THEN ''a7'' WHEN k = 8 THEN ''zz'' ELSE %s END, substr(%1$s, 1, 1), count(*) FROM t GROUP BY 1, 2',
	'CASE WHEN k = 7 THEN ''a7'' ELSE %s END AS a, %1$s, count(*) AS c FROM t GROUP BY 1, 2 ORDER BY %1$s, c, max(id) LIMIT 20', 'coalesce(%s, ''a'') AS s, count(*) FROM t GROUP BY 1', 'coalesce(%s, ''it is NULL'') AS s, k, count(DISTINCT %1$s) FROM t WHERE k > 20 GROUP BY 1, 2',
	'CASE WHEN %s = ''a'' THEN ''one'' WHEN %1$s IS NULL THEN ''none'' ELSE ''other'' END, length(%1$s), count(*) FROM t GROUP BY 1, 2', 'DISTINCT CASE WHEN length(%s) > 3 THEN %1$s ELSE ''short'' END FROM t',
	'k, CASE WHEN k < 9 AND id > 99 THEN %s ELSE '''' END AS src, v AS dst, count(*) AS c FROM t WHERE k <> 11 GROUP BY 1, 2, 3 ORDER BY c DESC, max(id) LIMIT 10 OFFSET 5', 'CASE WHEN k = 1 THEN NULL ELSE ''z'' END || ''!'', count(*) FROM t GROUP BY CASE WHEN k = 1 THEN NULL ELSE ''z'' END']) AS q;
SELECT answered(q) FROM questions;
SELECT left_alone(format('SELECT %s, count(*) FROM t GROUP BY 1', e)) FROM unnest(ARRAY['CASE WHEN k < 5 THEN l END', 'coalesce(l, ''a'')', 'CASE WHEN k < 5 THEN c ELSE ''a'' END', 'CASE WHEN k < 5 THEN n END', 'CASE WHEN k < 5 THEN s ELSE few END', 'CASE WHEN k < 5 THEN lower(s) ELSE s END',
	'CASE WHEN k < 5 THEN s ELSE s || few END', 'CASE WHEN k < 5 THEN s ELSE ''a'' END COLLATE loose']) AS e;
-- what is left to PostgreSQL: an order of results, other functions, those of two columns, strings that are equal with other bytes
SELECT left_alone(q) FROM unnest(ARRAY['SELECT length(n), count(*) FROM t GROUP BY 1', 'SELECT lower(s), count(*) FROM t GROUP BY 1', 'SELECT strpos(s, few), count(*) FROM t GROUP BY 1', 'SELECT length(substr(s, 2)), count(*) FROM t GROUP BY 1',
	'SELECT substr(l, 1, 2), count(*) FROM t GROUP BY 1', 'SELECT min(substr(s, 1)) FROM t', 'SELECT count(DISTINCT substr(l, 2)) FROM t',
	'SELECT count(*) FROM t WHERE length(s)::int8 > 3::int8 + k', 'SELECT count(*) FROM t WHERE length(s) IN (2, 3)', 'SELECT count(*) FROM t WHERE length(s) = k', 'SELECT count(*) FROM t WHERE lower(s) = ''a''', 'SELECT substring(s FROM ''a''), count(*) FROM t GROUP BY 1']) AS q;
CREATE FUNCTION same(query text) RETURNS SETOF text LANGUAGE sql AS $$
	SELECT is(rows_of(query, 'on'), rows_of(query, 'off'), query)
$$;
SELECT same(q) FROM unnest(ARRAY['SELECT substr(s, 1, 1), count(*) FROM t GROUP BY 1 ORDER BY 1 LIMIT 3', 'SELECT substr(s, 1, 1), count(*) FROM t GROUP BY 1 HAVING substr(s, 1, 1) > ''a''', 'SELECT length(s), max(n) FROM (SELECT s, row_number() OVER (ORDER BY k, id) AS n FROM t) q GROUP BY 1',
	'SELECT count(DISTINCT length(s)), percentile_disc(0.5) WITHIN GROUP (ORDER BY length(s)) FROM t', 'SELECT id FROM t WHERE length(s) > 12 ORDER BY id', 'SELECT count(*) FROM t WHERE substr(s, NULL) = ''a''', 'SELECT count(*) FROM t WHERE length(s) > NULL',
	'SELECT length(s), count(*) FROM t GROUP BY 1 HAVING length(s) > 3 AND count(*) > 5', 'SELECT substr(s, NULL), count(*) FROM t GROUP BY 1', 'SELECT sum(strpos(s, NULL)) FROM t',
	'SELECT gpu_sort_agg(length(s)) FROM t', 'SELECT length(s), gpu_sort_agg(k) FROM t GROUP BY 1']) AS q;

-- errors: PostgreSQL's own, for rows that pass alone
SELECT throws_ok('SELECT substr(s, 1, -1), count(*) FROM t GROUP BY 1', '22011', NULL, 'an error of a function is raised');
SELECT throws_ok('SELECT count(*) FROM t WHERE substr(s, 1, -1) = ''a''', '22011', NULL, 'in a condition, too');
SELECT throws_ok('SELECT regexp_replace(s, ''('', ''''), count(*) FROM t GROUP BY 1', '2201B', NULL, 'and so is a wrong expression''s');
SELECT CASE WHEN current_setting('server_version_num')::int < 180000 THEN throws_ok(q, '0A000', NULL, 'and that of a collation') ELSE is(rows_of(q, 'on'), rows_of(q, 'off'), 'strings that are equal with other bytes') END
	FROM (VALUES ('SELECT sum(strpos(l, ''a'')) FROM t')) AS v (q);
SELECT same(q) FROM unnest(ARRAY['SELECT substr(s, 1, -1), count(*) FROM t WHERE id < 0 GROUP BY 1', 'SELECT count(*) FROM t WHERE id < 0 AND substr(s, 1, -1) = ''a''', 'SELECT sum(length(s) + 2147483646) FROM t WHERE length(s) < 2', 'SELECT sum(length(s) + 2147483600) FROM t']) AS q;

-- few strings, long ones: results that codes of eight bits do not hold; and many
CREATE TABLE long (id int, s text);
INSERT INTO long SELECT i, repeat('x', i % 5 * 64) FROM generate_series(1, 3000) AS i;
CREATE TABLE wide (id int, h text);
INSERT INTO wide SELECT i, 'h' || i / 3 || repeat('z', i / 3 % 4) FROM generate_series(1, 250000) AS i;
VACUUM ANALYZE long, wide;
SELECT gpusort_columns_add('long');
SELECT gpusort_columns_add('wide');
SELECT settled('SELECT s, count(*) FROM long GROUP BY s');
SELECT same('SELECT length(s), count(*) FROM long GROUP BY 1');
SELECT is((SELECT encoding FROM gpusort_columns WHERE rel = 'long'::regclass AND "column" = 's'), 'dictionary, codes of 8 bits', 'few strings have codes of eight bits');
SELECT answered(q) FROM unnest(ARRAY['SELECT length(s), count(*) FROM long GROUP BY 1', 'SELECT sum(length(s)), max(length(s)), min(s), count(DISTINCT length(s)) FROM long', 'SELECT s, length(s), octet_length(s), count(*) FROM long WHERE length(s) > 100 GROUP BY 1, 2, 3', 'SELECT substr(s, 1, 100), count(*) FROM long GROUP BY 1', 'SELECT length(h), count(*), max(h) FROM wide GROUP BY 1', 'SELECT substr(h, 2, 3), sum(length(h)), count(*) FROM wide GROUP BY 1', 'SELECT h, sum(length(h)) FROM wide GROUP BY h ORDER BY 2 DESC, h LIMIT 5']) AS q;
-- no strings at all, and as many as codes of eight bits are, of which none is left for another
CREATE TABLE empty (id int, s text);
CREATE TABLE full_codes (id int, s text);
INSERT INTO empty SELECT i, NULL FROM generate_series(1, 3000) AS i;
INSERT INTO full_codes SELECT i, 'f' || i % 100 FROM generate_series(1, 3000) AS i;
VACUUM ANALYZE empty, full_codes;
SELECT gpusort_columns_add('empty');
SELECT gpusort_columns_add('full_codes');
SELECT answered(q) FROM unnest(ARRAY['SELECT CASE WHEN id < 100 THEN s ELSE ''x'' END, count(*) FROM empty GROUP BY 1', 'SELECT coalesce(s, ''''), count(*) FROM empty GROUP BY 1', 'SELECT CASE WHEN id < 100 THEN s END, count(*) FROM empty GROUP BY 1', 'SELECT CASE WHEN id < 100 THEN s ELSE ''f1'' END, count(*) FROM full_codes GROUP BY 1']) AS q;
INSERT INTO full_codes SELECT i, 'f' || i FROM generate_series(100, 255) AS i;
SELECT matches(rows_of('SELECT CASE WHEN id < 100 THEN s ELSE '''' END, count(*) FROM full_codes GROUP BY 1', 'force'), 'no code is left for a string|a value cannot be held', 'no code is left');
INSERT INTO full_codes SELECT i, 'f' || i FROM generate_series(100, 255) AS i;
SELECT matches(rows_of('SELECT CASE WHEN id < 100 THEN s ELSE '''' END, count(*) FROM full_codes GROUP BY 1', 'force'), 'no code is left for a string|a value cannot be held', 'no code is left');
SELECT same(q) FROM unnest(ARRAY['SELECT CASE WHEN id < 100 THEN s ELSE '''' END, count(*) FROM full_codes GROUP BY 1', 'SELECT CASE WHEN id < 100 THEN s ELSE '''' END, min(s), count(*) FROM full_codes GROUP BY 1']) AS q;
-- regular expressions of so many strings that parallel workers take part: with several, one, and none that may start, of strings that they do not know, and with errors
CREATE FUNCTION in_workers(query text, workers int, running int) RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('max_parallel_workers_per_gather', workers::text, true), set_config('max_parallel_workers', running::text, true);
	RETURN QUERY SELECT is(CASE WHEN settled('SELECT count(*), min(h) FROM wide') THEN rows_of(query, 'force') END, rows_of(query, 'off'),
		format('%s of %s workers: %s', running, workers, query));
END $$;
CREATE TABLE expressions (q text);
INSERT INTO expressions VALUES ('SELECT regexp_replace(h, ''z+$'', '''') AS r, count(*), max(id) FROM wide GROUP BY 1'), ('SELECT count(DISTINCT regexp_replace(h, ''[0-9]'', ''日本'', ''g'')), count(*) FROM wide'),
	('SELECT regexp_replace(h, ''^h([0-9]?).*$'', ''\1''), length(regexp_replace(h, ''^h([0-9]?).*$'', ''\1'')), count(*), sum(length(h)) FROM wide WHERE id > 10 GROUP BY 1');
SELECT in_workers(q, w[1], w[2]) FROM expressions, (VALUES ('{4,8}'::int[]), ('{1,8}'), ('{4,0}'), ('{0,8}')) AS v(w);
BEGIN;
INSERT INTO wide SELECT i, 'h' || i || 'newz' FROM generate_series(1, 2000) AS i;
SELECT in_workers(q, 4, 8) FROM expressions;
SAVEPOINT s;
SELECT throws_ok('SELECT regexp_replace(h, ''('', ''''), count(*) FROM wide GROUP BY 1', '2201B', NULL, 'an error beside workers');
ROLLBACK TO s;
SELECT in_workers(q, 4, 8) FROM expressions;
ROLLBACK;
SET gpusort.work_mem = '1MB';
SELECT matches(rows_of('SELECT regexp_replace(h, ''^'', ''a string that is longer'') AS r, count(*) FROM wide GROUP BY 1', 'force'), 'more than gpusort.work_mem has room for', 'results that memory has no room for');
SELECT same('SELECT regexp_replace(h, ''^'', ''a string that is longer'') AS r, sum(length(h)) FROM wide GROUP BY 1');
-- and new strings of rows that columns do not have
BEGIN;
INSERT INTO wide SELECT i, 'new' || i FROM generate_series(1, 50000) AS i;
SELECT matches(rows_of('SELECT count(*) FROM wide WHERE h <> ''x''', 'force'), 'new strings are more than gpusort.work_mem has room for', 'new strings that memory has no room for');
SELECT same('SELECT count(*), max(h) FROM wide WHERE h <> ''x''');
ROLLBACK;
RESET gpusort.work_mem;

-- unseen strings
CREATE FUNCTION unseen() RETURNS SETOF text LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO t SELECT i, i % 3, left('a' || i, 3), ' ', 'aa' || i % 3, 'http://' || i || '.org/', 'Z' || i, 'l', nullif(i, 7)::text FROM generate_series(1, 40) AS i;
	UPDATE t SET s = NULL, few = 'q', v = 'zzz', c = NULL WHERE id % 1000 = 0;
	RETURN QUERY SELECT unseen_same(q) FROM questions;
END $$;
BEGIN;
SELECT unseen();
ROLLBACK;
SELECT unseen();
SELECT answered(q) FROM questions WHERE q ~ '\m(s|few)\M' LIMIT 12;

-- a prepared statement, with values of each execution
PREPARE part (int, text) AS SELECT substr(s, $1), sum(strpos(s, $2)), count(*) FROM t GROUP BY 1;
CREATE FUNCTION executed(a int, b text, setting text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	line record;
	lines text[] := '{}';
BEGIN
	PERFORM set_config('gpusort.columns', setting, true), set_config('plan_cache_mode', 'force_generic_plan', true);
	FOR line IN EXECUTE format('EXECUTE part(%s, %L)', a, b) LOOP
		lines := lines || line::text;
	END LOOP;
	RETURN (SELECT string_agg(l, ' ' ORDER BY l COLLATE "C") FROM unnest(lines) AS l);
END $$;
SELECT is(executed(a, b, 'on'), executed(a, b, 'off'), format('executed with %s, %L', a, b)) FROM (VALUES (1, 'a'), (3, 'y'), (2, ''), (100, 'zz')) AS q (a, b);
SELECT finish();
DROP SCHEMA columns_functions CASCADE;
