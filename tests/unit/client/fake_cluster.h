/* A cluster in this process, for tests: a real lock service and, over one
 * embedded store, tablet servers and a master that do what they are told to:
 * move and split tablets between two answers, lose answers, refuse.
 *
 *     struct fake *f = fake_new(3);
 *     quarry_open(fake_target(f), NULL, &q, &err);
 *     fake_split(f, "t", SLICE_LIT("m"));
 *     fake_free(f);
 *
 * Servers run on a loop of their own; functions here are called by the test's
 * thread.
 */
#ifndef TESTS_UNIT_CLIENT_FAKE_CLUSTER_H
#define TESTS_UNIT_CLIENT_FAKE_CLUSTER_H

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/arena.h"
#include "base/core/hash_map.h"
#include "base/core/panic.h"
#include "base/rpc/remote.h"
#include "base/rpc/security.h"
#include "base/runtime/fiber.h"
#include "base/runtime/loop.h"
#include "base/runtime/world.h"
#include "bigtable/client/cluster/row_set.h"
#include "bigtable/client/quarry.h"
#include "bigtable/row/filter.h"
#include "bigtable/row/mutation.h"
#include "bigtable/row/schema.h"
#include "bigtable/tablet/script.h"
#include "bigtable/wire/control_calls.h"
#include "bigtable/wire/data_calls.h"
#include "chubby-lite/chubby.h"
#include "chubby-lite/server.h"
#include "sawzall-lite/sawzall.h"
#include "tests/lib/check_main.h"

#define FAKE_SERVERS_MAX 8
#define FAKE_TABLETS_MAX 256
#define FAKE_TABLES_MAX  128
#define FAKE_NAME_BYTES  64

struct fake;

struct fake_tablet {
    uint64_t id;
    uint64_t table;
    char name[FAKE_NAME_BYTES];
    struct buf start;
    struct buf end;
    unsigned server; /* Index. */
    uint64_t epoch;
};

struct fake_server {
    struct fake *fake;
    unsigned index;
    struct rpc_server *rpc;
    struct rpc_listener *listener;
};

struct fake_table {
    char name[FAKE_NAME_BYTES];
    uint64_t id;
    uint64_t generation;
    struct schema *schema;
};

/* What goes wrong. All are counted down; 0: nothing. */
struct fake_faults {
    atomic_int lose_answers; /* Of changes: done, and said to be unavailable. */
    atomic_int refuse;       /* Calls answered with ERR_UNAVAILABLE. */
    atomic_int late;         /* Reads answered after a second. */
    atomic_int move_on_read; /* Before so many reads, the tablet moves. */
    atomic_int split_on_read; /* Before so many, it is split where it stands. */
};

struct fake {
    struct world *world;
    struct rpc_security *security;
    struct loop *loop;
    struct quarry *store; /* Everything, METADATA too. */
    struct rpc_server *lock_rpc;
    struct rpc_listener *lock_listener;
    struct chubby_server *lock_server;
    struct chubby *chubby;
    char target[64];
    struct fake_server servers[FAKE_SERVERS_MAX];
    unsigned server_count;
    struct fake_tablet tablets[FAKE_TABLETS_MAX]; /* Of the loop. */
    size_t tablet_count;
    struct fake_table tables[FAKE_TABLES_MAX];
    size_t table_count;
    uint64_t next_id;
    uint64_t next_table;
    struct hash_map answers; /* By idempotency key: struct buf, owned. */
    struct fake_faults faults;
    atomic_ullong metadata_reads;
    atomic_ullong reads;
    atomic_ullong each_calls; /* For single rows and cells. */
    atomic_ullong changes;
    bool moved;            /* By the read before: one in a row is enough. */
    uint32_t answer_bytes; /* Of reads, at most; 0: as asked for. */
    /* Of calls for single rows and cells: */
    atomic_size_t each_bytes; /* With so many there is no room for more; 0: no
                                 bound. */
    char denied;              /* Rows that begin so are refused; 0: none are. */
    atomic_ullong late_us;    /* How late `late` is; 0: a second. */
    bool no_master;
};

static inline void fake_must(int rc, const struct err *e)
{
    ck_assert_msg(rc == 0, "%s", e->text);
}

/* --- what is written down --------------------------------------------------
 */

static inline struct quarry_table *fake_open(struct fake *f, const char *name)
{
    struct err e = ERR_INIT;
    struct quarry_table *t;
    fake_must(quarry_table_open(f->store, name, &t, &e), &e);
    return t;
}

