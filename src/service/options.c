/*
 * options.c: the command line of gpusortd.
 */
#include "service.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

gsd_options options = {
	.gpu = true,
	.pinned_memory = (uint64_t) 1 << 30,
	.stall_seconds = 10,
	.idle_seconds = 60,
	.socket = GSD_SOCKET,
	.fault_every = 1,
};

/* Prints the usage. */
static void
usage(void)
{
	printf("gpusortd sorts on GPUs for PostgreSQL servers that have the extension gpusort.\n"
		   "It is started by the server; there is no need to call it by hand.\n\n"
		   "Usage:\n  gpusortd [OPTION]...    (in the server's data directory)\n\n"
		   "Options:\n"
		   "  --engine=cpu|gpu        what does the work (default gpu; cpu is for tests)\n"
		   "  --devices=LIST          numbers of the GPUs to use, separated by commas (default all);\n"
		   "                          with --engine=cpu how many devices to make up (default 1)\n"
		   "  --max-device-memory=MB  memory of each device that jobs may take (default 0: most of it)\n"
		   "  --pinned-memory=MB      host memory that all sessions' rings may take (default 1024)\n"
		   "  --stall=SECONDS         end when a job makes no progress for so long (default 10)\n"
		   "  --idle=SECONDS          take the ring of a session, and what a device holds, after so long (default 60)\n"
		   "  --threads=N             threads of the CPU engine (default 1; more have no effect yet)\n"
		   "  --socket=PATH           below the data directory (default " GSD_SOCKET ")\n"
		   "  --columns               without a device, stay and hold columns in the host's memory\n"
		   "  --core                  may leave core files, which hold users' values (default: none)\n"
		   "  --fault=KIND[:N][@STAGE]  for tests, fail: crash, hang, corrupt, oom, device, version, babble (much\n"
		   "                          is said), short:N (the order ends after N rows), keys (all are taken for\n"
		   "                          zeros), swap:N (the rows at N and N + 1 of the order are swapped), order\n"
		   "                          (parts of the result are reversed), or count (a row of a group is not\n"
		   "                          counted, or at next counted twice); at begin, add, finish\n"
		   "                          (of a result: the first part), next (the other parts), or rest (no job has\n"
		   "                          come for --idle)\n"
		   "  --fault-every=N         only in every Nth job\n"
		   "  --help, --version\n");
}

/* Reads a number between bounds.  Returns false for anything else. */
static bool
number(const char *text, long long low, long long high, long long *value)
{
	char *end;

	*value = strtoll(text, &end, 10);
	return end != text && *end == '\0' && *value >= low && *value <= high;
}

/* Finds a word in a list.  Returns -1 if it is not there. */
static int
word(const char *text, size_t length, const char *const *list)
{
	for (int i = 0; list[i] != NULL; i++)
		if (strlen(list[i]) == length && strncmp(text, list[i], length) == 0)
			return i;
	return -1;
}

/* Reads KIND[:N][@STAGE]. */
static bool
read_fault(const char *text)
{
	static const char *const kinds[] = {"none",  "crash", "hang",  "corrupt", "keys",
										"order", "oom",	  "short", "version", "babble", "device",  "dead",
										"swap",	 "count", "narrow", "wrong", NULL};
	static const char *const stages[] = {"begin", "add", "finish", "next", "rest", NULL};
	static const fault_stage usual[] = {STAGE_FINISH, STAGE_FINISH, STAGE_FINISH, STAGE_NEXT, STAGE_ADD,
										STAGE_FINISH, STAGE_BEGIN, STAGE_NEXT, STAGE_BEGIN, STAGE_BEGIN, STAGE_FINISH,
										STAGE_FINISH, STAGE_NEXT, STAGE_FINISH, STAGE_BEGIN, STAGE_FINISH};
	size_t length = strcspn(text, ":@");
	int kind = word(text, length, kinds);

	if (kind < 0)
		return false;
	options.fault = (fault_kind) kind;
	options.stage = usual[kind];
	text += length;
	if (*text == ':')
	{
		char *end;

		options.fault_rows = strtoull(text + 1, &end, 10);
		if (end == text + 1 || (kind != FAULT_SHORT && kind != FAULT_SWAP))
			return false;
		text = end;
	}
	else if (kind == FAULT_SHORT || kind == FAULT_SWAP)
		return false;
	if (*text == '@')
	{
		int stage = word(text + 1, strlen(text + 1), stages);

		if (stage < 0)
			return false;
		options.stage = (fault_stage) stage;
		text += strlen(text);
	}
	return *text == '\0';
}

