/* Rights of those who give the master orders, and changes of rights.
 *
 * An order passes the gate of its method (master_service.c) here. A change of a
 * policy reads the file, changes its list or quota, and writes it on condition
 * that nobody else has, trying again until that succeeds. Lists are checked so
 * that nobody shuts himself out by mistake. */
#include "bigtable/master/policies.h"

#include <stdio.h>

#include "base/core/panic.h"
#include "base/rpc/roles.h"
#include "base/rpc/rpc.h"
#include "bigtable/master/lock_state.h"
#include "bigtable/master/master_term.h"
#include "bigtable/master/policy_file.h"
#include "bigtable/row/schema.h"
#include "bigtable/wire/principal_rates.h"
#include "bigtable/wire/snapshot_calls.h"

#define EVERY SLICE_LIT("*")
/* A try fails only when another change was made. */
#define CHANGE_TRIES_MAX 1000

static bool is_cluster(struct slice name)
{
    return name.len == 0;
}

/* --- who may ------------------------------------------------------------- */

/* The list of a policy, with the roles of @cluster, owned; NULL: it has none.
 */
static int list_with(const struct policy_file *f,
                     const struct policy_file *cluster,
                     struct access_list **out,
                     struct err *err)
{
    *out = NULL;
    return f->policy.has_access
               ? access_parse_with(f->policy.access, cluster->policy.roles, out,
                                   err)
               : 0;
}

/* As list_with(), for the file of a table. */
static int list_of(struct master_term *r,
                   const struct policy_file *f,
                   struct access_list **out,
                   struct err *err)
{
    struct policy_file cluster;
    int rc = policy_file_read(r, 0, &cluster, err);
    *out = NULL;
    if (rc == 0)
        rc = list_with(f, &cluster, out, err);
    policy_file_close(&cluster);
    return rc;
}

/* The list of the cluster, owned; NULL: there is none. */
static int
read_cluster(struct master_term *r, struct access_list **out, struct err *err)
{
    struct policy_file f;
    int rc = policy_file_read(r, 0, &f, err);
    if (rc == 0)
        rc = list_with(&f, &f, out, err);
    policy_file_close(&f);
    return rc;
}

/* *@is: @principal is an administrator. *@any (may be NULL): the cluster has a
 * list that names administrators. */
static int is_administrator(struct master_term *r,
                            struct slice principal,
                            bool *is,
                            bool *any,
                            struct err *err)
{
    const struct cluster_roles *roles = r->options->roles;
    struct access_list *l = NULL;
    int rc = read_cluster(r, &l, err);

    PRE(r->chubby);
    *is = cluster_roles_has(roles, principal) ||
          (l && (access_rights(l, principal, EVERY) & ACCESS_OWN));
    if (any)
        *any = l != NULL;
    access_free(l);
    return rc;
}

static int check_administrator(struct master_term *r,
                               struct slice principal,
                               struct err *err)
{
    bool is, any;
    int rc = is_administrator(r, principal, &is, &any, err);
    /* Until an administrator is named, all who may give orders are. */
    if (rc == 0 && !is && !any)
        is = cluster_roles_may_order(r->options->roles, principal);
    if (rc || is)
        return rc;
    return access_deny(principal, SLICE_EMPTY, EVERY, ACCESS_OWN, err);
}

static int
check_create(struct master_term *r, struct slice principal, struct err *err)
{
    struct access_list *l = NULL;
    int rc = 0;
    if (cluster_roles_has(r->options->roles, principal))
        return 0;
    rc = read_cluster(r, &l, err);
    if (rc == 0)
        rc = access_check(l, principal, SLICE_EMPTY, EVERY, ACCESS_CREATE, err);
    access_free(l);
    return rc;
}

/* As policies_check_table(), by the number and for @family. */
static int check_family(struct master_term *r,
                        struct slice principal,
                        struct slice name,
                        uint64_t table,
                        struct slice family,
                        enum access_right right,
                        struct err *err)
{
    struct access_list *l = NULL;
    struct policy_file f;
    bool is = false;
    int rc = policy_file_read(r, table, &f, err);

    PRE(right != 0);
    if (rc == 0)
        rc = list_of(r, &f, &l, err);
    policy_file_close(&f);
    if (rc == 0 && !(access_rights(l, principal, family) & (unsigned)right))
        rc = is_administrator(r, principal, &is, NULL, err);
    if (rc == 0 && !is)
        rc = access_check(l, principal, name, family, right, err);
    access_free(l);
    return rc;
}

int policies_check_table(struct master_term *r,
                         struct slice principal,
                         struct slice name,
                         enum access_right right,
                         struct err *err)
{
    uint64_t table = 0;
    int rc;

