#!/bin/bash
# container.sh [SUITE]: the steps of packaging/container/Dockerfile in a plain chroot, which is a container as far as
# they are concerned: the release's server, install.sh, the script for a new database, the command line; and 64 MB of
# /dev/shm, docker's own, are enough for parallel sorts.  The chroot is made below CONTAINER_DIR (default
# /var/tmp/gpusort-container) from SUITE (default bookworm) and kept, up to the server, which is brought up to date.
# That takes root, debootstrap and Debian's archive (DEBIAN_MIRROR).  Speaks TAP.
#
# WITH_CUDA=yes: those of Dockerfile.cuda, whose first stage is a chroot of Ubuntu 22.04 (UBUNTU_MIRROR) with the
# toolkit of this machine's nvcc, as NVIDIA's image is one; CUDA_ARCHS=90 saves most of its time.  No GPU is asked for:
# the service has to say so.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
. "$root/test/lib.sh"
suite=${1:-bookworm}
dir=${CONTAINER_DIR:-/var/tmp/gpusort-container}/$suite
log=$dir/last.log
dockerfile=$root/packaging/container/Dockerfile
if [ "${WITH_CUDA:-no}" = yes ]; then dockerfile=$dockerfile.cuda; fi
in_own_mounts "$0" "$@"

inside() { chroot "$dir" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 PG_MAJOR="${major:-}" "$@" \
	</dev/null; }

# What docker sends of a folder: all but what .dockerignore names.
copy_context() {
	mkdir -p "$2"
	tar -C "$1" --exclude-from=<(sed '/^#/d; s#^\*\*/##; t; s#^#./#' "$root/.dockerignore") -cf - . |
		tar -C "$2" --no-same-owner -xf -
}

# The stage that builds the service: the image has the toolkit, and the compiler that it takes.
build_service() {
	local place=${dir%/*}/jammy keys
	keys=$(ubuntu_keys "${dir%/*}" "${DEBIAN_MIRROR:-http://deb.debian.org/debian}")
	MIRROR=${UBUNTU_MIRROR:-http://archive.ubuntu.com/ubuntu} enter_chroot jammy "$place" 64m --keyring="$keys"
	in_stage() { chroot "$place" env -i PATH=/usr/local/cuda/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root \
		LANG=C.UTF-8 CUDA_ARCHS="${CUDA_ARCHS:-all}" "$@" </dev/null; }
	if [ ! -e "$place/usr/bin/g++" ]; then
		in_stage apt-get update -q >&2
		in_stage apt-get install -q -y --no-install-recommends build-essential >&2
	fi
	enter_cuda "$place/usr/local/cuda"
	rm -rf "$place/usr/src/gpusort"
	copy_context "$root" "$place/usr/src/gpusort"
	ok 'the service' in_stage sh -c "$(sed -n 's/^RUN \(make .*\)/\1/p' "$dockerfile")"
	leave_cuda "$place/usr/local/cuda"
	cp "$place/usr/src/gpusort/gpusortd" "$dir/tmp/"
}

# What an image has: the server, and neither a compiler nor a cluster.
enter_chroot "$suite" "$dir" 64m
inside apt-get update -q >&2
inside apt-get upgrade -q -y >&2
inside apt-get install -q -y --no-install-recommends postgresql >&2
major=$(ls "$dir/usr/lib/postgresql")
bin=/usr/lib/postgresql/$major/bin

# COPY and RUN; what was built for this machine's server does not come along
copy_sources "$dir/tmp/built"
mkdir -p "$dir"/tmp/built/{.git,build/service,test/kernels/build}
touch "$dir"/tmp/built/{.git/HEAD,build/service/main.o,test/kernels/build/tap.o,gpusort.so,gpusortd,bench/jobs} \
	"$dir"/tmp/built/src/{base/guc.o,base/guc.d,server.stamp}
copy_context "$dir/tmp/built" "$dir/tmp/context"
is 'what was built stays outside' "$(cd "$dir/tmp/context" && find . -name .git -o -name build -o -name '*.[od]' \
	-o -name '*.so' -o -name '*.stamp' -o -path ./gpusortd -o -path ./bench/jobs)" ''
rm -r "$dir"/tmp/{built,context}
if [[ $dockerfile = *.cuda ]]; then build_service; fi
packages=$(inside dpkg-query -W)
copy_context "$root" "$dir/usr/src/gpusort"
ok 'install.sh' inside /usr/src/gpusort/packaging/container/install.sh
ok 'it leaves no other packages than there were' diff <(echo "$packages") <(inside dpkg-query -W)
ok 'and no sources' test ! -e "$dir/usr/src/gpusort"
if [[ $dockerfile = *.cuda ]]; then mv "$dir/tmp/gpusortd" "$dir$bin/gpusortd"; fi

# what docker-entrypoint.sh does: a database, the scripts, the server
as_postgres() { inside runuser -u postgres -- "$@"; }
psql() { as_postgres psql -XqAt -v ON_ERROR_STOP=1 -h /tmp "$@"; }
data=/var/lib/postgresql/container
rm -rf --one-file-system "$dir$data"
cp "$root/packaging/container/initdb.sql" "$dir/tmp/gpusort.sql"
command=$(sed -n 's/^CMD \["postgres", *\(.*\)\]$/\1/p' "$dockerfile" | tr -d '",')
as_postgres "$bin/initdb" -D "$data" --no-sync >"$log"
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
if [[ $dockerfile = *.cuda ]]; then
	stop
	start -c gpusort.engine=gpu -c "gpusort.service_options='--engine=gpu'"
	ok 'without a GPU sorts go on' sorts
	ok 'and the service has said why' grep -q '^no device|.*driver' <(psql \
		-c 'SELECT service, reason FROM gpusort_devices')
fi
end_of_tests
