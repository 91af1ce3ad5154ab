-- Resident columns: what gpusort_columns_add refuses and says, who may choose, and what the view shows to whom.
\ir setup.psql
CREATE EXTENSION IF NOT EXISTS gpusort;
SELECT plan(33);
DROP SCHEMA IF EXISTS gpusort_columns_test CASCADE;
CREATE SCHEMA gpusort_columns_test;
GRANT USAGE ON SCHEMA gpusort_columns_test TO PUBLIC;
SET search_path = gpusort_columns_test, public;

CREATE TABLE c (id bigint, n numeric(10, 2), wide numeric, t json, i interval, e bigint GENERATED ALWAYS AS (id * 2) STORED);
INSERT INTO c SELECT g, g / 3.0, g, '"x"', '1 h' FROM generate_series(1, 1000) AS g;
-- numerics of all lengths, with the integers that they are held as
CREATE TABLE scaled AS SELECT v::numeric(12, 2) AS two, (v::numeric(12, 2) * 100)::bigint AS two_held,
	(v / 1000)::numeric(18, 5) AS five, ((v / 1000)::numeric(18, 5) * 100000)::bigint AS five_held,
	(v / 7)::numeric(16, 4) AS four, ((v / 7)::numeric(16, 4) * 10000)::bigint AS four_held,
	(v / 3)::numeric(15, 0) AS none, (v / 3)::numeric(15, 0)::bigint AS none_held
FROM (SELECT s * d * 10 ^ e::numeric AS v FROM unnest('{-1,0,1}'::numeric[]) AS s,
	unnest('{1,1.1,1.01,9,9.99,1.2345,1.00004,9.9999,9.99994}'::numeric[]) AS d, generate_series(-6, 9) AS e) AS x;
CREATE TABLE nothing (t json);
CREATE TABLE parent (id bigint) PARTITION BY RANGE (id);
CREATE UNLOGGED TABLE unlogged (id bigint);
CREATE TEMPORARY TABLE temporary (id bigint);
CREATE VIEW v AS SELECT id FROM c;
CREATE MATERIALIZED VIEW m AS SELECT id FROM c;
CREATE SEQUENCE s;
SELECT format('CREATE TABLE many (%s)', string_agg(format('c%s bigint', i), ', ')) FROM generate_series(1, 800) AS i \gexec
CREATE ROLE columns_owner;
CREATE ROLE columns_reader;
CREATE ROLE columns_stranger;
CREATE TABLE owned (id bigint, secret bigint);
ALTER TABLE owned OWNER TO columns_owner;
GRANT SELECT (id) ON owned TO columns_reader;

SELECT throws_like($$SELECT gpusort_columns_add('c', '{id,t}')$$, 'column "t" of "c" cannot be held', 'json');
SELECT throws_like($$SELECT gpusort_columns_add('c', '{i}')$$, 'column "i" of "c" cannot be held', 'interval');
SELECT throws_like($$SELECT gpusort_columns_add('c', '{wide}')$$, 'column "wide" of "c" cannot be held', 'numeric without a precision');
SELECT throws_like($$SELECT gpusort_columns_add('c', '{id,none}')$$, 'column "none" of "c" does not exist', 'no such column');
SELECT throws_like($$SELECT gpusort_columns_add('c', '{ctid}')$$, 'column "ctid" of "c" cannot be held', 'a system column');
SELECT throws_like($$SELECT gpusort_columns_add('c', '{}')$$, 'no column is named', 'no column');
SELECT throws_like($$SELECT gpusort_columns_add('c', '{NULL}')$$, '%must not be NULL', 'a NULL');
SELECT throws_like($$SELECT gpusort_columns_add('nothing')$$, 'no column of "nothing" can be held', 'a table of json');
SELECT throws_like($$SELECT gpusort_columns_add('unlogged')$$, 'columns of "unlogged" cannot be held', 'an unlogged table');
SELECT throws_like($$SELECT gpusort_columns_add('temporary')$$, 'columns of "temporary" cannot be held', 'a temporary table');
SELECT throws_like($$SELECT gpusort_columns_add('v')$$, 'columns of "v" cannot be held', 'a view');
SELECT throws_like($$SELECT gpusort_columns_add('s')$$, 'columns of "s" cannot be held', 'a sequence');
SELECT throws_like($$SELECT gpusort_columns_add('pg_class')$$, 'columns of "pg_class" cannot be held', 'a system table');
SELECT throws_like($$SELECT gpusort_columns_add('many')$$, 'columns of "many" cannot be held', 'so many columns that a page of rows fits no message');
SELECT lives_ok($$SELECT gpusort_columns_add('many', '{c1,c800}')$$, 'some of them');
SELECT throws_like($$SELECT gpusort_columns_add(1::regclass)$$, 'relation with OID 1 does not exist', 'no such table');
SELECT throws_like($$SELECT gpusort_columns_remove('c')$$, 'no columns of "c" were chosen', 'a removal of what was not chosen');
SELECT is(gpusort_columns_add(NULL)::text, NULL, 'NULL');

