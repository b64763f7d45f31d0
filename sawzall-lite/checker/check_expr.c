/* Expressions: operators, names, selections, indices; see check_internal.h.
 *
 * Operands must have equal types: the language converts nothing implicitly but
 * in initialisers. The tree is completed in place; a node can change its kind
 * (`a.b` into a static member, + of fingerprints into a call).
 */
#include "base/core/panic.h"
#include "sawzall-lite/checker/check_internal.h"

static void
check_expr_name(struct saw_checker *c, struct saw_expr *e, bool row_ok);

/* --- operators ----------------------------------------------------------- */

/* Whether the operator applies to operands of this kind. */
static bool check_expr_applies(enum saw_op op, enum saw_kind k)
{
    bool integer = k == SAW_INT || k == SAW_UINT;
    bool ordered =
        saw_kind_is_basic(k) && k != SAW_BOOL && k != SAW_FINGERPRINT;

    switch (op) {
    case OP_ADD:
        return integer || k == SAW_FLOAT || k == SAW_TIME || k == SAW_STRING ||
               k == SAW_BYTES || k == SAW_ARRAY || k == SAW_FINGERPRINT;
    case OP_SUB: return integer || k == SAW_FLOAT || k == SAW_TIME;
    case OP_MUL:
    case OP_DIV: return integer || k == SAW_FLOAT;
    case OP_MOD:
    case OP_SHL:
    case OP_SHR:
    case OP_BAND:
    case OP_BOR:
    case OP_BXOR:
    case OP_BITNOT: return integer;
    case OP_EQL:
    case OP_NEQ:
        return saw_kind_is_basic(k) || k == SAW_ARRAY || k == SAW_MAP ||
               k == SAW_TUPLE || k == SAW_FUNCTION;
    case OP_LSS:
    case OP_LEQ:
    case OP_GTR:
    case OP_GEQ: return ordered;
    case OP_LAND:
    case OP_LOR:
    case OP_AND:
    case OP_OR:
    case OP_NOT: return k == SAW_BOOL;
    case OP_NEG: return k == SAW_INT || k == SAW_FLOAT;
    case OP_PLUS: return true;
    }
    return false;
}

static bool is_comparison(enum saw_op op)
{
    return op >= OP_EQL && op <= OP_GEQ;
}

/* Literals on either side of + may take their type from the other. */
static void
type_operands(struct saw_checker *c, struct saw_expr *l, struct saw_expr *r)
{
    check_compatible(c, l->type, r);
    check_compatible(c, r->type, l);
    if (l->kind == EXPR_COMPOSITE && !l->u.composite.paired)
        check_composite_guess(c, l, false);
    if (r->kind == EXPR_COMPOSITE && !r->u.composite.paired)
        check_composite_guess(c, r, false);
}

/* a + b of fingerprints is a call. */
static void fingerprint_cat(struct saw_checker *c, struct saw_expr *e)
{
    struct saw_expr *fn = saw_expr_new(c->arena, EXPR_NAME, e->pos);
    struct saw_exprs args = {0};

    fn->u.name.text = SLICE_LIT("+");
    saw_exprs_add(c->arena, &args, e->u.binary.left);
    saw_exprs_add(c->arena, &args, e->u.binary.right);
    e->kind = EXPR_CALL;
    e->type = &saw_type_fingerprint;
    memset(&e->u, 0, sizeof(e->u));
    e->u.call.fn = fn;
    e->u.call.args = args;
    e->u.call.kind = CALL_BUILTIN;
    e->u.call.site =
        check_site(c, &saw_builtin_fingerprint_cat, &args, e->type);
    fold_expr(c, e);
}

