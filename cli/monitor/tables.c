/* The documents `tables`, all tables at a glance, and `table`, one with its
 * schema, its quotas and its tablets.
 */
#include <string.h>

#include "base/core/panic.h"
#include "base/core/text.h"
#include "bigtable/quarry.h"
#include "bigtable/quarry_access.h"
#include "cli/monitor/table_schema.h"
#include "cli/text_form.h"

#define TABLES_LIMIT  1000
#define TABLETS_LIMIT 1000

/* --- all tables ---------------------------------------------------------- */

static void put_totals(json_t *row,
                       const char *count,
                       const struct tablet_totals *sum,
                       bool complete)
{
    doc_put_u64(row, count, sum->served + (complete ? sum->gaps : 0));
    doc_put_u64(row, "bytes", sum->bytes);
    doc_put_double(row, "reads_per_s", sum->reads_per_s);
    doc_put_double(row, "writes_per_s", sum->writes_per_s);
    doc_put_double(row, "bytes_per_s", sum->bytes_per_s);
    doc_put_str(row, "state", tablet_totals_state(sum, complete));
}

static void put_hottest(json_t *row, const struct monitor_tablet *t)
{
    json_t *o;
    if (!t)
        return;
    o = doc_put_object(row, "hottest_tablet");
    doc_put_u64(o, "id", t->t.id);
    doc_put_key(o, "start", t->t.start);
    doc_put_str(o, "node", t->node->name);
    doc_put_double(o, "reads_per_s", (double)t->t.milli_reads_per_s / 1000);
    doc_put_double(o, "writes_per_s", (double)t->t.milli_writes_per_s / 1000);
}

static void put_family_names(struct monitor *m, const char *name, json_t *row)
{
    struct quarry_table_info *info;
    json_t *families;
    uint64_t id;
    if (table_schema_get(m, name, &info, &id, NULL))
        return;
    families = doc_put_array(row, "families");
    for (size_t i = 0; i < info->family_count; i++)
        doc_append_str(families, info->families[i].name);
    quarry_table_info_free(info);
}

static void put_table(struct monitor *m,
                      const struct monitor_tablets *t,
                      const char *name,
                      json_t *row)
{
    const struct monitor_tablet *first;
    size_t count = monitor_tablets_of(t, slice_str(name), &first);
    struct tablet_totals sum = tablet_totals_of(first, count);
    doc_put_str(row, "name", name);
    put_family_names(m, name, row);
    put_totals(row, "tablets", &sum, t->is_complete);
    put_hottest(row, sum.hottest);
}

/* The rows from the name behind @after on. */
static void put_tables(struct monitor *m,
                       const struct monitor_tablets *t,
                       char **names,
                       size_t count,
                       const char *after,
                       size_t limit,
                       json_t *doc)
{
    json_t *rows = doc_put_array(doc, "tables");
    size_t i = 0;
    while (i < count && after && strcmp(names[i], after) <= 0)
        i++;
    for (; i < count && json_array_size(rows) < limit; i++)
        put_table(m, t, names[i], doc_append_object(rows));
    if (i < count)
        doc_warn(doc, "%zu more tables: ask with after=%s", count - i,
                 names[i - 1]);
}

int subject_tables(struct monitor *m,
                   const struct monitor_param *params,
                   size_t count,
                   json_t *doc,
                   struct err *err)
{
    struct monitor_tablets *t = NULL;
    struct quarry *q;
    char **names = NULL;
    size_t name_count = 0;
    size_t limit;
    int rc = monitor_param_limit(params, count, TABLES_LIMIT, &limit, err);
    if (rc == 0)
        rc = monitor_tables(m, &q, err);
    if (rc == 0)
        rc = quarry_table_list(q, &names, &name_count, err);
    if (rc == 0)
        rc = monitor_tablets_get(m, &t, err);
    if (rc == 0) {
        monitor_tablets_warn(t, doc);
        put_tables(m, t, names, name_count,
                   monitor_param_value(params, count, "after"), limit, doc);
    }
    monitor_tablets_unref(t);
    quarry_names_free(names, name_count);
    return rc;
}

/* --- one table ----------------------------------------------------------- */

/* Sizes of a family: sums of what the nodes measure. */
static void put_family_bytes(const struct monitor_nodes *n,
                             const char *table,
                             const char *family,
                             json_t *row)
{
    struct buf labels = BUF_INIT;
    bool found = false;
    double sum = 0;
    buf_printf(&labels, "table=%s,family=%s", table, family);
    for (size_t i = 0; i < n->count; i++) {
        double bytes;
        found |= node_metric(&n->at[i], "quarry_tablet_family_bytes",
                             buf_cstr(&labels), &bytes);
        sum += bytes;
    }
    if (found)
        doc_put_double(row, "bytes", sum);
    buf_close(&labels);
}

