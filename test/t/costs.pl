# What the planner believes: with gpusort, no query's plan costs more than the best one that was found without it.
#
# The tables of TPC-H get a hundredth of their rows at scale factor 1, are analyzed, and their files made a hundred
# times as long by holes, which the planner takes for pages full of rows.  No query is run.
# tags: slow
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../perl";
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

use GpuSortTest;

my $bench = "$FindBin::Bin/../../bench/everyday";
my $times = 100;
# tables whose size depends on the scale factor, and whose files stay below 1 GB, where a second one would begin
my @large = qw(supplier customer part partsupp orders lineitem);
my $node = start_node('costs', "autovacuum = off\ngpusort.min_rows = 1000\nmax_parallel_workers = 8");

# The queries of a file, as EXPLAIN takes them: pairs of name and text.
sub read_queries
{
	my ($file) = @_;
	my @found;

	foreach my $line (split /^/, slurp_file("$bench/$file"))
	{
		if ($line =~ /^-- name: (.*)/) { push @found, [ $1, '' ] }
		elsif (@found && $line !~ /^--/) { $found[-1][1] .= $line }
	}
	$_->[1] =~ s/;\s*\z//, $_->[1] =~ s/\{sf\}/1/g, $_->[1] =~ s/^COPY \((.*)\) TO .*/$1/s foreach @found;
	return grep { $_->[1] !~ /^CREATE INDEX/ } @found;
}

