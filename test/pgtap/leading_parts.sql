-- Types whose values are made of others: keys of their first parts, which must not contradict the comparison of the whole.
\ir setup.psql
SELECT plan(35 * 8 + 2 * 2 + 8);
SET gpusort.verify = full;

SELECT pg_temp.make_collation('english', 'provider = libc, locale = ''en_US.UTF-8''') AS libc \gset
\if :libc
\else
\echo '# no locale en_US.UTF-8: ICU in its place'
SELECT pg_temp.make_collation('english', 'provider = icu, locale = ''en-US''') \g /dev/null
\endif

-- A whole number from 0 up to below n, always the same for the same seed; few of them are equal for another n.
CREATE FUNCTION pg_temp.any_of(seed integer, n integer) RETURNS integer LANGUAGE sql IMMUTABLE AS 'SELECT ((hashint8extended(seed, n) >> 3) & 1073741823)::integer % n';

-- Eight tests of a type: values of it as text, and many that an expression makes of i; both several times, so that equal ones stay as they came.
CREATE FUNCTION pg_temp.check_parts(type text, literals text[], generator text, form text DEFAULT 'leading parts', clause text DEFAULT '')
RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	label text := type || clause;
	direction text;
	query text;
BEGIN
	EXECUTE format('CREATE TEMP TABLE v (id serial, k %s)', type);
	EXECUTE format('INSERT INTO v (k) SELECT %s FROM generate_series(1, 4000) AS i', generator);
	EXECUTE format('INSERT INTO v (k) SELECT CASE WHEN n > 0 THEN literal::%s END
		FROM unnest(%L::text[]) AS literal, generate_series(0, 5) AS n ORDER BY md5(literal || n)', type, literals);
	EXECUTE format('INSERT INTO v (k) SELECT %s FROM generate_series(3990, 6000) AS i', generator);
	query := format('SELECT id FROM v ORDER BY k%s', clause);
	RETURN NEXT pg_temp.sorted_as(query, form, label);
	FOREACH direction IN ARRAY ARRAY['ASC NULLS LAST', 'ASC NULLS FIRST', 'DESC NULLS LAST', 'DESC NULLS FIRST'] LOOP
		RETURN NEXT pg_temp.same_ids(query || ' ' || direction, query || ' ' || direction || ', ctid', label || ' ' || direction);
	END LOOP;
	RETURN NEXT pg_temp.same_ids(query || ', id DESC', query || ', id DESC', label || ' and a second key');
	RETURN NEXT pg_temp.same_ids('SELECT id FROM v ORDER BY id % 3, k' || clause, 'SELECT id FROM v ORDER BY id % 3, k' || clause || ', ctid', label || ' as the second key');
	PERFORM set_config('gpusort.work_mem', '1MB', false);
	RETURN NEXT pg_temp.same_ids(query, query || ', ctid', label || ' in less memory');
	RESET gpusort.work_mem;
	DROP TABLE v;
END $$;

-- arrays: elements that are NULL, no elements, dimensions, where they begin
\set shapes '{"{}","{NULL}","{NULL,NULL}","{1}","{1,NULL}","{1,2}","{1,2,3}","{1,2,3,4}","{{1,2},{3,4}}","{{1,2,3,4}}","{{1},{2},{3},{4}}","[0:1]={1,2}","[2:3]={1,2}","[0:0][0:1]={{1,2}}","{{1,2}}","{1,2,NULL,4}"}'
\set arrays 'CASE i % 7 WHEN 0 THEN ARRAY[pg_temp.any_of(i, 5), NULL, i] WHEN 1 THEN ARRAY[[1, 2], [3, i]] WHEN 2 THEN format(''[%s:%s]={1,%s}'', i % 3, i % 3 + 1, i)::integer[] WHEN 3 THEN ARRAY[1, 2, i] ELSE ARRAY[hashint4(i)] END'
SELECT pg_temp.check_parts('integer[]', :'shapes', :'arrays');
SELECT pg_temp.check_parts('bigint[]', :'shapes', format('(%s)::bigint[]', :'arrays'));
SELECT pg_temp.check_parts('smallint[]', :'shapes', 'ARRAY[i % 2, pg_temp.any_of(i, 65536) - 32768, i]::smallint[]');
SELECT pg_temp.check_parts('numeric[]', '{"{}","{1,2}","{1.0,2}","{1.00,2.000}","{NaN}","{Infinity}","{-Infinity}","{0.00001}","{1e100}","{-1e100,3}","{1,NULL}"}',
	'ARRAY[round(pg_temp.any_of(i, 100) / 10.0, i % 4), hashint4(i) / 7.0]');
SELECT pg_temp.check_parts('double precision[]', '{"{0,1}","{-0,1}","{NaN,1}","{Infinity}","{-Infinity}","{-1e-300}","{NULL}","{}"}',
	'ARRAY[(''{0,-0,NaN,1,-1}''::double precision[])[1 + i % 5], hashint4(i)]');
SELECT pg_temp.check_parts('uuid[]', '{"{}","{00000000-0000-0000-0000-000000000000}"}', 'ARRAY[md5((i % 9)::text), md5(i::text)]::uuid[]');
SELECT pg_temp.check_parts('interval[]', '{"{1 month,1 day}","{30 days,1 day}","{720:00:00,1 day}","{-1 month}","{}"}',
	'ARRAY[(ARRAY[''1 month'', ''30 days'', ''29 days 24:00'', ''31 days''])[1 + i % 4]::interval, i * interval ''1 min'']');
SELECT pg_temp.check_parts('boolean[]', '{"{t}","{f}","{}","{t,NULL}"}', 'ARRAY(SELECT (i >> n & 1)::boolean FROM generate_series(0, 13) AS n)');
SELECT pg_temp.check_parts('bytea[]', '{"{\"\\\\x\"}","{\"\\\\x00\"}","{\"\\\\x0000\"}","{\"\\\\x00\",\"\\\\x00\"}","{\"\\\\x00ff\"}","{\"\\\\xff\"}","{}","{NULL}"}',
	'ARRAY[decode(repeat(''00'', i % 4) || ''ff'', ''hex''), decode(md5(i::text), ''hex'')]');
SELECT pg_temp.check_parts('bit varying[]', '{"{0}","{00}","{\"\"}","{0,0}","{1}"}', 'ARRAY[(i % 8)::bit(3)::bit varying(2), i::bit(20)]');
SELECT pg_temp.check_parts('inet[]', '{"{10.0.0.0/8}","{10.0.0.0}","{::1}","{::/0}"}', 'ARRAY[''10.0.0.0''::inet + i % 5, ''::''::inet + i]');
SELECT pg_temp.check_parts('text[]', '{"{}","{a}","{a,b}","{ab}","{\"\"}","{\"\",\"\"}","{NULL,a}"}',
	'ARRAY[repeat(''x'', i % 90), CASE WHEN i % 3 > 0 THEN left(md5(i::text), i % 7) END, i::text]', clause => ' COLLATE "C"');
SELECT pg_temp.check_parts('text[]', '{"{}","{a}","{A}","{á}","{a,b}","{A,b}","{-a,b}","{\"\"}","{NULL}","{1-1a}","{11a}"}',
	'ARRAY[(ARRAY[''e-mail'', ''email'', ''E-Mail'', ''émail''])[1 + i % 4] || pg_temp.any_of(i, 3000), md5(i::text)]', clause => ' COLLATE pg_temp.english');
SELECT pg_temp.check_parts('varchar(9)[]', '{"{a}","{\"a \"}","{A}"}', 'ARRAY[left(md5(i::text), i % 9), i::text]', clause => ' COLLATE "de-x-icu"');
SELECT pg_temp.check_parts('char(9)[]', '{"{a}","{\"a \"}","{A}","{\"\"}"}', 'ARRAY[left(md5(i::text), i % 9), i::text]', clause => ' COLLATE pg_temp.english');
SELECT pg_temp.check_parts('name[]', '{"{a}","{\"a \"}","{A}","{\"\"}"}', 'ARRAY[left(md5(i::text), i % 9), i::text]::name[]');

-- arrays of what is made of others itself, of domains, of enums with values between others
CREATE TYPE pg_temp.mood AS ENUM ('sad', 'ok', 'happy');
ALTER TYPE pg_temp.mood ADD VALUE 'desperate' BEFORE 'sad';
ALTER TYPE pg_temp.mood ADD VALUE 'fair' AFTER 'ok';
CREATE DOMAIN pg_temp.positive AS integer CHECK (value > 0);
CREATE DOMAIN pg_temp.numbers AS integer[];
CREATE TYPE pg_temp.pair AS (a integer, b text COLLATE pg_temp.english);
CREATE TYPE pg_temp.nested AS (m pg_temp.mood, p pg_temp.pair, n pg_temp.numbers, z integer);
SELECT pg_temp.check_parts('pg_temp.mood[]', '{"{sad}","{desperate}","{fair}","{ok,NULL}","{}"}',
	'ARRAY(SELECT (enum_range(NULL::pg_temp.mood))[1 + pg_temp.any_of(i + n, 5)] FROM generate_series(1, 9) AS n)');
SELECT pg_temp.check_parts('pg_temp.positive[]', '{"{1}","{1,NULL}","{}"}', 'ARRAY[1 + i % 5, i]::pg_temp.positive[]');
SELECT pg_temp.check_parts('pg_temp.numbers', :'shapes', :'arrays');
SELECT pg_temp.check_parts('pg_temp.pair[]', '{"{\"(1,a)\"}","{\"(1,A)\"}","{\"(,a)\",\"(1,)\"}","{NULL}","{}"}', 'ARRAY[(i % 5, NULL), (i, ''a'')]::pg_temp.pair[]');
SELECT pg_temp.check_parts('int4range[]', '{"{empty}","{\"[1,2)\",\"(,)\"}","{}","{NULL}"}', 'ARRAY[int4range(i % 5, NULL), int4range(NULL, i)]');

-- ranges: empty ones, bounds that are open, in or out; subtypes in a language, and made of parts
CREATE TYPE pg_temp.words AS RANGE (subtype = text, collation = pg_temp.english);
CREATE TYPE pg_temp.bytes AS RANGE (subtype = text, subtype_opclass = text_pattern_ops);
CREATE TYPE pg_temp.lists AS RANGE (subtype = integer[]);
\set ranges '{empty,"(,)","(,1)","(,1]","[1,)","(1,)","[1,1]","[1,2)","(1,2)","[1,2]","(1,2]","[2,3]"}'
SELECT pg_temp.check_parts('int4range', :'ranges', 'CASE i % 5 WHEN 0 THEN int4range(NULL, i) WHEN 1 THEN int4range(pg_temp.any_of(i, 20), NULL) ELSE int4range(hashint4(i) >> 8, 16777216 + i) END');
SELECT pg_temp.check_parts('numrange', :'ranges', 'numrange(round(pg_temp.any_of(i, 50) / 10.0, i % 3), 10 + round(i / 3.0, i % 9), (ARRAY[''[]'', ''[)'', ''()'', ''(]''])[1 + i % 4])');
SELECT pg_temp.check_parts('tsrange', '{empty,"(,)","[-infinity,infinity]","(-infinity,)"}', '''[2024-01-01,)''::tsrange * tsrange(NULL, timestamp ''2024-01-01'' + i * interval ''1 s'')');
SELECT pg_temp.check_parts('pg_temp.words', '{empty,"(,)","[a,B)","[A,B)","[\"\",)"}', 'pg_temp.words((ARRAY[''a'', ''A'', ''-a''])[1 + i % 3] || pg_temp.any_of(i, 3000), ''b'' || i)');
SELECT pg_temp.check_parts('pg_temp.bytes', '{empty,"(,)","[a,b)","[A,B)","[\"\",)"}', 'pg_temp.bytes((ARRAY[''a'', ''A'', ''''])[1 + i % 3], ''b'' || i)');
SELECT pg_temp.check_parts('pg_temp.lists', '{empty,"(,)","[\"{1,2}\",\"[2:3]={1,2}\"]","[{},)"}', 'pg_temp.lists(ARRAY[i % 5], ARRAY[9, i])');
SELECT pg_temp.check_parts('int4multirange', '{"{}","{[1,2)}","{[1,2),[5,)}","{(,)}","{(,1)}","{[1,)}","{[1,2),[4,5)}"}',
	'int4multirange(int4range(pg_temp.any_of(i, 9), 10), int4range(20, 21 + CASE WHEN i % 5 > 0 THEN i END), int4range(70000 + i % 7, 80000 + i))');

-- records: columns dropped and added, nested ones, anonymous ones, such whose columns have other lengths
SELECT pg_temp.check_parts('pg_temp.pair', '{"(1,a)","(1,A)","(1,-a)","(1,)","(,a)","(,)","(2,\"\")"}', '(pg_temp.any_of(i, 3000), CASE WHEN i % 9 > 0 THEN chr(96 + i % 26) END)::pg_temp.pair');
SELECT pg_temp.check_parts('pg_temp.nested', '{"(sad,\"(1,a)\",{1},1)","(,\"(,)\",,)","(,,,)","(fair,\"(1,)\",{},2)","(fair,\"(1,)\",\"[2:2]={7}\",1)"}',
	'((enum_range(NULL::pg_temp.mood))[1 + i % 5], (i % 7, CASE WHEN i % 2 > 0 THEN i END), ARRAY[i % 11], i)::pg_temp.nested');
CREATE TABLE pg_temp.changed (a integer, gone text, b numeric, c bigint);
ALTER TABLE pg_temp.changed DROP COLUMN gone;
CREATE TEMP TABLE w AS SELECT i AS id, (i % 5, i / 7.0, i)::pg_temp.changed AS r FROM generate_series(1, 3000) AS i;
ALTER TABLE pg_temp.changed ADD COLUMN d integer;
INSERT INTO w SELECT i, (i % 5, i / 7.0, CASE WHEN i % 3 > 0 THEN i END, i)::pg_temp.changed FROM generate_series(1, 3000) AS i;
SELECT pg_temp.sorted_as('SELECT id FROM w ORDER BY r', 'leading parts', 'columns dropped and added');
SELECT pg_temp.same_ids('SELECT id FROM w ORDER BY r', 'SELECT id FROM w ORDER BY r, ctid', 'columns dropped and added');
SELECT test FROM (VALUES ('ROW(id % 4, id::text COLLATE pg_temp.english)', 'leading parts'),
	('CASE WHEN id % 2 = 0 THEN ROW(id, ''a''::varchar(3)) ELSE ROW(id % 4, id::varchar(9)) END', 'compared')) AS x (record, form),
	LATERAL (VALUES (pg_temp.sorted_as('SELECT id FROM w ORDER BY ' || record, form, record)),
		(pg_temp.same_ids('SELECT id FROM w ORDER BY ' || record, 'SELECT id FROM w ORDER BY ' || record || ', ctid', record))) AS y (test);

-- documents: all types of values, sizes, names, what is nested
\set documents '{null,true,false,1,1.0,-1,1e50,"\\"\\"","\\"a\\"","\\"A\\"","\\"-a\\"","[]","{}","[[]]","[{}]","[null]","[1]","[1.0]","[\\"a\\"]","[1,2]","[[1],2]","[1,[2]]","{\\"a\\": 1}","{\\"a\\": 1.0}","{\\"A\\": 1}","{\\"a\\": null}","{\\"a\\": []}","{\\"a\\": {}}","{\\"b\\": null}","{\\"aa\\": 0, \\"b\\": 1}","{\\"b\\": 1, \\"a\\": {\\"c\\": [true, false]}}"}'
SELECT pg_temp.check_parts('jsonb', :'documents', $$jsonb_build_object((ARRAY['a', 'B', 'c-d', 'cd'])[1 + i % 4], pg_temp.any_of(i, 9), 'z', jsonb_build_array(i, i::text))$$);
SELECT pg_temp.check_parts('jsonb', :'documents', $$CASE i % 4 WHEN 0 THEN to_jsonb(i / 3.0) WHEN 1 THEN to_jsonb(md5(i::text)) WHEN 2 THEN jsonb_build_array(i % 7, NULL, true, i)
	ELSE jsonb_build_object('k', jsonb_build_object('l', jsonb_build_array(i % 3, i))) END$$);
SELECT pg_temp.check_parts('jsonb', :'documents', $$jsonb_build_object('a', i % 5, md5(i::text), i)$$);
SELECT pg_temp.check_parts('jsonb[]', '{"{1}","{\"[]\"}","{NULL}","{}"}', $$ARRAY[to_jsonb(i % 4), jsonb_build_object('a', i)]$$);

-- values that are compressed, out of line, or larger than what is looked at
SELECT pg_temp.check_parts('integer[]', '{"{}"}', 'array_fill(i % 3, ARRAY[10 + i % 500]) || i');
CREATE TEMP TABLE large (id serial, a text[], b bytea[]);
ALTER TABLE large ALTER a SET STORAGE external;
INSERT INTO large (a, b) SELECT ARRAY[repeat('x', 2000 + i % 3), i::text], ARRAY[decode(md5(i::text), 'hex')] FROM generate_series(1, 1000) AS i;
INSERT INTO large (b) VALUES (ARRAY[decode(repeat('00', 1100000), 'hex')]), (ARRAY['\x00'::bytea]);
SELECT pg_temp.sorted_as('SELECT id FROM large ORDER BY a', 'leading parts', 'out of line');
SELECT pg_temp.same_ids('SELECT id FROM large ORDER BY a', 'SELECT id FROM large ORDER BY a, ctid', 'out of line');
SELECT pg_temp.sorted_as('SELECT id FROM large ORDER BY b', 'compared', 'a part of more than a megabyte');
SELECT pg_temp.same_ids('SELECT id FROM large ORDER BY b', 'SELECT id FROM large ORDER BY b, ctid', 'a part of more than a megabyte');

-- an operator class whose comparison function says otherwise than its operators: found out once, then not believed
CREATE FUNCTION pg_temp.backward_cmp(integer, integer) RETURNS integer LANGUAGE sql IMMUTABLE AS 'SELECT btint4cmp($2, $1)';
CREATE OPERATOR CLASS pg_temp.backward_ops FOR TYPE integer USING btree AS OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >,
	FUNCTION 1 pg_temp.backward_cmp(integer, integer);
CREATE TYPE pg_temp.backward AS RANGE (subtype = integer, subtype_opclass = pg_temp.backward_ops);
CREATE TEMP TABLE liar AS SELECT i AS id, pg_temp.backward(hashint4(i), NULL) AS r FROM generate_series(1, 2000) AS i;
SELECT matches(pg_temp.plan_of('SELECT id FROM liar ORDER BY r', 'ANALYZE, COSTS OFF'), 'sort keys contradict the comparison function', 'an operator class that lies');
SELECT pg_temp.sorted_as('SELECT id FROM liar ORDER BY r', 'compared', 'the next time');

SELECT * FROM finish();
