/* Writers, readers, and what they find. */
#include "tests/sim/file_storm.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/core/panic.h"
#include "base/runtime/fiber.h"
#include "gfs-lite/gfs.h"
#include "tests/sim/file_model.h"
#include "tests/sim/record_storm.h"
#include "tests/sim/tree_storm.h"

/* Bytes of one append: mostly a record, sometimes more than one piece. */
#define RECORD_BYTES_MAX 20000
#define BULK_BYTES_MAX   ((size_t)1200 << 10)
#define READ_BYTES_MAX   ((size_t)64 << 10)
#define FILE_BYTES_MAX   ((size_t)3 << 20)
/* Files the writers keep, about. */
#define FILES_MAX 24

struct file_storm {
    struct storm *storm;
    struct sim_cell *cell;
    struct file_model model;
    struct record_storm *records;
    struct tree_storm *trees;
    uint64_t file_count; /* Names given out. */
    uint64_t read_count;
    uint64_t taken_count;
};

static void new_path(struct file_storm *s, char path[MODEL_PATH_BYTES])
{
    snprintf(path, MODEL_PATH_BYTES, "w/%" PRIu64, ++s->file_count);
}

/* --- writing ------------------------------------------------------------- */

/* One append with its promise. False: the writer is of no more use. */
static bool append_once(struct file_storm *s,
                        struct storm_client *c,
                        struct model_file *f,
                        struct fs_writer *w)
{
    struct rand_gen *r = &c->rand;
    size_t len = 1 + rand_below(r, rand_one_in(r, 40) ? BULK_BYTES_MAX
                                                      : RECORD_BYTES_MAX);
    struct slice bytes = file_model_grow(f, r, len);
    uint64_t draw = rand_below(r, 10);
    int rc;
    s->storm->call_count++;
    if (draw < 3) {
        rc = fs_writer_append_sync(w, bytes.data, bytes.len, NULL);
        if (rc == 0)
            file_model_synced(&s->model, f);
        return rc == 0;
    }
    rc = fs_writer_append(w, bytes.data, bytes.len, NULL);
    if (rc || draw < 4)
        return rc == 0;
    rc = draw < 8 ? fs_writer_flush(w, NULL) : fs_writer_sync(w, NULL);
    if (rc == 0 && draw < 8)
        file_model_flushed(&s->model, f);
    else if (rc == 0)
        file_model_synced(&s->model, f);
    return rc == 0;
}

static void snapshot(struct file_storm *s, struct fs *fs, struct model_file *f)
{
    struct model_file *copy;
    char path[MODEL_PATH_BYTES];
    size_t before = f->synced;
    new_path(s, path);
    copy = file_model_add(&s->model, path);
    copy->gone = gfs_snapshot(fs, f->path, path, NULL) != 0;
    file_model_copied(f, copy, before);
    copy->busy = false;
}

/* Write @f through @w until enough, or until it fails; close it. */
static void write_on(struct file_storm *s,
                     struct storm_client *c,
                     struct fs *fs,
                     struct model_file *f,
                     struct fs_writer *w)
{
    uint64_t steps = 1 + rand_below(&c->rand, 40);
    bool good = true;
    while (good && steps-- && storm_goes_on(c) && f->all.len < FILE_BYTES_MAX) {
        good = append_once(s, c, f, w);
        if (good && rand_one_in(&c->rand, 60))
            snapshot(s, fs, f);
        storm_sleep_us(rand_below(&c->rand, SECOND_US / 4));
    }
    if (good && !rand_one_in(&c->rand, 3) && fs_writer_sync(w, NULL) == 0)
        file_model_synced(&s->model, f);
    fs_writer_close(w);
}

static void
write_new(struct file_storm *s, struct storm_client *c, struct fs *fs)
{
    struct fs_write_options o = {
        .mode = rand_one_in(&c->rand, 3) ? FS_WRITE_STREAM : FS_WRITE_LOG};
    struct fs_writer *w;
    struct model_file *f;
    char path[MODEL_PATH_BYTES];
    new_path(s, path);
    f = file_model_add(&s->model, path);
    f->gone = fs_create(fs, path, &o, &w, NULL) != 0;
    if (!f->gone)
        write_on(s, c, fs, f, w);
    f->busy = false;
}

