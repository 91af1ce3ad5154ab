# shellcheck shell=bash disable=SC2034,SC2154
# lib.sh: what the scripts for tests, demo and benchmarks share.  Sourced by bash scripts that have set root.
#
# Servers run in a temporary directory, as user postgres when the script runs as root, on Unix sockets only.  At exit,
# also after an error or an interrupt, they are stopped and the directory is removed.

work=
child=
server_port=54321

say() { printf '%s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

# Scripts that are tests themselves speak TAP: ok and is count, and end_of_tests prints the plan and is true if all
# passed.
count=0
failed=0

# verdict STATUS WHAT: a test that passes with the status 0
verdict() {
	count=$((count + 1))
	if [ "$1" = 0 ]; then
		echo "ok $count - $2"
	else
		failed=1
		echo "not ok $count - $2"
	fi
}

# ok WHAT COMMAND...: passes if the command does.  What it said goes to the file that the script has set log to, and is
# shown if it failed.
ok() {
	local what=$1 status=0
	shift
	"$@" >"$log" 2>&1 </dev/null || status=1
	verdict $status "$what"
	[ $status = 0 ] || tail -n 40 "$log" >&2
}

# is WHAT GOT WANTED: passes if both are the same
is() {
	local status=0
	[ "$2" = "$3" ] || status=1
	verdict $status "$1"
	[ $status = 0 ] || diff <(printf '%s\n' "$3") <(printf '%s\n' "$2") | sed 's/^/# /' || true
}

end_of_tests() {
	echo "1..$count"
	[ $failed = 0 ]
}

# in_own_mounts SCRIPT ARGUMENT...: begins the script anew, as root, in a name space of mounts that ends with it,
# whatever becomes of it.
in_own_mounts() {
	if [ -n "${GPUSORT_UNSHARED:-}" ]; then return; fi
	[ "$(id -u)" = 0 ] || die "This makes and enters a chroot, which takes root."
	exec env GPUSORT_UNSHARED=1 unshare --mount "$@"
}

# enter_chroot SUITE DIRECTORY SIZE [OPTION]...: makes a smallest Debian there, in which no service is started and no
# cluster made, unless it is there, and mounts what programs expect, /dev/shm of that size.  What fails on the way
# leaves none.  It is an Ubuntu with MIRROR set, and debootstrap's option for its keys.
enter_chroot() {
	if [ ! -e "$2/etc/gpusort-base" ]; then
		mkdir -p "$2"
		debootstrap --variant=minbase --include=ca-certificates "${@:4}" "$1" "$2" \
			"${MIRROR:-${DEBIAN_MIRROR:-http://deb.debian.org/debian}}" >&2
		no_services "$2"
		touch "$2/etc/gpusort-base"
	fi
	mount -t proc proc "$2/proc"
	mkdir -p "$2/dev/shm"
	mount -t tmpfs -o "size=$3" tmpfs "$2/dev/shm"
}

# enter_cuda DIRECTORY: the toolkit of this machine's nvcc, there, to be read.
enter_cuda() {
	command -v nvcc >/dev/null || die "nvcc is not in PATH."
	mkdir -p "$1"
	mount --bind "$(dirname "$(dirname "$(readlink -f "$(command -v nvcc)")")")" "$1"
	mount -o remount,bind,ro "$1"
}

leave_cuda() {
	umount "$1"
	rmdir "$1"
}

# ubuntu_keys DIRECTORY MIRROR: the keys of Ubuntu's archive: the machine's, or those in a package of Debian's, which is
# kept there.
ubuntu_keys() {
	local machine=/usr/share/keyrings/ubuntu-archive-keyring.gpg keys=$1/ubuntu-keyring
	if [ -e "$machine" ]; then echo "$machine"; return; fi
	if [ ! -e "$keys$machine" ]; then
		mkdir -p "$keys"/{lists,archives}/partial "$keys/parts"
		echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $2 trixie main" >"$keys/sources.list"
		(
			cd "$keys"
			options=(-qq -o "Dir::Etc::sourcelist=$keys/sources.list" -o "Dir::Etc::sourceparts=$keys/parts"
				-o "Dir::State::lists=$keys/lists" -o "Dir::Cache=$keys" -o APT::Sandbox::User=root)
			apt-get "${options[@]}" update
			apt-get "${options[@]}" download ubuntu-keyring
			dpkg-deb -x ubuntu-keyring_*.deb .
		) >&2 || return 1
	fi
	echo "$keys$machine"
}

# Neither services nor clusters where packages are installed in this chroot, and no file waits for the disk.
no_services() {
	echo force-unsafe-io >"$1/etc/dpkg/dpkg.cfg.d/gpusort"
	printf '#!/bin/sh\nexit 101\n' >"$1/usr/sbin/policy-rc.d"
	chmod 755 "$1/usr/sbin/policy-rc.d"
	mkdir -p "$1/etc/postgresql-common/createcluster.d"
	echo 'create_main_cluster = false' >"$1/etc/postgresql-common/createcluster.d/gpusort.conf"
}

# Copies the tree to a directory, without what was built of it.
copy_sources() {
	mkdir -p "$1"
	tar -C "$root" --exclude=./.git --exclude=./build --exclude='*/build' --exclude='*.[od]' --exclude='*.so' \
		--exclude='*.stamp' --exclude=./gpusortd -cf - . |
		tar -C "$1" --no-same-owner -xf -
}

# need_root WHAT: the script ends, and says what takes root, if it cannot become root.
need_root() {
	[ "$(id -u)" = 0 ] || command -v sudo >/dev/null 2>&1 || die "$*: run this as root, or install sudo."
}

# Runs a command as root.
as_root() {
	need_root "$* takes root"
	if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

# Runs a command as the user of the servers, in the work directory.  It must not be a function.  An interrupt of the
# script does not wait for the command's end.
as_server() {
	local status=0 input=0
	exec {input}<&0
	if [ "$(id -u)" = 0 ]; then
		(cd "$work" && HOME="$work" TMPDIR="$work" exec runuser -u postgres -- "$@") <&"$input" &
	else
		(cd "$work" && HOME="$work" TMPDIR="$work" exec "$@") <&"$input" &
	fi
	child=$!
	exec {input}<&-
	wait "$child" || status=$?
	child=
	return "$status"
}

# Where Debian keeps a tree for every version; tests of the set-up name another place.
pg_trees=${PG_TREES:-/usr/lib/postgresql}

# Does this pg_config belong to a server that is there?
has_server() {
	[ -x "$("$1" --bindir 2>/dev/null)/postgres" ]
}

# Are the headers there that a server's extensions are built with?  Debian has pgxs.mk in the client's package, so it
# proves nothing.
has_headers() {
	[ -f "$("$1" --includedir-server 2>/dev/null)/postgres.h" ] && [ -f "$("$1" --pgxs 2>/dev/null)" ]
}

# The major version of a pg_config, 0 if it does not run.
major_of() {
	local major
	major=$("$1" --version 2>/dev/null | sed -n 's/^PostgreSQL \([0-9]*\).*/\1/p')
	echo "${major:-0}"
}

# Does this pg_config belong to a server that gpusort can be built for, and run in?
usable_pg_config() {
	command -v "$1" >/dev/null 2>&1 && [ "$(major_of "$1")" -ge 15 ] && has_server "$1" && has_headers "$1"
}

# The pg_config of each version that Debian keeps a tree for, newest first.
debian_pg_configs() {
	ls -d "$pg_trees"/*/bin/pg_config 2>/dev/null | sort -rV
}

# Sets PG_CONFIG, unless it is given or the one in PATH will do, to that of the newest server with its headers; and what
# comes from it.
find_postgres() {
	local candidate chosen=${PG_CONFIG:-pg_config}
	if ! usable_pg_config "$chosen"; then
		case "$chosen" in */*) return 1 ;; esac
		chosen=
		for candidate in $(debian_pg_configs); do
			if usable_pg_config "$candidate"; then chosen=$candidate; break; fi
		done
		[ -n "$chosen" ] || return 1
	fi
	PG_CONFIG=$(command -v "$chosen")
	export PG_CONFIG
	bindir=$("$PG_CONFIG" --bindir)
	pgmajor=$(major_of "$PG_CONFIG")
	pgtest=$(dirname "$("$PG_CONFIG" --pgxs)")/../../src
}

# why_not PG_CONFIG: why gpusort cannot be built with it, and what to do.
why_not() {
	local major
	major=$(major_of "$1")
	if ! command -v "$1" >/dev/null 2>&1 && [ ! -e "$1" ]; then
		echo "$1 was not found: install PostgreSQL and its server's headers, or set PG_CONFIG."
	elif [ "$major" = 0 ]; then
		echo "$1 is there, but is no pg_config: with --version it does not say PostgreSQL and a number. Set PG_CONFIG."
	elif [ "$major" -lt 15 ]; then
		echo "$1 is of PostgreSQL $major, and gpusort needs 15 or later: set PG_CONFIG to that of another version."
	elif ! has_headers "$1"; then
		echo "$1 is of PostgreSQL $major, whose server headers are missing ($("$1" --includedir-server)/postgres.h):" \
			"install them (Debian: postgresql-server-dev-$major), or set PG_CONFIG to that of another version."
	elif ! has_server "$1"; then
		echo "$1 is of PostgreSQL $major, whose server is missing ($("$1" --bindir)/postgres):" \
			"install it (Debian: postgresql-$major), or set PG_CONFIG to that of another version."
	fi
}

# The same, and the script ends if there is none.
require_postgres() {
	find_postgres || die "$(why_not "${PG_CONFIG:-pg_config}")"
}

# Does the machine have this locale?  It may call it en_US.utf8.
has_locale() {
	locale -a 2>/dev/null | sed 's/\.utf8$/.UTF-8/' | grep -qxF "$1"
}

# Does this session sort strings by their bytes?  So it does under a locale that the machine does not have.
sorts_by_bytes() {
	local name
	name=$(locale 2>/dev/null | sed -n 's/^LC_COLLATE="\{0,1\}\([^"]*\).*/\1/p')
	case "$name" in ''|C|POSIX|C.*) return 0 ;; esac
	[ -n "$(locale 2>&1 >/dev/null)" ]
}

