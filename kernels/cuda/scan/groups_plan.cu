/*
 * groups_plan.cu: plans a list of steps for kernels (groups.cuh), and uploads it with the columns and the tiles of the
 * rows.
 */
#include "groups.cuh"

#include <cstring>

/* Returns how an expression is read, of which a column alone is a special case. */
gs_reading
gs_reading_of(const gs_steps *steps, u32 code, u32 ncode)
{
	const gs_instruction *in = (const gs_instruction *) gs_steps_at(steps, code);
	gs_reading r = {};

	r.type = GS_BYTES;
	r.code = code;
	r.ncode = ncode;
	for (u32 i = 0; i < ncode; i++)
		if (in[i].code == GS_CODE_COLUMN)
			r.columns |= (u64) 1 << in[i].operand;
	if (ncode == 0)
		return r;
	r.real = in[ncode - 1].result == GS_NUMBER_F64;
	if (ncode == 1 && in[0].code == GS_CODE_COLUMN)
	{
		r.column = in[0].operand;
		r.type = steps->types[r.column];
	}
	return r;
}

/* Returns how a column is read. */
static gs_reading
column_reading(const gs_steps *steps, u32 column)
{
	gs_reading r = {};

	r.column = column;
	r.type = steps->types[column];
	r.columns = (u64) 1 << column;
	r.real = gs_type_is_float((gs_type) r.type);
	return r;
}

/* Returns the type of two columns if both are of one that kernels read as a pair, else 0. */
static u32
pair_of(const gs_steps *steps, u32 a, u32 b)
{
	const u32 type = steps->types[a];

	return type == steps->types[b] && (type == GS_I32 || type == GS_I64) ? type : 0;
}

/* Notes that an expression is the difference of two columns, if it is, and never leaves its range. */
static void
note_difference(const gs_steps *steps, const gs_range *ranges, gs_reading *r)
{
	const gs_instruction *in = (const gs_instruction *) gs_steps_at(steps, r->code);
	const gs_range *a, *b;
	gs_wide least, most;

	if (ranges == NULL || r->ncode != 3 || in[0].code != GS_CODE_COLUMN || in[1].code != GS_CODE_COLUMN ||
		in[2].code != GS_CODE_SUBTRACT || pair_of(steps, in[0].operand, in[1].operand) == 0)
		return;
	a = &ranges[in[0].operand];
	b = &ranges[in[1].operand];
	least = gs_constant_scalar(&a->low, false).integer - gs_constant_scalar(&b->high, false).integer;
	most = gs_constant_scalar(&a->high, false).integer - gs_constant_scalar(&b->low, false).integer;
	if ((in[2].result != GS_NUMBER_I32 && in[2].result != GS_NUMBER_I64) ||
		!gs_number_holds((gs_number) in[2].result, least) || !gs_number_holds((gs_number) in[2].result, most))
		return;
	r->pair = pair_of(steps, in[0].operand, in[1].operand);
	r->column = in[0].operand;
	r->other = in[1].operand;
}

/* Plans a term that compares two columns, which kernels may read as a pair. */
static void
plan_pair(const gs_steps *steps, const gs_term *term, gs_quick_term *q)
{
	static const u32 bits[] = {GS_PAIR_EQUAL, GS_PAIR_LESS | GS_PAIR_GREATER, GS_PAIR_LESS,
							   GS_PAIR_LESS | GS_PAIR_EQUAL, GS_PAIR_GREATER, GS_PAIR_GREATER | GS_PAIR_EQUAL,
							   GS_PAIR_LESS | GS_PAIR_GREATER | GS_PAIR_NULL, GS_PAIR_EQUAL | GS_PAIR_NULLS};

	q->value.pair = pair_of(steps, term->column, term->constants);
	q->value.other = term->constants;
	q->low = bits[term->test - GS_TEST_EQ_COLUMN];
	if (q->value.pair != 0)
		q->way = GS_TERM_COLUMNS;
}

/* Returns the interval of codes that a term with constants means, clipped to [least, greatest]; empty: low > high. */
static void
term_interval(const gs_constant *c, u32 test, bool real, gs_wide least, gs_wide greatest, gs_wide *low, gs_wide *high)
{
	const gs_wide x = gs_scalar_code(gs_constant_scalar(c, real), real);

	*low = least;
	*high = greatest;
	if (test == GS_TEST_EQ || test == GS_TEST_NE || test == GS_TEST_GE || test == GS_TEST_BETWEEN)
		*low = x > least ? x : least;
	if (test == GS_TEST_EQ || test == GS_TEST_NE || test == GS_TEST_LE)
		*high = x < greatest ? x : greatest;
	if (test == GS_TEST_GT && x >= least)
		*low = x < greatest ? x + 1 : greatest + 1;
	if (test == GS_TEST_LT && x <= greatest)
		*high = x > least ? x - 1 : least - 1;
	if (test == GS_TEST_BETWEEN)
	{
		const gs_wide y = gs_scalar_code(gs_constant_scalar(c + 1, real), real);

		*high = y < greatest ? y : greatest;
	}
}