enum
{
	OPT_ENGINE = 256,
	OPT_DEVICES,
	OPT_MAX_DEVICE_MEMORY,
	OPT_PINNED_MEMORY,
	OPT_STALL,
	OPT_IDLE,
	OPT_THREADS,
	OPT_SOCKET,
	OPT_COLUMNS,
	OPT_CORE,
	OPT_FAULT,
	OPT_FAULT_EVERY,
	OPT_HELP,
	OPT_VERSION
};

/* Sets one option.  Returns false if its value is invalid. */
static bool
take_option(int option, const char *value)
{
	static const char *const engines[] = {"cpu", "gpu", NULL};
	long long n = 0;
	bool valid = true;

	switch (option)
	{
		case OPT_ENGINE:
			valid = word(value, strlen(value), engines) >= 0;
			options.gpu = strcmp(value, "gpu") == 0;
			break;
		case OPT_DEVICES:
			options.devices = *value ? value : NULL;
			break;
		case OPT_MAX_DEVICE_MEMORY:
			valid = number(value, 0, (long long) 1 << 30, &n);
			options.device_memory = (uint64_t) n << 20;
			break;
		case OPT_PINNED_MEMORY:
			valid = number(value, 0, (long long) 1 << 30, &n);
			options.pinned_memory = (uint64_t) n << 20;
			break;
		case OPT_STALL:
			valid = number(value, 1, 86400, &n);
			options.stall_seconds = (int) n;
			break;
		case OPT_IDLE:
			valid = number(value, 1, 86400, &n);
			options.idle_seconds = (int) n;
			break;
		case OPT_THREADS:
			valid = number(value, 1, 256, &n);
			options.threads = (int) n;
			break;
		case OPT_SOCKET:
			valid = *value != '\0' && gsd_path_inside(value, strlen(value));
			options.socket = value;
			break;
		case OPT_COLUMNS:
			options.columns = true;
			break;
		case OPT_CORE:
			options.core = true;
			break;
		case OPT_FAULT:
			valid = read_fault(value);
			break;
		case OPT_FAULT_EVERY:
			valid = number(value, 1, 1000000, &n);
			options.fault_every = (int) n;
			break;
	}
	return valid;
}

int
gsd_read_options(int argc, char **argv)
{
	static const struct option list[] = {
		{"engine", required_argument, NULL, OPT_ENGINE},
		{"devices", required_argument, NULL, OPT_DEVICES},
		{"max-device-memory", required_argument, NULL, OPT_MAX_DEVICE_MEMORY},
		{"pinned-memory", required_argument, NULL, OPT_PINNED_MEMORY},
		{"stall", required_argument, NULL, OPT_STALL},
		{"idle", required_argument, NULL, OPT_IDLE},
		{"threads", required_argument, NULL, OPT_THREADS},
		{"socket", required_argument, NULL, OPT_SOCKET},
		{"columns", no_argument, NULL, OPT_COLUMNS},
		{"core", no_argument, NULL, OPT_CORE},
		{"fault", required_argument, NULL, OPT_FAULT},
		{"fault-every", required_argument, NULL, OPT_FAULT_EVERY},
		{"help", no_argument, NULL, OPT_HELP},
		{"version", no_argument, NULL, OPT_VERSION},
		{NULL, 0, NULL, 0},
	};
	int option, index;

	opterr = 0;
	while ((option = getopt_long(argc, argv, "", list, &index)) != -1)
	{
		if (option == OPT_HELP)
		{
			usage();
			return 0;
		}
		if (option == OPT_VERSION)
		{
			printf("gpusortd (gpusort) %s, protocol %d\n", GSD_RELEASE, GSD_VERSION);
			return 0;
		}
		if (option == '?')
		{
			gsd_log("LOG", "invalid option \"%s\": try \"gpusortd --help\"", argv[optind - 1]);
			return GSD_EXIT_USAGE;
		}
		if (!take_option(option, optarg))
		{
			gsd_log("LOG", "invalid value for --%s: \"%s\"", list[index].name, optarg);
			return GSD_EXIT_USAGE;
		}
	}
	if (optind < argc)
	{
		gsd_log("LOG", "unexpected argument \"%s\": try \"gpusortd --help\"", argv[optind]);
		return GSD_EXIT_USAGE;
	}
	return -1;
}
