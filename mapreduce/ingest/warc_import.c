/* `import warc`: archives into a Webtable. Each task reads one file at a time,
 * decompresses, parses and writes it; the engine's own tasks compress the rows,
 * so that one file already keeps two processors busy. */
#include <stdio.h>

#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "mapreduce/ingest/wacz_input.h"
#include "mapreduce/ingest/webtable.h"
#include "mapreduce/warc/archive_reader.h"
#include "mapreduce/warc/segments.h"

/* Segments waiting for the others of their record, over all files. */
#define SEGMENT_BYTES_MAX ((size_t)512 << 20)
/* Records between two additions to the run's counts. */
#define COUNT_EVERY 64

struct warc_import {
    struct revisits *revisits;
    struct mutex lock; /* Of the segments. */
    struct segments *segments;
};

/* One file being read. */
struct warc_file {
    struct run *run;
    struct warc_import *import;
    size_t index;
    struct run_input input;
    struct warc_reader *reader;
    struct pages *pages;
    uint64_t in_told;
    uint64_t out_told;
    struct wacz_input *wacz; /* The file is one; else NULL. */
    const char *member;      /* Of the archive in it. */
};

static int
read_input(void *ctx, void *dst, size_t len, size_t *got, struct err *err)
{
    struct warc_file *f = ctx;
    return run_input_read(&f->input, dst, len, got, err);
}

static void on_damage(void *ctx, uint64_t offset, const char *reason, bool lost)
{
    struct warc_file *f = ctx;
    char text[400];
    if (f->member) {
        snprintf(text, sizeof(text), "%.200s: %.190s", f->member, reason);
        reason = text;
    }
    run_damage(f->run, f->index, offset, lost, reason);
}

/* A segment: kept, or the whole record it completes written. */
static int
put_segment(struct warc_file *f, const struct warc_record *rec, struct err *err)
{
    const struct warc_record *whole;
    enum segments_answer answer;
    int rc = 0;
    mutex_lock(&f->import->lock);
    answer = segments_add(f->import->segments, rec, &whole);
    if (answer == SEGMENTS_COMPLETE)
        rc = pages_put(f->pages, whole, err);
    mutex_unlock(&f->import->lock);
    if (answer == SEGMENTS_FULL)
        on_damage(f, rec->offset, "segment does not fit into memory, skipped",
                  true);
    else if (answer == SEGMENTS_BAD)
        on_damage(f, rec->offset,
                  "segment without origin, or there already, skipped", true);
    return rc;
}

static int warc_count(struct warc_file *f, struct err *err)
{
    struct run_counts *c = pages_counts(f->pages);
    uint64_t in = warc_reader_bytes_in(f->reader);
    uint64_t out = warc_reader_bytes_out(f->reader);
    c->bytes_read += in - f->in_told;
    c->bytes_decoded += out - f->out_told;
    f->in_told = in;
    f->out_told = out;
    return run_count(f->run, c, err);
}

static int read_records(struct warc_file *f, struct err *err)
{
    const struct warc_record *rec;
    uint64_t n = 0;
    int rc;
    while ((rc = warc_reader_next(f->reader, &rec, err)) == 0 && rec) {
        pages_counts(f->pages)->records++;
        if (segments_is_one(rec))
            rc = put_segment(f, rec, err);
        else
            rc = pages_put(f->pages, rec, err);
        if (rc == 0 && ++n % COUNT_EVERY == 0)
            rc = warc_count(f, err);
        if (rc)
            return rc;
    }
    if (rc == 0)
        rc = pages_end_archive(f->pages, err);
    return rc;
}

/* --- archives in a WACZ -------------------------------------------------- */

static void on_wacz_damage(void *ctx, const char *reason, bool lost)
{
    struct warc_file *f = ctx;
    run_damage(f->run, f->index, 0, lost, reason);
}

static int
read_wacz_piece(void *ctx, void *dst, size_t len, size_t *got, struct err *err)
{
    struct warc_file *f = ctx;
    return wacz_read(f->wacz, dst, len, got, err);
}

/* Read one archive; one that is none is reported. */
static int read_member(struct warc_file *f,
                       const struct warc_reader_options *opts,
                       struct err *err)
{
    struct err why = ERR_INIT;
    int rc;
    warc_reader_reset(f->reader, opts);
    f->in_told = f->out_told = 0;
    rc = read_records(f, &why);
    if (rc == ERR_CORRUPT && !run_stopped(f->run)) {
        on_damage(f, 0, why.text, true);
        rc = 0;
    }
    if (rc && err)
        *err = why;
    if (rc == 0)
        rc = warc_count(f, err);
    if (rc == 0)
        rc = wacz_end_member(f->wacz, err);
    return rc;
}

