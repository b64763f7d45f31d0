/* Rows of METADATA and their values. Values are MessagePack arrays that may
 * grow fields: a reader takes the fields it knows, and gives those that older
 * writers lack their defaults. Records of the lock service are lists of fields
 * in metadata.h. */
#include "bigtable/wire/metadata.h"

#include "base/core/coding.h"
#include "base/core/panic.h"
#include "bigtable/row/schema.h"
#include "bigtable/wire/message.h"

#define BOUNDS_FIELDS      4
#define LOCATION_FIELDS    3
#define STATE_FIELDS_DONE  7
#define STATE_FIELDS       8
#define STATE_FIELDS_FIRST 4 /* Of writers that know no loads, */
#define STATE_FIELDS_LOADS 5 /* no stamps, */
#define STATE_FIELDS_STAMP 6 /* and no changes. */
#define RECORD_FIELDS      4

/* Opaque groups of a tablet, at most: thousands of files. */
#define GROUPS_BYTES_MAX ((size_t)16 << 20)
/* Of changes for clients, opaque too. */
#define DONE_BYTES_MAX ((size_t)64 << 20)

/* After the table's number: a tablet with an end, and the last one. */
#define KEY_HAS_END '\1'
#define KEY_LAST    '\2'

/* --- rows ---------------------------------------------------------------- */

void metadata_key(uint64_t table, struct slice end, struct buf *out)
{
    buf_put_be64(out, table);
    if (end.len == 0) {
        buf_append_byte(out, KEY_LAST);
        return;
    }
    buf_append_byte(out, KEY_HAS_END);
    buf_append_slice(out, end);
}

void metadata_search_key(uint64_t table, struct slice row, struct buf *out)
{
    buf_put_be64(out, table);
    buf_append_byte(out, KEY_HAS_END);
    buf_append_slice(out, row);
    /* The tablet's end is above the row. */
    buf_append_byte(out, '\0');
}

void metadata_table_range(uint64_t table, struct buf *start, struct buf *end)
{
    PRE(table < UINT64_MAX);
    buf_put_be64(start, table);
    buf_put_be64(end, table + 1);
}

void metadata_root_end(struct buf *out)
{
    buf_put_be64(out, METADATA_TABLE_ID + 1);
}

int metadata_key_read(struct slice key,
                      uint64_t *table,
                      struct slice *end,
                      struct err *err)
{
    bool last = key.len == 9 && key.data[8] == KEY_LAST;
    bool has_end = key.len > 9 && key.data[8] == KEY_HAS_END;
    if (!last && !has_end)
        return err_set(err, ERR_CORRUPT, "malformed row of METADATA");
    *table = get_be64(key.data);
    *end = slice_sub(key, 9, key.len);
    return 0;
}

struct schema *metadata_schema(void)
{
    struct schema *s = schema_new();
    struct err err = ERR_INIT;
    int rc = schema_add_group(s, METADATA_GROUP, "memory=on", &err);
    /* Events are versions of a cell; eight are kept. */
    if (rc == 0)
        rc = schema_add_family(s, METADATA_FAMILY,
                               "versions=8,group=" METADATA_GROUP, &err);
    PRE(rc == 0);
    return s;
}

/* --- values of columns --------------------------------------------------- */

static void put_bounds(const struct tablet_bounds *b, struct buf *out)
{
    codec_put_array(out, BOUNDS_FIELDS);
    codec_put_u64(out, b->id);
    codec_put_u64(out, b->table);
    codec_put_bin(out, b->start);
    codec_put_bin(out, b->end);
}

static void get_bounds(struct codec_reader *r, struct tablet_bounds *b)
{
    b->id = codec_get_u64(r);
    b->table = codec_get_u64(r);
    b->start = message_row(r);
    b->end = message_row(r);
    r->bad |= b->end.len > 0 && slice_cmp(b->start, b->end) >= 0;
}

void tablet_bounds_put(const struct tablet_bounds *b, struct buf *out)
{
    put_bounds(b, out);
}

int tablet_bounds_get(struct slice in, struct tablet_bounds *b, struct err *err)
{
    struct message_reader m = message_begin(in, BOUNDS_FIELDS);
    get_bounds(&m.r, b);
    return message_end(&m, "bounds of a tablet", err);
}

static void put_location(const struct tablet_location *l, struct buf *out)
{
    codec_put_array(out, LOCATION_FIELDS);
    codec_put_u64(out, l->server);
    codec_put_u64(out, l->epoch);
    codec_put_str(out, l->address);
}

static void get_location(struct codec_reader *r, struct tablet_location *l)
{
    l->server = codec_get_u64(r);
    l->epoch = codec_get_u64(r);
    l->address = message_bytes(r, ADDRESS_BYTES_MAX);
}

