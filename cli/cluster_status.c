/* Asking the nodes of a cluster. */
#include "cli/cluster_status.h"

#include <string.h>

#include "base/core/panic.h"
#include "base/rpc/codec.h"
#include "base/rpc/remote.h"
#include "base/rpc/security.h"
#include "base/runtime/fiber.h"
#include "base/runtime/loop.h"
#include "base/runtime/world.h"
#include "cli/cluster_answers.h"
#include "cli/server_host.h"

/* Who does not answer in time is told as such. */
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

static void ask(void *arg)
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
    for (size_t n = 0; n < i->cluster->node_count; n++)
        buf_printf(&all, "%s%s", n ? "," : "", i->cluster->nodes[n].address);
    o.namenodes = buf_cstr(&all);
    rc = fs_gfs_open(i->cli->world, &o, &fs, &i->files_err);
    if (rc == 0) {
        (void)!gfs_get_status(fs, &i->arena, &i->files, &i->files_err);
        fs_close(fs);
    }
    buf_close(&all);
}

/* On a fiber: all at once. */
static void ask_all(void *arg)
{
    struct inquiry *i = arg;
    struct asking askings[CLUSTER_NODES_MAX];
    struct fiber *fibers[CLUSTER_NODES_MAX + 1];
    size_t count = 0;
    char *key = cluster_key_path(i->cluster);
    int rc = rpc_security_key(i->cli->world, "quarry", "quarry cluster", key,
                              &i->security, &i->err);
    mem_free(key);
    if (rc)
        return;
    for (size_t n = 0; n < i->count; n++) {
        askings[n] = (struct asking){i, &i->questions[n]};
        if (i->questions[n].pid)
            fibers[count++] =
                fiber_start(loop_self(), "status", ask, &askings[n]);
    }
    if (i->about_files)
        fibers[count++] = fiber_start(loop_self(), "files", ask_files, i);
    while (count)
        fiber_join(fibers[--count]);
    rpc_security_free(i->security);
}

static int inquire(struct inquiry *i, struct err *err)
{
    struct loop *l;
    int rc = loop_new(i->cli->world, "cluster", &l, err);
    if (rc)
        return rc;
    loop_start(l);
    loop_call(l, "status", ask_all, i);
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
    rc = inquire(i, err);
    if (rc == 0)
        rc = q->rc ? err_copy(err, &q->err) : 0;
    if (rc == 0)
        buf_append_slice(out, buf_slice(&q->answer));
    buf_close(&q->answer);
    mem_free(i);
    return rc;
}

int cluster_print_status(struct cli *cli,
                         const struct cluster *c,
                         bool roles,
                         struct err *err)
{
    struct inquiry *i = mem_zalloc(1, sizeof(*i));
    int rc;
    i->cli = cli;
    i->cluster = c;
    i->count = c->node_count;
    arena_init(&i->arena);
    for (size_t n = 0; n < i->count; n++) {
        i->questions[n] = (struct question){
            .node = &c->nodes[n], .pid = cluster_node_pid(&c->nodes[n])};
        i->about_files |= i->questions[n].pid != 0;
    }
    rc = inquire(i, err);
    if (rc == 0)
        (roles ? print_roles : print_nodes)(i);
    for (size_t n = 0; n < i->count; n++)
        buf_close(&i->questions[n].answer);
    arena_close(&i->arena);
    mem_free(i);
    return rc;
}
