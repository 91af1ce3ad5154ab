/*
 * index_merge.c: the merge of sorted rows of an index, a process's own and those that others send.
 *
 * Rows are sent in chunks, each behind the first words of its keys (../merge/key_prefix.h), which merges compare.  All
 * sources are in the order of keys and numbers, in which no two rows are equal.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "index_merge.h"
#include "src/merge/merge_rows.h"
#include "src/merge/merge_tree.h"
#include "src/rows/rowcompare.h"

/* What is sent at a time. */
#define CHUNK_BYTES ((Size) 32 * 1024)

/* What precedes a row in a chunk. */
typedef struct SentRow
{
	uint64		words[KEY_WORDS];
	bool		whole;			/* the words are the whole key */
	bool		weighed;		/* they have primary weights */
	uint16		nweights;		/* bytes of weights behind the row, if words do not have all */
	uint32		row_bytes;		/* of the row, aligned */
} SentRow;

StaticAssertDecl(MAXALIGN(sizeof(SentRow)) == sizeof(SentRow), "rows are aligned");

/* Rows of one process, the first of which takes part in the merge. */
typedef struct Source
{
	shm_mq_handle *queue;		/* NULL: this process's own */
	const char *at;				/* the rest of a chunk */
	const char *end;
	MergeRow	row;
	bool		weighed;		/* its rows' words have primary weights */
} Source;

struct IndexMerge
{
	IndexRows  *rows;			/* its own, or NULL */
	SortColumns columns;		/* the keys and the number */
	KeyPrefix	prefix;			/* of its own rows */
	KeyPrefix	exact;			/* of all rows, if some have words with primary weights and others do not */
	bool		differ;
	bool		weighed;		/* words of all rows have primary weights */
	MergeOrder	order;
	Source	   *sources;
	MergeTree	tree;
	bool		fresh;			/* the winner's row has not been given out */
};

/* What the number makes of an index's keys: an order without ties. */
static SortColumns
with_number(const IndexForm *form)
{
	SortColumns columns = form->columns;

	columns.nkeys++;
	return columns;
}

/* The first row of a chunk, which is in source->at; false if all have been sent. */
static bool
receive_chunk(Source *source)
{
	Size		bytes;
	void	   *data;

	if (shm_mq_receive(source->queue, &bytes, &data, false) != SHM_MQ_SUCCESS)
		return false;
	source->at = data;
	source->end = source->at + bytes;
	return true;
}

/* Moves the source of own rows to its next row, with its words. */
static void
read_own_row(IndexMerge *merge, Source *source, MergeEntry *entry)
{
	mergerow_set(&source->row, indexrows_next(merge->rows));
	if (source->row.tuple != NULL)
		entry->whole = mergerow_take(&source->row, &merge->prefix, entry->words);
}

/* Another process's. */
static void
read_sent_row(Source *source, MergeEntry *entry)
{
	const SentRow *sent;

	mergerow_set(&source->row, NULL);
	if (source->at == source->end && !receive_chunk(source))
		return;
	sent = (const SentRow *) source->at;
	memcpy(entry->words, sent->words, sizeof(entry->words));
	entry->whole = sent->whole;
	source->weighed = sent->weighed;
	source->row.tuple = (MinimalTuple) (sent + 1);
	source->row.weights = source->at + sizeof(SentRow) + sent->row_bytes;
	source->row.nweights = sent->nweights;
	source->at = source->row.weights + MAXALIGN(sent->nweights);
}

/* Moves a source to its next row. */
static void
read_row(IndexMerge *merge, MergeEntry *entry)
{
	Source	   *source = &merge->sources[entry->source];

	if (source->queue == NULL)
		read_own_row(merge, source, entry);
	else
		read_sent_row(source, entry);
	if (source->row.tuple == NULL)
		mergeentry_end(entry);
	else if (unlikely(merge->differ))
		entry->whole = mergerow_take(&source->row, &merge->exact, entry->words);
}

/* Compares the rows of two sources, as a MergeCompare. */
static int
compare_sources(void *arg, uint32 a, uint32 b)
{
	IndexMerge *merge = arg;

	return mergerow_compare(&merge->order, &merge->sources[a].row, &merge->sources[b].row);
}

/* Opens what gives rows the words of their keys; rows: with primary weights, if the sort has them.  True: they do. */
static bool
open_prefix(KeyPrefix *prefix, const SortColumns *columns, TupleDesc desc, IndexRows *rows)
{
	const SortKey *keys = rows ? sorter_keys(indexrows_sorter(rows)) : NULL;

	keyprefix_open(prefix, columns, desc);
	keyprefix_encode(prefix);
	return keys && keyprefix_add_weights(prefix, keys);
}

