#!/bin/bash
# functions.sh [memory|stock|gpu]...: the SQL functions against plain SQL on private servers; results also go to
# bench/results/ as text and JSON.  "gpu" is for a host with an NVIDIA GPU: there functions run on both engines.  ROWS,
# RUNS and ONLY in the environment make it smaller or larger; see functions.pl.
. "$(dirname "$0")/lib.sh"

parts=${*:-memory stock}
begin_bench
for part in $parts; do
	# the table in memory, too; nothing but the place of the socket is set for the stock part
	if [ "$part" = stock ]; then
		start_server "$part" --locale=C.UTF-8 --encoding=UTF8 </dev/null
	else
		start_server "$part" --locale=C.UTF-8 --encoding=UTF8 <<-CONF
			shared_buffers = ${SHARED_BUFFERS:-$([ "$part" = gpu ] && echo 16GB || echo 3GB)}
			max_wal_size = 8GB
		CONF
	fi
	measure functions.pl "functions-$part.txt" "$part" "$bindir/psql" "$work/tree/$part.json"
	cp "$work/tree/$part.json" "$root/bench/results/functions-$part.json"
	stop_server "$part"
done
