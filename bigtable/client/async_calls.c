/* Asynchronous calls of quarry.h: what each keeps, and those that go together.
 */
#include <string.h>

#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "bigtable/client/async.h"
#include "bigtable/client/client.h"
#include "bigtable/index/index_write.h"
#include "bigtable/row/mutation.h"
#include "bigtable/txn/txn_settle.h"

/* The caller may close his table while the call is under way. */
static void hold_table(struct quarry_table *mine, const struct quarry_table *t)
{
    *mine = *t;
    mine->ops->table_hold(mine);
}

/* --- writes -------------------------------------------------------------- */

struct apply_call {
    struct async_call base;
    struct quarry_table table;       /* Its own handle. */
    struct change_block *block;      /* Its number, if it is made again. */
    struct quarry_mutation mutation; /* Over `bytes`. */
    struct quarry_write_options opts;
    int rc;
    struct err *err; /* Owned; NULL: none. */
    quarry_apply_cb cb;
    void *arg;
    char bytes[];
};

static struct apply_call *apply_of(struct async_call *base)
{
    return CONTAINER_OF(base, struct apply_call, base);
}

static void run_apply_alone(struct apply_call *c)
{
    const struct target_ops *ops = c->table.ops;
    c->err = mem_zalloc(1, sizeof(*c->err));
    c->rc = ops->apply(&c->table, &c->mutation, &c->opts, c->err);
    if (c->rc == ERR_CONFLICT)
        c->rc = index_apply(&c->table, &c->mutation, &c->opts, c->err);
    ops->table_release(&c->table);
}

/* Record the outcome of @c in its group. A call that failed is made again by
 * itself, because only one failure of a group is explained, and because it
 * should not make the others wait for a server that is down. */
static void
take_code(struct apply_call *c, int code, size_t count, const struct err *why)
{
    c->rc = code;
    if (code == ERR_CONFLICT) { /* Here, on a thread that may block. */
        c->err = mem_zalloc(1, sizeof(*c->err));
        c->rc = index_apply(&c->table, &c->mutation, &c->opts, c->err);
        c->base.again = false;
        c->table.ops->table_release(&c->table);
        return;
    }
    c->base.again = apply_is_again(code, count);
    if (c->base.again)
        return;
    if (code) {
        c->err = mem_zalloc(1, sizeof(*c->err));
        c->rc = code == why->code ? err_copy(c->err, why)
                                  : err_set(c->err, code, "%s", err_name(code));
    }
    c->table.ops->table_release(&c->table);
}

static void run_apply(struct async_call *first)
{
    struct apply_call *c = apply_of(first);
    struct quarry_table *t = &c->table;
    const struct quarry_mutation *list[ASYNC_TOGETHER_MAX] = {NULL};
    struct err err = ERR_INIT;
    struct change_block *blocks[ASYNC_TOGETHER_MAX];
    int codes[ASYNC_TOGETHER_MAX];
    size_t count = 0;
    size_t done = 0;
    if (!t->ops->apply_some) {
        run_apply_alone(c);
        return;
    }
    for (struct async_call *call = first; call; call = call->next) {
        blocks[count] = apply_of(call)->block;
        list[count++] = &apply_of(call)->mutation;
    }
    for (size_t i = 0; i < count; i++)
        codes[i] = 0;
    t->ops->apply_some(t, list, count, &c->opts, blocks, codes, &err);
    for (struct async_call *call = first; call; call = call->next, done++) {
        apply_of(call)->block = blocks[done];
        take_code(apply_of(call), codes[done], count, &err);
    }
}

static void finish_apply(struct async_call *base)
{
    static const struct err none = {.code = 0};
    struct apply_call *c = apply_of(base);
    c->cb(c->arg, c->rc, c->err ? c->err : &none);
    mem_free(c->mutation.error);
    mem_free(c->err);
    mem_free(c);
}

static bool apply_goes_with(struct async_call *first, struct async_call *call)
{
    const struct apply_call *a = apply_of(first);
    const struct apply_call *b = apply_of(call);
    return a->table.ops->apply_some && a->table.remote == b->table.remote &&
           a->opts.durability == b->opts.durability;
}

static const struct async_kind apply_kind = {run_apply, finish_apply,
                                             apply_goes_with};

