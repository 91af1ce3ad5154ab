#!/bin/sh
# install.sh: gpusort into the server of this container, whose version PG_MAJOR says, from /usr/src/gpusort, which is
# removed with all that was installed to build it.
set -eu
export DEBIAN_FRONTEND=noninteractive
marked=$(apt-mark showmanual)
apt-get update -q
apt-get install -q -y --no-install-recommends gcc libc6-dev make "postgresql-server-dev-$PG_MAJOR"
# gpusort would not load into a server that is older than the headers
version_of() { dpkg-query -W -f '${Version}' "$1" | sed 's/-.*//'; }
server=$(version_of "postgresql-$PG_MAJOR")
headers=$(version_of "postgresql-server-dev-$PG_MAJOR")
if dpkg --compare-versions "$headers" gt "$server"; then
	echo "This image has PostgreSQL $server, the archive the headers of $headers: build with --pull." >&2
	exit 1
fi
export PG_CONFIG="/usr/lib/postgresql/$PG_MAJOR/bin/pg_config"
cd /usr/src/gpusort
export WITH_CUDA=no
make -s -j"$(nproc)"
make -s install
cd /
rm -rf /usr/src/gpusort
apt-mark auto '.*' >/dev/null
apt-mark manual $marked >/dev/null
apt-get purge -q -y --auto-remove -o APT::AutoRemove::RecommendsImportant=false \
	-o APT::AutoRemove::SuggestsImportant=false
rm -rf /var/lib/apt/lists/*
