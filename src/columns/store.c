/*
 * store.c: the messages about resident columns, as calls.
 *
 * Each call sends a message and waits for its answer, as long as the service gives signs of life.  A link that a call
 * has left by an error can be parked or closed: the end of a job cancels what the service still does for it.  Until
 * then it takes no other question, whose answer would be that of the one before.
 */
#include "postgres.h"

#include <unistd.h>

#include "miscadmin.h"

#include "src/engine/link_pool.h"
#include "store.h"

/* Sends a question, with a descriptor or -1.  The link is asking until the answer is there. */
static bool
send_question(ServiceLink *link, const gsd_header *question, int fd, EngineFailure *why)
{
	*why = ENGINE_PROTOCOL;
	if (link->asking)
		return false;
	link->asking = true;
	return link_send_file(link, question, fd, why);
}

/* Judges what was received.  Returns true if it is the answer of the given type. */
static bool
is_answer(ServiceLink *link, const gsd_message *answer, uint32 type, EngineFailure *why)
{
	if (*why == ENGINE_OK && answer->head.type != type)
		*why = ENGINE_PROTOCOL;
	link->asking = *why != ENGINE_OK;
	return *why == ENGINE_OK;
}

/* Sends a question and waits for an answer of the given type. */
static bool
ask(ServiceLink *link, const gsd_header *question, uint32 type, gsd_message *answer, EngineFailure *why)
{
	if (!send_question(link, question, -1, why))
		return false;
	*why = link_receive(link, answer, true, LINK_WAIT_SORT);
	return is_answer(link, answer, type, why);
}

/* Waits for GSD_DONE.  Returns true if its status is GS_OK. */
static bool
await_done(ServiceLink *link, gsd_message *answer, EngineFailure *why)
{
	*why = link_receive(link, answer, true, LINK_WAIT_SORT);
	if (!is_answer(link, answer, GSD_DONE, why))
		return false;
	if (answer->done.status == GS_OK)
		return true;
	ereport(DEBUG1, (errmsg_internal("gpusort service: %s", answer->done.text)));
	*why = engine_failure_of((gs_status) answer->done.status);
	return false;
}

ServiceLink *
store_open_internal(bool patient, EngineFailure *why)
{
	*why = ENGINE_DOWN;
	if (link_broken())
		return NULL;
	return link_new(LINK_STORE, (uint64) MyDatabaseId << 32, patient, why);
}

ServiceLink *
store_open(EngineFailure *why)
{
	ServiceLink *link = link_open(LINK_COLUMNS, false, why);

	/* a parked one has no job any more */
	if (link != NULL)
		link->asking = false;
	return link;
}

bool
store_usable(const ServiceLink *link)
{
	return !link->asking;
}

void
store_close(ServiceLink *link)
{
	link_close(link);
}

void
store_park(ServiceLink *link)
{
	link_park(link);
}

bool
store_table(ServiceLink *link, uint64 table, Oid relation, uint32 ncolumns, const uint8 *types, uint64 expected,
			int map_fd, EngineFailure *why)
{
	gsd_message message;

	gsd_head(&message.head, GSD_TABLE, sizeof(gsd_table) + ncolumns);
	message.table.table = table;
	message.table.expected = expected;
	message.table.relation = relation;
	message.table.ncolumns = ncolumns;
	strlcpy(message.table.folder, DatabasePath, sizeof(message.table.folder));
	for (uint32 c = 0; c < ncolumns; c++)
		message.table.types[c] = types[c];
	return send_question(link, &message.head, map_fd, why) && await_done(link, &message, why);
}

bool
store_drop(ServiceLink *link, uint64 table, EngineFailure *why)
{
	gsd_number	question;
	gsd_message answer;

	gsd_head(&question.head, GSD_DROP, sizeof(question));
	question.number = table;
	return send_question(link, &question.head, -1, why) && await_done(link, &answer, why);
}

bool
store_keep(ServiceLink *link, const uint64 *tables, uint32 n, EngineFailure *why)
{
	gsd_keep	question;
	gsd_message answer;

	*why = ENGINE_TOO_BIG;
	if (n > link->layout.slot_bytes / sizeof(uint64))
		return false;
	if (n > 0)
		memcpy(link_slot(link, 0), tables, n * sizeof(uint64));
	gsd_head(&question.head, GSD_KEEP, sizeof(question));
	question.count = n;
	return send_question(link, &question.head, -1, why) && await_done(link, &answer, why);
}

char *
store_buffer(ServiceLink *link, Size *bytes)
{
	*bytes = link->layout.slot_bytes;
	return link_slot(link, 0);
}

bool
store_segment(ServiceLink *link, const StoreSegment *segment, uint32 *number, EngineFailure *why)
{
	gsd_store	question;
	gsd_message answer;

	*number = 0;
	gsd_head(&question.head, GSD_STORE, sizeof(question));
	question.table = segment->table;
	question.pages_at = segment->pages_at;
	question.npages = segment->npages;
	question.strings_at = segment->strings_at;
	question.strings_bytes = segment->strings_bytes;
	if (!send_question(link, &question.head, -1, why))
		return false;
	if (await_done(link, &answer, why) || *why == ENGINE_NO_MEMORY || *why == ENGINE_TOO_BIG)
		*number = (uint32) answer.done.number;
	return *why == ENGINE_OK;
}

