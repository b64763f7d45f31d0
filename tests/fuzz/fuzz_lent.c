/* What a hostile process asks the lender of a file system: an answer each time,
 * and no file but those it names. The file system holds one file, in memory. */
#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/coding.h"
#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "gfs-lite/fs_ops.h"
#include "gfs-lite/lent.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char contents[] = "what is in the one file";

static int open_one(struct fs *fs,
                    const char *path,
                    struct fs_reader **out,
                    struct err *err)
{
    if (strcmp(path, "f") != 0)
        return err_set(err, ERR_NOTFOUND, "%s", path);
    *out = mem_zalloc(1, sizeof(**out));
    **out = (struct fs_reader){fs, sizeof(contents)};
    return 0;
}

static int read_one(struct fs_reader *r,
                    uint64_t offset,
                    void *dst,
                    size_t len,
                    size_t *got,
                    struct err *err)
{
    (void)err;
    *got = offset < r->size_bytes ? MIN_OF(len, r->size_bytes - offset) : 0;
    if (*got > 0)
        memcpy(dst, contents + offset, *got);
    return 0;
}

static void close_reader(struct fs_reader *r)
{
    mem_free(r);
}

static int create_one(struct fs *fs,
                      const char *path,
                      const struct fs_write_options *opts,
                      struct fs_writer **out,
                      struct err *err)
{
    if (strlen(path) > FS_PATH_BYTES_MAX || opts->mode > FS_WRITE_LOG)
        abort();
    if (path[0] == '/')
        return err_set(err, ERR_INVALID, "%s", path);
    *out = mem_zalloc(1, sizeof(**out));
    (*out)->fs = fs;
    return 0;
}

static int
append_sync(struct fs_writer *w, const void *data, size_t len, struct err *err)
{
    (void)w;
    (void)data;
    (void)err;
    if (len > LENT_BYTES_MAX)
        abort();
    return 0;
}

static void close_writer(struct fs_writer *w)
{
    mem_free(w);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct fs_ops ops = {.open = open_one,
                                      .read_at = read_one,
                                      .reader_close = close_reader,
                                      .create = create_one,
                                      .append_sync = append_sync,
                                      .writer_close = close_writer};
    struct world *w = world_real_new();
    struct fs fs = {&ops, w};
    struct lender *l = lender_new(&fs);
    struct buf answer = BUF_INIT;
    struct cursor in;
    lender_answer(l, slice_make((const char *)data, size), &answer);
    in = cursor_make(buf_slice(&answer));
    cursor_le64(&in);
    if (cursor_zigzag(&in) != 0) {
        cursor_lslice(&in);
        cursor_lslice(&in);
    }
    if (in.bad || answer.len > LENT_MESSAGE_MAX)
        abort();
    buf_close(&answer);
    lender_free(l);
    world_free(w);
    return 0;
}
