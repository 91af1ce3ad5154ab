/*
 * vectorengine.h: a question about vectors on its way through an engine; for vectorjob.c.
 */
#ifndef GPUSORT_VECTORENGINE_H
#define GPUSORT_VECTORENGINE_H

#include "src/keys/sortkey.h"
#include "vectorcompare.h"

#include "src/engine/engine.h"

/* The constant of a filter. */
typedef struct FilterConstant
{
	Datum		value;
	char		element[16] pg_attribute_aligned(16);
	StringInfo	bytes;			/* of a GS_BYTES column */
} FilterConstant;

/* An array that an answer's values become the elements of. */
typedef struct ArrayAnswer
{
	MemoryContext cxt;			/* where it is made */
	int			lower_bound;
	uint64		nulls;			/* so many of its elements are NULL: the first ones or the last ones */
	bool		nulls_first;
	ArrayType  *array;
} ArrayAnswer;

typedef struct VectorQuestion
{
	gs_job_spec spec;			/* columns and filter.value are filled in here */
	const VectorColumn *columns;
	FilterConstant *constant;	/* of spec.filter, unless it is by flags */
	uint64		rows;
	const EngineOps *engine;	/* that is asked first */

	ArrayAnswer *array;			/* VALUES: the answer goes there; NULL: to a block */
	void	   *answer;			/* elements of gs_job_result_bytes */
	uint64		count;			/* of them */
	uint64		selected;		/* PARTITION */

	MemoryContext cxt;			/* everything but the answer */
	MemoryContext scratch;		/* for encoding, reset with every chunk */
	BigMem	   *mem;			/* in cxt */
	SortKey    *keys;
	gs_column_spec *specs;
	KeyWriter	writer;
	EngineJob  *job;
} VectorQuestion;

/* Begins a question and chooses its engine; the caller fills in the rest of spec. */
extern void question_begin(VectorQuestion *question, gs_op op, const VectorColumn *columns, int ncolumns);

/*
 * Has an engine answer, with the answer in mem; on the CPU if the service does not.  False, and nothing done, if a
 * column has no exact encoding.
 */
extern bool question_ask(VectorQuestion *question, BigMem *mem);

/* Raises the error that a status of the CPU engine is. */
extern void question_raise(gs_status status);

#endif
