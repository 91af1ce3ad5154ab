/*
 * groups.h: lists of steps with groups, or with ROWS, for engines, internal: the operations of an engine, and what all
 * engines share: packed keys, and the list of groups that pass HAVING and, with TOP, are the first.
 */
#ifndef GS_GROUPS_INTERNAL_H
#define GS_GROUPS_INTERNAL_H

#include "common/divisors.h"
#include "common/steps_row.h"
#include "common/types.h"
#include "engine.h"
#include "gs_groups.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * A key, or an order's column, as a part of the packed key: ((code >> drop) - low) / apart, or null_code.  code: an
 * integer, or an order of doubles.  Descending: span less that.  bump is added to values: 1 where NULLs come first,
 * else 0.
 */
typedef struct gs_packed_key
{
	uint32_t column;
	gs_type type;
	uint32_t bits, shift; /* its place in the packed key */
	uint32_t drop;		  /* of a float's order as a double, bits that the others determine */
	uint64_t span_above;  /* the upper half of span */
	gs_wide low;
	uint64_t span;		/* the greatest part of a value */
	uint64_t null_code; /* the lower half of span + 1; of NULLs that are first, 0 */
	uint64_t bump;
	uint64_t apart;	  /* values are low and multiples of this more: an odd number times 2^even; 1 but in windows */
	uint64_t inverse; /* of the odd number, mod 2^64; see gs_quotient_of */
	uint32_t even;
	bool descending;
	bool nulls;			/* there may be some */
	bool zeros;			/* a double that may be zero, of which gs_reduced tells the sign */
} gs_packed_key;

/*
 * The packed key of a list, whose order is that of the keys, the first one being most significant.  One of more than
 * GS_GROUPS_KEY_BITS is wide: words, the least significant one first, of which the last is full.
 */
typedef struct gs_packed_keys
{
	uint32_t n, bits;
	uint32_t words; /* of a wide key; else 0 */
	gs_packed_key keys[GS_STEPS_MAX_KEYS];
} gs_packed_keys;

#define GS_WIDE_WORDS (GS_GROUPS_WIDE_BITS / 64) /* at most, of a wide key */

/*
 * Plans the packed key of some orders, of at most some bits, else GS_TOO_BIG.  GS_INVALID: a range of no such type.
 * apart, if not NULL: for each column how far values are apart, 1 if that is not known.
 */
gs_status gs_packed_orders_make(gs_packed_keys *keys, const gs_steps *steps, const gs_range *ranges,
								const uint64_t *apart, const gs_row_order *orders, uint32_t n, uint32_t most);
/* Has values of a key known to be so far apart, which may be 1. */
void gs_packed_key_divide(gs_packed_key *key, uint64_t apart);

/* Returns the part of a value, of which (code >> drop) - low is known. */
GS_BOTH uint64_t
gs_packed_key_turn(const gs_packed_key *key, uint64_t x)
{
	return (key->descending ? key->span - x : x) + key->bump;
}

/* Returns the double of an order: the inverse of gs_float_order64. */
GS_BOTH double
gs_real_of_order(uint64_t order)
{
	return gs_bits_real(order >> 63 ? order ^ (uint64_t) 1 << 63 : ~order);
}

/* Returns the value of a key's part that is not NULL; that of a zero is +0. */
GS_BOTH gs_reduced
gs_key_part_value(const gs_packed_key *key, gs_unsigned_wide part)
{
	gs_scalar v;
	uint64_t order;

	v.integer = (gs_wide) ((gs_unsigned_wide) key->low + part * key->apart);
	v.real = 0;
	if (!gs_type_is_float(key->type))
		return gs_reduced_one(GS_MIN, gs_number_of(key->type), v);
	order = (uint64_t) v.integer << key->drop;
	if (order >> 63 == 0)
		order |= gs_mask(key->drop);
	v.real = gs_real_of_order(order);
	return gs_reduced_one(GS_MIN, GS_NUMBER_F64, v);
}

/* Returns a key's value. */
GS_BOTH gs_reduced
gs_packed_key_value(const gs_packed_key *key, uint64_t packed)
{
	const uint64_t part = key->bits == 0 ? 0 : packed >> key->shift & gs_mask(key->bits);

	return key->nulls && part == key->null_code ? gs_reduced_none() : gs_key_part_value(key, part);
}

/* Returns the greatest part of a key's value. */
GS_BOTH gs_unsigned_wide
gs_key_span(const gs_packed_key *key)
{
	return (gs_unsigned_wide) key->span_above << 64 | key->span;
}

/* Returns the part of NULL. */
GS_BOTH gs_unsigned_wide
gs_key_null(const gs_packed_key *key)
{
	return key->bump ? 0 : gs_key_span(key) + 1;
}

/* Returns a key's value, of a wide one's words. */
gs_reduced gs_wide_key_value(const gs_packed_key *key, const uint64_t *words);

/* Returns true if a group passes every term of HAVING, which may be NULL. */
GS_BOTH bool
gs_having_passes(const gs_steps *steps, const gs_filter_step *having, const uint8_t *kinds, const gs_reduced *group)
{
	for (uint32_t t = 0; having != NULL && t < having->nterms; t++)
	{
		const gs_term *term = &having->terms[t];
		const uint8_t kind = kinds[term->column];
		const bool null = gs_member_null(kind, &group[term->column]);

		if (null || term->test >= GS_TEST_IS_NULL)
		{
			if (term->test != (uint32_t) (null ? GS_TEST_IS_NULL : GS_TEST_NOT_NULL))
				return false;
		}
		else if (!gs_code_passes(steps, term, gs_member_code(kind, &group[term->column]), kind == GS_MEMBER_REAL))
			return false;
	}
	return true;
}

