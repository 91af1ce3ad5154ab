# A GPU that answers with all rows, each once, but in a wrong order: neighbours are compared as they come.  Before the
# first row has left, the CPU does it again; later the query ends with an error.  Both are counted, and a device that
# does it twice is set aside.
use strict;
use warnings;

use GpuSortService;
use PostgreSQL::Test::Utils;
use Test::More;

# Several parts of a result, also in a sorted run.
my $rows = 400000;
my $first = 'order';
my $late = 'order@next';
my $wrong = 'GPU service gave a wrong answer';
my $aside = 'GPU is set aside after wrong answers';

my $node = service_node('wrong_order', '');
make_table($node, $rows);
my %right = map { $_ => digest($node, 'cpu', '', $_) } 'k', 's COLLATE "C" DESC, k';

# How a query ends that takes all rows: what it says, with its SQLSTATE.
sub says
{
	my ($settings, $query) = @_;
	my ($out, $err) = ('', '');

	$node->psql('postgres', "\\set VERBOSITY verbose\nSET gpusort.engine = gpu; $settings; $query", stdout => \$out,
		stderr => \$err,
		on_error_stop => 0);
	return wantarray ? ($out, $err) : $err;
}
my $all = 'SELECT count(*) FROM (SELECT i FROM t ORDER BY k OFFSET 1) x';
my $error = qr/ERROR:  XX001: gpusort found rows in a wrong order after others were returned/;

is($node->safe_psql('postgres', 'SHOW gpusort.verify'), 'auto', 'what a GPU answers is looked at by itself');
foreach my $keys (sort keys %right)
{
	is(digest($node, 'gpu', '', $keys), $right{$keys}, "$keys: without faults");
	is(digest($node, 'gpu', "SET gpusort.verify = $_", $keys), $right{$keys}, "$keys: without faults, $_")
		foreach qw(off sample full);
}
is(counted($node, $wrong), 0, 'where all is well nothing is found');

# Before the first row has left.
service_with($node, "--fault=$first");
foreach my $keys (sort keys %right)
{
	forgive($node);
	is(digest($node, 'gpu', '', $keys), $right{$keys}, "early, $keys: right answer");
	is(counted($node, $wrong), 1, "early, $keys: counted");
}
forgive($node);
like(explain_sort($node, 'gpu'), qr/Engine: CPU\n\s+Fallback: $wrong/, 'early: EXPLAIN');
is(digest($node, 'gpu', 'SET gpusort.verify = sample'), $right{k}, 'early: sample');

# Off means off.
forgive($node);
isnt(digest($node, 'gpu', 'SET gpusort.verify = off'), $right{k}, 'off: a wrong order is believed');
is(counted($node, $wrong), 0, 'off: and not noticed');

# Later.
service_with($node, "--fault=$late");
my ($out, $err) = says('', $all);
like($err, $error, 'late: an error');
like($err, qr/DETAIL:  .*gpusort\.verify.*HINT:  Do not use the rows returned so far\./s, 'late: that says what to do');
is($out, '', 'late: no result');
is(counted($node, $wrong), 1, 'late: counted');
forgive($node);
my $cursor = join ";\n", 'BEGIN', 'DECLARE c %s CURSOR FOR SELECT i FROM t ORDER BY k', 'FETCH 3 c', 'MOVE 390000 c',
	'FETCH 3 c', 'COMMIT';
($out, $err) = says('', sprintf($cursor, 'NO SCROLL'));
is(() = $out =~ /^\d+$/mg, 3, 'late: the first rows came');
like($err, $error, 'late: a cursor fails where the wrong rows are');
forgive($node);
like(scalar(says('', sprintf($cursor, 'SCROLL'))), $error, 'late: one that goes both ways');

