#!/usr/bin/perl
# soak.pl: a random storm over a server under load, as long as SOAK_SECONDS says, by the seed SEED.
#
# Sessions ask random queries under random settings, in parallel plans, with cursors, by functions; PostgreSQL's own
# answers were asked before.  Meanwhile the service is killed, frozen, limited and told to fail; queries are cancelled,
# sessions ended, frozen and killed; disks are full, slow or broken, and memory is short; settings change, and the
# server restarts.  Every answer is right, or there is an error that the storm explains; nobody hangs; when the storm is
# over, everything is answered again, and nothing is left behind.
#
# A seed gives the same queries, settings and faults in the same order; when they meet is up to the machine.  Speaks
# TAP. `make soak` runs it as test/run.sh runs the programs of test/t.
use strict;
use warnings;

use Cwd qw(abs_path);
use GpuSortService;
use GpuSortTest;
use IPC::Run;
use POSIX ();
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

my $seconds = $ENV{SOAK_SECONDS} // 60;
my $seed = $ENV{SEED} // int(rand(1e9));
my $sessions = 5;
my $folder = abs_path(PostgreSQL::Test::Utils::tempdir());
my ($disk, $memory) = ("$folder/disk", "$folder/memory");
diag("SEED=$seed, $seconds s");
srand($seed);

sub one_of { return $_[ int(rand(@_)) ] }
sub chance { return rand() < $_[0] }

# The server, with the disk and the memory that can fail.
my @libraries;
foreach my $name ('disk', 'memory')
{
	push @libraries, "$folder/faulty_$name.so";
	build_library($libraries[-1], "$name/faulty_$name.c");
}
my $node;
{
	local $ENV{LD_PRELOAD} = join ' ', @libraries, $ENV{LD_PRELOAD} // ();
	local $ENV{FAULTY_DISK} = $disk;
	local $ENV{FAULTY_MEMORY} = $memory;
	$node = service_node('soak', '', <<'CONF');
shared_preload_libraries = 'gpusort'
max_connections = 60
max_worker_processes = 16
max_parallel_workers = 8
log_min_messages = warning
CONF
}
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE big AS SELECT i AS id, nullif(hashint8extended(i, 1) % 5000, 7) AS a, (i * 7919 % 61)::int4 AS b,
		repeat(md5((i % 900)::text), 1 + (i % 3)::int) COLLATE "C" AS c,
		(hashint8extended(i, 2) % 100000 / 7.0)::numeric(12, 3) AS d,
		CASE WHEN i % 11 = 0 THEN 'NaN'::float8 ELSE hashint8extended(i, 3) % 1000 END
			AS e, date '2020-01-01' + (i % 99)::int AS f,
		md5((i % 700)::text) AS g, ARRAY[i % 13, i % 7] AS h
	FROM generate_series(1, 30000::int8) i ORDER BY hashint8extended(i, 4);
CREATE TABLE small AS SELECT * FROM big LIMIT 500;
CREATE TABLE parts (LIKE big) PARTITION BY HASH (id);
CREATE TABLE parts_0 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES WITH (MODULUS 2, REMAINDER 1);
INSERT INTO parts SELECT * FROM big WHERE id < 20000;
CREATE TABLE arrays AS SELECT array_agg(a) a, array_agg(c) c, array_agg(b) b, array_agg(e) e FROM big WHERE id < 8000;
CREATE INDEX ON big (b);
VACUUM ANALYZE;
SQL

my @columns = qw(a b c d e f g h);

# A total order.
sub order
{
	return join ', ', (map { one_of(@columns) . one_of('', ' DESC', ' DESC NULLS LAST', ' NULLS FIRST') } 1 .. 1
		+ int(rand(3))), 'id';
}

