/*
 * windows.h: lists of steps with windows on the CPU.
 *
 * A window turns rows into rows: they become records, a key of the partition and the orders and the columns that are
 * needed, which go to parts by the key's leading bits.  The parts' rows are put in order, the functions' columns are
 * computed, and all this goes to the question of the steps behind, as rows of columns.
 *
 * A unit is some partitions: a part, or several where the partitions are few.  Where some partition has a great share
 * of all rows, its parts are done one beside another: a first round puts all rows in order, a second one computes,
 * each part with what the functions carry over from those before.
 */
#ifndef GS_CPU_WINDOWS_H
#define GS_CPU_WINDOWS_H

#include "groups.h"

#define GS_NO_PLACE UINT32_MAX

/* The packed key that tells a column's values. */
typedef enum gs_window_source
{
	GS_TOLD_BY_PARTITION,
	GS_TOLD_BY_ORDERS,
	GS_TOLD_BY_VALUES
} gs_window_source;

/* A column's values in a window's records. */
typedef struct gs_window_column
{
	uint32_t column;
	gs_type type;
	uint32_t word; /* GS_U128: the lower half's */
	bool nulls;	   /* there may be some */
	bool bit;	   /* of which the next bit tells, from the highest one */
	const gs_packed_key *key; /* not NULL: integers that a key tells, and no word */
	gs_window_source source;  /* that key */
} gs_window_column;

/*
 * Records: the key of the partition, multiplied, and that of the orders, joined if they fit a word; those of the orders
 * that the key has no room for, and below them values, if all these fit a word behind; else columns; NULLs.  Where all
 * this fits a word without the bits that a part's number tells, records are single: values, packed, lie below the
 * joined key, and the sort carries them along.
 */
typedef struct gs_window_records
{
	gs_window_column columns[GS_STEPS_MAX_COLUMNS]; /* first: gcc 16 sees writes here as beyond what is before */
	uint32_t ncolumns, nulls_word, nnulls;			/* nnulls: bits */
	gs_packed_keys orders, rest, values; /* values: of single records, or below the rest */
	uint32_t rest_word;
	bool joined, single, behind; /* behind: there is a word of the rest */
} gs_window_records;

#define GS_MARK_PARTITION 1 /* a row is the first of its partition, */
#define GS_MARK_PEERS	  2 /* or of those that are equal by all orders */

/* Rows in order. */
typedef struct gs_ordered
{
	uint8_t *marks;
	char *values[GS_STEPS_MAX_COLUMNS];	  /* NULL: not needed */
	uint8_t *nulls[GS_STEPS_MAX_COLUMNS]; /* 1: the row is NULL; no array where there are none */
} gs_ordered;

/* What a function has of some rows in succession. */
typedef struct gs_window_carry
{
	gs_wide sum;
	uint64_t count; /* of values, of peers, or of runs */
	uint32_t place; /* of an extreme */
} gs_window_carry;

/* A part of rows that come in order. */
typedef struct gs_placed_part
{
	uint64_t first; /* of its spans */
	uint64_t rows;	/* that pass the filter, once these are counted */
} gs_placed_part;

/* Rows that come in order. */
typedef struct gs_placed_rows
{
	gs_block parts, memory;
	gs_placed_part *of; /* and where the last one's spans end */
	uint64_t part_rows;
	gs_span *spans; /* none of two parts; NULL: they did not come yet */
	const gs_held *columns;
} gs_placed_rows;

typedef struct gs_window_worker
{
	bool begun;
	gs_work work; /* whose memory this is */
	gs_block sorting, scratch, rows, bounds, places, columns, nulls, plan_memory;
	gs_steps_plan plan; /* of rows that come in order */
} gs_window_worker;

typedef enum gs_window_stage
{
	GS_WINDOW_ADDING,
	GS_WINDOW_COUNTING, /* rows that come in order and pass the filter */
	GS_WINDOW_UNITS,
	GS_WINDOW_ORDERING,
	GS_WINDOW_COMPUTING,
	GS_WINDOW_DONE /* what follows is the next question's */
} gs_window_stage;

