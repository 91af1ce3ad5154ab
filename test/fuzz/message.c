/*
 * message.c: a packet to the parser, from either side.  What it accepts keeps the rules that its readers rely on.
 */
#include "fuzz.h"
#include "test/service/message_rules.h"

#include <string.h>

int
LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
	static gsd_message m;

	if (n > sizeof(m))
		return 0;
	memset(&m, 0xff, sizeof(m));
	memcpy(&m, bytes, n);
	for (int side = 0; side < 2; side++)
		if (gsd_message_valid(&m, n, side))
			MUST(accepted_well(&m, n, side));
	return 0;
}
