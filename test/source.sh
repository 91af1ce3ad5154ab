#!/bin/bash
# source.sh: what the source promises of itself, as TAP: includes point one way, modules form no circle, files and lines
# have a limit.
set -eu
cd "$(dirname "$0")/.."
number=0
failed=0

# report NAME FINDINGS: a check passes if it found nothing
report() {
	number=$((number + 1))
	if [ -z "$2" ]; then
		echo "ok $number - $1"
	else
		failed=1
		echo "not ok $number - $1"
		printf '%s\n' "$2" | sed 's/^/# /' >&2
	fi
}

# Rooms of src/ that a room may include from; "." is src/ itself.  All but the service may use base.
may_include() {
	case $1 in
		.) echo plan index parallel shares topn totals append aggregates columns out core nodes engine base ;;
		plan) echo parallel shares topn totals append aggregates columns cost core nodes keys engine base ;;
		columns) echo rows core nodes keys engine base ;;
		index) echo core rows merge keys engine base ;;
		parallel) echo cost core rows nodes merge out keys engine base ;;
		append) echo cost core rows nodes merge keys engine base ;;
		shares) echo cost core rows nodes base ;;
		topn) echo cost core rows nodes base ;;
		totals) echo cost core rows nodes keys base ;;
		aggregates) echo shares arrays cost core nodes keys engine base ;;
		arrays) echo core rows keys engine base ;;
		cost) echo core keys base ;;
		core) echo rows nodes merge out keys engine base ;;
		rows) echo keys engine base ;;
		out) echo nodes keys base ;;
		nodes) echo base ;;
		merge) echo keys base ;;
		keys) echo base ;;
		engine) echo keys base service/protocol.h ;;
		base) echo service/protocol.h ;;
		*) echo ;;
	esac
}

