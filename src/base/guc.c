/*
 * guc.c: the settings.  None needs a restart.
 */
#include "postgres.h"

#include <float.h>
#include <limits.h>

#include "miscadmin.h"
#include "utils/guc.h"

#include "costs.h"
#include "guc.h"
#include "keptmem.h"
#include "src/service/protocol.h"

bool		gpusort_enabled = true;
int			gpusort_min_rows = 1000;
int			gpusort_work_mem = 256 * 1024;
int			gpusort_kept_memory = 256 * 1024;
int			gpusort_verify = VERIFY_AUTO;
bool		gpusort_explain_machine = true;
bool		gpusort_parallel_blocks = true;
bool		gpusort_aggregates = true;
bool		gpusort_output = true;
int			gpusort_index_builds = INDEX_BUILDS_ON;
int			gpusort_parallel_windows = SHARES_AUTO;
int			gpusort_cores = 0;
double		gpusort_cpu_row_cost = SORT_ROW_COST;
int			gpusort_engine = ENGINE_CHOICE_AUTO;
int			gpusort_gpu_min_rows = GPU_MIN_ROWS;
char	   *gpusort_devices;
int			gpusort_max_device_memory = 0;
int			gpusort_pinned_memory = 1024;
int			gpusort_timeout = 10000;
char	   *gpusort_service_options;
int			gpusort_columns = COLUMNS_ON;
int			gpusort_columns_memory = 0;
int			gpusort_columns_device_memory = 0;
int			gpusort_columns_threads = 0;
bool		gpusort_columns_float_sums = true;
int			gpusort_columns_roll = 250;
int			gpusort_columns_quiet = 60000;

/* Other spellings of "on" and "off". */
#define ON_OFF_ALIASES(on, off) \
	{"true", on, true}, \
	{"false", off, true}, \
	{"yes", on, true}, \
	{"no", off, true}, \
	{"1", on, true}, \
	{"0", off, true}

static const struct config_enum_entry columns_options[] = {
	{"on", COLUMNS_ON, false},
	{"off", COLUMNS_OFF, false},
	{"force", COLUMNS_FORCE, false},
	ON_OFF_ALIASES(COLUMNS_ON, COLUMNS_OFF),
	{NULL, 0, false}
};

static const struct config_enum_entry engine_options[] = {
	{"auto", ENGINE_CHOICE_AUTO, false},
	{"gpu", ENGINE_CHOICE_GPU, false},
	{"cpu", ENGINE_CHOICE_CPU, false},
	{NULL, 0, false}
};

static const struct config_enum_entry index_build_options[] = {
	{"on", INDEX_BUILDS_ON, false},
	{"off", INDEX_BUILDS_OFF, false},
	{"force", INDEX_BUILDS_FORCE, false},
	ON_OFF_ALIASES(INDEX_BUILDS_ON, INDEX_BUILDS_OFF),
	{NULL, 0, false}
};

static const struct config_enum_entry share_options[] = {
	{"on", SHARES_AUTO, false},
	{"off", SHARES_OFF, false},
	{"scan", SHARES_SCAN, false},
	{"exchange", SHARES_EXCHANGE, false},
	ON_OFF_ALIASES(SHARES_AUTO, SHARES_OFF),
	{NULL, 0, false}
};

static const struct config_enum_entry verify_options[] = {
	{"auto", VERIFY_AUTO, false},
	{"off", VERIFY_OFF, false},
	{"sample", VERIFY_SAMPLE, false},
	{"words", VERIFY_WORDS, false},
	{"full", VERIFY_FULL, false},
	{NULL, 0, false}
};

/* More than the maximum number of workers. */
#define MAX_CORES 4096

/* Minimal memory of a sort. */
#define MIN_MEMORY_KB 1024

Size
gpusort_memory_limit(void)
{
	int			kilobytes = gpusort_work_mem < 0 ? work_mem : gpusort_work_mem;

	return (Size) Max(kilobytes, MIN_MEMORY_KB) * 1024;
}

/* Rejects values between -1 ("as work_mem") and the minimum. */
static bool
check_work_mem(int *newval, void **extra, GucSource source)
{
	if (*newval >= 0 && *newval < MIN_MEMORY_KB)
	{
		GUC_check_errdetail("\"gpusort.work_mem\" must be at least %d kB, or -1 to use \"work_mem\".", MIN_MEMORY_KB);
		return false;
	}
	return true;
}

/* Releases kept memory beyond a lower limit at once. */
static void
assign_kept_memory(int newval, void *extra)
{
	keptmem_limit(newval);
}

