/* The document `tablet`: one tablet with its files, its memtables, the work
 * that is done and due, and its past as METADATA has it.
 */
#include "base/core/panic.h"
#include "bigtable/quarry.h"
#include "cli/monitor/table_schema.h"
#include "cli/text_form.h"

#define EXAMINE_US UINT64_C(2000000)
#define FILES_MAX  2000
#define EVENTS_MAX 100

/* --- from its server ----------------------------------------------------- */

static void
put_file(json_t *rows, const char *group, const struct examined_file *f)
{
    json_t *row = doc_append_object(rows);
    struct buf name = BUF_INIT;
    buf_printf(&name, "%06llu.sst", (unsigned long long)f->number);
    doc_put_text(row, "name", buf_slice(&name));
    doc_put_str(row, "group", group);
    doc_put_u64(row, "level", f->run);
    doc_put_u64(row, "bytes", f->bytes);
    doc_put_u64(row, "entries", f->entry_count);
    doc_put_key(row, "smallest", f->smallest);
    doc_put_key(row, "largest", f->largest);
    doc_put_u64(row, "generation", f->sequence_max);
    buf_close(&name);
}

static void put_groups(json_t *doc, const struct examination *e)
{
    json_t *files = doc_put_array(doc, "files");
    json_t *memtables = doc_put_array(doc, "memtables");
    json_t *compaction = doc_put_object(doc, "compaction");
    uint64_t debt = 0;
    uint64_t total = 0;
    bool compacts = false;
    bool flushes = false;
    for (size_t i = 0; i < e->group_count; i++) {
        const struct examined_group *g = &e->groups[i];
        json_t *row = doc_append_object(memtables);
        struct buf name = BUF_INIT;
        buf_append_slice(&name, g->name);
        doc_put_text(row, "group", g->name);
        doc_put_u64(row, "count", g->memtable_count);
        doc_put_u64(row, "bytes", g->memtable_bytes);
        for (size_t k = 0;
             k < g->file_count && json_array_size(files) < FILES_MAX; k++)
            put_file(files, buf_cstr(&name), &g->files[k]);
        buf_close(&name);
        total += g->file_total;
        debt += g->debt_bytes;
        compacts |= g->is_compacting;
        flushes |= g->is_flushing;
    }
    doc_put_bool(compaction, "running", compacts);
    doc_put_bool(compaction, "flushing", flushes);
    doc_put_u64(compaction, "debt_bytes", debt);
    doc_put_u64(doc, "file_count", total);
    if (total > json_array_size(files))
        doc_warn(doc, "%llu more files are not shown",
                 (unsigned long long)(total - json_array_size(files)));
}

/* Without its server's answer a warning: the rest is known. */
static void
examine_tablet(struct monitor *m, const struct monitor_tablet *t, json_t *doc)
{
    const struct examine_request r = {.tablet = t->t.id};
    struct monitor_question q = {.method = TABLET_EXAMINE,
                                 .timeout_us = EXAMINE_US};
    struct buf body = BUF_INIT;
    struct buf reply = BUF_INIT;
    struct err err = ERR_INIT;
    struct examination e;
    struct arena a;
    int rc;
    arena_init(&a);
    examine_request_put(&r, &body);
    q.body = buf_slice(&body);
    rc = monitor_call(m, t->node, &q, &reply, NULL, &err);
    if (rc == 0)
        rc = examination_get(buf_slice(&reply), &a, &e, &err);
    if (rc == 0)
        put_groups(doc, &e);
    else
        doc_warn(doc, "its files are not known: node %s: %s", t->node->name,
                 err.text);
    arena_close(&a);
    buf_close(&reply);
    buf_close(&body);
}

/* --- from METADATA ------------------------------------------------------- */

static void put_events(const struct quarry_row *row, json_t *events)
{
    for (size_t i = 0; row && i < row->cell_count; i++) {
        json_t *o;
        if (!slice_eq_str(row->cells[i].qualifier, "event"))
            continue;
        o = doc_append_object(events);
        doc_put_i64(o, "at_us", row->cells[i].timestamp_us);
        doc_put_text(o, "text", row->cells[i].value);
    }
}

static int read_events(struct monitor *m,
                       uint64_t table,
                       struct slice end,
                       json_t *events,
                       struct err *err)
{
    const struct quarry_read_options o = {
        .column_regex = METADATA_FAMILY ":event", .versions = EVENTS_MAX};
    struct quarry_table *metadata = NULL;
    struct quarry_row *row = NULL;
    struct buf key = BUF_INIT;
    struct quarry *q;
    int rc = monitor_tables(m, &q, err);
    if (rc == 0)
        rc = quarry_table_open(q, METADATA_TABLE, &metadata, err);
    if (rc == 0) {
        metadata_key(table, end, &key);
        rc = quarry_read_row(metadata, buf_slice(&key), &o, &row, err);
    }
    if (rc == 0)
        put_events(row, events);
    quarry_row_free(row);
    if (metadata)
        quarry_table_close(metadata);
    buf_close(&key);
    return rc;
}

/* --- the document -------------------------------------------------------- */

/* The tablet of @row among the @count at @first; NULL: nobody serves it. */
static const struct monitor_tablet *
find_tablet(const struct monitor_tablet *first, size_t count, struct slice row)
{
    for (size_t i = 0; i < count; i++)
        if (slice_cmp(first[i].t.start, row) <= 0 &&
            (first[i].t.end.len == 0 || slice_cmp(row, first[i].t.end) < 0))
            return &first[i];
    return NULL;
}

static int put_served(struct monitor *m,
                      const struct monitor_tablets *all,
                      const char *table,
                      uint64_t id,
                      struct slice row,
                      json_t *doc,
                      struct err *err)
{
    const struct monitor_tablet *first;
    size_t count = monitor_tablets_of(all, slice_str(table), &first);
    const struct monitor_tablet *t = find_tablet(first, count, row);
    struct err why = ERR_INIT;
    if (!t)
        return err_set(err, ERR_UNAVAILABLE,
                       "no server tells that it serves the tablet");
    doc_put_tablet(doc, t);
    /* Here they are listed. */
    json_object_del(doc, "files");
    examine_tablet(m, t, doc);
    if (read_events(m, id, t->t.end, doc_put_array(doc, "events"), &why))
        doc_warn(doc, "its events are not known: %s", why.text);
    return 0;
}

int subject_tablet(struct monitor *m,
                   const struct monitor_param *params,
                   size_t count,
                   json_t *doc,
                   struct err *err)
{
    const char *start = monitor_param_value(params, count, "start");
    struct quarry_table_info *info = NULL;
    struct monitor_tablets *t = NULL;
    struct buf row = BUF_INIT;
    const char *table;
    uint64_t id;
    int rc = monitor_param_need(params, count, "table", &table, err);
    if (rc == 0)
        rc = table_schema_get(m, table, &info, &id, err);
    if (rc == 0)
        rc = monitor_tablets_get(m, &t, err);
    if (rc == 0) {
        doc_put_str(doc, "table", table);
        monitor_tablets_warn(t, doc);
        argument_unescape(&row, slice_str(start ? start : ""));
        rc = put_served(m, t, table, id, buf_slice(&row), doc, err);
    }
    monitor_tablets_unref(t);
    if (info)
        quarry_table_info_free(info);
    buf_close(&row);
    return rc;
}
