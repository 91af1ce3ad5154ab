/*
 * order.cu: gs_order_plan and gs_order_run on a GPU.
 *
 * Few rows: the plan only remembers the columns, and the run is one launch (order_small.cu).  Else the plan reads every column once (order_look.cu), makes the key's fields as the CPU engine does, and chooses a road:
 *
 *   in order, reversed   nothing is sorted: found while looking (one column), or by a check of the words, or of rows if their
 *                        keys are longer and the first column does not fall; checks leave as soon as they know better
 *   column               one column without NULLs whose key and row number fit a word, at the latest when pass 1 has used its
 *                        digit: pass 1 makes the words, the last pass writes row numbers.  Bytes per row at 27 of 64
 *                        bits: 8 look + 8 + 8 + 16 + 8 + 4.  Keys are the values modulo 2^bits (order_look.cu)
 *   words                other keys are encoded to 64-bit words first, which then go the column's way
 *   more bits            the leading bits are sorted as above, then rows that they leave tied (order_ties.cu)
 *
 * gs_order_run waits only in the last case, and for a check of rows.
 */
#include "order_fields.cuh"
#include "sort.h"

#include <cstring>

#define FEW_ROWS ((u64) 1 << 21)

/* ---------------------------------------------------------------- the engine's part */

gs_status
gs_sort_state(gs_cuda_engine *e, gs_cuda_sort **sort)
{
	gs_cuda_sort *s = (gs_cuda_sort *) e->sort;

	if (s == NULL)
	{
		s = (gs_cuda_sort *) e->head.host.alloc(e->head.host.arg, sizeof(*s));
		if (s == NULL)
			return GS_NOMEM;
		memset((void *) s, 0, sizeof(*s));
		e->sort = s;
	}
	if (s->host == NULL)
		GS_TRY(gs_cuda_status(cudaMallocHost((void **) &s->host, GS_SORT_HOST)));
	*sort = s;
	return GS_OK;
}

void
gs_sort_close(gs_cuda_engine *e)
{
	gs_cuda_sort *s = (gs_cuda_sort *) e->sort;

	if (s == NULL)
		return;
	/* what was seen of keys */
	if (s->host != NULL)
		memset(s->host, 0, GS_SORT_HOST);
	cudaFreeHost(s->host);
	if (s->block != NULL)
		cudaMemset(s->block, 0, GS_SORT_BLOCK);
	cudaFree(s->block);
	gs_small_close(s);
	e->head.host.release(e->head.host.arg, s, sizeof(*s));
	e->sort = NULL;
}

/* May passes rank by the order of returning atomics?  Tested once per engine; few rows gain less than the check costs. */
bool
gs_sort_atomics(gs_cuda_engine *e, u64 rows)
{
	gs_cuda_sort *s;
	bool in_order = false;

	if (gs_sort_state(e, &s) != GS_OK)
		return false;
	if (s->force_ranking != 0)
		return s->force_ranking == 2;
	if (rows < FEW_ROWS)
		return false;
	if (s->ranking == 0)
	{
		if (gs_lane_order_test(e, &in_order) != GS_OK)
			return false;
		s->ranking = in_order ? 2 : 1;
	}
	return s->ranking == 2;
}

extern "C" void
gs_cuda_sort_force(gs_engine *engine, int ranking, uint32_t small)
{
	gs_cuda_sort *s;

	if (gs_sort_state((gs_cuda_engine *) engine, &s) == GS_OK)
	{
		s->force_ranking = ranking;
		s->force_small = small;
	}
}

/* ---------------------------------------------------------------- plan */

/* The fields of a column, at most three; none if all its rows are equal. */
static u32
column_fields(const gs_column *column, const gs_look *look, const gs_dev_alphabet *alphabets, gs_dev_field *f)
{
	bool nulls = look->nulls != 0;
	u32 n = 0, prefix = ~look->prefix;

	if (column->spec.type != GS_BYTES)
		return gs_column_fields(column, look, f);
	if (!look->valid)
		return 0;
	if (nulls)
		gs_null_field(&f[n++], column);
	if (look->longest > prefix)
	{
		f[n] = {};
		f[n].kind = GS_DEV_BYTES;
		f[n].values = (const u8 *) column->values;
		f[n].heap = column->heap;
		f[n].nulls = nulls ? column->nulls : NULL;
		f[n].alphabets = alphabets;
		f[n].prefix = prefix;
		f[n].longest = look->longest;
		f[n++].desc = column->spec.desc;
	}
	return n;
}


static u32
row_bits_of(u64 rows)
{
	return rows > 1 ? gs_bits_of(rows - 1) : 1;
}

