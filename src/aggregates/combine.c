/*
 * combine.c: deserializes and combines states from parallel workers or partitions.  Bytes are parsed when they are
 * combined, since types are known only then; the deserialize function just passes them on.  They are not trusted:
 * anything that is not a valid state raises an error.
 */
#include "postgres.h"

#include <math.h>

#include "mb/pg_wchar.h"
#include "miscadmin.h"
#include "nodes/execnodes.h"

#include "partial.h"
#include "src/base/compat.h"
#include "src/base/sql_function.h"
#include "sorted_runs.h"
#include "statefile.h"

PG_FUNCTION_INFO_V1(gpusort_deserialize);

/* A serialized state before it is combined.  The member that corresponds to Collected's call is NULL. */
typedef struct StateBytes
{
	CollectCall *call;
	ByteSource	source;
} StateBytes;

/* Kind of an aggregate's states. */
typedef struct StateKind
{
	int			ncolumns;
	int			key;			/* the sort argument */
	int			flags;			/* as in CollectCall */
	bool		nulls;
	bool		fraction;
} StateKind;

static const StateKind kind_all = {.ncolumns = 1, .flags = COLLECT_STABLE, .nulls = true};
static const StateKind kind_values = {.ncolumns = 1};
static const StateKind kind_fraction = {.ncolumns = 1, .flags = COLLECT_STABLE, .fraction = true};
static const StateKind kind_numbers = {.ncolumns = 1, .flags = COLLECT_DOUBLES};
static const StateKind kind_numbers_fraction = {
	.ncolumns = 1, .flags = COLLECT_STABLE | COLLECT_DOUBLES, .fraction = true
};
static const StateKind kind_pairs = {.ncolumns = 2, .key = 1, .flags = COLLECT_STABLE, .nulls = true};

/* Deserialize function: passes bytes to the combine function, which is called next, while the argument still exists. */
Datum
gpusort_deserialize(PG_FUNCTION_ARGS)
{
	bytea	   *bytes = PG_GETARG_BYTEA_PP(0);
	StateBytes *state = palloc(sizeof(StateBytes));

	state->call = NULL;
	state->source.at = VARDATA_ANY(bytes);
	state->source.end = state->source.at + VARSIZE_ANY_EXHDR(bytes);
	PG_RETURN_POINTER(state);
}

/* Checks the header of a state with columns of these forms, of the given size. */
static void
check_header(const StateHeader *header, const StateKind *kind, const ValueForm *forms, const VectorType *types,
			 Size bytes)
{
	bool		runs = header->content == STATE_RUNS && kind->ncolumns == 2;
	Size		least = 0;

	if (header->version != (runs ? STATE_VERSION_RUNS : STATE_VERSION) || header->byte_order != BYTE_ORDER_MARK)
		valueform_broken("It is of another version, or of a machine with another byte order.");
	if (header->encoding != GetDatabaseEncoding())
		valueform_broken("Its text has another encoding than the database.");
	if (header->ncolumns != kind->ncolumns)
		valueform_broken("It is of another aggregate.");
	if (!runs && header->content != STATE_ROWS)
		valueform_broken("Its rows are in a form that this aggregate has not.");
	if (runs && (header->columns[0].nullable != 0 || header->columns[0].how != VALUE_FIXED || !types[0].byval ||
				 types[0].stride != forms[0].width))
		valueform_broken("Its keys have no order.");
	for (int i = 0; i < kind->ncolumns; i++)
	{
		if (header->columns[i].how != forms[i].how || header->columns[i].width != forms[i].width)
			valueform_broken("Its values are of another type.");
		if (header->columns[i].nullable > 1)
			valueform_broken("A flag is neither set nor clear.");
		/* runs have fewer values than keys */
		if (!runs || i == 0)
			least += header->columns[i].nullable ? 1 : valueform_least(&forms[i]);
	}
	if (kind->fraction ? header->fraction < 0 || header->fraction > 1 : header->fraction != 0)
		valueform_broken("Its fraction is out of range.");
	if (header->rows > bytes / least || (header->rows == 0 && !kind->fraction))
		valueform_broken("It has another number of rows.");
}

/* Parses a column's value. */
static inline void
get_value(ByteSource *source, ValueForm *form, bool nullable, bool may_be_null, NullableDatum *value)
{
	value->isnull = false;
	if (nullable)
	{
		uint8		flag = (uint8) *take_bytes(source, 1);

		if (flag > 1 || (flag == 1 && !may_be_null))
			valueform_broken("A value is NULL that cannot be.");
		value->isnull = flag == 1;
	}
	value->value = value->isnull ? (Datum) 0 : valueform_get(form, source);
}

