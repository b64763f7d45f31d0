/* Expressions to code; see gen.h. A value is generated for a place (gen_to),
 * for any place (gen_any: a variable's own register is used directly) or for a
 * second holder (gen_held: marked as shared, because values are copied
 * lazily). */
#include "sawzall-lite/generator/gen.h"

/* --- sharing ------------------------------------------------------------- */

/* Whether evaluating it makes a new object that nothing else holds. */
static bool is_fresh(const struct saw_expr *e)
{
    if (e->constant)
        return true; /* Shared from the start. */
    return e->kind == EXPR_COMPOSITE || e->kind == EXPR_CONVERT ||
           (e->kind == EXPR_BINARY) ||
           (e->kind == EXPR_INDEX && e->u.index.end) ||
           (e->kind == EXPR_CALL && e->u.call.kind != CALL_FUNCTION &&
            e->u.call.kind != CALL_LOOKUP);
}

void gen_share(struct gen *g, const struct saw_expr *e, gen_reg r)
{
    enum saw_kind k = e->type->kind;

    if ((k == SAW_ARRAY || k == SAW_MAP || k == SAW_TUPLE) && !is_fresh(e))
        gen_abc(g, SAW_OP_SHARE, r, k, 0);
}

void gen_held(struct gen *g, struct saw_expr *e, gen_reg to)
{
    gen_to(g, e, to);
    gen_share(g, e, to);
}

/* --- constants ----------------------------------------------------------- */

static void
gen_expr_constant(struct gen *g, const struct saw_expr *e, gen_reg to)
{
    union saw_slot v = *e->constant;

    if (!saw_kind_is_pointer(e->type->kind) && v.i >= INT32_MIN &&
        v.i <= INT32_MAX)
        gen_ak(g, SAW_OP_LOADI, to, (uint32_t)v.i);
    else
        gen_ak(g, SAW_OP_LOADK, to, gen_constant(g, v));
}

/* --- indexing ------------------------------------------------------------ */

static void gen_expr_length(struct gen *g,
                            const struct saw_type *t,
                            gen_reg to,
                            gen_reg from)
{
    enum saw_opcode op = t->kind == SAW_ARRAY ? SAW_OP_ALEN
                         : t->kind == SAW_MAP ? SAW_OP_MLEN
                                              : SAW_OP_SLEN;
    gen_abc(g, op, to, from, 0);
}

static void
gen_expr_slice(struct gen *g, struct saw_expr *e, gen_reg to, gen_reg o)
{
    gen_reg bounds = gen_temps(g, 2);
    const struct saw_type *t = e->type;

    if (e->u.index.cached_reg) {
        gen_abc(g, SAW_OP_MOVE, bounds, e->u.index.cached_reg - 1, 0);
        gen_abc(g, SAW_OP_MOVE, bounds + 1, e->u.index.cached_end - 1, 0);
    } else {
        gen_to(g, e->u.index.begin, bounds);
        gen_to(g, e->u.index.end, bounds + 1);
    }
    g->at = e->pos;
    if (t->kind == SAW_ARRAY)
        gen_abcx(g, SAW_OP_ASLICE, to, o, bounds, t);
    else
        gen_abc(g, t->kind == SAW_STRING ? SAW_OP_SSLICE : SAW_OP_BSLICE, to, o,
                bounds);
}

/* r.column[k]: looked up in the row, of which no map is made. */
static bool row_column(struct gen *g, struct saw_expr *e, gen_reg to)
{
    const struct saw_unit *u = g->u->unit;
    const struct saw_expr *o = e->u.index.object;

    if (u->all_columns || o->kind != EXPR_SELECT ||
        o->u.select.object->type != u->row_type ||
        !slice_eq_str(o->u.select.name, "column"))
        return false;
    gen_abc(g, SAW_OP_COLUMN, to, 0, gen_any(g, e->u.index.begin));
    gen_may_undef(g);
    return true;
}

static void index_expr(struct gen *g, struct saw_expr *e, gen_reg to)
{
    gen_reg mark = g->next_reg;
    struct saw_expr *i = e->u.index.begin;
    const struct saw_type *t = e->u.index.object->type;
    gen_reg o;

    if (row_column(g, e, to)) {
        gen_release(g, mark);
        return;
    }
    o = gen_any(g, e->u.index.object);
    if (e->u.index.has_dollar) {
        e->u.index.length_reg = gen_temp(g);
        gen_expr_length(g, t, e->u.index.length_reg, o);
    }
    if (e->u.index.end) {
        gen_expr_slice(g, e, to, o);
        gen_release(g, mark);
        return;
    }
    if (t->kind == SAW_ARRAY && i->constant && i->constant->i >= 0 &&
        i->constant->i < UINT16_MAX) {
        g->at = e->pos;
        gen_abc(g, SAW_OP_AGETI, to, o, (uint32_t)i->constant->i);
    } else {
        gen_reg r =
            e->u.index.cached_reg ? e->u.index.cached_reg - 1 : gen_any(g, i);
        g->at = e->pos;
        if (t->kind == SAW_MAP)
            gen_abcx(g, SAW_OP_MGET, to, o, r, t);
        else
            gen_abc(g,
                    t->kind == SAW_ARRAY    ? SAW_OP_AGET
                    : t->kind == SAW_STRING ? SAW_OP_SGET
                                            : SAW_OP_BGET,
                    to, o, r);
    }
    gen_may_undef(g);
    gen_release(g, mark);
}

