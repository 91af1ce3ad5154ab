#!/usr/bin/env python3
"""columns-peers.py: the queries of columns-answers.pl that have groups, asked of DuckDB over tables of its own.

ROWS      of the table of sales, default 3000000
THREADS   default all cores
QUERIES   a pattern of the names of queries, else all
LINEITEM  a CSV file of TPC-H's lineitem; without it queries over it are left out

The Python package duckdb is looked for in DUCKDB, too.  Prints the least of five runs of each query.
"""
import os
import re
import sys
import time

sys.path.insert(0, os.environ.get("DUCKDB", ""))
import duckdb

QUERIES = [
    ("sum of int4", "SELECT sum(customer) FROM sales"),
    ("filter, sum", "SELECT sum(amount) FROM sales WHERE ts BETWEEN '2020-06-01' AND '2020-12-31' AND shop < 10"),
    ("groups of shop", "SELECT shop, count(*), sum(amount) FROM sales GROUP BY shop"),
    ("groups of shop, filter",
     "SELECT shop, count(*), sum(price), max(ts) FROM sales WHERE ts >= '2021-06-01' GROUP BY shop"),
    ("distinct customers", "SELECT count(DISTINCT customer) FROM sales"),
    ("distinct per shop", "SELECT shop, count(DISTINCT customer) FROM sales GROUP BY shop"),
    ("median", "SELECT quantile_cont(amount, 0.5) FROM sales"),
    ("median per shop", "SELECT shop, quantile_cont(amount, 0.5) FROM sales GROUP BY shop"),
    ("customers, top 10", "SELECT customer, sum(price) FROM sales GROUP BY customer ORDER BY 2 DESC, 1 LIMIT 10"),
    ("runs of state: lag", "SELECT count(*) FROM (SELECT state, lag(state) OVER (ORDER BY ts, id) p FROM sales) q "
     "WHERE state IS DISTINCT FROM p"),
    ("islands of state", "SELECT count(*) FROM (SELECT run, state, min(ts), max(ts), count(*) FROM (SELECT state, ts, "
     "sum(begins) OVER (ORDER BY ts, id ROWS UNBOUNDED PRECEDING) AS run FROM (SELECT *, "
     "(state IS DISTINCT FROM lag(state) OVER (ORDER BY ts, id))::int AS begins FROM sales)) GROUP BY run, state) q"),
    ("runs per shop: lag", "SELECT count(*) FROM (SELECT state, lag(state) OVER (PARTITION BY shop ORDER BY ts, id) p "
     "FROM sales) q WHERE state IS DISTINCT FROM p"),
    ("running total, float8",
     "SELECT max(r) FROM (SELECT sum(amount) OVER (PARTITION BY customer ORDER BY ts) r FROM sales) q"),
    ("running total, int4",
     "SELECT max(r) FROM (SELECT sum(state) OVER (PARTITION BY customer ORDER BY ts) r FROM sales) q"),
    ("running total, numeric",
     "SELECT max(r) FROM (SELECT sum(price) OVER (PARTITION BY customer ORDER BY ts) r FROM sales) q"),
    ("last three per customer", "SELECT count(*), sum(price) FROM (SELECT price, row_number() OVER "
     "(PARTITION BY customer ORDER BY ts DESC, id) n FROM sales) q WHERE n <= 3"),
    ("seconds between, mean", "SELECT avg(epoch(ts - p)) FROM (SELECT ts, lag(ts) OVER "
     "(PARTITION BY customer ORDER BY ts) p FROM sales) q"),
    ("distinct parts", "SELECT count(DISTINCT l_partkey) FROM lineitem"),
    ("groups of suppliers", "SELECT l_suppkey, count(*), sum(l_quantity) FROM lineitem GROUP BY l_suppkey"),
    ("median quantity", "SELECT quantile_cont(l_quantity, 0.5) FROM lineitem"),
]


def load(connection, rows, lineitem):
    """Makes the tables."""
    connection.execute("SELECT setseed(0.5)")
    connection.execute(f"""CREATE TABLE sales AS SELECT i::int8 AS id, (random() * 5000000)::int4 AS customer,
        (random() * 1e6)::float8 AS amount, (i % 50)::int4 AS shop, timestamp '2020-01-01' + to_seconds(t) AS ts,
        (random() * 3e5)::decimal(12,2) AS price, (t // 500 % 7)::int4 AS state
        FROM (SELECT i, (random() * 1e8)::int8 AS t FROM range(1, {rows} + 1) g(i))""")
    if lineitem:
        connection.execute(f"""CREATE TABLE lineitem AS SELECT l_partkey::int4 AS l_partkey,
            l_suppkey::int4 AS l_suppkey, l_quantity::decimal(15,2) AS l_quantity FROM read_csv('{lineitem}')""")


def least(connection, query):
    """Returns the milliseconds of the fastest of five runs, and the least processor time of one, of all threads."""
    times, processor = [], []
    for _ in range(5):
        begun, used = time.perf_counter(), time.process_time()
        connection.execute(query).fetchall()
        times.append(time.perf_counter() - begun)
        processor.append(time.process_time() - used)
    return min(times) * 1000, min(processor) * 1000


def main():
    """Asks all queries."""
    connection = duckdb.connect()
    threads = int(os.environ.get("THREADS", os.cpu_count()))
    rows = int(os.environ.get("ROWS", 3000000))
    lineitem = os.environ.get("LINEITEM")
    connection.execute(f"SET threads = {threads}")
    print(f"# DuckDB {duckdb.__version__}, {threads} threads, {rows} rows", flush=True)
    load(connection, rows, lineitem)
    for name, query in QUERIES:
        if re.search(os.environ.get("QUERIES", ""), name) and (lineitem or "lineitem" not in query):
            clock, processor = least(connection, query)
            print(f"{name:24} {clock:8.2f} ms (processor {processor:8.2f})", flush=True)


main()
