#!/bin/bash
# strings.sh: the processor time of queries over resident columns whose conditions and keys take functions of strings,
# beside conditions that few rows pass, and that all pass; see strings.pl.  On a private server with ClickBench's table
# of hits.  Results go to bench/results/strings-LABEL.txt.
#
#   LABEL  of the results; default the number of cores, as cpu2
#   ROWS   of the table, default 1000000
#   CLICKBENCH  directory with ClickBench's create.sql
#   RUNS   strings.pl's
. "$(dirname "$0")/lib.sh"

export ROWS=${ROWS:-1000000}
[ -e "${CLICKBENCH:-}/create.sql" ] || die "CLICKBENCH names no directory with create.sql."
begin_bench
cc -O2 -std=c11 -o "$work/hits" "$root/bench/clickbench/hits.c"
start_quiet_server strings <<-CONF
	shared_preload_libraries = 'gpusort'
	shared_buffers = 2GB
	work_mem = 256MB
CONF
sql() { "$bindir/psql" -Xq -v ON_ERROR_STOP=1 -d postgres "$@"; }
sql -c 'CREATE EXTENSION gpusort' -f "$CLICKBENCH/create.sql" \
	-c "COPY hits FROM PROGRAM '$work/hits $ROWS 0 $ROWS'" -c 'VACUUM ANALYZE hits' >&2
sql -c "SELECT gpusort_columns_add('hits', '{url,title,referer,searchphrase,counterid,userid}')" >&2
measure strings.pl "strings-${LABEL:-cpu$(nproc)}.txt" "$bindir" postgres
stop_server strings
