/* Reading and replacing the manifest. It is small, a line for each segment, so
 * it is read and replaced as a whole.
 */
#include "web/search/segment/index_manifest.h"

#include <string.h>

#include "base/core/coding.h"
#include "base/core/crc32c.h"
#include "base/core/panic.h"
#include "gfs-lite/fs.h"

#define MANIFEST_BYTES_MAX ((size_t)4 << 20)
#define TABLE_NAME_MAX     ((size_t)4096)

enum {
    MANIFEST_VERSION = 1
};

void index_segment_path(const char *directory, uint64_t number, struct buf *out)
{
    buf_clear(out);
    buf_printf(out, "%s/%06llu.segment", directory, (unsigned long long)number);
}

void index_manifest_add(struct index_manifest *m, const struct index_segment *s)
{
    m->segments =
        mem_realloc(m->segments, (m->segment_count + 1) * sizeof(*m->segments));
    m->segments[m->segment_count++] = *s;
}

void index_manifest_copy(const struct index_manifest *m,
                         struct index_manifest *out)
{
    *out = (struct index_manifest){.table = mem_strdup(m->table),
                                   .next_number = m->next_number,
                                   .updated_us = m->updated_us};
    buf_append_slice(&out->token, buf_slice(&m->token));
    for (size_t i = 0; i < m->segment_count; i++)
        index_manifest_add(out, &m->segments[i]);
}

void index_manifest_close(struct index_manifest *m)
{
    mem_free(m->table);
    mem_free(m->segments);
    buf_close(&m->token);
    *m = (struct index_manifest){.table = NULL};
}

static bool manifest_body(struct cursor *c, struct index_manifest *out)
{
    struct slice table = cursor_lslice(c);
    struct slice token;
    size_t count;
    out->next_number = cursor_varint(c);
    out->updated_us = cursor_le64(c);
    token = cursor_lslice(c);
    count = cursor_count(c, 4);
    if (c->bad || count > INDEX_SEGMENTS_MAX || table.len > TABLE_NAME_MAX)
        return false;
    out->table = mem_strndup(table.data, table.len);
    buf_append_slice(&out->token, token);
    for (size_t i = 0; i < count; i++) {
        struct index_segment s;
        s.number = cursor_varint(c);
        s.rows = cursor_varint(c);
        s.documents = cursor_varint(c);
        s.bytes = cursor_varint(c);
        if (s.number >= out->next_number)
            return false;
        index_manifest_add(out, &s);
    }
    return !c->bad && cursor_left(c) == 0;
}

int index_manifest_decode(struct slice bytes,
                          struct index_manifest *out,
                          struct err *err)
{
    struct cursor c = cursor_make(bytes);
    *out = (struct index_manifest){.table = NULL};
    if (bytes.len < 13 || memcmp(bytes.data, INDEX_MANIFEST_MAGIC, 8) != 0)
        return err_set(err, ERR_CORRUPT, "it is no manifest of an index");
    (void)cursor_bytes(&c, 8);
    if (cursor_le32(&c) != crc32c(c.p, cursor_left(&c)))
        return err_set(err, ERR_CORRUPT, "bad checksum");
    if (cursor_u8(&c) != MANIFEST_VERSION)
        return err_set(err, ERR_UNSUPPORTED,
                       "a newer version of quarry wrote it");
    if (!manifest_body(&c, out))
        return err_set(err, ERR_CORRUPT, "it makes no sense");
    return 0;
}

int index_manifest_read(struct fs *fs,
                        const char *directory,
                        struct index_manifest *out,
                        struct err *err)
{
    struct buf path = BUF_INIT;
    struct buf bytes = BUF_INIT;
    int rc;
    *out = (struct index_manifest){.table = NULL};
    buf_printf(&path, "%s/MANIFEST", directory);
    rc = fs_read_all_sealed(fs, buf_cstr(&path), MANIFEST_BYTES_MAX, &bytes,
                            err);
    if (!rc) {
        rc = index_manifest_decode(buf_slice(&bytes), out, err);
        if (rc)
            err_wrap(err, "%s", buf_cstr(&path));
    }
    buf_close(&path);
    buf_close(&bytes);
    return rc;
}

static void manifest_encode(const struct index_manifest *m, struct buf *out)
{
    struct buf body = BUF_INIT;
    buf_put_u8(&body, MANIFEST_VERSION);
    buf_put_lslice(&body, slice_str(m->table));
    buf_put_varint(&body, m->next_number);
    buf_put_le64(&body, m->updated_us);
    buf_put_lslice(&body, buf_slice(&m->token));
    buf_put_varint(&body, m->segment_count);
    for (size_t i = 0; i < m->segment_count; i++) {
        const struct index_segment *s = &m->segments[i];
        PRE(s->number < m->next_number);
        buf_put_varint(&body, s->number);
        buf_put_varint(&body, s->rows);
        buf_put_varint(&body, s->documents);
        buf_put_varint(&body, s->bytes);
    }
    buf_append(out, INDEX_MANIFEST_MAGIC, 8);
    buf_put_le32(out, crc32c(body.data, body.len));
    buf_append_slice(out, buf_slice(&body));
    buf_close(&body);
}

int index_manifest_write(struct fs *fs,
                         const char *directory,
                         const struct index_manifest *m,
                         struct err *err)
{
    struct buf path = BUF_INIT;
    struct buf bytes = BUF_INIT;
    int rc;
    manifest_encode(m, &bytes);
    buf_printf(&path, "%s/MANIFEST", directory);
    rc = fs_replace_sealed(fs, buf_cstr(&path), buf_slice(&bytes), err);
    buf_close(&path);
    buf_close(&bytes);
    return rc;
}
