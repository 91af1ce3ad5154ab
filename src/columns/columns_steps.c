/*
 * columns_steps.c: a query over columns as a list of steps, with the constants of one scan.
 */
#include "postgres.h"

#include "catalog/pg_type_d.h"
#include "common/int.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "kernels/common/steps_row.h"
#include "src/base/compat.h"
#include "columns_computed.h"
#include "columns_expressions.h"
#include "columns_filter.h"
#include "columns_steps.h"
#include "columns_windows.h"
#include "decimal.h"

/* Writes the header. */
static void
put_header(StepsWriter *writer, const ColumnsQuery *query)
{
	Size		ncolumns = (Size) (query->ncolumns + query->positions + query->ncomputed + query->nfunctions);
	gs_steps   *steps = (gs_steps *) (writer->data + steps_reserve(writer, sizeof(gs_steps) + ncolumns));

	steps->magic = GS_STEPS_MAGIC;
	steps->ncolumns = (uint32) query->ncolumns + query->positions;
	for (int i = 0; i < query->ncolumns; i++)
		steps->types[i] = (uint8) query->columns[i].gs;
	steps->ngiven = computed_put_types(query, steps->types) + windows_put_types(query, steps->types);
	steps->first = (uint32) writer->bytes;
}

/* ---------------------------------------------------------------- groups */

/*
 * Reads the fractions of a request for ranks that are not NULL.  Returns NULL, or why PostgreSQL has to look at them.
 */
static const char *
read_fractions(const QueryRequest *request, const QueryValues *values, double **fractions, int *count)
{
	Datum		value = values->values[request->fraction];
	Datum	   *given = &value;
	bool		null = values->nulls[request->fraction];
	bool	   *nulls = &null;
	int			ngiven = 1;

	if (request->fraction_type != FLOAT8OID && !null)
		deconstruct_array(DatumGetArrayTypeP(value), FLOAT8OID, sizeof(float8), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE,
						  &given, &nulls, &ngiven);
	*fractions = palloc_array(double, ngiven + 1);
	*count = 0;
	for (int i = 0; i < ngiven; i++)
	{
		if (nulls[i])
			continue;
		(*fractions)[*count] = DatumGetFloat8(given[i]);
		if (!((*fractions)[*count] >= 0 && (*fractions)[*count] <= 1))
			return "a fraction is not between 0 and 1";
		(*count)++;
	}
	return NULL;
}

/* The aggregates of a list, before they are written; what they refer to is written behind them. */
typedef struct Aggregates
{
	int			count;
	gs_aggregate list[GS_STEPS_MAX_AGGREGATES];
} Aggregates;

/*
 * Adds the aggregates of a request for ranks, which share code and terms: one for each fraction, or two where a
 * percentile may lie between two values.  Without fractions values are counted.
 */
static const char *
add_ranks(const QueryRequest *request, const QueryValues *values, gs_aggregate aggregate, Aggregates *all)
{
	int			pair = request->operation == GS_RANK_FLOOR ? 2 : 1;
	double	   *fractions;
	int			count;
	const char *why = read_fractions(request, values, &fractions, &count);

	if (why != NULL)
		return why;
	aggregate.operation = (uint32) (count == 0 ? GS_COUNT : request->operation);
	for (int i = 0; i < Max(count * pair, 1); i++)
	{
		if (i % pair == 1)
			aggregate.operation = GS_RANK_CEIL;
		else if (count > 0)
			aggregate.operation = (uint32) request->operation;
		aggregate.fraction = count > 0 ? fractions[i / pair] : 0;
		all->list[all->count++] = aggregate;
	}
	return NULL;
}

/*
 * Adds the aggregates of a request.  One of a NULL constant counts rows instead, and its answer is not looked at.
 */
static const char *
add_aggregates(StepsWriter *writer, const ColumnsQuery *query, const QueryValues *values, int index,
			   ColumnsSteps *steps, Aggregates *all)
{
	const QueryRequest *request = &query->requests[index];
	PutExpression put = {0};
	gs_aggregate aggregate = {0};
	const char *why = NULL;

	if (request->argument != NULL)
		why = expressions_put(writer, query, values, request, &aggregate, &put);
	if (why == NULL && request->terms.count > 0)
		why = filter_put_terms(writer, query, &request->terms, values, &aggregate.terms, &aggregate.nterms);
	steps->scales[index] = put.scale;
	steps->first[index] = all->count;
	steps->all_null[index] = put.all_null || (request->fraction >= 0 && values->nulls[request->fraction]);
	if (why != NULL)
		return why;
	if (request->fraction >= 0)
		return add_ranks(request, values, aggregate, all);
	aggregate.operation = (uint32) (put.all_null ? GS_COUNT : request->operation);
	all->list[all->count++] = aggregate;
	return NULL;
}

