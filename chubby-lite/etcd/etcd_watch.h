/* Watches in etcd, on one stream: of a value, or of the list below it, until it
 * is no more what an answer said.
 *
 * A watch begins right after the revision of that answer, so that nothing is
 * missed between them. It tells once, and stays with the server for a while: an
 * answer that is to be watched again most often finds it there. When the stream
 * breaks, watches are made again from where they were; those of revisions that
 * etcd has compacted away tell that something has changed.
 *
 * One loop.
 *
 * Invariants
 *     INV-1. Two watches differ in their path or kind.
 *     INV-2. There are at most ETCD_WATCHES_MAX: the oldest tells, and ends.
 */
#ifndef CHUBBY_LITE_ETCD_ETCD_WATCH_H
#define CHUBBY_LITE_ETCD_ETCD_WATCH_H

#include <stdint.h>

struct etcd_link;
struct etcd_watches;
struct world;

/* Of one session. */
#define ETCD_WATCHES_MAX 4096

enum etcd_watch_kind {
    ETCD_WATCH_VALUE,
    ETCD_WATCH_LIST, /* Values made or removed directly below. */
    ETCD_WATCH_END,  /* The value's removal alone. */
};

/* Does not park, and asks for nothing. */
typedef void (*etcd_watch_cb)(void *ctx,
                              enum etcd_watch_kind kind,
                              const char *path);

/* Watches over @l of values below @root, both borrowed. Owned. */
struct etcd_watches *etcd_watches_new(struct world *w,
                                      struct etcd_link *l,
                                      const char *root,
                                      etcd_watch_cb cb,
                                      void *ctx);
/* No watch tells any more. Parks. NULL is allowed. */
void etcd_watches_free(struct etcd_watches *w);
/* Tell when what is at @path is no more what an answer of @revision said. Does
 * not park. */
void etcd_watches_add(struct etcd_watches *w,
                      enum etcd_watch_kind kind,
                      const char *path,
                      uint64_t revision);
/* The newest revision of an event that was told. */
uint64_t etcd_watches_revision(const struct etcd_watches *w);

#endif /* CHUBBY_LITE_ETCD_ETCD_WATCH_H */
