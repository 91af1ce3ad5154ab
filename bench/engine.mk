# Builds the benches of the engine alone: make -f bench/engine.mk; then bench/engine, bench/engine -t, or bench/jobs cpu.
# make -f bench/engine.mk bench/jobs-gpu, with nvcc, builds the one of the jobs for a GPU: bench/jobs-gpu gpu.
CC = gcc
CFLAGS = -O3 -g

all: bench/engine bench/jobs

bench/engine: bench/engine.c bench/workloads.h $(wildcard kernels/*.[ch] kernels/cpu/*.[ch])
	$(CC) -std=gnu11 -Wall -Wextra $(if $(WERROR),-Werror) $(CFLAGS) $(filter %.c,$^) -o $@ -lm

bench/jobs: bench/jobs.c $(wildcard kernels/*.[ch] kernels/cpu/*.[ch])
	$(CC) -std=gnu11 -Wall -Wextra $(if $(WERROR),-Werror) $(CFLAGS) $(filter %.c,$^) -o $@ -lm

include kernels/cuda/cuda.mk
bench/jobs-gpu: bench/jobs.c $(wildcard kernels/*.[ch] kernels/cpu/*.[ch]) $(CUDA_OBJS)
	$(CC) -std=gnu11 -Wall -Wextra $(if $(WERROR),-Werror) $(CFLAGS) -DWITH_CUDA $(filter %.c %.o,$^) $(CUDA_LIBS) -o $@
