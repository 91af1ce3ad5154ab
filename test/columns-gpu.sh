#!/bin/bash
# columns-gpu.sh: resident columns on a machine with a GPU and nvcc, within 8 minutes: the engine's sums, the service
# with its keepers, loaders and sessions, the same under compute-sanitizer, and a short storm.  CUDA_ARCHS names the
# GPU's architecture (90: H100 and H200); STORM_SECONDS the storm's length.
set -u
root=$(cd "$(dirname "$0")/.." && pwd)
. "$root/test/lib.sh"
require_postgres
export CUDA_ARCHS=${CUDA_ARCHS:-90} WITH_CUDA=yes GPUSORT_SERVICE_ENGINE=gpu
end=$((SECONDS + ${LIMIT:-470}))
failed=0

# step SECONDS COMMAND...: a command that may take so long, of what is left; all that it says is shown
step() {
	local left=$((end - SECONDS)) status=0 begun=$SECONDS
	[ "$1" -lt "$left" ] && left=$1
	shift
	echo "## $*"
	if [ "$left" -le 0 ]; then
		status=124
	else
		timeout --kill-after=5 "$left" "$@" 2>&1 || status=$?
	fi
	[ $status = 0 ] || failed=1
	echo "## status $status after $((SECONDS - begun)) s"
}

# A gpusortd for columns_test, under compute-sanitizer, which passes no signal on.
sanitized() {
	cat <<SCRIPT
#!/bin/bash
${sanitizer[*]} --tool memcheck $root/gpusortd "\$@" &
trap 'kill -TERM \$(cat /proc/\$!/task/\$!/children)' TERM
until wait \$!; status=\$?; [ \$status -lt 128 ]; do :; done
exit \$status
SCRIPT
}

sanitizer=("${COMPUTE_SANITIZER:-compute-sanitizer}" --error-exitcode 9 --print-limit 5)
kernels=$root/test/kernels/build/gpu/kernels-test
service=$root/test/service
work=$(mktemp -d "${TMPDIR:-/tmp}/gpusort-columns.XXXXXX")
trap 'rm -rf "$work"' EXIT
sanitized >"$work/gpusortd"
chmod 755 "$work/gpusortd"

step 300 make -s -j"$(nproc)" -C "$root" PG_CONFIG="$PG_CONFIG" all
step 60 make -s -C "$root" PG_CONFIG="$PG_CONFIG" install
step 120 make -s -j"$(nproc)" -C "$root/test/kernels" gpu
step 60 make -s -C "$service" build/columns_test
step 60 "$kernels" gpu check
step 60 "$service/build/columns_test" "$root/gpusortd" 5000 --engine=gpu
for tool in memcheck initcheck synccheck; do
	step 40 "${sanitizer[@]}" --tool $tool "$kernels" gpu small check
done
step 90 "$service/build/columns_test" "$work/gpusortd" 200 --engine=gpu
export STORM_SECONDS=${STORM_SECONDS:-60} ONLY=columns_storm VERBOSE=1
step 180 "$root/test/run.sh" gpu tap
echo "## $([ $failed = 0 ] && echo all passed || echo something failed)"
exit $failed
