/*
 * order.c: makes the row order of a key.  Words of leading bits above the row number are sorted, then ties refined.
 */
#include "cpu.h"

#include <string.h>

#define OUTPUT_ROWS ((uint64_t) 1 << 20) /* row numbers written between polls */
#define CLIP_ROWS	32768				 /* fewer rows do not repay taking a sample */
#define SAMPLE		1024
#define MARGIN		64 /* the range of a sample is widened by 1/MARGIN at both ends */

/* Chooses the key bits in the words. */
static void
choose_bits(gs_order *order)
{
	const gs_key *key = order->key;

	gs_step_make(key, key->alphabet, (gs_place){0, 0}, 64 - order->row_bits, &order->step);
	order->complete = order->step.end.field == key->nfields && !order->step.open;
}

/* Starts an order and chooses the key bits in the words.  The caller sets words, other and the sorter's scratch. */
void
gs_order_init(gs_order *order, const gs_key *key, gs_work *work, const gs_cpu_tuning *tuning)
{
	memset(order, 0, GS_ORDER_CLEARED);
	order->work = work;
	order->loops = key->loops;
	order->key = key;
	order->rows = key->rows;
	order->row_bits = gs_row_bits(order->rows);
	order->sorter.work = work;
	order->sorter.tuning = tuning;
	choose_bits(order);
	order->facts.key_bits = key->bits;
	order->facts.words = 1;
	order->facts.input = order->step.nparts == 0 ? GS_ASCENDING : GS_UNORDERED;
}

/* Excludes outliers, as a sample shows usual codes that words hold.  The others sort as ties, at both ends. */
static void
find_usual_codes(gs_order *order)
{
	const gs_field *field = order->key->fields;
	uint64_t least = UINT64_MAX, most = 0, margin;
	uint32_t bits;

	for (uint64_t i = 0; i < SAMPLE; i++)
	{
		uint64_t row = order->rows / SAMPLE * i, code = gs_field_code(field, row);

		if (gs_is_null(field->nulls, row))
			continue;
		least = code < least ? code : least;
		most = code > most ? code : most;
		if (gs_bits(most - least) > 64 - order->row_bits)
			return;
	}
	if (least > most)
		return;
	margin = (most - least) / MARGIN + 1;
	least = least > margin ? least - margin : 0;
	most = most < UINT64_MAX - margin ? most + margin : UINT64_MAX;
	/* UINT64_MAX - 2: the codes of the two groups must fit, too */
	bits = most - least > UINT64_MAX - 2 ? 64 : gs_bits(most - least + 2);
	if (bits > 64 - order->row_bits)
		return;
	order->clipped = true;
	order->usual_from = least;
	order->usual_span = most - least;
	order->step = (gs_key_step){
		.nparts = 1, .parts[0] = {.field = field, .pack = field->pack, .null_part = field->null_code},
		.bits = bits, .end = {1, 0}};
	order->step.parts[0].pack.bits = (uint8_t) field->bits;
}

/* Clips the codes of a single column that are too long for the words to the usual ones, if a sample finds such. */
void
gs_order_clip_outliers(gs_order *order)
{
	if (order->complete || order->key->nfields != 1 || order->key->fields->kind != GS_FIELD_VALUE ||
		order->rows < CLIP_ROWS)
		return;
	find_usual_codes(order);
}

/* Converts complete codes to those in the words: outliers to one code at either end. */
static void
clip_codes(const gs_order *order, uint64_t *codes, size_t n)
{
	uint64_t from = order->usual_from, span = order->usual_span;

	for (size_t i = 0; i < n; i++)
	{
		uint64_t code = codes[i] - from;

		code = code > span ? span + 2 : code + 1;
		codes[i] = codes[i] < from ? 0 : code;
	}
}

/* Computes the codes of at most GS_BLOCK_ROWS rows.  Returns false if the alphabet lacks a character. */
bool
gs_order_codes(const gs_order *order, uint64_t row, size_t n, uint64_t *codes)
{
	bool known = gs_step_rows(order->key, &order->step, row, n, codes);

	if (order->clipped)
		clip_codes(order, codes, n);
	return known;
}

/* Packs again, with an alphabet of all rows instead of a sample. */
static gs_status
pack_again(gs_order *order)
{
	gs_alphabet *alphabet = order->key->alphabet;

	GS_TRY(gs_alphabet_of_rows(alphabet, order->key, alphabet->field, order->row_bits, false));
	choose_bits(order);
	return gs_order_pack(order);
}

/*
 * Notes whether rows that ascend in their words also ascend in the bits of the key behind these.  Leaves it open where
 * the latter exceed a word or belong to long strings; refining tells then.
 */
static gs_status
compare_rest(gs_order *order)
{
	uint64_t rest[GS_BLOCK_ROWS + 1]; /* the first is that of the row before the block */
	const uint64_t mask = gs_mask(order->row_bits);
	gs_key_step step;

	if (order->complete || order->clipped || order->step.open || order->step.nparts == 0)
		return GS_OK;
	gs_step_make(order->key, NULL, order->step.end, 64, &step);
	if (step.open || step.end.field < order->key->nfields)
		return GS_OK;
	for (uint64_t row = 0; row < order->rows; row += GS_BLOCK_ROWS)
	{
		size_t n = order->rows - row < GS_BLOCK_ROWS ? order->rows - row : GS_BLOCK_ROWS;
		const uint64_t *words = order->words + row;
		bool falls = false;

		(void) gs_step_rows(order->key, &step, row, n, rest + 1);
		for (size_t i = row == 0; i < n; i++)
			falls |= ((words[i] ^ words[(ptrdiff_t) i - 1]) <= mask) & (rest[i + 1] < rest[i]);
		if (falls)
			return GS_OK;
		rest[0] = rest[n];
		GS_TRY(gs_work_add(order->work, n * step.nparts));
	}
	order->ascends = true;
	return GS_OK;
}

