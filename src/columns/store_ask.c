/*
 * store_ask.c: a question about columns, as calls: a list of steps over pages that the service holds, and over rows
 * that the caller adds.
 *
 * The mask, the list, further tables and ranks lie in the first slots of the ring until the answer is there; chunks
 * of rows use the others.  Groups that fit an area come with the answer, others in parts.  What a service that is wrong
 * may say is found where it can be: more groups than rows or than TOP asks for, counts that rows cannot have, or that
 * are not those of all rows (groups_proof.h), a group that comes twice, groups out of TOP's order; of rows, that one
 * comes twice: their order only the table knows (rows_proof.h).
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"

#include "kernels/common/steps_row.h"
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

/* Returns the bytes of a question's further tables. */
static Size
further_bytes(const StoreQuestion *question)
{
	Size		bytes = 0;

	for (const StoreQuestion *table = question->further; table != NULL; table = table->further)
		bytes += gsd_asked_bytes(question->ncolumns) + gsd_mask_bytes(table->nblocks);
	return bytes;
}

/* Returns the bytes of a question's ranks, of all tables. */
static Size
ranks_bytes(const StoreQuestion *question)
{
	Size		bytes = 0;

	for (const StoreQuestion *table = question; table != NULL; table = table->further)
		for (uint32 c = 0; c < question->ncolumns; c++)
			bytes += table->ranks[c] != NULL ? gsd_ranks_bytes(table->nranks[c]) : 0;
	return bytes;
}

/* Returns the first slot for chunks, behind the mask, the list, and what is behind that: further tables, and ranks. */
static uint64
first_chunk(const gsd_ring *layout, const StoreQuestion *question, uint64 *list, uint64 *behind)
{
	*list = gsd_slots_end(layout, 0, gsd_mask_bytes(question->nblocks));
	*behind = gsd_slots_end(layout, *list, question->steps->bytes);
	return gsd_slots_end(layout, *behind, further_bytes(question) + ranks_bytes(question));
}

/*
 * Makes sure that the ring has room for all of a question.  Testing strings may have taken so long that the service has
 * closed the connection, as it does with idle ones.
 */
static bool
make_room(ServiceLink *link, const StoreQuestion *question, EngineFailure *why)
{
	Size		chunk = least_chunk(question);
	uint64		list,
				behind;

	if (link_left(link) && !link_enlarge(link, link->layout.slots * link->layout.slot_bytes, why))
		return false;
	while (first_chunk(&link->layout, question, &list, &behind) + LEAST_CHUNKS > link->layout.slots ||
		   link->layout.slot_bytes < chunk)
	{
		if (!link_enlarge(link, 2 * link->layout.slots * link->layout.slot_bytes, why))
			return false;
	}
	return true;
}

/* Writes further tables.  Returns their number. */
static uint32
fill_further(const StoreQuestion *question, char *at)
{
	uint32		n = 0;

	for (const StoreQuestion *table = question->further; table != NULL; table = table->further)
	{
		gsd_asked	asked = {.table = table->table, .version = table->version, .blocks = table->nblocks};

		memcpy(at, &asked, sizeof(asked));
		memcpy(at + sizeof(asked), table->columns, question->ncolumns * sizeof(uint32));
		at += gsd_asked_bytes(question->ncolumns);
		memcpy(at, table->mask, gsd_mask_bytes(table->nblocks));
		at += gsd_mask_bytes(table->nblocks);
		n++;
	}
	return n;
}

/* Writes the ranks of a table.  Returns the number of columns that have some, and moves behind them. */
static uint32
fill_ranks(const StoreQuestion *table, uint32 number, uint32 ncolumns, char **at)
{
	uint32		n = 0;

	for (uint32 c = 0; c < ncolumns; c++)
	{
		gsd_ranks	head = {.column = c, .count = table->nranks[c], .table = number};

		if (table->ranks[c] == NULL)
			continue;
		memcpy(*at, &head, sizeof(head));
		memcpy(*at + sizeof(head), table->ranks[c], head.count * sizeof(uint32));
		*at += gsd_ranks_bytes(head.count);
		n++;
	}
	return n;
}

