# doc/tutorial.md: its commands run, and its plans are those that it prints but for numbers that machines, or the
# sharing of rows between workers, may change.  Takes tpchgen-cli: TPCHGEN says where it is.
use strict;
use warnings;

use FindBin;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $tree = "$FindBin::Bin/../..";
my $text = slurp_file("$tree/doc/tutorial.md");
my $node = PostgreSQL::Test::Cluster->new('tutorial');

plan skip_all => 'TPCHGEN names no tpchgen-cli' unless -x ($ENV{TPCHGEN} // '');
plan skip_all => 'the plans are those of PostgreSQL 15' if $node->pg_version >= 16;
$node->init(extra => [ '--locale=C.UTF-8', '--encoding=UTF8' ]);
# as on the machine that the plans come from
$node->append_conf('postgresql.conf', "gpusort.cores = 2\ngpusort.engine = cpu\n");
$node->start;
$ENV{PGHOST} = $node->host;
$ENV{PGPORT} = $node->port;

my ($commands) = $text =~ /^```sh\n(.*?)^```$/ms;
$commands =~ s/^python3 .*\n//m;
$commands =~ s{/tmp/tpch/bin/tpchgen-cli}{\$TPCHGEN}g;
$ENV{PATH} = $node->config_data('--bindir') . ":$ENV{PATH}";
command_ok([ 'sh', '-e', '-c', "cd '$tree'\n$commands" ], 'the tables are made');

# A plan without what differs, and without what the page leaves out.
sub bare
{
	my ($plan) = @_;
	$plan =~ s/^(?:Planning|Execution) Time: .*\n//mg;
	$plan =~ s/^[^\n]*\(never executed\).*//ms;
	$plan =~ s/\xe2\x80\xa6|[\d.]+/N/g;
	$plan =~ s/\n*\z/\n/;
	return $plan;
}

my $known = 0;
foreach my $part (split /^(?=```sql\n)/m, $text)
{
	next unless $part =~ /\A```sql\n(.*?)^```$/ms;
	my $query = $1;
	my @plans = $part =~ /^```text\n(.*?)^```$/msg;
	if (!@plans)
	{
		$node->safe_psql('tpch', $query);
		next;
	}
	my @before = $query =~ /work_mem/ ? ('', 'RESET gpusort.work_mem;')
	  : @plans > 1 ? ('SET gpusort.enabled = off;', 'SET gpusort.enabled = on;') : '';

	# the query alone, behind its settings
	my ($settings, $select) = $query =~ /^((?:(?:(?:RE)?SET|BEGIN|UPDATE)\b\N*\n)*)(?:EXPLAIN \([^)]*\)\s)?(SELECT .*)/s
	  or die "no query: $query";
	my $options = $part =~ /actual rows/ ? 'ANALYZE, TIMING OFF, COSTS OFF' : 'COSTS OFF';
	foreach my $n (0 .. $#plans)
	{
		my ($out, $err) = ('', '');
		$node->psql('tpch', "$settings $before[$n] EXPLAIN ($options) $select", stdout => \$out, stderr => \$err,
			timeout => 600);
		my $said = join "", "$err\n" =~ /(DEBUG: .*\n)/g;
		is(bare("$said$out\n"), bare($plans[$n]), 'plan ' . ++$known) or diag($err);
	}
}
cmp_ok($known, '>=', 10, 'the page has plans');
$node->stop;
done_testing();
