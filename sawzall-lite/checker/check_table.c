/* Table types and emit; see check_internal.h.
 *
 * The demands of a kind on its parameter, element and weight are data (struct
 * saw_table_traits), so this file knows no kind by name. Values must have a
 * form as bytes: functions and recursive types are refused.
 */
#include <stdio.h>

#include "base/core/panic.h"
#include "sawzall-lite/checker/check_internal.h"
#include "sawzall-lite/tables/saw_table.h"

static bool is_ordered(const struct saw_type *t)
{
    size_t i;

    if (t->kind != SAW_TUPLE)
        return saw_kind_is_basic(t->kind);
    for (i = 0; i < t->field_count; i++) {
        if (!is_ordered(t->fields[i].type))
            return false;
    }
    return true;
}

/* int, float, and tuples of them. */
static bool is_number(const struct saw_type *t)
{
    size_t i;

    if (t->kind != SAW_TUPLE)
        return t->kind == SAW_INT || t->kind == SAW_FLOAT;
    for (i = 0; i < t->field_count; i++) {
        if (!is_number(t->fields[i].type))
            return false;
    }
    return t->field_count > 0;
}

static bool is_addable(const struct saw_type *t, unsigned depth)
{
    size_t i;

    if (depth > SAW_TYPE_DEPTH_MAX)
        return false;
    if (t->kind == SAW_INT || t->kind == SAW_FLOAT || t->kind == SAW_TIME ||
        t->kind == SAW_BAD)
        return true;
    if (t->kind == SAW_MAP)
        return is_addable(t->elem, depth + 1);
    if (t->kind != SAW_TUPLE)
        return false;
    for (i = 0; i < t->field_count; i++) {
        if (!is_addable(t->fields[i].type, depth + 1))
            return false;
    }
    return true;
}

/* The types being walked, from the innermost out. */
struct path {
    const struct saw_type *type;
    const struct path *outer;
    unsigned depth;
};

/* Whether values of @t can be stored: a function cannot, it has no bytes that
 * are valid outside of the program. */
static bool check_table_storable(const struct saw_type *t,
                                 const struct path *outer)
{
    struct path here = {t, outer, outer ? outer->depth + 1 : 0};
    const struct path *p;
    size_t i;

    for (p = outer; p; p = p->outer) {
        if (p->type == t) /* Recursive: being checked further out. */
            return true;
    }
    if (t->kind == SAW_FUNCTION || here.depth > SAW_TYPE_DEPTH_MAX)
        return false;
    if (t->kind == SAW_ARRAY)
        return check_table_storable(t->elem, &here);
    if (t->kind == SAW_MAP)
        return check_table_storable(t->key, &here) &&
               check_table_storable(t->elem, &here);
    for (i = 0; t->kind == SAW_TUPLE && i < t->field_count; i++) {
        if (!check_table_storable(t->fields[i].type, &here))
            return false;
    }
    return true;
}

/* Whether @t contains itself. */
static bool is_recursive(const struct saw_type *t, const struct path *outer)
{
    struct path here = {t, outer, outer ? outer->depth + 1 : 0};
    const struct path *p;
    size_t i;

    for (p = outer; p; p = p->outer) {
        if (p->type == t && !saw_kind_is_basic(t->kind))
            return true;
    }
    if (here.depth > SAW_TYPE_DEPTH_MAX)
        return true;
    if (t->kind == SAW_ARRAY)
        return is_recursive(t->elem, &here);
    if (t->kind == SAW_MAP)
        return is_recursive(t->key, &here) || is_recursive(t->elem, &here);
    for (i = 0; t->kind == SAW_TUPLE && i < t->field_count; i++) {
        if (is_recursive(t->fields[i].type, &here))
            return true;
    }
    return false;
}

static struct saw_field check_table_column(struct saw_checker *c,
                                           const struct saw_field_expr *x,
                                           const char *what)
{
    struct saw_field f = {.name = x->name};

    f.type = check_type(c, x->type, NULL, false);
    if (!check_table_storable(f.type, NULL)) {
        saw_error(c->diag, x->pos,
                  "the %s of a table must not be or contain "
                  "a function",
                  what);
        f.type = &saw_type_bad;
    }
    return f;
}