/* Check one binary node whose operands are checked. */
static void binary_node(struct saw_checker *c, struct saw_expr *e)
{
    struct saw_expr *l = e->u.binary.left;
    struct saw_expr *r = e->u.binary.right;
    enum saw_op op = e->u.binary.op;
    enum saw_kind k;

    if (op == OP_ADD)
        type_operands(c, l, r);
    k = l->type->kind;
    if (k == SAW_BAD || r->type->kind == SAW_BAD) {
        e->type = is_comparison(op) ? &saw_type_bool : &saw_type_bad;
        return;
    }
    if (!saw_type_equal(l->type, r->type)) {
        saw_error(
            c->diag, e->pos, "type mismatch: %s (type %s) %s %s (type %s)",
            check_expr_text(c, l), check_type_text(c, l->type), saw_op_text(op),
            check_expr_text(c, r), check_type_text(c, r->type));
        return;
    }
    if (!check_expr_applies(op, k)) {
        saw_error(c->diag, e->pos, "operator %s does not apply to %s (type %s)",
                  saw_op_text(op), check_expr_text(c, l),
                  check_type_text(c, l->type));
        return;
    }
    if (k == SAW_FINGERPRINT && op == OP_ADD) {
        fingerprint_cat(c, e);
        return;
    }
    e->type = is_comparison(op) ? &saw_type_bool : l->type;
    fold_expr(c, e);
}

/* The spine of left operands is checked from its far end, in a loop. */
static void check_expr_binary(struct saw_checker *c, struct saw_expr *e)
{
    struct saw_exprs spine = {0};
    size_t i;

    while (e->kind == EXPR_BINARY) {
        saw_exprs_add(c->arena, &spine, e);
        e = e->u.binary.left;
    }
    check_expr(c, e);
    for (i = spine.count; i-- > 0;) {
        check_expr(c, spine.at[i]->u.binary.right);
        binary_node(c, spine.at[i]);
    }
}

static void check_expr_unary(struct saw_checker *c, struct saw_expr *e)
{
    struct saw_expr *x = e->u.binary.left;
    enum saw_op op = e->u.binary.op;

    check_expr(c, x);
    if (x->type->kind == SAW_BAD)
        return;
    if (!check_expr_applies(op, x->type->kind)) {
        saw_error(c->diag, e->pos, "operator %s does not apply to %s (type %s)",
                  saw_op_text(op), check_expr_text(c, x),
                  check_type_text(c, x->type));
        return;
    }
    e->type = x->type;
    fold_expr(c, e);
}

/* --- names --------------------------------------------------------------- */

void check_column(struct saw_checker *c, struct slice column)
{
    struct saw_unit *u = c->unit;
    bool added;

    hash_map_put(&c->columns, column, &added);
    if (!added)
        return;
    if (u->column_count == u->column_cap) {
        struct slice *old = u->columns;
        u->column_cap = u->column_cap ? u->column_cap * 2 : 8;
        u->columns = arena_alloc(c->arena, u->column_cap * sizeof(*u->columns));
        if (old)
            memcpy(u->columns, old, u->column_count * sizeof(*old));
    }
    u->columns[u->column_count++] = column;
}

static void
check_expr_name(struct saw_checker *c, struct saw_expr *e, bool row_ok)
{
    struct saw_decl *d = check_lookup(c, e->u.name.text, e->pos);

    e->u.name.decl = d;
    if (!d)
        return;
    if (d->kind == DECL_FIELD) {
        saw_error(c->diag, e->pos, "field %.*s may only be used after a '.'",
                  SLICE_ARG(e->u.name.text));
        return;
    }
    if (d->kind == DECL_TYPE || d->kind == DECL_BUILTIN) {
        saw_error(c->diag, e->pos,
                  d->kind == DECL_TYPE
                      ? "%.*s is a type, not a value"
                      : "intrinsic function %.*s cannot be used as a value",
                  SLICE_ARG(e->u.name.text));
        return;
    }
    if (!check_use(c, d, e->pos))
        return;
    if (!d->type) {
        saw_error(c->diag, e->pos, "%.*s is used in its own declaration",
                  SLICE_ARG(e->u.name.text));
        return;
    }
    if (d->quant == QUANT_ALL && d->all_in_body)
        saw_error(c->diag, e->pos,
                  "value of 'all' variable %.*s is undefined in the body of "
                  "when",
                  SLICE_ARG(d->name));
    if (!row_ok && d->type == c->unit->row_type)
        c->unit->all_columns = true;
    if (d == c->unit->input_key)
        c->unit->reads_key = true;
    e->type = d->type;
    e->constant = d->constant;
}

/* --- fields -------------------------------------------------------------- */

/* The type that a chain of names stands for (with its package in front, or
 * inside a tuple type). NULL: none. */
