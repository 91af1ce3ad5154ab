/*
 * server.h: what the programs of this module share.  Each checks one input, and raises an error where a rule is broken.
 */
#ifndef GPUSORT_TEST_SERVER_H
#define GPUSORT_TEST_SERVER_H

#include "postgres.h"

/* An input being read; zeros come behind its end. */
typedef struct Input
{
	const uint8 *at;
	const uint8 *end;
} Input;

static inline uint8
take_byte(Input *input)
{
	return input->at < input->end ? *input->at++ : 0;
}

/* How many bytes are left. */
static inline Size
bytes_left(const Input *input)
{
	return (Size) (input->end - input->at);
}

/* Every encoder of sort keys against the comparison function of its type. */
extern void check_keys(const uint8 *bytes, Size n);

/* Rows of temporary files, broken ones among them. */
extern void check_runs(const uint8 *bytes, Size n);

/* Rows that leave as messages, against the functions of their types. */
extern void check_output(const uint8 *bytes, Size n);

#endif
