/*
 * devices_test.c: all GPUs of the host at once, several engines on each, every engine in a thread of its own as
 * sessions of gpusortd are; every result is compared with the CPU engine's.  Speaks TAP.
 *
 *   devices-test [seconds [engines of a device]]
 */
#include "kernels/gs_arrays.h"
#include "test/kernels/tap.h"

#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#define TABLES		 4
#define MOST_DEVICES 16
#define MOST_ENGINES 8
#define CHUNK_ROWS	 65536u

/* Rows with two columns, their order, and the first column in order with the rows' numbers beside it. */
typedef struct table
{
	uint64_t rows;
	int64_t *a;
	int32_t *b;
	uint32_t *order;
	uint64_t *sorted;
	uint32_t *numbers;
} table;

typedef struct session
{
	pthread_t thread;
	int device;
	uint32_t seed;
	int orders, sorts, failures;
} session;

static const gs_column_spec columns[2] = {{GS_I64, false, false}, {GS_I32, true, false}};
static table tables[TABLES];
static double seconds = 5;
static pthread_barrier_t ready;			  /* all engines are open, which takes a device a second and longer */
static atomic_int at_work[MOST_DEVICES];  /* sessions in the middle of a call */
static atomic_int together[MOST_DEVICES]; /* calls that met one of another device */
static int devices;

static double
now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double) t.tv_sec + 1e-9 * (double) t.tv_nsec;
}

static uint64_t
random64(uint64_t *state)
{
	uint64_t z = (*state += 0x9e3779b97f4a7c15ull);

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
	return z ^ (z >> 31);
}

/* A job's chunk with some of a table's rows. */
static gs_status
add_rows(gs_job *job, gs_chunk *chunk, size_t bytes, const table *t, uint64_t at)
{
	const uint32_t m = t->rows - at < CHUNK_ROWS ? (uint32_t) (t->rows - at) : CHUNK_ROWS;
	gs_status status = gs_chunk_init(chunk, bytes, columns, 2, CHUNK_ROWS, 0);

	if (status != GS_OK)
		return status;
	memcpy((char *) chunk + chunk->columns[0].values, t->a + at, m * sizeof(*t->a));
	memcpy((char *) chunk + chunk->columns[1].values, t->b + at, m * sizeof(*t->b));
	chunk->rows = m;
	return gs_job_add(job, chunk);
}

/* A table's order by both columns, by a job as sessions send them. */
static gs_status
order_of(gs_engine *e, const table *t, uint32_t *order)
{
	const gs_job_spec spec = {.op = GS_ORDER, .ncolumns = 2, .columns = columns, .rows_hint = t->rows};
	const size_t bytes = (gs_chunk_bytes(columns, 2, CHUNK_ROWS, 0) + GS_ALIGN - 1) / GS_ALIGN * GS_ALIGN;
	gs_chunk *chunk = aligned_alloc(GS_ALIGN, bytes);
	gs_job *job = NULL;
	gs_status status = gs_job_begin(e, &spec, NULL, &job);
	uint64_t got = 1;

	for (uint64_t at = 0; at < t->rows && status == GS_OK; at += CHUNK_ROWS)
		status = add_rows(job, chunk, bytes, t, at);
	if (status == GS_OK)
		status = gs_job_finish(job, t->rows);
	for (uint64_t at = 0; status == GS_OK && got != 0 && at < t->rows; at += got)
		status = gs_job_next(job, order + at, t->rows - at, &got);
	gs_job_end(job);
	free(chunk);
	return status;
}

/* A table's first column in order, with its rows' numbers, as one has arrays sorted. */
static gs_status
sort_of(gs_engine *e, const table *t, uint64_t *keys, uint32_t *numbers)
{
	const uint64_t n = t->rows;
	const size_t bytes = gs_sort_temp_bytes(e, GS_I64, 4, n);
	void *block[5] = {NULL};
	const size_t sizes[5] = {n * 8, n * 8, n * 4, n * 4, bytes};
	uint32_t *rows = malloc(n * 4);
	gs_status status = GS_OK;

	for (uint64_t i = 0; i < n; i++)
		rows[i] = (uint32_t) i;
	for (int i = 0; i < 5 && status == GS_OK; i++)
		status = gs_alloc(e, sizes[i], &block[i]);
	if (status == GS_OK)
		status = gs_upload(e, block[0], t->a, n * 8);
	if (status == GS_OK)
		status = gs_upload(e, block[2], rows, n * 4);
	if (status == GS_OK)
		status = gs_sort(e,
						 &(gs_sort_request){.key = GS_I64,
											.keys = block[0],
											.out_keys = block[1],
											.value_width = 4,
											.values = block[2],
											.out_values = block[3],
											.n = n},
						 block[4], bytes);
	if (status == GS_OK)
		status = gs_download(e, keys, block[1], n * 8);
	if (status == GS_OK)
		status = gs_download(e, numbers, block[3], n * 4);
	if (status == GS_OK)
		status = gs_sync(e);
	for (int i = 0; i < 5; i++)
		gs_free(e, block[i]);
	free(rows);
	return status;
}

