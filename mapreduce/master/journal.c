/* Records with a length and a checksum, one behind the other. */
#include "mapreduce/master/journal.h"

#include "base/core/coding.h"
#include "base/core/crc32c.h"
#include "base/core/panic.h"
#include "base/runtime/world.h"

#define HEAD_BYTES 8
/* A report of a task holds counters, names of files and sampled keys. */
#define RECORD_BYTES_MAX  ((uint32_t)256 << 20)
#define JOURNAL_BYTES_MAX ((uint64_t)2 << 30)

int journal_open(struct journal *j,
                 struct world *w,
                 const char *path,
                 uint64_t offset,
                 struct err *err)
{
    int code = file_open(w, path, FILE_WRITE | FILE_CREATE, &j->file, err);
    j->offset = offset;
    if (code == 0) {
        code = file_truncate(j->file, offset, err);
    } else {
        j->file = NULL;
    }
    return code;
}

void journal_close(struct journal *j)
{
    if (j->file)
        file_close(j->file);
    j->file = NULL;
}

int journal_append(struct journal *j,
                   enum journal_type type,
                   struct slice body,
                   struct err *err)
{
    struct buf record = BUF_INIT;
    struct slice part;
    char *head;
    int code;
    if (!j->file)
        return 0;
    (void)buf_extend(&record, HEAD_BYTES);
    buf_put_u8(&record, (uint8_t)type);
    buf_append_slice(&record, body);
    head = record.data;
    put_le32(head, (uint32_t)(record.len - HEAD_BYTES));
    put_le32(head + 4,
             crc32c(record.data + HEAD_BYTES, record.len - HEAD_BYTES));
    part = buf_slice(&record);
    code = file_write_at(j->file, j->offset, &part, 1, err);
    if (code == 0)
        j->offset += record.len;
    buf_close(&record);
    return code;
}

int journal_load(struct world *w,
                 const char *path,
                 struct buf *out,
                 struct err *err)
{
    struct file *f = NULL;
    uint64_t size = 0;
    size_t got = 0;
    int code = file_open(w, path, FILE_READ, &f, err);
    if (code)
        return code;
    code = file_size(f, &size, err);
    if (code == 0 && size > JOURNAL_BYTES_MAX)
        code = err_set(err, ERR_TOOBIG, "%s is too long", path);
    if (code == 0)
        code = file_read_at(f, 0, buf_extend(out, size), size, &got, err);
    if (code == 0)
        out->len = got;
    file_close(f);
    return code;
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
