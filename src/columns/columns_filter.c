/*
 * columns_filter.c: conditions as tests of held values, with the constants of one scan.
 *
 * Held values but floats are integers, scaled ones for numerics.  A constant that is not such an integer lies between
 * two of them, so that each comparison becomes one with an integer: d < 2.5 is d <= 2.  All comparisons of a column
 * together are one range.
 */
#include "postgres.h"

#include "catalog/pg_type_d.h"
#include "port/pg_bitutils.h"
#include "utils/array.h"
#include "utils/date.h"
#include "utils/float.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/timestamp.h"
#include "utils/uuid.h"

#include "src/base/compat.h"
#include "columns_filter.h"
#include "columns_strings.h"
#include "columns_windows.h"
#include "decimal.h"

/* Days and times that any time zone can convert, well within the limits of timestamp. */
#define SAFE_DAYS_MIN	(-2400000)
#define SAFE_DAYS_MAX	100000000
#define SAFE_DAY(day)	((day) > SAFE_DAYS_MIN && (day) < SAFE_DAYS_MAX)

/* Codes that are listed, rather than a bit for each. */
#define FEW_CODES 64

/* The values that pass a column's comparisons. */
typedef struct Range
{
	bool		has_low;
	bool		has_high;
	int128		low;			/* inclusive */
	int128		high;
} Range;

/* A filter in the making. */
typedef struct FilterBuilder
{
	const ColumnDescription *subjects;
	int			nsubjects;
	StringCodes *const *codes;
	const QueryValues *values;
	Range	   *ranges;			/* by subject */
	uint64	  **bits;			/* by subject: of codes that pass functions; NULL: there is none */
	bool		never;			/* no row passes */
	Filter	   *filter;
} FilterBuilder;

/* ---------------------------------------------------------------- constants */

/* Returns an integer as a Decimal. */
static Decimal
exactly(int128 value)
{
	return (Decimal) {.floor = value, .exact = true};
}

/* Converts a timestamp to a day: the one that it lies in. */
static Decimal
day_of(Timestamp time)
{
	int64		day = time / USECS_PER_DAY;

	if (TIMESTAMP_IS_NOBEGIN(time))
		return exactly(DATEVAL_NOBEGIN);
	if (TIMESTAMP_IS_NOEND(time))
		return exactly(DATEVAL_NOEND);
	day -= day * USECS_PER_DAY > time;
	return (Decimal) {.floor = day, .exact = day * USECS_PER_DAY == time};
}

/* Converts a day or a timestamp to a timestamp, with or without time zone, by PostgreSQL's function. */
static const char *
time_of(PGFunction convert, Datum value, int64 day, bool no_begin, bool no_end, Decimal *time)
{
	if (no_begin || no_end)
		*time = exactly(no_begin ? DT_NOBEGIN : DT_NOEND);
	else if (SAFE_DAY(day))
		*time = exactly(DatumGetInt64(DirectFunctionCall1(convert, value)));
	else
		return "a date is out of range";
	return NULL;
}

/* Converts a date, or a timestamp, to be compared with a column of dates or times. */
static const char *
convert_time(Oid column, Oid type, Datum value, Decimal *decimal)
{
	DateADT		date = type == DATEOID ? DatumGetDateADT(value) : 0;
	Timestamp	time = type == DATEOID ? 0 : DatumGetTimestamp(value);

	if (column == type)
		*decimal = exactly(type == DATEOID ? date : time);
	else if (column == DATEOID)
		*decimal = day_of(time);
	else if (type == DATEOID)
		return time_of(column == TIMESTAMPOID ? date_timestamp : date_timestamptz, value, date,
					   DATE_IS_NOBEGIN(date), DATE_IS_NOEND(date), decimal);
	else
		return time_of(timestamp_timestamptz, value, time / USECS_PER_DAY, TIMESTAMP_IS_NOBEGIN(time),
					   TIMESTAMP_IS_NOEND(time), decimal);
	return NULL;
}

