/* Instructions, registers, labels and handlers; see gen.h.
 *
 * Registers are a stack: temporaries are released in the reverse order of
 * their making, so the highest mark is the size of the frame. A jump to a
 * label that is not bound yet is noted as a fixup.
 */
#include "sawzall-lite/generator/gen.h"

#include "base/core/panic.h"

/* --- instructions -------------------------------------------------------- */

static struct saw_insn *gen_add(struct gen *g, enum saw_opcode op)
{
    if (g->count == g->cap) {
        g->cap = g->cap ? g->cap * 2 : 64;
        g->insns = mem_realloc(g->insns, g->cap * sizeof(*g->insns));
        g->pos = mem_realloc(g->pos, g->cap * sizeof(*g->pos));
    }
    g->pos[g->count] = g->at;
    g->insns[g->count] = (struct saw_insn){.op = (uint16_t)op};
    return &g->insns[g->count++];
}

uint32_t
gen_abc(struct gen *g, enum saw_opcode op, gen_reg a, uint32_t b, uint32_t c)
{
    struct saw_insn *i = gen_add(g, op);

    PRE(a < GEN_REGS_MAX || g->u->failed); /* INV-1 */
    i->a = (uint16_t)a;
    i->u.r.b = (uint16_t)b;
    i->u.r.c = (uint16_t)c;
    return g->count - 1;
}

uint32_t gen_ak(struct gen *g, enum saw_opcode op, gen_reg a, uint32_t k)
{
    struct saw_insn *i = gen_add(g, op);

    PRE(a < GEN_REGS_MAX || g->u->failed); /* INV-1 */
    i->a = (uint16_t)a;
    i->u.k = k;
    return g->count - 1;
}

void gen_abcx(struct gen *g,
              enum saw_opcode op,
              gen_reg a,
              uint32_t b,
              uint32_t c,
              const struct saw_type *t)
{
    gen_abc(g, op, a, b, c);
    gen_ak(g, SAW_OP_EXT, 0, gen_type(g, t));
}

void gen_may_undef(struct gen *g)
{
    g->undef_sites++;
}

/* --- registers ----------------------------------------------------------- */

gen_reg gen_temps(struct gen *g, uint32_t count)
{
    gen_reg r = g->next_reg;

    if (r + count > GEN_REGS_MAX) {
        if (!g->u->failed)
            saw_error(g->u->diag, g->at,
                      "the function is too large: over %u registers",
                      GEN_REGS_MAX);
        g->u->failed = true;
        return 0;
    }
    g->next_reg += count;
    if (g->next_reg > g->reg_max)
        g->reg_max = g->next_reg;
    POST(g->next_reg <= g->reg_max && g->reg_max <= GEN_REGS_MAX); /* INV-1 */
    return r;
}

gen_reg gen_temp(struct gen *g)
{
    return gen_temps(g, 1);
}

/* --- labels -------------------------------------------------------------- */

gen_label gen_label_new(struct gen *g)
{
    if (g->label_count == g->label_cap) {
        g->label_cap = g->label_cap ? g->label_cap * 2 : 32;
        g->labels = mem_realloc(g->labels, g->label_cap * sizeof(*g->labels));
    }
    g->labels[g->label_count] = GEN_NO_REG;
    return g->label_count++;
}

void gen_bind(struct gen *g, gen_label l)
{
    PRE(l < g->label_count && g->labels[l] == GEN_NO_REG);
    g->labels[l] = g->count;
}

static void gen_add_fixup(struct gen *g, gen_label l)
{
    PRE(l < g->label_count && g->count > 0);
    if (g->fixup_count == g->fixup_cap) {
        g->fixup_cap = g->fixup_cap ? g->fixup_cap * 2 : 32;
        g->fixups = mem_realloc(g->fixups, g->fixup_cap * sizeof(*g->fixups));
    }
    g->fixups[g->fixup_count++] = (struct gen_fixup){g->count - 1, l};
}

void gen_jump(struct gen *g, gen_label l)
{
    gen_ak(g, SAW_OP_JMP, 0, 0);
    gen_add_fixup(g, l);
}

/* The comparison that leaves a bool, where the jump is too far. */
static enum saw_opcode
plain_comparison(enum saw_opcode op, bool *swap, bool *negate, bool *immediate)
{
    *swap = *negate = false;
    *immediate = op >= SAW_OP_JEQI && op <= SAW_OP_JGEI;
    switch ((int)op) {
    case SAW_OP_JEQI:
    case SAW_OP_JEQ: return SAW_OP_EQ;
    case SAW_OP_JNEI:
    case SAW_OP_JNE: return SAW_OP_NE;
    case SAW_OP_JLTI:
    case SAW_OP_JLT: return SAW_OP_LT;
    case SAW_OP_JLEI:
    case SAW_OP_JLE: return SAW_OP_LE;
    case SAW_OP_JGTI: *swap = true; return SAW_OP_LT;
    case SAW_OP_JGEI: *swap = true; return SAW_OP_LE;
    case SAW_OP_JFNLT: *negate = true; return SAW_OP_FLT;
    case SAW_OP_JFLT: return SAW_OP_FLT;
    case SAW_OP_JFNLE: *negate = true; return SAW_OP_FLE;
    case SAW_OP_JFLE: return SAW_OP_FLE;
    case SAW_OP_JSEQ: return SAW_OP_SEQ;
    case SAW_OP_JSNE: return SAW_OP_SNE;
    default: return SAW_OP_NOP;
    }
}