/* Adds a row to a state. */
static inline void
take_row(FunctionCallInfo fcinfo, Collected *state, const NullableDatum *row)
{
	if (state->call->ncolumns == 1)
		collect_put(fcinfo, state, row);
	else
		collect_put_pair(fcinfo, state, row);
}

/* Adds fixed-width values in bulk until the state spills.  Returns how many. */
static uint64
take_fixed(FunctionCallInfo fcinfo, Collected *state, ValueForm *form, uint64 rows, ByteSource *source)
{
	uint64		done = 0;

	while (done < rows && state->spill == NULL)
	{
		/* more at a time are bytes that there are not */
		uint64		n = Min(rows - done, PARTIAL_BLOCK);
		const char *values = take_bytes(source, n * form->width);
		uint64		put = vector_append_fixed(&state->columns[0], values, n);
		ByteSource	rest = {values + put * form->width, values + n * form->width};

		CHECK_FOR_INTERRUPTS();
		for (; put < n; put++)
		{
			NullableDatum value = {.value = valueform_get(form, &rest)};

			collect_put(fcinfo, state, &value);
		}
		done += n;
	}
	return done;
}

/* Adds varying-width values to their vector while they fit.  Returns how many. */
static uint64
take_varying(Collected *state, ValueForm *form, uint64 rows, ByteSource *source)
{
	Vector	   *vector = &state->columns[0];

	for (uint64 i = 0; i < rows; i++)
	{
		ByteSource	before = *source;
		Size		length;
		const char *data = valueform_get_bytes(form, source, &length);

		if (i % PARTIAL_BLOCK == 0)
			CHECK_FOR_INTERRUPTS();
		if (!vector_append_bytes(vector, data, length))
		{
			*source = before;
			return i;
		}
	}
	return rows;
}

/* Adds pairs of a fixed-width key and a varying-width value to their vectors while they fit.  Returns how many. */
static uint64
take_pairs(Collected *state, ValueForm *forms, uint64 rows, ByteSource *source)
{
	for (uint64 i = 0; i < rows; i++)
	{
		ByteSource	before = *source;
		Datum		key = valueform_get(&forms[0], source);
		Size		length;
		const char *data = valueform_get_bytes(&forms[1], source, &length);
		bool		key_fits = vector_append(&state->columns[0], key, false);

		if (i % PARTIAL_BLOCK == 0)
			CHECK_FOR_INTERRUPTS();
		if (key_fits && vector_append_bytes(&state->columns[1], data, length))
			continue;
		if (key_fits)
			vector_drop_last(&state->columns[0]);
		*source = before;
		return i;
	}
	return rows;
}

/* Returns true if no row that a header announces has a NULL. */
static bool
has_no_nulls(const StateHeader *header)
{
	for (int i = 0; i < header->ncolumns; i++)
		if (header->columns[i].nullable)
			return false;
	return true;
}

/* Adds runs of pairs, whose keys are in order, to a state: as a piece of it, or as rows where it has others. */
static void
take_runs(FunctionCallInfo fcinfo, Collected *state, const StateHeader *header, ByteSource *source)
{
	ValueForm  *forms = state->call->forms;
	NullableDatum row[2] = {0};
	uint32		length;

	if (!sortedruns_begin_piece(state))
		Assert(state->runs == NULL);
	for (uint64 done = 0; done < header->rows; done += length)
	{
		ByteSource	keys;
		uint64		put = 0;

		CHECK_FOR_INTERRUPTS();
		get_value(source, &forms[1], header->columns[1].nullable, true, &row[1]);
		memcpy(&length, take_bytes(source, sizeof(length)), sizeof(length));
		if (length == 0 || length > header->rows - done)
			valueform_broken("A run has a length that cannot be.");
		keys.at = take_bytes(source, (Size) length * forms[0].width);
		keys.end = source->at;
		if (state->runs != NULL)
		{
			put = sortedruns_put(state, &row[1], keys.at, length);
			if (put < length)
				sortedruns_expand(fcinfo, state);
			keys.at += put * forms[0].width;
		}
		for (; put < length; put++)
		{
			row[0].value = valueform_get(&forms[0], &keys);
			collect_put_pair(fcinfo, state, row);
		}
	}
}

