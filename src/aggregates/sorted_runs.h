/*
 * sorted_runs.h: states of gpu_rle(value, sort_key) that came in order of their keys.  Each piece, a worker's state,
 * has keys in order and, instead of a value of each row, one of each run of identical values: so the answer is a merge
 * of the pieces that looks at few of their rows, instead of another sort.
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

/* Begins a piece.  Returns false if the state has rows that are none of a piece. */
extern bool sortedruns_begin_piece(Collected *state);

/* Appends a run to the last piece: its value, and keys as they lie in memory.  Returns how many fit the limit. */
extern uint64 sortedruns_put(Collected *state, const NullableDatum *value, const char *keys, uint64 count);

/* Replaces the pieces by rows, which may be spilled. */
extern void sortedruns_expand(FunctionCallInfo fcinfo, Collected *state);

/* Returns the runs of equal values of all pieces, in order, in a block of mem. */
extern const gs_run *sortedruns_merge(BigMem *mem, const Collected *state, uint64 *count);

#endif
