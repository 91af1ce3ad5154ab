#!/bin/bash
# verify.sh: what gpusort.verify costs, on a private server; also goes to bench/results/verify-gpu.txt.  See verify.pl
# for SIZES, RUNS, ONLY, SIDES, LIMIT, MEMORY.
# ENGINE=cpu runs the service with its CPU engine, where there is no GPU, and writes verify-cpu.txt; ENGINE=backend
# sorts in the backend, and writes verify-backend.txt.  With MEMORY the name ends in -merged.
. "$(dirname "$0")/lib.sh"

engine=${ENGINE:-gpu}
begin_bench
start_quiet_server verify <<-CONF
	shared_preload_libraries = 'gpusort'
	shared_buffers = ${SHARED_BUFFERS:-3GB}
	work_mem = 4GB
	gpusort.work_mem = 4GB
	gpusort.timeout = 60s
	gpusort.service_options = '--engine=${engine/backend/cpu}'
	maintenance_work_mem = 1GB
CONF
measure verify.pl "verify-$engine${MEMORY:+-merged}.txt" "$bindir/psql" "$engine"
stop_server verify
