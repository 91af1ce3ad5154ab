/*
 * plan_share_rules.h: which queries can be computed in shares, and by which keys.
 */
#ifndef GPUSORT_PLAN_SHARE_RULES_H
#define GPUSORT_PLAN_SHARE_RULES_H

#include "share_build.h"

/* Begins shares of an input, sorted by pathkeys.  Returns false if a participant cannot read it, or without workers. */
extern bool share_begin(ShareBuild *build, PlannerInfo *root, RelOptInfo *input, RelOptInfo *output,
						const List *pathkeys);

/* Chooses the share keys among the grouping keys; false if none helps.  Prefers one that divides rows evenly. */
extern bool share_choose_keys(ShareBuild *build, List *keys);

/* Replaces the two above if the input is divided by shares already, by some of these keys; else returns false. */
extern bool share_begin_shared(ShareBuild *build, PlannerInfo *root, RelOptInfo *input, RelOptInfo *output,
							   List *keys);

/* Returns true if workers may compute expressions.  Window functions may: one process has all of a result. */
extern bool safe_in_shares(PlannerInfo *root, List *exprs);

#endif
