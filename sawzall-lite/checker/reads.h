/* Which fields of a proto tuple a program looks at; see reads.c. */
#ifndef SAWZALL_LITE_CHECKER_READS_H
#define SAWZALL_LITE_CHECKER_READS_H

#include "sawzall-lite/checker/check.h"

/* Fill read_whole and fields_read of all declarations used in @u, which is free
 * of errors. */
void saw_reads_find(const struct saw_unit *u);

/* If @d is a proto tuple made from bytes by its initialiser, tell the call site
 * which fields need not be decoded. PRE: saw_reads_find(). */
void saw_reads_report(const struct saw_decl *d);

#endif /* SAWZALL_LITE_CHECKER_READS_H */
