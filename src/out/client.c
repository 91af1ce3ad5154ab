/*
 * client.c: messages on their way to the client.
 */
#include "postgres.h"

#include "libpq/pqformat.h"

#include "client.h"

/* libpq.h alone needs no headers of TLS or Kerberos, which may be missing: it only points to these structs */
#define LIBPQ_BE_H
typedef struct Port Port;
typedef struct ClientSocket ClientSocket;
#include "libpq/libpq.h"

void
client_put_one(OutBuffer *buffer)
{
	(void) PqCommMethods->putmessage(buffer->data[0], buffer->data + MESSAGE_HEADER, buffer->len - MESSAGE_HEADER);
	buffer->len = 0;
}
