#!/bin/bash
# queries.sh [memory|stock|keys|aggregates|gpu]...: the query benchmark on private servers; results also go to
# bench/results/ as text and JSON.  ROWS, STOCK_ROWS, RUNS and ONLY in the environment make it smaller; see queries.pl,
# aggregates.pl and gpu.pl.  plot_queries.py draws the GPU's.
# ENGINE=gpu has the service order the keys' sorts; LABEL is added to the results' names.
. "$(dirname "$0")/lib.sh"

parts=${*:-memory stock keys aggregates$([ ! -e /dev/nvidiactl ] || echo " gpu")}
begin_bench
for part in $parts; do
	# in memory: the table, too; nothing but the place of the socket is set for the stock part
	if [ "$part" = memory ]; then
		start_server "$part" --locale=C.UTF-8 --encoding=UTF8 <<-'CONF'
			shared_buffers = 3GB
			max_wal_size = 8GB
		CONF
	elif [ "$part" = keys ]; then
		make_locale en_US.UTF-8
		start_server "$part" --locale=en_US.UTF-8 --encoding=UTF8 <<-CONF
			shared_buffers = 3GB
			max_wal_size = 8GB
			${ENGINE:+shared_preload_libraries = 'gpusort'
			gpusort.engine = gpu
			gpusort.timeout = 60s
			gpusort.service_options = '--engine=$ENGINE'}
		CONF
	elif [ "$part" = aggregates ]; then
		make_locale en_US.UTF-8
		start_server "$part" --locale=en_US.UTF-8 --encoding=UTF8 <<-CONF
			session_preload_libraries = 'gpusort'
			shared_buffers = 3GB
			max_wal_size = 8GB
			max_worker_processes = 24
			max_parallel_workers = 16
		CONF
	elif [ "$part" = gpu ]; then
		# memory for sixteen sorts of 20 million rows at once; ENGINE=cpu is a rehearsal without a GPU
		start_server "$part" --locale=C.UTF-8 --encoding=UTF8 <<-CONF
			shared_preload_libraries = 'gpusort'
			shared_buffers = ${SHARED_BUFFERS:-16GB}
			work_mem = 16GB
			gpusort.work_mem = 16GB
			gpusort.timeout = 60s
			gpusort.service_options = '--engine=${ENGINE:-gpu}'
			max_worker_processes = 32
			max_parallel_workers = 16
			max_parallel_maintenance_workers = 8
			maintenance_work_mem = 2GB
			max_wal_size = 16GB
			fsync = off
			synchronous_commit = off
			autovacuum = off
		CONF
	else
		start_server "$part" --locale=C.UTF-8 --encoding=UTF8 </dev/null
	fi
	case $part in
		gpu) program=(gpu.pl) ;;
		aggregates) program=(aggregates.pl) ;;
		*) program=(queries.pl "$part") ;;
	esac
	measure "${program[0]}" "queries-$part${LABEL:+-$LABEL}.txt" "${program[@]:1}" "$bindir/psql" \
		"$work/tree/$part.json"
	cp "$work/tree/$part.json" "$root/bench/results/queries-$part${LABEL:+-$LABEL}.json"
	stop_server "$part"
done
