/* SampleRowKeys and PingAndWarm. Samples are the ends of tablets and the
 * store's split points between them, so that a client that reads the parts
 * between samples in parallel reads from all servers, in parts of similar size.
 */
#include "base/core/panic.h"
#include "base/core/pb.h"
#include "base/runtime/fiber.h"
#include "bigtable/gateway/api_fields.h"
#include "bigtable/gateway/api_service.h"
#include "bigtable/gateway/app_profile.h"
#include "bigtable/gateway/authorized_view.h"
#include "bigtable/gateway/request_rows.h"
#include "bigtable/gateway/view_scan.h"

/* Bytes between two samples, and the most samples of a table. */
#define SAMPLE_BYTES (UINT64_C(64) << 20)
#define SAMPLES_MAX  1000

/* Read what both requests begin with: a resource and an app profile, which is
 * checked. */
STATIC_ASSERT((int)PB_SampleRowKeysRequest_table_name ==
                      (int)PB_PingAndWarmRequest_name &&
                  (int)PB_SampleRowKeysRequest_app_profile_id ==
                      (int)PB_PingAndWarmRequest_app_profile_id,
              "read_head() reads both requests");

static int read_head(struct gateway *g,
                     struct slice message,
                     struct slice view,
                     struct slice *resource,
                     struct err *err)
{
    struct slice profile =
        pb_find(message, PB_PingAndWarmRequest_app_profile_id);
    *resource = pb_find(message, PB_PingAndWarmRequest_name);
    if (!pb_is_message(message))
        return service_bad_request(err);
    return app_profile_check(g, view.len ? view : *resource, profile,
                             APP_PROFILE_READ, err);
}

/* A table and its split points, while samples are sent. */
struct samples {
    struct quarry_table *table;
    struct authorized_view *view; /* NULL: none. */
    struct request_rows rows;     /* The part of the table to sample. */
    struct buf row_set;           /* The message `rows` was read from. */
    struct slice end;             /* Its end, "": the table's. */
    struct quarry_table_info *info;
    struct slice *points; /* Owned, with their bytes. */
    size_t point_count;
    size_t next_point;
    uint64_t bytes; /* Of all tablets before the current one. */
};

/* Is @key where one part of what is sampled ends and another begins? */
static bool is_inside(const struct samples *s, struct slice key)
{
    const struct request_rows *r = &s->rows;
    for (size_t i = 0; i < r->range_count; i++)
        if (slice_cmp(key, r->ranges[i].start) > 0 &&
            (r->ranges[i].end.len == 0 || slice_cmp(key, r->ranges[i].end) < 0))
            return true;
    return r->range_count == 0;
}

static int put_sample(struct grpc_call *call,
                      struct slice key,
                      uint64_t bytes,
                      struct err *err)
{
    struct buf *b = grpc_scratch(call);
    if (key.len)
        pb_put_bytes(b, PB_SampleRowKeysResponse_row_key, key);
    if (bytes)
        pb_put_integer(b, PB_SampleRowKeysResponse_offset_bytes,
                       (int64_t)bytes);
    return grpc_send(call, b, err);
}

static int send_sample(const struct samples *s,
                       struct grpc_call *call,
                       struct slice key,
                       uint64_t bytes,
                       struct err *err)
{
    return key.len && is_inside(s, key) ? put_sample(call, key, bytes, err) : 0;
}

/* Read the rows that @request asks for, cut to those of the view. */
static int read_range(struct samples *s, struct slice request, struct err *err)
{
    struct slice range = pb_find(request, PB_SampleRowKeysRequest_row_range);
    const struct quarry_range *last;
    int rc;
    if (range.len)
        pb_put_bytes(&s->row_set, PB_RowSet_row_ranges, range);
    rc = request_rows_parse(&s->rows, buf_slice(&s->row_set), err);
    if (rc)
        return rc;
    authorized_view_limit_rows(s->view, &s->rows);
    for (size_t i = 0; i < s->rows.range_count; i++) {
        last = &s->rows.ranges[i];
        if (i == 0 || last->end.len == 0 ||
            (s->end.len && slice_cmp(last->end, s->end) > 0))
            s->end = last->end;
    }
    return 0;
}