/* Writes all of a question into slots, and notes which others are free. */
static void
fill_slots(ServiceLink *link, const StoreQuestion *question, gsd_ask *ask)
{
	uint64		list,
				behind,
				first = first_chunk(&link->layout, question, &list, &behind);
	uint32		number = 0;
	char	   *ranks;

	if (question->nblocks > 0)
		memcpy(link_slot(link, 0), question->mask, gsd_mask_bytes(question->nblocks));
	memcpy(link_slot(link, (uint32) list), question->steps, question->steps->bytes);
	link->free_slots = 0;
	for (uint64 slot = first; slot < link->layout.slots; slot++)
		link->free_slots |= (uint64) 1 << slot;
	ranks = link_slot(link, (uint32) behind) + further_bytes(question);
	ask->further = question->further != NULL ? fill_further(question, link_slot(link, (uint32) behind)) : 0;
	ask->ranked = 0;
	for (const StoreQuestion *table = question; table != NULL; table = table->further)
		ask->ranked += fill_ranks(table, number++, question->ncolumns, &ranks);
}

bool
store_reduces(const StoreQuestion *question)
{
	return gs_steps_reduces(question->steps) && ranks_bytes(question) == 0;
}

bool
store_ask(ServiceLink *link, const StoreQuestion *question, EngineFailure *why)
{
	gsd_message message;

	*why = ENGINE_PROTOCOL;
	if (link->asking || question->ncolumns == 0 || question->ncolumns > GS_STEPS_MAX_COLUMNS ||
		!make_room(link, question, why))
		return false;
	gsd_head(&message.head, GSD_ASK, sizeof(gsd_ask) + question->ncolumns * sizeof(uint32));
	fill_slots(link, question, &message.ask);
	message.ask.job = ++link->job;
	message.ask.steps_bytes = question->steps->bytes;
	message.ask.table = question->table;
	message.ask.version = question->version;
	message.ask.blocks = question->nblocks;
	message.ask.counted = question->counted;
	message.ask.aside = question->aside;
	message.ask.ncolumns = question->ncolumns;
	memcpy(message.ask.columns, question->columns, question->ncolumns * sizeof(uint32));
	link->asking = true;
	return link_send(link, &message.head, why);
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
		(!link_receive_job(link, &message, LINK_WAIT_CHUNK, why) || !note_free(link, &message, why)))
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
		if (!link_receive_job(link, message, LINK_WAIT_SORT, why))
			return false;
		if (message->head.type == GSD_ANSWERED)
			return true;
		if (!note_free(link, message, why))
			return false;
	}
}

/* Ends the input of rows and waits for the answer.  Returns false unless its status is GS_OK. */
static bool
finish(ServiceLink *link, uint64 added, gsd_message *message, gs_status *status, EngineFailure *why)
{
	gsd_count	finish;

	*status = GS_PROTOCOL;
	gsd_head(&finish.head, GSD_FINISH, sizeof(finish));
	finish.job = link->job;
	finish.count = added;
	if (!link_send(link, &finish.head, why) || !await_answered(link, message, why))
		return false;
	link->asking = false;
	*status = (gs_status) message->answered.status;
	*why = engine_failure_of(*status);
	return *status == GS_OK;
}

/* Returns what a message says of an answer. */
static StoreAnswer
answer_of(const gsd_answered *m)
{
	return (StoreAnswer) {m->rows, m->pages, m->engine_ns, m->on_host != 0};
}

/* Returns true if results can be those of so many rows. */
static bool
possible(const gs_reduced *reduced, uint64 n, uint64 rows)
{
	for (uint64 i = 0; i < n; i++)
		if (reduced[i].count > rows || (reduced[i].flags & ~GS_REDUCED_ZEROS) != 0 || reduced[i].zero != 0)
			return false;
	return true;
}

bool
store_answer(ServiceLink *link, const StoreQuestion *question, uint64 added, void *results, StoreAnswer *answer,
			 bool *stale, bool *overflow, EngineFailure *why)
{
	Size		bytes = gs_steps_result_bytes(question->steps);
	GroupsProof proof;
	gsd_message message;
	gs_status	status;
	bool		good = finish(link, added, &message, &status, why);

	*stale = status == GS_INVALID;
	*overflow = status == GS_OVERFLOW;
	if (!good)
		return false;
	*answer = answer_of(&message.answered);
	*why = ENGINE_PROTOCOL;
	if (message.answered.bytes != bytes || bytes > link->layout.area_bytes)
		return false;
	if (!link_take(link, link_area(link, 0), results, bytes, why))
		return false;
	*why = ENGINE_PROTOCOL;
	if (!possible(results, bytes / sizeof(gs_reduced), answer->rows + added))
		return false;
	groupsproof_begin(&proof, question->steps, answer->rows + added);
	*why = ENGINE_WRONG_ORDER;
	if (!groupsproof_take(&proof, results, 1) || !groupsproof_end(&proof))
		return false;
	*why = ENGINE_OK;
	return true;
}

