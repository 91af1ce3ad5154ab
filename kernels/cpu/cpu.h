/*
 * cpu.h: internal structures of the CPU engine.  README.md names the files, doc/cpu-engine.md describes how they work.
 */
#ifndef GS_CPU_H
#define GS_CPU_H

#include "../common/types.h"
#include "../engine.h"
#include "../sort.h"

#include <string.h>

#define GS_BLOCK_ROWS	 1024 /* rows encoded or packed at a time; a few arrays of this size fit the L1 cache */
#define GS_HEAP_PAD		 16	  /* readable bytes behind the strings, for loads of eight and more */
#define GS_POSITIONS	 12	  /* characters that an alphabet covers */
#define GS_RANGES		 16	  /* characters whose ranges are tracked; at most GS_HEAP_PAD */
#define GS_ALPHABET_ROWS 512  /* fewer rows do not repay building one */
#define GS_FAR_AHEAD	 48	  /* prefetch distance for string offsets, in rows */
#define GS_TIE_WORDS	 64	  /* words that a scan for ties examines at a time */
#define GS_AHEAD		 24	  /* prefetch distance for characters and other values */
#define GS_MAX_DIGIT	 11	  /* bits of a partition's digit */
#define GS_SLOT_DEPTH	 2	  /* nested partitions by slots */
#define GS_MAX_DEPTH	 10	  /* nested partitions of any kind: digits of at least 8 bits out of 64 */
#define GS_SLOTS		 4096 /* values of leading bits that are counted to balance buckets */

/* Does something with the unsigned type of a width. */
#define GS_BY_WIDTH(width, DO)                                                                                         \
	switch (width)                                                                                                     \
	{                                                                                                                  \
		case 1:                                                                                                        \
			DO(uint8_t);                                                                                               \
			break;                                                                                                     \
		case 2:                                                                                                        \
			DO(uint16_t);                                                                                              \
			break;                                                                                                     \
		case 4:                                                                                                        \
			DO(uint32_t);                                                                                              \
			break;                                                                                                     \
		case 8:                                                                                                        \
			DO(uint64_t);                                                                                              \
			break;                                                                                                     \
		default:                                                                                                       \
			DO(unsigned __int128);                                                                                     \
	}

/* Instruction sets of the loops. */
typedef enum gs_vectors
{
	GS_NO_VECTORS, /* the compiler's default */
	GS_AVX2,
	GS_AVX512
} gs_vectors;

/* Switches and sizes of the sort, which the benchmark varies one at a time. */
typedef struct gs_cpu_tuning
{
	gs_vectors vector;	   /* upper limit for the choice of loops */
	bool lanes;			   /* separate digit counters per lane */
	/* from here on, scatter through write-combining buffers and partition keys of 4 bytes */
	uint32_t combine_rows;
	uint32_t cache_rows;   /* largest bucket sorted in the cache */
	uint32_t even_rows;	   /* fewer rows also are, if their leading bits fall evenly */
	uint32_t bucket_log;   /* log2 of the rows aimed at per bucket */
	uint32_t quick_rows;   /* largest vector sort */
	uint32_t quick_bits;   /* fewer bits than these are not sorted by vectors */
	uint32_t quick_depth;  /* limit of nested partitions in a vector sort, per bit of the number of rows */
	uint32_t slack;		   /* leading bits sorted beyond log2 of the rows, before insertion sort */
	uint64_t hash_mask;	   /* of hashes of groups' wide keys: fewer bits have different keys collide */
} gs_cpu_tuning;

/* A growing block of host memory. */
typedef struct gs_block
{
	void *data;
	size_t bytes;
} gs_block;

/* Context of a computation: memory, and the work done since the last poll. */
typedef struct gs_work
{
	gs_host host;
	uint64_t done;
} gs_work;

gs_status gs_block_reserve(gs_work *work, gs_block *block, size_t bytes);
void gs_block_release(gs_work *work, gs_block *block);
gs_status gs_work_poll(gs_work *work);