    PRE(right != 0);
    if (cluster_roles_has(r->options->roles, principal))
        return 0;
    rc = tables_find(r, name, &table, err);
    if (rc)
        return rc;
    return check_family(r, principal, name, table, EVERY, right, err);
}

int policies_check_snapshot(struct master_term *r,
                            struct slice principal,
                            struct slice name,
                            enum access_right right,
                            struct err *err)
{
    int rc = policies_check_table(r, principal, name, right, err);
    return rc == ERR_NOTFOUND ? check_create(r, principal, err) : rc;
}

/* Does the job master clone a table for a principal's job to read? The clone
 * goes when the job ends, so it needs only the right to read. */
static bool is_for_job(const struct master_term *r,
                       const struct rpc_call *call,
                       struct slice name)
{
    return !slice_eq(call->actor, call->principal) &&
           cluster_roles_may_order(r->options->roles, call->actor) &&
           slice_starts_with(name, SLICE_LIT(TABLE_OF_JOB_PREFIX));
}

/* A snapshot is taken of a table that may be read. A clone is made of one, by
 * those who may make tables, or for a job. */
static int check_snapshot_order(struct master_term *r,
                                const struct rpc_call *call,
                                bool is_clone,
                                struct err *err)
{
    struct snapshot_order o;
    int rc = snapshot_order_get(call->body, &o, err);

    PRE(r->ready);
    if (rc == 0 && is_clone && !is_for_job(r, call, o.table))
        rc = check_create(r, call->principal, err);
    return rc ? rc
              : policies_check_table(r, call->principal,
                                     is_clone ? o.name : o.table, ACCESS_READ,
                                     err);
}

static int check_table_order(struct master_term *r,
                             const struct rpc_call *call,
                             enum access_right right,
                             struct err *err)
{
    struct table_order o;
    int rc = table_order_get(call->body, &o, err);

    PRE(right == ACCESS_OWN || right == ACCESS_WRITE);
    if (rc)
        return rc;
    return policies_check_table(r, call->principal, o.name, right, err);
}

static int check_cluster(const struct master_term *r,
                         struct slice principal,
                         struct err *err)
{
    if (cluster_roles_may_order(r->options->roles, principal))
        return 0;
    return err_set(err, ERR_DENIED,
                   "\"%.*s\" is no role of this cluster, and gives its master "
                   "no such orders",
                   SLICE_ARG(principal));
}

int policies_check(struct master_term *r,
                   enum master_gate gate,
                   const struct rpc_call *call,
                   struct err *err)
{
    struct slice who = call->principal;
    switch (gate) {
    case MASTER_GATE_ANYBODY:
    case MASTER_GATE_ITSELF:
    case MASTER_GATE_STATUS: return 0;
    case MASTER_GATE_CLUSTER: return check_cluster(r, who, err);
    case MASTER_GATE_ADMIN: return check_administrator(r, who, err);
    case MASTER_GATE_CREATE: return check_create(r, who, err);
    case MASTER_GATE_OWN: return check_table_order(r, call, ACCESS_OWN, err);
    case MASTER_GATE_WRITE:
        return check_table_order(r, call, ACCESS_WRITE, err);
    case MASTER_GATE_SNAPSHOT: return check_snapshot_order(r, call, false, err);
    case MASTER_GATE_CLONE: return check_snapshot_order(r, call, true, err);
    }
    PANIC("no gate %d", (int)gate);
}

/* --- tables that come and go --------------------------------------------- */

int policies_list(struct master_term *r,
                  struct slice name,
                  bool *any,
                  struct buf *out,
                  struct err *err)
{
    struct policy_file f = {.bytes = BUF_INIT};
    uint64_t table = 0;
    int rc = tables_find(r, name, &table, err);

    PRE(r->ready);
    *any = false;
    if (rc == 0)
        rc = policy_file_read(r, table, &f, err);
    if (rc == 0 && f.policy.has_access) {
        *any = true;
        buf_append_slice(out, f.policy.access);
    }
    policy_file_close(&f);
    return rc;
}

int policies_made(struct master_term *r,
                  uint64_t table,
                  struct slice creator,
                  const struct slice *access,
                  struct err *err)
{
    struct table_policy p = {.has_access = true};
    struct policy_file f = {.bytes = BUF_INIT};
    struct buf list = BUF_INIT;
    int rc;

    PRE(r->chubby);
    if (!access &&
        (!cluster_roles_are_proved(r->options->roles) || creator.len == 0))
        return 0;
    rc = creator.len == 0
             ? 0
             : access_change(access ? *access : SLICE_EMPTY, true, EVERY,
                             SLICE_LIT("own"), creator, &list, err);
    if (rc == 0 && creator.len == 0)
        buf_append_slice(&list, *access);
    p.access = buf_slice(&list);
    f.policy = p;
    if (rc == 0)
        rc = policy_file_write(r, table, &f, err);
    buf_close(&list);
    return rc;
}

