/* quarry cluster: start, stop, kill and restart the processes of a cluster on
 * this machine, for trying things out and for tests; and the status of any
 * cluster. Each node is a directory with a configuration, so that its process
 * can also be started by hand.
 */
#define _GNU_SOURCE

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/runtime/world.h"
#include "cli/cli.h"
#include "cli/cluster_nodes.h"
#include "cli/cluster_status.h"
#include "cli/cluster_upgrade.h"
#include "cli/command.h"
#include "cli/remote_call.h"

#define NODES_DEFAULT 3
#define DIR_DEFAULT   "quarry-cluster"
#define POLL_US       20000
/* How long nodes have to start, all together, if nothing else is said, and each
 * to stop in order. */
#define START_US UINT64_C(60000000)
#define STOP_US  UINT64_C(35000000)
/* To leave the cluster, before all stop. */
#define LEAVE_NS UINT64_C(5000000000)

static const struct option cluster_options[] = {
    {"nodes", 'n', "N", "how many there shall be (3), when it is made"},
    {"lock-service", 0, "WHERE",
     "its locks, when it is made: zookeeper:HOST:PORT,…\n"
     "or etcd:HOST:PORT,… (our own)"},
    {"data", 0, "DIR", "where the cluster lies (quarry-cluster)"},
    {NULL, 0, NULL, NULL},
};

static const struct option data_options[] = {
    {"data", 0, "DIR", "where the cluster lies (quarry-cluster)"},
    {NULL, 0, NULL, NULL},
};

static const struct option status_options[] = {
    {"roles", 0, NULL, "all that each role of a node says"},
    {NULL, 0, NULL, NULL},
};

#define SCHEME "cluster:"

/* Which cluster on this machine? */
static const char *dir_of(const struct cli *cli, const struct args *args)
{
    const char *dir = args_value(args, "data");
    if (!dir && strncmp(cli->target, SCHEME, strlen(SCHEME)) == 0)
        dir = cli->target + strlen(SCHEME);
    return dir ? dir : DIR_DEFAULT;
}

/* ERR_USAGE if another kind of target was named, which has no directory. */
static int
check_target(const struct cli *cli, const struct args *args, struct err *err)
{
    const char *target = args_global(args, "target");
    (void)cli;
    if (!target || strncmp(target, SCHEME, strlen(SCHEME)) == 0)
        return 0;
    return usage_error(args, err,
                       "the target %s is no cluster on this machine: name "
                       "its directory, --data DIR or -t cluster:DIR",
                       target);
}

/* --- start --------------------------------------------------------------- */

/* Something is waited for. */
struct patience {
    uint64_t since_ns;
    uint64_t us;
};

static struct patience patience_begin(struct cli *cli, uint64_t us)
{
    return (struct patience){world_mono_ns(cli->world), us};
}

static bool has_patience(struct cli *cli, const struct patience *p)
{
    return (world_mono_ns(cli->world) - p->since_ns) / 1000 < p->us;
}

/* Wait until @n answers, or its process @pid has ended. */
static int await_ready(struct cli *cli,
                       const struct cluster *c,
                       const struct cluster_node *n,
                       pid_t pid,
                       const struct patience *p,
                       struct err *err)
{
    do {
        struct buf ignored = BUF_INIT;
        int rc = cluster_node_pid(n) == pid
                     ? cluster_ask_node(cli, c, n, &ignored, NULL)
                     : ERR_UNAVAILABLE;
        buf_close(&ignored);
        if (rc == 0)
            return 0;
        if (waitpid(pid, NULL, WNOHANG) == pid) {
            char *words = cluster_node_last_words(n);
            err_set(err, ERR_UNAVAILABLE, "node %s ended: %s", n->name, words);
            mem_free(words);
            return ERR_UNAVAILABLE;
        }
        world_sleep_us(cli->world, POLL_US);
    } while (has_patience(cli, p));
    err_set(err, ERR_DEADLINE, "node %s does not answer yet", n->name);
    err_hint(err,
             "see %s/log and quarry cluster status; $QUARRY_TIMEOUT says "
             "how long to wait",
             n->dir);
    return ERR_DEADLINE;
}

