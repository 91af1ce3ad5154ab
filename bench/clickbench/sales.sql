-- The table of sales: as many rows as the variable says, the same each time.
SELECT setseed(0.5);
CREATE TABLE sales AS SELECT i::int8 AS id, (random() * 5000000)::int4 AS customer, (random() * 1e6)::float8 AS amount,
	(i % 50)::int4 AS shop, timestamp '2020-01-01' + t * interval '1 s' AS ts, (random() * 3e5)::numeric(12,2) AS price,
	(t / 500 % 7)::int4 AS state
	FROM (SELECT i, (random() * 1e8)::int8 AS t FROM generate_series(1, :rows) i) g;
