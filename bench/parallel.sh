#!/bin/bash
# parallel.sh: sorts in parallel workers, on a private server; also goes to bench/results/parallel-ENGINE.txt.  See
# parallel.pl for ROWS, RUNS, WORKERS, TABLES, SIDES.  ENGINE is gpu where there is one, else cpu; both runs of a host
# with a GPU take two calls.
set -eu -o pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
. "$root/test/lib.sh"

if [ -e /dev/nvidiactl ]; then ENGINE=${ENGINE:-gpu}; fi
export ENGINE=${ENGINE:-cpu}
build_and_install
make_work
copy_tree
mkdir -p "$root/bench/results"
export COMMIT=${COMMIT:-$(git -C "$root" describe --always --dirty 2>/dev/null || true)}
start_server parallel --locale=C.UTF-8 --encoding=UTF8 <<-CONF
	shared_preload_libraries = 'gpusort'
	shared_buffers = ${SHARED_BUFFERS:-3GB}
	work_mem = 4GB
	gpusort.work_mem = 4GB
	gpusort.timeout = 60s
	max_worker_processes = 64
	max_parallel_workers = 32
	max_wal_size = 8GB
	fsync = off
	autovacuum = off
CONF
as_server perl "$work/tree/bench/parallel.pl" "$bindir/psql" | tee "$root/bench/results/parallel-$ENGINE.txt"
stop_server parallel
