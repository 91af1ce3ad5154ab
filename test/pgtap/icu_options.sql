-- Options and rules of ICU's collations, and nondeterministic ones: which strings are equal, and in which order the others are.
\ir setup.psql
SELECT current_setting('server_version_num')::int >= 160000 AS rules \gset
SELECT plan(22 * 5);
SET gpusort.verify = full;

-- the first are many and different, so that dictionaries are given up
CREATE TEMP TABLE w (id serial, t text);
INSERT INTO w (t) SELECT md5(i::text) FROM generate_series(1, 600) AS i;
INSERT INTO w (t) SELECT pg_temp.word(characters, i * 16 + place::int, 9)
FROM unnest(ARRAY['abAB', 'a1b2 -.', 'aáàäAÁbB', U&'ae\0301\0323\0308-', '0123456789', 'абАБab', 'αβΑab', 'kKhHc']) WITH ORDINALITY AS x (characters, place),
	generate_series(1, 250) AS i;
INSERT INTO w (t) SELECT 'file' || (ARRAY['', '0', '00', '-', ' '])[1 + i % 5] || i * 37 % 200 || (ARRAY['', '.txt', 'A'])[1 + i % 3] FROM generate_series(1, 500) AS i;
INSERT INTO w (t) VALUES ('di silva'), ('diSilva'), ('di-silva'), ('Di Silva'), ('dísilva'), ('a-b'), ('ab'), ('a b'), ('AB'), ('$1'), ('1'), ('a1'), ('a$'),
	(U&'-\0301'), (U&'-'), (U&'\0301'), (''), (NULL);
INSERT INTO w (t) SELECT t FROM w WHERE id % 7 = 0;

-- Five tests of a locale: forms, and orders under a deterministic collation and one that is not, alone and before another key.
CREATE FUNCTION pg_temp.check_locale(place bigint, locale text, rules text DEFAULT '') RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	query text;
	name text;
	label text;
BEGIN
	FOREACH label IN ARRAY ARRAY['true', 'false'] LOOP
		name := format('c%s%s', place, label);
		IF NOT pg_temp.make_collation(name, format('provider = icu, locale = %L, deterministic = %s%s', locale, label, rules)) THEN
			RETURN NEXT skip('no collation ' || locale, CASE label WHEN 'true' THEN 3 ELSE 2 END);
			CONTINUE;
		END IF;
		query := format('SELECT id FROM w ORDER BY t COLLATE pg_temp.%I', name);
		label := format('%s %s, deterministic %s', locale, rules, label);
		IF label LIKE '%true' THEN
			RETURN NEXT pg_temp.sorted_as(query, 'primary weights', label);
		END IF;
		RETURN NEXT pg_temp.same_ids(query || ' DESC', query || ' DESC, ctid', label || ' DESC');
		RETURN NEXT pg_temp.same_ids(query || ', id % 5, id DESC', query || ', id % 5, id DESC', label || ' and more keys');
	END LOOP;
END $$;
SELECT pg_temp.check_locale(place, locale) FROM unnest('{en-u-ks-level1,en-u-ks-level2,en-u-ks-level3,en-u-ks-level4,und-u-ks-identic,
	en-u-ka-shifted,en-u-ka-shifted-ks-level1,en-u-ka-shifted-ks-level4,en-u-ka-shifted-kv-currency,en-u-kn-true,de-u-kn-true-ks-level2,
	en-u-kc-true,en-u-kc-true-ks-level1,en-u-kf-upper,en-u-kf-upper-ks-level1-kc,en-u-kf-lower,en-u-kr-grek-latn,en-u-kr-digit-cyrl,fr-u-kb-true,
	en-u-kk-true}'::text[]) WITH ORDINALITY AS x (locale, place);
\if :rules
SELECT pg_temp.check_locale(101, 'en', ', rules = ''&b < a <<< A & ch < k <<< K''');
SELECT pg_temp.check_locale(102, 'und', ', rules = ''& ab = c & e << 11 & x < q / z''');
\else
SELECT skip('rules came with PostgreSQL 16', 10);
\endif

SELECT * FROM finish();
