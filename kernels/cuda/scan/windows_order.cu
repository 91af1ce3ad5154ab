/*
 * windows_order.cu: rows of a list with windows in order (windows.cuh): their packed keys are sorted, alone if one word
 * tells all columns, else with the rows' numbers, in one word or, if the orders have no room beside the partition's
 * key, in several, from the last one on.  Columns are then read by row number, or told by the key.
 */
#include "windows.cuh"

/* ---------------------------------------------------------------- sorts */

/* Packs the keys of rows whose numbers are given, a thread some of them at a time. */
static __global__ void __launch_bounds__(GS_GROUP_THREADS)
keys_kernel(const gs_lists *lists, const u32 *rows, u64 n, void *out, u32 bytes, gs_group_state *state)
{
	const gs_lists &l = *lists;
	const u64 round = (u64) GS_GROUP_THREADS * gs_places::ROWS;
	u32 failed = 0;

	for (u64 from = blockIdx.x * round; from < n; from += gridDim.x * round)
	{
		gs_places p;
		u64 packed[gs_places::ROWS];
		const u64 first = from + threadIdx.x;
		u32 mask = 0;

		GS_EACH_ROW(gs_places, j)
		{
			const u64 i = first + j * GS_GROUP_THREADS;

			p.columns[j] = l.columns;
			p.row[j] = 0;
			if (i < n)
			{
				place_number(l, rows[i], p, j);
				mask |= 1u << j;
			}
		}
		pack_rows(l, p, mask, packed, failed);
		GS_EACH_ROW(gs_places, j)
			if (mask >> j & 1)
				write_number(out, bytes, first + j * GS_GROUP_THREADS, packed[j]);
	}
	if (failed != 0)
		atomicOr(&state->failed, failed);
}

/* Returns the bytes of a word's numbers. */
static u32
word_bytes(const gs_packed_keys *keys)
{
	return gs_sort_rows_plan(keys->bits).first_bytes;
}

/* Packs keys, by a list in device memory. */
static gs_status
pack_keys(cuda_windows *w, const gs_device_lists *lists, u64 n, void *out)
{
	const u32 grid = gs_cuda_grid(w->g.e, n, GS_GROUP_THREADS * gs_places::ROWS, GS_GROUP_PER_SM);

	keys_kernel<<<grid, GS_GROUP_THREADS, 0, w->g.e->stream>>>(lists->lists, w->rows.rows, n, out,
															   word_bytes(&lists->host->keys), w->g.state);
	return gs_cuda_status(cudaGetLastError());
}

/* Allocates the arrays of sorts and scans. */
static gs_status
take_arrays(cuda_windows *w, u32 first_bytes)
{
	const gs_engine *engine = &w->g.e->head;
	const u64 rows = w->g.device.rows;
	gs_sort_arrays *a = &w->g.arrays;
	size_t sort = gs_sort_temp_bytes(engine, first_bytes == 4 ? GS_U32 : GS_U64, w->told ? 0 : 4, rows);
	const size_t scan = gs_scan_temp_bytes(engine, GS_U64, rows + 1);
	const bool selected = w->placed && w->g.lists.nterms > 0;
	const size_t narrow = selected ? gs_select_temp_bytes(engine, GS_U32, rows) : 0;
	const size_t wide = selected ? gs_select_temp_bytes(engine, GS_U64, rows) : 0;

	if (w->nlower > 0)
	{
		const size_t more = gs_sort_temp_bytes(engine, GS_U32, 4, rows);

		sort = more > sort ? more : sort;
	}
	for (u32 i = 0; i < 2; i++)
	{
		GS_TRY(take(&w->g, rows * first_bytes, (u8 **) &a->first[i]));
		if (!w->told)
			GS_TRY(take(&w->g, rows, (u32 **) &a->second[i]));
	}
	if (selected)
		GS_TRY(take(&w->g, rows, &a->passed));
	a->temp_bytes = sort > scan ? sort : scan;
	a->temp_bytes = narrow > a->temp_bytes ? narrow : a->temp_bytes;
	a->temp_bytes = wide > a->temp_bytes ? wide : a->temp_bytes;
	return take(&w->g, a->temp_bytes, (u8 **) &a->temp);
}

