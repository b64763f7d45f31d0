/* Which of a store's files are encrypted, counted from their headers and
 * footers. An SSTable has the id of its data key in the sealing before its
 * footer; a segment of the log has only a version that says it is encrypted.
 * Files that a compaction removes meanwhile are left out.
 */
#include "bigtable/store/store_encryption.h"

#include <string.h>

#include "base/core/buf.h"
#include "base/core/coding.h"
#include "base/core/panic.h"
#include "bigtable/log/log_format.h"
#include "bigtable/sstable/sealing.h"
#include "bigtable/sstable/sstable_format.h"
#include "gfs-lite/fs.h"

static void count_file(struct encryption_count *c, uint64_t bytes)
{
    c->files++;
    c->bytes += bytes;
}

typedef int (*count_fn)(struct fs_reader *r,
                        uint64_t key,
                        struct encryption_status *out,
                        struct err *err);

static int count_table(struct fs_reader *r,
                       uint64_t key,
                       struct encryption_status *out,
                       struct err *err)
{
    char tail[SSTABLE_SEALING_BYTES + SSTABLE_FOOTER_BYTES];
    const char *footer = tail + SSTABLE_SEALING_BYTES;
    uint64_t bytes = fs_reader_size(r);
    size_t got = 0;
    int rc;

    if (bytes < sizeof(tail)) {
        count_file(&out->plain, bytes);
        return 0;
    }
    rc = fs_read_at(r, bytes - sizeof(tail), tail, sizeof(tail), &got, err);
    if (rc)
        return rc;
    if (got < sizeof(tail) ||
        get_le32(footer + FOOTER_VERSION_AT) != SSTABLE_VERSION_SEALED) {
        count_file(&out->plain, bytes);
        return 0;
    }
    count_file(&out->sealed, bytes);
    if (get_le64(tail) != key)
        count_file(&out->old, bytes);
    INVARIANT(got == sizeof(tail));
    return 0;
}

static int count_segment(struct fs_reader *r,
                         uint64_t key,
                         struct encryption_status *out,
                         struct err *err)
{
    struct log_segment_header h = {.number = 0};
    char bytes[LOG_SEGMENT_HEADER_BYTES];
    bool whole = false;
    size_t got = 0;
    int rc = fs_read_at(r, 0, bytes, sizeof(bytes), &got, err);

    (void)key;
    if (rc == 0)
        rc = log_get_segment_header(slice_make(bytes, got), &h, &whole, err);
    if (rc == 0 && whole)
        count_file(h.is_sealed ? &out->sealed : &out->plain, fs_reader_size(r));
    return rc;
}

static bool has_suffix(const char *name, const char *suffix)
{
    return slice_ends_with(slice_str(name), slice_str(suffix));
}

static int count_directory(struct fs *fs,
                           const char *dir,
                           const char *suffix,
                           count_fn count_one,
                           uint64_t key,
                           struct encryption_status *out,
                           struct err *err)
{
    char **names = NULL;
    size_t count = 0;
    int rc = fs_list(fs, dir, &names, &count, err);
    PRE(*suffix);

    if (rc == ERR_NOTFOUND)
        return 0;
    for (size_t i = 0; i < count && rc == 0; i++) {
        struct buf path = BUF_INIT;
        struct fs_reader *r;
        buf_printf(&path, "%s/%s", dir, names[i]);
        if (has_suffix(names[i], suffix)) {
            rc = fs_open(fs, buf_cstr(&path), &r, err);
            if (rc == 0) {
                rc = count_one(r, key, out, err);
                fs_reader_close(r);
            } else if (rc == ERR_NOTFOUND) { /* Merged away meanwhile. */
                rc = 0;
            }
        }
        buf_close(&path);
    }
    fs_names_free(names, count);
    return rc;
}

int encryption_count_tables(struct fs *fs,
                            const char *dir,
                            uint64_t key,
                            struct encryption_status *out,
                            struct err *err)
{
    return count_directory(fs, dir, ".sst", count_table, key, out, err);
}

int encryption_count_logs(struct fs *fs,
                          const char *dir,
                          struct encryption_status *out,
                          struct err *err)
{
    return count_directory(fs, dir, ".log", count_segment, 0, out, err);
}
