#!/bin/bash
# Runs PostgreSQL's own regression suite twice, without gpusort and with every possible sort replaced, and compares the result rows.
#
#   test/core-regress.sh SOURCE_TREE [WORK_DIRECTORY]
#
# SOURCE_TREE is PostgreSQL's source of the server's version.  PG_CONFIG chooses the server, into which gpusort must be installed.  Settings
# for the second run can be added in GPUSORT_CONF, one per line.  Plans and the order of a query's rows are left out of the comparison.  What remains
# are queries whose values depend on the order of ties: window functions over frames of rows (window), DISTINCT ON (tsrf).
set -eu

source_tree=$(realpath "$1")
work=${2:-$(mktemp -d)}
pg_config=${PG_CONFIG:-pg_config}
port=${PORT:-54990}
regress=$source_tree/src/test/regress
pg_regress=$(dirname "$("$pg_config" --pgxs)")/../test/regress/pg_regress

# pg_regress starts a server, which refuses to run as root
as_user()
{
	if [ "$(id -u)" = 0 ]; then
		runuser -u postgres -- "$@"
	else
		"$@"
	fi
}

# Prints results with the rows of each query sorted, because ties come in no fixed order, and without plans.
comparable()
{
	perl -ne '
		if (@rows) {
			push @rows, $_;
			next unless /^\(\d+ rows?\)$/;
			print sort @rows unless grep { /Seq Scan|Index Scan|Sort Key|Node Type|QUERY PLAN/ } @rows;
			@rows = ();
		} elsif (/^-+(\+-+)*$/) { @rows = ($_) }
		else { print unless /QUERY PLAN/ }' "$1"
}

# Runs the suite with the settings of a file; its results stay in a directory of the run's name.
run_suite()
{
	local name=$1 conf=$2

	mkdir -p "$work/$name"
	cp -r "$regress/sql" "$regress/expected" "$regress/data" "$regress/parallel_schedule" "$work/$name/"
	[ "$(id -u)" != 0 ] || chown -R postgres "$work"
	as_user "$pg_regress" --temp-instance="$work/$name/instance" --temp-config="$conf" --port="$port" \
		--bindir="$("$pg_config" --bindir)" --dlpath="$work" --inputdir="$work/$name" --outputdir="$work/$name" \
		--schedule="$work/$name/parallel_schedule" --max-connections=4 >"$work/$name.log" 2>&1 || true
	tail -n 8 "$work/$name.log"
}

mkdir -p "$work"
chmod 755 "$work"
gcc -O1 -fPIC -shared -fno-strict-aliasing -fwrapv -I"$("$pg_config" --includedir-server)" -o "$work/regress.so" "$regress/regress.c"

cat >"$work/plain.conf" <<'CONF'
fsync = off
CONF
cat - "$work/plain.conf" >"$work/forced.conf" <<CONF
shared_preload_libraries = 'gpusort'
gpusort.min_rows = 0
${GPUSORT_CONF:-}
CONF
run_suite plain "$work/plain.conf"
run_suite forced "$work/forced.conf"

different=0
for out in "$work"/plain/results/*.out; do
	name=$(basename "$out")
	if ! diff -u <(comparable "$out") <(comparable "$work/forced/results/$name") >"$work/diff"; then
		different=$((different + 1))
		echo "=== $name"
		cat "$work/diff"
	fi
done
echo "$different files with differences outside plans"
