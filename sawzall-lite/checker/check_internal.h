/* Shared by the files of the checker:
 *
 *     check_program.c  the whole, scopes, predeclared names
 *     check_stmt.c     statements and declarations
 *     check_type.c     types as written to types
 *     check_tuple.c    tuple types and proto tuples
 *     check_table.c    tables and emit
 *     check_expr.c     expressions
 *     check_call.c     calls of functions and intrinsics
 *     check_special.c  calls that the compiler provides: def, new, len, saw, …
 *     check_convert.c  conversions
 *     check_when.c     bounds of the quantifiers of a when
 *     composite.c      types of literals { … }
 *     fold.c           constant folding
 */
#ifndef SAWZALL_LITE_CHECKER_CHECK_INTERNAL_H
#define SAWZALL_LITE_CHECKER_CHECK_INTERNAL_H

#include "base/core/hash_map.h"
#include "sawzall-lite/checker/check_program.h"
#include "sawzall-lite/front/scope.h"
#include "sawzall-lite/sawzall.h"
#include "sawzall-lite/values/builtin.h"

struct saw_checker {
    struct arena *arena;
    struct saw_diag *diag;
    const struct saw_compile_options *opts;
    struct saw_unit *unit;
    struct saw_ctx fold;     /* For intrinsics run while compiling. */
    struct hash_map tables;  /* Names of all that are declared, */
    struct hash_map columns; /* and of columns of rows that are read. */
    struct saw_scope *universe;
    struct saw_scope *scope;
    struct saw_function *fn;
    struct saw_expr *statexpr; /* The innermost ?{ }, or NULL. */
    unsigned loops;      /* Loops around, which a `continue` may refer to. */
    unsigned breakables; /* Loops and switches around, for `break`. */
    struct slice tuple_name; /* Of the tuple type being declared, or empty. */
    bool in_prelude;
    bool row_ok;        /* A row may stand here without all its columns. */
    bool nonstatic_use; /* Some variable that is not static was read. */
};

/* A type and an expression as source, for messages; borrowed from the arena. */
const char *check_type_text(struct saw_checker *c, const struct saw_type *t);
const char *check_expr_text(struct saw_checker *c, const struct saw_expr *e);

/* Warn about statements of @f that are never reached, and if @f can end
 * without the result it promises. PRE: checked without error. */
void check_flow(struct saw_checker *c, const struct saw_function *f);

/* Enter a scope inside of the innermost one. */
void check_open_scope(struct saw_checker *c);
/* Leave the innermost scope, with warnings about its unused declarations. */
void check_close_scope(struct saw_checker *c);
/* Enter @d into the innermost scope. */
void check_declare(struct saw_checker *c, struct saw_decl *d);
/* The declaration of @name in force here; NULL, with an error, if there is
 * none. */
struct saw_decl *
check_lookup(struct saw_checker *c, struct slice name, struct saw_pos pos);
/* Note a use of the variable. False, with an error, where it may not be used.
 */
bool check_use(struct saw_checker *c, struct saw_decl *d, struct saw_pos pos);
/* Whether the code being checked is part of the initialiser of a static. */
bool check_in_static(const struct saw_checker *c);

/* Check one statement, with everything inside of it. */
void check_stmt(struct saw_checker *c, struct saw_stmt *s);
/* The body of a function whose type is known. */
void check_function(struct saw_checker *c,
                    struct saw_function *f,
                    const struct saw_type *type);
void check_var_decl(struct saw_checker *c,
                    struct saw_decl *d,
                    struct saw_pos pos);
void check_type_decl(struct saw_checker *c, struct saw_decl *d);

/* @name_of: the declaration that gives the type its name, or NULL. */
const struct saw_type *check_type(struct saw_checker *c,
                                  struct saw_type_expr *t,
                                  struct saw_decl *name_of,
                                  bool table_ok);
const struct saw_type *check_tuple(struct saw_checker *c,
                                   struct saw_type_expr *x,
                                   struct saw_decl *name_of);
