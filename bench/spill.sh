#!/bin/bash
# spill.sh: sorts past their memory limit, with and without gpusort, on a private server; also goes to
# bench/results/spill.txt.  See spill.pl for SHARE, RUNS, PARTS, ONLY, CLOCK.  On a machine with many cores several
# lines may run at once, each in a database of its
# own: AT_ONCE lists them as PART or PART:LINE.  All of "stock" and "many" at full size, in a few minutes:
#
#   RUNS=2 AT_ONCE='stock:int8 stock:text.16 stock:uuid stock:wide many' bench/spill.sh
. "$(dirname "$0")/lib.sh"

begin_bench
start_quiet_server spill <<-CONF
	session_preload_libraries = 'gpusort'
	gpusort.engine = cpu
	shared_buffers = ${SHARED_BUFFERS:-4GB}
	maintenance_work_mem = 1GB
CONF
if [ -z "${AT_ONCE:-}" ]; then
	measure spill.pl spill.txt "$bindir/psql"
else
	number=0
	children=
	for line in $AT_ONCE; do
		number=$((number + 1))
		as_server "$bindir/createdb" "line$number"
		only=${line#*:}
		[ "$only" != "$line" ] || only=
		(
			export PARTS="${line%%:*}" ONLY="$only"
			as_server perl "$work/tree/bench/spill.pl" "$bindir/psql" "line$number" > "$work/line$number.txt" 2>&1
		) &
		children="$children $!"
	done
	status=0
	for child_of_line in $children; do wait "$child_of_line" || status=1; done
	for i in $(seq "$number"); do cat "$work/line$i.txt"; done | keep spill.txt
	[ "$status" = 0 ] || die "A line has failed."
fi
stop_server spill
