/* Operators to code; see gen.h.
 *
 * Each type and operation has an instruction of its own, with forms for
 * constants on the right and for x * y + z. A spine of left operands is
 * generated in a loop, innermost first, with partial results in one temporary.
 */
#include "sawzall-lite/generator/gen.h"

bool gen_is_logical(enum saw_op op)
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

/* The row of a type in the table of comparison_opcode(); -1: it has none, and
 * its values are compared by a function. */
static int comparison_row(enum saw_kind k)
{
    if (k == SAW_INT || k == SAW_BOOL)
        return 0;
    if (k == SAW_FLOAT)
        return 2;
    if (k == SAW_STRING || k == SAW_BYTES)
        return 3;
    return saw_kind_is_basic(k) ? 1 : -1;
}

static int comparison_column(enum saw_op op)
{
    if (op == OP_EQL)
        return 0;
    if (op == OP_NEQ)
        return 1;
    return op == OP_LSS || op == OP_GTR ? 2 : 3;
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
    int row = comparison_row(k);

    *swap = op == OP_GTR || op == OP_GEQ;
    if (row < 0)
        return op == OP_EQL ? SAW_OP_VEQ : SAW_OP_VNE;
    return (enum saw_opcode)table[row][comparison_column(op)];
}

static void gen_arith_comparison(struct gen *g,
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

/* Whether the right side, a divisor, can be zero. */
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
        gen_arith_comparison(g, e, to, l, r);
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

/* @x op constant as one instruction; SAW_OP_NOP: there is none. */
static enum saw_opcode
int_immediate(enum saw_op op, bool is_unsigned, const union saw_slot *k)
{
    bool small = k->i > INT16_MIN && k->i <= INT16_MAX;
    bool natural = k->i >= 0 && k->i <= UINT16_MAX;

    switch ((int)op) {
    case OP_ADD:
    case OP_SUB: return small ? SAW_OP_ADDI : SAW_OP_NOP;
    case OP_MUL: return small ? SAW_OP_MULI : SAW_OP_NOP;
    case OP_DIV: /* Not -1: it wraps. */
        return small && k->i > 0 && !is_unsigned ? SAW_OP_DIVI : SAW_OP_NOP;
    case OP_MOD:
        return small && k->i > 0 && !is_unsigned ? SAW_OP_MODI : SAW_OP_NOP;
    case OP_BAND: return natural ? SAW_OP_ANDI : SAW_OP_NOP;
    case OP_SHL: return natural ? SAW_OP_SHLI : SAW_OP_NOP;
    case OP_SHR: return natural ? SAW_OP_SHRI : SAW_OP_NOP;
    default: return SAW_OP_NOP;
    }
}

static enum saw_opcode float_immediate(enum saw_op op, const union saw_slot *k)
{
    switch ((int)op) {
    case OP_ADD: return SAW_OP_FADDK;
    case OP_SUB: return SAW_OP_FSUBK;
    case OP_MUL: return SAW_OP_FMULK;
    case OP_DIV: return k->f < 0 || k->f > 0 ? SAW_OP_FDIVK : SAW_OP_NOP;
    default: return SAW_OP_NOP;
    }
}

/* The instruction for op with the constant @k on the right, or SAW_OP_NOP. */
static enum saw_opcode gen_arith_immediate(struct gen *g,
                                           const struct saw_type *t,
                                           enum saw_op op,
                                           const union saw_slot *k)
{
    if (!k || g->u->plain)
        return SAW_OP_NOP;
    if (t->kind == SAW_FLOAT)
        return gen_constant(g, *k) <= UINT16_MAX ? float_immediate(op, k)
                                                 : SAW_OP_NOP;
    if (t->kind == SAW_INT || t->kind == SAW_UINT)
        return int_immediate(op, t->kind == SAW_UINT, k);
    return SAW_OP_NOP;
}

/* @to = @l op @k. PRE: gen_arith_immediate(). */
static void immediate_op(struct gen *g,
                         const struct saw_expr *e,
                         const union saw_slot *k,
                         gen_reg to,
                         gen_reg l)
{
    enum saw_op op = e->u.binary.op;
    enum saw_opcode o = gen_arith_immediate(g, e->type, op, k);

    g->at = e->pos;
    if (e->type->kind == SAW_FLOAT)
        gen_abc(g, o, to, l, gen_constant(g, *k));
    else
        gen_abc(g, o, to, l, (uint32_t)(op == OP_SUB ? -k->i : k->i));
}

/* 2.0 * x as x * 2.0: exact, and one instruction less. */
static bool gen_arith_flips(struct gen *g, const struct saw_expr *e)
{
    enum saw_op op = e->u.binary.op;

    return !e->u.binary.right->constant && (op == OP_ADD || op == OP_MUL) &&
           gen_arith_immediate(g, e->type, op, e->u.binary.left->constant) !=
               SAW_OP_NOP;
}

static bool is_float_op(const struct saw_expr *e, enum saw_op op)
{
    return e->kind == EXPR_BINARY && !e->constant &&
           e->type->kind == SAW_FLOAT && e->u.binary.op == op;
}

/* A product both of whose factors must be in registers. */
static bool is_product(struct gen *g, const struct saw_expr *e)
{
    return is_float_op(e, OP_MUL) && !gen_arith_flips(g, e) &&
           gen_arith_immediate(g, e->type, OP_MUL,
                               e->u.binary.right->constant) == SAW_OP_NOP;
}

static void gen_arith_four(struct gen *g,
                           enum saw_opcode op,
                           gen_reg to,
                           gen_reg x,
                           gen_reg y,
                           gen_reg z)
{
    gen_abc(g, op, to, x, y);
    gen_ak(g, SAW_OP_EXT, 0, z);
}

/* @to = @l + x * y or @l - x * y; false where @e is something else. */
static bool
with_product(struct gen *g, const struct saw_expr *e, gen_reg to, gen_reg l)
{
    const struct saw_expr *m = e->u.binary.right;
    gen_reg x;
    gen_reg y;

    if (g->u->plain || !(is_float_op(e, OP_ADD) || is_float_op(e, OP_SUB)) ||
        !is_product(g, m))
        return false;
    x = gen_any(g, m->u.binary.left);
    y = gen_any(g, m->u.binary.right);
    g->at = e->pos;
    gen_arith_four(g, e->u.binary.op == OP_ADD ? SAW_OP_FMADD : SAW_OP_FNMADD,
                   to, x, y, l);
    return true;
}

/* @to = @l op the right side. */
static void gen_arith_operate(struct gen *g,
                              const struct saw_expr *e,
                              gen_reg to,
                              gen_reg l)
{
    struct saw_expr *right = e->u.binary.right;

    if (gen_arith_immediate(g, e->type, e->u.binary.op, right->constant) !=
        SAW_OP_NOP)
        immediate_op(g, e, right->constant, to, l);
    else if (!with_product(g, e, to, l))
        gen_binary_op(g, e, to, l, gen_any(g, right));
}

/* The innermost operation of a spine whose left operand is @l's. */
static void first_op(struct gen *g, struct saw_expr *e, gen_reg to)
{
    if (gen_arith_flips(g, e))
        immediate_op(g, e, e->u.binary.left->constant, to,
                     gen_any(g, e->u.binary.right));
    else
        gen_arith_operate(g, e, to, gen_any(g, e->u.binary.left));
}

/* Whether @inner and @outer of a spine are (x * y) + z or (x * y) - z. */
static bool product_first(struct gen *g,
                          const struct saw_expr *inner,
                          const struct saw_expr *outer)
{
    const union saw_slot *k = outer->u.binary.right->constant;
    enum saw_op op = outer->u.binary.op;

    return !g->u->plain && is_product(g, inner) &&
           (is_float_op(outer, OP_ADD) || is_float_op(outer, OP_SUB)) &&
           gen_arith_immediate(g, outer->type, op, k) == SAW_OP_NOP;
}

/* Both in one instruction. PRE: product_first(). */
static void product_then(struct gen *g,
                         const struct saw_expr *inner,
                         const struct saw_expr *outer,
                         gen_reg to,
                         gen_reg x)
{
    gen_reg y = gen_any(g, inner->u.binary.right);
    gen_reg z = gen_any(g, outer->u.binary.right);

    g->at = outer->pos;
    gen_arith_four(g,
                   outer->u.binary.op == OP_ADD ? SAW_OP_FMADD : SAW_OP_FMSUB,
                   to, x, y, z);
}

/* a + b - c …, innermost first, partial results in one temporary. */
static void run_spine(struct gen *g, const struct saw_exprs *spine, gen_reg to)
{
    gen_reg part = gen_temp(g);
    size_t i = spine->count;
    bool first = true;

    while (i > 0) {
        struct saw_expr *e = spine->at[i - 1];
        struct saw_expr *outer = i > 1 ? spine->at[i - 2] : NULL;
        bool both = outer && product_first(g, e, outer);
        gen_reg result;
        i -= both ? 2 : 1;
        result = i == 0 ? to : part;
        if (both)
            product_then(g, e, outer, result,
                         first ? gen_any(g, e->u.binary.left) : part);
        else if (first)
            first_op(g, e, result);
        else
            gen_arith_operate(g, e, result, part);
        gen_release(g, part + 1);
        first = false;
    }
}

void gen_arithmetic(struct gen *g, struct saw_expr *e, gen_reg to)
{
    struct saw_exprs spine = {0};
    gen_reg mark = g->next_reg;

    while (e->kind == EXPR_BINARY && !e->constant &&
           !gen_is_logical(e->u.binary.op)) {
        saw_exprs_add(g->u->arena, &spine, e);
        e = e->u.binary.left;
    }
    if (spine.count == 1)
        first_op(g, spine.at[0], to);
    else
        run_spine(g, &spine, to);
    gen_release(g, mark);
}

void gen_unary(struct gen *g, struct saw_expr *e, gen_reg to)
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

/* A bool by jumps: && and ||. */
void gen_logical(struct gen *g, struct saw_expr *e, gen_reg to)
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
