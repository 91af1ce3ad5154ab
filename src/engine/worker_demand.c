/*
 * worker_demand.c: starts the background worker, with the server if preloaded or when a session requests it.
 */
#include "postgres.h"

#include <unistd.h>

#include "miscadmin.h"
#include "storage/spin.h"
#include "utils/guc.h"
#include "utils/timestamp.h"

#include "src/base/background_worker.h"
#include "src/base/guc.h"
#include "src/service/protocol.h"
#include "stat.h"
#include "worker.h"

/* After this time, a request for a worker that did not start is void. */
#define DEMAND_MS 10000

bool
gpu_likely(void)
{
	static int	likely = -1;

	if (likely < 0)
		likely = access("/dev/nvidiactl", F_OK) == 0 || access("/dev/nvidia0", F_OK) == 0 ||
			access("/dev/dxg", F_OK) == 0;
	return likely == 1 || (gpusort_service_options && *gpusort_service_options);
}

/* Describes the worker, which a session starts; with the server it is restarted, too. */
static void
describe_worker(BackgroundWorker *worker)
{
	background_worker_describe(worker, "gpusort service", "gpusort_worker_main");
	worker->bgw_start_time = BgWorkerStart_ConsistentState;
}

void
gpusort_worker_init(void)
{
	BackgroundWorker worker;

	if (!process_shared_preload_libraries_in_progress || gpusort_engine == ENGINE_CHOICE_CPU || !gpu_likely())
		return;
	describe_worker(&worker);
	worker.bgw_restart_time = 5;
	RegisterBackgroundWorker(&worker);
}

/* Returns false if a worker runs or is starting.  Otherwise claims the request for this session. */
static bool
claim_demand(void)
{
	GpusortShared *all = gpusort_shared();
	int64		now = gsd_now_ms();
	bool		mine = false;

	SpinLockAcquire(&all->mutex);
	if (all->service.worker_pid == 0 ||
		(all->service.worker_pid < 0 && now - all->service.demanded_ms > DEMAND_MS))
	{
		mine = true;
		all->service.worker_pid = -1;
		all->service.demanded_ms = now;
	}
	SpinLockRelease(&all->mutex);
	return mine;
}

EngineFailure
service_verdict(void)
{
	ServiceShared service = service_state();

	if (service.state == SERVICE_GAVE_UP)
		return ENGINE_GAVE_UP;
	/* a service that holds columns has found no device, either, and looks for none */
	if (service.state == SERVICE_COLUMNS)
		return ENGINE_NO_DEVICE;
	if (service.state == SERVICE_NO_DEVICE && service.since > PgReloadTime &&
		gsd_now_ms() - service.since_ms < NO_DEVICE_MS)
		return ENGINE_NO_DEVICE;
	return ENGINE_OK;
}

EngineFailure
service_demand(void)
{
	GpusortShared *all = gpusort_shared();
	BackgroundWorker worker;
	BackgroundWorkerHandle *handle;

	if (!claim_demand())
		return ENGINE_OK;
	describe_worker(&worker);
	if (RegisterDynamicBackgroundWorker(&worker, &handle))
		return ENGINE_OK;
	SpinLockAcquire(&all->mutex);
	all->service.worker_pid = 0;
	strlcpy(all->service.reason, engine_failure_text(ENGINE_NO_WORKER), SERVICE_REASON_BYTES);
	SpinLockRelease(&all->mutex);
	return ENGINE_NO_WORKER;
}

EngineFailure
columns_verdict(void)
{
	return service_state().state == SERVICE_GAVE_UP ? ENGINE_GAVE_UP : ENGINE_OK;
}

EngineFailure
columns_demand_service(void)
{
	GpusortShared *all = gpusort_shared();

	SpinLockAcquire(&all->mutex);
	all->service.columns_wanted = true;
	SpinLockRelease(&all->mutex);
	return service_demand();
}
