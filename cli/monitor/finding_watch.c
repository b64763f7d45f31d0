/* Gathering facts. Nodes are asked in any case; tables only where the metrics
 * of a server say that a tablet of theirs is busy, and jobs only while there
 * are some, so that a cluster at rest is asked nothing more.
 */
#include "cli/monitor/finding_watch.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/hash_map.h"
#include "base/core/panic.h"
#include "base/core/text.h"
#include "base/runtime/fiber.h"
#include "base/runtime/sync.h"
#include "base/runtime/world.h"
#include "bigtable/client/place.h"
#include "bigtable/quarry.h"
#include "cli/monitor/finding.h"
#include "cli/monitor/finding_trends.h"
#include "cli/monitor/subject.h"
#include "cli/status_text.h"
#include "mapreduce/cluster/job_client.h"
#include "mapreduce/job_history.h"

/* Of a service's answer. */
#define SERVICE_US UINT64_C(2000000)
/* Loads of tablets are asked for again. */
#define LOADS_NS      UINT64_C(4000000000)
#define TABLES_MAX    8
#define HOT_ROWS      50
#define KEY_BYTES_MAX 64

/* The loads of the tablets of tables that are busy. */
struct tablet_loads {
    uint64_t at_ns; /* 0: never asked. */
    struct err err; /* Of the last time. */
    struct arena arena;
    struct fact_tablet *at;
    size_t count;
};

struct job_progress {
    uint64_t signature; /* Of what has been done. */
    uint64_t at_us;     /* It was different until then. */
};

struct finding_watch {
    struct finding_memory *memory; /* Owned, */
    struct finding_trends *trends; /* both. */
    struct hash_map heard; /* Address to when it last answered, in µs. */
    struct hash_map jobs;  /* Id to struct job_progress, owned. */
    struct mutex asking;   /* Of loads. */
    struct tablet_loads loads;
};

/* The facts of one moment and what they borrow. */
struct fact_sheet {
    struct monitor *monitor;
    struct finding_watch *watch;
    struct monitor_nodes *nodes;
    struct arena arena;
    struct finding_facts facts;
    struct fact_node *own_nodes; /* Those of the facts. */
};

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

static void forget_jobs(struct finding_watch *w)
{
    const struct hash_slot *slot;
    size_t at = 0;
    while ((slot = hash_map_next(&w->jobs, &at)) != NULL)
        mem_free(slot->value.pointer);
    hash_map_clear(&w->jobs);
}

void finding_watch_free(struct finding_watch *w)
{
    if (!w)
        return;
    forget_jobs(w);
    hash_map_close(&w->jobs);
    hash_map_close(&w->heard);
    arena_close(&w->loads.arena);
    mutex_close(&w->asking);
    finding_trends_free(w->trends);
    finding_memory_free(w->memory);
    mem_free(w);
}

static struct world *world_of(const struct monitor *m)
{
    return monitor_source_of(m)->world;
}

/* A deadline of the running fiber for one service; the one before it. */
static uint64_t begin_asking(const struct monitor *m)
{
    uint64_t end = world_mono_ns(world_of(m)) + SERVICE_US * 1000;
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
    PRE(s->nodes && s->facts.now_us > 0);
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

/* --- tables -------------------------------------------------------------- */

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

/* The tablets of @table; of the busiest one also its server. */
static int ask_table(struct tablet_loads *l,
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
    uint64_t own = begin_asking(s->monitor);
    int rc = monitor_tables(s->monitor, &q, &l->err);
    for (size_t i = 0; rc == 0 && i < count; i++)
        rc = ask_table(l, q, names[i], &l->err);
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
        if (at[i].address)
            at[i].address = arena_strdup(&s->arena, at[i].address);
    }
    to->at = at;
    to->count = l->count;
}

static void take_tablets(struct fact_sheet *s)
{
    const char *names[TABLES_MAX];
    size_t count = busy_tables(s, names);
    struct tablet_loads *l = &s->watch->loads;
    uint64_t now = world_mono_ns(world_of(s->monitor));
    s->facts.tablets.known = true;
    if (count == 0)
        return;
    mutex_lock(&s->watch->asking);
    if (l->at_ns == 0 || now - l->at_ns >= LOADS_NS) {
        arena_reset(&l->arena);
        l->count = 0;
        l->err = ERR_INIT;
        ask_loads(s, names, count, l);
        l->at_ns = world_mono_ns(world_of(s->monitor));
    }
    copy_tablets(s, l);
    mutex_unlock(&s->watch->asking);
}

/* --- jobs ---------------------------------------------------------------- */

/* How many attempts of job @id run, as the job master's status says: "ID NAME:
 * map, 3 of 9 tasks done, 2 run; …". */
