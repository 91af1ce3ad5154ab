# Rows that gpusort writes for the client: each byte that the server sends, compared with PostgreSQL's own.
# tags: slow
use strict;
use warnings;

use File::Basename;
use GpuSortService qw(wait_until);
use GpuSortTest;
use GpuSortWire;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time);

my $node = start_node(
	'output',
	"max_prepared_transactions = 0\nmin_parallel_table_scan_size = 0\nparallel_setup_cost = 0\n"
		. "parallel_tuple_cost = 0\nmax_parallel_workers = 2\nwal_level = replica\nmax_wal_senders = 2\n",
	extra => [ '--encoding=UTF8', '--no-locale' ]);
my $library = $node->basedir . '/loud.so';
build_library($library, 'output/loud.c', '-I' . $node->config_data('--includedir-server'));
$node->safe_psql(
	'postgres',
	slurp_file(dirname(__FILE__) . '/../output/tables.sql'),
	extra_params => [ '-v', "library=$library" ]);

my $socket = $node->host . '/.s.PGSQL.' . $node->port;
my %sessions;
my ($different, $compared, $bytes) = (0, 0, 0);

# A session with or without gpusort's output
sub session
{
	my ($mode) = @_;
	return $sessions{$mode} //= GpuSortWire->new($socket, options => "-c gpusort.output=$mode");
}

# Compares what both sessions get: a function of the session, under settings.
sub same
{
	my ($name, $settings, $ask) = @_;
	my @got;

	for my $mode ('off', 'on')
	{
		my $session = session($mode);
		$session->simple('RESET ALL', map { "SET $_" } @$settings);
		push @got, $ask->($session);
	}
	$compared++;
	$bytes += length $got[0];
	return if $got[0] eq $got[1] && length $got[0];
	$different++;
	my $at = 0;
	$at++ while $at < length $got[0] && substr($got[0], $at, 1) eq substr($got[1], $at, 1);
	diag "$name, [@$settings]: ", length $got[0], ' and ', length $got[1], " bytes, different from $at: ",
		explain substr($got[0], $at < 40 ? 0 : $at - 40, 100), substr($got[1], $at < 40 ? 0 : $at - 40, 100);
	return;
}

# Statements one after the other, by the simple protocol
sub same_simple
{
	my ($settings, @statements) = @_;
	return same("@statements", $settings, sub { $_[0]->simple(@statements) });
}

# By the extended protocol, with formats and a limit
sub same_extended
{
	my ($settings, $sql, $formats, $limit) = @_;
	return same("$sql (@$formats)", $settings, sub { $_[0]->extended($sql, $formats, $limit) });
}

# A query in every way
sub same_query
{
	my ($sql, @settings) = @_;
	same_simple(\@settings, $sql);
	same_simple(\@settings, "COPY ($sql) TO STDOUT");
	same_simple(\@settings, "COPY ($sql) TO STDOUT (DELIMITER '|', NULL 'é')");
	same_extended(\@settings, $sql, []);
	same_extended(\@settings, $sql, [1]);
	same_extended(\@settings, $sql, [], 7);
	return;
}

# One test of all comparisons since the last
sub done
{
	my ($name) = @_;
	cmp_ok($compared, '>', 0, "$name: something was compared");
	is($different, 0, "$name: $compared answers are PostgreSQL's, $bytes bytes");
	($different, $compared, $bytes) = (0, 0, 0);
	return;
}

my @serial = ();
# the leader takes no rows, so that it is always a worker that meets an error, which the message says
my @parallel = ('max_parallel_workers_per_gather = 2', 'parallel_leader_participation = off');
my @spilled = ('gpusort.work_mem = 1024');
for my $table ('integers_', 'numerics', 'floats', 'times', 'texts', 'toasted', 'others', 'changed', 'wide')
{
	same_query("SELECT * FROM $table");
	same_query("SELECT * FROM $table WHERE id < 100 ORDER BY id LIMIT 70");
	for my $way (\@serial, \@parallel, \@spilled)
	{
		same_query("SELECT * FROM $table ORDER BY id", @$way);
	}
	same_simple([], "SELECT * FROM (SELECT * FROM $table OFFSET 1) s ORDER BY id DESC");
}
done('tables');

