-- Resident columns: which queries GpuColumns takes over, and that it does what a plan node must: parameters, rescans, cursors,
-- partitions, own changes, rights.
\ir setup.psql
CREATE EXTENSION IF NOT EXISTS gpusort;
SELECT no_plan();
CREATE SCHEMA columns_offers;
SET search_path = columns_offers, public;
RESET enable_indexscan;

CREATE TABLE t (id bigint, shop int, price numeric(10, 2), f4 float4, f8 float8, d date, ts timestamp, tz timestamptz, ok bool, other int, note text);
INSERT INTO t SELECT g, g % 50, g / 100.0, g, sqrt(g), date '2020-01-01' + g % 900, timestamp '2020-01-01' + g * interval '1 min', timestamptz '2020-01-01 00:00+00' + g * interval '1 min',
	g % 3 = 0, g, g::text FROM generate_series(1, 40000) AS g;
CREATE INDEX ON t (id);
VACUUM ANALYZE t;
CREATE TABLE shops (shop int, name text);
INSERT INTO shops SELECT g, 'shop ' || g FROM generate_series(0, 60) AS g;
CREATE MATERIALIZED VIEW m AS SELECT id, price FROM t WHERE shop < 5;
CREATE TABLE p (k int, v numeric(8, 2), dropped int) PARTITION BY RANGE (k);
CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (10000);
CREATE TABLE p2 (v numeric(8, 2), gone int, k int, dropped int);
ALTER TABLE p2 DROP COLUMN gone;
ALTER TABLE p ATTACH PARTITION p2 FOR VALUES FROM (10000) TO (20000);
CREATE TABLE p3 PARTITION OF p FOR VALUES FROM (20000) TO (40000) PARTITION BY RANGE (k);
CREATE TABLE p31 PARTITION OF p3 FOR VALUES FROM (20000) TO (30000);
CREATE TABLE p32 PARTITION OF p3 FOR VALUES FROM (30000) TO (40000);
ALTER TABLE p DROP COLUMN dropped;
INSERT INTO p SELECT g, g / 10.0 FROM generate_series(0, 39999) AS g;
VACUUM ANALYZE p;
CREATE TABLE parent (a int);
CREATE TABLE child () INHERITS (parent);
CREATE TABLE apart (k int, v int) PARTITION BY LIST (k);
CREATE TABLE apart1 PARTITION OF apart FOR VALUES IN (1);
CREATE TABLE apart2 PARTITION OF apart FOR VALUES IN (2);
INSERT INTO apart SELECT 1 + g % 2, g FROM generate_series(1, 20000) AS g;
VACUUM ANALYZE apart;
SELECT gpusort_columns_add('t', '{id,shop,price,f4,f8,d,ts,tz,ok}'), gpusort_columns_add('m'), gpusort_columns_add('p'), gpusort_columns_add('parent'),
	gpusort_columns_add('apart2');

\ir columns_queries.psql

-- chosen by cost alone
SELECT matches(plan_of('EXPLAIN SELECT sum(price) FROM t', 'on'), 'GpuColumns', 'a whole table');
SELECT doesnt_match(plan_of('EXPLAIN SELECT sum(price) FROM t WHERE id = 5', 'on'), 'GpuColumns', 'a row by its index');
SELECT doesnt_match(plan_of('EXPLAIN SELECT sum(price) FROM t', 'off'), 'GpuColumns', 'columns are off');

-- what is left to PostgreSQL
SELECT left_alone(q) FROM unnest(ARRAY[
	'SELECT sum(price ORDER BY id) FROM t',
	'SELECT sum(f4) FROM t', 'SELECT avg(f4) FROM t', 'SELECT stddev(price) FROM t', 'SELECT max(note) FROM t', 'SELECT sum(other) FROM t',
	'SELECT count(*) FROM t WHERE other = 5', 'SELECT count(note) FROM t', 'SELECT count(*) FROM t WHERE note = ''5''', 'SELECT count(*) FROM t WHERE shop + 1 = 5',
	'SELECT count(*) FROM t WHERE shop = 5 OR id = 5', 'SELECT count(*) FROM t WHERE shop NOT IN (1, 2)', 'SELECT count(*) FROM t WHERE ok IS NOT TRUE', 'SELECT count(*) FROM t WHERE id < random()',
	'SELECT count(*) FROM t WHERE ts < timestamptz ''2020-02-02''', 'SELECT count(*) FROM t WHERE d < timestamptz ''2020-02-02''', 'SELECT count(*) FROM t WHERE id < 5.5::float8', 'SELECT count(*) FROM t WHERE ctid = ''(0,1)''',
	'SELECT count(*) FROM t WHERE tableoid = 5', 'SELECT count(t) FROM t', 'SELECT sum(price / 2) FROM t', 'SELECT sum(-price) FROM t', 'SELECT sum(f8 * 2) FROM t', 'SELECT sum(price * random()::numeric) FROM t', 'SELECT sum(price::numeric(10, 1)) FROM t',
	'SELECT count(*) FROM t TABLESAMPLE SYSTEM (50)', 'SELECT count(*) FROM parent', 'SELECT count(*) FROM ONLY p', 'SELECT count(*) FROM t JOIN shops USING (shop)', 'SELECT count(*) FROM (SELECT * FROM t LIMIT 5) AS x',
	'SELECT count(*) FROM shops', 'SELECT count(*) FROM t WHERE shop IN (SELECT shop FROM shops)', 'SELECT min(s) FROM (SELECT sum(other) AS s FROM t) AS x',
	'SELECT count(*) FROM p WHERE k < 0', 'SELECT count(*) FROM t WHERE false', 'SELECT count(*) FROM apart WHERE k = 1']) AS q;
