/*
 * gs_groups.h: carries out lists of steps (gs_steps.h) with windows, with keys, with aggregates that need all values of
 * a group at once, or with ROWS, by several workers.
 *
 *   open                        by one thread
 *   rows, as often as needed    workers at once, each with its own number
 *   parts                       by one thread, when all rows have come; then again after each round of parts, until it
 *                               returns 0
 *   part, for each part once    workers at once; rows' columns are read again
 *   end, read, close            by one thread
 *
 * With ROWS, a segment has one number in all calls of rows, which gs_row repeats; the columns that a call names, with
 * their list (gs_held_rows.columns), are read until the end, its spans during the call.
 *
 * On a device there is one worker, whose engine is the device's, and rows comes once.  Memory is the hosts' of the
 * engines that are passed.  After any status but GS_OK only close may follow.
 */
#ifndef GS_GROUPS_H
#define GS_GROUPS_H

#include "gs_steps.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * What is known of a source's column before its rows come: a range that holds all its values which are not NULL, as
 * integers; of doubles, as gs_float_order64 (common/float_order.h) orders them, zeros being equal.  Of columns that are
 * neither keys, nor counted, nor an order of ROWS it may be empty (low > high).
 */
typedef struct gs_range
{
	gs_constant low, high;
	bool nulls;		/* there may be some */
	bool placed;	/* rows come in its order, and no two are equal by it: see gs_groups_placed */
	uint64_t apart; /* of GS_I64: each value is low and a multiple of this more; 0: that is not known */
} gs_range;

typedef struct gs_groups gs_groups;

/*
 * rows: at most so many will come.  The list and the ranges are read until the end.  GS_TOO_BIG: a window's partition
 * columns, or its orders, that do not fit GS_GROUPS_KEY_BITS together (the orders that fit no more may have as many
 * again, on a device three times); keys, or columns of orders, that do not fit GS_GROUPS_WIDE_BITS, or of which one
 * with its NULL does not fit 128; on a device those that do not fit GS_GROUPS_KEY_BITS, values of a gs_aggregation
 * whose range has more than 64, and windows' sums of integers that may leave 128 (from gs_groups_rows: sums of doubles,
 * of frames that begin with partitions of more than 1,048,576 rows).  GS_INVALID: the engine has no such steps.
 */
gs_status gs_groups_open(gs_engine *engine, const gs_steps *steps, const gs_range *ranges, uint64_t rows,
						 uint32_t workers, gs_groups **groups);
#define GS_GROUPS_KEY_BITS	64
#define GS_GROUPS_WIDE_BITS 512

/*
 * Returns true if the rows of a list may come in the order of a column instead of having it: its range is
 * placed, its values are not read, and all rows come in one call of gs_groups_rows.  It is then the only order of a
 * window without partition, which takes the list's rows, and nothing else.
 */
bool gs_groups_placed(const gs_steps *steps, uint32_t column);

/* Adds rows.  GS_INVALID: a value outside its range. */
gs_status gs_groups_rows(gs_groups *groups, uint32_t worker, gs_engine *engine, const gs_held_rows *rows);

/* Returns how many parts the next round has; 0: none is left. */
uint32_t gs_groups_parts(gs_groups *groups);
gs_status gs_groups_part(gs_groups *groups, uint32_t worker, gs_engine *engine, uint32_t part);

/* The most bytes of a result, so that memory ends nowhere: GS_TOO_BIG, from gs_groups_part or gs_groups_end. */
#define GS_GROUPS_MOST_BYTES ((uint64_t) 256 << 20)

/*
 * Carries out what follows GROUP.  count becomes the number of groups, or rows, in the result.  GS_TOO_BIG: more than
 * limit (0: no limit) would be left.
 */
gs_status gs_groups_end(gs_groups *groups, gs_engine *engine, uint64_t limit, uint64_t *count);

/*
 * Copies groups, or rows, first to first + n - 1, of gs_steps_result_bytes each, to host memory.  They are in any order
 * without TOP, or orders of rows.
 */
gs_status gs_groups_read(gs_groups *groups, gs_engine *engine, uint64_t first, uint64_t n, void *out);

void gs_groups_close(gs_groups *groups, gs_engine *engine);

#ifdef __cplusplus
}
#endif

#endif
