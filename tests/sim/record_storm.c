/* Records with numbers, whose bytes follow from them. */
#include "tests/sim/record_storm.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "gfs-lite/gfs.h"

enum {
    FILES = 2
};

#define RECORD_BYTES_MAX 5000

/* One that was acknowledged. */
struct record {
    uint64_t number;
    size_t file;
    uint64_t offset;
    uint64_t at_us;
};

struct record_storm {
    struct storm *storm;
    struct sim_cell *cell;
    const struct file_model *model;
    uint64_t count; /* Numbers given out. */
    struct record *records;
    size_t record_count;
    size_t record_cap;
};

static const char *const paths[FILES] = {"r/0", "r/1"};

static void put_record(uint64_t number, struct buf *out)
{
    struct rand_gen r;
    size_t len;
    rand_init(&r, number);
    len = 1 + rand_below(&r, RECORD_BYTES_MAX);
    while (out->len < len) {
        uint64_t word = rand_u64(&r);
        buf_append(out, &word, MIN_OF(sizeof(word), len - out->len));
    }
}

static void keep(struct record_storm *s, struct record r)
{
    if (s->record_count == s->record_cap) {
        s->record_cap = s->record_cap ? s->record_cap * 2 : 64;
        s->records =
            mem_realloc(s->records, s->record_cap * sizeof(*s->records));
    }
    s->records[s->record_count++] = r;
}

static void
append_one(struct record_storm *s, struct storm_client *c, struct fs *fs)
{
    struct record r = {.number = ++s->count,
                       .file = rand_below(&c->rand, FILES)};
    struct buf bytes = BUF_INIT;
    int rc;
    put_record(r.number, &bytes);
    rc = gfs_record_append(fs, paths[r.file], buf_slice(&bytes), &r.offset,
                           NULL);
    buf_close(&bytes);
    r.at_us = storm_now_us();
    if (rc == 0) {
        sim_note(s->storm->sim, "record %" PRIu64 " of %s is at %" PRIu64,
                 r.number, paths[r.file], r.offset);
        keep(s, r);
    }
    s->storm->call_count++;
}

/* Is it there? It must be, if too few servers failed for it to be lost. */
static int
check_record(struct record_storm *s, struct fs *fs, const struct record *r)
{
    bool safe = file_model_was_safe(s->model, r->at_us);
    struct fs_reader *reader;
    struct buf want = BUF_INIT;
    char *bytes;
    size_t got = 0;
    int rc = fs_open(fs, paths[r->file], &reader, NULL);
    STORM_CHECK(rc != ERR_NOTFOUND, "%s is not there", paths[r->file]);
    if (rc)
        return rc;
    put_record(r->number, &want);
    bytes = mem_alloc(want.len);
    rc = fs_read_at(reader, r->offset, bytes, want.len, &got, NULL);
    fs_reader_close(reader);
    if (rc == 0 && safe)
        STORM_CHECK(got == want.len && memcmp(bytes, want.data, got) == 0,
                    "%s: record %" PRIu64 " of %zu bytes is not at %" PRIu64,
                    paths[r->file], r->number, want.len, r->offset);
    mem_free(bytes);
    buf_close(&want);
    return rc;
}

static void work(struct storm_client *c)
{
    struct record_storm *s = c->ctx;
    struct fs *fs = sim_cell_fs(s->cell, c->world, "appender");
    while (storm_goes_on(c)) {
        append_one(s, c, fs);
        if (s->record_count && rand_one_in(&c->rand, 4)) {
            struct record r = s->records[rand_below(&c->rand, s->record_count)];
            (void)!check_record(s, fs, &r);
        }
        storm_sleep_us(rand_below(&c->rand, SECOND_US / 2));
    }
    fs_close(fs);
}

struct record_storm *record_storm_new(struct storm *storm,
                                      struct sim_cell *cell,
                                      const struct file_model *model,
                                      unsigned clients)
{
    struct record_storm *s = mem_zalloc(1, sizeof(*s));
    s->storm = storm;
    s->cell = cell;
    s->model = model;
    for (unsigned i = 0; i < clients; i++) {
        char name[16];
        snprintf(name, sizeof(name), "appender%u", i % 100);
        storm_add_client(storm, name, work, s);
    }
    return s;
}

void record_storm_finish(struct record_storm *s, struct fs *fs)
{
    for (size_t i = 0; i < s->record_count; i++) {
        int rc = check_record(s, fs, &s->records[i]);
        STORM_CHECK(rc == 0, "%s: record %" PRIu64 ": %s",
                    paths[s->records[i].file], s->records[i].number,
                    err_name(rc));
    }
}

void record_storm_free(struct record_storm *s)
{
    mem_free(s->records);
    mem_free(s);
}
