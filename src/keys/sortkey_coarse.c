/*
 * sortkey_coarse.c: keys of types and collations without an exact encoding.
 *
 * Only a comparison function defines the order of their values.  A key takes the first of these forms that works:
 *
 *	dictionary		few distinct values, numbered in their order; exact
 *	primary weights	those of a string under a linguistic collation; coarse
 *	leading parts	the first elements of arrays, columns of records and the like; coarse
 *	abbreviated		the type's own abbreviated keys; coarse
 *	nothing			all values are equal except NULLs
 *
 * It starts with the dictionary, as values often repeat, and widens if they do not.  Coarse means that values with
 * different keys are ordered by the keys, while values with equal keys may compare either way.  The sort then compares
 * rows with equal keys (rows/tied_runs.c).
 */
#include "postgres.h"

#include <math.h>

#include "access/detoast.h"
#include "access/nbtree.h"
#include "access/tupmacs.h"
#include "catalog/pg_collation_d.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/sortsupport.h"

#include "src/base/compat.h"
#include "dictionary.h"
#include "primary_weights.h"
#include "parts.h"
#include "sortkey_types.h"

/* Rows after which abbreviated keys are first tested for usefulness, as in tuplesort. */
#define FIRST_ABORT_CHECK 10

/* The cost of a coarse key and of comparing with the next row, in comparisons; more if a provider makes keys. */
#define COARSE_COMPARISONS 1.5
#define PROVIDER_COMPARISONS 4

/* The fraction of a comparison sort's log2 n comparisons of each row that a dictionary may cost instead. */
#define COMPARED_FRACTION 0.7

/* Longer strings whose keys the provider makes take more time than the server's abbreviated keys. */
#define PROVIDER_BYTES 128

/* Where so many bytes tell strings apart, their primary weights are kept to twice as many. */
#define EARLY_BYTES (PRIMARY_BYTES / 4)

/*
 * Rows from which on to sort by abbreviated keys with a comparator of the type's own.  Finding their order and
 * comparing all neighbours takes longer than PostgreSQL's sort of fewer rows: of 3000 geometries up to twice as long.
 */
#define OWN_ORDER_ROWS 4096

/* Operators whose abbreviated keys or leading parts contradicted their comparison function in this session. */
static List *refused_operators = NIL;

typedef struct CoarseState
{
	MemoryContext context;		/* memory of this state */
	Oid			sortop;
	SortSupportData ssup;		/* comparison function */
	Dictionary *dictionary;
	Oid			strings;		/* form of strings; see string_form */
	/* set when the dictionary is left */
	PrimaryWeights *primary;	/* of strings */
	int			primary_bytes;	/* of a key */
	bool		server_tells;	/* they are long, and the server's abbreviated keys tell them apart */
	bool		whole;			/* the first bytes of one did not suffice for its key: all of each are unpacked */
	Parts	   *parts;			/* of composite values */
	StringInfoData buffer;		/* key from one of these */
	SortSupportData abbreviated;	/* of other types that have it */
	bool		own;			/* its comparator is the type's own, and taken for own_orders[order] */
	uint8		order;
	Datum		last;			/* the previous abbreviated key */
	int64		rows;			/* rows with abbreviated keys */
	int64		next_check;
} CoarseState;

/* The orders that a comparator of abbreviated keys may have: of unsigned or signed integers, in either direction. */
static const struct
{
	gs_type		type;
	uint64		flip;
}			own_orders[] = {{GS_U64, 0}, {GS_I64, 0}, {GS_U64, PG_UINT64_MAX}, {GS_I64, PG_UINT64_MAX}};

static KeyResult encode_nothing(SortKey *key, Datum value, KeyColumn *column, uint32 row);
static KeyResult take_abbreviated(SortKey *key);

/* Switches the key to its next form; see widen. */
static KeyResult
take_form(SortKey *key, gs_type type, KeyEncoder encode, bool coarse, const char *text)
{
	set_form(key, type, encode);
	key->coarse = coarse;
	key->form = text;
	return KEY_WIDEN;
}

/* Switches to the last form, in which all values are equal. */
static KeyResult
take_nothing(SortKey *key)
{
	key->empty = true;
	return take_form(key, GS_U8, encode_nothing, true, FORM_COMPARED);
}

