/*
 * plan_paths.h: the parts of the path hook, which plan_paths.c puts together.
 */
#ifndef GPUSORT_PLAN_PATHS_H
#define GPUSORT_PLAN_PATHS_H

#include "plan.h"

/* plan_price.c: how much less a SortPath of ours costs than it says, 0 if it is not to be ours. */
extern Cost sort_saving(PlannerInfo *root, const SortPath *sort, SortBound bound);

/* What a sort of ours of so many rows of an input takes. */
extern Cost sort_price(PlannerInfo *root, const Path *input, List *pathkeys, double rows);

/* What so many rows of some width take in blocks from workers to the leader, which gives them out. */
extern Cost blocks_price(double rows, int width);

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
 * Adds to the prices of sorted groups that have hashed ones beside them what sorts by texts leave out; for several
 * participants, that each sort a part of so many rows, by these keys.
 */
extern void price_texts(PlannerInfo *root, List *paths);
extern void price_texts_of_shares(PlannerInfo *root, List *shares, List *pathkeys, double rows);

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

/* plan_share_node.c: are a path's rows read by the page (core/pagescan.h)? */
extern bool is_read_by_page(const Path *path);

/* plan_cores.c: how many participants the server counts where there are so many workers. */
extern double divisor_of(int workers);

/*
 * How many times as long as the server takes for it such participants take for what they divide, by gpusort.cores or
 * the cores that this process may have: 1 where there are enough.
 */
extern double crowding(int workers);

/* Of so many workers those that run at the same time, beside the leader where it takes part. */
extern int	workers_at_once(int workers);

/* plan_copies.c: paths like those of a list, over cheaper sorts; window functions may sort the input anew, if given. */
extern List *copy_paths(PlannerInfo *root, RelOptInfo *rel, RelOptInfo *input, List *paths);

/* plan_copies.c: does a relation's output hold what it takes to sort by all pathkeys? */
extern bool can_sort_by(PlannerInfo *root, RelOptInfo *rel, List *pathkeys);

/* What the server's ways of grouping all input rows have in common. */
typedef struct Grouping
{
	List	   *clause;
	List	   *qual;
	double		groups;
	PathTarget *target;
} Grouping;

/*
 * plan_shares.c: like the window functions of one of the server's paths, those of a participant for a share of the
 * groups, as a partial path, and a Gather over it; NIL if that cannot be.
 */
extern List *share_windows(PlannerInfo *root, RelOptInfo *input, RelOptInfo *window);

/* The same of DISTINCT, over that order, with so many rows. */
extern List *share_distinct(PlannerInfo *root, RelOptInfo *input, RelOptInfo *distinct, List *pathkeys, double rows);

/* The same of GROUP BY. */
extern List *share_groups(PlannerInfo *root, RelOptInfo *input, RelOptInfo *grouped, const Grouping *grouping,
						  const AggClauseCosts *costs);

/*
 * May workers compute expressions?  The server takes window functions for restricted, because they would give different
 * answers in different processes.  But here each answer comes from one process.
 */
extern bool safe_in_shares(PlannerInfo *root, List *exprs);

#endif
