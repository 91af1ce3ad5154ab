#!/bin/bash
# merge.sh: what it takes to merge sorted streams: ORDER BY over partitions with indexes, and over foreign scans of
# them, by PostgreSQL's Merge Append and by GpuMergeAppend, and the same rows in no order; see merge.pl.  The last line
# of each is without any merging.
#
#   ROWS  of each table, default 480000
#   RUNS  default 5: the best one counts
set -eu -o pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
. "$root/test/lib.sh"

export ROWS=${ROWS:-480000}
build_and_install shards
make_work
copy_tree
make_locale en_US.UTF-8
export COMMIT=${COMMIT:-$(git -C "$root" describe --always --dirty 2>/dev/null || true)}
start_server merge --locale=en_US.UTF-8 <<-CONF
	session_preload_libraries = 'gpusort'
	max_connections = 300
	shared_buffers = 1GB
	max_wal_size = 8GB
	autovacuum = off
	jit = off
	max_parallel_workers_per_gather = 0
CONF
mkdir -p "$root/bench/results"
as_server perl "$work/tree/bench/merge.pl" "$bindir/psql" "$work" | tee "$root/bench/results/merge-append.txt"
