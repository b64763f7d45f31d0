/* The outputs of one attempt. Each has one sink for its part and one for each
 * side file; a sink is text, records (also the changes of tables) or rows in
 * SSTables. The functions of mapreduce.h that write return nothing: the first
 * error is kept in the set, and the attempt asks for it. */
#include "mapreduce/output/output.h"

#include <ctype.h>

#include "base/core/coding.h"
#include "base/core/panic.h"
#include "base/crypt/keyring.h"
#include "mapreduce/output/bulk_output.h"
#include "mapreduce/output/table_changes.h"
#include "mapreduce/records/record_writer.h"
#include "mapreduce/records/stream_writer.h"

/* Decimal digits and sign of an int64_t. */
#define NUMBER_BYTES_MAX 21

/* One file: the part, or a side file. */
struct sink {
    struct sink *next; /* The next side file. */
    char *name;        /* NULL for the part. */
    bool records;      /* Else text, */
    bool bulk;         /* or rows in SSTables. */
    struct bulk_part *rows;
    struct stream_writer text;
    struct record_writer record;
};

struct mr_output {
    struct output_set *set;
    const struct mr_spec *spec;
    const char *staging;
    struct sink part;
    struct sink *sides;
    size_t side_count;
    struct buf change; /* The change that mr_put() and the deletions build. */
};

struct output_set {
    struct output_context ctx;
    char *prefix;
    struct slice separator;
    struct mr_output *outputs;
    uint64_t records;
    uint64_t changes; /* Of tables. */
    uint64_t bytes;
    int code; /* The first misuse or failed open; sticky. */
    struct err err;
};

void output_path(struct buf *out,
                 const char *staging,
                 const char *prefix,
                 const char *side)
{
    buf_clear(out);
    buf_printf(out, "%s/.%s.%s%s", staging, prefix, side ? "side." : "part",
               side ? side : "");
}

/* The loan of @o; NULL: its files are not encrypted. */
static const struct key_loan *output_loan(const struct mr_output *o)
{
    const struct output_context *ctx = &o->set->ctx;
    size_t i = (size_t)(o - o->set->outputs);
    return i < ctx->loan_count && ctx->loans[i].key_id ? &ctx->loans[i] : NULL;
}

/* The keys for the records of @o. Owned; NULL: records that users read are not
 * encrypted. */
static struct keyring *records_keys(const struct mr_output *o)
{
    const struct output_context *ctx = &o->set->ctx;
    const struct key_loan *loan = output_loan(o);
    if (o->spec->scratch)
        return keyring_new_of(ctx->files.world, ctx->scratch_key);
    if (!loan || o->spec->kind != MR_SPEC_TABLE)
        return NULL;
    return keyring_new_borrowed(ctx->files.world, loan);
}

static int records_open(struct mr_output *o,
                        struct sink *s,
                        const char *path,
                        struct err *err)
{
    const struct output_context *ctx = &o->set->ctx;
    struct keyring *keys = records_keys(o);
    int rc = record_writer_open(&s->record, &ctx->files, path, ctx->level, err);
    if (rc == 0 && keys)
        rc = block_codec_encrypt(&s->record.codec, keys, err);
    keyring_unref(keys);
    return rc;
}

static int sink_open(struct mr_output *o, struct sink *s, struct err *err)
{
    const struct output_context *ctx = &o->set->ctx;
    struct buf path = BUF_INIT;
    int rc;
    if (ctx->take)
        return 0;
    output_path(&path, o->staging, o->set->prefix, s->name);
    s->bulk = o->spec->bulk;
    s->records = !s->bulk && o->spec->kind != MR_SPEC_FILE;
    if (s->bulk)
        rc = bulk_part_open(&ctx->files, o->staging, o->set->prefix, ctx->store,
                            output_loan(o), &s->rows, err);
    else if (s->records)
        rc = records_open(o, s, buf_cstr(&path), err);
    else
        rc = stream_writer_open(&s->text, &ctx->files, buf_cstr(&path), err);
    buf_close(&path);
    return rc;
}