/* Fills in the words, which may overwrite a column of 8-byte values.  Finds out whether the rows are in order. */
gs_status
gs_order_pack(gs_order *order)
{
	uint64_t keys[GS_BLOCK_ROWS];
	uint64_t last = 0;
	int seen = 0;

	for (uint64_t row = 0; row < order->rows && order->step.nparts > 0; row += GS_BLOCK_ROWS)
	{
		size_t n = order->rows - row < GS_BLOCK_ROWS ? order->rows - row : GS_BLOCK_ROWS;

		if (!gs_order_codes(order, row, n, keys))
			return pack_again(order);
		if (row > 0)
			seen |= keys[0] < last ? GS_FALLS : GS_RISES;
		last = keys[n - 1];
		seen |= order->loops->number(order->words + row, keys, n, order->row_bits, row);
		GS_TRY(gs_work_add(order->work, n * order->step.nparts));
	}
	if (seen & GS_FALLS)
	{
		if (!(seen & GS_RISES))
			order->facts.input = GS_DESCENDING;
		return GS_OK;
	}
	order->facts.input = GS_ASCENDING;
	return compare_rest(order);
}

/* Returns true if packing found the order: rows ascend in the whole key, or strictly descend. */
bool
gs_order_already_sorted(const gs_order *order)
{
	return order->facts.input == GS_DESCENDING ||
		(order->facts.input == GS_ASCENDING && (order->complete || order->ascends));
}

/* Tests whether the order left every row in place or reversed all, which must strictly descend. */
static gs_status
rows_in_place(const gs_order *order, bool reversed, bool *in_place)
{
	uint64_t mask = gs_mask(order->row_bits), last = order->rows - 1;

	*in_place = true;
	for (uint64_t i = 0; i < order->rows && *in_place; i++)
	{
		*in_place = (order->words[i] & mask) == (reversed ? last - i : i);
		if (i % GS_BLOCK_ROWS == 0)
			GS_TRY(gs_work_add(order->work, GS_BLOCK_ROWS));
	}
	return GS_OK;
}

/* Marks the sorted words that begin a run, in so far as words hold the key. */
gs_status
gs_order_mark(const gs_order *order)
{
	const uint64_t *words = order->words;
	const uint32_t shift = order->row_bits;

	for (uint64_t i = 0; i < order->rows; i += 64)
	{
		uint32_t some = order->rows - i < 64 ? (uint32_t) (order->rows - i) : 64;
		uint64_t m = i == 0;

		for (uint32_t j = i == 0; j < some; j++)
			m |= (uint64_t) ((words[i + j] ^ words[i + j - 1]) >> shift != 0) << j;
		order->heads[i / 64] = m;
		if (i % (1 << 16) == 0)
			GS_TRY(gs_work_add(order->work, 1 << 16));
	}
	return GS_OK;
}

/* Sorts the words and refines ties.  Not called if the rows came in order. */
gs_status
gs_order_sort(gs_order *order)
{
	bool ascending = order->facts.input == GS_ASCENDING, in_place;
	uint32_t low = order->row_bits;

	order->facts.input = GS_UNORDERED;
	if (!ascending)
		GS_TRY(gs_sort_words(&order->sorter, &order->words, &order->other, order->rows, low, low + order->step.bits,
							 true));
	order->facts.passes = order->sorter.passes;
	/* mark before refining: that changes words, but permutes only rows between two marks */
	if (order->heads != NULL)
		GS_TRY(gs_order_mark(order));
	if (order->complete)
		return GS_OK;
	GS_TRY(gs_refine(order));
	/* packing compared leading bits only: the rows may still have come in order, or reversed */
	GS_TRY(rows_in_place(order, !ascending, &in_place));
	if (in_place)
		order->facts.input = ascending ? GS_ASCENDING : GS_DESCENDING;
	return GS_OK;
}

/* Writes the row numbers of a piece that is short enough not to poll. */
static void
write_rows(const gs_order *order, uint32_t *out, uint64_t from, uint64_t n)
{
	if (order->facts.input == GS_ASCENDING)
		for (uint64_t i = 0; i < n; i++)
			out[i] = (uint32_t) (from + i);
	else if (order->facts.input == GS_DESCENDING)
		for (uint64_t i = 0; i < n; i++)
			out[i] = (uint32_t) (order->rows - 1 - from - i);
	else
		order->loops->extract(out, order->words + from, n, gs_mask(order->row_bits));
}

/* Writes row numbers from a position of the order on. */
gs_status
gs_order_rows(const gs_order *order, uint32_t *out, uint64_t from, uint64_t n)
{
	for (uint64_t at = 0; at < n; at += OUTPUT_ROWS)
	{
		uint64_t piece = n - at < OUTPUT_ROWS ? n - at : OUTPUT_ROWS;

		write_rows(order, out + at, from + at, piece);
		GS_TRY(gs_work_add(order->work, piece));
	}
	return GS_OK;
}
