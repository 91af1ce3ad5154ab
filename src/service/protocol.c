/*
 * protocol.c: sends, receives and validates the messages of protocol.h, for both sides.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "protocol.h"
#include "kernels/gs_groups.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Descriptors received per packet; the kernel drops more.  More than one is refused, but must be noticed. */
#define MAX_DESCRIPTORS 8

/* Returns true if a text is terminated within its field. */
static bool
text_valid(const char *text, size_t bytes)
{
	return memchr(text, 0, bytes) != NULL;
}

/* Checks a job's columns and constant, which give the message's length.  The engine checks the operation. */
static bool
begin_valid(const gsd_begin *begin, size_t bytes)
{
	if (bytes < sizeof(*begin) || begin->ncolumns == 0 || begin->ncolumns > GSD_MAX_COLUMNS ||
		begin->constant_bytes > GSD_MAX_MESSAGE ||
		bytes != sizeof(*begin) + begin->ncolumns * sizeof(gsd_column) + begin->constant_bytes ||
		begin->avoid >> GSD_MAX_DEVICES != 0 || begin->rows_hint > GS_MAX_ROWS)
		return false;
	if (begin->operation > GS_COUNT || begin->exclusive > 1 || begin->by_flags > 1 || begin->comparison > GS_BETWEEN ||
		begin->order_columns > begin->ncolumns || begin->key_columns > begin->ncolumns)
		return false;
	for (uint32_t c = 0; c < begin->ncolumns; c++)
	{
		const gsd_column *column = &begin->columns[c];

		if (column->type > GS_BYTES || column->desc > 1 || column->nulls_first > 1 || column->zero != 0)
			return false;
	}
	return true;
}

/* Checks a list of devices. */
static bool
devices_valid(const gsd_devices *devices, size_t bytes)
{
	if (bytes < sizeof(*devices) || devices->count > GSD_MAX_DEVICES ||
		bytes != sizeof(*devices) + devices->count * sizeof(gsd_device))
		return false;
	for (uint32_t d = 0; d < devices->count; d++)
		if (devices->devices[d].device >= GSD_MAX_DEVICES || !text_valid(devices->devices[d].name, GSD_NAME_BYTES))
			return false;
	return true;
}

/* Returns true if a column's type has a fixed width, and codes are unsigned integers of up to 32 bits. */
static bool
type_valid(uint8_t type)
{
	if (type & GSD_TYPE_CODES)
		return type == (GSD_TYPE_CODES | GS_U8) || type == (GSD_TYPE_CODES | GS_U16) ||
			   type == (GSD_TYPE_CODES | GS_U32);
	return type < GS_BYTES;
}

/* Checks a table: its columns have a fixed width, and its folder lies in the data directory. */
static bool
table_valid(const gsd_table *table, size_t bytes)
{
	if (bytes < sizeof(*table) || table->table == 0 || table->relation == 0 || table->ncolumns == 0 ||
		table->ncolumns > GSD_TABLE_COLUMNS || bytes != sizeof(*table) + table->ncolumns)
		return false;
	if (!text_valid(table->folder, GSD_PATH_BYTES) || table->folder[0] == '\0' ||
		!gsd_path_inside(table->folder, strlen(table->folder)))
		return false;
	for (uint32_t c = 0; c < table->ncolumns; c++)
		if (!type_valid(table->types[c]))
			return false;
	return true;
}

/* Checks the length of a check's list of columns.  The reader compares their numbers with the table. */
static bool
check_valid(const gsd_check *check, size_t bytes)
{
	return bytes >= sizeof(*check) && check->ncolumns > 0 && check->ncolumns <= GSD_TABLE_COLUMNS &&
		   check->slot < GSD_MAX_SLOTS && check->table != 0 &&
		   bytes == sizeof(*check) + check->ncolumns * sizeof(uint32_t);
}

/* Checks the lengths of a question's lists. */
static bool
ask_valid(const gsd_ask *ask, size_t bytes)
{
	return bytes >= sizeof(*ask) && ask->table != 0 && ask->ncolumns > 0 && ask->ncolumns <= GS_STEPS_MAX_COLUMNS &&
		   ask->ranked <= ask->ncolumns * ((uint64_t) ask->further + 1) && ask->counted <= 1 &&
		   ask->aside <= 1 &&
		   ask->steps_bytes >= sizeof(gs_steps) && ask->steps_bytes <= GS_STEPS_MAX_BYTES &&
		   bytes == sizeof(*ask) + ask->ncolumns * sizeof(uint32_t);
}

