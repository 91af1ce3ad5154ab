#!/usr/bin/perl
# progress.pl NAME CALLGRIND_FILE: which share of the executor's instructions telling gpusort_progress takes, as a line:
# those of the functions of progress.c and sorter_progress.c and of all that they call, but for the server's start, and
# those of the lines elsewhere that call them or look whether it is time.  The file is callgrind's, without compression.
use strict;
use warnings;

my ($name, $calls) = @ARGV;
my $telling_file = qr{/src/(?:engine/progress|core/sorter_progress)\.c$};
my $telling_line = qr/PROGRESS_|\bsorter_report/;
my $start = qr/^progress_(?:attach|init|shared_bytes)$/;

# Numbers of the lines of one of our files that have to do with it.
my %lines;

sub tells
{
	my ($file, $number) = @_;

	if ($file =~ m{/src/[\w/]+\.[ch]$} && !$lines{$file})
	{
		open my $source, '<', $file or die "$file: $!\n";
		while (<$source>) { $lines{$file}{$.} = 1 if /$telling_line/ }
		close $source;
		$lines{$file}{0} = 0;
	}
	return $lines{$file} && $lines{$file}{$number};
}

my ($telling, $executor, $told) = (0, 0, 0);
# where a function is written, its name, the file of the current line, and the function that is called there
my ($home, $function, $file, $callee_file, $callee, $is_call) = ('', '', '', '', '', 0);

open my $in, '<', $calls or die "$calls: $!\n";
while (<$in>)
{
	if (/^fl=(.*)/) { $home = $file = $1 }
	elsif (/^f[ie]=(.*)/) { $file = $1 }
	elsif (/^fn=(.*)/) { $function = $1 }
	elsif (/^cf[il]=(.*)/) { $callee_file = $1 }
	elsif (/^cfn=(.*)/) { $callee = $1 }
	elsif (/^calls=(\d+)/)
	{
		$is_call = 1;
		$callee_file = $file if $callee_file eq '';
		$told += $1 if $callee eq 'tell_now';
	}
	elsif (my ($line, $cost) = /^(\d+) (\d+)$/)
	{
		my $ours = ($home =~ $telling_file || $file =~ $telling_file) && $function !~ $start;

		# what is called there counts where it is written, unless it is somebody else's
		if ($is_call) { $telling += $cost if $ours && $callee_file !~ $telling_file }
		elsif ($ours || tells($file, $line)) { $telling += $cost }
		$executor += $cost if $is_call && $callee eq 'standard_ExecutorRun';
		($callee_file, $callee, $is_call) = ('', '', 0);
	}
}
close $in;
die "$calls tells of no executor\n" if $executor == 0;
die "$calls tells of no progress: was gpusort built without -g?\n" if $telling == 0;
printf "%-44s %14d %10d %8d %8.4f %%\n", $name, $executor, $telling, $told, 100 * $telling / $executor;