# Makes the tables, with numbers of distinct values that hold for the size that is pretended.
sub make_tables
{
	$node->safe_psql('postgres', 'CREATE DATABASE plain');
	$node->safe_psql('plain', slurp_file("$bench/tables.sql"));
	$node->safe_psql('plain', q{
		CREATE TABLE copied (LIKE orders);
		CREATE FUNCTION pick(i int8, n int) RETURNS int LANGUAGE sql IMMUTABLE
			AS 'SELECT (abs(hashint4(i::int)::int8) % n)::int';
		CREATE FUNCTION word(i int8, VARIADIC words text[]) RETURNS text LANGUAGE sql IMMUTABLE
			AS 'SELECT words[1 + pick(i, cardinality(words))]';
		INSERT INTO region SELECT i, (ARRAY['AFRICA', 'AMERICA', 'ASIA', 'EUROPE', 'MIDDLE EAST'])[i + 1], 'some'
			FROM generate_series(0, 4) AS i;
		INSERT INTO nation SELECT i,
				coalesce((ARRAY['FRANCE', 'GERMANY', 'BRAZIL', 'CANADA', 'SAUDI ARABIA'])[i + 1], 'NATION ' || i),
				i % 5, 'some'
			FROM generate_series(0, 24) AS i;
		INSERT INTO supplier SELECT i, 'Supplier#' || lpad(i::text, 9, '0'), md5(i::text), pick(i, 25),
				10 + pick(i, 25) || '-123-4567', pick(i + 1, 999999) / 100.0, repeat('s', 62)
			FROM generate_series(1, 100) AS i;
		INSERT INTO customer SELECT i, 'Customer#' || lpad(i::text, 9, '0'), md5(i::text), pick(i, 25),
				10 + pick(i, 25) || '-123-4567', pick(i + 1, 999999) / 100.0,
				word(i + 2, 'BUILDING', 'AUTOMOBILE', 'MACHINERY', 'HOUSEHOLD', 'FURNITURE'), repeat('c', 72)
			FROM generate_series(1, 1500) AS i;
		INSERT INTO part SELECT i, word(i, 'green', 'forest', 'azure', 'blue') || ' ' || md5(i::text),
				'Manufacturer#' || 1 + pick(i, 5), 'Brand#' || 11 + pick(i, 5) * 10 + pick(i + 1, 5),
				word(i + 2, 'STANDARD', 'SMALL', 'MEDIUM', 'LARGE', 'ECONOMY', 'PROMO') || ' ANODIZED '
					|| word(i + 3, 'TIN', 'NICKEL', 'BRASS', 'STEEL', 'COPPER'),
				1 + pick(i + 4, 50), word(i + 5, 'SM', 'LG', 'MED', 'JUMBO', 'WRAP') || ' '
					|| word(i + 6, 'CASE', 'BOX', 'BAG', 'JAR', 'PKG', 'PACK', 'CAN', 'DRUM'), 900 + i / 10.0,
				repeat('p', 14)
			FROM generate_series(1, 2000) AS i;
		INSERT INTO partsupp SELECT 1 + i / 4, 1 + (i / 4 + i % 4 * 25) % 100, 1 + pick(i, 9999),
				pick(i + 1, 99999) / 100.0, repeat('o', 123)
			FROM generate_series(0, 7999) AS i;
		INSERT INTO orders SELECT i, 1 + pick(i, 1500), substr('FOP', 1 + pick(i + 1, 3), 1),
				900 + pick(i + 2, 40000000) / 100.0, date '1992-01-01' + pick(i + 3, 2406),
				1 + pick(i + 4, 5) || '-PRIORITY', 'Clerk#' || lpad(pick(i + 5, 1000)::text, 9, '0'), 0,
				md5(i::text) || repeat('n', 17)
			FROM generate_series(1, 15000) AS i;
		INSERT INTO lineitem SELECT o_orderkey, 1 + pick(i, 2000), 1 + (pick(i, 2000) + i % 4 * 25) % 100, n,
				1 + pick(i + 1, 50), 900 + pick(i + 2, 9500000) / 100.0, pick(i + 3, 11) / 100.0,
				pick(i + 4, 9) / 100.0, word(i + 5, 'A', 'R', 'N'), word(o_orderkey, 'O', 'F'),
				o_orderdate + 1 + pick(i + 6, 121), o_orderdate + 30 + pick(i + 7, 61),
				o_orderdate + 2 + pick(i + 6, 121) + pick(i + 8, 30),
				word(i + 9, 'NONE', 'COLLECT COD', 'TAKE BACK RETURN', 'DELIVER IN PERSON'),
				word(i + 10, 'AIR', 'AIR REG', 'MAIL', 'SHIP', 'TRUCK', 'RAIL', 'FOB'), repeat('l', 27)
			FROM orders, LATERAL generate_series(1, 1 + pick(o_orderkey + 11, 7)) AS n,
				LATERAL (SELECT o_orderkey * 8 + n AS i OFFSET 0) AS row;
		ALTER TABLE partsupp ALTER ps_partkey SET (n_distinct = -0.25), ALTER ps_suppkey SET (n_distinct = -0.0125);
		ALTER TABLE orders ALTER o_custkey SET (n_distinct = -0.0667), ALTER o_clerk SET (n_distinct = 1000),
			ALTER o_totalprice SET (n_distinct = -0.9);
		ALTER TABLE lineitem ALTER l_orderkey SET (n_distinct = -0.25), ALTER l_partkey SET (n_distinct = -0.033),
			ALTER l_suppkey SET (n_distinct = -0.00167), ALTER l_extendedprice SET (n_distinct = -0.15);
		VACUUM ANALYZE;
	});
	$node->safe_psql('postgres', 'CREATE DATABASE keys TEMPLATE plain');
	$node->safe_psql('keys', slurp_file("$bench/keys.sql"));
	return;
}

# Makes the files of a database's large tables and their indexes longer, and tells the planner.
sub lengthen
{
	my ($database) = @_;
	my $which = "relkind IN ('r', 'i') AND oid IN (SELECT c FROM unnest(ARRAY['"
	  . join("', '", @large) . "']::regclass[]) AS t, LATERAL (SELECT t AS c UNION ALL "
	  . 'SELECT indexrelid FROM pg_index WHERE indrelid = t) AS found)';
	my $files = $node->safe_psql($database, "SELECT pg_relation_filepath(oid) FROM pg_class WHERE $which");

	$node->safe_psql($database, "UPDATE pg_class SET relpages = relpages * $times, reltuples = reltuples * $times, "
		  . "relallvisible = relallvisible * $times WHERE $which");
	$node->stop;
	foreach my $file (map { $node->data_dir . "/$_" } split /\n/, $files)
	{
		truncate $file, $times * -s $file or die "$file: $!";
	}
	$node->start;
	return;
}

