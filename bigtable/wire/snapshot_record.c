/* Encoding and decoding a snapshot's record. A record is accepted only if its
 * checksum fits and its tablets cover all rows in order and without gaps. */
#include "bigtable/wire/snapshot_record.h"

#include <string.h>

#include "base/core/arena.h"
#include "base/core/coding.h"
#include "base/core/crc32c.h"
#include "base/core/panic.h"
#include "bigtable/row/schema.h"
#include "bigtable/wire/message.h"
#include "bigtable/wire/tablet_files.h"

#define MAGIC               "QRYSNAP1"
#define MAGIC_BYTES         ((size_t)8)
#define HEAD_BYTES          (MAGIC_BYTES + 4)
#define RECORD_FIELDS       8
#define RECORD_FIELDS_FIRST 6 /* Of writers that know no lists of rights. */
#define ACCESS_BYTES        ((size_t)64 << 10)
#define TABLET_FIELDS       6
#define TABLET_FIELDS_FIRST 5 /* Of writers that know no stamps. */
#define SCHEMA_BYTES        ((size_t)256 << 10)
#define GROUPS_BYTES        ((size_t)16 << 20)

/* --- tablets ------------------------------------------------------------- */

void snapshot_tablet_put(const struct snapshot_tablet *t, struct buf *out)
{
    codec_put_array(out, TABLET_FIELDS);
    codec_put_bin(out, t->start);
    codec_put_bin(out, t->end);
    codec_put_bin(out, t->groups);
    codec_put_u64(out, t->sequence);
    codec_put_u64(out, t->bytes);
    codec_put_u64(out, (uint64_t)t->stamped_us);
}

static void get_stamp(struct codec_reader *r, struct snapshot_tablet *t)
{
    uint64_t us = codec_get_u64(r);
    r->bad |= us > INT64_MAX;
    t->stamped_us = r->bad ? 0 : (int64_t)us;
}

static void get_tablet(struct codec_reader *r, struct snapshot_tablet *t)
{
    t->start = message_row(r);
    t->end = message_row(r);
    t->groups = message_bytes(r, GROUPS_BYTES);
    t->sequence = codec_get_u64(r);
    t->bytes = codec_get_u64(r);
    t->stamped_us = 0;
}

int snapshot_tablet_get(struct slice in,
                        struct snapshot_tablet *t,
                        struct err *err)
{
    struct message_reader m = message_begin(in, TABLET_FIELDS_FIRST);
    get_tablet(&m.r, t);
    if (m.count >= TABLET_FIELDS) {
        get_stamp(&m.r, t);
        m.known = TABLET_FIELDS;
    }
    return message_end(&m, "state of a tablet in a snapshot", err);
}

/* --- records ------------------------------------------------------------- */

static void put_body(const struct snapshot_record *r, struct buf *out)
{
    PRE(r->tablet_count > 0 && r->tablet_count <= SNAPSHOT_TABLETS_MAX);
    codec_put_array(out, RECORD_FIELDS);
    codec_put_str(out, r->name);
    codec_put_str(out, r->table);
    codec_put_u64(out, r->created_us);
    codec_put_u64(out, r->expires_us);
    codec_put_bin(out, r->schema);
    codec_put_array(out, (uint32_t)r->tablet_count);
    for (size_t i = 0; i < r->tablet_count; i++)
        snapshot_tablet_put(&r->tablets[i], out);
    codec_put_bool(out, r->has_access);
    codec_put_bin(out, r->access);
}

void snapshot_record_put(const struct snapshot_record *r, struct buf *out)
{
    struct buf body = BUF_INIT;
    put_body(r, &body);
    buf_append(out, MAGIC, MAGIC_BYTES);
    buf_put_le32(out, crc32c(body.data, body.len));
    buf_append_slice(out, buf_slice(&body));
    buf_close(&body);
}

static int check_frame(struct slice in, struct err *err)
{
    if (in.len < HEAD_BYTES || memcmp(in.data, MAGIC, MAGIC_BYTES) != 0)
        return err_set(err, ERR_CORRUPT, "snapshot: not a snapshot's record");
    if (get_le32(in.data + MAGIC_BYTES) !=
        crc32c(in.data + HEAD_BYTES, in.len - HEAD_BYTES))
        return err_set(err, ERR_CORRUPT, "snapshot: checksum does not match");
    return 0;
}

