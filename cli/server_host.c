/* Hosting roles on one loop and one port: opens, starts, reloads and stops
 * them, and asks for their health once a second. Its answers about the process
 * are those of server_answers.c.
 */
#include "cli/server_host.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/conf.h"
#include "base/core/panic.h"
#include "base/core/text.h"
#include "base/crypt/master_key.h"
#include "base/metrics/metric_history.h"
#include "base/metrics/metrics.h"
#include "base/rpc/roles.h"
#include "base/rpc/security.h"
#include "base/runtime/audit.h"
#include "base/runtime/fiber.h"
#include "base/runtime/log.h"
#include "base/runtime/loop.h"
#include "base/runtime/world.h"
#include "base/trace/tracer.h"
#include "chubby-lite/lock_elsewhere.h"
#include "chubby-lite/lock_service.h"
#include "cli/console/console.h"
#include "cli/method_names.h"
#include "cli/monitor/monitor.h"
#include "cli/node_version.h"
#include "cli/role.h"
#include "cli/server_host_state.h"
#include "cli/server_limits.h"
#include "cli/server_settings.h"
#include "cli/stale_sessions.h"
#include "cli/trace_export.h"

#define HEALTH_US 1000000
/* For the receiver of spans, when the process ends. */
#define EXPORT_PATIENCE_US UINT64_C(3000000)
/* A role that takes longer to stop is worth a line. */
#define SLOW_STOP_NS UINT64_C(200000000)

/* --- roles --------------------------------------------------------------- */

static int
open_role(struct server_host *h, const struct role *r, struct err *err)
{
    struct running_role *to = &h->roles[h->role_count];
    int rc = r->open(&h->env, &to->self, err);
    PRE(h->role_count <= SERVER_ROLES_MAX);
    if (rc) {
        err_wrap(err, "role %s", r->name);
        return rc;
    }
    to->role = r;
    h->role_count++;
    return 0;
}

static int open_roles(struct server_host *h, struct err *err)
{
    int rc = 0;
    for (size_t i = 0; i < h->settings->role_count && rc == 0; i++)
        rc = open_role(h, h->settings->roles[i], err);
    server_host_audit_methods(h);
    /* By now every role has asked for the keys it knows. */
    return rc ? rc : conf_check_known(h->settings->conf, err);
}

static int start_roles(struct server_host *h, struct err *err)
{
    int rc = 0;
    PRE(h->role_count == h->settings->role_count);
    for (size_t i = 0; i < h->role_count && rc == 0; i++) {
        const struct role *r = h->roles[i].role;
        rc = r->started ? r->started(h->roles[i].self, err) : 0;
        if (rc)
            err_wrap(err, "role %s", r->name);
    }
    return rc;
}

/* --- health -------------------------------------------------------------- */

static void note_failure(struct server_host *h, const struct running_role *r)
{
    PRE(r->health.code != 0);
    err_copy(&h->failure, &r->health);
    err_wrap(&h->failure, "role %s", r->role->name);
    log_error(h->env.world, "server", "cannot continue why=\"%s\"",
              h->failure.text);
    h->failed(h->ctx);
}

/* Log when the role became unhealthy and when that was over. */
static void ask_health(struct server_host *h, struct running_role *r)
{
    int before = r->health.code;
    int rc;
    if (!r->role->health)
        return;
    r->health = ERR_INIT;
    rc = r->role->health(r->self, &r->health);
    if (rc == 0 && before)
        log_info(h->env.world, "server", "well again role=%s", r->role->name);
    else if (rc == ERR_FULL && !before)
        log_warn(h->env.world, "server", "disk full role=%s why=\"%s\"",
                 r->role->name, r->health.text);
    else if (rc && rc != ERR_FULL)
        note_failure(h, r);
}

/* Sample the metrics, if that is due. */
static void sample_history(struct server_host *h)
{
    struct world *w = h->env.world;
    struct metric_set *set;
    if (!metric_history_is_due(h->history, world_now_us(w)))
        return;
    set = server_host_gather(h);
    metric_history_sample(h->history, set, world_now_us(w), world_mono_ns(w));
    metric_set_free(set);
}

