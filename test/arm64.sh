#!/bin/bash
# arm64.sh [primitives]: kernels/, src/ and gpusortd compile for 64-bit ARM, with warnings as errors, by Debian's cross
# compiler; the extension by the headers of the server that PG_CONFIG names, whose pg_config.h is that of another
# processor, so that nothing of it is run.  With qemu-user the primitives' tests run, too: minutes each.  Speaks TAP.
#
# Debian: apt-get install gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
export PG_CONFIG=${PG_CONFIG:-pg_config}
cross=aarch64-linux-gnu-gcc
emulator=$(command -v qemu-aarch64 || command -v qemu-aarch64-static || true)
command -v $cross >/dev/null || { echo '1..0 # SKIP no cross compiler for ARM'; exit 0; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
tar -C "$root" --exclude=./.git --exclude=./build --exclude='*/build' --exclude='*.o' --exclude='*.so' \
	--exclude=./gpusortd -cf - . | tar -C "$work" -xf -
cd "$work"

count=0
failed=0
ok() { # WHAT COMMAND...
	local what=$1
	shift
	count=$((count + 1))
	if "$@" >"$work/last.log" 2>&1 </dev/null; then
		echo "ok $count - $what"
	else
		failed=1
		echo "not ok $count - $what"
		tail -n 30 "$work/last.log" >&2
	fi
}

make_cross() { make -s -j"$(nproc)" CC="$cross" WITH_CUDA=no WERROR=1 "$@"; }

ok 'the extension compiles' make_cross $(find src kernels -name '*.c' ! -path 'src/service/*' ! -path '*/cuda/*' |
	sed 's/c$/o/')
ok 'gpusortd is built' make_cross gpusortd
ok 'for ARM' grep -q 'ARM aarch64\|AArch64' <(aarch64-linux-gnu-readelf -h gpusortd)
if [ -n "$emulator" ] && [ -n "${*:-}" ]; then
	for test in ${TESTS:-chunk_test order_test string_test fuzz_test host_test}; do
		ok "$test is built" make -s -C test/primitives CC="$cross -static" WERROR=1 "build/$test"
		ok "$test passes" "$emulator" "test/primitives/build/$test"
	done
fi
echo "1..$count"
exit $failed
