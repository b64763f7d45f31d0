/* Encoding and decoding manifests. The digest in front covers every byte behind
 * it, so a manifest that is read is the one that was written; what it says is
 * checked nevertheless, because anybody can compute a digest.
 */
#include "bigtable/backup/backup_manifest.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/core/arena.h"
#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/rpc/codec.h"
#include "bigtable/wire/snapshot_record.h"

#define MAGIC_BYTES     ((size_t)8)
#define HEAD_BYTES      (MAGIC_BYTES + SHA256_BYTES)
#define MANIFEST_FIELDS 7
/* Before there were archives. */
#define MANIFEST_FIELDS_MIN 6
#define ARCHIVE_FIELDS      2
#define TABLE_FIELDS        2
#define FILE_FIELDS         5

static struct slice backup_digest_slice(const struct backup_file *f)
{
    return slice_make((const char *)f->digest, SHA256_BYTES);
}

static void put_files(const struct backup_manifest *m, struct buf *out)
{
    codec_put_array(out, (uint32_t)m->file_count);
    for (size_t i = 0; i < m->file_count; i++) {
        const struct backup_file *f = &m->files[i];
        codec_put_array(out, FILE_FIELDS);
        codec_put_u64(out, f->number);
        codec_put_u64(out, f->bytes);
        codec_put_u64(out, f->modified_us);
        codec_put_u64(out, f->tail);
        codec_put_bin(out, backup_digest_slice(f));
    }
}

void backup_manifest_put(const struct backup_manifest *m, struct buf *out)
{
    unsigned char digest[SHA256_BYTES];
    struct buf body = BUF_INIT;
    PRE(m->table_count > 0);
    codec_put_array(&body, MANIFEST_FIELDS);
    codec_put_str(&body, m->name);
    codec_put_u64(&body, m->created_us);
    codec_put_str(&body, m->source);
    codec_put_bin(&body, m->keys);
    codec_put_array(&body, (uint32_t)m->table_count);
    for (size_t i = 0; i < m->table_count; i++) {
        codec_put_array(&body, TABLE_FIELDS);
        codec_put_str(&body, m->tables[i].name);
        codec_put_bin(&body, m->tables[i].record);
    }
    put_files(m, &body);
    codec_put_array(&body, (uint32_t)m->table_count);
    for (size_t i = 0; i < m->table_count; i++) {
        codec_put_array(&body, ARCHIVE_FIELDS);
        codec_put_u64(&body, m->tables[i].archive_id);
        codec_put_u64(&body, m->tables[i].archive_number);
    }
    sha256_of(buf_slice(&body), digest);
    buf_append(out, BACKUP_MAGIC, MAGIC_BYTES);
    buf_append(out, digest, SHA256_BYTES);
    buf_append_slice(out, buf_slice(&body));
    buf_close(&body);
}

/* --- reading ------------------------------------------------------------- */

static int check_frame(struct slice in, struct err *err)
{
    unsigned char digest[SHA256_BYTES];
    if (in.len < HEAD_BYTES || memcmp(in.data, BACKUP_MAGIC, MAGIC_BYTES) != 0)
        return err_set(err, ERR_CORRUPT, "not the manifest of a backup");
    sha256_of(slice_sub(in, HEAD_BYTES, in.len), digest);
    if (memcmp(in.data + MAGIC_BYTES, digest, SHA256_BYTES) != 0)
        return err_set(err, ERR_CORRUPT, "its digest does not match");
    return 0;
}

/* An array of elements of @fields values, at least a byte each. */
static size_t get_count(struct codec_reader *r, uint32_t fields)
{
    uint32_t count = codec_get_array(r);
    if (count > (size_t)(r->end - r->p) / (fields + 1))
        r->bad = true;
    return r->bad ? 0 : count;
}

static void
get_tables(struct codec_reader *r, struct arena *a, struct backup_manifest *m)
{
    m->table_count = get_count(r, TABLE_FIELDS);
    r->bad |= m->table_count == 0 || m->table_count > BACKUP_TABLES_MAX;
    if (r->bad)
        return;
    m->tables = arena_zalloc(a, m->table_count * sizeof(*m->tables));
    for (size_t i = 0; i < m->table_count && !r->bad; i++) {
        r->bad |= codec_get_array(r) != TABLE_FIELDS;
        m->tables[i].name = codec_get_bytes(r);
        m->tables[i].record = codec_get_bytes(r);
    }
}

