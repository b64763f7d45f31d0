/* ReadRows. A single row is read where the call is handled. Anything else is a
 * scan and runs piece by piece on the workers: a piece ends when it has filled
 * a message, has seen some thousand rows of which the filter passes nothing, or
 * has used up its time; while its message is sent, the thread serves other
 * calls.
 */
#include "base/core/panic.h"
#include "base/core/pb.h"
#include "base/runtime/fiber.h"
#include "base/runtime/world.h"
#include "bigtable/gateway/api_fields.h"
#include "bigtable/gateway/api_service.h"
#include "bigtable/gateway/app_profile.h"
#include "bigtable/gateway/authorized_view.h"
#include "bigtable/gateway/request_filter.h"
#include "bigtable/gateway/request_rows.h"
#include "bigtable/gateway/row_chunks.h"
#include "bigtable/gateway/view_scan.h"
#include "bigtable/gateway/workers.h"

/* A message is sent from this size on: a small one first, so that the client
 * has rows to work on soon, and each as large as two before it, up to the
 * largest. It ends with a row, because clients demand that (the one for Go
 * does), unless the row is larger than any message should be. */
#define MESSAGE_BYTES_FIRST ((size_t)16 << 10)
#define MESSAGE_BYTES_FULL  ((size_t)256 << 10)
#define MESSAGE_BYTES_MAX   ((size_t)128 << 20)
/* About the longest that a piece of a scan takes. */
#define PIECE_NS   UINT64_C(20000000)
#define CLOCK_MASK 63 /* Rows between two readings of the clock, less one. */
/* Rows without a result after which the client learns how far the scan is. */
#define PROGRESS_ROWS 4096
/* Scans of up to this many rows are not worth read-ahead. */
#define SHORT_SCAN_ROWS 64

struct read_request {
    struct slice table;
    struct slice filter;
    struct slice rows;
    struct slice profile;
    int64_t limit;
    uint64_t stats;
    bool reversed;
    bool has_filter;
    struct slice view;         /* Name of an authorized view of the table. */
    struct slice materialized; /* Of a materialized view; empty: none. */
};

struct read {
    struct gateway *gateway;
    struct grpc_call *call;
    struct read_request request;
    struct quarry_table *table;
    struct authorized_view *view; /* Owned; NULL: none. */
    struct quarry_filter *filter;
    struct quarry_explain *explain; /* Owned; NULL: no statistics wanted. */
    struct request_rows rows;
    struct quarry_read_options options;
    struct quarry_scanner *scanner;
    struct view_scan *rows_of_view; /* The same, of a materialized view. */
    struct row_chunks chunks;       /* The row being written. */
    struct buf message;             /* Begun; holds chunks and nothing else. */
    size_t message_bytes;           /* From this size on it is sent. */
    struct buf scanned;             /* Key of the last row seen, when there was
                                       nothing to return for a while. */
    bool ended;                     /* The scanner has no more rows. */
    int rc;                         /* Of the piece. */
    struct err *err;
    uint64_t row_count;
    uint64_t cell_count;
    uint64_t begin_ns;
};

/* --- the request --------------------------------------------------------- */

