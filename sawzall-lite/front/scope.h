/* Names in force: nested scopes of declarations. Memory of an arena. */
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

struct saw_scope *saw_scope_new(struct arena *a, struct saw_scope *outer);
/* In this scope alone; NULL if absent. */
struct saw_decl *saw_scope_find(const struct saw_scope *s, struct slice name);
/* In this and the outer ones, innermost first. */
struct saw_decl *saw_scope_lookup(const struct saw_scope *s, struct slice name);
void saw_scope_add(struct arena *a, struct saw_scope *s, struct saw_decl *d);

/* The name in force nearest to @name in spelling, or an empty slice. */
struct slice saw_scope_similar(const struct saw_scope *s, struct slice name);

#endif /* SAWZALL_LITE_FRONT_SCOPE_H */