# what is read: columns of all kinds, alone and as keys that are not sent
for my $table ('integers_', 'numerics', 'floats', 'times', 'texts')
{
	my @columns = split /\n/, $node->safe_psql('postgres',
		"SELECT attname FROM pg_attribute WHERE attrelid = '$table'::regclass AND attnum > 0");
	for my $column (@columns)
	{
		same_extended([], "SELECT $column FROM $table ORDER BY id", [$_]) for 0, 1;
		same_extended([], "SELECT id, $column, $column FROM $table ORDER BY id", [ 0, $_, 1 - $_ ]) for 0, 1;
		same_simple([], "SELECT $column FROM $table WHERE id % 10 = 0 ORDER BY id DESC");
	}
}
done('columns');

for my $style ('ISO', 'ISO, DMY', 'German', 'SQL, DMY', 'SQL, MDY', 'Postgres, MDY', 'Postgres, DMY')
{
	same_query('SELECT * FROM times ORDER BY id', "DateStyle = '$style'", "TimeZone = '$_'")
		for 'UTC', 'Europe/Berlin', 'America/New_York';
}
my @zones = (
	'America/New_York', 'Asia/Kolkata', 'America/St_Johns', 'Africa/Monrovia', 'Australia/Lord_Howe',
	'Africa/Casablanca',
	'Europe/Dublin', 'Antarctica/Troll', 'Asia/Manila', 'EST5EDT', 'Etc/GMT-14', 'America/Sao_Paulo', 'Pacific/Apia',
	'Europe/Amsterdam', 'Asia/Tehran', 'Asia/Kathmandu', 'America/Godthab', 'Africa/Cairo', 'CET-1CEST', 'FOO+3:30BAR',
	'Pacific/Kwajalein', 'Europe/Lisbon', 'Asia/Gaza');
for my $zone (@zones)
{
	same_simple(["TimeZone = '$zone'"], 'SELECT t, tz FROM times', 'SELECT tz FROM times ORDER BY tz, id');
}
same_simple(["TIME ZONE INTERVAL '$_' HOUR TO SECOND"], 'SELECT tz FROM times ORDER BY id')
	for '+05:30:15', '-00:00:15';
same_simple(["IntervalStyle = $_"], 'SELECT * FROM times ORDER BY id')
	for 'postgres', 'postgres_verbose', 'sql_standard', 'iso_8601';
same_query('SELECT * FROM floats ORDER BY id', "extra_float_digits = $_") for -15, -3, 0, 1, 2, 3;
same_query('SELECT * FROM texts ORDER BY id', "bytea_output = $_") for 'hex', 'escape';
same_query('SELECT * FROM others ORDER BY id', "lc_monetary = '$_'") for 'C', 'C.UTF-8', 'de_DE.UTF-8';
done('settings');

for my $encoding ('LATIN1', 'SQL_ASCII', 'WIN1252', 'KOI8R', 'EUC_JP', 'SJIS', 'GB18030', 'UTF8')
{
	same_query("SELECT * FROM $_ ORDER BY id", "client_encoding = '$encoding'")
		for 'latin', 'zeros', 'foreign_', 'texts', 'numerics', 'times';
	same_simple(["client_encoding = '$encoding'"], 'SELECT * FROM foreign_', 'COPY (SELECT * FROM latin) TO STDOUT');
}
done('encodings');

# COPY
same_simple([], "COPY (SELECT * FROM texts ORDER BY id) TO STDOUT ($_)")
	for "DELIMITER ','", "DELIMITER ';', NULL ''", "DELIMITER '-'", "DELIMITER ' '", 'FORMAT csv', 'FORMAT csv, HEADER',
	'FORMAT binary', 'HEADER', 'FORMAT text', "ENCODING 'LATIN1'", "NULL 'a'", "DELIMITER 'ab'", "NULL E'a\\nb'",
	"FORMAT csv, FORCE_QUOTE *";