/* The part of a bulk output is the list of its files. */
static int finish_rows(struct mr_output *o, struct sink *s, struct err *err)
{
    struct buf path = BUF_INIT;
    int rc;
    output_path(&path, o->staging, o->set->prefix, NULL);
    rc = bulk_part_finish(s->rows, buf_cstr(&path), err);
    buf_close(&path);
    return rc;
}

static int sink_finish(struct mr_output *o, struct sink *s, struct err *err)
{
    if (s->bulk)
        return finish_rows(o, s, err);
    if (s->records)
        return record_writer_finish(&s->record, true, err);
    return stream_writer_finish(&s->text, true, err);
}

static void sink_close(struct sink *s)
{
    stream_writer_close(&s->text);
    record_writer_close(&s->record);
    bulk_part_close(s->rows);
    mem_free(s->name);
}

int output_set_open(const struct output_context *ctx,
                    const char *prefix,
                    struct output_set **out,
                    struct err *err)
{
    PRE(prefix != NULL);
    struct output_set *s = mem_zalloc(1, sizeof(*s));
    int rc = 0;
    s->ctx = *ctx;
    s->prefix = mem_strdup(prefix);
    s->separator = slice_str(ctx->text_separator ? ctx->text_separator : "\t");
    s->outputs = mem_zalloc(ctx->count + 1, sizeof(*s->outputs));
    for (size_t i = 0; i < ctx->count && rc == 0; i++) {
        struct mr_output *o = &s->outputs[i];
        o->set = s;
        o->spec = &ctx->specs[i];
        o->staging = ctx->staging[i];
        rc = sink_open(o, &o->part, err);
    }
    *out = rc ? NULL : s;
    if (rc)
        output_set_close(s);
    return rc;
}

static void output_close(struct mr_output *o)
{
    while (o->sides) {
        struct sink *next = o->sides->next;
        sink_close(o->sides);
        mem_free(o->sides);
        o->sides = next;
    }
    sink_close(&o->part);
    buf_close(&o->change);
}

void output_set_close(struct output_set *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->ctx.count; i++)
        output_close(&s->outputs[i]);
    mem_free(s->outputs);
    mem_free(s->prefix);
    mem_free(s);
}

struct mr_output *output_set_find(struct output_set *s, const char *name)
{
    for (size_t i = 0; i < s->ctx.count; i++) {
        const char *n = s->ctx.specs[i].name;
        if (!name || (n && strcmp(n, name) == 0))
            return &s->outputs[i];
    }
    return NULL;
}

void output_set_misuse(struct output_set *s, const char *what)
{
    if (s->code == 0)
        s->code = err_set(&s->err, ERR_INVALID, "%s", what);
}

static int sink_error(const struct sink *s, struct err *err)
{
    const struct stream_writer *w = s->records ? &s->record.out : &s->text;
    return w->code ? err_copy(err, &w->err) : 0;
}

int output_set_error(const struct output_set *s, struct err *err)
{
    PRE(s->outputs != NULL);
    if (s->code)
        return err_copy(err, &s->err);
    for (size_t i = 0; i < s->ctx.count; i++) {
        int rc = sink_error(&s->outputs[i].part, err);
        if (rc)
            return rc;
    }
    return 0;
}

void output_set_forget(struct output_set *s)
{
    PRE(s->ctx.take != NULL);
    s->code = 0;
}

int output_set_finish(struct output_set *s, struct err *err)
{
    int rc = s->code ? err_copy(err, &s->err) : 0;
    for (size_t i = 0; i < s->ctx.count && rc == 0; i++) {
        struct mr_output *o = &s->outputs[i];
        rc = sink_finish(o, &o->part, err);
        for (struct sink *k = o->sides; k && rc == 0; k = k->next)
            rc = sink_finish(o, k, err);
    }
    POST(rc != 0 || s->code == 0);
    return rc;
}

