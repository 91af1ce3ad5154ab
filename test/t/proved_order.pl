# Two neighbours that are swapped behind a GPU's own proof, anywhere, are found where words of keys are compared:
# before the first row has left the CPU sorts again, later the query ends with an error.  Right orders are never
# refused.
use strict;
use warnings;

use GpuSortService;
use Test::More;

my $rows = 200000;
my $wrong = 'GPU service gave a wrong answer';
my $error = qr/ERROR:  gpusort found rows in a wrong order after others were returned/;

my $node = service_node('proved_order', '');
$node->safe_psql('postgres', <<"SQL");
CREATE TABLE t AS SELECT i, hashint8extended(i, 1) k, (i % 7)::int4 g, hashint8extended(i, 2)::float8 f,
	substr(md5(i::text), 1, 20) COLLATE "C" s, (((i % 50)::text || 'common prefix' || i) COLLATE "C") long,
	md5(i::text)::uuid u, i % 5000 < 2500 b FROM generate_series(1, ${rows}::int8) i;
CREATE TABLE n AS SELECT i, CASE WHEN i % 3 > 0 THEN hashint8extended(i, 1) END k,
	CASE WHEN i % 2 > 0 THEN i % 10 END g,
	(hashint8extended(i, 3) % 10000) / 100.0 m, CASE WHEN i % 5 > 0 THEN repeat('x', (i % 20)::int) END COLLATE "C" s,
	repeat('y', (i % 9)::int)::char(9) COLLATE "C" c, ((repeat('long', 100) || i % 1000) COLLATE "C") l,
	make_interval(secs => i % 1000) v, ('10.0.' || i % 256 || '.' || i % 250)::inet a,
	i / 3 e, ((repeat('long', 100) || 50000 - i) COLLATE "C") z
	FROM generate_series(1, 20000) i;
CREATE TABLE o AS SELECT i, i % 60000 k FROM generate_series(1, 60000) i;
VACUUM ANALYZE;
SQL

# The rows of a table in order, as one number, and what was said.
sub ordered
{
	my ($settings, $table, $keys) = @_;
	my ($out, $err) = ('', '');

	$node->psql('postgres',
		"$settings; SELECT md5(string_agg(i::text, ',')) FROM (SELECT i FROM $table ORDER BY $keys) x",
		stdout => \$out, stderr => \$err);
	return ($out, $err);
}

# Right orders.  Row numbers decide between equal rows, so that all engines give one order.
my @keys = ('k', 'k DESC', 'g, k', 'g', 'b DESC, g, f', 's', 's DESC', 'u', 'long', 'g, long DESC', 'f, u');
my @odd = ('k', 'k DESC', 'k NULLS FIRST, s', 'g, s', 'g DESC, s DESC NULLS LAST', 'm', 'm DESC, k', 's', 's DESC, k',
	'c, m', 'l', 'g, l', 'v', 'v DESC, g', 'a', 'a DESC, m', 'e, z', 'e DESC, z, m');
my %right;
foreach my $case ((map { [ 't', $_ ] } @keys), map { [ 'n', $_ ] } @odd)
{
	my ($table, $keys) = @$case;

	($right{"$table $keys"}) = ordered('SET gpusort.engine = cpu; SET gpusort.verify = off', $table, $keys);
	foreach my $settings ('SET gpusort.engine = gpu', 'SET gpusort.engine = gpu; SET gpusort.verify = words',
		'SET gpusort.engine = cpu; SET gpusort.verify = words',
		"SET gpusort.engine = cpu; SET gpusort.verify = words; SET gpusort.work_mem = '1MB'")
	{
		is((ordered($settings, $table, $keys))[0], $right{"$table $keys"}, "$table by $keys: $settings");
	}
}
is(counted($node, $wrong), 0, 'no right order is refused');

# What has words of these keys compared.  With a second key auto believes a GPU, which has proved its order.
sub verify_by_words
{
	return $_[0] =~ /^s|,/ ? 'words' : 'auto';
}

# One pair: within a window, at its ends, at those of a part, in the last row.
foreach my $place (0, 255, 256, 16383, 65534, 65536, 131070, $rows - 2)
{
	service_with($node, "--fault=swap:$place");
	foreach my $keys ('k', 'g, k', 'g', 's DESC', 'u')
	{
		my ($out, $err);

		forgive($node);
		($out, $err) = ordered('SET gpusort.engine = gpu; SET gpusort.verify = ' . verify_by_words($keys), 't', $keys);
		is($out, $place < 65536 ? $right{"t $keys"} : '', "$keys, pair $place: the right rows or none");
		like($err, $error, "$keys, pair $place: an error") if $place >= 65536;
		is(counted($node, $wrong), 1, "$keys, pair $place: counted");
	}
}

