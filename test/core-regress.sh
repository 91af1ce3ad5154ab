#!/bin/bash
# Runs PostgreSQL's own regression suite twice, without gpusort and with every possible sort and aggregate replaced, and
# compares the result rows.
#
#   test/core-regress.sh [--parallel | --output] SOURCE_TREE [DIRECTORY]
#
# With --parallel both runs plan for parallel workers wherever they can, even where a query gains nothing, and it is a
# failure if no rows came in blocks.
#
# With --output the suite runs with gpusort three times, one test after the other: with gpusort.output off, off again,
# and on.  Each message that the server sends is compared, but for those that differ between the first two.
#
# SOURCE_TREE is PostgreSQL's source of the server's version, or of an older one whose regress.c compiles for it: what
# fails without gpusort, too, is compared all the same.  Of an older one join_hash is left out: with 18's, 19rc1 by
# itself starts workers for each row of a loop.  PG_CONFIG chooses the server, into which gpusort is installed first.
# All results stay in DIRECTORY, if one is named.  TEMP_CONFIG names a file of settings for both runs; those of the
# second run alone can be added in GPUSORT_CONF, one per line.  Plans and the order of a query's rows are left out of
# the comparison, and so are queries whose values depend on the order of ties.  A file whose results are the same has
# passed; the last line is "N passed, N failed".
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
. "$root/test/lib.sh"

parallel=
output=
case ${1:-} in
	--parallel) parallel=yes ;;
	--output) output=yes ;;