/* Plans a term. */
static gs_quick_term
plan_term(const gs_steps *steps, const gs_term *term)
{
	const gs_type type = (gs_type) steps->types[term->column];
	const bool real = gs_type_is_float(type);
	gs_wide least = real ? 0 : gs_number_least(GS_NUMBER_I64);
	gs_wide greatest = real ? (gs_wide) UINT64_MAX : gs_number_greatest(GS_NUMBER_I64), low, high;
	gs_quick_term q = {};

	q.value = column_reading(steps, term->column);
	q.term = (u32) ((const char *) term - (const char *) steps);
	q.way = term->test == GS_TEST_IS_NULL ? GS_TERM_NULLS
		: term->test == GS_TEST_NOT_NULL ? GS_TERM_VALUES : GS_TERM_NONE;
	if (term->test >= GS_TEST_IS_NULL && term->test < GS_TEST_EQ_COLUMN)
		return q;
	q.way = GS_TERM_OTHER;
	if (term->test >= GS_TEST_EQ_COLUMN)
		plan_pair(steps, term, &q);
	if (term->test == GS_TEST_IN || term->test == GS_TEST_IN_BITS || term->test >= GS_TEST_EQ_COLUMN ||
		type == GS_U64 || type == GS_U128)
		return q;
	term_interval((const gs_constant *) gs_steps_at(steps, term->constants), term->test, real, least, greatest, &low,
				  &high);
	q.outside = term->test == GS_TEST_NE;
	if (low > high)
	{
		q.way = q.outside ? GS_TERM_VALUES : GS_TERM_NONE;
		return q;
	}
	q.way = GS_TERM_INTERVAL;
	q.low = (u64) (gs_unsigned_wide) low;
	q.span = (u64) (gs_unsigned_wide) (high - low);
	return q;
}

/* Returns the range of a reading's integers: that of its column, if known, otherwise that of its number. */
static void
integer_range(const gs_steps *steps, const gs_reading *r, gs_number number, const gs_range *ranges, gs_wide *low,
			  gs_wide *high)
{
	*low = gs_number_least(number);
	*high = gs_number_greatest(number);
	if (r->type == GS_BYTES)
		return;
	if (r->type == GS_U64)
	{
		*low = 0;
		*high = (gs_wide) UINT64_MAX;
	}
	if (ranges != NULL)
	{
		const gs_wide a = gs_constant_scalar(&ranges[r->column].low, false).integer;
		const gs_wide b = gs_constant_scalar(&ranges[r->column].high, false).integer;

		if (a <= b)
		{
			*low = a;
			*high = b;
		}
	}
}

/* Returns the kind of a sum of integers. */
static gs_fold_kind
sum_kind(gs_wide low, gs_wide high, u64 rows)
{
	const gs_wide most = gs_number_greatest(GS_NUMBER_I64);

	if (low < gs_number_least(GS_NUMBER_I64) || high > most)
		return GS_FOLD_SUM_MOST;
	return low >= -(most / (gs_wide) (rows + 1)) && high <= most / (gs_wide) (rows + 1) ? GS_FOLD_SUM
																						: GS_FOLD_SUM_WIDE;
}

/* Chooses what a fold does for an operation, and gives it words and halves. */
static void
plan_fold(gs_lists *l, gs_fold *f, const gs_steps *steps, u32 operation, gs_number number, const gs_range *ranges,
		  u64 rows)
{
	gs_wide low, high;
	u32 words = 1;

	integer_range(steps, &f->value, number, ranges, &low, &high);
	f->span = number == GS_NUMBER_I128 ? (u64) (gs_unsigned_wide) (high - low) : ~(u64) 0;
	f->flip = operation == GS_MIN ? ~(u64) 0 : 0;
	f->low = number == GS_NUMBER_I128 ? low : gs_number_least(GS_NUMBER_I64);
	if (operation == GS_COUNT)
		f->kind = f->owns ? GS_FOLD_COUNT : GS_FOLD_NONE;
	else if (operation == GS_SUM)
		f->kind = f->value.real ? GS_FOLD_SUM_REAL : sum_kind(low, high, rows);
	else if (f->value.real)
		f->kind = GS_FOLD_REAL;
	else if (number != GS_NUMBER_I128 || (gs_unsigned_wide) high - (gs_unsigned_wide) low <= UINT64_MAX)
		f->kind = GS_FOLD_CODE;
	else
		f->kind = GS_FOLD_WIDE;
	words = f->kind <= GS_FOLD_COUNT ? 0 : f->kind == GS_FOLD_SUM_MOST ? 3
		: f->kind == GS_FOLD_SUM_WIDE || f->kind == GS_FOLD_WIDE ? 2 : 1;
	f->word = l->words;
	l->real_word[l->words] = f->kind == GS_FOLD_SUM_REAL;
	l->words += words;
	if (f->owns)
		f->count = l->halves++;
	if (f->kind >= GS_FOLD_REAL)
		f->mark = l->halves++;
}

