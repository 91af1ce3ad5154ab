/*
 * segments.cu: gs_sort_segments: sorts segments separately, in three ways by length.
 *
 *   up to 4096 items   in registers, by a thread, some lanes or some warps (segments_small.cu); classes by
 *                      powers of two
 *   up to 2^24         all of them together, digit by digit (segments_large.cu, radix/array_pass.cuh)
 *   more               one by one, as gs_sort does (keys.cu)
 *
 * One kernel classifies the segments.  The host waits for the size of each class, so that empty classes cost nothing.
 * Large segments make it wait again, for the bits in which keys vary, and at the end if the order must be verified.
 * Bytes per item: key and value, read once and written once up to 4096 items; for longer segments another key read, and
 * both twice per pass.
 */
#include "segments.cuh"

#include <cstring>

#define THREADS 1024

struct classify_args
{
	const u64 *starts;
	u64 segments;
	u32 tile;
	gs_segments_found *found;
	u32 *lists[GS_SEG_LARGE_CLASS];
	gs_segment *large;
};

/* Classifies segments.  A block handles 1024 at a time and reserves room in each class's list once for all of them. */
static __global__ void __launch_bounds__(THREADS) classify_kernel(const __grid_constant__ classify_args a)
{
	constexpr u32 lengths[] = GS_SEG_LENGTHS;
	__shared__ u32 count[GS_SEG_CLASSES], base[GS_SEG_CLASSES];

	for (u64 block = blockIdx.x * (u64) THREADS; block < a.segments; block += gridDim.x * (u64) THREADS)
	{
		const u64 s = block + threadIdx.x;
		u64 start = 0, n = 0;
		u32 of = 0, at = 0;

		if (threadIdx.x < GS_SEG_CLASSES)
			count[threadIdx.x] = 0;
		__syncthreads();
		if (s < a.segments)
		{
			start = a.starts[s];
			n = a.starts[s + 1] - start;
		}
		if (n > 0)
		{
			while (of < GS_SEG_LARGE_CLASS && n > lengths[of])
				of++;
			if (n >= GS_SEG_GIANT)
				of = GS_SEG_GIANT_CLASS;
			at = atomicAdd(&count[of], 1);
		}
		__syncthreads();
		if (threadIdx.x < GS_SEG_CLASSES && count[threadIdx.x] != 0)
			base[threadIdx.x] = atomicAdd(&a.found->count[threadIdx.x], count[threadIdx.x]);
		__syncthreads();
		if (n == 0)
			continue;
		if (of == GS_SEG_GIANT_CLASS)
			a.found->giants[base[of] + at] = gs_segment{start, n, 0};
		else if (of == GS_SEG_LARGE_CLASS)
		{
			/* position in the list and tiles are reserved together, by one atomic */
			u64 tiles = (n + a.tile - 1) / a.tile;
			u64 before = atomicAdd((unsigned long long *) &a.found->large, (unsigned long long) (tiles << 32 | 1));

			atomicAdd((unsigned long long *) &a.found->items, (unsigned long long) n);
			a.large[(u32) before] = gs_segment{start, n, before >> 32};
		}
		else if (of > 0)
			a.lists[of][base[of] + at] = (u32) s;
	}
}

struct segments_layout
{
	size_t found, lists[GS_SEG_LARGE_CLASS], large, work, all;
};

/* Lays out the classes' lists, as long as n items can make them, and the memory of large and giant segments. */
static segments_layout
layout_of(const gs_engine *engine, gs_type key, size_t value_width, u64 n, u64 segments)
{
	static const u32 lengths[] = GS_SEG_LENGTHS;
	segments_layout l = {};
	size_t at = 0, more = 0;
	auto take = [&](size_t bytes) {
		size_t here = at;

		at += gs_round256(bytes);
		return here;
	};

	l.found = take(sizeof(gs_segments_found));
	for (u32 c = 1; c < GS_SEG_LARGE_CLASS; c++)
	{
		u64 most = n / (lengths[c - 1] + 1);

		l.lists[c] = take((most < segments ? most : segments) * sizeof(u32));
	}
	if (n > GS_SEG_SMALL)
	{
		l.large = take((n / (GS_SEG_SMALL + 1) + 1) * sizeof(gs_segment));
		more = gs_segments_large_temp((const gs_cuda_engine *) engine, gs_type_width(key), value_width, n);
	}
	if (n >= GS_SEG_GIANT)
	{
		size_t alone = gs_cuda_sort_keys_temp(engine, key, value_width, n);

		more = alone > more ? alone : more;
	}
	l.work = take(more);
	l.all = at;
	return l;
}

