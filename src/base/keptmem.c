/*
 * keptmem.c: memory that a session keeps of one sort for the next.
 *
 * The first touch of a page costs more than most of what a sort does with it, and most of all where the system itself
 * is a guest that gives freed memory back to its host.  So the mappings of a sort that has ended wait here, named to
 * the kernel as memory that it may take whenever it wants some (MADV_FREE); what it has not taken is used again without
 * being cleared.  Client backends do so, up to gpusort.kept_memory; after KEPT_MS without use all is given back.
 *
 * Nothing here belongs to a memory context: a mapping is either a block's (bigmem.c) or kept, never both.
 */
#include "postgres.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "access/xact.h"
#include "miscadmin.h"
#include "port/atomics.h"
#include "storage/ipc.h"
#include "utils/timeout.h"

#include "keptmem.h"

/* How long what nobody uses is kept. */
#define KEPT_MS 30000

/* A mapping that does not grow takes none that is more than so many times as large. */
#define TOO_LARGE 2

typedef struct Piece
{
	char	   *base;
	Size		bytes;
	bool		grown;			/* such pieces go to what grows again, the others to what has its size */
} Piece;

static Piece pieces[32];
static int	npieces;
static Size kept_bytes;
static Size limit_bytes;		/* gpusort.kept_memory */
static TimeoutId timeout;
static bool timeout_known;

/* The list is being changed: the timer leaves it alone. */
static volatile sig_atomic_t busy;

/* A signal's handler may look at the list at any time: it has to see this first. */
static inline void
begin_change(void)
{
	busy = true;
	pg_compiler_barrier();
}

/* ... and this last. */
static inline void
end_change(void)
{
	pg_compiler_barrier();
	busy = false;
}

