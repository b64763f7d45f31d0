/* The tree of a program, as the parser makes it and the checker completes it.
 *
 * Everything lives in the arena of the program. The checker fills `type`,
 * `constant` and the resolved names.
 *
 * Invariants
 *   INV-1. The tree is at most SAW_NESTING_MAX levels deep, except along the
 *          left operands of binary operators, which every walk follows in a
 *          loop; so a walk may recurse otherwise. Kept by the parser
 *          (parser_enter).
 *   INV-2. `type` is never NULL: saw_type_bad before checking and after an
 *          error.
 *   INV-3. A tree with an error is never compiled. Kept by program.c.
 */
#ifndef SAWZALL_LITE_FRONT_AST_H
#define SAWZALL_LITE_FRONT_AST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/core/slice.h"
#include "sawzall-lite/front/diag.h"
#include "sawzall-lite/values/builtin.h"
#include "sawzall-lite/values/types.h"
#include "sawzall-lite/values/value.h"

/* Deepest nesting of statements, expressions and types. */
#define SAW_NESTING_MAX 150

struct saw_builtin;
struct saw_call;
struct saw_decl;
struct saw_expr;
struct saw_function;
struct saw_scope;
struct saw_stmt;
struct saw_type_expr;

/* --- lists --------------------------------------------------------------- */

struct saw_exprs {
    struct saw_expr **at;
    size_t count;
    size_t cap;
};

struct saw_stmts {
    struct saw_stmt **at;
    size_t count;
    size_t cap;
};

struct saw_decls {
    struct saw_decl **at;
    size_t count;
    size_t cap;
};

/* --- types as written ---------------------------------------------------- */

enum saw_type_expr_kind {
    TYPE_BAD,
    TYPE_NAME,     /* name, with dots when qualified */
    TYPE_ARRAY,    /* elem */
    TYPE_MAP,      /* key, elem */
    TYPE_TUPLE,    /* fields, members */
    TYPE_PROTO,    /* elem: a tuple or a name */
    TYPE_FUNCTION, /* fields, elem (NULL: none) */
    TYPE_TABLE,    /* table */
};

/* A field, parameter, index, element or weight. */
struct saw_field_expr {
    struct slice name; /* Empty: none. */
    struct saw_pos pos;
    struct saw_type_expr *type;
    struct saw_expr *init; /* A proto field's default. */
    struct saw_pos tag_pos;
    int64_t tag;           /* 0: none; -1: not a number. */
    struct slice proto;    /* The type on the wire, or empty. */
    size_t members_before; /* Members of the tuple that stand before it. */
};

struct saw_fields {
    struct saw_field_expr *at;
    size_t count;
    size_t cap;
};

struct saw_table_expr {
    struct slice kind;
    struct saw_pos kind_pos;
    struct saw_expr *param; /* NULL: none. */
    struct saw_fields indices;
    struct saw_field_expr element;
    struct saw_field_expr weight; /* type NULL: none. */
    struct saw_exprs file;        /* file(…) or proc(…); count 0: none. */
    struct saw_exprs format;
    struct saw_pos file_pos;
    struct saw_pos format_pos;
    bool has_file;
    bool has_format;
    bool is_proc;
    /* Filled by the checker: a variable for each index, then one for the
     * element. The arguments of file() and format() may use them; an emit
     * binds them. */
    struct saw_decls vars;
    struct saw_call *file_site;
    struct saw_call *format_site;
};

struct saw_type_expr {
    enum saw_type_expr_kind kind;
    struct saw_pos pos;
    struct slice name;
    struct saw_type_expr *elem;
    struct saw_field_expr *key; /* Of a map; its name does not matter. */
    struct saw_fields fields;
    struct saw_stmts members; /* `type` and `static` inside a tuple. */
    bool message;             /* parsedmessage */
    struct saw_table_expr *table;
};

/* --- expressions --------------------------------------------------------- */

enum saw_op {
    OP_ADD,
    OP_SUB,
    OP_MUL,
    OP_DIV,
    OP_MOD,
    OP_SHL,
    OP_SHR,
    OP_BAND,
    OP_BOR,
    OP_BXOR,
    OP_EQL,
    OP_NEQ,
    OP_LSS,
    OP_LEQ,
    OP_GTR,
    OP_GEQ,
    OP_LAND, /* &&: evaluates the right side only when needed. */
    OP_LOR,
    OP_AND, /* and: evaluates both sides. */
    OP_OR,
    OP_NEG, /* Unary from here. */
    OP_NOT,
    OP_BITNOT,
    OP_PLUS,
};

