/* Calls of small functions, replaced by the expression they return; see gen.h.
 *
 * This applies only to a function that is one `return` of an expression that
 * always has a value, uses no variables but its parameters and statics, and
 * never assigns to the parameters. These then stand for the registers of the
 * arguments while the expression is compiled again. The origin of the
 * instructions is kept with the code, so that errors still name the call.
 */
#include "base/core/panic.h"
#include "sawzall-lite/generator/gen.h"

/* Largest function that is inlined, in instructions. */
#define INLINE_INSNS_MAX 24

static struct saw_expr *gen_inline_returned(const struct saw_function *f)
{
    const struct saw_stmts *body = &f->body->u.block;

    return body->count == 1 && body->at[0]->kind == STMT_RETURN
               ? body->at[0]->u.expr
               : NULL;
}

static bool is_plain_param(const struct saw_decl *d)
{
    return !d->assigned && !d->captured && !d->undefined_by_call &&
           d->type->kind != SAW_TABLE && d->type->kind != SAW_FUNCTION;
}

static bool is_closed(const struct saw_expr *e, const struct saw_function *f);

static bool all_closed(const struct saw_exprs *l, const struct saw_function *f)
{
    size_t i;

    for (i = 0; i < l->count; i++) {
        if (!is_closed(l->at[i], f))
            return false;
    }
    return true;
}

/* Whether a name may occur in the expression. */
static bool is_closed_name(const struct saw_decl *d,
                           const struct saw_function *f)
{
    return d && (d->kind != DECL_VAR || d->is_static || d->owner == f ||
                 (d->fn && !d->assigned));
}

/* Whether it uses no variables but parameters of @f and statics. The
 * expressions that this walks are small. */
static bool is_closed(const struct saw_expr *e, const struct saw_function *f)
{
    if (!e || e->constant)
        return true;
    switch (e->kind) {
    case EXPR_NAME: return is_closed_name(e->u.name.decl, f);
    case EXPR_UNARY: return is_closed(e->u.binary.left, f);
    case EXPR_BINARY:
        return is_closed(e->u.binary.left, f) &&
               is_closed(e->u.binary.right, f);
    case EXPR_SELECT: return is_closed(e->u.select.object, f);
    case EXPR_INDEX:
        return is_closed(e->u.index.object, f) &&
               is_closed(e->u.index.begin, f) && is_closed(e->u.index.end, f);
    case EXPR_CALL:
        return (e->u.call.kind != CALL_FUNCTION ||
                is_closed(e->u.call.fn, f)) &&
               all_closed(&e->u.call.args, f);
    case EXPR_CONVERT: return all_closed(&e->u.convert.args, f);
    case EXPR_COMPOSITE: return all_closed(&e->u.composite.items, f);
    case EXPR_LITERAL:
    case EXPR_TIME_TEXT:
    case EXPR_DOLLAR:
    case EXPR_TYPE: return true;
    case EXPR_BAD:
    case EXPR_FUNCTION:
    case EXPR_STATEXPR: return false;
    }
    return false;
}

bool gen_can_inline(const struct gen *g, const struct saw_function *f)
{
    size_t i;

    if (g->u->plain || g->in_statics || !f->compiled || f->inlining ||
        f->context_level > 0 || f->uses_outer || g->u->unit->has_statexpr ||
        !g->u->pool->codes[f->index] ||
        g->u->pool->codes[f->index]->insn_count > INLINE_INSNS_MAX ||
        f->returns_undef || !gen_inline_returned(f) ||
        !is_closed(gen_inline_returned(f), f))
        return false;
    for (i = 0; i < f->params.count; i++) {
        if (!is_plain_param(f->params.at[i]))
            return false;
    }
    return true;
}

static void add_range(struct gen *g,
                      const struct saw_function *f,
                      uint32_t from,
                      struct saw_pos call)
{
    if (from == g->count)
        return;
    if (g->inlined_count == g->inlined_cap) {
        g->inlined_cap = g->inlined_cap ? g->inlined_cap * 2 : 8;
        g->inlined =
            mem_realloc(g->inlined, g->inlined_cap * sizeof(*g->inlined));
    }
    g->inlined[g->inlined_count++] = (struct saw_inlined){
        .from = from, .to = g->count, .call = call, .name = f->name};
}

void gen_inline(struct gen *g,
                struct saw_function *f,
                const struct saw_expr *call,
                gen_reg to)
{
    gen_reg mark = g->next_reg;
    const struct saw_exprs *args = &call->u.call.args;
    gen_reg *regs = arena_alloc(g->u->arena, (args->count + 1) * sizeof(*regs));
    uint32_t from;
    size_t i;

    for (i = args->count; i-- > 0;)
        regs[i] = gen_any(g, args->at[i]);
    from = g->count;
    for (i = 0; i < args->count; i++) {
        f->params.at[i]->owner = g->fn;
        f->params.at[i]->reg = regs[i];
        f->params.at[i]->defined_reg = -1;
    }
    f->inlining = true;
    gen_to(g, gen_inline_returned(f), to);
    f->inlining = false;
    for (i = 0; i < args->count; i++)
        f->params.at[i]->owner = f;
    add_range(g, f, from, call->pos);
    gen_release(g, mark);
}