/* Report that such a table cannot be aggregated. With defer_tables it can be
 * declared all the same, and its values printed: a run that would aggregate it
 * reports the error. */
static void PRINTF_LIKE(4, 5) refuse(struct saw_checker *c,
                                     struct saw_table_type *t,
                                     struct saw_pos pos,
                                     const char *fmt,
                                     ...)
{
    struct buf b = BUF_INIT;
    va_list ap;

    if (t->refusal)
        return;
    if (c->opts->defer_tables)
        buf_printf(&b, "%s:%u: ", pos.source->name, saw_pos_line(pos));
    va_start(ap, fmt);
    buf_vprintf(&b, fmt, ap);
    va_end(ap);
    if (!c->opts->defer_tables)
        saw_error(c->diag, pos, "%s", buf_cstr(&b));
    t->refusal = arena_dup(c->arena, buf_slice(&b)).data;
    buf_close(&b);
}

static void refuse_recursive(struct saw_checker *c,
                             struct saw_table_type *t,
                             struct saw_pos pos,
                             const struct saw_type *type)
{
    if (type && is_recursive(type, NULL))
        refuse(c, t, pos, "a table cannot hold values of the recursive type %s",
               check_type_text(c, type));
}

/* --- the parts of a declaration ------------------------------------------ */

static void check_table_indices(struct saw_checker *c,
                                struct saw_table_expr *x,
                                struct saw_table_type *t)
{
    struct saw_field *f =
        arena_zalloc(c->arena, (x->indices.count + 1) * sizeof(*f));
    struct hash_map names;
    size_t i;

    hash_map_init(&names, HASH_KEYS_BORROWED);
    for (i = 0; i < x->indices.count; i++) {
        bool added = true;
        f[i] = check_table_column(c, &x->indices.at[i], "index");
        if (f[i].name.len)
            hash_map_put(&names, f[i].name, &added);
        if (!added)
            saw_error(c->diag, x->indices.at[i].pos, "redeclaration of %.*s",
                      SLICE_ARG(f[i].name));
    }
    hash_map_close(&names);
    t->indices = f;
    t->index_count = x->indices.count;
}

/* kind(n): n is static and may be computed with the statics. */
static void check_table_param(struct saw_checker *c,
                              struct saw_table_expr *x,
                              const struct saw_table_traits *traits,
                              struct saw_table_type *t)
{
    struct saw_expr *e = x->param;
    bool was_static = c->fn->in_static;
    int64_t v;

    if (!e) {
        if (traits->param == SAW_TABLE_MUST)
            saw_error(c->diag, x->kind_pos,
                      "'%s' must have an int parameter: %s(n)", traits->name,
                      traits->name);
        return;
    }
    c->fn->in_static = true;
    check_expr_hint(c, e, &saw_type_int);
    c->fn->in_static = was_static;
    if (traits->param == SAW_TABLE_NEVER) {
        saw_error(c->diag, e->pos, "'%s' does not accept a parameter",
                  traits->name);
        return;
    }
    if (e->type->kind != SAW_INT) {
        if (e->type->kind != SAW_BAD)
            saw_error(c->diag, e->pos,
                      "table parameter must be an int; %s is of type %s",
                      check_expr_text(c, e), check_type_text(c, e->type));
        return;
    }
    if (!e->constant)
        return;
    v = e->constant->i;
    if (v < 0 || v > INT32_MAX)
        saw_error(c->diag, e->pos, "table parameter %lld is not in [0, %d]",
                  (long long)v, INT32_MAX);
    else if (v < traits->param_min || v > traits->param_max)
        saw_error(c->diag, e->pos,
                  "the parameter of '%s' must be in [%lld, %lld]", traits->name,
                  (long long)traits->param_min, (long long)traits->param_max);
    t->param = v;
}