static uint64_t table_bytes(const struct quarry_table_info *info)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < info->tablet_count; i++)
        bytes += info->tablets[i].bytes;
    return bytes;
}

static size_t wanted_parts(const struct quarry_table_info *info)
{
    uint64_t parts = table_bytes(info) / SAMPLE_BYTES + 1;
    return (size_t)MIN_OF(parts, SAMPLES_MAX);
}

/* The number of points left before @end (empty: all that are left). */
static size_t points_before(const struct samples *s, struct slice end)
{
    size_t i = s->next_point;
    while (i < s->point_count &&
           (end.len == 0 || slice_cmp(s->points[i], end) < 0))
        i++;
    return i - s->next_point;
}

static int send_tablet(struct samples *s,
                       struct grpc_call *call,
                       const struct quarry_tablet_info *tablet,
                       struct err *err)
{
    size_t inside = points_before(s, tablet->end);
    int rc = 0;
    for (size_t i = 1; i <= inside && rc == 0; i++) {
        struct slice key = s->points[s->next_point++];
        if (slice_cmp(key, tablet->start) > 0)
            rc = send_sample(s, call, key,
                             s->bytes + tablet->bytes * i / (inside + 1), err);
    }
    s->bytes += tablet->bytes;
    return rc ? rc : send_sample(s, call, tablet->end, s->bytes, err);
}

static bool is_behind(const struct samples *s,
                      const struct quarry_tablet_info *tablet)
{
    return s->end.len && slice_cmp(tablet->start, s->end) >= 0;
}

/* The sample of a table too small to be split is its first row: some clients
 * expect at least one beside the end. */
static int
send_first_row(struct samples *s, struct grpc_call *call, struct err *err)
{
    const struct quarry_read_options o = {
        .row_limit = 1, .keys_only = true, .read_ahead_off = true};
    struct quarry_scanner *scanner;
    const struct quarry_row *row;
    int rc = quarry_scan(s->table, &o, &scanner, err);
    if (rc)
        return rc;
    rc = quarry_scanner_next(scanner, &row, err);
    if (rc == 0 && row)
        rc = send_sample(s, call, row->key, 0, err);
    quarry_scanner_close(scanner);
    return rc;
}

static int
send_samples(struct samples *s, struct grpc_call *call, struct err *err)
{
    const struct quarry_table_info *t = s->info;
    int rc = 0;
    if (s->rows.none)
        return 0;
    if (t->tablet_count == 1 && s->point_count == 0 && s->rows.range_count == 0)
        rc = send_first_row(s, call, err);
    for (size_t i = 0; rc == 0 && i < t->tablet_count; i++)
        if (!is_behind(s, &t->tablets[i]))
            rc = send_tablet(s, call, &t->tablets[i], err);
    /* Rows that are in no file yet have no bytes, which some clients take for
     * an empty table. */
    return rc ? rc : put_sample(call, s->end, MAX_OF(s->bytes, 1), err);
}

/* The store's points cut tablets even of a small table, where a sample would
 * be noise. */
static int find_points(struct samples *s, struct err *err)
{
    size_t parts = wanted_parts(s->info);
    if (parts == 1)
        return 0;
    return quarry_table_split_points(s->table, parts, &s->points,
                                     &s->point_count, err);
}

static void samples_close(struct samples *s)
{
    mem_free(s->points);
    quarry_table_info_free(s->info);
    quarry_table_close(s->table);
    request_rows_close(&s->rows);
    buf_close(&s->row_set);
    authorized_view_close(s->view);
}

static int sample_table(void *ctx, struct grpc_call *call, struct err *err)
{
    struct gateway *g = ctx;
    struct samples s = {.table = NULL};
    char store_name[STORE_NAME_BYTES];
    struct slice request = grpc_request(call);
    struct slice view =
        pb_find(request, PB_SampleRowKeysRequest_authorized_view_name);
    struct slice name;
    int rc = read_head(g, request, view, &name, err);
    request_rows_init(&s.rows);
    if (rc == 0)
        rc = authorized_view_open(g, view, &name, &s.view, err);
    if (rc == 0)
        rc = read_range(&s, request, err);
    if (rc == 0)
        rc = service_store_name(g, name, store_name, err);
    if (rc == 0)
        rc = service_open_table(g, name, &s.table, err);
    if (rc == 0)
        rc = service_describe(g, store_name, &s.info, err);
    if (rc == 0)
        rc = find_points(&s, err);
    if (rc == 0)
        rc = send_samples(&s, call, err);
    samples_close(&s);
    return rc;
}