/* Returns true if some column may be NULL. */
static bool
may_be_null(const gs_steps *steps, u64 columns, const gs_range *ranges)
{
	for (u32 c = 0; c < steps->ncolumns; c++)
		if ((columns >> c & 1) && (ranges == NULL || ranges[c].nulls))
			return true;
	return false;
}

/* Plans an aggregate.  Those of all values take no part in folds. */
static void
plan_aggregate(gs_lists *l, gs_fold *f, const gs_steps *steps, const gs_aggregate *a, const gs_range *ranges, u64 rows,
			   u32 *terms)
{
	f->terms = *terms;
	f->nterms = a->nterms;
	*terms += a->nterms;
	f->value = gs_reading_of(steps, a->code, a->ncode);
	note_difference(steps, ranges, &f->value);
	/* an expression is computed even if its values are only counted: it may leave its range */
	f->owns = a->nterms > 0 || a->ncode > 1 || may_be_null(steps, f->value.columns, ranges);
	if (a->operation > (u32) GS_COUNT)
		return;
	plan_fold(l, f, steps, a->operation, gs_aggregate_number(steps, a), ranges, rows);
}

/* Returns how many aggregates a list has. */
static u32
aggregates_of(const gs_steps *steps)
{
	return gs_steps_group(steps) != NULL ? gs_steps_group(steps)->naggregates : 0;
}

/*
 * Plans a list, whose keys are packed.  ranges NULL: unknown.  Fold 0 is the number of rows, fold 1 + i aggregate i;
 * the minima of groups' keys that may be zeros follow.
 */
gs_status
gs_lists_plan(gs_lists *l, const gs_steps *steps, const gs_range *ranges, u64 rows)
{
	const gs_group_step *group = gs_steps_group(steps);
	const gs_filter_step *filter = gs_steps_filter(steps);
	u32 terms;

	l->nterms = terms = filter != NULL ? filter->nterms : 0;
	l->ncolumns = steps->ncolumns;
	l->nkeys = l->keys.n;
	l->naggregates = aggregates_of(steps);
	l->folds[0].owns = true;
	plan_fold(l, &l->folds[0], steps, GS_COUNT, GS_NUMBER_I64, NULL, rows);
	for (u32 i = 0; i < l->naggregates; i++)
		plan_aggregate(l, &l->folds[1 + i], steps, &group->aggregates[i], ranges, rows, &terms);
	l->nfolds = 1 + l->naggregates;
	for (u32 k = 0; k < l->nkeys; k++)
	{
		l->key_values[k] = column_reading(steps, l->keys.keys[k].column);
		if (group == NULL || !l->keys.keys[k].zeros)
			continue;
		gs_fold *f = &l->folds[l->key_folds[k] = l->nfolds++];

		f->value = l->key_values[k];
		f->owns = true;
		plan_fold(l, f, steps, GS_MIN, GS_NUMBER_F64, NULL, rows);
	}
	return GS_OK;
}

/*
 * Returns how values become numbers of at most 64 bits, from 0 on, zeros of doubles being different.  GS_TOO_BIG: they
 * do not fit.
 */
