#!/usr/bin/perl
# table.pl JSON: what clickbench.pl measured, as a text.
use strict;
use warnings;

use JSON::PP;
use List::Util qw(sum);

my ($file) = @ARGV;
my $result = decode_json(do { local $/; open my $in, '<', $file or die "$file: $!\n"; <$in> });
my @sides = grep { my $side = $_; grep { $_->{sides}{$side} } @{ $result->{queries} } } qw(off plain cpu gpu duckdb);
my %title = (off => 'PostgreSQL', plain => 'gpusort', cpu => 'columns', gpu => 'GPU', duckdb => 'DuckDB');

# The mean of factors.
sub mean { return @_ ? exp(sum(map { log } @_) / @_) : 0 }

# How many times a side is faster than PostgreSQL, or nothing.
sub factor
{
	my ($query, $side) = @_;
	my ($ours, $base) = map { $query->{sides}{$_}{ms} } $side, 'off';
	return $ours && $base ? $base / $ours : ();
}

# A line about some queries: factors' means.
sub means
{
	my ($what, @queries) = @_;
	return sprintf '%-28s %s', sprintf('%s (%d)', $what, scalar @queries), join '   ', map {
		my $side = $_;
		sprintf '%s %.1f', $title{$side}, mean(map { factor($_, $side) } @queries)
	} grep { $_ ne 'off' } @sides;
}

printf "# ClickBench's queries and others, %s, %d cores, PostgreSQL %s with %d workers%s, %s\n", $result->{commit},
  @$result{qw(cores version workers)}, $result->{duckdb} ? ", DuckDB $result->{duckdb}" : '', $result->{time};
printf "# hits: %d rows, %.0f MB; loaded as columns in %.1f s, %.0f MB\n", $result->{rows}{hits},
  $result->{bytes} / 1e6, $result->{load_ms}{hits} / 1e3, $result->{held_bytes} / 1e6;
printf "# %s\n", join '; ', map { sprintf '%s %.4g (%s%s)', @$_{qw(name ours wanted)}, $_->{met} ? '' : ', MISSED' }
  @{ $result->{targets} } if @{ $result->{targets} };
print "# ms of processor time, without parallel workers; a load of $result->{load} when the queries began\n"
  if ($result->{clock} // '') eq 'processor';
print "# queries without a time of gpusort alone were measured again: $result->{again}\n" if $result->{again};
print "# ms, medians of $result->{runs}; in brackets how many times faster than PostgreSQL; * from columns, "
  . "+ rows from them\n";
printf "%-40s%s\n", '', join '', map { sprintf '%20s', $title{$_} } @sides;
foreach my $query (@{ $result->{queries} })
{
	my $cells = '';

	foreach my $side (@sides)
	{
		my $one = $query->{sides}{$side} // {};
		my $mark = $side !~ /^[cg]pu$/ ? '' : { answer => '*', rows => '+' }->{ $one->{source}{from} // '' } // '';

		$cells .= sprintf '%20s', !defined $one->{ms} ? $one->{error} ? 'failed' : '-'
		  : $side eq 'off' ? sprintf '%.1f', $one->{ms}
		  : sprintf '%.2f%s%s (%s)', $one->{ms}, $mark, $one->{equal} ? '' : ' DIFFERS',
		  join '', map { sprintf '%.1f', $_ } factor($query, $side);
	}
	printf "%-40s%s\n", ($query->{group} eq 'ClickBench' ? '' : "$query->{group}: ") . $query->{name}, $cells;
}
my @clickbench = grep { $_->{group} eq 'ClickBench' } @{ $result->{queries} };
my @columns = grep { /^[cg]pu$/ } @sides;

# Queries of ClickBench that a side was asked, and answers from columns, or does not.
sub from_columns
{
	my ($side, $is) = @_;
	return grep { defined $_->{sides}{$side}{ms} && !!$_->{sides}{$side}{source}{from} eq !!$is } @clickbench;
}

print "# geometric means of how many times faster\n", means('ClickBench', @clickbench), "\n";
print means($_ eq 'cpu' ? 'from columns' : 'from columns, GPU', from_columns($_, 1)), "\n" foreach @columns;
print means('TPC-H and sales', grep { $_->{group} ne 'ClickBench' } @{ $result->{queries} }), "\n";
foreach my $side (@columns)
{
	printf "# %s, not from columns: %d of %d\n", $title{$side}, scalar(() = from_columns($side, 0)), scalar @clickbench;
	print map { "$_->{name}: $_->{sides}{$side}{source}{why}\n" }
	  grep { defined $_->{sides}{$side}{ms} && !$_->{sides}{$side}{source}{from} } @{ $result->{queries} };
}
