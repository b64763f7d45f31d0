/* Shared by the files of the generator:
 *
 *     compile.c       the unit, functions
 *     gen.c           instructions, registers, labels, handlers
 *     gen_var.c       variables       gen_arith.c  operators
 *     gen_expr.c      expressions     gen_cond.c   conditions and jumps
 *     gen_call.c      calls           gen_store.c  assignment to lvalues
 *     gen_stmt.c      statements      gen_when.c   when
 *     gen_inline.c    calls of small functions
 *
 * Invariants of a function being generated
 *   INV-1. next_reg <= reg_max; reg_max is the size of the frame, below
 *          GEN_REGS_MAX or the unit has failed.
 *   INV-2. Every label that a fixup or handler names is bound when the function
 *          is finished.
 *   INV-3. Handlers begin and end at instructions that exist; of two that
 *          overlap, the inner one comes first.
 */
#ifndef SAWZALL_LITE_GENERATOR_GEN_H
#define SAWZALL_LITE_GENERATOR_GEN_H

#include "base/core/panic.h"
#include "sawzall-lite/generator/compile.h"

/* Registers a function may use: they are 16-bit operands. */
#define GEN_REGS_MAX 60000U

typedef uint32_t gen_reg;   /* A register. */
typedef uint32_t gen_label; /* A place to jump to, possibly not bound yet. */

#define GEN_NO_REG UINT32_MAX

struct gen_fixup {
    uint32_t insn;
    gen_label label;
};

/* The loop or switch around, for break and continue. */
struct gen_loop {
    gen_label exit;
    gen_label next; /* GEN_NO_REG in a switch. */
    struct gen_loop *outer;
};

/* Shared by all functions of the unit. */
struct gen_unit {
    struct arena *arena;
    const struct saw_unit *unit;
    struct saw_code_pool *pool;
    struct saw_diag *diag;
    bool ignore_undefs;
    bool plain; /* Without optimisation. */
    bool failed;
    size_t constant_cap;
    size_t type_cap;
    size_t site_cap;
    size_t emit_cap;
    size_t table_cap;
    size_t var_cap;
};

/* One function being compiled. */
struct gen {
    struct gen_unit *u;
    struct saw_function *fn; /* NULL in the code of statics. */
    bool in_statics;
    struct saw_insn *insns; /* Heap; copied at the end. */
    struct saw_pos *pos;
    uint32_t count;
    uint32_t cap;
    struct saw_pos at; /* Position of what is generated now. */
    gen_reg next_reg;
    gen_reg reg_max;
    uint32_t *labels;
    uint32_t label_count;
    uint32_t label_cap;
    struct gen_fixup *fixups;
    uint32_t fixup_count;
    uint32_t fixup_cap;
    struct saw_handler *handlers; /* target is a label until the end. */
    uint32_t handler_count;
    uint32_t handler_cap;
    struct saw_inlined *inlined; /* Inner ones first. */
    uint32_t inlined_count;
    uint32_t inlined_cap;
    /* Instructions emitted that may yield no value. */
    uint32_t undef_sites;
    /* Variables known to be defined here, newest last. */
    struct saw_decls known;
    /* Loops are compiled twice: once assuming that the variables in `assumed`
     * are defined, once not. */
    struct saw_decls *assumed;
    uint32_t assumed_below; /* Only variables in registers below this. */
    unsigned no_versions;
    struct gen_loop *loop;
    struct saw_expr *statexpr;
    gen_label statexpr_exit;
    bool far; /* Conditional jumps need 32 bits. */
};

/* --- gen.c --------------------------------------------------------------- */

uint32_t
gen_abc(struct gen *g, enum saw_opcode op, gen_reg a, uint32_t b, uint32_t c);
uint32_t gen_ak(struct gen *g, enum saw_opcode op, gen_reg a, uint32_t k);
/* The same with a type in the word that follows. */
void gen_abcx(struct gen *g,
              enum saw_opcode op,
              gen_reg a,
              uint32_t b,
              uint32_t c,
              const struct saw_type *t);
/* Note that the next instruction may yield no value. */
void gen_may_undef(struct gen *g);

/* A fresh register, or @count in a row; valid until gen_release(). */
gen_reg gen_temp(struct gen *g);
gen_reg gen_temps(struct gen *g, uint32_t count);

/* Release all temporaries from @mark on. */
static inline void gen_release(struct gen *g, gen_reg mark)
{
    PRE(mark <= g->next_reg);
    g->next_reg = mark;
}

/* A label, to be bound once to the next instruction by gen_bind(). */
gen_label gen_label_new(struct gen *g);
void gen_bind(struct gen *g, gen_label l);
void gen_jump(struct gen *g, gen_label l);
/* JT, JF with @a, or a comparison that jumps with @a and @b. */
void gen_branch(struct gen *g,
                enum saw_opcode op,
                gen_reg a,
                uint32_t b,
                gen_label l);

