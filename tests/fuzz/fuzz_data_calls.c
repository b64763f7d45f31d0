/* Calls of rows from hostile clients: a body is refused, or a message read from
 * it and written again is read again. Messages that are lists of fields come
 * from the table in data_calls.h. */
#include "base/core/arena.h"
#include "base/core/panic.h"
#include "bigtable/quarry.h"
#include "bigtable/row/explain.h"
#include "bigtable/row/filter.h"
#include "bigtable/row/schema.h"
#include "bigtable/wire/data_calls.h"
#include "tests/lib/fuzz_again.h"

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

static void try_outcomes(struct slice in, struct arena *a, struct buf *out)
{
    struct apply_reply applied;
    struct cell_answer cell;
    if (cell_answer_get(in, &cell, NULL) == 0)
        cell_answer_put(&cell, out);
    if (apply_reply_get(in, a, &applied, NULL) == 0)
        apply_reply_put(&applied, out);
}

static void try_lists(struct slice in, struct arena *a, struct buf *out)
{
    struct describe_reply d;
    struct slice *keys;
    size_t count;
    if (keys_get(in, a, &keys, &count, NULL) == 0)
        keys_put(keys, count, out);
    if (describe_reply_get(in, a, &d, NULL) == 0)
        describe_reply_put(&d, out);
}

static uint64_t no_time(void *clock)
{
    (void)clock;
    return 1;
}

/* Of a client whose filter has two stages. */
static void try_explain(struct slice in, struct buf *out)
{
    struct quarry_filter *leaf = filter_new(FILTER_PASS_ALL);
    struct quarry_filter *filter = filter_new_parts(FILTER_CHAIN, &leaf, 1);
    struct quarry_explain *e = explain_new();
    struct explain_tablet *t =
        explain_tablet(e, 1, slice_str("a:1"), SLICE_EMPTY, SLICE_EMPTY);
    explain_begin(e, filter, false, no_time, NULL);
    if (explain_get(in, t, NULL) == 0)
        explain_put(t, out);
    explain_end(e);
    quarry_explain_json(e, out);
    quarry_explain_text(e, out);
    explain_free(e);
    filter_unref(filter);
}

/* One reader for each message of the table, and those written by hand. */
#define FUZZ_READER(type, what) FUZZ_##type,
#define FUZZ_CASE(type, what)                                                  \
    case FUZZ_##type: FUZZ_AGAIN(type, in); break;

enum fuzz_reader {
    FUZZ_OPTIONS,
    FUZZ_ROWS,
    FUZZ_CHANGES,
    FUZZ_ALTER,
    FUZZ_MODIFY,
    FUZZ_OUTCOMES,
    FUZZ_LISTS,
    FUZZ_EXPLAIN,
    DATA_MESSAGES(FUZZ_READER) FUZZ_COUNT
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice in = slice_make(data + 1, size - 1);
    struct buf out = BUF_INIT;
    struct arena a;
    if (size == 0)
        return 0;
    arena_init(&a);
    switch ((enum fuzz_reader)(data[0] % FUZZ_COUNT)) {
    case FUZZ_OPTIONS: try_options(in, &a, &out); break;
    case FUZZ_ROWS: try_rows(in, &out); break;
    case FUZZ_CHANGES: try_changes(in, &out); break;
    case FUZZ_ALTER: try_alter(in); break;
    case FUZZ_MODIFY: try_modify(in, &a, &out); break;
    case FUZZ_OUTCOMES: try_outcomes(in, &a, &out); break;
    case FUZZ_LISTS: try_lists(in, &a, &out); break;
    case FUZZ_EXPLAIN:
        try_explain(in, &out);
        break;
        DATA_MESSAGES(FUZZ_CASE)
    case FUZZ_COUNT: break;
    }
    arena_close(&a);
    buf_close(&out);
    return 0;
}
