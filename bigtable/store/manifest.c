/* The manifest's file: reading, appending, and switching to a new one, as
 * LevelDB's MANIFEST and CURRENT. A new file begins with a snapshot of the
 * state; CURRENT names it only after it is on the disk.
 */
#include "bigtable/store/manifest.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/coding.h"
#include "base/core/crc32c.h"
#include "base/core/ignore_result.h"
#include "base/core/panic.h"
#include "base/crypt/sealer.h"
#include "base/runtime/sync.h"
#include "gfs-lite/fs.h"

#define MAGIC         "QRYMNFST"
#define MAGIC_BYTES   ((size_t)8)
#define HEADER_BYTES  ((size_t)16)
#define RECORD_HEADER ((size_t)8)
#define SEAL_PURPOSE  "quarry manifest"
#define CURRENT_NAME  "CURRENT"
#define PINNED_NAME   "PINNED"
#define NAME_PREFIX   "manifest-"
#define NAME_BYTES    64
/* The next one is one more, and none overflows. */
#define NUMBER_MAX (UINT64_MAX / 2)
/* The unit in which a disk writes, and a number of zeros at the end of a record
 * that no edit has there. */
#define SECTOR_BYTES ((size_t)512)
#define ZEROS_MIN    ((size_t)16)
/* A manifest is started afresh when it has grown to this many bytes and to
 * several times the state it describes. */
#define ROTATE_BYTES_MIN ((uint64_t)1 << 20)
#define ROTATE_FACTOR    4
/* A store of a million files stays below it. */
#define MANIFEST_BYTES_MAX ((size_t)1 << 30)

struct manifest {
    struct fs *fs;
    bool repair;       /* While it is read: a damaged end is given up. */
    struct mutex lock; /* Orders edits; held over their sync. */
    struct manifest_state state;
    uint64_t number;        /* Of the manifest in force; 0: none yet. */
    uint64_t last_number;   /* Of the last one begun: CURRENT may name it. */
    struct fs_writer *file; /* NULL: the next edit starts a new one. */
    struct unit_sealer *sealer; /* Of `file`; NULL: it is not encrypted. */
    uint64_t snapshot_bytes;    /* Of its first record. */
    uint64_t read_bytes;        /* Of the file, when it was opened, */
    uint32_t read_crc;          /* and of its contents. */
    uint64_t applied_bytes;     /* Of those that are part of `state`. */
};

static void manifest_name(char name[NAME_BYTES], uint64_t number)
{
    PRE(number <= NUMBER_MAX);
    snprintf(name, NAME_BYTES, NAME_PREFIX "%06llu",
             (unsigned long long)number);
}

/* --- reading ------------------------------------------------------------- */

static int check_header(struct slice bytes, const char *name, struct err *err)
{
    uint32_t version;
    if (bytes.len < HEADER_BYTES ||
        memcmp(bytes.data, MAGIC, MAGIC_BYTES) != 0 ||
        get_le32(bytes.data + 12) != crc32c(bytes.data, 12))
        return err_set(err, ERR_CORRUPT, "%s: offset 0: bad header", name);
    version = get_le32(bytes.data + MAGIC_BYTES);
    if (version <= STORE_FORMAT_SEALED)
        return 0;
    err_set(err, ERR_UNSUPPORTED,
            "%s: the store has format %u, and this program knows up to %d",
            name, version, STORE_FORMAT_SEALED);
    err_hint(err, "open it with a newer quarry");
    return ERR_UNSUPPORTED;
}

/* The record at @at, if it is whole. */
static bool read_record(struct slice bytes, size_t at, struct slice *edit)
{
    uint32_t len;
    PRE(at <= bytes.len);
    if (bytes.len - at < RECORD_HEADER)
        return false;
    len = get_le32(bytes.data + at + 4);
    if (len > bytes.len - at - RECORD_HEADER ||
        get_le32(bytes.data + at) !=
            crc32c(bytes.data + at + 4, (size_t)len + 4))
        return false;
    *edit = slice_make(bytes.data + at + RECORD_HEADER, len);
    return len > 0;
}