SELECT matches(plan_of('EXPLAIN SELECT sum(f8) FROM t', 'force'), 'GpuColumns', 'sums of floats');
SET gpusort.columns_float_sums = off;
SELECT left_alone(format('SELECT %s(f8) FROM t', f)) FROM unnest('{sum,avg}'::text[]) AS f;
RESET gpusort.columns_float_sums;
SET gpusort.enabled = off;
SELECT left_alone('SELECT sum(price) FROM t');
RESET gpusort.enabled;

-- what stands above
SELECT answered(q) FROM unnest(ARRAY[
	'SELECT count(*) FROM (SELECT id, price * 2 AS double FROM t WHERE ok) AS x WHERE x.id > 5', 'WITH x AS MATERIALIZED (SELECT sum(price) AS s FROM t) SELECT s, s + 1 FROM x',
	'SELECT (SELECT sum(price) FROM t WHERE ok), (SELECT count(*) FROM t WHERE NOT ok)', 'SELECT count(*) FROM t WHERE price > (SELECT avg(price) FROM t)',
	'SELECT shop, (SELECT sum(price) FROM t WHERE t.shop = shops.shop) FROM shops', 'SELECT shop, s FROM shops, LATERAL (SELECT sum(price * shops.shop) AS s FROM t WHERE t.shop >= shops.shop AND d < ''2021-01-01'') AS x',
	'SELECT name, x.n FROM shops LEFT JOIN LATERAL (SELECT count(*) AS n, max(price) FROM t WHERE t.shop = shops.shop) AS x ON true', 'SELECT sum(price) FROM t UNION ALL SELECT min(price) FROM t UNION ALL SELECT count(*) FROM m',
	'SELECT EXISTS (SELECT count(*) FROM t WHERE shop = 700)', 'SELECT (SELECT name FROM shops WHERE shop = n) FROM (SELECT count(*) - 39990 AS n FROM t) AS x', 'SELECT sum(price) FROM m WHERE id > 100',
	'SELECT a.s FROM (SELECT sum(id) AS s FROM t) AS a, (SELECT sum(id) AS s FROM t WHERE id >= 0) AS b WHERE a.s = b.s']) AS q;

-- partitions: all, those that pruning leaves, and some that are not held
SELECT answered(q) FROM unnest(ARRAY['SELECT count(*), sum(v), avg(v), min(k), max(v) FROM p', 'SELECT count(*), sum(v) FROM p WHERE k < 15000', 'SELECT min(v) FROM p WHERE k BETWEEN 25000 AND 25010', 'SELECT sum(v * k) FROM p2 WHERE k > 3',
	'SELECT count(*), sum(v), min(v) FROM apart', 'SELECT count(*) FROM apart', 'SELECT sum(v) FROM p3', 'SELECT max(k) FROM p WHERE k = (SELECT 12345)']) AS q;