/* Converts a value to the held form of a column that it is compared with.  Returns NULL, or why it cannot be. */
static const char *
convert(const ColumnDescription *column, Oid type, Datum value, Decimal *decimal)
{
	int128		bytes;

	switch (type)
	{
		case INT2OID:
			*decimal = exactly(DatumGetInt16(value));
			return NULL;
		case INT4OID:
			*decimal = exactly(DatumGetInt32(value));
			return NULL;
		case INT8OID:
		case TIMEOID:
			*decimal = exactly(DatumGetInt64(value));
			return NULL;
		case NUMERICOID:
			*decimal = decimal_of(value, column_scale(column));
			return NULL;
		case BOOLOID:
			*decimal = exactly(DatumGetBool(value));
			return NULL;
		case DATEOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			return convert_time(getBaseType(column->type), type, value, decimal);
		case UUIDOID:
			memcpy(&bytes, DatumGetUUIDP(value)->data, UUID_LEN);
			*decimal = exactly(bytes);
			return NULL;
		default:				/* oid and enums */
			*decimal = exactly(DatumGetObjectId(value));
			return NULL;
	}
}

/*
 * Converts a string to its code, a temporary one that rows may share which are added to the question, or to its rank.
 * Without either no row can have it.
 */
static const char *
convert_string(StringCodes *codes, Oid type, Datum value, Decimal *decimal)
{
	const char *p;
	uint32		bytes;
	uint32		code;

	(void) string_of_datum(type, -1, DatumGetPointer(value), &p, &bytes);
	code = codes_held(codes, p, bytes);
	*decimal = (Decimal) {.floor = code, .exact = code != GSD_NO_CODE};
	return NULL;
}

/* Converts a value to the held form of a subject. */
static const char *
convert_for(const FilterBuilder *builder, int subject, Oid type, Datum value, Decimal *decimal)
{
	if (builder->codes != NULL && builder->codes[subject] != NULL)
		return convert_string(builder->codes[subject], type, value, decimal);
	return convert(&builder->subjects[subject], type, value, decimal);
}

/* Returns an integer as a constant. */
static gs_constant
integer_constant(int128 value)
{
	return (gs_constant) {{(uint64) value, (uint64) (value >> 64)}};
}

/* Returns a float as a constant. */
static gs_constant
float_constant(Oid type, Datum value)
{
	double		number = type == FLOAT4OID ? DatumGetFloat4(value) : DatumGetFloat8(value);
	gs_constant constant = {{0, 0}};

	memcpy(&constant.half[0], &number, sizeof(number));
	return constant;
}

/* ---------------------------------------------------------------- tests */

/* Appends a test. */
static void
append_term(FilterBuilder *builder, int column, gs_test test, int nconstants, const gs_constant *constants)
{
	FilterTerm *term = &builder->filter->terms[builder->filter->nterms++];

	*term = (FilterTerm) {.column = column, .test = test, .nconstants = nconstants};
	if (nconstants > 0)
		term->constants = memcpy(palloc_array(gs_constant, nconstants), constants, sizeof(gs_constant) * nconstants);
}

/* Narrows a column's range from below. */
static void
at_least(Range *range, int128 low)
{
	range->low = range->has_low ? Max(range->low, low) : low;
	range->has_low = true;
}

/* Narrows a column's range from above. */
static void
at_most(Range *range, int128 high)
{
	range->high = range->has_high ? Min(range->high, high) : high;
	range->has_high = true;
}

/* Adds a comparison with a value beyond all that a column holds: all values pass, or none. */
static void
compare_beyond(FilterBuilder *builder, int column, gs_test test, int beyond)
{
	bool		below = test == GS_TEST_LT || test == GS_TEST_LE;
	bool		above = test == GS_TEST_GT || test == GS_TEST_GE;

	if (test == GS_TEST_NE || (below && beyond > 0) || (above && beyond < 0))
		append_term(builder, column, GS_TEST_NOT_NULL, 0, NULL);
	else
		builder->never = true;
}

