/* Runs: their life, and records through the machine; see sawzall.h.
 *
 * A run is a program plus everything that changes: the machine's stack and
 * arenas, the states of tables, output not yet taken. Rows are made into
 * values lazily: a program that only looks up columns reads them from the row,
 * without a map of all.
 */
#include "sawzall-lite/machine/run.h"

#include "base/core/hash.h"
#include "base/core/panic.h"

/* --- tables -------------------------------------------------------------- */

/* Whether @name is in the list "a,b,c" or the list is "*". */
static bool run_listed(const char *list, const char *name)
{
    size_t n = strlen(name);
    const char *p = list;

    if (strcmp(list, "*") == 0)
        return true;
    while (*p) {
        size_t len = strcspn(p, ",");
        if (len == n && memcmp(p, name, n) == 0)
            return true;
        p += len + (p[len] == ',');
    }
    return false;
}

/* Whether the results of the table are wanted. */
static bool is_listed(const struct saw_run *r, const struct saw_run_table *t)
{
    return !r->opts.table_output || run_listed(r->opts.table_output, t->name);
}

static enum saw_route run_route(const struct saw_run *r,
                                const struct saw_run_table *t)
{
    const struct saw_table_type *type = t->site->type;

    if (t->site->predeclared && strcmp(t->name, "keep") == 0 && r->opts.keep)
        return SAW_ROUTE_KEEP;
    if (type->to_file)
        return SAW_ROUTE_FILE;
    if (!r->opts.table_output)
        return SAW_ROUTE_TABLE;
    if (!is_listed(r, t) || t->traits->never_listed)
        return SAW_ROUTE_PRINT;
    if (t->traits->in_order)
        return SAW_ROUTE_LINE;
    return SAW_ROUTE_TABLE;
}

/* A field's name, or NULL. */
static const char *name_of(struct saw_run *r, const struct saw_field *f)
{
    return f->type && f->name.len ? arena_dup(&r->names, f->name).data : NULL;
}

static enum saw_entrance run_entrance(const struct saw_run_table *t)
{
    const struct saw_table_type *type = t->site->type;

    if (type->element.type->kind == SAW_INT && saw_table_takes_ints(&t->decl))
        return SAW_ENTRANCE_INT;
    if (type->weight.type && type->weight.type->kind == SAW_INT &&
        saw_table_takes_weights(&t->decl))
        return SAW_ENTRANCE_WEIGHT;
    return SAW_ENTRANCE_DATUM;
}

static void init_table(struct saw_run *r,
                       struct saw_run_table *t,
                       const struct saw_table_site *site)
{
    const struct saw_table_type *type = site->type;
    size_t i;

    t->site = site;
    t->name = arena_dup(&r->names, site->name).data;
    t->traits = saw_table_traits_find(type->kind);
    INVARIANT(t->traits);
    t->index_names =
        arena_zalloc(&r->names, (type->index_count + 1) * sizeof(char *));
    for (i = 0; i < type->index_count; i++)
        t->index_names[i] = name_of(r, &type->indices[i]);
    t->decl =
        (struct saw_table_decl){.name = t->name,
                                .kind = t->traits,
                                .param = type->param < 0 ? 0 : type->param,
                                .index_count = type->index_count,
                                .index_names = t->index_names,
                                .element_name = name_of(r, &type->element),
                                .weight_name = name_of(r, &type->weight),
                                .weighted = type->weight.type != NULL};
    t->route = run_route(r, t);
    t->entrance = run_entrance(t);
}

int saw_run_table_param(struct saw_run *r,
                        uint32_t table,
                        int64_t param,
                        struct err *err)
{
    struct saw_run_table *t = &r->tables[table];

    PRE(table < r->program->pool.table_count && !t->table);
    if (param < 0 || param > INT32_MAX || param < t->traits->param_min ||
        param > t->traits->param_max)
        return err_set(err, ERR_INVALID,
                       "table parameter %lld of %s must be in [%lld, %lld]",
                       (long long)param, t->name,
                       (long long)MAX_OF(t->traits->param_min, 0),
                       (long long)MIN_OF(t->traits->param_max, INT32_MAX));
    t->decl.param = param;
    return 0;
}

/* --- life ---------------------------------------------------------------- */

static int64_t no_clock(void *ctx)
{
    (void)ctx;
    return 0;
}

static void init_vm(struct saw_run *r)
{
    struct saw_vm *vm = &r->vm;
    const struct saw_run_options *o = &r->opts;

    vm->pool = &r->program->pool;
    vm->run = r;
    arena_init(&vm->record);
    arena_init(&vm->fixed);
    vm->ctx.arena = &vm->fixed;
    vm->ctx.bytes_max = o->memory_bytes_max ? o->memory_bytes_max : SIZE_MAX;
    vm->ctx.restricted = r->program->restricted;
    vm->ctx.now_us = o->now_us ? o->now_us : no_clock;
    vm->ctx.read_file = o->read_file;
    vm->ctx.hook_ctx = o->world_ctx;
    rand_init(&vm->ctx.rand, o->seed);
    vm->depth_max = o->depth_max ? o->depth_max : SAW_DEPTH_DEFAULT;
    vm->cancel = o->cancel;
    vm->fuel_max = o->fuel_per_record;
    vm->ctx.work_max = o->fuel_per_record;
    vm->row_type = r->program->unit.row_type;
    vm->lazy_row = !r->program->unit.all_columns;
    vm->vars = mem_zalloc(vm->pool->var_count + 1, sizeof(*vm->vars));
    vm->statics = mem_zalloc(vm->pool->static_count + 1, sizeof(*vm->statics));
}

