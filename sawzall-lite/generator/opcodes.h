/* The instructions of the register machine, and the form of a compiled
 * program.
 *
 * An instruction is 8 bytes: an opcode and three operands of 16 bits, the last
 * two of which may be one of 32 (k, or d when signed). Operands name registers
 * of the running function unless said otherwise. Instructions with an X in
 * their format take one more word, whose 32 bits index the program's types or
 * call sites, or name a fourth register.
 *
 * Types are known when code is generated: there is one instruction for each
 * type and operation, and no tag is tested at run time. An operation that
 * yields no value (an index out of range) looks up its place in the function's
 * handlers, so definedness costs nothing where values are defined.
 *
 * Jumps are relative to the next instruction. Backward jumps burn fuel.
 *
 * Invariants of a function's code, kept by compile_finish()
 *   INV-1. Registers and jump targets are inside the function.
 *   INV-2. A handler's range and target are inside it; inner handlers come
 *          first.
 *   INV-3. `pos` has an entry for every instruction.
 */
#ifndef SAWZALL_LITE_GENERATOR_OPCODES_H
#define SAWZALL_LITE_GENERATOR_OPCODES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sawzall-lite/front/diag.h"
#include "sawzall-lite/values/builtin.h"
#include "sawzall-lite/values/types.h"
#include "sawzall-lite/values/value.h"

struct saw_decl;
struct saw_expr;
struct saw_stmt;

/* name, format. Formats: letters of the operands for the disassembler
 *   a b c   registers        i   c as a signed number   j   c as a jump
 *   k       32-bit index     d   32-bit jump            n   32-bit number
 *   u       c as a number    q   c as a constant        v   b as a number
 *   p       b as a constant  X   a word follows: a type, a call site, or a
 *                                register                                    */
