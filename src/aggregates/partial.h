/*
 * partial.h: serialized states, for parallel workers and partitions: a header, then rows of types that are known.
 */
#ifndef GPUSORT_PARTIAL_H
#define GPUSORT_PARTIAL_H

#include "collect.h"

#define STATE_VERSION 1
#define STATE_VERSION_RUNS 2	/* the first that knows STATE_RUNS, and that of states in this form */

/* What follows a header.  The numbers are part of the format. */
typedef enum StateContent
{
	STATE_ROWS = 0,
	STATE_IN_FILE = 1,			/* a StatePlace */
	STATE_RUNS = 2				/* pairs in order of their key: value, uint32 rows, and a key of each row */
} StateContent;

/* Header of a serialized state, in native byte order. */
typedef struct StateHeader
{
	uint64		seal;			/* authenticates everything that follows; see partial_seal */
	uint8		version;
	uint8		encoding;		/* of text */
	uint8		ncolumns;
	uint8		content;		/* StateContent */
	struct
	{
		uint8		how;		/* as in ValueForm */
		uint8		nullable;	/* 1: each value is preceded by a byte that tells whether it exists */
		uint16		width;
	}			columns[COLLECT_MAX_COLUMNS];
	uint32		byte_order;		/* BYTE_ORDER_MARK */
	double		fraction;
	uint64		rows;
} StateHeader;

#define BYTE_ORDER_MARK 0x01020304

/* Rows between checks for interrupts. */
#define PARTIAL_BLOCK 4096

/* Returns the forms in which a call's columns are serialized. */
extern ValueForm *partial_forms(CollectCall *call);

/*
 * Returns the seal of a state's bytes.  It is 0 unless the bytes contain raw datums, which cannot be validated, or name
 * a file.  A keyed hash authenticates those: only this server knows the key, and it is valid for this session and its
 * parallel workers, which share what raw datums refer to (types, numbers of anonymous row types).
 */
extern uint64 partial_seal(const CollectCall *call, const char *bytes, Size length);

#endif
