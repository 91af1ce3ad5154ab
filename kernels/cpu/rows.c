/*
 * rows.c: rows of columns on the CPU: run heads, comparisons, values in an order, sums in a fixed order, by groups of
 * 64 rows, which are first gathered into a small array if there is an order.
 */
#include "select.h"

#include <math.h>
#include <string.h>

#define AHEAD 64 /* prefetch distance for strings, in rows */

/* Returns the row at a position.  Without an order, rows are at their own positions. */
static inline uint32_t
row_at(const uint32_t *order, uint64_t i)
{
	return order != NULL ? order[i] : (uint32_t) i;
}

/* Returns the null bits of up to 64 positions. */
static uint64_t
nulls_of(const uint64_t *nulls, const uint32_t *order, uint64_t i, uint32_t n)
{
	uint64_t m = 0;

	if (nulls == NULL)
		return 0;
	if (order == NULL)
		return nulls[i / 64] & gs_mask(n);
	for (uint32_t j = 0; j < n; j++)
		m |= (nulls[order[i + j] / 64] >> (order[i + j] % 64) & 1) << j;
	return m;
}

/* Gathers the values of up to 64 positions. */
static void
gather64(size_t width, const void *values, const uint32_t *order, uint32_t n, void *to)
{
#define GATHER64(T)                                                                                                    \
	for (uint32_t j = 0; j < n; j++)                                                                                   \
		((T *) to)[j] = ((const T *) values)[order[j]]
	GS_BY_WIDTH(width, GATHER64)
#undef GATHER64
}

/* ---------------------------------------------------------------- heads */

/* Returns a row's string. */
static inline const uint8_t *
string_at(const gs_source *source, uint64_t row, uint64_t *length)
{
	uint64_t from, upto;

	if (source->wide)
		from = ((const uint64_t *) source->values)[row], upto = ((const uint64_t *) source->values)[row + 1];
	else
		from = ((const uint32_t *) source->values)[row], upto = ((const uint32_t *) source->values)[row + 1];
	*length = upto - from;
	return source->heap + from;
}

/* Prefetches a string. */
static inline void
prefetch_string(const gs_source *source, uint64_t row)
{
	uint64_t length;

	__builtin_prefetch(string_at(source, row, &length));
}

/* Bit j: the string at position i + j differs from its predecessor.  Ignores NULLs. */
static uint64_t
strings_differ(const gs_source *source, const uint32_t *order, uint64_t i, uint32_t n, uint64_t rows)
{
	uint64_t before_length = 0, m = 0;
	const uint8_t *before = i > 0 ? string_at(source, row_at(order, i - 1), &before_length) : NULL;

	for (uint32_t j = 0; j < n; j++)
	{
		uint64_t length;
		const uint8_t *s = string_at(source, row_at(order, i + j), &length);

		if (order != NULL && i + j + AHEAD < rows)
			prefetch_string(source, order[i + j + AHEAD]);
		m |= (uint64_t) (before == NULL || length != before_length || memcmp(s, before, length) != 0) << j;
		before = s;
		before_length = length;
	}
	return m;
}

/* Bit j: the value at position i + j differs from its predecessor.  Ignores NULLs. */
static uint64_t
values_differ(const gs_select_loops *loops, const gs_source *source, const uint32_t *order, uint64_t i, uint32_t n)
{
	size_t width = gs_type_width(source->type);
	char buffer[65 * 16] __attribute__((aligned(64))), left[16] = {0};
	const char *from = (const char *) source->values + i * width;

	if (i > 0)
		memcpy(left, (const char *) source->values + row_at(order, i - 1) * width, width);
	if (order != NULL)
	{
		/* after one item, since the loops read the predecessor of the group */
		from = memcpy(buffer + 16 - width, left, width);
		from += width;
		gather64(width, source->values, order + i, n, buffer + 16);
	}
	return gs_run_begins(loops, source->type, from, n, i == 0, left);
}

