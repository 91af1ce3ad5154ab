/*
 * store_ask.c: a question about columns, as calls: a list of steps over pages that the service holds, and over rows
 * that the caller adds.
 *
 * The mask and the list lie in the first slots of the ring until the answer is there; chunks of rows use the others.
 */
#include "postgres.h"

#include "port/pg_bitutils.h"

#include "store.h"

/* Chunks that are on their way while the next one is filled. */
#define LEAST_CHUNKS 2

/* Returns the bytes that a slot needs for the least chunk of the question's columns. */
static Size
least_chunk(const StoreQuestion *question)
{
	gs_column_spec specs[GS_STEPS_MAX_COLUMNS] = {0};

	for (uint32 c = 0; c < question->ncolumns; c++)
		specs[c].type = (gs_type) question->steps->types[c];
	return gs_chunk_bytes(specs, question->ncolumns, 64, 0);
}

/* Returns the first slot for chunks, behind the mask and the list. */
static uint64
first_chunk(const gsd_ring *layout, const StoreQuestion *question, uint64 *list)
{
	*list = gsd_slots_end(layout, 0, gsd_mask_bytes(question->nblocks));
	return gsd_slots_end(layout, *list, question->steps->bytes);
}

/* Makes sure that the ring has room for all of a question. */
static bool
make_room(ServiceLink *link, const StoreQuestion *question, EngineFailure *why)
{
	Size		chunk = least_chunk(question);
	uint64		list;

	while (first_chunk(&link->layout, question, &list) + LEAST_CHUNKS > link->layout.slots ||
		   link->layout.slot_bytes < chunk)
	{
		if (!link_enlarge(link, 2 * link->layout.slots * link->layout.slot_bytes, why))
			return false;
	}
	return true;
}

/* Writes the mask and the list into slots, and notes which others are free. */
static void
fill_slots(ServiceLink *link, const StoreQuestion *question)
{
	uint64		list,
				first = first_chunk(&link->layout, question, &list);

	if (question->nblocks > 0)
		memcpy(link_slot(link, 0), question->mask, gsd_mask_bytes(question->nblocks));
	memcpy(link_slot(link, (uint32) list), question->steps, question->steps->bytes);
	link->free_slots = 0;
	for (uint64 slot = first; slot < link->layout.slots; slot++)
		link->free_slots |= (uint64) 1 << slot;
}

bool
store_ask(ServiceLink *link, const StoreQuestion *question, EngineFailure *why)
{
	gsd_message message;

	*why = ENGINE_PROTOCOL;
	if (link->asking || question->ncolumns == 0 || question->ncolumns > GS_STEPS_MAX_COLUMNS ||
		!make_room(link, question, why))
		return false;
	fill_slots(link, question);
	gsd_head(&message.head, GSD_ASK, sizeof(gsd_ask) + question->ncolumns * sizeof(uint32));
	message.ask.job = ++link->job;
	message.ask.steps_bytes = question->steps->bytes;
	message.ask.table = question->table;
	message.ask.version = question->version;
	message.ask.blocks = question->nblocks;
	message.ask.ncolumns = question->ncolumns;
	memcpy(message.ask.columns, question->columns, question->ncolumns * sizeof(uint32));
	link->asking = true;
	return link_send(link, &message.head, why);
}

/* Waits for the next message of the question. */
static bool
next_message(ServiceLink *link, gsd_message *message, LinkWait what, EngineFailure *why)
{
	do
		*why = link_receive(link, message, true, what);
	while (*why == ENGINE_OK && message->job.job != link->job);
	return *why == ENGINE_OK;
}

/* Notes that a slot is free.  Returns false if that is not what the service says. */
static bool
note_free(ServiceLink *link, const gsd_message *message, EngineFailure *why)
{
	*why = ENGINE_PROTOCOL;
	if (message->head.type != GSD_FREE || message->slot.slot >= link->layout.slots ||
		(link->free_slots >> message->slot.slot & 1))
		return false;
	link->free_slots |= (uint64) 1 << message->slot.slot;
	*why = ENGINE_OK;
	return true;
}

char *
store_rows_buffer(ServiceLink *link, Size *bytes, EngineFailure *why)
{
	gsd_message message;

	*why = ENGINE_PROTOCOL;
	if (!link->asking)
		return NULL;
	if (link->free_slots == 0 &&
		(!next_message(link, &message, LINK_WAIT_CHUNK, why) || !note_free(link, &message, why)))
		return NULL;
	*why = ENGINE_OK;
	link->slot = (uint32) pg_rightmost_one_pos64(link->free_slots);
	*bytes = link->layout.slot_bytes;
	return link_slot(link, link->slot);
}

bool
store_rows_send(ServiceLink *link, EngineFailure *why)
{
	gsd_slot	add;

	gsd_head(&add.head, GSD_ADD, sizeof(add));
	add.job = link->job;
	add.slot = link->slot;
	link->free_slots &= ~((uint64) 1 << link->slot);
	return link_send(link, &add.head, why);
}

/* Waits for the answer, and for the slots that are freed before. */
static bool
await_answered(ServiceLink *link, gsd_message *message, EngineFailure *why)
{
	for (;;)
	{
		if (!next_message(link, message, LINK_WAIT_SORT, why))
			return false;
		if (message->head.type == GSD_ANSWERED)
			return true;
		if (!note_free(link, message, why))
			return false;
	}
}

/* Copies the results.  Returns false if they are none of so many rows. */
static bool
copy_results(const ServiceLink *link, uint64 rows, void *results, Size bytes)
{
	const gs_reduced *reduced = results;

	if (bytes > link->layout.area_bytes)
		return false;
	memcpy(results, link_area(link, 0), bytes);
	for (Size i = 0; i < bytes / sizeof(*reduced); i++)
		if (reduced[i].count > rows || (reduced[i].flags & ~GS_REDUCED_ZEROS) != 0 || reduced[i].zero != 0)
			return false;
	return true;
}

bool
store_answer(ServiceLink *link, uint64 added, void *results, Size bytes, StoreAnswer *answer, bool *stale,
			 bool *overflow, EngineFailure *why)
{
	gsd_count	finish;
	gsd_message message;
	gs_status	status;

	*stale = *overflow = false;
	gsd_head(&finish.head, GSD_FINISH, sizeof(finish));
	finish.job = link->job;
	finish.count = added;
	if (!link_send(link, &finish.head, why) || !await_answered(link, &message, why))
		return false;
	link->asking = false;
	status = (gs_status) message.answered.status;
	*stale = status == GS_INVALID;
	*overflow = status == GS_OVERFLOW;
	if (status != GS_OK)
	{
		*why = engine_failure_of(status);
		return false;
	}
	*answer = (StoreAnswer) {message.answered.rows, message.answered.pages, message.answered.engine_ns};
	if (message.answered.bytes == bytes && copy_results(link, answer->rows + added, results, bytes))
		return true;
	*why = ENGINE_PROTOCOL;
	return false;
}
