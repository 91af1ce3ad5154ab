/*
 * buckets.cu: row orders by leading digits, then buckets of some 1000 rows in shared memory (buckets.cuh).
 *
 * For n rows, log2(n) - 10 leading bits of the key make buckets that fit a block if keys are spread evenly: two digit
 * passes and a last step instead of four or more passes.  That is estimated from a sample of the rows and the columns'
 * statistics, so the host waits once.  The fullest of 512 cells shows how long buckets may become; the fullest of up to
 * 65536 whether some are much longer; and how often the previous row at a hash of 10 more bits had equal bits, whether
 * keys are clumped.
 *
 * If the last step reports that the estimate was wrong, the order is made again by all digits.  A key that does not fit
 * a word beside its row number is cut; groups of rows with equal words are then sorted by comparison.
 */
#include "buckets.cuh"
#include "fields.cuh"

#include <cmath>
#include <cstring>

#define THREADS 512
#define TOP		9		  /* bits of the cells that are counted for the host */
#define LEAST	((u64) 1 << 17) /* rows */
#define ALIKE	5		  /* limit for the average number of rows that share lead + 10 bits */
#define GROUP	64		  /* largest group that is sorted by comparison */

/* Returns the words that a block holds. */
static u32
cap_of(const gs_cuda_engine *e)
{
	return (u32) (e->tuning->buckets.threads * e->tuning->buckets.items);
}

/* ---------------------------------------------------------------- whether it pays */

/* Returns whether rows may be sorted so.  0: no, 1: if it saves time; tests, 2: if possible, 3: against advice. */
u32
gs_buckets_way(const gs_cuda_engine *e, u64 rows)
{
	const gs_cuda_sort *s = (const gs_cuda_sort *) e->sort;

	if (rows > (u64) 1 << 31 || rows < 2048 || s->force_buckets == 1)
		return 0;
	return s->force_buckets >= 2 ? s->force_buckets : rows >= LEAST;
}

struct estimate_args
{
	gs_column columns[GS_SMALL_COLUMNS];
	u32 ncolumns, row_bits;
	u32 n, samples;
	u32 most, way; /* arguments of gs_buckets_lead */
	u32 cell_bits; /* of both tables */
	const gs_key_stats *column_stats;
	const gs_dev_alphabet *alphabets;
	gs_spread *spread;
	u32 *cells, *fine; /* rows per leading bits; previous row at a hash of 10 more bits; initially zero */
};

/* Returns the most sampled rows expected in the fullest of 2^bits cells: twice the even number, plus variation. */
static __host__ __device__ __forceinline__ double
crowd_limit(u32 samples, u32 bits)
{
	const double mean = 2.0 * samples / (1u << bits);

	return mean + 6 * sqrt(mean) + 4;
}

/* Sorts a sample into cells, by fields that every block makes.  A thread that meets an overfull cell leaves. */
static __global__ void __launch_bounds__(THREADS) estimate_kernel(const __grid_constant__ estimate_args a)
{
	__shared__ gs_dev_field fields[3 * GS_SMALL_COLUMNS];
	__shared__ u32 top[1 << TOP], nfields, bits, lead, crowded;
	u32 crowd = 0, alike = 0;

	if (threadIdx.x == 0)
	{
		u32 n = 0, strings = 0, sum = 0;

		for (u32 c = 0; c < a.ncolumns; c++)
		{
			n += gs_fields_of(&a.columns[c], &a.column_stats[2 * c], a.alphabets + strings * (GS_POSITIONS + 1),
							  fields + n);
			strings += a.columns[c].spec.type == GS_BYTES;
		}
		for (u32 f = 0; f < n; f++)
			sum += gs_field_bits(&fields[f]);
		nfields = n;
		bits = min(sum, 64 - a.row_bits);
		lead = gs_buckets_lead(sum, a.n, a.most, a.way);
		crowded = (u32) crowd_limit(a.samples, min(lead, a.cell_bits)) + 1;
	}
	for (u32 i = threadIdx.x; i < 1 << TOP; i += THREADS)
		top[i] = 0;
	__syncthreads();
	if (lead == 0)
		return;

	const gs_dev_key key = {fields, nfields};
	const u32 fine = min(lead + 10, bits);

	for (u32 s = blockIdx.x * THREADS + threadIdx.x; s < a.samples; s += gridDim.x * THREADS)
	{
		gs_dev_place place = {0, 0};
		const u64 code = gs_step(key, place, bits, (u32) __umul64hi(gs_scramble(s + 1), a.n));

		/* spread neighbours: crowded keys would all wait for one L2 slice */
		const u32 cell = (u32) (code >> (bits - min(lead, a.cell_bits))) * 129 & ((1u << a.cell_bits) - 1);

		crowd = max(crowd, atomicAdd(a.cells + cell, 1) + 1);
		if (crowd >= crowded)
			break;

		const u64 hash = gs_scramble((code >> (bits - fine)) + 1);

		alike += atomicExch(a.fine + (hash >> (64 - a.cell_bits)), (u32) hash | 1) == ((u32) hash | 1);
		atomicAdd(top + (code >> (bits - min(lead, TOP))), 1);
	}
	crowd = lanes_max(crowd);
	alike = lanes_add(alike);
	if (lane_id() == 0)
	{
		atomicMax(&a.spread->crowd, crowd);
		atomicAdd((unsigned long long *) &a.spread->alike, alike);
	}
	__syncthreads();
	for (u32 i = threadIdx.x; i < 1 << TOP; i += THREADS)
		if (top[i] != 0)
			atomicAdd(a.spread->top + i, top[i]);
}

