/*
 * engine_choose.h: chooses the engine of a job.
 */
#ifndef GPUSORT_ENGINE_CHOOSE_H
#define GPUSORT_ENGINE_CHOOSE_H

#include "engine.h"

/* Converts rows with keys of key_bytes to the number of 8-byte keys that gain as much from a GPU. */
extern double engine_work(double rows, double key_bytes);

/* Returns the engine for this much work.  Sets *why if the service should have had the job and cannot. */
extern const EngineOps *engine_choose(double rows, EngineFailure *why);

#endif
