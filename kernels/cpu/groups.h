/*
 * groups.h: lists of steps with groups on the CPU.
 *
 * The rows of a list make streams: those that pass the filter, and for each FILTER clause or expression that may be
 * NULL those that count for it.  A stream's records, a packed key and values, go to parts by the key.  A part's keys
 * become slots: a tally holds what aggregates have of each slot, and the values of a slot are put side by side for
 * aggregates that need them all.
 *
 * A wide key goes to parts by its hash, which takes the key's place.  Its words stand behind the hash in each record,
 * and keys of one hash become slots by comparing them.
 */
#ifndef GS_CPU_GROUPS_H
#define GS_CPU_GROUPS_H

#include "../groups.h"
#include "steps.h"

#define GS_NO_CLAUSE	 UINT32_MAX
#define GS_NO_TALLY		 UINT32_MAX
#define GS_NO_VALUE		 UINT32_MAX
#define GS_MOST_STREAMS	 (GS_STEPS_MAX_AGGREGATES + 1)
#define GS_MOST_VALUES	 (GS_STEPS_MAX_AGGREGATES + GS_STEPS_MAX_KEYS)
#define GS_RECORD_WORDS	 (1 + GS_WIDE_WORDS + 2 * GS_MOST_VALUES)
#define GS_LINE_WORDS	 (GS_ALIGN / 8)
#define GS_MOST_ROOM	 GS_STEP_ROWS /* for records in one piece */

/* Values of an expression in a stream's records. */
typedef struct gs_stream_value
{
	const gs_expression_plan *expression;
	uint32_t next;	/* value of the stream; the last: GS_NO_VALUE */
	gs_type type;	/* as gs_steps_values computes them: GS_I64, GS_U128 or GS_F64 */
	uint32_t word;	/* their place in a record */
	uint32_t words; /* 1 or 2, the lower half first; 0: computed for the sake of overflow */
	bool summed;	/* integers, of which an aggregate adds up all */
	/* codes of integers of packed records or that are needed all at once: in order, less low; orders of doubles */
	gs_wide low;
	gs_unsigned_wide span;
} gs_stream_value;

/*
 * How values become cells of their slot, which are in the order of the values: by their codes' leading bits, or doubles
 * by their distance from the least.
 */
typedef struct gs_cells
{
	uint32_t bits; /* of a cell */
	uint32_t shift;
	uint64_t zeros; /* 1: codes are of doubles, and that of -0 has the cell of the next one; else 0 */
	bool even;		/* doubles, by: */
	double low, scale, last;
	bool exact; /* a cell has one value */
} gs_cells;

/* Rows that pass the filter and a clause, and of which some columns are not NULL. */
typedef struct gs_stream
{
	uint32_t clause;  /* the first aggregate that has these terms; none: GS_NO_CLAUSE */
	uint64_t columns; /* which are not NULL */
	bool whole;		  /* the only value is needed all at once */
	uint32_t first;	  /* of its values */
	/* of a record; its key is the first, which few groups' records have not; behind a wide key's hash are its words */
	uint32_t words;
	bool packed;	  /* the only word has the lower bits of the key above the code of the only value, of: */
	uint32_t value_bits;
	/* of few groups, if the values are needed all at once: a bit for each value that was there, or counted cells */
	bool bits;
	uint64_t bit_words; /* of a slot */
	gs_cells cells;
	uint32_t table;				 /* of counts, among those of all such streams */
	uint32_t first_part, nparts; /* whose values are needed */
	/* or a record for each value, slot and code, which goes to parts by its leading bits; sparse ones are multiplied */
	bool pairs;
	uint32_t pair_bits, pair_shift; /* of a record; below the part's */
	uint64_t factor, inverse;
	uint32_t room;	  /* for records of a part in one piece */
	size_t first_line; /* of its parts and words */
} gs_stream;

/* What an aggregate that takes value by value has of each slot. */
typedef struct gs_tally_plan
{
	uint32_t stream, value;
	gs_operation operation;
	gs_type type;  /* of the values */
	gs_type held;  /* of what is held: GS_I64, GS_U128, GS_F64, or GS_U64 for the order of a double */
	bool zeros;	   /* MIN or MAX of doubles: signs of zeros are noted */
} gs_tally_plan;

/* How an aggregate, or a hidden one, is answered. */
typedef struct gs_answer_plan
{
	gs_aggregation operation;
	double fraction;
	uint32_t stream; /* whose number of records is the count of values */
	uint32_t tally;	 /* GS_NO_TALLY: the count, or one that needs all values: */
	uint32_t whole;	 /* its place among these */
} gs_answer_plan;