static int check_tables(const struct saw_run *r, struct err *err)
{
    uint32_t i;

    for (i = 0; i < r->program->pool.table_count; i++) {
        const struct saw_run_table *t = &r->tables[i];
        if (t->site->type->refusal && is_listed(r, t))
            return err_set(err, ERR_INVALID, "table %s: %s", t->name,
                           t->site->type->refusal);
    }
    return 0;
}

/* Whether results depend on where records stand. */
static bool run_uses_origin(const struct saw_run *r)
{
    uint32_t i;

    for (i = 0; i < r->program->pool.table_count; i++) {
        if (saw_traits_want_origin(r->tables[i].traits))
            return true;
    }
    return saw_program__calls(r->program, SAW_BUILTIN_RANDOM);
}

int saw_run_new(struct saw_program *p,
                const struct saw_run_options *opts,
                struct saw_run **out,
                struct err *err)
{
    struct saw_run *r = mem_zalloc(1, sizeof(*r));
    union saw_slot empty = {.s = &saw_str_empty};
    union saw_slot none = {.u = 0};
    uint32_t i;
    int rc;

    *out = NULL;
    r->program = p;
    r->opts = *opts;
    if (opts->table_output)
        r->opts.table_output = mem_strdup(opts->table_output);
    r->budget.bytes_max =
        opts->memory_bytes_max ? opts->memory_bytes_max : SIZE_MAX;
    arena_init(&r->names);
    r->tables = mem_zalloc(p->pool.table_count + 1, sizeof(*r->tables));
    for (i = 0; i < p->pool.table_count; i++)
        init_table(r, &r->tables[i], &p->pool.tables[i]);
    init_vm(r);
    r->uses_origin = run_uses_origin(r);
    rc = check_tables(r, err);
    if (rc == 0) {
        rc = saw_vm_run(&r->vm, p->pool.statics, empty, empty, none, err);
        if (rc != 0)
            err_wrap(err, "initialising statics");
    }
    if (rc != 0) {
        saw_run_free(r);
        return rc;
    }
    r->vm.ctx.arena = &r->vm.record;
    *out = r;
    return 0;
}

void saw_run_free(struct saw_run *r)
{
    char *list;
    uint32_t i;

    if (!r)
        return;
    for (i = 0; i < r->program->pool.table_count; i++)
        saw_table_free(r->tables[i].table);
    mem_free(r->tables);
    saw_builtins_close(&r->vm.ctx);
    saw_vm_close(&r->vm);
    arena_close(&r->names);
    buf_close(&r->key);
    buf_close(&r->element);
    buf_close(&r->weight);
    buf_close(&r->text);
    buf_close(&r->output);
    memcpy(&list, &r->opts.table_output, sizeof(list));
    mem_free(list);
    mem_free(r);
}

struct saw_program *saw_run_program(const struct saw_run *r)
{
    return r->program;
}

uint64_t saw_run_fuel(const struct saw_run *r)
{
    return r->vm.fuel_used;
}

const struct saw_run_options *saw_run_options(const struct saw_run *r)
{
    return &r->opts;
}

/* --- records ------------------------------------------------------------- */

static void
begin_record(struct saw_run *r, struct slice input, struct slice place)
{
    struct saw_vm *vm = &r->vm;

    arena_reset(&vm->record);
    vm->ctx.text_end = vm->ctx.text_limit = NULL;
    r->counted_undef = false;
    if (!r->uses_origin)
        return;
    /* Random numbers depend on the record alone, not on the worker that has
     * it. */
    r->origin = hash64_slice(input) + hash64_slice(place) * 31;
    rand_init(&vm->ctx.rand, r->opts.seed ^ r->origin);
}

static int run_program(struct saw_run *r,
                       union saw_slot input,
                       union saw_slot key,
                       union saw_slot row,
                       struct err *err)
{
    return saw_vm_run(&r->vm, r->program->pool.codes[0], input, key, row, err);
}

int saw_run_record_at(struct saw_run *r,
                      struct slice input,
                      struct slice key,
                      struct slice place,
                      struct err *err)
{
    struct saw_str in = {input.data ? input.data : "", input.len, input.len};
    struct saw_str k = {key.data ? key.data : "", key.len, key.len};
    union saw_slot none = {.u = 0};

    if (saw_program_wants_rows(r->program)) {
        err_set(err, ERR_INVALID,
                "the program reads rows of a table (r: Row = input), and this "
                "is none");
        err_hint(err, "run it over a table: quarry saw … --table NAME");
        return ERR_INVALID;
    }
    begin_record(r, input, place);
    r->vm.row = NULL;
    return run_program(r, (union saw_slot){.s = &in}, (union saw_slot){.s = &k},
                       none, err);
}

