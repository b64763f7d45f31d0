/* Assignment: to a variable, an element, a field, a slice of any of these.
 *
 * A shared container is copied before it is changed, from the variable
 * inwards: own(a[i].f) owns a, then its element i, then the field f of that.
 * Parts of text are changed by making a new text and assigning that.
 */
#include "base/core/panic.h"
#include "sawzall-lite/generator/gen.h"

static bool is_text(const struct saw_type *t)
{
    return t->kind == SAW_STRING || t->kind == SAW_BYTES;
}

/* Whether it is stored by making the object again: part of a text, or a slice.
 */
static bool is_rebuilt(const struct saw_expr *e)
{
    return e->kind == EXPR_INDEX &&
           (e->u.index.end || is_text(e->u.index.object->type));
}

static struct saw_expr *object_of(const struct saw_expr *e)
{
    return e->kind == EXPR_SELECT ? e->u.select.object : e->u.index.object;
}

/* The operations between an object and its part, the last one first. */
struct path {
    struct saw_expr *at[SAW_NESTING_MAX + 2];
    size_t count;
};

/* --- indices, evaluated once --------------------------------------------- */

static void evaluate_index(struct gen *g, struct saw_expr *e)
{
    const struct saw_type *t = e->u.index.object->type;
    gen_reg r;

    if (e->u.index.has_dollar) {
        e->u.index.length_reg = gen_temp(g);
        r = gen_any(g, e->u.index.object);
        gen_abc(g, t->kind == SAW_ARRAY ? SAW_OP_ALEN : SAW_OP_SLEN,
                e->u.index.length_reg, r, 0);
    }
    r = gen_temp(g);
    gen_held(g, e->u.index.begin, r);
    e->u.index.cached_reg = r + 1;
    if (e->u.index.end) {
        r = gen_temp(g);
        gen_to(g, e->u.index.end, r);
        e->u.index.cached_end = r + 1;
    }
}

void gen_target_begin(struct gen *g, struct saw_expr *e)
{
    struct path p = {.count = 0};

    for (; e->kind != EXPR_NAME; e = object_of(e)) {
        INVARIANT(p.count < ARRAY_LEN(p.at)); /* INV-1 of ast.h */
        p.at[p.count++] = e;
    }
    while (p.count-- > 0) {
        if (p.at[p.count]->kind == EXPR_INDEX)
            evaluate_index(g, p.at[p.count]);
    }
}

void gen_target_end(struct saw_expr *e)
{
    for (; e->kind != EXPR_NAME; e = object_of(e)) {
        if (e->kind == EXPR_INDEX)
            e->u.index.cached_reg = e->u.index.cached_end = 0;
    }
}

static gen_reg cached_index(const struct saw_expr *e)
{
    PRE(e->u.index.cached_reg > 0); /* Since gen_target_begin(). */
    return e->u.index.cached_reg - 1;
}

/* --- storing ------------------------------------------------------------- */

/* @to = own(@to's part that @e names). */
static void own_part(struct gen *g, const struct saw_expr *e, gen_reg to)
{
    g->at = e->pos;
    if (e->kind == EXPR_SELECT) {
        gen_abcx(g, SAW_OP_OWNFIELD, to, to, (uint32_t)e->u.select.field,
                 e->u.select.object->type);
    } else if (e->u.index.object->type->kind == SAW_MAP) {
        gen_abcx(g, SAW_OP_OWNVALUE, to, to, cached_index(e),
                 e->u.index.object->type);
        gen_may_undef(g);
    } else {
        gen_abcx(g, SAW_OP_OWNELEM, to, to, cached_index(e), e->type);
        gen_may_undef(g);
    }
}

/* Store @value at the part @e of the owned container @in. */
static void gen_store_put(struct gen *g,
                          const struct saw_expr *e,
                          gen_reg in,
                          gen_reg value)
{
    g->at = e->pos;
    if (e->kind == EXPR_SELECT) {
        gen_abc(g, SAW_OP_FSET, in, value, (uint32_t)e->u.select.field);
    } else if (e->u.index.object->type->kind == SAW_MAP) {
        gen_abcx(g, SAW_OP_MSET, in, cached_index(e), value,
                 e->u.index.object->type);
    } else {
        gen_abc(g, SAW_OP_ASET, in, cached_index(e), value);
        gen_may_undef(g);
    }
}

/* Part of a text or a slice of an array: a new object, assigned to the whole.
 */
static void store_rebuilt(struct gen *g, struct saw_expr *e, gen_reg value)
{
    struct saw_expr *object = e->u.index.object;
    gen_reg whole = gen_temp(g);
    gen_reg bounds = gen_temps(g, 3);
    const struct saw_type *t = object->type;

    gen_held(g, object, whole);
    gen_abc(g, SAW_OP_MOVE, bounds, cached_index(e), 0);
    if (e->u.index.end)
        gen_abc(g, SAW_OP_MOVE, bounds + 1, e->u.index.cached_end - 1, 0);
    g->at = e->pos;
    gen_abc(g, SAW_OP_MOVE, bounds + 2, value, 0);
    if (!e->u.index.end)
        gen_abc(g, t->kind == SAW_STRING ? SAW_OP_SSET : SAW_OP_BSET, whole,
                bounds, value);
    else if (t->kind == SAW_ARRAY)
        gen_abcx(g, SAW_OP_ASETS, whole, bounds, bounds + 2, t);
    else
        gen_abc(g, SAW_OP_SSETS, whole, bounds, t->kind);
    gen_may_undef(g);
    gen_target_store(g, object, whole);
}

/* Part of an array, map or tuple. The object the path begins with is a variable
 * or a slice of something, which then gets the changed object back. */
static void store_part(struct gen *g, struct saw_expr *e, gen_reg value)
{
    struct path p = {.count = 0};
    gen_reg container = gen_temp(g);
    gen_reg whole = GEN_NO_REG;
    size_t i;

    for (; e->kind != EXPR_NAME && !is_rebuilt(e); e = object_of(e))
        p.at[p.count++] = e;
    if (e->kind == EXPR_NAME) {
        gen_load_var(g, e->u.name.decl, container);
        gen_abcx(g, SAW_OP_OWN, container, 0, 0, e->type);
        gen_store_var(g, e->u.name.decl, container);
    } else {
        whole = gen_temp(g);
        gen_to(g, e, whole);
        gen_abcx(g, SAW_OP_OWN, whole, 0, 0, e->type);
        gen_abc(g, SAW_OP_MOVE, container, whole, 0);
    }
    INVARIANT(p.count > 0 && p.count <= ARRAY_LEN(p.at));
    for (i = p.count - 1; i > 0; i--)
        own_part(g, p.at[i], container);
    gen_store_put(g, p.at[0], container, value);
    if (whole != GEN_NO_REG)
        gen_target_store(g, e, whole);
}

void gen_target_store(struct gen *g, struct saw_expr *e, gen_reg value)
{
    gen_reg mark = g->next_reg;

    if (e->kind == EXPR_NAME)
        gen_store_var(g, e->u.name.decl, value);
    else if (is_rebuilt(e))
        store_rebuilt(g, e, value);
    else
        store_part(g, e, value);
    gen_release(g, mark);
}

void gen_store(struct gen *g, struct saw_expr *e, gen_reg value)
{
    gen_reg mark = g->next_reg;

    gen_target_begin(g, e);
    gen_target_store(g, e, value);
    gen_target_end(e);
    gen_release(g, mark);
}
