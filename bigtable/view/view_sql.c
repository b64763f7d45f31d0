/* Views by SQL: one SELECT with WHERE and GROUP BY becomes a Sawzall program
 * whose tables are its aggregates. The other clauses that a SELECT may have
 * are refused by name, since a row alone does not decide them. */
#include "bigtable/view/view_sql.h"

#include <string.h>

#include "base/core/panic.h"
#include "bigtable/view/sql_expression.h"
#include "bigtable/view/sql_words.h"

/* Words [at, end). */
struct word_range {
    size_t at;
    size_t end;
};

/* The parts of the statement. */
struct clauses {
    struct word_range items[VIEW_SQL_ITEMS_MAX];
    struct word_range where; /* Empty: none. */
    struct word_range keys[VIEW_SQL_ITEMS_MAX];
    size_t item_count;
    size_t key_count;
};

struct translation {
    const struct sql_word *words; /* Borrowed. */
    size_t word_count;            /* With the end. */
    struct clauses clauses;
    struct view_sql *sql;
    struct buf tables; /* Declarations; */
    struct buf body;   /* what is done with each row; */
    struct buf emits;  /* and at its end, where the condition holds. */
    struct buf index;  /* "[k0][k1]" */
    struct sql_reader reader;
};

/* --- clauses ------------------------------------------------------------- */

static bool at_word(const struct translation *t, size_t at, const char *text)
{
    return sql_word_is(&t->words[at], text);
}

static int view_sql_misplaced(const struct translation *t,
                              size_t at,
                              const char *wanted,
                              struct err *err)
{
    struct sql_reader r = {.words = t->words, .at = at, .end = t->word_count};
    return sql_reader_fail(&r, wanted, err);
}

/* Refuse by name the words that a SELECT may have and a view has not. */
static int check_words(const struct translation *t, struct err *err)
{
    static const char *const refused[] = {
        "HAVING", "ORDER",  "LIMIT",   "OFFSET",    "JOIN",  "UNION",
        "WITH",   "WINDOW", "OVER",    "INTERSECT", "USING", "EXCEPT",
        "ROLLUP", "CUBE",   "QUALIFY", "DISTINCT",  "FILTER"};
    for (size_t i = 0; i < t->word_count; i++)
        for (size_t k = 0; k < ARRAY_LEN(refused); k++)
            if (at_word(t, i, refused[k])) {
                int rc = err_set(err, ERR_UNSUPPORTED, "SQL: a view has no %s",
                                 refused[k]);
                err_hint(err, "SELECT keys, aggregates FROM table WHERE … "
                              "GROUP BY …; ask the view for the rest");
                return rc;
            }
    return 0;
}

/* The first of @words outside of parentheses from @at on. */
static size_t
find_clause(const struct translation *t, size_t at, const char *const *words)
{
    int depth = 0;
    for (; t->words[at].kind != SQL_WORD_END; at++) {
        depth += at_word(t, at, "(") - at_word(t, at, ")");
        for (size_t i = 0; words[i] && depth == 0; i++)
            if (at_word(t, at, words[i]))
                return at;
    }
    return at;
}

/* The items between commas of [at, end). */
static int split_items(const struct translation *t,
                       struct word_range all,
                       struct word_range *out,
                       size_t *count,
                       struct err *err)
{
    static const char *const comma[] = {",", NULL};
    while (all.at < all.end) {
        size_t end = MIN_OF(find_clause(t, all.at, comma), all.end);
        if (*count == VIEW_SQL_ITEMS_MAX)
            return err_set(err, ERR_TOOBIG, "SQL: more than %d items",
                           VIEW_SQL_ITEMS_MAX);
        if (end == all.at || end + 1 == all.end)
            return view_sql_misplaced(t, end + (end + 1 == all.end), "an item",
                                      err);
        out[(*count)++] = (struct word_range){all.at, end};
        all.at = end + 1;
    }
    return *count ? 0 : view_sql_misplaced(t, all.at, "an item", err);
}

static int read_table(struct translation *t, size_t *at, struct err *err)
{
    const struct sql_word *w = &t->words[*at];
    if (w->kind != SQL_WORD_NAME && w->kind != SQL_WORD_QUOTED)
        return view_sql_misplaced(t, *at, "the name of a table", err);
    sql_word_value(w, &t->sql->table);
    ++*at;
    if (at_word(t, *at, ","))
        return err_set(err, ERR_UNSUPPORTED, "SQL: a view is of one table");
    return 0;
}

