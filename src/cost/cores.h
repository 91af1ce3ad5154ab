/*
 * cores.h: how many processes of a query can run simultaneously.
 */
#ifndef GPUSORT_CORES_H
#define GPUSORT_CORES_H


/* Returns the number of participants by which the server divides the cost of a plan with this many workers. */
extern double divisor_of(int workers);

/* Returns the factor, at least 1, by which participants that share cores are slower than the server's costs assume. */
extern double crowding(int workers);

/* Returns how many of the workers can run at once, beside the leader if it participates. */
extern int	workers_at_once(int workers);

#endif
