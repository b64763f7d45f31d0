/* Reading the cell of an aggregate: its operands follow each other in key
 * order, the newest first, and are folded as they come.
 */
#include "base/core/buf.h"
#include "base/core/panic.h"
#include "bigtable/row/aggregate.h"
#include "bigtable/row/read_row.h"

/* Is the entry at @s of the cell of the last one that was judged? */
static bool is_of_cell(const struct entry_source *s, const struct visibility *v)
{
    return s->valid &&
           s->key.len == v->column_length + CELL_KEY_VERSION_BYTES &&
           memcmp(s->key.data, v->prefix.data, v->column_length) == 0 &&
           cell_key_timestamp(s->key) == v->time_us;
}

static int
fold_entry(struct aggregate_value *a, struct entry_source *s, struct err *err)
{
    if (aggregate_value_add(a, cell_key_kind(s->key), s->value))
        return 0;
    return err_set(err, ERR_CORRUPT,
                   "an operand of %zu bytes does not fit its aggregate %s",
                   s->value.len, aggregate_name(a->kind));
}

int fold_operands(struct entry_source *s,
                  struct visibility *view,
                  enum fate (*feed)(struct visibility *v,
                                    struct slice key,
                                    struct slice value),
                  struct buf *out,
                  struct err *err)
{
    struct aggregate_value a;
    enum fate fate = FATE_OPERAND;
    int rc = 0;
    PRE(s->valid);
    PRE(view->at_time == TIME_OPERANDS);
    aggregate_value_init(&a, view->rules->aggregate);
    do {
        if (fate == FATE_OPERAND)
            rc = fold_entry(&a, s, err);
        else if (fate == FATE_MALFORMED)
            rc = err_set(err, ERR_CORRUPT, "an entry is not a cell key");
        if (rc == 0)
            rc = s->ops->next(s, err);
        if (rc || !is_of_cell(s, view))
            break;
        fate = feed(view, s->key, s->value);
    } while (true);
    if (rc == 0)
        aggregate_value_put(&a, out);
    aggregate_value_close(&a);
    return rc;
}
