#!/bin/bash
# rpm.sh [cuda]: packaging/rpm/gpusort.spec, of what git knows of the tree: rpmlint, the packages, what is in them.
# Elsewhere than where PGDG's packages are it is the server of PG_CONFIG that they are built by, under the name that
# PGDG gives its folder: that takes root.  Speaks TAP.
#
# Debian: apt-get install rpm rpmlint unzip
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
. "$root/test/lib.sh"
command -v rpmbuild >/dev/null || { echo '1..0 # SKIP no rpmbuild'; exit 0; }
PG_CONFIG=${PG_CONFIG:-pg_config}
major=$("$PG_CONFIG" --version | sed -n 's/^PostgreSQL \([0-9]*\).*/\1/p')
spec=$root/packaging/rpm/gpusort.spec
server=/usr/pgsql-$major
work=$(mktemp -d)
made=
trap 'rm -rf "$work"; if [ -n "$made" ]; then rm -rf "$server"; fi' EXIT
log=$work/last.log

# A pg_config that says the folders of PGDG's server and else what the real one says.
stand_in() {
	mkdir -p "$server/bin"
	made=yes
	cat >"$server/bin/pg_config" <<-CONFIG
		#!/bin/sh
		case "\$1" in
			--bindir) echo $server/bin ;;
			--libdir | --pkglibdir) echo $server/lib ;;
			--sharedir) echo $server/share ;;
			--docdir) echo $server/doc ;;
			*) exec $PG_CONFIG "\$@" ;;
		esac
	CONFIG
	chmod 755 "$server/bin/pg_config"
}

# The files of a package but for documentation.
files() { rpm -qlp "$work"/RPMS/*/"$1"-0*.rpm | grep -v '^/usr/share/\|/doc/\|^/usr/lib/.build-id'; }

[ -e "$server/bin/pg_config" ] || stand_in
version=$(sed -n 's/^default_version = .\([0-9.]*\).*/\1/p' "$root/gpusort.control")
mkdir -p "$work/SOURCES"
git -C "$root" archive --format=zip --prefix="gpusort-$version/" --output="$work/SOURCES/gpusort-$version.zip" HEAD
options=(--define "_topdir $work" --define "pgmajorversion $major" --nodeps)
if [ "${1:-}" = cuda ]; then options+=(--with cuda --define "cuda_archs ${CUDA_ARCHS:-90}"); fi

ok "the version is gpusort's" grep -qx "Version: *$version" "$spec"
ok 'rpmlint of the specification' rpmlint -c "$root/packaging/rpm/rpmlint.toml" "$spec"
ok 'packages are built' rpmbuild -ba "${options[@]}" "$spec"
ok 'rpmlint of the packages' rpmlint -c "$root/packaging/rpm/rpmlint.toml" "$work"/SRPMS/*.rpm "$work"/RPMS/*/*.rpm
ok 'the library is there, its service, and the extension' test "$(files "gpusort_$major" |
	grep -c "^$server/\(lib/gpusort.so\|bin/gpusortd\|share/extension/gpusort\(.control\|--.*\.sql\)\)$")" \
	= "$(files "gpusort_$major" | wc -l)"
if [ "${1:-}" = cuda ]; then ok 'the service for GPUs is a package of its own' test "$(files "gpusort_$major-cuda")" = \
	"$server/lib/gpusortd"; fi
end_of_tests
