#!/usr/bin/perl
# columns_storm.pl: resident columns under a storm, as long as STORM_SECONDS says, by the seed SEED.
#
# Writers change three tables in every way that PostgreSQL knows, in transactions that commit, roll back, have many
# subtransactions or are prepared; another session vacuums, rewrites and alters them; another database holds back its
# own horizon.  Readers, old and new, compare what gpusort_columns_check answers from columns, young pages and pages of
# the table with what PostgreSQL's scan answers in the same snapshot, also in the midst of their own changes; and so
# they do with queries, asked with columns and without.  The keeper and the service are killed, and, in a storm of a
# minute or more, the server.  `make columns-storm TIME=3600` runs it for an hour.
use strict;
use warnings;

use GpuSortAnswers;
use GpuSortService;
use GpuSortStorm;
use GpuSortTest;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

my $seconds = $ENV{STORM_SECONDS} || 25;
my $seed = $ENV{SEED} // int(rand(1e9));
my $long = $seconds >= 120;
my $folder = PostgreSQL::Test::Utils::tempdir();
my %rows = (narrow => 1500, wide => 12000, uniq => 4000);
my @tables = sort keys %rows;
diag("SEED=$seed, $seconds s");

sub one_of { return $_[ int(rand(@_)) ] }
sub chance { return rand() < $_[0] }
sub number { return 1 + int(rand($_[0])) }

# with few buffers, pages are not where the keeper saw them
my $buffers = $seed % 2 ? '2MB' : '128MB';
my $node = service_node('storm', '', <<"CONF");
shared_preload_libraries = 'gpusort'
shared_buffers = $buffers
max_connections = 60
max_worker_processes = 24
max_prepared_transactions = 20
autovacuum = on
autovacuum_naptime = 1
autovacuum_vacuum_threshold = 50
deadlock_timeout = 100ms
log_min_messages = warning
CONF
my $visibility = $node->safe_psql('postgres',
	"SELECT count(*) FROM pg_available_extensions WHERE name = 'pg_visibility'") > 0;

$node->safe_psql('postgres', 'CREATE EXTENSION pg_visibility') if $visibility;
$node->safe_psql('postgres', 'CREATE DATABASE other');
my %fill = (narrow => 70, wide => 80, uniq => 60);
foreach my $table (@tables)
{
	my $unique = $table eq 'uniq' ? 'UNIQUE' : '';

	$node->safe_psql('postgres', <<"SQL");
CREATE TABLE $table (id int8, a int4, pad text, b int8, n numeric(14, 2), f float8, d date, o bool)
	WITH (fillfactor = $fill{$table});
INSERT INTO $table SELECT i, i % 1000, repeat('x', 40 + i % 40), nullif(i % 7, 0) * i, i / 7.0, i / 3.0,
	date '2020-01-01' + i % 999, i % 3 = 0 FROM generate_series(1, $rows{$table}) i;
CREATE $unique INDEX ${table}_id ON $table (id);
VACUUM ANALYZE $table;
SQL
	storm_columns($node, $table);
}
comparison_functions($node);
$node->safe_psql('postgres', 'CREATE TABLE child (p int8 REFERENCES uniq (id) ON DELETE CASCADE)');

# The columns to compare; the one that comes and goes is last.
my @columns = qw(b id a n f d o);

# A comparison, as a line "cmp|kind|equal|columns|young|undecided|table|reason".
sub compare
{
	my ($table, $kind) = @_;
	my @some = sort { rand() <=> 0.5 } @columns;
	splice @some, number(4);
	unshift @some, 'b' unless $some[0] =~ /^(a|b|id)$/;
	my $list = join ', ', @some;
	my $check = "gpusort_columns_check('$table', '{" . join(',', @some) . "}')";
	my $plain = "SELECT count(*) n, coalesce(sum($some[0]), 0)::int8 s, "
		. "coalesce(bit_xor(gpusort_columns_hash($list)), 0) h FROM $table";
	my $from = one_of("$check c, ($plain) p", "($plain) p, LATERAL (SELECT * FROM $check OFFSET 0) c");

	return "SELECT 'cmp', '$kind', (c.rows, c.sum, c.hash) = (p.n, p.s, p.h), c.from_columns, c.young, c.undecided, "
		. "c.from_table, c.reason FROM $from;\n";
}