static inline struct tablet_location fake_location(const struct fake_tablet *t,
                                                   struct fake *f)
{
    return (struct tablet_location){.server = t->server + 100,
                                    .epoch = t->epoch,
                                    .address = slice_str(rpc_listener_address(
                                        f->servers[t->server].listener))};
}

static inline void
fake_write_file(struct fake *f, const char *path, struct slice contents)
{
    struct chubby_handle *h;
    struct err e = ERR_INIT;
    fake_must(chubby_open(f->chubby, path,
                          CHUBBY_READ | CHUBBY_WRITE | CHUBBY_CREATE, NULL, &h,
                          &e),
              &e);
    fake_must(chubby_write(h, contents, 0, &e), &e);
    chubby_close(h);
}

static inline void fake_make_directory(struct fake *f, const char *path)
{
    struct chubby_handle *h;
    struct err e = ERR_INIT;
    fake_must(chubby_open(f->chubby, path,
                          CHUBBY_READ | CHUBBY_CREATE | CHUBBY_DIRECTORY, NULL,
                          &h, &e),
              &e);
    chubby_close(h);
}

/* The row of @t in METADATA, or the file of the root. On the loop. */
static inline void fake_record(struct fake *f, const struct fake_tablet *t)
{
    struct tablet_bounds b = {t->id, t->table, buf_slice(&t->start),
                              buf_slice(&t->end)};
    struct tablet_location l = fake_location(t, f);
    struct buf bytes = BUF_INIT;
    struct buf key = BUF_INIT;
    struct quarry_mutation m;
    struct err e = ERR_INIT;
    if (t->table == METADATA_TABLE_ID && t->start.len == 0) {
        struct tablet_record *r = mem_zalloc(1, sizeof(*r));
        r->bounds = b;
        r->location = l;
        tablet_record_put(r, &bytes);
        fake_write_file(f, BIGTABLE_LOCK_ROOT_TAB, buf_slice(&bytes));
        mem_free(r);
    } else {
        struct quarry_table *meta = fake_open(f, METADATA_TABLE);
        metadata_key(t->table, b.end, &key);
        mutation_init(&m, buf_slice(&key));
        tablet_bounds_put(&b, &bytes);
        mutation_set(&m, SLICE_LIT("t"), SLICE_LIT("tablet"), 1,
                     buf_slice(&bytes));
        buf_clear(&bytes);
        tablet_location_put(&l, &bytes);
        mutation_set(&m, SLICE_LIT("t"), SLICE_LIT("location"), 1,
                     buf_slice(&bytes));
        fake_must(quarry_apply(meta, &m, NULL, &e), &e);
        mutation_close(&m);
        quarry_table_close(meta);
    }
    buf_close(&bytes);
    buf_close(&key);
}

static inline void fake_record_table(struct fake *f, const struct fake_table *t)
{
    struct buf bytes = BUF_INIT;
    struct buf schema = BUF_INIT;
    struct table_record r = {.id = t->id, .generation = t->generation};
    char path[128];
    schema_encode(t->schema, &schema);
    r.schema = buf_slice(&schema);
    table_record_put(&r, &bytes);
    snprintf(path, sizeof(path), BIGTABLE_LOCK_TABLES "/%s", t->name);
    fake_write_file(f, path, buf_slice(&bytes));
    buf_close(&bytes);
    buf_close(&schema);
}

/* --- tablets, on the loop --------------------------------------------------
 */

static inline struct fake_tablet *fake_add(struct fake *f,
                                           uint64_t table,
                                           const char *name,
                                           struct slice start,
                                           struct slice end,
                                           unsigned server)
{
    struct fake_tablet *t = &f->tablets[f->tablet_count++];
    INVARIANT(f->tablet_count <= FAKE_TABLETS_MAX);
    *t = (struct fake_tablet){.id = f->next_id++,
                              .table = table,
                              .server = server % f->server_count,
                              .epoch = 1};
    memcpy(t->name, name, strlen(name) + 1);
    buf_append_slice(&t->start, start);
    buf_append_slice(&t->end, end);
    return t;
}

static inline bool fake_holds(const struct fake_tablet *t, struct slice row)
{
    return slice_cmp(buf_slice(&t->start), row) <= 0 &&
           (t->end.len == 0 || slice_cmp(row, buf_slice(&t->end)) < 0);
}

