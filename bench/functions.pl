#!/usr/bin/perl
# functions.pl PART PSQL JSON_FILE: the SQL functions against the plain SQL that gives the same, in turns in one
# session.
#
# PART is "memory" (work_mem and gpusort.work_mem 4 GB), "stock" (nothing set) or "gpu" (16 GB, the functions on the CPU
# and on the GPU).  ROWS: default 5 million, for "gpu" 50 million.  RUNS turns a line, default 5, for "gpu" 3;
# PLAIN_RUNS of plain SQL, default as many, for "gpu" 1.  ONLY, a pattern, chooses lines, for "gpu" those that have a
# target.
#
# Plain SQL runs with gpusort.enabled off: it is PostgreSQL's own.  One backend, no parallel workers, no JIT; times are
# the client's for a query of one row, ratios those of medians.  Answers are compared.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use JSON::PP;
use Session;
use Time::HiRes qw(time);

$| = 1;

my ($part, $psql, $json_file) = @ARGV;
die "There is no part \"$part\".\n" unless $part =~ /^(memory|stock|gpu)$/;
my $rows = $ENV{ROWS} // ($part eq 'gpu' ? 50_000_000 : 5_000_000);
my $runs = $ENV{RUNS} // ($part eq 'gpu' ? 3 : 5);
my $plain_runs = $ENV{PLAIN_RUNS} // ($part eq 'gpu' ? 1 : $runs);
my $wanted = $ENV{ONLY};
my @engines = $part eq 'gpu' ? ('cpu', 'gpu') : ('cpu');

# Islands as one writes them without gpusort, and what each is: its state, where it begins, how long it is.
my $islands = 'SELECT count(*) || \'/\' || max(n) FROM (SELECT state, min(ts), count(*) AS n FROM (
	SELECT ts, state, sum(begins) OVER (ORDER BY ts) AS island FROM (
		SELECT ts, state, (state IS DISTINCT FROM lag(state) OVER (ORDER BY ts))::int AS begins FROM t) AS a) AS b
	GROUP BY state, island) AS c';

