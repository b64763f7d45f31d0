/* The messages of SERVER_HISTORY. A point travels as the bits of its float,
 * because a series is mostly numbers of seven digits or gaps.
 */
#include "cli/history_call.h"

#include <math.h>
#include <string.h>

#include "base/core/coding.h"
#include "base/core/panic.h"
#include "base/rpc/codec.h"

#define POINT_BYTES sizeof(float)
/* No step is longer than a day. */
#define HISTORY_STEP_MAX_US (HISTORY_MINUTE_US * HISTORY_MINUTE_COUNT)

STATIC_ASSERT(HISTORY_COUNT *HISTORY_POINTS_MAX <= HISTORY_REPLY_POINTS_MAX,
              "all series at once are an answer");

/* Cut the part before the first comma off @rest. */
static struct slice next_name(struct slice *rest)
{
    const char *comma = memchr(rest->data, ',', rest->len);
    size_t length = comma ? (size_t)(comma - rest->data) : rest->len;
    struct slice name = slice_make(rest->data, length);
    size_t used = MIN_OF(length + 1, rest->len);
    *rest = slice_make(rest->data + used, rest->len - used);
    return name;
}

int history_request_want(struct history_request *r,
                         struct slice names,
                         struct err *err)
{
    enum history_id id;
    for (int i = 0; i < HISTORY_COUNT; i++)
        r->wanted[i] = names.len == 0;
    while (names.len) {
        struct slice name = next_name(&names);
        if (!history_find(name, &id))
            return err_set(err, ERR_NOTFOUND,
                           "there is no series \"%.*s\" (docs/monitoring.md "
                           "lists them)",
                           SLICE_ARG(name));
        r->wanted[id] = true;
    }
    return 0;
}

void history_request_put(const struct history_request *r, struct buf *out)
{
    struct buf names = BUF_INIT;
    for (int i = 0; i < HISTORY_COUNT; i++)
        if (r->wanted[i])
            buf_printf(&names, "%s%s", names.len ? "," : "",
                       history_info((enum history_id)i)->name);
    codec_put_array(out, 4);
    codec_put_str(out, buf_slice(&names));
    codec_put_u64(out, r->span.from_us);
    codec_put_u64(out, r->span.step_us);
    codec_put_u64(out, r->span.count);
    buf_close(&names);
}

static int check_span(const struct history_span *s, struct err *err)
{
    if (s->count > HISTORY_POINTS_MAX)
        return err_set(err, ERR_TOOBIG, "%zu points, where %d are the most",
                       s->count, HISTORY_POINTS_MAX);
    if (s->step_us == 0 || s->step_us % HISTORY_STEP_US ||
        s->step_us > HISTORY_STEP_MAX_US || s->from_us % s->step_us ||
        s->from_us > UINT64_MAX - s->count * s->step_us)
        return err_set(err, ERR_INVALID,
                       "steps of %llu us from %llu on are none of this history",
                       (unsigned long long)s->step_us,
                       (unsigned long long)s->from_us);
    return 0;
}

int history_request_get(struct slice body,
                        struct history_request *r,
                        struct err *err)
{
    struct codec_reader in = codec_reader_make(body);
    uint32_t fields = codec_get_array(&in);
    struct slice names = codec_get_bytes(&in);
    int rc;
    r->span.from_us = codec_get_u64(&in);
    r->span.step_us = codec_get_u64(&in);
    r->span.count = codec_get_u64(&in);
    if (fields < 4 || in.bad)
        return err_set(err, ERR_CORRUPT, "malformed request");
    rc = check_span(&r->span, err);
    return rc ? rc : history_request_want(r, names, err);
}

/* Append the points of @id. False: all are gaps. */
static bool put_points(const struct metric_history *h,
                       enum history_id id,
                       const struct history_span *span,
                       float *points,
                       struct buf *out)
{
    bool any = false;
    metric_history_read(h, id, span, points);
    for (size_t i = 0; i < span->count && !any; i++)
        any = !isnan(points[i]);
    if (!any)
        return false;
    codec_put_array(out, 2);
    codec_put_str(out, slice_str(history_info(id)->name));
    codec_put_bin(out,
                  slice_make((const char *)points, span->count * POINT_BYTES));
    return true;
}

void history_reply_put(const struct metric_history *h,
                       const struct history_request *r,
                       uint64_t now_us,
                       struct buf *out)
{
    float *points = mem_alloc((r->span.count + 1) * POINT_BYTES);
    struct buf series = BUF_INIT;
    uint32_t count = 0;
    PRE(r->span.count <= HISTORY_POINTS_MAX);
    for (int i = 0; i < HISTORY_COUNT; i++)
        if (r->wanted[i])
            count +=
                put_points(h, (enum history_id)i, &r->span, points, &series);
    codec_put_array(out, 2);
    codec_put_u64(out, now_us);
    codec_put_array(out, count);
    buf_append_slice(out, buf_slice(&series));
    buf_close(&series);
    mem_free(points);
}

int history_reply_get(struct slice body,
                      const struct history_request *r,
                      struct history_points *out,
                      size_t *count,
                      struct err *err)
{
    struct codec_reader in = codec_reader_make(body);
    uint32_t fields = codec_get_array(&in);
    uint32_t series;
    bool bad;
    (void)codec_get_u64(&in);
    series = codec_get_array(&in);
    bad = fields < 2 || in.bad;
    *count = 0;
    for (uint32_t i = 0; i < series && !bad; i++) {
        struct history_points p;
        bool known;
        struct slice name;
        bad = codec_get_array(&in) < 2;
        name = codec_get_bytes(&in);
        p.bytes = codec_get_bytes(&in);
        known = history_find(name, &p.id);
        bad = bad || in.bad || p.bytes.len != r->span.count * POINT_BYTES ||
              *count == HISTORY_COUNT;
        if (!bad && known)
            out[(*count)++] = p;
    }
    return bad ? err_set(err, ERR_CORRUPT, "malformed history") : 0;
}

float history_point(const struct history_points *p, size_t index)
{
    uint32_t bits;
    float value;
    PRE(index < p->bytes.len / POINT_BYTES);
    bits = get_le32(p->bytes.data + index * POINT_BYTES);
    memcpy(&value, &bits, sizeof(value));
    return value;
}
