/* Lines of text. A line belongs to the split in which it begins, so a split
 * that starts inside the file first drops the rest of the line before.
 *
 * Where a compressed file is damaged, the line that breaks off and the one that
 * may continue after the damage are dropped: half a line is not a record.
 *
 * Invariants of struct text_reader:
 *
 * INV-1. begin <= filled <= cap.
 * INV-2. offset is the place in the text of buf[begin]. Both kept by
 *        text_fill() and the functions that take lines.
 */
#include <string.h>

#include "base/core/panic.h"
#include "gfs-lite/gfs.h" /* GFS_CHUNK_BYTES */
#include "mapreduce/input/formats.h"
#include "mapreduce/input/input.h"
#include "mapreduce/records/byte_source.h"
#include "mapreduce/records/pair_block.h"

#define TEXT_READ_BYTES ((size_t)1 << 20)
/* Bytes read after a split for the end of its last line; twice as many each
 * time the line continues. */
#define TEXT_TAIL_BYTES ((size_t)4 << 10)
/* A longer line could not be emitted anyway. */
#define LINE_BYTES_MAX BLOCK_VALUE_BYTES_MAX

struct text_reader {
    struct input_reader base;
    struct byte_source *source;
    const char *path; /* Borrowed from the split. */
    char *buf;        /* Owned. */
    size_t cap;
    size_t begin; /* [begin, filled) has not been given out. */
    size_t filled;
    uint64_t offset; /* In the text of buf[begin]. */
    uint64_t split_begin;
    uint64_t split_end; /* Lines from here on belong to the next split. */
    size_t tail;        /* Bytes to read beyond that. */
    bool ended;         /* No more bytes come from the source. */
    bool torn;          /* The next byte may be inside a line. */
};

/* Where a split that begins at @at ends. There is no tiny last split: it joins
 * the one before, unless that crossed a chunk, whose copies are elsewhere. */
static uint64_t
split_end(const struct input_context *ctx, uint64_t at, uint64_t bytes)
{
    uint64_t each = MAX_OF(ctx->split_bytes, (uint64_t)1);
    uint64_t chunk = (at / GFS_CHUNK_BYTES + 1) * GFS_CHUNK_BYTES;
    uint64_t end = bytes - at < each + each / 8 ? bytes : at + each;
    return ctx->files.fs ? MIN_OF(end, chunk) : end;
}

static int text_plan(const struct input_context *ctx,
                     unsigned input,
                     const char *path,
                     struct input_splits *splits,
                     struct err *err)
{
    enum byte_compression compression;
    size_t first = splits->count;
    uint64_t bytes;
    int rc = byte_source_probe(&ctx->files, path, &compression, &bytes, err);
    if (rc)
        return rc;
    for (uint64_t at = 0; at < bytes;) {
        uint64_t end =
            compression == BYTES_PLAIN ? split_end(ctx, at, bytes) : bytes;
        struct input_split *s = input_splits_add(splits, input, path);
        s->compression = compression;
        s->begin = at;
        s->end = end;
        s->bytes = end - at;
        at = end;
    }
    return input_splits_locate(splits, first, &ctx->files, path, err);
}

/* Skip damage of the compression, which @why names. */
static int
pass_over(struct text_reader *r, const struct err *why, struct err *err)
{
    uint64_t bytes = 0;
    int rc = byte_source_resync(r->source, &bytes, err);
    if (rc)
        return rc;
    damage_add(&r->base.damage, r->filled > 0, "%s; %llu bytes skipped",
               why->text, (unsigned long long)bytes);
    r->offset += r->filled;
    r->filled = 0;
    r->torn = true;
    return r->base.damage.places <= DAMAGE_PLACES_MAX ? 0 : err_copy(err, why);
}

/* Bytes to request from the source: not much more than the split, which may be
 * small in a large file. The end of a compressed file is unknown until it is
 * reached. */
static size_t next_read(struct text_reader *r)
{
    uint64_t at = byte_source_offset(r->source);
    if (at >= r->split_end)
        r->tail = MIN_OF(2 * r->tail, TEXT_READ_BYTES);
    return (size_t)MIN_OF(r->split_end - MIN_OF(at, r->split_end) + r->tail,
                          (uint64_t)TEXT_READ_BYTES);
}

/* Read bytes from the source after those in the buffer. PRE: begin is 0, and no
 * line ends in the buffer. */
static int text_read(struct text_reader *r, size_t *got, struct err *err)
{
    size_t bytes = next_read(r);
    for (;;) {
        struct err why = ERR_INIT;
        int rc =
            byte_source_read(r->source, r->buf + r->filled, bytes, got, &why);
        if (rc == 0)
            return 0;
        *got = 0;
        if (rc != ERR_CORRUPT)
            return err_copy(err, &why);
        rc = pass_over(r, &why, err);
        if (rc)
            return rc;
    }
}

