/* Rights and quotas: calls of the master, of clusters alone. */
#include "bigtable/client/quarry_access.h"

#include "bigtable/client/client.h"
#include "bigtable/client/cluster/cluster.h"
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

int quarry_acl_is_administrator(struct quarry *q,
                                struct slice principal,
                                bool *is,
                                struct err *err)
{
    struct access_list *l = NULL;
    struct buf text = BUF_INIT;
    bool any = false;
    int rc = quarry_acl_get(q, "", &text, &any, err);
    if (rc == 0 && any)
        rc = access_parse(buf_slice(&text), &l, err);
    *is = l && (access_rights(l, principal, SLICE_LIT("*")) & ACCESS_OWN);
    access_free(l);
    buf_close(&text);
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

bool quarry_rate_is_reached(int rc, struct slice text, uint64_t *again_us)
{
    return rate_is_refusal(rc, text, again_us);
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
