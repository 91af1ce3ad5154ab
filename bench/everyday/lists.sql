-- What analysts and applications ask of the same tables.

-- group: lists

-- name: orders by date
-- order: o_orderdate
SELECT * FROM orders ORDER BY o_orderdate;

-- name: newest orders first
-- order: o_orderdate, o_orderkey
SELECT o_orderkey, o_orderdate, o_custkey, o_totalprice FROM orders ORDER BY o_orderdate DESC, o_orderkey DESC;

-- name: orders by price
-- order: o_totalprice
SELECT * FROM orders ORDER BY o_totalprice DESC;

-- name: orders by clerk and date
-- order: o_clerk, o_orderdate
SELECT * FROM orders ORDER BY o_clerk, o_orderdate;

-- name: orders by clerk in C and date
-- order: o_clerk, o_orderdate
SELECT * FROM orders ORDER BY o_clerk COLLATE "C", o_orderdate;

-- name: orders by priority and date
-- order: o_orderpriority, o_orderdate
SELECT o_orderkey, o_orderpriority, o_orderdate FROM orders ORDER BY o_orderpriority, o_orderdate;

-- name: orders by comment
-- order: o_comment
SELECT o_orderkey, o_comment FROM orders ORDER BY o_comment;

-- name: orders of a year by price
-- order: o_totalprice
SELECT o_orderkey, o_orderdate, o_totalprice FROM orders
WHERE o_orderdate >= date '1995-01-01' AND o_orderdate < date '1996-01-01'
ORDER BY o_totalprice DESC;

-- name: orders with customers by date
-- order: o_orderdate, o_orderkey
SELECT o_orderdate, o_orderkey, c_name, o_totalprice FROM orders JOIN customer ON c_custkey = o_custkey
ORDER BY o_orderdate, o_orderkey;

-- name: customers by name
-- order: c_name
SELECT * FROM customer ORDER BY c_name;

-- name: customers by segment and balance
-- order: c_mktsegment, c_acctbal
SELECT c_custkey, c_name, c_mktsegment, c_acctbal FROM customer ORDER BY c_mktsegment, c_acctbal DESC;

-- name: customers by nation and balance
-- order: n_nationkey, c_acctbal
SELECT n_nationkey, c_name, c_acctbal FROM customer JOIN nation ON n_nationkey = c_nationkey
ORDER BY n_nationkey, c_acctbal DESC;

-- name: parts by brand, size, name
-- order: p_brand, p_size, p_name
SELECT p_partkey, p_brand, p_size, p_name FROM part ORDER BY p_brand, p_size, p_name;

-- name: suppliers by balance
-- order: s_acctbal
SELECT * FROM supplier ORDER BY s_acctbal DESC;

-- name: line items by ship date and order
-- order: l_shipdate, l_orderkey
SELECT * FROM lineitem ORDER BY l_shipdate, l_orderkey;

-- name: line items of a month by revenue
-- order: revenue
SELECT l_orderkey, l_linenumber, l_extendedprice * (1 - l_discount) AS revenue FROM lineitem
WHERE l_shipdate >= date '1996-03-01' AND l_shipdate < date '1996-04-01'
ORDER BY revenue DESC;

-- group: pages

-- name: first page by price
-- order: o_totalprice, o_orderkey
SELECT o_orderkey, o_totalprice FROM orders ORDER BY o_totalprice DESC, o_orderkey LIMIT 50;

-- name: page far down by date
-- order: o_orderdate, o_orderkey
SELECT * FROM orders ORDER BY o_orderdate, o_orderkey OFFSET {sf} * 1000000 LIMIT 50;

-- name: page far down by ship date
-- order: l_shipdate, l_orderkey, l_linenumber
SELECT l_shipdate, l_orderkey, l_linenumber, l_quantity FROM lineitem
ORDER BY l_shipdate, l_orderkey, l_linenumber OFFSET {sf} * 3000000 LIMIT 100;

-- name: next page after a key
-- order: o_orderdate, o_orderkey
SELECT o_orderkey, o_orderdate, o_totalprice FROM orders WHERE (o_orderdate, o_orderkey) > (date '1995-06-01', 1000)
ORDER BY o_orderdate, o_orderkey LIMIT 50;

