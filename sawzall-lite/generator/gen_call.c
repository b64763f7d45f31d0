/* Calls to code; see gen.h.
 *
 * Arguments are evaluated into consecutive registers at the top of the
 * caller's frame, where the callee's frame begins: a call copies nothing. They
 * are evaluated from the last to the first, as in the published
 * implementation.
 */
#include "base/core/panic.h"
#include "sawzall-lite/generator/gen.h"

static struct saw_expr *gen_call_arg(const struct saw_expr *e, size_t i)
{
    return e->u.call.args.at[i];
}

/* Load the frame that @f keeps, which a call of @f or a closure of it holds,
 * into @to. */
static void
gen_call_environment(struct gen *g, const struct saw_function *f, gen_reg to)
{
    gen_frame(g, gen_env_of(f), to);
}

void gen_closure(struct gen *g, const struct saw_function *f, gen_reg to)
{
    gen_reg mark = g->next_reg;
    gen_reg env = gen_temp(g);

    if (f->context_level > 0)
        gen_call_environment(g, f, env);
    gen_abc(g, SAW_OP_CLOSURE, to, env, 0);
    gen_ak(g, SAW_OP_EXT, 0, f->index);
    gen_release(g, mark);
}

/* Arguments in registers from @r on, evaluated from the last to the first, as
 * the language always has. */
static void
gen_call_arguments(struct gen *g, const struct saw_exprs *args, gen_reg r)
{
    size_t i;

    for (i = args->count; i-- > 0 && !g->u->failed;)
        gen_held(g, args->at[i], r + (gen_reg)i);
}

gen_reg gen_arguments(struct gen *g, const struct saw_exprs *args)
{
    gen_reg r;

    if (args->count == 1 && !g->u->plain) {
        r = gen_any(g, args->at[0]);
        gen_share(g, args->at[0], r);
        return r;
    }
    r = gen_temps(g, (uint32_t)args->count);
    gen_call_arguments(g, args, r);
    return r;
}

/* The function a call always reaches, or NULL. */
static struct saw_function *gen_call_target(const struct saw_expr *fn)
{
    const struct saw_decl *d;

    if (fn->kind != EXPR_NAME)
        return NULL;
    d = fn->u.name.decl;
    return d && d->fn && !d->assigned && d->init &&
                   d->init->kind == EXPR_FUNCTION
               ? d->init->u.function.fn
               : NULL;
}

static void function_call(struct gen *g, struct saw_expr *e, gen_reg to)
{
    const struct saw_exprs *args = &e->u.call.args;
    struct saw_function *f = gen_call_target(e->u.call.fn);
    gen_reg mark = g->next_reg;
    gen_reg closure = f ? 0 : gen_temp(g);
    gen_reg r;

    if (f && gen_can_inline(g, f)) {
        gen_inline(g, f, e, to);
        return;
    }
    INVARIANT(!f || f->params.count == args->count);
    if (!f)
        gen_to(g, e->u.call.fn, closure);
    /* One more for the frame around it; at least one for the result. Where that
     * is wanted in the newest register, the callee's frame begins there. */
    if (to + 1 == g->next_reg && !g->u->plain) {
        r = to;
        gen_temps(g, (uint32_t)args->count);
    } else {
        r = gen_temps(g, (uint32_t)args->count + 1);
    }
    gen_call_arguments(g, args, r);
    if (f && f->context_level > 0)
        gen_call_environment(g, f, r + (gen_reg)args->count);
    g->at = e->pos;
    if (f)
        gen_ak(g, SAW_OP_CALL, r, f->index);
    else
        gen_abc(g, SAW_OP_CALLC, r, closure, (uint32_t)args->count);
    if (!f || !f->compiled || f->returns_undef)
        gen_may_undef(g);
    if (r != to && e->type->kind != SAW_VOID)
        gen_abc(g, SAW_OP_MOVE, to, r, 0);
    gen_release(g, mark);
}

