/* One program, compiled with and without optimisation: do both say the same?
 *
 * Both run over the same records. Results, states of tables, return codes and
 * errors (with their lines) must agree; only runs that reach a limit of fuel,
 * memory or depth cannot be compared, since plain code needs more of each.
 */
#ifndef TESTS_LIB_SAW_COMPARE_H
#define TESTS_LIB_SAW_COMPARE_H

#include "sawzall-lite/sawzall.h"

struct saw_outcome {
    int compile_rc;
    int rc; /* Of the first record that failed. */
    struct buf text;
};

/* The record, or a row made of it where the program wants rows. */
static inline int
saw_compare_record(struct saw_run *r, struct slice record, struct err *err)
{
    struct saw_cell cells[2] = {
        {SLICE_LIT("http"), SLICE_LIT("status"), 7, record},
        {SLICE_LIT("link"), SLICE_LIT("a"), 8, SLICE_LIT("text")}};
    struct saw_row row = {SLICE_LIT("com.example/"), cells, 2};

    return saw_program_wants_rows(saw_run_program(r))
               ? saw_run_row(r, &row, err)
               : saw_run_record(r, record, SLICE_LIT("key"), err);
}

static inline void saw_outcome_of(struct slice source,
                                  bool plain,
                                  bool ignore_undefs,
                                  const struct slice *records,
                                  size_t count,
                                  struct saw_outcome *out)
{
    struct saw_compile_options copts = {.restricted = true,
                                        .ignore_undefs = ignore_undefs,
                                        .plain_code = plain};
    struct saw_run_options ropts = {.fuel_per_record = 400000,
                                    .memory_bytes_max = 16 << 20,
                                    .depth_max = 500};
    struct saw_program *p;
    struct saw_run *r = NULL;
    struct err err = ERR_INIT;

    out->rc = 0;
    out->compile_rc = saw_compile(&copts, source, "both.szl", &p, &out->text);
    buf_clear(&out->text); /* Warnings may differ. */
    if (out->compile_rc != 0)
        return;
    out->rc = saw_run_new(p, &ropts, &r, &err);
    for (size_t i = 0; r && i < count && out->rc != ERR_EXHAUSTED; i++) {
        int rc = saw_compare_record(r, records[i], &err);
        if (rc != 0) {
            buf_printf(&out->text, "record %zu: %s\n", i, err.text);
            out->rc = out->rc == ERR_EXHAUSTED ? out->rc : rc;
        }
    }
    if (r) {
        struct buf state = BUF_INIT;
        saw_run_print(r, &out->text);
        saw_run_encode_tables(r, &state);
        /* Behind the header, which tells parameters that were folded. */
        buf_append_slice(&out->text,
                         slice_sub(buf_slice(&state), 13, state.len));
        buf_close(&state);
    }
    saw_run_free(r);
    saw_program_free(p);
}

/* True if both say the same or cannot be compared; *@compared tells. The texts
 * are the caller's to close. */
static inline bool saw_outcomes_agree(struct slice source,
                                      bool ignore_undefs,
                                      const struct slice *records,
                                      size_t count,
                                      struct saw_outcome *fast,
                                      struct saw_outcome *plain,
                                      bool *compared)
{
    saw_outcome_of(source, false, ignore_undefs, records, count, fast);
    saw_outcome_of(source, true, ignore_undefs, records, count, plain);
    *compared = false;
    /* A format must be constant, which plain code does not find out. */
    if (fast->compile_rc != 0)
        return plain->compile_rc != 0;
    if (plain->compile_rc != 0 || fast->rc == ERR_EXHAUSTED ||
        plain->rc == ERR_EXHAUSTED)
        return true;
    *compared = true;
    return fast->rc == plain->rc &&
           slice_eq(buf_slice(&fast->text), buf_slice(&plain->text));
}

#endif /* TESTS_LIB_SAW_COMPARE_H */
