/* Transactions on a view's own table. Each also rewrites the view's figures,
 * so that two that would count the same rows conflict, and the later one
 * begins again. */
#include "bigtable/view/view_txn.h"

#include "base/core/key_range.h"
#include "base/core/panic.h"
#include "bigtable/view/view_keys.h"

#define TXN_TIMEOUT_US ((uint64_t)300 * 1000000)

static const char meta_key[] = {VIEW_KEY_META};

struct txn_call {
    struct view_core *view;
    view_txn_fn fn;
    void *ctx;
    bool writes;
};

static int write_meta(struct view_txn *t, struct err *err)
{
    struct buf value = BUF_INIT;
    int rc;
    view_meta_encode(&t->meta, &value);
    rc = view_txn_put(t, slice_make(meta_key, 1), buf_slice(&value), err);
    buf_close(&value);
    return rc;
}

static int in_txn(struct quarry_txn *txn, void *ctx, struct err *err)
{
    const struct txn_call *call = ctx;
    struct view_txn t = {.view = call->view, .txn = txn};
    struct buf value = BUF_INIT;
    int rc = view_txn_get(&t, slice_make(meta_key, 1), &value, err);

    if (rc == 0)
        rc = view_meta_parse(buf_slice(&value), &t.meta, err);
    if (rc == 0)
        rc = call->fn(&t, call->ctx, err);
    if (rc == 0 && call->writes)
        rc = write_meta(&t, err);
    view_meta_close(&t.meta);
    buf_close(&value);
    return rc;
}

static int run_call(struct txn_call *call, struct err *err)
{
    const struct quarry_txn_options o = {.read_only = !call->writes,
                                         .timeout_us = TXN_TIMEOUT_US,
                                         .cancel = call->view->cancel};
    return quarry_txn_run(call->view->quarry, &o, in_txn, call, err);
}

int view_txn_run(struct view_core *v,
                 view_txn_fn fn,
                 void *ctx,
                 struct err *err)
{
    struct txn_call call = {v, fn, ctx, true};
    return run_call(&call, err);
}

int view_txn_look(struct view_core *v,
                  view_txn_fn fn,
                  void *ctx,
                  struct err *err)
{
    struct txn_call call = {v, fn, ctx, false};
    return run_call(&call, err);
}

/* --- without a transaction ------------------------------------------------ */

/* Plain reads see what is committed; in a store that nobody writes they are of
 * one moment. */
static int plain_scan(const struct view_core *v,
                      struct slice start,
                      struct slice end,
                      struct quarry_scanner **out,
                      struct err *err)
{
    const struct quarry_range range = {start, end};
    static const char *const families[] = {VIEW_FAMILY};
    const struct quarry_read_options o = {.ranges = &range,
                                          .range_count = 1,
                                          .families = families,
                                          .family_count = 1,
                                          .versions = 1,
                                          .cancel = v->cancel};
    return quarry_scan(v->state, &o, out, err);
}

/* --- reading ------------------------------------------------------------- */

int view_txn_get(struct view_txn *t,
                 struct slice key,
                 struct buf *value,
                 struct err *err)
{
    bool found;
    int rc = t->txn ? quarry_txn_get(t->txn, t->view->state, key, VIEW_FAMILY,
                                     SLICE_EMPTY, value, &found, err)
                    : quarry_get(t->view->state, key, VIEW_FAMILY, SLICE_EMPTY,
                                 value, &found, err);
    if (rc == 0 && !found)
        buf_clear(value);
    return rc;
}

int view_txn_put(struct view_txn *t,
                 struct slice key,
                 struct slice value,
                 struct err *err)
{
    return quarry_txn_put(t->txn, t->view->state, key, VIEW_FAMILY, SLICE_EMPTY,
                          value, err);
}

int view_txn_delete(struct view_txn *t, struct slice key, struct err *err)
{
    return quarry_txn_delete(t->txn, t->view->state, key, NULL, SLICE_EMPTY,
                             err);
}

int view_cursor_open(struct view_txn *t,
                     struct slice start,
                     struct slice end,
                     struct view_cursor *out,
                     struct err *err)
{
    *out = (struct view_cursor){.txn = NULL};
    return t->txn ? quarry_txn_scan(t->txn, t->view->state, start, end,
                                    &out->txn, err)
                  : plain_scan(t->view, start, end, &out->plain, err);
}

int view_cursor_next(struct view_cursor *c,
                     const struct quarry_row **row,
                     struct err *err)
{
    return c->txn ? quarry_txn_scanner_next(c->txn, row, err)
                  : quarry_scanner_next(c->plain, row, err);
}

void view_cursor_close(struct view_cursor *c)
{
    if (c->txn)
        quarry_txn_scanner_close(c->txn);
    if (c->plain)
        quarry_scanner_close(c->plain);
    *c = (struct view_cursor){.txn = NULL};
}

int view_txn_scan(struct view_txn *t,
                  struct slice prefix,
                  struct slice from,
                  view_row_fn fn,
                  void *ctx,
                  struct err *err)
{
    struct buf end = BUF_INIT;
    struct key_range r = key_range_of_prefix(prefix, &end);
    struct view_cursor c;
    const struct quarry_row *row;
    bool stop = false;
    int rc;

    if (slice_cmp(from, r.start) > 0)
        r.start = from;
    rc = view_cursor_open(t, r.start, r.end, &c, err);
    while (rc == 0 && !stop) {
        rc = view_cursor_next(&c, &row, err);
        if (rc || !row)
            break;
        rc = fn(ctx, row->key, row->cells[0].value, &stop, err);
    }
    view_cursor_close(&c);
    buf_close(&end);
    return rc;
}
