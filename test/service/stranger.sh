#!/bin/bash
# stranger.sh GPUSORTD: a process of another user is refused by the service, even where the files would let it in.
# Speaks TAP; as root only.
set -u
[ "$(id -u)" = 0 ] || { echo '1..0 # SKIP needs root'; exit 0; }
root=$(cd "$(dirname "$0")/../.." && pwd)
. "$root/test/lib.sh"
version=$(sed -n 's/^#define GSD_VERSION \([0-9]*\)$/\1/p' "$root/src/service/protocol.h")
dir=$(mktemp -d)
chmod 755 "$dir"
chown postgres "$dir"
install -m 755 "$1" "$dir/gpusortd"
cd "$dir" || exit 1
runuser -u postgres -- "$dir/gpusortd" --engine=cpu >log 2>&1 &
child=$!
trap 'kill "$child" 2>/dev/null; wait "$child" 2>/dev/null; rm -rf "$dir"' EXIT
socket=pg_stat_tmp/pgsql_tmp_gpusort
for _ in $(seq 2400); do [ -S $socket ] && break; sleep 0.05; done

# Says hello as some user, and prints what comes of it: "no" connection, the "end" of one, or the type of the answer.
hello() {
	runuser -u "$1" -- perl -MSocket -e '
		socket(my $s, PF_UNIX, 5, 0) or die;
		connect($s, sockaddr_un($ARGV[1])) or do { print "no"; exit };
		local $SIG{PIPE} = "IGNORE";
		send($s, pack("L4Q", 1, 24, 0x64737067, $ARGV[0], 0), 0);
		my $answer = "";
		recv($s, $answer, 8192, 0);
		print length $answer ? (unpack "L", $answer)[0] : "end";' "$version" "$socket"
}

is 'the owner is welcome' "$(hello postgres)" 64
is 'the folder keeps another user out' "$(hello nobody)" no
chmod 755 pg_stat_tmp
is 'and so does the file' "$(hello nobody)" no
chmod 666 $socket
is 'and so does the service, were it not for both' "$(hello nobody)" end
is 'with a line in the log' "$(grep -c 'refused a connection of process [0-9]*, user' log)" 1
is 'even root' "$(hello root)" end
is 'the owner still is welcome' "$(hello postgres)" 64
end_of_tests