/* Does a whole record begin anywhere behind @at? Then what is at @at was not
 * the unfinished end. */
static bool record_follows(struct slice bytes, size_t at)
{
    struct slice edit;
    PRE(at <= bytes.len);
    for (size_t i = at + 1; i + RECORD_HEADER < bytes.len; i++)
        if (read_record(bytes, i, &edit))
            return true;
    return false;
}

static bool is_zero(struct slice bytes)
{
    for (size_t i = 0; i < bytes.len; i++)
        if (bytes.data[i])
            return false;
    return true;
}

/* Is a sector of [at, end) without a byte that was written? The file only
 * grows, so a sector that did not reach the disk is zero, from the record's
 * start if the one before is in it, too. A few zeros at the end prove nothing.
 */
static bool has_lost_sector(struct slice bytes, size_t at, size_t end)
{
    PRE(at <= end);
    PRE(end <= bytes.len);
    for (size_t from = at; from < end;) {
        size_t to = MIN_OF((from / SECTOR_BYTES + 1) * SECTOR_BYTES, end);
        if ((from == at || to - from >= ZEROS_MIN) &&
            is_zero(slice_sub(bytes, from, to)))
            return true;
        from = to;
    }
    return false;
}

/* Would the bytes from @at to the end be a record if only its length were that?
 * Then they are all there, and the length is damaged. */
static bool is_whole_but_length(struct slice bytes, size_t at)
{
    char length[4];
    size_t len = bytes.len - at - RECORD_HEADER;
    uint32_t crc;
    PRE(bytes.len - at >= RECORD_HEADER);
    put_le32(length, (uint32_t)len);
    crc = crc32c(length, sizeof(length));
    crc = crc32c_extend(crc, bytes.data + at + RECORD_HEADER, len);
    return get_le32(bytes.data + at) == crc;
}

/* Is what lies from @at to the end of the file, where no record is whole, an
 * edit that was being written when the power went? It must be seen to be so:
 * too short, or with a sector that was never written. */
static bool is_torn(struct slice bytes, size_t at)
{
    size_t left = bytes.len - at;
    size_t len;
    PRE(at < bytes.len);
    if (left < RECORD_HEADER || has_lost_sector(bytes, at, bytes.len))
        return true;
    len = get_le32(bytes.data + at + 4);
    return len > left - RECORD_HEADER && !is_whole_but_length(bytes, at);
}

struct missing_check {
    struct fs *fs;
    bool missing;
};

static void note_missing(void *ctx, uint64_t number)
{
    struct missing_check *m = ctx;
    struct fs_info info;
    char path[NAME_BYTES];
    PRE(number > 0);
    snprintf(path, sizeof(path), STORE_TABLES_DIR "/%06llu.sst",
             (unsigned long long)number);
    if (fs_stat(m->fs, path, &info, NULL) == ERR_NOTFOUND)
        m->missing = true;
}

/* Was the last edit given up by its author? See manifest.h. */
static bool edit_was_given_up(struct manifest *m, struct slice edit)
{
    struct missing_check check = {m->fs, false};
    edit_added_files(edit, note_missing, &check);
    return check.missing;
}

/* Judge bytes at @at that are no record. 0: the manifest ends there. */
static int judge_bad_record(struct slice bytes,
                            size_t at,
                            bool repair,
                            const char *name,
                            struct err *err)
{
    PRE(at >= HEADER_BYTES);
    PRE(at < bytes.len);
    if (at == HEADER_BYTES || record_follows(bytes, at)) {
        err_set(err, ERR_CORRUPT, "%s: offset %zu: bad record", name, at);
        err_hint(err, "restore the store from a copy");
        return ERR_CORRUPT;
    }
    if (repair || is_torn(bytes, at))
        return 0;
    err_set(err, ERR_CORRUPT, "%s: offset %zu: the last change is damaged",
            name, at);
    err_hint(err, "restore the store from a copy, or open it with repair to "
                  "give this change up");
    return ERR_CORRUPT;
}

static struct slice record_aad(size_t at, char aad[8])
{
    put_le64(aad, at);
    return slice_make(aad, 8);
}

