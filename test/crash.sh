#!/bin/bash
# crash.sh [ROUNDS]: the whole system crashes, not the server alone.  A virtual machine, in which the server keeps its
# data on a disk of its own, is killed under a load, and what it had not synchronized is lost; then it starts again.
#
# Before each crash sessions commit rows, change a table with resident columns, choose and give up columns, sort in
# temporary files and build indexes.  Afterwards every commit that was confirmed is there, the choices are those that
# were confirmed, or the one at hand, their columns come back and answer as the table does, indexes are whole, and
# temporary files are gone.  A file that nobody synchronized has to be lost: otherwise the crash proves nothing.
#
# It takes qemu (Debian: qemu-system-x86, without KVM unless ACCEL=kvm), mkfs.ext4 and cpio, and Debian's archive for a
# kernel and busybox, which are kept in CRASH_DIR (default /var/tmp/gpusort-crash).  ROUNDS: 3 when none is named.
# SEED=N repeats the moments of a run.  With FSYNC=off it has to fail.  Speaks TAP.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
. "$root/test/lib.sh"
rounds=${1:-3}
keep=${CRASH_DIR:-/var/tmp/gpusort-crash}
RANDOM=${SEED:-$((RANDOM + 1))}
port=$((20000 + $$ % 20000))
guest=

# fetch_parts: the kernel with its modules, and busybox, from packages of this machine's archive.
fetch_parts() {
	[ ! -e "$keep/complete" ] || return 0
	rm -rf "$keep"
	mkdir -p "$keep"
	(
		cd "$keep"
		kernel=$(apt-cache depends linux-image-cloud-amd64 | sed -n 's/.*Depends: \(linux-image-[0-9].*\)/\1/p')
		apt-get -q -o APT::Sandbox::User=root download "$kernel" busybox-static >&2
		for package in *.deb; do dpkg-deb -x "$package" .; done
		touch complete
	) || die "There is no kernel or no busybox to be had: are there lists of packages (apt-get update)?"
}

# take FILE...: files of this machine, and the libraries that they need, in their places in the guest.
take() {
	local file
	for file in "$@" $(ldd "$@" 2>/dev/null | grep -o '/[^ ():]*' | sort -u); do
		mkdir -p "$work/guest$(dirname "$file")"
		cp -L "$file" "$work/guest$file"
	done
}

# make_guest: the first file system of the guest, in memory: its first program, modules, and the server with gpusort.
make_guest() {
	local share libraries name
	share=$("$PG_CONFIG" --sharedir) libraries=$("$PG_CONFIG" --pkglibdir)
	mkdir -p "$work"/guest/{bin,dev,proc,sys,tmp,disk,etc} "$work/guest$share"
	cp "$keep"/bin/busybox "$work/guest/bin/"
	cp "$root/test/crash/init" "$work/guest/"
	(cd "$keep" && find lib/modules -name 'virtio*.ko' -o -name '*failover.ko' | cpio --quiet -pdm "$work/guest")
	take "$bindir/postgres" "$bindir/gpusortd" "$libraries"/{gpusort,amcheck,plpgsql,dict_snowball}.so
	# extensions have been created
	tar -C "$share" --exclude=./extension --exclude=./man -cf - . | tar -C "$work/guest$share" -xf -
	for name in /usr/lib/locale/C.* /usr/share/zoneinfo/Etc /usr/share/zoneinfo/UTC; do
		mkdir -p "$work/guest$(dirname "$name")"
		cp -RL "$name" "$work/guest$name"
	done
	getent passwd "$(stat -c %U "$work/data")" >"$work/guest/etc/passwd"
	echo "$bindir/postgres" >"$work/guest/etc/server"
	(cd "$work/guest" && find . | cpio --quiet -o -H newc) >"$work/guest.cpio"
	rm -rf "$work/guest"
}

# make_data: a cluster, whose tables are filled here, where it is faster, on the disk of the guest.
make_data() {
	start_server data --locale=C.UTF-8 --encoding=UTF8 <<-CONF
		shared_preload_libraries = 'gpusort'
		max_worker_processes = 16
		gpusort.min_rows = 0
		gpusort.work_mem = 1MB
		gpusort.index_builds = force
		log_min_messages = warning
	CONF
	"$bindir/psql" -Xq -v ON_ERROR_STOP=1 -d postgres -f "$root/test/crash/tables.sql" >&2
	as_server "$bindir/pg_ctl" stop -D "$work/data" -m fast -s
	as_server tee -a "$work/data/postgresql.conf" >/dev/null <<-CONF
		listen_addresses = '*'
		port = 5432
		unix_socket_directories = '/tmp'
		fsync = ${FSYNC:-on}
		checkpoint_timeout = 30s
	CONF
	echo 'host all all 0.0.0.0/0 trust' | as_server tee -a "$work/data/pg_hba.conf" >/dev/null
	mkdir "$work/disk"
	mv "$work/data" "$work/disk/"
	mkfs.ext4 -q -d "$work/disk" "$work/disk.img" 2G
	mv "$work/disk/data" "$work/"
	export PGHOST=127.0.0.1 PGPORT=$port PGCONNECT_TIMEOUT=60 PGOPTIONS='-c client_min_messages=warning'
}

