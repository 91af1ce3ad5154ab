/*
 * link_pool.c: links that this session keeps for its next jobs, each for the role and database it was made for.  The
 * service closes links that are idle for long; this is detected when one is needed again.
 */
#include "postgres.h"


#include "link_pool.h"

/* Idle links of each kind. */
#define MAX_IDLE 4

static dlist_head idle = DLIST_STATIC_INIT(idle);
static int	idle_count[LINK_KINDS];

/* Removes a link from the idle ones. */
static void
forget_idle(ServiceLink *link)
{
	dlist_delete(&link->node);
	idle_count[link->kind]--;
}

/* Returns the owner's most recently used idle link.  Other owners' links are kept, as roles often alternate. */
static ServiceLink *
find_idle(LinkKind kind, uint64 owner)
{
	dlist_iter	iter;

	dlist_foreach(iter, &idle)
	{
		ServiceLink *link = dlist_container(ServiceLink, node, iter.cur);

		if (link->kind == kind && link->owner == owner)
			return link;
	}
	return NULL;
}

/* Closes idle links that the service has closed.  They hold memory, and their owner may not return. */
static void
close_dead_links(void)
{
	dlist_mutable_iter iter;

	dlist_foreach_modify(iter, &idle)
	{
		ServiceLink *link = dlist_container(ServiceLink, node, iter.cur);

		if (!link_left(link))
			continue;
		forget_idle(link);
		link_close(link);
	}
}

/* Returns true if an idle link is ready for the next job.  Closes it if an interrupt ends the wait. */
static bool
usable(ServiceLink *link)
{
	bool		ready = false;

	PG_TRY();
	{
		ready = link_wait_end(link);
	}
	PG_CATCH();
	{
		link_close(link);
		PG_RE_THROW();
	}
	PG_END_TRY();
	return ready;
}

/* Takes a live idle link of the current owner. */
static ServiceLink *
link_reuse(LinkKind kind)
{
	ServiceLink *link;

	while ((link = find_idle(kind, link_owner())) != NULL)
	{
		forget_idle(link);
		if (usable(link))
			return link;
		link_close(link);
	}
	return NULL;
}

ServiceLink *
link_open(LinkKind kind, bool patient, EngineFailure *why)
{
	ServiceLink *link;

	*why = ENGINE_OK;
	if (link_broken())
	{
		*why = ENGINE_DOWN;
		return NULL;
	}
	link = link_reuse(kind);
	if (link != NULL)
		return link;
	close_dead_links();
	return link_new(kind, link_owner(), patient, why);
}

/* Closes the link of a kind that has been idle for longest. */
static void
close_oldest(LinkKind kind)
{
	ServiceLink *oldest = NULL;
	dlist_iter	iter;

	dlist_foreach(iter, &idle)
	{
		ServiceLink *link = dlist_container(ServiceLink, node, iter.cur);

		if (link->kind == kind)
			oldest = link;
	}
	forget_idle(oldest);
	link_close(oldest);
}

/* Ends the link's job.  A question about columns is over with its answer.  Returns false if the link is lost. */
static bool
end_job(ServiceLink *link)
{
	gsd_job_message end;

	link->ending = link->kind != LINK_COLUMNS || link->asking;
	gsd_head(&end.head, GSD_END, sizeof(end));
	end.job = link->job;
	return !link->ending || gsd_send(link->socket, &end.head, -1) == GSD_IO_OK;
}

void
link_park(ServiceLink *link)
{
	if (!end_job(link))
	{
		link_close(link);
		return;
	}
	if (idle_count[link->kind] >= MAX_IDLE)
		close_oldest(link->kind);
	dlist_push_head(&idle, &link->node);
	idle_count[link->kind]++;
}
