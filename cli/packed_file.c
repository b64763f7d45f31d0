/* A stdio stream of our own kind whose writes go through a packer, so that
 * code which prints needs not know that its output is compressed. */
#define _GNU_SOURCE /* fopencookie() */

#include "cli/packed_file.h"

#include <errno.h>

#include "base/core/panic.h"

/* Put the bytes made so far into the target. */
static int pass_on(struct packed_file *f)
{
    size_t n = fwrite(f->made.data, 1, f->made.len, f->to);
    if (n != f->made.len)
        f->code = err_set_errno(&f->err, errno, "export");
    buf_clear(&f->made);
    return f->code;
}

static ssize_t packed_write(void *ctx, const char *bytes, size_t count)
{
    struct packed_file *f = ctx;
    PRE(f->packer);
    if (!f->code)
        f->code =
            packer_put(f->packer, slice_make(bytes, count), &f->made, &f->err);
    if (!f->code && f->made.len)
        (void)pass_on(f);
    return f->code ? 0 : (ssize_t)count;
}

int packed_file_open(struct packed_file *f,
                     enum packing packing,
                     FILE *to,
                     struct err *err)
{
    const cookie_io_functions_t io = {.write = packed_write};
    int rc;
    *f = (struct packed_file){.out = to, .to = to};
    if (packing == PACKING_NONE)
        return ERR_OK;
    rc = packer_new(packing, &f->packer, err);
    if (rc)
        return rc;
    f->out = fopencookie(f, "wb", io);
    if (f->out)
        return ERR_OK;
    packer_free(f->packer);
    return err_set(err, ERR_NOMEM, "export");
}

int packed_file_close(struct packed_file *f, int code, struct err *err)
{
    PRE(f->out);
    PRE(f->to);
    if (!f->packer)
        return code;
    if (fclose(f->out) != 0 && !f->code)
        f->code = err_set_errno(&f->err, errno, "export");
    if (!code && !f->code)
        f->code = packer_end(f->packer, &f->made, &f->err);
    if (!code && !f->code)
        (void)pass_on(f);
    packer_free(f->packer);
    buf_close(&f->made);
    return code || !f->code ? code : err_copy(err, &f->err);
}
