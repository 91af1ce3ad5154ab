# GpuSortCalls.pm: calls that fail at their n-th time (test/calls), in backends and in the service.
package GpuSortCalls;

use strict;
use warnings;

use Cwd qw(abs_path);
use Errno qw(EINTR);
use Exporter 'import';
use Fcntl;
use GpuSortService;
use GpuSortTest;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep);

our @EXPORT = qw(build_calls preloaded make_tables rows_hash %asks_of_all asked sweep sweep_service);

# as in test/calls/failing_calls.h
my %kinds = (memory => 1, palloc => 2, system => 3, write => 4);
my $layout = 'l l q q l l q q q Z32';
my $most = 2**62;

my $folder = abs_path(PostgreSQL::Test::Utils::tempdir());
my $library = "$folder/failing_calls.so";
my $control = "$folder/calls";

# Builds the library; what failed is said by a test.
sub build_calls
{
	fail_calls(undef);
	build_library($library, map { "calls/$_.c" } 'failing_calls', 'failing_palloc', 'failing_system');
}

# Calls a function that starts a server with the library in it.
sub preloaded
{
	my ($start) = @_;
	local $ENV{LD_PRELOAD} = join ' ', $library, $ENV{LD_PRELOAD} // ();
	local $ENV{GPUSORT_TEST_CALLS} = $control;

	return $start->();
}

