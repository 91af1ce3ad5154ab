/*
 * engine_choose.h: which engine a job gets.
 */
#ifndef GPUSORT_ENGINE_CHOOSE_H
#define GPUSORT_ENGINE_CHOOSE_H

#include "engine.h"

/* Rows with keys of so many bytes as the number of rows with eight bytes that gain as much from a GPU. */
extern double engine_work(double rows, double key_bytes);

/* The engine for so much work; why is not ENGINE_OK if the service should have had it. */
extern const EngineOps *engine_choose(double rows, EngineFailure *why);

#endif
