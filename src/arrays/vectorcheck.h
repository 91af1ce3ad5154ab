/*
 * vectorcheck.h: verifies an engine's answer to a question about vectors.
 */
#ifndef GPUSORT_VECTORCHECK_H
#define GPUSORT_VECTORCHECK_H

#include "vectorengine.h"

/*
 * Checks a complete answer.  The form of answers from another process is always checked, as row numbers become memory
 * accesses; gpusort.verify determines how much of the content is.  Allocates in the question's context.
 */
extern bool vectorcheck(const VectorQuestion *question);

#endif
