/* Requests to etcd and its answers (etcdserverpb of version 3), and the keys
 * that a tree of values has there.
 *
 * etcd's keys are flat. The value at "/quarry/a/b" has the key "/quarry/a//b":
 * the directory, two slashes, the name. So all that is directly below "/quarry/
 * a" is the range of keys that begin with "/quarry/a//", and all of the tree
 * begins with its root, which is its own key.
 *
 * Answers are not trusted: they are read, or are ERR_CORRUPT. Versions are
 * those of coordination.h, which begin with 0; etcd's begin with 1.
 *
 * Pure. Threads: any.
 */
#ifndef CHUBBY_LITE_ETCD_ETCD_MESSAGE_H
#define CHUBBY_LITE_ETCD_ETCD_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/slice.h"
#include "chubby-lite/mapped/coordination.h"

struct buf;

/* Conditions, and changes, of one transaction: etcd's own default. */
#define ETCD_OPS_MAX 128

/* --- keys ---------------------------------------------------------------- */

/* Append the key of the value at @path, which is @root or below it. */
void etcd_put_key(const char *root, const char *path, struct buf *out);
/* Append the range of all keys directly below @path. */
void etcd_put_children(const char *path, struct buf *begin, struct buf *end);

/* --- requests ------------------------------------------------------------ */

/* Read one value; @old: as this server has it, which may be old. */
void etcd_put_get(struct slice key, bool old, struct buf *out);
/* The value at @key, and the keys between @begin and @end. */
void etcd_put_list(struct slice key,
                   struct slice begin,
                   struct slice end,
                   bool old,
                   struct buf *out);
/* All of @ops or none; what is made for the session is bound to @lease.
 * Errors: ERR_EXHAUSTED: more conditions than ETCD_OPS_MAX. */
MUST_CHECK int etcd_put_transaction(const char *root,
                                    const struct coordination_op *ops,
                                    size_t count,
                                    uint64_t lease,
                                    struct buf *out,
                                    struct err *err);
void etcd_put_grant(uint64_t ttl_s, struct buf *out);
/* To renew or to revoke it. */
void etcd_put_lease(uint64_t lease, struct buf *out);
void etcd_put_authenticate(struct slice user,
                           struct slice password,
                           struct buf *out);
/* Report changes of @key (@end empty), or between @key and @end, from
 * @revision on. */
void etcd_put_watch(uint64_t id,
                    struct slice key,
                    struct slice end,
                    uint64_t revision,
                    struct buf *out);
void etcd_put_watch_cancel(uint64_t id, struct buf *out);

/* --- answers ------------------------------------------------------------- */

/* The beginning of all. */
struct etcd_header {
    uint64_t revision; /* Of the store, when it was asked. */
    uint64_t term;     /* Of the leader, as the server knew it. */
};

/* Borrows from its message. */
struct etcd_value {
    bool found;
    struct slice key;
    struct slice value;
    uint64_t created;
    uint64_t modified;
    int64_t version;
};

/* Of etcd_put_get(). */
MUST_CHECK int etcd_get_value(struct slice message,
                              struct etcd_header *header,
                              struct etcd_value *out,
                              struct err *err);
/* Of etcd_put_list(): the names below @begin, chubby_names_free().
 * ERR_NOTFOUND: there is no such value. */
MUST_CHECK int etcd_get_names(struct slice message,
                              struct slice begin,
                              struct etcd_header *header,
                              char ***names,
                              size_t *count,
                              struct err *err);
/* Of etcd_put_transaction(): were the changes made? */
MUST_CHECK int etcd_get_outcome(struct slice message,
                                struct etcd_header *header,
                                bool *made,
                                struct err *err);
/* Of a lease that was granted or renewed. @ttl_s: 0: it has ended. */
MUST_CHECK int etcd_get_lease(struct slice message,
                              struct etcd_header *header,
                              uint64_t *lease,
                              uint64_t *ttl_s,
                              struct err *err);
/* Of etcd_put_authenticate(). Borrowed. */
MUST_CHECK int
etcd_get_token(struct slice message, struct slice *token, struct err *err);

/* A message of a stream of watches. */
struct etcd_notice {
    struct etcd_header header;
    uint64_t id;
    bool created;
    bool cancelled;      /* The watch has ended; nothing else is told. */
    struct slice events; /* For etcd_next_event(). */
};

struct etcd_event {
    bool removed;
    bool made; /* Was not there before. */
    uint64_t revision;
};

MUST_CHECK int
etcd_get_notice(struct slice message, struct etcd_notice *out, struct err *err);
/* The next event of @n; false: there is no further one. PRE: read by
 * etcd_get_notice(). */
bool etcd_next_event(struct etcd_notice *n, struct etcd_event *out);

#endif /* CHUBBY_LITE_ETCD_ETCD_MESSAGE_H */
