/* Gathering facts. Nodes are asked in any case; tables only where the metrics
 * of a server say that a tablet of theirs is busy, and jobs only while there
 * are some, so that a cluster at rest is asked nothing more.
 */
#include "cli/monitor/finding_watch.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/hash_map.h"
#include "base/core/panic.h"
#include "base/runtime/fiber.h"
#include "base/runtime/world.h"
#include "cli/monitor/fact_sheet.h"
#include "cli/monitor/finding.h"

/* Of a service's answer. */
#define SERVICE_US UINT64_C(2000000)

struct finding_watch *finding_watch_new(void)
{
    struct finding_watch *w = mem_zalloc(1, sizeof(*w));
    w->memory = finding_memory_new();
    w->trends = finding_trends_new();
    hash_map_init(&w->heard, HASH_KEYS_COPIED);
    hash_map_init(&w->jobs, HASH_KEYS_COPIED);
    mutex_init(&w->asking);
    arena_init(&w->loads.arena);
    return w;
}

void finding_watch_free(struct finding_watch *w)
{
    if (!w)
        return;
    fact_sheet_forget_jobs(w);
    hash_map_close(&w->jobs);
    hash_map_close(&w->heard);
    arena_close(&w->loads.arena);
    mutex_close(&w->asking);
    finding_trends_free(w->trends);
    finding_memory_free(w->memory);
    mem_free(w);
}

uint64_t fact_sheet_begin_asking(const struct fact_sheet *s)
{
    struct world *w = monitor_source_of(s->monitor)->world;
    uint64_t end = world_mono_ns(w) + SERVICE_US * 1000;
    uint64_t own = fiber_deadline();
    fiber_set_deadline(own && own < end ? own : end);
    return own;
}

/* --- nodes --------------------------------------------------------------- */

static void take_look(struct fact_look *out, const struct node_answer *a)
{
    *out = (struct fact_look){.at_us = 0};
    if (!a)
        return;
    out->at_us = a->at_mono_ns / 1000;
    out->status = buf_slice(&a->status);
    out->metrics = a->has_metrics ? &a->metrics : NULL;
}

static const char *version_of(struct fact_sheet *s,
                              const struct monitor_node *n)
{
    struct slice version = node_about(n, "version");
    return version.len ? arena_dup(&s->arena, version).data : NULL;
}

/* When @n answered last, as far as this monitor has seen. */
static uint64_t note_heard(struct fact_sheet *s, const struct monitor_node *n)
{
    union hash_value *value =
        hash_map_put(&s->watch->heard, slice_str(n->address), NULL);
    if (n->state == NODE_UP)
        value->number = s->facts.now_us;
    return value->number;
}

static void take_node(struct fact_sheet *s,
                      const struct monitor_node *n,
                      struct fact_node *out)
{
    static const enum fact_node_state states[] = {[NODE_UP] = FACT_UP,
                                                  [NODE_SILENT] = FACT_SILENT,
                                                  [NODE_DOWN] = FACT_DOWN};

    *out = (struct fact_node){.name = n->name,
                              .address = n->address,
                              .state = states[n->state],
                              .why = n->state == NODE_UP ? NULL : n->why,
                              .version = version_of(s, n),
                              .heard_at_us = note_heard(s, n)};
    out->has_clock = node_clock_offset(s->nodes, n, &out->clock_us);
    if (n->answer)
        out->clock_slack_us = n->answer->waited_us;
    take_look(&out->now, n->answer);
    take_look(&out->before, n->before);
}

static void take_nodes(struct fact_sheet *s)
{
    struct fact_node *nodes =
        arena_zalloc(&s->arena, (s->nodes->count + 1) * sizeof(*nodes));
    PRE(s->nodes);
    PRE(s->facts.now_us > 0);
    for (size_t i = 0; i < s->nodes->count; i++)
        take_node(s, &s->nodes->at[i], &nodes[i]);
    s->own_nodes = nodes;
    s->facts.nodes = nodes;
    s->facts.node_count = s->nodes->count;
}

