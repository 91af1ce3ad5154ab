/*
 * topk.cu: the first k rows of an order: those below a sample's threshold (README.md).  Waits for statistics and count.
 */
#include "sort_ops.cuh"
#include "topk.cuh"

#include <cmath>

#define MOST_COLUMNS 16
#define FEW			 ((u64) 1 << 17) /* fewer rows are sorted */

/* Layout of the memory, in bytes. */
struct topk_layout
{
	u64 room;  /* rows that can be listed */
	size_t head, sample, codes, rows, order, equal, orders, all;
};

/* Returns the memory of an order of at most n rows of any columns. */
static size_t
order_room(const gs_cuda_engine *e, u64 n)
{
	const size_t small = gs_small_temp(n < 65536 ? n : 65536);
	const size_t large = 2 * gs_round256(n * 8) + gs_round256(gs_radix_temp(e, n, 64)) + gs_ties_temp(n);

	return small > large ? small : large;
}

/* Returns whether some column holds strings, whose keys are not one number. */
static bool
is_string(const gs_column *columns, u32 ncolumns)
{
	for (u32 c = 0; c < ncolumns; c++)
		if (columns[c].spec.type == GS_BYTES)
			return true;
	return false;
}

/* Returns the bits of the key if nothing is known of the values. */
static u32
declared_bits(const gs_column *columns, u32 ncolumns)
{
	u32 bits = 0;

	for (u32 c = 0; c < ncolumns; c++)
		bits += 8 * gs_width_of(columns[c].spec.type) + (columns[c].nulls != NULL);
	return bits;
}

/* Returns whether a threshold may work.  Whether it does can depend on the values. */
static bool
may_filter(const gs_column *columns, u32 ncolumns, u64 rows, u64 k)
{
	return rows >= FEW && k <= rows / 16 && ncolumns <= MOST_COLUMNS && !is_string(columns, ncolumns);
}

/* Lays out memory for a threshold's list and its order, or for a full sort if that may be needed. */
static topk_layout
layout_of(const gs_cuda_engine *e, const gs_column *columns, u32 ncolumns, u64 rows, u64 k)
{
	bool filter = may_filter(columns, ncolumns, rows, k);
	topk_layout l = {};
	size_t whole = gs_round256(rows * 4) + order_room(e, rows);

	l.room = k + k / 4 + 65536;
	l.head = 4096 + gs_round256(3 * MOST_COLUMNS * sizeof(gs_dev_field)) +
			 gs_round256(2 * MOST_COLUMNS * sizeof(gs_key_stats));
	l.sample = SAMPLE * 8;
	l.codes = gs_round256(l.room * 8);
	l.rows = gs_round256(l.room * 4);
	l.order = gs_round256((l.room > SAMPLE ? l.room : SAMPLE) * 4);
	l.equal = gs_round256((rows + CHUNK_ROWS - 1) / CHUNK_ROWS * 4);
	l.orders = order_room(e, l.room > SAMPLE ? l.room : SAMPLE);
	l.all = l.head + l.sample + l.codes + l.rows + l.order + l.equal + l.orders;
	if (!filter || (declared_bits(columns, ncolumns) > 64 && whole > l.all))
		l.all = whole;
	return l;
}

/* Returns the memory for whichever method may be needed. */
size_t
gs_cuda_top_k_temp(gs_engine *engine, const gs_column *columns, u32 ncolumns, u64 rows, u64 k)
{
	return layout_of((const gs_cuda_engine *) engine, columns, ncolumns, rows, k).all;
}

/* Sorts columns, in memory that is large enough. */
static gs_status
order_columns(gs_cuda_engine *e, const gs_column *columns, u32 ncolumns, u64 rows, u32 *order, void *temp,
			  size_t temp_bytes)
{
	const gs_engine_ops *ops = e->head.ops;
	gs_plan *plan;
	gs_status status;

	GS_TRY(ops->order_plan(&e->head, columns, ncolumns, rows, &plan));
	status = ops->order_temp_bytes(plan) > temp_bytes ? GS_INVALID
													  : ops->order_run(&e->head, plan, temp, temp_bytes, order, NULL);
	ops->plan_free(&e->head, plan);
	return status;
}

/* Sorts all rows and copies the first k. */
static gs_status
whole_order(gs_cuda_engine *e, const gs_column *columns, u32 ncolumns, u64 rows, u64 k, u32 *out, void *temp,
			size_t temp_bytes)
{
	u32 *order = (u32 *) temp;
	size_t used = gs_round256(rows * 4);

	if (k == rows)
		order = out;
	GS_TRY(order_columns(e, columns, ncolumns, rows, order, (u8 *) temp + used, temp_bytes - used));
	return k == rows ? GS_OK
					 : gs_cuda_status(cudaMemcpyAsync(out, order, k * 4, cudaMemcpyDeviceToDevice, e->stream));
}

