/* Reading conditions, choosing an index, and what remains for a filter.
 *
 *     condition = FAMILY:QUALIFIER OPERATOR VALUE
 *     OPERATOR  = "=", "<", "<=", ">", ">=", or "^=": begins with
 *
 * Columns and values are escaped as on every command line. All conditions must
 * hold for the newest cell of their column. The index that covers the most
 * conditions is taken; all of them are looked at again where the row is.
 */
#include "cli/where_args.h"

#include <stdio.h>
#include <string.h>

#include "base/core/panic.h"
#include "bigtable/quarry_index.h"
#include "cli/column.h"
#include "cli/text_form.h"

#define CONDITIONS_MAX 32

const struct option where_options[] = {
    {"where", 'w', "CONDITION",
     "only rows whose column has such a value: 'family:column = value',\n"
     "or <, <=, >, >=, ^= (begins with); by an index if there is one\n"
     "(repeatable: all must hold)"},
    {NULL, 0, NULL, NULL},
};

enum operator{
    WHERE_EQUAL,
    WHERE_LESS,
    WHERE_AT_MOST,
    WHERE_MORE,
    WHERE_AT_LEAST,
    WHERE_PREFIX,
};

struct condition {
    struct column column;
    enum operator operator;
    struct buf value;
};

struct conditions {
    struct condition list[CONDITIONS_MAX];
    size_t count;
};

bool where_args_given(const struct args *args)
{
    return args_value(args, "where") != NULL;
}

/* --- reading ------------------------------------------------------------- */

static const struct {
    const char *text;
    enum operator operator;
} operators[] = {
    {"<=", WHERE_AT_MOST}, {">=", WHERE_AT_LEAST}, {"^=", WHERE_PREFIX},
    {"=", WHERE_EQUAL},    {"<", WHERE_LESS},      {">", WHERE_MORE},
};

/* The operator at the beginning of @text; its length, or 0. */
static size_t take_operator(const char *text, enum operator* out)
{
    for (size_t i = 0; i < ARRAY_LEN(operators); i++) {
        size_t n = strlen(operators[i].text);
        if (strncmp(text, operators[i].text, n) == 0) {
            *out = operators[i].operator;
            return n;
        }
    }
    return 0;
}

static int
condition_parse(const char *text, struct condition *out, struct err *err)
{
    size_t at = strcspn(text, "=<>^");
    size_t n = take_operator(text + at, &out->operator);
    struct slice value;
    int rc;
    PRE(at + n <= strlen(text));
    if (n == 0) {
        err_set(err, ERR_INVALID, "--where \"%s\" has no operator", text);
        err_hint(err, "FAMILY:COLUMN = VALUE, or <, <=, >, >=, ^=");
        return ERR_INVALID;
    }
    rc = column_parse(slice_trim(slice_make(text, at)), &out->column, err);
    if (rc)
        return rc;
    if (out->column.whole_family)
        return err_set(err, ERR_INVALID,
                       "--where \"%s\": a column is FAMILY:QUALIFIER", text);
    value = slice_trim(slice_str(text + at + n));
    argument_unescape(&out->value, value);
    return 0;
}

static void conditions_close(struct conditions *c)
{
    for (size_t i = 0; i < c->count; i++) {
        column_close(&c->list[i].column);
        buf_close(&c->list[i].value);
    }
}

static int conditions_parse(const struct args *args,
                            struct conditions *out,
                            struct err *err)
{
    int rc = 0;
    out->count = 0;
    for (size_t i = 0; i < args_count(args, "where") && rc == 0; i++) {
        struct condition *c = &out->list[out->count];
        if (out->count == CONDITIONS_MAX)
            return err_set(err, ERR_INVALID, "more than %d conditions",
                           CONDITIONS_MAX);
        *c = (struct condition){.operator= WHERE_EQUAL };
        out->count++;
        rc = condition_parse(args_nth(args, "where", i), c, err);
    }
    return rc;
}

