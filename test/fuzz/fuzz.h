/*
 * fuzz.h: what each program here is: one function for the bytes of an input, which libFuzzer or replay.c calls.
 */
#ifndef GPUSORT_FUZZ_H
#define GPUSORT_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* Returns 0; ends the program where a rule is broken. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n);

#define MUST(condition)                                                                                                \
	do                                                                                                                 \
	{                                                                                                                  \
		if (!(condition))                                                                                              \
		{                                                                                                              \
			fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);                                    \
			abort();                                                                                                   \
		}                                                                                                              \
	} while (0)

#endif
