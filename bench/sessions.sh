#!/bin/bash
# sessions.sh: hundreds of sessions that sort and ask resident columns while the service is killed again and again: the
# memory of the server and of the service over time, and pgbench's latency beside it, with and without gpusort in turns.
# Also goes to bench/results/sessions-MACHINE.txt.  See sessions.pl for SESSIONS, TIME, TURN, THINK, RATE and KILL.
# MACHINE (default cpu and the number of cores) names the result; ENGINE=gpu has a GPU sort.
. "$(dirname "$0")/lib.sh"

begin_bench
start_quiet_server sessions <<-CONF
	shared_preload_libraries = 'gpusort'
	max_connections = 600
	shared_buffers = ${SHARED_BUFFERS:-512MB}
	max_worker_processes = 16
	gpusort.engine = '${ENGINE:-auto}'
	gpusort.service_options = '--engine=${ENGINE:-cpu}'
	log_min_messages = fatal
CONF
as_server "$bindir/pgbench" -q -i -s "${SCALE:-5}" postgres >"$work/pgbench.log" 2>&1 || {
	cat "$work/pgbench.log" >&2
	die "pgbench could not make its tables."
}
measure sessions.pl "sessions-${MACHINE:-cpu$(nproc)}.txt" "$bindir"
stop_server sessions