static unsigned attempts_of(struct slice pairs, const char *id)
{
    static const char mark[] = " tasks done, ";
    struct slice key;
    struct slice text;
    while (status_next_pair(&pairs, &key, &text)) {
        const char *found = NULL;
        if (!slice_eq_str(key, "job") || text.len <= strlen(id) ||
            memcmp(text.data, id, strlen(id)) != 0)
            continue;
        for (size_t i = 0; i + sizeof(mark) <= text.len; i++)
            if (memcmp(text.data + i, mark, sizeof(mark) - 1) == 0)
                found = text.data + i + sizeof(mark) - 1;
        return found ? (unsigned)strtoul(found, NULL, 10) : 0;
    }
    return 0;
}

/* When job @j last got on, as far as this monitor has seen. */
static uint64_t note_progress(struct fact_sheet *s, const struct job_summary *j)
{
    union hash_value *value =
        hash_map_put(&s->watch->jobs, slice_str(j->id), NULL);
    struct job_progress *p = value->pointer;
    uint64_t signature = j->tasks_done + 1 +
                         UINT64_C(1000000) * j->phase_count +
                         UINT64_C(1000000000) * j->tasks_total;
    if (!p)
        p = value->pointer = mem_zalloc(1, sizeof(*p));
    if (p->signature != signature)
        *p = (struct job_progress){signature, s->facts.now_us};
    return p->at_us;
}

static void take_job(struct fact_sheet *s,
                     const struct job_summary *j,
                     struct slice master,
                     struct fact_job *out)
{
    struct arena *a = &s->arena;
    PRE(j->id && j->state == JOB_RUNNING);
    *out = (struct fact_job){
        .id = arena_strdup(a, j->id),
        .label = arena_strdup(a, j->name ? j->name : ""),
        .phase = arena_strdup(a, j->phase ? j->phase : ""),
        .runs = !j->waits || strcmp(j->waits, JOB_WAITS_ITS_TURN) != 0,
        .tasks_total = j->tasks_total,
        .tasks_done = j->tasks_done,
        .tasks_running = attempts_of(master, j->id),
        .attempts_failed = j->attempts_failed,
        .waits_for = j->waits && *j->waits ? arena_strdup(a, j->waits) : NULL,
        .progress_at_us = note_progress(s, j)};
}

static int list_jobs(struct fact_sheet *s, struct buf *reply, struct err *err)
{
    const struct job_list list = {.ended_max = 0};
    struct job_client *c;
    struct buf body = BUF_INIT;
    uint64_t own = begin_asking(s->monitor);
    int rc = monitor_jobs(s->monitor, &c, err);
    job_list_put(&list, &body);
    if (rc == 0)
        rc = job_client_call(c, JOB_LIST, buf_slice(&body), 0, reply, err);
    fiber_set_deadline(own);
    buf_close(&body);
    return rc;
}

static int take_list(struct fact_sheet *s,
                     struct slice reply,
                     struct slice master,
                     struct err *err)
{
    struct job_texts texts = {.at = NULL};
    struct fact_job *at;
    size_t count = 0;
    int rc = job_texts_get(reply, &texts, err);
    at = arena_zalloc(&s->arena,
                      ((rc == 0 ? texts.count : 0) + 1) * sizeof(*at));
    for (size_t i = 0; rc == 0 && i < texts.count; i++) {
        struct job_summary *j = mem_zalloc(1, sizeof(*j));
        if (job_summary_decode(texts.at[i], j, NULL) == 0 && j->id &&
            j->state == JOB_RUNNING)
            take_job(s, j, master, &at[count++]);
        job_summaries_free(j, 1);
    }
    s->facts.jobs.at = at;
    s->facts.jobs.count = count;
    mem_free(texts.at);
    return rc;
}

static void take_jobs(struct fact_sheet *s)
{
    const struct monitor_node *n = monitor_nodes_leader(s->nodes, "jobs");
    struct buf reply = BUF_INIT;
    struct err err = ERR_INIT;
    struct slice master;
    double running = 0;
    double waiting = 0;
    int rc;
    s->facts.jobs.known = true; /* Without a master none runs. */
    if (!n || !node_role(n, "jobs", &master))
        return;
    (void)node_metric(n, "quarry_jobs_running", NULL, &running);
    (void)node_metric(n, "quarry_jobs_waiting", NULL, &waiting);
    if (running + waiting < 1) {
        forget_jobs(s->watch);
        return;
    }
    rc = list_jobs(s, &reply, &err);
    if (rc == 0)
        rc = take_list(s, buf_slice(&reply), master, &err);
    if (rc) {
        s->facts.jobs.known = false;
        s->facts.jobs.why = arena_strdup(&s->arena, err.text);
    }
    buf_close(&reply);
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
    take_tablets(&s);
    take_jobs(&s);
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