typedef struct gs_cpu_windows
{
	gs_groups head;
	gs_work work;
	size_t bytes;
	gs_window_stage stage;
	gs_status failure; /* of parts */
	const gs_window_step *step;
	gs_cpu_groups *scatter; /* makes records of rows; NULL: in_place */
	bool in_place; /* rows come in order: */
	gs_placed_rows placed;
	gs_window_records records;
	gs_steps *after_steps;
	gs_groups *after;
	uint32_t runs; /* the column whose runs are the groups of the steps behind, or GS_NO_COLUMN */
	gs_range ranges[GS_STEPS_MAX_COLUMNS]; /* of its columns */
	gs_type types[GS_STEPS_MAX_COLUMNS];
	uint64_t apart[GS_STEPS_MAX_COLUMNS]; /* how far the source's values are known to be apart, or 1 */
	uint64_t columns; /* that records have, and those behind take */
	uint64_t taken;
	uint32_t split_bits; /* of the orders, in a part's number */
	uint32_t nparts, nunits;
	gs_block memory;
	uint64_t *starts; /* the first row of each part, and the end */
	gs_block rows_memory;
	gs_ordered rows;					/* all, in two rounds */
	gs_window_carry *carries, *wholes; /* of each part and function: the part's, then of all before; of the partition */
	gs_window_worker workers[];
} gs_cpu_windows;

/* Rows in order that a worker does: of whole partitions, or a part of one. */
typedef struct gs_window_job
{
	gs_cpu_windows *w;
	uint32_t worker;
	gs_cpu_engine *cpu;
	const gs_ordered *rows;
	uint64_t from, to;	 /* these rows */
	uint64_t begin, end; /* of a part of a partition: the partition's */
	const gs_window_carry *before, *whole; /* of each function, with a part of a partition */
	const uint32_t *bounds; /* of whole partitions, if a function asks: where each begins, and the end */
	uint32_t npartitions;
} gs_window_job;

/* A partition of a job, and the rows of it that the job does. */
typedef struct gs_stretch
{
	uint64_t begin, end, from, to;
} gs_stretch;

/* Finds a job's next stretch; k: its number.  Returns false behind the last one. */
static inline bool
gs_next_stretch(const gs_window_job *j, uint32_t k, gs_stretch *s)
{
	if (k >= j->npartitions)
		return false;
	if (j->bounds == NULL)
		*s = (gs_stretch){j->begin, j->end, j->from, j->to};
	else
		*s = (gs_stretch){j->bounds[k], j->bounds[k + 1], j->bounds[k], j->bounds[k + 1]};
	return true;
}

/* The frame of a row: [a, b). */
typedef struct gs_row_frame
{
	const gs_window_function *f;
	const uint8_t *marks;
	gs_stretch s;
	uint64_t a, b;
} gs_row_frame;

/* Begins the frames of a stretch. */
static inline gs_row_frame
gs_frame_begin(const gs_window_job *j, const gs_window_function *f, const gs_stretch *s)
{
	return (gs_row_frame){f, j->rows->marks, *s, s->begin, f->frame == GS_FRAME_PARTITION ? s->end : s->from};
}

/* Returns a place in a partition that is some rows from one, or its end. */
static inline uint64_t
gs_frame_place(const gs_stretch *s, uint64_t row, int64_t rows)
{
	int64_t at = (int64_t) row + rows;

	return at < (int64_t) s->begin ? s->begin : at > (int64_t) s->end ? s->end : (uint64_t) at;
}

/* Moves to the frame of a row, in succession. */
static inline void
gs_frame_move(gs_row_frame *r, uint64_t row)
{
	const gs_window_function *f = r->f;

	if (f->frame == GS_FRAME_PEERS && row >= r->b)
		for (r->b = row + 1; r->b < r->s.end && (r->marks[r->b] & GS_MARK_PEERS) == 0;)
			r->b++;
	if (f->frame != GS_FRAME_ROWS)
		return;
	r->a = f->from == GS_FRAME_FIRST ? r->s.begin : gs_frame_place(&r->s, row, f->from);
	r->b = f->to == GS_FRAME_LAST ? r->s.end : gs_frame_place(&r->s, row, f->to + 1);
	r->b = r->b < r->a ? r->a : r->b;
}

/* Returns true if all frames of a partition begin with its first row. */
static inline bool
gs_frame_from_first(const gs_window_function *f)
{
	return f->frame != GS_FRAME_ROWS || f->from == GS_FRAME_FIRST;
}

/* Returns true if they end with its last one. */
static inline bool
gs_frame_to_last(const gs_window_function *f)
{
	return f->frame == GS_FRAME_PARTITION || (f->frame == GS_FRAME_ROWS && f->to == GS_FRAME_LAST);
}

