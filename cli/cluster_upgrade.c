/* Raising the version of a cluster. The nodes say what they speak in the answer
 * to a status call, one of release 0.1 says nothing; the version is a file of
 * the lock service, which each node follows. Nobody is raised past a node that
 * does not answer: it may be an old one.
 */
#include "cli/cluster_upgrade.h"

#include "base/core/cluster_version.h"
#include "base/core/panic.h"
#include "base/runtime/fiber.h"
#include "base/runtime/world.h"
#include "bigtable/wire/metadata.h"
#include "chubby-lite/chubby.h"
#include "cli/cli.h"
#include "cli/monitor/subject.h"
#include "cli/remote_call.h"
#include "cli/table_printer.h"

#define LOCKS_US UINT64_C(10000000)

const struct option upgrade_options[] = {
    {"check", 0, NULL, "say what would happen, and change nothing"},
    {NULL, 0, NULL, NULL},
};

/* --- what the nodes speak ------------------------------------------------ */

struct spoken {
    struct version_node nodes[MONITOR_NODES_MAX];
    size_t count;
};

/* A node that says nothing is of the first release. */
static void
take_spoken(struct spoken *s, const struct monitor_node *n, struct sheet *rows)
{
    struct version_node *v = &s->nodes[s->count++];
    struct slice text =
        n->state == NODE_UP ? node_about(n, "speaks") : SLICE_EMPTY;
    *v = (struct version_node){.name = n->name, .range = {1, 1}};
    if (n->state != NODE_UP)
        v->why = n->why;
    else if (text.len && version_range_get(text, &v->range, NULL))
        v->why = "its answer cannot be read";
    sheet_add_str(rows, n->name);
    sheet_add_str(rows, n->address);
    sheet_add_str(rows, node_state_name(n->state));
    sheet_add(rows,
              n->state == NODE_UP ? node_about(n, "version") : SLICE_EMPTY);
    if (v->why)
        sheet_add_str(rows, "");
    else
        sheet_addf(rows, "%u to %u", (unsigned)v->range.min,
                   (unsigned)v->range.max);
}

/* Which nodes there are must be known. */
static int check_complete(const struct monitor_nodes *n, struct err *err)
{
    struct slice line = buf_slice(&n->warnings);
    if (line.len == 0)
        return 0;
    line = slice_sub(line, 0, slice_find_byte(line, '\n'));
    return err_set(err, ERR_UNAVAILABLE, "%.*s", SLICE_ARG(line));
}

static int ask_nodes(struct remote *r, struct spoken *s, struct err *err)
{
    static const struct sheet_column columns[] = {{"node", SHEET_TEXT},
                                                  {"address", SHEET_TEXT},
                                                  {"state", SHEET_TEXT},
                                                  {"release", SHEET_TEXT},
                                                  {"speaks", SHEET_TEXT}};
    const struct monitor_source source = {.world = r->world,
                                          .security = r->security,
                                          .cluster = r->cli->cluster,
                                          .cell = r->addresses,
                                          .cell_count = r->address_count};
    struct monitor_nodes *n = NULL;
    struct monitor *m;
    struct sheet rows;
    int rc = monitor_open(&source, &m, err);
    if (rc)
        return rc;
    sheet_init(&rows, columns, ARRAY_LEN(columns));
    rc = monitor_nodes_get(m, &n, err);
    for (size_t i = 0; rc == 0 && i < n->count; i++)
        take_spoken(s, &n->at[i], &rows);
    if (rc == 0) {
        sheet_print(&rows, r->cli->format);
        rc = check_complete(n, err);
    }
    /* Names and reasons are the nodes': copied before these go. */
    for (size_t i = 0; rc == 0 && i < s->count; i++) {
        s->nodes[i].name = mem_strdup(s->nodes[i].name);
        s->nodes[i].why = s->nodes[i].why ? mem_strdup(s->nodes[i].why) : NULL;
    }
    if (rc)
        s->count = 0;
    sheet_close(&rows);
    monitor_nodes_unref(n);
    monitor_close(m);
    return rc;
}

static void spoken_close(struct spoken *s)
{
    for (size_t i = 0; i < s->count; i++) {
        mem_free((char *)(uintptr_t)s->nodes[i].name);
        mem_free((char *)(uintptr_t)s->nodes[i].why);
    }
    mem_free(s);
}

