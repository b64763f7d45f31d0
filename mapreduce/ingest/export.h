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

#include <stdbool.h>
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

/* A capture that has been written, for an index; borrowed for the call. */
struct export_capture {
    struct slice uri;
    int64_t time_us;
    bool is_revisit;
    struct slice content_type; /* Of the server. */
    struct slice status;
    struct slice title;
    struct slice digest; /* Of the payload, as the record has it. */
    struct slice method; /* Of a request by another method than GET, */
    struct slice query;  /* and what its body says. */
    uint64_t offset;     /* Of its record in the file, */
    uint64_t length;     /* and its bytes there. */
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
    /* Called for each capture when its record is made; NULL: not. An error ends
     * the export. */
    int (*on_capture)(void *ctx,
                      const struct export_capture *c,
                      struct err *err);
    void *ctx;
};

/* Write an archive of web archives, a WACZ (https://specs.webrecorder.net/wacz/
 * 1.1.1/): a ZIP of the captures as export_warc() writes them, with an index
 * of them, a list of pages, and digests of these. opts->write gets its bytes in
 * order; on_capture is not called. Errors: as export_warc(); ERR_FULL: the
 * index is larger than EXPORT_INDEX_BYTES_MAX. */
MUST_CHECK int export_wacz(struct quarry_table *table,
                           const struct quarry_read_options *read,
                           const struct export_options *opts,
                           struct export_report *report,
                           struct err *err);

/* Write an index (CDXJ) of the archives that captures were imported from, by
 * their meta:source. Likewise. */
MUST_CHECK int export_cdxj(struct quarry_table *table,
                           const struct quarry_read_options *read,
                           const struct export_options *opts,
                           struct export_report *report,
                           struct err *err);

/* Write the texts of pages as conversion records, as the WET files of Common
 * Crawl have them. Likewise; on_capture is not called. */
MUST_CHECK int export_wet(struct quarry_table *table,
                          const struct quarry_read_options *read,
                          const struct export_options *opts,
                          struct export_report *report,
                          struct err *err);

/* Write headers and links of captures as metadata records of JSON, as the WAT
 * files of Common Crawl have them. Likewise. */
MUST_CHECK int export_wat(struct quarry_table *table,
                          const struct quarry_read_options *read,
                          const struct export_options *opts,
                          struct export_report *report,
                          struct err *err);

/* Lines of an index are sorted in memory: this much of them. */
#define EXPORT_INDEX_BYTES_MAX ((size_t)1 << 30)

/* Write the rows that @read selects. It must not leave out families or values.
 * @report is filled on error too. Errors: ERR_INVALID, @table lacks a family of
 * a Webtable; those of a scan and of opts->write. */
MUST_CHECK int export_warc(struct quarry_table *table,
                           const struct quarry_read_options *read,
                           const struct export_options *opts,
                           struct export_report *report,
                           struct err *err);

#endif /* MAPREDUCE_INGEST_EXPORT_H */