static struct saw_decl *named_type(struct saw_checker *c,
                                   const struct saw_expr *e)
{
    struct saw_decl *d;
    struct buf b = BUF_INIT;

    if (e->kind == EXPR_NAME) {
        d = saw_scope_lookup(c->scope, e->u.name.text);
    } else if (e->kind == EXPR_SELECT) {
        saw_expr_print(e, &b); /* package.Type is one name. */
        d = saw_scope_lookup(c->scope, buf_slice(&b));
        buf_close(&b);
        if (!d) {
            d = named_type(c, e->u.select.object);
            d = d && d->members ? saw_scope_find(d->members, e->u.select.name)
                                : NULL;
        }
    } else {
        return NULL;
    }
    return d && d->kind == DECL_TYPE ? d : NULL;
}

/* Turn @e into the static @m. */
static void become_member(struct saw_expr *e, struct saw_decl *m)
{
    struct slice member = e->u.select.name;

    e->kind = EXPR_NAME;
    e->u.name.text = member;
    e->u.name.decl = m;
    if (m && m->kind == DECL_VAR && m->type) {
        m->used = true;
        e->type = m->type;
        e->constant = m->constant;
    }
}

/* T.member, where T names a tuple type: a static of it. */
static bool static_member(struct saw_checker *c, struct saw_expr *e)
{
    struct saw_decl *d = named_type(c, e->u.select.object);
    struct saw_decl *m;

    if (!d)
        return false;
    d->used = true;
    if (!d->members) {
        saw_error(c->diag, e->pos, "%.*s is not a tuple type",
                  SLICE_ARG(d->name));
        e->kind = EXPR_BAD;
        return true;
    }
    m = saw_scope_find(d->members, e->u.select.name);
    if (!m || m->kind != DECL_VAR)
        saw_error(c->diag, e->u.select.name_pos,
                  "no static %.*s in tuple type %.*s",
                  SLICE_ARG(e->u.select.name), SLICE_ARG(d->name));
    become_member(e, m);
    return true;
}

static void
no_field(struct saw_checker *c, struct saw_expr *e, const struct saw_type *t)
{
    struct buf b = BUF_INIT;
    size_t i;

    for (i = 0; i < t->field_count && i < 12; i++) {
        if (t->fields[i].name.len)
            buf_printf(&b, "%s%.*s", b.len ? ", " : "",
                       SLICE_ARG(t->fields[i].name));
    }
    saw_error(c->diag, e->u.select.name_pos, "no field %.*s in %s (it has %s)",
              SLICE_ARG(e->u.select.name), check_type_text(c, t),
              b.len ? buf_cstr(&b) : "no named fields");
    buf_close(&b);
}

static void select_field(struct saw_checker *c, struct saw_expr *e)
{
    struct saw_expr *o = e->u.select.object;
    bool row_ok = c->row_ok || slice_eq_str(e->u.select.name, "key");
    const struct saw_type *t;
    struct slice field = e->u.select.name;
    struct saw_decl *m;
    size_t i;

    c->row_ok = false;
    if (static_member(c, e))
        return;
    if (o->kind == EXPR_NAME)
        check_expr_name(c, o, row_ok);
    else
        check_expr(c, o);
    t = o->type;
    if (t->kind == SAW_BAD || field.len == 0)
        return;
    if (t->kind != SAW_TUPLE) {
        saw_error(c->diag, e->pos, "%s (type %s) is not a tuple%s",
                  check_expr_text(c, o), check_type_text(c, t),
                  slice_starts_with(field, SLICE_LIT("len"))
                      ? " (its length is len(x))"
                      : "");
        return;
    }
    for (i = 0; i < t->field_count; i++) {
        if (slice_eq(t->fields[i].name, field)) {
            e->u.select.field = i;
            e->type = t->fields[i].type;
            return;
        }
    }
    m = t->scope ? saw_scope_find(t->scope, field) : NULL;
    if (m && m->kind == DECL_VAR)
        become_member(e, m);
    else
        no_field(c, e, t);
}

/* --- indexing ------------------------------------------------------------ */

static bool is_indexable(enum saw_kind k)
{
    return k == SAW_ARRAY || k == SAW_STRING || k == SAW_BYTES;
}

