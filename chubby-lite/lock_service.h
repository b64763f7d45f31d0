/* Which lock service a cluster uses: its own cell, or one that others run.
 *
 *     zookeeper:HOST:PORT,HOST:PORT/ROOT?auth=FILE
 *     etcd:HOST:PORT,HOST:PORT/ROOT?auth=FILE&ca=FILE&cert=FILE&key=FILE
 *
 * ROOT is the path below which everything of the cluster is, "/quarry" if there
 * is none. FILE of `auth` has USER:PASSWORD in its first line. With `ca`, the
 * authority of the servers' certificates, TLS is spoken; `cert` and `key` are
 * the client's own.
 *
 * Pure, but for the functions that read files. Threads: any.
 */
#ifndef CHUBBY_LITE_LOCK_SERVICE_H
#define CHUBBY_LITE_LOCK_SERVICE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/core/err.h"
#include "base/core/slice.h"

struct buf;
struct tls_context;
struct world;

/* The variable whose service a client uses in the place of the one that the
 * cluster's nodes name: with credentials of its own, or by other addresses. */
#define LOCK_SERVICE_VARIABLE "QUARRY_LOCK_SERVICE"

#define LOCK_SERVICE_TEXT_BYTES_MAX 1024
#define LOCK_SERVICE_AUTH_BYTES_MAX 1024
#define LOCK_SERVICE_PEM_BYTES_MAX  ((size_t)256 << 10)

enum lock_service_kind {
    LOCK_SERVICE_OWN,
    LOCK_SERVICE_ZOOKEEPER,
    LOCK_SERVICE_ETCD,
};

/* Texts are owned; NULL: not told. */
struct lock_service {
    enum lock_service_kind kind;
    char *servers; /* "host:port,…" */
    char *root;    /* "/quarry" */
    char *auth;    /* Path of a file, as all below. */
    char *ca;
    char *cert;
    char *key;
};

/* The text of LOCK_SERVICE_VARIABLE; NULL: there is none. */
const char *lock_service_of_environment(void);

/* Does @text name a service that others run? */
bool lock_service_is_named(struct slice text);
/* Read @text. Errors: ERR_INVALID. The caller closes @out in any case. */
MUST_CHECK int lock_service_parse(struct slice text,
                                  struct lock_service *out,
                                  struct err *err);
void lock_service_close(struct lock_service *s);

/* Append what others need to know of @s: its servers and its root. */
void lock_service_put_public(const struct lock_service *s, struct buf *out);

/* Append USER:PASSWORD from its file, or nothing when it has none. Parks.
 * Errors: those of the file, ERR_INVALID. */
MUST_CHECK int lock_service_read_auth(struct world *w,
                                      const struct lock_service *s,
                                      struct buf *out,
                                      struct err *err);
/* The context of TLS of its files; NULL when it names no authority. *@out is
 * owned. Parks. Errors: those of the files, ERR_INVALID. */
MUST_CHECK int lock_service_read_tls(struct world *w,
                                     const struct lock_service *s,
                                     struct tls_context **out,
                                     struct err *err);

#endif /* CHUBBY_LITE_LOCK_SERVICE_H */
