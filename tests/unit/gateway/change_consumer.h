/* A consumer of change streams for tests: holds the server to the rules that
 * the official clients hold it to, and puts the changes together as text.
 *
 * Everything is static: included behind fixture.h.
 */
#ifndef TESTS_UNIT_GATEWAY_CHANGE_CONSUMER_H
#define TESTS_UNIT_GATEWAY_CHANGE_CONSUMER_H

#include "tests/unit/gateway/fixture.h"

/* Rows, and the token up to which they were consumed. */
struct consumer_part {
    struct buf start;
    struct buf end;
    struct buf token; /* Empty: from the oldest change on. */
};

static inline void consumer_part_close(struct consumer_part *p)
{
    buf_close(&p->start);
    buf_close(&p->end);
    buf_close(&p->token);
}

/* All that a stream has told. */
struct told_changes {
    /* Called for each whole change. */
    void (*tell)(void *ctx, struct slice row, struct slice text);
    void *ctx;
    struct buf text; /* All of them: "row: mutation; mutation\n". */
    size_t count;
    size_t heartbeats;
    struct buf token; /* The last one that came. */
    int64_t watermark_us;
    int closed; /* Code of the message CloseStream; -1: none came. */
    struct consumer_part parts[40]; /* And the new partitions with tokens. */
    size_t part_count;
    size_t messages_max; /* Take no more than that; 0: all. */
    /* The change that is under way: */
    bool in_change;
    struct buf row;
    struct buf mutations;
    struct buf value; /* In chunks, */
    bool in_value;
    uint64_t value_size;
};

static inline void told_changes_close(struct told_changes *t)
{
    buf_close(&t->text);
    buf_close(&t->token);
    buf_close(&t->row);
    buf_close(&t->mutations);
    buf_close(&t->value);
    for (size_t i = 0; i < t->part_count; i++)
        consumer_part_close(&t->parts[i]);
}

static inline int64_t change_time(struct slice timestamp)
{
    return (int64_t)pb_find_integer(timestamp, 1) * 1000000 +
           (int64_t)pb_find_integer(timestamp, 2) / 1000;
}

static inline void buf_set(struct buf *b, struct slice s)
{
    buf_clear(b);
    buf_append_slice(b, s);
}

static inline void told_watermark(struct told_changes *t, struct slice time)
{
    int64_t us = change_time(time);
    ck_assert_int_ge(us, t->watermark_us);
    t->watermark_us = us;
}

static inline void told_value(struct told_changes *t, struct slice value)
{
    if (value.len > 100)
        buf_printf(&t->mutations, "<%zu>", value.len);
    else
        buf_append_slice(&t->mutations, value);
}

static inline void told_cell(struct told_changes *t,
                             struct slice info,
                             bool chunked,
                             struct slice m)
{
    uint64_t size = pb_find_integer(info, 1);
    uint64_t offset = pb_find_integer(info, 2);
    if (!chunked || offset == 0) {
        ck_assert(!t->in_value);
        buf_printf(&t->mutations,
                   "set %.*s:%.*s@%lld=", SLICE_ARG(pb_find(m, 1)),
                   SLICE_ARG(pb_find(m, 2)), (long long)pb_find_integer(m, 3));
        t->value_size = size;
        buf_clear(&t->value);
    }
    buf_append_slice(&t->value, pb_find(m, 4));
    t->in_value = chunked && !pb_find_integer(info, 3);
    if (chunked) {
        ck_assert_uint_gt(size, 0);
        ck_assert_uint_eq(size, t->value_size);
        ck_assert_uint_eq(offset + pb_find(m, 4).len, t->value.len);
        ck_assert(t->in_value || t->value.len == size);
    }
    if (!t->in_value)
        told_value(t, buf_slice(&t->value));
}

static inline void told_operand(struct told_changes *t, struct slice m)
{
    struct slice input = pb_find(m, 4);
    buf_printf(&t->mutations, "%.*s:%.*s@%lld ", SLICE_ARG(pb_find(m, 1)),
               SLICE_ARG(pb_find(pb_find(m, 2), 8)),
               (long long)pb_find_integer(pb_find(m, 3), 9));
    if (pb_has_field(input, 6))
        buf_printf(&t->mutations, "%lld", (long long)pb_find_integer(input, 6));
    else
        buf_printf(&t->mutations, "raw %zu", pb_find(input, 8).len);
}