static int split_clauses(struct translation *t, struct err *err)
{
    static const char *const from[] = {"FROM", NULL};
    static const char *const group[] = {"GROUP", ";", NULL};
    struct clauses *c = &t->clauses;
    size_t at = find_clause(t, 0, from);
    int rc;

    if (!at_word(t, 0, "SELECT"))
        return view_sql_misplaced(t, 0, "SELECT", err);
    if (t->words[at].kind == SQL_WORD_END)
        return view_sql_misplaced(t, at, "FROM", err);
    rc = split_items(t, (struct word_range){1, at}, c->items, &c->item_count,
                     err);
    at++;
    if (rc == 0)
        rc = read_table(t, &at, err);
    if (rc)
        return rc;
    if (at_word(t, at, "WHERE")) {
        c->where.at = at + 1;
        at = c->where.end = find_clause(t, at + 1, group);
        if (c->where.at == c->where.end)
            return view_sql_misplaced(t, at, "a condition", err);
    }
    if (at_word(t, at, "GROUP")) {
        static const char *const end[] = {";", NULL};
        struct word_range keys = {at + 2, find_clause(t, at, end)};
        if (!at_word(t, at + 1, "BY"))
            return view_sql_misplaced(t, at + 1, "BY", err);
        rc = split_items(t, keys, c->keys, &c->key_count, err);
        at = keys.end;
    }
    if (rc == 0 && at_word(t, at, ";"))
        at++;
    if (rc == 0 && t->words[at].kind != SQL_WORD_END)
        rc = view_sql_misplaced(t, at, "WHERE, GROUP BY or the end", err);
    return rc;
}

/* --- expressions --------------------------------------------------------- */

static int view_sql_translate(struct translation *t,
                              struct word_range w,
                              struct sql_value *out,
                              struct err *err)
{
    int rc;
    t->reader.words = t->words;
    t->reader.at = w.at;
    t->reader.end = w.end;
    t->reader.program = &t->body;
    rc = sql_expression_read(&t->reader, out, err);
    if (rc == 0 && t->reader.at < w.end)
        rc = sql_reader_fail(&t->reader, "the end of the expression", err);
    return rc;
}

static int translate_where(struct translation *t, struct err *err)
{
    struct sql_value v;
    int rc;
    if (t->clauses.where.at == t->clauses.where.end) {
        buf_append_str(&t->body, "  holds := true;\n");
        return 0;
    }
    rc = view_sql_translate(t, t->clauses.where, &v, err);
    if (rc == 0 && v.type != SQL_BOOL)
        rc = err_set(err, ERR_INVALID, "SQL: WHERE needs a condition");
    buf_printf(&t->body, "  holds := false;\n  if (def(x%u)) holds = x%u;\n",
               v.number, v.number);
    return rc;
}

/* --- keys ---------------------------------------------------------------- */

/* Without AS and the name behind it. */
static struct word_range without_name(const struct translation *t,
                                      struct word_range w)
{
    if (w.end - w.at >= 3 && at_word(t, w.end - 2, "AS") &&
        t->words[w.end - 1].kind != SQL_WORD_STRING &&
        !at_word(t, w.end - 1, ")"))
        w.end -= 2;
    return w;
}

static bool same_words(const struct translation *t,
                       struct word_range a,
                       struct word_range b)
{
    bool same = a.end - a.at == b.end - b.at;
    for (size_t i = 0; same && i < a.end - a.at; i++) {
        const struct sql_word *x = &t->words[a.at + i];
        const struct sql_word *y = &t->words[b.at + i];
        same = slice_eq(x->text, y->text);
    }
    return same;
}

/* The item that a key of GROUP BY names: by its position, its name or as it is
 * written; the key's own words else. */
static struct word_range key_words(const struct translation *t,
                                   struct word_range key)
{
    const struct clauses *c = &t->clauses;
    const struct sql_word *w = &t->words[key.at];
    size_t position = 0;
    if (key.end - key.at != 1)
        return key;
    for (size_t i = 0; w->kind == SQL_WORD_NUMBER && i < w->text.len; i++)
        position = MIN_OF(position * 10 + (size_t)(w->text.data[i] - '0'),
                          VIEW_SQL_ITEMS_MAX + 1);
    if (w->kind == SQL_WORD_NUMBER && position >= 1 &&
        position <= c->item_count)
        return without_name(t, c->items[position - 1]);
    for (size_t i = 0; i < c->item_count; i++) {
        struct word_range plain = without_name(t, c->items[i]);
        if (plain.end < c->items[i].end &&
            slice_eq(t->words[c->items[i].end - 1].text, w->text))
            return plain;
    }
    return key;
}

static void put_key(struct translation *t, size_t k, const struct sql_value *v)
{
    static const char *const zeros[] = {"\"\"", "0", "0.0", "false"};
    const char *type = sql_type_name(v->type);
    buf_printf(&t->body,
               "  k%zu: { null: bool, v: %s } = {true, %s};\n"
               "  if (def(x%u)) k%zu = {false, x%u};\n",
               k, type, zeros[v->type], v->number, k, v->number);
    buf_printf(&t->index, "[k%zu]", k);
}

