#!/bin/bash
# columns.sh: resident columns under writers: loading, 1000 scattered updates and 1000 inserts of children a second, a
# table that grows without vacuum, and how soon a changed page is held again; see columns.pl.  On a private server with
# autovacuum, once with stock buffers and once with large ones.  Results go to bench/results/columns-LABEL.txt.
#
#   LABEL     of the results; default the number of cores, as cpu2
#   SIZE      of the table in MB, default 4096
#   SECONDS_EACH  of writers with columns, and of the same without; default 120
#   BUFFERS   default "128MB 6GB"
set -eu -o pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
. "$root/test/lib.sh"

export LABEL=${LABEL:-cpu$(nproc)} SIZE=${SIZE:-4096} SECONDS_EACH=${SECONDS_EACH:-120}
build_and_install
make_work
copy_tree
export COMMIT=${COMMIT:-$(git -C "$root" describe --always --dirty 2>/dev/null || true)}
mkdir -p "$root/bench/results"
status=0
for buffers in ${BUFFERS:-128MB 6GB}; do
	start_server "columns$buffers" --locale=C.UTF-8 --encoding=UTF8 <<-CONF
		shared_preload_libraries = 'gpusort'
		shared_buffers = $buffers
		max_wal_size = 16GB
		max_worker_processes = 24
		max_parallel_maintenance_workers = ${LOADERS:-2}
		maintenance_work_mem = 256MB
		gpusort.columns_memory = $((SIZE * 3))MB
		jit = off
	CONF
	as_server perl -I"$work/tree/bench" "$work/tree/bench/columns.pl" "$bindir" postgres "$buffers" || status=$?
	stop_server "columns$buffers"
done | tee "$root/bench/results/columns-$LABEL.txt"
exit "$status"
