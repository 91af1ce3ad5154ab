/*
 * order.cu: gs_order_plan and gs_order_run on a GPU.
 *
 * For few rows the plan only records the columns, and the run is one launch (small.cu).  Otherwise the plan reads every
 * column once (key_stats.cu), makes the key's fields as the CPU engine does, and chooses a path:
 *
 *   in order, reversed   no sort.  Detected with the statistics (one column), or by a check of the words, or of rows if
 *                        their keys are longer and the first column does not descend.  Checks stop at the first
 *                        contradiction
 *   column               one column without NULLs whose key and row number fit a word, at the latest when pass 1 has
 *                        used its digit.  Pass 1 makes the words, the last pass writes row numbers.  Bytes per row at
 *                        27 of 64 bits: 8 for statistics + 8 + 8 + 16 + 8 + 4.  Keys are the values modulo 2^bits
 *                        (key_stats.cu)
 *   words                other keys are first encoded to 64-bit words, which are then sorted like a column's
 *   leading digits       if keys are spread evenly, these two sort only by leading digits, then buckets in shared
 *                        memory (buckets.cu)
 *   more bits            sorts by the leading bits as above, then the rows that they leave tied (ties.cu)
 *
 * gs_order_run waits only in the last two cases, and for a check of rows.
 */
#include "fields.cuh"

#include <cstring>

/* ---------------------------------------------------------------- plan */

/* Returns whether key and row number fit a word, possibly after pass 1 has used its digit. */
static bool
fits_word(const gs_cuda_engine *e, u32 bits, u32 row_bits)
{
	u32 widths[GS_PLACES];

	if (bits > 64)
		return false;
	gs_radix_digits(bits, gs_radix_most(e), widths);
	return bits + row_bits <= 64 || (bits + row_bits <= 64 + widths[0] && widths[0] <= row_bits);
}

/* Takes device memory for a plan: the engine's block if it is large enough and free, otherwise a new one. */
static gs_status
borrow_block(gs_cuda_engine *e, gs_cuda_plan *plan, size_t bytes)
{
	gs_cuda_sort *s = (gs_cuda_sort *) e->sort;

	plan->block_bytes = bytes;
	plan->owns_block = bytes > GS_SORT_BLOCK || s->block_borrowed;
	if (plan->owns_block)
		return gs_cuda_alloc_clean(e, bytes, (void **) &plan->block);
	if (s->block == NULL)
		GS_TRY(gs_cuda_status(cudaMalloc((void **) &s->block, GS_SORT_BLOCK)));
	s->block_borrowed = true;
	plan->block = s->block;
	return GS_OK;
}

/* Frees a plan in stream order, as its run may still be executing. */
static void
plan_free(gs_engine *engine, gs_plan *head)
{
	gs_cuda_plan *plan = (gs_cuda_plan *) head;
	gs_cuda_engine *e = (gs_cuda_engine *) engine;

	cudaSetDevice(e->device);
	if (plan->owns_block)
		gs_cuda_free_clean(e, plan->block, plan->block_bytes);
	else if (plan->block != NULL)
		((gs_cuda_sort *) e->sort)->block_borrowed = false;
	engine->host.release(engine->host.arg, plan, plan->bytes);
}

/* Returns whether the values modulo 2^bits, whose digits the statistics have counted, are keys of this field. */
static bool
modulo_fits(const gs_key_stats *stats, const gs_dev_field *f)
{
	return stats->guess_bits >= f->bits && stats->guess_shift == f->shift;
}

/* Makes t compute values modulo 2^bits, and returns how many rows come first in that order but belong last. */
static u32
modulo(const gs_key_stats *stats, u64 min, u64 rows, gs_transform *t)
{
	u32 above = stats->guess_shift + stats->guess_bits;

	t->plus = 0;
	t->keep = gs_mask(above);
	t->shift = stats->guess_shift;
	return gs_rotation(stats->odd, min, above, rows);
}

