#!/bin/bash
# coverage.sh [SUITE[:FILES]]...: which lines of the extension, the CPU engine and gpusortd the suites of run.sh reach,
# all of those that start servers if none is named; "tap:service" are the files of tap whose names begin so.
#
# Prints a table of folders, and lists the lines that were not reached in build/coverage/unreached.txt.  gcov comes
# with gcc.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
. "$root/test/lib.sh"
if [ $# = 0 ]; then set -- regress pgtap tap differential queries; fi
require_postgres
make_work
trap 'make -s -C "$root" PG_CONFIG="$PG_CONFIG" install >/dev/null 2>&1 || true; cleanup' EXIT
copy_tree
tree=$work/tree
make -s -C "$tree" PG_CONFIG="$PG_CONFIG" clean >/dev/null
make -s -C "$tree" PG_CONFIG="$PG_CONFIG" COPT=-O1 \
	CC="${CC:-gcc} --coverage -fprofile-update=atomic -include $tree/test/coverage.h"
chmod -R a+rwX "$tree"
status=0
# all those of which nothing was chosen side by side
whole=()
for suite; do case $suite in *:*) ;; *) whole+=("$suite") ;; esac; done
[ ${#whole[@]} = 0 ] || "$tree/test/run.sh" "${whole[@]}" || status=1
for suite; do
	case $suite in
		*:*) ONLY=${suite#*:} PGTAP=${suite#*:} "$tree/test/run.sh" "${suite%%:*}" || status=1 ;;
	esac
done

cd "$tree"
mkdir -p "$root/build/coverage"
find . -name '*.gcda' -path './src/*' \
	-o -name '*.gcda' -path './kernels/*' -o -name '*.gcda' -path './build/service/*' | sort >gcda.list
# one JSON document for each object; a file's line may be in several
export UNREACHED=$root/build/coverage/unreached.txt
xargs gcov --json-format --stdout <gcda.list 2>/dev/null | perl -MJSON::PP -ne '
	my $object = decode_json($_);
	for my $file (@{ $object->{files} }) {
		my $name = $file->{file};
		$name =~ s{^\Q$ENV{PWD}\E/}{};
		next unless $name =~ m{^(src|kernels)/};
		$lines{$name}{ $_->{line_number} } += $_->{count} for @{ $file->{lines} };
	}
	END {
		my (%all, %hit);
		open my $out, ">", $ENV{UNREACHED} or die;
		for my $name (sort keys %lines) {
			my ($folder) = $name =~ m{^(.*)/};
			my @missed;
			for my $line (sort { $a <=> $b } keys %{ $lines{$name} }) {
				for ($folder, "all") { $all{$_}++; $hit{$_} += $lines{$name}{$line} > 0 }
				push @missed, $line unless $lines{$name}{$line};
			}
			printf $out "%-40s %5d of %5d lines: %s\n", $name, scalar(@missed), scalar(keys %{ $lines{$name} }),
				join(" ", @missed);
		}
		print "| folder | lines | reached |\n|---|--:|--:|\n";
		printf "| %s | %d | %.1f %% |\n", $_, $all{$_}, 100 * $hit{$_} / $all{$_}
			for (sort grep { $_ ne "all" } keys %all), "all";
	}' >"$root/build/coverage/table.md"
cat "$root/build/coverage/table.md"
exit "$status"
