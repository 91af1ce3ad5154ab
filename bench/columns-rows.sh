#!/bin/bash
# columns-rows.sh: rows with window functions, from resident columns and by PostgreSQL's plan, by processor time and by
# cost, on a private server; see columns-rows.pl for ROWS, RUNS and ONLY.  Results go to
# bench/results/columns-rows-LABEL.txt; LABEL is the number of cores, as cpu2, unless it is given.
. "$(dirname "$0")/lib.sh"

begin_bench
start_server rows --locale=C.UTF-8 --encoding=UTF8 <<-CONF
	shared_preload_libraries = 'gpusort'
	shared_buffers = 1GB
	work_mem = 256MB
CONF
measure columns-rows.pl "columns-rows-${LABEL:-cpu$(nproc)}.txt" "$bindir" postgres
stop_server rows
