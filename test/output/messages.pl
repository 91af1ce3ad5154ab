#!/usr/bin/perl
# messages.pl NAME OFF AGAIN ON: compares what record.pl kept of a test in three directories.  Only what is the same with
# the output off and off again can be asked of it on; prints how many messages are not, and those that differ.  Fails if
# any differs.  What EXPLAIN says of the output is left out: a line, and plans that are one value.
use strict;
use warnings;

use FindBin;
use lib "$FindBin::Bin/../perl";
use GpuSortWire;

my ($name, @runs) = @ARGV;
my ($compared, $unsteady, $different) = (0, 0, 0);

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
		elsif ($first ne $third && $third !~ $explained && ++$different <= 20)
		{
			print "$file, message $i:\n  off: ", shown($first), "\n  on:  ", shown($third), "\n";
		}
	}
}
print "$name: $compared messages, $unsteady differ without output, too, $different with it\n";
exit($different > 0 || $compared == 0);