/* The demand that the weight does not meet; NULL: it fits. */
static const char *unfit_weight(const struct saw_table_traits *traits,
                                const struct saw_type *type)
{
    if (traits->weight_scalar && type->kind != SAW_INT &&
        type->kind != SAW_FLOAT)
        return "int or float";
    if (traits->weight_number && !is_number(type))
        return "int, float or a tuple of them";
    if (traits->weight_fingerprint && type->kind != SAW_FINGERPRINT)
        return "a fingerprint";
    if (traits->weight_ordered && !is_ordered(type))
        return "of an ordered type";
    if (traits->weight_addable && !is_addable(type, 0))
        return "of a type that adds";
    return NULL;
}

static void check_table_weight(struct saw_checker *c,
                               struct saw_table_expr *x,
                               const struct saw_table_traits *traits,
                               struct saw_table_type *t)
{
    const struct saw_type *type;
    const char *what;

    if (!x->weight.type) {
        if (traits->weight == SAW_TABLE_MUST)
            saw_error(c->diag, x->kind_pos,
                      "'%s' must have 'weight' specification", traits->name);
        return;
    }
    t->weight = check_table_column(c, &x->weight, "weight");
    type = t->weight.type;
    if (traits->weight == SAW_TABLE_NEVER) {
        saw_error(c->diag, x->weight.pos,
                  "'%s' does not allow 'weight' specification", traits->name);
        return;
    }
    if (type->kind == SAW_BAD)
        return;
    what = unfit_weight(traits, type);
    if (what)
        refuse(c, t, x->weight.pos, "the weight of '%s' must be %s, not %s",
               traits->name, what, check_type_text(c, type));
}

/* The demand that the element does not meet; NULL: it fits. */
static const char *unfit_element(const struct saw_table_traits *traits,
                                 const struct saw_type *type)
{
    if (traits->element_text && type->kind != SAW_STRING &&
        type->kind != SAW_BYTES)
        return "string or bytes";
    if (traits->element_basic && !saw_kind_is_basic(type->kind))
        return "of a basic type";
    if (traits->element_int && type->kind != SAW_INT)
        return "int";
    if (traits->element_number && !is_number(type))
        return "int, float or a tuple of them";
    if (traits->element_ordered && !is_ordered(type))
        return "of an ordered type";
    if (traits->element_addable && !is_addable(type, 0))
        return "of a type that adds";
    return NULL;
}

static void check_table_element(struct saw_checker *c,
                                struct saw_table_expr *x,
                                const struct saw_table_traits *traits,
                                struct saw_table_type *t)
{
    const struct saw_type *type;
    const char *what;

    t->element = check_table_column(c, &x->element, "element");
    type = t->element.type;
    if (type->kind == SAW_BAD)
        return;
    if (x->has_format)
        type = &saw_type_string;
    what = unfit_element(traits, type);
    if (what)
        refuse(c, t, x->element.pos, "the element of '%s' must be %s, not %s%s",
               traits->name, what, check_type_text(c, type),
               x->has_format ? ", which format(…) makes of it" : "");
}

/* --- file, proc, format -------------------------------------------------- */

static void unknown_kind(struct saw_checker *c,
                         const struct saw_table_expr *table)
{
    char kinds[300] = "";
    size_t n = 0;
    const struct saw_table_traits *kind;

    if (table->kind.len == 0)
        return; /* Reported by the parser. */
    for (size_t i = 0; (kind = saw_table_traits_at(i)) != NULL; i++)
        n += (size_t)snprintf(kinds + n, sizeof(kinds) - n, "%s%s",
                              i > 0 ? ", " : "", kind->name);
    INVARIANT(n < sizeof(kinds));
    saw_error(c->diag, table->kind_pos,
              "there is no kind of table called '%.*s'; the kinds are %s",
              SLICE_ARG(table->kind), kinds);
}

/* A variable that stands for an index or the element in format arguments. */
static void check_table_bind(struct saw_checker *c,
                             struct saw_table_expr *x,
                             const struct saw_field *f,
                             struct saw_pos pos)
{
    struct saw_decl *d = arena_zalloc(c->arena, sizeof(*d));