/* Reads the first rows of all sources.  Words with primary weights do not mix with others. */
static void
read_first_rows(IndexMerge *merge)
{
	bool		weighed[2] = {false, false};

	for (uint32 i = 0; i < merge->tree.nsources; i++)
	{
		read_row(merge, &merge->tree.entries[i]);
		if (merge->sources[i].row.tuple != NULL)
			weighed[merge->sources[i].weighed] = true;
	}
	merge->differ = weighed[false] && weighed[true];
	merge->weighed = weighed[true] && !merge->differ;
	for (uint32 i = 0; merge->differ && i < merge->tree.nsources; i++)
		if (merge->sources[i].row.tuple != NULL)
			merge->tree.entries[i].whole = mergerow_take(&merge->sources[i].row, &merge->exact,
														 merge->tree.entries[i].words);
}

IndexMerge *
indexmerge_open(const IndexForm *form, IndexRows *rows, shm_mq_handle **queues, uint32 nqueues)
{
	IndexMerge *merge = palloc0(sizeof(IndexMerge));
	uint32		own = rows ? 1 : 0;
	uint32		nsources = nqueues + own;

	merge->rows = rows;
	merge->columns = with_number(form);
	mergeorder_open(&merge->order, &merge->columns, form->desc, open_comparators(&merge->columns));
	merge->sources = palloc0(sizeof(Source) * nsources);
	if (rows)
		merge->sources[0].weighed = open_prefix(&merge->prefix, &merge->columns, form->desc, rows);
	(void) open_prefix(&merge->exact, &merge->columns, form->desc, NULL);
	mergeorder_add_weights(&merge->order, merge->exact.nexact, &merge->prefix);
	mergetree_open(&merge->tree, nsources, compare_sources, merge);
	for (uint32 i = 0; i < nsources; i++)
	{
		merge->sources[i].queue = i < own ? NULL : queues[i - own];
		mergerow_open(&merge->sources[i].row, &merge->order);
	}
	read_first_rows(merge);
	mergetree_start(&merge->tree);
	merge->fresh = true;
	return merge;
}

MinimalTuple
indexmerge_next(IndexMerge *merge)
{
	MergeTree  *tree = &merge->tree;

	if (likely(!merge->fresh) && !mergeentry_has_ended(tree->winner))
	{
		read_row(merge, tree->winner);
		mergetree_advance(tree);
	}
	merge->fresh = false;
	return merge->sources[tree->winner->source].row.tuple;
}

void
indexmerge_close(IndexMerge *merge)
{
	for (uint32 i = 0; i < merge->tree.nsources; i++)
		mergerow_close(&merge->sources[i].row);
	mergetree_close(&merge->tree);
	if (merge->rows)
		keyprefix_close(&merge->prefix);
	keyprefix_close(&merge->exact);
}

/* Rows on their way out. */
typedef struct Chunk
{
	shm_mq_handle *queue;
	char	   *data;
	Size		used;
	Size		room;
} Chunk;

/* Sends the chunk; false if the receiver has gone. */
static bool
send_chunk(Chunk *chunk)
{
	bool		sent = chunk->used == 0 ||
		shm_mq_send(chunk->queue, chunk->used, chunk->data, false, true) == SHM_MQ_SUCCESS;

	chunk->used = 0;
	return sent;
}

/* Adds a row to the chunk, of which it may be the only one; false if the receiver has gone. */
static bool
send_row(Chunk *chunk, MinimalTuple row, const SentRow *head, const char *weights)
{
	Size		bytes = sizeof(SentRow) + head->row_bytes + MAXALIGN(head->nweights);

	if (chunk->used + bytes > CHUNK_BYTES && !send_chunk(chunk))
		return false;
	if (bytes > chunk->room)
	{
		chunk->room = bytes;
		chunk->data = repalloc(chunk->data, bytes);
	}
	memcpy(chunk->data + chunk->used, head, sizeof(SentRow));
	memcpy(chunk->data + chunk->used + sizeof(SentRow), row, row->t_len);
	if (head->nweights > 0)
		memcpy(chunk->data + chunk->used + sizeof(SentRow) + head->row_bytes, weights, head->nweights);
	chunk->used += bytes;
	return true;
}

void
indexmerge_send(IndexMerge *merge, shm_mq_handle *to)
{
	Chunk		chunk = {.queue = to, .data = palloc0(CHUNK_BYTES), .room = CHUNK_BYTES};
	SentRow		head = {.weighed = merge->weighed};
	bool		open = true;
	MinimalTuple row;

	while (open && (row = indexmerge_next(merge)) != NULL)
	{
		const MergeEntry *winner = merge->tree.winner;
		MergeRow   *present = &merge->sources[winner->source].row;
		const char *weights = mergerow_weights(&merge->order, present);

		CHECK_FOR_INTERRUPTS();
		memcpy(head.words, winner->words, sizeof(head.words));
		head.whole = winner->whole;
		head.nweights = (uint16) present->nweights;
		head.row_bytes = (uint32) MAXALIGN(row->t_len);
		open = send_row(&chunk, row, &head, weights);
	}
	if (open)
		(void) send_chunk(&chunk);
}
