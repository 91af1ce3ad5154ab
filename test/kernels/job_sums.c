/*
 * job_sums.c: REDUCE and SCAN against plain C.
 */
#include "jobs.h"

#include <math.h>

/* ---------------------------------------------------------------- reduce */

/* A value as an integer, of a type that is one. */
static __int128
integer_at(const column *c, uint64_t row)
{
	switch (c->spec.type)
	{
		case GS_U8:
			return ((const uint8_t *) c->values)[row];
		case GS_U16:
			return ((const uint16_t *) c->values)[row];
		case GS_U32:
			return ((const uint32_t *) c->values)[row];
		case GS_U64:
			return ((const uint64_t *) c->values)[row];
		case GS_I16:
			return ((const int16_t *) c->values)[row];
		case GS_I32:
			return ((const int32_t *) c->values)[row];
		default:
			return ((const int64_t *) c->values)[row];
	}
}

static bool
is_float(gs_type type)
{
	return type == GS_F32 || type == GS_F64;
}

/* The bits of a result that is a float; one NaN. */
static uint64_t
float_bits(gs_type type, double d)
{
	float f = (float) d;
	uint64_t bits = 0;

	if (isnan(d))
		return type == GS_F32 ? 0x7fc00000u : 0x7ff8000000000000u;
	memcpy(&bits, type == GS_F32 ? (const void *) &f : (const void *) &d, type == GS_F32 ? 4 : 8);
	return bits;
}

static double
float_at(const column *c, uint64_t row)
{
	return c->spec.type == GS_F32 ? ((const float *) c->values)[row] : ((const double *) c->values)[row];
}

/* a + b in the arithmetic of a type. */
static double
add(gs_type type, double a, double b)
{
	if (type == GS_F32)
	{
		volatile float s = (float) a + (float) b;

		return s;
	}
	return a + b;
}

/* The lesser or greater of two floats as gs.h says; a NULL pointer is nothing yet. */
static double
extreme(gs_operation op, const double *a, double b)
{
	bool less;

	if (a == NULL)
		return b;
	if (isnan(*a) || isnan(b))
		return (op == GS_MIN) == !!isnan(*a) ? b : *a;
	less = *a < b || (*a == b && signbit(*a));
	return less == (op == GS_MIN) ? *a : b;
}

/*
 * The sum of the positions from..upto - 1 by the fixed tree: level 0 are values, level k groups of 16 of level k - 1,
 * counted from the array's begin; three levels.  Sums start from -0.
 */
static double
tree(const column *c, const uint32_t *order, uint64_t from, uint64_t upto, int level)
{
	const uint64_t size[] = {1, 16, 256, 4096};
	double s = -0.0;

	if (level == 0)
		return is_null(c, order[from]) ? -0.0 : float_at(c, order[from]);
	for (uint64_t at = from; at < upto;)
	{
		uint64_t end = level == 4 ? (at / 4096 + 1) * 4096 : (at / size[level - 1] + 1) * size[level - 1];

		if (end > upto)
			end = upto;
		s = add(c->spec.type, s, tree(c, order, at, end, level - 1));
		at = end;
	}
	return s;
}

/* The group that a run should give. */
static gs_group
group_of(const column *c, const uint32_t *order, uint64_t from, uint64_t upto, gs_operation op)
{
	gs_group g = {.row = order[from], .length = (uint32_t) (upto - from)};
	__int128 sum = 0;
	double best = 0;

	for (uint64_t i = from; i < upto; i++)
	{
		uint32_t row = order[i];

		if (is_null(c, row))
			continue;
		if (op == GS_COUNT)
			;
		else if (is_float(c->spec.type))
			best = extreme(op, g.valid ? &best : NULL, float_at(c, row));
		else if (op == GS_SUM)
			sum += integer_at(c, row);
		else if (g.valid == 0 || (op == GS_MIN) == (integer_at(c, row) < sum))
			sum = integer_at(c, row);
		g.valid++;
	}
	if (op == GS_COUNT)
		sum = g.valid;
	else if (is_float(c->spec.type))
		sum = (__int128) float_bits(c->spec.type, op == GS_SUM ? tree(c, order, from, upto, 4) : best);
	g.value[0] = (uint64_t) sum;
	g.value[1] = (uint64_t) (sum >> 64);
	return g;
}

