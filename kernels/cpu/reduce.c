/*
 * reduce.c: reduce-by-key on the CPU.  Run starts are bitmaps of 64 keys; a loop for the type adds up between two.
 */
#include "select.h"

#include <string.h>

typedef __int128 wide;

/* The partial value of one run. */
typedef union accumulator
{
	wide i;
	double d;
	float f;
	uint64_t u;
	uint32_t w;
	struct
	{
		float s16, s256, s4096, all; /* fixed tree: the open sum of each level */
	} ft;
	struct
	{
		double s16, s256, s4096, all;
	} dt;
} accumulator;

typedef void (*adder)(accumulator *a, const void *values, uint64_t from, uint64_t upto);

#define SUM(NAME, T)                                                                                                   \
	static void NAME(accumulator *a, const void *values, uint64_t from, uint64_t upto)                                 \
	{                                                                                                                  \
		const T *v = values;                                                                                           \
		wide s = a->i;                                                                                                 \
		while (from < upto)                                                                                            \
		{                                                                                                              \
			/*
			 * 2^24 numbers of 32 bits fit 64 bits; wider ones are checked one by one
			 */                                      \
			if (sizeof(T) == 4)                                                                                        \
			{                                                                                                          \
				uint64_t stop = upto - from > 1 << 24 ? from + (1 << 24) : upto;                                       \
				int64_t part = 0;                                                                                      \
				for (; from < stop; from++)                                                                            \
					part += (int64_t) v[from];                                                                         \
				s += part;                                                                                             \
			}                                                                                                          \
			else                                                                                                       \
				s += v[from++];                                                                                        \
		}                                                                                                              \
		a->i = s;                                                                                                      \
	}
SUM(sum_i32, int32_t)
SUM(sum_u32, uint32_t)
SUM(sum_i64, int64_t)
SUM(sum_u64, uint64_t)

/* Wrapping sums, if overflows are not counted. */
#define WRAP(NAME, T, MEMBER)                                                                                          \
	static void NAME(accumulator *a, const void *values, uint64_t from, uint64_t upto)                                 \
	{                                                                                                                  \
		const T *v = values;                                                                                           \
		T s = a->MEMBER;                                                                                               \
		for (; from < upto; from++)                                                                                    \
			s += v[from];                                                                                              \
		a->MEMBER = s;                                                                                                 \
	}
WRAP(wrap_32, uint32_t, w)
WRAP(wrap_64, uint64_t, u)
WRAP(sum_f32, float, f)
WRAP(sum_f64, double, d)

/* The minimum after a mapping to unsigned numbers; complemented, the maximum. */
#define LEAST(NAME, T, MEMBER, MAP)                                                                                    \
	static void NAME(accumulator *a, const void *values, uint64_t from, uint64_t upto)                                 \
	{                                                                                                                  \
		const T *v = values;                                                                                           \
		T s = a->MEMBER;                                                                                               \
		for (; from < upto; from++)                                                                                    \
		{                                                                                                              \
			T x = MAP;                                                                                                 \
			s = x < s ? x : s;                                                                                         \
		}                                                                                                              \
		a->MEMBER = s;                                                                                                 \
	}
#define SIGN32 0x80000000u
#define SIGN64 0x8000000000000000ull
LEAST(min_i32, uint32_t, w, v[from] ^ SIGN32)
LEAST(max_i32, uint32_t, w, ~(v[from] ^ SIGN32))
LEAST(min_u32, uint32_t, w, v[from])
LEAST(max_u32, uint32_t, w, ~v[from])
LEAST(min_f32, uint32_t, w, gs_float_order32(v[from], false))
LEAST(max_f32, uint32_t, w, ~gs_float_order32(v[from], false))
LEAST(min_i64, uint64_t, u, v[from] ^ SIGN64)
LEAST(max_i64, uint64_t, u, ~(v[from] ^ SIGN64))
LEAST(min_u64, uint64_t, u, v[from])
LEAST(max_u64, uint64_t, u, ~v[from])
LEAST(min_f64, uint64_t, u, gs_float_order64(v[from], false))
LEAST(max_f64, uint64_t, u, ~gs_float_order64(v[from], false))