/* Marks the heads of one column, skipping groups of heads.  NULLs are equal, whatever their values. */
static gs_status
cpu_heads(gs_engine *engine, const gs_source *source, const uint32_t *order, uint64_t n, bool first, uint64_t *bits)
{
	gs_cpu_engine *cpu = (gs_cpu_engine *) engine;
	const gs_select_loops *loops = gs_select_loops_choose(cpu);

	for (uint64_t i = 0; i < n; i += 64)
	{
		uint32_t some = n - i < 64 ? (uint32_t) (n - i) : 64;
		uint64_t known = first ? i == 0 : bits[i / 64], m = 0;

		if (known != gs_mask(some))
		{
			m = source->type == GS_BYTES ? strings_differ(source, order, i, some, n)
										 : values_differ(loops, source, order, i, some);
			if (source->nulls != NULL)
			{
				uint64_t null = nulls_of(source->nulls, order, i, some);
				uint64_t before = null << 1 | (i > 0 && gs_is_null(source->nulls, row_at(order, i - 1)));

				m = (m & ~(null & before)) | (null ^ before);
			}
		}
		bits[i / 64] = (m & gs_mask(some)) | known;
		if (i % (1 << 14) == 0)
			GS_TRY(gs_work_add(&cpu->work, (order != NULL ? 8 : 1) << 14));
	}
	return GS_OK;
}

/* ---------------------------------------------------------------- compare */

/* Bit j: the string of row i + j satisfies the comparison. */
static uint64_t
compare_strings(const gs_source *source, uint64_t i, uint32_t n, const gs_comparand *constant)
{
	uint64_t m = 0;

	for (uint32_t j = 0; j < n; j++)
	{
		uint64_t length;
		const uint8_t *s = string_at(source, i + j, &length);
		uint64_t common = length < constant->length ? length : constant->length;
		int sign = common > 0 ? memcmp(s, constant->bytes, common) : 0;

		if (sign == 0)
			sign = length < constant->length ? -1 : length > constant->length;
		m |= (uint64_t) gs_holds(constant->comparison, sign) << j;
	}
	return m;
}

/* Bit j: the 16-byte value of row i + j, in two halves, lies in the interval. */
static uint64_t
compare_halves(const gs_source *source, uint64_t i, uint32_t n, const gs_interval *in)
{
	const uint64_t *high = source->values, *low = source->low;
	unsigned __int128 from = (unsigned __int128) in->low[1] << 64 | in->low[0];
	unsigned __int128 upto = (unsigned __int128) in->high[1] << 64 | in->high[0];
	uint64_t m = 0;

	for (uint32_t j = 0; j < n; j++)
	{
		unsigned __int128 x = (unsigned __int128) high[i + j] << 64 | low[i + j];

		m |= (uint64_t) (x >= from && x <= upto) << j;
	}
	return m;
}

/* Implements gs_compare, 64 rows at a time.  NULL satisfies no comparison. */
static gs_status
cpu_compare(gs_engine *engine, const gs_source *source, uint64_t n, const gs_comparand *constant, uint64_t *bits)
{
	gs_cpu_engine *cpu = (gs_cpu_engine *) engine;
	const gs_select_loops *loops = gs_select_loops_choose(cpu);
	size_t width = gs_type_width(source->type);
	gs_select_rule rule = gs_rule_of(source->type, &constant->interval);
	uint64_t negate = width > 0 && constant->interval.outside ? ~(uint64_t) 0 : 0;

	for (uint64_t i = 0; i < n; i += 64)
	{
		uint32_t some = n - i < 64 ? (uint32_t) (n - i) : 64;
		uint64_t m;

		if (width == 0)
			m = compare_strings(source, i, some, constant);
		else if (source->low != NULL)
			m = compare_halves(source, i, some, &constant->interval);
		else
			m = gs_in_range(loops, source->type, &constant->interval, &rule, (const char *) source->values + i * width,
							some);
		m = (m ^ negate) & gs_mask(some);
		if (source->nulls != NULL)
			m &= ~source->nulls[i / 64];
		bits[i / 64] = m;
		if (i % (1 << 15) == 0)
			GS_TRY(gs_work_add(&cpu->work, 1 << 15));
	}
	return GS_OK;
}

