# GpuSortHeld.pm: tables of random values that are held as columns, and comparisons of queries over them, answered with
# columns and without, for tests that go on for as long or with as many queries as one likes.
package GpuSortHeld;

use strict;
use warnings;

use Exporter 'import';
use GpuSortAnswers;
use GpuSortQueries;
use GpuSortService;
use Test::More;

our @EXPORT = qw(random_values make_held compare_script end_comparisons);

# An expression for values of a type: most of them common ones, by an expression of 0 to 7, and fractions of odd ones
# and NULLs.
sub random_values
{
	my ($type, $odd, $null, $which) = @_;
	my ($common, $rare) = map { my $kind = $_; join ', ', map { "'" . odd_value($type, $kind) . "'" } 1 .. 8 } 0, 1;

	return "CASE WHEN random() < $null THEN NULL WHEN random() < $odd "
		. "THEN (ARRAY[$rare])[1 + floor(random() * 8)::int] ELSE (ARRAY[$common])[1 + $which] END::$type";
}

# Makes a table of columns, given as name => type, that is held, or one of partitions by the hash of a column.  The
# options: partitions, by, storage, values (of a column's name), from, and before, statements before it is held.
sub make_held
{
	my ($node, $table, $columns, %options) = @_;
	my @names = sort keys %$columns;
	my $storage = $options{storage} // '';
	my $partitions = $options{partitions};
	my $tables = "CREATE TABLE $table (" . join(', ', map { "$_ $columns->{$_}" } @names) . ') '
		. ($partitions ? "PARTITION BY HASH ($options{by})" : $storage) . ";\n";

	$tables .= "CREATE TABLE ${table}_$_ PARTITION OF $table FOR VALUES WITH (MODULUS $partitions, REMAINDER $_) "
		. "$storage;\n" foreach 0 .. $partitions - 1;
	$node->safe_psql('postgres', 'SELECT setseed(' . rand() . ");\n${tables}INSERT INTO $table SELECT "
			. join(', ', map { $options{values}->($_) } @names) . " FROM $options{from};\n"
			. ($options{before} // '') . ";\nVACUUM ANALYZE $table;\nSELECT gpusort_columns_add('$table')");
	return;
}

# Runs a script with comparisons in a session, and adds what came out to count, reason and different.
sub compare_script
{
	my ($node, $script, $found) = @_;
	my ($out, $err) = ('', '');
	my $status = $node->psql('postgres', $script, stdout => \$out, stderr => \$err, on_error_stop => 0);

	$err =~ s/^.*(?:NOTICE|WARNING).*\n//mg;
	push @{ $found->{different} }, "exit status $status: $err" if $status;
	push @{ $found->{different} }, "$err in:\n$script" if $err =~ /ERROR|FATAL|server closed/;
	foreach my $line (split /\n/, $out)
	{
		my ($word, $differs, $used, $reason, $heap, $young) = split /\|/, $line, -1;

		next unless defined $heap;
		$found->{count}{all}++;
		$found->{count}{$word}++;
		$found->{count}{"$word: $used"}++;
		$found->{count}{'with pages of the table'}++ if $used eq 'columns' && ($heap || 0) > 0;
		$found->{reason}{$reason}++ if $reason ne '';
		push @{ $found->{different} }, $differs if $differs ne '';
	}
	return;
}

# Says how many comparisons there were, tests that no answer differs and that a part of those with a word came from
# columns, and ends the server.
sub end_comparisons
{
	my ($node, $found, $word, $part) = @_;
	my ($count, $reason, $different) = @$found{qw(count reason different)};

	diag('comparisons: ' . join ', ', map { "$_ $count->{$_}" } sort keys %$count);
	diag('columns were not used: ' . join '; ', map { "$_: $reason->{$_}" } sort keys %$reason) if %$reason;
	is(join("\n", @$different[ 0 .. ($#$different < 9 ? $#$different : 9) ]), '', 'no answer differs');
	cmp_ok($count->{"$word: columns"} // 0, '>', $part * ($count->{$word} // 0), 'enough of them come from columns');
	$node->stop;
	sound($node);
	done_testing();
	return;
}

1;