/* Decides whether leading digits and buckets will do, and how. */
static void
choose_buckets(gs_cuda_plan *plan, u32 key_bits, const gs_key_stats *column_stats, const gs_spread *spread)
{
	const u32 room = 64 - plan->row_bits, way = gs_buckets_way(plan->engine, plan->rows);
	auto &buckets = plan->buckets;

	buckets.lead = gs_buckets_lead(key_bits, plan->rows, gs_radix_most(plan->engine), way);
	if (buckets.lead != 0)
		buckets.margin = gs_buckets_margin(plan->engine, plan->rows, buckets.lead, way, spread);
	if (buckets.margin == 0)
		buckets.lead = 0;
	buckets.complete = key_bits <= room;
	buckets.bits = buckets.complete ? key_bits : room;
	if (plan->path != gs_cuda_plan::GS_PLAN_COLUMN)
		return;

	const gs_dev_field *f = &plan->fields[0];

	buckets.whole = {f->flip, 0 - f->base, ~0ull, f->shift};
	if (column_stats[0].guess_lead == buckets.lead && column_stats[0].guess_bits == f->bits &&
		modulo_fits(&column_stats[0], f))
	{
		buckets.rotate_by = modulo(&column_stats[0], f->base, plan->rows, &buckets.whole);
		buckets.counted = true;
	}
	buckets.t = buckets.whole;
	buckets.t.shift += key_bits - buckets.bits;
}

/* Chooses the path once the fields are known. */
static void
choose(gs_cuda_plan *plan, const gs_column *columns, u32 ncolumns, const gs_key_stats *column_stats)
{
	const gs_dev_field *f = &plan->fields[0];
	size_t width = gs_type_width(columns[0].spec.type);
	/* it is known whether the rows are in order */
	bool known = ncolumns == 1 && columns->nulls == NULL && column_stats[0].seen != 0;

	plan->complete = !plan->strings && fits_word(plan->engine, plan->key_bits, plan->row_bits);
	plan->bits = plan->complete ? plan->key_bits : 64 - plan->row_bits;
	plan->maybe_ordered = column_stats[0].seen == 0 || (column_stats[0].seen & GS_SEEN_FALL) == 0;
	if (plan->nfields == 0 || (known && (column_stats[0].seen & GS_SEEN_FALL) == 0))
		plan->path = gs_cuda_plan::GS_PLAN_EQUAL;
	else if (known && (column_stats[0].seen & GS_SEEN_RISE) == 0)
		plan->path = gs_cuda_plan::GS_PLAN_REVERSE;
	else if (ncolumns == 1 && plan->nfields == 1 && (width == 8 || width == 4) &&
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
		if (plan->complete && column_stats[0].guess_lead == 0 && modulo_fits(&column_stats[0], f) &&
			fits_word(plan->engine, column_stats[0].guess_bits, plan->row_bits) && plan->rows <= (u64) 1 << 31)
		{
			plan->bits = column_stats[0].guess_bits;
			plan->rotate_by = modulo(&column_stats[0], f->base, plan->rows, &plan->t);
			plan->counted = true;
		}
	}
	else
		plan->path = gs_cuda_plan::GS_PLAN_WORDS;
}

/* Returns whether the statistics should count digits: for integers that pass 1 may read. */
static bool
counts_digits(const gs_column *column)
{
	gs_type type = column->spec.type;

	return column->nulls == NULL && (gs_type_width(type) == 4 || gs_type_width(type) == 8) && !gs_type_is_float(type);
}

/* Layout of a plan's device memory: offsets and bytes, zero-initialized part first. */
struct plan_block
{
	size_t known; /* bytes that the host waits for: the estimate and the columns' statistics */
	size_t counts, flags, marks, cells, fields, alphabets;
	size_t bytes;
};

