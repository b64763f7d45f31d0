/* The Webtable: rows for pages, as docs/crawl.md describes them, made of
 * records of archives. Inside mapreduce/ingest only.
 *
 * Threads: a page writer belongs to one task.
 */
#ifndef MAPREDUCE_INGEST_WEBTABLE_H
#define MAPREDUCE_INGEST_WEBTABLE_H

#include "mapreduce/ingest/ingest_run.h"

struct pages;
struct revisits;
struct warc_record;

extern const struct run_shape webtable_shape;

/* --- pages --------------------------------------------------------------- */

/* A writer of the records of file @path_index. Owned. @revisits is borrowed. */
struct pages *pages_new(struct run *run, struct revisits *revisits);
void pages_free(struct pages *p); /* NULL is allowed. */

/* The records after this are of file @path_index. */
void pages_start_file(struct pages *p, size_t path_index);

/* Likewise of the archive @member in that file: "crawl.wacz/data.warc.gz". */
void pages_start_member(struct pages *p, size_t path_index, const char *member);

/* Write the rows of @rec, or of the record before, if that may have waited for
 * @rec. Parks when a batch is full. */
MUST_CHECK int
pages_put(struct pages *p, const struct warc_record *rec, struct err *err);
/* No record follows the last one: write what waits. Parks. */
MUST_CHECK int pages_end_archive(struct pages *p, struct err *err);
/* Apply the gathered rows. Parks. */
MUST_CHECK int pages_flush(struct pages *p, struct err *err);
struct run_counts *pages_counts(struct pages *p);

/* --- revisits ------------------------------------------------------------ */

/* Captures whose contents are those of an earlier one. Threads: any. */
struct revisits *revisits_new(struct run *run);
void revisits_free(struct revisits *r); /* NULL is allowed. */

struct revisit {
    struct slice row;
    int64_t time_us;
    struct slice original_row; /* Or "". */
    int64_t original_us;       /* INT64_MIN: not known. */
    int64_t original_span_us;  /* Its precision. */
    struct slice digest;       /* Of the payload, as labelled, or "". */
};

/* Remember a revisit; copied. Parks when memory is full of them: they are
 * written to a temporary file then. */
MUST_CHECK int
revisits_add(struct revisits *r, const struct revisit *v, struct err *err);

/* Find the originals in the table and write their contents at the revisits'
 * times. Parks. */
MUST_CHECK int revisits_fill(struct revisits *r, struct err *err);

#endif /* MAPREDUCE_INGEST_WEBTABLE_H */
