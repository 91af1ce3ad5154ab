/*
 * vectorcheck.h: can what an engine answered to a question about vectors be true?
 */
#ifndef GPUSORT_VECTORCHECK_H
#define GPUSORT_VECTORCHECK_H

#include "vectorengine.h"

/*
 * Looks at a whole answer.  What another process wrote must have the form of an answer, since row numbers become places
 * in memory; whether it is the right one is looked at as far as gpusort.verify says.  Takes memory from the question's
 * context.
 */
extern bool vectorcheck(const VectorQuestion *question);

#endif
