# What fuzzing inside a server found worth keeping (test/fuzz_server): every encoder of sort keys against its
# comparison function, temporary files, broken ones among them, and rows that leave as messages.
use strict;
use warnings;

use FindBin;
use GpuSortTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $programs = "$FindBin::RealBin/../fuzz_server";
my $pg_config = $ENV{PG_CONFIG} // 'pg_config';
my $said;
IPC::Run::run([ 'make', '-s', '-C', $programs, "PG_CONFIG=$pg_config" ], '>&', \$said) or die $said;

my $node = start_node('fuzzed',
	"dynamic_library_path = '\$libdir:$programs/build/plain'", extra => [ '--locale=C.UTF-8', '--encoding=UTF8' ]);
note $node->psql('postgres', slurp_file("$programs/server.sql"));
foreach my $program ('keys', 'runs', 'output')
{
	my $inputs = PostgreSQL::Test::Utils::tempdir();

	is(system('tar', '-C', $inputs, '-xzf', "$programs/corpus-$program.tar.gz"), 0, "$program: inputs are unpacked");
	my $count = () = glob "$inputs/*";
	is($node->safe_psql('postgres', "SELECT fuzz_replayed('$program', '$inputs')"), $count, "$program: $count inputs");
}
$node->stop;
done_testing();