static inline struct fake_tablet *
fake_find(struct fake *f, const char *name, struct slice row)
{
    for (size_t i = 0; i < f->tablet_count; i++)
        if (strcmp(f->tablets[i].name, name) == 0 &&
            fake_holds(&f->tablets[i], row))
            return &f->tablets[i];
    return NULL;
}

static inline void fake_move_tablet(struct fake *f, struct fake_tablet *t)
{
    t->server = (t->server + 1) % f->server_count;
    t->epoch++;
    fake_record(f, t);
}

static inline void
fake_split_tablet(struct fake *f, struct fake_tablet *t, struct slice row)
{
    struct fake_tablet *upper;
    char name[FAKE_NAME_BYTES];
    if (slice_cmp(row, buf_slice(&t->start)) <= 0 || !fake_holds(t, row))
        return;
    snprintf(name, sizeof(name), "%s", t->name);
    upper = fake_add(f, t->table, name, row, buf_slice(&t->end), t->server + 1);
    t->id = f->next_id++;
    buf_clear(&t->end);
    buf_append_slice(&t->end, row);
    fake_record(f, t);
    fake_record(f, upper);
}

/* --- answering -------------------------------------------------------------
 */

static inline bool fake_take(atomic_int *n)
{
    int have = atomic_load(n);
    return have > 0 && atomic_compare_exchange_strong(n, &have, have - 1);
}

static inline bool fake_moves(struct fake *f)
{
    f->moved = !f->moved && fake_take(&f->faults.move_on_read);
    return f->moved;
}

static inline int fake_not_here(struct err *e)
{
    return err_set(e, ERR_NOTFOUND, TABLET_NOT_HERE);
}

/* The tablet @id, if @s serves it. */
static inline struct fake_tablet *fake_tablet_at(struct fake_server *s,
                                                 uint64_t id)
{
    for (size_t i = 0; i < s->fake->tablet_count; i++)
        if (s->fake->tablets[i].id == id &&
            s->fake->tablets[i].server == s->index)
            return &s->fake->tablets[i];
    return NULL;
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
    if (rc == 0 && fake_take(&f->faults.late))
        world_sleep_us(f->world, 1000000);
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

/* What becomes of one look-up of a call. */
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
    struct apply_reply reply = {.text = SLICE_EMPTY, .hint = SLICE_EMPTY};
    struct err first = ERR_INIT;
    struct each_request r;
    struct row_lookup l;
    int32_t *codes;
    bool more = true;
    int rc = each_request_get(call->body, &r, e);
    if (rc)
        return rc;
    if (fake_take(&f->faults.refuse))
        return err_set(e, ERR_UNAVAILABLE, "refused");
    if (fake_take(&f->faults.late))
        world_sleep_us(f->world, f->late_us ? f->late_us : 1000000);
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
        if (codes[i] && !first.code)
            first = why;
        buf_put_lslice(call->reply_attachment, buf_slice(&answer));
        buf_close(&answer);
    }
    reply.codes = codes;
    reply.text = slice_str(first.text);
    if (rc == 0)
        apply_reply_put(&reply, call->reply_body);
    mem_free(codes);
    return rc;
}

static inline void fake_mutation(const struct row_change *c,
                                 struct quarry_mutation *m)
{
    mutation_init(m, c->row);
    buf_append_slice(&m->ops, c->ops);
    m->count = c->count;
}

static inline struct quarry_write_options fake_durability(uint8_t d)
{
    (void)d;
    return (struct quarry_write_options){QUARRY_DEFERRED};
}

static inline int fake_change(struct fake_server *s,
                              const struct row_change *c,
                              uint8_t durability,
                              struct err *e)
{
    struct quarry_write_options o = fake_durability(durability);
    struct fake_tablet *t = fake_tablet_at(s, c->tablet);
    struct quarry_table *table;
    struct quarry_mutation m;
    int rc;
    if (!t || !fake_holds(t, c->row))
        return fake_not_here(e);
    table = fake_open(s->fake, t->name);
    fake_mutation(c, &m);
    rc = quarry_apply(table, &m, &o, e);
    mutation_close(&m);
    quarry_table_close(table);
    return rc;
}