same_simple([], 'COPY texts TO STDOUT', 'COPY (SELECT i FROM returned WHERE false) TO STDOUT',
	"COPY (VALUES (1, NULL, 'x'), (2, '', E'\\\\N')) TO STDOUT");
# what COPY says that it has sent
same_simple([],
	"DO \$\$ BEGIN EXECUTE 'COPY (SELECT * FROM texts ORDER BY id) TO ''/dev/null'''; END \$\$",
	'COPY (SELECT * FROM texts ORDER BY id) TO STDOUT');
same_simple([], 'COPY (SELECT i, CASE WHEN i = 1000 THEN (SELECT (bytes_processed, tuples_processed)::text FROM '
	. 'pg_stat_progress_copy) END FROM generate_series(1, 1000) i) TO STDOUT');
done('COPY');

# kinds of statements
same_simple([], $_)
	for 'SELECT ' . join(',', 1 .. 1664), 'SELECT FROM integers_', 'SELECT * FROM texts WHERE false ORDER BY t', '',
	'SELECT 1, 2.50; SELECT now() - now(), 3::int2; SELECT 1 / 0; SELECT 4', "VALUES (1, 2.5, 'x'), (2, NULL, 'y')",
	'SHOW work_mem; SHOW search_path', 'EXPLAIN (COSTS OFF) SELECT * FROM texts ORDER BY id',
	"SELECT 'x', NULL, pg_sleep(0), textout('abc')", 'SELECT oid, * FROM pg_type ORDER BY oid',
	'SELECT * FROM pg_attribute ORDER BY attrelid, attnum', 'TABLE numerics ORDER BY id FOR SHARE',
	'SELECT i, (SELECT count(*) FROM latin) FROM generate_series(1, 100) i ORDER BY i',
	'SELECT id, n FROM numerics UNION ALL SELECT -id, n FROM numerics ORDER BY 1',
	'SELECT a.id, b.n FROM integers_ a JOIN numerics b USING (id) ORDER BY a.id',
	"DO \$\$ DECLARE r record; BEGIN FOR r IN SELECT * FROM times ORDER BY id LIMIT 10 LOOP "
	. "RAISE NOTICE '%', r; END LOOP; END \$\$";
same_extended([], 'SELECT 1, 2', $_) for [ 0, 2 ], [ 0, 1, 0 ], [ 1, 1 ];
same_extended([], "SELECT '{(1,2)}'::int4multirange, 'a'::unknown, ROW(1, 'a', 2.5)", [$_]) for 0, 1;
same_simple([], 'BEGIN', 'DECLARE c CURSOR FOR SELECT * FROM times ORDER BY id', 'FETCH 30 FROM c',
	"SET DateStyle = 'German'", 'FETCH 30 FROM c', "SET TimeZone = 'Asia/Tehran'", 'FETCH ALL FROM c', 'COMMIT');
same_simple([], 'BEGIN', 'DECLARE c SCROLL CURSOR WITH HOLD FOR SELECT * FROM numerics ORDER BY id',
	'FETCH 10 FROM c', 'FETCH BACKWARD 5 FROM c', 'COMMIT', 'FETCH LAST FROM c', 'FETCH ABSOLUTE 7 FROM c', 'CLOSE c');
same_simple([], 'BEGIN', 'DECLARE c BINARY CURSOR FOR SELECT * FROM numerics ORDER BY id', 'FETCH ALL FROM c',
	'COMMIT');
same_simple([], 'PREPARE p (int) AS SELECT * FROM integers_ WHERE id > $1 ORDER BY id', ('EXECUTE p(5)') x 7,
	'DEALLOCATE p');
same_simple([], 'TRUNCATE returned', 'BEGIN',
	"INSERT INTO returned SELECT i, i / 3.0, 't' || i FROM generate_series(1, 1000) i RETURNING *",
	'UPDATE returned SET n = n * 2 RETURNING n, i', 'DELETE FROM returned RETURNING *',
	'WITH x AS (INSERT INTO returned SELECT 1, 2.5, NULL RETURNING *) SELECT * FROM x, generate_series(1, 10)',
	'INSERT INTO returned VALUES (-1, 3, NULL)',
	'COPY (INSERT INTO returned SELECT 1, 2, NULL RETURNING *) TO STDOUT', 'ROLLBACK');