/* Validates a client's message about resident columns. */
static bool
columns_message_valid(const gsd_message *m, size_t bytes)
{
	switch (m->head.type)
	{
		case GSD_SETTINGS:
			return bytes == sizeof(gsd_settings) && m->settings.threads <= GSD_MAX_THREADS && m->settings.zero == 0;
		case GSD_TABLE:
			return table_valid(&m->table, bytes);
		case GSD_DROP:
		case GSD_MAP:
		case GSD_INFO:
			return bytes == sizeof(gsd_number);
		case GSD_KEEP:
			return bytes == sizeof(gsd_keep) && m->keep.slot < GSD_MAX_SLOTS;
		case GSD_STORE:
			return bytes == sizeof(gsd_store) && m->store.table != 0 && m->store.slot < GSD_MAX_SLOTS &&
				   m->store.npages > 0 && m->store.pages_at % 8 == 0 && m->store.zero == 0;
		case GSD_PUBLISH:
			return bytes == sizeof(gsd_publish) && m->publish.table != 0 && m->publish.slot < GSD_MAX_SLOTS &&
				   m->publish.last <= 1 && m->publish.zero == 0;
		case GSD_WANTED:
			return bytes == sizeof(gsd_wanted) && m->wanted.table != 0 && m->wanted.first % 64 == 0;
		case GSD_NOTE:
			return bytes == sizeof(gsd_note) && text_valid(m->note.reason, GSD_TEXT_BYTES);
		case GSD_DICTIONARY:
			return bytes == sizeof(gsd_dictionary_of) && m->dictionary_of.zero == 0;
		case GSD_CHECK:
			return check_valid(&m->check, bytes);
		case GSD_ASK:
			return ask_valid(&m->ask, bytes);
		default:
			return false;
	}
}

/* Validates a client's message. */
static bool
client_message_valid(const gsd_message *m, size_t bytes)
{
	switch (m->head.type)
	{
		case GSD_HELLO: /* magic and version are answered, not rejected here */
			return bytes == sizeof(gsd_hello);
		case GSD_RING:
			return bytes == sizeof(gsd_ring) && gsd_ring_bytes(&m->ring) != 0;
		case GSD_BEGIN:
			return begin_valid(&m->begin, bytes);
		case GSD_ADD:
		case GSD_TAKEN:
			return bytes == sizeof(gsd_slot) && m->slot.slot < GSD_MAX_SLOTS && m->slot.zero == 0 && m->slot.full == 0;
		case GSD_FINISH:
		case GSD_PING:
			return bytes == sizeof(gsd_count) && m->count.zero == 0;
		case GSD_END:
			return bytes == sizeof(gsd_job_message) && m->job.zero == 0;
		case GSD_STATUS:
			return bytes == sizeof(gsd_header);
		default:
			return columns_message_valid(m, bytes);
	}
}

/* Validates what the service says about resident columns. */
static bool
columns_answer_valid(const gsd_message *m, size_t bytes)
{
	switch (m->head.type)
	{
		case GSD_DONE:
			return bytes == sizeof(gsd_done) && m->done.status <= GS_WRONG_ORDER && m->done.zero == 0 &&
				   text_valid(m->done.text, GSD_TEXT_BYTES);
		case GSD_MAP_OF:
			return bytes == sizeof(gsd_map_of);
		case GSD_TABLE_INFO:
			return bytes == sizeof(gsd_table_info) && m->table_info.device >= -1 &&
				   m->table_info.device < GSD_MAX_DEVICES && m->table_info.zero == 0 &&
				   text_valid(m->table_info.name, GSD_NAME_BYTES) &&
				   text_valid(m->table_info.reason, GSD_TEXT_BYTES);
		case GSD_CHECKED:
			return bytes == sizeof(gsd_checked) && m->checked.status <= GS_WRONG_ORDER;
		case GSD_ANSWERED:
			return bytes == sizeof(gsd_answered) && m->answered.status <= GS_WRONG_ORDER &&
				   m->answered.bytes <= GS_GROUPS_MOST_BYTES && m->answered.bytes % sizeof(gs_row) == 0 &&
				   m->answered.groups <= m->answered.bytes / sizeof(gs_row) && m->answered.on_host <= 1 &&
				   (m->answered.copied == 0 || m->answered.on_host == 1) &&
				   (m->answered.bytes == 0 || m->answered.status == GS_OK);
		default:
			return false;
	}
}

