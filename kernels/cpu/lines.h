/*
 * lines.h: full lines of the cache that are stored past it, as they are not read before all are there.
 */
#ifndef GS_CPU_LINES_H
#define GS_CPU_LINES_H

#include "cpu.h"

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

/* Stores an aligned line. */
static inline void
gs_store_line(void *to, const void *line)
{
#if defined(__x86_64__)
	for (int i = 0; i < GS_ALIGN / 16; i++)
		_mm_stream_si128((__m128i *) to + i, _mm_load_si128((const __m128i *) line + i));
#else
	memcpy(to, line, GS_ALIGN);
#endif
}

/* Has lines that were stored seen before what is stored from now on. */
static inline void
gs_lines_end(void)
{
#if defined(__x86_64__)
	_mm_sfence();
#endif
}

#endif
