#!/bin/bash
# asan-server.sh [SUITE]...: regress and pgtap, or the suites named, in a server with AddressSanitizer, UBSan and
# assertions, and with gpusort and gpusortd built alike.
#
# Packages have no such server: it is built from source, of the version that PG_CONFIG names, and kept in ASAN_DIR
# (default /var/tmp/gpusort-asan) for the next run.  The source is PG_SOURCE, a folder or an archive, or what Debian has
# of the package.  That takes a quarter of an hour of two cores.
#
# A sanitizer's find ends the process and leaves a report.  Reports fail the run, also where no test noticed, as the CPU
# did what the service had begun.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
. "$root/test/lib.sh"

if [ $# = 0 ]; then set -- regress pgtap; fi
"$root/test/setup.sh" test
require_postgres
dir=${ASAN_DIR:-/var/tmp/gpusort-asan}/$pgmajor
# a name without "postgresql" would give Debian's source the packaged server's place for libraries
prefix=$dir/postgresql
export SANITIZE='-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer'
# leaks are what a server leaves to its end, as do pg_config and others; the stack's depth is measured by addresses;
# libraries of tests are loaded before the sanitizer's
export ASAN_OPTIONS=detect_leaks=0:detect_stack_use_after_return=0:abort_on_error=1:disable_coredump=0
ASAN_OPTIONS+=:verify_asan_link_order=0
ASAN_OPTIONS+=:log_path=$dir/reports/asan
export UBSAN_OPTIONS=print_stacktrace=1:abort_on_error=1:log_path=$dir/reports/ubsan

# Installs what the server is built with.
need_tools() {
	local tool packages=()
	for tool in bison flex bzip2 pkg-config; do command -v "$tool" >/dev/null || packages+=("$tool"); done
	command -v dpkg-source >/dev/null || packages+=(dpkg-dev)
	[ -e /usr/include/unicode/ucol.h ] || packages+=(libicu-dev)
	[ ${#packages[@]} = 0 ] || {
		say "Installing ${packages[*]}"
		as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${packages[@]}"
	}
}

# The newest of Debian's sources that is to be had, by lists of the machine's own archives; sources need not be in its
# settings.
debian_source() {
	local apt=$dir/apt package=postgresql-$pgmajor options version
	mkdir -p "$apt/lists/partial" "$apt/parts"
	apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT) $(SIGNED_BY)' 'Created-By: Packages' | sort -u |
		while read -r uri release component key; do
			case $key in '$('*) key= ;; esac # where none is named
			echo "deb-src ${key:+[signed-by=$key] }$uri $release $component"
		done >"$apt/sources.list"
	options=(-q -o "Dir::Etc::sourcelist=$apt/sources.list" -o "Dir::Etc::sourceparts=$apt/parts"
		-o "Dir::State::lists=$apt/lists" -o APT::Sandbox::User=root)
	apt-get "${options[@]}" update
	for version in $(apt-cache "${options[@]}" showsrc --only-source "$package" | sed -n 's/^Version: //p' |
		sort -rVu); do
		(cd "$apt" && apt-get "${options[@]}" source --only-source "$package=$version") && break
	done
	mv "$apt/$package"-*/ "$dir/source"
	rm -rf "$apt"
}

# Builds the server.  It is installed below a folder and then moved, so that nothing can go elsewhere.
build_server() {
	rm -rf "$prefix" "$dir/source" "$dir/apt" "$dir/build" "$dir/stage"
	need_tools
	if [ -d "${PG_SOURCE:-}" ]; then
		cp -a "$PG_SOURCE" "$dir/source"
	elif [ -n "${PG_SOURCE:-}" ]; then
		mkdir "$dir/source"
		tar -C "$dir/source" --strip-components=1 -xf "$PG_SOURCE"
	else
		debian_source
	fi
	mkdir "$dir/build"
	cd "$dir/build"
	# below another make PostgreSQL's does not write its headers first
	unset MAKELEVEL MAKEFLAGS MFLAGS
	../source/configure --quiet --prefix="$prefix" --enable-cassert --enable-debug --enable-tap-tests --with-icu \
		--without-readline --without-zlib CC="${CC:-gcc}" CFLAGS="-O1 -g $SANITIZE" LDFLAGS="$SANITIZE"
	for part in . contrib/dblink contrib/amcheck contrib/pageinspect contrib/pg_visibility; do
		make -s -j "$(nproc)" -C "$part" all
		make -s -C "$part" install DESTDIR="$dir/stage"
	done
	# pgTAP is SQL alone
	cp "$("$PG_CONFIG" --sharedir)"/extension/pgtap* "$dir/stage$prefix/share/extension"
	mv "$dir/stage$prefix" "$prefix"
	rm -rf "$dir/source" "$dir/build" "$dir/stage"
}

mkdir -p "$dir"
chmod 755 "$dir"
rm -rf "$dir/tree" "$dir/reports"
mkdir -m 1777 "$dir/reports"
# what is installed last; a server of an earlier script lacks it
if [ ! -e "$prefix/lib/pg_visibility.so" ]; then
	say "Building PostgreSQL $pgmajor with sanitizers; what is said about it goes to $dir/build.log"
	(build_server) >"$dir/build.log" 2>&1 &
	wait $! || { tail -n 40 "$dir/build.log" >&2; die "PostgreSQL could not be built with sanitizers."; }
fi

# A tree of its own, as the other one's objects are for another server.
copy_sources "$dir/tree"
status=0
PG_CONFIG=$prefix/bin/pg_config "$dir/tree/test/run.sh" "$@" || status=$?
if [ -n "$(ls "$dir/reports")" ]; then
	head -n 60 "$dir"/reports/* >&2
	say "$(ls "$dir/reports" | wc -l) reports of sanitizers in $dir/reports"
	status=1
fi
exit "$status"
