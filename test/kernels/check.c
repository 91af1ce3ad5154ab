/*
 * check.c: sums over columns in segments against plain C: types, NULLs, spans of every length, also none.
 */
#include "scan_test.h"

#include "../../kernels/gs_columns.h"

#define SEGMENTS 5
#define MOST_COLUMNS 4
#define MOST_ROWS 20000

/* The finalizer of murmur3, written as protocol.h's description of a check says it. */
static uint64_t
plain_mix(uint64_t h, uint64_t value, bool null)
{
	uint64_t x = h * 0x9E3779B97F4A7C15ull + (null ? 0x5bd1e995a5a5a5a5ull : value + 1);

	x ^= x >> 33;
	x *= 0xff51afd7ed558ccdull;
	x ^= x >> 33;
	x *= 0xc4ceb9fe1a85ec53ull;
	x ^= x >> 33;
	return x;
}

/* A segment's columns in host memory and on the engine. */
typedef struct segment
{
	uint32_t rows;
	uint8_t *values[MOST_COLUMNS];
	uint64_t *nulls[MOST_COLUMNS];
	array on_values[MOST_COLUMNS], on_nulls[MOST_COLUMNS];
} segment;

static void
make_segment(segment *s, uint32_t rows, const gs_type *types, uint32_t ncolumns, gs_held *held)
{
	size_t words = (rows + 63) / 64;

	*s = (segment){.rows = rows};
	for (uint32_t c = 0; c < ncolumns; c++)
	{
		size_t bytes = rows * gs_type_width(types[c]);

		s->values[c] = malloc(bytes + 16);
		fill_runs(types[c], s->values[c], rows, 2, true);
		s->on_values[c] = make_array(bytes, 0);
		put(&s->on_values[c], s->values[c], bytes);
		held[c] = (gs_held){s->on_values[c].data, NULL};
		if (rnd() % 2)
			continue;
		s->nulls[c] = malloc(words * 8 + 8);
		for (size_t w = 0; w < words; w++)
			s->nulls[c][w] = rnd() & rnd();
		s->on_nulls[c] = make_array(words * 8, 0);
		put(&s->on_nulls[c], s->nulls[c], words * 8);
		held[c].nulls = s->on_nulls[c].data;
	}
}

static void
drop_segment(segment *s, uint32_t ncolumns)
{
	for (uint32_t c = 0; c < ncolumns; c++)
	{
		drop(&s->on_values[c]);
		if (s->nulls[c] != NULL)
			drop(&s->on_nulls[c]);
		free(s->values[c]), free(s->nulls[c]);
	}
}

/* A value in 64 bits; its sign goes with it. */
static uint64_t
widened(gs_type type, const uint8_t *p, int half)
{
	size_t width = gs_type_width(type);
	bool negative = (type == GS_I16 || type == GS_I32) && p[width - 1] >> 7;
	uint64_t x = negative ? ~(uint64_t) 0 : 0;

	memcpy(&x, p + 8 * half, width < 8 ? width : 8);
	return x;
}

/* Adds a row to the expected sums. */
static void
add_row(const segment *s, const gs_type *types, uint32_t ncolumns, uint32_t row, uint64_t *sums)
{
	uint64_t h = 0;

	for (uint32_t c = 0; c < ncolumns; c++)
	{
		const uint8_t *p = s->values[c] + row * gs_type_width(types[c]);
		bool null = s->nulls[c] != NULL && (s->nulls[c][row / 64] >> row % 64 & 1);

		if (c == 0 && !null)
			sums[0] += widened(types[c], p, 0);
		h = plain_mix(h, widened(types[c], p, 0), null);
		if (types[c] == GS_U128)
			h = plain_mix(h, widened(types[c], p, 1), null);
	}
	sums[1] ^= h;
}

static void
one_check(uint32_t ncolumns, uint32_t nspans)
{
	gs_type types[MOST_COLUMNS];
	gs_held held[SEGMENTS * MOST_COLUMNS];
	gs_span *spans = calloc(nspans + 1, sizeof(gs_span));
	segment segments[SEGMENTS];
	uint64_t sums[2] = {0, 0};
	const uint64_t *got;
	gs_held_rows rows = {types, ncolumns, SEGMENTS, held, nspans, spans};
	array out = make_array(16, 0);
	size_t temp;

	for (uint32_t c = 0; c < ncolumns; c++)
		types[c] = (gs_type) (rnd() % GS_BYTES);
	for (uint32_t s = 0; s < SEGMENTS; s++)
		make_segment(&segments[s], (uint32_t) (rnd() % MOST_ROWS) + 1, types, ncolumns, held + s * ncolumns);
	for (uint32_t i = 0; i < nspans; i++)
	{
		const segment *s = &segments[spans[i].segment = (uint32_t) (rnd() % SEGMENTS)];

		spans[i].first = (uint32_t) (rnd() % s->rows);
		spans[i].rows = (uint32_t) (rnd() % (s->rows - spans[i].first + 1));
		if (nspans > 20 && spans[i].rows > 300)
			spans[i].rows %= 300;
		for (uint32_t r = 0; r < spans[i].rows; r++)
			add_row(s, types, ncolumns, spans[i].first + r, sums);
	}
	poison(&out);
	temp = gs_check_temp_bytes(engine, &rows);
	ok(gs_check(engine, &rows, out.data, temp_of(temp), temp), "gs_check");
	got = fetch(&out, 16, "sums");
	check(got[0] == sums[0], "%u columns, %u spans: sum", ncolumns, nspans);
	check(got[1] == sums[1], "%u columns, %u spans: hash", ncolumns, nspans);
	for (uint32_t s = 0; s < SEGMENTS; s++)
		drop_segment(&segments[s], ncolumns);
	drop(&out);
	free(spans);
}

/* Lists that are wrong. */
static void
refused(void)
{
	gs_type type = GS_BYTES;
	uint64_t values[2] = {0, 0};
	gs_held held = {values, NULL};
	gs_span span = {1, 0, 1};
	gs_held_rows rows = {&type, 1, 1, &held, 1, &span};

	check(gs_check(engine, &rows, values, values, sizeof(values)) == GS_INVALID, "strings are refused");
	type = GS_U64;
	check(gs_check(engine, &rows, values, values, sizeof(values)) == GS_INVALID, "a segment that is none is refused");
	rows.ncolumns = 0;
	check(gs_check(engine, &rows, values, values, sizeof(values)) == GS_INVALID, "no columns are refused");
}

void
test_check(void)
{
	static const uint32_t spans[] = {0, 1, 2, 20, 1000, 5000};

	group("sums over segments");
	rnd_seed(99);
	refused();
	for (uint32_t c = 1; c <= MOST_COLUMNS; c++)
		for (size_t i = 0; i < sizeof(spans) / sizeof(spans[0]); i++)
			for (int turn = 0; turn < 4; turn++)
				if (!skipped() && (spans[i] <= 1000 || !small_only))
					one_check(c, spans[i]);
}