/* Counts work, in units of one to four nanoseconds, and polls once enough has been done. */
static inline gs_status
gs_work_add(gs_work *work, uint64_t units)
{
	work->done += units;
	return work->done < (uint64_t) 1 << 20 ? GS_OK : gs_work_poll(work);
}

/* Returns true if a row is NULL.  nulls may be NULL. */
static inline bool
gs_is_null(const uint64_t *nulls, uint64_t row)
{
	return nulls != NULL && (nulls[row / 64] >> (row % 64) & 1);
}

/* ---------------------------------------------------------------- simd.c */

/* Range of the values of a column, or of one half of it. */
typedef struct gs_value_range
{
	uint64_t min, max;
	uint64_t varying; /* bits that are not constant */
	uint64_t first;
} gs_value_range;

/* Range of the lengths of strings. */
typedef struct gs_lengths
{
	uint64_t least, most;
} gs_lengths;

/* A part of a packed key: (((value ^ flip) - base) >> shift) + bump.  The lowest drop bits are left to a later step. */
typedef struct gs_pack
{
	uint64_t flip, base, bump;
	uint8_t shift;
	uint8_t drop;
	uint8_t bits; /* bits it adds to the word */
} gs_pack;

/*
 * Codes for the next characters of a string field.  Characters of a position are numbered in order, 0 for the end; or,
 * if all strings are long enough, are distances from its least one, with an unused gap left out.
 */
typedef struct gs_alphabet
{
	uint32_t field;
	uint64_t depth;	  /* depth of the first position */
	uint64_t longest; /* longest string examined */
	uint32_t width;	  /* bits of a distance; 0: characters are numbered */
	uint32_t chars;	  /* positions covered, 8 to GS_RANGES */
	uint8_t least[GS_RANGES];
	uint8_t above[GS_RANGES]; /* added to a distance, sets bit 7 beyond the gap; 0: no gap */
	uint32_t gap;
	uint8_t bits[GS_POSITIONS];
	uint8_t end[GS_POSITIONS];
	uint16_t rank[GS_POSITIONS][256];
} gs_alphabet;

/* Returns the bytes of an array of words, in whole lines. */
static inline size_t
gs_words_bytes(uint64_t n)
{
	return (n * sizeof(uint64_t) + GS_ALIGN - 1) & ~(size_t) (GS_ALIGN - 1);
}

/* Loads eight characters, most significant first. */
static inline uint64_t
gs_load_characters(const uint8_t *s)
{
	uint64_t word;

	memcpy(&word, s, 8);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
	word = __builtin_bswap64(word);
#endif
	return word;
}

/* Appends bits to a word.  The shift may be by 64. */
static inline uint64_t
gs_append_bits(uint64_t word, uint64_t code, uint32_t bits)
{
	return word << bits / 2 << (bits - bits / 2) | code;
}

#define GS_FALLS 1
#define GS_RISES 2

typedef struct gs_loops
{
	/* Encodes values as order-preserving unsigned numbers.  GS_U128 fills two arrays, high and low. */
	void (*encode)(gs_type type, void *to, void *low, const void *from, size_t n);
	/* Rebases and widens string offsets, and extends the range of lengths by those of n strings. */
	void (*widen)(uint64_t *to, const uint32_t *from, size_t n, uint64_t base);
	void (*lengths)(const uint64_t *offsets, size_t n, gs_lengths *lengths);
	/* Extends a range by values of 1, 2, 4 or 8 bytes. */
	void (*range)(size_t width, const void *values, size_t n, gs_value_range *range);
	/* words = words << bits | part */
	void (*pack)(size_t width, const void *values, size_t n, const gs_pack *pack, uint64_t *words);
	/* Puts row numbers below the keys.  Returns GS_FALLS if a key is less than its predecessor, else GS_RISES. */
	int (*number)(uint64_t *words, const uint64_t *keys, size_t n, uint32_t row_bits, uint64_t row);
	/* Extracts the row numbers of words. */
	void (*extract)(uint32_t *out, const uint64_t *words, size_t n, uint64_t mask);
	/* Returns how many words, a multiple of GS_TIE_WORDS, differ from their successors above the row number. */
	size_t (*untied)(const uint64_t *words, size_t n, uint64_t mask);
	/* Appends leading bits of characters' distances, XORed with xor_mask; false if some were too long. */
	bool (*distances)(const gs_alphabet *alphabet, const uint8_t *heap, const uint64_t *offsets, size_t n,
					  uint32_t bits, uint64_t xor_mask, uint64_t *words);
} gs_loops;

