/*
 * group_rows.c: keeps the first rows of each group while others pass: groups, each with a heap, and a hash table of
 * their numbers.  A row that is left out costs two accesses to memory, of its entry and of its group.  Where rows come
 * in the reverse of the order, a sample tells each group what it need not keep.
 */
#include "postgres.h"

#include "access/tupmacs.h"
#include "common/hashfn.h"
#include "executor/executor.h"
#include "lib/stringinfo.h"

#include "src/base/compat.h"
#include "group_rows.h"

/* Memory is worth while if at least this fraction of the rows was left out when it was used up. */
#define USEFUL_FRACTION 0.25

/* Groups for which there is room at the start. */
#define FEW_GROUPS 64

/* Bytes of keys that lie in their group itself. */
#define SHORT_KEYS 16

/* Keys that are passed by value, up to as many, are these themselves. */
#define FEW_KEYS 2

/* A group's keys: few ones by value, or each as a byte that tells a NULL and its bytes. */
typedef struct GroupKeys
{
	uint32		length;			/* of the bytes; of values bits of which are NULL */
	union
	{
		Datum		values[FEW_KEYS];
		char		here[SHORT_KEYS];	/* up to as many */
		const char *there;
	}			bytes;
} GroupKeys;

typedef struct TopGroup
{
	GroupKeys	keys;
	FirstHeap	heap;
} TopGroup;

/* An entry of the hash table, which is smaller than a group, as many are free. */
typedef struct GroupEntry
{
	uint32		group;			/* its number */
	uint32		hash;
	char		status;
} GroupEntry;

/* The number by which the group of the row that has come is looked up. */
#define COMING_GROUP PG_UINT32_MAX

struct GroupRows
{
	FirstRows  *first;
	int			nkeys;
	const AttrNumber *attnos;	/* of keys */
	TupleDesc	desc;
	bool		by_value;		/* few keys, all of them passed by value */
	struct groups_hash *table;
	TopGroup   *groups;
	uint32		ngroups;
	uint32		room;
	FirstHeap  *samples;		/* of the first groups, if there is a sample */
	uint32		nsamples;
	uint64		sampled;		/* rows */
	GroupKeys	keys;			/* of the row that has come, and their bytes */
	StringInfoData bytes;
	uint64		came;
	uint64		left_out;
	uint32		group;			/* whose rows are returned, after input */
	int64		row;
};

/* Returns the bytes of keys. */
static inline const char *
bytes_of(const GroupKeys *keys)
{
	return keys->length <= SHORT_KEYS ? keys->bytes.here : keys->bytes.there;
}

/* Returns true if two keys are the same. */
static inline bool
are_same(const GroupRows *rows, const GroupKeys *a, const GroupKeys *b)
{
	if (rows->by_value)
		return a->length == b->length && a->bytes.values[0] == b->bytes.values[0] &&
			a->bytes.values[1] == b->bytes.values[1];
	return a->length == b->length && memcmp(bytes_of(a), bytes_of(b), a->length) == 0;
}

/* Returns a hash of a value whose lower half depends on all its bits. */
static inline uint64
hash_value(Datum value)
{
	const uint64 factor = UINT64CONST(0x9e3779b97f4a7c15);	/* 2^64 / golden ratio */
	uint64		hash = (value ^ value >> 32) * factor;

	return hash ^ hash >> 32;
}

/* Returns the hash of keys. */
static inline uint32
hash_keys(const GroupRows *rows, const GroupKeys *keys)
{
	if (rows->by_value)
		return (uint32) hash_combine64(hash_value(keys->bytes.values[0] + keys->length),
									   hash_value(keys->bytes.values[1]));
	return hash_bytes((const unsigned char *) bytes_of(keys), (int) keys->length);
}

/* Returns the keys of a group by its number. */
static inline const GroupKeys *
keys_of(const GroupRows *rows, uint32 group)
{
	return group == COMING_GROUP ? &rows->keys : &rows->groups[group].keys;
}

#define SH_PREFIX groups
#define SH_ELEMENT_TYPE GroupEntry
#define SH_KEY_TYPE uint32
#define SH_KEY group
#define SH_HASH_KEY(table, key) hash_keys((table)->private_data, keys_of((table)->private_data, key))
#define SH_EQUAL(table, a, b) \
	are_same((table)->private_data, keys_of((table)->private_data, a), keys_of((table)->private_data, b))
