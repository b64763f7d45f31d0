/* The machine: registers, frames and the loop that executes instructions.
 *
 * Calls of the program are frames on a growing heap stack, never C calls, so a
 * runaway recursion ends with an error. Fuel is burnt at backward jumps and
 * calls, in proportion to the instructions executed; when a slice is used up
 * the machine checks the limit and the cancel flag.
 *
 * Invariants
 *   INV-1. frame_count <= frame_cap; a frame's registers [base, base +
 *          reg_count) are inside the stack, and bases do not descend from
 *          caller to callee.
 *   INV-2. Fuel is never negative but for the slice of the loop, which may be
 *          overdrawn by one operation; the next slice pays it.
 *   INV-3. Serial numbers of frames are unique within a record, so a closure
 *          can tell whether the frame it holds is still there.
 *   INV-4. The record arena is empty between records.
 */
#ifndef SAWZALL_LITE_MACHINE_VM_H
#define SAWZALL_LITE_MACHINE_VM_H

#include <stdatomic.h>

#include "sawzall-lite/generator/opcodes.h"
#include "sawzall-lite/sawzall.h"

#define SAW_DEPTH_DEFAULT 10000U

struct saw_vm_frame {
    const struct saw_code *code;
    const struct saw_insn *back; /* Where its caller continues. */
    uint32_t base;               /* Its register 0 on the stack. */
    uint32_t serial; /* Distinguishes it from others at that base. */
};

/* Why there is no value. It is formatted only where it is read, since def()
 * and initialisers meet undefined values all the time. The cause kept for a
 * variable is the first one, even if the value went through other variables. */
struct saw_why {
    enum {
        SAW_WHY_NONE, /* No undefined value yet. */
        SAW_WHY_TEXT,
        SAW_WHY_BOUNDS, /* `text` is what was indexed. */
        SAW_WHY_DIVIDE, /* Bits `index` by zero; `len` is the instruction. */
        SAW_WHY_VAR,    /* Variable `var` was undefined already. */
        SAW_WHY_ERROR,  /* An intrinsic set it: in ctx.err. */
    } kind;

    const char *text;
    int64_t index;
    size_t len;
    uint32_t var;
    bool of_result; /* It came back from a function. */
    /* Of a variable: the statement or expression without value. */
    const struct saw_stmt *about;
    const struct saw_expr *expr;
};

struct saw_vm {
    const struct saw_code_pool *pool;
    struct saw_ctx ctx;
    struct arena record; /* Forgotten after each record. */
    struct arena fixed;  /* Values of statics. */
    union saw_slot *stack;
    size_t stack_cap;  /* Slots. */
    size_t stack_room; /* Slots, less those that every frame reserves for
                          arguments. */
    struct saw_vm_frame *frames;
    uint32_t frame_count;
    uint32_t frame_cap;
    uint32_t frame_room; /* Frames that fit without growing or the limit. */
    uint32_t depth_max;
    uint32_t serial; /* Of the newest frame. */
    union saw_slot *statics;
    const atomic_bool *cancel;
    uint64_t fuel_max;  /* Per record; 0: none. */
    uint64_t fuel_left; /* Of the record, not yet given to the loop. */
    int64_t slice;      /* Given to the loop, in part burnt. */
    uint64_t fuel_used; /* In records before this. */
    const struct saw_type *row_type;
    const struct saw_row *row;        /* The record, when rows are wanted. */
    struct saw_why why;               /* Of the newest undefined value. */
    struct saw_why *vars;             /* Of variables left undefined. */
    int64_t skip_fuel;                /* Owed for skipped statements. */
    const struct saw_insn *failed_at; /* Where the last run ended early. */
    bool ended_undefined;             /* By an undefined value. */
    bool lazy_row; /* Columns are looked up in `row`; no map is made. */
    /* Called by EMIT, TABLE and PRINT. */
    struct saw_run *run;
};

/* Run @code with @input and @key (of the program's body); the frame is fresh.
 * Errors as for saw_run_record(); the text holds the trace. */
MUST_CHECK int saw_vm_run(struct saw_vm *vm,
                          const struct saw_code *code,
                          union saw_slot input,
                          union saw_slot key,
                          union saw_slot row,
                          struct err *err);

void saw_vm_close(struct saw_vm *vm);

/* --- run.c, for the machine ---------------------------------------------- */

int saw_run_emit(struct saw_run *r,
                 const struct saw_emit_site *site,
                 const union saw_slot *args,
                 struct err *err);
/* Count an undefined value where that is not silent. */
void saw_run_undefined(struct saw_run *r,
                       const struct saw_handler *h,
                       struct saw_pos pos,
                       const char *why);
