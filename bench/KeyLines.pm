# KeyLines.pm: the lines of queries.pl's part "keys": text in a language, and types without an exact encoding.
#
# Values are made of hashes of their numbers, so that every run sorts the same rows.
package KeyLines;

use strict;
use warnings;

# Functions that make names of some syllables out of a hash, and a type.
our $setup = q{
	CREATE OR REPLACE FUNCTION syllable(hash int8, n int) RETURNS text LANGUAGE sql IMMUTABLE AS $$
		SELECT (ARRAY['ma', 'ri', 'an', 'jo', 'ha', 'el', 'is', 'be', 'th', 'ka', 'lo', 'ne', 'so', 'da', 'vi', 'mi',
			'ch',
			'st', 'er', 'le', 'ro', 'na', 'ti', 'pe', 'lu', 'gra', 'bert', 'son', 'ski', 'mann', 'ov', 'ez'])
			[((hash >> (5 * n)) & 31)::int + 1] $$;
	CREATE OR REPLACE FUNCTION name_of(i int8) RETURNS text LANGUAGE sql IMMUTABLE AS $$
		SELECT initcap(syllable(h, 0) || syllable(h, 1) || syllable(h, 2)) || ', ' ||
			initcap(syllable(h, 3) || syllable(h, 4)) FROM (SELECT hashint8extended(i, 3) AS h OFFSET 0) AS s $$;
	CREATE OR REPLACE FUNCTION sentence_of(i int8) RETURNS text LANGUAGE sql IMMUTABLE AS $$
		SELECT string_agg(syllable(h, 0) || syllable(h, 1) || CASE WHEN n % 3 = 0 THEN syllable(h, 2) || ',' ELSE ''
			END, ' ')
		FROM (SELECT n, hashint8extended(i, n) AS h FROM generate_series(1, 11) AS n OFFSET 0) AS s $$;
	CREATE OR REPLACE FUNCTION url_of(i int8) RETURNS text LANGUAGE sql IMMUTABLE AS $$
		SELECT 'https://www.' || syllable(a, 0) || syllable(a, 1) || syllable(a, 2) || '.com/' || syllable(b, 0) ||
			syllable(b, 1) || '/' || syllable(b, 2) || syllable(b, 3) || '-' || syllable(b,
				4) || '/' || abs(i % 99991) || '.html'
		FROM (SELECT hashint8extended(i % 3000, 1) AS a, hashint8extended(i, 2) AS b OFFSET 0) AS s $$;
	CREATE OR REPLACE FUNCTION code_of(i int8) RETURNS text LANGUAGE sql IMMUTABLE AS $$
		SELECT substr('ABab', 1 + (h & 3)::int, 1) || substr('-/._ +^#', 1 + (h >> 2 & 7)::int, 1) || (h >> 5 & 3) ||
			substr('-/._ +^#', 1 + (h >> 7 & 7)::int, (h >> 10 & 1)::int) || (h >> 11 & 3) || (h >> 13 & 3) ||
			substr('-/._ +^#', 1 + (h >> 16 & 7)::int, (h >> 19 & 1)::int) || (h >> 20 & 3) || (h >> 22 & 3)
		FROM (SELECT hashint8extended(i, 5) AS h OFFSET 0) AS s $$;
	DROP TYPE IF EXISTS pair;
	CREATE TYPE pair AS (a int4, b text)};

my $h = 'hashint8extended(i, 11)';
my $clerk = q{'Clerk#' || lpad((abs(hashint8(i)) % 1000)::text, 9, '0')};
my $icu = 'COLLATE "en-US-x-icu"';
my $numbers = "ARRAY[($h & 1023)::int4, ($h >> 10 & 1023)::int4, ($h >> 20 & 1023)::int4]";
my $document = "jsonb_build_object('a', $h & 1023, 'b', syllable($h, 3))";
my $range = "int4range(($h & 65535)::int4, ($h & 65535)::int4 + ($h >> 16 & 255)::int4)";
my $pair = "ROW(($h & 1023)::int4, syllable($h, 3) || syllable($h, 4) || syllable($h, 5))::pair";
my $cyrillic =
	q{translate(name_of(i), 'abdehijklmnoprstuvzMRAJHEISBTKLNDVCGPO', 'абдехийклмнопрстуввМРАЙХЕИСБТКЛНДВЦГПО')};
