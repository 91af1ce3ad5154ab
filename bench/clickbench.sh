#!/bin/bash
# clickbench.sh: ClickBench's 43 queries over a table made by clickbench/hits.c, TPC-H's Q1 and Q6, and questions about
# a table of sales (clickbench/road.sql): PostgreSQL, gpusort without columns, with columns, and DuckDB in memory on the
# same cores, in turns, results compared; see clickbench.pl.  Results go to bench/results/clickbench-LABEL.json and
# .txt; charts.pl draws the first.
#
#   LABEL      of the results; default the number of cores, as cpu2, and "-gpu" with a GPU
#   ROWS       of the table of hits, default 1000000; of the table of sales, ROWS_SALES, default the same
#   SF         scale factor of TPC-H's lineitem, default ROWS / 6000000
#   CLICKBENCH directory with ClickBench's create.sql and queries.sql for PostgreSQL, which are not under this project's
#              licence; without it they are fetched into build/
#   DUCKDB     directory with the Python package duckdb, or "no"; without it PyPI's goes into build/
#   TPCHGEN, TPCH_DATA  as in everyday.sh
#   SETTINGS   more lines for postgresql.conf
#   SIDES      default "off plain"; columns and DuckDB are added
#   LAST       sides measured after all others, of which a run with little time may do without: as "plain"
#
# CLOCK=processor measures processor time, for busy machines: PostgreSQL without parallel workers.
#
# With a GPU columns are measured on it and, in a second server run over the same data, on the CPU, until UNTIL_CPU
# where there is an UNTIL; so are the sides of LAST, there.  Other variables are clickbench.pl's.
. "$(dirname "$0")/lib.sh"

# Sets clickbench, the directory of ClickBench's two files, whose checksums are known.
find_clickbench() {
	local file from=https://raw.githubusercontent.com/ClickHouse/ClickBench
	from+=/faa7e582cf7f2be943d11e5340fdc8a274671f2f/postgresql
	clickbench=${CLICKBENCH:-$root/build/clickbench}
	mkdir -p "$clickbench"
	for file in create.sql queries.sql; do
		[ -e "$clickbench/$file" ] || curl -fsSL -o "$clickbench/$file" "$from/$file"
	done
	(cd "$clickbench" && sha256sum --check --quiet "$root/bench/clickbench/checksums") ||
		die "$clickbench has other queries than those measured here."
}

# Sets DUCKDB, the directory of the Python package, unless it is given.
find_duckdb() {
	if [ -n "${DUCKDB:-}" ]; then return; fi
	DUCKDB=$root/build/duckdb
	[ -e "$DUCKDB/duckdb" ] || {
		say "Installing duckdb into $DUCKDB"
		python3 -m pip install -q --disable-pip-version-check --target "$DUCKDB" duckdb
	}
}

# The table of hits, its parts at once.
load_hits() {
	local part range children=()
	for ((part = 0; part < cores; part++)); do
		range="$((ROWS * part / cores)) $((ROWS * (part + 1) / cores))"
		"${psql[@]}" -c "COPY hits FROM PROGRAM '$work/hits $ROWS $range'" &
		children+=($!)
	done
	for part in "${children[@]}"; do wait "$part"; done
}

# A server with what one gives large tables on this machine; the service's options are the argument.
serve() {
	local memory_mb=$(($(awk '/MemTotal/ { print $2 }' /proc/meminfo) / 1024))
	local workers=$((cores < 8 ? cores : 8))
	start_quiet_server table <<-CONF
		shared_preload_libraries = 'gpusort'
		shared_buffers = $((memory_mb / 4))MB
		work_mem = $((memory_mb / 32))MB
		max_parallel_workers_per_gather = $workers
		max_parallel_workers = $cores
		max_parallel_maintenance_workers = $workers
		max_worker_processes = $((cores + 16))
		effective_cache_size = $((memory_mb / 2))MB
		gpusort.service_options = '$1'
		${SETTINGS:-}
	CONF
}

cores=$(nproc)
label=cpu$cores
side=cpu
if [ -e /dev/nvidiactl ]; then
	label+=-gpu
	side=gpu
fi
export LABEL=${LABEL:-$label} ROWS=${ROWS:-1000000} DUCKDB=${DUCKDB:-}
export SF=${SF:-$(awk "BEGIN { print $ROWS / 6000000 }")} ROWS_SALES=${ROWS_SALES:-$ROWS}
begin_bench everyday
find_clickbench
find_duckdb
export DUCKDB
find_generator
cc -O2 -std=c11 -o "$work/hits" "$root/bench/clickbench/hits.c"
cp "$clickbench"/{create,queries}.sql "$work/tree/bench/clickbench/"
serve ''
psql=("$bindir/psql" -Xq -v ON_ERROR_STOP=1 -d postgres)
say "Loading $ROWS rows of hits"
"${psql[@]}" -c 'CREATE EXTENSION gpusort' -f "$clickbench/create.sql" -f "$root/bench/everyday/tables.sql" >&2
load_hits
rows_of lineitem | "${psql[@]}" -c 'COPY lineitem FROM STDIN (FORMAT csv, HEADER)'
"${psql[@]}" -v rows="$ROWS_SALES" -f "$root/bench/clickbench/sales.sql" >&2
json=$work/tree/clickbench.json
status=0

# measure_sides SIDE...: adds these sides to the results, and keeps what is measured so far.
measure_sides() {
	as_server perl "$work/tree/bench/clickbench.pl" "$bindir/psql" postgres "$json" "$@" || status=$?
	cp "$json" "$root/bench/results/clickbench-$LABEL.json"
}

read -r -a sides <<<"${SIDES:-off plain} $side"
if [ "$DUCKDB" != no ]; then sides+=(duckdb); fi
measure_sides "${sides[@]}"
if [ $side = gpu ]; then
	as_server "$bindir/pg_ctl" stop -D "$work/table" -m fast -s
	as_server "$bindir/pg_ctl" start -D "$work/table" -w -s -o "-c gpusort.service_options=--engine=cpu"
	UNTIL=${UNTIL_CPU:-} measure_sides cpu
fi
read -r -a last <<<"${LAST:-}"
if [ ${#last[@]} != 0 ]; then UNTIL=${UNTIL_CPU:-${UNTIL:-}} measure_sides "${last[@]}"; fi
perl "$root/bench/clickbench/table.pl" "$json" | keep "clickbench-$LABEL.txt"
exit "$status"
