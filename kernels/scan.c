/*
 * scan.c: the public calls of the scan family, which check their arguments and answer empty inputs.
 */
#include "arguments.h"
#include "gs_library.h"
#include "rows.h"

/* Returns the engine's operations, or NULL if it has none or the common arguments are invalid. */
static const struct gs_scan_ops *
family(const gs_engine *engine)
{
	return engine == NULL ? NULL : engine->ops->scan;
}

/* Returns true if sizes computed from n cannot overflow. */
static bool
count_valid(uint64_t n)
{
	return n < (uint64_t) 1 << 48;
}

/* Returns an operation's temporary memory, or 0 if the call itself will fail. */
static size_t
temp_bytes_of(const gs_engine *engine, gs_primitive primitive, size_t width, uint64_t n, uint64_t extra)
{
	const struct gs_scan_ops *ops = family(engine);

	if (ops == NULL || width == 0 || !count_valid(n) || !count_valid(extra))
		return 0;
	return ops->temp_bytes(engine, primitive, width, n, extra);
}

/* Writes a count of zero, for empty inputs. */
static gs_status
no_results(gs_engine *engine, uint64_t *count)
{
	return gs_fill(engine, count, 0, sizeof(*count));
}

/* ---------------------------------------------------------------- scan */

size_t
gs_scan_temp_bytes(const gs_engine *engine, gs_type type, uint64_t n)
{
	return temp_bytes_of(engine, GS_P_SCAN, gs_type_width(type), n, 0);
}

gs_status
gs_scan(gs_engine *engine, gs_type type, gs_operation op, bool inclusive, const void *in, void *out, uint64_t n,
		void *temp, size_t temp_bytes)
{
	const struct gs_scan_ops *ops = family(engine);
	size_t width = gs_type_width(type);

	if (ops == NULL || !numeric(type))
		return GS_INVALID;
	if (op != GS_SUM && op != GS_MIN && op != GS_MAX && !(op == GS_COMPOSE && type == GS_U64))
		return GS_INVALID;
	if (n == 0)
		return GS_OK;
	if (!count_valid(n))
		return GS_TOO_BIG;
	if (!array_valid(in, width) || !array_valid(out, width) || overlap(in, n * width, out, n * width))
		return GS_INVALID;
	if (!temp_valid(temp, temp_bytes, gs_scan_temp_bytes(engine, type, n)))
		return GS_INVALID;
	return ops->scan(engine, type, op, inclusive, in, out, n, temp);
}

/* ---------------------------------------------------------------- select, partition, unique */

/* Maps a constant to an order-preserving unsigned number of up to 128 bits. */
static void
constant(gs_type type, const void *value, uint64_t to[2])
{
	const uint8_t *p = value;
	uint64_t x[2] = {0, 0};

	for (size_t i = 0; i < gs_type_width(type); i++)
		x[i / 8] |= (uint64_t) p[i] << (8 * (i % 8));
	if (type == GS_F32)
		x[0] = gs_float_order32((uint32_t) x[0], true);
	else if (type == GS_F64)
		x[0] = gs_float_order64(x[0], true);
	else if (gs_type_is_signed(type))
		x[0] ^= (uint64_t) 1 << (8 * gs_type_width(type) - 1);
	to[0] = x[0];
	to[1] = x[1];
}

/* Compares two unsigned numbers of 128 bits. */
static int
compare_wide(const uint64_t a[2], const uint64_t b[2])
{
	if (a[1] != b[1])
		return a[1] < b[1] ? -1 : 1;
	return a[0] == b[0] ? 0 : (a[0] < b[0] ? -1 : 1);
}

