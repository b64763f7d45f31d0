/* Change streams: GenerateInitialChangeStreamPartitions and ReadChangeStream.
 *
 * A stream that is behind reads on the workers, a batch at a time, as scans do.
 * Once it has caught up it waits on its own fiber, and holds no thread: the
 * wait ends when something is written, when a heartbeat is due, and when the
 * client or the server ends the call.
 *
 * Each change goes with the token of the place behind it. When the rows of the
 * stream turn out to be cut, by a split of their tablet, the stream ends with a
 * token for each part, and the client reads these.
 */
#include <stdio.h>
#include <string.h>

#include "base/core/panic.h"
#include "base/core/pb.h"
#include "base/runtime/fiber.h"
#include "base/runtime/world.h"
#include "bigtable/gateway/admin.h"
#include "bigtable/gateway/api_fields.h"
#include "bigtable/gateway/api_service.h"
#include "bigtable/gateway/app_profile.h"
#include "bigtable/gateway/change_message.h"
#include "bigtable/gateway/change_request.h"
#include "bigtable/gateway/workers.h"
#include "bigtable/quarry_changes.h"

/* About the bytes of changes that are read at once. */
#define BATCH_BYTES ((size_t)64 << 10)
/* A wait without anything to tell. */
#define WAIT_US_MAX UINT64_C(2000000)
/* Tablets that one stream reads in turn. One of more rows ends at once, with a
 * token for each tablet, because each change carries the places in all. */
#define STREAM_PARTS_MAX 16
/* And those that such an end may list. */
#define LISTED_PARTS_MAX 10000
/* Open streams of a gateway. */
#define STREAMS_MAX 4096
/* The families of a table are looked up again after that. */
#define SCHEMA_NS UINT64_C(10000000000)

struct change_stream {
    struct gateway *gateway;
    struct grpc_call *call;
    struct change_request_message request;
    char store_name[STORE_NAME_BYTES];
    struct buf cluster; /* The id of the one that this is. */
    struct quarry_table *table;
    struct stream_table id;
    struct quarry_changes *changes;
    size_t part_count;   /* When it was opened. */
    int64_t told_us;     /* All commits up to this time were told. */
    int64_t left_out_us; /* Later ones were left out; 0: none were. */
    uint64_t beat_ns;    /* When a heartbeat is due. */
    struct quarry_table_info *schema; /* NULL: not looked up yet. */
    uint64_t schema_ns;               /* When it was. */
    /* The batch; borrowed from `changes`. */
    const struct quarry_change *list;
    size_t count;
    struct buf watermarks; /* int64_t, behind each change. */
    struct buf token;      /* Scratch: the place, */
    struct buf text;       /* and the token. */
    int rc;                /* Of a read on a worker. */
    struct err *err;
};

/* --- errors -------------------------------------------------------------- */

/* The code for @rc, of a reader of changes. */
static int change_failed(struct grpc_call *call, int rc, const struct err *err)
{
    if (rc == ERR_EXHAUSTED && (!err || err->detail != ERR_DETAIL_RATE))
        grpc_set_code(call, GRPC_OUT_OF_RANGE); /* Not kept any more. */
    else if (rc == ERR_UNSUPPORTED)
        grpc_set_code(call, GRPC_FAILED_PRECONDITION); /* Nothing is kept. */
    return rc;
}

/* --- partitions ---------------------------------------------------------- */

static int send_partitions(struct grpc_call *call,
                           const struct quarry_range *list,
                           size_t count,
                           struct err *err)
{
    int rc = 0;
    for (size_t i = 0; i < count && rc == 0; i++) {
        struct buf *b = grpc_scratch(call);
        change_partition_put(
            b, PB_GenerateInitialChangeStreamPartitionsResponse_partition,
            list[i].start, list[i].end);
        rc = grpc_send(call, b, err);
    }
    return rc;
}

STATIC_ASSERT(
    (int)PB_GenerateInitialChangeStreamPartitionsRequest_table_name ==
            (int)PB_ReadChangeStreamRequest_table_name &&
        (int)PB_GenerateInitialChangeStreamPartitionsRequest_app_profile_id ==
            (int)PB_ReadChangeStreamRequest_app_profile_id,
    "both requests begin alike");