/* Adds a comparison with a converted value. */
static void
compare(FilterBuilder *builder, int column, gs_test test, Decimal value)
{
	Range	   *range = &builder->ranges[column];
	gs_constant constant = integer_constant(value.floor);

	if (value.beyond != 0)
	{
		compare_beyond(builder, column, test, value.beyond);
		return;
	}
	switch (test)
	{
		case GS_TEST_EQ:
			builder->never = builder->never || !value.exact;
			at_least(range, value.floor);
			at_most(range, value.floor);
			break;
		case GS_TEST_NE:
			append_term(builder, column, value.exact ? GS_TEST_NE : GS_TEST_NOT_NULL, value.exact, &constant);
			break;
		case GS_TEST_LT:
			at_most(range, value.exact ? value.floor - 1 : value.floor);
			break;
		case GS_TEST_LE:
			at_most(range, value.floor);
			break;
		case GS_TEST_GT:
			at_least(range, value.floor + 1);
			break;
		default:				/* GS_TEST_GE */
			at_least(range, value.exact ? value.floor : value.floor + 1);
			break;
	}
}

/* Orders integer constants. */
static int
compare_integers(const void *a, const void *b)
{
	const gs_constant *x = a;
	const gs_constant *y = b;

	if (x->half[1] != y->half[1])
		return (int64) x->half[1] < (int64) y->half[1] ? -1 : 1;
	return x->half[0] == y->half[0] ? 0 : x->half[0] < y->half[0] ? -1 : 1;
}

/* Orders float constants as PostgreSQL does. */
static int
compare_floats(const void *a, const void *b)
{
	double		x;
	double		y;

	memcpy(&x, &((const gs_constant *) a)->half[0], sizeof(x));
	memcpy(&y, &((const gs_constant *) b)->half[0], sizeof(y));
	return float8_cmp_internal(x, y);
}

/* Appends a test that a value is one of these constants. */
static void
append_list(FilterBuilder *builder, int column, int count, gs_constant *constants, bool floats)
{
	int			(*order) (const void *, const void *) = floats ? compare_floats : compare_integers;
	int			distinct = 0;

	qsort(constants, count, sizeof(gs_constant), order);
	for (int i = 0; i < count; i++)
		if (distinct == 0 || order(&constants[distinct - 1], &constants[i]) != 0)
			constants[distinct++] = constants[i];
	if (distinct == 0)
		builder->never = true;
	else
		append_term(builder, column, GS_TEST_IN, distinct, constants);
}

/* Adds column = ANY (array).  NULLs and what no held value can equal are left out. */
static const char *
add_list(FilterBuilder *builder, const QueryTerm *term)
{
	bool		floats = term->type == FLOAT4OID || term->type == FLOAT8OID;
	gs_constant *constants;
	Datum	   *elements;
	bool	   *nulls;
	int			nelements;
	int			count = 0;
	int16		length;
	bool		by_value;
	char		align;

	get_typlenbyvalalign(term->type, &length, &by_value, &align);
	deconstruct_array(DatumGetArrayTypeP(builder->values->values[term->value]), term->type, length, by_value, align,
					  &elements, &nulls, &nelements);
	constants = palloc_array(gs_constant, nelements + 1);
	for (int i = 0; i < nelements; i++)
	{
		Decimal		decimal;
		const char *why;

		if (nulls[i])
			continue;
		if (floats)
		{
			constants[count++] = float_constant(term->type, elements[i]);
			continue;
		}
		why = convert_for(builder, term->column, term->type, elements[i], &decimal);
		if (why != NULL)
			return why;
		if (decimal.exact && decimal.beyond == 0)
			constants[count++] = integer_constant(decimal.floor);
	}
	append_list(builder, term->column, count, constants, floats);
	return NULL;
}

/* Adds a test of a column's strings by a function. */
static const char *
add_function(FilterBuilder *builder, const QueryTerm *term)
{
	const StringCodes *codes = builder->codes[term->column];
	uint64	  **bits = &builder->bits[term->column];

	if (*bits == NULL)
		*bits = strings_possible(codes);
	if (term->judged)
		return NULL;
	return strings_test(codes, &builder->subjects[term->column], term, builder->values, *bits);
}

