/*
 * pool.c: the one pool of threads of this process, for jobs over columns in host memory, and the queues in which jobs
 * over columns wait for their turn.  In host memory it is one's turn at a time, who then has all threads.  The
 * connection's own thread works, too, and is the only one that calls the client's callbacks: it looks for cancels
 * between two units of work, and while it waits for the others.
 */
#include "client.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define POOL_STACK ((size_t) 256 * 1024)
/* While a job waits for its turn, its connection is looked at this often. */
#define LOOK_NS 20000000

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
static pthread_once_t prepared = PTHREAD_ONCE_INIT;
static pthread_cond_t work_there = PTHREAD_COND_INITIALIZER, work_done;
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

/* Makes a condition whose waits end by the clock that nobody sets. */
static void
make_condition(pthread_cond_t *condition)
{
	pthread_condattr_t attributes;

	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(condition, &attributes);
	pthread_condattr_destroy(&attributes);
}

/* Prepares for the first turn. */
static void
prepare(void)
{
	make_condition(&work_done);
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

/*
 * Waits for a while for a condition; the mutex is held, and is not while the client is looked at.  The watchdog does
 * not count a wait for the turn.  Returns false if the client has cancelled or left.
 */
static bool
wait_and_look(connection *c, pthread_cond_t *condition, bool busy)
{
	struct timespec until;
	int cancelled;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += LOOK_NS;
	until.tv_sec += until.tv_nsec / 1000000000;
	until.tv_nsec %= 1000000000;
	if (pthread_cond_timedwait(condition, &mutex, &until) != ETIMEDOUT)
		return true;
	pthread_mutex_unlock(&mutex);
	cancelled = gsd_poll_client(c);
	gsd_set_busy(c, busy);
	pthread_mutex_lock(&mutex);
	return !cancelled;
}

/* Removes a connection from those that wait. */
static void
leave_queue(turn_queue *queue, pool_turn *mine)
{
	pool_turn *before = NULL;

	for (pool_turn *turn = queue->first; turn != mine; turn = turn->next)
		before = turn;
	if (before != NULL)
		before->next = mine->next;
	else
		queue->first = mine->next;
	if (queue->last == mine)
		queue->last = before;
}

/* Passes a turn on to who waits longest. */
static void
pass_on(turn_queue *queue)
{
	pool_turn *next = queue->first;

	queue->left++;
	if (next == NULL)
		return;
	queue->left--;
	leave_queue(queue, next);
	next->mine = true;
	pthread_cond_signal(&next->come);
}

/* Waits for a turn, behind all others that do.  Returns false without one, if the client has cancelled or left. */
static bool
await_turn(connection *c, turn_queue *queue)
{
	pool_turn *mine = &c->turn;
	bool there = true;

	make_condition(&mine->come);
	mine->mine = false;
	mine->next = NULL;
	if (queue->last != NULL)
		queue->last->next = mine;
	else
		queue->first = mine;
	queue->last = mine;
	while (there && !mine->mine)
		there = wait_and_look(c, &mine->come, false);
	if (!there && mine->mine)
		pass_on(queue);
	else if (!there)
		leave_queue(queue, mine);
	pthread_cond_destroy(&mine->come);
	return there;
}

bool
gsd_turn_enter(connection *c, turn_queue *queue)
{
	int cores = gsd_cores() < GSD_MAX_THREADS ? gsd_cores() : GSD_MAX_THREADS;
	bool mine = true;

	(void) pthread_once(&prepared, prepare);
	atomic_store(&c->cancelled, false);
	pthread_mutex_lock(&mutex);
	if (queue->left > 0)
		queue->left--;
	else
		mine = await_turn(c, queue);
	c->turn.threads = wanted_threads > 0 ? (uint32_t) wanted_threads : (uint32_t) cores;
	pthread_mutex_unlock(&mutex);
	return mine;
}

void
gsd_turn_leave(turn_queue *queue)
{
	pthread_mutex_lock(&mutex);
	pass_on(queue);
	pthread_mutex_unlock(&mutex);
}

/* Notes that the client has cancelled: who works for it stops soon. */
static void
cancel(connection *c, pool_job *job)
{
	atomic_store(&c->cancelled, true);
	atomic_store(&job->next, job->units);
}

/* Lets threads take part in a job. */
static void
invite(pool_job *job, uint32_t threads)
{
	int helpers = job->units == 0 ? 0 : (int) (job->units < threads ? job->units : threads) - 1;

	pthread_mutex_lock(&mutex);
	start_threads(helpers);
	current = job;
	invited = helpers < started ? helpers : started;
	if (invited > 0)
		pthread_cond_broadcast(&work_there);
	pthread_mutex_unlock(&mutex);
}

/* Waits until they have left: a unit of another thread may be long.  Returns false if the client cancels meanwhile. */
static bool
await_helpers(connection *c, pool_job *job)
{
	bool cancelled = false;

	pthread_mutex_lock(&mutex);
	invited = 0;
	while (joined > 0)
		if (!wait_and_look(c, &work_done, true))
		{
			cancelled = true;
			cancel(c, job);
		}
	current = NULL;
	pthread_mutex_unlock(&mutex);
	return !cancelled;
}

bool
gsd_pool_run(connection *c, uint32_t units, pool_work *work, void *arg)
{
	pool_job job = {.work = work, .arg = arg, .units = units, .workers = 1};
	bool cancelled = false;
	uint32_t unit;

	invite(&job, c->turn.threads);
	while (!cancelled && (unit = atomic_fetch_add(&job.next, 1)) < units)
	{
		cancelled = gsd_poll_client(c) != 0;
		if (!cancelled)
			work(arg, 0, unit);
	}
	if (cancelled)
		cancel(c, &job);
	return await_helpers(c, &job) && !cancelled;
}