/*
 * Memory that is read next.  Loops that compute prefetch some of it for each of their rows, because the loads of a loop
 * that does little else would wait for each other.
 */
typedef struct gs_ahead
{
	const char *at;
	size_t step; /* bytes for each row */
} gs_ahead;

/* Does something for each i below n, and reads ahead for four of them at a time. */
#define GS_EACH_AHEAD(n, ahead, STATEMENT)                                                                             \
	do                                                                                                                 \
	{                                                                                                                  \
		uint32_t i = 0;                                                                                                \
		while (i + 4 <= n)                                                                                             \
		{                                                                                                              \
			__builtin_prefetch((ahead).at + i * (ahead).step);                                                         \
			_Pragma("GCC unroll 4") for (int turn = 0; turn < 4; turn++, i++)                                          \
				STATEMENT                                                                                              \
		}                                                                                                              \
		for (; i < n; i++)                                                                                             \
			STATEMENT                                                                                                  \
	} while (0)

/* What is held of some slots. */
typedef struct gs_tally
{
	uint32_t slots;
	uint32_t *counts[GS_MOST_STREAMS]; /* NULL: of a stream whose values are needed all at once, or of no interest */
	void *values[GS_MOST_VALUES];
	uint8_t *zeros[GS_MOST_VALUES]; /* bit 0 for +0, bit 1 for -0 */
} gs_tally;

/* How many records, and which sum of values modulo 2^64, are given to groups, or held of them: see groups_proof.c. */
typedef struct gs_group_totals
{
	uint64_t counts[GS_MOST_STREAMS];
	uint64_t sums[GS_MOST_VALUES]; /* given: of each value; held: of each tally */
} gs_group_totals;

/* Loops over blocks of keys and values, a table for each instruction set: see groups_loops.h. */
typedef struct gs_group_loops
{
	void (*less)(gs_type type, const void *values, size_t n, uint64_t low, uint64_t *restrict out);
	void (*order)(const uint64_t *values, size_t n, bool zeros, uint32_t drop, uint64_t low, uint64_t *restrict out);
	uint64_t (*most)(const uint64_t *values, size_t n);
	uint64_t (*sum)(const uint64_t *words, size_t n, bool second);
	void (*turn)(uint64_t *part, size_t n, bool from, uint64_t number);
	void (*divide)(uint64_t *part, size_t n, uint64_t inverse, uint32_t even); /* as gs_quotient_of */
	void (*append)(uint64_t *restrict words, size_t n, uint32_t bits, const uint64_t *restrict part);
	void (*mix)(uint64_t *words, size_t n, uint64_t factor, uint64_t mask);
	/* The key's lower bits, and the codes plus low, of packed records. */
	void (*unpack)(const uint64_t *words, size_t n, uint32_t bits, uint64_t mask, uint64_t low, uint64_t *restrict keys,
				   uint64_t *restrict values);
	/* The cells of slots' values, of which codes are given, or if they are even doubles. */
	void (*cells)(const gs_cells *c, const void *values, const uint64_t *slots, size_t n, uint32_t *restrict out);
	/* From the second word on, how each differs from the one before. */
	void (*mark)(const uint64_t *words, size_t n, uint64_t partition, uint64_t peers, uint8_t *restrict marks);
} gs_group_loops;

const gs_group_loops *gs_group_loops_choose(gs_vectors vector);

/* Records of a part, word by word. */
typedef struct gs_records
{
	struct gs_records *next;
	uint64_t room, before;				/* before: of all that follow in the list, which are full */
	uint64_t unused[GS_LINE_WORDS - 3]; /* words begin with a line */
	uint64_t words[];
} gs_records;

/* Where a worker's next record of a part goes: these are what its loop over records looks at. */
typedef struct gs_cursor
{
	uint64_t *at, *end;
} gs_cursor;

/* Rows that a worker has seen and that are read again. */
typedef struct gs_kept_rows
{
	gs_span span;
	gs_held columns[];
} gs_kept_rows;

/* Cells of a slot that follow each other, whose values are put side by side. */
typedef struct gs_cell_part
{
	uint32_t stream, slot;
	uint64_t n, before, all; /* values of these cells, of those before, of the slot */
	gs_reduced mode;		 /* count: how often it is there */
} gs_cell_part;