SELECT doesnt_match(plan_of('EXPLAIN (ANALYZE, COSTS OFF) SELECT sum(v) FROM p', 'on'), 'not used', 'partitions are answered from columns');
CREATE TABLE p4 (k int, v numeric(8, 2));
INSERT INTO p4 SELECT g, g FROM generate_series(40000, 41000) AS g;
PREPARE of_p AS SELECT count(*), sum(v) FROM p;
SELECT results_eq('EXECUTE of_p', 'SELECT count(*), sum(v) FROM (TABLE p) AS x GROUP BY ()', 'prepared, over partitions');
ALTER TABLE p ATTACH PARTITION p4 FOR VALUES FROM (40000) TO (50000);
SELECT results_eq('EXECUTE of_p', 'SELECT count(*), sum(v) FROM (TABLE p) AS x GROUP BY ()', 'a partition is attached');
ALTER TABLE p DETACH PARTITION p1;
SELECT results_eq('EXECUTE of_p', 'SELECT count(*), sum(v) FROM (TABLE p) AS x GROUP BY ()', 'a partition is detached');
ALTER TABLE p2 RENAME TO p2_renamed;
ALTER TABLE p RENAME v TO value;
SELECT results_eq('SELECT sum(value) FROM p', 'SELECT sum(value) FROM (TABLE p) AS x GROUP BY ()', 'a column is renamed');

-- parameters
SET gpusort.columns = force;
PREPARE of_t (int, numeric, date[]) AS SELECT count(*), sum(price * $2) FROM t WHERE shop < $1 AND d = ANY ($3);
CREATE FUNCTION of_t(int, numeric, date[]) RETURNS TABLE (n bigint, s numeric) LANGUAGE sql SET gpusort.columns = off AS $$
	SELECT count(*), sum(price * $2) FROM t WHERE shop < $1 AND d = ANY ($3)
$$;
SET plan_cache_mode = force_generic_plan;
SELECT results_eq(format('EXECUTE of_t (%s)', x), format('SELECT * FROM of_t(%s)', x), 'prepared: ' || x) FROM unnest(ARRAY[$$5, 1.5, '{2020-01-05,2021-05-05}'$$,
	$$NULL, 1, '{2020-01-05}'$$, $$5, NULL, '{2020-01-05}'$$, $$50, 0.12345, '{NULL,2020-01-05}'$$, $$50, 1, NULL$$, $$50, 1, '{}'$$]) AS x;
SELECT matches(plan_of('EXPLAIN EXECUTE of_t (1, 1, NULL)', 'force'), 'GpuColumns', 'the generic plan');
SET gpusort.columns = on;
SELECT is((SELECT regexp_replace(plan_of('EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) EXECUTE of_t (5, 1, ''{2020-01-05}'')', 'off'), '.*(Columns: [^\n]*).*', '\1')), 'Columns: not used (gpusort.columns is off)', 'columns are switched off under a plan');
SET gpusort.enabled = off;
SELECT matches(plan_of('EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) EXECUTE of_t (5, 1, ''{2020-01-05}'')', 'on'), 'not used \(gpusort.enabled is off\)', 'gpusort is switched off under a plan');
RESET gpusort.enabled;
SELECT gpusort_columns_remove('m');
SELECT left_alone('SELECT sum(price) FROM m');
RESET plan_cache_mode;

-- own changes, and those that are rolled back
SET gpusort.columns = force;
BEGIN;
INSERT INTO t (id, price) VALUES (50001, 1000), (50002, NULL);
SELECT answered('SELECT count(*), sum(price), max(id) FROM t');
SAVEPOINT s;
UPDATE t SET price = price + 1 WHERE id % 1000 = 0;
DELETE FROM t WHERE id = 7;
SELECT answered('SELECT count(*), sum(price), max(id) FROM t');
ROLLBACK TO s;
SELECT answered('SELECT count(*), sum(price), max(id) FROM t');
SELECT results_eq('WITH x AS (DELETE FROM t WHERE id < 1000 RETURNING id) SELECT (SELECT count(*) FROM x), (SELECT count(*) FROM t)', 'VALUES (999::bigint, 40002::bigint)', 'a statement does not see its own changes');
SELECT answered('SELECT count(*), sum(price), max(id) FROM t');
ROLLBACK;
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT answered('SELECT count(*), sum(price), max(id) FROM t');
COMMIT;
BEGIN;
TRUNCATE t;
SELECT throws_like('SELECT count(*) FROM t', 'the query cannot be answered from columns', 'a table that is new in this transaction');
SET LOCAL gpusort.columns = on;
SELECT is((SELECT count(*) FROM t), 0::bigint, 'is read as it is');
ROLLBACK;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT throws_like('SELECT count(*) FROM t', 'the query cannot be answered from columns', 'a serializable transaction');
ROLLBACK;
BEGIN;
ALTER TABLE t ADD COLUMN later int DEFAULT 5;
SELECT left_alone('SELECT sum(later) FROM t');
ALTER TABLE t ALTER d TYPE timestamp;
SELECT throws_like('SELECT max(d) FROM t', 'the query cannot be answered from columns', 'a column of another type');
ROLLBACK;
SELECT ok(settled('SELECT sum(price) FROM t'), 'after that, columns answer again');
SELECT answered('SELECT count(*), sum(price), max(id) FROM t');

