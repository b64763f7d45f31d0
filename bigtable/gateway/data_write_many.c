/* MutateRow, for several calls that arrived together: the rows of neighbours
 * that are of one table are written as one batch, which costs little more than
 * one of them. Each call has its own outcome.
 */
#include "base/core/panic.h"
#include "bigtable/gateway/api_service.h"
#include "bigtable/gateway/app_profile.h"
#include "bigtable/gateway/authorized_view.h"
#include "bigtable/gateway/request_row.h"
#include "bigtable/gateway/row_batch.h"

/* Calls whose requests are valid, and their rows. */
struct row_writes {
    struct gateway *gateway;
    int64_t now_us;
    size_t count; /* Equal to the rows of `batch`. */
    struct grpc_call *calls[GRPC_TOGETHER_MAX];
    struct slice tables[GRPC_TOGETHER_MAX]; /* Borrowed of the requests. */
    struct row_batch *batch;
};

/* Parse the request of @call and add its row to the batch. */
static int data_write_many_take(struct row_writes *w,
                                const struct grpc_call *call,
                                struct err *err)
{
    struct authorized_view *view = NULL;
    struct quarry_mutation *m;
    struct request_row q;
    int rc = request_row_parse(&q, grpc_request(call), &request_row_write, err);
    if (rc == 0)
        rc = authorized_view_open(w->gateway, q.view, &q.table, &view, err);
    if (rc == 0)
        rc = app_profile_check(w->gateway, q.table, q.profile,
                               APP_PROFILE_WRITE, err);
    if (rc) {
        authorized_view_close(view);
        return rc;
    }
    w->tables[w->count] = q.table;
    m = row_batch_begin(w->batch, q.row, q.counts[0], q.message.len);
    rc = request_row_mutate(&q, m, w->now_us, err);
    if (rc == 0)
        rc = authorized_view_check(view, m, err);
    row_batch_end(w->batch, rc == 0);
    authorized_view_close(view);
    return rc;
}

/* Answer @call. A row that failed in the batch is written again alone, for an
 * error text of its own. */
static void answer_row(struct quarry_table *t,
                       const struct quarry_mutation *m,
                       struct grpc_call *call,
                       int code)
{
    struct err err = ERR_INIT;
    int rc = code ? quarry_apply(t, m, NULL, &err) : 0;
    if (rc == 0)
        rc = service_reply_empty(call, &err);
    if (rc)
        grpc_set_outcome(call, rc, &err);
}

/* Write the rows [first, end), which are all of one table. */
static void write_to_table(struct row_writes *w, size_t first, size_t end)
{
    int codes[GRPC_TOGETHER_MAX] = {0};
    struct quarry_mutation *const *rows = row_batch_rows(w->batch);
    struct quarry_table *t;
    struct err err = ERR_INIT;
    int rc = service_open_table(w->gateway, w->tables[first], &t, &err);
    if (rc) {
        for (size_t i = first; i < end; i++)
            grpc_set_outcome(w->calls[i], rc, &err);
        return;
    }
    rc = quarry_apply_each(t, rows + first, end - first, NULL, codes, &err);
    for (size_t i = first; i < end; i++)
        answer_row(t, rows[i], w->calls[i], rc ? codes[i - first] : 0);
    quarry_table_close(t);
}

void data_mutate_row_many(void *ctx,
                          struct grpc_call *const *calls,
                          size_t count)
{
    struct row_writes w = {.gateway = ctx, .now_us = service_now_us(ctx)};
    size_t end;
    PRE(count > 0 && count <= GRPC_TOGETHER_MAX);
    w.batch = row_batch_take(w.gateway->batches, count);
    for (size_t i = 0; i < count; i++) {
        struct err err = ERR_INIT;
        int rc = data_write_many_take(&w, calls[i], &err);
        if (rc)
            grpc_set_outcome(calls[i], rc, &err);
        else
            w.calls[w.count++] = calls[i];
    }
    for (size_t i = 0; i < w.count; i = end) {
        end = i + 1;
        while (end < w.count && slice_eq(w.tables[end], w.tables[i]))
            end++;
        write_to_table(&w, i, end);
    }
    row_batch_give(w.gateway->batches, w.batch);
}
