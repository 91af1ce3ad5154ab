/*
 * gs_steps.h: jobs over columns as lists of steps.
 *
 * A list is one block of memory without pointers: this header, the types of the source's columns, then the steps, each
 * of which begins with its kind and size.  Offsets count bytes from the header and are multiples of 8.  A client makes
 * the list, whoever receives it calls gs_steps_check on a private copy, engines carry it out.
 *
 *   step     takes                     gives
 *   COMPUTE  rows                      the same rows with a column more for each of its expressions and choices
 *   FILTER   rows                      those rows for which every term is true
 *   WINDOW   rows                      the same rows with a column more for each of its functions
 *   GROUP    rows                      groups: a gs_reduced for each key, then one for each aggregate
 *   HAVING   groups                    those groups for which every term is true
 *   TOP      groups                    the first of them by some of their members, in that order
 *   ROWS     rows                      their places (gs_row): all, or a page of them in an order
 *
 * Values are numbers: integers of 16 to 128 bits with a sign, or doubles.  Columns of GS_U8 and GS_U16 are integers of
 * 32 bits, those of GS_U32 of 64, those of GS_U64 of 128; those of GS_U128 are integers of 128 bits with a sign; those
 * of GS_F32 and GS_F64 are doubles.  Constants and code lie in the step that refers to them, behind its terms or
 * aggregates.
 *
 * COMPUTE stands first.  FILTER may stand first, after COMPUTE, and after each WINDOW, of which there may be several,
 * then comes GROUP.  The columns that COMPUTE and WINDOW steps give are numbered after the source's, and what stands
 * behind such a step may refer to them.
 */
#ifndef GS_STEPS_H
#define GS_STEPS_H

#include "gs_columns.h"

