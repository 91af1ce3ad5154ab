#!/bin/bash
# output.sh: what a whole result costs the server, PostgreSQL and gpusort with and without its output, at a client that
# reads the socket and throws the bytes away; also goes to bench/results/output.txt.
#
#   ROWS     of each table, default 1000000
#   RUNS     default 5: the best one counts, of each way, one way after the other
#   WORKERS  default 0: max_parallel_workers_per_gather
#   ONLY     a pattern of names' beginnings
. "$(dirname "$0")/lib.sh"

export ROWS=${ROWS:-1000000} RUNS=${RUNS:-5} WORKERS=${WORKERS:-0}
begin_bench
make_locale en_US.UTF-8
start_server output --locale=en_US.UTF-8 --encoding=UTF8 <<-CONF
	session_preload_libraries = 'gpusort'
	max_wal_size = 8GB
	fsync = off
	autovacuum = off
	jit = off
	max_parallel_workers_per_gather = $WORKERS
CONF
measure output.pl output.txt "$work/.s.PGSQL.$server_port" "$(head -1 "$work/output/postmaster.pid")"
