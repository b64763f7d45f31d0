/* Types as written to types; see check_internal.h. */
#include "base/core/panic.h"
#include "sawzall-lite/check_internal.h"
#include "sawzall-lite/parser.h"

/* Larger tags would make the messages sparse; protocol buffers forbid them. */
#define PROTO_TAG_MAX ((1 << 29) - 1)

static const struct {
    const char *name;
    uint8_t proto;
    uint16_t kinds; /* Bits of enum saw_kind that fit. */
} wire_types[] = {

#define K(k) (1U << (k))
    {"int32", SAW_PROTO_INT32, K(SAW_INT) | K(SAW_TIME)},
    {"uint32", SAW_PROTO_UINT32, K(SAW_INT) | K(SAW_UINT) | K(SAW_TIME)},
    {"int64", SAW_PROTO_INT64, K(SAW_INT) | K(SAW_TIME)},
    {"uint64", SAW_PROTO_UINT64,
     K(SAW_INT) | K(SAW_UINT) | K(SAW_TIME) | K(SAW_FINGERPRINT)},
    {"sint32", SAW_PROTO_SINT32, K(SAW_INT)},
    {"sint64", SAW_PROTO_SINT64, K(SAW_INT)},
    {"fixed32", SAW_PROTO_FIXED32, K(SAW_INT) | K(SAW_UINT) | K(SAW_TIME)},
    {"fixed64", SAW_PROTO_FIXED64,
     K(SAW_INT) | K(SAW_UINT) | K(SAW_TIME) | K(SAW_FINGERPRINT)},
    {"sfixed32", SAW_PROTO_SFIXED32, K(SAW_INT)},
    {"sfixed64", SAW_PROTO_SFIXED64, K(SAW_INT)},
    {"float", SAW_PROTO_FLOAT, K(SAW_FLOAT)},
    {"double", SAW_PROTO_DOUBLE, K(SAW_FLOAT)},
    {"bool", SAW_PROTO_BOOL, K(SAW_BOOL) | K(SAW_INT)},
    {"string", SAW_PROTO_STRING, K(SAW_STRING) | K(SAW_BYTES)},
    {"bytes", SAW_PROTO_BYTES, K(SAW_STRING) | K(SAW_BYTES)},
    {"enum", SAW_PROTO_ENUM, K(SAW_INT)},
    {"message", SAW_PROTO_MESSAGE, K(SAW_TUPLE) | K(SAW_BYTES)},
    {"group", SAW_PROTO_GROUP, K(SAW_TUPLE) | K(SAW_BYTES)},
#undef K
};

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

static const struct saw_type *named(struct saw_checker *c,
                                    struct saw_type_expr *t)
{
    struct saw_decl *d = saw_scope_lookup(c->scope, t->name);

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

/* --- tuples -------------------------------------------------------------- */

/* Would a value of @t contain one of @in, and so be infinite? */
static bool
contains(const struct saw_type *t, const struct saw_type *in, unsigned depth)
{
    size_t i;

    if (t == in)
        return true;
    if (t->kind != SAW_TUPLE || depth > SAW_TYPE_DEPTH_MAX)
        return false;
    for (i = 0; i < t->field_count; i++) {
        if (contains(t->fields[i].type, in, depth + 1))
            return true;
    }
    return false;
}

static const struct saw_type *innermost(const struct saw_type *t)
{
    while (t->kind == SAW_ARRAY)
        t = t->elem;
    return t;
}

static void wire_type(struct saw_checker *c,
                      const struct saw_field_expr *x,
                      struct saw_field *f)
{
    const struct saw_type *t =
        f->type->kind == SAW_ARRAY ? f->type->elem : f->type;
    size_t i;

