/*
 * columns_answer.h: asks the service about a table, or the partitions of one, and adds what it does not hold.
 */
#ifndef GPUSORT_COLUMNS_ANSWER_H
#define GPUSORT_COLUMNS_ANSWER_H

#include "columns_question.h"

/* Answers.  Returns NULL, or why columns cannot. */
extern const char *columns_answer(ColumnsQuestion *question);

/* Counts that rows which columns of a table gave were found to be wrong, and records it of a device that gave them. */
extern void columns_gave_wrong_rows(Relation table, bool copied);

#endif
