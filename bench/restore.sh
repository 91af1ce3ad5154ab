#!/bin/bash
# restore.sh: what a restore of TPC-H's tables takes whose strings are indexed, by PostgreSQL's builds of indexes and by
# gpusort's, by turns, on stock settings under en_US.UTF-8: its whole time, and processor time of the server; also goes
# to bench/results/restore.txt.
#
#   SF       scale factor, default 0.5
#   RUNS     of each, default 2
#   JOBS     of pg_restore, default 2
#   TPCHGEN, TPCH_DATA and LOCPATH are as to everyday.sh
. "$(dirname "$0")/lib.sh"

export SF=${SF:-0.5} RUNS=${RUNS:-2} JOBS=${JOBS:-2}

psql_into() { "$bindir/psql" -X -q -v ON_ERROR_STOP=1 -d "$@"; }

# Milliseconds of the server's processes that have ended.
ended_ms() {
	local fields
	read -r -a fields < <(sed 's/^.*) //' "/proc/$(head -1 "$work/restore/postmaster.pid")/stat")
	echo $(((fields[13] + fields[14]) * 1000 / $(getconf CLK_TCK)))
}

# restored WAY: restores into a new database; prints the time that passed and that of processors, in ms
restored() {
	local from before
	psql_into postgres -c 'DROP DATABASE IF EXISTS restored' -c 'CREATE DATABASE restored' -c CHECKPOINT
	before=$(ended_ms) from=$(date +%s%3N)
	PGOPTIONS="-c gpusort.index_builds=$1" as_server "$bindir/pg_restore" -j "$JOBS" -d restored "$work/dump"
	echo "$1 $(($(date +%s%3N) - from)) $(($(ended_ms) - before))"
}

begin_bench everyday
find_generator
make_locale en_US.UTF-8
start_server restore --locale=en_US.UTF-8 <<<"session_preload_libraries = 'gpusort'"
psql_into postgres -c 'CREATE DATABASE tpch'
psql_into tpch -f "$root/bench/everyday/tables.sql"
for table in region nation supplier customer part partsupp orders lineitem; do
	rows_of "$table" | psql_into tpch -c "COPY $table FROM STDIN (FORMAT csv, HEADER)"
done
psql_into tpch -f "$root/bench/everyday/keys.sql"
psql_into tpch <<-SQL
	CREATE INDEX ON supplier (s_name);
	CREATE INDEX ON customer (c_address);
	CREATE INDEX ON customer (c_mktsegment, c_acctbal);
	CREATE INDEX ON part (p_name);
	CREATE INDEX ON part (p_type, p_size);
	CREATE INDEX ON partsupp (ps_comment);
	CREATE INDEX ON orders (o_clerk, o_orderdate);
	CREATE INDEX ON orders (o_comment);
	CREATE INDEX ON lineitem (l_shipmode, l_shipdate);
	CREATE INDEX ON lineitem (l_comment);
SQL
as_server "$bindir/pg_dump" -Fd -Z0 -f "$work/dump" tpch
{
	echo "pg_restore -j $JOBS of TPC-H's tables, scale factor $SF, with ten indexes on strings; gpusort.index_builds," \
		"whole time and the server's processor time in ms; $("$bindir/postgres" --version), $(nproc) cores, load" \
		"$(cut -d ' ' -f 1 /proc/loadavg) at the start; commit $COMMIT"
	for ((run = 0; run < RUNS; run++)); do
		restored off
		restored on
	done
} | keep restore.txt