/* The fixed tree: the sum of a level is closed when its group ends, and opened as -0, the identity of addition. */
#define TREE(NAME, T, M)                                                                                               \
	static void NAME(accumulator *a, const void *values, uint64_t from, uint64_t upto)                                 \
	{                                                                                                                  \
		const T *v = values;                                                                                           \
		while (from < upto)                                                                                            \
		{                                                                                                              \
			uint64_t stop = (from | 15) + 1;                                                                           \
			T s = a->M.s16;                                                                                            \
			if (stop > upto)                                                                                           \
				stop = upto;                                                                                           \
			for (; from < stop; from++)                                                                                \
				s += v[from];                                                                                          \
			a->M.s16 = s;                                                                                              \
			if (from % 16 == 0)                                                                                        \
				a->M.s256 += s, a->M.s16 = (T) -0.0;                                                                   \
			if (from % 256 == 0)                                                                                       \
				a->M.s4096 += a->M.s256, a->M.s256 = (T) -0.0;                                                         \
			if (from % 4096 == 0)                                                                                      \
				a->M.all += a->M.s4096, a->M.s4096 = (T) -0.0;                                                         \
		}                                                                                                              \
	}
TREE(tree_f32, float, ft)
TREE(tree_f64, double, dt)

/* Returns the loop of a reduction.  checked: sums must be exact. */
static adder
adder_of(const gs_reduction *d, bool checked)
{
	static const adder sums[] = {[GS_U32] = sum_u32, [GS_U64] = sum_u64, [GS_I32] = sum_i32,
								 [GS_I64] = sum_i64, [GS_F32] = sum_f32, [GS_F64] = sum_f64};
	static const adder mins[] = {[GS_U32] = min_u32, [GS_U64] = min_u64, [GS_I32] = min_i32,
								 [GS_I64] = min_i64, [GS_F32] = min_f32, [GS_F64] = min_f64};
	static const adder maxs[] = {[GS_U32] = max_u32, [GS_U64] = max_u64, [GS_I32] = max_i32,
								 [GS_I64] = max_i64, [GS_F32] = max_f32, [GS_F64] = max_f64};

	if (d->op != GS_SUM)
		return d->op == GS_MIN ? mins[d->values] : maxs[d->values];
	if (d->fixed_tree)
		return d->values == GS_F32 ? tree_f32 : tree_f64;
	if (!checked && d->result == d->values && !gs_type_is_float(d->values))
		return gs_type_width(d->values) == 4 ? wrap_32 : wrap_64;
	return sums[d->values];
}

/* Starts a run with the identity element: -0 for float sums, all ones for minima. */
static void
open_run(accumulator *a, const gs_reduction *d)
{
	memset(a, 0, sizeof(*a));
	if (d->op != GS_SUM)
		a->u = ~(uint64_t) 0;
	else if (d->fixed_tree && d->values == GS_F32)
		a->ft.s16 = a->ft.s256 = a->ft.s4096 = a->ft.all = -0.0f;
	else if (d->fixed_tree)
		a->dt.s16 = a->dt.s256 = a->dt.s4096 = a->dt.all = -0.0;
	else if (d->values == GS_F32)
		a->f = -0.0f;
	else if (d->values == GS_F64)
		a->d = -0.0;
}

/* Stores a run's result.  Returns 1 if it does not fit. */
static int
close_run(accumulator *a, const gs_reduction *d, bool checked, void *out, uint64_t i)
{
	bool is_signed = gs_type_is_signed(d->values), floats = gs_type_is_float(d->values);

	if (d->op != GS_SUM)
	{
		bool greatest = d->op == GS_MAX;

		if (gs_type_width(d->values) == 4)
		{
			uint32_t x = greatest ? ~a->w : a->w;

			((uint32_t *) out)[i] = floats ? x ^ (x >> 31 ? SIGN32 : ~0u) : x ^ (is_signed ? SIGN32 : 0);
		}
		else
		{
			uint64_t x = greatest ? ~a->u : a->u;

			((uint64_t *) out)[i] = floats ? x ^ (x >> 63 ? SIGN64 : ~0ull) : x ^ (is_signed ? SIGN64 : 0);
		}
		return 0;
	}
	if (floats)
	{
		if (d->values == GS_F32)
			((float *) out)[i] = d->fixed_tree ? a->ft.all + (a->ft.s4096 + (a->ft.s256 + a->ft.s16)) : a->f;
		else
			((double *) out)[i] = d->fixed_tree ? a->dt.all + (a->dt.s4096 + (a->dt.s256 + a->dt.s16)) : a->d;
		return 0;
	}
	if (!checked && d->result == d->values)
	{
		if (gs_type_width(d->values) == 4)
			((uint32_t *) out)[i] = a->w;
		else
			((uint64_t *) out)[i] = a->u;
		return 0;
	}
	switch (d->result)
	{
		case GS_I32:
			((int32_t *) out)[i] = (int32_t) a->i;
			return a->i != (int32_t) a->i;
		case GS_U32:
			((uint32_t *) out)[i] = (uint32_t) a->i;
			return a->i != (uint32_t) a->i;
		case GS_I64:
			((int64_t *) out)[i] = (int64_t) a->i;
			return a->i != (int64_t) a->i;
		case GS_U64:
			((uint64_t *) out)[i] = (uint64_t) a->i;
			return a->i != (wide) (uint64_t) a->i;
		default:
			memcpy((char *) out + 16 * i, &a->i, 16);
			return 0;
	}
}

