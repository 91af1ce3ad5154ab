/*
 * places.h: lists with ROWS on the CPU.
 *
 * With orders, the page asked for lies in a window of packed keys, at first all of them.  A round counts the window's
 * keys by their leading bits, which narrows the window to where the page lies.  Once it has few rows beside the page,
 * a last round takes these.  Rows are read anew in each round.
 */
#ifndef GS_CPU_PLACES_H
#define GS_CPU_PLACES_H

#include "groups.h"

#define GS_PLACE_BITS	 12
#define GS_PLACE_BUCKETS (1u << GS_PLACE_BITS)

/* Rows of a call, whose spans are a worker's. */
typedef struct gs_place_unit
{
	const gs_held *columns;
	uint64_t first, n; /* of its spans */
} gs_place_unit;

/* Ends of the window. */
enum
{
	GS_PLACE_LOW,
	GS_PLACE_HIGH,
	GS_PLACE_BETWEEN,
	GS_PLACE_ENDS
};

/* A worker's state. */
typedef struct gs_place_worker
{
	bool begun;
	gs_work work; /* whose memory this is */
	const gs_group_loops *loops;
	gs_steps_plan plan;
	gs_block memory; /* of the plan */
	gs_block units, spans;
	uint32_t nunits;
	uint64_t nspans;
	gs_block counts;		  /* of even rows' buckets, then of odd ones'; the last bucket is what lies outside */
	gs_block keys, places;	  /* of rows that were taken; keys less the window's low end */
	uint64_t n;
	uint64_t seen[GS_PLACE_ENDS]; /* rows there, with those that were not taken */
} gs_place_worker;

typedef struct gs_places
{
	gs_groups head;
	gs_engine *engine; /* that opened it */
	gs_work work;
	size_t bytes;
	gs_status failure; /* of gs_groups_parts */
	const gs_rows_step *step;
	enum
	{
		GS_PLACES_ALL, /* no orders */
		GS_PLACES_COUNT,
		GS_PLACES_TAKE
	} now;
	uint64_t low, span; /* the window */
	uint32_t shift;		/* key bits that counts pass over */
	uint64_t rank;		/* of the page's first row, in the window */
	uint64_t count;		/* rows of the page */
	/* rows that each worker takes: of one key that ends the window, as many as the page has will do */
	uint64_t quotas[GS_PLACE_ENDS];
	uint64_t kept; /* without orders: all workers' rows */
	gs_block keys, places, sorted_keys, sorted, temp;
	gs_place_worker workers[];
} gs_places;

/* places_rows.c */
gs_status gs_cpu_places_rows(gs_groups *groups, uint32_t worker, gs_engine *engine, const gs_held_rows *rows);
gs_status gs_cpu_places_part(gs_groups *groups, uint32_t worker, gs_engine *engine, uint32_t part);

#endif
