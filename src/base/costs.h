/*
 * costs.h: the measured constants of gpusort's costs, in one table.  Each entry says what the constant costs, then its
 * unit and its source.  The unit is what the value is multiplied by; "plain" is the planner's own, in which a row of a
 * sequential scan costs 0.02.  "Planning" is doc/planning.md, which has the measured times.  A benchmark of whole
 * queries (bench/shares.sh) does not print the value; the plans that are chosen with it agree with its times.
 */
#ifndef GPUSORT_COSTS_H
#define GPUSORT_COSTS_H

/* ---------------------------------------------------------------- sorts: cost/sort_cost.c */

/*
 * A row, read, kept and returned by a sort: the default of gpusort.cpu_row_cost.
 * Unit: plain.  Source: bench/costs.sh; Planning, "What the settings stand on".
 *
 * Measured in memory on one core, where a row of a sequential scan takes 70 ns: 85 ns with a key of eight bytes (0.025;
 * the server's sort took 334), 110 ns with a second key, 180 ns with 32-character strings (650).
 */
#define SORT_ROW_COST 0.02

/*
 * Eight bytes of a row's key.
 * Unit: gpusort.cpu_row_cost.  Source: as for SORT_ROW_COST.
 */
#define KEY_COST 0.375

/*
 * A page of memory that is new to a process and faulted in: 2 microseconds.
 * Unit: seq_page_cost.  Source: Planning, "Shares" (DISTINCT ON over wide rows); bench/first_touch.c.
 */
#define FIRST_TOUCH_COST 0.6

/* ---------------------------------------------------------------- blocks of sorted rows: cost/sort_cost.c */

/*
 * A row that the leader takes from its block, compares and returns; as much again for each MERGE_ROW_BYTES of it.
 * Unit: gpusort.cpu_row_cost.  Source: bench/costs.sh, "ns of CPU a row in the leader".
 */
#define MERGE_ROW_COST 0.75
#define MERGE_ROW_BYTES 100.0

/*
 * A row that a worker sends to the leader by itself, in truth.
 * Unit: parallel_tuple_cost.  Source: bench/costs.sh, column "tuples" of the same table.
 */
#define SINGLE_ROW_COST 0.5

/* ---------------------------------------------------------------- groups: cost/sort_cost.c, shares/plan_shares.c */

/*
 * A row of a hashed aggregate, which the server's model leaves out, relative to a sort; the addition for a table of
 * more than CACHE_BYTES; and a byte of a row, which the sort's model leaves out.
 * Unit: plain.  Source: Planning, "Costs".
 *
 * Measured on two busy cores, a million rows of a table: for 5 thousand groups of an integer 159 ns hashed and 63
 * sorted, for 100 thousand groups 420 and 78.
 */
#define HASHED_ROW_COST 0.05
#define FAR_ROW_COST 0.03
#define CACHE_BYTES (1024 * 1024)
#define BYTE_COST 0.00025

/*
 * A row's key without an exact encoding, in sorted groups that compete with hashed ones: looked up in a dictionary; or
 * encoded approximately and compared, and each of its bytes.  The model leaves them out, and so do plain sorts: the
 * server's sorts spend more on comparisons and do not charge for it, either.
 * Unit: plain.  Source: test/pgtap/costs.sql and these times.
 *
 * Measured: a million rows by a text of en_US took 90 ns a row more than by a text of C if its values were few, else
 * 200 ns, and 3700 ns for 156 characters with a long common prefix; 40,000 rows by a jsonb of 40 bytes took 210 to 270
 * and 640 to 760 ns more than by an int4.
 */
#define LOOKED_UP_KEY_COST 0.025
#define COARSE_KEY_COST 0.045
#define COARSE_BYTE_COST 0.002

/*
 * A row of a WindowAgg, for the tuplestore, which the server's model leaves out.
 * Unit: plain.  Source: bench/shares.sh; Planning, "Shares".
 */
#define WINDOW_ROW_COST 0.1