/* Converts a comparison to an interval or its complement, so that engines handle two cases instead of seven. */
bool
gs_interval_of(gs_type type, const gs_filter *filter, gs_interval *in)
{
	uint64_t none[2] = {0, 0}, all[2] = {~(uint64_t) 0, ~(uint64_t) 0};
	size_t width = gs_type_width(type);
	uint64_t v[2], u[2];
	gs_comparison c = filter->comparison;

	if (filter->value == NULL || (unsigned) c > GS_BETWEEN || (c == GS_BETWEEN && filter->upper == NULL))
		return false;
	if (width < 16)
		all[1] = 0;
	if (width < 8)
		all[0] = ((uint64_t) 1 << (8 * width)) - 1;
	constant(type, filter->value, v);
	constant(type, c == GS_BETWEEN ? filter->upper : filter->value, u);
	in->outside = c == GS_NE || c == GS_GT || c == GS_LT;
	if (c == GS_BETWEEN && compare_wide(v, u) > 0)
	{
		/* empty: the complement of everything */
		in->outside = true;
		in->low[0] = none[0], in->low[1] = none[1], in->high[0] = all[0], in->high[1] = all[1];
		return true;
	}
	in->low[0] = v[0], in->low[1] = v[1], in->high[0] = u[0], in->high[1] = u[1];
	if (c == GS_LE || c == GS_GT)
		in->low[0] = none[0], in->low[1] = none[1];
	if (c == GS_GE || c == GS_LT)
		in->high[0] = all[0], in->high[1] = all[1];
	return true;
}

size_t
gs_select_temp_bytes(const gs_engine *engine, gs_type type, uint64_t n)
{
	return temp_bytes_of(engine, GS_P_SELECT, gs_type_width(type), n, 0);
}

/* Checks the arguments of select, partition and unique, and runs the engine's operation. */
static gs_status
select_any(gs_engine *engine, gs_select_request *r, void *temp, size_t temp_bytes)
{
	const struct gs_scan_ops *ops = family(engine);
	size_t width = gs_type_width(r->type);
	uint64_t bytes = r->n * width;

	if (ops == NULL || width == 0 || !array_valid(r->count, 8))
		return GS_INVALID;
	if (!count_valid(r->n))
		return GS_TOO_BIG;
	if (r->mode != GS_MODE_UNIQUE)
	{
		if (r->filter == NULL || (unsigned) r->filter->by > GS_BY_VALUE)
			return GS_INVALID;
		if (r->filter->by == GS_BY_VALUE && !gs_interval_of(r->type, r->filter, &r->interval))
			return GS_INVALID;
		if (r->n > 0 && r->filter->by != GS_BY_VALUE &&
			!array_valid(r->filter->mask, r->filter->by == GS_BY_BITS ? 8 : 1))
			return GS_INVALID;
	}
	if (r->n == 0)
		return no_results(engine, r->count);
	if (!array_valid(r->in, width) || !array_valid(r->out, width) || overlap(r->in, bytes, r->out, bytes))
		return GS_INVALID;
	r->in_place = r->in == r->out;
	if (r->mode == GS_MODE_PARTITION &&
		(!array_valid(r->rest, width) || r->in_place || r->in == r->rest || overlap(r->in, bytes, r->rest, bytes)))
		return GS_INVALID;
	if (!temp_valid(temp, temp_bytes, gs_select_temp_bytes(engine, r->type, r->n)))
		return GS_INVALID;
	return ops->select(engine, r, temp);
}

gs_status
gs_select(gs_engine *engine, gs_type type, const void *in, uint64_t n, const gs_filter *filter, void *out,
		  uint64_t *count, void *temp, size_t temp_bytes)
{
	gs_select_request r = {GS_MODE_SELECT, type, in, n, filter, {{0}, {0}, false}, out, NULL, count, false};

	return select_any(engine, &r, temp, temp_bytes);
}

gs_status
gs_partition(gs_engine *engine, gs_type type, const void *in, uint64_t n, const gs_filter *filter, void *out,
			 void *rest, uint64_t *count, void *temp, size_t temp_bytes)
{
	gs_select_request r = {GS_MODE_PARTITION, type, in, n, filter, {{0}, {0}, false}, out, rest, count, false};

	return select_any(engine, &r, temp, temp_bytes);
}

