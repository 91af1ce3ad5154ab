#!/bin/bash
# try-entry.sh CLICKBENCH: runs load and query of both directories that entry.sh makes, in a copy of ClickBench's clone,
# over ROWS (default 50000) generated rows, on a private server; "sudo -u postgres" is that server's user.  Prints what
# ClickBench's driver prints, and how many lines of answers each gives; to bench/results/clickbench-entry-LABEL.txt.
. "$(dirname "$0")/../lib.sh"
clickbench=${1:?CLICKBENCH}
rows=${ROWS:-50000}

begin_bench
mkdir -p "$work/bin" "$work/clickbench"
cp -r "$clickbench/postgresql" "$clickbench/lib" "$work/clickbench/"
"$root/bench/clickbench/entry.sh" "$work/clickbench" none
# what the scripts call: the user, and nothing of systemd
printf '#!/bin/sh\n[ "$1" != -u ] || shift 2\nexec "$@"\n' >"$work/bin/sudo"
chmod 755 "$work/bin/sudo"
gcc -O2 -o "$work/hits" "$root/bench/clickbench/hits.c" -lm
start_quiet_server table <<<"shared_preload_libraries = 'gpusort'"
export PATH=$work/bin:$bindir:$PATH

# Each query three times, in ClickBench's form; the answers go to a file.
sweep() {
	local query line
	: >"$2"
	while read -r query; do
		line=
		for _ in 1 2 3; do
			./query <<<"$query" >"$work/answer" 2>"$work/seconds" || { cat "$work/seconds" >&2; exit 1; }
			line+=${line:+, }$(tail -n 1 "$work/seconds")
		done
		cat "$work/answer" >>"$2"
		echo "[$line],"
	done <"$1"
}

# Answers are compared by clickbench.pl, which knows which rows a LIMIT may choose among equals: here lines are counted.
{
	echo "# load and query of ClickBench's directories, $rows generated rows, ${COMMIT:-}, $(nproc) cores, $(date -u)"
	for entry in postgresql gpusort gpusort-columns; do
		cd "$work/clickbench/$entry"
		"$work/hits" "$rows" >hits.tsv
		begin=$(date +%s.%N)
		./load >"$work/load" 2>&1 || { cat "$work/load" >&2; exit 1; }
		echo "## $entry"
		awk -v b="$begin" -v e="$(date +%s.%N)" 'BEGIN { printf "Load time: %.3f\n", e - b }'
		sweep queries.sql "$work/$entry.answers"
		echo "lines of answers: $(wc -l <"$work/$entry.answers")"
	done
	echo "## answered from columns: $(psql -XqAt test -c "SELECT max(queries) FROM gpusort_columns") of $((43 * 3))"
} | keep "clickbench-entry-${LABEL:-cpu$(nproc)}.txt"