# the number of a new table is not that of another; expressions have none
same_simple([], 'CREATE TABLE x (a int, b numeric)', 'INSERT INTO x VALUES (1, 2)', 'SELECT a + 0, b + 0 FROM x',
	'ALTER TABLE x ALTER a TYPE numeric', 'SELECT a + 0, b + 0 FROM x',
	"ALTER TABLE x ADD c date DEFAULT '2020-01-01', DROP b", 'SELECT a + 0, c + 0 FROM x ORDER BY a', 'DROP TABLE x');
done('statements');

# what else is sent among rows, and errors
for my $way (\@serial, \@parallel)
{
	same_query("SELECT $_ FROM loud_values ORDER BY id", @$way)
		for 'id, t, v', 'v', 'v, id, t, v', 'id, t, noisy(id)', 'failing(id), t', '1 / (500 - id), t';
	same_query('SELECT noisy(id), v, t FROM loud_values', @$way);
	same_query('SELECT noisy(id), v, t FROM loud_values WHERE id < 700 ORDER BY id', @$way);
	same_query('SELECT * FROM foreign_ ORDER BY id', @$way, "client_encoding = 'LATIN1'");
}
same_simple([], 'SELECT setting(i), i, timestamptz \'2024-07-01 12:00:00.5\' + i * interval \'100 days\', '
	. "date '2024-01-01' + i, i / 7.0::float8, 'café' FROM generate_series(1, 500) i");
same_simple([], 'COPY (SELECT i, setting(i), timestamptz \'2024-07-01 12:00:00.5\' + i * interval \'100 days\', '
	. "date '2024-01-01' + i, i / 7.0::float8, 'café' FROM generate_series(1, 500) i) TO STDOUT");
same_simple([], 'BEGIN', 'SELECT * FROM loud_values ORDER BY id', 'ROLLBACK', 'SELECT 1', 'BEGIN',
	'SELECT * FROM loud_values WHERE id < 700 ORDER BY id', 'SAVEPOINT a', 'SELECT * FROM loud_values ORDER BY id',
	'ROLLBACK TO a', 'SELECT * FROM loud_values WHERE id < 600 ORDER BY id', 'COMMIT');
done('notices and errors');

# several statements in one message of the socket, and rows by the limit between others'
same('a pipeline', [], sub {
	my ($session) = @_;
	$session->pipeline('SELECT * FROM loud_values WHERE id < 700 ORDER BY id', 'SELECT 1 / 0', 'SELECT 2');
});
same('a pipeline that fails in the middle of rows', [], sub {
	my ($session) = @_;
	$session->pipeline('SELECT id, t FROM loud_values ORDER BY id', 'SELECT * FROM loud_values ORDER BY id',
		'SELECT 2');
});
for my $limit (1, 7, 1000)
{
	same("portals by turns, $limit rows", [], sub {
		my ($session) = @_;
		$session->portals($limit, 'SELECT * FROM numerics ORDER BY id',
			'SELECT id, v, t FROM loud_values WHERE id < 700 ORDER BY id');
	});
}
done('pipelines and portals');

# large rows: some take more than is held back, some more than a message may have
my $large = "repeat('x', CASE i WHEN 5 THEN 270000000 ELSE 10 END)";
same_simple([], "SELECT i, $large, i / 3.0 FROM generate_series(1, 10) i");
same_simple([], "COPY (SELECT i, $large FROM generate_series(1, 10) i ORDER BY 1) TO STDOUT");
same_simple([], "SELECT repeat('x', 600000000), repeat('y', 600000000)", 'SELECT 1');
same_simple([], "SELECT i, repeat('x', i * 20000) t FROM generate_series(1, 50) i ORDER BY 1");
done('large rows');

# the types of messages, as one word
sub types_of { return join '', map { $_->[0] } messages_of($_[0]) }

