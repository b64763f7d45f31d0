/* Bounds of connections and memory for callers of a server process, from
 * section [limits]; and which callers count as members of its cluster: those
 * with a name or a host of the cluster, which have connections reserved.
 */
#include "cli/server_limits.h"

#include <stdint.h>
#include <string.h>

#include "base/core/conf.h"
#include "base/core/slice.h"
#include "base/rpc/remote.h"
#include "base/rpc/roles.h"
#include "cli/role.h"

#define SECTION "limits"

/* --- the section --------------------------------------------------------- */

static int read_count(struct conf *c,
                      const char *key,
                      size_t least,
                      size_t *out,
                      struct err *err)
{
    uint64_t n = *out;
    int rc = conf_get_u64(c, SECTION, key, &n, err);
    if (rc == 0 && n != *out && n < least)
        rc = err_set(err, ERR_INVALID, "[%s] %s: at least %zu", SECTION, key,
                     least);
    *out = (size_t)n;
    return rc;
}

static int
read_bytes(struct conf *c, const char *key, size_t *out, struct err *err)
{
    uint64_t n = *out;
    int rc = conf_get_bytes(c, SECTION, key, &n, err);
    *out = (size_t)n;
    return rc;
}

static int server_limits_check(const struct admission_limits *l,
                               struct err *err)
{
    if (l->peers_max && l->peers_reserved >= l->peers_max)
        return err_set(err, ERR_INVALID,
                       "[" SECTION "] connections-reserved: less than "
                       "connections, %zu",
                       l->peers_max);
    return 0;
}

int server_limits_read(struct conf *c,
                       struct rpc_listen_options *o,
                       struct err *err)
{
    struct admission_limits *a = &o->admission;
    int rc = read_count(c, "connections", 8, &a->peers_max, err);
    if (rc == 0)
        rc = read_count(c, "connections-reserved", 1, &a->peers_reserved, err);
    if (rc == 0)
        rc = read_count(c, "connections-per-address", 1,
                        &a->peers_per_address_max, err);
    if (rc == 0)
        rc = read_count(c, "unauthenticated", 1, &a->unauthenticated_max, err);
    if (rc == 0)
        rc = read_count(c, "unauthenticated-per-address", 1,
                        &a->unauthenticated_per_address_max, err);
    if (rc == 0)
        rc = read_count(c, "calls-per-connection", 1, &o->calls_max, err);
    if (rc == 0)
        rc = read_bytes(c, "requests-per-connection", &o->in_bytes_max, err);
    if (rc == 0)
        rc = read_bytes(c, "requests", &o->in_all_bytes_max, err);
    if (rc == 0)
        rc = read_bytes(c, "answers", &o->out_all_bytes_max, err);
    if (rc == 0)
        rc = conf_get_duration(c, SECTION, "handshake", &o->handshake_us, err);
    if (rc == 0)
        rc = conf_get_duration(c, SECTION, "idle", &o->idle_us, err);
    if (rc == 0)
        rc = conf_get_duration(c, SECTION, "slow", &o->slow_us, err);
    return rc ? rc : server_limits_check(a, err);
}

/* --- members ------------------------------------------------------------- */

/* "10.0.0.1" of "10.0.0.1:7400". */
static struct slice host_of(const char *address)
{
    const char *colon = strrchr(address, ':');
    return slice_make(address,
                      colon ? (size_t)(colon - address) : strlen(address));
}

static bool is_of_cell(const struct role_env *env, struct slice host)
{
    /* On loopback everybody comes from there. */
    if (slice_starts_with(host, SLICE_LIT("127.")) ||
        slice_eq_str(host, "[::1]"))
        return false;
    if (slice_eq(host, host_of(env->address)))
        return true;
    for (size_t i = 0; i < env->cell_count; i++)
        if (slice_eq(host, host_of(env->cell_members[i])))
            return true;
    return false;
}

bool server_is_member(const struct role_env *env,
                      const char *principal,
                      const char *peer)
{
    return cluster_roles_has(env->roles, slice_str(principal)) ||
           is_of_cell(env, host_of(peer));
}
