#!/usr/bin/perl
# join.pl JSON...: what everyday.pl measured of parts of the queries that ran at once, as one result; prints JSON.  Its
# sides are those that all parts have.
use strict;
use warnings;

use JSON::PP;
use List::Util qw(sum);

my @parts = map { decode_json(slurp($_)) } @ARGV;
die "usage: join.pl JSON...\n" unless @parts;

sub slurp
{
	my ($file) = @_;
	local $/ = undef;
	open my $in, '<', $file or die "$file: $!";
	return <$in>;
}

# A geometric mean over all parts of one that stands in each of them, of as many queries as another number says.
sub mean
{
	my ($side, $name, $count) = @_;
	my ($sum, $n) = (0, 0);

	foreach my $summary (grep { $_->{$count} } map { $_->{summary}{$side} } @parts)
	{
		$sum += $summary->{$count} * log $summary->{$name};
		$n += $summary->{$count};
	}
	return $n ? exp($sum / $n) : undef;
}

# The geometric mean of each group of queries, of which parts may have some each.
sub groups
{
	my ($side) = @_;
	my %found;

	foreach my $query (grep { defined $_->{sides}{$side}{ratio} } map { @{ $_->{queries} } } @parts)
	{
		push @{ $found{ $query->{group} } }, log $query->{sides}{$side}{ratio};
	}
	return { map { $_ => exp(sum(@{ $found{$_} }) / @{ $found{$_} }) } keys %found };
}

# The summary of a side.
sub summary
{
	my ($side) = @_;
	my @all = map { $_->{summary}{$side} } @parts;
	my %result = (base => $all[0]{base}, under_097 => [], timeouts => [], wrong => [], groups => {}, unchanged => {});

	foreach my $one (@all)
	{
		$result{$_} += $one->{$_} foreach qw(queries changed under_097_unchanged);
		push @{ $result{$_} }, @{ $one->{$_} } foreach qw(under_097 timeouts wrong);
		push @{ $result{unchanged}{$_} }, @{ $one->{unchanged}{$_} } foreach keys %{ $one->{unchanged} };
	}
	$result{groups} = groups($side);
	$result{$_} = mean($side, $_, 'queries') foreach qw(geometric_mean executor_geometric_mean);
	$result{changed_geometric_mean} = mean($side, 'changed_geometric_mean', 'changed');
	return \%result;
}

my %joined = %{ $parts[0] };
$joined{sides} =
	[ grep { my $side = $_; @parts == grep { grep { $_ eq $side } @{ $_->{sides} } } @parts } @{ $parts[0]{sides} } ];
$joined{queries} = [ sort { ($a->{number} // 0) <=> ($b->{number} // 0) } map { @{ $_->{queries} } } @parts ];
$joined{summary} = { map { $_ => summary($_) } grep { !/^off/ } @{ $joined{sides} } };
$joined{label} =~ s/-\d+$//;
print JSON::PP->new->canonical->pretty->encode(\%joined);
