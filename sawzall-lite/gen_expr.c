/* Expressions to code; see gen.h. */
#include "sawzall-lite/gen.h"

/* --- variables ----------------------------------------------------------- */

bool gen_is_local(const struct gen *g, const struct saw_decl *d)
{
    return !d->is_static && d->owner == g->fn;
}

/* Register that holds the frame of the function around @f in a frame of @f. */
static gen_reg env_reg(const struct saw_function *f)
{
    return (gen_reg)f->params.count;
}

/* The frame of @owner, a function around this one, in a temporary. */
static gen_reg frame_of(struct gen *g, const struct saw_function *owner)
{
    const struct saw_function *f = g->fn;
    gen_reg t;

    if (f->owner == owner)
        return env_reg(f);
    t = gen_temp(g);
    gen_abc(g, SAW_OP_MOVE, t, env_reg(f), 0);
    for (f = f->owner; f->owner != owner; f = f->owner)
        gen_abc(g, SAW_OP_LOADUP, t, t, env_reg(f));
    gen_abc(g, SAW_OP_LOADUP, t, t, env_reg(f));
    return t;
}

static void
load_slot(struct gen *g, const struct saw_decl *d, gen_reg slot, gen_reg to)
{
    gen_reg mark = g->next_reg;

    if (d->is_static)
        gen_ak(g, SAW_OP_LOADS, to, slot);
    else if (d->owner->level == 0)
        gen_ak(g, SAW_OP_LOADG, to, slot);
    else
        gen_abc(g, SAW_OP_LOADUP, to, frame_of(g, d->owner), slot);
    gen_release(g, mark);
}

static void
store_slot(struct gen *g, const struct saw_decl *d, gen_reg slot, gen_reg from)
{
    gen_reg mark = g->next_reg;

    if (d->is_static)
        gen_ak(g, SAW_OP_STORES, from, slot);
    else if (gen_is_local(g, d))
        gen_abc(g, SAW_OP_MOVE, slot, from, 0);
    else if (d->owner->level == 0)
        gen_ak(g, SAW_OP_STOREG, from, slot);
    else
        gen_abc(g, SAW_OP_STOREUP, from, frame_of(g, d->owner), slot);
    gen_release(g, mark);
}

/* In a loop compiled on the assumption that what was declared before it is
 * defined, the check is made once, before the loop. */
static bool assume(struct gen *g, struct saw_decl *d)
{
    size_t i;

    if (!g->assumed || d->undefined_by_call || d->reg >= g->assumed_below)
        return false;
    for (i = 0; i < g->assumed->count && g->assumed->at[i] != d; i++)
        continue;
    if (i == g->assumed->count)
        saw_decls_add(g->u->arena, g->assumed, d);
    gen_know(g, d);
    return true;
}

static void check_defined(struct gen *g, struct saw_decl *d)
{
    gen_reg mark = g->next_reg;
    gen_reg flag;

    if (d->defined_reg < 0 || d->known_defined)
        return;
    if (gen_is_local(g, d)) {
        if (assume(g, d))
            return;
        flag = (gen_reg)d->defined_reg;
    } else {
        flag = gen_temp(g);
        load_slot(g, d, (gen_reg)d->defined_reg, flag);
    }
    gen_ak(g, SAW_OP_CHECK, flag, gen_var(g, d));
    gen_may_undef(g);
    gen_release(g, mark);
    gen_know(g, d);
}

/* The function a variable always holds; it needs no variable then. */
static const struct saw_function *fixed_function(const struct saw_decl *d)
{
    return d->fn && !d->assigned && d->init && d->init->kind == EXPR_FUNCTION
               ? d->init->u.function.fn
               : NULL;
}

gen_reg gen_load_var(struct gen *g, struct saw_decl *d, gen_reg to)
{
    const struct saw_function *f = fixed_function(d);

    if (d->type->kind == SAW_TABLE) { /* A table as such has no value. */
        to = to == GEN_NO_REG ? gen_temp(g) : to;
        gen_ak(g, SAW_OP_LOADI, to, 0);
        return to;
    }
    if (f) {
        to = to == GEN_NO_REG ? gen_temp(g) : to;
        gen_closure(g, f, to);
        return to;
    }
    check_defined(g, d);
    if (gen_is_local(g, d)) {
        /* A function called between here and the use could change it. */
        if (to == GEN_NO_REG && d->captured && d->assigned)
            to = gen_temp(g);
        if (to == GEN_NO_REG)
            return d->reg;
        if (to != d->reg)
            gen_abc(g, SAW_OP_MOVE, to, d->reg, 0);
        return to;
    }
    to = to == GEN_NO_REG ? gen_temp(g) : to;
    load_slot(g, d, d->reg, to);
    return to;
}

