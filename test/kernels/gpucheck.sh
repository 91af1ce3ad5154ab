#!/bin/sh
# A family's tests on a GPU: all of them, then small sizes under each of compute-sanitizer's tools.  racecheck, which
# slows the kernels down a thousandfold, gets some of the cases.
#   gpucheck.sh TEST-BINARY
set -u
test=$1
sanitizer=${COMPUTE_SANITIZER:-compute-sanitizer}
failed=0
"$test" gpu || failed=1
for tool in memcheck initcheck synccheck racecheck; do
	set -- gpu small
	if [ "$tool" = racecheck ]; then set -- gpu small tiny; fi
	echo "# compute-sanitizer $tool"
	"$sanitizer" --tool "$tool" --error-exitcode 9 --print-limit 5 "$test" "$@" || failed=1
done
exit $failed
