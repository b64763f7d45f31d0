/* The catalog of an instance as the translator of GoogleSQL asks for it, and
 * the parameters of a query by name. Both are settled before the query runs,
 * so that PrepareQuery can answer with the types of the columns alone. */
#include "bigtable/gateway/query_plan.h"

#include "base/core/buf.h"
#include "base/core/hash.h"
#include "base/core/pb.h"
#include "bigtable/gateway/admin_view.h"
#include "bigtable/gateway/api_fields.h"
#include "bigtable/gateway/api_service.h"
#include "bigtable/gateway/kept_rows.h"
#include "bigtable/gateway/kept_view.h"
#include "bigtable/gateway/query_token.h"
#include "bigtable/gateway/query_type.h"
#include "bigtable/gateway/query_value.h"
#include "bigtable/googlesql/gsql_engine.h"
#include "bigtable/googlesql/gsql_program.h"

#define NAME_BYTES_MAX ((size_t)128)

/* Of an entry of a map. */
enum {
    ENTRY_KEY = 1,
    ENTRY_VALUE = 2,
};

void query_plan_init(struct query_plan *p,
                     struct slice instance,
                     struct slice text)
{
    *p = (struct query_plan){.instance = instance, .text = text};
    arena_init(&p->arena);
}

void query_plan_close(struct query_plan *p)
{
    arena_close(&p->arena);
}

/* --- the engine ---------------------------------------------------------- */

int query_engine_check(struct gateway *g,
                       struct grpc_call *call,
                       struct err *err)
{
    int rc;
    if (!g->engine) {
        err_set(err, ERR_UNSUPPORTED,
                "queries in SQL: this server was built without DuckDB");
        err_hint(err, "run scripts/deps sql, then cmake and the build again");
        return ERR_UNSUPPORTED;
    }
    rc = g->engine->ready(g->engine->ctx, err);
    if (rc == ERR_NOTFOUND || rc == ERR_UNSUPPORTED) {
        err_wrap(err, "queries in SQL");
        grpc_set_code(call, GRPC_FAILED_PRECONDITION);
    }
    return rc;
}

/* --- parameters ---------------------------------------------------------- */

static int count_entries(struct slice message,
                         unsigned number,
                         size_t *count,
                         struct err *err)
{
    struct cursor c = cursor_make(message);
    struct pb_field f;
    *count = 0;
    while (pb_next(&c, &f))
        *count += pb_is_bytes(&f, number);
    if (*count <= QUERY_PARAMS_MAX)
        return 0;
    return err_set(err, ERR_INVALID, "more than %zu parameters",
                   QUERY_PARAMS_MAX);
}

static struct gsql_param *find_param(struct query_plan *p, struct slice name)
{
    for (size_t i = 0; i < p->param_count; i++)
        if (slice_eq(p->params[i].name, name))
            return &p->params[i];
    return NULL;
}

static int declare_param(struct query_plan *p,
                         struct slice name,
                         struct slice type,
                         struct err *err)
{
    struct gsql_param *param = &p->params[p->param_count];
    const struct gsql_type *made;
    int rc;
    if (name.len == 0 || name.len > NAME_BYTES_MAX)
        return err_set(err, ERR_INVALID,
                       "a parameter's name has 1 to %zu bytes", NAME_BYTES_MAX);
    rc = query_type_get(type, name, &p->arena, &made, err);
    if (rc)
        return rc;
    *param = (struct gsql_param){.name = name, .type = made};
    query_value_none(param, &p->arena);
    p->param_count++;
    return 0;
}

int query_plan_declare(struct query_plan *p,
                       struct slice message,
                       unsigned number,
                       struct err *err)
{
    struct cursor c = cursor_make(message);
    struct pb_field f;
    size_t count;
    int rc = count_entries(message, number, &count, err);
    if (rc)
        return rc;
    p->params = arena_zalloc(&p->arena, (count + 1) * sizeof(*p->params));
    while (rc == 0 && pb_next(&c, &f)) {
        const struct slice name =
            pb_is_bytes(&f, number) ? pb_find(f.bytes, ENTRY_KEY) : SLICE_EMPTY;
        if (pb_is_bytes(&f, number) && !find_param(p, name))
            rc = declare_param(p, name, pb_find(f.bytes, ENTRY_VALUE), err);
    }
    return rc;
}

