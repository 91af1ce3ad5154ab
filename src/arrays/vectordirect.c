/*
 * vectordirect.c: counts distinct numbers of a vector, and selects by position, without sorting it.  Numbers are
 * order-preserving 64-bit images.  To count them, they are scrambled, partitioned to fit the cache, and inserted into a
 * hash table.  To select, a histogram finds the part of the range that is read again.
 */
#include "postgres.h"

#include "common/pg_prng.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"

#include "kernels/common/float_order.h"
#include "src/base/compat.h"
#include "vector.h"
#include "vectordirect.h"
#include "src/engine/engine_choose.h"
#include "vectorengine.h"

/* Images made at a time, on the stack. */
#define BLOCK VECTORDIRECT_BLOCK

/* Approximate values per partition, and the limit of partitions, which keeps within the TLB. */
#define PARTITION_VALUES 16384
#define MAX_PARTITION_BITS 12

/* Bits of a histogram's parts, and the number of values that are sorted instead. */
#define PART_BITS 12
#define PARTS (1 << PART_BITS)
#define SMALL 512

/* Converts between signed numbers and unsigned ones in their order. */
#define SIGN_BIT (UINT64CONST(1) << 63)

/* Returns true, with the type, if the column holds numbers at a fixed stride, ascending and without NULLs. */
static bool
plain_type(const VectorColumn *column, gs_type *type)
{
	return column->values->nulls == NULL && !column->desc && vectorjob_numbers(column, type);
}

bool
vectordirect_can(const VectorColumn *column)
{
	EngineFailure why;
	gs_type		type;

	return engine_choose(column->values->rows, &why) == &engine_cpu && why == ENGINE_OK && plain_type(column, &type);
}

/* Maps a double to an order-preserving integer.  All NaNs map to the greatest one; both zeros map to one. */
static inline uint64
double_image(double value)
{
	uint64		bits;

	memcpy(&bits, &value, sizeof(bits));
	return gs_float_order64(bits, true);
}

uint32
vectordirect_images(const Vector *values, gs_type type, uint64 from, uint64 *out)
{
	uint32		n = (uint32) Min(values->rows - from, (uint64) BLOCK);

#define LOAD(ctype, expression) \
	{ \
		const ctype *in = (const ctype *) values->data + from; \
		for (uint32 i = 0; i < n; i++) \
			out[i] = (expression); \
		return n; \
	}
	switch (type)
	{
		case GS_U8:
			LOAD(uint8, in[i]);
		case GS_U16:
			LOAD(uint16, in[i]);
		case GS_U32:
			LOAD(uint32, in[i]);
		case GS_U64:
			LOAD(uint64, in[i]);
		case GS_I16:
			LOAD(int16, (uint64) in[i] ^ SIGN_BIT);
		case GS_I32:
			LOAD(int32, (uint64) in[i] ^ SIGN_BIT);
		case GS_I64:
			LOAD(int64, (uint64) in[i] ^ SIGN_BIT);
		case GS_F32:
			LOAD(float, double_image(in[i]));
		case GS_F64:
			LOAD(double, double_image(in[i]));
		case GS_U128:
		case GS_BYTES:
			break;
	}
#undef LOAD
	elog(ERROR, "type %d is no plain number", (int) type);
}

/* Allocates a block, or raises the usual error. */
static void *
room_for(BigMem *mem, uint64 count)
{
	void	   *room = bigmem_alloc(mem, Max(count, 1) * sizeof(uint64));

	if (room == NULL)
		question_raise(GS_NOMEM);
	return room;
}

/* ---------------------------------------------------------------- different values */

/* Values times a random odd factor: a bijection that spreads upper bits.  These choose partition, then slot. */

/* Loads up to BLOCK values as 64-bit integers that are equal if the values are.  Returns block or values in place. */
static inline const uint64 *
load_equal(const Vector *values, gs_type type, uint64 from, uint64 *block, uint32 *n)
{
	if (type == GS_I64 || type == GS_U64)
	{
		*n = (uint32) Min(values->rows - from, (uint64) BLOCK);
		return (const uint64 *) values->data + from;
	}
	*n = vectordirect_images(values, type, from, block);
	return block;
}

