/* Mutations on their way to a tablet server. Families are checked against the
 * schema that the client knows, which is read again before one is refused: a
 * mistake costs no call of a tablet server, and a new family is not missed.
 */
#include "bigtable/client/cluster/resolve.h"

#include "base/core/coding.h"
#include "base/core/panic.h"
#include "bigtable/client/cluster/cluster_client.h"
#include "bigtable/row/mutation.h"
#include "bigtable/row/schema.h"

/* The first family that the schema has not; false: it has all. */
static bool find_unknown(const struct schema *s,
                         const struct quarry_mutation *m,
                         struct slice *name)
{
    struct cursor c = cursor_make(buf_slice(&m->ops));
    struct slice known = SLICE_EMPTY;
    struct mutation_op op;
    while (mutation_next(&c, &op)) {
        if (op.kind == MUTATION_DELETE_ROW || slice_eq(op.family, known))
            continue;
        if (!schema_family(s, op.family)) {
            *name = op.family;
            return true;
        }
        known = op.family;
    }
    return false;
}

int mutation_families_check(struct cluster_table *t,
                            const struct quarry_mutation *m,
                            struct err *err)
{
    struct slice name;
    int rc;
    if (!find_unknown(t->schema, m, &name))
        return 0;
    rc = cluster_table_refresh(t, err); /* Is it new? */
    if (rc == 0 && find_unknown(t->schema, m, &name))
        rc = schema_no_family(t->schema, name, err);
    return rc;
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
