/*
 * partial.h: states of aggregates that a parallel worker, or a partition, hands over, as bytes.
 *
 * All aggregates have one form: a header, and the rows one after another.  Types are not named: those of the
 * aggregate's call count, which are known where states are combined.
 */
#ifndef GPUSORT_PARTIAL_H
#define GPUSORT_PARTIAL_H

#include "collect.h"

#define STATE_VERSION 1

/* What a state's bytes begin with; integers are in the machine's order. */
typedef struct StateHeader
{
	uint64		seal;			/* of all that follows, by partial_seal */
	uint8		version;
	uint8		encoding;		/* of text */
	uint8		ncolumns;
	uint8		in_file;		/* 1: instead of rows a StatePlace follows */
	struct
	{
		uint8		how;		/* as in ValueForm */
		uint8		nullable;	/* 1: a byte before each value says whether there is one */
		uint16		width;
	}			columns[COLLECT_MAX_COLUMNS];
	uint32		byte_order;		/* BYTE_ORDER_MARK */
	double		fraction;
	uint64		rows;
} StateHeader;

#define BYTE_ORDER_MARK 0x01020304

/* Rows between two looks at interrupts. */
#define PARTIAL_BLOCK 4096

/* How the columns of a call's states are written. */
extern ValueForm *partial_forms(CollectCall *call);

/*
 * The seal of a state's bytes: 0, unless they hold datums as they are, which cannot be checked one by one, or name a
 * file.  Those are believed because nobody knows the key but this server, for this session and its parallel workers,
 * who share what datums refer to: types, and the numbers of anonymous row types.
 */
extern uint64 partial_seal(const CollectCall *call, const char *bytes, Size length);

#endif
