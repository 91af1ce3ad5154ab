#!/bin/bash
# costs.sh: what rows cost in scans, in sorts and on their way from workers, in the planner's units; see costs.pl.
# Results also go to bench/results/costs-LABEL.txt; LABEL is the number of cores, as cpu16, unless it is given.
. "$(dirname "$0")/lib.sh"

begin_bench
start_quiet_server costs <<-CONF
	session_preload_libraries = 'gpusort'
	shared_buffers = ${SHARED_BUFFERS:-6GB}
	work_mem = ${MEMORY:-8GB}
	gpusort.work_mem = ${MEMORY:-8GB}
	gpusort.engine = cpu
	max_worker_processes = 32
	max_parallel_workers = 16
	jit = off
CONF
measure costs.pl "costs-${LABEL:-cpu$(nproc)}.txt" "$bindir/psql"
