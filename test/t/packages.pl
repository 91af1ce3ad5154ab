# For which versions of the server packages are made, and which of those are tested, with a pg_buildext that notes what
# it is asked for.  What comes out is for test/packages.sh.
use strict;
use warnings;

use Cwd qw(abs_path);
use File::Basename;
use File::Copy;
use File::Path qw(make_path);
use File::Temp;
use FindBin;
use Test::More;

my $tree = abs_path("$FindBin::Bin/../..");
my $top = File::Temp->newdir;
delete $ENV{$_} for qw(PG_SUPPORTED_VERSIONS DEB_PG_SUPPORTED_VERSIONS DEB_BUILD_OPTIONS MAKEFLAGS MAKELEVEL MFLAGS);
$ENV{PATH} = "$top/bin:$ENV{PATH}";
$ENV{HOME} = "$top/home";
$ENV{PGSYSCONFDIR} = "$top/etc";

sub write_file
{
	my ($file, $text) = @_;
	make_path(dirname($file));
	open my $out, '>', $file or die "$file: $!";
	print $out $text;
	close $out or die "$file: $!";
	return;
}

sub script
{
	my ($file, $text) = @_;
	write_file($file, "#!/bin/sh\n$text");
	chmod 0755, $file or die "$file: $!";
	return;
}

sub copy_of
{
	my ($file) = @_;
	make_path(dirname("$top/tree/$file"));
	copy("$tree/$file", "$top/tree/$file") or die "$file: $!";
	chmod 0755, "$top/tree/$file" or die "$file: $!";
	return;
}

copy_of('packaging/deb.sh');
copy_of('debian/rules');

# The versions that pg_buildext is told; empty: what postgresql-common says.
sub versions
{
	my (%settings) = @_;
	local %ENV = (%ENV, %settings);

	script("$top/bin/pg_buildext", <<"SH");
echo "\${PG_SUPPORTED_VERSIONS:-}" >$top/versions
mkdir -p debian
: >debian/control
SH
	script("$top/bin/$_", ": >../none.deb\n") for qw(dpkg-buildpackage nvcc);
	script("$top/bin/lintian", '');
	system("$top/tree/packaging/deb.sh >$top/log 2>&1") == 0 or diag(`cat $top/log`);
	open my $in, '<', "$top/versions" or return;
	chomp(my $versions = <$in>);
	close $in;
	return $versions;
}

is(versions(), 'installed', 'packages for all whose headers are installed');
write_file("$top/etc/supported_versions", "# a comment\n\ndefault\n");
is(versions(), 'installed', 'so too where the administrator has left that as it comes');
is(versions(PG_SUPPORTED_VERSIONS => '17 18'), '17 18', 'those that are asked for');
is(versions(DEB_PG_SUPPORTED_VERSIONS => '16'), '', 'by the older name, too');
write_file("$top/etc/supported_versions", "# a comment\n17\n");
is(versions(), '', 'those that the administrator names');
write_file("$top/etc/supported_versions", "default\n");
write_file("$top/home/.pg_supported_versions", "16\n");
is(versions(), '', 'those that the user names');

# Which versions the rules test of those for which there are packages.
sub tested
{
	my (@versions) = @_;

	unlink "$top/tested";
	script("$top/bin/pg_buildext", <<"SH");
case \$1 in
	supported-versions) printf '%s\\n' @versions ;;
	installcheck-*) echo "\$*" >>$top/tested ;;
	installcheck) echo "\$* of all" >>$top/tested ;;
esac
SH
	system("cd $top/tree && make -f debian/rules execute_after_dh_link >$top/log 2>&1") == 0
		or return 'failed: ' . `cat $top/log`;
	return -e "$top/tested" ? `cat $top/tested` : '';
}

my @servers = grep { -x "/usr/lib/postgresql/$_/bin/postgres" } map { basename($_) } glob '/usr/lib/postgresql/*';
is(tested(@servers, 99), join('', map { "installcheck-$_ . . postgresql-%v-gpusort\n" } @servers),
	'tested are those whose server is there, too');
like(`cat $top/log`, qr/^PostgreSQL 99: .*not tested/m, 'the others are named');
done_testing();
