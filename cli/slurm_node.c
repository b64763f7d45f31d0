/* A node of a cluster in a Slurm job. Slurm starts the same program on each
 * host, and tells it a number and nothing of the others' ports: so each task
 * chooses its port, publishes it, waits for the addresses of the cell, and
 * starts an ordinary server. It stays between Slurm and the server to pass on
 * signals, and to remove what was stored when the server has ended.
 */
#define _GNU_SOURCE

#include "cli/slurm_node.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <netdb.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/core/text.h"
#include "base/runtime/world.h"
#include "cli/cli.h"
#include "cli/cluster_nodes.h"
#include "cli/remote_call.h"

#define SLURM_POLL_US    100000
#define HOST_BYTES       256
#define REMOVE_FILES_MAX 16 /* Descriptors that removing a tree may use. */

/* A node, as its own process sees it. */
struct slurm_place {
    size_t index; /* From 0. */
    size_t count; /* Nodes of the cluster. */
    char host[HOST_BYTES];
    unsigned port;
    char *data; /* Owned. */
    struct cluster_node node;
};

int slurm_number(const char *name, size_t *out, struct err *err)
{
    const char *text = getenv(name);
    uint64_t n;
    if (!text || text_parse_u64(slice_str(text), &n, NULL) || n > INT_MAX)
        return err_set(err, ERR_INVALID,
                       "$%s is %s: this is no task of a Slurm job", name,
                       text ? "no number" : "not set");
    *out = (size_t)n;
    return 0;
}

static char *slurm_path(const char *dir, size_t index, const char *name)
{
    struct buf b = BUF_INIT;
    buf_printf(&b, "%s/n%zu%s%s", dir, index + 1, *name ? "/" : "", name);
    return buf_take(&b);
}

/* The name of this host, by which the other hosts must find it. */
static int name_host(char *host, struct err *err)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    int rc;
    if (gethostname(host, HOST_BYTES) < 0)
        return err_set_errno(err, errno, "name of this host");
    host[HOST_BYTES - 1] = '\0';
    rc = getaddrinfo(host, NULL, &hints, &found);
    if (rc) {
        err_set(err, ERR_NOTFOUND, "the name of this host, %s: %s", host,
                gai_strerror(rc));
        err_hint(err, "hosts of a cluster find each other by these names");
        return ERR_NOTFOUND;
    }
    freeaddrinfo(found);
    return 0;
}

/* Write @text to @path, which appears whole. */
static int
publish_text(const char *path, const struct buf *text, struct err *err)
{
    struct buf partial = BUF_INIT;
    int rc = 0;
    int fd;
    buf_printf(&partial, "%s.partial", path);
    fd = open(buf_cstr(&partial), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC,
              0600);
    if (fd < 0) {
        rc = err_set_errno(err, errno, "%s", buf_cstr(&partial));
    } else {
        ssize_t n = write(fd, text->data, text->len);
        if (close(fd) < 0 || n != (ssize_t)text->len)
            rc = err_set_errno(err, errno, "write %s", buf_cstr(&partial));
    }
    if (rc == 0 && rename(buf_cstr(&partial), path) < 0)
        rc = err_set_errno(err, errno, "rename %s", buf_cstr(&partial));
    buf_close(&partial);
    return rc;
}

static int publish_address(const struct slurm_node *s,
                           const struct slurm_place *p,
                           struct err *err)
{
    char *path = slurm_path(s->dir, p->index, "address");
    struct buf text = BUF_INIT;
    int rc;
    buf_printf(&text, "%s:%u\n", p->host, p->port);
    rc = publish_text(path, &text, err);
    buf_close(&text);
    mem_free(path);
    return rc;
}

/* Wait until node @index has published its address, and append it to @out. */
static int await_address(struct world *w,
                         const struct slurm_node *s,
                         size_t index,
                         uint64_t until_ns,
                         struct buf *out,
                         struct err *err)
{
    char *path = slurm_path(s->dir, index, "address");
    struct buf text = BUF_INIT;
    int rc = 0;
    while (access(path, F_OK) < 0 && world_mono_ns(w) < until_ns)
        world_sleep_us(w, SLURM_POLL_US);
    if (access(path, F_OK) < 0) {
        rc = err_set(err, ERR_DEADLINE, "node n%zu has not come", index + 1);
        err_hint(err,
                 "all hosts of the job must see %s; $QUARRY_TIMEOUT says how "
                 "long to wait",
                 s->dir);
    }
    if (rc == 0)
        rc = cli_read_file(path, &text, err);
    if (rc == 0) {
        struct slice address = slice_trim(buf_slice(&text));
        buf_append(out, address.data, address.len);
    }
    buf_close(&text);
    mem_free(path);
    return rc;
}

/* The addresses of the cell's members, with commas. */
static int await_cell(struct world *w,
                      const struct slurm_node *s,
                      const struct slurm_place *p,
                      struct buf *out,
                      struct err *err)
{
    uint64_t us;
    int rc = remote_timeout(SLURM_START_US, &us, err);
    uint64_t until_ns = rc ? 0 : world_mono_ns(w) + us * 1000;
    for (size_t i = 0; i < cluster_cell_count(p->count) && rc == 0; i++) {
        if (i)
            buf_append_byte(out, ',');
        rc = await_address(w, s, i, until_ns, out, err);
    }
    return rc;
}

