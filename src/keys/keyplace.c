/*
 * keyplace.c: where the keys of a sort lie in its rows.
 */
#include "postgres.h"

#include "keyplace.h"

/* Looks for a column from the row's start: only columns of fixed width may stand before it. */
static bool
place_from_start(KeyPlace *place, TupleDesc desc, AttrNumber wanted)
{
	int			offset = 0;

	for (int attno = 1; attno <= wanted; attno++)
	{
		Form_pg_attribute attribute = TupleDescAttr(desc, attno - 1);

		if (attno == wanted && attribute->attlen == -1)
			place->kind = PLACE_STRING;
		else if (attribute->attlen <= 0)
			return false;
		else
		{
			offset = att_align_nominal(offset, attribute->attalign);
			place->kind = PLACE_FROM_START;
		}
		place->offset = offset;
		offset += attribute->attlen;
	}
	return true;
}

/* Looks for it from the row's end, among columns of fixed width that follow each other without gaps. */
static bool
place_from_end(KeyPlace *place, TupleDesc desc, AttrNumber wanted)
{
	int			offset = 0;
	int			next_align = 1;

	for (int attno = desc->natts; attno >= wanted; attno--)
	{
		Form_pg_attribute attribute = TupleDescAttr(desc, attno - 1);
		int			align = (int) att_align_nominal(1, attribute->attalign);

		if (attribute->attlen <= 0 || align < next_align || attribute->attlen % next_align != 0)
			return false;
		offset += attribute->attlen;
		next_align = align;
	}
	place->kind = PLACE_FROM_END;
	place->offset = offset;
	return true;
}

KeyPlace *
keyplaces_find(const SortColumns *columns, TupleDesc desc)
{
	KeyPlace   *places = palloc0(sizeof(KeyPlace) * columns->nkeys);

	for (int i = 0; i < columns->nkeys; i++)
	{
		KeyPlace   *place = &places[i];
		AttrNumber	attno = columns->attnos[i];
		Form_pg_attribute attribute = TupleDescAttr(desc, attno - 1);

		place->byval = attribute->attbyval;
		place->len = attribute->attlen;
		place->align = attribute->attalign;
		if (!place_from_start(place, desc, attno) && !place_from_end(place, desc, attno))
			place->kind = PLACE_VARIES;
	}
	return places;
}