bool
gs_windows_peers(const cuda_windows *w)
{
	for (u32 i = 0; i < w->step->nfunctions; i++)
	{
		const u32 function = w->step->functions[i].function;

		if ((function >= GS_WINDOW_RANK && function <= GS_WINDOW_CUME_DIST) ||
			w->step->functions[i].frame == GS_FRAME_PEERS)
			return true;
	}
	return false;
}

/* Sorts the rows so far by the keys in the first array, from some bit on. */
static gs_status
sort_rows(cuda_windows *w, const gs_packed_keys *keys, u32 from)
{
	gs_sort_arrays *a = &w->g.arrays;
	u32 *to = (u32 *) (w->rows.rows == a->second[0] ? a->second[1] : a->second[0]);
	gs_sort_request r = {};

	w->rows.high = a->first[0];
	w->rows.high_bytes = word_bytes(keys);
	if (w->rows.n < 2 || keys->bits == from)
		return GS_OK;
	r.key = w->rows.high_bytes == 4 ? GS_U32 : GS_U64;
	r.value_width = 4;
	r.begin_bit = from;
	r.end_bit = keys->bits;
	r.n = w->rows.n;
	r.keys = a->first[0];
	r.values = w->rows.rows;
	r.out_keys = a->first[1];
	r.out_values = to;
	GS_TRY(gs_sort(&w->g.e->head, &r, a->temp, a->temp_bytes));
	w->rows.high = a->first[1];
	w->rows.rows = to;
	return GS_OK;
}

/* Begins with the last word. */
static gs_status
sort_last(cuda_windows *w)
{
	const gs_lower_word *last = &w->lower[w->nlower - 1];
	gs_sort_plan plan = gs_sort_rows_plan(last->lists.keys.bits);
	gs_sorted sorted;

	plan.as_is = w->g.lists.nterms == 0;
	plan.beside = w->unsorted;
	GS_TRY(gs_sort_pairs(w->g.e, &last->device, plan, w->g.arrays, w->g.state, &sorted));
	w->rows.n = sorted.n;
	w->rows.rows = (const u32 *) sorted.second;
	return plan.as_is ? sort_rows(w, &last->lists.keys, w->unsorted) : GS_OK;
}

/* Has peers told by the orders that have no room in the first word. */
static gs_status
keep_lower(cuda_windows *w)
{
	for (u32 i = 0; i < w->nlower; i++)
	{
		u8 *low;

		w->rows.low_bytes[i] = word_bytes(&w->lower[i].lists.keys);
		GS_TRY(take(&w->g, w->rows.n * w->rows.low_bytes[i], &low));
		w->rows.low[i] = low;
		GS_TRY(pack_keys(w, &w->lower[i].device, w->rows.n, low));
	}
	return GS_OK;
}

/* Sorts by several words, from the last one on. */
static gs_status
sort_words(cuda_windows *w, const gs_held_rows *rows)
{
	for (u32 i = 0; i < w->nlower; i++)
	{
		gs_lower_word *word = &w->lower[i];
		u8 *memory;

		GS_TRY(take(&w->g, gs_lists_bytes(&word->lists, w->before_steps, rows), &memory));
		GS_TRY(gs_lists_upload(w->g.e, &word->lists, w->before_steps, rows, memory, &word->device));
	}
	GS_TRY(sort_last(w));
	for (u32 i = w->nlower; i-- > 0 && w->rows.n > 0;)
	{
		const gs_device_lists *lists = i > 0 ? &w->lower[i - 1].device : &w->g.device;

		GS_TRY(pack_keys(w, lists, w->rows.n, w->g.arrays.first[0]));
		GS_TRY(sort_rows(w, &lists->host->keys, 0));
	}
	return w->rows.n > 0 && gs_windows_peers(w) ? keep_lower(w) : GS_OK;
}

/* Sorts by the one word that all keys fit. */
static gs_status
sort_once(cuda_windows *w)
{
	gs_sort_plan plan = gs_sort_rows_plan(w->g.lists.keys.bits);
	gs_sorted sorted;

	plan.all = w->g.lists.nterms == 0;
	plan.in_order = w->placed && !plan.all;
	plan.beside = w->unsorted;
	if (w->told)
		plan.second_bytes = 0;
	GS_TRY(gs_sort_pairs(w->g.e, &w->g.device, plan, w->g.arrays, w->g.state, &sorted));
	w->rows.n = sorted.n;
	w->rows.rows = w->told ? NULL : (const u32 *) sorted.second;
	w->rows.high = sorted.first;
	w->rows.high_bytes = sorted.first_bytes;
	return GS_OK;
}

