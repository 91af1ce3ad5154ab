#!/usr/bin/perl
# differential.pl [--seed N] [--rounds N] [--seconds N] [--rows N] [--psql PATH] [--keep]
#
# Sorts random tables with gpusort on and off and compares.  Every round makes one table of random types, value
# distributions and NULL shares, and orders it by random keys, directions, NULLS and collations, in memory and spilled:
#
#   * the key sequences are the same under the types' own equality
#   * the rows of every group of ties are the same set, and no row is changed, lost or doubled
#   * where a unique last key makes the order total, it is the same row by row
#   * where gpusort sorted, ties are in arrival order, here that of the heap (a property of its engines; PostgreSQL's
#     own sort promises none)
#   * no sort goes to PostgreSQL because an order failed its check or keys contradict a comparison
#   * ranks, groups, distinct values and merge joins over the same keys give the same results
#   * a random index over such keys has PostgreSQL's pages (where pageinspect is installed)
#
# Round r of seed s is repeated by --seed s+r --rounds 1, on a server with the same collations.  Speaks TAP; needs a
# running server, found as psql finds one, where the library is loaded or can be.  By hand, --seconds 3600 goes on for
# an hour.
use strict;
use warnings;

use File::Temp qw(tempfile);
use Getopt::Long;
use List::Util qw(shuffle);
use Time::HiRes qw(time);

my $seed = $ENV{SEED} || 1 + int(rand(1e6));
my $rounds = 0;
my $seconds = 60;
my $most_rows = 30000;
my $psql = 'psql';
my $keep = 0;
GetOptions(
	'seed=i' => \$seed,
	'rounds=i' => \$rounds,
	'seconds=i' => \$seconds,
	'rows=i' => \$most_rows,
	'psql=s' => \$psql,
	'keep' => \$keep) or exit 2;

