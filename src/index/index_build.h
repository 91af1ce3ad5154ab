/*
 * index_build.h: btrees whose rows gpusort sorts before PostgreSQL builds them.
 */
#ifndef GPUSORT_INDEX_BUILD_H
#define GPUSORT_INDEX_BUILD_H

/* Installs the hooks, in _PG_init. */
extern void index_build_init(void);

#endif
