/* Variables wherever they live: in a register, in the frame of a function
 * around, among the statics; see gen.h. Those that can be undefined have a
 * flag in a register; flow analysis (gen_know) saves most tests of it. */
#include "base/core/panic.h"
#include "sawzall-lite/generator/gen.h"

bool gen_is_local(const struct gen *g, const struct saw_decl *d)
{
    return !d->is_static && d->owner == g->fn;
}

/* Register that holds the frame of gen_env_of(@f) in a frame of @f. */
static gen_reg env_reg(const struct saw_function *f)
{
    return (gen_reg)f->params.count;
}

const struct saw_function *gen_env_of(const struct saw_function *f)
{
    uint32_t level = f->context_level;

    PRE(level > 0 && level < f->level);
    for (f = f->owner; f->level != level; f = f->owner)
        continue;
    return f;
}

/* The frame of @owner, a function around this one, in a temporary. */
static gen_reg frame_of(struct gen *g, const struct saw_function *owner)
{
    const struct saw_function *f = gen_env_of(g->fn);
    gen_reg t;

    PRE(owner->level < g->fn->level);
    if (f == owner)
        return env_reg(g->fn);
    t = gen_temp(g);
    gen_abc(g, SAW_OP_MOVE, t, env_reg(g->fn), 0);
    for (; f != owner; f = gen_env_of(f))
        gen_abc(g, SAW_OP_LOADUP, t, t, env_reg(f));
    return t;
}

void gen_frame(struct gen *g, const struct saw_function *owner, gen_reg to)
{
    if (owner == g->fn)
        gen_abc(g, SAW_OP_BASE, to, 0, 0);
    else
        gen_abc(g, SAW_OP_MOVE, to, frame_of(g, owner), 0);
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
static bool gen_var_assume(struct gen *g, struct saw_decl *d)
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
        if (gen_var_assume(g, d))
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

/* Whether it can be assigned between its evaluation and the use of its value:
 * by a function called, or by a ?{ … } in an operand further right. */
static bool may_change(const struct gen *g, const struct saw_decl *d)
{
    return g->u->plain ||
           (d->assigned && (d->captured || g->u->unit->has_statexpr));
}

gen_reg gen_load_var(struct gen *g, struct saw_decl *d, gen_reg to)
{
    const struct saw_function *f = fixed_function(d);

    if (d->type->kind == SAW_TABLE && d->is_static) { /* Its number. */
        to = to == GEN_NO_REG ? gen_temp(g) : to;
        gen_ak(g, SAW_OP_LOADI, to, (uint32_t)d->table);
        return to;
    }
    if (f) {
        to = to == GEN_NO_REG ? gen_temp(g) : to;
        gen_closure(g, f, to);
        return to;
    }
    check_defined(g, d);
    if (gen_is_local(g, d)) {
        if (to == GEN_NO_REG && may_change(g, d))
            to = gen_temp(g);
        INVARIANT(d->reg < g->reg_max || g->u->failed);
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
