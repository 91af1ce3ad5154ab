/*
 * vectorsort.c: orders vectors without an exact encoding by a sorter, as GpuSort nodes do.
 */
#include "postgres.h"

#include "catalog/pg_operator_d.h"
#include "catalog/pg_type_d.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "src/base/compat.h"
#include "src/core/sorter.h"
#include "vectorcompare.h"

/* Describes rows of all columns plus a row number. */
static TupleDesc
describe_rows(const VectorColumn *columns, int ncolumns)
{
	TupleDesc	desc = CreateTemplateTupleDesc(ncolumns + 1);

	for (int i = 0; i < ncolumns; i++)
		TupleDescInitEntry(desc, (AttrNumber) (i + 1), NULL, columns[i].values->type->type, -1, 0);
	TupleDescInitEntry(desc, (AttrNumber) (ncolumns + 1), NULL, INT8OID, -1, 0);
	finish_descriptor(desc);
	return desc;
}

/* Describes the sort: by all columns, then by row number, which keeps it stable whoever sorts. */
static SortColumns
describe_keys(const VectorColumn *columns, int ncolumns)
{
	SortColumns keys = {.nkeys = ncolumns + 1};

	keys.attnos = palloc(sizeof(AttrNumber) * keys.nkeys);
	keys.sortops = palloc(sizeof(Oid) * keys.nkeys);
	keys.collations = palloc0(sizeof(Oid) * keys.nkeys);
	keys.nulls_first = palloc0(sizeof(bool) * keys.nkeys);
	for (int i = 0; i < keys.nkeys; i++)
		keys.attnos[i] = (AttrNumber) (i + 1);
	for (int i = 0; i < ncolumns; i++)
	{
		keys.sortops[i] = vectorcompare_operator(&columns[i]);
		keys.collations[i] = columns[i].collation;
		keys.nulls_first[i] = columns[i].nulls_first;
	}
	keys.sortops[ncolumns] = Int8LessOperator;
	return keys;
}

/* Puts all rows into the sorter. */
static void
put_rows(Sorter *sorter, TupleTableSlot *slot, const VectorColumn *columns, int ncolumns)
{
	for (uint64 row = 0; row < columns[0].values->rows; row++)
	{
		CHECK_FOR_INTERRUPTS();
		ExecClearTuple(slot);
		for (int i = 0; i < ncolumns; i++)
			slot->tts_values[i] = vector_get(columns[i].values, row, &slot->tts_isnull[i]);
		slot->tts_values[ncolumns] = Int64GetDatum((int64) row);
		slot->tts_isnull[ncolumns] = false;
		ExecStoreVirtualTuple(slot);
		sorter_put(sorter, slot);
	}
	ExecClearTuple(slot);
}

void
vectorsort_order(const VectorColumn *columns, int ncolumns, uint32 *order)
{
	MemoryContext cxt = AllocSetContextCreate(CurrentMemoryContext, "gpusort vectors", ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(cxt);
	uint64		rows = columns[0].values->rows;
	TupleDesc	desc = describe_rows(columns, ncolumns);
	SortColumns keys = describe_keys(columns, ncolumns);
	TupleTableSlot *in = MakeSingleTupleTableSlot(desc, &TTSOpsVirtual);
	TupleTableSlot *out = MakeSingleTupleTableSlot(desc, &TTSOpsMinimalTuple);
	Sorter	   *sorter = sorter_begin(&keys, desc, false, (double) rows, SORTER_OURS, 0);

	put_rows(sorter, in, columns, ncolumns);
	sorter_finish(sorter);
	for (uint64 i = 0; i < rows; i++)
	{
		bool		isnull;

		CHECK_FOR_INTERRUPTS();
		order[i] = (uint32) DatumGetInt64(slot_getattr(sorter_get(sorter, true, out), ncolumns + 1, &isnull));
	}
	ExecDropSingleTupleTableSlot(in);
	ExecDropSingleTupleTableSlot(out);
	sorter_end(sorter);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(cxt);
}