/* --- as filters ---------------------------------------------------------- */

/* The first value behind all that begin with @value; empty: none. */
static void where_args_successor(const struct buf *value, struct buf *out)
{
    buf_append_slice(out, buf_slice(value));
    while (out->len && (unsigned char)out->data[out->len - 1] == 255)
        out->len--;
    if (out->len)
        out->data[out->len - 1]++;
}

static struct quarry_filter *value_filter(const struct condition *c)
{
    struct slice v = buf_slice(&c->value);
    struct buf end = BUF_INIT;
    struct quarry_filter *f = NULL;
    PRE(c->column.family);
    switch (c->operator) {
    case WHERE_EQUAL:
        return quarry_filter_value_range(QUARRY_CLOSED, v, QUARRY_CLOSED, v);
    case WHERE_LESS:
        return quarry_filter_value_range(QUARRY_UNBOUNDED, v, QUARRY_OPEN, v);
    case WHERE_AT_MOST:
        return quarry_filter_value_range(QUARRY_UNBOUNDED, v, QUARRY_CLOSED, v);
    case WHERE_MORE:
        return quarry_filter_value_range(QUARRY_OPEN, v, QUARRY_UNBOUNDED, v);
    case WHERE_AT_LEAST:
        return quarry_filter_value_range(QUARRY_CLOSED, v, QUARRY_UNBOUNDED, v);
    case WHERE_PREFIX: break;
    }
    where_args_successor(&c->value, &end);
    f = quarry_filter_value_range(QUARRY_CLOSED, v,
                                  end.len ? QUARRY_OPEN : QUARRY_UNBOUNDED,
                                  buf_slice(&end));
    buf_close(&end);
    return f;
}

/* @inner for rows with all conditions, nothing for others. Owned. */
static struct quarry_filter *conditions_filter(const struct conditions *c,
                                               struct quarry_filter *inner)
{
    for (size_t i = 0; i < c->count; i++) {
        const struct condition *one = &c->list[i];
        struct slice q = buf_slice(&one->column.qualifier);
        struct quarry_filter *parts[3];
        parts[0] = quarry_filter_column_range(one->column.family, QUARRY_CLOSED,
                                              q, QUARRY_CLOSED, q);
        parts[1] = quarry_filter_cells_per_column_limit(1);
        parts[2] = value_filter(one);
        inner =
            quarry_filter_condition(quarry_filter_chain(parts, 3), inner, NULL);
    }
    return inner;
}

/* --- choosing an index --------------------------------------------------- */

static bool is_on(const struct condition *c,
                  const struct quarry_index_column *k)
{
    return strcmp(c->column.family, k->family) == 0 &&
           slice_eq(buf_slice(&c->column.qualifier), k->qualifier);
}

static const struct condition *equal_on(const struct conditions *c,
                                        const struct quarry_index_column *k)
{
    for (size_t i = 0; i < c->count; i++)
        if (c->list[i].operator== WHERE_EQUAL && is_on(&c->list[i], k))
            return &c->list[i];
    return NULL;
}

/* Add a bound or a prefix of column @k to @q. */
static bool add_bound(const struct condition *c, struct quarry_index_query *q)
{
    struct slice v = buf_slice(&c->value);
    switch (c->operator) {
    case WHERE_LESS:
    case WHERE_AT_MOST:
        q->upper_kind = c->operator== WHERE_LESS ? QUARRY_OPEN : QUARRY_CLOSED;
        q->upper = v;
        return true;
    case WHERE_MORE:
    case WHERE_AT_LEAST:
        q->lower_kind = c->operator== WHERE_MORE ? QUARRY_OPEN : QUARRY_CLOSED;
        q->lower = v;
        return true;
    case WHERE_PREFIX:
        if (v.len == 0)
            return false;
        q->prefix = v;
        return true;
    case WHERE_EQUAL: break;
    }
    return false;
}

/* Make the query of index @i for the conditions; returns how many of them it
 * covers, those of equality twice. */
