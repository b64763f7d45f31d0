/* The segments of an embedded store's commit log as files: which there are, how
 * long their files are, what is recorded about both, and spares.
 *
 * The log (commit_log.h) says what is in them and what of it is safe; it passes
 * positions in.
 *
 * Life cycle
 *     log_segments_open()     takes the directory as log_read() found it
 *     log_segments_begin()    a segment to append to becomes `current`
 *     log_segments_grow()     its file has room for more
 *     log_segments_release()  the oldest are not needed any more
 *     log_segments_finish()   nothing more is appended
 *     log_segments_close()    frees
 *
 * Ownership. The list has one reference of each segment, and a sync under way
 * has another. `current` is the newest; its file is open if it was begun by
 * this process.
 *
 * Threads. begin(), grow(), erase() and finish() are the writer's; release() is
 * any thread's. `lock` guards the list, the spares, and of a segment the fields
 * that others than the writer read: newer, references, end, last_sequence,
 * file_bytes. `whole`, `is_new` and `direct` are the writer's alone.
 * `name_lock` is held from a change of the list to its record, and is taken
 * before `lock`; `release_lock` comes first. All are held over calls that park.
 *
 * Invariants
 *     INV-1. The name and the header of a segment are on the disk before it is
 *            recorded, and it is recorded before it takes records.
 *     INV-2. The file of a segment has `file_bytes` on the disk before that is
 *            recorded, and is never shorter while it is recorded. Only
 *            log_segments_finish() cuts a file, once it has recorded how much.
 *     INV-3. Records lie before `file_bytes` of the segment's file.
 *     INV-4. A segment is released in the record before its file gets another
 *            name, and that name is on the disk before the file is written
 *            again: one that came back half overwritten would look like damage.
 *     INV-5. A number is given to one segment only, and numbers only rise.
 *     INV-6. The list is empty, or goes from `oldest` to `current`, which has
 *            no newer one.
 *     INV-7. No more than LOG_SPARES_MAX spares are kept.
 *
 * So every cut that takes records from a segment (INV-3) makes its file shorter
 * than recorded (INV-2), in a store that was closed, killed, or lost power; and
 * a segment that is missing is recorded (INV-1). Not detected is an end
 * that the disk gives back as zeros although it had confirmed it, where no
 * record behind it vouches for it. Nothing of this costs a commit anything: a
 * record is made when a segment begins, when it outgrows its first MiB, when
 * some are released, and at the end.
 *
 * A log without a log_name_fn (of a test) records nothing; its files have no
 * length to be kept.
 */
#ifndef BIGTABLE_LOG_LOG_SEGMENTS_H
#define BIGTABLE_LOG_LOG_SEGMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/buf.h"
#include "base/core/err.h"
#include "base/core/macros.h"
#include "base/runtime/sync.h"
#include "bigtable/log/commit_log.h"
#include "bigtable/log/log_format.h"

struct file;
struct world;

/* Spares kept: what a burst of flushes sets free at once. */
#define LOG_SPARES_MAX 8

struct segment {
    struct segment *newer;
    unsigned references;
    uint64_t number;
    uint64_t base;          /* Position of its first record. */
    uint64_t end;           /* Position behind its last. */
    uint64_t whole;         /* Bytes of the file written, whole pages. */
    uint64_t last_sequence; /* Highest inside; 0: empty. */
    uint64_t file_bytes;    /* Recorded: INV-2. 0: nothing is. */
    struct file *file;      /* NULL: of before this open. */
    struct file *direct;    /* The same past the page cache; NULL: not needed
                               yet. */
    bool is_new;            /* Its file was none that had been written. */
};

struct log_segments {
    struct world *world; /* Borrowed. */
    char dir[LOG_PATH_BYTES];
    uint64_t segment_bytes; /* Of records in one. */
    log_name_fn name;       /* NULL: nothing is recorded. */
    void *name_ctx;
    struct mutex release_lock; /* One release at a time; taken first. */
    struct mutex name_lock;    /* Of the next two. */
    struct buf recorded;       /* struct log_named_segment each. */
    uint64_t recorded_to;      /* Position recorded. */
    struct mutex lock;         /* Of what follows. */
    struct segment *oldest;
    struct segment *current; /* The newest; NULL: there is none. */
    uint64_t next_number;
    char *spares[LOG_SPARES_MAX]; /* Paths. Owned. */
    size_t spare_count;
    uint64_t named; /* Segments below this number have their names on the disk.
                     */
};

