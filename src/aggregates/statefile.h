/*
 * statefile.h: states of aggregates that are too large for one value, handed over in a temporary file.
 *
 * A state comes to the process that combines it as one bytea, which has a limit of 1 GB and lies in memory as a whole.
 * A large one is written in pieces to a file instead, and only its place is handed over: to the leader of the writer's
 * parallel workers, who may be the writer itself.
 */
#ifndef GPUSORT_STATEFILE_H
#define GPUSORT_STATEFILE_H

#include "fmgr.h"
#include "lib/stringinfo.h"
#include "nodes/execnodes.h"
#include "port/pg_crc32c.h"
#include "storage/fileset.h"

/* Where a state lies. */
typedef struct StatePlace
{
	FileSet		set;
	int32		writer;			/* the process */
	uint32		number;			/* among its states */
	pg_crc32c	sum;			/* of all of it */
} StatePlace;

typedef struct StateFile StateFile;
typedef struct StateFileList StateFileList;

/* In _PG_init: files end with their transaction. */
extern void statefile_init(void);

/* Will the state that this serialize function makes be combined by this process, or by its leader? */
extern bool statefile_may_be_used(FunctionCallInfo fcinfo);

/* States of workers are combined: whichever of them are not, in the end, may be in files. */
extern void statefile_expect(void);

/* Bytes of a state in memory, from which on it is written to a file; and of such a file's pieces, about. */
extern Size statefile_piece_bytes(void);

/* Writes a state: begins, appends a piece, and ends, when its place is known. */
extern StateFile *statefile_create(void);
extern void statefile_put(StateFile *file, const char *data, Size bytes);
extern StatePlace statefile_finish(StateFile *file);

/* Reads a state: piece by piece into a buffer, false behind the last one. */
extern StateFile *statefile_open(const StatePlace *place);
extern bool statefile_get(StateFile *file, StringInfo data);

/* Ends that and deletes the file. */
extern void statefile_delete(StateFile *file);

/*
 * Ends that; the file may be read again and is deleted when the query ends.  *list, NULL at first, has those of one
 * call of an aggregate.
 */
extern void statefile_keep(StateFile *file, StateFileList **list, EState *estate);

#endif