static void int_index(struct saw_checker *c, struct saw_expr *i)
{
    if (i->type->kind != SAW_INT && i->type->kind != SAW_BAD)
        saw_error(c->diag, i->pos, "index %s (type %s) must be of type int",
                  check_expr_text(c, i), check_type_text(c, i->type));
}

static void map_index(struct saw_checker *c, struct saw_expr *e)
{
    struct saw_expr *key = e->u.index.begin;
    const struct saw_type *t = e->u.index.object->type;

    if (!check_compatible(c, t->key, key))
        saw_error(c->diag, key->pos, "map key %s (type %s) must be of type %s",
                  check_expr_text(c, key), check_type_text(c, key->type),
                  check_type_text(c, t->key));
    if (e->u.index.end)
        saw_error(c->diag, e->u.index.end->pos, "a map has no slices");
    e->type = t->elem;
}

/* r.column[k]: a constant k is a column the program reads. */
static bool is_row_column(struct saw_checker *c, const struct saw_expr *o)
{
    return o->kind == EXPR_SELECT && slice_eq_str(o->u.select.name, "column") &&
           o->u.select.object->kind == EXPR_NAME && c->unit->row_type &&
           saw_scope_lookup(c->scope, o->u.select.object->u.name.text) &&
           saw_scope_lookup(c->scope, o->u.select.object->u.name.text)->type ==
               c->unit->row_type;
}

static void index_expr(struct saw_checker *c, struct saw_expr *e)
{
    struct saw_expr *o = e->u.index.object;
    bool of_row = is_row_column(c, o);
    const struct saw_type *t;

    c->row_ok = of_row;
    check_expr(c, o);
    c->row_ok = false;
    if (o->kind == EXPR_COMPOSITE)
        check_composite_guess(c, o, false);
    check_expr(c, e->u.index.begin);
    if (e->u.index.end)
        check_expr(c, e->u.index.end);
    t = o->type;
    if (of_row && e->u.index.begin->constant &&
        e->u.index.begin->type->kind == SAW_STRING)
        check_column(c, saw_str_slice(e->u.index.begin->constant->s));
    else if (of_row)
        c->unit->all_columns = true;
    if (t->kind == SAW_MAP) {
        map_index(c, e);
    } else if (is_indexable(t->kind)) {
        int_index(c, e->u.index.begin);
        if (e->u.index.end)
            int_index(c, e->u.index.end);
        e->type = e->u.index.end         ? t
                  : t->kind == SAW_ARRAY ? t->elem
                                         : &saw_type_int;
        fold_expr(c, e);
    } else if (t->kind == SAW_TABLE) {
        saw_error(c->diag, e->pos, "'emit' expected before %s",
                  check_expr_text(c, o));
    } else if (t->kind != SAW_BAD) {
        saw_error(c->diag, e->pos, "%s (type %s) cannot be indexed",
                  check_expr_text(c, o), check_type_text(c, t));
    }
}

static void check_expr_dollar(struct saw_checker *c, struct saw_expr *e)
{
    const struct saw_expr *o = e->u.dollar->u.index.object;

    if (o->type->kind == SAW_MAP)
        saw_error(c->diag, e->pos, "'$' must not be used with a map");
    e->type = &saw_type_int;
}

/* --- the rest ------------------------------------------------------------ */

static void check_expr_composite(struct saw_checker *c, struct saw_expr *e)
{
    struct saw_exprs *items = &e->u.composite.items;
    size_t i;

    for (i = 0; i < items->count; i++) {
        check_expr(c, items->at[i]);
        if (items->at[i]->type->kind == SAW_VOID) {
            saw_error(c->diag, items->at[i]->pos, "%s has no value",
                      check_expr_text(c, items->at[i]));
            items->at[i]->type = &saw_type_bad;
        }
    }
    e->type = &saw_type_incomplete;
}

static void check_expr_function(struct saw_checker *c, struct saw_expr *e)
{
    const struct saw_type *t;

    if (e->type->kind == SAW_FUNCTION) /* By the declaration around it. */
        t = e->type;
    else
        t = check_type(c, e->u.function.type, NULL, false);
    if (t->kind != SAW_FUNCTION) {
        if (t->kind != SAW_BAD)
            saw_error(c->diag, e->pos, "%s is not a function type",
                      check_type_text(c, t));
        return;
    }
    e->type = t;
    check_function(c, e->u.function.fn, t);
}