-- name: a page with its total
-- order: o_totalprice, o_orderkey
SELECT o_orderkey, o_custkey, o_totalprice, count(*) OVER () FROM orders ORDER BY o_totalprice DESC, o_orderkey LIMIT 20;

-- name: a later page with totals of a condition
-- order: l_extendedprice, l_orderkey, l_linenumber
SELECT l_orderkey, l_linenumber, l_extendedprice, count(*) OVER (), sum(l_quantity) OVER () FROM lineitem
WHERE l_shipdate >= date '1995-01-01'
ORDER BY l_extendedprice DESC, l_orderkey, l_linenumber LIMIT 20 OFFSET 1000;

-- group: windows

-- name: top 3 line items per ship mode
SELECT *
FROM (
	SELECT l_shipmode, l_orderkey, l_linenumber, l_extendedprice,
		row_number() OVER (PARTITION BY l_shipmode ORDER BY l_extendedprice DESC, l_orderkey, l_linenumber) AS n
	FROM lineitem) AS ranked
WHERE n <= 3;

-- name: running total per supplier
SELECT l_suppkey, l_orderkey, l_linenumber,
	sum(l_extendedprice) OVER (PARTITION BY l_suppkey ORDER BY l_shipdate, l_orderkey, l_linenumber)
FROM lineitem;

-- name: running total of a day's sales
-- order: o_orderdate
SELECT o_orderdate, sum(sum(o_totalprice)) OVER (ORDER BY o_orderdate) FROM orders
GROUP BY o_orderdate ORDER BY o_orderdate;

-- name: rank of prices
SELECT o_orderkey, o_totalprice, rank() OVER (ORDER BY o_totalprice DESC) FROM orders;

-- name: rank of prices per clerk
SELECT o_clerk, o_orderkey, dense_rank() OVER (PARTITION BY o_clerk ORDER BY o_totalprice DESC) FROM orders;

-- name: days since a customer's last order (lag)
SELECT o_custkey, o_orderkey,
	o_orderdate - lag(o_orderdate) OVER (PARTITION BY o_custkey ORDER BY o_orderdate, o_orderkey)
FROM orders;

-- name: percentile of prices (ntile)
SELECT o_orderkey, ntile(100) OVER (ORDER BY o_totalprice, o_orderkey) FROM orders;

-- name: top 3 orders per customer
SELECT o_custkey, o_orderkey, o_totalprice, n
FROM (
	SELECT o_custkey, o_orderkey, o_totalprice,
		row_number() OVER (PARTITION BY o_custkey ORDER BY o_totalprice DESC, o_orderkey) AS n
	FROM orders) AS numbered
WHERE n <= 3;

-- name: average of a customer's last 5 orders
SELECT o_custkey, o_orderkey,
	avg(o_totalprice) OVER (PARTITION BY o_custkey ORDER BY o_orderdate, o_orderkey ROWS 4 PRECEDING)
FROM orders;

-- name: share of the month's sales
SELECT o_orderkey, o_totalprice / sum(o_totalprice) OVER (PARTITION BY date_trunc('month', o_orderdate)) FROM orders;

-- name: two windows of different orders
SELECT o_orderkey, row_number() OVER (ORDER BY o_orderdate, o_orderkey),
	row_number() OVER (ORDER BY o_totalprice, o_orderkey)
FROM orders;

-- name: islands: months in a row with orders
SELECT o_custkey, min(month) AS since, max(month) AS until, count(*) AS months
FROM (
	SELECT o_custkey, month,
		month - interval '1 month' * row_number() OVER (PARTITION BY o_custkey ORDER BY month) AS island
	FROM (
		SELECT DISTINCT o_custkey, date_trunc('month', o_orderdate::timestamp) AS month
		FROM orders) AS months) AS numbered
GROUP BY o_custkey, island
HAVING count(*) > 1;

-- name: sessions: gaps of 60 days
SELECT o_custkey, session, min(o_orderdate), max(o_orderdate), count(*), sum(o_totalprice)
FROM (
	SELECT *, sum(begins) OVER (PARTITION BY o_custkey ORDER BY o_orderdate, o_orderkey) AS session
	FROM (
		SELECT o_custkey, o_orderkey, o_orderdate, o_totalprice,
			(o_orderdate - lag(o_orderdate, 1, date '1900-01-01') OVER of_customer > 60)::int AS begins
		FROM orders
		WINDOW of_customer AS (PARTITION BY o_custkey ORDER BY o_orderdate, o_orderkey)) AS marked) AS numbered
