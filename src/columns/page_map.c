/*
 * page_map.c: the map of held pages, in a sealed memory file.
 */
#include "postgres.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "page_map.h"

/* Attempts to copy a version while the keeper writes one, which takes a memcpy. */
#define READ_ATTEMPTS 1000

/* Nobody may shrink the file, or write to it but through the keeper's mapping. */
#define MAP_SEALS (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

/* Offsets of the parts. */
#define HELD_AT		TYPEALIGN(4096, sizeof(PageMapHeader))

/* Returns where young pages are. */
static Size
young_at(BlockNumber capacity)
{
	return HELD_AT + TYPEALIGN(4096, ((Size) capacity + 63) / 64 * sizeof(uint64));
}

/* Returns where LSNs are. */
static Size
lsns_at(BlockNumber capacity)
{
	return young_at(capacity) + TYPEALIGN(4096, (Size) capacity * sizeof(YoungPage));
}

/* Returns where segments are. */
static Size
segments_at(BlockNumber capacity)
{
	return lsns_at(capacity) + TYPEALIGN(4096, (Size) capacity * sizeof(XLogRecPtr));
}

/* Returns where buffers are. */
static Size
buffers_at(BlockNumber capacity)
{
	return segments_at(capacity) + TYPEALIGN(4096, (Size) capacity * sizeof(uint32));
}

/* The file is sparse: young pages that were never written take no memory. */
static Size
map_bytes(BlockNumber capacity)
{
	return buffers_at(capacity) + TYPEALIGN(4096, (Size) capacity * sizeof(Buffer));
}

/* Sets the pointers to a map's parts. */
static void
set_parts(PageMap *map, void *base, BlockNumber capacity)
{
	map->header = base;
	map->held = (uint64 *) ((char *) base + HELD_AT);
	map->young = (YoungPage *) ((char *) base + young_at(capacity));
	map->lsns = (XLogRecPtr *) ((char *) base + lsns_at(capacity));
	map->segments = (uint32 *) ((char *) base + segments_at(capacity));
	map->buffers = (Buffer *) ((char *) base + buffers_at(capacity));
	map->bytes = map_bytes(capacity);
}

bool
page_map_create(PageMap *map, const PageMapHeader *constant, BlockNumber capacity)
{
	Size		bytes = map_bytes(capacity);
	int			fd = memfd_create("gpusort columns", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	void	   *base;

	if (fd < 0)
		return false;
	base = ftruncate(fd, (off_t) bytes) == 0 ? mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) :
		MAP_FAILED;
	if (base == MAP_FAILED || fcntl(fd, F_ADD_SEALS, MAP_SEALS | F_SEAL_FUTURE_WRITE) != 0)
	{
		int			save_errno = errno;

		if (base != MAP_FAILED)
			munmap(base, bytes);
		close(fd);
		errno = save_errno;
		return false;
	}
	set_parts(map, base, capacity);
	map->fd = fd;
	memcpy(map->header, constant, offsetof(PageMapHeader, sequence));
	map->header->magic = PAGE_MAP_MAGIC;
	map->header->format = PAGE_MAP_FORMAT;
	map->header->capacity = capacity;
	pg_atomic_init_u64(&map->header->sequence, 0);
	return true;
}

/* Returns true if a file is sealed against all but its keeper, and has a header. */
static bool
is_sealed(int fd, Size *bytes)
{
	int			seals = fcntl(fd, F_GET_SEALS);
	struct stat st;

	if (seals < 0 || (seals & MAP_SEALS) != MAP_SEALS || (seals & (F_SEAL_FUTURE_WRITE | F_SEAL_WRITE)) == 0 ||
		fstat(fd, &st) != 0 || st.st_size < (off_t) HELD_AT)
		return false;
	*bytes = (Size) st.st_size;
	return true;
}

bool
page_map_attach(PageMap *map, int fd)
{
	Size		bytes;
	void	   *base = is_sealed(fd, &bytes) ? mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0) : MAP_FAILED;
	const PageMapHeader *header = base;

	close(fd);
	if (base == MAP_FAILED)
		return false;
	if (header->magic != PAGE_MAP_MAGIC || header->format != PAGE_MAP_FORMAT ||
		header->ncolumns > PAGE_MAP_MAX_COLUMNS || map_bytes(header->capacity) != bytes)
	{
		munmap(base, bytes);
		return false;
	}
	set_parts(map, base, header->capacity);
	map->fd = -1;
	return true;
}

void
page_map_detach(PageMap *map)
{
	if (map->header != NULL)
		munmap(map->header, map->bytes);
	if (map->fd >= 0)
		close(map->fd);
	memset(map, 0, sizeof(*map));
	map->fd = -1;
}

/* Bytes of the bits of pages. */
static Size
held_bytes(BlockNumber nblocks)
{
	return ((Size) nblocks + 63) / 64 * sizeof(uint64);
}

void
page_map_publish(PageMap *map, const PageMapHeader *changing, const uint64 *held, const YoungPage *young)
{
	PageMapHeader *header = map->header;
	const Size	from = offsetof(PageMapHeader, sequence) + sizeof(header->sequence);

	Assert(changing->nblocks <= header->capacity && changing->nyoung <= header->capacity);
	pg_atomic_fetch_add_u64(&header->sequence, 1);	/* a full barrier */
	memcpy((char *) header + from, (const char *) changing + from, sizeof(*header) - from);
	memcpy(map->held, held, held_bytes(changing->nblocks));
	memcpy(map->young, young, changing->nyoung * sizeof(YoungPage));
	pg_atomic_fetch_add_u64(&header->sequence, 1);
}

/* Copies what is there now, whole or torn.  Returns false if the numbers alone show that it is torn. */
static bool
copy_parts(const PageMap *map, PageMapCopy *copy)
{
	const PageMapHeader *header = map->header;

	copy->version = header->version;
	copy->window = header->window;
	copy->nblocks = header->nblocks;
	copy->nyoung = header->nyoung;
	if (copy->nblocks > header->capacity || copy->nyoung > copy->nblocks)
		return false;
	copy->held = palloc_extended(held_bytes(copy->nblocks) + 1, MCXT_ALLOC_HUGE);
	copy->young = palloc_extended(copy->nyoung * sizeof(YoungPage) + 1, MCXT_ALLOC_HUGE);
	memcpy(copy->held, map->held, held_bytes(copy->nblocks));
	memcpy(copy->young, map->young, copy->nyoung * sizeof(YoungPage));
	return true;
}

bool
page_map_read(const PageMap *map, PageMapCopy *copy)
{
	for (int attempt = 0; attempt < READ_ATTEMPTS; attempt++)
	{
		uint64		before = pg_atomic_read_u64(&map->header->sequence);
		bool		whole;

		memset(copy, 0, sizeof(*copy));
		pg_read_barrier();
		whole = before % 2 == 0 && copy_parts(map, copy);
		pg_read_barrier();
		if (whole && copy->version > 0 && pg_atomic_read_u64(&map->header->sequence) == before)
			return true;
		page_map_free_copy(copy);
		if (whole && copy->version == 0)
			return false;
		pg_usleep(attempt < 10 ? 0 : 100);
	}
	return false;
}

void
page_map_free_copy(PageMapCopy *copy)
{
	if (copy->held)
		pfree(copy->held);
	if (copy->young)
		pfree(copy->young);
	copy->held = NULL;
	copy->young = NULL;
}
