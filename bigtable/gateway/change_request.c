/* Partitions are row ranges, closed at the start and open at the end; the other
 * kinds of ends, which the message could have, are taken as well. Tokens come
 * in any order. The rows that a token is for stand in it, and must be those of
 * the partition that the client sends along.
 */
#include "bigtable/gateway/change_request.h"

#include <stdlib.h>

#include "base/core/panic.h"
#include "base/core/pb.h"
#include "bigtable/gateway/api_fields.h"
#include "bigtable/gateway/api_service.h"
#include "bigtable/quarry_changes.h"

#define HEARTBEAT_US_DEFAULT UINT64_C(5000000)
#define HEARTBEAT_US_MIN     UINT64_C(1000000)
/* Tokens of a request: those of partitions that were merged. */
#define TOKENS_MAX 1000

/* --- partitions ---------------------------------------------------------- */

void change_partition_put(struct buf *out,
                          unsigned number,
                          struct slice start,
                          struct slice end)
{
    size_t partition = pb_open(out, number);
    size_t range = pb_open(out, PB_StreamPartition_row_range);
    pb_put_bytes(out, PB_RowRange_start_key_closed, start);
    pb_put_bytes(out, PB_RowRange_end_key_open, end);
    pb_close(out, range);
    pb_close(out, partition);
}

/* Append the ends of @partition, a message StreamPartition. */
static int partition_get(struct slice partition,
                         struct buf *start,
                         struct buf *end,
                         struct err *err)
{
    struct slice range = pb_find(partition, PB_StreamPartition_row_range);
    struct cursor c = cursor_make(range);
    struct pb_field f;
    while (pb_next(&c, &f)) {
        bool is_start = f.number == PB_RowRange_start_key_closed ||
                        f.number == PB_RowRange_start_key_open;
        bool is_next = f.number == PB_RowRange_start_key_open ||
                       f.number == PB_RowRange_end_key_closed;
        struct buf *to = is_start ? start : end;
        if (f.wire != PB_BYTES || f.number > PB_RowRange_end_key_closed)
            continue;
        buf_clear(to);
        buf_append_slice(to, f.bytes);
        if (is_next && f.bytes.len)
            buf_append_byte(to, '\0');
    }
    if (c.bad || !pb_is_message(partition))
        return err_set(err, ERR_INVALID, "partition: not a StreamPartition");
    if (end->len && slice_cmp(buf_slice(start), buf_slice(end)) >= 0)
        return err_set(err, ERR_INVALID, "partition: it has no rows");
    return 0;
}

/* --- the request --------------------------------------------------------- */

static int take_heartbeat(struct slice duration,
                          struct change_request_message *out,
                          struct err *err)
{
    int64_t us;
    int rc = service_time_us(duration, "heartbeat_duration", &us, err);
    if (rc == 0 && us < (int64_t)HEARTBEAT_US_MIN)
        rc = err_set(err, ERR_INVALID,
                     "heartbeat_duration must be a second at least");
    if (rc == 0)
        out->heartbeat_us = (uint64_t)us;
    return rc;
}

/* A time that was sent is not 0, which stands for none. */
static int take_time(struct slice timestamp,
                     const char *field,
                     int64_t *us,
                     struct err *err)
{
    int rc = service_time_us(timestamp, field, us, err);
    *us = MAX_OF(*us, 1);
    return rc;
}

static int take_field(const struct pb_field *f,
                      struct change_request_message *out,
                      struct err *err)
{
    if (f->wire != PB_BYTES)
        return 0;
    switch (f->number) {
    case PB_ReadChangeStreamRequest_table_name: out->table = f->bytes; break;
    case PB_ReadChangeStreamRequest_app_profile_id:
        out->profile = f->bytes;
        break;
    case PB_ReadChangeStreamRequest_partition:
        return partition_get(f->bytes, &out->start, &out->end, err);
    case PB_ReadChangeStreamRequest_start_time:
        out->has_tokens = false; /* The last field of a oneof counts. */
        return take_time(f->bytes, "start_time", &out->start_us, err);
    case PB_ReadChangeStreamRequest_continuation_tokens:
        out->has_tokens = true;
        out->start_us = 0;
        out->tokens = f->bytes;
        break;
    case PB_ReadChangeStreamRequest_end_time:
        return take_time(f->bytes, "end_time", &out->end_us, err);
    case PB_ReadChangeStreamRequest_heartbeat_duration:
        return take_heartbeat(f->bytes, out, err);
    default: break;
    }
    return 0;
}

int change_request_parse(struct slice bytes,
                         struct change_request_message *out,
                         struct err *err)
{
    struct cursor c = cursor_make(bytes);
    struct pb_field f;
    int rc = 0;
    out->heartbeat_us = HEARTBEAT_US_DEFAULT;
    while (rc == 0 && pb_next(&c, &f))
        rc = take_field(&f, out, err);
    return rc || !c.bad ? rc : service_bad_request(err);
}