# A random query, or several statements; a second one that PostgreSQL answers, where the first needs gpusort.
sub ask
{
	my $kind = int(rand(10));
	my $table = one_of('big', 'big', 'parts', 'small');
	my $where = one_of('', '', ' WHERE b < ' . int(rand(60)), ' WHERE id % 3 <> 0');
	my $order = order();
	my ($x, $y) = (one_of(@columns), one_of('b', 'f', 'g'));

	return rows_digest("SELECT * FROM $table$where ORDER BY $order"
		. one_of('', '', ' LIMIT 100', ' LIMIT 5000 OFFSET 77')) if $kind < 3;
	return rows_digest("SELECT id, rank() OVER (PARTITION BY $y ORDER BY $order), lag(id) OVER (PARTITION BY $y ORDER "
		. "BY $order) FROM $table$where ORDER BY id")
		if $kind == 3;
	return rows_digest("SELECT DISTINCT ON ($y) * FROM $table$where ORDER BY $y, $order") if $kind == 4;
	return rows_digest("SELECT $y, count(DISTINCT $x), array_agg(id ORDER BY $order), percentile_disc(0.3) WITHIN "
		. "GROUP (ORDER BY d) FROM $table$where GROUP BY $y ORDER BY $y")
		if $kind == 5;
	return rows_digest("SELECT x.id, y.id i FROM (SELECT * FROM $table$where ORDER BY $order OFFSET 3) x JOIN small y "
		. "USING ($y) ORDER BY x.$x, x.id, y.id LIMIT 20000") if $kind == 6;
	if ($kind == 7)
	{
		my $scroll = chance(0.5);
		return join ";\n", 'BEGIN', 'DECLARE c ' . ($scroll ? 'SCROLL ' : 'NO SCROLL ')
			. "CURSOR FOR SELECT * FROM $table$where ORDER BY $order",
			'FETCH 3 c', 'MOVE ' . int(rand(20000)) . ' c', 'FETCH 30 c',
			$scroll ? ('MOVE BACKWARD ' . int(rand(10000)) . ' c', 'FETCH BACKWARD 5 c', 'FETCH LAST c') : (),
			'CLOSE c', 'COMMIT';
	}
	return "PREPARE p AS " . rows_digest("SELECT * FROM $table WHERE b <> \$1 ORDER BY $order") . ";\n"
		. ("EXECUTE p(" . int(rand(60)) . ");\n") x 2 . 'DEALLOCATE p'
		if $kind == 8;
	my ($z) = one_of('a', 'b', 'c', 'e');
	return @{ one_of(
		[ "SELECT md5(gpu_sort($z)::text) FROM arrays",
			"SELECT md5(array_agg(v ORDER BY v)::text) FROM arrays, unnest($z) v" ],
		[ "SELECT md5(gpu_distinct($z)::text) FROM arrays",
			"SELECT md5(array_agg(DISTINCT v)::text) FROM arrays, unnest($z) v" ],
		[ "SELECT gpu_count_distinct($x) FROM $table", "SELECT count(DISTINCT $x) FROM $table" ]) };
}

