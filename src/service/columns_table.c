/*
 * columns_table.c: the list of tables, and the segments of each.
 *
 * A call keeps its table by a count, so that a table that is dropped meanwhile lives until the call is done.
 */
#include "columns.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define LEAST_BUCKETS 64

/* A segment that no version refers to this long after it was stored is freed: who stored it is gone. */
#define UNPUBLISHED_NS 600000000000u

/* How often the databases' folders are looked for. */
#define FOLDERS_NS 5000000000u

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static table *tables; /* newest first */

/* ---------------------------------------------------------------- segments of a table */

segment *
gsd_table_segment(const table *t, uint32_t number)
{
	segment *s = t->nbuckets > 0 ? t->buckets[number % t->nbuckets] : NULL;

	while (s != NULL && s->number != number)
		s = s->next;
	return s;
}

/*
 * Doubles the buckets.  Without memory the lists grow instead.
 */
static void
grow_buckets(table *t)
{
	uint32_t n = t->nbuckets > 0 ? 2 * t->nbuckets : LEAST_BUCKETS;
	segment **buckets = calloc(n, sizeof(*buckets));

	if (buckets == NULL)
		return;
	for (uint32_t i = 0; i < t->nbuckets; i++)
		for (segment *s = t->buckets[i], *next; s != NULL; s = next)
		{
			next = s->next;
			s->next = buckets[s->number % n];
			buckets[s->number % n] = s;
		}
	free(t->buckets);
	t->buckets = buckets;
	t->nbuckets = n;
}

bool
gsd_table_add(table *t, segment *s)
{
	if (t->nsegments >= t->nbuckets)
		grow_buckets(t);
	if (t->nbuckets == 0)
		return false;
	/* numbers are used again only after 2^32 others */
	do
		t->last_segment++;
	while (t->last_segment == 0 || gsd_table_segment(t, t->last_segment) != NULL);
	s->number = t->last_segment;
	s->next = t->buckets[s->number % t->nbuckets];
	t->buckets[s->number % t->nbuckets] = s;
	t->nsegments++;
	t->segment_bytes += s->own_bytes + s->bytes;
	return true;
}

/*
 * Returns true if nothing refers to a segment any more, or ever will: it was published before, or stored so long ago
 * that nobody will publish it.
 */
static bool
is_dead(const segment *s, uint64_t stored_before_ns)
{
	return s->refs == 0 && (s->published || s->stored_ns < stored_before_ns);
}

/*
 * Removes from a locked table the segments whose references are gone, and those stored before a time that never had
 * any; free_segments frees them once the table is unlocked.
 */
static segment *
bury_segments(table *t, uint64_t stored_before_ns)
{
	segment *dead = NULL;

	t->dying = false;
	for (uint32_t i = 0; i < t->nbuckets; i++)
		for (segment **at = &t->buckets[i]; *at != NULL;)
		{
			segment *s = *at;

			if (!is_dead(s, stored_before_ns))
			{
				at = &s->next;
				continue;
			}
			*at = s->next;
			s->next = dead;
			dead = s;
			t->nsegments--;
			t->segment_bytes -= s->own_bytes + s->bytes;
		}
	return dead;
}

/* Frees a list of segments, which no table has any more. */
static void
free_segments(const table *t, segment *list)
{
	for (segment *next; list != NULL; list = next)
	{
		next = list->next;
		gsd_segment_free(t->place, list);
	}
}

/* ---------------------------------------------------------------- wanted pages */

bool
gsd_table_want_room(table *t, uint64_t blocks)
{
	uint64_t words = (blocks + 63) / 64;
	uint64_t *bits;

	if (words <= t->wanted_words)
		return true;
	if (!gsd_work_take((words - t->wanted_words) * sizeof(*bits)))
		return false;
	bits = realloc(t->wanted, words * sizeof(*bits));
	if (bits == NULL)
	{
		gsd_work_give((words - t->wanted_words) * sizeof(*bits));
		return false;
	}
	memset(bits + t->wanted_words, 0, (words - t->wanted_words) * sizeof(*bits));
	t->wanted = bits;
	t->wanted_words = words;
	return true;
}

/* ---------------------------------------------------------------- the list */

/*
 * Frees a table that nobody uses or can find.
 */
static void
free_table(table *t)
{
	gsd_versions_expire(t, true);
	free_segments(t, bury_segments(t, UINT64_MAX));
	gsd_work_give(t->wanted_words * sizeof(*t->wanted));
	if (t->map >= 0)
		close(t->map);
	pthread_mutex_destroy(&t->mutex);
	pthread_mutex_destroy(&t->strings);
	gsd_dictionaries_free(t);
	free(t->wanted);
	free(t->buckets);
	free(t->types);
	free(t);
}

/*
 * Finds a table by its number, or if that is 0 the newest of a relation, and counts the caller.
 */
static table *
find(uint32_t database, uint64_t number, uint64_t relation)
{
	table *t;

	pthread_mutex_lock(&mutex);
	for (t = tables; t != NULL; t = t->next)
		if (t->database == database && (number != 0 ? t->number == number : t->relation == relation))
			break;
	if (t != NULL)
		t->users++;
	pthread_mutex_unlock(&mutex);
	return t;
}

table *
gsd_table_find(uint32_t database, uint64_t number)
{
	return number != 0 ? find(database, number, 0) : NULL;
}

table *
gsd_table_of(uint32_t database, uint64_t relation)
{
	return find(database, 0, relation);
}

void
gsd_table_leave(table *t)
{
	bool last;

	pthread_mutex_lock(&mutex);
	last = --t->users == 0 && t->dropped;
	pthread_mutex_unlock(&mutex);
	if (last)
		free_table(t);
}