#ifdef __cplusplus
extern "C" {
#endif

#define GS_STEPS_MAGIC 0x70737367u /* "gssp" */
#define GS_STEPS_MAX_BYTES 8388608u
#define GS_STEPS_MAX_COLUMNS 64u /* those that steps give included */
#define GS_STEPS_MAX_STEPS 24u
#define GS_STEPS_MAX_AGGREGATES 64u
#define GS_STEPS_MAX_TERMS 64u
#define GS_STEPS_MAX_CODE 64u  /* instructions of an expression */
#define GS_STEPS_MAX_DEPTH 8u /* values on its stack */

typedef struct gs_steps
{
	uint32_t magic; /* GS_STEPS_MAGIC */
	uint32_t bytes; /* of all */
	uint32_t ncolumns; /* of the source: 1 to GS_STEPS_MAX_COLUMNS */
	uint32_t nsteps;
	uint32_t first;	   /* offset of the first step; each follows the one before */
	uint32_t ngiven;   /* columns that COMPUTE and WINDOW steps give */
	uint8_t types[];   /* gs_type, not GS_BYTES; of the source's columns, then of those that steps give */
} gs_steps;

typedef enum gs_step_kind
{
	GS_STEP_FILTER = 1,  /* gs_filter_step; the first, or behind WINDOW */
	GS_STEP_GROUP,		 /* gs_group_step; one, or ROWS */
	GS_STEP_HAVING,		 /* gs_filter_step over members of groups; at most one, after GROUP with keys */
	GS_STEP_TOP,		 /* gs_top_step; at most one, after GROUP with keys, the last */
	GS_STEP_ROWS,		 /* gs_rows_step; one, or GROUP; the last, never behind WINDOW */
	GS_STEP_COMPUTE = 15, /* gs_compute_step; at most one, the first, not with ROWS */
	GS_STEP_WINDOW = 16 /* gs_window_step; any number, before GROUP */
} gs_step_kind;

typedef struct gs_step
{
	uint32_t kind;
	uint32_t bytes; /* of the step with all that belongs to it, a multiple of 8 */
} gs_step;

/* A constant: a two's complement integer of 128 bits, least significant half first, or a double in half[0]. */
typedef struct gs_constant
{
	uint64_t half[2];
} gs_constant;

/* Tests of a value.  NULL passes GS_TEST_IS_NULL alone.  Doubles compare as in gs.h: NaN equals NaN and is greatest. */
typedef enum gs_test
{
	GS_TEST_EQ,
	GS_TEST_NE,
	GS_TEST_LT,
	GS_TEST_LE,
	GS_TEST_GT,
	GS_TEST_GE,
	GS_TEST_BETWEEN,  /* two constants, inclusive */
	GS_TEST_IN,		  /* constants, ascending */
	GS_TEST_IN_BITS,  /* an integer n whose bit is set: bit n % 64 of half n / 64 of the constants */
	GS_TEST_IS_NULL,  /* none */
	GS_TEST_NOT_NULL, /* none */
	GS_TEST_NEVER,	  /* none: no row passes */
	/* of rows, not of groups: against another column, whose number stands in constants; nconstants is 0 */
	GS_TEST_EQ_COLUMN = 16,
	GS_TEST_NE_COLUMN,
	GS_TEST_LT_COLUMN,
	GS_TEST_LE_COLUMN,
	GS_TEST_GT_COLUMN,
	GS_TEST_GE_COLUMN,
	GS_TEST_DISTINCT_COLUMN, /* NULL differs from values and is equal to NULL */
	GS_TEST_SAME_COLUMN		 /* the opposite */
} gs_test;

typedef struct gs_term
{
	uint32_t column;	/* of the source; of HAVING, a member of the groups: keys are first, then aggregates */
	uint32_t test;		/* gs_test */
	uint32_t constants; /* offset of gs_constants, or the other column: both are of integers, or both of doubles */
	uint32_t nconstants;
} gs_term;

typedef struct gs_filter_step
{
	gs_step step;
	uint32_t nterms;
	uint32_t zero;
	gs_term terms[];
} gs_filter_step;

#define GS_STEPS_MAX_KEYS 16u

/* An order of rows by a column's values: of doubles, 0 equals -0, NaN equals NaN and is greatest. */
typedef struct gs_row_order
{
	uint32_t column;
	uint8_t descending;
	uint8_t nulls_first;
	uint16_t zero;
} gs_row_order;

/*
 * What a column of a WINDOW step is, as in PostgreSQL.  Its type is GS_F64 for percent_rank and cume_dist, that of the
 * argument for its values and extremes, GS_U128 for sums of integers, GS_F64 for sums of doubles, GS_I64 for all
 * others.
 * An average is a sum and a count.
 */
typedef enum gs_window_kind
{
	GS_WINDOW_ROW_NUMBER, /* of peers, which comes first is not determined, but equal in all functions of a step */
	GS_WINDOW_RANK,
	GS_WINDOW_DENSE_RANK,
	GS_WINDOW_PERCENT_RANK,
	GS_WINDOW_CUME_DIST,
	GS_WINDOW_NTILE, /* of so many as number says */
	GS_WINDOW_RUN,	 /* the argument's run of equal values, from 1; NULL equals NULL */
	GS_WINDOW_LAG,	 /* the argument so many rows before as number says, after if it is negative; else the constant */
	/* of the frame's rows, in order: */
	GS_WINDOW_FIRST,
	GS_WINDOW_LAST,
	GS_WINDOW_NTH, /* the one that number says, from 1 */
	GS_WINDOW_COUNT, /* of rows, or of the argument's values that are not NULL */
	GS_WINDOW_SUM, /* doubles are added in order; GS_OVERFLOW if the sum of finite ones is not finite; not of GS_F32 */
	GS_WINDOW_MIN, /* of equal doubles, the last one */
	GS_WINDOW_MAX
} gs_window_kind;

/* A row's frame within its partition. */
typedef enum gs_frame
{
	GS_FRAME_PARTITION, /* all rows */
	GS_FRAME_PEERS,		/* from the first row to the last one that is equal to the row by all orders */
	GS_FRAME_ROWS		/* from and to, counted from the row; it may be empty */
} gs_frame;

#define GS_FRAME_FIRST INT64_MIN /* from: the partition's first row */
#define GS_FRAME_LAST INT64_MAX	 /* to: its last */
/* The most rows of a frame for SUM of doubles, MIN and MAX, unless from is GS_FRAME_FIRST. */
#define GS_FRAME_MOST_ROWS 1024
#define GS_NO_COLUMN UINT32_MAX

typedef struct gs_window_function
{
	uint32_t function; /* gs_window_kind */
	uint32_t column;   /* the argument, given by a step before; none: GS_NO_COLUMN */
	uint32_t constant; /* of LAG: offset of a gs_constant of the argument's type; 0: NULL */
	uint32_t frame;	   /* gs_frame; 0 where it has no meaning */
	int64_t number;	   /* 0 where it has no meaning */
	int64_t from, to;  /* of GS_FRAME_ROWS, else 0 */
} gs_window_function;

/*
 * Rows whose partition columns are equal, NULL being equal to NULL, are a partition.  Its rows are put in order, and
 * each function gives a value to each row.  Columns become available behind the step, in the functions' order.
 */
typedef struct gs_window_step
{
	gs_step step;
	uint32_t nfunctions; /* at least 1 */
	uint32_t npartition; /* npartition + norders: at most GS_STEPS_MAX_KEYS */
	uint32_t norders;
	uint32_t orders; /* offset of gs_row_orders: the partition's, 0 but for the column, then those of its rows */
	gs_window_function functions[];
} gs_window_step;

/*
 * Ranges that results are checked against; a value outside makes the answer GS_OVERFLOW.  A computed column need not be
 * computed in rows that the filter behind it leaves out.
 */
typedef enum gs_number
{
	GS_NUMBER_I16,
	GS_NUMBER_I32,
	GS_NUMBER_I64,
	GS_NUMBER_I128,
	GS_NUMBER_F64
} gs_number;

typedef enum gs_code
{
	GS_CODE_COLUMN,	  /* pushes a column's value */
	GS_CODE_CONSTANT, /* pushes a constant, which is not NULL */
	GS_CODE_ADD,	  /* the upper value is the right operand; NULL if either is */
	GS_CODE_SUBTRACT,
	GS_CODE_MULTIPLY,
	/* in COMPUTE alone: of a value of at most 64 bits, the only one that is taken */
	GS_CODE_QUOTIENT = 16, /* divided by a constant greater than 0, rounded down */
	GS_CODE_REMAINDER,	   /* what is left then, which is not negative */
	GS_CODE_WITHIN,		   /* itself, if it lies between two constants, inclusive; else GS_OVERFLOW */
	/* of a date of the Gregorian calendar, in days since 2000-01-01 */
	GS_CODE_YEAR, /* -1 is the year before 1 */
	GS_CODE_MONTH,
	GS_CODE_DAY,
	GS_CODE_DAY_OF_YEAR
} gs_code;

/* An instruction of an expression in postfix.  Doubles are pushed alone: no arithmetic. */
typedef struct gs_instruction
{
	uint8_t code;	/* gs_code */
	uint8_t result; /* gs_number of what is pushed; of a column or constant, one that holds all its values */
	uint16_t zero;
	uint32_t operand; /* a column, or the offset of a gs_constant */
} gs_instruction;

/* The value of a computed column in rows for which every term is true, and which no choice before has. */
typedef struct gs_choice
{
	uint32_t terms; /* offset of gs_terms of the source's columns */
	uint32_t nterms;
	gs_instruction value; /* GS_CODE_COLUMN or GS_CODE_CONSTANT, of at most 64 bits; a constant at 0: NULL */
} gs_choice;

#define GS_STEPS_MAX_CHOICES 16u

/*
 * A column of COMPUTE: of an expression over the source's columns, NULL where one of these is, or of choices, NULL
 * where there is none.
 */
typedef struct gs_computed
{
	uint32_t code; /* offset of gs_instructions, of at most 64 bits, or of gs_choices */
	uint32_t ncode;
	uint32_t nchoices; /* 0, or ncode is */
	uint32_t zero;
} gs_computed;

/*
 * Columns of GS_I64.  Their code, choices, terms and constants of terms together are not longer than what is behind the
 * columns: shared ones would make a short list long work.
 */
typedef struct gs_compute_step
{
	gs_step step;
	uint32_t ncolumns; /* at least 1 */
	uint32_t zero;
	gs_computed columns[];
} gs_compute_step;

/* What aggregates do with an expression's values that are not NULL, beside GS_COUNT, GS_SUM, GS_MIN and GS_MAX. */
typedef enum gs_aggregation
{
	GS_DISTINCT = 16, /* count is the number of different values */
	GS_MODE,		  /* the most frequent value, of several such the least */
	GS_RANK_DISC,	  /* of n values, ascending and counted from 0: value max(ceil(fraction * n), 1) - 1 */
	GS_RANK_FLOOR,	  /* value floor(fraction * (n - 1)) */
	GS_RANK_CEIL	  /* value ceil(fraction * (n - 1)) */
} gs_aggregation;

/* An aggregate.  Without code, GS_COUNT of rows. */
typedef struct gs_aggregate
{
	uint32_t operation; /* gs_operation or gs_aggregation */
	uint32_t code;		/* offset of gs_instructions */
	uint32_t ncode;
	uint32_t terms; /* offset of gs_terms: rows for which one is not true are passed over */
	uint32_t nterms;
	uint32_t zero;
	double fraction; /* of GS_RANK_...: 0 to 1; else 0 */
} gs_aggregate;

/*
 * Without keys there is one group, even of no rows.  Rows whose keys are equal, NULL being equal to NULL, are a group;
 * 0 equals -0, and NaN equals NaN.
 */
typedef struct gs_group_step
{
	gs_step step;
	uint32_t naggregates; /* 0 only with keys */
	uint32_t nkeys;
	uint32_t keys; /* offset of the keys' columns, uint32_t */
	uint32_t zero;
	gs_aggregate aggregates[];
} gs_group_step;

/* An order of groups. */
typedef struct gs_top_order
{
	uint32_t member; /* as in gs_term; of aggregates, not the sum of doubles */
	uint8_t descending;
	uint8_t nulls_first;
	uint16_t zero;
} gs_top_order;

/* The first groups by these orders, most significant first; which of equal ones is not determined. */
typedef struct gs_top_step
{
	gs_step step;
	uint32_t norders; /* 1 to GS_STEPS_MAX_KEYS */
	uint32_t zero;
	uint64_t limit; /* more than 0 */
	gs_top_order orders[];
} gs_top_step;

/*
 * The places of rows from offset on, limit of them (0: all), by these orders, most significant first; which of equal
 * ones come first is not determined.  Without orders all rows, in any order: offset and limit are 0 then.
 */
typedef struct gs_rows_step
{
	gs_step step;
	uint32_t norders; /* 0 to GS_STEPS_MAX_KEYS */
	uint32_t zero;
	uint64_t offset, limit;
	gs_row_order orders[];
} gs_rows_step;

/* The place of a row: a segment's number, and the row's number in the segment. */
typedef struct gs_row
{
	uint32_t segment, row;
} gs_row;

/*
 * A group's key, or an aggregate's answer.  value: of integers, 128 bits in two's complement; of doubles, a double in
 * value[0].  SUM of integers that leaves 128 bits is GS_OVERFLOW; SUM of doubles adds in any order.  Of doubles NaN is
 * greatest, and given as the canonical quiet NaN.
 */
typedef struct gs_reduced
{
	uint64_t value[2];
	uint64_t count; /* values that were not NULL, of GS_DISTINCT different ones; 0: no value; of a key, 1 or 0 */
	uint32_t flags;
	uint32_t zero;
} gs_reduced;

/* The value, MIN, MAX, MODE, a rank or a key, is a zero, and there were zeros of both signs among those equal to it. */
#define GS_REDUCED_ZEROS 1u

/* Returns GS_OK if a list of at most available bytes follows every rule above.  The list must not change meanwhile. */
gs_status gs_steps_check(const gs_steps *steps, size_t available);

/* Bytes of a group, or of a row's place (gs_row), in a checked list's result. */
size_t gs_steps_result_bytes(const gs_steps *steps);

/*
 * Returns true if gs_reduce_rows carries out a checked list: GROUP without keys or windows, no aggregate that needs all
 * values at once (gs_aggregation), and none with terms.  All lists are carried out by gs_groups.h.
 */
bool gs_steps_reduces(const gs_steps *steps);

/*
 * Carries out a checked list for which gs_steps_reduces is true over rows whose columns are the source's.  The list,
 * the rows' lists and out lie in host memory, columns in the engine's.  Writes the results.  GS_OVERFLOW: see above.
 */
size_t gs_reduce_temp_bytes(const gs_engine *engine, const gs_held_rows *rows, const gs_steps *steps);
gs_status gs_reduce_rows(gs_engine *engine, const gs_held_rows *rows, const gs_steps *steps, gs_reduced *out,
						 void *temp, size_t temp_bytes);

/* Adds the results of other rows, by the same list. */
gs_status gs_reduced_combine(const gs_steps *steps, gs_reduced *into, const gs_reduced *from);

#ifdef __cplusplus
}
#endif

#endif