/* Returns the code (gs_scalar_code) of a value.  type: a constant, for each of which the caller is compiled. */
static inline __attribute__((always_inline)) gs_wide
gs_code_at(gs_type type, const void *values, uint64_t i)
{
	return gs_scalar_code(gs_column_scalar(type, values, i), gs_type_is_float(type));
}

/* Does something with a type as a constant. */
#define GS_BY_TYPE(type, DO)                                                                                           \
	switch (type)                                                                                                      \
	{                                                                                                                  \
		case GS_U8:                                                                                                    \
			DO(GS_U8);                                                                                                 \
			break;                                                                                                     \
		case GS_U16:                                                                                                   \
			DO(GS_U16);                                                                                                \
			break;                                                                                                     \
		case GS_I16:                                                                                                   \
			DO(GS_I16);                                                                                                \
			break;                                                                                                     \
		case GS_U32:                                                                                                   \
			DO(GS_U32);                                                                                                \
			break;                                                                                                     \
		case GS_I32:                                                                                                   \
			DO(GS_I32);                                                                                                \
			break;                                                                                                     \
		case GS_U64:                                                                                                   \
			DO(GS_U64);                                                                                                \
			break;                                                                                                     \
		case GS_I64:                                                                                                   \
			DO(GS_I64);                                                                                                \
			break;                                                                                                     \
		case GS_F32:                                                                                                   \
			DO(GS_F32);                                                                                                \
			break;                                                                                                     \
		case GS_F64:                                                                                                   \
			DO(GS_F64);                                                                                                \
			break;                                                                                                     \
		default:                                                                                                       \
			DO(GS_U128);                                                                                               \
	}

/* windows_records.c: plans the records of a window's rows. */
gs_status gs_window_plan(gs_cpu_windows *w, gs_engine *engine);

/* windows_sort.c: lays rows out in memory; memory NULL: returns the bytes. */
size_t gs_ordered_make(const gs_cpu_windows *w, gs_ordered *o, uint64_t rows, char *memory);
/* Puts the rows of a part in order, from a place on; first: of its partition. */
gs_status gs_window_sort(gs_cpu_windows *w, gs_window_worker *k, gs_cpu_engine *cpu, uint32_t part,
						 const gs_ordered *to, uint64_t at, bool first);

/* windows_placed.c: plans the columns that are copied, and parts. */
gs_status gs_window_plan_placed(gs_cpu_windows *w);
void gs_window_release_placed(gs_cpu_windows *w);
/* Takes all rows. */
gs_status gs_window_rows_placed(gs_cpu_windows *w, const gs_held_rows *rows);
/* Counts a part's rows that pass the filter. */
gs_status gs_window_count_placed(gs_cpu_windows *w, gs_window_worker *k, gs_cpu_engine *cpu, uint32_t part);
/* As gs_window_sort. */
gs_status gs_window_place(gs_cpu_windows *w, gs_window_worker *k, gs_cpu_engine *cpu, uint32_t part,
						  const gs_ordered *to, uint64_t at, bool first);

/* windows_values.c: computes the functions' columns, and gives rows to the next question. */
gs_status gs_window_give(gs_window_job *j);
/* Returns true if a partition's parts can be computed one beside another. */
bool gs_window_splits(const gs_cpu_windows *w);
/* Computes what a function has of the job's rows, to be carried over; of runs, those that begin behind the first. */
gs_status gs_window_summarize(const gs_window_job *j, uint32_t function, gs_window_carry *carry);
/* Adds that of the rows which follow, from one on. */
gs_status gs_window_join(const gs_cpu_windows *w, uint32_t function, gs_window_carry *into,
						 const gs_window_carry *from, uint64_t at, bool first);

/* windows_frames.c: computes counts, or sums and which of them are NULL, of the job's rows. */
gs_status gs_window_sums(const gs_window_job *j, const gs_window_function *f, uint32_t function, void *out,
						 uint8_t *nulls);
/* Returns true if a function counts or adds up from a partition's first row to each one, or to its last peer. */
bool gs_window_runs_on(const gs_window_function *f);
/* Finds the rows that have the extremes of the job's rows. */
gs_status gs_window_extremes(const gs_window_job *j, const gs_window_function *f, uint32_t function, uint32_t *places);
/* Computes what sums, counts and extremes have of the job's rows. */
gs_status gs_window_carry_of(const gs_window_job *j, uint32_t function, gs_window_carry *carry);

#endif
