-- What PostgreSQL plans as a hash table over a hash table of each worker, both of which spill: it walks and clears hash
-- tables for minutes.  The index on both columns would avoid the first.

-- group: distinct rows

-- name: distinct pairs of part and supplier
-- before: SET enable_indexonlyscan = off; SET enable_indexscan = off
SELECT DISTINCT l_partkey, l_suppkey FROM lineitem;

-- name: distinct suppliers and days
SELECT DISTINCT l_suppkey, l_shipdate FROM lineitem;
