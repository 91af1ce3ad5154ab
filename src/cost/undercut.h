/*
 * undercut.h: lets paths win against one whose cost leaves something out.
 */
#ifndef GPUSORT_UNDERCUT_H
#define GPUSORT_UNDERCUT_H

#include "nodes/pathnodes.h"

/* add_path considers costs equal within this factor. */
#define FUZZ 1.01

/* Returns the cheapest path of those with the fewest disabled nodes, or NULL. */
extern Path *cheapest(List *paths);

/*
 * Lets a path of this true cost win against those over windows of this many rows, which the server charges less than
 * they cost: each is stored.  Returns false, and leaves the path as it is, if it costs as much.
 */
extern bool undercut_windows(Path *path, Cost truth, List *others, double rows);

/* Scales the costs of paths, and of those below them down to the sorts, so that the cheapest is below another one. */
extern void scale_below(List *paths, const Path *other);

#endif
