/*
 * sortkey_net.c: inet and cidr, by family, bits that both netmasks cover, netmask, and complete address.  The key has
 * the address with the bits outside its netmask cleared, the netmask, and those bits.
 */
#include "postgres.h"

#include <sys/socket.h>

#include "port/pg_bswap.h"
#include "utils/inet.h"

#include "sortkey_types.h"

/* Family, masked address, netmask, address. */
#define IPV4_BYTES (1 + 4 + 1 + 4)
#define IPV6_BYTES (1 + 16 + 1 + 16)

/* Copies an address with the bits outside the netmask cleared. */
static void
copy_masked(uint8 *to, const uint8 *address, int size, int bits)
{
	for (int i = 0; i < size; i++)
	{
		int			inside = Min(Max(bits - i * 8, 0), 8);

		to[i] = address[i] & (uint8) (0xff00 >> inside);
	}
}

/* Encodes addresses of both families as bytes. */
static KeyResult
encode_inet_bytes(SortKey *key, Datum value, KeyColumn *column, uint32 row)
{
	struct varlena *varlena = open_varlena(value);
	const inet_struct *inet = (const inet_struct *) VARDATA_ANY(varlena);
	int			size = inet->family == PGSQL_AF_INET ? 4 : 16;
	uint8	   *to;
	KeyResult	result = bytes_room(column, row, size == 4 ? IPV4_BYTES : IPV6_BYTES, &to);

	if (result == KEY_OK)
	{
		*to++ = inet->family;
		copy_masked(to, inet->ipaddr, size, inet->bits);
		to += size;
		*to++ = inet->bits;
		memcpy(to, inet->ipaddr, size);
	}
	close_varlena(value, varlena);
	return result;
}

/* Encodes IPv4 addresses: 32 bits inside the netmask, 8 of netmask, 32 outside. */
static KeyResult
encode_inet_v4(SortKey *key, Datum value, KeyColumn *column, uint32 row)
{
	struct varlena *varlena = open_varlena(value);
	const inet_struct *inet = (const inet_struct *) VARDATA_ANY(varlena);
	KeyResult	result = KEY_OK;

	if (unlikely(inet->family != PGSQL_AF_INET))
		result = widen(key, GS_BYTES, encode_inet_bytes);
	else
	{
		uint32		address;
		uint32		mask = inet->bits == 0 ? 0 : PG_UINT32_MAX << (32 - inet->bits);

		memcpy(&address, inet->ipaddr, sizeof(address));
		address = pg_ntoh32(address);
		put_uint128(column, row, (address & mask) >> 24,
					(uint64) (address & mask) << 40 | (uint64) inet->bits << 32 | (address & ~mask));
	}
	close_varlena(value, varlena);
	return result;
}

/* Opens the form of numbers, for IPv4; the form of bytes holds any address. */
void
open_inet(SortKey *key)
{
	if (key->exact)
		set_form(key, GS_BYTES, encode_inet_bytes);
	else
		set_form(key, GS_U128, encode_inet_v4);
}
