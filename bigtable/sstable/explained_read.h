/* One read of the file system by an explained scan: where its bytes come from,
 * and how long it takes. In other scans nothing is done.
 *
 * Threads: one a read.
 */
#ifndef BIGTABLE_SSTABLE_EXPLAINED_READ_H
#define BIGTABLE_SSTABLE_EXPLAINED_READ_H

#include <stddef.h>
#include <stdint.h>

#include "base/core/macros.h"
#include "bigtable/row/explain.h"

struct fs_reader;

struct explained_read {
    struct explain_file *file; /* Borrowed; NULL: not explained. */
    enum explain_place place;
    uint64_t begin_ns;
};

/* The bytes [offset, offset + len) of @from are about to be read for @file,
 * which may be NULL. The page cache is asked before they are. May park. */
void explained_read_look(struct explained_read *x,
                         struct fs_reader *from,
                         uint64_t offset,
                         size_t len);

static inline struct explained_read
explained_read_begin(struct explain_file *file,
                     struct fs_reader *from,
                     uint64_t offset,
                     size_t len)
{
    struct explained_read x = {.file = file};
    if (UNLIKELY(file))
        explained_read_look(&x, from, offset, len);
    return x;
}

/* It gave @bytes. */
static inline void explained_read_end(const struct explained_read *x,
                                      size_t bytes)
{
    if (UNLIKELY(x->file))
        explain_read(x->file, x->place, bytes,
                     explain_now(x->file->tablet->explain) - x->begin_ns);
}

/* A block is decoded between the two: @file may be NULL. */
static inline uint64_t explained_decode_begin(const struct explain_file *file)
{
    return UNLIKELY(file) ? explain_now(file->tablet->explain) : 0;
}

static inline void explained_decode_end(struct explain_file *file,
                                        uint64_t begin_ns)
{
    if (UNLIKELY(file))
        file->tablet->counts.time_decompressing +=
            explain_now(file->tablet->explain) - begin_ns;
}

#endif /* BIGTABLE_SSTABLE_EXPLAINED_READ_H */
