#!/bin/bash
# The kernels by other rows of the tuning tables than the GPU's own (kernels/cuda/tuning/), on one that has the shared
# memory for all of them: an H100 or H200.  Each row's code is made from PTX of its own architecture, so that what newer
# instructions do on the GPU at hand is done as on the older ones.  Builds (a minute with 16 cores), tests, and times
# row orders and keys against CUB's.
#   rows.sh [ROW...]        75 64 KB, 86 99 KB, 80 163 KB; all three
#   SECONDS_EACH=60         the most that a test may take
#   SANITIZE=1              instead: small forms under compute-sanitizer's four tools (racecheck not for the scan
#                           family and jobs), or under those that are named: SANITIZE="racecheck memcheck"
#   EVERY=9                 of whose cases one in so many is run; 1: all
#   FAMILIES="sorts scans jobs"  which suites are run
#   PTX=1                   and an order test with code of 75, 80 and 89 each that the driver compiles, or of others:
#                           PTX="75 86"
#   BENCH=0                 no times
set -u
cd "$(dirname "$0")/.."
rows=${*:-86 75 80}
jobs=${JOBS:-$(nproc)}
limit=${SECONDS_EACH:-60}
out=build/rows
every=${EVERY:-9}
tools=${SANITIZE:-}
[ "$tools" != 1 ] || tools='memcheck synccheck initcheck racecheck'
families=${FAMILIES:-sorts scans jobs}
ptx=${PTX:-}
[ "$ptx" != 1 ] || ptx='75 80 89'
failed=0
mkdir -p "$out"

say() { echo "# $(date +%T) $*"; }

build() { # the engine and the tests by a row; ptx75: nothing but PTX of sm_75, which the driver compiles
	local at=$PWD/$out/$1 how

	rm -f "$at/built"
	case $1 in
		ptx*) how=CUDA_GENCODE="-gencode=arch=compute_${1#ptx},code=compute_${1#ptx}" ;;
		*) how=CUDA_VIRTUAL="$1" ;;
	esac
	make -s -C test/kernels -j"$jobs" gpu "$how" CUDA_BUILD="$at/cuda" BUILD="$at" || return
	touch "$at/built"
}

check() { # NAME COMMAND...: prints what failed
	local name=$1 rc start=$SECONDS
	shift
	timeout "$limit" "$@" >"$out/$name.txt" 2>&1
	rc=$?
	if [ $rc -eq 0 ]; then
		say "ok $name, $((SECONDS - start)) s: $(grep -v '^1\.\.' "$out/$name.txt" | tail -n 1)"
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
for row in $rows ${ptx:+$(printf 'ptx%s ' $ptx)}; do
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

# The groups of tests, each a process of its own: most of their time is the host's
sort_tests='radix radix-buckets plans topk segments merge'
scan_tests='scan select runs reduce others rows'
case $families in *scans*) ;; *) scan_tests= ;; esac
case $families in *sorts*) ;; *) sort_tests= ;; esac
case $families in *jobs*) with_jobs=1 ;; *) with_jobs= ;; esac

suites() { # a row's tests, side by side
	local row=$1 test=$out/$1/gpu/kernels-test pids= failed=0 tool name

	if [ -n "$tools" ]; then
		for tool in $tools; do
			set -- compute-sanitizer --tool "$tool" --error-exitcode 9 --print-limit 5 "$test" gpu
			if [ -n "$sort_tests" ]; then
				check "$row-$tool-order" "$@" gpu-orders rounds=3 rows=20000 launch=1 & pids="$pids $!"
				check "$row-$tool-buckets" "$@" gpu-orders rounds=3 rows=20000 launch=1 finish=2 & pids="$pids $!"
			fi
			for name in $sort_tests; do
				check "$row-$tool-$name" "$@" small "every=$every" "$name" & \
					pids="$pids $!"
			done
			# before sm_90 the scan family, of which jobs are made, signals by flags with fences and by bar.arrive,
			# which racecheck does not follow
			[ "$tool" != racecheck ] || continue
			if [ -n "$with_jobs" ]; then
				check "$row-$tool-jobs" "$@" jobs rounds=8 rows=5000 & pids="$pids $!"
			fi
			for name in $scan_tests; do
				check "$row-$tool-$name" "$@" small "every=$every" "$name" & \
					pids="$pids $!"
			done
		done
	else
		if [ -n "$sort_tests" ]; then
			check "$row-order-passes" "$test" gpu gpu-orders rounds=300 rows=200000 launch=1 & pids="$pids $!"
			check "$row-order-buckets" "$test" gpu gpu-orders rounds=300 rows=200000 launch=1 finish=2 & pids="$pids $!"
			check "$row-order-default" "$test" gpu gpu-orders rounds=30 rows=3000000 & pids="$pids $!"
		fi
		if [ -n "$with_jobs" ]; then
			check "$row-jobs" "$test" gpu jobs & pids="$pids $!"
		fi
		for name in $sort_tests; do
			check "$row-$name" "$test" gpu "$name" & pids="$pids $!"
		done
		for name in $scan_tests; do
			check "$row-$name" "$test" gpu "$name" & pids="$pids $!"
		done
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
for row in $ptx; do
	(
		limit=$((3 * limit))
		check "ptx$row-order" "$out/ptx$row/gpu/kernels-test" gpu gpu-orders rounds=20 rows=60000 launch=1
	) & pids="$pids $!"
done
for row in $rows; do
	if [ -e "$out/$row/built" ]; then
		suites "$row" &
		pids="$pids $!"
	else
		tail -n 5 "$out/build-$row.txt"
		failed=1
	fi
done
for pid in $pids; do wait "$pid" || failed=1; done
for row in $rows; do
	[ -z "$tools" ] && [ -n "$sort_tests" ] || continue
	test=$out/$row/gpu/kernels-test
	check "$row-order-stall" "$test" gpu gpu-orders rounds=20 rows=400000 launch=1 finish=1 stall=1 || failed=1
	check "$row-sort-stall" "$test" gpu radix-stall segments-stall || failed=1
done
[ -n "$sort_tests" ] || exit $failed

# refused WHAT ANSWER VARIABLE=VALUE...: an engine that cannot run here, the first row's but for base/engine.o, which
# make compiles with these, says why when it is opened
refused() {
	local at=$PWD/$out/$1 what=$1 wanted=$2 answer
	shift 2
	rm "$at/cuda/base/engine.o"
	make -s -C test/kernels gpu "$@" CUDA_BUILD="$at/cuda" BUILD="$at" >"$out/build-$what.txt" 2>&1
	answer=$("$at/gpu/kernels-test" gpu gpu-orders rounds=1 rows=100)
	case $answer in
		*"$wanted"*'build with CUDA_ARCHS='*) say "ok refused: $answer" ;;
		*) say "FAILED refused: $answer" && failed=1 ;;
	esac
}
set -- $rows
for what in none larger; do
	rm -rf "${out:?}/$what" && mkdir -p "$out/$what" && cp -rp "$out/$1/cuda" "$out/$what/cuda"
done
# one without code for this GPU, and one whose row wants more shared memory than it has
refused none 'no code for compute capability' CUDA_GENCODE=-gencode=arch=compute_120,code=sm_120
cp -rp kernels "$out/larger/kernels"
sed -i 's/^\t227,$/\t228,/' "$out/larger/kernels/cuda/tuning/sm_90.h"
refused larger 'wants more shared memory than it has' CUDA_ROOT="$PWD/$out/larger/kernels" CUDA_ARCHS=90 TUNING=90
exit $failed