    if (x->proto.len == 0)
        return;
    if (f->tag <= 0) {
        saw_error(c->diag, x->pos,
                  "only a field with a tag has a protocol buffer type");
        return;
    }
    for (i = 0; i < ARRAY_LEN(wire_types); i++) {
        if (!slice_eq_str(x->proto, wire_types[i].name))
            continue;
        if (t->kind != SAW_BAD && !(wire_types[i].kinds >> t->kind & 1))
            saw_error(c->diag, x->pos,
                      "%s is not an acceptable underlying type for %s",
                      wire_types[i].name, check_type_text(c, t));
        f->proto = wire_types[i].proto;
        return;
    }
    saw_error(c->diag, x->pos, "%.*s is not a protocol buffer type",
              SLICE_ARG(x->proto));
}

static void tag(struct saw_checker *c,
                const struct saw_field_expr *x,
                struct saw_field *f,
                const struct saw_type *tuple)
{
    const struct saw_type *t = innermost(f->type);

    if (x->tag < 0 || x->tag == 0)
        return;
    if (x->name.len == 0) {
        saw_error(c->diag, x->tag_pos,
                  "tag not allowed for a field without name");
    } else if (x->tag > PROTO_TAG_MAX) {
        saw_error(c->diag, x->tag_pos, "tag value is too large");
    } else if (t != tuple && !saw_kind_is_basic(t->kind) &&
               t->kind != SAW_BAD && !(t->kind == SAW_TUPLE && t->proto)) {
        saw_error(c->diag, x->pos, "type %s of field %.*s must be a proto type",
                  check_type_text(c, f->type), SLICE_ARG(x->name));
    } else {
        f->tag = (int32_t)x->tag;
    }
}

static void default_value(struct saw_checker *c,
                          struct saw_field_expr *x,
                          const struct saw_field *f)
{
    if (!x->init)
        return;
    check_expr_hint(c, x->init, f->type);
    if (!saw_type_equal(x->init->type, f->type))
        saw_error(c->diag, x->init->pos,
                  "default value %s (type %s) must be of type %s",
                  check_expr_text(c, x->init),
                  check_type_text(c, x->init->type),
                  check_type_text(c, f->type));
    else if (x->tag == 0)
        saw_error(c->diag, x->init->pos, "a default value requires a tag");
}

static void duplicate_fields(struct saw_checker *c,
                             const struct saw_fields *fields,
                             const struct saw_field *made,
                             size_t n)
{
    size_t i;

    for (i = 0; i < n; i++) {
        if (fields->at[i].name.len &&
            slice_eq(fields->at[i].name, fields->at[n].name)) {
            saw_error(c->diag, fields->at[n].pos, "redeclaration of %.*s",
                      SLICE_ARG(fields->at[n].name));
            return;
        }
        if (made[n].tag > 0 && made[i].tag == made[n].tag) {
            saw_error(c->diag, fields->at[n].tag_pos,
                      "tag %d of field %.*s was also used for field %.*s",
                      made[n].tag, SLICE_ARG(fields->at[n].name),
                      SLICE_ARG(fields->at[i].name));
            return;
        }
    }
}

static void tuple_members(struct saw_checker *c,
                          struct saw_type_expr *t,
                          struct saw_decl *name_of)
{
    size_t i;

