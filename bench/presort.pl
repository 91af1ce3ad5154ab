#!/usr/bin/perl
# presort.pl PSQL: aggregates that want their values sorted, with and without gpusort.  They are sorted below the
# aggregates by the plan of the server from PostgreSQL 16 on, and of gpusort before.
#
# One process, no JIT, stock memory, in turns in one session: CPU milliseconds of the server process, the best of three
# runs, their ratio, and whether the answers are the same.  ROWS, default 300 000.  Plans of what gains less than a
# tenth are shown.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use Session;

my $session = Session->new($ARGV[0], 'postgres');
my $rows = $ENV{ROWS} // 300_000;

my @queries = (
	[ 'median per flag',
		'SELECT flag, percentile_cont(0.5) WITHIN GROUP (ORDER BY qty::float8) AS x FROM li GROUP BY flag' ],
	[ 'percentile_disc per supplier',
		'SELECT supp, percentile_disc(0.5) WITHIN GROUP (ORDER BY qty) AS x FROM li GROUP BY supp' ],
	[ 'count distinct', 'SELECT count(DISTINCT part) AS x FROM li' ],
	[ 'count distinct per supplier', 'SELECT supp, count(DISTINCT part) AS x FROM li GROUP BY supp' ],
	[ 'count distinct two per supplier',
		'SELECT supp, count(DISTINCT part) AS x, count(DISTINCT cust) AS y FROM li GROUP BY supp' ],
	[ 'string_agg in order per customer',
		q{SELECT cust, string_agg(note, ',' ORDER BY ship, note) AS x FROM li GROUP BY cust} ],
	[ 'string_agg in order, two orders',
		q{SELECT cust, string_agg(note, ',' ORDER BY ship, note) AS x, array_agg(part ORDER BY part DESC) AS y FROM li
			GROUP BY cust} ],
	[ 'array_agg per customer', 'SELECT cust, array_agg(part ORDER BY qty, ship, part) AS x FROM li GROUP BY cust' ],
	[ 'string_agg of all', q{SELECT string_agg(note, ',' ORDER BY ship, part, qty) AS x FROM li} ],
	[ 'gpu_rle of all', 'SELECT gpu_rle(flag ORDER BY ship, part, cust) AS x FROM li' ],
	[ 'gpu_rle with a key', 'SELECT gpu_rle(flag, part) AS x FROM li' ],
	[ 'array_agg of all', 'SELECT array_agg(part ORDER BY qty, part) AS x FROM li' ],
	[ 'mode per supplier', 'SELECT supp, mode() WITHIN GROUP (ORDER BY part) AS x FROM li GROUP BY supp' ],
	[ 'count distinct text per flag', 'SELECT flag, count(DISTINCT note) AS x FROM li GROUP BY flag' ]);

$session->query('CREATE EXTENSION IF NOT EXISTS gpusort; SET jit = off; SET max_parallel_workers_per_gather = 0; SET '
	. 'gpusort.engine = cpu');
$session->query("CREATE UNLOGGED TABLE li AS SELECT abs(hashint8extended(i, 1) % ($rows / 30))::int4 AS part,
	abs(hashint8extended(i, 2) % ($rows / 600))::int4 AS supp, abs(hashint8extended(i, 3) % 3)::int4 AS flag,
	(abs(hashint8extended(i, 4) % 5000) / 100.0)::numeric(12,2) AS qty, date '1992-01-01' + abs(hashint8extended(i,
		5) % 2500)::int AS ship,
	abs(hashint8extended(i, 6) % ($rows / 40))::int4 AS cust, md5((i % 1000)::text) AS note FROM generate_series(1,
		$rows) AS i; ANALYZE li");
printf "%s, %d rows, CPU ms, best of 3\n", $session->query('SHOW server_version'), $rows;
for my $line (@queries)
{
	my ($name, $query) = @$line;
	my (%ms, %digest);

	for my $round (0 .. 3)
	{
		for my $on ('off', 'on')
		{
			$session->query("SET gpusort.enabled = $on");
			if ($round == 0)
			{
				$digest{$on} =
					$session->query("SELECT md5(string_agg(t::text, '' ORDER BY t::text)) FROM ($query OFFSET 0) AS t");
				next;
			}
			my $before = $session->cpu_ms;
			$session->query("EXPLAIN (ANALYZE, TIMING OFF) $query");
			my $took = $session->cpu_ms - $before;
			$ms{$on} = $took if !defined $ms{$on} || $took < $ms{$on};
		}
	}
	my $ratio = $ms{off} / $ms{on};
	printf "%-34s %8.0f %8.0f %6.2f %s\n", $name, $ms{off}, $ms{on}, $ratio, $digest{on} eq $digest{off} ? 'same'
		: 'DIFFERENT';
	print $session->query("SET gpusort.enabled = $_; EXPLAIN (COSTS OFF) $query"), "\n" for $ratio < 1.1 ? ('off', 'on')
		: ();
}
$session->query('DROP TABLE li');
$session->finish;