/* ---------------------------------------------------------------- groups */

/* Returns true if an answer can have so many rows, of those that were looked at. */
static bool
rows_possible(const gs_steps *steps, uint64 count, uint64 rows)
{
	const gs_rows_step *page = gs_steps_rows(steps);
	uint64		most = rows > page->offset ? rows - page->offset : 0;

	if (page->limit > 0)
		most = Min(most, page->limit);
	return gs_steps_filter(steps) != NULL ? count <= most : count == most;
}

/* Returns true if an answer can have so many groups, or rows. */
static bool
count_possible(const gs_steps *steps, uint64 count, uint64 rows)
{
	const gs_top_step *top;

	if (gs_steps_rows(steps) != NULL)
		return rows_possible(steps, count, rows);
	top = (const gs_top_step *) gs_steps_after_group(steps, GS_STEP_TOP);
	if (gs_steps_group(steps)->nkeys == 0)
		return count == 1;
	return count <= rows && (top == NULL || count <= top->limit);
}

/* Returns the bytes that no two groups, or rows of a page, have in common; 0: nothing is looked for twice. */
static Size
identity_bytes(const gs_steps *steps)
{
	const gs_rows_step *page = gs_steps_rows(steps);

	if (page != NULL)
		return page->norders > 0 ? sizeof(gs_row) : 0;
	return gs_steps_group(steps)->nkeys * sizeof(gs_reduced);
}

/*
 * Makes room for fingerprints of all groups' keys, or of rows, if it is within the limit of hash tables.  Groups that
 * are only counted need none.
 */
