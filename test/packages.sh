#!/bin/bash
# packages.sh [SUITE]...: what `make deb` makes, in a Debian of its own: a chroot below PACKAGES_DIR (default
# /var/tmp/gpusort-packages), made once from SUITE (default bookworm) and kept, 2 GB.  That takes root, debootstrap and
# Debian's archive (DEBIAN_MIRROR).
#
# Of each further SUITE the chroot has the servers, too, so that packages are made for several versions at once:
# "packages.sh sid bookworm" has PostgreSQL 18 and 15.  All of them are installed together, the oldest version is
# upgraded to the newest by pg_upgrade.sh, and they are used and removed one after the other.
#
# The packages are built there, with the regression tests, installed, used by a server, and removed; nothing of them
# stays.  WITH_CUDA=yes: that of the GPU service, too, with the toolkit of this machine's nvcc, which is there for the
# build and gone afterwards; CUDA_ARCHS=90 saves most of its time.  No GPU is asked for: the service has to say so.
# Speaks TAP.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
. "$root/test/lib.sh"
suite=${1:-bookworm}
dir=${PACKAGES_DIR:-/var/tmp/gpusort-packages}/$suite$(printf -- '-%s' "${@:2}" | sed 's/^-$//')
log=$dir/last.log
cuda=
if [ "${WITH_CUDA:-no}" = yes ]; then cuda=/usr/local/cuda; fi
in_own_mounts "$0" "$@"

inside() { chroot "$dir" env -i PATH="${path:-}/usr/sbin:/usr/bin:/sbin:/bin" HOME=/root LANG=C.UTF-8 \
	${CUDA_ARCHS:+CUDA_ARCHS="$CUDA_ARCHS"} DEBIAN_FRONTEND=noninteractive "$@" </dev/null; }

# Everything of gpusort below the places where packages install.
traces() { inside find /usr /etc /var/lib -name '*gpusort*' ! -path '/etc/gpusort-base' ! \
	-path '/etc/postgresql-common/*' ! -path '/usr/src/*'; }

# with_server MAJOR COMMAND...: runs a command while a new server has the installed package; psql asks it.
with_server() {
	local major=$1 port status
	shift
	inside pg_createcluster "$major" gpusort -- --locale=C.UTF-8 >/dev/null &&
		inside sh -c "echo \"shared_preload_libraries = 'gpusort'\" >>/etc/postgresql/$major/gpusort/postgresql.conf" &&
		inside pg_ctlcluster "$major" gpusort start &&
		port=$(inside pg_lsclusters -h | sed -n "s/^$major *gpusort *\([0-9]*\).*/\1/p") &&
		"$@"
	status=$?
	inside pg_dropcluster --stop "$major" gpusort
	return $status
}
psql() { inside runuser -u postgres -- psql -XqAt -p "$port" "$@" >"$dir/server.log"; }

# The extension is created, sorts, and answers from columns that gpusortd holds.
try_server() {
	psql -c 'CREATE EXTENSION gpusort' \
		-c 'CREATE TABLE t AS SELECT hashint4(i) AS k FROM generate_series(1, 100000) AS i' -c 'ANALYZE t' \
		-c 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF) SELECT * FROM t ORDER BY k' \
		-c "SELECT gpu_sort('{3,1,2}'::int[])" -c 'VACUUM t' -c "SELECT gpusort_columns_add('t')" \
		-c 'SET gpusort.columns = force' -c "SELECT 'sum', sum(k) FROM t WHERE k > 0" &&
		grep -q 'Custom Scan (GpuSort)' "$dir/server.log" && grep -qx '{1,2,3}' "$dir/server.log" &&
		grep -q '^sum|' "$dir/server.log"
}

