/* Keys of a result, from the clauses of its query. A column that is neither an
 * aggregate nor an expression of the groups cannot be selected beside groups,
 * so that everything else there is a key.
 */
#include "bigtable/googlesql/gsql_keys.h"

#include "bigtable/googlesql/gsql_lexer.h"
#include "bigtable/googlesql/gsql_scope.h"

/* Of a position in ORDER BY; there are no more columns. */
#define POSITION_DIGITS_MAX 5

struct slice gsql_selected_name(const struct gsql_node *n)
{
    if (n->alias.len)
        return n->alias;
    return n->kind == GSQL_NAME || n->kind == GSQL_MEMBER ? n->text
                                                          : SLICE_EMPTY;
}

static bool has_star(const struct gsql_query *q)
{
    for (const struct gsql_node *n = q->select; n; n = n->next)
        if (n->kind == GSQL_STAR)
            return true;
    return false;
}

/* Is @n the number @position? */
static bool is_position(const struct gsql_node *n, size_t position)
{
    size_t v = 0;
    if (n->kind != GSQL_INTEGER || n->text.len > POSITION_DIGITS_MAX)
        return false;
    for (size_t i = 0; i < n->text.len; i++) {
        if (n->text.data[i] < '0' || n->text.data[i] > '9')
            return false;
        v = v * 10 + (size_t)(n->text.data[i] - '0');
    }
    return v == position;
}

static bool
is_ordered_by(const struct gsql_query *q, struct slice name, size_t position)
{
    for (const struct gsql_node *n = q->order; n; n = n->next) {
        const struct gsql_node *by = n->a;
        if (is_position(by, position) || (by->kind == GSQL_NAME && name.len &&
                                          gsql_same_name(by->text, name)))
            return true;
    }
    return false;
}

void gsql_mark_keys(const struct gsql_query *q,
                    struct gsql_column *columns,
                    size_t count)
{
    const struct gsql_node *n = q->select;
    const bool grouped = q->group || q->group_all;
    if (has_star(q))
        return;
    for (size_t i = 0; n && i < count; i++, n = n->next)
        columns[i].is_key =
            grouped ? !gsql_has_aggregate(n)
                    : is_ordered_by(q, gsql_selected_name(n), i + 1);
}
