/* Tuple types and proto tuples; see check_internal.h.
 *
 * Fields and members are entered in the order of the text into one scope, so a
 * member sees those before it and nothing else. Until its last field is known
 * a type is `open`: it can be named (array of T, function(t: T)) and the
 * fields so far can be used, but no value of it can be made.
 */
#include "base/core/panic.h"
#include "sawzall-lite/checker/check_internal.h"

/* The largest tag of protocol buffers. */
#define PROTO_TAG_MAX ((1 << 29) - 1)

static const struct {
    const char *name;
    uint8_t proto;
    uint16_t kinds; /* Bits of enum saw_kind that fit. */
} wire_types[] = {

#define K(k) (1U << (k))
    {"int32", SAW_PROTO_INT32, K(SAW_INT) | K(SAW_TIME)},
    {"uint32", SAW_PROTO_UINT32, K(SAW_INT) | K(SAW_UINT) | K(SAW_TIME)},
    {"int64", SAW_PROTO_INT64, K(SAW_INT) | K(SAW_UINT) | K(SAW_TIME)},
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
    {"boolean", SAW_PROTO_BOOL, K(SAW_BOOL) | K(SAW_INT)},
    {"string", SAW_PROTO_STRING, K(SAW_STRING) | K(SAW_BYTES)},
    {"bytes", SAW_PROTO_BYTES, K(SAW_STRING) | K(SAW_BYTES)},
    {"enum", SAW_PROTO_ENUM, K(SAW_INT)},
    {"message", SAW_PROTO_MESSAGE, K(SAW_TUPLE) | K(SAW_BYTES)},
    {"group", SAW_PROTO_GROUP, K(SAW_TUPLE) | K(SAW_BYTES)},
#undef K
};

static struct saw_type *type_new(struct saw_checker *c)
{
    struct saw_type *t = arena_zalloc(c->arena, sizeof(*t));

    t->kind = SAW_TUPLE;
    t->name = SLICE_EMPTY;
    return t;
}

/* Whether a value of @t would contain one of @in, and so be infinite. */
static bool check_tuple_contains(const struct saw_type *t,
                                 const struct saw_type *in,
                                 unsigned depth)
{
    size_t i;

    if (t == in)
        return true;
    if (t->kind != SAW_TUPLE || depth > SAW_TYPE_DEPTH_MAX)
        return false;
    for (i = 0; i < t->field_count; i++) {
        if (check_tuple_contains(t->fields[i].type, in, depth + 1))
            return true;
    }
    return false;
}

static const struct saw_type *check_tuple_innermost(const struct saw_type *t)
{
    unsigned i;

    for (i = 0; t->kind == SAW_ARRAY && i < SAW_TYPE_DEPTH_MAX; i++)
        t = t->elem;
    return t;
}

/* --- a field ------------------------------------------------------------- */

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

/* Whether @t is a proto type. That is not known of a type still open; with a
 * tag inside it will be one. */
static bool is_proto_type(const struct saw_type *t)
{
    return saw_kind_is_basic(t->kind) || t->kind == SAW_BAD || t->open ||
           (t->kind == SAW_TUPLE && t->proto);
}

static void check_tuple_tag(struct saw_checker *c,
                            const struct saw_field_expr *x,
                            struct saw_field *f)
{
    if (x->tag <= 0)
        return;
    if (x->name.len == 0)
        saw_error(c->diag, x->tag_pos,
                  "tag not allowed for a field without name");
    else if (is_proto_type(check_tuple_innermost(f->type)))
        f->tag = (int32_t)x->tag;
}

static void default_value(struct saw_checker *c,
                          struct saw_field_expr *x,
                          struct saw_field *f)
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
    else if (!x->init->constant)
        saw_warning(c->diag, x->init->pos,
                    "default value %s is not a constant; it is ignored",
                    check_expr_text(c, x->init));
    else
        f->init = x->init->constant;
}

/* Enter its name in the scope of the tuple, only to find duplicates. */
static void declare_field(struct saw_checker *c, const struct saw_field_expr *x)
{
    struct saw_decl *old = saw_scope_find(c->scope, x->name);
    struct saw_decl *d;

    if (x->name.len == 0)
        return;
    if (old) {
        saw_error(c->diag, x->pos, "redeclaration of %.*s", SLICE_ARG(x->name));
        saw_note(c->diag, old->pos, "previous declaration");
        return;
    }
    d = arena_zalloc(c->arena, sizeof(*d));
    d->kind = DECL_FIELD;
    d->name = x->name;
    d->pos = x->pos;
    d->table = -1;
    d->defined_reg = -1;
    saw_scope_add(c->arena, c->scope, d);
}

/* --- the whole ----------------------------------------------------------- */

/* Enter what @s declared among the @members of @t. */
static void tuple_add_member(struct saw_type *t,
                             struct saw_member *members,
                             const struct saw_stmt *s)
{
    const struct saw_decl *d = s->u.decl;

    if (!d->type)
        return;
    INVARIANT(t->open); /* Its list has room for all that are declared. */
    members[t->member_count++] =
        (struct saw_member){.name = d->name,
                            .type = d->type,
                            .constant = d->constant,
                            .is_type = d->kind == DECL_TYPE,
                            .before = t->field_count};
}

