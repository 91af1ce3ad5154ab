#!/bin/bash
# columns-processor.sh: the processor time of three queries over TPC-H's lineitem, answered from resident columns and by
# PostgreSQL; see columns-processor.pl.  On a private server with stock settings.  With DUCKDB, where the Python package
# duckdb lies, DuckDB answers them, too, with two threads (columns-peers.py).  Results go to
# bench/results/columns-processor-LABEL.txt.
#
#   LABEL     of the results; default the number of cores, as cpu2
#   SF        scale factor, default 0.5: 3 million rows
#   TPCHGEN, TPCH_DATA  as in everyday.sh
#   RUNS, RUNS_OFF  columns-processor.pl's
. "$(dirname "$0")/lib.sh"

export SF=${SF:-0.5}
begin_bench everyday
find_generator
start_server processor --locale=C.UTF-8 --encoding=UTF8 <<-CONF
	shared_preload_libraries = 'gpusort'
CONF
rows_of lineitem >"$work/lineitem.csv"
sql() { "$bindir/psql" -Xq -v ON_ERROR_STOP=1 -d postgres "$@"; }
sql -c 'CREATE EXTENSION gpusort' -f "$root/bench/everyday/tables.sql" >&2
sql -c 'COPY lineitem FROM STDIN (FORMAT csv, HEADER)' <"$work/lineitem.csv"
{
	as_server perl "$work/tree/bench/columns-processor.pl" "$bindir" postgres
	if [ -n "${DUCKDB:-}" ]; then
		ROWS=1 THREADS=2 LINEITEM=$work/lineitem.csv python3 "$root/bench/columns-peers.py" |
			grep -E '^#|parts|suppliers|quantity'
	fi
} | keep "columns-processor-${LABEL:-cpu$(nproc)}.txt"
stop_server processor