# type => [values worth having, expression for a random value, expression from a small number n]
my %types = (
	'bool' => [ "true, false", 'random() < 0.5', 'n % 2 = 0' ],
	'"char"' => [ "'a', '', '~', 'Z'", 'chr(1 + floor(random() * 126)::int)::"char"', 'chr(65 + n)::"char"' ],
	'int2' => [ '-32768, 32767, 0, -1, 1', '(floor(random() * 65536) - 32768)::int2', 'n::int2' ],
	'int4' => [ '-2147483648, 2147483647, 0, -1, 1', '((random() - 0.5) * 4294967295)::int4', '(n * 1000)::int4' ],
	'int8' => [ '-9223372036854775808, 9223372036854775807, 0, -1, 4294967296', 'hashint8extended(i, SEED)',
		'n::int8 * 10000000000' ],
	'oid' => [ "'0', '4294967295', '2147483648'", 'hashint8(i)::int8::bit(32)::int8::oid', 'n::oid' ],
	'float4' => [ "'NaN', 'Infinity', '-Infinity', '0', '-0', '1e-45', '-1e-45', '3.4e38'",
		'((random() - 0.5) * 1e6)::float4',
		'(n / 4.0)::float4' ],
	'float8' => [ "'NaN', 'Infinity', '-Infinity', '0', '-0', '5e-324', '-5e-324', '1.7e308'",
		'(random() - 0.5) * 1e12',
		'n / 8.0' ],
	'date' => [ "'infinity', '-infinity', '2000-01-01', '4713-01-01 BC', '5874897-12-31'",
		"'1990-01-01'::date + floor(random() * 20000)::int", "'2020-01-01'::date + n" ],
	'time' => [ "'00:00', '24:00', '12:00:00.000001'", "'00:00'::time + random() * interval '23 hours'",
		"'01:00'::time + n * interval '1 minute'" ],
	'timetz' => [ "'00:00+15:59', '24:00-15:59', '12:00+01', '11:00+00', '12:00:00.000001+01'",
		"('00:00'::time + random() * interval '23 hours')::timetz AT TIME ZONE ((floor(random() * 20) - 10) * interval "
			. "'1 hour')",
		"make_time(n % 24, 0, 0)::timetz AT TIME ZONE (n * interval '30 minutes')" ],
	'timestamp' => [ "'infinity', '-infinity', '2000-01-01', '4713-01-01 BC', '294276-12-31 23:59:59.999999'",
		"'1990-01-01'::timestamp + random() * interval '30 years'", "'2020-01-01'::timestamp + n * interval '1 hour'" ],
	'timestamptz' => [ "'infinity', '-infinity', '2000-01-01+00', '1900-06-01+03'",
		"'1990-01-01'::timestamptz + random() * interval '30 years'",
		"'2020-01-01'::timestamptz + n * interval '1 hour'" ],
	'interval' => [ "'1 month', '30 days', '720 hours', '-1 month', '-30 days', '0', '178000000 years', '-178000000 "
		. "years', '1 month -30 days'",
		"random() * interval '100 years' - random() * interval '100 years'",
		"make_interval(months => n % 3, days => 30 * (n % 2), hours => 24 * n)" ],
	'money' => [ "'-92233720368547758.08', '92233720368547758.07', '0', '-0.01'",
		'((random() - 0.5) * 1e9)::numeric::money', 'n::money' ],
	'pg_lsn' => [ "'0/0', 'FFFFFFFF/FFFFFFFF', '1/0'", "'0/0'::pg_lsn + floor(random() * 1e15)::numeric",
		"'0/0'::pg_lsn + n" ],
	'xid8' => [ "'0', '18446744073709551615', '9223372036854775808'", '(floor(random() * 1e15)::int8)::text::xid8',
		'n::text::xid8' ],
	'tid' => [ "'(0,0)', '(4294967295,65535)', '(0,1)', '(1,0)'",
		"format('(%s,%s)', floor(random() * 4294967295)::int8, floor(random() * 65535)::int)::tid",
		"format('(%s,%s)', n / 4, n % 4)::tid" ],
	'uuid' => [ "'00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff', "
		. "'80000000-0000-0000-0000-000000000000'",
		'md5(i::text || random())::uuid', "lpad(to_hex(n), 32, 'a')::uuid" ],
	'macaddr' => [ "'00:00:00:00:00:00', 'ff:ff:ff:ff:ff:ff', '80:00:00:00:00:00'",
		"substr(md5(random()::text), 1, 12)::macaddr",
		"lpad(to_hex(n), 12, '0')::macaddr" ],
	'macaddr8' => [ "'00:00:00:00:00:00:00:00', 'ff:ff:ff:ff:ff:ff:ff:ff'",
		"substr(md5(random()::text), 1, 16)::macaddr8",
		"lpad(to_hex(n), 16, '0')::macaddr8" ],
	'mood' => [ "'sad', 'ok', 'happy', 'added later'", "(enum_range(NULL::mood))[1 + floor(random() * 4)::int]",
		"(enum_range(NULL::mood))[1 + n % 4]" ],
	'numeric' => [ "'NaN', 'Infinity', '-Infinity', '0', '0.000', '-0.0001', '1.0', '1.00', '1e100', '-1e100', "
		. "'1e-100', '99999999999999999999999999.5'",
		'(random() * 1e6 - 5e5)::numeric', '(n / 4.0)::numeric' ],
	'numeric(12,2)' => [ "'NaN', '0', '-9999999999.99', '9999999999.99', '0.01'", '(random() * 1e6)::numeric(12,2)',
		'n::numeric(12,2)' ],
	'bytea' => [ "'', '\\x00', '\\x0000', '\\xff', '\\x00ff', '\\xff00'",
		"decode(repeat(md5(random()::text), floor(random() * 3)::int), 'hex')",
		"decode(repeat('00', n), 'hex')" ],
	'bit(11)' => [ "B'00000000000', B'11111111111', B'10000000000'", 'floor(random() * 2048)::int::bit(11)',
		'n::bit(11)' ],
	'varbit' => [ "'', B'0', B'00', B'1', B'10', B'00000000', B'000000000', B'11111111', B'111111111'",
		"floor(random() * 2e9)::int::bit(32)::text::varbit", "repeat('0', n)::varbit" ],
	'inet' => [ "'0.0.0.0', '255.255.255.255', '10.1.2.3/8', '10.1.2.3/16', '10.0.0.0/8', '::', '::1', 'ffff::/16', "
		. "'10.1.2.3/32', '10.1.2.3'",
		"'0.0.0.0'::inet + floor(random() * 4294967295)::int8", "set_masklen('10.0.0.0'::inet + n::int8, 8 + n % 24)" ],
	'cidr' => [ "'0.0.0.0/0', '10.0.0.0/8', '10.0.0.0/16', '10.1.0.0/16', '::/0', '2001:db8::/32', "
		. "'255.255.255.255/32'",
		"set_masklen(('0.0.0.0'::inet + floor(random() * 4294967295)::int8)::cidr, 8 + floor(random() * 24)::int)",
		"('10.0.' || n || '.0/24')::cidr" ],
	'text' => \&strings,
	'text COLLATE "C"' => \&strings,
	'varchar(60)' => \&strings,
	'varchar COLLATE "POSIX"' => \&strings,
	'char(12)' => [ "'', 'a', 'a  ', 'a b', '~', E'a\\t'", "substr(md5(random()::text), 1, floor(random() * 12)::int)",
		"chr(65 + n) || repeat(' ', n)" ],
	'name' => [ "'', 'a', 'zzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzzz'",
		'md5(random()::text)::name', "('n' || n)::name" ],
	'small' => [ '1, 2, 3', 'floor(random() * 1000)::int', 'n' ],
	'int4[]' => [ "'{}', '{NULL}', '{1}', '{1,NULL}', '{{1},{2}}', '[2:3]={1,2}'",
		'ARRAY[floor(random() * 1000)::int, i::int]', 'ARRAY[n % 3, n]' ],
	'numeric[]' => [ "'{}', '{NULL}', '{1.0}', '{1.00,2}', '{NaN}', '{Infinity,-Infinity}', '{1e100}'",
		'ARRAY[round((random() * 10)::numeric, 1), hashint8extended(i, SEED) / 7.0]',
		'ARRAY[n / 4.0, n]' ],
	'text[]' => [ "'{}', '{a}', '{A,b}', '{NULL}'", 'ARRAY[left(md5(random()::text), 2), md5(i::text)]',
		"ARRAY['v' || n, 'é']" ],
	'int4range' => [ "'empty', '(,)', '[1,2)', '(,1)', '[1,)'",
		'int4range(floor(random() * 1000)::int, 1000 + (i % 1000)::int)', 'int4range(n, n + 5)' ],
	'tsrange' => [ "'empty', '(,)', '[infinity,)', '(-infinity,)', '[2020-01-01,2020-01-01]', "
		. "'(2020-01-01,2020-01-02]'",
		"tsrange('1990-01-01'::timestamp + random() * interval '30 years', NULL, (ARRAY['()', '[)'])[1 + i % 2])",
		"tsrange('2020-01-01', '2020-01-01'::timestamp + n * interval '1 hour', '[]')" ],
	'int4multirange' => [ "'{}', '{[1,2)}', '{[1,2),[5,)}', '{(,)}'",
		"int4multirange(int4range((i % 1000)::int, 1000), int4range(2000 + floor(random() * 1000)::int, NULL))",
		'int4multirange(int4range(n, n + 1))' ],
	'jsonb' => [ "'null', 'true', '1', '1.0', '\"a\"', '[]', '{}', '[1,2]', '{\"a\": 1}'",
		"jsonb_build_object('k', floor(random() * 1000), 'v', md5(i::text))",
		"to_jsonb('v' || n)" ],
	'tsvector' => [ "'', 'a', 'a b', 'a:1'", "md5(random()::text)::tsvector", "('v' || n)::tsvector" ],
	'pair' => [ "'(1,a)', '(1,)', '(,a)', '(,)', '(1,A)'", "ROW(floor(random() * 10)::int, md5(i::text))::pair",
		"ROW(n % 3, 'v' || n)::pair" ],
	'pair[]' => [ "'{}', '{NULL}', '{\"(1,a)\",\"(,a)\"}', '{\"(1,)\"}'",
		"ARRAY[ROW(floor(random() * 10)::int, NULL), ROW(i, 'a')]::pair[]", "ARRAY[ROW(n % 3, 'v' || n)]::pair[]" ],
	'loose' => [ "'a', 'A', 'b', ''", "left(md5(random()::text), 6)",
		"CASE WHEN n % 2 = 0 THEN 'v' ELSE 'V' END || n / 2" ],
	'word' => \&strings);