/* Returns the bits of cells.  Few rows have few cells, since clearing them would take longer than everything else. */
static u32
cell_bits(u64 rows)
{
	const u32 bits = gs_row_bits(rows) - 8;

	return bits < 12 ? 12 : bits > 16 ? 16 : bits;
}

/* Returns the bytes of the cells, initially zero; 0 if no estimate is needed. */
size_t
gs_buckets_cells(const gs_cuda_engine *e, u32 ncolumns, u64 rows)
{
	return ncolumns <= GS_SMALL_COLUMNS && gs_buckets_way(e, rows) != 0 ? 2 * sizeof(u32) << cell_bits(rows) : 0;
}

/* Returns the sample size, at which too long a bucket shows among cells, at a hundredth of the sort's time. */
static u32
samples_of(u64 rows)
{
	const u64 some = rows / (rows < (u64) 1 << 26 ? 512 : 128);

	return (u32) (some < 16384 ? (rows < 16384 ? rows : 16384) : some < 1 << 19 ? some : 1 << 19);
}

/* Enqueues the estimate, after the statistics. */
gs_status
gs_buckets_estimate(gs_cuda_engine *e, const gs_column *columns, u32 ncolumns, u64 rows,
					const gs_key_stats *column_stats, const gs_dev_alphabet *alphabets, gs_spread *spread, u32 *cells)
{
	estimate_args a = {};

	memcpy(a.columns, columns, ncolumns * sizeof(*columns));
	a.ncolumns = ncolumns;
	a.row_bits = gs_row_bits(rows);
	a.n = (u32) rows;
	a.samples = samples_of(rows);
	a.most = gs_radix_most(e);
	a.way = gs_buckets_way(e, rows);
	a.column_stats = column_stats;
	a.alphabets = alphabets;
	a.spread = spread;
	a.cells = cells;
	a.cell_bits = cell_bits(rows);
	a.fine = cells + (1 << a.cell_bits);
	estimate_kernel<<<gs_cuda_grid(e, a.samples, THREADS, 2), THREADS, 0, e->stream>>>(a);
	return gs_cuda_status(cudaGetLastError());
}

/* Returns the words to read beyond a tile, for the estimated longest bucket; 0 if all digits should be sorted. */
u32
gs_buckets_margin(const gs_cuda_engine *e, u64 rows, u32 lead, u32 way, const gs_spread *spread)
{
	const double samples = samples_of(rows), n = (double) rows;
	const u32 cells = cell_bits(rows);
	const double table = 1 << cells;
	/*
	 * probability that a row meets an equal one, if there is one other, given when its hash was last used by any row of
	 * its cell
	 */
	const double chance = table / n * (samples - table * (1 - exp(-samples / table))),
				 alike = (double) spread->alike / chance;
	const u32 cap = cap_of(e);
	u32 peak = 0;
	double bucket, margin;

	if (way == 3)
		return cap / 2;

	for (u32 i = 0; i < 1 << TOP; i++)
		peak = spread->top[i] > peak ? spread->top[i] : peak;
	if (peak == 0 || spread->crowd > crowd_limit(samples_of(rows), lead < cells ? lead : cells) ||
		(double) spread->alike > ALIKE * chance + 4 * sqrt(ALIKE * chance))
		return 0;
	bucket = peak * (n / samples) / (1u << (lead > TOP ? lead - TOP : 0));
	/* rows that come in groups make the size of buckets less even */
	margin = bucket * 17 / 16 + 6 * sqrt(bucket * (1 + alike)) + 32;
	return margin > cap * 5 / 8 ? 0 : (u32) margin & ~1u;
}

