#!/bin/bash
# jobs.sh [cpu|gpu] [ROWS]: builds bench/jobs and runs it; the output goes to bench/results/jobs-{cpu,gpu}.txt as well.
set -eu -o pipefail
cd "$(dirname "$0")/.."
engine=${1:-cpu}
rows=${2:-$([ "$engine" = gpu ] && echo 50000000 || echo 5000000)}
program=bench/jobs
if [ "$engine" = gpu ]; then program=bench/jobs-gpu; fi
commit=${COMMIT:-$(git describe --always --dirty 2>/dev/null || echo unknown)}
make -s -f bench/engine.mk "$program" >&2
{
	echo "date $(date -u +%FT%TZ), commit $commit"
	sed -n '/^model name/{s/.*: //p;q}' /proc/cpuinfo
	if [ "$engine" = gpu ]; then nvidia-smi --query-gpu=name,driver_version --format=csv,noheader; fi
	"$program" "$engine" "$rows"
	if [ "$engine" = cpu ]; then "$program" lent "$rows"; fi
} | tee "bench/results/jobs-$engine.txt"
