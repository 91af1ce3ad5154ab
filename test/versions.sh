#!/bin/bash
# versions.sh [VERSION]... [SUITE]...: gpusort built and tested with every version of PostgreSQL, from packages.
#
# Versions: 15 (Debian bookworm), 16 (Ubuntu noble), 17 (Debian trixie), 18 (sid), 19 (experimental); all when none is
# named.
# Suites: build (by gcc and by clang, warnings are errors), regress, pgtap, tap, differential, queries, core
# (PostgreSQL's own regression tests, with and without gpusort, then with parallel plans), output (each message of
# these, with and without gpusort's output), assert (regress, pgtap and differential in a server that is built here,
# with assertions); when none is named, all but assert, which 18 has, too.
# PGTAP, ONLY, VERBOSE, STORM_SECONDS and ROLLS_SECONDS are what they are to test/run.sh.
#
# Without compiled expressions and with them (JIT): regress runs twice; pgtap in the backends without, and in the
# service, where its queries are compiled at all, with them; differential and queries choose by their rounds, core
# compiles what is parallel.  Tests of TAP set it themselves.  What no server has a part in, the tests of primitives,
# is the same for each version, and test/run.sh's.
#
# Each version lives in a chroot below VERSIONS_DIR (default /var/tmp/gpusort-versions), which is made once and kept: 2
# GB.  That takes root, debootstrap, and Debian's and Ubuntu's archives (DEBIAN_MIRROR, UBUNTU_MIRROR).  What a suite
# said is in VERSIONS_DIR/logs; the end is a table in Markdown, and the last line is "N passed, N failed".
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
dir=${VERSIONS_DIR:-/var/tmp/gpusort-versions}

. "$root/test/lib.sh"

# the newest that is out
newest=18
# seconds after which a suite hangs, and is not only slow on a busy machine
patience=7200
versions=()
suites=()
for word; do
	case $word in
		15 | 16 | 17 | 18 | 19) versions+=("$word") ;;
		build | regress | pgtap | tap | differential | queries | core | output | assert) suites+=("$word") ;;
		*) die "\"$word\" is neither a version nor a suite; see the beginning of $0." ;;
	esac
done
[ ${#versions[@]} -gt 0 ] || versions=(15 16 17 18 19)

[ "$(id -u)" = 0 ] || die "This makes and enters chroots, which takes root: run it as root," \
	"in a container or a virtual machine if you like."
command -v debootstrap >/dev/null || die "debootstrap is missing (Debian: apt-get install debootstrap)."

debian=${DEBIAN_MIRROR:-$(cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null |
	grep -Eo 'https?://[^ ]*/debian/?( |$)' | head -n 1)}
debian=${debian:-http://deb.debian.org/debian}
ubuntu=${UBUNTU_MIRROR:-http://archive.ubuntu.com/ubuntu}

# Runs a command in the chroot of the version at hand.  What it leaves running does not keep the lock.
inside() {
	(
		eval "exec $lock>&-"
		exec chroot "$place" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 \
			DEBIAN_FRONTEND=noninteractive WERROR=1 \
			PG_CONFIG="$pg_config" PGTAP="${PGTAP:-}" ONLY="${ONLY:-}" VERBOSE="${VERBOSE:-}" \
			STORM_SECONDS="${STORM_SECONDS:-}" ROLLS_SECONDS="${ROLLS_SECONDS:-}" \
				${settings:+TEMP_CONFIG="$settings"} "$@"
	)
}

# Mounts what programs expect; everything is taken away at the end.
mounted=()
mount_inside() {
	mount -t "$1" "$1" "$place/$2"
	mounted=("$place/$2" "${mounted[@]}")
}
unmount() {
	local point
	for point in "${mounted[@]}"; do umount "$point" || umount -l "$point"; done
	mounted=()
}
trap unmount EXIT
trap 'exit 130' INT
trap 'exit 143' TERM HUP

# The smallest system of a release, and where it has packages from.
bootstrap() {
	local keys
	case $version in
		16)
			keys=$(ubuntu_keys "$dir" "$debian") || return 1
			debootstrap --variant=minbase --keyring="$keys" --include=ca-certificates noble "$place" "$ubuntu" gutsy ||
				return 1
			sources 'noble noble-updates' "$ubuntu" 'main universe' ;;
		15 | 17 | 18 | 19)
			set -- bookworm '' trixie sid sid
			shift $((version - 15))
			debootstrap --variant=minbase --include=ca-certificates "$1" "$place" "$debian" sid || return 1
			sources "$1${experimental:+ $experimental}" "$debian" main ;;
	esac
}

# sources SUITES MIRROR COMPONENTS
sources() {
	local suite kind
	for suite in $1; do for kind in deb deb-src; do echo "$kind $2 $suite $3"; done; done >"$place/etc/apt/sources.list"
	# mirrors may lag behind
	echo 'Acquire::Check-Valid-Until "false";' >"$place/etc/apt/apt.conf.d/90gpusort"
	no_services "$place"
}

install_packages() {
	local packages=("postgresql-$version" "postgresql-server-dev-$version" gcc clang make perl libipc-run-perl locales \
		util-linux
		libtap-parser-sourcehandler-pgtap-perl dpkg-dev xz-utils) wanted
	inside apt-get update -q || return 1
	# experimental is asked only for what has to come from it
	if [ -n "$experimental" ]; then packages+=("libpq5/$experimental" "libpq-dev/$experimental"); fi
	# from 18 on the compiler of expressions is a package of its own
	for wanted in "postgresql-$version-jit" "postgresql-$version-pgtap"; do
		if inside apt-cache show "$wanted" >/dev/null 2>&1; then packages+=("$wanted"); fi
	done
	inside apt-get install -q -y --no-install-recommends "${packages[@]}" || return 1
	# no pgTAP for a version that is not out yet: the one before has the same SQL
	if [ ! -e "$place/usr/share/postgresql/$version/extension/pgtap.control" ]; then
		inside sh -c "cd /tmp && apt-get download -q postgresql-$((version - 1))-pgtap &&
			dpkg-deb -x postgresql-*-pgtap_*.deb pgtap &&
			cp pgtap/usr/share/postgresql/*/extension/pgtap* /usr/share/postgresql/$version/extension/"
	fi
	get_source || say "No source of PostgreSQL to be had."
	inside apt-get clean
}

# PostgreSQL's source for its own tests, of this version or, as archives do not keep that of every version that is not
# out yet, of the newest before it.
get_source() {
	local major
	for ((major = version; major >= 15; major--)); do
		if inside sh -c "cd /usr/src && apt-get source -q --only-source postgresql-$major &&
			mv postgresql-*/ postgresql && rm postgresql[-_]*"; then return; fi
	done
	return 1
}

# has_source SUITE: is there the source that this suite needs?  An older one does for tests, but not for a server.
has_source() {
	local configure=$place/usr/src/postgresql/configure source=
	[ ! -e "$configure" ] || source=$(sed -n "s/^PACKAGE_VERSION='\(.*\)'/\1/p" "$configure")
	case $1:$source in
		*:"$version"[!0-9]*) ;;
		core:?* | output:?*)
			say "PostgreSQL $version: $1 has the tests of $source, as the archive has no source of it." ;;
		*)
			say "PostgreSQL $version: no $1, since the archive has no source of it."
			return 1 ;;
	esac
}

