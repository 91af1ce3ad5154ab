#!/bin/bash
# images.sh [server] [cnpg] [cuda]: builds the images of packaging/container, and starts them: a new database, a sort by
# gpusort, and an answer from resident columns, for which gpusortd must be found.  That of CloudNativePG is started as a
# volume beside the server's image without gpusort, that of CUDA without a GPU.
#
# ENGINE is docker, podman or buildah, the first that is there unless it is given; buildah, which starts no containers
# of its own, runs a server in a chroot.  PG_MAJOR is the server's version, default 18.  Speaks TAP.
#
# For machines without a registry: PULL=never takes images that are there, under the names that the Dockerfiles say;
# PULL=archive makes them first, from Debian's archive (bookworm for 15, trixie for 17, sid for 18), with an
# entry point that does what is asked of the official one here.  That takes root and debootstrap; the chroot of a suite
# is kept below IMAGES_DIR (default /var/tmp/gpusort-images).
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
. "$root/test/lib.sh"

if [ $# = 0 ]; then set -- server cnpg; fi
if [ "${PULL:-}" = archive ]; then in_own_mounts "$0" "$@"; fi
major=${PG_MAJOR:-18}
server=postgres:$major
# what Dockerfile.cnpg builds in
operand=ghcr.io/cloudnative-pg/postgresql:$major-minimal-trixie
engine=${ENGINE:-}
for candidate in docker podman buildah; do
	[ -n "$engine" ] || ! command -v "$candidate" >/dev/null || engine=$candidate
done
[ -n "$engine" ] || die "There is neither docker nor podman nor buildah."
work=$(mktemp -d "${TMPDIR:-/tmp}/gpusort-images.XXXXXX")
chmod 755 "$work"
log=$work/log
trap 'rm -rf "$work"' EXIT

# build DOCKERFILE TAG [OPTION]...
build() {
	local options=(--build-arg "PG_MAJOR=$major" -f "$root/packaging/container/$1" -t "$2")
	if [ "$engine" = buildah ]; then options+=(--isolation chroot); fi
	if [ -z "${PULL:-}" ]; then options+=(--pull); fi
	"$engine" build "${options[@]}" "${@:3}" "$root"
}

# The images that the Dockerfiles begin with, of Debian's server, from the archive's suite of this name.
base_of_archive() {
	local suite=$1 dir
	dir=${IMAGES_DIR:-/var/tmp/gpusort-images}/$suite
	enter_chroot "$suite" "$dir" 64m || return 1
	# mirrors may lag behind
	echo 'Acquire::Check-Valid-Until "false";' >"$dir/etc/apt/apt.conf.d/gpusort"
	chroot "$dir" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive sh -c "apt-get \
		update -q && apt-get dist-upgrade -q -y && apt-get install -q -y --no-install-recommends \
		postgresql-$major && apt-get clean" || return 1
	cat >"$dir/usr/local/bin/docker-entrypoint.sh" <<-'SCRIPT'
		#!/bin/bash
		set -eu
		initdb -D "$PGDATA" -A trust
		pg_ctl -D "$PGDATA" -w -o '-c listen_addresses= -c unix_socket_directories=/tmp' start
		for file in /docker-entrypoint-initdb.d/*.sql; do
			if [ -e "$file" ]; then PGHOST=/tmp psql -v ON_ERROR_STOP=1 -f "$file"; fi
		done
		pg_ctl -D "$PGDATA" -w stop
		exec "$@"
	SCRIPT
	chmod 755 "$dir/usr/local/bin/docker-entrypoint.sh"
	mkdir -p "$dir/docker-entrypoint-initdb.d" "$work/base"
	tar --one-file-system --exclude='./dev/*' --exclude='./proc/*' -C "$dir" -cf "$work/base/files.tar" . || return 1
	printf '%s\n' 'FROM scratch' 'ADD files.tar /' "ENV PG_MAJOR=$major \
		PATH=/usr/lib/postgresql/$major/bin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" >"$work/base/Dockerfile"
	"$engine" build -t "$server" -t "$operand" "$work/base" || return 1
	rm -r "$work/base"
}

# What runs in an image: its entry point makes a database and starts the server, with the arguments; standard input is
# SQL, whose answer is the last thing said.
cat >"$work/start" <<'SCRIPT'
set -eu
export PGDATA=/tmp/data POSTGRES_PASSWORD=secret PGPASSWORD=secret PGUSER=postgres PGHOST=127.0.0.1 PGPORT=54399
docker-entrypoint.sh postgres -p 54399 -c listen_addresses=127.0.0.1 "$@" >/tmp/log 2>&1 </dev/null &
server=$!
for second in $(seq 300); do
	if pg_isready -q; then break; fi
	kill -0 $server || { cat /tmp/log; exit 1; }
	sleep 1
done
psql -XqAt -v ON_ERROR_STOP=1 -d postgres || { cat /tmp/log; exit 1; }
kill $server
wait $server
SCRIPT
# what an answer from columns takes: the table is held when gpusort_columns_add returns
cat >"$work/sql" <<'SQL'
CREATE EXTENSION IF NOT EXISTS gpusort;
CREATE TABLE t AS SELECT i, md5(i::text) AS s FROM generate_series(1, 200000) AS i;
VACUUM ANALYZE t;
SELECT gpusort_columns_add('t') \g /dev/null
EXPLAIN (COSTS OFF) SELECT * FROM t ORDER BY s;
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) SELECT count(*), sum(i) FROM t WHERE i > 1000;
SELECT count(*), sum(i) FROM t WHERE i > 1000;
SQL

# starts IMAGE VOLUME [ARGUMENT]...: runs that, with a folder as /extensions/gpusort unless it is empty.
starts() {
	local image=$1 volume=$2 container
	local options=(-v "$work/start:/start:ro" -v "$work/sql:/sql:ro")
	shift 2
	if [ -n "$volume" ]; then options+=(-v "$volume:/extensions/gpusort:ro"); fi
	if [ "$engine" = buildah ]; then
		container=$(buildah from "$image") || return 1
		buildah run --isolation chroot --user postgres "${options[@]}" "$container" -- \
			bash -c 'exec bash /start "$@" </sql' - "$@"
		buildah rm "$container" >&2
	else
		"$engine" run --rm --user postgres "${options[@]}" --entrypoint bash "$image" -c 'exec bash /start "$@" </sql' \
			- "$@"
	fi
}

# answers IMAGE VOLUME [ARGUMENT]...: that it sorts, and answers from columns
answers() {
	starts "$@" >"$work/said" 2>&1 || { cat "$work/said"; return 1; }
	cat "$work/said"
	grep -q 'Custom Scan (Gpu\(Sort\|Merge\))' "$work/said" && grep -q 'Custom Scan (GpuColumns)' "$work/said" &&
		! grep -q 'Columns: not used' "$work/said" && grep -qx '199000|19999599500' "$work/said"
}

# The files of an image without a shell, in a folder.
files_of() {
	local container mounted
	mkdir "$2"
	if [ "$engine" = buildah ]; then
		container=$(buildah from "$1") || return 1
		# an empty name would copy the machine
		mounted=$(buildah mount "$container") && [ -d "$mounted" ] || return 1
		cp -r "$mounted/." "$2/"
		buildah rm "$container"
	else
		container=$("$engine" create "$1" none) || return 1
		"$engine" cp "$container:/." "$2"
		"$engine" rm "$container"
	fi
}

if [ "${PULL:-}" = archive ]; then
	case $major in 15) suite=bookworm ;; 17) suite=trixie ;; 18) suite=sid ;; *) die "No suite has $major." ;; esac
	ok "the server's image, of Debian's archive" base_of_archive "$suite"
fi
for image; do
	case $image in
		server)
			ok 'the image of a server with gpusort' build Dockerfile gpusort-server
			ok 'it sorts, and answers from columns' answers gpusort-server '' -c shared_preload_libraries=gpusort ;;
		cnpg)
			ok 'the extension image' build Dockerfile.cnpg gpusort-cnpg
			ok 'its files' files_of gpusort-cnpg "$work/volume"
			is 'are where the operator looks for them' "$(cd "$work/volume" && ls lib share/extension/*.control)" \
				"$(printf '%s\n' share/extension/gpusort.control '' lib: gpusort.so gpusortd)"
			# as the operator sets them
			ok 'a server beside it sorts, and answers from columns' answers "$server" "$work/volume" \
				-c 'extension_control_path=$system:/extensions/gpusort/share' \
				-c 'dynamic_library_path=$libdir:/extensions/gpusort/lib' -c shared_preload_libraries=gpusort ;;
		cuda)
			ok 'the image with CUDA' build Dockerfile.cuda gpusort-cuda --build-arg "CUDA_ARCHS=${CUDA_ARCHS:-90}"
			ok 'without a GPU it sorts, and answers from columns' answers gpusort-cuda '' \
				-c shared_preload_libraries=gpusort ;;
		*) die "\"$image\" is no image; see the beginning of $0." ;;
	esac
done
end_of_tests
