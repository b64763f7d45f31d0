/* Read options on the wire, with the ranges, keys and names they point to.
 * Counts are bounded by READ_RANGES_MAX together, before memory is taken. */
#include "base/core/arena.h"
#include "bigtable/row/filter.h"
#include "bigtable/row/row_request.h"
#include "bigtable/wire/data_calls.h"
#include "bigtable/wire/message.h"

#define OPTION_FIELDS 15
#define RANGE_FIELDS  2
#define FAMILIES_MAX  65536 /* More than a schema has, and no more. */

/* --- writing ------------------------------------------------------------- */

static void put_rows(const struct quarry_read_options *o, struct buf *out)
{
    codec_put_array(out, (uint32_t)o->range_count);
    for (size_t i = 0; i < o->range_count; i++) {
        codec_put_array(out, RANGE_FIELDS);
        codec_put_bin(out, o->ranges[i].start);
        codec_put_bin(out, o->ranges[i].end);
    }
    codec_put_array(out, (uint32_t)o->key_count);
    for (size_t i = 0; i < o->key_count; i++)
        codec_put_bin(out, o->keys[i]);
}

static void put_filter(const struct quarry_filter *f, struct buf *out)
{
    struct buf bytes = BUF_INIT;
    if (f)
        filter_encode(f, &bytes);
    message_put_maybe(out, f != NULL, buf_slice(&bytes));
    buf_close(&bytes);
}

void read_options_put(const struct quarry_read_options *o, struct buf *out)
{
    codec_put_array(out, OPTION_FIELDS);
    put_rows(o, out);
    put_filter(o->filter, out);
    codec_put_array(out, (uint32_t)o->family_count);
    for (size_t i = 0; i < o->family_count; i++)
        codec_put_bin(out, slice_str(o->families[i]));
    message_put_maybe(out, o->column_regex != NULL,
                      slice_str(o->column_regex ? o->column_regex : ""));
    codec_put_u64(out, o->versions);
    codec_put_i64(out, o->time_min_us);
    codec_put_i64(out, o->time_max_us);
    codec_put_u64(out, o->row_limit);
    codec_put_bool(out, o->keys_only);
    message_put_maybe(out, o->program != NULL,
                      slice_make(o->program ? o->program : "", o->program_len));
    codec_put_u64(out, o->program_fuel);
    codec_put_bool(out, o->read_ahead_off);
    codec_put_bool(out, o->ordered);
    codec_put_i64(out, o->as_of_us);
}

/* --- reading ------------------------------------------------------------- */

static void get_ranges(struct codec_reader *r,
                       struct arena *a,
                       struct quarry_read_options *o)
{
    size_t n = message_count(r, READ_RANGES_MAX);
    struct quarry_range *ranges = arena_zalloc(a, (n + 1) * sizeof(*ranges));
    for (size_t i = 0; i < n && !r->bad; i++) {
        message_part(r, RANGE_FIELDS);
        ranges[i].start = codec_get_bytes(r);
        ranges[i].end = codec_get_bytes(r);
    }
    o->ranges = ranges;
    o->range_count = n;
}

static void
get_keys(struct codec_reader *r, struct arena *a, struct quarry_read_options *o)
{
    size_t n = message_count(r, READ_RANGES_MAX - o->range_count);
    struct slice *keys = arena_zalloc(a, (n + 1) * sizeof(*keys));
    for (size_t i = 0; i < n && !r->bad; i++)
        keys[i] = codec_get_bytes(r);
    o->keys = keys;
    o->key_count = n;
}

static void get_families(struct codec_reader *r,
                         struct arena *a,
                         struct quarry_read_options *o)
{
    size_t n = message_count(r, FAMILIES_MAX);
    const char **names = arena_zalloc(a, (n + 1) * sizeof(*names));
    for (size_t i = 0; i < n && !r->bad; i++)
        names[i] = arena_dup(a, message_text(r)).data;
    o->families = names;
    o->family_count = n;
}

int read_options_get(struct slice in,
                     struct arena *a,
                     struct quarry_read_options *out,
                     struct err *err)
{
    struct message_reader b = message_begin(in, OPTION_FIELDS);
    struct quarry_filter *f = NULL;
    struct slice filter, text;
    bool has_filter, there;
    int rc;
    *out = (struct quarry_read_options){.ranges = NULL};
    get_ranges(&b.r, a, out);
    get_keys(&b.r, a, out);
    filter = message_maybe(&b.r, &has_filter);
    get_families(&b.r, a, out);
    text = message_maybe(&b.r, &there);
    b.r.bad |= message_has_nul(text);
    out->column_regex = there ? arena_dup(a, text).data : NULL;
    out->versions = message_u32(&b.r);
    out->time_min_us = codec_get_i64(&b.r);
    out->time_max_us = codec_get_i64(&b.r);
    out->row_limit = codec_get_u64(&b.r);
    out->keys_only = codec_get_bool(&b.r);
    text = message_maybe(&b.r, &there);
    out->program = there ? arena_dup(a, text).data : NULL;
    out->program_len = text.len;
    out->program_fuel = codec_get_u64(&b.r);
    out->read_ahead_off = codec_get_bool(&b.r);
    out->ordered = codec_get_bool(&b.r);
    out->as_of_us = codec_get_i64(&b.r);
    rc = message_end(&b, "options of a read", err);
    if (rc == 0 && has_filter)
        rc = filter_decode(filter, &f, err);
    out->filter = f;
    return rc;
}