gs_status
gs_value_coding(const gs_steps *steps, const gs_aggregate *a, const gs_range *ranges, gs_packed_key *coding)
{
	const gs_reading r = gs_reading_of(steps, a->code, a->ncode);
	const gs_number number = gs_aggregate_number(steps, a);
	const gs_wide zero = (gs_wide) gs_float_order64(0, true);
	gs_wide low = 0, high = (gs_wide) UINT64_MAX;

	*coding = {};
	coding->type = r.real ? GS_F64 : number == GS_NUMBER_I128 ? GS_U128 : GS_I64;
	if (!r.real || r.type != GS_BYTES)
		integer_range(steps, &r, r.real ? GS_NUMBER_I64 : number, ranges, &low, &high);
	if (r.type != GS_BYTES && gs_constant_scalar(&ranges[r.column].low, false).integer >
								  gs_constant_scalar(&ranges[r.column].high, false).integer)
		low = high = 0; /* there are no values */
	else if (r.real && low <= zero && high >= zero)
	{
		low = low < zero ? low : zero - 1;
		coding->zeros = true;
	}
	coding->drop = r.type == GS_F32 ? 29 : 0;
	coding->low = low >> coding->drop;
	if ((gs_unsigned_wide) (high >> coding->drop) - (gs_unsigned_wide) coding->low > UINT64_MAX)
		return GS_TOO_BIG;
	coding->span = (u64) (gs_unsigned_wide) ((high >> coding->drop) - coding->low);
	gs_packed_key_divide(coding, 1);
	coding->bits = gs_bits(coding->span);
	return GS_OK;
}

/* Where the parts of an upload lie. */
struct layout
{
	size_t terms, steps, columns, bases, places, tiles, state, one, proved, bytes;
	u64 ntiles, nterms;
};

/* Returns where the parts of a list and its rows lie. */
static layout
layout_of(const gs_lists *lists, const gs_steps *steps, const gs_held_rows *rows)
{
	const gs_group_step *group = gs_steps_group(steps);
	const gs_filter_step *filter = gs_steps_filter(steps);
	layout l = {};

	l.nterms = filter != NULL ? filter->nterms : 0;
	for (u32 i = 0; i < aggregates_of(steps); i++)
		l.nterms += group->aggregates[i].nterms;
	for (u64 i = 0; i < rows->nspans; i++)
		l.ntiles += (rows->spans[i].rows + (u64) GS_GROUP_TILE - 1) / GS_GROUP_TILE;
	l.terms = sizeof(gs_lists);
	l.steps = l.terms + l.nterms * sizeof(gs_quick_term);
	l.columns = l.steps + steps->bytes;
	l.bases = l.columns + (size_t) rows->nsegments * rows->ncolumns * sizeof(gs_held);
	l.places = l.bases + ((size_t) rows->nsegments + 1) * sizeof(u64);
	l.tiles = l.places + l.ntiles * sizeof(u64);
	l.state = (l.tiles + l.ntiles * sizeof(gs_span) + 7) & ~(size_t) 7;
	l.one = l.state + sizeof(gs_group_state);
	l.proved = (l.one + gs_table_bytes(lists, 1) + 7) & ~(size_t) 7;
	l.bytes = (l.proved + GS_PROVED(lists->naggregates) * sizeof(gs_proved) + 255) & ~(size_t) 255;
	return l;
}

/* Returns the device memory for a list and the lists of rows. */
size_t
gs_lists_bytes(const gs_lists *lists, const gs_steps *steps, const gs_held_rows *rows)
{
	return layout_of(lists, steps, rows).bytes;
}

/* Writes the terms: those of the filter, then those of each aggregate. */
static void
write_terms(const gs_steps *steps, gs_quick_term *to)
{
	const gs_group_step *group = gs_steps_group(steps);
	const gs_filter_step *filter = gs_steps_filter(steps);

	for (u32 t = 0; filter != NULL && t < filter->nterms; t++)
		*to++ = plan_term(steps, &filter->terms[t]);
	for (u32 i = 0; i < aggregates_of(steps); i++)
		for (u32 t = 0; t < group->aggregates[i].nterms; t++)
			*to++ = plan_term(steps, (const gs_term *) gs_steps_at(steps, group->aggregates[i].terms) + t);
}

/*
 * Writes tiles with the numbers of rows before them, and the numbers of the segments' first rows.  Returns the number
 * of rows.
 */
static u64
write_rows(const gs_held_rows *rows, gs_span *tile, u64 *places, u64 *bases)
{
	u64 n = 0, all = 0;

	memset(bases, 0, (rows->nsegments + (size_t) 1) * sizeof(u64));
	for (u64 i = 0; i < rows->nspans; i++)
	{
		const gs_span s = rows->spans[i];
		u64 *end = &bases[s.segment];

		*end = *end > (u64) s.first + s.rows ? *end : (u64) s.first + s.rows;
		for (u64 done = 0; done < s.rows; done += GS_GROUP_TILE)
		{
			*places++ = all + done;
			*tile++ = {s.segment, (u32) (s.first + done),
					   (u32) (s.rows - done < GS_GROUP_TILE ? s.rows - done : GS_GROUP_TILE)};
		}
		all += s.rows;
	}
	for (u32 s = 0; s <= rows->nsegments; s++)
	{
		const u64 here = bases[s];

		bases[s] = n;
		n += here;
	}
	return all;
}