# name, target, plain SQL, with gpusort
my @lines = (
	[ 'gpu_rle(state, ts): islands', 3, $islands,
		'SELECT count(*) || \'/\' || max(run_length) FROM unnest((SELECT gpu_rle(state, ts) FROM t))' ],
	[ 'gpu_rle(state ORDER BY ts): islands', undef, $islands,
		'SELECT count(*) || \'/\' || max(run_length) FROM unnest((SELECT gpu_rle(state ORDER BY ts) FROM t))' ],
	[ 'gpu_run_id(state): islands', undef, $islands,
		'SELECT count(*) || \'/\' || max(n) FROM (SELECT state, min(ts), count(*) AS n FROM (
			SELECT ts, state, gpu_run_id(state) OVER (ORDER BY ts) AS island FROM t) AS b GROUP BY state, island)
				AS c' ],
	[ 'gpu_count_distinct(int8)', 3, 'SELECT count(DISTINCT k) FROM t', 'SELECT gpu_count_distinct(k) FROM t' ],
	[ 'gpu_count_distinct(int4), 4 values', undef, 'SELECT count(DISTINCT state) FROM t',
		'SELECT gpu_count_distinct(state) FROM t' ],
	[ 'gpu_median(float8)', 2, 'SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY f) FROM t',
		'SELECT gpu_median(f) FROM t' ],
	[ 'gpu_percentile_disc(timestamp)', undef, 'SELECT percentile_disc(0.99) WITHIN GROUP (ORDER BY ts) FROM t',
		'SELECT gpu_percentile_disc(ts, 0.99) FROM t' ],
	[ 'gpu_sort_agg(int8)', undef, 'SELECT (array_agg(k ORDER BY k))[1000] FROM t',
		'SELECT (gpu_sort_agg(k))[1000] FROM t' ],
	[ 'gpu_sort(int8[])', 6, 'SELECT (SELECT array_agg(x ORDER BY x) FROM unnest(a) AS x)[1000] FROM arrays',
		'SELECT (gpu_sort(a))[1000] FROM arrays' ],
	[ 'gpu_argsort(int8[])', undef,
		'SELECT (SELECT array_agg(n ORDER BY x, n) FROM unnest(a) WITH ORDINALITY AS u (x, n))[1000] FROM arrays',
		'SELECT (gpu_argsort(a))[1000] FROM arrays' ],
	[ 'gpu_sort_by_key(int8[], int4[])', undef, 'SELECT (array_agg(x ORDER BY x, n))[1000] || \'/\' || (array_agg(y
		ORDER BY x, n))[1000]
		FROM arrays, vals, unnest(a, v) WITH ORDINALITY AS u (x, y, n)',
		'SELECT keys[1000] || \'/\' || r.vals[1000] FROM arrays, vals, gpu_sort_by_key(a, v) AS r' ],
	[ 'gpu_select_if(int8[], mask)', undef,
		'SELECT cardinality(ARRAY(SELECT x FROM unnest(a, m) AS u (x, y) WHERE y)) FROM arrays, masks',
		'SELECT cardinality(gpu_select_if(a, m)) FROM arrays, masks' ],
	[ 'gpu_select_if(int8[], >)', undef,
		'SELECT cardinality(ARRAY(SELECT x FROM unnest(a) AS x WHERE x > 0)) FROM arrays',
		'SELECT cardinality(gpu_select_if(a, \'>\', 0::int8)) FROM arrays' ],
	[ 'gpu_partition_if(int8[], mask)', undef, 'SELECT cardinality(ARRAY(SELECT x FROM unnest(a, m) AS u (x, y)
		WHERE y)) || \'/\' ||
			cardinality(ARRAY(SELECT x FROM unnest(a, m) AS u (x, y) WHERE y IS NOT TRUE)) FROM arrays, masks',
		'SELECT cardinality(selected) || \'/\' || cardinality(rejected) FROM arrays, masks, gpu_partition_if(a, m)' ],
	[ 'gpu_dedup(int4[])', undef, 'SELECT cardinality(ARRAY(SELECT x FROM (SELECT x, n, n = 1 OR x IS DISTINCT
		FROM lag(x) OVER (ORDER BY n) AS new
			FROM unnest(s) WITH ORDINALITY AS u (x, n)) AS marked WHERE new ORDER BY n)) FROM states',
		'SELECT cardinality(gpu_dedup(s)) FROM states' ],
	[ 'gpu_distinct(int8[])', undef,
		'SELECT cardinality(ARRAY(SELECT DISTINCT x FROM unnest(a) AS x ORDER BY x)) FROM arrays',
		'SELECT cardinality(gpu_distinct(a)) FROM arrays' ],
	[ 'gpu_scan(int4[])', undef, 'SELECT (array_agg(total ORDER BY n))[1000] FROM (SELECT n, sum(x)
		OVER (ORDER BY n ROWS UNBOUNDED PRECEDING) AS total
			FROM vals, unnest(v) WITH ORDINALITY AS u (x, n)) AS running',
		'SELECT (gpu_scan(v))[1000] FROM vals' ],
	[ 'gpu_scan(float8[])', undef, 'SELECT (array_agg(total ORDER BY n))[1000]::real FROM (SELECT n, sum(x)
		OVER (ORDER BY n ROWS UNBOUNDED PRECEDING) AS total
			FROM floats, unnest(f) WITH ORDINALITY AS u (x, n)) AS running',
		'SELECT (gpu_scan(f))[1000]::real FROM floats' ],
	[ 'gpu_rle_runs(int4[])', undef, 'SELECT count(*) || \'/\' || max(run_length) FROM (SELECT min(x), count(*)
		AS run_length FROM (
			SELECT x, sum(begins) OVER (ORDER BY n) AS run FROM (SELECT x, n, (x IS DISTINCT FROM lag(x)
				OVER (ORDER BY n))::int AS begins
				FROM states, unnest(s) WITH ORDINALITY AS u (x, n)) AS marked) AS numbered GROUP BY run) AS runs',
		'SELECT count(*) || \'/\' || max(run_length) FROM states, gpu_rle_runs(s)' ],
	[ 'gpu_rle_decode(int4[], int8[])', undef, 'SELECT (ARRAY(SELECT x FROM unnest(x, l) WITH ORDINALITY AS u (x, l, '
		. 'n), generate_series(1, l) ORDER BY n))[1000] FROM runs',
		'SELECT (gpu_rle_decode(x, l))[1000] FROM runs' ],
	[ 'gpu_reduce_by_key, 1000 keys', undef, 'SELECT count(*) || \'/\' || max(total) FROM (SELECT sum(y) AS total FROM '
		. 'keys, vals, unnest(g, v) AS u (x, y) GROUP BY x) AS sums',
		'SELECT count(*) || \'/\' || max(value) FROM keys, vals, gpu_reduce_by_key(g, v)' ],
	[ 'gpu_reduce_by_key, all keys differ', undef, 'SELECT count(*) || \'/\' || max(total) FROM (SELECT sum(y) AS '
		. 'total FROM arrays, vals, unnest(a, v) AS u (x, y) GROUP BY x) AS sums',
		'SELECT count(*) || \'/\' || max(value) FROM arrays, vals, gpu_reduce_by_key(a, v)' ],
	[ 'gpu_count_by_key, 1000 keys', undef,
		'SELECT count(*) || \'/\' || max(n) FROM (SELECT count(*) AS n FROM keys, unnest(g) AS x GROUP BY x) AS counts',
		'SELECT count(*) || \'/\' || max(value) FROM keys, gpu_count_by_key(g)' ],
	[ 'gpu_avg_by_key, 1000 keys', undef, 'SELECT count(*) || \'/\' || max(n) FROM (SELECT avg(y) AS n FROM keys, '
		. 'vals, unnest(g, v) AS u (x, y) GROUP BY x) AS averages',
		'SELECT count(*) || \'/\' || max(value) FROM keys, vals, gpu_avg_by_key(g, v)' ]);