/* Lays out a plan's block.  What is read back together comes first. */
static plan_block
block_of(const gs_cuda_engine *e, const gs_column *columns, u32 ncolumns, u64 rows)
{
	u32 strings = 0;
	plan_block b;

	for (u32 c = 0; c < ncolumns; c++)
		strings += columns[c].spec.type == GS_BYTES;
	b.known = sizeof(gs_spread) + 2 * ncolumns * sizeof(gs_key_stats);
	b.counts = gs_round256(b.known);
	b.flags = b.counts + GS_PLACES * GS_PLACE * sizeof(u32);
	b.marks = b.flags + 256;
	b.cells = b.marks + gs_round256(strings * GS_MARKS * sizeof(u32));
	b.fields = b.cells + gs_buckets_cells(e, ncolumns, rows);
	b.alphabets = b.fields + gs_round256(3 * ncolumns * sizeof(gs_dev_field));
	b.bytes = b.alphabets + strings * (GS_POSITIONS + 1) * sizeof(gs_dev_alphabet);
	return b;
}

/* Enqueues the statistics of all columns, and of a sample of rows if buckets may do. */
static gs_status
read_columns(gs_cuda_engine *e, gs_cuda_plan *plan, const gs_column *columns, u32 ncolumns, const plan_block &b)
{
	gs_dev_alphabet *const alphabets = (gs_dev_alphabet *) (plan->block + b.alphabets);
	u32 *const marks = (u32 *) (plan->block + b.marks);

	for (u32 c = 0, string = 0; c < ncolumns; c++)
	{
		u32 *counts = ncolumns == 1 && counts_digits(&columns[c]) ? plan->counts : NULL;

		GS_TRY(gs_order_key_stats(e, &columns[c], plan->rows, plan->column_stats + 2 * c, counts,
								  alphabets + string * (GS_POSITIONS + 1), marks + string * GS_MARKS));
		string += columns[c].spec.type == GS_BYTES;
	}
	if (b.cells == b.fields)
		return GS_OK;
	return gs_buckets_estimate(e, columns, ncolumns, plan->rows, plan->column_stats, alphabets,
							   (gs_spread *) plan->block, (u32 *) (plan->block + b.cells));
}

/* Makes the key's fields from the statistics, and chooses the path. */
static gs_status
plan_fields(gs_cuda_engine *e, gs_cuda_plan *plan, const gs_column *columns, u32 ncolumns, const plan_block &b,
			const gs_spread *spread)
{
	const gs_key_stats *known = (const gs_key_stats *) (spread + 1);
	gs_dev_alphabet *const alphabets = (gs_dev_alphabet *) (plan->block + b.alphabets);
	gs_dev_field *const device_fields = (gs_dev_field *) (plan->block + b.fields);
	u32 key_bits = 0; /* many if there are strings */

	for (u32 c = 0, string = 0; c < ncolumns; c++)
	{
		gs_dev_field *const fields = plan->fields + plan->nfields;
		const u32 n = gs_fields_of(&columns[c], &known[2 * c], alphabets + string * (GS_POSITIONS + 1), fields);

		for (u32 f = 0; f < n; f++)
		{
			plan->key_bits += fields[f].bits;
			plan->strings |= fields[f].kind == GS_DEV_BYTES;
			key_bits += gs_field_bits(&fields[f]);
		}
		plan->nfields += n;
		string += columns[c].spec.type == GS_BYTES;
	}
	choose(plan, columns, ncolumns, known);
	if (b.cells != b.fields)
		choose_buckets(plan, key_bits, known, spread);
	plan->key = {device_fields, plan->nfields};
	if (plan->nfields == 0)
		return GS_OK;
	return gs_cuda_status(cudaMemcpyAsync(device_fields, plan->fields, plan->nfields * sizeof(gs_dev_field),
										  cudaMemcpyHostToDevice, e->stream));
}

