/* Shared by the files of the machine:
 *
 *     vm.c        life, frames, fuel     vm_loop.c   instructions
 *     vm_undef.c  undefined values: handlers, reasons, traces
 *     vm_ops.c, vm_text.c, vm_rows.c     operations too long for the loop
 */
#ifndef SAWZALL_LITE_MACHINE_VM_INTERNAL_H
#define SAWZALL_LITE_MACHINE_VM_INTERNAL_H

#include "sawzall-lite/machine/vm.h"

/* --- vm.c ---------------------------------------------------------------- */

/* Push a frame for @code whose registers begin at @base; @back is where its
 * caller continues. False at a limit, with the error set. */
bool saw_vm__push_frame(struct saw_vm *vm,
                        const struct saw_code *code,
                        const struct saw_insn *back,
                        uint32_t base);
/* Fuel for the loop to burn until it asks for more. */
int64_t saw_vm__next_slice(struct saw_vm *vm);
/* The slice is burnt, @fuel being left of it (below 0: overdrawn): returns the
 * next one, or -1 with the error set when the record ends here. */
int64_t saw_vm__refuel(struct saw_vm *vm, int64_t fuel);
/* The frame at @base, or NULL when it has returned. */
const struct saw_vm_frame *saw_vm__frame_at(const struct saw_vm *vm,
                                            uint64_t base);
/* Whether the frame around the closure is still there, if it needs one. */
bool saw_vm__closure_alive(const struct saw_vm *vm,
                           const struct saw_closure *c);

/* --- vm_loop.c ----------------------------------------------------------- */

/* Run the newest frame to its end. 0, or a code with vm->ctx.err set and the
 * place in vm->failed_at. */
int saw_vm__execute(struct saw_vm *vm);

/* --- vm_undef.c ---------------------------------------------------------- */

/* The instruction @pc of the top frame has no value. Returns where to
 * continue, or NULL if that ends the record. Frames of calls that thereby have
 * no value either are dropped, unless the record ends. */
const struct saw_insn *saw_vm__handle_undef(struct saw_vm *vm,
                                            const struct saw_insn *pc);
/* Set @err to the error of the machine, which happened at @pc, with the calls
 * that led there. */
void saw_vm__trace(struct saw_vm *vm,
                   const struct saw_insn *pc,
                   struct err *err);

#endif /* SAWZALL_LITE_MACHINE_VM_INTERNAL_H */
