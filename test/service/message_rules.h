/*
 * message_rules.h: what the readers of messages rely on.
 */
#ifndef GPUSORT_TEST_MESSAGE_RULES_H
#define GPUSORT_TEST_MESSAGE_RULES_H

#include "src/service/protocol.h"
#include "kernels/gs_groups.h"

#include <string.h>

/*
 * What a reader may rely on once a message was accepted.
 */
static inline bool
accepted_well(const gsd_message *m, size_t bytes, bool from_client)
{
	if (m->head.bytes != bytes || (m->head.type < 64) != from_client)
		return false;
	switch (m->head.type)
	{
		case GSD_RING:
			return gsd_ring_bytes(&m->ring) >= 2 * GSD_PAGE && gsd_ring_bytes(&m->ring) <= GSD_MAX_RING;
		case GSD_BEGIN:
			return m->begin.ncolumns > 0 && m->begin.order_columns <= m->begin.ncolumns &&
				   m->begin.key_columns <= m->begin.ncolumns &&
				   sizeof(gsd_begin) + m->begin.ncolumns * sizeof(gsd_column) + m->begin.constant_bytes == bytes;
		case GSD_ADD:
		case GSD_TAKEN:
		case GSD_FREE:
			return m->slot.slot < GSD_MAX_SLOTS;
		case GSD_SORTED:
			return m->sorted.results <= m->sorted.rows && m->sorted.selected <= m->sorted.rows;
		case GSD_DEVICES:
			for (uint32_t i = 0; i < m->devices.count; i++)
				if (m->devices.devices[i].device >= GSD_MAX_DEVICES)
					return false;
			return sizeof(gsd_devices) + m->devices.count * sizeof(gsd_device) == bytes;
		case GSD_TABLE:
			for (uint32_t i = 0; i < m->table.ncolumns; i++)
				if (gs_type_width((gs_type) (m->table.types[i] & ~GSD_TYPE_CODES)) == 0)
					return false;
			return m->table.ncolumns > 0 && m->table.folder[0] != '\0' && m->table.folder[0] != '/' &&
				   strnlen(m->table.folder, GSD_PATH_BYTES) < GSD_PATH_BYTES &&
				   sizeof(gsd_table) + m->table.ncolumns == bytes;
		case GSD_CHECK:
			return m->check.ncolumns > 0 && m->check.slot < GSD_MAX_SLOTS &&
				   sizeof(gsd_check) + m->check.ncolumns * sizeof(uint32_t) == bytes;
		case GSD_ASK:
			return m->ask.ncolumns > 0 && m->ask.ncolumns <= GS_STEPS_MAX_COLUMNS &&
				   m->ask.ranked <= m->ask.ncolumns * ((uint64_t) m->ask.further + 1) && m->ask.counted <= 1 &&
				   m->ask.aside <= 1 &&
				   m->ask.steps_bytes >= sizeof(gs_steps) && m->ask.steps_bytes <= GS_STEPS_MAX_BYTES &&
				   sizeof(gsd_ask) + m->ask.ncolumns * sizeof(uint32_t) == bytes;
		case GSD_ANSWERED:
			return m->answered.bytes <= GS_GROUPS_MOST_BYTES &&
				   m->answered.groups * sizeof(gs_row) <= m->answered.bytes &&
				   (m->answered.status == GS_OK || m->answered.bytes == 0);
		case GSD_KEEP:
			return m->keep.slot < GSD_MAX_SLOTS;
		case GSD_STORE:
			return m->store.slot < GSD_MAX_SLOTS && m->store.npages > 0 && m->store.pages_at % 8 == 0 &&
				   m->store.zero == 0;
		case GSD_DICTIONARY:
			return m->dictionary_of.zero == 0;
		case GSD_PUBLISH:
			return m->publish.slot < GSD_MAX_SLOTS;
		case GSD_WANTED:
			return m->wanted.first % 64 == 0;
		case GSD_NOTE:
			return strnlen(m->note.reason, GSD_TEXT_BYTES) < GSD_TEXT_BYTES;
		case GSD_DONE:
			return strnlen(m->done.text, GSD_TEXT_BYTES) < GSD_TEXT_BYTES;
		case GSD_TABLE_INFO:
			return strnlen(m->table_info.reason, GSD_TEXT_BYTES) < GSD_TEXT_BYTES &&
				   strnlen(m->table_info.name, GSD_NAME_BYTES) < GSD_NAME_BYTES && m->table_info.device >= -1 &&
				   m->table_info.device < GSD_MAX_DEVICES;
		case GSD_FAILED:
			return strnlen(m->result.text, GSD_TEXT_BYTES) < GSD_TEXT_BYTES;
		default:
			return true;
	}
}

#endif
