/* The machine's life: frames, fuel, and running a program's code; see vm.h.
 *
 * Fuel is handed to the loop in slices, so the loop counts down one register
 * and the limits and the cancel flag are checked once per slice.
 */
#include "base/core/panic.h"
#include "sawzall-lite/machine/vm_internal.h"

/* Instructions between two checks of the limits. */
#define FUEL_SLICE 100000

#define STACK_SLOTS_MIN 1024
#define STACK_SLOTS_MAX ((size_t)1 << 26)

void saw_vm_close(struct saw_vm *vm)
{
    mem_free(vm->stack);
    mem_free(vm->frames);
    mem_free(vm->statics);
    mem_free(vm->vars);
    arena_close(&vm->record);
    arena_close(&vm->fixed);
    buf_close(&vm->ctx.scratch);
}

/* --- frames -------------------------------------------------------------- */

static bool reserve_stack(struct saw_vm *vm, size_t slots)
{
    size_t cap = vm->stack_cap ? vm->stack_cap : STACK_SLOTS_MIN;
    union saw_slot *stack;

    if (slots <= vm->stack_cap)
        return true;
    while (cap < slots)
        cap *= 2;
    if (cap > STACK_SLOTS_MAX ||
        cap * sizeof(union saw_slot) > vm->ctx.bytes_max)
        return false;
    stack = mem_realloc(vm->stack, cap * sizeof(*stack));
    /* Only a defect of the generator would read a register before it is
     * written; zeros make that harmless. */
    memset(stack + vm->stack_cap, 0, (cap - vm->stack_cap) * sizeof(*stack));
    vm->stack = stack;
    vm->stack_cap = cap;
    vm->stack_room = cap - SAW_CALL_ARGS_MAX;
    return true;
}

bool saw_vm__push_frame(struct saw_vm *vm,
                        const struct saw_code *code,
                        const struct saw_insn *back,
                        uint32_t base)
{
    PRE(vm->frame_count == 0 || base >= vm->frames[vm->frame_count - 1].base);
    if (vm->frame_count > vm->depth_max) {
        saw_fail(&vm->ctx, ERR_EXHAUSTED, "calls nested over %u deep",
                 vm->depth_max);
        return false;
    }
    if (vm->frame_count == vm->frame_cap) {
        vm->frame_cap = vm->frame_cap ? vm->frame_cap * 2 : 64;
        vm->frames =
            mem_realloc(vm->frames, vm->frame_cap * sizeof(*vm->frames));
        vm->frame_room = MIN_OF(vm->frame_cap, vm->depth_max + 1);
    }
    if (!reserve_stack(vm,
                       (size_t)base + code->reg_count + SAW_CALL_ARGS_MAX)) {
        saw_fail(&vm->ctx, ERR_EXHAUSTED, "memory limit reached by calls");
        return false;
    }
    POST((size_t)base + code->reg_count <= vm->stack_cap);
    INVARIANT(vm->frame_count < vm->frame_cap); /* INV-1 */
    vm->frames[vm->frame_count++] =
        (struct saw_vm_frame){code, back, base, ++vm->serial};
    return true;
}

/* --- fuel ---------------------------------------------------------------- */

int64_t saw_vm__next_slice(struct saw_vm *vm)
{
    uint64_t n = FUEL_SLICE;

    if (vm->fuel_max && vm->fuel_left < n)
        n = vm->fuel_left;
    if (vm->fuel_max)
        vm->fuel_left -= n;
    vm->slice = (int64_t)n;
    POST(vm->fuel_left <= vm->fuel_max && vm->slice >= 0); /* INV-2 */
    return (int64_t)n;
}

int64_t saw_vm__refuel(struct saw_vm *vm, int64_t fuel)
{
    uint64_t debt = (uint64_t)-fuel;

    PRE(fuel <= 0);
    INVARIANT(vm->slice >= 0);
    vm->fuel_used += (uint64_t)(vm->slice - fuel);
    vm->slice = 0;
    if (vm->cancel && atomic_load_explicit(vm->cancel, memory_order_relaxed)) {
        saw_fail(&vm->ctx, ERR_CANCELLED, "cancelled");
        return -1;
    }
    if (vm->fuel_max && vm->fuel_left <= debt) {
        saw_fail(&vm->ctx, ERR_EXHAUSTED,
                 "the program ran for over %llu instructions on this record",
                 (unsigned long long)vm->fuel_max);
        return -1;
    }
    if (vm->fuel_max)
        vm->fuel_left -= debt;
    return saw_vm__next_slice(vm);
}

const struct saw_vm_frame *saw_vm__frame_at(const struct saw_vm *vm,
                                            uint64_t base)
{
    uint32_t i;

    for (i = vm->frame_count; i-- > 0;) {
        if (vm->frames[i].base == base)
            return &vm->frames[i];
    }
    return NULL;
}

bool saw_vm__closure_alive(const struct saw_vm *vm, const struct saw_closure *c)
{
    const struct saw_vm_frame *f;

    if (!c->callee->uses_env)
        return true;
    f = saw_vm__frame_at(vm, c->env);
    return f && f->serial == c->serial;
}

int saw_vm_run(struct saw_vm *vm,
               const struct saw_code *code,
               union saw_slot input,
               union saw_slot key,
               union saw_slot row,
               struct err *err)
{
    int rc;

    PRE(code && code->insn_count > 0);
    vm->frame_count = 0;
    vm->ended_undefined = false;
    vm->fuel_left = vm->fuel_max;
    vm->ctx.err.code = 0;
    vm->ctx.work = 0;
    memset(vm->vars, 0, vm->pool->var_count * sizeof(*vm->vars));
    if (!saw_vm__push_frame(vm, code, NULL, 0))
        return err_copy(err, &vm->ctx.err);
    INVARIANT(vm->pool->input_reg < vm->stack_cap);
    INVARIANT(vm->pool->row_reg < vm->stack_cap);
    vm->stack[vm->pool->input_reg] = input;
    vm->stack[vm->pool->key_reg] = key;
    vm->stack[vm->pool->row_reg] = row;
    rc = saw_vm__execute(vm);
    if (rc != 0) {
        vm->ctx.err.code = rc;
        saw_vm__trace(vm, vm->failed_at, err);
    }
    return rc;
}
