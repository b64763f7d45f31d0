/* Types as written to types: names resolved, containers and functions built;
 * see check_internal.h. A named array or map is entered before its parts are
 * checked, so that it can contain itself. */
#include "base/core/panic.h"
#include "sawzall-lite/checker/check_internal.h"
#include "sawzall-lite/front/parser.h"

static struct saw_type *type_new(struct saw_checker *c, enum saw_kind kind)
{
    struct saw_type *t = arena_zalloc(c->arena, sizeof(*t));
    t->kind = kind;
    t->name = SLICE_EMPTY;
    return t;
}

/* --- names --------------------------------------------------------------- */

/* A.B where A is a tuple type with a member type B. */
static struct saw_decl *member_type(struct saw_checker *c, struct slice name)
{
    size_t dot = slice_find_byte(name, '.');
    struct saw_decl *d;

    d = saw_scope_lookup(c->scope, slice_sub(name, 0, dot));
    while (d && dot < name.len) {
        struct slice rest = slice_sub(name, dot + 1, name.len);
        size_t next = slice_find_byte(rest, '.');
        if (d->kind != DECL_TYPE || !d->members)
            return NULL;
        d = saw_scope_find(d->members, slice_sub(rest, 0, next));
        dot += 1 + next;
    }
    return d;
}

/* Fields do not hide types: `{ time: time, at: time }`. */
static struct saw_decl *lookup_type(const struct saw_scope *s,
                                    struct slice name)
{
    struct saw_decl *d = NULL;

    for (; s; s = s->outer) {
        d = saw_scope_find(s, name);
        if (d && d->kind != DECL_FIELD)
            return d;
    }
    return NULL;
}

static const struct saw_type *check_type_named(struct saw_checker *c,
                                               struct saw_type_expr *t)
{
    struct saw_decl *d = lookup_type(c->scope, t->name);

    if (!d && slice_find_byte(t->name, '.') < t->name.len)
        d = member_type(c, t->name);
    if (!d)
        d = check_lookup(c, t->name, t->pos);
    if (!d)
        return &saw_type_bad;
    if (d->kind != DECL_TYPE) {
        saw_error(c->diag, t->pos, "%.*s is not a type", SLICE_ARG(t->name));
        return &saw_type_bad;
    }
    d->used = true;
    if (!d->type) {
        saw_error(c->diag, t->pos, "type %.*s is used in its own definition",
                  SLICE_ARG(t->name));
        return &saw_type_bad;
    }
    return d->type;
}

/* --- the rest ------------------------------------------------------------ */

static const struct saw_type *check_type_function(struct saw_checker *c,
                                                  struct saw_type_expr *x,
                                                  struct saw_decl *name_of)
{
    struct saw_type *t = type_new(c, SAW_FUNCTION);
    struct saw_field *f =
        arena_zalloc(c->arena, (x->fields.count + 1) * sizeof(*f));
    size_t i;

    if (name_of)
        check_name_type(c, t, name_of);
    t->fields = f;
    t->elem = &saw_type_void;
    for (i = 0; i < x->fields.count; i++) {
        f[i].name = x->fields.at[i].name;
        f[i].type = check_type(c, x->fields.at[i].type, NULL, true);
        t->field_count = i + 1;
    }
    if (x->fields.count > SAW_CALL_ARGS_MAX)
        saw_error(c->diag, x->pos, "over %d parameters", SAW_CALL_ARGS_MAX);
    if (x->elem)
        t->elem = check_type(c, x->elem, NULL, false);
    check_size(c, x->pos, t);
    return t;
}

/* A named array or map can be used inside of itself: `type T = array of T`. */
static const struct saw_type *named_container(struct saw_checker *c,
                                              struct saw_type_expr *x,
                                              struct saw_decl *name_of)
{
    struct saw_type *t =
        type_new(c, x->kind == TYPE_ARRAY ? SAW_ARRAY : SAW_MAP);

    t->elem = t->key = &saw_type_bad;
    check_name_type(c, t, name_of);
    if (t->kind == SAW_MAP)
        t->key = check_type(c, x->key->type, NULL, false);
    t->elem = check_type(c, x->elem, NULL, false);
    check_size(c, x->pos, t);
    return t;
}

static const struct saw_type *check_type_container(struct saw_checker *c,
                                                   struct saw_type_expr *x,
                                                   struct saw_decl *name_of)
{
    const struct saw_type *key;
    const struct saw_type *t;

    if (name_of)
        return named_container(c, x, name_of);
    if (x->kind == TYPE_ARRAY) {
        t = saw_type_array(c->arena, check_type(c, x->elem, NULL, false));
    } else {
        key = check_type(c, x->key->type, NULL, false);
        t = saw_type_map(c->arena, key, check_type(c, x->elem, NULL, false));
    }
    if (saw_type_size(t) <= SAW_TYPE_SIZE_MAX)
        return t;
    saw_error(c->diag, x->pos, "the type is too large: over %u parts",
              SAW_TYPE_SIZE_MAX);
    return &saw_type_bad;
}

static const struct saw_type *check_type_any(struct saw_checker *c,
                                             struct saw_type_expr *t,
                                             struct saw_decl *name_of)
{
    switch (t->kind) {
    case TYPE_BAD: return &saw_type_bad;
    case TYPE_NAME: return check_type_named(c, t);
    case TYPE_ARRAY:
    case TYPE_MAP: return check_type_container(c, t, name_of);
    case TYPE_TUPLE: return check_tuple(c, t, name_of);
    case TYPE_PROTO: return check_proto(c, t, name_of);
    case TYPE_FUNCTION: return check_type_function(c, t, name_of);
    case TYPE_TABLE: return check_table_type(c, t);
    }
    return &saw_type_bad;
}

const struct saw_type *check_type(struct saw_checker *c,
                                  struct saw_type_expr *t,
                                  struct saw_decl *name_of,
                                  bool table_ok)
{
    const struct saw_type *type = check_type_any(c, t, name_of);

    if (type->kind == SAW_TABLE && !table_ok) {
        saw_error(c->diag, t->pos, "table type not allowed here");
        return &saw_type_bad;
    }
    return type;
}

const struct saw_type *check_signature(struct saw_checker *c, const char *text)
{
    struct saw_compile_options none = {0};
    struct saw_scope *scope = c->scope;
    struct saw_tokens tokens;
    const struct saw_type *type;
    struct buf out = BUF_INIT;
    struct saw_diag quiet = {.out = &out};
    struct saw_diag *diag = c->diag;

    c->scope = c->universe;
    c->diag = &quiet;
    saw_lex(c->arena, &none, "intrinsic", slice_str(text), &quiet, &tokens);
    type =
        check_type(c, saw_parse_type(c->arena, &tokens, &quiet), NULL, false);
    mem_free(tokens.at);
    INVARIANT(quiet.error_count == 0 && type->kind == SAW_FUNCTION);
    buf_close(&out);
    c->scope = scope;
    c->diag = diag;
    return type;
}

void check_type_decl(struct saw_checker *c, struct saw_decl *d)
{
    const struct saw_type *type;

    d->type = NULL;
    check_declare(c, d);
    if (!d->type_expr) {
        d->type = &saw_type_bad;
        return;
    }
    type = check_type(c, d->type_expr, d, true);
    d->type = type;
    d->finished = true;
    if (!d->members && d->type_expr->kind == TYPE_NAME) {
        const struct saw_decl *from =
            saw_scope_lookup(c->scope, d->type_expr->name);
        if (from)
            d->members = from->members;
    }
}