/* ---------------------------------------------------------------- columns */

/* A column to put in order. */
struct column_job
{
	u32 column; /* of the source, or (told) a part of the key */
	u32 width;
	bool told, nulls;
	void *values;
	u32 *bits;
};

/* Columns to put in order. */
struct columns_args
{
	const gs_lists *lists;
	gs_ordered o;
	u32 n;
	column_job jobs[GS_STEPS_MAX_COLUMNS];
};

/* Copies a value of a row. */
template <class T>
__device__ __forceinline__ void
copy_value(void *to, u64 i, const void *from, u64 row)
{
	((T *) to)[i] = ((const T *) from)[row];
}

/* Copies a value of some bytes; those of 16 may be aligned to 8 only. */
__device__ __forceinline__ void
copy_any(u32 width, void *to, u64 i, const void *from, u64 row)
{
	switch (width)
	{
		case 1:
			copy_value<u8>(to, i, from, row);
			break;
		case 2:
			copy_value<u16>(to, i, from, row);
			break;
		case 4:
			copy_value<u32>(to, i, from, row);
			break;
		case 8:
			copy_value<u64>(to, i, from, row);
			break;
		default:
			copy_value<u64>(to, 2 * i, from, 2 * row);
			copy_value<u64>(to, 2 * i + 1, from, 2 * row + 1);
	}
}

/* Writes a value that the key tells.  Returns true if it is NULL. */
__device__ __forceinline__ bool
put_told(const gs_packed_key &key, const column_job &job, u64 packed, u64 i)
{
	const u64 part = key.bits == 0 ? 0 : packed >> key.shift & gs_mask(key.bits), up = part - key.bump;
	const u64 above = (key.descending ? key.span - up : up) * key.apart;
	const gs_unsigned_wide value = (gs_unsigned_wide) key.low + above;
	const u64 halves[2] = {(u64) value, (u64) (value >> 64)};

	/* the first bytes are the least significant ones */
	copy_any(job.width, job.values, i, halves, 0);
	return key.nulls && part == key.null_code;
}

/* Puts columns in order. */
static __global__ void __launch_bounds__(GS_GROUP_THREADS) columns_kernel(const columns_args a)
{
	const gs_lists &l = *a.lists;

	GS_EACH_ORDERED(row, gs_bit_rows(a.o.n))
	{
		const bool there = row < a.o.n;
		const u32 number = there && a.o.rows != NULL ? a.o.rows[row] : 0;
		/* segments whose first rows have at most this number, less one */
		const u64 segment = a.o.rows != NULL ? numbers_below(l.bases, l.nsegments, (u64) number + 1) - 1 : 0;
		const u64 from = number - l.bases[segment];
		const u64 packed = there ? number_at(a.o.high, a.o.high_bytes, row) : 0;

		for (u32 c = 0; c < a.n; c++)
		{
			const column_job &job = a.jobs[c];
			bool null = false;

			if (there && job.told)
				null = put_told(l.keys.keys[job.column], job, packed, row);
			else if (there)
			{
				const gs_held *column = &l.columns[segment * l.ncolumns + job.column];

				copy_any(job.width, job.values, row, column->values, from);
				null = job.nulls && gs_held_null(column, from);
			}
			if (job.nulls)
				put_row_bits(job.bits, row, null);
		}
	}
}

/* Finds the part of the first word that tells a column's values, or GS_NO_COLUMN. */
static u32
telling(const cuda_windows *w, u32 column)
{
	const gs_packed_keys *keys = &w->g.lists.keys;

	for (u32 k = 0; k < keys->n; k++)
		if (keys->keys[k].column == column && !gs_type_is_float(keys->keys[k].type))
			return k;
	return GS_NO_COLUMN;
}

