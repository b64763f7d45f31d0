/* Records with a length and a checksum, one after the other. A record that was
 * cut or damaged ends the journal: the work after it is repeated, and nothing
 * is lost but time. */
#include "mapreduce/master/journal.h"

#include "base/core/coding.h"
#include "base/core/crc32c.h"
#include "base/core/panic.h"
#include "base/crypt/sealer.h"
#include "base/runtime/world.h"
#include "gfs-lite/fs.h"
#include "mapreduce/records/files.h"

#define HEAD_BYTES 8
/* A report of a task holds counters, names of files and sampled keys. */
#define RECORD_BYTES_MAX  ((uint32_t)256 << 20)
#define JOURNAL_BYTES_MAX ((size_t)2 << 30)
/* Masters that resumed a job. */
#define JOURNAL_FILES_MAX 10000u

#define JOURNAL_PURPOSE "quarry journal"

/* Name number @n of the journal's files in a cell. */
static void name_file(struct buf *out, const char *path, unsigned n)
{
    buf_clear(out);
    buf_append_str(out, files_fs_path(path));
    if (n > 0)
        buf_printf(out, ".%u", n);
}

static int
begin_file(struct journal *j, struct fs *fs, const char *path, struct err *err)
{
    const struct fs_write_options log = {.mode = FS_WRITE_LOG,
                                         .exclusive = true};
    struct buf name = BUF_INIT;
    int rc = ERR_EXISTS;
    for (unsigned n = 0; rc == ERR_EXISTS && n < JOURNAL_FILES_MAX; n++) {
        name_file(&name, path, n);
        rc = fs_create(fs, buf_cstr(&name), &log, &j->stream, err);
    }
    buf_close(&name);
    return rc;
}

int journal_open(struct journal *j,
                 const struct job_files *files,
                 const char *path,
                 uint64_t offset,
                 struct err *err)
{
    int rc;
    *j = (struct journal){.offset = offset};
    if (files->keyring) {
        rc = unit_sealer_new(files->keyring, JOURNAL_PURPOSE, &j->sealer, err);
        if (rc)
            return rc;
    }
    if (files->fs)
        return begin_file(j, files->fs, path, err);
    rc = file_open(files->world, path, FILE_WRITE | FILE_CREATE, &j->file, err);
    if (rc == 0)
        rc = file_truncate(j->file, offset, err);
    else
        j->file = NULL;
    return rc;
}

void journal_close(struct journal *j)
{
    if (j->file)
        file_close(j->file);
    fs_writer_close(j->stream);
    unit_sealer_free(j->sealer);
    buf_close(&j->waiting);
    j->sealer = NULL;
    j->file = NULL;
    j->stream = NULL;
}

static void put_record(struct buf *w, enum journal_type type, struct slice body)
{
    size_t at = w->len;
    size_t len = 1 + body.len;
    (void)buf_extend(w, HEAD_BYTES);
    buf_put_u8(w, (uint8_t)type);
    buf_append_slice(w, body);
    put_le32(w->data + at, (uint32_t)len);
    put_le32(w->data + at + 4, crc32c(w->data + at + HEAD_BYTES, len));
}

static void
put_sealed_record(struct journal *j, enum journal_type type, struct slice body)
{
    struct buf plain = BUF_INIT;
    struct buf unit = BUF_INIT;
    buf_put_u8(&plain, (uint8_t)type);
    buf_append_slice(&plain, body);
    unit_seal(j->sealer, SLICE_EMPTY, buf_slice(&plain),
              buf_extend(&unit, plain.len + UNIT_BYTES_MORE));
    put_record(&j->waiting, JOURNAL_SEALED, buf_slice(&unit));
    buf_close(&plain);
    buf_close(&unit);
}

void journal_add(struct journal *j, enum journal_type type, struct slice body)
{
    PRE(type != JOURNAL_SEALED);
    if (!j->file && !j->stream)
        return;
    if (j->sealer)
        put_sealed_record(j, type, body);
    else
        put_record(&j->waiting, type, body);
}

int journal_flush(struct journal *j, struct err *err)
{
    struct slice part = buf_slice(&j->waiting);
    int rc;
    if (part.len == 0)
        return 0;
    PRE(j->stream != NULL || j->file != NULL);
    if (j->stream)
        rc = fs_writer_append_sync(j->stream, part.data, part.len, err);
    else
        rc = file_write_at(j->file, j->offset, &part, 1, err);
    if (rc == 0)
        j->offset += part.len;
    buf_clear(&j->waiting);
    return rc;
}

int journal_append(struct journal *j,
                   enum journal_type type,
                   struct slice body,
                   struct err *err)
{
    journal_add(j, type, body);
    return journal_flush(j, err);
}

