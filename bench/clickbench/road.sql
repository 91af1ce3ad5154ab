-- Questions about a table of sales, beside ClickBench's: what a report asks.
-- name: sum of int4
SELECT sum(customer) FROM sales;

-- name: filter, sum
SELECT sum(amount) FROM sales WHERE ts BETWEEN '2020-06-01' AND '2020-12-31' AND shop < 10;

-- name: groups of shop
SELECT shop, count(*), sum(amount) FROM sales GROUP BY shop;

-- name: different customers
SELECT count(DISTINCT customer) FROM sales;

-- name: median
SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY amount) FROM sales;

-- name: median of each shop
SELECT shop, percentile_cont(0.5) WITHIN GROUP (ORDER BY amount) FROM sales GROUP BY shop;

-- name: customers, top 10
-- order: 2, 1
SELECT customer, sum(price) FROM sales GROUP BY customer ORDER BY 2 DESC, 1 LIMIT 10;

-- name: page far down
-- order: 3
SELECT * FROM sales ORDER BY amount LIMIT 20 OFFSET 900000;

-- name: running total of decimals
SELECT max(r) FROM (SELECT sum(price) OVER (PARTITION BY customer ORDER BY ts, id) r FROM sales) q;

-- name: runs of state by time
SELECT count(*) FROM (SELECT state, lag(state) OVER (ORDER BY ts, id) p FROM sales) q WHERE state IS DISTINCT FROM p;

-- name: last three of each customer
SELECT count(*), sum(price) FROM (SELECT price, row_number() OVER (PARTITION BY customer ORDER BY ts DESC, id) n
	FROM sales) q WHERE n <= 3;

-- name: mean days between
SELECT avg(d - p) FROM (SELECT ts::date d, lag(ts::date) OVER (PARTITION BY customer ORDER BY ts, id) p FROM sales) q;
