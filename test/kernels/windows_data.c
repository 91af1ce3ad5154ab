/*
 * windows_data.c: see windows_data.h.
 */
#include "windows_data.h"

#include "scan_test.h"

/* Has integers of 8 bytes be multiples of a number, as timestamps of seconds are, more than some other; or one not. */
static void
make_apart(table *t, uint32_t c)
{
	static const int64_t numbers[] = {1000000, 86400000000, 3, (int64_t) 1 << 40, 1000003};
	const int64_t number = numbers[rnd() % 5], first = (int64_t) (rnd() % 1000) - 500;

	for (uint32_t s = 0; s < SEGMENTS && t->types[c] == GS_I64; s++)
		for (uint32_t r = 0; r < t->plain[s].rows; r++)
			((int64_t *) t->plain[s].values[c])[r] = (int64_t) (rnd() % 200000) * number + first;
	if (t->types[c] == GS_I64 && rnd() % 4 == 0 && t->plain[1].rows > 0)
		((int64_t *) t->plain[1].values[c])[rnd() % t->plain[1].rows]++;
}

void
windows_exchange(const table *t, uint32_t segment)
{
	const size_t widths[2] = {gs_type_width(t->types[0]), gs_type_width(t->types[1])};
	const plain_segment *s = &t->plain[segment];
	const uint32_t r = s->rows < 2 ? 0 : (uint32_t) (rnd() % (s->rows - 1));
	int32_t *number = (int32_t *) s->values[NUMBER] + r;

	if (s->rows < 2)
		return;
	for (uint32_t c = 0; c < 2; c++)
		memcpy(s->values[c] + (r + 1) * widths[c], s->values[c] + r * widths[c], widths[c]);
	number[0]++, number[1]--;
}

void
windows_fill(table *t, uint64_t most, uint64_t partitions, gs_type key, gs_type order, gs_type first, gs_type second)
{
	const gs_type types[SOURCE] = {key, order, first, second, GS_I32};
	uint64_t rows;
	int32_t number = 0;

	for (;; drop_table(t))
	{
		make_table(t, SOURCE, types);
		rows = 0;
		for (uint32_t s = 0; s < SEGMENTS; s++)
			rows += t->plain[s].rows;
		if (rows <= most)
			break;
	}
	make_key(t, 0, partitions);
	if (rnd() % 3)
		make_key(t, 1, rnd() % 2 ? 5 : 100000);
	if (rnd() % 3)
		make_apart(t, (uint32_t) (rnd() % 3 > 0));
	if (rnd() % 2)
		make_key(t, 2, 3);
	for (uint32_t s = 0; s < SEGMENTS; s++)
	{
		for (uint32_t r = 0; r < t->plain[s].rows; r++)
			((int32_t *) t->plain[s].values[NUMBER])[r] = number++;
		if (t->plain[s].nulls[NUMBER] != NULL)
			memset(t->plain[s].nulls[NUMBER], 0, (t->plain[s].rows + 63) / 64 * 8);
		if (partitions == 1 && t->plain[s].nulls[0] != NULL)
			memset(t->plain[s].nulls[0], 0, (t->plain[s].rows + 63) / 64 * 8);
	}
}

void
windows_rows(table *t, uint64_t most, uint64_t partitions, gs_type key, gs_type order, gs_type first, gs_type second)
{
	windows_fill(t, most, partitions, key, order, first, second);
	if (rnd() % 2)
		windows_exchange(t, (uint32_t) (rnd() % SEGMENTS));
	put_table(t);
}

void
windows_whole_words(table *t)
{
	windows_fill(t, 9000, 8, GS_I16, GS_I32, GS_I32, GS_I32);
	for (uint32_t s = 0; s < SEGMENTS; s++)
	{
		for (uint32_t c = 0; c < 3; c++)
			drop_nulls(t, s, c);
		for (uint32_t r = 0; r < t->plain[s].rows; r++)
		{
			((int16_t *) t->plain[s].values[0])[r] = (int16_t) (rnd() % 8);
			for (uint32_t c = 1; c < 3; c++)
				((int32_t *) t->plain[s].values[c])[r] = r == 0 ? INT32_MIN : r == 1 ? INT32_MAX : (int32_t) rnd();
		}
	}
	put_table(t);
}

void
windows_nearly(table *t, bool odd, bool exchanged)
{
	windows_fill(t, 6000, 3, GS_I32, GS_I64, GS_I16, GS_I32);
	for (uint32_t s = 0; s < SEGMENTS; s++)
		for (uint32_t r = 0; r < t->plain[s].rows; r++)
			((int64_t *) t->plain[s].values[1])[r] = (int64_t) (rnd() % 50) * 1000000000;
	if (odd && t->plain[1].rows > 0)
		((int64_t *) t->plain[1].values[1])[rnd() % t->plain[1].rows]++;
	for (uint32_t s = 0; exchanged && s < SEGMENTS; s++)
		windows_exchange(t, s);
	put_table(t);
}

/* Makes a table whose keys take some bits, of few values, and are ordered by few values of 20 bits. */
static void
make_tied(table *t, uint32_t bits)
{
	windows_fill(t, 6000, 4, GS_I64, GS_I32, GS_I16, GS_I32);
	for (uint32_t s = 0; s < SEGMENTS; s++)
		for (uint32_t r = 0; r < t->plain[s].rows; r++)
		{
			((int64_t *) t->plain[s].values[0])[r] = (int64_t) (rnd() % 5) << (bits - 3);
			((int32_t *) t->plain[s].values[1])[r] = (int32_t) (rnd() % 5) * 200000;
			((int16_t *) t->plain[s].values[2])[r] = (int16_t) (rnd() % 3000);
		}
	put_table(t);
}

bool
windows_far_apart(table *t, uint32_t kind)
{
	static const struct
	{
		int64_t first;
		uint64_t apart, values;
	} kinds[] = {{INT64_MIN, UINT64_MAX, 2},
				 {INT64_MIN, UINT64_MAX / 3, 4},
				 {INT64_MIN, (uint64_t) 1 << 63, 2},
				 {INT64_MIN, (uint64_t) 1 << 60, 16},
				 {INT64_MIN + 5, 6000000, (uint64_t) 1 << 40},
				 {-86400000000000, 1000000, 86400000},
				 {INT64_MAX, 1, 1},
				 {INT64_MIN, 1, 1}};

	if (kind >= sizeof(kinds) / sizeof(*kinds))
	{
		const uint32_t bits = kind - (uint32_t) (sizeof(kinds) / sizeof(*kinds));

		if (bits < 3)
			make_tied(t, bits == 0 ? 18 : bits == 1 ? 23 : 41);
		return bits < 3;
	}
	windows_fill(t, 6000, kind % 2 ? 1 : 8, GS_I32, GS_I64, GS_I16, GS_I64);
	for (uint32_t s = 0; s < SEGMENTS; s++)
		for (uint32_t r = 0; r < t->plain[s].rows; r++)
			((int64_t *) t->plain[s].values[1])[r] =
				(int64_t) ((uint64_t) kinds[kind].first + rnd() % kinds[kind].values * kinds[kind].apart);
	put_table(t);
	return true;
}