/* Plans from the statistics of one read of the columns, for which it waits. */
static gs_status
plan_by_stats(gs_cuda_engine *e, gs_cuda_plan *plan, const gs_column *columns, u32 ncolumns, void *host_memory)
{
	const plan_block b = block_of(e, columns, ncolumns, plan->rows);
	const gs_host *host = &e->head.host;
	gs_spread *spread = (gs_spread *) host_memory;
	gs_status status;

	GS_TRY(borrow_block(e, plan, b.bytes));
	GS_TRY(gs_cuda_status(cudaMemsetAsync(plan->block, 0, b.fields, e->stream)));
	plan->column_stats = (gs_key_stats *) (plan->block + sizeof(gs_spread));
	plan->counts = (u32 *) (plan->block + b.counts);
	plan->flags = (gs_order_flags *) (plan->block + b.flags);
	GS_TRY(read_columns(e, plan, columns, ncolumns, b));
	if (b.known > GS_SORT_HOST)
		spread = (gs_spread *) host->alloc(host->arg, b.known);
	if (spread == NULL)
		return GS_NOMEM;
	status = gs_cuda_status(cudaMemcpyAsync(spread, plan->block, b.known, cudaMemcpyDeviceToHost, e->stream));
	if (status == GS_OK)
		status = gs_cuda_status(cudaStreamSynchronize(e->stream));
	if (status == GS_OK)
		status = plan_fields(e, plan, columns, ncolumns, b, spread);
	if ((void *) spread != host_memory)
		host->release(host->arg, spread, b.known);
	return status;
}

/* Implements gs_order_plan.  Waits for the statistics unless rows are few. */
static gs_status
order_plan(gs_engine *engine, const gs_column *columns, uint32_t ncolumns, uint64_t rows, gs_plan **out)
{
	gs_cuda_engine *e = (gs_cuda_engine *) engine;
	gs_cuda_sort *sort;
	size_t bytes = sizeof(gs_cuda_plan) + 3 * (size_t) ncolumns * sizeof(gs_dev_field);
	gs_status status;
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
	plan->row_bits = gs_row_bits(rows);
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
	status = plan_by_stats(e, plan, columns, ncolumns, sort->host);
	if (status != GS_OK)
	{
		plan_free(engine, &plan->head);
		*out = NULL;
	}
	return status;
}

/* ---------------------------------------------------------------- run */

/* temp: two arrays of words, memory of the sort, memory of ties */
static size_t
words_bytes(const gs_cuda_plan *plan)
{
	return gs_round256(plan->rows * sizeof(u64));
}

/* Returns whether a run sorts by digits. */
static bool
sorts(const gs_cuda_plan *plan)
{
	return plan->rows > 1 && (plan->path == gs_cuda_plan::GS_PLAN_COLUMN || plan->path == gs_cuda_plan::GS_PLAN_WORDS);
}

/* Returns the memory for passes over all or leading digits, as the run may do one after the other. */
static size_t
radix_bytes(const gs_cuda_plan *plan)
{
	const size_t all = gs_radix_temp(plan->engine, plan->rows, plan->complete ? plan->bits : 64);
	const size_t leading = plan->buckets.lead != 0 ? gs_radix_temp(plan->engine, plan->rows, plan->buckets.lead) : 0;

	return gs_round256(all > leading ? all : leading);
}

/* Returns the temporary memory: two arrays of words, the passes, and either ties or groups of buckets. */
static size_t
order_temp_bytes(const gs_plan *head)
{
	const gs_cuda_plan *plan = (const gs_cuda_plan *) head;
	const size_t ties = plan->complete ? 0 : gs_ties_temp(plan->rows), groups = gs_buckets_temp(plan);

	if (plan->path == gs_cuda_plan::GS_PLAN_SMALL)
		return gs_small_temp(plan->rows);
	if (!sorts(plan))
		return 256;
	return 2 * words_bytes(plan) + radix_bytes(plan) + (ties > groups ? ties : groups);
}

/* Returns the digit passes of an order, by leading or by all digits, with memory at temp. */
static gs_radix_sort
passes_of(const gs_cuda_plan *plan, bool buckets, u8 *temp, u32 *order)
{
	gs_radix_sort s = {};

	s.n = plan->rows;
	s.bits = buckets ? plan->buckets.bits : plan->bits;
	s.skip = buckets ? s.bits - plan->buckets.lead : 0;
	s.row_bits = plan->row_bits;
	s.rows = !buckets && plan->complete;
	s.a = (u64 *) temp;
	s.b = (u64 *) (temp + words_bytes(plan));
	s.order = order;
	s.temp = temp + 2 * words_bytes(plan);
	if (plan->path == gs_cuda_plan::GS_PLAN_COLUMN)
	{
		s.from = plan->from;
		s.in = plan->values;
		s.t = buckets ? plan->buckets.t : plan->t;
		s.counts = (buckets ? plan->buckets.counted : plan->counted) ? plan->counts : NULL;
		s.rotate_by = buckets ? 0 : plan->rotate_by;
	}
	else
	{
		s.from = GS_COLUMN8;
		s.in = s.a;
		s.t.keep = ~0ull;
		s.counts = plan->counts;
	}
	return s;
}