# A comparison of what is held, or of a query.
sub look
{
	my ($table, $kind) = @_;
	return chance(0.6) ? ask($table, $kind) : compare($table, $kind);
}

# A change of a table.
sub change
{
	my ($table) = @_;
	my $i = number($rows{$table});
	my $to = $i + one_of(0, 0, 2, 10, 50);
	my $where = "WHERE id BETWEEN $i AND $to";
	my $row = "g, g % 1000, repeat('y', (random() * 60)::int), g * 7, g / 9.0, g / 11.0, date '2021-01-01', g % 2 = 0";
	my $all = "INSERT INTO $table (id, a, pad, b, n, f, d, o) SELECT $row FROM generate_series($i, $to) g";

	return one_of("$all ON CONFLICT (id) DO UPDATE SET b = uniq.b + 1", "$all ON CONFLICT DO NOTHING",
		"INSERT INTO child SELECT id FROM uniq $where", "DELETE FROM child WHERE p BETWEEN $i AND $to",
		"UPDATE uniq SET n = n + 0.01 $where", "DELETE FROM uniq $where", "UPDATE uniq SET b = b + 1 $where") . ";\n"
		if $table eq 'uniq';
	return one_of($all, $all,
		"COPY (SELECT $row FROM generate_series($i, $to) g) TO PROGRAM 'cat > /dev/null'",
		"UPDATE $table SET b = coalesce(b, 0) + 3, n = n + 1 $where",
		"UPDATE $table SET id = id + 1, pad = repeat('z', (random() * 100)::int), f = NULL $where",
		"UPDATE $table SET n = 'NaN' WHERE id = $i",
		"DELETE FROM $table $where",
		"SELECT FROM $table $where FOR " . one_of('UPDATE', 'SHARE', 'KEY SHARE', 'NO KEY UPDATE') . ' SKIP LOCKED',
		odd_change($table, $i), odd_change($table, $i),
		"UPDATE $table SET b = NULL, d = d + 1 $where") . ";\n";
}

# Subtransactions, more than a snapshot lists (64).
sub many_subtransactions
{
	my ($table) = @_;
	my $i = number($rows{$table});

	return "DO \$\$ BEGIN FOR i IN 1 .. " . one_of(10, 70, 90) . " LOOP BEGIN IF i % 3 = 0 THEN UPDATE $table SET b = "
		. "coalesce(b, 0) + 7 WHERE id = $i + i; ELSIF i % 3 = 1 THEN INSERT INTO $table (id, a, b) VALUES (1000000 + "
		. "(random() * 1e7)::int, i, i); ELSE DELETE FROM $table WHERE id = $i + i; END IF; IF i % 7 = 0 THEN RAISE "
		. "EXCEPTION 'undone'; END IF; EXCEPTION WHEN raise_exception THEN NULL; END; END LOOP; END \$\$;\n"
		. 'SELECT pg_sleep(' . one_of(0, 0.02, 0.2) . ");\n";
}