/* Implements gs_positions, 64 bits at a time. */
static gs_status
cpu_positions(gs_engine *engine, const uint64_t *bits, uint64_t n, uint32_t *out, uint64_t *count, void *temp)
{
	gs_cpu_engine *cpu = (gs_cpu_engine *) engine;
	const gs_select_loops *loops = gs_select_loops_choose(cpu);
	uint32_t some[64 + 16];
	uint64_t found = 0;

	(void) temp;
	for (uint64_t i = 0; i < n; i += 64)
	{
		uint64_t m = bits[i / 64];

		/* the loop writes up to 16 positions past the end */
		if (found + 80 <= i)
			found += loops->positions(out + found, (uint32_t) i, m);
		else
		{
			uint64_t got = loops->positions(some, (uint32_t) i, m);

			memcpy(out + found, some, got * sizeof(*out));
			found += got;
		}
		if (i % (1 << 16) == 0)
			GS_TRY(gs_work_add(&cpu->work, 1 << 16));
	}
	*count = found;
	return GS_OK;
}

/* ---------------------------------------------------------------- values */

/* Loops that read values at positions.  They ignore NULLs. */
typedef void (*reader)(const void *values, const uint32_t *order, uint64_t from, uint64_t upto, void *out);

#define READER(NAME, FROM, TO)                                                                                         \
	static void NAME(const void *values, const uint32_t *order, uint64_t from, uint64_t upto, void *out)              \
	{                                                                                                                  \
		const FROM *v = values;                                                                                        \
		TO *to = out;                                                                                                  \
		if (order != NULL)                                                                                             \
			for (uint64_t i = from; i < upto; i++)                                                                     \
				to[i] = (TO) v[order[i]];                                                                              \
		else                                                                                                           \
			for (uint64_t i = from; i < upto; i++)                                                                     \
				to[i] = (TO) v[i];                                                                                     \
	}
READER(read_u8, uint8_t, uint8_t)
READER(read_u16, uint16_t, uint16_t)
READER(read_u32, uint32_t, uint32_t)
READER(read_u64, uint64_t, uint64_t)
READER(read_u128, unsigned __int128, unsigned __int128)
READER(widen_u8, uint8_t, uint64_t)
READER(widen_u16, uint16_t, uint64_t)
READER(widen_u32, uint32_t, uint64_t)
READER(widen_i16, int16_t, int64_t)
READER(widen_i32, int32_t, int64_t)

/* Returns the loop that copies values, or widens integers to 64 bits. */
static reader
reader_of(gs_type type, gs_type result)
{
	static const reader read[] = {read_u8, read_u16, read_u32, read_u64, read_u128};
	static const reader widen[] = {[GS_U8] = widen_u8, [GS_U16] = widen_u16, [GS_U32] = widen_u32, [GS_I16] = widen_i16,
								   [GS_I32] = widen_i32};

	return type != result ? widen[type] : read[gs_log_width(type)];
}

/* Replaces the values of NULLs among up to 64 positions. */
static void
put_null(void *out, size_t width, uint64_t i, uint64_t m, const void *null_value)
{
	for (; m != 0; m &= m - 1)
		memcpy((char *) out + (i + (uint64_t) __builtin_ctzll(m)) * width, null_value, width);
}

/* Implements gs_values block by block.  Replaces NULLs while a block is in the cache. */
static gs_status
cpu_values(gs_engine *engine, const gs_source *source, const uint32_t *order, uint64_t n, gs_type result,
		   const void *null_value, void *out)
{
	gs_cpu_engine *cpu = (gs_cpu_engine *) engine;
	reader read = reader_of(source->type, result);
	size_t width = gs_type_width(result);

	for (uint64_t i = 0; i < n; i += GS_BLOCK_ROWS)
	{
		uint64_t upto = n - i < GS_BLOCK_ROWS ? n : i + GS_BLOCK_ROWS;

		if (source->values != NULL)
			read(source->values, order, i, upto, out);
		else
			memset((char *) out + i * width, 0, (upto - i) * width);
		for (uint64_t j = i; source->nulls != NULL && j < upto; j += 64)
		{
			uint64_t m = nulls_of(source->nulls, order, j, upto - j < 64 ? (uint32_t) (upto - j) : 64);

			if (m != 0)
				put_null(out, width, j, m, null_value);
		}
		GS_TRY(gs_work_add(&cpu->work, (order != NULL ? 8 : 1) * GS_BLOCK_ROWS));
	}
	return GS_OK;
}

