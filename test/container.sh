#!/bin/bash
# container.sh [SUITE]: the steps of packaging/container/Dockerfile in a plain chroot, which is a container as far as
# they are concerned: the release's server, install.sh, the script for a new database, the command line; and 64 MB of
# /dev/shm, docker's own, are enough for parallel sorts.  The chroot is made below CONTAINER_DIR (default
# /var/tmp/gpusort-container) from SUITE (default bookworm) and kept, up to the server.  That takes root, debootstrap
# and Debian's archive (DEBIAN_MIRROR).  Speaks TAP.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
suite=${1:-bookworm}
dir=${CONTAINER_DIR:-/var/tmp/gpusort-container}/$suite
mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}

# Mounts of a process in a name space of its own end with it, whatever becomes of it.
if [ -z "${GPUSORT_UNSHARED:-}" ]; then
	[ "$(id -u)" = 0 ] || { echo "This makes and enters a chroot, which takes root." >&2; exit 1; }
	exec env GPUSORT_UNSHARED=1 unshare --mount "$0" "$@"
fi

inside() { chroot "$dir" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 PG_MAJOR="${major:-}" "$@" \
	</dev/null; }
quiet() { "$@" >"$dir/last.log" 2>&1 || { tail -n 40 "$dir/last.log" >&2; return 1; }; }
count=0
failed=0
ok() { # WHAT COMMAND...
	local what=$1
	shift
	count=$((count + 1))
	if "$@"; then echo "ok $count - $what"; else failed=1; echo "not ok $count - $what"; fi
}

# What an image has: the server, and neither a compiler nor a cluster.
if [ ! -e "$dir/etc/gpusort-base" ]; then
	mkdir -p "$dir"
	debootstrap --variant=minbase --include=ca-certificates "$suite" "$dir" "$mirror" >&2
	mkdir -p "$dir/etc/postgresql-common/createcluster.d"
	echo 'create_main_cluster = false' >"$dir/etc/postgresql-common/createcluster.d/gpusort.conf"
	inside apt-get update -q >&2
	inside apt-get install -q -y --no-install-recommends postgresql >&2
	touch "$dir/etc/gpusort-base"
fi
mount -t proc proc "$dir/proc"
mkdir -p "$dir/dev/shm"
mount -t tmpfs -o size=64m tmpfs "$dir/dev/shm"
major=$(ls "$dir/usr/lib/postgresql")
bin=/usr/lib/postgresql/$major/bin

# COPY and RUN
packages=$(inside dpkg-query -W)
mkdir -p "$dir/usr/src/gpusort"
tar -C "$root" --exclude=./.git --exclude=./build --exclude='*.o' --exclude='*.so' --exclude=./gpusortd -cf - . |
	tar -C "$dir/usr/src/gpusort" --no-same-owner -xf -
ok 'install.sh' quiet inside /usr/src/gpusort/packaging/container/install.sh
ok 'it leaves no other packages than there were' diff <(echo "$packages") <(inside dpkg-query -W)
ok 'and no sources' test ! -e "$dir/usr/src/gpusort"

# what docker-entrypoint.sh does: a database, the scripts, the server
as_postgres() { inside runuser -u postgres -- "$@"; }
psql() { as_postgres psql -XqAt -v ON_ERROR_STOP=1 -h /tmp "$@"; }
data=/var/lib/postgresql/container
rm -rf --one-file-system "$dir$data"
cp "$root/packaging/container/initdb.sql" "$dir/tmp/gpusort.sql"
command=$(sed -n 's/^CMD \["postgres", *\(.*\)\]$/\1/p' "$root/packaging/container/Dockerfile" | tr -d '",')
quiet as_postgres "$bin/initdb" -D "$data" --no-sync
start() { as_postgres "$bin/pg_ctl" start -w -s -D "$data" -l /tmp/server.log \
	-o "-c listen_addresses= -c unix_socket_directories=/tmp $command $*"; }
stop() { as_postgres "$bin/pg_ctl" stop -w -s -m fast -D "$data"; }
trap stop EXIT
start -c max_worker_processes=16 -c max_parallel_workers=8
ok 'the script for a new database' psql -f /tmp/gpusort.sql
psql -c 'CREATE TABLE t AS SELECT hashint8extended(i, 1) AS k, md5(i::text) AS s FROM generate_series(1, 500000) AS i' \
	-c 'VACUUM ANALYZE t'

# sorts of eight workers, as many as there are keys, in four sessions at once
parallel='SET max_parallel_workers_per_gather = 4; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0;
	SET min_parallel_table_scan_size = 0'
ok 'a parallel sort' grep -q 'GpuMerge' <(psql -c "$parallel" -c 'EXPLAIN SELECT * FROM t ORDER BY k')
sorts() {
	local session pids=() good=0
	for session in 1 2 3 4; do
		psql -c "$parallel" \
			-c "SELECT count(*) FROM (SELECT s, lag(s) OVER (ORDER BY s) AS before FROM t) AS x WHERE before > s" \
			-c "SELECT count(*) FROM (SELECT k, lag(k) OVER (ORDER BY k) AS before FROM t) AS x WHERE before > k" \
				>"$dir/tmp/sorts$session" 2>&1 &
		pids+=($!)
	done
	for session in 1 2 3 4; do
		if wait "${pids[session - 1]}" && [ "$(cat "$dir/tmp/sorts$session")" = $'0\n0' ]; then \
			good=$((good + 1)); else cat "$dir/tmp/sorts$session" >&2; fi
	done
	[ $good = 4 ]
}
ok "four sessions at once, with $(df --output=size -B1M "$dir/dev/shm" | tail -n 1 | tr -d ' ') MB of /dev/shm" sorts
stop
start -c gpusort.engine=gpu -c "gpusort.service_options='--engine=cpu'"
ok 'and with their sorts in the service' sorts
ok 'which did them' test "$(psql -c "SELECT sum(jobs) > 0 FROM gpusort_stat
	WHERE engine = 'CPU service' AND fallback IS NULL")" = t
echo "1..$count"
exit $failed
