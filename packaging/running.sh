#!/bin/sh
# running.sh: the servers that run on this machine, and whether they are too old for gpusort as it was built.
#
# running.sh list BINDIR: a line for each server that was started from BINDIR, even if its program has been replaced
# there since: its version, its process, its data directory.  Root sees all servers, others see their own.
# running.sh advise PG_CONFIG: says what has to be upgraded or restarted before gpusort, built with the headers of
# PG_CONFIG, can load; says nothing where nothing has to be.
#
# shellcheck disable=SC2012,SC2015,SC2034,SC3013
set -u

# version_of PROGRAM: what the program of a server answers to --version.  It is read and not run: a replaced program is
# still there below /proc, and root should not run what a process of another user shows as its program.
version_of() {
	grep -aom1 'postgres (PostgreSQL) [0-9][0-9A-Za-z.]*' "$1" 2>/dev/null | sed 's/.* //'
}

# "PID PROGRAM" for each process of each server
processes() {
	ls -l /proc/[0-9]*/exe 2>/dev/null |
		sed -n 's#.* /proc/\([0-9]*\)/exe -> \(/.*/postgres\)\( (deleted)\)\{0,1\}$#\1 \2#p'
}

# "UID GID" of each user who runs a server
owners() {
	grep -lxE 'postgres|postmaster' /proc/[0-9]*/comm 2>/dev/null | xargs -r stat -c '%u %g' 2>/dev/null | sort -u
}

# list BINDIR: root becomes one owner after the other, as root of a container may not look into processes of others.
list() {
	if [ "$(id -u)" != 0 ]; then list_own "$1"; return; fi
	owners | while read -r user group; do
		setpriv --reuid="$user" --regid="$group" --clear-groups sh -s list-own "$1" <"$0"
	done
}

# list_own BINDIR: the servers are those processes whose parent is none.  A container's server may have a directory of
# that name, but its own.
list_own() {
	processes=$(processes)
	echo "$processes" | while read -r pid program; do
		[ -n "$pid" ] && [ "/proc/$pid/root${program%/*}" -ef "$1" ] || continue
		parent=$(sed -n 's/^PPid:[^0-9]*//p' "/proc/$pid/status" 2>/dev/null)
		if echo "$processes" | grep -q "^$parent "; then continue; fi
		version=$(version_of "/proc/$pid/exe")
		echo "${version:-unknown} $pid $(readlink "/proc/$pid/cwd")"
	done
}

# older VERSION VERSION: is the first one older?  Where one is not known, it is not.
older() {
	case $1$2 in *unknown*) return 1 ;; esac
	[ "$1" != "$2" ] && [ "$(printf '%s\n' "$1" "$2" | sort -V | head -n 1)" = "$1" ]
}

# how_to_restart PID DATA: Debian has a command of its own.
how_to_restart() {
	pg_lsclusters -h 2>/dev/null | while read -r major name port status owner data log; do
		if [ "$data" -ef "$2" ]; then echo "pg_ctlcluster $major $name restart"; fi
	done | grep . || echo "pg_ctl restart -D $2, as user $(stat -c %U "/proc/$1"), or restart its service"
}

# The version of the headers.  On some systems pg_config.h only includes the file of the architecture.
headers_of() {
	sed -n 's/^#define PG_VERSION "\([^" ]*\).*/\1/p' "$("$1" --includedir-server)"/pg_config*.h | head -n 1
}

advise() {
	bindir=$("$1" --bindir)
	headers=$(headers_of "$1")
	installed=$(version_of "$bindir/postgres")
	if older "${installed:-unknown}" "${headers:-unknown}"; then
		echo "gpusort was built with the headers of PostgreSQL $headers, but the server in $bindir is $installed, and" \
			"may not load it. Upgrade the server, and restart it."
		return
	fi
	list "$bindir" | while read -r version pid data; do
		if older "$version" "${headers:-unknown}"; then
			echo "gpusort was built with the headers of PostgreSQL $headers, but the server of $data still runs" \
				"$version, and may not load it until it is restarted: $(how_to_restart "$pid" "$data")"
		fi
	done
}

case ${1:-} in
	list) list "$2" ;;
	list-own) list_own "$2" ;;
	advise) advise "$2" ;;
	*) echo "See the beginning of $0." >&2; exit 2 ;;
esac