/* A worker's state. */
typedef struct gs_group_worker
{
	bool begun;
	bool has_rows; /* set before parts are done: other workers begin meanwhile */
	gs_work work; /* whose memory this is */
	const gs_group_loops *loops;
	gs_steps_plan plan;
	gs_block memory; /* of the plan */
	gs_cursor *cursors; /* of each stream and part, or of each gs_cell_part */
	gs_records **last;	/* likewise; all but this one are full */
	uint32_t ncursors; /* of few groups */
	gs_block cursors_memory, last_memory;
	uint64_t *lines; /* of each stream, part and word: those that are not in memory yet */
	gs_block lines_memory;
	gs_block slabs; /* an array of gs_block, of which records are cut */
	uint32_t nslabs;
	char *slab; /* what is left of the last one */
	size_t slab_left, slab_bytes;
	gs_group_list list;
	gs_group_totals given, held;
	uint64_t *wide; /* words of a block's wide keys */
	gs_block wide_memory;
	/* of few groups */
	gs_tally few;
	uint64_t *bitmaps[GS_MOST_STREAMS];
	uint32_t *cells; /* counts, of all streams that have them */
	gs_block few_memory;
	gs_block kept; /* gs_kept_rows */
	uint32_t nkept;
	/* a part's */
	gs_block tally, slots, table, keys, wide_keys, values, sorted, answers, scratch;
} gs_group_worker;

typedef struct gs_cpu_groups
{
	gs_groups head;
	gs_engine *engine; /* that opened it */
	gs_work work;
	size_t bytes;
	gs_status failure; /* of gs_groups_parts */
	gs_steps_plan plan;
	gs_block plan_memory;
	uint32_t nstreams, ntallies, nanswers, nwhole, nvalues; /* the first answers are the aggregates' */
	gs_stream streams[GS_MOST_STREAMS];
	gs_tally_plan tallies[GS_MOST_VALUES];
	gs_answer_plan answers[GS_MOST_VALUES];
	gs_stream_value values[GS_MOST_VALUES];
	gs_expression_plan hidden[GS_STEPS_MAX_KEYS]; /* keys that may be zeros of both signs */
	gs_instruction hidden_code[GS_STEPS_MAX_KEYS];
	uint32_t hidden_answer[GS_STEPS_MAX_KEYS];
	/* the key is multiplied within its bits, so that parts and places in tables are even; hashes have a mask */
	uint64_t factor, inverse, mask;
	uint32_t part_bits, slot_bits; /* of the key: the leading ones, and the others */
	uint64_t kept;				   /* groups in all workers' lists */
	size_t record_bytes;		   /* that a worker is expected to have */
	bool lines;					   /* records go to memory line by line */
	size_t nlines;
	uint32_t round;				   /* of parts */
	/* few groups: each worker has a tally of all */
	bool few;
	uint32_t cell_bits, ntables;
	gs_block few_memory, parts_memory, places_memory;
	gs_reduced *few_answers; /* for each slot, of aggregates that need all values */
	gs_cell_part *parts;
	uint32_t nparts, npairs; /* the first ones are those of pairs, which are nothing but a number */
	uint32_t pairs_log;		 /* of each stream with pairs */
	uint16_t *places; /* for each table and cell, 1 + the part among the stream's; 0: its values are not needed */
	const struct gs_window_records *records; /* of a window: what the only stream has; else NULL */
	gs_group_worker workers[];
} gs_cpu_groups;

/* Groups whose rows follow each other, as slots of a tally: their multiplied keys, and the slots of a block's rows. */
typedef struct gs_group_runs
{
	uint32_t n;
	uint64_t keys[GS_STEP_ROWS + 1];
	uint32_t slots[GS_STEP_ROWS];
} gs_group_runs;

/* The work of a block of rows. */
typedef struct gs_group_job
{
	gs_cpu_groups *g;
	gs_group_worker *w;
	gs_rows_block block;
	uint64_t keys[GS_STEP_ROWS];
	uint32_t slots[GS_STEP_ROWS];
	uint64_t *at[GS_STEP_ROWS]; /* where records' first words go */
	uint64_t *lines[GS_STEP_ROWS]; /* and by which lines */
	gs_group_runs *runs;		/* NULL: rows come in any order */
	bool again;					/* rows are read for the values of cells that are needed */
} gs_group_job;

