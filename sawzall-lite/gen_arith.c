/* Operators to code; see gen.h. */
#include "sawzall-lite/gen.h"

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
void gen_arithmetic(struct gen *g, struct saw_expr *e, gen_reg to)
{
    struct saw_exprs spine = {0};
    gen_reg mark = g->next_reg;
    gen_reg part;
    size_t i;

    while (e->kind == EXPR_BINARY && !e->constant &&
           !gen_is_logical(e->u.binary.op)) {
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

/* A bool out of jumps: && and ||. */
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
