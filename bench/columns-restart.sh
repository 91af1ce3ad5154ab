#!/bin/bash
# columns-restart.sh: how long after a restart of the server a table of eight bigint columns is held: from the start of
# the server and from the first query that asks for it.  The system's cache may have the table.  Results are added to
# bench/results/columns-restart.txt.
#
#   HELD      gigabytes of columns, default "1 10"; the table takes half as much again on disk
#   LOADERS   besides the keeper, default 2
set -eu -o pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
. "$root/test/lib.sh"

build_and_install
make_work
mkdir -p "$root/bench/results"
sql() { "$bindir/psql" -XqAt -d postgres -v ON_ERROR_STOP=1 "$@"; }

# measure GB: makes the table, restarts, asks for it and waits
measure() {
	local rows=$(($1 * 1024 * 1024 * 1024 / 64)) first state
	sql -c 'DROP TABLE IF EXISTS t' -c BEGIN \
		-c 'CREATE TABLE t (a int8, b int8, c int8, d int8, e int8, f int8, g int8, h int8)' \
		-c "INSERT INTO t SELECT i, i, i, i, i, i, i, i FROM generate_series(1, $rows) i" -c COMMIT -c 'VACUUM t' \
		-c "SELECT gpusort_columns_add('t')" >/dev/null
	as_server "$bindir/pg_ctl" restart -w -t 600 -s -m fast -D "$work/restart" -l "$work/restart.log"
	sleep 2
	first=$(sql -c 'SELECT clock_timestamp()')
	# it would read the table for seconds
	sql -c "SET statement_timeout = '50ms'" -c "SELECT gpusort_columns_check('t', '{a}')" >/dev/null 2>&1 || true
	until
		state=$(sql -c 'SELECT min(state) FROM gpusort_columns')
		[ "$state" != loading ] && [ "$state" != pending ]
	do sleep 0.05; done
	sql -c "SELECT format(
		'%s GB in %s columns, %s rows, %s GB on disk: %s %s s after the first query, %s s after the start',
		round(sum(bytes) / 2^30::numeric, 2), count(*), $rows, round(pg_relation_size('t') / 2^30::numeric, 2),
		min(state), round(extract(epoch FROM max(ready_since) - '$first'), 2),
		round(extract(epoch FROM max(ready_since) - pg_postmaster_start_time()), 2))
		FROM gpusort_columns"
}

start_server restart --locale=C.UTF-8 --encoding=UTF8 <<-CONF
	shared_preload_libraries = 'gpusort'
	wal_level = minimal
	max_wal_senders = 0
	max_worker_processes = 24
	max_parallel_maintenance_workers = ${LOADERS:-2}
	gpusort.columns_memory = 1000GB
	jit = off
CONF
sql -c 'CREATE EXTENSION gpusort'
{
	echo "# $(sql -c 'SHOW server_version'), commit ${COMMIT:-$(git -C "$root" describe --always --dirty)}," \
		"$(nproc) cores, ${LOADERS:-2} loaders, $(date -u +%F), load $(cut -d ' ' -f 1 /proc/loadavg)"
	for held in ${HELD:-1 10}; do measure "$held"; done
} | tee -a "$root/bench/results/columns-restart.txt"
stop_server restart
