#!/bin/bash
# columns-scale.sh: what answers from resident columns cost with more rows; see columns-scale.pl.  On a private server
# with stock settings, but for memory of columns.  Results go to bench/results/columns-scale-LABEL.txt.
#
#   LABEL  of the results; default the number of cores, as cpu2
#   ROWS   of the tables of sales, default "20000000 80000000"
#   RUNS   of each query, default 7
. "$(dirname "$0")/lib.sh"

export ROWS=${ROWS:-20000000 80000000}
begin_bench
start_quiet_server scale <<-CONF
	shared_preload_libraries = 'gpusort'
	gpusort.columns_memory = 16GB
CONF
"$bindir/psql" -Xq -v ON_ERROR_STOP=1 -d postgres -c 'CREATE EXTENSION gpusort'
status=0
measure columns-scale.pl "columns-scale-${LABEL:-cpu$(nproc)}.txt" "$bindir" postgres || status=$?
stop_server scale
exit "$status"
