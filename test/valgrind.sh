#!/bin/bash
# valgrind.sh [REGRESS TEST]...: the regression tests, or those named, and some spilled sorts on a server under
# valgrind.
#
# Debian's server has no valgrind requests in its allocator, so memory is watched by the block that malloc gave, and
# values by the bit.  Only errors with gpusort's code in their stack count.  Slow: some twenty times an ordinary run.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
. "$root/test/lib.sh"

build_and_install test
if ! command -v valgrind >/dev/null 2>&1; then
	say "Installing valgrind"
	as_root env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends valgrind libc6-dbg \
		>/dev/null
fi
make_work
copy_tree
mkdir "$work/valgrind"
chmod 777 "$work/valgrind"

start_server data --locale=C.UTF-8 --encoding=UTF8 <<'CONF'
fsync = off
jit = off
shared_buffers = 32MB
autovacuum = off
statement_timeout = 0
authentication_timeout = 600
CONF
as_server "$bindir/pg_ctl" stop -D "$work/data" -m fast -s
cat >"$work/postgres" <<SCRIPT
#!/bin/sh
exec valgrind --quiet --trace-children=yes --leak-check=no --num-callers=30 --error-limit=no --read-var-info=no \
	--fullpath-after= --suppressions='$work/tree/test/valgrind.supp' --log-file='$work/valgrind/%p.log' \
	'$bindir/postgres' "\$@"
SCRIPT
chmod 755 "$work/postgres"
say "Starting the server under valgrind"
as_server "$bindir/pg_ctl" start -w -t 300 -s -D "$work/data" -l "$work/data.log" -p "$work/postgres" ||
	{ tail -n 30 "$work/data.log" "$work"/valgrind/*.log >&2; die "the server did not start"; }

status=0
log=$work/run.log
if [ $# -gt 0 ]; then tests=("REGRESS=$*"); else tests=(); fi
say "Running the regression tests"
as_server make -s -C "$work/tree" PG_CONFIG="$PG_CONFIG" "${tests[@]}" installcheck >"$log" 2>&1 || {
	status=1
	cat "$log" >&2
	head -c 20000 "$work/tree/regression.diffs" >&2 || true
}
grep -E '^(test .* \.\.\.|ok |not ok )' "$log" || true
say "Running pgTAP's tests of the planner and the executor"
as_server "$bindir/psql" -X -q -d postgres -c 'CREATE EXTENSION pgtap'
for file in costs executor pages replaced_sorts; do
	as_server "$bindir/psql" -X -q -d postgres -f "$work/tree/test/pgtap/$file.sql" >"$log" 2>&1 || status=1
	if grep '^not ok' "$log"; then status=1; fi
done
say "Running spilled sorts, cursors, errors"
as_server "$bindir/psql" -X -q -d postgres -f "$work/tree/test/valgrind.sql" >"$log" 2>&1 || status=1
cat "$log"
as_server "$bindir/pg_ctl" stop -D "$work/data" -m fast -s -t 300

# errors are paragraphs; those that pass through our code name its files
perl -e '
	use strict;
	my ($tree, $bad) = (shift, 0);
	for my $file (@ARGV) {
		open my $in, "<", $file or die "$file: $!";
		my $block = "";
		for my $line (<$in>, "==1== \n") {
			if ($line =~ /^==\d+== ?$/) {
				if ($block =~ m{gpusort\.so|/(?:src|kernels|kernels/cpu|kernels/common)/[a-z_]+\.[ch]:\d+\)}
					&& $block =~ m{\Q$tree\E|gpusort\.so}) {
					$bad++;
					print "$block\n" if $bad <= 20;
				}
				$block = "";
			}
			else { $block .= $line }
		}
	}
	print "valgrind: $bad errors in gpusort\n";
	exit($bad ? 1 : 0);
' "$root" "$work"/valgrind/*.log || status=1
exit "$status"
