-- Which sorts gpusort leaves to PostgreSQL, and the reason that DEBUG1 gives.  None is left because of its keys.
LOAD 'gpusort';
SET jit = off;
SET gpusort.min_rows = 0;
CREATE SCHEMA reasons;
SET search_path = reasons;
CREATE TABLE r (i int, j jsonb, a int[], s int4range, t text, v tsvector);
CREATE COLLATION german (provider = icu, locale = 'de');
CREATE TYPE pair AS (a int, b int);
SET client_min_messages = debug1;
EXPLAIN (COSTS OFF) SELECT * FROM r ORDER BY i, j;
EXPLAIN (COSTS OFF) SELECT * FROM r ORDER BY a DESC;
EXPLAIN (COSTS OFF) SELECT * FROM r ORDER BY s;
EXPLAIN (COSTS OFF) SELECT * FROM r ORDER BY v USING >;
EXPLAIN (COSTS OFF) SELECT * FROM r ORDER BY t COLLATE german;
EXPLAIN (COSTS OFF) SELECT * FROM r ORDER BY (i, i)::pair;
EXPLAIN (COSTS OFF) SELECT * FROM r ORDER BY (i, i)::pair USING *<;
CREATE DOMAIN numbers AS int[];
EXPLAIN (COSTS OFF) SELECT a::numbers FROM r ORDER BY a::numbers;
-- inside aggregates, each once; what the plan has below them is ours
EXPLAIN (COSTS OFF) SELECT mode() WITHIN GROUP (ORDER BY i DESC) FROM r
HAVING mode() WITHIN GROUP (ORDER BY i DESC) > 1;
EXPLAIN (COSTS OFF) SELECT count(DISTINCT t), sum(i) FROM r GROUP BY GROUPING SETS ((i), (s), ());
-- partly sorted already
RESET client_min_messages;
CREATE INDEX ON r (i, a);
SET client_min_messages = debug1;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
EXPLAIN (COSTS OFF) SELECT * FROM r ORDER BY i, a, t COLLATE "C";
RESET client_min_messages;
RESET enable_seqscan;
RESET enable_bitmapscan;
-- few rows, and few of many that are wanted
CREATE TABLE events AS SELECT i::int8 AS id, i AS k FROM generate_series(1, 5000) AS i;
CREATE TABLE few AS SELECT * FROM events LIMIT 100;
ANALYZE events, few;
RESET gpusort.min_rows;
SET client_min_messages = debug1;
EXPLAIN (COSTS OFF) SELECT * FROM few ORDER BY id;
EXPLAIN (COSTS OFF) SELECT * FROM events ORDER BY row(k, id);
EXPLAIN (COSTS OFF) SELECT * FROM events ORDER BY id LIMIT 10;
RESET client_min_messages;
DROP SCHEMA reasons CASCADE;