/* Declare a table of what is behind "table ". */
static void put_table(struct translation *t,
                      const char *kind,
                      const enum sql_type *key_types,
                      const char *element)
{
    unsigned n = t->sql->table_count++;
    if (n == 0)
        buf_append_str(&t->tables, "n");
    else
        buf_printf(&t->tables, "a%u", n);
    buf_printf(&t->tables, ": table %s", kind);
    for (size_t k = 0; k < t->sql->key_count; k++)
        buf_printf(&t->tables, "[k%zu: { null: bool, v: %s }]", k,
                   sql_type_name(key_types[k]));
    buf_printf(&t->tables, " of %s;\n", element);
}

static int
translate_keys(struct translation *t, enum sql_type *types, struct err *err)
{
    struct clauses *c = &t->clauses;
    for (size_t k = 0; k < c->key_count; k++) {
        struct sql_value v;
        int rc;
        c->keys[k] = key_words(t, c->keys[k]);
        rc = view_sql_translate(t, c->keys[k], &v, err);
        if (rc)
            return rc;
        types[k] = v.type;
        put_key(t, k, &v);
    }
    t->sql->key_count = c->key_count;
    put_table(t, "sum", types, "int");
    buf_printf(&t->emits, "    emit n%s <- 1;\n", buf_cstr(&t->index));
    return 0;
}

static enum quarry_view_type column_type(enum sql_type t)
{
    switch (t) {
    case SQL_TEXT: return QUARRY_VIEW_TEXT;
    case SQL_INT: return QUARRY_VIEW_INT;
    case SQL_FLOAT: return QUARRY_VIEW_FLOAT;
    case SQL_BOOL: return QUARRY_VIEW_BOOL;
    }
    return QUARRY_VIEW_TEXT;
}

/* --- aggregates ---------------------------------------------------------- */

static void
put_emit(struct translation *t, const struct sql_value *v, bool weighted)
{
    buf_printf(&t->emits, "    if (def(x%u)) emit a%u%s <- x%u", v->number,
               t->sql->table_count - 1, buf_cstr(&t->index), v->number);
    if (weighted)
        buf_printf(&t->emits, " weight x%u", v->number);
    buf_append_str(&t->emits, ";\n");
}

static int put_sum(struct translation *t,
                   const enum sql_type *keys,
                   const struct sql_value *v,
                   const char *name,
                   struct err *err)
{
    if (v->type != SQL_INT && v->type != SQL_FLOAT) {
        int rc = err_set(err, ERR_INVALID, "SQL: %s() needs numbers", name);
        err_hint(err, "cast it, as in %s(family['column']::BIGINT)", name);
        return rc;
    }
    put_table(t, "sum", keys, sql_type_name(v->type));
    put_emit(t, v, false);
    return 0;
}

static void put_count(struct translation *t,
                      const enum sql_type *keys,
                      const struct sql_value *v)
{
    put_table(t, "sum", keys, "int");
    buf_printf(&t->emits, "    if (def(x%u)) emit a%u%s <- 1;\n", v->number,
               t->sql->table_count - 1, buf_cstr(&t->index));
}

static void put_best(struct translation *t,
                     const enum sql_type *keys,
                     const struct sql_value *v,
                     const char *kind)
{
    struct buf element = BUF_INIT;
    buf_printf(&element, "%s weight %s", sql_type_name(v->type),
               sql_type_name(v->type));
    put_table(t, kind, keys, buf_cstr(&element));
    put_emit(t, v, true);
    buf_close(&element);
}

static int translate_aggregate(struct translation *t,
                               const enum sql_type *keys,
                               struct word_range w,
                               struct view_sql_item *item,
                               struct err *err)
{
    const struct sql_word *name = &t->words[w.at];
    struct sql_value v;
    int rc;

