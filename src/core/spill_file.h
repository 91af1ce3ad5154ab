/*
 * spill_file.h: a temporary file of pieces that are used again.
 */
#ifndef GPUSORT_SPILL_FILE_H
#define GPUSORT_SPILL_FILE_H

typedef struct SpillFile SpillFile;

/* In the current memory context and resource owner; temporary tablespaces have been prepared. */
extern SpillFile *spillfile_open(Size piece_bytes);
extern void spillfile_close(SpillFile *file);

/* Bytes of a piece, the last one of a tape apart. */
extern Size spillfile_piece_bytes(const SpillFile *file);

/* A buffer for the one tape that is being written. */
extern char *spillfile_buffer(SpillFile *file);

/* Writes a piece to a place that is free, and returns its number. */
extern uint32 spillfile_write(SpillFile *file, char *from, Size bytes);

/* Reads a piece, or stops if it is short or its checksum wrong. */
extern void spillfile_read(SpillFile *file, uint32 piece, char *to, Size bytes);

/* Says that a piece will be read soon. */
extern void spillfile_expect(SpillFile *file, uint32 piece, Size bytes);

/* Frees a piece's place. */
extern void spillfile_free(SpillFile *file, uint32 piece);

/* Bytes that the file has. */
extern uint64 spillfile_bytes(const SpillFile *file);

#endif
