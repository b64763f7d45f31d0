/* The loop that executes instructions; see vm.h.
 *
 * It is one function by design: each instruction ends with its own jump to the
 * next (direct threading), so that the processor predicts each of these jumps
 * separately. Operations longer than a few lines are calls of vm_ops.c and
 * vm_text.c.
 */
#include "base/core/panic.h"
#include "sawzall-lite/machine/vm_internal.h"

/* Cost of an undefined value. */
#define UNDEF_FUEL 20
/* Cost of an emit, besides walking the value. */
#define EMIT_FUEL 50
/* Log2 of the bytes of text that cost one instruction to compare or hash. */
#define TEXT_SHIFT 5

static bool vm_loop_present(const struct saw_tuple *t, size_t field)
{
    return !t->present || (t->present[field / 64] >> (field % 64) & 1);
}

static void
out_of_bounds(struct saw_vm *vm, const char *what, int64_t index, size_t len)
{
    vm->why = (struct saw_why){
        .kind = SAW_WHY_BOUNDS, .text = what, .index = index, .len = len};
}

static void no_value(struct saw_vm *vm, const char *why)
{
    vm->why = (struct saw_why){.kind = SAW_WHY_TEXT, .text = why};
}

/* Charge the walk over the arguments of @site; only where fuel is limited. */
static bool
charge_call(struct saw_ctx *ctx, const struct saw_call *site, union saw_slot *v)
{
    size_t i;

    for (i = 0; i < site->arg_count; i++) {
        if (!saw_work(ctx,
                      saw_value_cost(site->arg_types[i], v[i], ctx->work_max)))
            return false;
    }
    return true;
}

static bool charge_emit(struct saw_ctx *ctx,
                        const struct saw_table_type *t,
                        const struct saw_emit_site *site,
                        const union saw_slot *v)
{
    size_t n = t->index_count;
    uint64_t cost = EMIT_FUEL;
    size_t i;

    for (i = 0; i < n; i++)
        cost += saw_value_cost(t->indices[i].type, v[i], ctx->work_max);
    cost += saw_value_cost(t->element.type, v[n], ctx->work_max);
    if (site->weighted)
        cost += saw_value_cost(t->weight.type, v[n + 1], ctx->work_max);
    return saw_work(ctx, cost);
}

static int64_t vm_loop_divide(int64_t a, int64_t b)
{
    return b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b;
}

static int64_t vm_loop_modulo(int64_t a, int64_t b)
{
    return b == -1 ? 0 : a % b;
}