static void
make_fingerprints(StoreGroups *groups)
{
	groups->nseen = pg_nextpower2_64(2 * groups->count + 1);
	if (identity_bytes(groups->steps) > 0 && groups->nseen * sizeof(uint64) <= get_hash_memory_limit())
		groups->seen = MemoryContextAllocExtended(CurrentMemoryContext, groups->nseen * sizeof(uint64),
												  MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
}

/* Notes a group's keys, or a row.  Returns false if they were there before. */
static bool
note_identity(StoreGroups *groups, const void *group)
{
	uint64		hash = hash_bytes_extended(group, (int) identity_bytes(groups->steps), 0);
	uint64		print = hash != 0 ? hash : 1;
	uint64		at = print & (groups->nseen - 1);

	while (groups->seen[at] != 0)
	{
		if (groups->seen[at] == print)
			return false;
		at = (at + 1) & (groups->nseen - 1);
	}
	groups->seen[at] = print;
	return true;
}

/* Checks what has been copied: that nothing comes twice. */
static bool
all_new(StoreGroups *groups, const char *copied, uint64 n)
{
	for (uint64 i = 0; groups->seen != NULL && i < n; i++)
		if (!note_identity(groups, copied + i * groups->bytes))
			return false;
	return true;
}

/* Checks groups that have been copied. */
static bool
groups_possible(StoreGroups *groups, const gs_reduced *copied, uint64 n)
{
	const gs_top_step *top = (const gs_top_step *) gs_steps_after_group(groups->steps, GS_STEP_TOP);
	Size		members = groups->bytes / sizeof(gs_reduced);
	uint8		kinds[GS_STEPS_MAX_KEYS + GS_STEPS_MAX_AGGREGATES];

	gs_member_kinds(groups->steps, kinds);
	if (!possible(copied, n * members, groups->rows))
		return false;
	for (uint64 i = 0; i < n; i++)
	{
		const gs_reduced *group = copied + i * members;
		bool		first = i == 0 && groups->left == groups->count;

		if (top != NULL && !first &&
			gs_top_before(top, kinds, group, i > 0 ? group - members : groups->last))
			return false;
	}
	if (top != NULL)
		memcpy(groups->last, copied + (n - 1) * members, groups->bytes);
	return true;
}

bool
store_answer_groups(ServiceLink *link, const StoreQuestion *question, uint64 added, StoreAnswer *answer,
					StoreGroups *groups, bool *stale, bool *overflow, bool *too_many, EngineFailure *why)
{
	gsd_message message;
	gs_status	status;
	bool		good = finish(link, added, &message, &status, why);

	*stale = status == GS_INVALID;
	*overflow = status == GS_OVERFLOW;
	*too_many = status == GS_TOO_BIG;
	if (!good)
		return false;
	link->asking = true;		/* until the last part, or until all of the answer is known to be there */
	*answer = answer_of(&message.answered);
	*groups = (StoreGroups) {.count = message.answered.groups, .left = message.answered.groups, .link = link,
		.steps = question->steps, .bytes = gs_steps_result_bytes(question->steps), .rows = answer->rows + added};
	*why = ENGINE_PROTOCOL;
	/* until the last part, whatever is wrong */
	link->asking = !question->counted && groups->count * groups->bytes > link->layout.area_bytes;
	if (!count_possible(groups->steps, groups->count, groups->rows) ||
		message.answered.bytes != groups->count * groups->bytes)
		return false;
	if (gs_steps_rows(groups->steps) == NULL)
		groupsproof_begin(&groups->proof, groups->steps, groups->rows);
	if (gs_steps_rows(groups->steps) == NULL && groups->count == 0 && !groupsproof_end(&groups->proof))
	{
		*why = ENGINE_WRONG_ORDER;
		return false;
	}
	groups->last = palloc(groups->bytes);
	if (!link->asking)
	{
		groups->here = link_area(link, 0);
		groups->nhere = (uint32) groups->count;
		link->asking = false;
	}
	*why = ENGINE_OK;
	return true;
}

/* Waits for a part. */
static bool
await_part(StoreGroups *groups, EngineFailure *why)
{
	ServiceLink *link = groups->link;
	gsd_message message;

	if (!link_receive_job(link, &message, LINK_WAIT_ORDER, why))
		return false;
	*why = message.head.type == GSD_FAILED ? engine_failure_of((gs_status) message.result.status) : ENGINE_PROTOCOL;
	if (message.head.type != GSD_PART || message.part.area >= link->layout.areas || message.part.rows == 0 ||
		message.part.rows > groups->left || message.part.rows > link->layout.area_bytes / groups->bytes)
		return false;
	*why = ENGINE_OK;
	groups->area = message.part.area;
	groups->here = link_area(link, groups->area);
	groups->nhere = message.part.rows;
	groups->lent = true;
	link->asking = groups->nhere < groups->left;
	return true;
}

/* Gives an area back, of which all has been copied. */
static bool
give_area_back(StoreGroups *groups, EngineFailure *why)
{
	gsd_slot	taken;

	groups->lent = false;
	if (groups->left == 0)
		return true;			/* the question is over */
	gsd_head(&taken.head, GSD_TAKEN, sizeof(taken));
	taken.job = groups->link->job;
	taken.slot = groups->area;
	return link_send(groups->link, &taken.head, why);
}

/* Checks groups that have been copied, which may be the last ones.  Rows are checked elsewhere. */
static EngineFailure
check_groups(StoreGroups *groups, const gs_reduced *copied, uint64 n)
{
	if (gs_steps_rows(groups->steps) != NULL)
		return ENGINE_OK;
	if (!groups_possible(groups, copied, n))
		return ENGINE_PROTOCOL;
	if (!groupsproof_take(&groups->proof, copied, n) || (n == groups->left && !groupsproof_end(&groups->proof)))
		return ENGINE_WRONG_ORDER;
	return ENGINE_OK;
}

uint64
store_groups(StoreGroups *groups, void *out, uint64 room, EngineFailure *why)
{
	uint64		n;

	*why = ENGINE_OK;
	if (groups->left == 0 || (groups->nhere == 0 && !await_part(groups, why)))
		return 0;
	if (groups->left == groups->count)
		make_fingerprints(groups);
	n = Min(room, groups->nhere);
	if (!link_take(groups->link, groups->here, out, n * groups->bytes, why))
		return 0;
	*why = all_new(groups, out, n) ? check_groups(groups, out, n) : ENGINE_PROTOCOL;
	if (*why != ENGINE_OK)
		return 0;
	groups->here += n * groups->bytes;
	groups->nhere -= (uint32) n;
	groups->left -= n;
	if (groups->nhere == 0 && groups->lent && !give_area_back(groups, why))
		return 0;
	return n;
}
