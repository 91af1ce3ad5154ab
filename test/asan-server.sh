#!/bin/bash
# asan-server.sh [SUITE]...: regress and pgtap, or the suites named, in a server with AddressSanitizer, UBSan and
# assertions, and with gpusort and gpusortd built alike.
#
# Packages have no such server: it is built from source, of the version that PG_CONFIG names, and installed below
# ASAN_DIR (default /var/tmp/gpusort-asan), where it is kept for the next run.  The source is PG_SOURCE, or what
# Debian's archive has of the installed package (apt-get source).  That takes gcc, flex, bison unless the tree has what
# they make, and libicu-dev; some ten minutes of two cores.
#
# Whatever a sanitizer finds ends the process, and stands in a report; reports fail the run, also where a test did not
# notice, as the CPU did what the service had begun.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
. "$root/test/lib.sh"

"$root/test/setup.sh" test
require_postgres
dir=${ASAN_DIR:-/var/tmp/gpusort-asan}/$pgmajor
packaged=$PG_CONFIG
# a name without "postgresql" would make Debian's sources install libraries into the packaged server
prefix=$dir/postgresql
sanitize='-fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer'
# leaks are what a server leaves to its end; the stack's depth is measured by addresses
export ASAN_OPTIONS=detect_leaks=0:detect_stack_use_after_return=0:abort_on_error=1
export UBSAN_OPTIONS=print_stacktrace=1:abort_on_error=1

# Prints a folder with the source of the packaged version.
source_tree() {
	local sources=$dir/apt options version
	if [ -n "${PG_SOURCE:-}" ]; then
		[ -x "$PG_SOURCE/configure" ] || die "PG_SOURCE is no source tree of PostgreSQL: $PG_SOURCE has no configure."
		realpath "$PG_SOURCE"
		return
	fi
	if [ ! -x "$dir/source/configure" ]; then
		command -v apt-get >/dev/null && command -v dpkg-source >/dev/null ||
			die "There is no apt-get and dpkg-source to have PostgreSQL's source by: set PG_SOURCE to a tree of it."
		version=$(dpkg-query -W -f '${source:Version}' "postgresql-$pgmajor" 2>/dev/null) || version=
		mkdir -p "$sources/lists/partial" "$sources/parts"
		# lists of sources alone, of the archives that packages come from
		apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT) $(SIGNED_BY)' 'Created-By: Packages' |
			sort -u |
			while read -r uri release component signed; do
				case $signed in '$('*) signed= ;; esac # where none is named
				echo "deb-src ${signed:+[signed-by=$signed] }$uri $release $component"
			done >"$sources/sources.list"
		options=(-q -o "Dir::Etc::sourcelist=$sources/sources.list" -o "Dir::Etc::sourceparts=$sources/parts"
			-o "Dir::State::lists=$sources/lists")
		(cd "$dir" && apt-get "${options[@]}" update &&
			{ { [ -n "$version" ] && apt-get "${options[@]}" source --only-source "postgresql-$pgmajor=$version"; } ||
				apt-get "${options[@]}" source --only-source "postgresql-$pgmajor"; }) >"$dir/apt.log" 2>&1 ||
			{ tail -n 20 "$dir/apt.log" >&2
				die "apt-get has no source of PostgreSQL $pgmajor: set PG_SOURCE to a tree of it."; }
		rm -rf "$dir/source"
		mv "$dir"/postgresql-"$pgmajor"-*/ "$dir/source"
	fi
	echo "$dir/source"
}

# Ends the script if the configured tree would install anything elsewhere.
only_below_prefix() {
	local place
	make -s -f - where >"$dir/places" <<-'MAKE'
		top_builddir = .
		include src/Makefile.global
		where: ; @printf '%s\n' $(bindir) $(libdir) $(pkglibdir) $(datadir) $(includedir) $(pkgincludedir) \
			$(includedir_server) $(pgxsdir)
	MAKE
	while read -r place; do
		case $place in
			"$prefix"/*) ;;
			*) echo "PostgreSQL would be installed into $place, which is not below $prefix"; exit 1 ;;
		esac
	done < <(grep / "$dir/places")
}

# Builds and installs the server, unless it is there.
build_server() {
	local source part built
	mkdir -p "$dir"
	chmod 755 "$dir"
	[ -e "$dir/complete" ] && return
	source=$(source_tree)
	say "Building PostgreSQL with sanitizers from $source"
	rm -rf "$dir/build"
	mkdir "$dir/build"
	# "if" and "||" would take the shell's -e away
	set +e
	(
		set -e
		cd "$dir/build"
		"$source/configure" --quiet --prefix="$prefix" --enable-cassert --enable-debug --with-icu \
			--without-readline --without-zlib \
			CC="${CC:-gcc}" CFLAGS="-O1 -g $sanitize" LDFLAGS="$sanitize"
		only_below_prefix
		for part in src/port src/common src/backend src/backend/utils/mb/conversion_procs src/backend/snowball \
			src/timezone src/include src/interfaces/libpq src/bin/initdb src/bin/pg_ctl src/bin/pg_config \
			src/pl/plpgsql src/test/regress src/makefiles src/bin/psql; do
			make -s -j "$(nproc)" -C "$part" all
			make -s -C "$part" install
		done
		make -s -C src install-local
		make -s -C config install
		touch "$dir/complete"
	) >"$dir/build.log" 2>&1
	built=$?
	set -e
	if [ "$built" != 0 ]; then
		tail -n 40 "$dir/build.log" >&2
		die "PostgreSQL could not be built with sanitizers; all of it: $dir/build.log"
	fi
	rm -rf "$dir/build"
}

if [ $# = 0 ]; then set -- regress pgtap; fi
started=$SECONDS
build_server
# pgTAP is SQL alone
cp "$("$packaged" --sharedir)"/extension/pgtap* "$prefix/share/extension/" 2>/dev/null ||
	cp "$("$packaged" --sharedir)"/extension/pgtap* "$prefix/share/postgresql/extension/"
say "The server took $((SECONDS - started)) s"

# A tree of its own, as the other one's objects are for another server.
rm -rf "$dir/tree" "$dir/reports"
mkdir "$dir/tree" "$dir/reports"
chmod 1777 "$dir/reports"
tar -C "$root" --exclude=./.git --exclude=./build --exclude='*.o' --exclude='*.so' --exclude=./gpusortd -cf - . |
	tar -C "$dir/tree" --no-same-owner -xf -
export ASAN_OPTIONS=$ASAN_OPTIONS:log_path=$dir/reports/asan UBSAN_OPTIONS=$UBSAN_OPTIONS:log_path=$dir/reports/ubsan
export SANITIZE=$sanitize
status=0
PG_CONFIG=$prefix/bin/pg_config "$dir/tree/test/run.sh" "$@" || status=$?
if [ -n "$(ls "$dir/reports")" ]; then
	head -n 60 "$dir"/reports/* >&2
	say "$(ls "$dir/reports" | wc -l) reports of sanitizers in $dir/reports"
	status=1
fi
exit "$status"