/* --- the file ------------------------------------------------------------ */

/* Masters that know it make it. */
static int no_file(struct err *err)
{
    err_set(err, ERR_INVALID,
            "the cluster has no version yet: its master is of quarry 0.1");
    err_hint(err, "start all nodes with the new program first; the next master "
                  "makes the version");
    return ERR_INVALID;
}

static int
too_old(const struct version_node *n, uint32_t wanted, struct err *err)
{
    err_set(err, ERR_INVALID,
            "node %s speaks cluster versions up to %u (quarry %s), so the "
            "cluster cannot be raised to %u",
            n->name, (unsigned)n->range.max,
            cluster_version_release(n->range.max), (unsigned)wanted);
    err_hint(err,
             "stop it, install quarry %s, take cluster-version-max out of "
             "its settings, start it, and try again",
             cluster_version_release(wanted));
    return ERR_INVALID;
}

/* @h is the file, and has @generation. */
static int raise_from(struct remote *r,
                      const struct cluster_upgrade *u,
                      const struct spoken *s,
                      struct chubby_handle *h,
                      uint64_t generation,
                      uint32_t present,
                      struct err *err)
{
    struct buf text = BUF_INIT;
    uint32_t version;
    size_t held;
    int rc = cluster_version_check(cluster_version_range(CLUSTER_VERSION_MAX),
                                   present, err);
    if (rc == 0)
        rc = cluster_version_choose(s->nodes, s->count, present,
                                    CLUSTER_VERSION_MAX, &version, &held, err);
    if (rc)
        return rc;
    if (version == present) {
        if (held < s->count)
            return too_old(&s->nodes[held], CLUSTER_VERSION_MAX, err);
        cli_remark(r->cli, "the cluster is at version %u (quarry %s) already",
                   (unsigned)present, cluster_version_release(present));
        return 0;
    }
    if (u->check_only) {
        cli_remark(r->cli,
                   "the cluster is at version %u (quarry %s) and can be raised "
                   "to %u (quarry %s); older programs cannot serve it then",
                   (unsigned)present, cluster_version_release(present),
                   (unsigned)version, cluster_version_release(version));
        return 0;
    }
    cluster_version_put(version, &text);
    rc = chubby_write(h, buf_slice(&text), generation, err);
    buf_close(&text);
    if (rc)
        return rc;
    cli_remark(r->cli,
               "the cluster is at version %u (quarry %s); it was at %u "
               "(quarry %s)",
               (unsigned)version, cluster_version_release(version),
               (unsigned)present, cluster_version_release(present));
    return 0;
}

static int raise_cluster(struct remote *r,
                         const struct cluster_upgrade *u,
                         const struct spoken *s,
                         struct err *err)
{
    const struct chubby_options o = {.servers = r->addresses,
                                     .server_count = r->address_count,
                                     .security = r->security};
    unsigned flags = CHUBBY_READ | (u->check_only ? 0 : CHUBBY_WRITE);
    struct chubby_handle *h = NULL;
    struct chubby_stat stat;
    struct buf text = BUF_INIT;
    struct chubby *c;
    uint32_t present;
    int rc;
    (void)fiber_set_deadline(world_mono_ns(r->world) + LOCKS_US * 1000);
    rc = chubby_connect(r->world, &o, &c, err);
    if (rc)
        return rc;
    rc = chubby_open(c, BIGTABLE_LOCK_VERSION, flags, NULL, &h, err);
    if (rc == ERR_NOTFOUND)
        rc = no_file(err);
    else if (rc == 0)
        rc = chubby_read(h, &text, &stat, err);
    if (rc == 0)
        rc = cluster_version_get(buf_slice(&text), &present, err);
    if (rc == 0)
        rc = raise_from(r, u, s, h, stat.content_generation, present, err);
    chubby_close(h);
    chubby_disconnect(c);
    buf_close(&text);
    return rc;
}

int cluster_upgrade_run(struct remote *r,
                        const struct cluster_upgrade *u,
                        struct err *err)
{
    struct spoken *s = mem_zalloc(1, sizeof(*s));
    int rc = ask_nodes(r, s, err);
    if (rc == 0)
        rc = raise_cluster(r, u, s, err);
    spoken_close(s);
    return rc;
}
