/* Calls to another worker for pieces of its spills. Answers are checked before
 * memory is taken for them. A worker that cannot be reached costs a few tries,
 * one that keeps silent a single call; its spills count as missing then. */
#include "mapreduce/cluster/spill_peer.h"

#include "base/core/coding.h"
#include "base/core/panic.h"
#include "base/rpc/channel_set.h"
#include "base/rpc/rpc.h"
#include "base/runtime/world.h"

/* A call, and the time between tries. */
#define CALL_US    UINT64_C(3000000)
#define BETWEEN_US UINT64_C(250000)

/* Call until there is an answer of any kind. */
static int spill_peer_call(const struct spill_peer *p,
                           uint32_t method,
                           const struct buf *body,
                           const struct buf *attachment,
                           struct buf *reply,
                           struct err *err)
{
    const struct rpc_call_options o = {.timeout_us = CALL_US};
    int rc = ERR_UNAVAILABLE;
    for (unsigned i = 0; i < p->tries; i++) {
        if (i > 0)
            world_sleep_us(p->world, BETWEEN_US);
        if (p->is_over(p->ctx))
            return err_set(err, ERR_CANCELLED, "stopped");
        buf_clear(reply);
        rc = channel_set_call(p->channels, p->place.address, method, &o,
                              buf_slice(body), buf_slice(attachment), NULL,
                              reply, err);
        if (rc != ERR_UNAVAILABLE && rc != ERR_DEADLINE && rc != ERR_CORRUPT)
            return rc;
        /* After one silent call more tries are pointless. */
        if (rc == ERR_DEADLINE)
            return rc;
    }
    return rc;
}

/* --- where segments are -------------------------------------------------- */

void spill_found_close(struct spill_found *f)
{
    mem_free(f->pieces);
    mem_free(f->at);
    *f = (struct spill_found){.missing = false};
}

static void
take_found(struct cursor *in, const struct task_spill *s, struct spill_found *f)
{
    size_t count;
    f->missing = cursor_u8(in) == 0;
    count = cursor_count(in, 3);
    in->bad |= f->missing && count > 0;
    f->pieces = mem_zalloc(count + 1, sizeof(*f->pieces));
    f->at = mem_zalloc(count + 1, sizeof(*f->at));
    for (f->count = 0; f->count < count; f->count++) {
        struct spill_piece *g = &f->pieces[f->count];
        g->task = s->task;
        g->attempt = s->attempt;
        g->offset = cursor_varint(in);
        g->bytes = cursor_varint(in);
        f->at[f->count].pairs = cursor_varint(in);
        f->at[f->count].bytes = g->bytes;
        in->bad |= g->bytes == 0 || g->offset + g->bytes < g->offset;
    }
}

int spill_peer_ask(const struct spill_peer *p,
                   const struct task_spill *spills,
                   struct spill_found *found,
                   size_t count,
                   struct err *err)
{
    PRE(count <= SPILL_ASK_MAX);
    const struct spill_ask ask = {.number = p->place.number,
                                  .job = slice_str(p->job),
                                  .partition = p->partition,
                                  .spills = spills,
                                  .count = count};
    struct buf body = BUF_INIT;
    struct buf attachment = BUF_INIT;
    struct buf reply = BUF_INIT;
    struct cursor in;
    int rc;
    PRE(count <= SPILL_ASK_MAX);
    spill_ask_put(&ask, &body, &attachment);
    rc =
        spill_peer_call(p, WORKER_SPILL_INDEX, &body, &attachment, &reply, err);
    in = cursor_make(buf_slice(&reply));
    for (size_t i = 0; i < count && rc == 0; i++)
        take_found(&in, &spills[i], &found[i]);
    if (rc == 0 && (in.bad || cursor_left(&in) > 0))
        rc = err_set(err, ERR_CORRUPT, "malformed segments of spills");
    buf_close(&body);
    buf_close(&attachment);
    buf_close(&reply);
    return rc;
}

/* --- their bytes --------------------------------------------------------- */

int spill_reader_finish(struct spill_reader *r, struct err *err)
{
    const struct spill_peer *p = r->peer;
    const struct spill_read ask = {
        .number = p->place.number, .job = slice_str(p->job), .count = r->count};
    struct buf body = BUF_INIT;
    struct buf attachment = BUF_INIT;
    struct buf reply = BUF_INIT;
    int rc;
    if (r->count == 0)
        return 0;
    spill_read_put(&ask, r->pieces, &body, &attachment);
    rc = spill_peer_call(p, WORKER_SPILL_READ, &body, &attachment, &reply, err);
    if (rc == 0 && reply.len != r->bytes)
        rc = err_set(err, ERR_CORRUPT, "spills of another length");
    if (rc == 0)
        rc = r->take(r->ctx, buf_slice(&reply), err);
    buf_close(&body);
    buf_close(&attachment);
    buf_close(&reply);
    r->count = 0;
    r->bytes = 0;
    return rc;
}

static void add_piece(struct spill_reader *r, const struct spill_piece *p)
{
    if (r->count == r->cap) {
        r->cap = MAX_OF(r->cap * 2, (size_t)64);
        r->pieces = mem_realloc(r->pieces, r->cap * sizeof(*r->pieces));
    }
    r->pieces[r->count++] = *p;
    r->bytes += p->bytes;
}

/* One segment, in parts where it is long. */
static int add_segment(struct spill_reader *r,
                       const struct spill_piece *whole,
                       struct err *err)
{
    struct spill_piece part = *whole;
    uint64_t end = whole->offset + whole->bytes;
    int rc = 0;
    for (; part.offset < end && rc == 0; part.offset += part.bytes) {
        part.bytes = MIN_OF(end - part.offset, SPILL_READ_BYTES_MAX);
        if (r->bytes + part.bytes > SPILL_READ_BYTES_MAX ||
            r->count == SPILL_ASK_MAX)
            rc = spill_reader_finish(r, err);
        add_piece(r, &part);
    }
    return rc;
}

int spill_reader_add(struct spill_reader *r,
                     const struct spill_found *found,
                     struct err *err)
{
    int rc = 0;
    for (size_t i = 0; i < found->count && rc == 0; i++)
        rc = add_segment(r, &found->pieces[i], err);
    return rc;
}

void spill_reader_close(struct spill_reader *r)
{
    mem_free(r->pieces);
    r->pieces = NULL;
}

bool spill_peer_is_to_blame(int code)
{
    return code != 0 && code != ERR_CANCELLED && code != ERR_FULL &&
           code != ERR_IO;
}