/* Read more bytes, moving and growing the buffer as needed. */
static int text_fill(struct text_reader *r, struct err *err)
{
    size_t got = 0;
    int rc;
    if (r->begin > 0) {
        memmove(r->buf, r->buf + r->begin, r->filled - r->begin);
        r->filled -= r->begin;
        r->begin = 0;
    }
    if (r->cap - r->filled < TEXT_READ_BYTES) {
        if (r->filled > LINE_BYTES_MAX)
            return err_set(err, ERR_TOOBIG,
                           "%s: line at offset %llu is longer than %zu bytes",
                           r->path, (unsigned long long)r->offset,
                           LINE_BYTES_MAX);
        r->cap = 2 * r->cap;
        r->buf = mem_realloc(r->buf, r->cap);
    }
    rc = text_read(r, &got, err);
    r->filled += got;
    r->ended = got == 0;
    r->base.bytes_done = byte_source_offset(r->source) - r->split_begin;
    INVARIANT(r->begin == 0 && r->filled <= r->cap); /* INV-1 */
    return rc;
}

/* The end of the line at begin, after its line break or at the end of the text.
 */
static int line_end(struct text_reader *r, size_t *end, struct err *err)
{
    size_t seen = 0;
    for (;;) {
        const char *start = r->buf + r->begin + seen;
        size_t left = r->filled - r->begin - seen;
        const char *nl = left ? memchr(start, '\n', left) : NULL;
        uint64_t places;
        int rc;
        if (nl || r->ended) {
            *end = nl ? (size_t)(nl - r->buf) + 1 : r->filled;
            return 0;
        }
        seen = r->filled - r->begin;
        places = r->base.damage.places;
        rc = text_fill(r, err);
        if (rc)
            return rc;
        if (r->base.damage.places != places)
            seen = 0;
    }
}

static int drop_line(struct text_reader *r, struct err *err)
{
    size_t end = 0;
    int rc = line_end(r, &end, err);
    r->offset += end - r->begin;
    r->begin = end;
    return rc;
}

/* As line_end(), but first skip the rest of a line that damage cut. */
static int whole_line_end(struct text_reader *r, size_t *end, struct err *err)
{
    int rc = line_end(r, end, err);
    while (rc == 0 && r->torn) {
        r->torn = false;
        rc = drop_line(r, err);
        if (rc == 0)
            rc = line_end(r, end, err);
    }
    return rc;
}

static int text_next(struct input_reader *base,
                     struct mr_record *record,
                     bool *more,
                     struct err *err)
{
    struct text_reader *r = (struct text_reader *)base;
    size_t end = 0;
    size_t len;
    int rc = 0;
    *more = false;
    if (r->offset >= r->split_end)
        return 0;
    rc = whole_line_end(r, &end, err);
    if (rc || end == r->begin)
        return rc;
    len = end - r->begin;
    record->offset = r->offset;
    record->key = SLICE_EMPTY;
    record->value = slice_make(r->buf + r->begin, len);
    r->offset += len;
    r->begin = end;
    if (record->value.data[len - 1] == '\n')
        len -= len > 1 && record->value.data[len - 2] == '\r' ? 2 : 1;
    record->value.len = len;
    *more = true;
    return 0;
}

static void text_close(struct input_reader *base)
{
    struct text_reader *r = (struct text_reader *)base;
    byte_source_close(r->source);
    mem_free(r->buf);
    mem_free(r);
}

/* Start at the first line that begins in the split: the byte before the split
 * tells whether its first byte begins one. */
static int drop_partial_line(struct text_reader *r, struct err *err)
{
    return r->offset == 0 ? 0 : drop_line(r, err);
}

static int text_open(const struct input_context *ctx,
                     const struct input_split *split,
                     struct input_reader **out,
                     struct err *err)
{
    struct text_reader *r = mem_zalloc(1, sizeof(*r));
    bool plain = split->compression == BYTES_PLAIN;
    int rc;
    *out = NULL;
    r->base.next = text_next;
    r->base.close = text_close;
    r->path = split->path;
    r->cap = 2 * TEXT_READ_BYTES;
    r->buf = mem_alloc(r->cap);
    r->split_begin = split->begin;
    r->split_end = plain ? split->end : UINT64_MAX - TEXT_READ_BYTES;
    r->tail = TEXT_TAIL_BYTES;
    r->offset = plain && split->begin > 0 ? split->begin - 1 : 0;
    rc = byte_source_open(&ctx->files, split->path, split->compression,
                          r->offset, &r->source, err);
    if (rc == 0)
        rc = drop_partial_line(r, err);
    if (rc)
        input_reader_close(&r->base);
    else
        *out = &r->base;
    return rc;
}

const struct input_format input_format_text = {
    .kind = MR_SPEC_FILE,
    .prefix = "file:",
    .usage = "file:GLOB",
    .output = "file:DIR",
    .is_glob = true,
    .plan = text_plan,
    .open = text_open,
};