/* Adds a comparison of a column with a value that is not NULL. */
static const char *
add_comparison(FilterBuilder *builder, const QueryTerm *term)
{
	Datum		value = builder->values->values[term->value];
	Decimal		decimal;
	const char *why;

	if (term->test == GS_TEST_IN_BITS)
		return add_function(builder, term);
	if (term->test == GS_TEST_IN)
		return add_list(builder, term);
	if (term->type == FLOAT4OID || term->type == FLOAT8OID)
	{
		gs_constant constant = float_constant(term->type, value);

		append_term(builder, term->column, term->test, 1, &constant);
		return NULL;
	}
	why = convert_for(builder, term->column, term->type, value, &decimal);
	if (why == NULL)
		compare(builder, term->column, term->test, decimal);
	return why;
}

/* Adds a condition. */
static const char *
add_term(FilterBuilder *builder, const QueryTerm *term)
{
	if (term->test >= GS_TEST_EQ_COLUMN)
	{
		append_term(builder, term->column, term->test, 0, NULL);
		builder->filter->terms[builder->filter->nterms - 1].other = term->value;
	}
	else if (term->value >= 0)
	{
		if (!builder->values->nulls[term->value])
			return add_comparison(builder, term);
		builder->never = true;	/* a comparison with NULL is NULL */
	}
	else if (term->test == GS_TEST_EQ)
		compare(builder, term->column, GS_TEST_EQ, exactly(term->truth));
	else
		append_term(builder, term->column, term->test, 0, NULL);
	return NULL;
}

/* Appends the ranges of columns. */
static void
append_ranges(FilterBuilder *builder)
{
	for (int i = 0; i < builder->nsubjects; i++)
	{
		const Range *range = &builder->ranges[i];
		gs_constant constants[] = {integer_constant(range->low), integer_constant(range->high)};

		if (range->has_low && range->has_high && range->low > range->high)
			builder->never = true;
		else if (range->has_low && range->has_high && range->low == range->high)
			append_term(builder, i, GS_TEST_EQ, 1, constants);
		else if (range->has_low && range->has_high)
			append_term(builder, i, GS_TEST_BETWEEN, 2, constants);
		else if (range->has_low)
			append_term(builder, i, GS_TEST_GE, 1, &constants[0]);
		else if (range->has_high)
			append_term(builder, i, GS_TEST_LE, 1, &constants[1]);
	}
}