gs_vectors gs_vectors_choose(gs_vectors best);
const gs_loops *gs_loops_choose(gs_vectors vector);

/* ---------------------------------------------------------------- columns.c */

typedef struct gs_cpu_column
{
	gs_column_spec spec;
	size_t width;		 /* of an encoded value; 8 for GS_U128 halves and GS_BYTES offsets */
	gs_block values;	 /* GS_BYTES: 64-bit offsets into heap, one more than rows */
	gs_block low;		 /* GS_U128: the lower halves */
	gs_block nulls;		 /* NULL data: no NULL so far */
	uint64_t null_words; /* words filled in */
	gs_block heap;		 /* GS_BYTES */
	uint64_t heap_bytes; /* bytes in use */
	bool has_values;	 /* some row is not NULL; the members below are valid */
	gs_value_range range[2];	 /* [1]: of low */
	uint64_t shortest;	 /* GS_BYTES: range of lengths, and length of the common prefix */
	uint64_t longest;
	uint64_t prefix;
	uint64_t first_string; /* row that holds the prefix */
} gs_cpu_column;

/* A table of encoded columns. */
typedef struct gs_table
{
	gs_work *work;
	const gs_loops *loops;
	uint32_t ncolumns;
	uint64_t rows;
	uint64_t expected; /* expected number of rows; 0: unknown */
	gs_cpu_column *columns;
} gs_table;

/* A piece of one column to append.  Offsets have 32 bits. */
typedef struct gs_piece
{
	const void *values;
	const uint64_t *nulls;
	const uint8_t *heap;
	uint64_t heap_bytes;
} gs_piece;

void gs_column_init(gs_cpu_column *column, const gs_column_spec *spec);
void gs_table_init(gs_table *table, gs_work *work, const gs_loops *loops, gs_cpu_column *columns,
				   const gs_column_spec *specs, uint32_t ncolumns);
gs_status gs_table_append(gs_table *table, uint32_t c, const gs_piece *piece, uint64_t rows);
uint64_t gs_table_bytes(const gs_table *table);
void gs_table_release(gs_table *table);

/* ---------------------------------------------------------------- fields.c */

typedef enum gs_field_kind
{
	GS_FIELD_NULL,	/* one bit: is the column NULL? */
	GS_FIELD_VALUE, /* up to 64 bits */
	GS_FIELD_BYTES	/* a string; NULL counts as empty, after its GS_FIELD_NULL */
} gs_field_kind;

/* A field of the key.  Fields are ordered by significance. */
typedef struct gs_field
{
	gs_field_kind kind;
	uint8_t bits; /* GS_FIELD_BYTES: 0, since the length varies */
	uint8_t width;
	gs_pack pack;
	uint64_t null_code;
	const void *values;
	const uint64_t *nulls;
	const gs_cpu_column *column;
} gs_field;

/* The whole key. */
typedef struct gs_key
{
	gs_work *work;
	const gs_loops *loops;
	uint64_t rows;
	uint32_t nfields;
	uint32_t bits; /* of all fields except strings */
	gs_field *fields;
	gs_alphabet *alphabet; /* of the first string, if the first step covers it */
	gs_block memory;	   /* memory of fields and alphabet */
} gs_key;