# Strings: short, long, with a long common prefix, with characters of several bytes; product codes, and words that
# differ below the primary weights only.
sub strings
{
	my $random = pick(
		"(ARRAY['', '-', '--', '/'])[1 + floor(random() * 4)::int] || floor(random() * 30)::int || (ARRAY['', '-', "
			. "'/', ' '])[1 + floor(random() * 4)::int] || floor(random() * 10)::int",
		"translate(md5(random()::text), '0123456789abcdef', 'aAáàäåbBcChHsSzZ')",
		"left(translate(md5(random()::text), '0123456789abcdef', 'aAáàäåbBcChHsSzZ'), floor(random() * 4)::int)",
		"left(translate(md5(random()::text), '0123456789abcdef', '中文字国人名жщйёЖкかガｶー'), floor(random() * 9)::int)",
		"substr(md5(random()::text), 1, floor(random() * 33)::int)",
		"repeat('same beginning ', 3) || md5(random()::text)",
		"chr(97 + floor(random() * 26)::int) || chr(97 + floor(random() * 2)::int)",
		"chr(32 + floor(random() * 10000)::int) || floor(random() * 10)",
		"repeat(chr(97 + floor(random() * 3)::int), floor(random() * 40)::int)");
	return [ "'', ' ', 'a', 'a ', 'A', 'ab', 'aaaaaaaa', 'aaaaaaaaa', 'ä', 'z', '~', U&'\\FFFD', U&'\\+01F600', "
		. "U&'\\0001'", $random,
		"'v' || n" ];
}

