/* Aggregates of one table by groups, as tables of a program. All that is a
 * whole number and only added, counts among them, is one tuple of the table
 * `n`, so that a changed row costs one group; sums of FLOAT64, minima and
 * maxima have a table each.
 */
#include "bigtable/googlesql/gsql_program.h"

#include <stdio.h>
#include <string.h>

#include "base/core/macros.h"
#include "bigtable/googlesql/gsql_functions.h"
#include "bigtable/googlesql/gsql_keys.h"
#include "bigtable/googlesql/gsql_lexer.h"
#include "bigtable/googlesql/gsql_parser.h"
#include "bigtable/googlesql/gsql_scope.h"
#include "bigtable/googlesql/gsql_steps.h"
#include "bigtable/googlesql/gsql_steps_call.h"

#define KEYS_MAX 16

struct maker {
    struct gsql_query *query;
    struct gsql_steps steps;
    struct gsql_program *out;
    struct gsql_node *keys[KEYS_MAX]; /* The selected expressions. */
    size_t key_count;
    struct buf index;  /* "[k0: { null: bool, v: string }]…" */
    struct buf place;  /* "[k0]…" */
    struct buf tables; /* Declarations but for `n`; */
    unsigned table_count;
    unsigned fields;  /* of `n`: "{ f0: int, … }" */
    struct buf tuple; /* The value emitted to it. */
    struct buf emits; /* And to the others. */
};

/* --- clauses ------------------------------------------------------------- */

/* Are they the same expression? */
static bool same_node(const struct gsql_node *a, const struct gsql_node *b)
{
    if (!a || !b)
        return a == b;
    if (a->kind != b->kind || a->flag != b->flag || a->safe != b->safe ||
        (a->kind == GSQL_NAME ? !gsql_same_name(a->text, b->text)
                              : !slice_eq(a->text, b->text)) ||
        (a->type && b->type ? !gsql_type_eq(a->type, b->type)
                            : a->type != b->type) ||
        !same_node(a->a, b->a) || !same_node(a->b, b->b) ||
        !same_node(a->c, b->c))
        return false;
    a = a->list;
    b = b->list;
    for (; a && b; a = a->next, b = b->next)
        if (!same_node(a, b))
            return false;
    return a == b;
}

static struct gsql_node *selected_at(const struct maker *m, struct slice digits)
{
    struct gsql_node *n = m->query->select;
    size_t at = 0;
    for (size_t i = 0; i < digits.len && at < 1000; i++)
        at = at * 10 + (size_t)(digits.data[i] - '0');
    for (size_t i = 1; n && i < at; i++)
        n = n->next;
    return at ? n : NULL;
}

/* The meaning of a key of GROUP BY: the selected item of its position or name,
 * or that is written the same. */
static struct gsql_node *selected_for(const struct maker *m,
                                      const struct gsql_node *key)
{
    if (key->kind == GSQL_INTEGER && key->text.len < 4)
        return selected_at(m, key->text);
    for (struct gsql_node *n = m->query->select; n; n = n->next)
        if (key->kind == GSQL_NAME &&
            gsql_same_name(gsql_selected_name(n), key->text))
            return n;
    for (struct gsql_node *n = m->query->select; n; n = n->next)
        if (same_node(n, key))
            return n;
    return NULL;
}

static bool is_key_column(const struct gsql_node *n)
{
    return gsql_same_name(gsql_selected_name(n), SLICE_LIT("_key"));
}

static bool has_key(const struct maker *m, const struct gsql_node *n)
{
    for (size_t k = 0; k < m->key_count; k++)
        if (m->keys[k] == n)
            return true;
    return false;
}

static void add_key(struct maker *m, struct gsql_node *n)
{
    if (n && has_key(m, n))
        return;
    if (!n || gsql_has_aggregate(n))
        gsql_steps_refuse(&m->steps, "a group by what is not selected");
    else if (m->key_count == KEYS_MAX)
        gsql_steps_refuse(&m->steps, "a group by as many keys");
    else
        m->keys[m->key_count++] = n;
}

static void find_keys(struct maker *m)
{
    const struct gsql_query *q = m->query;
    for (const struct gsql_node *n = q->group; n; n = n->next)
        add_key(m, selected_for(m, n));
    for (struct gsql_node *n = q->group_all ? q->select : NULL; n; n = n->next)
        if (!gsql_has_aggregate(n))
            add_key(m, n);
    if (m->steps.rc == 0 && m->key_count == 0)
        gsql_steps_refuse(&m->steps, "a query without GROUP BY");
}

