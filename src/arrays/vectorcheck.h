/*
 * vectorcheck.h: verifies an engine's answer to a question about vectors.
 */
#ifndef GPUSORT_VECTORCHECK_H
#define GPUSORT_VECTORCHECK_H

#include "vectorengine.h"

/* Checks an answer's form, always if from another process, and its content as gpusort.verify says. */
extern bool vectorcheck(const VectorQuestion *question);

#endif
