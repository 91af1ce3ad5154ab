# What the set-up chooses and installs, on machines that differ in what of PostgreSQL is there and runs.  The machines
# are directories: trees of versions as Debian lays them out, and an apt-get that notes what it is asked for and puts it
# there.
use strict;
use warnings;

use Cwd qw(abs_path);
use File::Basename;
use File::Path qw(make_path);
use File::Temp;
use FindBin;
use Test::More;

my $tree = abs_path("$FindBin::Bin/../..");
my $top = File::Temp->newdir;
my $machines = 0;
delete $ENV{$_} for qw(PG_CONFIG MAKEFLAGS MAKELEVEL MFLAGS);

sub script
{
	my ($file, $text) = @_;
	make_path(dirname($file));
	open my $out, '>', $file or die "$file: $!";
	print $out "#!/bin/sh\n$text";
	close $out or die "$file: $!";
	chmod 0755, $file or die "$file: $!";
	return;
}

# All programs of this machine but those of the tests' own.
my %replaced = map { $_ => 1 } qw(pg_config pg_lsclusters apt-get apt-cache sudo id locale);
make_path("$top/tools");
for my $program (map { glob "$_/*" } grep { length } split(/:/, $ENV{PATH}), qw(/usr/sbin /usr/bin /sbin /bin))
{
	my $name = basename($program);
	symlink $program, "$top/tools/$name" unless $replaced{$name} || -l "$top/tools/$name" || -d $program
		|| !-x $program;
}

# A pg_config speaks for the directory that it lies in, which is named like its version.
script("$top/pg_config", <<'SH');
place=${0%/bin/pg_config}
case $1 in
	--version) echo PostgreSQL ${place##*/}.4 ;;
	--bindir) echo $place/bin ;;
	--pgxs) echo $place/lib/pgxs.mk ;;
	--pkglibdir) echo $place/lib ;;
	--includedir-server) echo $place/include/server ;;
	--sharedir) echo $place/share ;;
esac
SH

# add PLACE PART...: what the packages of a version bring.  All parts stand on the client, which has pg_config and
# pgxs.mk.
script("$top/add", <<"SH");
place=\$1
shift
mkdir -p \$place/bin \$place/lib \$place/include/server \$place/share/extension
cp $top/pg_config \$place/bin/pg_config
: >\$place/lib/pgxs.mk
for part; do
	case \$part in
		server) cp $top/pg_config \$place/bin/postgres ;;
		headers) : >\$place/include/server/postgres.h ;;
		pgtap) : >\$place/share/extension/pgtap.control ;;
	esac
done
SH

# machine(VERSION => PARTS, ...): the directory of a machine where these parts are installed.
sub machine
{
	my (%parts) = @_;
	my $m = "$top/m" . ++$machines;

	make_path("$m/bin", "$m/trees");
	system("$top/add", "$m/trees/$_", split(/ /, $parts{$_})) == 0 or die for keys %parts;
	script("$m/bin/id", "echo 1000\n");
	# nothing but apt-get runs, so that no file of this machine is touched
	script("$m/bin/sudo", qq{case \$1 in apt-get|env|*/running.sh|true) exec "\$@" ;; tee) cat >/dev/null ;; esac\n});
	script("$m/bin/apt-cache",
		"case \$1 in depends) echo '  Depends: postgresql-15' ;; *) [ -e $m/neighbours ] ;; esac\n");
	locales($m, 'C.UTF-8', qw(C C.utf8 POSIX));
	script("$m/bin/apt-get", <<"SH");
case \$1 in -s) cat $m/upgrades 2>/dev/null; exit ;; esac
for package; do
	case \$package in
		postgresql-server-dev-*) $top/add $m/trees/\${package##*-} headers ;;
		postgresql-*-pgtap) version=\${package#postgresql-}; $top/add $m/trees/\${version%-pgtap} pgtap ;;
		postgresql-*-pg-qualstats) ;;
		postgresql-*) $top/add $m/trees/\${package##*-} server ;;
		locales) mkdir $m/locales; : >$m/locales/en_US ;;
		*) continue ;;
	esac
	echo \$package >>$m/installed
done
SH
	return $m;
}

# Sets the locale of a machine's sessions, and which ones it has.
sub locales
{
	my ($m, $session, @all) = @_;
	my $missing = grep({ s/utf8/UTF-8/r eq $session } @all) ? '' : 'echo not there >&2';
	script("$m/bin/locale",
		"case \$1 in -a) printf '%s\\n' @all ;; *) echo LC_COLLATE=\\\"$session\\\"; $missing ;; esac\n");
	return;
}