/* This program does not speak what the others now do. */
static void ask_version(struct server_host *h)
{
    if (h->failure.code || !node_version_health(h->version, &h->failure))
        return;
    log_error(h->env.world, "server", "cannot continue why=\"%s\"",
              h->failure.text);
    h->failed(h->ctx);
}

/* One wake-up a second serves all. */
static void run_doctor(void *arg)
{
    struct server_host *h = arg;
    while (fiber_check(NULL) == 0 && h->failure.code == 0) {
        ask_version(h);
        for (size_t i = 0; i < h->role_count && h->failure.code == 0; i++)
            ask_health(h, &h->roles[i]);
        sample_history(h);
        world_sleep_to_tick(h->env.world, HEALTH_US);
    }
}

static void end_doctor(struct server_host *h)
{
    if (!h->doctor)
        return;
    fiber_cancel(h->doctor);
    fiber_join(h->doctor);
    h->doctor = NULL;
}

/* --- the port ------------------------------------------------------------ */

static bool is_member(void *ctx, const char *principal, const char *peer)
{
    const struct server_host *h = ctx;
    return server_is_member(&h->env, principal, peer);
}

static bool is_holder(void *ctx, const char *principal)
{
    const struct server_host *h = ctx;
    for (size_t i = 0; i < h->role_count; i++) {
        const struct running_role *r = &h->roles[i];
        if (r->role->has_holder && r->role->has_holder(r->self, principal))
            return true;
    }
    return false;
}

static int listen_on(struct server_host *h, struct err *err)
{
    struct rpc_listen_options o = h->limits;
    PRE(!h->listener);
    o.security = h->security;
    o.metrics = h->metrics;
    o.is_member = is_member;
    o.is_holder = is_holder;
    o.ctx = h;
    return rpc_listen(h->server, h->settings->listen, &o, &h->listener, err);
}

/* Roles must know their address before the port opens, so it is fixed. */
static int check_listen(const char *address, struct err *err)
{
    const char *colon = strrchr(address, ':');
    if (colon && strcmp(colon, ":0") == 0)
        return err_set(err, ERR_INVALID, "listen on %s: choose a port",
                       address);
    return 0;
}

static size_t cell_index(const struct server_settings *s, const char *address)
{
    for (size_t i = 0; i < s->cell_count; i++)
        if (strcmp(s->cell_members[i], address) == 0)
            return i;
    return SIZE_MAX;
}

static bool has_role(const struct server_settings *s, const char *name)
{
    for (size_t i = 0; i < s->role_count; i++)
        if (strcmp(s->roles[i]->name, name) == 0)
            return true;
    return false;
}

char *role_memo(const struct role_env *env, const char *client)
{
    struct buf path = BUF_INIT;
    buf_printf(&path, "%s/session-%s", env->data, client);
    return buf_take(&path);
}

static void fill_env(struct server_host *h, struct world *w)
{
    const struct server_settings *s = h->settings;
    PRE(!h->name);
    PRE(!h->address);
    h->address = mem_strdup(*s->address ? s->address : s->listen);
    h->name = mem_strdup(*s->name ? s->name : h->address);
    h->env = (struct role_env){
        .world = w,
        .server = h->server,
        .security = h->security,
        .master_keys = h->master_keys,
        .trusted = conf_get(s->conf, "access", "trusted"),
        .key = s->key,
        .certificate = s->certificate,
        .certificate_key = s->certificate_key,
        .authority = s->authority,
        .metrics = h->metrics,
        .conf = s->conf,
        .data = s->data,
        .name = h->name,
        .address = h->address,
        .cell = s->cell,
        .cell_members = (const char *const *)s->cell_members,
        .cell_count = s->cell_count,
        .cell_index = cell_index(s, h->address),
        .cluster = s->cluster,
        .rack = s->rack,
        .has_tablets = has_role(s, "tablet"),
        .bigtable_api = s->bigtable_api,
        .api_certificate = s->api_certificate,
        .api_certificate_key = s->api_certificate_key,
        .api_authority = s->api_authority,
        .api_tokens = s->api_tokens,
        .api_jwt_key = s->api_jwt_key,
    };
    if (s->cell_count == 0) { /* Alone: the cell is this node. */
        h->env.cell = h->address;
        h->env.cell_members = (const char *const *)&h->address;
        h->env.cell_count = 1;
        h->env.cell_index = 0;
    }
    h->env.lock_servers = h->env.cell_members;
    h->env.lock_server_count = h->env.cell_count;
    if (*s->lock_service) {
        h->env.lock_servers = (const char *const *)&s->lock_service;
        h->env.lock_server_count = 1;
    }
}