/* groups_plan.c: plans streams, tallies and answers. */
void gs_groups_plan(gs_cpu_groups *g);
/* Packs records, whose parts are known. */
void gs_records_plan(gs_cpu_groups *g);

/* groups_rows.c: adds rows to the workers' records. */
gs_status gs_cpu_groups_rows(gs_groups *groups, uint32_t worker, gs_engine *engine, const gs_held_rows *rows);
/* Reads rows again, and puts down the values of cells that are needed. */
gs_status gs_collect_rows(gs_cpu_groups *g, gs_group_worker *w, gs_cpu_engine *cpu, const gs_kept_rows *rows);
/* Begins a job over rows in any order.  Without keys, packed keys stay 0. */
void gs_group_job_begin(gs_group_job *j, gs_cpu_groups *g, gs_group_worker *w);
/* Returns the next block's values of the first of some columns, all of which n rows of this block read ahead. */
gs_ahead gs_ahead_of(const gs_group_job *j, uint64_t columns, uint32_t n);
/* Adds a span's rows, block by block. */
gs_status gs_groups_add_span(gs_group_job *j, gs_work *work, const gs_span *span, const gs_held *columns);

/* groups_records.c: makes room for records of a part, in one piece. */
gs_status gs_new_records(const gs_cpu_groups *g, gs_group_worker *w, const gs_stream *s, size_t part);
/* Returns true if records are so many that they go to memory line by line. */
bool gs_records_have_lines(const gs_cpu_groups *g);
/* Plans the lines, once parts and words are known. */
void gs_records_lines(gs_cpu_groups *g);
/* Makes room for where a worker's records of all parts go. */
gs_status gs_records_begin(const gs_cpu_groups *g, gs_group_worker *w);
/* Puts what lines have of a part's records behind the others: before the part is done, by who does it. */
void gs_records_flush(const gs_cpu_groups *g, uint32_t stream, uint32_t part);
/* Finds the places of n records by the leading bits of something, and writes their first words. */
gs_status gs_place_first(gs_group_job *j, uint32_t stream, const uint64_t *by, uint32_t shift, const uint64_t *first,
						 uint32_t n, gs_ahead ahead);
/* Writes a word of n records, whose values are step words apart. */
void gs_place_word(const gs_group_job *j, const gs_stream *s, uint32_t word, const uint64_t *values, uint32_t step,
				   uint32_t n, gs_ahead ahead);
/* groups_runs.c: returns true if gs_groups_runs carries out a list. */
bool gs_groups_take_runs(const gs_cpu_groups *g);
/* Adds rows of whole groups, those of each following one another. */
gs_status gs_groups_runs(gs_cpu_groups *g, uint32_t worker, gs_engine *engine, const gs_held_rows *rows);
/* Before and after a block's rows are added to the tally. */
gs_status gs_runs_begin_block(gs_group_job *j);
gs_status gs_runs_end_block(gs_group_job *j);
/* Finds the slots of n rows of a mask. */
void gs_runs_slots(gs_group_job *j, const uint64_t *mask, uint32_t n);

/* windows_records.c: adds a block's rows to a window's records. */
gs_status gs_window_add(gs_group_job *j);

/* groups_keys.c: packs the keys of the n rows of a mask.  Returns false if a value is outside of its range. */
bool gs_pack_keys(const gs_packed_keys *keys, const gs_group_loops *loops, gs_steps_plan *plan, gs_rows_block *b,
				  const uint64_t *mask, uint32_t n, uint64_t *packed);
/* Packs wide keys: their first words, GS_STEP_ROWS behind these the next ones. */
bool gs_pack_wide_keys(const gs_packed_keys *keys, const gs_group_loops *loops, gs_steps_plan *plan, gs_rows_block *b,
					   const uint64_t *mask, uint32_t n, uint64_t *words);
/* Makes hashes of wide keys. */
void gs_hash_words(const uint64_t *words, uint32_t nwords, uint32_t n, uint64_t *hashes);
/* For each NULL among the rows of a mask: part[its place] = code. */
void gs_put_nulls(const gs_rows_block *b, const gs_held *column, const uint64_t *mask, uint64_t *part, uint64_t code);
/* Returns true if columns that were said to have no NULLs have none among some rows. */
bool gs_nulls_known(const gs_steps_plan *plan, const gs_range *ranges, const gs_span *span, const gs_held *columns);

