/*
 * scan.c: the rest of the scan family on the CPU: scans, split, gather, sequence, extent; and the table of the family.
 */
#include "select.h"

#include <string.h>

#define CHUNK ((uint64_t) 1 << 16) /* items between polls */

/* Calls STEP(from, upto) for all items, polling in between. */
#define IN_CHUNKS(n, ...)                                                                                              \
	for (uint64_t from = 0, upto; from < (n); from = upto)                                                             \
	{                                                                                                                  \
		upto = (n) - from < CHUNK ? (n) : from + CHUNK;                                                                \
		__VA_ARGS__;                                                                                                   \
		GS_TRY(gs_work_add(&cpu->work, upto - from));                                                                  \
	}

/* Returns 0: the family needs no temporary memory. */
static size_t
cpu_temp_bytes(const gs_engine *engine, gs_primitive primitive, size_t bytes, uint64_t n, uint64_t extra)
{
	(void) engine, (void) primitive, (void) bytes, (void) n, (void) extra;
	return 0;
}

/* ---------------------------------------------------------------- scan */

#define SCAN(T, START, NEXT)                                                                                           \
	do                                                                                                                 \
	{                                                                                                                  \
		const T *x = in;                                                                                               \
		T *y = out, a = (START);                                                                                       \
		if (inclusive)                                                                                                 \
		{                                                                                                              \
			IN_CHUNKS(n, _Pragma("GCC unroll 8") for (uint64_t i = from; i < upto; i++) {                              \
				T b = x[i];                                                                                            \
				a = (NEXT);                                                                                            \
				y[i] = a;                                                                                              \
			})                                                                                                         \
		}                                                                                                              \
		else                                                                                                           \
		{                                                                                                              \
			IN_CHUNKS(n, for (uint64_t i = from; i < upto; i++) {                                                      \
				T b = x[i];                                                                                            \
				y[i] = a;                                                                                              \
				a = (NEXT);                                                                                            \
			})                                                                                                         \
		}                                                                                                              \
		return GS_OK;                                                                                                  \
	} while (0)

#define SCAN_INTEGER(T, LEAST, GREATEST)                                                                               \
	if (op == GS_MIN)                                                                                                  \
		SCAN(T, GREATEST, b < a ? b : a);                                                                              \
	if (op == GS_MAX)                                                                                                  \
	SCAN(T, LEAST, b > a ? b : a)

/* Floats: minimum in PostgreSQL's order, -0 below +0.  A NaN result is the canonical quiet NaN. */
#define SCAN_FLOAT(T, U, ORDER, TO_BITS, NOTHING_LEAST, NOTHING_GREATEST)                                              \
	if (op == GS_SUM)                                                                                                  \
		SCAN(T, 0, a + b);                                                                                             \
	if (op == GS_MIN)                                                                                                  \
		SCAN(U, NOTHING_LEAST, ORDER(b, false) < ORDER(a, false) ? QUIET(U, b) : QUIET(U, a));                         \
	SCAN(U, NOTHING_GREATEST, ORDER(b, false) > ORDER(a, false) ? QUIET(U, b) : QUIET(U, a))
#define QUIET(U, x) (sizeof(U) == 4 ? (U) quiet32((uint32_t) (x)) : (U) quiet64(x))

/* Canonicalizes NaNs. */
static inline uint32_t
quiet32(uint32_t x)
{
	return (x & 0x7fffffffu) > 0x7f800000u ? 0x7fc00000u : x;
}

/* Canonicalizes NaNs of doubles. */
static inline uint64_t
quiet64(uint64_t x)
{
	return (x & 0x7fffffffffffffffull) > 0x7ff0000000000000ull ? 0x7ff8000000000000ull : x;
}