static inline int fake_apply(void *ctx, struct rpc_call *call, struct err *e)
{
    struct fake_server *s = ctx;
    struct slice rest = call->attachment;
    struct apply_request r;
    struct apply_reply reply = {.text = SLICE_EMPTY, .hint = SLICE_EMPTY};
    struct err first = ERR_INIT;
    struct row_change c;
    int32_t *codes;
    bool more = true;
    int rc = apply_request_get(call->body, &r, e);
    if (rc)
        return rc;
    if (fake_take(&s->fake->faults.refuse))
        return err_set(e, ERR_UNAVAILABLE, "refused");
    codes = mem_zalloc(r.count + 1, sizeof(*codes));
    while ((rc = row_change_next(&rest, &c, &more, e)) == 0 && more) {
        struct err why = ERR_INIT;
        PRE(reply.count < r.count);
        codes[reply.count++] = fake_change(s, &c, r.durability, &why);
        if (why.code && !first.code)
            first = why;
        atomic_fetch_add(&s->fake->changes, 1);
    }
    reply.codes = codes;
    reply.text = slice_str(first.text);
    reply.hint = slice_str(first.hint);
    if (rc == 0)
        apply_reply_put(&reply, call->reply_body);
    mem_free(codes);
    if (rc == 0 && fake_take(&s->fake->faults.lose_answers)) {
        buf_clear(call->reply_body);
        return err_set(e, ERR_UNAVAILABLE, "the answer was lost");
    }
    return rc;
}

/* An answer under the call's key that was given already. */
static inline bool fake_again(struct fake *f, struct rpc_call *call)
{
    union hash_value *v =
        hash_map_get(&f->answers, hash_key_u64(&call->idempotency_key));
    if (!v)
        return false;
    buf_append_slice(call->reply_body, buf_slice(v->pointer));
    buf_append_slice(call->reply_attachment,
                     buf_slice((struct buf *)v->pointer + 1));
    return true;
}

/* Remember the answer; it may be lost on its way. */
static inline int
fake_answer(struct fake *f, struct rpc_call *call, struct err *e)
{
    struct buf *b = mem_zalloc(2, sizeof(*b));
    buf_append_slice(&b[0], buf_slice(call->reply_body));
    buf_append_slice(&b[1], buf_slice(call->reply_attachment));
    hash_map_put(&f->answers, hash_key_u64(&call->idempotency_key), NULL)
        ->pointer = b;
    atomic_fetch_add(&f->changes, 1);
    return fake_take(&f->faults.lose_answers)
               ? err_set(e, ERR_UNAVAILABLE, "the answer was lost")
               : 0;
}

static inline int fake_check(void *ctx, struct rpc_call *call, struct err *e)
{
    struct fake_server *s = ctx;
    struct slice rest = call->attachment;
    struct quarry_mutation m[2];
    struct quarry_mutation *branches[2] = {NULL, NULL};
    struct quarry_filter *filter = NULL;
    struct check_reply reply;
    struct check_request r;
    struct quarry_table *table;
    struct fake_tablet *t;
    int rc = check_request_get(call->body, &r, e);
    if (rc)
        return rc;
    t = fake_tablet_at(s, r.tablet);
    if (!t || !fake_holds(t, r.row))
        return fake_not_here(e);
    if (fake_again(s->fake, call))
        return 0;
    if (r.has_filter)
        rc = filter_decode(r.filter, &filter, e);
    for (int i = 0; i < 2; i++) {
        struct row_change c;
        bool more;
        if (!(i ? r.has_false : r.has_true))
            continue;
        PRE(row_change_next(&rest, &c, &more, NULL) == 0 && more);
        fake_mutation(&c, &m[i]);
        branches[i] = &m[i];
    }
    table = fake_open(s->fake, t->name);
    if (rc == 0)
        rc = quarry_check_and_mutate(table, r.row, filter, branches[0],
                                     branches[1], NULL, &reply.matched, e);
    quarry_table_close(table);
    for (int i = 0; i < 2; i++)
        if (branches[i])
            mutation_close(&m[i]);
    filter_unref(filter);
    if (rc == 0) {
        check_reply_put(&reply, call->reply_body);
        rc = fake_answer(s->fake, call, e);
    }
    return rc;
}

static inline int fake_modify(void *ctx, struct rpc_call *call, struct err *e)
{
    struct fake_server *s = ctx;
    struct modify_request r;
    struct quarry_table *table;
    struct quarry_row *row = NULL;
    struct fake_tablet *t;
    struct arena a;
    int rc;
    arena_init(&a);
    rc = modify_request_get(call->body, &a, &r, e);
    t = rc == 0 ? fake_tablet_at(s, r.tablet) : NULL;
    if (rc == 0 && (!t || !fake_holds(t, r.row)))
        rc = fake_not_here(e);
    if (rc == 0 && !fake_again(s->fake, call)) {
        table = fake_open(s->fake, t->name);
        rc = quarry_read_modify_write(table, r.row, r.rules, r.rule_count, NULL,
                                      &row, e);
        quarry_table_close(table);
        if (rc == 0) {
            row_put(row, call->reply_attachment);
            rc = fake_answer(s->fake, call, e);
        }
        quarry_row_free(row);
    }
    arena_close(&a);
    return rc;
}