-- cursors, and statements that write
BEGIN;
DECLARE c CURSOR FOR SELECT sum(price) FROM t;
DECLARE scrolling SCROLL CURSOR FOR SELECT sum(price) FROM t;
DECLARE held CURSOR WITH HOLD FOR SELECT sum(price) FROM t;
UPDATE t SET price = price + 1 WHERE id = 5;
SELECT results_eq('FETCH c', 'VALUES (8000200.00)', 'a cursor sees what was there when it was opened');
SELECT results_eq('FETCH ALL FROM scrolling', 'VALUES (8000200.00)', 'a scrolling cursor');
SELECT results_eq('FETCH BACKWARD 1 FROM scrolling', 'VALUES (8000200.00)', 'backward');
COMMIT;
SELECT results_eq('FETCH held', 'VALUES (8000200.00)', 'a cursor beyond its transaction');
CLOSE held;
UPDATE t SET price = price - 1 WHERE id = 5;
SELECT lives_ok('CREATE TABLE sums AS SELECT sum(price) AS s FROM t', 'CREATE TABLE AS');
SELECT lives_ok('INSERT INTO sums SELECT sum(price) FROM t', 'INSERT ... SELECT');
SELECT lives_ok('UPDATE sums SET s = s - (SELECT sum(price) FROM t)', 'UPDATE');
SELECT results_eq('TABLE sums', 'VALUES (0.00), (0.00)', 'with their rows');
SELECT lives_ok('INSERT INTO t (id) SELECT max(id) + 1000000 FROM t', 'a table that is written and read');

-- EXPLAIN
SELECT matches(plan_of('EXPLAIN (VERBOSE, COSTS OFF) SELECT sum(price) + count(*) FROM t WHERE shop < 5', 'force'),
	$$Output: \(\(?sum\(t?\.?price\)\)? \+ .*Column Filter: \(t\.shop < 5\)$$, 'EXPLAIN VERBOSE');
SELECT is(plan_of('EXPLAIN (FORMAT JSON, ANALYZE) SELECT sum(price) FROM t', 'force')::json #>> '{0,Plan,Custom Plan Provider}', 'GpuColumns', 'EXPLAIN as JSON');
SELECT ok((plan_of('EXPLAIN (FORMAT JSON, ANALYZE) SELECT sum(price) FROM t', 'force')::json #>> '{0,Plan,Pages From Columns}')::int > 0, 'with its pages');

-- rights
CREATE ROLE columns_user;
GRANT SELECT (id, shop) ON t TO columns_user;
CREATE POLICY few ON t FOR SELECT USING (shop < 5);
GRANT USAGE ON SCHEMA columns_offers TO columns_user;
SET ROLE columns_user;
SELECT results_eq('SELECT sum(shop) FROM t', 'SELECT sum(shop) FROM (SELECT shop FROM t OFFSET 0) AS x', 'a column that may be read');
SELECT throws_like('SELECT sum(price) FROM t', 'permission denied for table t', 'a column that may not');
SELECT throws_like('SELECT sum(shop) FROM t WHERE price > 5', 'permission denied for table t', 'nor in a condition');
RESET ROLE;
PREPARE secured AS SELECT count(*) FROM t;
SELECT is((SELECT count(*) FROM t), 40001::bigint, 'all rows');
ALTER TABLE t ENABLE ROW LEVEL SECURITY;
SET ROLE columns_user;
SELECT matches(plan_of('EXPLAIN SELECT count(*) FROM t', 'force'), '^Aggregate', 'row security: rows at most come from columns');
SELECT is((SELECT count(*) FROM t), 4000::bigint, 'row security');
RESET ROLE;
SELECT answered('SELECT count(*) FROM t');
ALTER TABLE t DISABLE ROW LEVEL SECURITY;
CREATE VIEW barrier WITH (security_barrier) AS SELECT id, shop FROM t WHERE shop < 5;
SELECT matches(plan_of('EXPLAIN SELECT count(*) FROM barrier WHERE id > 0', 'force'), '^Aggregate', 'so do those of a barrier');
CREATE VIEW plain AS SELECT id, shop FROM t WHERE shop < 5;
SELECT answered('SELECT count(*), max(shop) FROM plain WHERE id > 0');

SELECT * FROM finish();
DROP SCHEMA columns_offers CASCADE;
DROP OWNED BY columns_user;
DROP ROLE columns_user;