# start_guest: the guest starts, and the server in it, which recovers.
start_guest() {
	local end=$((SECONDS + 600))
	qemu-system-x86_64 -accel "${ACCEL:-tcg}" -cpu max -smp 2 -m 2048 -display none -no-reboot \
		-serial "file:$work/console" -monitor none -kernel "$keep"/boot/vmlinuz-* -initrd "$work/guest.cpio" \
		-append 'console=ttyS0 quiet panic=-1' -drive "file=$work/disk.img,if=virtio,format=raw,cache=writeback" \
		-nic "user,model=virtio-net-pci,hostfwd=tcp:127.0.0.1:$port-:5432" </dev/null >&2 &
	guest=$!
	until sql 'SELECT 1' >/dev/null 2>&1; do
		kill -0 "$guest" 2>/dev/null && [ $SECONDS -lt $end ] || { tail -n 40 "$work/console" >&2; die "no guest"; }
		sleep 1
	done
}

# kill_guest: the crash.
kill_guest() {
	[ -n "$guest" ] || return 0
	{
		kill -KILL "$guest"
		wait "$guest" || true
	} 2>/dev/null
	guest=
}

# sql STATEMENT...: their results, without a trace of errors if a crash ends them.
sql() {
	local statement list=()
	for statement; do list+=(-c "$statement"); done
	"$bindir/psql" -XqAt -v ON_ERROR_STOP=1 -d postgres "${list[@]}"
}

# again STATEMENT...: over and over, until the guest is dead.
again() {
	while sql "$@" >/dev/null 2>"$work/again.$BASHPID"; do :; done
	# an error that is not the crash's
	grep -hE 'ERROR' "$work/again.$BASHPID" >>"$work/errors" || true
}

# commit_rows ROUND: numbers of rows whose commit was confirmed go to the file "confirmed".
commit_rows() {
	local i=0
	while i=$((i + 1)); do
		echo "BEGIN; UPDATE sales SET amount = amount + 1 WHERE id = 1 + $RANDOM % 40000;
			INSERT INTO sales SELECT max(id) + 1, 7, 7.25, 'sold' FROM sales;
			INSERT INTO ledger VALUES ($1 * 1000000 + $i); COMMIT;"
		echo "\\echo $(($1 * 1000000 + i))"
	done | "$bindir/psql" -XqAt -v ON_ERROR_STOP=1 -d postgres >"$work/confirmed" 2>/dev/null || true
}

# hold_files: a sort whose rows are in temporary files, which is half read.
hold_files() {
	sql BEGIN "DECLARE c CURSOR FOR SELECT * FROM other ORDER BY note, id" 'FETCH 100 FROM c' 'SELECT pg_sleep(600)' \
		>/dev/null 2>&1 || true
}

# choose_columns: the state of the choice that is asked for goes to the file "asked", a confirmed one to "chosen".
choose_columns() {
	local state
	while :; do
		for state in '{a}' '' '{a,b}' '{b}' ''; do
			echo "$state" >"$work/asked"
			if [ -n "$state" ]; then sql "SELECT gpusort_columns_add('other', '$state')"
			else sql "SELECT gpusort_columns_remove('other')"; fi >/dev/null 2>"$work/choosing" || break 2
			echo "$state" >"$work/chosen"
		done
	done
	grep ERROR "$work/choosing" >"$work/refused" || true
}

