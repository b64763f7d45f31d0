/* The document `trace`: the spans of one trace from all nodes, as a tree.
 */
#include <stdio.h>

#include "base/core/panic.h"
#include "base/trace/span_tree.h"
#include "cli/monitor/spans.h"

#define SPAN_ID_TEXT_BYTES 17

static void put_id(json_t *object, const char *name, uint64_t id)
{
    char text[SPAN_ID_TEXT_BYTES];
    snprintf(text, sizeof(text), "%016llx", (unsigned long long)id);
    doc_put_str(object, name, text);
}

/* Callers do not know the names of all methods: the call that was handled does.
 */
static struct slice trace_call_name(const struct found_spans *f,
                                    const struct tree_span *tree,
                                    size_t count,
                                    size_t i)
{
    const struct span_record *r = &f->at[tree[i].at].record;
    const struct span_record *next =
        i + 1 < count ? &f->at[tree[i + 1].at].record : NULL;
    return r->kind == SPAN_CLIENT && next && next->kind == SPAN_SERVER &&
                   next->parent == r->id
               ? next->name
               : r->name;
}

static void put_spans(json_t *doc, const struct found_spans *f)
{
    struct tree_span *tree = mem_zalloc(f->count + 1, sizeof(*tree));
    json_t *rows = doc_put_array(doc, "spans");
    for (size_t i = 0; i < f->count; i++)
        tree[i] = (struct tree_span){
            .id = f->at[i].record.id,
            .parent = f->at[i].record.parent,
            .start_us = (int64_t)f->at[i].record.start_us,
            .duration_us = (int64_t)f->at[i].record.duration_us,
            .process = f->at[i].node};
    span_tree_sort(tree, f->count, (unsigned)f->nodes->count);
    for (size_t i = 0; i < f->count; i++) {
        const struct found_span *s = &f->at[tree[i].at];
        json_t *row = doc_append_object(rows);
        put_id(row, "id", s->record.id);
        if (s->record.parent)
            put_id(row, "parent", s->record.parent);
        doc_put_u64(row, "depth", tree[i].depth);
        doc_put_span(row, &s->record, &f->nodes->at[s->node], tree[i].shift_us);
        doc_put_text(row, "name", trace_call_name(f, tree, f->count, i));
        if (tree[i].shift_us)
            doc_put_i64(row, "clock_shift_us", tree[i].shift_us);
    }
    mem_free(tree);
}

/* The trace of the job @id, which may also be the beginning of its id. */
static bool
find_job_trace(struct monitor *m, const char *id, struct trace_id *out)
{
    const struct monitor_param params[] = {{"id", id}, {"limit", "1"}};
    const char *trace;
    json_t *job;
    bool found;
    if (monitor_make(m, "job", params, ARRAY_LEN(params), &job, NULL))
        return false;
    trace = json_string_value(json_object_get(job, "trace_id"));
    found = trace && trace_id_parse(slice_str(trace), out);
    json_decref(job);
    return found;
}

int subject_trace(struct monitor *m,
                  const struct monitor_param *params,
                  size_t count,
                  json_t *doc,
                  struct err *err)
{
    struct span_query q = {.min_us = 0};
    struct found_spans f;
    const char *id;
    int rc = monitor_param_need(params, count, "id", &id, err);
    if (rc == 0 && !trace_id_parse(slice_str(id), &q.trace) &&
        !find_job_trace(m, id, &q.trace))
        rc = err_set(err, ERR_INVALID,
                     "trace \"%s\": its id has 32 hexadecimal digits, and no "
                     "job has this id",
                     id);
    if (rc)
        return rc;
    rc = monitor_spans_find(m, &q, doc, &f, err);
    if (rc == 0 && f.count == 0) {
        rc = err_set(err, ERR_NOTFOUND, "no node keeps spans of trace %s", id);
        err_hint(err, "kept are sampled traces and slow calls, for as long as "
                      "there is room");
    }
    if (rc == 0) {
        doc_put_str(doc, "id", id);
        put_spans(doc, &f);
    }
    found_spans_close(&f);
    return rc;
}