/* In the order in which a row's key has them: _key, or that of the columns. */
static void order_keys(struct maker *m)
{
    struct gsql_node *ordered[KEYS_MAX];
    size_t count = 0;
    for (struct gsql_node *n = m->query->select; n; n = n->next)
        if (has_key(m, n) && is_key_column(n))
            ordered[count++] = n;
    for (struct gsql_node *n = m->query->select; n; n = n->next)
        if (has_key(m, n) && !is_key_column(n))
            ordered[count++] = n;
    for (size_t k = 0; k < count; k++)
        m->keys[k] = ordered[k];
}

static void check_clauses(struct maker *m)
{
    const struct gsql_query *q = m->query;
    struct gsql_steps *s = &m->steps;
    if (!q->from || q->from->next || q->from->kind != GSQL_FROM_TABLE)
        gsql_steps_refuse(s, "a query of anything but one table");
    else if (q->from->options)
        gsql_steps_refuse(s, "a table with_history or as_of");
    if (q->distinct)
        gsql_steps_refuse(s, "SELECT DISTINCT");
    if (q->having)
        gsql_steps_refuse(s, "HAVING");
    if (q->order || q->limit || q->offset)
        gsql_steps_refuse(s, "ORDER BY, LIMIT or OFFSET");
    for (const struct gsql_node *n = q->select; n; n = n->next)
        if (n->kind == GSQL_STAR)
            gsql_steps_refuse(s, "SELECT *");
}

static int
find_table(struct maker *m, const struct gsql_options *o, struct err *err)
{
    struct gsql_relation *r = arena_zalloc(m->steps.arena, sizeof(*r));
    const struct gsql_source *from = m->query->from;
    int rc = o->find(o->ctx, from->name, m->steps.arena, r, err);
    if (rc)
        return rc;
    if (r->view.len || r->source.len || r->kept)
        gsql_steps_refuse(&m->steps, "a view of a view");
    m->steps.table = r;
    m->steps.alias = from->alias.len ? from->alias : from->name;
    m->out->table =
        slice_make(arena_printf(m->steps.arena, "%.*s", SLICE_ARG(r->table)),
                   r->table.len);
    return m->steps.rc;
}

/* --- conditions and keys ------------------------------------------------- */

static void put_where(struct maker *m)
{
    struct gsql_step v;
    if (!m->query->where) {
        buf_append_str(&m->steps.out, "if (true) {\n");
        return;
    }
    v = gsql_steps_make(&m->steps, m->query->where);
    if (v.kind != GSQL_BOOL)
        gsql_steps_refuse(&m->steps, "a WHERE that is no BOOL");
    buf_printf(&m->steps.out, "if (def(x%u) && x%u) {\n", v.number, v.number);
}

static struct gsql_program_column *new_column(struct maker *m,
                                              const struct gsql_node *n)
{
    struct gsql_program_column *c = &m->out->columns[m->out->column_count];
    const struct slice name = gsql_selected_name(n);
    if (m->out->column_count + 1 < GSQL_PROGRAM_COLUMNS_MAX)
        m->out->column_count++;
    else
        gsql_steps_refuse(&m->steps, "as many columns");
    *c = (struct gsql_program_column){
        .name = slice_make(
            arena_printf(m->steps.arena, "%.*s", SLICE_ARG(name)), name.len)};
    return c;
}

/* A key of FLOAT64 would be in an order that cells of keys have not. */
static void put_key(struct maker *m, size_t k, enum gsql_kind *kind)
{
    struct gsql_step v = gsql_steps_make(&m->steps, m->keys[k]);
    const char *type = gsql_steps_type(v.kind);
    if (v.kind == GSQL_UNKNOWN || v.kind == GSQL_FLOAT64)
        gsql_steps_refuse(&m->steps, "a key of this type");
    *kind = v.kind;
    buf_printf(&m->steps.out,
               "k%zu: { null: bool, v: %s } = {true, %s};\n"
               "if (def(x%u)) k%zu = {false, x%u};\n",
               k, type, gsql_steps_zero(v.kind), v.number, k, v.number);
    buf_printf(&m->index, "[k%zu: { null: bool, v: %s }]", k, type);
    buf_printf(&m->place, "[k%zu]", k);
}

/* --- aggregates ---------------------------------------------------------- */

/* A field of `n` that adds @what where x<number> has a value. */
static struct gsql_program_place
add_field(struct maker *m, struct gsql_step v, const char *what)
{
    const struct gsql_program_place p = {"sum", 0, m->fields++};
    buf_printf(&m->steps.out, "s%u: int = 0; if (def(x%u)) s%u = %s;\n",
               p.field, v.number, p.field, what);
    buf_printf(&m->tuple, ", s%u", p.field);
    return p;
}

