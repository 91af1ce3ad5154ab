#!/bin/bash
# install.sh: `make install DESTDIR=...` puts everything below that directory and nothing elsewhere, `make uninstall`
# takes away all that it put there; what is compiled anew for another server or an edit, and what `make clean` leaves.
# Speaks TAP.  The tree must be built.
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

# compiled ARGUMENT...: the sources that this make would compile
compiled() { make -n "$@" | sed -n 's/.* -c .*\b\(\(src\|kernels\)[^ ]*\.c\)\b.*/\1/p' | sort; }

# other_server VERSION CFLAGS: a pg_config of the server of PG_CONFIG under another version, or with other flags
other_server() {
	cat >"$stage/pg_config" <<-SH
		#!/bin/sh
		case \$1 in --version) echo 'PostgreSQL $1'; [ \$# -gt 1 ] || exit 0; shift ;; esac
		case "\$*" in *--cflags*) echo '$2' ;; esac
		exec '$(command -v "$pg_config")' "\$@"
	SH
	chmod +x "$stage/pg_config"
	echo "$stage/pg_config"
}

extension=$({ find src -name '*.c' ! -path 'src/service/*'; echo src/service/protocol.c; } | sort)
version=$("$pg_config" --version | sed 's/^PostgreSQL //')
is 'what is built is not compiled again' "$(compiled PG_CONFIG="$pg_config")" ''
is 'nor with WERROR' "$(compiled PG_CONFIG="$pg_config" WERROR=1)" ''
is 'another minor release compiles the extension' "$(compiled PG_CONFIG="$(other_server 15.99 '')")" "$extension"
is 'its installation, too' "$(compiled install DESTDIR="$stage" PG_CONFIG="$(other_server 15.99 '')")" "$extension"
is 'and a server with other flags' "$(compiled PG_CONFIG="$(other_server "$version" -O7)")" "$extension"
is 'other sanitizers compile primitives and service' \
	"$(compiled PG_CONFIG="$pg_config" SANITIZE=-fsanitize=undefined | grep -v '/service/device_')" \
	"$(find kernels src/service -name '*.c' ! -name 'device_*' | sort)"

# "SOURCE HEADER" for all of our headers that a source includes, by the preprocessor, which is not told of the server's
includes=$(find src kernels -name '*.c' ! -name 'device_*' | while read -r file; do
	gcc -MM -MG -MT "$file" -I. -DPG_VERSION_NUM=150000 -DSIZEOF_VOID_P=8 "$file" | tr -s '\\ \n' '\n' |
		sed "1d; s|^|$file |"
done)
for header in src/keys/sortkey.h src/service/client.h kernels/cpu/cpu.h; do
	is "an edit of $header compiles what includes it" \
		"$(compiled PG_CONFIG="$pg_config" -W "$header" | grep -v '/device_' | sort -u)" \
		"$(sed -n "s|^\([^ ]*\) $header$|\1|p" <<<"$includes" | sort -u)"
done

# the servers of this machine are asked, those of another are not
advice=packaging/running.sh
is 'an installation looks at running servers' "$(make -n install PG_CONFIG="$pg_config" | grep -c $advice)" 1
is 'but not below another root' "$(make -n install DESTDIR="$stage" PG_CONFIG="$pg_config" | grep -c $advice || true)" 0

copy=$stage/copy
mkdir "$copy"
tar -cf - --exclude=./.git --exclude=./build . | tar -C "$copy" -xf -
make -s -C "$copy" PG_CONFIG="$pg_config" clean
is 'nothing that was compiled stays after make clean' "$(cd "$copy" && find src kernels gpusort* sql \( -name '*.[od]' \
	-o -name '*.so' -o -name '*.stamp' -o -name gpusortd \))" ''
end_of_tests
