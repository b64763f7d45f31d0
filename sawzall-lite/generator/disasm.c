/* Code in readable form, for `quarry saw --dump` and tests: an instruction a
 * line, operands by the format of struct saw_insn, then handlers. */
#include "sawzall-lite/generator/opcodes.h"

static const struct {
    const char *name;
    const char *format;
} ops[] = {

#define X(name, format) {#name, format},
    SAW_OPCODES(X)
#undef X
};

static void disasm_operand(char kind,
                           const struct saw_insn *insn,
                           uint32_t at,
                           struct buf *out)
{
    switch (kind) {
    case 'a': buf_printf(out, " r%u", insn->a); break;
    case 'b': buf_printf(out, " r%u", insn->u.r.b); break;
    case 'c': buf_printf(out, " r%u", insn->u.r.c); break;
    case 'i': buf_printf(out, " %d", (int16_t)insn->u.r.c); break;
    case 'v': buf_printf(out, " %d", (int16_t)insn->u.r.b); break;
    case 'u': buf_printf(out, " %u", insn->u.r.c); break;
    case 'q': buf_printf(out, " k%u", insn->u.r.c); break;
    case 'p': buf_printf(out, " k%u", insn->u.r.b); break;
    case 'k': buf_printf(out, " #%u", insn->u.k); break;
    case 'n': buf_printf(out, " %d", insn->u.d); break;
    case 'd': buf_printf(out, " ->%lld", (long long)at + 1 + insn->u.d); break;
    case 'j':
        buf_printf(out, " ->%lld", (long long)at + 1 + (int16_t)insn->u.r.c);
        break;
    default: break;
    }
}

static void dump_code(const struct saw_code *code, struct buf *out)
{
    uint32_t i;
    uint32_t h;
    uint32_t line = 0;

    buf_printf(out, "function %.*s: %u registers%s\n",
               code->name.len ? (int)code->name.len : 9,
               code->name.len ? code->name.data : "(program)", code->reg_count,
               code->callee.uses_env ? ", uses the frame around it" : "");
    for (i = 0; i < code->insn_count; i++) {
        const struct saw_insn *insn = &code->insns[i];
        const char *f = ops[insn->op].format;
        uint32_t at = saw_pos_line(code->pos[i]);
        if (at != line && at != 0)
            buf_printf(out, "  line %u\n", at);
        line = at;
        buf_printf(out, "%6u  %-9s", i, ops[insn->op].name);
        for (; *f && *f != 'X'; f++)
            disasm_operand(*f, insn, i, out);
        buf_append_byte(out, '\n');
    }
    for (h = 0; h < code->handler_count; h++) {
        const struct saw_handler *x = &code->handlers[h];
        buf_printf(out, "  no value in [%u, %u): ", x->from, x->to);
        if (x->kind == SAW_HANDLER_JUMP || x->kind == SAW_HANDLER_SKIP)
            buf_printf(out, "continue at %u\n", x->target);
        else
            buf_printf(out, "%s\n",
                       x->kind == SAW_HANDLER_FATAL ? "error"
                                                    : "none in the "
                                                      "caller");
    }
}

static void dump_types(const struct saw_code_pool *pool, struct buf *out)
{
    uint32_t i;

    for (i = 0; i < pool->type_count; i++) {
        buf_printf(out, "type #%u: ", i);
        saw_type_print(pool->types[i], out);
        buf_append_byte(out, '\n');
    }
}

void saw_code_dump(const struct saw_code_pool *pool, struct buf *out)
{
    uint32_t i;

    for (i = 0; i < pool->table_count; i++) {
        struct saw_type t = {.kind = SAW_TABLE, .table = pool->tables[i].type};
        if (pool->tables[i].predeclared)
            continue;
        buf_printf(out, "table #%u %.*s: ", i, SLICE_ARG(pool->tables[i].name));
        saw_type_print(&t, out);
        buf_append_byte(out, '\n');
    }
    dump_types(pool, out);
    if (pool->static_count)
        dump_code(pool->statics, out);
    for (i = 0; i < pool->code_count; i++) {
        if (pool->codes[i])
            dump_code(pool->codes[i], out);
    }
}
