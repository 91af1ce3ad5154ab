/*
 * tuning.h: which row of the tuning tables code is compiled by, and what a row says of a role.
 *
 * One file per architecture holds its row, for all kernels.  A kernel is named by its role alone; its shape is that of
 * the row for the architecture that it is being compiled for, so that one binary has each kernel in several shapes.
 * The host cannot know which of them the driver has loaded, and asks the device (gs_cuda_engine.tuning).
 *
 * To tune a GPU: its file, or a new one, listed here in three places.  GS_TUNING=86, say, compiles sm_86's row whatever
 * the architecture: so tests run all rows on the GPU at hand (make TUNING=86).
 */
#ifndef GS_TUNING_H
#define GS_TUNING_H

#include "sm_100.h"
#include "sm_120.h"
#include "sm_75.h"
#include "sm_80.h"
#include "sm_86.h"
#include "sm_90.h"

/* On the host it makes no difference which: only roles, not shapes, are compiled there. */
#ifndef GS_TUNING
#if !defined(__CUDA_ARCH__)
#define GS_TUNING 90
#elif __CUDA_ARCH__ < 800
#define GS_TUNING 75
#elif __CUDA_ARCH__ < 860 || __CUDA_ARCH__ == 870
#define GS_TUNING 80
#elif __CUDA_ARCH__ < 900
#define GS_TUNING 86
#elif __CUDA_ARCH__ < 1000
#define GS_TUNING 90
#elif __CUDA_ARCH__ < 1100
#define GS_TUNING 100
#else
#define GS_TUNING 120
#endif
#endif

#define GS_ROW_NAMED(arch)	gs_sm_##arch
#define GS_ROW_OF(arch)		GS_ROW_NAMED(arch)
#define GS_TUNED			GS_ROW_OF(GS_TUNING) /* the row that code is being compiled by */

constexpr const gs_tuning *gs_tunings[] = {&gs_sm_75, &gs_sm_80, &gs_sm_86, &gs_sm_90, &gs_sm_100, &gs_sm_120};

/* ---------------------------------------------------------------- what a row says of a role; no threads: nothing */

constexpr gs_shape
gs_shape_of(const gs_tuning &t, gs_tuned what, int item, int value)
{
	for (const gs_shape &s : t.scan)
		if (s.what == what && (s.item == 0 || s.item == item) && (s.value == 0 || s.value == value))
			return s;
	return {};
}

constexpr gs_radix_shape
gs_radix_shape_of(const gs_tuning &t, int bits, gs_radix_io in, int value)
{
	for (const gs_radix_shape &s : t.radix)
		if (s.threads != 0 && s.bits == bits && s.in == in && s.value == value)
			return s;
	return {};
}

constexpr gs_part_shape
gs_part_shape_of(const gs_tuning &t, gs_part_words words, bool large)
{
	for (const gs_part_shape &s : t.parts)
		if (s.threads != 0 && s.words == words && s.large == large)
			return s;
	return {};
}

constexpr gs_merge_shape
gs_merge_shape_of(const gs_tuning &t, int key)
{
	for (const gs_merge_shape &s : t.merge)
		if (s.key == key)
			return s;
	return {};
}

/* ---------------------------------------------------------------- shapes of the code being compiled */

/* The scan family's kernels take one of these: the row's shape for a role, or (benchmarks) any other. */
template <gs_tuned WHAT, int ITEM, int VALUE = 0> struct gs_shape_here
{
	static constexpr gs_shape shape = gs_shape_of(GS_TUNED, WHAT, ITEM, VALUE);
	static constexpr int threads = shape.threads, vectors = shape.vectors, blocks = shape.blocks;
	static constexpr int shared = GS_TUNED.shared;
};

template <int THREADS, int VECTORS, int BLOCKS> struct gs_shape_given
{
	static constexpr int threads = THREADS, vectors = VECTORS, blocks = BLOCKS, shared = 227;
};

template <int BITS, gs_radix_io IN, int VALUE> struct gs_radix_here
{
	static constexpr gs_radix_shape shape = gs_radix_shape_of(GS_TUNED, BITS, IN, VALUE);
	static constexpr bool exists = shape.threads != 0;
	static constexpr int threads = exists ? shape.threads : 512, items = exists ? shape.items : 1;
	static constexpr int blocks = shape.blocks != 0 ? shape.blocks : 1;
};

struct gs_buckets_here
{
	static constexpr gs_buckets_shape shape = GS_TUNED.buckets;
	static constexpr int threads = shape.threads, items = shape.items, bins = shape.bins, blocks = shape.blocks;
};

template <gs_part_words WORDS, bool LARGE> struct gs_part_here
{
	static constexpr gs_part_shape shape = gs_part_shape_of(GS_TUNED, WORDS, LARGE);
	static constexpr bool exists = shape.threads != 0;
	static constexpr int threads = exists ? shape.threads : 32, window = shape.window, bins = shape.bins;
	static constexpr int blocks = exists ? shape.blocks : 1;
};

template <int KEY> struct gs_merge_here
{
	static constexpr gs_merge_shape shape = gs_merge_shape_of(GS_TUNED, KEY);
	static constexpr int threads = shape.threads, items = shape.items, blocks = shape.blocks;
};

/* ---------------------------------------------------------------- do all shapes fit? */

/*
 * Whether no shape takes more shared memory than a block may have; 1 KB is the system's from sm_80 on, and not counted.
 */
constexpr bool
gs_tuning_fits(const gs_tuning &t)
{
	const size_t room = (size_t) t.shared << 10;
	bool fits = gs_buckets_shared(t.buckets) <= room;

	for (const gs_radix_shape &s : t.radix)
		fits &= s.threads == 0 || gs_radix_shared(s) <= room;
	for (const gs_part_shape &s : t.parts)
		fits &= s.threads == 0 || gs_part_shared(s) + 64 <= room;
	for (const gs_merge_shape &s : t.merge)
		fits &= gs_merge_shared(s, 8) + 1024 <= room;
	return fits && (size_t) t.counters << 10 <= room;
}

static_assert(gs_tuning_fits(gs_sm_75) && gs_tuning_fits(gs_sm_80) && gs_tuning_fits(gs_sm_86) &&
				  gs_tuning_fits(gs_sm_90),
			  "shared memory");

#endif
