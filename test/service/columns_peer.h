/*
 * columns_peer.h: what keepers, loaders and sessions say to gpusortd about columns, with rows that are known.
 */
#ifndef COLUMNS_PEER_H
#define COLUMNS_PEER_H

#include "peer.h"
#include "../kernels/steps_list.h"

#define DATABASE 5
#define TABLE 77
#define RELATION 1234
/* of the database */
#define FOLDER "base"
#define PAGE_ROWS 10
#define SEGMENT_PAGES 50
/* of the pages that are asked about */
#define FIRST_BLOCK 5000
#define BLOCKS (FIRST_BLOCK + SEGMENT_PAGES)
#define TURN 4

/* Becomes a client of a role and a database with its ring. */
bool enter_as(peer *p, uint32_t database, uint32_t role);

/* A file as a keeper makes it. */
int make_map(const char *text, int seals);

gs_status heard_done(peer *p);

void say_table(peer *p, uint64_t number, int fd);

gs_status make_table(peer *p, uint64_t number);

/* The value of a row's first column, which page and turn give, and whether it is NULL instead. */
int32_t value_of(uint32_t block, uint32_t row, uint32_t turn);
bool null_of(uint32_t block, uint32_t row);

/* Fills slot 0 with a segment of pages from a block on, and returns where the pages begin. */
uint64_t fill_segment(peer *p, uint32_t block, uint32_t npages, uint32_t turn);

void say_store(peer *p, uint64_t table, uint64_t at, uint32_t npages);

/* Stores a segment; 0 if that fails. */
uint32_t store(peer *p, uint64_t table, uint32_t block, uint32_t npages, uint32_t turn);

void say_publish(peer *p, uint64_t table, uint64_t version, uint32_t count, bool last);

/* Publishes pages of a segment, or with segment 0 takes them away. */
gs_status publish(peer *p, uint64_t table, uint64_t version, uint32_t block, uint32_t npages, uint32_t number);

/* Asks for the sums of both columns over pages [from, to), of blocks in all. */
void say_check(peer *p, uint64_t table, uint64_t version, uint32_t from, uint32_t to, uint32_t blocks);

/* Hears the answer to a check, and returns its status. */
gs_status checked(peer *p);

/* True if the answer heard last has the rows of pages [from, to) as they were in a turn. */
bool sums_right(const peer *p, uint32_t from, uint32_t to, uint32_t turn);

void say_number(peer *p, gsd_type type, uint64_t number);

/* Says which tables the keeper knows. */
void say_keep(peer *p, const uint64_t *tables, uint32_t n);

const gsd_table_info *info(peer *p);

/* Tells the limits, as the worker does. */
void limit(uint64_t host_bytes, uint64_t device_bytes, uint32_t threads);

/* Says what is asked, with the mask in slot 0 and the list in slot 1: of two columns, or, wide, of these in turn. */
void say_wide_ask(peer *p, uint64_t version, uint32_t from, uint32_t to, const steps_list *l, bool wide);

/* The same, with further tables, which lie in slot 2. */
void say_further_ask(peer *p, uint64_t version, uint32_t from, uint32_t to, const steps_list *l, bool wide,
					 uint32_t further);

/* The same, about columns by their indexes. */
void say_columns_ask(peer *p, uint64_t version, uint32_t from, uint32_t to, const steps_list *l,
					 const uint32_t *columns, uint32_t ncolumns, uint32_t further);

/* Hears the answer, and what comes before, and returns its status. */
gs_status answered(peer *p);

/* columns_questions.c */
void test_questions(peer *keeper);

/* columns_strings.c */
void test_strings(peer *keeper);

/* columns_groups.c: about pages that have been published */
void test_groups(uint64_t version);

#endif