/* A hash table of scrambled values.  0 marks a free slot. */
typedef struct Table
{
	BigMem	   *mem;
	uint64	   *slots;
	uint64		size;			/* a power of two, at least 2 */
	int			bits;			/* upper bits common to all values */
	int			shift;			/* to the number of a slot, without these bits */
	uint64		room;			/* slots allocated */
	uint64		used;
} Table;

/* Clears the table and sets its size. */
static void
table_reset(Table *table, uint64 size)
{
	if (size > table->room)
	{
		if (table->slots)
			bigmem_free(table->mem, table->slots);
		table->slots = NULL;
		table->slots = room_for(table->mem, size);
		table->room = size;
	}
	table->size = size;
	table->shift = 64 - pg_leftmost_one_pos64(size);
	table->used = 0;
	memset(table->slots, 0, size * sizeof(uint64));
}

/* Inserts a value unless it is there. */
static inline void
table_put(Table *table, uint64 value)
{
	uint64		mask = table->size - 1;
	uint64		slot = value << table->bits >> table->shift;

	while (table->slots[slot] != value)
	{
		if (table->slots[slot] == 0)
		{
			table->slots[slot] = value;
			table->used++;
			return;
		}
		slot = (slot + 1) & mask;
	}
}

/* Counts distinct values.  The table starts at a size that suits most partitions, and grows. */
static uint64
count_partition(Table *table, uint64 size, const uint64 *values, uint64 count, bool *has_zero)
{
	uint64		zero = 0;

	table_reset(table, size);
	for (uint64 i = 0; i < count; i++)
	{
		if (values[i] == 0)
			zero = 1;
		else
			table_put(table, values[i]);
		if (unlikely(table->used > table->size / 4 * 3))
		{
			CHECK_FOR_INTERRUPTS();
			return count_partition(table, size * 8, values, count, has_zero);
		}
	}
	*has_zero = zero != 0;
	return table->used + zero;
}

/* Writes the table's values, unscrambled by the inverse of the factor. */
static void
keep_values(const Table *table, bool zero, uint64 inverse, uint64 *out)
{
	if (zero)
		*out++ = 0;
	for (uint64 i = 0; i < table->size; i++)
	{
		if (table->slots[i] != 0)
			*out++ = table->slots[i] * inverse;
	}
}

/* Computes the inverse of an odd factor by Newton's method: each step doubles the correct bits, initially three. */
static uint64
inverse_of(uint64 factor)
{
	uint64		inverse = factor;

	for (int bits = 3; bits < 64; bits *= 2)
		inverse *= 2 - factor * inverse;
	return inverse;
}

/* Partitions scrambled values by their upper bits.  ends has the end of each partition. */
static void
deal_out(const Vector *values, gs_type type, int bits, uint64 factor, uint64 *out, uint64 *ends)
{
	int			shift = 63 - bits;
	uint64		block[BLOCK];
	uint64		sum = 0;
	uint32		n;

	memset(ends, 0, sizeof(uint64) << bits);
	for (uint64 from = 0; from < values->rows; from += n)
	{
		const uint64 *in = load_equal(values, type, from, block, &n);

		for (uint32 i = 0; i < n; i++)
			ends[in[i] * factor >> 1 >> shift]++;
	}
	for (uint64 i = 0; i < UINT64CONST(1) << bits; i++)
	{
		uint64		count = ends[i];

		ends[i] = sum;
		sum += count;
	}
	CHECK_FOR_INTERRUPTS();
	for (uint64 from = 0; from < values->rows; from += n)
	{
		const uint64 *in = load_equal(values, type, from, block, &n);

		for (uint32 i = 0; i < n; i++)
		{
			uint64		value = in[i] * factor;

			out[ends[value >> 1 >> shift]++] = value;
		}
	}
}