void gen_set_defined(struct gen *g, struct saw_decl *d, bool defined)
{
    gen_reg mark = g->next_reg;

    if (d->defined_reg < 0)
        return;
    if (gen_is_local(g, d)) {
        gen_ak(g, SAW_OP_LOADI, (gen_reg)d->defined_reg, defined);
    } else {
        gen_reg t = gen_temp(g);
        gen_ak(g, SAW_OP_LOADI, t, defined);
        store_slot(g, d, (gen_reg)d->defined_reg, t);
        gen_release(g, mark);
    }
}

void gen_store_var(struct gen *g, struct saw_decl *d, gen_reg from)
{
    store_slot(g, d, d->reg, from);
    if (!d->known_defined) {
        gen_set_defined(g, d, true);
        gen_know(g, d);
    }
}

/* --- sharing ------------------------------------------------------------- */

/* Does evaluating it make a new object that nobody else holds? */
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

static void constant(struct gen *g, const struct saw_expr *e, gen_reg to)
{
    union saw_slot v = *e->constant;

    if (!saw_kind_is_pointer(e->type->kind) && v.i >= INT32_MIN &&
        v.i <= INT32_MAX)
        gen_ak(g, SAW_OP_LOADI, to, (uint32_t)v.i);
    else
        gen_ak(g, SAW_OP_LOADK, to, gen_constant(g, v));
}

/* --- operators ----------------------------------------------------------- */

static bool is_logical(enum saw_op op)
{
    return op == OP_LAND || op == OP_LOR;
}

static bool is_comparison(enum saw_op op)
{
    return op >= OP_EQL && op <= OP_GEQ;
}

static enum saw_opcode int_opcode(enum saw_op op, bool is_unsigned)
{
    switch ((int)op) {
    case OP_ADD: return SAW_OP_ADD;
    case OP_SUB: return SAW_OP_SUB;
    case OP_MUL: return SAW_OP_MUL;
    case OP_DIV: return is_unsigned ? SAW_OP_DIVU : SAW_OP_DIV;
    case OP_MOD: return is_unsigned ? SAW_OP_MODU : SAW_OP_MOD;
    case OP_SHL: return SAW_OP_SHL;
    case OP_SHR: return SAW_OP_SHR;
    case OP_BAND:
    case OP_AND: return SAW_OP_AND;
    case OP_BOR:
    case OP_OR: return SAW_OP_OR;
    default: return SAW_OP_XOR;
    }
}

static enum saw_opcode float_opcode(enum saw_op op)
{
    switch ((int)op) {
    case OP_ADD: return SAW_OP_FADD;
    case OP_SUB: return SAW_OP_FSUB;
    case OP_MUL: return SAW_OP_FMUL;
    default: return SAW_OP_FDIV;
    }
}

/* A comparison as "a < b", "a <= b", "a == b" or "a != b". */
static enum saw_opcode
comparison_opcode(enum saw_op op, enum saw_kind k, bool *swap)
{
    static const uint8_t table[4][4] = {
        {SAW_OP_EQ, SAW_OP_NE, SAW_OP_LT, SAW_OP_LE},
        {SAW_OP_EQ, SAW_OP_NE, SAW_OP_LTU, SAW_OP_LEU},
        {SAW_OP_FEQ, SAW_OP_FNE, SAW_OP_FLT, SAW_OP_FLE},
        {SAW_OP_SEQ, SAW_OP_SNE, SAW_OP_SLT, SAW_OP_SLE}};
    int row = k == SAW_FLOAT                      ? 2
              : k == SAW_STRING || k == SAW_BYTES ? 3
              : k == SAW_INT || k == SAW_BOOL     ? 0
              : saw_kind_is_basic(k)              ? 1
                                                  : -1;
    int column = op == OP_EQL                   ? 0
                 : op == OP_NEQ                 ? 1
                 : op == OP_LSS || op == OP_GTR ? 2
                                                : 3;

    *swap = op == OP_GTR || op == OP_GEQ;
    if (row < 0)
        return op == OP_EQL ? SAW_OP_VEQ : SAW_OP_VNE;
    return (enum saw_opcode)table[row][column];
}

static void comparison(struct gen *g,
                       const struct saw_expr *e,
                       gen_reg to,
                       gen_reg l,
                       gen_reg r)
{
    const struct saw_type *t = e->u.binary.left->type;
    bool swap;
    enum saw_opcode op = comparison_opcode(e->u.binary.op, t->kind, &swap);

    if (op == SAW_OP_VEQ || op == SAW_OP_VNE)
        gen_abcx(g, op, to, l, r, t);
    else
        gen_abc(g, op, to, swap ? r : l, swap ? l : r);
}

