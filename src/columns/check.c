/*
 * check.c: gpusort_columns_check and gpusort_columns_hash, for tests: the first answers through proof, held pages,
 * young pages and heap pages what the second answers with PostgreSQL's own scan.
 *
 *	SELECT count(*), sum(a), bit_xor(gpusort_columns_hash(a, b)) FROM t
 */
#include "postgres.h"

#include "access/table.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "nodes/nodeFuncs.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "kernels/common/check_hash.h"
#include "src/base/compat.h"
#include "codes.h"
#include "heap_pages.h"
#include "held_tables.h"
#include "lap.h"
#include "rows.h"

PG_FUNCTION_INFO_V1(gpusort_columns_check);
PG_FUNCTION_INFO_V1(gpusort_columns_hash);

#define RESULT_COLUMNS 11

/* A check in progress. */
typedef struct Check
{
	Relation	rel;
	Snapshot	snapshot;
	int			ncolumns;
	ColumnDescription *columns;
	bool		strings;		/* are among the columns */
	RowReader	reader;			/* of a page's rows */
	uint64		hashes[MaxHeapTuplesPerPage];	/* of the rows of the page at hand */
	uint64		rows;
	uint64		sum;			/* of the first column */
	uint64		hash;
	BlockNumber from_columns;
	BlockNumber young;
	BlockNumber undecided;
	BlockNumber from_table;
	double		prove_us;
	double		engine_us;
	double		heap_us;
	const char *why;			/* columns were not used; NULL: they were */
} Check;

/* Extends a row's hash by a value: of a string as by that of its bytes.  *low is what is added to a sum. */
static uint64
hash_value(const ColumnDescription *column, Datum value, bool isnull, uint64 hash, uint64 *low)
{
	const char *string;
	uint32		bytes;

	if (column->form != COLUMN_CODES || isnull)
		return column_hash(column, value, isnull, hash, low);
	(void) string_of_datum(getBaseType(column->type), -1, DatumGetPointer(value), &string, &bytes);
	*low = gsd_string_hash(string, bytes);
	return gs_check_mix(hash, *low, false);
}

/* Describes the named columns.  An error if one cannot be held. */
static void
read_columns(Check *check, ArrayType *names)
{
	Datum	   *elements;
	bool	   *nulls;

	deconstruct_array(names, TEXTOID, -1, false, TYPALIGN_INT, &elements, &nulls, &check->ncolumns);
	check->columns = palloc0(sizeof(ColumnDescription) * (check->ncolumns + 1));
	for (int i = 0; i < check->ncolumns; i++)
	{
		char	   *name = nulls[i] ? "NULL" : TextDatumGetCString(elements[i]);
		AttrNumber	number = nulls[i] ? InvalidAttrNumber : get_attnum(RelationGetRelid(check->rel), name);
		const char *why = column_describe(check->rel, number, false, &check->columns[i]);

		if (why)
			ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
							errmsg("column \"%s\" cannot be held: %s", name, why)));
	}
}

/* Prepares to read the rows of a page, unless they have strings, which are read one by one. */
static void
prepare_reader(Check *check)
{
	for (int i = 0; i < check->ncolumns; i++)
		check->strings = check->strings || check->columns[i].form == COLUMN_CODES;
	if (check->strings)
		return;
	row_reader_init(&check->reader, check->rel, check->columns, check->ncolumns);
	for (int i = 0; i < check->ncolumns; i++)
	{
		RowColumn  *column = &check->reader.columns[i];

		column->null_words = (MaxHeapTuplesPerPage + 63) / 64;
		column->values = palloc0(column->width * MaxHeapTuplesPerPage);
		column->nulls = palloc0_array(uint64, column->null_words);
	}
}

/* Returns true if a row that was read is NULL in a column. */
static inline bool
is_null(const RowColumn *column, int row)
{
	return column->has_nulls && (column->nulls[row / 64] >> (row % 64)) & 1;
}