static inline void told_mutation(struct told_changes *t, struct slice chunk)
{
    struct slice info = pb_find(chunk, 1);
    struct slice mutation = pb_find(chunk, 2);
    struct cursor c = cursor_make(mutation);
    struct pb_field f;
    ck_assert(pb_next(&c, &f) && c.p == c.end);
    switch (f.number) {
    case 1: told_cell(t, info, pb_has_field(chunk, 1), f.bytes); break;
    case 2:
        buf_printf(&t->mutations, "delete %.*s:%.*s [%lld,%lld)",
                   SLICE_ARG(pb_find(f.bytes, 1)),
                   SLICE_ARG(pb_find(f.bytes, 2)),
                   (long long)pb_find_integer(pb_find(f.bytes, 3), 1),
                   (long long)pb_find_integer(pb_find(f.bytes, 3), 2));
        break;
    case 3:
        buf_printf(&t->mutations, "delete %.*s",
                   SLICE_ARG(pb_find(f.bytes, 1)));
        break;
    case 5:
        buf_append_str(&t->mutations, "add ");
        told_operand(t, f.bytes);
        break;
    case 6:
        buf_append_str(&t->mutations, "merge ");
        told_operand(t, f.bytes);
        break;
    default: ck_abort_msg("a mutation that clients do not know");
    }
    if (!t->in_value)
        buf_append_str(&t->mutations, "; ");
}

static inline void told_end(struct told_changes *t, struct slice change)
{
    ck_assert(!t->in_value);
    ck_assert(pb_find(change, 9).len > 0);
    ck_assert(pb_has_field(change, 10));
    told_watermark(t, pb_find(change, 10));
    buf_set(&t->token, pb_find(change, 9));
    buf_printf(&t->text, "%.*s: %.*s\n", SLICE_ARG(buf_slice(&t->row)),
               SLICE_ARG(buf_slice(&t->mutations)));
    if (t->tell)
        t->tell(t->ctx, buf_slice(&t->row), buf_slice(&t->mutations));
    t->count++;
    t->in_change = false;
}

/* A message DataChange. */
static inline void told_change(struct told_changes *t, struct slice change)
{
    struct cursor c = cursor_make(change);
    struct pb_field f;
    size_t chunks = 0;
    bool goes_on = t->in_value;
    if (!t->in_change) {
        ck_assert_uint_eq(pb_find_integer(change, 1), 1); /* USER */
        ck_assert(pb_find(change, 2).len > 0);
        ck_assert(pb_find(change, 3).len > 0);
        ck_assert(pb_has_field(change, 4));
        ck_assert_int_gt(change_time(pb_find(change, 4)), t->watermark_us);
        buf_set(&t->row, pb_find(change, 3));
        buf_clear(&t->mutations);
    } else {
        ck_assert_uint_eq(pb_find_integer(change, 1), 3); /* CONTINUATION */
        ck_assert(!pb_has_field(change, 3));
    }
    t->in_change = true;
    while (pb_next(&c, &f))
        if (pb_is_bytes(&f, 6)) {
            /* Chunks of a value are alone: the last of a message, and the
             * first of the next. */
            ck_assert(!t->in_value || (goes_on && chunks == 0));
            told_mutation(t, f.bytes);
            chunks++;
        }
    ck_assert(!c.bad);
    ck_assert_uint_gt(chunks, 0);
    if (pb_find_integer(change, 8))
        told_end(t, change);
}

static inline void told_rows(struct slice partition, struct consumer_part *to)
{
    struct slice range = pb_find(partition, 1);
    ck_assert(pb_has_field(range, 1) && pb_has_field(range, 3));
    buf_set(&to->start, pb_find(range, 1));
    buf_set(&to->end, pb_find(range, 3));
}

