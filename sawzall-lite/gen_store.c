/* Assignment: to a variable, an element, a field, a slice of any of these.
 *
 * A container that others hold too is copied before it is changed, from the
 * variable inwards: own(a[i].f) owns a, then its element i, then the field f of
 * that. Parts of text are changed by making a new text and assigning that.
 */
#include "sawzall-lite/gen.h"

/* Index expressions are evaluated once, before anything is owned. */
struct place {
    struct saw_expr *e;
    gen_reg index; /* Of an EXPR_INDEX. */
};

struct path {
    struct place at[SAW_NESTING_MAX + 2]; /* Outermost operation first. */
    size_t count;
    struct saw_decl *root;
};

static bool is_text(const struct saw_type *t)
{
    return t->kind == SAW_STRING || t->kind == SAW_BYTES;
}

/* @to = the container @n of the path, changeable; n counts from the root, 0
 * being the variable. */
static void load_root(struct gen *g, const struct path *p, gen_reg to)
{
    gen_load_var(g, p->root, to);
    gen_abcx(g, SAW_OP_OWN, to, 0, 0, p->root->type);
    gen_store_var(g, p->root, to);
}

/* @to = own(@to's part that @place names). */
static void own_part(struct gen *g, const struct place *place, gen_reg to)
{
    struct saw_expr *e = place->e;

    g->at = e->pos;
    if (e->kind == EXPR_SELECT) {
        gen_abcx(g, SAW_OP_OWNFIELD, to, to, (uint32_t)e->u.select.field,
                 e->u.select.object->type);
    } else if (e->u.index.object->type->kind == SAW_MAP) {
        gen_abcx(g, SAW_OP_OWNVALUE, to, to, place->index,
                 e->u.index.object->type);
        gen_may_undef(g);
    } else {
        gen_abcx(g, SAW_OP_OWNELEM, to, to, place->index, e->type);
        gen_may_undef(g);
    }
}

/* Put @value where @place says in the owned container @in. */
static void
put(struct gen *g, const struct place *place, gen_reg in, gen_reg value)
{
    struct saw_expr *e = place->e;

    g->at = e->pos;
    if (e->kind == EXPR_SELECT) {
        gen_abc(g, SAW_OP_FSET, in, value, (uint32_t)e->u.select.field);
    } else if (e->u.index.object->type->kind == SAW_MAP) {
        gen_abcx(g, SAW_OP_MSET, in, place->index, value,
                 e->u.index.object->type);
    } else {
        gen_abc(g, SAW_OP_ASET, in, place->index, value);
        gen_may_undef(g);
    }
}

static void build_path(struct gen *g, struct saw_expr *e, struct path *p)
{
    size_t i;

    for (p->count = 0; e->kind != EXPR_NAME; p->count++) {
        p->at[p->count].e = e;
        e = e->kind == EXPR_SELECT ? e->u.select.object : e->u.index.object;
    }
    p->root = e->u.name.decl;
    for (i = p->count; i-- > 0;) {
        struct saw_expr *x = p->at[i].e;
        if (x->kind != EXPR_INDEX)
            continue;
        if (x->u.index.has_dollar) {
            x->u.index.length_reg = gen_temp(g);
            gen_reg o = gen_any(g, x->u.index.object);
            gen_abc(g,
                    x->u.index.object->type->kind == SAW_ARRAY ? SAW_OP_ALEN
                                                               : SAW_OP_SLEN,
                    x->u.index.length_reg, o, 0);
        }
        p->at[i].index = gen_temp(g);
        gen_to(g, x->u.index.begin, p->at[i].index);
        gen_share(g, x->u.index.begin, p->at[i].index);
        x->u.index.cached_reg = p->at[i].index + 1;
    }
    for (i = 0; i < p->count; i++) {
        if (p->at[i].e->kind == EXPR_INDEX)
            p->at[i].e->u.index.cached_reg = 0;
    }
}

/* Part of a text or a slice of an array: a new object, assigned to the whole.
 */
static void store_rebuilt(struct gen *g, struct saw_expr *e, gen_reg value)
{
    struct saw_expr *object = e->u.index.object;
    gen_reg mark = g->next_reg;
    gen_reg whole = gen_temp(g);
    gen_reg bounds = gen_temps(g, 3);
    const struct saw_type *t = object->type;

    gen_to(g, object, whole);
    if (e->u.index.has_dollar) {
        e->u.index.length_reg = gen_temp(g);
        gen_abc(g, t->kind == SAW_ARRAY ? SAW_OP_ALEN : SAW_OP_SLEN,
                e->u.index.length_reg, whole, 0);
    }
    gen_to(g, e->u.index.begin, bounds);
    if (e->u.index.end)
        gen_to(g, e->u.index.end, bounds + 1);
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
    gen_store(g, object, whole);
    gen_release(g, mark);
}

void gen_store(struct gen *g, struct saw_expr *e, gen_reg value)
{
    gen_reg mark = g->next_reg;
    struct path path;
    gen_reg container;
    size_t i;

    if (e->kind == EXPR_NAME) {
        gen_store_var(g, e->u.name.decl, value);
        return;
    }
    if (e->kind == EXPR_INDEX &&
        (e->u.index.end || is_text(e->u.index.object->type))) {
        store_rebuilt(g, e, value);
        return;
    }
    build_path(g, e, &path);
    container = gen_temp(g);
    load_root(g, &path, container);
    for (i = path.count - 1; i > 0; i--)
        own_part(g, &path.at[i], container);
    put(g, &path.at[0], container, value);
    gen_release(g, mark);
}