static void
get_files(struct codec_reader *r, struct arena *a, struct backup_manifest *m)
{
    m->file_count = get_count(r, FILE_FIELDS);
    if (r->bad)
        return;
    m->files = arena_zalloc(a, (m->file_count + 1) * sizeof(*m->files));
    for (size_t i = 0; i < m->file_count && !r->bad; i++) {
        struct backup_file *f = &m->files[i];
        struct slice digest;
        r->bad |= codec_get_array(r) != FILE_FIELDS;
        f->number = codec_get_u64(r);
        f->bytes = codec_get_u64(r);
        f->modified_us = codec_get_u64(r);
        f->tail = codec_get_u64(r);
        digest = codec_get_bytes(r);
        r->bad |= digest.len != SHA256_BYTES || f->number == 0 ||
                  (i > 0 && f[-1].number >= f->number);
        if (!r->bad)
            memcpy(f->digest, digest.data, SHA256_BYTES);
    }
}

static void get_archives(struct codec_reader *r, struct backup_manifest *m)
{
    r->bad |= get_count(r, ARCHIVE_FIELDS) != m->table_count;
    for (size_t i = 0; i < m->table_count && !r->bad; i++) {
        r->bad |= codec_get_array(r) != ARCHIVE_FIELDS;
        m->tables[i].archive_id = codec_get_u64(r);
        m->tables[i].archive_number = codec_get_u64(r);
    }
}

struct file_look {
    const struct backup_manifest *manifest;
    uint64_t missing; /* 0: none. */
};

static void look_for_file(void *ctx, uint64_t number)
{
    struct file_look *l = ctx;
    if (!backup_manifest_file(l->manifest, number))
        l->missing = number;
}

static int check_table(const struct backup_manifest *m,
                       const struct backup_table *t,
                       struct err *err)
{
    struct file_look look = {m, 0};
    struct snapshot_record r;
    struct arena a;
    int rc;
    arena_init(&a);
    rc = snapshot_record_get(t->record, &a, &r, err);
    if (rc == 0)
        rc = snapshot_each_file(&r, look_for_file, &look, err);
    if (rc == 0 && look.missing)
        rc = err_set(err, ERR_CORRUPT, "file %" PRIu64 " is not listed",
                     look.missing);
    if (rc == 0)
        rc = backup_check_name(r.table, err);
    arena_close(&a);
    if (rc)
        err_wrap(err, "table %.*s", SLICE_ARG(t->name));
    return rc;
}

int backup_manifest_get(struct slice in,
                        struct arena *a,
                        struct backup_manifest *m,
                        struct err *err)
{
    struct codec_reader r;
    uint32_t fields;
    int rc = check_frame(in, err);
    *m = (struct backup_manifest){.created_us = 0};
    if (rc)
        return rc;
    r = codec_reader_make(slice_sub(in, HEAD_BYTES, in.len));
    fields = codec_get_array(&r);
    r.bad |= fields < MANIFEST_FIELDS_MIN;
    m->name = codec_get_bytes(&r);
    m->created_us = codec_get_u64(&r);
    m->source = codec_get_bytes(&r);
    m->keys = codec_get_bytes(&r);
    get_tables(&r, a, m);
    get_files(&r, a, m);
    if (fields > MANIFEST_FIELDS_MIN)
        get_archives(&r, m);
    if (r.bad || m->source.len > BACKUP_SOURCE_BYTES_MAX)
        return err_set(err, ERR_CORRUPT, "malformed manifest");
    rc = backup_check_name(m->name, err);
    for (size_t i = 0; i < m->table_count && rc == 0; i++)
        rc = check_table(m, &m->tables[i], err);
    if (rc && err)
        err->code = ERR_CORRUPT;
    return rc ? ERR_CORRUPT : 0;
}

static int compare_numbers(const void *key, const void *element)
{
    uint64_t number = *(const uint64_t *)key;
    const struct backup_file *f = element;
    return number < f->number ? -1 : number > f->number;
}

const struct backup_file *backup_manifest_file(const struct backup_manifest *m,
                                               uint64_t number)
{
    return m->file_count ? bsearch(&number, m->files, m->file_count,
                                   sizeof(*m->files), compare_numbers)
                         : NULL;
}

int backup_check_name(struct slice name, struct err *err)
{
    return snapshot_check_name(name, err);
}
