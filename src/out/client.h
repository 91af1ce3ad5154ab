/*
 * client.h: messages on their way to the client.
 */
#ifndef GPUSORT_CLIENT_H
#define GPUSORT_CLIENT_H

#include "message.h"

/* Hands the buffer's only message to the server, which sends it when its own buffer is full. */
extern void client_put_one(OutBuffer *buffer);

/*
 * Holds messages back, to send many at a time.  Until client_release, whatever else the server writes to the client
 * sends those of the buffer first.  client_release sends what is left, and may be called after an error.
 */
extern void client_hold(OutBuffer *buffer);
extern void client_release(void);

/* Sends what is held if that is enough, or has waited long enough.  A message must have been appended. */
extern void client_send_some(void);

/* Empties a buffer that has been sent. */
static inline void
buffer_empty_if_sent(OutBuffer *buffer)
{
	if (buffer->sent == buffer->len)
		buffer->sent = buffer->len = 0;
}

#endif