uint64
vectordirect_distinct(BigMem *mem, const VectorColumn *column, uint64 **kept)
{
	const Vector *values = column->values;
	uint64		rows = values->rows;
	uint64	   *dealt = room_for(mem, rows);
	uint64	   *ends;
	Table		table = {.mem = mem};
	uint64		count = 0;
	uint64		begin = 0;
	uint64		size = 64;
	uint64		factor = pg_prng_uint64(&pg_global_prng_state) | 1;
	uint64		inverse = inverse_of(factor);
	int			bits = 0;
	gs_type		type;

	if (!plain_type(column, &type))
		elog(ERROR, "these are no plain numbers");
	while (bits < MAX_PARTITION_BITS && rows >> bits > PARTITION_VALUES)
		bits++;
	while (size < (rows >> bits) * 2)
		size *= 2;
	ends = room_for(mem, UINT64CONST(1) << bits);
	table.bits = bits;
	deal_out(values, type, bits, factor, dealt, ends);
	for (uint64 i = 0; i < UINT64CONST(1) << bits; i++)
	{
		bool		has_zero;
		uint64		found;

		CHECK_FOR_INTERRUPTS();
		found = count_partition(&table, size, dealt + begin, ends[i] - begin, &has_zero);
		/* overwrites values that have been processed */
		if (kept)
			keep_values(&table, has_zero, inverse, dealt + count);
		count += found;
		begin = ends[i];
	}
	bigmem_free(mem, table.slots);
	bigmem_free(mem, ends);
	if (kept)
		*kept = dealt;
	else
		bigmem_free(mem, dealt);
	return count;
}

