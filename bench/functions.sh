#!/bin/bash
# functions.sh [memory|stock|gpu]...: the SQL functions against plain SQL on private servers; results also go to
# bench/results/ as text and JSON.  "gpu" is for a host with an NVIDIA GPU: there functions run on both engines.  ROWS,
# RUNS and ONLY in the environment make it smaller or larger; see functions.pl.
set -eu -o pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
. "$root/test/lib.sh"

parts=${*:-memory stock}
build_and_install
make_work
copy_tree
mkdir -p "$root/bench/results"
export COMMIT=${COMMIT:-$(git -C "$root" describe --always --dirty 2>/dev/null || true)}
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
	as_server perl "$work/tree/bench/functions.pl" "$part" "$bindir/psql" "$work/tree/$part.json" |
		tee "$root/bench/results/functions-$part.txt"
	cp "$work/tree/$part.json" "$root/bench/results/functions-$part.json"
	stop_server "$part"
done
