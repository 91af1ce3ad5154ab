#include "family.cuh"
gs_status gs_cuda_split(gs_engine *engine, gs_type type, const void *in, const uint8_t *labels, uint64_t n, uint32_t k,
						void *out, uint64_t *starts, void *temp) { return GS_INVALID; }
gs_status gs_cuda_decode(gs_engine *engine, const gs_decode_request *r, void *temp) { return GS_INVALID; }
gs_status gs_cuda_reduce_fixed(gs_cuda_engine *e, const gs_reduce_request *r, void *temp) { return GS_INVALID; }
gs_status gs_cuda_gather(gs_engine *engine, gs_type type, const void *in, bool wide_index, const void *index, uint64_t n,
						 void *out) { return GS_INVALID; }
gs_status gs_cuda_sequence(gs_engine *engine, gs_type type, void *out, uint64_t n, uint64_t start, uint64_t step) { return GS_INVALID; }
gs_status gs_cuda_extent(gs_engine *engine, gs_type type, const void *in, uint64_t n, void *out, void *temp) { return GS_INVALID; }
size_t gs_cuda_other_temp(gs_primitive primitive, size_t bytes, uint64_t n, uint64_t extra) { return 0; }
