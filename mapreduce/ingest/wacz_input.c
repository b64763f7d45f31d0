/* libzip's source is the world's file, so that simulated disks and parking work
 * as for other inputs. It keeps the error of a read, which libzip reports as
 * its own. */
#include "mapreduce/ingest/wacz_input.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <zip.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "mapreduce/warc/digest.h"

/* Where the end of the directory is looked for: behind it a comment. */
#define ZIP_TAIL_BYTES ((size_t)22 + 20 + 65535)
#define DRAIN_BYTES    ((size_t)64 << 10)

struct wacz_input {
    struct file *file;
    uint64_t size_bytes;
    uint64_t at; /* Of libzip's reading. */
    zip_t *zip;
    zip_error_t source_error;
    struct err read_err; /* Of the file, if reading it failed. */
    wacz_damage_fn on_damage;
    void *ctx;
    json_t *package; /* datapackage.json, or NULL. */

    uint64_t count;
    uint64_t next;
    zip_file_t *member; /* The archive at hand, or NULL. */
    struct buf name;
    struct digest wanted; /* Its digest; kind DIGEST_NONE: not told. */
    struct digest_stream *digest;
    bool damaged;
};

bool wacz_is_zip(struct slice head)
{
    return slice_starts_with(head, SLICE_LIT("PK\x03\x04")) ||
           slice_starts_with(head, SLICE_LIT("PK\x05\x06"));
}

static void
wacz_damage(struct wacz_input *w, const char *name, const char *what, bool lost)
{
    char text[400];
    snprintf(text, sizeof(text), "%.200s: %.180s", name, what);
    w->on_damage(w->ctx, text, lost);
}

/* --- libzip's source ----------------------------------------------------- */

static zip_int64_t
source_read(struct wacz_input *w, void *data, zip_uint64_t len)
{
    size_t got = 0;
    if (file_read_at(w->file, w->at, data, (size_t)len, &got, &w->read_err)) {
        zip_error_set(&w->source_error, ZIP_ER_READ, 0);
        return -1;
    }
    w->at += got;
    return (zip_int64_t)got;
}

static zip_int64_t
source_seek(struct wacz_input *w, void *data, zip_uint64_t len)
{
    zip_int64_t to = zip_source_seek_compute_offset(w->at, w->size_bytes, data,
                                                    len, &w->source_error);
    if (to < 0)
        return -1;
    w->at = (uint64_t)to;
    return 0;
}

static zip_int64_t source_stat(const struct wacz_input *w, zip_stat_t *st)
{
    zip_stat_init(st);
    st->valid = ZIP_STAT_SIZE;
    st->size = w->size_bytes;
    return sizeof(*st);
}

static zip_int64_t
source_call(void *ctx, void *data, zip_uint64_t len, zip_source_cmd_t command)
{
    struct wacz_input *w = ctx;
    if (command == ZIP_SOURCE_READ)
        return source_read(w, data, len);
    if (command == ZIP_SOURCE_SEEK)
        return source_seek(w, data, len);
    if (command == ZIP_SOURCE_TELL)
        return (zip_int64_t)w->at;
    if (command == ZIP_SOURCE_STAT)
        return source_stat(w, data);
    if (command == ZIP_SOURCE_ERROR)
        return zip_error_to_data(&w->source_error, data, len);
    if (command == ZIP_SOURCE_OPEN)
        w->at = 0;
    if (command == ZIP_SOURCE_OPEN || command == ZIP_SOURCE_CLOSE ||
        command == ZIP_SOURCE_FREE)
        return 0;
    if (command == ZIP_SOURCE_SUPPORTS)
        return zip_source_make_command_bitmap(
            ZIP_SOURCE_OPEN, ZIP_SOURCE_READ, ZIP_SOURCE_CLOSE, ZIP_SOURCE_STAT,
            ZIP_SOURCE_ERROR, ZIP_SOURCE_FREE, ZIP_SOURCE_SEEK, ZIP_SOURCE_TELL,
            ZIP_SOURCE_SUPPORTS, -1);
    zip_error_set(&w->source_error, ZIP_ER_OPNOTSUPP, 0);
    return -1;
}

