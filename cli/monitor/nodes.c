/* The document `nodes`: every process of the cluster, with its roles and its
 * load.
 */
#include "base/core/panic.h"
#include "base/core/text.h"
#include "cli/monitor/subject.h"
#include "cli/status_text.h"

#define NODES_LIMIT MONITOR_NODES_MAX

/* A figure of a role: a number where it is one, else its text. The words of
 * keys are separated by '_'. */
static void put_figure(json_t *figures, struct slice key, struct slice value)
{
    struct buf name = BUF_INIT;
    uint64_t number;
    for (size_t i = 0; i < key.len; i++)
        buf_append_byte(&name, key.data[i] == '-' ? '_' : key.data[i]);
    if (!utf8_valid(buf_slice(&name)))
        ; /* It is no key of ours. */
    else if (text_parse_u64(value, &number, NULL) == 0 && value.len)
        doc_put_u64(figures, buf_cstr(&name), number);
    else
        doc_put_text(figures, buf_cstr(&name), value);
    buf_close(&name);
}

static void put_role(json_t *roles, struct slice role, struct slice pairs)
{
    json_t *o = doc_append_object(roles);
    json_t *figures;
    struct slice key;
    struct slice value;
    doc_put_text(o, "name", role);
    doc_put_text(o, "health", status_value(pairs, "health"));
    doc_put_bool(o, "leads", status_leads(pairs));
    figures = doc_put_object(o, "figures");
    while (status_next_pair(&pairs, &key, &value))
        if (!slice_eq_str(key, "health"))
            put_figure(figures, key, value);
}

static void put_roles(json_t *node, const struct monitor_node *n)
{
    struct slice rest =
        n->answer ? status_roles(buf_slice(&n->answer->status)) : SLICE_EMPTY;
    json_t *roles = doc_put_array(node, "roles");
    struct slice role;
    struct slice pairs;
    while (status_next_role(&rest, &role, &pairs))
        put_role(roles, role, pairs);
}

/* The number @key of the line about the process, as @name. */
static void put_number(json_t *node,
                       const struct monitor_node *n,
                       const char *name,
                       const char *key)
{
    uint64_t value;
    if (text_parse_u64(node_about(n, key), &value, NULL) == 0)
        doc_put_u64(node, name, value);
}

/* The text @key of it. */
static void put_about(json_t *node,
                      const struct monitor_node *n,
                      const char *name,
                      const char *key)
{
    struct slice value = node_about(n, key);
    if (value.len)
        doc_put_text(node, name, value);
}

static void put_process(json_t *node,
                        const struct monitor_nodes *all,
                        const struct monitor_node *n)
{
    int64_t offset_us;
    put_number(node, n, "up_us", "up_us");
    put_number(node, n, "pid", "pid");
    put_about(node, n, "version", "version");
    put_about(node, n, "security", "security");
    put_about(node, n, "rack", "rack");
    if (node_clock_offset(all, n, &offset_us))
        doc_put_i64(node, "clock_offset_us", offset_us);
    if (n->answer)
        doc_put_u64(node, "rtt_us", n->answer->waited_us);
}

static void put_gauge(json_t *node,
                      const struct monitor_node *n,
                      const char *name,
                      const char *metric)
{
    double value;
    if (node_metric(n, metric, NULL, &value))
        doc_put_double(node, name, value);
}

static void put_rate(json_t *node,
                     const struct monitor_node *n,
                     const char *name,
                     const char *metric)
{
    double value;
    if (node_rate(n, metric, NULL, &value))
        doc_put_double(node, name, value);
}

static void put_disk(json_t *node, const struct monitor_node *n)
{
    double size;
    double space;
    if (!node_metric(n, "quarry_chunk_capacity_bytes", NULL, &size) ||
        !node_metric(n, "quarry_chunk_free_bytes", NULL, &space))
        return;
    doc_put_double(node, "disk_used_bytes", size > space ? size - space : 0);
    doc_put_double(node, "disk_size_bytes", size);
}

/* Of reads, scans and writes of rows. */
static void put_latency(json_t *node, const struct monitor_node *n)
{
    static const char *const names[] = {"quarry_tablet_read_seconds",
                                        "quarry_tablet_scan_seconds",
                                        "quarry_tablet_write_seconds"};
    struct metric_spread h = {.size = 0};
    double value;
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        node_latency(n, names[i], NULL, &h);
    if (metric_spread_quantile(&h, 0.5, &value))
        doc_put_double(node, "p50_us", value * 1e6);
    if (metric_spread_quantile(&h, 0.99, &value))
        doc_put_double(node, "p99_us", value * 1e6);
}

