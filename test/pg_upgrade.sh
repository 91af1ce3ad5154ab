#!/bin/bash
# pg_upgrade.sh OLD NEW: a server of one version with gpusort becomes one of another by pg_upgrade, and by pg_dump and
# restore: the extension, its types in a table, a view on its views, an index on a function of its remain, and sorts
# work.  OLD and NEW are pg_configs of servers that have gpusort installed, on one machine.  Speaks TAP.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
. "$root/test/lib.sh"
[ $# = 2 ] || die "usage: $0 OLD_PG_CONFIG NEW_PG_CONFIG"
old=$("$1" --bindir)
new=$("$2" --bindir)
bindir=$new
make_work

# init BINDIR DATA, start BINDIR DATA, halt BINDIR DATA, sql BINDIR DATABASE COMMAND...
init() {
	as_server "$1/initdb" -D "$work/$2" -U postgres -A trust --locale=C.UTF-8 --encoding=UTF8 --no-sync >/dev/null
	printf '%s\n' "listen_addresses = ''" "unix_socket_directories = '$work'" 'port = 54321' 'fsync = off' \
		"shared_preload_libraries = 'gpusort'" 'gpusort.min_rows = 0' | as_server tee -a "$work/$2/postgresql.conf" \
			>/dev/null
}
start() { as_server "$1/pg_ctl" start -w -s -D "$work/$2" -l "$work/$2.log"; }
halt() { as_server "$1/pg_ctl" stop -w -s -m fast -D "$work/$2"; }
sql() { as_server "$1/psql" -XqAt -v ON_ERROR_STOP=1 -h "$work" -p 54321 -U postgres -d "$2" -c "$3"; }

# What users have built, seen in one line.
state() {
	sql "$1" "$2" "SELECT string_agg(line, '; ') FROM (
		SELECT (SELECT extversion FROM pg_extension WHERE extname = 'gpusort') AS line
		UNION ALL SELECT (runs).value || 'x' || (runs).run_length FROM kept
		UNION ALL SELECT count(*)::text FROM busy
		UNION ALL SELECT pg_get_indexdef('sorted'::regclass)
		UNION ALL (SELECT v::text FROM arrays ORDER BY gpu_sort(v) LIMIT 1)) AS lines"
}
sorts() { sql "$1" "$2" 'EXPLAIN (COSTS OFF) SELECT * FROM arrays ORDER BY v[1] DESC' | grep -c 'GpuSort' || true; }

init "$old" old
start "$old" old
sql "$old" postgres 'CREATE DATABASE used'
sql "$old" used "CREATE EXTENSION gpusort;
	CREATE TABLE arrays AS SELECT ARRAY[i, 7 - i] AS v FROM generate_series(1, 6) AS i;
	CREATE TABLE kept AS SELECT unnest(gpu_rle(x ORDER BY x)) AS runs FROM unnest('{1,1,2}'::int[]) AS x;
	CREATE VIEW busy AS SELECT op FROM gpusort_stat WHERE false
		UNION ALL SELECT phase FROM gpusort_progress WHERE false;
	CREATE INDEX sorted ON arrays (gpu_sort(v))"
before=$(state "$old" used)
is 'what the old server has' "${before%%;*}" "$(sed -n "s/^default_version = '\(.*\)'/\1/p" "$root/gpusort.control")"
is 'it sorts' "$(sorts "$old" used)" 1
as_server "$new/pg_dump" -h "$work" -p 54321 -U postgres -Fc -f "$work/dump" used
halt "$old" old

init "$new" restored
start "$new" restored
sql "$new" postgres 'CREATE DATABASE used'
as_server "$new/pg_restore" -h "$work" -p 54321 -U postgres -d used --exit-on-error "$work/dump"
is 'restored from a dump' "$(state "$new" used)" "$before"
is 'it sorts' "$(sorts "$new" used)" 1
halt "$new" restored

# from 18 on clusters have checksums unless told otherwise, and pg_upgrade wants both to agree
options=()
if "$new/initdb" --help | grep -q -- --no-data-checksums; then options=(--no-data-checksums); fi
as_server "$new/initdb" -D "$work/new" -U postgres -A trust --locale=C.UTF-8 --encoding=UTF8 --no-sync "${options[@]}" \
	>/dev/null
tail -n 6 "$work/old/postgresql.conf" | as_server tee -a "$work/new/postgresql.conf" >/dev/null
is 'pg_upgrade' "$(as_server "$new/pg_upgrade" -b "$old" -B "$new" -d "$work/old" -D "$work/new" -U postgres \
	-s "$work" >"$work/upgrade.log" 2>&1 &&
	echo done || tail -n 20 "$work/upgrade.log")" done
start "$new" new
is 'upgraded' "$(state "$new" used)" "$before"
is 'it sorts' "$(sorts "$new" used)" 1
sql "$new" used 'DROP VIEW busy; DROP INDEX sorted; DROP TABLE kept; DROP EXTENSION gpusort'
is 'and can be dropped' "$(sql "$new" used "SELECT count(*) FROM pg_proc WHERE probin LIKE '%gpusort%'")" 0
halt "$new" new
end_of_tests