struct unit_opener *manifest_opener(struct fs *fs, struct slice bytes)
{
    if (bytes.len < HEADER_BYTES ||
        get_le32(bytes.data + MAGIC_BYTES) != STORE_FORMAT_SEALED)
        return NULL;
    return unit_opener_new(fs_keyring(fs), SEAL_PURPOSE);
}

int manifest_open_record(struct unit_opener *o,
                         size_t at,
                         struct slice unit,
                         struct buf *plain,
                         struct err *err)
{
    char aad[8];
    PRE(o);
    buf_clear(plain);
    if (unit.len < UNIT_BYTES_MORE)
        return err_set(err, ERR_CORRUPT, "a sealed record of %zu bytes",
                       unit.len);
    return unit_open(o, record_aad(at, aad), unit,
                     buf_extend(plain, unit.len - UNIT_BYTES_MORE), err);
}

static int apply_records(struct manifest *m,
                         struct slice bytes,
                         struct unit_opener *opener,
                         struct buf *plain,
                         const char *name,
                         struct err *err)
{
    size_t at = HEADER_BYTES;
    struct slice edit;
    struct slice next;
    while (at < bytes.len) {
        bool whole = read_record(bytes, at, &edit);
        size_t end = at + RECORD_HEADER + (whole ? edit.len : 0);
        int rc = 0;
        INVARIANT(!whole || end <= bytes.len);
        if (!whole)
            return judge_bad_record(bytes, at, m->repair, name, err);
        if (opener) {
            rc = manifest_open_record(opener, at, edit, plain, err);
            edit = buf_slice(plain);
        }
        if (rc) {
            err_wrap(err, "%s: offset %zu", name, at);
            return rc;
        }
        if (at > HEADER_BYTES && !read_record(bytes, end, &next) &&
            edit_was_given_up(m, edit))
            return 0;
        rc = manifest_state_apply(&m->state, edit, err);
        if (rc) {
            err_wrap(err, "%s: offset %zu", name, at);
            return rc;
        }
        at = end;
        m->applied_bytes = at;
    }
    if (at == HEADER_BYTES)
        return err_set(err, ERR_CORRUPT, "%s: it holds no record", name);
    return 0;
}

static int manifest_load(struct manifest *m, const char *name, struct err *err)
{
    struct buf bytes = BUF_INIT;
    struct buf plain = BUF_INIT;
    struct unit_opener *opener = NULL;
    int rc = fs_read_all(m->fs, name, MANIFEST_BYTES_MAX, &bytes, err);
    PRE(!m->file);
    m->read_bytes = bytes.len;
    m->read_crc = crc32c(bytes.data, bytes.len);
    if (rc == 0)
        rc = check_header(buf_slice(&bytes), name, err);
    opener = manifest_opener(m->fs, buf_slice(&bytes));
    if (rc == 0)
        rc = apply_records(m, buf_slice(&bytes), opener, &plain, name, err);
    unit_opener_free(opener);
    buf_close(&plain);
    buf_close(&bytes);
    POST(rc || m->read_bytes >= HEADER_BYTES);
    return rc;
}

/* The name in CURRENT, into @name; its number into m->number. */
static int
read_current(struct manifest *m, char name[NAME_BYTES], struct err *err)
{
    struct buf text = BUF_INIT;
    int rc = fs_read_all(m->fs, CURRENT_NAME, NAME_BYTES, &text, err);
    if (rc == 0) {
        struct slice s = slice_trim(buf_slice(&text));
        snprintf(name, NAME_BYTES, "%.*s", SLICE_ARG(s));
        if (slice_starts_with(s, SLICE_LIT(NAME_PREFIX)))
            m->number = strtoull(name + strlen(NAME_PREFIX), NULL, 10);
        else
            m->number = 0;
        if (m->number == 0 || m->number > NUMBER_MAX)
            rc = err_set(err, ERR_CORRUPT,
                         CURRENT_NAME ": \"%s\" is not a manifest", name);
    }
    buf_close(&text);
    POST(rc || m->number > 0);
    return rc;
}