/* Returns bits of codes as bits of what the service knows them by. */
static const uint64 *
held_bits(const StringCodes *codes, const uint64 *bits, Size words)
{
	uint64	   *held;

	if (codes->ranks == NULL)
		return bits;
	held = palloc_extended((words + 1) * sizeof(uint64), MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	for (Size word = 0; word < words; word++)
		for (uint64 left = bits[word]; left != 0; left &= left - 1)
		{
			uint32		rank = codes->ranks->ranks[word * 64 + (Size) pg_rightmost_one_pos64(left)];

			held[rank / 64] |= UINT64CONST(1) << rank % 64;
		}
	return held;
}

/* Appends a test that a column's code is one of those whose bits are set, as a list if they are few. */
static void
append_bits(FilterBuilder *builder, int column)
{
	const StringCodes *codes = builder->codes[column];
	Size		words = strings_words(codes);
	const uint64 *bits = held_bits(codes, builder->bits[column], words);
	uint64		count = pg_popcount((const char *) bits, (int) (words * sizeof(uint64)));
	gs_constant list[FEW_CODES];
	int			n = 0;

	if (count > FEW_CODES)
	{
		if (count == (uint64) codes->limit + codes->count)
			append_term(builder, column, GS_TEST_NOT_NULL, 0, NULL);
		else
			append_term(builder, column, GS_TEST_IN_BITS, (int) ((words + 1) / 2), (const gs_constant *) bits);
		return;
	}
	for (Size word = 0; word < words; word++)
		for (uint64 left = bits[word]; left != 0; left &= left - 1)
			list[n++] = integer_constant((int128) word * 64 + pg_rightmost_one_pos64(left));
	append_list(builder, column, n, list, false);
}

/* Adds the conditions that functions test, or all others. */
static const char *
add_terms(FilterBuilder *builder, const QueryTerms *terms, bool functions)
{
	const char *why = NULL;

	for (int i = 0; i < terms->count && why == NULL; i++)
		if ((terms->terms[i].test == GS_TEST_IN_BITS) == functions)
			why = add_term(builder, &terms->terms[i]);
	return why;
}

/*
 * Makes a filter of tests of subjects, which have these types.  codes: of those that are strings; NULL: none is.
 */
static const char *
make_filter(const QueryTerms *terms, const ColumnDescription *subjects, int nsubjects, StringCodes *const *codes,
			const QueryValues *values, Filter *filter)
{
	FilterBuilder builder = {subjects, nsubjects, codes, values, palloc0_array(Range, nsubjects + 1),
	palloc0_array(uint64 *, nsubjects + 1), false, filter};
	const char *why;

	filter->nterms = 0;
	filter->terms = palloc_array(FilterTerm, terms->count + 2 * nsubjects + 1);
	/* bits have room for the codes that there are: constants of other conditions get theirs before */
	why = add_terms(&builder, terms, false);
	if (why == NULL)
		why = add_terms(&builder, terms, true);
	if (why != NULL)
		return why;
	append_ranges(&builder);
	for (int i = 0; i < nsubjects; i++)
		if (builder.bits[i] != NULL)
			append_bits(&builder, i);
	if (builder.never)
	{
		filter->nterms = 0;
		append_term(&builder, 0, GS_TEST_NEVER, 0, NULL);
	}
	return filter->nterms <= (int) GS_STEPS_MAX_TERMS ? NULL : "it has too many conditions";
}

const char *
filter_members(const QueryTerms *terms, const ColumnDescription *members, int nmembers, const QueryValues *values,
			   Filter *filter)
{
	return make_filter(terms, members, nmembers, NULL, values, filter);
}

const char *
filter_rows(const ColumnsQuery *query, const QueryTerms *terms, const QueryValues *values, Filter *filter)
{
	const char *why = make_filter(terms, query->columns, windows_all_columns(query), query->codes, values, filter);

	for (int i = 0; why == NULL && i < filter->nterms; i++)
	{
		filter->terms[i].column = (int) windows_list_column(query, filter->terms[i].column);
		filter->terms[i].other = (int) windows_list_column(query, filter->terms[i].other);
	}
	return why;
}

/* ---------------------------------------------------------------- writing */

/* Writes terms, for which there is room, and their constants. */
static void
put_terms(StepsWriter *writer, const Filter *filter, gs_term *out)
{
	for (int i = 0; i < filter->nterms && !writer->full; i++)
	{
		const FilterTerm *term = &filter->terms[i];

		out[i].column = (uint32) term->column;
		out[i].test = (uint32) term->test;
		out[i].nconstants = (uint32) term->nconstants;
		if (term->test >= GS_TEST_EQ_COLUMN)
			out[i].constants = (uint32) term->other;
		if (term->nconstants > 0)
			out[i].constants = steps_put(writer, term->constants, sizeof(gs_constant) * (Size) term->nconstants);
	}
}

const char *
filter_put_terms(StepsWriter *writer, const ColumnsQuery *query, const QueryTerms *terms, const QueryValues *values,
				 uint32 *offset, uint32 *nterms)
{
	Filter		filter;
	const char *why = filter_rows(query, terms, values, &filter);

	if (why != NULL)
		return why;
	*nterms = (uint32) filter.nterms;
	*offset = steps_reserve(writer, sizeof(gs_term) * (Size) filter.nterms);
	put_terms(writer, &filter, (gs_term *) (writer->data + *offset));
	return NULL;
}

void
filter_put(StepsWriter *writer, gs_step_kind kind, const Filter *filter)
{
	uint32		offset = steps_begin(writer, kind, sizeof(gs_filter_step) + sizeof(gs_term) * (Size) filter->nterms);
	gs_filter_step *step = (gs_filter_step *) (writer->data + offset);

	if (writer->full)
		return;
	step->nterms = (uint32) filter->nterms;
	put_terms(writer, filter, step->terms);
	steps_end(writer, offset);
}
