/*
 * values.h: how values of a type are written.
 */
#ifndef GPUSORT_VALUES_H
#define GPUSORT_VALUES_H

#include "message.h"

/* How the values that a type's function writes are written here. */
typedef struct ValueKind
{
	Oid			function;		/* the type's output or send function, by which its kind is told */
	int			bytes;			/* at most; 0: any number, for which the writer makes room */
	OutWriter	write;
	OutWriter	write_line;		/* in a line of COPY */
} ValueKind;

/* Returns the kind of a function, or NULL: values are written by the function itself. */
extern const ValueKind *value_kind(Oid function);

/* Write values by the type's function: as text, in a line of COPY, and in binary. */
extern char *write_by_output(OutFormat *format, OutColumn *column, Datum value, char *to);
extern char *write_by_output_in_line(OutFormat *format, OutColumn *column, Datum value, char *to);
extern char *write_by_send(OutFormat *format, OutColumn *column, Datum value, char *to);

#endif