/* Encodes all values as equal. */
static KeyResult
encode_nothing(SortKey *key, Datum value, KeyColumn *column, uint32 row)
{
	((uint8 *) column->values)[row] = 0;
	return KEY_OK;
}

/* Looks up a type's comparison function, with abbreviation if wanted and supported; also anew, after another one. */
static void
open_comparator(SortSupport ssup, Oid sortop, Oid collation, bool abbreviate)
{
	*ssup = (SortSupportData) {.ssup_cxt = CurrentMemoryContext,.ssup_collation = collation,.abbreviate = abbreviate};
	PrepareSortSupportFromOrderingOp(sortop, ssup);
}

/* Does the type's own comparator agree to the order that an abbreviated key and the last one are taken to have? */
static bool
own_order_agrees(CoarseState *state, Datum value)
{
	SortSupport ssup = &state->abbreviated;
	uint64		sign = own_orders[state->order].type == GS_I64 ? UINT64CONST(1) << 63 : 0;
	uint64		flip = own_orders[state->order].flip ^ sign;
	int			order = state->rows > 1 ? ssup->comparator(state->last, value, ssup) : 0;
	bool		agrees = order <= 0 || (state->last ^ flip) > (value ^ flip);

	agrees = agrees && (order >= 0 || (state->last ^ flip) < (value ^ flip));
	state->last = value;
	return agrees;
}

/* Encodes the type's abbreviated keys, until the type aborts abbreviation. */
static KeyResult
encode_abbreviated(SortKey *key, Datum value, KeyColumn *column, uint32 row)
{
	CoarseState *state = key->state;
	SortSupport ssup = &state->abbreviated;

	if (!key->exact && state->rows++ == state->next_check)
	{
		state->next_check *= 2;
		if (ssup->abbrev_abort((int) Min(state->rows, PG_INT32_MAX), ssup))
			return take_nothing(key);
	}
	value = ssup->abbrev_converter(value, ssup);
	if (state->own && !key->exact && !own_order_agrees(state, value))
	{
		state->order++;
		return take_abbreviated(key);
	}
	if (key->width == sizeof(uint64))
		((uint64 *) column->values)[row] = (uint64) value ^ (state->own ? own_orders[state->order].flip : 0);
	else
		((int32 *) column->values)[row] = DatumGetInt32(value);
	return KEY_OK;
}

/* Sets the type of integers that one of the server's comparators orders; false if it is a type's own. */
static bool
type_of_order(const SortSupport ssup, gs_type *type)
{
	if (ssup->comparator == ssup_datum_unsigned_cmp)
		*type = GS_U64;
	else if (ssup->comparator == ssup_datum_signed_cmp)
		*type = GS_I64;
	else if (ssup->comparator == ssup_datum_int32_cmp)
		*type = GS_I32;
	else
		return false;
	return true;
}

/* Takes the abbreviated form if it is an integer that the type's own comparator orders as one, else no form. */
static KeyResult
take_abbreviated(SortKey *key)
{
	CoarseState *state = key->state;
	SortSupport ssup = &state->abbreviated;
	gs_type		type;
	MemoryContext old;

	/* another order is tried while a row is encoded, in a context that ends with it */
	old = MemoryContextSwitchTo(state->context);
	open_comparator(ssup, state->sortop, state->ssup.ssup_collation, true);
	MemoryContextSwitchTo(old);
	if (ssup->abbrev_converter == NULL)
		return take_nothing(key);
	state->own = !type_of_order(ssup, &type);
	if (state->own && state->order == lengthof(own_orders))
	{
		key->theirs = THEIRS_BY_ORDER;
		return take_nothing(key);
	}
	if (state->own)
		type = own_orders[state->order].type;
	state->rows = 0;
	state->next_check = FIRST_ABORT_CHECK;
	return take_form(key, type, encode_abbreviated, true, "abbreviated");
}

