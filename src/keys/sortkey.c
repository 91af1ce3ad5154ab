/*
 * sortkey.c: maps ordering operators to encoders.
 */
#include "postgres.h"

#include "catalog/pg_opfamily_d.h"
#include "catalog/pg_type_d.h"

#include "sortkey_types.h"

/* PostgreSQL's operator families without a name in its headers.  pg_opfamily.dat fixes their OIDs. */
#define BIT_BTREE_FAM_OID		423
#define CHAR_BTREE_FAM_OID		429
#define DATETIME_BTREE_FAM_OID	434
#define FLOAT_BTREE_FAM_OID		1970
#define MACADDR_BTREE_FAM_OID	1984
#define NUMERIC_BTREE_FAM_OID	1988
#define TIME_BTREE_FAM_OID		1996
#define TIMETZ_BTREE_FAM_OID	2000
#define VARBIT_BTREE_FAM_OID	2002
#define MONEY_BTREE_FAM_OID		2099
#define TID_BTREE_FAM_OID		2789
#define UUID_BTREE_FAM_OID		2968
#define PG_LSN_BTREE_FAM_OID	3253
#define MACADDR8_BTREE_FAM_OID	3371
#define ENUM_BTREE_FAM_OID		3522
#define XID8_BTREE_FAM_OID		5067

/* Encoding of a type. */
typedef struct KeyKind
{
	Oid			opfamily;
	Oid			opcintype;
	gs_type		type;			/* unless open chooses one */
	enum
	{
		BY_ENCODER,
		PLAIN,					/* the Datum is the element */
		COLLATED,				/* by encoder, if the collation orders bytewise */
		BY_OPENER				/* the opener sets everything */
	}			how;
	KeyEncoder	encode;
	KeyOpener	open;
} KeyKind;

/* Eight-byte types are PLAIN only if Datums have eight bytes. */
StaticAssertDecl(sizeof(Datum) == 8, "gpusort needs a 64-bit server");

static const KeyKind kinds[] = {
	{BOOL_BTREE_FAM_OID, BOOLOID, GS_U8, PLAIN, NULL, NULL},
	{CHAR_BTREE_FAM_OID, CHAROID, GS_U8, PLAIN, NULL, NULL},
	{INTEGER_BTREE_FAM_OID, INT2OID, GS_I16, PLAIN, NULL, NULL},
	{INTEGER_BTREE_FAM_OID, INT4OID, GS_I32, PLAIN, NULL, NULL},
	{INTEGER_BTREE_FAM_OID, INT8OID, GS_I64, PLAIN, NULL, NULL},
	{OID_BTREE_FAM_OID, OIDOID, GS_U32, PLAIN, NULL, NULL},
	{FLOAT_BTREE_FAM_OID, FLOAT4OID, GS_F32, PLAIN, NULL, NULL},
	{FLOAT_BTREE_FAM_OID, FLOAT8OID, GS_F64, PLAIN, NULL, NULL},
	{DATETIME_BTREE_FAM_OID, DATEOID, GS_I32, PLAIN, NULL, NULL},
	{DATETIME_BTREE_FAM_OID, TIMESTAMPOID, GS_I64, PLAIN, NULL, NULL},
	{DATETIME_BTREE_FAM_OID, TIMESTAMPTZOID, GS_I64, PLAIN, NULL, NULL},
	{TIME_BTREE_FAM_OID, TIMEOID, GS_I64, PLAIN, NULL, NULL},
	{MONEY_BTREE_FAM_OID, MONEYOID, GS_I64, PLAIN, NULL, NULL},
	{PG_LSN_BTREE_FAM_OID, PG_LSNOID, GS_U64, PLAIN, NULL, NULL},
	{XID8_BTREE_FAM_OID, XID8OID, GS_U64, PLAIN, NULL, NULL},
	{TIMETZ_BTREE_FAM_OID, TIMETZOID, GS_U128, BY_ENCODER, encode_timetz, NULL},
	{INTERVAL_BTREE_FAM_OID, INTERVALOID, GS_U128, BY_OPENER, NULL, open_interval},
	{TID_BTREE_FAM_OID, TIDOID, GS_U64, BY_ENCODER, encode_tid, NULL},
	{UUID_BTREE_FAM_OID, UUIDOID, GS_U128, BY_ENCODER, encode_uuid, NULL},
	{MACADDR_BTREE_FAM_OID, MACADDROID, GS_U64, BY_ENCODER, encode_macaddr, NULL},
	{MACADDR8_BTREE_FAM_OID, MACADDR8OID, GS_U64, BY_ENCODER, encode_macaddr8, NULL},
	{NETWORK_BTREE_FAM_OID, INETOID, GS_BYTES, BY_OPENER, NULL, open_inet},
	{NUMERIC_BTREE_FAM_OID, NUMERICOID, GS_BYTES, BY_OPENER, NULL, open_numeric},
	{ENUM_BTREE_FAM_OID, ANYENUMOID, GS_F64, BY_OPENER, NULL, open_enum},
	{BIT_BTREE_FAM_OID, BITOID, GS_BYTES, BY_OPENER, NULL, open_bit},
	{VARBIT_BTREE_FAM_OID, VARBITOID, GS_BYTES, BY_OPENER, NULL, open_bit},
	{BYTEA_BTREE_FAM_OID, BYTEAOID, GS_BYTES, BY_ENCODER, encode_varlena, NULL},
	{TEXT_BTREE_FAM_OID, TEXTOID, GS_BYTES, COLLATED, encode_varlena, NULL},
	{TEXT_BTREE_FAM_OID, NAMEOID, GS_BYTES, COLLATED, encode_name, NULL},
	{BPCHAR_BTREE_FAM_OID, BPCHAROID, GS_BYTES, COLLATED, encode_bpchar, NULL},
	{TEXT_PATTERN_BTREE_FAM_OID, TEXTOID, GS_BYTES, BY_ENCODER, encode_varlena, NULL},
	{BPCHAR_PATTERN_BTREE_FAM_OID, BPCHAROID, GS_BYTES, BY_ENCODER, encode_bpchar, NULL},
};

