# Builds the bench of the engine alone: make -f bench/engine.mk; then bench/engine, or bench/engine -t.
CC = gcc
CFLAGS = -O3 -g

bench/engine: bench/engine.c $(wildcard kernels/*.[ch] kernels/cpu/*.[ch])
	$(CC) -std=gnu11 -Wall -Wextra -Werror $(CFLAGS) $(filter %.c,$^) -o $@ -lm