/* Groups that pass HAVING; with TOP, the first of them. */
typedef struct gs_group_list
{
	const gs_steps *steps;
	const gs_filter_step *having;
	const gs_top_step *top;
	gs_host host;
	uint32_t members;
	uint64_t n, room;
	gs_reduced *groups;
	uint8_t kinds[GS_STEPS_MAX_KEYS + GS_STEPS_MAX_AGGREGATES]; /* of the members */
} gs_group_list;

/* Returns how many rows a page has, of those that pass. */
GS_BOTH uint64_t
gs_page_rows(const gs_rows_step *step, uint64_t rows)
{
	const uint64_t left = step->offset < rows ? rows - step->offset : 0;

	return step->limit > 0 && step->limit < left ? step->limit : left;
}

void gs_group_list_init(gs_group_list *list, const gs_steps *steps, const gs_host *host);
/* Adds a group that has passed HAVING. */
gs_status gs_group_list_put(gs_group_list *list, const gs_reduced *group);
/* Adds a group, if it passes. */
gs_status gs_group_list_add(gs_group_list *list, const gs_reduced *group);
/* Adds the groups of another list by the same steps, which have passed HAVING. */
gs_status gs_group_list_join(gs_group_list *list, const gs_group_list *from);
/* Puts the groups in TOP's order.  Nothing can be added any more. */
void gs_group_list_finish(gs_group_list *list);
void gs_group_list_release(gs_group_list *list);

/* What engines' gs_groups begin with. */
struct gs_groups
{
	const struct gs_group_ops *ops;
	const gs_steps *steps;
	const gs_range *ranges;
	uint64_t rows; /* at most */
	uint32_t workers;
	uint32_t round; /* the next one of parts */
	bool passing;	/* rows are there only while they are added: they cannot be read again */
	bool followed;	/* the rows of a group follow each other */
	gs_packed_keys keys;
	struct gs_groups *after; /* the question of the steps behind, whose answer this one's is; or NULL */
};

/* Opens what a head says, without its operations and keys. */
gs_status gs_groups_begin(gs_engine *engine, gs_groups *head, gs_groups **groups);
/* Implement end and read by those of the question behind. */
gs_status gs_groups_end_after(gs_groups *groups, gs_engine *engine, uint64_t *count);
gs_status gs_groups_read_after(gs_groups *groups, gs_engine *engine, uint64_t first, uint64_t n, void *out);

struct gs_group_ops
{
	/* head is filled in; the engine copies it. */
	gs_status (*open)(gs_engine *engine, const gs_groups *head, gs_groups **groups);
	gs_status (*rows)(gs_groups *groups, uint32_t worker, gs_engine *engine, const gs_held_rows *rows);
	uint32_t (*parts)(gs_groups *groups, uint32_t round); /* if it fails, end says so */
	gs_status (*part)(gs_groups *groups, uint32_t worker, gs_engine *engine, uint32_t part);
	gs_status (*end)(gs_groups *groups, gs_engine *engine, uint64_t *count);
	gs_status (*read)(gs_groups *groups, gs_engine *engine, uint64_t first, uint64_t n, void *out);
	void (*close)(gs_groups *groups, gs_engine *engine);
	bool wide;	 /* packed keys may be wide */
	bool placed; /* ranges may be */
};

/*
 * windows.c: makes the list of the steps behind the WINDOW step that takes a list's rows, of the list's bytes, in the
 * host's memory; the ranges of its columns, and which of them it takes.
 */
gs_status gs_window_after(const gs_host *host, const gs_groups *head, gs_range *ranges, gs_steps **made,
						  uint64_t *taken);
/* Finds the column of runs that are the groups of the list behind a window, which follows at once, or GS_NO_COLUMN. */
uint32_t gs_window_runs(const gs_steps *steps, const gs_steps *after);
/* Returns true if the rows of a list come in the order of its window (gs_groups_placed). */
bool gs_window_placed(const gs_groups *head);
/* Returns true if the partitions are these groups. */
bool gs_window_partitions(const gs_steps *steps, const gs_steps *after);

/*
 * computed.c: makes the list of the steps behind the COMPUTE step, of the list's bytes, in the host's memory; the
 * ranges of its columns; and which of the computed ones are needed: those that it takes, or that may overflow.
 */
gs_status gs_computed_after(const gs_host *host, const gs_groups *head, gs_range *ranges, gs_steps **made,
							uint64_t *needed);

/* Returns the columns that the steps of a list take from one on, up to its groups, a bit for each. */
uint64_t gs_steps_columns(const gs_steps *steps, const gs_step *from);
/* Returns the columns that are arguments of a window's functions. */
uint64_t gs_window_arguments(const gs_window_step *w);

/* columns.c: returns true if rows can be read, and their columns are the source of the list. */
bool gs_held_rows_valid(const gs_held_rows *rows, const gs_steps *steps);

/* Returns the rows of all spans. */
static inline uint64_t
gs_held_rows_count(const gs_held_rows *rows)
{
	uint64_t n = 0;

	for (uint64_t i = 0; i < rows->nspans; i++)
		n += rows->spans[i].rows;
	return n;
}

#ifdef __cplusplus
}
#endif

#endif
