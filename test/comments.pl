#!/usr/bin/perl
# comments.pl LINES FILE...: functions of C and CUDA that are longer than so many lines and have no comment, neither
# where they are defined nor where they are declared; a line each: file, line, name, length.  Functions of one name in
# one file share a comment.
use strict;
use warnings;

my $limit = shift;
my (%told, @without);

# The first of the lines that belong to what ends at $end: those after a blank line, a comment, a directive or the end
# of something else.  In a group of declarations only the first two of these end it.
sub first_line
{
	my ($lines, $end, $group) = @_;
	my $ends = $group ? qr!^\s*$|\*/\s*$|[{}]\s*$! : qr!^\s*$|\*/\s*$|^\s*//|^\s*#|^\s*[{}]|[;}]\s*$|^\w+:\s*$!;
	my $from = $end;
	$from-- while $from > 0 && $lines->[ $from - 1 ] !~ $ends;
	return $from;
}

# Whether a comment ends right above a line, which is no heading: a file's name, or after dashes.  Directives may come
# between.
sub commented
{
	my ($lines, $from) = @_;
	$from-- while $from > 0 && $lines->[ $from - 1 ] =~ /^\s*#/;
	my $above = $from > 0 ? $lines->[ $from - 1 ] : '';
	return $above =~ m!\*/\s*$|^\s*//! && $above !~ m!^/\* (---|[\w./, ]+\.cu?h? \*/)|;\s*/\*!;
}

# What a function is called whose head this is; nothing if it is none.
sub name_of
{
	my ($head) = @_;
	$head =~ s!/\*.*?\*/!!gs;
	$head =~ s/\b(?:__launch_bounds__|__attribute__|pg_attribute_\w+|decltype|alignas)\s*(\((?:[^()]++|(?1))*\))//g;
	$head =~ s/\bNAME\((\w+)\)/$1/;
	$head =~ s/^\s*template\s*(<(?:[^<>]++|(?1))*>)//;
	return $head =~ /^\s*[\w:]/ && $head =~ /(operator\W+?|~?\w+)\s*\(/ ? $1 : undef;
}

for my $file (@ARGV)
{
	open my $in, '<', $file or die "$file: $!\n";
	my @lines = <$in>;
	my $struct = 0;
	for my $i (0 .. $#lines)
	{
		$struct = 0 if $lines[$i] =~ /^\}/;
		if ($lines[$i] =~ /^(\t?)\{\s*$/)
		{
			my $indent = $1;
			my $from = first_line(\@lines, $i);
			my $head = join '', @lines[ $from .. $i - 1 ];
			$struct = $head =~ /\b(?:struct|class|union)\s+\w+(?:<.*>)?\s*(?::[^()]*)?$/ if $indent eq '';
			next if $indent ne '' && !$struct || $head !~ /^$indent\w/ || $head =~ /=\s*$|^\s*(?:typedef|enum)\b/;
			my $name = name_of($head) // next;
			my $end = $i + 1;
			$end++ while $end < $#lines && $lines[$end] !~ /^$indent\}/;
			my $length = $end - $i - 1;
			if (commented(\@lines, $from)) { $told{"$file $name"} = 1 }
			elsif ($length > $limit)
			{
				push @without, [ $file, $from + 1, $name, $length, $indent ne '' || $head =~ /\bstatic\b/ ];
			}
		}
		elsif ($lines[$i] =~ m{^(?!\s*/?\*).*\)[^()]*;\s*(/\*.*)?$})
		{
			my $from = first_line(\@lines, $i);
			next unless $lines[$from] =~ ($struct ? qr/^\t?\w/ : qr/^\w/);
			my $name = name_of(join '', @lines[ $from .. $i ]) // next;
			$told{ $file =~ /h$/ && !$struct ? $name : "$file $name" } = 1
			  if $lines[$i] =~ m!\*/\s*$! || commented(\@lines, first_line(\@lines, $i, 1));
		}
	}
}
for (@without)
{
	my ($file, $line, $name, $length, $here) = @$_;
	print "$file:$line: $name, $length lines\n" unless $told{"$file $name"} || !$here && $told{$name};
}