# Runs a command on a machine: exit status, output, errors.
sub run_on
{
	my ($m, %env) = @_;
	my $command = delete $env{command};
	local %ENV = (%ENV, PATH => "$m/bin:$top/tools", PG_TREES => "$m/trees", LOCALE_SOURCES => "$m/locales", %env);
	my $out = qx{cd $tree; { $command ; } 2>$m/err};
	my $status = $? >> 8;

	open my $in, '<', "$m/err" or die "$m/err: $!";
	my $err = do { local $/; <$in> };
	chomp $out;
	return ($status, $out, $err);
}

# Runs the set-up: it must install these packages, after that nothing more, and the pg_config in that place must be
# chosen.
sub sets_up
{
	my ($m, $name, $for, $packages, $found_at, %env) = @_;
	my ($status, undef, $err) = run_on($m, command => "test/setup.sh $for", %env);
	my $installed = -e "$m/installed" ? join(' ', split ' ', qx{cat $m/installed}) : '';

	is($status, 0, "$name: the set-up succeeds") or diag $err;
	is($installed, $packages, 'it installs what is missing');
	unlink "$m/installed";
	(undef, my $found) = run_on($m, command => "bash -c 'root=$tree; . test/lib.sh; find_postgres && echo \$PG_CONFIG'",
		%env);
	is($found, "$found_at/bin/pg_config", 'that version is found then');
	run_on($m, command => "test/setup.sh $for", %env);
	ok(!-e "$m/installed", 'and nothing is missing any more');
	return;
}

my $m = machine();
sets_up($m, 'nothing installed', '', 'postgresql-15 postgresql-server-dev-15', "$m/trees/15");

$m = machine();
sets_up($m, 'nothing installed, for the tests', 'test',
	'postgresql-15 postgresql-server-dev-15 postgresql-15-pgtap locales',
	"$m/trees/15");

$m = machine(15 => '');
sets_up($m, 'client only', '', 'postgresql-15 postgresql-server-dev-15', "$m/trees/15");

$m = machine(15 => 'server');
sets_up($m, 'server only', 'test', 'postgresql-server-dev-15 postgresql-15-pgtap locales', "$m/trees/15");

# Puts the pg_config of some place first into PATH.  Debian's, of libpq-dev, speaks for the newest tree, with headers or
# without.
sub first_in_path
{
	my ($m, $place) = @_;
	script("$m/bin/pg_config", qq(exec $place/bin/pg_config "\$@"\n));
	return;
}

$m = machine(15 => 'server');
first_in_path($m, "$m/trees/15");
sets_up($m, 'server and libpq-dev', '', 'postgresql-server-dev-15', $m);

$m = machine(16 => 'server');
first_in_path($m, "$m/trees/16");
sets_up($m, 'not the version of the release', '', 'postgresql-server-dev-16', $m);

$m = machine(15 => 'headers');
sets_up($m, 'headers only', '', 'postgresql-15', "$m/trees/15");

$m = machine(15 => 'server headers');
sets_up($m, 'all there', '', '', "$m/trees/15");

$m = machine(15 => 'server headers', 17 => 'server');
first_in_path($m, "$m/trees/17");
sets_up($m, 'two versions, the newer one without headers', '', '', "$m/trees/15");

$m = machine(15 => 'server', 17 => 'server headers');
sets_up($m, 'two versions, the older one without headers', '', '', "$m/trees/17");

$m = machine(9 => 'server headers', 15 => 'server', 16 => '', 17 => 'server');
sets_up($m, 'two versions without headers, and others', '', 'postgresql-server-dev-17', "$m/trees/17");

# a pg_config that comes first in PATH
$m = machine(15 => 'server');
system("$top/add", "$top/opt/14", 'server', 'headers') == 0 or die;
first_in_path($m, "$top/opt/14");
sets_up($m, 'pg_config of a version too old', '', 'postgresql-server-dev-15', "$m/trees/15");

$m = machine(15 => 'server headers');
system("$top/add", "$top/opt/18") == 0 or die;
first_in_path($m, "$top/opt/18");
sets_up($m, 'pg_config of another version, without its server', '', '', "$m/trees/15");