# A writer's transaction.
my $prepared = 0;
sub transaction
{
	my $table = one_of(@tables);
	my $level = one_of('READ COMMITTED', 'READ COMMITTED', 'REPEATABLE READ');
	my $script = 'SET synchronous_commit = ' . one_of('on', 'off') . ";\nBEGIN ISOLATION LEVEL $level;\n";

	$script .= many_subtransactions($table) if chance(0.05);
	foreach (1 .. number(5))
	{
		my $inner = chance(0.3);
		$script .= "SAVEPOINT s;\n" if $inner;
		$script .= change($table);
		$script .= one_of('ROLLBACK TO', 'RELEASE') . " s;\n" if $inner;
		$script .= 'SELECT pg_sleep(' . rand(0.1) . ");\n" if chance(0.1);
	}
	$script .= look($table, 'own changes') if chance(0.1);
	if (chance(0.05))
	{
		my $name = "p$$" . '_' . ++$prepared;
		return "${script}PREPARE TRANSACTION '$name';\nSELECT pg_sleep(" . one_of(0, 0.1, 0.5) . ");\n"
			. one_of('COMMIT', 'COMMIT', 'ROLLBACK') . " PREPARED '$name';\n";
	}
	return $script . one_of(('COMMIT') x 3, 'ROLLBACK') . ";\nSELECT pg_sleep(" . rand(0.03) . ");\n";
}

# What happens to whole tables.
sub upheaval
{
	my $table = one_of(@tables);
	my $rows = $rows{$table};
	my $copy = "INSERT INTO $table (id, a, pad, b) SELECT g, g % 1000, 't', g FROM generate_series(1, $rows) g";
	my $end = one_of('COMMIT', 'COMMIT', 'ROLLBACK');
	my @usual = ("VACUUM $table", "VACUUM $table", "VACUUM (FREEZE) $table", "VACUUM (DISABLE_PAGE_SKIPPING) $table",
		"ANALYZE $table", "DELETE FROM $table WHERE ctid >= ('(' || pg_relation_size('$table') / 8192 * 2 / 3 || "
			. "',0)')::tid;\nVACUUM $table");
	my @rare = ("VACUUM FULL $table;\nVACUUM $table", "CLUSTER $table USING ${table}_id;\nVACUUM $table",
		$table eq 'uniq' ? "DELETE FROM uniq WHERE id % 2 = 0;\nVACUUM uniq" : "BEGIN;\nTRUNCATE $table;\n$copy;\n"
			. look($table, 'own table') . "$end;\nVACUUM $table",
		"BEGIN;\nALTER TABLE $table DROP COLUMN IF EXISTS e;\nALTER TABLE $table ADD COLUMN e int8 DEFAULT "
			. number(1000) . ";\n$end", "ALTER TABLE $table ALTER COLUMN a TYPE " . one_of('int4', 'int8'),
		"CREATE INDEX CONCURRENTLY ${table}_b ON $table (b);\nDROP INDEX CONCURRENTLY ${table}_b",
		"REINDEX TABLE CONCURRENTLY $table",
		"SELECT gpusort_columns_remove('$table');\nSELECT gpusort_columns_add('$table')",
		"BEGIN;\nSELECT gpusort_columns_add('$table', '{a,b}');\nROLLBACK",
		"UPDATE $table SET n = 0 WHERE n = 'NaN'",
		$visibility ? "SELECT pg_truncate_visibility_map('$table')" : "VACUUM $table");

	return (chance(0.75) ? one_of(@usual) : one_of(@rare)) . ";\nSELECT pg_sleep(" . rand(0.3) . ");\n";
}

# Readers: each query its own snapshot, or one snapshot for a while.
sub read_now
{
	return join '', map { look(one_of(@tables), 'new snapshot') } 1 .. 20;
}

sub read_old
{
	my $script = "BEGIN ISOLATION LEVEL REPEATABLE READ;\nSELECT FROM pg_class LIMIT 1;\n";
	my $pause = one_of(0, 0.01, 0.05, 0.2, 0.6);

	$script .= "SELECT pg_sleep($pause);\n" . look(one_of(@tables), 'old snapshot') foreach 1 .. number(12);
	return $script . "COMMIT;\n";
}