# A run is checked before it is written, one of the last rows after the service's parts have gone.
service_with($node, '--fault=swap:15000');
foreach my $keys ('k', 'g, k', 'u')
{
	forgive($node);
	my $settings = "SET gpusort.engine = gpu; SET gpusort.work_mem = '4MB'";

	is((ordered("$settings; SET gpusort.verify = " . verify_by_words($keys), 't', $keys))[0], $right{"t $keys"},
		"$keys: in runs on disk");
	cmp_ok(counted($node, $wrong), '>', 0, "$keys: in runs on disk, counted");
}

# A sample hardly ever finds one pair.  Where sorted rows are merged, in runs on disk or in blocks of workers, words
# do; never do rows come in a wrong order.
my $merged = qr/ERROR:  gpusort found rows in a wrong order while it merged them/;
my $workers = 'SET max_parallel_workers_per_gather = 2; SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0;'
	. ' SET min_parallel_table_scan_size = 0';

foreach my $case ([ 'k', "SET gpusort.work_mem = '4MB'" ], [ 'g, k', "SET gpusort.work_mem = '4MB'" ],
	[ 'u', "SET gpusort.work_mem = '4MB'" ], [ 'k', $workers ], [ 'k DESC', $workers ], [ 'g, k', $workers ])
{
	my ($keys, $settings) = @$case;
	my ($found, @wrong) = 0;

	is((ordered("SET gpusort.engine = cpu; $settings", 't', $keys))[0], $right{"t $keys"}, "$keys, merged: right");
	foreach (1 .. 5)
	{
		forgive($node);
		my ($out, $err) = ordered("SET gpusort.engine = gpu; SET gpusort.verify = sample; $settings", 't', $keys);

		$found++ if $err =~ $merged;
		push @wrong, $out if $out ne '' && $out ne $right{"t $keys"};
		last if $found > 0;
	}
	cmp_ok($found, '>', 0, "$keys, merged: found with $settings");
	is("@wrong", '', "$keys, merged: no wrong rows with $settings");
}

# PostgreSQL puts the rows of an index in order again: they are not compared.
forgive($node);
$node->safe_psql('postgres', "SET gpusort.engine = gpu; SET gpusort.verify = sample; SET gpusort.index_builds = force; "
	. "SET maintenance_work_mem = '4MB'; CREATE INDEX by_k ON t (k)");
is((ordered('SET gpusort.enabled = off; SET enable_seqscan = off', 't', 'k'))[0], $right{'t k'}, 'an index is right');
$node->safe_psql('postgres', 'DROP INDEX by_k');

# Only words find one pair; a sample hardly ever does.
forgive($node);
isnt((ordered('SET gpusort.engine = gpu; SET gpusort.verify = off', 't', 'k'))[0], $right{'t k'}, 'off believes it');
foreach my $case ([ 'n', 'm', 'words' ], [ 'n', 'k', 'words' ], [ 'n', 's, m', 'words' ], [ 't', 'k', 'full' ])
{
	my ($table, $keys, $verify) = @$case;

	forgive($node);
	is((ordered("SET gpusort.engine = gpu; SET gpusort.verify = $verify", $table, $keys))[0], $right{"$table $keys"}
			// (ordered('SET gpusort.engine = cpu', $table, $keys))[0], "$table by $keys, $verify: right");
	is(counted($node, $wrong), 1, "$table by $keys, $verify: counted");
}

# First rows: those that were not chosen come behind them.  Keys taken for zeros let the first rows of the table pass
# for them, which ascend; the last row should come before them.
my $first = 'k LIMIT 20000';

service_with($node, '--fault=keys');
is((ordered('SET gpusort.engine = gpu', 'o', $first))[0], (ordered('SET gpusort.enabled = off', 'o', $first))[0],
	'first rows: right');
is(counted($node, $wrong), 1, 'first rows: counted');
isnt((ordered('SET gpusort.engine = gpu; SET gpusort.verify = sample', 'o', $first))[0],
	(ordered('SET gpusort.enabled = off', 'o', $first))[0], 'first rows: a sample of them believes it');

sound($node);
$node->stop;
done_testing();
