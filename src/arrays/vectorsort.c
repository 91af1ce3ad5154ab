/*
 * vectorsort.c: a sort of rows of values, without an exact encoding or beyond the memory limit, as GpuSort does it.
 */
#include "postgres.h"

#include "catalog/pg_operator_d.h"
#include "catalog/pg_type_d.h"
#include "miscadmin.h"

#include "src/base/compat.h"
#include "vectorsort.h"

/* Describes the rows. */
static TupleDesc
describe_rows(const VectorSort *sort, const VectorColumn *columns)
{
	TupleDesc	desc = CreateTemplateTupleDesc(sort->ncolumns + (sort->numbered ? 1 : 0));

	for (int i = 0; i < sort->ncolumns; i++)
		TupleDescInitEntry(desc, (AttrNumber) (i + 1), NULL, columns[i].values->type->type, -1, 0);
	if (sort->numbered)
		TupleDescInitEntry(desc, (AttrNumber) desc->natts, NULL, INT8OID, -1, 0);
	finish_descriptor(desc);
	return desc;
}

/* Describes the keys: the first columns, and the row number. */
static SortColumns
describe_keys(const VectorSort *sort, const VectorColumn *columns, const Oid *sortops, int nkeys)
{
	SortColumns keys = {.nkeys = nkeys + (sort->numbered ? 1 : 0)};

	keys.attnos = palloc(sizeof(AttrNumber) * keys.nkeys);
	keys.sortops = palloc(sizeof(Oid) * keys.nkeys);
	keys.collations = palloc0(sizeof(Oid) * keys.nkeys);
	keys.nulls_first = palloc0(sizeof(bool) * keys.nkeys);
	for (int i = 0; i < nkeys; i++)
	{
		keys.attnos[i] = (AttrNumber) (i + 1);
		keys.sortops[i] = sortops[i];
		keys.collations[i] = columns[i].collation;
		keys.nulls_first[i] = columns[i].nulls_first;
	}
	if (sort->numbered)
	{
		keys.attnos[nkeys] = (AttrNumber) (sort->ncolumns + 1);
		keys.sortops[nkeys] = Int8LessOperator;
	}
	return keys;
}

VectorSort *
vectorsort_begin(const VectorColumn *columns, int ncolumns, const Oid *sortops, int nkeys, bool numbered,
				 bool rescan, double rows_expected)
{
	VectorSort *sort = palloc0(sizeof(VectorSort));
	TupleDesc	desc;

	sort->ncolumns = ncolumns;
	sort->numbered = numbered;
	desc = describe_rows(sort, columns);
	sort->keys = describe_keys(sort, columns, sortops, nkeys);
	sort->sorter = sorter_begin(&sort->keys, desc, rescan, rows_expected, SORTER_OURS, 0);
	sort->in = MakeSingleTupleTableSlot(desc, &TTSOpsVirtual);
	sort->out = MakeSingleTupleTableSlot(desc, &TTSOpsMinimalTuple);
	return sort;
}

void
vectorsort_put(VectorSort *sort, const NullableDatum *row)
{
	if (sort->sorted)
		elog(ERROR, "a row came after a group's end");
	ExecClearTuple(sort->in);
	for (int i = 0; i < sort->ncolumns; i++)
	{
		sort->in->tts_values[i] = row[i].value;
		sort->in->tts_isnull[i] = row[i].isnull;
	}
	if (sort->numbered)
	{
		sort->in->tts_values[sort->ncolumns] = Int64GetDatum((int64) sort->rows);
		sort->in->tts_isnull[sort->ncolumns] = false;
	}
	ExecStoreVirtualTuple(sort->in);
	sorter_put(sort->sorter, sort->in);
	sort->rows++;
}

void
vectorsort_put_vectors(VectorSort *sort, const VectorColumn *columns)
{
	NullableDatum *row = palloc(sizeof(NullableDatum) * sort->ncolumns);

	for (uint64 number = 0; number < columns[0].values->rows; number++)
	{
		CHECK_FOR_INTERRUPTS();
		for (int i = 0; i < sort->ncolumns; i++)
			row[i].value = vector_get(columns[i].values, number, &row[i].isnull);
		vectorsort_put(sort, row);
	}
	ExecClearTuple(sort->in);
	pfree(row);
}

void
vectorsort_rewind(VectorSort *sort)
{
	if (sort->sorted)
		sorter_rewind(sort->sorter);
	else
		sorter_finish(sort->sorter);
	sort->sorted = true;
}

TupleTableSlot *
vectorsort_next(VectorSort *sort)
{
	CHECK_FOR_INTERRUPTS();
	return sorter_get(sort->sorter, true, sort->out);
}

void
vectorsort_end(VectorSort *sort)
{
	ExecDropSingleTupleTableSlot(sort->in);
	ExecDropSingleTupleTableSlot(sort->out);
	sorter_end(sort->sorter);
}
