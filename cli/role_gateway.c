/* The role `gateway`: the public Bigtable API, where `bigtable-api` says. */
#include <stdio.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/conf.h"
#include "base/core/panic.h"
#include "base/runtime/log.h"
#include "base/runtime/loop.h"
#include "base/runtime/world.h"
#include "bigtable/client/quarry.h"
#include "bigtable/gateway/gateway.h"
#include "cli/role.h"

#define SECTION "gateway"

extern const struct role gateway_role;

/* It has a loop of its own, so that its clients and the nodes of the cluster do
 * not wait for each other. */
struct gateway_host {
    struct world *world;
    struct loop *loop;
    struct quarry *quarry;
    struct gateway *gateway; /* NULL: the API is not wanted. */
    struct gateway_options options;
    char *target;
    int rc;
    struct err *err;
};

/* What is served: by default the tables in the process's own directory. */
static char *target_of(const struct role_env *env)
{
    const char *told = conf_get(env->conf, SECTION, "target");
    struct buf b = BUF_INIT;
    if (told)
        return mem_strdup(told);
    buf_printf(&b, "file:%s/bigtable", env->data);
    return buf_take(&b);
}

static void run_open(void *arg)
{
    struct gateway_host *h = arg;
    const struct quarry_options o = {.world = h->world};
    h->rc = quarry_open(h->target, &o, &h->quarry, h->err);
    if (h->rc == 0)
        h->rc =
            gateway_open(h->world, h->quarry, &h->options, &h->gateway, h->err);
    if (h->rc)
        err_wrap(h->err, "bigtable-api");
}

static void run_close(void *arg)
{
    struct gateway_host *h = arg;
    gateway_close(h->gateway);
    h->gateway = NULL;
    quarry_close(h->quarry);
    h->quarry = NULL;
}

static int open_there(struct gateway_host *h, struct err *err)
{
    int rc = loop_new(h->world, "gateway", &h->loop, err);
    if (rc)
        return rc;
    loop_start(h->loop);
    h->err = err;
    loop_call(h->loop, "open", run_open, h);
    return h->rc;
}

static void role_gateway_close(void *role)
{
    struct gateway_host *h = role;
    if (h->loop) {
        loop_call(h->loop, "close", run_close, h);
        loop_stop(h->loop);
        loop_join(h->loop);
        loop_free(h->loop);
    }
    mem_free(h->target);
    mem_free(h);
}

static int
role_gateway_open(const struct role_env *env, void **out, struct err *err)
{
    struct gateway_host *h = mem_zalloc(1, sizeof(*h));
    int rc = 0;
    h->world = env->world;
    h->options = (struct gateway_options){
        .address = env->bigtable_api,
        .home = conf_get(env->conf, SECTION, "home"),
        .vars = env->vars,
    };
    h->target = target_of(env);
    if (*env->bigtable_api)
        rc = open_there(h, err);
    if (rc) {
        role_gateway_close(h);
        return rc;
    }
    if (h->gateway)
        log_info(env->world, "gateway", "serving address=%s target=%s",
                 gateway_address(h->gateway), h->target);
    *out = h;
    return 0;
}

static void role_gateway_status(void *role, struct buf *out)
{
    struct gateway_host *h = role;
    if (h->gateway)
        gateway_status(h->gateway, out);
    else
        buf_append_str(out, "off");
}

const struct role gateway_role = {
    .name = "gateway",
    .help = "the public Bigtable API, if --bigtable-api says where",
    .open = role_gateway_open,
    .status = role_gateway_status,
    .close = role_gateway_close,
};