int saw_run_record(struct saw_run *r,
                   struct slice input,
                   struct slice key,
                   struct err *err)
{
    return saw_run_record_at(r, input, key, key, err);
}

struct saw_tuple *saw_run_cell(struct saw_ctx *ctx, const struct saw_cell *c)
{
    struct saw_tuple *t =
        saw_alloc(ctx, sizeof(*t) + 2 * sizeof(union saw_slot));

    if (!t)
        return NULL;
    t->shared = false;
    t->present = NULL;
    t->fields[0].i = c->timestamp_us;
    t->fields[1].s = saw_bytes_of(ctx, c->value);
    return t->fields[1].s ? t : NULL;
}

/* The cells of the column at *@i, as an array of Cell; *@i moves past them. */
static struct saw_array *
column_cells(struct saw_ctx *ctx, const struct saw_row *row, size_t *i)
{
    const struct saw_cell *first = &row->cells[*i];
    struct saw_array *a;
    size_t end = *i + 1;
    size_t k;

    PRE(*i < row->cell_count);
    while (end < row->cell_count &&
           slice_eq(row->cells[end].family, first->family) &&
           slice_eq(row->cells[end].qualifier, first->qualifier))
        end++;
    a = saw_array_new(ctx, end - *i);
    for (k = *i; a && k < end; k++) {
        a->items[k - *i].t = saw_run_cell(ctx, &row->cells[k]);
        if (!a->items[k - *i].t)
            return NULL;
    }
    *i = end;
    return a;
}

/* A qualifier is any bytes, a string is not: invalid bytes become U+FFFD. */
static const struct saw_str *column_name(struct saw_ctx *ctx,
                                         const struct saw_cell *c)
{
    size_t len = c->family.len + 1 + c->qualifier.len;
    char *p = saw_alloc(ctx, len);
    struct slice name = slice_make(p, len);
    size_t chars;

    if (!p)
        return NULL;
    if (c->family.len)
        memcpy(p, c->family.data, c->family.len);
    p[c->family.len] = ':';
    if (c->qualifier.len)
        memcpy(p + c->family.len + 1, c->qualifier.data, c->qualifier.len);
    if (slice_find_byte(name, '\0') < len || !saw_utf8_check(name, &chars))
        return saw_string_repair(ctx, name);
    return saw_string_of(ctx, name, chars);
}

/* The cells of two columns that have the same name as strings. */
static struct saw_array *joined_cells(struct saw_ctx *ctx,
                                      const struct saw_array *a,
                                      const struct saw_array *b)
{
    struct saw_array *both = saw_array_new(ctx, a->len + b->len);

    if (!both)
        return NULL;
    memcpy(both->items, a->items, a->len * sizeof(*a->items));
    memcpy(both->items + a->len, b->items, b->len * sizeof(*b->items));
    return both;
}

/* The whole row as a value, for programs that use it as one. */
static bool
fill_columns(struct saw_run *r, const struct saw_row *row, struct saw_map *m)
{
    struct saw_ctx *ctx = &r->vm.ctx;
    const struct saw_type *t = r->program->unit.row_type->fields[1].type;
    size_t i = 0;

    while (i < row->cell_count) {
        union saw_slot name = {.s = column_name(ctx, &row->cells[i])};
        struct saw_array *cells = name.s ? column_cells(ctx, row, &i) : NULL;
        bool made;
        struct saw_map_entry *e =
            cells ? saw_map_add(ctx, m, t, name, &made) : NULL;
        if (e && !made)
            cells = joined_cells(ctx, e->value.a, cells);
        if (!e || !cells)
            return false;
        e->value.a = cells;
    }
    return true;
}

static bool
row_value(struct saw_run *r, const struct saw_row *row, union saw_slot *out)
{
    struct saw_ctx *ctx = &r->vm.ctx;
    struct saw_tuple *t = saw_tuple_new(ctx, r->program->unit.row_type);

    if (!t)
        return false;
    t->shared = true; /* So that a change makes a copy, which keep() sees. */
    t->fields[0].s = saw_bytes_of(ctx, row->key);
    t->fields[1].m = saw_map_new(ctx, 0);
    if (!t->fields[0].s || !t->fields[1].m)
        return false;
    if (!r->vm.lazy_row && !fill_columns(r, row, t->fields[1].m))
        return false;
    out->t = t;
    return true;
}

int saw_run_row(struct saw_run *r, const struct saw_row *row, struct err *err)
{
    struct saw_str key = {row->key.data ? row->key.data : "", row->key.len,
                          row->key.len};
    union saw_slot empty = {.s = &saw_str_empty};

    PRE(saw_program_wants_rows(r->program));
    begin_record(r, SLICE_EMPTY, row->key);
    r->vm.row = row;
    if (!row_value(r, row, &r->row_value))
        return err_copy(err, &r->vm.ctx.err);
    return run_program(r, empty, (union saw_slot){.s = &key}, r->row_value,
                       err);
}