/*
 * A row of an aggregate that sorts its input itself, beside the comparisons.  The server's model leaves it out.
 * Unit: plain.  Source: bench/shares.sh.
 */
#define AGGREGATE_SORT_ROW_COST 0.05

/*
 * The end of a group of one of gpusort's aggregates, which the model leaves out: 0.5 to 2 us for 20 values.
 * Unit: plain.  Source: bench/aggregates.pl; Planning, "Shares".
 */
#define AGGREGATE_GROUP_COST 0.35

/*
 * The rows of a page and those before it, where LIMIT and OFFSET are known at run time only.
 * Unit: rows.  Source: a guess; the server's, a tenth of all rows, is no page.
 */
#define PAGE_ROWS 100.0

/*
 * A row that is looked up among groups and compared with the last one of its group that is kept; more if the groups are
 * larger than CACHE_BYTES; and one that is kept.
 * Unit: plain.  Source: Planning, "Top n of each group".
 *
 * Measured: DISTINCT ON of 3 million rows takes 30 ns a row beyond the scan with 100 groups, 290 ns with 50,000, and a
 * row that is kept 0.4 us with those and more with a million.
 */
#define TOPN_ROW_COST 0.015
#define TOPN_FAR_ROW_COST 0.08
#define TOPN_KEPT_ROW_COST 0.1

/*
 * What a group takes beside its rows, and a row beside its columns.
 * Unit: bytes.  Source: sizes in topn/group_rows.c and rows/first_rows.h.
 */
#define TOPN_GROUP_BYTES 128
#define TOPN_ROW_BYTES 128

/* ---------------------------------------------------------------- input of shares: shares/plan_share_node.c */

/*
 * A row of another share, tested and left out by a participant that scans everything.
 * Unit: cpu_operator_cost, for each key.  Source: bench/shares.sh.
 */
#define SKIPPED_ROW_COST 1.0

/*
 * A row of an input that is not read by the page, beyond the server's cost of it.
 * Unit: cpu_tuple_cost.  Source: Planning, "Shares".
 *
 * Measured: relative to a sequential scan, an index-only scan takes three times its cost, joins more.
 */
#define SINGLY_READ_ROW_COST 3.0

/*
 * The input's expressions, beyond the server's cost of them.  Most functions take longer than an operator, which they
 * are charged as, and every participant computes them for all rows.
 * Unit: the expressions' own cost.  Source: Planning, "Shares".
 */
#define EXPRESSIONS_COST 4.0

/*
 * A row sent to another participant, and each of its bytes.  The files are charged a further parallel_setup_cost.
 * Unit: cpu_tuple_cost.  Source: bench/shares.sh; Planning, "Shares".
 */
#define SENT_ROW_COST 3.0
#define SENT_BYTE_COST 0.03

/* ---------------------------------------------------------------- resident columns: columns/plan_columns.c */

/*
 * A question to the service about one table: its list of steps, the way there and back, and the proof's fixed part; and
 * what it pays for each page of the table, with the page's bits in the visibility map, the page map and the mask.
 * Unit: plain.  Source: EXPLAIN (ANALYZE) of bench/columns-answers.sh.
 *
 * Measured: 0.1 ms a question; 0.3 ns a page for the proof, 8 pages a byte in three copies.
 */
#define COLUMNS_QUESTION_COST 30.0
#define COLUMNS_PAGE_COST 0.0003

/*
 * A page that is proved by its own LSN, in shared buffers.
 * Unit: plain.  Source: as for COLUMNS_QUESTION_COST.
 *
 * Measured: 370 to 460 ns.
 */
#define COLUMNS_YOUNG_PAGE_COST 0.12

/*
 * A row, for each condition and each column, constant or operation of an aggregate, on one thread.
 * Unit: plain.  Source: as for COLUMNS_QUESTION_COST.
 *
 * Measured: 0.4 to 0.6 ns for sums of int4 and int8; a filter of three conditions, with branches, 3.4 ns.
 */