/* Declare those that have a value by its type. */
static int declare_by_values(struct query_plan *p,
                             struct slice message,
                             unsigned number,
                             struct err *err)
{
    struct cursor c = cursor_make(message);
    struct pb_field f;
    size_t count;
    int rc = count_entries(message, number, &count, err);
    if (rc)
        return rc;
    p->params = arena_zalloc(&p->arena, (count + 1) * sizeof(*p->params));
    while (rc == 0 && pb_next(&c, &f)) {
        const struct slice value = pb_is_bytes(&f, number)
                                       ? pb_find(f.bytes, ENTRY_VALUE)
                                       : SLICE_EMPTY;
        if (pb_is_bytes(&f, number) &&
            !find_param(p, pb_find(f.bytes, ENTRY_KEY)))
            rc = declare_param(p, pb_find(f.bytes, ENTRY_KEY),
                               pb_find(value, PB_Value_type), err);
    }
    return rc;
}

static int fill_params(struct query_plan *p,
                       struct slice message,
                       unsigned number,
                       bool *filled,
                       struct err *err)
{
    struct cursor c = cursor_make(message);
    struct pb_field f;
    int rc = 0;
    while (rc == 0 && pb_next(&c, &f)) {
        struct gsql_param *param;
        struct slice name;
        if (!pb_is_bytes(&f, number))
            continue;
        name = pb_find(f.bytes, ENTRY_KEY);
        param = find_param(p, name);
        if (!param)
            return err_set(err, ERR_INVALID,
                           "parameter %.*s was not declared when the query "
                           "was prepared",
                           SLICE_ARG(slice_sub(name, 0, 80)));
        rc = query_value_get(pb_find(f.bytes, ENTRY_VALUE), param, &p->arena,
                             err);
        filled[param - p->params] = true;
    }
    return rc;
}

int query_plan_fill(struct query_plan *p,
                    struct slice message,
                    unsigned number,
                    bool declare,
                    struct err *err)
{
    bool *filled;
    int rc = declare ? declare_by_values(p, message, number, err) : 0;
    if (rc)
        return rc;
    filled = arena_zalloc(&p->arena, p->param_count + 1);
    rc = fill_params(p, message, number, filled, err);
    for (size_t i = 0; rc == 0 && i < p->param_count; i++)
        if (!filled[i])
            rc = err_set(err, ERR_INVALID, "parameter %.*s has no value",
                         SLICE_ARG(slice_sub(p->params[i].name, 0, 80)));
    return rc;
}

/* --- tables -------------------------------------------------------------- */

struct catalog {
    struct query_plan *plan;
    struct gateway *gateway;
};

static void count_schema(struct query_plan *p,
                         const char *table,
                         const struct quarry_table_info *info)
{
    uint64_t h = hash64_slice(slice_str(table));
    for (size_t i = 0; i < info->family_count; i++)
        h = hash64(info->families[i].name, strlen(info->families[i].name), h);
    p->schema = hash_mix(p->schema ^ h);
}

/* Sums, minima and maxima of integers are INT64. */
static const struct gsql_type *value_type(const struct quarry_family_info *f)
{
    const bool number = strcmp(f->aggregate, "sum") == 0 ||
                        strcmp(f->aggregate, "min") == 0 ||
                        strcmp(f->aggregate, "max") == 0;
    return gsql_scalar(number ? GSQL_INT64 : GSQL_BYTES);
}

/* The kept rows of the view, if they can be read now. */
static bool find_kept(struct catalog *c,
                      struct slice instance,
                      struct slice name,
                      struct arena *arena,
                      struct gsql_relation *out)
{
    struct kept_rows *k = NULL;
    struct err ignored = ERR_INIT;
    const struct gsql_result *r;
    struct gsql_column *columns;
    struct buf table = BUF_INIT;
    *out = (struct gsql_relation){.view = SLICE_EMPTY};
    if (kept_rows_open(c->gateway, instance, name, &k, &ignored))
        return false;
    r = kept_rows_result(k);
    columns = arena_zalloc(arena, (r->column_count + 1) * sizeof(*columns));
    for (size_t i = 0; i < r->column_count; i++) {
        columns[i] = r->columns[i];
        columns[i].name = arena_dup(arena, r->columns[i].name);
    }
    kept_view_name(c->gateway, instance, name, &table);
    out->table = arena_dup(arena, buf_slice(&table));
    out->kept = columns;
    out->kept_count = r->column_count;
    buf_close(&table);
    kept_rows_close(k);
    return true;
}

/* A view of the instance by its name: the query takes its place. */
static int find_view(struct catalog *c,
                     struct slice instance,
                     struct slice name,
                     struct arena *arena,
                     struct gsql_relation *out,
                     struct err *err)
{
    struct buf query = BUF_INIT;
    int rc = admin_view_query(c->gateway, instance, name, &query, err);
    if (rc == 0 && !find_kept(c, instance, name, arena, out))
        out->view = arena_dup(arena, buf_slice(&query));
    if (rc == 0) {
        c->plan->schema =
            hash_mix(c->plan->schema ^ hash64_slice(buf_slice(&query)));
    }
    buf_close(&query);
    return rc;
}

