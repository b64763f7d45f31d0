/* The principals of the cluster itself. The list is short and fixed for the
 * life of the process; it is searched for every guarded call, so it is plain
 * memory without a lock. */
#include "base/rpc/roles.h"

#include <string.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/rpc/security.h"

struct cluster_roles {
    bool proved;
    char *process; /* Not proved: the names of processes begin so. Owned. */
    char **names;  /* Owned. */
    size_t count;
};

static void roles_add(struct cluster_roles *r, struct slice name)
{
    if (name.len == 0 || (r->count && cluster_roles_has(r, name)))
        return;
    r->names = mem_realloc(r->names, (r->count + 1) * sizeof(*r->names));
    r->names[r->count++] = mem_strndup(name.data, name.len);
}

static bool is_proved(const struct rpc_security *security)
{
    return strcmp(rpc_security_kind_name(security), "tls") == 0;
}

/* "quarry:n1". Owned. */
static char *process_name(const struct rpc_security *security, const char *node)
{
    struct buf b = BUF_INIT;
    char *name;
    buf_printf(&b, "%s:%s", rpc_security_cluster(security), node);
    name = mem_strndup(b.data, b.len);
    buf_close(&b);
    return name;
}

struct rpc_security *cluster_roles_process(const struct rpc_security *security)
{
    struct rpc_security *out;
    char *name;
    PRE(!is_proved(security));
    name = process_name(security, rpc_security_principal(security));
    out = rpc_security_as(security, name);
    mem_free(name);
    return out;
}

struct cluster_roles *cluster_roles_new(const struct rpc_security *security,
                                        const char *trusted)
{
    struct cluster_roles *r = mem_zalloc(1, sizeof(*r));
    struct slice list = slice_str(trusted ? trusted : "");
    r->proved = is_proved(security);
    if (!r->proved)
        r->process = process_name(security, "");
    if (r->proved) /* Peers without a name of their own are called this as
                      well. */
        roles_add(r, slice_str(rpc_security_cluster(security)));
    roles_add(r, slice_str(rpc_security_principal(security)));
    while (list.len > 0) {
        size_t end = slice_find_byte(list, ',');
        roles_add(r, slice_trim(slice_sub(list, 0, end)));
        list = slice_sub(list, end + 1, list.len);
    }
    return r;
}

void cluster_roles_free(struct cluster_roles *r)
{
    if (!r)
        return;
    for (size_t i = 0; i < r->count; i++)
        mem_free(r->names[i]);
    mem_free(r->names);
    mem_free(r->process);
    mem_free(r);
}

bool cluster_roles_has(const struct cluster_roles *r, struct slice principal)
{
    if (!r || principal.len == 0)
        return true;
    for (size_t i = 0; i < r->count; i++)
        if (slice_eq_str(principal, r->names[i]))
            return true;
    return r->process && slice_starts_with(principal, slice_str(r->process));
}

bool cluster_roles_are_proved(const struct cluster_roles *r)
{
    return r && r->proved;
}

bool cluster_roles_may_order(const struct cluster_roles *r,
                             struct slice principal)
{
    return !cluster_roles_are_proved(r) || cluster_roles_has(r, principal);
}

bool cluster_roles_may_act(void *roles, struct slice principal)
{
    return cluster_roles_may_order(roles, principal);
}

void cluster_roles_put(const struct cluster_roles *r, struct buf *out)
{
    for (size_t i = 0; r && i < r->count; i++)
        buf_printf(out, "%s\n", r->names[i]);
}