# make_locale NAME: compiles a locale that the machine lacks, in the work directory, for the servers of this script
# alone.  Locales that LOCPATH brings go there, too, since the servers' user has to read them.
make_locale() {
	if [ -n "${LOCPATH:-}" ] && [ "$LOCPATH" != "$work/locale" ]; then
		cp -rL "$LOCPATH" "$work/locale"
		chmod -R a+rX "$work/locale"
		export LOCPATH=$work/locale
	fi
	if has_locale "$1" || [ -e "$work/locale/$1" ]; then return; fi
	mkdir -p "$work/locale"
	localedef -i "${1%.UTF-8}" -f UTF-8 "$work/locale/$1" ||
		die "Compile it elsewhere (localedef -i ${1%.UTF-8} -f UTF-8 DIRECTORY/$1), and set LOCPATH=DIRECTORY."
	export LOCPATH=$work/locale
}

# make_locales NAME.CHARSET...: compiles locales that are not in LOCPATH, in the work directory, where servers that are
# started afterwards find them and the machine's C.UTF-8, and no others.  What this machine cannot make, it says, and
# leaves out.
make_locales() {
	local name
	if [ -n "${LOCPATH:-}" ]; then cp -rL "$LOCPATH" "$work/locale"; else mkdir "$work/locale"; fi
	export LOCPATH=$work/locale
	for name in /usr/lib/locale/C.*; do
		if [ -d "$name" ] && [ ! -e "$LOCPATH/${name##*/}" ]; then ln -s "$name" "$LOCPATH"; fi
	done
	# as many at a time as there are cores; warnings do not matter
	for name; do [ -e "$LOCPATH/$name/LC_COLLATE" ] || echo "$name"; done |
		xargs -P "$(nproc)" -I NAME sh -c 'localedef -c -i "${1%%.*}" -f "${1#*.}" "$LOCPATH/$1" >/dev/null 2>&1' sh \
			NAME || true
	for name; do
		[ -e "$LOCPATH/$name/LC_COLLATE" ] || say "This machine cannot make the locale $name; tests of it are skipped."
	done
	chmod -R a+rX "$LOCPATH"
	# this session's own may be none of them, or no locale at all, in which databases have no encoding
	unset LC_ALL LANGUAGE "${!LC_@}"
	export LANG=C.UTF-8
}