#define SH_SCOPE static inline
#define SH_STORE_HASH
#define SH_GET_HASH(table, entry) (entry)->hash
#define SH_DEFINE
#define SH_DECLARE
#include "lib/simplehash.h"

/* Are keys few, and all of them passed by value? */
static bool
are_by_value(int nkeys, const AttrNumber *attnos, TupleDesc desc)
{
	bool		result = nkeys <= FEW_KEYS;

	for (int i = 0; i < nkeys && result; i++)
		result = TupleDescAttr(desc, attnos[i] - 1)->attbyval;
	return result;
}

GroupRows *
grouprows_open(const SortColumns *order, int ngroups, const AttrNumber *groups, TupleDesc desc, int64 bound, bool ties,
			   Size limit)
{
	FirstRows  *first = firstrows_open(order, desc, bound, ties, limit);
	MemoryContext old = MemoryContextSwitchTo(first->cxt);
	GroupRows  *rows = palloc0(sizeof(GroupRows));

	rows->first = first;
	rows->nkeys = ngroups;
	rows->attnos = groups;
	rows->desc = desc;
	rows->by_value = are_by_value(ngroups, groups, desc);
	rows->room = FEW_GROUPS;
	rows->groups = palloc(sizeof(TopGroup) * rows->room);
	rows->table = groups_create(first->cxt, rows->room, rows);
	initStringInfo(&rows->bytes);
	MemoryContextSwitchTo(old);
	return rows;
}

/* Appends the bytes of a value that is passed by value. */
static void
append_value(StringInfo out, Form_pg_attribute type, Datum value)
{
	char		bytes[sizeof(Datum)];

	store_att_byval(bytes, value, type->attlen);
	appendBinaryStringInfo(out, bytes, type->attlen);
}

/* Appends the bytes of a value that is passed by reference, behind their number if values differ in that. */
static void
append_reference(StringInfo out, Form_pg_attribute type, Datum value)
{
	struct varlena *packed;
	uint32		length;

	if (type->attlen > 0)
	{
		appendBinaryStringInfo(out, DatumGetPointer(value), type->attlen);
		return;
	}
	packed = type->attlen == -1 ? PG_DETOAST_DATUM_PACKED(value) : NULL;
	length = (uint32) (packed ? VARSIZE_ANY_EXHDR(packed) : strlen(DatumGetCString(value)));
	appendBinaryStringInfo(out, (char *) &length, sizeof(length));
	appendBinaryStringInfo(out, packed ? VARDATA_ANY(packed) : DatumGetCString(value), (int) length);
}

/* Sets the keys of the row that has come, which are values. */
static inline void
set_values(GroupRows *rows, TupleTableSlot *slot)
{
	GroupKeys  *keys = &rows->keys;
	bool		isnull;

	keys->length = 0;
	for (int i = 0; i < rows->nkeys; i++)
	{
		Datum		value = slot_getattr(slot, rows->attnos[i], &isnull);

		keys->bytes.values[i] = isnull ? 0 : value;
		keys->length |= (uint32) isnull << i;
	}
}

/* Sets the keys of the row that has come, as bytes. */
static void
set_bytes(GroupRows *rows, TupleTableSlot *slot)
{
	StringInfo	out = &rows->bytes;

	resetStringInfo(out);
	for (int i = 0; i < rows->nkeys; i++)
	{
		Form_pg_attribute type = TupleDescAttr(rows->desc, rows->attnos[i] - 1);
		bool		isnull;
		Datum		value = slot_getattr(slot, rows->attnos[i], &isnull);

		appendStringInfoCharMacro(out, isnull);
		if (isnull)
			continue;
		if (type->attbyval)
			append_value(out, type, value);
		else
			append_reference(out, type, value);
	}
	rows->keys.length = (uint32) out->len;
	if (out->len <= SHORT_KEYS)
		memcpy(rows->keys.bytes.here, out->data, out->len);
	else
		rows->keys.bytes.there = out->data;
}

/* Sets the keys of the row that has come. */
static inline void
set_keys(GroupRows *rows, TupleTableSlot *slot)
{
	if (rows->by_value)
		set_values(rows, slot);
	else
		set_bytes(rows, slot);
}