bool
store_publish(ServiceLink *link, uint64 table, uint64 version, const StorePlace *places, uint32 n, EngineFailure *why)
{
	uint32		room = (uint32) (link->layout.slot_bytes / sizeof(StorePlace));
	uint32		sent = 0;
	gsd_publish question;
	gsd_message answer;

	gsd_head(&question.head, GSD_PUBLISH, sizeof(question));
	question.table = table;
	question.version = version;
	do
	{
		question.count = Min(room, n - sent);
		if (question.count > 0)
			memcpy(link_slot(link, 0), places + sent, question.count * sizeof(StorePlace));
		sent += question.count;
		question.last = sent == n;
		if (!send_question(link, &question.head, -1, why) || !await_done(link, &answer, why))
			return false;
	} while (sent < n);
	return true;
}

bool
store_wanted(ServiceLink *link, uint64 table, BlockNumber nblocks, uint64 *wanted, EngineFailure *why)
{
	uint64		room = link->layout.area_bytes * BITS_PER_BYTE;
	gsd_wanted	question;
	gsd_message answer;

	gsd_head(&question.head, GSD_WANTED, sizeof(question));
	question.table = table;
	for (uint64 first = 0; first < nblocks; first += room)
	{
		question.first = (uint32) first;
		question.blocks = (uint32) Min(room, nblocks - first);
		if (!send_question(link, &question.head, -1, why) || !await_done(link, &answer, why))
			return false;
		if (!link_take(link, link_area(link, 0), wanted + first / 64, (question.blocks + 63) / 64 * sizeof(uint64),
					   why))
			return false;
	}
	return true;
}

int
store_map(ServiceLink *link, Oid relation, uint64 *table, EngineFailure *why)
{
	gsd_number	question;
	gsd_message answer;
	int			fd = -1;

	*table = 0;
	gsd_head(&question.head, GSD_MAP, sizeof(question));
	question.number = relation;
	if (!send_question(link, &question.head, -1, why))
		return -1;
	*why = link_receive_file(link, &answer, &fd);
	if (is_answer(link, &answer, GSD_MAP_OF, why) && answer.map_of.table != 0 && fd < 0)
		*why = ENGINE_NO_FILE;
	if (*why == ENGINE_OK)
		*table = answer.map_of.table;
	return fd;
}

int
store_dictionary(ServiceLink *link, uint64 table, uint32 column, EngineFailure *why)
{
	gsd_dictionary_of question;
	gsd_message answer;
	int			fd = -1;

	gsd_head(&question.head, GSD_DICTIONARY, sizeof(question));
	question.table = table;
	question.column = column;
	if (!send_question(link, &question.head, -1, why))
		return -1;
	*why = link_receive_file(link, &answer, &fd);
	if (is_answer(link, &answer, GSD_MAP_OF, why) && answer.map_of.table != 0 && fd < 0)
		*why = ENGINE_NO_FILE;
	return fd;
}

bool
store_info(ServiceLink *link, Oid relation, StoreInfo *info, EngineFailure *why)
{
	gsd_number	question;
	gsd_message answer;

	gsd_head(&question.head, GSD_INFO, sizeof(question));
	question.number = relation;
	if (!ask(link, &question.head, GSD_TABLE_INFO, &answer, why))
		return false;
	*info = answer.table_info;
	return true;
}

void
store_note(ServiceLink *link, uint64 table, const char *reason)
{
	gsd_job_message end;
	gsd_note	note;

	/* notes are for connections without a question, and one that was left may be about to give more */
	if (!store_usable(link))
	{
		gsd_head(&end.head, GSD_END, sizeof(end));
		end.job = link->job;
		end.zero = 0;
		(void) gsd_send(link->socket, &end.head, -1);
	}
	gsd_head(&note.head, GSD_NOTE, sizeof(note));
	note.table = table;
	strlcpy(note.reason, reason, sizeof(note.reason));
	(void) gsd_send(link->socket, &note.head, -1);
}

/* Waits for the answer to the link's check. */
static bool
await_checked(ServiceLink *link, StoreChecked *result, EngineFailure *why)
{
	gsd_message answer;

	if (link_receive_job(link, &answer, LINK_WAIT_SORT, why) && answer.head.type != GSD_CHECKED)
		*why = ENGINE_PROTOCOL;
	*result = answer.checked;
	link->asking = *why != ENGINE_OK;
	return *why == ENGINE_OK;
}

bool
store_check(ServiceLink *link, uint64 table, uint64 version, const uint64 *mask, BlockNumber nblocks,
			const uint32 *columns, uint32 ncolumns, StoreChecked *result, bool *stale, EngineFailure *why)
{
	Size		bytes = ((Size) nblocks + 63) / 64 * sizeof(uint64);
	gsd_message message;

	*stale = false;
	if (link->layout.slots * link->layout.slot_bytes < bytes && !link_enlarge(link, bytes, why))
		return false;
	if (bytes > 0)
		memcpy(link_slot(link, 0), mask, bytes);
	gsd_head(&message.head, GSD_CHECK, sizeof(gsd_check) + ncolumns * sizeof(uint32));
	message.check.job = ++link->job;
	message.check.table = table;
	message.check.version = version;
	message.check.blocks = nblocks;
	message.check.ncolumns = ncolumns;
	memcpy(message.check.columns, columns, ncolumns * sizeof(uint32));
	link->asking = true;
	if (!link_send(link, &message.head, why) || !await_checked(link, result, why))
		return false;
	*stale = result->status == GS_INVALID;
	if (result->status != GS_OK && !*stale)
		*why = engine_failure_of((gs_status) result->status);
	return result->status == GS_OK;
}
