/*
 * message.c: memory for a message in the making.
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "message.h"

/* A larger row is left to the server, whose own messages end at 1 GB, and whose error is then the client's. */
#define MAX_ROW_BYTES ((Size) 256 * 1024 * 1024)

MemoryContext
out_scratch(OutFormat *format)
{
	if (format->scratch == NULL)
		format->scratch = AllocSetContextCreate(format->cxt, "gpusort output", ALLOCSET_DEFAULT_SIZES);
	format->dirty = true;
	return format->scratch;
}

char *
out_grow(OutFormat *format, char *to, Size bytes)
{
	OutBuffer  *buffer = format->buffer;
	Size		used = (Size) (to - buffer->data);
	Size		size = buffer->size;

	if (used - buffer->len + bytes > MAX_ROW_BYTES)
		return NULL;
	while (size < used + bytes + format->bound)
		size *= 2;
	buffer->data = repalloc_huge(buffer->data, size);
	buffer->size = size;
	return buffer->data + used;
}