# What indexes are compared with, where the server has it.
my $index_functions = <<'SQL';
CREATE FUNCTION built() RETURNS numeric LANGUAGE sql AS $$
	SELECT coalesce(sum(jobs), 0) FROM gpusort_stat WHERE op = 'index' $$;
-- but for their LSNs and checksums
CREATE FUNCTION same_pages(x text, y text) RETURNS boolean LANGUAGE sql AS $$
	SELECT pg_relation_size(x) = pg_relation_size(y) AND
		bool_and(substr(get_raw_page(x, i), 11) = substr(get_raw_page(y, i), 11))
	FROM generate_series(0, (pg_relation_size(x) / current_setting('block_size')::int)::int - 1) i $$;
SQL
my $has_pages = system("$psql -X -q -d postgres -v ON_ERROR_STOP=1 "
	. "-c 'CREATE EXTENSION IF NOT EXISTS pageinspect SCHEMA public' "
	. "-c 'CREATE EXTENSION IF NOT EXISTS gpusort SCHEMA public' -c 'TABLE public.gpusort_stat' >/dev/null 2>&1") == 0;
$index_functions = '' unless $has_pages;

# Collations of languages, as far as the server has them, and one under which strings are equal that do not look the
# same.
my %languages = (
	(map { ("libc_$_" => "provider = libc, locale = '$_.UTF-8'") } qw(en_US cs_CZ da_DK hu_HU tr_TR fr_CA ja_JP th_TH)),
	(map { ("icu_$_" => "provider = icu, locale = '" . ($_ =~ tr/_/-/r)
		. "'") } qw(en cs da ja und de_u_co_phonebk en_u_ka_shifted en_u_kn_true de_u_ks_level2 en_u_kf_upper)),
	loose => "provider = icu, locale = 'und-u-ks-level2', deterministic = false");
my @languages;

# Asks the server which of them it can make; statements that do.
sub make_languages
{
	my $statements = '';

	foreach my $name (sort keys %languages)
	{
		next if system("$psql -X -q -d postgres -v ON_ERROR_STOP=1 -c \"BEGIN; CREATE COLLATION gpusort_$name "
			. "($languages{$name}); ROLLBACK\" >/dev/null 2>&1") != 0;
		push @languages, $name unless $name eq 'loose';
		$statements .= "CREATE COLLATION $name ($languages{$name});\n";
	}
	if ($statements =~ /loose/) { $statements .= "CREATE DOMAIN loose AS text COLLATE loose;\n" }
	else { delete $types{loose} }
	@languages = ('"C"') unless @languages;
	return $statements;
}

