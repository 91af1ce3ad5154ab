#!/bin/bash
# install.sh: `make install DESTDIR=...` puts everything below that directory and nothing elsewhere, `make uninstall`
# takes away all that it put there.  Speaks TAP.  The tree must be built.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
. "$root/test/lib.sh"
cd "$root"
pg_config=${PG_CONFIG:-pg_config}
stage=$(mktemp -d "${TMPDIR:-/tmp}/gpusort-install.XXXXXX")
trap 'rm -rf "$stage"' EXIT

files() { (cd "$1" && find . -type f -printf '/%P\n' | sort); }

unset MAKEFLAGS MAKELEVEL MFLAGS
lib=$("$pg_config" --pkglibdir)
share=$("$pg_config" --sharedir)/extension
wanted=$({ echo "$("$pg_config" --bindir)/gpusortd"; echo "$lib/gpusort.so"; echo "$share/gpusort.control"
	for file in sql/gpusort--*.sql; do echo "$share/${file#sql/}"; done; } | sort)
make -s PG_CONFIG="$pg_config" install DESTDIR="$stage" >/dev/null
is 'the files of an installation' "$(files "$stage")" "$wanted"
is 'programs can be run' "$(find "$stage" -name gpusortd -perm 755 | wc -l)" 1
make -s PG_CONFIG="$pg_config" uninstall DESTDIR="$stage" >/dev/null
is 'none of them stays' "$(files "$stage")" ''

# what was built with CUDA is installed from where PATH has no nvcc, and nothing is built anew
before=$(stat -c '%Y %i' gpusort.so gpusortd)
PATH=/usr/sbin:/usr/bin:/sbin:/bin make -s PG_CONFIG="$pg_config" install DESTDIR="$stage" >/dev/null
is 'an installation as root builds nothing' "$(stat -c '%Y %i' gpusort.so gpusortd)" "$before"
is 'and has all files' "$(files "$stage")" "$wanted"
end_of_tests
