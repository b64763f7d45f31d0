/* The role `gateway`: the public Bigtable API, where `bigtable-api` says.
 *
 * It serves the cluster this process belongs to; where the process has no
 * tablet server and no other node is named, the tables in its own directory.
 * `target` of section [gateway] names another target. */
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/conf.h"
#include "base/core/panic.h"
#include "base/core/text.h"
#include "base/metrics/metrics.h"
#include "base/rpc/security.h"
#include "base/runtime/fiber.h"
#include "base/runtime/log.h"
#include "base/runtime/loop.h"
#include "base/runtime/tls.h"
#include "base/runtime/world.h"
#include "bigtable/follow/follow.h"
#include "bigtable/gateway/gateway.h"
#include "bigtable/quarry.h"
#include "cli/cli.h"
#include "cli/follow_kinds.h"
#include "cli/role.h"
#ifdef QUARRY_HAVE_SQL
#include "cli/sql_service.h"
#endif

#define SECTION "gateway"
/* Between tries to reach a cluster that is not up yet. */
#define RETRY_US UINT64_C(500000)
/* Queries at once that the section may ask for: each has a thread. */
#define QUERIES_MAX 64U

extern const struct role gateway_role;

/* It has a loop of its own, so that its clients and the nodes of the cluster do
 * not wait for each other. */
struct gateway_host {
    struct world *world;
    struct loop *loop; /* NULL: the API is not wanted. */
    struct quarry *quarry;
    _Atomic(struct gateway *) gateway; /* NULL: not open yet. */
    /* Of the views of a directory, which no other process can maintain. */
    struct follower_host *followers;
    const struct follower_kind *kinds[1]; /* That they are of. */
    struct gateway_options options;
    const struct rpc_security *security;
    struct rpc_security *own_security; /* Owned; NULL: the process's. */
    struct tls_context *tls;           /* Owned; NULL: without. */
    struct gsql_engine *engine;        /* Owned; NULL: no queries in SQL. */
    char *target;
    char *memo;
    char *node_address;    /* Where others reach this process. */
    struct fiber *opening; /* Waits for a cluster; NULL: does not. */
    struct err err;        /* Why it failed: */
    atomic_int rc;         /* written before this. */
};

/* --- queries in SQL ------------------------------------------------------- */

static int
open_engine(struct gateway_host *h, const struct role_env *env, struct err *err)
{
    const char *memory = conf_get(env->conf, SECTION, "query-memory");
    int rc = 0;
    PRE(!h->engine);
    (void)memory;
#ifdef QUARRY_HAVE_SQL
    rc = sql_service_open(memory, &h->engine, err);
#endif
    if (rc)
        err_wrap(err, "[gateway] query-memory");
    return rc;
}

static void close_engine(struct gsql_engine *engine)
{
#ifdef QUARRY_HAVE_SQL
    sql_service_close(engine);
#else
    PRE(!engine);
#endif
}

/* How many run at once. */
static int choose_queries(struct gateway_host *h,
                          const struct role_env *env,
                          struct err *err)
{
    const char *told = conf_get(env->conf, SECTION, "queries");
    uint64_t count = 0;
    int rc = told ? text_parse_u64(slice_str(told), &count, err) : 0;
    if (rc == 0 && told && (count == 0 || count > QUERIES_MAX))
        rc = err_set(err, ERR_INVALID, "from 1 to %u", QUERIES_MAX);
    if (rc)
        err_wrap(err, "[gateway] queries");
    h->options.queries = (unsigned)count;
    return rc;
}

static bool is_directory(const char *target)
{
    return strncmp(target, "file:", 5) == 0;
}

static char *target_of(const struct role_env *env)
{
    const char *told = conf_get(env->conf, SECTION, "target");
    bool alone = env->cell_count == 1 && env->cell_index == 0;
    struct buf b = BUF_INIT;
    if (told)
        return mem_strdup(told);
    if (!alone || env->has_tablets)
        return mem_strdup(env->cell);
    buf_printf(&b, "file:%s/bigtable", env->data);
    return buf_take(&b);
}

/* --- on the gateway's loop ----------------------------------------------- */

static int open_followers(struct gateway_host *h, struct err *err)
{
    const struct follower_host_options o = {.name = "gateway"};
    h->kinds[0] = follow_kinds_view();
    if (!is_directory(h->target) || h->followers)
        return 0;
    return follower_host_open(h->quarry, h->kinds, ARRAY_LEN(h->kinds), &o,
                              &h->followers, err);
}

