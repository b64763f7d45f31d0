/* Units and functions to code; see compile.h.
 *
 * Statics are initialised by code of their own, which each run executes once.
 * A function is finished by resolving its labels: in jumps, and in the
 * handlers of undefined values.
 */
#include "sawzall-lite/generator/compile.h"

#include "base/core/panic.h"
#include "sawzall-lite/checker/reads.h"
#include "sawzall-lite/generator/function_text.h"
#include "sawzall-lite/generator/gen.h"

/* --- finishing a function ------------------------------------------------ */

static bool compile_resolve(struct gen *g)
{
    uint32_t i;

    for (i = 0; i < g->fixup_count; i++) {
        uint32_t at = g->fixups[i].insn;
        struct saw_insn *insn = &g->insns[at];
        uint32_t to = g->labels[g->fixups[i].label];
        int64_t d = (int64_t)to - (int64_t)at - 1;

        INVARIANT(to <= g->count || g->u->failed); /* INV-2 */
        if (insn->op == SAW_OP_JMP || insn->op == SAW_OP_JT ||
            insn->op == SAW_OP_JF) {
            insn->u.d = (int32_t)d;
        } else if (d < INT16_MIN || d > INT16_MAX) {
            return false;
        } else {
            insn->u.r.c = (uint16_t)d;
        }
    }
    for (i = 0; i < g->handler_count; i++) {
        if (g->handlers[i].kind == SAW_HANDLER_JUMP ||
            g->handlers[i].kind == SAW_HANDLER_SKIP)
            g->handlers[i].target = g->labels[g->handlers[i].target];
        INVARIANT(g->handlers[i].to <= g->count);
    }
    return true;
}

static void *compile_keep(struct arena *a, const void *from, size_t size)
{
    void *p = arena_alloc(a, size + 1);

    if (size)
        memcpy(p, from, size);
    return p;
}

static struct saw_code *compile_finish(struct gen *g, struct saw_code *code)
{
    struct arena *a = g->u->arena;

    code->insns = compile_keep(a, g->insns, g->count * sizeof(*g->insns));
    code->pos = compile_keep(a, g->pos, g->count * sizeof(*g->pos));
    code->insn_count = g->count;
    code->handlers =
        compile_keep(a, g->handlers, g->handler_count * sizeof(*g->handlers));
    code->handler_count = g->handler_count;
    code->inlined =
        compile_keep(a, g->inlined, g->inlined_count * sizeof(*g->inlined));
    code->inlined_count = g->inlined_count;
    code->reg_count = g->reg_max + 1;
    POST(code->insn_count > 0 && code->reg_count <= GEN_REGS_MAX + 1);
    return code;
}

static void gen_close(struct gen *g)
{
    gen_forget(g, 0);
    mem_free(g->insns);
    mem_free(g->pos);
    mem_free(g->labels);
    mem_free(g->fixups);
    mem_free(g->handlers);
    mem_free(g->inlined);
}

/* --- functions ----------------------------------------------------------- */

static void compile_body(struct gen *g, struct saw_function *f)
{
    bool has_value =
        f->type->kind == SAW_FUNCTION && f->type->elem->kind != SAW_VOID;
    size_t i;

    for (i = 0; i < f->params.count; i++) {
        f->params.at[i]->reg = gen_temp(g);
        f->params.at[i]->defined_reg = -1;
        if (f->params.at[i]->undefined_by_call)
            f->params.at[i]->defined_reg = 0;
    }
    if (f->context_level > 0)
        gen_temp(g);
    for (i = 0; i < f->params.count; i++) {
        if (f->params.at[i]->defined_reg == 0) {
            f->params.at[i]->defined_reg = (int32_t)gen_temp(g);
            gen_set_defined(g, f->params.at[i], true);
        }
    }
    for (i = 0; i < f->body->u.block.count && !g->u->failed; i++)
        gen_stmt(g, f->body->u.block.at[i]);
    g->at = f->body->pos;
    gen_abc(g,
            f->level == 0 ? SAW_OP_HALT
            : has_value   ? SAW_OP_NORET
                          : SAW_OP_RETV,
            0, 0, 0);
}

static bool
compile_generate(struct gen_unit *u, struct saw_function *f, bool far)
{
    struct gen g = {.u = u, .fn = f, .far = far, .at = f->pos};
    struct saw_code *code = arena_zalloc(u->arena, sizeof(*code));
    bool ok;

    compile_body(&g, f);
    ok = compile_resolve(&g);
    if (ok) {
        code->name = f->name;
        code->callee =
            (struct saw_callee){.text = saw_function_text(u->arena, f),
                                .index = f->index,
                                .uses_env = f->context_level > 0};
        code->param_count = (uint32_t)f->params.count;
        code->fuel = g.count;
        u->pool->codes[f->index] = compile_finish(&g, code);
    }
    gen_close(&g);
    return ok;
}

