/* Commands that talk to a cluster, see remote_call.h: the target's addresses,
 * keys and certificates, a first connection that tells whether anybody is
 * there, and a loop on which the command's calls run.
 */
#include "cli/remote_call.h"

#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/core/slice.h"
#include "base/core/text.h"
#include "base/rpc/security.h"
#include "base/runtime/loop.h"
#include "bigtable/quarry.h"
#include "cli/cli.h"
#include "cli/cluster_nodes.h"
#include "cli/cluster_reach.h"

/* A cluster where nobody listens is said to be dead after it. */
#define REACH_US        UINT64_C(4000000)
#define CLUSTER_DEFAULT "quarry"
#define CLUSTER_SCHEME  "cluster:"

const struct option remote_options[] = {
    {"cluster", 0, "NAME", "of the cluster (quarry)"},
    {"principal", 0, "NAME",
     "who we are; with a certificate it says that ($USER)"},
    {"certificate", 0, "FILE", "instead of a key, TLS: our certificate,"},
    {"certificate-key", 0, "FILE", "its key,"},
    {"authority", 0, "FILE",
     "and who signed those of the servers; if not given\n"
     "$QUARRY_CERTIFICATE, $QUARRY_CERTIFICATE_KEY and\n$QUARRY_AUTHORITY"},
    {NULL, 0, NULL, NULL},
};

/* Credentials of a command, and its outcome. */
struct visit {
    struct remote remote;
    char *addresses[REMOTE_ADDRESSES_MAX]; /* Owned. */
    char *key;                             /* Owned; NULL: none. */
    int (*fn)(struct remote *r, struct err *err);
    struct err *err;
    int code;
};

static int check_port(struct slice address, struct err *err)
{
    size_t colon = address.len;
    uint64_t port;

    while (colon > 0 && address.data[colon - 1] != ':')
        colon--;
    if (!text_parse_u64(slice_sub(address, colon, address.len), &port, NULL) &&
        port >= 1 && port <= UINT16_MAX)
        return 0;
    err_set(err, ERR_INVALID, "the target's address %.*s has no port",
            SLICE_ARG(address));
    err_hint(err, "it is HOST:PORT, with a PORT from 1 to %d", UINT16_MAX);
    return ERR_INVALID;
}

static int add_address(struct visit *v, struct slice address, struct err *err)
{
    size_t i = v->remote.address_count;
    int rc = check_port(address, err);

    if (rc)
        return rc;
    if (i == REMOTE_ADDRESSES_MAX)
        return err_set(err, ERR_INVALID,
                       "the target has more than %d addresses",
                       REMOTE_ADDRESSES_MAX);
    INVARIANT(i < REMOTE_ADDRESSES_MAX);
    v->addresses[i] = mem_strndup(address.data, address.len);
    v->remote.addresses[i] = v->addresses[i];
    v->remote.address_count++;
    return 0;
}

/* The nodes and the key of the cluster at @dir. */
static int visit_directory(struct visit *v, const char *dir, struct err *err)
{
    struct cluster c;
    int rc = cluster_open(dir, &c, err);
    size_t i;

    for (i = 0; i < c.node_count && !rc; i++)
        rc = add_address(v, slice_str(c.nodes[i].address), err);
    if (!rc)
        v->key = cluster_key_path(&c);
    cluster_close(&c);
    return rc;
}

bool remote_is_cluster(const char *target)
{
    const char *colon = strrchr(target, ':');

    if (strncmp(target, CLUSTER_SCHEME, strlen(CLUSTER_SCHEME)) == 0)
        return true;
    return strncmp(target, "file:", 5) != 0 && colon && colon[1] >= '0' &&
           colon[1] <= '9';
}

