#!/bin/bash
# The kernels by other rows of the tuning tables than the GPU's own (kernels/cuda/tuning/), on one that has the shared memory for
# all of them: an H100 or H200.  Each row's code is made from PTX of its own architecture, so that what newer instructions do on the
# GPU at hand is done as on the older ones.  Builds (a minute with 16 cores), tests, and times row orders and keys against CUB's.
#   rows.sh [ROW...]        75 64 KB, 86 99 KB, 80 163 KB; all three
#   SECONDS_EACH=60         the most that a test may take
#   SANITIZE=1              instead: small forms under compute-sanitizer's four tools (racecheck not for the scan family)
#   PTX=1                   and an order test with code that the driver compiles
#   BENCH=0                 no times
set -u
cd "$(dirname "$0")/.."
rows=${*:-86 75 80}
jobs=${JOBS:-$(nproc)}
limit=${SECONDS_EACH:-60}
out=build/rows
failed=0
mkdir -p "$out"

say() { echo "# $(date +%T) $*"; }

build() { # the engine and the tests by a row; ptx: nothing but PTX of sm_75, which the driver compiles
	local at=$PWD/$out/$1

	if [ "$1" = ptx ]; then
		make -s -C test/sort -j"$jobs" "$at/sort/order-test" CUDA_GENCODE=-gencode=arch=compute_75,code=compute_75 \
			CUDA_BUILD="$at/cuda" BUILD="$at/sort"
		return
	fi
	make -s -C test/sort -j"$jobs" gpu CUDA_VIRTUAL="$1" CUDA_BUILD="$at/cuda" BUILD="$at/sort" &&
		make -s -C test/scan -j"$jobs" gpu CUDA_VIRTUAL="$1" CUDA_BUILD="$at/cuda" BUILD="$at/scan"
}

check() { # NAME COMMAND...: prints what failed
	local name=$1 rc
	shift
	timeout "$limit" "$@" >"$out/$name.txt" 2>&1
	rc=$?
	if [ $rc -eq 0 ]; then
		say "ok $name: $(tail -n 1 "$out/$name.txt")"
	elif [ $rc -eq 124 ]; then
		say "cut short after $limit s, $(grep -c '^not ok' "$out/$name.txt") failures so far: $name"
		! grep -q '^not ok' "$out/$name.txt"
		return
	else
		say "FAILED ($rc) $name"
		grep -m 5 -E '^not ok|Bail|rror' "$out/$name.txt" || tail -n 5 "$out/$name.txt"
		return 1
	fi
}

say "build: $rows"
pids=
for row in $rows ${PTX:+ptx}; do
	(build "$row" >"$out/build-$row.txt" 2>&1 || echo "# build of row $row failed") &
	pids="$pids $!"
done
if [ "${BENCH:-1}" != 0 ]; then
	# what calls CUB is compiled for the GPU at hand, whatever the row
	make -s -C bench/kernels -j4 BUILD="$PWD/$out/bench" "$PWD/$out/bench/sort_order.o" \
		"$PWD/$out/bench/sort_radix.o" >"$out/build-bench.txt" 2>&1 &
	pids="$pids $!"
fi
for pid in $pids; do wait "$pid"; done
say built

suites() { # a row's tests, side by side
	local row=$1 at=$out/$1 pids= failed=0

	if [ -n "${SANITIZE:-}" ]; then
		for tool in memcheck synccheck initcheck racecheck; do
			set -- compute-sanitizer --tool $tool --error-exitcode 9 --print-limit 5
			check "$row-$tool-order" "$@" "$at/sort/order-test" 6 20000 5 1 1 & pids="$pids $!"
			# before sm_90 the scan family signals by flags with fences and by bar.arrive, which racecheck does not follow
			[ $tool = racecheck ] || { check "$row-$tool-scan" "$@" "$at/scan/scan-test-gpu" gpu small tiny & pids="$pids $!"; }
			check "$row-$tool-sort" "$@" "$at/sort/sort-test-gpu" gpu small tiny & pids="$pids $!"
		done
	else
		check "$row-order-ballots" "$at/sort/order-test" 300 200000 1 1 1 & pids="$pids $!"
		check "$row-order-buckets" "$at/sort/order-test" 300 200000 8 0 1 2 & pids="$pids $!"
		check "$row-order-default" "$at/sort/order-test" 30 3000000 11 & pids="$pids $!"
		check "$row-scan" "$at/scan/scan-test-gpu" gpu small & pids="$pids $!"
		check "$row-sort" "$at/sort/sort-test-gpu" gpu small & pids="$pids $!"
		check "$row-sort-all" "$at/sort/sort-test-gpu" gpu & pids="$pids $!"
	fi
	for pid in $pids; do wait "$pid" || failed=1; done
	return $failed
}

if [ "${BENCH:-1}" != 0 ]; then
	for row in $rows; do
		at=$PWD/$out/$row
		for b in sort_order sort_radix; do
			make -s -C bench/kernels BUILD="$PWD/$out/bench" CUDA_BUILD="$at/cuda" \
				-o "$PWD/$out/bench/$b.o" "$PWD/$out/bench/$b" >>"$out/build-bench.txt" 2>&1 &&
				mv "$out/bench/$b" "$at/$b"
		done
		say "row $row: orders of 2^28 and 2^26 rows, keys"
		for lg in 28 26; do
			timeout "$limit" "$at/sort_order" $lg bits
			timeout "$limit" "$at/sort_radix" $lg uniform
		done
	done
fi

# rows side by side, but the test of stalled blocks, which other programs' work on the GPU would disturb
pids=
[ -z "${PTX:-}" ] || { (limit=$((3 * limit)); check ptx-order $out/ptx/sort/order-test 20 60000 1 0 1) & pids=$!; }
for row in $rows; do
	if [ -x "$out/$row/sort/order-test" ]; then
		suites "$row" &
		pids="$pids $!"
	else
		tail -n 5 "$out/build-$row.txt"
		failed=1
	fi
done
for pid in $pids; do wait "$pid" || failed=1; done
for row in $rows; do
	[ -n "${SANITIZE:-}" ] || check "$row-order-stall" "$out/$row/sort/order-test" 20 400000 4 1 1 1 stall || failed=1
done

# an engine without code for this GPU says so when it is opened
set -- $rows
at=$PWD/$out/none
rm -rf "$at" && mkdir -p "$at" && cp -rp "$out/$1/cuda" "$at/cuda" && rm "$at/cuda/engine.o"
make -s -C test/sort "$at/sort/order-test" CUDA_GENCODE=-gencode=arch=compute_120,code=sm_120 CUDA_BUILD="$at/cuda" \
	BUILD="$at/sort" >"$out/build-none.txt" 2>&1
answer=$("$at/sort/order-test" 1 100)
case $answer in
	*'no code for compute capability'*'build with CUDA_ARCHS='*) say "ok refused: $answer" ;;
	*) say "FAILED refused: $answer" && failed=1 ;;
esac
exit $failed