$m = machine(15 => 'server headers');
system("$top/add", "$top/opt/18", 'server', 'headers') == 0 or die;
first_in_path($m, "$top/opt/18");
sets_up($m, 'pg_config of another version, complete', '', '', $m);

# a version that is asked for
$m = machine(15 => 'server headers', 17 => 'server');
sets_up($m, 'PG_CONFIG of a version without headers', '', 'postgresql-server-dev-17', "$m/trees/17",
	PG_CONFIG => "$m/trees/17/bin/pg_config");

$m = machine(15 => 'server headers');
sets_up($m, 'PG_CONFIG of a version that is not there', 'test',
	'postgresql-16 postgresql-server-dev-16 postgresql-16-pgtap locales',
	"$m/trees/16", PG_CONFIG => "$m/trees/16/bin/pg_config");

# locales, for the tests and for the demo
$m = machine(15 => 'server headers');
sets_up($m, 'a machine with C.UTF-8 only', 'demo', 'locales', "$m/trees/15");

$m = machine(15 => 'server headers');
locales($m, 'en_US.UTF-8', qw(C C.utf8 POSIX));
sets_up($m, 'a session with a locale that is not there', 'demo', 'locales', "$m/trees/15");

$m = machine(15 => 'server headers');
locales($m, 'C', qw(C C.utf8 POSIX en_US.utf8));
sets_up($m, 'a session with C where there is en_US', 'demo', '', "$m/trees/15");

$m = machine(15 => 'server headers');
locales($m, 'de_DE.UTF-8', qw(C C.utf8 POSIX de_DE.utf8));
sets_up($m, 'a session with a language', 'demo', '', "$m/trees/15");

$m = machine();
script("$m/neighbours", '');
sets_up($m, 'an archive with pg_qualstats', 'test',
	'postgresql-15 postgresql-server-dev-15 postgresql-15-pgtap locales postgresql-15-pg-qualstats', "$m/trees/15");

my ($status, $out, $err) = run_on($m, command => 'test/setup.sh', PG_CONFIG => "$top/opt/nowhere/bin/pg_config");
isnt($status, 0, 'PG_CONFIG that is no package\'s is an error');
like($err, qr{nowhere/bin/pg_config was not found}, 'which says so');

$m = machine();
script("$m/bin/apt-cache", "echo '  Depends: postgresql-13'\n");
($status, $out, $err) = run_on($m, command => 'test/setup.sh');
isnt($status, 0, 'a release with an older PostgreSQL is an error');
like($err, qr/needs PostgreSQL 15 or later, and this would be 13/, 'which says so');
ok(!-e "$m/installed", 'and nothing is installed');

# Ubuntu without its component universe
$m = machine();
script("$m/bin/apt-get",
	"[ \"\$1\" = update ] || { echo 'E: Unable to locate package postgresql-server-dev-15' >&2; exit 100; }\n");
($status, $out, $err) = run_on($m, command => 'test/setup.sh');
isnt($status, 0, 'packages that apt does not know are an error');
like($err, qr/Unable to locate.*component universe/s, 'which says where Ubuntu has them');

# what is there, but no pg_config
$m = machine(15 => 'server headers');
script("$m/trees/15/bin/psql", "echo 'psql (PostgreSQL) 15.4'\n");
for my $command ('test/setup.sh', 'make all')
{
	($status, $out, $err) = run_on($m, command => $command, PG_CONFIG => "$m/trees/15/bin/psql");
	isnt($status, 0, "$command: PG_CONFIG that is another program is an error");
	like($err, qr{15/bin/psql is there, but is no pg_config}, 'which says so');
}

# no way to become root
$m = machine(15 => 'server');
unlink "$m/bin/sudo";
($status, $out, $err) = run_on($m, command => 'test/setup.sh');
isnt($status, 0, 'a user who may not install packages gets an error');
like($err, qr/postgresql-server-dev-15: run this as root, or install sudo/, 'which says so');
$m = machine(15 => 'server headers');
unlink "$m/bin/sudo";
script("$m/bin/make", "echo built >$m/built\n");
chmod 0555, "$m/trees/15/lib" or die;
my $install = "bash -c 'root=$tree; . test/lib.sh; build_and_install'";
SKIP:
{
	skip 'root may write everywhere', 3 if $> == 0;
	($status, $out, $err) = run_on($m, command => $install);
	isnt($status, 0, 'a user who may not install gpusort gets an error');
	like($err, qr{15/lib, which takes root: run this as root, or install sudo}, 'which says so');
	ok(!-e "$m/built", 'before anything is built');
}
chmod 0755, "$m/trees/15/lib" or die;