int data_generate_partitions(void *ctx, struct grpc_call *call, struct err *err)
{
    struct gateway *g = ctx;
    struct slice request = grpc_request(call);
    struct slice name = pb_find(request, PB_ReadChangeStreamRequest_table_name);
    struct quarry_table *table = NULL;
    struct quarry_range *list = NULL;
    size_t count;
    int rc = pb_is_message(request) ? 0 : service_bad_request(err);
    if (rc == 0)
        rc = app_profile_check(
            g, name,
            pb_find(request, PB_ReadChangeStreamRequest_app_profile_id),
            APP_PROFILE_READ, err);
    if (rc == 0)
        rc = service_open_table(g, name, &table, err);
    if (rc)
        return rc;
    rc = quarry_changes_partitions(table, &list, &count, err);
    rc = rc ? change_failed(call, rc, err)
            : send_partitions(call, list, count, err);
    mem_free(list);
    quarry_table_close(table);
    return rc;
}

/* --- the beginning ------------------------------------------------------- */

static void take_cluster(void *ctx, struct slice id, struct slice message)
{
    struct buf *first = ctx;
    (void)message;
    if (first->len == 0)
        buf_append_slice(first, id);
}

/* Open the table, and learn what identifies it. */
static int open_table(struct change_stream *s, struct err *err)
{
    struct gateway *g = s->gateway;
    struct resource_name name;
    int rc = resource_name_parse_kind(s->request.table, "tables", &name, err);
    if (rc == 0)
        rc = app_profile_check(g, s->request.table, s->request.profile,
                               APP_PROFILE_READ, err);
    if (rc == 0)
        rc = service_store_name(g, s->request.table, s->store_name, err);
    if (rc == 0)
        rc = service_open_table(g, s->request.table, &s->table, err);
    if (rc == 0)
        rc = admin_each_cluster(g, name.instance, take_cluster, &s->cluster,
                                err);
    if (rc == 0)
        s->id = (struct stream_table){quarry_table_number(s->table),
                                      slice_str(s->store_name)};
    return rc;
}

static int check_times(const struct change_stream *s, struct err *err)
{
    const struct change_request_message *r = &s->request;
    if (r->start_us > (int64_t)world_now_us(s->gateway->world))
        return err_set(err, ERR_INVALID, "start_time is in the future");
    if (s->left_out_us && (r->end_us == 0 || r->end_us > s->left_out_us))
        return err_set(err, ERR_INVALID,
                       "the continuation token is of a stream with an earlier "
                       "end_time: what was committed after it was left out");
    return 0;
}

/* The place where the stream begins, in @o. */
static int find_start(struct change_stream *s,
                      struct quarry_changes_options *o,
                      struct err *err)
{
    const struct change_request_message *r = &s->request;
    struct stream_token joined;
    int rc = 0;
    if (r->has_tokens) {
        rc = change_request_join(r, &s->id, &s->token, &joined, err);
        o->token = buf_slice(&s->token);
        if (rc == 0) {
            s->told_us = joined.watermark_us;
            s->left_out_us = joined.end_us;
        }
    } else {
        o->start = buf_slice(&r->start);
        o->end = buf_slice(&r->end);
        o->since_us = r->start_us;
        s->told_us = MAX_OF(r->start_us - 1, 0);
    }
    return rc ? rc : check_times(s, err);
}

static int open_stream(struct change_stream *s, struct err *err)
{
    struct quarry_changes_options o = {.batch_bytes = BATCH_BYTES};
    int rc = change_request_parse(grpc_request(s->call), &s->request, err);
    if (rc == 0)
        rc = open_table(s, err);
    if (rc == 0)
        rc = find_start(s, &o, err);
    if (rc)
        return rc;
    rc = quarry_changes_open(s->table, &o, &s->changes, err);
    if (rc)
        return change_failed(s->call, rc, err);
    s->part_count = quarry_changes_part_count(s->changes);
    return 0;
}

static void close_stream(struct change_stream *s)
{
    quarry_changes_close(s->changes);
    quarry_table_info_free(s->schema);
    quarry_table_close(s->table);
    change_request_close(&s->request);
    buf_close(&s->cluster);
    buf_close(&s->watermarks);
    buf_close(&s->token);
    buf_close(&s->text);
}

/* --- messages ------------------------------------------------------------ */

/* The token for the place in s->token. Borrowed until the next one. */
static struct slice token_text(struct change_stream *s, int64_t watermark_us)
{
    const struct stream_token t = {.watermark_us = watermark_us,
                                   .end_us = s->left_out_us,
                                   .place = buf_slice(&s->token)};
    buf_clear(&s->text);
    stream_token_put(&s->text, &s->id, &t);
    return buf_slice(&s->text);
}

