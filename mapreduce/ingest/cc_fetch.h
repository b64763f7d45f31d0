/* Captures out of a crawl that lies elsewhere in the layout of Common Crawl,
 * without its other bytes (https://commoncrawl.org/get-started):
 *
 *     cc-index/collections/CRAWL/indexes/cluster.idx
 *         a line a block of the index: its first key, file, offset and length
 *     cc-index/collections/CRAWL/indexes/cdx-00000.gz …
 *         blocks of lines, each a gzip member: "SURT DATE {…}"
 *     FILENAME of such a line
 *         a WARC file, of which it names offset and length
 *
 * The first is searched by halving, of the second the blocks are read that may
 * hold what is asked for, of the third the records. Everything is read through
 * the file system interface, so that the crawl may be on a web server, in a
 * bucket or on a disk. Public header of mapreduce/ingest.
 *
 * Everything in these files is outside bytes: sizes are bounded.
 *
 * Threads: one a list. Parks.
 */
#ifndef MAPREDUCE_INGEST_CC_FETCH_H
#define MAPREDUCE_INGEST_CC_FETCH_H

#include <stddef.h>
#include <stdint.h>

#include "base/core/arena.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

struct fs;
struct ingest_part;

/* A block of an index, and a record; larger ones are damage. */
#define CC_BLOCK_BYTES_MAX  ((uint64_t)16 << 20)
#define CC_RECORD_BYTES_MAX ((uint64_t)256 << 20)
/* Captures of one list. */
#define CC_CAPTURES_MAX ((uint64_t)4 << 20)

struct cc_question {
    const char *base;  /* Path of the crawl in the file system, with its slash;
                          or "". */
    const char *crawl; /* "CC-MAIN-2024-22" */
    int64_t from_us;   /* Captures of [from_us, to_us). */
    int64_t to_us;
    const char *mime; /* Of the server, or as detected; NULL: any. */
    unsigned status;  /* 0: any. */
    uint64_t limit;   /* Captures, the first by SURT and date. */
};

struct cc_capture {
    struct slice line; /* As the index has it, without its end. */
    struct slice file_name;
    uint64_t offset;
    uint64_t length;
};

struct cc_list {
    struct arena arena;
    struct cc_capture *at; /* Owned. */
    size_t count;
    size_t cap;
    uint64_t blocks; /* Of the index that were read. */
    uint64_t bad;    /* Lines that are none. */
};

void cc_list_init(struct cc_list *l);
void cc_list_close(struct cc_list *l);

/* Add the captures of @pattern, "URL", "URL*", "host" or "*.host". Errors:
 * ERR_INVALID (the pattern), ERR_CORRUPT (an index that is none), those of
 * reading. */
MUST_CHECK int cc_find(struct fs *fs,
                       const struct cc_question *q,
                       struct slice pattern,
                       struct cc_list *l,
                       struct err *err);

/* Read the records of @l, in order of files and places, which @l has then, and
 * give their bytes to @write, one after the other. @parts, as many as
 * captures, says where each came from; its names are borrowed from @l. */
MUST_CHECK int
cc_fetch(struct fs *fs,
         const struct cc_question *q,
         struct cc_list *l,
         int (*write)(void *ctx, struct slice bytes, struct err *err),
         void *ctx,
         struct ingest_part *parts,
         struct err *err);

#endif /* MAPREDUCE_INGEST_CC_FETCH_H */