/* The first role that is not well. */
static int report_health(void *ctx, struct err *err)
{
    const struct server_host *h = ctx;
    for (size_t i = 0; i < h->role_count; i++)
        if (h->roles[i].health.code) {
            err_copy(err, &h->roles[i].health);
            err_wrap(err, "role %s", h->roles[i].role->name);
            return h->roles[i].health.code;
        }
    return 0;
}

static int make_document(void *ctx,
                         const char *subject,
                         const struct monitor_param *params,
                         size_t count,
                         json_t **out,
                         struct err *err)
{
    const struct server_host *h = ctx;
    return monitor_make(h->monitor, subject, params, count, out, err);
}

/* The console asks all processes, for whom it is one of the cluster's. */
static const struct rpc_security *console_security(const struct server_host *h)
{
    return h->as_process ? h->as_process : h->security;
}

static int open_monitor(struct server_host *h, struct err *err)
{
    const struct monitor_source source = {.world = h->env.world,
                                          .security = console_security(h),
                                          .cluster = h->env.cluster,
                                          .cell = h->env.cell_members,
                                          .cell_count = h->env.cell_count,
                                          .own_address = h->address,
                                          .own_text = server_host_put_text,
                                          .ctx = h};
    return monitor_open(&source, &h->monitor, err);
}

static int open_console(struct server_host *h, struct err *err)
{
    const struct action_cluster actions = {.security = console_security(h),
                                           .name = h->env.cluster,
                                           .cell = h->env.cell_members,
                                           .cell_count = h->env.cell_count};
    const struct console_source source = {.ctx = h,
                                          .text = server_host_put_text,
                                          .metrics = server_host_put_metrics,
                                          .health = report_health,
                                          .document = make_document,
                                          .names = h->settings->console_names,
                                          .name = h->name,
                                          .cluster = h->env.cluster,
                                          .access = h->settings->access,
                                          .actions = actions};
    int rc;
    PRE(!h->console);
    if (!*h->settings->console)
        return 0;
    rc = open_monitor(h, err);
    if (rc == 0)
        rc = console_open(h->settings->console, &source, &h->console, err);
    return rc;
}

/* Before any role reads its files. */
static int open_version(struct server_host *h, struct err *err)
{
    const char *max = h->settings->cluster_version_max;
    uint64_t limit = 0;
    int rc = *max ? text_parse_u64(slice_str(max), &limit, err) : 0;
    if (rc)
        err_wrap(err, "cluster-version-max");
    else
        rc = node_version_open(&h->env, limit, &h->version, err);
    if (rc)
        return rc;
    h->env.version = node_version_known(h->version);
    h->env.versions = node_version_range(h->version);
    return 0;
}

static int open_all(struct server_host *h, struct err *err)
{
    int rc = check_listen(h->settings->listen, err);
    PRE(!h->doctor);
    if (rc == 0)
        rc = open_version(h, err);
    if (rc == 0)
        rc = server_limits_read(h->settings->conf, &h->limits, err);
    h->stale_sessions = stale_sessions_find(&h->env);
    if (rc == 0)
        rc = open_roles(h, err);
    if (rc == 0)
        rc = listen_on(h, err);
    if (rc == 0)
        stale_sessions_end(h->stale_sessions);
    if (rc == 0)
        rc = start_roles(h, err);
    if (rc == 0) {
        node_version_start(h->version);
        h->doctor = fiber_start(h->loop, "health", run_doctor, h);
    }
    if (rc == 0)
        rc = open_console(h, err);
    return rc;
}

