/* Webtables back into web archives: the way out of mapreduce/ingest.
 *
 * Each capture in a row becomes a WARC/1.1 record of the URI, the time and the
 * HTTP head it was imported with; texts made of it and notes on it follow as
 * records of their own. Any reader of WARC reads the file; importing it gives
 * the rows it was made of, cell by cell. docs/crawl.md says how, and which
 * cells do not go: those that no import wrote, and pages known from WAT alone.
 *
 * Threads: one at a time an export. Parks.
 */
#ifndef MAPREDUCE_INGEST_EXPORT_H
#define MAPREDUCE_INGEST_EXPORT_H

#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct quarry_read_options;
struct quarry_table;

enum export_compression {
    EXPORT_PLAIN,
    EXPORT_GZIP, /* A member per record, so that readers can seek. */
    EXPORT_ZSTD, /* A frame per record. */
};

/* The compression by the end of @file_name: .gz, .zst, else none. */
enum export_compression export_compression_of(const char *file_name);

struct export_report {
    uint64_t row_count; /* Rows that had a record. */
    uint64_t record_count;
    uint64_t capture_count;  /* Responses, resources and revisits. */
    uint64_t left_out_count; /* Captures of which only metadata exists. */
    uint64_t byte_count;     /* Written. */
};

struct export_options {
    enum export_compression compression;
    const char *file_name; /* For the file's first record. */
    int64_t time_us;       /* Likewise: now. */
    /* Take the next bytes of the file, at most a record or 1 MiB more, and the
     * progress so far. An error ends the export. */
    int (*write)(void *ctx,
                 struct slice bytes,
                 const struct export_report *done,
                 struct err *err);
    void *ctx;
};

/* Write the rows that @read selects. It must not leave out families or values.
 * @report is filled on error too. Errors: ERR_INVALID, @table lacks a family of
 * a Webtable; those of a scan and of opts->write. */
MUST_CHECK int export_warc(struct quarry_table *table,
                           const struct quarry_read_options *read,
                           const struct export_options *opts,
                           struct export_report *report,
                           struct err *err);

#endif /* MAPREDUCE_INGEST_EXPORT_H */