static int
data_read_parse(struct slice bytes, struct read_request *out, struct err *err)
{
    struct cursor c = cursor_make(bytes);
    struct pb_field f;
    *out = (struct read_request){.table = SLICE_EMPTY,
                                 .rows = SLICE_EMPTY,
                                 .profile = SLICE_EMPTY,
                                 .view = SLICE_EMPTY,
                                 .materialized = SLICE_EMPTY};
    while (pb_next(&c, &f)) {
        if (pb_is_bytes(&f, PB_ReadRowsRequest_table_name)) {
            out->table = f.bytes;
        } else if (pb_is_bytes(&f, PB_ReadRowsRequest_rows)) {
            out->rows = f.bytes;
        } else if (pb_is_bytes(&f, PB_ReadRowsRequest_filter)) {
            out->filter = f.bytes;
            out->has_filter = true;
        } else if (pb_is_integer(&f, PB_ReadRowsRequest_rows_limit)) {
            out->limit = (int64_t)f.integer;
        } else if (pb_is_bytes(&f, PB_ReadRowsRequest_app_profile_id)) {
            out->profile = f.bytes;
        } else if (pb_is_integer(&f, PB_ReadRowsRequest_request_stats_view)) {
            out->stats = f.integer;
        } else if (pb_is_integer(&f, PB_ReadRowsRequest_reversed)) {
            out->reversed = f.integer != 0;
        } else if (pb_is_bytes(&f, PB_ReadRowsRequest_authorized_view_name)) {
            out->view = f.bytes;
        } else if (pb_is_bytes(&f, PB_ReadRowsRequest_materialized_view_name)) {
            out->materialized = f.bytes;
        }
    }
    return c.bad ? service_bad_request(err) : 0;
}

static bool wants_stats(const struct read_request *r)
{
    return r->stats == PB_ReadRowsRequest_RequestStatsView_REQUEST_STATS_FULL;
}

static int data_read_check(const struct read_request *r, struct err *err)
{
    if (r->materialized.len && (r->view.len || r->table.len))
        return err_set(err, ERR_INVALID,
                       "either materialized_view_name or a table, not both");
    if (r->limit < 0)
        return err_set(err, ERR_INVALID, "rows_limit must not be negative");
    return 0;
}

static void fill_options(struct read *r)
{
    uint64_t limit = (uint64_t)r->request.limit;
    r->options = (struct quarry_read_options){
        .ranges = r->rows.ranges,
        .range_count = r->rows.range_count,
        .keys = r->rows.keys,
        .key_count = r->rows.key_count,
        .filter = r->filter,
        .explain = r->explain,
        .row_limit = limit,
        .reversed = r->request.reversed,
        .progress_rows = PROGRESS_ROWS,
        .read_ahead_off =
            (limit && limit <= SHORT_SCAN_ROWS) || r->rows.range_count == 0,
    };
    if (r->rows.key_count == 0 && r->rows.range_count == 0)
        r->options.read_ahead_off = limit && limit <= SHORT_SCAN_ROWS;
}

/* Open the table that is named, or none for a materialized view. */
static int open_table(struct read *r, struct err *err)
{
    const struct read_request *q = &r->request;
    int rc = authorized_view_open(r->gateway, q->view, &r->request.table,
                                  &r->view, err);
    if (rc == 0)
        rc = app_profile_check(r->gateway,
                               q->materialized.len ? q->materialized : q->table,
                               q->profile, APP_PROFILE_READ, err);
    if (rc == 0 && q->materialized.len == 0)
        rc = service_open_table(r->gateway, q->table, &r->table, err);
    return rc;
}

static int open_view_rows(struct read *r, struct err *err)
{
    const struct view_scan_options o = {
        .name = r->request.materialized,
        .rows = &r->rows,
        .filter = r->filter,
        .call = r->call,
        .limit = (uint64_t)r->request.limit,
        .reversed = r->request.reversed,
    };
    return view_scan_open(r->gateway, &o, &r->rows_of_view, err);
}

static int data_read_prepare(struct read *r, struct err *err)
{
    int rc = data_read_parse(grpc_request(r->call), &r->request, err);
    if (rc == 0)
        rc = data_read_check(&r->request, err);
    if (rc == 0)
        rc = open_table(r, err);
    if (rc == 0)
        rc = request_rows_parse(&r->rows, r->request.rows, err);
    if (rc == 0 && r->request.has_filter)
        rc = request_filter(r->request.filter, &r->filter, err);
    if (rc == 0) {
        authorized_view_limit_rows(r->view, &r->rows);
        authorized_view_limit_filter(r->view, &r->filter);
    }
    if (rc == 0 && wants_stats(&r->request))
        r->explain = quarry_explain_new();
    if (rc == 0 && r->request.materialized.len)
        return open_view_rows(r, err);
    fill_options(r);
    return rc;
}

