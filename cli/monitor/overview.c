/* The document `overview`: how the cluster is, in one sentence and the figures
 * of all nodes together.
 */
#include "base/core/panic.h"
#include "base/core/text.h"
#include "cli/monitor/finding_watch.h"
#include "cli/monitor/subject.h"
#include "cli/status_text.h"

/* The worst ones. */
#define FINDINGS_SHOWN 5

/* Roles of which one leads the others. */
static const char *const led[] = {"lock", "namenode", "master", "jobs"};

/* --- figures ------------------------------------------------------------- */

static void put_counts(json_t *doc, const struct monitor_nodes *n)
{
    json_t *nodes = doc_put_object(doc, "nodes");
    json_t *leaders = doc_put_object(doc, "leaders");
    uint64_t up = 0;
    for (size_t i = 0; i < n->count; i++)
        up += n->at[i].state == NODE_UP;
    doc_put_u64(nodes, "up", up);
    doc_put_u64(nodes, "total", n->count);
    for (size_t i = 0; i < ARRAY_LEN(led); i++) {
        const struct monitor_node *leader = monitor_nodes_leader(n, led[i]);
        if (leader)
            doc_put_str(leaders, led[i], leader->name);
    }
}

/* The figure @key of who leads @role, as @name. */
static bool put_of_leader(json_t *doc,
                          const struct monitor_nodes *n,
                          const char *role,
                          const char *key,
                          uint64_t less,
                          const char *name)
{
    const struct monitor_node *leader = monitor_nodes_leader(n, role);
    struct slice pairs;
    uint64_t value;
    if (!leader || !node_role(leader, role, &pairs) ||
        text_parse_u64(status_value(pairs, key), &value, NULL))
        return false;
    doc_put_u64(doc, name, value > less ? value - less : 0);
    return true;
}

/* Users' tables: the tablets of METADATA are not counted. */
static void put_tables(json_t *doc, const struct monitor_nodes *n)
{
    const struct monitor_node *master = monitor_nodes_leader(n, "master");
    struct slice pairs;
    uint64_t metadata = 0;
    if (!master || !node_role(master, "master", &pairs) ||
        text_parse_u64(status_value(pairs, "metadata"), &metadata, NULL))
        return;
    put_of_leader(doc, n, "master", "tables", 0, "tables");
    put_of_leader(doc, n, "master", "tablets", metadata, "tablets");
    put_of_leader(doc, n, "master", "unassigned", 0, "tablets_unassigned");
}

static void put_jobs(json_t *doc, const struct monitor_nodes *n)
{
    json_t *jobs = doc_put_object(doc, "jobs");
    put_of_leader(jobs, n, "jobs", "running", 0, "running");
    put_of_leader(jobs, n, "jobs", "waiting", 0, "waiting");
}

static void put_rates(json_t *doc, const struct monitor_nodes *n)
{
    static const struct {
        const char *name;
        const char *metric;
    } rates[] = {
        {"reads_per_s", "quarry_tablet_read_rows_total"},
        {"writes_per_s", "quarry_tablet_written_rows_total"},
        {"bytes_per_s", "quarry_tablet_row_bytes_total"},
        {"errors_per_s", "quarry_rpc_call_failures_total"},
    };

    for (size_t r = 0; r < ARRAY_LEN(rates); r++) {
        bool found = false;
        double sum = 0;
        for (size_t i = 0; i < n->count; i++) {
            double rate;
            found |= node_rate(&n->at[i], rates[r].metric, NULL, &rate);
            sum += rate;
        }
        if (found)
            doc_put_double(doc, rates[r].name, sum);
    }
}

static void put_latency(json_t *doc, const struct monitor_nodes *n)
{
    static const struct {
        const char *name;
        const char *metric;
    } kinds[] = {
        {"read", "quarry_tablet_read_seconds"},
        {"write", "quarry_tablet_write_seconds"},
        {"scan", "quarry_tablet_scan_seconds"},
        {"commit", "quarry_engine_commit_sync_seconds"},
    };

    json_t *latency = doc_put_object(doc, "latency");
    for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
        struct metric_spread h = {.size = 0};
        double p50;
        double p99;
        json_t *o;
        for (size_t i = 0; i < n->count; i++)
            node_latency(&n->at[i], kinds[k].metric, NULL, &h);
        if (!metric_spread_quantile(&h, 0.5, &p50) ||
            !metric_spread_quantile(&h, 0.99, &p99))
            continue;
        o = doc_put_object(latency, kinds[k].name);
        doc_put_double(o, "p50_us", p50 * 1e6);
        doc_put_double(o, "p99_us", p99 * 1e6);
    }
}

/* Of the chunk servers that live. */
static void put_disk(json_t *doc, const struct monitor_nodes *n)
{
    json_t *disk;
    uint64_t size = 0;
    uint64_t space = 0;
    if (!n->has_files)
        return;
    for (size_t i = 0; i < n->files.server_count; i++)
        if (n->files.servers[i].alive) {
            size += n->files.servers[i].capacity_bytes;
            space += n->files.servers[i].free_bytes;
        }
    disk = doc_put_object(doc, "disk");
    doc_put_u64(disk, "used_bytes", size > space ? size - space : 0);
    doc_put_u64(disk, "size_bytes", size);
}

int subject_overview(struct monitor *m,
                     const struct monitor_param *params,
                     size_t count,
                     json_t *doc,
                     struct err *err)
{
    struct monitor_nodes *n;
    int rc = monitor_put_findings(m, FINDINGS_SHOWN, doc, err);
    (void)params;
    (void)count;
    if (rc == 0)
        rc = monitor_nodes_get_rates(m, &n, err);
    if (rc)
        return rc;
    put_counts(doc, n);
    put_tables(doc, n);
    put_rates(doc, n);
    put_latency(doc, n);
    put_disk(doc, n);
    put_jobs(doc, n);
    monitor_nodes_unref(n);
    return 0;
}
