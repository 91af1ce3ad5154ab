#!/bin/bash
# shares.sh: windows, DISTINCT ON and groups over the tables of TPC-H, by PostgreSQL and by gpusort, in one process and
# in shares; executor times of EXPLAIN (ANALYZE, TIMING OFF) without JIT, ms, the best of some runs, which take turns.
#
# On a running server that psql finds, which preloads gpusort; makes the database "shares" and drops it.
#   SF=1               scale factor of the tables
#   TPCHGEN=PATH       tpchgen-cli, default the one in PATH
#   SIDES=...          columns: of "core" PostgreSQL (gpusort.enabled = off), "one" gpusort without shares, "shares",
#   and
#                      "scan" or "exchange" for one of the ways to them (against one process, without Gather Merge),
#                      each with the number of workers that are allowed; default "core+2 core+8 one+2 shares+2 shares+8"
#   RUNS=2             of each side, PostgreSQL's apart, which run once
#   CORES=LIST         the server has only these cores, as 0,1, in sessions that begin now (as the user who runs it, or
#                      root)
#   ONLY=PATTERN       which queries, by name
#   PGOPTIONS=...      settings of all sides
#   KEEP=1             leaves the database, and takes one that is there
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
		"$generator" csv -q --stdout -s "${SF:-1}" -T "$table" | run -c "COPY $table FROM STDIN (FORMAT csv, HEADER)" &
	done
	wait
	run -c 'ALTER TABLE orders ADD PRIMARY KEY (o_orderkey)' -c 'CREATE INDEX ON orders (o_custkey)' \
		-c 'CREATE TABLE skew AS SELECT CASE WHEN o_orderkey % 5 = 0 THEN o_custkey ELSE 0 END AS g, o_orderkey AS k,
			o_totalprice AS p FROM orders' &
	run -c 'CREATE INDEX ON lineitem (l_partkey, l_suppkey)' &
	run -c 'CREATE INDEX ON lineitem (l_suppkey)'
	wait
	run -c 'VACUUM ANALYZE' -c CHECKPOINT
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

declare -A setting=([core]=gpusort.enabled=off [one]=gpusort.parallel_windows=off [shares]=gpusort.parallel_windows=on
	[scan]='gpusort.parallel_windows=scan -c enable_gathermerge=off'
	[exchange]='gpusort.parallel_windows=exchange -c enable_gathermerge=off')

# time_it SIDE QUERY: sets ms, and way: how the plan shares and in how many workers, if it does
time_it() {
	local plan
	plan=$(PGOPTIONS="${PGOPTIONS:-} -c jit=off -c max_parallel_workers_per_gather=${1#*+} -c ${setting[${1%+*}]}" run \
		-At \
		-c "EXPLAIN (ANALYZE, TIMING OFF) $2")
	ms=$(sed -n 's/^Execution Time: \([0-9.]*\).*/\1/p' <<<"$plan")
	way=-
	if grep -q 'Share Key' <<<"$plan"; then
		way=$(sed -n 's/.*Share Way: \(.\).*/\1/p' <<<"$plan" | tail -1)
		way+=$(sed -n 's/.*Workers Launched: //p' <<<"$plan" | tail -1)
	fi
}

# Restricts the server to the first cores, or lifts that.
pin() {
	local postmaster
	postmaster=$(head -1 "$(psql -XAtq -d postgres -c 'SHOW data_directory')/postmaster.pid")
	taskset -cp "$1" "$postmaster" >/dev/null
}

# Cores as people count them: those that share one are told.
machine() {
	echo "$(run -Atc 'SHOW server_version'), $(nproc) cores${CORES:+, the server on $CORES}," \
		"load $(cut -d' ' -f1 /proc/loadavg)," \
		"$(date), commit ${COMMIT:-$(git describe --always --dirty 2>/dev/null || true)}, scale factor ${SF:-1}," \
		"best of $runs (core: once); core 0 runs on $(cat /sys/devices/system/cpu/cpu0/topology/thread_siblings_list)"
	echo "shared_buffers $(run -Atc 'SHOW shared_buffers'), work_mem $(run -Atc 'SHOW work_mem');" \
		"x: against the first column; s2, e2: every one of 2 workers scans all, an exchange between 2"
}

# What a query takes on all sides.
line() {
	local name=$1 query=$2 side i first=
	declare -A best=() ways=()
	for ((i = 0; i < runs; i++)); do
		for side in $sides; do
			if [ "$i" -gt 0 ] && [ "${side%+*}" = core ]; then continue; fi
			time_it "$side" "$query"
			ways[$side]=$way
			best[$side]=$(awk -v a="$ms" -v b="${best[$side]:-1e9}" 'BEGIN { print a < b ? a : b }')
		done
	done
	printf '%-28s' "$name"
	for side in $sides; do
		first=${first:-${best[$side]}}
		printf ' | %6.0f %5.2f %-3s' "${best[$side]}" \
			"$(awk -v a="$first" -v b="${best[$side]}" 'BEGIN { print a / b }')" \
			"${ways[$side]}"
	done
	echo
}

sides=${SIDES:-core+2 core+8 one+2 shares+2 shares+8}
runs=${RUNS:-2}
finish() {
	[ -z "${CORES:-}" ] || pin "0-$(($(nproc --all) - 1))"
	[ -n "${KEEP:-}" ] || psql -Xq -d postgres -c 'DROP DATABASE IF EXISTS shares'
}
trap finish EXIT
[ -n "$(psql -XAtq -d postgres -c "SELECT 1 FROM pg_database WHERE datname = 'shares'")" ] || load
[ -z "${CORES:-}" ] || pin "$CORES"
machine
printf '%-28s' ''
for side in $sides; do printf ' | %-16s' "$side"; done
printf '      x, way\n'
for i in "${!names[@]}"; do
	if [ "$SECONDS" -gt "$limit" ]; then echo "out of time"; break; fi
	if [[ "${names[$i]}" =~ ${ONLY:-.} ]]; then line "${names[$i]}" "${queries[$i]}"; fi
done