uint64_t output_set_records(const struct output_set *s)
{
    return s->records;
}

uint64_t output_set_changes(const struct output_set *s)
{
    return s->changes;
}

uint64_t output_set_rows(const struct output_set *s)
{
    uint64_t rows = 0;
    for (size_t i = 0; i < s->ctx.count; i++)
        if (s->outputs[i].part.rows)
            rows += bulk_part_rows(s->outputs[i].part.rows);
    return rows;
}

uint64_t output_set_bytes(const struct output_set *s)
{
    return s->bytes;
}

void output_set_encode_sides(const struct output_set *s, struct buf *out)
{
    size_t count = 0;
    for (size_t i = 0; i < s->ctx.count; i++)
        count += s->outputs[i].side_count;
    buf_put_varint(out, count);
    for (size_t i = 0; i < s->ctx.count; i++)
        for (const struct sink *k = s->outputs[i].sides; k; k = k->next) {
            buf_put_varint(out, i);
            buf_put_lslice(out, slice_str(k->name));
        }
}

/* --- writing ------------------------------------------------------------- */

static void sink_text(struct mr_output *o,
                      struct sink *s,
                      struct slice key,
                      struct slice value)
{
    struct slice sep = o->set->separator;
    if (key.len > 0) {
        stream_writer_append(&s->text, key.data, key.len);
        stream_writer_append(&s->text, sep.data, sep.len);
    }
    stream_writer_append(&s->text, value.data, value.len);
    stream_writer_append(&s->text, "\n", 1);
}

static void
sink_write(struct mr_output *o, struct sink *s, struct slice k, struct slice v)
{
    PRE(!s->bulk);
    if (o->spec->kind == MR_SPEC_TABLE)
        o->set->changes++;
    else
        o->set->records++;
    o->set->bytes += k.len + v.len;
    if (!s->records)
        sink_text(o, s, k, v);
    else if (k.len > MR_KEY_BYTES_MAX || v.len > BLOCK_VALUE_BYTES_MAX)
        output_set_misuse(o->set, "wrote a key or value that is too long for "
                                  "a record file");
    else
        record_writer_add(&s->record, k, v);
}

/* Is there an output, and is it a table or not, as @table says? */
static bool check_kind(struct mr_output *o, bool table)
{
    if (!o)
        return false; /* mr_output() has recorded the misuse. */
    if ((o->spec->kind == MR_SPEC_TABLE) == table)
        return true;
    output_set_misuse(o->set, table ? "changed a row of an output that is "
                                      "no table"
                                    : "wrote a record to an output that is a "
                                      "table");
    return false;
}

void mr_write(struct mr_output *out, struct slice key, struct slice value)
{
    if (check_kind(out, false))
        sink_write(out, &out->part, key, value);
}

void mr_write_count(struct mr_output *out, struct slice key, int64_t count)
{
    char digits[NUMBER_BYTES_MAX];
    char *p = digits + sizeof(digits);
    uint64_t v = count < 0 ? 0 - (uint64_t)count : (uint64_t)count;
    do {
        *--p = (char)('0' + v % 10);
        v /= 10;
    } while (v > 0);
    if (count < 0)
        *--p = '-';
    mr_write(out, key, slice_make(p, (size_t)(digits + sizeof(digits) - p)));
}

static bool side_name_ok(const char *name)
{
    size_t n = strlen(name);
    if (n == 0 || n > 64 || name[0] == '.' || strncmp(name, "part", 4) == 0)
        return false;
    for (size_t i = 0; i < n; i++)
        if (!isalnum((unsigned char)name[i]) && !strchr("_-.", name[i]))
            return false;
    return true;
}

