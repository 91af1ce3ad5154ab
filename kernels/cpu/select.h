/*
 * select.h: shared by the CPU implementations of select, runs and the rest of the scan family.
 */
#ifndef GS_CPU_SELECT_H
#define GS_CPU_SELECT_H

#include "../rows.h"
#include "cpu.h"

/* A comparison: keeps items with (item ^ flip) - low <= span, or all others. */
typedef struct gs_select_rule
{
	uint64_t low, span, flip;
} gs_select_rule;

/* Loops over groups of 64 items, one table per instruction set. */
typedef struct gs_select_loops
{
	uint64_t (*bytes)(const uint8_t *p);
	uint64_t (*range[4])(const void *from, const gs_select_rule *r); /* by log2 of the item's bytes */
	uint64_t (*differ1)(const void *from, uint8_t before);
	uint64_t (*differ2)(const void *from, uint16_t before);
	uint64_t (*differ4)(const void *from, uint32_t before);
	uint64_t (*differ8)(const void *from, uint64_t before);
	uint64_t (*pack[5])(void *to, const void *from, uint64_t mask);
	uint64_t (*positions)(uint32_t *to, uint32_t base, uint64_t mask);
} gs_select_loops;

const gs_select_loops *gs_select_loops_choose(const gs_cpu_engine *cpu);

/* Bit i: item i of up to 64 differs in its bytes from its predecessor, if begin is not set; *left: the last one. */
uint64_t gs_run_begins(const gs_select_loops *loops, gs_type type, const void *from, uint32_t n, bool begin,
					   void *left);

/* Prepares a comparison for the loops.  Bit i: item i of up to 64 lies in the interval. */
gs_select_rule gs_rule_of(gs_type type, const gs_interval *in);
uint64_t gs_in_range(const gs_select_loops *loops, gs_type type, const gs_interval *in, const gs_select_rule *rule,
					 const void *from, uint32_t n);

/* Returns the index of the loops for a type's width. */
static inline int
gs_log_width(gs_type type)
{
	return __builtin_ctz((unsigned) gs_type_width(type));
}

gs_status gs_cpu_select(gs_engine *engine, const gs_select_request *r, void *temp);
gs_status gs_cpu_runs(gs_engine *engine, const gs_runs_request *r, void *temp);
gs_status gs_cpu_decode(gs_engine *engine, const gs_decode_request *r, void *temp);
gs_status gs_cpu_reduce(gs_engine *engine, const gs_reduce_request *r, void *temp);
size_t gs_cpu_check_temp_bytes(const gs_held_rows *rows);
gs_status gs_cpu_check(gs_engine *engine, const gs_held_rows *rows, uint64_t *out, void *temp);
size_t gs_cpu_reduce_rows_temp_bytes(const gs_engine *engine, const gs_held_rows *rows, const struct gs_steps *steps);
gs_status gs_cpu_reduce_rows(gs_engine *engine, const gs_held_rows *rows, const struct gs_steps *steps,
							 struct gs_reduced *out, void *temp);

extern const struct gs_scan_ops gs_cpu_scan_ops;
extern const struct gs_row_ops gs_cpu_row_ops;
extern const struct gs_group_ops gs_cpu_group_ops;
/* places.c */
extern const struct gs_group_ops gs_cpu_place_ops;
/* windows.c */
extern const struct gs_group_ops gs_cpu_window_ops;
/* computed.c */
extern const struct gs_group_ops gs_cpu_computed_ops;

#endif
