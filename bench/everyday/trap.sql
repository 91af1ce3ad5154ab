-- What PostgreSQL plans as a hash table over a hash table of each worker, both of which spill: rows come out of the
-- lower ones in the order of their hashes, which fills the upper one in clusters, and its time grows with their square.
-- The index on both columns would avoid it.

-- group: distinct rows

-- name: distinct pairs of part and supplier
-- before: SET enable_indexonlyscan = off; SET enable_indexscan = off
SELECT DISTINCT l_partkey, l_suppkey FROM lineitem;

-- name: distinct suppliers and days
SELECT DISTINCT l_suppkey, l_shipdate FROM lineitem;
