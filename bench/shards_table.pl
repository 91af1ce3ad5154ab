#!/usr/bin/perl
# shards_table.pl PAGE FILE...: puts what bench/shards.sh printed, of postgres_fdw and of Citus, into one table for each
# number of shards between the comments "<!-- shards -->" and "<!-- /shards -->" of a page; test/documents.pl holds
# doc/shards.md against it.  Lines that a run was cut off before are "–".
use strict;
use warnings;

my ($page, @files) = @ARGV;
my @ways = ('postgres_fdw', 'Citus');
my (%cells, %ratios, %means, @names, %seen);

sub slurp
{
	my ($file) = @_;
	local $/ = undef;
	open my $in, '<', $file or die "$file: $!\n";
	return scalar <$in>;
}

sub geometric_mean
{
	my $sum = 0;
	$sum += log for @_;
	return exp($sum / @_);
}

# off, on, ratio, no sort, at most, here, workers, and CPU off, on, ratio, no sort, at most
my $number = qr/\s+([\d.]+)/;
my $cpu = qr/\s+[\d.]+ \([\d.]+\)/;
my $columns = qr/\s+[\d.]+\s+[\d.]+$number\s+[\d.]+$number$number$number$cpu$cpu$number$cpu$number/;

for my $line (map { split /\n/, slurp($_) } @files)
{
	our ($way, $n);

	die "wrong rows: $line\n" if $line =~ /WRONG ROWS/;
	($way, $n) = ($1, $2) if $line =~ /^(postgres_fdw|Citus)[\d. -]*, (\d+) shards/;
	$means{$n}{$way} = [ $1, $2 ] if $line =~ /^  \d+ queries: geometric mean ([\d.]+), CPU ([\d.]+);/;
	next unless $line =~ /^  (\S.*?)$columns$/;
	my ($name, $ratio, $most, $here, $there, $cpu_ratio, $cpu_most) = ($1, $2, $3, $4, $5, $6, $7);
	push @names, $name unless $seen{$name}++;
	$cells{$n}{$way}{$name} = sprintf '%.2f (%d / %d) | %.1f | %.2f | %.1f', $ratio, $here, $there, $most, $cpu_ratio,
	  $cpu_most;
	push @{ $ratios{$n}{$way}[0] }, $ratio;
	push @{ $ratios{$n}{$way}[1] }, $cpu_ratio;
}

my $text = "<!-- shards -->\n";
foreach my $n (sort { $a <=> $b } keys %cells)
{
	$text .= "\n| $n shards | postgres_fdw | at most | CPU | at most | Citus | at most | CPU | at most |\n"
	  . '|---' x 9 . "|\n";
	foreach my $name (@names)
	{
		$text .= join(' | ', "| $name", map { $cells{$n}{$_}{$name} // '– | – | – | –' } @ways) . " |\n";
	}
	$text .= '| **geometric mean** |';
	foreach my $way (@ways)
	{
		# what was printed, of numbers that were not rounded, or that of those lines that came
		foreach my $i (0, 1)
		{
			my @some = @{ $ratios{$n}{$way}[$i] };
			my $mean = $means{$n}{$way}[$i] // sprintf '%.2f, of %d', geometric_mean(@some), scalar @some;
			$text .= " **$mean** | |";
		}
	}
	$text .= "\n";
}
my $all = slurp($page);
$all =~ s/<!-- shards -->\n.*?(?=\n<!-- \/shards -->)/$text/s or die "$page has no place for the tables\n";
open my $out, '>', $page or die "$page: $!\n";
print $out $all;
close $out or die "$page: $!\n";
