/*
 * spill_file.h: reading what was written to a temporary file.
 *
 * A file that ends too early is an error, XX001.
 */
#ifndef GPUSORT_SPILL_FILE_H
#define GPUSORT_SPILL_FILE_H

#include "access/htup_details.h"
#include "storage/buffile.h"

/* Rewinds a file that has been written, to be read. */
extern void rewind_file(BufFile *file);

/* Reads exactly that many bytes. */
extern void read_exact(BufFile *file, void *to, Size bytes);

/* Reads bytes that stand at the beginning of a record; false at the end of the file. */
extern bool read_start(BufFile *file, void *to, Size bytes);

/* Reads what follows the length of a row, to a place with room for it. */
extern MinimalTuple read_row(BufFile *file, char *place, uint32 len);

#endif
