/* What the parts of a lender share: readers that stay open from one borrower to
 * the next. Private to gfs-lite; lent.h is what others use.
 *
 * Any thread.
 */
#ifndef GFS_LITE_LENDER_H
#define GFS_LITE_LENDER_H

#include <stdbool.h>
#include <stdint.h>

#include <bsd/sys/queue.h>

#include "base/core/err.h"
#include "base/core/macros.h"

struct fs;
struct fs_reader;
struct lender;

struct kept_reader {
    LIST_ENTRY(kept_reader) link;
    char *path;
    struct fs_reader *reader;
    uint64_t opened_ns;
    unsigned users;
    bool listed;
};

struct fs *lender_fs(const struct lender *l);

/* A reader of @path, to be given back. Parks. */
MUST_CHECK int lender_acquire(struct lender *l,
                              const char *path,
                              struct kept_reader **out,
                              struct err *err);
/* @failed: who wants the file next opens it again. */
void lender_release(struct lender *l, struct kept_reader *k, bool failed);

#endif /* GFS_LITE_LENDER_H */