static void put_schema(const struct monitor_nodes *n,
                       const struct quarry_table_info *info,
                       json_t *doc)
{
    json_t *schema = doc_put_object(doc, "schema");
    json_t *groups = doc_put_array(schema, "groups");
    json_t *families = doc_put_array(schema, "families");
    for (size_t i = 0; i < info->group_count; i++) {
        json_t *row = doc_append_object(groups);
        doc_put_str(row, "name", info->groups[i].name);
        doc_put_str(row, "options", info->groups[i].options);
    }
    for (size_t i = 0; i < info->family_count; i++) {
        json_t *row = doc_append_object(families);
        doc_put_str(row, "name", info->families[i].name);
        doc_put_str(row, "group", info->families[i].group);
        doc_put_str(row, "gc", info->families[i].gc);
        put_family_bytes(n, info->name, info->families[i].name, row);
    }
}

/* Quotas that are set; without the right to see them a warning. */
static void put_quotas(struct monitor *m, const char *name, json_t *doc)
{
    json_t *quotas = doc_put_object(doc, "quotas");
    struct quarry_quota quota;
    struct err err = ERR_INIT;
    struct quarry *q;
    int rc = monitor_tables(m, &q, &err);
    if (rc == 0)
        rc = quarry_quota_get(q, name, &quota, NULL, &err);
    if (rc) {
        doc_warn(doc, "the quotas are not known: %s", err.text);
        return;
    }
    for (size_t i = 0; i < QUOTA_COUNT; i++) {
        static const char *const names[QUOTA_COUNT] = {
            "stored_bytes", "memory_bytes", "reads_per_s", "writes_per_s",
            "bytes_per_s"};
        uint64_t value = *quota_field(&quota, i);
        if (value)
            doc_put_u64(quotas, names[i], value);
    }
}

static void
put_gap(json_t *rows, struct slice start, struct slice end, bool complete)
{
    json_t *row = doc_append_object(rows);
    doc_put_key(row, "start", start);
    doc_put_key(row, "end", end);
    doc_put_str(row, "state", complete ? "unserved" : "unknown");
}

/* Tablets, and the gaps between them, from the row behind @after on. */
static void put_tablets(const struct monitor_tablets *t,
                        const struct monitor_tablet *first,
                        size_t count,
                        const struct slice *after,
                        size_t limit,
                        json_t *doc)
{
    json_t *rows = doc_put_array(doc, "tablets");
    struct slice end = SLICE_EMPTY;
    bool ended = false;
    size_t i;
    for (i = 0; i < count && json_array_size(rows) < limit; i++) {
        const struct surveyed_tablet *x = &first[i].t;
        bool wanted = !after || slice_cmp(x->start, *after) > 0;
        if (wanted && !ended && !slice_eq(x->start, end))
            put_gap(rows, end, x->start, t->is_complete);
        if (wanted)
            doc_put_tablet(doc_append_object(rows), &first[i]);
        end = x->end;
        ended = end.len == 0;
    }
    if (i == count && (!ended || count == 0))
        put_gap(rows, end, SLICE_EMPTY, t->is_complete);
    if (i < count) {
        struct buf key = BUF_INIT;
        text_put_escaped(&key, first[i - 1].t.start, 0);
        doc_warn(doc, "%zu more tablets: ask with after=%s", count - i,
                 buf_cstr(&key));
        buf_close(&key);
    }
}

static int put_rows(struct monitor *m,
                    const struct quarry_table_info *info,
                    const char *after,
                    size_t limit,
                    json_t *doc,
                    struct err *err)
{
    const struct monitor_tablet *first;
    struct tablet_totals sum;
    struct monitor_tablets *t;
    struct buf row = BUF_INIT;
    struct slice key;
    size_t count;
    int rc = monitor_tablets_get(m, &t, err);
    if (rc)
        return rc;
    monitor_tablets_warn(t, doc);
    count = monitor_tablets_of(t, slice_str(info->name), &first);
    sum = tablet_totals_of(first, count);
    put_schema(t->nodes, info, doc);
    put_quotas(m, info->name, doc);
    put_totals(doc, "tablet_count", &sum, t->is_complete);
    if (after)
        argument_unescape(&row, slice_str(after));
    key = buf_slice(&row);
    put_tablets(t, first, count, after ? &key : NULL, limit, doc);
    buf_close(&row);
    monitor_tablets_unref(t);
    return 0;
}

int subject_table(struct monitor *m,
                  const struct monitor_param *params,
                  size_t count,
                  json_t *doc,
                  struct err *err)
{
    struct quarry_table_info *info = NULL;
    const char *name;
    size_t limit;
    uint64_t id;
    int rc = monitor_param_need(params, count, "name", &name, err);
    if (rc == 0)
        rc = monitor_param_limit(params, count, TABLETS_LIMIT, &limit, err);
    if (rc == 0)
        rc = table_schema_get(m, name, &info, &id, err);
    if (rc)
        return rc;
    doc_put_str(doc, "name", info->name);
    rc = put_rows(m, info, monitor_param_value(params, count, "after"), limit,
                  doc, err);
    quarry_table_info_free(info);
    return rc;
}
