/*
 * client.h: messages on their way to the client.
 */
#ifndef GPUSORT_CLIENT_H
#define GPUSORT_CLIENT_H

#include "message.h"

/* In _PG_init: notes how the server itself sends. */
extern void client_init(void);

/* Hands a buffer's only message to the server, which sends it when its own buffer is full. */
extern void client_put_one(OutBuffer *buffer);

/*
 * Holds back the messages that are appended to a buffer, to send many at a time.  Until client_release, whatever else
 * is written to the client comes behind those that have been appended.  client_release hands what is left to the
 * server, also after an error.
 */
extern void client_hold(OutBuffer *buffer);
extern void client_release(void);

/* Looks whether to send what is held; true: it was sent. */
extern bool client_look(void);

/* Bytes from one look to the next: as many as the server's buffer holds, so that no row comes later by size. */
#define LOOK_BYTES 8192

/* Calls client_look after a message has been appended, if that fills the next LOOK_BYTES. */
static inline bool
client_appended(OutBuffer *buffer)
{
	return unlikely(buffer->len >= buffer->look) && client_look();
}

#endif