/* Do the tablets cover all rows, in order and without gaps? */
static bool snapshot_record_covers(const struct snapshot_record *r)
{
    size_t n = r->tablet_count;
    bool good =
        n > 0 && r->tablets[0].start.len == 0 && r->tablets[n - 1].end.len == 0;
    for (size_t i = 1; i < n && good; i++)
        good = r->tablets[i - 1].end.len > 0 &&
               slice_eq(r->tablets[i - 1].end, r->tablets[i].start) &&
               slice_cmp(r->tablets[i - 1].start, r->tablets[i].start) < 0;
    return good;
}

/* A tablet inside of a record. */
static void get_tablet_part(struct codec_reader *r, struct snapshot_tablet *t)
{
    uint32_t fields = codec_get_array(r);
    r->bad |= fields != TABLET_FIELDS && fields != TABLET_FIELDS_FIRST;
    get_tablet(r, t);
    if (fields == TABLET_FIELDS)
        get_stamp(r, t);
}

static int get_body(struct slice in,
                    struct arena *a,
                    struct snapshot_record *r,
                    struct err *err)
{
    struct message_reader m = message_begin(in, RECORD_FIELDS_FIRST);
    size_t max;
    r->name = message_bytes(&m.r, TABLE_NAME_BYTES_MAX);
    r->table = message_bytes(&m.r, TABLE_NAME_BYTES_MAX);
    r->created_us = codec_get_u64(&m.r);
    r->expires_us = codec_get_u64(&m.r);
    r->schema = message_bytes(&m.r, SCHEMA_BYTES);
    /* Each has a byte for each field and one before. */
    max = MIN_OF(SNAPSHOT_TABLETS_MAX, in.len / (TABLET_FIELDS_FIRST + 1));
    r->tablet_count = message_count(&m.r, max);
    r->tablets = (struct snapshot_tablet *)arena_alloc(
        a, (r->tablet_count + 1) * sizeof(*r->tablets));
    for (size_t i = 0; i < r->tablet_count && !m.r.bad; i++) {
        get_tablet_part(&m.r, &r->tablets[i]);
    }
    r->has_access = false;
    r->access = SLICE_EMPTY;
    if (m.count >= RECORD_FIELDS) {
        m.known = RECORD_FIELDS;
        r->has_access = codec_get_bool(&m.r);
        r->access = message_bytes(&m.r, ACCESS_BYTES);
    }
    return message_end(&m, "snapshot", err);
}

int snapshot_record_get(struct slice in,
                        struct arena *a,
                        struct snapshot_record *r,
                        struct err *err)
{
    int rc = check_frame(in, err);
    if (rc == 0)
        rc = get_body(slice_sub(in, HEAD_BYTES, in.len), a, r, err);
    if (rc == 0 &&
        (snapshot_check_name(r->name, NULL) || !snapshot_record_covers(r)))
        rc = err_set(err, ERR_CORRUPT,
                     "snapshot: its tablets do not cover the table");
    return rc;
}

int snapshot_check_name(struct slice name, struct err *err)
{
    int rc = schema_check_table_name(name, err);
    if (rc == 0 && name.data[0] == '.')
        rc = err_set(err, ERR_INVALID, "a snapshot's name begins with '.'");
    return rc;
}

bool snapshot_of_file(struct slice file, struct slice *name)
{
    size_t n = strlen(SNAPSHOT_SUFFIX);
    if (file.len <= n ||
        !slice_eq_str(slice_sub(file, file.len - n, file.len), SNAPSHOT_SUFFIX))
        return false;
    *name = slice_sub(file, 0, file.len - n);
    return snapshot_check_name(*name, NULL) == 0;
}

int snapshot_each_file(const struct snapshot_record *r,
                       void (*fn)(void *ctx, uint64_t number),
                       void *ctx,
                       struct err *err)
{
    int rc = 0;
    for (size_t i = 0; i < r->tablet_count && rc == 0; i++)
        rc = tablet_files_each(r->tablets[i].groups, fn, ctx, err);
    return rc;
}

static void snapshot_record_count(void *ctx, uint64_t number)
{
    (void)number;
    ++*(uint64_t *)ctx;
}

int snapshot_summarize(const struct snapshot_record *r,
                       struct snapshot_summary *out,
                       struct err *err)
{
    *out = (struct snapshot_summary){.name = r->name,
                                     .table = r->table,
                                     .created_us = r->created_us,
                                     .expires_us = r->expires_us,
                                     .tablets = r->tablet_count};
    for (size_t i = 0; i < r->tablet_count; i++)
        out->bytes += r->tablets[i].bytes;
    return snapshot_each_file(r, snapshot_record_count, &out->files, err);
}