/* groups_proof.c: takes values that go to groups. */
void gs_totals_give(gs_group_worker *w, const gs_cpu_groups *g, uint32_t value, const void *values, uint32_t n);
/* Takes the first slots of a tally, which are complete. */
void gs_totals_hold(gs_group_worker *w, const gs_cpu_groups *g, const gs_tally *tally, uint32_t slots);
/* Returns true if the groups of all workers hold what was given to them. */
bool gs_totals_agree(const gs_cpu_groups *g);

/* groups_tally.c */
size_t gs_tally_make(const gs_cpu_groups *g, gs_tally *tally, uint32_t slots, char *memory);
/* Counts records, and adds one of their values; high: upper halves.  Values are step words apart. */
void gs_tally_count(gs_tally *tally, uint32_t stream, const uint32_t *slots, uint32_t n, gs_ahead ahead);
/* Returns false if a sum leaves 128 bits. */
bool gs_tally_value(const gs_cpu_groups *g, gs_tally *tally, uint32_t value, const uint32_t *slots, const uint64_t *x,
					const uint64_t *high, uint32_t step, uint32_t n, gs_ahead ahead);
/* Makes a slot the first one, and those up to it empty. */
void gs_tally_restart(const gs_cpu_groups *g, gs_tally *tally, uint32_t slot);
/* Adds another worker's tally.  Returns false if a sum leaves 128 bits. */
bool gs_tally_join(const gs_cpu_groups *g, gs_tally *into, const gs_tally *from);
/* Returns what an answer that has a tally, or is a count, is for a slot. */
gs_reduced gs_tally_answer(const gs_cpu_groups *g, const gs_tally *tally, const gs_answer_plan *a, uint32_t slot);

/* groups_values.c: sorts codes; *values becomes where they are. */
gs_status gs_sort_codes(gs_group_worker *w, const gs_cpu_engine *cpu, const gs_stream_value *v, void **values,
						uint64_t n);
/* Answers what asks for all values from a part of a slot's, which follow others of all. */
gs_status gs_cell_answer(const gs_cpu_groups *g, gs_group_worker *w, const gs_cpu_engine *cpu, uint32_t stream,
						 void *values, uint64_t n, uint64_t before, uint64_t all, gs_reduced *answers,
						 gs_reduced *mode);
/* Finds which of a slot's n values are asked for.  Returns their number; GS_ALL_ASKED: all are needed. */
uint32_t gs_ranks_asked(const gs_cpu_groups *g, uint32_t stream, uint64_t n, uint64_t *ranks);
#define GS_ALL_ASKED UINT32_MAX
/* Answers what asks for all values from the counts of all codes. */
void gs_counts_answer(const gs_cpu_groups *g, uint32_t stream, const uint32_t *counts, uint32_t n, gs_reduced *answers);

/* Answers the aggregates of a stream that need all values of a slot, which are permuted. */
gs_status gs_whole_answer(const gs_cpu_groups *g, gs_group_worker *w, const gs_cpu_engine *cpu, uint32_t stream,
						  void *values, uint64_t n, gs_reduced *answers);

/* groups_parts.c: the number of records of a stream's part. */
uint64_t gs_records_count(const gs_cpu_groups *g, size_t part);
gs_status gs_cpu_groups_part(gs_groups *groups, uint32_t worker, gs_engine *engine, uint32_t part);

/* Counts groups that a list has got.  GS_TOO_BIG: there are too many. */
gs_status gs_groups_keep(gs_cpu_groups *g, const gs_group_list *list, uint64_t more);

/*
 * Adds the group of a slot to a list, unless HAVING leaves it out, whose members are made first.  key: multiplied, or
 * the words of a wide one.
 */
gs_status gs_add_group(const gs_cpu_groups *g, gs_group_list *list, const gs_tally *tally, const gs_reduced *answers,
					   const uint64_t *key, uint32_t slot);

/* groups_few.c: decides whether there are few groups, and plans how they are answered. */
void gs_few_plan(gs_cpu_groups *g);
gs_status gs_few_begin(gs_cpu_groups *g, gs_group_worker *w);
gs_status gs_few_join(gs_cpu_groups *g);
/* Returns the units of the next round; 0: there are none left. */
uint32_t gs_few_units(gs_cpu_groups *g);
gs_status gs_few_part(gs_cpu_groups *g, gs_group_worker *w, gs_cpu_engine *cpu, uint32_t unit);
gs_status gs_few_end(gs_cpu_groups *g, gs_group_list *list);

/* Makes room for where a worker's records of all parts go. */
gs_status gs_few_cursors(const gs_cpu_groups *g, gs_group_worker *w);

