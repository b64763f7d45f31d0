/* Versions of a cluster: what its processes may say to each other and write.
 *
 * A program speaks a range of versions; the cluster is at one of them, which
 * the file BIGTABLE_LOCK_VERSION of the lock service has. New things of a
 * version (a kind of command of a cell, a field of a message between servers, a
 * format of files) are used when the cluster is at that version, and not
 * before. So servers of the version before can be among the others until the
 * cluster is raised (`quarry cluster upgrade`), and can be gone back to. After
 * that a program that does not speak the version refuses to serve.
 *
 * A change that every older program answers or skips correctly (a new RPC
 * method, a field that is appended to a request) needs no version.
 *
 * Pure. Threads: any.
 */
#ifndef BASE_CORE_CLUSTER_VERSION_H
#define BASE_CORE_CLUSTER_VERSION_H

#include <stddef.h>
#include <stdint.h>

#include "base/core/err.h"
#include "base/core/slice.h"

struct buf;

/* The range of this program. Version 1 is that of a cluster that has no file:
 * programs of quarry 0.1 know none. Raised with a line in cluster_version.c. */
#define CLUSTER_VERSION_MIN 1
#define CLUSTER_VERSION_MAX 2

struct version_range {
    uint32_t min;
    uint32_t max; /* At least min, which is at least 1. */
};

/* The release that brought @version, "0.2"; "a newer release": not known. */
const char *cluster_version_release(uint32_t version);

/* The range of this program, less what is above @limit. PRE: @limit is within
 * it. */
struct version_range cluster_version_range(uint32_t limit);

/* Append "1-2"; read it. Errors: ERR_INVALID. */
void version_range_put(struct version_range r, struct buf *out);
MUST_CHECK int version_range_get(struct slice text,
                                 struct version_range *out,
                                 struct err *err);

/* The contents of the file: the number and a line's end. Errors: ERR_CORRUPT.
 */
void cluster_version_put(uint32_t version, struct buf *out);
MUST_CHECK int
cluster_version_get(struct slice contents, uint32_t *version, struct err *err);

/* May a program that speaks @r serve a cluster at @version? Errors:
 * ERR_UNSUPPORTED, which names both and says what to install. */
MUST_CHECK int cluster_version_check(struct version_range r,
                                     uint32_t version,
                                     struct err *err);

/* A node, as it answered. */
struct version_node {
    const char *name; /* Borrowed. */
    const char *why;  /* It did not answer; NULL: it did. Borrowed. */
    struct version_range range;
};

/* The version that a cluster at @present may be raised to: the highest that all
 * @nodes speak, or @present. *@held: the index of a node that keeps it from
 * @wanted; @count: none. Errors: ERR_UNAVAILABLE: a node did not answer, so
 * that it is not known what it speaks; ERR_UNSUPPORTED: one does not speak
 * @present. PRE: @present is at least 1. */
MUST_CHECK int cluster_version_choose(const struct version_node *nodes,
                                      size_t count,
                                      uint32_t present,
                                      uint32_t wanted,
                                      uint32_t *version,
                                      size_t *held,
                                      struct err *err);

#endif /* BASE_CORE_CLUSTER_VERSION_H */