/* Returns how many aggregates a list will have, or why it cannot be made. */
static const char *
count_aggregates(const ColumnsQuery *query, const QueryValues *values, int *count)
{
	*count = 0;
	for (int i = 0; i < query->nrequests; i++)
	{
		const QueryRequest *request = &query->requests[i];
		double	   *fractions;
		int			nfractions = 1;
		const char *why = request->fraction < 0 ? NULL : read_fractions(request, values, &fractions, &nfractions);

		if (why != NULL)
			return why;
		*count += Max(request->operation == GS_RANK_FLOOR ? 2 * nfractions : nfractions, 1);
	}
	return *count <= (int) GS_STEPS_MAX_AGGREGATES ? NULL : "it has too many aggregates";
}

/* Writes the keys and aggregates. */
static const char *
put_group(StepsWriter *writer, const ColumnsQuery *query, const QueryValues *values, ColumnsSteps *steps)
{
	Aggregates	all = {0};
	gs_group_step *step;
	uint32		keys[GS_STEPS_MAX_KEYS];
	uint32		offset;
	int			count;
	const char *why = count_aggregates(query, values, &count);

	if (why != NULL)
		return why;
	offset = steps_begin(writer, GS_STEP_GROUP, sizeof(gs_group_step) + sizeof(gs_aggregate) * (Size) count);
	step = (gs_group_step *) (writer->data + offset);
	if (writer->full)
		return NULL;
	step->naggregates = (uint32) count;
	step->nkeys = (uint32) query->nkeys;
	for (int i = 0; i < query->nkeys; i++)
		keys[i] = windows_list_column(query, query->keys[i]);
	if (query->nkeys > 0)
		step->keys = steps_put(writer, keys, sizeof(uint32) * (Size) query->nkeys);
	for (int i = 0; i < query->nrequests && why == NULL; i++)
		why = add_aggregates(writer, query, values, i, steps, &all);
	memcpy(step->aggregates, all.list, sizeof(gs_aggregate) * (Size) all.count);
	steps_end(writer, offset);
	return why;
}

/* ---------------------------------------------------------------- what follows groups */

/* Describes a request's values, for constants that they are compared with. */
static void
describe_request(const QueryRequest *request, int scale, ColumnDescription *description)
{
	bool		counts = request->operation == GS_COUNT || request->operation == GS_DISTINCT;

	if (!counts && (request->operation == GS_SUM || getBaseType(request->type) == NUMERICOID))
		(void) column_describe_type(NUMERICOID, ((DECIMAL_MAX_POWER << 16) | scale) + VARHDRSZ, description);
	else
		(void) column_describe_type(counts ? INT8OID : request->type, -1, description);
}

/* Returns the member of a group that an order or a term of HAVING names. */
static int
member_of(const ColumnsQuery *query, const ColumnsSteps *steps, int index)
{
	return index < query->nkeys ? index : query->nkeys + steps->first[index - query->nkeys];
}

/* Writes HAVING. */
static const char *
put_having(StepsWriter *writer, const ColumnsQuery *query, const QueryValues *values, const ColumnsSteps *steps)
{
	int			count = query->nkeys + query->nrequests;
	ColumnDescription *subjects = palloc_array(ColumnDescription, count + 1);
	Filter		filter;
	const char *why;

	for (int i = 0; i < count; i++)
		if (i < query->nkeys)
			subjects[i] = query->columns[query->keys[i]];
		else
			describe_request(&query->requests[i - query->nkeys], steps->scales[i - query->nkeys], &subjects[i]);
	why = filter_members(&query->having, subjects, count, values, &filter);
	if (why != NULL)
		return why;
	for (int i = 0; i < filter.nterms; i++)
	{
		int			subject = filter.terms[i].column;

		if (subject >= query->nkeys && steps->all_null[subject - query->nkeys])
			return "a condition is about an aggregate of NULL";
		filter.terms[i].column = member_of(query, steps, subject);
	}
	filter_put(writer, GS_STEP_HAVING, &filter);
	return NULL;
}

