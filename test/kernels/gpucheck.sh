#!/bin/sh
# The kernels' tests on a GPU: all of them, then small sizes under each of compute-sanitizer's tools.  racecheck, which
# slows the kernels down a thousandfold, gets some of the cases.
#   gpucheck.sh TEST-PROGRAM
set -u
test=$1
failed=0
run() { echo "# $*"; "$@" || failed=1; }
run "$test" gpu
run "$test" gpu jobs rounds=15 rows=1000000
run "$test" gpu gpu-orders rounds=600 rows=60000 launch=1
run "$test" gpu gpu-orders rounds=1000 rows=65536
run "$test" gpu gpu-orders rounds=400 rows=9000
run "$test" gpu gpu-orders rounds=12 rows=3000000
run "$test" gpu gpu-orders rounds=600 rows=200000 launch=1 finish=2
run "$test" gpu gpu-orders rounds=600 rows=200000 launch=1 finish=3
run "$test" gpu gpu-orders rounds=100 rows=3000000 launch=1 finish=0
run "$test" gpu gpu-orders rounds=100 rows=3000000 launch=1 finish=3
run "$test" gpu gpu-orders rounds=30 rows=400000 launch=1 finish=1 stall=1
run "$test" gpu gpu-orders rounds=30 rows=400000 launch=1 finish=2 stall=1
for tool in memcheck initcheck synccheck racecheck; do
	sanitized="${COMPUTE_SANITIZER:-compute-sanitizer} --tool $tool --error-exitcode 9 --print-limit 5 $test gpu"
	tiny= rounds=40
	if [ $tool = racecheck ]; then tiny=tiny rounds=8; fi
	run $sanitized small $tiny scans sorts
	run $sanitized jobs rounds=8 rows=5000
	for way in launch=1 'launch=1 finish=2' launch=0; do
		run $sanitized gpu-orders rounds=$rounds rows=20000 $way
	done
done
exit $failed
