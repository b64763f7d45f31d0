/* A client of one pool of Ceph's object store, by librados.
 *
 *     rados_client_open(w, pool, getenv, &c, &err)
 *     rados_map_change(c, "names", changes, count, …)
 *     rados_client_close(c)
 *
 * Each call is one operation on one object, which the object's server carries
 * out whole or not at all, in order: what may fail because of what is there is
 * asked in the operation itself. The map of an object ("omap") has keys in
 * order of their bytes; the state is one of its attributes. librados repeats
 * what a broken connection leaves unclear, and servers know what they have
 * done; a call that takes longer than the time limit has an unknown outcome,
 * ERR_UNAVAILABLE.
 *
 * All objects are in the namespace "quarry" of the pool.
 *
 * Threads: any. Everything parks; the first call connects.
 */
#ifndef BASE_OBJECTS_RADOS_CLIENT_H
#define BASE_OBJECTS_RADOS_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"
#include "base/objects/object_client.h" /* object_read, object_counts */

struct rados_client;
struct world;

/* Bytes of one object of a file; the servers' bound is 128 MiB. */
#define RADOS_OBJECT_BYTES ((uint64_t)4 << 20)
/* Most keys that one change has. */
#define RADOS_CHANGES_MAX 4096

/* @pool: its name. Settings: CEPH_CONF, CEPH_ARGS, QUARRY_RADOS_USER,
 * QUARRY_RADOS_SECONDS. *@out is owned. Errors: ERR_INVALID, ERR_UNSUPPORTED
 * (built without librados, or it is not here). */
MUST_CHECK int rados_client_open(struct world *w,
                                 struct slice pool,
                                 object_variable variable,
                                 struct rados_client **out,
                                 struct err *err);
/* Parks. PRE: nobody waits for a call. NULL is allowed. */
void rados_client_close(struct rados_client *c);
/* Calls give up after some seconds from now on. */
void rados_client_hurry(struct rados_client *c);
const char *rados_client_name(const struct rados_client *c); /* Borrowed. */
void rados_client_counts(struct rados_client *c, struct object_counts *out);

/* Errors of all calls, beside those named: ERR_NOTFOUND (the object),
 * ERR_DENIED, ERR_UNAVAILABLE, ERR_FULL, ERR_UNSUPPORTED (the pool cannot). */

/* --- maps ---------------------------------------------------------------- */

/* One key. Neither has an empty value: an empty one stands for absence. */
struct rados_change {
    const char *key;  /* Borrowed, as the others. */
    struct slice was; /* It must have this value, */
    struct slice now; /* and gets this one. */
};

struct rados_change_options {
    bool create;      /* Make the object if there is none. */
    bool remove;      /* Remove the object instead of changing keys. */
    uint64_t version; /* It must have this version; 0: any. */
};

/* Make all changes, or none. Parks. Errors: ERR_ABORTED: a key has another
 * value, or the object another version. ERR_NOTFOUND: there is none. */
MUST_CHECK int rados_map_change(struct rados_client *c,
                                const char *object,
                                const struct rados_change *changes,
                                size_t count,
                                const struct rados_change_options *options,
                                struct err *err);
/* The values of @keys, appended to values[i]. Parks. */
MUST_CHECK int rados_map_get(struct rados_client *c,
                             const char *object,
                             const char *const *keys,
                             size_t count,
                             struct buf *values,
                             struct err *err);
/* Visit all keys that begin with @prefix, in order. A return other than 0 ends
 * it. *@version (NULL: not needed) is that of the object, which was the same
 * from the first page to the last, else ERR_ABORTED. Parks. */
typedef int (*rados_visit_fn)(void *ctx,
                              const char *key,
                              struct slice value,
                              struct err *err);
MUST_CHECK int rados_map_list(struct rados_client *c,
                              const char *object,
                              const char *prefix,
                              rados_visit_fn visit,
                              void *ctx,
                              uint64_t *version,
                              struct err *err);

/* --- bytes --------------------------------------------------------------- */

/* Make, or replace, the object of @data, with the state @state ("": none).
 * Parks. */
MUST_CHECK int rados_object_put(struct rados_client *c,
                                const char *object,
                                struct slice data,
                                const char *state,
                                struct err *err);
/* Change the state from @was to @now, and write @data at @offset in the same
 * step. Parks. ERR_ABORTED: it is another, or the object is gone. */
MUST_CHECK int rados_object_append(struct rados_client *c,
                                   const char *object,
                                   const char *was,
                                   const char *now,
                                   uint64_t offset,
                                   struct slice data,
                                   struct err *err);
/* Append the state to @out. Parks. */
MUST_CHECK int rados_object_state(struct rados_client *c,
                                  const char *object,
                                  struct buf *out,
                                  struct err *err);
/* Parks. Errors: ERR_NOTFOUND if there is none. */
MUST_CHECK int rados_object_exists(struct rados_client *c,
                                   const char *object,
                                   struct err *err);
MUST_CHECK int rados_object_remove(struct rados_client *c,
                                   const char *object,
                                   struct err *err);

/* A write in the background. The caller's memory; must stay until `done`. */
struct rados_write {
    char *object;      /* Owned by the caller. */
    uint64_t offset;   /* In it. */
    struct slice data; /* Borrowed. */
    int rc;
    struct err err;
    /* Called on a thread of librados when the above is set. */
    void (*done)(struct rados_write *w);
    struct rados_client *client; /* Internal. */
};

/* Start it; never waits for the server. */
void rados_write_start(struct rados_client *c, struct rados_write *w);

/* Begin to read of the file whose objects are named "KEY.NUMBER", each of
 * RADOS_OBJECT_BYTES but the last; etag is not used. ERR_ABORTED: an object is
 * gone. */
void rados_read_start(struct rados_client *c, struct object_read *r);
/* The name of such an object. Owned. */
char *rados_object_name(const char *key, uint64_t number);

/* --- locks --------------------------------------------------------------- */

/* Take, or renew, the lock @name of the object, which exists, for @seconds;
 * who has the same @cookie has it already. Parks. Errors: ERR_BUSY names the
 * holder. */
MUST_CHECK int rados_take_lock(struct rados_client *c,
                               const char *object,
                               const char *name,
                               const char *cookie,
                               unsigned seconds,
                               struct err *err);
/* Parks. */
MUST_CHECK int rados_drop_lock(struct rados_client *c,
                               const char *object,
                               const char *name,
                               const char *cookie,
                               struct err *err);

#endif /* BASE_OBJECTS_RADOS_CLIENT_H */
