/* Facts about tables: the loads of the tablets of tables that have a busy one,
 * as metrics of servers say. They are asked for every few seconds at most.
 */
#include <jansson.h>
#include <string.h>

#include "base/core/macros.h"
#include "base/core/panic.h"
#include "base/core/text.h"
#include "base/runtime/fiber.h"
#include "base/runtime/world.h"
#include "bigtable/client/place.h"
#include "bigtable/quarry.h"
#include "cli/monitor/fact_sheet.h"

#define LOADS_NS      UINT64_C(4000000000)
#define TABLES_MAX    8
#define HOT_ROWS      50
#define KEY_BYTES_MAX 64

/* Names of tables that have a busy tablet, in memory of the sheet. */
static size_t busy_tables(struct fact_sheet *s, const char **names)
{
    size_t count = 0;
    for (size_t i = 0; i < s->nodes->count; i++) {
        const struct node_answer *a = s->nodes->at[i].answer;
        const struct node_sample *sample = NULL;
        size_t samples =
            a && a->has_metrics
                ? node_metrics_find(&a->metrics, "quarry_tablet_hottest_rows",
                                    &sample)
                : 0;
        for (size_t n = 0; n < samples && count < TABLES_MAX; n++) {
            struct slice rest = sample[n].labels;
            struct slice label;
            struct slice table;
            bool is_new = sample[n].value >= HOT_ROWS &&
                          node_label_next(&rest, &label, &table);
            for (size_t k = 0; is_new && k < count; k++)
                is_new = !slice_eq_str(table, names[k]);
            if (is_new)
                names[count++] = arena_dup(&s->arena, table).data;
        }
    }
    POST(count <= TABLES_MAX);
    return count;
}

static const char *printable_key(struct arena *a, struct slice key)
{
    struct buf b = BUF_INIT;
    const char *text;
    text_put_escaped(&b, slice_sub(key, 0, KEY_BYTES_MAX), '"');
    if (key.len > KEY_BYTES_MAX)
        buf_append_str(&b, "…");
    text = arena_strdup(a, buf_cstr(&b));
    buf_close(&b);
    return text;
}

static struct fact_tablet *add_tablets(struct tablet_loads *l,
                                       const char *table,
                                       const struct quarry_table_info *info,
                                       size_t *index)
{
    struct fact_tablet *at = arena_zalloc(
        &l->arena, (l->count + info->tablet_count + 1) * sizeof(*at));
    struct fact_tablet *hottest = NULL;
    if (l->count)
        memcpy(at, l->at, l->count * sizeof(*at));
    l->at = at;
    for (size_t i = 0; i < info->tablet_count; i++) {
        const struct quarry_tablet_info *from = &info->tablets[i];
        struct fact_tablet *t = &at[l->count++];
        *t =
            (struct fact_tablet){.table = arena_strdup(&l->arena, table),
                                 .id = arena_printf(&l->arena, "%zu", i + 1),
                                 .start = printable_key(&l->arena, from->start),
                                 .end = printable_key(&l->arena, from->end),
                                 .bytes = from->bytes,
                                 .reads_per_s = from->reads_per_s,
                                 .writes_per_s = from->writes_per_s};
        if (!hottest || t->reads_per_s + t->writes_per_s >
                            hottest->reads_per_s + hottest->writes_per_s) {
            hottest = t;
            *index = i;
        }
    }
    return hottest;
}

/* --- hot rows ------------------------------------------------------------ */

/* Is [start, end) one row? Both are as documents have them. */
static bool is_one_row(const char *start, const char *end)
{
    struct buf a = BUF_INIT;
    struct buf b = BUF_INIT;
    bool is = text_unescape(slice_str(start), &a, NULL) == 0 &&
              text_unescape(slice_str(end), &b, NULL) == 0;
    buf_append_byte(&a, '\0'); /* The next row after @start. */
    is = is && a.len > 1 && slice_eq(buf_slice(&a), buf_slice(&b));
    buf_close(&a);
    buf_close(&b);
    return is;
}

/* The row of the document `heat` @doc that is used most now, if it is a range
 * of its own. */
static void
take_hot_row(struct tablet_loads *l, const json_t *doc, struct fact_tablet *t)
{
    const json_t *hot;
    size_t i;
    json_array_foreach(json_object_get(doc, "hottest"), i, hot) {
        const char *start = json_string_value(json_object_get(hot, "start"));
        const char *end = json_string_value(json_object_get(hot, "end"));
        double rate = json_number_value(json_object_get(hot, "now_per_s"));
        if (!start || !end || rate <= t->hot_row_per_s ||
            !is_one_row(start, end))
            continue;
        t->hot_row = arena_strdup(&l->arena, start);
        t->hot_row_per_s = rate;
    }
    POST(!t->hot_row || t->hot_row_per_s > 0);
}

