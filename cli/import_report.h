/* The report of an import, and the lines that it refused.
 *
 * Threads: one; import_rejects_add() is called by one task at a time.
 */
#ifndef CLI_IMPORT_REPORT_H
#define CLI_IMPORT_REPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/cli.h"
#include "cli/command.h"
#include "cli/output_file.h"
#include "mapreduce/ingest/ingest.h"

/* Rows that were written, each counted once where they were told apart. */
uint64_t import_rows_there(const struct ingest_report *r);

/* Damage on standard error, the counts on standard output. @failed: what was
 * read is not stored. */
void import_report_print(struct cli *cli,
                         const struct args *args,
                         const struct ingest_report *r,
                         const char *table,
                         bool failed);

/* All places of damage that the report keeps into @path, a JSON object a line.
 */
MUST_CHECK int import_report_damage(const struct ingest_report *r,
                                    const char *path,
                                    struct err *err);

/* Refused lines in one file, byte for byte, so that they can be mended and
 * imported, and beside it, in FILE.reasons, a JSON object for each: its file,
 * line and offset there, the reason, and where it is in the first file. */
struct import_rejects {
    struct output_file lines;
    struct output_file reasons;
    char *reasons_path; /* Owned. */
    uint64_t at;        /* Bytes in `lines`. */
    bool open;
};

/* On success import_rejects_close(). */
MUST_CHECK int import_rejects_open(struct import_rejects *x,
                                   const char *path,
                                   struct err *err);
/* An ingest_reject_cb; @ctx is the struct import_rejects. */
void import_rejects_add(void *ctx, const struct ingest_reject *r);
/* The files take their names, also after a failed import: @code, or what went
 * wrong here. Nothing of one that was not opened. */
MUST_CHECK int
import_rejects_close(struct import_rejects *x, int code, struct err *err);

#endif /* CLI_IMPORT_REPORT_H */
