/* Commands and images of the lock service from anywhere: the machine answers
 * or refuses, and what it loads it can save. */
#include "base/core/buf.h"
#include "base/core/panic.h"
#include "chubby-lite/cell_machine.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Commands one after the other: two bytes of length, then the bytes. */
static void run_commands(struct cell *c, struct slice s)
{
    struct buf answer = BUF_INIT;

    while (s.len >= 2) {
        size_t len = (unsigned char)s.data[0] + 256u * (unsigned char)s.data[1];
        buf_clear(&answer);
        cell_apply(c, slice_sub(s, 2, 2 + len), &answer);
        s = slice_sub(s, 2 + len, s.len);
    }
    buf_close(&answer);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cell *c = cell_new(NULL, NULL);
    struct buf image = BUF_INIT;
    struct slice s = slice_make(data, size);
    int rc;

    if (size > 0 && data[0] & 1) {
        run_commands(c, slice_sub(s, 1, s.len));
    } else if (cell_load(c, s, NULL)) {
        cell_free(c);
        return 0;
    }
    cell_save(c, &image);
    rc = cell_load(c, buf_slice(&image), NULL);
    INVARIANT(rc == 0);
    buf_close(&image);
    cell_free(c);
    return 0;
}