# What psql prints, and what it complains of, step by step; a status that is no number says why there is none.  The
# steps come from a file: a pipe breaks where psql finds no server, and ends before all has been written.  They may take
# as long as statement_timeout lets eight of them.
sub run_steps
{
	my (@steps) = @_;
	my ($out, $err) = ('', '');
	my $script = "$folder/steps.$$";
	write_file($script, join '', map { "\\echo step $_\n\\warn step $_\n$steps[$_];\n" } 0 .. $#steps);
	my $status = eval {
		IPC::Run::run([ $node->installed_command('psql'), '-XAtq', '-h', $node->host, '-p', $node->port, '-d',
			'postgres' ],
			'<', $script, '>', \$out, '2>', \$err, IPC::Run::timeout(1000));
		$? >> 8;
	} // $@;
	my %said = map { /^(\d+)\n(.*)/s ? ($1 => $2) : () } split /^step /m, $out;
	my %wrong = map { /^(\d+)\n(.*)/s ? ($1 => $2) : () } split /^step /m, $err;
	return ($status, \%said, \%wrong, $err);
}

# PostgreSQL's own answers.
my @asks = map { [ ask() ] } 1 .. 40;
my $own = 'SET gpusort.enabled = off; SET gpusort.aggregates = off; SET gpusort.engine = cpu';
my (undef, $answers, $complaints) = run_steps(map { "$own;\n" . ($_->[1] // $_->[0]) } @asks);
is(join('', values %$complaints), '', "PostgreSQL's own answers");
is(scalar(grep { ($answers->{$_} // '') ne '' } 0 .. $#asks), scalar(@asks), 'to every query');

# Settings of one step.
sub settings
{
	my @set = ('RESET ALL', 'ROLLBACK', "SET statement_timeout = '120s'", 'SET gpusort.engine = '
		. one_of(qw(auto gpu gpu cpu)));

	push @set, "SET gpusort.work_mem = '" . one_of(1, 2, 4, 64) . "MB'", "SET work_mem = '"
		. one_of('64kB', '1MB', '16MB') . "'",
		"SET gpusort.kept_memory = '" . one_of(0, 1, 64) . "MB'", 'SET gpusort.verify = '
		. one_of(qw(auto off sample full));
	push @set, 'SET parallel_setup_cost = 0', 'SET parallel_tuple_cost = 0', 'SET min_parallel_table_scan_size = 0',
		'SET max_parallel_workers_per_gather = ' . int(rand(4)), 'SET gpusort.parallel_windows = '
		. one_of(qw(on off scan exchange)) if chance(0.5);
	push @set, 'SET gpusort.parallel_blocks = off' if chance(0.1);
	push @set, 'SET gpusort.aggregates = off' if chance(0.2);
	push @set, 'SET enable_hashagg = off' if chance(0.5);
	push @set, 'SET gpusort.gpu_min_rows = ' . one_of(0, 10000, 200000);
	push @set, "SET temp_file_limit = '" . one_of('100kB', '2MB') . "'" if chance(0.1);
	push @set, 'SET statement_timeout = ' . (1 + int(rand(300))) if chance(0.15);
	return join '; ', @set;
}

# Errors that the storm explains.
my $explained = join '|', 'canceling statement', 'terminating connection', 'temporary file size exceeds',
	'out of memory', 'No space left',
	'Input/output error', 'read only \d+ of', 'does not hold what was written', 'Cannot allocate',
	'server closed the connection', 'connection to server', 'no connection to the server', 'the database system is',
	'current transaction is aborted', 'parallel worker', 'cursor "c" does not exist',
	'prepared statement "p" (does not|already)',
	'could not (read|send|receive|map|resize|fork)', 'there is no transaction', 'unexpected EOF',
	'recovery_init_sync_method', 'connection to client lost';
my $lines = qr/^.*(?:ERROR|FATAL|PANIC|WARNING|error:|connection).*$/m;

# One session after the other, until the storm is over: how many answers were right, how many errors there were, and
# what was wrong.
sub be_a_session
{
	my ($number, $end) = @_;
	my ($right, $errors, $rounds, @wrong) = (0, 0, 0);

	srand($seed * 100 + $number);
	while (time() < $end && @wrong < 5)
	{
		my @chosen = map { int(rand(@asks)) } 1 .. 1 + int(rand(8));
		my @steps = map { settings() . ";\n$asks[$_]->[0]" } @chosen;
		my ($status, $said, $complaints, $err) = run_steps(@steps);

		$rounds++;
		push @wrong, "psql: $status" if $status !~ /^\d+$/;
		push @wrong, grep { !/$explained/ } $err =~ /^(psql: .*)$/mg;
		foreach my $i (0 .. $#steps)
		{
			my @lines = grep { !/there is no transaction/ } ($complaints->{$i} // '') =~ /$lines/g;
			my @unexplained = grep { !/$explained/ } @lines;

			last unless exists $said->{$i};
			$errors++ if @lines;
			push @wrong, "$steps[$i]\n  says @unexplained" if @unexplained;
			next if @lines;
			# the session may have ended here without a word
			last if !exists $said->{ $i + 1 } && $status ne '0';
			if ($said->{$i} eq $answers->{ $chosen[$i] }) { $right++ }
			else { push @wrong, "$steps[$i]\n  answers $said->{$i}  not     $answers->{$chosen[$i]}" }
		}
		# a server that restarts is not asked in vain all the time
		sleep(0.2) if $err =~ /the database system is|connection to server/;
	}
	return ($right, $errors, $rounds, @wrong);
}

# A backend of somebody else, or a parallel worker.
sub some_backend
{
	my ($out) = ('');
	$node->psql('postgres', "SELECT pid FROM pg_stat_activity WHERE backend_type IN ('client backend', 'parallel "
		. "worker') AND pid <> pg_backend_pid()",
		stdout => \$out, stderr => \my $err, on_error_die => 0);
	return one_of(split /\n/, $out);
}

# Has a file hold a text from one moment to the next.
sub write_file
{
	my ($file, $text) = @_;
	open my $to, '>', "$file.new" or die "$file: $!";
	print $to "$text\n";
	close $to;
	rename "$file.new", $file;
	return 1;
}

my %later;    # what ends a disaster, by the time when it does
my $killed = 0;

# Does something later.
sub later
{
	my ($after, $act) = @_;
	push @{ $later{ time() + $after } }, $act;
	return 1;
}

sub configure
{
	my ($line) = @_;
	$node->append_conf('postgresql.conf', $line);
	kill 'HUP', slurp_file($node->data_dir . '/postmaster.pid') =~ /^(\d+)/;
	return 1;
}

sub freeze
{
	my ($pid, $time) = @_;
	return 0 unless $pid && kill 'STOP', $pid;
	return later($time, sub { kill 'CONT', $pid });
}

# What may happen: how often, and what.
my %disasters = (
	'the service is killed' => [ 3, sub { my ($pid) = service_pids($node); $pid && kill 'KILL', $pid } ],
	'the service is frozen' => [ 3, sub { my ($pid) = service_pids($node); freeze($pid, one_of(0.3, 1, 60)) } ],
	'the service may open no file' => [ 1, sub { my ($pid) = service_pids($node); $pid
		&& system("prlimit --pid $pid --nofile=8:8 2>/dev/null") == 0 } ],
	'the service gets less memory' => [ 1, sub { my ($pid) = service_pids($node); $pid
		&& system("prlimit --pid $pid --as=" . one_of(50, 300) . '000000 2>/dev/null') == 0 } ],
	'the service fails' => [ 2, sub {
		configure("gpusort.service_options = '--engine=$engine --fault-every=" . one_of(1, 3, 10) . ' --fault='
			. one_of('corrupt', 'oom', 'short:100', 'crash', 'hang', 'device') . one_of('', '@begin', '@add', '@finish')
				. "'");
	} ],
	'the service is well' => [ 3, sub { configure("gpusort.service_options = '--engine=$engine'") } ],
	'the service gets other limits' => [ 1, sub {
		configure('gpusort.pinned_memory = ' . one_of(1, 8, 1024) . 'MB');
		configure('gpusort.max_device_memory = ' . one_of(0, 1, 64) . 'MB');
	} ],
	'a query is cancelled' => [ 5, sub { my $pid = some_backend(); $pid && kill 'INT', $pid } ],
	'a session is ended' => [ 4, sub { my $pid = some_backend(); $pid && kill 'TERM', $pid } ],
	'a backend is frozen' => [ 2, sub { freeze(some_backend(), one_of(0.2, 1, 4)) } ],
	'a backend gets less memory' => [ 2, sub {
		my $pid = some_backend() or return 0;
		my ($kb) = eval { slurp_file("/proc/$pid/status") =~ /^VmSize:\s+(\d+)/m } or return 0;
		system("prlimit --pid $pid --as=" . ($kb + one_of(4000, 30000)) * 1024 . ' 2>/dev/null') == 0;
	} ],
	'a backend is killed' => [ 0.4, sub { my $pid = some_backend(); $pid && kill('KILL', $pid) && ++$killed } ],
	'the disk is full' => [ 3,
		sub { write_file($disk, 'full ' . one_of(0, 8192, 300000, 3000000)); later(one_of(0.3, 2),
		sub { unlink $disk }) } ],
	'the disk is slow' => [ 1, sub { write_file($disk, 'short'); later(1, sub { unlink $disk }) } ],
	'the disk is broken' => [ 2, sub { write_file($disk, one_of('broken', 'cut')); later(one_of(0.3, 1),
		sub { unlink $disk }) } ],
	'memory is short' => [ 3, sub {
		write_file($memory, one_of('none 0', 'none 1024', 'all 8192', 'old', 'fixed'));
		later(one_of(0.5, 3), sub { unlink $memory });
	} ],
	'the server restarts' => [ 0.3, sub {
		# who is frozen could not end
		end_disasters(time() + 1000);
		my $mode = one_of('fast', 'immediate');
		$node->stop($mode, fail_ok => 1) && $node->start(fail_ok => 1);
	} ]);

# The next one, by weight.
sub next_disaster
{
	my @names = sort keys %disasters;
	my $total = 0;
	$total += $disasters{$_}->[0] foreach @names;
	my $at = rand($total);

	foreach my $name (@names)
	{
		$at -= $disasters{$name}->[0];
		return $name if $at < 0;
	}
	return $names[-1];
}

sub end_disasters
{
	my ($now) = @_;
	foreach my $time (grep { $_ <= $now } sort { $a <=> $b } keys %later)
	{
		$_->() foreach @{ delete $later{$time} };
	}
}

# The storm.
my $end = time() + $seconds;
my %children;
foreach my $number (1 .. $sessions)
{
	pipe(my $from, my $to) or die "pipe: $!";
	my $pid = fork() // die "fork: $!";
	if ($pid == 0)
	{
		my ($right, $errors, $rounds, @wrong) = be_a_session($number, $end);
		print $to join("\0", $right, $errors, $rounds, @wrong);
		close $to;
		# neither the node's end nor the tests' is this process's
		POSIX::_exit(0);
	}
	close $to;
	$children{$number} = $from;
}
srand($seed + 1);
my %happened;
while (time() < $end)
{
	my $name = next_disaster();

	$happened{$name} += $disasters{$name}->[1]->() ? 1 : 0;
	my $next = time() + 0.1 + rand(0.6);
	while (time() < $next)
	{
		end_disasters(time());
		sleep(0.05);
	}
}
end_disasters(time() + 1000);
configure("gpusort.service_options = '--engine=$engine'");
my $checked = 0;
foreach my $number (sort keys %children)
{
	my $from = $children{$number};
	my ($right, $errors, $rounds, @wrong) = split /\0/, do { local $/; <$from> // '' };

	is(join("\n", @wrong), '', 'session ' . $number . ': ' . ($right // 'no') . ' answers right, ' . ($errors // 'no')
		. ' errors, ' . ($rounds // 'no') . ' rounds');
	$checked += $right // 0;
}
1 while wait() > 0;
cmp_ok($checked, '>', $seconds / 10, "$checked answers were right");
diag(join ', ', map { "$_: $happened{$_}" } sort keys %happened);

# After the storm.
wait_until(sub { $node->psql('postgres', 'SELECT 1', stderr => \my $err) == 0 }, 'the server is there', 60);
configure("gpusort.pinned_memory = '1GB'\ngpusort.max_device_memory = 0");
forgive($node);
foreach my $where ('gpu', 'cpu')
{
	my ($status, $said, $complaints) =
		run_steps(map { "SET gpusort.engine = $where; SET gpusort.min_rows = 0;\n$_->[0]" } @asks);
	is(join('', values %$complaints), '', "$where: no errors when it is over");
	is(join(', ', grep { ($said->{$_} // '') ne $answers->{$_} } 0 .. $#asks), '', "$where: everything is right");
}
wait_until(sub { $node->safe_psql('postgres', "SELECT bool_and(service = 'running') FROM gpusort_devices") eq 't' },
	'the service runs');
wait_until(sub { $node->safe_psql('postgres', 'SELECT sum(jobs) + sum(reserved_bytes) FROM gpusort_devices') eq '0' },
	'without jobs and their memory');
wait_until(sub { temp_files($node) == 0 }, 'no file is left');
my $log = slurp_file($node->logfile);
is(scalar(() = $log =~ /was terminated by signal 9/g) > $killed ? 'more' : 'as many', 'as many',
	"backends were killed by the storm alone, $killed times");
unlike($log, qr/was terminated by signal (?!9)|TRAP:|PANIC/, 'nothing crashed');
unlike($log, qr/WARNING:  (?!gpusortd|there is|terminating connection|worker took too long)/, 'no leak was warned of');
unlike($log, qr/out of order|a message that is none|breaks the rules/, 'the service understood all messages');
$node->stop;
is(service_pids($node), 0, 'no process is left');
is_deeply([ leftovers($node) ], [], 'nothing lies around');
done_testing();
