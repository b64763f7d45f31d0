/* MutateRow and MutateRows. Every row is in the log and synced before its
 * answer is sent. The rows of a MutateRows are independent: each has an outcome
 * of its own (row_outcome.h), and the valid ones are written as one batch.
 */
#include "base/core/panic.h"
#include "base/core/pb.h"
#include "bigtable/gateway/api_fields.h"
#include "bigtable/gateway/api_service.h"
#include "bigtable/gateway/app_profile.h"
#include "bigtable/gateway/authorized_view.h"
#include "bigtable/gateway/request_mutation.h"
#include "bigtable/gateway/request_row.h"
#include "bigtable/gateway/row_batch.h"
#include "bigtable/gateway/row_outcome.h"

/* --- MutateRow ----------------------------------------------------------- */

struct row_request {
    struct gateway *gateway;
    struct slice message;
    int rc;
    struct err *err;
};

static int apply_row(struct row_request *r, struct err *err)
{
    struct authorized_view *view = NULL;
    struct row_batch *batch;
    struct quarry_mutation *m;
    struct quarry_table *t;
    struct request_row q;
    int rc = request_row_parse(&q, r->message, &request_row_write, err);
    if (rc == 0)
        rc = authorized_view_open(r->gateway, q.view, &q.table, &view, err);
    if (rc == 0)
        rc = app_profile_check(r->gateway, q.table, q.profile,
                               APP_PROFILE_WRITE, err);
    if (rc == 0)
        rc = service_open_table(r->gateway, q.table, &t, err);
    if (rc) {
        authorized_view_close(view);
        return rc;
    }
    batch = row_batch_take(r->gateway->batches, 1);
    m = row_batch_begin(batch, q.row, q.counts[0], q.message.len);
    rc = request_row_mutate(&q, m, service_now_us(r->gateway), err);
    if (rc == 0)
        rc = authorized_view_check(view, m, err);
    row_batch_end(batch, rc == 0);
    if (rc == 0)
        rc = quarry_apply(t, m, NULL, err);
    row_batch_give(r->gateway->batches, batch);
    quarry_table_close(t);
    authorized_view_close(view);
    return rc;
}

static void run_row(void *arg)
{
    struct row_request *r = arg;
    r->rc = apply_row(r, r->err);
}

int data_mutate_row(void *ctx, struct grpc_call *call, struct err *err)
{
    struct row_request r = {
        .gateway = ctx, .message = grpc_request(call), .err = err};
    service_run(r.gateway, call, run_row, &r);
    return r.rc ? r.rc : service_reply_empty(call, err);
}

/* --- MutateRows ---------------------------------------------------------- */

struct rows_request {
    struct gateway *gateway;
    struct slice message;
    struct slice table;
    struct slice profile;
    struct slice view_name;
    struct authorized_view *view; /* Owned; NULL: none. */
    size_t entry_count;
    size_t mutation_count;        /* Of the entries parsed so far. */
    struct row_batch *batch;      /* The rows that are valid, */
    size_t *indexes;              /* and the entries they come from. Owned. */
    struct row_outcome *outcomes; /* One an entry, owned; NULL: none failed. */
    int rc;
    struct err *err;
};

struct entry {
    struct slice row;
    size_t mutation_count;
    struct slice last; /* Of the mutations. */
};

static int parse_entry(struct slice bytes, struct entry *out, struct err *err)
{
    struct entry e = {.row = SLICE_EMPTY, .last = SLICE_EMPTY};
    struct cursor c = cursor_make(bytes);
    struct pb_field f;
    while (pb_next(&c, &f)) {
        if (pb_is_bytes(&f, PB_MutateRowsRequest_Entry_row_key)) {
            e.row = f.bytes;
        } else if (pb_is_bytes(&f, PB_MutateRowsRequest_Entry_mutations)) {
            e.last = f.bytes;
            e.mutation_count++;
        }
    }
    *out = e;
    return c.bad ? service_bad_request(err) : 0;
}

/* Count the entries without looking into them, and refuse a request that is
 * malformed or too large as a whole. */
static int parse_rows(struct rows_request *r, struct err *err)
{
    struct cursor c = cursor_make(r->message);
    struct pb_field f;
    int rc = 0;
    while (rc == 0 && pb_next(&c, &f)) {
        if (pb_is_bytes(&f, PB_MutateRowsRequest_table_name))
            r->table = f.bytes;
        else if (pb_is_bytes(&f, PB_MutateRowsRequest_app_profile_id))
            r->profile = f.bytes;
        else if (pb_is_bytes(&f, PB_MutateRowsRequest_authorized_view_name))
            r->view_name = f.bytes;
        else if (pb_is_bytes(&f, PB_MutateRowsRequest_entries) &&
                 ++r->entry_count > REQUEST_MUTATIONS_MAX)
            rc = request_too_many(err);
        /* The next entry is often as long as this one: prefetch the one after
         * it. */
        __builtin_prefetch((const void *)((uintptr_t)c.p + f.bytes.len));
    }
    if (rc == 0 && c.bad)
        rc = service_bad_request(err);
    if (rc == 0 && r->entry_count == 0)
        rc = err_set(err, ERR_INVALID, "No mutations provided");
    return rc;
}