/* PRE: nothing parks before the series are used. */
static void take_series(struct fact_sheet *s)
{
    struct fact_node *nodes = s->own_nodes;
    PRE(s->facts.nodes == nodes);
    for (size_t i = 0; i < s->facts.node_count; i++)
        nodes[i].series = finding_trends_of(s->watch->trends, nodes[i].address,
                                            &nodes[i].series_count);
}

/* --- files --------------------------------------------------------------- */

static void take_server(struct fact_sheet *s,
                        const struct gfs_server_status *from,
                        struct fact_chunk_server *out)
{
    *out = (struct fact_chunk_server){
        .address = arena_dup(&s->arena, from->server.address).data,
        .alive = from->alive,
        .leaves = from->state != GFS_SERVER_IN_SERVICE,
        .heard_us_ago = from->heard_us_ago,
        .capacity_bytes = from->capacity_bytes,
        .free_bytes = from->free_bytes,
        .chunks = from->chunk_count};
}

static void take_files(struct fact_sheet *s)
{
    const struct gfs_status *from = &s->nodes->files;
    struct fact_chunk_server *servers;
    if (!s->nodes->has_files) {
        s->facts.files.why = "no namenode answers";
        return;
    }
    servers =
        arena_zalloc(&s->arena, (from->server_count + 1) * sizeof(*servers));
    for (size_t i = 0; i < from->server_count; i++)
        take_server(s, &from->servers[i], &servers[i]);
    s->facts.files =
        (struct fact_files){.known = true,
                            .safe_mode = from->safe_mode,
                            .chunks = from->chunks,
                            .lost = from->lost,
                            .unreported = from->unreported,
                            .under_replicated = from->under_replicated,
                            .copying = from->copying,
                            .servers = servers,
                            .server_count = from->server_count};
}

/* --- documents ----------------------------------------------------------- */

static void put_finding(json_t *list, const struct finding *x)
{
    json_t *o = doc_append_object(list);
    doc_put_str(o, "id", x->rule->id);
    doc_put_str(o, "severity", finding_severity_name(x->severity));
    doc_put_str(o, "subject", x->subject);
    doc_put_str(o, "sentence", x->sentence);
    doc_put_str(o, "remedy", x->remedy);
    doc_put_u64(o, "since_at_us", x->since_at_us);
    doc_put_str(o, "link", x->link);
}

static void put_drawn(struct fact_sheet *s, size_t limit, json_t *doc)
{
    struct finding_list l;
    struct buf sentence = BUF_INIT;
    json_t *list;
    PRE(s->facts.node_count == s->nodes->count);
    findings_draw(&s->facts, s->watch->memory, &l);
    findings_put_sentence(&l, &s->facts, &sentence);
    doc_put_str(doc, "state", findings_state(&l));
    doc_put_text(doc, "sentence", buf_slice(&sentence));
    list = doc_put_array(doc, "findings");
    for (size_t i = 0; i < l.count && i < limit; i++)
        put_finding(list, &l.at[i]);
    buf_close(&sentence);
    finding_list_close(&l);
}

int monitor_put_findings(struct monitor *m,
                         size_t limit,
                         json_t *doc,
                         struct err *err)
{
    struct fact_sheet s = {.monitor = m, .watch = monitor_watch(m)};
    int rc = monitor_nodes_get_rates(m, &s.nodes, err);
    if (rc)
        return rc;
    arena_init(&s.arena);
    s.facts.now_us = s.nodes->at_us;
    monitor_nodes_warn(s.nodes, doc);
    take_nodes(&s);
    take_files(&s);
    fact_sheet_take_tablets(&s);
    fact_sheet_take_jobs(&s);
    finding_trends_ask(s.watch->trends, m, s.nodes);
    take_series(&s);
    put_drawn(&s, limit, doc);
    arena_close(&s.arena);
    monitor_nodes_unref(s.nodes);
    return 0;
}

int subject_findings(struct monitor *m,
                     const struct monitor_param *params,
                     size_t count,
                     json_t *doc,
                     struct err *err)
{
    size_t limit;
    int rc = monitor_param_limit(params, count, MONITOR_ROWS_MAX, &limit, err);
    return rc ? rc : monitor_put_findings(m, limit, doc, err);
}