/* Cut @out, from @from on, behind its last whole record. */
static void drop_torn(struct buf *out, size_t from)
{
    struct slice bytes = slice_sub(buf_slice(out), from, out->len);
    uint64_t offset = 0;
    enum journal_type type;
    struct slice body;
    while (journal_next(bytes, &offset, &type, &body)) {
        /* Only where they end is asked for. */
    }
    out->len = from + (size_t)offset;
}

/* A process that came late to the beginning of a job, and did not know that
 * another had begun it, says so behind the other: it says nothing of the job.
 */
static bool journal_begins(struct slice bytes)
{
    return bytes.len > HEAD_BYTES && bytes.data[HEAD_BYTES] == JOURNAL_BEGIN;
}

/* Append the record that is sealed in @unit. */
static int open_record(struct unit_opener *o,
                       struct slice unit,
                       struct buf *out,
                       struct err *err)
{
    struct buf plain = BUF_INIT;
    char *p = buf_reserve(&plain, unit.len + 1);
    int rc = unit_open(o, SLICE_EMPTY, unit, p, err);
    plain.len = rc ? 0 : unit.len - UNIT_BYTES_MORE;
    if (rc == 0 && plain.len == 0)
        rc = err_set(err, ERR_CORRUPT, "an empty record");
    if (rc == 0)
        put_record(out, (enum journal_type)(uint8_t)p[0],
                   slice_make(p + 1, plain.len - 1));
    buf_close(&plain);
    return rc;
}

/* Let @out have, from @from on, its records opened. Those that are not sealed
 * stay as they are. */
static int open_records(const struct job_files *files,
                        struct buf *out,
                        size_t from,
                        struct err *err)
{
    struct unit_opener *o = unit_opener_new(files->keyring, JOURNAL_PURPOSE);
    struct slice bytes = slice_sub(buf_slice(out), from, out->len);
    struct buf opened = BUF_INIT;
    enum journal_type type;
    struct slice body;
    uint64_t offset = 0;
    int rc = 0;
    while (rc == 0 && journal_next(bytes, &offset, &type, &body)) {
        if (type == JOURNAL_SEALED)
            rc = open_record(o, body, &opened, err);
        else
            put_record(&opened, type, body);
    }
    buf_truncate(out, from);
    buf_append_slice(out, buf_slice(&opened));
    buf_close(&opened);
    unit_opener_free(o);
    return rc;
}

static int load_files(const struct job_files *files,
                      const char *path,
                      struct buf *out,
                      struct err *err)
{
    struct buf name = BUF_INIT;
    size_t first = out->len;
    int rc = 0;
    for (unsigned n = 0; rc == 0; n++) {
        size_t before = out->len;
        uint64_t length;
        name_file(&name, path, n);
        rc = fs_recover(files->fs, buf_cstr(&name), &length, err);
        if (rc == ERR_NOTFOUND && n > 0) {
            rc = 0;
            break;
        }
        if (rc == 0)
            rc = files_read_all(files, buf_cstr(&name), JOURNAL_BYTES_MAX, out,
                                err);
        if (rc == 0) {
            drop_torn(out, before);
            rc = open_records(files, out, before, err);
        }
        if (before > first &&
            journal_begins(slice_sub(buf_slice(out), before, out->len)))
            out->len = before;
    }
    buf_close(&name);
    return rc;
}

void journal_path(struct buf *out, const char *history_dir, const char *id)
{
    static const char name[] = "work/journal";
    buf_printf(out, "%s/%s/%s", history_dir, id, name);
}

int journal_load(const struct job_files *files,
                 const char *path,
                 struct buf *out,
                 uint64_t *length,
                 struct err *err)
{
    size_t before = out->len;
    int rc = files->fs
                 ? load_files(files, path, out, err)
                 : files_read_all(files, path, JOURNAL_BYTES_MAX, out, err);
    *length = 0;
    if (rc == 0 && !files->fs) {
        drop_torn(out, before);
        *length = out->len - before;
        rc = open_records(files, out, before, err);
    }
    if (rc)
        err_wrap(err, "%s", path);
    if (rc == 0 && out->len == before)
        rc = err_set(err, ERR_NOTFOUND, "%s: nothing was written", path);
    return rc;
}

bool journal_next(struct slice bytes,
                  uint64_t *offset,
                  enum journal_type *type,
                  struct slice *body)
{
    const char *head = bytes.data + *offset;
    uint64_t left = bytes.len - *offset;
    uint32_t length;
    if (left < HEAD_BYTES + 1)
        return false;
    length = get_le32(head);
    if (length == 0 || length > RECORD_BYTES_MAX ||
        length > left - HEAD_BYTES ||
        crc32c(head + HEAD_BYTES, length) != get_le32(head + 4))
        return false;
    *type = (enum journal_type)(uint8_t)head[HEAD_BYTES];
    *body = slice_make(head + HEAD_BYTES + 1, length - 1);
    *offset += HEAD_BYTES + length;
    return true;
}
