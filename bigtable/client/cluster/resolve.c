/* Mutations on their way to a tablet server. Families are checked against the
 * schema that the client knows, which is read again before one is refused: a
 * mistake costs no call of a tablet server, and a new family is not missed.
 */
#include "bigtable/client/cluster/resolve.h"

#include "base/core/coding.h"
#include "base/core/panic.h"
#include "bigtable/client/cluster/cluster_client.h"
#include "bigtable/row/index_set.h"
#include "bigtable/row/mutation.h"
#include "bigtable/row/schema.h"

/* 0 if the schema has the families of all operations, which take them. */
static int check_ops(const struct schema *s,
                     const struct quarry_mutation *m,
                     struct err *err)
{
    struct cursor c = cursor_make(buf_slice(&m->ops));
    const struct family *f = NULL;
    struct mutation_op op;
    int rc = 0;
    while (rc == 0 && mutation_next(&c, &op)) {
        if (mutation_kind_is_of_row(op.kind))
            continue;
        if (!f || !slice_eq_str(op.family, f->name))
            f = schema_family(s, op.family);
        rc = f ? aggregate_check_op(f, &op, err)
               : schema_no_family(s, op.family, err);
    }
    return rc;
}

int mutation_families_check(struct cluster_table *t,
                            const struct quarry_mutation *m,
                            struct err *err)
{
    int rc;
    if (t->schema->indexes) {
        rc = index_set_guard(t->schema->indexes, m, err);
        if (rc)
            return rc;
    }
    if (check_ops(t->schema, m, NULL) == 0)
        return 0;
    rc = cluster_table_refresh(t, err); /* Is it new? */
    return rc ? rc : check_ops(t->schema, m, err);
}

void row_change_mutation_put(uint64_t tablet,
                             uint64_t sequence,
                             const struct quarry_mutation *m,
                             struct buf *out)
{
    const struct row_change change = {.tablet = tablet,
                                      .sequence = sequence,
                                      .row = buf_slice(&m->row),
                                      .ops = buf_slice(&m->ops),
                                      .count = (uint32_t)m->count};
    row_change_put(&change, out);
}
