#!/usr/bin/perl
# strings.pl BINDIR DATABASE: the processor time of queries over hits, answered from columns, whose conditions and keys
# take functions of strings: that of the session and of all threads of the service, a median of RUNS (default 11).
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use Processor;
use Session;

my ($bindir, $database) = @ARGV;
my $runs = $ENV{RUNS} || 11;
my $session = Session->new("$bindir/psql", $database);
my $backend = '/proc/' . $session->query('SELECT pg_backend_pid()');
my $site = q{regexp_replace(referer, '^https?://(?:www\.)?([^/]+)/.*$', '\1')};
my @tests = (
	[ 'LIKE, bytes' => "url LIKE '%google%'" ],
	[ 'LIKE' => "url LIKE 'http://%google%x%'" ],
	[ '<' => "url < 'http://h'" ],
	[ 'ILIKE' => "url ILIKE '%google%'" ],
	[ '~' => "url ~ 'goo+gle'" ],
	[ 'regexp_replace' => undef ]);
my @others = (
	[ 'none' => undef ],
	[ 'one of 140 rows' => 'counterid = 62' ],
	[ 'one of 8 rows' => "searchphrase <> ''" ],
	[ 'all rows' => 'userid <> 0' ],
	[ 'its own bytes' => "url LIKE '%google%'" ]);

# The median processor time of a query, in milliseconds.
sub median
{
	my ($query) = @_;
	my @times;

	for my $run (0 .. $runs)
	{
		my $used = -Processor::threads_ms($backend) - Processor::threads_ms(Processor::service($session));

		$session->query($query);
		push @times, $used + Processor::threads_ms($backend) + Processor::threads_ms(Processor::service($session))
			if $run > 0;
	}
	return (sort { $a <=> $b } @times)[ $runs / 2 ];
}

$session->query('SET max_parallel_workers_per_gather = 0; SET gpusort.columns = force');
$session->wait_held('hits');
printf "# processor time of functions of strings over columns, %s, %s rows, %s different URLs, %s, %s, load %s\n",
	$ENV{COMMIT} // '', $session->query('SELECT count(*) FROM hits'),
	$session->query(q{SELECT distinct_values FROM gpusort_columns WHERE "column" = 'url'}),
	$session->query('SHOW server_version'), scalar gmtime, `cut -d ' ' -f 1 /proc/loadavg` =~ s/\n//r;
printf "# ms, by what other condition there is\n%-20s%s\n", '', join '', map { sprintf '%18s', $_->[0] } @others;
foreach my $test (@tests)
{
	my ($name, $condition) = @$test;

	printf '%-20s', $name;
	foreach my $other (@others)
	{
		my $where = join ' AND ', grep { defined } $condition, $other->[1];

		$where = " WHERE $where" if $where ne '';
		$where =~ s/url/referer/ if !$condition;
		printf '%18.2f', median($condition ? "SELECT count(*) FROM hits$where" :
			"SELECT $site, count(*) FROM hits$where GROUP BY 1 HAVING count(*) > 10000");
	}
	print "\n";
}
$session->finish;