GROUP BY o_custkey, session;

-- group: distinct and sets

-- name: latest line item per part (DISTINCT ON)
-- order: l_partkey
SELECT DISTINCT ON (l_partkey) l_partkey, l_orderkey, l_linenumber, l_shipdate FROM lineitem
ORDER BY l_partkey, l_shipdate DESC, l_orderkey DESC, l_linenumber DESC;

-- name: dearest order per clerk (DISTINCT ON)
-- order: o_clerk
SELECT DISTINCT ON (o_clerk) o_clerk, o_orderkey, o_totalprice FROM orders ORDER BY o_clerk, o_totalprice DESC, o_orderkey;

-- name: latest order per customer (DISTINCT ON)
-- order: o_custkey
SELECT DISTINCT ON (o_custkey) * FROM orders ORDER BY o_custkey, o_orderdate DESC, o_orderkey DESC;

-- name: distinct pairs of part and supplier
SELECT DISTINCT l_partkey, l_suppkey FROM lineitem;

-- name: distinct clerks and days
SELECT DISTINCT o_clerk, o_orderdate FROM orders;

-- name: customers of one year or the other (UNION)
SELECT o_custkey, o_clerk FROM orders WHERE o_orderdate >= date '1995-01-01' AND o_orderdate < date '1996-01-01'
UNION
SELECT o_custkey, o_clerk FROM orders WHERE o_orderdate >= date '1996-01-01' AND o_orderdate < date '1997-01-01';

-- name: suppliers and days with both flags (INTERSECT)
SELECT l_suppkey, l_shipdate FROM lineitem WHERE l_returnflag = 'R'
INTERSECT
SELECT l_suppkey, l_receiptdate FROM lineitem WHERE l_returnflag = 'A';

-- name: parts offered and never ordered (EXCEPT)
SELECT ps_partkey, ps_suppkey FROM partsupp EXCEPT SELECT l_partkey, l_suppkey FROM lineitem;

-- group: aggregates

-- name: median price per flag (percentile_cont)
SELECT l_returnflag, percentile_cont(0.5) WITHIN GROUP (ORDER BY l_extendedprice) FROM lineitem GROUP BY l_returnflag;

-- name: percentiles of prices (percentile_disc)
SELECT percentile_disc(ARRAY[0.5, 0.9, 0.99]) WITHIN GROUP (ORDER BY o_totalprice) FROM orders;

-- name: median price per clerk (percentile_cont)
SELECT o_clerk, percentile_cont(0.5) WITHIN GROUP (ORDER BY o_totalprice) FROM orders GROUP BY o_clerk;

-- name: count of parts ordered (DISTINCT)
SELECT count(DISTINCT l_partkey) FROM lineitem;

-- name: count of clerks (DISTINCT)
SELECT count(DISTINCT o_clerk) FROM orders;

-- name: parts per supplier (DISTINCT)
SELECT l_suppkey, count(DISTINCT l_partkey) FROM lineitem GROUP BY l_suppkey;

-- name: customers per month (DISTINCT)
-- order: month
SELECT date_trunc('month', o_orderdate) AS month, count(DISTINCT o_custkey) FROM orders GROUP BY month ORDER BY month;

-- name: orders of a customer as a list (string_agg)
SELECT o_custkey, string_agg(o_orderkey::text, ',' ORDER BY o_orderdate, o_orderkey) FROM orders GROUP BY o_custkey;

-- name: parts of a supplier as an array (array_agg)
SELECT l_suppkey, array_agg(l_partkey ORDER BY l_shipdate, l_orderkey, l_linenumber) FROM lineitem GROUP BY l_suppkey;

-- name: revenue per part, best first
-- order: revenue
SELECT l_partkey, sum(l_extendedprice * (1 - l_discount)) AS revenue FROM lineitem
GROUP BY l_partkey ORDER BY revenue DESC;

-- name: lines per order
SELECT l_orderkey, count(*), sum(l_quantity) FROM lineitem GROUP BY l_orderkey;

