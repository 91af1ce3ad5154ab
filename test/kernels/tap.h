/*
 * tap.h: what tests in C report, as TAP, and the random numbers that they begin with.
 */
#ifndef GPUSORT_TEST_TAP_H
#define GPUSORT_TEST_TAP_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One check, which is one line. */
void tap_ok(bool good, const char *format, ...) __attribute__((format(printf, 2, 3)));
void tap_skip(const char *why);

/* A group of checks, which is one line, behind the first of those that failed. */
void group(const char *name);
void check(bool good, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Prints the plan; main returns the result. */
int tap_done(void);

/* SEED of the environment, or another number each time, which is printed with its first use. */
uint64_t test_seed(void);

/* Random numbers from test_seed() on; s tells the tests of one run apart. */
void seed(uint64_t s);

/* Random numbers that are the same in every run, or, as long as its bytes last, those that a fuzzer has chosen. */
void rnd_seed(uint64_t s);
void rnd_from(const uint8_t *bytes, size_t n);

uint64_t rnd(void);
uint64_t rnd_below(uint64_t limit);

#endif