static bool text_equal(const struct saw_str *a, const struct saw_str *b)
{
    return a->len == b->len && memcmp(a->data, b->data, a->len) == 0;
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"    /* Labels as values. */
#pragma GCC diagnostic ignored "-Wfloat-equal" /* The language's == on float.  \
                                                */

#define A        (R[pc->a])
#define B        (R[pc->u.r.b])
#define C        (R[pc->u.r.c])
#define IMM_B    ((int64_t)(int16_t)pc->u.r.b)
#define IMM_C    ((int64_t)(int16_t)pc->u.r.c)
#define TYPE     (pool->types[pc[1].u.k])
#define FOURTH   (R[pc[1].u.k])
#define B_CONST  (constants[pc->u.r.b].f)
#define C_CONST  (constants[pc->u.r.c].f)
#define DISPATCH goto *labels[pc->op]
#define NEXT                                                                   \
    do {                                                                       \
        pc++;                                                                  \
        DISPATCH;                                                              \
    } while (0)
#define NEXT2                                                                  \
    do {                                                                       \
        pc += 2;                                                               \
        DISPATCH;                                                              \
    } while (0)
/* The slice is burnt: get the next one, unless the record ends. */
#define REFUEL                                                                 \
    do {                                                                       \
        fuel = saw_vm__refuel(vm, fuel);                                       \
        if (fuel < 0)                                                          \
            goto fail;                                                         \
    } while (0)
#define JUMP(d)                                                                \
    do {                                                                       \
        int64_t by = (d);                                                      \
        if (by < 0 && UNLIKELY((fuel += by) < 0))                              \
            REFUEL;                                                            \
        pc += 1 + by;                                                          \
        DISPATCH;                                                              \
    } while (0)
/* Burn fuel for work beyond the instruction itself. */
#define BURN(n)                                                                \
    do {                                                                       \
        fuel -= (int64_t)(n);                                                  \
        if (UNLIKELY(fuel < 0))                                                \
            REFUEL;                                                            \
    } while (0)
#define BURN_WORK                                                              \
    do {                                                                       \
        uint64_t work = ctx->work;                                             \
        ctx->work = 0;                                                         \
        BURN(work);                                                            \
    } while (0)
/* Charge a walk over a value; nothing for numbers. */
#define BURN_VALUE(t, v)                                                       \
    do {                                                                       \
        if (!saw_work(ctx, saw_value_cost((t), (v), ctx->work_max)))           \
            goto fail;                                                         \
        BURN_WORK;                                                             \
    } while (0)
/* The same for the key of a map. */
#define BURN_KEY(v)                                                            \
    do {                                                                       \
        const struct saw_type *key = TYPE->key;                                \
        if (key->kind == SAW_STRING || key->kind == SAW_BYTES)                 \
            fuel -= (int64_t)((v).s->len >> TEXT_SHIFT);                       \
        else if (!saw_kind_is_basic(key->kind))                                \
            BURN_VALUE(key, v);                                                \
    } while (0)
#define BURN_TEXT(s) (fuel -= (int64_t)((s)->len >> TEXT_SHIFT))
#define JUMP_IF(cond)                                                          \
    do {                                                                       \
        if (cond)                                                              \
            JUMP(IMM_C);                                                       \
        NEXT;                                                                  \
    } while (0)
#define TRY(call)                                                              \
    do {                                                                       \
        enum saw_status st = (call);                                           \
        if (UNLIKELY(st != SAW_OK)) {                                          \
            if (st == SAW_UNDEF) {                                             \
                vm->why.kind = SAW_WHY_ERROR;                                  \
                goto undef;                                                    \
            }                                                                  \
            goto fail;                                                         \
        }                                                                      \
    } while (0)

int saw_vm__execute(struct saw_vm *vm)
{
    static const void *const labels[] = {
#define X(name, format) &&op_##name,
        SAW_OPCODES(X)
#undef X
    };
    const struct saw_code_pool *pool = vm->pool;
    const union saw_slot *constants = pool->constants;
    struct saw_vm_frame *frame = &vm->frames[vm->frame_count - 1];
    union saw_slot *R = vm->stack + frame->base;
    const struct saw_insn *pc = frame->code->insns;
    struct saw_ctx *ctx = &vm->ctx;
    int64_t fuel = saw_vm__next_slice(vm);

    DISPATCH;
op_NOP:
op_EXT:
    NEXT;
op_MOVE:
    A = B;
    NEXT;
op_LOADK:
    A = constants[pc->u.k];
    NEXT;
op_LOADI:
    A.i = pc->u.d;
    NEXT;
op_LOADS:
    A = vm->statics[pc->u.k];
    NEXT;
op_STORES:
    vm->statics[pc->u.k] = A;
    NEXT;
op_LOADG:
    A = vm->stack[pc->u.k];
    NEXT;
op_STOREG:
    vm->stack[pc->u.k] = A;
    NEXT;
op_LOADUP:
    A = vm->stack[B.u + pc->u.r.c];
    NEXT;
op_STOREUP:
    vm->stack[B.u + pc->u.r.c] = A;
    NEXT;
op_BASE:
    A.u = (uint64_t)(R - vm->stack);
    NEXT;
op_CHECK:
    if (UNLIKELY(A.i == 0)) {
        vm->why = (struct saw_why){.kind = SAW_WHY_VAR, .var = pc->u.k};
        goto undef;
    }
    NEXT;

    /* Numbers. */
op_ADD:
    A.u = B.u + C.u;
    NEXT;
op_SUB:
    A.u = B.u - C.u;
    NEXT;
op_MUL:
    A.u = B.u * C.u;
    NEXT;
op_DIV:
    if (UNLIKELY(C.i == 0))
        goto division_by_zero;
    A.i = vm_loop_divide(B.i, C.i);
    NEXT;
op_MOD:
    if (UNLIKELY(C.i == 0))
        goto division_by_zero;
    A.i = vm_loop_modulo(B.i, C.i);
    NEXT;
op_DIVU:
    if (UNLIKELY(C.u == 0))
        goto division_by_zero;
    A.u = B.u / C.u;
    NEXT;
op_MODU:
    if (UNLIKELY(C.u == 0))
        goto division_by_zero;
    A.u = B.u % C.u;
    NEXT;
op_SHL:
    A.u = B.u << (C.u & 63);
    NEXT;
op_SHR:
    A.u = B.u >> (C.u & 63);
    NEXT;
op_AND:
    A.u = B.u & C.u;
    NEXT;
op_OR:
    A.u = B.u | C.u;
    NEXT;
op_XOR:
    A.u = B.u ^ C.u;
    NEXT;
op_ADDI:
    A.u = B.u + (uint64_t)IMM_C;
    NEXT;
op_MULI:
    A.u = B.u * (uint64_t)IMM_C;
    NEXT;
op_DIVI:
    A.i = B.i / IMM_C;
    NEXT;
op_MODI:
    A.i = B.i % IMM_C;
    NEXT;
op_ANDI:
    A.u = B.u & pc->u.r.c;
    NEXT;
op_SHLI:
    A.u = B.u << (pc->u.r.c & 63);
    NEXT;
op_SHRI:
    A.u = B.u >> (pc->u.r.c & 63);
    NEXT;
op_NEG:
    A.u = 0 - B.u;
    NEXT;
op_BITNOT:
    A.u = ~B.u;
    NEXT;
op_NOT:
    A.i = !B.i;
    NEXT;
op_FADD:
    A.f = B.f + C.f;
    NEXT;
op_FSUB:
    A.f = B.f - C.f;
    NEXT;
op_FMUL:
    A.f = B.f * C.f;
    NEXT;
op_FDIV:
    if (UNLIKELY(C.f == 0))
        goto division_by_zero;
    A.f = B.f / C.f;
    NEXT;
op_FADDK:
    A.f = B.f + C_CONST;
    NEXT;
op_FSUBK:
    A.f = B.f - C_CONST;
    NEXT;
op_FMULK:
    A.f = B.f * C_CONST;
    NEXT;
op_FDIVK:
    A.f = B.f / C_CONST;
    NEXT;
op_FMADD: /* Two roundings, like the two instructions it stands for. */
    A.f = B.f * C.f + FOURTH.f;
    NEXT2;
op_FMSUB:
    A.f = B.f * C.f - FOURTH.f;
    NEXT2;
op_FNMADD:
    A.f = FOURTH.f - B.f * C.f;
    NEXT2;
op_I2F:
    A.f = (double)B.i;
    NEXT;
op_FNEG:
    A.f = 0.0 - B.f;
    NEXT;

    /* Comparisons. */
op_EQ:
    A.i = B.u == C.u;
    NEXT;
op_NE:
    A.i = B.u != C.u;
    NEXT;
op_LT:
    A.i = B.i < C.i;
    NEXT;
op_LE:
    A.i = B.i <= C.i;
    NEXT;
op_LTU:
    A.i = B.u < C.u;
    NEXT;
op_LEU:
    A.i = B.u <= C.u;
    NEXT;
op_FEQ:
    A.i = B.f == C.f;
    NEXT;
op_FNE:
    A.i = B.f != C.f;
    NEXT;
op_FLT:
    A.i = B.f < C.f;
    NEXT;
op_FLE:
    A.i = B.f <= C.f;
    NEXT;
op_SEQ:
    BURN_TEXT(B.s);
    A.i = text_equal(B.s, C.s);
    NEXT;
op_SNE:
    BURN_TEXT(B.s);
    A.i = !text_equal(B.s, C.s);
    NEXT;
op_SLT:
    BURN_TEXT(B.s);
    A.i = slice_cmp(saw_str_slice(B.s), saw_str_slice(C.s)) < 0;
    NEXT;
op_SLE:
    BURN_TEXT(B.s);
    A.i = slice_cmp(saw_str_slice(B.s), saw_str_slice(C.s)) <= 0;
    NEXT;
op_VEQ:
    BURN_VALUE(TYPE, B);
    A.i = saw_value_equal(TYPE, B, C);
    NEXT2;
op_VNE:
    BURN_VALUE(TYPE, B);
    A.i = !saw_value_equal(TYPE, B, C);
    NEXT2;

    /* Jumps. */
op_JMP:
    JUMP(pc->u.d);
op_JT:
    if (A.i)
        JUMP(pc->u.d);
    NEXT;
op_JF:
    if (!A.i)
        JUMP(pc->u.d);
    NEXT;
op_JEQ:
    JUMP_IF(A.u == B.u);
op_JNE:
    JUMP_IF(A.u != B.u);
op_JLT:
    JUMP_IF(A.i < B.i);
op_JLE:
    JUMP_IF(A.i <= B.i);
op_JEQI:
    JUMP_IF(A.i == IMM_B);
op_JNEI:
    JUMP_IF(A.i != IMM_B);
op_JLTI:
    JUMP_IF(A.i < IMM_B);
op_JLEI:
    JUMP_IF(A.i <= IMM_B);
op_JGTI:
    JUMP_IF(A.i > IMM_B);
op_JGEI:
    JUMP_IF(A.i >= IMM_B);
op_JFLT:
    JUMP_IF(A.f < B.f);
op_JFNLT:
    JUMP_IF(!(A.f < B.f));
op_JFLE:
    JUMP_IF(A.f <= B.f);
op_JFNLE:
    JUMP_IF(!(A.f <= B.f));
op_JFLTK:
    JUMP_IF(A.f < B_CONST);
op_JFNLTK:
    JUMP_IF(!(A.f < B_CONST));
op_JFLEK:
    JUMP_IF(A.f <= B_CONST);
op_JFNLEK:
    JUMP_IF(!(A.f <= B_CONST));
op_JFGTK:
    JUMP_IF(A.f > B_CONST);
op_JFNGTK:
    JUMP_IF(!(A.f > B_CONST));
op_JFGEK:
    JUMP_IF(A.f >= B_CONST);
op_JFNGEK:
    JUMP_IF(!(A.f >= B_CONST));
op_JSEQ:
    BURN_TEXT(A.s);
    JUMP_IF(text_equal(A.s, B.s));
op_JSNE:
    BURN_TEXT(A.s);
    JUMP_IF(!text_equal(A.s, B.s));

    /* Calls. */
op_CALL : {
    const struct saw_code *code = pool->codes[pc->u.k];
    uint32_t base = (uint32_t)(R - vm->stack) + pc->a;
    fuel -= code->fuel;
    if (UNLIKELY(fuel < 0))
        REFUEL;
    if (LIKELY(vm->frame_count < vm->frame_room &&
               (size_t)base + code->reg_count <= vm->stack_room))
        vm->frames[vm->frame_count++] =
            (struct saw_vm_frame){code, pc + 1, base, ++vm->serial};
    else if (!saw_vm__push_frame(vm, code, pc + 1, base))
        goto fail;
    R = vm->stack + base;
    pc = code->insns;
    DISPATCH;
}
op_CALLC : {
    const struct saw_closure *c = B.c;
    uint32_t base = (uint32_t)(R - vm->stack) + pc->a;
    fuel -= c->code->fuel;
    if (UNLIKELY(fuel < 0))
        REFUEL;
    if (!saw_vm__closure_alive(vm, c)) {
        saw_fail(ctx, ERR_INVALID,
                 "the function is called after the function "
                 "around it has returned");
        goto fail;
    }
    if (!saw_vm__push_frame(vm, c->code, pc + 1, base))
        goto fail;
    R = vm->stack + base;
    if (c->callee->uses_env)
        R[c->code->param_count].u = c->env;
    pc = c->code->insns;
    DISPATCH;
}
op_CLOSURE : {
    struct saw_closure *c = saw_alloc(ctx, sizeof(*c));
    if (!c)
        goto fail;
    c->code = pool->codes[pc[1].u.k];
    c->callee = &c->code->callee;
    c->env = c->callee->uses_env ? B.u : 0;
    c->serial = c->callee->uses_env ? saw_vm__frame_at(vm, c->env)->serial : 0;
    A.c = c;
    NEXT2;
}
op_RET:
    R[0] = A;
op_RETV:
    frame = &vm->frames[--vm->frame_count];
    pc = frame->back;
    R = vm->stack + frame[-1].base;
    DISPATCH;
op_NORET:
    saw_fail(ctx, ERR_INVALID,
             pc->a ? "?{…} ended without a result statement"
                   : "the function ended without a return statement");
    goto fail;
op_HALT:
    vm->fuel_used += (uint64_t)(vm->slice - fuel);
    return 0;
op_BUILTIN : {
    const struct saw_call *site = pool->sites[pc[1].u.k];
    if (ctx->work_max && !charge_call(ctx, site, &B))
        goto fail;
    TRY(site->builtin->fn(ctx, site, &B, &A));
    BURN_WORK;
    NEXT2;
}
op_CONVERT : {
    const struct saw_call *site = pool->sites[pc[1].u.k];
    if (ctx->work_max && !charge_call(ctx, site, &B))
        goto fail;
    TRY(saw_convert(ctx, site, &B, &A));
    BURN_WORK;
    NEXT2;
}
op_SAW:
    TRY(saw_op_saw(ctx, pool->sites[pc->u.k], &A));
    BURN_WORK;
    NEXT;

    /* Text, arrays, maps, tuples. */
op_SLEN:
    A.i = (int64_t)B.s->chars;
    NEXT;
op_ALEN:
    A.i = (int64_t)B.a->len;
    NEXT;
op_MLEN:
    A.i = B.m->count;
    NEXT;
op_AGET:
    if (UNLIKELY(C.u >= B.a->len)) {
        out_of_bounds(vm, "array", C.i, B.a->len);
        goto undef;
    }
    A = B.a->items[C.u];
    NEXT;
op_AGETI:
    if (UNLIKELY(pc->u.r.c >= B.a->len)) {
        out_of_bounds(vm, "array", pc->u.r.c, B.a->len);
        goto undef;
    }
    A = B.a->items[pc->u.r.c];
    NEXT;
op_SGET : {
    const struct saw_str *s = B.s;
    size_t at;
    size_t n;
    if (UNLIKELY(C.u >= s->chars)) {
        out_of_bounds(vm, "string", C.i, s->chars);
        goto undef;
    }
    if (!saw_str_is_ascii(s)) /* Counted from the beginning. */
        BURN(C.u >> 1);
    at = saw_str_offset(s, C.u);
    A.i = saw_utf8_decode(s->data + at, s->data + s->len, &n);
    NEXT;
}
op_BGET:
    if (UNLIKELY(C.u >= B.s->len)) {
        out_of_bounds(vm, "bytes", C.i, B.s->len);
        goto undef;
    }
    A.i = (unsigned char)B.s->data[C.u];
    NEXT;
op_MGET : {
    BURN_KEY(C);
    const struct saw_map_entry *e = saw_map_find(B.m, TYPE, C);
    if (UNLIKELY(!e)) {
        no_value(vm, "map key was not present");
        goto undef;
    }
    A = e->value;
    NEXT2;
}
op_FGET:
    A = B.t->fields[pc->u.r.c];
    NEXT;
op_HASKEY:
    BURN_KEY(C);
    A.i = saw_map_find(B.m, TYPE, C) != NULL;
    NEXT2;
op_LOOKUP : {
    BURN_KEY(C);
    const struct saw_map_entry *e = saw_map_find(B.m, TYPE, C);
    if (e)
        A = e->value;
    NEXT2;
}
op_ASLICE:
    TRY(saw_op_slice(ctx, TYPE, B.a, (&C)[0].i, (&C)[1].i, &A));
    NEXT2;
op_SSLICE:
    if (!saw_str_is_ascii(B.s))
        BURN(B.s->len >> 2);
op_BSLICE:
    TRY(saw_op_text_slice(ctx, pc->op == SAW_OP_BSLICE, B.s, (&C)[0].i,
                          (&C)[1].i, &A));
    NEXT;
op_ARRAY:
    TRY(saw_op_array(ctx, &B, pc->u.r.c, &A));
    NEXT;
op_TEXT:
    TRY(saw_op_make_text(ctx, TYPE, &B, pc->u.r.c, &A));
    NEXT2;
op_TUPLE:
    TRY(saw_op_tuple(ctx, TYPE, &B, &A));
    NEXT2;
op_MAP:
    TRY(saw_op_map(ctx, TYPE, &B, pc->u.r.c, &A));
    NEXT2;
op_SADD:
    TRY(saw_op_concat(ctx, B.s, C.s, &A));
    NEXT;
op_AADD:
    TRY(saw_op_array_add(ctx, TYPE, B.a, C.a, &A));
    NEXT2;
op_APPEND:
    TRY(saw_op_append(ctx, TYPE, B.a, &A));
    NEXT2;
op_SHARE:
    if (pc->u.r.b == SAW_ARRAY) {
        if (!A.a->shared)
            A.a->shared = true;
    } else if (pc->u.r.b == SAW_MAP) {
        if (!A.m->shared)
            A.m->shared = true;
    } else if (!A.t->shared) {
        A.t->shared = true;
    }
    NEXT;
op_OWN:
    TRY(saw_op_own(ctx, TYPE, &A));
    NEXT2;
op_OWNELEM : {
    union saw_slot *item;
    if (UNLIKELY(C.u >= B.a->len)) {
        out_of_bounds(vm, "array", C.i, B.a->len);
        goto undef;
    }
    item = &B.a->items[C.u];
    TRY(saw_op_own(ctx, TYPE, item));
    A = *item;
    NEXT2;
}
op_OWNVALUE : {
    BURN_KEY(C);
    struct saw_map_entry *e = saw_map_find(B.m, TYPE, C);
    if (UNLIKELY(!e)) {
        no_value(vm, "map key was not present");
        goto undef;
    }
    TRY(saw_op_own(ctx, TYPE->elem, &e->value));
    A = e->value;
    NEXT2;
}
op_OWNFIELD : {
    struct saw_tuple *t = B.t;
    size_t f = pc->u.r.c;
    TRY(saw_op_own(ctx, TYPE->fields[f].type, &t->fields[f]));
    if (t->present)
        t->present[f / 64] |= UINT64_C(1) << (f % 64);
    A = t->fields[f];
    NEXT2;
}
op_ASET:
    if (UNLIKELY(B.u >= A.a->len)) {
        out_of_bounds(vm, "array", B.i, A.a->len);
        goto undef;
    }
    A.a->items[B.u] = C;
    NEXT;
op_MSET:
    BURN_KEY(B);
    TRY(saw_op_map_set(ctx, TYPE, A.m, B, C));
    NEXT2;
op_FSET : {
    struct saw_tuple *t = A.t;
    size_t f = pc->u.r.c;
    t->fields[f] = B;
    if (t->present)
        t->present[f / 64] |= UINT64_C(1) << (f % 64);
    NEXT;
}
op_SSET:
    if (!saw_str_is_ascii(A.s))
        BURN(A.s->len >> 2);
    TRY(saw_op_char_set(ctx, false, &A, B.i, C.i));
    NEXT;
op_BSET:
    TRY(saw_op_char_set(ctx, true, &A, B.i, C.i));
    NEXT;
op_ASETS:
    TRY(saw_op_array_slice_set(ctx, TYPE, &A, &B));
    NEXT2;
op_SSETS:
    TRY(saw_op_text_slice_set(ctx, &A, &B));
    NEXT;
op_NEWARRAY:
    TRY(saw_op_new_array(ctx, TYPE, B.i, C, &A));
    NEXT2;
op_NEWTEXT:
    TRY(saw_op_new_text(ctx, TYPE, B.i, C, &A));
    NEXT2;
op_NEWMAP:
    A.m = saw_map_new(ctx, B.i > 0 ? B.u : 0);
    if (!A.m)
        goto fail;
    NEXT;
op_INPROTO:
    A.i = vm_loop_present(B.t, pc->u.r.c);
    NEXT;
op_CLEARP:
    TRY(saw_op_clear_field(ctx, TYPE, pc->u.r.c, &A));
    NEXT2;
op_KEYAT:
    if (UNLIKELY(C.u >= B.m->count)) {
        out_of_bounds(vm, "map", C.i, B.m->count);
        goto undef;
    }
    A = B.m->entries[C.u].key;
    NEXT;
op_KEYS:
    TRY(saw_op_union_keys(ctx, TYPE, B.m, &A));
    NEXT2;
op_MIN:
    A.i = B.i < C.i ? B.i : C.i;
    NEXT;

    /* The world. */
op_EMIT : {
    const struct saw_emit_site *site = &pool->emits[pc->u.k];
    if (ctx->work_max &&
        !charge_emit(ctx, pool->tables[saw_emit_table(site, &A)].type, site,
                     &A))
        goto fail;
    BURN_WORK;
    if (saw_run_emit(vm->run, site, &A, &ctx->err))
        goto fail;
    NEXT;
}
op_CELL:
    TRY(saw_op_cell_of(vm, B.t, C.s, &A));
    NEXT;
op_COLUMN:
    TRY(saw_op_column(vm, saw_str_slice(C.s), &A));
    NEXT;
op_PRINT:
    if (saw_run_print_text(vm->run, saw_str_slice(A.s), &ctx->err))
        goto fail;
    NEXT;
op_TABLE:
    if (saw_run_table_param(vm->run, pc->u.k, A.i, &ctx->err))
        goto fail;
    NEXT;

division_by_zero:
    vm->why =
        (struct saw_why){.kind = SAW_WHY_DIVIDE, .index = B.i, .len = pc->op};
undef : {
    const struct saw_insn *to = saw_vm__handle_undef(vm, pc);
    if (!to)
        goto undef_ends;
    pc = to;
    R = vm->stack + vm->frames[vm->frame_count - 1].base;
    fuel -= UNDEF_FUEL + vm->skip_fuel;
    vm->skip_fuel = 0;
    BURN_WORK;
    DISPATCH;
}
undef_ends:
    ctx->err.code = ERR_INVALID;
    vm->ended_undefined = true;
fail:
    vm->fuel_used += (uint64_t)(vm->slice - fuel);
    vm->failed_at = pc;
    return ctx->err.code ? ctx->err.code : ERR_INVALID;
}

#pragma GCC diagnostic pop
