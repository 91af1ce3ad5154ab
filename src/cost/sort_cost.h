/*
 * sort_cost.h: the cost of gpusort's sorts, and paths at that cost.
 */
#ifndef GPUSORT_SORT_COST_H
#define GPUSORT_SORT_COST_H

#include "sort_choice.h"

/* Bytes of a block with its overhead.  Two fit into a worker's queue: the leader reads one, the worker writes one. */
#define BLOCK_BYTES ((Size) 32 * 1024 - 64)

/* Returns the number of rows of a width that fit into a block. */
extern double rows_of_block(int width);

/* Returns how much less a SortPath costs with gpusort, or 0 if gpusort does not take it over. */
extern Cost sort_saving(PlannerInfo *root, const SortPath *sort, SortBound bound);

/* Returns the cost of sorting rows of an input by gpusort. */
extern Cost sort_cost_of(PlannerInfo *root, const Path *input, List *pathkeys, double rows);

/* Returns the cost of sending rows in blocks from workers to the leader, which returns them. */
extern Cost blocks_cost(double rows, int width);

/* Returns the cost of sorting a row by a key of this many eight-byte words. */
extern Cost sort_row_cost(int words);

/* Returns a worker's cost of faulting in memory for these rows.  A session keeps that of its last sorts instead. */
extern Cost memory_cost(double rows, int width);

/* Returns how much less a Gather Merge costs if gpusort's rows arrive in blocks. */
extern Cost merge_saving(const GatherMergePath *merge, SortBound bound);

/* Returns a surcharge for a Gather Merge of partial aggregates whose number of groups is a guess. */
extern Cost merge_doubt(PlannerInfo *root, const GatherMergePath *merge);

/* Returns what the server's cost of a hashed aggregate of all rows leaves out: groups are guessed, hashing is cheap. */
extern Cost omitted_hash_cost(PlannerInfo *root, const AggPath *hashed, const AggClauseCosts *costs);

/* Adds the cost of inexact keys to sorted groups that compete with hashed ones.  Shares divide the rows. */
extern void charge_coarse_keys(PlannerInfo *root, List *paths);
extern void charge_coarse_keys_of_shares(PlannerInfo *root, List *shares, List *pathkeys, double rows);

/* Returns a full sort of a path at gpusort's cost, or NULL if that is not below the server's. */
extern Path *cheap_sort(PlannerInfo *root, RelOptInfo *rel, Path *input, List *pathkeys, SortBound bound);

/* Returns a Gather Merge over gpusort's sorts in workers, or NULL if it is not cheaper.  same_target allows blocks. */
extern Path *cheap_merge(PlannerInfo *root, RelOptInfo *rel, RelOptInfo *input, double rows, List *pathkeys,
						 SortBound bound, bool same_target);

/* Returns those of cheap_sort and cheap_merge that exist, for a node that passes on no LIMIT. */
extern List *cheap_sorts(PlannerInfo *root, RelOptInfo *rel, RelOptInfo *input, List *pathkeys);

/* Returns true if a path's rows can be read by the page (core/pagescan.h). */
extern bool is_read_by_page(const Path *path);

/* Clears what is cached of a query, before its memory is reused. */
extern void forget_query(void);

#endif