    item->kind = VIEW_SQL_VALUE;
    item->type = QUARRY_VIEW_INT;
    item->table_kind = "sum";
    item->table = t->sql->table_count;
    if (w.end - w.at == 4 && sql_word_is(name, "count") &&
        at_word(t, w.at + 2, "*")) {
        item->kind = VIEW_SQL_COUNT;
        item->table = 0;
        return 0;
    }
    rc = view_sql_translate(t, (struct word_range){w.at + 2, w.end - 1}, &v,
                            err);
    if (rc)
        return rc;
    if (sql_word_is(name, "count")) {
        item->kind = VIEW_SQL_COUNT;
        put_count(t, keys, &v);
    } else if (sql_word_is(name, "min")) {
        item->type = column_type(v.type);
        item->table_kind = "minimum";
        put_best(t, keys, &v, "minimum(1)");
    } else if (sql_word_is(name, "max")) {
        item->type = column_type(v.type);
        item->table_kind = "maximum";
        put_best(t, keys, &v, "maximum(1)");
    } else if (sql_word_is(name, "sum")) {
        item->type = column_type(v.type);
        rc = put_sum(t, keys, &v, "sum", err);
    } else {
        item->kind = VIEW_SQL_AVG;
        item->type = QUARRY_VIEW_FLOAT;
        rc = put_sum(t, keys, &v, "avg", err);
        put_count(t, keys, &v);
    }
    return rc;
}

/* Is it NAME(…), to its end, of an aggregate? */
static bool is_aggregate(const struct translation *t, struct word_range w)
{
    static const char *const names[] = {"count", "sum", "min", "max", "avg"};
    int depth = 0;
    bool is = false;
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        is |= at_word(t, w.at, names[i]);
    if (!is || w.end - w.at < 3 || !at_word(t, w.at + 1, "("))
        return false;
    for (size_t i = w.at + 1; i < w.end; i++) {
        depth += at_word(t, i, "(") - at_word(t, i, ")");
        if (depth == 0)
            return i + 1 == w.end;
    }
    return false;
}

/* --- items --------------------------------------------------------------- */

static void name_item(struct translation *t,
                      struct word_range w,
                      struct word_range plain,
                      struct view_sql_item *item)
{
    if (plain.end < w.end) {
        sql_word_value(&t->words[w.end - 1], &item->name);
        return;
    }
    for (size_t i = w.at; i < w.end; i++)
        buf_append_slice(&item->name, t->words[i].text);
}

static int translate_item(struct translation *t,
                          const enum sql_type *keys,
                          struct word_range w,
                          struct err *err)
{
    struct word_range plain = without_name(t, w);
    struct view_sql_item *item = &t->sql->items[t->sql->item_count++];
    int rc;

    name_item(t, w, plain, item);
    if (is_aggregate(t, plain))
        return translate_aggregate(t, keys, plain, item, err);
    for (size_t k = 0; k < t->clauses.key_count; k++)
        if (same_words(t, plain, t->clauses.keys[k])) {
            item->kind = VIEW_SQL_KEY;
            item->key = k;
            item->type = column_type(keys[k]);
            return 0;
        }
    rc = err_set(err, ERR_UNSUPPORTED,
                 "SQL: %s is neither a key of GROUP BY nor count(), sum(), "
                 "min(), max() or avg()",
                 buf_cstr(&item->name));
    err_hint(err, "compute with aggregates where the view is read");
    return rc;
}

static void put_program(struct translation *t)
{
    struct buf *p = &t->sql->program;
    buf_append_str(p, "r: Row = input;\n");
    buf_append_slice(p, buf_slice(&t->tables));
    buf_append_str(p, "{\n");
    buf_append_slice(p, buf_slice(&t->body));
    buf_append_str(p, "  if (holds) {\n");
    buf_append_slice(p, buf_slice(&t->emits));
    buf_append_str(p, "  }\n}\n");
}

static int translate_all(struct translation *t, struct err *err)
{
    enum sql_type types[VIEW_SQL_ITEMS_MAX];
    int rc = check_words(t, err);
    if (rc == 0)
        rc = split_clauses(t, err);
    if (rc == 0)
        rc = translate_where(t, err);
    if (rc == 0)
        rc = translate_keys(t, types, err);
    for (size_t i = 0; i < t->clauses.item_count && rc == 0; i++)
        rc = translate_item(t, types, t->clauses.items[i], err);
    if (rc == 0)
        put_program(t);
    return rc;
}

int view_sql_parse(struct slice text, struct view_sql **out, struct err *err)
{
    struct translation *t = mem_zalloc(1, sizeof(*t));
    struct sql_word *words = NULL;
    int rc = sql_words_split(text, &words, &t->word_count, err);

    *out = NULL;
    t->words = words;
    t->sql = mem_zalloc(1, sizeof(*t->sql));
    if (rc == 0)
        rc = translate_all(t, err);
    if (rc == 0)
        *out = t->sql;
    else
        view_sql_free(t->sql);
    sql_reader_close(&t->reader);
    buf_close(&t->tables);
    buf_close(&t->body);
    buf_close(&t->emits);
    buf_close(&t->index);
    mem_free(words);
    mem_free(t);
    return rc;
}

void view_sql_free(struct view_sql *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->item_count; i++)
        buf_close(&s->items[i].name);
    buf_close(&s->table);
    buf_close(&s->program);
    mem_free(s);
}
