/*
 * columns.c: the messages about resident columns.
 *
 * A connection sees the tables of its database.  Only one of role 0, a keeper's or loader's, may change them.  What
 * breaks the rules of a message ends the connection; what only fails gets a status.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "columns.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * Answers GSD_DONE.
 */
static void
reply_done(connection *c, gs_status status, uint64_t number, const char *why)
{
	gsd_done m;

	gsd_head(&m.head, GSD_DONE, sizeof(m));
	m.status = status;
	m.number = number;
	if (status != GS_OK)
		snprintf(m.text, sizeof(m.text), "%s", why);
	gsd_reply(c, &m.head);
}

/*
 * Returns true if a message names a slot of the connection's ring.
 */
static bool
has_slot(const connection *c, uint32_t slot)
{
	return c->ring != NULL && slot < c->layout.slots;
}

/*
 * Returns true if the mask of a check lies in the ring.
 */
static bool
mask_inside(const connection *c, const gsd_check *m)
{
	return has_slot(c, m->slot) && gsd_slots_end(&c->layout, m->slot, gsd_mask_bytes(m->blocks)) <= c->layout.slots;
}

/*
 * Returns true if the mask of a question and its list of steps lie in the ring.
 */
static bool
question_inside(const connection *c, const gsd_ask *m)
{
	return c->ring != NULL &&
		   gsd_slots_end(&c->layout, gsd_slots_end(&c->layout, 0, gsd_mask_bytes(m->blocks)), m->steps_bytes) <=
			   c->layout.slots;
}

bool
gsd_columns_expected(const connection *c, const gsd_message *m)
{
	if (c->state != NO_JOB)
		return false;
	switch (m->head.type)
	{
		case GSD_SETTINGS: /* the worker's owner is 0 */
			return c->owner == 0;
		case GSD_TABLE:
		case GSD_DROP:
			return gsd_internal(c);
		case GSD_KEEP:
			return gsd_internal(c) && has_slot(c, m->keep.slot) &&
				   m->keep.count <= c->layout.slot_bytes / sizeof(uint64_t);
		case GSD_STORE:
			return gsd_internal(c) && has_slot(c, m->store.slot);
		case GSD_PUBLISH:
			return gsd_internal(c) && has_slot(c, m->publish.slot) &&
				   m->publish.count <= c->layout.slot_bytes / sizeof(gsd_place);
		case GSD_WANTED:
			return gsd_internal(c) && c->ring != NULL && m->wanted.blocks <= c->layout.area_bytes * 8;
		case GSD_MAP:
		case GSD_INFO:
		case GSD_NOTE:
		case GSD_DICTIONARY:
			return gsd_database(c) != 0;
		case GSD_CHECK:
			return gsd_database(c) != 0 && mask_inside(c, &m->check);
		case GSD_ASK:
			return gsd_database(c) != 0 && question_inside(c, &m->ask);
		default:
			return false;
	}
}

/*
 * GSD_TABLE.
 */
static void
on_table(connection *c, const gsd_table *m, int fd)
{
	const char *why = "no file can be received";
	gs_status status = GS_DEVICE;

	if (fd >= 0)
	{
		why = "the map's file can shrink, or be written";
		status = gsd_map_check(fd) == GS_OK ? gsd_table_make(gsd_database(c), m, fd, &why) : GS_INVALID;
		if (status != GS_OK)
			close(fd);
	}
	reply_done(c, status, m->table, why);
}

/*
 * GSD_KEEP.
 */
static void
on_keep(connection *c, const gsd_keep *m)
{
	const uint64_t *kept = (const uint64_t *) (c->ring + m->slot * c->layout.slot_bytes);

	reply_done(c, GS_OK, gsd_tables_keep(gsd_database(c), kept, m->count), NULL);
}

/*
 * Makes a segment, after its new strings have got their codes.  *column: the one after the one whose strings or codes
 * are too many; 0: it was none.
 */
static gs_status
store_segment(const connection *c, table *t, const gsd_store *m, new_codes *added, segment **made, uint32_t *column,
			  const char **why)
{
	char *slot = c->ring + m->slot * c->layout.slot_bytes;
	gs_status status = gsd_strings_add(t, slot, c->layout.slot_bytes, m, added, column);

	*why = status == GS_INVALID ? "the strings break the rules" : "a dictionary is too large";
	*column += status == GS_NOMEM || status == GS_TOO_BIG;
	if (status != GS_OK)
		return status;
	*column = 0;
	return gsd_segment_make(t, slot, c->layout.slot_bytes, m, added, made, why);
}

