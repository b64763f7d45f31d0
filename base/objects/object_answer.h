/* The XML of S3's answers: pages of lists, errors, uploads in parts.
 *
 * The text comes from a server and is believed in nothing: depth, names and
 * texts are bounded, declarations of types and entities are refused.
 *
 * Pure, on expat. Threads: any.
 */
#ifndef BASE_OBJECTS_OBJECT_ANSWER_H
#define BASE_OBJECTS_OBJECT_ANSWER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"

/* Longest answer that is read: a page of 1,000 keys of 1,024 bytes that are
 * encoded three times as long, and what is around them. */
#define OBJECT_ANSWER_BYTES_MAX ((size_t)8 << 20)

/* Most keys and prefixes of a page: S3 gives 1,000. */
#define OBJECT_PAGE_ENTRIES_MAX 10000

struct object_entry {
    char *key; /* Owned. */
    uint64_t size_bytes;
    uint64_t modified_us; /* 0: unknown. */
    bool is_prefix;       /* All keys that begin so, up to the delimiter. */
};

struct object_page {
    struct object_entry *entries; /* Owned. */
    size_t count;
    size_t cap;
    struct buf next; /* Where the next page begins; empty: this is the last. */
};

/* Read one page of ListObjectsV2. In any case object_page_close(). Errors:
 * ERR_CORRUPT. */
MUST_CHECK int
object_page_parse(struct slice xml, struct object_page *out, struct err *err);
void object_page_close(struct object_page *p);

/* The texts that other answers have, each cut at its length; "": not there. */
struct object_words {
    char root[48]; /* The name of the outermost element. */
    char code[80];
    char message[256];
    char request_id[80];
    char region[64];
    char endpoint[256];
    char upload_id[1024];
    char etag[128];
};

/* Read @xml, which may be no XML at all: then all words are empty. ERR_CORRUPT
 * only tells that. */
int object_words_parse(struct slice xml, struct object_words *out);

#endif /* BASE_OBJECTS_OBJECT_ANSWER_H */
