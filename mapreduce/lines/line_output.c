/* Output held back: for each write its kind, path and text. Segments run on
 * several threads and end in any order; what they print is written in the
 * order of the file. */
#include "mapreduce/lines/line_output.h"

#include <string.h>

#include "base/core/coding.h"
#include "base/core/panic.h"
#include "sawzall-lite/sawzall.h"

void line_output_put(struct buf *b,
                     const char *path,
                     bool is_pipe,
                     struct slice text)
{
    buf_put_u8(b, is_pipe);
    buf_put_lslice(b, slice_make(path, strlen(path) + 1)); /* With its NUL. */
    buf_put_lslice(b, text);
}

int line_output_write(struct buf *b,
                      const struct saw_run_options *o,
                      struct err *err)
{
    struct cursor c = cursor_make(buf_slice(b));
    int rc = 0;
    while (c.p < c.end && rc == 0) {
        bool is_pipe = cursor_u8(&c) != 0;
        const char *path = cursor_lslice(&c).data;
        struct slice text = cursor_lslice(&c);
        INVARIANT(!c.bad);
        rc = is_pipe ? o->pipe(o->write_ctx, path, text, err)
                     : o->write(o->write_ctx, path, text, err);
    }
    buf_clear(b);
    return rc;
}
