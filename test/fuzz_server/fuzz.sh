#!/bin/bash
# fuzz.sh fuzz|keep PROGRAM...: libFuzzer inside a server's process, over build/corpus and the inputs of
# corpus-*.tar.gz.  Finds are in build/found, and what is wrong with them in the server's log, whose end is printed.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
. "$root/test/lib.sh"
require_postgres
make_work
make_locales en_US.UTF-8 cs_CZ.UTF-8 da_DK.UTF-8
build=$here/build
mkdir -p "$work/found"
for program in "${@:2}"; do
	mkdir -p "$work/corpus/$program" "$work/kept/$program" "$build/corpus/$program" "$build/found"
	if [ -e "$here/corpus-$program.tar.gz" ]; then
		tar -C "$work/corpus/$program" -xzf "$here/corpus-$program.tar.gz"
	fi
	find "$build/corpus/$program" -type f -exec cp -t "$work/corpus/$program" {} +
done
cp "$build/fuzz/fuzz_server.so" "$here/server.sql" "$work"
chmod -R a+rX "$work"
if [ "$(id -u)" = 0 ]; then chown -R postgres "$work/corpus" "$work/found" "$work/kept"; fi
start_server data --locale=C.UTF-8 --encoding=UTF8 <<CONF
fsync = off
jit = off
log_statement = none
dynamic_library_path = '\$libdir:$work'
CONF
as_server "$bindir/psql" -XqAtd postgres -v ON_ERROR_STOP=1 -f "$work/server.sql"
# libFuzzer leaves signals and the end of memory to the server
options="-handle_int=0 -handle_term=0 -handle_usr1=0 -handle_usr2=0 -handle_xfsz=0"
options="$options -timeout=0 -rss_limit_mb=0 -detect_leaks=0"
# run PROGRAM OPTION...: the backend ends with libFuzzer, and psql is told of a lost connection
run() {
	as_server "$bindir/psql" -XqAtd postgres \
		-c "SELECT fuzz_searched('$1', string_to_array('$options ${*:2}', ' '))" >/dev/null 2>&1 || true
}

# Inputs of a program that reach what no smaller one does, to its archive.  libFuzzer notes what each reaches in a file
# that says which there are.
keep() {
	local program=$1
	(cd "$work/corpus/$program" && ls -Sr | sed "s#^#$work/corpus/$program/#") >"$work/inputs"
	(wc -l <"$work/inputs"; echo 0; cat "$work/inputs") >"$work/control"
	if [ "$(id -u)" = 0 ]; then chown postgres "$work/control"; fi
	run "$program" -merge_inner=1 -max_len=1500 "-merge_control_file=$work/control"
	perl -ne 'if ($. == 1) { $n = $_ } elsif ($. > 2 && $. < $n + 3) { push @files, $_ }
		elsif (/^FT (\d+) (.*)/) { print $files[$1] if grep { !$seen{$_}++ } split / /, $2 }' "$work/control" |
		xargs -r cp -t "$work/kept/$program"
	[ -n "$(ls "$work/kept/$program")" ] || die "Nothing is left of the inputs of $program."
	tar -C "$work/kept/$program" --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner -cf - . |
		gzip -n9 >"$here/corpus-$program.tar.gz"
}

for program in "${@:2}"; do
	case $1 in
		fuzz)
			run "$program" "-max_total_time=$TIME -max_len=1500 -print_final_stats=1" \
				"-artifact_prefix=$work/found/$program- $work/corpus/$program"
			cp -r "$work/corpus/$program/." "$build/corpus/$program" ;;
		keep) keep "$program" ;;
	esac
done
grep -v -e '^#.*\(REDUCE\|NEW\|RELOAD\)' -e NEW_FUNC "$work/data.log" | tail -n "${LINES_SHOWN:-40}"
if [ -n "$(ls "$work/found")" ]; then
	cp -r "$work/found/." "$build/found"
	die "Found: $(ls "$work/found" | tr '\n' ' ')"
fi
