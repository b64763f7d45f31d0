/* Reading a segment of a dead tablet server's commit log, which its caller has
 * taken from the writer. Records without entries are not handed out: they
 * announce the next segment, or list all. The first record that is not whole is
 * the end, unless a later record shows that it was on the disks: then it is
 * damage, and refused.
 */
#include <string.h>

#include "base/core/buf.h"
#include "base/core/coding.h"
#include "base/core/panic.h"
#include "bigtable/log/log_format.h"
#include "bigtable/log/log_seal.h"
#include "bigtable/log/shared_log.h"

bool shared_log_is_segment(const char *name)
{
    uint64_t number;
    return log_segment_number(name, &number);
}

/* Is there a record behind @at that was written when the segment was known to
 * be safe beyond it? */
static bool proves_damage(struct slice all, uint64_t segment, size_t at)
{
    struct log_record_header h;
    struct slice payload;
    for (size_t i = at + 1; i + LOG_RECORD_HEADER_BYTES <= all.len; i++)
        if (log_get_record(slice_sub(all, i, all.len), segment, &h, &payload) &&
            h.synced > at)
            return true;
    return false;
}

static int
shared_log_reader_damaged(const char *name, size_t at, struct err *err)
{
    err_set(err, ERR_CORRUPT,
            "%s: offset %zu: a record that was safe on the disks is damaged",
            name, at);
    err_hint(err, "restore the file, or remove it to give up what it holds");
    return ERR_CORRUPT;
}

/* A record without entries: a list begins with 0 instead of a number. */
static void take_control(struct slice payload, uint64_t *announced)
{
    if (payload.len == 8)
        *announced = MAX_OF(*announced, get_le64(payload.data));
}

/* Hand out the record @h at @at of segment @number, opened if it is sealed. */
static int hand_out(struct unit_opener *opener,
                    uint64_t number,
                    const struct log_record_header *h,
                    char *p,
                    log_record_fn fn,
                    void *ctx,
                    struct err *err)
{
    struct slice payload = slice_make(p, h->length);
    int rc = opener ? log_open_payload(opener, number, h, p, &payload, err) : 0;
    PRE(h->sequence > 0);
    return rc ? rc : fn(ctx, h->sequence, h->count, payload, err);
}

int shared_log_read(const char *name,
                    struct buf *in,
                    struct keyring *keys,
                    log_record_fn fn,
                    void *ctx,
                    uint64_t *announced,
                    struct err *err)
{
    struct slice bytes = buf_slice(in);
    struct unit_opener *opener = NULL;
    struct log_segment_header header = {.number = 0};
    struct log_record_header h;
    struct slice payload;
    size_t at = LOG_SEGMENT_HEADER_BYTES;
    uint64_t number;
    bool whole;
    int rc = log_get_segment_header(bytes, &header, &whole, err);
    *announced = 0;
    if (rc)
        return rc;
    if (!log_segment_number(name, &number))
        return err_set(err, ERR_INVALID, "%s is not a segment of a log", name);
    if (!whole)
        return proves_damage(bytes, number, 0)
                   ? shared_log_reader_damaged(name, 0, err)
                   : 0;
    if (header.number != number)
        return err_set(err, ERR_CORRUPT, "%s: it is segment %llu", name,
                       (unsigned long long)header.number);
    if (header.is_sealed)
        opener = log_opener_new(keys);
    while (rc == 0 && log_get_record(slice_sub(bytes, at, bytes.len), number,
                                     &h, &payload)) {
        if (h.sequence > 0)
            rc =
                hand_out(opener, number, &h,
                         in->data + at + LOG_RECORD_HEADER_BYTES, fn, ctx, err);
        else
            take_control(payload, announced);
        if (rc)
            err_wrap(err, "%s: offset %zu", name, at);
        at += LOG_RECORD_HEADER_BYTES + payload.len;
    }
    if (rc == 0 && at < bytes.len && proves_damage(bytes, number, at))
        rc = shared_log_reader_damaged(name, at, err);
    unit_opener_free(opener);
    return rc;
}
