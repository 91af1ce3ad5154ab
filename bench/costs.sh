#!/bin/bash
# prices.sh: what rows cost in scans, in sorts and on their way from workers, in the planner's units; see prices.pl.
# Results also go to bench/results/prices-LABEL.txt; LABEL is the number of cores, as cpu16, unless it is given.
set -eu -o pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
. "$root/test/lib.sh"

build_and_install
make_work
copy_tree
mkdir -p "$root/bench/results"
export COMMIT=${COMMIT:-$(git -C "$root" describe --always --dirty 2>/dev/null || true)}
start_server prices --locale=C.UTF-8 --encoding=UTF8 <<-CONF
	session_preload_libraries = 'gpusort'
	shared_buffers = ${SHARED_BUFFERS:-6GB}
	work_mem = ${MEMORY:-8GB}
	gpusort.work_mem = ${MEMORY:-8GB}
	gpusort.engine = cpu
	max_worker_processes = 32
	max_parallel_workers = 16
	max_wal_size = 8GB
	fsync = off
	autovacuum = off
	jit = off
CONF
as_server perl "$work/tree/bench/prices.pl" "$bindir/psql" | tee "$root/bench/results/prices-${LABEL:-cpu$(nproc)}.txt"