enum saw_expr_kind {
    EXPR_BAD,
    EXPR_LITERAL,   /* constant, type */
    EXPR_TIME_TEXT, /* T"…": text */
    EXPR_NAME,
    EXPR_UNARY,
    EXPR_BINARY,
    EXPR_SELECT,
    EXPR_INDEX, /* also slices */
    EXPR_DOLLAR,
    EXPR_CALL,
    EXPR_CONVERT, /* T(x, …), or put in by the checker */
    EXPR_COMPOSITE,
    EXPR_FUNCTION,
    EXPR_STATEXPR, /* ?{ … result e; } */
    EXPR_TYPE,     /* a type where a value may stand: convert(T, x) */
};

/* The callee of a call, as the checker resolved it. */
enum saw_call_kind {
    CALL_FUNCTION, /* A function of the program. */
    CALL_BUILTIN,
    CALL_DEF,
    CALL_NEW,
    CALL_LEN,
    CALL_HASKEY,
    CALL_LOOKUP,
    CALL_INPROTO,
    CALL_CLEARPROTO,
    CALL_UNDEFINE,
    CALL_DEBUG,
    CALL_CELL,    /* cell(r, "family:qualifier") */
    CALL_SAW,     /* saw, sawn, sawzall */
    CALL_NOTHING, /* ___heapcheck and other aids of the published system. */
};

struct saw_expr {
    enum saw_expr_kind kind;
    struct saw_pos pos;
    const struct saw_type *type;
    const union saw_slot *constant; /* NULL: not known while compiling. */

    union {
        struct slice text; /* EXPR_TIME_TEXT */

        struct {
            struct slice text;
            struct saw_decl *decl;
        } name;

        struct {
            enum saw_op op;
            struct saw_expr *left; /* The operand of a unary. */
            struct saw_expr *right;
        } binary;

        struct {
            struct saw_expr *object;
            struct slice name;
            struct saw_pos name_pos;
            size_t field;
        } select;

        struct {
            struct saw_expr *object;
            struct saw_expr *begin;
            struct saw_expr *end; /* Of a slice; else NULL. */
            bool has_dollar;      /* Somewhere in begin or end. */
            uint32_t length_reg;  /* Where the compiler keeps `$`. */
            /* Of `begin` and `end`, + 1; 0: not evaluated. */
            uint32_t cached_reg;
            uint32_t cached_end;
        } index;
        struct saw_expr *dollar; /* The EXPR_INDEX it belongs to. */

        struct {
            struct saw_expr *fn;
            struct saw_exprs args;
            enum saw_arg_flag *flags; /* NULL: all plain. */
            struct saw_pos open;      /* '(' */
            enum saw_call_kind kind;
            struct saw_call *site;
        } call;

        struct {
            struct saw_type_expr *to; /* NULL when put in by the checker. */
            struct saw_exprs args;    /* The value, then further ones. */
            struct saw_call *site;    /* NULL: nothing to do. */
            bool may_be_undef;
        } convert;

        struct {
            struct saw_exprs items; /* Keys and values in turn, if paired. */
            bool paired;
        } composite;

        struct {
            struct saw_type_expr *type;
            struct saw_function *fn;
        } function;

        struct {
            struct saw_stmt *body;
            uint32_t reg; /* Where the compiler keeps the result. */
        } statexpr;
        struct saw_type_expr *type_expr;
    } u;
};

/* --- declarations -------------------------------------------------------- */

enum saw_decl_kind {
    DECL_VAR,
    DECL_TYPE,
    DECL_CONST,   /* A predeclared constant: true, PI. */
    DECL_BUILTIN, /* An intrinsic function. */
    DECL_FIELD,   /* A field, in the scope of its tuple type. */
};

enum saw_quantifier {
    QUANT_NONE,
    QUANT_ALL,
    QUANT_EACH,
    QUANT_SOME,
};

struct saw_decl {
    enum saw_decl_kind kind;
    struct slice name;
    struct saw_pos pos;
    const struct saw_type *type;
    struct saw_type_expr *type_expr; /* NULL: `x := e`. */
    struct saw_expr *init;           /* NULL: none. */
    bool is_static;
    bool is_param;
    bool bound;    /* Stands for a part of an emit in format arguments. */
    bool finished; /* Its type is known: false inside its own declaration. */
    enum saw_quantifier quant;
    bool all_in_body; /* An `all` variable while the body is checked. */
    struct saw_function *owner; /* The function whose frame holds it. */
    struct saw_scope *members;  /* Of a tuple type: its types and statics. */
    const union saw_slot *constant; /* Of a static with a known value. */
    const struct saw_builtin *builtin;

    /* Uses, for warnings and for the generator. */
    bool used;
    bool assigned;           /* After its initialiser. */
    bool captured;           /* Used by a function inside its owner. */
    bool undefined_by_call;  /* By ___undefine(), or by an assignment without
                              * value that was ignored. */
    struct saw_function *fn; /* The function it always holds, or NULL. */
    bool read_whole;         /* Used other than by selecting fields; */
    uint64_t fields_read;    /* the selected fields, by bit. */