/* Members of the cluster call on behalf of others, as workers do for the users
 * who submitted the jobs. PRE: there is security. */
static void let_act(struct server_host *h)
{
    PRE(h->security);
    PRE(!h->cluster);
    h->cluster = cluster_roles_new(h->security, h->env.trusted);
    h->env.roles = h->cluster;
    if (!cluster_roles_are_proved(h->cluster))
        h->as_process = cluster_roles_process(h->security);
    rpc_server_let_act(h->server, cluster_roles_may_act, h->cluster);
}

/* Clients of the cluster, those in this process too, ask its nodes for locks.
 */
static int name_lock_service(struct server_host *h, struct err *err)
{
    const char *where = h->settings->lock_service;
    PRE(!h->elsewhere);
    /* Clients in this process, which know the cluster's nodes, and processes
     * that it starts need its credentials. */
    setenv(LOCK_SERVICE_VARIABLE, where, 1);
    return lock_elsewhere_open(h->server, where, &h->elsewhere, err);
}

/* Of a sampler that the environment names, the settings come first. */
static int open_exporter(struct server_host *h, struct err *err)
{
    const struct server_settings *s = h->settings;
    struct trace_export_options o = {.url = s->trace_export,
                                     .headers_file = s->trace_export_headers,
                                     .authority = s->trace_export_authority,
                                     .cluster = s->cluster,
                                     .node = *s->name ? s->name : s->listen};
    struct otlp_sampler sampler;
    int rc = trace_export_open(h->env.world, h->tracer, &o, &h->exporter,
                               &sampler, err);
    if (rc == 0 && sampler.is_set && !s->says_sample)
        tracer_set_ratio(h->tracer, sampler.ratio);
    return rc;
}

int server_host_open(struct world *w,
                     const struct server_settings *s,
                     void (*failed)(void *ctx),
                     void *ctx,
                     struct server_host **out,
                     struct err *err)
{
    struct server_host *h = mem_zalloc(1, sizeof(*h));
    int rc = server_settings_security(w, s, &h->security, err);
    PRE(s);
    PRE(failed);
    if (rc == 0)
        rc = master_keys_read(w, &s->encryption, &h->master_keys, err);
    h->settings = s;
    h->failed = failed;
    h->ctx = ctx;
    h->loop = loop_self();
    h->start_ns = world_mono_ns(w);
    h->server = rpc_server_new(w);
    h->metrics = metrics_new();
    h->history = metric_history_new();
    h->tracer = tracer_new(w, TRACE_BYTES_DEFAULT);
    tracer_set(h->tracer, &s->traces);
    tracer_set_names(h->tracer, method_name);
    world_set_tracer(w, h->tracer);
    fill_env(h, w);
    server_host_add_methods(h);
    if (rc == 0 && *s->lock_service)
        rc = name_lock_service(h, err);
    if (rc == 0)
        rc = open_exporter(h, err);
    if (rc == 0) {
        let_act(h);
        rc = open_all(h, err);
    }
    if (rc) {
        server_host_close(h);
        h = NULL;
    }
    *out = h;
    return rc;
}

/* --- reading again ------------------------------------------------------- */

static void
note_reload(struct server_host *h, const char *what, int rc, struct err *err)
{
    const struct audit_event e = {.what = SLICE_LIT("server.reload"),
                                  .on = slice_str(what),
                                  .code = rc,
                                  .why = slice_str(rc ? err->text : "")};
    audit_note(h->env.world, &e);
    if (rc)
        log_error(h->env.world, "server", "not read again what=%s why=\"%s\"",
                  what, err->text);
    else
        log_info(h->env.world, "server", "read again what=%s", what);
}