/* Hashes the first rows that were read, column by column. */
static void
hash_rows(Check *check, int count)
{
	memset(check->hashes, 0, sizeof(uint64) * count);
	for (int i = 0; i < check->ncolumns; i++)
	{
		/* a column that is named twice is read once */
		const RowColumn *column = &check->reader.columns[check->reader.attributes[check->columns[i].number - 1].column];
		gs_type		type = (gs_type) column->description.gs;

		for (int half = 0; half < (type == GS_U128 ? 2 : 1); half++)
			for (int row = 0; row < count; row++)
			{
				bool		null = is_null(column, row);
				uint64		value = null ? 0 : gs_check_value(type, column->values, row, half);

				check->hashes[row] = gs_check_mix(check->hashes[row], value, null);
				check->sum += i == 0 && half == 0 ? value : 0;
			}
	}
	for (int row = 0; row < count; row++)
		check->hash ^= check->hashes[row];
}

/* Hashes a row with strings, or with a value that cannot be held. */
static uint64
hash_other_row(Check *check, HeapTuple tuple)
{
	uint64		hash = 0;

	for (int i = 0; i < check->ncolumns; i++)
	{
		bool		isnull;
		uint64		low;
		Datum		value = heap_getattr(tuple, check->columns[i].number, RelationGetDescr(check->rel), &isnull);

		hash = hash_value(&check->columns[i], value, isnull, hash, &low);
		if (i == 0)
			check->sum += low;
	}
	return hash;
}

/* Reads a page's rows one by one.  Returns the number of those that could be read; the others are hashed. */
static int
read_each(Check *check, const HeapPageRows *rows)
{
	int			nread = 0;

	for (int i = 0; i < rows->count; i++)
	{
		HeapTupleData tuple = {.t_data = rows->tuples[i], .t_tableOid = RelationGetRelid(check->rel)};

		if (row_read(&check->reader, tuple.t_data, (uint32) nread))
			nread++;
		else
		{
			row_forget(&check->reader, (uint32) nread, (uint32) nread + 1);
			check->hash ^= hash_other_row(check, &tuple);
		}
	}
	return nread;
}

/* Hashes a page's rows one by one. */
static void
hash_each(Check *check, const HeapPageRows *rows)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "gpusort strings", ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);

	for (int i = 0; i < rows->count; i++)
	{
		HeapTupleData tuple = {.t_data = rows->tuples[i], .t_tableOid = RelationGetRelid(check->rel)};

		check->hash ^= hash_other_row(check, &tuple);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}

/* Adds a page of the table. */
static bool
take_rows(const HeapPageRows *rows, void *arg)
{
	Check	   *check = arg;

	if (check->strings)
		hash_each(check, rows);
	else
	{
		row_forget(&check->reader, 0, MaxHeapTuplesPerPage);
		hash_rows(check, rows_read(&check->reader, rows->tuples, rows->count, 0) ? rows->count :
				  read_each(check, rows));
	}
	check->rows += (uint64) rows->count;
	return true;
}

/* Returns the columns' indexes in a held table, or NULL. */
static uint32 *
find_columns(Check *check, const HeldTable *table)
{
	uint32	   *indexes = palloc(sizeof(uint32) * (check->ncolumns + 1));

	for (int i = 0; i < check->ncolumns; i++)
	{
		int			index = held_column(table, check->rel, check->columns[i].number);

		if (index < 0)
		{
			check->why = "a column is not held";
			return NULL;
		}
		indexes[i] = (uint32) index;
	}
	return indexes;
}

/*
 * Answers what columns can.  Returns false with the reason if they are not used, and true with proof if the other pages
 * are left to the table.
 */
static bool
answer_from_columns(Check *check, ServiceLink *link, HeldTable *table, PageProof *proof)
{
	uint32	   *indexes = find_columns(check, table);
	instr_time	since;

	for (int attempt = 0; indexes != NULL && attempt < 3; attempt++)
	{
		StoreChecked answer;
		bool		stale = false;
		EngineFailure failure;

		INSTR_TIME_SET_CURRENT(since);
		if (!held_pages(link, table, check->rel, check->snapshot, proof, &check->why))
			return false;
		check->prove_us = lap_ms(&since) * 1000.0;
		check->why = NULL;
		if (store_check(link, table->table, proof->version, proof->proved, proof->nblocks, indexes,
						(uint32) check->ncolumns, &answer, &stale, &failure))
		{
			check->engine_us = lap_ms(&since) * 1000.0;
			check->rows += answer.rows;
			check->sum += answer.sum;
			check->hash ^= answer.hash;
			return answer.pages == proof->pages;
		}
		check->why = stale ? "the version was gone" : engine_failure_text(failure);
		if (!stale)
			return false;
	}
	return false;
}