const struct saw_type *check_proto(struct saw_checker *c,
                                   struct saw_type_expr *x,
                                   struct saw_decl *name_of);
/* Set the size of a composite whose parts are known; refuse large ones. */
void check_size(struct saw_checker *c, struct saw_pos pos, struct saw_type *t);
/* Let @name_of be the name of @t, which may be incomplete yet. */
void check_name_type(struct saw_checker *c,
                     struct saw_type *t,
                     struct saw_decl *name_of);
/* A function type from "function(…): T", in terms of the universe. */
const struct saw_type *check_signature(struct saw_checker *c, const char *text);

const struct saw_type *check_table_type(struct saw_checker *c,
                                        struct saw_type_expr *t);
/* Check an emit against the declaration of its table. */
void check_emit(struct saw_checker *c, struct saw_stmt *s);

/* Check @e and its parts; sets e->type, saw_type_bad after an error. */
void check_expr(struct saw_checker *c, struct saw_expr *e);
/* The same; a literal { … } may take its type from @hint (NULL: none). */
void check_expr_hint(struct saw_checker *c,
                     struct saw_expr *e,
                     const struct saw_type *hint);
/* Note that the program can read @column ("family:qualifier"). */
void check_column(struct saw_checker *c, struct slice column);
/* The same; an error if the type is not bool. */
void check_condition(struct saw_checker *c, struct saw_expr *e);
/* The variable at the root of an lvalue, or NULL. */
struct saw_decl *check_root(const struct saw_expr *e);

/* Check a call: resolve the callee, then its arguments alone. */
void check_call(struct saw_checker *c, struct saw_expr *e);
void check_call_args(struct saw_checker *c, struct saw_expr *e);
/* Whether one of @args is wrong already, so that nothing more is reported. */
bool check_any_bad(const struct saw_exprs *args);
/* The types of checked expressions; in the arena. */
const struct saw_type **check_types_of(struct saw_checker *c,
                                       const struct saw_exprs *args);
/* A call of a name without declaration: true if the compiler provides it. */
bool check_special(struct saw_checker *c, struct saw_expr *e);
/* The call @e is T(x, …) or convert(T, x, …) with @to as T; its values begin at
 * argument @from. */
void check_convert_call(struct saw_checker *c,
                        struct saw_expr *e,
                        const struct saw_type *to,
                        size_t from);
/* The first argument of convert, new and regex: a type. */
const struct saw_type *check_type_argument(struct saw_checker *c,
                                           struct saw_expr *e);
/* @args.at[0] converted to @to; the expression to use instead. */
struct saw_expr *check_conversion(struct saw_checker *c,
                                  struct saw_pos pos,
                                  const struct saw_type *to,
                                  const struct saw_exprs *args,
                                  bool implicit);
/* Make the site of a call and let the intrinsic prepare. */
struct saw_call *check_site(struct saw_checker *c,
                            const struct saw_builtin *b,
                            const struct saw_exprs *args,
                            const struct saw_type *result);
/* A call of format() over @args, for tables. NULL on error. */
struct saw_call *check_format(struct saw_checker *c,
                              struct saw_pos pos,
                              const struct saw_exprs *args);

/* Check a when: the bounds of its variables, condition and body. */
void check_when(struct saw_checker *c, struct saw_stmt *s);

/* Whether @e is of @type; a literal { … } takes on @type if it can. The second
 * does that alone. No error is reported. */
bool check_compatible(struct saw_checker *c,
                      const struct saw_type *type,
                      struct saw_expr *e);
bool check_composite_as(struct saw_checker *c,
                        struct saw_expr *e,
                        const struct saw_type *type);
/* A type for a literal without context: map, array or (if allowed) tuple. */
bool check_composite_guess(struct saw_checker *c,
                           struct saw_expr *e,
                           bool tuples);

/* Replace the operation by its value where all operands are constants. */
void fold_expr(struct saw_checker *c, struct saw_expr *e);

#endif /* SAWZALL_LITE_CHECKER_CHECK_INTERNAL_H */
