/*
 * codes.c: strings as codes of a column's dictionary.
 */
#include "postgres.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "catalog/pg_type_d.h"
#include "mb/pg_wchar.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "src/base/compat.h"
#include "codes.h"

#define LEAST_STRINGS 64

/* ---------------------------------------------------------------- mappings */

/* A mapped file.  Codes may use it after a larger copy has taken its place. */
struct DictionaryFile
{
	const gsd_dictionary *mapped;
	Size		bytes;
	int			users;
};

/* Returns the file's header. */
const gsd_dictionary *
dictionary_mapped(const DictionaryFile *file)
{
	return file->mapped;
}

/* Unmaps a file that nobody uses any more.  NULL: no file. */
static void
release(void *arg)
{
	DictionaryFile *file = arg;

	if (file == NULL || --file->users > 0)
		return;
	munmap(unconstify(gsd_dictionary *, file->mapped), file->bytes);
	pfree(file);
}

void
dictionary_unmap(DictionaryMaps *maps)
{
	if (maps->table == 0)
		return;
	for (int i = 0; i < PAGE_MAP_MAX_COLUMNS; i++)
	{
		release(maps->files[i]);
		if (maps->orders[i] != NULL)
			pfree(maps->orders[i]);
	}
	memset(maps, 0, sizeof(*maps));
}

