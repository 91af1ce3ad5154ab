# The service as a process: what it inherits, what it may write, what of users' rows it could leave behind; its options.
# tags: service
use strict;
use warnings;

use GpuSortService;
use PostgreSQL::Test::Utils;
use Test::More;

# What the postmaster was started with, for the good and not.
$ENV{PGPASSWORD} = 'secret';
$ENV{LD_DEBUG_OUTPUT} = 'nowhere';
$ENV{CUDA_CACHE_MAXSIZE} = '1';
$ENV{NVIDIA_DRIVER_CAPABILITIES} = 'compute';
$ENV{HOME} //= '/';
# and core files, if they may be had
system('prlimit', '--pid', $$, '--core=unlimited:');
my ($usual) = slurp_file("/proc/$$/limits") =~ /^Max core file size\s+(\S+)/m;
my $node = service_node('process', '');
make_table($node, 60000);
my $right = digest($node, 'cpu');

# A line of /proc of the service.
sub told
{
	my ($file, $pattern) = @_;
	my ($pid) = service_pids($node);
	return slurp_file("/proc/$pid/$file") =~ $pattern ? $1 : '';
}

# How many rings a process maps, and how many of them a core file would hold.
sub rings
{
	my ($pid) = @_;
	my ($rings, $dumped, $in_ring) = (0, 0, 0);

	foreach my $line (split /\n/, slurp_file("/proc/$pid/smaps"))
	{
		$in_ring = $line =~ /memfd:gpusort/ if $line =~ /^[0-9a-f]+-[0-9a-f]+ /;
		next unless $in_ring && $line =~ /^VmFlags:(.*)/;
		$rings++;
		$dumped++ unless " $1 " =~ / dd /;
	}
	return "$rings $dumped";
}

# The environment.
my $session = $node->background_psql('postgres');
$session->query_safe('SET gpusort.engine = gpu; BEGIN; DECLARE c CURSOR FOR SELECT i FROM t ORDER BY k; FETCH 1 c');
my ($service) = service_pids($node);
my %has = map { /^([^=]*)=(.*)/s ? ($1, $2) : () } split /\0/, slurp_file("/proc/$service/environ");
is($has{CUDA_CACHE_MAXSIZE}, '1', 'what CUDA wants to know is inherited');
is($has{NVIDIA_DRIVER_CAPABILITIES}, 'compute', 'what the driver wants to know, too');
is($has{HOME}, $ENV{HOME}, 'and HOME');
my $wanted = qr/(CUDA|NVIDIA|LC)_.*|LD_LIBRARY_PATH|PATH|HOME|TMPDIR|LANG|LANGUAGE|TZ|(A|L|T|UB)SAN_OPTIONS/;
is_deeply([ grep { !/^($wanted)$/ } keys %has ], [], 'and nothing else');

# Files.
is(told('status', qr/^Umask:\s+(\d+)$/m), '0077', 'new files and folders are for their owner, who can use them');
is(sprintf('%o', (stat $node->data_dir . "/$socket")[2] & 07777), '600', 'the socket is for its owner');

# Core files.
my $backend = $session->query_safe('SELECT pg_backend_pid()');
is(rings($backend), '1 0', 'the ring is not in core files of the backend');
is(rings($service), '1 0', 'nor of the service');
like(told('limits', qr/^Max core file size\s+(\S+)/m), qr/^[01]$/, 'which has none');
$session->quit;
service_with($node, '--core');
is(told('limits', qr/^Max core file size\s+(\S+)/m), $usual, 'unless asked for');
is(digest($node, 'gpu'), $right, 'it sorts like that');

# Paths, however they are written.
foreach my $options (
	'--socket=/tmp/other', '--sock=/tmp/other', '--socket /tmp/other', '--engine=cpu --socket=../other',
	'--socket=a/../../other', '--socket=a/..', '--socket ..')
{
	my ($rc, $out, $err) = $node->psql('postgres', "ALTER SYSTEM SET gpusort.service_options = '$options'");
	like($err, qr/invalid value for parameter "gpusort.service_options": .*\nDETAIL:  Paths must be relative to/,
		"refused: $options");
	my @words = split / /, $options;
	command_fails_like([ 'gpusortd', @words ], qr/invalid value for --socket/, 'also by the service');
}
$node->safe_psql('postgres',
	"ALTER SYSTEM SET gpusort.service_options = '--engine=$engine --socket=$socket --fault=short:10'");
$node->safe_psql('postgres', "ALTER SYSTEM RESET gpusort.service_options");
sound($node);
$node->stop;
done_testing();