/* Returns the number of groups that LIMIT and OFFSET want; 0: all, or PostgreSQL raises an error. */
static uint64
wanted_groups(const ColumnsQuery *query, const QueryValues *values)
{
	int64		offset = 0;
	int64		wanted;

	if (query->limit < 0 || values->nulls[query->limit])
		return 0;
	if (query->offset >= 0 && !values->nulls[query->offset])
		offset = DatumGetInt64(values->values[query->offset]);
	wanted = DatumGetInt64(values->values[query->limit]);
	if (wanted < 0 || offset < 0 || pg_add_s64_overflow(wanted, offset, &wanted))
		return 0;
	return (uint64) Max(wanted, 1);
}

/* Writes TOP. */
static const char *
put_top(StepsWriter *writer, const ColumnsQuery *query, const ColumnsSteps *steps, uint64 limit)
{
	uint32		offset = steps_begin(writer, GS_STEP_TOP,
									sizeof(gs_top_step) + sizeof(gs_top_order) * (Size) query->norders);
	gs_top_step *top = (gs_top_step *) (writer->data + offset);

	if (writer->full)
		return NULL;
	top->limit = limit;
	top->norders = (uint32) query->norders;
	for (int i = 0; i < query->norders; i++)
	{
		const QueryOrder *order = &query->orders[i];

		if (order->member >= query->nkeys && steps->all_null[order->member - query->nkeys])
			return "its order is by an aggregate of NULL";
		top->orders[i] = (gs_top_order) {(uint32) member_of(query, steps, order->member), order->descending,
		order->nulls_first, 0};
	}
	steps_end(writer, offset);
	return NULL;
}

/* Writes ROWS. */
static void
put_rows(StepsWriter *writer, const ColumnsQuery *query)
{
	uint32		offset = steps_begin(writer, GS_STEP_ROWS,
									 sizeof(gs_rows_step) + sizeof(gs_row_order) * (Size) query->norders);
	gs_rows_step *rows = (gs_rows_step *) (writer->data + offset);

	if (writer->full)
		return;
	rows->norders = (uint32) query->norders;
	rows->offset = query->first_row;
	rows->limit = query->most_rows;
	for (int i = 0; i < query->norders; i++)
		rows->orders[i] = (gs_row_order) {(uint32) query->orders[i].member, query->orders[i].descending,
		query->orders[i].nulls_first, 0};
	steps_end(writer, offset);
}

/* Writes GROUP and what follows it. */
static const char *
put_groups(StepsWriter *writer, const ColumnsQuery *query, const QueryValues *values, ColumnsSteps *steps)
{
	uint64		limit = wanted_groups(query, values);
	const char *why = put_group(writer, query, values, steps);

	if (why == NULL && query->having.count > 0)
		why = put_having(writer, query, values, steps);
	if (why == NULL && limit > 0)
		why = put_top(writer, query, steps, limit);
	return why;
}

/* Writes conditions of rows. */
static const char *
put_conditions(StepsWriter *writer, const ColumnsQuery *query, const QueryTerms *terms, const QueryValues *values)
{
	Filter		filter;
	const char *why = filter_rows(query, terms, values, &filter);

	if (why == NULL && filter.nterms > 0)
		filter_put(writer, GS_STEP_FILTER, &filter);
	return why;
}

/* Writes all steps. */
static const char *
put_steps(StepsWriter *writer, const ColumnsQuery *query, const QueryValues *values, ColumnsSteps *steps)
{
	const char *why;

	put_header(writer, query);
	why = computed_put(writer, query, values);
	if (why == NULL)
		why = put_conditions(writer, query, &query->where, values);
	windows_put(writer, query);
	if (why == NULL)
		why = put_conditions(writer, query, &query->above, values);
	if (why == NULL && !query->rows)
		return put_groups(writer, query, values, steps);
	if (why == NULL)
		put_rows(writer, query);
	return why;
}

const char *
columns_steps(const ColumnsQuery *query, const QueryValues *values, ColumnsSteps *steps)
{
	StepsWriter writer = {.data = palloc(GS_STEPS_MAX_BYTES)};
	const char *why = put_steps(&writer, query, values, steps);

	if (why == NULL && writer.full)
		why = "its constants are too many";
	/* many lists may be made before their context ends */
	steps->steps = repalloc(writer.data, writer.bytes);
	steps->steps->bytes = (uint32) writer.bytes;
	return why;
}
