/* Conditions as jumps: comparisons fuse with the jump that follows, and && and
 * || become jumps without a bool in between. */
#include "sawzall-lite/generator/gen.h"

static bool is_binary(const struct saw_expr *e, enum saw_op op)
{
    return e->kind == EXPR_BINARY && !e->constant && e->u.binary.op == op;
}

/* The operands of a && b && c in order. */
static void
gen_cond_operands(struct gen *g, struct saw_expr *e, struct saw_exprs *out)
{
    enum saw_op op = e->u.binary.op;
    size_t i;
    size_t j;

    while (is_binary(e, op)) {
        saw_exprs_add(g->u->arena, out, e->u.binary.right);
        e = e->u.binary.left;
    }
    saw_exprs_add(g->u->arena, out, e);
    for (i = 0, j = out->count - 1; i < j; i++, j--) {
        struct saw_expr *t = out->at[i];
        out->at[i] = out->at[j];
        out->at[j] = t;
    }
}

/* @decides: the value of one operand that settles the whole (false for &&). */
static void gen_cond_logical(struct gen *g,
                             struct saw_expr *e,
                             bool decides,
                             bool when,
                             gen_label l)
{
    struct saw_exprs list = {0};
    gen_label skip = when == decides ? l : gen_label_new(g);
    size_t known = gen_known_mark(g);
    size_t after_first = known;
    size_t i;

    gen_cond_operands(g, e, &list);
    for (i = 0; i + 1 < list.count; i++) {
        gen_cond(g, list.at[i], decides, skip);
        if (i == 0)
            after_first = gen_known_mark(g);
    }
    gen_cond(g, list.at[list.count - 1], when, l);
    if (skip != l)
        gen_bind(g, skip);
    gen_forget(g, after_first); /* Only the first is always evaluated. */
}

static enum saw_opcode gen_cond_opposite(enum saw_opcode op)
{
    switch ((int)op) {
    case SAW_OP_JEQ: return SAW_OP_JNE;
    case SAW_OP_JNE: return SAW_OP_JEQ;
    case SAW_OP_JEQI: return SAW_OP_JNEI;
    case SAW_OP_JNEI: return SAW_OP_JEQI;
    case SAW_OP_JLTI: return SAW_OP_JGEI;
    case SAW_OP_JLEI: return SAW_OP_JGTI;
    case SAW_OP_JGTI: return SAW_OP_JLEI;
    case SAW_OP_JGEI: return SAW_OP_JLTI;
    case SAW_OP_JFLT: return SAW_OP_JFNLT;
    case SAW_OP_JFLE: return SAW_OP_JFNLE;
    case SAW_OP_JSEQ: return SAW_OP_JSNE;
    default: return SAW_OP_JSEQ;
    }
}

static enum saw_opcode gen_cond_immediate(enum saw_op op)
{
    switch ((int)op) {
    case OP_EQL: return SAW_OP_JEQI;
    case OP_NEQ: return SAW_OP_JNEI;
    case OP_LSS: return SAW_OP_JLTI;
    case OP_LEQ: return SAW_OP_JLEI;
    case OP_GTR: return SAW_OP_JGTI;
    default: return SAW_OP_JGEI;
    }
}

static bool fits_immediate(const struct saw_expr *e, enum saw_op op)
{
    enum saw_kind k = e->type->kind;

    if (!e->constant || e->constant->i < INT16_MIN ||
        e->constant->i > INT16_MAX)
        return false;
    if (k == SAW_INT || k == SAW_BOOL)
        return true;
    return (op == OP_EQL || op == OP_NEQ) && e->constant->i >= 0 &&
           (k == SAW_UINT || k == SAW_TIME || k == SAW_FINGERPRINT);
}

/* int < int: the four operators from two instructions. */
static void int_compare(struct gen *g,
                        enum saw_op op,
                        bool when,
                        gen_reg a,
                        gen_reg b,
                        gen_label l)
{
    bool less = op == OP_LSS || op == OP_GTR;
    bool swap = op == OP_GTR || op == OP_GEQ;

    if (op == OP_EQL || op == OP_NEQ) {
        gen_branch(g, (op == OP_EQL) == when ? SAW_OP_JEQ : SAW_OP_JNE, a, b,
                   l);
        return;
    }
    if (!when) { /* !(a < b) is b <= a. */
        less = !less;
        swap = !swap;
    }
    gen_branch(g, less ? SAW_OP_JLT : SAW_OP_JLE, swap ? b : a, swap ? a : b,
               l);
}