static int write_configuration(struct world *w,
                               const struct slurm_node *s,
                               const struct slurm_place *p,
                               struct err *err)
{
    bool in_cell = p->index < cluster_cell_count(p->count);
    struct buf cell = BUF_INIT;
    struct buf text = BUF_INIT;
    int rc = await_cell(w, s, p, &cell, err);
    if (rc == 0) {
        buf_printf(&text,
                   "# Written by `quarry slurm`.\n"
                   "[server]\n"
                   "name = n%zu\n"
                   "data = \"%s\"\n"
                   "listen = 0.0.0.0:%u\n"
                   "address = %s:%u\n"
                   "cell = %s\n"
                   "roles = %s\n"
                   "rack = %s\n"
                   "key = \"%s/key\"\n"
                   "log = \"%s/n%zu/log\"\n",
                   p->index + 1, p->data, p->port, p->host, p->port,
                   buf_cstr(&cell),
                   in_cell ? CLUSTER_CELL_ROLES : CLUSTER_OTHER_ROLES, p->host,
                   s->dir, s->dir, p->index + 1);
        rc = publish_text(p->node.conf, &text, err);
    }
    buf_close(&cell);
    buf_close(&text);
    return rc;
}

/* --- what it stores ------------------------------------------------------ */

/* The directory on this host in which node @p of this job stores. */
static char *choose_data(const struct slurm_node *s,
                         const struct slurm_place *p)
{
    static const char *const variables[] = {"SLURM_TMPDIR", "TMPDIR"};
    const char *base = s->data;
    const char *job = getenv("SLURM_JOB_ID");
    struct buf b = BUF_INIT;
    for (size_t i = 0; i < ARRAY_LEN(variables) && !base; i++)
        base = getenv(variables[i]);
    buf_printf(&b, "%s/quarry-%s-n%zu", base ? base : "/tmp", job ? job : "0",
               p->index + 1);
    return buf_take(&b);
}

static int
remove_entry(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st;
    (void)kind;
    (void)at;
    return remove(path);
}

/* Remove what was stored; what cannot be removed is said, and is no error: the
 * work is done. */
static void remove_data(const char *data)
{
    if (nftw(data, remove_entry, REMOVE_FILES_MAX, FTW_DEPTH | FTW_PHYS) < 0)
        fprintf(stderr, "quarry: cannot remove %s: %s\n", data,
                strerror(errno));
}

/* --- the server ---------------------------------------------------------- */

/* Signals that this process waits for. */
static void block_signals(sigset_t *set, sigset_t *before)
{
    sigemptyset(set);
    sigaddset(set, SIGCHLD);
    sigaddset(set, SIGTERM);
    sigaddset(set, SIGINT);
    sigaddset(set, SIGHUP);
    sigaddset(set, SIGUSR2);
    sigaddset(set, SLURM_END_SIGNAL);
    sigprocmask(SIG_BLOCK, set, before);
}

/* Pass signals on to the server @pid until it has ended. *@asked: it was told
 * to. */
static int await_server(pid_t pid, const sigset_t *set, bool *asked)
{
    int status = 0;
    *asked = false;
    while (waitpid(pid, &status, WNOHANG) != pid) {
        int number = 0;
        if (sigwait(set, &number) != 0 || number == SIGCHLD)
            continue;
        if (number == SIGINT || number == SLURM_END_SIGNAL)
            number = SIGTERM;
        *asked = *asked || number == SIGTERM;
        kill(pid, number);
    }
    return status;
}

/* Run the server until it ends. */
static int run_server(const struct slurm_place *p, struct err *err)
{
    sigset_t set;
    sigset_t before;
    bool asked = false;
    pid_t pid;
    int status = 0;
    int rc;
    block_signals(&set, &before);
    rc = cluster_node_start(&p->node, &pid, err);
    if (rc == 0)
        status = await_server(pid, &set, &asked);
    sigprocmask(SIG_SETMASK, &before, NULL);
    if (rc)
        return rc;
    if (asked && WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return 0;
    char *words = cluster_node_last_words(&p->node);
    err_set(err, ERR_UNAVAILABLE, "node %s ended: %s", p->node.name, words);
    err_hint(err, "see %s/log", p->node.dir);
    mem_free(words);
    return ERR_UNAVAILABLE;
}

int slurm_node_run(struct world *w,
                   const struct slurm_node *node,
                   struct err *err)
{
    struct slurm_place p = {.data = NULL};
    int rc = slurm_number("SLURM_PROCID", &p.index, err);
    if (rc == 0)
        rc = slurm_number("SLURM_NTASKS", &p.count, err);
    if (rc == 0 && p.index >= p.count)
        rc = err_set(err, ERR_INVALID, "task %zu of %zu", p.index, p.count);
    if (rc == 0)
        rc = name_host(p.host, err);
    if (rc == 0)
        rc = cluster_choose_ports(w, &p.port, 1, err);
    if (rc)
        return rc;
    snprintf(p.node.name, sizeof(p.node.name), "n%zu", p.index + 1);
    p.node.dir = slurm_path(node->dir, p.index, "");
    p.node.conf = slurm_path(node->dir, p.index, "server.conf");
    p.data = choose_data(node, &p);
    rc = cluster_make_dir(p.node.dir, err);
    if (rc == 0)
        rc = publish_address(node, &p, err);
    if (rc == 0)
        rc = write_configuration(w, node, &p, err);
    if (rc == 0) {
        rc = run_server(&p, err);
        if (!node->keep)
            remove_data(p.data);
    }
    mem_free(p.node.dir);
    mem_free(p.node.conf);
    mem_free(p.data);
    return rc;
}