# Makes the work directory and sees to its end.
make_work() {
	trap cleanup EXIT
	trap 'exit 130' INT
	trap 'exit 143' TERM HUP
	work=$(mktemp -d "${TMPDIR:-/tmp}/gpusort.XXXXXX")
	if [ "$(id -u)" = 0 ]; then chown postgres "$work"; fi
	chmod 755 "$work"
}

cleanup() {
	local status=$? pidfile pid
	trap - EXIT
	trap '' INT TERM HUP
	# the command that was waited for, and what runs beside it
	for pid in $(jobs -p); do kill -TERM "$pid" 2>/dev/null || true; done
	wait
	if [ -n "$work" ]; then
		find "$work" -name postmaster.pid 2>/dev/null | while read -r pidfile; do
			as_server "$bindir/pg_ctl" stop -D "$(dirname "$pidfile")" -m immediate -s >/dev/null 2>&1 || true
		done
		rm -rf "$work"
	fi
	exit "$status"
}

# Copies the tree into the work directory, where the server's user may read and write it.
copy_tree() {
	mkdir "$work/tree"
	tar -C "$root" --exclude=./.git --exclude=./build -cf - . | tar -C "$work/tree" --no-same-owner -xf -
	if [ "$(id -u)" = 0 ]; then chown -R postgres "$work/tree"; fi
}