void policies_dropped(struct master_term *r, uint64_t table)
{
    PRE(table != 0); /* The cluster keeps its policy. */
    policy_file_remove(r, table);
    policy_watch_forget(r, table);
}

/* --- showing ------------------------------------------------------------- */

/* May @principal see the policy @f of the table @name? */
static int check_look(struct master_term *r,
                      struct slice principal,
                      struct slice name,
                      const struct policy_file *f,
                      struct err *err)
{
    struct access_list *l;
    bool is = false;
    int rc = list_of(r, f, &l, err);
    if (rc == 0 && !access_rights_anywhere(l, principal)) {
        rc = is_administrator(r, principal, &is, NULL, err);
        if (rc == 0 && !is)
            rc = access_deny(principal, name, EVERY, ACCESS_READ, err);
    }
    access_free(l);
    return rc;
}

int policies_show(struct master_term *r, struct rpc_call *call, struct err *err)
{
    struct policy_order o;
    struct policy_file f = {.bytes = BUF_INIT};
    uint64_t table = 0;
    int rc = policy_order_get(call->body, &o, err);

    PRE(r->ready);
    if (rc == 0 && !is_cluster(o.table))
        rc = tables_find(r, o.table, &table, err);
    if (rc == 0)
        rc = policy_file_read(r, table, &f, err);
    if (rc == 0 && table)
        rc = check_look(r, call->principal, o.table, &f, err);
    if (rc == 0) {
        if (table)
            policy_use_of(r, table, &f.policy.use);
        table_policy_put(&f.policy, call->reply_body);
    }
    policy_file_close(&f);
    return rc;
}

/* --- changing ------------------------------------------------------------ */

/* A change of a policy in progress. */
struct change {
    struct master_term *term;
    struct slice principal;
    struct policy_change what;
    uint64_t table;     /* 0: the cluster. */
    bool administrator; /* Is the caller one? */
};

static int check_change(struct change *c, struct err *err)
{
    struct slice family = EVERY;
    bool any;
    int rc =
        is_administrator(c->term, c->principal, &c->administrator, &any, err);
    if (rc || c->administrator)
        return rc;
    if (c->table == 0 || (c->what.kind == POLICY_QUOTA && any))
        return check_administrator(c->term, c->principal, err);
    if (c->what.kind == POLICY_GRANT || c->what.kind == POLICY_REVOKE)
        family = c->what.family;
    return check_family(c->term, c->principal, c->what.table, c->table, family,
                        ACCESS_OWN, err);
}

/* Refuse rights to a family that does not exist: they would be a mistake. */
static int find_family(struct change *c, struct err *err)
{
    struct buf path = BUF_INIT;
    struct buf bytes = BUF_INIT;
    struct table_record rec;
    struct schema *schema = NULL;
    uint64_t generation;
    int rc;

    PRE(c->term->ready);
    if (c->table == 0 || c->what.kind != POLICY_GRANT ||
        slice_eq(c->what.family, EVERY))
        return 0;
    buf_printf(&path, BIGTABLE_LOCK_TABLES "/%.*s", SLICE_ARG(c->what.table));
    rc = lock_state_read(c->term->chubby, buf_cstr(&path), &bytes, &generation,
                         err);
    if (rc == 0)
        rc = table_record_get(buf_slice(&bytes), &rec, err);
    if (rc == 0)
        rc = schema_decode(rec.schema, &schema, err);
    if (rc == 0 && !schema_family(schema, c->what.family))
        rc = schema_no_family(schema, c->what.family, err);
    schema_free(schema);
    buf_close(&path);
    buf_close(&bytes);
    return rc;
}

/* Check a list of a table, or of the cluster; its author must not shut himself
 * out. */
static int check_list(struct change *c, struct slice text, struct err *err)
{
    struct access_list *l;
    unsigned rights;
    int rc = access_parse(text, &l, err);

    PRE(c->term->ready);
    if (rc)
        return rc;
    rights = access_rights(l, c->principal, EVERY);
    if (access_has_right(l, ACCESS_CREATE) && c->table)
        rc = err_set(err, ERR_INVALID,
                     "the right create is one of the cluster, not of tables");
    else if (access_has_right(l, ACCESS_MEMBER))
        rc = err_set(err, ERR_INVALID,
                     "members are those of roles: quarry acl role");
    else if (c->table == 0 && (access_has_right(l, ACCESS_READ) ||
                               access_has_right(l, ACCESS_WRITE)))
        rc = err_set(err, ERR_INVALID,
                     "the rights of the cluster are create and own");
    else if (!c->administrator && c->table && !(rights & ACCESS_OWN) &&
             !access_has_right(l, ACCESS_OWN))
        rc = err_set(err, ERR_INVALID,
                     "the table would be nobody's: name an owner of *");
    access_free(l);
    return rc;
}

