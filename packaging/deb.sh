#!/bin/bash
# deb.sh: Debian packages for each version of the server that postgresql-common is told of, or else whose headers are
# installed, in build/deb; that of the GPU service only where nvcc is.
#
# It builds in a copy of the tree, and installs nothing: apt-get install build-essential debhelper postgresql-all
# brings what it needs.
set -eu
# Has somebody said which versions count, in one of postgresql-common's ways?  Its file comes with "default" in it.
versions_are_named() {
	[ -n "${PG_SUPPORTED_VERSIONS:-}${DEB_PG_SUPPORTED_VERSIONS:-}" ] || [ -f "${HOME:-}/.pg_supported_versions" ] ||
		grep -Eqvsx '#.*|default|[[:space:]]*' "${PGSYSCONFDIR:-/etc/postgresql-common}/supported_versions"
}

# elsewhere than in PGDG's archive pg_buildext knows only the version of the release, if it is not told
versions_are_named || export PG_SUPPORTED_VERSIONS=installed
root=$(cd "$(dirname "$0")/.." && pwd)
dir=$root/build/deb
command -v dpkg-buildpackage >/dev/null || { echo "dpkg-buildpackage is missing (Debian: apt-get install dpkg-dev)." \
	>&2; exit 1; }
options=(-b -us -uc --jobs=auto)
if command -v nvcc >/dev/null; then options+=(-Ppkg.gpusort.cuda); fi
rm -rf "$dir"
mkdir -p "$dir"
# root's regression tests run in a server of the user postgres, who may not enter root's home
place=$dir
if [ "$(id -u)" = 0 ] && ! setpriv --reuid=postgres --clear-groups test -x "$dir" 2>/dev/null; then
	place=$(mktemp -d "${TMPDIR:-/tmp}/gpusort-deb.XXXXXX")
	chmod 755 "$place"
	trap 'rm -rf "$place"' EXIT
fi
mkdir "$place/tree"
tar -C "$root" --exclude=./.git --exclude=./build --exclude='*.[od]' --exclude='*.so' --exclude='*.stamp' \
	--exclude=./gpusortd -cf - . |
	tar -C "$place/tree" --no-same-owner -xf -
cd "$place/tree"
pg_buildext updatecontrol
dpkg-buildpackage "${options[@]}"
if [ "$place" != "$dir" ]; then mv "$place"/* "$dir"; fi
cd "$dir"
suppressed=bad-distribution-in-changes-file
if grep -q '@localhost>' tree/debian/control; then
	echo "debian/control.in, debian/changelog: not set yet, by whoever publishes gpusort: the maintainer's address" >&2
	suppressed+=,bogus-mail-host,bogus-mail-host-in-debian-changelog
fi
if command -v lintian >/dev/null; then lintian --allow-root --fail-on error --suppress-tags "$suppressed" \
	./*.changes; fi
ls ./*.deb