# The service starts, and finds no GPU: the server knows why, and sorts all the same.  A busy machine takes its time.
try_service() {
	local seconds many='SELECT hashint4(i) AS k FROM generate_series(1, 20000) AS i ORDER BY k OFFSET 0'
	psql -c 'CREATE EXTENSION gpusort' -c "ALTER SYSTEM SET gpusort.service_options = '--engine=gpu'" \
		-c "ALTER SYSTEM SET gpusort.engine = 'gpu'" -c 'SELECT pg_reload_conf()' || return 1
	for ((seconds = 0; seconds < 60; seconds++)); do
		psql -c "SELECT count(*) FROM ($many) AS s" -c 'SELECT service, reason FROM gpusort_devices' || return 1
		if grep -qx 20000 "$dir/server.log" && grep -q '^no device|.*driver' "$dir/server.log"; then return; fi
		sleep 1
	done
	return 1
}

# The servers of further suites, with their headers, as packages: those of the version that each has.
other_servers() {
	local other version
	for other; do
		version=$(inside apt-cache show "postgresql/$other" | sed -n 's/^Depends:.*postgresql-\([0-9]*\).*/\1/p')
		echo "postgresql-$version/$other postgresql-server-dev-$version/$other"
	done
}

enter_chroot "$suite" "$dir" 50%
for other in "${@:2}"; do
	echo "deb ${DEBIAN_MIRROR:-http://deb.debian.org/debian} $other main"
done >"$dir/etc/apt/sources.list.d/others.list"
# mirrors may lag behind
inside apt-get -o Acquire::Check-Valid-Until=false update -q >&2
# shellcheck disable=SC2046
inside apt-get install -q -y --no-install-recommends build-essential debhelper postgresql-all lintian \
	$(other_servers "${@:2}") >&2
rm -rf "$dir/usr/src/gpusort"
copy_sources "$dir/usr/src/gpusort"
if [ -n "$cuda" ]; then
	enter_cuda "$dir$cuda"
	path=$cuda/bin:
fi
ok 'they build, regression tests included, and lintian finds no errors' inside make -s -C /usr/src/gpusort deb
if [ -n "$cuda" ]; then
	leave_cuda "$dir$cuda"
	path=
fi
cp "$dir/last.log" "$dir/build.log"
# autopkgtest's run cleans the tree
rm -rf "$dir/srv/deb"
mkdir -p "$dir/srv/deb"
mv "$dir"/usr/src/gpusort/build/deb/*.deb "$dir/srv/deb/" || true
before=$(traces)
majors=$(inside ls /usr/lib/postgresql)
debs=()
for major in $majors; do
	debs+=("$(cd "$dir" && ls srv/deb/"postgresql-$major-gpusort"_*.deb || echo "none-of-$major")")
done
ok "one for each server, $(echo $majors), can be installed, all together" \
	inside apt-get install -q -y "${debs[@]/#//}"
ok 'the test of autopkgtest, of all that are installed' inside sh -c 'cd /usr/src/gpusort && debian/tests/installcheck'
if [ "${majors%%$'\n'*}" != "${majors##*$'\n'}" ]; then
	ok "pg_upgrade and a dump lead from ${majors%%$'\n'*} to ${majors##*$'\n'}" inside \
		/usr/src/gpusort/test/pg_upgrade.sh "/usr/lib/postgresql/${majors%%$'\n'*}/bin/pg_config" \
		"/usr/lib/postgresql/${majors##*$'\n'}/bin/pg_config"
	cp "$log" "$dir/pg_upgrade.log"
fi
for major in $majors; do
	ok "$major: the extension is created, sorts, and answers from columns" with_server "$major" try_server
	if [ -n "$cuda" ]; then
		ok "$major: the package of the GPU service can be installed, where nothing of CUDA is" \
			inside sh -c "apt-get install -q -y /srv/deb/postgresql-$major-gpusort-cuda_*.deb"
		ok "$major: the service starts and finds no GPU, the server says why" with_server "$major" try_service
		ok "$major: it can be removed" inside apt-get purge -q -y "postgresql-$major-gpusort-cuda"
		ok "$major: gpusort goes on without it" with_server "$major" try_server
	fi
	ok "$major: it can be removed" inside apt-get purge -q -y "postgresql-$major-gpusort"
done
is 'nothing of them stays' "$(traces)" "$before"
end_of_tests
