# Builds the benches of the engine alone: make -f bench/engine.mk; then bench/engine, bench/engine -t, or bench/jobs cpu.
# make -f bench/engine.mk bench/jobs-gpu bench/groups-gpu bench/proofs, with nvcc, builds those for a GPU: bench/jobs-gpu gpu.
CC = gcc
CFLAGS = -O3 -g

all: bench/engine bench/jobs bench/groups

include kernels/kernels.mk

bench/engine: bench/engine.c bench/workloads.h $(KERNEL_SOURCES) $(KERNEL_HEADERS)
	$(CC) -std=gnu11 -Wall -Wextra $(if $(WERROR),-Werror) $(CFLAGS) $(filter %.c,$^) -o $@ -lm

bench/jobs: bench/jobs.c bench/mix.h $(KERNEL_SOURCES) $(KERNEL_HEADERS)
	$(CC) -std=gnu11 -Wall -Wextra $(if $(WERROR),-Werror) $(CFLAGS) $(filter %.c,$^) -o $@ -lm

bench/groups: bench/groups.c bench/mix.h $(wildcard bench/groups_*.h) test/kernels/steps_list.c $(KERNEL_SOURCES) $(KERNEL_HEADERS)
	$(CC) -std=gnu11 -Wall -Wextra $(if $(WERROR),-Werror) $(CFLAGS) -pthread -I. $(filter %.c,$^) -o $@ -lm

include kernels/cuda/cuda.mk
bench/groups-gpu: bench/groups.c bench/mix.h $(wildcard bench/groups_*.h) test/kernels/steps_list.c $(KERNEL_SOURCES) $(KERNEL_HEADERS) $(CUDA_OBJS)
	$(CC) -std=gnu11 -Wall -Wextra $(if $(WERROR),-Werror) $(CFLAGS) -pthread -DWITH_CUDA -I. -I$(CUDA_HOME)/include $(filter %.c %.o,$^) $(CUDA_LIBS) -o $@
bench/jobs-gpu: bench/jobs.c bench/mix.h $(KERNEL_SOURCES) $(KERNEL_HEADERS) $(CUDA_OBJS)
	$(CC) -std=gnu11 -Wall -Wextra $(if $(WERROR),-Werror) $(CFLAGS) -DWITH_CUDA $(filter %.c %.o,$^) $(CUDA_LIBS) -o $@
bench/proofs: bench/proofs.c bench/mix.h $(KERNEL_SOURCES) $(KERNEL_HEADERS) $(CUDA_OBJS)
	$(CC) -std=gnu11 -Wall -Wextra $(if $(WERROR),-Werror) $(CFLAGS) $(filter %.c %.o,$^) $(CUDA_LIBS) -o $@
