#!/bin/bash
# queries.sh [memory|stock]: the query benchmark on private servers; results also go to bench/results/ as JSON.
# ROWS, STOCK_ROWS, RUNS and LINES in the environment make it smaller; see queries.pl.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
. "$root/test/lib.sh"

parts=${*:-memory stock}
build_and_install
make_work
copy_tree
mkdir -p "$root/bench/results"
for part in $parts; do
	# in memory: the table, too; nothing but the place of the socket is set for the stock part
	if [ "$part" = memory ]; then
		start_server "$part" --locale=C.UTF-8 --encoding=UTF8 <<-'CONF'
			shared_buffers = 3GB
			max_wal_size = 8GB
		CONF
	else
		start_server "$part" --locale=C.UTF-8 --encoding=UTF8 </dev/null
	fi
	as_server perl "$work/tree/bench/queries.pl" "$part" "$bindir/psql" "$work/tree/$part.json"
	cp "$work/tree/$part.json" "$root/bench/results/queries-$part.json"
	stop_server "$part"
done