/* A place in the key up to which rows are sorted: a field, and bits of it (bytes of a string). */
typedef struct gs_place
{
	uint32_t field;
	uint64_t at;
} gs_place;

typedef struct gs_part
{
	const gs_field *field;
	gs_pack pack;				 /* GS_FIELD_NULL and GS_FIELD_VALUE */
	uint64_t null_part;			 /* code of NULL */
	uint64_t depth;				 /* GS_FIELD_BYTES: bytes skipped */
	uint32_t chars;				 /* bytes covered */
	const gs_alphabet *alphabet; /* their alphabet, or NULL */
} gs_part;

/* The bits of the key that one sort covers. */
typedef struct gs_key_step
{
	uint32_t nparts;
	uint32_t bits;
	gs_place end;
	bool open;		   /* the last part is a string that may continue; its end depends on the row */
	gs_part parts[66]; /* of at least one bit each, except for one with an alphabet */
} gs_key_step;

gs_status gs_key_make(gs_key *key, const gs_table *table, uint32_t row_bits);
void gs_key_release(gs_key *key);
size_t gs_key_bytes(const gs_table *table);
uint32_t gs_table_key_bits(const gs_table *table, bool *strings);
void gs_step_make(const gs_key *key, const gs_alphabet *alphabet, gs_place place, uint32_t room, gs_key_step *step);
bool gs_step_rows(const gs_key *key, const gs_key_step *step, uint64_t row, size_t n, uint64_t *words);
void gs_step_gather(const gs_key_step *step, uint64_t *words, size_t n, uint32_t row_bits);
gs_place gs_step_end(const gs_key_step *step, uint64_t row);
uint64_t gs_field_code(const gs_field *field, uint64_t row);

/* Returns a row's string; NULL is empty. */
static inline const uint8_t *
gs_string(const gs_field *field, uint64_t row, uint64_t *length)
{
	const uint64_t *offsets = field->values;

	*length = gs_is_null(field->nulls, row) ? 0 : offsets[row + 1] - offsets[row];
	return (const uint8_t *) field->column->heap.data + offsets[row];
}

/* ---------------------------------------------------------------- strings.c */

gs_status gs_alphabet_of_rows(gs_alphabet *alphabet, const gs_key *key, uint32_t f, uint32_t row_bits, bool guess);
gs_status gs_alphabet_of_group(gs_alphabet *alphabet, const gs_key *key, gs_place place, const uint64_t *words,
							   size_t n, uint32_t row_bits);
bool gs_string_rows(const gs_loops *loops, const gs_part *part, uint64_t row, size_t n, uint64_t *words);
void gs_string_gather(const gs_part *part, const uint32_t *rows, size_t n, uint64_t *words);

/* Prefetches a string that will be read later: first its offset ... */
static inline void
gs_prefetch_offsets(const gs_field *field, uint64_t row)
{
	__builtin_prefetch((const uint64_t *) field->values + row);
}

/* ... and then its bytes from depth on, once the offset is in the cache. */
static inline void
gs_prefetch_string(const gs_field *field, uint64_t row, uint64_t depth)
{
	__builtin_prefetch((const char *) field->column->heap.data + ((const uint64_t *) field->values)[row] + depth);
}

/* ---------------------------------------------------------------- slots.c */

uint32_t gs_partition_width(const gs_cpu_tuning *tuning, uint64_t n, uint32_t bits);
bool gs_uneven(const uint64_t *words, size_t n, uint32_t high, uint32_t low, uint32_t width);
uint32_t gs_slots_make(const uint64_t *words, size_t n, uint32_t high, uint32_t low, uint32_t width, uint64_t *slots,
					   uint8_t *highs, uint32_t *shift);

/* Returns a word's bucket: the base plus further bits.  A slot packs mask, shift and base in 32, 16 and 16 bits. */
static inline uint32_t
gs_slot_bucket(uint64_t slot, uint64_t word)
{
	return (uint32_t) (uint16_t) slot + (uint32_t) (word >> (slot >> 16 & 63) & slot >> 32);
}