gs_status
gs_unique(gs_engine *engine, gs_type type, const void *in, uint64_t n, void *out, uint64_t *count, void *temp,
		  size_t temp_bytes)
{
	gs_select_request r = {GS_MODE_UNIQUE, type, in, n, NULL, {{0}, {0}, false}, out, NULL, count, false};

	return select_any(engine, &r, temp, temp_bytes);
}

/* ---------------------------------------------------------------- split */

size_t
gs_split_temp_bytes(const gs_engine *engine, gs_type type, uint64_t n, uint32_t k)
{
	return k == 0 || k > 256 ? 0 : temp_bytes_of(engine, GS_P_SPLIT, gs_type_width(type), n, k);
}

gs_status
gs_split(gs_engine *engine, gs_type type, const void *in, const uint8_t *labels, uint64_t n, uint32_t k, void *out,
		 uint64_t *starts, void *temp, size_t temp_bytes)
{
	const struct gs_scan_ops *ops = family(engine);
	size_t width = gs_type_width(type);

	if (ops == NULL || width == 0 || k == 0 || k > 256 || !array_valid(starts, 8))
		return GS_INVALID;
	if (!count_valid(n))
		return GS_TOO_BIG;
	if (n == 0)
		return gs_fill(engine, starts, 0, (k + 1) * sizeof(*starts));
	if (!array_valid(in, width) || !array_valid(out, width) || labels == NULL || in == out ||
		overlap(in, n * width, out, n * width))
		return GS_INVALID;
	if (!temp_valid(temp, temp_bytes, gs_split_temp_bytes(engine, type, n, k)))
		return GS_INVALID;
	return ops->split(engine, type, in, labels, n, k, out, starts, temp);
}

/* ---------------------------------------------------------------- runs */

size_t
gs_runs_temp_bytes(const gs_engine *engine, gs_type type, uint64_t n)
{
	return temp_bytes_of(engine, GS_P_RUNS, gs_type_width(type), n, 0);
}

/* Checks the arguments of both run calls.  values may be in place, unless only long runs are wanted. */
static gs_status
runs_any(gs_engine *engine, gs_runs_request *r, gs_type counts, void *temp, size_t temp_bytes)
{
	const struct gs_scan_ops *ops = family(engine);
	size_t width = gs_type_width(r->type), count_width = gs_type_width(counts);

	if (ops == NULL || width == 0 || !array_valid(r->count, 8) || (counts != GS_U32 && counts != GS_U64))
		return GS_INVALID;
	if (!count_valid(r->n) || (counts == GS_U32 && r->n > UINT32_MAX))
		return GS_TOO_BIG;
	if (r->n == 0)
		return no_results(engine, r->count);
	if (!array_valid(r->in, width) || overlap(r->in, r->n * width, r->values, r->n * width))
		return GS_INVALID;
	if ((uintptr_t) r->values % width || (uintptr_t) r->lengths % count_width || (uintptr_t) r->starts % count_width)
		return GS_INVALID;
	if (r->in == r->lengths || r->in == r->starts || overlap(r->in, r->n * width, r->lengths, count_width) ||
		overlap(r->in, r->n * width, r->starts, count_width))
		return GS_INVALID;
	r->in_place = r->in == r->values;
	if (r->in_place && r->only_long)
		return GS_INVALID;
	r->wide = counts == GS_U64;
	if (!temp_valid(temp, temp_bytes, gs_runs_temp_bytes(engine, r->type, r->n)))
		return GS_INVALID;
	return ops->runs(engine, r, temp);
}

gs_status
gs_runs(gs_engine *engine, gs_type type, const void *in, uint64_t n, void *values, gs_type counts, void *lengths,
		void *starts, uint64_t *count, void *temp, size_t temp_bytes)
{
	gs_runs_request r = {type, in, n, values, lengths, starts, false, false, count, false};

	return runs_any(engine, &r, counts, temp, temp_bytes);
}

