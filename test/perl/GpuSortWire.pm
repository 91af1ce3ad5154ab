# GpuSortWire.pm: a client that speaks the protocol itself, and returns the bytes that the server sends.
package GpuSortWire;

use strict;
use warnings;

use Carp;
use Exporter 'import';
use IO::Socket::UNIX;
use IPC::Open2;

our @EXPORT = qw(messages_of);

# A string of the protocol
sub text { return $_[0] . "\0" }

# A message: its type ('' at the start of a connection) and its body
sub message { return $_[0] . pack('N', length($_[1]) + 4) . $_[1] }

# Connects to a socket, or through a program whose command is given instead; the rest are parameters of the start.
sub new
{
	my ($class, $path, %parameters) = @_;
	my $self = bless { path => $path, bytes => '' }, $class;
	if (ref $path) { $self->{program} = open2($self->{from}, $self->{to}, @$path) }
	else { $self->{from} = $self->{to} = IO::Socket::UNIX->new(Peer => $path) or croak "no connection: $!" }
	my %all = (user => $ENV{PGUSER} // scalar(getpwuid($>)), database => 'postgres', %parameters);

	$self->send(message('', pack('N', 196608) . join('', map { text($_) } %all) . "\0"));
	my $start = $self->until_ready;
	($self->{pid}, $self->{secret}) = map { unpack 'NN', $_->[1] } grep { $_->[0] eq 'K' } messages_of($start);
	return $self;
}

# Sends bytes.
sub send
{
	my ($self, $bytes) = @_;
	while (length $bytes)
	{
		my $sent = syswrite($self->{to}, $bytes) // croak "cannot send: $!";
		substr($bytes, 0, $sent) = '';
	}
	return;
}

# Reads more; false at the end of the connection.
sub more
{
	my ($self) = @_;
	return sysread($self->{from}, $self->{bytes}, 1 << 18, length $self->{bytes});
}

# Reads the next message whole: its bytes, undef at the end of the connection.
sub next_message
{
	my ($self) = @_;
	my $end;
	while (1)
	{
		$end = length($self->{bytes}) >= 5 ? 1 + unpack('N', substr($self->{bytes}, 1, 4)) : undef;
		last if defined $end && length($self->{bytes}) >= $end;
		$self->more or return;
	}
	return substr($self->{bytes}, 0, $end, '');
}

# All bytes up to a message of one of these types; all there are at the end of the connection.
sub until_message
{
	my ($self, $types) = @_;
	my $bytes = '';
	while (defined(my $message = $self->next_message))
	{
		$bytes .= $message;
		return $bytes if $message =~ /^[$types]/;
	}
	return $bytes;
}

# All bytes until the server is ready.
sub until_ready { return $_[0]->until_message('Z') }

# What the server sends for statements by the simple protocol.
sub simple
{
	my ($self, @statements) = @_;
	my $bytes = '';
	for my $sql (@statements)
	{
		$self->send(message('Q', text($sql)));
		$bytes .= $self->until_ready;
	}
	return $bytes;
}

# Runs a statement and throws away what comes: as little work as a client can have.  Returns the number of bytes.
sub discard
{
	my ($self, $sql) = @_;
	my ($bytes, $part) = (0, '');

	$self->send(message('Q', text($sql)));
	do
	{
		my $read = sysread($self->{from}, $part, 1 << 18) || croak 'the connection ended';
		croak "an error: $part" if $bytes == 0 && $part =~ /^E/;
		$bytes += $read;
	} until (substr($part, -6) =~ /^Z\x00\x00\x00\x05[IT]$/);
	return $bytes;
}

# The same by the extended protocol: result formats, and a limit of rows for each Execute
sub extended
{
	my ($self, $sql, $formats, $limit) = @_;
	my $execute = message('E', text('') . pack('N', $limit // 0));
	my $bytes = '';
	my $part;

	$self->send(message('P', text('') . text($sql) . pack('n', 0))
		. message('B', text('') . text('') . pack('n*', 0, 0, scalar @$formats, @$formats))
		. message('D', 'P' . text('')));
	do
	{
		$self->send($execute . message('H', ''));
		$bytes .= $part = $self->until_message('CEIs');
	} while ($part =~ /s\x00\x00\x00\x04\z/);
	$self->send(message('S', ''));
	return $bytes . $self->until_ready;
}

# Statements sent at once, by the extended protocol, without waiting for answers
sub pipeline
{
	my ($self, @statements) = @_;
	$self->send(join '', (map { message('P', text('') . text($_) . pack('n', 0)) . message('B', "\0" x 8)
		  . message('D', 'P' . text('')) . message('E', text('') . pack('N', 0)) } @statements), message('S', ''));
	return $self->until_ready;
}

# Two portals of one transaction, each stopped after some rows while the other goes on, until both end
sub portals
{
	my ($self, $limit, @statements) = @_;
	my $bytes = '';
	my @open = ('a', 'b');

	$self->send(message('Q', text('BEGIN')));
	$self->send(message('P', text('') . text($statements[$_]) . pack('n', 0))
		  . message('B', text($open[$_]) . text('') . pack('n*', 0, 0, 1, $_))) foreach 0, 1;
	while (@open)
	{
		my $portal = shift @open;
		$self->send(message('E', text($portal) . pack('N', $limit)) . message('H', ''));
		$bytes .= my $part = $self->until_message('CEIs');
		push @open, $portal if $part =~ /s\x00\x00\x00\x04\z/;
	}
	$self->send(message('S', '') . message('Q', text('COMMIT')));
	return $bytes . $self->until_ready . $self->until_ready;
}

# Messages as pairs of type and body.
sub messages_of
{
	my ($bytes) = @_;
	my @messages;
	while (length $bytes)
	{
		my ($type, $length) = unpack 'a1N', $bytes;
		push @messages, [ $type, substr($bytes, 5, $length - 4) ];
		substr($bytes, 0, 1 + $length) = '';
	}
	return @messages;
}

# Cancels what another connection runs.
sub cancel
{
	my ($self) = @_;
	my $socket = IO::Socket::UNIX->new(Peer => $self->{path}) or croak "no connection: $!";
	syswrite($socket, message('', pack('NNN', 80877102, $self->{pid}, $self->{secret})));
	sysread($socket, my $nothing, 1);
	return;
}

sub pid { return $_[0]->{pid} }

# Ends the connection, also in the middle of an answer.
sub close
{
	my ($self) = @_;
	CORE::close($_) foreach $self->{to}, $self->{from};
	kill('TERM', $self->{program}) && waitpid($self->{program}, 0) if $self->{program};
	return;
}

1;
