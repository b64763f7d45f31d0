/* Rights and quotas: calls of a cluster's master. A directory has neither, and
 * says so.
 */
#include "bigtable/quarry_access.h"

#include "base/core/panic.h"
#include "bigtable/client/client.h"
#include "bigtable/client/cluster/cluster_client.h"
#include "bigtable/row/access.h"
#include "bigtable/wire/policy.h"
#include "bigtable/wire/principal_rates.h"

static int check_cluster(const struct quarry *q, struct err *err)
{
    if (q->cluster)
        return 0;
    err_set(err, ERR_UNSUPPORTED,
            "tables in a directory have no rights and no quotas");
    err_hint(err, "they are the process's that has it open; a cluster "
                  "(-t HOST:PORT) has principals");
    return ERR_UNSUPPORTED;
}

static struct slice name_of(const char *table)
{
    return slice_str(table ? table : "");
}

/* The policy of @table; borrows @reply. */
static int get_policy(struct quarry *q,
                      const char *table,
                      struct buf *reply,
                      struct table_policy *p,
                      struct err *err)
{
    struct policy_order o = {.table = name_of(table)};
    struct buf body = BUF_INIT;
    int rc = check_cluster(q, err);
    if (rc)
        return rc;
    policy_order_put(&o, &body);
    rc = cluster_call_master(q->cluster, MASTER_POLICY, buf_slice(&body), 0,
                             reply, NULL, err);
    buf_close(&body);
    return rc ? rc : table_policy_get(buf_slice(reply), p, err);
}

static int
change_policy(struct quarry *q, const struct policy_change *c, struct err *err)
{
    struct buf body = BUF_INIT;
    int rc = check_cluster(q, err);
    if (rc)
        return rc;
    policy_change_put(c, &body);
    rc = cluster_call_master(q->cluster, MASTER_SET_POLICY, buf_slice(&body), 0,
                             NULL, NULL, err);
    buf_close(&body);
    return rc;
}

int quarry_acl_get(struct quarry *q,
                   const char *table,
                   struct buf *list,
                   bool *any,
                   struct err *err)
{
    struct buf reply = BUF_INIT;
    struct table_policy p;
    int rc = get_policy(q, table, &reply, &p, err);
    if (rc == 0) {
        *any = p.has_access;
        buf_append_slice(list, p.access);
    }
    buf_close(&reply);
    return rc;
}

int quarry_roles_get(struct quarry *q, struct buf *out, struct err *err)
{
    struct buf reply = BUF_INIT;
    struct table_policy p;
    int rc = get_policy(q, "", &reply, &p, err);
    if (rc == 0)
        buf_append_slice(out, p.roles);
    buf_close(&reply);
    return rc;
}

int quarry_role_change(struct quarry *q,
                       const char *verb,
                       const char *role,
                       const char *principals,
                       struct err *err)
{
    const struct policy_change c = {.kind = POLICY_ROLE,
                                    .family = slice_str(role),
                                    .right = slice_str(verb),
                                    .principals = slice_str(principals)};
    return change_policy(q, &c, err);
}

struct quarry_principals {
    struct access_list *cluster; /* NULL: there is none. */
    struct access_list *roles;
};

int quarry_principals_get(struct quarry *q,
                          struct quarry_principals **out,
                          struct err *err)
{
    struct quarry_principals *k = mem_zalloc(1, sizeof(*k));
    struct buf reply = BUF_INIT;
    struct table_policy p;
    int rc = get_policy(q, "", &reply, &p, err);
    *out = NULL;
    if (rc == 0 && p.has_access)
        rc = access_parse_with(p.access, p.roles, &k->cluster, err);
    if (rc == 0)
        rc = access_parse(p.roles, &k->roles, err);
    if (rc)
        quarry_principals_free(k);
    else
        *out = k;
    buf_close(&reply);
    return rc;
}