/* Says that a device is at work, and counts that for all if others are, too. */
static void
begin_work(int device)
{
	bool met = false;

	at_work[device]++;
	for (int d = 0; d < devices; d++)
		if (d != device && at_work[d] > 0)
		{
			together[d]++;
			met = true;
		}
	together[device] += met;
}

static void *
run_session(void *arg)
{
	session *s = arg;
	double end;
	uint64_t state = s->seed, *keys = malloc(tables[TABLES - 1].rows * 8);
	uint32_t *out = malloc(tables[TABLES - 1].rows * 4);
	gs_engine *e = NULL;
	bool order = s->seed % 2;

	if (gs_cuda_open(s->device, NULL, &e) != GS_OK)
	{
		printf("# device %d: %s\n", s->device, gs_cuda_open_failure());
		s->failures++;
	}
	pthread_barrier_wait(&ready);
	end = now() + seconds;
	while (e != NULL && (now() < end || s->orders == 0 || s->sorts == 0))
	{
		const table *t = &tables[random64(&state) % TABLES];
		gs_status status;

		memset(out, 0xa5, t->rows * 4);
		begin_work(s->device);
		status = order ? order_of(e, t, out) : sort_of(e, t, keys, out);
		at_work[s->device]--;
		if (status != GS_OK || memcmp(out, order ? t->order : t->numbers, t->rows * 4) != 0 ||
			(!order && memcmp(keys, t->sorted, t->rows * 8) != 0))
		{
			printf("# device %d: %s of %llu rows: %s\n", s->device, order ? "order" : "sort",
				   (unsigned long long) t->rows, status == GS_OK ? "wrong" : gs_status_text(status));
			s->failures++;
		}
		*(order ? &s->orders : &s->sorts) += 1;
		order = !order;
	}
	gs_engine_close(e);
	free(keys);
	free(out);
	return NULL;
}

/* Tables of random numbers, many of them equal, and what the CPU engine makes of them. */
static bool
make_tables(gs_engine *cpu)
{
	static const uint64_t rows[TABLES] = {20000, 300001, 1000000, 3000000};
	uint64_t state = 7;

	for (int i = 0; i < TABLES; i++)
	{
		table *t = &tables[i];

		t->rows = rows[i];
		t->a = malloc(t->rows * 8);
		t->b = malloc(t->rows * 4);
		t->order = malloc(t->rows * 4);
		t->sorted = malloc(t->rows * 8);
		t->numbers = malloc(t->rows * 4);
		for (uint64_t r = 0; r < t->rows; r++)
		{
			t->a[r] = (int64_t) (random64(&state) % (t->rows / 3)) - 5000;
			t->b[r] = (int32_t) (random64(&state) % 3);
		}
		if (order_of(cpu, t, t->order) != GS_OK || sort_of(cpu, t, t->sorted, t->numbers) != GS_OK)
			return false;
	}
	return true;
}

int
main(int argc, char **argv)
{
	static session sessions[MOST_DEVICES][MOST_ENGINES];
	int engines = argc > 2 ? atoi(argv[2]) : 3;
	gs_engine *cpu;

	seconds = argc > 1 ? atof(argv[1]) : seconds;
	engines = engines < 1 ? 1 : engines > MOST_ENGINES ? MOST_ENGINES : engines;
	if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0)
	{
		printf("1..0 # SKIP no GPU\n");
		return 0;
	}
	devices = devices > MOST_DEVICES ? MOST_DEVICES : devices;
	tap_ok(gs_cpu_open(1, NULL, &cpu) == GS_OK && make_tables(cpu), "tables, and their orders by the CPU");
	pthread_barrier_init(&ready, NULL, (unsigned) (devices * engines));
	for (int d = 0; d < devices; d++)
		for (int i = 0; i < engines; i++)
		{
			sessions[d][i] = (session){.device = d, .seed = (uint32_t) (test_seed() * 2000 + 101 * d + i)};
			pthread_create(&sessions[d][i].thread, NULL, run_session, &sessions[d][i]);
		}
	for (int d = 0; d < devices; d++)
	{
		int orders = 0, sorts = 0, wrong = 0;
		char name[160];

		for (int i = 0; i < engines; i++)
		{
			pthread_join(sessions[d][i].thread, NULL);
			orders += sessions[d][i].orders;
			sorts += sessions[d][i].sorts;
			wrong += sessions[d][i].failures;
		}
		snprintf(name, sizeof(name), "device %d: %d orders and %d sorts by %d engines, all as the CPU's", d, orders,
				 sorts, engines);
		tap_ok(orders > 0 && sorts > 0 && wrong == 0, "%s", name);
		if (devices > 1)
		{
			snprintf(name, sizeof(name), "device %d: %d times together with another device", d, together[d]);
			tap_ok(together[d] > 0, "%s", name);
		}
	}
	gs_engine_close(cpu);
	return tap_done();
}
