# shellcheck shell=bash disable=SC2154
# lib.sh: what the benchmarks on private servers share, beside test/lib.sh.  Sourced by the scripts of this folder,
# whose results also go to bench/results.
set -eu -o pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
. "$root/test/lib.sh"

# begin_bench [WHAT]: installs what is missing, builds and installs gpusort, and copies the tree to where servers may
# read it; COMMIT is what was measured.
begin_bench() {
	build_and_install "$@"
	make_work
	copy_tree
	mkdir -p "$root/bench/results"
	export COMMIT=${COMMIT:-$(git -C "$root" describe --always --dirty 2>/dev/null || true)}
}

# start_quiet_server NAME: a server with the settings on standard input, on which nothing but the benchmark works
start_quiet_server() {
	start_server "$1" --locale=C.UTF-8 --encoding=UTF8 <<-CONF
		$(cat)
		max_wal_size = 8GB
		fsync = off
		autovacuum = off
	CONF
}

# keep RESULT: shows what a benchmark says, and keeps it as bench/results/RESULT
keep() { tee "$root/bench/results/$1"; }

# measure PROGRAM RESULT [ARGUMENT]...: runs one of the programs of this folder, and keeps what it says
measure() { as_server perl "$work/tree/bench/$1" "${@:3}" | keep "$2"; }
