/*
 * main.c: runs the programs of this module inside a server.
 *
 * fuzz_replayed runs one over the inputs of a directory; fuzz_searched, where the module was built with libFuzzer,
 * looks for others, guided by what of the extension's code they reach.
 */
#include "server.h"

#include <dirent.h>

#include "catalog/pg_type_d.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "storage/fd.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

PG_MODULE_MAGIC;

PG_FUNCTION_INFO_V1(fuzz_replayed);
PG_FUNCTION_INFO_V1(fuzz_searched);

typedef void (*Program) (const uint8 *bytes, Size n);

/* A program by its name. */
static Program
program_named(const text *name)
{
	char	   *string = text_to_cstring(name);

	if (strcmp(string, "keys") == 0)
		return check_keys;
	if (strcmp(string, "runs") == 0)
		return check_runs;
	if (strcmp(string, "output") == 0)
		return check_output;
	elog(ERROR, "there is no program \"%s\"", string);
}

/* Runs a program in memory of its own. */
static void
check_alone(Program program, const uint8 *bytes, Size n)
{
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "input", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);

	CHECK_FOR_INTERRUPTS();
	program(bytes, n);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}

/* A file as a bytea. */
static bytea *
read_input(const char *path)
{
	FILE	   *file = AllocateFile(path, "rb");
	bytea	   *bytes = palloc(VARHDRSZ + 65536);

	if (file == NULL)
		ereport(ERROR, (errcode_for_file_access(), errmsg("could not open file \"%s\": %m", path)));
	SET_VARSIZE(bytes, VARHDRSZ + fread(VARDATA(bytes), 1, 65536, file));
	FreeFile(file);
	return bytes;
}

/* Says which input an error is of. */
static void
say_input(void *arg)
{
	errcontext("input \"%s\"", (char *) arg);
}

/* fuzz_replayed(program, directory): checks all inputs there, and returns how many. */
Datum
fuzz_replayed(PG_FUNCTION_ARGS)
{
	char	   *directory = text_to_cstring(PG_GETARG_TEXT_PP(1));
	DIR		   *dir = AllocateDir(directory);
	struct dirent *entry;
	int32		count = 0;

	while ((entry = ReadDir(dir, directory)) != NULL)
	{
		bytea	   *bytes;
		ErrorContextCallback callback = {error_context_stack, say_input, entry->d_name};

		if (entry->d_name[0] == '.')
			continue;
		error_context_stack = &callback;
		bytes = read_input(psprintf("%s/%s", directory, entry->d_name));
		check_alone(program_named(PG_GETARG_TEXT_PP(0)), (uint8 *) VARDATA(bytes), VARSIZE(bytes) - VARHDRSZ);
		pfree(bytes);
		error_context_stack = callback.previous;
		count++;
	}
	FreeDir(dir);
	PG_RETURN_INT32(count);
}

#ifdef FUZZ
extern int	LLVMFuzzerRunDriver(int *argc, char ***argv, int (*test) (const uint8_t *bytes, size_t n));

static Program searched;

/* For libFuzzer: a broken rule ends the program.  What the server says of it is in its log. */
static int
test_one(const uint8_t *bytes, size_t n)
{
	PG_TRY();
	{
		check_alone(searched, bytes, n);
	}
	PG_CATCH();
	{
		EmitErrorReport();
		abort();
	}
	PG_END_TRY();
	return 0;
}
#endif

/* fuzz_searched(program, arguments): runs libFuzzer with these; the backend ends with it. */
Datum
fuzz_searched(PG_FUNCTION_ARGS)
{
#ifdef FUZZ
	Datum	   *words;
	int			count;
	char	  **argv;

	deconstruct_array(PG_GETARG_ARRAYTYPE_P(1), TEXTOID, -1, false, TYPALIGN_INT, &words, NULL, &count);
	argv = palloc0(sizeof(char *) * (count + 2));
	argv[0] = "fuzz";
	for (int i = 0; i < count; i++)
		argv[i + 1] = TextDatumGetCString(words[i]);
	count++;
	searched = program_named(PG_GETARG_TEXT_PP(0));
	PG_RETURN_INT32(LLVMFuzzerRunDriver(&count, &argv, test_one));
#else
	elog(ERROR, "this module was built without libFuzzer");
#endif
}
