/*
 * large.c: 2^28 - 1, 2^28 + 1, and more than 2^32 items of one byte.
 */
#include "scan_test.h"

void
test_large(void)
{
}