static int await_gone(struct cli *cli,
                      const struct cluster_node *n,
                      pid_t pid,
                      const struct patience *p,
                      struct err *err)
{
    do {
        waitpid(pid, NULL, WNOHANG); /* Where it is our child. */
        if (cluster_node_pid(n) != pid)
            return 0;
        world_sleep_us(cli->world, POLL_US);
    } while (has_patience(cli, p));
    return err_set(err, ERR_DEADLINE, "node %s, process %ld, does not end",
                   n->name, (long)pid);
}

/* Start those of @nodes that do not run, or not any more, all at once, and wait
 * for them. */
static int start_nodes(struct cli *cli,
                       struct cluster *c,
                       struct cluster_node *nodes,
                       size_t count,
                       struct err *err)
{
    pid_t pids[CLUSTER_NODES_MAX] = {0};
    uint64_t us;
    int rc = remote_timeout(START_US, &us, err);
    struct patience p = patience_begin(cli, us);
    for (size_t i = 0; i < count && rc == 0; i++) {
        pid_t pid = cluster_node_pid(&nodes[i]);
        if (pid && !cluster_process_is_dying(pid))
            continue;
        if (pid)
            rc = await_gone(cli, &nodes[i], pid, &p, err);
        if (rc == 0)
            rc = cluster_node_start(&nodes[i], &pids[i], err);
    }
    for (size_t i = 0; i < count && rc == 0; i++)
        if (pids[i])
            rc = await_ready(cli, c, &nodes[i], pids[i], &p, err);
    return rc;
}

/* A node that ran has ended: why? */
static int check_running(const struct cluster *c, struct err *err)
{
    for (size_t i = 0; i < c->node_count; i++) {
        const struct cluster_node *n = &c->nodes[i];
        char *words;
        if (n->is_elsewhere || cluster_node_pid(n))
            continue;
        words = cluster_node_last_words(n);
        err_set(err, ERR_UNAVAILABLE, "node %s ended: %s", n->name, words);
        mem_free(words);
        return ERR_UNAVAILABLE;
    }
    return 0;
}

/* Wait until each service has a leader that serves. */
static int await_leaders(struct cli *cli, struct cluster *c, struct err *err)
{
    const char *role = NULL;
    uint64_t us;
    int rc = remote_timeout(START_US, &us, err);
    struct patience p = patience_begin(cli, us);
    while (rc == 0) {
        rc = cluster_find_leaderless(cli, c, &role, err);
        if (rc == 0)
            rc = check_running(c, err);
        if (rc || !role || !has_patience(cli, &p))
            break;
        world_sleep_us(cli->world, POLL_US);
    }
    if (rc || !role)
        return rc;
    err_set(err, ERR_DEADLINE, "all nodes run, but no %s leads yet", role);
    err_hint(err,
             "see: quarry cluster status --roles, and %s/n1/log; "
             "$QUARRY_TIMEOUT says how long to wait",
             c->dir);
    return ERR_DEADLINE;
}

static int run_start(struct cli *cli, const struct args *args, struct err *err)
{
    struct cluster c;
    uint64_t count = NODES_DEFAULT;
    int rc = args_number(args, "nodes", 1, CLUSTER_NODES_MAX, &count, err);
    if (rc == 0)
        rc = check_target(cli, args, err);
    if (rc)
        return rc;
    rc = cluster_create(cli->world, dir_of(cli, args), (size_t)count,
                        args_value(args, "lock-service"), &c, err);
    if (rc == 0 && args_flag(args, "nodes") && c.node_count != count)
        rc = usage_error(args, err, "%s has %zu nodes already", c.dir,
                         c.node_count);
    if (rc == 0)
        rc = cluster_refuse_elsewhere(&c, err);
    if (rc == 0)
        rc = start_nodes(cli, &c, c.nodes, c.node_count, err);
    if (rc == 0)
        rc = await_leaders(cli, &c, err);
    if (rc == 0)
        rc = cluster_print_status(cli, &c, cli->format != FORMAT_TEXT, err);
    if (rc == 0 && *c.nodes[0].console)
        cli_remark(cli, "console: http://%s/", c.nodes[0].console);
    cluster_close(&c);
    return rc;
}

/* --- stop, kill, restart ------------------------------------------------- */

static int signal_node(const struct cluster_node *n, int number, pid_t *pid)
{
    *pid = cluster_node_pid(n);
    if (*pid && kill(*pid, number) < 0)
        return errno;
    return 0;
}