/* Sorts again, by all digits, if the check of buckets has failed.  The column is unchanged; words are encoded again. */
static gs_status
sort_again(gs_cuda_engine *e, const gs_cuda_plan *plan, gs_radix_sort *s, const u32 *gate)
{
	s->gate = gate;
	s->gate_open = 1;
	s->counts = NULL; /* those count leading digits */
	if (plan->path == gs_cuda_plan::GS_PLAN_WORDS)
		GS_TRY(gs_order_encode(e, plan, plan->bits, 0, s->a, NULL, gate));
	return gs_radix_run(e, s);
}

/* Sorts rows that tie in the words' bits, in the finished sort's memory. */
static gs_status
sort_ties(gs_cuda_engine *e, const gs_cuda_plan *plan, const gs_radix_sort *s, u32 *order, u32 *rounds)
{
	return gs_ties_run(e, plan, s->result, s->result == s->a ? s->b : s->a, (u8 *) s->temp + radix_bytes(plan), s->temp,
					   order, rounds);
}

/* Waits for the results of the checks. */
static gs_status
read_flags(gs_cuda_engine *e, const gs_cuda_plan *plan, const gs_order_flags **flags)
{
	gs_cuda_sort *sort;

	GS_TRY(gs_sort_state(e, &sort));
	*flags = (gs_order_flags *) sort->host;
	GS_TRY(
		gs_cuda_status(cudaMemcpyAsync(sort->host, plan->flags, sizeof(**flags), cudaMemcpyDeviceToHost, e->stream)));
	return gs_cuda_status(cudaStreamSynchronize(e->stream));
}

/* Finds out whether rows ascend, descend or both, if that is known or can be checked before sorting. */
static gs_status
rows_seen(gs_cuda_engine *e, const gs_cuda_plan *plan, bool complete, u32 *seen)
{
	const gs_order_flags *flags;

	*seen = plan->path == gs_cuda_plan::GS_PLAN_REVERSE ? GS_SEEN_FALL : GS_SEEN_FALL | GS_SEEN_RISE;
	GS_TRY(gs_cuda_status(cudaMemsetAsync(plan->flags, 0, sizeof(gs_order_flags), e->stream)));
	if (complete || !plan->maybe_ordered || *seen == GS_SEEN_FALL)
		return GS_OK;
	/* by complete keys, until both have been seen */
	GS_TRY(gs_order_check_rows(e, plan, &plan->flags->seen));
	GS_TRY(read_flags(e, plan, &flags));
	*seen = flags->seen;
	return GS_OK;
}

/* The last step of an order by leading digits, after the passes.  If it fails, sorts again. */
static gs_status
sort_buckets(gs_cuda_engine *e, const gs_cuda_plan *plan, const gs_radix_sort *passes, void *temp, u32 *order,
			 u32 *rounds)
{
	gs_radix_sort s = passes_of(plan, false, (u8 *) temp, order);
	const gs_order_flags *flags;

	GS_TRY(gs_buckets_run(e, plan, passes, (u8 *) passes->temp + radix_bytes(plan), order));
	if (plan->complete)
		return sort_again(e, plan, &s, &plan->flags->wrong);
	GS_TRY(read_flags(e, plan, &flags));
	if (!flags->wrong)
		return GS_OK;
	GS_TRY(sort_again(e, plan, &s, NULL));
	return sort_ties(e, plan, &s, order, rounds);
}