/* Answers with all pages, from columns and from the table. */
static void
answer(Check *check)
{
	PageProof	proof = {0};
	EngineFailure failure = ENGINE_OK;
	ServiceLink *volatile link = NULL;
	HeldTable  *volatile table = NULL;
	volatile bool held = false;
	instr_time	since;

	check->why = proof_refused(check->rel, check->snapshot);
	if (check->why == NULL)
		check->why = columns_demand();
	if (check->why == NULL && (link = store_open(&failure)) == NULL)
		check->why = engine_failure_text(failure);
	if (link != NULL)
	{
		PG_TRY();
		{
			table = held_table(link, check->rel, &check->why);
			held = table != NULL && answer_from_columns(check, link, table, &proof);
		}
		PG_CATCH();
		{
			store_close(link);
			PG_RE_THROW();
		}
		PG_END_TRY();
		store_park(link);
	}
	if (!held)
	{
		check->rows = check->sum = check->hash = 0;
		proof.nblocks = RelationGetNumberOfBlocks(check->rel);
		proof.proved = palloc0(((Size) proof.nblocks / 64 + 1) * sizeof(uint64));
		proof.pages = proof.young = proof.undecided = 0;
	}
	check->from_columns = proof.pages;
	check->young = proof.young;
	check->undecided = proof.undecided;
	INSTR_TIME_SET_CURRENT(since);
	check->from_table = heap_unproved_rows(check->rel, check->snapshot, &proof, held ? &table->map : NULL, take_rows,
										   check);
	check->heap_us = lap_ms(&since) * 1000.0;
	/* undecided pages would be the same after another load */
	if (held && check->from_table > check->undecided)
		columns_hurry();
}

/* gpusort_columns_check(regclass, text[]) */
Datum
gpusort_columns_check(PG_FUNCTION_ARGS)
{
	Check		check = {0};
	TupleDesc	desc;
	Datum		values[RESULT_COLUMNS];
	bool		nulls[RESULT_COLUMNS] = {false};

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	check.rel = table_open(PG_GETARG_OID(0), AccessShareLock);
	check.snapshot = GetActiveSnapshot();
	read_columns(&check, PG_GETARG_ARRAYTYPE_P(1));
	prepare_reader(&check);
	answer(&check);
	table_close(check.rel, NoLock);
	values[0] = Int64GetDatum((int64) check.rows);
	values[1] = Int64GetDatum((int64) check.sum);
	values[2] = Int64GetDatum((int64) check.hash);
	values[3] = Int64GetDatum(check.from_columns);
	values[4] = Int64GetDatum(check.young);
	values[5] = Int64GetDatum(check.undecided);
	values[6] = Int64GetDatum(check.from_table);
	values[7] = Float8GetDatum(check.prove_us);
	values[8] = Float8GetDatum(check.engine_us);
	values[9] = Float8GetDatum(check.heap_us);
	nulls[10] = check.why == NULL;
	if (check.why)
		values[10] = CStringGetTextDatum(check.why);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(desc), values, nulls)));
}

/* gpusort_columns_hash(VARIADIC "any"): the hash of one row. */
Datum
gpusort_columns_hash(PG_FUNCTION_ARGS)
{
	ColumnDescription *columns = fcinfo->flinfo->fn_extra;
	uint64		hash = 0;

	if (columns == NULL)
	{
		List	   *arguments = fcinfo->flinfo->fn_expr ? ((FuncExpr *) fcinfo->flinfo->fn_expr)->args : NIL;

		columns = MemoryContextAllocZero(fcinfo->flinfo->fn_mcxt, sizeof(ColumnDescription) * (PG_NARGS() + 1));
		for (int i = 0; i < PG_NARGS(); i++)
		{
			const Node *argument = list_nth(arguments, i);
			const char *why = column_describe_type(exprType(argument), exprTypmod(argument), &columns[i]);

			if (why)
				ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
								errmsg("argument %d has no hash of a column: %s", i + 1, why)));
		}
		fcinfo->flinfo->fn_extra = columns;
	}
	for (int i = 0; i < PG_NARGS(); i++)
	{
		uint64		low;

		hash = hash_value(&columns[i], PG_ARGISNULL(i) ? 0 : PG_GETARG_DATUM(i), PG_ARGISNULL(i), hash, &low);
	}
	PG_RETURN_INT64((int64) hash);
}