sub pick { return $_[ int(rand(@_)) ] }

# Columns, the statement that makes the table, and its number of rows.
sub make_table
{
	my ($round_seed) = @_;
	my @names = sort keys %types;
	my $columns = 1 + int(rand(5));
	my $rows = pick(0, 1, 2, 100, 3000, int(rand($most_rows)), $most_rows, $most_rows);
	my (@columns, @definitions, @expressions);

	for my $c (1 .. $columns)
	{
		my $type = pick(@names);
		my $spec = $types{$type};
		$spec = $spec->() if ref $spec eq 'CODE';
		my ($special, $random, $small) = @$spec;
		my $bare = $type =~ s/ COLLATE.*//r;
		my $nulls = pick(0, 0, 0.01, 0.3, 1);
		$nulls = 0.5 if $nulls == 1 && rand() < 0.7;
		my $specials = pick(0, 0.02, 0.5, 1);
		my $few = pick(3, 10, 20);
		my $value = rand() < 0.3 ? "(SELECT $small FROM (SELECT (i * 7919 % $few)::int n) s)" : $random;

		$random =~ s/SEED/$round_seed/;
		$value =~ s/SEED/$round_seed/;
		# now and then ordered or reversed input
		if (rand()
			< 0.1) { $value = "(SELECT $small FROM (SELECT (i * $few / greatest($rows, 1))::int n) s)"; $specials =
			$nulls = 0 }
		elsif (rand() < 0.05) { $value = "(SELECT $small FROM (SELECT ($few - i * $few / greatest($rows, "
			. "1))::int n) s)"; $specials = $nulls = 0 }
		my $n = () = $special =~ /, /g;
		$n++;
		# an array of arrays would be something else
		my $array = $bare =~ /\[\]$/ ? 'text' : $bare;
		push @columns, { name => "c$c", type => $type };
		push @definitions, "c$c $type";
		push @expressions,
			"CASE WHEN random() < $nulls THEN NULL WHEN random() < $specials THEN "
		  . "(ARRAY[$special]::$array\[])[1 + floor(random() * $n)::int]::$bare ELSE ($value)::$bare END";
	}
	my $pad = pick(0, 0, 20, 200);
	my $fraction = sprintf '%.6f', rand();
	my $statement = "CREATE TABLE t (id int, " . join(', ', @definitions) . ", pad text);\n"
	  . "SELECT setseed($fraction) \\g /dev/null\n"
	  . "INSERT INTO t SELECT i, "
	  . join(', ', @expressions)
	  . ", repeat('x', (random() * $pad)::int) FROM generate_series(1, ${rows}::int8) i;\nANALYZE t;\n";
	return (\@columns, $statement, $rows);
}

# Settings for a random number of parallel workers, with and without the leader, and that number.
sub workers
{
	my $workers = pick(0, 0, 1, 2, 3, 4);
	my $cost = $workers ? '0' : 'DEFAULT';

	return ("SET gpusort.cores = 8;\nSET max_parallel_workers_per_gather = $workers;\nSET "
		. "parallel_leader_participation = " . pick('on', 'on', 'off') . ";\n"
		  . join('',
			map { "SET $_ = $cost;\n" } qw(parallel_setup_cost parallel_tuple_cost min_parallel_table_scan_size)),
			$workers);
}

