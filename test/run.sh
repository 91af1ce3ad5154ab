#!/bin/bash
# run.sh [check|large|gpu] [SUITE]...: all tests, from a fresh machine on; the last line is "N passed, N failed".
#
# Suites: source, primitives, regress, pgtap, tap, differential, queries, soak; all but soak when none is named.
# "check" takes three minutes: the source, regress, and a part of pgtap.  "large" takes hours: bigger sizes for those
# that have them, and soak: a minute, or SOAK_SECONDS, of a storm.  "gpu" sends every sort to the GPU service, and
# counts that it did them; the tests of the service itself are then the only ones of tap.  GPUSORT_SERVICE_ENGINE=cpu
# makes that a rehearsal without a GPU.  PGTAP="arrays plans" and ONLY=shares choose files of pgtap and tap by how their
# names begin, PGTAP_SERVICE other ones for pgtap's second pass.  TAG=service chooses files of tap by what their line
# "# tags:" says: service, about the service itself, and slow, which are begun first.  VERBOSE=1 shows all that the TAP
# programs say.
# STORM_SECONDS and ROLLS_SECONDS are how long columns_storm and columns_rolls of tap take, whose figures VERBOSE=1
# shows.
# WERROR=1 makes errors of compilers' warnings.  SEED=N repeats the random data of a run that printed it.  LANES=1 lets
# one program run after the other, where two do at a time, and more use more cores.
#
# A test that fails, a program that dies or says nothing, a suite that counts nothing and a server that crashes: each
# fails the run.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
. "$root/test/lib.sh"

size=small
usual='source primitives regress pgtap differential queries tap'
all="$usual soak"
service_settings=
case "${1:-}" in
	check)
		shift
		size=check
		usual='source regress pgtap'
		PGTAP=${PGTAP:-costs executor pages replaced_sorts integers numeric strings several_keys plans progress} ;;
	large)
		shift
		size=large
		usual=$all ;;
	gpu)
		shift
		size=gpu
		usual='regress pgtap tap differential queries'
		[ -n "${ONLY:-}" ] || TAG=${TAG:-service}
		export GPUSORT_SERVICE_ENGINE=${GPUSORT_SERVICE_ENGINE:-gpu}
		service_settings="shared_preload_libraries = 'gpusort'
			gpusort.engine = gpu
			gpusort.service_options = '--engine=$GPUSORT_SERVICE_ENGINE'" ;;
esac
suites=${*:-$usual}
for suite in $suites; do
	case " $all " in
		*" $suite "*) ;;
		*) die "There is no suite \"$suite\"; see the beginning of $0." ;;
	esac
done
# seconds after which a program hangs, and is not only slow on a busy machine
patience=$((3600 + ${STORM_SECONDS:-0} + ${ROLLS_SECONDS:-0}))
# how many jobs run at a time; large ones want all memory for themselves
lanes=${LANES:-2}
[ "$size" != large ] || lanes=1
case $lanes in
	''|*[!0-9]*|0*) die "LANES is \"$lanes\", and must be a number of programs." ;;
esac
jobs=()
passed=0
failed=0
failures=()
# what random tests and pgbench begin with
export SEED=${SEED:-$((RANDOM * 32768 + RANDOM + 1))}
export PGBENCH_RANDOM_SEED=$SEED
# a large test leaves nothing out
export GPUSORT_TEST_SIZE=$size
say "SEED=$SEED repeats this run's random data"

# add NAME PASSED FAILED SECONDS: counts a test file of this job
add() {
	printf '%-40s %5d passed %3d failed %5d s\n' "$1" "$2" "$3" "$4"
	echo "$2 $3 $1" >>"$job.counts"
}

# later NAME FUNCTION ARGUMENT...: a job, which runs when its turn comes, at the same time as others
later() {
	jobs+=("$(printf '%q ' "$@")")
}

# run_job NUMBER NAME FUNCTION ARGUMENT...: a shell of its own, whose output and counts go to files
run_job() {
	job=$work/jobs/$1
	job_name=$2
	server_port=$((server_port + $1))
	exec >"$job.out" 2>&1 </dev/null
	trap 'end_job $?' EXIT
	trap '[ -z "$child" ] || kill -TERM "$child" 2>/dev/null; exit 143' TERM
	"${@:3}"
}