static bool
groups_right(const gs_group *out, uint64_t count, const uint32_t *order, const table *keys, const column *values,
			 gs_operation op)
{
	uint64_t at = 0, i = 0;

	for (; at < keys->rows && i < count; i++)
	{
		uint64_t end = at + 1;
		gs_group g, x = out[i];

		while (end < keys->rows && row_compare(keys, order[end - 1], order[end]) == 0)
			end++;
		g = group_of(values, order, at, end, op);
		if (g.valid == 0) /* no value, so nothing is said of it */
			x.value[0] = g.value[0], x.value[1] = g.value[1];
		if (memcmp(&g, &x, sizeof(g)) != 0)
		{
			printf("# group %llu: %llx %llx %u %u %u, wanted %llx %llx %u %u %u\n", (unsigned long long) i,
				   (unsigned long long) x.value[0], (unsigned long long) x.value[1], x.row, x.length, x.valid,
				   (unsigned long long) g.value[0], (unsigned long long) g.value[1], g.row, g.length, g.valid);
			return false;
		}
		at = end;
	}
	return at == keys->rows && i == count;
}

static const gs_type numbers[] = {GS_U8, GS_U16, GS_U32, GS_U64, GS_I16, GS_I32, GS_I64, GS_F32, GS_F64};

bool
reduce_job(void)
{
	table t, keys, order_by;
	gs_job_spec spec = {.op = GS_REDUCE, .columns = t.specs};
	uint32_t n = 1 + (uint32_t) rnd_below(2);
	uint32_t *order;
	uint64_t count;
	gs_job_info info;
	char *out;
	bool good;

	spec.operation = (const gs_operation[]){GS_SUM, GS_SUM, GS_MIN, GS_MAX, GS_COUNT}[rnd_below(5)];
	table_start(&t, random_rows());
	for (uint32_t c = 0; c < n; c++)
		random_column(&t, (gs_type) rnd_below(11));
	random_column(&t, spec.operation == GS_COUNT ? (gs_type) rnd_below(11) : numbers[rnd_below(9)]);
	spec.ncolumns = n + 1;
	spec.order_columns = (uint32_t) rnd_below(n + 1);
	spec.key_columns = 1 + (uint32_t) rnd_below(n);
	order_by = part_of(&t, 0, spec.order_columns);
	keys = part_of(&t, n - spec.key_columns, spec.key_columns);
	order = order_of(&order_by);
	out = run(&t, &spec, GS_OK, &count, &info);
	good = out != NULL &&
		   groups_right((const gs_group *) (out + GUARD), count, order, &keys, &t.columns[n], spec.operation);
	if (!good)
		printf("# reduce %d: %s, order %u, key %u\n", spec.operation, describe(&t), spec.order_columns,
			   spec.key_columns);
	free(out);
	free(order);
	table_free(&t);
	return good;
}

/* ---------------------------------------------------------------- scan */

/* Sums of full groups of gs_scan_fixed, from one position to the next: all before to[0], then up to to[1], to[2]. */
typedef struct fixed_sums
{
	uint64_t to[3];
	double sum[3];
} fixed_sums;

/* The sum at a position, of which none comes before an earlier one, by the groups, with its value or without. */
static double
fixed_sum(fixed_sums *full, const column *c, const uint32_t *order, uint64_t at, bool inclusive)
{
	gs_type type = c->spec.type;
	uint64_t a = at / 4096 * 4096, b = at / 256 * 256, d = at / 16 * 16;

	for (; full->to[0] < a; full->to[0] += 4096)
		full->sum[0] = add(type, full->sum[0], tree(c, order, full->to[0], full->to[0] + 4096, 3));
	if (at == 0 || full->to[1] != b)
		full->sum[1] = tree(c, order, a, b, 3);
	if (at == 0 || full->to[2] != d)
		full->sum[2] = tree(c, order, b, d, 2);
	full->to[1] = b, full->to[2] = d;
	return add(type, add(type, add(type, full->sum[0], full->sum[1]), full->sum[2]),
			   tree(c, order, d, at + inclusive, 1));
}

