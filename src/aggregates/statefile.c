/*
 * statefile.c: passes states that are too large for one value through temporary files.  All files of a leader and its
 * workers are in one directory named after the leader, which deletes them without knowing each.  Files are deleted
 * after reading or, if they may be read again, at the end of the query; the directory at the end of the transaction;
 * leftovers of a crash when the server starts.  Checksums of pieces are chained, and the last one is passed along with
 * the file's place, so that truncation is detected.
 */
#include "postgres.h"

#include <fcntl.h>

#include "access/xact.h"
#include "catalog/pg_tablespace_d.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "storage/buffile.h"
#include "storage/proc.h"
#include "utils/memutils.h"

#include "src/base/checksum.h"
#include "src/base/compat.h"
#include "src/base/guc.h"
#include "statefile.h"

/* The number of our directory among the leader's.  The server counts its own from 0. */
#define SET_NUMBER PG_UINT32_MAX

/* States go to a file above this fraction of the memory limit and above this size. */
#define PIECE_FRACTION 4
#define MAX_PIECE_BYTES ((Size) 64 * 1024 * 1024)

struct StateFile
{
	BufFile    *file;
	StatePlace	place;
	pg_crc32c	sum;			/* checksum of the pieces so far */
	char		name[32];
};

/* Files of a query that have been read and closed. */
struct StateFileList
{
	List	   *files;
};

/* Header of a piece. */
typedef struct Piece
{
	uint64		bytes;			/* size of the data that follows */
	uint32		none;			/* explicit padding */
	pg_crc32c	sum;
} Piece;

/* This session may have files at the end of the transaction. */
static bool files_possible = false;

bool
statefile_may_be_used(FunctionCallInfo fcinfo)
{
	return fcinfo->context && IsA(fcinfo->context, AggState) &&
		DO_AGGSPLIT_SERIALIZE(((AggState *) fcinfo->context)->aggsplit);
}

Size
statefile_piece_bytes(void)
{
	return Min(gpusort_memory_limit() / PIECE_FRACTION, MAX_PIECE_BYTES);
}

/* Returns the process that combines this one's states. */
static pid_t
leader(void)
{
	return MyProc->lockGroupLeader ? MyProc->lockGroupLeader->pid : MyProcPid;
}

/* Returns a file by its place. */
static StateFile *
named_file(const StatePlace *place)
{
	StateFile  *file = palloc(sizeof(StateFile));

	file->place = *place;
	file->sum = 0;
	snprintf(file->name, sizeof(file->name), "%d.%u", place->writer, place->number);
	files_possible = true;
	return file;
}

StateFile *
statefile_create(void)
{
	static uint32 number = 0;
	StatePlace	place;
	StateFile  *file;

	memset(&place, 0, sizeof(place));
	FileSetInit(&place.set);
	place.set.creator_pid = leader();
	place.set.number = SET_NUMBER;
	place.writer = MyProcPid;
	place.number = number++;
	file = named_file(&place);
	file->file = BufFileCreateFileSet(&file->place.set, file->name);
	return file;
}

/* Returns the checksum of a piece, chained to those before it. */
static pg_crc32c
sum_of(const StateFile *file, const Piece *piece, const char *data)
{
	return checksum_of(checksum_of(file->sum, &piece->bytes, sizeof(piece->bytes)), data, piece->bytes);
}

void
statefile_put(StateFile *file, const char *data, Size bytes)
{
	Piece		piece = {.bytes = bytes};

	piece.sum = file->sum = sum_of(file, &piece, data);
	BufFileWrite(file->file, &piece, sizeof(piece));
	BufFileWrite(file->file, unconstify(char *, data), bytes);
}

StatePlace
statefile_finish(StateFile *file)
{
	StatePlace	place = file->place;

	place.sum = file->sum;
	BufFileExportFileSet(file->file);
	BufFileClose(file->file);
	pfree(file);
	return place;
}

StateFile *
statefile_open(const StatePlace *place)
{
	StateFile  *file = named_file(place);

	file->file = BufFileOpenFileSet(&file->place.set, file->name, O_RDONLY, false);
	return file;
}

