/* Undefined values: handlers, reasons and traces; see vm.h.
 *
 * An operation without a value looks up its place in the handlers of the
 * function, innermost first; where none says otherwise, the call has no value,
 * and the search continues in the caller. The reason is kept as data and
 * formatted only where it is read.
 */
#include "base/core/panic.h"
#include "sawzall-lite/front/ast.h"
#include "sawzall-lite/machine/vm_internal.h"

/* Cost of skipping a statement: the lookup, the count and the report. */
#define SKIP_FUEL 2000

/* --- why ----------------------------------------------------------------- */

static void print_division(const struct saw_why *w, struct buf *b)
{
    union saw_slot v = {.i = w->index};

    buf_append_str(b, "divide by zero error: ");
    switch ((int)w->len) {
    case SAW_OP_FDIV: buf_printf(b, "%g / 0.0", v.f); break;
    case SAW_OP_DIVU:
        buf_printf(b, "%lluU / 0", (unsigned long long)v.u);
        break;
    case SAW_OP_MODU:
        buf_printf(b, "%lluU %% 0", (unsigned long long)v.u);
        break;
    case SAW_OP_MOD: buf_printf(b, "%lld %% 0", (long long)v.i); break;
    default: buf_printf(b, "%lld / 0", (long long)v.i); break;
    }
}

static void
print_cause(const struct saw_vm *vm, const struct saw_why *w, struct buf *b)
{
    switch (w->kind) {
    case SAW_WHY_NONE:
    case SAW_WHY_VAR:
    case SAW_WHY_ERROR: buf_append_str(b, vm->ctx.err.text); break;
    case SAW_WHY_TEXT: buf_append_str(b, w->text); break;
    case SAW_WHY_BOUNDS:
        buf_printf(b, "index out of bounds (index = %lld, %s length = %zu)",
                   (long long)w->index, w->text, w->len);
        break;
    case SAW_WHY_DIVIDE: print_division(w, b); break;
    }
}

/* Append the cause, if known, after the name of a variable or result without
 * value. */
static void
print_history(const struct saw_vm *vm, const struct saw_why *w, struct buf *b)
{
    struct saw_pos pos;

    if (w->kind == SAW_WHY_VAR) {
        const struct saw_decl *d = vm->pool->vars[w->var];
        buf_printf(b,
                   " was copied from \"%.*s\" declared at %s:%u which had not "
                   "been defined",
                   SLICE_ARG(d->name), d->pos.source->name,
                   saw_pos_line(d->pos));
        return;
    }
    pos = w->about ? w->about->pos : w->expr->pos;
    buf_printf(b, " was undefined due to an error at %s:%u: ", pos.source->name,
               saw_pos_line(pos));
    saw_pos_print(pos, w->about != NULL, b);
    buf_append_str(b, " (");
    print_cause(vm, w, b);
    buf_append_byte(b, ')');
}

static void
print_why(const struct saw_vm *vm, const struct saw_why *w, struct buf *b)
{
    const struct saw_decl *d;

    if (w->of_result) {
        buf_append_str(b, "probably because a function result");
        print_history(vm, w, b);
    } else if (w->kind == SAW_WHY_VAR) {
        d = vm->pool->vars[w->var];
        buf_printf(b, "probably because \"%.*s\"", SLICE_ARG(d->name));
        if (vm->vars[w->var].kind == SAW_WHY_NONE)
            buf_append_str(b, " had not been defined");
        else
            print_history(vm, &vm->vars[w->var], b);
    } else {
        print_cause(vm, w, b);
    }
}

static void format_why(struct saw_vm *vm)
{
    struct buf b = BUF_INIT;

    if (vm->why.kind == SAW_WHY_ERROR || vm->why.kind == SAW_WHY_NONE)
        return;
    print_why(vm, &vm->why, &b);
    saw_undef(&vm->ctx, "%s", buf_cstr(&b));
    buf_close(&b);
}

/* The first cause of a variable that had no value. */
static struct saw_why vm_undef_origin(const struct saw_vm *vm, uint32_t var)
{
    if (vm->vars[var].kind == SAW_WHY_NONE)
        return (struct saw_why){.kind = SAW_WHY_VAR, .var = var};
    return vm->vars[var];
}

/* Keep the reason of an initialiser or an assignment without value, for a
 * later read of the variable. */
static void remember_why(struct saw_vm *vm, const struct saw_handler *h)
{
    struct saw_why *w = &vm->vars[h->var - 1];

    PRE(h->var > 0 && h->var <= vm->pool->var_count);
    if (vm->why.kind == SAW_WHY_VAR && !vm->why.of_result) {
        if (vm->why.var != h->var - 1) /* x = x leaves it as it was. */
            *w = vm_undef_origin(vm, vm->why.var);
        return;
    }
    *w = vm->why;
    if (w->of_result) {
        w->of_result = false;
        return;
    }
    w->about = h->about;
    w->expr = h->expr;
    if (w->kind == SAW_WHY_ERROR) {
        size_t n = strlen(vm->ctx.err.text) + 1;
        char *text = saw_alloc(&vm->ctx, n);
        w->kind = SAW_WHY_TEXT;
        w->text = text ? memcpy(text, vm->ctx.err.text, n) : "no memory";
    }
}