/* The error of the file, or of the ZIP. */
static int
wacz_fail(const struct wacz_input *w, const char *why, struct err *err)
{
    if (w->read_err.code) {
        if (err)
            *err = w->read_err;
        return w->read_err.code;
    }
    return err_set(err, ERR_CORRUPT, "a damaged ZIP file: %s", why);
}

/* --- opening ------------------------------------------------------------- */

static uint64_t zip_u16(const char *p)
{
    return (uint64_t)(unsigned char)p[0] | (uint64_t)(unsigned char)p[1] << 8;
}

static uint64_t zip_u64(const char *p)
{
    return zip_u16(p) | zip_u16(p + 2) << 16 | zip_u16(p + 4) << 32 |
           zip_u16(p + 6) << 48;
}

/* How many members the end of the directory names; of ZIP64 the record that it
 * leads to. libzip takes memory for as many. */
static int count_members(struct wacz_input *w, uint64_t *count, struct err *err)
{
    size_t n = (size_t)MIN_OF(w->size_bytes, (uint64_t)ZIP_TAIL_BYTES);
    char *tail = mem_alloc(MAX_OF(n, (size_t)1));
    char record[56];
    size_t got = 0;
    size_t at;
    int rc = file_read_at(w->file, w->size_bytes - n, tail, n, &got, err);
    bool found = false;
    *count = 0;
    for (at = got; rc == 0 && !found && at >= 22; at--)
        found = memcmp(tail + at - 22, "PK\x05\x06", 4) == 0;
    at -= found ? 21 : 0; /* The loop has counted down once more. */
    if (rc == 0 && !found)
        rc = err_set(err, ERR_CORRUPT,
                     "a damaged ZIP file: its directory is missing");
    if (rc == 0)
        *count = zip_u16(tail + at + 10);
    if (rc == 0 && at >= 20 && memcmp(tail + at - 20, "PK\x06\x07", 4) == 0) {
        uint64_t offset = zip_u64(tail + at - 12);
        rc = offset > w->size_bytes ? ERR_CORRUPT
                                    : file_read_at(w->file, offset, record,
                                                   sizeof(record), &got, err);
        if (rc == 0 && got == sizeof(record))
            *count = MAX_OF(*count, zip_u64(record + 32));
        else if (rc == 0 || offset > w->size_bytes)
            rc = err_set(err, ERR_CORRUPT,
                         "a damaged ZIP file: its directory is missing");
    }
    mem_free(tail);
    return rc;
}

/* Members lie one after the other: together they are no larger than the file.
 */
static int check_overlap(struct wacz_input *w, struct err *err)
{
    uint64_t sum = 0;
    for (uint64_t i = 0; i < w->count; i++) {
        zip_stat_t st;
        if (zip_stat_index(w->zip, i, 0, &st) ||
            !(st.valid & ZIP_STAT_COMP_SIZE))
            continue;
        if (st.comp_size > w->size_bytes - MIN_OF(sum, w->size_bytes))
            return err_set(err, ERR_CORRUPT,
                           "a ZIP file whose members overlap, or are longer "
                           "than the file");
        sum += st.comp_size;
    }
    return 0;
}

static int open_zip(struct wacz_input *w, struct err *err)
{
    uint64_t count;
    zip_error_t why;
    zip_source_t *source;
    int rc = count_members(w, &count, err);
    if (rc)
        return rc;
    if (count > WACZ_MEMBERS_MAX)
        return err_set(err, ERR_CORRUPT, "a ZIP file of more than %llu members",
                       (unsigned long long)WACZ_MEMBERS_MAX);
    zip_error_init(&why);
    source = zip_source_function_create(source_call, w, &why);
    if (source)
        w->zip = zip_open_from_source(source, ZIP_RDONLY, &why);
    if (!w->zip) {
        rc = wacz_fail(w, zip_error_strerror(&why), err);
        if (source)
            zip_source_free(source);
    }
    zip_error_fini(&why);
    if (rc)
        return rc;
    w->count = (uint64_t)MAX_OF(zip_get_num_entries(w->zip, 0), 0);
    return check_overlap(w, err);
}