# Some columns in an order, and their names.
sub some_keys
{
	my ($columns) = @_;
	my (@keys, @names);
	my $wanted = 1 + int(rand(@$columns < 4 ? @$columns : 4));

	for my $column ((shuffle(@$columns))[ 0 .. $wanted - 1 ])
	{
		my $key = $column->{name};

		if ($column->{type} =~ /^(text|varchar|char|name|word)\b(?!\[)/ && rand() < 0.6)
		{
			$key .= ' COLLATE ' . (rand() < 0.3 ? pick('"C"', '"POSIX"', '"C.utf8"') : pick(@languages));
		}
		$key .= pick('', '', ' DESC');
		$key .= pick('', '', ' NULLS FIRST', ' NULLS LAST');
		push @keys, $key;
		push @names, $column->{name};
	}
	return (\@keys, \@names);
}

# One comparison: the order, as a script that prints one line.
sub order_case
{
	my ($columns, $memory) = @_;
	my ($keys, $names) = some_keys($columns);
	my @keys = @$keys;
	my @names = @$names;
	my $total = rand() < 0.3;
	push @keys, 'id' . pick('', ' DESC') if $total;
	my $order = join ', ', @keys;
	my $changed = join ' OR ', map { "a.$_ IS DISTINCT FROM lag(a.$_) OVER w" } @names;
	my $differ = join ' OR ', map { "a.$_ IS DISTINCT FROM b.$_" } @names;
	my $exact = $total ? '(SELECT count(*) FROM a JOIN b USING (n) WHERE a.id <> b.id)' : '0';
	my $arrival = $total ? '0' : "(SELECT count(*) FROM (SELECT place, lag(place) OVER (PARTITION BY g ORDER BY n) "
		. "before FROM ga) x WHERE before > place)";
	my $limit = rand() < 0.1 ? ' OFFSET 7' : '';
	my $list = join ', ', @names;
	my $script = '';

	for my $side ('a', 'b')
	{
		my $on = $side eq 'a' ? 'on' : 'off';
		$script .= "SET gpusort.enabled = $on;\nSET client_min_messages = debug1;\n"
		  . "CREATE TEMP TABLE $side AS SELECT row_number() OVER () n, x.* FROM (SELECT id, ctid place, $list, t::text "
		  . "r FROM t ORDER BY $order$limit) x;\nSET client_min_messages = warning;\n";
	}
	$script .= <<"SQL";
SET gpusort.enabled = on;
SELECT count(*) > 0 used FROM plan_lines('SELECT id, ctid place, $list, t::text r FROM t ORDER BY $order$limit') l
	WHERE l LIKE '%GpuSort%' \\gset
SET gpusort.enabled = off;
ANALYZE a; ANALYZE b;
CREATE TEMP TABLE ga AS SELECT n, id, place, sum(c) OVER (ORDER BY n) g FROM (SELECT n, id, place,
	CASE WHEN $changed THEN 1 ELSE 0 END c FROM a WINDOW w AS (ORDER BY n)) a;
CREATE TEMP TABLE gb AS SELECT n, id, place, sum(c) OVER (ORDER BY n) g FROM (SELECT n, id, place,
	CASE WHEN $changed THEN 1 ELSE 0 END c FROM b a WINDOW w AS (ORDER BY n)) b;
SELECT concat_ws(' ', 'RESULT', 'order', :'used',
	(SELECT abs((SELECT count(*) FROM a) - (SELECT count(*) FROM b))),
	(SELECT count(*) FROM a JOIN b USING (n) WHERE $differ),
	(SELECT count(*) FROM ga FULL JOIN gb USING (id) WHERE ga.g IS DISTINCT FROM gb.g),
	(SELECT count(*) FROM a FULL JOIN b USING (id) WHERE a.r IS DISTINCT FROM b.r),
	$exact,
	CASE WHEN :'used' THEN $arrival ELSE 0 END);
DROP TABLE a, b, ga, gb;
SQL
	# with OFFSET ties at the cut may differ
	$script =~ s/\(SELECT count\(\*\) FROM ga FULL.*?\n.*?a\.r IS DISTINCT FROM b\.r\),/0, 0,/s if $limit;
	# order of arrival is kept within a process only
	my ($processes, $workers) = workers();
	$script =~ s/CASE WHEN :'used' THEN .*? ELSE 0 END\)/0)/s if $workers;
	return ("$memory, $workers workers: ORDER BY $order$limit", "SET gpusort.work_mem = '$memory';\n$processes$script");
}