# Waits until a session's server process waits for its messages to be read.
sub wait_until_it_waits
{
	my ($session) = @_;
	return $node->poll_query_until('postgres', "SELECT wait_event = 'ClientWrite' FROM pg_stat_activity WHERE pid = "
		. $session->pid);
}

# a query is cancelled in the middle of its rows: whole rows come, then the error, and the session goes on
$node->safe_psql('postgres', "CREATE TABLE many AS SELECT i, repeat('x', 50) t FROM generate_series(1, 300000) i");
for my $sql ('SELECT * FROM many ORDER BY i DESC', 'COPY (SELECT * FROM many ORDER BY i DESC) TO STDOUT',
	'SELECT * FROM many')
{
	my $session = session('on');
	$session->simple('RESET ALL');
	$session->send(GpuSortWire::message('Q', "$sql\0"));
	my $start = $session->next_message . $session->next_message;
	wait_until_it_waits($session);
	$session->cancel;
	my $rest = types_of($start . $session->until_ready);
	like($rest, qr/^[TH][Dd]+EZ$/, "$sql: cancelled");
	cmp_ok(length $rest, '<', 300000, 'before its end');
	is(types_of($session->simple('SELECT 1')), 'TDCZ', 'the session goes on');
}

# a statement that takes too long
same_simple(['statement_timeout = 300'],
	'SELECT i, CASE WHEN i = 5 THEN pg_sleep(5) END FROM generate_series(1, 10) i');
done('timeout');

# a server process is ended while it waits for the client to read: what has come is the beginning of the answer, which
# no other message interrupts
for my $sql ('SELECT * FROM many ORDER BY i DESC', 'COPY (SELECT * FROM many ORDER BY i DESC) TO STDOUT')
{
	my $whole = session('off')->simple('RESET ALL', $sql);
	for my $mode ('off', 'on')
	{
		my $session = GpuSortWire->new($socket, options => "-c gpusort.output=$mode");
		my $pid = $session->pid;
		my $start = $session->simple('RESET ALL');
		$session->send(GpuSortWire::message('Q', "$sql\0"));
		wait_until_it_waits($session);
		$node->safe_psql('postgres', "SELECT pg_terminate_backend($pid)");
		ok($node->poll_query_until('postgres', "SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE pid = $pid)"),
			"$sql, output $mode: ended while it waits for its client");
		$start .= $session->{bytes} while $session->{bytes} = '', $session->more;
		cmp_ok(length $start, '<', length $whole, 'before its end');
		ok(substr($whole, 0, length $start) eq $start, 'all that came is the beginning of the answer');
		$session->close;
	}
}

# the client goes away: the server notices, says so in its log, and ends the session
for my $sql ('SELECT * FROM many ORDER BY i DESC', 'COPY (SELECT * FROM many ORDER BY i DESC) TO STDOUT')
{
	my $session = GpuSortWire->new($socket);
	my $pid = $session->pid;
	$session->send(GpuSortWire::message('Q', "$sql\0"));
	$session->next_message;
	my $offset = -s $node->logfile;
	$session->close;
	ok($node->poll_query_until('postgres', "SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE pid = $pid)"),
		"$sql: a session without a client ends");
	my @log = split /\n/, slurp_file($node->logfile, $offset);
	is(scalar(grep { /LOG:  could not send data to client: Broken pipe/ } @log), 1, 'why is in the log, once');
	is(scalar(grep { /FATAL:  connection to client lost/ } @log), 1, 'as PostgreSQL has it');
}

# rows that take long to write come as soon as PostgreSQL's: with eight kilobytes
$node->safe_psql('postgres', "CREATE TABLE slow AS SELECT i id, repeat('x', 1000) t, (2000 + i)::loud v FROM "
	. 'generate_series(1, 200) i');
for my $mode ('off', 'on')
{
	my $session = session($mode);
	my $start = time;
	$session->send(GpuSortWire::message('Q', "SELECT * FROM slow ORDER BY id\0"));
	$session->until_message('D');
	my $first = time - $start;
	$session->until_ready;
	cmp_ok($first, '<', (time - $start) / 2, "output $mode: the first rows of a slow query come early");
}

