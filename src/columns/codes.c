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
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

#include "src/base/compat.h"
#include "codes.h"

#define LEAST_STRINGS 64

/* Strings between two looks at interrupts. */
#define STRINGS_AT_ONCE 256

/* Bytes of memory of a string beside its own: in the list, in the index of twice as many, and its chunk's header. */
#define STRING_BYTES (sizeof(NewString) + 4 * sizeof(uint32) + 2 * MAXIMUM_ALIGNOF)

/* ---------------------------------------------------------------- mappings */

/* A mapped file.  Codes may use it after a larger copy has taken its place. */
struct DictionaryFile
{
	gsd_entries entries;
	Size		bytes;
	uint64		table;			/* whose it is */
	uint32		column;
	int			users;
	uint32		checked;		/* the first strings, which are in the database's encoding */
	bool		damaged;		/* something impossible was found */
};

const char	codes_impossible[] = "strings of the service's dictionary are impossible";
const char	codes_no_room[] = "new strings are more than gpusort.work_mem has room for";

/* Returns the number of entries that a file has now. */
uint32
dictionary_count(const DictionaryFile *file)
{
	return gsd_entries_count(&file->entries);
}

/* Returns the bytes of a file. */
Size
dictionary_bytes(const DictionaryFile *file)
{
	return file->bytes;
}

void
dictionary_place(const DictionaryFile *file, uint64 *table, uint32 *column)
{
	*table = file->table;
	*column = file->column;
}