void gen_builtin(struct gen *g,
                 const struct saw_call *site,
                 const struct saw_exprs *args,
                 gen_reg to)
{
    gen_reg mark = g->next_reg;
    struct saw_pos at = g->at;
    gen_reg r = gen_arguments(g, args);

    PRE(site && site->builtin && site->arg_count == args->count);
    g->at = at;
    gen_abc(g, SAW_OP_BUILTIN, to, r, 0);
    gen_ak(g, SAW_OP_EXT, 0, gen_site(g, site));
    if (site->builtin->flags & SAW_BUILTIN_UNDEF)
        gen_may_undef(g);
    gen_release(g, mark);
}

/* --- what the compiler does itself --------------------------------------- */

/* def(x): false where x has no value. */
static void call_def(struct gen *g, struct saw_expr *e, gen_reg to)
{
    gen_label no = gen_label_new(g);
    gen_label end = gen_label_new(g);
    gen_reg mark = g->next_reg;
    size_t known = gen_known_mark(g);
    uint32_t from = gen_handle_begin(g);
    uint32_t sites = g->undef_sites;
    struct saw_decls *assumed = g->assumed;

    g->assumed = NULL; /* def() must not assume its argument defined. */
    gen_any(g, gen_call_arg(e, 0));
    g->assumed = assumed;
    gen_handle_end(g, from, SAW_HANDLER_JUMP, no);
    g->undef_sites = sites; /* Undefined values inside end here. */
    gen_ak(g, SAW_OP_LOADI, to, 1);
    gen_jump(g, end);
    gen_bind(g, no);
    gen_ak(g, SAW_OP_LOADI, to, 0);
    gen_bind(g, end);
    gen_forget(g, known);
    gen_release(g, mark);
}

static void call_new(struct gen *g, struct saw_expr *e, gen_reg to)
{
    gen_reg mark = g->next_reg;
    const struct saw_type *t = e->type;
    gen_reg n;
    gen_reg v;

    if (t->kind == SAW_MAP) {
        n = gen_temp(g);
        if (e->u.call.args.count > 1)
            gen_to(g, gen_call_arg(e, 1), n);
        else
            gen_ak(g, SAW_OP_LOADI, n, 0);
        gen_abc(g, SAW_OP_NEWMAP, to, n, 0);
    } else {
        n = gen_temps(g, 2);
        v = n + 1;
        gen_to(g, gen_call_arg(e, 1), n);
        gen_held(g, gen_call_arg(e, 2), v);
        g->at = e->pos;
        gen_abcx(g, t->kind == SAW_ARRAY ? SAW_OP_NEWARRAY : SAW_OP_NEWTEXT, to,
                 n, v, t);
        gen_may_undef(g);
    }
    gen_release(g, mark);
}

static void call_len(struct gen *g, struct saw_expr *e, gen_reg to)
{
    gen_reg mark = g->next_reg;
    enum saw_kind k = gen_call_arg(e, 0)->type->kind;
    gen_reg r = gen_any(g, gen_call_arg(e, 0));

    gen_abc(g,
            k == SAW_ARRAY ? SAW_OP_ALEN
            : k == SAW_MAP ? SAW_OP_MLEN
                           : SAW_OP_SLEN,
            to, r, 0);
    gen_release(g, mark);
}

static void call_haskey(struct gen *g, struct saw_expr *e, gen_reg to)
{
    gen_reg mark = g->next_reg;
    gen_reg m = gen_any(g, gen_call_arg(e, 0));
    gen_reg k = gen_any(g, gen_call_arg(e, 1));

    gen_abcx(g, SAW_OP_HASKEY, to, m, k, gen_call_arg(e, 0)->type);
    gen_release(g, mark);
}

static void call_lookup(struct gen *g, struct saw_expr *e, gen_reg to)
{
    gen_reg mark = g->next_reg;
    gen_reg t = gen_temp(g);
    gen_reg m = gen_any(g, gen_call_arg(e, 0));
    gen_reg k = gen_any(g, gen_call_arg(e, 1));

    gen_to(g, gen_call_arg(e, 2), t);
    gen_abcx(g, SAW_OP_LOOKUP, t, m, k, gen_call_arg(e, 0)->type);
    gen_abc(g, SAW_OP_MOVE, to, t, 0);
    gen_release(g, mark);
}

