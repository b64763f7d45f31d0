/* The records of a node in a service that others run, as text that its own
 * tools can show: a record, and the state of its lock. docs/formats.md has the
 * grammar.
 *
 * Pure. Threads: any.
 */
#ifndef CHUBBY_LITE_MAPPED_MAPPED_RECORD_H
#define CHUBBY_LITE_MAPPED_MAPPED_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/slice.h"
#include "chubby-lite/chubby.h"

struct arena;
struct buf;

/* Holders of one lock. */
#define LOCK_HOLDERS_MAX 4096

struct mapped_record {
    bool is_directory;
    uint64_t content_generation; /* Of a file. */
    struct slice contents;
};

void mapped_record_put(const struct mapped_record *r, struct buf *out);
/* @r borrows from @bytes. Errors: ERR_CORRUPT. */
MUST_CHECK int
mapped_record_get(struct slice bytes, struct mapped_record *r, struct err *err);

struct lock_holder {
    uint64_t session;
    uint64_t handle; /* Of the session. */
    uint32_t delay_ms;
    bool hears_conflict;
};

struct lock_state_record {
    uint64_t generation;
    enum chubby_lock mode;    /* Of the holders; CHUBBY_FREE: there are none. */
    uint64_t closed_until_us; /* Wall clock: a holder has failed. */
    uint64_t wanted;          /* Times that somebody found it held. */
    uint64_t draining; /* The session that wants caches to be emptied; 0: none.
                        */
    struct lock_holder *holders;
    size_t count;
};

void lock_state_record_put(const struct lock_state_record *s, struct buf *out);
/* Holders are in memory of @a, with room for one more. Errors: ERR_CORRUPT. */
MUST_CHECK int lock_state_record_get(struct slice bytes,
                                     struct arena *a,
                                     struct lock_state_record *s,
                                     struct err *err);

/* The record of a session. */
struct mapped_session_record {
    uint64_t lease_ms;
    struct slice address; /* "": not told. */
};

void mapped_session_record_put(const struct mapped_session_record *r,
                               struct buf *out);
/* @r borrows from @bytes. Errors: ERR_CORRUPT. */
MUST_CHECK int mapped_session_record_get(struct slice bytes,
                                         struct mapped_session_record *r,
                                         struct err *err);

#endif /* CHUBBY_LITE_MAPPED_MAPPED_RECORD_H */