/* ---------------------------------------------------------------- groups of words that are alike */

struct groups_args
{
	gs_dev_key key;
	const u64 *values; /* or keys of a column, transformed by t */
	gs_transform t;
	const gs_buckets_group *groups;
	const u32 *listed;
	u32 *wrong, *order;
	u32 n, rotate_by;
};

/* Sorts groups by insertion, one per thread. */
template <bool COLUMN>
static __global__ void __launch_bounds__(THREADS) groups_kernel(const __grid_constant__ groups_args a)
{
	if (*a.wrong != 0)
		return;
	for (u32 g = blockIdx.x * THREADS + threadIdx.x; g < *a.listed; g += gridDim.x * THREADS)
	{
		const gs_buckets_group group = a.groups[g];
		auto at = [&](u32 i) -> u32 & {
			const u32 place = group.place + i;

			return a.order[place >= a.rotate_by ? place - a.rotate_by : place + a.n - a.rotate_by];
		};
		auto falls = [&](u32 x, u32 y) -> bool {
			if (COLUMN)
				return key_of_value(a.values[x], a.t) > key_of_value(a.values[y], a.t);
			return gs_compare(a.key, gs_dev_place{0, 0}, x, y) > 0;
		};

		if (group.rows > GROUP)
		{
			*a.wrong = 1;
			continue;
		}
		for (u32 i = 1; i < group.rows; i++)
		{
			const u32 row = at(i);
			u32 j = i;

			for (; j > 0 && falls(at(j - 1), row); j--)
				at(j) = at(j - 1);
			at(j) = row;
		}
	}
}

/* ---------------------------------------------------------------- the last step */

/* Returns the memory for groups of a key that is cut: enough for an eighth of all rows. */
size_t
gs_buckets_temp(const gs_cuda_plan *plan)
{
	return plan->buckets.lead == 0 || plan->buckets.complete
			   ? 0
			   : gs_round256((plan->rows / 16 + 1024) * sizeof(gs_buckets_group));
}

/* Enqueues the last step, from words to the order of rows, in the passes' memory.  Sets flags->wrong if it fails. */
gs_status
gs_buckets_run(gs_cuda_engine *e, const gs_cuda_plan *plan, const gs_radix_sort *sorted, void *temp, u32 *order)
{
	void (*kernel)(const gs_buckets_args) =
		plan->buckets.complete ? order_buckets_kernel<false> : order_buckets_kernel<true>;
	const gs_buckets_shape shape = e->tuning->buckets;
	const size_t shared = gs_buckets_shared(shape);
	gs_buckets_args a = {};
	int blocks;

	GS_TRY(gs_cuda_blocks(e, (const void *) kernel, shape.threads, shared, &blocks));
	a.words = sorted->result;
	a.order = order;
	a.n = plan->rows;
	a.margin = plan->buckets.margin;
	a.tile = cap_of(e) - a.margin;
	a.lead = plan->row_bits + plan->buckets.bits - plan->buckets.lead;
	a.row_mask = (u32) gs_mask(plan->row_bits);
	a.rotate_by = plan->buckets.rotate_by;
	a.ahead = blocks;
	a.cuts = (u32 *) sorted->temp;
	a.gate = sorted->gate;
	a.gate_open = sorted->gate_open;
	a.wrong = &plan->flags->wrong;
	a.groups = (gs_buckets_group *) temp;
	a.room = (u32) (gs_buckets_temp(plan) / sizeof(gs_buckets_group));
	a.listed = &plan->flags->listed;

	const u32 tiles = (u32) ((a.n + a.tile - 1) / a.tile);

	bucket_cuts_kernel<<<tiles / 8 + 1, 256, 0, e->stream>>>(a);
	kernel<<<tiles, shape.threads, shared, e->stream>>>(a);
	if (!plan->buckets.complete)
	{
		groups_args g = {
			plan->key, (const u64 *) plan->values, plan->buckets.whole, a.groups, a.listed, a.wrong, order, (u32) a.n,
			a.rotate_by};
		const u32 grid = gs_cuda_grid(e, a.n / 64 + 1, THREADS, 4);

		if (plan->path == gs_cuda_plan::GS_PLAN_COLUMN)
			groups_kernel<true><<<grid, THREADS, 0, e->stream>>>(g);
		else
			groups_kernel<false><<<grid, THREADS, 0, e->stream>>>(g);
	}
	return gs_cuda_status(cudaGetLastError());
}