void quarry_principals_free(struct quarry_principals *p)
{
    if (!p)
        return;
    access_free(p->cluster);
    access_free(p->roles);
    mem_free(p);
}

bool quarry_principals_is_administrator(const struct quarry_principals *p,
                                        struct slice principal)
{
    return p->cluster &&
           (access_rights(p->cluster, principal, SLICE_LIT("*")) & ACCESS_OWN);
}

void quarry_principals_put_roles(const struct quarry_principals *p,
                                 struct slice principal,
                                 struct buf *out)
{
    access_put_roles(p->roles, principal, out);
}

int quarry_acl_is_administrator(struct quarry *q,
                                struct slice principal,
                                bool *is,
                                struct err *err)
{
    struct quarry_principals *p;
    int rc = quarry_principals_get(q, &p, err);
    *is = rc == 0 && quarry_principals_is_administrator(p, principal);
    if (rc == 0)
        quarry_principals_free(p);
    return rc;
}

int quarry_acl_set(struct quarry *q,
                   const char *table,
                   const char *list,
                   struct err *err)
{
    const struct policy_change c = {.table = name_of(table),
                                    .kind = list ? POLICY_REPLACE : POLICY_OPEN,
                                    .access = slice_str(list ? list : "")};
    return change_policy(q, &c, err);
}

static int change_right(struct quarry *q,
                        enum policy_change_kind kind,
                        const char *table,
                        const char *family,
                        const char *right,
                        const char *principals,
                        struct err *err)
{
    const struct policy_change c = {.table = name_of(table),
                                    .kind = kind,
                                    .family = slice_str(family),
                                    .right = slice_str(right),
                                    .principals = slice_str(principals)};
    return change_policy(q, &c, err);
}

int quarry_acl_grant(struct quarry *q,
                     const char *table,
                     const char *family,
                     const char *right,
                     const char *principals,
                     struct err *err)
{
    return change_right(q, POLICY_GRANT, table, family, right, principals, err);
}

int quarry_acl_revoke(struct quarry *q,
                      const char *table,
                      const char *family,
                      const char *right,
                      const char *principals,
                      struct err *err)
{
    return change_right(q, POLICY_REVOKE, table, family, right, principals,
                        err);
}

int quarry_quota_get(struct quarry *q,
                     const char *table,
                     struct quarry_quota *quota,
                     struct quarry_use *use,
                     struct err *err)
{
    struct buf reply = BUF_INIT;
    struct table_policy p;
    int rc = get_policy(q, table, &reply, &p, err);
    if (rc == 0) {
        *quota = p.quota;
        if (use)
            *use = (struct quarry_use){p.use.tablets, p.use.stored_bytes,
                                       p.use.memory_bytes};
    }
    buf_close(&reply);
    return rc;
}

int quarry_quota_set(struct quarry *q,
                     const char *table,
                     const struct quarry_quota *quota,
                     struct err *err)
{
    const struct policy_change c = {
        .table = name_of(table), .kind = POLICY_QUOTA, .quota = *quota};
    return change_policy(q, &c, err);
}

int quarry_rate_set(struct quarry *q,
                    const char *principal,
                    uint64_t ops,
                    uint64_t bytes,
                    struct err *err)
{
    const struct policy_change c = {
        .kind = POLICY_RATE,
        .principals = slice_str(principal),
        .quota = {.reads_per_s = ops, .bytes_per_s = bytes}};
    return change_policy(q, &c, err);
}

int quarry_rates_get(struct quarry *q,
                     const char *principal,
                     quarry_rate_fn each,
                     void *ctx,
                     struct err *err)
{
    struct buf reply = BUF_INIT;
    struct table_policy p = {.has_access = false};
    struct principal_rate r;
    int rc = get_policy(q, "", &reply, &p, err);
    while (rc == 0 && principal_rate_get(&p.rates, &r))
        if (!principal || slice_eq_str(r.name, principal))
            each(ctx, r.name, r.ops, r.bytes);
    buf_close(&reply);
    return rc;
}
