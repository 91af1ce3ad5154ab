# shellcheck shell=bash disable=SC2154
# lib.sh: what the benchmarks on private servers share, beside test/lib.sh.  Sourced by the scripts of this folder,
# whose results also go to bench/results.
set -eu -o pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
. "$root/test/lib.sh"

# begin_bench [WHAT]: installs what is missing, builds and installs gpusort, and copies the tree to where servers may
# read it; COMMIT is what was measured.  With INSTALLED=1 what is there is measured, as on machines without packages.
begin_bench() {
	if [ -n "${INSTALLED:-}" ]; then require_postgres; else build_and_install "$@"; fi
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

# Sets tpchgen, the generator of TPC-H's tables, unless their data are there already (TPCH_DATA).
find_generator() {
	local venv=$root/build/tpchgen
	tpchgen=${TPCHGEN:-$venv/bin/tpchgen-cli}
	if [ -n "${TPCH_DATA:-}" ] || [ -x "$tpchgen" ]; then return; fi
	[ -z "${TPCHGEN:-}" ] || die "There is no program \"$TPCHGEN\"."
	say "Installing tpchgen-cli into $venv"
	python3 -m venv "$venv"
	"$venv/bin/pip" install -q --disable-pip-version-check tpchgen-cli==4.0.0
}

# The rows of a table of TPC-H at the scale factor SF, as CSV with a header.
rows_of() {
	if [ -n "${TPCH_DATA:-}" ]; then cat "$TPCH_DATA/$1.csv"; else "$tpchgen" csv -q --stdout -s "$SF" -T "$1"; fi
}
