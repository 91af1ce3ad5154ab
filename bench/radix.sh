#!/bin/bash
# radix.sh: sorts by PostgreSQL's own Sort, which from 19 on has a radix sort, and by gpusort, on a private server; also
# goes to bench/results/radix-VERSION.txt.  See radix.pl for ROWS, RUNS, ONLY and CLOCK.
set -eu -o pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
. "$root/test/lib.sh"

build_and_install
make_work
copy_tree
make_locale en_US.UTF-8
mkdir -p "$root/bench/results"
export COMMIT=${COMMIT:-$(git -C "$root" describe --always --dirty 2>/dev/null || true)}
# the table is in memory, too
start_server radix --locale=C.UTF-8 --encoding=UTF8 <<-CONF
	shared_buffers = ${SHARED_BUFFERS:-3GB}
	max_wal_size = 8GB
	fsync = off
	autovacuum = off
CONF
as_server perl "$work/tree/bench/radix.pl" "$bindir/psql" | tee "$root/bench/results/radix-$pgmajor.txt"
stop_server radix
