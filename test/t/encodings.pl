# Databases in other encodings, and databases whose own collation is a language's.
use strict;
use warnings;

use GpuSortTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_node('encodings', "gpusort.verify = full\n");
my $with_icu = $node->safe_psql('postgres', "SELECT count(*) FROM pg_collation WHERE collprovider = 'i'") > 0;

# Makes a database of words in the bytes of its encoding; false if the server cannot.
sub make_database
{
	my ($name, $options, $bytes) = @_;
	my $status = $node->psql('postgres', "CREATE DATABASE $name TEMPLATE template0 $options", stderr => \my $error);

	if ($status != 0)
	{
		note "no database $name: $error";
		return 0;
	}
	$node->safe_psql($name, <<"SQL");
CREATE FUNCTION bytes_to_text(bytea) RETURNS text LANGUAGE sql AS \$\$ SELECT convert_from(\$1,
	getdatabaseencoding()) \$\$;
CREATE TABLE t AS SELECT i, s FROM (
	SELECT i, bytes_to_text(decode(md5(i::text), 'escape')) s FROM generate_series(1, 600) i
	UNION ALL SELECT 600 + i,
		CASE WHEN i % 29 > 0 THEN (SELECT bytes_to_text(string_agg(x[1 + abs(hashint4(i * 16 + j) % cardinality(x))],
		''))
		FROM generate_series(0, abs(hashint4(i) % 7)) j) END FROM generate_series(1, 3000) i,
			(SELECT ARRAY[$bytes]::bytea[] x) b) rows;
INSERT INTO t SELECT i + 10000, s FROM t WHERE i % 3 = 0;
SQL
	return 1;
}

# Sorts them under a collation, in all directions, in memory and not; without a form the keys are exact.
sub check
{
	my ($name, $collation, $form) = @_;

	foreach my $memory ('64MB', '1MB')
	{
		foreach my $order ('', 'DESC', 'DESC NULLS LAST')
		{
			my $keys = "s $collation $order";
			my $set = "SET gpusort.work_mem = '$memory'; ";
			my $want = $node->safe_psql($name, 'SET gpusort.enabled = off; '
				. rows_digest("SELECT i, s, repeat('x', 500) FROM t ORDER BY $keys, ctid"));

			is($node->safe_psql($name, $set . rows_digest("SELECT i, s, repeat('x', 500) FROM t ORDER BY $keys")),
				$want, "$name: $keys, $memory");
		}
	}
	my $plan = $node->safe_psql($name, "EXPLAIN (ANALYZE, COSTS OFF) SELECT i, s FROM t ORDER BY s $collation");
	like($plan, qr/Key Forms: .*$form/, "$name $collation: $form") if defined $form;
	unlike($plan, qr/Key Forms/, "$name $collation: bytes") if !defined $form;
	unlike($plan, qr/Engine: PostgreSQL/, 'by gpusort');
	return;
}

SKIP:
{
	my $bytes =
		q('a', 'A', 'b', 'B', '-', ' ', 'e', 'z', '\xc3a9', '\xc3a4', '\xc39f', '\xe4b8ad', '\xe69687', '\xcc81');
	skip 'no en_US.UTF-8', 1 unless make_database('english', "ENCODING 'UTF8' LOCALE 'en_US.UTF-8'", $bytes);
	check('english', '', 'primary weights');
	$node->safe_psql('english', q(CREATE COLLATION same (locale = 'en_US.UTF-8')));
	is( $node->safe_psql('english', 'SELECT array_agg(i) FROM (SELECT i FROM t ORDER BY s) x'),
		$node->safe_psql('english', 'SELECT array_agg(i) FROM (SELECT i FROM t ORDER BY s COLLATE same) x'),
		'by its own name the same');
}
SKIP:
{
	my $bytes = q('a', 'A', 'b', 'B', '-', ' ', 'e', 'z', '\xe9', '\xe4', '\xdf', '\xc4', '\xa0', '\xff', '\x81');
	skip 'no en_US.ISO-8859-1', 1 unless make_database('latin1', "ENCODING 'LATIN1' LOCALE 'en_US.ISO-8859-1'", $bytes);
	check('latin1', '', 'primary weights');
	check('latin1', 'COLLATE "de-x-icu"', 'primary weights') if $with_icu;
}
# the builtin provider compares bytes, whatever the C library's locale is; PG_UNICODE_FAST came later than C.UTF-8
foreach my $locale (qw(C C.UTF-8 PG_UNICODE_FAST))
{
	my $name = lc "builtin_$locale" =~ tr/.-/__/r;
	my $bytes = q('a', 'A', 'b', 'B', '-', ' ', 'z', '\xc3a9', '\xc3a4', '\xe4b8ad', '\xefbfbd', '\xf09f9880');
	next unless make_database($name,
		"ENCODING 'UTF8' LOCALE 'en_US.UTF-8' LOCALE_PROVIDER builtin BUILTIN_LOCALE '$locale'", $bytes);
	check($name, '');
	check($name, 'COLLATE "en-x-icu"', 'primary weights') if $with_icu;
}
SKIP:
{
	# no encoding: bytes of several, which are no characters of the locale's
	my $bytes = q('a', 'A', 'b', '-', '\xe9', '\xc3a9', '\xff', '\x80', '\xe4b8');
	skip 'no SQL_ASCII', 1 unless make_database('ascii', "ENCODING 'SQL_ASCII' LOCALE 'C'", $bytes);
	$node->safe_psql('ascii', q(CREATE COLLATION latin (locale = 'en_US.ISO-8859-1')), on_error_stop => 0);
	$node->safe_psql('ascii', q(CREATE COLLATION utf8 (locale = 'en_US.UTF-8')), on_error_stop => 0);
	foreach my $collation (split /\n/, $node->safe_psql('ascii',
		q(SELECT collname FROM pg_collation WHERE collname IN ('latin', 'utf8'))))
	{
		check('ascii', "COLLATE $collation", '(primary weights|compared)');
	}
}
SKIP:
{
	skip 'no ICU', 1 unless $with_icu;
	# an encoding some of whose bytes are no characters, which gpusort must sort as the server does
	make_database('hebrew', "ENCODING 'ISO_8859_8' LOCALE 'C'",
		q('a', 'B', '-', '\xe0', '\xfa', '\xa1', '\xbf', '\xff'));
	check('hebrew', 'COLLATE "he-x-icu"', 'primary weights');
	make_database('eucjp', "ENCODING 'EUC_JP' LOCALE 'C'",
		q('a', 'B', '-', '\xa4a2', '\xa4ab', '\xa5ab', '\xc6fc', '\xcbdc', '\x8eb1'));
	check('eucjp', 'COLLATE "ja-x-icu"', 'primary weights');
	if (make_database('danish', "ENCODING 'UTF8' LOCALE 'C.UTF-8' LOCALE_PROVIDER icu ICU_LOCALE 'da'",
		q('a', 'A', '\xc3a5', 'z', '\xc3a6', '-', 'b')))
	{
		check('danish', '', 'primary weights');
	}
}
$node->stop;
done_testing();