# Makes the version's chroot, unless it is there; one that was left half made is made anew.
make_chroot() {
	local log=$dir/logs/$version-chroot.log
	if [ ! -e "$place/etc/gpusort-complete" ]; then
		say "Making a chroot for PostgreSQL $version in $place"
		rm -rf --one-file-system "$place"
		mkdir -p "$place"
		bootstrap >"$log" 2>&1 || {
			tail -n 5 "$log" >&2
			die "The chroot for PostgreSQL $version could not be made: is there a network," \
				"and are $debian and $ubuntu to be had? See $log."
		}
	fi
	mount_inside proc proc
	mkdir -p "$place/dev/shm"
	mount_inside tmpfs dev/shm
	if [ ! -e "$place/etc/gpusort-complete" ]; then
		install_packages >>"$log" 2>&1 </dev/null || {
			tail -n 5 "$log" >&2
			die "The packages of PostgreSQL $version could not be installed. See $log."
		}
		touch "$place/etc/gpusort-complete"
	fi
}

# A server with assertions, from the source of the package.  Debian's installs below /usr/lib if the prefix does not
# name PostgreSQL.
make_assert() {
	local prefix=/opt/postgresql-assert log=$dir/logs/$version-assert-server.log
	if [ ! -e "$place$prefix/complete" ]; then
		say "Building PostgreSQL $version with assertions"
		{
			inside apt-get install -q -y --no-install-recommends bison flex libreadline-dev zlib1g-dev libicu-dev \
				pkg-config &&
			inside sh -c "cd /usr/src/postgresql && ./configure --prefix=$prefix --enable-cassert --enable-debug \
				--enable-tap-tests \
				--with-icu CFLAGS='-O1 -g' && make -s -j$(nproc) -C src install && make -s -C contrib install &&
				cp /usr/share/postgresql/$version/extension/pgtap* $prefix/share/extension/ && touch $prefix/complete"
		} >"$log" 2>&1 </dev/null || {
			tail -n 20 "$log" >&2
			die "PostgreSQL $version did not build. See $log."
		}
	fi
	pg_config=$prefix/bin/pg_config
}

passed=0
failed=0
table=()

# note WHAT PASSED FAILED SECONDS: a line of the table
note() {
	passed=$((passed + $2))
	failed=$((failed + $3))
	table+=("| $server | $1 | $2 | $3 |")
	printf '%-24s %-28s %6d passed %3d failed %6d s\n' "PostgreSQL $version" "$1" "$2" "$3" "$4"
}