/* Adds the group of the row that has come, without rows. */
static TopGroup *
add_group(GroupRows *rows)
{
	FirstRows  *first = rows->first;
	TopGroup   *group;

	if (rows->ngroups == rows->room)
	{
		rows->room *= 2;
		rows->groups = repalloc_huge(rows->groups, sizeof(TopGroup) * rows->room);
	}
	group = &rows->groups[rows->ngroups++];
	memset(group, 0, sizeof(TopGroup));
	group->keys = rows->keys;
	if (group->keys.length > SHORT_KEYS)
		group->keys.bytes.there = memcpy(MemoryContextAlloc(first->cxt, group->keys.length), rows->bytes.data,
										 group->keys.length);
	first->bytes += sizeof(TopGroup) + 2 * sizeof(GroupEntry) + group->keys.length;
	return group;
}

/* Returns the group of a row, a new one if there is memory for it, else NULL. */
static TopGroup *
find_group(GroupRows *rows, TupleTableSlot *slot)
{
	GroupEntry *entry;
	bool		found = true;

	set_keys(rows, slot);
	if (unlikely(firstrows_is_full(rows->first)))
		entry = groups_lookup(rows->table, COMING_GROUP);
	else
		entry = groups_insert(rows->table, COMING_GROUP, &found);
	if (entry == NULL)
		return NULL;
	if (likely(found))
		return &rows->groups[entry->group];
	entry->group = rows->ngroups;
	return add_group(rows);
}

/* Returns the first rows of a group's sample if these are as many as are kept, else NULL. */
static inline const FirstHeap *
sample_of(const GroupRows *rows, const TopGroup *group)
{
	uint32		number = (uint32) (group - rows->groups);

	return number < rows->nsamples && rows->samples[number].count == rows->first->bound ? &rows->samples[number] : NULL;
}

TupleTableSlot *
grouprows_put(GroupRows *rows, TupleTableSlot *slot, TupleTableSlot *kept)
{
	FirstRows  *first = rows->first;
	TopGroup   *group = find_group(rows, slot);
	bool		complete;

	rows->came++;
	if (group == NULL || (group->heap.count < first->bound && firstrows_is_full(first)))
		return slot;
	complete = group->heap.count == first->bound;
	switch (firstrows_put(first, &group->heap, sample_of(rows, group), slot))
	{
		case FIRST_TIED:
			return slot;
		case FIRST_TIED_OUT:
			return ExecStoreMinimalTuple(first->out.tuple, kept, false);
		default:
			/* this row, or the one in whose place it is kept */
			rows->left_out += complete;
			return NULL;
	}
}

double
grouprows_begin_sample(GroupRows *rows, double expected)
{
	double		fraction = firstrows_begin_sample(rows->first, rows->ngroups * rows->first->bound, expected);

	if (fraction > 0)
	{
		rows->nsamples = rows->ngroups;
		rows->samples = MemoryContextAllocExtended(rows->first->cxt, sizeof(FirstHeap) * rows->nsamples,
												   MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
		rows->first->bytes += sizeof(FirstHeap) * rows->nsamples;
	}
	return fraction;
}

void
grouprows_put_sampled(void *arg, TupleTableSlot *slot)
{
	GroupRows  *rows = arg;
	GroupEntry *entry;

	set_keys(rows, slot);
	entry = groups_lookup(rows->table, COMING_GROUP);
	if (entry == NULL || firstrows_is_full(rows->first))
		return;
	(void) firstrows_put(rows->first, &rows->samples[entry->group], NULL, slot);
	rows->sampled++;
}

bool
grouprows_need_sample(const GroupRows *rows)
{
	return firstrows_need_sample(rows->first, rows->ngroups * rows->first->bound);
}

uint64
grouprows_sampled(const GroupRows *rows)
{
	return rows->sampled;
}

bool
grouprows_is_useless(const GroupRows *rows)
{
	return firstrows_is_full(rows->first) && rows->left_out < USEFUL_FRACTION * rows->came;
}

TupleTableSlot *
grouprows_next(GroupRows *rows, TupleTableSlot *kept)
{
	while (rows->group < rows->ngroups && rows->row == rows->groups[rows->group].heap.count)
	{
		rows->group++;
		rows->row = 0;
	}
	if (rows->group == rows->ngroups)
		return ExecClearTuple(kept);
	return ExecStoreMinimalTuple(rows->groups[rows->group].heap.rows[rows->row++].tuple, kept, false);
}

uint64
grouprows_left_out(const GroupRows *rows)
{
	return rows->left_out;
}

void
grouprows_close(GroupRows *rows)
{
	/* all of it is in its context */
	firstrows_close(rows->first);
}
