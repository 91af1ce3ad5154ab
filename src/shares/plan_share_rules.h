/*
 * plan_share_rules.h: which queries may be computed in shares, and by which keys.
 */
#ifndef GPUSORT_PLAN_SHARE_RULES_H
#define GPUSORT_PLAN_SHARE_RULES_H

#include "share_build.h"

/*
 * Begins to plan shares of an input for an output; false if participants could not all read it, or
 * there are no workers to be had.
 */
extern bool share_begin(ShareBuild *build, PlannerInfo *root, RelOptInfo *input, RelOptInfo *output);

/*
 * Chooses the share keys among those that rows of one group have in common: one alone if it makes even shares, because
 * it is hashed sooner and serves more queries above.  False if there are none that help.
 */
extern bool share_choose_keys(ShareBuild *build, List *keys);

/*
 * Instead of both: begins with what is in shares already, by some of these keys or what they are made of; false if
 * nothing is.
 */
extern bool share_begin_shared(ShareBuild *build, PlannerInfo *root, RelOptInfo *input, RelOptInfo *output,
							   List *keys);

/*
 * May workers compute expressions?  The server takes window functions for restricted, because they would give different
 * answers in different processes.  But here each answer comes from one process.
 */
extern bool safe_in_shares(PlannerInfo *root, List *exprs);

#endif
