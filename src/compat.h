/*
 * compat.h: the differences between PostgreSQL 15 and 18, all of them.
 */
#ifndef GPUSORT_COMPAT_H
#define GPUSORT_COMPAT_H

#if PG_VERSION_NUM < 150000
#error "gpusort needs PostgreSQL 15 or later"
#endif

/* 16 took variable-length datums out of postgres.h */
#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif

#endif
