/*
 * both.h: marks functions that are compiled for the host and for kernels.
 */
#ifndef GS_COMMON_BOTH_H
#define GS_COMMON_BOTH_H

#ifdef __CUDACC__
#define GS_BOTH static __host__ __device__ __forceinline__
#else
#define GS_BOTH static inline
#endif

#endif
