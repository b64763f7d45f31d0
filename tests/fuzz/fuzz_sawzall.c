/* Programs nobody vouches for: compiling and running them stays within bounds.
 *
 * If the first byte is a '~', the rest chooses the productions of a grammar
 * (tests/lib/saw_source.h), and the program must also do the same with and
 * without optimisation; otherwise the input is the text of a program.
 */
#include <stdint.h>
#include <stdlib.h>

#include "base/core/panic.h"
#include "sawzall-lite/sawzall.h"
#include "tests/lib/saw_compare.h"
#include "tests/lib/saw_source.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* --- running it ---------------------------------------------------------- */

static void run(struct saw_program *p)
{
    struct saw_run_options opts = {.fuel_per_record = 200000,
                                   .memory_bytes_max = 4 << 20,
                                   .depth_max = 500};
    struct saw_cell cell = {SLICE_LIT("f"), SLICE_LIT("q"), 7,
                            SLICE_LIT("value")};
    struct saw_row row = {SLICE_LIT("key"), &cell, 1};
    struct saw_run *r;
    struct err err = ERR_INIT;
    struct buf out = BUF_INIT;
    int i;
    int rc = 0;

    if (saw_run_new(p, &opts, &r, &err) != 0)
        return;
    for (i = 0; i < 2; i++) {
        if (saw_program_wants_rows(p))
            rc |= saw_run_row(r, &row, &err);
        else
            rc |= saw_run_record(r, SLICE_LIT("one 22 \xff"), SLICE_LIT("k"),
                                 &err);
    }
    INVARIANT(rc == 0 || err.text[0] != '\0');
    saw_run_print(r, &out);
    buf_clear(&out);
    saw_run_encode_tables(r, &out);
    if (saw_run_merge_tables(r, buf_slice(&out), &err) != 0)
        INVARIANT(err.code == ERR_EXHAUSTED);
    buf_close(&out);
    saw_run_free(r);
}

static void compare(struct slice source, bool ignore_undefs)
{
    static const struct slice records[] = {{"", 0}, {"17 b\xff", 5}};
    struct saw_outcome fast = {0};
    struct saw_outcome plain = {0};
    bool compared;

    if (!saw_outcomes_agree(source, ignore_undefs, records, 2, &fast, &plain,
                            &compared))
        PANIC("%.*s\n--- optimised\n%s\n--- plain\n%s", SLICE_ARG(source),
              buf_cstr(&fast.text), buf_cstr(&plain.text));
    buf_close(&fast.text);
    buf_close(&plain.text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct saw_compile_options opts = {.restricted = true};
    struct saw_source s = {.p = data, .end = data + size};
    struct saw_program *p;
    struct buf diagnostics = BUF_INIT;
    bool grammar = size > 0 && data[0] == '~';

    opts.ignore_undefs = size > 1 && data[1] & 1;
    if (grammar) {
        s.p++;
        src_program(&s, 20000);
    } else {
        buf_append(&s.text, data, size);
    }
    if (saw_compile(&opts, buf_slice(&s.text), "fuzz.szl", &p, &diagnostics) ==
        0) {
        run(p);
        saw_program_dump(p, &diagnostics);
        saw_program_free(p);
        if (grammar)
            compare(buf_slice(&s.text), opts.ignore_undefs);
    } else {
        INVARIANT(diagnostics.len > 0);
    }
    buf_close(&diagnostics);
    buf_close(&s.text);
    return 0;
}
