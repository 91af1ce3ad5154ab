#!/bin/bash
# columns-gpu.sh [VERB]...: resident columns on a machine with a GPU, within 8 minutes.  CUDA_ARCHS names the GPU's
# architecture (90: H100 and H200); BUILT=1: everything is built and installed, nvcc is not needed.
#   tests  the kernels' tests of columns, and small ones under compute-sanitizer's tools
#   check  the service with keepers, loaders and sessions, some of it under memcheck, and a short storm, of
#          STORM_SECONDS
#   bench  the engine's times of questions, then the client's (bench/columns-answers.sh, whose settings apply)
# Without a verb: tests and check.
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

# The figures of bench/groups-gpu are the engine's alone.
client_bench() {
	[ -n "${BUILT:-}" ] || step 120 make -s -j"$(nproc)" -C "$root" -f bench/engine.mk bench/groups-gpu
	step 60 "$root/bench/groups-gpu" gpu "${ROWS:-20000000}"
	ROWS=${ROWS:-20000000} step 400 "$root/bench/columns-answers.sh"
}

kernel_tests() {
	local name tool
	for name in check steps groups places windows; do step 60 "$kernels" gpu "$name"; done
	for tool in memcheck initcheck synccheck; do
		for name in check steps groups places windows; do
			step 40 "${sanitizer[@]}" --tool "$tool" "$kernels" gpu small "$name"
		done
	done
}

service_tests() {
	step 60 "$service/build/columns_test" "$root/gpusortd" 5000 --engine=gpu
	step 90 "$service/build/columns_test" "$work/gpusortd" 200 --engine=gpu
	STORM_SECONDS=${STORM_SECONDS:-60} ONLY=columns_storm VERBOSE=1 step 180 "$root/test/run.sh" gpu tap
}

if [ -z "${BUILT:-}" ]; then
	step 300 make -s -j"$(nproc)" -C "$root" PG_CONFIG="$PG_CONFIG" all
	step 60 make -s -C "$root" PG_CONFIG="$PG_CONFIG" install
	step 120 make -s -j"$(nproc)" -C "$root/test/kernels" gpu
	step 60 make -s -C "$service" build/columns_test
fi
[ $# -gt 0 ] || set -- tests check
for verb; do
	case $verb in
		tests) kernel_tests ;;
		check) service_tests ;;
		bench) client_bench ;;
		*) die "There is no verb \"$verb\": tests, check or bench." ;;
	esac
done
echo "## $([ $failed = 0 ] && echo all passed || echo something failed)"
exit $failed