/* Defines the settings of sorts. */
static void
define_sort_settings(void)
{
	DefineCustomBoolVariable("gpusort.enabled",
							 "Lets gpusort do the sorts it can do.",
							 "Off makes plans that already hold a GpuSort node sort as PostgreSQL does.",
							 &gpusort_enabled, true, PGC_USERSET, GUC_EXPLAIN, NULL, NULL, NULL);
	DefineCustomIntVariable("gpusort.min_rows",
							"Estimated rows from which a sort is taken over.",
							NULL,
							&gpusort_min_rows, 1000, 0, INT_MAX, PGC_USERSET, GUC_EXPLAIN, NULL, NULL, NULL);
	DefineCustomIntVariable("gpusort.work_mem",
							"Memory that one sort may hold before it writes temporary files.",
							"-1 means the same as work_mem.",
							&gpusort_work_mem, 256 * 1024, -1, MAX_KILOBYTES, PGC_USERSET, GUC_UNIT_KB | GUC_EXPLAIN,
							check_work_mem, NULL, NULL);
	DefineCustomIntVariable("gpusort.kept_memory",
							"Memory of its sorts that a session keeps for its next ones.",
							"The system may take it back at any time, and gets it after some idle seconds.",
							&gpusort_kept_memory, 256 * 1024, 0, MAX_KILOBYTES, PGC_USERSET, GUC_UNIT_KB,
							NULL, assign_kept_memory, NULL);
	DefineCustomEnumVariable("gpusort.verify",
							 "Checks what engines answer, by words of keys or by the types' comparison functions.",
							 "\"words\" looks at all neighbours of an order as rows are given out, \"auto\" does so "
							 "where it is cheap, else at a sample of what a GPU answers; "
							 "\"sample\" looks at one also of what the CPU does; \"full\" looks at everything before "
							 "the first row is given out.",
							 &gpusort_verify, VERIFY_AUTO, verify_options, PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomBoolVariable("gpusort.explain_machine",
							 "Shows what depends on the machine in EXPLAIN: memory, times, device names.",
							 NULL,
							 &gpusort_explain_machine, true, PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomBoolVariable("gpusort.parallel_blocks",
							 "Lets parallel workers hand sorted rows over in blocks.",
							 "Off makes them hand over row by row, through a Gather Merge alone.",
							 &gpusort_parallel_blocks, true, PGC_USERSET, GUC_EXPLAIN, NULL, NULL, NULL);
	DefineCustomBoolVariable("gpusort.aggregates",
							 "Lets gpusort plan aggregates that sort for themselves.",
							 "Its own take the place of PostgreSQL's, with the same results.",
							 &gpusort_aggregates, true, PGC_USERSET, GUC_EXPLAIN, NULL, NULL, NULL);
	DefineCustomBoolVariable("gpusort.output",
							 "Lets gpusort write the rows that go to the client.",
							 "The bytes that the client gets are PostgreSQL's.",
							 &gpusort_output, true, PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomEnumVariable("gpusort.index_builds",
							 "Lets gpusort sort the rows of a btree before PostgreSQL builds it.",
							 "\"force\" is for tests: also where PostgreSQL's sort is expected to be as fast.",
							 &gpusort_index_builds, INDEX_BUILDS_ON, index_build_options, PGC_USERSET, 0,
							 NULL, NULL, NULL);
	DefineCustomEnumVariable("gpusort.parallel_windows",
							 "Lets parallel workers compute windows, DISTINCT and groups, each a share of them.",
							 "\"scan\" and \"exchange\" choose how rows reach their share, which \"on\" leaves to "
							 "costs: each participant reads all rows, or a part of them that it hands on.",
							 &gpusort_parallel_windows, SHARES_AUTO, share_options, PGC_USERSET, GUC_EXPLAIN,
							 NULL, NULL, NULL);
	DefineCustomIntVariable("gpusort.cores",
							"Cores that the participants of one query can have, for the planner.",
							"0 asks the system: those that the server may run on, within its control group's quota.",
							&gpusort_cores, 0, 0, MAX_CORES, PGC_USERSET, GUC_NOT_IN_SAMPLE | GUC_EXPLAIN,
							NULL, NULL, NULL);
	DefineCustomRealVariable("gpusort.cpu_row_cost",
							 "Sets the planner's estimate of the cost of sorting a row.",
							 "What eight bytes of key cost, and merging a row that workers have sorted, goes with it.",
							 &gpusort_cpu_row_cost, SORT_ROW_COST, 0, DBL_MAX, PGC_USERSET, GUC_EXPLAIN,
							 NULL, NULL, NULL);
}

/* Rejects paths outside the data directory, for any option, however it is abbreviated. */
static bool
check_service_options(char **newval, void **extra, GucSource source)
{
	size_t		length;

	for (const char *word = *newval; word && *word; word += length)
	{
		const char *value;

		word += strspn(word, " ");
		length = strcspn(word, " ");
		value = memchr(word, '=', length);
		value = value ? value + 1 : word;
		if (!gsd_path_inside(value, length - (size_t) (value - word)))
		{
			GUC_check_errdetail("Paths must be relative to the data directory and without \"..\": \"%.*s\".",
								(int) length, word);
			return false;
		}
	}
	return true;
}

/* Defines the settings of the GPU service: who may use it, and its resources. */
static void
define_service_settings(void)
{
	DefineCustomEnumVariable("gpusort.engine",
							 "Where sorts run: on the GPU or on the CPU.",
							 "\"auto\" takes the GPU for sorts large enough, once its service runs; "
							 "\"gpu\" always tries it, and waits for its service to start.",
							 &gpusort_engine, ENGINE_CHOICE_AUTO, engine_options, PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("gpusort.gpu_min_rows",
							"Estimated rows from which a sort runs on the GPU if gpusort.engine is \"auto\".",
							NULL,
							&gpusort_gpu_min_rows, GPU_MIN_ROWS, 0, INT_MAX, PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomStringVariable("gpusort.devices",
							   "Numbers of the GPUs to use, separated by commas; empty means all.",
							   NULL,
							   &gpusort_devices, "", PGC_SIGHUP, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("gpusort.max_device_memory",
							"Memory of each GPU that sorts may take together.",
							"0 means most of what is free when the service starts.",
							&gpusort_max_device_memory, 0, 0, INT_MAX / 1024, PGC_SIGHUP, GUC_UNIT_MB,
							NULL, NULL, NULL);
	DefineCustomIntVariable("gpusort.pinned_memory",
							"Memory of the host through which all sessions together may talk to the GPUs.",
							NULL,
							&gpusort_pinned_memory, 1024, 0, INT_MAX / 1024, PGC_SIGHUP, GUC_UNIT_MB, NULL, NULL, NULL);
	DefineCustomIntVariable("gpusort.timeout",
							"How long the GPU service may give no sign of life.",
							"After this a sort goes on on the CPU, and the service is replaced.",
							&gpusort_timeout, 10000, 100, INT_MAX / 2, PGC_SIGHUP, GUC_UNIT_MS, NULL, NULL, NULL);
	DefineCustomStringVariable("gpusort.service_options",
							   "More options for gpusortd, for tests: see gpusortd --help.",
							   NULL,
							   &gpusort_service_options, "", PGC_SIGHUP, GUC_NOT_IN_SAMPLE | GUC_SUPERUSER_ONLY,
							   check_service_options, NULL, NULL);
}

/* Defines the settings of resident columns. */
static void
define_columns_settings(void)
{
	DefineCustomEnumVariable("gpusort.columns",
							 "Answers queries from columns that gpusort_columns_add has chosen.",
							 "\"force\" is for tests: what columns cannot answer is an error.",
							 &gpusort_columns, COLUMNS_ON, columns_options, PGC_USERSET, GUC_EXPLAIN,
							 NULL, NULL, NULL);
	DefineCustomIntVariable("gpusort.columns_memory",
							"Memory of the host that columns and the queries over them may take.",
							"0 means a quarter of what the server may use.",
							&gpusort_columns_memory, 0, 0, INT_MAX, PGC_SIGHUP, GUC_UNIT_MB, NULL, NULL, NULL);
	DefineCustomIntVariable("gpusort.columns_device_memory",
							"Memory of each GPU that columns may take.",
							"0 means half of what sorts and columns may take there together.",
							&gpusort_columns_device_memory, 0, 0, INT_MAX, PGC_SIGHUP, GUC_UNIT_MB,
							NULL, NULL, NULL);
	DefineCustomIntVariable("gpusort.columns_threads",
							"Threads that answer queries from columns in the host's memory, for all sessions.",
							"0 means one for each core that the server may use.",
							&gpusort_columns_threads, 0, 0, GSD_MAX_THREADS, PGC_SIGHUP, 0, NULL, NULL, NULL);
	DefineCustomBoolVariable("gpusort.columns_float_sums",
							 "Answers sum and avg of double precision from columns.",
							 "Their values are then added in another order, as by PostgreSQL's parallel workers.",
							 &gpusort_columns_float_sums, true, PGC_USERSET, GUC_EXPLAIN, NULL, NULL, NULL);
	DefineCustomIntVariable("gpusort.columns_roll",
							"Time between two looks of a keeper of columns at its tables, for tests.",
							NULL,
							&gpusort_columns_roll, 250, 1, 60000, PGC_SIGHUP, GUC_UNIT_MS | GUC_NOT_IN_SAMPLE,
							NULL, NULL, NULL);
	DefineCustomIntVariable("gpusort.columns_quiet",
							"Time without a query after which a keeper of columns ends, for tests.",
							NULL,
							&gpusort_columns_quiet, 60000, 1, INT_MAX, PGC_SIGHUP, GUC_UNIT_MS | GUC_NOT_IN_SAMPLE,
							NULL, NULL, NULL);
}

void
gpusort_guc_init(void)
{
	define_sort_settings();
	define_service_settings();
	define_columns_settings();
	MarkGUCPrefixReserved("gpusort");
}