/* Waits for what the check of encoded words says about the input. */
static gs_status
input_of(gs_cuda_engine *e, const gs_cuda_plan *plan, gs_order_facts *f)
{
	const gs_order_flags *flags;

	GS_TRY(read_flags(e, plan, &flags));
	if ((flags->seen & GS_SEEN_FALL) == 0)
		f->input = gs_order_facts::GS_ASCENDING;
	else if ((flags->seen & GS_SEEN_RISE) == 0)
		f->input = gs_order_facts::GS_DESCENDING;
	if (f->input != gs_order_facts::GS_UNORDERED)
		f->passes = 0;
	return GS_OK;
}

/* Sorts rows that are not known to be in order. */
static gs_status
sort_rows(gs_cuda_engine *e, const gs_cuda_plan *plan, bool complete, void *temp, u32 *order, gs_order_facts *f)
{
	const bool buckets = plan->buckets.lead != 0;
	gs_radix_sort s = passes_of(plan, buckets, (u8 *) temp, order);

	if (plan->path == gs_cuda_plan::GS_PLAN_WORDS)
	{
		GS_TRY(gs_cuda_status(cudaMemsetAsync(plan->counts, 0, GS_PLACES * GS_PLACE * sizeof(u32), e->stream)));
		GS_TRY(gs_order_encode(e, plan, s.bits, s.skip, s.a, plan->counts, NULL));
		if (complete)
		{
			GS_TRY(gs_order_check(e, s.a, plan->rows, &plan->flags->seen));
			s.gate = &plan->flags->seen;
			s.gate_open = GS_SEEN_FALL | GS_SEEN_RISE;
		}
	}
	GS_TRY(gs_radix_run(e, &s));
	f->passes = s.passes + buckets;
	if (buckets)
		return sort_buckets(e, plan, &s, temp, order, &f->refined);
	return plan->complete ? GS_OK : sort_ties(e, plan, &s, order, &f->refined);
}

/* Implements gs_order_run.  facts may be NULL; providing them may require waiting. */
static gs_status
order_run(gs_engine *engine, const gs_plan *head, void *temp, size_t temp_bytes, uint32_t *order, gs_order_facts *facts)
{
	gs_cuda_engine *e = (gs_cuda_engine *) engine;
	const gs_cuda_plan *plan = (const gs_cuda_plan *) head;
	const bool complete = plan->buckets.lead != 0 ? plan->buckets.complete : plan->complete;
	gs_order_facts f = {};
	u32 seen;

	cudaSetDevice(e->device);
	if (plan->path == gs_cuda_plan::GS_PLAN_SMALL)
		return gs_small_run(e, plan->columns, plan->ncolumns, plan->rows, temp, order, facts);
	f.key_bits = plan->key_bits;
	f.words = 1;
	f.input = gs_order_facts::GS_ASCENDING;
	if (facts != NULL)
		*facts = f;
	if (plan->rows == 0)
		return GS_OK;
	if (plan->rows == 1 || plan->path == gs_cuda_plan::GS_PLAN_EQUAL)
		return gs_order_sequence(e, order, plan->rows, false, NULL);
	GS_TRY(rows_seen(e, plan, complete, &seen));
	if (seen == GS_SEEN_FALL && facts != NULL)
		facts->input = gs_order_facts::GS_DESCENDING;
	if (seen == GS_SEEN_FALL || seen == GS_SEEN_RISE)
		return gs_order_sequence(e, order, plan->rows, seen == GS_SEEN_FALL, NULL);

	f.input = gs_order_facts::GS_UNORDERED;
	GS_TRY(sort_rows(e, plan, complete, temp, order, &f));
	if (plan->path == gs_cuda_plan::GS_PLAN_WORDS && complete)
	{
		GS_TRY(gs_order_sequence(e, order, plan->rows, false, &plan->flags->seen));
		if (facts != NULL)
			GS_TRY(input_of(e, plan, &f));
	}
	if (facts != NULL)
		*facts = f;
	return GS_OK;
}

/* Sets the row order's operations in the engine's table. */
void
gs_cuda_sort_ops(gs_engine_ops *ops)
{
	ops->order_plan = order_plan;
	ops->order_temp_bytes = order_temp_bytes;
	ops->order_run = order_run;
	ops->plan_free = plan_free;
	gs_cuda_job_ops(ops);
}
