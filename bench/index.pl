#!/usr/bin/perl
# index.pl PSQL POSTMASTER: what CREATE INDEX takes, by PostgreSQL's own build and by gpusort's; see index.sh.
use strict;
use warnings;

use FindBin;
use lib $FindBin::Bin;
use POSIX ();
use Session;

$| = 1;

my ($psql, $postmaster) = @ARGV;
my ($rows, $runs, $only, $mode) = ($ENV{ROWS}, $ENV{RUNS}, $ENV{ONLY} // '', $ENV{MODE} // 'on');
my $tick = 1000 / POSIX::sysconf(POSIX::_SC_CLK_TCK);
my $session = Session->new($psql, 'postgres');

# a name, the table, the columns of the index
my @shapes = (
	[ 'names', 'names', 'k' ],
	[ 'names, in order', 'names_sorted', 'k' ],
	[ 'names, unique', 'names', 'k, id' ],
	[ 'text, date', 'text_date', 'k, d' ],
	[ 'text, date, in order', 'text_dates', 'k, d' ],
	[ 'comments of 60', 'comments', 'k' ],
	[ 'ICU names', 'names', 'k COLLATE "en-x-icu"' ],
	[ 'ICU names, in order', 'icu_names', 'k COLLATE "en-x-icu"' ],
	[ 'ICU comments', 'comments', 'k COLLATE "en-x-icu"' ],
	[ 'int4 few, timestamp', 'few_stamps', 'k, t' ],
	[ 'the same, in order', 'stamps', 'k, t' ],
	[ 'lower(names)', 'names', 'lower(k)' ],
	[ 'varied names', 'varied', 'k' ],
	[ 'ascending texts', 'codes', 'k' ],
	[ 'few texts', 'text_date', 'k' ],
	[ 'int4 few, text', 'names', '(id % 1000), k' ],
	[ 'names "C"', 'names', 'k COLLATE "C"' ],
	[ 'int8', 'numbers', 'i' ],
	[ 'uuid', 'numbers', 'u' ],
	[ 'numeric', 'numbers', 'n' ],
	[ 'ascending', 'names', 'id' ]);

my $word = q{initcap(substr(translate(md5(random()::text), '0123456789', 'ghijklmnop'), 1, 3 + (random() * 7)::int))};
my %tables = (
	names => "SELECT i id, $word || ' ' || $word k FROM generate_series(1, $rows) i",
	varied => "SELECT translate($word || ' ' || $word, 'aeou', 'áéöü') k FROM generate_series(1, $rows) i",
	codes => "SELECT 'Customer#' || lpad(i::text, 9, '0') k FROM generate_series(1, $rows) i",
	text_date => "SELECT substr(k, 1, 2) k, date '2020-01-01' + (random() * 1000)::int d FROM (SELECT $word k FROM "
		. "generate_series(1, $rows)) s",
	# what PostgreSQL takes of these, without workers, is about what it takes of rows that gpusort has sorted
	names_sorted => 'SELECT * FROM names ORDER BY k',
	stamps => 'SELECT * FROM few_stamps ORDER BY k, t',
	icu_names => 'SELECT * FROM names ORDER BY k COLLATE "en-x-icu"',
	text_dates => 'SELECT * FROM text_date ORDER BY k, d',
	comments => "SELECT substr(string_agg(w, ' '), 1, 60) k FROM (SELECT i, ('{the,furiously,regular,deposits,haggle,"
		. "carefully,quickly,final,ideas,blithely,ironic,requests,sleep,bold,accounts}'::text[])[1 + (random() * "
		. "14)::int] w FROM generate_series(1, $rows) i, generate_series(1, 9)) s GROUP BY i",
	few_stamps => "SELECT (random() * 1000)::int k, timestamp '2020-01-01' + random() * interval '1000 days' t FROM "
		. "generate_series(1, $rows)",
	numbers => "SELECT (random() * 2e9)::int8 i, gen_random_uuid() u, (random() * 1e6)::numeric(12, 2) n FROM "
		. "generate_series(1, $rows)");

# Milliseconds of processors that the session took, and its workers that have ended.
sub used
{
	open my $stat, '<', "/proc/$postmaster/stat" or die "stat: $!";
	my @fields = split / /, readline($stat) =~ s/^.*\) //sr;
	return $session->cpu_ms + ($fields[13] + $fields[14]) * $tick;
}

# Makes a table, and before it one that it is made of.
sub make
{
	my ($table) = @_;
	my ($from) = $tables{$table} =~ /^SELECT \* FROM (\w+) ORDER/;

	make($from) if $from && $session->query("SELECT to_regclass('$from') IS NULL") eq 't';
	$session->query("CREATE TABLE $table AS $tables{$table}; VACUUM ANALYZE $table");
}

# One build: milliseconds, and those of processors.
sub build
{
	my ($how, $table, $columns) = @_;
	$session->query("SET gpusort.index_builds = $how");
	my $cpu = used();
	my $wall = $session->milliseconds("CREATE INDEX i ON $table ($columns)");
	$cpu = used() - $cpu;
	$session->query('DROP INDEX i');
	return ($wall, $cpu);
}

sub built { return $session->query("SELECT coalesce(sum(jobs), 0) FROM gpusort_stat WHERE op = 'index'") }

$session->query('SELECT setseed(0.5)');
printf "%s rows, %s runs, gpusort.index_builds = %s, %s; medians in ms\n\n", $rows, $runs, $mode,
	join ', ', map { "$_ = " . $session->query("SHOW $_") } qw(maintenance_work_mem max_parallel_maintenance_workers);
printf "%-22s %10s %10s %7s %10s %10s %7s  %s\n", '', 'PostgreSQL', 'gpusort', 'times', 'cpu', 'cpu', 'times', 'whose';
foreach my $shape (@shapes)
{
	my ($name, $table, $columns) = @$shape;
	my (@theirs, @ours);

	next if $name !~ /$only/;
	if ($session->query("SELECT to_regclass('$table') IS NULL") eq 't')
	{
		make($table);
	}
	build('off', $table, $columns);
	my $before = built();
	for (1 .. $runs)
	{
		push @theirs, [ build('off', $table, $columns) ];
		push @ours, [ build($mode, $table, $columns) ];
	}
	my ($w1, $w2, $c1, $c2) = map { my $i = $_; map { my $r = $_; Session::median(map { $_->[$i] } @$r) }
		(\@theirs, \@ours) } (0, 1);
	printf "%-22s %10.0f %10.0f %7.2f %10.0f %10.0f %7.2f  %s\n", $name, $w1, $w2, $w1 / $w2, $c1, $c2, $c1 / $c2,
		built() > $before ? 'gpusort' : 'PostgreSQL';
}
$session->finish;
