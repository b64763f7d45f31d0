/* The record of what one row adds to a view: for each table its key and
 * state, sorted, as bytes. It is kept under the row's own key, so that the
 * row's next version can take it back. */
#include "bigtable/view/contribution.h"

#include "base/core/coding.h"
#include "base/core/panic.h"

#define RECORD_VERSION 1
#define RECORD_FAILED  1
/* The least that an entry takes: table, and lengths of key and state. */
#define ENTRY_BYTES_MIN 3

void contribution_add(struct contribution_writer *w,
                      uint32_t table,
                      struct slice key,
                      struct slice state)
{
    buf_put_varint(&w->entries, table);
    buf_put_lslice(&w->entries, key);
    buf_put_lslice(&w->entries, state);
    w->count++;
}

void contribution_finish(struct contribution_writer *w,
                         bool failed,
                         int64_t due_us,
                         struct buf *out)
{
    buf_put_u8(out, RECORD_VERSION);
    buf_put_u8(out, failed ? RECORD_FAILED : 0);
    buf_put_be64(out, (uint64_t)due_us);
    buf_put_varint(out, w->count);
    buf_append_slice(out, buf_slice(&w->entries));
    buf_clear(&w->entries);
    w->count = 0;
}

void contribution_writer_close(struct contribution_writer *w)
{
    buf_close(&w->entries);
}

int contribution_entry_cmp(const struct contribution_entry *a,
                           const struct contribution_entry *b)
{
    if (a->table != b->table)
        return a->table < b->table ? -1 : 1;
    return slice_cmp(a->key, b->key);
}

static bool parse_entry(struct cursor *c, struct contribution *out)
{
    struct contribution_entry *e = &out->entries[out->count];
    uint64_t table = cursor_varint(c);

    e->table = (uint32_t)table;
    e->key = cursor_lslice(c);
    e->state = cursor_lslice(c);
    if (c->bad || table > UINT32_MAX ||
        (out->count && contribution_entry_cmp(e - 1, e) >= 0))
        return false;
    out->count++;
    return true;
}

int contribution_parse(struct slice record,
                       struct contribution *out,
                       struct err *err)
{
    struct cursor c = cursor_make(record);
    size_t count;

    *out = (struct contribution){.count = 0};
    if (record.len == 0)
        return 0;
    if (cursor_u8(&c) != RECORD_VERSION)
        return err_set(err, ERR_CORRUPT,
                       "a row's contribution: unknown version");
    out->failed = cursor_u8(&c) & RECORD_FAILED;
    out->due_us = (int64_t)cursor_be64(&c);
    count = cursor_count(&c, ENTRY_BYTES_MIN);
    out->entries = mem_alloc((count + 1) * sizeof(*out->entries));
    while (!c.bad && out->count < count && parse_entry(&c, out))
        ;
    if (c.bad || out->count < count || cursor_left(&c) != 0) {
        contribution_close(out);
        return err_set(err, ERR_CORRUPT,
                       "a row's contribution: cut or damaged");
    }
    return 0;
}

void contribution_close(struct contribution *c)
{
    mem_free(c->entries);
    *c = (struct contribution){.count = 0};
}
