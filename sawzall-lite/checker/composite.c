/* Types of literals { … }: from the context, or guessed from the items. The
 * language has one notation for arrays, maps and tuples (and for strings of
 * characters), so a literal stays of incomplete type until something decides.
 */
#include "base/core/panic.h"
#include "sawzall-lite/checker/check_internal.h"

static bool is_untyped(const struct saw_expr *e)
{
    return e->kind == EXPR_COMPOSITE && e->type->kind == SAW_INCOMPLETE;
}

bool check_compatible(struct saw_checker *c,
                      const struct saw_type *type,
                      struct saw_expr *e)
{
    if (is_untyped(e))
        check_composite_as(c, e, type);
    return saw_type_equal(e->type, type);
}

static bool items_fit(struct saw_checker *c,
                      const struct saw_exprs *items,
                      size_t from,
                      size_t step,
                      const struct saw_type *type)
{
    size_t i;

    for (i = from; i < items->count; i += step) {
        if (!check_compatible(c, type, items->at[i]))
            return false;
    }
    return true;
}

static bool fits_tuple(struct saw_checker *c,
                       const struct saw_exprs *items,
                       const struct saw_type *type)
{
    size_t i;

    if (items->count != type->field_count || type->open)
        return false;
    for (i = 0; i < items->count; i++) {
        if (!check_compatible(c, type->fields[i].type, items->at[i]))
            return false;
    }
    return true;
}

static void composite_settle(struct saw_checker *c,
                             struct saw_expr *e,
                             const struct saw_type *type)
{
    e->type = type;
    fold_expr(c, e);
}

static bool settle_new(struct saw_checker *c,
                       struct saw_expr *e,
                       const struct saw_type *type)
{
    if (saw_type_size(type) > SAW_TYPE_SIZE_MAX)
        return false;
    composite_settle(c, e, type);
    return true;
}

bool check_composite_as(struct saw_checker *c,
                        struct saw_expr *e,
                        const struct saw_type *type)
{
    const struct saw_exprs *items = &e->u.composite.items;
    bool fits = false;

    PRE(e->kind == EXPR_COMPOSITE);
    if (type->kind == SAW_ARRAY && !e->u.composite.paired)
        fits = items_fit(c, items, 0, 1, type->elem);
    else if ((type->kind == SAW_STRING || type->kind == SAW_BYTES) &&
             !e->u.composite.paired) /* {65, 66}: characters or bytes. */
        fits = items_fit(c, items, 0, 1, &saw_type_int);
    else if (type->kind == SAW_TUPLE && !e->u.composite.paired)
        fits = fits_tuple(c, items, type);
    else if (type->kind == SAW_MAP && e->u.composite.paired)
        fits = items_fit(c, items, 0, 2, type->key) &&
               items_fit(c, items, 1, 2, type->elem);
    else if (type->kind == SAW_BAD)
        e->type = type;
    if (fits)
        composite_settle(c, e, type);
    return fits;
}

/* The first type known among the items, else one guessed for a nested
 * literal; NULL if there is none. */
static const struct saw_type *first_type(struct saw_checker *c,
                                         const struct saw_exprs *items,
                                         size_t from,
                                         size_t step)
{
    size_t i;

    for (i = from; i < items->count; i += step) {
        if (!is_untyped(items->at[i]))
            return items->at[i]->type;
    }
    for (i = from; i < items->count; i += step) {
        if (check_composite_guess(c, items->at[i], true))
            return items->at[i]->type;
    }
    return NULL;
}

static bool guess_map(struct saw_checker *c, struct saw_expr *e)
{
    const struct saw_exprs *items = &e->u.composite.items;
    const struct saw_type *key = first_type(c, items, 0, 2);
    const struct saw_type *value = first_type(c, items, 1, 2);

    if (!key || !value || !items_fit(c, items, 0, 2, key) ||
        !items_fit(c, items, 1, 2, value))
        return false;
    return settle_new(c, e, saw_type_map(c->arena, key, value));
}

static bool guess_array(struct saw_checker *c, struct saw_expr *e)
{
    const struct saw_exprs *items = &e->u.composite.items;
    const struct saw_type *elem = first_type(c, items, 0, 1);

    if (!elem || !items_fit(c, items, 0, 1, elem))
        return false;
    return settle_new(c, e, saw_type_array(c->arena, elem));
}

static bool guess_tuple(struct saw_checker *c, struct saw_expr *e)
{
    const struct saw_exprs *items = &e->u.composite.items;
    struct saw_field *f =
        arena_zalloc(c->arena, (items->count + 1) * sizeof(*f));
    struct saw_type *t;
    size_t i;

    for (i = 0; i < items->count; i++) {
        if (is_untyped(items->at[i]) &&
            !check_composite_guess(c, items->at[i], true))
            return false;
        f[i].name = SLICE_EMPTY;
        f[i].type = items->at[i]->type;
    }
    t = arena_zalloc(c->arena, sizeof(*t));
    t->kind = SAW_TUPLE;
    t->name = SLICE_EMPTY;
    t->fields = f;
    t->field_count = items->count;
    check_size(c, e->pos, t);
    composite_settle(c, e, t);
    return true;
}

bool check_composite_guess(struct saw_checker *c,
                           struct saw_expr *e,
                           bool tuples)
{
    if (!is_untyped(e))
        return false;
    if (e->u.composite.paired)
        return guess_map(c, e);
    return guess_array(c, e) || (tuples && guess_tuple(c, e));
}