    for (i = 0; i < t->members.count; i++) {
        struct saw_stmt *s = t->members.at[i];
        if (!name_of)
            saw_error(c->diag, s->pos,
                      "%s may not be declared in an unnamed tuple type",
                      s->kind == STMT_TYPE ? "type name" : "static member");
        if (s->kind == STMT_TYPE)
            check_type_decl(c, s->u.decl);
        else
            check_var_decl(c, s->u.decl, s->pos);
        s->u.decl->used = true;
    }
}

static const struct saw_type *
tuple(struct saw_checker *c, struct saw_type_expr *x, struct saw_decl *name_of)
{
    struct saw_type *t = type_new(c, SAW_TUPLE);
    struct saw_field *f =
        arena_zalloc(c->arena, (x->fields.count + 1) * sizeof(*f));
    size_t tags = 0;
    size_t i;

    if (name_of) {
        t->name = name_of->name;
        name_of->type = t;
    }
    t->message = x->message;
    t->proto = x->message;
    for (i = 0; i < x->fields.count; i++)
        t->proto |= x->fields.at[i].tag != 0;
    t->fields = f;
    check_open_scope(c);
    if (name_of) {
        name_of->members = c->scope;
        t->members = c->scope;
    }
    tuple_members(c, x, name_of);
    for (i = 0; i < x->fields.count; i++) {
        struct saw_field_expr *from = &x->fields.at[i];
        f[i].name = from->name;
        f[i].type = check_type(c, from->type, NULL, false);
        if (name_of && contains(f[i].type, t, 0)) {
            saw_error(c->diag, from->pos,
                      "%.*s contains a field of its own type (recursive "
                      "definition)",
                      SLICE_ARG(t->name));
            f[i].type = &saw_type_bad;
        }
        default_value(c, from, &f[i]);
        tag(c, from, &f[i], t);
        wire_type(c, from, &f[i]);
        duplicate_fields(c, &x->fields, f, i);
        t->field_count = i + 1;
        tags += from->tag != 0;
    }
    if ((x->message || tags > 0) && tags != x->fields.count)
        saw_error(c->diag, x->pos,
                  "only some fields contain protocol buffer tags; tags must "
                  "be consistently defined");
    t->proto = tags > 0 || t->field_count == 0;
    c->scope = c->scope->outer;
    return t;
}

/* proto T: the same fields, with tags where there are none. */
static const struct saw_type *
proto(struct saw_checker *c, struct saw_type_expr *x, struct saw_decl *name_of)
{
    const struct saw_type *from = check_type(c, x->elem, name_of, false);
    struct saw_field *f;
    struct saw_type *t;
    size_t i;

    if (from->kind == SAW_BAD || (from->kind == SAW_TUPLE && from->proto))
        return from;
    if (from->kind != SAW_TUPLE) {
        saw_error(c->diag, x->elem->pos, "tuple type expected; found %s",
                  check_type_text(c, from));
        return &saw_type_bad;
    }
    t = type_new(c, SAW_TUPLE);
    *t = *from;
    if (name_of) {
        t->name = name_of->name;
        name_of->type = t;
    }
    f = arena_alloc(c->arena, (from->field_count + 1) * sizeof(*f));
    for (i = 0; i < from->field_count; i++) {
        const struct saw_type *inner = innermost(from->fields[i].type);
        f[i] = from->fields[i];
        f[i].tag = (int32_t)i + 1;
        if (!saw_kind_is_basic(inner->kind) && inner->kind != SAW_BAD &&
            !(inner->kind == SAW_TUPLE && inner->proto)) {
            saw_error(c->diag, x->pos, "cannot convert %s into a proto tuple",
                      check_type_text(c, from));
            return &saw_type_bad;
        }
    }
    t->fields = f;
    t->proto = true;
    return t;
}

/* --- the rest ------------------------------------------------------------ */

static const struct saw_type *function(struct saw_checker *c,
                                       struct saw_type_expr *x,
                                       struct saw_decl *name_of)
{
    struct saw_type *t = type_new(c, SAW_FUNCTION);
    struct saw_field *f =
        arena_zalloc(c->arena, (x->fields.count + 1) * sizeof(*f));
    size_t i;

    if (name_of) {
        t->name = name_of->name;
        name_of->type = t;
    }
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
    return t;
}

/* A named array or map can be used inside of itself: `type T = array of
 * function(x: T)`. */
static const struct saw_type *named_container(struct saw_checker *c,
                                              struct saw_type_expr *x,
                                              struct saw_decl *name_of)
{
    struct saw_type *t =
        type_new(c, x->kind == TYPE_ARRAY ? SAW_ARRAY : SAW_MAP);

    t->name = name_of->name;
    t->elem = t->key = &saw_type_bad;
    name_of->type = t;
    if (t->kind == SAW_MAP)
        t->key = check_type(c, x->key->type, NULL, false);
    t->elem = check_type(c, x->elem, NULL, false);
    if (t->elem == t || t->key == t) {
        saw_error(c->diag, x->pos, "type %.*s contains itself",
                  SLICE_ARG(t->name));
        return &saw_type_bad;
    }
    return t;
}

static const struct saw_type *container(struct saw_checker *c,
                                        struct saw_type_expr *x,
                                        struct saw_decl *name_of)
{
    const struct saw_type *key;

    if (name_of)
        return named_container(c, x, name_of);
    if (x->kind == TYPE_ARRAY)
        return saw_type_array(c->arena, check_type(c, x->elem, NULL, false));
    key = check_type(c, x->key->type, NULL, false);
    return saw_type_map(c->arena, key, check_type(c, x->elem, NULL, false));
}

static const struct saw_type *
any(struct saw_checker *c, struct saw_type_expr *t, struct saw_decl *name_of)
{
    switch (t->kind) {
    case TYPE_BAD: return &saw_type_bad;
    case TYPE_NAME: return named(c, t);
    case TYPE_ARRAY:
    case TYPE_MAP: return container(c, t, name_of);
    case TYPE_TUPLE: return tuple(c, t, name_of);
    case TYPE_PROTO: return proto(c, t, name_of);
    case TYPE_FUNCTION: return function(c, t, name_of);
    case TYPE_TABLE: return check_table_type(c, t);
    }
    return &saw_type_bad;
}

const struct saw_type *check_type(struct saw_checker *c,
                                  struct saw_type_expr *t,
                                  struct saw_decl *name_of,
                                  bool table_ok)
{
    const struct saw_type *type = any(c, t, name_of);

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
