/*
 * client.c: messages on their way to the client.
 *
 * While messages are held, PqCommMethods points here, so that the server's own messages (notices, changed parameters,
 * errors, what parallel workers report) find the held ones before them.  What is held is sent after LOOK_BYTES if it
 * took long to come, and after SEND_BYTES in any case.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "nodes/pg_list.h"
#include "portability/instr_time.h"
#include "port/pg_bswap.h"

#include "client.h"

/* libpq.h alone needs no headers of TLS or Kerberos, which may be missing: it only points to these structs */
#define LIBPQ_BE_H
typedef struct Port Port;
typedef struct ClientSocket ClientSocket;
#include "libpq/libpq.h"

#define SEND_BYTES (8 * LOOK_BYTES)

/* What comes as slowly as that is sent at each look. */
#define SLOW_MS 1.0

static OutBuffer *held;			/* NULL: nothing is held back */
static bool sending;			/* held is being sent, or its sending was given up by an error */
static bool installed;			/* PqCommMethods are those of this file, or call them */
static instr_time sent_at;		/* 0: nothing has been sent yet */
static const PQcommMethods *server; /* the methods that were there before; kept for whoever still calls the ones here */
static const PQcommMethods *socket_methods; /* the server's own */

static bool put_held(void);

/* comm_reset */
static void
hold_reset(void)
{
	server->comm_reset();
}

/*
 * flush.  As the server's own methods, this and the next ones do nothing while something is being sent: what ends the
 * session then, as the death of the postmaster, must not be said in the middle of a message.
 */
static int
hold_flush(void)
{
	return put_held() ? server->flush() : 0;
}

/* flush_if_writable */
static int
hold_flush_if_writable(void)
{
	return put_held() ? server->flush_if_writable() : 0;
}

/* is_send_pending */
static bool
hold_is_send_pending(void)
{
	return (held != NULL && held->sent < held->len) || server->is_send_pending();
}

/* putmessage */
static int
hold_putmessage(char type, const char *body, size_t len)
{
	return put_held() ? server->putmessage(type, body, len) : 0;
}

/* putmessage_noblock */
static void
hold_putmessage_noblock(char type, const char *body, size_t len)
{
	if (put_held())
		server->putmessage_noblock(type, body, len);
}

static const PQcommMethods holding = {
	.comm_reset = hold_reset,
	.flush = hold_flush,
	.flush_if_writable = hold_flush_if_writable,
	.is_send_pending = hold_is_send_pending,
	.putmessage = hold_putmessage,
	.putmessage_noblock = hold_putmessage_noblock,
};

/* Hands a message to the server; returns its end. */
static const char *
put_message(const PQcommMethods *methods, const char *message)
{
	uint32		length;

	memcpy(&length, message + 1, sizeof(length));
	length = pg_ntoh32(length);
	(void) methods->putmessage(message[0], message + MESSAGE_HEADER, length - sizeof(length));
	return message + 1 + length;
}

/* The connection is lost: as the server does, says so in the log only, and ends the session where that is safe. */
static void
lose_connection(void)
{
	ereport(COMMERROR, (errcode_for_socket_access(), errmsg("could not send data to client: %m")));
	ClientConnectionLost = 1;
	InterruptPending = 1;
}

/*
 * Writes all that is held to the socket, behind what the server has in its buffer.  The flush makes the socket wait, so
 * that secure_write returns when all is sent, whatever encrypts it.  Only the end of the session interrupts it.
 */
static void
write_held(void)
{
	char	   *from = held->data + held->sent;

	if (server->flush() != 0)
		return;
	while (from < held->data + held->len)
	{
		ssize_t		sent = secure_write(MyProcPort, from, held->data + held->len - from);

		if (sent > 0)
			from += sent;
		else if (errno != EINTR)
		{
			lose_connection();
			return;
		}
	}
}

/*
 * Hands all whole messages that are held to the server; false: they are being sent.  A row in the making, behind them,
 * stays where it is.
 */
static bool
put_held(void)
{
	const char *message;

	if (sending)
		return false;
	if (held == NULL)
		return true;
	sending = true;
	if (held->len - held->sent >= LOOK_BYTES && server == socket_methods)
		write_held();
	else
		for (message = held->data + held->sent; message < held->data + held->len;)
			message = put_message(server, message);
	held->sent = held->len;
	sending = false;
	return true;
}

void
client_put_one(OutBuffer *buffer)
{
	(void) put_message(PqCommMethods, buffer->data);
	buffer->len = 0;
}

void
client_init(void)
{
	socket_methods = PqCommMethods;
}

void
client_hold(OutBuffer *buffer)
{
	Assert(held == NULL);
	held = buffer;
	held->sent = held->len = 0;
	held->look = LOOK_BYTES;
	INSTR_TIME_SET_ZERO(sent_at);
	/* methods that others have put before these call them already */
	if (!installed || PqCommMethods == server)
	{
		server = PqCommMethods;
		PqCommMethods = &holding;
		installed = true;
	}
}

void
client_release(void)
{
	(void) put_held();
	held = NULL;
	sending = false;
	/* whoever has put methods before these since then will still call them */
	if (PqCommMethods == &holding)
	{
		PqCommMethods = server;
		installed = false;
	}
}

/* Has it taken long since the last time that something was sent, or since ever? */
static bool
is_slow(instr_time now)
{
	if (INSTR_TIME_IS_ZERO(sent_at))
		return true;
	INSTR_TIME_SUBTRACT(now, sent_at);
	return INSTR_TIME_GET_MILLISEC(now) >= SLOW_MS;
}

bool
client_look(void)
{
	instr_time	now;

	INSTR_TIME_SET_CURRENT(now);
	if (held->len < SEND_BYTES && !is_slow(now))
	{
		held->look += LOOK_BYTES;
		return false;
	}
	(void) put_held();
	INSTR_TIME_SET_CURRENT(sent_at);
	held->sent = held->len = 0;
	held->look = LOOK_BYTES;
	return true;
}
