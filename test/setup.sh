#!/bin/bash
# setup.sh [test|demo|everyday|shards]: installs what is missing to build and run gpusort on Debian; with "test" also
# what its tests need, what locales are made from included, with "demo" what en_US.UTF-8 is made from, on a machine that
# has no locale but C, with "everyday" and "shards" what these benchmarks need.
#
# Debian starts a server of its own when the server's package is installed; that is not wanted here, so neither a
# cluster is made nor any service started while packages are installed.  Does nothing where nothing is missing.
#
# apt may upgrade a server together with what is missing.  If that server is running, nothing is installed unless YES=1
# is set: it is not restarted, and gpusort, built with the newer headers, may not load into it until it is.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
. "$root/test/lib.sh"
# tests of the set-up name another place
locale_sources=${LOCALE_SOURCES:-/usr/share/i18n/locales}

# Is there a way to install packages?
may_install() {
	command -v apt-get >/dev/null 2>&1 || die "Missing: $*; only apt-get installs them automatically."
	need_root "Missing: $*"
}

packages=()
need() { # COMMAND PACKAGE
	command -v "$1" >/dev/null 2>&1 || packages+=("$2")
}
need_locale_sources() {
	need localedef libc-bin
	if [ ! -e "$locale_sources/en_US" ]; then packages+=(locales); fi
}
need_locale() { # NAME
	has_locale "$1.UTF-8" || need_locale_sources
}
need_perl() { # MODULE PACKAGE
	perl -M"$1" -e 1 2>/dev/null || packages+=("$2")
}

need gcc gcc
need make make
need runuser util-linux
need perl perl
if [ ! -e /usr/include/stdio.h ]; then packages+=(libc6-dev); fi
need_perl JSON::PP perl
# The version of Debian's tree that a pg_config belongs to, or would if its package were installed; fails if that is
# none.
debian_major() {
	local tree
	tree=$("$1" --bindir 2>/dev/null) || tree=$(dirname "$1")
	case "$tree" in
		"$pg_trees"/[1-9]*/bin) tree=${tree#"$pg_trees"/}; echo "${tree%%[!0-9]*}" ;;
		*) return 1 ;;
	esac
}