static enum saw_op gen_cond_mirrored(enum saw_op op)
{
    switch ((int)op) {
    case OP_LSS: return OP_GTR;
    case OP_LEQ: return OP_GEQ;
    case OP_GTR: return OP_LSS;
    case OP_GEQ: return OP_LEQ;
    default: return op;
    }
}

static enum saw_opcode float_constant(enum saw_op op, bool when)
{
    switch ((int)op) {
    case OP_LSS: return when ? SAW_OP_JFLTK : SAW_OP_JFNLTK;
    case OP_LEQ: return when ? SAW_OP_JFLEK : SAW_OP_JFNLEK;
    case OP_GTR: return when ? SAW_OP_JFGTK : SAW_OP_JFNGTK;
    default: return when ? SAW_OP_JFGEK : SAW_OP_JFNGEK;
    }
}

/* x op constant as one instruction, or false. */
static bool with_constant(struct gen *g,
                          struct saw_expr *x,
                          enum saw_op op,
                          const struct saw_expr *k,
                          bool when,
                          gen_label l)
{
    struct saw_pos at = g->at;
    enum saw_opcode o;
    uint32_t b;
    gen_reg a;

    if (!k->constant || g->u->plain)
        return false;
    if (k->type->kind == SAW_FLOAT) {
        b = gen_constant(g, *k->constant);
        if (b > UINT16_MAX || g->far)
            return false;
        o = float_constant(op, when);
    } else if (fits_immediate(k, op)) {
        b = (uint16_t)k->constant->i;
        o = when ? gen_cond_immediate(op)
                 : gen_cond_opposite(gen_cond_immediate(op));
    } else {
        return false;
    }
    a = gen_any(g, x);
    g->at = at;
    gen_branch(g, o, a, b, l);
    return true;
}

/* A comparison that has an instruction of its own; false if it has none. */
static bool
gen_cond_fused(struct gen *g, struct saw_expr *e, bool when, gen_label l)
{
    enum saw_op op = e->u.binary.op;
    struct saw_expr *left = e->u.binary.left;
    struct saw_expr *right = e->u.binary.right;
    enum saw_kind k = left->type->kind;
    bool equality = op == OP_EQL || op == OP_NEQ;
    bool word =
        k == SAW_INT || k == SAW_BOOL ||
        (equality && (k == SAW_UINT || k == SAW_TIME || k == SAW_FINGERPRINT));
    bool text = equality && (k == SAW_STRING || k == SAW_BYTES);
    enum saw_opcode o;
    gen_reg a;
    gen_reg b;

    if (op < OP_EQL || op > OP_GEQ || g->u->plain ||
        !(word || text || (k == SAW_FLOAT && !equality)))
        return false;
    if (!text &&
        (with_constant(g, left, op, right, when, l) ||
         with_constant(g, right, gen_cond_mirrored(op), left, when, l)))
        return true;
    a = gen_any(g, left);
    b = gen_any(g, right);
    g->at = e->pos;
    if (word) {
        int_compare(g, op, when, a, b, l);
    } else if (text) {
        gen_branch(g, (op == OP_EQL) == when ? SAW_OP_JSEQ : SAW_OP_JSNE, a, b,
                   l);
    } else {
        bool swap = op == OP_GTR || op == OP_GEQ;
        o = op == OP_LSS || op == OP_GTR ? SAW_OP_JFLT : SAW_OP_JFLE;
        gen_branch(g, when ? o : gen_cond_opposite(o), swap ? b : a,
                   swap ? a : b, l);
    }
    return true;
}

void gen_cond(struct gen *g, struct saw_expr *e, bool when, gen_label l)
{
    gen_reg mark = g->next_reg;
    gen_reg r;

    while (e->kind == EXPR_UNARY && e->u.binary.op == OP_NOT && !e->constant) {
        when = !when;
        e = e->u.binary.left;
    }
    g->at = e->pos;
    if (e->constant) {
        if ((e->constant->i != 0) == when)
            gen_jump(g, l);
        return;
    }
    if (is_binary(e, OP_LAND)) {
        gen_cond_logical(g, e, false, when, l);
    } else if (is_binary(e, OP_LOR)) {
        gen_cond_logical(g, e, true, when, l);
    } else if (e->kind != EXPR_BINARY || !gen_cond_fused(g, e, when, l)) {
        r = gen_any(g, e);
        g->at = e->pos;
        gen_branch(g, when ? SAW_OP_JT : SAW_OP_JF, r, 0, l);
    }
    gen_release(g, mark);
}
