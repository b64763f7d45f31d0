/* From a table's description and the parameters of a table function to columns
 * and read options. All that can be refused is refused here, before a scan.
 */
#include "bigtable/sql/sql_relation.h"

#include <string.h>
#include <strings.h>

#include "base/core/buf.h"
#include "base/core/panic.h"
#include "base/core/text.h"
#include "bigtable/sql/sql_kept.h"
#include "bigtable/sql/sql_stores.h"

/* DuckDB has no bound of its own; each costs memory in every batch. */
#define SQL_COLUMNS_MAX ((size_t)1600)
/* A guess of the bytes of a row, for the planner. */
#define SQL_ROW_BYTES_GUESS ((uint64_t)200)

static const struct {
    const char *name;
    enum sql_type type;
} sql_type_names[] = {
    {"VARCHAR", SQL_TEXT},  {"BLOB", SQL_BYTES},  {"BIGINT", SQL_BIGINT},
    {"DOUBLE", SQL_DOUBLE}, {"INT64", SQL_INT64}, {"FLOAT64", SQL_FLOAT64},
};

struct sql_relation *sql_relation_new(struct sql_stores *stores, bool by_cells)
{
    struct sql_relation *r = mem_zalloc(1, sizeof(*r));
    arena_init(&r->arena);
    r->stores = stores;
    r->by_cells = by_cells;
    return r;
}

void sql_relation_free(struct sql_relation *r)
{
    if (r->table)
        quarry_table_close(r->table);
    sql_kept_free(r->kept);
    arena_close(&r->arena);
    mem_free(r);
}

/* --- columns ------------------------------------------------------------- */

static struct sql_column *add_column(struct sql_relation *r,
                                     enum sql_source source,
                                     enum sql_type type,
                                     const char *name)
{
    struct sql_column *c = &r->columns[r->column_count++];
    PRE(r->column_count <= SQL_COLUMNS_MAX + 2);
    *c = (struct sql_column){
        .source = source, .type = type, .name = name, .family_index = SIZE_MAX};
    return c;
}

static int find_family(const struct sql_relation *r,
                       struct slice name,
                       size_t *out,
                       struct err *err)
{
    for (size_t i = 0; i < r->family_count; i++)
        if (slice_eq(name, slice_str(r->families[i]))) {
            *out = i;
            return 0;
        }
    err_set(err, ERR_NOTFOUND, "table %s: no column family %.*s", r->name,
            SLICE_ARG(name));
    return ERR_NOTFOUND;
}

/* "family:qualifier" or "family:qualifier::TYPE", of which the type is taken
 * off. */
static enum sql_type take_type(struct slice *spec)
{
    for (size_t i = 0; i < ARRAY_LEN(sql_type_names); i++) {
        const size_t n = strlen(sql_type_names[i].name);
        if (spec->len > n + 2 &&
            strncasecmp(spec->data + spec->len - n, sql_type_names[i].name,
                        n) == 0 &&
            memcmp(spec->data + spec->len - n - 2, "::", 2) == 0) {
            spec->len -= n + 2;
            return sql_type_names[i].type;
        }
    }
    return SQL_TEXT;
}

static int declare_column(struct sql_relation *r,
                          const char *name,
                          const char *text,
                          struct err *err)
{
    struct slice spec = slice_str(text);
    const enum sql_type type = take_type(&spec);
    const size_t colon = slice_find_byte(spec, ':');
    struct sql_column *c;
    size_t family;
    int rc;
    if (colon == spec.len) {
        err_set(err, ERR_INVALID, "columns: %s: '%s' names no column", name,
                text);
        err_hint(err, "as in {'title': 'contents:title'}, or with a type, "
                      "'stats:views::INT64'");
        return ERR_INVALID;
    }
    rc = find_family(r, slice_sub(spec, 0, colon), &family, err);
    if (rc)
        return rc;
    c = add_column(r, SQL_FROM_COLUMN, type, name);
    c->family_index = family;
    c->family = slice_sub(spec, 0, colon);
    c->qualifier = slice_sub(spec, colon + 1, spec.len);
    return 0;
}

static int row_columns(struct sql_relation *r,
                       const struct sql_parameters *p,
                       struct err *err)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < p->column_pair_count; i++)
        rc = declare_column(r, p->columns[2 * i], p->columns[2 * i + 1], err);
    if (rc || p->column_pair_count)
        return rc;
    for (size_t i = 0; i < r->family_count; i++) {
        struct sql_column *c =
            add_column(r, SQL_FROM_FAMILY, SQL_MAP, r->families[i]);
        c->family_index = i;
        c->family = slice_str(r->families[i]);
        c->history = p->history;
    }
    return 0;
}

