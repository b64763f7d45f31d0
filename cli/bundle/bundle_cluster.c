/* A cluster in a bundle: the documents of the monitor, and what each node that
 * is up tells about itself. The monitor knows which nodes are away, so that
 * these cost a time-out once. */
#include <stdio.h>
#include <string.h>

#include "base/core/panic.h"
#include "base/rpc/remote.h"
#include "base/runtime/fiber.h"
#include "base/runtime/world.h"
#include "cli/bundle/bundle.h"
#include "cli/bundle/node_texts.h"
#include "cli/bundle/scrub.h"
#include "cli/cli.h"
#include "cli/cluster_nodes.h"
#include "cli/log_tail.h"
#include "cli/monitor/monitor.h"
#include "cli/remote_call.h"

#define DOCUMENT_NS    UINT64_C(20000000000)
#define TABLES_PACKED  50
#define TABLETS_PACKED 20
#define JOBS_PACKED    20
#define NODES_PACKED   100
#define PARAMS_MAX     2
#define NAME_BYTES     512

/* Services that are asked for a document. One that did not answer is not asked
 * for the next one. */
enum bundle_service {
    OF_NODES,
    OF_TABLES,
    OF_FILES,
    OF_LOCKS,
    OF_JOBS,
    SERVICES
};

struct cluster_bundle {
    struct bundle *bundle;
    struct remote *remote;
    struct monitor *monitor;
    struct err lost[SERVICES]; /* Why it is not asked again. */
    unsigned step;
};

struct wanted_document {
    const char *name; /* Of the entry; its subject follows. */
    const char *subject;
    struct monitor_param params[PARAMS_MAX];
    enum bundle_service service;
};

/* --- documents ----------------------------------------------------------- */

static size_t param_count(const struct wanted_document *w)
{
    size_t n = 0;
    while (n < PARAMS_MAX && w->params[n].name)
        n++;
    return n;
}

/* Make a document within a time. *@doc is owned. */
static int bundle_cluster_ask(struct cluster_bundle *c,
                              const struct wanted_document *w,
                              json_t **doc)
{
    struct err *lost = &c->lost[w->service];
    struct err why = ERR_INIT;
    uint64_t now = world_mono_ns(c->remote->world);
    uint64_t before;
    int rc = lost->code;
    PRE(w->service < SERVICES);
    *doc = NULL;
    if (rc == 0) {
        before = fiber_set_deadline(now + DOCUMENT_NS);
        rc = monitor_make(c->monitor, w->subject, w->params, param_count(w),
                          doc, &why);
        (void)fiber_set_deadline(before);
    } else {
        (void)err_set(&why, rc, "not asked again: %s", lost->text);
    }
    if (rc == ERR_UNAVAILABLE || rc == ERR_DEADLINE)
        (void)err_copy(lost, lost->code ? lost : &why);
    if (rc)
        bundle_miss(c->bundle, w->name, &why);
    return rc;
}

static void bundle_cluster_pack(struct cluster_bundle *c,
                                const struct wanted_document *w)
{
    json_t *doc;
    bundle_progress(c->bundle, MIN_OF(c->step * 10, 700U), w->name);
    c->step++;
    if (bundle_cluster_ask(c, w, &doc) == 0)
        bundle_add_document(c->bundle, w->name, doc);
    json_decref(doc);
}

static const char *text_of(const json_t *row, const char *field)
{
    const char *text = json_string_value(json_object_get(row, field));
    return text ? text : "";
}

/* The tablet with most load of a table, or the first one. */
static void pack_hottest(struct cluster_bundle *c, const json_t *table)
{
    const json_t *tablet = json_object_get(table, "hottest_tablet");
    char name[NAME_BYTES];
    struct wanted_document w = {.name = name,
                                .subject = "tablet",
                                .params = {{"table", text_of(table, "name")},
                                           {"start", text_of(tablet, "start")}},
                                .service = OF_TABLES};
    snprintf(name, sizeof(name), "documents/tablet/%s.json", w.params[0].value);
    bundle_cluster_pack(c, &w);
}

