/* The kind of a file, told by its first bytes, decompressed if they have to be:
 * its name says nothing. Public header of mapreduce/ingest.
 *
 * A file is never taken for something on a guess alone: what fits no kind is an
 * error that says how to name one.
 *
 * Threads: any. ingest_detect() parks; the others are pure.
 */
#ifndef MAPREDUCE_INGEST_DETECT_H
#define MAPREDUCE_INGEST_DETECT_H

#include <stdbool.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct world;

enum ingest_kind {
    INGEST_KIND_WARC,       /* Also ARC, and WACZ. */
    INGEST_KIND_CSV,        /* Separated by whatever. */
    INGEST_KIND_JSONL,      /* An object a line. */
    INGEST_KIND_ACCESS_LOG, /* Of Apache and nginx. */
    INGEST_KIND_CELLS,      /* An export: JSON lines, TSV or CSV of cells. */
    INGEST_KIND_RECORDS,    /* A record file. */
    INGEST_KIND_PARQUET,
    INGEST_KIND_ARROW, /* A file or a stream of Arrow's IPC format. */
    INGEST_KIND_EMPTY, /* No line: part of an import of any kind. */
    INGEST_KINDS
};

struct ingest_detected {
    enum ingest_kind kind;
    char separator; /* Of CSV. */
};

/* "web archive", "CSV", … */
const char *ingest_kind_name(enum ingest_kind kind);

/* Errors: ERR_INVALID (no kind fits; the text names what it looks like),
 * ERR_UNSUPPORTED (a compression that this build does not read), those of
 * reading. */
MUST_CHECK int ingest_detect(struct world *world,
                             const char *path,
                             struct ingest_detected *out,
                             struct err *err);

/* Bytes of a file, and of its decompressed text, that are looked at. */
#define DETECT_BYTES ((size_t)64 << 10)

/* The same of @head, the first bytes of a text; @whole: there are no more. */
MUST_CHECK int ingest_sniff(struct slice head,
                            bool whole,
                            struct ingest_detected *out,
                            struct err *err);

#endif /* MAPREDUCE_INGEST_DETECT_H */