static size_t query_of(const struct conditions *c,
                       const struct quarry_index_info *i,
                       struct slice equal[QUARRY_INDEX_COLUMNS_MAX],
                       struct quarry_index_query *q)
{
    const struct condition *e = NULL;
    size_t bounds = 0;
    *q = (struct quarry_index_query){.index = i->name, .equal = equal};
    while (q->equal_count < i->column_count &&
           (e = equal_on(c, &i->columns[q->equal_count])) != NULL)
        equal[q->equal_count++] = buf_slice(&e->value);
    if (q->equal_count < i->column_count)
        for (size_t k = 0; k < c->count && q->prefix.len == 0; k++)
            if (is_on(&c->list[k], &i->columns[q->equal_count]))
                bounds += add_bound(&c->list[k], q);
    if (q->prefix.len)
        q->lower_kind = q->upper_kind = QUARRY_UNBOUNDED;
    return 2 * q->equal_count + (bounds > 0);
}

static int scan_by_index(const struct conditions *c,
                         const struct quarry_index_list *indexes,
                         struct quarry_table *t,
                         const struct quarry_read_options *options,
                         struct quarry_scanner **out,
                         char index[65],
                         struct err *err)
{
    struct slice equal[QUARRY_INDEX_COLUMNS_MAX];
    struct quarry_index_query q;
    const struct quarry_index_info *best = NULL;
    size_t most = 0;
    for (size_t i = 0; i < indexes->count; i++) {
        size_t n = indexes->list[i].ready
                       ? query_of(c, &indexes->list[i], equal, &q)
                       : 0;
        if (n > most) {
            most = n;
            best = &indexes->list[i];
        }
    }
    *out = NULL;
    index[0] = '\0';
    if (!best)
        return 0;
    (void)query_of(c, best, equal, &q);
    INVARIANT(q.equal_count <= best->column_count);
    INVARIANT(strlen(best->name) < 65);
    snprintf(index, 65, "%s", best->name);
    return quarry_index_scan(t, &q, options, out, err);
}

/* The filter for a row that has the values, taken out of @spec. */
static struct quarry_filter *take_filter(struct scan_args *spec)
{
    struct quarry_filter *f =
        spec->filter ? spec->filter : quarry_filter_pass_all();
    spec->filter = NULL;
    if (spec->options.keys_only) {
        struct quarry_filter *parts[2] = {f, quarry_filter_strip_value()};
        f = quarry_filter_chain(parts, 2);
    }
    spec->options.keys_only = false;
    return f;
}

static int check_options(const struct args *args,
                         const struct quarry_read_options *o,
                         struct err *err)
{
    if (o->family_count || o->column_regex || o->time_max_us || o->time_min_us)
        return usage_error(args, err,
                           "--where looks at whole rows: --family, --column "
                           "and times do not go with it");
    return 0;
}

int where_args_scan(struct cli *cli,
                    const struct args *args,
                    struct quarry_table *t,
                    struct scan_args *spec,
                    struct quarry_scanner **out,
                    char index[65],
                    struct err *err)
{
    const struct quarry_read_options *o = &spec->options;
    struct quarry_index_list *indexes = NULL;
    struct conditions c;
    int rc = conditions_parse(args, &c, err);
    *out = NULL;
    index[0] = '\0';
    if (rc == 0)
        rc = check_options(args, o, err);
    if (rc == 0)
        rc = quarry_index_list(cli->store, quarry_table_name(t), &indexes, err);
    if (rc == 0) {
        spec->filter = conditions_filter(&c, take_filter(spec));
        spec->options.filter = spec->filter;
        if (!o->range_count && !o->key_count && !o->program)
            rc = scan_by_index(&c, indexes, t, o, out, index, err);
    }
    if (rc == 0 && !*out)
        rc = quarry_scan(t, o, out, err);
    quarry_index_list_free(indexes);
    conditions_close(&c);
    return rc;
}