static void check_tuple_member(struct saw_checker *c,
                               struct saw_stmt *s,
                               bool named,
                               struct saw_type *t,
                               struct saw_member *members)
{
    if (!named)
        saw_error(c->diag, s->pos,
                  "%s may not be declared in an unnamed tuple type",
                  s->kind == STMT_TYPE ? "type name" : "static member");
    if (s->kind == STMT_TYPE)
        check_type_decl(c, s->u.decl);
    else
        check_var_decl(c, s->u.decl, s->pos);
    s->u.decl->used = true;
    if (named)
        tuple_add_member(t, members, s);
}

static void check_tuple_field(struct saw_checker *c,
                              struct saw_type_expr *x,
                              size_t i,
                              struct saw_type *t,
                              struct saw_field *f)
{
    struct saw_field_expr *from = &x->fields.at[i];

    f[i].name = from->name;
    f[i].type = check_type(c, from->type, NULL, false);
    if (check_tuple_contains(f[i].type, t, 0)) {
        saw_error(c->diag, from->pos,
                  "%.*s contains a field of its own type (recursive "
                  "definition)",
                  SLICE_ARG(t->name));
        f[i].type = &saw_type_bad;
    }
    default_value(c, from, &f[i]);
    check_tuple_tag(c, from, &f[i]);
    wire_type(c, from, &f[i]);
    declare_field(c, from);
    t->field_count = i + 1;
}

/* A tuple with tags is a proto tuple: its fields are of proto types, each with
 * a tag of its own. Violations are errors at the closing brace. */
static void proto_fields(struct saw_checker *c,
                         const struct saw_type_expr *x,
                         const struct saw_type *t,
                         struct saw_pos close)
{
    const struct saw_field *f = t->fields;
    struct hash_map tags; /* From a tag to the first field that has it. */
    size_t i;

    hash_map_init(&tags, HASH_KEYS_COPIED);
    for (i = 0; i < t->field_count; i++) {
        struct saw_pos pos = x->fields.at[i].pos;
        uint64_t tag = (uint64_t)f[i].tag;
        union hash_value *first;
        bool added = true;
        if (x->fields.at[i].tag > 0 && f[i].name.len && f[i].tag == 0) {
            saw_error(c->diag, close,
                      "type %s of field %.*s must be a proto type",
                      check_type_text(c, f[i].type), SLICE_ARG(f[i].name));
            saw_note(c->diag, pos, "the field");
        }
        if (tag == 0)
            continue;
        first = hash_map_put(&tags, hash_key_u64(&tag), &added);
        if (added) {
            first->number = i;
            continue;
        }
        saw_error(c->diag, close,
                  "tag %d of field %.*s was also used for field %.*s", f[i].tag,
                  SLICE_ARG(f[i].name), SLICE_ARG(f[first->number].name));
        saw_note(c->diag, pos, "the second field");
    }
    hash_map_close(&tags);
}

static void
check_tags(struct saw_checker *c, struct saw_type_expr *x, struct saw_type *t)
{
    struct saw_pos close = x->pos;
    size_t tags = 0;
    bool too_large = false;
    size_t i;

    for (i = 0; i < x->fields.count; i++) {
        tags += t->fields[i].tag > 0;
        too_large |= x->fields.at[i].tag > PROTO_TAG_MAX;
    }
    close.begin = close.end > close.begin ? close.end - 1 : close.begin;
    proto_fields(c, x, t, close);
    if ((x->message || tags > 0) && tags != x->fields.count)
        saw_error(c->diag, close,
                  "only some fields contain protocol buffer tags; tags must "
                  "be consistently defined");
    else if (too_large)
        saw_error(c->diag, close, "a tag of this tuple is larger than %d",
                  PROTO_TAG_MAX);
    t->proto = tags > 0 || t->field_count == 0;
}

/* The name T, or T.U inside of T. */
static struct slice full_name(struct saw_checker *c, struct slice name)
{
    if (c->tuple_name.len == 0)
        return name;
    return slice_str(arena_printf(c->arena, "%.*s.%.*s",
                                  SLICE_ARG(c->tuple_name), SLICE_ARG(name)));
}

void check_name_type(struct saw_checker *c,
                     struct saw_type *t,
                     struct saw_decl *name_of)
{
    t->name = full_name(c, name_of->name);
    name_of->type = t;
}

static struct saw_type *check_tuple_type(struct saw_checker *c,
                                         struct saw_type_expr *x,
                                         struct saw_decl *name_of)
{
    struct saw_type *t = type_new(c);
    struct saw_field *f =
        arena_zalloc(c->arena, (x->fields.count + 1) * sizeof(*f));
    struct saw_member *members =
        arena_zalloc(c->arena, (x->members.count + 1) * sizeof(*members));
    struct slice outer = c->tuple_name;
    size_t m = 0;
    size_t i;

