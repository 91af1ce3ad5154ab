/*
 * message_test.c: the parser of both ends, fed with valid, changed and random packets, with and without descriptors.
 */
#define _GNU_SOURCE
#include "src/service/protocol.h"
#include "message_rules.h"
#include "test/kernels/tap.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#define ROUNDS 300000

/*
 * Descriptors that this process has.
 */
static int
descriptors(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = 0;

	while (readdir(dir) != NULL)
		n++;
	closedir(dir);
	return n;
}

/*
 * Makes a packet that may be valid: a known type with a likely length, and small numbers in it.
 */
static size_t
make_packet(gsd_message *m)
{
	static const size_t sizes[] = {
		sizeof(gsd_header), sizeof(gsd_hello), sizeof(gsd_ring),	sizeof(gsd_job_message),
		sizeof(gsd_slot),	sizeof(gsd_count), sizeof(gsd_sorted),	sizeof(gsd_result_part),
		sizeof(gsd_result), sizeof(gsd_begun), sizeof(gsd_devices), sizeof(gsd_begin),
		sizeof(gsd_settings), sizeof(gsd_table), sizeof(gsd_number), sizeof(gsd_keep), sizeof(gsd_store),
		sizeof(gsd_publish), sizeof(gsd_wanted), sizeof(gsd_note), sizeof(gsd_done),
		sizeof(gsd_dictionary_of),
		sizeof(gsd_map_of), sizeof(gsd_table_info), sizeof(gsd_check), sizeof(gsd_checked), sizeof(gsd_ask),
		sizeof(gsd_answered),
	};
	size_t bytes = sizes[rnd_below(sizeof(sizes) / sizeof(sizes[0]))];

	memset(m, 0, sizeof(*m));
	if (rnd_below(20) == 0)
	{
		gsd_head(&m->head, GSD_RING, sizeof(m->ring));
		m->ring.slots = 1 + (uint32_t) rnd_below(GSD_MAX_SLOTS + 2);
		m->ring.areas = 1 + (uint32_t) rnd_below(4);
		m->ring.slot_bytes = rnd_below(100000) * GSD_PAGE;
		m->ring.area_bytes = (1 + rnd_below(4)) * GSD_PAGE;
		return sizeof(m->ring);
	}
	if (rnd_below(4) == 0)
		bytes += rnd_below(40) * 4;
	m->head.type = (uint32_t) (rnd_below(2) ? 1 + rnd_below(GSD_ASK + 1) : 64 + rnd_below(18));
	m->head.bytes = (uint32_t) bytes;
	for (size_t i = sizeof(gsd_header); i < bytes; i += 4)
		if (rnd_below(3) == 0)
		{
			uint32_t value = (uint32_t) (rnd_below(2) ? rnd_below(80) : rnd_below(3) ? 4096 * rnd_below(5) : rnd());

			memcpy(m->bytes + i, &value, sizeof(value));
		}
	if (rnd_below(10) == 0)
		m->bytes[rnd_below(bytes)] = (char) rnd();
	return rnd_below(10) ? bytes : rnd_below(GSD_MAX_MESSAGE + 1);
}

/*
 * Random packets to the parser alone.
 */
static void
test_parser(void)
{
	static gsd_message m;
	uint64_t accepted = 0, wrong = 0;

	for (int i = 0; i < ROUNDS; i++)
	{
		size_t bytes = make_packet(&m);

		for (int side = 0; side < 2; side++)
			if (gsd_message_valid(&m, bytes, side))
			{
				accepted++;
				wrong += !accepted_well(&m, bytes, side);
			}
	}
	tap_ok(wrong == 0, "what is accepted keeps the rules");
	tap_ok(accepted > ROUNDS / 100, "valid messages are accepted (%d of %d)", (int) accepted, ROUNDS);
}

/*
 * Packets over a socket, some with descriptors, as many as anyone likes.
 */