# end_job STATUS: one that ends too early, or counts nothing, is a failure
end_job() {
	if [ "$1" != 0 ]; then
		add "$job_name: exit status $1" 0 1 0
	elif [ ! -s "$job.counts" ]; then
		add "$job_name: no test ran" 0 1 0
	fi
	: >"$job.end"
}

# start_jobs: runs all jobs, in their order, so many at a time
start_jobs() {
	local n=0 one
	trap 'kill -TERM $(jobs -p) 2>/dev/null; wait; exit 143' TERM
	for one in "${jobs[@]}"; do
		while [ "$(jobs -rp | wc -l)" -ge "$lanes" ]; do wait -n || true; done
		eval "run_job $n $one" &
		n=$((n + 1))
	done
	wait
}

# name_of NUMBER: a job's name, which may have blanks in it
name_of() {
	eval "set -- ${jobs[$1]}"
	echo "$1"
}

# tell NUMBER STARTER: prints what a job says, as it comes, until it ends, and counts its tests; one that was killed
# has ended when nothing runs any more
tell() {
	local job=$work/jobs/$1 told=0 bytes good bad name last=
	while [ -z "$last" ]; do
		if [ -e "$job.end" ] || ! kill -0 "$2" 2>/dev/null; then last=1; else sleep 0.5; fi
		bytes=$(stat -c %s "$job.out" 2>/dev/null || echo 0)
		if [ "$bytes" -gt "$told" ]; then tail -c "+$((told + 1))" "$job.out" | head -c $((bytes - told)); fi
		told=$bytes
	done
	while read -r good bad name; do
		passed=$((passed + good))
		failed=$((failed + bad))
		if [ "$bad" -gt 0 ]; then failures+=("$name"); fi
	done < <(cat "$job.counts" && [ -e "$job.end" ] || echo "0 1 $(name_of "$1"): killed")
}

