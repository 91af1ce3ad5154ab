# Session.pm: a psql session that benchmark scripts talk to.
package Session;

use strict;
use warnings;

use IPC::Open2;
use JSON::PP;
use POSIX qw(sysconf _SC_CLK_TCK);
use Time::HiRes qw(time);

# Opens a session to a database.
sub new
{
	my ($class, $psql, $database) = @_;
	my $self = { n => 0 };

	$self->{pid} = open2($self->{out}, $self->{in}, "$psql -X -q -A -t -d $database 2>&1");
	binmode $_, ':utf8' for $self->{out}, $self->{in};
	bless $self, $class;
	$self->query('SET client_min_messages = warning');
	return $self;
}

# Runs statements and gives each line that they print to a function; dies at an error.
sub stream
{
	my ($self, $sql, $line_seen) = @_;
	my $marker = 'end of query ' . ++$self->{n};
	my $error = '';

	print { $self->{in} } "$sql;\n\\echo '$marker'\n";
	$self->{in}->flush;
	while (defined(my $line = readline $self->{out}))
	{
		if ($line eq "$marker\n")
		{
			die "$sql\n$error" if $error ne '';
			return;
		}
		if ($error ne '' || $line =~ /^(ERROR|FATAL|psql): /) { $error .= $line }
		else { $line_seen->($line) }
	}
	die "the session ended\n$sql\n$error";
}

# Runs statements and returns what they print; dies at an error.
sub query
{
	my ($self, $sql) = @_;
	my $text = '';

	$self->stream($sql, sub { $text .= $_[0] });
	chomp $text;
	return $text;
}

# Waits until a table is held, but for columns that cannot be: strings of which most are different.
sub wait_held
{
	my ($self, $table) = @_;

	sleep 1
		until $self->query("SELECT bool_or(state = 'ready') AND NOT bool_or(state = 'loading') FROM gpusort_columns "
			. "WHERE rel = '$table'::regclass") eq 't';
	return;
}

# Runs a query whose rows psql reads from the socket and throws away, and returns the milliseconds that it took.
sub discard
{
	my ($self, $query) = @_;
	return $self->milliseconds("COPY ($query) TO STDOUT \\g /dev/null\n");
}

# Runs statements and returns the milliseconds that they took.
sub milliseconds
{
	my ($self, $sql) = @_;
	my $start = time;

	$self->query($sql);
	return (time - $start) * 1000;
}

# EXPLAIN (ANALYZE, TIMING OFF) of a query as a structure.
sub analyze
{
	my ($self, $query) = @_;
	return decode_json($self->query("EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) $query"))->[0];
}

# The server process of the session.
sub backend
{
	my ($self) = @_;
	return $self->{backend} //= $self->query('SELECT pg_backend_pid()');
}

# Milliseconds that the server process has been on a processor.
sub cpu_ms
{
	my ($self) = @_;
	my $path = '/proc/' . $self->backend . '/schedstat';

	open my $file, '<', $path or die "$path: $!\n";
	my ($ns) = split ' ', readline $file;
	close $file;
	return $ns / 1e6;
}

# The same and that of the server's processes that have ended, as workers do behind each query.
sub server_ms
{
	my ($self) = @_;
	my $tick = 1000 / sysconf(_SC_CLK_TCK);

	open my $own, '<', '/proc/' . $self->backend . '/stat' or die "stat: $!\n";
	my $postmaster = (split / /, readline($own) =~ s/^.*\) //sr)[1];
	open my $parent, '<', "/proc/$postmaster/stat" or die "stat: $!\n";
	my @times = split / /, readline($parent) =~ s/^.*\) //sr;
	return $self->cpu_ms + ($times[13] + $times[14]) * $tick;
}

# The nodes of a plan that sort.
sub sorts
{
	my ($plan) = @_;
	my @found = grep { ($_->{'Custom Plan Provider'} // '') eq 'GpuSort' || $_->{'Node Type'}
		=~ /^(Incremental )?Sort$/ } $plan;
	return (@found, map { sorts($_) } @{ $plan->{Plans} // [] });
}

sub median
{
	my @sorted = sort { $a <=> $b } @_;
	return @sorted % 2 ? $sorted[ @sorted / 2 ] : ($sorted[ @sorted / 2 - 1 ] + $sorted[ @sorted / 2 ]) / 2;
}

sub finish
{
	my ($self) = @_;
	close $self->{in};
	waitpid $self->{pid}, 0;
	return;
}

# Runs statements in eight sessions at once, each for its part of the row numbers; {from} and {to} stand for it.
sub in_parallel
{
	my ($psql, $n, $sql, $database) = (@_, 'postgres');
	my @sessions = map { __PACKAGE__->new($psql, $database) } 1 .. 8;
	my @children;
	for my $i (0 .. 7)
	{
		my ($from, $to) = (int($n * $i / 8) + 1, int($n * ($i + 1) / 8));
		my $pid = fork() // die "fork: $!";
		if ($pid == 0)
		{
			$sessions[$i]->query($sql =~ s/\{from\}/$from/r =~ s/\{to\}/$to/r);
			exec 'true';
		}
		push @children, $pid;
	}
	foreach my $child (@children)
	{
		waitpid $child, 0;
		die "loading failed\n" if $?;
	}
	return;
}

1;
