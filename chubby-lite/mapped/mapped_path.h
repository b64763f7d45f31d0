/* Where the values of a node are in a service that others run.
 *
 * A directory /a keeps what is in it below /ROOT/a%d. Of its file b there are
 *     b            its record; of an ephemeral file: b%e
 *     b%k          the state of its lock; below it a value of each session that
 *                  may have the contents cached
 *     b%oSESSION   of an ephemeral file: this session has it open
 * and of a directory c in it: c, c%k and c%d.
 *
 * Names are escaped: a byte that a service may refuse, or '%', is '%' and two
 * digits, 0 to 9 and A to F; no letter of the above is one of these.
 *
 * Pure. Threads: any.
 */
#ifndef CHUBBY_LITE_MAPPED_MAPPED_PATH_H
#define CHUBBY_LITE_MAPPED_MAPPED_PATH_H

#include <stdbool.h>
#include <stdint.h>

#include "base/core/slice.h"

struct buf;

/* Owned. */
struct mapped_path {
    char *record;
    char *ephemeral; /* NULL: of the root. */
    char *lock;
    char *children;
    char *marker;         /* Of the session; NULL: of the root. */
    char *above_record;   /* Of the directory above; NULL: of the root. */
    char *above_children; /* The same. */
};

/* Of the node at @path, which path_check() accepted, below @root. */
void mapped_path_init(struct mapped_path *p,
                      const char *root,
                      struct slice path,
                      uint64_t session);
void mapped_path_close(struct mapped_path *p);

/* The subject of a name in a directory's list. */
enum mapped_name_kind {
    MAPPED_NAME_RECORD = 'r',
    MAPPED_NAME_EPHEMERAL = 'e',
    MAPPED_NAME_LOCK = 'k',
    MAPPED_NAME_CHILDREN = 'd',
    MAPPED_NAME_MARKER = 'o',
    MAPPED_NAME_OTHER = 0, /* The service's own, or somebody else's. */
};

/* Append the name of the node that @name is about to @out; *@rest is what
 * follows the letter. */
enum mapped_name_kind
mapped_name_read(struct slice name, struct buf *out, struct slice *rest);

#endif /* CHUBBY_LITE_MAPPED_MAPPED_PATH_H */
