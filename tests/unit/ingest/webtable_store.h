/* A store that archives are imported into, its cells looked up and summed up;
 * for the tests of imports and exports. */
#ifndef TESTS_UNIT_INGEST_WEBTABLE_STORE_H
#define TESTS_UNIT_INGEST_WEBTABLE_STORE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/core/hash.h"
#include "bigtable/quarry.h"
#include "mapreduce/ingest/ingest.h"
#include "tests/unit/warc/archive_build.h"

/* --- the store ----------------------------------------------------------- */

/* One directory for all files of a test. */
UNUSED_HERE static const char *work_dir(void)
{
    static const char *dir;
    if (!dir)
        dir = test_tmpdir();
    return dir;
}

struct store {
    struct quarry *q;
    struct quarry_table *t;
    struct ingest_report report;
    char dir[400];
    int files;
};

UNUSED_HERE static void store_open(struct store *s)
{
    static int number;
    char target[500];
    struct err err = ERR_INIT;
    memset(s, 0, sizeof(*s));
    snprintf(s->dir, sizeof(s->dir), "%s/store%d", work_dir(), number++);
    snprintf(target, sizeof(target), "file:%s", s->dir);
    ck_assert_msg(quarry_open(target, NULL, &s->q, &err) == 0, "%s", err.text);
}

UNUSED_HERE static void store_close(struct store *s)
{
    ingest_report_free(&s->report);
    if (s->t)
        quarry_table_close(s->t);
    quarry_close(s->q);
}

UNUSED_HERE static void write_file(const char *path, struct slice s)
{
    FILE *f = fopen(path, "wb");
    ck_assert_ptr_nonnull(f);
    ck_assert_uint_eq(fwrite(s.data, 1, s.len, f), s.len);
    fclose(f);
}

UNUSED_HERE static void import_paths(struct store *s,
                                     const char *const *paths,
                                     size_t count,
                                     const struct ingest_options *opts)
{
    const struct ingest_job job = {.q = s->q,
                                   .table = "web",
                                   .paths = paths,
                                   .path_count = count,
                                   .opts = opts};
    struct err err = ERR_INIT;
    ingest_report_free(&s->report);
    ck_assert_msg(ingest_warc(&job, &s->report, &err) == 0, "%s", err.text);
    if (!s->t)
        ck_assert_int_eq(quarry_table_open(s->q, "web", &s->t, &err), 0);
}

UNUSED_HERE static void
import_text(struct store *s, const char *name, struct slice text)
{
    char path[500];
    const char *paths[] = {path};
    snprintf(path, sizeof(path), "%s/%s", work_dir(), name);
    write_file(path, text);
    import_paths(s, paths, 1, NULL);
}

/* Value of a cell, or NULL; owned. @time_us INT64_MIN: the newest. */
UNUSED_HERE static char *cell(struct store *s,
                              const char *row,
                              const char *family,
                              const char *qualifier,
                              int64_t time_us)
{
    struct quarry_row *r;
    char *out = NULL;
    ck_assert_int_eq(quarry_read_row(s->t, slice_str(row), NULL, &r, NULL), 0);
    for (size_t i = 0; r && i < r->cell_count && !out; i++) {
        const struct quarry_cell *c = &r->cells[i];
        if (slice_eq_str(c->family, family) &&
            slice_eq_str(c->qualifier, qualifier) &&
            (time_us == INT64_MIN || c->timestamp_us == time_us))
            out = strndup(c->value.len ? c->value.data : "", c->value.len);
    }
    quarry_row_free(r);
    return out;
}

UNUSED_HERE static void expect_at(struct store *s,
                                  const char *row,
                                  const char *family,
                                  const char *qualifier,
                                  int64_t time_us,
                                  const char *want)
{
    char *got = cell(s, row, family, qualifier, time_us);
    if (!want)
        ck_assert_msg(!got, "%s %s:%s: %s", row, family, qualifier, got);
    else
        ck_assert_msg(got && strcmp(got, want) == 0, "%s %s:%s: %s, not %s",
                      row, family, qualifier, got ? got : "(none)", want);
    free(got);
}

/* Time of the newest cell with that value, which must be there. */
UNUSED_HERE static int64_t cell_time(struct store *s,
                                     const char *row,
                                     const char *family,
                                     const char *qualifier,
                                     const char *value)
{
    struct quarry_row *r;
    int64_t us = INT64_MIN;
    ck_assert_int_eq(quarry_read_row(s->t, slice_str(row), NULL, &r, NULL), 0);
    for (size_t i = 0; r && i < r->cell_count && us == INT64_MIN; i++)
        if (slice_eq_str(r->cells[i].family, family) &&
            slice_eq_str(r->cells[i].qualifier, qualifier) &&
            slice_eq_str(r->cells[i].value, value))
            us = r->cells[i].timestamp_us;
    quarry_row_free(r);
    ck_assert_msg(us != INT64_MIN, "no %s:%s %s in %s", family, qualifier,
                  value, row);
    return us;
}

UNUSED_HERE static void expect(struct store *s,
                               const char *row,
                               const char *family,
                               const char *qualifier,
                               const char *want)
{
    expect_at(s, row, family, qualifier, INT64_MIN, want);
}

/* A hash of every cell of the table, and their number. */
UNUSED_HERE static uint64_t table_hash(struct store *s, size_t *cells)
{
    struct quarry_scanner *scan;
    const struct quarry_row *row;
    uint64_t h = 0;
    *cells = 0;
    ck_assert_int_eq(quarry_scan(s->t, NULL, &scan, NULL), 0);
    while (quarry_scanner_next(scan, &row, NULL) == 0 && row) {
        h = hash64(row->key.data, row->key.len, h);
        for (size_t i = 0; i < row->cell_count; i++) {
            const struct quarry_cell *c = &row->cells[i];
            h = hash64(c->family.data, c->family.len, h);
            h = hash64(c->qualifier.data, c->qualifier.len, h);
            h = hash64(&c->timestamp_us, 8, h);
            h = hash64(c->value.data, c->value.len, h);
            ++*cells;
        }
    }
    quarry_scanner_close(scan);
    return h;
}

/* --- records ------------------------------------------------------------- */

UNUSED_HERE static void add(struct buf *b,
                            const char *type,
                            const char *uri,
                            const char *date,
                            const char *more,
                            const char *block)
{
    buf_printf(b,
               "WARC/1.0\r\nWARC-Type: %s\r\nWARC-Target-URI: %s\r\n"
               "WARC-Date: %s\r\n%sContent-Length: %zu\r\n\r\n%s\r\n\r\n",
               type, uri, date, more, strlen(block), block);
}

#define HTTP "Content-Type: application/http; msgtype=response\r\n"
/* 2024-01-01T00:00:00Z */
#define T0     INT64_C(1704067200000000)
#define SECOND INT64_C(1000000)

#endif /* TESTS_UNIT_INGEST_WEBTABLE_STORE_H */