/* Is there a file in @dir whose name ends in @suffix? */
static bool has_file(struct fs *fs, const char *dir, const char *suffix)
{
    char **names;
    size_t count;
    size_t n = strlen(suffix);
    bool found = false;
    PRE(*suffix);
    if (fs_list(fs, dir, &names, &count, NULL))
        return false;
    for (size_t i = 0; i < count; i++) {
        size_t len = strlen(names[i]);
        found |= len > n && strcmp(names[i] + len - n, suffix) == 0;
    }
    fs_names_free(names, count);
    return found;
}

/* No manifest is in force. A store that was never written has no tables and no
 * log: with them, it was lost. */
static int take_as_fresh(struct fs *fs, bool *fresh, struct err *err)
{
    *fresh =
        !has_file(fs, STORE_TABLES_DIR, ".sst") && !has_file(fs, "log", ".log");
    if (*fresh)
        return 0;
    err_set(err, ERR_CORRUPT,
            CURRENT_NAME " is missing, and there are SSTables or logs");
    err_hint(err, "restore it: it holds the name of the newest manifest-*");
    return ERR_CORRUPT;
}

static int load_in_force(struct manifest *m, bool *fresh, struct err *err)
{
    char name[NAME_BYTES];
    int rc = read_current(m, name, err);
    PRE(!*fresh);
    if (rc == ERR_NOTFOUND)
        return take_as_fresh(m->fs, fresh, err);
    if (rc)
        return rc;
    rc = manifest_load(m, name, err);
    if (rc == ERR_NOTFOUND)
        return err_set(err, ERR_CORRUPT,
                       CURRENT_NAME ": it names %s, which is not there", name);
    return rc;
}

static bool pin_exists(struct fs *fs)
{
    struct fs_info info;
    return fs_stat(fs, PINNED_NAME, &info, NULL) == 0;
}

int manifest_open(struct fs *fs,
                  bool pinned,
                  bool repair,
                  struct manifest **out,
                  bool *fresh,
                  struct err *err)
{
    struct manifest *m = mem_zalloc(1, sizeof(*m));
    int rc;
    m->fs = fs;
    m->repair = repair;
    mutex_init(&m->lock);
    manifest_state_init(&m->state);
    *fresh = false;
    *out = NULL;
    if (pinned && pin_exists(fs))
        rc = manifest_load(m, PINNED_NAME, err);
    else
        rc = load_in_force(m, fresh, err);
    if (rc) {
        manifest_close(m);
        return rc;
    }
    *out = m;
    return 0;
}

void manifest_close(struct manifest *m)
{
    if (!m)
        return;
    fs_writer_close(m->file);
    unit_sealer_free(m->sealer);
    manifest_state_close(&m->state);
    mutex_close(&m->lock);
    mem_free(m);
}

/* Do all whole records of @bytes from @at on leave the rows what they were? One
 * that is not whole is being written and not in force yet. */
static bool records_keep_rows(struct manifest *m, struct slice bytes, size_t at)
{
    struct unit_opener *opener = manifest_opener(m->fs, bytes);
    struct buf plain = BUF_INIT;
    struct slice edit;
    bool same = true;
    PRE(at <= bytes.len);
    while (same && at < bytes.len && read_record(bytes, at, &edit)) {
        size_t end = at + RECORD_HEADER + edit.len;
        if (opener) {
            same = manifest_open_record(opener, at, edit, &plain, NULL) == 0;
            edit = buf_slice(&plain);
        }
        same = same && edit_keeps_rows(edit);
        at = end;
    }
    unit_opener_free(opener);
    buf_close(&plain);
    return same;
}

/* Is @bytes what was read, or, if it @may_grow, that and more which changes no
 * rows? */
static bool
continues_what_was_read(struct manifest *m, struct slice bytes, bool may_grow)
{
    size_t read = (size_t)m->read_bytes;
    PRE(m->read_bytes > 0);
    if (bytes.len < read || crc32c(bytes.data, read) != m->read_crc)
        return false;
    if (bytes.len == read)
        return true;
    return may_grow && m->applied_bytes == read &&
           records_keep_rows(m, bytes, read);
}