/*
 * Keys and sums of native types.  A vectorized loop sums the values between two rare starts.  Where starts are
 * frequent, unsigned sums are differences of running sums (DENSE), which avoids unpredictable branches.
 */
#define PLAIN(NAME, K, V, A, DENSE, NOTHING, STEP)                                                                     \
	static gs_status NAME(gs_cpu_engine *cpu, const gs_reduce_request *r)                                              \
	{                                                                                                                  \
		const gs_select_loops *loops = gs_select_loops_choose(cpu);                                                    \
		const K *keys = r->keys;                                                                                       \
		const V *values = r->values;                                                                                   \
		K *out_keys = r->out_keys;                                                                                     \
		A *out = r->out, a = NOTHING;                                                                                  \
		uint64_t runs = 0;                                                                                             \
		uint32_t places[64 + 16];                                                                                      \
		char left[16] = {0};                                                                                           \
		for (uint64_t i = 0; i < r->n; i += 64)                                                                        \
		{                                                                                                              \
			uint32_t n = r->n - i < 64 ? (uint32_t) (r->n - i) : 64, at = 0;                                           \
			uint64_t m = gs_run_begins(loops, r->key, keys + i, n, i == 0, left);                                      \
			if (m == 0 && n == 64)                                                                                     \
				for (uint32_t j = 0; j < 64; j++)                                                                      \
				{                                                                                                      \
					const A x = (A) values[i + j];                                                                     \
					a = STEP;                                                                                          \
				}                                                                                                      \
			else if (m == ~(uint64_t) 0)                                                                               \
			{                                                                                                          \
				if (runs > 0)                                                                                          \
					out[runs - 1] = a;                                                                                 \
				memmove(out_keys + runs, keys + i, 64 * sizeof(K));                                                    \
				if (sizeof(A) == sizeof(V))                                                                            \
					memmove(out + runs, values + i, 64 * sizeof(A));                                                   \
				else                                                                                                   \
					for (uint32_t j = 0; j < 64; j++)                                                                  \
						out[runs + j] = (A) values[i + j];                                                             \
				runs += 64;                                                                                            \
				a = out[runs - 1];                                                                                     \
			}                                                                                                          \
			else if (DENSE && __builtin_popcountll(m) > 4)                                                             \
			{                                                                                                          \
				A sums[65];                                                                                            \
				uint32_t begun, from;                                                                                  \
				sums[0] = a;                                                                                           \
				for (uint32_t j = 0; j < n; j++)                                                                       \
					sums[j + 1] = (A) (sums[j] + (A) values[i + j]);                                                   \
				begun = (uint32_t) loops->positions(places, 0, m);                                                     \
				if (runs > 0)                                                                                          \
					out[runs - 1] = sums[places[0]];                                                                   \
				for (uint32_t j = 1; j < begun; j++)                                                                   \
					out[runs + j - 1] = (A) (sums[places[j]] - sums[places[j - 1]]);                                   \
				for (uint32_t j = 0; j < begun; j++)                                                                   \
					out_keys[runs + j] = keys[i + places[j]];                                                          \
				runs += begun;                                                                                         \
				from = places[begun - 1];                                                                              \
				a = (A) (sums[n] - sums[from]);                                                                        \
			}                                                                                                          \
			else                                                                                                       \
				for (;; m &= m - 1)                                                                                    \
				{                                                                                                      \
					const uint32_t upto = m ? (uint32_t) __builtin_ctzll(m) : n;                                       \
					for (; at < upto; at++)                                                                            \
					{                                                                                                  \
						const A x = (A) values[i + at];                                                                \
						a = STEP;                                                                                      \
					}                                                                                                  \
					if (m == 0)                                                                                        \
						break;                                                                                         \
					if (runs > 0)                                                                                      \
						out[runs - 1] = a;                                                                             \
					out_keys[runs++] = keys[i + at];                                                                   \
					a = NOTHING;                                                                                       \
				}                                                                                                      \
			if (i % (1 << 16) == 0)                                                                                    \
				GS_TRY(gs_work_add(&cpu->work, 1 << 16));                                                              \
		}                                                                                                              \
		out[runs - 1] = a;                                                                                             \
		*r->count = runs;                                                                                              \
		return GS_OK;                                                                                                  \
	}
