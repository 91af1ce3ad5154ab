/*
 * values.h: values of many types out of the bytes of a fuzzer's input.
 */
#ifndef GPUSORT_TEST_VALUES_H
#define GPUSORT_TEST_VALUES_H

#include "server.h"

/* How a type's values are made. */
typedef Datum (*MakeValue) (Input *input, Oid type);

typedef struct ValueKind
{
	const char *type;			/* as regtypein reads it; those in schema keys are made by server.sql */
	MakeValue	make;
	const char *less;			/* an operator of another family than the type's default one, else NULL */
	bool		collated;
} ValueKind;

/* An integer of so many bits, often one of those where something changes. */
extern int64 take_integer(Input *input, int bits);

/* Values that others are made of as well. */
extern Datum numeric_value(Input *input, Oid type);
extern Datum text_value(Input *input, Oid type);

/* composite.c: values that are made of others */
extern Datum array_value(Input *input, Oid type);
extern Datum record_value(Input *input, Oid type);
extern Datum range_value(Input *input, Oid type);
extern Datum multirange_value(Input *input, Oid type);
extern Datum jsonb_value(Input *input, Oid type);
extern Datum oidvector_value(Input *input, Oid type);

extern const ValueKind value_kinds[];
extern const int value_kinds_count;

/* The type of a kind. */
extern Oid value_type(int kind);

/*
 * Makes a value; earlier ones are those made before of the same type, which strings begin as.  It comes in one of the
 * forms in which the server stores such values: with a short header, compressed.
 */
extern Datum make_value(const ValueKind *kind, Oid type, Input *input, const Datum *earlier, int nearlier);

#endif