/* ---------------------------------------------------------------- sums */

/* Returns 0: one thread adds from left to right without temporary memory. */
static size_t
cpu_fixed_temp_bytes(gs_type type, uint64_t n)
{
	(void) type;
	(void) n;
	return 0;
}

/* The open sums of each level (gs.h), from -0 on, the identity.  A sum moves up when its group ends. */
#define FIXED(NAME, T, QUIET)                                                                                          \
	static gs_status NAME(gs_cpu_engine *cpu, bool inclusive, const T *in, T *out, uint64_t n)                         \
	{                                                                                                                  \
		T all = 0, s4096 = (T) -0.0, s256 = (T) -0.0;                                                                  \
		for (uint64_t i = 0; i < n; i += 16)                                                                           \
		{                                                                                                              \
			uint32_t some = n - i < 16 ? (uint32_t) (n - i) : 16;                                                      \
			const T before = all + s4096 + s256;                                                                       \
			T s = (T) -0.0;                                                                                            \
			for (uint32_t j = 0; j < some; j++)                                                                        \
			{                                                                                                          \
				const T upto = s + in[i + j];                                                                          \
				const T x = before + (inclusive ? upto : s);                                                           \
				s = upto;                                                                                              \
				out[i + j] = isnan(x) ? QUIET : x;                                                                     \
			}                                                                                                          \
			s256 += s;                                                                                                 \
			if (i % 256 == 240)                                                                                        \
				s4096 += s256, s256 = (T) -0.0;                                                                        \
			if (i % 4096 == 4080)                                                                                      \
			{                                                                                                          \
				all += s4096, s4096 = (T) -0.0;                                                                        \
				GS_TRY(gs_work_add(&cpu->work, 4096));                                                                 \
			}                                                                                                          \
		}                                                                                                              \
		return GS_OK;                                                                                                  \
	}
FIXED(fixed_f32, float, __builtin_nanf(""))
FIXED(fixed_f64, double, __builtin_nan(""))

/* Implements gs_scan_fixed, in the order of the fixed tree. */
static gs_status
cpu_scan_fixed(gs_engine *engine, gs_type type, bool inclusive, const void *in, void *out, uint64_t n, void *temp)
{
	gs_cpu_engine *cpu = (gs_cpu_engine *) engine;

	(void) temp;
	return type == GS_F32 ? fixed_f32(cpu, inclusive, in, out, n) : fixed_f64(cpu, inclusive, in, out, n);
}

/* Finds overflows: subtracting the last addend from a sum must give its predecessor without leaving the range. */
static gs_status
cpu_overflows(gs_engine *engine, gs_type type, bool inclusive, const void *in, const void *sums, uint64_t n,
			  uint64_t *count)
{
	gs_cpu_engine *cpu = (gs_cpu_engine *) engine;
	const uint64_t *x = in, *s = sums;
	uint64_t wrong = 0;
	const bool is_signed = type == GS_I64;

	if (!inclusive)
		n--, s++;
	for (uint64_t i = 0; i < n; i += GS_BLOCK_ROWS)
	{
		uint64_t upto = n - i < GS_BLOCK_ROWS ? n : i + GS_BLOCK_ROWS;

		for (uint64_t j = i; j < upto; j++)
		{
			uint64_t before = s[j] - x[j];

			wrong |= is_signed ? ((before ^ s[j]) & (x[j] ^ s[j])) >> 63 : s[j] < x[j];
		}
		GS_TRY(gs_work_add(&cpu->work, GS_BLOCK_ROWS));
	}
	*count = wrong;
	return GS_OK;
}

const struct gs_row_ops gs_cpu_row_ops = {
	.heads = cpu_heads,
	.compare = cpu_compare,
	.positions = cpu_positions,
	.values = cpu_values,
	.fixed_temp_bytes = cpu_fixed_temp_bytes,
	.scan_fixed = cpu_scan_fixed,
	.overflows = cpu_overflows,
	.check_temp_bytes = gs_cpu_check_temp_bytes,
	.check = gs_cpu_check,
	.reduce_rows_temp_bytes = gs_cpu_reduce_rows_temp_bytes,
	.reduce_rows = gs_cpu_reduce_rows,
};
