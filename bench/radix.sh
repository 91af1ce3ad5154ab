#!/bin/bash
# radix.sh: sorts by PostgreSQL's own Sort, which from 19 on has a radix sort, and by gpusort, on a private server; also
# goes to bench/results/radix-VERSION.txt.  See radix.pl for ROWS, RUNS, ONLY and CLOCK.
. "$(dirname "$0")/lib.sh"

begin_bench
make_locale en_US.UTF-8
# the table is in memory, too
start_quiet_server radix <<-CONF
	shared_buffers = ${SHARED_BUFFERS:-3GB}
CONF
measure radix.pl "radix-$pgmajor.txt" "$bindir/psql"
stop_server radix
