/* Looks at tokens alone: a call by name with two texts before anything else.
 */
#include "bigtable/sql/sql_store_first.h"

#include "base/core/buf.h"
#include "bigtable/sql/sql_lexer.h"

/* The texts of a call that begins at the lexer's place. */
static bool
two_texts(struct sql_lexer l, struct sql_token *store, struct sql_token *table)
{
    struct sql_token t = sql_lexer_next(&l);
    if (!sql_token_is_byte(&t, '('))
        return false;
    *store = sql_lexer_next(&l);
    t = sql_lexer_next(&l);
    if (store->kind != SQL_TOKEN_STRING || !sql_token_is_byte(&t, ','))
        return false;
    *table = sql_lexer_next(&l);
    t = sql_lexer_next(&l);
    return table->kind == SQL_TOKEN_STRING && !l.unfinished &&
           (sql_token_is_byte(&t, ',') || sql_token_is_byte(&t, ')'));
}

bool sql_store_first(struct slice sql, struct buf *out)
{
    struct sql_lexer l = {.text = sql};
    const size_t before = out->len;
    struct sql_token t, store, table;
    bool after_dot = false;
    size_t done = 0;
    while ((t = sql_lexer_next(&l)).kind != SQL_TOKEN_END) {
        if (!after_dot &&
            (sql_token_is(&t, "quarry") || sql_token_is(&t, "quarry_cells")) &&
            two_texts(l, &store, &table)) {
            buf_append_slice(out, slice_sub(sql, done, store.at));
            buf_append_slice(out, table.text);
            buf_append_str(out, ", target := ");
            buf_append_slice(out, store.text);
            done = table.at + table.text.len;
        }
        after_dot = sql_token_is_byte(&t, '.');
    }
    if (out->len > before)
        buf_append_slice(out, slice_sub(sql, done, sql.len));
    return out->len > before;
}