/* Ask the servers for the ranges of rows of the busiest tablet. A table whose
 * heat cannot be told has no hot row. */
static void ask_hot_row(struct fact_sheet *s,
                        struct tablet_loads *l,
                        const struct quarry_tablet_info *tablet,
                        struct fact_tablet *t)
{
    bool reads = t->reads_per_s >= t->writes_per_s;
    struct buf start = BUF_INIT;
    struct buf end = BUF_INIT;
    json_t *doc;
    text_put_escaped(&start, tablet->start, 0);
    text_put_escaped(&end, tablet->end, 0);
    const struct monitor_param params[] = {{"table", t->table},
                                           {"what", reads ? "reads" : "writes"},
                                           {"from", "-60"},
                                           {"step", "60"},
                                           {"start", buf_cstr(&start)},
                                           {"end", buf_cstr(&end)}};
    if (monitor_make(s->monitor, "heat", params, ARRAY_LEN(params), &doc,
                     NULL) == 0) {
        take_hot_row(l, doc, t);
        json_decref(doc);
    }
    buf_close(&start);
    buf_close(&end);
}

/* The tablets of @table; of the busiest one also its server and hot row. */
static int ask_table(struct fact_sheet *s,
                     struct tablet_loads *l,
                     struct quarry *q,
                     const char *table,
                     struct err *err)
{
    struct quarry_table_info *info;
    struct quarry_table *t = NULL;
    struct fact_tablet *hottest;
    struct buf server = BUF_INIT;
    struct slice row = SLICE_EMPTY;
    size_t index = 0;
    int rc = quarry_table_describe(q, table, &info, err);
    if (rc)
        return rc;
    hottest = add_tablets(l, table, info, &index);
    if (hottest)
        row = info->tablets[index].start;
    rc = quarry_table_open(q, table, &t, err);
    if (rc == 0 && hottest && quarry_table_locate(t, row, &server, NULL) == 0)
        hottest->address = arena_strdup(&l->arena, buf_cstr(&server));
    if (rc == 0 && hottest && hottest->reads_per_s + hottest->writes_per_s > 0)
        ask_hot_row(s, l, &info->tablets[index], hottest);
    quarry_table_close(t);
    quarry_table_info_free(info);
    buf_close(&server);
    return rc;
}

static void ask_loads(struct fact_sheet *s,
                      const char *const *names,
                      size_t count,
                      struct tablet_loads *l)
{
    struct quarry *q;
    uint64_t own = fact_sheet_begin_asking(s);
    int rc = monitor_tables(s->monitor, &q, &l->err);
    for (size_t i = 0; rc == 0 && i < count; i++)
        rc = ask_table(s, l, q, names[i], &l->err);
    fiber_set_deadline(own);
}

static void copy_tablets(struct fact_sheet *s, const struct tablet_loads *l)
{
    struct fact_tablets *to = &s->facts.tablets;
    struct fact_tablet *at =
        arena_zalloc(&s->arena, (l->count + 1) * sizeof(*at));
    to->known = l->err.code == 0;
    to->why = to->known ? NULL : arena_strdup(&s->arena, l->err.text);
    for (size_t i = 0; i < l->count; i++) {
        at[i] = l->at[i];
        at[i].table = arena_strdup(&s->arena, at[i].table);
        at[i].id = arena_strdup(&s->arena, at[i].id);
        at[i].start = arena_strdup(&s->arena, at[i].start);
        at[i].end = arena_strdup(&s->arena, at[i].end);
        if (at[i].hot_row)
            at[i].hot_row = arena_strdup(&s->arena, at[i].hot_row);
        if (at[i].address)
            at[i].address = arena_strdup(&s->arena, at[i].address);
    }
    to->at = at;
    to->count = l->count;
}

void fact_sheet_take_tablets(struct fact_sheet *s)
{
    const char *names[TABLES_MAX];
    size_t count = busy_tables(s, names);
    struct tablet_loads *l = &s->watch->loads;
    struct world *w = monitor_source_of(s->monitor)->world;
    uint64_t now = world_mono_ns(w);
    s->facts.tablets.known = true;
    if (count == 0)
        return;
    mutex_lock(&s->watch->asking);
    if (l->at_ns == 0 || now - l->at_ns >= LOADS_NS) {
        arena_reset(&l->arena);
        l->count = 0;
        l->err = ERR_INIT;
        ask_loads(s, names, count, l);
        l->at_ns = world_mono_ns(w);
    }
    copy_tablets(s, l);
    mutex_unlock(&s->watch->asking);
}