/* May a process map only so much? */
static bool
limited(int resource)
{
	struct rlimit limit;

	return getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

/* Is every page that is mapped paid for, touched or not?  Then what is kept here fails others. */
static bool
strict_commit(void)
{
	static int	strict = -1;
	char		mode = '0';
	int			file;

	if (strict >= 0)
		return strict;
	file = open("/proc/sys/vm/overcommit_memory", O_RDONLY);
	if (file >= 0)
	{
		if (read(file, &mode, 1) != 1)
			mode = '0';
		close(file);
	}
	strict = mode == '2' || limited(RLIMIT_AS) || limited(RLIMIT_DATA);
	return strict;
}

/* Lets the kernel take pages of a mapping when it wants some; false if it knows no such thing. */
static bool
name_free(void *base, Size bytes)
{
#ifdef MADV_FREE
	return madvise(base, bytes, MADV_FREE) == 0;
#else
	return false;
#endif
}

/* How many bytes may be kept. */
static Size
most_bytes(void)
{
	if (MyBackendType == B_BACKEND && !proc_exit_inprogress && !strict_commit())
		return limit_bytes;
	return 0;
}

/* The last one takes its place: order does not matter. */
static void
remove_piece(int i)
{
	kept_bytes -= pieces[i].bytes;
	pieces[i] = pieces[--npieces];
}

/* Gives pieces back, the last ones first, until no more than so many bytes are kept. */
static bool
shrink_to(Size most)
{
	Size		before = kept_bytes;

	begin_change();
	while (kept_bytes > most)
	{
		munmap(pieces[npieces - 1].base, pieces[npieces - 1].bytes);
		remove_piece(npieces - 1);
	}
	end_change();
	return kept_bytes < before;
}

/* Nobody has used what is kept for a while; runs in a signal handler. */
static void
time_is_up(void)
{
	int			saved = errno;

	/* whoever is busy with it sets the timer again */
	if (!busy)
		shrink_to(0);
	errno = saved;
}

/* Sets the timer anew. */
static void
start_timer(void)
{
	if (!timeout_known)
		timeout = RegisterTimeout(USER_TIMEOUT, time_is_up);
	timeout_known = true;
	enable_timeout_after(timeout, KEPT_MS);
}

/*
 * An error stops all timers.  Within a transaction block others may follow, of which nobody is told before its end; so
 * nothing is kept there.
 */
static void
restore_timer(void)
{
	if (npieces == 0 || get_timeout_active(timeout))
		return;
	if (IsTransactionBlock())
		keptmem_drop();
	else
		start_timer();
}

/* A query that ended with an error. */
static void
transaction_ends(XactEvent event, void *arg)
{
	if (event == XACT_EVENT_ABORT)
		restore_timer();
}

/* The same within a transaction: an error that was caught. */
static void
subtransaction_ends(SubXactEvent event, SubTransactionId id, SubTransactionId parent, void *arg)
{
	if (event == SUBXACT_EVENT_ABORT_SUB)
		restore_timer();
}

/* Appends a piece to one that ends where it begins, or the other way round. */
static bool
join(char *base, Size bytes, bool grown)
{
	for (int i = 0; bytes % HUGE_PAGE == 0 && i < npieces; i++)
	{
		if (pieces[i].bytes % HUGE_PAGE != 0 || pieces[i].grown != grown)
			continue;
		if (base + bytes == pieces[i].base)
			pieces[i].base = base;
		else if (pieces[i].base + pieces[i].bytes != base)
			continue;
		pieces[i].bytes += bytes;
		kept_bytes += bytes;
		return true;
	}
	return false;
}

/* How many bytes of a mapping that was written from its beginning on are in memory: more would be kept for nothing. */
static Size
touched_bytes(char *base, Size bytes)
{
	Size		touched = 0;

	while (touched < bytes)
	{
		Size		middle = (touched + (bytes - touched) / 2) / HUGE_PAGE * HUGE_PAGE;
		unsigned char there = 1;

		if (mincore(base + middle, 1, &there) != 0 || (there & 1))
			touched = Min(middle + HUGE_PAGE, bytes);
		else
			bytes = middle;
	}
	return touched;
}

/* Takes up as much of a mapping as there is room for; how much. */
static Size
keep(char *base, Size bytes, bool grown)
{
	Size		most = most_bytes();
	Size		room = most > kept_bytes ? most - kept_bytes : 0;

	if (room > 0 && grown)
		bytes = touched_bytes(base, bytes);
	if (bytes > room)
		bytes = room / HUGE_PAGE * HUGE_PAGE;
	if (bytes == 0 || !name_free(base, bytes))
		return 0;
	if (join(base, bytes, grown))
		return bytes;
	if (npieces == lengthof(pieces))
		return 0;
	pieces[npieces++] = (Piece) {base, bytes, grown};
	kept_bytes += bytes;
	return bytes;
}

void
keptmem_put(void *base, Size bytes, bool grown)
{
	Size		kept;

	begin_change();
	kept = keep(base, bytes, grown);
	end_change();
	if (kept < bytes)
		munmap((char *) base + kept, bytes - kept);
	if (kept > 0)
		start_timer();
}

/* The piece that suits best, -1: none. */
static int
find_piece(Size bytes, bool grows)
{
	int			best = -1;

	for (int i = 0; i < npieces; i++)
	{
		if (pieces[i].bytes < bytes)
			continue;
		if (best < 0 || (pieces[i].grown == grows && pieces[best].grown != grows) ||
			(pieces[i].grown == pieces[best].grown && (pieces[i].bytes > pieces[best].bytes) == grows))
			best = i;
	}
	return best;
}

void *
keptmem_take(Size *bytes, bool grows)
{
	char	   *base = NULL;
	int			i;

	begin_change();
	i = find_piece(*bytes, grows);
	if (i >= 0 && !grows && *bytes % HUGE_PAGE == 0 && pieces[i].bytes % HUGE_PAGE == 0 && pieces[i].bytes > *bytes)
	{
		base = pieces[i].base;
		pieces[i].base += *bytes;
		pieces[i].bytes -= *bytes;
		kept_bytes -= *bytes;
	}
	else if (i >= 0 && (grows || pieces[i].bytes / TOO_LARGE <= *bytes))
	{
		base = pieces[i].base;
		*bytes = pieces[i].bytes;
		remove_piece(i);
	}
	end_change();
	return base;
}

bool
keptmem_drop(void)
{
	return shrink_to(0);
}

void
keptmem_limit(int kilobytes)
{
	limit_bytes = (Size) kilobytes * 1024;
	shrink_to(limit_bytes);
}

void
keptmem_init(void)
{
	RegisterXactCallback(transaction_ends, NULL);
	RegisterSubXactCallback(subtransaction_ends, NULL);
}
