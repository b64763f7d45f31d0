/* Outcomes of rows as messages: see row_outcome.h. */
#include "bigtable/gateway/row_outcome.h"

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "bigtable/gateway/pb.h"

/* The client library has tried for as long as a call may take by then. */
#define RETRY_UNAVAILABLE_US UINT64_C(1000000)

void row_outcome_set(struct row_outcome *o, int rc, const struct err *err)
{
    mem_free(o->text);
    o->code = grpc_code_of(rc);
    o->retry_us = err->detail == ERR_DETAIL_RATE ? err->retry_us : 0;
    o->text = mem_strdup(err->text[0] ? err->text : err_name(rc));
}

void row_outcome_close(struct row_outcome *o)
{
    mem_free(o->text);
    o->text = NULL;
}

/* An entry that is good: its index, and a status of no bytes. */
static void put_good(struct buf *b, size_t index)
{
    char room[3 + VARINT64_BYTES_MAX + 2];
    char *p = room;
    *p++ = 1 << 3 | PB_BYTES;
    *p++ = (char)(1 + varint_bytes(index) + 2);
    *p++ = 1 << 3 | PB_VARINT;
    p = put_varint(p, index);
    *p++ = 2 << 3 | PB_BYTES;
    *p++ = 0;
    buf_append(b, room, (size_t)(p - room));
}

/* Who was refused for a while is told for how long: by the rate itself, or by a
 * server that is up but has no room, or is not there. */
static uint64_t retry_after_us(const struct row_outcome *o)
{
    if (o->code == GRPC_UNAVAILABLE)
        return RETRY_UNAVAILABLE_US;
    return o->code == GRPC_RESOURCE_EXHAUSTED ? o->retry_us : 0;
}

static void put_retry(struct buf *b, uint64_t us)
{
    size_t detail;
    if (us == 0)
        return;
    detail = pb_open(b, 3);
    grpc_put_retry_info(b, us);
    pb_close(b, detail);
}

static void put_bad(struct buf *b, size_t index, const struct row_outcome *o)
{
    size_t entry = pb_open(b, 1);
    size_t status;
    pb_put_integer(b, 1, (int64_t)index);
    status = pb_open(b, 2);
    pb_put_integer(b, 1, (int64_t)o->code);
    if (o->text)
        pb_put_bytes(b, 2, slice_str(o->text));
    put_retry(b, retry_after_us(o));
    pb_close(b, status);
    pb_close(b, entry);
}

void row_outcome_put(const struct row_outcome *o, size_t index, struct buf *out)
{
    if (o && o->code)
        put_bad(out, index, o);
    else
        put_good(out, index);
}
