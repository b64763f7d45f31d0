/* SampleRowKeys and PingAndWarm. Samples are the ends of tablets and the
 * store's split points between them, so that a client that reads the parts
 * between samples in parallel reads from all servers, in parts of similar size.
 */
#include "base/core/panic.h"
#include "base/core/pb.h"
#include "bigtable/gateway/api_fields.h"
#include "bigtable/gateway/api_service.h"
#include "bigtable/gateway/app_profile.h"
#include "bigtable/gateway/authorized_view.h"

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

/* Samples of a view are those of its rows, and the end. */
static int send_sample(const struct authorized_view *view,
                       struct grpc_call *call,
                       struct slice key,
                       uint64_t bytes,
                       struct err *err)
{
    struct buf *b;
    if (key.len && !authorized_view_has_row(view, key))
        return 0;
    b = grpc_scratch(call);
    if (key.len)
        pb_put_bytes(b, PB_SampleRowKeysResponse_row_key, key);
    if (bytes)
        pb_put_integer(b, PB_SampleRowKeysResponse_offset_bytes,
                       (int64_t)bytes);
    return grpc_send(call, b, err);
}

/* A table and its split points, while samples are sent. */
struct samples {
    struct quarry_table *table;
    struct authorized_view *view; /* NULL: none. */
    struct quarry_table_info *info;
    struct slice *points; /* Owned, with their bytes. */
    size_t point_count;
    size_t next_point;
    uint64_t bytes; /* Of all tablets before the current one. */
};

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
            rc = send_sample(s->view, call, key,
                             s->bytes + tablet->bytes * i / (inside + 1), err);
    }
    s->bytes += tablet->bytes;
    return rc ? rc : send_sample(s->view, call, tablet->end, s->bytes, err);
}

/* The sample of a table too small to be split is its first row: some clients
 * expect at least one. */
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
        rc = send_sample(s->view, call, row->key, 0, err);
    quarry_scanner_close(scanner);
    return rc;
}

static int
send_samples(struct samples *s, struct grpc_call *call, struct err *err)
{
    int rc = 0;
    if (s->info->tablet_count == 1 && s->point_count == 0)
        rc = send_first_row(s, call, err);
    for (size_t i = 0; i < s->info->tablet_count && rc == 0; i++)
        rc = send_tablet(s, call, &s->info->tablets[i], err);
    return rc;
}

int data_sample_row_keys(void *ctx, struct grpc_call *call, struct err *err)
{
    struct gateway *g = ctx;
    struct samples s = {.table = NULL};
    char store_name[STORE_NAME_BYTES];
    struct slice request = grpc_request(call);
    struct slice view =
        pb_find(request, PB_SampleRowKeysRequest_authorized_view_name);
    struct slice name;
    int rc = read_head(g, request, view, &name, err);
    if (rc == 0 &&
        pb_find(request, PB_SampleRowKeysRequest_materialized_view_name).len)
        rc = err_set(err, ERR_UNSUPPORTED, "reading a materialized view");
    if (rc == 0)
        rc = authorized_view_open(g, view, &name, &s.view, err);
    if (rc == 0)
        rc = service_store_name(g, name, store_name, err);
    if (rc == 0)
        rc = service_open_table(g, name, &s.table, err);
    if (rc) {
        authorized_view_close(s.view);
        return rc;
    }
    rc = service_describe(g, store_name, &s.info, err);
    if (rc == 0) {
        rc = quarry_table_split_points(s.table, wanted_parts(s.info), &s.points,
                                       &s.point_count, err);
        if (rc == 0)
            rc = send_samples(&s, call, err);
        mem_free(s.points);
        quarry_table_info_free(s.info);
    }
    quarry_table_close(s.table);
    authorized_view_close(s.view);
    return rc;
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