SELECT lives_ok($$SELECT gpusort_columns_add('c')$$, 'a table');
SELECT results_eq($$SELECT "column"::text COLLATE "default" FROM gpusort_columns WHERE rel = 'c'::regclass ORDER BY 1$$, $$VALUES ('e'::text), ('id'), ('n')$$,
	'all that can be held');
SELECT lives_ok($$SELECT gpusort_columns_add('c', '{id}')$$, 'chosen again');
SELECT results_eq($$SELECT "column"::text COLLATE "default" FROM gpusort_columns WHERE rel = 'c'::regclass$$, $$VALUES ('id'::text)$$, 'the last choice counts');
SELECT lives_ok($$SELECT gpusort_columns_add('m')$$, 'a materialized view');
SELECT lives_ok($$SELECT gpusort_columns_add('parent')$$, 'a parent without partitions');

SELECT is(count(of)::int, 0, 'numeric with ' || decimals || ' decimals is held as an integer')
FROM (VALUES (0), (2), (4), (5)) AS d (decimals) LEFT JOIN (
	SELECT 2 AS of FROM scaled WHERE gpusort_columns_hash(two) IS DISTINCT FROM gpusort_columns_hash(two_held) UNION ALL
	SELECT 5 FROM scaled WHERE gpusort_columns_hash(five) IS DISTINCT FROM gpusort_columns_hash(five_held) UNION ALL
	SELECT 4 FROM scaled WHERE gpusort_columns_hash(four) IS DISTINCT FROM gpusort_columns_hash(four_held) UNION ALL
	SELECT 0 FROM scaled WHERE gpusort_columns_hash(none) IS DISTINCT FROM gpusort_columns_hash(none_held)) AS x
	ON of = decimals GROUP BY decimals ORDER BY decimals;

SET ROLE columns_stranger;
SELECT throws_like($$SELECT gpusort_columns_add('owned')$$, 'must be owner of table owned', 'by somebody else');
SET ROLE columns_owner;
SELECT lives_ok($$SELECT gpusort_columns_add('owned')$$, 'by its owner');
SET ROLE columns_reader;
SELECT results_eq($$SELECT "column"::text COLLATE "default" FROM gpusort_columns$$, $$VALUES ('id'::text)$$, 'a column is shown to whoever may read it');
SET ROLE columns_stranger;
SELECT is_empty($$SELECT "column"::text COLLATE "default" FROM gpusort_columns$$, 'and to nobody else');
RESET ROLE;
SELECT lives_ok($$SELECT gpusort_columns_remove('c'), gpusort_columns_remove('m'), gpusort_columns_remove('parent'),
	gpusort_columns_remove('owned')$$, 'removed');

DROP SCHEMA gpusort_columns_test CASCADE;
SELECT * FROM finish();
DROP OWNED BY columns_owner, columns_reader, columns_stranger;
DROP ROLE columns_owner, columns_reader, columns_stranger;
