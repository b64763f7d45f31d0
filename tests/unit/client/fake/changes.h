/* A fake tablet server answers changes of rows, those that read included. */
#ifndef TESTS_UNIT_CLIENT_FAKE_CHANGES_H
#define TESTS_UNIT_CLIENT_FAKE_CHANGES_H

#include <string.h>

#include "base/core/arena.h"
#include "base/core/panic.h"
#include "bigtable/row/mutation.h"
#include "bigtable/wire/data_calls.h"
#include "tests/unit/client/fake/reads.h"

static inline void fake_mutation(const struct row_change *c,
                                 struct quarry_mutation *m)
{
    mutation_init(m, c->row);
    buf_append_slice(&m->ops, c->ops);
    m->count = c->count;
}

/* Where a change that was made is remembered. */
static inline uint64_t fake_change_key(uint64_t session, uint64_t sequence)
{
    return session ^ (sequence + 1) * UINT64_C(0x9e3779b97f4a7c15);
}

static inline bool fake_is_done(struct fake *f, uint64_t key)
{
    return hash_map_get(&f->answers, hash_key_u64(&key)) != NULL;
}

static inline int fake_change(struct fake_server *s,
                              const struct row_change *c,
                              uint64_t key,
                              struct err *e)
{
    static const struct quarry_write_options o = {QUARRY_DEFERRED};
    struct fake_tablet *t = fake_tablet_at(s, c->tablet);
    struct quarry_table *table;
    struct quarry_mutation m;
    int rc;
    if (!t || !fake_holds(t, c->row))
        return fake_not_here(e);
    if (fake_take(&s->fake->faults.refuse_rows))
        return err_set(e, ERR_UNAVAILABLE, "the tablet is on its way");
    if (fake_is_done(s->fake, key))
        return 0;
    table = fake_open(s->fake, t->name);
    fake_mutation(c, &m);
    rc = quarry_apply(table, &m, &o, e);
    mutation_close(&m);
    quarry_table_close(table);
    if (rc == 0)
        hash_map_put(&s->fake->answers, hash_key_u64(&key), NULL)->pointer =
            mem_zalloc(2, sizeof(struct buf));
    return rc;
}

static inline int fake_apply(void *ctx, struct rpc_call *call, struct err *e)
{
    struct fake_server *s = ctx;
    struct slice rest = call->attachment;
    struct apply_request r;
    struct apply_reply reply = {.count = 0};
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
        codes[reply.count++] = fake_change(
            s, &c, fake_change_key(r.origin.session, c.sequence), &why);
        if (why.code && !reply.first.code)
            reply.first = why;
        atomic_fetch_add(&s->fake->changes, 1);
    }
    reply.codes = codes;
    if (rc == 0)
        apply_reply_put(&reply, call->reply_body);
    mem_free(codes);
    if (rc == 0 && fake_take(&s->fake->faults.lose_answers)) {
        buf_clear(call->reply_body);
        return err_set(e, ERR_UNAVAILABLE, "the answer was lost");
    }
    return rc;
}

/* An answer under @key that was given already. */
static inline bool
fake_again(struct fake *f, struct rpc_call *call, uint64_t key)
{
    union hash_value *v = hash_map_get(&f->answers, hash_key_u64(&key));
    if (!v)
        return false;
    buf_append_slice(call->reply_body, buf_slice(v->pointer));
    buf_append_slice(call->reply_attachment,
                     buf_slice((struct buf *)v->pointer + 1));
    return true;
}

/* Remember the answer; it may be lost on its way. */
static inline int
fake_answer(struct fake *f, struct rpc_call *call, uint64_t key, struct err *e)
{
    struct buf *b = mem_zalloc(2, sizeof(*b));
    buf_append_slice(&b[0], buf_slice(call->reply_body));
    buf_append_slice(&b[1], buf_slice(call->reply_attachment));
    hash_map_put(&f->answers, hash_key_u64(&key), NULL)->pointer = b;
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
    uint64_t key;
    int rc = check_request_get(call->body, &r, e);
    if (rc)
        return rc;
    key = fake_change_key(r.origin.session, r.sequence);
    t = fake_tablet_at(s, r.tablet);
    if (!t || !fake_holds(t, r.row))
        return fake_not_here(e);
    if (fake_again(s->fake, call, key))
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
        rc = fake_answer(s->fake, call, key, e);
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
    uint64_t key;
    int rc;
    arena_init(&a);
    rc = modify_request_get(call->body, &a, &r, e);
    t = rc == 0 ? fake_tablet_at(s, r.tablet) : NULL;
    if (rc == 0 && (!t || !fake_holds(t, r.row)))
        rc = fake_not_here(e);
    key = fake_change_key(r.origin.session, r.sequence);
    if (rc == 0 && !fake_again(s->fake, call, key)) {
        table = fake_open(s->fake, t->name);
        rc = quarry_read_modify_write(table, r.row, r.rules, r.rule_count, NULL,
                                      &row, e);
        quarry_table_close(table);
        if (rc == 0) {
            row_put(row, call->reply_attachment);
            rc = fake_answer(s->fake, call, key, e);
        }
        quarry_row_free(row);
    }
    arena_close(&a);
    return rc;
}

#endif /* TESTS_UNIT_CLIENT_FAKE_CHANGES_H */
