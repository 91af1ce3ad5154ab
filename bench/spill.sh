#!/bin/bash
# spill.sh: sorts past their memory limit, with and without gpusort, on a private server; also goes to bench/results/spill.txt.  See
# spill.pl for SHARE, RUNS, PARTS, ONLY, CLOCK.
set -eu -o pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
. "$root/test/lib.sh"

build_and_install
make_work
copy_tree
mkdir -p "$root/bench/results"
export COMMIT=${COMMIT:-$(git -C "$root" describe --always --dirty 2>/dev/null || true)}
start_server spill --locale=C.UTF-8 --encoding=UTF8 <<-CONF
	session_preload_libraries = 'gpusort'
	gpusort.engine = cpu
	shared_buffers = ${SHARED_BUFFERS:-4GB}
	maintenance_work_mem = 1GB
	max_wal_size = 8GB
	fsync = off
	autovacuum = off
CONF
as_server perl "$work/tree/bench/spill.pl" "$bindir/psql" | tee "$root/bench/results/spill.txt"
stop_server spill
