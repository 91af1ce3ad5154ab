-- Types without an exact encoding, of which only the comparison function is known.
\ir setup.psql
SELECT plan(11 + 9 * 14 + 6 * 6 + 6);
SET gpusort.verify = full;

CREATE TEMP TABLE u (id serial, j jsonb, a integer[], r int4range, m int4multirange, v tsvector, q tsquery, o oidvector, i integer);
INSERT INTO u (j, a, r, m, v, q, o, i)
	SELECT jsonb_build_object('a', x), ARRAY[x], int4range(x, x + 5), int4multirange(int4range(x, x + 5)), x::text::tsvector, x::text::tsquery,
		x::text::oidvector, x
	FROM generate_series(1, 100) AS x;
SELECT pg_temp.sorted_as('SELECT id FROM u ORDER BY ' || key, '(dictionary|compared)', key)
FROM unnest(ARRAY['j', 'a', 'r', 'm', 'v', 'q', 'o', 'ROW(i, id)', 'i, a', 'j, i']) AS key;
SELECT doesnt_match(pg_temp.plan_of('SELECT j FROM u ORDER BY i', 'ANALYZE, COSTS OFF'), 'Key Forms', 'they are welcome as other columns');

CREATE TYPE pg_temp.pair AS (a integer, b text);
CREATE TYPE pg_temp.mood AS ENUM ('sad', 'ok', 'happy');
ALTER TYPE pg_temp.mood ADD VALUE 'desperate' BEFORE 'sad';
ALTER TYPE pg_temp.mood ADD VALUE 'fair' AFTER 'ok';
CREATE DOMAIN pg_temp.numbers AS integer[];
SELECT pg_temp.check_type('integer[]', '{"{}","{1}","{NULL}","{1,NULL}","{{1,2},{3,4}}","[2:3]={1,2}","{1,2,3,4}","{2147483647,-2147483648}"}',
						  'ARRAY[hashint4(i), i]', 20000);
SELECT pg_temp.check_type('text[] COLLATE "en-x-icu"', '{"{}","{a}","{A}","{á}","{a,B}","{NULL,a}"}',
						  'ARRAY[left(md5((i % 900)::text), 2), upper(md5(i::text)), ''same'']', 20000);
SELECT pg_temp.check_type('int4range', '{empty,"[1,2)","[1,)","(,1)","(,)","[1,3)"}', 'int4range(hashint4(i) & 65535, 65536 + i)', 30000);
SELECT pg_temp.check_type('int4multirange', '{"{}","{[1,2)}","{[1,2),[5,)}","{(,)}"}',
						  'int4multirange(int4range(hashint4(i) & 65535, 65536 + i), int4range(70000 + i, NULL))', 20000);
SELECT pg_temp.check_type('pg_temp.pair', '{"(1,a)","(1,)","(,a)","(,)","(2,A)"}', 'ROW(i % 97, md5(i::text))::pg_temp.pair', 20000);
SELECT pg_temp.check_type('jsonb', '{null,true,1,1.0,"\"a\"","[]","{}","[1,2]","{\"a\": 1}","{\"a\": 1.0}","{\"b\": null}"}',
						  $$jsonb_build_object('k', hashint4(i), (ARRAY['a', 'b'])[1 + i % 2], md5(i::text))$$, 20000);
SELECT pg_temp.check_type('tsvector', '{"","a","a b","a:1","a:1,2","a:1A"}', '(md5(i::text) || '' and words'')::tsvector', 20000);
SELECT pg_temp.check_type('pg_temp.mood[]', '{"{}","{sad,happy}","{desperate}","{fair,NULL}"}',
						  $$ARRAY[(enum_range(NULL::pg_temp.mood))[i * 31 % 5 + 1], (enum_range(NULL::pg_temp.mood))[i * 17 % 5 + 1]]$$, 30000);
SELECT pg_temp.check_type('pg_temp.numbers', '{"{}","{1}"}', 'ARRAY[i * 7919 % 1009, i]', 20000);

-- as extensions have them: types of their own with operators of their own, by value or not, some of whose values are equal though they look
-- different, and comparison functions in any language
CREATE SCHEMA gpusort_types;
SET search_path = gpusort_types, public;
CREATE TYPE word;
CREATE FUNCTION word_in(cstring) RETURNS word LANGUAGE internal IMMUTABLE STRICT AS 'textin';
CREATE FUNCTION word_out(word) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'textout';
CREATE TYPE word (INPUT = word_in, OUTPUT = word_out, LIKE = text);
CREATE CAST (word AS text) WITHOUT FUNCTION;
CREATE FUNCTION word_cmp(word, word) RETURNS integer LANGUAGE plpgsql IMMUTABLE STRICT AS
	$$ BEGIN RETURN bttextcmp(lower($1::text) COLLATE "C", lower($2::text) COLLATE "C"); END $$;
