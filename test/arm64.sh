#!/bin/bash
# arm64.sh [tests]: kernels/, src/ and gpusortd compile for 64-bit ARM, with warnings as errors, by Debian's cross
# compiler; the extension by the headers of the server that PG_CONFIG names, whose pg_config.h is that of another
# processor, so that nothing of it is run.  With qemu-user the kernels' tests run, too: minutes each.  Speaks TAP.
#
# Debian: apt-get install gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
. "$root/test/lib.sh"
export PG_CONFIG=${PG_CONFIG:-pg_config}
cross=aarch64-linux-gnu-gcc
emulator=$(command -v qemu-aarch64 || command -v qemu-aarch64-static || true)
command -v $cross >/dev/null || { echo '1..0 # SKIP no cross compiler for ARM'; exit 0; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
log=$work/last.log
copy_sources "$work"
cd "$work"

make_cross() { make -s -j"$(nproc)" CC="$cross" WITH_CUDA=no WERROR=1 "$@"; }

ok 'the extension compiles' make_cross $(find src kernels -name '*.c' ! -path 'src/service/*' ! -path '*/cuda/*' |
	sed 's/c$/o/')
ok 'gpusortd is built' make_cross gpusortd
ok 'for ARM' grep -q 'ARM aarch64\|AArch64' <(aarch64-linux-gnu-readelf -h gpusortd)
if [ -n "$emulator" ] && [ -n "${*:-}" ]; then
	ok 'the tests of the kernels are built' make -s -C test/kernels CC="$cross -static" WERROR=1 program
	for test in ${TESTS:-chunk fixed-width strings random vectors host}; do
		ok "$test passes" "$emulator" test/kernels/build/plain/kernels-test cpu "$test"
	done
fi
end_of_tests
