#!/bin/bash
export BENCH_DOWNLOAD_SCRIPT="download-hits-tsv"
exec ../lib/benchmark-common.sh