# Other users of sorts, by results that ties do not change.
sub use_case
{
	my ($columns, $memory) = @_;
	my @names = map { $_->{name} } shuffle(@$columns);
	my ($x, $y) = ($names[0], $names[-1]);
	my $what = pick('rank', 'group', 'distinct', 'merge join', 'union', 'backward');
	my $y_order = $y . pick('', ' DESC NULLS LAST');
	my $query = {
		'rank' => "SELECT count(*), coalesce(sum(hashtext(concat(id, ':', r, ':', d))), 0) AS sum FROM (SELECT id, "
			. "rank() OVER (PARTITION BY $x ORDER BY $y_order) r, "
		  . "dense_rank() OVER (ORDER BY $y_order) d FROM t) s",
		'group' => "SELECT count(*), coalesce(sum(c * 7 + h), 0) AS sum FROM (SELECT count(*) c, "
			. "sum(hashint4(id)::int8) % 1000003 h FROM t GROUP BY $x, $y) s",
		'distinct' => "SELECT count(*) FROM (SELECT DISTINCT $x, $y FROM t) s",
		'merge join' => "SELECT count(*), coalesce(sum(hashtext(concat(a.id, ':', b.id))), 0) AS sum FROM (SELECT * "
			. "FROM t WHERE id % 37 = 1) a JOIN (SELECT * FROM t WHERE id % 41 = 1) b ON a.$x = b.$x",
		'union' => "SELECT count(*) FROM (SELECT $x FROM t WHERE id % 2 = 0 INTERSECT SELECT $x FROM t WHERE id % 3 "
			. "= 0) s",
		'backward' => "SELECT count(*), coalesce(sum(hashtext(id::text)), 0) AS sum FROM (SELECT id FROM t ORDER BY "
			. "$x, $y_order, id OFFSET 3) s"
	}->{$what};
	my ($processes, $workers) = workers();
	my $script = "SET gpusort.work_mem = '$memory';\nSET enable_hashagg = off; SET enable_hashjoin = off; SET "
		. "enable_nestloop = off;\n$processes";

	$script .= "SET gpusort.enabled = off;\n$query \\gset off_\nSET gpusort.enabled = on;\n$query \\gset on_\n";
	$script .= "SELECT count(*) > 0 used FROM plan_lines(\$q\$$query\$q\$) l WHERE l LIKE '%GpuSort%' \\gset\n";
	my @sums = $query =~ /^SELECT (.*?) FROM/ ? ($1 =~ /(count|sum)\(/g) : ();
	my $n = 0;
	my @compare = ":'on_count' IS DISTINCT FROM :'off_count'";
	push @compare, ":'on_sum' IS DISTINCT FROM :'off_sum'" if grep { $_ eq 'sum' } @sums;
	$script .= "SELECT concat_ws(' ', 'RESULT', 'use', :'used', (" . join(' OR ', @compare) . ")::int);\n";
	$script .= "RESET enable_hashagg; RESET enable_hashjoin; RESET enable_nestloop;\n";
	return ("$memory, $workers workers: $what over $x, $y_order", $script);
}

# An index, page for page the one that PostgreSQL builds.
sub index_case
{
	my ($columns) = @_;
	my ($keys) = some_keys($columns);
	my $unique = rand() < 0.3 ? 'UNIQUE' : '';
	my $workers = pick(0, 0, 1, 2, 3);
	# a key that does not repeat
	my $definition = '(' . join(', ', @$keys, $unique ? 'id' : ()) . ')' . pick('', '', ' INCLUDE (pad)')
		. pick('', '', ' WITH (deduplicate_items = off)', ' WITH (fillfactor = 50)')
		. pick('', '', ' WHERE id % 3 = 0');
	my $script = "SET maintenance_work_mem = '96MB';\nSET min_parallel_table_scan_size = 0;\n"
		. "SET max_parallel_maintenance_workers = $workers;\n";

	$script .= "SET gpusort.index_builds = $_->[0];\nCREATE $unique INDEX $_->[1] ON t $definition;\n"
		for [ 'off', 'theirs' ], [ 'force', 'ours' ];
	$script =~ s/(?=SET gpusort.index_builds = force)/SELECT built() before \\gset\n/;
	$script .= <<'SQL';
SELECT concat_ws(' ', 'RESULT', 'index', built() > :before, (NOT same_pages('theirs', 'ours'))::int);
DROP INDEX theirs, ours;
RESET maintenance_work_mem; RESET min_parallel_table_scan_size;
SQL
	return ("$workers workers: $unique index $definition", $script);
}

# The results are read from lines "RESULT kind used number...", numbers of things that are wrong.
my @meanings = ('number of rows', 'key sequences', 'groups of ties', 'rows', 'exact order', 'arrival order');
my ($number, $bad, $used, $cases) = (0, 0, 0, 0);
my $start = time;
my $round = 0;

my $make_languages = make_languages();
print "# seed $seed, collations @languages\n";
while (($rounds ? $round < $rounds : time - $start < $seconds))
{
	my $round_seed = $seed + $round++;

	srand($round_seed);
	my ($columns, $statement, $rows) = make_table($round_seed);
	my @cases = map { [ order_case($columns, pick('1MB', '1MB', '64MB')) ] } 1 .. 4;
	push @cases, [ use_case($columns, pick('1MB', '64MB')) ], [ use_case($columns, pick('1MB', '64MB')) ];
	push @cases, [ index_case($columns) ] if $has_pages;
	# every fourth round in compiled code, which takes its time
	my $jit = $round_seed % 4 == 0 ? 'on' : 'off';
	# of few rows keys are made, or they are compared
	my $min_rows = pick(0, 0, 64);
	my $script = "SET jit = $jit;\nSET gpusort.min_rows = $min_rows;\n";
	$script .= <<'SQL' . $statement . join('', map { $_->[1] } @cases);
SET client_min_messages = warning;
LOAD 'gpusort';
DROP SCHEMA IF EXISTS gpusort_differential CASCADE;
CREATE SCHEMA gpusort_differential;
SET search_path = gpusort_differential, public;
SET gpusort.verify = full;
SET max_parallel_workers_per_gather = 0;
SET synchronize_seqscans = off;
SET jit_above_cost = 30;
SET timezone = 'UTC';
CREATE TYPE mood AS ENUM ('sad', 'ok', 'happy');
ALTER TYPE mood ADD VALUE 'added later' BEFORE 'ok';
CREATE DOMAIN small AS int CHECK (value > -1000000);
CREATE DOMAIN word AS text;
CREATE TYPE pair AS (a int, b text);
CREATE FUNCTION plan_lines(query text) RETURNS SETOF text LANGUAGE plpgsql AS
$$ BEGIN RETURN QUERY EXECUTE 'EXPLAIN ' || query; END $$;
SQL
	$script =~ s/(?=CREATE TABLE t )/$make_languages$index_functions/;
	$script .= "DROP SCHEMA gpusort_differential CASCADE;\n" unless $keep;
	my ($handle, $file) = tempfile(UNLINK => 1);
	print $handle $script;
	close $handle;
	my $output = `$psql -X -q -A -t -v ON_ERROR_STOP=1 -d postgres -f $file 2>&1`;
	my $status = $?;
	my @results = $output =~ /^RESULT (.*)$/mg;
	my $table = join ', ', map { $_->{type} } @$columns;

	for my $case (@cases)
	{
		my $result = shift @results;
		my @wrong;

		if (defined $result)
		{
			my ($kind, $through, @counts) = split / /, $result;

			$cases++;
			$used++ if $through eq 't';
			@wrong = map { "$counts[$_] $meanings[$_]" } grep { $counts[$_] != 0 } 0 .. $#counts;
			@wrong = ('results') if $kind ne 'order' && @wrong;
		}
		else { @wrong = ("no result: " . ($output =~ s/^RESULT.*\n//mgr)) }
		$number++;
		printf "%sok %d - seed %d, %d rows (%s), %s\n", (@wrong ? 'not ' : ''), $number, $round_seed, $rows, $table,
			$case->[0];
		if (@wrong)
		{
			$bad++;
			(my $text = join('; ', @wrong)) =~ s/\n/\n# /g;
			print "# differ: $text\n";
			last unless defined $result;
		}
	}
	if (my ($why) = $output =~ /(gpusort leaves a sort to PostgreSQL: (an order failed|sort keys contradict).*)/)
	{
		$number++;
		$bad++;
		print "not ok $number - seed $round_seed, $rows rows ($table)\n# $why\n";
	}
	if ($status != 0 && $bad == 0)
	{
		$number++;
		$bad++;
		print "not ok $number - seed $round_seed: psql failed\n# $output\n";
	}
}
printf "# %d rounds, %d of %d comparisons went through gpusort\n", $round, $used, $cases;
print "1..$number\n";
exit($bad ? 1 : 0);
