/* Bytes as a RowFilter message: decoding and evaluation are bounded, and what
 * is decoded encodes to something that decodes to the same. */
#include <stdint.h>
#include <stdlib.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "bigtable/row/filter.h"
#include "bigtable/row/filter_run.h"

static void evaluate(const struct quarry_filter *f)
{
    static const char family[] = "A";
    struct quarry_cell cells[12];
    struct quarry_row row = {SLICE_LIT("row"), cells, 0};
    struct filter_run *run;
    if (filter_run_new(f, &run, NULL))
        return;
    if (filter_run_row(run, row.key))
        for (int i = 0; i < 12; i++) {
            struct quarry_cell c = {
                .family = slice_make(family, 1),
                .qualifier = slice_make("abcdef" + i / 2, 1),
                .timestamp_us = 100 - i,
                .value = slice_make("xxxxxyyyyyzzzzz" + i, 3),
                .label = SLICE_EMPTY,
            };
            if (filter_run_cell(run, &c) == FILTER_PASS)
                cells[row.cell_count++] = c;
        }
    if (filter_run_finish(run, &row, NULL) == 0)
        INVARIANT(row.cell_count <= (1 << 20) + 12);
    filter_run_free(run);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct quarry_filter *f;
    struct quarry_filter *again;
    struct buf first = BUF_INIT;
    struct buf second = BUF_INIT;
    if (filter_decode(slice_make(data, size), &f, NULL))
        return 0;
    evaluate(f);
    filter_encode(f, &first);
    if (filter_decode(buf_slice(&first), &again, NULL))
        PANIC("an encoded filter does not decode");
    filter_encode(again, &second);
    INVARIANT(slice_eq(buf_slice(&first), buf_slice(&second)));
    filter_unref(f);
    filter_unref(again);
    buf_close(&first);
    buf_close(&second);
    return 0;
}