    if (name_of)
        check_name_type(c, t, name_of);
    t->message = x->message;
    t->open = true;
    t->fields = f;
    check_open_scope(c);
    if (name_of) {
        name_of->members = c->scope;
        t->scope = c->scope;
        t->members = members;
        c->tuple_name = t->name;
    }
    for (i = 0; i < x->fields.count; i++) {
        for (; m < x->fields.at[i].members_before; m++)
            check_tuple_member(c, x->members.at[m], name_of, t, members);
        check_tuple_field(c, x, i, t, f);
    }
    for (; m < x->members.count; m++)
        check_tuple_member(c, x->members.at[m], name_of, t, members);
    check_tags(c, x, t);
    t->open = false;
    check_size(c, x->pos, t);
    c->tuple_name = outer;
    c->scope = c->scope->outer;
    return t;
}

void check_size(struct saw_checker *c, struct saw_pos pos, struct saw_type *t)
{
    uint32_t size = 1;
    size_t i;

    PRE(!t->open);
    if (t->key)
        size = saw_type_size_add(size, t->key);
    if (t->elem)
        size = saw_type_size_add(size, t->elem);
    for (i = 0; i < t->field_count; i++)
        size = saw_type_size_add(size, t->fields[i].type);
    if (size > SAW_TYPE_SIZE_MAX) {
        saw_error(c->diag, pos, "the type is too large: over %u parts",
                  SAW_TYPE_SIZE_MAX);
        t->field_count = 0; /* No part of it is walked again. */
        t->elem = t->key = &saw_type_bad;
        size = 1;
    }
    t->size = size;
}

const struct saw_type *check_tuple(struct saw_checker *c,
                                   struct saw_type_expr *x,
                                   struct saw_decl *name_of)
{
    return check_tuple_type(c, x, name_of);
}

/* --- proto T ------------------------------------------------------------- */

/* Types made so far, for recursive ones. */
struct made {
    const struct saw_type *from;
    struct saw_type *to;
    const struct made *outer;
};

static const struct saw_type *make_proto(struct saw_checker *c,
                                         const struct saw_type *from,
                                         struct saw_type *to,
                                         const struct made *outer);

/* The proto type of a field of type @t; NULL if it has none. */
static const struct saw_type *proto_of(struct saw_checker *c,
                                       const struct saw_type *t,
                                       const struct made *made)
{
    struct made array = {t, NULL, made}; /* An array of itself has none. */
    const struct saw_type *elem;
    const struct made *m;

    if (is_proto_type(t))
        return t;
    for (m = made; m; m = m->outer) {
        if (m->from == t)
            return m->to;
    }
    if (t->kind == SAW_TUPLE)
        return make_proto(c, t, type_new(c), made);
    if (t->kind != SAW_ARRAY)
        return NULL;
    elem = proto_of(c, t->elem, &array);
    return !elem ? NULL : elem == t->elem ? t : saw_type_array(c->arena, elem);
}

/* Fill @to (it may be @from) with the fields of @from and tags in their order.
 */
static const struct saw_type *make_proto(struct saw_checker *c,
                                         const struct saw_type *from,
                                         struct saw_type *to,
                                         const struct made *outer)
{
    struct made made = {from, to, outer};
    struct slice name = to->name;
    struct saw_field *f =
        arena_alloc(c->arena, (from->field_count + 1) * sizeof(*f));
    size_t i;

    PRE(from->kind == SAW_TUPLE && !from->open);
    *to = *from;
    to->name = name;
    for (i = 0; i < from->field_count; i++) {
        f[i] = from->fields[i];
        f[i].tag = (int32_t)i + 1;
        f[i].type = proto_of(c, f[i].type, &made);
        if (!f[i].type)
            return NULL;
    }
    to->fields = f;
    to->proto = to->message = to->auto_tags = true;
    return to;
}

const struct saw_type *check_proto(struct saw_checker *c,
                                   struct saw_type_expr *x,
                                   struct saw_decl *name_of)
{
    const struct saw_type *from;
    struct saw_type *to;

    if (x->elem->kind == TYPE_TUPLE) { /* In place: it may contain itself. */
        from = to = check_tuple_type(c, x->elem, name_of);
    } else {
        from = check_type(c, x->elem, NULL, false);
        to = type_new(c);
    }
    if (from->kind == SAW_BAD || (from->kind == SAW_TUPLE && from->proto))
        return from;
    if (from->kind != SAW_TUPLE) {
        saw_error(c->diag, x->elem->pos, "tuple type expected; found %s",
                  check_type_text(c, from));
        return &saw_type_bad;
    }
    if (from->open) {
        saw_error(c->diag, x->pos,
                  "no proto tuple of %s can be made within its declaration",
                  check_type_text(c, from));
        return &saw_type_bad;
    }
    if (name_of)
        check_name_type(c, to, name_of);
    if (make_proto(c, from, to, NULL))
        return to;
    saw_error(c->diag, x->pos, "cannot convert %s into a proto tuple",
              check_type_text(c, from));
    return &saw_type_bad;
}
