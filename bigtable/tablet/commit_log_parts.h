/* Inside of the commit log: what its two halves share. commit_log.c has the
 * segments, appends and syncs; log_append.c puts records into a segment.
 */
#ifndef BIGTABLE_TABLET_COMMIT_LOG_PARTS_H
#define BIGTABLE_TABLET_COMMIT_LOG_PARTS_H

#include <stdatomic.h>

#include "base/core/buf.h"
#include "base/runtime/sync.h"
#include "bigtable/tablet/commit_log.h"
#include "bigtable/tablet/log_block.h"
#include "bigtable/tablet/log_format.h"

struct file;
struct unit_sealer;

/* Spares kept: what a burst of flushes sets free at once. */
#define SPARES_MAX 8

/* A write past the page cache has at most so many bytes. */
#define LOG_DIRECT_BYTES_MAX ((size_t)6 << 20)

struct segment {
    struct segment *newer;
    unsigned references; /* The list's, and those of syncs under way. */
    uint64_t number;
    uint64_t base;          /* Position of its first record. */
    uint64_t end;           /* Position behind its last. */
    uint64_t whole;         /* Bytes of the file written, whole pages. */
    uint64_t last_sequence; /* Highest inside; 0: empty. */
    struct file *file;      /* NULL: of before this open. */
    struct file *direct;    /* The same past the page cache; NULL: not needed
                               yet. */
    bool is_new;            /* Its file was none that had been written. */
};

struct commit_log {
    struct write_log base;
    struct world *world;
    struct keyring *keyring;    /* Borrowed; NULL: not encrypted. */
    struct unit_sealer *sealer; /* Of the current segment; NULL likewise. */
    char dir[LOG_PATH_BYTES];
    uint64_t segment_bytes;
    log_name_fn name; /* NULL: nothing is recorded. */
    void *name_ctx;
    struct mutex release_lock; /* One release at a time; taken before: */
    struct mutex name_lock;    /* Of the next two; taken before `lock`. */
    struct buf recorded;       /* Segments recorded: uint64_t each. */
    uint64_t recorded_to;      /* Position recorded. */
    struct mutex lock;         /* Of the list and the spares. */
    struct segment *oldest;
    struct segment *current; /* The newest; NULL: there is none. */
    uint64_t next_number;
    char *spares[SPARES_MAX]; /* Paths. Owned. */
    size_t spare_count;
    uint64_t named;         /* Segments below this number have their names on
                               the disk. */
    uint64_t last_sequence; /* Appended. */
    struct err error;       /* Why `broken`. */
    atomic_bool broken;     /* Nothing may be appended any more. */
    atomic_ullong position; /* Behind the last record that counts. */
    atomic_ullong synced;   /* Known to be on the disk up to here, */
    atomic_ullong synced_sequence; /* and up to this entry. */
    atomic_ullong bytes;
    /* The writer's alone: */
    struct log_block block; /* What is put together; between writes, what the
                               last page holds. */
    bool cached;            /* The page cache has that page. */
};

/* Bytes of @records in the log. */
size_t commit_log__bytes(const struct commit_log *l,
                         const struct log_record *records,
                         size_t count);

/* Where in its file a record would be appended. */
static inline uint64_t commit_log__end(const struct segment *s)
{
    return LOG_SEGMENT_HEADER_BYTES + (s->end - s->base);
}

/* Write @records, which have @bytes, behind the end of the current segment,
 * which stays where it is. Parks. */
MUST_CHECK int commit_log__write(struct commit_log *l,
                                 const struct log_record *records,
                                 size_t count,
                                 size_t bytes,
                                 struct err *err);
/* The same past the page cache, and synced. PRE: they have at most
 * LOG_DIRECT_BYTES_MAX, and all before them in the segment is on the disk. */
MUST_CHECK int commit_log__write_direct(struct commit_log *l,
                                        const struct log_record *records,
                                        size_t count,
                                        struct err *err);

#endif /* BIGTABLE_TABLET_COMMIT_LOG_PARTS_H */
