#!/bin/bash
# progress.sh: which share of a query's instructions goes into what its sorts tell gpusort_progress, counted by
# valgrind's callgrind in one process, so that nothing else on the machine matters; see progress.pl for what is counted.
# Also goes to bench/results/progress.txt.
#   ROWS=1000000   of the larger sorts
. "$(dirname "$0")/lib.sh"

rows=${ROWS:-1000000}
command -v valgrind >/dev/null || die "There is no valgrind here."
begin_bench
start_quiet_server progress <<-CONF
	shared_preload_libraries = 'gpusort'
	gpusort.engine = cpu
	jit = off
CONF
"$bindir/psql" -Xqd postgres -v ON_ERROR_STOP=1 \
	-c "CREATE TABLE t AS SELECT hashint8extended(i, 1) AS k, i::int4 AS v, md5(i::text) COLLATE \"C\" AS s
		FROM generate_series(1, $rows::int8) AS i" -c 'VACUUM (FREEZE, ANALYZE) t'
as_server "$bindir/pg_ctl" stop -D "$work/progress" -m fast -w -s

# line NAME QUERY [SETTING=VALUE]...: the query, in a server of one process, to which it goes as one line
line() {
	local name=$1 query=$2 setting settings=()
	shift 2
	for setting; do settings+=(-c "$setting"); done
	as_server valgrind --quiet --tool=callgrind --compress-strings=no --compress-pos=no \
		--callgrind-out-file="$work/calls" "$bindir/postgres" --single -D "$work/progress" "${settings[@]}" postgres \
		<<<"${query//$'\n'/ }" >"$work/single.log" 2>&1 || { cat "$work/single.log" >&2; die "$name has failed"; }
	if grep -E 'ERROR|FATAL' "$work/single.log" >&2; then die "$name has failed"; fi
	perl "$root/bench/progress.pl" "$name" "$work/calls"
	rm "$work/calls"
}

# small ROWS: many sorts of so many rows in one query
small() {
	local sorts=$(((200000 + $1 - 1) / $1))
	line "$sorts sorts of $1 rows" "SELECT count(*) FROM generate_series(1, $sorts) AS g,
		LATERAL (SELECT x # g FROM generate_series(1, $1) AS x ORDER BY x # g OFFSET 0) AS s" gpusort.min_rows=0
}

{
	echo "$rows rows; $("$PG_CONFIG" --version), $(valgrind --version), instructions of one process;" \
		"commit $COMMIT, $(date -u +%F)"
	printf '%-44s %14s %10s %8s %9s\n' '' 'executor' 'telling' 'told' 'share'
	line 'ORDER BY bigint, in memory' 'SELECT count(*) FROM (SELECT k, v FROM t ORDER BY k OFFSET 0) AS s'
	line 'on disk' 'SELECT count(*) FROM (SELECT k, v FROM t ORDER BY k OFFSET 0) AS s' gpusort.work_mem=4MB
	line 'text, "C", in memory' 'SELECT count(*) FROM (SELECT s, v FROM t ORDER BY s OFFSET 0) AS s'
	line 'the first 1000' 'SELECT count(*) FROM (SELECT k, v FROM t ORDER BY k LIMIT 1000) AS s'
	for n in 10000 1000 100 10 3; do small $n; done
} | keep progress.txt
