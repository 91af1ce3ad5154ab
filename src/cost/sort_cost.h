/*
 * sort_cost.h: what sorts cost where gpusort does them, and the paths at that cost.
 */
#ifndef GPUSORT_SORT_COST_H
#define GPUSORT_SORT_COST_H

#include "sort_choice.h"

/*
 * Bytes of a block with all that belongs to it.  Two of them fit into the queue between a worker and the leader
 * (PARALLEL_TUPLE_QUEUE_SIZE), so that the leader reads one where it lies while the worker writes the next.
 */
#define BLOCK_BYTES ((Size) 32 * 1024 - 64)

/* Returns how many rows of a width make a block. */
extern double rows_of_block(int width);

/* How much less a SortPath of ours costs than it says, 0 if it is not to be ours. */
extern Cost sort_saving(PlannerInfo *root, const SortPath *sort, SortBound bound);

/* What a sort of ours of so many rows of an input takes. */
extern Cost sort_price(PlannerInfo *root, const Path *input, List *pathkeys, double rows);

/* What so many rows of some width take in blocks from workers to the leader, which gives them out. */
extern Cost blocks_price(double rows, int width);

/* What sorting a row by so many eight-byte words of key costs. */
extern Cost sort_row_cost(int words);

/* What it takes a worker to have memory for so many rows, where a session keeps that of its last sorts. */
extern Cost memory_price(double rows, int width);

/* How much less a Gather Merge costs than it says because the rows of a sort of ours come to it in blocks. */
extern Cost merge_saving(const GatherMergePath *merge, SortBound bound);

/* What may have to be added to a Gather Merge of groups of partial aggregates, whose number is a guess. */
extern Cost merge_doubt(PlannerInfo *root, const GatherMergePath *merge);

/*
 * What a hashed aggregate of all rows costs more than it says: its groups are a guess, and the server takes hashing for
 * next to nothing.
 */
extern Cost hash_unpriced(PlannerInfo *root, const AggPath *hashed, const AggClauseCosts *costs);

/*
 * Adds to the prices of sorted groups that have hashed ones beside them what sorts by keys without an exact encoding
 * leave out; for several participants, that each sort a part of so many rows, by these keys.
 */
extern void price_coarse_keys(PlannerInfo *root, List *paths);
extern void price_coarse_keys_of_shares(PlannerInfo *root, List *shares, List *pathkeys, double rows);

/* A full sort of some path at our price, NULL if that is no lower than the server's. */
extern Path *cheap_sort(PlannerInfo *root, RelOptInfo *rel, Path *input, List *pathkeys, SortBound bound);

/*
 * A Gather Merge over sorts of a relation, of so many rows, at our price in workers, NULL if there is nothing to win.
 * A different target would be computed below it, where blocks of rows cannot pass.
 */
extern Path *cheap_merge(PlannerInfo *root, RelOptInfo *rel, RelOptInfo *input, double rows, List *pathkeys,
						 SortBound bound, bool same_target);

/* Both, below a node that passes on no LIMIT, as far as there is something to win. */
extern List *cheap_sorts(PlannerInfo *root, RelOptInfo *rel, RelOptInfo *input, List *pathkeys);

/* Are a path's rows read by the page (core/pagescan.h)? */
extern bool is_read_by_page(const Path *path);

/* Forgets what is remembered of a query, before its memory is another one's. */
extern void forget_query(void);

#endif
