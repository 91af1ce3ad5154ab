#!/bin/bash
# pg18.sh [SUITE [VERSION]]: gpusort against a newer PostgreSQL, built from Debian's source package with assertions on.
#
# By hand, not in CI.  The source is fetched from SUITE (default sid) with package lists of its own, the machine's are left
# alone; server and tests run in a temporary directory.  KEEP=DIRECTORY keeps the built server there, and a later run with
# the same KEEP starts from it.  VERSION 18 is in forky and sid, 17 in trixie.  16 was never in a stable release and
# has left the archive.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
. "$root/test/lib.sh"

suite=${1:-sid}
version=${2:-18}
keep=${KEEP:-}
mirror=${DEBIAN_MIRROR:-$(cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null |
	grep -Eo 'https?://[^ ]*/debian/?( |$)' | head -n 1)}
[ -n "$mirror" ] || die "Set DEBIAN_MIRROR to the address of a Debian archive."

# what the build needs; documentation, languages and other extras are left out
missing=()
for package in bison flex gcc make dpkg-dev zlib1g-dev libreadline-dev libicu-dev pkg-config libipc-run-perl \
	libtap-parser-sourcehandler-pgtap-perl perl xz-utils; do
	dpkg -s "$package" >/dev/null 2>&1 || missing+=("$package")
done
if [ ${#missing[@]} -gt 0 ]; then
	as_root apt-get update -q >/dev/null
	as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${missing[@]}" >/dev/null
fi
id postgres >/dev/null 2>&1 || [ "$(id -u)" != 0 ] || as_root useradd --system --no-create-home postgres

make_work
# Debian's source installs below /usr/lib if the prefix does not name PostgreSQL
prefix=${keep:-$work}/postgresql
if [ ! -x "$prefix/bin/pg_config" ]; then
	apt=$work/apt
	mkdir -p "$apt/lists/partial" "$apt/archives/partial" "$apt/parts"
	echo "deb-src [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror $suite main" >"$apt/sources.list"
	chmod -R a+rwX "$apt"
	options=(-q -o "Dir::Etc::sourcelist=$apt/sources.list" -o "Dir::Etc::sourceparts=$apt/parts" -o "Dir::State::lists=$apt/lists"
		-o "Dir::Cache=$apt" -o APT::Sandbox::User=root)
	say "Fetching the source of PostgreSQL $version from $suite"
	apt-get "${options[@]}" update >&2
	(cd "$work" && apt-get "${options[@]}" source --only-source "postgresql-$version" >&2)
	source=$(ls -d "$work"/postgresql-"$version"-*/)
	say "Building it"
	log=$work/build.log
	(
		cd "$source"
		./configure --prefix="$prefix" --enable-cassert --enable-debug --enable-tap-tests --with-icu CFLAGS='-O1 -g' &&
			make -s ${JOBS:+-j"$JOBS"} -C src install && make -s -C contrib install
	) >"$log" 2>&1 || {
		tail -n 50 "$log" >&2
		die "PostgreSQL $version did not build."
	}
fi

# a copy of the tree, so that objects for another server do not mix with those that are there
copy_tree
PG_CONFIG=$prefix/bin/pg_config
require_postgres
say "Building gpusort for $("$PG_CONFIG" --version), warnings are errors"
make -s -C "$work/tree" PG_CONFIG="$PG_CONFIG" clean
make -s -C "$work/tree" PG_CONFIG="$PG_CONFIG"
make -s -C "$work/tree" PG_CONFIG="$PG_CONFIG" install
chmod -R a+rX "$prefix"

make_locales en_US.UTF-8 cs_CZ.UTF-8 hu_HU.UTF-8 ja_JP.UTF-8
start_server regress --locale=C.UTF-8 --encoding=UTF8 <<'CONF'
fsync = off
CONF
status=0
as_server make -s -C "$work/tree" PG_CONFIG="$PG_CONFIG" installcheck || {
	status=1
	cat "$work/tree/regression.diffs" >&2 || true
}
as_server perl "$work/tree/test/differential.pl" --seconds "${SECONDS_DIFFERENTIAL:-30}" --psql "$bindir/psql" >"$work/differential.log" || status=1
grep -A 3 '^not ok' "$work/differential.log" >&2 || true
tail -n 2 "$work/differential.log"
grep -E 'was terminated by signal|PANIC|TRAP:' "$work/regress.log" >&2 && status=1
exit "$status"
