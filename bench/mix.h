/*
 * mix.h: numbers that look random, of the same rows each time, for benches of the engine.
 */
#ifndef BENCH_MIX_H
#define BENCH_MIX_H

#include <stdint.h>

/* Maps numbers to numbers, no two to the same one: the last step of splitmix64 (Steele, Lea and Flood, 2014). */
static inline uint64_t
mix(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

#endif
