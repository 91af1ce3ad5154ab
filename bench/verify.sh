#!/bin/bash
# verify.sh: what gpusort.verify costs, on a private server; also goes to bench/results/verify-gpu.txt.  See verify.pl
# for SIZES, RUNS, ONLY.
# ENGINE=cpu runs the service with its CPU engine, where there is no GPU, and writes verify-cpu.txt.
set -eu -o pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
. "$root/test/lib.sh"

engine=${ENGINE:-gpu}
build_and_install
make_work
copy_tree
mkdir -p "$root/bench/results"
export COMMIT=${COMMIT:-$(git -C "$root" describe --always --dirty 2>/dev/null || true)}
start_server verify --locale=C.UTF-8 --encoding=UTF8 <<-CONF
	shared_preload_libraries = 'gpusort'
	shared_buffers = ${SHARED_BUFFERS:-3GB}
	work_mem = 4GB
	gpusort.work_mem = 4GB
	gpusort.timeout = 60s
	gpusort.service_options = '--engine=$engine'
	maintenance_work_mem = 1GB
	max_wal_size = 8GB
	fsync = off
	autovacuum = off
CONF
as_server perl "$work/tree/bench/verify.pl" "$bindir/psql" | tee "$root/bench/results/verify-$engine.txt"
stop_server verify