/* Unmaps a file that nobody uses any more.  NULL: no file. */
static void
release(void *arg)
{
	DictionaryFile *file = arg;

	if (file == NULL || --file->users > 0)
		return;
	munmap(file->entries.file, file->bytes);
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

/* Maps a file whose size fits its header, for one user.  Closes fd.  NULL: it is not one, or cannot be mapped. */
static DictionaryFile *
map_file(int fd, EngineFailure *why)
{
	DictionaryFile *file = MemoryContextAllocZero(TopMemoryContext, sizeof(*file));
	int			seals = fcntl(fd, F_GET_SEALS);
	struct stat st = {0};
	void	   *mapped = MAP_FAILED;

	/* whoever could shrink it could have readers fault */
	if (seals >= 0 && (seals & F_SEAL_SHRINK) != 0 && fstat(fd, &st) == 0 && st.st_size > 0)
		mapped = mmap(NULL, (size_t) st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	file->bytes = (Size) st.st_size;
	file->users = 1;
	if (mapped != MAP_FAILED && gsd_entries_open(&file->entries, mapped, file->bytes))
		return file;
	*why = mapped != MAP_FAILED ? ENGINE_PROTOCOL : ENGINE_NO_FILE;
	if (mapped != MAP_FAILED)
		munmap(mapped, file->bytes);
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
	if (*file != NULL && !(*file)->damaged && !__atomic_load_n(&(*file)->entries.file->retired, __ATOMIC_ACQUIRE))
		return *file;
	fd = store_dictionary(link, table, column, why);
	release(*file);
	*file = NULL;
	if (fd >= 0)
		*file = map_file(fd, why);
	if (*file != NULL)
	{
		(*file)->table = table;
		(*file)->column = column;
	}
	return *file;
}

/* ---------------------------------------------------------------- codes */

void
codes_begin(StringCodes *codes, DictionaryFile *file, gs_type type, Size most_bytes, bool sent)
{
	MemoryContextCallback *end;

	memset(codes, 0, sizeof(*codes));
	codes->most = (uint32) Min(UINT64CONST(1) << 8 * gs_type_width(type), (uint64) GSD_NO_CODE);
	codes->bytes = sizeof(gsd_strings);
	codes->most_bytes = most_bytes;
	codes->sent = sent;
	codes->context = AllocSetContextCreate(CurrentMemoryContext, "gpusort new strings", ALLOCSET_SMALL_SIZES);
	if (file == NULL)
		return;
	codes->file = file;
	codes->limit = dictionary_count(file);
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

/* Returns the code of a string that has one, or GSD_NO_CODE. */
static uint32
find_code(const StringCodes *codes, const char *p, uint32 bytes)
{
	/* a damaged file's answer is thrown away, and a full index takes long to search in vain */
	bool		look = codes->file != NULL && !codes->file->damaged;
	uint32		code = look ? gsd_entries_find(&codes->file->entries, p, bytes) : GSD_NO_CODE;

	if (code == GSD_DAMAGED)
		codes->file->damaged = true;
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
	uint32		code = find_code(codes, p, bytes);
	Size		more = bytes + (codes->sent ? sizeof(bytes) : STRING_BYTES);

	if (code != GSD_NO_CODE || codes->ranks != NULL)
		return code;
	if (codes->limit + codes->count >= codes->most)
		codes->too_wide = true;
	if (codes->sent && bytes > GSD_DICTIONARY_MOST_BYTES)
		return GSD_NO_CODE;
	codes->full = codes->full || codes->bytes + codes->question_bytes + more > codes->most_bytes;
	if (codes->too_wide || codes->full)
		return GSD_NO_CODE;
	if (codes->count == codes->room)
		grow(codes);
	codes->index[slot_of(codes, p, bytes)] = codes->count + 1;
	codes->strings[codes->count++] = (NewString) {
		memcpy(MemoryContextAlloc(codes->context, bytes + 1), p, bytes), bytes
	};
	codes->bytes += more;
	return codes->limit + codes->count - 1;
}

/* Returns the string of a code, or NULL. */
static const char *
string_of_code(const StringCodes *codes, uint64 code, uint32 *bytes)
{
	if (code < codes->limit)
		return gsd_entries_string(&codes->file->entries, (uint32) code, bytes);
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

/* Has nothing impossible been found in the file of a dictionary? */
bool
codes_sound(const StringCodes *codes)
{
	return codes->file == NULL || !codes->file->damaged;
}

uint64
codes_of_held(const StringCodes *codes, uint64 held)
{
	if (codes->ranks == NULL)
		return held;
	return held < codes->ranks->count ? codes->ranks->codes[held] : GSD_NO_CODE;
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

/* Makes a char(n) with its blanks.  Returns false if the string is longer. */
static bool
pad(int32 typmod, const char *p, uint32 bytes, Datum *value)
{
	int			blanks = typmod - VARHDRSZ - pg_mbstrlen_with_len(p, (int) bytes);
	struct varlena *padded;

	if (blanks < 0)
		return false;
	padded = palloc((Size) VARHDRSZ + bytes + blanks);
	SET_VARSIZE(padded, VARHDRSZ + bytes + blanks);
	memcpy(VARDATA(padded), p, bytes);
	memset(VARDATA(padded) + bytes, ' ', blanks);
	*value = PointerGetDatum(padded);
	return true;
}

/* Makes a name.  Returns false if the string is longer. */
static bool
make_name(const char *p, uint32 bytes, Datum *value)
{
	Name		name;

	if (bytes >= NAMEDATALEN)
		return false;
	name = palloc0(NAMEDATALEN);
	memcpy(NameStr(*name), p, bytes);
	*value = NameGetDatum(name);
	return true;
}

/* Returns true if a string is in the database's encoding: a dictionary's is looked at once. */
static bool
is_encoded(DictionaryFile *file, uint64 code, const char *p, uint32 bytes)
{
	if (code < file->checked)
		return true;
	if (!pg_verifymbstr(p, (int) bytes, true))
		return false;
	if (code == file->checked)
		file->checked++;
	return true;
}

/* Makes a datum of the type.  Returns false if the string is longer than the type's. */
static bool
datum_of_string(Oid base, int32 typmod, const char *p, uint32 bytes, Datum *value)
{
	if (base == BPCHAROID)
		return pad(typmod, p, bytes, value);
	if (base == NAMEOID)
		return make_name(p, bytes, value);
	*value = PointerGetDatum(cstring_to_text_with_len(p, (int) bytes));
	return true;
}

const char *
codes_string(const StringCodes *codes, uint64 code, uint32 *bytes)
{
	const char *p = string_of_code(codes, code, bytes);

	if (p != NULL && (code >= codes->limit || is_encoded(codes->file, code, p, *bytes)))
		return p;
	if (code < codes->limit)
		codes->file->damaged = true;
	return NULL;
}

bool
codes_datum(const StringCodes *codes, Oid base, int32 typmod, uint64 code, Datum *value)
{
	uint32		bytes;
	const char *p = codes_string(codes, code, &bytes);

	if (p != NULL && datum_of_string(base, typmod, p, bytes, value))
		return true;
	if (code < codes->limit)
		codes->file->damaged = true;
	return false;
}

/* ---------------------------------------------------------------- several dictionaries */

uint32 *
codes_of_dictionary(StringCodes *codes, DictionaryFile *file, uint32 *count, const char **why)
{
	uint32	   *of;

	*count = dictionary_count(file);
	*why = codes_no_room;
	codes->bytes += (Size) *count * sizeof(uint32);
	if (codes->bytes > codes->most_bytes)
		return NULL;
	of = palloc_extended(((Size) *count + 1) * sizeof(uint32), MCXT_ALLOC_HUGE);
	for (uint32 code = 0; code < *count; code++)
	{
		uint32		bytes;
		const char *p = gsd_entries_string(&file->entries, code, &bytes);

		if (code % STRINGS_AT_ONCE == 0)
			CHECK_FOR_INTERRUPTS();
		file->damaged = file->damaged || p == NULL || !is_encoded(file, code, p, bytes);
		if (file->damaged)
		{
			*why = codes_impossible;
			return NULL;
		}
		of[code] = codes_of(codes, p, bytes);
		if (of[code] == GSD_NO_CODE)
			return NULL;
	}
	*why = NULL;
	return of;
}

void
codes_begin_question(StringCodes *codes)
{
	codes->question_bytes = 0;
	if (codes->question_context != NULL)
		MemoryContextReset(codes->question_context);
}

uint32 *
codes_alloc_numbers(StringCodes *codes, uint32 count)
{
	Size		bytes = (Size) count * sizeof(uint32);

	if (codes->bytes + codes->question_bytes + bytes > codes->most_bytes)
		return NULL;
	if (codes->question_context == NULL)
		codes->question_context = AllocSetContextCreate(codes->context, "gpusort numbers of strings",
														ALLOCSET_SMALL_SIZES);
	codes->question_bytes += bytes;
	return MemoryContextAllocExtended(codes->question_context, bytes + sizeof(uint32), MCXT_ALLOC_HUGE);
}
