/*
 * divisors.c: division by multiplication with an inverse.
 */
#include "scan_test.h"

#include "../../kernels/common/divisors.h"

/* Divides multiples, and no multiples, of divisors of all sizes. */
void
test_divisors(void)
{
	rnd_seed(64);
	group("divisors");
	for (uint32_t i = 0; i < 2000; i++)
	{
		const uint64_t divisor = (rnd() >> rnd() % 64) | (uint64_t) 1 << rnd() % 64;
		const uint32_t even = (uint32_t) __builtin_ctzll(divisor);
		const uint64_t inverse = gs_inverse_of(divisor >> even), most = UINT64_MAX / divisor;
		const uint64_t x = i % 2 ? rnd() : rnd() % most * divisor;
		const uint64_t quotient = gs_quotient_of(x, inverse, even);

		check(x % divisor == 0 ? quotient == x / divisor : quotient > most, "%llu / %llu is %llu",
			  (unsigned long long) x, (unsigned long long) divisor, (unsigned long long) quotient);
	}
}
