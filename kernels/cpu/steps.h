/*
 * steps.h: lists of steps on the CPU: a plan made of the list, then blocks of rows: a mask of those that pass the
 * filter, the values of each expression one behind another, and the reduction of these.
 */
#ifndef GS_CPU_STEPS_H
#define GS_CPU_STEPS_H

#include "../common/steps_row.h"
#include "select.h"

#define GS_STEP_ROWS  1024 /* of a block with masks and buffers, which fit the L1 and L2 cache */
#define GS_STEP_WORDS (GS_STEP_ROWS / 64)
#define GS_PLAIN_ROWS 65536 /* of a block that needs neither */

/* Integers of 128 bits in columns of GS_U128, whose alignment is that of their halves. */
typedef gs_wide gs_held_wide __attribute__((aligned(8)));

/*
 * A range of keys.  The key of a value orders it within 64 bits: an integer itself, GS_U64 and the order of doubles
 * with the highest bit inverted.
 */
typedef struct gs_key_range
{
	int64_t low;
	uint64_t span;
} gs_key_range;

/* How a term is tested. */
typedef struct gs_term_plan
{
	const gs_term *term;
	gs_type type;
	enum
	{
		GS_TERM_RANGES, /* the value lies in one of the ranges, or in none (outside) */
		GS_TERM_BITS,	/* an unsigned integer whose bit is set */
		GS_TERM_ROWS,	/* row by row */
		GS_TERM_COLUMNS, /* the keys of two columns */
		GS_TERM_ALL,	/* every value passes */
		GS_TERM_NULLS,
		GS_TERM_NONE
	} kind;
	bool outside;
	uint32_t nranges;
	gs_key_range *ranges; /* ascending, with gaps between them */
} gs_term_plan;

/* An expression of one or more aggregates. */
typedef struct gs_expression_plan
{
	const gs_instruction *code;
	uint32_t ncode;
	gs_number number;
	uint64_t columns; /* a bit for each that it takes */
	bool computed;	  /* some aggregate takes its values, or some instruction may overflow */
} gs_expression_plan;

/* Values of a block, one behind another: a column's, GS_I64, GS_U128 for 128 bits with a sign, or GS_F64. */
typedef struct gs_values_of_block
{
	gs_type type;
	gs_number number;
	const void *values;
} gs_values_of_block;

typedef struct gs_steps_plan
{
	const gs_steps *steps;
	const gs_group_step *group; /* NULL: COMPUTE, WINDOW or ROWS takes the rows */
	const gs_loops *loops;
	const gs_select_loops *select;
	const struct gs_step_loops *reduce;
	uint32_t nterms, nexpressions;
	bool plain; /* no filter, and values that are reduced where they lie */
	gs_term_plan *terms;
	gs_expression_plan *expressions;
	uint32_t *expression_of; /* each aggregate's; none: GS_NO_EXPRESSION */
	gs_term_plan **clauses;	 /* each aggregate's terms, or those of each choice of computed columns */
	void *packed[GS_STEPS_MAX_COLUMNS];		/* room for a column's values of a block */
	void *slots[GS_STEPS_MAX_DEPTH + 1]; /* room for values of expressions, 16 bytes each */
} gs_steps_plan;

#define GS_NO_EXPRESSION UINT32_MAX

/* Reductions of arrays, a table for each instruction set. */
typedef struct gs_step_loops
{
	/* The sum of integers of at most 64 bits. */
	gs_wide (*sum)(gs_type type, const void *values, size_t n);
	double (*sum_real)(const double *values, size_t n);
	/* The least or greatest key of integers of at most 64 bits; of doubles, with the signs of zeros that were there. */
	gs_wide (*extreme)(gs_type type, const void *values, size_t n, bool greatest);
	uint64_t (*extreme_real)(const uint64_t *values, size_t n, bool greatest, uint32_t *zeros);
	/* Widens integers of at most 32 bits, and floats. */
	void (*widen)(gs_type type, const void *values, size_t n, void *to);
	/* Computes on 64 bits.  Returns false if some result leaves its range. */
	bool (*compute)(gs_code code, gs_number result, bool narrow, const int64_t *a, const int64_t *b, int64_t *out,
					size_t n);
} gs_step_loops;

const gs_step_loops *gs_step_loops_choose(gs_vectors vector);

/* steps_plan.c: lays a plan of a list out in memory; memory NULL: returns its bytes only. */
size_t gs_steps_plan_make(gs_steps_plan *plan, const gs_steps *steps, char *memory);

/* A block of rows of one segment. */
typedef struct gs_rows_block
{
	const gs_held *columns;
	uint64_t first;
	uint32_t n;
	uint32_t passed;
	const uint64_t *mask; /* NULL: all rows pass */
	uint64_t packed;	  /* columns whose values lie packed by that mask, a bit for each */
} gs_rows_block;

/* steps.c: finds the rows of a block of which no column of some is NULL.  Returns their number, all: mask is NULL. */
uint32_t gs_block_valid(const gs_rows_block *b, uint64_t columns, uint64_t *own, const uint64_t **mask);
/* Packs the values of a mask's rows, for which, and for 64 more, there is room. */
void gs_block_pack(const gs_steps_plan *plan, gs_type type, const char *from, const uint64_t *mask, uint32_t n,
				   char *to);
/* Makes each of some columns lie without gaps: the values of the mask's rows, at[c] for column c. */
void gs_block_gather(gs_steps_plan *plan, gs_rows_block *b, uint64_t columns, const uint64_t *mask, const void **at);

/* steps_filter.c: computes the mask of n rows that pass all terms.  Returns how many do. */
uint32_t gs_steps_mask(const gs_steps_plan *plan, const gs_term_plan *terms, uint32_t nterms, const gs_held *columns,
					   uint64_t first, uint32_t n, uint64_t *mask);
/* Returns the null bits of up to 64 rows from any row on. */
uint64_t gs_null_bits(const uint64_t *nulls, uint64_t first, uint32_t n);

/* steps_values.c: computes an expression of n rows whose columns are given.  Returns false on overflow. */
bool gs_steps_values(gs_steps_plan *plan, const gs_expression_plan *e, const void *const *columns, uint32_t n,
					 gs_values_of_block *out);

#endif