# Lets calls of a kind fail from one number to another, in one process, or in any where that is 0; undef: none.
sub fail_calls
{
	my ($kind, $pid, $first, $last, $error) = @_;

	sysopen my $file, $control, O_RDWR | O_CREAT or die "$control: $!";
	# the kind comes last, so that nobody counts by half of it; what was counted stays when counting ends
	syswrite $file, defined $kind || -z $file ? pack($layout, 0, $pid // 0, $first // $most, $last // $most, $error
		// 0, 0, 0, 0, 0, '')
		: pack('l', 0);
	sysseek $file, 0, 0;
	syswrite $file, pack('l', $kinds{$kind}) if defined $kind;
	close $file;
	return;
}

# How many calls there were, and how many failed; what the first of them was and where gpusort made it.
sub calls_made
{
	my $bytes = slurp_file($control);
	my (undef, undef, undef, undef, undef, undef, $count, $failed, $place, $name) = unpack($layout, $bytes);

	return ($count, $failed, $failed ? sprintf('%s called at %x', $name, $place) : '');
}

# The names of what is asked; ASKS, a pattern, chooses some.
sub asked
{
	return grep { $_ =~ ($ENV{ASKS} // '.') } sort @_;
}

# Which of so many calls are to fail: all in a large test, else some of them, by the seed.
sub numbers_of
{
	my ($count, $some) = @_;

	return 1 .. $count if ($ENV{GPUSORT_TEST_SIZE} // '') eq 'large' || $count <= $some;
	my %chosen = map { 1 + int(rand($count)) => 1 } 1 .. $some;
	return sort { $a <=> $b } keys %chosen;
}

# A query for a hash of another one's rows in their order; its functions allocate nothing for each row.
sub rows_hash
{
	my ($query) = @_;
	return "SELECT count(*), hashtextextended(string_agg(r::text, ','), 0) FROM ($query) r";
}

# Makes what the queries are about.
sub make_tables
{
	my ($node) = @_;

	$node->safe_psql('postgres', <<'SQL');
CREATE EXTENSION IF NOT EXISTS gpusort;
CREATE TABLE t AS SELECT hashint8extended(i, 1) k, i % 7 g, i, md5((i % 3000)::text) COLLATE "C" s,
	(i % 500 / 7.0)::numeric n FROM generate_series(1, 30000::int8) i;
CREATE TABLE a AS SELECT array_agg(k) k, array_agg(s) s, array_agg(g) g FROM (SELECT * FROM t LIMIT 5000) x;
VACUUM ANALYZE t, a;
SQL
	return;
}

# What is asked of backends and of the service: settings, and a query.
our %asks_of_all = (
	sort => [ '', rows_hash('SELECT * FROM t ORDER BY s, k DESC') ],
	spilled => [ "SET gpusort.work_mem = '1MB'", rows_hash('SELECT * FROM t ORDER BY k') ],
	aggregate => [
		'',
		'SELECT hashtextextended(string_agg(x::text, chr(10)), 0) FROM (SELECT g, count(DISTINCT s), array_agg(k ORDER '
		  . 'BY s, k) a, percentile_disc(0.5) WITHIN GROUP (ORDER BY n) FROM t GROUP BY g ORDER BY g) x'
	],
	function => [
		'',
		'SELECT hashtext(gpu_sort(k)::text), hashtext(gpu_distinct(s)::text), (SELECT hashtext(string_agg(r::text, '
		  . "chr(10))) FROM gpu_reduce_by_key(s, g) r), hashtext(gpu_scan(g, 'sum')::text) FROM a"
	]);

# What errors may say when calls fail.
my $clean = join '|', 'out of memory', 'could not (open|create|write|read|resize|map|stat|close|extend|seek)',
	'No space', 'could not compute MD5', 'parallel worker', 'current transaction is aborted', 'failed on request',
	'Cannot allocate';

# What a session and its backend have that an error must give back.
sub state_of
{
	my ($node, $session, $pid) = @_;
	my ($fds) = held($pid);
	my @shared = grep { m{/dev/shm/PostgreSQL} } split /\n/, slurp_file("/proc/$pid/maps");
	my $more = $session->query_safe("SELECT (SELECT count(*) FROM pg_locks WHERE pid = $pid AND locktype <> "
		. "'virtualxid') || ' locks, ' || "
		. "(SELECT count(*) FROM pg_stat_activity WHERE leader_pid = $pid) || ' workers'");

	return "$fds descriptors, " . @shared . ' segments, ' . temp_files($node) . " files, $more";
}

# What the service holds: jobs, their memory, and descriptors while no session has a sort there.
sub service_state
{
	my ($node, $pid) = @_;
	my ($fds, $rings) = held($pid);

	return $node->safe_psql('postgres',
		"SELECT sum(jobs) || ' jobs, ' || sum(reserved_bytes) || ' bytes' FROM gpusort_devices")
	  . ", $fds descriptors, $rings rings";
}

# The service's process, which may have to be started again, and which sessions may have given up for a while.
sub running_service
{
	my ($node, $title) = @_;
	my $pid;

	forgive($node);
	wait_until(
		sub {
			return 0 unless explain_sort($node, 'gpu') =~ /Engine: $engine_name/;
			$pid = $node->safe_psql('postgres', "SELECT max(pid) FROM gpusort_devices WHERE service = 'running'");
			return $pid ne '';
		},
		"$title: the service runs", 120);
	return $pid;
}

# Waits until a state is what it was, or less where a connection has ended; what it is otherwise.
sub changed
{
	my ($before, $state) = @_;
	my @most = $before =~ /\d+/g;
	my $after;

	for (1 .. 2400)
	{
		$after = $state->();
		my @now = $after =~ /\d+/g;
		return '' unless grep { $now[$_] > $most[$_] } 0 .. $#most;
		sleep(0.05);
	}
	return "it leaves $after, not $before";
}

# Does a query while no call fails; its answer.
sub ask
{
	my ($session, $how) = @_;
	my $out = $session->query($how->{query});

	$session->query('ROLLBACK') if $how->{open};
	return $out;
}

# Does a query while a call fails: how many failed, and what went wrong, or nothing.
sub attempt
{
	my ($session, $how, $pid, $number) = @_;

	# what a device has failed in before is forgotten
	$session->query_safe("SELECT pg_reload_conf(), pg_sleep(0.05);\nSELECT 'that is read'") if $how->{gpu};
	fail_calls($how->{kind}, $pid, $number, $how->{all} ? $most : $number, $how->{error});
	my ($out) = $session->query($how->{query});
	fail_calls(undef);
	my $said = $session->{stderr};
	my (undef, $failed, $what) = calls_made();
	$session->{stderr} = '';
	$session->query('ROLLBACK') if $said ne '' || $how->{open};
	$session->{stderr} = '';
	return ($failed, "$what: a wrong answer: $out") if $said eq '' && $out ne $how->{expected};
	return ($failed, "$what: $said") if $said =~ /WARNING/
		|| ($said ne '' && ($said !~ /$clean/ || $how->{error} || $how->{service}));
	return ($failed, '');
}

# Lets each call of a kind fail in a query, or some of them: the answer is right, or there is a clean error, and nothing
# is left behind.  Calls of the service never end in an error.  %how: name, settings, query, its expected answer, and
#   kind         of the calls
#   gpu          the query asks the service
#   open         the query leaves a transaction open, whose end, which warns without memory, is not counted
#   ready        a function that waits until the service can answer it
#   anybody      in any process, not in the backend alone; service: in the service
#   all          from the one that is chosen on, all fail
#   error        with which they fail, if not their usual one
#   some         how many of them, in a test that is not large
sub sweep
{
	my ($node, %how) = @_;
	my $title = "$how{name}, $how{kind}" . ($how{error} ? ' interrupted' : '') . ($how{all} ? ' from then on' : '');
	my $session = $node->background_psql('postgres', on_error_stop => 0);
	my $pid = $session->query_safe('SELECT pg_backend_pid()');
	my $service = $how{gpu} ? running_service($node, $title) : undef;
	$how{ready}->() if $how{ready};
	my $counted = $how{service} ? $service : $how{anybody} ? 0 : $pid;
	my ($done, $deaths, $resting) = (0, 0);
	my @wrong;

	$resting = service_state($node, $service) if $how{service};
	$session->query_safe("SET statement_timeout = '30min'; $how{settings}");
	# what is counted then is the query's own, and not what a session does once
	ask($session, \%how) for 1 .. 2;
	my $before = state_of($node, $session, $pid);
	attempt($session, \%how, $counted, $most);
	my ($count) = calls_made();
	cmp_ok($count, '>', 0, "$title: there are calls") unless $how{error};
	my $contexts = 'SELECT sum(total_bytes) FROM pg_backend_memory_contexts';
	my $memory = $session->query_safe($contexts);
	foreach my $number (numbers_of($count, $how{some} // 6))
	{
		my ($failed, $wrong) = attempt($session, \%how, $counted, $number);

		$done++ if $failed;
		$wrong ||= changed($before, sub { state_of($node, $session, $pid) }) unless $how{service};
		push @wrong, "call $number of $count: $wrong" if $wrong;
		last if @wrong > 5;
		next unless $how{service} && !-e "/proc/$counted/exe";
		# one that has ended begins anew, as if it never had
		$deaths++;
		$counted = running_service($node, $title);
		$how{ready}->() if $how{ready};
		ask($session, \%how);
	}
	is(join("\n", @wrong), '', "$title: right, or a clean error, $done times of $count calls");
	diag("$title: the service ended $deaths times of $done") if $deaths;
	my $grown = $session->query_safe($contexts) - $memory;
	cmp_ok($grown, '<', 300000, "$title: memory contexts grow by $grown bytes");
	is(ask($session, \%how), $how{expected}, "$title: and right afterwards");
	$session->quit;
	is(changed($resting, sub { service_state($node, $counted) }), '', "$title: the service has given all back")
		if $how{service};
	return $deaths;
}

# Lets calls of each kind fail in the service and in the backend of a query that asks it; %how as sweep's.
sub sweep_service
{
	my ($node, %how) = @_;

	foreach my $who ('service', 'backend')
	{
		my %where = (%how, name => "$how{name}, $who", service => $who eq 'service');

		sweep($node, %where, kind => 'memory');
		sweep($node, %where, kind => 'system');
		sweep($node, %where, kind => 'system', all => 1, some => 3);
		sweep($node, %where, kind => 'system', error => EINTR);
	}
	sweep($node, %how, kind => 'palloc');
	return;
}

# the random numbers of a run can be had again
my $seed = $ENV{SEED} // int(rand(1e9));
srand($seed);
note("SEED=$seed");

1;