static void pack_tables(struct cluster_bundle *c)
{
    static const struct wanted_document list = {.name = "documents/tables.json",
                                                .subject = "tables",
                                                .params = {{"limit", "1000"}},
                                                .service = OF_TABLES};
    json_t *doc;
    const json_t *rows;
    char name[NAME_BYTES];
    if (bundle_cluster_ask(c, &list, &doc))
        return;
    rows = json_object_get(doc, "tables");
    for (size_t i = 0; i < MIN_OF(json_array_size(rows), (size_t)TABLES_PACKED);
         i++) {
        const json_t *table = json_array_get(rows, i);
        const struct wanted_document w = {
            .name = name,
            .subject = "table",
            .params = {{"name", text_of(table, "name")}, {"limit", "500"}},
            .service = OF_TABLES};
        snprintf(name, sizeof(name), "documents/table/%s.json",
                 w.params[0].value);
        bundle_cluster_pack(c, &w);
        if (i < TABLETS_PACKED)
            pack_hottest(c, table);
    }
    bundle_add_document(c->bundle, list.name, doc);
    json_decref(doc);
}

/* At most @limit jobs of a list. */
static void
pack_job_list(struct cluster_bundle *c, const json_t *rows, size_t limit)
{
    char name[NAME_BYTES];
    for (size_t i = 0; i < MIN_OF(json_array_size(rows), limit); i++) {
        const struct wanted_document w = {
            .name = name,
            .subject = "job",
            .params = {{"id", text_of(json_array_get(rows, i), "id")},
                       {"limit", "500"}},
            .service = OF_JOBS};
        snprintf(name, sizeof(name), "documents/job/%s.json",
                 w.params[0].value);
        bundle_cluster_pack(c, &w);
    }
}

static void pack_jobs(struct cluster_bundle *c)
{
    static const struct wanted_document list = {.name = "documents/jobs.json",
                                                .subject = "jobs",
                                                .params = {{"limit", "100"}},
                                                .service = OF_JOBS};
    json_t *doc;
    if (bundle_cluster_ask(c, &list, &doc))
        return;
    pack_job_list(c, json_object_get(doc, "running"), JOBS_PACKED);
    pack_job_list(c, json_object_get(doc, "past"), JOBS_PACKED);
    bundle_add_document(c->bundle, list.name, doc);
    json_decref(doc);
}

/* --- settings ------------------------------------------------------------ */

static bool ends_with(const char *text, const char *end)
{
    return slice_ends_with(slice_str(text), slice_str(end));
}

/* Files that settings name, and that have secrets in them. */
static bool names_secret_file(const char *setting)
{
    return ends_with(setting, "key") || ends_with(setting, "-tokens") ||
           ends_with(setting, "key-file");
}

/* Their contents, where this machine has them, are secrets. */
static void learn_secrets(struct cluster_bundle *c, const json_t *config)
{
    const json_t *nodes = json_object_get(config, "nodes");
    const json_t *node, *setting;
    size_t i, k;
    json_array_foreach(nodes, i, node) {
        json_array_foreach(json_object_get(node, "settings"), k, setting) {
            const char *path = text_of(setting, "value");
            if (*path && names_secret_file(text_of(setting, "name")))
                scrub_add_secret_file(c->bundle->scrub, path);
        }
    }
}

static void pack_config(struct cluster_bundle *c)
{
    static const struct wanted_document w = {.name = "documents/config.json",
                                             .subject = "config",
                                             .service = OF_NODES};
    json_t *doc;
    if (bundle_cluster_ask(c, &w, &doc) == 0) {
        learn_secrets(c, doc);
        bundle_add_document(c->bundle, w.name, doc);
    }
    json_decref(doc);
}

/* --- nodes --------------------------------------------------------------- */

static bool is_away(int code)
{
    return code == ERR_UNAVAILABLE || code == ERR_DEADLINE;
}

static void pack_node(struct cluster_bundle *c, const json_t *node)
{
    struct rpc_channel *channel =
        node_text_channel(text_of(node, "address"), c->remote->security);
    const char *text;
    int rc = 0;
    for (size_t i = 0; (text = node_text_name(i)) && !is_away(rc); i++) {
        struct err why = ERR_INIT;
        struct buf out = BUF_INIT;
        char name[NAME_BYTES];
        snprintf(name, sizeof(name), "nodes/%s/%s.txt", text_of(node, "name"),
                 text);
        rc = node_text_ask(channel, text, &out, &why);
        if (rc)
            bundle_miss(c->bundle, name, &why);
        else
            bundle_add(c->bundle, name, buf_slice(&out));
        buf_close(&out);
    }
    rpc_channel_free(channel);
}

