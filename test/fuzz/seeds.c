/*
 * seeds.c: inputs that are right, from which fuzzing begins: seeds DIRECTORY, which has a folder for each program.
 */
#include "fuzz.h"
#include "kernels/gs.h"
#include "src/service/dictionary.h"
#include "src/service/protocol.h"
#include "test/kernels/steps_examples.h"

#include <string.h>

static void
save(const char *dir, const char *kind, int number, const void *head, size_t head_bytes, const void *rest, size_t n)
{
	char path[4096];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s/seed%d", dir, kind, number);
	file = fopen(path, "wb");
	MUST(file != NULL);
	fwrite(head, 1, head_bytes, file);
	fwrite(rest, 1, n, file);
	fclose(file);
}

/* A chunk of 100 rows of one type beside an integer, every fifth value NULL. */
static void
chunk_of(const char *dir, gs_type type)
{
	static uint64_t buffer[1 << 14];
	gs_chunk *chunk = (gs_chunk *) buffer;
	gs_column_spec columns[2] = {{type, false, false}, {GS_I32, true, true}};
	uint8_t head[3] = {1, (uint8_t) type, GS_I32 | 0xc0};
	uint8_t *base = (uint8_t *) buffer;

	memset(buffer, 0, sizeof(buffer));
	MUST(gs_chunk_init(chunk, sizeof(buffer), columns, 2, 128, 8) == GS_OK);
	chunk->rows = 100;
	for (uint32_t r = 0; r < 100; r++)
	{
		if (type == GS_BYTES)
			((uint32_t *) (base + chunk->columns[0].values))[r + 1] = (r + 1) * 3;
		((int32_t *) (base + chunk->columns[1].values))[r] = (int32_t) (r * 7919 % 101) - 50;
		if (r % 5 == 0)
			((uint64_t *) (base + chunk->columns[0].nulls))[r / 64] |= (uint64_t) 1 << r % 64;
	}
	for (uint32_t i = 0; i < 100 * (type == GS_BYTES ? 3 : gs_type_width(type)); i++)
		base[(type == GS_BYTES ? chunk->columns[0].heap : chunk->columns[0].values) + i] = (uint8_t) (i * 31 % 251);
	chunk->columns[0].has_nulls = 1;
	save(dir, "chunk", type, head, sizeof(head), chunk, chunk->bytes);
}

/* A dictionary of four strings. */
static void
small_dictionary(const char *dir)
{
	static const char strings[8] = "abbccc";
	gsd_dictionary head = {
		.magic = GSD_DICTIONARY_MAGIC, .room = 4, .slots = 8, .strings_room = sizeof(strings), .count = 4};
	uint64_t file[64];
	uint64_t begin = 0;
	gsd_entries e;

	memset(file, 0, sizeof(file));
	memcpy(file, &head, sizeof(head));
	MUST(gsd_entries_open(&e, file, gsd_dictionary_bytes(&head)));
	memcpy(e.strings, strings, sizeof(strings));
	for (uint32_t code = 0; code < 4; begin += code++)
	{
		uint32_t at = (uint32_t) gsd_string_hash(strings + begin, code) & 7;

		while (e.index[at] != 0)
			at = (at + 1) & 7;
		e.index[at] = code + 1;
		e.ends[code] = begin + code;
	}
	save(dir, "dictionary", 0, file, gsd_dictionary_bytes(&head), "", 0);
}

/* Messages about columns that zeros do not make valid. */
static void
columns_messages(const char *dir, int number)
{
	static gsd_message m;

	gsd_head(&m.head, GSD_TABLE, sizeof(gsd_table) + 2);
	m.table.table = m.table.relation = 1;
	m.table.ncolumns = 2;
	strcpy(m.table.folder, "base/5");
	save(dir, "message", number++, &m, m.head.bytes, "", 0);
	gsd_head(&m.head, GSD_STORE, sizeof(gsd_store));
	m.store.table = m.store.npages = 1;
	save(dir, "message", number++, &m, m.head.bytes, "", 0);
	gsd_head(&m.head, GSD_PUBLISH, sizeof(gsd_publish));
	m.publish.table = m.publish.last = 1;
	save(dir, "message", number++, &m, m.head.bytes, "", 0);
	gsd_head(&m.head, GSD_WANTED, sizeof(gsd_wanted));
	m.wanted.table = 1;
	save(dir, "message", number++, &m, m.head.bytes, "", 0);
	gsd_head(&m.head, GSD_CHECK, sizeof(gsd_check) + 2 * sizeof(uint32_t));
	m.check.table = 1;
	m.check.ncolumns = 2;
	save(dir, "message", number++, &m, m.head.bytes, "", 0);
}

/* Lists of steps, each over two tables. */
static void
lists(const char *dir)
{
	static void (*const make[])(steps_list *) = {groups_example, rows_example, windows_example, computed_example,
		choices_example};
	static steps_list l;

	for (int i = 0; i < 10; i++)
	{
		uint8_t choices[8] = {(uint8_t) i, (uint8_t) (i * 3)};

		make[i / 2](&l);
		save(dir, "steps", i, choices, sizeof(choices), &l, l.head.bytes);
	}
}

int
main(int argc, char **argv)
{
	static const size_t sizes[] = {sizeof(gsd_header), sizeof(gsd_hello), sizeof(gsd_ring),	   sizeof(gsd_job_message),
								   sizeof(gsd_slot),   sizeof(gsd_count), sizeof(gsd_sorted),  sizeof(gsd_result_part),
								   sizeof(gsd_result), sizeof(gsd_begun), sizeof(gsd_devices), sizeof(gsd_begin),
								   sizeof(gsd_settings), sizeof(gsd_number), sizeof(gsd_keep),
								   sizeof(gsd_publish), sizeof(gsd_wanted),
								   sizeof(gsd_note), sizeof(gsd_done), sizeof(gsd_map_of), sizeof(gsd_table_info),
								   sizeof(gsd_checked)};
	static gsd_message m;
	int n = 0;

	MUST(argc == 2);
	for (int type = 0; type <= GS_BYTES; type++)
		chunk_of(argv[1], (gs_type) type);
	for (uint32_t type = 1; type <= GSD_CHECKED; type = type == GSD_CHECK ? GSD_WELCOME : type + 1)
		for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		{
			memset(&m, 0, sizeof(m));
			gsd_head(&m.head, type, (uint32_t) sizes[i]);
			if (gsd_message_valid(&m, sizes[i], true) || gsd_message_valid(&m, sizes[i], false))
				save(argv[1], "message", n++, &m, sizes[i], "", 0);
		}
	columns_messages(argv[1], n);
	small_dictionary(argv[1]);
	lists(argv[1]);
	for (int i = 0; i < 4; i++)
		save(argv[1], "order", i, "gpusort gpusort gpusort gpusort ", (size_t) i * 8, argv[1], 0);
	return 0;
}