/* --- handlers ------------------------------------------------------------ */

static const struct saw_handler *find_handler(const struct saw_code *code,
                                              uint32_t at)
{
    uint32_t i;

    for (i = 0; i < code->handler_count; i++) {
        if (at >= code->handlers[i].from && at < code->handlers[i].to)
            return &code->handlers[i];
    }
    return NULL;
}

const struct saw_insn *saw_vm__handle_undef(struct saw_vm *vm,
                                            const struct saw_insn *pc)
{
    uint32_t top = vm->frame_count;

    PRE(top > 0);
    for (;;) {
        const struct saw_vm_frame *f = &vm->frames[top - 1];
        uint32_t at = (uint32_t)(pc - f->code->insns);
        const struct saw_handler *h = find_handler(f->code, at);

        INVARIANT(at < f->code->insn_count);
        INVARIANT(
            !h ||
            (h->kind != SAW_HANDLER_JUMP && h->kind != SAW_HANDLER_SKIP) ||
            h->target < f->code->insn_count); /* INV-2 of opcodes.h */
        if (h && (h->kind == SAW_HANDLER_JUMP || h->kind == SAW_HANDLER_SKIP)) {
            if (h->kind == SAW_HANDLER_SKIP) {
                vm->skip_fuel += SKIP_FUEL;
                format_why(vm);
                saw_run_undefined(vm->run, h, f->code->pos[at],
                                  vm->ctx.err.text);
            }
            if (h->var)
                remember_why(vm, h);
            vm->frame_count = top;
            return f->code->insns + h->target;
        }
        if (!h || h->kind == SAW_HANDLER_FATAL || top == 1) {
            format_why(vm);
            saw_run_undefined(vm->run, h, f->code->pos[at], vm->ctx.err.text);
            return NULL;
        }
        if (vm->why.kind == SAW_WHY_VAR && !vm->why.of_result) {
            vm->why = vm_undef_origin(vm, vm->why.var);
            vm->why.of_result = true;
        }
        pc = f->back - 1;
        top--;
    }
}

/* --- traces -------------------------------------------------------------- */

/* Bytes of a trace kept in an error, and calls it lists. */
#define TRACE_BYTES     500
#define TRACE_CALLS_MAX 8

struct trace {
    struct buf text;
    const char *what;  /* The error; NULL once printed, */
    size_t what_place; /* in this many bytes at the beginning of the text. */
    unsigned shown;
};

/* The place of the error, or of a call that led there. */
static void trace_place(struct trace *t, struct saw_pos pos)
{
    const char *name = pos.source ? pos.source->name : "?";

    if (t->what) {
        buf_printf(&t->text, "%s:%u:%u", name, saw_pos_line(pos),
                   saw_pos_column(pos));
        t->what_place = t->text.len;
        buf_printf(&t->text, ": %s", t->what);
    } else if (t->text.len < TRACE_BYTES && t->shown++ < TRACE_CALLS_MAX) {
        buf_printf(&t->text, "\n    called at %s:%u", name, saw_pos_line(pos));
    }
    t->what = NULL;
}

static void trace_function(struct trace *t, struct slice name)
{
    if (name.len && t->text.len < TRACE_BYTES && t->shown < TRACE_CALLS_MAX)
        buf_printf(&t->text, " in %.*s", SLICE_ARG(name));
}

void saw_vm__trace(struct saw_vm *vm,
                   const struct saw_insn *pc,
                   struct err *err)
{
    struct trace t = {.what = vm->ctx.err.text};
    enum err_detail detail = vm->ctx.err.detail;
    uint32_t i;
    uint32_t k;

    for (i = vm->frame_count; i-- > 0;) {
        const struct saw_vm_frame *f = &vm->frames[i];
        uint32_t at = (uint32_t)(pc - f->code->insns);
        trace_place(&t, f->code->pos[at]);
        for (k = 0; k < f->code->inlined_count; k++) {
            const struct saw_inlined *in = &f->code->inlined[k];
            if (at < in->from || at >= in->to)
                continue;
            trace_function(&t, in->name);
            trace_place(&t, in->call);
        }
        if (i > 0)
            trace_function(&t, f->code->name);
        pc = f->back ? f->back - 1 : pc;
    }
    err_set(err, vm->ctx.err.code, "%s", buf_cstr(&t.text));
    buf_truncate(&t.text, t.what_place);
    if (detail == ERR_DETAIL_NONE)
        err_set_detail(err, ERR_DETAIL_PLACE, buf_cstr(&t.text));
    else /* The error of the host function that the program called. */
        err_set_detail(err, detail, "");
    buf_close(&t.text);
}