/* --- of a materialized view ----------------------------------------------- */

/* The view is read to its end: nothing else knows its rows. */
struct view_samples {
    struct gateway *gateway;
    struct view_scan *scan;
    struct buf key;   /* Of a row that is a sample; empty: the end. */
    uint64_t bytes;   /* Of the rows up to it, */
    uint64_t sampled; /* and up to the sample before. */
    bool any;
    int rc;
    struct err *err;
};

static uint64_t row_bytes(const struct quarry_row *row)
{
    uint64_t bytes = row->key.len;
    for (size_t i = 0; i < row->cell_count; i++)
        bytes += row->cells[i].qualifier.len + row->cells[i].value.len;
    return bytes;
}

/* To the next sample: the first row, and one every SAMPLE_BYTES. */
static void run_samples(void *arg)
{
    struct view_samples *s = arg;
    const struct quarry_row *row;
    buf_clear(&s->key);
    while ((s->rc = view_scan_next(s->scan, &row, s->err)) == 0 && row) {
        const bool due = !s->any || s->bytes - s->sampled >= SAMPLE_BYTES;
        const uint64_t before = s->bytes;
        s->any = true;
        s->bytes += row_bytes(row);
        if (!due)
            continue;
        s->sampled = before;
        buf_append_slice(&s->key, row->key);
        return;
    }
}

static void interrupt_samples(void *arg)
{
    struct view_samples *s = arg;
    view_scan_interrupt(s->scan);
}

static int send_view_samples(struct view_samples *s,
                             struct grpc_call *call,
                             struct slice end,
                             struct err *err)
{
    int rc;
    do {
        view_scan_run(s->scan, run_samples, interrupt_samples, s);
        rc = fiber_check(NULL) ? fiber_check(err) : s->rc;
        if (rc == 0)
            rc = s->key.len
                     ? put_sample(call, buf_slice(&s->key), s->sampled, err)
                     : put_sample(call, end, MAX_OF(s->bytes, 1), err);
    } while (rc == 0 && s->key.len);
    return rc;
}

static int sample_view(struct gateway *g,
                       struct grpc_call *call,
                       struct slice name,
                       struct err *err)
{
    struct slice request = grpc_request(call);
    struct view_samples s = {.gateway = g, .err = err};
    struct samples range = {.table = NULL};
    struct view_scan_options o = {
        .name = name, .rows = &range.rows, .call = call};
    int rc = app_profile_check(
        g, name, pb_find(request, PB_SampleRowKeysRequest_app_profile_id),
        APP_PROFILE_READ, err);
    request_rows_init(&range.rows);
    if (rc == 0)
        rc = read_range(&range, request, err);
    if (rc == 0 && !range.rows.none)
        rc = view_scan_open(g, &o, &s.scan, err);
    if (rc == 0 && s.scan)
        rc = send_view_samples(&s, call, range.end, err);
    view_scan_close(s.scan);
    samples_close(&range);
    buf_close(&s.key);
    return rc;
}

int data_sample_row_keys(void *ctx, struct grpc_call *call, struct err *err)
{
    struct slice request = grpc_request(call);
    struct slice view =
        pb_find(request, PB_SampleRowKeysRequest_materialized_view_name);
    if (!pb_is_message(request))
        return service_bad_request(err);
    if (view.len == 0)
        return sample_table(ctx, call, err);
    if (pb_find(request, PB_SampleRowKeysRequest_table_name).len ||
        pb_find(request, PB_SampleRowKeysRequest_authorized_view_name).len)
        return err_set(err, ERR_INVALID,
                       "either materialized_view_name or a table, not both");
    return sample_view(ctx, call, view, err);
}

int data_ping_and_warm(void *ctx, struct grpc_call *call, struct err *err)
{
    struct resource_name name;
    struct slice text;
    int rc = read_head(ctx, grpc_request(call), SLICE_EMPTY, &text, err);
    if (rc == 0)
        rc = resource_name_parse_kind(text, "", &name, err);
    return rc ? rc : service_reply_empty(call, err);
}