/* Where in its file a record would be appended. */
static inline uint64_t segment_file_end(const struct segment *s)
{
    return LOG_SEGMENT_HEADER_BYTES + (s->end - s->base);
}

/* Take the segments up to @end, and remove the rest. The present segments
 * are recorded if they differ from the record: after a repair, or in a
 * store of an older format. *@bytes: of all files. Parks. Either way @s is to
 * be closed. */
MUST_CHECK int log_segments_open(struct log_segments *s,
                                 const struct commit_log_options *opts,
                                 const struct log_end *end,
                                 uint64_t *bytes,
                                 struct err *err);
/* PRE: nobody else uses it. Parks. */
void log_segments_close(struct log_segments *s);

/* Has the current segment room for @bytes of records, or is another to be
 * begun? The writer's. */
bool log_segments_has_room(struct log_segments *s, uint64_t bytes);
/* Must its file grow before it takes them? PRE: it has room. */
bool log_segments_must_grow(const struct log_segments *s, uint64_t bytes);

/* Begin a segment at @position, for @bytes of records at least; up to @synced
 * all is on the disk. Parks. On error `current` is as before; after ERR_FULL it
 * may be tried again. */
MUST_CHECK int log_segments_begin(struct log_segments *s,
                                  uint64_t position,
                                  uint64_t synced,
                                  bool is_sealed,
                                  uint64_t bytes,
                                  struct err *err);
/* Make the current file long enough for @bytes more. Parks. Errors: likewise.
 */
MUST_CHECK int log_segments_grow(struct log_segments *s,
                                 uint64_t synced,
                                 uint64_t bytes,
                                 struct err *err);

/* A write of @bytes behind the end of the current segment failed: whatever it
 * left there is zeros again, on the disk. Parks. The file keeps its length. */
MUST_CHECK int
log_segments_erase(struct log_segments *s, uint64_t bytes, struct err *err);

/* Release segments that are not appended to and hold nothing above @sequence,
 * unless a reader that is opening the store has locked the directory: the next
 * release has them too. Returns how many bytes of records they had. Parks:
 * renames and syncs, beside which appends continue. */
uint64_t log_segments_release(struct log_segments *s,
                              uint64_t sequence,
                              uint64_t synced);

/* Everything up to @end, all there is, is on the disk: record that, and cut the
 * current file to it. Parks. */
void log_segments_finish(struct log_segments *s, uint64_t end);

size_t log_segments_count(struct log_segments *s);
/* PRE: s->lock is held, or nobody else is there. */
void log_segments_unref(struct segment *s);

/* --- between log_segments.c and log_segments_open.c ---------------------- */

/* A list of struct log_named_segment. */
static inline const struct log_named_segment *
log_segments__listed(const struct buf *list)
{
    return (const struct log_named_segment *)(const void *)list->data;
}

static inline size_t log_segments__listed_count(const struct buf *list)
{
    return list->len / sizeof(struct log_named_segment);
}

void log_segments__list_add(struct buf *list, uint64_t number, uint64_t bytes);
/* The segments from @first on into @list. PRE: s->lock is held. */
void log_segments__list(const struct segment *first, struct buf *list);
/* Record @list, which moves in, and @position. Parks. PRE: s->name_lock is
 * held.
 */
MUST_CHECK int log_segments__record(struct log_segments *s,
                                    struct buf *list,
                                    uint64_t position,
                                    struct err *err);
/* @segment, which is taken over, is the newest. PRE: s->lock is held. */
void log_segments__add(struct log_segments *s, struct segment *segment);
/* The file @path is one, or is removed if there are enough. */
void log_segments__add_spare(struct log_segments *s, const char *path);

#endif /* BIGTABLE_LOG_LOG_SEGMENTS_H */