static inline int fake_refuse_output(void *ctx,
                                     const char *path,
                                     struct slice text,
                                     struct err *e)
{
    (void)ctx;
    (void)text;
    return err_set(e, ERR_ABORTED, PROGRAM_WRITES " to %s", path);
}

static inline int fake_run_rows(struct fake *f,
                                const struct fake_tablet *t,
                                const struct run_request *r,
                                struct quarry_read_options *o,
                                struct rpc_call *call,
                                struct err *e)
{
    struct saw_compile_options compile = {
        .restricted = true,
        .ignore_undefs = r->settings.ignore_undefs,
        .defer_tables = r->settings.defer_tables};
    struct saw_run_options run_options = {.fuel_per_record = r->fuel,
                                          .memory_bytes_max = r->memory_max,
                                          .depth_max = r->settings.depth_max,
                                          .seed = r->settings.seed,
                                          .write = fake_refuse_output};
    struct quarry_table *table = fake_open(f, t->name);
    struct buf diagnostics = BUF_INIT;
    struct run_reply reply = {.done = true, .next = SLICE_EMPTY};
    char *output = NULL;
    struct saw_program *p;
    struct saw_run *run = NULL;
    int rc = saw_compile(&compile, r->source, "program", &p, &diagnostics);
    if (rc)
        err_set(e, rc, "%s", buf_cstr(&diagnostics));
    if (r->settings.has_table_output)
        run_options.table_output = output = mem_strndup(
            r->settings.table_output.data, r->settings.table_output.len);
    o->ordered = true;
    if (rc == 0)
        rc = saw_run_new(p, &run_options, &run, e);
    if (rc == 0)
        rc = quarry_run_program(table, o, run, &reply.row_count, e);
    if (rc == 0) {
        saw_run_encode_tables(run, call->reply_attachment);
        run_reply_put(&reply, call->reply_body);
    }
    saw_run_free(run);
    saw_program_free(p);
    mem_free(output);
    buf_close(&diagnostics);
    quarry_table_close(table);
    return rc;
}

static inline int fake_run(void *ctx, struct rpc_call *call, struct err *e)
{
    struct fake_server *s = ctx;
    struct quarry_range *ranges = mem_alloc(5000 * sizeof(*ranges));
    struct quarry_read_options o;
    struct run_request r;
    struct fake_tablet *t;
    struct row_set set;
    struct arena a;
    int rc;
    arena_init(&a);
    rc = run_request_get(call->body, &r, e);
    t = rc == 0 ? fake_tablet_at(s, r.tablet) : NULL;
    if (t && fake_moves(s->fake)) {
        fake_move_tablet(s->fake, t);
        t = NULL;
    }
    if (rc == 0 && !t)
        rc = fake_not_here(e);
    if (rc == 0)
        rc = read_options_get(r.options, &a, &o, e);
    if (rc == 0) {
        struct quarry_filter *filter =
            (struct quarry_filter *)(uintptr_t)o.filter;
        if (fake_clip(t, r.from, &set, ranges, 5000, &o)) {
            rc = fake_run_rows(s->fake, t, &r, &o, call, e);
        } else {
            struct run_reply reply = {.done = true, .next = SLICE_EMPTY};
            run_reply_put(&reply, call->reply_body);
        }
        row_set_close(&set);
        filter_unref(filter);
    }
    arena_close(&a);
    mem_free(ranges);
    return rc;
}

static inline int fake_cuts(void *ctx, struct rpc_call *call, struct err *e)
{
    struct fake_server *s = ctx;
    struct cuts_request r;
    struct quarry_table *table;
    struct fake_tablet *t;
    struct slice *keys;
    size_t count;
    size_t kept = 0;
    int rc = cuts_request_get(call->body, &r, e);
    t = rc == 0 ? fake_tablet_at(s, r.tablet) : NULL;
    if (rc == 0 && !t)
        rc = fake_not_here(e);
    if (rc)
        return rc;
    table = fake_open(s->fake, t->name);
    rc = quarry_table_split_points(table, r.parts, &keys, &count, e);
    quarry_table_close(table);
    for (size_t i = 0; rc == 0 && i < count; i++)
        if (fake_holds(t, keys[i]) && slice_cmp(keys[i], buf_slice(&t->start)))
            keys[kept++] = keys[i];
    if (rc == 0) {
        keys_put(keys, kept, call->reply_attachment);
        mem_free(keys);
    }
    return rc;
}

