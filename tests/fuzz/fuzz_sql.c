/* Any bytes as statements of SQL, and any tree as what DuckDB's parser says of
 * them: rewriting ends, and what it makes has no open quotation and no NUL
 * where the statement had none.
 *
 * An input is a statement, a zero byte, and the trees of the SELECT in it and
 * of those of the views that it names, zero bytes between them.
 */
#include <stdlib.h>
#include <string.h>

#include "base/core/buf.h"
#include "bigtable/sql/sql_lexer.h"
#include "bigtable/sql/sql_push.h"
#include "bigtable/sql/sql_statement.h"
#include "bigtable/sql/sql_store_first.h"

/* Cuts what is left of the input up to the next zero byte. */
static struct slice take_part(struct slice *rest)
{
    const size_t n = slice_find_byte(*rest, '\0');
    const struct slice part = slice_sub(*rest, 0, n);
    *rest = slice_sub(*rest, n < rest->len ? n + 1 : n, rest->len);
    return part;
}

static bool give_tree(void *ctx, struct slice sql, struct buf *json)
{
    struct slice *rest = ctx;
    if (rest->len == 0 || sql.len == 0)
        return false;
    buf_append_slice(json, take_part(rest));
    return true;
}

static bool is_table(void *ctx, const char *name)
{
    (void)ctx;
    return strcmp(name, "web") == 0;
}

static bool has_family(void *ctx, const char *table, const char *family)
{
    (void)ctx;
    return *table &&
           (strcmp(family, "contents") == 0 || strcmp(family, "stats") == 0);
}

static const char *view_of(void *ctx, const char *name)
{
    (void)ctx;
    return strcmp(name, "vv") == 0 ? "SELECT * FROM web WHERE key > 'c'" : NULL;
}

/* Has every quotation and comment an end? */
static bool is_finished(struct slice sql)
{
    struct sql_lexer l = {.text = sql};
    while (sql_lexer_next(&l).kind != SQL_TOKEN_END)
        continue;
    return !l.unfinished;
}

static void check_made(struct slice from, struct slice made)
{
    if (memchr(made.data, '\0', made.len))
        abort();
    if (is_finished(from) && !is_finished(made))
        abort();
}

static void split(struct slice text)
{
    size_t len, end;
    while (sql_statement_end(text, &len, &end)) {
        if (end == 0 || end > text.len || len >= end)
            abort();
        text = slice_sub(text, end, text.len);
    }
    if (len > text.len || end > text.len)
        abort();
}

static void rewrite(struct slice sql, struct slice trees)
{
    const struct sql_names names = {.ctx = &trees,
                                    .parse = give_tree,
                                    .is_table = is_table,
                                    .has_family = has_family,
                                    .view = view_of};
    struct buf first = BUF_INIT;
    struct buf out = BUF_INIT;
    struct sql_statement st;
    sql_statement_open(&st, sql);
    sql_statement_close(&st);
    if (sql_store_first(sql, &first)) {
        check_made(sql, buf_slice(&first));
        if (sql_store_first(buf_slice(&first), &out))
            abort();
    }
    if (sql_push(&names, sql, &out))
        check_made(sql, buf_slice(&out));
    else if (out.len)
        abort();
    buf_close(&first);
    buf_close(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice rest = slice_make(data, size);
    const struct slice sql = take_part(&rest);
    split(sql);
    rewrite(sql, rest);
    return 0;
}