/* Maps a file whose size fits its header, for one user.  Closes fd.  NULL: it is not one. */
static DictionaryFile *
map_file(int fd)
{
	DictionaryFile *file = MemoryContextAllocZero(TopMemoryContext, sizeof(*file));
	int			seals = fcntl(fd, F_GET_SEALS);
	struct stat st = {0};
	const gsd_dictionary *mapped = MAP_FAILED;

	/* whoever could shrink it could have readers fault */
	if (seals >= 0 && (seals & F_SEAL_SHRINK) != 0 && fstat(fd, &st) == 0 && st.st_size >= (off_t) sizeof(*mapped))
		mapped = mmap(NULL, (size_t) st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	*file = (DictionaryFile) {mapped, (Size) st.st_size, 1};
	if (mapped != MAP_FAILED && mapped->magic == GSD_DICTIONARY_MAGIC && gsd_dictionary_bytes(mapped) == file->bytes)
		return file;
	if (mapped != MAP_FAILED)
		munmap(unconstify(gsd_dictionary *, mapped), file->bytes);
	pfree(file);
	return NULL;
}

DictionaryFile *
dictionary_map(DictionaryMaps *maps, ServiceLink *link, uint64 table, uint32 column, EngineFailure *why)
{
	DictionaryFile **file = &maps->files[column];
	int			fd;

	*why = ENGINE_OK;
	if (maps->table != table)
		dictionary_unmap(maps);
	maps->table = table;
	if (*file != NULL && !__atomic_load_n(&(*file)->mapped->retired, __ATOMIC_ACQUIRE))
		return *file;
	fd = store_dictionary(link, table, column, why);
	release(*file);
	*file = NULL;
	if (fd >= 0 && (*file = map_file(fd)) == NULL)
		*why = ENGINE_NO_FILE;
	return *file;
}

/* ---------------------------------------------------------------- codes */

void
codes_begin(StringCodes *codes, DictionaryFile *file, gs_type type, Size most_bytes)
{
	MemoryContextCallback *end;

	memset(codes, 0, sizeof(*codes));
	codes->most = (uint32) Min(UINT64CONST(1) << 8 * gs_type_width(type), (uint64) GSD_NO_CODE);
	codes->bytes = sizeof(gsd_strings);
	codes->most_bytes = most_bytes;
	codes->context = AllocSetContextCreate(CurrentMemoryContext, "gpusort new strings", ALLOCSET_SMALL_SIZES);
	if (file == NULL)
		return;
	codes->file = file->mapped;
	codes->limit = gsd_dictionary_count(codes->file);
	end = MemoryContextAllocZero(codes->context, sizeof(*end));
	end->func = release;
	end->arg = file;
	file->users++;
	MemoryContextRegisterResetCallback(codes->context, end);
}

/* Returns the index's slot of a string: the one that has it, or an empty one. */
static uint32
slot_of(const StringCodes *codes, const char *p, uint32 bytes)
{
	uint32		mask = 2 * codes->room - 1;
	uint32		at = (uint32) gsd_string_hash(p, bytes) & mask;

	for (; codes->index[at] != 0; at = (at + 1) & mask)
	{
		const NewString *there = &codes->strings[codes->index[at] - 1];

		if (there->bytes == bytes && memcmp(there->p, p, bytes) == 0)
			break;
	}
	return at;
}

/* Makes room for twice as many new strings. */
static void
grow(StringCodes *codes)
{
	MemoryContext old = MemoryContextSwitchTo(codes->context);
	NewString  *strings;

	codes->room = Max(2 * codes->room, LEAST_STRINGS);
	strings = palloc_array(NewString, codes->room);
	if (codes->index != NULL)
		pfree(codes->index);
	codes->index = palloc0_array(uint32, 2 * (Size) codes->room);
	if (codes->count > 0)
		memcpy(strings, codes->strings, codes->count * sizeof(NewString));
	codes->strings = strings;
	for (uint32 i = 0; i < codes->count; i++)
		codes->index[slot_of(codes, strings[i].p, strings[i].bytes)] = i + 1;
	MemoryContextSwitchTo(old);
}

uint32
codes_find(const StringCodes *codes, const char *p, uint32 bytes)
{
	uint32		code = codes->file != NULL ? gsd_dictionary_find(codes->file, p, bytes) : GSD_NO_CODE;

	/* what came after the beginning may have a temporary code */
	if (code < codes->limit)
		return code;
	if (codes->count == 0)
		return GSD_NO_CODE;
	code = codes->index[slot_of(codes, p, bytes)];
	return code != 0 ? codes->limit + code - 1 : GSD_NO_CODE;
}

uint32
codes_of(StringCodes *codes, const char *p, uint32 bytes)
{
	uint32		code = codes_find(codes, p, bytes);

	if (code != GSD_NO_CODE || codes->ranks != NULL)
		return code;
	if (codes->limit + codes->count >= codes->most)
		codes->too_wide = true;
	if (codes->most_bytes != CODES_UNSENT && bytes > GSD_DICTIONARY_MOST_BYTES)
		return GSD_NO_CODE;
	codes->full = codes->full || codes->bytes + sizeof(bytes) + bytes > codes->most_bytes;
	if (codes->too_wide || codes->full)
		return GSD_NO_CODE;
	if (codes->count == codes->room)
		grow(codes);
	codes->index[slot_of(codes, p, bytes)] = codes->count + 1;
	codes->strings[codes->count++] = (NewString) {
		memcpy(MemoryContextAlloc(codes->context, bytes + 1), p, bytes), bytes
	};
	codes->bytes += sizeof(bytes) + bytes;
	return codes->limit + codes->count - 1;
}

const char *
codes_string(const StringCodes *codes, uint64 code, uint32 *bytes)
{
	if (code < codes->limit)
		return gsd_dictionary_string(codes->file, (uint32) code, bytes);
	if (code - codes->limit >= codes->count)
		return NULL;
	*bytes = codes->strings[code - codes->limit].bytes;
	return codes->strings[code - codes->limit].p;
}

uint32
codes_held(StringCodes *codes, const char *p, uint32 bytes)
{
	uint32		code = codes_of(codes, p, bytes);

	return codes->ranks != NULL && code != GSD_NO_CODE ? codes->ranks->ranks[code] : code;
}

const char *
codes_held_string(const StringCodes *codes, uint64 held, uint32 *bytes)
{
	if (codes->ranks == NULL)
		return codes_string(codes, held, bytes);
	return held < codes->ranks->count ? codes_string(codes, codes->ranks->codes[held], bytes) : NULL;
}

char *
codes_write(const StringCodes *codes, char *to)
{
	gsd_strings head = {codes->limit, codes->count};

	memcpy(to, &head, sizeof(head));
	to += sizeof(head);
	for (uint32 i = 0; i < codes->count; i++)
	{
		memcpy(to, &codes->strings[i].bytes, sizeof(uint32));
		memcpy(to + sizeof(uint32), codes->strings[i].p, codes->strings[i].bytes);
		to += sizeof(uint32) + codes->strings[i].bytes;
	}
	return to;
}

/* ---------------------------------------------------------------- datums */

/* Takes the blanks from a char(n).  Returns false if they do not fill it up to its length, which tells how many. */
static bool
trim(int32 typmod, const char *p, uint32 *bytes)
{
	uint32		all = *bytes;

	while (*bytes > 0 && p[*bytes - 1] == ' ')
		(*bytes)--;
	return typmod < 0 ||
		all - *bytes == (uint32) (typmod - (int32) VARHDRSZ) - (uint32) pg_mbstrlen_with_len(p, (int) *bytes);
}

bool
string_of_datum(Oid base, int32 typmod, const char *datum, const char **p, uint32 *bytes)
{
	const struct varlena *value;

	if (base == NAMEOID)
	{
		*p = datum;
		*bytes = (uint32) strnlen(datum, NAMEDATALEN);
		return true;
	}
	value = pg_detoast_datum_packed((struct varlena *) datum);
	*p = VARDATA_ANY(value);
	*bytes = (uint32) VARSIZE_ANY_EXHDR(value);
	return base != BPCHAROID || trim(typmod, *p, bytes);
}

/* Returns a char(n) with its blanks. */
static Datum
padded(int32 typmod, const char *p, uint32 bytes)
{
	uint32		blanks = (uint32) (typmod - (int32) VARHDRSZ) - (uint32) pg_mbstrlen_with_len(p, (int) bytes);
	struct varlena *value = palloc(VARHDRSZ + bytes + blanks);

	SET_VARSIZE(value, VARHDRSZ + bytes + blanks);
	memcpy(VARDATA(value), p, bytes);
	memset(VARDATA(value) + bytes, ' ', blanks);
	return PointerGetDatum(value);
}

Datum
datum_of_string(Oid base, int32 typmod, const char *p, uint32 bytes)
{
	Name		name;

	if (base == BPCHAROID)
		return padded(typmod, p, bytes);
	if (base != NAMEOID)
		return PointerGetDatum(cstring_to_text_with_len(p, (int) bytes));
	name = palloc0(NAMEDATALEN);
	memcpy(NameStr(*name), p, bytes);
	return NameGetDatum(name);
}
