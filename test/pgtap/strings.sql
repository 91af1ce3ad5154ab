-- Strings in the order of their bytes.
\ir setup.psql
SELECT plan(13 * 14 + 3 * 6 + 5);

CREATE FUNCTION pg_temp.texts() RETURNS text[] LANGUAGE sql AS $$
	SELECT ARRAY['', 'a', 'b', 'A', 'Z', 'aa', 'ab', 'a ', 'a  ', ' ', '  ', 'abcdefg', 'abcdefgh', 'abcdefghi', 'abcdefgh0', E'\t', E'\u0001',
		'z', repeat('a', 16), repeat('a', 17)]
$$;

SELECT pg_temp.check_type('text COLLATE "C"', pg_temp.texts(), 'md5(i::text)');
SELECT pg_temp.check_type('text COLLATE "POSIX"', pg_temp.texts(), 'repeat(md5((i % 100)::text), i % 4)');
SELECT pg_temp.check_type('text COLLATE "C"', pg_temp.texts(), 'md5((i % 5000)::text) || i % 7');
SELECT pg_temp.check_type('varchar(99) COLLATE "C"', pg_temp.texts(), $$repeat('prefix/', 10) || i * 7919 % 50000$$);
SELECT pg_temp.check_type('character(20) COLLATE "C"', pg_temp.texts(), $$substr(md5(i::text), 1, i % 20) || repeat(' ', i % 3)$$);
SELECT pg_temp.check_type('name COLLATE "C"', pg_temp.texts() || repeat('n', 63), 'substr(md5(i::text), 1, i % 30)');
SELECT pg_temp.check_type('bytea', ARRAY['', '\x00', '\x0000', '\x000000', '\x00ff', '\x01', '\xff', '\xff00', '\xffff', '\x0100', '\x010001',
	'\x0000000000000000', '\x000000000000000000', '\xffffffffffffffff', '\xffffffffffffffffff', 'a', 'ab'],
						  $$decode(repeat('00', i % 20) || substr(md5(i::text), 1, i % 5 * 2) || repeat('00', i % 7), 'hex')$$);
SELECT pg_temp.check_type('bit(12)', '{000000000000,000000000001,100000000000,111111111111,011111111111}', '(hashint4(i))::bit(12)');
SELECT pg_temp.check_type('bit varying', ARRAY['', '0', '00', '000', '00000000', '000000000', '0000000000000000', '1', '10', '100', '10000000',
	'100000000', '11111111', '111111110', '1111111', '01', '011', '00000001', '000000010'],
						  $$substring(hashint8extended(i, 0)::bit(64) FROM 1 FOR i % 65)::bit varying$$);
SELECT pg_temp.check_type('bit varying(64)', '{"",00000000,1111111100000000,0000000000000000}',
						  $$substring(hashint8extended(i, 0)::bit(64) FROM 1 FOR i % 9 * 8)::bit varying$$);

-- domains are their base types
CREATE DOMAIN pg_temp.code AS text COLLATE "C" CHECK (value <> 'never');
CREATE DOMAIN pg_temp.price AS numeric(12,2);
SELECT pg_temp.check_type('pg_temp.code', pg_temp.texts(), 'substr(md5(i::text), 1, i % 12)');
SELECT pg_temp.check_type('pg_temp.price', '{0,0.01,-5,99.90}', 'hashint4(i) / 100.0');

-- expressions, not columns
SELECT pg_temp.check_type('text COLLATE "C"', ARRAY[repeat('a', 3000), repeat('a', 3001), repeat('b', 9000)], 'repeat(md5(i::text), 20)', 5000);

-- compressed values, values in the TOAST table, values larger than any chunk
CREATE TEMP TABLE toasted (id serial, k text COLLATE "C", b bytea);
ALTER TABLE toasted ALTER COLUMN b SET STORAGE EXTERNAL;
INSERT INTO toasted (k, b)
	SELECT repeat('same beginning ', 1000) || i * 7919 % 300, decode(repeat('00', 3000) || md5((i % 150)::text), 'hex')
	FROM generate_series(1, 300) AS i;
SELECT pg_temp.same_order('toasted', 'k', 'compressed text');
SELECT pg_temp.same_order('toasted', 'b', 'external bytea');
INSERT INTO toasted (k, b)
	SELECT repeat('x', 3000000 + i * 7 % 5) || i % 3, decode(repeat('ff', 1000000 + i % 2), 'hex') FROM generate_series(1, 12) AS i;
SELECT pg_temp.same_order('toasted', 'b DESC, k', 'values of megabytes');
SET gpusort.work_mem = '1MB';
-- which PostgreSQL's sort may take over, and ties with it
SELECT pg_temp.same_ids('SELECT id FROM toasted ORDER BY k, id', 'SELECT id FROM toasted ORDER BY k, id', 'long text in little memory');
SELECT pg_temp.same_ids('SELECT id FROM toasted ORDER BY b DESC, id', 'SELECT id FROM toasted ORDER BY b DESC, id', 'long bytea in little memory');
RESET gpusort.work_mem;

-- the pattern operators compare bytes under any collation
CREATE TEMP TABLE p (id serial, t text, c character(30));
INSERT INTO p (t, c) SELECT x, x FROM (SELECT substr(md5(i::text), 1, i % 9) || repeat(' ', i % 3) FROM generate_series(1, 3000) AS i) AS s (x);
SELECT pg_temp.same_ids('SELECT id FROM p ORDER BY t USING ~<~', 'SELECT id FROM p ORDER BY t USING ~<~, ctid', 'text pattern operators');
SELECT pg_temp.same_ids('SELECT id FROM p ORDER BY t USING ~>~', 'SELECT id FROM p ORDER BY t USING ~>~, ctid', 'text pattern operators, descending');
SELECT pg_temp.same_ids('SELECT id FROM p ORDER BY c USING ~<~', 'SELECT id FROM p ORDER BY c USING ~<~, ctid', 'bpchar pattern operators');

SELECT * FROM finish();
