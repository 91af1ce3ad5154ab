/*
 * key_prefix.c: the first bytes of a row's normalised keys, as words.
 */
#include "postgres.h"

#include "port/pg_bswap.h"
#include "utils/memutils.h"

#include "key_prefix.h"

void
keyprefix_open(KeyPrefix *prefix, const SortColumns *columns, TupleDesc desc)
{
	memset(prefix, 0, sizeof(*prefix));
	prefix->columns = *columns;
	prefix->fixed = true;
	if (desc == NULL)
		return;
	prefix->places = keyplaces_find(columns, desc);
	prefix->slot = MakeSingleTupleTableSlot(desc, &TTSOpsMinimalTuple);
}

void
keyprefix_encode(KeyPrefix *prefix)
{
	const SortColumns *columns = &prefix->columns;

	prefix->keys = palloc0(sizeof(SortKey) * columns->nkeys);
	while (prefix->nexact < columns->nkeys &&
		   sortkey_is_exact(columns->sortops[prefix->nexact], columns->collations[prefix->nexact]))
	{
		int			i = prefix->nexact++;

		sortkey_open(&prefix->keys[i], columns->sortops[i], columns->collations[i], columns->nulls_first[i], true);
		prefix->fixed = prefix->fixed && prefix->keys[i].width > 0;
	}
	prefix->nwritten = prefix->nexact;
	prefix->single = columns->nkeys == 1 && prefix->nexact == 1 && prefix->fixed &&
		prefix->keys[0].width <= sizeof(uint64);
	prefix->scratch = AllocSetContextCreate(CurrentMemoryContext, "gpusort key prefix", ALLOCSET_SMALL_SIZES);
}

bool
keyprefix_add_weights(KeyPrefix *prefix, const SortKey *keys)
{
	int			key = prefix->nexact;

	if (key == prefix->columns.nkeys || !sortkey_open_weights(&prefix->keys[key], &keys[key]))
		return false;
	prefix->nwritten = key + 1;
	prefix->fixed = false;
	return true;
}

void
keyprefix_close(KeyPrefix *prefix)
{
	if (prefix->places)
		ExecDropSingleTupleTableSlot(prefix->slot);
	if (prefix->scratch)
		MemoryContextDelete(prefix->scratch);
}

void
keyprefix_store_row(KeyPrefix *prefix)
{
	ExecStoreMinimalTuple(prefix->row, prefix->slot, false);
	prefix->row = NULL;
	prefix->data = NULL;
}

/* Writes keys of fixed width until end is reached; returns the end of what was written. */
static inline char *
write_fixed(KeyPrefix *prefix, char *to, const char *end)
{
	for (int i = 0; i < prefix->nexact && to <= end; i++)
	{
		bool		isnull;
		Datum		value = keyprefix_value(prefix, i, &isnull);

		to = sortkey_write(&prefix->keys[i], value, isnull, to);
	}
	return to;
}

/* Writes the first bytes of any keys; returns how many there are, or more than KEY_BYTES. */
static Size
write_prefix(KeyPrefix *prefix, char *to)
{
	MemoryContext old = MemoryContextSwitchTo(prefix->scratch);
	Size		at = 0;

	for (int i = 0; i < prefix->nwritten && at <= KEY_BYTES; i++)
	{
		bool		isnull;
		Datum		value = keyprefix_value(prefix, i, &isnull);

		at += sortkey_prefix(&prefix->keys[i], value, isnull, to + at, KEY_BYTES - at);
	}
	MemoryContextSwitchTo(old);
	MemoryContextReset(prefix->scratch);
	return at;
}

bool
keyprefix_take_bytes(KeyPrefix *prefix, uint64 *words)
{
	uint64		bytes[KEY_WORDS + (SORTKEY_WRITTEN + sizeof(uint64) - 1) / sizeof(uint64)] = {0};
	char	   *to = (char *) bytes;
	Size		n = prefix->fixed ? (Size) (write_fixed(prefix, to, to + KEY_BYTES) - to) : write_prefix(prefix, to);

	for (int i = 0; i < KEY_WORDS; i++)
		words[i] = pg_ntoh64(bytes[i]);
	prefix->cut = n > KEY_BYTES && prefix->nwritten > prefix->nexact;
	return n <= KEY_BYTES && prefix->nexact == prefix->columns.nkeys;
}

Size
keyprefix_take_weights(KeyPrefix *prefix, Datum value, char *to)
{
	MemoryContext old = MemoryContextSwitchTo(prefix->scratch);
	Size		n = sortkey_prefix(&prefix->keys[prefix->nexact], value, false, to, WEIGHTS_BYTES);

	MemoryContextSwitchTo(old);
	MemoryContextReset(prefix->scratch);
	return Min(n, WEIGHTS_BYTES);
}

void
keyprefix_normalise(KeyPrefix *prefix, StringInfo out)
{
	MemoryContext old;

	resetStringInfo(out);
	if (prefix->fixed)
	{
		if (unlikely(out->maxlen <= (int) SORTKEY_WRITTEN * prefix->nexact))
			enlargeStringInfo(out, (int) SORTKEY_WRITTEN * prefix->nexact);
		out->len = (int) (write_fixed(prefix, out->data, out->data + out->maxlen) - out->data);
		return;
	}
	old = MemoryContextSwitchTo(prefix->scratch);
	for (int i = 0; i < prefix->nexact; i++)
	{
		bool		isnull;
		Datum		value = keyprefix_value(prefix, i, &isnull);

		sortkey_normalise(&prefix->keys[i], value, isnull, out);
	}
	MemoryContextSwitchTo(old);
	MemoryContextReset(prefix->scratch);
}
