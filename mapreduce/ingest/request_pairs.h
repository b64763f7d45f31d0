/* Answers and the requests that they answer, which are records of their own
 * beside them in an archive: before (wget) or behind (Heritrix, warcio). Each
 * names the other in WARC-Concurrent-To.
 *
 * An answer whose request may be the next record is held back, copied, until
 * that was read. Of requests by GET nothing is kept but which they are.
 *
 * Inside mapreduce/ingest only. Threads: one. Nothing waits.
 *
 * Invariants
 *     INV-1. At most one answer and one request are held.
 */
#ifndef MAPREDUCE_INGEST_REQUEST_PAIRS_H
#define MAPREDUCE_INGEST_REQUEST_PAIRS_H

#include <stdbool.h>

#include "base/core/arena.h"
#include "base/core/buf.h"
#include "mapreduce/warc/archive_reader.h"
#include "mapreduce/warc/archived_http.h"

/* Longer requests are known by their query alone. */
#define REQUEST_BYTES_MAX ((size_t)1 << 20)

/* A request that was read. */
struct held_request {
    bool is_held;
    struct buf id;
    struct buf uri;
    struct buf concurrent; /* The first record that it names. */
    struct buf method;     /* "" for GET. */
    struct buf query;      /* method_query_put() */
    struct buf bytes;      /* Head and body, or "". */
};

struct held_answer {
    bool is_held;
    struct warc_record record; /* Its texts are in `arena` and `block`. */
    struct arena arena;
    struct buf block;
};

struct request_pairs {
    struct held_request request;
    struct held_answer answer;
    struct http_message message; /* Scratch. */
};

void request_pairs_init(struct request_pairs *p);
void request_pairs_close(struct request_pairs *p);

/* Keep the request @rec, in place of the one before. */
void request_pairs_put_request(struct request_pairs *p,
                               const struct warc_record *rec);
void request_pairs_forget_request(struct request_pairs *p);

/* Is the request that is held the one that @answer answers? */
bool request_pairs_match(const struct request_pairs *p,
                         const struct warc_record *answer);

/* May the next record be the request of @rec? */
bool request_pairs_may_follow(const struct warc_record *rec);
/* Copy @rec. PRE: no answer is held. */
void request_pairs_hold(struct request_pairs *p, const struct warc_record *rec);
/* The answer that was held is dropped. */
void request_pairs_release(struct request_pairs *p);

#endif /* MAPREDUCE_INGEST_REQUEST_PAIRS_H */
