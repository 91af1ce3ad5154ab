#!/bin/bash
# planning.sh: instructions of one EXPLAIN, planned again in a loop, without gpusort and with it, counted by valgrind's
# callgrind in one process, so that nothing else on the machine matters.  Results go to bench/results/planning.txt.
#   LOOPS   counted EXPLAINs of each, default 500
. "$(dirname "$0")/lib.sh"

loops=${LOOPS:-500}
command -v valgrind >/dev/null || die "There is no valgrind here."
begin_bench
start_quiet_server planning <<-CONF
	jit = off
CONF
"$bindir/psql" -Xqd postgres -v ON_ERROR_STOP=1 -c 'CREATE EXTENSION gpusort' \
	-c "CREATE TABLE t AS SELECT hashint8extended(i, 1) AS k, i::int4 AS v FROM generate_series(1, 100000::int8) AS i" \
	-c 'VACUUM (FREEZE, ANALYZE) t'
as_server "$bindir/pg_ctl" stop -D "$work/planning" -m fast -w -s

# instructions LOOPS QUERY [SETTING=VALUE]...: of a server of one process that explains the query so often
instructions() {
	local loops=$1 query=$2 setting settings=()
	shift 2
	for setting; do settings+=(-c "$setting"); done
	as_server valgrind --quiet --tool=callgrind --callgrind-out-file="$work/calls" \
		"$bindir/postgres" --single -D "$work/planning" "${settings[@]}" postgres >"$work/single.log" 2>&1 <<-SQL ||
		DO \$\$ BEGIN FOR i IN 1 .. $loops LOOP EXECUTE 'EXPLAIN $query'; END LOOP; END \$\$
	SQL
		{ cat "$work/single.log" >&2; die "a server has failed"; }
	if grep -E 'ERROR|FATAL' "$work/single.log" >&2; then die "\"$query\" has failed"; fi
	sed -n 's/^\(summary\|totals\): //p' "$work/calls" | tail -n 1
}

# each QUERY [SETTING=VALUE]...: instructions of one: of a long loop over those of a short one
each() {
	local short long
	short=$(instructions 20 "$@")
	long=$(instructions $((loops + 20)) "$@")
	echo $(((long - short) / loops))
}

# line NAME QUERY [SETTING=VALUE]...: these settings are gpusort's
line() {
	local name=$1 query=$2 without with
	without=$(each "$query")
	with=$(each "$query" session_preload_libraries=gpusort "${@:3}")
	awk -v name="$name" -v a="$without" -v b="$with" 'BEGIN { printf "%-44s %9d %9d  %.3f\n", name, a, b, b / a }'
}

{
	echo "instructions of one EXPLAIN, of $loops; $("$PG_CONFIG" --version), $(valgrind --version); commit $COMMIT," \
		"$(date -u +%F)"
	printf '%-44s %9s %9s\n' '' without with
	line 'a plain sort of 100,000 rows' 'SELECT * FROM t ORDER BY k'
	line 'three VALUES, gpusort.min_rows = 0' 'SELECT * FROM (VALUES (3), (1), (2)) v(x) ORDER BY x' gpusort.min_rows=0
	line 'one row by a condition' 'SELECT v FROM t WHERE k = 1'
	line 'a page with its total' 'SELECT k, count(*) OVER () FROM t ORDER BY k LIMIT 10'
} | keep planning.txt