static void call_inproto(struct gen *g, struct saw_expr *e, gen_reg to)
{
    gen_reg mark = g->next_reg;
    const struct saw_expr *s = gen_call_arg(e, 0);
    gen_reg o = gen_any(g, s->u.select.object);

    gen_abc(g, SAW_OP_INPROTO, to, o, (uint32_t)s->u.select.field);
    gen_release(g, mark);
}

/* clearproto(t.f): t with the field absent. */
static void call_clearproto(struct gen *g, struct saw_expr *e)
{
    gen_reg mark = g->next_reg;
    const struct saw_expr *s = gen_call_arg(e, 0);
    struct saw_expr *object = s->u.select.object;
    gen_reg o = gen_temp(g);

    gen_target_begin(g, object);
    gen_to(g, object, o);
    gen_abcx(g, SAW_OP_CLEARP, o, o, (uint32_t)s->u.select.field, object->type);
    gen_target_store(g, object, o);
    gen_target_end(object);
    gen_release(g, mark);
}

static void call_cell(struct gen *g, struct saw_expr *e, gen_reg to)
{
    gen_reg mark = g->next_reg;
    gen_reg row = gen_any(g, gen_call_arg(e, 0));
    gen_reg name = gen_any(g, gen_call_arg(e, 1));

    g->at = e->pos;
    gen_abc(g, SAW_OP_CELL, to, row, name);
    gen_may_undef(g);
    gen_release(g, mark);
}

static void call_debug(struct gen *g, struct saw_expr *e, gen_reg to)
{
    struct saw_exprs rest = e->u.call.args;
    gen_reg mark = g->next_reg;

    rest.at++;
    rest.count--;
    if (e->u.call.site) {
        gen_reg t = gen_temp(g);
        gen_builtin(g, e->u.call.site, &rest, t);
        gen_abc(g, SAW_OP_PRINT, t, 0, 0);
    }
    gen_ak(g, SAW_OP_LOADI, to, e->u.call.site ? 0 : 1);
    gen_release(g, mark);
}

/* saw(…): patterns in registers; those of `rest` come back changed. */
static void call_saw(struct gen *g, struct saw_expr *e, gen_reg to)
{
    const struct saw_exprs *args = &e->u.call.args;
    gen_reg mark = g->next_reg;
    gen_reg r = gen_temps(g, (uint32_t)args->count + 1);
    size_t i;

    for (i = 0; i < args->count; i++) {
        if (e->u.call.flags[i] != ARG_REST)
            gen_to(g, args->at[i], r + 1 + (gen_reg)i);
    }
    g->at = e->pos;
    gen_ak(g, SAW_OP_SAW, r, gen_site(g, e->u.call.site));
    gen_may_undef(g);
    for (i = 0; i < args->count; i++) {
        if (e->u.call.flags[i] == ARG_REST)
            gen_store(g, args->at[i], r + 1 + (gen_reg)i);
    }
    gen_abc(g, SAW_OP_MOVE, to, r, 0);
    gen_release(g, mark);
}

static void call_undefine(struct gen *g, struct saw_expr *e)
{
    struct saw_decl *d = gen_call_arg(e, 0)->u.name.decl;

    gen_set_defined(g, d, false);
}

void gen_call(struct gen *g, struct saw_expr *e, gen_reg to)
{
    switch (e->u.call.kind) {
    case CALL_FUNCTION: function_call(g, e, to); break;
    case CALL_BUILTIN:
        gen_builtin(g, e->u.call.site, &e->u.call.args, to);
        break;
    case CALL_DEF: call_def(g, e, to); break;
    case CALL_NEW: call_new(g, e, to); break;
    case CALL_LEN: call_len(g, e, to); break;
    case CALL_HASKEY: call_haskey(g, e, to); break;
    case CALL_LOOKUP: call_lookup(g, e, to); break;
    case CALL_INPROTO: call_inproto(g, e, to); break;
    case CALL_CLEARPROTO: call_clearproto(g, e); break;
    case CALL_UNDEFINE: call_undefine(g, e); break;
    case CALL_DEBUG: call_debug(g, e, to); break;
    case CALL_CELL: call_cell(g, e, to); break;
    case CALL_SAW: call_saw(g, e, to); break;
    case CALL_NOTHING: gen_ak(g, SAW_OP_LOADI, to, 0); break;
    }
}