/* Adds all rows of the bytes to a state. */
static void
take_rows(FunctionCallInfo fcinfo, Collected *state, const StateKind *kind, const StateHeader *header,
		  ByteSource *source)
{
	ValueForm  *forms = state->call->forms;
	NullableDatum row[COLLECT_MAX_COLUMNS];
	uint64		done = 0;

	if (header->content == STATE_RUNS)
	{
		take_runs(fcinfo, state, header, source);
		done = header->rows;
	}
	else if (kind->ncolumns == 2 && state->runs != NULL)
		sortedruns_expand(fcinfo, state);
	if (done == 0 && has_no_nulls(header) && state->spill == NULL)
	{
		if (kind->ncolumns == 2)
		{
			if (forms[0].how == VALUE_FIXED && valueform_is_bytes(&forms[1]))
				done = take_pairs(state, forms, header->rows, source);
		}
		else if (forms[0].how == VALUE_FIXED && forms[0].width == state->call->types[0].stride)
			done = take_fixed(fcinfo, state, &forms[0], header->rows, source);
		else if (valueform_is_bytes(&forms[0]))
			done = take_varying(state, &forms[0], header->rows, source);
	}
	for (uint64 i = done; i < header->rows; i++)
	{
		if (i % PARTIAL_BLOCK == 0)
			CHECK_FOR_INTERRUPTS();
		for (int c = 0; c < kind->ncolumns; c++)
			get_value(source, &forms[c], header->columns[c].nullable, kind->nulls, &row[c]);
		take_row(fcinfo, state, row);
	}
	if (source->at != source->end)
		valueform_broken("There are bytes left behind its last row.");
}

static void take_state(FunctionCallInfo fcinfo, Collected *state, const StateKind *kind, ByteSource source, bool first,
					   bool from_file);

/* Returns true if a combining node reads each state once: no node in between, such as a sort, may return it again. */
static bool
taken_once(const AggState *node)
{
	const PlanState *below = outerPlanState(node);

	while (IsA(below, GatherState) || IsA(below, GatherMergeState))
		below = outerPlanState(below);
	return node->aggstrategy == AGG_PLAIN || IsA(below, AggState);
}

/* Adds the pieces of a file, each of which is a state. */
static void
take_file(FunctionCallInfo fcinfo, Collected *state, const StateKind *kind, ByteSource *source, bool first)
{
	AggState   *node = castNode(AggState, fcinfo->context);
	StringInfoData piece;
	StatePlace	place;
	StateFile  *file;

	memcpy(&place, take_bytes(source, sizeof(place)), sizeof(place));
	file = statefile_open(&place);
	initStringInfo(&piece);
	for (; statefile_get(file, &piece); first = false)
		take_state(fcinfo, state, kind, (ByteSource) {piece.data, piece.data + piece.len}, first, true);
	if (taken_once(node))
		statefile_delete(file);
	else
		statefile_keep(file, &state->call->files, node->ss.ps.state);
	pfree(piece.data);
}

/* Adds a serialized state to another one. */
static void
take_state(FunctionCallInfo fcinfo, Collected *state, const StateKind *kind, ByteSource source, bool first,
		   bool from_file)
{
	const char *bytes = source.at;
	StateHeader header;
	ValueForm  *forms = partial_forms(state->call);

	memcpy(&header, take_bytes(&source, sizeof(header)), sizeof(header));
	if (header.seal != partial_seal(state->call, bytes, (Size) (source.end - bytes)))
		valueform_broken("It was written by another server or in another session, or changed since.");
	if (header.content == STATE_IN_FILE && !from_file)
	{
		take_file(fcinfo, state, kind, &source, first);
		return;
	}
	check_header(&header, kind, forms, state->call->types, (Size) (source.end - source.at));
	if (kind->fraction)
		collect_set_fraction(state, header.fraction, first);
	take_rows(fcinfo, state, kind, &header, &source);
}

/* Combines the state in argument 1 into that of argument 0, which is created if needed. */
static Datum
combine(FunctionCallInfo fcinfo, const StateKind *kind)
{
	StateBytes *other;
	Collected  *state;

	if (PG_ARGISNULL(1))
		return collect_nothing(fcinfo);
	other = (StateBytes *) PG_GETARG_POINTER(1);
	if (other->call != NULL)
		elog(ERROR, "a state was not serialized before it is combined");
	statefile_expect();
	state = collect_state(fcinfo, kind->ncolumns, kind->key, kind->flags);
	take_state(fcinfo, state, kind, other->source, PG_ARGISNULL(0), false);
	PG_RETURN_POINTER(state);
}

/* Combine functions of gpusort_collect_..., and of gpusort_rle_collect, whose second column defines the order. */
SQL_FUNCTION(gpusort_combine_all, combine(fcinfo, &kind_all));
SQL_FUNCTION(gpusort_combine_values, combine(fcinfo, &kind_values));
SQL_FUNCTION(gpusort_combine_fraction, combine(fcinfo, &kind_fraction));
SQL_FUNCTION(gpusort_combine_numbers, combine(fcinfo, &kind_numbers));
SQL_FUNCTION(gpusort_combine_numbers_fraction, combine(fcinfo, &kind_numbers_fraction));
SQL_FUNCTION(gpusort_combine_pairs, combine(fcinfo, &kind_pairs));