#define SAW_OPCODES(OP)                                                        \
    OP(NOP, "")                                                                \
    OP(EXT, "k")                                                               \
    OP(MOVE, "ab")                                                             \
    OP(LOADK, "ak")                                                            \
    OP(LOADI, "an")                                                            \
    OP(LOADS, "ak")                                                            \
    OP(STORES, "ak")                                                           \
    OP(LOADG, "ak")                                                            \
    OP(STOREG, "ak")                                                           \
    OP(LOADUP, "abu")                                                          \
    OP(STOREUP, "abu")                                                         \
    OP(BASE, "a")                                                              \
    OP(CHECK, "ak")                                                            \
    OP(ADD, "abc")                                                             \
    OP(SUB, "abc")                                                             \
    OP(MUL, "abc")                                                             \
    OP(DIV, "abc")                                                             \
    OP(MOD, "abc")                                                             \
    OP(DIVU, "abc")                                                            \
    OP(MODU, "abc")                                                            \
    OP(SHL, "abc")                                                             \
    OP(SHR, "abc")                                                             \
    OP(AND, "abc")                                                             \
    OP(OR, "abc")                                                              \
    OP(XOR, "abc")                                                             \
    OP(ADDI, "abi")                                                            \
    OP(MULI, "abi")                                                            \
    OP(DIVI, "abi")                                                            \
    OP(MODI, "abi")                                                            \
    OP(ANDI, "abu")                                                            \
    OP(SHLI, "abu")                                                            \
    OP(SHRI, "abu")                                                            \
    OP(NEG, "ab")                                                              \
    OP(BITNOT, "ab")                                                           \
    OP(NOT, "ab")                                                              \
    OP(FADD, "abc")                                                            \
    OP(FSUB, "abc")                                                            \
    OP(FMUL, "abc")                                                            \
    OP(FDIV, "abc")                                                            \
    OP(FADDK, "abq")                                                           \
    OP(FSUBK, "abq")                                                           \
    OP(FMULK, "abq")                                                           \
    OP(FDIVK, "abq")                                                           \
    OP(FMADD, "abcX")                                                          \
    OP(FMSUB, "abcX")                                                          \
    OP(FNMADD, "abcX")                                                         \
    OP(I2F, "ab")                                                              \
    OP(FNEG, "ab")                                                             \
    OP(EQ, "abc")                                                              \
    OP(NE, "abc")                                                              \
    OP(LT, "abc")                                                              \
    OP(LE, "abc")                                                              \
    OP(LTU, "abc")                                                             \
    OP(LEU, "abc")                                                             \
    OP(FEQ, "abc")                                                             \
    OP(FNE, "abc")                                                             \
    OP(FLT, "abc")                                                             \
    OP(FLE, "abc")                                                             \
    OP(SEQ, "abc")                                                             \
    OP(SNE, "abc")                                                             \
    OP(SLT, "abc")                                                             \
    OP(SLE, "abc")                                                             \
    OP(VEQ, "abcX")                                                            \
    OP(VNE, "abcX")                                                            \
    OP(JMP, "d")                                                               \
    OP(JT, "ad")                                                               \
    OP(JF, "ad")                                                               \
    OP(JEQ, "abj")                                                             \
    OP(JNE, "abj")                                                             \
    OP(JLT, "abj")                                                             \
    OP(JLE, "abj")                                                             \
    OP(JEQI, "avj")                                                            \
    OP(JNEI, "avj")                                                            \
    OP(JLTI, "avj")                                                            \
    OP(JLEI, "avj")                                                            \
    OP(JGTI, "avj")                                                            \
    OP(JGEI, "avj")                                                            \
    OP(JFLT, "abj")                                                            \
    OP(JFNLT, "abj")                                                           \
    OP(JFLE, "abj")                                                            \
    OP(JFNLE, "abj")                                                           \
    OP(JFLTK, "apj")                                                           \
    OP(JFNLTK, "apj")                                                          \
    OP(JFLEK, "apj")                                                           \
    OP(JFNLEK, "apj")                                                          \
    OP(JFGTK, "apj")                                                           \
    OP(JFNGTK, "apj")                                                          \
    OP(JFGEK, "apj")                                                           \
    OP(JFNGEK, "apj")                                                          \
    OP(JSEQ, "abj")                                                            \
    OP(JSNE, "abj")                                                            \
    OP(CALL, "ak")                                                             \
    OP(CALLC, "abu")                                                           \
    OP(CLOSURE, "abX")                                                         \
    OP(RET, "a")                                                               \
    OP(RETV, "")                                                               \
    OP(NORET, "")                                                              \
    OP(HALT, "")                                                               \
    OP(BUILTIN, "abX")                                                         \
    OP(CONVERT, "abX")                                                         \
    OP(SAW, "ak")                                                              \
    OP(SLEN, "ab")                                                             \
    OP(ALEN, "ab")                                                             \
    OP(MLEN, "ab")                                                             \
    OP(AGET, "abc")                                                            \
    OP(AGETI, "abu")                                                           \
    OP(SGET, "abc")                                                            \
    OP(BGET, "abc")                                                            \
    OP(MGET, "abcX")                                                           \
    OP(FGET, "abu")                                                            \
    OP(HASKEY, "abcX")                                                         \
    OP(LOOKUP, "abcX")                                                         \
    OP(ASLICE, "abcX")                                                         \
    OP(SSLICE, "abc")                                                          \
    OP(BSLICE, "abc")                                                          \
    OP(ARRAY, "abu")                                                           \
    OP(TEXT, "abuX")                                                           \
    OP(TUPLE, "abX")                                                           \
    OP(MAP, "abuX")                                                            \
    OP(SADD, "abc")                                                            \
    OP(AADD, "abcX")                                                           \
    OP(APPEND, "abX")                                                          \
    OP(SHARE, "av")                                                            \
    OP(OWN, "abX")                                                             \
    OP(OWNELEM, "abcX")                                                        \
    OP(OWNVALUE, "abcX")                                                       \
    OP(OWNFIELD, "abuX")                                                       \
    OP(ASET, "abc")                                                            \
    OP(MSET, "abcX")                                                           \
    OP(FSET, "abu")                                                            \
    OP(SSET, "abc")                                                            \
    OP(BSET, "abc")                                                            \
    OP(ASETS, "abcX")                                                          \
    OP(SSETS, "abc")                                                           \
    OP(NEWARRAY, "abcX")                                                       \
    OP(NEWTEXT, "abcX")                                                        \
    OP(NEWMAP, "ab")                                                           \
    OP(INPROTO, "abu")                                                         \
    OP(CLEARP, "abuX")                                                         \
    OP(KEYAT, "abc")                                                           \
    OP(KEYS, "abX")                                                            \
    OP(MIN, "abc")                                                             \
    OP(EMIT, "ak")                                                             \
    OP(CELL, "abc")                                                            \
    OP(COLUMN, "abc")                                                          \
    OP(PRINT, "a")                                                             \
    OP(TABLE, "ak")