static int read_target(struct visit *v, struct err *err)
{
    const char *target = v->remote.cli->target;
    struct slice rest = slice_str(target);
    int rc = 0;

    if (strncmp(target, CLUSTER_SCHEME, strlen(CLUSTER_SCHEME)) == 0)
        return visit_directory(v, target + strlen(CLUSTER_SCHEME), err);
    if (!remote_is_cluster(target))
        return ERR_USAGE;
    while (rest.len > 0 && !rc) {
        size_t end = slice_find_byte(rest, ',');
        struct slice address = slice_trim(slice_sub(rest, 0, end));
        if (address.len > 0)
            rc = add_address(v, address, err);
        rest = slice_sub(rest, end + 1, rest.len);
    }
    return rc;
}

/* Is anybody there? */
static int remote_reach(struct visit *v, struct err *err)
{
    uint64_t us = v->remote.cli->reach_us;
    int rc = us ? 0 : remote_timeout(REACH_US, &us, err);

    if (!rc)
        rc = cluster_reach(v->remote.cli->world, v->remote.addresses,
                           v->remote.address_count, us, err);
    if (rc == ERR_UNAVAILABLE && strncmp(v->remote.cli->target, CLUSTER_SCHEME,
                                         strlen(CLUSTER_SCHEME)) == 0)
        err_wrap(err, "%s", v->remote.cli->target);
    return rc;
}

static void forget_target(struct visit *v)
{
    size_t i;

    PRE(v->remote.address_count <= REMOTE_ADDRESSES_MAX);
    for (i = 0; i < v->remote.address_count; i++)
        mem_free(v->addresses[i]);
    mem_free(v->key);
}

/* --- proof --------------------------------------------------------------- */

const char *remote_variable(const char *name)
{
    const char *value = getenv(name);
    PRE(name[0] != '\0');
    return value && *value ? value : NULL;
}

void remote_defaults(struct cli *cli)
{
    cli->key = remote_variable("QUARRY_KEY");
    cli->cluster = CLUSTER_DEFAULT;
    cli->principal = remote_variable("USER");
    cli->certificate = remote_variable("QUARRY_CERTIFICATE");
    cli->certificate_key = remote_variable("QUARRY_CERTIFICATE_KEY");
    cli->authority = remote_variable("QUARRY_AUTHORITY");
}

int remote_timeout(uint64_t otherwise, uint64_t *us, struct err *err)
{
    const char *text = remote_variable("QUARRY_TIMEOUT");
    *us = otherwise;
    if (!text || text_parse_duration(slice_str(text), us, err) == 0)
        return 0;
    err_wrap(err, "$QUARRY_TIMEOUT");
    return ERR_USAGE;
}

/* The last value given for option @name of remote_options. */
static void
remote_take_arg(const struct args *args, const char *name, const char **out)
{
    for (size_t i = 0; i < args->option_count; i++)
        for (const struct option *o = remote_options; o->name; o++)
            if (args->options[i].option == o && strcmp(o->name, name) == 0)
                *out = args->options[i].value;
}

void remote_take(struct cli *cli, const struct args *args)
{
    remote_take_arg(args, "cluster", &cli->cluster);
    remote_take_arg(args, "principal", &cli->principal);
    remote_take_arg(args, "certificate", &cli->certificate);
    remote_take_arg(args, "certificate-key", &cli->certificate_key);
    remote_take_arg(args, "authority", &cli->authority);
}

/* The first of the option, the environment and the cluster's directory. */
static const char *key_of(const struct visit *v)
{
    return v->remote.cli->key ? v->remote.cli->key : v->key;
}

static const char *principal_of(const struct cli *cli)
{
    return cli->principal ? cli->principal : "quarry";
}

/* A key that was named wins over certificates of the environment. */
static bool has_certificate(const struct visit *v)
{
    const char *key = key_of(v);

    return v->remote.cli->certificate && (!key || key == v->key);
}

static int check_certificate(const struct cli *cli, struct err *err)
{
    if (cli->certificate_key && cli->authority)
        return 0;
    err_set(err, ERR_USAGE,
            "--certificate needs --certificate-key and --authority");
    err_hint(err, "see: quarry --help");
    return ERR_USAGE;
}