# Both compilers, from the beginning; gcc's build is the one that is tested.
run_build() {
	local compiler status log start
	for compiler in clang gcc; do
		log=$dir/logs/$version-build-$compiler.log status=0 start=$SECONDS
		inside sh -c "cd /srv/gpusort && make -s clean && make -s -j$(nproc) CC=$compiler" >"$log" 2>&1 </dev/null ||
			status=1
		if [ -s "$log" ]; then status=1; cat "$log" >&2; fi
		note "build, $(inside "$compiler" -dumpfullversion -dumpversion 2>/dev/null | sed "s/^/$compiler /")" \
			$((1 - status)) $status $((SECONDS - start))
	done
}

# run NAME COMMAND...: a program whose last line counts
run() {
	local name=$1 log start=$SECONDS counts
	shift
	log=${name//,/}
	log=$dir/logs/$version-${log// /-}.log
	inside sh -c 'cd /srv/gpusort && exec "$@"' sh timeout --kill-after=60 $patience "$@" >"$log" 2>&1 \
		</dev/null || true
	counts=$(tail -n 1 "$log" | sed -nE 's/^([0-9]+) passed, ([0-9]+) failed$/\1 \2/p')
	if [ -z "$counts" ]; then
		tail -n 30 "$log" >&2
		counts='0 1'
	elif [ "${counts#* }" != 0 ]; then
		sed -n '/^failed: /p' "$log" >&2
	fi
	note "$name" "${counts% *}" "${counts#* }" $((SECONDS - start))
}

# with_jit ON NAME COMMAND...: with or without compiled expressions.  What costs less than 30 are pgTAP's own queries,
# of which there are many.
with_jit() {
	local jit=$1 name=$2 settings
	shift 2
	settings=/srv/jit-$jit.conf
	printf 'jit = %s\njit_above_cost = 30\n' "$jit" >"$place$settings"
	run "$name, JIT $jit" "$@"
}

# The files of pgTAP with queries that are compiled: some forbid it, and functions of arrays have none.
compiled_files() {
	grep -L '^SET jit = off' "$root"/test/pgtap/*.sql | sed 's|.*/||; s|\.sql$||' | grep -v '^arrays_'
}

run_suite() {
	local pg_config=$pg_config jit
	case $1 in core | output | assert) has_source "$1" || return 0 ;; esac
	case $1 in
		build) run_build ;;
		regress) for jit in off on; do with_jit $jit regress test/run.sh regress; done ;;
		pgtap) run pgtap env PGTAP_SERVICE="${PGTAP:-$(compiled_files)}" test/run.sh pgtap ;;
		core)
			with_jit off core test/core-regress.sh /usr/src/postgresql
			with_jit on 'core, parallel' test/core-regress.sh --parallel /usr/src/postgresql ;;
		output) run output test/core-regress.sh --output /usr/src/postgresql ;;
		assert)
			make_assert
			run assertions test/run.sh regress pgtap differential ;;
		*) run "$1" test/run.sh "$1" ;;
	esac
}

# The tree's sources; what an earlier run built here stays.  Those that changed are newer than what was built of others.
refresh_tree() {
	local tree=$place/srv/gpusort before=$place/srv/gpusort.before
	mkdir -p "$tree"
	rm -rf "$before"
	cp -a "$tree" "$before"
	find "$tree" -type f ! -name '*.[od]' ! -name '*.so' ! -name '*.stamp' ! -name gpusortd ! -path '*/build/*' -delete
	copy_sources "$tree"
	(cd "$tree" && find . -type f ! -name '*.[od]' ! -path '*/build/*' -exec sh -c '
		for file; do
			if cmp -s "$file" "$0/$file"; then touch -r "$0/$file" "$file"; else touch "$file"; fi
		done' "$before" {} +)
	rm -rf "$before"
}

run_version() {
	local suite usual='build regress pgtap tap differential queries core output'
	place=$dir/$version
	pg_config=/usr/lib/postgresql/$version/bin/pg_config
	experimental=
	if [ "$version" = 19 ]; then experimental=experimental; fi
	if [ "$version" = $newest ]; then usual="$usual assert"; fi
	exec {lock}>"$dir/$version.lock"
	flock -n "$lock" || die "$place is in use."
	make_chroot
	refresh_tree
	server=$(inside "$pg_config" --version | sed 's/^PostgreSQL //')
	# shellcheck disable=SC2048
	for suite in ${suites[*]:-$usual}; do run_suite "$suite"; done
	unmount
	exec {lock}>&-
}

mkdir -p "$dir/logs"
settings=
for version in "${versions[@]}"; do run_version; done
printf '\n| PostgreSQL | what | passed | failed |\n|---|---|---|---|\n'
printf '%s\n' "${table[@]}"
printf '\n%d passed, %d failed\n' "$passed" "$failed"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
