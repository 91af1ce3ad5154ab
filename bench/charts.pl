#!/usr/bin/perl
# charts.pl [FOLDER]: draws the charts of README.md from bench/results, each in light and in dark colours, as SVG files
# in doc/images or the folder named.  test/documents.pl holds those in doc/images against what this draws.
use strict;
use warnings;
use utf8;

use FindBin;
use JSON::PP;

my $folder = $ARGV[0] // "$FindBin::Bin/../doc/images";
my %themes = (
	light => { text => '#1f2328', faint => '#59636e', line => '#d1d9e0', strong => '#0969da', weak => '#8c959f' },
	dark => { text => '#f0f6fc', faint => '#9198a1', line => '#3d444d', strong => '#58a6ff', weak => '#6e7681' });
# on a phone three quarters of it are left: no letter is smaller than 13
my $width = 480;

sub result
{
	my ($name) = @_;
	local $/ = undef;
	open my $in, '<', "$FindBin::Bin/results/$name.json" or die "$name: $!\n";
	return decode_json(<$in>);
}

sub text
{
	my ($x, $y, $words, $fill, $anchor, $size) = @_;
	$words =~ s/&/&amp;/g;
	$words =~ s/</&lt;/g;
	return sprintf qq{<text x="%.1f" y="%.1f" fill="%s" text-anchor="%s" font-size="%d">%s</text>\n}, $x, $y, $fill,
	  $anchor // 'start', $size // 13, $words;
}

sub line
{
	my ($x1, $y1, $x2, $y2, $colour, $thick) = @_;
	return sprintf qq{<line x1="%.1f" y1="%.1f" x2="%.1f" y2="%.1f" stroke="%s" stroke-width="%s"/>\n}, $x1, $y1, $x2,
	  $y2, $colour, $thick // 1;
}

# A scale for ratios, logarithmic, from one x to another.
sub scale
{
	my ($least, $most, $from, $to) = @_;
	return sub { $from + ($to - $from) * log($_[0] / $least) / log($most / $least) };
}

# Lines of the scale at these ratios, with what they say below; that at 1 is stronger.
sub grid
{
	my ($c, $x, $top, $bottom, @ratios) = @_;
	return join '', map {
		line($x->($_), $top, $x->($_), $bottom, $_ == 1 ? $c->{faint} : $c->{line}, $_ == 1 ? 1.5 : 1)
		  . text($x->($_), $bottom + 16, "$_ ×", $c->{faint}, 'middle')
	} @ratios;
}

