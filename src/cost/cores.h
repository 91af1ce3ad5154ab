/*
 * cores.h: how many processes of a query can run at the same time.
 */
#ifndef GPUSORT_CORES_H
#define GPUSORT_CORES_H


/* How many participants the server counts where there are so many workers. */
extern double divisor_of(int workers);

/*
 * How many times as long as the server takes for it such participants take for what they divide, by gpusort.cores or
 * the cores that this process may have: 1 where there are enough.
 */
extern double crowding(int workers);

/* Of so many workers those that run at the same time, beside the leader where it takes part. */
extern int	workers_at_once(int workers);

#endif