bool
statefile_get(StateFile *file, StringInfo data)
{
	Piece		piece;
	size_t		got = BufFileRead(file->file, &piece, sizeof(piece));

	if (got == 0 && EQ_CRC32C(file->sum, file->place.sum))
		return false;
	if (got != sizeof(piece) || !AllocSizeIsValid(piece.bytes))
		checksum_failed(file->name);
	resetStringInfo(data);
	enlargeStringInfo(data, (int) piece.bytes);
	if (BufFileRead(file->file, data->data, piece.bytes) != piece.bytes)
		checksum_failed(file->name);
	file->sum = sum_of(file, &piece, data->data);
	if (!EQ_CRC32C(file->sum, piece.sum))
		checksum_failed(file->name);
	data->len = (int) piece.bytes;
	return true;
}

void
statefile_delete(StateFile *file)
{
	BufFileClose(file->file);
	BufFileDeleteFileSet(&file->place.set, file->name, false);
	pfree(file);
}

/* Deletes the files of a list, at the end of a query without an error. */
static void
delete_list(Datum argument)
{
	const StateFileList *list = (const StateFileList *) DatumGetPointer(argument);
	ListCell   *lc;

	foreach(lc, list->files)
	{
		StateFile  *file = lfirst(lc);

		BufFileDeleteFileSet(&file->place.set, file->name, true);
	}
}

/* Creates a list that lives until the end of the query, beyond rescans, which reset the nodes' own contexts. */
static StateFileList *
create_list(EState *estate)
{
	StateFileList *list = palloc0(sizeof(StateFileList));

	RegisterExprContextCallback(CreateExprContext(estate), delete_list, PointerGetDatum(list));
	return list;
}

/* Returns true if a file is in a list, having been read before. */
static bool
has_file(const StateFileList *list, const StateFile *file)
{
	ListCell   *lc;

	foreach(lc, list->files)
	{
		const StatePlace *place = &((const StateFile *) lfirst(lc))->place;

		if (place->writer == file->place.writer && place->number == file->place.number)
			return true;
	}
	return false;
}

void
statefile_keep(StateFile *file, StateFileList **list, EState *estate)
{
	MemoryContext old = MemoryContextSwitchTo(estate->es_query_cxt);

	BufFileClose(file->file);
	if (*list == NULL)
		*list = create_list(estate);
	if (!has_file(*list, file))
	{
		StateFile  *closed = palloc(sizeof(StateFile));

		*closed = *file;
		(*list)->files = lappend((*list)->files, closed);
	}
	pfree(file);
	MemoryContextSwitchTo(old);
}

void
statefile_expect(void)
{
	/* a session that has had parallel workers remains their group leader */
	files_possible |= MyProc->lockGroupLeader != NULL;
}

/* Deletes this leader's files in a tablespace. */
static void
delete_in(Oid tablespace)
{
	FileSet		set = {.creator_pid = MyProcPid, .number = SET_NUMBER, .ntablespaces = 1,
						   .tablespaces = {tablespace}};

	FileSetDeleteAll(&set);
}

/* Deletes this leader's files in all tablespaces, since workers choose among those for temporary files. */
static void
delete_files(void)
{
	DIR		   *dir = AllocateDir("pg_tblspc");
	struct dirent *entry;

	delete_in(DEFAULTTABLESPACE_OID);
	while ((entry = ReadDirExtended(dir, "pg_tblspc", LOG)) != NULL)
	{
		Oid			tablespace = atooid(entry->d_name);

		if (OidIsValid(tablespace))
			delete_in(tablespace);
	}
	if (dir)
		FreeDir(dir);
}

/* Transaction callback: all queries and their workers have ended. */
static void
at_end(XactEvent event, void *arg)
{
	if (event != XACT_EVENT_ABORT && event != XACT_EVENT_PRE_COMMIT && event != XACT_EVENT_PRE_PREPARE)
		return;
	if (event == XACT_EVENT_ABORT)
		statefile_expect();
	if (files_possible)
		delete_files();
	files_possible = false;
}

/* Subtransaction callback: a query may have failed before it read its workers' files, and the transaction continues. */
static void
at_end_of_subtransaction(SubXactEvent event, SubTransactionId id, SubTransactionId parent, void *arg)
{
	if (event == SUBXACT_EVENT_ABORT_SUB)
		statefile_expect();
}

void
statefile_init(void)
{
	RegisterXactCallback(at_end, NULL);
	RegisterSubXactCallback(at_end_of_subtransaction, NULL);
}