static int open_once(struct gateway_host *h, struct err *err)
{
    const struct quarry_options o = {.world = h->world,
                                     .security = h->security,
                                     .memo = h->memo,
                                     .address = h->node_address};
    struct gateway *g = NULL;
    int rc = h->quarry ? 0 : quarry_open(h->target, &o, &h->quarry, err);
    if (rc == 0)
        rc = open_followers(h, err);
    if (rc == 0)
        rc = gateway_open(h->world, h->quarry, &h->options, &g, err);
    if (rc) {
        err_wrap(err, "bigtable-api");
        return rc;
    }
    log_info(h->world, "gateway", "serving address=%s target=%s",
             gateway_address(g), h->target);
    h->gateway = g;
    return 0;
}

static void run_open(void *arg)
{
    struct gateway_host *h = arg;
    h->rc = open_once(h, &h->err);
}

static bool may_pass(int rc)
{
    return rc == ERR_UNAVAILABLE || rc == ERR_DEADLINE || rc == ERR_NOTFOUND ||
           rc == ERR_CLOSED;
}

/* Until the cluster answers, or there is no use in asking. */
static void run_opening(void *arg)
{
    struct gateway_host *h = arg;
    int rc;
    do {
        struct err err = ERR_INIT;
        rc = open_once(h, &err);
        if (rc && fiber_check(NULL) == 0) {
            log_warn(h->world, "gateway", "not open yet why=\"%s\"", err.text);
            world_sleep_us(h->world, RETRY_US);
        }
        if (rc && !may_pass(rc)) {
            err_copy(&h->err, &err);
            h->rc = rc;
        }
    } while (rc && may_pass(rc) && fiber_check(NULL) == 0);
}

static void run_start(void *arg)
{
    struct gateway_host *h = arg;
    PRE(!h->opening);
    h->opening = fiber_start(loop_self(), "gateway open", run_opening, h);
}

static void run_stop(void *arg)
{
    struct gateway_host *h = arg;
    if (h->opening) {
        fiber_cancel(h->opening);
        fiber_join(h->opening);
        h->opening = NULL;
    }
    gateway_close(atomic_exchange(&h->gateway, NULL));
    follower_host_close(h->followers);
    h->followers = NULL;
    quarry_close(h->quarry);
    h->quarry = NULL;
}

/* --- the role ------------------------------------------------------------ */

static void gateway_role_stopping(void *role)
{
    struct gateway_host *h = role;
    if (h->loop)
        loop_call(h->loop, "stop", run_stop, h);
}

static void gateway_role_close(void *role)
{
    struct gateway_host *h = role;
    if (h->loop) {
        loop_call(h->loop, "stop", run_stop, h);
        loop_stop(h->loop);
        loop_join(h->loop);
        loop_free(h->loop);
    }
    rpc_security_free(h->own_security);
    tls_context_free(h->tls);
    close_engine(h->engine);
    mem_free(h->target);
    mem_free(h->memo);
    mem_free(h->node_address);
    mem_free(h);
}

static int open_there(struct gateway_host *h, struct err *err)
{
    int rc;
    PRE(!h->loop);
    rc = loop_new(h->world, "gateway", &h->loop, err);
    if (rc)
        return rc;
    loop_start(h->loop);
    if (is_directory(h->target))
        loop_call(h->loop, "open", run_open, h);
    return h->rc ? err_copy(err, &h->err) : 0;
}

/* Where nobody has to say who calls, callers may do what the gateway may, which
 * is what the process may, or who the section says. */
static int choose_principal(struct gateway_host *h,
                            const struct role_env *env,
                            struct err *err)
{
    const char *principal = conf_get(env->conf, SECTION, "principal");
    const char *certificate = conf_get(env->conf, SECTION, "certificate");
    const char *key = conf_get(env->conf, SECTION, "certificate-key");
    const char *authority = conf_get(env->conf, SECTION, "authority");
    bool tls = strcmp(rpc_security_kind_name(env->security), "tls") == 0;
    int rc = 0;
    h->security = env->security;
    if ((certificate || key || authority) &&
        !(certificate && key && authority && tls))
        return err_set(err, ERR_INVALID,
                       "[gateway]: certificate, certificate-key and authority "
                       "belong together, where the server has certificates");
    if (principal && tls)
        return err_set(err, ERR_INVALID,
                       "[gateway] principal: its certificate says who it is");
    if (certificate)
        rc = rpc_security_tls(env->world, env->cluster, certificate, key,
                              authority, &h->own_security, err);
    else if (principal)
        h->own_security = rpc_security_as(env->security, principal);
    if (h->own_security)
        h->security = h->own_security;
    return rc;
}

