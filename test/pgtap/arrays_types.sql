-- Array functions over strings, identifiers, and types that only have a comparator.
\ir arrays.psql
SELECT plan(27 * 26 + 6 + 7 + 26);

SELECT pg_temp.check_arrays('text COLLATE "C"', ARRAY['', 'a', 'b', 'ab', 'a ', E'\t', repeat('a', 40), repeat('a', 41)], 'md5((i % 300)::text)');
SELECT pg_temp.check_arrays('text', '{"",a,B,b,A,ab}', 'left(md5((i % 300)::text), i % 9)');
SELECT pg_temp.check_arrays('varchar(50) COLLATE "POSIX"', '{"",a,b,ab}', '''prefix/'' || i * 31 % 300');
SELECT pg_temp.check_arrays('character(9) COLLATE "C"', '{"",a,"a ",b,ab}', 'left(md5((i % 300)::text), i % 9)');
SELECT pg_temp.check_arrays('name', '{"",a,b,ab}', 'left(md5((i % 300)::text), i % 9)');
SELECT pg_temp.check_arrays('bytea', ARRAY['', '\x00', '\x0000', '\xff', 'a'], 'decode(left(md5((i % 300)::text), i % 5 * 2), ''hex'')');
SELECT pg_temp.check_arrays('uuid', '{00000000-0000-0000-0000-000000000000,ffffffff-ffff-ffff-ffff-ffffffffffff}', 'md5((i % 300)::text)::uuid');
-- of which the first half fits into a word, and the second does not
SELECT pg_temp.check_arrays('uuid', '{00000000-0000-0000-0000-000000000000,00000000-0000-0001-ffff-ffffffffffff}',
							'(lpad(to_hex(i % 5), 16, ''0'') || left(md5((i % 30)::text), 16))::uuid');
SELECT pg_temp.check_arrays('tid', '{"(0,0)","(0,1)","(1,0)","(4294967295,65535)"}', 'format(''(%s,%s)'', i % 20, i * 31 % 15)::tid');
SELECT pg_temp.check_arrays('macaddr', '{00:00:00:00:00:00,ff:ff:ff:ff:ff:ff}', 'left(md5((i % 300)::text), 12)::macaddr');
SELECT pg_temp.check_arrays('macaddr8', '{00:00:00:00:00:00:00:00,ff:ff:ff:ff:ff:ff:ff:ff}', 'left(md5((i % 300)::text), 16)::macaddr8');
SELECT pg_temp.check_arrays('inet', '{0.0.0.0,10.0.0.0/8,10.0.0.0/9,10.0.0.1/8,::,ffff::/16,255.255.255.255}',
							'''10.0.0.0/8''::inet + (hashint4(i) & 255)');
SELECT pg_temp.check_arrays('cidr', '{0.0.0.0/0,10.0.0.0/8,10.0.0.0/9,::/0}', '(''10.'' || i * 31 % 250 || ''.0.0/16'')::cidr');
SELECT pg_temp.check_arrays('bit(5)', '{00000,11111,01010}', 'i::bit(5)');
SELECT pg_temp.check_arrays('bit varying', '{"",0,00,1,10,00000000,000000000}', 'i::bit(9)::bit varying(9)');
CREATE TYPE pg_temp.mood AS ENUM ('sad', 'ok', 'happy');
SELECT pg_temp.check_arrays('pg_temp.mood', '{happy,sad,ok}', '(enum_range(NULL::pg_temp.mood))[i * 31 % 3 + 1]');

-- comparators only
SELECT pg_temp.check_arrays('jsonb', '{1,"\"a\"",null,"[1, 2]","{\"a\": 1}","{\"a\": 1.0}"}', 'jsonb_build_object(''a'', i * 31 % 100)');
SELECT pg_temp.check_arrays('int4range', '{empty,"[1,2)","[1,)","(,1)"}', 'int4range(i * 31 % 50, i * 31 % 50 + i % 3)');
SELECT pg_temp.check_arrays('tsvector', '{"","a","a b"}', '(i * 31 % 100)::text::tsvector');
SELECT pg_temp.check_arrays('tsquery', '{"",a,"a & b"}', '(i * 31 % 100)::text::tsquery');

-- domains
CREATE DOMAIN pg_temp.code AS text COLLATE "C" CHECK (value <> 'never');
CREATE DOMAIN pg_temp.price AS numeric(12,2) CHECK (value >= 0);
CREATE DOMAIN pg_temp.positive AS bigint CHECK (value > 0);
SELECT pg_temp.check_arrays('pg_temp.code', '{"",a,b}', 'left(md5((i % 300)::text), i % 9)');
SELECT pg_temp.check_arrays('pg_temp.price', '{0,0.01,99.90}', '(hashint4(i) & 255) / 100.0');
SELECT pg_temp.check_arrays('pg_temp.positive', '{1,2,9223372036854775807}', '(hashint4(i) & 255) + 1');

-- values of many kilobytes, stored compressed and elsewhere
SELECT pg_temp.check_arrays('text COLLATE "C"', ARRAY[repeat('a', 9000), repeat('a', 9001), repeat('b', 3)],
							'repeat(md5((i % 30)::text), CASE WHEN i % 100 = 0 THEN 300 ELSE 1 END)');
-- composite types, which unnest() would take apart
CREATE TYPE pg_temp.pair AS (a integer, b text COLLATE "C");
CREATE TEMP TABLE pairs AS SELECT ARRAY(SELECT CASE WHEN i % 7 > 0 THEN ROW(i * 31 % 20, chr(65 + i % 5))::pg_temp.pair END
	FROM generate_series(1, 1000) AS i) AS a;
SELECT is(gpu_sort(a, true), ARRAY(SELECT a[i] FROM generate_series(1, 1000) AS i ORDER BY a[i] DESC), 'composite: gpu_sort') FROM pairs;
SELECT is(gpu_distinct(a), ARRAY(SELECT DISTINCT a[i] FROM generate_series(1, 1000) AS i ORDER BY a[i]), 'composite: gpu_distinct') FROM pairs;
SELECT is(gpu_select_if(a, '>', ROW(7, 'A')::pg_temp.pair),
		  ARRAY(SELECT a[i] FROM generate_series(1, 1000) AS i WHERE a[i] > ROW(7, 'A')::pg_temp.pair ORDER BY i), 'composite: gpu_select_if') FROM pairs;
SELECT is(ARRAY(SELECT value FROM gpu_count_by_key(a)), ARRAY(SELECT count(*) FROM generate_series(1, 1000) AS i GROUP BY a[i] ORDER BY a[i]),
		  'composite: gpu_count_by_key') FROM pairs;
SELECT is(gpu_rle_decode(array_agg(value ORDER BY first_row), array_agg(run_length ORDER BY first_row)), (SELECT gpu_sort(a) FROM pairs),
		  'composite: gpu_rle_runs and back') FROM gpu_rle_runs((SELECT gpu_sort(a) FROM pairs));
SELECT is(gpu_sort(ARRAY[ROW(2, 0.5), ROW(1, 7.0), ROW(1, 0.1)])::text, '{"(1,0.1)","(1,7.0)","(2,0.5)"}', 'anonymous rows');

-- what widens the form of a key half way
SELECT pg_temp.check_arrays('numeric', '{1,2,3}', 'CASE i WHEN 700 THEN 0.001 WHEN 800 THEN 1e300 WHEN 900 THEN ''NaN'' ELSE i * 31 % 100 END');
SELECT pg_temp.check_arrays('interval', '{1 day,2 days}', 'CASE WHEN i = 700 THEN ''178000000 years'' ELSE i % 30 * interval ''1 day'' END');
SELECT pg_temp.check_arrays('text COLLATE "C"', '{a}', 'CASE WHEN i = 500 THEN repeat(''x'', 300000) ELSE (i % 99)::text END');

-- collations of ICU: those where different strings may be equal, too
SELECT EXISTS (SELECT FROM pg_collation WHERE collprovider = 'i') AND getdatabaseencoding() = 'UTF8' AS icu \gset
\if :icu
CREATE COLLATION IF NOT EXISTS pg_temp.anycase (provider = icu, locale = 'und-u-ks-level2', deterministic = false);
SELECT pg_temp.check_arrays('text COLLATE pg_temp.anycase', '{"",a,A,b,B,aB,Ab}',
							'CASE WHEN i % 3 = 0 THEN upper(left(md5((i % 100)::text), 3)) ELSE left(md5((i % 100)::text), 3) END');
SELECT is((gpu_sort('{a,B,A,b}'::text[] COLLATE "und-x-icu"))::text COLLATE "C", ARRAY['a', 'A', 'b', 'B']::text, 'COLLATE counts in gpu_sort');
SELECT is((gpu_distinct('{a,B,A,b}'::text[] COLLATE pg_temp.anycase))::text COLLATE "C", ARRAY['a', 'B']::text, 'and in gpu_distinct');
SELECT is((gpu_dedup('{a,A,b,B}'::text[] COLLATE pg_temp.anycase))::text COLLATE "C", ARRAY['a', 'b']::text, 'and in gpu_dedup');
SELECT is((gpu_select_if('{a,A,b,B}'::text[] COLLATE pg_temp.anycase, '=', 'A'))::text COLLATE "C", ARRAY['a', 'A']::text, 'and in gpu_select_if');
SELECT is((gpu_argsort('{a,B,A,b}'::text[] COLLATE "C"))::text COLLATE "C", ARRAY[3, 2, 1, 4]::text, 'and in gpu_argsort');
SELECT is((SELECT array_agg(r) FROM gpu_count_by_key('{a,A,b}'::text[] COLLATE pg_temp.anycase) AS r)::text, '{"(a,2)","(b,1)"}',
		  'and in gpu_count_by_key');
\else
SELECT skip('no ICU', 6 + 26);
\endif
SELECT throws_ok($$SELECT gpu_sort(ARRAY['a' COLLATE "C", 'b' COLLATE "POSIX"])$$, NULL, NULL, 'collations in conflict');

SELECT * FROM finish();
