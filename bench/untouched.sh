#!/bin/bash
# untouched.sh: what resident columns cost tables that were never chosen: instructions of a session, counted by
# callgrind on a private server, of planning (EXPLAIN of joins) and of pgbench's transactions, simple and prepared: with
# no columns chosen, with those of another table, and with an older library.  Results go to bench/results/untouched.txt.
#
#   BASE          a gpusort.so from before columns, built for this server; default none
#   TRANSACTIONS  counted each; default 300
set -eu -o pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
. "$root/test/lib.sh"
command -v valgrind >/dev/null || die "valgrind is not in PATH."

transactions=${TRANSACTIONS:-300}
build_and_install
make_work
mkdir -p "$root/bench/results"
start_server untouched --locale=C.UTF-8 --encoding=UTF8 <<-CONF
	shared_preload_libraries = 'gpusort'
	autovacuum = off
	fsync = off
	max_worker_processes = 16
	gpusort.columns_quiet = 1h
CONF
as_server "$bindir/pgbench" -i -q postgres >/dev/null 2>&1
as_server "$bindir/pg_ctl" stop -D "$work/untouched" -m fast -s
cat >"$work/plan.sql" <<-SQL
	EXPLAIN SELECT b.bbalance, sum(a.abalance) FROM pgbench_accounts a JOIN pgbench_branches b USING (bid)
		JOIN pgbench_tellers t USING (bid) WHERE a.aid < 5000 AND t.tid < 5 GROUP BY 1 ORDER BY 2 DESC LIMIT 3;
SQL

# Runs statements, each in a transaction of its own.
sql() { as_server "$bindir/psql" -X -q -A -t -v ON_ERROR_STOP=1 -d postgres <<<"$1"; }

# Processes of the server.
children() { pgrep -c -P "$(head -n 1 "$work/data/postmaster.pid")"; }

# Waits until no session is left: each writes its file as it ends.
no_sessions() { while [ "$(children)" -gt "$idle" ]; do sleep 0.2; done; }

# run_pgbench TRANSACTIONS OPTION...: instructions of a session with so many: of the longest session, as pgbench has
# another one that looks for its tables.
run_pgbench() {
	rm -f "$work"/callgrind.out.*
	as_server "$bindir/pgbench" -n -c 1 -t "$@" postgres >/dev/null 2>&1
	no_sessions
	sed -n 's/^\(summary\|totals\): //p' "$work"/callgrind.out.* | sort -n | tail -n 1
}

# each WHAT OPTION...: instructions a transaction: of those of a second session over a shorter first one's.
each() {
	local what=$1 short long
	shift
	short=$(run_pgbench 20 "$@")
	long=$(run_pgbench $((transactions + 20)) "$@")
	printf '%-10s %-24s %d\n' "$label" "$what" $(((long - short) / transactions))
}

# serve LABEL LIBRARY: a server under callgrind, with a fresh pgbench and that library, and what it costs.
serve() {
	label=$1
	rm -rf "$work/data"
	cp -a "$work/untouched" "$work/data"
	as_server valgrind --tool=callgrind --callgrind-out-file="$work/callgrind.out.%p" "$bindir/postgres" \
		-D "$work/data" -c "shared_preload_libraries=$2" >"$work/$label.log" 2>&1 &
	server=$!
	for _ in $(seq 600); do
		if sql 'SELECT 1' >/dev/null 2>&1; then break; fi
		sleep 0.5
	done
	if [ -n "${3:-}" ]; then sql "$3"; fi
	# its own processes, once the sessions and loaders before have ended
	sleep 10
	idle=$(children)
	each 'planning a join' -f "$work/plan.sql"
	each 'TPC-B, simple' -M simple
	each 'TPC-B, prepared' -M prepared
	as_server "$bindir/pg_ctl" stop -D "$work/data" -m fast -s
	wait "$server" || true
}

{
	printf '# instructions a transaction, %s, %s, %s\n' \
		"$(git -C "$root" describe --always --dirty 2>/dev/null || true)" "$("$PG_CONFIG" --version)" "$(date -u)"
	if [ -n "${BASE:-}" ]; then serve before "$BASE"; fi
	serve none gpusort
	serve other gpusort "CREATE EXTENSION gpusort;
		CREATE TABLE chosen AS SELECT i::int8 AS id FROM generate_series(1, 1000) i;
		SELECT gpusort_columns_add('chosen')"
} | tee "$root/bench/results/untouched.txt"
