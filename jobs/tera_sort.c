/* Sort lines by their first bytes: parts in order, lines in order in each, ties
 * in order of the input. The borders of the parts come from a sample, as in the
 * sort of MapReduce (OSDI 2004, section 5.3). */
#include "base/core/panic.h"
#include "jobs/jobs.h"

struct sorter {
    size_t key_bytes;
};

static int tera_sort_setup(struct mr_task *t, struct err *err)
{
    struct sorter *s = mem_zalloc(1, sizeof(*s));
    int64_t bytes = 0;
    int rc =
        mr_param_i64(t, "key_bytes", 1, (int64_t)MR_KEY_BYTES_MAX, &bytes, err);
    s->key_bytes = (size_t)bytes;
    mr_set_state(t, s);
    return rc;
}

static void tera_sort_teardown(struct mr_task *t)
{
    mem_free(mr_state(t));
}

/* The key is not stored twice: the value is the rest of the line. */
static int tera_sort_map(struct mr_task *t,
                         const struct mr_record *record,
                         struct err *err)
{
    const struct sorter *s = mr_state(t);
    struct slice line = record->value;
    (void)err;
    if (record->key.len > 0)
        mr_emit(t, record->key, line);
    else
        mr_emit(t, slice_sub(line, 0, s->key_bytes),
                slice_sub(line, s->key_bytes, line.len));
    return 0;
}

static int tera_sort_reduce(struct mr_task *t,
                            struct slice key,
                            struct mr_values *values,
                            struct err *err)
{
    struct mr_output *out = mr_output(t, NULL);
    struct slice value;
    (void)err;
    while (mr_values_next(values, &value))
        mr_write(out, key, value);
    return 0;
}

static const struct mr_param params[] = {
    {"key_bytes", "10", "How many bytes of a line to sort by."},
};

const struct mr_job job_tera_sort = {
    .abi_version = MR_ABI_VERSION,
    .no_table_output = true,
    .name = "tera_sort",
    .help = "Sort lines by their first bytes, or records by their keys.",
    .params = params,
    .param_count = ARRAY_LEN(params),
    .setup = tera_sort_setup,
    .teardown = tera_sort_teardown,
    .map = tera_sort_map,
    .reduce = tera_sort_reduce,
    .total_order = true,
    .text_separator = "",
};
