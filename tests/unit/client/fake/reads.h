/* A fake tablet server answers reads: of rows in order, and of single ones. */
#ifndef TESTS_UNIT_CLIENT_FAKE_READS_H
#define TESTS_UNIT_CLIENT_FAKE_READS_H

#include <string.h>

#include "base/core/arena.h"
#include "base/core/panic.h"
#include "bigtable/client/cluster/row_set.h"
#include "bigtable/row/filter.h"
#include "bigtable/wire/data_calls.h"
#include "tests/unit/client/fake/tablets.h"

static inline bool fake_moves(struct fake *f)
{
    f->moved = !f->moved && fake_take(&f->faults.move_on_read);
    return f->moved;
}

/* Rows of @t as @o says, from @from on, into the answer. */
static inline int fake_read_rows(struct fake *f,
                                 const char *name,
                                 const struct quarry_read_options *o,
                                 const struct read_request *r,
                                 struct rpc_call *call,
                                 struct err *e)
{
    struct quarry_table *t = fake_open(f, name);
    struct read_reply reply = {.done = true};
    struct buf next = BUF_INIT;
    const struct quarry_row *row;
    struct quarry_scanner *s;
    uint32_t max = r->bytes_max ? r->bytes_max : 1 << 20;
    int rc = quarry_scan(t, o, &s, e);
    if (f->answer_bytes && strcmp(name, METADATA_TABLE) != 0)
        max = f->answer_bytes;
    while (rc == 0 && (rc = quarry_scanner_next(s, &row, e)) == 0 && row) {
        row_put(row, call->reply_attachment);
        reply.row_count++;
        buf_clear(&next);
        buf_append_slice(&next, row->key);
        buf_append_byte(&next, '\0');
        if ((r->row_limit && reply.row_count == r->row_limit) ||
            call->reply_attachment->len >= max) {
            reply.done = false;
            break;
        }
    }
    if (rc == 0 || reply.row_count)
        quarry_scanner_close(s);
    reply.next = reply.done ? SLICE_EMPTY : buf_slice(&next);
    if (rc == 0)
        read_reply_put(&reply, call->reply_body);
    buf_close(&next);
    quarry_table_close(t);
    return rc;
}

/* @o with what it asks for cut to the tablet and @from. False: nothing is. */
static inline bool fake_clip(const struct fake_tablet *t,
                             struct slice from,
                             struct row_set *set,
                             struct quarry_range *ranges,
                             size_t max,
                             struct quarry_read_options *o)
{
    struct slice start = buf_slice(&t->start);
    struct slice stop;
    if (slice_cmp(from, start) > 0)
        start = from;
    row_set_init(set, o);
    o->range_count = row_set_part(set, start, buf_slice(&t->end), SIZE_MAX,
                                  ranges, max, &stop);
    o->ranges = ranges;
    o->keys = NULL;
    o->key_count = 0;
    return o->range_count > 0;
}

static inline int fake_read(void *ctx, struct rpc_call *call, struct err *e)
{
    struct fake_server *s = ctx;
    struct fake *f = s->fake;
    struct quarry_range *ranges = mem_alloc(5000 * sizeof(*ranges));
    struct quarry_read_options o;
    struct read_request r;
    struct fake_tablet *t;
    struct row_set set;
    struct arena a;
    int rc;
    arena_init(&a);
    rc = read_request_get(call->body, &r, e);
    t = rc == 0 ? fake_tablet_at(s, r.tablet) : NULL;
    if (t && t->table != METADATA_TABLE_ID && fake_moves(f)) {
        fake_move_tablet(f, t);
        t = NULL;
    }
    if (rc == 0)
        rc = fake_take(&f->faults.refuse)
                 ? err_set(e, ERR_UNAVAILABLE, "refused")
                 : 0;
    if (rc == 0)
        fake_be_late(f);
    if (rc == 0 && !t)
        rc = fake_not_here(e);
    if (rc == 0)
        rc = read_options_get(r.options, &a, &o, e);
    if (rc == 0) {
        struct quarry_filter *filter =
            (struct quarry_filter *)(uintptr_t)o.filter;
        bool any = fake_clip(t, r.from, &set, ranges, 5000, &o);
        atomic_fetch_add(
            t->table == METADATA_TABLE_ID ? &f->metadata_reads : &f->reads, 1);
        if (any) {
            rc = fake_read_rows(f, t->name, &o, &r, call, e);
        } else {
            struct read_reply reply = {.done = true};
            read_reply_put(&reply, call->reply_body);
        }
        row_set_close(&set);
        filter_unref(filter);
    }
    if (rc == 0 && t->table != METADATA_TABLE_ID &&
        fake_take(&f->faults.split_on_read)) {
        struct read_reply reply;
        char *row;
        if (read_reply_get(buf_slice(call->reply_body), &reply, NULL) == 0 &&
            !reply.done) {
            row = mem_strndup(reply.next.data, reply.next.len);
            fake_split_tablet(f, t, slice_make(row, reply.next.len));
            mem_free(row);
        }
    }
    arena_close(&a);
    mem_free(ranges);
    return rc;
}