/* Set the parameter of a table. */
int saw_run_table_param(struct saw_run *r,
                        uint32_t table,
                        int64_t param,
                        struct err *err);
int saw_run_print_text(struct saw_run *r, struct slice text, struct err *err);

/* A value of the predeclared type Cell; NULL at the memory limit. */
struct saw_tuple *saw_run_cell(struct saw_ctx *ctx, const struct saw_cell *c);

/* --- vm_ops.c, vm_text.c, vm_rows.c: operations too long for the loop ---- */

/* Bounds of a slice of @len things: a slice always has a value. */
void saw_clamp(int64_t *begin, int64_t *end, size_t len);
enum saw_status saw_op_slice(struct saw_ctx *ctx,
                             const struct saw_type *t,
                             const struct saw_array *a,
                             int64_t begin,
                             int64_t end,
                             union saw_slot *to);
enum saw_status saw_op_text_slice(struct saw_ctx *ctx,
                                  bool bytes,
                                  const struct saw_str *s,
                                  int64_t begin,
                                  int64_t end,
                                  union saw_slot *to);
enum saw_status saw_op_concat(struct saw_ctx *ctx,
                              const struct saw_str *a,
                              const struct saw_str *b,
                              union saw_slot *to);
enum saw_status saw_op_array_add(struct saw_ctx *ctx,
                                 const struct saw_type *t,
                                 struct saw_array *a,
                                 struct saw_array *b,
                                 union saw_slot *to);
enum saw_status saw_op_append(struct saw_ctx *ctx,
                              const struct saw_type *t,
                              struct saw_array *b,
                              union saw_slot *to);
enum saw_status saw_op_array(struct saw_ctx *ctx,
                             const union saw_slot *items,
                             size_t count,
                             union saw_slot *to);
/* Characters or, for bytes, bytes. */
enum saw_status saw_op_make_text(struct saw_ctx *ctx,
                                 const struct saw_type *t,
                                 const union saw_slot *items,
                                 size_t count,
                                 union saw_slot *to);
enum saw_status saw_op_tuple(struct saw_ctx *ctx,
                             const struct saw_type *t,
                             const union saw_slot *fields,
                             union saw_slot *to);
enum saw_status saw_op_map(struct saw_ctx *ctx,
                           const struct saw_type *t,
                           const union saw_slot *pairs,
                           size_t count,
                           union saw_slot *to);
/* The value itself or a copy that may be changed. */
enum saw_status
saw_op_own(struct saw_ctx *ctx, const struct saw_type *t, union saw_slot *v);
enum saw_status saw_op_map_set(struct saw_ctx *ctx,
                               const struct saw_type *t,
                               struct saw_map *m,
                               union saw_slot key,
                               union saw_slot value);
enum saw_status saw_op_char_set(struct saw_ctx *ctx,
                                bool bytes,
                                union saw_slot *text,
                                int64_t index,
                                int64_t value);
/* bounds[0..1] of *whole become bounds[2]. */
enum saw_status saw_op_array_slice_set(struct saw_ctx *ctx,
                                       const struct saw_type *t,
                                       union saw_slot *whole,
                                       const union saw_slot *bounds);
enum saw_status saw_op_text_slice_set(struct saw_ctx *ctx,
                                      union saw_slot *whole,
                                      const union saw_slot *bounds);
enum saw_status saw_op_new_array(struct saw_ctx *ctx,
                                 const struct saw_type *t,
                                 int64_t len,
                                 union saw_slot init,
                                 union saw_slot *to);
enum saw_status saw_op_new_text(struct saw_ctx *ctx,
                                const struct saw_type *t,
                                int64_t len,
                                union saw_slot init,
                                union saw_slot *to);
enum saw_status saw_op_clear_field(struct saw_ctx *ctx,
                                   const struct saw_type *t,
                                   size_t field,
                                   union saw_slot *tuple);
/* Add the keys of @m that *keys lacks. */
enum saw_status saw_op_union_keys(struct saw_ctx *ctx,
                                  const struct saw_type *t,
                                  const struct saw_map *m,
                                  union saw_slot *keys);
enum saw_status saw_op_saw(struct saw_ctx *ctx,
                           const struct saw_call *site,
                           union saw_slot *regs);
/* The newest value of a column; SAW_UNDEF when the row has none. */
enum saw_status saw_op_cell_of(struct saw_vm *vm,
                               const struct saw_tuple *row,
                               const struct saw_str *column,
                               union saw_slot *to);
/* All cells of a column, as an array of Cell. */
enum saw_status
saw_op_column(struct saw_vm *vm, struct slice column, union saw_slot *to);

#endif /* SAWZALL_LITE_MACHINE_VM_H */