#define PLAIN_SET(K, P)                                                                                                \
	PLAIN(P##_wrap32, K, uint32_t, uint32_t, true, 0, a + x)                                                           \
	PLAIN(P##_wrap64, K, uint64_t, uint64_t, true, 0, a + x)                                                           \
	PLAIN(P##_i32_i64, K, int32_t, int64_t, false, 0, (int64_t) ((uint64_t) a + (uint64_t) x))                         \
	PLAIN(P##_u32_u64, K, uint32_t, uint64_t, true, 0, a + x)                                                          \
	PLAIN(P##_f32, K, float, float, false, -0.0f, a + x)                                                               \
	PLAIN(P##_f64, K, double, double, false, -0.0, a + x)                                                              \
	PLAIN(P##_min_i32, K, int32_t, int32_t, false, INT32_MAX, x < a ? x : a)                                           \
	PLAIN(P##_max_i32, K, int32_t, int32_t, false, INT32_MIN, x > a ? x : a)                                           \
	PLAIN(P##_min_i64, K, int64_t, int64_t, false, INT64_MAX, x < a ? x : a)                                           \
	PLAIN(P##_max_i64, K, int64_t, int64_t, false, INT64_MIN, x > a ? x : a)                                           \
	static gs_status (*P##_loop(const gs_reduction *d))(gs_cpu_engine *, const gs_reduce_request *)                    \
	{                                                                                                                  \
		const bool wider = gs_type_width(d->result) > gs_type_width(d->values);                                        \
		switch (d->values)                                                                                             \
		{                                                                                                              \
			case GS_I32:                                                                                               \
				if (d->op == GS_SUM)                                                                                   \
					return wider ? P##_i32_i64 : P##_wrap32;                                                           \
				return d->op == GS_MIN ? P##_min_i32 : P##_max_i32;                                                    \
			case GS_I64:                                                                                               \
				if (d->op == GS_SUM)                                                                                   \
					return wider ? NULL : P##_wrap64;                                                                  \
				return d->op == GS_MIN ? P##_min_i64 : P##_max_i64;                                                    \
			case GS_U32:                                                                                               \
				return d->op == GS_SUM ? (wider ? P##_u32_u64 : P##_wrap32) : NULL;                                    \
			case GS_U64:                                                                                               \
				return d->op == GS_SUM && !wider ? P##_wrap64 : NULL;                                                  \
			case GS_F32:                                                                                               \
				return d->op == GS_SUM && !d->fixed_tree ? P##_f32 : NULL;                                             \
			default:                                                                                                   \
				return d->op == GS_SUM && !d->fixed_tree ? P##_f64 : NULL;                                             \
		}                                                                                                              \
	}
PLAIN_SET(uint32_t, k4)
PLAIN_SET(uint64_t, k8)

/* Implements gs_reduce_by_key.  Works in place because a result is written only after its run has been read. */
gs_status
gs_cpu_reduce(gs_engine *engine, const gs_reduce_request *r, void *temp)
{
	gs_cpu_engine *cpu = (gs_cpu_engine *) engine;
	const gs_select_loops *loops = gs_select_loops_choose(cpu);
	const gs_reduction *d = &r->reduction;
	size_t width = gs_type_width(r->key);
	bool checked = r->overflows != NULL;
	adder add = adder_of(d, checked);
	char left[16] = {0};
	uint64_t runs = 0, overflows = 0;
	accumulator a;

	(void) temp;
	if (!checked && !gs_type_is_float(r->key) && width < 16)
	{
		gs_status (*loop)(gs_cpu_engine *, const gs_reduce_request *) = width == 4 ? k4_loop(d) : k8_loop(d);

		if (loop != NULL)
			return loop(cpu, r);
	}
	open_run(&a, d);
	for (uint64_t i = 0; i < r->n; i += 64)
	{
		uint32_t n = r->n - i < 64 ? (uint32_t) (r->n - i) : 64;
		const char *from = (const char *) r->keys + i * width;
		uint64_t m = gs_run_begins(loops, r->key, from, n, i == 0, left), at = i;

		for (; m != 0; m &= m - 1)
		{
			uint32_t j = (uint32_t) __builtin_ctzll(m);

			add(&a, r->values, at, i + j);
			if (runs > 0)
			{
				overflows += (uint64_t) close_run(&a, d, checked, r->out, runs - 1);
				open_run(&a, d);
			}
			memmove((char *) r->out_keys + runs++ * width, from + j * width, width);
			at = i + j;
		}
		add(&a, r->values, at, i + n);
		if (i % (1 << 16) == 0)
			GS_TRY(gs_work_add(&cpu->work, 1 << 16));
	}
	overflows += (uint64_t) close_run(&a, d, checked, r->out, runs - 1);
	*r->count = runs;
	if (checked)
		*r->overflows = overflows;
	return GS_OK;
}