/* Returns the encoding of a family's type, or NULL. */
static const KeyKind *
find_kind(Oid opfamily, Oid opcintype)
{
	for (size_t i = 0; i < lengthof(kinds); i++)
		if (kinds[i].opfamily == opfamily && kinds[i].opcintype == opcintype)
			return &kinds[i];
	return NULL;
}

bool
sortkey_is_exact(Oid sortop, Oid collation)
{
	const KeyKind *kind;
	Oid			opfamily;
	Oid			opcintype;
	bool		desc;

	if (!ordering_op_properties(sortop, &opfamily, &opcintype, &desc))
		return false;
	kind = find_kind(opfamily, opcintype);
	return kind != NULL && (kind->how != COLLATED || collation_orders_bytes(collation));
}

bool
sortkey_is_process_independent(Oid sortop)
{
	const KeyKind *kind = NULL;
	Oid			opfamily;
	Oid			opcintype;
	bool		desc;

	if (ordering_op_properties(sortop, &opfamily, &opcintype, &desc))
		kind = find_kind(opfamily, opcintype);
	/* an enum's encoding is its position, which may differ between processes */
	return kind != NULL && opcintype != ANYENUMOID &&
		(kind->type != GS_BYTES || opcintype == NUMERICOID || opcintype == INETOID);
}

void
sortkey_open(SortKey *key, Oid sortop, Oid collation, bool nulls_first, bool exact)
{
	const KeyKind *kind;
	Oid			opfamily;
	Oid			opcintype;
	bool		desc;

	if (!ordering_op_properties(sortop, &opfamily, &opcintype, &desc))
		elog(ERROR, "operator %u is not a valid ordering operator", sortop);
	kind = find_kind(opfamily, opcintype);
	memset(key, 0, sizeof(*key));
	key->spec.nulls_first = nulls_first;
	key->spec.desc = desc;
	key->exact = exact;
	key->context = CurrentMemoryContext;
	key->scratch = makeStringInfo();
	if (kind == NULL || (kind->how == COLLATED && !collation_orders_bytes(collation)))
	{
		open_coarse(key, sortop, collation, opfamily, opcintype);
		return;
	}
	if (kind->how == BY_OPENER)
		kind->open(key);
	else
		set_form(key, kind->type, kind->encode);
	if (kind->how == PLAIN)
		key->plain = key->width;
}
