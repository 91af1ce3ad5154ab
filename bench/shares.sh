#!/bin/bash
# shares.sh: windows, DISTINCT ON and groups over the tables of TPC-H: PostgreSQL (gpusort.enabled = off), gpusort
# without shares (gpusort.parallel_windows = off) and gpusort, executor times of EXPLAIN (ANALYZE, TIMING OFF) without
# JIT, ms.  PostgreSQL's once with two workers, the others' the better of two with two and with eight.
#
# On a running server that psql finds, which preloads gpusort; makes the database "shares" and drops it.
#   SF=1               scale factor of the tables
#   TPCHGEN=PATH       tpchgen-cli, default the one in PATH
#   SECONDS_LIMIT=600  begins no more queries after that
set -eu -o pipefail
cd "$(dirname "$0")/.."
generator=${TPCHGEN:-tpchgen-cli}
limit=${SECONDS_LIMIT:-600}

run() { psql -Xq -v ON_ERROR_STOP=1 -d shares "$@"; }

load() {
	local table
	psql -Xq -d postgres -c 'CREATE DATABASE shares'
	run -c 'CREATE EXTENSION gpusort' -f bench/everyday/tables.sql
	for table in orders lineitem; do
		"$generator" csv -q --stdout -s "${SF:-1}" -T "$table" | run -c "COPY $table FROM STDIN (FORMAT csv, HEADER)"
	done
	run -c 'ALTER TABLE orders ADD PRIMARY KEY (o_orderkey)' -c 'CREATE INDEX ON orders (o_custkey)' \
		-c 'CREATE INDEX ON lineitem (l_partkey, l_suppkey)' -c 'CREATE INDEX ON lineitem (l_suppkey)' \
		-c 'CREATE TABLE skew AS SELECT CASE WHEN o_orderkey % 5 = 0 THEN o_custkey ELSE 0 END AS g, o_orderkey AS k,
			o_totalprice AS p FROM orders' -c 'VACUUM ANALYZE'
}

names=() queries=()
query() { names+=("$1"); queries+=("$2"); }
query "running total per supplier" "SELECT l_suppkey, l_orderkey, l_linenumber, sum(l_extendedprice) OVER (PARTITION BY
	l_suppkey ORDER BY l_shipdate, l_orderkey, l_linenumber) FROM lineitem"
query "top 3 orders per customer" "SELECT * FROM (SELECT o_custkey, o_orderkey, o_totalprice,
	row_number() OVER (PARTITION BY
	o_custkey ORDER BY o_totalprice DESC, o_orderkey) AS n FROM orders) AS numbered WHERE n <= 3"
query "DISTINCT ON part" "SELECT DISTINCT ON (l_partkey) l_partkey, l_orderkey, l_linenumber, l_shipdate FROM lineitem
	ORDER BY l_partkey, l_shipdate DESC, l_orderkey DESC, l_linenumber DESC"
query "DISTINCT ON customer" "SELECT DISTINCT ON (o_custkey) * FROM orders ORDER BY o_custkey, o_orderdate DESC,
	o_orderkey DESC"
query "lag per customer" "SELECT o_custkey, o_orderkey, o_orderdate - lag(o_orderdate) OVER (PARTITION BY o_custkey
	ORDER BY o_orderdate, o_orderkey) FROM orders"
query "rank within month" "SELECT o_orderkey, rank() OVER (PARTITION BY date_trunc('month', o_orderdate)
	ORDER BY o_totalprice DESC) FROM orders"
query "islands" "SELECT o_custkey, min(month), max(month), count(*) FROM (SELECT o_custkey, month,
	month - interval '1 month'
	* row_number() OVER (PARTITION BY o_custkey ORDER BY month) AS island FROM (SELECT DISTINCT o_custkey,
	date_trunc('month', o_orderdate::timestamp) AS month FROM orders) AS months) AS numbered
	GROUP BY o_custkey, island HAVING count(*) > 1"
query "count(DISTINCT) per supplier" "SELECT l_suppkey, count(DISTINCT l_partkey) FROM lineitem GROUP BY l_suppkey"
query "string_agg in order" "SELECT o_custkey, string_agg(o_orderkey::text, ',' ORDER BY o_orderdate, o_orderkey)
	FROM orders
	GROUP BY o_custkey"
query "groups by two keys" "SELECT l_partkey, l_shipdate, count(*) FROM lineitem GROUP BY l_partkey, l_shipdate
	ORDER BY l_partkey, l_shipdate"
query "customers per month" "SELECT date_trunc('month', o_orderdate) AS month, count(DISTINCT o_custkey) FROM orders
	GROUP BY month ORDER BY month"
query "80 % in one partition" "SELECT g, k, sum(p) OVER (PARTITION BY g ORDER BY k) FROM skew"

# time WORKERS SETTING TIMES QUERY: sets ms, and way: how the plan shares, if it does
time_it() {
	local i plan
	plan=$(for ((i = 0; i < $3; i++)); do echo "EXPLAIN (ANALYZE, TIMING OFF) $4;"; done |
		PGOPTIONS="-c jit=off -c max_parallel_workers_per_gather=$1 -c $2" run -At)
	ms=$(grep -o 'Execution Time: [0-9.]*' <<<"$plan" | awk '{print $3}' | sort -n | sed -n 1p)
	way=-
	if grep -q 'Share Key' <<<"$plan"; then way=scan; fi
	if grep -qi 'exchange' <<<"$plan"; then way=exchange; fi
}

trap 'psql -Xq -d postgres -c "DROP DATABASE IF EXISTS shares"' EXIT
load
echo "$(run -Atc 'SHOW server_version'), $(nproc) cores, load $(cut -d' ' -f1 /proc/loadavg), $(date), commit" \
	"${COMMIT:-$(git describe --always --dirty 2>/dev/null || true)}, scale factor ${SF:-1}"
printf '%-32s %10s | %9s %9s %6s %-8s | %9s %9s %6s %s\n' '' PostgreSQL 'no shares' '2 workers' '' '' 'no shares' \
	'8 workers' '' ''
for i in "${!names[@]}"; do
	if [ "$SECONDS" -gt "$limit" ]; then echo "out of time"; break; fi
	time_it 2 gpusort.enabled=off 1 "${queries[$i]}"
	off=$ms
	printf '%-32s %10.0f' "${names[$i]}" "$off"
	for workers in 2 8; do
		time_it $workers gpusort.parallel_windows=off 2 "${queries[$i]}"
		alone=$ms
		time_it $workers gpusort.parallel_windows=on 2 "${queries[$i]}"
		printf ' | %9.0f %9.0f %6.2f %-8s' "$alone" "$ms" "$(awk "BEGIN { print $off / $ms }")" "$way"
	done
	echo
done