/* --- pieces of a scan ---------------------------------------------------- */

static int next_row(struct read *r, const struct quarry_row **row)
{
    if (r->rows_of_view)
        return view_scan_next(r->rows_of_view, row, r->err);
    return quarry_scanner_next(r->scanner, row, r->err);
}

/* Take the next row, if any, into r->chunks. False: the piece ends here. */
static bool take_row(struct read *r)
{
    const struct quarry_row *row;
    r->rc = next_row(r, &row);
    if (r->rc)
        return false;
    r->ended = !row;
    if (!row)
        return false;
    if (row->cell_count == 0) { /* Nothing was found up to this key. */
        buf_append_slice(&r->scanned, row->key);
        return false;
    }
    r->row_count++;
    r->cell_count += row->cell_count;
    row_chunks_begin(&r->chunks, row);
    return true;
}

static void open_scan(struct read *r)
{
    if (!r->scanner && !r->rows_of_view)
        r->rc = quarry_scan(r->table, &r->options, &r->scanner, r->err);
}

static bool is_late(struct read *r, unsigned rows, uint64_t begin_ns)
{
    return (rows & CLOCK_MASK) == CLOCK_MASK &&
           world_mono_ns(r->gateway->world) - begin_ns > PIECE_NS;
}

static void run_piece(void *arg)
{
    struct read *r = arg;
    uint64_t begin_ns = world_mono_ns(r->gateway->world);
    unsigned rows = 0;
    open_scan(r);
    while (r->rc == 0 && r->message.len < r->message_bytes) {
        if (!r->chunks.row && !take_row(r))
            return;
        if (!row_chunks_put(&r->chunks, &r->message, MESSAGE_BYTES_MAX))
            return;
        if (is_late(r, rows++, begin_ns))
            return;
    }
}

/* Send last_scanned_row_key, in a message of its own after the chunks of
 * smaller rows: clients read it before the chunks of its message, and refuse
 * chunks whose keys are not greater. */
static int send_scanned(struct read *r, struct err *err)
{
    struct buf *b = grpc_scratch(r->call);
    pb_put_bytes(b, PB_ReadRowsResponse_last_scanned_row_key,
                 buf_slice(&r->scanned));
    buf_clear(&r->scanned);
    return grpc_send(r->call, b, err);
}

static void interrupt_view(void *arg)
{
    struct read *r = arg;
    view_scan_interrupt(r->rows_of_view);
}

/* A piece of a view takes as long as its query does to its next rows. */
static void do_piece(struct read *r)
{
    if (r->rows_of_view)
        view_scan_run(r->rows_of_view, run_piece, interrupt_view, r);
    else
        workers_run(r->gateway->workers, run_piece, r);
}

static int run_scan(struct read *r, struct err *err)
{
    size_t empty;
    int rc = 0;
    grpc_message_begin(&r->message);
    empty = r->message.len;
    r->message_bytes = MESSAGE_BYTES_FIRST;
    r->err = err;
    while (rc == 0 && !(r->ended && !r->chunks.row)) {
        do_piece(r);
        rc = fiber_check(NULL) ? fiber_check(err) : r->rc;
        if (rc == 0 && r->message.len > empty) {
            rc = grpc_send(r->call, &r->message, err);
            r->message_bytes = MIN_OF(2 * r->message_bytes, MESSAGE_BYTES_FULL);
        }
        if (rc == 0 && r->scanned.len)
            rc = send_scanned(r, err);
    }
    return rc;
}

/* --- one row ------------------------------------------------------------- */

/* Statistics are those of a scan. */
static bool is_one_row(const struct read *r)
{
    return r->rows.key_count == 1 && r->rows.range_count == 0 && !r->explain &&
           !r->rows_of_view;
}

