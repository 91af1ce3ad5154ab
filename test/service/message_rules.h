/*
 * message_rules.h: what the readers of messages rely on.
 */
#ifndef GPUSORT_TEST_MESSAGE_RULES_H
#define GPUSORT_TEST_MESSAGE_RULES_H

#include "src/service/protocol.h"

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
		case GSD_FAILED:
			return strnlen(m->result.text, GSD_TEXT_BYTES) < GSD_TEXT_BYTES;
		default:
			return true;
	}
}

#endif