# Another database, whose transactions hold back its own horizon.
sub elsewhere
{
	return "CREATE TABLE IF NOT EXISTS o (i int);\nBEGIN;\nINSERT INTO o VALUES (1);\nSELECT pg_sleep("
		. one_of(0.05, 0.5, 2) . ");\nSAVEPOINT a;\nDELETE FROM o;\n" . one_of('ROLLBACK TO', 'RELEASE') . " a;\n"
		. one_of('COMMIT', 'ROLLBACK') . ";\n";
}

# Runs scripts until the end, in a process of its own; what they say goes to a file.
my $end = 0;
my @children;
sub worker
{
	my ($name, $number, $database, $make) = @_;
	my $child = fork;

	push @children, $child and return if $child;
	srand($seed + 7919 * $number);
	for (my $turn = 0; time < $end; $turn++)
	{
		my $script = join '', "\\set VERBOSITY verbose\n", map { $make->() } 1 .. 10;
		my ($out, $err) = ('', '');
		my @wait = $node->psql($database, $script, stdout => \$out, stderr => \$err, on_error_stop => 0);

		append_to_file("$folder/$name.$number.out", "$out\n");
		append_to_file("$folder/$name.$number.err", "$err\n");
		sleep 0.3 if $wait[0] == 2;
	}
	POSIX::_exit(0);
}

# A process of the server, by what pg_stat_activity calls it; or the service.
sub victim
{
	my ($kind) = @_;
	my %query = (service => "SELECT max(pid) FROM gpusort_devices WHERE pid IS NOT NULL",
		keeper => "SELECT max(pid) FROM pg_stat_activity WHERE backend_type = 'gpusort columns'",
		backend => "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() "
			. "ORDER BY random() LIMIT 1");
	my ($out, $err);

	return $node->psql('postgres', $query{$kind}, stdout => \$out, stderr => \$err) == 0 ? $out : '';
}

# Processes of the server and its service, which work in the data directory.
sub processes
{
	return grep { my $cwd = readlink "$_/cwd"; defined $cwd && $cwd eq $node->data_dir } glob '/proc/[0-9]*';
}

# Kills the server, and starts it again once its processes have noticed, and its own has been collected.
sub kill_server
{
	my $patience = time + 120;
	my $pid = slurp_file($node->data_dir . '/postmaster.pid') =~ s/\n.*//sr;

	$node->kill9;
	sleep 0.1 while (processes() || -e "/proc/$pid") && time < $patience;
	# recovery takes as long as the machine is busy
	local $ENV{PGCTLTIMEOUT} = 600;
	$node->start;
}

# Waits until the server begins a new life, and rolls back what was prepared in the one before.
sub begin_anew
{
	my ($gids, $err);
	my $end = time + 60;

	sleep 0.5;
	sleep 0.3
		until $node->psql('postgres', 'SELECT gid FROM pg_prepared_xacts', stdout => \$gids, stderr => \$err) == 0
		|| time > $end;
	$node->psql('postgres', "ROLLBACK PREPARED '$_'", stderr => \$err) foreach split /\n/, $gids // '';
}

# Kills a process.  Returns true if it was there.
sub kill_one
{
	my ($kind, $signal) = @_;
	my $pid = $kind eq 'server' ? '' : victim($kind);

	return 0 unless $kind eq 'server' || $pid =~ /^\d+$/;
	if ($kind eq 'server') { kill_server(); }
	elsif (!kill $signal, $pid) { return 0; }
	begin_anew() if $signal eq 'KILL' && $kind ne 'service';
	return 1;
}

# Kills the keeper and the service every now and then, and if there is time the server, by itself and by a process that
# shares its memory.
my %killed;
sub kill_some
{
	my @usual = ('keeper TERM', 'service KILL');
	my @all = ('service KILL', 'keeper KILL', 'server KILL', (@usual) x 3, 'backend KILL', (@usual) x 2);
	my @order = $seconds >= 60 ? @all : @usual;
	my $next = time + 6;

	for (my $turn = 0; time < $end; sleep 0.2)
	{
		next if time < $next;
		# one that was not there is tried again
		$killed{ $order[ $turn % @order ] }++, $turn++ if kill_one(split / /, $order[ $turn % @order ]);
		$next = time + 4 + rand(6);
	}
}