static inline int fake_describe(void *ctx, struct rpc_call *call, struct err *e)
{
    struct fake_server *s = ctx;
    struct group_load g = {.name = SLICE_LIT("default"), .entry_count = 1};
    struct describe_reply reply = {
        .bytes = 1000, .group_count = 1, .groups = &g};
    struct cuts_request r;
    int rc = cuts_request_get(call->body, &r, e);
    if (rc == 0 && !fake_tablet_at(s, r.tablet))
        rc = fake_not_here(e);
    if (rc == 0)
        describe_reply_put(&reply, call->reply_body);
    return rc;
}

/* --- the master ------------------------------------------------------------
 */

static inline struct fake_table *fake_table(struct fake *f, struct slice name)
{
    for (size_t i = 0; i < f->table_count; i++)
        if (slice_eq_str(name, f->tables[i].name))
            return &f->tables[i];
    return NULL;
}

/* The same schema, made by the public library: families and groups. */
static inline int fake_make(struct fake *f,
                            const char *name,
                            const struct schema *schema,
                            struct err *e);

static inline int
fake_create(struct fake *f, const struct table_order *o, struct err *e)
{
    struct fake_table *t = &f->tables[f->table_count];
    int rc;
    if (fake_table(f, o->name))
        return err_set(e, ERR_EXISTS, "table %.*s exists already",
                       SLICE_ARG(o->name));
    *t = (struct fake_table){.id = f->next_table++, .generation = 1};
    snprintf(t->name, sizeof(t->name), "%.*s", SLICE_ARG(o->name));
    rc = schema_decode(o->schema, &t->schema, e);
    if (rc == 0)
        rc = fake_make(f, t->name, t->schema, e);
    if (rc)
        return rc;
    f->table_count++;
    fake_record(f, fake_add(f, t->id, t->name, SLICE_EMPTY, SLICE_EMPTY,
                            (unsigned)f->table_count));
    fake_record_table(f, t);
    return 0;
}

static inline int fake_drop(struct fake *f, struct fake_table *t, struct err *e)
{
    char path[128];
    struct chubby_handle *h;
    int rc = quarry_table_drop(f->store, t->name, e);
    if (rc)
        return rc;
    snprintf(path, sizeof(path), BIGTABLE_LOCK_TABLES "/%s", t->name);
    fake_must(
        chubby_open(f->chubby, path, CHUBBY_READ | CHUBBY_WRITE, NULL, &h, e),
        e);
    fake_must(chubby_delete(h, e), e);
    chubby_close(h);
    for (size_t i = 0; i < f->tablet_count; i++)
        if (f->tablets[i].table == t->id)
            f->tablets[i].id = 0;
    t->name[0] = '\0';
    return 0;
}

static inline int fake_alter(struct fake *f,
                             struct fake_table *t,
                             const struct table_order *o,
                             struct err *e)
{
    /* The store takes the same changes: read them for it. */
    struct schema *s = schema_copy(t->schema);
    int rc = alter_apply(o->schema, s, e);
    if (rc == 0)
        for (size_t i = 0; i < s->family_count && rc == 0; i++)
            if (!schema_family(t->schema, slice_str(s->families[i].name))) {
                struct quarry_alter a = {QUARRY_ADD_FAMILY, s->families[i].name,
                                         ""};
                rc = quarry_table_alter(f->store, t->name, &a, 1, e);
            }
    if (rc) {
        schema_free(s);
        return rc;
    }
    schema_free(t->schema);
    t->schema = s;
    t->generation++;
    fake_record_table(f, t);
    return 0;
}

