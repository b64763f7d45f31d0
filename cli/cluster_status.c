/* Calls to the nodes of a cluster for their status, and to the namenode for
 * that of the files. All run in parallel, each with a short timeout, so that
 * several dead nodes cost no more time than one does.
 */
#include "cli/cluster_status.h"

#include <stdio.h>
#include <string.h>

#include "base/core/panic.h"
#include "base/core/text.h"
#include "base/rpc/codec.h"
#include "base/rpc/remote.h"
#include "base/rpc/security.h"
#include "base/runtime/fiber.h"
#include "base/runtime/loop.h"
#include "base/runtime/world.h"
#include "cli/cluster_answers.h"
#include "cli/monitor/subject.h"
#include "cli/remote_call.h"
#include "cli/server_host.h"

/* A node that does not answer in this time is shown as silent. */
#define STATUS_US UINT64_C(1000000)
#define FILES_US  UINT64_C(2000000)

struct asking {
    struct inquiry *inquiry;
    struct question *question;
};

static int take_text(struct slice body, struct buf *out, struct err *err)
{
    struct codec_reader r = codec_reader_make(body);
    uint32_t count = codec_get_array(&r);
    struct slice text = codec_get_bytes(&r);
    if (count < 1 || r.bad)
        return err_set(err, ERR_CORRUPT, "malformed status");
    buf_append_slice(out, text);
    return 0;
}

/* The process by the answer, where it is not known otherwise. */
static void take_pid(struct question *q)
{
    uint64_t pid;
    if (q->pid == QUESTION_PID_UNKNOWN &&
        !text_parse_u64(answer_about(q, "pid"), &pid, NULL))
        q->pid = (pid_t)pid;
}

static void cluster_status_ask(void *arg)
{
    const struct asking *a = arg;
    struct question *q = a->question;
    struct rpc_call_options call = {.timeout_us = STATUS_US};
    struct rpc_channel_options o = {.security = a->inquiry->security};
    struct rpc_channel *c = rpc_channel_new(q->node->address, &o);
    struct buf body = BUF_INIT;
    struct world *w = loop_world(loop_self());
    uint64_t asked_us = world_now_us(w);
    q->rc = rpc_call(c, SERVER_STATUS, &call, SLICE_EMPTY, SLICE_EMPTY, &body,
                     NULL, &q->err);
    if (q->rc == 0)
        q->rc = take_text(buf_slice(&body), &q->answer, &q->err);
    if (q->rc == 0)
        take_pid(q);
    /* The answer says what time it was on the way. */
    q->asked_us = asked_us;
    q->waited_us = world_now_us(w) - asked_us;
    rpc_channel_free(c);
    buf_close(&body);
}

static void ask_files(void *arg)
{
    struct inquiry *i = arg;
    struct gfs_options o = {.security = i->security,
                            .name = "quarry cluster",
                            .timeout_us = FILES_US};
    struct buf all = BUF_INIT;
    struct fs *fs;
    int rc;
    for (size_t n = 0; n < i->count; n++)
        buf_printf(&all, "%s%s", n ? "," : "", i->questions[n].node->address);
    o.namenodes = buf_cstr(&all);
    rc = fs_gfs_open(i->cli->world, &o, &fs, &i->files_err);
    if (rc == 0) {
        (void)!gfs_get_status(fs, &i->arena, &i->files, &i->files_err);
        fs_close(fs);
    }
    buf_close(&all);
}

/* On a fiber: all at once. */
static void ask_all(struct inquiry *i)
{
    struct asking *askings = mem_zalloc(i->count + 1, sizeof(*askings));
    struct fiber **fibers = mem_zalloc(i->count + 1, sizeof(*fibers));
    size_t count = 0;
    for (size_t n = 0; n < i->count; n++) {
        askings[n] = (struct asking){i, &i->questions[n]};
        if (i->questions[n].pid)
            fibers[count++] = fiber_start(loop_self(), "status",
                                          cluster_status_ask, &askings[n]);
    }
    if (i->about_files)
        fibers[count++] = fiber_start(loop_self(), "files", ask_files, i);
    while (count)
        fiber_join(fibers[--count]);
    mem_free(askings);
    mem_free(fibers);
}

/* The same, by the key of a cluster on this machine. */
static void ask_with_key(void *arg)
{
    struct inquiry *i = arg;
    struct rpc_security *security;
    char *key = cluster_key_path(i->cluster);
    int rc = rpc_security_key(i->cli->world, "quarry", "quarry cluster", key,
                              &security, &i->err);
    mem_free(key);
    if (rc)
        return;
    i->security = security;
    ask_all(i);
    i->security = NULL;
    rpc_security_free(security);
}

static int cluster_status_inquire(struct inquiry *i, struct err *err)
{
    struct loop *l;
    int rc = loop_new(i->cli->world, "cluster", &l, err);
    if (rc)
        return rc;
    loop_start(l);
    loop_call(l, "status", ask_with_key, i);
    loop_stop(l);
    loop_join(l);
    loop_free(l);
    return err_copy(err, &i->err);
}

