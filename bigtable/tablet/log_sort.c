/* Sorting the segments of a dead server's log, and reading what came of it. */
#include "bigtable/tablet/log_sort.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/arena.h"
#include "base/core/buf.h"
#include "base/core/coding.h"
#include "base/core/panic.h"
#include "bigtable/row/cell_key.h"
#include "bigtable/row/schema.h"
#include "bigtable/sstable/reader.h"
#include "bigtable/sstable/writer.h"
#include "bigtable/tablet/shared_log.h"
#include "bigtable/tablet/writer.h"
#include "gfs-lite/fs.h"

/* A segment ends when it is full, but its last group may be large. */
#define SEGMENT_BYTES_MAX ((size_t)4 << 30)
#define SORTED_FAMILY     1

/* The row that stands for @row of @table: appended to @out. */
static void put_row(struct buf *out, uint64_t table, struct slice row)
{
    struct buf plain = BUF_INIT;
    buf_put_be64(&plain, table);
    buf_append_slice(&plain, row);
    cell_key_append_row(out, buf_slice(&plain));
    buf_close(&plain);
}

/* --- sorting -------------------------------------------------------------- */

struct sorted_entry {
    struct slice key; /* In the arena. */
    struct logged_mutation mutation;
};

struct sorter {
    struct arena arena; /* Of keys. */
    struct buf entries; /* struct sorted_entry. */
    struct buf scratch;
    size_t bytes;
};

static void
add(struct sorter *s, const struct logged_mutation *m, uint64_t sequence)
{
    const struct cell_key rest = {
        .sequence = sequence, .family = SORTED_FAMILY, .kind = ENTRY_PUT};
    struct sorted_entry e = {.mutation = *m};
    char *copy;
    buf_clear(&s->scratch);
    put_row(&s->scratch, m->table, m->row);
    cell_key_append_rest(&s->scratch, &rest);
    copy = arena_alloc(&s->arena, s->scratch.len);
    memcpy(copy, s->scratch.data, s->scratch.len);
    e.key = slice_make(copy, s->scratch.len);
    buf_append(&s->entries, &e, sizeof(e));
    s->bytes += e.key.len + m->ops.len;
}

static int take_record(void *ctx,
                       uint64_t sequence,
                       uint32_t count,
                       struct slice payload,
                       struct err *err)
{
    struct sorter *s = ctx;
    struct cursor c = cursor_make(payload);
    struct logged_mutation m;
    uint64_t end = sequence + count;
    while (logged_mutation_read(&c, &m)) {
        add(s, &m, sequence);
        sequence += m.count;
    }
    if (c.bad || sequence != end)
        return err_set(err, ERR_CORRUPT, "a record is not made of mutations");
    return 0;
}

static int compare_entries(const void *a, const void *b)
{
    return slice_cmp(((const struct sorted_entry *)a)->key,
                     ((const struct sorted_entry *)b)->key);
}

static void put_value(struct buf *out, const struct logged_mutation *m)
{
    buf_clear(out);
    buf_put_le64(out, (uint64_t)m->now_us);
    buf_put_varint(out, m->count);
    buf_append(out, m->families, 2 * m->count);
    buf_append_slice(out, m->ops);
}

static int
write_entries(struct sorter *s, struct table_writer *w, struct err *err)
{
    const struct sorted_entry *e = (const void *)s->entries.data;
    size_t count = s->entries.len / sizeof(*e);
    int rc = 0;
    for (size_t i = 0; i < count && rc == 0; i++) {
        if (i > 0 && slice_eq(e[i].key, e[i - 1].key))
            continue; /* Written twice. */
        put_value(&s->scratch, &e[i].mutation);
        rc = table_writer_add(w, e[i].key, buf_slice(&s->scratch), err);
    }
    return rc ? rc : table_writer_finish(w, err);
}

static int
write_sorted(struct sorter *s, struct fs *fs, const char *path, struct err *err)
{
    struct group_options group;
    struct table_writer *w;
    size_t count = s->entries.len / sizeof(struct sorted_entry);
    int rc;
    if (count == 0)
        return fs_replace(fs, path, SLICE_EMPTY, err);
    qsort(s->entries.data, count, sizeof(struct sorted_entry), compare_entries);
    group_options_default(&group);
    group.level = 1; /* It is read once or twice. */
    group.dictionary = false;
    group.bloom = BLOOM_NONE;
    if (fs_remove(fs, path, NULL) != 0) {
        /* As it should be: nobody left one there. */
    }
    rc = table_writer_open(fs, path, &group, s->bytes, &w, err);
    if (rc)
        return rc;
    rc = write_entries(s, w, err);
    table_writer_free(w);
    return rc;
}

