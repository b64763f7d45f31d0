/* Files that are written, flushed, left and continued; their readers; and
 * records that many append to one file. A file belongs to one client, and its
 * bytes follow from its seed: the journal needs to say how many there are. */
#include "base/core/panic.h"
#include "gfs-lite/gfs.h"
#include "tests/cluster/storm/storm.h"

#define CALL_US          (20 * SECOND_US)
#define APPEND_BYTES_MAX 40000
#define BULK_BYTES_MAX   ((size_t)600 << 10)
#define READ_BYTES_MAX   ((size_t)64 << 10)
#define FILE_BYTES_MAX   ((size_t)2 << 20)
#define FILES_MAX        12

struct own_file {
    char path[32];
    uint64_t seed;
    uint64_t grown;
    uint64_t synced;
};

struct writer {
    struct storm_client *client;
    struct storm *storm;
    struct fs *fs;
    struct own_file files[FILES_MAX];
    size_t count;
};

/* --- writing ------------------------------------------------------------- */

static void
note_bytes(struct writer *w, const struct own_file *f, const char *what)
{
    storm_note(w->storm, "%s\t%s\t%" PRIu64, what, f->path, f->grown);
}

/* One append with its promise. */
static int
append_once(struct writer *w, struct own_file *f, struct fs_writer *fw)
{
    struct rand_gen *r = &w->client->rand;
    size_t len = 1 + rand_below(r, rand_one_in(r, 30) ? BULK_BYTES_MAX
                                                      : APPEND_BYTES_MAX);
    char *bytes = mem_alloc(len);
    uint64_t draw = rand_below(r, 10);
    int rc;
    storm_fill(f->seed, f->grown, bytes, len);
    f->grown += len;
    note_bytes(w, f, "grown");
    if (draw < 3)
        rc = fs_writer_append_sync(fw, bytes, len, NULL);
    else
        rc = fs_writer_append(fw, bytes, len, NULL);
    if (rc == 0 && draw >= 4)
        rc = draw < 8 ? fs_writer_flush(fw, NULL) : fs_writer_sync(fw, NULL);
    if (rc == 0 && (draw < 3 || draw >= 8)) {
        f->synced = f->grown;
        note_bytes(w, f, "synced");
    } else if (rc == 0 && draw >= 4) {
        note_bytes(w, f, "flushed");
    }
    mem_free(bytes);
    w->storm->call_count++;
    return rc;
}

static void write_on(struct writer *w, struct own_file *f, struct fs_writer *fw)
{
    struct rand_gen *r = &w->client->rand;
    uint64_t steps = 1 + rand_below(r, 20);
    int rc = 0;
    while (rc == 0 && steps-- && storm_goes_on() && f->grown < FILE_BYTES_MAX) {
        rc = append_once(w, f, fw);
        storm_sleep_us(w->storm, rand_below(r, SECOND_US / 5));
    }
    fs_writer_close(fw);
}

static void write_new(struct writer *w)
{
    struct fs_write_options o = {.mode = rand_one_in(&w->client->rand, 3)
                                             ? FS_WRITE_STREAM
                                             : FS_WRITE_LOG,
                                 .exclusive = true};
    struct own_file f = {.seed = storm_number(w->storm)};
    struct fs_writer *fw;
    snprintf(f.path, sizeof(f.path), "w/%" PRIu64, f.seed);
    storm_note(w->storm, "file\t%s\t%" PRIu64, f.path, f.seed);
    if (fs_create(w->fs, f.path, &o, &fw, NULL))
        return;
    storm_note(w->storm, "made\t%s", f.path);
    write_on(w, &f, fw);
    w->files[w->count++] = f;
}

