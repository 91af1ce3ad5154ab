# packaging/monitoring: the exporter's queries run for a role that may only monitor, and give the columns that they
# describe; the board asks for no metric that they do not make.
use strict;
use warnings;

use FindBin;
use JSON::PP;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $folder = "$FindBin::Bin/../../packaging/monitoring";
my $node = PostgreSQL::Test::Cluster->new('monitoring');
$node->init;
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'gpusort'\ngpusort.engine = cpu\n");
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION gpusort; CREATE ROLE watcher LOGIN; GRANT pg_monitor TO watcher');
$node->safe_psql('postgres', 'CREATE TABLE t AS SELECT hashint4(i) AS k FROM generate_series(1, 20000) i; ANALYZE t');

# something to see: sorts that were, and one that runs
$node->safe_psql('postgres', 'SELECT count(*) FROM (SELECT * FROM t ORDER BY k OFFSET 0) s');
my $session = $node->background_psql('postgres');
$session->query_safe('BEGIN');
$session->query_safe('DECLARE c CURSOR FOR SELECT * FROM t ORDER BY k; MOVE 10000 c');

my %made;
my %rows;
my $yaml = slurp_file("$folder/postgres_exporter.yaml");
while ($yaml =~ /^(\w+):\n  query: "(.*)"\n  metrics:\n((?:    .*\n)+)/mg)
{
	my ($name, $query, $metrics) = ($1, $2, $3);
	my %usage = $metrics =~ /^    - (\w+):\n        usage: "(LABEL|COUNTER|GAUGE)"\n        description: ".+"$/mg;
	my @lines = split /\n/, $node->safe_psql('postgres', "SET ROLE watcher; $query",
		extra_params => [ '-P', 'tuples_only=off', '-P', 'footer=off' ]);

	is(join(' ', sort split(/\|/, shift @lines)), join(' ', sort keys %usage),
		"$name has the columns that it describes");
	$rows{$name} = join "\n", @lines;
	$made{"${name}_$_"} = 1 for grep { $usage{$_} ne 'LABEL' } keys %usage;
}
is(scalar keys %rows, 4, 'all queries were read');
like($rows{gpusort_stat}, qr/^order\|CPU\|\|[1-9]/m, 'sorts are counted');
like($rows{gpusort_progress}, qr/^giving rows out\|CPU\|1\|[1-9]\d*\|0\|[\d.]+$/m,
	'and the one that runs is seen, of whatever role it is');
like($rows{gpusort_service}, qr/^0\|0\|0$/, 'there is no GPU');
is($rows{gpusort_device}, '', 'nor a line of one');
$session->query_safe('COMMIT');
$session->quit;

# which of the two finds runs: an engine those of sorted rows and of arrays, the backend those of rows as they come
sub runs_counted
{
	return $node->safe_psql('postgres',
		"SELECT coalesce(sum(jobs), 0), coalesce(sum(rows), 0) FROM gpusort_stat WHERE op = 'runs'");
}
$node->safe_psql('postgres', 'SELECT gpu_rle(k) FROM t');
is(runs_counted(), '0|0', 'runs of rows as they come are no job');
$node->safe_psql('postgres', 'SELECT gpu_rle(k, k) FROM t');
is(runs_counted(), '1|20000', 'those of rows that are sorted are one');
$node->safe_psql('postgres', 'SELECT count(*) FROM gpu_rle_runs((SELECT array_agg(k) FROM t))');
is(runs_counted(), '2|40000', 'and so are those of an array');

my $board = decode_json(slurp_file("$folder/grafana.json"));
my @asked = map { $_->{expr} =~ /\b(gpusort_\w+)/g } map { @{ $_->{targets} } } @{ $board->{panels} };
push @asked, map { ($_->{query} // '') =~ /\b(gpusort_\w+)/g } @{ $board->{templating}{list} };
is(join(' ', grep { !$made{$_} } @asked), '', 'the board shows what the queries give');
cmp_ok(scalar @asked, '>', 10, 'all of it was looked at');
$node->stop;
done_testing();