static int cell_columns(struct sql_relation *r,
                        const struct sql_parameters *p,
                        struct err *err)
{
    const enum sql_type name = r->binary ? SQL_BYTES : SQL_TEXT;
    if (p->column_pair_count)
        return err_set(err, ERR_INVALID,
                       "columns: quarry_cells() has a row a cell");
    add_column(r, SQL_FROM_CELL_NAME, SQL_TEXT, "family");
    add_column(r, SQL_FROM_CELL_QUALIFIER, name, "qualifier");
    add_column(r, SQL_FROM_CELL_TIME, SQL_TIME, "timestamp");
    add_column(r, SQL_FROM_CELL_VALUE, r->text ? SQL_TEXT : SQL_BYTES, "value");
    return 0;
}

static int make_columns(struct sql_relation *r,
                        const struct sql_parameters *p,
                        struct err *err)
{
    const size_t room = 5 + r->family_count + p->column_pair_count;
    if (room > SQL_COLUMNS_MAX)
        return err_set(err, ERR_TOOBIG, "table %s: %zu columns, at most %zu",
                       r->name, room, SQL_COLUMNS_MAX);
    r->columns = arena_zalloc(&r->arena, room * sizeof(*r->columns));
    add_column(r, SQL_FROM_KEY, r->binary ? SQL_BYTES : SQL_TEXT, "key");
    return r->by_cells ? cell_columns(r, p, err) : row_columns(r, p, err);
}

/* --- rows ---------------------------------------------------------------- */

/* The first key behind all that begin with @prefix; empty: there is none. */
static struct slice behind_prefix(struct arena *arena, struct slice prefix)
{
    struct slice out = arena_dup(arena, prefix);
    while (out.len > 0 && (unsigned char)out.data[out.len - 1] == 0xff)
        out.len--;
    if (out.len > 0) {
        char *last = arena_alloc(arena, out.len);
        memcpy(last, out.data, out.len);
        last[out.len - 1]++;
        out.data = last;
    }
    return out;
}

static void start_at(struct sql_relation *r, struct slice key)
{
    if (slice_cmp(key, r->range.start) > 0)
        r->range.start = key;
}

/* PRE: @key is not empty. */
static void end_before(struct sql_relation *r, struct slice key)
{
    if (r->range.end.len == 0 || slice_cmp(key, r->range.end) < 0)
        r->range.end = key;
}

static struct slice after_key(struct arena *arena, struct slice key)
{
    char *bytes = arena_alloc(arena, key.len + 1);
    if (key.len)
        memcpy(bytes, key.data, key.len);
    bytes[key.len] = '\0';
    return slice_make(bytes, key.len + 1);
}

static bool in_range(const struct quarry_range *range, struct slice key)
{
    return key.len > 0 && slice_cmp(key, range->start) >= 0 &&
           (range->end.len == 0 || slice_cmp(key, range->end) < 0);
}

static void choose_rows(struct sql_relation *r, const struct sql_parameters *p)
{
    start_at(r, p->key_from);
    if (p->key_to.data)
        r->nothing |= p->key_to.len == 0;
    if (p->key_to.len)
        end_before(r, p->key_to);
    if (p->key_last.data)
        end_before(r, after_key(&r->arena, p->key_last));
    if (p->key_prefix.len) {
        struct slice end = behind_prefix(&r->arena, p->key_prefix);
        start_at(r, p->key_prefix);
        if (end.len)
            end_before(r, end);
    }
    if (r->range.end.len && slice_cmp(r->range.start, r->range.end) >= 0)
        r->nothing = true;
    r->has_keys = p->has_keys;
    r->keys = p->keys;
    for (size_t i = 0; i < p->key_count; i++)
        if (in_range(&r->range, p->keys[i]))
            r->keys[r->key_count++] = p->keys[i];
    if (r->has_keys && r->key_count == 0)
        r->nothing = true;
}

static int choose_cells(struct sql_relation *r,
                        const struct sql_parameters *p,
                        struct err *err)
{
    struct quarry_read_options *o = &r->options;
    size_t unused;
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < p->family_count; i++)
        rc = find_family(r, slice_str(p->families[i]), &unused, err);
    if (rc)
        return rc;
    if (p->versions > UINT32_MAX)
        return err_set(err, ERR_INVALID, "versions: at most %u", UINT32_MAX);
    o->families = p->families;
    o->family_count = p->family_count;
    o->column_regex = p->column_regex;
    o->versions = r->by_cells || p->history ? (uint32_t)p->versions : 1;
    o->time_min_us = p->time_from_us;
    o->time_max_us = p->time_to_us;
    if (o->time_max_us != 0 && o->time_min_us >= o->time_max_us)
        r->nothing = true;
    o->row_limit = p->row_limit;
    r->ordered = p->ordered || p->row_limit > 0;
    if (p->program) {
        o->program = p->program;
        o->program_len = strlen(p->program);
    }
    return 0;
}

static int take_modes(struct sql_relation *r,
                      const struct sql_parameters *p,
                      struct err *err)
{
    r->binary = p->binary;
    r->text = p->text;
    r->history = p->history;
    if (!p->missing || strcasecmp(p->missing, "null") == 0)
        return 0;
    r->skip_missing = true;
    if (strcasecmp(p->missing, "skip") == 0)
        return 0;
    return err_set(err, ERR_INVALID,
                   "missing: '%s' is neither 'null' nor "
                   "'skip'",
                   p->missing);
}

