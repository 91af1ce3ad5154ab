/*
 * rivals_sorts.cc: the sorts of x86-simd-sort and of Highway, as functions that C can call.
 */
#include "rivals.h"

#include "hwy/contrib/sort/vqsort.h"
#include "x86simdsort-static-incl.h"

void
simd_words(uint64_t *words, size_t n)
{
	x86simdsortStatic::qsort(words, n);
}

void
simd_pairs(uint64_t *keys, uint64_t *rows, size_t n)
{
	x86simdsortStatic::keyvalue_qsort(keys, rows, n);
}

void
vq_words(uint64_t *words, size_t n)
{
	hwy::VQSort(words, n, hwy::SortAscending());
}

/* The lower half of a number comes first. */
void
vq_pairs(uint64_t *pairs, size_t n)
{
	hwy::VQSort(reinterpret_cast<hwy::uint128_t *>(pairs), n, hwy::SortAscending());
}