/* An open table belongs to all callers: the one who grants the first right
 * stays its owner, unless he is an administrator. */
static int start_list(struct change *c, struct buf *list, struct err *err)
{
    PRE(list);
    if (c->administrator || c->what.kind == POLICY_REVOKE)
        return 0;
    return access_change(SLICE_EMPTY, true, EVERY, SLICE_LIT("own"),
                         c->principal, list, err);
}

/* Append the list of @f with the change made. */
static int make_list(struct change *c,
                     struct policy_file *f,
                     struct buf *out,
                     struct err *err)
{
    const struct policy_change *w = &c->what;
    struct buf before = BUF_INIT;
    int rc = 0;

    PRE(w->kind != POLICY_QUOTA);
    PRE(w->kind != POLICY_RATE);
    f->policy.has_access = w->kind != POLICY_OPEN;
    if (w->kind == POLICY_OPEN)
        return 0;
    if (w->kind == POLICY_REPLACE) {
        buf_append_slice(out, w->access);
        return check_list(c, buf_slice(out), err);
    }
    buf_append_slice(&before, f->policy.access);
    if (!f->had_access)
        rc = start_list(c, &before, err);
    if (rc == 0)
        rc = access_change(buf_slice(&before), w->kind == POLICY_GRANT,
                           w->family, w->right, w->principals, out, err);
    if (rc == 0)
        rc = check_list(c, buf_slice(out), err);
    buf_close(&before);
    return rc;
}

static int change_file(struct change *c, struct policy_file *f, struct err *err)
{
    struct buf list = BUF_INIT;
    int rc = 0;

    PRE(c->table == 0 || c->what.kind != POLICY_ROLE);
    if (c->what.kind == POLICY_RATE) {
        const struct principal_rate rate = {c->what.principals,
                                            c->what.quota.reads_per_s,
                                            c->what.quota.bytes_per_s};
        rc = principal_rates_change(f->policy.rates, &rate, &list, err);
        f->policy.rates = buf_slice(&list);
    } else if (c->what.kind == POLICY_ROLE) {
        rc = access_change_roles(f->policy.roles, c->what.right, c->what.family,
                                 c->what.principals, &list, err);
        f->policy.roles = buf_slice(&list);
    } else if (c->what.kind == POLICY_QUOTA) {
        f->policy.quota = c->what.quota;
        policy_use_judge(c->term, c->table, &f->policy);
    } else if (c->what.kind == POLICY_REVOKE && !f->had_access) {
        return err_set(err, ERR_INVALID,
                       "there is no list of rights yet: all have all of them");
    } else {
        rc = make_list(c, f, &list, err);
        f->policy.access = buf_slice(&list);
    }
    if (rc == 0)
        rc = policy_file_write(c->term, c->table, f, err);
    if (rc == 0)
        policy_watch_note(c->term, c->table, &f->policy);
    buf_close(&list);
    return rc;
}

static int apply_change(struct change *c, struct err *err)
{
    int rc = ERR_ABORTED;

    PRE(c->table == 0 || c->what.kind != POLICY_RATE);
    for (int i = 0; i < CHANGE_TRIES_MAX && rc == ERR_ABORTED; i++) {
        struct policy_file f;
        rc = policy_file_read(c->term, c->table, &f, err);
        if (rc == 0)
            rc = change_file(c, &f, err);
        policy_file_close(&f);
    }
    return rc;
}

int policies_change(struct master_term *r,
                    struct rpc_call *call,
                    struct err *err)
{
    struct change c = {.term = r, .principal = call->principal};
    int rc = policy_change_get(call->body, &c.what, err);

    PRE(r->ready);
    if (rc == 0 && !is_cluster(c.what.table))
        rc = tables_find(r, c.what.table, &c.table, err);
    if (rc == 0 && c.table == 0 && c.what.kind == POLICY_QUOTA)
        rc = err_set(err, ERR_INVALID, "tables have quotas, the cluster none");
    if (rc == 0 && c.table && c.what.kind == POLICY_ROLE)
        rc = err_set(err, ERR_INVALID, "roles are the cluster's");
    if (rc == 0 && c.table && c.what.kind == POLICY_RATE)
        rc = err_set(err, ERR_INVALID,
                     "principals have rates in the cluster, not in a table");
    if (rc == 0)
        rc = check_change(&c, err);
    if (rc == 0)
        rc = find_family(&c, err);
    return rc ? rc : apply_change(&c, err);
}