# A server that does nothing but be of a version, which is replaced by another one while it runs.
my @running;
END { kill 'KILL', @running }

sub server_of
{
	my ($m, $version) = @_;
	my $program = "$m/trees/15/bin/postgres";

	unlink $program;
	system("cp \$(command -v sleep) $program && echo 'postgres (PostgreSQL) $version (Debian)' >>$program") == 0 or die;
	script("$m/bin/pg_lsclusters", "echo 15 main 5432 online postgres $m/data /log\n");
	make_path("$m/data");
	my $pid = fork // die;
	if ($pid == 0) { chdir "$m/data"; exec $program, 600 or exit 1 }
	push @running, $pid;
	# until it is that program
	until (readlink("/proc/$pid/exe") eq abs_path($program)) { select undef, undef, undef, 0.01 }
	return;
}

$m = machine(15 => 'server');
server_of($m, '15.9');
sets_up($m, 'a running server that apt leaves alone', '', 'postgresql-server-dev-15', "$m/trees/15");

$m = machine(15 => 'server');
server_of($m, '15.9');
open my $upgrades, '>', "$m/upgrades" or die;
print $upgrades "Inst libpq5 [15.9-0] (15.18-0 Debian [amd64])\nInst postgresql-16 [16.1-0] (16.2-0 Debian [amd64])\n",
  "Inst postgresql-15 [15.9-0] (15.18-0 Debian [amd64])\nInst postgresql-server-dev-15 (15.18-0 Debian [amd64])\n";
close $upgrades or die;
($status, $out, $err) = run_on($m, command => 'test/setup.sh');
isnt($status, 0, 'a running server is not upgraded unasked');
like($err, qr{PostgreSQL 15\.9 in \S*/data.*: postgresql-15 15\.9-0 -> 15\.18-0$}m, 'the set-up says which');
like($err, qr/Nothing was installed\. Set YES=1/, 'and how to go on');
ok(!-e "$m/installed", 'nothing is installed');
sets_up($m, 'YES=1', '', 'postgresql-server-dev-15', "$m/trees/15", YES => 1);
kill 'KILL', pop @running;
wait;
$m = machine(15 => 'server');
system("cp $top/m" . ($machines - 1) . "/upgrades $m") == 0 or die;
sets_up($m, 'an upgrade of a server that does not run', '', 'postgresql-server-dev-15', "$m/trees/15");

# what an installation says of servers that are older than the headers
sub advice
{
	my ($m, $headers) = @_;
	open my $file, '>', "$m/trees/15/include/server/pg_config.h" or die;
	print $file qq(#define PG_VERSION "$headers (Debian)"\n);
	close $file or die;
	my ($status, $said, $err) = run_on($m, command => "packaging/running.sh advise $m/trees/15/bin/pg_config");
	is($status . $err, '0', 'the advice succeeds');
	return $said;
}

$m = machine(15 => 'server headers');
is(advice($m, '15.18'), '', 'no server runs: no advice');
server_of($m, '15.9');
is(advice($m, '15.9'), '', 'a server of the version of the headers: none');
is(advice($m, '15.8'), '', 'a newer one: none');
like(advice($m, '15.18'), qr/server in \S+ is 15\.9.*Upgrade the server, and restart it/,
	'a server that is older than the headers is to be upgraded');
server_of($m, '15.18');
like(advice($m, '15.18'), qr{^[^\n]*/data still runs 15\.9, and[^\n]*: pg_ctlcluster 15 main restart$},
	'one whose program has been replaced since it started is to be restarted, and no other');
unlink "$m/bin/pg_lsclusters";
like(advice($m, '15.18'), qr{: pg_ctl restart -D \S*/data, as user \w+}, 'without a command of Debian, too');
is(advice($m, '15.9'), '', 'headers of its version: none');

# plain make
$m = machine(15 => 'server');
($status, $out, $err) = run_on($m, command => 'make all', PG_CONFIG => "$m/trees/15/bin/pg_config");
isnt($status, 0, 'make without headers is an error');
like($err, qr{PostgreSQL 15.*/15/include/server/postgres\.h.*postgresql-server-dev-15}, 'which says what is missing');
($status, $out, $err) = run_on($m, command => 'make all');
isnt($status, 0, 'make without pg_config is an error');
like($err, qr/pg_config was not found/, 'which says so');

done_testing();
