/*
 * gpu_orders.c: row orders of the CUDA engine against those of the CPU engine, which must be the same number for
 * number. Takes rounds=N, of which fewer than 10 are for slow checkers; rows=N, the most of a table; launch=1, never in
 * one launch; finish=1, never by leading digits and buckets, 2 wherever that is possible, 3 even if keys do not spread
 * evenly; stall=1, tiles 0, 3 and 4 stall.
 *
 * Random tables of 1 to 5 columns of all types, directions, NULL fractions and distributions, at sizes around tiles;
 * outputs are poisoned, memory behind outputs and temporary memory is guarded.
 */
#include "gpu_orders.h"
#include "kernels/cuda/base/sort_testing.h"
#include "kernels/cuda/base/stall.h"

char now[1024];

static void
die(const char *what, gs_status status)
{
	printf("Bail out! %s: %s; %s\n", what, gs_status_text(status), now);
	exit(2);
}

#define TRY(call)                                                                                                      \
	do                                                                                                                 \
	{                                                                                                                  \
		gs_status s_ = (call);                                                                                         \
		if (s_ != GS_OK)                                                                                               \
			die(#call, s_);                                                                                            \
	} while (0)

static void
make_strings(column *c, uint64_t rows)
{
	uint32_t *offsets = malloc((rows + 1) * 4 + 8);
	size_t room = 1 << 20, used = 0;
	uint8_t *heap = malloc(room);
	int kind = (int) rnd_below(8);
	size_t prefix = (size_t[]){0, 0, 5, 30, 200}[rnd_below(5)];

	if (rows > 20000 && prefix > 30)
		prefix = 30;
	for (uint64_t r = 0; r < rows; r++)
	{
		size_t length = 0, extra = 1200;

		if (kind == 6 && rows < 3000 && rnd_below(200) == 0)
			extra = 100000;
		if (used + prefix + extra + 64 > room)
			heap = realloc(heap, room = room * 2 + prefix + extra);
		offsets[r] = (uint32_t) used;
		uint8_t *s = heap + used;

		memset(s, 'p', prefix);
		length = prefix;
		switch (kind)
		{
			case 0: /* hex */
				for (int i = 0; i < 16; i++)
					s[length++] = "0123456789abcdef"[rnd_below(16)];
				break;
			case 1: /* any bytes, any short length */
				for (int i = (int) rnd_below(20); i > 0; i--)
					s[length++] = (uint8_t) rnd();
				break;
			case 2: /* one is the prefix of another */
				for (int i = (int) rnd_below(40); i > 0; i--)
					s[length++] = 'a';
				break;
			case 3: /* few distinct, long */
				for (int i = 0, which = (int) rnd_below(5); i < 50 + which; i++)
					s[length++] = (uint8_t) (i == 45 ? 'a' + which : 'x');
				break;
			case 4: /* like addresses */
				length += (size_t) sprintf((char *) s + length, "site%d.example.org/path/%d/page%d.html",
										   (int) rnd_below(30), (int) rnd_below(50), (int) rnd_below(100000));
				break;
			case 5: /* zero bytes */
				for (int i = (int) rnd_below(12); i > 0; i--)
					s[length++] = (uint8_t) (rnd_below(3) ? 0 : 1);
				break;
			case 6: /* long and alike */
			{
				size_t n = extra > 1200 ? 100000 : rnd_below(1000);

				memset(s + length, 'z', n);
				if (n > 0 && rnd_below(2))
					s[length + rnd_below(n)] = 'y';
				length += n;
				break;
			}
			default: /* all empty or equal */
				break;
		}
		if (rnd_below(50) == 0)
			length = rnd_below(2) ? 0 : prefix;
		used += length;
	}
	offsets[rows] = (uint32_t) used;
	c->host.values = offsets;
	c->host.heap = heap;
	c->values_bytes = (rows + 1) * 4;
	c->heap_bytes = used;
	sprintf(c->text, "strings %d prefix %zu", kind, prefix);
}

static void
make_column(column *c, uint64_t rows, int type)
{
	static const int fractions[] = {0, 0, 0, 1, 50, 100};
	int shape = (int) rnd_below(SHAPES), fraction = fractions[rnd_below(6)];

	memset(c, 0, sizeof(*c));
	c->host.spec = (gs_column_spec){(gs_type) type, rnd_below(2), rnd_below(2)};
	if (type == GS_BYTES)
		make_strings(c, rows);
	else
	{
		size_t width = gs_type_width((gs_type) type);
		uint8_t *v = malloc(rows * width + 16);

		for (uint64_t r = 0; r < rows; r++)
		{
			uint64_t x[2] = {shape_value(shape, r, rows), 0};

			if (width == 16 && rnd_below(2))
				x[1] = shape_value((int) (shape + rows) % SHAPES, r, rows);
			memcpy(v + r * width, x, width);
		}
		c->host.values = v;
		c->values_bytes = rows * width;
		sprintf(c->text, "type %d %s", type, shape_name[shape]);
	}
	if (fraction || rnd_below(8) == 0)
	{
		uint64_t *bits = calloc((rows + 63) / 64 + 1, 8);

		for (uint64_t r = 0; r < rows; r++)
			if (rnd_below(100) < (uint64_t) fraction)
				bits[r / 64] |= 1ull << r % 64;
		c->host.nulls = bits;
		c->nulls_bytes = (rows + 63) / 64 * 8;
	}
	sprintf(c->text + strlen(c->text), " %s%s nulls %d%%", c->host.spec.desc ? "desc" : "asc",
			c->host.spec.nulls_first ? " first" : "", fraction);
}

static void *
to_engine(gs_engine *e, const void *from, size_t bytes)
{
	void *p;

	TRY(gs_alloc(e, bytes + 16, &p));
	TRY(gs_upload(e, p, from, bytes));
	return p;
}

/* The order of a table on an engine, with guards behind what is written. */
uint32_t *
order_on(gs_engine *e, column *c, uint32_t n, uint64_t rows, gs_order_facts *facts)
{
	gs_column columns[8];
	gs_plan *plan;
	void *temp, *order;
	size_t temp_bytes, bytes = rows * 4;
	uint32_t *out = malloc(bytes + GUARD);
	uint8_t *guard = malloc(GUARD);

	for (uint32_t i = 0; i < n; i++)
	{
		columns[i] = c[i].host;
		columns[i].values = to_engine(e, c[i].host.values, c[i].values_bytes);
		if (c[i].host.nulls)
			columns[i].nulls = to_engine(e, c[i].host.nulls, c[i].nulls_bytes);
		if (c[i].host.heap)
			columns[i].heap = to_engine(e, c[i].host.heap, c[i].heap_bytes);
	}
	TRY(gs_order_plan(e, columns, n, rows, &plan));
	temp_bytes = gs_order_temp_bytes(plan);
	TRY(gs_alloc(e, temp_bytes + GUARD, &temp));
	TRY(gs_alloc(e, bytes + GUARD, &order));
	TRY(gs_fill(e, temp, 0xa5, temp_bytes + GUARD));
	TRY(gs_fill(e, order, 0xa5, bytes + GUARD));
	TRY(gs_order_run(e, plan, temp, temp_bytes, order, facts));
	TRY(gs_download(e, out, order, bytes + GUARD));
	TRY(gs_download(e, guard, (char *) temp + temp_bytes, GUARD));
	TRY(gs_sync(e));
	for (int i = 0; i < GUARD; i++)
		if (guard[i] != 0xa5 || ((uint8_t *) out)[bytes + i] != 0xa5)
		{
			printf("Bail out! memory behind %s was written; %s\n", guard[i] != 0xa5 ? "temp" : "the order", now);
			exit(2);
		}
	gs_plan_free(e, plan);
	for (uint32_t i = 0; i < n; i++)
	{
		gs_free(e, (void *) columns[i].values);
		gs_free(e, (void *) columns[i].nulls);
		gs_free(e, (void *) columns[i].heap);
	}
	gs_free(e, temp);
	gs_free(e, order);
	free(guard);
	return out;
}

/* The same by a job: the table in chunks of all sizes. */
static uint32_t *
job_on(gs_engine *e, column *c, uint32_t n, uint64_t rows)
{
	gs_column_spec specs[8];
	gs_job *job;
	uint64_t at = 0, got;
	uint32_t *out = malloc(rows * 4 + 4);

	for (uint32_t i = 0; i < n; i++)
		specs[i] = c[i].host.spec;

	gs_job_spec spec = {.op = GS_ORDER, .ncolumns = n, .columns = specs, .rows_hint = rnd_below(2) ? rows : 0};

	TRY(gs_job_begin(e, &spec, NULL, &job));
	do
	{
		uint64_t m = 1 + rnd_below(rnd_below(2) ? 100 : 40000), longest = 16;

		if (m > rows - at)
			m = rows - at;
		for (uint32_t i = 0; i < n; i++)
			if (specs[i].type == GS_BYTES && m > 0)
			{
				const uint32_t *o = c[i].host.values;
				uint64_t mean = (o[at + m] - o[at]) / m + 1;

				longest = mean > longest ? mean : longest;
			}
		uint32_t room = (uint32_t) ((m + 64) / 64 * 64);
		size_t bytes = gs_chunk_bytes(specs, n, room, (uint32_t) longest);
		gs_chunk *chunk = aligned_alloc(64, (bytes + 63) / 64 * 64);

		TRY(gs_chunk_init(chunk, bytes, specs, n, room, (uint32_t) longest));
		chunk->rows = (uint32_t) m;
		for (uint32_t i = 0; i < n; i++)
		{
			size_t width = gs_type_width(specs[i].type);
			char *values = (char *) chunk + chunk->columns[i].values;

			if (specs[i].type == GS_BYTES)
			{
				const uint32_t *o = c[i].host.values;

				for (uint64_t r = 0; r <= m; r++)
					((uint32_t *) values)[r] = o[at + r] - o[at];
				memcpy((char *) chunk + chunk->columns[i].heap, c[i].host.heap + o[at], o[at + m] - o[at]);
			}
			else
				memcpy(values, (const char *) c[i].host.values + at * width, m * width);
			if (c[i].host.nulls != NULL)
			{
				uint64_t *bits = (uint64_t *) ((char *) chunk + chunk->columns[i].nulls), any = 0;

				/* what lies behind the rows must not matter */
				memset(bits, rnd_below(2) ? 0xff : 0, (m + 63) / 64 * 8);
				for (uint64_t r = 0; r < m; r++)
				{
					uint64_t bit = c[i].host.nulls[(at + r) / 64] >> (at + r) % 64 & 1;

					any |= bit;
					bits[r / 64] = (bits[r / 64] & ~(1ull << r % 64)) | bit << r % 64;
				}
				chunk->columns[i].has_nulls = any != 0;
			}
		}
		TRY(gs_job_add(job, chunk));
		memset(chunk, 0x5a, bytes);
		free(chunk);
		at += m;
	} while (at < rows);
	TRY(gs_job_finish(job, rows));
	for (at = 0;; at += got)
	{
		TRY(gs_job_next(job, out + at, 1 + rnd_below(50000), &got));
		if (got == 0)
			break;
	}
	if (at != rows)
		die("rows handed out", GS_INVALID);
	gs_job_end(job);
	return out;
}

/* Puts the rows of a column in an order, or its reverse. */
static void
arrange(column *c, uint64_t rows, const uint32_t *order, bool reverse)
{
	size_t width = gs_type_width(c->host.spec.type);
	const uint8_t *from = c->host.spec.type == GS_BYTES ? c->host.heap : c->host.values;
	const uint32_t *offsets = c->host.values;
	uint32_t *new_offsets = malloc((rows + 1) * 4 + 8);
	uint8_t *to = malloc(c->values_bytes + c->heap_bytes + 16);
	uint64_t *bits = c->host.nulls != NULL ? calloc((rows + 63) / 64 + 1, 8) : NULL;
	size_t used = 0;

	for (uint64_t r = 0; r < rows; r++)
	{
		uint32_t o = order[reverse ? rows - 1 - r : r];
		size_t at = width ? o * width : offsets[o], bytes = width ? width : offsets[o + 1] - offsets[o];

		if (bits != NULL)
			bits[r / 64] |= (c->host.nulls[o / 64] >> o % 64 & 1) << r % 64;
		new_offsets[r] = (uint32_t) used;
		memcpy(to + used, from + at, bytes);
		used += bytes;
	}
	new_offsets[rows] = (uint32_t) used;
	free((void *) c->host.values);
	free((void *) c->host.nulls);
	free((void *) c->host.heap);
	c->host.nulls = bits;
	c->host.heap = NULL;
	c->host.values = to;
	if (width == 0)
	{
		c->host.heap = to;
		c->host.values = new_offsets;
	}
	else
		free(new_offsets);
}

/* Holds the GPU's order of a table against the CPU's; returns whether they differ. */
int
compare(gs_engine *cpu, gs_engine *gpu, column *c, uint32_t n, uint64_t rows, const char *what)
{
	gs_order_facts f, g;
	uint32_t *a = order_on(cpu, c, n, rows, &f), *b = order_on(gpu, c, n, rows, &g);
	int bad = 0;
	uint64_t wrong = 0, at = 0;

	for (uint64_t i = 0; i < rows; i++)
		if (a[i] != b[i])
		{
			if (wrong++ == 0)
				at = i;
		}
	if (wrong || (f.key_bits != g.key_bits) || (f.input != g.input && g.input != GS_UNORDERED))
	{
		printf("# %s: %llu rows, %u columns: %llu differ from %llu (%u for %u), bits %u %u, input %d %d, "
			   "words passes refined %u %u %u\n",
			   what, (unsigned long long) rows, n, (unsigned long long) wrong, (unsigned long long) at,
			   wrong ? b[at] : 0, wrong ? a[at] : 0, f.key_bits, g.key_bits, f.input, g.input, g.words, g.passes,
			   g.refined);
		for (uint32_t i = 0; i < n; i++)
			printf("#   %s\n", c[i].text);
		bad = wrong != 0;
	}
	check(!bad, "%s: the orders differ", what);
	free(b);
	if (rows < 300000)
	{
		b = job_on(gpu, c, n, rows);
		check(memcmp(a, b, rows * 4) == 0, "%s: the job's order differs", what);
		bad |= memcmp(a, b, rows * 4) != 0;
		free(b);
	}
	free(a);
	return bad;
}

/*
 * Whether calls are to be made again, since stalled tiles have given up in them: see stalled_call in engine.h.
 * The third time that is a failure.
 */
static bool
again(gs_engine *gpu, int turn, int *failed)
{
	static uint32_t before;
	uint32_t fallbacks, given_up;

	TRY(gs_cuda_stall_counts(gpu, &fallbacks, &given_up));
	if (given_up == before)
		return false;
	printf("# %u stalled tiles gave up: %s\n", given_up - before, now);
	before = given_up;
	check(turn < 2, "stalled tiles give up");
	*failed += turn == 2;
	return turn < 2;
}

/* The random tables, each on both engines. */
static void
random_tables(gs_engine *cpu, gs_engine *gpu, int rounds, uint64_t most, bool stall, int failed)
{
	static const uint64_t sizes[] = {0,		1,	   2,	  3,	 31,	32,	   33,	  1000,	 4096,	5759,  5760,
									 5761,	8064,  8065,  8192,	 8193,	9600,  9601,  13056, 13057, 14080, 15232,
									 15233, 15360, 15361, 16000, 16001, 22399, 22401, 30464, 65536, 100003};
	int turn;

	for (int round = 0; round < rounds && failed < 20; round++)
	{
		column c[8];
		uint64_t rows = rnd_below(2) ? sizes[rnd_below(sizeof(sizes) / sizeof(sizes[0]))] : rnd_below(most + 1);
		uint32_t n = rnd_below(2) ? 1 : 1 + (uint32_t) rnd_below(5);
		char what[64];

		rows = rows > most ? most : rows;
		for (uint32_t i = 0; i < n; i++)
			make_column(&c[i], rows, rnd_below(5) ? (int) rnd_below(11) : (int) (rnd_below(2) ? GS_I64 : GS_I32));
		sprintf(what, "round %d", round);
		sprintf(now, "round %d, %llu rows, %u columns:", round, (unsigned long long) rows, n);
		for (uint32_t i = 0; i < n; i++)
			sprintf(now + strlen(now), " (%s)", c[i].text);
		if (rnd_below(6) == 0)
		{
			/* rows that come in order, or reversed, leave early */
			bool reverse = rnd_below(3) == 0;
			gs_order_facts facts;
			uint32_t *order = order_on(cpu, c, n, rows, &facts);

			for (uint32_t i = 0; i < n; i++)
				arrange(&c[i], rows, order, reverse);
			free(order);
			sprintf(now + strlen(now), " %s", reverse ? "reversed" : "in order");
			strcat(what, reverse ? " reversed" : " in order");
		}
		turn = 0;
		do
			failed += compare(cpu, gpu, c, n, rows, what);
		while (stall && again(gpu, turn++, &failed));
		for (uint32_t i = 0; i < n; i++)
		{
			free((void *) c[i].host.values);
			free((void *) c[i].host.nulls);
			free((void *) c[i].host.heap);
		}
		fflush(stdout);
	}
}

void
test_gpu_orders(void)
{
	const uint64_t most = option("rows", 200000), finish = option("finish", UINT64_MAX);
	const uint32_t launch = (uint32_t) option("launch", 2);
	const int rounds = (int) option("rounds", 200), each = rounds < 10 ? 1 : rounds < 100 ? 2 : 12;
	const bool stall = option("stall", 0) != 0, finish_given = finish != UINT64_MAX;
	uint32_t stalled[] = {0, 3, 4}, fallbacks, given_up;
	gs_engine *cpu;
	int failed = 0, turn = 0;

	group("row orders, by the CPU and the GPU");
	seed(launch);
	TRY(gs_cpu_open(1, NULL, &cpu));
	gs_cuda_sort_force(engine, launch, finish_given ? (uint32_t) finish : 0);
	if (stall)
		TRY(gs_cuda_stall(engine, stalled, 3, 200000));
	if (launch == 1 && !finish_given)
	{
		failed += narrow_keys(cpu, engine, most, each);
		failed += sampled_keys(cpu, engine, most, each == 12 ? 20 : each);
	}
	if (finish_given)
		do
			failed += bucket_keys(cpu, engine, most, rounds < 100 ? 1 : 12);
		while (stall && again(engine, turn++, &failed));
	random_tables(cpu, engine, rounds, most, stall, failed);
	if (stall)
	{
		TRY(gs_cuda_stall_counts(engine, &fallbacks, &given_up));
		printf("# stalled tiles: %u fallbacks, %u gave up\n", fallbacks, given_up);
		check(fallbacks > 0, "no tile was stepped in for");
	}
	gs_engine_close(cpu);
}
