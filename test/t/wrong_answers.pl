# Functions whose answer from a GPU is wrong: one that has not the form of an answer is refused whatever gpusort.verify
# says, one that has it but is wrong is found where it is compared with the values.
use strict;
use warnings;

use GpuSortService;
use PostgreSQL::Test::Utils;
use Test::More;

my $wrong = 'GPU service gave a wrong answer';
my $node = service_node('wrong_answers', '');
$node->safe_psql('postgres', <<'SQL');
CREATE TABLE a AS SELECT array_agg(hashint8(i) % 1000 ORDER BY i) i4, array_agg(hashint8extended(i, 1) % 100000
	ORDER BY i) i8,
	array_agg(nullif(hashint8(i) % 50, 7) ORDER BY i) n4, array_agg(md5((i % 500)::text) ORDER BY i) s,
	array_agg(nullif(i % 3, 2) = 0 ORDER BY i) b, array_agg(i / 40 ORDER BY i) runs
FROM generate_series(1, 60000) i;
-- rows that come in order of the key take no job
CREATE TABLE m AS SELECT i ts, i / 30 % 7 state FROM generate_series(1, 60000) i ORDER BY hashint8(i);
SQL

my $reduced = '(SELECT array_agg(r::text) FROM gpu_reduce_by_key(%s) r)';
my $counted = '(SELECT array_agg(r::text) FROM gpu_count_by_key(%s) r)';

# What asks for an operation, the faults that its answer's form tells, and those that only its content does.
my @asks = (
	[ 'order', 'gpu_argsort(i8)', ['corrupt'], [ 'order', 'keys' ] ],
	[ 'order', 'gpu_sort(s)', ['corrupt'], [ 'order', 'keys' ] ],
	[ 'select', "gpu_select_if(n4, '>=', 3)", [ 'corrupt', 'order' ], ['keys'] ],
	[ 'select', "gpu_select_if(s, '<>', md5('7'))", [ 'corrupt', 'order' ], [] ],
	[ 'select', "gpu_select_if(s, '>', md5('7'))", [ 'corrupt', 'order' ], ['keys'] ],
	[ 'select', 'gpu_select_if(i8, b)', [ 'corrupt', 'order' ], ['keys'] ],
	[ 'partition', 'gpu_partition_if(i8, b)', [ 'corrupt', 'order' ], ['keys'] ],
	[ 'runs', 'gpu_distinct(s)', ['corrupt'], [ 'order', 'keys' ] ],
	[ 'runs', 'gpu_dedup(s)', [ 'corrupt', 'order' ], ['keys'] ],
	[ 'values', 'gpu_sort(i8)', [ 'corrupt', 'keys' ], ['order'] ],
	[ 'values', 'gpu_sort(n4, true)', [ 'corrupt', 'keys' ], ['order'] ],
	[ 'values', 'gpu_distinct(i8)', [], [ 'order', 'keys' ] ],
	[ 'values', '(SELECT gpu_sort_agg(x) FROM unnest(i4) x)', [ 'corrupt', 'keys' ], ['order'] ],
	[ 'runs', '(SELECT array_agg(r::text) FROM gpu_rle_runs(runs) r)', [ 'corrupt', 'order' ], ['keys'] ],
	[ 'runs', '(SELECT gpu_rle(state, ts) FROM m)', ['corrupt'], ['order'] ],
	[ 'scan', "gpu_scan(i4, 'sum')", [], [ 'order', 'keys' ] ],
	[ 'scan', "gpu_scan(n4, 'sum', true)", [], [ 'order', 'keys' ] ],
	[ 'scan', "gpu_scan(i8, 'max')", [], ['keys'] ],
	[ 'scan', "gpu_scan(n4, 'min', true)", [], ['keys'] ],
	[ 'reduce', sprintf($reduced, 'i8, i4'), ['corrupt'], [ 'order', 'keys' ] ],
	[ 'reduce', sprintf($reduced, "s, n4, 'max'"), ['corrupt'], [ 'order', 'keys' ] ],
	[ 'reduce', sprintf($reduced, "runs, i4, 'sum', true"), [ 'corrupt', 'order' ], ['keys'] ],
	[ 'runs', sprintf($counted, 'i8'), ['corrupt'], [ 'order', 'keys' ] ]);

sub answer
{
	my ($engine, $ask, $verify) = @_;
	return $node->safe_psql('postgres',
		"SET gpusort.engine = $engine; SET gpusort.verify = $verify; SELECT md5(($ask)::text) FROM a LIMIT 1");
}

my %right = map { $_->[1] => answer('cpu', $_->[1], 'auto') } @asks;
foreach my $ask (map { $_->[1] } @asks)
{
	is(answer('gpu', $ask, $_), $right{$ask}, "$ask, $_: without faults") foreach qw(auto full);
}
is($node->safe_psql('postgres', 'SELECT count(*) FROM gpusort_stat WHERE fallback IS NOT NULL'), 0,
	'nothing is found where all is well');

foreach my $fault (qw(wrong@finish corrupt@finish order keys))
{
	my ($kind) = split /@/, $fault;

	service_with($node, "--fault=$fault");
	foreach my $line (@asks)
	{
		my ($op, $ask, $formless, $contentless) = @$line;

		# an engine may find its own answer wrong, whatever is asked
		foreach my $verify ((grep { $_ eq $kind } @$formless, 'wrong') ? 'off' : (),
			(grep { $_ eq $kind } @$contentless) ? 'auto' : ())
		{
			forgive($node);		# a device that was set aside comes back
			is(answer('gpu', $ask, $verify), $right{$ask}, "$ask, $fault, verify = $verify: right answer");
			cmp_ok($node->safe_psql('postgres',
				"SELECT coalesce(sum(jobs), 0) FROM gpusort_stat WHERE op = '$op' AND fallback = '$wrong'"),
				'>', 0, "$ask, $fault, verify = $verify: counted");
		}
	}
}

# What nobody looks at is believed.
forgive($node);
isnt(answer('gpu', "gpu_scan(i4, 'sum')", 'off'), $right{"gpu_scan(i4, 'sum')"}, 'off: wrong sums are believed');
is(counted($node, $wrong), 0, 'off: and not noticed');

sound($node);
$node->stop;
done_testing();
