/*
 * rivals.h: what rivals_cpu.c calls of the rivals.
 */
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* x86-simd-sort: numbers; keys with a number each. */
void simd_words(uint64_t *words, size_t n);
void simd_pairs(uint64_t *keys, uint64_t *rows, size_t n);

/* vqsort: numbers; numbers of 16 bytes. */
void vq_words(uint64_t *words, size_t n);
void vq_pairs(uint64_t *pairs, size_t n);

#ifdef __cplusplus
}
#endif