/* Returns true if gs_tile_places<false> does for terms. */
static bool
plain_terms(const gs_quick_term *terms, u32 n)
{
	for (u32 t = 0; t < n; t++)
		if (terms[t].way == GS_TERM_OTHER)
			return false;
	return true;
}

/* Returns true if gs_tile_places<false> does for keys and folds. */
static bool
plain_folds(const gs_lists *l)
{
	for (u32 k = 0; k < l->nkeys; k++)
		if (!gs_plain_value(l->key_values[k]))
			return false;
	for (u32 i = 0; i < l->nfolds; i++)
	{
		const gs_fold *f = &l->folds[i];

		if (f->kind == GS_FOLD_SUM_MOST || f->kind == GS_FOLD_WIDE)
			return false;
		if (f->kind == GS_FOLD_COUNT ? f->value.ncode > 1 && f->value.pair == 0
									 : f->kind != GS_FOLD_NONE && !gs_plain_value(f->value))
			return false;
	}
	return true;
}

/* Returns the columns of which some segment has a bitmap of NULLs. */
static u64
columns_with_nulls(const gs_held_rows *rows)
{
	u64 set = 0;

	for (u64 i = 0; i < (u64) rows->nsegments * rows->ncolumns; i++)
		if (rows->columns[i].nulls != NULL)
			set |= (u64) 1 << i % rows->ncolumns;
	return set;
}

/* Writes the state and the table of one slot as they begin. */
static void
write_state(const gs_lists *lists, gs_group_state *state)
{
	const gs_table one = gs_table_at(lists, 1, state + 1);

	*state = {0, 0, 0, lists->keys.bits == 0, 0};
	for (u32 w = 0; w < lists->words; w++)
		one.words[w] = lists->real_word[w] ? (u64) 1 << 63 : 0;
	memset(one.halves, 0, lists->halves * sizeof(u32));
}

/* Writes a list and its rows where it is to be uploaded from, and notes what the host knows of it. */
static void
write_lists(gs_lists *lists, const gs_steps *steps, const gs_held_rows *rows, const layout &at, u8 *to, u8 *base,
			gs_device_lists *out)
{
	lists->nsegments = rows->nsegments;
	lists->terms = (const gs_quick_term *) (base + at.terms);
	lists->steps = (const gs_steps *) (base + at.steps);
	lists->columns = (const gs_held *) (base + at.columns);
	lists->bases = (const u64 *) (base + at.bases);
	lists->places = (const u64 *) (base + at.places);
	lists->tiles = (const gs_span *) (base + at.tiles);
	memcpy((void *) to, lists, sizeof(*lists));
	write_terms(steps, (gs_quick_term *) (to + at.terms));
	memcpy(to + at.steps, steps, steps->bytes);
	if (at.bases > at.columns)
		memcpy(to + at.columns, rows->columns, at.bases - at.columns);
	write_state(lists, (gs_group_state *) (to + at.state));
	memset(to + at.proved, 0, GS_PROVED(lists->naggregates) * sizeof(gs_proved));
	*out = {(const gs_lists *) base, lists, (gs_group_state *) (base + at.state),
			gs_table_at(lists, 1, base + at.one), (gs_proved *) (base + at.proved), steps, at.ntiles, 0, 0,
			columns_with_nulls(rows), false, false};
	out->plain_terms = plain_terms((const gs_quick_term *) (to + at.terms), (u32) at.nterms);
	out->plain = out->plain_terms && plain_folds(lists);
	out->rows = write_rows(rows, (gs_span *) (to + at.tiles), (u64 *) (to + at.places), (u64 *) (to + at.bases));
	out->numbers = ((const u64 *) (to + at.bases))[rows->nsegments];
}

/* Pageable memory, of long lists, is copied before the upload returns, so that it is freed at once. */
gs_status
gs_lists_upload(gs_cuda_engine *e, gs_lists *lists, const gs_steps *steps, const gs_held_rows *rows, void *memory,
				gs_device_lists *out)
{
	const layout at = layout_of(lists, steps, rows);
	gs_host *host = &e->head.host;
	u8 *to = (u8 *) gs_staged_arguments(e, at.bytes), *own = NULL;
	gs_status status;

	if (to == NULL)
		to = own = (u8 *) host->alloc(host->arg, at.bytes);
	if (to == NULL)
		return GS_NOMEM;
	write_lists(lists, steps, rows, at, to, (u8 *) memory, out);
	status = gs_upload(&e->head, memory, to, at.bytes);
	if (own != NULL)
		host->release(host->arg, own, at.bytes);
	return status;
}