# Where every row is looked at before the first one leaves, and where rows go to a file first, nothing is late.
forgive($node);
is(digest($node, 'gpu', 'SET gpusort.verify = full'), $right{k}, 'full: right answer');
is(counted($node, $wrong), 1, 'full: counted');
forgive($node);
like(explain_sort($node, 'gpu', "SET gpusort.work_mem = '12MB'"), qr/external radix merge.*Fallback: $wrong/s,
	'a sorted run');
is(counted($node, $wrong), 1, 'a sorted run: counted');
is(digest($node, 'gpu', "SET gpusort.work_mem = '12MB'"), $right{k}, 'a sorted run: right answer');

# The second wrong answer of a device sets it aside, whoever got the first one.
my $count = $engine eq 'cpu' ? 2 : $devices;
my $devices_option = $engine eq 'cpu' ? "--devices=$count" : '';
sub states { return $node->safe_psql('postgres', 'SELECT service, count(*), bool_and(since IS NOT NULL) FROM '
	. 'gpusort_devices GROUP BY 1 ORDER BY 1'); }
service_with($node, "$devices_option --fault=$first");
is(states(), "running|$count|t", 'all devices work');
is(digest($node, 'gpu'), $right{k}, 'first wrong answer');
is(states(), "running|$count|t", 'does nothing to its device');
is(digest($node, 'gpu'), $right{k}, 'second wrong answer');
is(states(), join("\n", ($count > 1 ? 'running|' . ($count - 1) . '|t' : ()), 'set aside|1|t'),
	'sets its device aside');
is(digest($node, 'gpu'), $right{k}, 'more of them') foreach 3 .. 2 * $count;
is(states(), "set aside|$count|t", 'all devices are set aside');
is(counted($node, $wrong), 2 * $count, 'each answer was counted');
like(slurp_file($node->logfile),
	qr/LOG:  gpusort got a wrong answer from device 0 .*\n.*DETAIL:  It is the second one: the device is set aside/,
	'the log says so');
like(explain_sort($node, 'gpu'), qr/Engine: CPU\n\s+Fallback: $aside/, 'EXPLAIN says so');
is(digest($node, 'gpu'), $right{k}, 'sorts go on');
is(counted($node, $aside), 2, 'and say why they do on the CPU');
is(counted($node, $wrong), 2 * $count, 'without trying');
like(explain_sort($node, 'gpu', 'SET gpusort.verify = off'), qr/Fallback: $aside/, 'whoever would believe it or not');

# A reload forgives.
my $pid = $node->safe_psql('postgres', 'SELECT max(pid) FROM gpusort_devices');
$node->reload;
wait_until(sub { states() eq "running|$count|t" }, 'used again after a reload');
is($node->safe_psql('postgres', 'SELECT max(pid) FROM gpusort_devices'), $pid, 'of the same service');
is(digest($node, 'gpu'), $right{k}, 'wrong once more');
is(states(), "running|$count|t", 'which is the first time again');

# An engine that finds its own order wrong gives nothing of it out, and is blamed as well, whatever is compared here.
service_with($node, "$devices_option --fault=wrong\@finish");
foreach my $verify (qw(off auto full))
{
	forgive($node);
	is(digest($node, 'gpu', "SET gpusort.verify = $verify"), $right{k}, "its own, $verify: right answer");
	is(counted($node, $wrong), 1, "its own, $verify: counted");
}
forgive($node);
like(explain_sort($node, 'gpu'), qr/Engine: CPU\n\s+Fallback: $wrong/, 'its own: EXPLAIN');
is(states(), "running|$count|t", 'its own: the first one does nothing to its device');
is(digest($node, 'gpu', "SET gpusort.work_mem = '12MB'"), $right{k}, 'its own: in sorted runs');
like(states(), qr/set aside\|[12]\|t/, 'its own: the second one sets a device aside');

service_with($node, '');
is(digest($node, 'gpu'), $right{k}, 'well again');
is($node->safe_psql('postgres', "SELECT jobs FROM gpusort_stat WHERE engine = '$engine_kind' AND fallback IS NULL"), 1,
	'and used');

sound($node);
$node->stop;
done_testing();
