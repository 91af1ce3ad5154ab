/*
 * fault.c: injects faults for tests.
 */
#include "service.h"
#include "kernels/common/steps_row.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Decides, when a job begins, whether it is to fail. */
bool
gsd_fault_choose(void)
{
	static _Atomic unsigned jobs;

	return options.fault != FAULT_NONE && atomic_fetch_add(&jobs, 1) % (unsigned) options.fault_every == 0;
}

/* Writes excessive output: overlong, invalid in every encoding, very many lines, unterminated. */
static void
babble(void)
{
	char text[3000];

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	dprintf(STDERR_FILENO, "%s\nnext\nquoted \"\\\001\377\"\n", text);
	gsd_log("WARNING", "babbling on purpose");
	for (int i = 1; i <= 2000; i++)
		dprintf(STDERR_FILENO, "line %d\n", i);
	/* drain the pipe first */
	usleep(500000);
	dprintf(STDERR_FILENO, "WARNING:  not ended");
}

/* Returns true if a chosen job is to fail in this way at this stage.  Crash, hang and babble are executed here. */
bool
gsd_fault_here(bool chosen, fault_kind kind, fault_stage stage)
{
	if (!chosen || options.fault != kind || options.stage != stage)
		return false;
	if (kind == FAULT_CRASH)
	{
		gsd_log("LOG", "crashing on purpose");
		_exit(70);
	}
	if (kind == FAULT_BABBLE)
		babble();
	while (kind == FAULT_HANG)
		sleep(1);
	return true;
}

gs_status
gsd_fault_status(bool chosen, fault_stage stage)
{
	(void) gsd_fault_here(chosen, FAULT_CRASH, stage);
	(void) gsd_fault_here(chosen, FAULT_HANG, stage);
	(void) gsd_fault_here(chosen, FAULT_BABBLE, stage);
	if (gsd_fault_here(chosen, FAULT_OOM, stage))
		return GS_NOMEM;
	if (gsd_fault_here(chosen, FAULT_WRONG, stage))
		return GS_WRONG_ORDER;
	return gsd_fault_here(chosen, FAULT_DEVICE, stage) || gsd_fault_here(chosen, FAULT_DEAD, stage) ? GS_DEVICE : GS_OK;
}

void
gsd_fault_chunk(bool chosen, gs_chunk *chunk, const gs_column_spec *columns)
{
	if (!gsd_fault_here(chosen, FAULT_KEYS, STAGE_ADD))
		return;
	for (uint32_t i = 0; i < chunk->ncolumns; i++)
	{
		size_t width = gs_type_width(columns[i].type);

		/* strings: their rows + 1 offsets */
		memset((char *) chunk + chunk->columns[i].values, 0,
			   width > 0 ? chunk->rows * width : (chunk->rows + 1) * sizeof(uint32_t));
	}
}

/* Reverses an array of elements. */
static void
reverse(char *array, uint64_t count, uint64_t bytes)
{
	for (char *low = array, *high = array + (count - 1) * bytes; low < high; low += bytes, high -= bytes)
		for (uint64_t i = 0; i < bytes; i++)
		{
			char kept = low[i];

			low[i] = high[i];
			high[i] = kept;
		}
}

/* Swaps a pair of the result, if a part has both. */
static void
swap_pair(uint64_t given, char *part, uint64_t count, uint64_t bytes)
{
	if (options.fault_rows >= given && options.fault_rows + 1 < given + count)
		reverse(part + (options.fault_rows - given) * bytes, 2, bytes);
}

void
gsd_fault_piece(bool chosen, uint64_t given, char *part, uint64_t count, uint64_t bytes)
{
	fault_stage stage = given == 0 ? STAGE_FINISH : STAGE_NEXT;

	if (count > 1 && gsd_fault_here(chosen, FAULT_CORRUPT, stage))
		memcpy(part + (count - 1) * bytes, part, bytes);
	if (count > 1 && gsd_fault_here(chosen, FAULT_ORDER, stage))
		reverse(part, count, bytes);
	if (chosen && options.fault == FAULT_SWAP)
		swap_pair(given, part, count, bytes);
}

/* Changes how many rows a group's aggregates have counted, if they have any. */
static void
count_wrong(gs_reduced *group, const gs_group_step *step, uint64_t by)
{
	for (uint32_t i = 0; i < step->naggregates; i++)
		if (group[step->nkeys + i].count > 0)
			group[step->nkeys + i].count += by;
}

void
gsd_fault_groups(bool chosen, uint64_t given, char *part, uint64_t count, const gs_steps *steps)
{
	uint64_t bytes = gs_steps_result_bytes(steps);
	const gs_group_step *group = gs_steps_group(steps);
	uint64_t key_bytes = group != NULL ? group->nkeys * sizeof(gs_reduced) : bytes;

	if (given == 0 && gsd_fault_here(chosen, FAULT_CORRUPT, STAGE_FINISH))
		memset(part, 0xff, count * bytes);
	if (given == 0 && gsd_fault_here(chosen, FAULT_KEYS, STAGE_FINISH))
		for (uint64_t i = 0; i < count; i++)
			memset(part + i * bytes, 0, key_bytes);
	/* at stage next, of a result of one part as well, one is there twice, or the order is another one */
	if (count > 1 && gsd_fault_here(chosen, FAULT_CORRUPT, STAGE_NEXT))
		memcpy(part + (count - 1) * bytes, part, bytes);
	if (count > 1 && gsd_fault_here(chosen, FAULT_ORDER, STAGE_FINISH))
		reverse(part, count, bytes);
	if (chosen && options.fault == FAULT_SWAP)
		swap_pair(given, part, count, bytes);
	if (given == 0 && count > 0 && group != NULL && gsd_fault_here(chosen, FAULT_COUNT, STAGE_FINISH))
		count_wrong((gs_reduced *) part, group, UINT64_MAX);
	if (given == 0 && count > 0 && group != NULL && gsd_fault_here(chosen, FAULT_COUNT, STAGE_NEXT))
		count_wrong((gs_reduced *) part, group, 1);
	/* a line that its page does not have, in place of the first row's */
	if (count > 0 && group == NULL && gsd_fault_here(chosen, FAULT_ORDER, STAGE_NEXT))
		*(uint64_t *) part |= 0xff;
}

void
gsd_fault_answer(bool chosen, char *results, uint64_t room, const gs_steps *steps, gsd_answered *answer)
{
	uint64_t bytes = gs_steps_result_bytes(steps);

	if (answer->bytes > 0 && answer->bytes <= room)
		gsd_fault_groups(chosen, 0, results, answer->groups, steps);
	/* one group has no other to be like */
	if (answer->groups == 1 && gsd_fault_here(chosen, FAULT_CORRUPT, STAGE_NEXT))
		memset(results, 0xff, bytes);
	if (gsd_fault_here(chosen, FAULT_SHORT, STAGE_NEXT) && answer->bytes > options.fault_rows * sizeof(gs_reduced))
		answer->bytes = options.fault_rows * sizeof(gs_reduced);
	/* more groups than rows */
	if (gsd_fault_here(chosen, FAULT_SHORT, STAGE_FINISH))
	{
		answer->groups += options.fault_rows;
		answer->bytes = answer->groups * bytes;
	}
}
