#!/usr/bin/perl
# record.pl DIRECTORY COMMAND...: runs a client of the server at PGHOST and PGPORT behind a proxy, and keeps the bytes
# that the server sends it: a file for each connection, named by the part of PGAPPNAME behind its slash and a number.
use strict;
use warnings;

use File::Basename;
use File::Temp;
use IO::Select;
use IO::Socket::UNIX;
use POSIX qw(:sys_wait_h);

my ($directory, @command) = @ARGV;
my $name = "$directory/" . basename($ENV{PGAPPNAME});
my $socket = "/.s.PGSQL.$ENV{PGPORT}";
my $server = $ENV{PGHOST} . $socket;
my $place = File::Temp->newdir;
my $listener = IO::Socket::UNIX->new(Local => $place . $socket, Listen => 16) or die "$place$socket: $!";

# Hands bytes on; false: the other side is gone.
sub put
{
	my ($to, $bytes) = @_;
	while (length $bytes)
	{
		my $written = syswrite($to, $bytes) or return 0;
		substr($bytes, 0, $written) = '';
	}
	return 1;
}

# Serves a connection until one side ends it.
sub relay
{
	my ($client, $file) = @_;
	my $peer = IO::Socket::UNIX->new(Peer => $server) or return;
	my $select = IO::Select->new($client, $peer);
	open my $kept, '>:raw', $file or die "$file: $!";
	while (1)
	{
		foreach my $from ($select->can_read)
		{
			my $bytes = '';
			my $read = sysread($from, $bytes, 1 << 16);
			print {$kept} $bytes if $from == $peer;
			# what the server says last still goes to the client
			if (!$read && $from == $client) { $peer->shutdown(1); $select->remove($client) }
			elsif (!$read || !put($from == $peer ? $client : $peer, $bytes)) { return close $kept }
		}
	}
}

$SIG{PIPE} = 'IGNORE';
my $child = fork // die "fork: $!";
if ($child == 0)
{
	$ENV{PGHOST} = $place->dirname;
	$listener->close;
	exec @command or die "$command[0]: $!";
}
my $status;
my $connections = 0;
until (defined $status)
{
	my $client = IO::Select->new($listener)->can_read(0.1) ? $listener->accept : undef;
	if ($client && ++$connections && (fork // die "fork: $!") == 0)
	{
		relay($client, "$name.$connections");
		POSIX::_exit(0);
	}
	while ((my $ended = waitpid(-1, WNOHANG)) > 0)
	{
		$status = $? >> 8 if $ended == $child;
	}
}
# what is not whole yet
1 while wait != -1;
exit $status;