# sessions of other kinds: of replication, and encrypted, with answers that take many sends to a client that waits first
sub same_by
{
	my ($kind, @way) = @_;
	for my $mode ('off', 'on')
	{
		my ($path, %parameters) = @way;
		$parameters{options} = "-c gpusort.output=$mode";
		$sessions{"$kind $mode"} = GpuSortWire->new($path, %parameters);
	}
	local @sessions{'off', 'on'} = @sessions{"$kind off", "$kind on"};
	same_simple([], 'SELECT * FROM many ORDER BY i DESC', 'COPY (SELECT * FROM many ORDER BY i DESC) TO STDOUT',
		'SELECT * FROM many', 'SELECT id, t, v FROM loud_values ORDER BY id', 'SELECT * FROM toasted ORDER BY id');
	same("$kind, a client that reads late", [], sub {
		my ($session) = @_;
		$session->send(GpuSortWire::message('Q', "SELECT * FROM many ORDER BY i DESC\0"));
		wait_until_it_waits($session);
		return $session->until_ready;
	});
	return done($kind);
}

same_by('replication', $socket, replication => 'database');
SKIP:
{
	skip 'no OpenSSL', 5 if system('openssl version >/dev/null 2>&1') != 0
		|| $node->config_data('--configure') !~ /--with-(ssl=)?openssl/;
	my $directory = $node->data_dir;
	run_log([ 'openssl', 'req', '-new', '-x509', '-nodes', '-batch', '-subj', '/CN=localhost', '-out',
		"$directory/server.crt", '-keyout', "$directory/server.key" ]);
	chmod 0600, "$directory/server.key";
	$node->append_conf('postgresql.conf', "ssl = on\nlisten_addresses = '127.0.0.1'");
	$_->close for values %sessions;
	%sessions = ();
	$node->restart;
	for my $version ('tls1_2', 'tls1_3')
	{
		same_by($version, [ 'openssl', 's_client', '-quiet', '-verify_quiet', '-starttls', 'postgres', '-connect',
				'127.0.0.1:' . $node->port, "-$version" ]);
	}
	is($node->safe_psql('postgres', 'SELECT count(*) FROM pg_stat_ssl WHERE ssl'), 4,
		'these sessions were encrypted');
}

# EXPLAIN says so
like(plan_of($node, 'SELECT * FROM texts ORDER BY id', 'VERBOSE, COSTS OFF'),
	qr/Client Rows: written from memory, 6 of 11 columns by gpusort/, 'EXPLAIN (VERBOSE)');
unlike(plan_of($node, 'SELECT * FROM texts ORDER BY id LIMIT 10', 'VERBOSE, COSTS OFF'), qr/Client Rows/,
	'not of a node below another');

# the server dies while sessions wait for their clients to read: these say nothing more, in the middle of a row
{
	my $sql = 'SELECT * FROM many ORDER BY i DESC';
	session('off')->simple('RESET ALL');
	my $whole = session('off')->simple($sql);
	my %waiting = map { $_ => session($_) } 'off', 'on';
	for my $session (values %waiting)
	{
		$session->simple('RESET ALL');
		$session->send(GpuSortWire::message('Q', "$sql\0"));
		wait_until_it_waits($session);
	}
	my $offset = -s $node->logfile;
	$node->kill9;
	my $said = sub {
		my $pid = $_[0]->pid;
		my @lines = split /\n/, slurp_file($node->logfile, $offset);
		return scalar(grep { /\[$pid\].*terminating connection due to/ } @lines);
	};
	wait_until(sub { return $said->($waiting{off}) && $said->($waiting{on}) }, 'they notice before their clients read');
	for my $mode ('off', 'on')
	{
		my $session = $waiting{$mode};
		1 while $session->more;
		cmp_ok(length $session->{bytes}, '<', length $whole, "output $mode: the answer ends with the server");
		ok(substr($whole, 0, length $session->{bytes}) eq $session->{bytes}, 'in the middle, with nothing behind it');
		is($said->($session), 1, 'which the log says once');
	}
}

$_->close for values %sessions;
done_testing();
