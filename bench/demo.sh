#!/bin/bash
# demo.sh: what gpusort does to some queries, on a private server with stock settings and the machine's locale.  Where
# that sorts strings by their bytes, the queries that sort text run once more under en_US.UTF-8, as on most servers.
# ROWS in the environment changes the size of the table, RUNS how often each query runs.  The library is preloaded, as
# the keeper of resident columns is a worker of the server.
. "$(dirname "$0")/lib.sh"

begin_bench demo
if [ -n "$(locale 2>&1 >/dev/null)" ]; then
	say "This machine does not have the locale that this session names; C.UTF-8 is taken."
	export LC_ALL=C.UTF-8
fi
say "Starting a private server"
start_server demo <<<"shared_preload_libraries = 'gpusort'"
as_server perl "$work/tree/bench/demo.pl" "$bindir/psql" "$work/summary"

if sorts_by_bytes; then
	stop_server demo
	make_locale en_US.UTF-8
	say "Starting another one, with the locale en_US.UTF-8"
	start_server linguistic --locale=en_US.UTF-8 <<<"shared_preload_libraries = 'gpusort'"
	as_server perl "$work/tree/bench/demo.pl" "$bindir/psql" "$work/summary" text
fi
echo
echo '===================================================================================================='
echo 'The summary again: time at the client'
cat "$work/summary"
echo
echo 'gpusort is installed now, and the private server is gone.  In a database of yours: CREATE EXTENSION gpusort;'
echo 'How later sessions get it, and how to make a server where there is none: doc/install.md.'
as_installer "$root/packaging/running.sh" advise "$PG_CONFIG"