static void check_expr_statexpr(struct saw_checker *c, struct saw_expr *e)
{
    struct saw_expr *outer = c->statexpr;
    unsigned loops = c->loops;
    unsigned breakables = c->breakables;

    c->statexpr = e;
    c->unit->has_statexpr = true;
    c->loops = c->breakables = 0;
    e->type = &saw_type_incomplete;
    check_stmt(c, e->u.statexpr.body);
    c->statexpr = outer;
    c->loops = loops;
    c->breakables = breakables;
    if (e->type->kind == SAW_INCOMPLETE) {
        saw_error(c->diag, e->pos, "?{…} has no result statement");
        e->type = &saw_type_bad;
    }
}

static void time_text(struct saw_checker *c, struct saw_expr *e)
{
    const struct saw_type *from = &saw_type_string;
    struct saw_call site = {
        .arg_count = 1, .arg_types = &from, .result_type = &saw_type_time};
    struct saw_str text = {e->u.text.data, e->u.text.len,
                           saw_utf8_count(e->u.text)};
    union saw_slot arg = {.s = &text};
    union saw_slot *v = arena_zalloc(c->arena, sizeof(*v));

    if (saw_convert(&c->fold, &site, &arg, v) != SAW_OK)
        saw_error(c->diag, e->pos, "\"%.*s\" is not a legal time",
                  SLICE_ARG(e->u.text));
    e->kind = EXPR_LITERAL;
    e->type = &saw_type_time;
    e->constant = v;
}

void check_expr(struct saw_checker *c, struct saw_expr *e)
{
    bool row_ok = c->row_ok;

    if (e->kind != EXPR_SELECT)
        c->row_ok = false;
    switch (e->kind) {
    case EXPR_BAD:
    case EXPR_LITERAL: break;
    case EXPR_TIME_TEXT: time_text(c, e); break;
    case EXPR_NAME: check_expr_name(c, e, row_ok); break;
    case EXPR_UNARY: check_expr_unary(c, e); break;
    case EXPR_BINARY: check_expr_binary(c, e); break;
    case EXPR_SELECT: select_field(c, e); break;
    case EXPR_INDEX: index_expr(c, e); break;
    case EXPR_DOLLAR: check_expr_dollar(c, e); break;
    case EXPR_CALL: check_call(c, e); break;
    case EXPR_CONVERT: break; /* Made by the checker: done. */
    case EXPR_COMPOSITE: check_expr_composite(c, e); break;
    case EXPR_FUNCTION: check_expr_function(c, e); break;
    case EXPR_STATEXPR: check_expr_statexpr(c, e); break;
    case EXPR_TYPE:
        e->type = check_type(c, e->u.type_expr, NULL, false);
        saw_error(c->diag, e->pos,
                  "a type cannot stand where a value is "
                  "expected");
        break;
    }
    POST(e->type); /* INV-2 of ast.h */
}

void check_expr_hint(struct saw_checker *c,
                     struct saw_expr *e,
                     const struct saw_type *hint)
{
    check_expr(c, e);
    if (hint && e->kind == EXPR_COMPOSITE && e->type->kind == SAW_INCOMPLETE)
        check_composite_as(c, e, hint);
}

void check_condition(struct saw_checker *c, struct saw_expr *e)
{
    check_expr(c, e);
    if (e->type->kind != SAW_BOOL && e->type->kind != SAW_BAD) {
        saw_error(c->diag, e->pos,
                  "condition %s (type %s) must be of type "
                  "bool",
                  check_expr_text(c, e), check_type_text(c, e->type));
        e->type = &saw_type_bad;
    }
}

struct saw_decl *check_root(const struct saw_expr *e)
{
    for (;;) {
        if (e->kind == EXPR_NAME)
            return e->u.name.decl && e->u.name.decl->kind == DECL_VAR
                       ? e->u.name.decl
                       : NULL;
        if (e->kind == EXPR_INDEX)
            e = e->u.index.object;
        else if (e->kind == EXPR_SELECT)
            e = e->u.select.object;
        else
            return NULL;
    }
}