/* Validates a message of the service. */
static bool
service_message_valid(const gsd_message *m, size_t bytes)
{
	switch (m->head.type)
	{
		case GSD_WELCOME:
			return bytes == sizeof(gsd_welcome) && m->welcome.status <= GS_WRONG_ORDER && m->welcome.gpu <= 1 &&
				   m->welcome.columns_only <= 1 && m->welcome.zero == 0;
		case GSD_RING_DONE:
		case GSD_FAILED:
			return bytes == sizeof(gsd_result) && m->result.status <= GS_WRONG_ORDER &&
				   text_valid(m->result.text, GSD_TEXT_BYTES);
		case GSD_BEGUN:
			return bytes == sizeof(gsd_begun) && m->begun.device < GSD_MAX_DEVICES &&
				   text_valid(m->begun.name, GSD_NAME_BYTES);
		case GSD_FREE:
			return bytes == sizeof(gsd_slot) && m->slot.slot < GSD_MAX_SLOTS && m->slot.zero == 0 && m->slot.full <= 1;
		case GSD_SORTED:
			return bytes == sizeof(gsd_sorted) && m->sorted.input <= GS_DESCENDING &&
				m->sorted.results <= m->sorted.rows &&
				   m->sorted.selected <= m->sorted.rows;
		case GSD_PART:
			return bytes == sizeof(gsd_result_part) && m->part.area < GSD_MAX_SLOTS && m->part.zero == 0;
		case GSD_ENDED:
		case GSD_BUSY:
			return bytes == sizeof(gsd_job_message) && m->job.zero == 0;
		case GSD_PONG:
			return bytes == sizeof(gsd_count) && m->count.zero == 0;
		case GSD_DEVICES:
			return devices_valid(&m->devices, bytes);
		default:
			return columns_answer_valid(m, bytes);
	}
}

bool
gsd_message_valid(const gsd_message *message, size_t bytes, bool from_client)
{
	if (bytes < sizeof(gsd_header) || bytes > GSD_MAX_MESSAGE || message->head.bytes != bytes)
		return false;
	return from_client ? client_message_valid(message, bytes) : service_message_valid(message, bytes);
}

uint64_t
gsd_ring_bytes(const gsd_ring *ring)
{
	if (ring->slots == 0 || ring->slots > GSD_MAX_SLOTS || ring->areas == 0 || ring->areas > GSD_MAX_SLOTS ||
		ring->slot_bytes == 0 || ring->slot_bytes % GSD_PAGE != 0 || ring->slot_bytes > GSD_MAX_RING ||
		ring->area_bytes == 0 || ring->area_bytes % GSD_PAGE != 0 || ring->area_bytes > GSD_MAX_RING ||
		ring->plain > 1 || ring->zero != 0)
		return 0;
	if (ring->slots * ring->slot_bytes + ring->areas * ring->area_bytes > GSD_MAX_RING)
		return 0;
	return ring->slots * ring->slot_bytes + ring->areas * ring->area_bytes;
}

/* Returns how many descriptors come with a valid message: 1 or none. */
static uint32_t
count_descriptors(const gsd_message *message)
{
	switch (message->head.type)
	{
		case GSD_RING:
		case GSD_TABLE:
			return 1;
		case GSD_MAP_OF:
			return message->map_of.table != 0;
		default:
			return 0;
	}
}

gs_status
gsd_map_check(int fd)
{
	int seals = fcntl(fd, F_GET_SEALS), wanted = F_SEAL_SHRINK | F_SEAL_FUTURE_WRITE;

	return seals >= 0 && (seals & wanted) == wanted ? GS_OK : GS_PROTOCOL;
}

gs_status
gsd_ring_check(int fd, uint64_t bytes)
{
	int seals = fcntl(fd, F_GET_SEALS);
	int wanted = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL;
	struct stat st;

	if (seals < 0 || (seals & wanted) != wanted || (seals & F_SEAL_WRITE) != 0)
		return GS_PROTOCOL;
	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || (uint64_t) st.st_size != bytes)
		return GS_PROTOCOL;
	return GS_OK;
}