static int send_row(struct read *r, struct err *err)
{
    struct buf *b = grpc_scratch(r->call);
    bool done = false;
    int rc = 0;
    while (rc == 0 && !done) {
        done = row_chunks_put(&r->chunks, b, MESSAGE_BYTES_MAX);
        rc = grpc_send(r->call, b, err);
    }
    return rc;
}

static int read_one(struct read *r, struct err *err)
{
    struct quarry_row *row;
    struct slice key = r->rows.keys[0];
    int rc;
    r->options.keys = NULL;
    r->options.key_count = 0;
    r->options.row_limit = 0;
    rc = quarry_read_row(r->table, key, &r->options, &row, err);
    if (rc || !row)
        return rc;
    r->row_count = 1;
    r->cell_count = row->cell_count;
    row_chunks_begin(&r->chunks, row);
    rc = send_row(r, err);
    quarry_row_free(row);
    return rc;
}

/* --- the call ------------------------------------------------------------ */

/* Send the message RequestStats: rows and cells read, and the time it took.
 * PRE: the scan was closed, so that its record is complete. */
static int send_stats(struct read *r, struct err *err)
{
    struct quarry_explain_counts seen;
    struct buf *b = grpc_scratch(r->call);
    uint64_t took = world_mono_ns(r->gateway->world) - r->begin_ns;
    size_t stats = pb_open(b, PB_ReadRowsResponse_request_stats);
    size_t full = pb_open(b, PB_RequestStats_full_read_stats_view);
    size_t part = pb_open(b, PB_FullReadStatsView_read_iteration_stats);
    size_t latency;
    PRE(r->explain && !r->scanner);
    quarry_explain_total(r->explain, &seen);
    if (r->rows_of_view)
        view_scan_seen(r->rows_of_view, &seen.rows_examined,
                       &seen.entries_shown);
    pb_put_integer(b, PB_ReadIterationStats_rows_seen_count,
                   (int64_t)seen.rows_examined);
    pb_put_integer(b, PB_ReadIterationStats_rows_returned_count,
                   (int64_t)r->row_count);
    pb_put_integer(b, PB_ReadIterationStats_cells_seen_count,
                   (int64_t)seen.entries_shown);
    pb_put_integer(b, PB_ReadIterationStats_cells_returned_count,
                   (int64_t)r->cell_count);
    pb_close(b, part);
    part = pb_open(b, PB_FullReadStatsView_request_latency_stats);
    latency = pb_open(b, PB_RequestLatencyStats_frontend_server_latency);
    pb_put_integer(b, PB_Duration_seconds, (int64_t)(took / 1000000000));
    pb_put_integer(b, PB_Duration_nanos, (int64_t)(took % 1000000000));
    pb_close(b, latency);
    pb_close(b, part);
    pb_close(b, full);
    pb_close(b, stats);
    return grpc_send(r->call, b, err);
}

static void close_scan(struct read *r)
{
    quarry_scanner_close(r->scanner);
    r->scanner = NULL;
}

static void close_read(struct read *r)
{
    close_scan(r);
    view_scan_close(r->rows_of_view);
    quarry_explain_free(r->explain);
    authorized_view_close(r->view);
    quarry_filter_free(r->filter);
    quarry_table_close(r->table);
    request_rows_close(&r->rows);
    buf_close(&r->message);
    buf_close(&r->scanned);
}

int data_read_rows(void *ctx, struct grpc_call *call, struct err *err)
{
    struct gateway *g = ctx;
    struct read r = {
        .gateway = g, .call = call, .begin_ns = world_mono_ns(g->world)};
    int rc;
    request_rows_init(&r.rows);
    rc = data_read_prepare(&r, err);
    if (rc == 0 && !r.rows.none)
        rc = is_one_row(&r) ? read_one(&r, err) : run_scan(&r, err);
    if (rc == 0 && r.explain) {
        close_scan(&r);
        rc = send_stats(&r, err);
    }
    close_read(&r);
    return rc;
}