/* Whether key and row number fit a word, perhaps once pass 1 has used its digit. */
static bool
fits_word(const gs_cuda_engine *e, u32 bits, u32 row_bits)
{
	u32 widths[GS_PLACES];

	if (bits > 64)
		return false;
	gs_radix_digits(bits, gs_radix_most(e), widths);
	return bits + row_bits <= 64 || (bits + row_bits <= 64 + widths[0] && widths[0] <= row_bits);
}

/* Device memory for a plan: the engine's block, if it is large enough and free, else the plan's own. */
static gs_status
take_block(gs_cuda_engine *e, gs_cuda_plan *plan, size_t bytes)
{
	gs_cuda_sort *s = (gs_cuda_sort *) e->sort;

	plan->block_bytes = bytes;
	plan->own_block = bytes > GS_SORT_BLOCK || s->block_lent;
	if (plan->own_block)
		return gs_cuda_take(e, bytes, (void **) &plan->block);
	if (s->block == NULL)
		GS_TRY(gs_cuda_status(cudaMalloc((void **) &s->block, GS_SORT_BLOCK)));
	s->block_lent = true;
	plan->block = s->block;
	return GS_OK;
}

/* The plan's run may still be under way: its memory goes back in the order of the stream. */
static void
plan_free(gs_engine *engine, gs_plan *head)
{
	gs_cuda_plan *plan = (gs_cuda_plan *) head;
	gs_cuda_engine *e = (gs_cuda_engine *) engine;

	cudaSetDevice(e->device);
	if (plan->own_block)
		gs_cuda_give(e, plan->block, plan->block_bytes);
	else if (plan->block != NULL)
		((gs_cuda_sort *) e->sort)->block_lent = false;
	engine->host.release(engine->host.arg, plan, plan->bytes);
}

/* Keys are values modulo 2^bits, whose digits the look has counted. */
static void
modulo(gs_cuda_plan *plan, const gs_look *look, u64 min)
{
	u32 above = look->guess_shift + look->guess_bits;

	plan->bits = look->guess_bits;
	plan->t.plus = 0;
	plan->t.keep = gs_low_mask(above);
	plan->t.shift = look->guess_shift;
	plan->counted = true;
	/* rows of the higher one of two neighbouring multiples */
	plan->turn = (u32) (above < 64 && (min >> above & 1) != 0 ? plan->rows - look->odd : look->odd);
}

/* Decides the road once the fields are known. */
static void
choose(gs_cuda_plan *plan, const gs_column *columns, u32 ncolumns, const gs_look *looks)
{
	const gs_dev_field *f = &plan->fields[0];
	size_t width = gs_type_width(columns[0].spec.type);
	bool known = ncolumns == 1 && columns->nulls == NULL && looks[0].seen != 0; /* whether the rows come in order */

	plan->complete = !plan->strings && fits_word(plan->engine, plan->key_bits, plan->row_bits);
	plan->bits = plan->complete ? plan->key_bits : 64 - plan->row_bits;
	plan->maybe_ordered = looks[0].seen == 0 || (looks[0].seen & GS_SEEN_FALL) == 0;
	if (plan->nfields == 0 || (known && (looks[0].seen & GS_SEEN_FALL) == 0))
		plan->path = gs_cuda_plan::GS_PLAN_EQUAL;
	else if (known && (looks[0].seen & GS_SEEN_RISE) == 0)
		plan->path = gs_cuda_plan::GS_PLAN_REVERSE;
	else if (ncolumns == 1 && plan->nfields == 1 && (width == 8 || (width == 4 && gs_radix_fits(plan->engine, 8, GS_COLUMN4))) &&
			 f->nulls == NULL && columns->nulls == NULL && !f->floats)
	{
		u32 drop = plan->key_bits - plan->bits; /* bits left to the refinement of ties */

		plan->path = gs_cuda_plan::GS_PLAN_COLUMN;
		plan->from = width == 4 ? GS_COLUMN4 : GS_COLUMN8;
		plan->values = columns[0].values;
		plan->t.mask = f->flip;
		plan->t.plus = 0 - f->base;
		plan->t.keep = ~0ull;
		plan->t.shift = f->shift + drop;
		if (plan->complete && looks[0].guess_bits >= f->bits && looks[0].guess_shift == f->shift &&
			fits_word(plan->engine, looks[0].guess_bits, plan->row_bits) && plan->rows <= (u64) 1 << 31)
			modulo(plan, &looks[0], f->base);
	}
	else
		plan->path = gs_cuda_plan::GS_PLAN_WORDS;
}