esac
if [ -n "$parallel$output" ]; then shift; fi
[ $# -ge 1 ] || die "usage: test/core-regress.sh [--parallel | --output] SOURCE_TREE [DIRECTORY]"
build_and_install
regress=$(realpath "$1")/src/test/regress
source_major=$(sed -n "s/^PACKAGE_VERSION='\([0-9]*\).*/\1/p" "$regress/../../../configure")
make_work

# Queries whose values depend on the order of ties, and one that asks for a memory context of PostgreSQL's sort; in
# parallel also some whose rows come in whatever order workers read a table, or wrote it, so that they differ from run
# to run of PostgreSQL alone; from 19 on some rows have numbers of tables and places in the log, which do so, too
any_order='name = .Caller tuples.|DISTINCT ON \(g\) a, b, generate_series'
any_order="$any_order|JSON_ARRAYAGG\(bar\) FILTER \(WHERE bar > 2\) OVER"
if [ "$pgmajor" -ge 19 ]; then any_order="$any_order|pg_get_sequence_data|FROM pg_stats\s"; fi
if [ -n "$parallel" ]; then any_order="$any_order|lag\(tenthous\) over \(\)|FETCH ABSOLUTE -1 FROM foo25;"; fi

# Prints results with the rows of each query sorted, because ties come in no fixed order, and without plans.
comparable() {
	ANY_ORDER=$any_order perl -ne '
		BEGIN { $any_order = qr/$ENV{ANY_ORDER}/ }
		if (@rows) {
			push @rows, $_;
			next unless /^\(\d+ rows?\)$/;
			($query) = $text =~ /([^;]*;)[^;]*$/;
			print $query =~ $any_order ? "in any order\n" : sort(@rows)
			  unless grep { /Seq Scan|Index Scan|Sort Key|Node Type|QUERY PLAN/ } @rows;
			@rows = ();
			$text = "";
		}
		elsif (/^-+(\+-+)*$/) { @rows = ($heading, $_); $heading = "" }
		else { print $heading unless $heading =~ /QUERY PLAN/; $text .= $heading; $heading = $_ }
		END { print $heading, @rows }' "$1"
}

# Runs the suite with the settings of a file; its results stay in a directory of the run's name.
run_suite() {
	local name=$1 conf=$2
	shift 2
	mkdir -p "$work/$name"
	cp -r "$regress/sql" "$regress/expected" "$regress/data" "$regress/parallel_schedule" "$work/$name/"
	[ "$source_major" = "$pgmajor" ] || sed -i 's/ join_hash\b//' "$work/$name/parallel_schedule"
	if [ "$(id -u)" = 0 ]; then chown -R postgres "$work"; fi
	as_server "$pgtest/test/regress/pg_regress" --temp-instance="$work/$name/instance" --temp-config="$conf" \
		--port="${PORT:-54990}" \
		--bindir="$bindir" --dlpath="$work" --inputdir="$work/$name" --outputdir="$work/$name" \
		--schedule="$work/$name/parallel_schedule" --max-connections=4 "$@" >"$work/$name.log" 2>&1 || true
	tail -n 8 "$work/$name.log"
	if ! compgen -G "$work/$name/results/*.out" >/dev/null; then
		tail -n 5 "$work/$name/log/postmaster.log" >&2 || true
		die "No test ran."
	fi
}

gcc -O1 -fPIC -shared -fno-strict-aliasing -fwrapv -I"$("$PG_CONFIG" --includedir-server)" -o "$work/regress.so" \
	"$regress/regress.c"

{
	echo 'fsync = off'
	if [ -n "${TEMP_CONFIG:-}" ]; then cat "$TEMP_CONFIG"; fi
	if [ -n "$parallel" ]; then
		cat <<-CONF
			parallel_setup_cost = 0
			parallel_tuple_cost = 0
			min_parallel_table_scan_size = 0
			min_parallel_index_scan_size = 0
			max_parallel_workers_per_gather = 4
			max_worker_processes = 16
			max_parallel_workers = 16
			$([ "$pgmajor" -ge 16 ] && echo debug_parallel_query || echo force_parallel_mode) = regress
		CONF
	fi
} >"$work/plain.conf"
cat - "$work/plain.conf" >"$work/forced.conf" <<CONF
shared_preload_libraries = 'gpusort'
gpusort.min_rows = 0
gpusort.cores = 16
${GPUSORT_CONF:-}
CONF

# run_recorded NAME SETTING: the suite with the output on or off, in which each connection's messages are kept
run_recorded() {
	mkdir -p "$work/$1.messages"
	cat "$work/forced.conf" - >"$work/$1.conf" <<-CONF
		gpusort.output = $2
		autovacuum = off
	CONF
	run_suite "$1" "$work/$1.conf" --load-extension=gpusort --max-connections=1 \
		--launcher="perl $work/tree/test/output/record.pl $work/$1.messages"
}

if [ -n "$output" ]; then
	copy_tree
	run_recorded off off
	run_recorded again off
	run_recorded on on
else
	run_suite plain "$work/plain.conf"
	run_suite forced "$work/forced.conf" --load-extension=gpusort
fi
if [ $# -gt 1 ]; then mkdir -p "$2" && cp -r "$work/." "$2"; fi

passed=0
failed=0

# agrees NAME: is a test's result the same?  Says what is not.
agrees() {
	if [ -n "$output" ]; then
		perl "$root/test/output/messages.pl" "$1" "$work"/{off,again,on}.messages
	else
		diff -u <(comparable "$work/plain/results/$1.out") <(comparable "$work/forced/results/$1.out")
	fi
}

last=${output:+on}
last=$work/${last:-forced}
for out in "$last"/results/*.out; do
	name=$(basename "$out" .out)
	# most of window's queries have frames of rows that are tied, and opr_sanity lists the functions of the database
	case $output$name in window | opr_sanity) continue ;; esac
	if agrees "$name" >"$work/diff" 2>&1; then
		passed=$((passed + 1))
		if [ -n "$output" ]; then cat "$work/diff"; fi
	else
		failed=$((failed + 1))
		echo "=== $name"
		cat "$work/diff"
	fi
done
if grep -hE 'was terminated by signal|PANIC|TRAP:' "$last/log/postmaster.log"; then
	failed=$((failed + 1))
	echo "the server crashed"
fi
if [ -n "$parallel" ] && ! grep -q '(GpuMerge)' "$work"/forced/results/*.out; then
	failed=$((failed + 1))
	echo "no rows came in blocks"
fi
echo "$passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