/* Append field @number, a StreamContinuationToken for the place in s->token. */
static void put_token(struct change_stream *s,
                      struct buf *out,
                      unsigned number,
                      struct slice start,
                      struct slice end)
{
    size_t token = pb_open(out, number);
    change_partition_put(out, PB_StreamContinuationToken_partition, start, end);
    pb_put_bytes(out, PB_StreamContinuationToken_token,
                 token_text(s, s->told_us));
    pb_close(out, token);
}

static int send_heartbeat(struct change_stream *s, struct err *err)
{
    struct buf *b = grpc_scratch(s->call);
    size_t beat = pb_open(b, PB_ReadChangeStreamResponse_heartbeat);
    buf_clear(&s->token);
    quarry_changes_token(s->changes, &s->token);
    put_token(s, b, PB_Heartbeat_continuation_token,
              buf_slice(&s->request.start), buf_slice(&s->request.end));
    service_put_time(b, PB_Heartbeat_estimated_low_watermark, s->told_us);
    pb_close(b, beat);
    return grpc_send(s->call, b, err);
}

/* The end of the stream that was asked for. */
static int send_end(struct change_stream *s, struct err *err)
{
    struct buf *b = grpc_scratch(s->call);
    size_t close = pb_open(b, PB_ReadChangeStreamResponse_close_stream);
    size_t status = pb_open(b, PB_CloseStream_status);
    pb_close(b, status);
    pb_close(b, close);
    return grpc_send(s->call, b, err);
}

/* The end because the rows are in other partitions now: the client reads these.
 */
static int send_parts(struct change_stream *s, struct err *err)
{
    struct buf *b = grpc_scratch(s->call);
    size_t count = quarry_changes_part_count(s->changes);
    size_t close = pb_open(b, PB_ReadChangeStreamResponse_close_stream);
    size_t status = pb_open(b, PB_CloseStream_status);
    pb_put_integer(b, PB_Status_code, GRPC_OUT_OF_RANGE);
    pb_put_bytes(b, PB_Status_message,
                 SLICE_LIT("the partition was divided: read the new ones"));
    pb_close(b, status);
    for (size_t i = 0; i < count; i++) {
        struct quarry_range rows;
        buf_clear(&s->token);
        rows = quarry_changes_part(s->changes, i, &s->token);
        put_token(s, b, PB_CloseStream_continuation_tokens, rows.start,
                  rows.end);
        change_partition_put(b, PB_CloseStream_new_partitions, rows.start,
                             rows.end);
    }
    pb_close(b, close);
    return grpc_send(s->call, b, err);
}

/* --- changes ------------------------------------------------------------- */

/* Know the families at present, if @c needs them. */
static int need_schema(struct change_stream *s,
                       const struct quarry_change *c,
                       struct err *e)
{
    uint64_t now_ns = world_mono_ns(s->gateway->world);
    struct quarry_table_info *fresh;
    int rc;
    if (!change_needs_schema(c) ||
        (s->schema && now_ns - s->schema_ns < SCHEMA_NS))
        return 0;
    rc = service_describe(s->gateway, s->store_name, &fresh, e);
    if (rc)
        return rc;
    quarry_table_info_free(s->schema);
    s->schema = fresh;
    s->schema_ns = now_ns;
    return 0;
}

/* Put the fields that the last message of change @i has. */
static int
put_done(struct change_stream *s, size_t i, struct buf *b, struct err *e)
{
    const int64_t *watermarks = (const void *)s->watermarks.data;
    int rc;
    buf_clear(&s->token);
    rc = quarry_changes_token_behind(s->changes, i, &s->token, e);
    if (rc)
        return rc;
    s->told_us = MAX_OF(s->told_us, watermarks[i]);
    pb_put_integer(b, PB_DataChange_done, 1);
    pb_put_bytes(b, PB_DataChange_token, token_text(s, s->told_us));
    service_put_time(b, PB_DataChange_estimated_low_watermark, s->told_us);
    return 0;
}

