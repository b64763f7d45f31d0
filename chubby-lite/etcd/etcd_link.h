/* The way to etcd: one connection at a time to one of its servers, and to
 * another when that breaks, does not answer in time, or has no leader.
 *
 * A call is tried once, for a bounded time, so that who asked can look at the
 * state of its session between tries; the next call goes to the next server.
 * While none answers, connections are tried at random times that grow apart.
 *
 * One loop.
 */
#ifndef CHUBBY_LITE_ETCD_ETCD_LINK_H
#define CHUBBY_LITE_ETCD_ETCD_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/slice.h"

struct buf;
struct channel_status;
struct channel_stream;
struct etcd_link;
struct grpc_channel;
struct lock_service;
struct world;

struct etcd_link_options {
    uint64_t try_ns; /* For one call, and for one connection. */
    /* There is another connection than before. Does not park. NULL: nothing. */
    void (*on_moved)(void *ctx);
    void *ctx;
};

/* The way to @service. Parks: reads its files; connects when it is used. *@out
 * is owned. Errors: those of the files, ERR_INVALID. */
MUST_CHECK int etcd_link_open(struct world *w,
                              const struct lock_service *service,
                              const struct etcd_link_options *opts,
                              struct etcd_link **out,
                              struct err *err);
/* PRE: nobody is inside a call. Does not park. NULL is allowed. */
void etcd_link_close(struct etcd_link *l);
/* "host:port,…". Borrowed. */
const char *etcd_link_servers(const struct etcd_link *l);

/* Ask @message of method @path ("/etcdserverpb.KV/Range"); the answer replaces
 * what is in @reply. Parks.
 *
 * Errors: ERR_UNAVAILABLE (nobody answers, or not in time: what was asked may
 * have been done), ERR_NOTFOUND (a lease), ERR_DENIED, ERR_EXHAUSTED,
 * ERR_INVALID, ERR_IO (etcd's other errors), ERR_CORRUPT, ERR_DEADLINE and
 * ERR_CANCELLED (of the fiber). */
MUST_CHECK int etcd_link_call(struct etcd_link *l,
                              const char *path,
                              struct slice message,
                              struct buf *reply,
                              struct err *err);
/* Begin a stream of method @path; *@channel is one reference, for
 * etcd_link_fail(). Parks. Errors: as above. */
MUST_CHECK int etcd_link_stream(struct etcd_link *l,
                                const char *path,
                                struct channel_stream **out,
                                struct grpc_channel **channel,
                                struct err *err);
/* @c is of no more use: the next call is for another server. */
void etcd_link_fail(struct etcd_link *l, struct grpc_channel *c);
/* The error of a call that the server has refused; the connection is left if
 * another may be better. */
MUST_CHECK int etcd_link_refused(struct etcd_link *l,
                                 struct grpc_channel *c,
                                 const struct channel_status *status,
                                 struct err *err);

#endif /* CHUBBY_LITE_ETCD_ETCD_LINK_H */
