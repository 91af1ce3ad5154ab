#!/bin/sh
# The scan family's tests on a GPU: all of them, then small sizes under each of compute-sanitizer's tools.
#   gpucheck.sh TEST-BINARY
set -u
test=$1
sanitizer=${COMPUTE_SANITIZER:-compute-sanitizer}
failed=0
"$test" gpu || failed=1
for tool in memcheck initcheck synccheck racecheck; do
	echo "# compute-sanitizer $tool"
	"$sanitizer" --tool "$tool" --error-exitcode 9 --print-limit 5 "$test" gpu small || failed=1
done
exit $failed