# load_and_crash ROUND: all of that at the same time, and the end of the guest in the midst of it.
load_and_crash() {
	local loads=()
	rm -f "$work"/{errors,asked,chosen,choosing,confirmed,refused}
	commit_rows "$1" & loads+=($!)
	hold_files & loads+=($!)
	choose_columns & loads+=($!)
	again "SELECT md5(string_agg(note, '' ORDER BY note, id)) FROM other" & loads+=($!)
	again "SELECT shop, count(*), sum(amount) FROM sales GROUP BY shop" & loads+=($!)
	again 'DROP INDEX IF EXISTS built' 'CREATE INDEX built ON other (note COLLATE "en-x-icu", id)' \
		'CREATE INDEX CONCURRENTLY IF NOT EXISTS beside ON sales (note)' 'DROP INDEX CONCURRENTLY beside' \
		& loads+=($!)
	sleep $((15 + RANDOM % 20))
	sql "COPY (SELECT generate_series(1, 100000)) TO '/disk/data/unsynchronized'"
	while [ ! -s "$work/confirmed" ] || [ ! -e "$work/chosen" ]; do
		[ ! -s "$work/refused" ] || die "A choice is refused: $(cat "$work/refused")"
		sleep 1
	done
	sql "SELECT count(*) FROM pg_ls_tmpdir()" >"$work/files"
	kill_guest
	wait "${loads[@]}" || true
}

# held TABLE COLUMNS: waits until all pages of a table come from columns; true if they do.
held() {
	local i whole="SELECT from_columns > 0 AND from_table = 0 FROM gpusort_columns_check('$1', '$2')"
	for ((i = 0; i < 120; i++)); do
		[ "$(sql "$whole")" != t ] || return 0
		sleep 1
	done
	sql "SELECT * FROM gpusort_columns" >&2
	return 1
}

# same WHAT QUERY: passes if both answers are the same.
same() { is "$1" "$(sql "$2")" "$(sql 'SET gpusort.enabled = off' "$2")"; }

# check_round N: what has to come back.
check_round() {
	local state all shops='SELECT string_agg(s::text, $$ $$ ORDER BY shop)
		FROM (SELECT shop, count(*), sum(amount) FROM sales GROUP BY shop) s'
	is "$1: what nobody synchronized is lost" \
		"$(sql "SELECT coalesce((pg_stat_file('/disk/data/unsynchronized', true)).size, 0) < 588895")" t
	is "$1: $(wc -l <"$work/confirmed") confirmed commits are there" "$(sql "SELECT count(*) FROM ledger
		WHERE id IN ($(paste -sd, "$work/confirmed"))")" "$(wc -l <"$work/confirmed")"
	is "$1: each with all of its rows" \
		"$(sql 'SELECT (SELECT count(*) FROM ledger) = (SELECT count(*) - 40000 FROM sales)')" t
	state=$(sql "SELECT columns FROM gpusort_columns_choice WHERE rel = 'other'::regclass")
	case "$state" in
		"$(cat "$work/chosen")" | "$(cat "$work/asked")") all=0 ;;
		*) all=1 ;;
	esac
	verdict $all "$1: the choice is \"$state\": confirmed was \"$(cat "$work/chosen")\", asked \"$(cat "$work/asked")\""
	ok "$1: columns are held again" held sales '{id,shop,amount}'
	if [ -n "$state" ]; then ok "$1: those that were chosen under the load, too" held other "$state"; fi
	same "$1: columns answer as the table does" "$shops"
	is "$1: by a node of columns" "$(sql "EXPLAIN (COSTS OFF) $shops" | grep -c GpuColumns)" 1
	same "$1: rows in order" "SELECT md5(string_agg(id || note, '' ORDER BY note, id)) FROM other"
	is "$1: there were temporary files" "$(($(cat "$work/files") > 0))" 1
	is "$1: of which none is left" "$(sql 'SELECT count(*) FROM pg_ls_tmpdir()')" 0
	ok "$1: indexes are whole" sql 'SELECT bt_index_check(indexrelid, true) FROM pg_index JOIN pg_class c
		ON c.oid = indexrelid WHERE indisvalid AND relnamespace = 2200 AND relam = 403'
	is "$1: no error but the crash" "$(cat "$work/errors" 2>/dev/null)" ''
	is "$1: and the server did not crash itself" "$(grep -cE 'terminated by signal|PANIC|TRAP:' "$work/console")" 0
	sql "DROP INDEX IF EXISTS beside" "COPY (SELECT) TO '/disk/data/unsynchronized'" CHECKPOINT
}

for tool in qemu-system-x86_64 mkfs.ext4 cpio; do
	command -v $tool >/dev/null || die "$tool is missing (Debian: qemu-system-x86, e2fsprogs, cpio)."
done
build_and_install test
make_work
log=$work/last
fetch_parts
make_data
make_guest
trap 'kill_guest; cleanup' EXIT
start_guest
# a choice is refused while the service starts, which takes a while in a slow guest
held sales '{id,shop,amount}' || die "The columns are not held before the first crash."
for ((round = 1; round <= rounds; round++)); do
	load_and_crash "$round"
	start_guest
	check_round "crash $round"
done
end_of_tests