static int end_nodes(struct cli *cli,
                     struct cluster_node *nodes,
                     size_t count,
                     int number,
                     struct err *err)
{
    pid_t pids[CLUSTER_NODES_MAX];
    int rc = 0;
    for (size_t i = 0; i < count; i++) {
        int errnum = signal_node(&nodes[i], number, &pids[i]);
        if (errnum && errnum != ESRCH)
            rc = err_set_errno(err, errnum, "end node %s", nodes[i].name);
    }
    for (size_t i = 0; i < count && rc == 0; i++)
        if (pids[i]) {
            struct patience p = patience_begin(cli, STOP_US);
            rc = await_gone(cli, &nodes[i], pids[i], &p, err);
        }
    return rc;
}

/* Its roles have left, or it is gone. */
static bool
has_left(struct cli *cli, const struct cluster *c, const struct cluster_node *n)
{
    struct buf text = BUF_INIT;
    bool left = cluster_node_pid(n) == 0;
    if (!left && cluster_ask_node(cli, c, n, &text, NULL) == 0)
        left = strstr(buf_cstr(&text), " left=yes\n") != NULL;
    buf_close(&text);
    return left;
}

/* First all leave, while the cell still lives; one that cannot in time is
 * stopped as it is. */
static void leave_all(struct cli *cli, struct cluster *c)
{
    uint64_t until = world_mono_ns(cli->world) + LEAVE_NS;
    pid_t pid;
    for (size_t i = 0; i < c->node_count; i++)
        (void)signal_node(&c->nodes[i], SIGUSR2, &pid);
    for (size_t i = 0; i < c->node_count; i++)
        while (!has_left(cli, c, &c->nodes[i]) &&
               world_mono_ns(cli->world) < until)
            world_sleep_us(cli->world, POLL_US);
}

static int run_stop(struct cli *cli, const struct args *args, struct err *err)
{
    struct cluster c = {.node_count = 0};
    size_t running = 0;
    int rc = check_target(cli, args, err);
    if (rc == 0)
        rc = cluster_open(dir_of(cli, args), &c, err);
    if (rc == 0)
        rc = cluster_refuse_elsewhere(&c, err);
    for (size_t i = 0; i < c.node_count && rc == 0; i++)
        running += cluster_node_pid(&c.nodes[i]) != 0;
    if (rc == 0)
        leave_all(cli, &c);
    if (rc == 0)
        rc = end_nodes(cli, c.nodes, c.node_count, SIGTERM, err);
    if (rc == 0)
        cli_remark(cli, "%zu of %zu nodes stopped", running, c.node_count);
    cluster_close(&c);
    return rc;
}

static int open_with(const struct cli *cli,
                     const struct args *args,
                     struct cluster *c,
                     struct cluster_node **n,
                     struct err *err)
{
    int rc = check_target(cli, args, err);
    *c = (struct cluster){.node_count = 0};
    if (rc == 0)
        rc = cluster_open(dir_of(cli, args), c, err);
    if (rc == 0)
        rc = cluster_refuse_elsewhere(c, err);
    return rc ? rc : cluster_find(c, args->words[0], n, err);
}

static int run_kill(struct cli *cli, const struct args *args, struct err *err)
{
    struct cluster c;
    struct cluster_node *n;
    int rc = open_with(cli, args, &c, &n, err);
    if (rc == 0 && cluster_node_pid(n) == 0)
        rc = err_set(err, ERR_NOTFOUND, "node %s does not run", n->name);
    if (rc == 0)
        rc = end_nodes(cli, n, 1, SIGKILL, err);
    cluster_close(&c);
    return rc;
}

static int
run_restart(struct cli *cli, const struct args *args, struct err *err)
{
    struct cluster c;
    struct cluster_node *n;
    int rc = open_with(cli, args, &c, &n, err);
    if (rc == 0)
        rc = end_nodes(cli, n, 1, SIGTERM, err);
    if (rc == 0)
        rc = start_nodes(cli, &c, n, 1, err);
    cluster_close(&c);
    return rc;
}

/* --- commands ------------------------------------------------------------ */

static int status_of_remote(struct remote *r, struct err *err)
{
    const bool *roles = r->ctx;
    int rc = cluster_print_remote(r, *roles, err);
    if (rc)
        remote_unreached(r, err);
    return rc;
}

