/* The writes of an observer's function: held against what the observer says
 * that it writes, kept until the function has succeeded, and put into the
 * transaction then.
 */
#include <string.h>

#include "base/core/panic.h"
#include "bigtable/observer/observer_run.h"
#include "bigtable/row/mutation.h"

/* A deletion of a family is of all its columns. */
static bool observer_has_family(const struct observer_settings *s,
                                const char *table,
                                struct slice family)
{
    for (size_t i = 0; i < s->write_count; i++)
        if (!s->writes[i].qualifier && strcmp(s->writes[i].table, table) == 0 &&
            slice_eq_str(family, s->writes[i].family))
            return true;
    return false;
}

int observer_find_output(struct observer_run *r,
                         const char *table,
                         struct quarry_table **out,
                         struct err *err)
{
    int rc;
    for (size_t i = 0; i < r->output_count; i++)
        if (strcmp(quarry_table_name(r->outputs[i]), table) == 0) {
            *out = r->outputs[i];
            return 0;
        }
    PRE(r->output_count < QUARRY_OBSERVER_COLUMNS_MAX);
    rc = quarry_table_open(r->quarry, table, out, err);
    if (rc == 0)
        r->outputs[r->output_count++] = *out;
    return rc;
}

static int deny_write(const struct observer_run *r,
                      const char *table,
                      const struct mutation_op *op,
                      struct err *err)
{
    if (op->kind == MUTATION_DELETE_ROW)
        return err_set(err, ERR_DENIED,
                       "observer %s deletes a row of %s: it may delete "
                       "columns and families that it says it writes",
                       r->name, table);
    err_set(err, ERR_DENIED, "observer %s does not say that it writes %s:%.*s",
            r->name, table, SLICE_ARG(op->family));
    err_hint(err, "make it with %s:%.*s among what it writes", table,
             SLICE_ARG(op->family));
    return ERR_DENIED;
}

/* Everything that @m changes must have been declared; a whole row never is. */
static int check_write(const struct observer_run *r,
                       const char *table,
                       const struct quarry_mutation *m,
                       struct err *err)
{
    const struct observer_settings *s = &r->settings;
    struct cursor c = cursor_make(buf_slice(&m->ops));
    struct mutation_op op;
    int rc = mutation_check(m, err);
    while (rc == 0 && mutation_next(&c, &op)) {
        bool whole = op.kind == MUTATION_DELETE_FAMILY;
        bool declared = op.kind != MUTATION_DELETE_ROW;
        declared =
            declared &&
            (whole ? observer_has_family(s, table, op.family)
                   : observer_has_column(s->writes, s->write_count, table,
                                         op.family, &op.qualifier));
        if (!declared)
            rc = deny_write(r, table, &op, err);
    }
    return rc;
}

static struct quarry_mutation *copy_mutation(const struct quarry_mutation *m)
{
    struct quarry_mutation *copy = quarry_mutation_new(buf_slice(&m->row));
    buf_append_slice(&copy->ops, buf_slice(&m->ops));
    copy->count = m->count;
    return copy;
}

int quarry_observer_write(struct quarry_observation *o,
                          const char *table,
                          const struct quarry_mutation *m,
                          struct err *err)
{
    struct observer_write w = {.table = NULL};
    int rc = check_write(o->run, table, m, err);
    if (rc == 0)
        rc = observer_find_output(o->run, table, &w.table, err);
    if (rc)
        return rc;
    w.m = copy_mutation(m);
    buf_append(&o->observed->writes, &w, sizeof(w));
    return 0;
}

void observer_drop_writes(struct observed_row *row)
{
    struct observer_write *w = (void *)row->writes.data;
    for (size_t i = 0; i < row->writes.len / sizeof(*w); i++)
        quarry_mutation_free(w[i].m);
    buf_clear(&row->writes);
}

int observer_apply_writes(struct observer_run *r,
                          struct quarry_txn *txn,
                          const struct observed_row *row,
                          struct err *err)
{
    const struct observer_write *w = (const void *)row->writes.data;
    int rc = 0;
    PRE(!r->settings.derives);
    for (size_t i = 0; i < row->writes.len / sizeof(*w) && rc == 0; i++)
        rc = quarry_txn_apply(txn, w[i].table, w[i].m, err);
    return rc;
}