gs_status
gs_long_runs(gs_engine *engine, gs_type type, const void *in, uint64_t n, void *values, gs_type counts, void *lengths,
			 void *starts, uint64_t *count, void *temp, size_t temp_bytes)
{
	gs_runs_request r = {type, in, n, values, lengths, starts, false, true, count, false};

	return runs_any(engine, &r, counts, temp, temp_bytes);
}

size_t
gs_decode_temp_bytes(const gs_engine *engine, gs_type counts, uint64_t runs, uint64_t room)
{
	return temp_bytes_of(engine, GS_P_DECODE, gs_type_width(counts), runs, room);
}

gs_status
gs_decode(gs_engine *engine, gs_type type, const void *values, gs_type counts, const void *lengths, uint64_t runs,
		  void *out, uint64_t room, uint64_t *count, void *temp, size_t temp_bytes)
{
	const struct gs_scan_ops *ops = family(engine);
	size_t width = gs_type_width(type), count_width = gs_type_width(counts);
	gs_decode_request r = {type, values, lengths, counts == GS_U64, runs, room, out, count};

	if (ops == NULL || width == 0 || !array_valid(count, 8) || (counts != GS_U32 && counts != GS_U64))
		return GS_INVALID;
	if (!count_valid(runs) || !count_valid(room))
		return GS_TOO_BIG;
	if (runs == 0)
		return no_results(engine, count);
	if (!array_valid(values, width) || !array_valid(lengths, count_width) || (room > 0 && !array_valid(out, width)))
		return GS_INVALID;
	if (values == out || lengths == out || overlap(values, runs * width, out, room * width) ||
		overlap(lengths, runs * count_width, out, room * width))
		return GS_INVALID;
	if (!temp_valid(temp, temp_bytes, gs_decode_temp_bytes(engine, counts, runs, room)))
		return GS_INVALID;
	return ops->decode(engine, &r, temp);
}

/* ---------------------------------------------------------------- reduce by key */

/* Returns the temporary memory of gs_reduce_by_key.  The counts are run lengths. */
size_t
gs_reduce_by_key_temp_bytes(const gs_engine *engine, gs_type key, const gs_reduction *reduction, uint64_t n)
{
	if (reduction == NULL)
		return 0;
	if (reduction->op == GS_COUNT)
		return gs_runs_temp_bytes(engine, key, n);
	return temp_bytes_of(engine, reduction->fixed_tree ? GS_P_REDUCE_FIXED : GS_P_REDUCE, gs_type_width(key), n,
						 gs_type_width(reduction->values));
}

/* Returns true if a reduction is listed in the table of gs_arrays.h. */
static bool
reduction_valid(const gs_reduction *r)
{
	if (!numeric(r->values) || (r->fixed_tree && (r->op != GS_SUM || !gs_type_is_float(r->values))))
		return false;
	if (r->op == GS_MIN || r->op == GS_MAX)
		return r->result == r->values;
	if (r->op != GS_SUM)
		return false;
	switch (r->values)
	{
		case GS_I32:
			return r->result == GS_I32 || r->result == GS_I64;
		case GS_U32:
			return r->result == GS_U32 || r->result == GS_U64;
		case GS_I64:
		case GS_U64:
			return r->result == r->values || r->result == GS_U128;
		default:
			return r->result == r->values;
	}
}

