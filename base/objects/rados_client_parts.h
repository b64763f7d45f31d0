/* Shared by the client's files: rados_client.c opens, connects and waits,
 * rados_maps.c and rados_bytes.c know the operations. Included by these only.
 */
#ifndef BASE_OBJECTS_RADOS_CLIENT_PARTS_H
#define BASE_OBJECTS_RADOS_CLIENT_PARTS_H

#include <stdatomic.h>

#include "base/objects/rados_calls.h"
#include "base/objects/rados_client.h"
#include "base/runtime/sync.h"

/* The attribute of an object that has its state. */
#define RADOS_STATE "state"

struct rados_client {
    struct world *world;      /* Borrowed. */
    struct rados_calls calls; /* Of librados. */
    char *pool;               /* Owned. */
    char *name;               /* "rados://pool"; owned. */
    rados_t cluster;
    rados_ioctx_t io;    /* After connecting. */
    struct mutex mutex;  /* Of connecting. */
    atomic_bool is_open; /* It is connected, and `io` is there. */
    atomic_bool hurried;
    atomic_uint_fast64_t requests;
    atomic_uint_fast64_t read_bytes;
    atomic_uint_fast64_t written_bytes;
};

/* One operation that is waited for. */
struct rados_wait {
    struct rados_client *client;
    rados_completion_t completion;
    struct mutex mutex;
    struct cond ended;
    bool done;
};

/* Connect, if that was not done. Parks. */
MUST_CHECK int rados__connect(struct rados_client *c, struct err *err);
/* Begin to wait: the operation is started with `completion` and its outcome
 * goes to rados__wait_end(). */
void rados__wait_begin(struct rados_client *c, struct rados_wait *w);
/* The outcome of the operation whose start gave @started: a code of ours, and
 * *@result (NULL: not needed) of librados; *@version of the object (NULL: not
 * needed). @what, @object: for texts. Parks. */
MUST_CHECK int rados__wait_end(struct rados_wait *w,
                               int started,
                               const char *what,
                               const char *object,
                               int *result,
                               uint64_t *version,
                               struct err *err);
/* A code of ours for @rc of librados. */
MUST_CHECK int rados__error(struct rados_client *c,
                            int rc,
                            const char *what,
                            const char *object,
                            struct err *err);

#endif /* BASE_OBJECTS_RADOS_CLIENT_PARTS_H */