my $chinese =
	"chr(19968 + ($h & 8191)::int) || chr(19968 + ($h >> 13 & 1023)::int) || chr(19968 + ($h >> 23 & 2047)::int)";
my $accents = q{CASE WHEN i % 10 = 0 THEN overlay(name_of(i) PLACING 'é' FROM 3 FOR 1) ELSE name_of(i) END};
my ($million, $five) = ({ rows => 1_000_000 }, { rows => 5_000_000 });

# as in queries.pl: name, target, unused, columns, their expressions, order, what differs
our @lines = (
	[ 'names', 5, 0, 'k text, v int4', 'name_of(i), i', 'k', $five ],
	[ 'names, ICU', 2.2, 0, "k text $icu, v int4", 'name_of(i), i', 'k', $five ],
	[ 'names, 10 % with accents', 3.5, 0, 'k text, v int4', "$accents, i", 'k', $five ],
	[ 'names, char(30)', 4, 0, 'k char(30), v int4', 'name_of(i), i', 'k', $five ],
	[ 'names, Cyrillic', 2, 0, 'k text, v int4', "$cyrillic, i", 'k', $million ],
	[ 'names, Chinese', 2, 0, 'k text, v int4', "$chinese, i", 'k', $million ],
	[ 'sentences', 2.5, 0, 'k text, v int4', 'sentence_of(i), i', 'k', $million ],
	[ 'sentences, ICU', 1.5, 0, "k text $icu, v int4", 'sentence_of(i), i', 'k', $million ],
	[ 'URLs', 5, 0, 'k text, v int4', 'url_of(i), i', 'k', $million ],
	[ 'URLs, ICU', 1.6, 0, "k text $icu, v int4", 'url_of(i), i', 'k', $million ],
	[ 'product codes', 1.5, 0, 'k text, v int4', 'code_of(i), i', 'k', $million ],
	[ '1000 clerks', 20, 0, 'k text, v int4', "$clerk, i", 'k', $five ],
	[ '5 distinct names', 5, 0, 'k text, v int4', 'name_of(abs(hashint8(i)) % 5), i', 'k', $five ],
	[ 'clerk, date', 12, 0, 'k text, d date', "$clerk, date '1992-01-01' + ($h & 2047)::int4", 'k, d', $five ],
	[ 'timestamp, name', 3, 0, 'd timestamp, k text',
		"timestamp '2020-01-01' + abs(hashint8extended(i, 7) % 100000000) * interval '1 s', name_of(i)", 'd, k',
		$five ],
	[ 'int4[]', 1, 0, 'k int4[], v int4', "$numbers, i", 'k', $million ],
	[ 'int4range', 1, 0, 'k int4range, v int4', "$range, i", 'k', $million ],
	[ 'jsonb', 1, 0, 'k jsonb, v int4', "$document, i", 'k', $million ],
	[ '(int4, text)', 1, 0, 'k pair, v int4', "$pair, i", 'k', $million ],
	[ 'tsvector', 1, 0, 'k tsvector, v int4', "($h & 1048575)::text::tsvector, i", 'k', $million ],
	[ 'int4, int4[]', 2.5, 0, 'r int4, k int4[]', "hashint8(i), $numbers", 'r, k', $million ],
	[ 'int4, int4range', 2.5, 0, 'r int4, k int4range', "hashint8(i), $range", 'r, k', $million ],
	[ 'int4, jsonb', 2.5, 0, 'r int4, k jsonb', "hashint8(i), $document", 'r, k', $million ],
	[ 'int4, (int4, text)', 2.5, 0, 'r int4, k pair', "hashint8(i), $pair", 'r, k', $million ],
	[ 'names, stock settings', 3, 0, 'k text, v int4', 'name_of(i), i', 'k', { rows => 5_000_000, stock => 1 } ]);

1;
