/*
 * message.h: a message in the making, of which values.h writes the values.
 */
#ifndef GPUSORT_MESSAGE_H
#define GPUSORT_MESSAGE_H

#include "fmgr.h"

/* What a row becomes. */
typedef enum OutMessage
{
	OUT_DATAROW,				/* a DataRow, each column in text or binary */
	OUT_COPY_LINE				/* a CopyData with a line of COPY's text format */
} OutMessage;

/* Messages, one behind the other. */
typedef struct OutBuffer
{
	char	   *data;
	Size		sent;			/* bytes that have been sent */
	Size		len;			/* end of the last whole message; a row in the making lies behind it */
	Size		size;
	Size		look;			/* the length from which to look whether to send, if messages are held back */
} OutBuffer;

/* A message: its type, its length without the type, and the body. */
#define MESSAGE_HEADER 5

/* How COPY writes what is not a value. */
typedef struct CopyOptions
{
	char		delimiter;		/* one that no number, date or other short value contains */
	const char *null_text;
	int			encoding;		/* the client's when COPY began */
} CopyOptions;

typedef struct OutFormat OutFormat;
typedef struct OutColumn OutColumn;

/*
 * Writes a value and returns its end, or NULL if the row becomes too large.  The row's start has room for all values of
 * limited length; a writer of others asks out_room for theirs, which keeps that room behind them.
 */
typedef char *(*OutWriter) (OutFormat *format, OutColumn *column, Datum value, char *to);

struct OutColumn
{
	OutWriter	write;
	bool		by_value;
	int16		length;			/* as pg_attribute.attlen */
	uint8		align;			/* in bytes */
	FmgrInfo	function;		/* of the type; looked up when it is first called */
	Oid			function_oid;
};

struct OutFormat
{
	OutMessage	message;
	int			ncolumns;
	OutBuffer  *buffer;
	Size		bound;			/* bytes that all columns of limited length take, and what is written around values */
	int			encoding;		/* strings become */
	bool		convert;		/* strings are converted */
	bool		follows_client; /* encoding is the client's, which a function may change between rows */
	char		delimiter;		/* of COPY, as null_text */
	const char *null_text;
	Size		null_bytes;
	bool		dirty;			/* scratch is in use */
	MemoryContext cxt;			/* of the format */
	MemoryContext scratch;		/* for one row; NULL until needed */
	OutColumn	columns[FLEXIBLE_ARRAY_MEMBER];
};

/* Makes room for bytes and format->bound behind "to", which it returns in the buffer's new place; NULL: too large. */
extern char *out_grow(OutFormat *format, char *to, Size bytes);

/* Makes sure that there is this room, without a call where there is. */
static inline char *
out_room(OutFormat *format, char *to, Size bytes)
{
	if (likely(format->buffer->size - (Size) (to - format->buffer->data) >= bytes + format->bound))
		return to;
	return out_grow(format, to, bytes);
}

/* The memory context for what a row's values need until its message is written. */
extern MemoryContext out_scratch(OutFormat *format);

#endif