/* ---------------------------------------------------------------- radix.c */

typedef struct gs_sorter
{
	gs_work *work;
	const gs_cpu_tuning *tuning;
	void *scratch; /* gs_sorter_bytes() bytes, aligned to a cache line; NULL if that is 0 */
	uint32_t passes;
	bool values; /* the bits below the sort bits are a payload: they neither ascend nor count */
} gs_sorter;

size_t gs_sorter_bytes(uint64_t rows, const gs_cpu_tuning *tuning);
gs_status gs_sort_words(gs_sorter *sorter, uint64_t **words, uint64_t **other, size_t n, uint32_t low, uint32_t high,
						bool exchange);

/* ---------------------------------------------------------------- vector_sort.c */

bool gs_by_vectors(const gs_sorter *sorter, size_t n, uint32_t bits);
gs_status gs_vector_sort(gs_work *work, uint64_t *words, size_t n, uint32_t depth, bool *done);

/* ---------------------------------------------------------------- order.c, refine.c */

/* State of a row order. */
typedef struct gs_order
{
	gs_work *work;
	const gs_loops *loops;
	const gs_key *key;
	gs_sorter sorter;
	uint64_t rows;
	uint32_t row_bits;
	bool complete;	 /* the first step covers the whole key */
	bool ascends;	 /* rows came in the order of the whole key, although the first step covers less */
	/* codes from usual_from on, at most usual_span more, are stored plus 1; 0 and usual_span + 2 stand for others */
	bool clipped;
	uint64_t usual_from, usual_span;
	uint64_t *words; /* rows words, and another array for sorting */
	uint64_t *other;
	gs_order_facts facts;
	/* bitmap of rows that differ from their predecessor in the first step's bits, or NULL */
	uint64_t *heads;
	/* these are large, and not cleared: that would push what a small sort reads out of the cache */
	gs_key_step step;	  /* the first step */
	gs_alphabet alphabet; /* of the group being refined */
} gs_order;

/* The part of an order that is cleared when it begins. */
#define GS_ORDER_CLEARED offsetof(gs_order, step)

void gs_order_init(gs_order *order, const gs_key *key, gs_work *work, const gs_cpu_tuning *tuning);
void gs_order_clip_outliers(gs_order *order);
bool gs_order_codes(const gs_order *order, uint64_t row, size_t n, uint64_t *codes);
gs_status gs_order_pack(gs_order *order);
bool gs_order_already_sorted(const gs_order *order);
gs_status gs_order_sort(gs_order *order);
gs_status gs_order_mark(const gs_order *order);
bool gs_order_first_pays(const gs_order *order, uint64_t k);
size_t gs_order_first_bytes(const gs_order *order, uint64_t k);
gs_status gs_order_first(const gs_order *order, uint64_t k, uint32_t *out, void *temp, bool *done);
gs_status gs_order_rows(const gs_order *order, uint32_t *out, uint64_t from, uint64_t n);
gs_status gs_refine(gs_order *order);

/* ---------------------------------------------------------------- sort.c, sort_keys.c, sort_alone.c and the rest */

struct gs_cpu_engine;

extern const struct gs_sort_ops gs_cpu_sort_ops;

/* The bits of a key that gs_sort sorts by. */
typedef struct gs_key_bits
{
	gs_type type;
	uint64_t xor_mask; /* inverted bits of the encoded key: all, if descending */
	uint64_t mask; /* bits to sort by */
	uint32_t begin;
} gs_key_bits;

void gs_key_codes(const struct gs_cpu_engine *cpu, const gs_key_bits *bits, const void *keys, size_t n,
				  uint64_t *codes);
