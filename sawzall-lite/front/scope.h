/* Names in force: nested scopes of declarations. Memory of an arena.
 *
 * Invariants
 *   INV-1. A scope declares a name once. Kept by the callers of
 *          saw_scope_add(), which report the second.
 *   INV-2. With an index, every declaration is in it and at least half of its
 *          slots are free.
 */
#ifndef SAWZALL_LITE_FRONT_SCOPE_H
#define SAWZALL_LITE_FRONT_SCOPE_H

#include "base/core/arena.h"
#include "sawzall-lite/front/ast.h"

struct saw_scope {
    struct saw_scope *outer; /* NULL: the predeclared names. */
    struct saw_decls decls;  /* In order of declaration. */
    uint32_t *index;         /* Hash table of positions + 1, or NULL. */
    size_t index_size;       /* Power of two. */
};

/* An empty scope inside of @outer (NULL: of none). */
struct saw_scope *saw_scope_new(struct arena *a, struct saw_scope *outer);
/* In this scope alone; NULL if absent. */
struct saw_decl *saw_scope_find(const struct saw_scope *s, struct slice name);
/* In this and the outer ones, innermost first. */
struct saw_decl *saw_scope_lookup(const struct saw_scope *s, struct slice name);
/* Enter @d. PRE: saw_scope_find() of its name gives NULL. */
void saw_scope_add(struct arena *a, struct saw_scope *s, struct saw_decl *d);

/* The name in force nearest to @name in spelling, or an empty slice. */
struct slice saw_scope_similar(const struct saw_scope *s, struct slice name);

#endif /* SAWZALL_LITE_FRONT_SCOPE_H */
