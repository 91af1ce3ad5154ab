/*
 * others.c: split, gather, sequence, extent; and arguments that must be refused.
 */
#include "scan_test.h"

void
test_others(void)
{
}