void change_request_close(struct change_request_message *r)
{
    buf_close(&r->start);
    buf_close(&r->end);
}

/* --- tokens -------------------------------------------------------------- */

struct given_token {
    struct buf start; /* Its rows. */
    struct buf end;
    struct buf room;
    struct stream_token token; /* Its place is in the room. */
};

static void given_token_close(struct given_token *t)
{
    buf_close(&t->start);
    buf_close(&t->end);
    buf_close(&t->room);
}

/* Read @message, a StreamContinuationToken, into @t, all zero. */
static int given_token_get(struct slice message,
                           const struct stream_table *table,
                           struct given_token *t,
                           struct err *err)
{
    struct buf start = BUF_INIT;
    struct buf end = BUF_INIT;
    int rc =
        partition_get(pb_find(message, PB_StreamContinuationToken_partition),
                      &start, &end, err);
    if (rc == 0)
        rc =
            stream_token_get(pb_find(message, PB_StreamContinuationToken_token),
                             table, &t->room, &t->token, err);
    if (rc == 0)
        rc =
            quarry_changes_token_range(t->token.place, &t->start, &t->end, err);
    if (rc == 0 && (!slice_eq(buf_slice(&start), buf_slice(&t->start)) ||
                    !slice_eq(buf_slice(&end), buf_slice(&t->end))))
        rc = err_set(err, ERR_INVALID,
                     "a continuation token of another partition than it is "
                     "sent with");
    buf_close(&start);
    buf_close(&end);
    return rc;
}

static int by_start(const void *a, const void *b)
{
    return slice_cmp(buf_slice(&((const struct given_token *)a)->start),
                     buf_slice(&((const struct given_token *)b)->start));
}

/* Do the @count tokens, in order, together have the rows of @r? */
static int check_cover(const struct change_request_message *r,
                       const struct given_token *list,
                       size_t count,
                       struct err *err)
{
    bool covers = count > 0 &&
                  slice_eq(buf_slice(&list[0].start), buf_slice(&r->start)) &&
                  slice_eq(buf_slice(&list[count - 1].end), buf_slice(&r->end));
    for (size_t i = 1; i < count && covers; i++)
        covers = list[i].start.len > 0 && slice_eq(buf_slice(&list[i - 1].end),
                                                   buf_slice(&list[i].start));
    if (covers)
        return 0;
    return err_set(err, ERR_INVALID,
                   "the continuation tokens do not cover the partition "
                   "exactly");
}

static int join_tokens(const struct given_token *list,
                       size_t count,
                       struct buf *place,
                       struct stream_token *joined,
                       struct err *err)
{
    int rc = 0;
    *joined =
        (struct stream_token){.watermark_us = INT64_MAX, .place = SLICE_EMPTY};
    for (size_t i = 0; i < count && rc == 0; i++) {
        const struct stream_token *t = &list[i].token;
        joined->watermark_us = MIN_OF(joined->watermark_us, t->watermark_us);
        if (t->end_us && (joined->end_us == 0 || t->end_us < joined->end_us))
            joined->end_us = t->end_us;
        rc = quarry_changes_token_join(place, t->place, err);
    }
    return rc;
}

/* Read the tokens of @r into @list, which has room for TOKENS_MAX. */
static int read_tokens(const struct change_request_message *r,
                       const struct stream_table *table,
                       struct given_token *list,
                       size_t *count,
                       struct err *err)
{
    struct cursor c = cursor_make(r->tokens);
    struct pb_field f;
    int rc = 0;
    *count = 0;
    while (rc == 0 && pb_next(&c, &f)) {
        if (!pb_is_bytes(&f, PB_StreamContinuationTokens_tokens))
            continue;
        if (*count == TOKENS_MAX)
            return err_set(err, ERR_INVALID, "more than %d continuation tokens",
                           TOKENS_MAX);
        rc = given_token_get(f.bytes, table, &list[(*count)++], err);
    }
    return rc || !c.bad ? rc : service_bad_request(err);
}

int change_request_join(const struct change_request_message *r,
                        const struct stream_table *table,
                        struct buf *place,
                        struct stream_token *joined,
                        struct err *err)
{
    struct given_token *list = mem_zalloc(TOKENS_MAX, sizeof(*list));
    size_t count;
    int rc = read_tokens(r, table, list, &count, err);
    if (rc == 0 && count)
        qsort(list, count, sizeof(*list), by_start);
    if (rc == 0)
        rc = check_cover(r, list, count, err);
    if (rc == 0)
        rc = join_tokens(list, count, place, joined, err);
    for (size_t i = 0; i < count; i++)
        given_token_close(&list[i]);
    mem_free(list);
    return rc;
}