# "FOLDER FILE INCLUDED" for every include of a file of src/, both with their paths from there
includes() {
	local file folder
	find src -name '*.[ch]' | sort | while read -r file; do
		folder=$(dirname "${file#src/}")
		sed -n 's/^#[ \t]*include "\(.*\)".*/\1/p' "$file" | while read -r header; do
			case $header in
				src/*) echo "$folder $file ${header#src/}" ;;
				*) if [ -e "$(dirname "$file")/$header" ]; then echo "$folder $file $folder/$header" |
					sed 's#\./##'; fi ;;
			esac
		done
	done
}

crossing() {
	local folder file header to
	includes | while read -r folder file header; do
		to=$(dirname "$header")
		if [ "$to" = "$folder" ]; then continue; fi
		case " $(may_include "$folder") " in
			*" $to "* | *" $header "*) ;;
			*) echo "$file includes $header" ;;
		esac
	done
}

# Folders of kernels/cuda/ that a folder may include from.
kernels_may_include() {
	case $1 in
		arrays) echo base radix order scan tuning ;;
		order) echo base radix tuning ;;
		radix | scan) echo base tuning ;;
		base) echo tuning ;;
		*) echo ;;
	esac
}

kernels_crossing() {
	local file folder header to
	grep -oE '^#include "[^"]*"' -r kernels/cuda --include='*.cu' --include='*.cuh' --include='*.h' | while IFS=: read \
		-r file header; do
		header=${header#*\"}
		folder=${file#kernels/cuda/}
		to=$(realpath -m --relative-to=kernels "$(dirname "$file")/${header%\"}")
		case $to in
			cuda/*)
				to=${to#cuda/}
				case " ${folder%%/*} $(kernels_may_include "${folder%%/*}") " in
					*" ${to%%/*} "*) ;;
					*) echo "$file includes $to" ;;
				esac ;;
			cpu/*) echo "$file includes $to" ;;
		esac
	done
	grep -nE '#include ".*(cuda|cpu)/' kernels/*.[ch] kernels/common/*.h || true
}

# A module is a source file with the header of the same name, and what is written as a half of it.
circles() {
	includes | sed -E 's/^[^ ]+ src\///; s/\.[ch]( |$)/\1/g
		s/sortkey_types/sortkey/g; s/primary_weights_types/primary_weights/g; s/sorter_(job|defer|stats)/sorter/g
		s/vectorengine|vectorcompare|vectorcheck/vectorjob/g' |
		awk '$1 != $2' | LC_ALL=C tsort 2>&1 >/dev/null || true
}

layers() {
	grep -nE '#include *["<](postgres|fmgr|utils/|executor/|nodes/|src/)' -r kernels --include=*.[ch] --include=*.cu \
		--include=*.cuh || true
	grep -nE '#include *["<](postgres|fmgr|utils/|executor/|nodes/|src/[^s])' -r src/service --include=*.[ch] || true
	grep -nE '#include *["<]cuda' -r src --include=*.[ch] --exclude-dir=service || true
}

# All of C and CUDA keeps to what .editorconfig says, and scripts to its width.
sources() {
	find src kernels test bench -type f \( -name '*.[ch]' -o -name '*.cu' -o -name '*.cuh' \) | sort
}

long_files() {
	sources | xargs awk 'FNR == 1 && NR > 1 {if (last > 600) print name ": " last " lines"}
		{last = FNR; name = FILENAME}
		END {if (last > 600) print name ": " last " lines"}'
}

scripts() {
	find . -path './.?*' -prune -o -path ./build -prune -o \
		-type f \( -name '*.pl' -o -name '*.pm' -o -name '*.sh' \) -print | sort
}

# tabs of four
wide_lines() {
	{ sources; scripts; } | xargs perl -CSD -ne '1 while s/^([^\t]*)\t/$1 . " " x (4 - length($1) % 4)/e; chomp;
		print "$ARGV:$.: " . length . " columns\n" if length > 120; close ARGV if eof'
}

uncommented() {
	sources | grep -E '^(src|kernels)/' | xargs perl test/comments.pl 0
}

# a compiler that we have not seen warns of other things; such a warning must not keep a user from building
always_errors() {
	grep -rn -e '-Werror' Makefile src kernels test bench --include=Makefile --include='*.mk' |
		grep -vF '$(if $(WERROR),-Werror)' || true
}

# what a compiler of another word size says; its own headers have no library's behind them
refusal_of_32_bits() {
	case $(uname -m) in
		x86_64)
			echo '#include "kernels/gs.h"' | LC_ALL=C gcc -m32 -ffreestanding -fsyntax-only -I. -xc - 2>&1 |
				grep -q 'gpusort needs a 64-bit system' || echo 'kernels/gs.h compiles on 32 bits' ;;
	esac
}

# an nvcc that cannot compile the kernels is told from one that can before it tries
old_nvcc() {
	local dir
	dir=$(mktemp -d)
	printf '#!/bin/sh\necho "Cuda compilation tools, release 12.2, V12.2.140"\n' >"$dir/nvcc"
	chmod +x "$dir/nvcc"
	echo 'include kernels/cuda/cuda.mk' | make -s -f - NVCC="$dir/nvcc" CUDA_BUILD="$dir" "$dir/base/engine.o" 2>&1 |
		grep -q 'is of CUDA 12.2: gpusort needs 12.3 or later' || echo 'no word of the release'
	echo 'include kernels/cuda/cuda.mk' | make -s -f - NVCC="$dir/none" CUDA_BUILD="$dir" "$dir/base/engine.o" 2>&1 |
		grep -q 'was not found: install the CUDA toolkit' || echo 'no word of a missing nvcc'
	rm -r "$dir"
}

# An edit of a header of kernels/ compiles the files that include it, and no others: with an nvcc that only notes what a
# file includes.
compiled_anew() {
	local dir header wanted anew
	dir=$(mktemp -d)
	cat >"$dir/nvcc" <<-'NVCC'
		#!/bin/sh
		case $1 in --version) echo 'release 13.0, V13.0'; exit ;; esac
		while [ $# -gt 0 ]; do
			case $1 in -MF) notes=$2 ;; -c) source=$2 ;; -o) object=$2 ;; esac
			shift
		done
		# there may be no compiler of C++, whose preprocessor is that of C
		gcc -xc -D__cplusplus=201703L -E -MM -MG -MT "$object" -MF "$notes" "$source" && : >"$object"
		sed -i -E ':again; s,[^ /]+/\.\./,,; t again' "$notes"
	NVCC
	chmod +x "$dir/nvcc"
	printf '%s\n' 'include kernels/cuda/cuda.mk' 'objects: $(CUDA_OBJS)' >"$dir/mk"
	set -- make -f "$dir/mk" objects NVCC="$dir/nvcc" CUDA_BUILD="$dir/objects" CUDA_HOME="$dir"
	"$@" -s -j"$(nproc)" || echo 'make fails'
	while read -r header wanted; do
		anew=$("$@" -n -W "kernels/$header" | sed -n 's,.* -c kernels/cuda/\([^ ]*\) .*,\1,p' | sort | tr '\n' ' ')
		[[ $anew =~ ^$wanted\ ?$ ]] || echo "$header: compiles $anew"
	done <<-'END'
		cuda/arrays/rle.cuh arrays/rle.cu
		cuda/radix/order_pass.cuh radix/inst/orders.cu radix/inst/orders_wide.cu
		cuda/tuning/sm_75.h .*arrays/merge.cu.*base/engine.cu.*scan/select.cu.*
		cpu/cpu.h
	END
	rm -r "$dir"
}

# Sources of a folder of src/ or kernels/ that its README does not name.
unnamed() {
	local file
	find "$@" -name inst -prune -o -type f -regex '.*\.\(c\|h\|cu\|cuh\)' -print | while read -r file; do
		grep -qsw "$(basename "${file%.*}")" "${file%/*}/README.md" || echo "$file"
	done
}

# Rooms of src/ whose page names no tests, or tests that are not there; tests that no page names.
untested() {
	local page tests test
	for page in src/*/README.md; do
		tests=$(sed -n '/^Tested by:/,$p' "$page" | grep -o '`test/[^`]*`' | tr -d '`')
		[ -n "$tests" ] || echo "$page names no tests"
		for test in $tests; do [ -e "$test" ] || echo "$page names $test"; done
	done
	for test in test/t/*.pl test/pgtap/*.sql test/sql/*.sql; do
		grep -qE "[\`/]${test##*/}\`" src/README.md src/*/README.md || echo "no page of src/ names $test"
	done
}

# Faults of test/mutants whose change finds no place.
misplaced_faults() {
	perl -00 -ne 'next if /^#/; my %f = /^(\w+): (.*)$/mg; next unless $f{file};
		local ($/, $_); open my $in, "<", $f{file}; $_ = <$in> // ""; my $before = $_;
		eval $f{edit} if length; print "$f{name}: not in $f{file}\n" if $_ eq $before' test/mutants/faults
}

# A job of run.sh that was killed, which is told of by its whole name.
killed_job() {
	local work jobs=() failures=() passed=0 failed=0
	work=$(mktemp -d)
	mkdir "$work/jobs"
	: >"$work/jobs/0.counts"
	eval "$(sed -n '/^later() {/,/^}/p; /^name_of() {/,/^}/p; /^tell() {/,/^}/p' test/run.sh)"
	later 'scan check' true 'an argument'
	# no process has this number, which is beyond all
	tell 0 4194305
	rm -r "$work"
	[ "$failed ${failures[*]}" = '1 scan check: killed' ] || echo "$failed ${failures[*]}"
}

report 'folders of src/ include in one direction' "$(crossing)"
report 'folders of kernels/ include in one direction' "$(kernels_crossing)"
report 'modules of src/ form no circle' "$(circles)"
report 'folders of src/ and kernels/ have a README that names their files' "$(unnamed src kernels)"
report 'rooms of src/ have a README that names their tests, and no test is without a room' "$(untested)"
report 'kernels know no server, the service neither, the extension no CUDA' "$(layers)"
report 'files have 600 lines at most' "$(long_files)"
report 'lines have 120 columns at most' "$(wide_lines)"
report 'functions of src/ and kernels/ have a comment' "$(uncommented)"
report 'systems of 32 bits are refused' "$(refusal_of_32_bits)"
report 'warnings are errors only with WERROR=1' "$(always_errors)"
# compilers take a comment for it or not, as the server's flags say
report 'no case of src/ falls through to the next' "$(grep -rniE 'fall-? ?through' src || true)"
report 'an nvcc that is too old is refused' "$(old_nvcc)"
report 'an edit of a header of kernels/ compiles what includes it' "$(compiled_anew)"
report 'deliberate faults find their place' "$(misplaced_faults)"
report 'a job of run.sh that was killed has its whole name' "$(killed_job)"
echo "1..$number"
exit $failed