/* Opens a packed string by its first bytes; false if the view is of all.  A bpchar's blanks may end a part. */
static bool
open_start(const CoarseState *state, Datum value, int32 bytes, StringView *view)
{
	struct varlena *string = (struct varlena *) DatumGetPointer(value);

	if (state->strings != TEXTOID || state->whole ||
		likely(!VARATT_IS_EXTERNAL(string) && !VARATT_IS_COMPRESSED(string)) ||
		toast_raw_datum_size(value) <= (Size) (VARHDRSZ + bytes))
	{
		*view = open_string(state->strings, value);
		return false;
	}
	view->varlena = PG_DETOAST_DATUM_SLICE(value, 0, bytes);
	view->bytes = VARDATA_ANY(view->varlena);
	view->len = VARSIZE_ANY_EXHDR(view->varlena);
	return true;
}

/*
 * Is a string the server's?  Weights of non-ASCII take long, hundreds of bytes, and comparisons of neighbours.
 */
static bool
is_theirs(const SortKey *key, Datum value, bool by_provider)
{
	const CoarseState *state = key->state;

	return state->server_tells && !key->exact && (VARATT_IS_EXTERNAL(DatumGetPointer(value)) ||
												   (by_provider && toast_raw_datum_size(value) > PROVIDER_BYTES));
}

/* Leaves a key of long strings to the server. */
static KeyResult
leave_to_server(SortKey *key)
{
	key->theirs = THEIRS_BY_LENGTH;
	return take_nothing(key);
}

/* Makes the primary weights of a string in the buffer. */
static void
make_primary(CoarseState *state, Datum value)
{
	StringView	view;
	bool		goes_on = open_start(state, value, PRIMARY_START_BYTES, &view);

	if (goes_on)
		state->whole = !primary_key_of_start(state->primary, view.bytes, &state->buffer);
	else
		primary_key(state->primary, view.bytes, view.len, false, &state->buffer);
	close_string(value, &view);
	if (goes_on && state->whole)
		make_primary(state, value);
}

/* Encodes the primary weights of any string. */
static KeyResult
encode_primary(SortKey *key, Datum value, KeyColumn *column, uint32 row)
{
	CoarseState *state = key->state;

	if (is_theirs(key, value, true))
		return leave_to_server(key);
	make_primary(state, value);
	return put_bytes(column, row, state->buffer.data, Min(state->buffer.len, state->primary_bytes));
}

/* Encodes the primary weights of ASCII strings, a byte per character. */
static KeyResult
encode_primary_short(SortKey *key, Datum value, KeyColumn *column, uint32 row)
{
	CoarseState *state = key->state;
	StringView	view;
	int			most = state->primary_bytes;
	bool		goes_on;
	uint8	   *to;
	KeyResult	result;

	if (is_theirs(key, value, false))
		return leave_to_server(key);
	/* some characters have no weight */
	goes_on = open_start(state, value, most / 4 * 5, &view);
	result = bytes_room(column, row, Min(view.len, (Size) most), &to);

	if (likely(result == KEY_OK))
	{
		int			len = primary_short_key(state->primary, view.bytes, view.len, to, most);

		state->whole |= goes_on && len >= 0 && len < most;
		if (likely(len >= 0))
			((uint32 *) column->values)[row + 1] = (uint32) (to - column->heap) + len;
		else
			result = take_form(key, GS_BYTES, encode_primary, true, "primary weights");
	}
	close_string(value, &view);
	return goes_on && state->whole ? encode_primary_short(key, value, column, row) : result;
}

/* Encodes as encode_primary_short does, but for strings without such a key, whose key is empty. */
static KeyResult
encode_weights(SortKey *key, Datum value, KeyColumn *column, uint32 row)
{
	CoarseState *state = key->state;
	int			most = state->primary_bytes;
	StringView	view;
	uint8	   *to;
	KeyResult	result;

	(void) open_start(state, value, most / 4 * 5, &view);
	result = bytes_room(column, row, Min(view.len, (Size) most), &to);
	if (likely(result == KEY_OK))
	{
		int			len = primary_short_key(state->primary, view.bytes, view.len, to, most);

		((uint32 *) column->values)[row + 1] = (uint32) (to - column->heap) + Max(len, 0);
	}
	close_string(value, &view);
	return result;
}

bool
sortkey_open_weights(SortKey *key, const SortKey *sorted)
{
	if (sorted->encode != encode_primary_short)
		return false;
	*key = *sorted;
	key->encode = encode_weights;
	return true;
}

