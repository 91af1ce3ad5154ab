# The everyday queries of bench/ run, give the same rows with and without gpusort, and are all accounted for.
# tags: slow
use strict;
use warnings;

use FindBin;
use JSON::PP;
use List::Util qw(sum0);
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $bench = "$FindBin::Bin/../../bench";
my $json = "$PostgreSQL::Test::Utils::tmp_check/everyday.json";
my $node = PostgreSQL::Test::Cluster->new('everyday');

$node->init;
$node->append_conf('postgresql.conf', "session_preload_libraries = 'gpusort'\ngpusort.min_rows = 100");
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION gpusort');
$node->safe_psql('postgres', slurp_file("$bench/everyday/tables.sql"));
$node->safe_psql('postgres', q{
	INSERT INTO region SELECT i, 'region ' || i FROM generate_series(0, 4) AS i;
	INSERT INTO nation SELECT i, 'nation ' || i, i % 5 FROM generate_series(0, 24) AS i;
	INSERT INTO supplier SELECT i, 'supplier ' || i, 'here', i % 25, (10 + i % 25) || '-1', i % 7 * 1.5, 'some'
		FROM generate_series(1, 40) AS i;
	INSERT INTO customer SELECT i, 'customer ' || i % 250, 'there', i % 25, (10 + i % 25) || '-2', hashint4(i) % 1000,
			'BUILDING', 'some'
		FROM generate_series(1, 300) AS i;
	INSERT INTO part SELECT i, 'forest green ' || i, 'maker', 'Brand#' || i % 9, 'PROMO', i % 50, 'MED BOX',
			i / 7.0, 'some'
		FROM generate_series(1, 200) AS i;
	INSERT INTO partsupp SELECT i / 4 + 1, i % 40 + 1, hashint4(i) % 100 + 100, i % 9 * 1.25, 'some'
		FROM generate_series(0, 799) AS i;
	INSERT INTO orders SELECT i, abs(hashint4(i) % 300) + 1, 'F', abs(hashint4(i) % 5000) / 100.0,
			date '1992-01-01' + abs(hashint4(i + 1) % 2400), (1 + i % 5) || '-LEVEL',
			'Clerk#' || i % 20, 0, md5(i::text)
		FROM generate_series(1, 3000) AS i;
	INSERT INTO lineitem SELECT 1 + i / 4, ps_partkey, ps_suppkey, i % 4 + 1, i % 50, abs(hashint4(i) % 9000) / 10.0,
			0.05, 0.1, substr('ARN', 1 + i % 3, 1), 'O', day, day + 3, day + i % 9, 'NONE', 'MAIL', 'some'
		FROM generate_series(0, 11999) AS i,
			LATERAL (SELECT date '1992-01-01' + abs(hashint4(i + 2) % 2400) AS day) AS d,
			LATERAL (SELECT i % 800 / 4 + 1 AS ps_partkey, i % 40 + 1 AS ps_suppkey) AS ps;
});
$node->safe_psql('postgres', slurp_file("$bench/everyday/keys.sql"));

delete local @ENV{qw(ONLY SIDES SF TIMEOUT)};
local $ENV{RUNS} = 1;
my $psql = join ' ', 'psql', '-h', $node->host, '-p', $node->port;
my @files = map { "$bench/everyday/$_.sql" } 'lists', 'tpch';
command_ok([ 'perl', "$bench/everyday.pl", $psql, 'postgres', $json, 'everyday', @files ],
	'all queries run, and give the same rows on both sides');

my $result = decode_json(slurp_file($json));
my $summary = $result->{summary}{on};
my $known = () = join('', map { slurp_file($_) } @files) =~ /^-- name: /mg;
cmp_ok($known, '>=', 62, 'there are the queries of TPC-H and forty others');
is(scalar @{ $result->{queries} }, $known, 'all are there');
is($summary->{queries}, $known, 'all have been compared');
is_deeply($summary->{timeouts}, [], 'none was given up');
cmp_ok($summary->{changed}, '>=', 20, 'gpusort took part in many');
is($summary->{changed} + sum0(map { scalar @$_ } values %{ $summary->{unchanged} }), $known,
	'each of the others has a reason');
is($summary->{unchanged}{'no reason given'}, undef, 'a real one');
is($node->safe_psql('postgres', q{SELECT count(*) FROM pg_class WHERE relname ~ '^(in_order|ranks|copied|by_.*)$'}), 0,
	'nothing is left behind');

# the table for doc/benchmarks.md
my $page = "$PostgreSQL::Test::Utils::tmp_check/benchmarks.md";
append_to_file($page, "before\n<!-- everyday -->\n<!-- /everyday -->\nafter\n");
command_ok([ 'perl', "$bench/everyday/table.pl", $page, $json ], 'a table is made of it');
like(slurp_file($page), qr/^before\n.*\| \*\*geometric mean of all $known\*\* \|.*^after\n\z/ms,
	'and put into its place');
$node->stop;
done_testing();