/* --- all ----------------------------------------------------------------- */

static void copy_description(struct sql_relation *r,
                             const struct quarry_table_info *info)
{
    uint64_t bytes = 0;
    r->families =
        arena_alloc(&r->arena, (info->family_count + 1) * sizeof(char *));
    for (size_t i = 0; i < info->family_count; i++)
        r->families[i] = arena_strdup(&r->arena, info->families[i].name);
    r->family_count = info->family_count;
    for (size_t i = 0; i < info->tablet_count; i++)
        bytes += info->tablets[i].bytes;
    r->row_estimate = bytes / SQL_ROW_BYTES_GUESS + 1;
}

/* A name that no table has may be a view's; else @err stays as it is. */
static int open_view(struct sql_relation *r,
                     struct quarry *q,
                     const char *name,
                     const struct sql_parameters *p,
                     struct err *err)
{
    struct err why = ERR_INIT;
    int rc = sql_kept_open(q, r->stores, name, &r->kept, &why);
    if (rc == ERR_NOTFOUND) {
        err_hint(err, "%s; %s", why.text, why.hint);
        return rc;
    }
    *err = why;
    if (rc == 0 &&
        (p->history || p->has_keys || p->missing || p->key_from.data ||
         p->key_to.data || p->key_last.data || p->key_prefix.data ||
         p->family_count || p->column_regex || p->program || p->versions ||
         p->time_from_us || p->time_to_us || p->column_pair_count))
        rc = err_set(err, ERR_INVALID,
                     "%s is a view, of which rows are chosen by WHERE alone",
                     name);
    return rc;
}

int sql_relation_open(struct sql_relation *r,
                      const char *name,
                      const struct sql_parameters *p,
                      struct err *err)
{
    struct quarry_table_info *info;
    struct quarry *q = NULL;
    int rc = sql_stores_find(r->stores, p->target, p->key_file, &q, err);
    PRE(!r->table);
    if (rc == 0)
        rc = quarry_table_describe(q, name, &info, err);
    if (rc == ERR_NOTFOUND && !r->by_cells && q)
        return open_view(r, q, name, p, err);
    if (rc)
        return rc;
    r->name = arena_strdup(&r->arena, name);
    copy_description(r, info);
    quarry_table_info_free(info);
    rc = take_modes(r, p, err);
    if (rc == 0)
        rc = make_columns(r, p, err);
    if (rc == 0)
        rc = choose_cells(r, p, err);
    if (rc)
        return rc;
    choose_rows(r, p);
    return quarry_table_open(q, name, &r->table, err);
}

/* --- for people ---------------------------------------------------------- */

static void put_key(struct buf *out, struct slice key)
{
    buf_append_byte(out, '\'');
    text_put_escaped(out, slice_sub(key, 0, 60), '\'');
    buf_append_str(out, key.len > 60 ? "…'" : "'");
}

static void put_rows(const struct sql_relation *r, struct buf *out)
{
    if (r->nothing) {
        buf_append_str(out, "no rows");
    } else if (r->has_keys) {
        buf_printf(out, "%zu %s", r->key_count,
                   r->key_count == 1 ? "key " : "keys");
        if (r->key_count == 1)
            put_key(out, r->keys[0]);
    } else if (r->range.start.len || r->range.end.len) {
        buf_append_str(out, "keys [");
        put_key(out, r->range.start);
        buf_append_str(out, ", ");
        if (r->range.end.len)
            put_key(out, r->range.end);
        buf_append_str(out, ")");
    } else {
        buf_append_str(out, "all rows");
    }
}

static void put_times(const struct quarry_read_options *o, struct buf *out)
{
    if (!o->time_min_us && !o->time_max_us)
        return;
    buf_append_str(out, "; times");
    if (o->time_min_us > -INT64_MAX) {
        buf_append_str(out, " from ");
        text_put_time(out, o->time_min_us);
    }
    if (o->time_max_us) {
        buf_append_str(out, " to before ");
        text_put_time(out, o->time_max_us);
    }
}

void sql_relation_describe(const struct sql_relation *r, struct buf *out)
{
    const struct quarry_read_options *o = &r->options;
    buf_printf(out, "%s %s: ", r->by_cells ? "quarry_cells" : "quarry",
               r->name);
    put_rows(r, out);
    for (size_t i = 0; i < o->family_count; i++)
        buf_printf(out, "%s%s", i ? ", " : "; families ", o->families[i]);
    if (r->skip_missing)
        buf_append_str(out, "; only rows with a cell in what is read");
    if (o->column_regex)
        buf_printf(out, "; columns like %s", o->column_regex);
    if (o->versions)
        buf_printf(out, "; newest %s",
                   o->versions == 1 ? "versions" : "versions of each column");
    put_times(o, out);
    if (o->program)
        buf_append_str(out, "; a program beside the rows");
    if (o->row_limit)
        buf_printf(out, "; at most %llu rows, in order",
                   (unsigned long long)o->row_limit);
}