/* Whether the look shall count digits: of integers that pass 1 may read. */
static bool
counts_digits(const gs_column *column)
{
	gs_type type = column->spec.type;

	return column->nulls == NULL && (gs_type_width(type) == 4 || gs_type_width(type) == 8) && !gs_order_floats(type);
}

static gs_status
order_plan(gs_engine *engine, const gs_column *columns, uint32_t ncolumns, uint64_t rows, gs_plan **out)
{
	gs_cuda_engine *e = (gs_cuda_engine *) engine;
	gs_cuda_sort *sort;
	size_t bytes = sizeof(gs_cuda_plan) + 3 * (size_t) ncolumns * sizeof(gs_dev_field);
	u32 strings = 0;
	gs_status status = GS_OK;
	gs_cuda_plan *plan;

	cudaSetDevice(e->device);
	GS_TRY(gs_sort_state(e, &sort));
	plan = (gs_cuda_plan *) engine->host.alloc(engine->host.arg, bytes);
	if (plan == NULL)
		return GS_NOMEM;
	memset((void *) plan, 0, bytes);
	plan->head.ops = engine->ops;
	plan->engine = e;
	plan->bytes = bytes;
	plan->rows = rows;
	plan->row_bits = row_bits_of(rows);
	*out = &plan->head;
	if (rows <= 1)
		return GS_OK;
	if (gs_small_fits(e, columns, ncolumns, rows))
	{
		plan->path = gs_cuda_plan::GS_PLAN_SMALL;
		plan->ncolumns = ncolumns;
		memcpy(plan->columns, columns, ncolumns * sizeof(*columns));
		return GS_OK;
	}
	for (u32 c = 0; c < ncolumns; c++)
		strings += columns[c].spec.type == GS_BYTES;

	/* one block of device memory: what must be zero first */
	size_t looks = gs_round256(2 * ncolumns * sizeof(gs_look)), counts = GS_PLACES * GS_PLACE * sizeof(u32), flags = 256;
	size_t marks = gs_round256(strings * GS_MARKS * sizeof(u32));
	size_t zero = looks + counts + flags + marks;
	size_t fields = gs_round256(3 * ncolumns * sizeof(gs_dev_field));
	size_t alphabets = strings * (GS_POSITIONS + 1) * sizeof(gs_dev_alphabet);
	size_t all = zero + fields + alphabets;

	status = take_block(e, plan, all);
	if (status == GS_OK)
		status = gs_cuda_status(cudaMemsetAsync(plan->block, 0, zero, e->stream));
	plan->looks = (gs_look *) plan->block;
	plan->counts = (u32 *) (plan->block + looks);
	plan->flags = (gs_order_flags *) (plan->block + looks + counts);

	u32 *mark = (u32 *) (plan->block + looks + counts + flags);
	gs_dev_field *device_fields = (gs_dev_field *) (plan->block + zero);
	gs_dev_alphabet *alphabet = (gs_dev_alphabet *) (plan->block + zero + fields);

	for (u32 c = 0, string = 0; c < ncolumns && status == GS_OK; c++)
	{
		bool is_string = columns[c].spec.type == GS_BYTES;

		status = gs_order_look(e, &columns[c], rows, plan->looks + 2 * c,
							   ncolumns == 1 && counts_digits(&columns[c]) ? plan->counts : NULL,
							   alphabet + string * (GS_POSITIONS + 1), mark + string * GS_MARKS);
		string += is_string;
	}

	/* to the host, and wait */
	gs_look *known = (gs_look *) sort->host;
	size_t known_bytes = 2 * ncolumns * sizeof(gs_look);

	if (known_bytes > GS_SORT_HOST)
		known = (gs_look *) engine->host.alloc(engine->host.arg, known_bytes);
	if (known == NULL)
		status = GS_NOMEM;
	if (status == GS_OK)
		status = gs_cuda_status(cudaMemcpyAsync(known, plan->looks, known_bytes, cudaMemcpyDeviceToHost, e->stream));
	if (status == GS_OK)
		status = gs_cuda_status(cudaStreamSynchronize(e->stream));
	if (status == GS_OK)
	{
		for (u32 c = 0, string = 0; c < ncolumns; c++)
		{
			bool is_string = columns[c].spec.type == GS_BYTES;
			u32 n = column_fields(&columns[c], &known[2 * c], alphabet + string * (GS_POSITIONS + 1),
								  plan->fields + plan->nfields);

			for (u32 f = 0; f < n; f++)
			{
				plan->key_bits += plan->fields[plan->nfields + f].bits;
				plan->strings |= plan->fields[plan->nfields + f].kind == GS_DEV_BYTES;
			}
			plan->nfields += n;
			string += is_string;
		}
		choose(plan, columns, ncolumns, known);
		plan->key = {device_fields, plan->nfields};
		if (plan->nfields > 0)
			status = gs_cuda_status(cudaMemcpyAsync(device_fields, plan->fields, plan->nfields * sizeof(gs_dev_field),
													cudaMemcpyHostToDevice, e->stream));
	}
	if ((void *) known != (void *) sort->host && known != NULL)
		engine->host.release(engine->host.arg, known, known_bytes);
	if (status != GS_OK)
	{
		plan_free(engine, &plan->head);
		*out = NULL;
	}
	return status;
}