/* All bytes of the member @name, if it is there and not too long. */
static bool
read_small_member(struct wacz_input *w, const char *name, struct buf *out)
{
    zip_int64_t i = zip_name_locate(w->zip, name, ZIP_FL_ENC_UTF_8);
    zip_file_t *f = i < 0 ? NULL : zip_fopen_index(w->zip, (zip_uint64_t)i, 0);
    zip_int64_t n = 0;
    if (!f)
        return false;
    while (out->len <= WACZ_PACKAGE_BYTES_MAX &&
           (n = zip_fread(f, buf_reserve(out, DRAIN_BYTES), DRAIN_BYTES)) > 0)
        out->len += (size_t)n;
    zip_fclose(f);
    return n == 0 && out->len <= WACZ_PACKAGE_BYTES_MAX;
}

/* datapackage.json is as datapackage-digest.json says, where that is there. */
static void check_package_digest(struct wacz_input *w, struct slice package)
{
    struct buf text = BUF_INIT;
    json_t *root;
    const char *hash;
    if (!read_small_member(w, "datapackage-digest.json", &text)) {
        buf_close(&text);
        return;
    }
    root = json_loadb(text.data ? text.data : "", text.len, 0, NULL);
    hash = json_string_value(json_object_get(root, "hash"));
    if (!hash || digest_check(slice_str(hash), package) == DIGEST_DIFFERENT)
        wacz_damage(w, "datapackage.json",
                    "its digest differs from datapackage-digest.json", false);
    json_decref(root);
    buf_close(&text);
}

static void read_package(struct wacz_input *w)
{
    struct buf text = BUF_INIT;
    if (!read_small_member(w, "datapackage.json", &text)) {
        wacz_damage(w, "datapackage.json",
                    "missing or damaged: digests are not compared", false);
    } else {
        check_package_digest(w, buf_slice(&text));
        w->package = json_loadb(text.data ? text.data : "", text.len, 0, NULL);
        if (!json_is_object(w->package))
            wacz_damage(w, "datapackage.json",
                        "bad JSON: digests are not compared", false);
    }
    buf_close(&text);
}

/* --- archives ------------------------------------------------------------ */

static bool is_archive_name(struct slice name)
{
    static const char *const ends[] = {".warc", ".warc.gz", ".warc.zst", ".arc",
                                       ".arc.gz"};
    if (!slice_starts_with(name, SLICE_LIT("archive/")))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(ends); i++)
        if (slice_ends_with(name, slice_str(ends[i])))
            return true;
    return false;
}

/* The object of datapackage.json about @name, or NULL. */
static json_t *find_resource(const struct wacz_input *w, const char *name)
{
    json_t *list = json_object_get(w->package, "resources");
    size_t n = json_array_size(list);
    for (size_t i = 0; i < n; i++) {
        json_t *o = json_array_get(list, i);
        const char *path = json_string_value(json_object_get(o, "path"));
        if (path && strcmp(path, name) == 0)
            return o;
    }
    return NULL;
}

/* "hash": "sha256:…", or of older writers "stats": {"hash": …} with "hashing".
 */
static void find_digest(struct wacz_input *w, const char *name)
{
    json_t *o = find_resource(w, name);
    const char *hash = json_string_value(json_object_get(o, "hash"));
    const char *kind = json_string_value(json_object_get(o, "hashing"));
    struct buf label = BUF_INIT;
    w->wanted.kind = DIGEST_NONE;
    if (w->package && !o)
        wacz_damage(w, name, "is not in datapackage.json", false);
    if (!hash)
        hash = json_string_value(
            json_object_get(json_object_get(o, "stats"), "hash"));
    if (hash) {
        if (!strchr(hash, ':'))
            buf_printf(&label, "%s:", kind ? kind : "sha256");
        buf_append_str(&label, hash);
        if (!digest_parse(buf_slice(&label), &w->wanted))
            w->wanted.kind = DIGEST_NONE;
    }
    buf_close(&label);
}

/* Archives that datapackage.json names and the ZIP lacks. */
static void report_missing(struct wacz_input *w)
{
    json_t *list = json_object_get(w->package, "resources");
    size_t n = json_array_size(list);
    for (size_t i = 0; i < n; i++) {
        const char *path =
            json_string_value(json_object_get(json_array_get(list, i), "path"));
        if (path && is_archive_name(slice_str(path)) &&
            zip_name_locate(w->zip, path, ZIP_FL_ENC_UTF_8) < 0)
            wacz_damage(w, path, "is in datapackage.json and not in the ZIP",
                        true);
    }
}