/* Change @i, in as many messages as it takes. */
static int send_change(struct change_stream *s, size_t i, struct err *err)
{
    const struct quarry_change *c = &s->list[i];
    struct change_writer w;
    bool more = true;
    int rc = need_schema(s, c, err);
    if (rc)
        return rc;
    change_writer_begin(&w, c, s->schema, buf_cstr(&s->cluster));
    if (change_writer_is_empty(&w))
        return 0;
    while (rc == 0 && more) {
        struct buf *b = grpc_scratch(s->call);
        size_t change = pb_open(b, PB_ReadChangeStreamResponse_data_change);
        more = change_writer_next(&w, b);
        if (!more)
            rc = put_done(s, i, b, err);
        pb_close(b, change);
        if (rc == 0)
            rc = grpc_send(s->call, b, err);
    }
    return rc;
}

static int send_batch(struct change_stream *s, struct err *err)
{
    int rc = 0;
    buf_clear(&s->watermarks);
    buf_append_fill(&s->watermarks, 0, s->count * sizeof(int64_t));
    quarry_changes_watermarks(s->changes, (void *)s->watermarks.data);
    for (size_t i = 0; i < s->count && rc == 0; i++) {
        if (s->request.end_us && s->list[i].commit_us > s->request.end_us)
            s->left_out_us = s->request.end_us;
        else
            rc = send_change(s, i, err);
    }
    s->told_us = MAX_OF(s->told_us, quarry_changes_watermark(s->changes));
    return rc;
}

/* --- the stream ---------------------------------------------------------- */

static void run_read(void *arg)
{
    struct change_stream *s = arg;
    s->rc = quarry_changes_next(s->changes, 0, &s->list, &s->count, s->err);
}

/* Read what there is; with @waits until something comes, for as long as nothing
 * else is due. */
static int read_batch(struct change_stream *s, bool waits, struct err *err)
{
    uint64_t now_ns = world_mono_ns(s->gateway->world);
    uint64_t left_us = s->beat_ns > now_ns ? (s->beat_ns - now_ns) / 1000 : 0;
    s->err = err;
    if (!waits)
        workers_run(s->gateway->workers, run_read, s);
    else
        s->rc = quarry_changes_next(s->changes, MIN_OF(left_us, WAIT_US_MAX),
                                    &s->list, &s->count, err);
    return s->rc ? change_failed(s->call, s->rc, err) : fiber_check(err);
}

/* Send a heartbeat if one is due. */
static int data_changes_beat(struct change_stream *s, struct err *err)
{
    uint64_t now_ns = world_mono_ns(s->gateway->world);
    if (now_ns < s->beat_ns)
        return 0;
    s->beat_ns = now_ns + s->request.heartbeat_us * 1000;
    return send_heartbeat(s, err);
}

static bool is_cut(const struct change_stream *s)
{
    size_t count = quarry_changes_part_count(s->changes);
    return count > s->part_count || count > STREAM_PARTS_MAX;
}

static bool is_over(const struct change_stream *s)
{
    return s->request.end_us && s->told_us >= s->request.end_us;
}

static int check_width(const struct change_stream *s, struct err *err)
{
    if (s->part_count <= LISTED_PARTS_MAX)
        return 0;
    return err_set(err, ERR_INVALID,
                   "the partition has the rows of %zu tablets: read those of "
                   "GenerateInitialChangeStreamPartitions",
                   s->part_count);
}

static int run_stream(struct change_stream *s, struct err *err)
{
    bool waits = false;
    int rc = check_width(s, err);
    s->beat_ns =
        world_mono_ns(s->gateway->world) + s->request.heartbeat_us * 1000;
    while (rc == 0 && !is_over(s) && !is_cut(s)) {
        rc = read_batch(s, waits, err);
        waits = s->count == 0;
        if (rc == 0)
            rc = send_batch(s, err);
        if (rc == 0)
            rc = data_changes_beat(s, err);
    }
    if (rc == 0)
        rc = is_over(s) ? send_end(s, err) : send_parts(s, err);
    return rc;
}

int data_read_change_stream(void *ctx, struct grpc_call *call, struct err *err)
{
    struct gateway *g = ctx;
    struct change_stream s = {.gateway = g, .call = call};
    int rc;
    if (*g->change_streams >= STREAMS_MAX)
        return err_set(err, ERR_EXHAUSTED,
                       "%d change streams are open: the most there can be",
                       STREAMS_MAX);
    ++*g->change_streams;
    rc = open_stream(&s, err);
    if (rc == 0)
        rc = run_stream(&s, err);
    close_stream(&s);
    INVARIANT(*g->change_streams > 0);
    --*g->change_streams;
    return rc;
}
