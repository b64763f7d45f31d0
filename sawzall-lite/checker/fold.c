/* Constant folding: operations whose operands are known become literals.
 *
 * Operations that would be undefined (1 / 0) or would fail are left for the
 * run, where they may never be reached. Arithmetic is that of the machine:
 * integers wrap, floats are computed in double.
 */
#include "sawzall-lite/checker/check_internal.h"

/* Longer results are computed at run time instead of being stored with the
 * program. */
#define FOLD_TEXT_BYTES_MAX 65536

static bool
fold_int(enum saw_op op, uint64_t a, uint64_t b, bool is_signed, uint64_t *out)
{
    switch ((int)op) {
    case OP_ADD: *out = a + b; return true;
    case OP_SUB: *out = a - b; return true;
    case OP_MUL: *out = a * b; return true;
    case OP_DIV:
    case OP_MOD:
        if (b == 0)
            return false;
        if (is_signed && b == UINT64_MAX)
            *out = op == OP_DIV ? 0 - a : 0; /* Wraps instead of trapping. */
        else if (is_signed)
            *out = op == OP_DIV ? (uint64_t)((int64_t)a / (int64_t)b)
                                : (uint64_t)((int64_t)a % (int64_t)b);
        else
            *out = op == OP_DIV ? a / b : a % b;
        return true;
    case OP_SHL: *out = a << (b & 63); return true;
    case OP_SHR: *out = a >> (b & 63); return true;
    case OP_BAND: *out = a & b; return true;
    case OP_BOR: *out = a | b; return true;
    case OP_BXOR: *out = a ^ b; return true;
    default: return false;
    }
}

static bool fold_float(enum saw_op op, double a, double b, double *out)
{
    switch ((int)op) {
    case OP_ADD: *out = a + b; return true;
    case OP_SUB: *out = a - b; return true;
    case OP_MUL: *out = a * b; return true;
    case OP_DIV: *out = a / b; return b < 0 || b > 0;
    default: return false;
    }
}

/* -1, 0 or 1; 2: they have no order, because one is NaN. */
static int
fold_float_order(const struct saw_type *t, union saw_slot a, union saw_slot b)
{
    if (a.f < b.f)
        return -1;
    if (a.f > b.f)
        return 1;
    return saw_value_equal(t, a, b) ? 0 : 2;
}

static bool fold_comparison(enum saw_op op,
                            const struct saw_type *t,
                            union saw_slot a,
                            union saw_slot b,
                            int64_t *out)
{
    int order;

    if (op == OP_EQL || op == OP_NEQ) {
        *out = saw_value_equal(t, a, b) == (op == OP_EQL);
        return true;
    }
    if (t->kind == SAW_FLOAT)
        order = fold_float_order(t, a, b);
    else
        order = saw_value_compare(t, a, b);
    switch ((int)op) {
    case OP_LSS: *out = order < 0; return true;
    case OP_LEQ: *out = order <= 0; return true;
    case OP_GTR: *out = order > 0 && order != 2; return true;
    case OP_GEQ: *out = order >= 0 && order != 2; return true;
    default: return false;
    }
}

static bool fold_text(struct saw_checker *c,
                      const struct saw_str *a,
                      const struct saw_str *b,
                      union saw_slot *out)
{
    struct saw_str *s;
    char *p;

    if (a->len + b->len > FOLD_TEXT_BYTES_MAX)
        return false;
    s = arena_alloc(c->arena, sizeof(*s));
    p = arena_alloc(c->arena, a->len + b->len + 1);
    memcpy(p, a->data, a->len);
    memcpy(p + a->len, b->data, b->len);
    *s = (struct saw_str){p, a->len + b->len, a->chars + b->chars};
    out->s = s;
    return true;
}

static bool fold_binary(struct saw_checker *c,
                        const struct saw_expr *e,
                        union saw_slot *out)
{
    const struct saw_type *t = e->u.binary.left->type;
    enum saw_op op = e->u.binary.op;
    union saw_slot a = *e->u.binary.left->constant;
    union saw_slot b = *e->u.binary.right->constant;

