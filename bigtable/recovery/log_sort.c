/* Files of sorted segments. They are ordinary SSTables, so that loading a
 * tablet reads only the blocks of its rows; each is written under a name of its
 * own and renamed, since two servers may sort the same segment.
 */
#include "bigtable/recovery/log_sort.h"

#include <string.h>

#include "base/core/buf.h"
#include "base/core/coding.h"
#include "base/core/ignore_result.h"
#include "bigtable/recovery/sorted_segment.h"
#include "bigtable/row/cell_key.h"
#include "bigtable/row/logged_mutation.h"
#include "bigtable/row/schema.h"
#include "bigtable/sstable/sstable_reader.h"
#include "bigtable/sstable/sstable_writer.h"
#include "gfs-lite/fs.h"

#define SORTED_FAMILY 1

/* --- names --------------------------------------------------------------- */

static int stem_of(const char *name)
{
    return (int)strcspn(name, ".");
}

void log_sorted_path(const char *dir, const char *name, struct buf *out)
{
    buf_printf(out, "%s/%s/%.*s.sst", dir, LOG_SORTED_DIR, stem_of(name), name);
}

bool log_sorted_exists(struct fs *fs, const char *dir, const char *name)
{
    struct buf path = BUF_INIT;
    struct fs_info info;
    bool is;
    log_sorted_path(dir, name, &path);
    is = fs_stat(fs, buf_cstr(&path), &info, NULL) == 0;
    buf_close(&path);
    return is;
}

void log_sorted_put_row(struct buf *out, uint64_t table, struct slice row)
{
    struct buf plain = BUF_INIT;
    buf_put_be64(&plain, table);
    buf_append_slice(&plain, row);
    cell_key_append_row(out, buf_slice(&plain));
    buf_close(&plain);
}

/* --- writing ------------------------------------------------------------- */

static void
put_key(struct buf *out, const struct logged_mutation *m, uint64_t sequence)
{
    const struct cell_key rest = {
        .sequence = sequence, .family = SORTED_FAMILY, .kind = ENTRY_PUT};
    buf_clear(out);
    log_sorted_put_row(out, m->table, m->row);
    cell_key_append_rest(out, &rest);
}

static void put_value(struct buf *out, const struct logged_mutation *m)
{
    buf_clear(out);
    buf_put_le64(out, (uint64_t)m->now_us);
    logged_count_put(out, m);
    buf_append(out, m->families, 2 * m->count);
    buf_append_slice(out, m->ops);
}

static int write_entries(const struct sorted_segment *s,
                         struct sstable_writer *w,
                         struct err *err)
{
    struct buf key = BUF_INIT;
    struct buf value = BUF_INIT;
    int rc = 0;
    for (size_t i = 0; i < sorted_segment_count(s) && rc == 0; i++) {
        struct logged_mutation m;
        uint64_t sequence;
        sorted_segment_get(s, i, &m, &sequence);
        put_key(&key, &m, sequence);
        put_value(&value, &m);
        rc = sstable_writer_add(w, buf_slice(&key), buf_slice(&value), err);
    }
    buf_close(&key);
    buf_close(&value);
    return rc ? rc : sstable_writer_finish(w, err);
}

static int write_file(struct fs *fs,
                      const char *path,
                      const struct sorted_segment *s,
                      struct err *err)
{
    struct group_options group;
    struct sstable_writer *w;
    int rc;
    if (sorted_segment_count(s) == 0)
        return fs_replace(fs, path, SLICE_EMPTY, err);
    group_options_default(&group);
    group.level = 1; /* It is read once or twice. */
    group.dictionary = false;
    group.bloom = BLOOM_NONE;
    /* As it should be: nobody left one there. */
    IGNORE_RESULT(fs_remove(fs, path, NULL));
    rc = sstable_writer_open(fs, path, &group, sorted_segment_bytes(s), false,
                             &w, err);
    if (rc)
        return rc;
    rc = write_entries(s, w, err);
    sstable_writer_free(w);
    return rc;
}

int log_sorted_write(struct fs *fs,
                     const char *dir,
                     const char *name,
                     uint64_t who,
                     const struct sorted_segment *segment,
                     struct err *err)
{
    struct buf temporary = BUF_INIT;
    struct buf to = BUF_INIT;
    struct buf place = BUF_INIT;
    int rc;
    buf_printf(&place, "%s/%s", dir, LOG_SORTED_DIR);
    buf_printf(&temporary, "%s/%.*s.by-%llu", buf_cstr(&place), stem_of(name),
               name, (unsigned long long)who);
    log_sorted_path(dir, name, &to);
    rc = write_file(fs, buf_cstr(&temporary), segment, err);
    if (rc == 0)
        rc = fs_rename(fs, buf_cstr(&temporary), buf_cstr(&to), err);
    if (rc == 0)
        rc = fs_sync_dir(fs, buf_cstr(&place), err);
    if (rc)
        err_wrap(err, "write sorted %s/%s", dir, name);
    buf_close(&temporary);
    buf_close(&to);
    buf_close(&place);
    return rc;
}

/* --- reading ------------------------------------------------------------- */

int log_sorted_decode(const struct sstable_iter *it,
                      struct buf *scratch,
                      struct logged_mutation *m,
                      uint64_t *sequence,
                      struct err *err)
{
    struct slice key = sstable_iter_key(it);
    struct cursor c = cursor_make(sstable_iter_value(it));
    struct slice row = cell_key_plain_row(key, scratch);
    *m = (struct logged_mutation){.now_us = (int64_t)cursor_le64(&c)};
    m->count = logged_count_read(&c, m);
    if (row.len <= 8 || m->count == 0 || m->count > cursor_left(&c) / 2)
        c.bad = true;
    m->families = cursor_bytes(&c, c.bad ? 0 : 2 * m->count).data;
    if (c.bad)
        return err_set(err, ERR_CORRUPT, "%s: malformed mutation",
                       sstable_reader_path(it->reader));
    m->ops = cursor_bytes(&c, cursor_left(&c));
    m->table = get_be64(row.data);
    m->row = slice_sub(row, 8, row.len);
    *sequence = cell_key_sequence(key);
    return 0;
}