/* With a copy of @m, in one piece of memory. */
static struct apply_call *new_apply(const struct quarry_mutation *m)
{
    struct slice row = buf_slice(&m->row);
    struct slice ops = buf_slice(&m->ops);
    struct apply_call *c = mem_alloc(sizeof(*c) + row.len + ops.len);
    *c = (struct apply_call){
        .base = {.kind = &apply_kind, .bytes = row.len + ops.len}};
    c->mutation.count = m->count;
    c->mutation.row = (struct buf){c->bytes, row.len, row.len};
    c->mutation.ops = (struct buf){c->bytes + row.len, ops.len, ops.len};
    if (row.len)
        memcpy(c->bytes, row.data, row.len);
    if (ops.len)
        memcpy(c->bytes + row.len, ops.data, ops.len);
    if (m->error) {
        c->mutation.error = mem_alloc(sizeof(*m->error));
        *c->mutation.error = *m->error;
    }
    return c;
}

void quarry_apply_async(struct quarry_table *t,
                        const struct quarry_mutation *m,
                        const struct quarry_write_options *opts,
                        quarry_apply_cb cb,
                        void *arg)
{
    struct apply_call *c = new_apply(m);
    hold_table(&c->table, t);
    if (opts)
        c->opts = *opts;
    c->cb = cb;
    c->arg = arg;
    async_pool_submit(t->quarry->async, &c->base);
}

/* --- reads --------------------------------------------------------------- */

struct read_call {
    struct async_call base;
    struct quarry_table table; /* Its own handle. */
    struct buf row;
    struct any_read *read;
    bool settles; /* Transactions first. */
    int rc;
    struct quarry_row *found;
    struct err err;
    quarry_read_cb cb;
    void *arg;
};

static struct read_call *read_of(struct async_call *base)
{
    return CONTAINER_OF(base, struct read_call, base);
}

static void end_read(struct read_call *c)
{
    const struct target_ops *ops = c->table.ops;
    ops->read_free(c->read);
    ops->table_release(&c->table);
}

static void run_read_alone(struct read_call *c)
{
    struct slice row = buf_slice(&c->row);
    c->rc = c->settles ? txn_settle_row(&c->table, row, &c->err) : 0;
    if (c->rc == 0)
        c->rc = c->table.ops->read_run(c->read, row, &c->found, &c->err);
    end_read(c);
}

/* As those of writes. */
static void
take_row(struct read_call *c, int code, struct quarry_row *row, struct err *why)
{
    c->rc = code;
    c->found = row;
    c->base.again = code && code != ERR_DEADLINE && code != ERR_CANCELLED;
    if (c->base.again)
        return;
    if (code)
        c->err = *why;
    end_read(c);
}

static void run_read(struct async_call *first)
{
    struct read_call *c = read_of(first);
    struct slice keys[ASYNC_TOGETHER_MAX] = {{NULL, 0}};
    struct quarry_row *rows[ASYNC_TOGETHER_MAX];
    int codes[ASYNC_TOGETHER_MAX];
    struct err err = ERR_INIT;
    size_t count = 0;
    size_t done = 0;
    int rc;
    if (!first->next) {
        run_read_alone(c);
        return;
    }
    for (struct async_call *call = first; call; call = call->next) {
        keys[count] = buf_slice(&read_of(call)->row);
        rows[count++] = NULL;
    }
    /* Reads that go together have the same options. */
    rc = c->settles ? txn_settle_keys(&c->table, keys, count, &err) : 0;
    for (size_t i = 0; i < count; i++)
        codes[i] = rc;
    if (rc == 0)
        c->table.ops->read_some(c->read, keys, count, rows, codes, &err);
    for (struct async_call *call = first; call; call = call->next, done++)
        take_row(read_of(call), codes[done], rows[done], &err);
}

static void finish_read(struct async_call *base)
{
    struct read_call *c = read_of(base);
    c->cb(c->arg, c->rc, c->found, &c->err);
    buf_close(&c->row);
    mem_free(c);
}

static bool read_goes_with(struct async_call *first, struct async_call *call)
{
    const struct read_call *a = read_of(first);
    const struct read_call *b = read_of(call);
    return a->table.ops->read_some && a->table.remote == b->table.remote &&
           a->settles == b->settles &&
           a->table.ops->read_is_same(a->read, b->read);
}

static const struct async_kind read_kind = {run_read, finish_read,
                                            read_goes_with};

void quarry_read_row_async(struct quarry_table *t,
                           struct slice row,
                           const struct quarry_read_options *opts,
                           quarry_read_cb cb,
                           void *arg)
{
    struct read_call *c = mem_zalloc(1, sizeof(*c));
    c->base.kind = &read_kind;
    c->base.bytes = row.len;
    hold_table(&c->table, t);
    buf_append_slice(&c->row, row);
    c->settles = table_must_settle(t, opts ? opts->filter : NULL);
    c->read = t->ops->read_prepare(&c->table, opts);
    c->cb = cb;
    c->arg = arg;
    async_pool_submit(t->quarry->async, &c->base);
}