# run_jobs: runs all jobs that there are until now, and tells of them in their order
run_jobs() {
	local n starter
	rm -rf "$work/jobs"
	mkdir "$work/jobs"
	start_jobs &
	starter=$!
	for ((n = 0; n < ${#jobs[@]}; n++)); do tell "$n" "$starter"; done
	wait
	jobs=()
}

# tap NAME LIMIT COMMAND...: runs a program that speaks TAP; what failed is printed with what is said about it
tap() {
	local name=$1 limit=$2 log=$job.log status=0 good bad start=$SECONDS
	shift 2
	"${as:-as_server}" timeout --kill-after=10 "$limit" "$@" >"$log" 2>"$log.err" </dev/null || status=$?
	if [ -n "${VERBOSE:-}" ]; then cat "$log" "$log.err" >&2; fi
	good=$(grep -c '^ok ' "$log" || true)
	bad=$(grep '^not ok ' "$log" | grep -vc '# TODO' || true)
	# a program that died, or ran nothing, is a failure more
	if [ "$bad" = 0 ] && { [ "$status" != 0 ] || { [ "$good" = 0 ] && ! grep -q '^1\.\.0' "$log"; }; }; then
		bad=1
		say "$name: exit status $status"
		tail -n 30 "$log" >&2
		tail -n 60 "$log.err" >&2
	elif [ "$bad" != 0 ]; then
		grep -A 8 '^not ok ' "$log" | grep -v '^ok ' | head -n 200 >&2
		head -n 200 "$log.err" >&2
	elif [ "$size" = gpu ]; then
		grep '^# ' "$log.err" >&2 || true
	fi
	add "$name" "$good" "$bad" $((SECONDS - start))
}

# what "gpu" wants to have done the jobs
service_kind() {
	if [ "$GPUSORT_SERVICE_ENGINE" = gpu ]; then echo GPU; else echo CPU service; fi
}

# worked NAME [JOBS]: with "gpu", passes if the service did the jobs of this server's tests, by the extension's own
# count.  Left out are JOBS of tests that name the CPU, and one in a hundred: jobs with values larger than a chunk are
# the CPU's.
worked() {
	local kind there here
	[ "$size" = gpu ] || return 0
	kind=$(service_kind)
	"$bindir/psql" -Xqd postgres -c 'CREATE EXTENSION IF NOT EXISTS gpusort' -c 'SELECT * FROM gpusort_stat' >&2
	"$bindir/psql" -XqAtd postgres -c "SELECT op FROM gpusort_stat
		WHERE engine = '$kind' AND fallback IS NULL AND jobs > 0" >>"$work/operations.$1"
	there=$("$bindir/psql" -XqAtd postgres \
		-c "SELECT sum(jobs) FROM gpusort_stat WHERE engine = '$kind' AND fallback IS NULL")
	here=$("$bindir/psql" -XqAtd postgres -c "SELECT coalesce(sum(jobs), 0) FROM gpusort_stat WHERE engine = 'CPU'")
	if [ "${there:-0}" -gt 0 ] && [ "$here" -le $((there / 100 + ${2:-0})) ]; then
		add "$1: $there jobs by the $kind, $here not" 1 0 0
	else
		add "$1: ${there:-0} jobs by the $kind, $here not" 0 1 0
	fi
}

# operations NAME OPERATION...: passes for each that the service did in one of the servers that worked counted by this
# name
operations() {
	local op
	for op in "${@:2}"; do
		if grep -qsx "$op" "$work/operations.$1"; then
			add "$1: $op by the $(service_kind)" 1 0 0
		else
			add "$1: no $op by the $(service_kind)" 0 1 0
		fi
	done
}

# any_engine FILE: a result of pg_regress without the name of the engine, and how wide keys are for the first rows of an
# order, which a GPU finds by the keys' types.
any_engine() {
	sed -E -e 's/(Engine[">]?:? ?"?)(GPU|CPU service)/\1CPU/' \
		-e '/radix top-N/,/Keys:/s/Keys: [1-9][0-9]* bits/Keys: N bits/' "$1"
}

# Compares pg_regress's results with what is expected, whichever engine it was; prints how many files are the same and
# how many not.
compare_results() {
	local file good=0 bad=0
	for file in "$work"/tree/expected/*.out; do
		if diff -u <(any_engine "$file") <(any_engine "$work/tree/results/$(basename "$file")") >&2; then
			good=$((good + 1))
		else
			bad=$((bad + 1))
		fi
	done
	echo "$good $bad"
}

# what the source promises of itself, before anything is built beside it
run_source() {
	later source test_source
	run_jobs
}

test_source() {
	tap source "$patience" "$work/tree/test/source.sh"
	tap documents "$patience" perl "$work/tree/test/documents.pl"
	tap install "$patience" env PG_CONFIG="$PG_CONFIG" "$work/tree/test/install.sh"
}

# the engines are built once for all of their tests, of which the largest come first
run_primitives() {
	local dir target kind
	export KERNELS_BUILD=$work/tree/build/test-kernels
	for kind in plain asan; do
		as_server make -s -j"$(nproc)" -C "$work/tree/test/kernels" objects KIND="$kind" >&2 || say "no $kind engine"
	done
	for dir in $(printf '%s\n' "$work"/tree/test/*/ | sort -r); do
		grep -qs '^check:' "$dir/Makefile" || continue
		for target in check asan; do later "$(basename "$dir") $target" test_primitive "$dir" "$target"; done
	done
	if [ "$size" = large ] && command -v nvcc >/dev/null 2>&1; then
		for dir in "$work"/tree/test/*/; do
			grep -qs '^large:' "$dir/Makefile" || continue
			later "$(basename "$dir") large" tap "$(basename "$dir") large" 36000 make -s -C "$dir" large
		done
	fi
}

# test_primitive DIRECTORY TARGET
test_primitive() {
	local name
	name=$(basename "$1")
	tap "$name $2" "$patience" make -s -C "$1" "$2"
	# with what check has built
	if [ "$2" = check ] && [ "$(id -u)" = 0 ] && grep -q '^asroot:' "$1/Makefile"; then
		as=as_root tap "$name asroot" "$patience" make -s -C "$1" asroot
	fi
}

# Builds the modules of test/datums.  Each server loads plan_walk, which looks through all plans, unless its settings
# name other libraries, as those of "gpu" do.
walk_plans() {
	as_server make -s -B -C "$work/tree/test/datums" PG_CONFIG="$PG_CONFIG" >&2
	[ "$size" != gpu ] || return 0
	{
		echo "shared_preload_libraries = '$work/tree/test/datums/plan_walk'"
		if [ -n "${TEMP_CONFIG:-}" ]; then cat "$TEMP_CONFIG"; fi
	} >"$work/plan_walk.conf"
	export TEMP_CONFIG=$work/plan_walk.conf
}

# pg_regress of PostgreSQL 15 says "test NAME ... ok", later ones speak TAP
run_regress() {
	later regress test_regress
}

test_regress() {
	local log=$work/installcheck.log start=$SECONDS status=0 good bad
	start_server regress --locale=C.UTF-8 --encoding=UTF8 <<-CONF
		fsync = off
		max_connections = 50
		shared_buffers = 128MB
		$service_settings
	CONF
	as_server timeout "$patience" make -s -C "$work/tree" PG_CONFIG="$PG_CONFIG" installcheck >"$log" 2>&1 || status=$?
	good=$(grep -cE '^(test .* \.\.\. +ok|ok )' "$log" || true)
	bad=$(grep -cE '^(test .* \.\.\. +FAILED|not ok )' "$log" || true)
	if [ "$bad" = 0 ] && { [ "$good" = 0 ] || [ "$status" != 0 ]; }; then
		bad=1
		cat "$log" >&2
	elif [ "$size" = gpu ]; then
		read -r good bad < <(compare_results)
	elif [ "$bad" != 0 ]; then
		grep -E '^(test .* \.\.\. +FAILED|not ok )' "$log" >&2 || true
		head -c 60000 "$work/tree/regression.diffs" >&2 || true
	fi
	add "regress" "$good" "$bad" $((SECONDS - start))
	# explain.sql asks how much memory keys take inside a backend
	worked regress 1
	crashes regress "$work/regress.log"
	stop_server regress
}

# Twice: with the sorts inside the backends, and with every sort in the GPU service, running on its CPU engine; then in
# compiled code, too.  Queries that cost less than 30 are pgTAP's own, of which there are many, and would take most of
# the compiler's time.
run_pgtap() {
	local jit='jit = on
jit_above_cost = 30'
	if [ ! -e "$("$PG_CONFIG" --pkglibdir)/llvmjit.so" ]; then
		jit=
		say "This server has no llvmjit.so: pgTAP's tests run without compiled code."
	fi
	[ "$size" = check ] || need_locales
	# shellcheck disable=SC2086
	[ "$size" = gpu ] || pgtap_jobs pgtap '' ${PGTAP:-}
	[ "$size" != check ] || return 0
	# shellcheck disable=SC2086
	pgtap_jobs service "$jit
gpusort.engine = gpu
gpusort.min_rows = 0
gpusort.service_options = '--engine=${GPUSORT_SERVICE_ENGINE:-cpu}'
$service_settings" ${PGTAP_SERVICE:-${PGTAP:-}}
}

# files_of FOLDER SUFFIX [WORD]...: its files whose names begin with one of the words, or all
files_of() {
	local at=$work/tree/test/$1 suffix=$2 word
	shift 2
	for word in "${@:-.}"; do ls "$at/${word#.}"*"$suffix"; done | sort -u
}

# pgtap_jobs NAME SETTINGS [WORD]...: a pass over the files whose names begin with one of the words, or all; where there
# are lanes to spare, in several servers, each of which has a part of the files.  With "gpu" it is the only pass.
pgtap_jobs() {
	local name=$1 settings=$2 parts=$(((lanes + 1) / 2)) part files
	[ "$size" != gpu ] || parts=$lanes
	shift 2
	files=$(files_of pgtap .sql "$@")
	if [ "$parts" -gt "$(wc -l <<<"$files")" ]; then parts=$(wc -l <<<"$files"); fi
	for ((part = 0; part < parts; part++)); do
		# shellcheck disable=SC2046
		later "$name" pgtap_with "$name" "$part" "$settings" \
			$(awk -v parts="$parts" -v part="$part" '(NR - 1) % parts == part' <<<"$files")
	done
}

# pgtap_with NAME PART SETTINGS FILE...
pgtap_with() {
	local name=$1 server=$1-$2 file
	start_pgtap_server "$server" "$3"
	for file in "${@:4}"; do
		tap "$name $(basename "$file" .sql)" "$patience" pg_prove --verbose --psql-bin "$bindir/psql" \
			-d gpusort_pgtap "$file"
	done
	worked "$name"
	crashes "$name" "$work/$server.log"
	stop_server "$server"
}

# tap_program NAME FILE: a program that starts servers of its own, as PostgreSQL::Test::Cluster does below TESTDIR; from
# version 16 on where the other two say
tap_program() {
	local dir=$work/tap
	mkdir -p "$dir"
	if [ "$(id -u)" = 0 ]; then chown postgres "$dir"; fi
	tap "$1" "$patience" env \
		PATH="$bindir:$PATH" TESTDIR="$dir" TESTDATADIR="$dir/tmp_check" TESTLOGDIR="$dir/tmp_check/log" \
		PG_REGRESS="$pgtest/test/regress/pg_regress" PG_TEST_TIMEOUT_DEFAULT=600 \
		perl -I "$pgtest/test/perl" -I "$work/tree/test/perl" "$2"
}

# tagged OPTION TAG FILE...: those that have the tag (-l), or have it not (-L)
tagged() {
	[ $# = 2 ] || grep "$1" "^# tags:.* $2\b" "${@:3}" || true
}

run_tap() {
	local file files
	need_locales
	# shellcheck disable=SC2086
	files=$(files_of t .pl ${ONLY:-})
	# shellcheck disable=SC2086
	[ -z "${TAG:-}" ] || files=$(tagged -l "$TAG" $files)
	# shellcheck disable=SC2086,SC2046
	for file in $(tagged -l slow $files) $(tagged -L slow $files); do
		later "tap $(basename "$file" .pl)" test_tap "$(basename "$file" .pl)" "$file"
	done
}

# test_tap NAME FILE
test_tap() {
	tap_program "tap $1" "$2"
	crashes "tap $1" "$work/tap/tmp_check/log/$1"_*.log
}

# A storm over a server under load, for a minute or SOAK_SECONDS.
run_soak() {
	need_locales
	later soak test_soak
}

test_soak() {
	local patience=$((${SOAK_SECONDS:-60} + 3600))
	tap_program soak "$work/tree/test/soak.pl"
	# how much came right, and what happened
	grep '^# ' "$job.log.err" >&2 || true
	crashes soak "$work"/tap/tmp_check/log/soak_*.log
}

run_differential() {
	need_locales
	later differential test_differential
}

test_differential() {
	local seconds=60
	[ "$size" = large ] && seconds=7200
	[ "$size" = gpu ] && seconds=30
	start_server differential --locale=C.UTF-8 --encoding=UTF8 <<-CONF
		fsync = off
		session_preload_libraries = 'gpusort'
		$service_settings
	CONF
	tap differential $((seconds * 3 + patience)) perl "$work/tree/test/differential.pl" --seconds "$seconds" \
		--psql "$bindir/psql"
	worked differential
	crashes differential "$work/differential.log"
	stop_server differential
}

run_queries() {
	later queries test_queries
}

test_queries() {
	local seconds=20
	[ "$size" = large ] && seconds=3600
	[ "$size" = gpu ] && seconds=10
	start_server queries --locale=C.UTF-8 --encoding=UTF8 <<-CONF
		fsync = off
		session_preload_libraries = 'gpusort'
		$service_settings
	CONF
	tap queries $((seconds * 3 + patience)) perl "$work/tree/test/queries.pl" --seconds "$seconds" --psql "$bindir/psql"
	worked queries
	crashes queries "$work/queries.log"
	stop_server queries
}

# crashes NAME LOG...: a server that crashed while tests ran is a failure, whatever they said.  Signal 9 is a test's
# own.
crashes() {
	if grep -shE 'was terminated by signal [^9]|PANIC|TRAP:' "${@:2}" >&2; then
		add "$1: the server crashed" 0 1 0
	fi
}

build_and_install test
make_work
copy_tree
unset MAKEFLAGS MAKELEVEL MFLAGS
case " $suites " in
	' source ' | ' primitives ' | ' source primitives ') ;;
	*) walk_plans ;;
esac

started=$SECONDS
for suite in $suites; do "run_$suite"; done
run_jobs
if [ "$size" = gpu ] && [[ " $suites " = *' pgtap '* ]] && [ -z "${PGTAP_SERVICE:-${PGTAP:-}}" ]; then
	later operations operations service order select partition runs scan reduce
	run_jobs
fi
if [ ${#failures[@]} -gt 0 ]; then
	echo
	printf 'failed: %s\n' "${failures[@]}"
fi
echo
echo "all suites: $((SECONDS - started)) s"
echo "$passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