/* Puts the source's columns that are needed in order. */
static gs_status
order_columns(cuda_windows *w)
{
	columns_args a = {};

	a.lists = w->g.device.lists;
	a.o = w->rows;
	for (u32 c = 0; c < w->steps->ncolumns; c++)
	{
		const u32 key = telling(w, c);
		column_job *job = &a.jobs[a.n];
		gs_ordered_column *to = &w->ordered[c];

		if (!(w->columns >> c & 1))
			continue;
		*job = {key != GS_NO_COLUMN ? key : c, (u32) gs_type_width(w->types[c]), key != GS_NO_COLUMN,
				w->g.head.ranges[c].nulls, to->values, to->nulls};
		a.n++;
	}
	if (a.n == 0)
		return GS_OK;
	columns_kernel<<<gs_rows_grid(w), GS_GROUP_THREADS, 0, w->g.e->stream>>>(a);
	return gs_cuda_status(cudaGetLastError());
}

/* Allocates the columns of the source and of functions that are needed. */
static gs_status
take_columns(cuda_windows *w)
{
	const u64 n = w->rows.n, needed = w->columns | w->taken;
	u64 bytes = 0;
	u8 *memory = NULL;

	for (u32 turn = 0; turn < 2; turn++)
	{
		u64 at = 0;

		for (u32 c = 0; c < w->after_steps->ncolumns; c++)
		{
			const u64 values = (n * gs_type_width(w->types[c]) + 255) & ~(u64) 255;
			const u64 nulls = w->ranges[c].nulls ? (gs_bit_bytes(n) + 255) & ~(u64) 255 : 0;

			if (!(needed >> c & 1))
				continue;
			if (turn == 1)
			{
				w->ordered[c].type = w->types[c];
				w->ordered[c].values = memory + at;
				w->ordered[c].nulls = nulls > 0 ? (u32 *) (memory + at + values) : NULL;
			}
			at += values + nulls;
		}
		bytes = at;
		if (turn == 0)
			GS_TRY(take(&w->g, bytes, &memory));
	}
	return GS_OK;
}

/* Returns the bytes of the widest word of a row's key. */
static u32
widest_bytes(const cuda_windows *w)
{
	u32 bytes = word_bytes(&w->g.lists.keys);

	for (u32 i = 0; i < w->nlower; i++)
		bytes = word_bytes(&w->lower[i].lists.keys) > bytes ? 8 : bytes;
	return bytes;
}

/* Returns the most bytes that a function takes beside its column. */
static u64
function_bytes(const gs_window_function *f, u64 n)
{
	const u64 bits = 3 * (gs_bit_bytes(n) + 256);

	switch (f->function)
	{
		case GS_WINDOW_SUM:
			return bits + 16 * (n + n / GS_GROUP_THREADS) + 1024;
		case GS_WINDOW_MIN:
		case GS_WINDOW_MAX:
			return 4 * n + 8 * (n / GS_GROUP_THREADS) + 1024;
		case GS_WINDOW_RUN:
		case GS_WINDOW_COUNT:
			return bits;
		default:
			return 0;
	}
}

gs_status
gs_windows_measure(cuda_windows *w)
{
	const u64 n = w->g.device.rows;
	u64 bytes = 2 * (3 * gs_bit_bytes(n) + 4 * n + 1024) + (gs_windows_peers(w) ? w->nlower * (8 * n + 256) : 0);
	u8 *memory;

	for (u32 i = 0; i < w->step->nfunctions; i++)
		if (w->taken >> (w->steps->ncolumns + i) & 1)
			bytes += function_bytes(&w->step->functions[i], n);
	w->rows.n = n; /* or less */
	w->g.memory.measuring = true;
	GS_TRY(take(&w->g, bytes, &memory));
	GS_TRY(take_arrays(w, widest_bytes(w)));
	GS_TRY(take_columns(w));
	w->g.memory.measuring = false;
	return GS_OK;
}

gs_status
gs_windows_order(cuda_windows *w, const gs_held_rows *rows)
{
	GS_TRY(take_arrays(w, widest_bytes(w)));
	GS_TRY(w->nlower > 0 ? sort_words(w, rows) : sort_once(w));
	if (w->rows.n == 0)
		return GS_OK;
	GS_TRY(gs_windows_stretches(w));
	GS_TRY(take_columns(w));
	return order_columns(w);
}