bool manifest_rows_unchanged(struct manifest *m, bool log_is_held)
{
    uint64_t number = m->number;
    struct buf bytes = BUF_INIT;
    char name[NAME_BYTES];
    int rc = read_current(m, name, NULL);
    bool same =
        rc == 0 ? m->number == number : rc == ERR_NOTFOUND && number == 0;
    if (same && rc == 0)
        rc = fs_read_all(m->fs, name, MANIFEST_BYTES_MAX, &bytes, NULL);
    if (same && number)
        same = rc == 0 &&
               continues_what_was_read(m, buf_slice(&bytes), log_is_held);
    m->number = number;
    buf_close(&bytes);
    return same;
}

const struct manifest_state *manifest_state(const struct manifest *m)
{
    return &m->state;
}

void manifest_look(struct manifest *m, manifest_look_fn fn, void *ctx)
{
    mutex_lock(&m->lock);
    PRE(fn);
    fn(ctx, &m->state);
    mutex_unlock(&m->lock);
}

/* --- writing ------------------------------------------------------------- */

/* Append the record of @edit to @out; it goes to @offset of the file. */
static void append_record(struct buf *out,
                          struct unit_sealer *sealer,
                          uint64_t offset,
                          struct slice edit)
{
    size_t at = out->len;
    size_t len = edit.len + (sealer ? UNIT_BYTES_MORE : 0);
    char aad[8];
    PRE(edit.len > 0);
    PRE(len <= UINT32_MAX);
    buf_put_le32(out, 0);
    buf_put_le32(out, (uint32_t)len);
    if (sealer)
        unit_seal(sealer, record_aad(offset, aad), edit, buf_extend(out, len));
    else
        buf_append_slice(out, edit);
    INVARIANT(out->len == at + RECORD_HEADER + len);
    put_le32(out->data + at, crc32c(out->data + at + 4, len + 4));
}

/* *@out: a sealer for a new file, or NULL where nothing is encrypted. */
static int
make_sealer(struct manifest *m, struct unit_sealer **out, struct err *err)
{
    *out = NULL;
    return fs_keyring(m->fs)
               ? unit_sealer_new(fs_keyring(m->fs), SEAL_PURPOSE, out, err)
               : 0;
}

/* A manifest of the present state as bytes. */
static void whole_manifest(const struct manifest *m,
                           struct unit_sealer *sealer,
                           struct buf *out)
{
    struct buf edit = BUF_INIT;
    PRE(out->len == 0);
    manifest_state_encode(&m->state, &edit);
    buf_append(out, MAGIC, MAGIC_BYTES);
    buf_put_le32(out, sealer ? STORE_FORMAT_SEALED : STORE_FORMAT_VERSION);
    buf_put_le32(out, crc32c(out->data, out->len));
    INVARIANT(out->len == HEADER_BYTES);
    append_record(out, sealer, HEADER_BYTES, buf_slice(&edit));
    buf_close(&edit);
}

static void drop_file(struct manifest *m)
{
    PRE(mutex_is_held(&m->lock));
    fs_writer_close(m->file);
    m->file = NULL;
    unit_sealer_free(m->sealer);
    m->sealer = NULL;
    POST(!m->file);
    POST(!m->sealer);
}

/* @m is locked. */
static void manifest_check(const struct manifest *m)
{
    PRE(mutex_is_held(&m->lock));
    INVARIANT(!m->file || m->number == m->last_number); /* INV-3 */
    INVARIANT(!m->file || m->snapshot_bytes > HEADER_BYTES);
    INVARIANT(m->file || !m->sealer);
}

static int write_new_file(struct manifest *m, const char *name, struct err *err)
{
    const struct fs_write_options opts = {.mode = FS_WRITE_LOG};
    struct buf bytes = BUF_INIT;
    int rc = make_sealer(m, &m->sealer, err);
    PRE(!m->file);
    PRE(mutex_is_held(&m->lock));
    if (rc)
        return rc;
    rc = fs_create(m->fs, name, &opts, &m->file, err);
    whole_manifest(m, m->sealer, &bytes);
    m->snapshot_bytes = bytes.len;
    if (rc == 0)
        rc = fs_writer_append(m->file, bytes.data, bytes.len, err);
    if (rc == 0)
        rc = fs_writer_sync(m->file, err);
    buf_close(&bytes);
    POST(rc || m->file);
    return rc;
}

