#!/bin/bash
# tsan.sh [TAP FILE]...: lists of steps that fuzzing kept, by threads of the CPU engine with ThreadSanitizer, and
# gpusortd, built alike, with its CPU engine, under its clients' lies, with columns, and in the TAP tests of the
# service, or those whose names begin as told.  Any report fails it; reports are printed.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
. "$root/test/lib.sh"
require_postgres

service=$root/test/service
make -s -C "$service" gpusortd liar_test columns_test
make -s -C "$service" gpusortd BUILD=build/tsan KIND=tsan
# where the server's user may write
reports=$(mktemp -d "${TMPDIR:-/tmp}/gpusort-tsan.XXXXXX")
chmod 777 "$reports"
trap 'rm -rf "$reports"; make -s -C "$root" PG_CONFIG="$PG_CONFIG" install >/dev/null 2>&1 || true' EXIT
# core files are the tests' own affair
export TSAN_OPTIONS="log_path=$reports/report halt_on_error=0 history_size=4 disable_coredump=0"
# a kernel that scatters addresses widely leaves ThreadSanitizer no room; not every container lets us choose
plain=
if setarch -R true 2>/dev/null; then plain='setarch -R'; fi

status=0
$plain make -s -C "$root/test/fuzz" check PROGRAMS=steps BUILD=build/tsan KIND=tsan || status=1
$plain "$service/build/liar_test" "$service/build/tsan/gpusortd" "${SECONDS_OF_LIES:-10}" || status=1
$plain "$service/build/columns_test" "$service/build/tsan/gpusortd" 1000 || status=1
$plain "$service/build/columns_test" "$service/build/tsan/gpusortd" 500 --engine=cpu --devices=2 || status=1
[ $# -gt 0 ] || export TAG=service
GPUSORTD=$service/build/tsan/gpusortd ONLY=$* $plain "$root/test/run.sh" tap || status=1
if [ -n "$(ls "$reports")" ]; then
	cat "$reports"/* >&2
	status=1
fi
echo "ThreadSanitizer: $(cat "$reports"/* 2>/dev/null | grep -c '^WARNING: ThreadSanitizer') reports"
exit "$status"