/* Returns the memory of the lists and of the longest segments. */
size_t
gs_cuda_segments_temp(const gs_engine *engine, gs_type key, size_t value_width, uint64_t n, uint64_t segments)
{
	return layout_of(engine, key, value_width, n, segments).all;
}

/* Sorts giant segments one by one, in the same memory. */
static gs_status
sort_giants(gs_engine *engine, const gs_sort_request *r, const gs_segments_found *found, void *temp)
{
	for (u32 g = 0; g < found->count[GS_SEG_GIANT_CLASS]; g++)
	{
		const gs_segment *s = &found->giants[g];
		gs_sort_request part = *r;

		part.n = s->n;
		part.keys = (const u8 *) r->keys + s->start * r->key_bytes;
		part.out_keys = (u8 *) r->out_keys + s->start * r->key_bytes;
		if (r->value_width > 0)
		{
			part.values = (const u8 *) r->values + s->start * r->value_width;
			part.out_values = (u8 *) r->out_values + s->start * r->value_width;
		}
		GS_TRY(gs_cuda_sort_keys(engine, &part, temp));
	}
	return GS_OK;
}

/* Implements gs_sort_segments.  Classifies segments in one read, waits for the numbers, and sorts each class. */
gs_status
gs_cuda_segments(gs_engine *engine, const gs_sort_request *r, void *temp)
{
	gs_cuda_engine *e = (gs_cuda_engine *) engine;
	const segments_layout l = layout_of(engine, r->key, r->value_width, r->n, r->parts);
	u8 *t = (u8 *) temp;
	gs_segments_found *found = (gs_segments_found *) (t + l.found), *known;
	const u64 wanted = (r->parts + THREADS - 1) / THREADS, most = (u64) e->properties.multiProcessorCount * 2;
	classify_args c = {r->starts, r->parts, gs_segments_tile(e, r->key_bytes, r->value_width), found, {}, NULL};
	const gs_column_spec spec = {r->key, r->desc};
	gs_segments_args a = {};
	gs_cuda_sort *sort;

	cudaSetDevice(e->device);
	GS_TRY(gs_sort_state(e, &sort));
	known = (gs_segments_found *) sort->host;
	static_assert(sizeof(gs_segments_found) <= GS_SORT_HOST, "the numbers fit the host's memory for them");
	for (u32 i = 1; i < GS_SEG_LARGE_CLASS; i++)
		c.lists[i] = (u32 *) (t + l.lists[i]);
	c.large = (gs_segment *) (t + l.large);
	GS_TRY(gs_cuda_status(cudaMemsetAsync(found, 0, sizeof(*found), e->stream)));
	classify_kernel<<<(u32) (wanted < most ? wanted : most), THREADS, 0, e->stream>>>(c);
	GS_TRY(gs_cuda_status(cudaGetLastError()));
	GS_TRY(gs_cuda_status(cudaMemcpyAsync(known, found, sizeof(*found), cudaMemcpyDeviceToHost, e->stream)));
	GS_TRY(gs_cuda_status(cudaStreamSynchronize(e->stream)));

	a.keys = r->keys;
	a.values = r->values;
	a.out_keys = r->out_keys;
	a.out_values = r->out_values;
	a.starts = r->starts;
	a.segments = r->parts;
	a.flip = gs_order_flip(&spec);
	a.floats = gs_type_is_float(r->key);
	a.key_bytes = (u32) r->key_bytes;
	a.value_bytes = (u32) r->value_width;
	for (u32 i = 0; i < GS_SEG_LARGE_CLASS; i++)
		if (known->count[i] != 0 || (i == 0 && r->parts >> 32 != 0))
			GS_TRY(gs_segments_small(e, a, i, i == 0 ? NULL : c.lists[i], i == 0 ? r->parts : known->count[i]));
	GS_TRY(sort_giants(engine, r, known, t + l.work));
	if (known->count[GS_SEG_LARGE_CLASS] != 0)
		GS_TRY(gs_segments_large(e, a, r->n, c.large, known, found, t + l.work));
	return GS_OK;
}