    d->kind = DECL_VAR;
    d->name = f->name;
    d->type = f->type;
    d->pos = pos;
    d->finished = true;
    d->used = true;
    d->bound = true;
    d->owner = c->fn;
    d->defined_reg = -1;
    d->table = -1;
    saw_decls_add(c->arena, &x->vars, d);
}

static struct saw_call *format_args(struct saw_checker *c,
                                    struct saw_table_expr *x,
                                    size_t from,
                                    size_t to,
                                    struct saw_exprs *args,
                                    struct saw_pos pos)
{
    struct saw_call *site = NULL;
    bool was_in_prelude = c->in_prelude;
    size_t i;

    c->in_prelude = true; /* No warnings about the variables bound here. */
    check_open_scope(c);
    for (i = from; i < to; i++) {
        if (x->vars.at[i]->name.len)
            saw_scope_add(c->arena, c->scope, x->vars.at[i]);
    }
    for (i = 0; i < args->count; i++)
        check_expr(c, args->at[i]);
    c->scope = c->scope->outer;
    c->in_prelude = was_in_prelude;
    if (args->count == 0)
        saw_error(c->diag, pos, "no arguments");
    else if (args->at[0]->type->kind != SAW_BAD &&
             (args->at[0]->kind != EXPR_LITERAL ||
              args->at[0]->type->kind != SAW_STRING))
        saw_error(c->diag, args->at[0]->pos,
                  "the first argument must be a string literal, not %s",
                  check_expr_text(c, args->at[0]));
    else
        site = check_format(c, pos, args);
    return site;
}

static void check_table_outputs(struct saw_checker *c,
                                struct saw_table_expr *x,
                                const struct saw_table_traits *traits,
                                struct saw_table_type *t)
{
    bool nonstatic = c->nonstatic_use;
    size_t i;

    for (i = 0; i < t->index_count; i++)
        check_table_bind(c, x, &t->indices[i], x->indices.at[i].pos);
    check_table_bind(c, x, &t->element, x->element.pos);
    c->nonstatic_use = false;
    if (x->has_file)
        x->file_site =
            format_args(c, x, 0, t->index_count, &x->file, x->file_pos);
    if (x->has_format)
        x->format_site = format_args(c, x, t->index_count, t->index_count + 1,
                                     &x->format, x->format_pos);
    t->file =
        (struct saw_type_list){check_types_of(c, &x->file), x->file.count};
    t->format =
        (struct saw_type_list){check_types_of(c, &x->format), x->format.count};
    t->uses_vars = c->nonstatic_use;
    c->nonstatic_use |= nonstatic;
    t->to_file = x->has_file;
    t->to_proc = x->has_file && x->is_proc;
    t->formatted = x->has_format;
    if (!x->has_file)
        return;
    if (c->opts->restricted && !c->in_prelude)
        saw_error(c->diag, x->file_pos,
                  "%s(…) is not allowed here: tables of "
                  "this program are kept in memory",
                  x->is_proc ? "proc" : "file");
    else if (!traits->to_files)
        saw_error(c->diag, x->file_pos, "%s(…) works with 'collection' only",
                  x->is_proc ? "proc" : "file");
    else if (!x->has_format && t->element.type->kind != SAW_BYTES &&
             t->element.type->kind != SAW_BAD)
        saw_error(c->diag, x->file_pos,
                  "element type must be bytes when %s(…) is given without "
                  "format(…); it is %s",
                  x->is_proc ? "proc" : "file",
                  check_type_text(c, t->element.type));
}

const struct saw_type *check_table_type(struct saw_checker *c,
                                        struct saw_type_expr *x)
{
    struct saw_table_expr *table = x->table;
    const struct saw_table_traits *traits = saw_table_traits_find(table->kind);
    struct saw_table_type *t = arena_zalloc(c->arena, sizeof(*t));
    struct saw_type *type = arena_zalloc(c->arena, sizeof(*type));
    unsigned errors = c->diag->error_count;
    size_t i;

