/*
 * vectors.c: the sort of words by vectors against qsort: every small number of words, many large ones, patterns
 * that are bad for pivots, and what it leaves where it may not go on.  Skipped without AVX-512.
 */
#include "kernels/cpu/cpu.h"
#include "engine.h"
#include "tests.h"

#define EDGE 64 /* words before and behind those sorted: none may change */

typedef enum pattern
{
	RANDOM,
	RISING,
	FALLING,
	ORGAN_PIPE,
	FEW_ABOVE, /* few values of the leading bits */
	ONE_ABOVE,
	THREE_VALUES,
	ALL_GREATEST,
	HALF_GREATEST,
	TURNS,	   /* from both ends */
	POWERS,
	SAMPLED,   /* the words that a pivot is chosen among are the least */
	PATTERNS
} pattern;

static const char *const names[PATTERNS] = {
	"random",		"rising",		 "falling",		  "organ pipe", "few leading bits", "one of them",
	"three values", "all greatest", "half greatest", "turns",		"powers",			"least where sampled"};

static uint64_t
word_of(pattern p, size_t i, size_t n)
{
	size_t apart = n / (n < 2048 ? 16 : 64);

	switch (p)
	{
		case RISING:
			return i;
		case FALLING:
			return n - i;
		case ORGAN_PIPE:
			return i < n / 2 ? 2 * i : 2 * (n - i) + 1;
		case FEW_ABOVE:
			return rnd_below(4) << 60 | i;
		case ONE_ABOVE:
			return (uint64_t) 7 << 60 | rnd_below(1 << 20) << 24 | i;
		case THREE_VALUES:
			return rnd_below(3);
		case ALL_GREATEST:
			return UINT64_MAX;
		case HALF_GREATEST:
			return rnd_below(2) ? UINT64_MAX : rnd();
		case TURNS:
			return i % 2 ? i : n - i;
		case POWERS:
			return (uint64_t) 1 << rnd_below(64);
		case SAMPLED:
			return apart > 0 && i % apart == apart / 2 ? i : rnd() | (uint64_t) 1 << 63;
		default:
			return rnd();
	}
}

static int
compare_words(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *) a, y = *(const uint64_t *) b;

	return x < y ? -1 : x > y;
}

/*
 * Sorts n words of a pattern; with a depth that is enough, or the one given, after which they may be in any order.
 */
static bool
sorts(gs_work *work, pattern p, size_t n, bool enough, uint32_t depth)
{
	size_t bytes = (EDGE + n + EDGE) * 8;
	uint64_t *all = malloc(bytes), *want = malloc(bytes), *words = all + EDGE;
	bool good, done;

	for (size_t i = 0; i < EDGE + n + EDGE; i++)
		all[i] = i * 0x9e3779b97f4a7c15u;
	for (size_t i = 0; i < n; i++)
		words[i] = word_of(p, i, n);
	memcpy(want, all, bytes);
	qsort(want + EDGE, n, 8, compare_words);
	good = gs_vector_sort(work, words, n, enough ? 4 * gs_bits(n) : depth, &done) == GS_OK && (done || !enough);
	if (!done)
		qsort(words, n, 8, compare_words);
	good = good && memcmp(all, want, bytes) == 0;
	free(all);
	free(want);
	return good;
}

void
test_vectors(void)
{
	gs_work *work = &((gs_cpu_engine *) engine)->work;

	if (gs_vectors_choose(GS_AVX512) != GS_AVX512)
	{
		tap_skip("no AVX-512");
		return;
	}
	seed(0);
	for (pattern p = RANDOM; p < PATTERNS; p++)
	{
		bool good = true;

		for (size_t n = 0; n <= 1100; n++)
			good &= sorts(work, p, n, true, 0);
		for (size_t n = 2040; n < 300000; n = n * 3 / 2 + rnd_below(9))
			good &= sorts(work, p, n, true, 0);
		for (uint32_t depth = 0; depth < 6; depth++)
			good &= sorts(work, p, 1000 + rnd_below(30000), false, depth);
		tap_ok(good, "words sorted by vectors: %s", names[p]);
	}
}
