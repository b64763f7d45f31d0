/* Outcomes of rows as entries of a MutateRowsResponse. Most rows succeed, and
 * their entry is written with constant tags.
 */
#include "bigtable/gateway/row_outcome.h"

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/core/pb.h"
#include "bigtable/gateway/api_fields.h"

/* The store's client has already retried for as long as a call may take. */
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

/* The entry of a row that was written: its index, and an empty status. */
static void put_good(struct buf *b, size_t index)
{
    char room[3 + VARINT64_BYTES_MAX + 2];
    char *p = room;
    *p++ = PB_MutateRowsResponse_entries << 3 | PB_BYTES;
    *p++ = (char)(1 + varint_bytes(index) + 2);
    *p++ = PB_MutateRowsResponse_Entry_index << 3 | PB_VARINT;
    p = put_varint(p, index);
    *p++ = PB_MutateRowsResponse_Entry_status << 3 | PB_BYTES;
    *p++ = 0;
    buf_append(b, room, (size_t)(p - room));
}

/* How long the client should wait: until the rate allows the row, or a second
 * if its server is down or has no room. 0: do not retry. */
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
    detail = pb_open(b, PB_Status_details);
    grpc_put_retry_info(b, us);
    pb_close(b, detail);
}

static void put_bad(struct buf *b, size_t index, const struct row_outcome *o)
{
    size_t entry = pb_open(b, PB_MutateRowsResponse_entries);
    size_t status;
    pb_put_integer(b, PB_MutateRowsResponse_Entry_index, (int64_t)index);
    status = pb_open(b, PB_MutateRowsResponse_Entry_status);
    pb_put_integer(b, PB_Status_code, (int64_t)o->code);
    if (o->text)
        pb_put_bytes(b, PB_Status_message, slice_str(o->text));
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