static void
test_socket(void)
{
	int pair[2], before, kept = 0;
	static gsd_message m, in;
	int ok = 0;

	(void) !socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair);
	before = descriptors();
	for (int i = 0; i < ROUNDS / 20; i++)
	{
		size_t bytes = make_packet(&m);
		struct iovec part = {&m, bytes};
		int fds[12];
		union
		{
			struct cmsghdr align;
			char bytes[CMSG_SPACE(sizeof(fds))];
		} control = {0};
		struct msghdr packet = {.msg_iov = &part, .msg_iovlen = 1};
		uint32_t nfds = (uint32_t) (rnd_below(2) ? rnd_below(3) : rnd_below(12));
		int fd = -1;

		if (nfds > 0)
		{
			struct cmsghdr *rights;

			packet.msg_control = control.bytes;
			packet.msg_controllen = CMSG_SPACE(nfds * sizeof(int));
			rights = CMSG_FIRSTHDR(&packet);
			rights->cmsg_level = SOL_SOCKET;
			rights->cmsg_type = SCM_RIGHTS;
			rights->cmsg_len = CMSG_LEN(nfds * sizeof(int));
			for (uint32_t k = 0; k < nfds; k++)
				fds[k] = pair[k % 2];
			memcpy(CMSG_DATA(rights), fds, nfds * sizeof(int));
		}
		if (sendmsg(pair[0], &packet, MSG_DONTWAIT) < 0)
			continue;
		if (gsd_receive(pair[1], &in, rnd_below(2), rnd_below(2) ? &fd : NULL) == GSD_IO_OK)
			ok++;
		if (fd >= 0)
		{
			kept++;
			close(fd);
		}
	}
	tap_ok(ok > 0, "some messages pass");
	tap_ok(kept > 0, "some with a descriptor");
	tap_ok(descriptors() == before, "no descriptor is left");
	close(pair[0]);
	tap_ok(gsd_receive(pair[1], &in, true, NULL) == GSD_IO_CLOSED, "the end is seen");
	close(pair[1]);
}

/*
 * What was said before the end is heard, also where the other side had not read all, which the kernel calls a reset.
 */
static void
test_last_word(void)
{
	int pair[2];
	gsd_count ping;
	static gsd_message in;

	(void) !socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair);
	gsd_head(&ping.head, GSD_PING, sizeof(ping));
	(void) gsd_send(pair[0], &ping.head, -1);
	ping.head.type = GSD_PONG;
	(void) gsd_send(pair[1], &ping.head, -1);
	close(pair[1]);
	tap_ok(gsd_receive(pair[0], &in, false, NULL) == GSD_IO_OK && in.head.type == GSD_PONG, "the last word is heard");
	tap_ok(gsd_receive(pair[0], &in, false, NULL) == GSD_IO_CLOSED, "and then the end is seen");
	close(pair[0]);
}

/*
 * Files that are no ring.
 */
static void
test_ring(void)
{
	int fd = memfd_create("ring", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	int zero = open("/dev/zero", O_RDWR);

	(void) !ftruncate(fd, 8 * GSD_PAGE);
	tap_ok(gsd_ring_check(fd, 8 * GSD_PAGE) != GS_OK, "a file that can shrink is refused");
	fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW);
	tap_ok(gsd_ring_check(fd, 8 * GSD_PAGE) != GS_OK, "so is one whose seals can be changed");
	fcntl(fd, F_ADD_SEALS, F_SEAL_SEAL);
	tap_ok(gsd_ring_check(fd, 8 * GSD_PAGE) == GS_OK, "a sealed one is taken");
	tap_ok(gsd_ring_check(fd, 9 * GSD_PAGE) != GS_OK, "but not with another size");
	tap_ok(gsd_ring_check(zero, 8 * GSD_PAGE) != GS_OK, "nor a device");
	tap_ok(gsd_ring_check(-1, 8 * GSD_PAGE) != GS_OK, "nor nothing");
	close(fd);
	close(zero);
}

int
main(void)
{
	seed(0);
	test_parser();
	test_socket();
	test_last_word();
	test_ring();
	return tap_done();
}
