/* Segments of a search index, of the rows that each map reads: `quarry search
 * build` runs this job on a cluster, and takes what it writes into the index
 * (docs/search.md).
 *     records:  key segment of the task (be32), value a piece of its stream
 */
#include "web/search/search_segments.h"

#include "base/core/coding.h"
#include "base/core/panic.h"
#include "jobs/jobs.h"

struct segments_task {
    struct mr_task *task;
    struct search_segments *maker;
};

static void write_piece(void *ctx, uint32_t segment, struct slice piece)
{
    struct segments_task *s = ctx;
    char key[4];
    put_be32(key, segment);
    mr_write(mr_output(s->task, NULL), slice_make(key, sizeof(key)), piece);
}

static int search_segments_setup(struct mr_task *t, struct err *err)
{
    struct segments_task *s = mem_zalloc(1, sizeof(*s));
    int64_t memory = 0;
    int rc;
    s->task = t;
    mr_set_state(t, s);
    rc = mr_param_i64(t, "memory", 1, INT64_C(1) << 40, &memory, err);
    if (!rc && !mr_output_is_records(mr_output(t, NULL)))
        rc = err_set(err, ERR_INVALID, "segments are written as records:");
    if (!rc)
        rc =
            search_segments_new((size_t)memory, write_piece, s, &s->maker, err);
    return rc;
}

static void search_segments_teardown(struct mr_task *t)
{
    struct segments_task *s = mr_state(t);
    search_segments_free(s->maker);
    mem_free(s);
}

static int search_segments_map(struct mr_task *t,
                               const struct mr_record *record,
                               struct err *err)
{
    struct segments_task *s = mr_state(t);
    if (!record->row)
        return err_set(err, ERR_INVALID, "segments are made of a table's rows");
    return search_segments_put(s->maker, record->row, err);
}

static int search_segments_map_end(struct mr_task *t, struct err *err)
{
    struct segments_task *s = mr_state(t);
    int rc = search_segments_end(s->maker, err);
    mr_count(t, "search.words", (int64_t)search_segments_words(s->maker));
    mr_count(t, "search.documents",
             (int64_t)search_segments_documents(s->maker));
    return rc;
}

static const struct mr_param params[] = {
    {"memory", "134217728", "Bytes of postings in a task's memory at once."},
};

const struct mr_job job_search_segments = {
    .abi_version = MR_ABI_VERSION,
    .name = "search_segments",
    .help = "Make segments of a search index: a part of quarry search build.",
    .params = params,
    .param_count = ARRAY_LEN(params),
    .setup = search_segments_setup,
    .teardown = search_segments_teardown,
    .map = search_segments_map,
    .map_end = search_segments_map_end,
    .no_table_output = true,
};