/* PRE: manifest @number is not in force. */
static void remove_file(struct manifest *m, uint64_t number)
{
    char name[NAME_BYTES];
    PRE(number > 0);
    PRE(number != m->number); /* INV-1 */
    manifest_name(name, number);
    /* The next open removes it. */
    IGNORE_RESULT(fs_remove(m->fs, name, NULL));
}

/* Start a manifest of the present state and put it in force. After an error
 * CURRENT may name it all the same: it is whole then, and its number is not
 * used again. */
static int start_file(struct manifest *m, struct err *err)
{
    char name[NAME_BYTES];
    char current[NAME_BYTES + 1];
    uint64_t old = m->number;
    int rc;
    PRE(mutex_is_held(&m->lock));
    PRE(!m->file); /* INV-3 */
    PRE(!m->sealer);
    m->last_number = MAX_OF(m->last_number, m->number) + 1;
    INVARIANT(m->last_number > old); /* INV-4 */
    manifest_name(name, m->last_number);
    snprintf(current, sizeof(current), "%s\n", name);
    rc = write_new_file(m, name, err);
    if (rc) {
        drop_file(m);
        remove_file(m, m->last_number);
        return rc;
    }
    rc = fs_replace(m->fs, CURRENT_NAME, slice_str(current), err);
    if (rc) {
        drop_file(m);
        return rc;
    }
    m->number = m->last_number;
    if (old > 0)
        remove_file(m, old);
    return 0;
}

/* After an error: *@in_doubt, whether a later open may find @edit. An edit that
 * did not fit on the disk is incomplete. */
static int append_edit(struct manifest *m,
                       struct slice edit,
                       bool *in_doubt,
                       struct err *err)
{
    struct buf record = BUF_INIT;
    int rc;
    PRE(mutex_is_held(&m->lock));
    PRE(m->file);
    append_record(&record, m->sealer, fs_writer_offset(m->file), edit);
    rc = fs_writer_append(m->file, record.data, record.len, err);
    *in_doubt = rc != ERR_FULL;
    if (rc == 0)
        rc = fs_writer_sync(m->file, err);
    buf_close(&record);
    return rc;
}

/* An edit failed with @rc, and may be in the file: a manifest without it takes
 * its place. Where that fails, too, nobody knows. */
static int take_back(struct manifest *m, int rc, struct err *err)
{
    PRE(mutex_is_held(&m->lock));
    PRE(rc != 0);
    drop_file(m);
    if (start_file(m, NULL) == 0)
        return rc;
    if (err) {
        err_wrap(err, "the change may be found when the store is opened again");
        err->code = ERR_UNKNOWN_OUTCOME;
    }
    return ERR_UNKNOWN_OUTCOME;
}

static bool is_due_for_rotation(const struct manifest *m)
{
    PRE(mutex_is_held(&m->lock));
    PRE(m->file);

    uint64_t bytes = fs_writer_offset(m->file);
    return bytes > ROTATE_BYTES_MIN &&
           bytes > ROTATE_FACTOR * m->snapshot_bytes;
}

int manifest_commit(struct manifest *m, struct slice edit, struct err *err)
{
    bool in_doubt = false;
    int rc = 0;
    PRE(edit.len > 0);
    mutex_lock(&m->lock);
    if (m->file && is_due_for_rotation(m))
        drop_file(m);
    if (!m->file)
        rc = start_file(m, err);
    if (rc == 0)
        rc = append_edit(m, edit, &in_doubt, err);
    if (rc && in_doubt)
        rc = take_back(m, rc, err);
    else if (rc)
        drop_file(m);
    if (rc) {
        err_wrap(err, "manifest");
    } else if (manifest_state_apply(&m->state, edit, NULL) != 0) {
        PANIC("an edit of our own does not fit the manifest");
    }
    manifest_check(m);
    mutex_unlock(&m->lock);
    return rc;
}

