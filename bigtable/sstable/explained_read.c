/* Where the bytes of a read come from is asked of the file system just before:
 * afterwards the page cache has them in any case.
 */
#include "bigtable/sstable/explained_read.h"

#include "base/core/panic.h"
#include "gfs-lite/fs.h"

static enum explain_place place_of(enum fs_place place)
{
    switch (place) {
    case FS_PLACE_PAGE_CACHE: return EXPLAIN_PAGE_CACHE;
    case FS_PLACE_DISK: return EXPLAIN_DISK;
    case FS_PLACE_REMOTE: return EXPLAIN_REMOTE;
    }
    PANIC("place %d", (int)place);
}

void explained_read_look(struct explained_read *x,
                         struct fs_reader *from,
                         uint64_t offset,
                         size_t len)
{
    PRE(x->file);
    x->place = place_of(fs_read_place(from, offset, len));
    x->begin_ns = explain_now(x->file->tablet->explain);
}
