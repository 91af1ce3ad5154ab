#!/bin/bash
# everyday.sh: everyday queries over the tables of TPC-H, those of TPC-DS, and some of which PostgreSQL makes plans that
# do not end (everyday/trap.sql), on a private server with stock settings and databases in en_US.UTF-8, with gpusort off
# and on; see everyday.pl.  Results go to bench/results/PART-LABEL.txt and .json; charts.pl draws everyday's,
# everyday/table.pl makes the tables of doc/benchmarks.md.
#
#   PARTS     which of the three, default "everyday tpcds trap"
#   LABEL     of the results; default the number of cores, as cpu2, and "-gpu" with a GPU
#   SF        scale factor, default 1
#   TPCHGEN   path of tpchgen-cli; without it PyPI's goes into build/, as it does not on a host without network
#   TPCH_DATA directory of region.csv and so on, instead of generating them
#   TPCDSGEN  path of tpcgen-cli, beside a python that has duckdb-extension-tpcds; without it PyPI's go into build/
#   LOCPATH   directory with a compiled en_US.UTF-8, for a host without localedef or the sources of locales
#
# SIDES, RUNS, ONLY and TIMEOUT are everyday.pl's; TPC-DS gives a statement up after 60 seconds, and trap after 120, as
# PostgreSQL does not end some of theirs.
. "$(dirname "$0")/lib.sh"

psql_into() { "$bindir/psql" -X -q -v ON_ERROR_STOP=1 -d "$@"; }

# load DATABASE TABLES KEYS ROWS TABLE...: makes a database of tables by two files of everyday/; the command ROWS prints
# those of a table as CSV.
load() {
	local database=$1 tables=$2 keys=$3 rows=$4 table
	say "Loading the tables of $database, scale factor $SF"
	psql_into postgres -c "CREATE DATABASE $database"
	psql_into "$database" -c 'CREATE EXTENSION gpusort' -f "$root/bench/everyday/$tables" >&2
	for table in "${@:5}"; do
		"$rows" "$table" | psql_into "$database" -c "COPY $table FROM STDIN (FORMAT csv, HEADER)"
	done
	psql_into "$database" -f "$root/bench/everyday/$keys"
}

# Sets tpcdsgen, the generator of TPC-DS's tables, beside a python that knows its queries.
find_tpcds() {
	local venv=$root/build/tpcds
	tpcdsgen=${TPCDSGEN:-$venv/bin/tpcgen-cli}
	if [ -x "$tpcdsgen" ]; then return; fi
	[ -z "${TPCDSGEN:-}" ] || die "There is no program \"$TPCDSGEN\"."
	say "Installing tpcgen-cli and duckdb-extension-tpcds into $venv"
	python3 -m venv "$venv"
	"$venv/bin/pip" install -q --disable-pip-version-check tpcgen-cli==4.0.0 duckdb-extension-tpcds==1.5.5
}

# The rows of a table of TPC-DS at the scale factor SF, as CSV with a header.
tpcds_rows() { "$tpcdsgen" tpcds csv --stdout -s "$SF" -T "$1"; }

load_tpch() {
	load tpch tables.sql keys.sql rows_of region nation supplier customer part partsupp orders lineitem
}

load_tpcds() {
	local tables
	mapfile -t tables < <(sed -n 's/^CREATE TABLE \([a-z_]*\).*/\1/p' "$root/bench/everyday/tpcds_tables.sql")
	load tpcds tpcds_tables.sql tpcds_keys.sql tpcds_rows "${tables[@]}"
	"$(dirname "$tpcdsgen")/python" "$root/bench/everyday/tpcds.py" >"$work/tree/tpcds.sql"
}

# queries PART DATABASE FILE...: measures the queries of files
queries() {
	local part=$1 found=0
	measure everyday.pl "$part-$LABEL.txt" "$bindir/psql" "$2" "$work/tree/$part.json" "$part" "${@:3}" || found=$?
	cp "$work/tree/$part.json" "$root/bench/results/$part-$LABEL.json"
	return "$found"
}

preload=session_preload_libraries
label=cpu$(nproc)
if [ -e /dev/nvidiactl ]; then
	# the service needs a place in the server
	preload=shared_preload_libraries
	label+=-gpu
fi
export SF=${SF:-1} LABEL=${LABEL:-$label}
begin_bench everyday
parts=${PARTS:-everyday tpcds trap}
for part in $parts; do
	case $part in
		everyday | trap) find_generator ;;
		tpcds) find_tpcds ;;
		*) die "PARTS has \"$part\"; there are everyday, tpcds and trap." ;;
	esac
done
make_locale en_US.UTF-8
start_server everyday --locale=en_US.UTF-8 <<<"$preload = 'gpusort'"
case $parts in *everyday* | *trap*) load_tpch ;; esac
case $parts in *tpcds*) load_tpcds ;; esac
status=0
for part in $parts; do
	case $part in
		everyday) queries everyday tpch "$work/tree/bench/everyday/"{lists,tpch}.sql ;;
		tpcds) TIMEOUT=${TIMEOUT:-60} queries tpcds tpcds "$work/tree/tpcds.sql" ;;
		trap) TIMEOUT=${TIMEOUT:-120} queries trap tpch "$work/tree/bench/everyday/trap.sql" ;;
	esac || status=$?
done
exit "$status"