/* Can the right side, a divisor, be zero? */
static bool may_be_zero(const struct saw_expr *e)
{
    if (!e->constant)
        return true;
    return e->type->kind == SAW_FLOAT
               ? !(e->constant->f < 0 || e->constant->f > 0)
               : e->constant->u == 0;
}

void gen_binary_op(struct gen *g,
                   const struct saw_expr *e,
                   gen_reg to,
                   gen_reg l,
                   gen_reg r)
{
    const struct saw_type *t = e->type;
    enum saw_op op = e->u.binary.op;

    g->at = e->pos;
    if (is_comparison(op)) {
        comparison(g, e, to, l, r);
        return;
    }
    if ((op == OP_DIV || op == OP_MOD) && may_be_zero(e->u.binary.right))
        gen_may_undef(g);
    if (t->kind == SAW_FLOAT)
        gen_abc(g, float_opcode(op), to, l, r);
    else if (t->kind == SAW_STRING || t->kind == SAW_BYTES)
        gen_abc(g, SAW_OP_SADD, to, l, r);
    else if (t->kind == SAW_ARRAY)
        gen_abcx(g, SAW_OP_AADD, to, l, r, t);
    else
        gen_abc(g, int_opcode(op, t->kind != SAW_INT), to, l, r);
}

/* Does the constant @k fit into an instruction of @op? */
static bool fits_immediate(struct gen *g,
                           const struct saw_type *t,
                           enum saw_op op,
                           const union saw_slot *k)
{
    if (!k)
        return false;
    if (t->kind == SAW_FLOAT)
        return (op == OP_ADD || op == OP_SUB || op == OP_MUL) &&
               gen_constant(g, *k) <= UINT16_MAX;
    return t->kind == SAW_INT && k->i > INT16_MIN && k->i <= INT16_MAX &&
           (op == OP_ADD || op == OP_SUB || op == OP_MUL);
}

/* @to = @l op @k. PRE: fits_immediate(). */
static void immediate_op(struct gen *g,
                         const struct saw_expr *e,
                         const union saw_slot *k,
                         gen_reg to,
                         gen_reg l)
{
    enum saw_op op = e->u.binary.op;

    g->at = e->pos;
    if (e->type->kind == SAW_FLOAT)
        gen_abc(g,
                op == OP_ADD   ? SAW_OP_FADDK
                : op == OP_SUB ? SAW_OP_FSUBK
                               : SAW_OP_FMULK,
                to, l, gen_constant(g, *k));
    else if (op == OP_MUL)
        gen_abc(g, SAW_OP_MULI, to, l, (uint32_t)k->i);
    else
        gen_abc(g, SAW_OP_ADDI, to, l, (uint32_t)(op == OP_ADD ? k->i : -k->i));
}

/* 2.0 * x as x * 2.0: exact, and one instruction less. */
static bool flips(struct gen *g, const struct saw_expr *e)
{
    enum saw_op op = e->u.binary.op;

    return !e->u.binary.right->constant && (op == OP_ADD || op == OP_MUL) &&
           fits_immediate(g, e->type, op, e->u.binary.left->constant);
}

/* The innermost operation of a spine whose left operand is @l's. */
static void first_op(struct gen *g, struct saw_expr *e, gen_reg to)
{
    struct saw_expr *left = e->u.binary.left;
    struct saw_expr *right = e->u.binary.right;
    gen_reg l;

    if (flips(g, e)) {
        immediate_op(g, e, left->constant, to, gen_any(g, right));
        return;
    }
    l = gen_any(g, left);
    if (fits_immediate(g, e->type, e->u.binary.op, right->constant))
        immediate_op(g, e, right->constant, to, l);
    else
        gen_binary_op(g, e, to, l, gen_any(g, right));
}

/* a + b - c …: the spine of left operands in a loop. Partial results stay in
 * one temporary. */
static void arithmetic(struct gen *g, struct saw_expr *e, gen_reg to)
{
    struct saw_exprs spine = {0};
    gen_reg mark = g->next_reg;
    gen_reg part;
    size_t i;

    while (e->kind == EXPR_BINARY && !e->constant &&
           !is_logical(e->u.binary.op)) {
        saw_exprs_add(g->u->arena, &spine, e);
        e = e->u.binary.left;
    }
    i = spine.count - 1;
    if (i == 0) {
        first_op(g, spine.at[0], to);
        gen_release(g, mark);
        return;
    }
    part = gen_temp(g);
    first_op(g, spine.at[i], part);
    while (i-- > 0) {
        struct saw_expr *x = spine.at[i];
        struct saw_expr *right = x->u.binary.right;
        gen_reg result = i == 0 ? to : part;
        gen_release(g, part + 1);
        if (fits_immediate(g, x->type, x->u.binary.op, right->constant))
            immediate_op(g, x, right->constant, result, part);
        else
            gen_binary_op(g, x, result, part, gen_any(g, right));
    }
    gen_release(g, mark);
}