static inline int fake_order(void *ctx, struct rpc_call *call, struct err *e)
{
    struct fake *f = ctx;
    struct table_order o;
    struct fake_table *t;
    int rc = table_order_get(call->body, &o, e);
    if (rc)
        return rc;
    t = fake_table(f, o.name);
    if (f->no_master || fake_take(&f->faults.refuse))
        return err_set(e, ERR_UNAVAILABLE, "not the master");
    if (call->method == MASTER_CREATE_TABLE)
        rc = fake_create(f, &o, e);
    else if (call->method == MASTER_FLUSH)
        rc = quarry_flush(f->store, e);
    else if (!t)
        rc = err_set(e, ERR_NOTFOUND, "no table %.*s", SLICE_ARG(o.name));
    else if (call->method == MASTER_DROP_TABLE)
        rc = fake_drop(f, t, e);
    else if (call->method == MASTER_ALTER_TABLE)
        rc = fake_alter(f, t, &o, e);
    else if (call->method == MASTER_SPLIT)
        fake_split_tablet(f, fake_find(f, t->name, o.row), o.row);
    else if (call->method == MASTER_COMPACT)
        rc = quarry_table_compact(f->store, t->name, e);
    else if (call->method == MASTER_DROP_ROWS)
        rc = quarry_table_drop_rows(f->store, t->name, o.row, o.row_end, e);
    if (rc == 0 && fake_take(&f->faults.lose_answers))
        rc = err_set(e, ERR_UNAVAILABLE, "the answer was lost");
    return rc;
}

static inline int fake_make(struct fake *f,
                            const char *name,
                            const struct schema *s,
                            struct err *e)
{
    struct quarry_family_spec *families =
        mem_zalloc(s->family_count + 1, sizeof(*families));
    int rc;
    for (size_t i = 0; i < s->family_count; i++)
        families[i] = (struct quarry_family_spec){s->families[i].name, ""};
    rc = quarry_table_create(f->store, name, families, s->family_count, NULL, 0,
                             e);
    mem_free(families);
    return rc;
}

/* --- life ------------------------------------------------------------------
 */

static inline void fake_serve(struct fake *f)
{
    static const struct rpc_method methods[] = {
        {TABLET_READ, "tablet.read", fake_read},
        {TABLET_READ_EACH, "tablet.read_each", fake_read_each},
        {TABLET_APPLY, "tablet.apply", fake_apply},
        {TABLET_CHECK, "tablet.check", fake_check},
        {TABLET_MODIFY, "tablet.modify", fake_modify},
        {TABLET_RUN, "tablet.run", fake_run},
        {TABLET_CUTS, "tablet.cuts", fake_cuts},
        {TABLET_DESCRIBE, "tablet.describe", fake_describe},
    };
    const struct rpc_listen_options listen = {.security = f->security};
    struct err e = ERR_INIT;
    for (unsigned i = 0; i < f->server_count; i++) {
        struct fake_server *s = &f->servers[i];
        s->fake = f;
        s->index = i;
        s->rpc = rpc_server_new(f->world);
        rpc_server_add(s->rpc, methods, ARRAY_LEN(methods), s);
        fake_must(rpc_listen(s->rpc, "127.0.0.1:0", &listen, &s->listener, &e),
                  &e);
    }
}

/* The lock service, and the master beside it. */
static inline void fake_lock(struct fake *f, const char *dir)
{
    static const struct rpc_method orders[] = {
        {MASTER_CREATE_TABLE, "master.create", fake_order},
        {MASTER_DROP_TABLE, "master.drop", fake_order},
        {MASTER_ALTER_TABLE, "master.alter", fake_order},
        {MASTER_SPLIT, "master.split", fake_order},
        {MASTER_COMPACT, "master.compact", fake_order},
        {MASTER_FLUSH, "master.flush", fake_order},
        {MASTER_DROP_ROWS, "master.drop_rows", fake_order},
    };
    struct replica_member member = {1, "127.0.0.1:1", true};
    struct chubby_server_options o = {.replica = {.name = "fake",
                                                  .directory = dir,
                                                  .id = 1,
                                                  .members = &member,
                                                  .member_count = 1,
                                                  .election_ms = 20,
                                                  .heartbeat_ms = 10}};
    const char *server = f->target;
    struct chubby_options c = {
        .servers = &server, .server_count = 1, .security = f->security};
    const struct rpc_listen_options listen = {.security = f->security};
    struct err e = ERR_INIT;
    f->lock_rpc = rpc_server_new(f->world);
    fake_must(
        chubby_server_open(f->world, f->lock_rpc, &o, &f->lock_server, &e), &e);
    rpc_server_add(f->lock_rpc, orders, ARRAY_LEN(orders), f);
    fake_must(
        rpc_listen(f->lock_rpc, "127.0.0.1:0", &listen, &f->lock_listener, &e),
        &e);
    snprintf(f->target, sizeof(f->target), "%s",
             rpc_listener_address(f->lock_listener));
    fake_must(chubby_connect(f->world, &c, &f->chubby, &e), &e);
}

