/*
 * keptmem.c: memory that a session keeps for its next sort.
 *
 * Faulting in a page costs more than most of what a sort does with it.  The mappings of finished sorts are therefore
 * kept and marked MADV_FREE, so that the kernel may take their pages at any time.  Only client backends keep memory, up
 * to gpusort.kept_memory, and release it after KEPT_MS without use.
 *
 * Invariant: a mapping belongs either to a block (bigmem.c) or to this list.  No memory context owns it here.
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

/* Time after which unused memory is released. */
#define KEPT_MS 30000

/* A mapping that does not grow takes none that is more than this many times as large. */
#define TOO_LARGE 2

typedef struct Piece
{
	char	   *base;
	Size		bytes;
	bool		grown;			/* was enlarged; such pieces are preferred for blocks that grow */
} Piece;

static Piece pieces[32];
static int	npieces;
static Size kept_bytes;
static Size limit_bytes;		/* from gpusort.kept_memory */
static TimeoutId timeout;
static bool timeout_known;

/* The list is being changed.  The timer's handler must not touch it. */
static volatile sig_atomic_t busy;

/* Signal handlers may run at any time and must see this first ... */
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

/* Returns true if a resource limit applies to the process's mappings. */
static bool
limited(int resource)
{
	struct rlimit limit;

	return getrlimit(resource, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
}

/* Returns true if the system commits memory strictly.  Kept memory would then make other allocations fail. */
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

/* Marks a mapping MADV_FREE.  Returns false if the kernel does not support that. */
static bool
name_free(void *base, Size bytes)
{
#ifdef MADV_FREE
	return madvise(base, bytes, MADV_FREE) == 0;
#else
	return false;
#endif
}

/* Returns the limit of kept bytes. */
static Size
most_bytes(void)
{
	if (MyBackendType == B_BACKEND && !proc_exit_inprogress && !strict_commit())
		return limit_bytes;
	return 0;
}

/* Removes a piece.  The last one takes its place, as the list is unordered. */
static void
remove_piece(int i)
{
	kept_bytes -= pieces[i].bytes;
	pieces[i] = pieces[--npieces];
}

/* Releases pieces, last ones first, until at most this many bytes are kept. */
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

/* Timeout handler: releases what has not been used for a while.  Runs in a signal handler. */
static void
time_is_up(void)
{
	int			saved = errno;

	/* whoever changes the list sets the timer again */
	if (!busy)
		shrink_to(0);
	errno = saved;
}

/* Restarts the timer. */
static void
start_timer(void)
{
	if (!timeout_known)
		timeout = RegisterTimeout(USER_TIMEOUT, time_is_up);
	timeout_known = true;
	enable_timeout_after(timeout, KEPT_MS);
}

/* Restarts the timer after an error, which disables timeouts.  Keeps nothing in a transaction block. */
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

/* Transaction callback, for queries that end with an error. */
static void
transaction_ends(XactEvent event, void *arg)
{
	if (event == XACT_EVENT_ABORT)
		restore_timer();
}

/* Subtransaction callback, for errors that are caught. */
static void
subtransaction_ends(SubXactEvent event, SubTransactionId id, SubTransactionId parent, void *arg)
{
	if (event == SUBXACT_EVENT_ABORT_SUB)
		restore_timer();
}

/* Joins a piece to an adjacent one. */
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

/* Returns how many bytes of a mapping, written from its start, are resident.  The rest is not worth keeping. */
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

/* Keeps as much of a mapping as the limit allows.  Returns how much. */
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

/* Returns the best piece for a request, or -1. */
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