/* Converts an image to a double: a NaN for all NaNs, 0 for both zeros. */
static inline double
double_of_image(uint64 image)
{
	uint64		bits = image >> 63 ? image ^ SIGN_BIT : ~image;
	double		value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

void
vectordirect_store(const VectorColumn *column, const uint64 *kept, uint64 count, char *to)
{
	gs_type		type;

	if (!plain_type(column, &type))
		elog(ERROR, "these are no plain numbers");
#define STORE(ctype, expression) \
	for (uint64 i = 0; i < count; i++) \
	{ \
		ctype		value = (ctype) (expression); \
		memcpy(to + i * sizeof(ctype), &value, sizeof(ctype)); \
	} \
	break
	switch (type)
	{
		case GS_U8:
			STORE(uint8, kept[i]);
		case GS_U16:
			STORE(uint16, kept[i]);
		case GS_U32:
			STORE(uint32, kept[i]);
		case GS_I16:
			STORE(int16, kept[i] ^ SIGN_BIT);
		case GS_I32:
			STORE(int32, kept[i] ^ SIGN_BIT);
		case GS_U64:
		case GS_I64:
			STORE(uint64, kept[i]);
		case GS_F32:
			STORE(float, double_of_image(kept[i]));
		case GS_F64:
			STORE(double, double_of_image(kept[i]));
		case GS_U128:
		case GS_BYTES:
			elog(ERROR, "type %d is no plain number", (int) type);
	}
#undef STORE
}

/* ---------------------------------------------------------------- a place in the order */

/* Source of images: the column, then those of one part. */
typedef struct Images
{
	const Vector *values;		/* or NULL: */
	gs_type		type;
	const uint64 *part;
	uint64		count;
} Images;

/* Returns up to BLOCK images, in block or in place. */
static inline const uint64 *
next_block(const Images *images, uint64 from, uint64 *block, uint32 *n)
{
	if (images->values)
	{
		*n = vectordirect_images(images->values, images->type, from, block);
		return block;
	}
	*n = (uint32) Min(images->count - from, (uint64) BLOCK);
	return images->part + from;
}

/* Finds the least and the greatest image. */
static void
find_range(const Images *images, uint64 *least, uint64 *greatest)
{
	uint64		block[BLOCK];
	uint64		low = PG_UINT64_MAX;
	uint64		high = 0;
	uint32		n;

	for (uint64 from = 0; from < images->count; from += n)
	{
		const uint64 *in = next_block(images, from, block, &n);

		for (uint32 i = 0; i < n; i++)
		{
			low = Min(low, in[i]);
			high = Max(high, in[i]);
		}
	}
	*least = low;
	*greatest = high;
}

/* Keeps the part of the images that contains the position, and makes *place relative to it. */
static void
narrow(BigMem *mem, Images *images, uint64 least, uint64 greatest, uint64 *place)
{
	uint64		counts[PARTS] = {0};
	uint64		block[BLOCK];
	uint64	   *part;
	uint64		number = 0;
	uint64		kept = 0;
	int			shift = 0;
	uint32		n;

	while ((greatest - least) >> shift >= PARTS)
		shift++;
	for (uint64 from = 0; from < images->count; from += n)
	{
		const uint64 *in = next_block(images, from, block, &n);

		for (uint32 i = 0; i < n; i++)
			counts[(in[i] - least) >> shift]++;
	}
	while (*place >= counts[number])
		*place -= counts[number++];
	part = room_for(mem, counts[number] + 1);
	for (uint64 from = 0; from < images->count; from += n)
	{
		const uint64 *in = next_block(images, from, block, &n);

		for (uint32 i = 0; i < n; i++)
		{
			part[kept] = in[i];
			kept += (in[i] - least) >> shift == number;
		}
	}
	if (images->part)
		bigmem_free(mem, unconstify(uint64 *, images->part));
	*images = (Images) {.part = part, .count = kept};
}

/* qsort comparator of unsigned numbers. */
static int
compare_images(const void *a, const void *b)
{
	uint64		x = *(const uint64 *) a;
	uint64		y = *(const uint64 *) b;

	return (x > y) - (x < y);
}

/* Returns the image at a position of the order.  *place becomes its rank among equal ones. */
static uint64
image_at(BigMem *mem, const Vector *values, gs_type type, uint64 *place)
{
	Images		images = {.values = values, .type = type, .count = values->rows};
	uint64		least;
	uint64		greatest;
	uint64		found;

	for (;;)
	{
		CHECK_FOR_INTERRUPTS();
		find_range(&images, &least, &greatest);
		if (least == greatest || (images.part && images.count <= SMALL))
			break;
		narrow(mem, &images, least, greatest, place);
	}
	found = least;
	if (least != greatest)
	{
		uint64		first = *place;

		qsort(unconstify(uint64 *, images.part), images.count, sizeof(uint64), compare_images);
		found = images.part[*place];
		while (first > 0 && images.part[first - 1] == found)
			first--;
		*place -= first;
	}
	if (images.part)
		bigmem_free(mem, unconstify(uint64 *, images.part));
	return found;
}

void
vectordirect_at(BigMem *mem, const VectorColumn *column, uint64 place, uint32 rows[2])
{
	const Vector *values = column->values;
	uint64		block[BLOCK];
	uint64		image;
	uint64		above = PG_UINT64_MAX;
	uint64		equal = 0;
	int			found = 0;
	uint32		row_above = 0;
	bool		any_above = false;
	gs_type		type;
	uint32		n;

	if (!plain_type(column, &type))
		elog(ERROR, "these are no plain numbers");
	image = image_at(mem, values, type, &place);
	for (uint64 from = 0; from < values->rows && found < 2; from += n)
	{
		n = vectordirect_images(values, type, from, block);
		for (uint32 i = 0; i < n; i++)
		{
			if (block[i] > image && (block[i] < above || !any_above))
			{
				above = block[i];
				row_above = (uint32) (from + i);
				any_above = true;
			}
			if (block[i] == image && equal++ >= place && found < 2)
				rows[found++] = (uint32) (from + i);
		}
	}
	if (found < 2)
		rows[1] = any_above ? row_above : rows[0];
}