    if (op >= OP_EQL && op <= OP_GEQ)
        return saw_kind_is_basic(t->kind) &&
               fold_comparison(op, t, a, b, &out->i);
    switch ((int)t->kind) {
    case SAW_BOOL:
        out->i = op == OP_LAND || op == OP_AND ? a.i && b.i : a.i || b.i;
        return true;
    case SAW_INT: return fold_int(op, a.u, b.u, true, &out->u);
    case SAW_UINT:
    case SAW_TIME:
    case SAW_FINGERPRINT:
        if (t->kind == SAW_FINGERPRINT)
            return false;
        return fold_int(op, a.u, b.u, false, &out->u);
    case SAW_FLOAT: return fold_float(op, a.f, b.f, &out->f);
    case SAW_STRING:
    case SAW_BYTES: return fold_text(c, a.s, b.s, out);
    default: return false;
    }
}

static bool fold_unary(const struct saw_expr *e, union saw_slot *out)
{
    union saw_slot a = *e->u.binary.left->constant;

    switch ((int)e->u.binary.op) {
    case OP_NEG:
        if (e->type->kind == SAW_FLOAT)
            out->f = 0.0 - a.f;
        else
            out->u = 0 - a.u;
        return true;
    case OP_NOT: out->i = !a.i; return true;
    case OP_BITNOT: out->u = ~a.u; return true;
    case OP_PLUS: *out = a; return true;
    default: return false;
    }
}

static bool all_constant(const struct saw_exprs *l)
{
    size_t i;

    for (i = 0; i < l->count; i++) {
        if (!l->at[i]->constant)
            return false;
    }
    return true;
}

/* Run the intrinsic or the conversion now. */
static bool fold_site(struct saw_checker *c,
                      const struct saw_call *site,
                      const struct saw_exprs *args,
                      union saw_slot *out)
{
    union saw_slot values[SAW_CALL_ARGS_MAX];
    enum saw_status st;
    size_t i;

    if (!all_constant(args) || args->count > SAW_CALL_ARGS_MAX ||
        !saw_kind_is_basic(site->result_type->kind))
        return false;
    for (i = 0; i < args->count; i++)
        values[i] = *args->at[i]->constant;
    if (site->builtin)
        st = site->builtin->fn(&c->fold, site, values, out);
    else
        st = saw_convert(&c->fold, site, values, out);
    return st == SAW_OK;
}

static bool fold_len(const struct saw_expr *e, union saw_slot *out)
{
    const struct saw_expr *a = e->u.call.args.at[0];

    if (!a->constant ||
        (a->type->kind != SAW_STRING && a->type->kind != SAW_BYTES))
        return false;
    out->i = (int64_t)a->constant->s->chars;
    return true;
}

/* new(string, n, c) and new(bytes, n, c). */
static bool
fold_new(struct saw_checker *c, const struct saw_expr *e, union saw_slot *out)
{
    const struct saw_exprs *args = &e->u.call.args;
    struct saw_str *s;
    char unit[4];
    size_t width;
    size_t count;
    char *p;
    size_t i;

    if ((e->type->kind != SAW_STRING && e->type->kind != SAW_BYTES) ||
        args->count != 3 || !args->at[1]->constant || !args->at[2]->constant ||
        args->at[1]->constant->i < 0 ||
        args->at[1]->constant->i > FOLD_TEXT_BYTES_MAX / 4)
        return false;
    count = (size_t)args->at[1]->constant->i;
    width = 1;
    unit[0] = (char)(unsigned char)args->at[2]->constant->u;
    if (e->type->kind == SAW_STRING) {
        if (args->at[2]->constant->u - 1 >= 0x10ffff)
            return false;
        width = saw_utf8_encode((uint32_t)args->at[2]->constant->u, unit);
    } else if (args->at[2]->constant->u > 0xff) {
        return false;
    }
    if (width == 0)
        return false;
    s = arena_alloc(c->arena, sizeof(*s));
    p = arena_alloc(c->arena, count * width + 1);
    for (i = 0; i < count; i++)
        memcpy(p + i * width, unit, width);
    *s = (struct saw_str){p, count * width, count};
    out->s = s;
    return true;
}