static struct gsql_program_place add_count(struct maker *m, struct gsql_step v)
{
    return add_field(m, v, "1");
}

static struct gsql_program_place add_sum(struct maker *m, struct gsql_step v)
{
    char name[16];
    snprintf(name, sizeof(name), "x%u", v.number);
    return add_field(m, v, name);
}

/* A table of its own. @kind: with its parameter. */
static struct gsql_program_place add_table(struct maker *m,
                                           const char *kind,
                                           const char *declared,
                                           struct gsql_step v)
{
    const struct gsql_program_place p = {kind, ++m->table_count, 0};
    const char *type = gsql_steps_type(v.kind);
    const bool weighted = strcmp(kind, "sum") != 0;
    buf_printf(&m->tables, "a%u: table %s%s of %s%s%s;\n", p.table, declared,
               buf_cstr(&m->index), type, weighted ? " weight " : "",
               weighted ? type : "");
    buf_printf(&m->emits, "if (def(x%u)) emit a%u%s <- x%u", v.number, p.table,
               buf_cstr(&m->place), v.number);
    if (weighted)
        buf_printf(&m->emits, " weight x%u", v.number);
    buf_append_str(&m->emits, ";\n");
    return p;
}

/* A truth as a number, whose minima and maxima are those of truths. */
static struct gsql_step number_of(struct maker *m, struct gsql_step v)
{
    struct gsql_step n;
    if (v.kind != GSQL_BOOL)
        return v;
    n = gsql_steps_open(&m->steps, GSQL_INT64);
    buf_printf(&m->steps.out, "if (def(x%u)) { x%u = 0; if (x%u) x%u = 1; }\n",
               v.number, n.number, v.number, n.number);
    return n;
}

static void put_best(struct maker *m,
                     struct gsql_program_column *c,
                     struct gsql_step v,
                     bool greatest)
{
    if (v.kind == GSQL_UNKNOWN)
        gsql_steps_refuse(&m->steps, "an aggregate of NULL");
    c->type = v.kind;
    c->source = GSQL_PROGRAM_VALUE;
    c->value =
        add_table(m, greatest ? "maximum" : "minimum",
                  greatest ? "maximum(1)" : "minimum(1)", number_of(m, v));
}

static void put_total(struct maker *m,
                      struct gsql_program_column *c,
                      struct gsql_step v,
                      bool average)
{
    if (v.kind != GSQL_INT64 && v.kind != GSQL_FLOAT64)
        gsql_steps_refuse(&m->steps, "a sum of what is no number");
    c->type = average ? GSQL_FLOAT64 : v.kind;
    c->source = average ? GSQL_PROGRAM_AVERAGE : GSQL_PROGRAM_VALUE;
    c->value =
        v.kind == GSQL_INT64 ? add_sum(m, v) : add_table(m, "sum", "sum", v);
    if (average || v.kind == GSQL_INT64)
        c->count = add_count(m, v);
}

/* COUNTIF(x): of those that are true. */
static struct gsql_step true_alone(struct maker *m, struct gsql_step v)
{
    struct gsql_step t = gsql_steps_open(&m->steps, GSQL_BOOL);
    if (v.kind != GSQL_BOOL)
        gsql_steps_refuse(&m->steps, "COUNTIF() of what is no BOOL");
    buf_printf(&m->steps.out, "if (def(x%u) && x%u) x%u = true;\n", v.number,
               v.number, t.number);
    return t;
}

static void
put_count(struct maker *m, struct gsql_program_column *c, struct gsql_step v)
{
    c->type = GSQL_INT64;
    c->source = GSQL_PROGRAM_COUNT;
    c->value = add_count(m, v);
}

static bool is_named(const struct gsql_node *n, const char *name)
{
    return gsql_same_name(n->text, slice_str(name));
}