/* Continue an existing file: its writer closed it, or died. */
static void
write_more(struct file_storm *s, struct storm_client *c, struct fs *fs)
{
    struct fs_write_options o = {.mode = FS_WRITE_LOG};
    struct model_file *f = file_model_draw(&s->model, &c->rand, false);
    struct fs_writer *w;
    int rc;
    if (!f || f->all.len > FILE_BYTES_MAX / 2)
        return;
    f->busy = true;
    rc = gfs_append_open(fs, f->path, &o, &w, NULL);
    STORM_CHECK(rc != ERR_NOTFOUND, "%s is not there", f->path);
    if (rc == 0) {
        file_model_found(&s->model, f, fs_writer_offset(w));
        write_on(s, c, fs, f, w);
    }
    f->busy = false;
}

static void
remove_one(struct file_storm *s, struct storm_client *c, struct fs *fs)
{
    struct model_file *f = file_model_draw(&s->model, &c->rand, false);
    if (!f)
        return;
    f->busy = true;
    f->gone = true;
    (void)!(rand_one_in(&c->rand, 2) ? fs_remove(fs, f->path, NULL)
                                     : gfs_discard(fs, f->path, NULL));
    f->busy = false;
}

static size_t live_files(const struct file_model *m)
{
    size_t count = 0;
    for (size_t i = 0; i < m->count; i++)
        count += !m->files[i]->gone;
    return count;
}

static void run_writer(struct storm_client *c)
{
    struct file_storm *s = c->ctx;
    struct fs *fs = sim_cell_fs(s->cell, c->world, "writer");
    while (storm_goes_on(c)) {
        if (rand_one_in(&c->rand, 2))
            write_more(s, c, fs);
        else if (live_files(&s->model) < FILES_MAX)
            write_new(s, c, fs);
        if (live_files(&s->model) > FILES_MAX / 2 && rand_one_in(&c->rand, 3))
            remove_one(s, c, fs);
        storm_sleep_us(rand_below(&c->rand, SECOND_US));
    }
    fs_close(fs);
}

/* --- reading ------------------------------------------------------------- */

/* Read a part of @f, and compare. Errors that faults explain are given back. */
static int read_part(struct file_storm *s,
                     struct rand_gen *r,
                     struct fs *fs,
                     struct model_file *f)
{
    unsigned life = f->life;
    /* A server that came back may lack bytes that were only flushed until
     * the chunk is sealed, and readers of an open chunk use the shortest
     * copy. */
    size_t promised = f->synced;
    size_t len = 1 + rand_below(r, READ_BYTES_MAX);
    struct fs_reader *reader;
    uint64_t size;
    uint64_t offset;
    size_t got = 0;
    char *bytes;
    int rc = fs_open(fs, f->path, &reader, NULL);
    STORM_CHECK(rc != ERR_NOTFOUND || f->gone, "%s is not there", f->path);
    if (rc)
        return rc;
    size = fs_reader_size(reader);
    STORM_CHECK(size >= promised || f->gone || life != f->life,
                "%s: opened with %" PRIu64 " bytes, %zu were promised", f->path,
                size, promised);
    offset = rand_below(r, size + 1);
    bytes = mem_alloc(len);
    rc = fs_read_at(reader, offset, bytes, len, &got, NULL);
    fs_reader_close(reader);
    if (rc == 0 && !f->gone) {
        STORM_CHECK(got >= MIN_OF(len, size - offset),
                    "%s: %zu bytes at %" PRIu64 " of %" PRIu64, f->path, got,
                    offset, size);
        file_model_compare(f, life, promised, offset, slice_make(bytes, got));
        s->read_count++;
    }
    mem_free(bytes);
    return rc;
}

static void run_reader(struct storm_client *c)
{
    struct file_storm *s = c->ctx;
    struct fs *fs = sim_cell_fs(s->cell, c->world, "reader");
    while (storm_goes_on(c)) {
        struct model_file *f = file_model_draw(&s->model, &c->rand, true);
        if (f && f->synced) {
            (void)!read_part(s, &c->rand, fs, f);
            s->storm->call_count++;
        }
        storm_sleep_us(rand_below(&c->rand, SECOND_US / 4));
    }
    fs_close(fs);
}

/* --- taking over --------------------------------------------------------- */

/* Take a file from its writer, as the successor of a server that may be dead
 * takes its log. */
static void
take_one(struct file_storm *s, struct storm_client *c, struct fs *fs)
{
    struct model_file *f = file_model_draw(&s->model, &c->rand, true);
    uint64_t length = 0;
    unsigned life;
    if (!f || f->end != MODEL_OPEN_END)
        return;
    life = f->life;
    if (fs_recover(fs, f->path, &length, NULL) || f->gone || f->life != life)
        return;
    STORM_CHECK(length >= f->synced,
                "%s: taken with %" PRIu64 " bytes, %zu were synced", f->path,
                length, f->synced);
    sim_note(s->storm->sim, "%s taken with %" PRIu64 " bytes", f->path, length);
    f->end = (size_t)length;
    s->taken_count++;
}