static void put_load(json_t *node, const struct monitor_node *n)
{
    put_rate(node, n, "cpu_cores", "process_cpu_seconds_total");
    put_gauge(node, n, "rss_bytes", "process_resident_memory_bytes");
    put_gauge(node, n, "fds", "process_open_fds");
    put_gauge(node, n, "fds_max", "process_max_fds");
    put_gauge(node, n, "connections", "quarry_rpc_connections");
    put_disk(node, n);
    put_gauge(node, n, "tablets", "quarry_tablet_tablets");
    put_rate(node, n, "reads_per_s", "quarry_tablet_read_rows_total");
    put_rate(node, n, "writes_per_s", "quarry_tablet_written_rows_total");
    put_rate(node, n, "bytes_per_s", "quarry_tablet_row_bytes_total");
    put_rate(node, n, "errors_per_s", "quarry_rpc_call_failures_total");
    put_latency(node, n);
}

/* A rack that the node does not tell is known to the namenode. */
static void put_known_rack(json_t *node,
                           const struct monitor_nodes *all,
                           const struct monitor_node *n)
{
    if (json_object_get(node, "rack"))
        return;
    for (size_t i = 0; all->has_files && i < all->files.server_count; i++) {
        const struct gfs_server *s = &all->files.servers[i].server;
        if (slice_eq_str(s->address, n->address) && s->rack.len)
            doc_put_text(node, "rack", s->rack);
    }
}

static void put_node(json_t *node,
                     const struct monitor_nodes *all,
                     const struct monitor_node *n)
{
    doc_put_str(node, "name", n->name);
    doc_put_str(node, "address", n->address);
    doc_put_str(node, "state", node_state_name(n->state));
    if (n->state != NODE_UP)
        doc_put_str(node, "why", n->why);
    put_process(node, all, n);
    put_known_rack(node, all, n);
    put_roles(node, n);
    put_load(node, n);
}

int subject_nodes(struct monitor *m,
                  const struct monitor_param *params,
                  size_t count,
                  json_t *doc,
                  struct err *err)
{
    const char *after = monitor_param_value(params, count, "after");
    const struct monitor_node *from = NULL;
    struct monitor_nodes *n;
    json_t *rows;
    size_t limit;
    size_t i;
    int rc = monitor_param_limit(params, count, NODES_LIMIT, &limit, err);
    if (rc == 0)
        rc = monitor_nodes_get_rates(m, &n, err);
    if (rc)
        return rc;
    monitor_nodes_warn(n, doc);
    rows = doc_put_array(doc, "nodes");
    if (after)
        from = monitor_nodes_find(n, slice_str(after));
    for (i = from ? (size_t)(from - n->at) + 1 : 0;
         i < n->count && json_array_size(rows) < limit; i++)
        put_node(doc_append_object(rows), n, &n->at[i]);
    if (i < n->count)
        doc_warn(doc, "%zu more nodes: ask with after=%s", n->count - i,
                 n->at[i - 1].name);
    monitor_nodes_unref(n);
    return 0;
}

/* --- one node ------------------------------------------------------------ */

static void put_label(json_t *labels, struct slice name, struct slice value)
{
    struct buf text = BUF_INIT;
    buf_append_slice(&text, name);
    if (utf8_valid(name))
        doc_put_text(labels, buf_cstr(&text), value);
    buf_close(&text);
}

/* "name{labels}" by their values, as in the scrape; buckets are left out. */
static void put_metrics(json_t *doc, const struct monitor_node *n)
{
    json_t *rows = doc_put_array(doc, "metrics");
    for (size_t i = 0; n->answer && i < n->answer->metrics.count; i++) {
        const struct node_sample *s = &n->answer->metrics.at[i];
        json_t *row;
        json_t *labels;
        struct slice rest = s->labels;
        struct slice name;
        struct slice value;
        if (slice_ends_with(s->name, SLICE_LIT("_bucket")))
            continue;
        row = doc_append_object(rows);
        doc_put_text(row, "name", s->name);
        labels = doc_put_object(row, "labels");
        while (node_label_next(&rest, &name, &value))
            put_label(labels, name, value);
        doc_put_double(row, "value", s->value);
    }
}

int subject_node(struct monitor *m,
                 const struct monitor_param *params,
                 size_t count,
                 json_t *doc,
                 struct err *err)
{
    const struct monitor_node *node;
    struct monitor_nodes *n;
    const char *name;
    int rc = monitor_param_need(params, count, "name", &name, err);
    if (rc == 0)
        rc = monitor_nodes_get_rates(m, &n, err);
    if (rc)
        return rc;
    node = monitor_nodes_find(n, slice_str(name));
    if (node) {
        monitor_nodes_warn(n, doc);
        put_node(doc, n, node);
        put_metrics(doc, node);
    } else {
        rc = err_set(err, ERR_NOTFOUND, "there is no node %.100s", name);
    }
    monitor_nodes_unref(n);
    return rc;
}