/* Implements gs_scan: one loop per type and operation, generated by the macros above. */
static gs_status
cpu_scan(gs_engine *engine, gs_type type, gs_operation op, bool inclusive, const void *in, void *out, uint64_t n,
		 void *temp)
{
	gs_cpu_engine *cpu = (gs_cpu_engine *) engine;

	(void) temp;
	if (op == GS_COMPOSE)
		SCAN(uint64_t, 1,
			 (uint64_t) ((uint32_t) b * (uint32_t) (a >> 32) + (uint32_t) (b >> 32)) << 32 |
				 (uint32_t) ((uint32_t) b * (uint32_t) a));
	switch (type)
	{
		case GS_I32:
		case GS_U32:
			if (op == GS_SUM)
				SCAN(uint32_t, 0, a + b);
			if (type == GS_U32)
			{
				SCAN_INTEGER(uint32_t, 0, UINT32_MAX);
			}
			SCAN_INTEGER(int32_t, INT32_MIN, INT32_MAX);
			break;
		case GS_I64:
		case GS_U64:
			if (op == GS_SUM)
				SCAN(uint64_t, 0, a + b);
			if (type == GS_U64)
			{
				SCAN_INTEGER(uint64_t, 0, UINT64_MAX);
			}
			SCAN_INTEGER(int64_t, INT64_MIN, INT64_MAX);
			break;
		case GS_F32:
			SCAN_FLOAT(float, uint32_t, gs_float_order32, , 0x7fc00000u, 0xff800000u);
		default:
			SCAN_FLOAT(double, uint64_t, gs_float_order64, , 0x7ff8000000000000ull, 0xfff0000000000000ull);
	}
	return GS_INVALID;
}

/* ---------------------------------------------------------------- split */

#define SPLIT(T)                                                                                                       \
	IN_CHUNKS(n, for (uint64_t i = from; i < upto; i++) if (labels[i] < k)                                             \
				 memcpy((T *) out + place[labels[i]]++, (const T *) in + i, sizeof(T)))

/* Implements gs_split: counts labels, then scatters the items stably. */
static gs_status
cpu_split(gs_engine *engine, gs_type type, const void *in, const uint8_t *labels, uint64_t n, uint32_t k, void *out,
		  uint64_t *starts, void *temp)
{
	gs_cpu_engine *cpu = (gs_cpu_engine *) engine;
	uint64_t counts[4][256] = {{0}}, place[256] = {0}, sum = 0; /* four sets: neighbours seldom share a counter */

	(void) temp;
	IN_CHUNKS(n, {
		uint64_t i = from;

		for (; i + 4 <= upto; i += 4)
			for (int j = 0; j < 4; j++)
				counts[j][labels[i + j]]++;
		for (; i < upto; i++)
			counts[0][labels[i]]++;
	})
	for (uint32_t g = 0; g < k; g++)
	{
		starts[g] = place[g] = sum;
		sum += counts[0][g] + counts[1][g] + counts[2][g] + counts[3][g];
	}
	starts[k] = sum;
	GS_BY_WIDTH(gs_type_width(type), SPLIT)
	return GS_OK;
}

/* ---------------------------------------------------------------- gather, sequence */

/* No prefetching: the processor overlaps these loads by itself. */
#define GATHER(T, I)                                                                                                   \
	{                                                                                                                  \
		const I *x = index;                                                                                            \
		IN_CHUNKS(n, for (uint64_t i = from; i < upto; i++) memcpy((T *) out + i, (const T *) in + x[i], sizeof(T)))   \
		return GS_OK;                                                                                                  \
	}
#define GATHER_BY(T)                                                                                                   \
	if (wide_index)                                                                                                    \
		GATHER(T, uint64_t)                                                                                            \
	GATHER(T, uint32_t)

/* Implements gs_gather. */
static gs_status
cpu_gather(gs_engine *engine, gs_type type, const void *in, bool wide_index, const void *index, uint64_t n, void *out)
{
	gs_cpu_engine *cpu = (gs_cpu_engine *) engine;

	GS_BY_WIDTH(gs_type_width(type), GATHER_BY)
	return GS_OK;
}

#define SEQUENCE(T)                                                                                                    \
	IN_CHUNKS(n, {                                                                                                     \
		T *to = out;                                                                                                   \
		T x = (T) (start + from * step);                                                                               \
		for (uint64_t i = from; i < upto; i++, x += (T) step)                                                          \
			to[i] = x;                                                                                                 \
	})

/* Implements gs_sequence. */
static gs_status
cpu_sequence(gs_engine *engine, gs_type type, void *out, uint64_t n, uint64_t start, uint64_t step)
{
	gs_cpu_engine *cpu = (gs_cpu_engine *) engine;

	GS_BY_WIDTH(gs_type_width(type), SEQUENCE)
	return GS_OK;
}

/* ---------------------------------------------------------------- extent */

/* Extremes in the order of unsigned numbers.  The loops are written for vectorization. */
typedef struct extent
{
	uint64_t min, max, all, any; /* min and max are mapped; AND and OR of the raw bits */
} extent;