/* The index of a constant, type, variable or call site in the pool. */
uint32_t gen_constant(struct gen *g, union saw_slot v);
uint32_t gen_type(struct gen *g, const struct saw_type *t);
/* Index of a variable that can be undefined. */
uint32_t gen_var(struct gen *g, struct saw_decl *d);
uint32_t gen_site(struct gen *g, const struct saw_call *site);

/* Code generated until gen_handle_end() continues at @target when it has no
 * value. */
uint32_t gen_handle_begin(const struct gen *g);
void gen_handle_end(struct gen *g,
                    uint32_t from,
                    enum saw_handler_kind kind,
                    gen_label target);

/* Definedness learned from here on is dropped by gen_forget(). */
static inline size_t gen_known_mark(const struct gen *g)
{
    return g->known.count;
}

void gen_forget(struct gen *g, size_t mark);
void gen_know(struct gen *g, struct saw_decl *d);

/* --- expressions --------------------------------------------------------- */

/* Evaluate @e into some register, possibly that of a variable. */
gen_reg gen_any(struct gen *g, struct saw_expr *e);
/* Evaluate @e into register @to. */
void gen_to(struct gen *g, struct saw_expr *e, gen_reg to);
/* The same for a second holder: the value is shared unless fresh. */
void gen_held(struct gen *g, struct saw_expr *e, gen_reg to);
void gen_share(struct gen *g, const struct saw_expr *e, gen_reg r);
void gen_binary_op(struct gen *g,
                   const struct saw_expr *e,
                   gen_reg to,
                   gen_reg l,
                   gen_reg r);
bool gen_is_logical(enum saw_op op); /* && and || */
void gen_unary(struct gen *g, struct saw_expr *e, gen_reg to);
void gen_arithmetic(struct gen *g, struct saw_expr *e, gen_reg to);
/* A bool out of jumps. */
void gen_logical(struct gen *g, struct saw_expr *e, gen_reg to);
/* Jump to @l if @e is @when; else continue. */
void gen_cond(struct gen *g, struct saw_expr *e, bool when, gen_label l);
void gen_call(struct gen *g, struct saw_expr *e, gen_reg to);
/* The values of @args in registers one after the other; returns the first. */
gen_reg gen_arguments(struct gen *g, const struct saw_exprs *args);
/* Whether a call of @f can be replaced by the expression it returns. */
bool gen_can_inline(const struct gen *g, const struct saw_function *f);
/* Do that for @call. PRE: gen_can_inline(). */
void gen_inline(struct gen *g,
                struct saw_function *f,
                const struct saw_expr *call,
                gen_reg to);
/* A closure of @f. */
void gen_closure(struct gen *g, const struct saw_function *f, gen_reg to);
/* Call an intrinsic over @args; the result in @to. */
void gen_builtin(struct gen *g,
                 const struct saw_call *site,
                 const struct saw_exprs *args,
                 gen_reg to);

/* Read or write a variable wherever it lives. */
gen_reg gen_load_var(struct gen *g, struct saw_decl *d, gen_reg to);
void gen_store_var(struct gen *g, struct saw_decl *d, gen_reg from);
/* Set the flag "defined" of a variable that has one. */
void gen_set_defined(struct gen *g, struct saw_decl *d, bool defined);
/* Whether the variable is in a register of this function. */
/* The function around @f whose frame a call or closure of @f keeps: the nearest
 * whose variables it uses. Frames in between may be gone when @f is called.
 * PRE: it uses some. */
const struct saw_function *gen_env_of(const struct saw_function *f);
/* The frame of @owner, this function or one around it that it keeps. */
void gen_frame(struct gen *g, const struct saw_function *owner, gen_reg to);
bool gen_is_local(const struct gen *g, const struct saw_decl *d);

void gen_store(struct gen *g, struct saw_expr *target, gen_reg value);
/* The same in steps, for statements that read the target first: its indices
 * are evaluated once, in begin(), and the registers in force until end()
 * belong to it. */
void gen_target_begin(struct gen *g, struct saw_expr *target);
void gen_target_store(struct gen *g, struct saw_expr *target, gen_reg value);
void gen_target_end(struct saw_expr *target);

void gen_stmt(struct gen *g, struct saw_stmt *s);
void gen_when(struct gen *g, struct saw_stmt *s);
/* The handler of a statement: skip to @exit with ignore_undefs, else fatal.
 * The undefined value is reported as that of @s, or of @e if @s is NULL. */
void gen_statement_end(struct gen *g,
                       uint32_t from,
                       gen_label exit,
                       const struct saw_stmt *s,
                       const struct saw_expr *e);

void gen_function(struct gen_unit *u, struct saw_function *f);

#endif /* SAWZALL_LITE_GENERATOR_GEN_H */