/* groups_pairs.c: returns true if a stream whose different values are counted may have pairs. */
bool gs_pairs_fit(const gs_cpu_groups *g, const gs_stream_value *v, uint32_t bits);
void gs_pairs_plan(gs_cpu_groups *g, gs_stream *s);
/* Adds the records of codes. */
gs_status gs_pairs_add(gs_group_job *j, uint32_t stream, const uint64_t *codes, uint32_t n, gs_ahead ahead);
/* Counts the different pairs of a part. */
gs_status gs_pairs_part(gs_cpu_groups *g, gs_group_worker *w, gs_cpu_engine *cpu, uint32_t part);

/* groups_cells.c: plans the cells of a stream. */
void gs_cells_plan(gs_cpu_groups *g, gs_stream *s);
/* Counts cells; puts down codes of cells that are needed. */
void gs_cells_count(const gs_cpu_groups *g, gs_group_worker *w, uint32_t stream, const uint32_t *cells, uint32_t n,
					gs_ahead ahead);
gs_status gs_cells_collect(const gs_cpu_groups *g, gs_group_worker *w, uint32_t stream, const uint32_t *cells,
						   const uint64_t *codes, uint32_t n);
/* Finds the rows whose cells' values are needed.  Returns their number. */
uint32_t gs_cells_needed(const gs_cpu_groups *g, uint32_t stream, const uint32_t *cells, uint32_t n, gs_ahead ahead,
						 uint32_t *rows);
/* Remembers rows, to be read again. */
gs_status gs_cells_keep(const gs_cpu_groups *g, gs_group_worker *w, const gs_span *span, const gs_held *columns);
/* Joins what workers have counted, and makes parts of the cells whose values are needed. */
gs_status gs_cells_join(gs_cpu_groups *g);
/* Returns how many units of rows are to be read again. */
uint32_t gs_cells_units(const gs_cpu_groups *g);
gs_status gs_cells_unit(gs_cpu_groups *g, gs_group_worker *w, gs_cpu_engine *cpu, uint32_t unit);
/* Answers what a part's values tell. */
gs_status gs_cells_part(gs_cpu_groups *g, gs_group_worker *w, gs_cpu_engine *cpu, uint32_t part);
/* Completes the answers. */
void gs_cells_end(gs_cpu_groups *g);

/* Returns how many cells all slots have. */
static inline uint32_t
gs_cells_number(const gs_cpu_groups *g)
{
	return (uint32_t) 1 << (g->slot_bits + g->cell_bits);
}

/* groups.c: makes a plan in memory of its own. */
gs_status gs_make_plan(gs_work *work, const gs_cpu_engine *cpu, const gs_steps *steps, gs_steps_plan *plan,
					   gs_block *memory);
/* Makes a question with its plan of the list, and no more. */
gs_status gs_groups_make(gs_engine *engine, const gs_groups *head, gs_cpu_groups **groups);
/* Chooses what keys are multiplied by. */
void gs_groups_choose_factor(gs_cpu_groups *g);
/* Chooses the room for records in one piece. */
void gs_groups_choose_room(gs_cpu_groups *g);
void gs_groups_free(gs_cpu_groups *g);
/* Tells which workers had rows, before parts are done. */
void gs_groups_rows_end(gs_cpu_groups *g);
/* Begins a worker's work, by its engine. */
gs_status gs_group_worker_begin(gs_cpu_groups *g, gs_group_worker *w, gs_engine *engine);

/* Returns how many records of a stream's part there are in one piece. */
static inline uint32_t
gs_records_number(const gs_group_worker *w, size_t part, const gs_records *r)
{
	return (uint32_t) (r == w->last[part] ? (uint64_t) (w->cursors[part].at - r->words) : r->room);
}

/* Takes memory for an array; memory NULL: only counts. */
static inline void *
gs_take(char *memory, size_t *used, size_t bytes)
{
	size_t at = *used;

	*used += (bytes + GS_ALIGN - 1) & ~(size_t) (GS_ALIGN - 1);
	return memory != NULL ? memory + at : NULL;
}

/* Returns true if the values of a stream of few groups have cells. */
static inline bool
gs_has_cells(const gs_stream *s)
{
	return s->whole && !s->bits && !s->pairs;
}

/* Returns true if a stream's codes have more than 64 bits. */
static inline bool
gs_value_wide(const gs_stream_value *v)
{
	return v->words == 2;
}

#endif
