# GpuSortTest.pm: what the TAP tests share.
package GpuSortTest;

use strict;
use warnings;

use Exporter 'import';
use File::Basename;
use File::Find;
use POSIX ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

our @EXPORT = qw(start_node build_library plan_of temp_files rows_digest timed backend_kilobytes backend_seconds);

# A query in a background session: its output without the last newline, and whether there are errors.  Minor versions
# before 2025, 16.2 for one, leave the newline and do not wait for the errors, so this stands in for the method of all
# versions.
{
	my $queries = 0;

	no warnings 'redefine';
	*PostgreSQL::Test::BackgroundPsql::query = sub {
		my ($self, $query) = @_;
		my $end = 'end of query ' . ++$queries;
		my $output;

		$self->{timeout}->start if defined $self->{query_timer_restart};
		$self->{stdin} .= "$query\n;\n\\echo '$end'\n\\warn '$end'\n";
		until ($self->{stdout} =~ /^$end\n/m && $self->{stderr} =~ /^$end\n/m)
		{
			die 'psql query timed out' if $self->{timeout}->is_expired;
			$self->{run}->pump;
		}
		($output = $self->{stdout}) =~ s/\n?^$end\n//m;
		$self->{stderr} =~ s/\n?^$end\n//m;
		$self->{stdout} = '';
		return wantarray ? ($output, $self->{stderr} eq '' ? 0 : 1) : $output;
	};
}

my $ticks = POSIX::sysconf(POSIX::_SC_CLK_TCK);

# Starts a server with gpusort loaded into every session, and the given settings; what follows is for initdb.  Plans and
# the order in which rows arrive are the same however busy the machine is.
sub start_node
{
	my ($name, $settings, %init) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);

	$node->init(%init);
	$node->append_conf('postgresql.conf', <<"CONF");
session_preload_libraries = 'gpusort'
gpusort.min_rows = 0
gpusort.cores = 8
max_parallel_workers_per_gather = 0
jit = off
shared_buffers = 64MB
autovacuum = off
synchronize_seqscans = off
max_wal_size = 2GB
log_statement = none
CONF
	$node->append_conf('postgresql.conf', $settings) if defined $settings;
	$node->start;
	return $node;
}

# One test: a library to be preloaded is built of C files below test/, and options of the compiler.
sub build_library
{
	my ($library, @parts) = @_;
	my $folder = dirname(__FILE__) . '/..';
	my @build = ('gcc', '-shared', '-fPIC', '-O1', '-o', $library, (map { /\.c$/ ? "$folder/$_" : $_ } @parts), '-ldl');

	is(system(@build), 0, basename($library) . ' is built') or BAIL_OUT("no library: @build");
	return;
}

# EXPLAIN's text.
sub plan_of
{
	my ($node, $query, $options) = @_;
	$options //= 'COSTS OFF';
	return $node->safe_psql('postgres', "EXPLAIN ($options) $query");
}

# Names of the temporary files that the server has now.
sub temp_files
{
	my ($node) = @_;
	my @found;

	find(
		{
			no_chdir => 1,
			wanted => sub { push @found, $_ if m{/pgsql_tmp[^/]*/} && -f $_; }
		},
		$node->data_dir . '/base', glob($node->data_dir . '/pg_tblspc/*/'));
	return @found;
}

# A query for a digest of another one's rows in their order.
sub rows_digest
{
	my ($query) = @_;
	return "SELECT count(*), md5(string_agg(md5(r::text), '')) FROM ($query) r";
}

# Runs a query that may fail: seconds, exit status, standard error.
sub timed
{
	my ($node, $script) = @_;
	my ($out, $err) = ('', '');
	my $start = time;
	my $status = $node->psql('postgres', $script, stdout => \$out, stderr => \$err, on_error_stop => 0);
	return (time - $start, $status, $out, $err);
}

# Memory that a backend has, in kB.
sub backend_kilobytes
{
	my ($pid) = @_;
	my $status = slurp_file("/proc/$pid/status");
	my ($anon) = $status =~ /^RssAnon:\s+(\d+) kB/m;
	return $anon;
}

# Processor time that a backend has used, in seconds: unlike time by the clock, the same beside whatever else runs.
sub backend_seconds
{
	my ($pid) = @_;
	my @fields = split / /, slurp_file("/proc/$pid/stat") =~ s/^.*\) //sr;
	return ($fields[11] + $fields[12]) / $ticks;
}

1;