static inline void told_close(struct told_changes *t, struct slice close)
{
    struct cursor c = cursor_make(close);
    struct pb_field f;
    size_t partitions = 0;
    t->closed = (int)pb_find_integer(pb_find(close, 1), 1);
    while (pb_next(&c, &f)) {
        struct consumer_part again = {.start = BUF_INIT};
        if (pb_is_bytes(&f, 2)) {
            struct consumer_part *p = &t->parts[t->part_count++];
            told_rows(pb_find(f.bytes, 1), p);
            buf_set(&p->token, pb_find(f.bytes, 2));
        } else if (pb_is_bytes(&f, 3)) {
            told_rows(f.bytes, &again);
            ck_assert(slice_eq(buf_slice(&again.start),
                               buf_slice(&t->parts[partitions].start)));
            ck_assert(slice_eq(buf_slice(&again.end),
                               buf_slice(&t->parts[partitions].end)));
            partitions++;
            consumer_part_close(&again);
        }
    }
    /* As clients demand. */
    ck_assert_uint_eq(partitions, t->part_count);
    ck_assert((t->closed == 0) == (partitions == 0));
}

static inline void told_message(struct told_changes *t, struct slice message)
{
    struct cursor c = cursor_make(message);
    struct pb_field f;
    ck_assert_int_eq(t->closed, -1);
    ck_assert(pb_next(&c, &f) && c.p == c.end);
    if (f.number == 1) {
        told_change(t, f.bytes);
        return;
    }
    ck_assert(!t->in_change);
    if (f.number == 2) {
        t->heartbeats++;
        told_watermark(t, pb_find(f.bytes, 2));
        buf_set(&t->token, pb_find(pb_find(f.bytes, 1), 2));
        ck_assert(t->token.len > 0);
    } else {
        ck_assert_uint_eq(f.number, 3);
        told_close(t, f.bytes);
    }
}

/* Append to a request the partition of @p as field @number. */
static inline void put_partition(struct buf *b,
                                 unsigned number,
                                 struct slice start,
                                 struct slice end)
{
    size_t partition = pb_open(b, number);
    size_t range = pb_open(b, 1);
    pb_put_bytes(b, 1, start);
    pb_put_bytes(b, 3, end);
    pb_close(b, range);
    pb_close(b, partition);
}

/* A request for the rows of @count neighbours, from their tokens on; or, if
 * they have none, from @since_us on. */
static inline struct buf stream_request(const char *table,
                                        const struct consumer_part *parts,
                                        size_t count,
                                        int64_t since_us)
{
    struct buf b = BUF_INIT;
    size_t tokens;
    pb_put_bytes(&b, 1, slice_str(table));
    put_partition(&b, 3, buf_slice(&parts[0].start),
                  buf_slice(&parts[count - 1].end));
    if (parts[0].token.len == 0) {
        size_t time = pb_open(&b, 4);
        pb_put_integer(&b, 1, since_us / 1000000);
        pb_put_integer(&b, 2, since_us % 1000000 * 1000);
        pb_close(&b, time);
        return b;
    }
    tokens = pb_open(&b, 6);
    for (size_t i = count; i-- > 0;) { /* In any order. */
        size_t token = pb_open(&b, 1);
        put_partition(&b, 1, buf_slice(&parts[i].start),
                      buf_slice(&parts[i].end));
        pb_put_bytes(&b, 2, buf_slice(&parts[i].token));
        pb_close(&b, token);
    }
    pb_close(&b, tokens);
    return b;
}

static inline void put_duration(struct buf *b, unsigned number, int64_t us)
{
    size_t time = pb_open(b, number);
    pb_put_integer(b, 1, us / 1000000);
    pb_put_integer(b, 2, us % 1000000 * 1000);
    pb_close(b, time);
}

/* Read the stream that @request, which is closed, asks for, for as long as
 * client.timeout says, into @t, all zero but for what its user sets. */
static inline int read_stream(struct buf *request, struct told_changes *t)
{
    struct slice message;
    size_t at = 0;
    size_t messages = 0;
    int code = call(DATA "ReadChangeStream", request);
    t->closed = -1;
    while (grpc_reply_next(&reply, &at, &message)) {
        if (t->messages_max && messages++ == t->messages_max)
            return code;
        told_message(t, message);
    }
    ck_assert(!t->in_change || code != GRPC_OK);
    return code;
}

#endif /* TESTS_UNIT_GATEWAY_CHANGE_CONSUMER_H */