static int
remote_prove(struct visit *v, struct rpc_security **out, struct err *err)
{
    const struct cli *cli = v->remote.cli;
    const char *key = key_of(v);
    int rc;

    if (has_certificate(v)) {
        rc = check_certificate(cli, err);
        return rc ? rc
                  : rpc_security_tls(cli->world, cli->cluster, cli->certificate,
                                     cli->certificate_key, cli->authority, out,
                                     err);
    }
    if (key)
        return rpc_security_key(cli->world, cli->cluster, principal_of(cli),
                                key, out, err);
    *out = rpc_security_none(cli->cluster, principal_of(cli));
    return 0;
}

/* On a fiber. */
static void remote_visit(void *arg)
{
    struct visit *v = arg;
    struct rpc_security *security = NULL;

    PRE(v->fn);
    v->code = remote_prove(v, &security, v->err);
    v->remote.security = security;
    if (!v->code)
        v->code = v->fn(&v->remote, v->err);
    rpc_security_free(security);
}

int remote_run(struct cli *cli,
               const struct args *args,
               int (*fn)(struct remote *r, struct err *err),
               void *ctx,
               struct err *err)
{
    struct visit v = {
        .remote = {.cli = cli, .args = args, .world = cli->world, .ctx = ctx},
        .fn = fn,
        .err = err};
    struct loop *l;
    int rc = read_target(&v, err);

    PRE(fn);
    if (rc == ERR_USAGE) {
        usage_error(args, err, "the target %s is no cluster", cli->target);
        err_hint(err, "a cluster is -t HOST:PORT,… or -t cluster:DIR");
    }
    if (!rc)
        rc = remote_reach(&v, err);
    if (!rc)
        rc = loop_new(cli->world, "remote", &l, err);
    if (!rc) {
        loop_start(l);
        loop_call(l, "remote", remote_visit, &v);
        loop_stop(l);
        loop_join(l);
        loop_free(l);
        rc = v.code;
    }
    forget_target(&v);
    return rc;
}

void remote_unreached(const struct remote *r, struct err *err)
{
    bool is_other_protocol = err->detail == ERR_DETAIL_OTHER_PROTOCOL;

    if (!is_other_protocol && err->code != ERR_UNAVAILABLE &&
        err->code != ERR_DEADLINE)
        return;
    err_wrap(err, "%s", r->cli->target);
    if (is_other_protocol)
        err_hint(err, "is a server of Quarry at that address?");
    else
        err_hint(err, "do its servers run, and is this their key? see: quarry "
                      "cluster status; --key FILE or $QUARRY_KEY");
}

int remote_resolve(struct cli *cli,
                   struct quarry_options *opts,
                   char **target,
                   char **key_file,
                   struct err *err)
{
    struct visit v = {.remote = {.cli = cli}};
    struct buf addresses = BUF_INIT;
    int rc = read_target(&v, err);
    const char *key = key_of(&v);

    for (size_t i = 0; i < v.remote.address_count; i++)
        buf_printf(&addresses, "%s%s", i ? "," : "", v.addresses[i]);
    *target = buf_take(&addresses);
    *key_file = key ? mem_strdup(key) : NULL;
    opts->key_file = *key_file;
    opts->cluster = cli->cluster;
    opts->principal = principal_of(cli);
    if (has_certificate(&v)) {
        opts->certificate_file = cli->certificate;
        opts->certificate_key_file = cli->certificate_key;
        opts->authority_file = cli->authority;
        if (!rc)
            rc = check_certificate(cli, err);
    }
    if (!rc)
        rc = remote_timeout(0, &opts->timeout_us, err);
    if (!rc)
        rc = remote_reach(&v, err);
    forget_target(&v);
    return rc;
}

int remote_open(struct cli *cli,
                const struct quarry_options *opts,
                struct quarry **out,
                struct err *err)
{
    struct quarry_options o = *opts;
    char *target;
    char *key_file;
    int rc = remote_resolve(cli, &o, &target, &key_file, err);

    if (!rc)
        rc = quarry_open(target, &o, out, err);
    mem_free(target);
    mem_free(key_file);
    return rc;
}