static inline void fake_begin(void *arg)
{
    struct fake *f = arg;
    static const struct quarry_family_spec family = {"t", "versions=1"};
    char dir[512];
    struct buf end = BUF_INIT;
    struct err e = ERR_INIT;
    snprintf(dir, sizeof(dir), "%s/lock", test_tmpdir());
    fake_serve(f);
    fake_lock(f, dir);
    fake_make_directory(f, BIGTABLE_LOCK_ROOT);
    fake_make_directory(f, BIGTABLE_LOCK_TABLES);
    fake_must(
        quarry_table_create(f->store, METADATA_TABLE, &family, 1, NULL, 0, &e),
        &e);
    metadata_root_end(&end);
    fake_record(f, fake_add(f, METADATA_TABLE_ID, METADATA_TABLE, SLICE_EMPTY,
                            buf_slice(&end), 0));
    fake_record(f, fake_add(f, METADATA_TABLE_ID, METADATA_TABLE,
                            buf_slice(&end), SLICE_EMPTY, 1));
    fake_write_file(f, BIGTABLE_LOCK_MASTER, slice_str(f->target));
    buf_close(&end);
}

static inline struct fake *fake_new(unsigned servers)
{
    struct fake *f = mem_zalloc(1, sizeof(*f));
    struct quarry_options o = {.memtable_bytes = 8 << 20};
    struct err e = ERR_INIT;
    char target[512];
    f->world = world_real_new();
    f->security = rpc_security_none("quarry", "fake");
    f->server_count = servers;
    f->next_id = 10;
    f->next_table = FIRST_USER_TABLE_ID;
    hash_map_init(&f->answers, HASH_KEYS_COPIED);
    snprintf(target, sizeof(target), "file:%s/store", test_tmpdir());
    fake_must(quarry_open(target, &o, &f->store, &e), &e);
    fake_must(loop_new(f->world, "fake", &f->loop, &e), &e);
    loop_start(f->loop);
    loop_call(f->loop, "fake begin", fake_begin, f);
    return f;
}

static inline const char *fake_target(const struct fake *f)
{
    return f->target;
}

static inline void fake_end(void *arg)
{
    struct fake *f = arg;
    chubby_disconnect(f->chubby);
    for (unsigned i = 0; i < f->server_count; i++)
        rpc_listener_close(f->servers[i].listener);
    rpc_listener_close(f->lock_listener);
    chubby_server_close(f->lock_server);
    rpc_server_free(f->lock_rpc);
    for (unsigned i = 0; i < f->server_count; i++)
        rpc_server_free(f->servers[i].rpc);
}

static inline void fake_free(struct fake *f)
{
    struct hash_slot *slot;
    size_t at = 0;
    loop_call(f->loop, "fake end", fake_end, f);
    loop_stop(f->loop);
    loop_join(f->loop);
    loop_free(f->loop);
    quarry_close(f->store);
    rpc_security_free(f->security);
    world_free(f->world);
    while ((slot = hash_map_next(&f->answers, &at))) {
        buf_close(slot->value.pointer);
        buf_close((struct buf *)slot->value.pointer + 1);
        mem_free(slot->value.pointer);
    }
    hash_map_close(&f->answers);
    for (size_t i = 0; i < f->tablet_count; i++) {
        buf_close(&f->tablets[i].start);
        buf_close(&f->tablets[i].end);
    }
    for (size_t i = 0; i < f->table_count; i++)
        schema_free(f->tables[i].schema);
    mem_free(f);
}

/* --- what tests make happen ------------------------------------------------
 */

struct fake_event {
    struct fake *fake;
    const char *table;
    struct slice row;
};

static inline void fake_do_move(void *arg)
{
    struct fake_event *e = arg;
    fake_move_tablet(e->fake, fake_find(e->fake, e->table, e->row));
}

static inline void fake_do_split(void *arg)
{
    struct fake_event *e = arg;
    fake_split_tablet(e->fake, fake_find(e->fake, e->table, e->row), e->row);
}

/* The tablet of @row goes to the next server. */
static inline void
fake_move(struct fake *f, const char *table, struct slice row)
{
    struct fake_event e = {f, table, row};
    loop_call(f->loop, "move", fake_do_move, &e);
}

static inline void
fake_split(struct fake *f, const char *table, struct slice row)
{
    struct fake_event e = {f, table, row};
    loop_call(f->loop, "split", fake_do_split, &e);
}

#endif /* TESTS_UNIT_CLIENT_FAKE_CLUSTER_H */
