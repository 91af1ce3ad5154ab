# GpuSortAnswers.pm: queries answered from resident columns, compared with PostgreSQL's answers in the same snapshot.
package GpuSortAnswers;

use strict;
use warnings;

use Exporter 'import';
use JSON::PP;

our @EXPORT = qw(comparison_functions compared_line columns_used digest_of node_of);

# SQL functions that compare answers:
#
#   compare.same(query, scale)      '' if the query has one answer with gpusort.columns on and off, else both.  STABLE,
#                                   so that both have the snapshot of the statement that calls it.  An error that values
#                                   cause is an answer, too.  Columns named approx... are sums of floats: they may
#                                   differ by 1e-12 of the column of that name in the query "scale".
#   compare.compared(query, scale)  that, and what EXPLAIN ANALYZE says of the query: whether all its GpuColumns nodes
#                                   were answered from columns, or their reasons
my $functions = <<'SQL';
CREATE SCHEMA compare;
GRANT USAGE ON SCHEMA compare TO PUBLIC;

CREATE FUNCTION compare.answer(query text, mode text) RETURNS text LANGUAGE plpgsql STABLE SET gpusort.columns
	= on AS $$
DECLARE
	r record;
	answer text := '';
BEGIN
	PERFORM set_config('gpusort.columns', mode, true);
	FOR r IN EXECUTE query LOOP
		answer := answer || row_to_json(r) || E'\n';
	END LOOP;
	RETURN answer;
EXCEPTION WHEN data_exception OR insufficient_privilege THEN
	RETURN SQLSTATE || ' ' || SQLERRM;
END $$;

CREATE FUNCTION compare.near(one text, other text, scale text) RETURNS boolean LANGUAGE sql AS $$
SELECT coalesce(bool_and(x.value IS NOT DISTINCT FROM y.value OR x.key = y.key AND x.key LIKE 'approx%'
	AND coalesce(s.value, '1')::float8 < 'Infinity'
	AND abs(x.value::float8 - y.value::float8) <= 1e-12 * greatest(coalesce(s.value, '1')::float8,
	abs(y.value::float8))),
	false)
FROM json_each_text(one::json) WITH ORDINALITY x FULL JOIN json_each_text(other::json) WITH ORDINALITY y USING
	(ordinality)
	LEFT JOIN json_each_text(scale::json) s ON s.key = x.key
$$;

CREATE FUNCTION compare.same(query text, scale text DEFAULT 'SELECT 1 AS one') RETURNS text LANGUAGE plpgsql
	STABLE AS $$
DECLARE
	one text := compare.answer(query, 'on');
	other text := compare.answer(query, 'off');
BEGIN
	IF one = other THEN
		RETURN '';
	END IF;
	-- PostgreSQL tests HAVING's keys with WHERE, in an order of its own, and may compute what WHERE leaves out; beside
	-- an aggregate they are tested afterwards
	IF other LIKE '22003 %' AND query LIKE '%HAVING % IS NOT NULL%' THEN
		other := compare.answer(regexp_replace(query, 'HAVING (.*?) IS NOT NULL',
			'HAVING (\1 IS NOT NULL OR count(*) < 0)'), 'off');
		IF one = other THEN
			RETURN '';
		END IF;
	END IF;
	-- with LIMIT it depends on the plan whether a value is computed that overflows
	IF '22003 ' IN (left(one, 6), left(other, 6)) AND query LIKE '% LIMIT %'
		AND compare.answer(regexp_replace(query, ' (LIMIT|OFFSET) \d+', '', 'g'), 'off') LIKE '22003 %' THEN
		RETURN '';
	END IF;
	IF one LIKE '{%' AND other LIKE '{%' AND query LIKE '%approx%' THEN
		IF compare.near(one, other, compare.answer(scale, 'off')) THEN
			RETURN '';
		END IF;
	END IF;
	RETURN format('%s with columns: %s without: %s', query, one, other);
END $$;

CREATE FUNCTION compare.used(plan jsonb, OUT used text, OUT reason text, OUT heap bigint, OUT young bigint)
	LANGUAGE sql AS $$
SELECT CASE WHEN count(*) = 0 THEN 'none'
	WHEN bool_or(jsonb_path_exists(n, '$.Plans[*] ? (@."Parent Relationship" == "child" && @."Actual Loops" > 0)'))
	THEN 'child' ELSE 'columns' END,
	max(substring(n ->> 'Columns' FROM '\((.*)\)')), sum((n ->> 'Pages From Table')::int8), sum((n ->> 'Young
	Pages')::int8)
FROM jsonb_path_query(plan, 'strict $.** ? (@."Custom Plan Provider" == "GpuColumns")') n
WHERE (n ->> 'Actual Loops')::float8 > 0
$$;

CREATE FUNCTION compare.analyzed(query text) RETURNS jsonb LANGUAGE plpgsql SET gpusort.columns = on AS $$
DECLARE
	plan json;
BEGIN
	EXECUTE 'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, FORMAT JSON) ' || query INTO plan;
	RETURN plan;
EXCEPTION WHEN data_exception OR insufficient_privilege THEN
	RETURN '[]';
END $$;

CREATE FUNCTION compare.compared(query text, scale text, OUT differs text, OUT used text, OUT reason text, OUT
	heap bigint,
	OUT young bigint) LANGUAGE plpgsql AS $$
DECLARE
	plan jsonb;
BEGIN
	differs := replace(compare.same(query, scale), E'\n', ' ');
	plan := compare.analyzed(query);
	SELECT u.* INTO used, reason, heap, young FROM compare.used(plan) u;
	IF plan = '[]' THEN
		used := 'error';
	END IF;
END $$;
SQL

# Makes these functions in a database.
sub comparison_functions
{
	my ($node, $database) = @_;
	$node->safe_psql($database // 'postgres', $functions);
	return;
}

# A statement that compares a query's answers, and prints "WORD|differs|used|reason|heap|young".
sub compared_line
{
	my ($word, $query, $scale) = @_;
	return "SELECT '$word', c.* FROM compare.compared(\$q\$$query\$q\$, \$q\$$scale\$q\$) c;\n";
}

# The nodes of a plan in JSON that answer from columns and have run.
sub nodes
{
	my ($plan) = @_;
	my $mine = ($plan->{'Custom Plan Provider'} // '') eq 'GpuColumns' && ($plan->{'Actual Loops'} // 1) > 0;

	return (($mine ? $plan : ()), map { nodes($_) } @{ $plan->{Plans} // [] });
}

# The first such node of what EXPLAIN (FORMAT JSON) has printed.
sub node_of
{
	my ($text) = @_;
	my ($node) = nodes(decode_json($text)->[0]{Plan});
	return $node;
}

# What EXPLAIN (ANALYZE, FORMAT JSON) has printed, in a word: "columns" answered all nodes, or the "child" some, or
# there are "none".
sub columns_used
{
	my ($text) = @_;
	my @nodes = nodes(decode_json($text)->[0]{Plan});

	return 'none' unless @nodes;
	return 'child'
		if grep { $_->{'Parent Relationship'} eq 'child' && $_->{'Actual Loops'} > 0 } map { @{ $_->{Plans} } } @nodes;
	return 'columns';
}

# A query whose one row is a number for the rows of another, in any order.
sub digest_of
{
	my ($query) = @_;
	return "SELECT md5(string_agg(x::text, ',' ORDER BY x::text)) FROM ($query) x";
}

1;