static int sort_bytes(struct fs *fs,
                      const char *name,
                      struct slice bytes,
                      const char *path,
                      struct err *err)
{
    struct sorter s = {.bytes = 0};
    int rc;
    arena_init(&s.arena);
    rc = shared_log_read(name, bytes, take_record, &s, err);
    if (rc == 0)
        rc = write_sorted(&s, fs, path, err);
    buf_close(&s.entries);
    buf_close(&s.scratch);
    arena_close(&s.arena);
    return rc;
}

static bool exists(struct fs *fs, const char *path)
{
    struct fs_info info;
    return fs_stat(fs, path, &info, NULL) == 0;
}

static int sort_file(struct fs *fs,
                     const char *from,
                     const char *name,
                     const char *temporary,
                     const char *to,
                     struct err *err)
{
    struct buf bytes = BUF_INIT;
    uint64_t length;
    int rc = fs_recover(fs, from, &length, err);
    if (rc == 0)
        rc = fs_read_all(fs, from, SEGMENT_BYTES_MAX, &bytes, err);
    if (rc == 0)
        rc = sort_bytes(fs, name, buf_slice(&bytes), temporary, err);
    buf_close(&bytes);
    if (rc == 0)
        rc = fs_rename(fs, temporary, to, err);
    return rc;
}

int log_sort_segment(struct fs *fs,
                     const char *dir,
                     const char *name,
                     uint64_t who,
                     struct err *err)
{
    struct buf from = BUF_INIT;
    struct buf temporary = BUF_INIT;
    struct buf to = BUF_INIT;
    struct buf place = BUF_INIT;
    int stem = (int)strcspn(name, ".");
    int rc = 0;
    if (!shared_log_is_segment(name))
        return err_set(err, ERR_INVALID, "%s is not a segment of a log", name);
    buf_printf(&from, "%s/%s", dir, name);
    buf_printf(&place, "%s/%s", dir, LOG_SORTED_DIR);
    buf_printf(&to, "%s/%.*s.sst", buf_cstr(&place), stem, name);
    buf_printf(&temporary, "%s/%.*s.by-%llu", buf_cstr(&place), stem, name,
               (unsigned long long)who);
    if (!exists(fs, buf_cstr(&to))) {
        rc = sort_file(fs, buf_cstr(&from), name, buf_cstr(&temporary),
                       buf_cstr(&to), err);
        if (rc == 0)
            rc = fs_sync_dir(fs, buf_cstr(&place), err);
    }
    if (rc)
        err_wrap(err, "sort %s/%s", dir, name);
    buf_close(&from);
    buf_close(&temporary);
    buf_close(&to);
    buf_close(&place);
    return rc;
}

/* --- reading -------------------------------------------------------------- */

struct sorted_file {
    struct table_reader *reader;
    struct table_iter iter;
};

struct sorted_reader {
    struct fs *fs;
    struct block_cache *cache;
    struct sorted_file **files; /* Owned. */
    size_t count;
    struct buf start; /* Encoded. */
    struct buf end;
    struct buf scratch;
    struct buf last; /* Key handed out last. */
};

/* Open one, and go to the first row wanted. */
static int open_file(struct sorted_reader *r, const char *path, struct err *err)
{
    const struct table_reader_options opts = {.cache = r->cache};
    struct sorted_file *f;
    struct fs_info info;
    int rc = fs_stat(r->fs, path, &info, err);
    if (rc || info.size_bytes == 0)
        return rc;
    f = mem_zalloc(1, sizeof(*f));
    rc = table_reader_open(r->fs, path, &opts, &f->reader, err);
    if (rc) {
        mem_free(f);
        return rc;
    }
    table_iter_init(&f->iter);
    r->files =
        mem_realloc(r->files, (r->count + 1) * sizeof(struct sorted_file *));
    r->files[r->count++] = f;
    table_iter_open(&f->iter, f->reader, TABLE_READ_SCAN);
    return table_iter_seek(&f->iter, buf_slice(&r->start), err);
}