int wacz_next(struct wacz_input *w, struct slice *name, struct err *err)
{
    PRE(!w->member);
    *name = SLICE_EMPTY;
    while (w->next < w->count) {
        zip_uint64_t i = w->next++;
        const char *path = zip_get_name(w->zip, i, ZIP_FL_ENC_RAW);
        if (!path || !is_archive_name(slice_str(path)))
            continue;
        w->member = zip_fopen_index(w->zip, i, 0);
        if (!w->member) {
            if (w->read_err.code)
                return wacz_fail(w, "", err);
            wacz_damage(w, path, zip_strerror(w->zip), true);
            continue;
        }
        buf_clear(&w->name);
        buf_append_str(&w->name, path);
        w->damaged = false;
        find_digest(w, path);
        if (w->wanted.kind != DIGEST_NONE)
            w->digest = digest_stream_new(w->wanted.kind);
        *name = buf_slice(&w->name);
        return 0;
    }
    return 0;
}

int wacz_read(void *ctx, void *dst, size_t len, size_t *got, struct err *err)
{
    struct wacz_input *w = ctx;
    zip_int64_t n;
    PRE(w->member);
    *got = 0;
    if (w->damaged)
        return 0;
    n = zip_fread(w->member, dst, len);
    if (n < 0 && w->read_err.code)
        return wacz_fail(w, "", err);
    if (n < 0) {
        w->damaged = true;
        wacz_damage(w, buf_cstr(&w->name), zip_file_strerror(w->member), true);
        return 0;
    }
    *got = (size_t)n;
    if (w->digest)
        digest_stream_add(w->digest, slice_make(dst, *got));
    return 0;
}

int wacz_end_member(struct wacz_input *w, struct err *err)
{
    char *piece = mem_alloc(DRAIN_BYTES);
    struct digest is;
    size_t got = 1;
    int rc = 0;
    PRE(w->member);
    while (rc == 0 && got > 0)
        rc = wacz_read(w, piece, DRAIN_BYTES, &got, err);
    mem_free(piece);
    if (w->digest) {
        digest_stream_end(w->digest, &is);
        w->digest = NULL;
        if (rc == 0 && !w->damaged && !digest_eq(&is, &w->wanted))
            wacz_damage(w, buf_cstr(&w->name),
                        "its digest differs from datapackage.json", false);
    }
    zip_fclose(w->member);
    w->member = NULL;
    return rc;
}

/* --- life ---------------------------------------------------------------- */

static bool has_archives(const struct wacz_input *w)
{
    for (uint64_t i = 0; i < w->count; i++) {
        const char *path = zip_get_name(w->zip, i, ZIP_FL_ENC_RAW);
        if (path && is_archive_name(slice_str(path)))
            return true;
    }
    return false;
}

int wacz_open(struct file *file,
              uint64_t size_bytes,
              wacz_damage_fn on_damage,
              void *ctx,
              struct wacz_input **out,
              struct err *err)
{
    struct wacz_input *w = mem_zalloc(1, sizeof(*w));
    int rc;
    PRE(on_damage != NULL);
    w->file = file;
    w->size_bytes = size_bytes;
    w->on_damage = on_damage;
    w->ctx = ctx;
    zip_error_init(&w->source_error);
    rc = open_zip(w, err);
    if (rc == 0 && !has_archives(w)) {
        rc = err_set(err, ERR_CORRUPT,
                     "a ZIP file, but no WACZ: there is no "
                     "archive/….warc.gz in it");
    }
    if (rc) {
        wacz_close(w);
        *out = NULL;
        return rc;
    }
    read_package(w);
    report_missing(w);
    *out = w;
    return 0;
}

void wacz_close(struct wacz_input *w)
{
    if (!w)
        return;
    if (w->member)
        zip_fclose(w->member);
    if (w->digest)
        digest_stream_end(w->digest, NULL);
    if (w->zip)
        zip_discard(w->zip);
    zip_error_fini(&w->source_error);
    json_decref(w->package);
    buf_close(&w->name);
    mem_free(w);
}