#define COLUMNS_VALUE_COST 0.0003

/*
 * A key, or an aggregate of all values of a group, for each row: in values.  A group that is returned and becomes a
 * row.
 * Unit: COLUMNS_VALUE_COST; plain.  Source: EXPLAIN (ANALYZE) of a million rows, by an int4 with a sum of another.
 *
 * Measured on one thread: 7 ns a row with 1,000 groups; 0.8 to 1 us a group with a million, where PostgreSQL's plan of
 * cost 28,800 takes 0.84 s.
 */
#define COLUMNS_KEY_VALUES 10
#define COLUMNS_GROUP_COST 0.03

/*
 * A window, for each row, in values: rows are put in its order.
 * Unit: COLUMNS_VALUE_COST.  Source: bench/columns-answers.sh, the lines of windows, by processor time.
 *
 * Measured: 15 to 60 ns a row, the more the more columns go through the sort.
 */
#define COLUMNS_WINDOW_VALUES 20

/*
 * A value of a row of a query with windows that is returned: the row is a group, which is mostly its own, and the value
 * one of its keys.
 * Unit: plain.  Source: bench/columns-rows.sh.
 *
 * Measured: 150 to 210 ns, with one window or three, and 3 to 10 values; of PostgreSQL's plan with a GpuSort below,
 * 2.3 to 7.1 ns a unit of its cost, as a cheap function and an aggregate of numerics cost the same.
 */
#define COLUMNS_WINDOW_VALUE_COST 0.03

/* Rows of a run, of which nothing is known. */
#define COLUMNS_RUN_ROWS 16

/*
 * A row that is found: its way from the service as a TID, and its place in the order of the table; and a page that is
 * fetched by itself, beyond what the server charges for one.
 * Unit: plain.  Source: EXPLAIN (ANALYZE) of three million rows in 266 MB, with 128 MB of shared buffers.
 *
 * Measured: 30 ns a row; 13 us a page with one row, of which the whole table has 34,000, where a sequential scan takes
 * 10 us a page with its 88 rows on two cores.  At 300,000 rows, of all pages, the scan is ahead.
 */
#define COLUMNS_ROW_COST 0.001
#define COLUMNS_FETCHED_PAGE_COST 0.4

/* ---------------------------------------------------------------- builds of indexes: index/index_choice.c */

/*
 * The average length from which on strings are sorted before an index is built of them, although PostgreSQL has
 * abbreviated keys of them, as it has under ICU; and the rows that share a value of a first key of another type, from
 * which on they are, because comparisons of the keys behind it are many.
 * Unit: bytes; rows.  Source: bench/index.sh.
 *
 * Measured: strings of 15 under ICU take as much processor time either way, of 60 half of it; 3000 rows of an int4 with
 * a timestamp behind it, 0.63 of it.
 */
#define INDEX_LONG_STRING 32
#define INDEX_REPEATED_KEY 100.0

/* ---------------------------------------------------------------- choice of an engine: engine/engine_choose.c */

/*
 * Bytes of key that save as much on a GPU as a row does without them, and the bytes of row and key that count as one
 * row.  The GPU saves more per row with longer keys, while the cost per job is fixed.
 * Unit: bytes.  Source: bench/results/queries-gpu.txt.
 *
 * Measured on an H200, a million rows: 14 ns a row with a key of 4 bytes, 17 with 8, 25 with two of 8, 48 and 69 with
 * strings of 16 and 48, which the planner estimates as 32.
 */
#define GPU_ROW_BYTES 4
#define GPU_UNIT_BYTES 12

/*
 * The work from which on a running GPU is used: the default of gpusort.gpu_min_rows.
 * Unit: rows with keys of 8 bytes.  Source: doc/protocol.md.
 *
 * Measured on an H200: a warm session gains from 10000 to 30000 rows on; making a new session's ring takes some 24 ms.
 */
#define GPU_MIN_ROWS 200000

#endif