static void put_aggregate(struct maker *m, struct gsql_node *n)
{
    struct gsql_program_column *c = new_column(m, n);
    struct gsql_step v;
    if (n->flag || n->safe || n->b || n->c)
        gsql_steps_refuse(&m->steps, "DISTINCT, ORDER BY or LIMIT in a call");
    if (is_named(n, "COUNT") && (!n->list || n->list->kind == GSQL_STAR)) {
        c->type = GSQL_INT64;
        c->source = GSQL_PROGRAM_COUNT;
        c->value = (struct gsql_program_place){"sum", 0, 0};
        return;
    }
    if (!n->list || n->list->next) {
        gsql_steps_refuse(&m->steps, "an aggregate of several values");
        return;
    }
    v = gsql_steps_make(&m->steps, n->list);
    if (is_named(n, "COUNT"))
        put_count(m, c, v);
    else if (is_named(n, "COUNTIF"))
        put_count(m, c, true_alone(m, v));
    else if (is_named(n, "SUM"))
        put_total(m, c, v, false);
    else if (is_named(n, "AVG"))
        put_total(m, c, v, true);
    else if (is_named(n, "MIN") || is_named(n, "LOGICAL_AND") ||
             is_named(n, "ANY_VALUE"))
        put_best(m, c, v, false);
    else if (is_named(n, "MAX") || is_named(n, "LOGICAL_OR"))
        put_best(m, c, v, true);
    else
        gsql_steps_refuse(&m->steps, "an aggregate of another kind");
}

/* --- items --------------------------------------------------------------- */

static void
put_item(struct maker *m, struct gsql_node *n, const enum gsql_kind *kinds)
{
    const struct gsql_function *f =
        n->kind == GSQL_CALL ? gsql_function_find(n->text) : NULL;
    if (f && (f->flags & GSQL_AGGREGATE)) {
        put_aggregate(m, n);
        return;
    }
    for (size_t k = 0; k < m->key_count; k++)
        if (m->keys[k] == n || same_node(m->keys[k], n)) {
            struct gsql_program_column *c = new_column(m, n);
            c->type = kinds[k];
            c->key = (unsigned)k;
            return;
        }
    gsql_steps_refuse(&m->steps, "an expression of aggregates");
}

static void put_program(struct maker *m)
{
    struct buf b = BUF_INIT;
    buf_append_str(&b, "r: Row = input;\n");
    gsql_steps_put_parts(m->steps.parts, &b);
    buf_printf(&b, "n: table sum%s of ", buf_cstr(&m->index));
    if (m->fields == 1)
        buf_append_str(&b, "int;\n");
    for (unsigned i = 0; m->fields > 1 && i < m->fields; i++)
        buf_printf(&b, "%sf%u: int%s", i ? ", " : "{ ", i,
                   i + 1 == m->fields ? " };\n" : "");
    buf_append_slice(&b, buf_slice(&m->tables));
    buf_append_str(&b, "{\n");
    buf_append_slice(&b, buf_slice(&m->steps.out));
    buf_printf(&b, m->fields == 1 ? "emit n%s <- 1;\n" : "emit n%s <- {1%s};\n",
               buf_cstr(&m->place), m->tuple.data ? buf_cstr(&m->tuple) : "");
    buf_append_slice(&b, buf_slice(&m->emits));
    buf_append_str(&b, "}\n}\n");
    m->out->text = arena_dup(m->steps.arena, buf_slice(&b));
    buf_close(&b);
}

static void make_program(struct maker *m)
{
    enum gsql_kind kinds[KEYS_MAX];
    struct gsql_steps *s = &m->steps;
    m->fields = 1; /* Rows. */
    find_keys(m);
    order_keys(m);
    if (s->rc == 0)
        put_where(m);
    for (size_t k = 0; k < m->key_count && s->rc == 0; k++)
        put_key(m, k, &kinds[k]);
    for (struct gsql_node *n = m->query->select; n && s->rc == 0; n = n->next)
        put_item(m, n, kinds);
    if (s->rc == 0)
        put_program(m);
}

int gsql_program_make(struct slice query,
                      const struct gsql_options *options,
                      struct arena *arena,
                      struct gsql_program *out,
                      struct err *err)
{
    struct err own = ERR_INIT;
    struct maker m = {.out = out,
                      .steps = {.arena = arena,
                                .alias = SLICE_EMPTY,
                                .err = err ? err : &own}};
    int rc = gsql_parse(query, arena, &m.query, m.steps.err);
    memset(out, 0, sizeof(*out));
    out->text = out->table = SLICE_EMPTY;
    if (rc == 0) {
        check_clauses(&m);
        rc = m.steps.rc;
    }
    if (rc == 0)
        rc = find_table(&m, options, m.steps.err);
    if (rc == 0) {
        make_program(&m);
        rc = m.steps.rc;
    }
    buf_close(&m.steps.out);
    buf_close(&m.index);
    buf_close(&m.place);
    buf_close(&m.tables);
    buf_close(&m.tuple);
    buf_close(&m.emits);
    return rc;
}
