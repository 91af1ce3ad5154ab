/*
 * undercut.h: lets paths win against one whose cost leaves something out.
 */
#ifndef GPUSORT_UNDERCUT_H
#define GPUSORT_UNDERCUT_H

#include "nodes/pathnodes.h"

/* add_path considers costs equal within this factor. */
#define FUZZ 1.01

/* Returns the cheapest path, or NULL. */
extern Path *cheapest(List *paths);

/* Scales the costs of paths, and of those below them down to the sorts, so that the cheapest is below another one. */
extern void scale_below(List *paths, const Path *other);

#endif
