/*
 * pool.c: the one pool of threads of this process, for jobs over columns in host memory.  Jobs are admitted in turn,
 * one at a time, and then have all threads.  The connection's own thread works, too, and is the only one that calls the
 * engine's callbacks: it looks for cancels between two units of work.
 */
#include "client.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define POOL_STACK ((size_t) 256 * 1024)
/* While a job waits for its turn, its connection is looked at this often. */
#define LOOK_NS 20000000

/* A job that waits for its turn, or has it. */
typedef struct turn
{
	struct turn *next;
} turn;

/* The job that the threads work on. */
typedef struct pool_job
{
	pool_work *work;
	void *arg;
	uint32_t units;
	uint32_t workers;	   /* that have joined; the connection's own thread is the first */
	_Atomic uint32_t next; /* unit */
} pool_job;

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turn_over = PTHREAD_COND_INITIALIZER, work_there = PTHREAD_COND_INITIALIZER,
					  work_done = PTHREAD_COND_INITIALIZER;
static turn *first_turn, **last_turn = &first_turn;
static int wanted_threads; /* 0: one for each core */
static int started;		   /* threads, which never end */
static pool_job *current;
static int invited; /* threads that may still join it */
static int joined;	/* threads that work on it */

void
gsd_pool_threads(int threads)
{
	pthread_mutex_lock(&mutex);
	wanted_threads = threads;
	pthread_mutex_unlock(&mutex);
}

/* Takes units of a job until there are none. */
static void
work_on(pool_job *job, uint32_t worker)
{
	uint32_t unit;

	while ((unit = atomic_fetch_add(&job->next, 1)) < job->units)
		job->work(job->arg, worker, unit);
}

/* Main function of a thread of the pool. */
static void *
pool_main(void *arg)
{
	pthread_mutex_lock(&mutex);
	for (;;)
	{
		pool_job *job;
		uint32_t worker;

		while (invited == 0)
			pthread_cond_wait(&work_there, &mutex);
		invited--;
		joined++;
		job = current;
		worker = job->workers++;
		pthread_mutex_unlock(&mutex);
		work_on(job, worker);
		pthread_mutex_lock(&mutex);
		if (--joined == 0)
			pthread_cond_signal(&work_done);
	}
	return arg;
}

/* Starts threads up to a number.  Where no more can be had, those that there are do the work. */
static void
start_threads(int threads)
{
	static bool complained;
	pthread_attr_t attributes;

	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	pthread_attr_setstacksize(&attributes, POOL_STACK);
	for (; started < threads; started++)
	{
		pthread_t thread;
		int error = pthread_create(&thread, &attributes, pool_main, NULL);

		if (error == 0)
			continue;
		if (!complained)
			gsd_log("WARNING", "could not start a thread: %s", strerror(error));
		complained = true;
		break;
	}
	pthread_attr_destroy(&attributes);
}

/* Removes a job from the queue. */
static void
leave_queue(turn *mine)
{
	turn **at = &first_turn;

	while (*at != mine)
		at = &(*at)->next;
	*at = mine->next;
	if (last_turn == &mine->next)
		last_turn = at;
	pthread_cond_broadcast(&turn_over);
}

/* Waits until a job is the first; false if its client cancelled it.  The watchdog does not count a wait. */
static bool
await_turn(connection *c, const turn *mine)
{
	while (first_turn != mine)
	{
		struct timespec until;
		int cancelled;

		clock_gettime(CLOCK_REALTIME, &until);
		until.tv_nsec += LOOK_NS;
		until.tv_sec += until.tv_nsec / 1000000000;
		until.tv_nsec %= 1000000000;
		if (pthread_cond_timedwait(&turn_over, &mutex, &until) != ETIMEDOUT)
			continue;
		pthread_mutex_unlock(&mutex);
		cancelled = gsd_poll_client(c);
		gsd_set_busy(c, false);
		pthread_mutex_lock(&mutex);
		if (cancelled)
			return false;
	}
	return true;
}

/*
 * Does a job that has its turn; the mutex is held.  Returns false if it was cancelled: some units were then not done.
 */
static bool
do_job(connection *c, pool_job *job)
{
	int cores = gsd_cores() < GSD_MAX_THREADS ? gsd_cores() : GSD_MAX_THREADS;
	int threads = wanted_threads > 0 ? wanted_threads : cores;
	int helpers = job->units < (uint32_t) threads ? (int) job->units - 1 : threads - 1;
	bool cancelled = false;
	uint32_t unit;

	start_threads(helpers);
	current = job;
	invited = helpers < started ? helpers : started;
	if (invited > 0)
		pthread_cond_broadcast(&work_there);
	pthread_mutex_unlock(&mutex);
	while (!cancelled && (unit = atomic_fetch_add(&job->next, 1)) < job->units)
	{
		cancelled = gsd_poll_client(c) != 0;
		if (!cancelled)
			job->work(job->arg, 0, unit);
	}
	if (cancelled)
		atomic_store(&job->next, job->units);
	pthread_mutex_lock(&mutex);
	invited = 0;
	while (joined > 0)
		pthread_cond_wait(&work_done, &mutex);
	current = NULL;
	return !cancelled;
}

bool
gsd_pool_run(connection *c, uint32_t units, pool_work *work, void *arg)
{
	pool_job job = {.work = work, .arg = arg, .units = units, .workers = 1};
	turn mine = {NULL};
	bool done;

	pthread_mutex_lock(&mutex);
	*last_turn = &mine;
	last_turn = &mine.next;
	done = await_turn(c, &mine);
	if (done)
	{
		gsd_set_busy(c, true);
		done = do_job(c, &job);
		gsd_set_busy(c, false);
	}
	leave_queue(&mine);
	pthread_mutex_unlock(&mutex);
	return done;
}