enum saw_opcode {
#define X(name, format) SAW_OP_##name,
    SAW_OPCODES(X)
#undef X
};

struct saw_insn {
    uint16_t op;
    uint16_t a;

    union {
        struct {
            uint16_t b;
            uint16_t c;
        } r;

        uint32_t k;
        int32_t d;
    } u;
};

STATIC_ASSERT(sizeof(struct saw_insn) == 8, "an instruction is one word");

/* The effect of an undefined value in [from, to). */
enum saw_handler_kind {
    SAW_HANDLER_FATAL,  /* The record ends with an error. */
    SAW_HANDLER_JUMP,   /* Continue at target. */
    SAW_HANDLER_SKIP,   /* The same, but it is counted. */
    SAW_HANDLER_RETURN, /* The call has no value: its caller handles that. */
};

struct saw_handler {
    uint32_t from;
    uint32_t to;
    uint32_t target;
    enum saw_handler_kind kind;
    const struct saw_stmt *about; /* The statement reported; NULL: `expr`. */
    const struct saw_expr *expr;
    uint32_t var; /* Of an initialiser: its variable, + 1; 0: none. */
};

/* Instructions [from, to) that stand for a call. */
struct saw_inlined {
    uint32_t from;
    uint32_t to;
    struct saw_pos call;
    struct slice name; /* Of the function. */
};

/* A compiled function. */
struct saw_code {
    struct slice name;
    struct saw_callee callee;
    const struct saw_insn *insns;
    const struct saw_pos *pos; /* One per instruction. */
    uint32_t insn_count;
    const struct saw_handler *handlers; /* Inner ones first. */
    uint32_t handler_count;
    const struct saw_inlined *inlined; /* Inner ones first. */
    uint32_t inlined_count;
    uint32_t reg_count;
    uint32_t param_count;
    uint32_t fuel; /* Of a call: as much as a loop of that length burns. */
    /* With callee.uses_env, register param_count holds the frame around it. */
};

/* The table is a parameter of the function around the emit. */
#define SAW_EMIT_TABLE_GIVEN UINT32_MAX

/* Operands of EMIT: registers from `a` on hold the indices, the element, the
 * weight if any, then the formatted element, the formatted file name and the
 * number of the table, if given. */
struct saw_emit_site {
    uint32_t table;     /* Among the program's. */
    uint32_t arg_count; /* Registers before the number of the table. */
    bool weighted;
    bool formatted;
    bool to_file;
};

/* The index of its table among those of the program; @args as above. */
static inline uint32_t saw_emit_table(const struct saw_emit_site *site,
                                      const union saw_slot *args)
{
    return site->table == SAW_EMIT_TABLE_GIVEN
               ? (uint32_t)args[site->arg_count].u
               : site->table;
}

/* A table the program emits to. */
struct saw_table_site {
    struct slice name;
    const struct saw_table_type *type;
    bool predeclared;
};

struct saw_code_pool {
    struct saw_code **codes; /* By function index. */
    uint32_t code_count;
    struct saw_code *statics; /* Initialises them; run once per run. */
    uint32_t static_count;
    const struct saw_decl **vars; /* Those that can be undefined. */
    uint32_t var_count;
    union saw_slot *constants;
    uint32_t constant_count;
    const struct saw_type **types;
    uint32_t type_count;
    const struct saw_call **sites;
    uint32_t site_count;
    struct saw_emit_site *emits;
    uint32_t emit_count;
    struct saw_table_site *tables;
    uint32_t table_count;
    uint32_t input_reg; /* Parameters of the program's body. */
    uint32_t key_reg;
    uint32_t row_reg;
};

/* Append the code in readable form. */
void saw_code_dump(const struct saw_code_pool *pool, struct buf *out);

#endif /* SAWZALL_LITE_GENERATOR_OPCODES_H */