#define EXTENT(NAME, T, MAP)                                                                                           \
	TARGET static void NAME(const void *in, uint64_t from, uint64_t upto, extent *e)                                   \
	{                                                                                                                  \
		const T *x = in;                                                                                               \
		T min = (T) e->min, max = (T) e->max, all = (T) e->all, any = (T) e->any;                                      \
		for (uint64_t i = from; i < upto; i++)                                                                         \
		{                                                                                                              \
			T b = x[i], m = (T) (MAP);                                                                                 \
			min = m < min ? m : min;                                                                                   \
			max = m > max ? m : max;                                                                                   \
			all &= b;                                                                                                  \
			any |= b;                                                                                                  \
		}                                                                                                              \
		*e = (extent){min, max, all, any};                                                                             \
	}
#define EXTENTS(P)                                                                                                     \
	EXTENT(P##_u8, uint8_t, b)                                                                                         \
	EXTENT(P##_u16, uint16_t, b)                                                                                       \
	EXTENT(P##_u32, uint32_t, b)                                                                                       \
	EXTENT(P##_u64, uint64_t, b)                                                                                       \
	EXTENT(P##_i16, uint16_t, b ^ 0x8000u)                                                                             \
	EXTENT(P##_i32, uint32_t, b ^ 0x80000000u)                                                                         \
	EXTENT(P##_i64, uint64_t, b ^ 0x8000000000000000ull)                                                               \
	EXTENT(P##_f32, uint32_t, gs_float_order32(b, false))                                                              \
	EXTENT(P##_f64, uint64_t, gs_float_order64(b, false))                                                              \
	static void (*const P##_extents[])(const void *, uint64_t, uint64_t, extent *) = {                                 \
		[GS_U8] = P##_u8,	[GS_U16] = P##_u16, [GS_U32] = P##_u32, [GS_U64] = P##_u64, [GS_I16] = P##_i16,            \
		[GS_I32] = P##_i32, [GS_I64] = P##_i64, [GS_F32] = P##_f32, [GS_F64] = P##_f64};

#define TARGET
EXTENTS(plain)
#undef TARGET
#if defined(__x86_64__)
/* gcc prefers vectors of half the width; clang has no such option */
#if defined(__clang__)
#define TARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl")))
#else
#define TARGET __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512")))
#endif
EXTENTS(avx512)
#undef TARGET
#define TARGET __attribute__((target("avx2")))
EXTENTS(avx2)
#undef TARGET
#endif

/* Implements gs_extent: vector loops find the extremes as order-preserving unsigned numbers, which are mapped back. */
static gs_status
cpu_extent(gs_engine *engine, gs_type type, const void *in, uint64_t n, void *out, void *temp)
{
	gs_cpu_engine *cpu = (gs_cpu_engine *) engine;
	void (*step)(const void *, uint64_t, uint64_t, extent *) = plain_extents[type];
	size_t width = gs_type_width(type);
	uint64_t mask = gs_mask(8 * (uint32_t) width), sign = (mask >> 1) + 1, min, max;
	extent e = {mask, 0, mask, 0};
	char *to = out;

	(void) temp;
#if defined(__x86_64__)
	gs_vectors vectors = gs_vectors_choose(cpu->tuning.vector);

	if (vectors == GS_AVX512)
		step = avx512_extents[type];
	else if (vectors == GS_AVX2)
		step = avx2_extents[type];
#endif
	IN_CHUNKS(n, step(in, from, upto, &e))
	min = e.min, max = e.max;
	if (gs_type_is_signed(type))
		min ^= sign, max ^= sign;
	else if (gs_type_is_float(type))
	{
		/* empty input: NaN and -infinity */
		if (n == 0)
			max =
				type == GS_F32 ? gs_float_order32(0xff800000u, false) : gs_float_order64(0xfff0000000000000ull, false);
		if (n == 0)
			min =
				type == GS_F32 ? gs_float_order32(0x7fc00000u, false) : gs_float_order64(0x7ff8000000000000ull, false);
		min ^= min & sign ? sign : mask;
		max ^= max & sign ? sign : mask;
	}
	memcpy(to, &min, width);
	memcpy(to + width, &max, width);
	memcpy(to + 2 * width, &e.any, width);
	memcpy(to + 3 * width, &e.all, width);
	return GS_OK;
}

const struct gs_scan_ops gs_cpu_scan_ops = {
	.temp_bytes = cpu_temp_bytes,
	.scan = cpu_scan,
	.select = gs_cpu_select,
	.split = cpu_split,
	.runs = gs_cpu_runs,
	.decode = gs_cpu_decode,
	.reduce = gs_cpu_reduce,
	.gather = cpu_gather,
	.sequence = cpu_sequence,
	.extent = cpu_extent,
};
