/*
 * vectorengine.h: a question about vectors, executed by an engine.  Internal to vectorjob.c.
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

/* An array whose elements are the values of an answer. */
typedef struct ArrayAnswer
{
	MemoryContext cxt;			/* of the array */
	int			lower_bound;
	uint64		nulls;			/* number of NULL elements, which are first or last */
	bool		nulls_first;
	ArrayType  *array;
} ArrayAnswer;

typedef struct VectorQuestion
{
	gs_job_spec spec;			/* columns and filter.value are filled in later */
	const VectorColumn *columns;
	FilterConstant *constant;	/* of spec.filter, unless by flags */
	uint64		rows;
	const EngineOps *engine;	/* the engine to try first */

	ArrayAnswer *array;			/* VALUES: where the answer goes; NULL: to a block */
	void	   *answer;			/* elements of gs_job_result_bytes */
	uint64		count;			/* elements of the answer */
	uint64		selected;		/* PARTITION */

	MemoryContext cxt;			/* of everything but the answer */
	MemoryContext scratch;		/* for encoding; reset after every chunk */
	BigMem	   *mem;			/* in cxt */
	SortKey    *keys;
	gs_column_spec *specs;
	KeyWriter	writer;
	EngineJob  *job;
} VectorQuestion;

/* Initializes a question and chooses its engine.  The caller fills in the rest of spec. */
extern void question_begin(VectorQuestion *question, gs_op op, const VectorColumn *columns, int ncolumns);

/* Lets an engine, or after its failure the CPU, answer in mem.  Returns false if a column has no exact encoding. */
extern bool question_ask(VectorQuestion *question, BigMem *mem);

/* Raises the error for a status of the CPU engine. */
extern void question_raise(gs_status status);

#endif
