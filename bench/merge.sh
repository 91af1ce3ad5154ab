#!/bin/bash
# merge.sh: what it takes to merge sorted streams: ORDER BY over partitions with indexes, and over foreign scans of
# them, by PostgreSQL's Merge Append and by GpuMergeAppend, and the same rows in no order; see merge.pl.  The last line
# of each is without any merging.
#
#   ROWS  of each table, default 480000
#   RUNS  default 5: the best one counts
. "$(dirname "$0")/lib.sh"

export ROWS=${ROWS:-480000}
begin_bench shards
make_locale en_US.UTF-8
start_server merge --locale=en_US.UTF-8 <<-CONF
	session_preload_libraries = 'gpusort'
	max_connections = 300
	shared_buffers = 1GB
	max_wal_size = 8GB
	autovacuum = off
	jit = off
	max_parallel_workers_per_gather = 0
CONF
measure merge.pl merge-append.txt "$bindir/psql" "$work"
