# Processor.pm: processor time of the service and of sessions, for benchmarks.
package Processor;

use strict;
use warnings;

use POSIX qw(sysconf _SC_CLK_TCK);

# The service's process, as its directory in /proc.
sub service
{
	my ($session) = @_;
	my $data = $session->query('SHOW data_directory');

	foreach my $dir (glob '/proc/[0-9]*')
	{
		open my $file, '<', "$dir/cmdline" or next;
		my $line = readline $file // '';

		return $dir if $line =~ /gpusortd/ && (readlink("$dir/cwd") // '') eq $data;
	}
	die "there is no service\n";
}

# The processor time of such a process, with all its threads, in milliseconds.
sub milliseconds
{
	my ($dir) = @_;
	open my $file, '<', "$dir/stat" or die "$dir/stat: $!\n";
	my @fields = split / /, (readline($file) =~ s/^.*\) //sr);

	return ($fields[11] + $fields[12]) * 1000 / sysconf(_SC_CLK_TCK);
}

# That of its threads, which are all still there, to the microsecond, in milliseconds.
sub threads_ms
{
	my ($dir) = @_;
	my $ns = 0;

	foreach my $file (glob "$dir/task/*/schedstat")
	{
		open my $in, '<', $file or next;
		$ns += (split ' ', readline($in) // '0')[0];
	}
	return $ns / 1e6;
}

1;
