/* The end of a file that others append to, in whole lines; and the call that
 * asks a server for the end of its log. */
#include "cli/log_tail.h"

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/rpc/codec.h"
#include "base/rpc/rpc_message.h"
#include "base/runtime/log.h"
#include "base/runtime/world.h"

void log_tail_query_put(uint64_t bytes, struct buf *out)
{
    codec_put_array(out, 1);
    codec_put_u64(out, bytes);
}

int log_tail_query_get(struct slice in, uint64_t *bytes, struct err *err)
{
    struct message_reader m = message_begin(in, 1);
    *bytes = MIN_OF(codec_get_u64(&m.r), (uint64_t)LOG_TAIL_BYTES_MAX);
    return message_end(&m, "query of a log", err);
}

/* Append [@from, @size) without the line that begins before it. */
static int read_lines(struct file *f,
                      uint64_t from,
                      uint64_t size,
                      struct buf *out,
                      struct err *err)
{
    struct buf text = BUF_INIT;
    struct slice lines;
    size_t len = (size_t)(size - from);
    size_t got = 0;
    int rc;
    PRE(from <= size);
    rc = file_read_at(f, from, buf_extend(&text, len), len, &got, err);
    lines = slice_make(text.data, got);
    if (from > 0)
        lines = slice_sub(lines, slice_find_byte(lines, '\n') + 1, got);
    if (rc == 0)
        buf_append_slice(out, lines);
    buf_close(&text);
    return rc;
}

int file_tail_read(struct world *w,
                   const char *path,
                   size_t bytes,
                   struct buf *out,
                   struct err *err)
{
    struct file *f;
    uint64_t size = 0;
    int rc = file_open(w, path, FILE_READ, &f, err);
    if (rc)
        return rc;
    rc = file_size(f, &size, err);
    if (rc == 0 && size > 0 && bytes > 0)
        rc = read_lines(f, size > bytes ? size - bytes : 0, size, out, err);
    file_close(f);
    return rc;
}

int log_tail_read(struct world *w,
                  size_t bytes,
                  struct buf *out,
                  struct err *err)
{
    const struct logger *l = world_logger(w);
    const char *path = l ? logger_path(l) : NULL;
    if (!path)
        return err_set(err, ERR_UNSUPPORTED,
                       "the log goes to standard error, where systemd keeps "
                       "it in its journal (journalctl)");
    return file_tail_read(w, path, bytes, out, err);
}