static void
set_outcome(struct rows_request *r, size_t index, int rc, const struct err *err)
{
    if (!r->outcomes)
        r->outcomes = mem_zalloc(r->entry_count, sizeof(*r->outcomes));
    row_outcome_set(&r->outcomes[index], rc, err);
}

/* Add the changes of @e, whose message is @bytes, to the batch. */
static int build_row(struct rows_request *r,
                     const struct entry *e,
                     struct slice bytes,
                     int64_t now_us,
                     struct err *err)
{
    struct quarry_mutation *m;
    int rc = request_row_check(e->row, e->mutation_count, err);
    if (rc)
        return rc;
    m = row_batch_begin(r->batch, e->row, e->mutation_count, bytes.len);
    rc = e->mutation_count == 1
             ? request_mutation_take(m, e->last, now_us, err)
             : request_mutation_add_all(
                   m, bytes, PB_MutateRowsRequest_Entry_mutations, now_us, err);
    if (rc == 0)
        rc = authorized_view_check(r->view, m, err);
    row_batch_end(r->batch, rc == 0);
    return rc;
}

/* Build entry @index. An error of this entry alone becomes its outcome, by way
 * of @own, which is empty before and after; errors returned are of the whole
 * request. */
static int build_entry(struct rows_request *r,
                       size_t index,
                       struct slice bytes,
                       int64_t now_us,
                       struct err *own,
                       struct err *err)
{
    struct entry e;
    size_t good_count = row_batch_count(r->batch);
    int rc = parse_entry(bytes, &e, err);
    if (rc)
        return rc;
    r->mutation_count += e.mutation_count;
    if (r->mutation_count > REQUEST_MUTATIONS_MAX)
        return request_too_many(err);
    rc = build_row(r, &e, bytes, now_us, own);
    if (rc) {
        set_outcome(r, index, rc, own);
        *own = ERR_INIT;
    } else {
        r->indexes[good_count] = index;
    }
    return 0;
}

static int build_rows(struct rows_request *r, struct err *err)
{
    struct cursor c = cursor_make(r->message);
    int64_t now_us = service_now_us(r->gateway);
    struct err own = ERR_INIT;
    struct pb_field f;
    size_t index = 0;
    int rc = 0;
    PRE(r->entry_count > 0 && r->entry_count <= REQUEST_MUTATIONS_MAX);
    r->indexes = mem_alloc(r->entry_count * sizeof(*r->indexes));
    r->batch = row_batch_take(r->gateway->batches, r->entry_count);
    while (rc == 0 && pb_next(&c, &f))
        if (pb_is_bytes(&f, PB_MutateRowsRequest_entries))
            rc = build_entry(r, index++, f.bytes, now_us, &own, err);
    return rc;
}

/* Write the batch. The store returns one text, of the first failure; rows that
 * failed with the same code share it. */
static void apply_rows(struct rows_request *r, struct quarry_table *t)
{
    static const struct err no_text = {.code = 0};
    struct err err = ERR_INIT;
    size_t count = row_batch_count(r->batch);
    int *codes = mem_zalloc(count + 1, sizeof(*codes));
    int rc = count ? quarry_apply_each(t, row_batch_rows(r->batch), count, NULL,
                                       codes, &err)
                   : 0;
    for (size_t i = 0; i < count && rc; i++)
        if (codes[i])
            set_outcome(r, r->indexes[i], codes[i],
                        codes[i] == rc ? &err : &no_text);
    mem_free(codes);
}

static void run_rows(void *arg)
{
    struct rows_request *r = arg;
    struct quarry_table *t;
    r->rc = parse_rows(r, r->err);
    if (r->rc == 0)
        r->rc = authorized_view_open(r->gateway, r->view_name, &r->table,
                                     &r->view, r->err);
    if (r->rc == 0)
        r->rc = app_profile_check(r->gateway, r->table, r->profile,
                                  APP_PROFILE_WRITE, r->err);
    if (r->rc == 0)
        r->rc = build_rows(r, r->err);
    if (r->rc == 0)
        r->rc = service_open_table(r->gateway, r->table, &t, r->err);
    if (r->rc)
        return;
    apply_rows(r, t);
    quarry_table_close(t);
}

static int
reply_rows(struct rows_request *r, struct grpc_call *call, struct err *err)
{
    struct buf *b = grpc_scratch(call);
    for (size_t i = 0; i < r->entry_count; i++)
        row_outcome_put(r->outcomes ? &r->outcomes[i] : NULL, i, b);
    return grpc_send(call, b, err);
}

static void close_rows(struct rows_request *r)
{
    if (r->batch)
        row_batch_give(r->gateway->batches, r->batch);
    for (size_t i = 0; i < r->entry_count && r->outcomes; i++)
        row_outcome_close(&r->outcomes[i]);
    authorized_view_close(r->view);
    mem_free(r->indexes);
    mem_free(r->outcomes);
}

int data_mutate_rows(void *ctx, struct grpc_call *call, struct err *err)
{
    struct rows_request r = {.gateway = ctx,
                             .message = grpc_request(call),
                             .table = SLICE_EMPTY,
                             .profile = SLICE_EMPTY,
                             .view_name = SLICE_EMPTY,
                             .err = err};
    int rc;
    service_run(r.gateway, call, run_rows, &r);
    rc = r.rc ? r.rc : reply_rows(&r, call, err);
    close_rows(&r);
    return rc;
}