is($node->safe_psql('postgres', "SELECT gpusort_columns_add('$_')"), '', "$_ is held") foreach @tables;
$end = time + $seconds;
worker('writer', $_, 'postgres', \&transaction) foreach 1 .. 4;
worker('upheaval', 5, 'postgres', \&upheaval);
worker('reader', $_, 'postgres', \&read_now) foreach 6 .. 7;
worker('reader', $_, 'postgres', \&read_old) foreach 8 .. 10;
worker('elsewhere', 11, 'other', \&elsewhere);
kill_some();
waitpid $_, 0 foreach @children;

# The comparisons.
my (%count, %reason, @different);
foreach my $file (glob "$folder/*.out")
{
	foreach my $line (split /\n/, slurp_file($file))
	{
		count_answer($line);
		my ($word, $kind, $equal, $held, $young, $undecided, $table, $reason) = split /\|/, $line, -1;

		next unless defined $reason && $word eq 'cmp';
		$count{all}++;
		$count{$kind}++;
		$count{'from columns'}++ if $held > 0;
		$count{'with young pages'}++ if $young > 0;
		$count{'with young and heap pages'}++ if $young > 0 && $table > 0;
		$count{'with undecided pages'}++ if $undecided > 0;
		$reason{$reason}++ if $reason ne '';
		push @different, $line unless $equal eq 't';
	}
}
# Share of the comparisons, in percent.
sub share { return sprintf '%.1f %%', 100 * ($count{ $_[0] } // 0) / ($count{all} || 1) }

diag('PostgreSQL ' . $node->pg_version . ": $count{all} comparisons, " . @different . ' differ, '
		. share('from columns') . ' from columns, ' . share('with young and heap pages')
		. ' with young and heap pages in one answer');
diag("comparisons: " . join ', ', map { "$_ $count{$_}" } sort keys %count);
diag("killed: " . join ', ', map { "$_ $killed{$_}" } sort keys %killed);
diag("columns were not used: " . join '; ', map { "$_: $reason{$_}" } sort keys %reason);
is(join("\n", @different), '', 'no comparison differs');
answers_said($long);
# a kill during REINDEX CONCURRENTLY leaves an invalid index, of which the next one warns
my @broken = grep { / XX\d+: (?!tuple concurrently|cannot reindex invalid index)/ }
	map { split /\n/, slurp_file($_) } glob "$folder/*.err";
is(join("\n", @broken), '', 'no session met what cannot be');
cmp_ok($count{all} // 0, '>', 0, 'there were comparisons');
cmp_ok($count{'from columns'} // 0, '>', 0, 'from columns');
cmp_ok($count{'with young and heap pages'} // 0, '>', 0, 'with young and heap pages in one answer');
if ($seconds >= 60)
{
	cmp_ok($killed{"$_ KILL"} // 0, '>=', 1 + int($seconds / 300), "kill -9 of the $_")
		foreach qw(server keeper service);
}
if ($long)
{
	cmp_ok($count{'from columns'}, '>=', 0.9 * $count{all}, 'nine of ten come from columns');
	cmp_ok($count{'with young and heap pages'}, '>=', 0.5 * $count{all}, 'half of them with young and heap pages');
}

# What sessions, keeper and service leave is as it was: the tables are held again, and answered.
foreach my $table (@tables)
{
	wait_until(
		sub {
			my ($out, $err);
			$node->psql('postgres', "VACUUM $table; " . compare($table, 'after'), stdout => \$out, stderr => \$err);
			return $out =~ /\|t\|[1-9]\d*\|/;
		},
		"$table is answered from columns after the storm");
}
$node->stop;
done_testing();
