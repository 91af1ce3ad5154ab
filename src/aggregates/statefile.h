/*
 * statefile.h: passes states that are too large for one value through temporary files.  A serialized state is a bytea
 * of at most 1 GB.  A large state is written to a file, and only its place is passed on, to the leader of the writer's
 * parallel group, which may be the writer itself.
 */
#ifndef GPUSORT_STATEFILE_H
#define GPUSORT_STATEFILE_H

#include "fmgr.h"
#include "lib/stringinfo.h"
#include "nodes/execnodes.h"
#include "port/pg_crc32c.h"
#include "storage/fileset.h"

/* Place of a state. */
typedef struct StatePlace
{
	FileSet		set;
	int32		writer;			/* process ID */
	uint32		number;			/* among the writer's states */
	pg_crc32c	sum;			/* chained checksum of all pieces */
} StatePlace;

typedef struct StateFile StateFile;
typedef struct StateFileList StateFileList;

/* Registers the transaction callbacks, in _PG_init. */
extern void statefile_init(void);

/* Returns true if a serialize function's state will be combined by this process or its leader. */
extern bool statefile_may_be_used(FunctionCallInfo fcinfo);

/* Announces that workers' states will be combined.  Some may remain in files that nobody reads. */
extern void statefile_expect(void);

/* Returns the size from which on a state is written to a file, and the approximate size of a piece. */
extern Size statefile_piece_bytes(void);

/* Write a state: create, append pieces, finish, which returns its place. */
extern StateFile *statefile_create(void);
extern void statefile_put(StateFile *file, const char *data, Size bytes);
extern StatePlace statefile_finish(StateFile *file);

/* Read a state piece by piece into a buffer; false after the last piece. */
extern StateFile *statefile_open(const StatePlace *place);
extern bool statefile_get(StateFile *file, StringInfo data);

/* Closes a file after reading and deletes it. */
extern void statefile_delete(StateFile *file);

/* Closes a file that may be read again until the end of the query.  *list, first NULL, holds an aggregate call's. */
extern void statefile_keep(StateFile *file, StateFileList **list, EState *estate);

#endif