/* It was closed, or left: all that was acknowledged is there. */
static void write_more(struct writer *w, struct own_file *f)
{
    struct fs_write_options o = {.mode = FS_WRITE_LOG};
    struct fs_writer *fw;
    uint64_t found;
    int rc = gfs_append_open(w->fs, f->path, &o, &fw, NULL);
    STORM_CHECK(rc != ERR_NOTFOUND, "%s is not there", f->path);
    if (rc)
        return;
    found = fs_writer_offset(fw);
    STORM_CHECK(found >= f->synced && found <= f->grown,
                "%s: %" PRIu64 " bytes, of %" PRIu64 " of which %" PRIu64
                " were synced",
                f->path, found, f->grown, f->synced);
    f->grown = found;
    note_bytes(w, f, "grown");
    write_on(w, f, fw);
}

static void remove_file(struct writer *w, size_t i)
{
    storm_note(w->storm, "gone\t%s", w->files[i].path);
    (void)!(rand_one_in(&w->client->rand, 2)
                ? fs_remove(w->fs, w->files[i].path, NULL)
                : gfs_discard(w->fs, w->files[i].path, NULL));
    w->files[i] = w->files[--w->count];
}

/* --- reading ------------------------------------------------------------- */

/* A part of one of our files, none of which is open. */
static void read_part(struct writer *w, const struct own_file *f)
{
    struct rand_gen *r = &w->client->rand;
    size_t len = 1 + rand_below(r, READ_BYTES_MAX);
    struct fs_reader *reader;
    uint64_t size;
    uint64_t offset;
    size_t got = 0;
    char *bytes;
    int rc = fs_open(w->fs, f->path, &reader, NULL);
    STORM_CHECK(rc != ERR_NOTFOUND, "%s is not there", f->path);
    w->storm->call_count++;
    if (rc)
        return;
    size = fs_reader_size(reader);
    STORM_CHECK(size >= f->synced && size <= f->grown,
                "%s: opened with %" PRIu64 " bytes, %" PRIu64 " of %" PRIu64
                " were synced",
                f->path, size, f->synced, f->grown);
    offset = rand_below(r, size + 1);
    bytes = mem_alloc(len);
    rc = fs_read_at(reader, offset, bytes, len, &got, NULL);
    fs_reader_close(reader);
    if (rc == 0) {
        STORM_CHECK(got >= MIN_OF(len, size - offset),
                    "%s: %zu bytes at %" PRIu64 " of %" PRIu64, f->path, got,
                    offset, size);
        storm_compare(f->path, f->seed, offset, bytes, got);
    }
    mem_free(bytes);
}

void storm_work_files(struct storm_client *c)
{
    struct writer w = {.client = c, .storm = c->storm};
    w.fs = storm_fs(c->storm, "writer", CALL_US);
    while (storm_goes_on()) {
        uint64_t draw = rand_below(&c->rand, 10);
        if (w.count < 3 || (draw < 3 && w.count < FILES_MAX))
            write_new(&w);
        else if (draw < 5)
            write_more(&w, &w.files[rand_below(&c->rand, w.count)]);
        else if (draw < 9)
            read_part(&w, &w.files[rand_below(&c->rand, w.count)]);
        else
            remove_file(&w, rand_below(&c->rand, w.count));
        storm_sleep_us(c->storm, rand_below(&c->rand, SECOND_US / 4));
    }
    fs_close(w.fs);
}

/* --- records ------------------------------------------------------------- */

void storm_work_records(struct storm_client *c)
{
    static const char *const paths[] = {"r/0", "r/1"};
    struct fs *fs = storm_fs(c->storm, "appender", CALL_US);
    char bytes[STORM_RECORD_BYTES_MAX];
    while (storm_goes_on()) {
        const char *path = paths[rand_below(&c->rand, ARRAY_LEN(paths))];
        uint64_t number = storm_number(c->storm);
        size_t len = storm_record_bytes(number);
        uint64_t offset;
        storm_fill(number, 0, bytes, len);
        if (gfs_record_append(fs, path, slice_make(bytes, len), &offset,
                              NULL) == 0)
            storm_note(c->storm, "record\t%s\t%" PRIu64 "\t%" PRIu64, path,
                       number, offset);
        c->storm->call_count++;
        storm_sleep_us(c->storm, rand_below(&c->rand, SECOND_US / 4));
    }
    fs_close(fs);
}
