/* The record of an explained scan in an answer: an array of counters, one of
 * files, one of stages. Counters are only appended, so that servers and clients
 * of different versions understand each other. A stage is its numbers alone:
 * both sides have the filter. Files are bounded before memory is taken for
 * them.
 */
#include "bigtable/row/explain.h"
#include "bigtable/wire/data_calls.h"
#include "bigtable/wire/message.h"

#define FILES_MAX    ((size_t)1 << 20)
#define STAGES_MAX   8192
#define PARTS        3
#define FILE_FIELDS  5
#define STAGE_FIELDS 4

/* --- writing ------------------------------------------------------------- */

static void put_counts(const struct quarry_explain_counts *c, struct buf *out)
{
    codec_put_array(out, EXPLAIN_COUNTS_COUNT);
#define EXPLAIN_PUT(part, name) codec_put_u64(out, c->part##_##name);
    EXPLAIN_COUNTS(EXPLAIN_PUT)
#undef EXPLAIN_PUT
}

static void put_file(const struct explain_file *f, struct buf *out)
{
    codec_put_array(out, FILE_FIELDS);
    codec_put_u64(out, f->number);
    codec_put_u64(out, f->group);
    codec_put_u64(out, f->fate);
    codec_put_u64(out, f->bytes);
    codec_put_u64(out, f->blocks);
}

static void put_stage(const struct explain_stage *s, struct buf *out)
{
    codec_put_array(out, STAGE_FIELDS);
    codec_put_u64(out, s->cells_in);
    codec_put_u64(out, s->cells_out);
    codec_put_u64(out, s->rows_in);
    codec_put_u64(out, s->rows_out);
}

void explain_put(const struct explain_tablet *t, struct buf *out)
{
    const struct quarry_explain *e = t->explain;
    codec_put_array(out, PARTS);
    put_counts(&t->counts, out);
    codec_put_array(out, (uint32_t)t->file_count);
    for (size_t i = 0; i < t->file_count; i++)
        put_file(t->files[i], out);
    codec_put_array(out, (uint32_t)e->stage_count);
    for (size_t i = 0; i < e->stage_count; i++)
        put_stage(&e->stages[i], out);
}

/* --- reading ------------------------------------------------------------- */

static void get_counts(struct codec_reader *r, struct quarry_explain_counts *c)
{
    uint32_t left = codec_get_array(r);
    /* Appended fields are the only difference between versions. */
#define EXPLAIN_GET(part, name)                                                \
    if (left > 0) {                                                            \
        c->part##_##name += codec_get_u64(r);                                  \
        left--;                                                                \
    }
    EXPLAIN_COUNTS(EXPLAIN_GET)
#undef EXPLAIN_GET
    for (; left > 0 && !r->bad; left--)
        codec_skip(r);
}

static void get_file(struct codec_reader *r, struct explain_tablet *t)
{
    uint64_t number, group, fate, bytes, blocks;
    struct explain_file *f;
    message_part(r, FILE_FIELDS);
    number = codec_get_u64(r);
    group = codec_get_u64(r);
    fate = codec_get_u64(r);
    bytes = codec_get_u64(r);
    blocks = codec_get_u64(r);
    r->bad |= fate >= EXPLAIN_FATES || group > UINT32_MAX ||
              t->file_count >= FILES_MAX;
    if (r->bad)
        return;
    f = explain_file(t, number, (uint32_t)group, bytes,
                     (enum explain_fate)fate);
    f->blocks += blocks;
}

static void get_stage(struct codec_reader *r, struct explain_stage *s)
{
    message_part(r, STAGE_FIELDS);
    s->cells_in += codec_get_u64(r);
    s->cells_out += codec_get_u64(r);
    s->rows_in += codec_get_u64(r);
    s->rows_out += codec_get_u64(r);
}

int explain_get(struct slice in, struct explain_tablet *t, struct err *err)
{
    struct message_reader b = message_begin(in, PARTS);
    uint32_t count;
    get_counts(&b.r, &t->counts);
    count = message_count(&b.r, FILES_MAX);
    for (uint32_t i = 0; i < count && !b.r.bad; i++)
        get_file(&b.r, t);
    count = message_count(&b.r, STAGES_MAX);
    b.r.bad |= count != t->explain->stage_count;
    for (uint32_t i = 0; i < count && !b.r.bad; i++)
        get_stage(&b.r, &t->explain->stages[i]);
    return message_end(&b, "record of a scan", err);
}
