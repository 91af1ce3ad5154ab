/*
 * scan.c: scans of every type and operation against a loop; maps, whose composition does not commute.
 */
#include "scan_test.h"

static const gs_type types[] = {GS_I32, GS_U32, GS_I64, GS_U64, GS_F32, GS_F64};
static const char *const op_names[] = {"sum", "min", "max", "count", "compose"};

/* PostgreSQL's order of floats, NaN last. */
static bool
float_less(double a, double b)
{
	if (isnan(a))
		return false;
	return isnan(b) || a < b;
}

static void
reference(gs_type type, gs_operation op, bool inclusive, const void *in, void *out, uint64_t n)
{
#define LOOP(T, first, next)                                                                                           \
	do                                                                                                                 \
	{                                                                                                                  \
		const T *x = in;                                                                                               \
		T *y = out, a = (first);                                                                                       \
		for (uint64_t i = 0; i < n; i++)                                                                               \
		{                                                                                                              \
			T b = x[i], old = a;                                                                                       \
			a = (next);                                                                                                \
			y[i] = inclusive ? a : old;                                                                                \
		}                                                                                                              \
	} while (0)
#define INTEGER(T, U, LEAST, GREATEST)                                                                                 \
	if (op == GS_SUM)                                                                                                  \
		LOOP(T, 0, (T) ((U) a + (U) b));                                                                               \
	else if (op == GS_MIN)                                                                                             \
		LOOP(T, GREATEST, b < a ? b : a);                                                                              \
	else                                                                                                               \
		LOOP(T, LEAST, b > a ? b : a)
#define FLOAT(T)                                                                                                       \
	if (op == GS_SUM)                                                                                                  \
		LOOP(T, 0, a + b);                                                                                             \
	else if (op == GS_MIN)                                                                                             \
		LOOP(T, NAN, float_less(b, a) ? b : a);                                                                        \
	else                                                                                                               \
		LOOP(T, -INFINITY, float_less(a, b) ? b : a)

	if (op == GS_COMPOSE)
		LOOP(uint64_t, 1,
			 (uint64_t) ((uint32_t) b * (uint32_t) (a >> 32) + (uint32_t) (b >> 32)) << 32 |
				 (uint32_t) ((uint32_t) b * (uint32_t) a));
	else
		switch (type)
		{
			case GS_I32:
				INTEGER(int32_t, uint32_t, INT32_MIN, INT32_MAX);
				break;
			case GS_U32:
				INTEGER(uint32_t, uint32_t, 0, UINT32_MAX);
				break;
			case GS_I64:
				INTEGER(int64_t, uint64_t, INT64_MIN, INT64_MAX);
				break;
			case GS_U64:
				INTEGER(uint64_t, uint64_t, 0, UINT64_MAX);
				break;
			case GS_F32:
				FLOAT(float);
				break;
			default:
				FLOAT(double);
		}
}

static void
one(gs_type type, gs_operation op, bool inclusive, uint64_t n, size_t in_offset, size_t out_offset, bool in_place)
{
	if (skipped())
		return;
	size_t width = gs_type_width(type), temp = gs_scan_temp_bytes(engine, type, n);
	uint8_t *in = malloc(n * width + 1), *want = malloc(n * width + 1);
	array a = make_array(n * width, in_offset * width), b = make_array(n * width, out_offset * width);
	array *to = in_place ? &a : &b;
	const uint8_t *got;
	uint64_t bad = 0, where = 0;

	/* float sums: small whole numbers, so that every order gives the same */
	fill_runs(type, in, n, 1, op != GS_SUM);
	for (uint64_t i = 0; i < n && op == GS_SUM; i++)
		if (type == GS_F32)
			((float *) in)[i] = (float) (rnd() % 8);
		else if (type == GS_F64)
			((double *) in)[i] = (double) (rnd() % 1000) - 500;
	if (op == GS_COMPOSE)
		for (uint64_t i = 0; i < n; i++)
			((uint64_t *) in)[i] = rnd() | 1;
	reference(type, op, inclusive, in, want, n);
	put(&a, in, n * width);
	ok(gs_scan(engine, type, op, inclusive, a.data, to->data, n, temp_of(temp), temp), "gs_scan");
	got = fetch(to, n * width, "scan");
	for (uint64_t i = n; i-- > 0;)
		if (!equal(type, got + i * width, want + i * width))
			bad++, where = i;
	check(bad == 0, "%s %s %s n=%llu offsets %zu %zu%s: %llu wrong, first at %llu", type_name(type), op_names[op],
		  inclusive ? "inclusive" : "exclusive", (unsigned long long) n, in_offset, out_offset,
		  in_place ? " in place" : "", (unsigned long long) bad, (unsigned long long) where);
	drop(&a);
	drop(&b);
	free(in);
	free(want);
}

void
test_scan(void)
{
	int upto = small_only ? nsizes - 7 : nsizes;

	for (int t = 0; t < 6; t++)
	{
		char name[64];

		snprintf(name, sizeof(name), "scan %s", type_name(types[t]));
		group(name);
		for (int op = GS_SUM; op <= GS_MAX; op++)
			for (int inclusive = 0; inclusive < 2; inclusive++)
			{
				for (int s = op + inclusive; s < upto; s += small_only ? 5 : 1)
					one(types[t], op, inclusive, sizes[s], 0, 0, false);
				for (size_t o = 1; o < 4; o++)
				{
					one(types[t], op, inclusive, 5119 + o, o, 0, false);
					one(types[t], op, inclusive, 20479 + o, o, 4 - o, false);
					one(types[t], op, inclusive, 70001, o, 0, true);
				}
				one(types[t], op, inclusive, small_only ? 30000 : 300000, 0, 0, true);
			}
	}
	group("scan by maps, which do not commute");
	for (int inclusive = 0; inclusive < 2; inclusive++)
		for (int s = 0; s < upto; s += small_only ? 7 : 1)
			one(GS_U64, GS_COMPOSE, inclusive, sizes[s], s % 2, 0, s % 3 == 0);
	if (!small_only)
	{
		group("scan of millions, many times");
		for (int i = 0; i < 10; i++)
		{
			one(GS_I32, GS_SUM, true, 3000000 + rnd() % 1000000, i % 4, 0, i % 2);
			one(GS_U64, GS_COMPOSE, true, 1000000 + rnd() % 1000000, i % 2, 0, i % 2);
		}
	}
}