/* Reduces by key.  Outputs may be in place only at the width of their input. */
gs_status
gs_reduce_by_key(gs_engine *engine, gs_type key, const void *keys, const void *values, uint64_t n,
				 const gs_reduction *reduction, void *out_keys, void *out, uint64_t *count, uint64_t *overflows,
				 void *temp, size_t temp_bytes)
{
	const struct gs_scan_ops *ops = family(engine);
	size_t key_width = gs_type_width(key), width, out_width;
	gs_reduce_request r = {key, keys, values, n, {0}, out_keys, out, count, overflows, false};
	gs_status status;

	if (ops == NULL || reduction == NULL || !array_valid(count, 8) || (uintptr_t) overflows % 8 != 0)
		return GS_INVALID;
	if (key_width != 4 && key_width != 8 && key_width != 16)
		return GS_INVALID;
	if (overflows != NULL)
	{
		status = no_results(engine, overflows);
		if (status != GS_OK)
			return status;
	}
	if (reduction->op == GS_COUNT)
	{
		if (n > 0 && (out == NULL || out_keys == NULL))
			return GS_INVALID;
		return gs_runs(engine, key, keys, n, out_keys, reduction->result, out, NULL, count, temp, temp_bytes);
	}
	if (!reduction_valid(reduction))
		return GS_INVALID;
	if (!count_valid(n))
		return GS_TOO_BIG;
	if (n == 0)
		return no_results(engine, count);
	r.reduction = *reduction;
	width = gs_type_width(reduction->values);
	out_width = gs_type_width(reduction->result);
	if (!array_valid(keys, key_width) || !array_valid(out_keys, key_width) || !array_valid(values, width) ||
		!array_valid(out, out_width))
		return GS_INVALID;
	if (overlap(keys, n * key_width, out_keys, n * key_width) || overlap(values, n * width, out, n * out_width) ||
		overlap(keys, n * key_width, out, n * out_width) || overlap(values, n * width, out_keys, n * key_width) ||
		keys == out || values == out_keys || out == out_keys)
		return GS_INVALID;
	r.in_place = keys == out_keys || values == out;
	if ((values == out && out_width != width) || (r.in_place && reduction->fixed_tree))
		return GS_INVALID;
	if (!temp_valid(temp, temp_bytes, gs_reduce_by_key_temp_bytes(engine, key, reduction, n)))
		return GS_INVALID;
	return ops->reduce(engine, &r, temp);
}

/* ---------------------------------------------------------------- gather, sequence, extent */

gs_status
gs_gather(gs_engine *engine, gs_type type, const void *in, gs_type index_type, const void *index, uint64_t n, void *out)
{
	const struct gs_scan_ops *ops = family(engine);
	size_t width = gs_type_width(type);

	if (ops == NULL || width == 0 || (index_type != GS_U32 && index_type != GS_U64) || !count_valid(n))
		return GS_INVALID;
	if (n == 0)
		return GS_OK;
	if (!array_valid(in, width) || !array_valid(out, width) || !array_valid(index, gs_type_width(index_type)) ||
		in == out)
		return GS_INVALID;
	return ops->gather(engine, type, in, index_type == GS_U64, index, n, out);
}

gs_status
gs_sequence(gs_engine *engine, gs_type type, void *out, uint64_t n, uint64_t start, uint64_t step)
{
	const struct gs_scan_ops *ops = family(engine);
	size_t width = gs_type_width(type);

	if (ops == NULL || width == 0 || width == 16 || gs_type_is_float(type) || !count_valid(n))
		return GS_INVALID;
	if (n == 0)
		return GS_OK;
	if (!array_valid(out, width))
		return GS_INVALID;
	return ops->sequence(engine, type, out, n, start, step);
}

size_t
gs_extent_temp_bytes(const gs_engine *engine, gs_type type, uint64_t n)
{
	return temp_bytes_of(engine, GS_P_EXTENT, gs_type_width(type), n, 0);
}

gs_status
gs_extent(gs_engine *engine, gs_type type, const void *in, uint64_t n, void *out, void *temp, size_t temp_bytes)
{
	const struct gs_scan_ops *ops = family(engine);
	size_t width = gs_type_width(type);

	if (ops == NULL || width == 0 || width == 16 || !count_valid(n))
		return GS_INVALID;
	if (!array_valid(out, width) || (n > 0 && !array_valid(in, width)))
		return GS_INVALID;
	if (!temp_valid(temp, temp_bytes, gs_extent_temp_bytes(engine, type, n)))
		return GS_INVALID;
	return ops->extent(engine, type, in, n, out, temp);
}