void tablet_location_put(const struct tablet_location *l, struct buf *out)
{
    put_location(l, out);
}

int tablet_location_get(struct slice in,
                        struct tablet_location *l,
                        struct err *err)
{
    struct message_reader m;
    if (in.len == 0) {
        *l = (struct tablet_location){.address = SLICE_EMPTY};
        return 0;
    }
    m = message_begin(in, LOCATION_FIELDS);
    get_location(&m.r, l);
    return message_end(&m, "location of a tablet", err);
}

static void put_state(const struct tablet_state *s, struct buf *out)
{
    PRE(s->log_count <= TABLET_LOGS_MAX);
    codec_put_array(out, STATE_FIELDS);
    codec_put_bin(out, s->groups);
    codec_put_u64(out, s->sequence);
    codec_put_array(out, (uint32_t)s->log_count);
    for (size_t i = 0; i < s->log_count; i++)
        codec_put_u64(out, s->logs[i]);
    codec_put_u64(out, s->bytes);
    codec_put_array(out, (uint32_t)s->load_count);
    for (size_t i = 0; i < s->load_count; i++)
        codec_put_u64(out, s->loads[i]);
    codec_put_u64(out, (uint64_t)s->stamped_us);
    codec_put_bin(out, s->done);
    codec_put_bin(out, s->changes);
}

static void get_state(struct codec_reader *r, struct tablet_state *s)
{
    s->groups = message_bytes(r, GROUPS_BYTES_MAX);
    s->sequence = codec_get_u64(r);
    s->log_count = message_count(r, TABLET_LOGS_MAX);
    for (size_t i = 0; i < s->log_count; i++)
        s->logs[i] = codec_get_u64(r);
    s->bytes = codec_get_u64(r);
}

static void get_loads(struct codec_reader *r, struct tablet_state *s)
{
    s->load_count = message_count(r, STATE_LOADS_MAX);
    for (size_t i = 0; i < s->load_count; i++)
        s->loads[i] = codec_get_u64(r);
}

static void get_stamp(struct codec_reader *r, struct tablet_state *s)
{
    uint64_t us = codec_get_u64(r);
    r->bad |= us > INT64_MAX;
    s->stamped_us = r->bad ? 0 : (int64_t)us;
}

void tablet_state_put(const struct tablet_state *s, struct buf *out)
{
    put_state(s, out);
}

int tablet_state_get(struct slice in, struct tablet_state *s, struct err *err)
{
    struct message_reader m = message_begin(in, STATE_FIELDS_FIRST);
    get_state(&m.r, s);
    s->load_count = 0;
    s->stamped_us = 0;
    s->done = SLICE_EMPTY;
    s->changes = SLICE_EMPTY;
    if (m.count >= STATE_FIELDS_LOADS) {
        get_loads(&m.r, s);
        m.known = STATE_FIELDS_LOADS;
    }
    if (m.count >= STATE_FIELDS_STAMP) {
        get_stamp(&m.r, s);
        m.known = STATE_FIELDS_STAMP;
    }
    if (m.count >= STATE_FIELDS_DONE) {
        s->done = message_bytes(&m.r, DONE_BYTES_MAX);
        m.known = STATE_FIELDS_DONE;
    }
    if (m.count >= STATE_FIELDS) {
        s->changes = message_bytes(&m.r, GROUPS_BYTES_MAX);
        m.known = STATE_FIELDS;
    }
    return message_end(&m, "state of a tablet", err);
}

/* Columns keep their own lengths here, so that each can grow fields. */
void tablet_record_put(const struct tablet_record *r, struct buf *out)
{
    struct buf part = BUF_INIT;
    codec_put_array(out, RECORD_FIELDS);
    put_bounds(&r->bounds, &part);
    codec_put_bin(out, buf_slice(&part));
    buf_clear(&part);
    put_location(&r->location, &part);
    codec_put_bin(out, buf_slice(&part));
    buf_clear(&part);
    put_state(&r->state, &part);
    codec_put_bin(out, buf_slice(&part));
    codec_put_bin(out, r->split);
    buf_close(&part);
}

int tablet_record_get(struct slice in, struct tablet_record *r, struct err *err)
{
    struct message_reader m = message_begin(in, RECORD_FIELDS);
    struct slice bounds = codec_get_bytes(&m.r);
    struct slice location = codec_get_bytes(&m.r);
    struct slice state = codec_get_bytes(&m.r);
    int rc;

    r->split = codec_get_bytes(&m.r);
    rc = message_end(&m, "record of a tablet", err);
    if (rc == 0)
        rc = tablet_bounds_get(bounds, &r->bounds, err);
    if (rc == 0)
        rc = tablet_location_get(location, &r->location, err);
    if (rc == 0)
        rc = tablet_state_get(state, &r->state, err);
    return rc;
}

/* --- files of the lock service ------------------------------------------- */
