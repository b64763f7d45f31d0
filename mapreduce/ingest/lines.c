/* Lines of a text file, compressed or not: the decompression is that of
 * archives, with its recovery from damage. A line that damage has cut is no
 * line: what is left of it must not be taken for a row. */
#include <string.h>

#include "base/core/panic.h"
#include "mapreduce/ingest/ingest_run.h"
#include "mapreduce/ingest/text_check.h"
#include "mapreduce/warc/decompress.h"

#define LINE_BYTES_MAX ((size_t)64 << 20)

struct run_lines {
    struct run *run;
    size_t index;
    struct run_input input;
    struct decompressor decompressor;
    bool mute;
    size_t hold;     /* Bytes of the line given out. */
    uint64_t number; /* Of that line, from 1. */
};

static int
read_input(void *ctx, void *dst, size_t len, size_t *got, struct err *err)
{
    struct run_lines *l = ctx;
    return run_input_read(&l->input, dst, len, got, err);
}

static void on_damage(void *ctx, uint64_t offset, const char *reason, bool lost)
{
    struct run_lines *l = ctx;
    if (!l->mute)
        run_damage(l->run, l->index, offset, lost, reason);
}

int run_lines_open(struct run *run,
                   size_t index,
                   struct run_lines **out,
                   struct err *err)
{
    struct run_lines *l = mem_zalloc(1, sizeof(*l));
    struct warc_reader_options opts = {
        .read = read_input, .ctx = l, .on_damage = on_damage};
    int rc = run_input_open(run, index, &l->input, err);
    *out = NULL;
    if (rc) {
        mem_free(l);
        return rc;
    }
    l->run = run;
    l->index = index;
    decompress_init(&l->decompressor);
    decompress_start(&l->decompressor, &opts);
    *out = l;
    return 0;
}

void run_lines_close(struct run_lines *l)
{
    if (!l)
        return;
    decompress_close(&l->decompressor);
    run_input_close(&l->input);
    mem_free(l);
}

uint64_t run_lines_bytes_in(const struct run_lines *l)
{
    return l->decompressor.in_offset + l->decompressor.in_begin;
}

int run_lines_head(struct run_lines *l, struct slice *head, struct err *err)
{
    int rc = decompress_need(&l->decompressor, TEXT_CHECK_BYTES, err);
    *head = slice_make(
        decompress_data(&l->decompressor),
        MIN_OF(decompress_avail(&l->decompressor), TEXT_CHECK_BYTES));
    return rc;
}

void run_lines_mute(struct run_lines *l)
{
    l->mute = true;
}

bool run_lines_damaged(const struct run_lines *l)
{
    return l->decompressor.damaged;
}

/* The line is too long: drop it up to its end. */
static int skip_long_line(struct run_lines *l, struct err *err)
{
    l->number++;
    run_refuse(l->run, l->index,
               &(struct run_line){.offset = decompress_pos(&l->decompressor),
                                  .number = l->number},
               true, "line over 64 MiB, skipped");
    for (;;) {
        const char *nl;
        size_t n = decompress_avail(&l->decompressor);
        int rc;
        nl = n ? memchr(decompress_data(&l->decompressor), '\n', n) : NULL;
        decompress_consume(
            &l->decompressor,
            nl ? (size_t)(nl - decompress_data(&l->decompressor)) + 1 : n);
        if (nl)
            return 0;
        rc = decompress_need(&l->decompressor, 1, err);
        if (rc || decompress_avail(&l->decompressor) == 0)
            return rc;
    }
}

/* Did damage take the beginning or the end of the @len bytes at hand? */
static bool is_cut(const struct run_lines *l, size_t len)
{
    const struct decompressor *u = &l->decompressor;
    const struct decompress_mark *m;
    if (!u->damaged)
        return false;
    m = decompress_mark_from(u, decompress_pos(u), DECOMPRESS_GAP);
    return m && m->pos <= decompress_pos(u) + len;
}

/* The @len bytes at hand as a line. */
static struct slice take_line(struct run_lines *l, size_t len)
{
    const char *p = decompress_data(&l->decompressor);
    struct slice line = slice_make(p, len);
    if (len && p[len - 1] == '\r')
        line = slice_sub(line, 0, len - 1);
    if (l->number++ == 0 && slice_starts_with(line, SLICE_LIT("\xef\xbb\xbf")))
        line = slice_sub(line, 3, line.len); /* The mark of UTF-8. */
    return line;
}

int run_lines_next(struct run_lines *l, struct run_line *line, struct err *err)
{
    struct decompressor *u = &l->decompressor;
    size_t seen = 0;
    decompress_consume(u, l->hold);
    l->hold = 0;
    line->number = 0;
    for (;;) {
        size_t n = decompress_avail(u);
        const char *nl =
            n > seen ? memchr(decompress_data(u) + seen, '\n', n - seen) : NULL;
        int rc;
        if (nl || (u->done && n > 0)) {
            size_t len = nl ? (size_t)(nl - decompress_data(u)) : n;
            line->offset = decompress_pos(u);
            line->text = take_line(l, len);
            line->number = l->number;
            l->hold = nl ? len + 1 : len;
            line->raw = slice_make(decompress_data(u), l->hold);
            if (!is_cut(l, len))
                return 0;
            run_refuse(l->run, l->index, line, true,
                       "line cut by damage of the compression, skipped");
            decompress_consume(u, l->hold);
            l->hold = 0;
            line->number = 0;
            seen = 0;
            continue;
        }
        if (u->done)
            return 0;
        seen = n;
        if (n > LINE_BYTES_MAX) {
            rc = skip_long_line(l, err);
            seen = 0;
        } else {
            rc = decompress_need(u, n + 1, err);
        }
        if (rc)
            return rc;
    }
}