static void miss_node(struct cluster_bundle *c, const json_t *node)
{
    struct err why = ERR_INIT;
    char name[NAME_BYTES];
    snprintf(name, sizeof(name), "nodes/%s", text_of(node, "name"));
    (void)err_set(&why, ERR_UNAVAILABLE, "%s: %s", text_of(node, "state"),
                  text_of(node, "why"));
    bundle_miss(c->bundle, name, &why);
}

static void pack_nodes(struct cluster_bundle *c)
{
    static const struct wanted_document w = {.name = "documents/nodes.json",
                                             .subject = "nodes",
                                             .service = OF_NODES};
    json_t *doc;
    const json_t *rows;
    if (bundle_cluster_ask(c, &w, &doc))
        return;
    rows = json_object_get(doc, "nodes");
    for (size_t i = 0; i < json_array_size(rows); i++) {
        const json_t *node = json_array_get(rows, i);
        bundle_progress(c->bundle,
                        700 + (unsigned)(i * 300 / json_array_size(rows)),
                        text_of(node, "name"));
        if (strcmp(text_of(node, "state"), "up") == 0 && i < NODES_PACKED)
            pack_node(c, node);
        else
            miss_node(c, node);
    }
    bundle_add_document(c->bundle, w.name, doc);
    json_decref(doc);
}

/* --- all of it ----------------------------------------------------------- */

void bundle_add_cluster(struct bundle *b, struct remote *r)
{
    static const struct wanted_document plain[] = {
        {"documents/overview.json", "overview", {{NULL, NULL}}, OF_NODES},
        {"documents/findings.json", "findings", {{NULL, NULL}}, OF_NODES},
        {"documents/history.json", "history", {{"from", "-3600"}}, OF_NODES},
        {"documents/calls.json", "calls", {{"limit", "500"}}, OF_NODES},
        {"documents/files.json",
         "files",
         {{"path", "/"}, {"limit", "200"}},
         OF_FILES},
        {"documents/locks.json",
         "locks",
         {{"path", "/"}, {"limit", "200"}},
         OF_LOCKS},
    };
    const struct monitor_source source = {.world = r->world,
                                          .security = r->security,
                                          .cluster = r->cli->cluster,
                                          .cell = r->addresses,
                                          .cell_count = r->address_count};
    struct cluster_bundle c = {.bundle = b, .remote = r};
    struct err why = ERR_INIT;
    PRE(r->address_count > 0);
    if (monitor_open(&source, &c.monitor, &why)) {
        bundle_miss(b, "documents", &why);
        return;
    }
    /* Tables before what has row keys in sentences, settings before what may
     * have secrets in messages. */
    pack_config(&c);
    pack_tables(&c);
    for (size_t i = 0; i < ARRAY_LEN(plain); i++)
        bundle_cluster_pack(&c, &plain[i]);
    pack_jobs(&c);
    pack_nodes(&c);
    monitor_close(c.monitor);
}

/* The end of @file of a node. */
static void
pack_file(struct bundle *b, const struct cluster_node *n, const char *file)
{
    struct err why = ERR_INIT;
    struct buf path = BUF_INIT;
    struct buf text = BUF_INIT;
    char name[NAME_BYTES];
    buf_printf(&path, "%s/%s", n->dir, file);
    snprintf(name, sizeof(name), "files/%s/%s.txt", n->name, file);
    if (file_tail_read(b->cli->world, buf_cstr(&path), LOG_TAIL_BYTES_MAX,
                       &text, &why))
        bundle_miss(b, name, &why);
    else
        bundle_add(b, name, buf_slice(&text));
    buf_close(&path);
    buf_close(&text);
}

void bundle_add_cluster_files(struct bundle *b, const char *dir)
{
    struct cluster c;
    struct err why = ERR_INIT;
    int rc = cluster_open(dir, &c, &why);
    char *key = rc ? NULL : cluster_key_path(&c);
    if (rc)
        bundle_miss(b, "files", &why);
    if (key)
        scrub_add_secret_file(b->scrub, key);
    for (size_t i = 0; i < c.node_count && rc == 0; i++) {
        pack_file(b, &c.nodes[i], "log");
        pack_file(b, &c.nodes[i], "out");
    }
    mem_free(key);
    cluster_close(&c);
}