static void run_taker(struct storm_client *c)
{
    struct file_storm *s = c->ctx;
    struct fs *fs = sim_cell_fs(s->cell, c->world, "taker");
    while (storm_goes_on(c)) {
        take_one(s, c, fs);
        storm_sleep_us(rand_below(&c->rand, 3 * SECOND_US));
    }
    fs_close(fs);
}

/* --- the whole ----------------------------------------------------------- */

static void add_clients(struct file_storm *s,
                        const char *kind,
                        unsigned count,
                        void (*work)(struct storm_client *c))
{
    for (unsigned i = 0; i < count; i++) {
        char name[16];
        snprintf(name, sizeof(name), "%s%u", kind, i % 100);
        storm_add_client(s->storm, name, work, s);
    }
}

struct file_storm *
file_storm_new(struct storm *storm, struct sim_cell *cell, unsigned writers)
{
    struct file_storm *s = mem_zalloc(1, sizeof(*s));
    s->storm = storm;
    s->cell = cell;
    file_model_init(&s->model);
    add_clients(s, "writer", writers, run_writer);
    add_clients(s, "reader", 1, run_reader);
    add_clients(s, "taker", 1, run_taker);
    s->records = record_storm_new(storm, cell, &s->model, writers);
    s->trees = tree_storm_new(storm, cell, &s->model, "w");
    return s;
}

/* Faults that may take what a server had only in memory, or its service. */
static bool is_hard(enum nemesis_fault f)
{
    switch (f) {
    case NEMESIS_POWER:
    case NEMESIS_KILL:
    case NEMESIS_RESTART:
    case NEMESIS_PAUSE:
    case NEMESIS_ISOLATE:
    case NEMESIS_SPLIT:
    case NEMESIS_DEAF:
    case NEMESIS_MUTE:
    case NEMESIS_FULL_DISK:
    case NEMESIS_DISK_ERRORS:
    case NEMESIS_ROT: return true;
    case NEMESIS_CUT:
    case NEMESIS_SLOW_NET:
    case NEMESIS_LOSSY_NET:
    case NEMESIS_RESETS:
    case NEMESIS_LOST_ANSWERS:
    case NEMESIS_SLOW_DISK:
    case NEMESIS_CLOCK:
    case NEMESIS_FAULT_COUNT: break;
    }
    return false;
}

void file_storm_note_fault(struct file_storm *s,
                           enum nemesis_fault fault,
                           struct world *m)
{
    if (is_hard(fault))
        file_model_note_fault(&s->model, m);
}

/* The whole of @f. */
static void read_all(struct file_storm *s, struct fs *fs, struct model_file *f)
{
    size_t promised = file_model_promised(&s->model, f);
    struct buf got = BUF_INIT;
    struct err err = ERR_INIT;
    int rc = fs_read_all(fs, f->path, (size_t)1 << 28, &got, &err);
    STORM_CHECK(rc == 0, "%s: %s", f->path, err.text);
    STORM_CHECK(got.len >= promised,
                "%s: %zu bytes, %zu were promised, %zu of them synced", f->path,
                got.len, promised, f->synced);
    STORM_CHECK(f->end == MODEL_OPEN_END || got.len == f->end,
                "%s: %zu bytes, but %zu when it was taken from its writer",
                f->path, got.len, f->end);
    file_model_compare(f, f->life, promised, 0, buf_slice(&got));
    buf_close(&got);
}

void file_storm_finish(struct file_storm *s)
{
    struct fs *fs = sim_cell_fs(s->cell, sim_director(s->cell->sim), "checker");
    for (size_t i = 0; i < s->model.count; i++)
        if (!s->model.files[i]->gone)
            read_all(s, fs, s->model.files[i]);
    record_storm_finish(s->records, fs);
    fs_close(fs);
    STORM_CHECK(s->model.bytes > 10000, "only %" PRIu64 " bytes were promised",
                s->model.bytes);
}

uint64_t file_storm_bytes(const struct file_storm *s)
{
    return s->model.bytes;
}

void file_storm_free(struct file_storm *s)
{
    record_storm_free(s->records);
    tree_storm_free(s->trees);
    file_model_close(&s->model);
    mem_free(s);
}
