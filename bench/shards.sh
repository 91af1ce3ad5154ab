#!/bin/bash
# shards.sh: queries over a table in 8 and in 32 shards on two workers, asked of a coordinator, with gpusort off and on
# on all three; see shards.pl.  By postgres_fdw always, by Citus too where it is installed.  All servers run on this
# machine.  Results go to bench/results/shards-LABEL.txt and .json.
#
#   LABEL     of the results; default the number of cores, as cpu2
#   ROWS      of the table, default 1000000
#   SHARDS    default "8 32"
#   WAYS      how shards are reached: "fdw", "citus", or both, as by default where Citus is
#   LOCALE    of the databases, default en_US.UTF-8
#   LOCPATH   directory with a compiled en_US.UTF-8, for a host without localedef or the sources of locales
#
# RUNS and ONLY are shards.pl's.
. "$(dirname "$0")/lib.sh"

export LABEL=${LABEL:-cpu$(nproc)} ROWS=${ROWS:-1000000} LOCALE=${LOCALE:-en_US.UTF-8}
begin_bench "$([ "$LOCALE" != en_US.UTF-8 ] || echo shards)"
make_locale "$LOCALE"
preload=gpusort
ways=${WAYS:-fdw}
if [ -z "${WAYS:-}" ] && [ -e "$("$PG_CONFIG" --sharedir)/extension/citus.control" ]; then ways+=' citus'; fi
case "$ways" in *citus*) preload=citus,gpusort ;; esac
port=54321
for node in coordinator worker1 worker2; do
	# the last port counts
	start_server "$node" --locale="$LOCALE" <<-CONF
		port = $port
		shared_preload_libraries = '$preload'
		max_connections = 200
		max_prepared_transactions = 200
		max_wal_size = 8GB
		jit = off
		$(if [ "$preload" != gpusort ]; then
			echo "wal_level = logical"
			echo "citus.node_conninfo = 'sslmode=prefer'"
			echo "citus.local_hostname = '$work'"
		fi)
	CONF
	port=$((port + 1))
done
status=0
measure shards.pl "shards-$LABEL.txt" "$bindir/psql" "$work/tree/shards.json" "$work" "$ways" "${SHARDS:-8 32}" ||
	status=$?
cp "$work/tree/shards.json" "$root/bench/results/shards-$LABEL.json"
exit "$status"
