/* Calls of tablet servers from anywhere: a body is refused, or what is read
 * from it and written again is read again. */
#include "base/core/arena.h"
#include "base/core/panic.h"
#include "bigtable/quarry.h"
#include "bigtable/row/filter.h"
#include "bigtable/row/schema.h"
#include "bigtable/wire/data_calls.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_options(struct slice in, struct arena *a, struct buf *out)
{
    struct quarry_read_options o;
    int rc = read_options_get(in, a, &o, NULL);
    if (rc)
        return;
    read_options_put(&o, out);
    filter_unref((struct quarry_filter *)(uintptr_t)o.filter);
    rc = read_options_get(buf_slice(out), a, &o, NULL);
    INVARIANT(rc == 0);
    filter_unref((struct quarry_filter *)(uintptr_t)o.filter);
}

static void try_rows(struct slice in, struct buf *out)
{
    const struct quarry_row *row;
    struct row_decoder r;
    row_decoder_init(&r, in);
    while (row_decoder_next(&r, &row, NULL) == 0 && row)
        row_put(row, out);
    row_decoder_close(&r);
    row_decoder_init(&r, buf_slice(out));
    do {
        int rc = row_decoder_next(&r, &row, NULL);
        INVARIANT(rc == 0);
    } while (row);
    row_decoder_close(&r);
}

static void try_changes(struct slice in, struct buf *out)
{
    struct slice rest = in;
    struct row_change c;
    struct row_lookup l;
    bool more = true;
    while (row_change_next(&rest, &c, &more, NULL) == 0 && more)
        row_change_put(&c, out);
    rest = in;
    more = true;
    while (row_lookup_next(&rest, &l, &more, NULL) == 0 && more)
        row_lookup_put(&l, out);
}

static void try_alter(struct slice in)
{
    struct schema *s = schema_new();
    int rc = alter_apply(in, s, NULL);
    (void)rc;
    schema_free(s);
}

static void try_modify(struct slice in, struct arena *a, struct buf *out)
{
    struct modify_request r;
    if (modify_request_get(in, a, &r, NULL) == 0)
        modify_request_put(&r, out);
}

static void try_run(struct slice in, struct buf *out)
{
    struct run_request run;
    struct run_reply reply;
    if (run_request_get(in, &run, NULL) == 0)
        run_request_put(&run, out);
    if (run_reply_get(in, &reply, NULL) == 0)
        run_reply_put(&reply, out);
}

static void try_small(struct slice in, struct arena *a, struct buf *out)
{
    struct read_request read;
    struct read_reply rows;
    struct apply_request apply;
    struct apply_reply applied;
    struct check_request check;
    struct check_reply checked;
    struct each_request each;
    struct cell_answer cell;
    if (each_request_get(in, &each, NULL) == 0)
        each_request_put(&each, out);
    if (cell_answer_get(in, &cell, NULL) == 0)
        cell_answer_put(&cell, out);
    if (read_request_get(in, &read, NULL) == 0)
        read_request_put(&read, out);
    if (read_reply_get(in, &rows, NULL) == 0)
        read_reply_put(&rows, out);
    if (apply_request_get(in, &apply, NULL) == 0)
        apply_request_put(&apply, out);
    if (apply_reply_get(in, a, &applied, NULL) == 0)
        apply_reply_put(&applied, out);
    if (check_request_get(in, &check, NULL) == 0)
        check_request_put(&check, out);
    if (check_reply_get(in, &checked, NULL) == 0)
        check_reply_put(&checked, out);
}

static void try_lists(struct slice in, struct arena *a, struct buf *out)
{
    struct describe_reply d;
    struct cuts_request cuts;
    struct slice *keys;
    size_t count;
    if (cuts_request_get(in, &cuts, NULL) == 0)
        cuts_request_put(&cuts, out);
    if (keys_get(in, a, &keys, &count, NULL) == 0)
        keys_put(keys, count, out);
    if (describe_reply_get(in, a, &d, NULL) == 0)
        describe_reply_put(&d, out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice in = slice_make(data + 1, size - 1);
    struct buf out = BUF_INIT;
    struct arena a;
    if (size == 0)
        return 0;
    arena_init(&a);
    switch (data[0] % 8) {
    case 0: try_options(in, &a, &out); break;
    case 1: try_rows(in, &out); break;
    case 2: try_changes(in, &out); break;
    case 3: try_alter(in); break;
    case 4: try_modify(in, &a, &out); break;
    case 5: try_run(in, &out); break;
    case 6: try_small(in, &a, &out); break;
    default: try_lists(in, &a, &out); break;
    }
    arena_close(&a);
    buf_close(&out);
    return 0;
}
