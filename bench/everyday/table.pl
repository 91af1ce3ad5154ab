#!/usr/bin/perl
# table.pl PAGE JSON...: puts what everyday.pl measured of a part, everyday or tpcds, into doc/benchmarks.md, between
# its comments "PART" and "/PART".
#
# The table has every query whose plan gpusort changed, and every one that became slower, on any machine; below it, by
# reason, those that stayed as they were on the first.
use strict;
use warnings;

use JSON::PP;

my ($page, @files) = @ARGV;
die "usage: table.pl PAGE JSON...\n" unless @files;
my @results = map { decode_json(slurp($_)) } @files;

sub slurp
{
	my ($file) = @_;
	local $/ = undef;
	open my $in, '<', $file or die "$file: $!";
	return <$in>;
}

# The sides of a result that are compared with another.
sub compared
{
	my ($result) = @_;
	return grep { !/^off/ } @{ $result->{sides} };
}

# A query of a result by name, or one that was not run.
sub query
{
	my ($result, $name) = @_;
	my ($found) = grep { $_->{name} eq $name } @{ $result->{queries} };
	return $found // { name => $name, sides => {} };
}

# Is there something to tell about a query?
sub remarkable
{
	my ($name) = @_;
	foreach my $result (@results)
	{
		my $sides = query($result, $name)->{sides};
		foreach my $one (grep { defined } @$sides{ compared($result) })
		{
			return 1 if $one->{timeout} || !$one->{unchanged} || $one->{ratio} < 0.97;
		}
	}
	return 0;
}

sub ms
{
	my ($one) = @_;
	return !$one ? '' : $one->{timeout} ? 'given up' : sprintf $one->{ms} < 10 ? '%.1f ms' : '%.0f ms', $one->{ms};
}

# A query's cells for one result.
sub cells
{
	my ($result, $name) = @_;
	my $sides = query($result, $name)->{sides};
	return map {
		my $one = $sides->{$_};
		(ms($one), /^off/ ? () : defined $one->{ratio} ? sprintf '%.2f', $one->{ratio} : '')
	} @{ $result->{sides} };
}

# What the cells of one result are.
sub heads
{
	my ($result) = @_;
	my %say = (off => 'PostgreSQL', on => 'gpusort', cpu => 'gpusort, CPU', gpu => 'gpusort, GPU');
	return map {
		my $words = s/^(\w+)/$say{$1}/r =~ s/\+/, /gr;
		("$result->{cores} cores: $words", /^off/ ? () : 'ratio')
	} @{ $result->{sides} };
}

# The cells of the last line.
sub means
{
	my ($result) = @_;
	return map { ('', /^off/ ? () : sprintf '**%.2f**', $result->{summary}{$_}{geometric_mean}) } @{ $result->{sides} };
}

sub row
{
	return '| ' . join(' | ', @_) . " |\n";
}

# What a result was measured on.
sub machine
{
	my ($result) = @_;
	return "$result->{cores} cores of $result->{cpu}" . ($result->{device} ? " and one $result->{device}" : '')
	  . ', PostgreSQL ' . $result->{server} =~ s/ .*//r . ', JIT ' . ($result->{jit} eq 't' ? 'on' : 'not built in')
	  . ", medians of $result->{runs}, $result->{date} UTC" =~ s/ \d\d:\d\d:\d\d//r
	  . ($result->{load} >= 0.5 ? ", **with other work running beside (load $result->{load})**" : '');
}

# Which queries stayed as they were, by reason.
sub unchanged
{
	my ($result, $side) = @_;
	my $reasons = $result->{summary}{$side}{unchanged};
	return map { "* $_: " . join('; ', @{ $reasons->{$_} }) . "\n" }
	  sort { @{ $reasons->{$b} } <=> @{ $reasons->{$a} } || $a cmp $b } keys %$reasons;
}

my $first = $results[0];
my ($side) = compared($first);
my $summary = $first->{summary}{$side};
my @names = grep { remarkable($_) } map { $_->{name} } @{ $first->{queries} };
my $slower = @{ $summary->{under_097} };
my $text = "Scale factor $first->{sf}; " . join('; ', map { machine($_) } @results) . ".\n\n"
  . row('query', map { heads($_) } @results)
  . '|' . '---|' x (1 + map { heads($_) } @results) . "\n"
  . join('', map { my $name = $_; row($name, map { cells($_, $name) } @results) } @names)
  . row("**geometric mean of all $summary->{queries}**", map { means($_) } @results)
  . "\nOn $first->{cores} cores gpusort changed the plan of $summary->{changed} queries (their geometric mean: "
  . sprintf('%.2f', $summary->{changed_geometric_mean})
  . "); $slower became slower by more than 3 %, $summary->{under_097_unchanged} of them with PostgreSQL's own plan. "
  . "Why it left the others alone:\n\n"
  . join '', unchanged($first, $side);

my $old = slurp($page);
$old =~ s/(<!-- $first->{part} -->\n).*?(<!-- \/$first->{part} -->\n)/$1\n$text\n$2/s
  or die "$page has no place for the table.\n";
open my $out, '>', $page or die "$page: $!";
print $out $old;
close $out;