/* The first parts of a value. */
static KeyResult
encode_parts(SortKey *key, Datum value, KeyColumn *column, uint32 row)
{
	CoarseState *state = key->state;

	switch (parts_key(state->parts, value, &state->buffer))
	{
		case PARTS_WHOLE:
		case PARTS_BEGUN:
			return put_bytes(column, row, state->buffer.data, state->buffer.len);
		case PARTS_CHANGED:
			return KEY_WIDEN;
		case PARTS_STRANGE:
			break;
	}
	return take_nothing(key);
}

/* Switches to the form for values that exceed a dictionary. */
static KeyResult
take_coarse_form(SortKey *key)
{
	CoarseState *state = key->state;
	Oid			collation = state->ssup.ssup_collation;

	if (OidIsValid(state->strings))
		state->primary = primary_open(collation);
	if (state->primary)
		return take_form(key, GS_BYTES, primary_has_short(state->primary) ? encode_primary_short : encode_primary, true,
						 "primary weights");
	/* the server's abbreviated keys of strings are too short to separate them, and not always reliable */
	if (OidIsValid(state->strings) || list_member_oid(refused_operators, state->sortop))
		return take_nothing(key);
	if (parts_known(state->sortop))
	{
		state->parts = parts_open(state->sortop, collation);
		return take_form(key, GS_BYTES, encode_parts, true, "leading parts");
	}
	return take_abbreviated(key);
}

/* Do the server's abbreviated keys tell mostly long strings apart?  Text has them under ICU only. */
static bool
server_tells(CoarseState *state)
{
	if (state->strings != TEXTOID || !dictionary_is_long(state->dictionary, PROVIDER_BYTES))
		return false;
	open_comparator(&state->abbreviated, state->sortop, state->ssup.ssup_collation, true);
	return state->abbreviated.abbrev_converter != NULL && dictionary_differs_early(state->dictionary, sizeof(Datum));
}

/* Leaves the dictionary. */
static KeyResult
leave_dictionary(SortKey *key)
{
	CoarseState *state = key->state;
	MemoryContext old = MemoryContextSwitchTo(state->context);
	KeyResult	result;

	state->primary_bytes = dictionary_differs_early(state->dictionary, EARLY_BYTES) ? 2 * EARLY_BYTES : PRIMARY_BYTES;
	state->server_tells = server_tells(state);
	dictionary_free(state->dictionary);
	state->dictionary = NULL;
	key->many = true;
	result = take_coarse_form(key);
	MemoryContextSwitchTo(old);
	return result;
}

/* Encodes dictionary numbers. */
static KeyResult
encode_dictionary(SortKey *key, Datum value, KeyColumn *column, uint32 row)
{
	CoarseState *state = key->state;

	switch (dictionary_number(state->dictionary, value, &((uint32 *) column->values)[row]))
	{
		case DICTIONARY_OK:
			return KEY_OK;
		case DICTIONARY_RENUMBERED:
			return KEY_WIDEN;
		case DICTIONARY_FULL:
			break;
	}
	return leave_dictionary(key);
}

