/* Any bytes as a file to import: told apart, decompressed, cut into cells.
 * Every record that is taken gives cells within it; all sizes stay in bounds.
 */
#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "mapreduce/ingest/cell_parser.h"
#include "mapreduce/ingest/cell_record.h"
#include "mapreduce/ingest/detect.h"
#include "mapreduce/warc/decompress.h"

/* More than a small input may become: a bomb ends the round, not the fuzzer. */
#define OUT_BYTES_MAX ((size_t)8 << 20)

static int
read_rest(void *ctx, void *dst, size_t len, size_t *got, struct err *err)
{
    struct slice *rest = ctx;
    (void)err;
    *got = rest->len < len ? rest->len : len;
    if (*got)
        memcpy(dst, rest->data, *got);
    *rest = slice_sub(*rest, *got, rest->len);
    return 0;
}

static void decompress_all(struct slice file)
{
    struct warc_reader_options opts = {.read = read_rest, .ctx = &file};
    struct decompressor u;
    size_t made = 0;
    decompress_init(&u);
    decompress_start(&u, &opts);
    while (made < OUT_BYTES_MAX && decompress_need(&u, 1, NULL) == 0 &&
           decompress_avail(&u) > 0) {
        made += decompress_avail(&u);
        decompress_consume(&u, decompress_avail(&u));
    }
    decompress_close(&u);
}

static void parse_all(enum cell_form form, struct slice text)
{
    struct cell_parser p;
    cell_parser_init(&p, form);
    while (text.len) {
        size_t n = slice_find_byte(text, '\n');
        struct quarry_bulk_cell cell;
        const char *why;
        int code = cell_parser_take(&p, slice_sub(text, 0, n), &why);
        while (!code && cell_parser_next(&p, &cell, &code, &why))
            if (cell.value.len > text.len || strlen(cell.family) == 0)
                abort();
        text = slice_sub(text, n + 1 < text.len ? n + 1 : text.len, text.len);
    }
    cell_parser_close(&p);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice all = slice_make(data, size);
    char family[CELL_RECORD_FAMILY_BYTES];
    struct ingest_detected d;
    struct quarry_bulk_cell cell;
    if (ingest_sniff(all, size % 2 == 0, &d, NULL) == 0 &&
        d.kind >= INGEST_KINDS)
        abort();
    decompress_all(all);
    parse_all(CELLS_TSV, all);
    parse_all(CELLS_JSON, all);
    parse_all(CELLS_CSV, all);
    if (cell_record_get(SLICE_LIT("row"), all, family, &cell) &&
        cell.value.len + cell.qualifier.len >= size)
        abort();
    return 0;
}