static void far_branch(struct gen *g,
                       enum saw_opcode op,
                       gen_reg a,
                       uint32_t b,
                       gen_label l)
{
    gen_reg mark = g->next_reg;
    gen_reg t = gen_temp(g);
    bool swap;
    bool negate;
    bool immediate;

    op = plain_comparison(op, &swap, &negate, &immediate);
    if (immediate) {
        gen_reg k = gen_temp(g);
        gen_ak(g, SAW_OP_LOADI, k, (uint32_t)(int32_t)(int16_t)b);
        b = k;
    }
    gen_abc(g, op, t, swap ? b : a, swap ? a : b);
    gen_ak(g, negate ? SAW_OP_JF : SAW_OP_JT, t, 0);
    gen_add_fixup(g, l);
    gen_release(g, mark);
}

void gen_branch(struct gen *g,
                enum saw_opcode op,
                gen_reg a,
                uint32_t b,
                gen_label l)
{
    if (op == SAW_OP_JT || op == SAW_OP_JF) {
        gen_ak(g, op, a, 0);
        gen_add_fixup(g, l);
    } else if (g->far) {
        far_branch(g, op, a, b, l);
    } else {
        gen_abc(g, op, a, b, 0);
        gen_add_fixup(g, l);
    }
}

/* --- pools --------------------------------------------------------------- */

/* Room for one more in an array of the arena. */
static void *
gen_grow(struct gen *g, void *at, size_t count, size_t *cap, size_t size)
{
    void *p;

    if (count < *cap)
        return at;
    *cap = *cap ? *cap * 2 : 32;
    p = arena_alloc(g->u->arena, *cap * size);
    if (count)
        memcpy(p, at, count * size);
    return p;
}

uint32_t gen_constant(struct gen *g, union saw_slot v)
{
    struct saw_code_pool *p = g->u->pool;
    uint32_t from = p->constant_count > 64 ? p->constant_count - 64 : 0;
    uint32_t i;

    for (i = p->constant_count; i-- > from;) {
        if (p->constants[i].u == v.u)
            return i;
    }
    p->constants = gen_grow(g, p->constants, p->constant_count,
                            &g->u->constant_cap, sizeof(*p->constants));
    p->constants[p->constant_count] = v;
    return p->constant_count++;
}

uint32_t gen_type(struct gen *g, const struct saw_type *t)
{
    struct saw_code_pool *p = g->u->pool;
    uint32_t from = p->type_count > 64 ? p->type_count - 64 : 0;
    uint32_t i;

    for (i = p->type_count; i-- > from;) {
        if (p->types[i] == t)
            return i;
    }
    p->types = gen_grow(g, (void *)p->types, p->type_count, &g->u->type_cap,
                        sizeof(*p->types));
    p->types[p->type_count] = t;
    return p->type_count++;
}

uint32_t gen_var(struct gen *g, struct saw_decl *d)
{
    struct saw_code_pool *p = g->u->pool;

    if (d->var)
        return d->var - 1;
    p->vars = gen_grow(g, (void *)p->vars, p->var_count, &g->u->var_cap,
                       sizeof(*p->vars));
    p->vars[p->var_count++] = d;
    d->var = p->var_count;
    return d->var - 1;
}

uint32_t gen_site(struct gen *g, const struct saw_call *site)
{
    struct saw_code_pool *p = g->u->pool;

    p->sites = gen_grow(g, (void *)p->sites, p->site_count, &g->u->site_cap,
                        sizeof(*p->sites));
    p->sites[p->site_count] = site;
    return p->site_count++;
}

/* --- handlers ------------------------------------------------------------ */

uint32_t gen_handle_begin(const struct gen *g)
{
    return g->count;
}

void gen_handle_end(struct gen *g,
                    uint32_t from,
                    enum saw_handler_kind kind,
                    gen_label target)
{
    PRE(from <= g->count); /* INV-3 */
    if (from == g->count)
        return;
    if (g->handler_count == g->handler_cap) {
        g->handler_cap = g->handler_cap ? g->handler_cap * 2 : 16;
        g->handlers =
            mem_realloc(g->handlers, g->handler_cap * sizeof(*g->handlers));
    }
    g->handlers[g->handler_count++] = (struct saw_handler){
        .from = from, .to = g->count, .target = target, .kind = kind};
}

void gen_statement_end(struct gen *g,
                       uint32_t from,
                       gen_label exit,
                       const struct saw_stmt *s,
                       const struct saw_expr *e)
{
    uint32_t count = g->handler_count;

    gen_handle_end(g, from,
                   g->u->ignore_undefs ? SAW_HANDLER_SKIP : SAW_HANDLER_FATAL,
                   exit);
    if (g->handler_count != count) {
        g->handlers[count].about = s;
        g->handlers[count].expr = e;
    }
}

/* --- definedness --------------------------------------------------------- */

void gen_forget(struct gen *g, size_t mark)
{
    PRE(mark <= g->known.count);
    while (g->known.count > mark)
        g->known.at[--g->known.count]->known_defined = false;
}

void gen_know(struct gen *g, struct saw_decl *d)
{
    if (d->known_defined || d->undefined_by_call)
        return;
    d->known_defined = true;
    saw_decls_add(g->u->arena, &g->known, d);
}