/* A slice of a constant text. */
static bool
fold_slice(struct saw_checker *c, const struct saw_expr *e, union saw_slot *out)
{
    const struct saw_expr *o = e->u.index.object;
    const struct saw_str *from;
    struct saw_str *s;
    int64_t begin;
    int64_t end;
    size_t at;
    size_t to;

    if (!e->u.index.end || e->u.index.has_dollar || !o->constant ||
        !e->u.index.begin->constant || !e->u.index.end->constant ||
        (o->type->kind != SAW_STRING && o->type->kind != SAW_BYTES))
        return false;
    from = o->constant->s;
    begin = e->u.index.begin->constant->i;
    end = e->u.index.end->constant->i;
    begin = MIN_OF(MAX_OF(begin, 0), (int64_t)from->chars);
    end = MIN_OF(MAX_OF(end, begin), (int64_t)from->chars);
    at = saw_str_offset(from, (size_t)begin);
    to = saw_str_offset(from, (size_t)end);
    s = arena_alloc(c->arena, sizeof(*s));
    *s = (struct saw_str){from->data + at, to - at, (size_t)(end - begin)};
    out->s = s;
    return true;
}

/* An array of constants, such as {1, 2, 3}, is made once. */
static bool fold_composite(struct saw_checker *c,
                           const struct saw_expr *e,
                           union saw_slot *out)
{
    const struct saw_exprs *items = &e->u.composite.items;
    struct saw_array *a;
    struct saw_tuple *t;
    size_t i;

    if (!all_constant(items) || items->count == 0)
        return false;
    if (e->type->kind == SAW_ARRAY) {
        a = arena_zalloc(c->arena, sizeof(*a));
        a->items = arena_alloc(c->arena, items->count * sizeof(*a->items));
        a->len = a->cap = items->count;
        a->shared = true;
        for (i = 0; i < items->count; i++)
            a->items[i] = *items->at[i]->constant;
        out->a = a;
        return true;
    }
    if (e->type->kind == SAW_TUPLE && !e->type->proto) {
        t = arena_zalloc(c->arena,
                         sizeof(*t) + items->count * sizeof(*t->fields));
        t->shared = true;
        for (i = 0; i < items->count; i++)
            t->fields[i] = *items->at[i]->constant;
        out->t = t;
        return true;
    }
    return false;
}

void fold_expr(struct saw_checker *c, struct saw_expr *e)
{
    union saw_slot v = {.u = 0};
    union saw_slot *kept;
    bool done = false;

    if (e->constant || c->opts->plain_code ||
        c->fold.arena->bytes > c->fold.bytes_max)
        return;
    switch (e->kind) {
    case EXPR_BINARY:
        if (e->u.binary.left->constant && e->u.binary.right->constant)
            done = fold_binary(c, e, &v);
        break;
    case EXPR_UNARY:
        if (e->u.binary.left->constant)
            done = fold_unary(e, &v);
        break;
    case EXPR_CALL:
        if (e->u.call.kind == CALL_LEN && e->u.call.args.count == 1)
            done = fold_len(e, &v);
        else if (e->u.call.kind == CALL_NEW)
            done = fold_new(c, e, &v);
        else if (e->u.call.kind == CALL_BUILTIN && e->u.call.site &&
                 (e->u.call.site->builtin->flags & SAW_BUILTIN_PURE))
            done = fold_site(c, e->u.call.site, &e->u.call.args, &v);
        break;
    case EXPR_CONVERT:
        done = fold_site(c, e->u.convert.site, &e->u.convert.args, &v);
        break;
    case EXPR_COMPOSITE: done = fold_composite(c, e, &v); break;
    case EXPR_INDEX: done = fold_slice(c, e, &v); break;
    case EXPR_BAD:
    case EXPR_LITERAL:
    case EXPR_TIME_TEXT:
    case EXPR_NAME:
    case EXPR_SELECT:
    case EXPR_DOLLAR:
    case EXPR_FUNCTION:
    case EXPR_STATEXPR:
    case EXPR_TYPE: break;
    }
    if (!done)
        return;
    kept = arena_alloc(c->arena, sizeof(*kept));
    *kept = v;
    e->constant = kept;
}
