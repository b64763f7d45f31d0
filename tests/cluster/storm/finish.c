/* Reading every file and record that the journals speak of: nothing that was
 * promised may be missing, nothing that was not asked for be there. */
#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "gfs-lite/gfs.h"
#include "tests/cluster/storm/storm.h"

#define CALL_US     (20 * SECOND_US)
#define PIECE_BYTES ((size_t)1 << 20)
#define PATH_BYTES  32
#define FILES_MAX   100000
#define RECORDS_MAX 1000000

struct seen_file {
    char path[PATH_BYTES];
    uint64_t seed;
    uint64_t grown;    /* Asked for, in all. */
    uint64_t promised; /* Flushed or synced. */
    bool made;
    bool gone;
};

struct seen_record {
    char path[PATH_BYTES];
    uint64_t number;
    uint64_t offset;
};

struct seen {
    struct seen_file *files;
    size_t file_count;
    struct seen_record *records;
    size_t record_count;
    uint64_t bytes; /* Promised, and found. */
};

/* --- the journals -------------------------------------------------------- */

static void copy_path(char path[PATH_BYTES], struct slice from)
{
    STORM_CHECK(from.len < PATH_BYTES, "a journal's path is too long");
    memcpy(path, from.data, from.len);
    path[from.len] = '\0';
}

/* The newest come first to mind. */
static struct seen_file *find_file(struct seen *s, struct slice path)
{
    for (size_t i = s->file_count; i-- > 0;)
        if (slice_eq_str(path, s->files[i].path))
            return &s->files[i];
    storm_fail("a journal has bytes of %.*s, which was not made",
               SLICE_ARG(path));
}

static void add_file(struct seen *s, const struct storm_line *l)
{
    struct seen_file *f;
    STORM_CHECK(s->file_count < FILES_MAX, "too many files");
    s->files = mem_realloc(s->files, (s->file_count + 1) * sizeof(*f));
    f = &s->files[s->file_count++];
    *f = (struct seen_file){.seed = storm_line_number(l, 1)};
    copy_path(f->path, l->field[0]);
}

static void add_record(struct seen *s, const struct storm_line *l)
{
    struct seen_record *r;
    STORM_CHECK(s->record_count < RECORDS_MAX, "too many records");
    s->records = mem_realloc(s->records, (s->record_count + 1) * sizeof(*r));
    r = &s->records[s->record_count++];
    *r = (struct seen_record){.number = storm_line_number(l, 1),
                              .offset = storm_line_number(l, 2)};
    copy_path(r->path, l->field[0]);
}

static void take_line(void *ctx, const struct storm_line *l)
{
    struct seen *s = ctx;
    if (slice_eq_str(l->what, "file"))
        add_file(s, l);
    else if (slice_eq_str(l->what, "made"))
        find_file(s, l->field[0])->made = true;
    else if (slice_eq_str(l->what, "gone"))
        find_file(s, l->field[0])->gone = true;
    else if (slice_eq_str(l->what, "grown"))
        find_file(s, l->field[0])->grown = storm_line_number(l, 1);
    else if (slice_eq_str(l->what, "flushed") ||
             slice_eq_str(l->what, "synced"))
        find_file(s, l->field[0])->promised = storm_line_number(l, 1);
    else if (slice_eq_str(l->what, "record"))
        add_record(s, l);
}

/* --- reading ------------------------------------------------------------- */

/* Its writer may be dead, or busy elsewhere: take the file from it. */
static int take_over(struct fs *fs,
                     struct storm *s,
                     const struct seen_file *f,
                     uint64_t until_us,
                     uint64_t *length)
{
    struct err err = ERR_INIT;
    int rc;
    while ((rc = fs_recover(fs, f->path, length, &err)) != 0 &&
           rc != ERR_NOTFOUND) {
        STORM_CHECK(storm_now_us(s) < until_us, "%s, long after the faults: %s",
                    f->path, err.text);
        storm_sleep_us(s, SECOND_US / 5);
    }
    return rc;
}

static void
check_bytes(struct fs *fs, const struct seen_file *f, uint64_t length)
{
    char *bytes = mem_alloc(PIECE_BYTES);
    struct fs_reader *r;
    struct err err = ERR_INIT;
    uint64_t at = 0;
    size_t got = 1;
    int rc = fs_open(fs, f->path, &r, &err);
    STORM_CHECK(rc == 0, "%s: %s", f->path, err.text);
    while (got > 0) {
        rc = fs_read_at(r, at, bytes, PIECE_BYTES, &got, &err);
        STORM_CHECK(rc == 0, "%s at %" PRIu64 ": %s", f->path, at, err.text);
        storm_compare(f->path, f->seed, at, bytes, got);
        at += got;
    }
    STORM_CHECK(at == length, "%s: %" PRIu64 " bytes were read of %" PRIu64,
                f->path, at, length);
    fs_reader_close(r);
    mem_free(bytes);
}

static void check_file(struct seen *seen,
                       struct storm *s,
                       struct fs *fs,
                       const struct seen_file *f,
                       uint64_t until_us)
{
    uint64_t length = 0;
    int rc = take_over(fs, s, f, until_us, &length);
    STORM_CHECK(rc == 0 || !f->made, "%s is not there", f->path);
    if (rc)
        return;
    STORM_CHECK(length >= f->promised && length <= f->grown,
                "%s: %" PRIu64 " bytes, of %" PRIu64 " of which %" PRIu64
                " were promised",
                f->path, length, f->grown, f->promised);
    check_bytes(fs, f, length);
    seen->bytes += f->promised;
}

static void
check_record(struct fs *fs, const struct seen_record *r, struct seen *seen)
{
    char bytes[STORM_RECORD_BYTES_MAX];
    size_t len = storm_record_bytes(r->number);
    struct fs_reader *reader;
    struct err err = ERR_INIT;
    size_t got = 0;
    int rc = fs_open(fs, r->path, &reader, &err);
    STORM_CHECK(rc == 0, "%s: %s", r->path, err.text);
    rc = fs_read_at(reader, r->offset, bytes, len, &got, &err);
    fs_reader_close(reader);
    STORM_CHECK(rc == 0, "%s: record %" PRIu64 " at %" PRIu64 ": %s", r->path,
                r->number, r->offset, err.text);
    STORM_CHECK(got == len,
                "%s: record %" PRIu64 " of %zu bytes at %" PRIu64 " has %zu",
                r->path, r->number, len, r->offset, got);
    storm_compare(r->path, r->number, 0, bytes, len);
    seen->bytes += len;
}

void storm_finish_files(struct storm *s,
                        char **journals,
                        size_t count,
                        uint64_t until_us)
{
    struct fs *fs = storm_fs(s, "checker", CALL_US);
    struct seen seen = {.files = NULL};
    size_t files = 0;
    for (size_t i = 0; i < count; i++)
        storm_read_journal(journals[i], take_line, &seen);
    for (size_t i = 0; i < seen.file_count; i++)
        if (!seen.files[i].gone) {
            check_file(&seen, s, fs, &seen.files[i], until_us);
            files++;
        }
    for (size_t i = 0; i < seen.record_count; i++)
        check_record(fs, &seen.records[i], &seen);
    printf("files=%zu records=%zu bytes=%" PRIu64 "\n", files,
           seen.record_count, seen.bytes);
    mem_free(seen.files);
    mem_free(seen.records);
    fs_close(fs);
}
