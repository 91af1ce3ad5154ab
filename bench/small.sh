#!/bin/bash
# small.sh: what gpusort gains and loses in queries over 1000 to 40,000 rows, on a private server on stock settings;
# also goes to bench/results/small.txt.  See small.pl for ONLY, SEED and PAIRS.  LANES=8 measures in as many sessions at
# a time, on a machine with more cores than that.
. "$(dirname "$0")/lib.sh"

begin_bench
make_locales en_US.UTF-8
start_server small --locale=C.UTF-8 --encoding=UTF8 <<-CONF
	session_preload_libraries = 'gpusort'
	fsync = off
CONF
lanes=${LANES:-1}
for ((lane = 1; lane <= lanes; lane++)); do
	as_server "$bindir/createdb" "lane$lane"
	PART=$lane/$lanes as_server perl "$work/tree/bench/small.pl" "$bindir/psql" "lane$lane" >"$work/lane$lane.txt" &
done
wait
cat "$work"/lane*.txt | keep small.txt
stop_server small