static inline int fake_look_up(struct quarry_table *table,
                               const struct row_lookup *l,
                               struct buf *answer,
                               struct err *e)
{
    struct cell_answer cell = {0, SLICE_EMPTY};
    char *family = mem_strndup(l->family.data, l->family.len);
    struct quarry_read_options o;
    struct buf value = BUF_INIT;
    struct quarry_row *row = NULL;
    struct arena a;
    bool found = false;
    int rc;
    arena_init(&a);
    if (l->is_cell) {
        rc = quarry_get(table, l->row, family, l->qualifier, &value, &found, e);
        cell.value = buf_slice(&value);
        if (rc == 0 && found)
            cell_answer_put(&cell, answer);
    } else {
        rc = read_options_get(l->options, &a, &o, e);
        if (rc == 0) {
            rc = quarry_read_row(table, l->row, &o, &row, e);
            filter_unref((struct quarry_filter *)(uintptr_t)o.filter);
        }
        if (row)
            row_put(row, answer);
    }
    quarry_row_free(row);
    buf_close(&value);
    mem_free(family);
    arena_close(&a);
    return rc;
}

/* Answer one look-up of a call. */
static inline int fake_read_one(struct fake_server *s,
                                const struct row_lookup *l,
                                struct buf *answer,
                                struct err *e)
{
    struct fake *f = s->fake;
    struct fake_tablet *t = fake_tablet_at(s, l->tablet);
    struct quarry_table *table;
    int rc;
    if (t && fake_moves(f)) {
        fake_move_tablet(f, t);
        t = NULL;
    }
    if (f->denied && l->row.data[0] == f->denied)
        return err_set(e, ERR_DENIED, "not row %.*s", SLICE_ARG(l->row));
    if (!t || !fake_holds(t, l->row))
        return fake_not_here(e);
    atomic_fetch_add(&f->reads, 1);
    table = fake_open(f, t->name);
    rc = fake_look_up(table, l, answer, e);
    quarry_table_close(table);
    return rc;
}

static inline int
fake_read_each(void *ctx, struct rpc_call *call, struct err *e)
{
    struct fake_server *s = ctx;
    struct fake *f = s->fake;
    struct slice rest = call->attachment;
    struct apply_reply reply = {.count = 0};
    struct each_request r;
    struct row_lookup l;
    int32_t *codes;
    bool more = true;
    int rc = each_request_get(call->body, &r, e);
    if (rc)
        return rc;
    if (fake_take(&f->faults.refuse))
        return err_set(e, ERR_UNAVAILABLE, "refused");
    fake_be_late(f);
    atomic_fetch_add(&f->each_calls, 1);
    codes = mem_zalloc(r.count + 1, sizeof(*codes));
    while ((rc = row_lookup_next(&rest, &l, &more, e)) == 0 && more) {
        struct err why = ERR_INIT;
        struct buf answer = BUF_INIT;
        uint32_t i = reply.count++;
        PRE(reply.count <= r.count);
        if (f->each_bytes && call->reply_attachment->len > f->each_bytes)
            codes[i] = err_set(&why, ERR_TOOBIG, "no room");
        else
            codes[i] = fake_read_one(s, &l, &answer, &why);
        if (codes[i] && !reply.first.code)
            reply.first = why;
        buf_put_lslice(call->reply_attachment, buf_slice(&answer));
        buf_close(&answer);
    }
    reply.codes = codes;
    if (rc == 0)
        apply_reply_put(&reply, call->reply_body);
    mem_free(codes);
    return rc;
}

#endif /* TESTS_UNIT_CLIENT_FAKE_READS_H */