int cluster_ask_node(struct cli *cli,
                     const struct cluster *c,
                     const struct cluster_node *n,
                     struct buf *out,
                     struct err *err)
{
    struct inquiry *i = mem_zalloc(1, sizeof(*i));
    struct question *q = &i->questions[0];
    int rc;
    i->cli = cli;
    i->cluster = c;
    i->count = 1;
    *q = (struct question){.node = n, .pid = 1};
    rc = cluster_status_inquire(i, err);
    if (rc == 0)
        rc = q->rc ? err_copy(err, &q->err) : 0;
    if (rc == 0)
        buf_append_slice(out, buf_slice(&q->answer));
    buf_close(&q->answer);
    mem_free(i);
    return rc;
}

/* All of @c's nodes that run are to be asked. The caller frees it. */
static struct inquiry *inquiry_of(struct cli *cli, const struct cluster *c)
{
    struct inquiry *i = mem_zalloc(1, sizeof(*i));
    i->cli = cli;
    i->cluster = c;
    i->count = c->node_count;
    arena_init(&i->arena);
    for (size_t n = 0; n < i->count; n++)
        i->questions[n] = (struct question){
            .node = &c->nodes[n],
            .pid = c->nodes[n].is_elsewhere ? QUESTION_PID_UNKNOWN
                                            : cluster_node_pid(&c->nodes[n])};
    return i;
}

static void inquiry_free(struct inquiry *i)
{
    for (size_t n = 0; n < i->count; n++)
        buf_close(&i->questions[n].answer);
    arena_close(&i->arena);
    mem_free(i);
}

int cluster_find_leaderless(struct cli *cli,
                            const struct cluster *c,
                            const char **role,
                            struct err *err)
{
    struct inquiry *i = inquiry_of(cli, c);
    int rc = cluster_status_inquire(i, err);
    *role = rc == 0 ? answers_without_leader(i) : NULL;
    inquiry_free(i);
    return rc;
}

int cluster_print_status(struct cli *cli,
                         const struct cluster *c,
                         bool roles,
                         struct err *err)
{
    struct inquiry *i = inquiry_of(cli, c);
    int rc;
    for (size_t n = 0; n < i->count; n++)
        i->about_files |= i->questions[n].pid != 0;
    rc = cluster_status_inquire(i, err);
    if (rc == 0)
        (roles ? print_roles : print_nodes)(i);
    inquiry_free(i);
    return rc;
}

/* --- by addresses -------------------------------------------------------- */

/* The answer of @from as that to question @i of the inquiry. */
static void take_node(struct inquiry *i,
                      struct cluster_node *node,
                      const struct monitor_node *from)
{
    struct question *q = &i->questions[i->count++];
    node->address = mem_strdup(from->address);
    *q = (struct question){.node = node, .pid = QUESTION_PID_UNKNOWN};
    if (from->state != NODE_UP) {
        q->rc = err_copy(&q->err, from->err);
        return;
    }
    snprintf(node->name, sizeof(node->name), "%s", from->name);
    buf_append_slice(&q->answer, buf_slice(&from->answer->status));
    q->asked_us = from->answer->asked_us;
    q->waited_us = from->answer->waited_us;
    take_pid(q);
}

/* Print the nodes @n. Errors: that of the first, if none of them is up. */
static int print_gathered(struct cli *cli,
                          const struct monitor_nodes *n,
                          bool roles,
                          struct err *err)
{
    struct inquiry *i = mem_zalloc(1, sizeof(*i));
    struct cluster_node *nodes = mem_zalloc(n->count + 1, sizeof(*nodes));
    size_t up = 0;
    int rc = 0;
    PRE(n->count > 0);
    PRE(n->count <= INQUIRY_NODES_MAX);
    i->cli = cli;
    i->about_files = true;
    arena_init(&i->arena);
    i->files = n->files;
    if (!n->has_files)
        err_set(&i->files_err, ERR_UNAVAILABLE, "no namenode answers");
    for (size_t k = 0; k < n->count; k++) {
        take_node(i, &nodes[k], &n->at[k]);
        up += n->at[k].state == NODE_UP;
    }
    if (up)
        (roles ? print_roles : print_nodes)(i);
    else
        rc = err_copy(err, n->at[0].err);
    for (size_t k = 0; k < i->count; k++)
        mem_free(nodes[k].address);
    inquiry_free(i);
    mem_free(nodes);
    return rc;
}

int cluster_print_remote(struct remote *r, bool roles, struct err *err)
{
    const struct monitor_source source = {.world = r->world,
                                          .security = r->security,
                                          .cluster = r->cli->cluster,
                                          .cell = r->addresses,
                                          .cell_count = r->address_count};
    struct monitor_nodes *n = NULL;
    struct monitor *m;
    int rc = monitor_open(&source, &m, err);
    if (rc)
        return rc;
    rc = monitor_nodes_get(m, &n, err);
    if (rc == 0)
        rc = print_gathered(r->cli, n, roles, err);
    monitor_nodes_unref(n);
    monitor_close(m);
    return rc;
}
