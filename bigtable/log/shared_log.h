/* The commit log of a tablet server, on the file system that all share.
 *
 *     log/00000012/00000003.log   segments of the log of server 12
 *     segment = header record…    as in commit_log.h, but that positions and
 *                                 `synced` count the bytes of one segment
 *
 * After section 6 of the Bigtable paper. There are two lanes, each with a
 * segment of its own that only grows. A write goes to the active lane, or to
 * the other one while that is at a job. When a write takes too long the same
 * records go to the other lane, which is the active one from then on, and the
 * write is done when either has it. So a record may be in two segments: readers
 * know it by its sequence number.
 *
 * Fencing. When its server is declared dead, others take the segments from it
 * (fs_recover) before they read them, and from then on a write to one of them
 * fails. A new segment is used only after the lane's last one has taken a
 * record that announces it, without entries: so a list of the segments, all
 * taken from their writer, is complete as soon as listing them again shows no
 * more.
 *
 * The segments. A segment begins with a record that lists all others there are
 * (segment_list.h). One that is released is removed once a segment is begun
 * whose list leaves it out. So the list of the newest segment, and the record
 * that announced it, show whether any is missing or cut short: that is refused,
 * and not taken for a log with less in it. Only a segment that follows one that
 * failed is not announced: it is known from the next list on.
 *
 * A failure to write breaks nothing but the write, unless the segment was taken
 * away: then the log is broken for good, and `fenced` is called.
 *
 * Threads: those of write_log.h. Opened on a fiber, the lanes are fibers of its
 * loop, and it must be closed there.
 */
#ifndef BIGTABLE_LOG_SHARED_LOG_H
#define BIGTABLE_LOG_SHARED_LOG_H

#include <stdint.h>

#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/core/slice.h"
#include "bigtable/log/commit_log.h" /* log_record_fn */
#include "bigtable/log/write_log.h"

struct buf;
struct fs;
struct keyring;
struct world;

#define SHARED_LOG_SEGMENT_BYTES ((uint64_t)64 << 20)
/* A write that takes longer is tried on the other lane, too. */
#define SHARED_LOG_SLOW_US UINT64_C(200000)

struct shared_log_options {
    struct world *world;    /* Borrowed, as all. */
    struct fs *fs;          /* Records are encrypted if it has a keyring. */
    const char *dir;        /* Copied. Made. PRE: it holds no segment. */
    uint64_t segment_bytes; /* 0: the default. */
    uint64_t slow_us;       /* 0: the default. */
    void (*fenced)(void *ctx, const struct err *why); /* Must not wait. */
    void *ctx;
};

struct shared_log_stats {
    uint64_t switches; /* From one lane to the other. */
    uint64_t segments; /* Begun. */
};

/* Parks. *@out is owned: write_log_close(). */
MUST_CHECK int shared_log_open(const struct shared_log_options *opts,
                               struct write_log **out,
                               struct err *err);
void shared_log_get_stats(struct write_log *l, struct shared_log_stats *out);

/* --- reading a dead server's --------------------------------------------- */

/* Is @name that of a segment? */
bool shared_log_is_segment(const char *name);

/* Call @fn for each record with entries of the segment in @bytes, a file named
 * @name that was taken from its writer. A record that was incomplete when the
 * writer died is left out. Records that are encrypted are opened where they lie
 * in @bytes, with @keys, which may be NULL. *@announced is the highest number
 * of a segment that it announces, 0: none. Errors: ERR_CORRUPT: a record that
 * was safe is damaged; those of log_open_payload() and of @fn. */
MUST_CHECK int shared_log_read(const char *name,
                               struct buf *bytes,
                               struct keyring *keys,
                               log_record_fn fn,
                               void *ctx,
                               uint64_t *announced,
                               struct err *err);

#endif /* BIGTABLE_LOG_SHARED_LOG_H */
