/*
 * columns_version.c: versions of a table's directory, by copies of the leaves that differ.
 *
 * A leaf is shared by versions and refers to segments; both are counted.  A segment dies when the last leaf that refers
 * to it does.  All functions are called with the table locked; memory of segments is freed later, without the lock.
 */
#include "columns.h"

#include <stdlib.h>
#include <string.h>

/* A version may be named for this long after the next one came. */
#define NAMED_NS 2000000000u

/*
 * Returns the bytes of a version.
 */
static uint64_t
version_bytes(uint64_t nleaves)
{
	return sizeof(version) + nleaves * sizeof(leaf *);
}

/*
 * Allocates memory of the directory, within the limits.
 */
static void *
directory_alloc(table *t, uint64_t bytes)
{
	void *block;

	if (!gsd_work_take(bytes))
		return NULL;
	block = calloc(1, bytes);
	if (block != NULL)
		t->directory_bytes += bytes;
	else
		gsd_work_give(bytes);
	return block;
}

/*
 * Frees it.
 */
static void
directory_free(table *t, void *block, uint64_t bytes)
{
	free(block);
	gsd_work_give(bytes);
	t->directory_bytes -= bytes;
}

/*
 * Gives a reference to a segment back.  One without any may be free.
 */
static void
leave_segment(table *t, segment *s)
{
	if (s != NULL && --s->refs == 0)
		t->dying = true;
}

/*
 * Gives a version's reference to a leaf back.
 */
static void
leave_leaf(table *t, leaf *l)
{
	if (l == NULL || --l->refs > 0)
		return;
	for (uint32_t i = 0; i < LEAF_PAGES; i++)
		leave_segment(t, l->pages[i].of);
	directory_free(t, l, sizeof(*l));
}

/*
 * Frees a version.
 */
static void
free_version(table *t, version *v)
{
	for (uint32_t i = 0; i < v->nleaves; i++)
		leave_leaf(t, v->leaves[i]);
	directory_free(t, v, version_bytes(v->nleaves));
}

/*
 * Returns a leaf that belongs to this version alone: a new one, or a copy.  NULL: no memory.
 */
static leaf *
own_leaf(table *t, version *v, uint32_t index)
{
	leaf *old = v->leaves[index], *l;

	if (old != NULL && old->refs == 1)
		return old;
	l = directory_alloc(t, sizeof(*l));
	if (l == NULL)
		return NULL;
	l->refs = 1;
	if (old != NULL)
	{
		memcpy(l->pages, old->pages, sizeof(l->pages));
		old->refs--; /* others refer to it */
	}
	for (uint32_t i = 0; i < LEAF_PAGES; i++)
		if (l->pages[i].of != NULL)
			l->pages[i].of->refs++;
	v->leaves[index] = l;
	return l;
}

/*
 * Puts a page into its new place.
 */
static gs_status
move_page(table *t, version *v, const gsd_place *place, const char **why)
{
	segment *s = place->segment == 0 ? NULL : gsd_table_segment(t, place->segment);
	page_place new = {.of = s};
	uint32_t rows = 0;
	page_place *page;
	leaf *l;

	*why = "no such segment, or not with that page";
	if (place->segment != 0 && (s == NULL || !gsd_segment_page(s, place->block, &new.first, &rows)))
		return GS_INVALID;
	*why = "gpusort.columns_memory is used up";
	if (s == NULL && gsd_version_page(v, place->block) == NULL)
		return GS_OK; /* it was not held */
	l = own_leaf(t, v, place->block / LEAF_PAGES);
	if (l == NULL)
		return GS_NOMEM;
	new.rows = (uint16_t) rows;
	page = &l->pages[place->block % LEAF_PAGES];
	v->rows += rows;
	v->rows -= page->rows;
	if (s != NULL)
		s->refs++;
	leave_segment(t, page->of);
	*page = new;
	return GS_OK;
}

/*
 * Returns how many leaves a version needs: those of the one before, and of all pages that get a place.
 */
static uint64_t
leaves_needed(const version *before, const gsd_place *places, uint64_t n)
{
	uint64_t leaves = before != NULL ? before->nleaves : 0;

	for (uint64_t i = 0; i < n; i++)
		if (places[i].segment != 0 && places[i].block / LEAF_PAGES >= leaves)
			leaves = places[i].block / LEAF_PAGES + 1;
	return leaves;
}

/*
 * Makes a copy of the current version, which shares all leaves.
 */
static version *
copy_version(table *t, uint64_t nleaves)
{
	version *before = t->current, *v = directory_alloc(t, version_bytes(nleaves));

	if (v == NULL)
		return NULL;
	v->nleaves = (uint32_t) nleaves;
	v->number = 1;
	if (before == NULL)
		return v;
	v->number = before->number + 1;
	v->rows = before->rows;
	memcpy(v->leaves, before->leaves, before->nleaves * sizeof(leaf *));
	for (uint32_t i = 0; i < before->nleaves; i++)
		if (v->leaves[i] != NULL)
			v->leaves[i]->refs++;
	return v;
}

/*
 * Finds the runs of a leaf's pages.
 */
static void
find_runs(leaf *l)
{
	uint32_t n = 0;

	l->nruns = 0;
	for (uint16_t i = 0; i < LEAF_PAGES; i++)
	{
		const page_place *page = &l->pages[i];
		page_run *run = n > 0 ? &l->runs[n - 1] : NULL;

		if (page->of == NULL)
			return;
		if (run == NULL || page->of != run->of || page->first != run->first + run->rows)
		{
			if (n == LEAF_RUNS)
				return;
			run = &l->runs[n++];
			*run = (page_run){.of = page->of, .first = page->first, .page = i};
		}
		run->rows += page->rows;
		run->pages++;
	}
	l->nruns = n;
}

/*
 * Finds the runs of the leaves that places have changed, which belong to this version alone.
 */
static void
find_all_runs(const version *v, const gsd_place *places, uint64_t n)
{
	uint64_t last = UINT64_MAX;

	for (uint64_t i = 0; i < n; i++)
	{
		uint64_t index = places[i].block / LEAF_PAGES;

		if (index != last && index < v->nleaves && v->leaves[index] != NULL && v->leaves[index]->refs == 1)
			find_runs(v->leaves[index]);
		last = index;
	}
}

gs_status
gsd_version_make(table *t, const gsd_place *places, uint64_t n, const char **why)
{
	version *v = copy_version(t, leaves_needed(t->current, places, n));
	gs_status status = v != NULL ? GS_OK : GS_NOMEM;

	*why = "gpusort.columns_memory is used up";
	for (uint64_t i = 0; i < n && status == GS_OK; i++)
		status = move_page(t, v, &places[i], why);
	if (status != GS_OK)
	{
		if (v != NULL)
			free_version(t, v);
		return status;
	}
	for (uint64_t i = 0; i < n; i++)
		if (places[i].segment != 0)
			gsd_table_segment(t, places[i].segment)->published = true;
	find_all_runs(v, places, n);
	if (t->current != NULL)
		t->current->replaced_ns = gsd_now_ns();
	v->older = t->current;
	t->current = v;
	return GS_OK;
}

void
gsd_versions_expire(table *t, bool all)
{
	uint64_t now = gsd_now_ns();

	for (version **at = &t->current; *at != NULL;)
	{
		version *v = *at;

		if (v->pins > 0 || (!all && (v->replaced_ns == 0 || now - v->replaced_ns < NAMED_NS)))
		{
			at = &v->older;
			continue;
		}
		*at = v->older;
		free_version(t, v);
	}
}
