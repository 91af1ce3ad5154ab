#!/bin/bash
# presort.sh: aggregates that want their values sorted, on a private server; also goes to
# bench/results/presort-VERSION.txt.  See presort.pl.
. "$(dirname "$0")/lib.sh"

begin_bench
start_quiet_server presort <<-CONF
	shared_preload_libraries = 'gpusort'
	shared_buffers = 512MB
CONF
measure presort.pl "presort-$pgmajor.txt" "$bindir/psql"
stop_server presort