/* By a directory, where the processes are seen as well, or by addresses. */
static int run_status(struct cli *cli, const struct args *args, struct err *err)
{
    struct cluster c = {.node_count = 0};
    bool roles = args_flag(args, "roles") || cli->format != FORMAT_TEXT;
    int rc = 0;
    if (!args_flag(args, "data") && remote_is_cluster(cli->target) &&
        strncmp(cli->target, SCHEME, strlen(SCHEME)) != 0)
        return remote_run(cli, args, status_of_remote, &roles, err);
    if (!args_flag(args, "data"))
        rc = check_target(cli, args, err);
    if (rc == 0)
        rc = cluster_open(dir_of(cli, args), &c, err);
    if (rc == 0)
        rc = cluster_print_status(cli, &c, roles, err);
    cluster_close(&c);
    return rc;
}

static int upgrade_of_remote(struct remote *r, struct err *err)
{
    return cluster_upgrade_run(r, r->ctx, err);
}

static int
run_upgrade(struct cli *cli, const struct args *args, struct err *err)
{
    struct cluster_upgrade u = {args_flag(args, "check")};
    const char *target = cli->target;
    struct buf named = BUF_INIT;
    int rc;
    if (args_flag(args, "data") || !remote_is_cluster(target)) {
        rc = check_target(cli, args, err);
        if (rc)
            return rc;
        buf_printf(&named, SCHEME "%s", dir_of(cli, args));
        cli->target = buf_cstr(&named);
    }
    rc = remote_run(cli, args, upgrade_of_remote, &u, err);
    cli->target = target;
    buf_close(&named);
    return rc;
}

const struct command cluster_commands[] = {
    {.name = "cluster start",
     .arguments = "",
     .summary = "Start a cluster of several processes on this machine",
     .details = "Makes it if it is not there, with ports that are free; starts "
                "the nodes that do\nnot run, and waits until they answer and "
                "each service has a leader\n($QUARRY_TIMEOUT, else 60s). The "
                "first nodes (up to five, an odd number) are\nlock servers, "
                "namenodes and masters; all are chunk servers and tablet "
                "servers.",
     .examples = "quarry cluster start -n 3",
     .options = {cluster_options},
     .run = run_start},
    {.name = "cluster status",
     .arguments = "",
     .summary = "Show its nodes, whether they answer, and what they do",
     .details = "A line for each node, and what they do together; --roles: all "
                "that each of their\nroles says, a line for each, as JSON and "
                "CSV always have it.\n\nOf a cluster on this machine (--data "
                "DIR, -t cluster:DIR), or at -t HOST:PORT,…:\nthese nodes, and "
                "all chunk servers that its namenode knows.",
     .examples = "quarry cluster status --roles\n"
                 "quarry cluster status -t node7:7100 --key /etc/quarry/key",
     .options = {data_options, status_options, remote_options},
     .run = run_status},
    {.name = "cluster stop",
     .arguments = "",
     .summary = "Stop all its nodes in order",
     .examples = "quarry cluster stop",
     .options = {data_options},
     .run = run_stop},
    {.name = "cluster kill",
     .arguments = "NODE",
     .summary = "Kill a node at once, as a crash would",
     .examples = "quarry cluster kill n2",
     .words_min = 1,
     .words_max = 1,
     .options = {data_options},
     .run = run_kill},
    {.name = "cluster restart",
     .arguments = "NODE",
     .summary = "Stop a node in order, if it runs, and start it",
     .examples = "quarry cluster restart n2",
     .words_min = 1,
     .words_max = 1,
     .options = {data_options},
     .run = run_restart},
    {.name = "cluster upgrade",
     .arguments = "",
     .summary = "Raise its version, after all nodes have the new release",
     .details =
         "Asks all nodes which versions of a cluster they speak. When "
         "all speak a newer one\nthan the cluster is at, raises it: from "
         "then on the nodes use what is new in it, and\nan older release "
         "refuses to serve. Until then each node can go back to the "
         "release\nbefore.\n\nOf a cluster on this machine (--data DIR, "
         "-t cluster:DIR), or at -t HOST:PORT,….",
     .examples = "quarry cluster upgrade --check\n"
                 "quarry cluster upgrade -t n1:7400 --key /etc/quarry/key",
     .options = {data_options, upgrade_options, remote_options},
     .run = run_upgrade},
    {.name = NULL},
};
