#!/bin/bash
# packages.sh [SUITE]: what `make deb` makes, in a Debian of its own: a chroot below PACKAGES_DIR (default
# /var/tmp/gpusort-packages), made once from SUITE (default bookworm) and kept, 2 GB.  That takes root, debootstrap and
# Debian's archive (DEBIAN_MIRROR).
#
# The packages are built there, with the regression tests, installed, used by a server, and removed; nothing of them
# stays.  Speaks TAP.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
suite=${1:-bookworm}
dir=${PACKAGES_DIR:-/var/tmp/gpusort-packages}/$suite
mirror=${DEBIAN_MIRROR:-http://deb.debian.org/debian}

# Mounts of a process in a name space of its own end with it, whatever becomes of it.
if [ -z "${GPUSORT_UNSHARED:-}" ]; then
	[ "$(id -u)" = 0 ] || { echo "This makes and enters a chroot, which takes root." >&2; exit 1; }
	exec env GPUSORT_UNSHARED=1 unshare --mount "$0" "$@"
fi

inside() { chroot "$dir" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 \
	DEBIAN_FRONTEND=noninteractive "$@" </dev/null; }
quiet() { "$@" >"$dir/last.log" 2>&1 || { tail -n 40 "$dir/last.log" >&2; return 1; }; }

make_chroot() {
	[ -e "$dir/etc/gpusort-base" ] && return
	mkdir -p "$dir"
	debootstrap --variant=minbase --include=ca-certificates "$suite" "$dir" "$mirror" >&2
	# no services and no clusters
	printf '#!/bin/sh\nexit 101\n' >"$dir/usr/sbin/policy-rc.d"
	chmod 755 "$dir/usr/sbin/policy-rc.d"
	mkdir -p "$dir/etc/postgresql-common/createcluster.d"
	echo 'create_main_cluster = false' >"$dir/etc/postgresql-common/createcluster.d/gpusort.conf"
	touch "$dir/etc/gpusort-base"
}

count=0
failed=0
ok() { # WHAT COMMAND...
	local what=$1
	shift
	count=$((count + 1))
	if "$@"; then echo "ok $count - $what"; else failed=1; echo "not ok $count - $what"; fi
}

# Everything of gpusort below the places where packages install.
traces() { inside find /usr /etc /var/lib -name '*gpusort*' ! -path '/etc/gpusort-base' ! \
	-path '/etc/postgresql-common/*' ! -path '/usr/src/*'; }

# A server with the installed package: creates the extension, sorts, and is removed.
try_server() {
	local major=$1
	inside pg_createcluster "$major" gpusort -- --locale=C.UTF-8 >/dev/null &&
		inside sh -c "echo \"shared_preload_libraries = 'gpusort'\" >>/etc/postgresql/$major/gpusort/postgresql.conf" &&
		inside pg_ctlcluster "$major" gpusort start &&
		inside runuser -u postgres -- psql -XqAt \
			-p "$(inside pg_lsclusters -h | sed -n "s/^$major *gpusort *\([0-9]*\).*/\1/p")" \
			-c 'CREATE EXTENSION gpusort' \
				-c 'CREATE TABLE t AS SELECT hashint4(i) AS k FROM generate_series(1, 100000) AS i' -c 'ANALYZE t' \
			-c 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) SELECT * FROM t ORDER BY k' \
				-c "SELECT gpu_sort('{3,1,2}'::int[])" >"$dir/server.log"
	local status=$?
	inside pg_dropcluster --stop "$major" gpusort
	[ $status = 0 ] && grep -q 'Custom Scan (GpuSort)' "$dir/server.log" && grep -qx '{1,2,3}' "$dir/server.log"
}

make_chroot
mount -t proc proc "$dir/proc"
mkdir -p "$dir/dev/shm"
mount -t tmpfs tmpfs "$dir/dev/shm"
quiet inside apt-get update -q
quiet inside apt-get install -q -y --no-install-recommends build-essential debhelper postgresql-all lintian
mkdir -p "$dir/usr/src/gpusort"
tar -C "$root" --exclude=./.git --exclude=./build --exclude='*.o' --exclude='*.so' --exclude=./gpusortd -cf - . |
	tar -C "$dir/usr/src/gpusort" --no-same-owner -xf -
ok 'they build, regression tests included, and lintian finds no errors' quiet inside make -s -C /usr/src/gpusort deb
cp "$dir/last.log" "$dir/build.log"
before=$(traces)
for major in $(inside pg_buildext -q supported-versions /usr/src/gpusort 2>/dev/null ||
	inside ls /usr/lib/postgresql); do
	deb=$(inside sh -c "ls /usr/src/gpusort/build/deb/postgresql-$major-gpusort_*.deb") || continue
	ok "$major: the package can be installed" quiet inside apt-get install -q -y "$deb"
	ok "$major: the extension is created, and sorts" try_server "$major"
	ok "$major: the test of autopkgtest" quiet inside sh -c 'cd /usr/src/gpusort && debian/tests/installcheck'
	ok "$major: it can be removed" quiet inside apt-get purge -q -y "postgresql-$major-gpusort"
	ok "$major: nothing of it stays" test "$(traces)" = "$before"
done
echo "1..$count"
exit $failed