gs_status gs_copy_array(gs_work *work, const void *from, void *to, size_t bytes);
size_t gs_sort_pairs_temp(const gs_cpu_tuning *tuning, size_t width, size_t value_width, uint64_t n);
gs_status gs_sort_u32(gs_work *work, size_t partition_rows, uint32_t xor_mask, const uint32_t *keys, uint32_t *out,
					  size_t n, void *temp);
gs_status gs_sort_alone(struct gs_cpu_engine *cpu, const gs_key_bits *bits, const gs_sort_request *r, void *temp,
						bool *done);
gs_status gs_sort_pairs(struct gs_cpu_engine *cpu, const gs_key_bits *bits, uint32_t nbits, const gs_sort_request *r,
						void *temp);

size_t gs_cpu_sort_keys_temp(const gs_engine *engine, gs_type key, size_t value_width, uint64_t n);
gs_status gs_cpu_sort_keys(gs_engine *engine, const gs_sort_request *r, void *temp);
/* ---------------------------------------------------------------- topk.c, segments.c */

size_t gs_cpu_top_k_temp(gs_engine *engine, const gs_column *columns, uint32_t ncolumns, uint64_t rows, uint64_t k);
gs_status gs_cpu_top_k(gs_engine *engine, const gs_column *columns, uint32_t ncolumns, uint64_t rows, uint64_t k,
					   uint32_t *order, void *temp, size_t temp_bytes);
size_t gs_cpu_segments_temp(const gs_engine *engine, gs_type key, size_t value_width, uint64_t n, uint64_t segments);
gs_status gs_cpu_segments(gs_engine *engine, const gs_sort_request *r, void *temp);

/* ---------------------------------------------------------------- merge.c */

size_t gs_cpu_merge_sort_temp(const gs_engine *engine, size_t key_bytes, size_t value_width, uint64_t n);
gs_status gs_cpu_merge_sort(gs_engine *engine, const gs_sort_request *r, void *temp);
size_t gs_cpu_merge_runs_temp(const gs_engine *engine, size_t key_bytes, size_t value_width, uint64_t n, uint64_t runs);
gs_status gs_cpu_merge_runs(gs_engine *engine, const gs_sort_request *r, void *temp);

/* ---------------------------------------------------------------- job.c, cpu.c */

/* A plan: the encoded columns and their key. */
typedef struct gs_cpu_plan
{
	gs_plan head;
	gs_table table;
	gs_key key;
	const gs_cpu_tuning *tuning;
	size_t bytes;
	gs_cpu_column columns[];
} gs_cpu_plan;

typedef struct gs_cpu_engine
{
	gs_engine head;
	gs_work work;
	const gs_loops *loops;
	gs_cpu_tuning tuning;
} gs_cpu_engine;

void gs_cpu_tune(gs_engine *engine, const gs_cpu_tuning *tuning);
gs_cpu_tuning gs_cpu_tuning_default(void);

gs_status gs_cpu_job_begin(gs_engine *engine, const gs_job_spec *spec, const gs_host *host, gs_job **job);
gs_status gs_cpu_job_add(gs_job *job, const gs_chunk *chunk);
gs_status gs_cpu_job_lend(gs_job *job, const gs_column *columns, uint64_t rows);
gs_status gs_cpu_job_finish(gs_job *job);
gs_status gs_cpu_job_next(gs_job *job, void *out, uint64_t room, uint64_t *got);
void gs_cpu_job_end(gs_job *job);
gs_status gs_cpu_job_order(gs_job *job, uint64_t *heads, gs_heads_known *known, const uint32_t **order);
uint32_t gs_cpu_job_sources(gs_job *job, uint32_t c, struct gs_source *sources);
void gs_cpu_job_drop_columns(gs_job *job);
void gs_cpu_job_drop_order(gs_job *job);
gs_status gs_cpu_job_emit(gs_job *job, uint64_t from, uint64_t n, void *out);
uint64_t gs_cpu_job_host_bytes(const gs_job *job);
void gs_cpu_job_get_info(const gs_job *job, gs_job_info *info);

#endif
