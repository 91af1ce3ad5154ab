#!/usr/bin/perl
# messages.pl NAME OFF AGAIN ON: compares what record.pl kept of a test in three directories.  Only what is the same
# with the output off and off again can be asked of it on; prints how many messages are not, and those that differ.
# Fails if any differs.  What EXPLAIN says of the output is left out: a line, and plans that are one value.  Numbers of
# objects may differ, because now and then one more is used up, those of sessions in names of temporary schemas, the
# test stats' counters of pages, which other processes write, too, and how deep a recursion came: messages that differ
# in these alone are counted.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../perl";
use GpuSortWire;

my ($name, @runs) = @ARGV;
my ($compared, $unsteady, $numbers, $different) = (0, 0, 0, 0);

my $explained = qr/Client Rows"?: /;

# The messages of a connection without the key to cancel it
sub kept
{
	my ($file) = @_;
	open my $from, '<:raw', $file or return [];
	local $/ = undef;
	return [ grep { !(/^K/ || (/$explained/ && !/^.{7}.*\n/s)) }
		  map { "$_->[0]$_->[1]" } messages_of(readline($from) // '') ];
}

# A message without numbers of objects that are not the server's own, of sessions, and of what the server counts
sub without_numbers
{
	my ($message) = @_;
	my $number = sub { return $_[0] >= 16384 ? 0 : $_[0] };

	# RowDescription: each column's name, table, number, type and the rest
	if ($message =~ /^T/)
	{
		my @words = unpack 'x n/(Z* N n N a8)', $message;
		return join ' ', map { $_ % 5 == 1 || $_ % 5 == 3 ? $number->($words[$_]) : $words[$_] } 0 .. $#words;
	}
	# the answer to a call of a function, as of large objects
	return substr($message, 0, 5) if $message =~ /^V/;
	$message =~ s/(pg_(?:toast_)?temp_)\d+/$1/g;
	$message =~ s/(\0Mstack depth limit exceeded)\0.*/$1/s;
	return $message =~ s/\d{3,}/0/gr if $name eq 'stats';
	return $message =~ s/(?<!\d)(\d{5})(?!\d)/$number->($1)/ger;
}

# A message as one line
sub shown { return defined $_[0] ? substr($_[0], 0, 200) =~ s/[^ -~]/./gr : 'nothing' }

foreach my $file (map { s{.*/}{}r } glob "$runs[0]/$name.[0-9]*")
{
	my ($off, $again, $on) = map { kept("$_/$file") } @runs;
	my $last = $#{ (sort { @$b <=> @$a } $off, $again, $on)[0] };
	foreach my $i (0 .. $last)
	{
		my ($first, $second, $third) = map { $_->[$i] // '' } $off, $again, $on;
		$compared++;
		if ($first ne $second) { $unsteady++ }
		elsif (without_numbers($first) eq without_numbers($third)) { $numbers += $first ne $third }
		elsif ($third !~ $explained && ++$different <= 20)
		{
			print "$file, message $i:\n  off: ", shown($first), "\n  on:  ", shown($third), "\n";
		}
	}
}
print "$name: $compared messages, $unsteady differ without output, too, $numbers in numbers of objects, "
  . "$different with it\n";
exit($different > 0 || $compared == 0);