static int open_dir(struct sorted_reader *r, const char *dir, struct err *err)
{
    struct buf path = BUF_INIT;
    char **names = NULL;
    size_t count = 0;
    int rc;
    buf_printf(&path, "%s/%s", dir, LOG_SORTED_DIR);
    rc = fs_list(r->fs, buf_cstr(&path), &names, &count, err);
    if (rc == ERR_NOTFOUND)
        rc = 0;
    for (size_t i = 0; i < count && rc == 0; i++) {
        if (!strstr(names[i], ".sst"))
            continue;
        buf_clear(&path);
        buf_printf(&path, "%s/%s/%s", dir, LOG_SORTED_DIR, names[i]);
        rc = open_file(r, buf_cstr(&path), err);
    }
    fs_names_free(names, count);
    buf_close(&path);
    return rc;
}

static void close_files(struct sorted_reader *r)
{
    for (size_t i = 0; i < r->count; i++) {
        table_iter_close(&r->files[i]->iter);
        table_reader_unref(r->files[i]->reader);
        mem_free(r->files[i]);
    }
    mem_free(r->files);
    buf_close(&r->start);
    buf_close(&r->end);
    buf_close(&r->scratch);
    buf_close(&r->last);
}

/* The file with the least key; NULL at the end. */
static struct sorted_file *least(const struct sorted_reader *r)
{
    struct sorted_file *best = NULL;
    for (size_t i = 0; i < r->count; i++) {
        struct table_iter *it = &r->files[i]->iter;
        if (table_iter_valid(it) &&
            (!best ||
             slice_cmp(table_iter_key(it), table_iter_key(&best->iter)) < 0))
            best = r->files[i];
    }
    return best;
}

/* What the entry says; slices are borrowed from it and from the scratch. */
static int decode(struct sorted_reader *r,
                  const struct table_iter *it,
                  struct logged_mutation *m,
                  uint64_t *sequence,
                  struct err *err)
{
    struct slice key = table_iter_key(it);
    struct cursor c = cursor_make(table_iter_value(it));
    struct slice row = cell_key_plain_row(key, &r->scratch);
    *m = (struct logged_mutation){.now_us = (int64_t)cursor_le64(&c)};
    m->count = cursor_count(&c, 2);
    if (row.len <= 8 || m->count == 0 || m->count > cursor_left(&c) / 2)
        c.bad = true;
    m->families = cursor_bytes(&c, c.bad ? 0 : 2 * m->count).data;
    if (c.bad)
        return err_set(err, ERR_CORRUPT, "%s: malformed mutation",
                       table_reader_path(it->reader));
    m->ops = cursor_bytes(&c, cursor_left(&c));
    m->table = get_be64(row.data);
    m->row = slice_sub(row, 8, row.len);
    *sequence = cell_key_sequence(key);
    return 0;
}

static int
each(struct sorted_reader *r, log_sorted_fn fn, void *ctx, struct err *err)
{
    struct sorted_file *f;
    int rc = 0;
    while (rc == 0 && (f = least(r)) != NULL) {
        struct slice key = table_iter_key(&f->iter);
        struct logged_mutation m;
        uint64_t sequence = 0;
        if (slice_cmp(key, buf_slice(&r->end)) >= 0)
            break;
        if (!slice_eq(key, buf_slice(&r->last))) {
            rc = decode(r, &f->iter, &m, &sequence, err);
            if (rc == 0)
                rc = fn(ctx, &m, sequence, err);
            buf_clear(&r->last);
            buf_append_slice(&r->last, key);
        }
        if (rc == 0)
            rc = table_iter_next(&f->iter, err);
    }
    return rc;
}

int log_sorted_each(struct fs *fs,
                    struct block_cache *cache,
                    const char *const *dirs,
                    size_t count,
                    uint64_t table,
                    struct slice start,
                    struct slice end,
                    log_sorted_fn fn,
                    void *ctx,
                    struct err *err)
{
    struct sorted_reader r = {.fs = fs, .cache = cache};
    int rc = 0;
    PRE(table < UINT64_MAX);
    put_row(&r.start, table, start);
    put_row(&r.end, end.len ? table : table + 1, end);
    for (size_t i = 0; i < count && rc == 0; i++)
        rc = open_dir(&r, dirs[i], err);
    if (rc == 0)
        rc = each(&r, fn, ctx, err);
    close_files(&r);
    return rc;
}