bool
gsd_path_inside(const char *path, size_t bytes)
{
	if (bytes > 0 && path[0] == '/')
		return false;
	for (size_t i = 0; i + 1 < bytes; i++)
		if (path[i] == '.' && path[i + 1] == '.' && (i == 0 || path[i - 1] == '/') &&
			(i + 2 == bytes || path[i + 2] == '/'))
			return false;
	return true;
}

uint64_t
gsd_now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t) now.tv_sec * 1000000000u + (uint64_t) now.tv_nsec;
}

void
gsd_head(gsd_header *head, gsd_type type, size_t bytes)
{
	memset(head, 0, bytes);
	head->type = type;
	head->bytes = (uint32_t) bytes;
}

gsd_io
gsd_send(int socket, const gsd_header *head, int fd)
{
	struct iovec part = {(void *) head, head->bytes};
	struct msghdr packet = {.msg_iov = &part, .msg_iovlen = 1};
	union
	{
		struct cmsghdr align;
		char bytes[CMSG_SPACE(sizeof(int))];
	} control;
	ssize_t sent;

	if (fd >= 0)
	{
		struct cmsghdr *rights;

		memset(&control, 0, sizeof(control));
		packet.msg_control = control.bytes;
		packet.msg_controllen = sizeof(control.bytes);
		rights = CMSG_FIRSTHDR(&packet);
		rights->cmsg_level = SOL_SOCKET;
		rights->cmsg_type = SCM_RIGHTS;
		rights->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(rights), &fd, sizeof(int));
	}
	do
		sent = sendmsg(socket, &packet, MSG_DONTWAIT | MSG_NOSIGNAL);
	while (sent < 0 && errno == EINTR);
	if (sent >= 0)
		return GSD_IO_OK;
	return errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS ? GSD_IO_AGAIN : GSD_IO_CLOSED;
}

/* Extracts the descriptors of a packet: the first one, and their number.  Closes all others. */
static int
take_descriptors(struct msghdr *packet, int *count)
{
	int first = -1;

	*count = 0;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(packet); c != NULL; c = CMSG_NXTHDR(packet, c))
	{
		size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		for (size_t i = 0; i < n; i++)
		{
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
			if ((*count)++ == 0)
				first = fd;
			else
				close(fd);
		}
	}
	return first;
}

gsd_io
gsd_receive(int socket, gsd_message *message, bool from_client, int *fd)
{
	struct iovec part = {message, sizeof(*message)};
	union
	{
		struct cmsghdr align;
		char bytes[CMSG_SPACE(MAX_DESCRIPTORS * sizeof(int))];
	} control;
	struct msghdr packet = {
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes),
	};
	ssize_t got;
	int count, descriptor;
	bool lost, valid;

	if (fd != NULL)
		*fd = -1;
	/*
	 * a reset is reported once, if the peer is gone without having read everything; its earlier messages are still
	 * readable
	 */
	do
		got = recvmsg(socket, &packet, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	while (got < 0 && (errno == EINTR || errno == ECONNRESET));
	if (got < 0)
		return errno == EAGAIN || errno == EWOULDBLOCK ? GSD_IO_AGAIN : GSD_IO_CLOSED;
	descriptor = take_descriptors(&packet, &count);
	/* an empty packet is indistinguishable from the end of the connection; both end it */
	if (got == 0 && count == 0)
		return GSD_IO_CLOSED;
	/* a process at its limit of descriptors receives none of those passed */
	lost = (packet.msg_flags & MSG_CTRUNC) && count == 0 && fd != NULL;
	valid = !(packet.msg_flags & MSG_TRUNC) && gsd_message_valid(message, (size_t) got, from_client);
	if (valid && lost && count_descriptors(message) == 1)
		return GSD_IO_OK;
	if (valid && !(packet.msg_flags & MSG_CTRUNC) && count == (int) count_descriptors(message) &&
		(count == 0 || fd != NULL))
	{
		if (fd != NULL)
			*fd = descriptor;
		return GSD_IO_OK;
	}
	if (descriptor >= 0)
		close(descriptor);
	return GSD_IO_BAD;
}