static int find_table(void *ctx,
                      struct slice name,
                      struct arena *arena,
                      struct gsql_relation *out,
                      struct err *err)
{
    struct catalog *c = ctx;
    struct quarry_table_info *info;
    struct resource_name instance;
    char table[STORE_NAME_BYTES];
    struct slice *families;
    const struct gsql_type **types;
    int rc = resource_name_parse_kind(c->plan->instance, "", &instance, err);
    if (rc)
        return rc;
    rc = table_id_check(name, NULL) ? ERR_NOTFOUND : 0;
    if (rc == 0)
        rc = store_name_make(c->gateway->home, instance.instance, name, table,
                             err);
    if (rc == 0)
        rc = quarry_table_describe(c->gateway->quarry, table, &info, err);
    if (rc == ERR_NOTFOUND) {
        rc = find_view(c, instance.instance, name, arena, out, err);
        c->plan->no_table |= rc == ERR_NOTFOUND;
        return rc;
    }
    if (rc)
        return rc;
    families = arena_alloc(arena, (info->family_count + 1) * sizeof(*families));
    types = arena_alloc(arena, (info->family_count + 1) * sizeof(*types));
    for (size_t i = 0; i < info->family_count; i++) {
        families[i] = slice_str(arena_strdup(arena, info->families[i].name));
        types[i] = value_type(&info->families[i]);
    }
    *out =
        (struct gsql_relation){.table = slice_str(arena_strdup(arena, table)),
                               .families = families,
                               .types = types,
                               .family_count = info->family_count};
    count_schema(c->plan, table, info);
    quarry_table_info_free(info);
    return 0;
}

static int settle_columns(struct query_plan *p, struct err *err)
{
    const size_t count = p->result.column_count;
    struct gsql_column *columns =
        arena_alloc(&p->arena, (count + 1) * sizeof(*columns));
    for (size_t i = 0; i < count; i++) {
        columns[i] = p->result.columns[i];
        columns[i].type =
            gsql_type_settled(&p->arena, p->result.columns[i].type);
        if (!columns[i].type)
            return err_set(err, ERR_INVALID, "column %zu has no type", i + 1);
    }
    p->result.columns = columns;
    return 0;
}

int query_plan_translate(struct query_plan *p,
                         struct gateway *g,
                         const struct gsql_resume *resume,
                         struct err *err)
{
    struct catalog catalog = {.plan = p, .gateway = g};
    const struct gsql_options options = {.find = find_table,
                                         .ctx = &catalog,
                                         .params = p->params,
                                         .param_count = p->param_count,
                                         .keyed = true,
                                         .resume = resume};
    int rc;
    p->schema = 0;
    p->no_table = false;
    rc = gsql_translate(p->text, &options, &p->arena, &p->result, err);
    return rc ? rc : settle_columns(p, err);
}

/* The program's columns must be those that executing the query gives. */
static int check_columns(const struct query_plan *p,
                         const struct gsql_program *program,
                         struct err *err)
{
    bool same = p->result.column_count == program->column_count;
    for (size_t i = 0; same && i < program->column_count; i++) {
        const struct gsql_column *c = &p->result.columns[i];
        const struct gsql_program_column *other = &program->columns[i];
        same = c->type->kind == other->type && slice_eq(c->name, other->name) &&
               c->is_key == (other->source == GSQL_PROGRAM_KEY);
    }
    return same ? 0
                : err_set(err, ERR_UNSUPPORTED,
                          "a query with such columns is not kept up to date");
}

int query_plan_program(struct query_plan *p,
                       struct gateway *g,
                       struct gsql_program *out,
                       struct err *err)
{
    struct catalog catalog = {.plan = p, .gateway = g};
    const struct gsql_options options = {.find = find_table, .ctx = &catalog};
    int rc = query_plan_translate(p, g, NULL, err);
    if (rc == 0)
        rc = gsql_program_make(p->text, &options, &p->arena, out, err);
    return rc ? rc : check_columns(p, out, err);
}

/* --- metadata ------------------------------------------------------------ */

void query_plan_put_metadata(const struct query_plan *p,
                             unsigned number,
                             struct buf *out)
{
    const size_t metadata = pb_open(out, number);
    const size_t schema = pb_open(out, PB_ResultSetMetadata_proto_schema);
    for (size_t i = 0; i < p->result.column_count; i++) {
        const size_t column = pb_open(out, PB_ProtoSchema_columns);
        if (p->result.columns[i].name.len)
            pb_put_bytes(out, PB_ColumnMetadata_name,
                         p->result.columns[i].name);
        query_type_put(out, PB_ColumnMetadata_type, p->result.columns[i].type);
        pb_close(out, column);
    }
    pb_close(out, schema);
    pb_close(out, metadata);
}