# start_server NAME [initdb option]...: makes and starts a server with the settings on standard input, and those of the
# file TEMP_CONFIG, where PostgreSQL's own tests look for some, too.  Its data are in $work/NAME, its socket in $work,
# where those that run beside it have other ports.
start_server() {
	local data=$work/$1
	shift
	as_server "$bindir/initdb" -D "$data" -U postgres -A trust "$@" >"$data.initdb" 2>&1 || {
		cat "$data.initdb" >&2
		die "initdb failed"
	}
	{
		echo "listen_addresses = ''"
		echo "unix_socket_directories = '$work'"
		echo "port = $server_port"
		cat
		if [ -n "${TEMP_CONFIG:-}" ]; then cat "$TEMP_CONFIG"; fi
	} >"$data.conf"
	as_server tee -a "$data/postgresql.conf" <"$data.conf" >/dev/null
	as_server "$bindir/pg_ctl" start -w -t 600 -s -D "$data" -l "$data.log" || {
		tail -n 50 "$data.log" >&2
		die "the server did not start"
	}
	export PGHOST=$work PGPORT=$server_port PGUSER=postgres
	unset PGDATABASE PGOPTIONS PGSERVICE PGPASSWORD PGDATA PGHOSTADDR PGCLIENTENCODING
}

# The locales of tests, once for all suites: languages that sort in ways of their own, and one that is not in UTF-8.
need_locales() {
	[ -d "$work/locale" ] || make_locales en_US.UTF-8 en_US.ISO-8859-1 cs_CZ.UTF-8 da_DK.UTF-8 hu_HU.UTF-8 \
		tr_TR.UTF-8 fr_CA.UTF-8 ja_JP.UTF-8 th_TH.UTF-8
}

# start_pgtap_server NAME [SETTING]: starts a server for pgTAP, with the database gpusort_pgtap and the types of
# test/datums in the copy of the tree.
start_pgtap_server() {
	start_server "$1" --locale=C.UTF-8 --encoding=UTF8 <<-CONF
		fsync = off
		session_preload_libraries = 'gpusort'
		dynamic_library_path = '\$libdir:$work/tree/test/datums'
		${2:-}
	CONF
	as_server "$bindir/psql" -Xq -d postgres -c 'CREATE DATABASE gpusort_pgtap' \
		-c '\c gpusort_pgtap' -c 'CREATE EXTENSION pgtap' >&2
}

# stop_server NAME: stops it and removes its data.
stop_server() {
	as_server "$bindir/pg_ctl" stop -D "$work/$1" -m fast -s
	as_server rm -rf "${work:?}/$1"
}

# Runs a command as one who may install into the server that PG_CONFIG names.
as_installer() {
	local dir
	dir=$("$PG_CONFIG" --pkglibdir)
	if [ -w "$dir" ]; then
		"$@"
	else
		need_root "gpusort is installed into $dir, which takes root"
		as_root "$@"
	fi
}

# Installs what is missing, builds, and installs the extension into the server that PG_CONFIG names; with another
# gpusortd if GPUSORTD names its file.
build_and_install() {
	"$root/test/setup.sh" "$@"
	require_postgres
	# before minutes of compiling
	as_installer true
	say "Building for $("$PG_CONFIG" --version)"
	make -s -j"$(nproc)" -C "$root" PG_CONFIG="$PG_CONFIG" >&2
	as_installer make -s -C "$root" PG_CONFIG="$PG_CONFIG" install >&2
	if [ -n "${GPUSORTD:-}" ]; then as_installer install "$GPUSORTD" "$bindir/gpusortd"; fi
}