void gen_function(struct gen_unit *u, struct saw_function *f)
{
    if (f->compiled || u->failed)
        return;
    if (!compile_generate(u, f, false))
        compile_generate(u, f, true);
    f->compiled = true;
    POST(u->failed || u->pool->codes[f->index]);
}

/* --- statics and tables -------------------------------------------------- */

static void add_table(struct gen_unit *u, struct saw_decl *d)
{
    struct saw_code_pool *p = u->pool;

    if (p->table_count == u->table_cap) {
        struct saw_table_site *old = p->tables;
        u->table_cap = u->table_cap ? u->table_cap * 2 : 16;
        p->tables = arena_alloc(u->arena, u->table_cap * sizeof(*p->tables));
        if (old)
            memcpy(p->tables, old, p->table_count * sizeof(*old));
    }
    d->table = (int32_t)p->table_count;
    p->tables[p->table_count++] = (struct saw_table_site){
        .name = d->name,
        .type = d->type->table,
        .predeclared = slice_eq_str(slice_str(d->pos.source->name), "prelude")};
}

/* Whether the static is unused and its initialiser has no other effect. Uses
 * of a static with a known value are constants already. */
static bool is_dead(const struct gen *g, const struct saw_decl *d)
{
    if (g->u->plain || !d->init)
        return false;
    if (d->fn && d->init->kind == EXPR_FUNCTION)
        return !d->used;
    return d->init->constant && (!d->used || d->constant);
}

static void static_var(struct gen *g, struct saw_decl *d)
{
    gen_reg mark = g->next_reg;
    gen_reg r = gen_temp(g);
    uint32_t from;

    g->fn = d->owner;
    g->at = d->pos;
    if (d->type->kind == SAW_TABLE) {
        struct saw_expr *param = d->type->table->syntax->param;
        if (d->table < 0 || !param || param->constant)
            return;
        from = gen_handle_begin(g);
        gen_to(g, param, r);
        gen_handle_end(g, from, SAW_HANDLER_FATAL, 0);
        gen_ak(g, SAW_OP_TABLE, r, (uint32_t)d->table);
        return;
    }
    if (is_dead(g, d))
        return;
    d->reg = g->u->pool->static_count++;
    if (d->fn && d->init->kind == EXPR_FUNCTION) {
        gen_function(g->u, d->init->u.function.fn);
        return;
    }
    from = gen_handle_begin(g);
    gen_held(g, d->init, r);
    gen_handle_end(g, from, SAW_HANDLER_FATAL, 0);
    if (g->handler_count)
        g->handlers[g->handler_count - 1].expr = d->init;
    gen_ak(g, SAW_OP_STORES, r, d->reg);
    gen_release(g, mark);
}

static bool compile_statics(struct gen_unit *u, bool far)
{
    struct gen g = {
        .u = u, .fn = u->unit->main, .far = far, .in_statics = true};
    struct saw_code *code = arena_zalloc(u->arena, sizeof(*code));
    const struct saw_decls *l = &u->unit->statics;
    bool ok;
    size_t i;

    u->pool->static_count = 0;
    for (i = 0; i < l->count && !u->failed; i++)
        static_var(&g, l->at[i]);
    gen_abc(&g, SAW_OP_HALT, 0, 0, 0);
    ok = compile_resolve(&g);
    if (ok) {
        code->name = SLICE_LIT("initialisation of statics");
        u->pool->statics = compile_finish(&g, code);
    }
    gen_close(&g);
    return ok;
}

bool saw_compile_unit(struct arena *a,
                      const struct saw_unit *u,
                      const struct saw_compile_options *opts,
                      struct saw_diag *d,
                      struct saw_code_pool *out)
{
    struct gen_unit unit = {.arena = a,
                            .unit = u,
                            .pool = out,
                            .diag = d,
                            .ignore_undefs = opts->ignore_undefs,
                            .plain = opts->plain_code};
    size_t i;

    /* INV-2 of check_program.h. */
    PRE(u->functions.count > 0 && u->main->index == 0);
    *out = (struct saw_code_pool){0};
    out->code_count = (uint32_t)u->functions.count;
    out->codes = arena_zalloc(a, out->code_count * sizeof(struct saw_code *));
    for (i = 0; i < u->statics.count; i++) {
        struct saw_decl *s = u->statics.at[i];
        if (s->type->kind == SAW_TABLE &&
            (s->used || s == u->undef_count || s == u->undef_details ||
             !slice_eq_str(slice_str(s->pos.source->name), "prelude")))
            add_table(&unit, s);
    }
    if (!unit.plain)
        saw_reads_find(u);
    if (!compile_statics(&unit, false))
        compile_statics(&unit, true);
    gen_function(&unit, u->main);
    if (unit.failed)
        return false;
    out->input_reg = u->input->reg;
    out->key_reg = u->input_key->reg;
    out->row_reg = u->row->reg;
    return true;
}
