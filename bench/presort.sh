#!/bin/bash
# presort.sh: aggregates that want their values sorted, on a private server; also goes to
# bench/results/presort-VERSION.txt.  See presort.pl.
set -eu -o pipefail
root=$(cd "$(dirname "$0")/.." && pwd)
. "$root/test/lib.sh"

build_and_install
make_work
copy_tree
mkdir -p "$root/bench/results"
start_server presort --locale=C.UTF-8 --encoding=UTF8 <<-CONF
	shared_preload_libraries = 'gpusort'
	shared_buffers = 512MB
	fsync = off
	autovacuum = off
CONF
as_server perl "$work/tree/bench/presort.pl" "$bindir/psql" | tee "$root/bench/results/presort-$pgmajor.txt"
stop_server presort
