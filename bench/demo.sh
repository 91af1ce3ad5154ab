#!/bin/bash
# demo.sh: what gpusort does to five queries, on a private server with stock settings and the machine's locale.
# ROWS in the environment changes the size of the table, RUNS how often each query runs.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
. "$root/test/lib.sh"

build_and_install
make_work
copy_tree
say "Starting a private server"
start_server demo </dev/null
as_server perl "$work/tree/bench/demo.pl" "$bindir/psql"
