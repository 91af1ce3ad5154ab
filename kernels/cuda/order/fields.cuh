/*
 * fields.cuh: a key's fields from its columns' statistics, as in cpu/fields.c; on the host, small orders in the kernel.
 */
#ifndef GS_CUDA_ORDER_FIELDS_CUH
#define GS_CUDA_ORDER_FIELDS_CUH

#include "../../common/key_fields.h"
#include "order.cuh"

/* Sets a field's base, shift and bits from its values' statistics, of minimum min.  Returns the greatest code. */
GS_BOTH u64
gs_field_range(gs_dev_field *f, const gs_key_stats *stats, u64 min)
{
	u64 varying = stats->ones & stats->zeros, span;

	f->base = min;
	f->shift = gs_field_shift(varying);
	span = (stats->max - min) >> f->shift;
	f->bits = gs_bits(span);
	return span;
}

/* Makes room for a code of NULL.  Returns false if 64 bits have none. */
GS_BOTH bool
gs_field_nulls(gs_dev_field *f, const gs_column *column, u64 span)
{
	f->bits = gs_bits(span + 1);
	f->bump = gs_null_bump(column->spec.nulls_first);
	f->null_code = gs_null_code(column->spec.nulls_first, span);
	return gs_null_fits(span);
}

/* Makes the field of half a column (second statistics: 16-byte values' lower halves).  Returns the greatest code. */
GS_BOTH u64
gs_value_field(gs_dev_field *f, const gs_column *column, const gs_key_stats *column_stats, int half)
{
	const gs_key_stats *stats = column_stats + half;
	gs_type type = column->spec.type;
	u64 min = ~stats->not_min;
	u32 width = gs_width_of(type);

	if (width < 8)
		min &= gs_mask(8 * width);
	*f = {};
	f->kind = GS_DEV_VALUE;
	f->values = (const u8 *) column->values + (type == GS_U128 && half == 0 ? 8 : 0);
	f->nulls = column_stats->nulls != 0 ? column->nulls : NULL;
	f->width = type == GS_U128 ? 8 : width;
	f->stride = width;
	f->floats = gs_type_is_float(type);
	f->flip = type == GS_U128 ? (column->spec.desc ? ~0ull : 0) : gs_order_flip(&column->spec);
	return gs_field_range(f, stats, min);
}

/* Makes a field of one bit for NULLs whose code does not fit the value's field. */
GS_BOTH void
gs_null_field(gs_dev_field *f, const gs_column *column)
{
	*f = {};
	f->kind = GS_DEV_NULL;
	f->bits = 1;
	f->nulls = column->nulls;
	f->null_code = gs_null_code(column->spec.nulls_first, 0);
}

/* Makes the field of a column whose key has only one; without bits if all rows are equal.  Some row is not NULL. */
GS_BOTH bool
gs_one_field(gs_dev_field *f, const gs_column *column, const gs_key_stats *stats)
{
	u64 span = gs_value_field(f, column, stats, 0);

	if (column->spec.type == GS_U128)
		return false;
	if (stats->nulls == 0)
		return true;
	return gs_field_nulls(f, column, span);
}

/* Makes the fields of a fixed-width column: three at most, none if all its rows are equal. */
GS_BOTH u32
gs_column_fields(const gs_column *column, const gs_key_stats *stats, gs_dev_field *f)
{
	bool nulls = stats->nulls != 0;
	u32 n = 0;
	u64 span;

	if (!stats->valid)
		return 0;
	if (gs_one_field(&f[0], column, stats))
		return f[0].bits > 0;
	if (nulls)
		gs_null_field(&f[n++], column);
	span = gs_value_field(&f[n], column, stats, 0);
	n += span > 0;
	if (column->spec.type == GS_U128 && gs_value_field(&f[n], column, stats, 1) > 0)
		n++;
	return n;
}

/* Returns a field's bits, for choosing a sort: strings have many. */
GS_BOTH u32
gs_field_bits(const gs_dev_field *f)
{
	return f->kind == GS_DEV_BYTES ? 64 : f->bits;
}

/* Makes the fields of any column, three at most.  Strings have alphabets, in device memory. */
GS_BOTH u32
gs_fields_of(const gs_column *column, const gs_key_stats *stats, const gs_dev_alphabet *alphabets, gs_dev_field *f)
{
	bool nulls = stats->nulls != 0;
	u32 n = 0, prefix = ~stats->prefix;

	if (column->spec.type != GS_BYTES)
		return gs_column_fields(column, stats, f);
	if (!stats->valid)
		return 0;
	if (nulls)
		gs_null_field(&f[n++], column);
	if (stats->longest > prefix)
	{
		f[n] = {};
		f[n].kind = GS_DEV_BYTES;
		f[n].values = (const u8 *) column->values;
		f[n].heap = column->heap;
		f[n].nulls = nulls ? column->nulls : NULL;
		f[n].alphabets = alphabets;
		f[n].prefix = prefix;
		f[n].longest = stats->longest;
		f[n++].desc = column->spec.desc;
	}
	return n;
}

#endif