/*
 * GSD_STORE.
 */
static void
on_store(connection *c, table *t, const gsd_store *m)
{
	const char *why = gs_status_text(GS_NOMEM);
	new_codes *added = calloc(t->ncolumns, sizeof(*added));
	segment *s;
	gs_status status = GS_NOMEM;
	uint32_t number = 0, column = 0;

	if (added != NULL)
	{
		gsd_set_busy(c, true);
		status = store_segment(c, t, m, added, &s, &column, &why);
		gsd_set_busy(c, false);
		gsd_strings_free(t, added);
	}
	if (status == GS_OK)
	{
		pthread_mutex_lock(&t->mutex);
		if (gsd_table_add(t, s))
			number = s->number;
		pthread_mutex_unlock(&t->mutex);
		if (number == 0)
		{
			gsd_segment_free(t->place, s);
			status = GS_NOMEM;
			why = gs_status_text(status);
		}
	}
	reply_done(c, status, status == GS_OK ? number : column, why);
}

/*
 * Forgets the places that were sent for a version to come.
 */
static void
drop_places(connection *c)
{
	free(c->places);
	gsd_work_give(c->nplaces * sizeof(gsd_place));
	c->places = NULL;
	c->nplaces = 0;
}

/*
 * Keeps the places of a message until the last one.  Returns false without memory.
 */
static bool
keep_places(connection *c, const gsd_publish *m)
{
	uint64_t bytes = m->count * sizeof(gsd_place);
	gsd_place *places;

	if (m->count == 0)
		return true;
	if (!gsd_work_take(bytes))
		return false;
	places = realloc(c->places, c->nplaces * sizeof(gsd_place) + bytes);
	if (places == NULL)
	{
		gsd_work_give(bytes);
		return false;
	}
	memcpy(places + c->nplaces, c->ring + m->slot * c->layout.slot_bytes, bytes);
	c->places = places;
	c->nplaces += m->count;
	return true;
}

/*
 * Makes the version of all places.
 */
static gs_status
publish(connection *c, table *t, const char **why)
{
	gs_status status;

	pthread_mutex_lock(&t->mutex);
	status = gsd_version_make(t, c->places, c->nplaces, why);
	pthread_mutex_unlock(&t->mutex);
	gsd_table_tidy(t);
	return status;
}

/*
 * Returns true if a message goes on with the version of the one before, or begins the table's next.
 */
static bool
follows(connection *c, table *t, const gsd_publish *m)
{
	uint64_t current;

	pthread_mutex_lock(&t->mutex);
	current = t->current != NULL ? t->current->number : 0;
	pthread_mutex_unlock(&t->mutex);
	return m->version == current + 1 && (c->nplaces == 0 || c->publishing == m->table);
}

/*
 * GSD_PUBLISH.
 */
static void
on_publish(connection *c, table *t, const gsd_publish *m)
{
	const char *why = "not the next version";
	gs_status status = GS_INVALID;

	if (follows(c, t, m))
	{
		c->publishing = m->table;
		why = "gpusort.columns_memory is used up";
		status = keep_places(c, m) ? GS_OK : GS_NOMEM;
		if (status == GS_OK && m->last)
			status = publish(c, t, &why);
	}
	if (status != GS_OK || m->last)
		drop_places(c);
	reply_done(c, status, m->version, why);
}

/*
 * GSD_WANTED.
 */
static void
on_wanted(connection *c, table *t, const gsd_wanted *m)
{
	uint64_t *area = (uint64_t *) (c->ring + c->layout.slots * c->layout.slot_bytes);
	uint64_t words = ((uint64_t) m->blocks + 63) / 64, from = m->first / 64, there;

	pthread_mutex_lock(&t->mutex);
	there = from >= t->wanted_words ? 0 : t->wanted_words - from;
	if (there > words)
		there = words;
	memset(area + there, 0, (words - there) * sizeof(*area));
	if (there > 0)
	{
		memcpy(area, t->wanted + from, there * sizeof(*area));
		memset(t->wanted + from, 0, there * sizeof(*area));
	}
	pthread_mutex_unlock(&t->mutex);
	reply_done(c, GS_OK, m->blocks, NULL);
}

/*
 * Finds the table of a keeper's message and handles it.
 */
static void
on_change(connection *c, const gsd_message *m, uint64_t number)
{
	table *t = gsd_table_find(gsd_database(c), number);

	if (t == NULL)
	{
		reply_done(c, GS_INVALID, 0, "no such table");
		return;
	}
	switch (m->head.type)
	{
		case GSD_DROP:
			gsd_table_drop(t);
			reply_done(c, GS_OK, number, NULL);
			break;
		case GSD_STORE:
			on_store(c, t, &m->store);
			break;
		case GSD_PUBLISH:
			on_publish(c, t, &m->publish);
			break;
		case GSD_WANTED:
			on_wanted(c, t, &m->wanted);
			break;
	}
	gsd_table_leave(t);
}

