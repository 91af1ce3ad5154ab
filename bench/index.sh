#!/bin/bash
# index.sh: CREATE INDEX by PostgreSQL's own build and by gpusort's, by turns, on stock settings under en_US.UTF-8:
# elapsed time and that of processors; also goes to bench/results/index.txt.
#
#   ROWS  of each table, default 3000000
#   RUNS  of each build, default 5: their median counts
#   MODE  default on; force: also what is left to PostgreSQL
#   ONLY  a pattern of names
. "$(dirname "$0")/lib.sh"

export ROWS=${ROWS:-3000000} RUNS=${RUNS:-5} MODE=${MODE:-on}
begin_bench
make_locale en_US.UTF-8
start_server index --locale=en_US.UTF-8 --encoding=UTF8 <<-CONF
	shared_preload_libraries = 'gpusort'
	max_wal_size = 8GB
	autovacuum = off
CONF
as_server psql -q -d postgres -c 'CREATE EXTENSION gpusort'
measure index.pl index.txt psql "$(head -1 "$work/index/postmaster.pid")"
