/* collection: every value emitted, in the order of arrival.
 *
 * Merging concatenates. The order of values from different workers is the order
 * of merging, as it is in any parallel run; the values are the same.
 */
#include "sawzall-lite/tables/impl.h"

struct collection {
    struct saw_blob data; /* One datum after the other. */
};

static void collection_close(struct saw_table *t, void *state)
{
    struct collection *s = state;
    saw_blob_close(t, &s->data);
}

static int collection_add(struct saw_table *t,
                          void *state,
                          struct slice element,
                          struct slice weight,
                          saw_emit_origin origin,
                          struct err *err)
{
    struct collection *s = state;
    (void)weight;
    (void)origin;
    (void)err;
    saw_blob_append(t, &s->data, element);
    return 0;
}

static void collection_encode(struct saw_table *t, void *state, struct buf *out)
{
    const struct collection *s = state;
    (void)t;
    buf_append_slice(out, saw_blob_slice(&s->data));
}

static int collection_merge(struct saw_table *t,
                            void *state,
                            struct cursor *c,
                            struct err *err)
{
    struct collection *s = state;
    struct slice all = slice_make(c->p, cursor_left(c));
    while (c->p < c->end)
        saw_datum_skip(c);
    if (c->bad)
        return saw_table__corrupt(t, err);
    saw_blob_append(t, &s->data, all);
    return 0;
}

static int collection_absorb(struct saw_table *t,
                             void *state,
                             struct saw_table *from,
                             void *other,
                             struct err *err)
{
    struct collection *s = state;
    const struct collection *o = other;
    (void)from;
    (void)err;
    saw_blob_append(t, &s->data, saw_blob_slice(&o->data));
    return 0;
}

static void
collection_results(struct saw_table *t, void *state, struct saw_lines *out)
{
    const struct collection *s = state;
    struct cursor c = cursor_make(saw_blob_slice(&s->data));
    (void)t;
    while (c.p < c.end) {
        struct slice datum = saw_datum_skip(&c);
        out->line(out, &datum, 1);
    }
}

const struct saw_kind_ops saw_ops_collection = {
    .traits = {.name = "collection",
               .number = 1,
               .indexed = true,
               .to_files = true,
               .in_order = true,
               .keeps_order = true},
    .state_bytes = sizeof(struct collection),
    .close = collection_close,
    .add = collection_add,
    .encode = collection_encode,
    .merge = collection_merge,
    .absorb = collection_absorb,
    .results = collection_results,
    .column_count = 1,
};

/* Files of lines: a run that does not write them collects. */
const struct saw_kind_ops saw_ops_text = {
    .traits = {.name = "text",
               .number = 15,
               .element_text = true,
               .keeps_order = true,
               .never_listed = true},
    .state_bytes = sizeof(struct collection),
    .close = collection_close,
    .add = collection_add,
    .encode = collection_encode,
    .merge = collection_merge,
    .absorb = collection_absorb,
    .results = collection_results,
    .column_count = 1,
};

/* Files of records, as text above. */
const struct saw_kind_ops saw_ops_recordio = {
    .traits = {.name = "recordio",
               .number = 16,
               .param = SAW_TABLE_MUST,
               .param_max = SAW_TABLE_PARAM_MAX,
               .element_basic = true,
               .keeps_order = true,
               .never_listed = true},
    .state_bytes = sizeof(struct collection),
    .close = collection_close,
    .add = collection_add,
    .encode = collection_encode,
    .merge = collection_merge,
    .absorb = collection_absorb,
    .results = collection_results,
    .column_count = 1,
};
