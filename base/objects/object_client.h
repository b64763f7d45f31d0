/* A client of one bucket of S3, or of one web server.
 *
 *     object_client_open(w, &name, getenv, &c, &err)
 *     object_head(c, key, &info, &err)
 *     object_read_start(c, &read)
 *     object_client_close(c)
 *
 * Requests are sent by threads of the client, at most `connections` of them,
 * each with a connection of its own; callers park or sleep meanwhile. A request
 * that fails for a reason that passes (500, 503, a time-out, a connection that
 * breaks) is sent again after a random delay that doubles each time, as long as
 * the budget of the client lasts: each retry takes from it, each success adds
 * to it, so that a server that is down is not stormed. A request that may not
 * be repeated, because it depends on what is there, carries a token; after an
 * unclear outcome the object says by that token whose it is.
 *
 * Keys are as S3 has them; of a web server, the path and query as the user
 * wrote them.
 *
 * Threads: any.
 */
#ifndef BASE_OBJECTS_OBJECT_CLIENT_H
#define BASE_OBJECTS_OBJECT_CLIENT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"
#include "base/objects/object_name.h"
#include "base/objects/object_request.h"
#include "base/objects/object_settings.h"

struct object_client;
struct request_pool;
struct world;

/* Largest object that one PUT makes, and the parts of larger ones. */
#define OBJECT_PART_BYTES_MIN ((size_t)8 << 20)
#define OBJECT_PART_BYTES_MAX ((size_t)64 << 20)
/* Parts of an object at most: S3's bound. */
#define OBJECT_PARTS_MAX 10000

/* @name's bucket or server; its key does not matter. Connects when it is used.
 * *@out is owned. Parks: reads files of settings. Errors: those of
 * object_settings_read(), ERR_UNSUPPORTED (built without libcurl). */
MUST_CHECK int object_client_open(struct world *w,
                                  const struct object_name *name,
                                  object_variable variable,
                                  struct object_client **out,
                                  struct err *err);
/* Parks until requests under way have ended. PRE: nobody waits for one. */
void object_client_close(struct object_client *c);
/* Retry nothing any more. */
void object_client_hurry(struct object_client *c);
/* Can it be written and listed? Else it is a web server's. */
bool object_client_is_s3(const struct object_client *c);
/* "s3://bucket", for messages. Borrowed. */
const char *object_client_name(const struct object_client *c);

/* The work of the client so far. */
struct object_counts {
    uint64_t requests; /* Retries included. */
    uint64_t retries;
    uint64_t read_bytes; /* Of objects. */
    uint64_t written_bytes;
};

void object_client_counts(struct object_client *c, struct object_counts *out);

/* --- objects ------------------------------------------------------------- */

struct object_info {
    uint64_t size_bytes; /* UINT64_MAX: the server does not say. */
    uint64_t modified_us;
    char etag[OBJECT_ETAG_BYTES]; /* "": it has none. */
};

/* Parks. Errors: ERR_NOTFOUND, ERR_DENIED, ERR_UNAVAILABLE; so all below. */
MUST_CHECK int object_head(struct object_client *c,
                           const char *key,
                           struct object_info *out,
                           struct err *err);
/* Make the object; ERR_EXISTS if @exclusive and there is one. Of several who
 * try at once one succeeds, unless the server ignores If-None-Match. Parks. */
MUST_CHECK int object_put(struct object_client *c,
                          const char *key,
                          struct slice body,
                          bool exclusive,
                          struct err *err);
/* Remove it; no error if there is none. Parks. */
MUST_CHECK int
object_delete(struct object_client *c, const char *key, struct err *err);
/* Copy within the bucket, by the server. Parks. ERR_UNSUPPORTED: it is larger
 * than a server copies at once. */
MUST_CHECK int object_copy(struct object_client *c,
                           const char *from,
                           const char *to,
                           struct err *err);

/* One key, or a prefix that ends in a slash. A return other than 0 ends the
 * list. */
typedef int (*object_visit_fn)(void *ctx,
                               const char *key,
                               const struct object_info *info,
                               bool is_prefix,
                               struct err *err);
/* Visit all keys that begin with @prefix, up to the next slash behind it unless
 * @deep, and at most @most of them (0: all), in the order of the server. Parks;
 * @visit is called on the caller's thread or fiber. */
MUST_CHECK int object_list(struct object_client *c,
                           const char *prefix,
                           bool deep,
                           size_t most,
                           object_visit_fn visit,
                           void *ctx,
                           struct err *err);

/* --- reading ahead ------------------------------------------------------- */

/* One read in the background, of the object as it is while its ETag is `etag`
 * (""; NULL: of any). `got` < `len` only at the end. The caller's memory; must
 * stay until `done`. ERR_ABORTED: it was replaced. ERR_UNSUPPORTED: the server
 * gives no ranges. */
struct object_read {
    const char *key; /* Borrowed, as `etag` and `dst`. */
    const char *etag;
    uint64_t offset;
    void *dst;
    size_t len;
    size_t got;
    int rc;
    struct err err;
    atomic_bool stop; /* Give it up: object_read_stop(). */
    /* Called on a thread of the client when the above is set. */
    void (*done)(struct object_read *r);
    /* Internal. */
    struct request_pool *pool; /* NULL: it cannot be stopped. */
};

/* Start it; never waits. */
void object_read_start(struct object_client *c, struct object_read *r);
/* Make a read under way end soon, with ERR_CANCELLED unless it just ended. */
void object_read_stop(struct object_read *r);

/* --- large objects ------------------------------------------------------- */

struct object_part {
    char etag[OBJECT_ETAG_BYTES]; /* "": not there yet. */
};

/* Begin an upload in parts; nothing is seen of it before it is completed. *@id
 * and *@token are owned. Parks. */
MUST_CHECK int object_upload_begin(struct object_client *c,
                                   const char *key,
                                   char **id,
                                   char **token,
                                   struct err *err);
/* One part, numbered from 1. Parks; several may be under way. */
MUST_CHECK int object_upload_part(struct object_client *c,
                                  const char *key,
                                  const char *id,
                                  unsigned number,
                                  struct slice body,
                                  struct object_part *out,
                                  struct err *err);
/* Make the object of its parts. Parks. ERR_EXISTS if @exclusive and there is
 * one. */
MUST_CHECK int object_upload_complete(struct object_client *c,
                                      const char *key,
                                      const char *id,
                                      const char *token,
                                      const struct object_part *parts,
                                      unsigned count,
                                      bool exclusive,
                                      struct err *err);
/* Drop the parts that were uploaded. Parks. Where that fails, they stay until
 * the bucket's rule for incomplete uploads removes it. */
void object_upload_abort(struct object_client *c,
                         const char *key,
                         const char *id);

#endif /* BASE_OBJECTS_OBJECT_CLIENT_H */
