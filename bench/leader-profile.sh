#!/bin/bash
# leader-profile.sh: where the leader of a parallel sort spends its time, by perf, where that is there; also goes to
# bench/results/leader-profile.txt.  ROWS (default 10 million), WORKERS (4), LEADER (off: whether it sorts, too),
# SECONDS_LONG (8), ENGINE (cpu) and TABLES (narrow wide two text) are as in parallel.pl.
. "$(dirname "$0")/lib.sh"

rows=${ROWS:-10000000}
if ! command -v perf >/dev/null; then die \
	"There is no perf here; bench/parallel.sh measures the leader's time as a whole."; fi
begin_bench
start_quiet_server profile <<-CONF
	shared_preload_libraries = 'gpusort'
	gpusort.engine = ${ENGINE:-cpu}
	shared_buffers = ${SHARED_BUFFERS:-3GB}
	work_mem = 4GB
	gpusort.work_mem = 4GB
	max_worker_processes = 64
	max_parallel_workers = 32
	max_parallel_workers_per_gather = ${WORKERS:-4}
	parallel_leader_participation = ${LEADER:-off}
	parallel_setup_cost = 0
	parallel_tuple_cost = 0
	min_parallel_table_scan_size = 0
	enable_incremental_sort = off
	jit = off
CONF
psql=("$bindir/psql" -X -q -A -t -d postgres -v ON_ERROR_STOP=1)

# profile TABLE COLUMNS KEY: samples the leader while it asks the same query again and again
profile() {
	local pid asker
	case " ${TABLES:-narrow wide two text} " in *" $1 "*) ;; *) return 0 ;; esac
	"${psql[@]}" -c "CREATE UNLOGGED TABLE $1 AS SELECT $2 FROM generate_series(1, $rows::int8) i" \
		-c "VACUUM (FREEZE, ANALYZE) $1"
	(yes "EXPLAIN (ANALYZE, TIMING OFF, COSTS OFF) SELECT * FROM $1 ORDER BY $3;" || true) |
		PGAPPNAME=profiled "${psql[@]}" >"$work/$1.plans" 2>/dev/null &
	asker=$!
	sleep 3
	pid=$("${psql[@]}" \
		-c "SELECT pid FROM pg_stat_activity WHERE application_name = 'profiled' AND backend_type = 'client backend'")
	perf record -q -g -F 2000 -p "$pid" -o "$work/$1.perf" sleep "${SECONDS_LONG:-8}" >/dev/null 2>"$work/perf.err" ||
		cat "$work/perf.err" >&2
	kill "$asker"
	wait "$asker" || true
	echo
	echo "== $1, $rows rows, ORDER BY $3, ${WORKERS:-4} workers, leader takes part: ${LEADER:-off}"
	grep -E 'Execution Time' "$work/$1.plans" | sort | head -n 1
	sed -n '1,/Planning/p' "$work/$1.plans"
	perf report -i "$work/$1.perf" --no-children -g none --percent-limit 0.7 --stdio 2>/dev/null | grep -v '^#' |
		grep -v '^$' || true
	"${psql[@]}" -c "DROP TABLE $1"
}

{
	echo "$(grep -m 1 'model name' /proc/cpuinfo | sed 's/.*: //'); $(date -u);" \
		"commit $COMMIT; $("$PG_CONFIG" --version)"
	profile narrow 'hashint8extended(i, 1) AS k, i::int4 AS v' k
	profile wide "hashint8extended(i, 1) AS k, i::int4 AS v, repeat(md5(i::text), 3) || 'abcd' AS t" k
	profile two 'hashint8extended(i, 1) % 1000 AS k, hashint8(i) AS v' 'k, v'
	profile text 'md5(i::text) COLLATE "C" AS k, i::int4 AS v' k
} | keep leader-profile.txt
stop_server profile