static int read_wacz(struct warc_file *f,
                     const struct warc_reader_options *opts,
                     struct err *err)
{
    struct warc_reader_options inner = *opts;
    struct buf member = BUF_INIT;
    int rc = wacz_open(f->input.file, f->input.size_bytes, on_wacz_damage, f,
                       &f->wacz, err);
    inner.read = read_wacz_piece;
    inner.size_bytes = 0;
    while (rc == 0) {
        struct slice name;
        rc = wacz_next(f->wacz, &name, err);
        if (rc || name.len == 0)
            break;
        buf_clear(&member);
        buf_append_slice(&member, name);
        f->member = buf_cstr(&member);
        pages_start_member(f->pages, f->index, f->member);
        rc = read_member(f, &inner, err);
    }
    f->member = NULL;
    wacz_close(f->wacz);
    buf_close(&member);
    return rc;
}

/* --- files --------------------------------------------------------------- */

static int is_wacz(struct warc_file *f, bool *is, struct err *err)
{
    char head[4];
    size_t got = 0;
    int rc = file_read_at(f->input.file, 0, head, sizeof(head), &got, err);
    *is = rc == 0 && wacz_is_zip(slice_make(head, got));
    return rc;
}

static int read_file(struct run *run, size_t index, struct err *err)
{
    struct warc_file f = {
        .run = run,
        .import = run->kind,
        .index = index,
    };
    struct warc_reader_options opts = {
        .read = read_input,
        .ctx = &f,
        .on_damage = on_damage,
        .block_bytes_max = run->opts.page_bytes_max + ((uint64_t)1 << 20),
        .verify = run->opts.verify_digests,
    };
    bool packed = false;
    int rc = run_input_open(run, index, &f.input, err);
    if (rc)
        return rc;
    opts.size_bytes = f.input.size_bytes;
    f.reader = warc_reader_new(&opts);
    f.pages = pages_new(run, f.import->revisits);
    pages_start_file(f.pages, index);
    rc = is_wacz(&f, &packed, err);
    if (rc == 0)
        rc = packed ? read_wacz(&f, &opts, err) : read_records(&f, err);
    if (rc == 0 && !packed)
        rc = warc_count(&f, err);
    if (rc == 0)
        rc = pages_flush(f.pages, err);
    pages_free(f.pages);
    warc_reader_free(f.reader);
    run_input_close(&f.input);
    return rc;
}

/* Segments whose others never came: joined ones are kept, the loss is reported.
 */
static int
put_incomplete(struct run *run, struct warc_import *import, struct err *err)
{
    const struct warc_record *first;
    struct slice id;
    struct pages *pages = pages_new(run, import->revisits);
    int rc = 0;
    pages_start_file(pages, run->path_count - 1);
    while (rc == 0 && segments_take_incomplete(import->segments, &id, &first)) {
        char text[200];
        snprintf(text, sizeof(text), "segments of record %.*s are missing",
                 (int)MIN_OF(id.len, (size_t)120), id.data);
        run_damage(run, run->path_count - 1, first ? first->offset : 0, true,
                   text);
        if (first)
            rc = pages_put(pages, first, err);
    }
    if (rc == 0)
        rc = pages_end_archive(pages, err);
    if (rc == 0)
        rc = pages_flush(pages, err);
    pages_free(pages);
    return rc;
}

int ingest_warc(const struct ingest_job *job,
                struct ingest_report *report,
                struct err *err)
{
    struct run run;
    struct warc_import import = {0};
    int rc = run_open(&run, job, &webtable_shape, report, err);
    if (rc == 0) {
        import.revisits = revisits_new(&run);
        import.segments = segments_new(SEGMENT_BYTES_MAX);
        mutex_init(&import.lock);
        run.kind = &import;
        run.read_file = read_file;
        run.skips_other_kinds = true;
        rc = run_files(&run, err);
        if (rc == 0)
            rc = put_incomplete(&run, &import, err);
        if (rc == 0)
            rc = revisits_fill(import.revisits, err);
        mutex_close(&import.lock);
        segments_free(import.segments);
        revisits_free(import.revisits);
    }
    return run_close(&run, rc, err);
}
