/* A service that others run, as far as the mapping needs it: a tree of small
 * values, changed by transactions, watched, and in part bound to a session that
 * a lease keeps alive. ZooKeeper and etcd have all of it.
 *
 * Paths are "/a/b", of bytes 0x21 to 0x7e. A value is made below one that
 * exists, and removed while none is below it.
 *
 * Sessions. The store begins one when it is opened. renew() proves that the
 * service knew of it at some moment after the call: until `usable_us` after
 * that moment, counted by this machine's clock from before the call, no server
 * of the service ends it. How each store comes to that figure is said where it
 * is computed (zookeeper_store.c, etcd_store.c).
 *
 * Functions park, and end with the fiber's deadline or cancellation. Errors of
 * all of them, beside those named: ERR_CLOSED: the session has ended;
 * ERR_UNAVAILABLE: no answer, and a change may or may not have been made, now
 * or later; ERR_DENIED.
 *
 * One loop: events come on it.
 */
#ifndef CHUBBY_LITE_MAPPED_COORDINATION_H
#define CHUBBY_LITE_MAPPED_COORDINATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/slice.h"
#include "chubby-lite/chubby.h"

struct buf;
struct coordination;
struct world;

struct coordination_stat {
    uint64_t created;  /* Greater than that of any earlier value of the path. */
    int64_t version;   /* Another after each change while it exists. */
    uint64_t modified; /* The revision of its last change: see commit(). */
};

enum coordination_flags {
    /* All that was acknowledged anywhere before the call is seen. Without it,
     * only what this session has seen or changed. */
    COORDINATION_FRESH = 1,
    /* One event comes when the answer is no more what the call returned. */
    COORDINATION_WATCH = 2,
};

enum coordination_op_kind {
    COORDINATION_CHECK,  /* It exists, in `version`. */
    COORDINATION_CREATE, /* It does not exist; the path above does. */
    COORDINATION_SET,
    COORDINATION_DELETE,
};

/* Of any version. */
#define COORDINATION_ANY INT64_C(-1)

struct coordination_op {
    enum coordination_op_kind kind;
    const char *path;
    struct slice value;
    int64_t version;
    bool of_session; /* CREATE: it ends with the session, and has none below.
                        DELETE: it was made so. */
};

enum coordination_event {
    COORDINATION_CHANGED, /* The value at the path, or the list below it. */
    COORDINATION_MOVED,   /* Another server answers: look at what is watched. */
    COORDINATION_ENDED,   /* The session has ended. */
};

/* Does not park. @path: of COORDINATION_CHANGED. */
typedef void (*coordination_cb)(void *ctx,
                                enum coordination_event event,
                                const char *path);

struct coordination_options {
    uint32_t lease_ms; /* Wanted; the service may have bounds. */
    coordination_cb on_event;
    void *ctx;
};

struct coordination_ops {
    const char *name; /* "zookeeper" */
    /* @where: of the store's own kind, borrowed. ERR_UNSUPPORTED. */
    int (*open)(struct world *w,
                void *where,
                const struct coordination_options *opts,
                struct coordination **out,
                struct err *err);
    /* End the session, unless it is lost, and free the store. No event comes
     * afterwards. PRE: no other call is under way. */
    void (*close)(struct coordination *s, bool is_lost);
    int (*renew)(struct coordination *s, struct err *err);
    /* Append the value to @value (NULL: not wanted). ERR_NOTFOUND: then nothing
     * is watched. */
    int (*get)(struct coordination *s,
               const char *path,
               unsigned flags,
               struct buf *value,
               struct coordination_stat *stat,
               struct err *err);
    /* Names of what is directly below @path, in no order: chubby_names_free().
     * ERR_NOTFOUND. */
    int (*list)(struct coordination *s,
                const char *path,
                unsigned flags,
                char ***names,
                size_t *count,
                struct err *err);
    /* All of @ops, or none: ERR_ABORTED. Each path is in one of them.
     * *@revision (NULL: not wanted; one of @ops is COORDINATION_SET) becomes
     * `created` of what is made, and `modified` of what is set. */
    int (*commit)(struct coordination *s,
                  const struct coordination_op *ops,
                  size_t count,
                  uint64_t *revision,
                  struct err *err);
    /* Write down what end() needs. */
    void (*note)(const struct coordination *s,
                 char note[CHUBBY_NOTE_BYTES_MAX]);
    /* End the session of @note. */
    void (*end)(struct world *w, void *where, const char *note);
};

/* The beginning of every store. */
struct coordination {
    const struct coordination_ops *ops;
    uint64_t session; /* Its number; never used twice. */
    uint32_t lease_ms;
    uint64_t usable_us;
    uint64_t renew_us; /* From one renewal to the next. */
    /* A value of the session that the store may write, as it is, to prove that
     * the session lives; NULL until it was made. Set by the owner; borrowed. */
    const char *beat_path;
    struct slice beat_value;
};

#endif /* CHUBBY_LITE_MAPPED_COORDINATION_H */