/* Makes the key's fields: from the types alone if that gives at most 64 bits, otherwise from statistics. */
static gs_status
fields_of(gs_cuda_engine *e, const gs_column *columns, u32 ncolumns, u64 rows, gs_key_stats *column_stats,
		  gs_dev_field *fields, u32 *nfields, u32 *bits)
{
	gs_key_stats known[2 * MOST_COLUMNS] = {};
	u32 n = 0, sum = 0;

	if (declared_bits(columns, ncolumns) <= 64)
		for (u32 c = 0; c < ncolumns; c++)
		{
			gs_key_stats *l = &known[2 * c];

			l->not_min = ~0ull;
			l->max = l->ones = l->zeros = gs_mask(8 * gs_width_of(columns[c].spec.type));
			l->valid = 1;
			l->nulls = columns[c].nulls != NULL;
		}
	else
	{
		GS_TRY(gs_cuda_status(cudaMemsetAsync(column_stats, 0, 2 * ncolumns * sizeof(gs_key_stats), e->stream)));
		for (u32 c = 0; c < ncolumns; c++)
			GS_TRY(gs_order_key_stats(e, &columns[c], rows, column_stats + 2 * c, NULL, NULL, NULL));
		GS_TRY(gs_cuda_status(cudaMemcpyAsync(known, column_stats, 2 * ncolumns * sizeof(gs_key_stats),
											  cudaMemcpyDeviceToHost, e->stream)));
		GS_TRY(gs_cuda_status(cudaStreamSynchronize(e->stream)));
	}
	for (u32 c = 0; c < ncolumns; c++)
		n += gs_column_fields(&columns[c], &known[2 * c], fields + n);
	for (u32 f = 0; f < n; f++)
		sum += fields[f].bits;
	*nfields = n;
	*bits = sum;
	return GS_OK;
}

/* Lists rows below the threshold and counts those equal to it, in one read.  Waits for the result. */
static gs_status
filter(gs_cuda_engine *e, const topk_args &a, bool wide, topk_state *found)
{
	gs_cuda_sort *sort = (gs_cuda_sort *) e->sort;
	const u64 chunks = (a.n + CHUNK_ROWS - 1) / CHUNK_ROWS;
	const void *kernel = a.values == NULL ? (const void *) filter_fields_kernel
						 : wide			  ? (const void *) filter_column_kernel<u64>
										  : (const void *) filter_column_kernel<u32>;
	void *list[] = {(void *) &a};
	int blocks;

	GS_TRY(gs_cuda_status(cudaMemsetAsync(a.equal, 0, chunks * 4, e->stream)));
	GS_TRY(gs_cuda_blocks(e, kernel, THREADS, 0, &blocks));
	GS_TRY(gs_cuda_status(cudaLaunchKernel(kernel, dim3((u32) (chunks < (u64) blocks ? chunks : blocks)), dim3(THREADS),
										   list, 0, e->stream)));
	GS_TRY(gs_cuda_status(cudaMemcpyAsync(sort->host, a.state, sizeof(*found), cudaMemcpyDeviceToHost, e->stream)));
	GS_TRY(gs_cuda_status(cudaStreamSynchronize(e->stream)));
	*found = *(const topk_state *) sort->host;
	return GS_OK;
}

/* Tries thresholds until the first k rows are among those listed and those equal to the threshold. */
static gs_status
search(gs_cuda_engine *e, const topk_args &a, u64 k, bool wide, const u64 *sample, const u32 *order, topk_state *found)
{
	const double expected = (double) k * SAMPLE / a.n;
	double rank = expected + 4 * sqrt(expected) + 4;
	u64 low = 0, high = gs_mask(a.bits); /* bounds of the k-th number, inclusive */

	for (u32 round = 0;; round++)
	{
		bool by_sample = round < 4 && rank < SAMPLE;

		threshold_kernel<<<1, 1, 0, e->stream>>>(a.state, by_sample ? sample : NULL, order, (u32) rank,
												 low + (high - low) / 2);
		GS_TRY(gs_cuda_status(cudaGetLastError()));
		GS_TRY(filter(e, a, wide, found));
		if (found->listed < k ? found->listed + found->equal >= k : found->listed <= a.room)
			return GS_OK;
		if (found->listed < k)
		{
			/* a sample may return to an earlier threshold; bisection ends that */
			low = found->threshold + 1 > low ? found->threshold + 1 : low;
			rank = rank * 4;
		}
		else
		{
			high = found->threshold - 1 < high ? found->threshold - 1 : high;
			rank = rank / 2;
		}
	}
}

/* Places in temporary memory. */
struct topk_places
{
	gs_dev_field *fields;
	gs_key_stats *stats;
	u64 *sample;
	u32 *order; /* of the sample, then of the rows listed */
	void *orders;
};