# Prints the version that this machine should have complete: the one asked for; else the newest of which the server is
# there, or its headers are.  Nothing if the machine has neither.
begun_major() {
	local part candidate
	case "${PG_CONFIG:-}" in
		*/*)
			# a program that is there must be a pg_config, and one that is not may come with a package
			if [ ! -e "$PG_CONFIG" ] || [ "$(major_of "$PG_CONFIG")" != 0 ]; then
				debian_major "$PG_CONFIG" && return
			fi
			die "$(why_not "$PG_CONFIG")" ;;
	esac
	for part in has_server has_headers; do
		for candidate in $(debian_pg_configs); do
			if [ "$(major_of "$candidate")" -ge 15 ] && "$part" "$candidate"; then major_of "$candidate"; return; fi
		done
	done
}

# Sets major to the version to be used, and adds the packages that it lacks.
need_postgres() {
	local tree
	if find_postgres; then
		major=$pgmajor
		return
	fi
	major=$(begun_major)
	if [ -z "$major" ]; then
		# the version that this release has
		may_install PostgreSQL
		as_root apt-get update -q >/dev/null
		major=$(apt-cache depends postgresql | sed -n 's/.*Depends: postgresql-\([0-9]*\)$/\1/p')
	fi
	[ "${major:-0}" -ge 15 ] || die "gpusort needs PostgreSQL 15 or later, and this would be ${major:-none}."
	tree=$pg_trees/$major/bin/pg_config
	has_server "$tree" || packages+=("postgresql-$major")
	has_headers "$tree" || packages+=("postgresql-server-dev-$major")
}

need_postgres
if [ "${1:-}" = test ]; then
	need_perl IPC::Run libipc-run-perl
	need_perl Test::More perl
	need pg_prove libtap-parser-sourcehandler-pgtap-perl
	if [ -z "${bindir:-}" ] || [ ! -e "$("$PG_CONFIG" --sharedir)/extension/pgtap.control" ]; then
		packages+=("postgresql-$major-pgtap")
	fi
	for library in libasan.so libubsan.so; do
		if command -v gcc >/dev/null 2>&1 && [ ! -e "$(gcc -print-file-name=$library)" ]; then
			packages+=(gcc)
		fi
	done
	need_locale_sources
fi
case "${1:-}" in
	demo) if sorts_by_bytes; then need_locale en_US; fi ;;
	shards) need_locale en_US ;;
	everyday)
		need_locale en_US
		if [ -z "${TPCHGEN:-}${TPCH_DATA:-}" ] && ! python3 -c 'import ensurepip, venv' 2>/dev/null; then
			packages+=(python3-venv)
		fi ;;
esac
[ ${#packages[@]} -gt 0 ] || exit 0
may_install "${packages[*]}"

new_config=
new_policy=
log=$(mktemp)
undo() {
	rm -f "$log"
	if [ -n "$new_config" ]; then as_root rm -f "$new_config"; fi
	if [ -n "$new_policy" ]; then as_root rm -f "$new_policy"; fi
}
trap undo EXIT
trap 'exit 130' INT TERM HUP

# apt ARGUMENT...: what apt-get said is shown if it failed
apt() {
	as_root env DEBIAN_FRONTEND=noninteractive apt-get -q "$@" >"$log" 2>&1 </dev/null || {
		cat "$log" >&2
		if grep -q 'Unable to locate package' "$log"; then
			die "Installing packages failed: apt does not know all of them." \
				"On Ubuntu they are in the component universe."
		fi
		die "Installing packages failed."
	}
}
# The running servers that apt would upgrade, as lines to be read.
upgraded_servers() {
	local package from to version pid data
	apt-get -s "${install[@]}" 2>/dev/null |
		sed -n 's/^Inst \(postgresql-[0-9]*\) \[\([^]]*\)\] (\([^ ]*\) .*/\1 \2 \3/p' |
		while read -r package from to; do
			as_root "$root/packaging/running.sh" list "$pg_trees/${package#postgresql-}/bin" </dev/null |
				while read -r version pid data; do
					echo "  PostgreSQL $version in $data (process $pid): $package $from -> $to"
				done
		done
}

apt update
# extensions beside which gpusort is tested, where the archive has them
if [ "${1:-}" = test ] && apt-cache show "postgresql-$major-pg-qualstats" >/dev/null 2>&1; then
	packages+=("postgresql-$major-pg-qualstats")
fi
install=(install -y --no-install-recommends "${packages[@]}")
upgraded=$(upgraded_servers)
if [ -n "$upgraded" ]; then
	say "With these packages apt upgrades the packages of running servers:"
	say "$upgraded"
	say "They are not restarted here. Until they are, they run their old program, and gpusort may not load there."
	[ "${YES:-}" = 1 ] || die "Nothing was installed. Set YES=1 to go on, as in: make demo YES=1"
fi

say "Installing ${packages[*]}"
# no cluster: read by the package's script through an include directory, which an existing file of the user's keeps
if [ -d /etc/postgresql-common/createcluster.d ] || [ ! -e /etc/postgresql-common/createcluster.conf ]; then
	new_config=/etc/postgresql-common/createcluster.d/gpusort-setup.conf
	as_root mkdir -p /etc/postgresql-common/createcluster.d
	echo 'create_main_cluster = false' | as_root tee "$new_config" >/dev/null
fi
# no services
if [ ! -e /usr/sbin/policy-rc.d ]; then
	new_policy=/usr/sbin/policy-rc.d
	printf '#!/bin/sh\nexit 101\n' | as_root tee "$new_policy" >/dev/null
	as_root chmod 755 "$new_policy"
fi

apt "${install[@]}"