static void unary(struct gen *g, struct saw_expr *e, gen_reg to)
{
    gen_reg mark = g->next_reg;
    gen_reg r;

    if (e->u.binary.op == OP_PLUS) {
        gen_to(g, e->u.binary.left, to);
        return;
    }
    r = gen_any(g, e->u.binary.left);
    g->at = e->pos;
    switch ((int)e->u.binary.op) {
    case OP_NOT: gen_abc(g, SAW_OP_NOT, to, r, 0); break;
    case OP_BITNOT: gen_abc(g, SAW_OP_BITNOT, to, r, 0); break;
    default:
        gen_abc(g, e->type->kind == SAW_FLOAT ? SAW_OP_FNEG : SAW_OP_NEG, to, r,
                0);
        break;
    }
    gen_release(g, mark);
}

/* A bool out of jumps: && and ||. */
static void logical(struct gen *g, struct saw_expr *e, gen_reg to)
{
    gen_label no = gen_label_new(g);
    gen_label end = gen_label_new(g);

    gen_cond(g, e, false, no);
    gen_ak(g, SAW_OP_LOADI, to, 1);
    gen_jump(g, end);
    gen_bind(g, no);
    gen_ak(g, SAW_OP_LOADI, to, 0);
    gen_bind(g, end);
}

/* --- indexing ------------------------------------------------------------ */

static void
length(struct gen *g, const struct saw_type *t, gen_reg to, gen_reg from)
{
    enum saw_opcode op = t->kind == SAW_ARRAY ? SAW_OP_ALEN
                         : t->kind == SAW_MAP ? SAW_OP_MLEN
                                              : SAW_OP_SLEN;
    gen_abc(g, op, to, from, 0);
}

static void slice(struct gen *g, struct saw_expr *e, gen_reg to, gen_reg o)
{
    gen_reg bounds = gen_temps(g, 2);
    const struct saw_type *t = e->type;

    gen_to(g, e->u.index.begin, bounds);
    gen_to(g, e->u.index.end, bounds + 1);
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
        length(g, t, e->u.index.length_reg, o);
    }
    if (e->u.index.end) {
        slice(g, e, to, o);
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

static void composite(struct gen *g, struct saw_expr *e, gen_reg to)
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

static void statexpr(struct gen *g, struct saw_expr *e, gen_reg to)
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

static void convert(struct gen *g, struct saw_expr *e, gen_reg to)
{
    const struct saw_exprs *args = &e->u.convert.args;
    gen_reg mark = g->next_reg;
    gen_reg r = gen_temps(g, (uint32_t)args->count);
    size_t i;

    for (i = 0; i < args->count; i++)
        gen_held(g, args->at[i], r + (gen_reg)i);
    g->at = e->pos;
    gen_ak(g, SAW_OP_CONVERT, r, gen_site(g, e->u.convert.site));
    if (e->u.convert.may_be_undef)
        gen_may_undef(g);
    if (r != to)
        gen_abc(g, SAW_OP_MOVE, to, r, 0);
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
        constant(g, e, to);
        return;
    }
    switch (e->kind) {
    case EXPR_NAME: gen_load_var(g, e->u.name.decl, to); break;
    case EXPR_UNARY: unary(g, e, to); break;
    case EXPR_BINARY:
        if (is_logical(e->u.binary.op))
            logical(g, e, to);
        else
            arithmetic(g, e, to);
        break;
    case EXPR_SELECT: select_field(g, e, to); break;
    case EXPR_INDEX: index_expr(g, e, to); break;
    case EXPR_DOLLAR:
        gen_abc(g, SAW_OP_MOVE, to, e->u.dollar->u.index.length_reg, 0);
        break;
    case EXPR_CALL: gen_call(g, e, to); break;
    case EXPR_CONVERT: convert(g, e, to); break;
    case EXPR_COMPOSITE: composite(g, e, to); break;
    case EXPR_FUNCTION:
        gen_function(g->u, e->u.function.fn);
        gen_closure(g, e->u.function.fn, to);
        break;
    case EXPR_STATEXPR: statexpr(g, e, to); break;
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
