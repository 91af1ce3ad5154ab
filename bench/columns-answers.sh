#!/bin/bash
# columns-answers.sh: queries answered from resident columns, with gpusort.columns on and off in turns, as whole queries
# at the client: aggregates of a table of sales, TPC-H's Q6, the first query of a session, and many sessions at
# once; see
# columns-answers.pl.  On a private server with stock settings.  Results go to bench/results/columns-answers-LABEL.txt.
#
#   LABEL     of the results; default the number of cores, as cpu2, and "-gpu" with a GPU
#   ROWS      of the table of sales, default 3000000
#   SF        scale factor of TPC-H's lineitem, default 0.5: 3 million rows
#   TPCHGEN, TPCH_DATA  as in everyday.sh
#   SETTINGS  more lines for postgresql.conf, such as those of a large server
#   QUERIES   a pattern of the names of queries, else all
#   WITHOUT, RUNS, RUNS_OFF, SESSIONS, SECONDS_EACH  columns-answers.pl's
. "$(dirname "$0")/lib.sh"

label=cpu$(nproc)
if [ -e /dev/nvidiactl ]; then label+=-gpu; fi
export ROWS=${ROWS:-3000000} SF=${SF:-0.5} SETTINGS=${SETTINGS:-}
begin_bench everyday
find_generator
start_server answers --locale=C.UTF-8 --encoding=UTF8 <<-CONF
	shared_preload_libraries = 'gpusort'
	$SETTINGS
CONF
"$bindir/psql" -Xq -v ON_ERROR_STOP=1 -d postgres -c 'CREATE EXTENSION gpusort' -f "$root/bench/everyday/tables.sql" >&2
rows_of lineitem | "$bindir/psql" -Xq -v ON_ERROR_STOP=1 -d postgres -c 'COPY lineitem FROM STDIN (FORMAT csv, HEADER)'
status=0
measure columns-answers.pl "columns-answers-${LABEL:-$label}.txt" "$bindir" postgres || status=$?
stop_server answers
exit "$status"
