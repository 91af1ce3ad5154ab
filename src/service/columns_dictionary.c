/*
 * columns_dictionary.c: the dictionaries of a table's columns, each in a file that sessions map read-only.
 *
 * Strings are only appended.  A file that has no room is replaced by a larger copy with the same codes; whoever still
 * maps the old one finds it retired.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "columns.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define LEAST_ROOM 1024u
#define LEAST_STRINGS ((uint64_t) 32 << 10)

/*
 * Unmaps a file.
 */
static void
close_file(dictionary *d)
{
	if (d->entries.file == NULL)
		return;
	(void) munmap(d->entries.file, d->bytes);
	close(d->fd);
	gsd_host_give(d->bytes);
	d->entries.file = NULL;
}

/* What nobody may do with a file but through the mapping that is there. */
#define SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL)

/*
 * Makes an empty file with this room.
 */
static gs_status
make_file(uint32_t room, uint64_t strings, dictionary *made)
{
	gsd_dictionary head = {.magic = GSD_DICTIONARY_MAGIC, .room = room, .slots = 2 * room, .strings_room = strings};
	gsd_dictionary *file = MAP_FAILED;

	made->bytes = gsd_dictionary_bytes(&head);
	if (!gsd_host_take(made->bytes))
		return GS_NOMEM;
	made->fd = memfd_create("gpusort dictionary", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (made->fd >= 0 && ftruncate(made->fd, (off_t) made->bytes) == 0)
		file = mmap(NULL, made->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, made->fd, 0);
	if (file != MAP_FAILED && fcntl(made->fd, F_ADD_SEALS, SEALS) == 0)
	{
		*file = head;
		return gsd_entries_open(&made->entries, file, made->bytes) ? GS_OK : GS_INVALID;
	}
	if (file != MAP_FAILED)
		(void) munmap(file, made->bytes);
	if (made->fd >= 0)
		close(made->fd);
	made->entries.file = NULL;
	gsd_host_give(made->bytes);
	return GS_NOMEM;
}

/*
 * Puts a code into the index.
 */
static void
put_index(gsd_entries *e, uint32_t code, const char *p, uint32_t bytes)
{
	uint32_t at = (uint32_t) gsd_string_hash(p, bytes) & (e->slots - 1);

	while (e->index[at] != 0)
		at = (at + 1) & (e->slots - 1);
	__atomic_store_n(&e->index[at], code + 1, __ATOMIC_RELEASE);
}

/*
 * Replaces a file by one with room for a string more.
 */
static gs_status
grow(dictionary *d, uint32_t bytes)
{
	const gsd_entries *old = &d->entries;
	const uint32_t count = old->file->count;
	uint64_t used = gsd_entries_used(old, count), strings = old->strings_room;
	dictionary larger;

	if (old->room >= UINT32_MAX / 8)
		return GS_NOMEM;
	while (strings < used + bytes)
		strings *= 2;
	GS_TRY(make_file(count == old->room ? 2 * old->room : old->room, strings, &larger));
	memcpy(larger.entries.ends, old->ends, count * sizeof(uint64_t));
	memcpy(larger.entries.strings, old->strings, used);
	for (uint32_t code = 0; code < count; code++)
	{
		uint32_t n;
		const char *p = gsd_entries_string(&larger.entries, code, &n);

		put_index(&larger.entries, code, p, n);
	}
	larger.entries.file->count = count;
	__atomic_store_n(&old->file->retired, 1, __ATOMIC_RELEASE);
	close_file(d);
	*d = larger;
	return GS_OK;
}

/*
 * Returns a string's code, a new one if necessary.
 */
static gs_status
add_string(dictionary *d, const char *p, uint32_t bytes, uint32_t *code)
{
	gsd_entries *e = &d->entries;
	uint64_t used;

	*code = gsd_entries_find(e, p, bytes);
	if (*code != GSD_NO_CODE)
		return *code != GSD_DAMAGED ? GS_OK : GS_INVALID;
	used = gsd_entries_used(e, e->file->count);
	if (e->file->count == e->room || used + bytes > e->strings_room)
		GS_TRY(grow(d, bytes));
	*code = e->file->count;
	memcpy(e->strings + used, p, bytes);
	e->ends[*code] = used + bytes;
	put_index(e, *code, p, bytes);
	__atomic_store_n(&e->file->count, *code + 1, __ATOMIC_RELEASE);
	return GS_OK;
}

/* ---------------------------------------------------------------- of a table */

gs_status
gsd_dictionaries_make(table *t, const uint8_t *types)
{
	t->dictionaries = calloc(t->ncolumns, sizeof(*t->dictionaries));
	if (t->dictionaries == NULL)
		return GS_NOMEM;
	for (uint32_t c = 0; c < t->ncolumns; c++)
		if (types[c] & GSD_TYPE_CODES)
			GS_TRY(make_file(LEAST_ROOM, LEAST_STRINGS, &t->dictionaries[c]));
	return GS_OK;
}

void
gsd_dictionaries_free(table *t)
{
	for (uint32_t c = 0; t->dictionaries != NULL && c < t->ncolumns; c++)
		close_file(&t->dictionaries[c]);
	free(t->dictionaries);
}

uint64_t
gsd_dictionaries_bytes(table *t)
{
	uint64_t bytes = 0;

	pthread_mutex_lock(&t->strings);
	for (uint32_t c = 0; c < t->ncolumns; c++)
		bytes += t->dictionaries[c].entries.file != NULL ? t->dictionaries[c].bytes : 0;
	pthread_mutex_unlock(&t->strings);
	return bytes;
}

int
gsd_dictionary_file(table *t, uint32_t column)
{
	int fd = -1;

	pthread_mutex_lock(&t->strings);
	if (column < t->ncolumns && t->dictionaries[column].entries.file != NULL)
		fd = fcntl(t->dictionaries[column].fd, F_DUPFD_CLOEXEC, 0);
	pthread_mutex_unlock(&t->strings);
	return fd;
}

/* ---------------------------------------------------------------- strings of a segment */

/*
 * Adds the strings of a column, which lie in a private copy from *p to end, to its dictionary.
 */
static gs_status
add_column(dictionary *d, gs_type type, const char **p, const char *end, new_codes *added)
{
	const uint64_t most = (uint64_t) 1 << 8 * gs_type_width(type);
	gsd_strings head;
	uint32_t bytes;

	if ((size_t) (end - *p) < sizeof(head))
		return GS_INVALID;
	memcpy(&head, *p, sizeof(head));
	*p += sizeof(head);
	if (head.count > (size_t) (end - *p) / sizeof(bytes))
		return GS_INVALID;
	added->first = head.first;
	added->count = head.count;
	added->codes = malloc(head.count * sizeof(uint32_t) + 1);
	if (added->codes == NULL)
		return GS_NOMEM;
	for (uint32_t i = 0; i < head.count; i++)
	{
		if ((size_t) (end - *p) < sizeof(bytes))
			return GS_INVALID;
		memcpy(&bytes, *p, sizeof(bytes));
		*p += sizeof(bytes);
		if (bytes > GSD_DICTIONARY_MOST_BYTES || bytes > (size_t) (end - *p))
			return GS_INVALID;
		GS_TRY(add_string(d, *p, bytes, &added->codes[i]));
		if (added->codes[i] >= most)
			return GS_TOO_BIG;
		*p += bytes;
	}
	return GS_OK;
}

gs_status
gsd_strings_add(table *t, const char *slot, uint64_t slot_bytes, const gsd_store *m, new_codes *added, uint32_t *column)
{
	gs_status status = GS_OK;
	const char *p;
	char *copy;

	*column = 0;
	if (m->strings_at > slot_bytes || m->strings_bytes > slot_bytes - m->strings_at)
		return GS_INVALID;
	copy = malloc(m->strings_bytes + 1u);
	if (copy == NULL)
		return GS_NOMEM;
	p = memcpy(copy, slot + m->strings_at, m->strings_bytes);
	pthread_mutex_lock(&t->strings);
	for (uint32_t c = 0; c < t->ncolumns && status == GS_OK; c++)
	{
		if (t->dictionaries[c].entries.file == NULL)
			continue;
		status = add_column(&t->dictionaries[c], (gs_type) t->types[c], &p, copy + m->strings_bytes, &added[c]);
		*column = c;
	}
	pthread_mutex_unlock(&t->strings);
	free(copy);
	return status;
}

void
gsd_strings_free(const table *t, new_codes *added)
{
	for (uint32_t c = 0; c < t->ncolumns; c++)
		free(added[c].codes);
	free(added);
}

/*
 * Returns the code of a value that may be a place among new strings.
 */
static inline uint32_t
code_of(const new_codes *added, uint32_t value)
{
	return value < added->first ? value : value - added->first < added->count ? added->codes[value - added->first] : 0;
}

void
gsd_strings_to_codes(const new_codes *added, gs_type type, void *values, uint64_t rows)
{
	if (added->count == 0)
		return;
	for (uint64_t row = 0; row < rows; row++)
		if (type == GS_U8)
			((uint8_t *) values)[row] = (uint8_t) code_of(added, ((uint8_t *) values)[row]);
		else if (type == GS_U16)
			((uint16_t *) values)[row] = (uint16_t) code_of(added, ((uint16_t *) values)[row]);
		else
			((uint32_t *) values)[row] = code_of(added, ((uint32_t *) values)[row]);
}