-- name: lines per part and ship date
SELECT l_partkey, l_shipdate, count(*) FROM lineitem GROUP BY l_partkey, l_shipdate;

-- name: sales per clerk, year and month (ROLLUP)
SELECT o_clerk, extract(year FROM o_orderdate) AS year, extract(month FROM o_orderdate) AS month, sum(o_totalprice)
FROM orders GROUP BY ROLLUP (o_clerk, year, month);

-- group: joins

-- name: line items with their offers
SELECT count(*), sum(l_quantity * ps_supplycost)
FROM lineitem JOIN partsupp ON ps_partkey = l_partkey AND ps_suppkey = l_suppkey;

-- name: customers with their orders, by number
-- order: c_custkey
SELECT c_custkey, c_name, o_orderkey, o_totalprice
FROM customer JOIN orders ON o_custkey = c_custkey
ORDER BY c_custkey;

-- name: orders of the same customer and day
SELECT a.o_orderkey, b.o_orderkey
FROM orders AS a JOIN orders AS b ON b.o_custkey = a.o_custkey AND b.o_orderdate = a.o_orderdate
WHERE a.o_orderkey < b.o_orderkey;

-- name: returns shipped and received by day (FULL JOIN)
-- order: l_suppkey, day
SELECT l_suppkey, day, s.quantity AS shipped, r.quantity AS received
FROM (
	SELECT l_suppkey, l_shipdate AS day, sum(l_quantity) AS quantity FROM lineitem
	WHERE l_returnflag = 'R' GROUP BY l_suppkey, day) AS s
FULL JOIN (
	SELECT l_suppkey, l_receiptdate AS day, sum(l_quantity) AS quantity FROM lineitem
	WHERE l_returnflag = 'R' GROUP BY l_suppkey, day) AS r
	USING (l_suppkey, day)
ORDER BY l_suppkey, day;

-- name: offers with their suppliers, by supplier
-- order: ps_suppkey
SELECT ps_suppkey, s_name, ps_partkey, ps_availqty FROM partsupp LEFT JOIN supplier ON s_suppkey = ps_suppkey
ORDER BY ps_suppkey;

-- name: first and last order of a customer
SELECT f.*, l.o_orderkey, l.o_orderdate
FROM (
	SELECT DISTINCT ON (o_custkey) o_custkey, o_orderkey, o_orderdate FROM orders
	ORDER BY o_custkey, o_orderdate, o_orderkey) AS f
JOIN (
	SELECT DISTINCT ON (o_custkey) o_custkey, o_orderkey, o_orderdate FROM orders
	ORDER BY o_custkey, o_orderdate DESC, o_orderkey DESC) AS l
	USING (o_custkey);

-- group: statements

-- name: table in order (CREATE TABLE AS)
-- order: l_shipdate, l_orderkey
-- check: SELECT * FROM in_order
-- after: DROP TABLE in_order
CREATE TABLE in_order AS
SELECT l_orderkey, l_partkey, l_suppkey, l_quantity, l_extendedprice, l_shipdate FROM lineitem
ORDER BY l_shipdate, l_orderkey;

-- name: table of ranks (CREATE TABLE AS)
-- check: SELECT * FROM ranks
-- after: DROP TABLE ranks
CREATE TABLE ranks AS
SELECT o_custkey, o_orderkey, row_number() OVER (PARTITION BY o_custkey ORDER BY o_totalprice DESC, o_orderkey) AS n
FROM orders;

-- name: copied in order (INSERT)
-- order: o_orderdate, o_orderkey
-- before: CREATE TABLE copied (LIKE orders)
-- check: SELECT * FROM copied
-- after: DROP TABLE copied
INSERT INTO copied SELECT * FROM orders ORDER BY o_orderdate, o_orderkey;

-- name: file in order (COPY)
-- order: o_orderdate, o_orderkey
COPY (SELECT * FROM orders ORDER BY o_orderdate, o_orderkey) TO '/dev/null';

-- name: index on a date (CREATE INDEX)
-- after: DROP INDEX by_date
CREATE INDEX by_date ON orders (o_orderdate);

-- name: index on a text (CREATE INDEX)
-- after: DROP INDEX by_clerk
CREATE INDEX by_clerk ON orders (o_clerk, o_orderdate);