    /* Set by the generator. */
    uint32_t reg;        /* Register, or slot among the statics. */
    int32_t defined_reg; /* Register of its "defined" flag; -1: always is. */
    bool known_defined;
    bool in_step;  /* Declared in the step of a for: exists in its body. */
    uint32_t var;  /* Index + 1 among variables that can be undefined. */
    int32_t table; /* Index of its table; -1: not a table. */
};

struct saw_function {
    struct slice name; /* Empty: anonymous. */
    struct saw_pos pos;
    const struct saw_type *type;
    struct saw_decls params;
    struct saw_stmt *body;
    struct saw_function *owner; /* Function around it; NULL for the program. */
    uint32_t level;             /* 0: the program itself. */
    uint32_t context_level;     /* Deepest outer level whose variables it uses;
                                 * 0: none but globals. */
    bool uses_outer;            /* Variables of any function but the program. */
    bool in_static;             /* Inside the initialiser of a static. */
    bool returns_undef;         /* A call of it may have no value. */
    bool literal;               /* Written as a value: it has no name. */
    bool compiled;
    bool inlining;  /* A call of it is being replaced by its result. */
    uint32_t index; /* Among the functions of the program. */
};

/* --- statements ---------------------------------------------------------- */

enum saw_stmt_kind {
    STMT_EMPTY,
    STMT_BLOCK,
    STMT_BREAK,
    STMT_CONTINUE,
    STMT_DECL,
    STMT_TYPE,
    STMT_EMIT,
    STMT_EXPR,
    STMT_LOOP,
    STMT_IF,
    STMT_RESULT,
    STMT_RETURN,
    STMT_SWITCH,
    STMT_WHEN,
    STMT_ASSIGN,
    STMT_INCREMENT,
    STMT_PROTO, /* proto "file.proto" */
};

struct saw_case {
    struct saw_exprs labels; /* count 0: default */
    struct saw_stmt *body;
};

struct saw_stmt {
    enum saw_stmt_kind kind;
    struct saw_pos pos;

    union {
        struct saw_stmts block;
        struct saw_decl *decl; /* Also of STMT_TYPE. */

        struct {
            struct slice name;
            struct saw_pos name_pos;
            struct saw_decl *table;
            struct saw_exprs indices;
            struct saw_expr *value;
            struct saw_expr *weight;
        } emit;
        struct saw_expr *expr; /* EXPR, RETURN, RESULT; NULL: none. */

        struct {
            struct saw_stmt *before;
            struct saw_expr *cond; /* NULL: for ever. */
            struct saw_stmt *after;
            struct saw_stmt *body;
            bool cond_last;    /* do … while */
            bool has_function; /* A function literal is inside. */
        } loop;

        struct {
            struct saw_expr *cond;
            struct saw_stmt *then;
            struct saw_stmt *otherwise; /* NULL: none. */
        } branch;

        struct {
            struct saw_expr *tag;
            struct saw_case *cases;
            size_t case_count;
            size_t case_cap;
        } select;

        struct {
            struct saw_decls vars;
            struct saw_expr *cond;
            struct saw_stmt *body;
            /* Per variable, the index expressions that bound it. */
            struct saw_exprs *uses;
            bool guarded; /* The condition may leave the bounds. */
        } when;

        struct {
            struct saw_expr *target;
            struct saw_expr *value;
        } assign;

        struct {
            struct saw_expr *target;
            int delta;
        } increment;
        struct slice text;
    } u;
};

/* Append to a list above; memory from @a. The last two return the new entry,
 * borrowed until the next call. */
void saw_exprs_add(struct arena *a, struct saw_exprs *l, struct saw_expr *e);
void saw_stmts_add(struct arena *a, struct saw_stmts *l, struct saw_stmt *s);
void saw_decls_add(struct arena *a, struct saw_decls *l, struct saw_decl *d);
struct saw_field_expr *saw_fields_add(struct arena *a, struct saw_fields *l);
struct saw_case *saw_cases_add(struct arena *a, struct saw_stmt *s);

/* A node without parts, of type saw_type_bad; in @a. */
struct saw_expr *
saw_expr_new(struct arena *a, enum saw_expr_kind kind, struct saw_pos pos);
struct saw_stmt *
saw_stmt_new(struct arena *a, enum saw_stmt_kind kind, struct saw_pos pos);
/* A literal of @type; @value is copied. */
struct saw_expr *saw_expr_literal(struct arena *a,
                                  struct saw_pos pos,
                                  const struct saw_type *type,
                                  union saw_slot value);

/* The operator as source: "+", "<=". */
const char *saw_op_text(enum saw_op op);

/* Append the expression as source; long ones are cut. For messages. */
void saw_expr_print(const struct saw_expr *e, struct buf *out);

#endif /* SAWZALL_LITE_FRONT_AST_H */