/* TLS of the public API. With tokens beside certificates a client may have
 * either. */
static int
open_tls(struct gateway_host *h, const struct role_env *env, struct err *err)
{
    struct buf certificate = BUF_INIT;
    struct buf key = BUF_INIT;
    struct buf authority = BUF_INIT;
    bool optional = *env->api_tokens || *env->api_jwt_key;
    int rc = 0;
    if (!*env->api_certificate)
        return 0;
    rc = cli_read_file(env->api_certificate, &certificate, err);
    if (rc == 0)
        rc = world_check_secret(env->world, env->api_certificate_key, err);
    if (rc == 0)
        rc = cli_read_file(env->api_certificate_key, &key, err);
    if (rc == 0 && *env->api_authority)
        rc = cli_read_file(env->api_authority, &authority, err);
    if (rc == 0)
        rc = tls_public_context_new(buf_slice(&certificate), buf_slice(&key),
                                    buf_slice(&authority), optional, "h2",
                                    &h->tls, err);
    if (rc)
        err_wrap(err, "TLS of the public API");
    buf_close(&certificate);
    buf_close(&key);
    buf_close(&authority);
    return rc;
}

/* Take the callers' principals and their credentials. */
static void take_proofs(struct gateway_host *h, const struct role_env *env)
{
    struct gateway_options *o = &h->options;
    o->tls = h->tls;
    o->certificates = h->tls && *env->api_authority;
    o->tokens = *env->api_tokens ? env->api_tokens : NULL;
    o->jwt_key = *env->api_jwt_key ? env->api_jwt_key : NULL;
    o->jwt_issuer = conf_get(env->conf, SECTION, "jwt-issuer");
    o->jwt_audience = conf_get(env->conf, SECTION, "jwt-audience");
}

static int
gateway_role_open(const struct role_env *env, void **out, struct err *err)
{
    struct gateway_host *h = mem_zalloc(1, sizeof(*h));
    int rc = 0;
    h->world = env->world;
    h->target = target_of(env);
    h->memo = role_memo(env, "gateway");
    h->node_address = mem_strdup(env->address);
    h->options = (struct gateway_options){
        .together = is_directory(h->target),
        .address = env->bigtable_api,
        .home = conf_get(env->conf, SECTION, "home"),
        .metrics = env->metrics,
    };
    rc = choose_principal(h, env, err);
    if (rc == 0)
        rc = open_tls(h, env, err);
    if (rc == 0 && *env->bigtable_api)
        rc = choose_queries(h, env, err);
    if (rc == 0 && *env->bigtable_api)
        rc = open_engine(h, env, err);
    h->options.engine = h->engine;
    take_proofs(h, env);
    if (rc == 0 && *env->bigtable_api)
        rc = open_there(h, err);
    if (rc) {
        gateway_role_close(h);
        return rc;
    }
    *out = h;
    return 0;
}

/* A cluster is asked once this process serves its part of it. */
static int gateway_role_started(void *role, struct err *err)
{
    struct gateway_host *h = role;
    (void)err;
    if (h->loop && !is_directory(h->target))
        loop_call(h->loop, "start", run_start, h);
    return 0;
}

static int gateway_role_health(void *role, struct err *err)
{
    struct gateway_host *h = role;
    return h->rc ? err_copy(err, &h->err) : 0;
}

static int gateway_role_reload(void *role, struct err *err)
{
    struct gateway_host *h = role;
    return h->own_security ? rpc_security_reload(h->own_security, h->world, err)
                           : 0;
}

static void gateway_role_status(void *role, struct buf *out)
{
    struct gateway_host *h = role;
    const struct gateway *g = h->gateway;
    if (g)
        gateway_status(g, out);
    else
        buf_append_str(out, h->loop ? "waiting" : "off");
}

static void gateway_role_gather(void *role, struct metric_set *out)
{
    struct gateway_host *h = role;
    const struct gateway *g = h->gateway;
    if (h->tls && tls_context_end_s(h->tls))
        metric_put(out, METRIC_certificate_end_seconds, METRIC_LABELS("api"),
                   (double)tls_context_end_s(h->tls));
    if (g)
        gateway_gather(g, out);
}

const struct role gateway_role = {
    .name = "gateway",
    .help = "the public Bigtable API, if --bigtable-api says where",
    .open = gateway_role_open,
    .started = gateway_role_started,
    .health = gateway_role_health,
    .reload = gateway_role_reload,
    .status = gateway_role_status,
    .gather = gateway_role_gather,
    .stopping = gateway_role_stopping,
    .close = gateway_role_close,
};