void server_host_reload(struct server_host *h)
{
    struct err err = ERR_INIT;
    int rc;
    PRE(h->security);
    rc = rpc_security_reload(h->security, h->env.world, &err);
    note_reload(h, "security", rc, &err);
    rc = server_settings_reload_keys(h->env.world, h->settings, h->master_keys,
                                     &err);
    if (rc || h->master_keys)
        note_reload(h, "encryption", rc, &err);
    if (h->console) {
        rc = console_reload(h->console, &err);
        note_reload(h, "console-tokens", rc, &err);
    }
    for (size_t i = 0; i < h->role_count; i++) {
        const struct role *r = h->roles[i].role;
        if (!r->reload)
            continue;
        rc = r->reload(h->roles[i].self, &err);
        note_reload(h, r->name, rc, &err);
    }
}

struct role_stop {
    struct server_host *host;
    const struct running_role *role;
    bool all;
};

static void stop_role(void *arg)
{
    const struct role_stop *x = arg;
    const struct role *r = x->role->role;
    struct world *w = x->host->env.world;
    uint64_t from = world_mono_ns(w);
    uint64_t took;
    PRE(r);
    if (x->all && r->leaving)
        r->leaving(x->role->self);
    else if (r->stopping)
        r->stopping(x->role->self);
    took = world_mono_ns(w) - from;
    if (took >= SLOW_STOP_NS)
        log_info(w, "server", "role %s stopped us=%llu", r->name,
                 (unsigned long long)took / 1000);
}

/* @all: the whole cluster ends. All roles at once: where nobody is left to say
 * goodbye to, each finds that out in its own time. */
static void stop_roles(struct server_host *h, bool all)
{
    struct role_stop stops[SERVER_ROLES_MAX];
    struct fiber *fibers[SERVER_ROLES_MAX];
    PRE(h->role_count <= SERVER_ROLES_MAX);
    if (h->has_left)
        return;
    end_doctor(h);
    node_version_stop(h->version);
    for (size_t i = h->role_count; i-- > 0;) {
        stops[i] = (struct role_stop){h, &h->roles[i], all};
        fibers[i] = fiber_start(h->loop, "stop", stop_role, &stops[i]);
    }
    for (size_t i = h->role_count; i-- > 0;)
        fiber_join(fibers[i]);
    h->has_left = true;
}

void server_host_leave(struct server_host *h)
{
    stop_roles(h, true);
}

void server_host_stop(struct server_host *h)
{
    stop_roles(h, false);
}

void server_host_close(struct server_host *h)
{
    if (!h)
        return;
    console_close(h->console);
    monitor_close(h->monitor);
    stale_sessions_free(h->stale_sessions);
    stop_roles(h, false);
    rpc_listener_close(h->listener);
    while (h->role_count) {
        struct running_role *r = &h->roles[--h->role_count];
        r->role->close(r->self);
    }
    node_version_close(h->version);
    rpc_server_free(h->server);
    lock_elsewhere_close(h->elsewhere);
    cluster_roles_free(h->cluster);
    world_set_tracer(h->env.world, NULL);
    otlp_exporter_close(h->exporter, EXPORT_PATIENCE_US);
    tracer_free(h->tracer);
    metric_history_free(h->history);
    metrics_free(h->metrics);
    rpc_security_free(h->as_process);
    rpc_security_free(h->security);
    master_keys_unref(h->master_keys);
    mem_free(h->name);
    mem_free(h->address);
    mem_free(h);
}

void server_host_describe(const struct server_host *h, struct buf *out)
{
    buf_printf(out, "%s %s ", h->name, h->address);
    for (size_t i = 0; i < h->role_count; i++)
        buf_printf(out, "%s%s", i ? "," : "", h->roles[i].role->name);
}

int server_host_failure(const struct server_host *h, struct err *err)
{
    return err_copy(err, &h->failure);
}