void
gsd_table_drop(table *t)
{
	pthread_mutex_lock(&mutex);
	for (table **at = &tables; *at != NULL; at = &(*at)->next)
		if (*at == t)
		{
			*at = t->next;
			break;
		}
	t->dropped = true;
	pthread_mutex_unlock(&mutex);
}

/*
 * Makes an empty table.
 */
static table *
new_table(uint32_t database, const gsd_table *m, int map)
{
	table *t = calloc(1, sizeof(*t));
	uint8_t *types = malloc(m->ncolumns);

	if (t == NULL || types == NULL)
	{
		free(t);
		free(types);
		return NULL;
	}
	for (uint32_t c = 0; c < m->ncolumns; c++)
		types[c] = m->types[c] & (uint8_t) ~GSD_TYPE_CODES;
	t->database = database;
	t->relation = m->relation;
	t->number = m->table;
	t->ncolumns = m->ncolumns;
	t->types = types;
	memcpy(t->folder, m->folder, sizeof(t->folder));
	t->map = map;
	t->place = gsd_place_choose(m->expected);
	pthread_mutex_init(&t->mutex, NULL);
	pthread_mutex_init(&t->strings, NULL);
	if (gsd_dictionaries_make(t, m->types) == GS_OK)
		return t;
	t->map = -1;
	free_table(t);
	return NULL;
}

/*
 * Returns true if a table's columns have these types and dictionaries.
 */
static bool
has_types(const table *t, const uint8_t *types)
{
	for (uint32_t c = 0; c < t->ncolumns; c++)
		if (types[c] != (t->types[c] | (t->dictionaries[c].entries.file != NULL ? GSD_TYPE_CODES : 0)))
			return false;
	return true;
}

/*
 * Gives a table another map, from a keeper that knows nothing of segments that the one before stored.
 */
static gs_status
take_over(table *t, const gsd_table *m, int map, const char **why)
{
	segment *dead;

	*why = "the table has other columns";
	if (t->relation != m->relation || t->ncolumns != m->ncolumns || !has_types(t, m->types))
		return GS_INVALID;
	pthread_mutex_lock(&t->mutex);
	close(t->map);
	t->map = map;
	dead = bury_segments(t, UINT64_MAX);
	pthread_mutex_unlock(&t->mutex);
	free_segments(t, dead);
	return GS_OK;
}

gs_status
gsd_table_make(uint32_t database, const gsd_table *m, int map, const char **why)
{
	table *t = gsd_table_find(database, m->table);
	gs_status status;

	if (t != NULL)
	{
		status = take_over(t, m, map, why);
		gsd_table_leave(t);
		return status;
	}
	t = new_table(database, m, map);
	*why = gs_status_text(GS_NOMEM);
	if (t == NULL)
		return GS_NOMEM;
	pthread_mutex_lock(&mutex);
	t->next = tables;
	tables = t;
	pthread_mutex_unlock(&mutex);
	return GS_OK;
}

/*
 * Returns the table after one, or the first, and counts the caller.
 */
static table *
next_table(const table *before)
{
	table *t;

	pthread_mutex_lock(&mutex);
	t = tables;
	if (before != NULL)
		t = before->dropped ? NULL : before->next;
	if (t != NULL)
		t->users++;
	pthread_mutex_unlock(&mutex);
	return t;
}

void
gsd_table_tidy(table *t)
{
	uint64_t now = gsd_now_ns();
	segment *dead = NULL;
	bool look;

	pthread_mutex_lock(&t->mutex);
	gsd_versions_expire(t, false);
	look = t->dying || now - t->tidied_ns > UNPUBLISHED_NS / 10;
	if (look)
	{
		dead = bury_segments(t, now > UNPUBLISHED_NS ? now - UNPUBLISHED_NS : 0);
		t->tidied_ns = now;
	}
	pthread_mutex_unlock(&t->mutex);
	free_segments(t, dead);
}

/*
 * Returns true if a number is in a list, whose owner may be writing to it.
 */
static bool
is_listed(const volatile uint64_t *list, uint64_t count, uint64_t number)
{
	for (uint64_t i = 0; i < count; i++)
		if (list[i] == number)
			return true;
	return false;
}

uint64_t
gsd_tables_keep(uint32_t database, const volatile uint64_t *kept, uint64_t count)
{
	uint64_t dropped = 0;
	table *unused = NULL; /* their last user frees the others */

	pthread_mutex_lock(&mutex);
	for (table **at = &tables, *t; (t = *at) != NULL;)
	{
		if (t->database != database || is_listed(kept, count, t->number))
		{
			at = &t->next;
			continue;
		}
		*at = t->next;
		t->dropped = true;
		dropped++;
		if (t->users > 0)
			continue;
		t->next = unused;
		unused = t;
	}
	pthread_mutex_unlock(&mutex);
	for (table *next; unused != NULL; unused = next)
	{
		next = unused->next;
		free_table(unused);
	}
	return dropped;
}

/*
 * Returns true if a table's database was dropped: no keeper will come and say so.  DROP DATABASE removes its folder.
 */
static bool
database_gone(const table *t)
{
	struct stat folder;

	return stat(t->folder, &folder) != 0 && errno == ENOENT;
}

void
gsd_columns_rest(void)
{
	static uint64_t looked_ns; /* at folders */
	uint64_t now = gsd_now_ns();
	bool look = now - looked_ns > FOLDERS_NS;
	table *t = next_table(NULL);

	gsd_scratch_rest();
	if (look)
		looked_ns = now;
	while (t != NULL)
	{
		table *next;

		gsd_table_tidy(t);
		next = next_table(t);
		if (look && database_gone(t))
			gsd_table_drop(t);
		gsd_table_leave(t);
		t = next;
	}
}