    PRE(x->kind == TYPE_TABLE && table);
    if (!traits) {
        unknown_kind(c, table);
        return &saw_type_bad;
    }
    t->kind = table->kind;
    t->param = -1;
    t->syntax = table;
    check_table_param(c, table, traits, t);
    check_table_indices(c, table, t);
    check_table_element(c, table, traits, t);
    check_table_weight(c, table, traits, t);
    for (i = 0; i < t->index_count; i++)
        refuse_recursive(c, t, table->indices.at[i].pos, t->indices[i].type);
    refuse_recursive(c, t, table->element.pos, t->element.type);
    refuse_recursive(c, t, table->weight.pos, t->weight.type);
    if (!traits->indexed && t->index_count > 0)
        refuse(c, t, table->indices.at[0].pos, "'%s' cannot be indexed",
               traits->name);
    check_table_outputs(c, table, traits, t);
    type->kind = SAW_TABLE;
    type->name = SLICE_EMPTY;
    type->table = t;
    return c->diag->error_count == errors ? type : &saw_type_bad;
}

/* --- emit ---------------------------------------------------------------- */

static void emit_indices(struct saw_checker *c,
                         struct saw_stmt *s,
                         const struct saw_table_type *t)
{
    struct saw_exprs *given = &s->u.emit.indices;
    size_t i;

    for (i = 0; i < given->count; i++) {
        struct saw_expr *e = given->at[i];
        const struct saw_type *want =
            t && i < t->index_count ? t->indices[i].type : NULL;
        check_expr_hint(c, e, want);
        if (want && !check_compatible(c, want, e))
            saw_error(c->diag, e->pos,
                      "index %zu of the table is %s (type %s), should be %s",
                      i + 1, check_expr_text(c, e), check_type_text(c, e->type),
                      check_type_text(c, want));
    }
    if (t && given->count != t->index_count)
        saw_error(c->diag, s->pos, "%s indices: the table has %zu, not %zu",
                  given->count > t->index_count ? "too many" : "not enough",
                  t->index_count, given->count);
}

static void emit_value(struct saw_checker *c,
                       struct saw_expr *e,
                       const struct saw_type *want,
                       const char *what)
{
    check_expr_hint(c, e, want);
    if (want && !check_compatible(c, want, e))
        saw_error(c->diag, e->pos,
                  "%s for emit is %s (type %s), should be of type %s", what,
                  check_expr_text(c, e), check_type_text(c, e->type),
                  check_type_text(c, want));
}

void check_emit(struct saw_checker *c, struct saw_stmt *s)
{
    struct saw_decl *d = check_lookup(c, s->u.emit.name, s->u.emit.name_pos);
    const struct saw_table_type *t = NULL;

    if (d && (!d->type || d->type->kind != SAW_TABLE))
        saw_error(c->diag, s->u.emit.name_pos, "%.*s is not a table%s",
                  SLICE_ARG(s->u.emit.name),
                  d->type && d->type->kind == SAW_BAD
                      ? ": its declaration has an error"
                      : "");
    if (d && d->type && d->type->kind == SAW_TABLE) {
        t = d->type->table;
        s->u.emit.table = d;
        check_use(c, d, s->u.emit.name_pos);
        if (t->uses_vars && check_in_static(c))
            saw_error(c->diag, s->u.emit.name_pos,
                      "the format of table %.*s uses variables that are not "
                      "static: it cannot be used here",
                      SLICE_ARG(d->name));
    }
    emit_indices(c, s, t);
    c->row_ok = d && d == c->unit->keep;
    emit_value(c, s->u.emit.value, t ? t->element.type : NULL, "value");
    c->row_ok = false;
    if (s->u.emit.weight) {
        emit_value(c, s->u.emit.weight, t ? t->weight.type : NULL, "weight");
        if (t && !t->weight.type)
            saw_error(c->diag, s->u.emit.weight->pos,
                      "weight not allowed: the table has none");
    } else if (t && t->weight.type) {
        saw_error(c->diag, s->pos, "weight of type %s expected",
                  check_type_text(c, t->weight.type));
    }
}