CREATE TYPE ring;
CREATE FUNCTION ring_in(cstring) RETURNS ring LANGUAGE internal IMMUTABLE STRICT AS 'int4in';
CREATE FUNCTION ring_out(ring) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'int4out';
CREATE TYPE ring (INPUT = ring_in, OUTPUT = ring_out, LIKE = integer);
CREATE CAST (ring AS integer) WITHOUT FUNCTION;
CREATE FUNCTION ring_cmp(ring, ring) RETURNS integer LANGUAGE sql IMMUTABLE STRICT AS 'SELECT btint4cmp($1::integer % 1000, $2::integer % 1000)';
SELECT format('CREATE FUNCTION %1$s_lt(%1$s, %1$s) RETURNS boolean LANGUAGE sql IMMUTABLE STRICT AS ''SELECT %1$s_cmp($1, $2) < 0'';
	CREATE FUNCTION %1$s_gt(%1$s, %1$s) RETURNS boolean LANGUAGE sql IMMUTABLE STRICT AS ''SELECT %1$s_cmp($1, $2) > 0'';
	CREATE FUNCTION %1$s_eq(%1$s, %1$s) RETURNS boolean LANGUAGE sql IMMUTABLE STRICT AS ''SELECT %1$s_cmp($1, $2) = 0'';
	CREATE OPERATOR < (LEFTARG = %1$s, RIGHTARG = %1$s, FUNCTION = %1$s_lt, COMMUTATOR = >);
	CREATE OPERATOR > (LEFTARG = %1$s, RIGHTARG = %1$s, FUNCTION = %1$s_gt, COMMUTATOR = <);
	CREATE OPERATOR = (LEFTARG = %1$s, RIGHTARG = %1$s, FUNCTION = %1$s_eq, COMMUTATOR = =, MERGES);
	CREATE OPERATOR CLASS %1$s_ops DEFAULT FOR TYPE %1$s USING btree AS OPERATOR 1 <, OPERATOR 3 =, OPERATOR 5 >, FUNCTION 1 %1$s_cmp(%1$s, %1$s);', type)
FROM unnest('{word,ring}'::text[]) AS type \gexec
-- another class for types that have one, with the abbreviated keys of the type: good ones, ones that are given up, ones that have a comparator of their own
SELECT format('CREATE OPERATOR <# (LEFTARG = %1$s, RIGHTARG = %1$s, FUNCTION = %2$slt, COMMUTATOR = >#);
	CREATE OPERATOR ># (LEFTARG = %1$s, RIGHTARG = %1$s, FUNCTION = %2$sgt, COMMUTATOR = <#);
	CREATE OPERATOR =# (LEFTARG = %1$s, RIGHTARG = %1$s, FUNCTION = %2$seq, COMMUTATOR = =#, MERGES);
	CREATE OPERATOR CLASS other_%1$s_ops FOR TYPE %1$s USING btree AS OPERATOR 1 <#, OPERATOR 3 =#, OPERATOR 5 >#,
		FUNCTION 1 %2$scmp(%1$s, %1$s), FUNCTION 2 %3$s(internal);', type, prefix, support)
FROM (VALUES ('uuid', 'uuid_', 'uuid_sortsupport'), ('bytea', 'bytea', 'bytea_sortsupport'), ('numeric', 'numeric_', 'numeric_sortsupport')) AS x (type, prefix, support) \gexec
CREATE TEMP TABLE x AS SELECT i AS id, CASE WHEN i % 9 > 0 THEN upper(md5((i % 4000)::text))::word END AS w, lower(md5((i % 50)::text))::word AS few,
	((i * 7919) % 3003)::text::ring AS r, CASE WHEN i % 11 > 0 THEN md5((i % 4500)::text)::uuid END AS u, hashint4(i) / 7.0 AS n,
	decode('0102030405060708090a' || md5(i::text), 'hex') AS b
FROM generate_series(1, 5000) AS i;
UPDATE x SET w = lower(w::text)::word WHERE id % 2 = 0;
SELECT pg_temp.same_order('x', 'w', 'a type by reference');
SELECT pg_temp.same_order('x', 'r', 'a type by value');
SELECT pg_temp.same_order('x', 'few', 'few values');
SELECT pg_temp.same_order('(SELECT *, ctid FROM x) AS x', 'w', 'a column of a subquery');
SELECT pg_temp.same_order('x', 'r, w', 'two such');
SELECT pg_temp.same_order('x', 'few, id % 3, r', 'an exact one between two');
SELECT pg_temp.sorted_as(format('SELECT id FROM x ORDER BY %s USING <#', key), form, key) FROM (VALUES ('u', 'abbreviated'), ('b', 'compared'), ('n', 'abbreviated')) AS x (key, form);
SELECT pg_temp.same_ids(query, query || ', ctid', query) FROM unnest('{u,b,n}'::text[]) AS key, format('SELECT id FROM x ORDER BY %s USING >#', key) AS query;
RESET search_path;
SET client_min_messages = error;
DROP SCHEMA gpusort_types CASCADE;

SELECT * FROM finish();