# Everyday queries: one row for each group, one dot for each query, the group's geometric mean as a stroke.
sub everyday
{
	my ($c) = @_;
	my $result = result('everyday-h200-stock');
	my $summary = $result->{summary}{cpu};
	my $x = scale(0.8, 21, 128, $width - 56);
	my (@groups, %seen);
	my $top = 92;
	my $hollow = qq{fill="none" stroke="$c->{weak}" stroke-width="1.5"};

	push @groups, grep { !$seen{$_}++ } map { $_->{group} } @{ $result->{queries} };
	my $bottom = $top + 30 * @groups;
	my $svg = text(0, 18, "$summary->{queries} everyday queries: how many times faster with gpusort", $c->{text},
		'start', 16)
	  . qq{<circle cx="6" cy="38" r="4.5" fill="$c->{strong}"/>}
	  . text(16, 43, 'a query whose plan gpusort changed', $c->{faint})
	  . qq{<circle cx="6" cy="60" r="4" $hollow/>}
	  . text(16, 65, "PostgreSQL's own plan", $c->{faint})
	  . line(206, 52, 206, 68, $c->{text}, 3) . text(216, 65, 'geometric mean of the group', $c->{faint})
	  . grid($c, $x, $top - 12, $bottom - 8, 1, 2, 3, 5, 10, 20);
	for my $g (0 .. $#groups)
	{
		my $y = $top + 30 * $g + 4;
		my $mean = $summary->{groups}{ $groups[$g] };

		$svg .= text(118, $y + 5, $groups[$g], $c->{text}, 'end');
		for my $query (grep { $_->{group} eq $groups[$g] } @{ $result->{queries} })
		{
			my $one = $query->{sides}{cpu};
			$svg .= sprintf qq{<circle cx="%.1f" cy="%.1f" %s><title>%s: %.2f</title></circle>\n},
			  $x->($one->{ratio}), $y,
			  $one->{unchanged} ? qq{r="4" $hollow} : qq{r="4.5" fill="$c->{strong}" fill-opacity="0.75"},
			  $query->{name} =~ s/&/&amp;/gr, $one->{ratio};
		}
		$svg .= line($x->($mean), $y - 11, $x->($mean), $y + 11, $c->{text}, 3)
		  . text($width - 5, $y + 5, sprintf('%.2f', $mean), $c->{text}, 'end');
	}
	$svg .= text(0, $bottom + 44, "TPC-H at scale factor $result->{sf}, stock settings, en_US.UTF-8;", $c->{faint})
	  . text(0, $bottom + 64, "$result->{cores} cores, CPU engine; medians of $result->{runs}"
		. ($result->{load} >= 0.5 ? ', beside other work' : ''), $c->{faint});
	return ($bottom + 72, $svg);
}

# One sort in one process: for each key two bars, with everything in memory and on stock settings.
sub sorts
{
	my ($c) = @_;
	my %ratio;
	my @keys;
	my $top = 92;

	for my $part ('memory', 'stock')
	{
		for my $line (@{ result("queries-$part")->{results} })
		{
			my $name = $line->{line};
			push @keys, $name unless grep { $_ eq $name } @keys;
			$ratio{$name}{$part} = $line->{ratio};
		}
	}
	my $x = scale(0.9, 18, 190, $width - 36);
	my $bottom = $top + 34 * @keys;
	my $svg = text(0, 18, 'ORDER BY in one process: how many times faster', $c->{text}, 'start', 16)
	  . qq{<rect x="0" y="31" width="12" height="12" fill="$c->{strong}"/>}
	  . text(18, 42, '10 million rows, everything in memory', $c->{faint})
	  . qq{<rect x="0" y="53" width="12" height="12" fill="$c->{weak}"/>}
	  . text(18, 64, '5 million rows, stock settings', $c->{faint})
	  . grid($c, $x, $top - 14, $bottom - 8, 1, 2, 3, 5, 10);
	for my $k (0 .. $#keys)
	{
		my $y = $top + 34 * $k - 6;

		$svg .= text(180, $y + 16, $keys[$k], $c->{text}, 'end');
		for (['memory', $y, 'strong'], ['stock', $y + 13, 'weak'])
		{
			my ($part, $at, $colour) = @$_;
			my $r = $ratio{ $keys[$k] }{$part};
			my ($from, $to) = sort { $a <=> $b } $x->(1), $x->($r);
			$svg .= sprintf qq{<rect x="%.1f" y="%.1f" width="%.1f" height="11" fill="%s"/>\n}, $from, $at,
			  $to - $from > 1 ? $to - $from : 1, $c->{$colour};
			$svg .= text($to + 6, $at + 10, sprintf('%.1f', $r), $c->{faint});
		}
	}
	$svg .= text(0, $bottom + 44, 'No GPU, no parallel workers; whole query; medians of 3;', $c->{faint})
	  . text(0, $bottom + 64, 'PostgreSQL 15.20; two cores of a Xeon (Sapphire Rapids)', $c->{faint});
	return ($bottom + 72, $svg);
}

# ClickBench's queries: for each two bars, columns on one side and DuckDB; hollow where columns have no part in it.
sub clickbench
{
	my ($c, $name, $ours) = @_;
	my $result = result($name);
	my @queries = grep { $_->{group} eq 'ClickBench' } @{ $result->{queries} };
	my $x = scale(0.5, 500, 50, $width - 10);
	my $top = 92;
	my $bottom = $top + 15 * @queries;
	my $svg = text(0, 18, "ClickBench's queries: times faster than PostgreSQL", $c->{text}, 'start', 16)
	  . qq{<rect x="0" y="31" width="12" height="12" fill="$c->{strong}"/>}
	  . text(18, 42, 'from resident columns', $c->{faint})
	  . qq{<rect x="180.5" y="31.5" width="11" height="11" fill="none" stroke="$c->{strong}"/>}
	  . text(198, 42, 'not from columns', $c->{faint})
	  . qq{<rect x="0" y="53" width="12" height="12" fill="$c->{weak}"/>}
	  . text(18, 64, 'DuckDB, in memory', $c->{faint})
	  . grid($c, $x, $top - 14, $bottom - 4, 1, 3, 10, 30, 100, 300);
	for my $q (0 .. $#queries)
	{
		my $query = $queries[$q];
		my $y = $top + 15 * $q - 6;

		$svg .= text(40, $y + 10, $query->{name}, $c->{text}, 'end');
		for ([$ours, $y, 'strong'], ['duckdb', $y + 6, 'weak'])
		{
			my ($side, $at, $colour) = @$_;
			my $ms = $query->{sides}{$side}{ms} or next;
			my $ratio = $query->{sides}{off}{ms} / $ms;
			my ($from, $to) = sort { $a <=> $b } $x->(1), $x->($ratio < 0.5 ? 0.5 : $ratio > 500 ? 500 : $ratio);
			my $hollow = $side eq $ours && !$query->{sides}{$side}{source}{from};

			$svg .= sprintf qq{<rect x="%.1f" y="%.1f" width="%.1f" height="5" %s><title>%s: %.1f</title></rect>\n},
			  $from, $at, $to - $from > 1 ? $to - $from : 1,
			  $hollow ? qq{fill="none" stroke="$c->{$colour}"} : qq{fill="$c->{$colour}"}, $query->{name}, $ratio;
		}
	}
	$svg .= text(0, $bottom + 44, sprintf('%.1f million rows like ClickBench\'s, %d cores, %s; PostgreSQL %s',
		$result->{rows}{hits} / 1e6, $result->{cores}, $ours eq 'gpu' ? 'columns on an H200' : 'no GPU',
		$result->{version} =~ s/ .*//r), $c->{faint})
	  . text(0, $bottom + 64, ($result->{clock} eq 'processor' ? 'by processor time, ' : '')
		. "with $result->{workers} workers, DuckDB $result->{duckdb}", $c->{faint});
	return ($bottom + 72, $svg);
}

my %charts = (everyday => \&everyday, sorts => \&sorts,
	clickbench => sub { clickbench($_[0], 'clickbench-cpu2-1m', 'cpu') },
	'clickbench-gpu' => sub { clickbench($_[0], 'clickbench-h200-10m', 'gpu') });
for my $name (sort keys %charts)
{
	for my $theme (sort keys %themes)
	{
		my ($height, $svg) = $charts{$name}->($themes{$theme});
		open my $out, '>:encoding(UTF-8)', "$folder/$name-$theme.svg" or die "$folder/$name-$theme.svg: $!\n";
		print $out qq{<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 $width $height" },
		  qq{width="$width" height="$height" },
		  qq{font-family="system-ui, -apple-system, 'Segoe UI', 'DejaVu Sans', sans-serif">\n$svg</svg>\n};
		close $out or die "$folder/$name-$theme.svg: $!\n";
	}
}
