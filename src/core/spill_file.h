/*
 * spill_file.h: a temporary file of pieces whose space is reused.
 */
#ifndef GPUSORT_SPILL_FILE_H
#define GPUSORT_SPILL_FILE_H

typedef struct SpillFile SpillFile;

/* Opens a file in the current memory context and resource owner, after PrepareTempTablespaces(). */
extern SpillFile *spillfile_open(Size piece_bytes);
extern void spillfile_close(SpillFile *file);

/* Bytes of a piece; only a tape's last one may be shorter. */
extern Size spillfile_piece_bytes(const SpillFile *file);

/* A buffer for the one tape that is being written. */
extern char *spillfile_buffer(SpillFile *file);

/* Writes a piece to a free place and returns its number. */
extern uint32 spillfile_write(SpillFile *file, char *from, Size bytes);

/* Reads a piece; raises an error if it is short or its checksum wrong. */
extern void spillfile_read(SpillFile *file, uint32 piece, char *to, Size bytes);

/* Prefetches a piece. */
extern void spillfile_expect(SpillFile *file, uint32 piece, Size bytes);

/* Frees a piece's place. */
extern void spillfile_free(SpillFile *file, uint32 piece);

/* The size of the file. */
extern uint64 spillfile_bytes(const SpillFile *file);

#endif