static struct sink *side_open(struct mr_output *o, const char *name)
{
    PRE(o->side_count <= MR_SIDE_FILES_MAX);
    struct sink *s = NULL;
    if (!side_name_ok(name)) {
        output_set_misuse(o->set, "side file with an impossible name");
    } else if (o->side_count == MR_SIDE_FILES_MAX) {
        output_set_misuse(o->set, "too many side files");
    } else {
        s = mem_zalloc(1, sizeof(*s));
        s->name = mem_strdup(name);
        s->next = o->sides;
        o->sides = s;
        o->side_count++;
        if (o->set->code == 0)
            o->set->code = sink_open(o, s, &o->set->err);
    }
    return o->set->code ? NULL : s;
}

void mr_write_side(struct mr_output *out,
                   const char *name,
                   struct slice key,
                   struct slice value)
{
    struct sink *s;
    if (!check_kind(out, false))
        return;
    for (s = out->sides; s; s = s->next)
        if (strcmp(s->name, name) == 0)
            break;
    if (!s)
        s = side_open(out, name);
    if (s && out->set->code == 0)
        sink_write(out, s, key, value);
}

bool mr_output_is_table(const struct mr_output *out)
{
    return out && out->spec->kind == MR_SPEC_TABLE;
}

bool mr_output_is_records(const struct mr_output *out)
{
    return out && out->spec->kind == MR_SPEC_RECORDS;
}

/* --- changes of tables --------------------------------------------------- */

static void
bulk_write(struct mr_output *o, struct slice row, const struct table_change *c)
{
    PRE(o->part.rows != NULL);
    struct output_set *s = o->set;
    if (c->kind != TABLE_PUT) {
        output_set_misuse(s, "deleted from a table that is written with "
                             "bulk=yes: it takes cells alone");
    } else if (s->code == 0) {
        s->code = bulk_part_put(o->part.rows, row, c->family, c->qualifier,
                                c->timestamp_us, c->value, &s->err);
        s->changes++;
        s->bytes += row.len + c->qualifier.len + c->value.len;
    }
}

static void take_change(struct mr_output *o,
                        struct slice row,
                        const struct table_change *change)
{
    struct output_set *s = o->set;
    if (s->code == 0)
        s->code = s->ctx.take(s->ctx.take_ctx, row, change, &s->err);
}

static void change_write(struct mr_output *o,
                         struct slice row,
                         const struct table_change *change)
{
    if (!check_kind(o, true))
        return;
    if (row.len == 0 || row.len > MR_KEY_BYTES_MAX) {
        output_set_misuse(o->set, "changed a row whose name is empty or too "
                                  "long");
    } else if (o->set->ctx.take) {
        take_change(o, row, change);
    } else if (o->part.bulk) {
        bulk_write(o, row, change);
    } else {
        buf_clear(&o->change);
        table_change_encode(change, &o->change);
        sink_write(o, &o->part, row, buf_slice(&o->change));
    }
}

void mr_put(struct mr_output *out,
            struct slice row,
            const char *family,
            struct slice qualifier,
            int64_t timestamp_us,
            struct slice value)
{
    struct table_change c = {TABLE_PUT, slice_str(family), qualifier,
                             timestamp_us, value};
    if (out && timestamp_us == MR_JOB_TIME)
        c.timestamp_us = out->set->ctx.job_time_us;
    change_write(out, row, &c);
}

void mr_delete_column(struct mr_output *out,
                      struct slice row,
                      const char *family,
                      struct slice qualifier)
{
    struct table_change c = {TABLE_DELETE_COLUMN, slice_str(family), qualifier,
                             0, SLICE_EMPTY};
    change_write(out, row, &c);
}

void mr_delete_family(struct mr_output *out,
                      struct slice row,
                      const char *family)
{
    struct table_change c = {TABLE_DELETE_FAMILY, slice_str(family),
                             SLICE_EMPTY, 0, SLICE_EMPTY};
    change_write(out, row, &c);
}

void mr_delete_row(struct mr_output *out, struct slice row)
{
    struct table_change c = {TABLE_DELETE_ROW, SLICE_EMPTY, SLICE_EMPTY, 0,
                             SLICE_EMPTY};
    change_write(out, row, &c);
}
