-- Dictionaries of few values: how they come, how many they are, and when there are too many.
\ir setup.psql
SELECT plan(15 * 3 + 12 * 2 + 4);
SET gpusort.verify = full;

-- Three tests of one column: the form, and the order in both directions.
CREATE FUNCTION pg_temp.check_values(rows text, key text, form text, label text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	query text := format('SELECT id FROM %s ORDER BY %s', rows, key);
BEGIN
	RETURN NEXT pg_temp.sorted_as(query, form, label);
	RETURN NEXT pg_temp.same_ids(query, query || ', ctid', label);
	RETURN NEXT pg_temp.same_ids(query || ' DESC', query || ' DESC, ctid', label || ' DESC');
END $$;

-- every tenth row has a new value, the others one of those before
CREATE TEMP TABLE d AS SELECT id, v, CASE WHEN v % 2 = 0 THEN v % 160 ELSE 100000 - v % 160 END AS zigzag
FROM (SELECT i AS id, CASE WHEN i % 10 = 0 THEN i / 10 ELSE abs(hashint4(i) % (i / 10 + 1)) END AS v FROM generate_series(0, 39999) AS i) AS x;
CREATE TEMP TABLE k AS SELECT id, ARRAY[v] AS up, ARRAY[-v] AS down, ARRAY[zigzag] AS zigzag, ARRAY[hashint4(v)] AS mixed,
	CASE WHEN v % 3 > 0 THEN ARRAY[v % 500] END AS nulls, ARRAY[NULL, v % 70] AS inner_nulls FROM d;
SELECT pg_temp.check_values('k', 'up', 'dictionary', 'ascending');
SELECT pg_temp.check_values('k', 'down', 'dictionary', 'descending');
SELECT pg_temp.check_values('k', 'zigzag', 'dictionary', 'from both ends towards the middle');
SELECT pg_temp.check_values('k', 'mixed', 'dictionary', 'in no order');
SELECT pg_temp.check_values('k', 'nulls', 'dictionary', 'with NULLs');
SELECT pg_temp.check_values('k', 'inner_nulls', 'dictionary', 'with NULLs in them');

-- too many: soon, by number, by bytes, and late
SELECT pg_temp.check_values('k', 'ARRAY[-id]', 'leading parts', 'all different');
-- numbers are spread anew a few times, and what comes again then does not count as repeated
SELECT pg_temp.check_values('(SELECT id, ctid, ARRAY[id::text] AS a FROM k WHERE id < 3000) AS k', 'a', 'leading parts', 'all different, as text');
SELECT pg_temp.check_values('(SELECT id, ctid, ARRAY[(id / 4 * 2 + id % 2) * 7919 % 20011] AS a FROM k) AS k', 'a', 'leading parts', 'more than 16384');
CREATE TEMP TABLE large AS SELECT i AS id, repeat(md5((i * 7919 % 600)::text), 300) AS t FROM generate_series(1, 1500) AS i;
SELECT pg_temp.check_values('large', 't COLLATE "en-x-icu"', 'primary weights', 'more than four megabytes');
SELECT pg_temp.check_values('large', 'ARRAY[t]', 'leading parts', 'of another type');
-- in little memory sooner
CREATE TEMP TABLE medium AS SELECT i AS id, repeat(md5((i * 7919 % 100)::text), 100) AS t FROM generate_series(1, 6000) AS i;
ANALYZE medium;
SELECT pg_temp.check_values('medium', 't COLLATE "en-x-icu"', 'dictionary', 'little');
SET gpusort.work_mem = '1MB';
SELECT pg_temp.check_values('medium', 't COLLATE "en-x-icu"', 'primary weights', 'more than an eighth of a megabyte');
RESET gpusort.work_mem;
-- where few rows are expected, values have to come again soon
SELECT pg_temp.check_values('(SELECT id, ctid, t FROM medium WHERE id <= 1500) AS few_rows', 't COLLATE "en-x-icu"', 'primary weights', 'no value twice in a small sort''s first ones');
CREATE TEMP TABLE late AS SELECT i AS id, CASE WHEN i <= 100000 THEN ARRAY[i % 1000] ELSE ARRAY[i, hashint4(i)] END AS a FROM generate_series(1, 130000) AS i;
SELECT pg_temp.check_values('late', 'a', 'leading parts', 'that do not repeat after 100000 rows');

-- Where numbering the values would cost more than it saves, it ends soon: a third of the rows come again in groups and the others do not, half of
-- them have few values, each comes twice.  Where values are few, or as likely as each other and not too many for so many rows, they are numbered.
-- A second key is worth nothing where the first one leaves few rows tied.
CREATE TEMP TABLE towns AS SELECT i AS id, 'town ' || md5((CASE WHEN i % 3 = 0 THEN i / 12 ELSE i END)::text) AS third, md5((CASE WHEN i % 2 = 0 THEN i % 6 ELSE i END)::text) AS half,
	md5((i / 4 * 2 + i % 2)::text) AS twice, md5((i / 4)::text) AS lines, md5((hashint4(i) % 12)::text) AS few, md5((hashint4(i) % 1000)::text) AS thousand, md5((hashint4(i) % 9000)::text) AS many
FROM generate_series(1, 22000) AS i;
ANALYZE towns;
CREATE FUNCTION pg_temp.check_towns(keys text, forms text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	query text := 'SELECT id FROM towns ORDER BY ' || (SELECT string_agg(key || ' COLLATE "und-x-icu"', ', ') FROM unnest(string_to_array(keys, ' ')) AS key);
BEGIN
	RETURN NEXT pg_temp.sorted_as(query, regexp_replace(forms, '(\w+):', '\W*\1[^,]*:', 'g'), keys);
	RETURN NEXT pg_temp.same_ids(query, query || ', ctid', keys);
END $$;
SELECT pg_temp.check_towns(keys, forms) FROM (VALUES ('third', 'third: primary weights'), ('half', 'half: primary weights'), ('twice', 'twice: primary weights'), ('many', 'many: primary weights'),
	('few', 'few: dictionary'), ('thousand', 'thousand: dictionary'), ('third half', 'third: primary weights, half: compared'), ('lines many', 'lines: primary weights, many: compared'),
	('few thousand', 'few: dictionary, thousand: dictionary'), ('half thousand', 'half: primary weights, thousand: dictionary'),
	('few many third', 'few: dictionary, many: primary weights, third: compared'), ('few thousand third', 'few: dictionary, thousand: dictionary, third: compared')) AS x (keys, forms);

-- Keys that were taken in while the first one had few values are put off again once it has many: they are compared where it ties.
CREATE TEMP TABLE changing AS SELECT i AS id, md5((CASE WHEN i <= 2000 THEN i % 5 ELSE i END)::text) AS a, md5((CASE WHEN i <= 2000 THEN i % 7 ELSE -i END)::text) AS b,
	md5((CASE WHEN i <= 2000 THEN i % 11 ELSE i * 3 END)::text) AS c FROM generate_series(1, 12000) AS i;
ANALYZE changing;
SELECT unnest(ARRAY[pg_temp.sorted_as(query, 'a\W[^,]*: primary weights, .*b\W[^,]*: compared, .*c\W[^,]*: compared', 'values that repeat no longer'),
	pg_temp.same_ids(query, query || ', ctid', 'values that repeat no longer')])
FROM (SELECT 'SELECT id FROM changing ORDER BY a COLLATE "und-x-icu", b COLLATE "und-x-icu", c COLLATE "und-x-icu"' AS query) AS q;

-- Values that differ but compare equal share a number, so that the next key decides.
SELECT pg_temp.make_collation('nocase', 'provider = icu, locale = ''und-u-ks-level2'', deterministic = false') AS nocase \gset
\if :nocase
CREATE TEMP TABLE equal AS SELECT i AS id, CASE i % 3 WHEN 0 THEN upper(t) WHEN 1 THEN t ELSE initcap(t) END AS t, hashint4(i) AS x
FROM (SELECT i, 'name ' || chr(97 + i * 7 % 26) AS t FROM generate_series(1, 5000) AS i) AS s;
ANALYZE equal;
SELECT pg_temp.sorted_as('SELECT id FROM equal ORDER BY t COLLATE pg_temp.nocase, x', 'dictionary', 'equal values');
SELECT pg_temp.same_ids(query, query, 'equal values') FROM (SELECT 'SELECT id FROM equal ORDER BY t COLLATE pg_temp.nocase, x, id' AS query) AS q;
\else
SELECT skip('no ICU', 2);
\endif

SELECT * FROM finish();
