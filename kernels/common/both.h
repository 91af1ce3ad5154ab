/*
 * both.h: how functions are marked that are the same on the host and in a kernel.
 */
#ifndef GS_COMMON_BOTH_H
#define GS_COMMON_BOTH_H

#ifdef __CUDACC__
#define GS_BOTH static __host__ __device__ __forceinline__
#else
#define GS_BOTH static inline
#endif

#endif
