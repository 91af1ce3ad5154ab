-- tables.sql: the tables of test/crash.sh.
CREATE EXTENSION gpusort;
CREATE EXTENSION amcheck;
CREATE TABLE ledger (id bigint PRIMARY KEY);
CREATE TABLE sales AS SELECT i AS id, (i % 20)::int AS shop, (i % 977 / 8.0)::numeric(12, 2) AS amount,
		md5((i % 900)::text) AS note
	FROM generate_series(1, 40000) i;
CREATE INDEX ON sales (id);
CREATE TABLE other AS SELECT i AS id, i % 100 AS a, i % 1000 AS b, md5(i::text) || md5((-i)::text) AS note
	FROM generate_series(1, 30000) i;
VACUUM ANALYZE;
SELECT gpusort_columns_add('sales', '{id,shop,amount}');
