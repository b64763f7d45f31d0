/* Bytes as a request for digests of rows, and as a piece that answers it: what
 * is taken is bounded by the bytes. */
#include <stdint.h>
#include <stdlib.h>

#include "base/core/panic.h"
#include "bigtable/read/row_digest.h"

static void use_request(struct slice program)
{
    struct quarry_cell cell = {.family = SLICE_LIT("f"),
                               .value = SLICE_LIT("v")};
    const struct quarry_row row = {SLICE_LIT("r"), &cell, 1};
    struct row_digest_piece piece;
    struct row_digest *d;
    bool ends;
    if (!row_digest_is_asked(program) || row_digest_new(program, &d, NULL))
        return;
    if (row_digest_add(d, &row, &ends, NULL) == 0 &&
        !row_digest_read(row_digest_take(d, ends), &piece))
        PANIC("a piece is not read back");
    row_digest_free(d);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct quarry_cell cell = {.value = slice_make(data, size)};
    const struct quarry_row row = {SLICE_LIT("r"), &cell, 1};
    struct row_digest_piece piece;
    use_request(slice_make(data, size));
    if (row_digest_read(&row, &piece))
        INVARIANT(piece.rows > 0);
    return 0;
}
