/* The first words of a statement decide; what is not understood here is
 * DuckDB's alone.
 */
#include "bigtable/sql/sql_statement.h"

#include <stdint.h>
#include <string.h>

#include "base/core/panic.h"
#include "bigtable/sql/sql_lexer.h"

static bool is_name(const struct sql_token *t)
{
    return t->kind == SQL_TOKEN_WORD || t->kind == SQL_TOKEN_QUOTED;
}

static char *take_name(const struct sql_token *t)
{
    struct buf name = BUF_INIT;
    sql_token_name(t, &name);
    buf_append_byte(&name, '\0');
    return buf_take(&name);
}

/* The next token, without taking it. */
static struct sql_token sql_statement_peek(const struct sql_lexer *l)
{
    struct sql_lexer copy = *l;
    return sql_lexer_next(&copy);
}

static bool skip_word(struct sql_lexer *l, const char *word)
{
    struct sql_token t = sql_statement_peek(l);
    if (!sql_token_is(&t, word))
        return false;
    (void)sql_lexer_next(l);
    return true;
}

static struct slice rest_of(const struct sql_lexer *l)
{
    return slice_sub(l->text, l->at, l->text.len);
}

/* A plain name, which no schema is before and no parenthesis follows. */
static bool plain_name(struct sql_lexer *l, char **out)
{
    struct sql_token t = sql_lexer_next(l);
    struct sql_token next = sql_statement_peek(l);
    if (!is_name(&t) || sql_token_is_byte(&next, '.'))
        return false;
    *out = take_name(&t);
    return true;
}

/* ( name, … ), if a parenthesis comes that no SELECT is in. */
static bool take_columns(struct sql_statement *st, struct sql_lexer *l)
{
    struct sql_lexer ahead = *l;
    struct sql_token t = sql_lexer_next(&ahead);
    if (!sql_token_is_byte(&t, '('))
        return true;
    st->columns = mem_zalloc(SQL_STATEMENT_COLUMNS_MAX, sizeof(char *));
    do {
        t = sql_lexer_next(&ahead);
        if (!is_name(&t) || sql_token_is(&t, "select") ||
            st->column_count == SQL_STATEMENT_COLUMNS_MAX)
            return false;
        st->columns[st->column_count++] = take_name(&t);
        t = sql_lexer_next(&ahead);
    } while (sql_token_is_byte(&t, ','));
    *l = ahead;
    return sql_token_is_byte(&t, ')');
}

/* INSERT INTO name [(columns)] [BY NAME] SELECT …; false: another form. */
static bool open_insert(struct sql_statement *st, struct sql_lexer *l)
{
    if (!skip_word(l, "into") || !plain_name(l, &st->name) ||
        !take_columns(st, l))
        return false;
    if (skip_word(l, "by"))
        skip_word(l, "name");
    st->select = rest_of(l);
    return true;
}

/* DELETE FROM name [[AS] alias] [WHERE …]; false: another form. */
static bool open_delete(struct sql_statement *st, struct sql_lexer *l)
{
    if (!skip_word(l, "from") || !plain_name(l, &st->name))
        return false;
    for (struct sql_lexer ahead = *l;;) {
        struct sql_token t = sql_lexer_next(&ahead);
        if (t.kind == SQL_TOKEN_END)
            break;
        if (sql_token_is(&t, "using") || sql_token_is(&t, "returning"))
            return false;
    }
    buf_append_str(&st->made, "SELECT key FROM ");
    sql_put_name(&st->made, st->name);
    buf_append_slice(&st->made, rest_of(l));
    st->select = buf_slice(&st->made);
    return true;
}

static bool
skip_words(struct sql_lexer *l, const char *first, const char *second)
{
    return skip_word(l, first) && skip_word(l, second);
}

/* CREATE [OR REPLACE] VIEW [IF NOT EXISTS] name [(columns)] AS …; false: of a
 * schema, temporary, or no view. */
static bool open_create(struct sql_statement *st, struct sql_lexer *l)
{
    struct sql_token t;
    size_t after;
    skip_words(l, "or", "replace");
    if (!skip_word(l, "view"))
        return false;
    if (skip_word(l, "if"))
        st->if_not_exists = skip_words(l, "not", "exists");
    if (!plain_name(l, &st->name))
        return false;
    after = l->at;
    st->rest = rest_of(l);
    t = sql_lexer_next(l);
    if (sql_token_is_byte(&t, '(')) {
        /* Columns with names of the view's own: nothing is pushed into it. */
        st->select = SLICE_LIT("");
        return true;
    }
    if (!sql_token_is(&t, "as"))
        return false;
    st->select = rest_of(l);
    return after < l->text.len;
}

static bool open_drop(struct sql_statement *st, struct sql_lexer *l)
{
    struct sql_token t;
    if (!skip_word(l, "view"))
        return false;
    skip_words(l, "if", "exists");
    if (!plain_name(l, &st->name))
        return false;
    t = sql_lexer_next(l);
    return t.kind == SQL_TOKEN_END;
}

static bool sql_statement_mentions(struct slice text, const char *word)
{
    struct sql_lexer l = {.text = text};
    struct sql_token t;
    while ((t = sql_lexer_next(&l)).kind != SQL_TOKEN_END)
        if (sql_token_is(&t, word))
            return true;
    return false;
}

static enum sql_statement_kind kind_of(struct sql_statement *st,
                                       struct sql_lexer *l)
{
    static const char *const queries[] = {
        "select", "with",      "from", "values", "table", "describe",
        "show",   "summarize", "copy", "(",      "pivot",
    };
    const struct sql_token t = sql_lexer_next(l);
    if (sql_token_is(&t, "explain"))
        return SQL_STATEMENT_EXPLAIN;
    if (sql_token_is(&t, "insert") && open_insert(st, l))
        return SQL_STATEMENT_INSERT;
    if (sql_token_is(&t, "delete") && open_delete(st, l))
        return SQL_STATEMENT_DELETE;
    if (sql_token_is(&t, "create") && open_create(st, l))
        return SQL_STATEMENT_CREATE_VIEW;
    if (sql_token_is(&t, "drop") && open_drop(st, l))
        return SQL_STATEMENT_DROP_VIEW;
    for (size_t i = 0; i < ARRAY_LEN(queries); i++)
        if (sql_token_is(&t, queries[i]))
            return SQL_STATEMENT_QUERY;
    return SQL_STATEMENT_OTHER;
}

void sql_statement_open(struct sql_statement *st, struct slice text)
{
    struct sql_lexer l = {.text = text};
    *st = (struct sql_statement){.made = BUF_INIT};
    st->kind = kind_of(st, &l);
    if (st->kind == SQL_STATEMENT_OTHER)
        st->collates = sql_statement_mentions(text, "default_collation");
}

void sql_statement_close(struct sql_statement *st)
{
    mem_free(st->name);
    for (size_t i = 0; i < st->column_count; i++)
        mem_free((void *)(uintptr_t)st->columns[i]);
    mem_free((void *)(uintptr_t)st->columns);
    buf_close(&st->made);
}
