/* Checks of calls against lists of rights.
 *
 * A principal's rights to all families are one test; rights to single families
 * are looked up once for each principal and kept until the policy changes
 * (rules.c). Roles of the cluster may do everything with users' tables, and
 * they alone write METADATA, which everybody reads. */
#include "base/core/coding.h"
#include "base/core/panic.h"
#include "base/rpc/roles.h"
#include "base/runtime/audit.h"
#include "base/runtime/world.h"
#include "bigtable/row/filter.h"
#include "bigtable/row/mutation.h"
#include "bigtable/row/schema.h"
#include "bigtable/tablet_server/rules.h"
#include "bigtable/tablet_server/rules_state.h"
#include "bigtable/tablet_server/tablet_server_state.h"

/* Is there nothing to check, because the table has no list or a role of the
 * cluster calls? */
static bool
is_free(struct tablet_server *s, struct served *t, struct slice principal)
{
    if (LIKELY(t->rules && t->rules->none))
        return true;
    PRE(t->rules || t->table_id == METADATA_TABLE_ID); /* rules_refresh() */
    if (t->table_id == METADATA_TABLE_ID || !t->rules->list)
        return true;
    return cluster_roles_has(s->options.roles, principal);
}

static int check_metadata(struct tablet_server *s,
                          struct served *t,
                          struct slice principal,
                          enum access_right right,
                          struct err *err)
{
    PRE(right != 0);
    if (t->table_id != METADATA_TABLE_ID || right == ACCESS_READ ||
        cluster_roles_may_order(s->options.roles, principal))
        return 0;
    return access_deny(principal, SLICE_LIT(METADATA_TABLE),
                       SLICE_LIT(METADATA_FAMILY), right, err);
}

/* Between notes about the same administrator and table. */
#define NOTED_NS UINT64_C(1000000000)

/* An administrator reads a table whose list does not name him: note it in the
 * audit log, once a second. */
static void note_administrator(struct tablet_server *s,
                               const struct table_rules *r,
                               struct grants *g,
                               struct slice principal)
{
    const struct audit_event e = {.who = principal,
                                  .what =
                                      SLICE_LIT("tablet.read_as_administrator"),
                                  .on = slice_str(r->name)};
    PRE(g->is_administrator);
    uint64_t now = world_mono_ns(s->world);
    if (g->noted_ns && now - g->noted_ns < NOTED_NS)
        return;
    g->noted_ns = now;
    if (world_is_audited(s->world))
        audit_note(s->world, &e);
}

static int rights_allow(struct tablet_server *s,
                        struct table_rules *r,
                        struct grants *g,
                        struct slice principal,
                        struct slice family,
                        enum access_right right,
                        struct err *err)
{
    PRE(right != 0);
    PRE(r->list);
    if ((g->everywhere & (unsigned)right) ||
        (rules__rights(r, g, principal, family) & (unsigned)right))
        return 0;
    if (g->is_administrator && right == ACCESS_READ) {
        note_administrator(s, r, g, principal);
        return 0;
    }
    return access_deny(principal, slice_str(r->name), family, right, err);
}

int rules_may(struct tablet_server *s,
              struct served *t,
              struct slice principal,
              struct slice family,
              enum access_right right,
              struct err *err)
{
    int rc = check_metadata(s, t, principal, right, err);

    PRE(right != 0);
    if (rc || is_free(s, t, principal))
        return rc;
    return rights_allow(s, t->rules, rules__grants(t->rules, principal),
                        principal, family, right, err);
}

static int may_families(struct tablet_server *s,
                        struct served *t,
                        struct slice principal,
                        const struct schema *schema,
                        const uint8_t *by_id,
                        const struct quarry_filter *filter,
                        enum access_right right,
                        struct err *err)
{
    struct grants *g;
    int rc = check_metadata(s, t, principal, right, err);

    PRE(schema);
    if (rc || is_free(s, t, principal))
        return rc;
    g = rules__grants(t->rules, principal);
    INVARIANT(g);
    if (g->everywhere & (unsigned)right)
        return 0;
    for (size_t i = 0; i < schema->family_count && rc == 0; i++) {
        const struct family *f = &schema->families[i];
        struct slice name = slice_str(f->name);
        if ((!by_id || by_id[f->id]) && filter_reads_family(filter, name))
            rc = rights_allow(s, t->rules, g, principal, name, right, err);
    }
    return rc;
}

int rules_may_all(struct tablet_server *s,
                  struct served *t,
                  struct slice principal,
                  const struct schema *schema,
                  const uint8_t *by_id,
                  enum access_right right,
                  struct err *err)
{
    PRE(right != 0);
    return may_families(s, t, principal, schema, by_id, NULL, right, err);
}

int rules_may_read(struct tablet_server *s,
                   struct served *t,
                   struct slice principal,
                   const struct schema *schema,
                   const uint8_t *by_id,
                   const struct quarry_filter *filter,
                   struct err *err)
{
    return may_families(s, t, principal, schema, by_id, filter, ACCESS_READ,
                        err);
}

int rules_may_change(struct tablet_server *s,
                     struct served *t,
                     struct slice principal,
                     const struct schema *schema,
                     const struct quarry_mutation *m,
                     struct err *err)
{
    struct cursor c = cursor_make(buf_slice(&m->ops));
    struct mutation_op op;
    struct grants *g;
    int rc = check_metadata(s, t, principal, ACCESS_WRITE, err);
    if (rc || is_free(s, t, principal))
        return rc;
    INVARIANT(t->rules);
    INVARIANT(t->rules->list); /* It is not free. */
    g = rules__grants(t->rules, principal);
    if (g->everywhere & ACCESS_WRITE)
        return 0;
    while (rc == 0 && mutation_next(&c, &op)) {
        if (op.kind == MUTATION_ORIGIN)
            continue;
        if (op.kind == MUTATION_DELETE_ROW)
            rc =
                rules_may_all(s, t, principal, schema, NULL, ACCESS_WRITE, err);
        else
            rc = rights_allow(s, t->rules, g, principal, op.family,
                              ACCESS_WRITE, err);
    }
    return rc;
}

int rules_may_look(struct tablet_server *s,
                   struct served *t,
                   struct slice principal,
                   struct err *err)
{
    const struct grants *g;
    if (is_free(s, t, principal))
        return 0;
    INVARIANT(t->rules);
    INVARIANT(t->rules->list); /* It is not free. */
    g = rules__grants(t->rules, principal);
    if (g->anywhere || g->is_administrator)
        return 0;
    return access_deny(principal, slice_str(t->rules->name), SLICE_LIT("*"),
                       ACCESS_READ, err);
}

bool rules_is_growth(const struct quarry_mutation *m)
{
    struct cursor c = cursor_make(buf_slice(&m->ops));
    struct mutation_op op;
    while (mutation_next(&c, &op))
        if (mutation_kind_has_value(op.kind))
            return true;
    return false;
}