void
open_coarse(SortKey *key, Oid sortop, Oid collation, Oid opfamily, Oid opcintype)
{
	MemoryContext context = AllocSetContextCreate(key->context, "gpusort coarse key", ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	CoarseState *state = palloc0(sizeof(CoarseState));
	int16		typlen;
	bool		typbyval;

	if (key->exact)
		elog(ERROR, "operator %u has no exact sort key", sortop);
	state->context = context;
	get_typlenbyval(opcintype, &typlen, &typbyval);
	key->state = state;
	state->sortop = sortop;
	state->strings = string_form(opfamily, opcintype);
	/* which forms there are decides what a dictionary is worth */
	if (!sortkey_tells(sortop))
		open_comparator(&state->abbreviated, sortop, collation, true);
	open_comparator(&state->ssup, sortop, collation, false);
	initStringInfo(&state->buffer);
	state->dictionary = dictionary_create(&state->ssup, typlen, typbyval);
	key->unpack = typlen == -1 && !OidIsValid(state->strings);
	(void) take_form(key, GS_U32, encode_dictionary, false, "dictionary");
	MemoryContextSwitchTo(old);
}

/* Returns the state of a key of this file, or NULL. */
static inline CoarseState *
coarse_state(const SortKey *key)
{
	return key->form ? key->state : NULL;
}

Size
sortkey_bytes(const SortKey *key)
{
	const CoarseState *state = coarse_state(key);

	return state ? MemoryContextMemAllocated(state->context, true) : 0;
}

bool
sortkey_tells(Oid sortop)
{
	Oid			opfamily;
	Oid			opcintype;
	bool		desc;

	return parts_known(sortop) ||
		(ordering_op_properties(sortop, &opfamily, &opcintype, &desc) && OidIsValid(string_form(opfamily, opcintype)));
}

bool
sortkey_defer(SortKey *key)
{
	if (key->form == NULL)
		return false;
	(void) take_nothing(key);
	return true;
}

void
sortkey_resume(SortKey *key)
{
	key->empty = false;
	if (key->leading > 0)
		(void) take_leading(key);
	else
		(void) take_form(key, GS_U32, encode_dictionary, false, "dictionary");
}

/* Returns true if an operator's class has sort support; one may lack any comparison function. */
static bool
has_sort_support(Oid sortop)
{
	Oid			opfamily,
				type;
	bool		desc;

	return ordering_op_properties(sortop, &opfamily, &type, &desc) &&
		OidIsValid(get_opfamily_proc(opfamily, type, type, BTSORTSUPPORT_PROC));
}

/* Returns true if an operator without an exact encoding has abbreviated keys with a comparator of the type's own. */
static bool
has_own_order(Oid sortop, Oid collation)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "gpusort sort support", ALLOCSET_SMALL_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	SortSupportData ssup = {0};
	gs_type		type;
	bool		own;

	open_comparator(&ssup, sortop, collation, true);
	own = ssup.abbrev_converter != NULL && !type_of_order(&ssup, &type);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	return own;
}

bool
sortkey_pays(Oid sortop, Oid collation, double rows)
{
	return rows >= OWN_ORDER_ROWS || sortkey_is_exact(sortop, collation) || sortkey_tells(sortop) ||
		!has_sort_support(sortop) || !has_own_order(sortop, collation);
}

void
sortkey_expect(SortKey *key, double rows)
{
	CoarseState *state = coarse_state(key);
	DictionaryWorth worth = {COARSE_COMPARISONS, COARSE_COMPARISONS};

	if (state == NULL)
		return;
	if (OidIsValid(state->strings))
		worth.other = PROVIDER_COMPARISONS;
	else if (!sortkey_tells(state->sortop) && state->abbreviated.abbrev_converter == NULL)
		worth.ascii = worth.other = COMPARED_FRACTION * log2(Max(rows, 2));
	dictionary_expect(state->dictionary, rows, worth);
}

void
sortkey_restart(SortKey *key)
{
	CoarseState *state = coarse_state(key);

	if (state && state->dictionary)
		dictionary_restart(state->dictionary);
}

bool
sortkey_guess(SortKey *key, Datum value, StringInfo out)
{
	CoarseState *state = coarse_state(key);
	StringView	view;
	const char *rest;

	if (!key->coarse || state == NULL || state->primary == NULL)
		return false;
	view = open_string(state->strings, value);
	primary_key(state->primary, view.bytes, view.len, true, &state->buffer);
	close_string(value, &view);
	/* the primary weights are equal in all values compared by this */
	rest = memchr(state->buffer.data, 1, state->buffer.len);
	if (rest != NULL)
		appendBinaryStringInfo(out, rest, (int) (state->buffer.data + state->buffer.len - rest));
	return true;
}

void
sortkey_refuse(SortKey *key)
{
	CoarseState *state = coarse_state(key);
	MemoryContext old;

	if (!key->coarse || key->empty || state == NULL)
		return;
	if (state->primary)
	{
		primary_refuse(state->primary);
		return;
	}
	old = MemoryContextSwitchTo(TopMemoryContext);
	refused_operators = list_append_unique_oid(refused_operators, state->sortop);
	MemoryContextSwitchTo(old);
}
