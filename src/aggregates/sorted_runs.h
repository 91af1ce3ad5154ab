/*
 * sorted_runs.h: states of gpu_rle(value, sort_key) that came in order of their keys.  Each piece, a worker's state, or
 * the rows of a process as long as they come in order, has keys in order and, instead of a value of each row, one of
 * each run of identical values: so the answer is a merge of the pieces that looks at few of their rows, instead of
 * another sort.
 */
#ifndef GPUSORT_SORTED_RUNS_H
#define GPUSORT_SORTED_RUNS_H

#include "collect.h"

typedef struct SortedRuns
{
	VectorType	end_type;
	Vector		ends;			/* of each run, in the rows of all pieces */
	uint32	   *pieces;			/* the first run of each */
	int			npieces;
	int			room;			/* for pieces */
} SortedRuns;

/* Returns true if a column's order depends on nothing but bits, so that pieces of other machines are in it. */
extern bool sortedruns_can_order(const VectorColumn *keys);

/* One of so many neighbours must be the same for runs to be less work than rows (measured). */
#define SORTEDRUNS_LEAST_SAME 8

/* After so many rows a state is looked at: their order tells what follows. */
#define SORTEDRUNS_ROWS 256

/* Returns true if two rows of a vector are both NULL or have the same bytes.  Equal values may look different. */
extern bool sortedruns_same(const Vector *vector, uint32 a, uint32 b);

/* Makes the rows of a state a piece, if they came in order of their keys and have runs. */
extern void sortedruns_try(Collected *state);

/* Appends a row, to the last piece if the key follows.  Returns false if it is NULL, in no order, or at the limit. */
extern bool sortedruns_add(Collected *state, const NullableDatum *row);

/* Begins a piece.  Returns false if the state has rows that are none of a piece. */
extern bool sortedruns_begin_piece(Collected *state);

/* Appends a run to the last piece: its value, and keys as they lie in memory.  Returns how many fit the limit. */
extern uint64 sortedruns_put(Collected *state, const NullableDatum *value, const char *keys, uint64 count);

/* Replaces the pieces by rows, which may be spilled. */
extern void sortedruns_expand(FunctionCallInfo fcinfo, Collected *state);

/* Returns the runs of equal values of all pieces, in order, in a block of mem. */
extern const gs_run *sortedruns_merge(BigMem *mem, const Collected *state, uint64 *count);

#endif