/* Divides the memory as laid out. */
static topk_places
places_of(void *temp, const topk_layout &l, topk_args &a)
{
	u8 *at = (u8 *) temp;
	topk_places p;

	a.state = (topk_state *) temp;
	p.fields = (gs_dev_field *) (at + 4096);
	p.stats = (gs_key_stats *) (at + 4096 + gs_round256(3 * MOST_COLUMNS * sizeof(gs_dev_field)));
	p.sample = (u64 *) (at += l.head);
	a.codes = (u64 *) (at += l.sample);
	a.rows = (u32 *) (at += l.codes);
	p.order = (u32 *) (at += l.rows);
	a.equal = (u32 *) (at += l.order);
	p.orders = at += l.equal;
	return p;
}

/* Prepares what the read needs of the key: its fields on the device, or a column that is read directly. */
static gs_status
prepare_key(gs_cuda_engine *e, const gs_column *columns, u32 ncolumns, const gs_dev_field *fields, u32 nfields,
			gs_dev_field *on_device, topk_args &a)
{
	const u32 width = gs_width_of(columns[0].spec.type);

	GS_TRY(gs_cuda_status(
		cudaMemcpyAsync(on_device, fields, nfields * sizeof(*fields), cudaMemcpyHostToDevice, e->stream)));
	a.key = gs_dev_key{on_device, nfields};
	if (ncolumns == 1 && columns[0].nulls == NULL && (width == 4 || width == 8) &&
		(uintptr_t) columns[0].values % 16 == 0)
		a.values = columns[0].values;
	a.flip = fields[0].flip;
	a.floats = fields[0].floats;
	return GS_OK;
}

/* Writes the first k rows: those listed, by number and row, then rows equal to the threshold. */
static gs_status
put_rows(gs_cuda_engine *e, const topk_args &a, const topk_layout &l, const topk_places &p, const topk_state &found,
		 u64 k, u32 *out)
{
	const u64 below = found.listed < k ? found.listed : k, equal = k - below;

	if (found.listed > 0)
	{
		gs_column listed[2] = {{{GS_U64, false, false}, a.codes, NULL, NULL},
							   {{GS_U32, false, false}, a.rows, NULL, NULL}};

		GS_TRY(order_columns(e, listed, 2, found.listed, p.order, p.orders, l.orders));
		first_rows_kernel<<<(u32) ((below + 255) / 256 < 1024 ? (below + 255) / 256 : 1024), 256, 0, e->stream>>>(
			a.rows, p.order, (u32) below, out);
	}
	if (equal > 0)
	{
		const u64 chunks = (a.n + CHUNK_ROWS - 1) / CHUNK_ROWS;

		before_kernel<<<1, 1024, 0, e->stream>>>(a.equal, chunks, equal);
		equal_rows_kernel<<<(u32) (chunks < 1024 ? chunks : 1024), THREADS, 0, e->stream>>>(a, (u32) equal,
																							out + below);
	}
	return gs_cuda_status(cudaGetLastError());
}

/* Implements gs_top_k as in README.md.  The statistics may still require a full sort. */
gs_status
gs_cuda_top_k(gs_engine *engine, const gs_column *columns, u32 ncolumns, u64 rows, u64 k, u32 *out, void *temp,
			  size_t temp_bytes)
{
	gs_cuda_engine *e = (gs_cuda_engine *) engine;
	const topk_layout l = layout_of(e, columns, ncolumns, rows, k);
	gs_dev_field fields[3 * MOST_COLUMNS];
	gs_cuda_sort *sort;
	topk_state found;
	topk_args a = {};
	u32 nfields;

	cudaSetDevice(e->device);
	GS_TRY(gs_sort_state(e, &sort));
	if (!may_filter(columns, ncolumns, rows, k))
		return whole_order(e, columns, ncolumns, rows, k, out, temp, temp_bytes);

	const topk_places p = places_of(temp, l, a);
	const gs_column sampled = {{GS_U64, false, false}, p.sample, NULL, NULL};

	GS_TRY(fields_of(e, columns, ncolumns, rows, p.stats, fields, &nfields, &a.bits));
	if (a.bits > 64)
		return whole_order(e, columns, ncolumns, rows, k, out, temp, temp_bytes);
	if (a.bits == 0)
		return gs_order_sequence(e, out, k, false, NULL);
	GS_TRY(prepare_key(e, columns, ncolumns, fields, nfields, p.fields, a));
	a.n = rows;
	a.room = l.room;
	sample_kernel<<<SAMPLE / 256, 256, 0, e->stream>>>(a, p.sample, 0);
	GS_TRY(gs_cuda_status(cudaGetLastError()));
	GS_TRY(order_columns(e, &sampled, 1, SAMPLE, p.order, p.orders, l.orders));
	GS_TRY(search(e, a, k, gs_width_of(columns[0].spec.type) == 8, p.sample, p.order, &found));
	return put_rows(e, a, l, p, found, k, out);
}