/* ---------------------------------------------------------------- run */

/* temp: two arrays of words, what the sort needs, what ties need */
static size_t
words_bytes(const gs_cuda_plan *plan)
{
	return gs_round256(plan->rows * sizeof(u64));
}

static bool
sorts(const gs_cuda_plan *plan)
{
	return plan->rows > 1 && (plan->path == gs_cuda_plan::GS_PLAN_COLUMN || plan->path == gs_cuda_plan::GS_PLAN_WORDS);
}

static size_t
order_temp_bytes(const gs_plan *head)
{
	const gs_cuda_plan *plan = (const gs_cuda_plan *) head;

	if (plan->path == gs_cuda_plan::GS_PLAN_SMALL)
		return gs_small_temp(plan->rows);
	if (!sorts(plan))
		return 256;
	return 2 * words_bytes(plan) + gs_round256(gs_radix_temp(plan->rows, plan->complete ? plan->bits : 64)) +
		   (plan->complete ? 0 : gs_ties_temp(plan->rows));
}

/* Rises and falls of the rows' whole keys, as far as it takes to see both. */
static gs_status
check_rows(gs_cuda_engine *e, const gs_cuda_plan *plan, gs_order_flags *flags, u32 *seen)
{
	GS_TRY(gs_cuda_status(cudaMemsetAsync(plan->flags, 0, sizeof(gs_order_flags), e->stream)));
	GS_TRY(gs_order_check_rows(e, plan, &plan->flags->seen));
	GS_TRY(gs_cuda_status(cudaMemcpyAsync(flags, plan->flags, sizeof(*flags), cudaMemcpyDeviceToHost, e->stream)));
	GS_TRY(gs_cuda_status(cudaStreamSynchronize(e->stream)));
	*seen = flags->seen;
	return GS_OK;
}

