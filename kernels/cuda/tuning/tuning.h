/*
 * tuning.h: selects the row of the tuning tables that code is compiled by, and looks up roles in it.
 *
 * One file per architecture holds its row, for all kernels.  A kernel is named by its role alone and takes its shape
 * from the row of the architecture it is compiled for, so one binary has each kernel in several shapes.  The host
 * cannot know which of them the driver has loaded, and asks the device (gs_cuda_engine.tuning).
 *
 * To tune a GPU, change its file, or add one and list it here in three places (includes, GS_TUNING, gs_tunings).
 * GS_TUNING=86, for example, compiles sm_86's row for any architecture; tests thus run all rows on the available GPU
 * (make TUNING=86).
 */
#ifndef GS_TUNING_H
#define GS_TUNING_H

#include "sm_100.h"
#include "sm_120.h"
#include "sm_75.h"
#include "sm_80.h"
#include "sm_86.h"
#include "sm_90.h"

#include <initializer_list>

/* irrelevant on the host, where only roles are compiled, not shapes */
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

/* Returns the first match.  Rows for certain widths precede those for any. */
constexpr gs_shape
gs_shape_of(const gs_tuning &t, gs_tuned what, int item, int value)
{
	for (const gs_shape &s : t.scan)
		if (s.what == what && (s.item == 0 || s.item == item) && (s.value == 0 || s.value == value))
			return s;
	return {};
}

/* Returns the shape of one kernel; several kernels of a sort may have tiles of different sizes. */
constexpr gs_radix_shape
gs_radix_shape_of(const gs_tuning &t, int bits, gs_radix_io in, int value)
{
	for (const gs_radix_shape &s : t.radix)
		if (s.threads != 0 && s.bits == bits && s.in == in && s.value == value)
			return s;
	return {};
}

/* Returns the shape of parts.  Long buckets have none where shared memory is scarce. */
constexpr gs_part_shape
gs_part_shape_of(const gs_tuning &t, gs_part_words words, bool large)
{
	for (const gs_part_shape &s : t.parts)
		if (s.threads != 0 && s.words == words && s.large == large)
			return s;
	return {};
}

/* Returns the shape for keys of this many bytes. */
constexpr gs_merge_shape
gs_merge_shape_of(const gs_tuning &t, int key)
{
	for (const gs_merge_shape &s : t.merge)
		if (s.key == key)
			return s;
	return {};
}

/* ---------------------------------------------------------------- shapes of the code being compiled */

/* Shape of a scan family kernel: the row's for a role or (in benchmarks) any other. */
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
	static constexpr bool late = shape.late;
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

/* Returns whether shapes keep a block's shared memory limit, but for the 1 KB of the system from sm_80 on. */
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

/*
 * Returns whether each role that is called on every row has a shape.  Exceptions: digits of more than 8 bits of row
 * orders, which have shapes for all of their inputs or none, and parts of long buckets.
 */
constexpr bool
gs_tuning_complete(const gs_tuning &t)
{
	constexpr struct { gs_radix_io in; int value; } passes[] = {
		{GS_WORDS, 0}, {GS_COLUMN8, 0}, {GS_COLUMN4, 0}, {GS_KEYS8, 0}, {GS_KEYS8, 4},
		{GS_KEYS8, 8}, {GS_KEYS4, 0}, {GS_KEYS4, 8}, {GS_PAIRS4, 0}};
	bool all = t.buckets.threads != 0 && gs_shape_of(t, GS_T_FEW, 8, 8).threads != 0;

	for (const auto &p : passes)
		all &= gs_radix_shape_of(t, 8, p.in, p.value).threads != 0;
	for (int bits = GS_PLACE_BITS; bits <= GS_WIDE_BITS; bits++)
		for (gs_radix_io in : {GS_COLUMN8, GS_COLUMN4})
			all &= (gs_radix_shape_of(t, bits, in, 0).threads != 0) ==
				(gs_radix_shape_of(t, bits, GS_WORDS, 0).threads != 0);
	for (gs_part_words words : {GS_PART_CODES, GS_PART_NEAR, GS_PART_FAR})
		all &= gs_part_shape_of(t, words, false).threads != 0;
	for (int key : {4, 8, 16, 24, 32})
		all &= gs_merge_shape_of(t, key).threads != 0;
	for (gs_tuned what : {GS_T_SCAN, GS_T_SELECT, GS_T_MASK, GS_T_RUNS, GS_T_LONG, GS_T_REDUCE})
		all &= gs_shape_of(t, what, -1, -1).threads != 0; /* the one for all that have none of their own */
	return all;
}

/* A single expression for static_assert. */
constexpr bool
gs_for_all_tunings(bool (*good)(const gs_tuning &))
{
	for (const gs_tuning *t : gs_tunings)
		if (!good(*t))
			return false;
	return true;
}

static_assert(gs_for_all_tunings(gs_tuning_fits), "a shape of kernels/cuda/tuning/ takes more memory than its row has");
static_assert(gs_for_all_tunings(gs_tuning_complete), "a row of kernels/cuda/tuning/ lacks the shape of a role");

#endif
