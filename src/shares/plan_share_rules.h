/*
 * plan_share_rules.h: which queries can be computed in shares, and by which keys.
 */
#ifndef GPUSORT_PLAN_SHARE_RULES_H
#define GPUSORT_PLAN_SHARE_RULES_H

#include "share_build.h"

/*
 * Begins to plan shares of an input, sorted by pathkeys, for an output.  Returns false if some participants cannot read
 * it, or no workers are available.
 */
extern bool share_begin(ShareBuild *build, PlannerInfo *root, RelOptInfo *input, RelOptInfo *output,
						const List *pathkeys);

/*
 * Chooses the share keys among the grouping keys.  Prefers a single key that divides rows evenly, because it is hashed
 * faster and serves more queries above.  Returns false if no keys help.
 */
extern bool share_choose_keys(ShareBuild *build, List *keys);

/*
 * Replaces share_begin and share_choose_keys if the input is divided by shares already, by some of these keys or
 * expressions below them.  Returns false if it is not.
 */
extern bool share_begin_shared(ShareBuild *build, PlannerInfo *root, RelOptInfo *input, RelOptInfo *output,
							   List *keys);

/*
 * Returns true if workers may compute expressions.  The server considers window functions parallel restricted, because
 * their results would differ between processes.  With shares, each result comes from one process.
 */
extern bool safe_in_shares(PlannerInfo *root, List *exprs);

#endif
