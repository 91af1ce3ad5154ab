-- What the regression tests leave out: sorts of several types that spill, cursors that go both ways, errors on the way.
LOAD 'gpusort';
SET gpusort.min_rows = 0;
SET max_parallel_workers_per_gather = 0;
SET gpusort.work_mem = '1MB';
CREATE TABLE v AS
SELECT i, hashint8extended(i, 1) AS k, (hashint4(i) % 1000) / 10.0 AS n, md5(i::text) COLLATE "C" AS t,
	   CASE WHEN i % 7 = 0 THEN NULL ELSE (i * 31 % 1000)::float8 END AS f, md5(i::text)::uuid AS u, i % 2 = 0 AS b,
	   make_interval(days => i % 40) AS iv, ('10.0.0.0'::inet + i) AS ip, decode(md5(i::text), 'hex') AS y
FROM generate_series(1, 12000) AS i;
ANALYZE v;
SELECT count(*) FROM (SELECT * FROM v ORDER BY k OFFSET 1) AS s;
SELECT count(*) FROM (SELECT * FROM v ORDER BY n DESC, t OFFSET 1) AS s;
SELECT count(*) FROM (SELECT * FROM v ORDER BY f NULLS FIRST, u OFFSET 1) AS s;
SELECT count(*) FROM (SELECT * FROM v ORDER BY b, iv, ip DESC OFFSET 1) AS s;
SELECT count(*) FROM (SELECT * FROM v ORDER BY y, i OFFSET 1) AS s;
SET gpusort.verify = full;
SELECT count(*) FROM (SELECT * FROM v ORDER BY t, n OFFSET 1) AS s;
SET gpusort.verify = off;
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT i FROM v ORDER BY k;
MOVE 6000 FROM c;
MOVE BACKWARD 3000 FROM c;
MOVE LAST FROM c;
MOVE ABSOLUTE 10 FROM c;
COMMIT;
SELECT 1 / (i - 11999) FROM (SELECT i FROM v ORDER BY i) AS s OFFSET 20000;
SELECT count(*) FROM v AS a JOIN v AS b USING (n) WHERE a.i % 50 = 0;
SET gpusort.work_mem = '64MB';
SELECT count(*) FROM (SELECT * FROM v ORDER BY n, t OFFSET 1) AS s;
SELECT count(*) FROM (SELECT i, rank() OVER (PARTITION BY b ORDER BY f DESC) FROM v) AS s;
DROP TABLE v;
