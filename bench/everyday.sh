#!/bin/bash
# everyday.sh: everyday queries over the tables of TPC-H on a private server with stock settings and a database in
# en_US.UTF-8, with gpusort off and on; see everyday.pl.  Results go to bench/results/everyday-LABEL.txt and .json;
# charts.pl draws the second, everyday/table.pl makes the table of doc/benchmarks.md from it.
#
#   LABEL     of the results; default the number of cores, as cpu2, and "-gpu" with a GPU
#   SF        scale factor, default 1
#   TPCHGEN   path of tpchgen-cli; without it PyPI's goes into build/, as it does not on a host without network
#   TPCH_DATA directory of region.csv and so on, instead of generating them
#   LOCPATH   directory with a compiled en_US.UTF-8, for a host without localedef or the sources of locales
#
# SIDES, RUNS, ONLY and TIMEOUT are everyday.pl's.
. "$(dirname "$0")/lib.sh"

# Makes the tables of TPC-H in a database of that name.
load() {
	local psql=("$bindir/psql" -X -q -v ON_ERROR_STOP=1) table
	"${psql[@]}" -d postgres -c 'CREATE DATABASE tpch'
	"${psql[@]}" -d tpch -c 'CREATE EXTENSION gpusort' -f "$root/bench/everyday/tables.sql" >&2
	for table in region nation supplier customer part partsupp orders lineitem; do
		rows_of "$table" | "${psql[@]}" -d tpch -c "COPY $table FROM STDIN (FORMAT csv, HEADER)"
	done
	"${psql[@]}" -d tpch -f "$root/bench/everyday/keys.sql"
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
find_generator
make_locale en_US.UTF-8
start_server everyday --locale=en_US.UTF-8 <<<"$preload = 'gpusort'"
say "Loading the tables of TPC-H, scale factor $SF"
load
status=0
measure everyday.pl "everyday-$LABEL.txt" "$bindir/psql" tpch "$work/tree/everyday.json" || status=$?
cp "$work/tree/everyday.json" "$root/bench/results/everyday-$LABEL.json"
exit "$status"