my @wanted = grep { defined $wanted ? $_->[0] =~ /$wanted/ : $part ne 'gpu' || $_->[1] } @lines;

# The time of a query in milliseconds, and its answer.
sub timed
{
	my ($session, $query) = @_;
	my $start = time;
	my $answer = $session->query($query);
	return ((time - $start) * 1000, $answer);
}

# What a host's GPU is, or nothing.
sub device
{
	my $query = 'nvidia-smi --query-gpu=name,driver_version --format=csv,noheader 2>/dev/null';
	my $name = $part eq 'gpu' ? `$query` : '';
	chomp $name;
	return $name;
}

# A table of one array, made of the rows of t.
sub make_array
{
	my ($session, $table, $column, $aggregate) = @_;
	$session->query("CREATE UNLOGGED TABLE $table ($column)");
	$session->query("ALTER TABLE $table ALTER COLUMN " . ($column =~ s/ .*//r) . ' SET STORAGE external');
	$session->query("INSERT INTO $table SELECT $aggregate FROM t");
	return;
}

# The table: in no order; states last about 20 rows in the order of time.
sub make_tables
{
	my ($session) = @_;
	$session->query('CREATE UNLOGGED TABLE t (k int8, f float8, ts timestamp, state int4)');
	Session::in_parallel($psql, $rows, "INSERT INTO t SELECT hashint8extended(i, 1)
		AS k, (hashint8extended(i, 2) / 1e6)::float8 AS f,
		timestamp '2020-01-01' + i * interval '1 second' AS ts, abs(hashint8extended(i / 20, 3) % 4)::int4 AS state
		FROM (SELECT n * 7368787::int8 % $rows AS i FROM generate_series({from}::int8, {to}) AS n) AS s");
	$session->query('VACUUM ANALYZE t');
	# a table each: a row cannot exceed 1 GB before its arrays are stored apart
	make_array($session, 'arrays', 'a int8[]', 'array_agg(k)');
	return unless grep { $_->[3] =~ /FROM (?!t\b|arrays$|unnest)/ } @wanted;
	make_array($session, 'vals', 'v int4[]', 'array_agg((k % 1000000)::int4)');
	make_array($session, 'keys', 'g int4[]', 'array_agg((k & 1023)::int4 % 1000)');
	make_array($session, 'masks', 'm bool[]', 'array_agg(k & 3 = 0)');
	make_array($session, 'floats', 'f float8[]', 'array_agg(f)');
	make_array($session, 'states', 's int4[]', 'array_agg(state ORDER BY ts)');
	$session->query('CREATE UNLOGGED TABLE runs AS SELECT array_agg(value) AS x, array_agg(run_length) AS l FROM '
		. 'states, gpu_rle_runs(s)');
	return;
}

my $session = Session->new($psql, 'postgres');
$session->query('CREATE EXTENSION gpusort');
$session->query('SET max_parallel_workers_per_gather = 0; SET jit = off');
my $memory = $part eq 'gpu' ? '16GB' : '4GB';
$session->query("SET work_mem = '$memory'; SET gpusort.work_mem = '$memory'") if $part ne 'stock';
make_tables($session);

my @results;
my $missed = 0;
my $title = { memory => 'In memory', stock => 'Stock postgresql.conf', gpu => 'In memory, with ' . device() }->{$part};
printf "\n%s: %d rows, %s\n\n", $title, $rows, $session->query('SHOW server_version');
printf "%-36s %11s%s %6s\n", '', 'plain SQL', join('', map { sprintf ' %11s %6s', $_, 'ratio' } @engines), 'target';
for my $line (@wanted)
{
	my ($name, $target, $plain, $ours) = @$line;
	my %ms;
	my %answer;
	for my $run (0 .. $runs)
	{
		for my $side ('plain', @engines)
		{
			next if $side eq 'plain' && $run > ($plain_runs > 1 ? $plain_runs : 0);
			$session->query($side eq 'plain' ? 'SET gpusort.enabled = off'
				: "SET gpusort.enabled = on; SET gpusort.engine = $side");
			(my $ms, $answer{$side}) = timed($session, $side eq 'plain' ? $plain : $ours);
			# the first turn warms up, unless there is no other
			push @{ $ms{$side} }, $ms if $run > 0 || ($side eq 'plain' && $plain_runs < 2);
			die "$name: $answer{$side} on $side, $answer{plain} by plain SQL\n" if $answer{$side} ne $answer{plain};
		}
	}
	my %median = map { $_ => Session::median(@{ $ms{$_} }) } keys %ms;
	my $ratio = $median{plain} / $median{cpu};
	my $below = defined $target && $ratio < $target;

	$missed++ if $below;
	printf "%-36s %8.1f ms%s %6s%s\n", $name, $median{plain},
	  join('', map { sprintf ' %8.1f ms %6.2f', $median{$_}, $median{plain} / $median{$_} } @engines), $target // '',
	  $below ? ' !' : '';
	push @results,
	  {
		line => $name,
		target => $target,
		plain => $plain,
		query => $ours,
		ms => \%ms,
		median_ms => \%median,
		ratio => { map { $_ => $median{plain} / $median{$_} } @engines } };
}
printf "\n%d of %d lines below their target\n", $missed, scalar @results;
my $stat = $session->query("SELECT string_agg(format('%s on %s: %s jobs', op, engine,
	jobs) || coalesce(', ' || fallback, ''),
	'; ' ORDER BY op, engine) FROM gpusort_stat WHERE jobs > 0");
print "$stat\n" if $part eq 'gpu';

my ($cpu) = do { open my $f, '<', '/proc/cpuinfo' or die; grep { /^model name/ } <$f> };
open my $file, '>', $json_file or die "$json_file: $!";
print $file JSON::PP->new->pretty->canonical->encode(
	{
		part => $part,
		rows => $rows + 0,
		server => $session->query('SELECT version()'),
		cpu => $cpu ? $cpu =~ s/^.*?: |\n//gr : '',
		device => device(),
		commit => $ENV{COMMIT} // '',
		stat => $stat,
		date => scalar(gmtime),
		results => \@results });
close $file;
$session->finish;
