/*
 * select.c: select, partition and unique on the CPU, 64 items at a time: first a mask, then packing.
 */
#include "select.h"

#include <string.h>

#define TARGET
#define NAME(name) plain_##name
#include "select_loops.h"

#if defined(__x86_64__)
#include <immintrin.h>
#define AVX2
#define TARGET	   __attribute__((target("avx2,popcnt,bmi,bmi2")))
#define NAME(name) avx2_##name
#include "select_loops.h"

#define AVX512
#define TARGET	   __attribute__((target("avx512f,avx512bw,avx512dq,avx512vl,avx512vbmi2,popcnt,bmi,bmi2")))
#define NAME(name) avx512_##name
#include "select_loops.h"
#endif

/* Returns the loops for this processor.  AVX-512 is used only with byte compression (VBMI2), AVX2 only with BMI2. */
const gs_select_loops *
gs_select_loops_choose(const gs_cpu_engine *cpu)
{
#if defined(__x86_64__)
	gs_vectors best = gs_vectors_choose(cpu->tuning.vector);

	if (best == GS_AVX512 && __builtin_cpu_supports("avx512vbmi2"))
		return &avx512_select_loops;
	if (best >= GS_AVX2 && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2"))
		return &avx2_select_loops;
#else
	(void) cpu;
#endif
	return &plain_select_loops;
}

/* Maps an item of at most 64 bits to an unsigned number.  Equal items map to equal numbers. */
static uint64_t
canonical(gs_type type, const void *p)
{
	uint64_t x = 0;

	memcpy(&x, p, gs_type_width(type));
	return type == GS_F32 ? gs_float_order32((uint32_t) x, true) : (type == GS_F64 ? gs_float_order64(x, true) : x);
}

/* Computes the run starts of floats, 16-byte items and partial groups. */
static uint64_t
begins_slowly(gs_type type, const char *from, uint32_t n, const void *left)
{
	size_t width = gs_type_width(type);
	uint64_t m = 0;

	if (width == 16)
	{
		for (uint32_t i = 0; i < n; i++)
			m |= (uint64_t) (memcmp(from + 16 * i, i ? from + 16 * (i - 1) : left, 16) != 0) << i;
	}
	else
	{
		uint64_t last = canonical(type, left);

		for (uint32_t i = 0; i < n; i++)
		{
			uint64_t x = canonical(type, from + width * i);

			m |= (uint64_t) (x != last) << i;
			last = x;
		}
	}
	return m;
}

uint64_t
gs_run_begins(const gs_select_loops *loops, gs_type type, const void *from, uint32_t n, bool begin, void *left)
{
	size_t width = gs_type_width(type);
	uint64_t m;
	uint8_t l1;
	uint16_t l2;
	uint32_t l4;
	uint64_t l8;

	if (n < 64 || width == 16 || begin) /* the fast loops read the predecessor of the group */
		m = begins_slowly(type, from, n, left);
	else if (width == 1)
		memcpy(&l1, left, 1), m = loops->differ1(from, l1);
	else if (width == 2)
		memcpy(&l2, left, 2), m = loops->differ2(from, l2);
	else if (width == 4)
		memcpy(&l4, left, 4), m = loops->differ4(from, l4);
	else
		memcpy(&l8, left, 8), m = loops->differ8(from, l8);
	/* floats: differing bits are rare enough to compare again */
	if (gs_type_is_float(type) && n == 64 && m != 0)
		m = begins_slowly(type, from, n, left);
	memcpy(left, (const char *) from + (n - 1) * width, width);
	return begin ? m | 1 : m;
}

/* Compares items one by one: floats, 16-byte items, and the last group. */
static uint64_t
range_slowly(gs_type type, const gs_interval *in, const char *from, uint32_t n)
{
	size_t width = gs_type_width(type);
	uint64_t m = 0;

	for (uint32_t i = 0; i < n; i++)
	{
		bool kept;

		if (width == 16)
		{
			unsigned __int128 x, lo = (unsigned __int128) in->low[1] << 64 | in->low[0];
			unsigned __int128 hi = (unsigned __int128) in->high[1] << 64 | in->high[0];

			memcpy(&x, from + 16 * i, 16);
			kept = x >= lo && x <= hi;
		}
		else
		{
			uint64_t x = canonical(type, from + width * i);

			if (gs_type_is_signed(type))
				x ^= (uint64_t) 1 << (8 * width - 1);
			kept = x >= in->low[0] && x <= in->high[0];
		}
		m |= (uint64_t) kept << i;
	}
	return m;
}

/* Compares 64 floats.  First maps them to the order, which the compiler vectorizes where it can. */
static uint64_t
range_floats(const gs_select_loops *loops, gs_type type, const void *from, const gs_select_rule *rule)
{
	union
	{
		uint32_t x[64];
		uint64_t y[64];
	} order;

	if (type == GS_F32)
	{
		for (int i = 0; i < 64; i++)
		{
			uint32_t x;

			memcpy(&x, (const char *) from + 4 * i, 4);
			order.x[i] = gs_float_order32(x, true);
		}
		return loops->range[2](order.x, rule);
	}
	for (int i = 0; i < 64; i++)
	{
		uint64_t x;

		memcpy(&x, (const char *) from + 8 * i, 8);
		order.y[i] = gs_float_order64(x, true);
	}
	return loops->range[3](order.y, rule);
}

gs_select_rule
gs_rule_of(gs_type type, const gs_interval *in)
{
	return (gs_select_rule){in->low[0], in->high[0] - in->low[0],
							gs_type_is_signed(type) ? (uint64_t) 1 << (8 * gs_type_width(type) - 1) : 0};
}

uint64_t
gs_in_range(const gs_select_loops *loops, gs_type type, const gs_interval *in, const gs_select_rule *rule,
			const void *from, uint32_t n)
{
	if (n < 64 || gs_type_width(type) == 16)
		return range_slowly(type, in, from, n);
	if (gs_type_is_float(type))
		return range_floats(loops, type, from, rule);
	return loops->range[gs_log_width(type)](from, rule);
}

/* Returns the flags of up to 64 items, given as bits or bytes. */
static uint64_t
flags_of(const gs_select_loops *loops, const gs_filter *filter, uint64_t first, uint32_t n)
{
	const uint8_t *bytes = (const uint8_t *) filter->mask + first;
	uint8_t flags[64] = {0};

	if (filter->by == GS_BY_BITS)
		return ((const uint64_t *) filter->mask)[first / 64];
	if (n == 64)
		return loops->bytes(bytes);
	memcpy(flags, bytes, n);
	return loops->bytes(flags);
}

/* Packs the last group item by item: mask's to out, the others to rest, if wanted.  Returns the number kept. */
static uint64_t
keep_last(char *out, char *rest, const char *from, uint32_t n, size_t width, uint64_t mask)
{
	uint64_t kept = 0;

	for (uint32_t i = 0; i < n; i++)
		if (mask >> i & 1)
			memmove(out + kept++ * width, from + i * width, width);
		else if (rest != NULL)
		{
			memcpy(rest, from + i * width, width);
			rest += width;
		}
	return kept;
}

/* Implements all three calls.  A group is read before output, which never overtakes input, overwrites it. */
gs_status
gs_cpu_select(gs_engine *engine, const gs_select_request *r, void *temp)
{
	gs_cpu_engine *cpu = (gs_cpu_engine *) engine;
	const gs_select_loops *loops = gs_select_loops_choose(cpu);
	size_t width = gs_type_width(r->type);
	uint64_t (*pack)(void *, const void *, uint64_t) = loops->pack[gs_log_width(r->type)];
	const char *in = r->in;
	char *out = r->out, *rest = r->mode == GS_MODE_PARTITION ? r->rest : NULL;
	const bool unique = r->mode == GS_MODE_UNIQUE, by_value = unique || r->filter->by == GS_BY_VALUE;
	const gs_select_rule rule = gs_rule_of(r->type, &r->interval);
	uint64_t negate = !unique && by_value && r->interval.outside ? ~(uint64_t) 0 : 0;
	char left[16] = {0};
	uint64_t kept = 0;

	(void) temp;
	for (uint64_t i = 0; i < r->n; i += 64)
	{
		uint32_t n = r->n - i < 64 ? (uint32_t) (r->n - i) : 64;
		const char *from = in + i * width;
		uint64_t m;

		if (unique)
			m = gs_run_begins(loops, r->type, from, n, i == 0, left);
		else if (by_value)
			m = gs_in_range(loops, r->type, &r->interval, &rule, from, n) ^ negate;
		else
			m = flags_of(loops, r->filter, i, n);
		m &= gs_mask(n);
		if (n < 64)
			n = (uint32_t) keep_last(out, rest, from, n, width, m);
		else
		{
			if (rest != NULL)
				rest += pack(rest, from, ~m) * width;
			if (m == ~(uint64_t) 0)
				memmove(out, from, 64 * width); /* every item is kept */
			else
				n = (uint32_t) pack(out, from, m);
		}
		out += n * width;
		kept += n;
		if (i % (1 << 16) == 0)
			GS_TRY(gs_work_add(&cpu->work, 1 << 16));
	}
	*r->count = kept;
	return GS_OK;
}