/* The extreme of the values before a position; where there are none, what gs_scan says. */
static uint64_t
extreme_bits(gs_type type, gs_operation op, bool any, __int128 i, double d)
{
	if (is_float(type))
		return float_bits(type, any ? d : op == GS_MIN ? (double) NAN : -(double) INFINITY);
	if (any)
		return (uint64_t) i;
	if (type < GS_I16)
		return op == GS_MIN ? UINT64_MAX : 0;
	return op == GS_MIN ? INT64_MAX : (uint64_t) INT64_MIN;
}

/* Compares a scan's result; true overflow if a sum left 64 bits. */
static bool
scan_right(const char *out, const column *c, uint64_t rows, gs_operation op, bool exclusive, bool *overflow)
{
	gs_type type = c->spec.type;
	table none = {.rows = rows};
	uint32_t *order = order_of(&none);
	fixed_sums full = {0};
	size_t width = type == GS_F32 ? 4 : 8;
	__int128 sum = 0, best = 0;
	double extreme_float = 0;
	bool any = false, good = true;

	*overflow = false;
	for (uint64_t i = 0; i < rows && good; i++)
		for (int step = 0; step < 2; step++)
		{
			uint64_t wanted, is = 0;

			if (step == exclusive && !is_null(c, i))
			{
				if (is_float(type))
					extreme_float = extreme(op, any ? &extreme_float : NULL, float_at(c, i));
				else
				{
					sum += integer_at(c, i);
					if (!any || (op == GS_MIN) == (integer_at(c, i) < best))
						best = integer_at(c, i);
				}
				any = true;
			}
			if (step == exclusive)
				continue;
			if (op != GS_SUM)
				wanted = extreme_bits(type, op, any, best, extreme_float);
			else if (is_float(type))
				wanted = float_bits(type, fixed_sum(&full, c, order, i, !exclusive));
			else
				wanted = (uint64_t) sum;
			if (op == GS_SUM && !is_float(type))
				*overflow |= type < GS_I16 ? sum > UINT64_MAX : sum != (int64_t) sum;
			if (out != NULL)
				memcpy(&is, out + i * width, width);
			if (out != NULL && is != wanted && !*overflow)
			{
				printf("# row %llu: %llx, wanted %llx\n", (unsigned long long) i, (unsigned long long) is,
					   (unsigned long long) wanted);
				good = false;
			}
		}
	free(order);
	return good;
}

bool
scan_job(void)
{
	table t;
	gs_job_spec spec = {.op = GS_SCAN, .ncolumns = 1, .columns = t.specs, .exclusive = rnd_below(2)};
	bool overflow, good;
	uint64_t count;
	gs_job_info info;
	column *c;
	char *out;

	spec.operation = (const gs_operation[]){GS_SUM, GS_SUM, GS_MIN, GS_MAX}[rnd_below(4)];
	table_start(&t, random_rows());
	c = random_column(&t, numbers[rnd_below(9)]);
	scan_right(NULL, c, t.rows, spec.operation, spec.exclusive, &overflow);
	out = run(&t, &spec, overflow ? GS_OVERFLOW : GS_OK, &count, &info);
	good = out != NULL && (overflow || (count == t.rows &&
										scan_right(out + GUARD, c, t.rows, spec.operation, spec.exclusive, &overflow)));
	if (!good)
		printf("# scan %d%s: %s\n", spec.operation, spec.exclusive ? ", exclusive" : "", describe(&t));
	free(out);
	table_free(&t);
	return good;
}