# What the plans of all queries cost under some settings.
sub costs
{
	my ($database, $settings, @queries) = @_;
	my $sql = join '', map { "SET $_;\n" } split /; /, $settings;

	$sql .= "EXPLAIN $_->[1];\n" foreach @queries;
	my @found = $node->safe_psql($database, $sql) =~ /^(?! ).*?\(cost=[0-9.]+\.\.([0-9.]+) /mg;
	die 'a plan is missing' if @found != @queries;
	return @found;
}

# Names of the queries whose plans cost more with gpusort than without, by more than a rounding.
sub dearer
{
	my ($database, $settings, @queries) = @_;
	my @off = costs($database, "$settings; gpusort.enabled = off", @queries);
	my @on = costs($database, "$settings; gpusort.enabled = on", @queries);

	return map { "$queries[$_][0]: $off[$_] without, $on[$_] with gpusort" }
	  grep { $on[$_] > 1.002 * $off[$_] } 0 .. $#queries;
}

my @queries = map { read_queries($_) } 'lists.sql', 'tpch.sql';
cmp_ok(scalar @queries, '>', 80, 'the queries of TPC-H and sixty others');
make_tables();
lengthen($_) foreach 'plain', 'keys';
cmp_ok((costs('plain', 'max_parallel_workers_per_gather = 0', [ '', 'SELECT * FROM lineitem' ]))[0], '>', 100_000,
	'the tables look large');

# stock settings and others, and some under which a path of ours once took the place of a cheaper one
my @settings = map { my $memory = $_; map { "max_parallel_workers_per_gather = $_; work_mem = '$memory'" } 0, 2, 4 }
  '4MB', '64MB', '1GB';
push @settings, map { "max_parallel_workers_per_gather = 4; random_page_cost = 1.1; $_" }
  'enable_hashjoin = off', 'enable_hashagg = off', 'enable_incremental_sort = off', 'cpu_tuple_cost = 0.03',
  'parallel_tuple_cost = 0', 'hash_mem_multiplier = 1; parallel_setup_cost = 100; gpusort.work_mem = 16384';
push @settings, map { "max_parallel_workers_per_gather = $_; hash_mem_multiplier = 1; cpu_tuple_cost = 0.03; "
	  . 'enable_hashjoin = off; enable_bitmapscan = off; parallel_tuple_cost = 0.01; gpusort.work_mem = 16384' } 0, 2;
foreach my $database ('plain', 'keys')
{
	is_deeply([ dearer($database, $_, @queries) ], [], "nothing is dearer: $database; $_") foreach @settings;
}

# Groups by independent columns are nearly as many as rows, of which the server takes a tenth: workers would aggregate
# for nothing.
{
	my $query = 'SELECT l_partkey, l_shipdate, count(*) FROM lineitem GROUP BY l_partkey, l_shipdate';
	my $plan = sub { $node->safe_psql('plain', "SET parallel_setup_cost = 100; SET max_parallel_workers_per_gather = "
		. "$_[0]; EXPLAIN $_[1]") };

	unlike($plan->($_, $query), qr/Partial/, "$_ workers do not aggregate what may be as many groups") foreach 2, 4;
	like($plan->(2, 'SELECT l_suppkey, l_returnflag, count(*) FROM lineitem GROUP BY l_suppkey, l_returnflag ORDER BY '
		. 'l_suppkey, l_returnflag'),
		qr/Partial/, 'but groups that are few whatever their columns have in common');
	$query = 'SELECT a, b, count(*) FROM pairs GROUP BY a, b ORDER BY a, b';
	$node->safe_psql('plain', "CREATE TABLE pairs AS SELECT i % 4000 AS a, i % 4000 * 3 AS b, repeat('x', 100) AS c "
		  . 'FROM generate_series(1, 200000) AS i; ALTER TABLE pairs SET (parallel_workers = 2); ANALYZE pairs');
	unlike($plan->(2, $query), qr/Partial/, 'nor those of columns that go with each other, as nobody knows');
	my @hashed = ('SELECT DISTINCT a, b, c FROM pairs WHERE a > 0',
		'SELECT a, b, c, count(*) FROM pairs WHERE a > 0 GROUP BY a, b, c');
	# conditions keep rows from being read by the page
	my @by_page = ('SELECT DISTINCT a FROM pairs', 'SELECT a, count(*) FROM pairs GROUP BY a');
	my $nodes = sub {
		my ($sql, $setting) = (@_, 'jit = off');
		my $found = $node->safe_psql('plain', "SET max_parallel_workers_per_gather = 0; SET $setting; EXPLAIN $sql");
		return join ' ', $found =~ /(HashAggregate|GroupAggregate|Unique|GpuSort)/g;
	};

	is($nodes->($hashed[0]), 'Unique GpuSort', 'a hash table that may not fit into memory is no way to DISTINCT');
	is($nodes->($hashed[1]), 'GroupAggregate GpuSort', 'nor to groups');
	is($nodes->($by_page[0]), 'Unique GpuSort', 'of a table read by the page DISTINCT is better sorted');
	is($nodes->($by_page[1]), 'GroupAggregate GpuSort', 'and so are groups');
	is($nodes->($_, "work_mem = '64MB'"), 'HashAggregate', "one that fits is: $_") foreach @hashed;
	is($nodes->($_, 'gpusort.enabled = off'), 'HashAggregate', "and PostgreSQL's own: $_") foreach @hashed;
	$node->safe_psql('plain', 'CREATE STATISTICS together (ndistinct) ON a, b FROM pairs; ANALYZE pairs');
	like($plan->(2, $query), qr/Partial/, 'but where somebody has made statistics of that');
	is($nodes->($_), 'HashAggregate', "so here: $_") foreach @hashed;

	# texts of a language take longer to be sorted than the server takes them for
	$node->safe_psql('plain', q{CREATE TABLE people AS SELECT 'city ' || i % 5000 AS city, 'zip ' || i % 30000 AS zip,
		i % 900 AS n, repeat('x', 150) || i AS long FROM generate_series(1, 200000) AS i;
		ALTER TABLE people ALTER city TYPE text COLLATE "en-x-icu", ALTER zip TYPE text COLLATE "en-x-icu",
			ALTER long TYPE text COLLATE "en-x-icu"; ANALYZE people});
	is($nodes->($_->[0], "work_mem = '1MB'"), $_->[1], $_->[0])
	  foreach [ 'SELECT city, zip, count(*) FROM people GROUP BY city, zip', 'HashAggregate' ],
	  [ 'SELECT DISTINCT n, long FROM people', 'HashAggregate' ],
	  [ 'SELECT DISTINCT city, n FROM people', 'Unique GpuSort' ],
	  [ 'SELECT city, n, count(*) FROM people GROUP BY city, n', 'GroupAggregate GpuSort' ],
	  [ 'SELECT long FROM people ORDER BY long', 'GpuSort' ];

	# and so do values that are made of others
	$node->safe_psql('plain', q{CREATE TABLE lists AS SELECT ARRAY[i % 2000, 7] AS list, i % 2000 AS number,
		jsonb_build_object('a', i % 3) AS document FROM generate_series(1, 3000) AS i; ANALYZE lists});
	is($nodes->($_->[0]), $_->[1], $_->[0])
	  foreach [ 'SELECT DISTINCT list FROM lists', 'HashAggregate' ],
	  [ 'SELECT list, count(*) FROM lists GROUP BY list', 'HashAggregate' ],
	  [ 'SELECT DISTINCT document, number FROM lists', 'HashAggregate' ],
	  [ 'SELECT number, count(*) FROM lists GROUP BY number', 'GroupAggregate GpuSort' ];

	# where nothing costs anything
	my $free = join '; SET ', map { "$_ = 0" } qw(cpu_tuple_cost cpu_operator_cost cpu_index_tuple_cost seq_page_cost
	  random_page_cost gpusort.cpu_row_cost);
	unlike($node->safe_psql('plain', "SET $free; EXPLAIN $_"), qr/nan|inf/i, "costs are numbers: $_")
	  foreach @by_page, @hashed;
}
$node->stop;
done_testing();