int manifest_write_pin(struct manifest *m, struct err *err)
{
    struct buf bytes = BUF_INIT;
    struct unit_sealer *sealer;
    int rc = make_sealer(m, &sealer, err);
    if (rc)
        return rc;
    mutex_lock(&m->lock);
    whole_manifest(m, sealer, &bytes);
    rc = fs_replace(m->fs, PINNED_NAME, buf_slice(&bytes), err);
    mutex_unlock(&m->lock);
    unit_sealer_free(sealer);
    buf_close(&bytes);
    return rc;
}

void manifest_remove_pin(struct manifest *m)
{
    if (pin_exists(m->fs)) {
        /* The next open of the owner removes it. */
        IGNORE_RESULT(fs_remove(m->fs, PINNED_NAME, NULL));
    }
}

/* --- orphans ------------------------------------------------------------- */

static int compare_numbers(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a;
    uint64_t y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Numbers of all files in force, sorted. Owned. */
static uint64_t *live_numbers(const struct manifest_state *s,
                              const uint64_t *kept,
                              size_t kept_count,
                              size_t *count)
{
    struct buf list = BUF_INIT;
    PRE(kept || kept_count == 0);
    if (kept_count)
        buf_append(&list, kept, kept_count * sizeof(*kept));
    for (size_t i = 0; i < s->tablet_count; i++)
        for (size_t g = 0; g < s->tablets[i].group_count; g++) {
            const struct manifest_group *group = &s->tablets[i].groups[g];
            for (size_t f = 0; f < group->file_count; f++)
                buf_append(&list, &group->files[f].number, sizeof(uint64_t));
        }
    for (size_t i = 0; i < s->tablet_count; i++) {
        const struct changes_record *r = &s->tablets[i].changes;
        for (size_t f = 0; f < r->file_count; f++)
            buf_append(&list, &r->files[f].file.table.number, sizeof(uint64_t));
    }
    *count = list.len / sizeof(uint64_t);
    buf_reserve(&list, sizeof(uint64_t));
    qsort(list.data, *count, sizeof(uint64_t), compare_numbers);
    POST(*count >= kept_count);
    return (uint64_t *)(void *)list.data;
}

static int remove_orphan_tables(struct manifest *m,
                                const uint64_t *kept,
                                size_t kept_count,
                                struct err *err)
{
    size_t live_count;
    uint64_t *live = live_numbers(&m->state, kept, kept_count, &live_count);
    char **names = NULL;
    size_t count = 0;
    int rc = fs_list(m->fs, STORE_TABLES_DIR, &names, &count, err);
    PRE(kept || kept_count == 0);
    if (rc == ERR_NOTFOUND)
        rc = 0;
    for (size_t i = 0; i < count && rc == 0; i++) {
        uint64_t number = strtoull(names[i], NULL, 10);
        char path[FS_PATH_BYTES_MAX];
        if (bsearch(&number, live, live_count, sizeof(number), compare_numbers))
            continue;
        snprintf(path, sizeof(path), STORE_TABLES_DIR "/%s", names[i]);
        rc = fs_remove(m->fs, path, err);
    }
    fs_names_free(names, count);
    mem_free(live);
    return rc;
}

static int remove_old_manifests(struct manifest *m, struct err *err)
{
    char current[NAME_BYTES];
    char **names;
    size_t count;
    int rc = fs_list(m->fs, "", &names, &count, err);
    if (rc)
        return rc;
    manifest_name(current, m->number);
    for (size_t i = 0; i < count && rc == 0; i++)
        if (slice_starts_with(slice_str(names[i]), SLICE_LIT(NAME_PREFIX)) &&
            strcmp(names[i], current) != 0)
            rc = fs_remove(m->fs, names[i], err);
    fs_names_free(names, count);
    return rc;
}

int manifest_remove_orphans(struct manifest *m,
                            const uint64_t *kept,
                            size_t kept_count,
                            struct err *err)
{
    int rc = remove_orphan_tables(m, kept, kept_count, err);
    PRE(kept_count == 0 || kept);
    manifest_remove_pin(m);
    if (rc == 0)
        rc = remove_old_manifests(m, err);
    if (rc)
        err_wrap(err, "remove what a crash left over");
    return rc;
}
