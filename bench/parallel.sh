#!/bin/bash
# parallel.sh: sorts in parallel workers, on a private server; also goes to bench/results/parallel-ENGINE.txt.  See
# parallel.pl for ROWS, RUNS, WORKERS, TABLES, SIDES.  ENGINE is gpu where there is one, else cpu; both runs of a host
# with a GPU take two calls.
. "$(dirname "$0")/lib.sh"

if [ -e /dev/nvidiactl ]; then ENGINE=${ENGINE:-gpu}; fi
export ENGINE=${ENGINE:-cpu}
begin_bench
start_quiet_server parallel <<-CONF
	shared_preload_libraries = 'gpusort'
	shared_buffers = ${SHARED_BUFFERS:-3GB}
	work_mem = 4GB
	gpusort.work_mem = 4GB
	gpusort.timeout = 60s
	max_worker_processes = 64
	max_parallel_workers = 32
CONF
measure parallel.pl "parallel-$ENGINE.txt" "$bindir/psql"
stop_server parallel
