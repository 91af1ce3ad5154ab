# What the service says stands in the server's log in every format, with its level, and however much it is.
use strict;
use warnings;

use GpuSortService;
use JSON::PP;
use PostgreSQL::Test::Utils;
use Test::More;

my $formats = "log_destination = 'stderr,csvlog,jsonlog'\nlogging_collector = on\nlog_filename = 'server'\n";
my $node = service_node('log', '', $formats);
make_table($node, 20000);
my $right = digest($node, 'cpu');
is(digest($node, 'gpu'), $right, 'sorts');

# The lines of the log in one of its formats, in its own words.
sub lines
{
	my ($format) = @_;
	my $file = $node->data_dir . "/log/server$format";
	return -e $file ? split /\n/, slurp_file($file) : ();
}

# Level and text of the service's lines, by format.  A line that is being written is left for the next time.
my %format = (
	'' => sub { map { / ([A-Z0-9]+):  (gpusortd: .*)/ ? "$1 $2" : () } lines('') },
	'.csv' => sub
	{
		map { /,(\w+),\d{5},"(gpusortd: (?:[^"]|"")*)",.*,"gpusort service",/ ? "$1 " . $2 =~ s/""/"/gr : () }
			lines('.csv');
	},
	'.json' => sub
	{
		map { "$_->{error_severity} $_->{message}" }
			grep { ($_->{backend_type} // '') eq 'gpusort service' && $_->{message} =~ /^gpusortd: / }
			map { eval { decode_json($_) } // {} } lines('.json');
	});

foreach my $name (sort keys %format)
{
	my $ready = $engine eq 'gpu' ? 'GPU' : 'CPU, for tests';
	wait_until(sub { grep { $_ eq "LOG gpusortd: ready, sorting on the $ready" } $format{$name}->() },
		"server$name: ready");
}

# A job that hangs is a warning, the last word of that service.
service_with($node, '--fault=hang@finish --stall=1');
is(digest($node, 'gpu'), $right, 'a job hangs');
foreach my $name (sort keys %format)
{
	my $warning = qr/^WARNING gpusortd: a job of process \d+ has made no progress for 1 s: ending$/;
	wait_until(sub { grep { $_ =~ $warning } $format{$name}->() },
		"server$name: a warning");
}

# More than anybody wants to read, on ends of lines that are none.
service_with($node, '--fault=babble');
my ($pid) = service_pids($node);
is(digest($node, 'gpu'), $right, 'a service that talks too much sorts');
is_deeply([ service_pids($node) ], [$pid], 'and is neither held up nor killed');
service_with($node, '');
wait_until(sub { grep { /^WARNING gpusortd: not ended/ } $format{'.json'}->() },
	'what had no end is logged when the service ends');
foreach my $name (sort keys %format)
{
	wait_until(sub { grep { /more lines were left out$/ } $format{$name}->() }, "server$name: not all");
	my @said = $format{$name}->();

	is_deeply([ map { length s/.*gpusortd: //r } grep { /xxx/ } @said ], [1023], "server$name: a long line is cut");
	is(scalar(grep { $_ eq 'LOG gpusortd: next' } @said), 1, 'and the next one is whole');
	is(scalar(grep { $_ eq 'LOG gpusortd: quoted "\\??"' } @said), 1, 'bytes that no encoding knows');
	is(scalar(grep { $_ eq 'WARNING gpusortd: babbling on purpose' } @said), 1, 'a line with its level among others');
	my @lines = map { /gpusortd: line (\d+)$/ ? $1 : () } @said;
	cmp_ok(scalar(@lines), '<', 1000, 'lines without number are not all logged');
	cmp_ok(scalar(@lines), '>', 10, 'but the first are');
	is_deeply(\@lines, [ 1 .. @lines ], 'in their order');
	my ($left_out) = map { /LOG gpusortd: (\d+) more lines were left out/ ? $1 : () } @said;
	cmp_ok($left_out // 0, '>', 100, 'and the rest are counted');
}

# Options that are none are told where an administrator looks.
$node->append_conf('postgresql.conf', "gpusort.service_options = '--nonsense'");
$node->reload;
wait_until(sub { $node->safe_psql('postgres', 'SELECT reason FROM gpusort_devices') =~ /^invalid option "--nonsense"/ },
	'a reason');
wait_until(sub { grep { /^LOG gpusortd: invalid option "--nonsense"/ } $format{'.csv'}->() }, 'and a line');
$node->stop;
ok((grep { $_ eq 'LOG gpusortd: ending' } $format{'.csv'}->()), 'the last word is heard');
done_testing();