/* --- literals ------------------------------------------------------------ */

static void gen_expr_composite(struct gen *g, struct saw_expr *e, gen_reg to)
{
    const struct saw_exprs *items = &e->u.composite.items;
    gen_reg mark = g->next_reg;
    gen_reg r = gen_temps(g, (uint32_t)items->count);
    size_t i;

    for (i = items->count; i-- > 0 && !g->u->failed;)
        gen_held(g, items->at[i], r + (gen_reg)i);
    g->at = e->pos;
    if (e->type->kind == SAW_STRING || e->type->kind == SAW_BYTES) {
        gen_abcx(g, SAW_OP_TEXT, to, r, (uint32_t)items->count, e->type);
        gen_may_undef(g);
    } else if (e->type->kind == SAW_ARRAY)
        gen_abc(g, SAW_OP_ARRAY, to, r, (uint32_t)items->count);
    else if (e->type->kind == SAW_MAP)
        gen_abcx(g, SAW_OP_MAP, to, r, (uint32_t)items->count / 2, e->type);
    else
        gen_abcx(g, SAW_OP_TUPLE, to, r, 0, e->type);
    gen_release(g, mark);
}

static void gen_expr_statexpr(struct gen *g, struct saw_expr *e, gen_reg to)
{
    struct saw_expr *outer = g->statexpr;
    gen_label outer_exit = g->statexpr_exit;
    struct gen_loop *loop = g->loop;
    size_t known = gen_known_mark(g);
    gen_reg mark = g->next_reg;

    g->statexpr = e;
    g->statexpr_exit = gen_label_new(g);
    g->loop = NULL;
    e->u.statexpr.reg = to;
    gen_stmt(g, e->u.statexpr.body);
    g->at = e->pos;
    gen_abc(g, SAW_OP_NORET, 1, 0, 0);
    gen_bind(g, g->statexpr_exit);
    gen_forget(g, known);
    gen_release(g, mark);
    g->statexpr = outer;
    g->statexpr_exit = outer_exit;
    g->loop = loop;
}

static bool is_int_to_float(const struct saw_expr *e)
{
    return e->u.convert.args.count == 1 && e->type->kind == SAW_FLOAT &&
           e->u.convert.args.at[0]->type->kind == SAW_INT;
}

static void gen_expr_convert(struct gen *g, struct saw_expr *e, gen_reg to)
{
    const struct saw_exprs *args = &e->u.convert.args;
    gen_reg mark = g->next_reg;
    gen_reg r = gen_arguments(g, args);

    g->at = e->pos;
    if (is_int_to_float(e) && !g->u->plain) {
        gen_abc(g, SAW_OP_I2F, to, r, 0);
    } else {
        gen_abc(g, SAW_OP_CONVERT, to, r, 0);
        gen_ak(g, SAW_OP_EXT, 0, gen_site(g, e->u.convert.site));
        if (e->u.convert.may_be_undef)
            gen_may_undef(g);
    }
    gen_release(g, mark);
}

static void select_field(struct gen *g, struct saw_expr *e, gen_reg to)
{
    gen_reg mark = g->next_reg;
    gen_reg o = gen_any(g, e->u.select.object);

    g->at = e->pos;
    gen_abc(g, SAW_OP_FGET, to, o, (uint32_t)e->u.select.field);
    gen_release(g, mark);
}

/* --- any expression ------------------------------------------------------ */

void gen_to(struct gen *g, struct saw_expr *e, gen_reg to)
{
    g->at = e->pos;
    if (e->constant) {
        gen_expr_constant(g, e, to);
        return;
    }
    switch (e->kind) {
    case EXPR_NAME: gen_load_var(g, e->u.name.decl, to); break;
    case EXPR_UNARY: gen_unary(g, e, to); break;
    case EXPR_BINARY:
        if (gen_is_logical(e->u.binary.op))
            gen_logical(g, e, to);
        else
            gen_arithmetic(g, e, to);
        break;
    case EXPR_SELECT: select_field(g, e, to); break;
    case EXPR_INDEX: index_expr(g, e, to); break;
    case EXPR_DOLLAR:
        gen_abc(g, SAW_OP_MOVE, to, e->u.dollar->u.index.length_reg, 0);
        break;
    case EXPR_CALL: gen_call(g, e, to); break;
    case EXPR_CONVERT: gen_expr_convert(g, e, to); break;
    case EXPR_COMPOSITE: gen_expr_composite(g, e, to); break;
    case EXPR_FUNCTION:
        gen_function(g->u, e->u.function.fn);
        gen_closure(g, e->u.function.fn, to);
        break;
    case EXPR_STATEXPR: gen_expr_statexpr(g, e, to); break;
    case EXPR_BAD:
    case EXPR_LITERAL:
    case EXPR_TIME_TEXT:
    case EXPR_TYPE: break; /* Not in a program without errors. */
    }
}

gen_reg gen_any(struct gen *g, struct saw_expr *e)
{
    gen_reg to;

    if (e->kind == EXPR_NAME && !e->constant) {
        g->at = e->pos;
        return gen_load_var(g, e->u.name.decl, GEN_NO_REG);
    }
    if (e->kind == EXPR_DOLLAR)
        return e->u.dollar->u.index.length_reg;
    to = gen_temp(g);
    gen_to(g, e, to);
    return to;
}
