/* Compile a text, run it over records, collect everything it says. */
#ifndef TESTS_UNIT_SAWZALL_LITE_SAW_RUN_TEXT_H
#define TESTS_UNIT_SAWZALL_LITE_SAW_RUN_TEXT_H

#include <stdio.h>
#include <string.h>

#include "base/core/buf.h"
#include "sawzall-lite/sawzall.h"

struct text_run {
    struct saw_compile_options compile;
    struct saw_run_options run;
    struct buf diagnostics;
    struct buf output; /* Results, as saw_run_print() gives them. */
    struct err err;    /* Of the run. */
    int compile_rc;
    int run_rc; /* Of the first record that failed, or 0. */
};

/* Run @source over @count records (at least one run on nothing). */
static inline void text_run(struct text_run *t,
                            struct slice source,
                            const struct slice *records,
                            size_t count)
{
    struct saw_program *p = NULL;
    struct saw_run *r = NULL;
    struct err err = ERR_INIT;
    size_t i;

    buf_clear(&t->diagnostics);
    buf_clear(&t->output);
    t->err = ERR_INIT;
    t->run_rc = 0;
    t->compile_rc =
        saw_compile(&t->compile, source, "test.szl", &p, &t->diagnostics);
    if (t->compile_rc != 0)
        return;
    t->run_rc = saw_run_new(p, &t->run, &r, &t->err);
    for (i = 0; r && i < (count ? count : 1); i++) {
        int rc = saw_run_record(r, count ? records[i] : SLICE_EMPTY,
                                SLICE_EMPTY, &err);
        if (rc != 0 && t->run_rc == 0) {
            t->run_rc = rc;
            t->err = err;
        }
    }
    if (r)
        saw_run_print(r, &t->output);
    saw_run_free(r);
    saw_program_free(p);
}

static inline void text_run_close(struct text_run *t)
{
    buf_close(&t->diagnostics);
    buf_close(&t->output);
}

#endif /* TESTS_UNIT_SAWZALL_LITE_SAW_RUN_TEXT_H */