/*
 * GSD_MAP.  The descriptor that is sent is a copy, as a keeper may be replacing the map.
 */
static void
on_map(connection *c, uint64_t relation)
{
	table *t = gsd_table_of(gsd_database(c), relation);
	gsd_map_of m;
	int fd = -1;

	gsd_head(&m.head, GSD_MAP_OF, sizeof(m));
	if (t != NULL)
	{
		pthread_mutex_lock(&t->mutex);
		fd = fcntl(t->map, F_DUPFD_CLOEXEC, 0);
		pthread_mutex_unlock(&t->mutex);
		m.table = fd >= 0 ? t->number : 0;
		gsd_table_leave(t);
	}
	gsd_reply_file(c, &m.head, fd);
	if (fd >= 0)
		close(fd);
}

/*
 * GSD_DICTIONARY.
 */
static void
on_dictionary(connection *c, const gsd_dictionary_of *of)
{
	table *t = gsd_table_find(gsd_database(c), of->table);
	gsd_map_of m;
	int fd = -1;

	gsd_head(&m.head, GSD_MAP_OF, sizeof(m));
	if (t != NULL)
	{
		fd = gsd_dictionary_file(t, of->column);
		m.table = fd >= 0 ? t->number : 0;
		gsd_table_leave(t);
	}
	gsd_reply_file(c, &m.head, fd);
	if (fd >= 0)
		close(fd);
}

/*
 * GSD_INFO.
 */
static void
on_info(connection *c, uint64_t relation)
{
	table *t = gsd_table_of(gsd_database(c), relation);
	gsd_table_info m;

	gsd_head(&m.head, GSD_TABLE_INFO, sizeof(m));
	if (t != NULL)
	{
		pthread_mutex_lock(&t->mutex);
		m.table = t->number;
		m.version = t->current != NULL ? t->current->number : 0;
		m.rows = t->current != NULL ? t->current->rows : 0;
		m.bytes = t->segment_bytes + t->directory_bytes + gsd_dictionaries_bytes(t);
		m.segments = t->nsegments;
		m.queries = t->queries;
		m.refused = t->refused;
		m.device = t->place->dev != NULL ? (int32_t) t->place->dev->number : -1;
		if (t->place->dev != NULL)
			memcpy(m.name, t->place->dev->name, sizeof(m.name));
		memcpy(m.reason, t->reason, sizeof(m.reason));
		pthread_mutex_unlock(&t->mutex);
		gsd_table_leave(t);
	}
	gsd_reply(c, &m.head);
}

/*
 * GSD_NOTE.
 */
static void
on_note(connection *c, const gsd_note *m)
{
	table *t = gsd_table_find(gsd_database(c), m->table);

	if (t == NULL)
		return;
	pthread_mutex_lock(&t->mutex);
	t->refused++;
	memcpy(t->reason, m->reason, sizeof(t->reason));
	pthread_mutex_unlock(&t->mutex);
	gsd_table_leave(t);
}

void
gsd_columns_handle(connection *c, const gsd_message *m, int fd)
{
	switch (m->head.type)
	{
		case GSD_SETTINGS:
			gsd_columns_limits(&m->settings);
			break;
		case GSD_TABLE:
			on_table(c, &m->table, fd);
			break;
		case GSD_DROP:
			on_change(c, m, m->number.number);
			break;
		case GSD_KEEP:
			on_keep(c, &m->keep);
			break;
		case GSD_STORE:
			on_change(c, m, m->store.table);
			break;
		case GSD_PUBLISH:
			on_change(c, m, m->publish.table);
			break;
		case GSD_WANTED:
			on_change(c, m, m->wanted.table);
			break;
		case GSD_MAP:
			on_map(c, m->number.number);
			break;
		case GSD_INFO:
			on_info(c, m->number.number);
			break;
		case GSD_DICTIONARY:
			on_dictionary(c, &m->dictionary_of);
			break;
		case GSD_NOTE:
			on_note(c, &m->note);
			break;
		case GSD_CHECK:
			gsd_on_check(c, &m->check);
			break;
		case GSD_ASK:
			gsd_on_ask(c, &m->ask);
			break;
	}
}

void
gsd_columns_leave(connection *c)
{
	drop_places(c);
}