static gs_status
order_run(gs_engine *engine, const gs_plan *head, void *temp, size_t temp_bytes, uint32_t *order, gs_order_facts *facts)
{
	gs_cuda_engine *e = (gs_cuda_engine *) engine;
	const gs_cuda_plan *plan = (const gs_cuda_plan *) head;
	gs_order_facts f = {};
	u64 *a = (u64 *) temp, *b = (u64 *) ((u8 *) temp + words_bytes(plan));
	u8 *radix = (u8 *) temp + 2 * words_bytes(plan);
	gs_cuda_sort *sort;
	gs_radix_sort s = {};
	u32 seen;

	(void) temp_bytes;
	cudaSetDevice(e->device);
	if (plan->path == gs_cuda_plan::GS_PLAN_SMALL)
		return gs_small_run(e, plan->columns, plan->ncolumns, plan->rows, temp, order, facts);
	GS_TRY(gs_sort_state(e, &sort));
	f.key_bits = plan->key_bits;
	f.words = 1;
	f.input = gs_order_facts::GS_ASCENDING;
	if (facts != NULL)
		*facts = f;
	if (plan->rows == 0)
		return GS_OK;
	if (plan->rows == 1 || plan->path == gs_cuda_plan::GS_PLAN_EQUAL)
		return gs_order_sequence(e, order, plan->rows, false, NULL);
	seen = plan->path == gs_cuda_plan::GS_PLAN_REVERSE ? GS_SEEN_FALL : GS_SEEN_FALL | GS_SEEN_RISE;
	if (!plan->complete && plan->maybe_ordered && seen != GS_SEEN_FALL)
		GS_TRY(check_rows(e, plan, (gs_order_flags *) sort->host, &seen));
	if (seen == GS_SEEN_RISE)
		return gs_order_sequence(e, order, plan->rows, false, NULL);
	if (seen == GS_SEEN_FALL)
	{
		if (facts != NULL)
			facts->input = gs_order_facts::GS_DESCENDING;
		return gs_order_sequence(e, order, plan->rows, true, NULL);
	}

	f.input = gs_order_facts::GS_UNORDERED;
	s.n = plan->rows;
	s.bits = plan->bits;
	s.row_bits = plan->row_bits;
	s.rows = plan->complete;
	s.a = a;
	s.b = b;
	s.order = order;
	s.temp = radix;
	GS_TRY(gs_cuda_status(cudaMemsetAsync(plan->flags, 0, sizeof(gs_order_flags), e->stream)));
	/* every way of ranking by atomics ends in a check: in the last pass, of samples, or by the search for ties */
	if (gs_sort_atomics(e, plan->rows))
		s.wrong = &plan->flags->wrong;
	if (plan->path == gs_cuda_plan::GS_PLAN_COLUMN)
	{
		s.from = plan->from;
		s.in = plan->values;
		s.t = plan->t;
		s.counts = plan->counted ? plan->counts : NULL;
		s.turn = plan->turn;
	}
	else
	{
		GS_TRY(gs_cuda_status(cudaMemsetAsync(plan->counts, 0, GS_PLACES * GS_PLACE * sizeof(u32), e->stream)));
		GS_TRY(gs_order_encode(e, plan, a, plan->counts, NULL));
		s.counts = plan->counts;
		s.t.keep = ~0ull;
		if (plan->complete)
		{
			GS_TRY(gs_order_check(e, a, plan->rows, &plan->flags->seen));
			s.gate = &plan->flags->seen;
			s.gate_open = GS_SEEN_FALL | GS_SEEN_RISE;
		}
		s.from = GS_COLUMN8;
		s.in = a;
	}
	GS_TRY(gs_radix_run(e, &s));
	f.passes = s.passes;
	if (plan->complete && s.wrong != NULL && s.passes > 1)
	{
		if (plan->bits + plan->row_bits > 64)
			GS_TRY(gs_order_sample(e, plan, order, s.wrong));
		/* should the check ever fail: all over again, by ballots.  The column is as it was; encoded words are made anew */
		if (plan->path == gs_cuda_plan::GS_PLAN_WORDS)
			GS_TRY(gs_order_encode(e, plan, a, NULL, s.wrong));
		s.gate = s.wrong;
		s.gate_open = 1;
		s.wrong = NULL;
		GS_TRY(gs_radix_run(e, &s));
	}
	if (plan->path == gs_cuda_plan::GS_PLAN_WORDS && plan->complete)
		GS_TRY(gs_order_sequence(e, order, plan->rows, false, &plan->flags->seen));
	if (!plan->complete)
	{
		u64 *words = s.result;
		u8 *ties = radix + gs_round256(gs_radix_temp(plan->rows, 64));
		gs_status status = gs_ties_run(e, plan, words, words == a ? b : a, ties, radix, order, &f.refined);

		if (status == GS_WRONG_ORDER && s.wrong != NULL)
		{
			s.wrong = NULL;
			GS_TRY(gs_cuda_status(cudaMemsetAsync(plan->flags, 0, sizeof(gs_order_flags), e->stream)));
			if (plan->path == gs_cuda_plan::GS_PLAN_WORDS)
				GS_TRY(gs_order_encode(e, plan, a, NULL, NULL));
			GS_TRY(gs_radix_run(e, &s));
			status = gs_ties_run(e, plan, s.result, s.result == a ? b : a, ties, radix, order, &f.refined);
		}
		GS_TRY(status);
	}
	if (facts != NULL)
	{
		if (plan->path == gs_cuda_plan::GS_PLAN_WORDS && plan->complete)
		{
			gs_order_flags *flags = (gs_order_flags *) sort->host;

			GS_TRY(gs_cuda_status(cudaMemcpyAsync(flags, plan->flags, sizeof(*flags), cudaMemcpyDeviceToHost, e->stream)));
			GS_TRY(gs_cuda_status(cudaStreamSynchronize(e->stream)));
			if ((flags->seen & GS_SEEN_FALL) == 0)
				f.input = gs_order_facts::GS_ASCENDING;
			else if ((flags->seen & GS_SEEN_RISE) == 0)
				f.input = gs_order_facts::GS_DESCENDING;
			if (f.input != gs_order_facts::GS_UNORDERED)
				f.passes = 0;
		}
		*facts = f;
	}
	return GS_OK;
}

/* The row order's operations, for the engine's table. */
void
gs_cuda_sort_ops(gs_engine_ops *ops)
{
	ops->order_plan = order_plan;
	ops->order_temp_bytes = order_temp_bytes;
	ops->order_run = order_run;
	ops->plan_free = plan_free;
	gs_cuda_job_ops(ops);
}
