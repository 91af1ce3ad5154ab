#!/bin/bash
# run.sh [NUMBER]...: runs the tests as they are (number 0), then makes each of the faults in the file beside this
# script, or those named, in a copy of the tree, and runs tests until one of them notices.  A fault that none notices
# fails; a table of all goes to build/mutants.md, or where TABLE says.
#
# A fault's tests are: kernel:FAMILY, those of test/kernels on the CPU engine; service:lies and, for root,
# service:stranger, those of test/service; pgtap:FILE; regress:TEST; t:FILE, one of test/t.  They run in servers
# of one data directory, with the extension in the place where PG_CONFIG says, and the right one goes there in the end.
# When none of them notices, all of regress, pgtap and tap have a chance (MUTANTS_QUICK=1: not).
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
. "$root/test/lib.sh"
require_postgres
make_work
trap 'make -s -C "$root" PG_CONFIG="$PG_CONFIG" install >/dev/null 2>&1 || true; cleanup' EXIT
need_locales
copy_tree
tree=$work/tree
log=$work/mutant.log
compiler=gcc
if command -v ccache >/dev/null 2>&1; then compiler='ccache gcc'; fi

# kernel_tests FAMILY: its tests, of the objects that the extension was built of.
kernel_tests() {
	local built=$work/built file
	mkdir -p "$built"
	for file in $(find "$tree/test/kernels" -name '*.c' ! -name 'gpu_*' -printf '%f\n'); do
		[ -e "$built/$file.o" ] || gcc -std=gnu11 -O1 -g "-I$tree" -c "$tree/test/kernels/$file" -o "$built/$file.o" ||
			return 2
	done
	gcc "$built"/*.o "$tree"/kernels/*.o "$tree"/kernels/cpu/*.o -lm -o "$built/kernels-test" || return 2
	"$built/kernels-test" cpu small "$1"
}

# noticed TEST: does it fail?
noticed() {
	local what=${1%%:*} which=${1#*:} status=0
	case $what in
		kernel) kernel_tests "$which" >"$log" 2>&1 || status=$? ;;
		service)
			case $which in
				lies) timeout 1200 "$tree/test/service/build/liar_test" "$tree/gpusortd" 2 >"$log" 2>&1 || status=$? ;;
				stranger) [ "$(id -u)" != 0 ] ||
					"$tree/test/service/stranger.sh" "$tree/gpusortd" >"$log" 2>&1 || status=$? ;;
			esac ;;
		regress)
			as_server timeout 2400 make -s -C "$tree" PG_CONFIG="$PG_CONFIG" \
				REGRESS="$which" installcheck >"$log" 2>&1 || status=$? ;;
		pgtap)
			as_server timeout 2400 pg_prove --psql-bin "$bindir/psql" -d gpusort_pgtap \
				"$tree/test/pgtap/$which.sql" >"$log" 2>&1 ||
				status=$? ;;
		t)
			mkdir -p "$work/tap"
			if [ "$(id -u)" = 0 ]; then chown postgres "$work/tap"; fi
			as_server timeout 2400 env PATH="$bindir:$PATH" TESTDIR="$work/tap" TESTDATADIR="$work/tap/tmp_check" \
				TESTLOGDIR="$work/tap/tmp_check/log" \
				PG_REGRESS="$pgtest/test/regress/pg_regress" PG_TEST_TIMEOUT_DEFAULT=180 \
				perl -I "$pgtest/test/perl" -I "$tree/test/perl" "$tree/test/t/$which.pl" >"$log" 2>&1 || status=$? ;;
	esac
	[ "$status" != 0 ]
}

# Builds the copy, and installs it into the server, which starts anew if it runs.
build() {
	make -s -C "$tree" PG_CONFIG="$PG_CONFIG" CC="$compiler" >"$log" 2>&1 &&
		as_root make -s -C "$tree" PG_CONFIG="$PG_CONFIG" install >"$log" 2>&1
}

# Has a server for tests that do not start one themselves.
restart() {
	as_server "$bindir/pg_ctl" restart -w -t 600 -s -m immediate -D "$work/data" -l "$work/data.log" >/dev/null
}

build || { cat "$log" >&2; die "the tree does not build"; }
as_server make -s -B -C "$tree/test/datums" PG_CONFIG="$PG_CONFIG" >&2
make -s -C "$tree/test/service" liar_test >&2
if [ "$(id -u)" = 0 ]; then chown -R postgres "$tree"; fi
start_pgtap_server data

# The faults, a line each: file, edit, tests and name, parted by tabs.
perl -00 -ne 'next if /^#/; my %f = /^(\w+): (.*)$/mg;
	print join("\t", @f{qw(file edit tests name)}), "\n" if $f{name}' \
	"$root/test/mutants/faults" >"$work/faults"
mkdir -p "$root/build"
table=${TABLE:-$root/build/mutants.md}
printf '| # | fault | in | noticed by |\n|--:|---|---|---|\n' >"$table"
number=0
missed=0
# Was this fault asked for?
chosen() {
	local wanted
	[ ${#numbers[@]} -gt 0 ] || return 0
	for wanted in "${numbers[@]}"; do if [ "$wanted" = "$1" ]; then return 0; fi; done
	return 1
}
numbers=("$@")
# a test that fails without a fault notices none
if chosen 0; then
	cut -f 3 "$work/faults" | tr ' ' '\n' | sort -u >"$work/tests"
	while read -r test <&3; do
		if noticed "$test"; then
			cat "$log" >&2
			die "$test fails without a fault"
		fi
		say "$test passes"
	done 3<"$work/tests"
fi
while IFS=$'\t' read -r file edit tests name <&3; do
	number=$((number + 1))
	chosen "$number" || continue
	cp -p "$tree/$file" "$work/right"
	perl -0pi -e "$edit" "$tree/$file"
	by=
	if cmp -s "$work/right" "$tree/$file"; then
		by="nothing: the change finds no place"
	elif ! build; then
		by="nothing: it does not compile"
	else
		case $tests in *pgtap:* | *regress:*) restart ;; esac
		for test in $tests; do
			if noticed "$test"; then by=$test; break; fi
		done
		if [ -z "$by" ] && [ -z "${MUTANTS_QUICK:-}" ]; then
			for test in regress pgtap tap; do
				if ! "$tree/test/run.sh" "$test" >"$log" 2>&1; then by="all of $test"; break; fi
			done
		fi
	fi
	case ${by:-nothing} in nothing*) missed=$((missed + 1)) ;; esac
	printf '| %d | %s | %s | %s |\n' "$number" "$name" "$file" "${by:-nothing}" | tee -a "$table"
	cp "$work/right" "$tree/$file"
done 3<"$work/faults"
echo "$missed missed"
[ "$missed" = 0 ]
