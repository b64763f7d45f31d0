/* The fields of a proto tuple that a program reads; see reads.c. */
#ifndef SAWZALL_LITE_CHECKER_READS_H
#define SAWZALL_LITE_CHECKER_READS_H

#include "sawzall-lite/checker/check_program.h"

/* Set read_whole and fields_read of all declarations used in @u, which has no
 * errors. */
void saw_reads_find(const struct saw_unit *u);

/* If the initialiser of @d decodes a proto tuple from bytes, note in its call
 * site which fields need not be decoded. PRE: saw_reads_find(). */
void saw_reads_report(const struct saw_decl *d);

#endif /* SAWZALL_LITE_CHECKER_READS_H */
